//! Subdivision: a coarse mesh of triangles, made finer and bumpier where it is steep, high or bent.

use orogen_core::param::{Fault, Segment};
use orogen_core::{
    Cancelled, Ctx, Frame, Layers, Op, OpError, Raster, Reach, Rect, Seed, Terrain, layer, math,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::diamond_square::bell_curve;
use super::lattice::Share;

mod sheet;

use sheet::{Place, Sheet};

/// How triangles become smaller ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Scheme {
    /// Every edge gets a point in its middle: one triangle becomes four, edges half as long.
    #[default]
    Edge,
    /// Every triangle gets a point in its middle and its edges are flipped: one becomes three, edges 1/√3 as long.
    Sqrt3,
}

/// Subdivides a coarse mesh of triangles again and again; how far points are moved depends on what lies around them.
///
/// The mesh is made of equilateral triangles of the world, and each level has shorter edges s than the one before:
///
/// ```text
/// edge    middle of A B, between C and D   M = 3/8 (A + B) + 1/8 (C + D)     old points  5/8 P + 3/8 mean of 6
/// sqrt3   middle of A B C                  M = 1/3 (A + B + C)               old points  2/3 P + 1/3 mean of 6
/// then    every point moves by             amplitude · (s / wavelength)^r · c · R
///
/// c = (1 − steepness · g₀²/(g² + g₀²)) · (1 − altitude · (1 − t)) · b
/// ```
///
/// with a bell-shaped random number R and the context c of the points it came from: g is the slope around them against
/// g₀ of `steep_deg`, t goes from 0 to 1 between `level_m` ∓ `amplitude_m`, and b from 0 to 1 as the angle by which
/// the surface bends there goes from half `flat_deg` to one and a half. So subdivision is adaptive: where the mesh is
/// flat it goes on smoothly and nothing is added, where it bends detail is added down to `detail_m` or to what samples
/// can show. A point that two triangles share moves once, for both.
///
/// **Guarantees** (1) The land is smooth between points: no crease at an edge of any triangle, as heights are those of the
/// quartic box spline over the finest mesh, and every point moves at every level. (2) A height depends on the seed, its
/// place and, with given heights, the recipe's frame: tiles fit together to the bit. (3) Where nothing is moved, land
/// meets given heights within 3 % of their range at their places, and a plane exactly. (4) Ground that is a plane stays
/// one while `flat_deg` is not 0. (5) Besides the land it holds less than one more raster.
///
/// **Limits** The spline smooths: detail is two samples or more wide. Given heights end with the frame: beyond it land
/// goes on straight for one of their distances and then keeps its height. Edges shorter than samples cannot be shown:
/// the first triangles are then as large as samples ask for.
///
/// **After** Loop, "Smooth subdivision surfaces based on triangles", 1987; Kobbelt, "√3-subdivision", SIGGRAPH 2000;
/// displacement that is shared by neighbours as in Prusinkiewicz & Hammel, Graphics Interface 1993. The context is ours.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Subdivision {
    /// How triangles become smaller ones.
    pub scheme: Scheme,
    /// Edges of the first triangles: the size of the largest mountains.
    #[schemars(range(min = 0.1, max = 1e7), extend("x-unit" = "m", "x-slider" = [256.0, 16_384.0]))]
    pub wavelength_m: f64,
    /// How far land reaches above and below its level, about.
    #[schemars(range(min = 0.0, max = 20_000.0), extend("x-unit" = "m", "x-slider" = [10.0, 2000.0]))]
    pub amplitude_m: f64,
    /// How fast displacements shrink with the edges: r above. Less is rougher.
    #[schemars(range(min = 0.0, max = 2.0), extend("x-slider" = [0.5, 1.3]))]
    pub roughness: f64,
    /// Height of land that nothing displaces.
    #[schemars(range(min = -20_000.0, max = 20_000.0), extend("x-unit" = "m", "x-slider" = [-500.0, 1000.0]))]
    pub level_m: f64,
    /// How much detail keeps to steep ground: 0 has it everywhere, 1 leaves level ground smooth.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub steepness: f64,
    /// Slope on which half of the detail that keeps to steep ground is there.
    #[schemars(range(min = 0.1, max = 80.0), extend("x-unit" = "deg", "x-slider" = [5.0, 40.0]))]
    pub steep_deg: f64,
    /// How much detail keeps to high ground: 0 has it everywhere, 1 leaves low ground smooth.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub altitude: f64,
    /// Angle of a bend that is sharp enough to be subdivided with detail; 0 subdivides everything.
    #[schemars(range(min = 0.0, max = 45.0), extend("x-unit" = "deg", "x-slider" = [0.0, 10.0]))]
    pub flat_deg: f64,
    /// Edges no longer than this are not subdivided; 0 goes on as long as samples can show it.
    #[schemars(range(min = 0.0, max = 1e6), extend("x-unit" = "m", "x-slider" = [0.0, 200.0]))]
    pub detail_m: f64,
    /// Heights to begin with: rows from north to south, each from west to east, spread evenly over the recipe's frame.
    /// Random when none are given. The first triangles are then at most a quarter as large as the distance between two.
    #[schemars(
        length(max = 256),
        inner(length(min = 2, max = 256), inner(range(min = -20_000.0, max = 20_000.0))),
        extend("x-unit" = "m")
    )]
    pub heights_m: Vec<Vec<f64>>,
}

