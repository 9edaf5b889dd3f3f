//! Plants from densities: which stand in a rectangle, by one of the methods.
//!
//! Every number drawn is a hash of the step's seed and a cell of the pattern, and densities are functions of the place, so a
//! rectangle holds the same plants whatever else is worked out.

use orogen_core::instances::{Instance, id};
use orogen_core::rng::Seed;
use orogen_core::{Cancelled, Ctx, OpError, Rect, math, work};
use rayon::prelude::*;

use super::super::poisson::{Disks, Plan, Point, Spacing, disks};
use super::super::species::Plant;

/// How many points of a maximal set lie in a square of their distance.
const PACKED: f64 = 0.70;

/// The most cells that one call tries.
const MOST_CELLS: f64 = 4e8;

/// Rounds of darts of each class.
const DARTS: u32 = 3;

/// A function of the place.
pub type AtPlace = Box<dyn Fn([f64; 2]) -> f64 + Send + Sync>;

/// Makes the sum of densities of some species, each times a number.
pub type Crowd<'a> = dyn Fn(&[(usize, f64)]) -> AtPlace + Sync + 'a;

/// Samples of land on which any number of plants may take as long as on a million.
const SAMPLES: f64 = 1e6;

/// What a cell of Poisson disks costs, in nanoseconds of one processor.
const NS_A_CELL: f64 = 2500.0;

/// A plant with its place in world metres.
pub type Standing = ([f64; 2], Instance);

/// What plants are made from.
pub struct Stand<'a, D, H> {
    /// The species.
    pub plants: &'a [Plant],
    /// How many of a species stand on a square metre at a place; 0 outside the land.
    pub density: D,
    /// The sums are of the lattice alone, where no limit but those in the densities counts.
    pub crowd: &'a Crowd<'a>,
    /// How much wind and salt harm a species at a place, from 0 to 1.
    pub harm: H,
    /// Which way the wind blows, to the left of east, in 1/256 of a full turn.
    pub wind_to: u8,
    /// The step's seed.
    pub seed: Seed,
    /// The land that there is.
    pub bounds: Rect,
    /// The world, where the land repeats beyond it.
    pub repeats: Option<Rect>,
    /// Which species are there at all; the others cost nothing.
    pub there: Vec<bool>,
}

