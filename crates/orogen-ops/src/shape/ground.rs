//! Ground: the last metres of relief, from rock and cover.

use orogen_core::math::{self, smoothstep};
use orogen_core::{
    Cancelled, Ctx, Frame, LayerName, Layers, Op, OpError, Raster, Reach, Seed, Terrain, layer,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::octaves::{OctaveBuffers, Octaves};

const SOIL: LayerName = LayerName::fixed("soil");
const HARDNESS: LayerName = LayerName::fixed("hardness");

/// Adds what one sees of the ground from close by: ledges along beds of rock, blocks between joints, boulders below cliffs,
/// hummocks and tussocks on soil.
///
/// ```text
/// height += f · dry · ( rock · (beds + blocks + grain) + boulders + soil · hummocks )
/// beds    = T/2π Σ c_k/k · sin 2πk u,      u = (height + x tan dip) / T
/// f       = min(1, (tan hold − S) / (steepest that all of it can be))
/// ```
///
/// `S` is the slope of the land over `over_m`, whatever the spacing. Rock is bare where the land is steeper than `bare_deg`, or where
/// the layer `soil` or `sediment` says that little lies on it; boulders lie below ground that is steeper still. Every part has a
/// wavelength, and comes in as the spacing becomes fine enough: not at all at two samples a wave, fully at four. So land of
/// 40 m cells is left alone, and what shows at 4 m is there at 1 m too.
///
/// **Guarantees** (1) nothing changes where there is water (layer `water`, or the sea), and land stays land; (2) nothing finer
/// than two samples is added; (3) land that is no steeper than what it holds (`soil_deg` with cover, `hold_deg` bare) does not
/// become steeper than that by what is added; (4) with `strength = 0` nothing changes; (5) any window equals the whole, to the bit.
///
/// **Limits** Boulders and blocks are part of the height, so nothing overhangs. Slopes count as they are over `over_m`: where the
/// land itself has cliffs shorter than that, what is added comes on top of them. On land that loops beds are level and joints follow the
/// axes. Rivers, lakes and coasts as lines are kept, as nothing changes on water. A hole stays a hole.
///
/// **After** the idea of relief by cover and steepness, as surveyors describe bare and covered ground; the shapes are ours.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Ground {
    /// How strong all of it is; 1 as in nature.
    #[schemars(range(min = 0.0, max = 3.0))]
    pub strength: f64,
    /// Thickness of the beds that make ledges; 0 for rock without beds.
    #[schemars(range(min = 0.0, max = 1e3), extend("x-unit" = "m", "x-slider" = [0.0, 20.0]))]
    pub beds_m: f64,
    /// How steeply beds dip.
    #[schemars(range(min = 0.0, max = 60.0), extend("x-unit" = "deg"))]
    pub dip_deg: f64,
    /// Where they dip to, clockwise from north.
    #[schemars(range(min = 0.0, max = 360.0), extend("x-unit" = "deg"))]
    pub toward_deg: f64,
    /// Distance between joints, the size of blocks; 0 for none.
    #[schemars(range(min = 0.0, max = 1e3), extend("x-unit" = "m", "x-slider" = [0.0, 20.0]))]
    pub joints_m: f64,
    /// Diameter of the largest boulders; 0 for none.
    #[schemars(range(min = 0.0, max = 100.0), extend("x-unit" = "m", "x-slider" = [0.0, 10.0]))]
    pub boulders_m: f64,
    /// Distance between the largest hummocks, and between bumps of rough rock; 0 for none.
    #[schemars(range(min = 0.0, max = 1e3), extend("x-unit" = "m", "x-slider" = [0.0, 20.0]))]
    pub hummocks_m: f64,
    /// Slope from which rock is bare.
    #[schemars(range(min = 1.0, max = 80.0), extend("x-unit" = "deg", "x-slider" = [20.0, 50.0]))]
    pub bare_deg: f64,
    /// Steepest that covered ground may become.
    #[schemars(range(min = 1.0, max = 80.0), extend("x-unit" = "deg", "x-slider" = [25.0, 45.0]))]
    pub soil_deg: f64,
    /// Steepest that bare rock may become.
    #[schemars(range(min = 1.0, max = 85.0), extend("x-unit" = "deg", "x-slider" = [45.0, 80.0]))]
    pub hold_deg: f64,
    /// Distance over which slopes are measured.
    #[schemars(range(min = 1.0, max = 1e4), extend("x-unit" = "m", "x-slider" = [10.0, 50.0]))]
    pub over_m: f64,
    /// Whether land at or below sea level (0 m) is sea.
    pub sea: bool,
}

