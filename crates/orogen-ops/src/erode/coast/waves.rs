//! How strongly waves come to every place: the open water before it, by directions.

use orogen_core::{Raster, math};

use super::Coast;
use crate::simd::{Level, dispatch};

/// Directions that waves come from: none along an axis or a diagonal, and every quarter turn maps them onto each other.
const WAYS: usize = 16;
/// Exposure 1, in whole numbers, so that the sum over directions does not depend on their order.
pub(super) const FULL: f32 = 65_536.0;
/// Waves run up the land and die within about this, in metres.
const RUN_UP_M: f64 = 50.0;
/// What is left of them then counts for nothing; without an end to it, processors slow down at the tiniest of numbers.
const DEAD: f32 = 1e-12;

/// Waves of one direction on the grid: they go from row to row, a share of a column aside with every row.
#[derive(Clone)]
struct Way {
    swapped: bool,
    down: bool,
    right: bool,
    aside: f32,
    step_m: f32,
    weight: f32,
}

/// The directions with their weights.
fn ways([dx, dy]: [f64; 2], params: &Coast) -> Vec<Way> {
    let bearing = |way: usize| (way as f64 + 0.5) * 360.0 / WAYS as f64;
    // In whole numbers, so that a turned wind has the turned weights to the bit.
    let weight = |way: usize| {
        let off = ((bearing(way) - params.wind_deg) * 1e6).round() / 1e6;
        let with = math::cos(off.rem_euclid(360.0).to_radians());
        let with = if with > 1e-9 { with } else { 0.0 };
        let weight = 1.0 - params.steadiness + params.steadiness * with * with;
        ((weight * 65_536.0).round() as i64, with > 0.0)
    };
    let facing: i64 = (0..WAYS).map(weight).filter(|(_, with)| *with).map(|(weight, _)| weight).sum();
    let make = |way: usize| {
        // The first quarter's sines and cosines serve all, so that all quarters have the same bits.
        let (quarter, first) = (way / (WAYS / 4), bearing(way % (WAYS / 4)).to_radians());
        let (sin, cos) = (math::sin(first), math::cos(first));
        let (east, north) = [(sin, cos), (cos, -sin), (-sin, -cos), (-cos, sin)][quarter];
        let mut cells = [east / dx, -north / dy];
        let swapped = cells[0].abs() > cells[1].abs();
        if swapped {
            cells.reverse();
        }
        Way {
            swapped,
            down: cells[1] > 0.0,
            right: cells[0] > 0.0,
            aside: (cells[0] / cells[1]).abs() as f32,
            step_m: (1.0 / cells[1].abs()) as f32,
            weight: weight(way).0 as f32 / facing.max(1) as f32,
        }
    };
    (0..WAYS).map(make).collect()
}

/// Waves on a map, looked at again and again.
#[derive(Clone)]
pub(super) struct Waves {
    ways: Vec<Way>,
    full_m: f32,
    sea: Raster<bool>,
    across: Raster<i32>,
    /// The sea with its rows as columns, and the exposure to waves that go along the rows.
    turned_sea: Raster<bool>,
    turned: Raster<i32>,
    along: Raster<i32>,
}

impl Waves {
    pub fn new(cols: usize, rows: usize, spacing_m: [f64; 2], params: &Coast) -> Self {
        Self {
            ways: ways(spacing_m, params),
            full_m: params.fetch_m as f32,
            sea: Raster::filled(cols, rows, false),
            across: Raster::filled(cols, rows, 0),
            turned_sea: Raster::filled(rows, cols, false),
            turned: Raster::filled(rows, cols, 0),
            along: Raster::filled(cols, rows, 0),
        }
    }

    /// Exposure everywhere, in shares of [`FULL`], with the sea where `inland` is not above 0; on land what runs up it.
    pub fn exposure(&mut self, inland: &Raster<f32>) -> &Raster<i32> {
        let Self { ways, full_m, sea, across, turned_sea, turned, along } = self;
        sea.par_rows(|row, out| {
            out.iter_mut().zip(inland.row(row)).for_each(|(wet, inland)| *wet = *inland <= 0.0);
        });
        sea.transpose_into(turned_sea);
        rayon::join(
            || all(sea, ways.iter().filter(|way| !way.swapped), *full_m, across),
            || all(turned_sea, ways.iter().filter(|way| way.swapped), *full_m, turned),
        );
        turned.transpose_into(along);
        across.par_rows(|row, out| out.iter_mut().zip(along.row(row)).for_each(|(a, b)| *a += b));
        across
    }

