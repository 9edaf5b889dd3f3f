//! What happens in a cell and in a pipe within one time step: plain arithmetic on single numbers, so that the tiles and
//! their plain twin compute the same bits.
//!
//! A cell owns the pipes to the east, south, south-east and south-west; a speed is positive away from the owner. Sums are
//! written in opposite pairs, first the axes, then the diagonals: so land turned by a quarter gives the same bits.

use orogen_core::math;

use super::Pipes;

/// Acceleration of gravity, in m/s².
pub(super) const GRAVITY: f64 = 9.81;
/// Ground of a wall: what lies beyond a closed edge, and holes.
pub(super) const WALL: f32 = 1e30;
/// A film thinner than this does not flow, in metres.
const FILM: f32 = 1e-6;
/// Water counts as at least this deep where something is divided by its depth, in metres.
const THIN: f32 = 1e-4;

/// Constants of a time step.
#[derive(Clone, Copy, Debug)]
pub(super) struct Laws {
    /// Speed gained a step per metre of head, pipe by pipe.
    push: [f32; 4],
    /// Depth moved a step per speed and depth, pipe by pipe.
    carry: [f32; 4],
    /// Weights of x, y and the diagonals in the square of the speed.
    weight: [f32; 3],
    /// A speed that empties a cell within the step if all its pipes lead out.
    cap: f32,
    /// Grade per metre of drop to a neighbour along x, y and the diagonals.
    grade: [f32; 3],
    half_g: f32,
    fall: f32,
    drag: f32,
    slope: [f32; 2],
    capacity: f32,
    thick: f32,
    takes: f32,
    settles: f32,
    deepest: f32,
    thickest: f32,
    /// Cells travelled a step per speed, along x, y and, for the diagonals, both.
    travel: [f32; 3],
}

/// An end of a pipe.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct End {
    pub bed: f32,
    pub surface: f32,
    pub energy: f32,
    pub keeps: f32,
    pub load: f32,
}

/// What a pipe moved.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Moved {
    pub speed: f32,
    pub water: f32,
    pub ground: f32,
}

/// What changes in a cell.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Column {
    /// Rock and soil above their first height, never positive.
    pub rock: f32,
    pub loose: f32,
    pub water: f32,
    pub load: f32,
}

/// What is given in a cell for a few steps.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct CellInput {
    /// 1, or 0 where water leaves the land for good.
    pub live: f32,
    pub rain: f32,
    /// How easily rock and soil are cut, from 0 to 1.
    pub soft: f32,
    /// How much faster or slower ground settles than on untouched land.
    pub sinks: f32,
    /// Share of the water that does not evaporate.
    pub stays: f32,
}

impl Laws {
    pub fn new(params: &Pipes, [dx, dy]: [f64; 2], dt: f64) -> Self {
        let across = math::hypot(dx, dy);
        let diagonal = 1.0 / 3.0;
        let [wx, wy] = [dx, dy].map(|d| 1.0 - 2.0 * diagonal * (d / across) * (d / across));
        let weights = [wx, wy, diagonal, diagonal];
        let lengths = [dx, dy, across, across];
        let carry: [f64; 4] = std::array::from_fn(|k| dt * weights[k] / lengths[k]);
        let share = |time_s: f64| 1.0 - math::exp(-dt / time_s);
        Self {
            push: lengths.map(|l| (dt * GRAVITY / l) as f32),
            carry: carry.map(|c| c as f32),
            weight: [wx as f32, wy as f32, diagonal as f32],
            cap: (0.499 / carry.iter().sum::<f64>()) as f32,
            grade: [dx, dy, across].map(|l| (1.0 / l) as f32),
            half_g: (0.5 / GRAVITY) as f32,
            fall: (dt * GRAVITY) as f32,
            drag: (4.0 * dt * params.roughness) as f32,
            slope: [params.slope_min as f32, params.slope_max as f32],
            capacity: params.capacity as f32,
            thick: params.thickest as f32,
            takes: share(params.erode_s) as f32,
            settles: share(params.settle_s) as f32,
            deepest: params.max_erosion_m as f32,
            thickest: params.max_deposit_m as f32,
            travel: [
                (0.5 * dt * wx / dx) as f32,
                (0.5 * dt * wy / dy) as f32,
                (0.5 * dt * diagonal / across) as f32,
            ],
        }
    }

