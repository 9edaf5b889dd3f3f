//! Cracks: dry ground broken into plates.

use std::collections::BTreeMap;

use orogen_core::param::Fault;
use orogen_core::{
    Cancelled, Ctx, Frame, Layers, Op, OpError, Prepared, Raster, Reach, Seed, Terrain, layer, math,
};
use rayon::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::noise::Noise;

/// Etches the borders of Voronoi polygons into flat ground: cracked mud, dry lakes, riverbeds, basalt.
///
/// Random points of the world, none nearer to another than 0.72 plates and none missing where one has room, own the
/// ground nearest to them: plates of all shapes and about one size, that follow no lattice. At a distance `d`
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
/// **Guarantees** (1) `d` is the true distance to the border, so cracks that do not wander have one width everywhere.
/// (2) The bottom of a crack lies `depth_m` below the plates, and no ground is lower than the bottoms of all
/// generations together. (3) A height depends on the seed and its place: tiles fit together to the bit. (4) No two
/// points are nearer than 0.72 plates, and no place is further from one than 1.44.
///
/// **Limits** Cracks narrower than two samples break up, and plates narrower than three are left out. To etch cracks into other land, make them in one step and add
/// the two with `combine.add`.
///
/// **After** Worley, "A cellular texture basis function", SIGGRAPH 1996, with points thrown like darts (Cook, ACM TOG
/// 5, 1986) in an order that depends on the place rather than on time, and the cracked lakes of Liarokapis, "Terrain
/// generation", Masaryk University 2016.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Cracks {
    /// Size of a plate.
    #[schemars(range(min = 0.01, max = 1e5), extend("x-unit" = "m", "x-slider" = [10.0, 1000.0]))]
    pub plate_m: f64,
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
    /// How far cracks wander from a straight line; at most 8 plates.
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
    const VERSION: u32 = 2;

    fn layers(&self) -> Layers {
        Layers::none().writing([layer::HEIGHT.name()])
    }

    fn reach(&self, _: &Frame) -> Reach {
        Reach::Point
    }

    fn endless(&self) -> bool {
        true
    }

    fn faults(&self) -> Vec<Fault> {
        let most = |name: &str, value: f64, plates: f64| {
            let most = plates * self.plate_m;
            (value > most)
                .then(|| Fault::of(name, format!("{value} is above {most:.4}, {plates} times plate_m")))
        };
        let faults = [most("width_m", self.width_m, 0.8), most("wander_m", self.wander_m, MOST_WANDER)];
        faults.into_iter().flatten().collect()
    }

    fn prepare(&self, _: &Frame, ctx: &Ctx<'_>) -> Result<Option<Box<dyn Prepared>>, OpError> {
        Ok(Some(Box::new(Plates::new(self, ctx.seed()))))
    }

    fn run(&self, terrain: Terrain, ctx: &Ctx<'_>) -> Result<Terrain, OpError> {
        Plates::new(self, ctx.seed()).run(terrain, ctx)
    }
}

/// How far cracks may wander, in plates: further off, neighbouring samples lie on plates that have nothing to do with each
/// other, and the points around them are too many.
const MOST_WANDER: f64 = 8.0;
/// How much smaller plates and cracks are a generation later.
const FINER: f64 = 3.0;
/// Least distance of two points, in plates: there is then about one point to a plate's area.
const APART: f64 = 0.72;
/// Side of a cell that holds one candidate. No two places of a cell are further apart than points must be.
const CELL: f64 = APART * std::f64::consts::FRAC_1_SQRT_2;
/// Furthest border that matters, in plates.
const EDGE: f64 = 0.4;
/// How far from a place points may matter. Every candidate is a point or has one within `APART`, and every place has a
/// candidate within `APART`; the point beyond a border lies at most twice the border further than the nearest one.
const SIGHT: f64 = 2.0 * APART + 2.0 * EDGE;
/// Rows that one thread takes at a time: points of the cells around them are found once.
const BAND: usize = 32;
/// Plates narrower than so many samples are left out.
const FEWEST: f64 = 3.0;

/// The algorithm alone: 4 bytes and some 50 distances a sample and generation.
///
/// # Errors
/// When cancelled.
pub fn cracks(params: &Cracks, frame: &Frame, ctx: &Ctx<'_>) -> Result<Raster<f32>, Cancelled> {
    Plates::new(params, ctx.seed()).etched(frame, ctx)
}

/// All generations of plates, which no window changes.
struct Plates {
    level_m: f32,
    generations: Vec<Generation>,
}

