//! The ecosystem alone: plants seed, compete, age and die, round by round.

use orogen_core::rng::Seed;
use orogen_core::{Cancelled, Ctx, Rect, math};
use rayon::prelude::*;

/// What the ecosystem needs to know of a species.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// Radius of a grown crown, in metres.
    pub radius_m: f64,
    /// Height of a grown one, in metres.
    pub height_m: f64,
    /// How old it gets, in years.
    pub age_yr: f64,
    /// How far its seeds fall, in metres.
    pub seeds_m: f64,
    /// How much shade it bears, from 0 to 1.
    pub shade: f64,
}

/// A plant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tree {
    /// World metres.
    pub place: [f64; 2],
    /// Its name for random numbers.
    pub id: u64,
    /// Age in years.
    pub age_yr: f32,
    /// How much it likes its place, from 0 to 1.
    pub home: f32,
    /// Which species.
    pub species: u16,
}

/// Where and how long plants live.
pub struct Ecosystem<'a, W> {
    /// The species.
    pub kinds: &'a [Kind],
    /// How much a species likes a place, from 0 (not at all) to 1.
    pub home: W,
    /// Nothing grows outside.
    pub bounds: Rect,
    /// Where random numbers start.
    pub seed: Seed,
    /// Years that go by in a round.
    pub years_a_round: f64,
    /// Seeds of a grown plant in a round.
    pub seeds: u32,
    /// Seeds that fall on a square metre before the first round, of all species together.
    pub first_per_m2: f64,
}

/// Grown plants: as old as this share of their life.
const GROWN: f64 = 0.3;
/// Plants bear seeds from this share of their life.
const FERTILE: f64 = 0.15;
/// What bears this much shade can live below the crowns of others.
const UNDERSTORY: f64 = 0.5;

impl Kind {
    /// Its size at an age, as a share of the grown one.
    fn size(&self, age_yr: f64) -> f64 {
        0.12 + 0.88 * (age_yr / (GROWN * self.age_yr)).min(1.0).sqrt()
    }

    /// Radius of the crown at an age, in metres.
    #[must_use]
    pub fn radius_at(&self, age_yr: f64) -> f64 {
        self.radius_m * self.size(age_yr)
    }

    /// Seedlings and the very old are weak.
    fn vigour(&self, age_yr: f64) -> f64 {
        let life = age_yr / self.age_yr;
        let young = 0.15 + 0.85 * (life / GROWN).min(1.0);
        let old = 1.0 - 0.6 * ((life - 0.75) / 0.25).clamp(0.0, 1.0);
        young * old
    }
}

impl<W: Fn(usize, [f64; 2]) -> f64 + Sync> Ecosystem<'_, W> {
    /// All plants after so many rounds.
    ///
    /// # Errors
    /// When cancelled.
    pub fn run(&self, rounds: usize, ctx: &Ctx<'_>) -> Result<Vec<Tree>, Cancelled> {
        let mut trees = self.first();
        for round in 0..rounds {
            ctx.tick(round, rounds)?;
            trees = self.round(trees, round as u64);
        }
        Ok(trees)
    }

    /// Seeds that fall anywhere, of every species as many.
    fn first(&self) -> Vec<Tree> {
        let size = self.bounds.size();
        let count = (size[0] * size[1] * self.first_per_m2).min(4e9) as u64;
        let seed = self.seed.child("first");
        let one = |i: u64| {
            let place =
                [0, 1].map(|axis| self.bounds.min[axis] + size[axis] * seed.unit(4 * i + axis as u64));
            let species = (seed.unit(4 * i + 2) * self.kinds.len() as f64) as usize;
            self.seedling(species.min(self.kinds.len().saturating_sub(1)), place, seed.bits(4 * i + 3))
        };
        (0..count).into_par_iter().filter_map(one).collect()
    }

    /// A seed that comes up if the ground is inside the species' area, the likelier the more it likes it there.
    fn seedling(&self, species: usize, place: [f64; 2], id: u64) -> Option<Tree> {
        let inside =
            (0..2).all(|axis| place[axis] >= self.bounds.min[axis] && place[axis] < self.bounds.max[axis]);
        if !inside {
            return None;
        }
        let home = (self.home)(species, place);
        (Seed(id).unit(0) < home).then_some(Tree {
            place,
            id,
            age_yr: 0.0,
            home: home as f32,
            species: species as u16,
        })
    }

    fn round(&self, trees: Vec<Tree>, round: u64) -> Vec<Tree> {
        let seeds: Vec<Tree> = trees
            .par_iter()
            .flat_map_iter(|tree| (0..self.seeds).filter_map(move |k| self.sow(tree, round, k)))
            .collect();
        let mut all = trees;
        all.extend(seeds);
        let years = self.years_a_round as f32;
        let older = all.into_par_iter().map(|tree| Tree { age_yr: tree.age_yr + years, ..tree });
        self.survivors(older.filter(|tree| f64::from(tree.age_yr) < self.life(tree)).collect())
    }

    /// How old a plant gets: not all of a species get as old as they can.
    fn life(&self, tree: &Tree) -> f64 {
        self.kinds[usize::from(tree.species)].age_yr * (0.75 + 0.25 * Seed(tree.id).unit(1))
    }

    fn sow(&self, tree: &Tree, round: u64, k: u32) -> Option<Tree> {
        let kind = &self.kinds[usize::from(tree.species)];
        if f64::from(tree.age_yr) < FERTILE * kind.age_yr {
            return None;
        }
        let seed = Seed(Seed(tree.id).bits(2 + round * 64 + u64::from(k)));
        let (far, turn) = (kind.seeds_m * seed.unit(0).sqrt(), std::f64::consts::TAU * seed.unit(1));
        let place = [tree.place[0] + far * math::cos(turn), tree.place[1] + far * math::sin(turn)];
        self.seedling(usize::from(tree.species), place, seed.bits(2))
    }

    /// A plant as others meet it.
    fn body(&self, tree: &Tree) -> Body {
        let kind = &self.kinds[usize::from(tree.species)];
        let age = f64::from(tree.age_yr);
        let size = kind.size(age);
        Body {
            place: tree.place,
            radius_m: kind.radius_m * size,
            height_m: kind.height_m * size,
            shade: kind.shade,
            strength: f64::from(tree.home) * kind.vigour(age),
            id: tree.id,
        }
    }

    /// Those of some plants that no stronger one collides with.
    fn survivors(&self, trees: Vec<Tree>) -> Vec<Tree> {
        let all = Sorted::new(trees, self.kinds, &self.bounds);
        let bodies: Vec<Body> = all.trees.par_iter().map(|tree| self.body(tree)).collect();
        let loses = |i: usize| {
            let own = &bodies[i];
            all.near(own).any(|j| j != i && own.collides(&bodies[j]) && own.is_weaker(&bodies[j]))
        };
        (0..bodies.len()).into_par_iter().filter(|&i| !loses(i)).map(|i| all.trees[i]).collect()
    }
}

