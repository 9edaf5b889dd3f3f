//! Hollows and spurs down the slope, where water gathers before it cuts: they follow the fall of the land, not the lattice.

use orogen_core::Seed;

use super::square::{COUNT, SIDE, blurred};

/// How far a patch of even ribs reaches, in samples.
const PATCH: usize = 13;
/// One sample in so many is the middle of a patch.
const APART: u64 = 28;
/// Samples from one hollow to the next, between the closest and the widest patch.
const WAVES: [f32; 2] = [6.5, 13.0];

/// The fall of the land: its size, and the direction along the contour.
pub struct Fall {
    pub slope: Vec<f32>,
    along: [Vec<f32>; 2],
}

impl Fall {
    /// Of land without its finest unevenness.
    pub fn of(height: &[f32], [dx, dy]: [f32; 2]) -> Self {
        let height = blurred(height.to_vec(), 2, 2);
        let (mut slope, mut along) = (vec![0.0; COUNT], [vec![0.0; COUNT], vec![0.0; COUNT]]);
        let cell_m = (dx * dy).sqrt();
        for row in 0..SIDE {
            let (above, below) = (row.saturating_sub(1), (row + 1).min(SIDE - 1));
            let per_y = 1.0 / ((below - above) as f32 * dy);
            for col in 0..SIDE {
                let (west, east) = (col.saturating_sub(1), (col + 1).min(SIDE - 1));
                let x = (height[row * SIDE + east] - height[row * SIDE + west]) / ((east - west) as f32 * dx);
                let y = (height[below * SIDE + col] - height[above * SIDE + col]) * per_y;
                let steep = (x * x + y * y).sqrt();
                let i = row * SIDE + col;
                slope[i] = steep;
                // In samples, so that ribs are as wide along both axes.
                let per_slope = 1.0 / (steep + 1e-6) / cell_m;
                along[0][i] = -y * per_slope * dx;
                along[1][i] = x * per_slope * dy;
            }
        }
        Self { slope, along }
    }

    /// Ribs about -1 to 1: above 0 spurs, below 0 hollows. Patches of waves along the contour, each of its own length and
    /// phase, fade into each other; where they do, hollows begin, join and end.
    pub fn ribs(&self, seed: Seed, cols: &[i64], rows: &[i64]) -> Vec<f32> {
        let (mut sum, mut weight) = (vec![0.0f32; COUNT], vec![0.35f32; COUNT]);
        let unit = |bits: u64| (bits & 0xffff) as f32 / 65_536.0;
        for (row, &at_row) in rows.iter().enumerate() {
            for (col, &at_col) in cols.iter().enumerate() {
                let bits = seed.bits2(at_col, at_row);
                if !bits.is_multiple_of(APART) {
                    continue;
                }
                let wave = WAVES[0] + (WAVES[1] - WAVES[0]) * unit(bits >> 16);
                let (phase, size) = (unit(bits >> 32), 0.3 + 0.7 * unit(bits >> 48));
                self.add_patch([col, row], [1.0 / wave, phase, size], &mut sum, &mut weight);
            }
        }
        sum.iter_mut().zip(&weight).for_each(|(sum, weight)| *sum /= weight);
        sum
    }

    fn add_patch(
        &self,
        [col, row]: [usize; 2],
        [per_wave, phase, size]: [f32; 3],
        sum: &mut [f32],
        weight: &mut [f32],
    ) {
        let range = |at: usize| at.saturating_sub(PATCH)..(at + PATCH + 1).min(SIDE);
        let (cols, first) = (range(col), range(col).start as f32 - col as f32);
        for there in range(row) {
            let line = there * SIDE + cols.start..there * SIDE + cols.end;
            let down = there as f32 - row as f32;
            let ends = sum[line.clone()].iter_mut().zip(&mut weight[line.clone()]);
            let ways = self.along[0][line.clone()].iter().zip(&self.along[1][line]);
            for (k, ((sum, weight), (x, y))) in ends.zip(ways).enumerate() {
                let across = first + k as f32;
                let near = 1.0 - (across * across + down * down) * (1.0 / (PATCH * PATCH) as f32);
                let near = near.max(0.0);
                let near = near * near;
                *sum += near * size * wave((across * x + down * y) * per_wave + phase);
                *weight += near;
            }
        }
    }
}

/// The cosine of whole turns, nearly: exact at its crests and zeros.
#[inline(always)]
fn wave(turns: f32) -> f32 {
    /// Adding and taking away so much rounds to whole numbers.
    const ROUND: f32 = 12_582_912.0;
    let part = turns - ((turns + ROUND) - ROUND);
    let u = 1.0 - 4.0 * part.abs();
    u * (1.570_796_4 - u * u * (0.645_963_7 - 0.075_167_3 * u * u))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wave_is_nearly_a_cosine() {
        for i in -400..400 {
            let turns = i as f32 / 100.0;
            let exact = orogen_core::math::cos(std::f64::consts::TAU * f64::from(turns)) as f32;
            assert!((wave(turns) - exact).abs() < 2e-3, "{turns}: {} {exact}", wave(turns));
        }
    }

    /// Ribs run down the slope whichever way it faces, as strongly and as far apart along the axes as between them.
    #[test]
    fn ribs_run_down_slopes_of_every_direction() {
        let at: Vec<i64> = (0..SIDE as i64).collect();
        let spread = |degrees: f64| {
            let (sin, cos) = (
                orogen_core::math::sin(degrees.to_radians()) as f32,
                orogen_core::math::cos(degrees.to_radians()) as f32,
            );
            let height: Vec<f32> =
                (0..COUNT).map(|i| 10.0 * (cos * (i % SIDE) as f32 + sin * (i / SIDE) as f32)).collect();
            let ribs = Fall::of(&height, [20.0, 20.0]).ribs(Seed::from_text("ribs"), &at, &at);
            let at = |x: f32, y: f32| ribs[y.round() as usize * SIDE + x.round() as usize];
            let (mut down, mut across, mut size) = (0.0, 0.0, 0.0);
            for row in 30..SIDE - 30 {
                for col in 30..SIDE - 30 {
                    let (x, y) = (col as f32, row as f32);
                    let here = at(x, y);
                    size += here * here;
                    let far = [at(x + 4.0 * cos, y + 4.0 * sin), at(x - 4.0 * sin, y + 4.0 * cos)]
                        .map(|h| h - here);
                    down += far[0] * far[0];
                    across += far[1] * far[1];
                }
            }
            [size, down / across]
        };
        let all: Vec<[f32; 2]> = [0.0, 20.0, 45.0, 70.0, 90.0, 135.0].map(spread).to_vec();
        for [size, ratio] in &all {
            assert!(*ratio < 0.3, "down the slope they change {ratio} of what they change across");
            assert!((size / all[0][0] - 1.0).abs() < 0.25, "{all:?}");
        }
    }
}
