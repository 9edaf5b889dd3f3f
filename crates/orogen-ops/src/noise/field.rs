//! A field of noise over the world: octaves, fractal, warp, stretch and period, in metres.

use std::f64::consts::SQRT_2;
use std::ops::Range;

use orogen_core::{Cancelled, Ctx, Frame, Raster, Seed, math};
use rayon::prelude::*;

use super::basis::{Basis, Distance, EvenValue, Perlin, Simplex, Value, White, Worley};
use super::fractal::{Fractal, Shape};
use super::parts::{FieldParts, OctaveParts};
use super::real::{Dual, Real};
use super::rows::{self, Axis, Into, Lie, Octave, Places, Strip, TALL, WIDE};
use crate::simd::{Level, dispatch};

/// What a field of noise looks like.
#[derive(Clone, Debug, PartialEq)]
pub struct Look {
    /// Shape of one octave.
    pub basis: Basis,
    /// Which distance Worley noise takes.
    pub distance: Distance,
    /// How octaves add up.
    pub fractal: Fractal,
    /// How many.
    pub octaves: u32,
    /// Hurst exponent: how fast octaves get lower.
    pub hurst: f64,
    /// How much smaller each octave is than the one before.
    pub lacunarity: f64,
    /// Distance between lattice points of the first octave.
    pub wavelength_m: f64,
    /// Standard deviation.
    pub amplitude_m: f64,
    /// Mean.
    pub offset_m: f64,
    /// `t` of the fractal.
    pub translate: f64,
    /// `s` of the fractal.
    pub scale: f64,
    /// How many times longer than wide features are.
    pub stretch: f64,
    /// Where the long side points, counter-clockwise from east.
    pub rotation_deg: f64,
    /// Distance after which everything repeats; 0 for never.
    pub period_m: f64,
    /// Standard deviation of the displacement of places, 0 for none.
    pub warp_m: f64,
    /// Wavelength of the displacement.
    pub warp_wavelength_m: f64,
    /// Octaves of the displacement.
    pub warp_octaves: u32,
}

/// Standard deviation of the noise that nonlinear fractals work on: what Perlin's noise within -1 to 1 has.
const CLASSIC: f64 = 0.3;

/// One octave, ready.
#[derive(Clone, Copy, Debug)]
struct Layer {
    octave: Octave,
    /// Lattice cells per metre, across and up.
    cells_per_m: [f64; 2],
    /// Where the lattice starts, in cells: without it all octaves would have their zeros in one place.
    start: [f64; 2],
    /// Cells after which it repeats, 0 for never.
    period: [u32; 2],
    weight: f32,
}

impl Layer {
    fn lies(&self) -> [Lie; 2] {
        [0, 1].map(|axis| (self.cells_per_m[axis], self.start[axis], self.period[axis]))
    }
}

/// Noise over the world as a function of place. Copies no grid: any place, window or resolution gives the same land.
#[derive(Clone, Debug)]
pub struct Field {
    basis: Basis,
    fractal: Fractal,
    shape: Shape,
    layers: Vec<Layer>,
    /// What an octave's noise is multiplied by, and what is added then.
    unit: [f32; 2],
    /// What the sum is multiplied by, and what is added then.
    last: [f32; 2],
    /// Turns and stretches world places: rows of a matrix, one for each axis of the lattices.
    turn: [[f64; 2]; 2],
    /// After how many metres it repeats, to the east and to the north; 0 for never.
    period_m: [f64; 2],
    warp: Option<Box<[Field; 2]>>,
    level: Level,
}

/// Buffers, one set for each thread.
struct StripBuffers {
    strip: Box<Strip>,
    places: Box<Places>,
    noise: Vec<f32>,
    counts: Vec<f32>,
}

impl StripBuffers {
    fn new() -> Self {
        Self {
            strip: Strip::new(),
            places: Places::new(),
            noise: vec![0.0; TALL * WIDE],
            counts: vec![0.0; TALL * WIDE],
        }
    }
}