/// A plant as others meet it.
struct Body {
    place: [f64; 2],
    radius_m: f64,
    height_m: f64,
    shade: f64,
    strength: f64,
    id: u64,
}

impl Body {
    #[inline]
    fn collides(&self, other: &Self) -> bool {
        let [dx, dy] = [0, 1].map(|axis| self.place[axis] - other.place[axis]);
        let (square, touch) = (dx * dx + dy * dy, self.radius_m + other.radius_m);
        if square >= touch * touch {
            return false;
        }
        let (low, high) = if self.height_m < other.height_m { (self, other) } else { (other, self) };
        // What bears shade stands under tall crowns, but not in their trunks.
        let below = high.height_m > 2.0 * low.height_m && low.shade >= UNDERSTORY;
        let trunks = 0.25 * high.radius_m + 0.5 * low.radius_m;
        !below || square < trunks * trunks
    }

    /// Whether it is the weaker of two: by how much it likes its place, its age, and the light that the taller one takes from
    /// the lower.
    #[inline]
    fn is_weaker(&self, other: &Self) -> bool {
        let of = |own: &Self, other: &Self| {
            own.strength * if own.height_m < other.height_m { 0.3 + 0.7 * own.shade } else { 1.0 }
        };
        let (own, others) = (of(self, other), of(other, self));
        own < others || (own == others && self.id < other.id)
    }
}

/// Plants sorted by cells as wide as the radius of the largest crown.
struct Sorted {
    trees: Vec<Tree>,
    /// Where the plants of each cell start; one more at the end.
    starts: Vec<u32>,
    cols: usize,
    rows: usize,
    cell_m: f64,
    largest_m: f64,
    min: [f64; 2],
}

impl Sorted {
    fn new(trees: Vec<Tree>, kinds: &[Kind], bounds: &Rect) -> Self {
        let largest = kinds.iter().map(|kind| kind.radius_m).fold(0.0, f64::max);
        let size = bounds.size();
        // Never more cells than a few a plant.
        let least = (size[0] * size[1] / (2.0 * trees.len() as f64 + 64.0)).sqrt();
        let cell_m = largest.max(least).max(1e-3);
        let count = |axis: usize| (size[axis] / cell_m) as usize + 1;
        let mut made = Self {
            trees: Vec::new(),
            starts: Vec::new(),
            cols: count(0),
            rows: count(1),
            cell_m,
            largest_m: largest,
            min: bounds.min,
        };
        let cells: Vec<u32> = trees.par_iter().map(|tree| made.cell(tree.place) as u32).collect();
        let mut starts = vec![0u32; made.cols * made.rows + 1];
        cells.iter().for_each(|&cell| starts[cell as usize + 1] += 1);
        (1..starts.len()).for_each(|i| starts[i] += starts[i - 1]);
        let mut next = starts.clone();
        let mut sorted = trees.clone();
        for (tree, cell) in trees.iter().zip(cells) {
            sorted[next[cell as usize] as usize] = *tree;
            next[cell as usize] += 1;
        }
        (made.trees, made.starts) = (sorted, starts);
        made
    }

    fn cell(&self, place: [f64; 2]) -> usize {
        let [col, row] = self.position(place);
        row * self.cols + col
    }

