//! Faults: land that breaks along random lines, again and again.

use orogen_core::param::Fault as ParamFault;
use orogen_core::{
    Cancelled, Ctx, Frame, Layers, Op, OpError, Prepared, Raster, Reach, Seed, Terrain, layer, math,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How land moves on the two sides of a fault, `t` metres from it, in units of the offset.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Profile {
    /// One side up, the other down, with a cliff between.
    Step,
    /// One side up, the other down, along a sine of the fault's width.
    #[default]
    Sine,
    /// A ridge or a trench along the fault, a wave of a cosine; land further away stays.
    Cosine,
    /// A cliff that fades away on both sides; land further away stays.
    CutOff,
}

/// Breaks flat land along random lines: one side of each fault goes up, the other down, by less each time.
///
/// A fault runs through two random places of the frame. Land at a signed distance `t` from fault `i` moves by
///
/// ```text
/// ± d(i) · f(t / width_m)                 d(i) = offset_m + (final_offset_m − offset_m) · i / faults
///
/// step     f(s) = sgn s
/// sine     f(s) = (3s − s³)/2             the sine of a quarter wave, -1 and 1 beyond
/// cosine   f(s) = 1 − 3s² + 2|s|³         the cosine of a half wave, 0 beyond
/// cut_off  f(s) = sgn s · (1 − 3s² + 2|s|³)
/// ```
///
/// and `smooth_m` is a low-pass filter: every profile is averaged over that distance across its fault, which does to
/// the land what a filter over the raster would, without one.
///
/// **How it is fast** Along a row of samples every profile is a few polynomials. Each fault adds their differences
/// where they begin and end, and one sweep over the row sums them: the work is faults × rows, not faults × samples.
/// Sums are whole numbers, so that they are exact and any window has the same bits as the whole.
///
/// **Guarantees** (1) Faults balance: up and down have equal shares, and land is 0 on average over seeds. (2) A sample
/// depends on the seed, the recipe's frame and its own place. (3) The steepest step of one fault is at most 2 d. (4) It
/// holds nothing but the land and a few rows.
///
/// **Limits** Sine and cosine are cubics that stay within 2 % of the offset from the curves of that name, with the same
/// ends and slopes. The faults are those of one frame: a larger frame has other faults.
///
/// **After** Shankel, "Fractal terrain generation: fault formation", Game Programming Gems, 2000, and the variations
/// that Liarokapis, "Terrain generation", Masaryk University 2016, shows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Faults {
    /// Number of faults.
    #[schemars(range(min = 0, max = 100_000), extend("x-slider" = [10, 6000]))]
    pub faults: u32,
    /// How far the first fault moves the land on either side.
    #[schemars(range(min = 0.0, max = 10_000.0), extend("x-unit" = "m", "x-slider" = [1.0, 100.0]))]
    pub offset_m: f64,
    /// How far the last fault moves it.
    #[schemars(range(min = 0.0, max = 10_000.0), extend("x-unit" = "m", "x-slider" = [0.0, 20.0]))]
    pub final_offset_m: f64,
    /// How land moves on the two sides.
    pub profile: Profile,
    /// Distance from the fault at which its profile ends; a step has none.
    #[schemars(range(min = 0.01, max = 1e6), extend("x-unit" = "m", "x-slider" = [10.0, 1000.0]))]
    pub width_m: f64,
    /// Length of the low-pass filter; 0 filters nothing.
    #[schemars(range(min = 0.0, max = 1e5), extend("x-unit" = "m", "x-slider" = [0.0, 200.0]))]
    pub smooth_m: f64,
    /// Height of the land before it breaks.
    #[schemars(range(min = -20_000.0, max = 20_000.0), extend("x-unit" = "m", "x-slider" = [-500.0, 1000.0]))]
    pub level_m: f64,
}

impl Default for Faults {
    fn default() -> Self {
        Self {
            faults: 3000,
            offset_m: 18.0,
            final_offset_m: 0.5,
            profile: Profile::Sine,
            width_m: 110.0,
            smooth_m: 0.0,
            level_m: 100.0,
        }
    }
}