impl Default for Ground {
    fn default() -> Self {
        Self {
            strength: 1.0,
            beds_m: 5.0,
            dip_deg: 8.0,
            toward_deg: 120.0,
            joints_m: 7.0,
            boulders_m: 4.0,
            hummocks_m: 8.0,
            bare_deg: 32.0,
            soil_deg: 40.0,
            hold_deg: 68.0,
            over_m: 20.0,
            sea: true,
        }
    }
}

impl Op for Ground {
    const ID: &'static str = "shape.ground";
    const VERSION: u32 = 1;

    fn layers(&self) -> Layers {
        Layers::none()
            .updating([layer::HEIGHT.name()])
            .using([layer::WATER.name(), layer::SEDIMENT.name(), SOIL, HARDNESS])
            .keeping_vectors(["rivers", "lakes", "coast"])
    }

    fn reach(&self, frame: &Frame) -> Reach {
        let [dx, dy] = frame.spacing_m();
        Reach::Within(self.over_m + 2.0 * dx.max(dy))
    }

    fn bytes_a_sample(&self, _: &Frame) -> f64 {
        5.0
    }

    fn run(&self, mut terrain: Terrain, ctx: &Ctx<'_>) -> Result<Terrain, OpError> {
        let frame = *terrain.frame();
        let parts = Parts::new(self, &frame, &ctx.world(&terrain), ctx.seed());
        if parts.is_nothing() {
            return Ok(terrain);
        }
        let kept: Vec<_> = ["rivers", "lakes", "coast"]
            .into_iter()
            .filter_map(|name| Some((name, terrain.vectors().get(name)?.clone())))
            .collect();
        let cover = Cover {
            height: terrain.get(layer::HEIGHT)?,
            water: terrain.get(layer::WATER).ok(),
            sediment: terrain.get(layer::SEDIMENT).ok(),
            soil: terrain.get_named(&SOIL).ok(),
            hardness: terrain.get_named(&HARDNESS).ok(),
        };
        let height = ground(&cover, &frame, self, &parts, ctx)?;
        terrain.set(layer::HEIGHT, height);
        for (name, vectors) in kept {
            terrain.set_vector(name, vectors);
        }
        Ok(terrain)
    }
}

/// What the ground is made of.
struct Cover<'a> {
    height: &'a Raster<f32>,
    water: Option<&'a Raster<f32>>,
    sediment: Option<&'a Raster<f32>>,
    soil: Option<&'a Raster<f32>>,
    hardness: Option<&'a Raster<f32>>,
}

/// Strengths of the waves of a bed: treads that are nearly level, risers more than twice as steep as the slope.
const BED: [f32; 3] = [0.9, 0.45, 0.2];
/// Height of blocks, boulders, bumps of rock and hummocks as shares of their size, and the steepest they are then.
const BLOCK: [f32; 2] = [0.2, 1.0];
const BOULDER: [f32; 2] = [0.3, 0.93];
const GRAIN: [f32; 2] = [0.035, 0.2];
const HUMMOCK: [f32; 2] = [0.02, 0.12];
/// Depth of soil and sediment that hides the rock.
const HIDDEN_M: f32 = 0.5;

/// How much of a wave of some length, in samples, a lattice can carry.
fn band(samples: f64) -> f32 {
    smoothstep(2.0, 4.0, samples.min(1e6) as f32)
}

/// All that does not change from sample to sample.
struct Parts {
    spacing_m: f64,
    beds_m: f32,
    /// Rise of the beds to the east and to the north.
    dip: [f32; 2],
    fold: Octaves,
    /// Where beds show.
    patches: Octaves,
    seed: Seed,
    blocks: Vec<Cells>,
    boulders: Vec<Cells>,
    grain: Vec<(f32, f32, Octaves)>,
}