impl Default for Subdivision {
    fn default() -> Self {
        Self {
            scheme: Scheme::Edge,
            wavelength_m: 2200.0,
            amplitude_m: 1300.0,
            roughness: 0.85,
            level_m: 180.0,
            steepness: 0.7,
            steep_deg: 18.0,
            altitude: 0.3,
            flat_deg: 2.0,
            detail_m: 0.0,
            heights_m: Vec::new(),
        }
    }
}

impl Op for Subdivision {
    const ID: &'static str = "source.subdivision";
    const VERSION: u32 = 1;

    fn layers(&self) -> Layers {
        Layers::none().writing([layer::HEIGHT.name()])
    }

    fn reach(&self, _: &Frame) -> Reach {
        Reach::Point
    }

    fn bytes_a_sample(&self, _: &Frame) -> f64 {
        5.0
    }

    /// Given heights are spread over the frame and end with it; random ones go on.
    fn endless(&self) -> bool {
        self.heights_m.is_empty()
    }

    fn faults(&self) -> Vec<Fault> {
        let rows = &self.heights_m;
        if rows.len() == 1 {
            return vec![Fault::of("heights_m", "expected no rows or at least two, found one")];
        }
        let wrong = rows.iter().enumerate().find(|(_, row)| row.len() != rows[0].len());
        let Some((i, row)) = wrong else { return Vec::new() };
        vec![Fault {
            path: vec![Segment::Key(String::from("heights_m")), Segment::Index(i)],
            message: format!("has {} heights, but the first row has {}", row.len(), rows[0].len()),
        }]
    }

    fn run(&self, mut terrain: Terrain, ctx: &Ctx<'_>) -> Result<Terrain, OpError> {
        let height = subdivision(self, terrain.frame(), &ctx.world(&terrain).extent(), ctx)?;
        terrain.set(layer::HEIGHT, height);
        Ok(terrain)
    }
}

/// Edges of the finest mesh, in samples: its points are then a few fewer than samples.
const FINEST: f64 = 1.12;
/// Edges beyond a window that the spline over it needs.
const SPLINE: f64 = 2.05;
/// Edges beyond a window that the next level needs of the one above: parents, and what lies around them.
const AROUND: f64 = 2.1;
/// No mesh is finer: an index must stay a whole number that `f64` holds.
const MOST_LEVELS: u32 = 60;

