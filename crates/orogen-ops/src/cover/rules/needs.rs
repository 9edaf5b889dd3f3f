//! What rules ask of an operator: which layers it reads, how far it looks, how much memory it takes, and what is wrong with
//! them.

use std::collections::BTreeSet;

use orogen_core::biome::BIOMES;
use orogen_core::param::{self, Fault, Segment};
use orogen_core::{Frame, LayerName, Layers, Part, layer};

use super::curve::farthest;
use super::fields::Asked;
use super::ground;
use super::quantity::{MOST_M, Parsed, Quantity};
use super::{BiomeRef, Curve, Rule, Span};

/// The layers and vectors that some rules look at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// Layers that must be there.
    pub reads: BTreeSet<LayerName>,
    /// Layers that are looked at where they are there.
    pub uses: BTreeSet<LayerName>,
    /// Vectors that are looked at where they are there.
    pub vectors: BTreeSet<LayerName>,
}

impl Needs {
    /// Those of some rules.
    #[must_use]
    pub fn of<'a>(rules: impl IntoIterator<Item = &'a Rule>) -> Self {
        let mut needs = Self::default();
        for rule in rules {
            let Some(parsed) = rule.parsed() else { continue };
            let names = match parsed {
                Parsed::Curve(Quantity::Lake, _) => {
                    needs.reads.insert(layer::HEIGHT.name());
                    needs.uses.insert(layer::WATER.name());
                    continue;
                }
                Parsed::Curve(Quantity::River, _) => {
                    needs.vectors.insert(LayerName::fixed("rivers"));
                    continue;
                }
                Parsed::Curve(quantity, _) => quantity.layers(),
                Parsed::Mask(name) => vec![name.clone()],
                Parsed::Numbers(name, _) => vec![name],
                Parsed::Satellite(_) => vec![layer::SATELLITE.name()],
                Parsed::Biomes(_) => vec![layer::BIOME.name()],
            };
            if rule.without.is_some() {
                needs.uses.extend(names);
            } else {
                needs.reads.extend(names);
            }
        }
        needs.uses.retain(|name| !needs.reads.contains(name));
        needs
    }

    /// Adds them to what an operator declares.
    #[must_use]
    pub fn declare(&self, layers: Layers) -> Layers {
        let layers = layers.reading(self.reads.iter().cloned()).using(self.uses.iter().cloned());
        layers.using_vectors(self.vectors.iter().cloned())
    }

    /// All of them: what a result follows from.
    pub fn parts(&self) -> impl Iterator<Item = Part> {
        let layers = self.reads.iter().chain(&self.uses).cloned().map(Part::Layer);
        layers.chain(self.vectors.iter().cloned().map(Part::Vectors))
    }
}

/// How far from a sample rules look, in metres.
#[must_use]
pub fn reach_m<'a>(rules: impl IntoIterator<Item = &'a Rule>, frame: &Frame) -> f64 {
    let [dx, dy] = frame.spacing_m();
    let cell = dx.max(dy);
    let of = |rule: &Rule| match rule.parsed() {
        Some(Parsed::Curve(Quantity::Slope | Quantity::Curvature | Quantity::Wetness, _)) => {
            rule.over_m / 2.0 + 2.0 * cell
        }
        Some(Parsed::Curve(Quantity::Coast | Quantity::Lake, span)) => {
            measured_m(farthest(rule, span, MOST_M)) + 2.0 * cell
        }
        _ => 0.0,
    };
    rules.into_iter().map(of).fold(0.0, f64::max)
}

/// How far distances are measured so that a weight is known that changes up to a distance: a little more, so that what lies
/// beyond is outside.
pub(super) fn measured_m(farthest_m: f64) -> f64 {
    1.0001 * farthest_m + 0.01
}

/// The most bytes a sample that [`super::Compiled`] holds beside its input.
#[must_use]
pub fn bytes_a_sample<'a>(rules: impl IntoIterator<Item = &'a Rule>, asked: Asked, frame: &Frame) -> f64 {
    let (mut slopes, mut bends, mut wet) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    let mut distances: BTreeSet<&str> = BTreeSet::new();
    for rule in rules {
        let over = rule.over_m.to_bits();
        let as_needed = asked == Asked::Rows && ground::is_near(frame, rule.over_m);
        match rule.parsed() {
            Some(Parsed::Curve(Quantity::Slope | Quantity::Curvature, _)) if as_needed => {}
            Some(Parsed::Curve(Quantity::Slope, _)) => drop(slopes.insert(over)),
            Some(Parsed::Curve(Quantity::Curvature, _)) => drop(bends.insert(over)),
            Some(Parsed::Curve(Quantity::Wetness, _)) => drop(wet.insert(over)),
            Some(Parsed::Curve(Quantity::Coast, _)) => drop(distances.insert("coast")),
            Some(Parsed::Curve(Quantity::Lake, _)) => drop(distances.insert("lake")),
            Some(Parsed::Curve(Quantity::River, _)) => drop(distances.insert("river")),
            _ => {}
        }
    }
    let kept = slopes.len() + bends.len() + wet.len() + distances.len();
    // Finding a distance or a mean takes three more rasters while it lasts.
    4.0 * kept as f64 + if distances.is_empty() && wet.is_empty() { 0.0 } else { 12.0 }
}

