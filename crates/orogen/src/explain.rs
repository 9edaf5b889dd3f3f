//! Why a place is as it is.

use orogen_core::{Ctx, Reason, layer};
use orogen_recipe::{Observer, Recipe};
use serde::Serialize;

use crate::build::{BuildOptions, build, check};
use crate::error::BuildError;

/// What is known of a place, and why.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Explanation {
    /// Where: metres to the east and to the north.
    pub place_m: [f64; 2],
    /// Height there, in metres.
    pub height_m: Option<f64>,
    /// What operators found there, in the order of their steps.
    pub reasons: Vec<Reason>,
}

/// Builds a recipe and asks its operators why a place has its temperature, its biome, its materials, its plants.
///
/// What a step found is explained if no later step has replaced it.
///
/// # Errors
/// As [`build`], and when the place lies outside the land.
pub fn explain(
    recipe: &Recipe,
    options: &BuildOptions<'_>,
    place_m: [f64; 2],
    observer: &dyn Observer,
) -> Result<Explanation, BuildError> {
    let (checked, _) = check(recipe, options)?;
    let extent = checked.frame().extent();
    let inside = |axis: usize| (extent.min[axis]..=extent.max[axis]).contains(&place_m[axis]);
    if !(inside(0) && inside(1)) {
        return Err(BuildError::Call(format!(
            "{},{} lies outside the land, which reaches from {},{} to {},{} (metres east, metres north)",
            place_m[0], place_m[1], extent.min[0], extent.min[1], extent.max[0], extent.max[1]
        )));
    }
    let built = build(recipe, options, observer)?;
    let land = &built.terrain;
    let [col, row] = land.frame().locate(place_m[0], place_m[1]);
    let height_m = land.get(layer::HEIGHT).ok().map(|height| f64::from(height.bilinear(col, row)));
    let height_m = height_m.filter(|h| h.is_finite());
    let mut reasons: Vec<Reason> = Vec::new();
    // In a hole there is nothing to explain.
    for step in checked.steps().iter().filter(|_| height_m.is_some()) {
        let ctx = Ctx::new(step.seed).in_world(*checked.frame()).at_place(land.place());
        let found = step
            .op
            .explain(land, place_m, &ctx)
            .map_err(|error| BuildError::Run(format!("step {:?} ({}): {error}", step.id, step.op.id())))?;
        // The last step that says something of a thing made what is there.
        let word = |reason: &Reason| reason.of.split(' ').next().map(str::to_owned);
        let words: Vec<_> = found.iter().map(word).collect();
        reasons.retain(|reason| !words.contains(&word(reason)));
        reasons.extend(found);
    }
    Ok(Explanation { place_m, height_m, reasons })
}

impl Explanation {
    /// As JSON.
    #[must_use]
    pub fn json(&self) -> String {
        // Names and finite numbers: there is nothing in it that JSON cannot say.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// As lines of text.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = format!("{}, {} m", self.place_m[0], self.place_m[1]);
        match self.height_m {
            Some(height) => text.push_str(&format!(", height {height:.1} m")),
            None => text.push_str(", a hole in the land: nothing is known here"),
        }
        text.push('\n');
        for reason in &self.reasons {
            text.push_str(&format!("\n{}: {}\n", reason.of, reason.found));
            for cause in &reason.because {
                let value = match cause.value {
                    Some(id) if cause.unit == "id" => format!("{id:.0}"),
                    Some(value) => number(value),
                    None => String::from("not there"),
                };
                let weight = cause.weight.map_or(String::new(), |weight| format!("{weight:.2}"));
                // What is not there has no unit, and numbers of things have none to be read.
                let unit = if cause.value.is_none() || cause.unit == "id" { "" } else { cause.unit.as_str() };
                text.push_str(
                    format!("  {weight:>5}  {:<24} {value:>10} {unit:<5}  {}", cause.name, cause.says)
                        .trim_end(),
                );
                text.push('\n');
            }
        }
        if self.reasons.is_empty() {
            text.push_str("no step of this recipe has anything to explain here\n");
        }
        text
    }
}

/// With as many digits as are worth reading.
fn number(value: f64) -> String {
    // Zero has two signs, and one of them reads odd.
    let value = value + 0.0;
    match value.abs() {
        size if size >= 1000.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        size if size >= 0.01 => format!("{value:.3}"),
        // Less than that is left over from fading.
        size if size < 1e-6 => String::from("0"),
        _ => format!("{value:.1e}"),
    }
}