/// A lattice of cells, each with numbers of its own.
struct Cells {
    seed: Seed,
    /// Directions of its axes.
    turn: [f64; 2],
    size_m: [f64; 2],
    /// How many there are in a world that loops.
    count: Option<[i64; 2]>,
    /// How much of it the spacing can carry.
    weight: f32,
}

impl Parts {
    fn new(params: &Ground, frame: &Frame, world: &Frame, seed: Seed) -> Self {
        let [dx, dy] = frame.spacing_m();
        let spacing_m = dx.max(dy);
        let cells = |name: &str, size_m: f64, turn_deg: f64, weight: f32| {
            let size = world.size_m();
            let count =
                world.loops().then(|| size.map(|side| (side / size_m).round().clamp(1.0, 1e9) as i64));
            let side = |axis: usize| count.map_or(size_m, |count| size[axis] / count[axis] as f64);
            let turn = if world.loops() { 0.0 } else { turn_deg.to_radians() };
            Cells {
                seed: seed.child(name),
                turn: [math::cos(turn), math::sin(turn)],
                size_m: [side(0), side(1)],
                count,
                weight,
            }
        };
        let halves = |size_m: f64, name: &'static str, wide: f64| {
            (0..3)
                .map(move |k| (size_m / f64::from(1 << k), format!("{name} {k}"), wide))
                .filter(|(size, _, _)| *size > 0.0)
        };
        let blocks = halves(params.joints_m, "blocks", 1.0)
            .map(|(size, name, _)| cells(&name, size, 23.0 + 7.0 * size, band(size / spacing_m)));
        let boulders = halves(params.boulders_m, "boulders", 1.6)
            .map(|(size, name, wide)| cells(&name, wide * size, 0.0, band(size / spacing_m)));
        let grain = halves(params.hummocks_m, "grain", 1.0).map(|(size, name, _)| {
            let noise = Octaves::over(world, seed.child(&name), size, 1, 1.0);
            (band(size / spacing_m), size as f32, noise)
        });
        let dip = if world.loops() { 0.0 } else { math::tan(params.dip_deg.to_radians()) };
        let toward = params.toward_deg.to_radians();
        Self {
            spacing_m,
            beds_m: params.beds_m as f32,
            dip: [(dip * math::sin(toward)) as f32, (dip * math::cos(toward)) as f32],
            fold: Octaves::over(world, seed.child("folds"), 40.0 * params.beds_m.max(1.0), 2, 0.5),
            patches: Octaves::over(world, seed.child("patches"), 9.0 * params.beds_m.max(1.0), 3, 0.7),
            seed: seed.child("beds"),
            blocks: blocks.filter(|cells| cells.weight > 0.0).collect(),
            boulders: boulders.filter(|cells| cells.weight > 0.0).collect(),
            grain: grain.filter(|(weight, _, _)| *weight > 0.0).collect(),
        }
    }

    /// Beds of uneven thickness: where a place lies in them, and how much of a ledge its bed makes, from 0 to 1.
    fn bed(&self, u: f64) -> (f64, f32) {
        let turn = |per: f64, shift: f64| math::sin(std::f64::consts::TAU * (u / per + shift));
        let u = u + 0.4 * turn(5.3, 0.1) + 0.25 * turn(2.9, 0.6);
        // From the middle of one bed to the middle of the next.
        let low = (u - 0.5).floor();
        let strong = |bed: f64| {
            let unit = self.seed.unit((bed as i64 as u64).wrapping_add(1 << 32)) as f32;
            unit * unit
        };
        let t = (u - 0.5 - low) as f32;
        (u, strong(low) + (strong(low + 1.0) - strong(low)) * t)
    }

    /// Whether the spacing carries none of it. Beds show on slopes, so they are no longer than they are thick by far.
    fn is_nothing(&self) -> bool {
        let beds = f64::from(self.beds_m) * 8.0 > 2.0 * self.spacing_m;
        !beds && self.blocks.is_empty() && self.boulders.is_empty() && self.grain.is_empty()
    }
}

