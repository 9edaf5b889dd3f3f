//! Which stems are drawn, with how many sides and points.

use orogen_core::{Seed, math};

use super::Level;
use crate::frame::{between, dot, sub};
use crate::mesh::{Courses, Detail, Point, StemPlan, tube_triangles};
use crate::skeleton::Skeleton;
use crate::species::Species;

/// How much longer than the error a stem's size must be for it to be drawn.
const SEEN: f64 = 9.0;
/// So many trunks are never left out.
const FEW: usize = 24;
/// Most that a stem is widened in place of those that are left out.
const WIDEST: f64 = 2.0;

/// What stems lose as the error grows that is allowed.
pub struct Thinning<'a> {
    species: &'a Species,
    plant: &'a Skeleton,
    courses: &'a Courses,
    level: &'a Level,
    /// For each point of the courses, the error from which on it goes.
    errors: Vec<f64>,
    /// For each stem, how large it looks: the root of its area. Never more than its parent.
    sizes: Vec<f64>,
    girths: Vec<f64>,
}

impl<'a> Thinning<'a> {
    pub fn new(species: &'a Species, plant: &'a Skeleton, courses: &'a Courses, level: &'a Level) -> Self {
        let mut errors = vec![f64::INFINITY; courses.points.len()];
        let mut sizes: Vec<f64> = Vec::with_capacity(plant.stems.len());
        let mut girths = Vec::with_capacity(plant.stems.len());
        // Trunks stay; shoots of a tussock are many and may go.
        let few = plant.stems.iter().filter(|stem| stem.level == 0 && !stem.is_clone).count() <= FEW;
        for (number, stem) in plant.stems.iter().enumerate() {
            let range = courses.range(number);
            let points = &courses.points[range.clone()];
            let girth = courses.girth(number);
            girths.push(girth);
            straighten(points, &mut errors[range], f64::INFINITY);
            let long = points
                .last()
                .zip(points.first())
                .map_or(0.0, |(last, first)| last.from_foot - first.from_foot);
            // Stems that are much alike do not all go at once.
            let chance = 0.6 + 0.8 * Seed(number as u64).unit(3);
            let own = if stem.level == 0 && !stem.is_clone && few {
                f64::INFINITY
            } else {
                chance * (girth * long).sqrt()
            };
            sizes.push(stem.parent.map_or(own, |parent| own.min(sizes[parent as usize])));
        }
        Self { species, plant, courses, level, errors, sizes, girths }
    }

    /// Triangles of all stems with all their points.
    pub fn most_triangles(&self) -> usize {
        self.triangles(0.0, 0.0)
    }

    /// Sides, and which points stay, so that stems have about so many triangles.
    pub fn plan(&self, budget: usize) -> (Vec<StemPlan>, Vec<bool>) {
        let seen = self.smallest_within(budget, |error| self.triangles(error, error));
        // Sides change in steps. What they leave is spent on points.
        let bent = self.smallest_within(budget, |error| self.triangles(seen, error.min(seen))).min(seen);
        let mut stems: Vec<StemPlan> = (0..self.plant.stems.len())
            .map(|stem| StemPlan { sides: self.sides(stem, seen), wider: 1.0 })
            .collect();
        self.widen(&mut stems);
        (stems, self.errors.iter().map(|own| *own > bent).collect())
    }

    /// The smallest error with which no more triangles are needed than there may be; they get fewer as it grows.
    fn smallest_within(&self, budget: usize, triangles: impl Fn(f64) -> usize) -> f64 {
        let (mut low, mut high) = (1e-5, 10.0);
        if triangles(low) <= budget {
            return low;
        }
        for _ in 0..20 {
            let middle = f64::sqrt(low * high);
            if triangles(middle) > budget { low = middle } else { high = middle }
        }
        high
    }