impl Field {
    /// A field of a given look and seed.
    #[must_use]
    pub fn new(look: &Look, seed: Seed) -> Self {
        Self::repeating(look, [look.period_m; 2], seed)
    }

    /// A field over a world: over one that loops the noise does too.
    #[must_use]
    pub(crate) fn over(world: &Frame, look: &Look, seed: Seed) -> Self {
        Self::repeating(look, if world.loops() { world.size_m() } else { [0.0; 2] }, seed)
    }

    fn repeating(look: &Look, period_m: [f64; 2], seed: Seed) -> Self {
        let mut field = Self::unscaled(look, period_m, seed);
        let (mean, deviation) = if look.fractal.is_sum() {
            let squares: f64 = field.layers.iter().map(|l| f64::from(l.weight) * f64::from(l.weight)).sum();
            (0.0, CLASSIC * squares.sqrt())
        } else {
            // Mean and deviation do not depend on scale, and a plain field is quicker to measure.
            let plain = Look {
                wavelength_m: 1000.0,
                warp_m: 0.0,
                period_m: 0.0,
                stretch: 1.0,
                rotation_deg: 0.0,
                ..look.clone()
            };
            Self::unscaled(&plain, [0.0; 2], Seed(1)).measure(plain.wavelength_m)
        };
        let by = if deviation > 0.0 { look.amplitude_m / deviation } else { 0.0 };
        field.last = [by as f32, (look.offset_m - mean * by) as f32];
        if look.fractal.is_sum() {
            // A plain sum is scaled octave by octave, which saves a pass.
            let [unit, shift] = field.unit.map(f64::from);
            let weights: f64 = field.layers.iter().map(|l| f64::from(l.weight)).sum();
            field.last[1] = (look.offset_m + shift * by * weights) as f32;
            for layer in &mut field.layers {
                layer.weight = (f64::from(layer.weight) * unit * by) as f32;
            }
        }
        field
    }

    fn unscaled(look: &Look, period_m: [f64; 2], seed: Seed) -> Self {
        let even = look.fractal.takes_size();
        let [mean, deviation] = look.basis.moments(look.distance, even);
        let unit = CLASSIC / deviation;
        let [wide, high] = look.basis.cell();
        let count = if look.fractal == Fractal::None { 1 } else { look.octaves.max(1) };
        // White noise shows its cells, so they keep their sides along the stretch; and without a stretch nothing turns.
        let turned = look.rotation_deg != 0.0 && look.stretch != 1.0;
        let slanted = turned && look.basis != Basis::White;
        let layers = (0..count)
            .map(|i| {
                let bits = seed.bits(u64::from(i));
                let finer = math::pow(look.lacunarity, f64::from(i)) / look.wavelength_m;
                let mut cells_per_m = [finer / wide, finer / high];
                let mut period = [0; 2];
                if period_m[0] > 0.0 {
                    // A triangular lattice repeats after an even number of lines.
                    let lines = if look.basis == Basis::Simplex { 2 } else { 1 };
                    for (axis, (stretch, whole)) in [(look.stretch, 1), (1.0, lines)].into_iter().enumerate()
                    {
                        period[axis] = snapped(period_m[axis] * cells_per_m[axis] / stretch, whole);
                        cells_per_m[axis] = f64::from(period[axis]) / period_m[axis];
                    }
                } else if !slanted {
                    cells_per_m[0] /= look.stretch;
                }
                // Starts of 20 bits lose nothing when added to positions.
                let start = |bits: u64| (bits & 0xf_ffff) as f64 / f64::from(1 << 20);
                Layer {
                    octave: Octave {
                        seed: (bits >> 32) as u32 ^ bits as u32,
                        counts: look.distance.counts(),
                        even,
                    },
                    cells_per_m,
                    start: [start(bits >> 8), start(bits >> 36)],
                    period,
                    weight: math::pow(look.lacunarity, -look.hurst * f64::from(i)) as f32,
                }
            })
            .collect();
        let turn = match (turned, slanted) {
            (false, _) => [[1.0, 0.0], [0.0, 1.0]],
            (true, false) => rotation(look.rotation_deg),
            (true, true) => slant(look.rotation_deg, look.stretch),
        };
        let warp = (look.warp_m > 0.0).then(|| {
            let bend = Look {
                basis: Basis::Simplex,
                fractal: Fractal::Fbm,
                octaves: look.warp_octaves,
                hurst: 0.8,
                lacunarity: 2.0,
                wavelength_m: look.warp_wavelength_m,
                // Each of the two axes takes its share, so that the length has the deviation asked for.
                amplitude_m: look.warp_m / SQRT_2,
                offset_m: 0.0,
                stretch: 1.0,
                rotation_deg: 0.0,
                warp_m: 0.0,
                ..look.clone()
            };
            Box::new([Self::new(&bend, seed.child("warp x")), Self::new(&bend, seed.child("warp y"))])
        });
        Self {
            basis: look.basis,
            fractal: look.fractal,
            shape: Shape { translate: look.translate as f32, scale: look.scale as f32 },
            layers,
            unit: [unit as f32, (-mean * unit) as f32],
            last: [1.0, 0.0],
            turn,
            period_m,
            warp,
            level: Level::new(),
        }
    }