impl Op for Faults {
    const ID: &'static str = "source.faults";
    const VERSION: u32 = 1;

    fn layers(&self) -> Layers {
        Layers::none().writing([layer::HEIGHT.name()])
    }

    fn reach(&self, _: &Frame) -> Reach {
        Reach::Point
    }

    fn faults(&self) -> Vec<ParamFault> {
        if self.final_offset_m > self.offset_m {
            let message = format!("{} is above offset_m ({})", self.final_offset_m, self.offset_m);
            return vec![ParamFault::of("final_offset_m", message)];
        }
        Vec::new()
    }

    fn prepare(&self, world: &Frame, ctx: &Ctx<'_>) -> Result<Option<Box<dyn Prepared>>, OpError> {
        Ok(Some(Box::new(Drawn::new(self, world, ctx.seed()))))
    }

    fn run(&self, terrain: Terrain, ctx: &Ctx<'_>) -> Result<Terrain, OpError> {
        Drawn::new(self, &ctx.world(&terrain), ctx.seed()).run(terrain, ctx)
    }
}

/// A fault: land at p lies at the distance `normal · (p − middle) − across_m` from it. It always faces east.
struct Line {
    normal: [f64; 2],
    across_m: f64,
    /// Offset, with the side that goes up as its sign.
    offset_m: f64,
}

fn lines(params: &Faults, world: &Frame, seed: Seed) -> Vec<Line> {
    let size = world.extent().size();
    let own_seed = seed.child("faults");
    (0..u64::from(params.faults))
        .map(|i| {
            let u = |k: u64| own_seed.unit(5 * i + k) - 0.5;
            let (p, q) = ([u(0) * size[0], u(1) * size[1]], [u(2) * size[0], u(3) * size[1]]);
            let (dx, dy) = (q[0] - p[0], q[1] - p[1]);
            let length = math::hypot(dx, dy).max(1e-9);
            let mut normal = [dy / length, -dx / length];
            if normal[0] < 0.0 {
                normal = [-normal[0], -normal[1]];
            }
            // A fault that runs due east never crosses a row; a hair of slant spares a special case.
            normal[0] = normal[0].max(1e-12);
            let share = i as f64 / f64::from(params.faults);
            let d = params.offset_m + (params.final_offset_m - params.offset_m) * share;
            let offset_m = if own_seed.bits(5 * i + 4) & 1 == 0 { d } else { -d };
            Line { normal, across_m: normal[0] * p[0] + normal[1] * p[1], offset_m }
        })
        .collect()
}

/// Coefficients of a polynomial.
type Poly = [f64; 5];

/// A stretch of a profile: from `start_m` on, a polynomial of the distance past it.
#[derive(Clone, Copy, Debug)]
struct Piece {
    start_m: f64,
    poly: Poly,
    /// Whether all but the first coefficient are 0.
    flat: bool,
}

/// The polynomial about a place `by` further on.
fn shifted(p: &Poly, by: f64) -> Poly {
    let mut q = *p;
    // Horner's scheme, again and again: each round fixes one coefficient.
    for fixed in 0..4 {
        for k in (fixed..4).rev() {
            q[k] += q[k + 1] * by;
        }
    }
    q
}

/// The profile as pieces; the first begins at minus infinity, and its place is that of the second.
fn pieces(params: &Faults) -> Vec<Piece> {
    let w = params.width_m;
    let (w2, w3) = (w * w, w * w * w);
    let flat = |v: f64| [v, 0.0, 0.0, 0.0, 0.0];
    // Each about its own beginning, in metres.
    let rise = [0.0, 0.0, 3.0 / w2, -2.0 / w3, 0.0]; // 0 to 1 over w
    let fall = [1.0, 0.0, -3.0 / w2, 2.0 / w3, 0.0];
    let minus = |p: Poly| p.map(|c| -c);
    let plain: Vec<(f64, Poly)> = match params.profile {
        Profile::Step => vec![(0.0, flat(-1.0)), (0.0, flat(1.0))],
        Profile::Sine => {
            let sine = [-1.0, 0.0, 1.5 / w2, -0.5 / w3, 0.0];
            vec![(-w, flat(-1.0)), (-w, sine), (w, flat(1.0))]
        }
        Profile::Cosine => vec![(-w, flat(0.0)), (-w, rise), (0.0, fall), (w, flat(0.0))],
        Profile::CutOff => vec![(-w, flat(0.0)), (-w, minus(rise)), (0.0, fall), (w, flat(0.0))],
    };
    let half = 0.5 * params.smooth_m;
    let filtered = if half > 0.0 { average(&plain, half) } else { plain };
    filtered
        .into_iter()
        .map(|(start_m, poly)| Piece { start_m, poly, flat: poly[1..].iter().all(|&c| c == 0.0) })
        .collect()
}

