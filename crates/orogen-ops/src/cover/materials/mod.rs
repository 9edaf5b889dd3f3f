//! Ground materials: how much of each lies where.

mod round;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};

use orogen_core::param::{self, Fault, Segment};
use orogen_core::weights::lines_of;
use orogen_core::{
    Cause, Ctx, Frame, LayerName, Layers, Op, OpError, Part, Raster, Reach, Reason, Terrain, Weight, layer,
    material,
};
use rayon::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::round::Rounding;
use super::rules::{self, Asked, BLOCK, Buffers, Compiled, Needs, Rule};
use crate::simd::Level;

/// A ground material and where it lies.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Material {
    /// Its name: a word of a-z, 0-9 and _. A material may have several entries, whose weights add up.
    #[schemars(length(max = 40))]
    pub name: String,
    /// Where it lies: the product of all rules is its weight.
    #[schemars(length(max = 32))]
    pub rules: Vec<Rule>,
}

/// Says how much of each ground material lies at each place, by rules, as weights `material.<name>` that sum to 255.
///
/// ```text
/// w(m) = Π rules of m        material.m = 255 · w(m) / Σ w
/// ```
///
/// Every material lists parameters of the land (slope, height, any layer, curvature, distances, biome, noise, masks), each with a range
/// and a weight over it. The rules that are given when a recipe names no materials dress all sixteen biomes, ash on scorched land and
/// lichen heath on tundra included, and the floors of lakes and sea. They use snow, ice, sand, moisture and water where those layers
/// are there.
///
/// **Guarantees** (1) the bytes of all materials sum to 255 wherever there is land; in a hole all are 0; (2) before rounding, the weights of two
/// materials are to each other as the products of their rules; (3) where all products are 0 the `fallback` is all there is, and its area is reported; (4)
/// slopes are measured over metres, so a preview has the same cover; (5) a place depends on nothing further away than its
/// rules say.
///
/// **Limits** Where one biome or material ends and another begins, weights change within a sample or two, so two resolutions differ along
/// borders: hence 5 %. Samples further apart than `over_m` see gentler slopes, so previews of wide lands have less bare rock. Distances are measured up to 20 km. Takes a byte a sample for each material, and four for each distance
/// that rules measure; slopes and curvatures are measured as they are needed, unless over more than 128 samples.
///
/// **After** Mikuličić & Mihajlović, "Procedural generation of Mediterranean environments", MIPRO 2016, equation (1).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Materials {
    /// The materials.
    #[schemars(length(min = 1, max = 128))]
    pub materials: Vec<Material>,
    /// The rock of this land: whatever rock the rules name is this one. As the rules say when left out.
    pub rock: Option<Rock>,
    /// The material of places where no rule leaves anything.
    #[schemars(length(max = 40))]
    pub fallback: String,
}

/// Kinds of rock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Rock {
    /// Grey blocks with wide joints.
    Granite,
    /// Pale, with runnels and pits.
    Limestone,
    /// Dark columns and blocks.
    Basalt,
    /// Warm beds.
    Sandstone,
}

impl Rock {
    fn name(self) -> &'static str {
        ["granite", "limestone", "basalt", "sandstone"][self as usize]
    }
}

/// The materials of recipes that name none.
const DEFAULT: &str = include_str!("default.toml");

impl Default for Materials {
    fn default() -> Self {
        #[derive(Deserialize)]
        struct Given {
            materials: Vec<Material>,
        }
        // A test reads them; without them all ground would be the fallback.
        let materials = toml::from_str(DEFAULT).map_or_else(|_| Vec::new(), |given: Given| given.materials);
        Self { materials, rock: None, fallback: String::from("granite") }
    }
}

/// Share of the land from which the fallback is worth a warning.
const MUCH: f64 = 0.05;

impl Materials {
    fn layer(name: &str) -> Option<LayerName> {
        LayerName::parse(&format!("material.{name}")).filter(|_| !name.contains('.'))
    }

