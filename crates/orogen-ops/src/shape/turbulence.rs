//! Turbulence: a massif of fractal peaks grown where it is wanted.

use orogen_core::math::{self, smoothstep};
use orogen_core::{
    Ctx, Frame, LayerName, Layers, Op, OpError, Prepared, Raster, Reach, Rect, Seed, Terrain, layer,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::combine::pair::change;

/// Grows fractal peaks in a chosen disc: diamond-square turbulence whose centre is raised, blended into the land around.
///
/// ```text
/// new = mean of 4 neighbours + amplitude · aˡ · rand        l = 0, 1, 2, ...: level of subdivision
/// out = h + w(d/R) · (turbulence + rise · (1 − (d/R)²)²)    a: persistence, rand in -1..1
/// ```
///
/// The square round the disc starts at 0 along its edges and is divided until its cells are as small as `detail_m`; a new
/// point gets the mean of its four neighbours and a random displacement that shrinks from level to level. The centre
/// grows: it is lifted by `rise_m`, the ground around it the less the further out.
///
/// **Guarantees** (1) nothing outside the disc changes, to the bit; (2) the same disc and seed give the same peaks at any
/// number of samples and in any window; a finer `detail_m` adds to them and moves nothing; (3) without rise and amplitude
/// the land stays.
///
/// **Limits** The land inside stays under the turbulence: the case study divides the land's own mesh again, which would
/// lose what is there; and it lifts the centre a little in every round, of which this is the sum. The square is divided
/// at most 11 times, so `detail_m` is at least a 1024th of the radius. A hole stays a hole. 8 bytes a cell, and up to
/// 16 MB for the square.
///
/// **After** the fractal turbulence of a terrain editor's case study: Fournier, Fussell & Carpenter's diamond-square (CACM
/// 25, 1982) on a selected area; both its range and its roughness halve each round, which is a persistence of 0.25.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Turbulence {
    /// Layer that is changed.
    pub layer: LayerName,
    /// Centre of the disc, (x, y); the middle of the world when left out.
    #[schemars(inner(range(min = -1e9, max = 1e9)), extend("x-unit" = "m"))]
    pub center_m: Option<[f64; 2]>,
    /// Radius of the disc.
    #[schemars(range(min = 1e-1, max = 1e7), extend("x-unit" = "m", "x-slider" = [100.0, 5000.0]))]
    pub radius_m: f64,
    /// How far the centre rises, displacements aside; negative values sink it.
    #[schemars(range(min = -1e5, max = 1e5), extend("x-unit" = "m", "x-slider" = [0.0, 1000.0]))]
    pub rise_m: f64,
    /// Largest random displacement of the first level.
    #[schemars(range(min = 0.0, max = 1e5), extend("x-unit" = "m", "x-slider" = [0.0, 500.0]))]
    pub amplitude_m: f64,
    /// Strength of each level, as a share of the one before: more is rougher. 0.25 is that of the case study.
    #[schemars(range(min = 0.0, max = 1.0), extend("x-slider" = [0.25, 0.7]))]
    pub persistence: f64,
    /// Size of the smallest cells that are divided.
    #[schemars(range(min = 1e-2, max = 1e7), extend("x-unit" = "m", "x-slider" = [1.0, 100.0]))]
    pub detail_m: f64,
    /// Outer share of the radius over which the turbulence fades into the land.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub falloff: f64,
}

impl Default for Turbulence {
    fn default() -> Self {
        Self {
            layer: layer::HEIGHT.name(),
            center_m: None,
            radius_m: 1500.0,
            rise_m: 300.0,
            amplitude_m: 150.0,
            persistence: 0.5,
            detail_m: 20.0,
            falloff: 0.6,
        }
    }
}

impl Op for Turbulence {
    const ID: &'static str = "shape.turbulence";
    const VERSION: u32 = 1;

    fn layers(&self) -> Layers {
        Layers::none().updating([self.layer.clone()])
    }