/// The algorithm alone, in a world that given heights are spread over. Moves some 60 bytes a sample.
///
/// # Errors
/// When cancelled.
pub fn subdivision(
    params: &Subdivision,
    frame: &Frame,
    world: &Rect,
    ctx: &Ctx<'_>,
) -> Result<Raster<f32>, Cancelled> {
    let meshes = Meshes::new(params, frame, world);
    // From the samples up: how much of each level is needed.
    let mut extents = vec![grown(&frame.extent(), SPLINE * meshes.edge_m(meshes.finest))];
    for level in (0..meshes.finest).rev() {
        let below = extents[extents.len() - 1];
        extents.push(grown(&below, AROUND * meshes.edge_m(level)));
    }
    extents.reverse();
    let seed = ctx.seed().child("subdivision");
    let cells = |level: u32| 1.0 / (meshes.edge_m(level) * meshes.edge_m(level));
    let total: f64 = (0..=meshes.finest).map(cells).sum();
    let mut done = 0.0;
    let mut sheet = meshes.first(&extents[0], world, Seed(seed.bits(0)));
    for level in 1..=meshes.finest {
        done += cells(level - 1);
        ctx.tick((60.0 * done / total * 100.0) as usize, 10_000)?;
        let context = meshes.context(&sheet);
        let finer = sheet.blank(params.scheme, meshes.edge_m(level), &extents[level as usize]);
        sheet = meshes.refined(&sheet, &context, finer, level, Seed(seed.bits(u64::from(level))));
    }
    let mut out = Raster::filled(frame.cols(), frame.rows(), 0.0f32);
    let share = Share::new(frame.rows(), 60, 100);
    out.try_par_rows(|row, values| {
        let y = frame.y_m(row);
        for (col, v) in values.iter_mut().enumerate() {
            *v = sheet.height(frame.x_m(col), y);
        }
        share.done(ctx)
    })?;
    Ok(out)
}

fn grown(rect: &Rect, by: f64) -> Rect {
    Rect { min: rect.min.map(|v| v - by), max: rect.max.map(|v| v + by) }
}

/// All meshes of one land, coarse to fine.
struct Meshes<'a> {
    params: &'a Subdivision,
    first_m: f64,
    finest: u32,
}

impl<'a> Meshes<'a> {
    fn new(params: &'a Subdivision, frame: &Frame, world: &Rect) -> Self {
        let mut first_m = params.wavelength_m;
        if let Some(apart_m) = Controls::of(params, world).map(|controls| controls.apart_m()) {
            first_m = first_m.min(0.25 * apart_m[0].min(apart_m[1]));
        }
        let spacing = frame.spacing_m();
        let sample = FINEST * (spacing[0] * spacing[1]).sqrt();
        while first_m < sample {
            first_m *= 2.0;
        }
        let mut meshes = Self { params, first_m, finest: 0 };
        let least = sample.max(params.detail_m) * (1.0 - 1e-9);
        while meshes.finest < MOST_LEVELS && meshes.edge_m(meshes.finest + 1) >= least {
            meshes.finest += 1;
        }
        meshes
    }

    fn edge_m(&self, level: u32) -> f64 {
        match self.params.scheme {
            Scheme::Edge => self.first_m / math::exp2(f64::from(level)),
            Scheme::Sqrt3 => {
                let thirds = (0..level / 2).fold(self.first_m, |edge, _| edge / 3.0);
                if level % 2 == 1 { thirds / 3f64.sqrt() } else { thirds }
            }
        }
    }

    /// The heights to begin with.
    fn first(&self, extent: &Rect, world: &Rect, seed: Seed) -> Sheet {
        let mut sheet = Sheet::new(self.first_m, false, extent);
        let (level_m, d) = (self.params.level_m as f32, self.params.amplitude_m as f32);
        match Controls::of(self.params, world) {
            None => {
                sheet.fill(|place, own_seed| level_m + d * bell_curve(own_seed.bits(place.x as u64)), seed)
            }
            Some(controls) => {
                // Smoothing takes a half and a twelfth of six neighbours; sharpened by as much beforehand.
                let of = |place: &Place| {
                    let [x, y] = place.position_m(self.first_m);
                    controls.at(x, y)
                };
                sheet.fill(
                    |place, _| {
                        let around: f64 = place.neighbours().iter().map(of).sum();
                        (1.5 * of(&place) - around / 12.0) as f32
                    },
                    seed,
                );
            }
        }
        sheet
    }

