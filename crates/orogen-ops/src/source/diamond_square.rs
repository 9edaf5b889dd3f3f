//! Diamond-square: land from squares whose middles are lifted and lowered at random.

use orogen_core::param::Fault;
use orogen_core::{Ctx, Frame, Layers, Op, OpError, Reach, Terrain, layer, math};
use rayon::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use super::pyramid::Edges;
use super::pyramid::{Grid, Level, Pyramid, Rule};

/// Which random numbers displace the points. Both kinds have the same spread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Chance {
    /// Every displacement from -d to d is equally likely.
    #[default]
    Uniform,
    /// Small displacements are likelier, and a few reach beyond d: the sum of four even numbers.
    Gaussian,
}

/// How a square's displacement fades from its middle to its edges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Bell {
    /// Not at all: an edge takes a quarter, by averaging.
    #[default]
    Straight,
    /// By a Gaussian bell.
    Gaussian,
    /// By a Lorentz bell, whose foot is wider.
    Lorentz,
}

/// Makes fractal land by halving squares: middles and edges take the mean of their neighbours and a random step.
///
/// ```text
/// diamond   E = (A + B + C + D)/4 + d·R        E in the middle of the square A B C D
/// square    G = (A + B + E + E')/4 + d·R       G in the middle of the edge A B, between two squares
/// then      d ← d · 2^-r                       and again, with squares half as large
/// ```
///
/// By the mean an edge takes a quarter of the displacement of the squares beside it. With a bell that fades on the way: it
/// takes a fifth times the height of the bell half a side from its middle,
///
/// ```text
/// q / (1/4 + q)   (Lorentz)        2^(-1/(4q))   (Gaussian)        q = bell_width²/8
/// ```
///
/// so that a narrower bell makes steeper land; a fifth is where land is least steep. Squares have sides of `wavelength_m` at
/// first and are halved until they are as small as the distance of samples, or `detail_m`.
///
/// **Guarantees** (1) A height depends on the seed and its place in the world, so tiles fit together to the bit,
/// however many there are. (2) On 2^n + 1 samples every sample is a point of the lattice, and a finer grid keeps the
/// heights of a coarser one. (3) Corners that are given are kept exactly. (4) Wrapped land is equal to the bit on
/// opposite sides. (5) Besides the land itself it holds less than one more raster of that size.
///
/// **Limits** The method is known for creases along the axes, as points keep the neighbours they got. Along the lines of the
/// first squares land bends 1.05 times as sharply as elsewhere at a roughness of 0.5, 1.25 times at 0.9, 1.65 times at 1.2 and
/// 5 times at 2: 0.5 or less hides them, and `source.midpoint` has none. On grids that are not 2^n + 1 samples, land is worked out on the next coarser lattice
/// and smoothly interpolated. With closed edges the border takes the mean of three neighbours. Of first squares
/// smaller than the distance of samples only every second, fourth or further point is taken, at its own height.
///
/// **After** Fournier, Fussell & Carpenter, CACM 25 (1982); the bells and the two kinds of edges as in Liarokapis,
/// "Terrain generation", Masaryk University 2016. Ours differs: random numbers belong to points of the world lattice, not to the order of drawing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DiamondSquare {
    /// Side of the largest squares: the size of the largest mountains.
    #[schemars(range(min = 0.1, max = 1e7), extend("x-unit" = "m", "x-slider" = [256.0, 16_384.0]))]
    pub wavelength_m: f64,
    /// Largest displacement of the largest squares: d at the start, also of random corners.
    #[schemars(range(min = 0.0, max = 20_000.0), extend("x-unit" = "m", "x-slider" = [10.0, 2000.0]))]
    pub amplitude_m: f64,
    /// How fast displacements shrink: r in d·2^-r. Less is rougher; 0.5 is rugged, 1 is smooth.
    #[schemars(range(min = 0.0, max = 2.0), extend("x-slider" = [0.3, 1.2]))]
    pub roughness: f64,
    /// Height of land that nothing displaces.
    #[schemars(range(min = -20_000.0, max = 20_000.0), extend("x-unit" = "m", "x-slider" = [-500.0, 1000.0]))]
    pub level_m: f64,
    /// Squares no larger than this are not halved; 0 halves them as long as samples can show it.
    #[schemars(range(min = 0.0, max = 1e6), extend("x-unit" = "m", "x-slider" = [0.0, 200.0]))]
    pub detail_m: f64,
    /// What lies beyond the land.
    pub edges: Edges,
    /// Heights of the frame's corners, north-west, north-east, south-west and south-east; random when none are given.
    /// Needs `edges = "closed"`, or four equal heights and `edges = "wrap"`.
    #[schemars(length(max = 4), inner(range(min = -20_000.0, max = 20_000.0)), extend("x-unit" = "m"))]
    pub corners_m: Vec<f64>,
    /// Which random numbers displace the points.
    pub chance: Chance,
    /// How a square's displacement fades towards its edges.
    pub bell: Bell,
    /// Width of the bell: narrower is steeper; 1 is the width of the published formula. Without a bell it does nothing.
    #[schemars(range(min = 0.1, max = 4.0), extend("x-slider" = [0.5, 2.0]))]
    pub bell_width: f64,
}

