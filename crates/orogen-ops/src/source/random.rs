//! Random heights: white noise, smoothed by a filter or summed over ever finer grids.

use orogen_core::param::Fault;
use orogen_core::{Cancelled, Ctx, Frame, Layers, Op, OpError, Raster, Reach, Seed, Terrain, layer, math};
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
    /// None: every point for itself.
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
/// additions, whose halving smooths old points too (1/8, 3/4, 1/8 along each axis) and so leaves no creases.
///
/// **Guarantees** (1) The mean is `level_m`; the standard deviation of displacement at its points is `amplitude_m`,
/// whatever the filter. (2) A height depends on the seed and its place only: tiles fit together to the bit. (3) A filter leaves nothing
/// finer than its own length.
///
/// **Limits** Points closer together than samples cannot be shown: displacement then takes every second, fourth or
/// further point; additions stop.
///
/// **After** Voss, "Random fractal forgeries", 1985, for the additions; the filter as in Liarokapis, "Terrain
/// generation", Masaryk University 2016.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Random {
    /// How random numbers become heights.
    pub method: Method,
    /// Distance of the points; of the coarsest ones for additions.
    #[schemars(range(min = 0.01, max = 1e6), extend("x-unit" = "m", "x-slider" = [10.0, 2000.0]))]
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
    const VERSION: u32 = 2;

    fn layers(&self) -> Layers {
        Layers::none().writing([layer::HEIGHT.name()])
    }

    fn reach(&self, _: &Frame) -> Reach {
        Reach::Point
    }

    fn faults(&self) -> Vec<Fault> {
        let most = MOST_TAPS * self.cell_m;
        if self.method == Method::Displacement && self.filter != Filter::None && self.filter_m > most {
            let message = format!("found {}, allowed is at most {MOST_TAPS} cells = {most}", self.filter_m);
            return vec![Fault::of("filter_m", message)];
        }
        Vec::new()
    }

    fn run(&self, mut terrain: Terrain, ctx: &Ctx<'_>) -> Result<Terrain, OpError> {
        let frame = terrain.frame();
        let height = match self.method {
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

/// White noise on the world's lattice, filtered along both axes, then sampled.
fn displacement(params: &Random, frame: &Frame, ctx: &Ctx<'_>) -> Result<Raster<f32>, Cancelled> {
    let spacing = frame.spacing_m();
    // Coarse enough that two lattices and the land are no more than two rasters.
    let coarse = (1.5 * spacing[0].min(spacing[1]) / params.cell_m).max(1.0);
    let stride = 1i64 << math::log2(coarse).ceil().clamp(0.0, 40.0) as u32;
    let cell_m = params.cell_m * stride as f64;
    let cols = Axis::new((0..frame.cols()).map(|c| frame.x_m(c) / cell_m), Blend::Through);
    let rows = Axis::new((0..frame.rows()).map(|r| -frame.y_m(r) / cell_m), Blend::Through);
    let taps = taps(params, cell_m);
    let reach = taps.len() as i64 - 1;
    let seed = ctx.seed().child("displacement");
    let margin = 2 * reach as usize;
    let mut wide = Raster::filled(cols.count, rows.count + margin, 0.0f32);
    wide.par_rows(|row, out| {
        let luck = Seed(seed.bits(((rows.first - reach + row as i64) * stride) as u64));
        let raw: Vec<f32> = (0..cols.count + margin)
            .map(|c| luck.bits(((cols.first - reach + c as i64) * stride) as u64))
            .map(|bits| SPREAD * bell_curve(bits))
            .collect();
        filter(&taps, out, |k, out, w| {
            let source = &raw[(k + reach) as usize..];
            out.iter_mut().zip(source).for_each(|(v, s)| *v += w * s);
        });
    });
    ctx.tick(30, 100)?;
    let mut points = Raster::filled(cols.count, rows.count, 0.0f32);
    points.par_rows(|row, out| {
        filter(&taps, out, |k, out, w| {
            let source = wide.row((row as i64 + reach + k) as usize);
            out.iter_mut().zip(source).for_each(|(v, s)| *v += w * s);
        });
        for v in out {
            *v = params.level_m as f32 + params.amplitude_m as f32 * *v;
        }
    });
    drop(wide);
    ctx.tick(60, 100)?;
    interpolate(&points, &cols, &rows, (60, 100), ctx)
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
            let level = Level { number, seed: Seed(0), last: None, period: None };
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
