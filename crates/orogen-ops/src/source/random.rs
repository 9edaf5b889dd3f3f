//! Random heights: white noise, smoothed by a filter or summed over ever finer grids.

use orogen_core::param::Fault;
use orogen_core::{Cancelled, Ctx, Frame, Layers, Op, OpError, Raster, Reach, Seed, Terrain, layer, math};
use rayon::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::diamond_square::bell_curve;
use super::lattice::{Axis, Blend, interpolate};
use super::pyramid::{Edges, Grid, Level, Pyramid, Rule, smooth};

/// How random numbers become heights.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// Random displacement: one random height for each point, smoothed by a filter.
    Displacement,
    /// Random successive additions: many random heights for each place, from coarse grids to fine ones.
    #[default]
    Additions,
}

/// A filter of finite length (FIR): what each neighbour weighs, by its distance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Filter {
    /// None: every point on its own.
    None,
    /// The same weight up to the length, along both axes.
    Box,
    /// A weight that falls in a straight line.
    Tent,
    /// A weight that falls like a bell, a third of the length its standard deviation.
    #[default]
    Gaussian,
}

/// Gives every point a random height, smoothed by a filter or summed over ever finer grids.
///
/// ```text
/// displacement   h(i, j) = A · Σ w(k) w(l) · R(i + k, j + l)        Σ w² = 1
/// additions      h ← h smoothed between its points + A · 2^-(r·n) · R        on grids of cell_m / 2^n, n = 0, 1, 2, ...
/// ```
///
/// where R are random numbers with a bell-shaped spread of 1. Points lie `cell_m` apart on the world's own grid, and
/// heights between them follow a smooth cubic: that through the points for displacement, the cubic B-spline for
/// additions, whose halving smooths old points too (1/8, 3/4, 1/8 along each axis) and so leaves no creases. Displacement
/// with `cell_m = 0` and without a filter gives every sample a height of its own.
///
/// **Guarantees** (1) The mean is `level_m`; the standard deviation of displacement at its points is `amplitude_m`,
/// whatever the filter. (2) A height depends only on the seed and its place: tiles fit together to the bit, and
/// displacement has the same height at a place whatever the distance of samples. (3) A filter leaves nothing finer than
/// its own length.
///
/// **Limits** Additions stop where points would be closer together than samples, and of a first grid that is finer they
/// take every second, fourth or further point. Displacement that takes more than 2
/// billion random numbers is refused.
///
/// **After** Voss, "Random fractal forgeries", 1985, for the additions; the filter as in Liarokapis, "Terrain
/// generation", Masaryk University 2016.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Random {
    /// How random numbers become heights.
    pub method: Method,
    /// Distance between the points; between the coarsest ones for additions. 0 gives every sample a height of its own,
    /// for displacement without a filter; otherwise 0.01 or more.
    #[schemars(range(min = 0.0, max = 1e6), extend("x-unit" = "m", "x-slider" = [10.0, 2000.0]))]
    pub cell_m: f64,
    /// Standard deviation of the heights; of the coarsest ones for additions.
    #[schemars(range(min = 0.0, max = 10_000.0), extend("x-unit" = "m", "x-slider" = [1.0, 500.0]))]
    pub amplitude_m: f64,
    /// Mean height.
    #[schemars(range(min = -20_000.0, max = 20_000.0), extend("x-unit" = "m", "x-slider" = [-500.0, 1000.0]))]
    pub level_m: f64,
    /// The filter that smooths displacement.
    pub filter: Filter,
    /// Length of the filter to either side.
    #[schemars(range(min = 0.0, max = 1e6), extend("x-unit" = "m", "x-slider" = [0.0, 1000.0]))]
    pub filter_m: f64,
    /// How fast additions shrink from grid to grid: r in 2^-r.
    #[schemars(range(min = 0.0, max = 2.0), extend("x-slider" = [0.3, 1.2]))]
    pub roughness: f64,
}

impl Default for Random {
    fn default() -> Self {
        Self {
            method: Method::Additions,
            cell_m: 1200.0,
            amplitude_m: 320.0,
            level_m: 140.0,
            filter: Filter::Gaussian,
            filter_m: 3000.0,
            roughness: 0.95,
        }
    }
}