impl Default for DiamondSquare {
    fn default() -> Self {
        Self {
            wavelength_m: 4096.0,
            amplitude_m: 600.0,
            roughness: 0.9,
            level_m: 100.0,
            detail_m: 0.0,
            edges: Edges::Endless,
            corners_m: Vec::new(),
            chance: Chance::Uniform,
            bell: Bell::Straight,
            bell_width: 1.0,
        }
    }
}

impl Op for DiamondSquare {
    const ID: &'static str = "source.diamond_square";
    const VERSION: u32 = 2;

    fn layers(&self) -> Layers {
        Layers::none().writing([layer::HEIGHT.name()])
    }

    fn reach(&self, _: &Frame) -> Reach {
        Reach::Point
    }

    fn bytes_a_sample(&self, _: &Frame) -> f64 {
        5.0
    }

    /// Other edges lie on those of the frame.
    fn endless(&self) -> bool {
        self.edges == Edges::Endless
    }

    fn faults(&self) -> Vec<Fault> {
        let given = &self.corners_m;
        let message = match (given.len(), self.edges) {
            (0, _) | (4, Edges::Closed) => return Vec::new(),
            (4, Edges::Wrap) if given.iter().all(|h| *h == given[0]) => return Vec::new(),
            (4, Edges::Wrap) => format!(
                "the corners of land that loops are one point, so they need the same height; found {given:?}"
            ),
            (4, Edges::Endless) => {
                String::from("endless land has no corners; use edges = \"closed\" or edges = \"wrap\"")
            }
            (found, _) => format!("expected four heights or none, found {found}"),
        };
        vec![Fault::of("corners_m", message)]
    }

    fn run(&self, mut terrain: Terrain, ctx: &Ctx<'_>) -> Result<Terrain, OpError> {
        let pyramid = Pyramid::new(self.edges, self.wavelength_m, &ctx.world(&terrain));
        let height = pyramid.heights(self, terrain.frame(), self.detail_m, ctx.seed(), ctx)?;
        terrain.set(layer::HEIGHT, height);
        Ok(terrain)
    }
}

/// What an edge takes of a displacement under a bell without end: with more or less, slopes between points are steeper.
const WIDEST: f64 = 0.2;
/// Rows of a level that one thread takes: rows of diamonds at a seam are worked out twice.
const BLOCK: usize = 32;

impl DiamondSquare {
    /// What the bell adds to the quarter of the displacement beside them that edges take by averaging: nothing or less.
    fn bell_share(&self) -> f32 {
        let q = self.bell_width * self.bell_width / 8.0;
        let takes = match self.bell {
            Bell::Straight => 0.25,
            Bell::Gaussian => WIDEST * math::exp2(-0.25 / q),
            Bell::Lorentz => WIDEST * q / (0.25 + q),
        };
        (takes - 0.25) as f32
    }

    fn random(&self, level: &Level, j: i64, first: i64, stride: i64, out: &mut [f32], d: f32) {
        match self.chance {
            Chance::Uniform => level.draw(j, first, stride, out, |bits| d * uniform(bits)),
            Chance::Gaussian => level.draw(j, first, stride, out, |bits| d * bell_curve(bits)),
        }
    }
}

