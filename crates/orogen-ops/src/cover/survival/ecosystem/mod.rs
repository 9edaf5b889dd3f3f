//! The ecosystem alone: plants seed, compete, age and die, round by round.
//!
//! Seeds are drawn from the ground's side. A place that may get a seed looks back by a random part of the seeding radius: where
//! the crown of a grown plant of that species covers the point, its seed has fallen here. That is the same rain of seeds as if
//! every plant threw its own, in proportion to its crown, but the random numbers belong to places and rounds, not to plants: two
//! runs that differ in one plant differ around it, for a while, and not in all that comes after.

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
    /// How much it likes its place, from 0 to 1.
    pub home: f32,
    /// Rounds that it has lived.
    pub rounds: u16,
    /// Which species.
    pub species: u16,
}

/// Where and how plants live.
pub struct Ecosystem<'a, W> {
    /// The species.
    pub kinds: &'a [Kind],
    /// How much a species likes a place, from 0 (not at all) to 1.
    pub home: W,
    /// Nothing grows outside.
    pub bounds: Rect,
    /// Whether opposite edges are one.
    pub loops: bool,
    /// Where random numbers start.
    pub seed: Seed,
    /// Years that go by in a round.
    pub years_a_round: f64,
    /// Seeds of a grown plant in a round.
    pub seeds: f64,
    /// Seeds that fall on a square metre before the first round, of all species together.
    pub first_per_m2: f64,
    /// Seeds that come to a square metre from afar in a round, of all species together.
    pub strays_per_m2: f64,
}

/// Grown plants: as old as this share of their life.
pub const GROWN: f64 = 0.3;
/// Past this share of their life plants are weaker every year.
pub const OLD: f64 = 0.75;
/// Plants bear seeds from this share of their life.
const FERTILE: f64 = 0.15;
/// Size of a seedling that came up, as a share of the grown one.
const SEEDLING: f64 = 0.2;
/// What bears this much shade can live below the crowns of others.
const UNDERSTORY: f64 = 0.5;

/// How large a plant is against a grown one, by the share of its life that it has lived.
#[must_use]
pub fn size(life: f64) -> f64 {
    SEEDLING + (1.0 - SEEDLING) * (life / GROWN).min(1.0).sqrt()
}

/// What a plant of a species is at an age.
#[derive(Clone, Copy, Debug)]
pub struct Stage {
    /// Radius of the crown, in metres.
    pub radius_m: f64,
    /// In metres.
    pub height_m: f64,
    /// Seedlings and the very old are weak.
    vigour: f64,
    /// The weakest light that it lives in, as a factor on its strength.
    shaded: f64,
    shade: f64,
    fertile: bool,
}

impl Kind {
    fn stage(&self, age_yr: f64) -> Stage {
        let life = age_yr / self.age_yr;
        let size = size(life);
        let young = 0.15 + 0.85 * (life / GROWN).min(1.0);
        let old = 1.0 - 0.6 * ((life - OLD) / (1.0 - OLD)).clamp(0.0, 1.0);
        Stage {
            radius_m: self.radius_m * size,
            height_m: self.height_m * size,
            vigour: young * old,
            shaded: 0.3 + 0.7 * self.shade,
            shade: self.shade,
            fertile: life >= FERTILE,
        }
    }
}

/// The stages of every species, by rounds lived.
pub struct Stages(Vec<Vec<Stage>>);

impl Stages {
    /// Those of some species.
    #[must_use]
    pub fn new(kinds: &[Kind], years_a_round: f64) -> Self {
        let of = |kind: &Kind| {
            let last = (kind.age_yr / years_a_round).min(f64::from(u16::MAX - 1)) as usize + 1;
            (0..=last).map(|round| kind.stage(round as f64 * years_a_round)).collect()
        };
        Self(kinds.iter().map(of).collect())
    }

    /// The stage of a plant.
    #[inline]
    #[must_use]
    pub fn of(&self, tree: &Tree) -> &Stage {
        let all = &self.0[usize::from(tree.species)];
        &all[usize::from(tree.rounds).min(all.len() - 1)]
    }
}

/// Plants sorted by cells, a row of cells after the other.
pub struct Forest {
    grid: Grid,
    strips: Vec<Strip>,
}

/// A row of cells.
#[derive(Default)]
struct Strip {
    trees: Vec<Tree>,
    /// Where the plants of each cell start; one more at the end.
    starts: Vec<u32>,
}