impl Plates {
    fn new(params: &Cracks, seed: Seed) -> Self {
        let generations = (0..params.generations).map(|g| Generation::new(params, g, seed)).collect();
        Self { level_m: params.level_m as f32, generations }
    }

    /// Level ground with the cracks of all generations whose plates the frame can show.
    fn etched(&self, frame: &Frame, ctx: &Ctx<'_>) -> Result<Raster<f32>, Cancelled> {
        let spacing = frame.spacing_m();
        let coarse = spacing[0].max(spacing[1]);
        let mut out = Raster::filled(frame.cols(), frame.rows(), self.level_m);
        let (cols, rows) = (frame.cols(), frame.rows());
        let counter = ctx.counter(rows.div_ceil(BAND));
        out.as_mut_slice().par_chunks_mut(cols * BAND).enumerate().try_for_each(|(band, values)| {
            for generation in self.generations.iter().filter(|g| g.cell_m >= FEWEST * coarse) {
                generation.etch(frame, band * BAND, values);
            }
            counter.done()
        })?;
        Ok(out)
    }
}

impl Prepared for Plates {
    fn run(&self, mut terrain: Terrain, ctx: &Ctx<'_>) -> Result<Terrain, OpError> {
        let height = self.etched(terrain.frame(), ctx)?;
        terrain.set(layer::HEIGHT, height);
        Ok(terrain)
    }
}

/// Plates of one size.
struct Generation {
    cell_m: f64,
    half_width: f64,
    depth: f64,
    curl: f64,
    lift: f64,
    wander: f64,
    darts: Darts,
    noise: [Noise; 2],
}

/// The plate that a place lies on, in cells.
struct Plate {
    border: f64,
    up: f64,
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
            darts: Darts { seed: seed.child("points") },
            noise: ["east", "north"].map(|way| Noise::new(seed.child(way))),
        }
    }

    /// Etches whole rows from `top` on.
    fn etch(&self, frame: &Frame, top: usize, values: &mut [f32]) {
        let cols = frame.cols();
        let spacing = frame.spacing_m();
        // Tiles about half a plate wide see few points.
        let side = |spacing: f64| ((0.5 * self.cell_m / spacing) as usize).clamp(4, BAND);
        let (wide, tall) = (side(spacing[0]), side(spacing[1]));
        let rows = values.len() / cols;
        let wandered: Vec<[f64; 2]> = (0..rows).flat_map(|row| self.wandered(frame, top + row)).collect();
        let mut known = BTreeMap::new();
        let (mut places, mut points) = (Vec::new(), Vec::new());
        for row in (0..rows).step_by(tall) {
            for col in (0..cols).step_by(wide) {
                let (across, down) = (wide.min(cols - col), tall.min(rows - row));
                places.clear();
                for r in row..row + down {
                    places.extend_from_slice(&wandered[r * cols + col..r * cols + col + across]);
                }
                self.darts.points_near(&places, &mut known, &mut points);
                for (k, place) in places.iter().enumerate() {
                    let v = &mut values[(row + k / across) * cols + col + k % across];
                    *v += self.height(&plate(&points, *place));
                }
            }
        }
    }

    /// Where the places of a row are looked up, in plates.
    fn wandered(&self, frame: &Frame, row: usize) -> Vec<[f64; 2]> {
        let y = frame.y_m(row) / self.cell_m;
        let xs: Vec<f64> = (0..frame.cols()).map(|c| frame.x_m(c) / self.cell_m).collect();
        let mut places: Vec<[f64; 2]> = xs.iter().map(|&x| [x, y]).collect();
        let (mut lines, mut wave) = (Vec::new(), vec![0.0f32; xs.len()]);
        for (finer, weight) in [(1.1, 1.0), (2.7, 0.4)] {
            let scaled: Vec<f64> = xs.iter().map(|x| finer * x).collect();
            for (k, noise) in self.noise.iter().enumerate() {
                noise.row(&scaled, finer * y, &mut lines, &mut wave);
                for (place, w) in places.iter_mut().zip(&wave) {
                    place[k] += self.wander * weight * f64::from(*w);
                }
            }
        }
        places
    }

    fn height(&self, plate: &Plate) -> f32 {
        let crack = (plate.border / self.half_width).min(1.0);
        let open = 1.0 - crack * crack * (3.0 - 2.0 * crack);
        let curl = (1.0 - plate.border / EDGE).max(0.0);
        (self.curl * curl * curl + self.lift * plate.up * (1.0 - open) - self.depth * open) as f32
    }
}

