//! One blow of the wind: row by row downwind, what is carried is passed on, taken up and dropped.

use orogen_core::math;

use super::stress::Stress;
use super::{Edge, HOLE, Land, Wind};
use crate::simd::{Level, dispatch};

/// Drag, as a share of that on level ground, at which sand begins to move.
const THRESHOLD: f32 = 0.3;
/// The strongest drag: crags cannot draw the wind together without end.
const STRONGEST: f32 = 2.6;
/// Depth of sand under which rock is bare, in metres.
const BARE_M: f64 = 0.1;

/// A wind of one direction on the lattice. It blows from row to row, a share of a column to the side with every row.
pub(super) struct Gale {
    /// Share of the time that it blows.
    pub share: f64,
    /// Whether rows and columns are swapped for it.
    pub swapped: bool,
    /// Whether it blows towards higher rows, and towards higher columns.
    down: bool,
    right: bool,
    /// Columns to the side with every row, 0 to 1.
    aside: f32,
    /// Metres along the wind from row to row.
    step_m: f64,
    /// Direction in metres along columns and rows.
    way: [f64; 2],
}

impl Gale {
    pub fn new(wind_deg: f64, share: f64, spacing_m: [f64; 2]) -> Self {
        let wind = wind_deg.to_radians();
        // Row 0 is north.
        let mut way = [math::sin(wind), -math::cos(wind)];
        let mut cells = [way[0] / spacing_m[0], way[1] / spacing_m[1]];
        let swapped = cells[0].abs() > cells[1].abs();
        if swapped {
            way.reverse();
            cells.reverse();
        }
        Self {
            share,
            swapped,
            down: cells[1] > 0.0,
            right: cells[0] > 0.0,
            aside: (cells[0] / cells[1]).abs().min(1.0) as f32,
            step_m: 1.0 / cells[1].abs(),
            way,
        }
    }
}

/// What one wind carries from blow to blow.
#[derive(Clone, Default)]
pub(super) struct Blow {
    /// What left the map and comes in again with the next blow.
    waiting: Vec<i32>,
    out: i64,
}

impl Blow {
    /// What left the map for good since last asked.
    pub fn take_out(&mut self) -> i64 {
        std::mem::take(&mut self.out)
    }