/// Pieces averaged over `half` metres to either side: `(F(t + half) − F(t − half)) / 2half`, F the integral.
fn average(plain: &[(f64, Poly)], half: f64) -> Vec<(f64, Poly)> {
    // Integrals, joined end to end; the first and last pieces are flat.
    let mut level = 0.0;
    let mut integrals: Vec<(f64, Poly)> = Vec::new();
    for (k, &(start, p)) in plain.iter().enumerate() {
        if k >= 2 {
            let (before, q) = integrals[k - 1];
            level = shifted(&q, start - before)[0];
        }
        integrals.push((start, [level, p[0], p[1] / 2.0, p[2] / 3.0, p[3] / 4.0]));
    }
    let at = |t: f64| {
        let k = integrals.iter().skip(1).rposition(|(start, _)| *start <= t).map_or(0, |k| k + 1);
        shifted(&integrals[k].1, t - integrals[k].0)
    };
    let mut starts: Vec<f64> =
        plain[1..].iter().flat_map(|(start, _)| [start - half, start + half]).collect();
    starts.sort_by(f64::total_cmp);
    starts.dedup();
    let mut found = vec![(starts[0], plain[0].1)];
    for (k, &start) in starts.iter().enumerate() {
        if k + 1 == starts.len() {
            found.push((start, plain[plain.len() - 1].1));
            break;
        }
        // Which pieces apply is settled in the middle of the stretch, where rounding cannot matter.
        let middle = 0.5 * (start + starts[k + 1]);
        let (high, low) = (at(middle + half), at(middle - half));
        let about_middle: Poly = std::array::from_fn(|c| (high[c] - low[c]) / (2.0 * half));
        found.push((start, shifted(&about_middle, start - middle)));
    }
    found
}

/// Columns after which a polynomial is started again from its fault, so that rounding cannot grow.
const STRETCH: i64 = 256;

/// A polynomial on a row as whole numbers: the value at a sample and its differences to the fourth.
type State = [i64; 5];

/// The state `n` samples further on. Numbers may wrap on the way; what is summed in the end does not.
fn advanced(s: &State, n: i64) -> State {
    let c1 = n;
    let c2 = n * (n - 1) / 2;
    let c3 = c2 * (n - 2) / 3;
    let c4 = c3 * (n - 3) / 4;
    let times = |a: i64, b: i64| a.wrapping_mul(b);
    [
        s[0].wrapping_add(times(s[1], c1))
            .wrapping_add(times(s[2], c2))
            .wrapping_add(times(s[3], c3))
            .wrapping_add(times(s[4], c4)),
        s[1].wrapping_add(times(s[2], c1)).wrapping_add(times(s[3], c2)).wrapping_add(times(s[4], c3)),
        s[2].wrapping_add(times(s[3], c1)).wrapping_add(times(s[4], c2)),
        s[3].wrapping_add(times(s[4], c1)),
        s[4],
    ]
}

/// The algorithm alone. Moves 4 bytes a sample and costs a few steps a fault and row.
///
/// # Errors
/// When cancelled.
pub fn faults(
    params: &Faults,
    frame: &Frame,
    world: &Frame,
    ctx: &Ctx<'_>,
) -> Result<Raster<f32>, Cancelled> {
    Drawn::new(params, world, ctx.seed()).heights(frame, ctx)
}