    /// The exposure that was found last.
    pub fn last(&self) -> &Raster<i32> {
        &self.across
    }

    /// The exposure that was found last, to keep.
    pub fn into_exposure(self) -> Raster<i32> {
        self.across
    }
}

/// Waves of a direction on their way over the rows.
struct Run<'a> {
    way: &'a Way,
    decay: f32,
    /// Open water behind them, in metres, at the row before and at this one.
    last: Vec<f32>,
    here: Vec<f32>,
}

/// The sum over directions that go from row to row.
fn all<'a>(sea: &Raster<bool>, ways: impl Iterator<Item = &'a Way>, full: f32, sum: &mut Raster<i32>) {
    let (cols, rows) = (sea.cols(), sea.rows());
    let level = Level::new();
    let run = |way: &'a Way| {
        let decay = math::exp(-f64::from(way.step_m) / RUN_UP_M) as f32;
        Run { way, decay, last: vec![0.0; cols], here: vec![0.0; cols] }
    };
    let (mut down, mut up): (Vec<Run<'_>>, Vec<Run<'_>>) = ways.map(run).partition(|run| run.way.down);
    // All that go down together, then all that go up: so the map passes twice.
    for n in 0..rows {
        let out = &mut sum.as_mut_slice()[n * cols..][..cols];
        out.fill(0);
        down.iter_mut().for_each(|run| dispatch!(level, _simd => run.row(sea.row(n), n == 0, full, out)));
    }
    for n in (0..rows).rev() {
        let out = &mut sum.as_mut_slice()[n * cols..][..cols];
        up.iter_mut()
            .for_each(|run| dispatch!(level, _simd => run.row(sea.row(n), n + 1 == rows, full, out)));
    }
}

impl Run<'_> {
    /// Waves come to the next row, and what they are worth is added there.
    #[inline(always)]
    fn row(&mut self, wet: &[bool], is_first: bool, full: f32, sum: &mut [i32]) {
        let Self { way, decay, last, here } = self;
        let (cols, decay) = (wet.len(), *decay);
        let share = way.weight * FULL / full;
        // The sea goes on beyond the edge.
        let from_outside = |wet: bool| if wet { full } else { 0.0 };
        let worth = |fetch: f32| whole(share * fetch);
        if is_first {
            for ((fetch, sum), &wet) in here.iter_mut().zip(sum).zip(wet) {
                *fetch = from_outside(wet);
                *sum += worth(*fetch);
            }
        } else {
            let (edge, at) = if way.right { (0, 1) } else { (cols - 1, 0) };
            let (mid, side) = (&last[at..], &last[1 - at..]);
            let out = here[at..].iter_mut().zip(&mut sum[at..]);
            for (((fetch, sum), &wet), (&mid, &side)) in out.zip(&wet[at..]).zip(mid.iter().zip(side)) {
                let from = (1.0 - way.aside) * mid + way.aside * side;
                let grown = from + way.step_m;
                let grown = if grown < full { grown } else { full };
                let spent = from * decay;
                let spent = if spent > DEAD { spent } else { 0.0 };
                *fetch = if wet { grown } else { spent };
                *sum += worth(*fetch);
            }
            here[edge] = from_outside(wet[edge]);
            sum[edge] += worth(here[edge]);
        }
        std::mem::swap(last, here);
    }
}

/// The whole part of a number from 0 to 2^22, like `as i32`, of which the compiler makes no vector code.
#[inline(always)]
fn whole(value: f32) -> i32 {
    // So large that its last digit counts ones.
    const ONES: f32 = 8_388_608.0;
    let rounded = value + ONES;
    (rounded.to_bits() as i32 - ONES.to_bits() as i32) - i32::from(rounded - ONES > value)
}

#[cfg(test)]
mod tests {
    use super::whole;

    #[test]
    fn whole_parts_are_those_of_a_cast() {
        let values =
            (0..2_000_000).map(|i| i as f32 * 0.033).chain([0.0, 1e-30, 0.5, 0.999_999_94, 4_194_303.5]);
        values.for_each(|value| assert_eq!(whole(value), value as i32, "{value}"));
    }
}