    /// The same field on another instruction set, for comparison: no bit differs.
    #[must_use]
    pub fn with_level(mut self, level: Level) -> Self {
        self.level = level;
        if let Some(warp) = self.warp.take() {
            self.warp = Some(Box::new(warp.map(|w| w.with_level(level))));
        }
        self
    }

    /// Mean and deviation of a nonlinear fractal, over places spread so that hardly two share a cell.
    fn measure(&self, wavelength_m: f64) -> (f64, f64) {
        const SIDE: u32 = 64;
        let apart = 1.618_033_988_749_895 * wavelength_m;
        let frame = Frame::new([0.0; 2], [apart * f64::from(SIDE - 1); 2], [SIDE as usize; 2]);
        let Ok(frame) = frame else { return (0.0, 1.0) };
        let values = self.raster(&frame);
        let n = f64::from(SIDE * SIDE);
        let mean = values.sum_f64() / n;
        let squares: f64 =
            values.as_slice().iter().map(|&v| (f64::from(v) - mean) * (f64::from(v) - mean)).sum();
        (mean, (squares / n).sqrt())
    }

    /// What it consists of, in plain numbers.
    #[must_use]
    pub fn parts(&self) -> FieldParts {
        let first = self.layers.first().map(|layer| layer.octave);
        FieldParts {
            basis: self.basis,
            even: first.is_some_and(|octave| octave.even),
            counts: first.map_or([0.0; 2], |octave| octave.counts),
            fractal: self.fractal,
            shape: [self.shape.translate, self.shape.scale],
            unit: self.unit,
            last: self.last,
            octaves: (self.layers.iter())
                .map(|layer| OctaveParts {
                    seed: layer.octave.seed,
                    cells_per_m: layer.cells_per_m,
                    start: layer.start,
                    period: layer.period,
                    weight: layer.weight,
                })
                .collect(),
            turn: self.turn,
            period_m: self.period_m,
            warp: self.warp.as_ref().map(|warp| Box::new([warp[0].parts(), warp[1].parts()])),
        }
    }

    /// The wavelengths of the first octave across and up, where either had to give way to the period by over 2 %.
    #[must_use]
    pub fn snapped_wavelength_m(&self, look: &Look) -> Option<[f64; 2]> {
        let period = self.layers.first()?.period;
        let (cell, stretch) = (look.basis.cell(), [look.stretch, 1.0]);
        let used = [0, 1].map(|k| look.period_m / f64::from(period[k]) / cell[k] / stretch[k]);
        let is_off = |used: &f64| (used / look.wavelength_m - 1.0).abs() > 0.02;
        (period[0] > 0 && used.iter().any(is_off)).then_some(used)
    }

    /// The noise at a place.
    #[must_use]
    pub fn at(&self, x_m: f64, y_m: f64) -> f32 {
        self.evaluate(x_m, y_m, |value, _| value)
    }

