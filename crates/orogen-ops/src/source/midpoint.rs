//! Midpoint displacement: a line, or the edges of triangles, broken in the middle again and again.

use orogen_core::{Cancelled, Ctx, Frame, Layers, Op, OpError, Raster, Reach, Seed, Terrain, layer, math};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::diamond_square::uniform;
use super::pyramid::{Edges, Grid, Level, Pyramid, Rule, smooth};

/// What is broken in the middle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    /// A line: one profile, drawn out across the land.
    Profile,
    /// The edges of triangles, each shared by the two triangles beside it.
    #[default]
    Triangles,
}

/// Which points move when edges are broken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Moves {
    /// Only the new ones: the method as published, which leaves creases along old edges.
    Middles,
    /// All of them, old ones after they took a smooth mean of their neighbours: no creases.
    #[default]
    All,
}

/// Breaks a line, or the edges of triangles, in the middle, and moves the middle up or down; again and again.
///
/// ```text
/// middle of an edge A B   M = (A + B)/2 + d·R        R from -1 to 1
/// then                    d ← d · 2^-r
/// ```
///
/// With `moves = "all"` points are smoothed first by the weights 1/8, 3/4, 1/8 (old) and 1/2, 1/2 (new) along both
/// axes, and then all of them move, old ones too; as published, only new ones move and old ones stay.
///
/// A triangle becomes four, and an edge has one middle for both of its triangles, so the land has no cracks. As a
/// profile the same is done to a line along `direction_deg`, and all land across it has its height: a mountain
/// range in section, escarpments, or a coast.
///
/// **Guarantees** (1) A height depends on the seed and its place: tiles fit together to the bit. (2) When only middles
/// move, a point keeps its height once it has one, so a finer grid keeps the heights of a coarser one on 2^n + 1
/// samples. (3) A profile is level across its direction. (4) Heights stay within `amplitude_m · (1 + 1/(1 − 2^-r))` of
/// `level_m`.
///
/// (5) When all points move there are no creases: bends are no sharper along old edges than elsewhere.
///
/// **Limits** When only middles move, triangles leave creases along their first edges. A profile is as fine as samples
/// can show. Of first edges shorter than the distance of samples only every second, fourth or further point is taken,
/// at its own height.
///
/// **After** Fournier, Fussell & Carpenter, CACM 25 (1982); moving old points too is Voss's remedy, "Random fractal
/// forgeries", 1985.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Midpoint {
    /// What is broken in the middle.
    pub form: Form,
    /// Which points move.
    pub moves: Moves,
    /// Length of the first edges.
    #[schemars(range(min = 0.1, max = 1e7), extend("x-unit" = "m", "x-slider" = [256.0, 16_384.0]))]
    pub wavelength_m: f64,
    /// Largest displacement of the first middles, and of the first corners.
    #[schemars(range(min = 0.0, max = 20_000.0), extend("x-unit" = "m", "x-slider" = [10.0, 2000.0]))]
    pub amplitude_m: f64,
    /// How fast displacements shrink: r in d·2^-r. Less is rougher.
    #[schemars(range(min = 0.01, max = 2.0), extend("x-slider" = [0.3, 1.2]))]
    pub roughness: f64,
    /// Height of land that nothing displaces.
    #[schemars(range(min = -20_000.0, max = 20_000.0), extend("x-unit" = "m", "x-slider" = [-500.0, 1000.0]))]
    pub level_m: f64,
    /// Which way a profile runs, clockwise from north.
    #[schemars(range(min = 0.0, max = 360.0), extend("x-unit" = "deg"))]
    pub direction_deg: f64,
}

impl Default for Midpoint {
    fn default() -> Self {
        Self {
            form: Form::Triangles,
            moves: Moves::All,
            wavelength_m: 2048.0,
            amplitude_m: 600.0,
            roughness: 0.9,
            level_m: 100.0,
            direction_deg: 90.0,
        }
    }
}

impl Op for Midpoint {
    const ID: &'static str = "source.midpoint";
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

    fn run(&self, mut terrain: Terrain, ctx: &Ctx<'_>) -> Result<Terrain, OpError> {
        let frame = terrain.frame();
        let height = match self.form {
            Form::Triangles => {
                let pyramid = Pyramid::new(Edges::Endless, self.wavelength_m, frame);
                pyramid.heights(self, frame, 0.0, ctx.seed().child("triangles"), ctx)?
            }
            Form::Profile => profile(self, frame, ctx)?,
        };
        terrain.set(layer::HEIGHT, height);
        Ok(terrain)
    }
}

impl Midpoint {
    fn displacement(&self, level: u32) -> f32 {
        (self.amplitude_m * math::exp2(-self.roughness * f64::from(level - 1))) as f32
    }
}

impl Rule for Midpoint {
    const MARGIN: i64 = 2;

