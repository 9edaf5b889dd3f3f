//! Rules made ready for a terrain: weights by rows, at places, and with reasons.

use orogen_core::biome::BIOMES;
use orogen_core::{Ctx, Frame, LayerName, OpError, Terrain, layer};

use super::curve::{Weigh, farthest, scaled};
use super::fields::{Field, Key};
use super::quantity::{MOST_M, Parsed, Quantity};
use super::{BiomeRef, Rule, Span};
use crate::octaves::OctaveBuffers;

/// The rules of several things on a terrain. What several rules measure is worked out once, and rules that several things share
/// are weighed once a row.
pub struct Compiled<'a> {
    frame: Frame,
    fields: Vec<Field<'a>>,
    factors: Vec<Weighed>,
    /// The factors of each thing, in the order in which they are multiplied.
    things: Vec<Vec<usize>>,
    /// Whether several things have a factor.
    shared: Vec<bool>,
}

/// A rule with the field that it weighs.
struct Weighed {
    rule: Rule,
    /// `None` where the land has no such layer.
    field: Option<usize>,
    by: By,
    name: String,
    unit: &'static str,
}

/// What a value weighs.
enum By {
    Curve(Weigh),
    /// The value is the weight.
    Mask {
        least: f32,
        scale: f32,
    },
    /// 1 for some numbers.
    Numbers {
        of: Vec<u32>,
        least: f32,
        scale: f32,
    },
    /// The same everywhere.
    Const(f32),
}

impl By {
    fn at(&self, value: f32) -> f32 {
        match self {
            Self::Curve(weigh) => weigh.at(value),
            Self::Mask { least, scale } => mask(value, *least, *scale),
            Self::Numbers { of, least, scale } => number(value, of, *least, *scale),
            Self::Const(weight) => *weight,
        }
    }

    fn times(&self, values: &[f32], weights: &mut [f32]) {
        let each = weights.iter_mut().zip(values);
        match self {
            Self::Curve(weigh) => weigh.times(values, weights),
            Self::Mask { least, scale } => each.for_each(|(w, v)| *w *= mask(*v, *least, *scale)),
            Self::Numbers { of, least, scale } => {
                // Most things are numbered by bytes: a table is quicker than a search.
                let table: [f32; 256] = std::array::from_fn(|i| number(i as f32, of, *least, *scale));
                each.for_each(|(w, v)| {
                    let known = if *v >= 0.0 { table.get(*v as usize).copied() } else { None };
                    *w *= known.unwrap_or_else(|| number(*v, of, *least, *scale));
                });
            }
            Self::Const(weight) => weights.iter_mut().for_each(|w| *w *= weight),
        }
    }
}

#[inline]
fn mask(value: f32, least: f32, scale: f32) -> f32 {
    if value.is_nan() { 0.0 } else { least + scale * value.clamp(0.0, 1.0) }
}

#[inline]
fn number(value: f32, of: &[u32], least: f32, scale: f32) -> f32 {
    if value.is_nan() {
        return 0.0;
    }
    let is = if value >= 0.0 && of.contains(&(value as u32)) { 1.0 } else { 0.0 };
    least + scale * is
}

/// One factor of a weight, for explanations.
#[derive(Clone, Debug, PartialEq)]
pub struct Factor {
    /// What is measured.
    pub name: String,
    /// Its value there; `None` where the land has no such layer.
    pub value: Option<f64>,
    /// Its unit; empty for plain numbers.
    pub unit: &'static str,
    /// The weight of that value.
    pub weight: f64,
    /// The rule in words.
    pub rule: String,
}

/// Buffers of one thread; they may serve one [`Compiled`] only.
#[derive(Default)]
pub struct Buffers {
    /// The row that `shared` belongs to.
    row: Option<usize>,
    waves: OctaveBuffers,
    values: Vec<f32>,
    /// Weights along the row of factors that several things have; empty where not worked out yet.
    shared: Vec<Vec<f32>>,
}