    /// The noise at a place, and its slope there: rise per metre to the east and to the north.
    ///
    /// The slope is that of the formula itself; where the land has a crease (ridges, cells) it is that of one side.
    #[must_use]
    pub fn slope_at(&self, x_m: f64, y_m: f64) -> Dual {
        self.evaluate(x_m, y_m, |value, slope| Dual { value, slope: slope.map(|s| s as f32) })
    }

    fn evaluate<R: Real>(&self, x_m: f64, y_m: f64, number: impl Fn(f32, [f64; 2]) -> R + Copy) -> R {
        let (mut x, mut y) = (wrap(x_m, self.period_m[0]), wrap(y_m, self.period_m[1]));
        // How the warped place moves with the place: the derivative of x and of y.
        let (mut by_x, mut by_y) = ([1.0, 0.0], [0.0, 1.0]);
        if let Some(warp) = &self.warp {
            let [a, b] = [warp[0].slope_at(x, y), warp[1].slope_at(x, y)];
            by_x = [1.0 + f64::from(a.slope[0]), f64::from(a.slope[1])];
            by_y = [f64::from(b.slope[0]), 1.0 + f64::from(b.slope[1])];
            (x, y) = (x + f64::from(a.value), y + f64::from(b.value));
        }
        let mut state = (R::of(self.last[1]), R::of(0.0));
        for (i, layer) in self.layers.iter().enumerate() {
            let [u, v] = self.place(layer, x, y);
            let axis = |axis: usize, at: f64| {
                let (cell, t) = rows::split_one(at, layer.period[axis]);
                let per_m = layer.cells_per_m[axis];
                let [a, b] = self.turn[axis];
                let slope = [0, 1].map(|k| (a * by_x[k] + b * by_y[k]) * per_m);
                (cell, number(t, slope), layer.period[axis])
            };
            let (across, up) = (axis(0, u), axis(1, v));
            macro_rules! one {
                ($formula:ty) => {
                    rows::one::<$formula, R>(layer.octave, across, up)
                };
            }
            let n = rows::formula_of!(self.basis, layer.octave.even, one);
            if self.fractal.is_sum() {
                state.0 = state.0 + R::of(layer.weight) * n;
                continue;
            }
            let n = R::of(self.unit[0]) * n + R::of(self.unit[1]);
            state = if i == 0 {
                self.fractal.first(self.shape, n)
            } else {
                self.fractal.next(self.shape, layer.weight, state, n)
            };
        }
        if self.fractal.is_sum() { state.0 } else { state.0 * R::of(self.last[0]) + R::of(self.last[1]) }
    }

    /// A place on the lattice of an octave, in cells.
    #[inline(always)]
    fn place(&self, layer: &Layer, x: f64, y: f64) -> [f64; 2] {
        let along = |axis: usize| {
            (self.turn[axis][0] * x + self.turn[axis][1] * y) * layer.cells_per_m[axis] + layer.start[axis]
        };
        [along(0), along(1)]
    }

    /// The noise on a whole frame.
    #[must_use]
    pub fn raster(&self, frame: &Frame) -> Raster<f32> {
        let mut raster = Raster::filled(frame.cols(), frame.rows(), 0.0);
        // There is no watcher, so it cannot be cancelled.
        let _ = self.fill(frame, raster.as_mut_slice(), &Ctx::silent());
        raster
    }

