//! Densities of species and the canopy that they make, row by row.

use std::f64::consts::PI;

use orogen_core::species::Kind;
use orogen_core::{Ctx, OpError, Raster, Terrain, layer};
use rayon::prelude::*;

use super::super::rules::{Asked, Buffers, Compiled, Rule};
use super::super::species::{Plant, Weather, forest_mask};
use super::random::thinned;
use super::{Method, Scatter, canopy_layers, has_trees, most_cover};

/// Writes the layers of a step.
pub(super) fn write(
    scatter: &Scatter,
    plants: &[Plant],
    terrain: &mut Terrain,
    ctx: &Ctx<'_>,
) -> Result<(), OpError> {
    let (cols, rows) = (terrain.frame().cols(), terrain.frame().rows());
    let trees = has_trees(plants);
    let mut made: Vec<Raster<f32>> =
        (0..plants.len() + if trees { 5 } else { 0 }).map(|_| Raster::filled(cols, rows, 0.0)).collect();
    {
        let work = Work::new(scatter, plants, terrain, ctx)?;
        let counter = ctx.counter(rows);
        let mut by_row: Vec<Vec<&mut [f32]>> = (0..rows).map(|_| Vec::with_capacity(made.len())).collect();
        for raster in &mut made {
            let lines = raster.as_mut_slice().chunks_mut(cols);
            by_row.iter_mut().zip(lines).for_each(|(row, line)| row.push(line));
        }
        by_row.par_iter_mut().enumerate().with_min_len(16).try_for_each_init(
            Buffers::default,
            |buffers, (row, out)| {
                work.row(row, buffers, out);
                counter.done()
            },
        )?;
    }
    let mut names = scatter.densities();
    if trees {
        names.extend(canopy_layers());
    }
    for (name, raster) in names.into_iter().zip(made) {
        terrain.set_named(name, raster.into());
    }
    Ok(())
}

/// Says how many plants of each species are to be expected on a terrain.
pub(super) fn report(scatter: &Scatter, terrain: &Terrain, ctx: &Ctx<'_>) {
    let [dx, dy] = terrain.frame().spacing_m();
    for (species, name) in scatter.listed().iter().zip(scatter.densities()) {
        let Ok(density) = terrain.get_named::<f32>(&name) else { continue };
        let count = density.sum_f64() * dx * dy;
        if count > 0.0 {
            ctx.report(&format!("expected_{}", species.name), count, "");
        }
    }
}

struct Work<'a> {
    scatter: &'a Scatter,
    plants: &'a [Plant],
    /// Two things a species: where it is at home, and where it can stand at all.
    rules: Compiled<'a>,
    weather: Weather<'a>,
    forest: Option<&'a Raster<f32>>,
    cover: Option<&'a Raster<f32>>,
    biome: Option<&'a Raster<u8>>,
    /// Species' shares of a biome's chance, by its number.
    shares: Vec<Option<Vec<f64>>>,
}

impl<'a> Work<'a> {
    fn new(
        scatter: &'a Scatter,
        plants: &'a [Plant],
        terrain: &'a Terrain,
        ctx: &Ctx<'_>,
    ) -> Result<Self, OpError> {
        let things: Vec<&[Rule]> =
            plants.iter().flat_map(|plant| [plant.rules.as_slice(), plant.limits.as_slice()]).collect();
        let [wind, salt] = [layer::WIND, layer::SALT].map(|of| terrain.get(of).ok());
        let mut shares = vec![None; 256];
        for entry in &scatter.biomes {
            let sum: f64 = entry.shares.iter().sum();
            let of = |share: &f64| if sum > 0.0 { share / sum * entry.density } else { 0.0 };
            shares[usize::from(entry.biome)] = Some(entry.shares.iter().map(of).collect());
        }
        let by_biome = scatter.method == Method::Biome && !scatter.biomes.is_empty();
        Ok(Self {
            scatter,
            plants,
            rules: Compiled::new(&things, Asked::Rows, terrain, ctx)?,
            weather: Weather { wind, salt },
            forest: terrain.get_named(&forest_mask()).ok(),
            cover: if has_trees(plants) { None } else { terrain.get(layer::CANOPY_COVER).ok() },
            biome: if by_biome { Some(terrain.get(layer::BIOME)?) } else { None },
            shares,
        })
    }

