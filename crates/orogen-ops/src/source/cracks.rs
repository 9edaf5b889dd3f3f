//! Cracks: dry ground broken into plates.

use orogen_core::param::Fault;
use orogen_core::{Cancelled, Ctx, Frame, Layers, Op, OpError, Raster, Reach, Seed, Terrain, layer, math};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::noise::Noise;

/// Etches the borders of Voronoi polygons into flat ground: cracked mud, dry lakes, riverbeds, basalt.
///
/// Random points, one in each cell of a jittered world lattice, own the ground nearest to them. At a distance `d`
/// from the nearest border of the plate of point `a`,
///
/// ```text
/// d = min over b of (m − p) · (b − a)/|b − a|,   m = (a + b)/2
/// h = level + curl · (1 − d/edge)² + lift · R(a) − depth · (1 − s(2d / width))      s: smoothstep
/// ```
///
/// with a crack of `width_m`, plates that curl up towards their borders and stand at different heights. Each further
/// generation breaks the plates into smaller ones by cracks half as deep.
///
/// **Guarantees** (1) `d` is the true distance to the border, so cracks have one width everywhere. (2) The bottom of a
/// crack lies `depth_m` below the plates, and no ground is lower than the bottoms of all generations together. (3) A
/// height depends on the seed and its place: tiles fit together to the bit.
///
/// **Limits** Cracks narrower than two samples break up. To etch cracks into other land, make them in one step and add
/// the two with `combine.add`.
///
/// **After** Worley, "A cellular texture basis function", SIGGRAPH 1996, and the cracked lakes of Liarokapis, "Terrain
/// generation", Masaryk University 2016.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Cracks {
    /// Size of a plate.
    #[schemars(range(min = 0.01, max = 1e5), extend("x-unit" = "m", "x-slider" = [10.0, 1000.0]))]
    pub plate_m: f64,
    /// How irregular plates are: 0 makes squares, 1 makes all kinds.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub jitter: f64,
    /// Width of a crack; at most 0.8 plates.
    #[schemars(range(min = 0.001, max = 1e5), extend("x-unit" = "m", "x-slider" = [1.0, 100.0]))]
    pub width_m: f64,
    /// Depth of a crack.
    #[schemars(range(min = 0.0, max = 5000.0), extend("x-unit" = "m", "x-slider" = [0.5, 50.0]))]
    pub depth_m: f64,
    /// How far the borders of a plate curl up.
    #[schemars(range(min = 0.0, max = 1000.0), extend("x-unit" = "m", "x-slider" = [0.0, 20.0]))]
    pub curl_m: f64,
    /// How far plates stand above or below each other.
    #[schemars(range(min = 0.0, max = 1000.0), extend("x-unit" = "m", "x-slider" = [0.0, 20.0]))]
    pub lift_m: f64,
    /// How far cracks wander from a straight line.
    #[schemars(range(min = 0.0, max = 1e5), extend("x-unit" = "m", "x-slider" = [0.0, 100.0]))]
    pub wander_m: f64,
    /// Times that plates break into smaller ones.
    #[schemars(range(min = 1, max = 4))]
    pub generations: u32,
    /// Height of the ground.
    #[schemars(range(min = -20_000.0, max = 20_000.0), extend("x-unit" = "m", "x-slider" = [-100.0, 1000.0]))]
    pub level_m: f64,
}

impl Default for Cracks {
    fn default() -> Self {
        Self {
            plate_m: 400.0,
            jitter: 1.0,
            width_m: 45.0,
            depth_m: 20.0,
            curl_m: 6.0,
            lift_m: 3.0,
            wander_m: 30.0,
            generations: 2,
            level_m: 40.0,
        }
    }
}

impl Op for Cracks {
    const ID: &'static str = "source.cracks";
    const VERSION: u32 = 1;

    fn layers(&self) -> Layers {
        Layers::none().writing([layer::HEIGHT.name()])
    }

    fn reach(&self, _: &Frame) -> Reach {
        Reach::Point
    }

    fn faults(&self) -> Vec<Fault> {
        if self.width_m > 0.8 * self.plate_m {
            let message = format!(
                "found {}, allowed is at most 0.8 of plate_m = {:.4}",
                self.width_m,
                0.8 * self.plate_m
            );
            return vec![Fault::of("width_m", message)];
        }
        Vec::new()
    }