    /// What a material is called on land with one kind of rock.
    fn called<'a>(&self, name: &'a str) -> &'a str {
        let all = [Rock::Granite, Rock::Limestone, Rock::Basalt, Rock::Sandstone];
        match self.rock {
            Some(rock) if all.iter().any(|rock| rock.name() == name) => rock.name(),
            _ => name,
        }
    }

    /// The layers of all materials, in the order of their names.
    fn names(&self) -> Vec<LayerName> {
        let all = self.materials.iter().map(|m| self.called(&m.name)).chain([self.called(&self.fallback)]);
        all.filter_map(Self::layer).collect::<BTreeSet<_>>().into_iter().collect()
    }

    fn all_rules(&self) -> impl Iterator<Item = &Rule> {
        self.materials.iter().flat_map(|material| &material.rules)
    }

    fn needs(&self) -> Needs {
        Needs::of(self.all_rules())
    }

    /// The rules made ready, an entry each.
    fn compiled<'a>(&'a self, terrain: &'a Terrain, ctx: &Ctx<'_>) -> Result<Compiled<'a>, OpError> {
        let things: Vec<&[Rule]> = self.materials.iter().map(|material| material.rules.as_slice()).collect();
        Compiled::new(&things, Asked::Rows, terrain, ctx)
    }
}

impl Op for Materials {
    const ID: &'static str = "cover.materials";
    const VERSION: u32 = 4;
    const PREVIEW_RMSE: f64 = 0.05;

    fn layers(&self) -> Layers {
        let needs = self.needs();
        let mut layers = needs.declare(Layers::none());
        if !needs.reads.contains(&layer::HEIGHT.name()) {
            layers = layers.reading([layer::HEIGHT.name()]);
        }
        let names = self.names();
        let height = Part::Layer(layer::HEIGHT.name());
        let from: Vec<Part> = needs.parts().filter(|part| *part != height).chain([height.clone()]).collect();
        layers.follows.extend(names.iter().map(|name| (Part::Layer(name.clone()), from.clone())));
        layers.writes.extend(names);
        layers
    }

    fn reach(&self, frame: &Frame) -> Reach {
        match rules::reach_m(self.all_rules(), frame) {
            reach_m if reach_m > 0.0 => Reach::Within(reach_m),
            _ => Reach::Point,
        }
    }

    fn bytes_a_sample(&self, frame: &Frame) -> f64 {
        self.names().len() as f64 + rules::bytes_a_sample(self.all_rules(), Asked::Rows, frame)
    }

    fn faults(&self) -> Vec<Fault> {
        let mut found = Vec::new();
        let word = |name: &str| Self::layer(name).is_some();
        for (i, material) in self.materials.iter().enumerate() {
            let path = |key: &str| {
                vec![Segment::Key("materials".into()), Segment::Index(i), Segment::Key(key.into())]
            };
            if !word(&material.name) {
                let message = format!(
                    "{:?} is not a valid name; use a word of a-z, 0-9 and _, as in \"wet_rock\"",
                    material.name
                );
                found.push(Fault { path: path("name"), message });
            }
            found.extend(rules::faults(&material.rules, &path("rules")));
        }
        if !word(&self.fallback) {
            found.push(Fault::of(
                "fallback",
                format!("{:?} is not a valid name; use a word of a-z, 0-9 and _", self.fallback),
            ));
        } else {
            let own = self.materials.iter().map(|material| material.name.as_str());
            let known = || own.clone().chain(material::MATERIALS.iter().map(|info| info.name));
            if !known().any(|name| name == self.fallback) {
                let near = param::nearest(&self.fallback, known());
                let hint = near.map_or(String::new(), |near| format!("; did you mean {near:?}?"));
                let message = format!("no material {:?}{hint}", self.fallback);
                found.push(Fault::of("fallback", message));
            }
        }
        found
    }

