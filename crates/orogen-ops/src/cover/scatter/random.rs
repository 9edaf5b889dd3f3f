//! Random places with collisions, in phases that tile.
//!
//! Cells are as wide as the largest two crowns, so what stands in a cell collides with its eight neighbours at most, and
//! cells three apart are worked on at once. Each round tries a share of the places of every cell, colour by colour, or the
//! first colour would have most plants.

use orogen_core::rng::Seed;
use orogen_core::{Ctx, OpError, Rect};
use rayon::prelude::*;

use super::stand::{Stand, Standing, holds, unit};

/// Rounds over all colours.
const ROUNDS: u64 = 4;

/// Cells that an effect can travel: one a phase at most.
pub(super) const REACH_CELLS: f64 = 9.0 * ROUNDS as f64;

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
    let cell_m = 2.0 * largest;
    let trials = (cell_m * cell_m * total / ROUNDS as f64 * 2.0).ceil().clamp(1.0, MOST_TRIALS);
    // What one trial stands for.
    let area_m2 = cell_m * cell_m / (trials * ROUNDS as f64);
    let wide = rect.grown([REACH_CELLS * cell_m; 2]).intersection(&stand.bounds).unwrap_or(*rect);
    let index = |m: f64| (m / cell_m).floor() as i64;
    let first = wide.min.map(|m| index(m).div_euclid(3) * 3 - 3);
    let count = [0, 1].map(|axis| (index(wide.max[axis]) - first[axis] + 4) as usize);
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
                    [cell_m, area_m2],
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
    [cell_m, area_m2]: [f64; 2],
    [from, trials]: [u64; 2],
) -> Vec<Tree>
where
    D: Fn(usize, [f64; 2]) -> f64 + Sync,
    H: Fn(usize, [f64; 2]) -> [f64; 2] + Sync,
{
    let seed = Seed(stand.seed.bits2(cell[0], cell[1]));
    let mut made: Vec<Tree> = Vec::new();
    let mut chances = Vec::new();
    for trial in from..from + trials {
        let bits = seed.bits(trial);
        let place = [cell_m * (cell[0] as f64 + unit(bits)), cell_m * (cell[1] as f64 + unit(bits >> 21))];
        if !holds(&stand.bounds, place) {
            continue;
        }
        stand.chances(place, area_m2, &mut chances);
        let mut drawn = unit(bits >> 42);
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
