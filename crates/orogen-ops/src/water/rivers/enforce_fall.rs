//! The last touch: every sample outside lakes gets a lower neighbour, by a hair where it must.

use orogen_core::{CellIx, Raster};
use rayon::prelude::*;

use super::Land;
use super::lakes::{DRY, Lakes};
use crate::drainage::{Ways, neighbours_of};

/// Raises samples that have no fall along their way to just above where it leads: small depressions are filled with a
/// slope, flats get one. Rivers fall already and stay. Ponds whose outlet is raised rise with it.
///
/// The ways lead off the map; those of rivers lead along them.
pub(super) fn enforce_fall(
    land: &Land<'_>,
    ways: &Ways,
    donors: &Raster<u8>,
    is_river: &(dyn Fn(usize) -> bool + Sync),
    lakes: &mut Lakes,
    height: &mut Raster<f32>,
) {
    let count = height.as_slice().len();
    let settling = |lakes: &Lakes, height: &Raster<f32>, cell: usize| -> Option<f32> {
        let next = ways.next(cell)?;
        let surface = |cell: usize| lakes.level(cell).unwrap_or(height.as_slice()[cell]);
        let (here, there) = (surface(cell), surface(next));
        let lake = lakes.of(cell);
        if lake != DRY {
            let full = lake == lakes.of(next) || lakes.on_river[lake as usize] || here >= there;
            return (!full).then_some(there);
        }
        // Holes, sea and rivers stay.
        let stays = here.is_nan() || here <= land.sea_m || here > there;
        (!stays && !is_river(cell)).then(|| there.next_up())
    };
    let mut open: Vec<CellIx> = (0..count)
        .into_par_iter()
        .with_min_len(1 << 14)
        .filter(|&cell| settling(lakes, height, cell).is_some())
        .map(CellIx::new)
        .collect();
    let (cols, rows) = (land.grid.cols, land.grid.rows);
    while let Some(cell) = open.pop() {
        let cell = cell.at();
        let Some(level) = settling(lakes, height, cell) else { continue };
        // From below upwards, so that each is raised once.
        if let Some(next) = ways.next(cell)
            && settling(lakes, height, next).is_some()
            && (lakes.of(next) == DRY || lakes.of(next) != lakes.of(cell))
        {
            open.extend([cell, next].map(CellIx::new));
            continue;
        }
        let lake = lakes.of(cell);
        if lake == DRY {
            height.as_mut_slice()[cell] = level;
            let bits = donors.as_slice()[cell];
            open.extend(
                (0..8u8)
                    .filter(|way| bits >> way & 1 == 1)
                    .map(|way| crate::drainage::ways::step(cell, way, cols))
                    .map(CellIx::new),
            );
            continue;
        }
        // A way that leaves a lake and comes back to it lies in the lake.
        let mut path = Vec::new();
        let mut at = cell;
        let mut back = false;
        while let Some(next) = ways.next(at) {
            at = next;
            if lakes.of(at) == lake {
                back = true;
                break;
            }
            if is_river(at) {
                break;
            }
            path.push(at);
        }
        if back {
            path.into_iter().for_each(|cell| lakes.take(cell, lake));
        }
        lakes.levels[lake as usize] = lakes.levels[lake as usize].max(level);
        for &cell in &lakes.cells[lake as usize] {
            open.extend(neighbours_of(cell.at(), cols, rows).map(CellIx::new));
            open.push(cell);
        }
    }
}