impl Op for Random {
    const ID: &'static str = "source.random";
    const VERSION: u32 = 3;

    fn layers(&self) -> Layers {
        Layers::none().writing([layer::HEIGHT.name()])
    }

    fn reach(&self, _: &Frame) -> Reach {
        Reach::Point
    }

    fn bytes_a_sample(&self, _: &Frame) -> f64 {
        5.0
    }

    fn endless(&self) -> bool {
        true
    }

    fn faults(&self) -> Vec<Fault> {
        let filtered = self.method == Method::Displacement && self.filter != Filter::None;
        if self.cell_m == 0.0 && (self.method != Method::Displacement || filtered) {
            let message = "0 gives every sample a height of its own, which needs method = \"displacement\" and filter = \"none\"";
            return vec![Fault::of("cell_m", message.to_owned())];
        }
        if self.cell_m > 0.0 && self.cell_m < LEAST_CELL_M {
            let message = format!("{} is outside {LEAST_CELL_M} to 1e6 and not 0", self.cell_m);
            return vec![Fault::of("cell_m", message)];
        }
        let most = MOST_TAPS * self.cell_m;
        if filtered && self.filter_m > most {
            let message = format!("{} is above {most}, which is {MOST_TAPS} cells", self.filter_m);
            return vec![Fault::of("filter_m", message)];
        }
        Vec::new()
    }

    fn run(&self, mut terrain: Terrain, ctx: &Ctx<'_>) -> Result<Terrain, OpError> {
        let frame = terrain.frame();
        let height = match self.method {
            Method::Displacement if self.cell_m == 0.0 => own_heights(self, frame, ctx)?,
            Method::Displacement => displacement(self, frame, ctx)?,
            Method::Additions => {
                let pyramid = Pyramid::new(Edges::Endless, self.cell_m, frame);
                pyramid.heights(self, frame, 0.0, ctx.seed().child("additions"), ctx)?
            }
        };
        terrain.set(layer::HEIGHT, height);
        Ok(terrain)
    }
}

/// Longest filter, in cells.
const MOST_TAPS: f64 = 256.0;
/// The finest cell.
const LEAST_CELL_M: f64 = 0.01;
/// Most random numbers of displacement.
const MOST_NUMBERS: f64 = 2e9;
/// Least numbers of a band of rows: 8 MB.
const BAND: usize = 1 << 21;
/// Places closer together than this share of a metre are one.
const PLACES_PER_M: f64 = 1_048_576.0;

/// What points weigh from the middle out, on cells of a size: squares of all weights (both sides) sum to 1.
fn taps(params: &Random, cell_m: f64) -> Vec<f32> {
    let reach = params.filter_m / cell_m;
    let weight = |k: f64| match params.filter {
        Filter::None => f64::from(u8::from(k == 0.0)),
        // The share of a cell that lies within the length.
        Filter::Box => (reach + 0.5 - k).clamp(0.0, 1.0),
        Filter::Tent => (1.0 - k / (reach + 1.0)).max(0.0),
        Filter::Gaussian => {
            let s = 3.0 * k / reach.max(1e-9);
            if k <= reach { math::exp(-0.5 * s * s) } else { 0.0 }
        }
    };
    let count = if params.filter == Filter::None { 1 } else { reach.ceil() as usize + 1 };
    let weights: Vec<f64> = (0..count).map(|k| if k == 0 { 1.0 } else { weight(k as f64) }).collect();
    let energy: f64 = weights[0] * weights[0] + 2.0 * weights[1..].iter().map(|w| w * w).sum::<f64>();
    weights.iter().map(|w| (w / energy.sqrt()) as f32).collect()
}