impl Strip {
    fn new(grid: &Grid) -> Self {
        let mut starts = Vec::with_capacity(grid.count[0] + 1);
        starts.push(0);
        Self { trees: Vec::new(), starts }
    }

    fn end_cell(&mut self) {
        self.starts.push(self.trees.len() as u32);
    }

    fn cell(&self, col: usize) -> &[Tree] {
        &self.trees[self.starts[col] as usize..self.starts[col + 1] as usize]
    }
}

impl Forest {
    /// All plants, from south to north.
    pub fn trees(&self) -> impl Iterator<Item = &Tree> {
        self.strips.iter().flat_map(|strip| &strip.trees)
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.strips.iter().map(|strip| strip.trees.len()).sum()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.strips.iter().all(|strip| strip.trees.is_empty())
    }

    /// Whether `f` holds for a plant of the cells within `far_m` of a place.
    #[inline]
    fn any_near(&self, place: [f64; 2], far_m: f64, mut f: impl FnMut(&Tree, f64) -> bool) -> bool {
        let [cols, rows] = [0, 1].map(|axis| self.grid.span(axis, place[axis], far_m));
        rows.any(|row| {
            let strip = &self.strips[row];
            cols.any(|col| {
                let mut trees = strip.cell(col).iter();
                trees.any(|tree| {
                    let apart = self.grid.apart2(place, tree.place);
                    f(tree, apart)
                })
            })
        })
    }
}

/// Some cells of a row or column, which may go round.
#[derive(Clone, Copy)]
struct CellSpan {
    first: usize,
    count: usize,
    of: usize,
}

impl CellSpan {
    #[inline]
    fn any(self, mut f: impl FnMut(usize) -> bool) -> bool {
        (self.first..self.first + self.count).any(|i| f(if i >= self.of { i - self.of } else { i }))
    }
}

/// Cells about as wide as the radius of the largest crown.
#[derive(Clone, Copy)]
struct Grid {
    bounds: Rect,
    loops: bool,
    size_m: [f64; 2],
    cell_m: [f64; 2],
    count: [usize; 2],
}

impl Grid {
    fn new(bounds: Rect, loops: bool, side_m: f64) -> Self {
        let size_m = bounds.size();
        let count = size_m.map(|m| ((m / side_m) as usize).max(1));
        let cell_m = [0, 1].map(|axis| size_m[axis] / count[axis] as f64);
        Self { bounds, loops, size_m, cell_m, count }
    }

    /// The cells of an axis within `far_m` of a place.
    #[inline]
    fn span(&self, axis: usize, m: f64, far_m: f64) -> CellSpan {
        let of = self.count[axis];
        let at = m - self.bounds.min[axis];
        let cell = |m: f64| (m / self.cell_m[axis]).floor() as i64;
        let (low, high) = (cell(at - far_m), cell(at + far_m));
        if !self.loops {
            let first = low.clamp(0, of as i64 - 1) as usize;
            let last = high.clamp(0, of as i64 - 1) as usize;
            return CellSpan { first, count: last - first + 1, of };
        }
        let count = ((high - low + 1) as usize).min(of);
        CellSpan { first: low.rem_euclid(of as i64) as usize, count, of }
    }

    /// The square of the distance of two places, the shorter way round.
    #[inline]
    fn apart2(&self, a: [f64; 2], b: [f64; 2]) -> f64 {
        let [dx, dy] = [0, 1].map(|axis| {
            let along = (a[axis] - b[axis]).abs();
            if self.loops && along > 0.5 * self.size_m[axis] { self.size_m[axis] - along } else { along }
        });
        dx * dx + dy * dy
    }

    /// A place brought back into the land; `None` beyond an edge.
    #[inline]
    fn inside(&self, place: [f64; 2]) -> Option<[f64; 2]> {
        let Rect { min, max } = self.bounds;
        if (0..2).all(|axis| place[axis] >= min[axis] && place[axis] < max[axis]) {
            return Some(place);
        }
        if !self.loops {
            return None;
        }
        let back = [0, 1].map(|axis| min[axis] + (place[axis] - min[axis]).rem_euclid(self.size_m[axis]));
        (0..2).all(|axis| back[axis] < max[axis]).then_some(back)
    }
}

/// How a seed came to a place.
#[derive(Clone, Copy)]
enum From {
    /// From a plant nearby.
    Mother,
    /// From afar, or it lay there before the first round.
    Afar,
}

