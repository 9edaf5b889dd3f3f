//! Where water goes: the ways down, the basins they end in, the passes between basins, and the land that drains through
//! each cell. Hydrology, stream erosion and the survey of rivers all stand on this.
//!
//! Everything is linear in the cells but for a sort of the passes between basins, works on strips of rows in parallel, and
//! gives the same bits on any number of threads.
//!
//! Water leaves the map at its edge, at a hole, and into the sea. Of two equally steep ways the first clockwise from
//! north is taken; of two equally low passes the one whose basins, then whose cells, come first in the raster.

pub mod area;
pub mod basins;
pub mod bits;
pub mod breach;
pub mod catchment;
pub(crate) mod lowest;
mod merging;
pub mod outline;
pub mod pool;
pub mod spread;
pub mod ways;

pub use basins::{Basins, Edge};
pub use bits::Bits;
pub use pool::RasterPool;
pub use ways::{NOWHERE, Ways};

use orogen_core::{Ctx, D8, OpError, Raster};

use self::ways::Spans;

/// Most cells of a map: cells are numbered in 32 bits, and the last number stands for none.
pub const MOST_CELLS: usize = u32::MAX as usize;

/// The drainage of a map with its depressions resolved: every cell's way leads off the map.
#[derive(Debug)]
pub struct Drainage {
    /// The way from each cell.
    pub ways: Ways,
    /// The depressions that were drained, and how deep they are.
    pub basins: Basins,
}

/// Finds the drainage of a map whose cells at or below `sea_m` are sea (none are, at minus infinity).
///
/// Moves about 60 bytes a cell.
///
/// # Errors
/// When cancelled, or when the map has more cells than can be numbered.
pub fn drainage(
    height: &Raster<f32>,
    spacing_m: [f64; 2],
    sea_m: f32,
    ctx: &Ctx<'_>,
) -> Result<Drainage, OpError> {
    drainage_in(height, spacing_m, sea_m, ctx, &mut RasterPool::default())
}

/// As [`drainage`], in rasters of a pool.
///
/// # Errors
/// As [`drainage`].
pub fn drainage_in(
    height: &Raster<f32>,
    spacing_m: [f64; 2],
    sea_m: f32,
    ctx: &Ctx<'_>,
    pool: &mut RasterPool,
) -> Result<Drainage, OpError> {
    let mut found = depressions(height, spacing_m, sea_m, ctx, pool)?;
    found.basins.drain(&mut found.ways);
    Ok(found)
}

/// As [`drainage_in`], but the ways of depressions end in their pits: enough for callers that need only levels.
///
/// # Errors
/// As [`drainage`].
pub fn depressions(
    height: &Raster<f32>,
    spacing_m: [f64; 2],
    sea_m: f32,
    ctx: &Ctx<'_>,
    pool: &mut RasterPool,
) -> Result<Drainage, OpError> {
    check_size(height)?;
    let ways = pool.bytes(height.cols(), height.rows());
    let ways = Ways::along_in(height, &Spans::even(spacing_m), sea_m, ways);
    ctx.tick(1, 4)?;
    let basins = Basins::find_in(height, &ways, sea_m, Edge::Open, ctx, pool)?;
    Ok(Drainage { ways, basins })
}

/// Refuses a map too large for 32-bit cell numbers.
///
/// # Errors
/// When it is, in a sentence.
pub fn check_size(height: &Raster<f32>) -> Result<(), OpError> {
    if height.as_slice().len() < MOST_CELLS {
        return Ok(());
    }
    Err(OpError::Failed(format!(
        "drainage works on at most {MOST_CELLS} samples, found {} x {}",
        height.cols(),
        height.rows()
    )))
}

/// The neighbours of a cell, clockwise from north.
pub fn neighbours_of(cell: usize, cols: usize, rows: usize) -> impl Iterator<Item = usize> {
    let (col, row) = (cell % cols, cell / cols);
    D8.iter().filter_map(move |&(dc, dr)| {
        let (col, row) = (col.wrapping_add_signed(dc as isize), row.wrapping_add_signed(dr as isize));
        (col < cols && row < rows).then(|| row * cols + col)
    })
}

/// Rows of a strip: some strips for each thread of any machine, none too thin. Not from the number of threads, although
/// results would not depend on it: the same work everywhere is easier to compare.
fn strip_rows(rows: usize) -> usize {
    rows.div_ceil(64).max(16)
}
