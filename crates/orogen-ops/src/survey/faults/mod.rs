//! What is wrong with an elevation model: sinks, rivers that rise, lakes that slope, and steps.

mod lakes;
mod rivers;
mod sinks;
mod steps;

use orogen_core::{Ctx, OpError, Raster};

pub use rivers::rises_along;

use crate::drainage::drainage;

/// What counts as a fault.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Faults {
    /// Least size of a fault: depth of a sink, rise of a river, slope of a lake from end to end, height of a step.
    pub least_m: f64,
    /// Land that drains through a place where a river runs.
    pub river_m2: f64,
    /// Ground at or below this is sea and has no faults; minus infinity where there is no sea.
    pub sea_m: f32,
}

impl Default for Faults {
    fn default() -> Self {
        Self { least_m: 0.5, river_m2: 1e6, sea_m: f32::NEG_INFINITY }
    }
}

/// What is wrong at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Ground without a way down: `size_m` is its depth, `at` its lowest sample.
    Sink,
    /// A river that has to climb: `size_m` is by how much, `at` where it starts to and `to` where it is highest.
    RisingRiver,
    /// Ground as smooth as water, shut in by higher ground, that is not level: `size_m` is the difference of its levels, `at`
    /// its highest and `to` its lowest sample.
    SlopingLake,
    /// A straight line along rows or columns where the ground jumps, as at the edge of a tile: `size_m` is the jump, `at` and
    /// `to` the ends.
    Seam,
    /// Heights in whole steps all over the model: `size_m` is the step, `at` and `to` two corners of the model.
    Terraces,
}

impl Kind {
    /// All kinds, in the order of a report.
    pub const ALL: [Self; 5] = [Self::Sink, Self::RisingRiver, Self::SlopingLake, Self::Seam, Self::Terraces];

    /// Its name in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Sink => "sink",
            Self::RisingRiver => "rising river",
            Self::SlopingLake => "sloping lake",
            Self::Seam => "seam",
            Self::Terraces => "terraces",
        }
    }
}

/// A fault. Places are columns and rows, with fractions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fault {
    /// What it is.
    pub kind: Kind,
    /// Where it is.
    pub at: [f64; 2],
    /// Its other end; the same place where it has none.
    pub to: [f64; 2],
    /// How large it is in height.
    pub size_m: f64,
    /// How long it is on the ground, for rivers and seams; 0 for the others.
    pub length_m: f64,
    /// How much ground it covers, for sinks, lakes and terraces; 0 for the others.
    pub area_m2: f64,
}

/// Finds the faults of a model: by kind, then the largest first, then from north to south.
///
/// **Guarantees** (1) a model that was filled has no sinks and no rising rivers; (2) every sink of at least `least_m` is
/// found once, nested pits as one; (3) the same list on any number of threads.
///
/// **Limits** A model alone does not say where lakes are: a lake counts as sloping where its surface is smooth to a
/// hundredth of a metre and nearly all ground around it is higher. Seams are looked for along rows and columns only, as tiles
/// have them. A dam that belongs there and a bridge look the same.
///
/// Moves about 90 bytes a cell.
///
/// # Errors
/// When cancelled, or when the model has too many samples.
pub fn faults(
    height: &Raster<f32>,
    spacing_m: [f64; 2],
    params: &Faults,
    ctx: &Ctx<'_>,
) -> Result<Vec<Fault>, OpError> {
    let found = drainage(height, spacing_m, params.sea_m, ctx)?;
    let mut list = sinks::find(height, spacing_m, &found.basins, params);
    ctx.tick(1, 4)?;
    list.extend(rivers::find(height, spacing_m, &found.ways, params, ctx)?);
    drop(found);
    ctx.tick(2, 4)?;
    list.extend(lakes::find(height, spacing_m, params));
    ctx.tick(3, 4)?;
    list.extend(steps::find(height, spacing_m, params));
    ctx.tick(4, 4)?;
    list.sort_by(|a, b| {
        let place = |fault: &Fault| [fault.at[1], fault.at[0]];
        let by_place = place(a).partial_cmp(&place(b)).unwrap_or(std::cmp::Ordering::Equal);
        a.kind.cmp(&b.kind).then(b.size_m.total_cmp(&a.size_m)).then(by_place)
    });
    Ok(list)
}

/// Column and row of a cell.
fn place(cell: usize, cols: usize) -> [f64; 2] {
    [(cell % cols) as f64, (cell / cols) as f64]
}

/// Distance between two places on the ground.
fn distance_m(a: [f64; 2], b: [f64; 2], [dx, dy]: [f64; 2]) -> f64 {
    let (x, y) = ((a[0] - b[0]) * dx, (a[1] - b[1]) * dy);
    (x * x + y * y).sqrt()
}

#[cfg(test)]
mod tests;