/// The algorithm alone.
fn ground(
    cover: &Cover<'_>,
    frame: &Frame,
    params: &Ground,
    parts: &Parts,
    ctx: &Ctx<'_>,
) -> Result<Raster<f32>, Cancelled> {
    let near = Ring::new(frame, 0.5 * params.over_m);
    let far = Ring::new(frame, params.over_m);
    let tan = |deg: f64| math::tan(deg.to_radians()) as f32;
    let (bare, hold, soft) = (tan(params.bare_deg), tan(params.hold_deg), tan(params.soil_deg));
    let strength = params.strength as f32;
    let counter = ctx.counter(frame.rows());
    let mut out = cover.height.clone();
    out.try_par_rows(|row, heights| {
        let y = frame.y_m(row);
        let (mut buffers, cols) = (OctaveBuffers::default(), heights.len());
        let mut fold = vec![0.0; cols];
        parts.fold.row(frame, row, 0..cols, &mut buffers, &mut fold);
        let mut patch = vec![0.0; cols];
        parts.patches.row(frame, row, 0..cols, &mut buffers, &mut patch);
        let noises: Vec<Vec<f32>> = (parts.grain.iter())
            .map(|(_, _, noise)| {
                let mut line = vec![0.0; cols];
                noise.row(frame, row, 0..cols, &mut buffers, &mut line);
                line
            })
            .collect();
        for (col, height) in heights.iter_mut().enumerate() {
            let here = *height;
            let at = |raster: Option<&Raster<f32>>| raster.map(|raster| raster.row(row)[col]);
            let wet = at(cover.water).is_some_and(|depth| depth > 0.0);
            // Holes fail the comparison.
            if wet || !(here > 0.0 || (!params.sea && here.is_finite())) {
                continue;
            }
            let ([east, north], _) = near.gradient(cover.height, col, row);
            let slope = (east * east + north * north).sqrt();
            let (_, above) = far.gradient(cover.height, col, row);
            if !slope.is_finite() || !above.is_finite() {
                continue;
            }
            // What lies on the rock.
            let loose = at(cover.sediment).unwrap_or(0.0).max(at(cover.soil).unwrap_or(0.0)).max(0.0);
            let steep = smoothstep(0.8 * bare, 1.25 * bare, slope);
            let rock = match cover.soil {
                Some(_) => (1.0 - loose / HIDDEN_M).max(0.0) * smoothstep(0.4 * bare, bare, slope),
                None => (1.0 - 0.7 * (loose / HIDDEN_M).min(1.0)) * steep,
            };
            let mud = smoothstep(0.2, 1.0, at(cover.sediment).unwrap_or(0.0))
                * (1.0 - smoothstep(0.03, 0.1, slope));
            let soil = (1.0 - rock) * (1.0 - mud);
            let hard = at(cover.hardness).map_or(1.0, |hard| 0.5 + hard.clamp(0.0, 1.0));
            // Below ground that is steeper than where it lies, on slopes that still hold it.
            let below =
                smoothstep(0.9 * bare, 1.6 * bare, above) * (1.0 - smoothstep(bare, 1.3 * bare, slope));
            let scree =
                below.max(0.3 * smoothstep(0.6 * bare, 0.9 * bare, slope) * (1.0 - steep)) * (1.0 - mud);

            let x = frame.x_m(col);
            // What is added, and the steepest that it can be.
            let (mut more, mut most) = (0.0f32, 0.0f32);
            if rock > 0.0 && parts.beds_m > 0.0 {
                let place = x * f64::from(parts.dip[0]) + y * f64::from(parts.dip[1]);
                let u = (f64::from(here) + place) / f64::from(parts.beds_m) + 1.5 * f64::from(fold[col]);
                let (u, strong) = parts.bed(u);
                let (gx, gy) = (east + parts.dip[0], north + parts.dip[1]);
                let across = (gx * gx + gy * gy).sqrt();
                // Beds come and go along the slope.
                let shown = rock * hard * strong * smoothstep(-0.25, 0.35, patch[col]);
                for (k, c) in BED.iter().enumerate() {
                    let wave = (k + 1) as f32;
                    let long = f64::from(parts.beds_m / (wave * across.max(1e-6)));
                    let c = shown * c * band(long / parts.spacing_m);
                    if c > 0.0 {
                        let turns = f64::from(wave) * u;
                        let sin = math::sin(std::f64::consts::TAU * (turns - turns.floor())) as f32;
                        more += c * parts.beds_m / (std::f32::consts::TAU * wave) * sin;
                        // Uneven beds are thinner in places.
                        most += 2.0 * c * across;
                    }
                }
            }
            if rock > 0.0 {
                for cells in &parts.blocks {
                    let by = rock * hard * cells.weight;
                    more += by * BLOCK[0] * cells.size_m[0] as f32 * cells.blocks(x, y);
                    most += by * BLOCK[1];
                }
            }
            if scree > 0.0 {
                for cells in &parts.boulders {
                    let by = cells.weight;
                    more += by * BOULDER[0] * cells.boulders(x, y, scree);
                    most += by * BOULDER[1];
                }
            }
            for ((weight, size, _), noise) in parts.grain.iter().zip(&noises) {
                let by = weight * (rock * GRAIN[0] + soil * HUMMOCK[0]);
                more += by * size * noise[col];
                most += weight * (rock * GRAIN[1] + soil * HUMMOCK[1]);
            }
            let limit = soft + (hold - soft) * rock.max(0.6 * scree);
            let room = (limit.max(soft) - slope).max(0.0);
            let mut by = strength;
            if most * by > room {
                by = room / most;
            }
            // Less beside water and above the sea: shores stay where they are.
            by *= near.dry(cover.water, col, row);
            if params.sea {
                by *= smoothstep(0.0, 3.0, here);
            }
            let more = by * more;
            if more != 0.0 {
                *height = if params.sea { (here + more).max(0.5 * here) } else { here + more };
            }
        }
        counter.done()
    })?;
    Ok(out)
}