    /// The noise on a whole frame, row by row into `out`. Writes 4 bytes a sample.
    ///
    /// # Errors
    /// When cancelled.
    pub fn fill(&self, frame: &Frame, out: &mut [f32], ctx: &Ctx<'_>) -> Result<(), Cancelled> {
        let cols = frame.cols();
        let xs: Vec<f64> = (0..cols).map(|col| wrap(frame.x_m(col), self.period_m[0])).collect();
        let counter = ctx.counter(frame.rows().div_ceil(TALL));
        let straight = self.warp.is_none() && self.turn[0][1] == 0.0;
        // The first axis of the lattices does not change along a row.
        let slanted = self.warp.is_none() && self.turn[0][0] == 0.0;
        let columns = if straight { self.columns(&xs) } else { Vec::new() };
        let bent: Vec<Vec<Axis>> = self.warp.iter().flat_map(|w| w.iter()).map(|w| w.columns(&xs)).collect();
        out.par_chunks_mut(cols * TALL).enumerate().try_for_each_init(
            StripBuffers::new,
            |buffers, (i, out)| {
                let ys: Vec<f64> = (i * TALL..i * TALL + out.len() / cols)
                    .map(|row| wrap(frame.y_m(row), self.period_m[1]))
                    .collect();
                if straight {
                    self.straight(&columns, &ys, out, buffers);
                } else {
                    let mut bends = [Vec::new(), Vec::new()];
                    for ((bend, columns), warp) in
                        bends.iter_mut().zip(&bent).zip(self.warp.iter().flat_map(|w| w.iter()))
                    {
                        bend.resize(out.len(), 0.0);
                        warp.straight(columns, &ys, bend, buffers);
                    }
                    for (row, (&y, out)) in ys.iter().zip(out.chunks_mut(cols)).enumerate() {
                        let bend = |axis: usize| bends[axis].get(row * cols..(row + 1) * cols);
                        self.anywhere(&xs, y, bend(0).zip(bend(1)), slanted, out, buffers);
                    }
                }
                counter.done()
            },
        )
    }

    /// The field on the samples of a frame, for callers that take it in blocks: octaves that add up, on rows that run along their
    /// lattices.
    pub(crate) fn blocks(&self, frame: &Frame) -> Blocks<'_> {
        debug_assert!(self.warp.is_none() && self.turn[0][1] == 0.0 && self.fractal.is_sum());
        let xs: Vec<f64> = (0..frame.cols()).map(|col| wrap(frame.x_m(col), self.period_m[0])).collect();
        Blocks { field: self, frame: *frame, columns: self.columns(&xs) }
    }

    /// Cells and shares of the columns in each octave.
    fn columns(&self, xs: &[f64]) -> Vec<Axis> {
        let mut positions = vec![0.0; xs.len()];
        let one = |layer: &Layer| {
            for (at, &x) in positions.iter_mut().zip(xs) {
                *at = self.place(layer, x, 0.0)[0];
            }
            let mut axis = Axis::default();
            rows::split(self.level, &positions, layer.period[0], &mut axis);
            axis
        };
        self.layers.iter().map(one).collect()
    }

    /// Cells and shares of some rows in each octave.
    fn lines(&self, ys: &[f64]) -> Vec<Axis> {
        let mut lines = Axis::default();
        let one = |layer: &Layer| {
            let positions: Vec<f64> = ys.iter().map(|&y| self.place(layer, 0.0, y)[1]).collect();
            rows::split(self.level, &positions, layer.period[1], &mut lines);
            lines.clone()
        };
        self.layers.iter().map(one).collect()
    }

    /// A few rows whose columns keep their place on the lattice.
    fn straight(&self, columns: &[Axis], ys: &[f64], out: &mut [f32], buffers: &mut StripBuffers) {
        let Some(cols) = columns.first().map(|axis| axis.t.len()) else { return };
        let rows = self.lines(ys);
        for from in (0..cols).step_by(WIDE) {
            let to = cols.min(from + WIDE);
            for (i, layer) in self.layers.iter().enumerate() {
                let (x, y) = (&columns[i], &rows[i]);
                let (x, y) =
                    ((&x.cell[from..to], &x.t[from..to], x.period), (&y.cell[..], &y.t[..], y.period));
                if self.fractal.is_sum() {
                    let into =
                        if i == 0 { Into::set(layer.weight, self.last[1]) } else { Into::add(layer.weight) };
                    let (strip, out) = (&mut buffers.strip, &mut out[from..]);
                    rows::block(self.level, self.basis, layer.octave, x, y, into, strip, out, cols);
                    continue;
                }
                let into = Into::set(self.unit[0], self.unit[1]);
                let (strip, noise) = (&mut buffers.strip, &mut buffers.noise[..]);
                rows::block(self.level, self.basis, layer.octave, x, y, into, strip, noise, WIDE);
                for row in 0..ys.len() {
                    let sums = &mut out[row * cols..][from..to];
                    let n = to - from;
                    let (counts, noise) =
                        (&mut buffers.counts[row * WIDE..][..n], &buffers.noise[row * WIDE..][..n]);
                    self.add_octave(i, sums, counts, noise);
                }
            }
        }
        if !self.fractal.is_sum() {
            self.finish(out);
        }
    }

    /// One row of places that lie anywhere.
    fn anywhere(
        &self,
        xs: &[f64],
        y: f64,
        bends: Option<(&[f32], &[f32])>,
        slanted: bool,
        out: &mut [f32],
        buffers: &mut StripBuffers,
    ) {
        let StripBuffers { strip, places, noise, counts } = buffers;
        for from in (0..xs.len()).step_by(WIDE) {
            let to = xs.len().min(from + WIDE);
            let part = bends.map(|(dx, dy)| (&dx[from..to], &dy[from..to]));
            places.set(self.level, &xs[from..to], y, part, self.turn);
            let sums = &mut out[from..to];
            for (i, layer) in self.layers.iter().enumerate() {
                let (level, basis, lies) = (self.level, self.basis, layer.lies());
                let mut octave = |into: Into, out: &mut [f32]| {
                    if slanted {
                        let column = rows::split_one(self.place(layer, 0.0, y)[0], 0);
                        rows::slant(level, basis, layer.octave, column, places, lies[1], into, strip, out);
                    } else {
                        rows::places(level, basis, layer.octave, places, lies, into, out);
                    }
                };
                if self.fractal.is_sum() {
                    let first = Into::set(layer.weight, self.last[1]);
                    octave(if i == 0 { first } else { Into::add(layer.weight) }, sums);
                    continue;
                }
                let (counts, noise) = (&mut counts[..to - from], &mut noise[..to - from]);
                octave(Into::set(self.unit[0], self.unit[1]), noise);
                self.add_octave(i, sums, counts, noise);
            }
        }
        if !self.fractal.is_sum() {
            self.finish(out);
        }
    }

    fn add_octave(&self, i: usize, sums: &mut [f32], counts: &mut [f32], noise: &[f32]) {
        let (fractal, shape, weight) = (self.fractal, self.shape, self.layers[i].weight);
        dispatch!(self.level, _simd => fractal.add_row(shape, i == 0, weight, sums, counts, noise));
    }

    fn finish(&self, out: &mut [f32]) {
        let [by, plus] = self.last;
        for value in out {
            *value = *value * by + plus;
        }
    }
}

