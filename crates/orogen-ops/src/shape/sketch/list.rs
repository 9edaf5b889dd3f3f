//! The list of named features: changed by hand, as a vector layer, and as a piece of a recipe.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use orogen_core::param::nearest;
use orogen_core::vector::{Column, Shape, VectorLayer};
use orogen_core::{LayerName, math};

use super::{Forest, Sketch};
use crate::shape::features::{Feature, Features};

/// A feature with its name, and where it comes from.
struct Named {
    feature: Feature,
    name: String,
    from: &'static str,
}

/// Gives features names: the kind and the place in metres, behind the name of the drawing where that has one. So a name
/// stays the same as long as the feature is put there, whatever else is drawn.
pub(super) fn named(features: Vec<(Feature, Option<String>, bool)>) -> Vec<(Feature, bool)> {
    let mut taken: BTreeMap<String, usize> = BTreeMap::new();
    let name = |(feature, called, drawn): (Feature, Option<String>, bool)| {
        let [x, y] = feature.at_m();
        let place = format!("{} {x:.0} {y:.0}", feature.kind());
        let mut name = match called {
            Some(called) => format!("{called}: {place}"),
            None => place,
        };
        let again = taken.entry(name.clone()).or_default();
        *again += 1;
        if *again > 1 {
            let _ = write!(name, " ({again})");
        }
        (feature.named(&name), drawn)
    };
    features.into_iter().map(name).collect()
}

/// All features of a sketch in the order in which they act, each with a name of its own.
pub(super) struct List {
    named: Vec<Named>,
    /// Names in `remove` that no feature has, with the nearest that one has.
    unknown: Vec<(String, Option<String>)>,
}

impl List {
    /// What a sketch has become, with what was changed by hand.
    pub fn new(features: Vec<(Feature, bool)>, sketch: &Sketch) -> Self {
        let named = |(feature, drawn): (Feature, bool)| Named {
            name: feature.name().unwrap_or_default().to_owned(),
            feature: held(feature, drawn && sketch.hold),
            from: if drawn { "drawn" } else { "filled" },
        };
        let mut all: Vec<Named> = features.into_iter().map(named).collect();
        let known: BTreeSet<String> = all.iter().map(|named| named.name.clone()).collect();
        let kept: BTreeMap<&str, &Feature> =
            sketch.keep.iter().filter_map(|feature| Some((feature.name()?, feature))).collect();
        for named in &mut all {
            if let Some(feature) = kept.get(named.name.as_str()) {
                named.feature = (*feature).clone();
                named.from = "kept";
            }
        }
        // What was kept from another drawing: it stands beside what there is now, and takes the place of what would
        // stand in its middle.
        for (name, feature) in kept.iter().filter(|(name, _)| !known.contains(**name)) {
            let reach = 0.6 * radius_m(feature);
            let at = feature.at_m();
            all.retain(|named| {
                let [x, y] = named.feature.at_m();
                let near = math::hypot(x - at[0], y - at[1]) < reach;
                named.from == "kept" || named.feature.kind() != feature.kind() || !near
            });
            let after = |named: &Named| rank(&named.feature) <= rank(feature);
            let place = all.iter().rposition(after).map_or(0, |last| last + 1);
            all.insert(place, Named { feature: (*feature).clone(), name: (*name).to_owned(), from: "kept" });
        }
        let gone: BTreeSet<&str> = sketch.remove.iter().map(String::as_str).collect();
        let names: BTreeSet<&str> = all.iter().map(|named| named.name.as_str()).collect();
        let unknown = gone.iter().filter(|name| !names.contains(**name)).map(|name| {
            let near = nearest(name, names.iter().copied());
            ((*name).to_owned(), near.map(str::to_owned))
        });
        let unknown = unknown.collect();
        all.retain(|named| !gone.contains(named.name.as_str()));
        Self { named: all, unknown }
    }

    /// Sentences about names in `remove` that this sketch does not have.
    pub fn unknown(&self) -> Vec<String> {
        let sentence = |(name, near): &(String, Option<String>)| {
            let near = near.as_ref().map_or(String::new(), |near| format!("; did you mean {near:?}?"));
            format!("remove: this sketch has no feature named {name:?}{near}")
        };
        self.unknown.iter().take(20).map(sentence).collect()
    }

    pub fn features(&self) -> Vec<Feature> {
        self.named.iter().map(|named| named.feature.clone()).collect()
    }

    /// The vector layer: what each feature covers, its name, kind, origin and itself as TOML; then the forest.
    pub fn vectors(&self, seed: &str, forest: &Forest) -> VectorLayer {
        let mut layer = VectorLayer::new(Shape::Lines);
        let mut columns: [Vec<String>; 5] = Default::default();
        let mut row = |values: [&str; 5]| {
            columns.iter_mut().zip(values).for_each(|(column, value)| column.push(value.to_owned()));
        };
        for named in &self.named {
            layer.push_parts(outline(&named.feature));
            row([&named.name, named.feature.kind(), named.from, seed, &inline(&named.feature)]);
        }
        if !forest.rings_m.is_empty() {
            let ring = |ring: &Vec<[f64; 2]>| {
                let closed = ring.iter().chain(ring.first());
                closed.map(|p| [p[0], p[1], 0.0]).collect::<Vec<_>>()
            };
            layer.push_parts(forest.rings_m.iter().map(ring));
            row(["forest", "forest", "", seed, &inline(forest)]);
        }
        for (name, column) in ["name", "kind", "from", "seed", "recipe"].into_iter().zip(columns) {
            // One entry a feature was pushed above, so it fits.
            let _ = layer.set_feature_attribute(name, Column::Text(column));
        }
        layer
    }
}

