//! What the sky and the ground give each cell for a few steps: rain, softness, settling, evaporation.

use std::ops::Range;

use orogen_core::param::Field;
use orogen_core::{Coef, Frame, Raster, Terrain, math};

use super::laws::{exp2, larger, smaller};
use super::tiles::Fixed;
use super::{Pipes, Spring};

/// How much rarer, and larger, single drops are than rain that is spread out.
const DROP: f32 = 8.0;

/// Rain, softness and evaporation during a pass.
pub(super) struct Weather<'a> {
    frame: Frame,
    moisture: Field<'a>,
    /// One over the value of a layer that counts as moisture 1.
    per_wettest: f32,
    temperature: Field<'a>,
    pub hardness: Field<'a>,
    soil: Field<'a>,
    springs: &'a [Source],
    fixed: &'a Fixed,
    /// Depth a step that falls evenly where the moisture is 1, and that of a drop.
    even: f32,
    drop: f32,
    /// Exponent of 2 for what is left of the water after a step in the heat.
    dries: f32,
    dt: f32,
    seed: u32,
    soil_soft: f32,
    harder: f32,
    fills: f32,
}

impl<'a> Weather<'a> {
    /// During a pass; `falls` says whether it rains.
    pub fn new(
        params: &Pipes,
        terrain: &'a Terrain,
        springs: &'a [Source],
        fixed: &'a Fixed,
        seed: u32,
        falls: bool,
        dt: f64,
    ) -> Self {
        let field = |coef: &Coef| coef.on(terrain).unwrap_or(Field::Const(0.0));
        let depth = if falls { params.rain_mm_per_h / 3.6e6 * dt } else { 0.0 };
        Self {
            frame: *terrain.frame(),
            moisture: field(&params.moisture),
            per_wettest: match params.moisture {
                Coef::Const(_) => 1.0,
                Coef::Layer(_) => (1.0 / params.wettest) as f32,
            },
            temperature: field(&params.temperature_c),
            hardness: field(&params.hardness),
            soil: field(&params.soil_m),
            springs,
            fixed,
            even: (depth * (1.0 - params.patter)) as f32,
            drop: (depth * params.patter) as f32 * DROP,
            dries: (-dt / params.evaporate_s * std::f64::consts::LOG2_E) as f32,
            dt: dt as f32,
            seed,
            soil_soft: (1.0 - params.soil_hardness) as f32,
            harder: (1.0 / params.harden_m) as f32,
            fills: (1.0 / params.fill_m) as f32,
        }
    }

    /// Cells `from..` of a row of the grid with its ring.
    #[inline(always)]
    pub fn fill(
        &self,
        row: usize,
        from: usize,
        live: &[f32],
        rock: &[f32],
        loose: &[f32],
        rain: &mut [f32],
        soft: &mut [f32],
        sinks: &mut [f32],
        stays: &mut [f32],
    ) {
        let (cols, rows) = (self.frame.cols(), self.frame.rows());
        let r = row.clamp(1, rows) - 1;
        for (field, out) in [
            (self.moisture, &mut *rain),
            (self.hardness, &mut *soft),
            (self.soil, &mut *sinks),
            (self.temperature, &mut *stays),
        ] {
            match field {
                Field::Const(value) => out.fill(value),
                Field::Raster(raster) => spread(&raster.row(r)[..cols], from, out),
            }
        }
        let (x, y) = self.frame.lattice(0, r);
        let line = (y as u32).wrapping_mul(0x85eb_ca77) ^ self.seed;
        let first = (x as u32).wrapping_add(from as u32).wrapping_sub(1);
        self.weigh(first, line, live, rock, loose, rain, soft, sinks, stays);
        for &cell in self.fixed.held_in(row, cols + 2) {
            let at = (cell - row * (cols + 2)).wrapping_sub(from);
            if at < soft.len() {
                (soft[at], sinks[at]) = (0.0, 0.0);
            }
        }
        if row != r + 1 {
            return;
        }
        for spring in self.springs {
            let covered = spring.columns(r, cols);
            let until = (covered.end + 1).min(from + rain.len());
            for at in (covered.start + 1).max(from)..until {
                rain[at - from] += live[at - from] * (spring.depth * self.dt);
            }
        }
    }

