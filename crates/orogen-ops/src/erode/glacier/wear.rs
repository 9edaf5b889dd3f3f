//! What ice does to rock: it wears its bed, frost takes the walls above it, and what both take goes with the ice.

use orogen_core::{Raster, math};

use super::climate::for_neighbours;
use super::flow::Law;

/// Over how much ground speeds are the mean, in metres: about a thickness of ice. By itself the approximation would dig a slot
/// along the deepest line and ribs across it, as its ice knows nothing of the ice around it.
const AROUND_M: f64 = 350.0;
/// Thickness under which ice wears nothing, and from which on it does fully, in metres: less is snow on a steep face.
const WEARS: [f32; 2] = [15.0, 70.0];
/// Slopes of the surface (rise over distance) up to which ice rests on its bed, and from which on it falls over it: icefalls and
/// the snow of steep faces wear little.
const RESTS: [f32; 2] = [0.25, 0.6];
/// Ice does not slide faster than this, in m/yr.
const FASTEST: f32 = 150.0;
/// Exponent of the speed in the wear (Cook et al. 2020 found 0.65 over 38 glaciers).
const EXPONENT: f64 = 0.65;
/// A bed that rises this many times as steeply as the surface falls is not worn: water freezes on its way up and the bed is
/// clogged (Alley et al. 2003).
const CLOGGED: f32 = 1.6;
/// How much what sticks out is worn more, in metres.
const HUMPS_M: f32 = 250.0;
/// Walls are lowered no faster than this many times as fast as a level bed.
const WALL: f32 = 2.5;
/// Slopes of rock faces (rise over distance) up to which frost leaves them, and from which on it works fully.
const FACE: [f32; 2] = [0.5, 0.9];
/// Ice at the foot of a face that carries nothing away, and that carries away all that falls, in metres.
const FOOT_M: [f32; 2] = [25.0, 90.0];

/// How fast ice slides over its bed, in m/yr: its flux through its section, both as the mean of what is around, less what it
/// deforms.
pub fn sliding(ice: &Raster<f32>, fluxes: &[Raster<f32>; 2], law: &Law) -> Raster<f32> {
    let (cols, rows) = (ice.cols(), ice.rows());
    let flux = Raster::from_fn(cols, rows, |col, row| {
        let [east, south] = fluxes;
        let west = if col > 0 { east.row(row)[col - 1] } else { east.row(row)[col] };
        let north = if row > 0 { south.row(row - 1)[col] } else { south.row(row)[col] };
        let (qx, qy) = (0.5 * (west + east.row(row)[col]), 0.5 * (north + south.row(row)[col]));
        (qx * qx + qy * qy).sqrt()
    });
    let flux = smoothed(flux, law.spacing_m, AROUND_M);
    let thick = smoothed(ice.clone(), law.spacing_m, AROUND_M);
    let (gd, gs) = (law.deformation as f32, law.sliding as f32);
    Raster::from_fn(cols, rows, |col, row| {
        let (q, h) = (flux.row(row)[col], thick.row(row)[col]);
        let share = gs / (gd * h + gs).max(f32::MIN_POSITIVE);
        (share * q / (h + 5.0)).min(FASTEST) * math::smoothstep(WEARS[0], WEARS[1], ice.row(row)[col])
    })
}

/// How fast ice wears its bed, as a share of what it does at 100 m a year.
pub fn rate(speed_m_per_yr: f32) -> f32 {
    if speed_m_per_yr > 0.0 { math::pow(f64::from(speed_m_per_yr) * 0.01, EXPONENT) as f32 } else { 0.0 }
}

/// Share of the wear of a level bed under a level surface that the slopes of both leave, as the mean of what is around: single
/// steps would grow. Where the bed rises along the flow it is less, and where the surface is steep.
pub fn by_slopes(bed: &Raster<f32>, surface: &Raster<f32>, spacing_m: [f64; 2]) -> Raster<f32> {
    let (cols, rows) = (bed.cols(), bed.rows());
    let slope = |raster: &Raster<f32>, axis: usize| {
        let slope = Raster::from_fn(cols, rows, |col, row| gradient(raster, col, row, spacing_m)[axis]);
        smoothed(slope, spacing_m, AROUND_M)
    };
    let [bx, by, sx, sy] = [(bed, 0), (bed, 1), (surface, 0), (surface, 1)].map(|(of, axis)| slope(of, axis));
    Raster::from_fn(cols, rows, |col, row| {
        let [bx, by, sx, sy] = [&bx, &by, &sx, &sy].map(|slope| slope.row(row)[col]);
        let surface2 = sx * sx + sy * sy;
        let falls = if surface2 > 1e-8 { (bx * sx + by * sy) / surface2 } else { 0.0 };
        let share = (1.0 + falls / CLOGGED).clamp(0.0, 1.0);
        // Wear is across the bed: a wall of the same wear is lowered by more.
        let [wx, wy] = gradient(bed, col, row, spacing_m);
        let across = (1.0 + wx * wx + wy * wy).sqrt().min(WALL);
        share * across * (1.0 - math::smoothstep(RESTS[0], RESTS[1], surface2.sqrt()))
    })
}