/// The plate that a place lies on, by the points that it may see.
fn plate(points: &[[f64; 3]], p: [f64; 2]) -> Plate {
    let (mut own, mut least) = ([0.0; 3], f64::INFINITY);
    for a in points {
        let far = (a[0] - p[0]) * (a[0] - p[0]) + (a[1] - p[1]) * (a[1] - p[1]);
        if far < least {
            (own, least) = (*a, far);
        }
    }
    let mut border = f64::INFINITY;
    // A plate further off has its border beyond the one that matters.
    let sight = least.sqrt() + 2.0 * EDGE;
    for b in points {
        let far = (b[0] - p[0]) * (b[0] - p[0]) + (b[1] - p[1]) * (b[1] - p[1]);
        let (dx, dy) = (b[0] - own[0], b[1] - own[1]);
        let apart = dx * dx + dy * dy;
        if far <= sight * sight && apart > 0.0 {
            let (mx, my) = (0.5 * (own[0] + b[0]) - p[0], 0.5 * (own[1] + b[1]) - p[1]);
            border = border.min((mx * dx + my * dy) / apart.sqrt());
        }
    }
    Plate { border: border.max(0.0), up: own[2] }
}

/// Points of the world that keep their distance: every cell throws one dart, and a dart sticks when none that sticks
/// and comes before it lies too near. Which comes first is random, so a dart depends on the few around it and on
/// nothing else.
struct Darts {
    seed: Seed,
}

impl Darts {
    /// Place and random number of a cell's dart, and its turn.
    fn dart(&self, (i, j): (i64, i64)) -> ([f64; 3], u64) {
        let own_seed = Seed(self.seed.bits2(i, j));
        let at = [(i as f64 + own_seed.unit(0)) * CELL, (j as f64 + own_seed.unit(1)) * CELL];
        ([at[0], at[1], 2.0 * own_seed.unit(2) - 1.0], own_seed.bits(3))
    }

    /// Whether a dart sticks. Darts that come before one another form no circle, so this ends.
    fn sticks(&self, cell: (i64, i64), known: &mut BTreeMap<(i64, i64), bool>) -> bool {
        if let Some(sticks) = known.get(&cell) {
            return *sticks;
        }
        let (own, turn) = self.dart(cell);
        let mut before = Vec::new();
        for j in cell.1 - 2..=cell.1 + 2 {
            for i in cell.0 - 2..=cell.0 + 2 {
                let (other, its_turn) = self.dart((i, j));
                let (dx, dy) = (other[0] - own[0], other[1] - own[1]);
                if (its_turn, i, j) < (turn, cell.0, cell.1) && dx * dx + dy * dy < APART * APART {
                    before.push((its_turn, i, j));
                }
            }
        }
        // The earliest first: they wait for the fewest others.
        before.sort_unstable();
        let sticks = !before.iter().any(|&(_, i, j)| self.sticks((i, j), known));
        known.insert(cell, sticks);
        sticks
    }