/// All faults, which no window changes.
struct Drawn {
    lines: Vec<Line>,
    pieces: Vec<Piece>,
    middle: [f64; 2],
    scale: f64,
    level_m: f64,
}

impl Drawn {
    fn new(params: &Faults, world: &Frame, seed: Seed) -> Self {
        let lines = lines(params, world, seed);
        let extent = world.extent();
        let middle = [0.5 * (extent.min[0] + extent.max[0]), 0.5 * (extent.min[1] + extent.max[1])];
        // Whole numbers of such a unit that not even all faults together leave 64 bits.
        let most: f64 = lines.iter().map(|line| line.offset_m.abs()).sum::<f64>().max(1e-3);
        let scale = math::exp2(60.0 - math::log2(most).ceil());
        Self { lines, pieces: pieces(params), middle, scale, level_m: params.level_m }
    }

    fn heights(&self, frame: &Frame, ctx: &Ctx<'_>) -> Result<Raster<f32>, Cancelled> {
        let Self { lines, pieces, middle, scale, level_m } = self;
        let (cols, spacing) = (frame.cols(), frame.spacing_m()[0]);
        let west = frame.lattice(0, 0).0;
        // The place of lattice column 0, which all windows agree on.
        let anchor = frame.window(-west, 0, 1, 1).x_m(0) - middle[0];
        let counter = ctx.counter(frame.rows());
        let mut out = Raster::filled(cols, frame.rows(), 0.0f32);
        out.try_par_rows(|row, values| {
            let y = frame.y_m(row) - middle[1];
            let mut sums = RowSums { west, value: vec![0; cols + 1], more: Vec::new() };
            for line in lines {
                let at_anchor = line.normal[0] * anchor + line.normal[1] * y - line.across_m;
                sums.add(line, pieces, at_anchor, line.normal[0] * spacing, *scale);
            }
            sums.sweep(values, *level_m, 1.0 / scale);
            counter.done()
        })?;
        Ok(out)
    }
}

impl Prepared for Drawn {
    fn run(&self, mut terrain: Terrain, ctx: &Ctx<'_>) -> Result<Terrain, OpError> {
        let height = self.heights(terrain.frame(), ctx)?;
        terrain.set(layer::HEIGHT, height);
        Ok(terrain)
    }
}

/// What begins and ends at each sample of a row.
struct RowSums {
    west: i64,
    /// Steps of the value itself.
    value: Vec<i64>,
    /// Steps of its differences, once there are any.
    more: Vec<[i64; 4]>,
}

impl RowSums {
    /// Adds a fault that lies `at_anchor` metres from lattice column 0, and `step` metres further each column.
    fn add(&mut self, line: &Line, pieces: &[Piece], at_anchor: f64, step: f64, scale: f64) {
        let end = self.west + self.value.len() as i64 - 1;
        let unit = line.offset_m * scale;
        let inverse = 1.0 / step;
        let column = |start_m: f64| ((start_m - at_anchor) * inverse).ceil() as i64;
        let mut from = i64::MIN;
        for (k, piece) in pieces.iter().enumerate() {
            let upto = pieces.get(k + 1).map_or(i64::MAX, |next| column(next.start_m));
            let (a, b) = (from.max(self.west), upto.min(end));
            if a < b {
                if piece.flat {
                    self.flat((unit * piece.poly[0]) as i64, a, b);
                } else {
                    self.curve(piece, (at_anchor, step), unit, (from, upto), (a, b));
                }
            }
            if upto >= end {
                break;
            }
            from = from.max(upto);
        }
    }

    fn flat(&mut self, value: i64, a: i64, b: i64) {
        let (a, b) = ((a - self.west) as usize, (b - self.west) as usize);
        self.value[a] = self.value[a].wrapping_add(value);
        self.value[b] = self.value[b].wrapping_sub(value);
    }