impl<'a> Compiled<'a> {
    /// Makes the rules of several things ready for a terrain.
    ///
    /// # Errors
    /// When a layer that is needed is missing, or the work is cancelled.
    pub fn new(things: &[&[Rule]], terrain: &'a Terrain, ctx: &Ctx<'_>) -> Result<Self, OpError> {
        let mut made = Self {
            frame: *terrain.frame(),
            fields: Vec::new(),
            factors: Vec::new(),
            things: Vec::new(),
            shared: Vec::new(),
        };
        let far = |quantity: &Quantity| {
            // Only distances are measured as far as rules ask.
            if !matches!(quantity, Quantity::Coast | Quantity::River | Quantity::Lake) {
                return 0.0;
            }
            let of = |rule: &Rule| match rule.parsed() {
                Some(Parsed::Curve(found, span)) if found == *quantity => farthest(rule, span, MOST_M),
                _ => 0.0,
            };
            things.iter().flat_map(|rules| rules.iter()).map(of).fold(0.0, f64::max)
        };
        let mut keys: Vec<(Key, Option<usize>)> = Vec::new();
        for rules in things {
            let mut own = Vec::with_capacity(rules.len());
            for rule in *rules {
                if let Some(known) = made.factors.iter().position(|factor| factor.rule == *rule) {
                    // Twice in one thing counts twice.
                    made.shared[known] = true;
                    own.push(known);
                    continue;
                }
                let Some((key, by, name, unit)) = taken_apart(rule)? else { continue };
                let field = match keys.iter().find(|(known, _)| *known == key) {
                    Some((_, field)) => *field,
                    None => {
                        let field = Field::new(&key, far(&key.quantity), terrain, ctx)?;
                        let field = field.map(|field| {
                            made.fields.push(field);
                            made.fields.len() - 1
                        });
                        keys.push((key.clone(), field));
                        field
                    }
                };
                let by = match (field, rule.without) {
                    (None, Some(weight)) => By::Const(weight as f32),
                    (None, None) => return Err(terrain.missing(&missing(&key, terrain))),
                    (Some(_), _) => by,
                };
                own.push(made.factors.len());
                made.factors.push(Weighed { rule: rule.clone(), field, by, name, unit });
                made.shared.push(false);
            }
            // Noise costs most: where the others leave nothing it is not asked.
            let noisy = |factor: &usize| {
                let field = made.factors[*factor].field;
                field.is_some_and(|field| matches!(made.fields[field], Field::Noise(_)))
            };
            own.sort_by_key(noisy);
            made.things.push(own);
        }
        Ok(made)
    }

    /// How many things there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.things.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.things.is_empty()
    }

    /// The weights of a thing along a row of the terrain, 0 to 1; a thing without rules is at home everywhere.
    pub fn row(&self, thing: usize, row: usize, buffers: &mut Buffers, out: &mut [f32]) {
        if buffers.row != Some(row) {
            buffers.row = Some(row);
            buffers.shared.resize(self.factors.len(), Vec::new());
            buffers.shared.iter_mut().for_each(Vec::clear);
        }
        out.fill(1.0);
        for &factor in &self.things[thing] {
            let Buffers { waves, values, shared, .. } = buffers;
            let weighed = &self.factors[factor];
            let Some(field) = weighed.field.map(|field| &self.fields[field]) else {
                weighed.by.times(&[], out);
                continue;
            };
            if self.shared[factor] {
                let kept = &mut shared[factor];
                if kept.is_empty() {
                    kept.resize(out.len(), 1.0);
                    weighed.by.times(field.row(&self.frame, row, waves, values), kept);
                }
                out.iter_mut().zip(kept.iter()).for_each(|(w, kept)| *w *= kept);
            } else {
                weighed.by.times(field.row(&self.frame, row, waves, values), out);
            }
            if out.iter().fold(0.0f32, |most, w| if *w > most { *w } else { most }) == 0.0 {
                return;
            }
        }
    }

    /// The weight of a thing at a place in metres: what is measured is interpolated, then weighed. Places outside the terrain
    /// have that of its edge.
    #[must_use]
    pub fn at(&self, thing: usize, place: [f64; 2]) -> f32 {
        let mut weight = 1.0;
        for &factor in &self.things[thing] {
            let weighed = &self.factors[factor];
            let value = weighed.field.map_or(0.0, |field| self.fields[field].at(&self.frame, place));
            weight *= weighed.by.at(value);
            if weight == 0.0 {
                break;
            }
        }
        weight
    }

    /// Every factor of the weight of a thing at a place, in the order of its rules (noise last). Their product is [`Compiled::at`].
    #[must_use]
    pub fn explain(&self, thing: usize, place: [f64; 2]) -> Vec<Factor> {
        let of = |&factor: &usize| {
            let weighed = &self.factors[factor];
            let value = weighed.field.map(|field| self.fields[field].at(&self.frame, place));
            Factor {
                name: weighed.name.clone(),
                value: value.map(f64::from),
                unit: weighed.unit,
                weight: f64::from(weighed.by.at(value.unwrap_or(0.0))),
                rule: weighed.rule.to_string(),
            }
        };
        self.things[thing].iter().map(of).collect()
    }
}

