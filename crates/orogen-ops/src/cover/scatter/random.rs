//! Random places with collisions, in phases that tile.
//!
//! Cells are as wide as the largest two crowns, so what stands in a cell collides with its eight neighbours at most, and
//! cells three apart are worked on at once. Each round tries a share of the places of every cell, colour by colour, or the
//! first colour would have most plants.

use std::f64::consts::PI;

use orogen_core::rng::Seed;
use orogen_core::{Ctx, OpError, Rect, math};
use rayon::prelude::*;

use super::super::species::Plant;
use super::stand::{Stand, Standing, holds, unit};
use super::{Method, most_cover};

/// Rounds over all colours.
const ROUNDS: u64 = 4;

/// Cells that an effect can travel: one a phase at most.
pub(super) const REACH_CELLS: f64 = 9.0 * ROUNDS as f64;

/// Trials for each plant that may stand: so many that hardly a place asks for more.
const TRIALS_EACH: f64 = 6.0;

/// The most trials in a cell and round.
const MOST_TRIALS: f64 = 4096.0;

#[derive(Clone, Copy)]
struct Tree {
    place: [f64; 2],
    radius_m: f64,
    species: usize,
    trial: i64,
}

pub(super) fn random<D, H>(
    stand: &Stand<'_, D, H>,
    rect: &Rect,
    ctx: &Ctx<'_>,
) -> Result<Vec<Standing>, OpError>
where
    D: Fn(usize, [f64; 2]) -> f64 + Sync,
    H: Fn(usize, [f64; 2]) -> [f64; 2] + Sync,
{
    let largest = stand.plants.iter().map(|plant| plant.radius_m).fold(0.0, f64::max);
    let total: f64 = stand.plants.iter().map(|plant| plant.per_m2).sum();
    if !(largest > 0.0 && total > 0.0) {
        return Ok(Vec::new());
    }
    let grid = Grid::new(2.0 * largest, stand.repeats.as_ref());
    let area = grid.side_m[0] * grid.side_m[1];
    // As many as fit at most, several times over: most of them find no room.
    let smallest = stand.plants.iter().map(|plant| plant.radius_m).fold(largest, f64::min);
    let most = total.min(most_cover(Method::Random) / (PI * smallest * smallest));
    let trials = (area * most / ROUNDS as f64 * TRIALS_EACH).ceil().clamp(1.0, MOST_TRIALS);
    // What one trial stands for.
    let area_m2 = area / (trials * ROUNDS as f64);
    let far = grid.side_m.map(|side| REACH_CELLS * side);
    let wide = rect.grown(far).intersection(&stand.bounds).unwrap_or(*rect);
    let (low, high) = (grid.cell(wide.min), grid.cell(wide.max));
    let first = low.map(|index| index.div_euclid(3) * 3 - 3);
    let count = [0, 1].map(|axis| (high[axis] - first[axis] + 4) as usize);
    let mut cells: Vec<Vec<Tree>> = vec![Vec::new(); count[0] * count[1]];
    for phase in 0..9 * ROUNDS {
        ctx.tick(phase as usize, 9 * ROUNDS as usize)?;
        let (round, colour) = (phase / 9, (phase % 9) as usize);
        let todo: Vec<usize> = (1..count[1] - 1)
            .filter(|row| row % 3 == colour / 3)
            .flat_map(|row| {
                (1..count[0] - 1).filter(|col| col % 3 == colour % 3).map(move |col| row * count[0] + col)
            })
            .collect();
        let grown: Vec<Vec<Tree>> = todo
            .par_iter()
            .map(|&at| {
                let cell = [first[0] + (at % count[0]) as i64, first[1] + (at / count[0]) as i64];
                try_cell(
                    stand,
                    &cells,
                    count[0],
                    at,
                    cell,
                    (&grid, area_m2),
                    [round * trials as u64, trials as u64],
                )
            })
            .collect();
        for (at, trees) in todo.into_iter().zip(grown) {
            cells[at].extend(trees);
        }
    }
    let inside = cells.iter().enumerate().flat_map(|(at, trees)| trees.iter().map(move |tree| (at, tree)));
    let inside = inside.filter(|(_, tree)| holds(rect, tree.place));
    Ok(inside
        .map(|(at, tree)| {
            let cell = [first[0] + (at % count[0]) as i64, first[1] + (at / count[0]) as i64];
            let cell = grid.wrapped(cell);
            stand.standing(tree.species, tree.place, [cell[0] ^ (tree.trial << 40), cell[1]])
        })
        .collect())
}

/// The trials of a round in one cell.
fn try_cell<D, H>(
    stand: &Stand<'_, D, H>,
    cells: &[Vec<Tree>],
    cols: usize,
    at: usize,
    cell: [i64; 2],
    (grid, area_m2): (&Grid, f64),
    [from, trials]: [u64; 2],
) -> Vec<Tree>
where
    D: Fn(usize, [f64; 2]) -> f64 + Sync,
    H: Fn(usize, [f64; 2]) -> [f64; 2] + Sync,
{
    let own = grid.wrapped(cell);
    let seed = Seed(stand.seed.bits2(own[0], own[1]));
    let mut made: Vec<Tree> = Vec::new();
    let (mut chances, mut room) = (Vec::new(), Vec::new());
    for trial in from..from + trials {
        let bits = seed.bits(trial);
        let place = grid.place(cell, [unit(bits), unit(bits >> 21)]);
        if !holds(&stand.bounds, place) {
            continue;
        }
        stand.chances(place, area_m2, &mut chances);
        let time = (trial as f64 + 0.5) / (ROUNDS * trials) as f64;
        raise(stand.plants, &mut chances, time / area_m2, &mut room);
        let mut drawn = unit(bits >> 42) * chances.iter().sum::<f64>().max(1.0);
        while let Some(species) = take(&mut chances, drawn) {
            let radius_m = stand.plants[species].radius_m;
            let near = [at - cols, at, at + cols].into_iter().flat_map(|row| row - 1..=row + 1);
            let fits = near.flat_map(|cell| &cells[cell]).chain(&made).all(|other| {
                let least = radius_m + other.radius_m;
                let [dx, dy] = [0, 1].map(|axis| other.place[axis] - place[axis]);
                dx * dx + dy * dy >= least * least
            });
            if fits {
                made.push(Tree { place, radius_m, species, trial: trial as i64 });
                break;
            }
            // The next species has its chance: it is drawn anew from those that are left.
            drawn = unit(seed.bits(trial ^ (1 << 40) ^ (species as u64) << 41))
                * chances.iter().sum::<f64>().min(1.0);
        }
    }
    made
}