    /// Triangles of all stems, with sides for one error and points for another.
    fn triangles(&self, seen: f64, bent: f64) -> usize {
        let count = |stem: usize| {
            let sides = self.sides(stem, seen);
            if sides == 0 {
                return 0;
            }
            let points = self.errors[self.courses.range(stem)].iter().filter(|own| **own > bent).count();
            let made = &self.plant.stems[stem];
            let has_collar = made.parent.is_some() && !made.is_clone;
            // Trunks and clones have one ring more at their foot.
            tube_triangles(points + usize::from(!has_collar), sides, has_collar)
        };
        (0..self.plant.stems.len()).map(count).sum()
    }

    /// Sides of a stem: as many as keep it within the error from round.
    fn sides(&self, stem: usize, error: f64) -> u16 {
        if self.courses.range(stem).len() < 2 || self.sizes[stem] < SEEN * error {
            return 0;
        }
        let made = &self.plant.stems[stem];
        let round = (2.22 * (self.girths[stem] / error.max(1e-4)).sqrt()).ceil().clamp(3.0, 28.0) as u16;
        let most = Detail::FULL.sides(self.girths[stem], self.courses.lobes(self.species, made));
        if made.level > 0 {
            return self.ribbed(made, round, 3).min(most);
        }
        let sides = self.ribbed(made, round.max(self.level.trunk_sides), 4);
        // Fewer than planks need would lose them.
        if self.species.planks > 0.0 { sides } else { sides.min(most) }
    }

    /// Enough sides for lobes, where they are near enough to be had.
    fn ribbed(&self, made: &crate::skeleton::Stem, round: u16, times: u16) -> u16 {
        let lobes = self.courses.lobes(self.species, made) as u16;
        if self.species.planks > 0.0 && lobes > 0 {
            // Buttresses are seen as far as the tree: a ridge and a groove for each at least.
            return lobes * round.div_ceil(lobes).clamp(self.level.trunk_sides / 2, 6);
        }
        let wanted = times * lobes;
        if lobes > 0 && round >= 8 && round < wanted && (lobes >= 8 || 3 * round >= wanted) {
            wanted
        } else {
            round
        }
    }

    /// Widens stems for those of their level that are left out, and those that are too thin to be seen.
    fn widen(&self, stems: &mut [StemPlan]) {
        let mut areas = [[0.0; 2]; 4];
        for (number, made) in self.plant.stems.iter().enumerate() {
            let area = self.girths[number] * f64::from(made.length_m);
            let of = &mut areas[usize::from(made.level).min(3)];
            of[0] += area;
            of[1] += if stems[number].sides > 0 { area } else { 0.0 };
        }
        let thinnest = self.level.thinnest * self.plant.scale_m;
        for (number, stem) in stems.iter_mut().enumerate() {
            let [all, drawn] = areas[usize::from(self.plant.stems[number].level).min(3)];
            let for_others = if drawn > 0.0 { math::pow(all / drawn, 0.5) } else { 1.0 };
            let to_be_seen = thinnest / self.girths[number].max(1e-6);
            stem.wider = for_others.max(to_be_seen).clamp(1.0, WIDEST) as f32;
            if self.plant.stems[number].level == 0 {
                stem.wider = 1.0;
            }
        }
    }
}

/// Finds the error that each point between two spares, and is spared by none before it (Douglas & Peucker 1973).
fn straighten(points: &[Point], errors: &mut [f64], most: f64) {
    if points.len() < 3 {
        return;
    }
    let [first, last] = [points[0], points[points.len() - 1]];
    let way = sub(last.at, first.at);
    let (mut worst, mut largest) = (1, -1.0);
    for number in 1..points.len() - 1 {
        let point = points[number];
        let t = (dot(sub(point.at, first.at), way) / dot(way, way).max(1e-12)).clamp(0.0, 1.0);
        let off = sub(point.at, between(first.at, last.at, t));
        let thinner = point.radius - first.radius - t * (last.radius - first.radius);
        let error = dot(off, off).sqrt() + thinner.abs();
        if error > largest {
            (worst, largest) = (number, error);
        }
    }
    let error = largest.min(most);
    errors[worst] = error;
    straighten(&points[..=worst], &mut errors[..=worst], error);
    straighten(&points[worst..], &mut errors[worst..], error);
}