/// A field on the samples of a frame, made in blocks of at most [`Blocks::TALL`] rows and [`Blocks::WIDE`] columns.
pub(crate) struct Blocks<'a> {
    field: &'a Field,
    frame: Frame,
    columns: Vec<Axis>,
}

/// Where some rows lie on the lattices of a field.
pub(crate) struct BlockRows(Vec<Axis>);

/// Room to work in, for one thread.
pub(crate) struct BlockRoom(Box<Strip>);

impl BlockRoom {
    pub fn new() -> Self {
        Self(Strip::new())
    }
}

impl Blocks<'_> {
    pub const WIDE: usize = WIDE;
    pub const TALL: usize = TALL;

    /// Rows to make blocks of.
    pub fn rows(&self, rows: Range<usize>) -> BlockRows {
        let ys: Vec<f64> = rows.map(|row| wrap(self.frame.y_m(row), self.field.period_m[1])).collect();
        BlockRows(self.field.lines(&ys))
    }

    /// The field on some columns of these rows, into `out`, whose rows start [`Blocks::WIDE`] apart.
    pub fn fill(&self, rows: &BlockRows, room: &mut BlockRoom, cols: Range<usize>, out: &mut [f32]) {
        let field = self.field;
        for (i, layer) in field.layers.iter().enumerate() {
            let (x, y) = (&self.columns[i], &rows.0[i]);
            let x = (&x.cell[cols.clone()], &x.t[cols.clone()], x.period);
            let y = (&y.cell[..], &y.t[..], y.period);
            let into = if i == 0 { Into::set(layer.weight, field.last[1]) } else { Into::add(layer.weight) };
            rows::block(field.level, field.basis, layer.octave, x, y, into, &mut room.0, out, WIDE);
        }
    }
}

