//! The plants of a window of a forest too large to keep: made from its densities and ages.

use orogen_core::rng::Seed;
use orogen_core::{Ctx, OpError, Raster, Rect, Terrain, layer};

use super::super::rules::{Asked, Compiled, Rule};
use super::super::scatter::stand::{self, Stand, Standing, poisson_reach_m};
use super::super::species::{Plant, Weather};
use super::Survival;
use super::ecosystem::{GROWN, OLD, size};

/// Usual size of what still grows.
const YOUNG: f64 = 0.6;

/// The species twice each, grown and young: young ones take less room.
fn classes(survival: &Survival) -> Vec<Plant> {
    let both = |plant: Plant| {
        let young = Plant { radius_m: plant.radius_m * YOUNG, ..plant.clone() };
        [plant, young]
    };
    survival.plants().into_iter().flat_map(both).collect()
}

/// The plants of a rectangle, from a terrain with the densities that the step wrote. It is to reach as far around the rectangle as
/// [`reach_of_plants_m`] says, on the recipe's own lattice; then they are the same as those of the whole.
///
/// # Errors
/// When a density is missing, when there are too many, or when cancelled.
pub fn standing(
    survival: &Survival,
    terrain: &Terrain,
    rect: &Rect,
    ctx: &Ctx<'_>,
) -> Result<Vec<Standing>, OpError> {
    let plants = classes(survival);
    let frame = *terrain.frame();
    let rasters: Vec<&Raster<f32>> =
        survival.densities().map(|name| terrain.get_named::<f32>(&name)).collect::<Result<_, OpError>>()?;
    let limits: Vec<&[Rule]> = plants.iter().step_by(2).map(|plant| plant.limits.as_slice()).collect();
    let limits = Compiled::new(&limits, Asked::Places, terrain, ctx)?;
    let [wind, salt] = [layer::WIND, layer::SALT].map(|of| terrain.get(of).ok());
    let weather = Weather { wind, salt };
    let bounds = frame.extent();
    let at = |raster: usize, place: [f64; 2]| {
        let [col, row] = frame.locate(place[0], place[1]);
        f64::from(rasters[raster].bilinear(col, row))
    };
    let crowd = |weights: &[(usize, f64)]| {
        let sum = Raster::from_fn(frame.cols(), frame.rows(), |col, row| {
            let of = |(class, weight): &(usize, f64)| {
                let value = |raster: usize| f64::from(rasters[raster].row(row)[col]);
                let (species, young) = (class / 2, value(3 * (class / 2) + 1));
                weight * if class % 2 == 1 { young } else { value(3 * species) - young }.max(0.0)
            };
            weights.iter().map(of).sum::<f64>() as f32
        });
        Box::new(move |place: [f64; 2]| {
            let [col, row] = frame.locate(place[0], place[1]);
            let taken = f64::from(sum.bilinear(col, row));
            if stand::holds(&bounds, place) && taken > 0.0 { taken } else { 0.0 }
        }) as stand::AtPlace
    };
    let stand = Stand {
        plants: &plants,
        crowd: &crowd,
        density: |class: usize, place: [f64; 2]| {
            let species = class / 2;
            let young = at(3 * species + 1, place);
            let dense = if class % 2 == 1 { young } else { at(3 * species, place) - young };
            // The lattice may miss a brook or a cliff; the place does not.
            let stands = dense > 0.0 && stand::holds(&bounds, place) && limits.at(species, place) > 0.0;
            if stands { dense } else { 0.0 }
        },
        harm: |class: usize, place: [f64; 2]| {
            weather.harm_at(&plants[class], frame.locate(place[0], place[1]))
        },
        wind_to: 0,
        seed: ctx.seed(),
        bounds,
        repeats: None,
        there: vec![true; plants.len()],
    };
    let aged = |(place, mut thing): Standing| {
        let (species, is_young) = (usize::from(thing.species) / 2, thing.species % 2 == 1);
        let seed = Seed(thing.id);
        let life = if is_young {
            GROWN * seed.unit(7)
        } else {
            let grown = at(3 * species, place) - at(3 * species + 1, place);
            let is_old = seed.unit(8) * grown < at(3 * species + 2, place);
            let [from, to] = if is_old { [OLD, 1.0] } else { [GROWN, OLD] };
            from + (to - from) * seed.unit(7)
        };
        thing.species = species as u16;
        thing.age = (life * 255.0) as u8;
        thing.scale = (size(life) * 4096.0) as u16;
        (place, thing)
    };
    Ok(stand.poisson(rect, ctx)?.into_iter().map(aged).collect())
}

/// How far around a rectangle densities are to be known for its plants to be those of the whole.
#[must_use]
pub fn reach_of_plants_m(survival: &Survival) -> f64 {
    poisson_reach_m(&classes(survival))
}