impl<W: Fn(usize, [f64; 2]) -> f64 + Sync> Ecosystem<'_, W> {
    /// All plants after so many rounds. `after` sees the forest after each of them.
    ///
    /// # Errors
    /// When cancelled.
    pub fn run(
        &self,
        rounds: usize,
        ctx: &Ctx<'_>,
        mut after: impl FnMut(usize, &Forest),
    ) -> Result<Forest, Cancelled> {
        let mut forest = self.sown(ctx)?;
        after(0, &forest);
        for round in 1..=rounds {
            forest = self.round(forest, round, ctx)?;
            after(round, &forest);
        }
        Ok(forest)
    }

    /// What came up of the seeds that lay there at the start.
    ///
    /// # Errors
    /// When cancelled.
    pub fn sown(&self, ctx: &Ctx<'_>) -> Result<Forest, Cancelled> {
        let grid = self.grid();
        let stages = Stages::new(self.kinds, self.years_a_round);
        let world = self.world(grid, &stages);
        let strips = (0..grid.count[1]).map(|_| world.empty_strip()).collect();
        world.after_round(Forest { grid, strips }, 0, ctx)
    }

    /// The forest a round later; the rounds are numbered from 1 on.
    ///
    /// # Errors
    /// When cancelled.
    pub fn round(&self, forest: Forest, round: usize, ctx: &Ctx<'_>) -> Result<Forest, Cancelled> {
        let stages = Stages::new(self.kinds, self.years_a_round);
        self.world(forest.grid, &stages).after_round(forest, round as u64, ctx)
    }

    fn grid(&self) -> Grid {
        // Without a species there is nothing to sort.
        let side_m = if self.kinds.is_empty() { f64::INFINITY } else { self.largest_m() };
        Grid::new(self.bounds, self.loops, side_m)
    }

    fn largest_m(&self) -> f64 {
        self.kinds.iter().map(|kind| kind.radius_m).fold(0.0, f64::max)
    }

    fn world<'a>(&'a self, grid: Grid, stages: &'a Stages) -> World<'a, W> {
        World { eco: self, stages, grid, largest_m: self.largest_m() }
    }
}

/// An ecosystem at work.
struct World<'a, W> {
    eco: &'a Ecosystem<'a, W>,
    stages: &'a Stages,
    grid: Grid,
    largest_m: f64,
}