/// -1 to 1.
#[inline]
pub(super) fn uniform(bits: u64) -> f32 {
    ((bits >> 40) as i32 - (1 << 23)) as f32 * (1.0 / (1 << 23) as f32)
}

/// The spread of [`uniform`], bell-shaped, -2 to 2.
#[inline]
pub(super) fn bell_curve(bits: u64) -> f32 {
    let sum = (bits & 0xffff) + ((bits >> 16) & 0xffff) + ((bits >> 32) & 0xffff) + (bits >> 48);
    (sum as i32 - 131_070) as f32 * (1.0 / 65_536.0)
}

impl Rule for DiamondSquare {
    const MARGIN: i64 = 1;

    fn base(&self, level: &Level, grid: &mut Grid) {
        let [west, north] = grid.first;
        let last = level.last.or(level.period);
        let level_m = self.level_m as f32;
        let corners: Option<[f64; 4]> = self.corners_m.as_slice().try_into().ok();
        grid.raster.par_rows(|row, out| {
            let j = north + row as i64;
            self.random(level, j, west, 1, out, self.amplitude_m as f32);
            for (k, v) in out.iter_mut().enumerate() {
                let i = west + k as i64;
                let given = last.zip(corners).and_then(|([right, bottom], corners)| {
                    let (i, j) = match level.period {
                        Some([n, m]) => (i.rem_euclid(n), j.rem_euclid(m)),
                        None => (i, j),
                    };
                    match ((i == 0, i == right), (j == 0, j == bottom)) {
                        ((true, _), (true, _)) => Some(corners[0]),
                        ((_, true), (true, _)) => Some(corners[1]),
                        ((true, _), (_, true)) => Some(corners[2]),
                        ((_, true), (_, true)) => Some(corners[3]),
                        _ => None,
                    }
                });
                *v = given.map_or(level_m + *v, |h| h as f32);
            }
        });
    }

    fn refine(&self, level: &Level, from: &Grid, to: &mut Grid) {
        let d = (self.amplitude_m * math::exp2(-self.roughness * f64::from(level.number - 1))) as f32;
        let bell = self.bell_share();
        let [west, north] = to.first;
        let cols = to.raster.cols();
        let rows = to.raster.rows();
        let work = Rows { op: self, level, from, west, cols, d, bell };
        to.raster.as_mut_slice().par_chunks_mut(cols * BLOCK).enumerate().for_each(|(block, out)| {
            let mut above = Diamonds::default();
            let mut below = Diamonds::default();
            let (mut even, mut odd) = (Vec::new(), Vec::new());
            let top = north + (block * BLOCK) as i64;
            let lines = BLOCK.min(rows - block * BLOCK);
            // `above` and `below` are the rows of diamonds next to the current row (or one of them is its own).
            work.diamonds(if top.rem_euclid(2) == 0 { top - 1 } else { top }, &mut above);
            for (k, out) in out.chunks_mut(cols).take(lines).enumerate() {
                let j = top + k as i64;
                if j.rem_euclid(2) == 0 {
                    work.diamonds(j + 1, &mut below);
                    work.even_row(j, &above, &below, &mut odd, out);
                    std::mem::swap(&mut above, &mut below);
                } else {
                    work.odd_row(j, &above, &mut even, out);
                }
            }
        });
    }
}

/// The middles of a row of squares: heights, and what displaced them.
#[derive(Default)]
struct Diamonds {
    /// Empty where the land ends.
    height: Vec<f32>,
    step: Vec<f32>,
}

/// What the rows of one level are made from.
struct Rows<'a> {
    op: &'a DiamondSquare,
    level: &'a Level,
    from: &'a Grid,
    west: i64,
    cols: usize,
    d: f32,
    bell: f32,
}

