//! How much of the sky's light comes through the leaves.

use orogen_core::math;

use crate::frame::Vec3;
use crate::skeleton::Skeleton;
use crate::species::Species;

/// Cells along the longest side of the crown.
const CELLS: f64 = 20.0;
/// Share of a leaf's quad that is leaf.
const FILLED: f64 = 0.6;
/// What leaves take of light that passes through a cubic metre of them, a square metre of leaf: half, as they stand at all angles,
/// times the root of what they do not pass on (Goudriaan 1977), as much of the light in a crown has been scattered.
const TAKEN: f64 = 0.5 * 0.7;

/// Directions that light comes from, and its shares: most from above, a little from the ground.
const FROM: [([f64; 3], f64); 10] = {
    const D: f64 = std::f64::consts::FRAC_1_SQRT_2;
    [
        ([0.0, 0.0, 1.0], 1.0),
        ([D, 0.0, D], 0.8),
        ([-D, 0.0, D], 0.8),
        ([0.0, D, D], 0.8),
        ([0.0, -D, D], 0.8),
        ([D, D, 0.0], 0.35),
        ([-D, D, 0.0], 0.35),
        ([D, -D, 0.0], 0.35),
        ([-D, -D, 0.0], 0.35),
        ([0.0, 0.0, -1.0], 0.25),
    ]
};

/// Light in a coarse grid over the crown.
pub struct Light {
    from: Vec3,
    cell_m: f64,
    size: [usize; 3],
    light: Vec<f32>,
}

impl Light {
    pub fn new(species: &Species, plant: &Skeleton) -> Self {
        let (mut low, mut high) = ([f32::MAX; 3], [f32::MIN; 3]);
        for leaf in &plant.leaves {
            for axis in 0..3 {
                low[axis] = low[axis].min(leaf.at[axis]);
                high[axis] = high[axis].max(leaf.at[axis]);
            }
        }
        if plant.leaves.is_empty() {
            return Self { from: [0.0; 3], cell_m: 1.0, size: [0; 3], light: Vec::new() };
        }
        let [low, high] = [low, high].map(|corner| corner.map(f64::from));
        let longest = (0..3).map(|axis| high[axis] - low[axis]).fold(0.0, f64::max);
        let cell_m = (longest / CELLS).max(species.leaves.length_m).max(1e-3);
        // A clear cell all around.
        let from = low.map(|v| v - cell_m);
        let size = [0, 1, 2].map(|axis| ((high[axis] - low[axis]) / cell_m) as usize + 3);
        let mut grid = Self { from, cell_m, size, light: Vec::new() };
        let leaf_m2 = species.leaves.length_m * species.leaves.length_m * species.leaves.width_share;
        let each = TAKEN * FILLED * leaf_m2 / species.leaves.quality / (cell_m * cell_m);
        let mut dense = vec![0.0f32; size[0] * size[1] * size[2]];
        for leaf in &plant.leaves {
            let [x, y, z] = grid.cell(leaf.at.map(f64::from)).map(|v| v as usize);
            dense[grid.index(x, y, z)] += each as f32;
        }
        grid.light = (0..dense.len()).map(|cell| grid.through(&dense, cell)).collect();
        grid
    }

    fn index(&self, x: usize, y: usize, z: usize) -> usize {
        (z * self.size[1] + y) * self.size[0] + x
    }

    fn cell(&self, at: Vec3) -> Vec3 {
        [0, 1, 2].map(|axis| {
            ((at[axis] - self.from[axis]) / self.cell_m).clamp(0.0, self.size[axis] as f64 - 1.001)
        })
    }

    /// Light that reaches the middle of a cell.
    fn through(&self, dense: &[f32], cell: usize) -> f32 {
        let start =
            [cell % self.size[0], cell / self.size[0] % self.size[1], cell / self.size[0] / self.size[1]];
        let (mut sum, mut all) = (0.0, 0.0);
        for (way, share) in FROM {
            // Half of what is in the cell itself lies before its middle.
            let mut taken = 0.5 * f64::from(dense[cell]);
            let mut at = start.map(|v| v as f64 + 0.5);
            loop {
                at = [0, 1, 2].map(|axis| at[axis] + way[axis]);
                if (0..3).any(|axis| at[axis] < 0.0 || at[axis] >= self.size[axis] as f64) || taken > 8.0 {
                    break;
                }
                let [x, y, z] = at.map(|v| v as usize);
                taken += f64::from(dense[self.index(x, y, z)]);
            }
            sum += share * math::exp(-taken);
            all += share;
        }
        (sum / all) as f32
    }

    /// Light at a place, 255 for all.
    pub fn at(&self, at: [f32; 3]) -> u8 {
        if self.light.is_empty() {
            return 255;
        }
        let at = at.map(f64::from);
        // From the middles of the cells around.
        let place = [0, 1, 2].map(|axis| {
            let place = (at[axis] - self.from[axis]) / self.cell_m - 0.5;
            place.clamp(0.0, self.size[axis] as f64 - 1.001)
        });
        let low = place.map(|v| v as usize);
        let t = [0, 1, 2].map(|axis| (place[axis] - low[axis] as f64) as f32);
        let mut sum = 0.0;
        for corner in 0..8usize {
            let bit = |axis: usize| corner >> axis & 1;
            let share = |axis: usize| if bit(axis) == 1 { t[axis] } else { 1.0 - t[axis] };
            sum += share(0)
                * share(1)
                * share(2)
                * self.light[self.index(low[0] + bit(0), low[1] + bit(1), low[2] + bit(2))];
        }
        (255.0 * sum + 0.5) as u8
    }
}