/// What is measured, how it is weighed, and its name and unit.
type TakenApart = (Key, By, String, &'static str);

/// A rule taken apart; `None` for one that says nothing, which the check of parameters refuses.
fn taken_apart(rule: &Rule) -> Result<Option<TakenApart>, OpError> {
    let (least, scale) = scaled(rule);
    let layer_key = |name: LayerName| Key { quantity: Quantity::Layer(name), length_m: 0.0, pattern: 0 };
    Ok(rule.parsed().map(|parsed| match parsed {
        Parsed::Curve(quantity, span) => {
            let (length_m, pattern) = match quantity {
                Quantity::Slope | Quantity::Curvature | Quantity::Wetness => (rule.over_m, 0),
                Quantity::Noise => (rule.wavelength_m, rule.pattern),
                _ => (0.0, 0),
            };
            let (name, unit) = quantity.words();
            (Key { quantity, length_m, pattern }, By::Curve(Weigh::new(rule, span)), name, unit)
        }
        Parsed::Mask(name) => {
            (layer_key(name.clone()), By::Mask { least, scale }, name.to_string(), layer::unit(name))
        }
        Parsed::Numbers(name, numbers) => {
            let words = (name.to_string(), layer::unit(&name));
            (layer_key(name), By::Numbers { of: numbers.to_vec(), least, scale }, words.0, words.1)
        }
        Parsed::Satellite(kinds) => {
            let ids = kinds.iter().map(|kind| u32::from(kind.class().id()));
            let by = By::Numbers { of: [0].into_iter().chain(ids).collect(), least, scale };
            (layer_key(layer::SATELLITE.name()), by, "kind of ground in the image".into(), "id")
        }
        Parsed::Biomes(biomes) => {
            let by = By::Numbers { of: biomes.iter().filter_map(biome_number).collect(), least, scale };
            (layer_key(layer::BIOME.name()), by, "biome".into(), "id")
        }
    }))
}

fn biome_number(biome: &BiomeRef) -> Option<u32> {
    match biome {
        BiomeRef::Number(number) => Some((*number).into()),
        BiomeRef::Name(name) => {
            BIOMES.iter().find(|info| info.name == name).map(|info| info.biome.id().into())
        }
    }
}

/// The first layer of a field that is not there.
fn missing(key: &Key, terrain: &Terrain) -> LayerName {
    let names = key.quantity.layers();
    let gone = names.iter().find(|name| !terrain.layers().contains_key(*name));
    gone.cloned().unwrap_or_else(|| layer::HEIGHT.name())
}

impl std::fmt::Display for Rule {
    /// In words: "slope_deg 0 to 35, fading over 5".
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Some((name, parsed)) = self.named().into_iter().next() else { return f.write_str("nothing") };
        if self.except {
            f.write_str("not ")?;
        }
        match parsed {
            Parsed::Curve(quantity, Span([min, max])) => {
                match quantity {
                    Quantity::Layer(layer) if name == "layer" => write!(f, "{layer}")?,
                    _ => f.write_str(name)?,
                }
                write!(f, " {min} to {max}")?;
                match &self.curve {
                    super::Curve::Named(super::Shape::Flat) => {}
                    super::Curve::Named(shape) => write!(f, ", {}", format!("{shape:?}").to_lowercase())?,
                    super::Curve::Points(points) => write!(f, ", a curve of {} points", points.len())?,
                }
                if self.fade > 0.0 {
                    write!(f, ", fading over {}", self.fade)?;
                }
            }
            Parsed::Mask(name) => write!(f, "as {name}")?,
            Parsed::Numbers(name, numbers) => write!(f, "{name} is one of {numbers:?}")?,
            Parsed::Satellite(kinds) => {
                let names: Vec<&str> = kinds.iter().map(|kind| kind.class().name()).collect();
                write!(f, "image shows {} or nothing", names.join(", "))?;
            }
            Parsed::Biomes(biomes) => {
                let word = |biome: &BiomeRef| match biome {
                    BiomeRef::Number(number) => number.to_string(),
                    BiomeRef::Name(name) => name.clone(),
                };
                write!(f, "in {}", biomes.iter().map(word).collect::<Vec<_>>().join(", "))?;
            }
        }
        if self.strength < 1.0 {
            write!(f, ", strength {}", self.strength)?;
        }
        Ok(())
    }
}