    fn position(&self, place: [f64; 2]) -> [usize; 2] {
        let [col, row] = [0, 1].map(|axis| ((place[axis] - self.min[axis]) / self.cell_m).max(0.0) as usize);
        [col.min(self.cols - 1), row.min(self.rows - 1)]
    }

    /// The plants of the cells that a plant may collide in.
    fn near(&self, body: &Body) -> impl Iterator<Item = usize> + '_ {
        let far = body.radius_m + self.largest_m;
        let [west, south] = self.position(body.place.map(|m| m - far));
        let [east, north] = self.position(body.place.map(|m| m + far));
        (south..=north).flat_map(move |row| {
            let start = self.starts[row * self.cols + west] as usize;
            start..self.starts[row * self.cols + east + 1] as usize
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIDE: f64 = 240.0;

    fn kinds() -> [Kind; 3] {
        let kind =
            |radius_m, height_m, age_yr, seeds_m, shade| Kind { radius_m, height_m, age_yr, seeds_m, shade };
        [kind(3.0, 20.0, 200.0, 15.0, 0.3), kind(2.5, 16.0, 150.0, 12.0, 0.3), kind(1.5, 5.0, 60.0, 8.0, 0.8)]
    }

    fn grown(home: impl Fn(usize, [f64; 2]) -> f64 + Sync, rounds: usize) -> Vec<Tree> {
        grown_of(&kinds(), home, rounds)
    }

    fn grown_of(kinds: &[Kind], home: impl Fn(usize, [f64; 2]) -> f64 + Sync, rounds: usize) -> Vec<Tree> {
        let bounds = Rect { min: [0.0; 2], max: [SIDE; 2] };
        let ecosystem = Ecosystem {
            kinds,
            home,
            bounds,
            seed: Seed(7),
            years_a_round: 10.0,
            seeds: 1,
            first_per_m2: 0.004,
        };
        ecosystem.run(rounds, &Ctx::silent()).unwrap()
    }

    /// Pairs of one species up to a distance against those that chance would make: Ripley's K over that of random places.
    fn ripley(trees: &[Tree], species: u16, within_m: f64) -> f64 {
        let own: Vec<&Tree> = trees.iter().filter(|tree| tree.species == species).collect();
        // Only trees whose circle lies inside count, so the edge needs no correction.
        let inner = |tree: &&&Tree| tree.place.iter().all(|m| (within_m..SIDE - within_m).contains(m));
        let centres: Vec<_> = own.iter().filter(inner).collect();
        let near = |a: &Tree, b: &Tree| {
            let [dx, dy] = [0, 1].map(|axis| a.place[axis] - b.place[axis]);
            a.id != b.id && dx * dx + dy * dy < within_m * within_m
        };
        let pairs: usize = centres.iter().map(|a| own.iter().filter(|b| near(a, b)).count()).sum();
        let expected = own.len() as f64 / (SIDE * SIDE) * std::f64::consts::PI * within_m * within_m;
        pairs as f64 / (centres.len() as f64 * expected)
    }

    #[test]
    fn species_cluster() {
        // Three species alike, so that none drives the others out.
        let kind = Kind { radius_m: 2.5, height_m: 16.0, age_yr: 150.0, seeds_m: 8.0, shade: 0.3 };
        let trees = grown_of(&[kind; 3], |_, _| 0.8, 40);
        for species in 0..3 {
            let found = ripley(&trees, species, 20.0);
            assert!(found > 1.15, "K of species {species} is {found} times that of chance");
        }
    }

    #[test]
    fn nothing_grows_outside_its_area() {
        let trees = grown(|species, [x, _]| if (x < 120.0) == (species == 0) { 0.8 } else { 0.0 }, 30);
        assert!(trees.iter().all(|tree| (tree.place[0] < 120.0) == (tree.species == 0)));
        assert!(trees.iter().any(|tree| tree.species == 0) && trees.iter().any(|tree| tree.species == 1));
    }

    #[test]
    fn it_ends_in_balance() {
        let counts: Vec<usize> = [80, 90, 100, 110].map(|rounds| grown(|_, _| 0.8, rounds).len()).to_vec();
        let (least, most) = (counts.iter().min().unwrap(), counts.iter().max().unwrap());
        assert!(*least > 400 && (*most as f64) < 1.15 * *least as f64, "{counts:?}");
    }

    #[test]
    fn no_two_of_a_storey_collide() {
        let trees = grown(|_, _| 0.8, 40);
        let kinds = kinds();
        for (i, a) in trees.iter().enumerate() {
            for b in trees[..i].iter().filter(|b| b.species == a.species && b.species < 2) {
                let radius = |tree: &Tree| kinds[usize::from(tree.species)].radius_at(f64::from(tree.age_yr));
                let [dx, dy] = [0, 1].map(|axis| a.place[axis] - b.place[axis]);
                let (apart, least) = ((dx * dx + dy * dy).sqrt(), radius(a) + radius(b));
                assert!(apart >= least - 1e-9, "{apart} m instead of {least}");
            }
        }
    }

    #[test]
    fn threads_change_nothing() {
        let made = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| grown(|_, _| 0.8, 12))
        };
        assert_eq!(made(1), made(4));
    }
}