    /// Blows for `dt` years; returns the largest change of depth, in units.
    pub fn step(&mut self, land: &mut Land, gale: &Gale, dt: f64, stress: &mut Stress, params: &Wind) -> f32 {
        let (cols, rows) = (land.height.cols(), land.height.rows());
        let simd = Level::new();
        let order = |n: usize| if gale.down { n } else { rows - 1 - n };
        let per_unit = (1.0 / land.unit) as f32;
        let fall = (gale.step_m * math::tan(params.shadow_deg.to_radians())) as f32;

        // The surface that the wind flows along: the ground, or the air's way back to it behind a crest.
        let level = mean_height(land);
        let mut last = vec![level; cols];
        let mut aside = vec![0.0f32; cols];
        for n in 0..rows {
            let row = order(n);
            dispatch!(simd, _simd => shift(&last, gale, &mut aside));
            let drop = if n == 0 { f32::INFINITY } else { fall };
            let ground = land.height.row(row);
            let out = &mut stress.surface.as_mut_slice()[row * cols..][..cols];
            dispatch!(simd, _simd => surface_row(ground, &aside, drop, per_unit, out));
            last.copy_from_slice(out);
        }
        stress.solve(land.spacing_m, gale.way);

        let rule = Rule {
            // Units of depth that a full wind passes from row to row in this blow.
            full: (params.flux_m2_per_yr * dt / gale.step_m * land.unit / f64::from(1.0 - THRESHOLD)) as f32,
            take_up: (1.0 - math::exp(-gale.step_m / params.saturation_m)) as f32,
            per_unit,
            grade: (per_unit as f64 / gale.step_m) as f32,
            tan_repose: math::tan(params.repose_deg.to_radians()) as f32,
            shade: (10.0 / land.spacing_m[0].min(land.spacing_m[1])) as f32,
        };
        let mut carried = std::mem::take(&mut self.waiting);
        carried.resize(cols, 0);
        let mut incoming = vec![0i32; cols];
        let mut before: Vec<i32> = land.height.row(order(0)).to_vec();
        let mut upwind = before.clone();
        let mut most = 0;
        for n in 0..rows {
            let row = order(n);
            if n == 0 {
                incoming.copy_from_slice(&carried);
            } else {
                dispatch!(simd, _simd => pass_on(&carried, gale, &mut incoming));
                if params.edge == Edge::Open {
                    self.out += lose(&carried, gale, &mut incoming);
                }
            }
            dispatch!(simd, _simd => lean(&before, gale, &mut upwind));
            before.copy_from_slice(land.height.row(row));
            let at = row * cols..(row + 1) * cols;
            if let Some(wear) = &mut land.wear {
                let rate = params.abrasion_mm_per_yr / 1000.0 * dt * land.unit;
                let per_flux = rate / (f64::from(rule.full) * f64::from(1.0 - THRESHOLD)).max(1e-9);
                let bare = (1.0 / (BARE_M * land.unit)) as f32;
                let sand = &land.sand.as_slice()[at.clone()];
                let ground = &land.height.as_slice()[at.clone()];
                let soft = land.soft.as_ref().map(|soft| soft.row(row));
                let wears = wear.as_mut_slice()[at.clone()].iter_mut().zip(&incoming).zip(sand).zip(ground);
                for (col, (((wear, &q), &d), &h)) in wears.enumerate() {
                    if h != HOLE {
                        let worn = (per_flux as f32) * q as f32 * (1.0 - d as f32 * bare).max(0.0);
                        *wear += soft.map_or(worn, |soft| worn * soft[col]);
                    }
                }
                if let Some(closed) = &land.closed {
                    let wear = wear.as_mut_slice()[at.clone()].iter_mut().zip(closed.row(row));
                    wear.filter(|(_, closed)| **closed).for_each(|(wear, _)| *wear = 0.0);
                }
            }
            let lines = Lines {
                incoming: &incoming,
                upwind: &upwind,
                drag: stress.drag.row(row),
                air: stress.surface.row(row),
            };
            let height = &mut land.height.as_mut_slice()[at.clone()];
            let sand = &mut land.sand.as_mut_slice()[at];
            let change = dispatch!(simd, _simd => rule.row(&lines, height, sand, &mut carried));
            most = most.max(change);
            if let Some(closed) = &land.closed {
                for col in (0..cols).filter(|&col| closed.row(row)[col]) {
                    let taken = carried[col] - incoming[col];
                    height[col] += taken;
                    sand[col] += taken;
                    carried[col] = incoming[col];
                }
            }
        }
        match params.edge {
            Edge::Loop => self.waiting = carried,
            Edge::Open => self.out += carried.iter().map(|&q| i64::from(q)).sum::<i64>(),
        }
        most as f32
    }

    /// Puts down what is still on its way round.
    pub fn set_down(&mut self, land: &mut Land, gale: &Gale) {
        let (cols, rows) = (land.height.cols(), land.height.rows());
        let row = if gale.down { 0 } else { rows - 1 };
        for (col, q) in std::mem::take(&mut self.waiting).into_iter().enumerate() {
            let at = row * cols + col;
            let closed = land.closed.as_ref().is_some_and(|closed| closed.as_slice()[at]);
            if closed || land.height.as_slice()[at] == HOLE {
                self.out += i64::from(q);
            } else {
                land.height.as_mut_slice()[at] += q;
                land.sand.as_mut_slice()[at] += q;
            }
        }
    }
}

fn mean_height(land: &Land) -> f32 {
    let heights = land.height.as_slice().iter().filter(|&&h| h != HOLE);
    let (sum, count) = heights.fold((0i64, 0i64), |(sum, count), &h| (sum + i64::from(h), count + 1));
    (sum as f64 / count.max(1) as f64 / land.unit) as f32
}

/// A row of the air as it is seen a row further downwind; what lies at the edge goes on.
#[inline(always)]
fn shift(from: &[f32], gale: &Gale, to: &mut [f32]) {
    let (here, side, at) = pairs(from, gale.right);
    for ((to, here), side) in to[at..].iter_mut().zip(here).zip(side) {
        *to = here + gale.aside * (side - here);
    }
    let edge = upwind_edge(from.len(), gale.right);
    to[edge] = from[edge];
}

/// As `shift`, for heights in units; a hole is as high as what lies beside it.
#[inline(always)]
fn lean(from: &[i32], gale: &Gale, to: &mut [i32]) {
    let (here, side, at) = pairs(from, gale.right);
    for ((to, &a), &b) in to[at..].iter_mut().zip(here).zip(side) {
        let part = (gale.aside * b.wrapping_sub(a) as f32) as i32;
        *to = if a == HOLE || b == HOLE { a.max(b) } else { a.wrapping_add(part) };
    }
    let edge = upwind_edge(from.len(), gale.right);
    to[edge] = from[edge];
}

