//! Why a place has its biome.

use orogen_core::biome::Biome;
use orogen_core::{Cause, Ctx, OpError, Reason, Terrain, layer};

use super::{Biomes, Borders, table};

/// What led to the biome of the sample nearest to a place; nothing where there are no biomes.
pub(super) fn of(
    params: &Biomes,
    land: &Terrain,
    place: [f64; 2],
    ctx: &Ctx<'_>,
) -> Result<Vec<Reason>, OpError> {
    let Ok(biomes) = land.get(layer::BIOME) else { return Ok(Vec::new()) };
    let frame = land.frame();
    let [col, row] = frame.locate(place[0], place[1]);
    let nearest = |at: f64, count: usize| (at + 0.5).floor().clamp(0.0, count as f64 - 1.0) as usize;
    let (col, row) = (nearest(col, frame.cols()), nearest(row, frame.rows()));
    let h = f64::from(land.get(layer::HEIGHT)?.row(row)[col]);
    let shift = Borders::new(params, land, ctx).at([frame.x_m(col), frame.y_m(row)]);
    let warm = f64::from(params.temperature_c.on(land)?.at(col, row));
    let wet = f64::from(params.moisture.on(land)?.at(col, row));
    let mut because = vec![
        Cause::value(
            "height",
            h,
            "m",
            if h < 0.0 { "below the sea" } else { "that of the nearest sample, as all here" },
        ),
        Cause::value("temperature", warm, "degC", ""),
        Cause::value("colder by height", -h * params.lapse_c_per_km / 1000.0, "degC", "lapse_c_per_km"),
        Cause::value("taken as warmer by", shift[0].into(), "degC", "borders interlock"),
        Cause::value("moisture", wet, "", ""),
        Cause::value("taken as wetter by", shift[1].into(), "", "borders interlock"),
    ];
    if let Ok(water) = land.get(layer::WATER) {
        let says = format!("a lake from {} m on", params.lake_depth_m);
        because.push(Cause::value("water", water.row(row)[col].into(), "m", &says));
    }
    let snow = if params.snow_depth_m > 0.0 { land.get(layer::SNOW).ok() } else { None };
    if let Some(snow) = snow {
        let says = format!("lies from {} m on", params.snow_depth_m);
        because.push(Cause::value("snow", snow.row(row)[col].into(), "m", &says));
    }
    for painted in &params.painted {
        let mask = f64::from(land.get_named::<f32>(&painted.mask)?.row(row)[col]);
        because.push(Cause::value(painted.mask.as_str(), mask, "", "painted where it is 0.5 and more"));
    }
    if let Some(line) = params.snow_line_m {
        because.push(Cause::value("snow line", line, "m", "snow above it"));
    }
    let id = biomes.row(row)[col];
    let own = params.own.iter().find(|own| own.id == id).map(|own| own.name.clone());
    let known = || Biome::from_id(id).map(|biome| biome.info().name.to_owned());
    let table = if snow.is_some() { table::Table::thawed(params) } else { table::Table::new(params) };
    let climate =
        table.at((warm - h * params.lapse_c_per_km / 1000.0) as f32 + shift[0], wet as f32 + shift[1]);
    let found = own.or_else(known).unwrap_or_else(|| format!("biome {id}"));
    let found =
        if id == climate { format!("{found}, by its climate") } else { format!("{found}, by its place") };
    Ok(vec![Reason { of: String::from("biome"), found, because }])
}