    fn run(&self, mut terrain: Terrain, ctx: &Ctx<'_>) -> Result<Terrain, OpError> {
        let height = cracks(self, terrain.frame(), ctx)?;
        terrain.set(layer::HEIGHT, height);
        Ok(terrain)
    }
}

/// How much smaller plates and cracks are a generation later.
const FINER: f64 = 3.0;
/// Share of a cell that a point may lie in. It leaves every border nearer than 0.4 cells to points of a 5 × 5
/// neighbourhood: a point outside lies over 2.1 cells away, the nearest no further than 1.27.
const SPAN: f64 = 0.8;

/// The algorithm alone: 4 bytes and some 25 distances a sample and generation.
///
/// # Errors
/// When cancelled.
pub fn cracks(params: &Cracks, frame: &Frame, ctx: &Ctx<'_>) -> Result<Raster<f32>, Cancelled> {
    let counter = ctx.counter(frame.rows());
    let generations: Vec<Generation> =
        (0..params.generations).map(|g| Generation::new(params, g, ctx.seed())).collect();
    let mut out = Raster::filled(frame.cols(), frame.rows(), params.level_m as f32);
    out.try_par_rows(|row, values| {
        for generation in &generations {
            generation.etch(frame, row, values);
        }
        counter.done()
    })?;
    Ok(out)
}

/// Plates of one size.
struct Generation {
    cell_m: f64,
    half_width: f64,
    depth: f64,
    curl: f64,
    lift: f64,
    wander: f64,
    jitter: f64,
    seed: Seed,
    noise: [Noise; 2],
}

/// The plate that a place lies on, in cells.
struct Plate {
    border: f64,
    luck: f64,
}

impl Generation {
    fn new(params: &Cracks, number: u32, seed: Seed) -> Self {
        let finer = math::pow(FINER, f64::from(number));
        let fainter = math::exp2(-f64::from(number));
        let seed = Seed(seed.child("cracks").bits(u64::from(number)));
        let cell_m = params.plate_m / finer;
        Self {
            cell_m,
            half_width: 0.5 * params.width_m / finer / cell_m,
            depth: params.depth_m * fainter,
            curl: params.curl_m * fainter / 2.0,
            lift: params.lift_m * fainter,
            wander: params.wander_m / finer / cell_m,
            jitter: params.jitter * SPAN,
            seed: seed.child("points"),
            noise: ["east", "north"].map(|way| Noise::new(seed.child(way))),
        }
    }

    fn etch(&self, frame: &Frame, row: usize, values: &mut [f32]) {
        let y = frame.y_m(row) / self.cell_m;
        let places: Vec<[f64; 2]> = (0..values.len())
            .map(|col| {
                let x = frame.x_m(col) / self.cell_m;
                let [east, north] = [0, 1].map(|k| {
                    let n = &self.noise[k];
                    f64::from(n.at(1.7 * x, 1.7 * y) + 0.5 * n.at(4.1 * x, 4.1 * y))
                });
                [x + self.wander * east, y + self.wander * north]
            })
            .collect();
        let points = Points::round(&places, self);
        for (v, place) in values.iter_mut().zip(&places) {
            let plate = points.plate(*place);
            let crack = (plate.border / self.half_width).min(1.0);
            let open = 1.0 - crack * crack * (3.0 - 2.0 * crack);
            let curl = (1.0 - plate.border / 0.4).max(0.0);
            *v +=
                (self.curl * curl * curl + self.lift * plate.luck * (1.0 - open) - self.depth * open) as f32;
        }
    }
}

/// The points of all cells that places of a row can see.
struct Points {
    first: [i64; 2],
    cols: usize,
    /// Place and luck.
    points: Vec<[f64; 3]>,
}

impl Points {
    fn round(places: &[[f64; 2]], generation: &Generation) -> Self {
        let ends = [0, 1].map(|k| {
            let low = places.iter().map(|p| p[k]).fold(f64::INFINITY, f64::min);
            let high = places.iter().map(|p| p[k]).fold(f64::NEG_INFINITY, f64::max);
            (low.floor() as i64 - 2, high.floor() as i64 + 2)
        });
        let cols = (ends[0].1 - ends[0].0 + 1) as usize;
        let mut points = Vec::with_capacity(cols * (ends[1].1 - ends[1].0 + 1) as usize);
        for j in ends[1].0..=ends[1].1 {
            for i in ends[0].0..=ends[0].1 {
                let luck = Seed(generation.seed.bits2(i, j));
                let place = |k: u64, at: i64| at as f64 + 0.5 + generation.jitter * (luck.unit(k) - 0.5);
                points.push([place(0, i), place(1, j), 2.0 * luck.unit(2) - 1.0]);
            }
        }
        Self { first: [ends[0].0, ends[1].0], cols, points }
    }