fn held(mut feature: Feature, hold: bool) -> Feature {
    feature.set_hold(hold);
    feature
}

/// Where a kind stands in the order of acting.
fn rank(feature: &Feature) -> u32 {
    match feature {
        Feature::Plateau(_) => 0,
        Feature::Lake(_) => 2,
        Feature::River(_) | Feature::Canyon(_) => 3,
        _ => 1,
    }
}

/// How far a feature reaches, about.
fn radius_m(feature: &Feature) -> f64 {
    match feature {
        Feature::Mountain(f) => f.radius_m,
        Feature::Massif(f) => f.radius_m,
        Feature::Hill(f) => f.radius_m,
        Feature::DuneField(f) => f.radius_m,
        Feature::Lake(f) => f.radius_m,
        Feature::Plateau(f) => f.radius_m,
        Feature::Crater(f) => f.radius_m,
        Feature::Volcano(f) => f.radius_m,
        Feature::Ridge(f) => f.radius_m,
        Feature::Canyon(f) => f.radius_m,
        Feature::River(f) => f.points.first().map_or(0.0, |p| p.width_m),
    }
}

/// What a feature covers, as lines.
fn outline(feature: &Feature) -> Vec<Vec<[f64; 3]>> {
    let line =
        |points: Vec<[f64; 2]>| vec![points.into_iter().map(|p| [p[0], p[1], 0.0]).collect::<Vec<_>>()];
    match feature {
        Feature::River(f) => {
            vec![f.points.iter().map(|p| [p.x_m, p.y_m, p.z_m.unwrap_or(0.0)]).collect()]
        }
        Feature::Ridge(f) => line(f.points.iter().map(|p| [p.x_m, p.y_m]).collect()),
        Feature::Canyon(f) => line(f.points.iter().map(|p| [p.x_m, p.y_m]).collect()),
        _ => {
            let (at, radius) = (feature.at_m(), radius_m(feature));
            let place = |p: [f64; 2]| [at[0] + radius * p[0], at[1] + radius * p[1], 0.0];
            if feature.rings().is_empty() {
                let corner = |i: i32| {
                    let turn = std::f64::consts::TAU * f64::from(i) / 24.0;
                    place([math::cos(turn), math::sin(turn)])
                };
                return vec![(0..=24).map(corner).collect()];
            }
            let closed = |ring: &Vec<[f64; 2]>| ring.iter().chain(ring.first()).map(|p| place(*p)).collect();
            feature.rings().iter().map(closed).collect()
        }
    }
}

/// The mask of a forest.
pub(super) fn forest(rings_m: &[Vec<[f64; 2]>], to: &LayerName) -> Forest {
    Forest { rings_m: rings_m.to_vec(), falloff_m: 0.0, invert: false, to: to.clone() }
}

/// Parameters as one line of TOML, what they are first.
fn inline(value: &impl serde::Serialize) -> String {
    // Parameters are plain data, which TOML can hold: the catalogue test checks it.
    let Ok(toml::Value::Table(mut table)) = toml::Value::try_from(value) else { return String::new() };
    let first = ["kind", "name", "at_m", "radius_m", "height_m", "level_m"];
    // What every feature has by default.
    table.retain(|key, value| {
        !(key == "hold" && value.as_bool() == Some(false)
            || key == "strength" && value.as_float() == Some(1.0))
    });
    let front = first.iter().filter_map(|key| table.remove(*key).map(|value| ((*key).to_owned(), value)));
    let front: Vec<(String, toml::Value)> = front.collect();
    let entry = |(key, value): (String, toml::Value)| format!("{key} = {value}");
    let entries: Vec<String> = front.into_iter().chain(table).map(entry).collect();
    format!("{{ {} }}", entries.join(", "))
}

/// The piece of a recipe that makes the features of a vector layer `features` again, with `shape.features` and, for the
/// forest, `mask.polygon`. `None` when `shape.sketch` did not make the layer.
#[must_use]
pub fn fragment(layer: &VectorLayer) -> Option<String> {
    let column = |name: &str| match layer.feature_attributes().get(name) {
        Some(Column::Text(column)) => Some(column),
        _ => None,
    };
    let (kinds, froms) = (column("kind")?, column("from")?);
    let seeds = column("seed").or_else(|| column("luck"))?; // formerly
    let recipes = column("recipe")?;
    let mut text = String::from(
        "# The features of a sketch. Put this in place of the shape.sketch step to move, resize or delete any of them;\n\
         # otherwise the land stays the same. Or keep the sketch, copy single lines into its `keep` and change them\n\
         # there, and list what should go in its `remove`.\n",
    );
    let seed = seeds.first().map_or("", String::as_str);
    let _ = write!(
        text,
        "\n[[step]]\nid = \"features\"\nop = {:?}\n\n[step.params]\nseed = {seed:?}\nfeatures = [\n",
        <Features as orogen_core::Op>::ID
    );
    let mut last = "";
    for i in (0..layer.len()).filter(|i| kinds[*i] != "forest") {
        if froms[i] != last {
            let _ = writeln!(text, "    # {}", froms[i]);
        }
        last = &froms[i];
        let _ = writeln!(text, "    {},", recipes[i]);
    }
    text.push_str("]\n");
    for i in (0..layer.len()).filter(|i| kinds[*i] == "forest") {
        let _ = write!(
            text,
            "\n[[step]]\nid = \"forest\"\nop = {:?}\nparams = {}\n",
            <Forest as orogen_core::Op>::ID,
            recipes[i]
        );
    }
    Some(text)
}