/// What is wrong with rules, each in a sentence; `path` is where they stand in the parameters.
#[must_use]
pub fn faults(rules: &[Rule], path: &[Segment]) -> Vec<Fault> {
    let mut found = Vec::new();
    for (i, rule) in rules.iter().enumerate() {
        let mut say = |key: &str, message: String| {
            let mut path = path.to_vec();
            path.push(Segment::Index(i));
            if !key.is_empty() {
                path.push(Segment::Key(key.to_owned()));
            }
            found.push(Fault { path, message });
        };
        let named = rule.named();
        match named.as_slice() {
            [] => {
                let what = if rule.between.is_some() || !rule.is.is_empty() {
                    "no layer is named: say layer = \"...\" beside the range"
                } else {
                    "a rule names what it is about, as in { slope_deg = [0, 35], fade = 5 }"
                };
                say("", what.to_owned());
            }
            [(name, parsed)] => fault_of(rule, name, parsed, &mut say),
            several => {
                let names: Vec<&str> = several.iter().map(|(name, _)| *name).collect();
                say(
                    "",
                    format!(
                        "a rule is about one thing, and this one names {}: write a rule for each",
                        names.join(" and ")
                    ),
                );
            }
        }
    }
    found
}

fn fault_of(rule: &Rule, name: &str, parsed: &Parsed<'_>, say: &mut impl FnMut(&str, String)) {
    if rule.layer.is_none() && (rule.between.is_some() || !rule.is.is_empty()) {
        let key = if rule.between.is_some() { "between" } else { "is" };
        say(key, format!("belongs to `layer`; the range of {name} stands with its name"));
    }
    match parsed {
        Parsed::Curve(quantity, Span([min, max])) => {
            let key = if name == "layer" { "between" } else { name };
            if min > max {
                say(key, format!("the range starts at {min} and ends at {max}: swap them"));
            } else if min == max && rule.curve != Curve::default() {
                say(key, format!("a curve needs a range, and this one is {min} only"));
            }
            if name == "layer" && !rule.is.is_empty() {
                say("is", "takes the place of `between`: say one of them".to_owned());
            }
            if *quantity == Quantity::River && *max < 0.0 {
                say(key, format!("{max} is below 0, and no distance from a river is"));
            }
        }
        Parsed::Numbers(layer, []) => {
            say("", format!("say which values of {layer:?} are meant: between = [0.5, 1], or is = [1, 2]"));
        }
        Parsed::Biomes(names) => {
            let known = || BIOMES.iter().map(|info| info.name);
            for unknown in names.iter().filter_map(|name| match name {
                BiomeRef::Name(name) if !known().any(|known| known == name) => Some(name),
                _ => None,
            }) {
                let hint = param::nearest(unknown, known()).map_or_else(
                    || {
                        format!(
                            "expected one of {}, or the number of one of the recipe's own",
                            known().collect::<Vec<_>>().join(", ")
                        )
                    },
                    |near| format!("did you mean {near:?}?"),
                );
                say("biome", format!("no biome {unknown:?}; {hint}"));
            }
        }
        Parsed::Numbers(..) | Parsed::Mask(_) | Parsed::Satellite(_) => {}
    }
    if let Curve::Points(points) = &rule.curve {
        if points.len() < 2 {
            say("curve", "a curve needs two points at least".to_owned());
        } else if let Some(pair) = points.windows(2).find(|pair| pair[0][0] >= pair[1][0]) {
            say("curve", format!("{} is not above {}, that of the point before", pair[1][0], pair[0][0]));
        }
    }
    if !matches!(parsed, Parsed::Curve(..)) && (rule.curve != Curve::default() || rule.fade > 0.0) {
        say("", format!("{name} has no range, so neither `curve` nor `fade` means anything here"));
    }
}