impl<W: Fn(usize, [f64; 2]) -> f64 + Sync> World<'_, W> {
    fn after_round(&self, forest: Forest, round: u64, ctx: &Ctx<'_>) -> Result<Forest, Cancelled> {
        let sown = self.by_strip(ctx, |row| self.sown(&forest, row, round))?;
        drop(forest);
        self.by_strip(ctx, |row| self.survivors(&sown, row))
    }

    fn by_strip(&self, ctx: &Ctx<'_>, of: impl Fn(usize) -> Strip + Sync) -> Result<Forest, Cancelled> {
        let strips = (0..self.grid.count[1]).into_par_iter().map(|row| {
            ctx.stop_if_asked()?;
            Ok(of(row))
        });
        Ok(Forest { grid: self.grid, strips: strips.collect::<Result<_, Cancelled>>()? })
    }

    fn empty_strip(&self) -> Strip {
        Strip { trees: Vec::new(), starts: vec![0; self.grid.count[0] + 1] }
    }

    /// A row of cells a round later: all are older, the oldest are gone, and seeds have come up. Round 0 is the first seeds.
    fn sown(&self, forest: &Forest, row: usize, round: u64) -> Strip {
        let eco = self.eco;
        let mut strip = Strip::new(&self.grid);
        let seed = Seed(eco.seed.child("round").bits(round));
        let area = self.grid.cell_m[0] * self.grid.cell_m[1];
        let share = 1.0 / eco.kinds.len() as f64;
        let afar = area * share * if round == 0 { eco.first_per_m2 } else { eco.strays_per_m2 };
        for col in 0..self.grid.count[0] {
            let older =
                forest.strips[row].cell(col).iter().map(|tree| Tree { rounds: tree.rounds + 1, ..*tree });
            strip.trees.extend(older.filter(|tree| !self.is_over(tree)));
            let seed = Seed(seed.bits2(col as i64, row as i64));
            for (species, kind) in eco.kinds.iter().enumerate() {
                let seed = Seed(seed.bits(species as u64));
                let near = if round == 0 { 0.0 } else { eco.seeds * area / circle(kind.radius_m) };
                for (k, (expected, from)) in
                    [(near, From::Mother), (afar, From::Afar)].into_iter().enumerate()
                {
                    let seed = Seed(seed.bits(k as u64));
                    let count = (expected + seed.unit(0)) as u64;
                    let came = (1..=count)
                        .filter_map(|i| self.seedling(forest, species, [col, row], Seed(seed.bits(i)), from));
                    strip.trees.extend(came);
                }
            }
            strip.end_cell();
        }
        strip.trees.shrink_to_fit();
        strip
    }

    /// Whether a plant has died of age: not all of a species get as old as they can.
    fn is_over(&self, tree: &Tree) -> bool {
        let life = self.eco.kinds[usize::from(tree.species)].age_yr * (0.75 + 0.25 * Seed(tree.id).unit(1));
        f64::from(tree.rounds) * self.eco.years_a_round >= life
    }

    /// The seed of a place in a cell, if one fell there, the ground is inside the species' area, and it has light enough.
    fn seedling(
        &self,
        forest: &Forest,
        species: usize,
        [col, row]: [usize; 2],
        seed: Seed,
        from: From,
    ) -> Option<Tree> {
        let [cell_x, cell_y] = self.grid.cell_m;
        let place = [
            self.grid.bounds.min[0] + cell_x * (col as f64 + seed.unit(0)),
            self.grid.bounds.min[1] + cell_y * (row as f64 + seed.unit(1)),
        ];
        // A sum of fractions may round up to the edge.
        let place = self.grid.inside(place)?;
        let kind = &self.eco.kinds[species];
        if let From::Mother = from {
            let (far, turn) = (kind.seeds_m * seed.unit(2).sqrt(), std::f64::consts::TAU * seed.unit(3));
            let from = [place[0] - far * math::cos(turn), place[1] - far * math::sin(turn)];
            let from = self.grid.inside(from)?;
            let is_mother = |tree: &Tree, apart2: f64| {
                let stage = self.stages.of(tree);
                usize::from(tree.species) == species
                    && stage.fertile
                    && apart2 < stage.radius_m * stage.radius_m
            };
            if !forest.any_near(from, kind.radius_m, is_mother) {
                return None;
            }
        }
        let tree = Tree { place, id: seed.bits(4), home: 1.0, rounds: 0, species: species as u16 };
        // Where even a seed that liked the place best would lose there is no need to ask how much it likes it.
        if self.loses(forest, &tree) {
            return None;
        }
        let home = (self.eco.home)(species, place);
        (seed.unit(5) < home).then_some(Tree { home: home as f32, ..tree })
    }

    /// Those of a row that no stronger plant collides with.
    fn survivors(&self, forest: &Forest, row: usize) -> Strip {
        let mut strip = Strip::new(&self.grid);
        for col in 0..self.grid.count[0] {
            let stay = forest.strips[row].cell(col).iter().filter(|tree| !self.loses(forest, tree));
            strip.trees.extend(stay);
            strip.end_cell();
        }
        strip.trees.shrink_to_fit();
        strip
    }

    /// Whether a stronger plant collides with one.
    fn loses(&self, forest: &Forest, tree: &Tree) -> bool {
        let own = self.stages.of(tree);
        forest.any_near(tree.place, own.radius_m + self.largest_m, |other, apart2| {
            let stage = self.stages.of(other);
            let touch = own.radius_m + stage.radius_m;
            apart2 < touch * touch
                && other.id != tree.id
                && collide(own, stage, apart2)
                && is_weaker((tree, own), (other, stage))
        })
    }
}

fn circle(radius_m: f64) -> f64 {
    std::f64::consts::PI * radius_m * radius_m
}

/// Whether two plants whose crowns meet are in each other's way.
#[inline]
fn collide(a: &Stage, b: &Stage, apart2: f64) -> bool {
    let (low, high) = if a.height_m < b.height_m { (a, b) } else { (b, a) };
    // What bears shade stands under tall crowns, but not in their trunks.
    let below = high.height_m > 2.0 * low.height_m && low.shade >= UNDERSTORY;
    let trunks = 0.25 * high.radius_m + 0.5 * low.radius_m;
    !below || apart2 < trunks * trunks
}

/// Whether the first is the weaker of two: by how much it likes its place, its age, and the light that the taller one takes from
/// the lower.
#[inline]
fn is_weaker((tree, own): (&Tree, &Stage), (other, others): (&Tree, &Stage)) -> bool {
    let strength = |tree: &Tree, own: &Stage, others: &Stage| {
        f64::from(tree.home) * own.vigour * if own.height_m < others.height_m { own.shaded } else { 1.0 }
    };
    let (a, b) = (strength(tree, own, others), strength(other, others, own));
    a < b || (a == b && tree.id < other.id)
}

#[cfg(test)]
mod tests;