    /// The square of the speed in a cell. `out`: speeds in its own pipes; `into`: speeds in the pipes from the west, north,
    /// north-west and north-east. Only what flows in counts, as in an upwind scheme: otherwise waves of one cell would grow.
    #[inline(always)]
    pub fn square(&self, out: [f32; 4], into: [f32; 4]) -> f32 {
        let squares = |k: usize| {
            let (a, b) = (larger(into[k], 0.0), smaller(out[k], 0.0));
            a * a + b * b
        };
        let axes = self.weight[0] * squares(0) + self.weight[1] * squares(1);
        axes + self.weight[2] * (squares(2) + squares(3))
    }

    /// Surface and the height that the speed is worth.
    #[inline(always)]
    pub fn energy(&self, surface: f32, live: f32, square: f32) -> f32 {
        surface + live * (self.half_g * square)
    }

    /// The grade down to the steepest neighbour, within its limits, and what the cell yields: what may be taken in a step
    /// without making a pit, a quarter of the drop to the lowest of the eight beds around. `beds`: west, east, north, south,
    /// then the corners.
    #[inline(always)]
    pub fn steep(&self, bed: f32, beds: [f32; 8]) -> (f32, f32) {
        let low_x = smaller(beds[0], beds[1]);
        let low_y = smaller(beds[2], beds[3]);
        let low_d = smaller(smaller(beds[4], beds[5]), smaller(beds[6], beds[7]));
        let straight = larger((bed - low_x) * self.grade[0], (bed - low_y) * self.grade[1]);
        let slope = larger(straight, (bed - low_d) * self.grade[2]);
        let steep = larger(smaller(slope, self.slope[1]), self.slope[0]);
        (steep, 0.25 * larger(bed - smaller(smaller(low_x, low_y), low_d), 0.0))
    }

    /// Ground that each metre of water could carry.
    #[inline(always)]
    pub fn able(&self, speed: f32, steep: f32) -> f32 {
        smaller(self.capacity * (steep * speed), self.thick)
    }

    /// The speed v that is left of v + g s dt when friction c v²/d acts through the whole step solves a quadratic
    /// equation: the depth and its root.
    #[inline(always)]
    pub fn rubbed(&self, water: f32, speed: f32, steep: f32) -> f32 {
        let deep = larger(water, THIN);
        let rubs = self.drag * (speed + self.fall * steep);
        deep + (deep * (deep + rubs)).sqrt()
    }

    /// Share of the speed that friction leaves, and ground carried by each metre of water: one division serves both.
    #[inline(always)]
    pub fn left(water: f32, load: f32, sum: f32) -> (f32, f32) {
        let deep = larger(water, THIN);
        let part = 1.0 / (deep * sum);
        ((2.0 * deep) * (deep * part), load * (sum * part))
    }

    /// A pipe of direction `k` between its owner `a` and the cell `z` it leads to.
    #[inline(always)]
    pub fn pipe(&self, k: usize, speed: f32, a: End, z: End) -> Moved {
        let pushed = speed + self.push[k] * (a.energy - z.energy);
        let along = pushed > 0.0;
        let pick = |a: f32, z: f32| if along { a } else { z };
        let kept = pushed * pick(a.keeps, z.keeps);
        let kept = larger(smaller(kept, self.cap), -self.cap);
        let depth = pick(a.surface, z.surface) - larger(a.bed, z.bed);
        let speed = if depth > FILM { kept } else { 0.0 };
        let water = self.carry[k] * (speed * depth);
        Moved { speed, water, ground: water * pick(a.load, z.load) }
    }