    fn reach(&self, _: &Frame) -> Reach {
        Reach::Point
    }

    fn prepare(&self, _: &Frame, ctx: &Ctx<'_>) -> Result<Option<Box<dyn Prepared>>, OpError> {
        Ok(Some(Box::new(Grown { field: Some(turbulence(self, ctx.seed())), params: self.clone() })))
    }

    fn run(&self, terrain: Terrain, ctx: &Ctx<'_>) -> Result<Terrain, OpError> {
        let world = ctx.world(&terrain).extent();
        // A window that the disc does not touch needs no turbulence.
        let field = self.touches(&world, terrain.frame()).then(|| turbulence(self, ctx.seed()));
        Grown { field, params: self.clone() }.run(terrain, ctx)
    }
}

impl Turbulence {
    fn center_m(&self, world: &Rect) -> [f64; 2] {
        self.center_m.unwrap_or([0, 1].map(|i| 0.5 * (world.min[i] + world.max[i])))
    }

    fn touches(&self, world: &Rect, frame: &Frame) -> bool {
        let (center, here, radius) = (self.center_m(world), frame.extent(), self.radius_m);
        (0..2).all(|axis| here.min[axis] < center[axis] + radius && here.max[axis] > center[axis] - radius)
    }
}

/// The turbulence of the square round the disc, which no window changes.
struct Grown {
    field: Option<Raster<f32>>,
    params: Turbulence,
}

impl Prepared for Grown {
    fn run(&self, mut terrain: Terrain, ctx: &Ctx<'_>) -> Result<Terrain, OpError> {
        let params = &self.params;
        let world = ctx.world(&terrain).extent();
        let [cx, cy] = params.center_m(&world);
        let frame = *terrain.frame();
        let radius = params.radius_m;
        let field = self.field.as_ref().filter(|_| params.touches(&world, &frame));
        let (falloff, rise) = (params.falloff as f32, params.rise_m as f32);
        let changed = change(&terrain, &params.layer, ctx, |row, out, before| {
            out.copy_from_slice(before);
            let Some(field) = field else { return };
            let cells = (field.cols() - 1) as f64 / (2.0 * radius);
            let dy = frame.y_m(row) - cy;
            for (col, out) in out.iter_mut().enumerate() {
                let dx = frame.x_m(col) - cx;
                let distance2 = dx * dx + dy * dy;
                if distance2 < radius * radius {
                    let share = (distance2.sqrt() / radius) as f32;
                    let weight = 1.0 - smoothstep(1.0 - falloff, 1.0, share);
                    let dome = 1.0 - share * share;
                    let rough = field.bicubic((dx + radius) * cells, (radius - dy) * cells);
                    *out += weight * (rough + rise * dome * dome);
                }
            }
        })?;
        terrain.set_named(params.layer.clone(), changed);
        Ok(terrain)
    }
}

/// Divisions of the square.
fn levels(params: &Turbulence) -> u32 {
    let cells = (2.0 * params.radius_m / params.detail_m).max(2.0);
    (math::log2(cells) - 1e-9).ceil().clamp(1.0, 11.0) as u32
}