impl Rows<'_> {
    /// First odd point that the window's rows need.
    fn first_odd(&self) -> i64 {
        let first = self.west - 1 + self.west.rem_euclid(2);
        if self.level.last.is_some() { first.max(1) } else { first }
    }

    fn diamonds(&self, j: i64, out: &mut Diamonds) {
        out.height.clear();
        out.step.clear();
        if self.level.last.is_some_and(|last| j < 0 || j > last[1]) {
            return;
        }
        let first = self.first_odd();
        let east = self.west + self.cols as i64 - 1;
        let mut end = east + 1;
        if let Some(last) = self.level.last {
            end = end.min(last[0]);
        }
        let count = if end < first { 0 } else { ((end - first) / 2 + 1) as usize };
        out.step.resize(count, 0.0);
        self.op.random(self.level, j, first, 2, &mut out.step, self.d);
        let start = ((first - 1) / 2 - self.from.first[0]) as usize;
        let north = &self.from.row((j - 1).div_euclid(2))[start..];
        let south = &self.from.row((j + 1).div_euclid(2))[start..];
        let corners = north.windows(2).zip(south.windows(2));
        out.height.extend(
            corners.zip(&out.step).map(|((n, s), step)| 0.25 * ((n[0] + n[1]) + (s[0] + s[1])) + step),
        );
    }

    /// Points of level above, and middles of the edges that run west to east.
    fn even_row(&self, j: i64, above: &Diamonds, below: &Diamonds, odd: &mut Vec<f32>, out: &mut [f32]) {
        let parents = self.from.row(j / 2);
        let first = self.first_odd();
        let count = above.height.len().max(below.height.len());
        odd.clear();
        odd.resize(count, 0.0);
        self.op.random(self.level, j, first, 2, odd, self.d);
        let start = ((first - 1) / 2 - self.from.first[0]) as usize;
        let ends = parents[start..].windows(2);
        if above.height.is_empty() || below.height.is_empty() {
            let only = if above.height.is_empty() { below } else { above };
            for ((v, e), (h, step)) in odd.iter_mut().zip(ends).zip(only.height.iter().zip(&only.step)) {
                *v += border(e[0], e[1], h, step, self.bell);
            }
        } else {
            let north = above.height.iter().zip(&above.step);
            let south = below.height.iter().zip(&below.step);
            for ((v, e), ((n, sn), (s, ss))) in odd.iter_mut().zip(ends).zip(north.zip(south)) {
                *v += 0.25 * ((e[0] + e[1]) + (n + s)) + self.bell * (sn + ss);
            }
        }
        // Old points at even columns.
        let old = self.west.rem_euclid(2) as usize;
        let at = ((self.west + 1).div_euclid(2) - self.from.first[0]) as usize;
        for (v, p) in out[old..].iter_mut().step_by(2).zip(&parents[at..]) {
            *v = *p;
        }
        self.scatter_odd(odd, out);
    }

    /// Middles of squares, and of the edges that run north to south.
    fn odd_row(&self, j: i64, own: &Diamonds, even: &mut Vec<f32>, out: &mut [f32]) {
        let old = self.west.rem_euclid(2) as usize;
        let first = self.west + old as i64;
        let count = (self.cols - old.min(self.cols)).div_ceil(2);
        even.clear();
        even.resize(count, 0.0);
        self.op.random(self.level, j, first, 2, even, self.d);
        let at = (first / 2 - self.from.first[0]) as usize;
        let north = &self.from.row((j - 1).div_euclid(2))[at..];
        let south = &self.from.row((j + 1).div_euclid(2))[at..];
        // The diamond west of the first even point; one before the list where the land begins there.
        let shift = (first - 1 - self.first_odd()) / 2;
        let begins = first - 1 < self.first_odd();
        let skip = usize::from(begins);
        if begins && count > 0 {
            let only = own.height.first().zip(own.step.first());
            even[0] += third(north[0], south[0], only, self.bell);
        }
        let from = if begins { 0 } else { shift as usize };
        let pairs = own.height[from.min(own.height.len())..].windows(2);
        let steps = own.step[from.min(own.step.len())..].windows(2);
        let whole = pairs.len().min(count.saturating_sub(skip));
        let ends = north[skip.min(north.len())..].iter().zip(&south[skip.min(south.len())..]);
        for ((v, (n, s)), (h, step)) in even[skip.min(count)..].iter_mut().zip(ends).zip(pairs.zip(steps)) {
            *v += 0.25 * ((n + s) + (h[0] + h[1])) + self.bell * (step[0] + step[1]);
        }
        if skip + whole < count {
            let k = skip + whole;
            even[k] += third(north[k], south[k], own.height.last().zip(own.step.last()), self.bell);
        }
        for (v, e) in out[old.min(self.cols)..].iter_mut().step_by(2).zip(even.iter()) {
            *v = *e;
        }
        self.scatter_odd(&own.height, out);
    }

    /// Values of odd points into their columns; the list may begin one point before the window.
    fn scatter_odd(&self, odd: &[f32], out: &mut [f32]) {
        let first = self.first_odd();
        let (skip, start) =
            if first < self.west { (1, first + 2 - self.west) } else { (0, first - self.west) };
        let start = start as usize;
        if start < out.len() && skip <= odd.len() {
            for (v, o) in out[start..].iter_mut().step_by(2).zip(&odd[skip..]) {
                *v = *o;
            }
        }
    }
}

