//! Why plants stand at a place, or why none do.

use orogen_core::species::Kind;
use orogen_core::{Cause, Ctx, OpError, Reason, Terrain, layer};

use super::super::rules::{Asked, Compiled, Factor, Rule};
use super::super::species::{Plant, Weather, forest_mask};
use super::{Method, Scatter, has_trees};

/// What led to the number of each species round a place, the most frequent first; what keeps each away where none stands.
pub(super) fn of(
    scatter: &Scatter,
    land: &Terrain,
    place: [f64; 2],
    ctx: &Ctx<'_>,
) -> Result<Vec<Reason>, OpError> {
    let (plants, names) = (scatter.all(), scatter.densities());
    let frame = land.frame();
    let [col, row] = frame.locate(place[0], place[1]);
    let mut found = Vec::new();
    for name in &names {
        // What a later step has dropped is not explained.
        let Ok(density) = land.get_named::<f32>(name) else { return Ok(Vec::new()) };
        found.push(f64::from(density.bilinear(col, row)));
    }
    let things: Vec<&[Rule]> =
        plants.iter().flat_map(|plant| [plant.rules.as_slice(), plant.limits.as_slice()]).collect();
    let compiled = Compiled::new(&things, Asked::Places, land, ctx)?;
    let factors = |i: usize| -> Vec<Cause> {
        let own_shares = scatter.method == Method::Biome && !scatter.biomes.is_empty();
        let home = if own_shares { Vec::new() } else { compiled.explain(2 * i, place) };
        let limits = compiled.explain(2 * i + 1, place);
        let rules = home.into_iter().chain(limits).map(cause);
        rules.chain(bears(scatter, &plants, &plants[i], land, [col, row])).collect()
    };
    let mut order: Vec<usize> = (0..plants.len()).filter(|i| found[*i] > 0.0).collect();
    order.sort_by(|a, b| found[*b].total_cmp(&found[*a]).then(a.cmp(b)));
    if order.is_empty() {
        let keeps_away = |i: usize| {
            let mut causes = factors(i);
            causes.sort_by(|a, b| a.weight.unwrap_or(1.0).total_cmp(&b.weight.unwrap_or(1.0)));
            causes.into_iter().next().map(|cause| Cause {
                says: format!("{}, {}", cause.name, cause.says).trim_end_matches(", ").to_owned(),
                name: plants[i].name.clone(),
                ..cause
            })
        };
        let because = (0..plants.len()).filter_map(keeps_away).collect();
        return Ok(vec![Reason { of: String::from("plants"), found: String::from("none"), because }]);
    }
    Ok((order.into_iter())
        .map(|i| Reason {
            of: plants[i].name.clone(),
            found: format!("{} a hectare", count(1e4 * found[i])),
            because: factors(i),
        })
        .collect())
}

/// A number with the digits that it is worth.
pub(in crate::cover) fn count(number: f64) -> String {
    match number {
        n if n >= 10.0 => format!("{n:.0}"),
        n if n >= 0.1 => format!("{n:.1}"),
        _ => String::from("less than 0.1"),
    }
}

/// A factor of a weight as a cause.
pub(in crate::cover) fn cause(factor: Factor) -> Cause {
    Cause {
        name: factor.name,
        value: factor.value.filter(|value| value.is_finite()),
        unit: factor.unit.to_owned(),
        weight: Some(factor.weight),
        says: factor.rule,
    }
}

/// What wind and salt leave of a plant, where the land knows of them.
pub(in crate::cover) fn weather(plant: &Plant, land: &Terrain, [col, row]: [f64; 2]) -> Vec<Cause> {
    let at = |of: layer::Layer<f32>| land.get(of).ok().map(|raster| raster.bilinear(col, row));
    let [wind, salt] = [layer::WIND, layer::SALT].map(at);
    let weather = Weather { wind: None, salt: None };
    let [by_wind, by_salt] = weather.harm(plant, wind.unwrap_or(0.0), salt.unwrap_or(0.0));
    let mut found = Vec::new();
    if let Some(wind) = wind {
        let says = format!("bears {} unharmed", plant.wind_m_per_s);
        found.push(weighed("wind", wind.into(), "m/s", 1.0 - by_wind, says));
    }
    if let Some(salt) = salt {
        let says = format!("bears {} unharmed", plant.salt);
        found.push(weighed("salt", salt.into(), "", 1.0 - by_salt, says));
    }
    found
}

/// What is left of a plant where forest was drawn.
pub(in crate::cover) fn drawn(plant: &Plant, land: &Terrain, [col, row]: [f64; 2]) -> Option<Cause> {
    let forest = land.get_named::<f32>(&forest_mask()).ok().filter(|_| plant.kind == Kind::Tree)?;
    let drawn = f64::from(forest.bilinear(col, row)).clamp(0.0, 1.0);
    Some(weighed("forest", drawn, "", drawn, String::from("trees stand where it was drawn")))
}

fn weighed(name: &str, value: f64, unit: &str, weight: f64, says: String) -> Cause {
    Cause { weight: Some(weight), ..Cause::value(name, value, unit, &says) }
}

/// What wind, salt, shade and drawn forest leave, where the land knows of them.
fn bears(
    scatter: &Scatter,
    plants: &[Plant],
    plant: &Plant,
    land: &Terrain,
    [col, row]: [f64; 2],
) -> Vec<Cause> {
    let at = |of: layer::Layer<f32>| land.get(of).ok().map(|raster| raster.bilinear(col, row));
    let mut found = weather(plant, land, [col, row]);
    if has_trees(plants) {
        found.extend(drawn(plant, land, [col, row]));
    } else if let Some(cover) = at(layer::CANOPY_COVER) {
        let left = 1.0 - f64::from(cover).clamp(0.0, 1.0) * (1.0 - plant.shade);
        let says = format!("bears {} of the shade below trees", plant.shade);
        found.push(weighed("shade", cover.into(), "", left, says));
    }
    if scatter.density != 1.0 {
        found.push(Cause::value("density", scatter.density, "", "factor on all plants of the step"));
    }
    found
}