    /// Densities of a row, and its canopy behind them.
    fn row(&self, row: usize, buffers: &mut Buffers, out: &mut [&mut [f32]]) {
        let (densities, canopy) = out.split_at_mut(self.plants.len());
        let cols = densities.first().map_or(0, |line| line.len());
        let mut limits = vec![0.0f32; cols];
        for (i, (plant, line)) in self.plants.iter().zip(densities.iter_mut()).enumerate() {
            self.rules.row(2 * i, row, buffers, line);
            self.rules.row(2 * i + 1, row, buffers, &mut limits);
            for (col, weight) in line.iter_mut().enumerate() {
                let home = self.home(i, plant, [col, row], f64::from(*weight));
                let dense = home * self.scatter.density * f64::from(limits[col]);
                *weight = if dense > 0.0 { (dense * self.bears(plant, [col, row])) as f32 } else { 0.0 };
            }
        }
        self.hold_to_room(densities, cols);
        if let [height, cover, red, green, blue] = canopy {
            for col in 0..cols {
                let seen = self.canopy(densities, col);
                [height[col], cover[col], red[col], green[col], blue[col]] = seen.map(|x| x as f32);
            }
        }
    }

    /// Plants a square metre as far as the species' home goes.
    fn home(&self, i: usize, plant: &Plant, [col, row]: [usize; 2], weight: f64) -> f64 {
        if let Some(biome) = self.biome {
            let share =
                self.shares[usize::from(biome.row(row)[col])].as_ref().map_or(0.0, |shares| shares[i]);
            return share / (self.scatter.cell_m * self.scatter.cell_m);
        }
        let weight = match self.forest {
            // Drawn forest stands where it was drawn, of whatever is at home there.
            Some(forest) if plant.kind == Kind::Tree => {
                weight * f64::from(forest.row(row)[col]).clamp(0.0, 1.0)
            }
            _ => weight,
        };
        weight * plant.per_m2
    }

    /// The share that wind, salt and shade leave.
    fn bears(&self, plant: &Plant, [col, row]: [usize; 2]) -> f64 {
        let at = |raster: Option<&Raster<f32>>| raster.map_or(0.0, |raster| raster.row(row)[col]);
        let [wind, salt] = self.weather.harm(plant, at(self.weather.wind), at(self.weather.salt));
        let shade = f64::from(at(self.cover)).clamp(0.0, 1.0);
        // What bears any shade needs some.
        let sun = 1.0 - (1.0 - shade) * ((plant.shade - 0.8) / 0.2).clamp(0.0, 1.0) * 0.7;
        let sun = if self.cover.is_some() && plant.kind != Kind::Litter { sun } else { 1.0 };
        (1.0 - wind) * (1.0 - salt) * (1.0 - shade * (1.0 - plant.shade)) * sun
    }

    /// Thins all species alike where their crowns would cover more than the ground has room for, and where more would stand than
    /// there are cells to try.
    fn hold_to_room(&self, densities: &mut [&mut [f32]], cols: usize) {
        let Scatter { method, cell_m, .. } = *self.scatter;
        let most = most_cover(method);
        let mut all = Vec::new();
        let by_cell = matches!(method, Method::Grid | Method::Biome);
        for col in 0..cols {
            let count: f64 = densities.iter().map(|line| f64::from(line[col])).sum::<f64>() * cell_m * cell_m;
            if by_cell && count > 1.0 {
                densities.iter_mut().for_each(|line| line[col] /= count as f32);
            }
            let area = |(plant, line): (&Plant, &&mut [f32])| {
                f64::from(line[col]) * PI * plant.radius_m * plant.radius_m
            };
            let cover: f64 = self.plants.iter().zip(densities.iter()).map(area).sum();
            if cover > most {
                densities.iter_mut().for_each(|line| line[col] *= (most / cover) as f32);
            }
            if method == Method::Random && cover > 0.0 {
                all.clear();
                all.extend(densities.iter().map(|line| f64::from(line[col])));
                let share = thinned(self.plants, &all) as f32;
                densities.iter_mut().for_each(|line| line[col] *= share);
            }
        }
    }

    /// Height, cover and colour of what is seen from above.
    fn canopy(&self, densities: &[&mut [f32]], col: usize) -> [f64; 5] {
        let mut seen = [0.0f64; 5];
        let mut area = 0.0;
        for (plant, line) in self.plants.iter().zip(densities) {
            let own = f64::from(line[col]) * PI * plant.radius_m * plant.radius_m;
            area += own;
            seen[0] += own * plant.height_m;
            for (sum, part) in seen[2..].iter_mut().zip(plant.color) {
                *sum += own * f64::from(part) / 255.0;
            }
        }
        if area > 0.0 {
            seen.iter_mut().for_each(|x| *x /= area);
        }
        seen[1] = area.min(1.0);
        seen
    }
}