/// A point on a border: the mean of its three neighbours.
fn third(a: f32, b: f32, only: Option<(&f32, &f32)>, bell: f32) -> f32 {
    match only {
        Some((h, step)) => border(a, b, h, step, bell),
        None => 0.5 * (a + b),
    }
}

/// The mean of three, and what a bell makes of the third of the displacement that is in it.
#[inline]
fn border(a: f32, b: f32, h: &f32, step: &f32, bell: f32) -> f32 {
    (a + b + h) * (1.0 / 3.0) + bell * (4.0 / 3.0) * step
}

#[cfg(test)]
mod tests {
    use super::*;
    use orogen_core::Raster;
    use orogen_core::Seed;
    use orogen_core::testkit::assert_close;

    fn land(op: &DiamondSquare, frame: Frame) -> Raster<f32> {
        let ctx = Ctx::new(Seed(11)).in_world(Frame::square(4096.0, 257).unwrap());
        op.apply(Terrain::new(frame), &ctx).unwrap().get(layer::HEIGHT).unwrap().clone()
    }

    /// The textbook form, point by point and without windows.
    fn slow(op: &DiamondSquare, levels: u32) -> Raster<f32> {
        let mut side = 1usize;
        let level = |n: u32| {
            let points = [1i64 << n; 2];
            Level {
                number: n,
                seed: Seed(Seed(11).bits(u64::from(n))),
                last: (op.edges == Edges::Closed).then_some(points),
                period: (op.edges == Edges::Wrap).then_some(points),
                stride: 1,
            }
        };
        let mut grid = Grid { first: [0, 0], raster: Raster::filled(2, 2, 0.0) };
        op.base(&level(0), &mut grid);
        for n in 1..=levels {
            let level = level(n);
            let d = (op.amplitude_m * math::exp2(-op.roughness * f64::from(n - 1))) as f32;
            let random = |i: i64, j: i64| {
                let mut one = [0.0];
                op.random(&level, j, i, 1, &mut one, d);
                one[0]
            };
            side *= 2;
            let mut next = Raster::filled(side + 1, side + 1, 0.0);
            let set = |next: &mut Raster<f32>, c: usize, r: usize, v: f32| {
                next.as_mut_slice()[r * (side + 1) + c] = v;
            };
            for r in 0..=side / 2 {
                for c in 0..=side / 2 {
                    set(&mut next, 2 * c, 2 * r, grid.raster.row(r)[c]);
                }
            }
            for r in (1..side).step_by(2) {
                for c in (1..side).step_by(2) {
                    let mean = 0.25
                        * (next.row(r - 1)[c - 1]
                            + next.row(r - 1)[c + 1]
                            + next.row(r + 1)[c - 1]
                            + next.row(r + 1)[c + 1]);
                    set(&mut next, c, r, mean + random(c as i64, r as i64));
                }
            }
            for r in 0..=side {
                for c in ((r + 1) % 2..=side).step_by(2) {
                    let (mut sum, mut count) = (0.0, 0.0);
                    for (dc, dr) in [(-1, 0), (1, 0), (0, -1), (0, 1)] {
                        let (mut a, mut b) = (c as i64 + dc, r as i64 + dr);
                        let n = side as i64;
                        if op.edges == Edges::Wrap {
                            // The point beyond an edge is the one as far inside the other.
                            a = if a < 0 {
                                n - 1
                            } else if a > n {
                                1
                            } else {
                                a
                            };
                            b = if b < 0 {
                                n - 1
                            } else if b > n {
                                1
                            } else {
                                b
                            };
                        } else if a < 0 || b < 0 || a > n || b > n {
                            continue;
                        }
                        sum += next.row(b as usize)[a as usize];
                        count += 1.0;
                    }
                    set(&mut next, c, r, sum / count + random(c as i64, r as i64));
                }
            }
            grid.raster = next;
        }
        grid.raster
    }