/// White noise without a lattice: a height for each requested place.
fn own_heights(params: &Random, frame: &Frame, ctx: &Ctx<'_>) -> Result<Raster<f32>, Cancelled> {
    let seed = ctx.seed().child("own heights");
    let whole = |m: f64| (m * PLACES_PER_M).round() as i64 as u64;
    let xs: Vec<u64> = (0..frame.cols()).map(|col| whole(frame.x_m(col))).collect();
    let (level_m, d) = (params.level_m as f32, SPREAD * params.amplitude_m as f32);
    let counter = ctx.counter(frame.rows());
    let mut out = Raster::filled(frame.cols(), frame.rows(), 0.0f32);
    out.try_par_rows(|row, values| {
        let own_seed = Seed(seed.bits(whole(frame.y_m(row))));
        for (v, &x) in values.iter_mut().zip(&xs) {
            *v = level_m + d * bell_curve(own_seed.bits(x));
        }
        counter.done()
    })?;
    Ok(out)
}

/// White noise on the world's lattice, filtered along both axes, then sampled.
///
/// Only those numbers are drawn that some sample needs, band by band, so that samples far apart have the land that
/// close ones have and cost no more.
fn displacement(params: &Random, frame: &Frame, ctx: &Ctx<'_>) -> Result<Raster<f32>, OpError> {
    let taps = taps(params, params.cell_m);
    let reach = taps.len() as i64 - 1;
    let cols = Line::new((0..frame.cols()).map(|c| frame.x_m(c) / params.cell_m), reach);
    let row_places = |rows: std::ops::Range<usize>| rows.map(|r| -frame.y_m(r) / params.cell_m);
    let rows = Line::new(row_places(0..frame.rows()), reach).numbers.len();
    if cols.numbers.len() as f64 * rows as f64 > MOST_NUMBERS {
        return Err(OpError::Failed(format!(
            "points {} m apart need {:.1} billion random numbers on this frame, more than the maximum of 2 billion; make cell_m larger{}",
            params.cell_m,
            cols.numbers.len() as f64 * rows as f64 / 1e9,
            if reach > 0 { " or filter_m shorter" } else { "" },
        )));
    }
    let seed = ctx.seed().child("displacement");
    // A band has more rows than the filter is long, or most of its work would be for rows of its neighbours.
    let room = BAND.max(2 * frame.cols() * frame.rows()) / cols.points.len();
    let bands = (rows.div_ceil(room.max(1))).max(1);
    let band = frame.rows().div_ceil(bands).max(1);
    let mut out = Raster::filled(frame.cols(), frame.rows(), 0.0f32);
    let (level_m, amplitude_m) = (params.level_m as f32, params.amplitude_m as f32);
    for (i, part) in out.as_mut_slice().chunks_mut(band * frame.cols()).enumerate() {
        ctx.tick(i, bands)?;
        let first = i * band;
        let rows = Line::new(row_places(first..first + part.len() / frame.cols()), reach);
        let mut wide = Raster::filled(cols.points.len(), rows.numbers.len(), 0.0f32);
        wide.try_par_rows(|row, out| {
            let own_seed = Seed(seed.bits(rows.numbers[row] as u64));
            let raw: Vec<f32> =
                cols.numbers.iter().map(|&c| SPREAD * bell_curve(own_seed.bits(c as u64))).collect();
            for run in &cols.runs {
                filter(&taps, &mut out[run.points.clone()], |k, out, w| {
                    let source = &raw[(run.middle as i64 + k) as usize..];
                    out.iter_mut().zip(source).for_each(|(v, s)| *v += w * s);
                });
            }
            ctx.tick(i, bands)
        })?;
        let mut points = Raster::filled(cols.points.len(), rows.points.len(), 0.0f32);
        for run in &rows.runs {
            let cells = run.points.start * cols.points.len()..run.points.end * cols.points.len();
            let lines = points.as_mut_slice()[cells].par_chunks_mut(cols.points.len());
            lines.enumerate().for_each(|(n, out)| {
                filter(&taps, out, |k, out, w| {
                    let source = wide.row((run.middle as i64 + n as i64 + k) as usize);
                    out.iter_mut().zip(source).for_each(|(v, s)| *v += w * s);
                });
                out.iter_mut().for_each(|v| *v = level_m + amplitude_m * *v);
            });
        }
        let done = (100 * i / bands, 100 * (i + 1) / bands);
        part.copy_from_slice(interpolate(&points, &cols.axis, &rows.axis, done, ctx)?.as_slice());
    }
    Ok(out)
}