    /// What share of the displacement the surroundings of every point allow.
    fn context(&self, sheet: &Sheet) -> Sheet {
        let p = self.params;
        let steep = math::tan(p.steep_deg.to_radians());
        let steep2 = (steep * steep) as f32;
        let flat = math::tan(p.flat_deg.to_radians()) as f32;
        let per_m = (1.0 / sheet.edge_m()) as f32;
        let (level, reach) = (p.level_m as f32, (p.amplitude_m as f32).max(1e-3));
        let (steepness, altitude) = (p.steepness as f32, p.altitude as f32);
        let mut context = sheet.clone_shape();
        context.fill(
            |place, _| {
                let h = sheet.at(&place);
                let n = place.neighbours().map(|p| sheet.at(&p));
                // Six unit vectors: the least-squares slope is a third of the sum of height times direction.
                let along = (n[0] - n[3]) + 0.5 * ((n[1] - n[4]) + (n[5] - n[2]));
                let across = 0.866_025_4 * ((n[1] - n[4]) + (n[2] - n[5]));
                let g2 = (along * along + across * across) * (per_m * per_m / 9.0);
                let bend = |a: f32, b: f32| (a + b - 2.0 * h).abs();
                let bent = bend(n[0], n[3]).max(bend(n[1], n[4])).max(bend(n[2], n[5])) * per_m;
                let rough = 1.0 - steepness * steep2 / (g2 + steep2);
                let high = math::smoothstep(level - reach, level + reach, h);
                let sharp = if flat > 0.0 { math::smoothstep(0.5 * flat, 1.5 * flat, bent) } else { 1.0 };
                rough * (1.0 - altitude * (1.0 - high)) * sharp
            },
            Seed(0),
        );
        context
    }

    /// The next level: smoothed, then moved as far as the context allows.
    fn refined(&self, from: &Sheet, context: &Sheet, mut to: Sheet, level: u32, seed: Seed) -> Sheet {
        let p = self.params;
        // With 1/√3 there are five levels where halves have four: each adds less, so that both make land as rough.
        let each = if p.scheme == Scheme::Edge { 1.0 } else { 0.89 };
        let share = math::pow(self.edge_m(level) / p.wavelength_m, p.roughness);
        let d = (p.amplitude_m * each * share) as f32;
        to.fill(
            |place, own_seed| {
                let (mean, allowed) = match p.scheme {
                    Scheme::Edge => edge(from, context, &place),
                    Scheme::Sqrt3 => sqrt3(from, context, &place),
                };
                mean + d * allowed * bell_curve(own_seed.bits(place.x as u64))
            },
            seed,
        );
        to
    }
}

/// An old point after smoothing, keeping a share of its own height.
fn kept(from: &Sheet, old: &Place, own: f32) -> f32 {
    let n = old.neighbours().map(|p| from.at(&p));
    let sum = ((n[0] + n[3]) + (n[1] + n[4])) + (n[2] + n[5]);
    own * from.at(old) + (1.0 - own) * (1.0 / 6.0) * sum
}