    fn base(&self, level: &Level, grid: &mut Grid) {
        let [west, north] = grid.first;
        let (level_m, d) = (self.level_m as f32, self.amplitude_m as f32);
        grid.raster.par_rows(|row, out| {
            level.draw(north + row as i64, west, 1, out, |bits| level_m + d * uniform(bits));
        });
    }

    /// Squares are two triangles each, with the diagonal from north-west to south-east.
    fn refine(&self, level: &Level, from: &Grid, to: &mut Grid) {
        let d = self.displacement(level.number);
        let [west, north] = to.first;
        to.raster.par_rows(|row, out| {
            let j = north + row as i64;
            let old_row = j.rem_euclid(2) == 0;
            level.draw(j, west, 1, out, |bits| d * uniform(bits));
            if self.moves == Moves::All {
                smooth(from, west, j, out);
                return;
            }
            let (a, b) = (from.row(j.div_euclid(2)), from.row((j + 1).div_euclid(2)));
            for (k, v) in out.iter_mut().enumerate() {
                let i = west + k as i64;
                let c = (i.div_euclid(2) - from.first[0]) as usize;
                let e = ((i + 1).div_euclid(2) - from.first[0]) as usize;
                // An edge from (c, a) to (e, b): of no length at old points.
                let mean = 0.5 * (a[c] + b[e]);
                *v = if old_row && c == e { a[c] } else { mean + *v };
            }
        });
    }
}

/// The same in one dimension, along a direction; then every sample takes the height of its place along it.
fn profile(params: &Midpoint, frame: &Frame, ctx: &Ctx<'_>) -> Result<Raster<f32>, Cancelled> {
    let angle = params.direction_deg.to_radians();
    let way = [math::sin(angle), math::cos(angle)];
    let spacing = frame.spacing_m();
    let finest =
        (math::log2(2.0 * params.wavelength_m / spacing[0].min(spacing[1])).ceil()).clamp(0.0, 40.0) as u32;
    let scale = math::exp2(f64::from(finest)) / params.wavelength_m;
    let place = |col: usize, row: usize| (frame.x_m(col) * way[0] + frame.y_m(row) * way[1]) * scale;
    let (east, south) = (frame.cols() - 1, frame.rows() - 1);
    let ends = [place(0, 0), place(east, 0), place(0, south), place(east, south)];
    let low = ends.iter().copied().fold(f64::INFINITY, f64::min).floor() as i64;
    let high = ends.iter().copied().fold(f64::NEG_INFINITY, f64::max).floor() as i64 + 1;
    let (first, line) = broken(params, finest, low, high, ctx.seed().child("profile"));
    let counter = ctx.counter(frame.rows());
    let mut out = Raster::filled(frame.cols(), frame.rows(), 0.0f32);
    out.try_par_rows(|row, values| {
        for (col, v) in values.iter_mut().enumerate() {
            let u = place(col, row);
            let cell = u.floor();
            // Rounding may put a sample a hair past the ends, which were taken at the corners.
            let k = ((cell as i64 - first).max(0) as usize).min(line.len() - 2);
            *v = line[k] + (line[k + 1] - line[k]) * (u - cell) as f32;
        }
        counter.done()
    })?;
    Ok(out)
}

/// The points `low` to `high` (or a few more) of a line of a level, and the first of them.
fn broken(params: &Midpoint, finest: u32, low: i64, high: i64, seed: Seed) -> (i64, Vec<f32>) {
    let window = |level: u32| {
        let by = 1i64 << (finest - level);
        (low.div_euclid(by) - 3, high.div_euclid(by) + 4)
    };
    let own_seed = |level: u32| Seed(seed.bits(u64::from(level)));
    let (mut first, end) = window(0);
    let mut line: Vec<f32> = (first..=end)
        .map(|i| params.level_m as f32 + params.amplitude_m as f32 * uniform(own_seed(0).bits(i as u64)))
        .collect();
    for level in 1..=finest {
        let (begin, end) = window(level);
        let (own_seed, d) = (own_seed(level), params.displacement(level));
        line = (begin..=end)
            .map(|i| {
                let k = (i.div_euclid(2) - first) as usize;
                let moved = d * uniform(own_seed.bits(i as u64));
                match (i.rem_euclid(2) == 0, params.moves) {
                    (true, Moves::Middles) => line[k],
                    (true, Moves::All) => 0.75 * line[k] + 0.125 * (line[k - 1] + line[k + 1]) + moved,
                    (false, _) => 0.5 * (line[k] + line[k + 1]) + moved,
                }
            })
            .collect();
        first = begin;
    }
    (first, line)
}

#[cfg(test)]
mod tests {
    use super::*;
    use orogen_core::testkit::assert_close;

    fn land(op: &Midpoint, frame: Frame) -> Raster<f32> {
        op.apply(Terrain::new(frame), &Ctx::new(Seed(21))).unwrap().get(layer::HEIGHT).unwrap().clone()
    }