/// What samples along one axis need of the lattice.
struct Line {
    axis: Axis,
    /// Lattice points round the samples, in order.
    points: Vec<i64>,
    /// Those whose random numbers the points need.
    numbers: Vec<i64>,
    runs: Vec<Run>,
}

/// Points side by side, and where the number of the first of them lies among the numbers.
struct Run {
    points: std::ops::Range<usize>,
    middle: usize,
}

impl Line {
    fn new(places: impl Iterator<Item = f64>, reach: i64) -> Self {
        let (axis, points) = Axis::of_points(places, Blend::Through);
        let (mut numbers, mut runs): (Vec<i64>, Vec<Run>) = (Vec::new(), Vec::new());
        for part in points.chunk_by(|a, b| a + 1 == *b) {
            let [first, last] = [part[0] - reach, part[part.len() - 1] + reach];
            // Numbers that the last run needs too are there already, and end where these go on.
            let have = numbers.last().map_or(i64::MIN, |n| *n);
            numbers.extend(first.max(have.saturating_add(1))..=last);
            let from = runs.last().map_or(0, |run| run.points.end);
            let after = (last - part[0]) as usize + 1;
            runs.push(Run { points: from..from + part.len(), middle: numbers.len() - after });
        }
        Self { axis, points, numbers, runs }
    }
}

/// Makes a spread of 1 of one of √⅓.
const SPREAD: f32 = 1.732_050_8;

/// Adds up weighted rows in a fixed order, the furthest first.
fn filter(taps: &[f32], out: &mut [f32], add: impl Fn(i64, &mut [f32], f32)) {
    for k in (1..taps.len()).rev() {
        add(-(k as i64), out, taps[k]);
        add(k as i64, out, taps[k]);
    }
    add(0, out, taps[0]);
}

impl Rule for Random {
    const MARGIN: i64 = 2;

    fn base(&self, level: &Level, grid: &mut Grid) {
        let [west, north] = grid.first;
        let (level_m, d) = (self.level_m as f32, SPREAD * self.amplitude_m as f32);
        grid.raster.par_rows(|row, out| {
            level.draw(north + row as i64, west, 1, out, |bits| level_m + d * bell_curve(bits));
        });
    }