    /// What leaves a cell through its own pipes, less what comes in from west, north, north-west and north-east.
    #[inline(always)]
    pub fn leaves(out: [f32; 4], into: [f32; 4]) -> f32 {
        ((out[0] - into[0]) + (out[1] - into[1])) + ((out[2] - into[2]) + (out[3] - into[3]))
    }

    /// Where the load of a cell comes from, in cells to the west and to the north.
    #[inline(always)]
    pub fn comes_from(&self, out: [f32; 4], into: [f32; 4]) -> [f32; 2] {
        let mean = |k: usize| out[k] + into[k];
        let (one, two) = (mean(2), mean(3));
        let x = self.travel[0] * mean(0) + self.travel[2] * (one - two);
        let y = self.travel[1] * mean(1) + self.travel[2] * (one + two);
        [larger(smaller(x, 1.0), -1.0), larger(smaller(y, 1.0), -1.0)]
    }

    /// The load found `x` cells to the west and `y` to the north, among three rows of three cells.
    #[inline(always)]
    pub fn traced(x: f32, y: f32, up: [f32; 3], line: [f32; 3], low: [f32; 3]) -> f32 {
        let west = x > 0.0;
        let beside = |row: [f32; 3]| if west { row[0] } else { row[2] };
        let north = y > 0.0;
        let from = |i: usize| if north { up[i] } else { low[i] };
        let other = [from(0), from(1), from(2)];
        let (x, y) = (x.abs(), y.abs());
        let near = line[1] + (beside(line) - line[1]) * x;
        let far = other[1] + (beside(other) - other[1]) * x;
        near + (far - near) * y
    }

    /// Rain, flow, evaporation, erosion and deposition in a cell. `leaves`: net loss of water; `load`: ground carried
    /// after the flow; `able`: see [`able`](Self::able); `yields`: see [`steep`](Self::steep).
    #[inline(always)]
    pub fn column(
        &self,
        was: Column,
        given: CellInput,
        leaves: f32,
        load: f32,
        able: f32,
        yields: f32,
    ) -> Column {
        let water = larger(was.water - leaves + given.rain, 0.0) * given.stays;
        let load = larger(load, 0.0);
        let gap = able * water - load;
        let above = was.rock + was.loose;
        let wanted = smaller(self.takes * larger(gap, 0.0), yields) * given.live;
        let swept = smaller(wanted, was.loose);
        let below = larger(was.rock + self.deepest, 0.0);
        let cut = smaller((wanted - swept) * given.soft, below);
        let rate = if water > 1e-5 { smaller(self.settles * given.sinks, 1.0) } else { 1.0 };
        let falls = smaller(rate * larger(-gap, 0.0), larger(self.thickest - above, 0.0)) * given.live;
        Column {
            rock: was.rock - cut,
            loose: (was.loose - swept) + falls,
            water,
            load: load + ((swept + cut) - falls),
        }
    }
}

#[inline(always)]
pub(super) fn larger(a: f32, b: f32) -> f32 {
    if a > b { a } else { b }
}

#[inline(always)]
pub(super) fn smaller(a: f32, b: f32) -> f32 {
    if a < b { a } else { b }
}

/// 2 to the power `t`, -126 to 126, within 3e-7: straight-line arithmetic that becomes vector code.
#[inline(always)]
pub(super) fn exp2(t: f32) -> f32 {
    // Adding this rounds to a whole number, which stands in the last bits.
    const ROUND: f32 = 12_582_912.0;
    let whole = t + ROUND;
    let f = t - (whole - ROUND);
    let power = whole.to_bits().wrapping_sub(ROUND.to_bits()).wrapping_add(127) << 23;
    math::exp2_of_fraction(f) * f32::from_bits(power)
}