/// The share of random places where a crown of each species fits between so many of all of them a square metre.
///
/// That of scaled particle theory (Helfand, Frisch & Lebowitz, 1961), which holds for circles of several sizes.
fn room_left<'a>(plants: impl Iterator<Item = (&'a Plant, f64)> + Clone, room: &mut Vec<f64>) {
    let [mut count, mut long, mut taken] = [0.0; 3];
    for (plant, dense) in plants.clone() {
        let radius = plant.radius_m;
        count += dense;
        long += dense * radius;
        taken += dense * PI * radius * radius;
    }
    let free = (1.0 - taken).max(0.05);
    room.clear();
    room.extend(plants.map(|(plant, _)| {
        let radius = plant.radius_m;
        let around = 2.0 * PI * radius * long / free;
        let inside = PI * radius * radius * (count / free + PI * long * long / (free * free));
        free * math::exp(-around - inside)
    }));
}

/// The least share of places that may be left in the end to a species that is to stand there.
const LEAST_ROOM: f64 = 0.05;

/// By how much densities are to be thinned so that all species find room at random places: large ones find none among many small.
pub(super) fn thinned(plants: &[Plant], densities: &[f64]) -> f64 {
    let mut room = Vec::new();
    let mut has_room = |share: f64| {
        room_left(plants.iter().zip(densities.iter().map(|dense| dense * share)), &mut room);
        room.iter().zip(densities).all(|(room, dense)| *dense <= 0.0 || *room >= LEAST_ROOM)
    };
    if has_room(1.0) {
        return 1.0;
    }
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..10 {
        let middle = 0.5 * (low + high);
        *(if has_room(middle) { &mut low } else { &mut high }) = middle;
    }
    low
}

/// Raises the chances of trials so that as many plants stand in the end as are asked for, though some trials find no room. What
/// stands after a share of the time is that share of what is asked for.
fn raise(plants: &[Plant], chances: &mut [f64], standing: f64, room: &mut Vec<f64>) {
    room_left(plants.iter().zip(chances.iter().map(|chance| chance * standing)), room);
    room.iter_mut().for_each(|room| *room = room.max(0.5 * LEAST_ROOM));
    let asked: Vec<f64> = chances.to_vec();
    chances.iter_mut().zip(&*room).for_each(|(chance, room)| *chance /= room);
    // A trial that finds no room goes to another species: these come to fewer trials of their own.
    for _ in 0..4 {
        let sum: f64 = chances.iter().sum();
        let handed =
            |chance: f64, room: f64| if sum > chance { chance * (1.0 - room) / (sum - chance) } else { 0.0 };
        let all: f64 = chances.iter().zip(&*room).map(|(chance, room)| handed(*chance, *room)).sum();
        for ((chance, room), asked) in chances.iter_mut().zip(&*room).zip(&asked) {
            *chance = asked / (room * (1.0 + all - handed(*chance, *room)));
        }
    }
}

/// Cells as wide as the two largest crowns.
struct Grid {
    side_m: [f64; 2],
    origin_m: [f64; 2],
    /// After how many cells the land repeats.
    period: Option<[i64; 2]>,
}

impl Grid {
    /// On land that repeats beyond a rectangle cells are a little wider, so that a whole number of three fits; where not even
    /// three do it does not repeat.
    fn new(side_m: f64, repeats: Option<&Rect>) -> Self {
        let plain = Self { side_m: [side_m; 2], origin_m: [0.0; 2], period: None };
        let Some(world) = repeats else { return plain };
        let size = world.size();
        let period = size.map(|m| (m / side_m / 3.0).floor() as i64 * 3);
        if period.contains(&0) {
            return plain;
        }
        let side_m = [0, 1].map(|axis| size[axis] / period[axis] as f64);
        Self { side_m, origin_m: world.min, period: Some(period) }
    }

    fn cell(&self, place: [f64; 2]) -> [i64; 2] {
        [0, 1].map(|axis| ((place[axis] - self.origin_m[axis]) / self.side_m[axis]).floor() as i64)
    }

    fn place(&self, cell: [i64; 2], within: [f64; 2]) -> [f64; 2] {
        [0, 1].map(|axis| self.origin_m[axis] + self.side_m[axis] * (cell[axis] as f64 + within[axis]))
    }

    /// The cell whose random numbers a cell has.
    fn wrapped(&self, cell: [i64; 2]) -> [i64; 2] {
        self.period.map_or(cell, |period| [0, 1].map(|axis| cell[axis].rem_euclid(period[axis])))
    }
}

/// Draws a species and takes it out of the list.
fn take(chances: &mut [f64], drawn: f64) -> Option<usize> {
    let mut reached = 0.0;
    let found = chances.iter().position(|chance| {
        reached += chance;
        drawn < reached
    })?;
    chances[found] = 0.0;
    Some(found)
}