    fn refine(&self, level: &Level, from: &Grid, to: &mut Grid) {
        let d = SPREAD * (self.amplitude_m * math::exp2(-self.roughness * f64::from(level.number))) as f32;
        let [west, north] = to.first;
        to.raster.par_rows(|row, out| {
            let j = north + row as i64;
            level.draw(j, west, 1, out, |bits| d * bell_curve(bits));
            smooth(from, west, j, out);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use orogen_core::testkit::assert_close;

    fn land(op: &Random, frame: Frame) -> Raster<f32> {
        op.apply(Terrain::new(frame), &Ctx::new(Seed(4))).unwrap().get(layer::HEIGHT).unwrap().clone()
    }

    #[test]
    fn mean_and_spread_are_as_said_for_every_filter() {
        for filter in [Filter::None, Filter::Box, Filter::Tent, Filter::Gaussian] {
            let op = Random {
                method: Method::Displacement,
                filter,
                cell_m: 10.0,
                filter_m: 35.0,
                amplitude_m: 50.0,
                level_m: 7.0,
                ..Random::default()
            };
            // Samples on every second point: 5 m × 2 for the lattice of 10 m.
            let height = land(&op, Frame::square(4000.0, 801).unwrap());
            let points: Vec<f64> = (0..801)
                .step_by(2)
                .flat_map(|r| (0..801).step_by(2).map(move |c| (r, c)))
                .map(|(r, c)| f64::from(height.row(r)[c]))
                .collect();
            let mean = points.iter().sum::<f64>() / points.len() as f64;
            let spread =
                (points.iter().map(|h| (h - mean) * (h - mean)).sum::<f64>() / points.len() as f64).sqrt();
            assert_close!(mean, 7.0, abs = 3.0);
            assert_close!(spread, 50.0, rel = 0.04);
        }
    }

    /// Correlation and root mean square difference of two lands of one frame at the samples of the coarser one.
    fn likeness(coarse: &Raster<f32>, fine: &Raster<f32>) -> (f64, f64) {
        let by = (fine.cols() - 1) / (coarse.cols() - 1);
        let pairs: Vec<(f64, f64)> = (0..coarse.rows())
            .flat_map(|r| (0..coarse.cols()).map(move |c| (c, r)))
            .map(|(c, r)| (f64::from(coarse.row(r)[c]), f64::from(fine.row(by * r)[by * c])))
            .collect();
        let n = pairs.len() as f64;
        let mean = |f: &dyn Fn(&(f64, f64)) -> f64| pairs.iter().map(f).sum::<f64>() / n;
        let (a, b) = (mean(&|p| p.0), mean(&|p| p.1));
        let product = mean(&|p| (p.0 - a) * (p.1 - b));
        let spread = (mean(&|p| (p.0 - a) * (p.0 - a)) * mean(&|p| (p.1 - b) * (p.1 - b))).sqrt();
        (product / spread, mean(&|p| (p.0 - p.1) * (p.0 - p.1)).sqrt())
    }

    #[test]
    fn previews_of_displacement_are_the_same_land() {
        for (cell_m, filter, filter_m) in [
            (8.0, Filter::None, 0.0),
            (8.0, Filter::Gaussian, 300.0),
            (13.0, Filter::Box, 40.0),
            (100.0, Filter::Tent, 900.0),
            (2.5, Filter::Gaussian, 10.0),
            (0.0, Filter::None, 0.0),
        ] {
            let op = Random {
                method: Method::Displacement,
                cell_m,
                filter,
                filter_m,
                amplitude_m: 50.0,
                ..Random::default()
            };
            let frame = |n| Frame::new([-3000.0, 700.0], [8192.0, 8192.0], [n, n]).unwrap();
            let (correlation, off_m) = likeness(&land(&op, frame(129)), &land(&op, frame(1025)));
            assert!(correlation > 0.999_999 && off_m < 0.01, "{cell_m}: {correlation}, {off_m} m");
        }
    }

    #[test]
    fn previews_of_additions_finer_than_samples_are_the_same_land() {
        // The first grid has four points to a sample of the preview.
        let op = Random { cell_m: 16.0, roughness: 2.0, ..Random::default() };
        let frame = |n| Frame::square(8192.0, n).unwrap();
        let (correlation, _) = likeness(&land(&op, frame(129)), &land(&op, frame(1025)));
        // One halving smooths the points of the first grid a little.
        assert!(correlation > 0.85, "{correlation}");
    }

    #[test]
    fn every_sample_may_have_a_height_of_its_own() {
        for cell_m in [0.0, 8.0] {
            let op = Random {
                method: Method::Displacement,
                filter: Filter::None,
                cell_m,
                amplitude_m: 50.0,
                level_m: 7.0,
                ..Random::default()
            };
            assert!(op.faults().is_empty());
            let height = land(&op, Frame::square(4096.0, 513).unwrap());
            let mean = height.sum_f64() / (513.0 * 513.0);
            let beside = |by: usize| {
                let rows = (0..513).map(|r| height.row(r));
                let pairs = rows.flat_map(|row| row.iter().zip(&row[by..]));
                pairs.map(|(a, b)| (f64::from(*a) - mean) * (f64::from(*b) - mean)).sum::<f64>()
                    / (513.0 * 513.0)
            };
            assert_close!(mean, 7.0, abs = 0.5);
            assert_close!(beside(0).sqrt(), 50.0, rel = 0.02);
            assert!(beside(1).abs() < 0.02 * beside(0), "neighbours know nothing of each other");
        }
        for (text, message) in [
            ("cell_m = 0", "cell_m: 0 gives every sample a height of its own"),
            ("cell_m = 0\nmethod = \"displacement\"", "cell_m: 0 gives every sample a height of its own"),
            ("cell_m = 0.001", "cell_m: 0.001 is outside 0.01 to 1e6 and not 0"),
            ("cell_m = 1\nmethod = \"displacement\"", "filter_m: 3000 is above 256"),
        ] {
            let op: Random = toml::from_str(text).unwrap();
            let faults: Vec<String> = op.faults().iter().map(ToString::to_string).collect();
            assert!(faults.len() == 1 && faults[0].starts_with(message), "{faults:?}");
        }
    }

    #[test]
    fn too_many_random_numbers_get_a_sentence_before_the_work() {
        let op = Random { method: Method::Displacement, cell_m: 0.01, filter_m: 2.0, ..Random::default() };
        let frame = Frame::square(8192.0, 129).unwrap();
        let message = op.apply(Terrain::new(frame), &Ctx::new(Seed(4))).unwrap_err().to_string();
        assert!(message.contains("billion random numbers"), "{message}");
    }

    #[test]
    fn a_filter_joins_points_within_its_length_only() {
        let op = Random {
            method: Method::Displacement,
            filter: Filter::Box,
            cell_m: 10.0,
            filter_m: 40.0,
            level_m: 100.0,
            ..Random::default()
        };
        let height = land(&op, Frame::square(6000.0, 1201).unwrap());
        let correlation = |cells: usize| {
            let (mut sum, mut squares) = (0.0, 0.0);
            for r in (0..1201).step_by(2) {
                for c in (0..1201 - 2 * cells).step_by(2) {
                    let row = height.row(r);
                    sum += f64::from((row[c] - 100.0) * (row[c + 2 * cells] - 100.0));
                    squares += f64::from((row[c] - 100.0) * (row[c] - 100.0));
                }
            }
            sum / squares
        };
        // A box of 9 cells: the correlation falls in a straight line to 0 at 9 cells.
        assert_close!(correlation(3), 1.0 - 3.0 / 9.0, abs = 0.05);
        assert_close!(correlation(12), 0.0, abs = 0.05);
    }

    #[test]
    fn tiles_share_their_edges_to_the_bit() {
        for method in [Method::Displacement, Method::Additions] {
            let op = Random { method, ..Random::default() };
            let west = land(&op, Frame::new([1e6, 0.0], [1280.0, 1280.0], [129, 129]).unwrap());
            let east = land(&op, Frame::new([1e6 + 1280.0, 0.0], [1280.0, 1280.0], [129, 129]).unwrap());
            for r in 0..129 {
                assert_eq!(west.row(r)[128].to_bits(), east.row(r)[0].to_bits());
            }
        }
    }

    #[test]
    fn additions_leave_no_creases() {
        // Nothing but the first grid: halved again and again, its bends are no sharper where its lines were.
        let op = Random { method: Method::Additions, cell_m: 640.0, roughness: 2.0, ..Random::default() };
        let still = Random { amplitude_m: 0.0, ..op };
        let mut grid = Grid {
            first: [0, 0],
            raster: Raster::from_fn(24, 24, |c, r| 100.0 * Seed(1).unit2(c as i64, r as i64) as f32),
        };
        for number in 1..=4 {
            let level = Level { number, seed: Seed(0), last: None, period: None, stride: 1 };
            let side = 2 * grid.raster.cols() - 5;
            let first = grid.first.map(|f| 2 * f + 2);
            let mut next = Grid { first, raster: Raster::filled(side, side, 0.0) };
            still.refine(&level, &grid, &mut next);
            grid = next;
        }
        let (mut on, mut off) = (0.0f32, 0.0f32);
        for r in 1..grid.raster.rows() - 1 {
            let row = grid.raster.row(r);
            for c in 1..row.len() - 1 {
                let bend = (row[c - 1] + row[c + 1] - 2.0 * row[c]).abs();
                let most = if (grid.first[0] + c as i64).rem_euclid(16) == 0 { &mut on } else { &mut off };
                *most = most.max(bend);
            }
        }
        assert!(on < 1.3 * off, "{on} on the lines of the first grid, {off} elsewhere");
    }

    #[test]
    fn additions_add_to_old_points_too() {
        let op = Random { method: Method::Additions, cell_m: 640.0, ..Random::default() };
        let coarse = land(&op, Frame::square(2560.0, 5).unwrap());
        let fine = land(&op, Frame::square(2560.0, 9).unwrap());
        assert!((0..5).all(|k| coarse.row(k)[k] != fine.row(2 * k)[2 * k]));
    }
}