/// Places some distance to the east, west, north and south, between samples.
struct Ring {
    /// Whole samples and the rest, along rows and columns.
    steps: [(usize, f32); 2],
    distance_m: [f32; 2],
}

impl Ring {
    fn new(frame: &Frame, distance_m: f64) -> Self {
        let spacing_m = frame.spacing_m();
        let of = |axis: usize| (distance_m / spacing_m[axis]).max(1.0);
        let step = |axis: usize| (of(axis).floor() as usize, (of(axis) - of(axis).floor()) as f32);
        Self { steps: [step(0), step(1)], distance_m: [0, 1].map(|axis| (of(axis) * spacing_m[axis]) as f32) }
    }

    /// The gradient to the east and north, and the steepest rise from here to any of the four places.
    fn gradient(&self, height: &Raster<f32>, col: usize, row: usize) -> ([f32; 2], f32) {
        let here = height.row(row)[col];
        let [east, west, north, south] = self.around(height, col, row);
        let [dx, dy] = self.distance_m;
        let side = |up: f32, down: f32, d: f32, both: bool| (up - down) / if both { 2.0 * d } else { d };
        let inside = |at: usize, count: usize, step: (usize, f32)| at > step.0 && at + step.0 + 1 < count;
        let gradient = [
            side(east, west, dx, inside(col, height.cols(), self.steps[0])),
            side(north, south, dy, inside(row, height.rows(), self.steps[1])),
        ];
        let rise = [(east - here) / dx, (west - here) / dx, (north - here) / dy, (south - here) / dy];
        let highest =
            rise.into_iter().fold(f32::NEG_INFINITY, |a, b| if b > a || b.is_nan() { b } else { a });
        (gradient, highest)
    }

    /// Values to the east, west, north and south; beyond the edge the last one.
    fn around(&self, raster: &Raster<f32>, col: usize, row: usize) -> [f32; 4] {
        let (col, row) = (col as isize, row as isize);
        let [(cols, x), (rows, y)] = self.steps.map(|(whole, rest)| (whole as isize, rest));
        let mix = |a: f32, b: f32, t: f32| a + (b - a) * t;
        [
            mix(raster.clamped(col + cols, row), raster.clamped(col + cols + 1, row), x),
            mix(raster.clamped(col - cols, row), raster.clamped(col - cols - 1, row), x),
            mix(raster.clamped(col, row - rows), raster.clamped(col, row - rows - 1), y),
            mix(raster.clamped(col, row + rows), raster.clamped(col, row + rows + 1), y),
        ]
    }