    fn explain(&self, land: &Terrain, place: [f64; 2], ctx: &Ctx<'_>) -> Result<Vec<Reason>, OpError> {
        if !self.names().iter().any(|name| land.layers().contains_key(name)) {
            return Ok(Vec::new());
        }
        let compiled = self.compiled(land, ctx)?;
        let weights: Vec<f64> = (0..compiled.len()).map(|thing| compiled.at(thing, place).into()).collect();
        let sum: f64 = weights.iter().sum();
        // A material may have several entries: its share is that of all.
        let mut found: Vec<(&str, f64, Vec<usize>)> = Vec::new();
        for (thing, weight) in weights.iter().enumerate().filter(|(_, weight)| **weight > 0.0) {
            let name = self.called(&self.materials[thing].name);
            match found.iter_mut().find(|(known, ..)| *known == name) {
                Some((_, all, things)) => {
                    *all += weight;
                    things.push(thing);
                }
                None => found.push((name, *weight, vec![thing])),
            }
        }
        found.sort_by(|a, b| b.1.total_cmp(&a.1));
        let cause = |factor: rules::Factor| Cause {
            name: factor.name,
            value: factor.value.filter(|value| value.is_finite()),
            unit: factor.unit.to_owned(),
            weight: Some(factor.weight),
            says: factor.rule,
        };
        let because = |things: &[usize]| {
            let mut all = Vec::new();
            for thing in things {
                if things.len() > 1 {
                    let (number, percent) = (thing + 1, 100.0 * weights[*thing] / sum);
                    all.push(Cause::value(
                        &format!("by entry {number}"),
                        percent,
                        "%",
                        "the product of what follows",
                    ));
                }
                all.extend(compiled.explain(*thing, place).into_iter().map(cause));
            }
            all
        };
        let mut reasons: Vec<Reason> = (found.iter())
            .map(|(name, weight, things)| Reason {
                of: format!("material {name}"),
                found: format!("{:.0} %", 100.0 * weight / sum),
                because: because(things),
            })
            .collect();
        if reasons.is_empty() {
            let found = String::from("100 %, as no rule of any material leaves anything here");
            reasons.push(Reason {
                of: format!("material {}", self.called(&self.fallback)),
                found,
                because: Vec::new(),
            });
        }
        Ok(reasons)
    }

    fn run(&self, mut terrain: Terrain, ctx: &Ctx<'_>) -> Result<Terrain, OpError> {
        let made = materials(&terrain, self, ctx)?;
        terrain.set_rounded_weights("material", made)?;
        Ok(terrain)
    }
}

/// The weights of all materials, by layer.
fn materials(
    terrain: &Terrain,
    params: &Materials,
    ctx: &Ctx<'_>,
) -> Result<BTreeMap<LayerName, Raster<Weight>>, OpError> {
    let height = terrain.get(layer::HEIGHT)?;
    let (cols, rows) = (height.cols(), height.rows());
    let compiled = params.compiled(terrain, ctx)?;
    let names = params.names();
    let member = |name: &str| {
        let layer = Materials::layer(name);
        names.iter().position(|known| Some(known) == layer.as_ref()).unwrap_or(0)
    };
    let members: Vec<usize> =
        params.materials.iter().map(|material| member(params.called(&material.name))).collect();
    let fallback = member(params.called(&params.fallback));
    let (bare, land) = (AtomicU64::new(0), AtomicU64::new(0));
    let counter = ctx.counter(rows);
    let rounding = Rounding { fallback, level: Level::new() };
    let mut made: Vec<Raster<Weight>> = names.iter().map(|_| Raster::zeroed(cols, rows)).collect();
    let start = || (Buffers::default(), vec![0.0; names.len() * BLOCK], [0.0; BLOCK]);
    // The rows of a small window are one thread's: windows are made side by side.
    lines_of(&mut made).into_par_iter().with_min_len(40).enumerate().try_for_each_init(
        start,
        |(buffers, shares, weights), (row, mut out)| {
            let mut counts = [0, 0];
            for from in (0..cols).step_by(BLOCK) {
                let to = cols.min(from + BLOCK);
                shares.fill(0.0);
                for (thing, &member) in members.iter().enumerate() {
                    let weights = &mut weights[..to - from];
                    if compiled.block(thing, row, from..to, buffers, weights) {
                        let line = &mut shares[member * BLOCK..][..weights.len()];
                        line.iter_mut().zip(weights).for_each(|(share, weight)| *share += *weight);
                    }
                }
                let found = rounding.round(shares, &height.row(row)[from..to], from, &mut out);
                counts.iter_mut().zip(found).for_each(|(count, found)| *count += found);
            }
            bare.fetch_add(counts[0], Ordering::Relaxed);
            land.fetch_add(counts[1], Ordering::Relaxed);
            counter.done()
        },
    )?;
    let [dx, dy] = terrain.frame().spacing_m();
    let (bare, land) = (bare.into_inner() as f64, land.into_inner() as f64);
    ctx.report("fallback_area", bare * dx * dy, "m2");
    if bare > MUCH * land {
        ctx.warn(format!(
            "no rule of any material fits {:.0} % of the land, which is {:?} therefore",
            100.0 * bare / land,
            params.fallback
        ));
    }
    Ok(names.into_iter().zip(made).collect())
}