    #[inline(always)]
    fn weigh(
        &self,
        first: u32,
        line: u32,
        live: &[f32],
        rock: &[f32],
        loose: &[f32],
        rain: &mut [f32],
        soft: &mut [f32],
        sinks: &mut [f32],
        stays: &mut [f32],
    ) {
        let n = live.len();
        let (rock, loose, rain) = (&rock[..n], &loose[..n], &mut rain[..n]);
        let (soft, sinks, stays) = (&mut soft[..n], &mut sinks[..n], &mut stays[..n]);
        let (even, drop, dries) = (self.even, self.drop, self.dries);
        let per_wettest = self.per_wettest;
        let (soil_soft, harder, fills) = (self.soil_soft, self.harder, self.fills);
        // A hole in a layer counts as 0.
        let share = |v: f32| smaller(larger(v, 0.0), 1.0);
        let power = |v: f32| exp2(larger(smaller(v, 4.0), -20.0));
        for i in 0..n {
            let moisture = share(rain[i] * per_wettest);
            let falls = unit(first.wrapping_add(i as u32), line) * DROP < moisture;
            let depth = even * moisture + if falls { drop } else { 0.0 };
            rain[i] = live[i] * depth;
            let bare = 1.0 - share(soft[i]);
            let kind = if -rock[i] < sinks[i] { soil_soft } else { bare };
            soft[i] = kind * power(rock[i] * harder);
            sinks[i] = power(-(rock[i] + loose[i]) * fills);
            let dry = exp2(dries * share((stays[i] + 5.0) * 0.025));
            stays[i] = if live[i] > 0.0 { dry } else { 1.0 };
        }
    }
}

/// Values of a row of the land for cells `from..` of the grid with its ring, which repeats the edge.
#[inline(always)]
fn spread(line: &[f32], from: usize, out: &mut [f32]) {
    let last = line.len();
    let (lead, until) = (usize::from(from == 0), (from + out.len()).min(last + 1));
    out[..lead].fill(line[0]);
    let first = from + lead;
    if until > first {
        out[lead..lead + until - first].copy_from_slice(&line[first - 1..until - 1]);
    }
    let filled = lead + until.saturating_sub(first);
    out[filled..].fill(line[last - 1]);
}

/// A number in 0..1 for a cell of a row.
#[inline(always)]
fn unit(col: u32, line: u32) -> f32 {
    let mut h = col.wrapping_mul(0x9e37_79b1) ^ line;
    h = (h ^ (h >> 15)).wrapping_mul(0x2c1b_3c6d);
    h = (h ^ (h >> 12)).wrapping_mul(0x297a_2d39);
    h ^= h >> 15;
    (h >> 8) as i32 as f32 * (1.0 / 16_777_216.0)
}

/// A round place of the grid where water rises.
#[derive(Clone, Copy, Debug)]
pub(super) struct Source {
    /// Its middle, as column and row of the land, and its radius in metres.
    middle: [f64; 2],
    reach_m: f64,
    spacing_m: [f64; 2],
    /// Depth a second.
    depth: f32,
    /// Samples of land that it covers.
    cells: usize,
}

impl Source {
    /// The springs of a land, each spread over the samples within its radius.
    pub fn all(springs: &[Spring], frame: &Frame, height: &Raster<f32>) -> Vec<Self> {
        let spacing_m @ [dx, dy] = frame.spacing_m();
        let spread = |spring: &Spring| {
            let middle = frame.locate(spring.x_m, spring.y_m);
            // At least the nearest sample, however small the radius.
            let reach_m = spring.radius_m.max(0.501 * math::hypot(dx, dy));
            let mut source = Self { middle, reach_m, spacing_m, depth: 0.0, cells: 0 };
            let wet = |row: usize| {
                let line = &height.row(row)[source.columns(row, height.cols())];
                line.iter().filter(|h| h.is_finite()).count()
            };
            let cells: usize = (0..height.rows()).map(wet).sum();
            source.cells = cells;
            source.depth = (spring.discharge_m3_per_s / (cells.max(1) as f64 * dx * dy)) as f32;
            source
        };
        springs.iter().map(spread).collect()
    }

    /// Whether there is no land for it to rise on.
    pub fn is_dry(&self) -> bool {
        self.cells == 0
    }

    /// The columns of the land that it covers in a row.
    fn columns(&self, row: usize, cols: usize) -> Range<usize> {
        let down = (row as f64 - self.middle[1]) * self.spacing_m[1];
        let left = self.reach_m * self.reach_m - down * down;
        if left < 0.0 {
            return 0..0;
        }
        let half = left.sqrt() / self.spacing_m[0];
        let first = (self.middle[0] - half).ceil().clamp(0.0, cols as f64) as usize;
        let end = ((self.middle[0] + half).floor() + 1.0).clamp(0.0, cols as f64) as usize;
        first..end.max(first)
    }
}