    #[test]
    fn without_displacement_edges_stay_straight() {
        // Nothing but the first corners: land between them is two flat triangles.
        let op = Midpoint { roughness: 2.0, ..Midpoint::default() };
        let mut grid =
            Grid { first: [0, 0], raster: Raster::from_vec(2, 2, vec![0.0, 8.0, 4.0, 2.0]).unwrap() };
        for number in 1..=3 {
            let level = Level { number, seed: Seed(0), last: None, period: None, stride: 1 };
            let still = Midpoint { amplitude_m: 0.0, moves: Moves::Middles, ..op.clone() };
            let n = (1 << number) + 1;
            let mut next = Grid { first: [0, 0], raster: Raster::filled(n, n, 0.0) };
            still.refine(&level, &grid, &mut next);
            grid = next;
        }
        assert_eq!(grid.raster.row(4)[4], 1.0); // half way along the diagonal from 0 to 2
        assert_eq!(grid.raster.row(0)[2], 2.0);
        assert_eq!(grid.raster.row(6)[0], 3.0);
        assert_eq!(grid.raster.row(2)[6], 5.0 - 0.5);
    }

    #[test]
    fn when_all_points_move_there_are_no_creases() {
        // Nothing but random first corners, halved four times: how much of all bending happens on their own columns,
        // which are one in sixteen.
        let on_old_edges = |moves: Moves| {
            let still = Midpoint { amplitude_m: 0.0, moves, ..Midpoint::default() };
            let corners = Raster::from_fn(40, 40, |c, r| 100.0 * Seed(1).unit2(c as i64, r as i64) as f32);
            let mut grid = Grid { first: [0, 0], raster: corners };
            for number in 1..=4 {
                let level = Level { number, seed: Seed(0), last: None, period: None, stride: 1 };
                let side = 2 * grid.raster.cols() - 5;
                let first = grid.first.map(|f| 2 * f + 2);
                let mut next = Grid { first, raster: Raster::filled(side, side, 0.0) };
                still.refine(&level, &grid, &mut next);
                grid = next;
            }
            let (mut on, mut all) = (0.0, 0.0);
            for r in 0..grid.raster.rows() {
                let row = grid.raster.row(r);
                for c in 1..row.len() - 1 {
                    let bend = f64::from((row[c - 1] + row[c + 1] - 2.0 * row[c]).abs());
                    on += if (grid.first[0] + c as i64).rem_euclid(16) == 0 { bend } else { 0.0 };
                    all += bend;
                }
            }
            on / all
        };
        let (published, all) = (on_old_edges(Moves::Middles), on_old_edges(Moves::All));
        assert!(published > 0.4, "{published}");
        assert!(all < 0.12, "{all}");
    }

    #[test]
    fn a_profile_is_level_across_its_direction() {
        let op = Midpoint { form: Form::Profile, direction_deg: 90.0, ..Midpoint::default() };
        let height = land(&op, Frame::square(4096.0, 65).unwrap());
        assert!((0..65).all(|r| height.row(r).iter().zip(height.row(0)).all(|(a, b)| (a - b).abs() < 1e-2)));
        assert!(height.row(0).iter().any(|h| *h != height.row(0)[0]));
    }

    #[test]
    fn tiles_share_their_edges_to_the_bit() {
        for form in [Form::Triangles, Form::Profile] {
            let moves = if form == Form::Profile { Moves::Middles } else { Moves::All };
            let op = Midpoint { form, moves, direction_deg: 30.0, ..Midpoint::default() };
            for size in [1024.0, 1000.0] {
                let west = land(&op, Frame::new([-5e5, 0.0], [size, size], [129, 129]).unwrap());
                let east = land(&op, Frame::new([-5e5 + size, 0.0], [size, size], [129, 129]).unwrap());
                for r in 0..129 {
                    assert_eq!(west.row(r)[128].to_bits(), east.row(r)[0].to_bits());
                }
            }
        }
    }

    #[test]
    fn finer_grids_keep_heights_and_heights_stay_in_bounds() {
        for form in [Form::Triangles, Form::Profile] {
            let op = Midpoint { form, moves: Moves::Middles, ..Midpoint::default() };
            let coarse = land(&op, Frame::square(4096.0, 65).unwrap());
            let fine = land(&op, Frame::square(4096.0, 257).unwrap());
            let bound = op.amplitude_m * (1.0 + 1.0 / (1.0 - math::exp2(-op.roughness)));
            for r in 0..65 {
                for c in 0..65 {
                    assert_close!(coarse.row(r)[c], fine.row(4 * r)[4 * c], abs = 1e-3);
                    assert!(f64::from(coarse.row(r)[c] - 100.0).abs() <= bound);
                }
            }
        }
    }
}