impl<D, H> Stand<'_, D, H>
where
    D: Fn(usize, [f64; 2]) -> f64 + Sync,
    H: Fn(usize, [f64; 2]) -> [f64; 2] + Sync,
{
    /// One trial a cell at a random place of it; the species by roulette, each as likely as it is dense.
    ///
    /// # Errors
    /// When cancelled, or when there are too many cells.
    pub fn grid(&self, rect: &Rect, cell_m: f64, ctx: &Ctx<'_>) -> Result<Vec<Standing>, OpError> {
        let Some(rect) = rect.intersection(&self.bounds) else { return Ok(Vec::new()) };
        let [wide, high] = rect.size();
        let cells = wide / cell_m * (high / cell_m);
        if cells > MOST_CELLS {
            return Err(OpError::Failed(format!(
                "cells of {cell_m} m on {wide:.0} x {high:.0} m are {cells:.1e}, more than {MOST_CELLS:.0e}; \
                 ask for a smaller window or a larger cell_m"
            )));
        }
        let index = |m: f64| (m / cell_m).floor() as i64;
        let [min, max] = [rect.min.map(index), rect.max.map(index)];
        let rows: Vec<i64> = (min[1]..=max[1]).collect();
        let row = |y: i64| {
            let seed = Seed(self.seed.bits(y as u64));
            let mut chances = Vec::with_capacity(self.plants.len());
            (min[0]..=max[0]).filter_map(move |x| {
                let bits = seed.bits(x as u64);
                let place = [cell_m * (x as f64 + unit(bits)), cell_m * (y as f64 + unit(bits >> 21))];
                if !holds(&rect, place) {
                    return None;
                }
                // What is left of the bits says whether and which; 21 of them are one in two million.
                let species = self.roulette(place, cell_m * cell_m, unit(bits >> 42), &mut chances)?;
                Some(self.standing(species, place, [x, y]))
            })
        };
        // Rows of their own, then all together: a list that grows would be copied again and again.
        let rows = rows.into_par_iter().map(|y| {
            ctx.stop_if_asked()?;
            Ok(row(y).collect())
        });
        let rows: Vec<Vec<Standing>> = rows.collect::<Result<_, Cancelled>>()?;
        let mut all = Vec::with_capacity(rows.iter().map(Vec::len).sum());
        rows.into_iter().for_each(|mut row| all.append(&mut row));
        Ok(all)
    }

    /// Which species a number from 0 to 1 falls on, if each has the chance `density * area_m2`; none beyond their sum. Where
    /// they would be more than certain, all are less likely by as much.
    fn roulette(&self, place: [f64; 2], area_m2: f64, drawn: f64, chances: &mut Vec<f64>) -> Option<usize> {
        let chance = |species: usize| {
            if self.there[species] { (self.density)(species, place) * area_m2 } else { 0.0 }
        };
        if let [_] = self.plants {
            return (drawn < chance(0)).then_some(0);
        }
        chances.clear();
        chances.extend((0..self.plants.len()).map(chance));
        let sum: f64 = chances.iter().sum();
        let drawn = drawn * sum.max(1.0);
        if drawn >= sum {
            return None;
        }
        let mut reached = 0.0;
        chances.iter().position(|chance| {
            reached += chance;
            drawn < reached
        })
    }

    /// Poisson disks, the largest species first; the distance of two is the sum of their radii. A point stays as a plant as
    /// often as the density asks for.
    ///
    /// # Errors
    /// When cancelled, or when there are too many cells.
    pub fn poisson(&self, rect: &Rect, ctx: &Ctx<'_>) -> Result<Vec<Standing>, OpError> {
        let classes = classes_of(self.plants);
        self.refuse_endless(rect, &classes)?;
        let spacing = |(radius_m, _): &(f64, Vec<usize>)| match &self.repeats {
            Some(world) => Spacing::looped(2.0 * radius_m, world),
            None => Spacing::new(2.0 * radius_m),
        };
        let spacings: Vec<Spacing> = classes.iter().map(spacing).collect();
        let (mut larger, mut standing): (Vec<Disks>, Vec<Standing>) = (Vec::new(), Vec::new());
        for (i, (radius_m, members)) in classes.iter().enumerate() {
            if !members.iter().any(|&species| self.there[species]) {
                continue;
            }
            // Smaller classes look at this one as far out as they go themselves.
            let beyond: f64 = spacings[i + 1..]
                .iter()
                .map(|later| later.reach_m(DARTS) + later.distance_m() + 2.0 * radius_m)
                .sum();
            let wide = rect.grown([beyond; 2]).intersection(&self.bounds).unwrap_or(*rect);
            let seed = Seed(self.seed.bits(i as u64));
            let plan = Plan { spacing: spacings[i], seed, darts: DARTS, maximal: true };
            let members: Vec<usize> =
                members.iter().copied().filter(|&species| self.there[species]).collect();
            let dense = |place| members.iter().map(|&species| (self.density)(species, place)).sum::<f64>();
            let any = |place| members.iter().any(|&species| (self.density)(species, place) > 0.0);
            let mut class = disks(&wide, &self.bounds, &plan, &larger, any, &ctx.unwatched())?;
            let area = 4.0 * radius_m * radius_m / PACKED;
            let taken = self.taken(&classes[..i], *radius_m);
            let drawn = |point: &Point| {
                let drawn = Seed(seed.bits(1 << 32)).unit2(point.cell[0], point.cell[1]);
                drawn * math::exp(-taken(point.place)) / area
            };
            class.retain(|point| {
                let dense = dense(point.place);
                dense > 0.0 && drawn(point) < dense
            });
            for point in class.points(rect) {
                let share = drawn(&point);
                let mut reached = 0.0;
                let species = members.iter().copied().find(|&species| {
                    reached += (self.density)(species, point.place);
                    share < reached
                });
                if let Some(species) = species {
                    standing.push(self.standing(
                        species,
                        point.place,
                        [point.cell[0] ^ ((i as i64) << 40), point.cell[1]],
                    ));
                }
            }
            larger.push(class);
            ctx.tick(i + 1, classes.len())?;
        }
        Ok(standing)
    }

    /// How much of the ground larger classes take from the middles of crowns of a radius, about: e to the minus that is left. Their own
    /// circles meet a little, so they take less than as many circles anywhere would.
    fn taken(&self, larger: &[(f64, Vec<usize>)], radius_m: f64) -> AtPlace {
        let areas = |(larger, members): &(f64, Vec<usize>)| {
            let area = 0.8 * std::f64::consts::PI * (larger + radius_m) * (larger + radius_m);
            let there = members.iter().filter(|&&species| self.there[species]);
            there.map(|&species| (species, area)).collect::<Vec<_>>()
        };
        let weights: Vec<(usize, f64)> = larger.iter().flat_map(areas).collect();
        if weights.is_empty() { Box::new(|_| 0.0) } else { (self.crowd)(&weights) }
    }

    /// Refuses disks so small on land so large that they would take hours.
    fn refuse_endless(&self, rect: &Rect, classes: &[(f64, Vec<usize>)]) -> Result<(), OpError> {
        let [wide, high] = rect.intersection(&self.bounds).unwrap_or(*rect).size();
        let there = |members: &Vec<usize>| members.iter().any(|&species| self.there[species]);
        // A cell has the side r · √2 for disks of radius r.
        let cells = |radius_m: f64| wide * high / (2.0 * radius_m * radius_m);
        let radii = classes.iter().filter(|(_, members)| there(members)).map(|(radius_m, _)| *radius_m);
        let all: f64 = radii.clone().map(cells).sum();
        let smallest = radii.fold(f64::INFINITY, f64::min);
        let advice = format!(
            "circles of that radius on {wide:.0} x {high:.0} m: ask for a smaller window, or for \"grid\" as the method of small plants"
        );
        work::check("radius_m", smallest, all * NS_A_CELL / SAMPLES, &advice)
    }

    /// Tries random places, largest cells of one colour at a time; what collides gives way to the next species that fits.
    ///
    /// # Errors
    /// When cancelled.
    pub fn random(&self, rect: &Rect, ctx: &Ctx<'_>) -> Result<Vec<Standing>, OpError> {
        super::random::random(self, rect, ctx)
    }

    /// How likely each species is at a place, for a trial that stands for `area_m2`.
    pub(super) fn chances(&self, place: [f64; 2], area_m2: f64, out: &mut Vec<f64>) {
        out.clear();
        let chance = |species: usize| {
            if self.there[species] { (self.density)(species, place) * area_m2 } else { 0.0 }
        };
        out.extend((0..self.plants.len()).map(chance));
    }

    /// A plant of a species at a place: its size, turn and lean from the cell's hash, and from what wind and salt do to it.
    pub(super) fn standing(&self, species: usize, place: [f64; 2], cell: [i64; 2]) -> Standing {
        let plant = &self.plants[species];
        let id = id(self.seed, cell, 0);
        let bits = Seed(id).bits(1);
        let [wind, salt] = (self.harm)(species, place);
        let age = 0.15 + 0.85 * unit(bits);
        let grown = (0.45 + 0.75 * age) * (1.0 - 0.6 * wind) * (1.0 - 0.5 * salt);
        let scale = (grown * (0.9 + 0.2 * unit(bits >> 21)) * 4096.0).clamp(64.0, 65535.0);
        let thing = Instance {
            id,
            x_mm: 0,
            y_mm: 0,
            z_m: f32::NAN,
            species: species as u16,
            yaw: (bits >> 42) as u16,
            scale: scale as u16,
            tilt_deg: (35.0 * wind + 2.0 * unit(bits >> 30)) as u8,
            tilt_to: if wind > 0.0 { self.wind_to } else { (bits >> 50) as u8 },
            age: (age * 255.0) as u8,
            health: (255.0 * (1.0 - 0.7 * wind.max(salt))) as u8,
            tag: plant.kind as u16,
        };
        (place, thing)
    }
}