/// Height and context of a point of the mesh with edges half as long.
fn edge(from: &Sheet, context: &Sheet, place: &Place) -> (f32, f32) {
    let (p, j) = (place.half, place.line);
    let turned = place.turned;
    let at = |half: i64, line: i64| Place::new(half, line, turned);
    let even = j.rem_euclid(2) == 0;
    if even && (p.div_euclid(2) - j.div_euclid(2)).rem_euclid(2) == 0 {
        let old = at(p / 2, j / 2);
        return (kept(from, &old, 0.625), context.at(&old));
    }
    let (ends, sides) = if even {
        let (p, j) = (p.div_euclid(2), j.div_euclid(2));
        ([at(p - 1, j), at(p + 1, j)], [at(p, j - 1), at(p, j + 1)])
    } else if ((p + 1).div_euclid(2) - (j + 1).div_euclid(2)).rem_euclid(2) == 0 {
        let (p, j) = ((p - 1).div_euclid(2), (j - 1).div_euclid(2));
        ([at(p, j), at(p + 1, j + 1)], [at(p - 1, j + 1), at(p + 2, j)])
    } else {
        let (p, j) = ((p + 1).div_euclid(2), (j - 1).div_euclid(2));
        ([at(p, j), at(p - 1, j + 1)], [at(p + 1, j + 1), at(p - 2, j)])
    };
    let both = |s: &Sheet, of: &[Place; 2]| s.at(&of[0]) + s.at(&of[1]);
    (0.375 * both(from, &ends) + 0.125 * both(from, &sides), 0.5 * both(context, &ends))
}

/// Height and context of a point of the mesh with edges 1/√3 as long, turned by 30 degrees.
fn sqrt3(from: &Sheet, context: &Sheet, place: &Place) -> (f32, f32) {
    let (p, j) = (place.half, place.line);
    let at = |half: i64, line: i64| Place::new(half, line, !place.turned);
    let third = p.div_euclid(3);
    let corners = match p.rem_euclid(3) {
        0 => {
            let old = at(j, third);
            return (kept(from, &old, 2.0 / 3.0), context.at(&old));
        }
        1 => [at(j, third + 1), at(j - 1, third), at(j + 1, third)],
        _ => [at(j, third), at(j - 1, third + 1), at(j + 1, third + 1)],
    };
    let mean = |s: &Sheet| ((s.at(&corners[0]) + s.at(&corners[1])) + s.at(&corners[2])) * (1.0 / 3.0);
    (mean(from), mean(context))
}

/// Given heights, spread over the world.
struct Controls<'a> {
    rows: &'a [Vec<f64>],
    world: Rect,
}

impl<'a> Controls<'a> {
    fn of(params: &'a Subdivision, world: &Rect) -> Option<Self> {
        (params.heights_m.len() >= 2).then_some(Self { rows: &params.heights_m, world: *world })
    }

    fn apart_m(&self) -> [f64; 2] {
        let size = self.world.size().map(|side| side.max(1e-3));
        [size[0] / (self.rows[0].len() - 1) as f64, size[1] / (self.rows.len() - 1) as f64]
    }

    /// The Catmull-Rom cubic through the heights. Beyond the last it goes on straight as far as one more would be, then
    /// holds.
    fn at(&self, x: f64, y: f64) -> f64 {
        let apart = self.apart_m();
        let last = [self.rows[0].len() - 1, self.rows.len() - 1];
        let u = ((x - self.world.min[0]) / apart[0]).clamp(-1.0, last[0] as f64 + 1.0);
        let v = ((self.world.max[1] - y) / apart[1]).clamp(-1.0, last[1] as f64 + 1.0);
        through(last[1], v, |r| through(last[0], u, |c| self.rows[r][c]))
    }
}

/// A curve through `of(0)` to `of(last)`, straight beyond its ends.
fn through(last: usize, u: f64, of: impl Fn(usize) -> f64) -> f64 {
    if u <= 0.0 {
        return of(0) + u * (of(1) - of(0));
    }
    if u >= last as f64 {
        return of(last) + (u - last as f64) * (of(last) - of(last - 1));
    }
    let k = (u as usize).min(last - 1);
    let (a, b) = (of(k), of(k + 1));
    let before = if k == 0 { 2.0 * a - b } else { of(k - 1) };
    let after = if k + 2 > last { 2.0 * b - a } else { of(k + 2) };
    math::hermite([a, b], [0.5 * (b - before), 0.5 * (after - a)], u - k as f64)
}

#[cfg(test)]
mod tests;
