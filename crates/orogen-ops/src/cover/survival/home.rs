//! How much each species likes a place.

use orogen_core::species::Kind;
use orogen_core::{Ctx, Frame, OpError, Raster, Terrain, layer};

use super::super::rules::{Asked, Buffers, Compiled, Measured, Rule};
use super::super::species::{Plant, Weather, forest_mask};

/// The rules of all species on the land, with what wind, salt and drawn forest say.
pub(super) struct Home<'a> {
    plants: &'a [Plant],
    /// Two things a species: where it is at home, and where it can stand at all.
    rules: Compiled<'a>,
    weather: Weather<'a>,
    forest: Option<&'a Raster<f32>>,
    /// That of the land that the rules look at.
    frame: Frame,
}

impl<'a> Home<'a> {
    /// What was measured on the same land before is not measured again.
    pub fn new(
        plants: &'a [Plant],
        land: &'a Terrain,
        measured: &mut Measured,
        ctx: &Ctx<'_>,
    ) -> Result<Self, OpError> {
        let things: Vec<&[Rule]> =
            plants.iter().flat_map(|plant| [plant.rules.as_slice(), plant.limits.as_slice()]).collect();
        let [wind, salt] = [layer::WIND, layer::SALT].map(|of| land.get(of).ok());
        Ok(Self {
            plants,
            rules: Compiled::again(&things, Asked::Places, measured, land, ctx)?,
            weather: Weather { wind, salt },
            forest: land.get_named(&forest_mask()).ok(),
            frame: *land.frame(),
        })
    }

    /// From 0 (not at all) to 1.
    pub fn at(&self, species: usize, place: [f64; 2]) -> f64 {
        // Where it cannot stand is known soonest.
        let limits = self.rules.at(2 * species + 1, place);
        if limits <= 0.0 || limits.is_nan() {
            return 0.0;
        }
        let weight = f64::from(limits) * f64::from(self.rules.at(2 * species, place));
        let [col, row] = self.frame.locate(place[0], place[1]);
        let weight =
            weight * self.drawn(species, || self.forest.map_or(1.0, |forest| forest.bilinear(col, row)));
        let [wind, salt] = self.weather.harm_at(&self.plants[species], [col, row]);
        let weight = weight * (1.0 - wind) * (1.0 - salt);
        if weight > 0.0 { weight } else { 0.0 }
    }

    /// Trees stand where forest was drawn.
    fn drawn(&self, species: usize, forest: impl Fn() -> f32) -> f64 {
        if self.plants[species].kind == Kind::Tree { f64::from(forest().clamp(0.0, 1.0)) } else { 1.0 }
    }

    /// 1 on the samples of a frame that a species can stand on, else 0.
    pub fn ground(&self, species: usize, frame: &Frame, ctx: &Ctx<'_>) -> Result<Raster<f32>, OpError> {
        let (left, top) = self
            .frame
            .offset_of(frame)
            .ok_or_else(|| OpError::Internal(String::from("the land does not hold its own frame")))?;
        let mut ground = Raster::filled(frame.cols(), frame.rows(), 0.0f32);
        ground.try_par_rows(|row, values| {
            let mut buffers = Buffers::default();
            let [mut home, mut limits] = [(); 2].map(|()| vec![0.0f32; self.frame.cols()]);
            self.rules.row(2 * species, top + row, &mut buffers, &mut home);
            self.rules.row(2 * species + 1, top + row, &mut buffers, &mut limits);
            for (col, value) in values.iter_mut().enumerate() {
                let at = left + col;
                let weight = f64::from(home[at]) * f64::from(limits[at]);
                let weight = weight
                    * self.drawn(species, || self.forest.map_or(1.0, |forest| forest.row(top + row)[at]));
                let [wind, salt] =
                    self.weather.harm_at(&self.plants[species], [at as f64, (top + row) as f64]);
                *value = if weight * (1.0 - wind) * (1.0 - salt) > 0.0 { 1.0 } else { 0.0 };
            }
            ctx.stop_if_asked()
        })?;
        Ok(ground)
    }
}