/// What each column gets of what the row upwind passes on; what leaves at the side comes round.
#[inline(always)]
fn pass_on(carried: &[i32], gale: &Gale, incoming: &mut [i32]) {
    let n = carried.len();
    let (here, side, at) = pairs(carried, gale.right);
    for ((to, &here), &side) in incoming[at..].iter_mut().zip(here).zip(side) {
        *to = here - part(here, gale) + part(side, gale);
    }
    let edge = upwind_edge(n, gale.right);
    incoming[edge] = carried[edge] - part(carried[edge], gale) + part(carried[n - 1 - edge], gale);
}

/// All columns but the first upwind, those upwind beside them, and the number of the first of them.
#[inline(always)]
fn pairs<T>(row: &[T], right: bool) -> (&[T], &[T], usize) {
    let n = row.len();
    if right { (&row[1..], &row[..n - 1], 1) } else { (&row[..n - 1], &row[1..], 0) }
}

fn upwind_edge(cols: usize, right: bool) -> usize {
    if right { 0 } else { cols - 1 }
}

/// The part of what is carried that goes to the next column.
#[inline(always)]
fn part(carried: i32, gale: &Gale) -> i32 {
    ((gale.aside * carried as f32) as i32).min(carried)
}

/// Takes away what came round the edge of an open map; returns how much.
fn lose(carried: &[i32], gale: &Gale, incoming: &mut [i32]) -> i64 {
    let n = carried.len();
    let (first, last) = if gale.right { (0, n - 1) } else { (n - 1, 0) };
    let lost = part(carried[last], gale);
    incoming[first] -= lost;
    i64::from(lost)
}

#[inline(always)]
fn surface_row(ground: &[i32], upwind: &[f32], fall: f32, per_unit: f32, out: &mut [f32]) {
    let n = out.len();
    let (ground, upwind) = (&ground[..n], &upwind[..n]);
    for i in 0..n {
        let here = ground[i] as f32 * per_unit;
        let air = upwind[i] - fall;
        out[i] = if ground[i] == HOLE {
            upwind[i]
        } else if here > air {
            here
        } else {
            air
        };
    }
}

/// What a row is given.
struct Lines<'a> {
    incoming: &'a [i32],
    upwind: &'a [i32],
    drag: &'a [f32],
    air: &'a [f32],
}

/// What sand in the wind obeys, in units of depth a blow.
struct Rule {
    full: f32,
    take_up: f32,
    per_unit: f32,
    /// Grade per unit of rise from row to row.
    grade: f32,
    tan_repose: f32,
    /// How fast the air gets still with its distance from the ground.
    shade: f32,
}

impl Rule {
    /// Takes up and drops sand along a row; `carried` is what goes on.
    #[inline(always)]
    fn row(&self, lines: &Lines<'_>, height: &mut [i32], sand: &mut [i32], carried: &mut [i32]) -> i32 {
        let n = carried.len();
        let (height, sand) = (&mut height[..n], &mut sand[..n]);
        let (incoming, upwind) = (&lines.incoming[..n], &lines.upwind[..n]);
        let (drag, air) = (&lines.drag[..n], &lines.air[..n]);
        let mut most = 0;
        for i in 0..n {
            let drag = if drag[i] > STRONGEST {
                STRONGEST
            } else if drag[i] > THRESHOLD {
                drag[i]
            } else {
                THRESHOLD
            };
            // Still air in the shadow, and walls that sand does not climb.
            let over = (air[i] - height[i] as f32 * self.per_unit) * self.shade;
            let open = if over > 1.0 { 0.0 } else { 1.0 - over };
            let rise = (height[i].wrapping_sub(upwind[i])) as f32 * self.grade;
            let wall = (rise - 0.7 * self.tan_repose) / (0.5 * self.tan_repose);
            let wall = if wall > 1.0 {
                1.0
            } else if wall > 0.0 {
                wall
            } else {
                0.0
            };
            let load = self.full * drag.sqrt() * (drag - THRESHOLD) * open * (1.0 - wall);
            let wanted = (self.take_up * (load - incoming[i] as f32)) as i32;
            let taken = if wanted > sand[i] { sand[i] } else { wanted };
            let taken = if taken < -incoming[i] { -incoming[i] } else { taken };
            let taken = if height[i] == HOLE { 0 } else { taken };
            height[i] -= taken;
            sand[i] -= taken;
            carried[i] = incoming[i] + taken;
            most = most.max(taken.abs());
        }
        most
    }
}