    /// All points that places may see, in the order of their cells.
    fn points_near(
        &self,
        places: &[[f64; 2]],
        known: &mut BTreeMap<(i64, i64), bool>,
        points: &mut Vec<[f64; 3]>,
    ) {
        let low = [0, 1].map(|k| places.iter().map(|p| p[k]).fold(f64::INFINITY, f64::min));
        let high = [0, 1].map(|k| places.iter().map(|p| p[k]).fold(f64::NEG_INFINITY, f64::max));
        let [cols, rows] = [0, 1]
            .map(|k| (((low[k] - SIGHT) / CELL).floor() as i64, ((high[k] + SIGHT) / CELL).floor() as i64));
        points.clear();
        for j in rows.0..=rows.1 {
            for i in cols.0..=cols.1 {
                if self.sticks((i, j), known) {
                    points.push(self.dart((i, j)).0);
                }
            }
        }
        // Of those, few are near enough: no place is further from the middle than `half`, so none is further from its
        // nearest point than the middle is from its own and `half`.
        let middle = [0, 1].map(|k| 0.5 * (low[k] + high[k]));
        let half = 0.5 * math::hypot(high[0] - low[0], high[1] - low[1]);
        let far = |p: &[f64; 3]| math::hypot(p[0] - middle[0], p[1] - middle[1]);
        let sight = points.iter().map(far).fold(f64::INFINITY, f64::min) + 2.0 * half + 2.0 * EDGE + 1e-9;
        points.retain(|p| far(p) <= sight);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use orogen_core::testkit::assert_close;

    fn generation(params: &Cracks) -> Generation {
        Generation::new(params, 0, Seed(3))
    }

    /// All points of a field, and places in its middle.
    fn field(generation: &Generation) -> (Vec<[f64; 3]>, Vec<[f64; 2]>) {
        let mut points = Vec::new();
        let corners = [[-5.0, -5.0], [35.0, -5.0], [-5.0, 35.0], [35.0, 35.0]];
        generation.darts.points_near(&corners, &mut BTreeMap::new(), &mut points);
        let place = |k: u64| [30.0 * Seed(1).unit(2 * k), 30.0 * Seed(1).unit(2 * k + 1)];
        (points, (0..400).map(place).collect())
    }

    #[test]
    fn the_distance_to_the_border_is_the_true_one() {
        let generation = generation(&Cracks::default());
        let (all, places) = field(&generation);
        for p in &places {
            let mut sorted: Vec<&[f64; 3]> = all.iter().collect();
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
            let mut near = Vec::new();
            generation.darts.points_near(&[*p], &mut BTreeMap::new(), &mut near);
            let found = plate(&near, *p).border;
            if slow < EDGE {
                assert_close!(found, slow, abs = 1e-9);
            } else {
                assert!(found >= EDGE);
            }
        }
    }

    #[test]
    fn points_keep_their_distance_and_leave_no_hole() {
        let (all, places) = field(&generation(&Cracks::default()));
        for (k, a) in all.iter().enumerate() {
            for b in &all[k + 1..] {
                assert!(math::hypot(a[0] - b[0], a[1] - b[1]) >= APART);
            }
        }
        for p in &places {
            let nearest =
                all.iter().map(|a| math::hypot(a[0] - p[0], a[1] - p[1])).fold(f64::INFINITY, f64::min);
            assert!(nearest <= 2.0 * APART);
        }
        // About one to a plate's area.
        let inside =
            all.iter().filter(|a| (0.0..30.0).contains(&a[0]) && (0.0..30.0).contains(&a[1])).count();
        assert!((0.85..1.15).contains(&(inside as f64 / 900.0)), "{inside} of 900");
    }

    #[test]
    fn points_follow_no_lattice() {
        // The share of points in each tenth of the cells' period is the same within chance, along both axes.
        let (all, _) = field(&generation(&Cracks::default()));
        for axis in 0..2 {
            let mut tenths = [0.0f64; 10];
            for p in &all {
                let cells = p[axis] / CELL;
                tenths[(10.0 * (cells - cells.floor())) as usize] += 1.0;
            }
            let mean = all.len() as f64 / 10.0;
            let chi: f64 = tenths.iter().map(|n| (n - mean) * (n - mean) / mean).sum();
            assert!(chi < 25.0, "{tenths:?}"); // 1 in 300 by chance
        }
    }

    #[test]
    fn a_crack_is_as_deep_and_as_wide_as_said() {
        let params = Cracks {
            wander_m: 0.0,
            generations: 1,
            curl_m: 0.0,
            lift_m: 0.0,
            plate_m: 100.0,
            width_m: 20.0,
            depth_m: 8.0,
            level_m: 5.0,
        };
        let generation = generation(&params);
        let at = |border_m: f64| 5.0 + generation.height(&Plate { border: border_m / 100.0, up: 0.5 });
        assert_close!(at(0.0), -3.0, abs = 1e-5);
        assert_close!(at(5.0), 1.0, abs = 1e-5);
        assert_eq!(at(10.0), 5.0);
        let height = cracks(&params, &Frame::square(1000.0, 501).unwrap(), &Ctx::silent()).unwrap();
        let (low, high) = height.range().unwrap();
        assert!((-3.0..-2.9).contains(&low) && high == 5.0, "{low} to {high}");
    }

    #[test]
    fn no_ground_is_lower_than_all_cracks_together() {
        let params = Cracks { generations: 3, lift_m: 0.0, ..Cracks::default() };
        let height = cracks(&params, &Frame::square(2000.0, 257).unwrap(), &Ctx::silent()).unwrap();
        let (low, _) = height.range().unwrap();
        assert!((40.0 - 20.0 * 1.75..20.0).contains(&low), "{low}");
    }

    #[test]
    fn plates_that_samples_cannot_show_are_left_out() {
        let params = Cracks { plate_m: 1.0, width_m: 0.5, ..Cracks::default() };
        let height = cracks(&params, &Frame::square(2e6, 65).unwrap(), &Ctx::silent()).unwrap();
        assert_eq!(height.range(), Some((40.0, 40.0)));
    }

    #[test]
    fn cracks_wider_than_plates_are_refused() {
        assert_eq!(Cracks { width_m: 390.0, ..Cracks::default() }.faults().len(), 1);
    }
}