/// How much more than level ground what sticks out of a bed is worn, for its curvature (1/m): humps more, hollows less. No step
/// that wears a level bed by `deepest_m` at most turns a hump into a hollow.
pub fn by_humps(bed: &Raster<f32>, deepest_m: f32, spacing_m: [f64; 2]) -> Raster<f32> {
    let (cols, rows) = (bed.cols(), bed.rows());
    let [per_x, per_y] = spacing_m.map(|d| (1.0 / (d * d)) as f32);
    let most = 0.3 / (2.0 * (per_x + per_y) * deepest_m.max(1e-3));
    let length = most.min(HUMPS_M);
    Raster::from_fn(cols, rows, |col, row| {
        let at = |c: usize, r: usize| bed.row(r)[c];
        let (west, east) = (col.saturating_sub(1), (col + 1).min(cols - 1));
        let (north, south) = (row.saturating_sub(1), (row + 1).min(rows - 1));
        let here = 2.0 * at(col, row);
        let bend =
            (at(west, row) + at(east, row) - here) * per_x + (at(col, north) + at(col, south) - here) * per_y;
        (1.0 - length * bend).clamp(0.4, 2.5)
    })
}

/// Rise to the east and to the south; none towards holes.
fn gradient(raster: &Raster<f32>, col: usize, row: usize, [dx, dy]: [f64; 2]) -> [f32; 2] {
    let (cols, rows) = (raster.cols(), raster.rows());
    let rise = |a: (usize, usize), b: (usize, usize), d: f64| {
        let cells = (b.0 - a.0 + b.1 - a.1).max(1) as f32;
        let rise = (raster.row(b.1)[b.0] - raster.row(a.1)[a.0]) / (cells * d as f32);
        if rise.is_nan() { 0.0 } else { rise }
    };
    [
        rise((col.saturating_sub(1), row), ((col + 1).min(cols - 1), row), dx),
        rise((col, row.saturating_sub(1)), (col, (row + 1).min(rows - 1)), dy),
    ]
}

/// The mean over about `around_m`, by repeated halves and quarters; nothing is lost at the edges.
pub fn smoothed(mut values: Raster<f32>, spacing_m: [f64; 2], around_m: f64) -> Raster<f32> {
    let (cols, rows) = (values.cols(), values.rows());
    // Each pass adds half a cell squared to the variance.
    let [px, py] = spacing_m.map(|d| (2.0 * (around_m / d) * (around_m / d)).round().clamp(0.0, 24.0) as u32);
    for pass in 0..px.max(py) {
        let last = values.clone();
        let (in_x, in_y) = (pass < px, pass < py);
        values.par_rows(|row, out| {
            let at = |c: usize, r: usize| last.row(r)[c];
            let (north, south) = (row.saturating_sub(1), (row + 1).min(rows - 1));
            for (col, out) in out.iter_mut().enumerate() {
                let (west, east) = (col.saturating_sub(1), (col + 1).min(cols - 1));
                let along = |r: usize| match in_x {
                    true => 0.25 * (at(west, r) + at(east, r)) + 0.5 * at(col, r),
                    false => at(col, r),
                };
                *out =
                    if in_y { 0.25 * (along(north) + along(south)) + 0.5 * along(row) } else { along(row) };
            }
        });
    }
    values
}

/// How far frost lowers faces of rock that rise out of ice, in metres, where it drives them back by `back_m`.
pub fn frost(ground: &Raster<f32>, ice: &Raster<f32>, back_m: f64, spacing_m: [f64; 2]) -> Raster<f32> {
    let (cols, rows) = (ground.cols(), ground.rows());
    Raster::from_fn(cols, rows, |col, row| {
        let here = ground.row(row)[col];
        if here.is_nan() {
            return 0.0;
        }
        let (mut steepest, mut foot) = (0.0f32, 0.0f32);
        for_neighbours(col, row, cols, rows, spacing_m, |there, far_m| {
            let drop = (here - ground.as_slice()[there]) / far_m;
            if drop > 0.0 {
                steepest = steepest.max(drop);
                foot = foot.max(ice.as_slice()[there]);
            }
        });
        let works = math::smoothstep(FACE[0], FACE[1], steepest)
            * math::smoothstep(FOOT_M[0], FOOT_M[1], foot)
            * (1.0 - math::smoothstep(FOOT_M[0], FOOT_M[1], ice.row(row)[col]));
        back_m as f32 * steepest.min(2.0) * works
    })
}