    fn around(&self, [x, y]: [f64; 2]) -> impl Iterator<Item = &[f64; 3]> {
        let (i, j) = (
            (x.floor() as i64 - 2 - self.first[0]) as usize,
            (y.floor() as i64 - 2 - self.first[1]) as usize,
        );
        (j..j + 5).flat_map(move |r| &self.points[r * self.cols + i..r * self.cols + i + 5])
    }

    fn plate(&self, p: [f64; 2]) -> Plate {
        let (mut own, mut least) = ([0.0; 3], f64::INFINITY);
        for a in self.around(p) {
            let far = (a[0] - p[0]) * (a[0] - p[0]) + (a[1] - p[1]) * (a[1] - p[1]);
            if far < least {
                (own, least) = (*a, far);
            }
        }
        let mut border = f64::INFINITY;
        for b in self.around(p) {
            let (dx, dy) = (b[0] - own[0], b[1] - own[1]);
            let apart = dx * dx + dy * dy;
            if apart > 0.0 {
                let (mx, my) = (0.5 * (own[0] + b[0]) - p[0], 0.5 * (own[1] + b[1]) - p[1]);
                border = border.min((mx * dx + my * dy) / apart.sqrt());
            }
        }
        Plate { border: border.max(0.0), luck: own[2] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use orogen_core::testkit::assert_close;

    fn generation(params: &Cracks) -> Generation {
        Generation::new(params, 0, Seed(3))
    }

    #[test]
    fn the_distance_to_the_border_is_the_true_one() {
        let generation = generation(&Cracks::default());
        let places: Vec<[f64; 2]> =
            (0..400).map(|k| [40.0 * Seed(1).unit(2 * k), 40.0 * Seed(1).unit(2 * k + 1)]).collect();
        let near = Points::round(&places, &generation);
        // All points of the field, and the distance by halves along lines to every other point.
        for p in &places {
            let mut sorted: Vec<&[f64; 3]> = near.points.iter().collect();
            let far = |a: &[f64; 3]| math::hypot(a[0] - p[0], a[1] - p[1]);
            sorted.sort_by(|a, b| far(a).total_cmp(&far(b)));
            let own = sorted[0];
            let slow = sorted[1..]
                .iter()
                .map(|b| {
                    let (fa, fb) = (far(own), far(b));
                    (fb * fb - fa * fa) / (2.0 * math::hypot(b[0] - own[0], b[1] - own[1]))
                })
                .fold(f64::INFINITY, f64::min);
            let found = near.plate(*p).border;
            if slow < 0.4 {
                assert_close!(found, slow, abs = 1e-9);
            } else {
                assert!(found >= 0.4);
            }
        }
    }

    #[test]
    fn squares_without_jitter_crack_along_the_lattice() {
        let params = Cracks {
            jitter: 0.0,
            wander_m: 0.0,
            generations: 1,
            curl_m: 0.0,
            lift_m: 0.0,
            plate_m: 100.0,
            width_m: 20.0,
            depth_m: 8.0,
            level_m: 5.0,
        };
        let height = cracks(&params, &Frame::square(400.0, 401).unwrap(), &Ctx::silent()).unwrap();
        assert_close!(height.row(50)[100], -3.0, abs = 1e-5);
        assert_close!(height.row(50)[105], 5.0 - 8.0 * 0.5, abs = 1e-5);
        assert_eq!(height.row(50)[150], 5.0);
        assert_eq!(height.row(50)[111], 5.0);
    }

    #[test]
    fn no_ground_is_lower_than_all_cracks_together() {
        let params = Cracks { generations: 3, lift_m: 0.0, ..Cracks::default() };
        let height = cracks(&params, &Frame::square(2000.0, 257).unwrap(), &Ctx::silent()).unwrap();
        let (low, _) = height.range().unwrap();
        assert!((40.0 - 20.0 * 1.75..20.0).contains(&low), "{low}");
    }

    #[test]
    fn cracks_wider_than_plates_are_refused() {
        assert_eq!(Cracks { width_m: 390.0, ..Cracks::default() }.faults().len(), 1);
    }
}