    fn curve(
        &mut self,
        piece: &Piece,
        (at_anchor, step): (f64, f64),
        unit: f64,
        (from, upto): (i64, i64),
        (a, b): (i64, i64),
    ) {
        if self.more.is_empty() {
            self.more.resize(self.value.len(), [0; 4]);
        }
        let mut stretch = a.div_euclid(STRETCH) * STRETCH;
        while stretch < b {
            let begin = stretch.max(from);
            let stop = (stretch + STRETCH).min(upto);
            let (p, q) = (begin.max(a), stop.min(b));
            if p < q {
                let state = begun(&piece.poly, at_anchor + begin as f64 * step - piece.start_m, step, unit);
                self.impulse(&advanced(&state, p - begin), p, 1);
                self.impulse(&advanced(&state, q - begin), q, -1);
            }
            stretch += STRETCH;
        }
    }

    fn impulse(&mut self, state: &State, at: i64, sign: i64) {
        let k = (at - self.west) as usize;
        self.value[k] = self.value[k].wrapping_add(sign.wrapping_mul(state[0]));
        for (sum, d) in self.more[k].iter_mut().zip(&state[1..]) {
            *sum = sum.wrapping_add(sign.wrapping_mul(*d));
        }
    }

    fn sweep(&self, out: &mut [f32], level_m: f64, unit_m: f64) {
        let mut value = 0i64;
        if self.more.is_empty() {
            for (out, step) in out.iter_mut().zip(&self.value) {
                value = value.wrapping_add(*step);
                *out = (level_m + value as f64 * unit_m) as f32;
            }
            return;
        }
        let mut d = [0i64; 4];
        for ((out, step), more) in out.iter_mut().zip(&self.value).zip(&self.more) {
            value = value.wrapping_add(*step);
            for k in 0..4 {
                d[k] = d[k].wrapping_add(more[k]);
            }
            *out = (level_m + value as f64 * unit_m) as f32;
            value = value.wrapping_add(d[0]);
            d[0] = d[0].wrapping_add(d[1]);
            d[1] = d[1].wrapping_add(d[2]);
            d[2] = d[2].wrapping_add(d[3]);
        }
    }
}