/// What became of rock that was taken, in cubic metres.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Carried {
    /// Laid down as till.
    pub laid_m3: f64,
    /// Gone with meltwater, over the edge of the map or with icebergs.
    pub left_m3: f64,
}

/// Ice as a carrier.
pub struct Carrier<'a> {
    /// From the highest surface down.
    pub order: &'a [u32],
    pub surface: &'a Raster<f32>,
    pub ground: &'a Raster<f32>,
    /// Flow through eastern and southern faces, m²/yr.
    pub fluxes: &'a [Raster<f32>; 2],
    /// Ice that melts, m/yr.
    pub melt: &'a Raster<f32>,
    /// Whether ice that comes here breaks off and drifts away.
    pub calves: &'a dyn Fn(usize) -> bool,
    /// Where nothing may be laid down.
    pub kept: &'a dyn Fn(usize) -> bool,
    pub spacing_m: [f64; 2],
    /// Depth of till that stays at a place, at most.
    pub till_m: f64,
}

/// How far what is laid down spreads, in metres.
const SPREADS_M: f64 = 250.0;
/// Rubble slides down bare slopes steeper than this (rise over distance).
const SLIDES: f32 = 0.55;

impl Carrier<'_> {
    /// Carries `load` (metres of rock at each cell) along the ice and lays it down on `till` where ice melts.
    pub fn carry(&self, load: &Raster<f32>, till: &mut Raster<f32>) -> Carried {
        let (cols, rows) = (load.cols(), load.rows());
        let [dx, dy] = self.spacing_m;
        let cell_m2 = dx * dy;
        let mut load: Vec<f64> = load.as_slice().iter().map(|&m| f64::from(m) * cell_m2).collect();
        let mut carried = Carried::default();
        let mut to_lay = vec![0.0f32; cols * rows];
        let [east, south] = self.fluxes;
        let flux =
            |raster: &Raster<f32>, cell: usize, face_m: f64| f64::from(raster.as_slice()[cell]) * face_m;
        for &cell in self.order {
            let cell = cell as usize;
            let here = load[cell];
            if here <= 0.0 {
                continue;
            }
            let (col, row) = (cell % cols, cell / cols);
            let mut ways = [(cell, 0.0f64); 4];
            ways[0] = (cell + 1, if col + 1 < cols { flux(east, cell, dy) } else { 0.0 });
            ways[1] = (cell + cols, if row + 1 < rows { flux(south, cell, dx) } else { 0.0 });
            if col > 0 {
                ways[2] = (cell - 1, -flux(east, cell - 1, dy));
            }
            if row > 0 {
                ways[3] = (cell - cols, -flux(south, cell - cols, dx));
            }
            let out: f64 = ways.iter().map(|way| way.1.max(0.0)).sum();
            let melt = f64::from(self.melt.as_slice()[cell]) * cell_m2;
            let mut laid = if out + melt > 0.0 { here * melt / (out + melt) } else { here };
            if out > 0.0 {
                for (there, flow) in ways.into_iter().filter(|way| way.1 > 0.0) {
                    load[there] += (here - laid) * flow / out;
                }
            } else if melt <= 0.0 {
                // Bare ground: rubble goes on down where it is steep.
                let (mut lowest, mut steepest) = (cell, SLIDES);
                for_neighbours(col, row, cols, rows, self.spacing_m, |there, far_m| {
                    let drop = (self.surface.as_slice()[cell] - self.surface.as_slice()[there]) / far_m;
                    if drop > steepest && !self.ground.as_slice()[there].is_nan() {
                        (lowest, steepest) = (there, drop);
                    }
                });
                if lowest != cell {
                    load[lowest] += laid;
                    laid = 0.0;
                }
            }
            to_lay[cell] = (laid / cell_m2) as f32;
            // What rounding took of it leaves too.
            carried.left_m3 += laid - f64::from(to_lay[cell]) * cell_m2;
        }
        // Meltwater and the comings and goings of the ice spread it.
        let Some(to_lay) = Raster::from_vec(cols, rows, to_lay) else { return carried };
        let to_lay = smoothed(to_lay, self.spacing_m, SPREADS_M);
        for (cell, (depth, &laid)) in till.as_mut_slice().iter_mut().zip(to_lay.as_slice()).enumerate() {
            if laid > 0.0 {
                let kept = (self.calves)(cell) || (self.kept)(cell) || self.ground.as_slice()[cell].is_nan();
                let before = *depth;
                if !kept {
                    *depth = (before + laid).min(before.max(self.till_m as f32));
                }
                let stays = f64::from(*depth) - f64::from(before);
                carried.laid_m3 += stays * cell_m2;
                carried.left_m3 += (f64::from(laid) - stays) * cell_m2;
            }
        }
        carried
    }
}