/// 21 bits as a number from 0 to 1, 1 excluded.
pub(super) fn unit(bits: u64) -> f64 {
    (bits & 0x1f_ffff) as f64 / f64::from(1 << 21)
}

pub(in crate::cover) fn holds(rect: &Rect, place: [f64; 2]) -> bool {
    (0..2).all(|axis| place[axis] >= rect.min[axis] && place[axis] < rect.max[axis])
}

/// How far around a rectangle random places depend on anything.
#[must_use]
pub fn random_reach_m(plants: &[Plant]) -> f64 {
    super::random::REACH_CELLS * 2.0 * plants.iter().map(|plant| plant.radius_m).fold(0.0, f64::max)
}

/// How far around a rectangle Poisson disks depend on anything.
#[must_use]
pub fn poisson_reach_m(plants: &[Plant]) -> f64 {
    let classes = classes_of(plants);
    let largest = classes.first().map_or(0.0, |(radius, _)| *radius);
    classes
        .iter()
        .map(|(radius, _)| Spacing::new(2.0 * radius).reach_m(DARTS) + 2.0 * (radius + largest))
        .sum()
}

/// Classes of size, the largest first: each holds radii up to √2 apart.
fn classes_of(plants: &[Plant]) -> Vec<(f64, Vec<usize>)> {
    let mut order: Vec<usize> = (0..plants.len()).collect();
    order.sort_by(|&a, &b| plants[b].radius_m.total_cmp(&plants[a].radius_m).then(a.cmp(&b)));
    let mut classes: Vec<(f64, Vec<usize>)> = Vec::new();
    for species in order {
        let radius = plants[species].radius_m;
        match classes.last_mut() {
            Some((largest, members)) if radius * std::f64::consts::SQRT_2 > *largest => members.push(species),
            _ => classes.push((radius, vec![species])),
        }
    }
    classes
}