    /// 1 far from water, less beside it.
    fn dry(&self, water: Option<&Raster<f32>>, col: usize, row: usize) -> f32 {
        let Some(water) = water else { return 1.0 };
        let wet = self.around(water, col, row).into_iter().filter(|depth| *depth > 0.0).count();
        1.0 - 0.2 * wet as f32
    }
}

impl Cells {
    /// The cell of a place, and where in it, in cells.
    fn at(&self, x: f64, y: f64) -> ([i64; 2], [f32; 2]) {
        let [cos, sin] = self.turn;
        let u = [(x * cos + y * sin) / self.size_m[0], (y * cos - x * sin) / self.size_m[1]];
        (u.map(|u| u.floor() as i64), u.map(|u| (u - u.floor()) as f32))
    }

    fn bits(&self, cell: [i64; 2]) -> u64 {
        let [x, y] = self.count.map_or(cell, |n| [cell[0].rem_euclid(n[0]), cell[1].rem_euclid(n[1])]);
        self.seed.bits2(x, y)
    }

    /// Blocks of rock: level in the middle, -1 to 1.
    fn blocks(&self, x: f64, y: f64) -> f32 {
        let (cell, inside) = self.at(x, y);
        let value = |i: i64, j: i64| {
            (self.bits([cell[0] + i, cell[1] + j]) >> 40) as f32 * (2.0 / 16_777_216.0) - 1.0
        };
        // From the middle of this cell to that of the next; the way between them is short.
        let side = |t: f32| if t < 0.5 { (-1, t + 0.5) } else { (0, t - 0.5) };
        let ((i, s), (j, t)) = (side(inside[0]), side(inside[1]));
        let (s, t) = (smoothstep(0.2, 0.8, s), smoothstep(0.2, 0.8, t));
        let mix = |a: f32, b: f32, t: f32| a + (b - a) * t;
        0.5 * mix(mix(value(i, j), value(i + 1, j), s), mix(value(i, j + 1), value(i + 1, j + 1), s), t)
    }