/// The turbulence of the square round the disc, row 0 in the north.
fn turbulence(params: &Turbulence, seed: Seed) -> Raster<f32> {
    let levels = levels(params);
    let cells = 1usize << levels;
    let mut field = Raster::filled(cells + 1, cells + 1, 0.0f32);
    let mut amplitude = params.amplitude_m as f32;
    for level in 0..levels {
        let half = cells >> (level + 1);
        let own_seed = Seed(seed.bits(u64::from(level)));
        let new = |mean: f32, col: usize, row: usize| {
            // Counted in half cells of this level, so that a finer square draws the same numbers.
            let random = 2.0 * own_seed.unit2((col / half) as i64, (row / half) as i64) - 1.0;
            mean + amplitude * random as f32
        };
        let values = field.as_mut_slice();
        let at = |col: usize, row: usize| row * (cells + 1) + col;
        // Diamonds: the middle of each cell, from its corners.
        for row in (half..cells).step_by(2 * half) {
            for col in (half..cells).step_by(2 * half) {
                let sum = values[at(col - half, row - half)]
                    + values[at(col + half, row - half)]
                    + values[at(col - half, row + half)]
                    + values[at(col + half, row + half)];
                values[at(col, row)] = new(0.25 * sum, col, row);
            }
        }
        // Squares: the middle of each edge inside, from the points on its four sides. The outline stays at 0.
        for row in (half..cells).step_by(half) {
            let first = if (row / half).is_multiple_of(2) { half } else { 2 * half };
            for col in (first..cells).step_by(2 * half) {
                let sum = values[at(col, row - half)]
                    + values[at(col - half, row)]
                    + values[at(col + half, row)]
                    + values[at(col, row + half)];
                values[at(col, row)] = new(0.25 * sum, col, row);
            }
        }
        amplitude *= params.persistence as f32;
    }
    field
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::{assert_windows, place};
    use orogen_core::Cell;

    fn apply(op: &Turbulence, samples: usize) -> Raster<f32> {
        let mut terrain = Terrain::new(Frame::square(4000.0, samples).unwrap());
        terrain.set(layer::HEIGHT, Raster::filled(samples, samples, 10.0));
        op.apply(terrain, &Ctx::silent()).unwrap().get(layer::HEIGHT).unwrap().clone()
    }

    #[test]
    fn the_centre_grows_and_nothing_outside_the_disc_changes() {
        let op = Turbulence { radius_m: 1000.0, ..Turbulence::default() };
        let after = apply(&op, 101);
        let centre = after[Cell { col: 50, row: 50 }];
        assert!((160.0 - 1.0..=460.0 + 1.0).contains(&centre), "{centre}");
        let mut rough = 0;
        for (i, value) in after.as_slice().iter().enumerate() {
            let (x, y) = ((i % 101) as f64 * 40.0 - 2000.0, (i / 101) as f64 * 40.0 - 2000.0);
            if math::hypot(x, y) >= 1000.0 {
                assert_eq!(*value, 10.0);
            } else {
                rough += usize::from((value - 10.0).abs() > 5.0);
            }
        }
        assert!(rough > 500, "{rough} samples are raised");
    }

    #[test]
    fn finer_detail_adds_to_the_same_peaks() {
        let coarse = Turbulence { radius_m: 1000.0, detail_m: 125.0, ..Turbulence::default() };
        let fine = Turbulence { detail_m: 2000.0 / 64.0, ..coarse.clone() };
        let (a, b) = (turbulence(&coarse, Seed(3)), turbulence(&fine, Seed(3)));
        assert_eq!((a.cols(), b.cols()), (17, 65));
        for row in 0..17 {
            for col in 0..17 {
                assert_eq!(a.row(row)[col], b.row(4 * row)[4 * col]);
            }
        }
        assert!(a.row(0).iter().all(|v| *v == 0.0));
    }

    #[test]
    fn without_rise_and_amplitude_the_land_stays() {
        let op = Turbulence { rise_m: 0.0, amplitude_m: 0.0, ..Turbulence::default() };
        assert_eq!(apply(&op, 65), Raster::filled(65, 65, 10.0));
    }

    #[test]
    fn the_same_peaks_stand_at_any_number_of_samples() {
        let op = Turbulence::default();
        let (coarse, fine) = (apply(&op, 65), apply(&op, 129));
        for row in 0..65 {
            for col in 0..65 {
                assert!((coarse.row(row)[col] - fine.row(2 * row)[2 * col]).abs() < 1e-3);
            }
        }
    }

    #[test]
    fn windows_equal_the_whole() {
        let op = Turbulence { center_m: Some(place(0.4, 0.6)), radius_m: 320.0, ..Turbulence::default() };
        assert_windows(&op);
    }
}