/// Rows of the matrix that turns the long side to the first axis.
fn rotation(angle_deg: f64) -> [[f64; 2]; 2] {
    let (sin, cos) = (math::sin(angle_deg.to_radians()), math::cos(angle_deg.to_radians()));
    [[cos, sin], [-sin, cos]]
}

/// Rows of a matrix that stretches as turning and stretching does, but keeps the first axis along the rows.
///
/// Noise that is alike in all directions does not change its looks when its own lattice is turned. So of all lattices that
/// stretch to the same looks, this takes the one with a column along each row of samples: turned land costs little more
/// than land that is not turned. With M the matrix that turns and stretches, any L with LᵀL = MᵀM will do.
fn slant(angle_deg: f64, stretch: f64) -> [[f64; 2]; 2] {
    let [[cos, sin], [minus_sin, _]] = rotation(angle_deg);
    let (along, across) = ([cos / stretch, sin / stretch], [minus_sin, cos]);
    let by_x = math::hypot(along[0], across[0]);
    let by_y = (along[0] * along[1] + across[0] * across[1]) / by_x;
    [[0.0, 1.0 / (stretch * by_x)], [by_x, by_y]]
}

/// Whole cells in a period: at least `whole`, and a multiple of it.
fn snapped(cells: f64, whole: u32) -> u32 {
    let whole = f64::from(whole);
    ((cells / whole).round().clamp(1.0, 1e9) * whole) as u32
}

/// A place within its period. Rounded to 2^-40 of it, so that sample positions that differ in the last bit after one
/// turn are one place.
pub(super) fn wrap(x_m: f64, period_m: f64) -> f64 {
    const STEPS: f64 = (1u64 << 40) as f64;
    if period_m == 0.0 {
        return x_m;
    }
    let turns = x_m / period_m;
    let share = ((turns - turns.floor()) * STEPS).round() / STEPS;
    if share >= 1.0 { 0.0 } else { share * period_m }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look() -> Look {
        Look {
            basis: Basis::Perlin,
            distance: Distance::F1,
            fractal: Fractal::Fbm,
            octaves: 4,
            hurst: 0.8,
            lacunarity: 2.0,
            wavelength_m: 700.0,
            amplitude_m: 1.0,
            offset_m: 0.0,
            translate: 0.0,
            scale: 1.0,
            stretch: 1.0,
            rotation_deg: 0.0,
            period_m: 0.0,
            warp_m: 0.0,
            warp_wavelength_m: 1.0,
            warp_octaves: 1,
        }
    }

    #[test]
    fn over_a_world_that_loops_it_does_too_and_blocks_have_its_bits() {
        let world = Frame::new([-300.0, 77.0], [10_000.0, 4000.0], [201, 81]).unwrap().looped();
        let field = Field::over(&world, &look(), Seed(5));
        let all = field.raster(&world);
        assert!((0..201).all(|col| (all.row(0)[col] - all.row(80)[col]).abs() < 1e-4));
        assert!((0..81).all(|row| (all.row(row)[0] - all.row(row)[200]).abs() < 1e-4));
        assert!(all.row(9).iter().any(|v| v.abs() > 0.1));
        let blocks = field.blocks(&world);
        let (rows, mut room) = (blocks.rows(40..70), BlockRoom::new());
        let mut out = vec![0.0; Blocks::TALL * Blocks::WIDE];
        for from in [0, Blocks::WIDE] {
            let cols = from..201.min(from + Blocks::WIDE);
            blocks.fill(&rows, &mut room, cols.clone(), &mut out);
            for row in 40..70 {
                let here = &out[(row - 40) * Blocks::WIDE..][..cols.len()];
                assert_eq!(here, &all.row(row)[cols.clone()]);
                let place = field.at(world.x_m(from), world.y_m(row));
                assert_eq!(place.to_bits(), here[0].to_bits());
            }
        }
    }
}