/// The state of a polynomial at a place, for samples `step` apart.
fn begun(poly: &Poly, at: f64, step: f64, unit: f64) -> State {
    let p = shifted(poly, at);
    let mut power = unit;
    let b: Poly = std::array::from_fn(|k| {
        let c = p[k] * power;
        power *= step;
        c
    });
    [
        b[0] as i64,
        (b[1] + b[2] + b[3] + b[4]) as i64,
        (2.0 * b[2] + 6.0 * b[3] + 14.0 * b[4]) as i64,
        (6.0 * b[3] + 36.0 * b[4]) as i64,
        (24.0 * b[4]) as i64,
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use orogen_core::testkit::assert_close;

    const PROFILES: [Profile; 4] = [Profile::Step, Profile::Sine, Profile::Cosine, Profile::CutOff];

    fn profile(params: &Faults, t: f64) -> f64 {
        let s = t / params.width_m;
        let wave = |s: f64| if s.abs() < 1.0 { 1.0 - 3.0 * s * s + 2.0 * s.abs() * s * s } else { 0.0 };
        let side = if s >= 0.0 { 1.0 } else { -1.0 };
        match params.profile {
            Profile::Step => side,
            Profile::Sine => {
                let s = s.clamp(-1.0, 1.0);
                1.5 * s - 0.5 * s * s * s
            }
            Profile::Cosine => wave(s),
            Profile::CutOff => side * wave(s),
        }
    }

    /// The mean of the profile over the filter by quadrature: exact, as Gauss's rule of two places is for a cubic and
    /// stretches end where the profile has its kinks and jumps.
    fn filtered(params: &Faults, t: f64) -> f64 {
        if params.smooth_m == 0.0 {
            return profile(params, t);
        }
        let (from, upto) = (t - 0.5 * params.smooth_m, t + 0.5 * params.smooth_m);
        let mut ends = vec![from, upto];
        ends.extend([-params.width_m, 0.0, params.width_m].into_iter().filter(|k| from < *k && *k < upto));
        ends.sort_by(f64::total_cmp);
        let integral: f64 = ends
            .windows(2)
            .map(|end| {
                let (middle, half) = (0.5 * (end[0] + end[1]), 0.5 * (end[1] - end[0]));
                let off = half / 3f64.sqrt();
                half * (profile(params, middle - off) + profile(params, middle + off))
            })
            .sum();
        integral / params.smooth_m
    }

    fn land(params: &Faults, frame: &Frame, seed: u64) -> Raster<f32> {
        faults(params, frame, frame, &Ctx::new(Seed(seed))).unwrap()
    }

    #[test]
    fn sweeping_gives_what_summing_every_fault_at_every_sample_gives() {
        let frame = Frame::new([5e5, -2e5], [3000.0, 2000.0], [301, 101]).unwrap();
        for profile_of in PROFILES {
            for smooth_m in [0.0, 70.0, 900.0] {
                let params = Faults {
                    faults: 150,
                    profile: profile_of,
                    width_m: 333.0,
                    smooth_m,
                    ..Faults::default()
                };
                let fast = land(&params, &frame, 3);
                let extent = frame.extent();
                let middle = [0.5 * (extent.min[0] + extent.max[0]), 0.5 * (extent.min[1] + extent.max[1])];
                for (row, col) in (0..101).step_by(7).flat_map(|r| (0..301).step_by(11).map(move |c| (r, c)))
                {
                    let (x, y) = (frame.x_m(col) - middle[0], frame.y_m(row) - middle[1]);
                    let mut slow = params.level_m;
                    for line in lines(&params, &frame, Seed(3)) {
                        let t = line.normal[0] * x + line.normal[1] * y - line.across_m;
                        slow += line.offset_m * filtered(&params, t);
                    }
                    // Offsets add up to some 3000 m; what is left is the rounding of a 32-bit height.
                    assert_close!(fast.row(row)[col], slow, abs = 2e-3);
                }
            }
        }
    }

    #[test]
    fn faults_balance() {
        // Over many seeds: as many samples above the level as below, and a mean of zero.
        let frame = Frame::square(4000.0, 33).unwrap();
        for profile in PROFILES {
            let params = Faults { faults: 60, profile, level_m: 0.0, width_m: 800.0, ..Faults::default() };
            let (mut sum, mut squares, mut up, mut n) = (0.0, 0.0, 0.0, 0.0);
            for seed in 0..300 {
                let height = land(&params, &frame, seed);
                let mean = height.sum_f64() / 1089.0;
                sum += mean;
                squares += mean * mean;
                up += height.as_slice().iter().filter(|h| **h > 0.0).count() as f64 / 1089.0;
                n += 1.0;
            }
            let error = (squares / n).sqrt() / f64::sqrt(n);
            assert!((sum / n).abs() < 3.5 * error, "{profile:?}: mean {} ± {error}", sum / n);
            assert_close!(up / n, 0.5, abs = 0.06);
        }
    }

    #[test]
    fn one_step_has_two_levels_and_offsets_fall() {
        let frame = Frame::square(1000.0, 65).unwrap();
        let params =
            Faults { faults: 1, offset_m: 8.0, profile: Profile::Step, level_m: 3.0, ..Faults::default() };
        let height = land(&params, &frame, 1);
        assert!(height.as_slice().iter().all(|h| *h == 11.0 || *h == -5.0));
        let many = lines(&Faults::default(), &frame, Seed(1));
        assert!(many.windows(2).all(|w| w[1].offset_m.abs() < w[0].offset_m.abs()));
    }

    #[test]
    fn the_filter_softens_cliffs() {
        let frame = Frame::square(4096.0, 257).unwrap();
        let steep = |smooth_m: f64| {
            let params = Faults { profile: Profile::Step, smooth_m, ..Faults::default() };
            let height = land(&params, &frame, 2);
            height
                .as_slice()
                .chunks(257)
                .flat_map(|row| row.windows(2).map(|w| (w[1] - w[0]).abs()))
                .fold(0.0f32, f32::max)
        };
        assert!(steep(300.0) < 0.4 * steep(0.0));
    }
}