    #[test]
    fn creases_are_as_sharp_as_the_page_says() {
        for (roughness, said, within) in
            [(0.3, 1.0, 0.03), (0.5, 1.05, 0.03), (0.9, 1.25, 0.05), (1.2, 1.65, 0.1), (2.0, 5.0, 0.7)]
        {
            let op = DiamondSquare { roughness, ..DiamondSquare::default() };
            // 16 x 16 first squares of 64 x 64 samples; bends along rows, on the first squares' columns and elsewhere.
            let (mut on, mut off) = ((0.0, 0.0), (0.0, 0.0));
            for seed in 0..2 {
                let frame = Frame::square(16.0 * op.wavelength_m, 1025).unwrap();
                let land = op.apply(Terrain::new(frame), &Ctx::new(Seed(seed))).unwrap();
                let height = land.get(layer::HEIGHT).unwrap();
                for (r, c) in (0..1025).flat_map(|r| (1..1024).map(move |c| (r, c))) {
                    let row = height.row(r);
                    let bend = f64::from((row[c - 1] + row[c + 1] - 2.0 * row[c]).abs());
                    let sum = if c % 64 == 0 { &mut on } else { &mut off };
                    *sum = (sum.0 + bend, sum.1 + 1.0);
                }
            }
            let sharper = on.0 / on.1 / (off.0 / off.1);
            assert!(
                (sharper - said).abs() < within,
                "{sharper} times as sharp at a roughness of {roughness}"
            );
        }
    }

    #[test]
    fn it_is_the_textbook_method() {
        for edges in [Edges::Closed, Edges::Wrap] {
            for chance in [Chance::Uniform, Chance::Gaussian] {
                let op = DiamondSquare { edges, chance, ..DiamondSquare::default() };
                let (fast, slow) = (land(&op, Frame::square(4096.0, 65).unwrap()), slow(&op, 6));
                for (a, b) in fast.as_slice().iter().zip(slow.as_slice()) {
                    assert_close!(*a, *b, abs = 1e-2);
                }
            }
        }
    }

    #[test]
    fn given_corners_are_kept() {
        let corners = [120.5, -40.0, 7.25, 900.0];
        for (bell, samples) in [(Bell::Straight, 257), (Bell::Lorentz, 129), (Bell::Gaussian, 200)] {
            let op = DiamondSquare {
                edges: Edges::Closed,
                corners_m: corners.to_vec(),
                bell,
                ..DiamondSquare::default()
            };
            let height = land(&op, Frame::square(4096.0, samples).unwrap());
            let n = samples - 1;
            let found = [height.row(0)[0], height.row(0)[n], height.row(n)[0], height.row(n)[n]];
            assert_eq!(found.map(f64::from), corners);
        }
    }

    #[test]
    fn wrapped_land_meets_itself_to_the_bit() {
        for wavelength_m in [4096.0, 700.0] {
            let op = DiamondSquare { edges: Edges::Wrap, wavelength_m, ..DiamondSquare::default() };
            let height = land(&op, Frame::square(4096.0, 257).unwrap());
            for k in 0..257 {
                assert_eq!(height.row(k)[0].to_bits(), height.row(k)[256].to_bits());
                assert_eq!(height.row(0)[k].to_bits(), height.row(256)[k].to_bits());
            }
        }
    }

    #[test]
    fn endless_land_goes_on_beyond_the_frame_and_other_land_ends_with_it() {
        let op = |edges: Edges| DiamondSquare { edges, ..DiamondSquare::default() };
        assert!(op(Edges::Endless).endless() && !op(Edges::Wrap).endless() && !op(Edges::Closed).endless());
        // The frame of the recipe changes nothing.
        let beyond = Frame::new([-9000.0, 12_345.0], [640.0; 2], [65; 2]).unwrap();
        let of = |world: Frame| {
            let ctx = Ctx::new(Seed(11)).in_world(world);
            op(Edges::Endless).apply(Terrain::new(beyond), &ctx).unwrap().get(layer::HEIGHT).unwrap().clone()
        };
        assert!(of(Frame::square(4096.0, 257).unwrap()) == of(Frame::square(500.0, 33).unwrap()));
    }

