//! Why a grown forest is as it is at a place.

use orogen_core::{Cause, Ctx, OpError, Reason, Terrain};

use super::super::rules::{Asked, Compiled, Rule};
use super::super::scatter::reasons::{cause, count, drawn, weather};
use super::Survival;

/// How many of each species stand round a place, the most frequent first, and what decided whether their seeds come up. Where none
/// stands: what keeps each away, or that others have won the ground.
pub(super) fn of(
    survival: &Survival,
    land: &Terrain,
    place: [f64; 2],
    ctx: &Ctx<'_>,
) -> Result<Vec<Reason>, OpError> {
    let (plants, frame) = (survival.plants(), land.frame());
    let at = frame.locate(place[0], place[1]);
    let mut found = Vec::new();
    for names in survival.species.iter().filter_map(Survival::names_of) {
        let mut of_species = [0.0; 3];
        for (value, name) in of_species.iter_mut().zip(&names) {
            // What a later step has dropped is not explained.
            let Ok(density) = land.get_named::<f32>(name) else { return Ok(Vec::new()) };
            *value = f64::from(density.bilinear(at[0], at[1]));
        }
        found.push(of_species);
    }
    let things: Vec<&[Rule]> =
        plants.iter().flat_map(|plant| [plant.rules.as_slice(), plant.limits.as_slice()]).collect();
    let compiled = Compiled::new(&things, Asked::Places, land, ctx)?;
    let factors = |i: usize| -> Vec<Cause> {
        let rules = compiled.explain(2 * i, place).into_iter().chain(compiled.explain(2 * i + 1, place));
        let rules = rules.map(cause).chain(weather(&plants[i], land, at));
        rules.chain(drawn(&plants[i], land, at)).collect()
    };
    let mut order: Vec<usize> = (0..found.len()).filter(|i| found[*i][0] > 0.0).collect();
    order.sort_by(|a, b| found[*b][0].total_cmp(&found[*a][0]).then(a.cmp(b)));
    let stands = |i: usize| {
        let ([all, young, old], plant) = (found[i], &plants[i]);
        let mut because = factors(i);
        let share = |part: f64, says: &str| Cause::value(says, 100.0 * part / all, "%", "");
        because.push(share(young, "still grow"));
        because.push(share(old, "old"));
        because.push(Cause::value("bears shade", plant.shade, "", "above 0.5 below crowns twice as high"));
        Reason { of: plant.name.clone(), found: format!("{} a hectare", count(1e4 * all)), because }
    };
    if !order.is_empty() {
        return Ok(order.into_iter().map(stands).collect());
    }
    let keeps_away = |i: usize| {
        let least = factors(i)
            .into_iter()
            .min_by(|a, b| a.weight.unwrap_or(1.0).total_cmp(&b.weight.unwrap_or(1.0)))?;
        let says = match least.weight {
            Some(weight) if weight > 0.0 => String::from("at home, and others have won the ground"),
            _ => format!("{}, {}", least.name, least.says).trim_end_matches(", ").to_owned(),
        };
        Some(Cause { says, name: plants[i].name.clone(), ..least })
    };
    let because = (0..plants.len()).filter_map(keeps_away).collect();
    Ok(vec![Reason { of: String::from("plants"), found: String::from("none"), because }])
}