    /// Height of boulders in diameters of theirs times metres: as many of the cells have one as `share` says.
    fn boulders(&self, x: f64, y: f64, share: f32) -> f32 {
        let (cell, inside) = self.at(x, y);
        let mut highest = 0.0f32;
        for j in -1..=1i64 {
            for i in -1..=1i64 {
                let bits = self.bits([cell[0] + i, cell[1] + j]);
                let part = |shift: u32| ((bits >> shift) & 0xffff) as f32 / 65536.0;
                let there = ((share - part(0)) * 6.0).clamp(0.0, 1.0);
                if there <= 0.0 {
                    continue;
                }
                // Half a diameter of the largest fits between the middles of cells.
                let size = 0.55 + 0.45 * part(16);
                let radius = 0.31 * size;
                let dx = (inside[0] - (i as f32 + 0.3 + 0.4 * part(32))) * self.size_m[0] as f32;
                let dy = (inside[1] - (j as f32 + 0.3 + 0.4 * part(48))) * self.size_m[1] as f32;
                let radius_m = radius * self.size_m[0] as f32;
                let near = 1.0 - (dx * dx + dy * dy) / (radius_m * radius_m);
                if near > 0.0 {
                    highest = highest.max(there * 2.0 * radius_m * near * near);
                }
            }
        }
        highest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plane(spacing_m: f64, samples: usize, grade: f64) -> Terrain {
        let frame = Frame::square(spacing_m * (samples - 1) as f64, samples).unwrap();
        on(&frame, |x, y| 400.0 + grade * (0.8 * x + 0.6 * y))
    }

    fn on(frame: &Frame, height: impl Fn(f64, f64) -> f64 + Sync) -> Terrain {
        let mut terrain = Terrain::new(*frame);
        terrain.set(
            layer::HEIGHT,
            Raster::from_fn(frame.cols(), frame.rows(), |col, row| {
                height(frame.x_m(col), frame.y_m(row)) as f32
            }),
        );
        terrain
    }

    fn added(op: &Ground, terrain: &Terrain) -> Raster<f32> {
        let out = op.apply(terrain.clone(), &Ctx::silent()).unwrap();
        let (a, b) = (out.get(layer::HEIGHT).unwrap(), terrain.get(layer::HEIGHT).unwrap());
        Raster::from_fn(a.cols(), a.rows(), |col, row| a.row(row)[col] - b.row(row)[col])
    }

    fn rms(raster: &Raster<f32>) -> f64 {
        let sum: f64 = raster.as_slice().iter().map(|v| f64::from(v * v)).sum();
        (sum / raster.as_slice().len() as f64).sqrt()
    }

    fn steepest(height: &Raster<f32>, spacing_m: f32) -> f32 {
        let mut most = 0.0f32;
        for row in 1..height.rows() - 1 {
            for col in 1..height.cols() - 1 {
                let x = (height.row(row)[col + 1] - height.row(row)[col - 1]) / (2.0 * spacing_m);
                let y = (height.row(row + 1)[col] - height.row(row - 1)[col]) / (2.0 * spacing_m);
                most = most.max((x * x + y * y).sqrt());
            }
        }
        most
    }

    #[test]
    fn steep_rock_is_rough_and_gentle_soil_is_not() {
        let strength = |grade: f64| rms(&added(&Ground::default(), &plane(1.0, 201, grade)));
        let [flat, gentle, middling, steep] = [0.02, 0.2, 0.5, 1.0].map(strength);
        // Decimetres at most on soil, up to a metre on rock.
        assert!((0.01..0.15).contains(&flat) && (0.01..0.15).contains(&gentle), "{flat} {gentle}");
        assert!(middling > gentle && steep > 2.0 * gentle, "{middling} {steep}");
        assert!((0.1..1.5).contains(&steep), "{steep}");
    }

    #[test]
    fn water_and_sea_stay() {
        let mut terrain = plane(1.0, 121, 0.9);
        terrain.set(
            layer::WATER,
            Raster::from_fn(121, 121, |col, row| if (col / 20 + row / 30) % 2 == 0 { 0.3 } else { 0.0 }),
        );
        let change = added(&Ground::default(), &terrain);
        let water = terrain.get(layer::WATER).unwrap();
        for (more, wet) in change.as_slice().iter().zip(water.as_slice()) {
            assert!(*wet == 0.0 || *more == 0.0);
        }
        assert!(rms(&change) > 0.05);
        let shore = on(&Frame::square(200.0, 201).unwrap(), |x, _| 0.8 * (x - 100.0));
        let out = Ground::default().apply(shore.clone(), &Ctx::silent()).unwrap();
        let heights = out.get(layer::HEIGHT).unwrap().as_slice().iter();
        for (new, old) in heights.zip(shore.get(layer::HEIGHT).unwrap().as_slice()) {
            assert!(if *old <= 0.0 { new == old } else { *new > 0.0 });
        }
    }

    #[test]
    fn mud_is_smooth() {
        let mut terrain = plane(1.0, 121, 0.01);
        terrain.set(layer::SEDIMENT, Raster::filled(121, 121, 2.0));
        assert_eq!(rms(&added(&Ground::default(), &terrain)), 0.0);
    }

    #[test]
    fn no_slope_is_over_what_the_ground_holds() {
        for grade in [0.1, 0.4, 0.6, 0.8, 1.2, 2.0, 4.0] {
            for strength in [1.0, 3.0] {
                let op = Ground { strength, ..Ground::default() };
                let terrain = plane(0.5, 301, grade);
                let out = op.apply(terrain, &Ctx::silent()).unwrap();
                let found = steepest(out.get(layer::HEIGHT).unwrap(), 0.5);
                let limit = (math::tan(68f64.to_radians()) as f32).max(grade as f32);
                assert!(found <= 1.02 * limit, "{found} for {limit} on a grade of {grade}");
                if grade < 0.3 {
                    assert!(found <= 1.02 * math::tan(40f64.to_radians()) as f32, "{found} on soil");
                }
            }
        }
    }

    #[test]
    fn coarse_land_is_left_alone() {
        let terrain = plane(40.0, 65, 0.9);
        let out = Ground::default().apply(terrain.clone(), &Ctx::silent()).unwrap();
        assert!(out == terrain);
    }

    #[test]
    fn what_shows_at_4_m_is_there_at_1_m() {
        // A hillside with a cliff and flat ground below.
        let hill = |x: f64, y: f64| 300.0 + 90.0 * math::sin(x / 70.0) + 20.0 * math::sin(y / 55.0);
        let fine = added(&Ground::default(), &on(&Frame::square(480.0, 481).unwrap(), hill));
        let coarse = added(&Ground::default(), &on(&Frame::square(480.0, 121).unwrap(), hill));
        // Waves of 16 m and more, by a box of 9 m and its like twice.
        let mean = |raster: &Raster<f32>, col: f64, row: f64, step: f64| {
            let (mut sum, mut all) = (0.0, 0.0);
            let n = (18.0 / step) as isize;
            for j in -n..=n {
                for i in -n..=n {
                    let w = (1.0 - (i as f64 * step / 18.0).abs()) * (1.0 - (j as f64 * step / 18.0).abs());
                    sum +=
                        w * f64::from(raster.clamped((col / step) as isize + i, (row / step) as isize + j));
                    all += w;
                }
            }
            sum / all
        };
        let mut worst = 0.0f64;
        for row in (40..440).step_by(20) {
            for col in (40..440).step_by(20) {
                let (a, b) = (
                    mean(&fine, f64::from(col), f64::from(row), 1.0),
                    mean(&coarse, f64::from(col), f64::from(row), 4.0),
                );
                worst = worst.max((a - b).abs());
            }
        }
        let strength = rms(&fine);
        assert!(strength > 0.1, "{strength}");
        assert!(worst < 0.35, "long waves differ by {worst} m where relief is {strength} m");
        assert!(rms(&coarse) < strength);
    }

    #[test]
    fn a_window_is_as_if_cut_from_the_whole() {
        // Cells of the test's world are 15 m wide.
        let large = Ground {
            beds_m: 90.0,
            joints_m: 70.0,
            boulders_m: 100.0,
            hummocks_m: 120.0,
            over_m: 60.0,
            ..Ground::default()
        };
        crate::test_support::assert_windows(&large);
        crate::test_support::assert_windows(&Ground { sea: false, over_m: 33.3, ..large });
    }

    #[test]
    fn absurd_parameters_are_survived() {
        let ops = [
            Ground { strength: 0.0, ..Ground::default() },
            Ground { beds_m: 0.0, joints_m: 0.0, boulders_m: 0.0, hummocks_m: 0.0, ..Ground::default() },
            Ground { beds_m: 1e3, joints_m: 1e3, boulders_m: 100.0, hummocks_m: 1e3, ..Ground::default() },
            Ground { beds_m: 1e-9, joints_m: 1e-9, boulders_m: 1e-9, hummocks_m: 1e-9, ..Ground::default() },
            Ground {
                over_m: 1e4,
                dip_deg: 60.0,
                hold_deg: 1.0,
                soil_deg: 80.0,
                bare_deg: 1.0,
                ..Ground::default()
            },
        ];
        for (i, op) in ops.iter().enumerate() {
            let mut terrain = plane(1.0, 61, 0.9);
            terrain
                .update(&layer::HEIGHT.name(), |h: &mut Raster<f32>| h.as_mut_slice()[700] = f32::NAN)
                .unwrap();
            let out = op.apply(terrain.clone(), &Ctx::silent()).unwrap();
            let out = out.get(layer::HEIGHT).unwrap().as_slice();
            assert!(out.iter().enumerate().all(|(cell, h)| h.is_nan() == (cell == 700) && !h.is_infinite()));
            if i == 0 {
                let old = terrain.get(layer::HEIGHT).unwrap().as_slice();
                assert!(out.iter().zip(old).all(|(a, b)| a.to_bits() == b.to_bits()));
            }
        }
    }
}