    #[test]
    fn endless_tiles_share_their_edges_to_the_bit() {
        for size in [2048.0, 1000.0] {
            for x in [0.0, -3e6] {
                let op = DiamondSquare {
                    chance: Chance::Gaussian,
                    bell: Bell::Lorentz,
                    ..DiamondSquare::default()
                };
                let west = land(&op, Frame::new([x, 512.0], [size, size], [129, 129]).unwrap());
                let east = land(&op, Frame::new([x + size, 512.0], [size, size], [129, 129]).unwrap());
                for row in 0..129 {
                    assert_eq!(west.row(row)[128].to_bits(), east.row(row)[0].to_bits(), "row {row}");
                }
            }
        }
    }

    #[test]
    fn a_finer_grid_keeps_the_heights_of_a_coarser_one() {
        let op = DiamondSquare::default();
        let coarse = land(&op, Frame::square(4096.0, 129).unwrap());
        let fine = land(&op, Frame::square(4096.0, 513).unwrap());
        for r in 0..129 {
            for c in 0..129 {
                assert_eq!(coarse.row(r)[c].to_bits(), fine.row(4 * r)[4 * c].to_bits());
            }
        }
    }

    #[test]
    fn displacements_shrink_by_the_roughness() {
        // The mean square of what a level adds falls by 2^-2r: measured by second differences at two spacings.
        let op = DiamondSquare { roughness: 0.7, wavelength_m: 4096.0, ..DiamondSquare::default() };
        let height = land(&op, Frame::square(16_384.0, 513).unwrap());
        let rough = |step: usize| {
            let (mut sum, mut n) = (0.0, 0.0);
            for r in (0..513).step_by(step) {
                for c in (step..513 - step).step_by(step) {
                    let row = height.row(r);
                    let bend = f64::from(row[c - step] + row[c + step] - 2.0 * row[c]);
                    sum += bend * bend;
                    n += 1.0;
                }
            }
            (sum / n).sqrt()
        };
        assert_close!(math::log2(rough(4) / rough(2)), 0.7, abs = 0.12);
    }

    #[test]
    fn a_narrower_bell_is_steeper_and_width_1_is_not_straight() {
        let steep = |bell, bell_width| {
            let op = DiamondSquare { bell, bell_width, ..DiamondSquare::default() };
            let height = land(&op, Frame::square(4096.0, 257).unwrap());
            let rows = (0..257).flat_map(|r| height.row(r).windows(2));
            rows.map(|pair| f64::from(pair[1] - pair[0])).map(|d| d * d).sum::<f64>().sqrt()
        };
        let straight = steep(Bell::Straight, 1.0);
        for bell in [Bell::Gaussian, Bell::Lorentz] {
            let by_width = [0.25, 0.5, 1.0, 2.0, 4.0].map(|width| steep(bell, width));
            for pair in by_width.windows(2) {
                assert!(pair[0] > pair[1], "{bell:?}: {by_width:?}");
            }
            assert!(by_width[2] > 1.002 * straight, "{by_width:?} and {straight}");
        }
    }

    #[test]
    fn both_kinds_of_chance_have_the_same_spread() {
        let spread = |draw: fn(u64) -> f32| {
            let n = 200_000;
            let values: Vec<f64> = (0..n).map(|i| f64::from(draw(Seed(5).bits(i)))).collect();
            let mean = values.iter().sum::<f64>() / n as f64;
            assert_close!(mean, 0.0, abs = 0.005);
            values.iter().map(|v| v * v).sum::<f64>() / n as f64
        };
        assert_close!(spread(uniform), 1.0 / 3.0, abs = 0.005);
        assert_close!(spread(bell_curve), 1.0 / 3.0, abs = 0.005);
    }

    #[test]
    fn corners_need_an_end_of_the_land() {
        let op = DiamondSquare { corners_m: vec![0.0; 4], ..DiamondSquare::default() };
        assert!(op.faults()[0].to_string().contains("closed"));
        let op = DiamondSquare { edges: Edges::Wrap, corners_m: vec![0.0, 1.0, 0.0, 0.0], ..op };
        assert!(op.faults()[0].to_string().contains("one point"));
    }
}
