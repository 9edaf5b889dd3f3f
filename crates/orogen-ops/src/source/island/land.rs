//! From the map to the land: a height, a temperature and a moisture for any place.
//!
//! The map's triangles are drawn once onto a *sheet*, a grid a few times finer than the polygons whatever the
//! sampling, and read from there by a cubic B-spline. That is smooth in slope and curvature, so neither triangles
//! nor polygons leave a crease, and a place costs the same however many polygons there are.

use orogen_core::biome::{BIOMES, Biome};
use orogen_core::{Ctx, OpError, Seed, math};
use rayon::prelude::*;

use super::graph::{CenterIx, Graph};
use super::map::{Map, NONE};
use super::rivers::Rivers;
use super::{Island, Place};
use crate::noise::Noise;

/// What the sheet holds at each node.
type Node = [f32; 8];
/// What height is made of comes first: the rest is often not wanted.
const FOR_HEIGHT: usize = 4;
const ELEVATION: usize = 0;
/// A of equation 4.
const AMPLITUDE: usize = 1;
/// r^(R - 1) with R and r of equation 4: how much of an octave's height the next one has.
const GAIN: usize = 2;
/// 1 in lakes, 0 elsewhere.
const LAKE: usize = 3;
const TEMPERATURE: usize = 4;
const MOISTURE: usize = 5;

/// Nodes of the sheet across a polygon.
const NODES_PER_POLYGON: f64 = 4.0;
/// Nodes of the sheet at most: 32 MB.
const MOST_NODES: f64 = 1e6;
/// Octaves of the perturbation; each is half as long as the last.
const WARP_OCTAVES: u64 = 6;
/// Strength of an octave of the perturbation against the last: that of a natural coast.
const WARP_GAIN: f32 = 0.5;
/// Lattice cells of the perturbation's first octave across a polygon.
const WARP_FREQUENCY: f64 = 0.3;
/// How much more each octave of the perturbation counts for biomes, so that their borders fray.
const FRAY: [f32; WARP_OCTAVES as usize] = [0.0, 0.0, 0.3, 0.35, 0.25, 0.14];
/// Strength of one more octave that frays the borders of biomes, and its lattice cells across a polygon.
const FINEST_FRAY: f32 = 0.08;
const FINEST_FRAY_FREQUENCY: f64 = 24.0;
/// From which share of lake the ground bends to the lake, and from which it is lake.
const LAKE_SHORE: (f32, f32) = (0.15, 0.5);
/// Hills never dig below this share of the ground they stand on.
const LOWEST_HILL: f32 = 0.25;
/// Octaves of the hills that make landforms; the others are the fine detail of the ground.
const COARSE_OCTAVES: usize = 4;
/// How much nearer the sea fine detail has its full strength than landforms have.
const FINE_SHORE: f32 = 0.4;
/// Height of the hills on the floor of the sea, against hills of the same noise on land.
const HILLS_AT_SEA: f32 = 0.3;
/// How much less each octave is ridged than the last.
const RIDGE_FADE: f32 = 0.7;
/// Mean size of the noise: what centres its crests on zero.
const MEAN_SIZE: f32 = 0.26;
/// Widths of a polygon from the frame's border in which the sea is kept open: up to the first no land rises above the
/// sea, from the second on anything may stand.
const RIM: (f32, f32) = (0.5, 1.5);
/// How fast land may rise between them: its greatest height half way.
const RIM_RISE: f32 = 0.1;
/// Places round a sample at which the sea is looked for, each axis in widths of a beach: two rings of eight.
const BEACH_LOOKS: [[f64; 2]; 16] = [
    [1.0, 0.0],
    [0.0, 1.0],
    [-1.0, 0.0],
    [0.0, -1.0],
    [0.7, 0.7],
    [-0.7, 0.7],
    [-0.7, -0.7],
    [0.7, -0.7],
    [0.5, 0.0],
    [0.0, 0.5],
    [-0.5, 0.0],
    [0.0, -0.5],
    [0.35, 0.35],
    [-0.35, 0.35],
    [-0.35, -0.35],
    [0.35, -0.35],
];
/// Samples across the longer side when looking for the highest and the deepest place.
const SURVEY_SAMPLES: usize = 257;
/// Candidates for the highest place that are looked at closely.
const SURVEY_TOPS: usize = 12;

/// Progress when the land of an edited map is shaped.
const EDITED_PERCENT: usize = 21;

/// Metres for a unit of land height and for a unit of sea depth.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scale {
    pub land_m: f64,
    pub sea_m: f64,
}

impl Scale {
    pub fn to_m(self, unit: f64) -> f64 {
        unit * if unit > 0.0 { self.land_m } else { self.sea_m }
    }

    #[inline]
    pub fn to_m_f32(self, unit: f32) -> f32 {
        unit * if unit > 0.0 { self.land_m as f32 } else { self.sea_m as f32 }
    }

    /// Metres of an elevation of the map, hills left out.
    pub fn elevation_to_m(self, elevation: f64, contrast: f64) -> f64 {
        self.to_m(math::pow(elevation.abs(), contrast).copysign(elevation))
    }

    /// The elevation of the map whose ground lies at so many metres.
    pub fn elevation_of_m(self, height_m: f64, contrast: f64) -> f64 {
        let unit = height_m / if height_m > 0.0 { self.land_m } else { self.sea_m };
        math::pow(unit.abs(), 1.0 / contrast).copysign(unit)
    }
}

/// One octave of a noise: its own seed, shifted so that no two octaves share their zeros, and its lattice slanted so
/// that no direction stands out. (A slant along rows costs nothing; a turn would.)
#[derive(Clone, Copy)]
pub(super) struct Octave {
    noise: Noise,
    shift: [f64; 2],
    slant: f64,
    frequency: f64,
}

impl Octave {
    fn family(seed: Seed, count: u64, first: f64, lacunarity: f64) -> Vec<Self> {
        let mut frequency = first;
        (0..count)
            .map(|i| {
                let mut octave = Self::new(Seed(seed.bits(i)), frequency);
                octave.slant = if i % 2 == 0 { octave.slant } else { -octave.slant };
                frequency *= lacunarity;
                octave
            })
            .collect()
    }

    pub fn new(seed: Seed, frequency: f64) -> Self {
        let shift = [seed.unit(0) * 256.0, seed.unit(1) * 256.0];
        Self { noise: Noise::new(seed), shift, slant: 0.25 + 0.25 * seed.unit(2), frequency }
    }

    pub fn at(&self, p: [f64; 2]) -> f32 {
        let (start, y) = self.lattice(p[1]);
        self.noise.at(p[0] * self.frequency + start, y)
    }

    fn row(&self, xs: &[f64], y: f64, buffers: &mut NoiseBuffers, out: &mut [f32]) {
        let (start, y) = self.lattice(y);
        for (lattice, &x) in buffers.lattice.iter_mut().zip(xs) {
            *lattice = x * self.frequency + start;
        }
        self.noise.row(&buffers.lattice, y, &mut buffers.lines, out);
    }

    /// Where a row starts on the lattice, and which it is.
    fn lattice(&self, y: f64) -> (f64, f64) {
        let y = y * self.frequency;
        (self.shift[0] + self.slant * y, y + self.shift[1])
    }
}

struct NoiseBuffers {
    lattice: Vec<f64>,
    lines: Vec<[f32; 2]>,
}

/// Room for one row of samples, and what [`Land::row`] leaves there.
pub(super) struct Scratch {
    /// Whether nothing but heights and lakes is asked for: the rest is then left as it was.
    height_only: bool,
    /// In units, see [`Scale`].
    pub height: Vec<f32>,
    pub temperature: Vec<f32>,
    pub moisture: Vec<f32>,
    is_lake: Vec<bool>,
    /// Where each sample is looked up on the map.
    looked_up: Vec<[f64; 2]>,
    /// How much further it is moved when it is looked up for its biome.
    frayed: Vec<[f32; 2]>,
    octave: Vec<f32>,
    hills: Vec<f32>,
    fine: Vec<f32>,
    weight: Vec<f32>,
    gain: Vec<f32>,
    lake: Vec<f32>,
    lake_level: Vec<f32>,
    noise_buffers: NoiseBuffers,
}

impl Scratch {
    pub fn new(cols: usize) -> Self {
        let floats = || vec![0.0f32; cols];
        Self {
            height_only: false,
            height: floats(),
            temperature: floats(),
            moisture: floats(),
            is_lake: vec![false; cols],
            looked_up: vec![[0.0; 2]; cols],
            frayed: vec![[0.0; 2]; cols],
            octave: floats(),
            hills: floats(),
            fine: floats(),
            weight: floats(),
            gain: floats(),
            lake: floats(),
            lake_level: floats(),
            noise_buffers: NoiseBuffers { lattice: vec![0.0; cols], lines: Vec::new() },
        }
    }

    /// Room for heights and lakes.
    pub fn for_height(cols: usize) -> Self {
        Self { height_only: true, ..Self::new(cols) }
    }
}

/// Everything needed to say what the land is like at a place.
pub(super) struct Land {
    pub scale: Scale,
    pub rivers: Rivers,
    sheet: Sheet,
    warp: [Vec<Octave>; 2],
    warp_amplitude: f64,
    fray: Octave,
    detail: Vec<Octave>,
    contrast: f64,
    noise: f32,
    ridges: f32,
    shore: f32,
    /// Height of the highest beach, in metres, and how far inland it reaches, in map units.
    beach_m: f32,
    beach_width: f64,
    half: [f64; 2],
    /// Polygons in a map unit where all of the frame's border is sea, so that it stays sea; 0 where it was edited.
    rim: f32,
}

impl Land {
    pub fn new(params: &Island, map: &Map, place: &Place, ctx: &Ctx<'_>) -> Result<Self, OpError> {
        let mut land = Self::without_scale(params, map, place, 10, ctx)?;
        land.scale = land.survey(params);
        ctx.tick(19, 100)?;
        Ok(land)
    }

    /// The land of a changed map at the scale of this one, so that an edit here moves nothing there.
    pub fn reshaped(
        &self,
        params: &Island,
        map: &Map,
        place: &Place,
        ctx: &Ctx<'_>,
    ) -> Result<Self, OpError> {
        let mut land = Self::without_scale(params, map, place, EDITED_PERCENT, ctx)?;
        land.scale = self.scale;
        Ok(land)
    }

    fn without_scale(
        params: &Island,
        map: &Map,
        place: &Place,
        percent: usize,
        ctx: &Ctx<'_>,
    ) -> Result<Self, OpError> {
        let seed = ctx.seed();
        let warp =
            |name: &str| Octave::family(seed.child(name), WARP_OCTAVES, WARP_FREQUENCY / map.width, 2.0);
        let mut land = Self {
            scale: Scale { land_m: params.peak_m, sea_m: params.sea_depth_m },
            rivers: Rivers::none(),
            sheet: Sheet::draw(params, map, place.half),
            warp: [warp("warp x"), warp("warp y")],
            warp_amplitude: params.perturb * map.width,
            fray: Octave::new(seed.child("fray"), FINEST_FRAY_FREQUENCY / map.width),
            detail: Octave::family(
                seed.child("hills"),
                u64::from(params.noise_octaves) + 1,
                0.5 * params.noise_frequency,
                params.noise_lacunarity,
            ),
            contrast: params.contrast,
            noise: params.noise as f32,
            ridges: params.ridges as f32,
            shore: (params.shore_m / params.peak_m) as f32,
            beach_m: params.beach_m as f32,
            beach_width: params.beach_width_m / place.unit_m,
            half: place.half,
            rim: if map.border_is_sea() { (1.0 / map.width) as f32 } else { 0.0 },
        };
        ctx.tick(percent, 100)?;
        land.rivers = Rivers::lay(params, map, place, &land, seed.child("rivers"));
        ctx.tick(percent + 3, 100)?;
        Ok(land)
    }

    /// Equation 3.
    pub fn contrast(&self, elevation: f64) -> f64 {
        math::pow(elevation.abs(), self.contrast).copysign(elevation)
    }

    /// Where on the map a place is looked up.
    pub fn look_up(&self, p: [f64; 2]) -> [f64; 2] {
        let [dx, dy] = [0, 1].map(|axis| {
            let mut amplitude = 1.0f32;
            let mut sum = 0.0f32;
            for octave in &self.warp[axis] {
                sum += amplitude * octave.at(p);
                amplitude *= WARP_GAIN;
            }
            f64::from(sum) * self.warp_amplitude
        });
        self.clamped([p[0] + dx, p[1] + dy])
    }

    pub fn clamped(&self, q: [f64; 2]) -> [f64; 2] {
        [q[0].clamp(-self.half[0], self.half[0]), q[1].clamp(-self.half[1], self.half[1])]
    }

    /// The height of the ground that is drawn on the map at a place: no perturbation, no hills, no rivers.
    pub fn ground(&self, q: [f64; 2]) -> f64 {
        let (node, _): ([f32; FOR_HEIGHT], f32) = self.sheet.at(self.clamped(q));
        f64::from(self.raised(node[ELEVATION]))
    }

    /// The place that is looked up at `q` on the map, nearly.
    pub fn place_of(&self, q: [f64; 2]) -> [f64; 2] {
        let mut p = q;
        for _ in 0..12 {
            let back = self.look_up(p);
            // Half steps: they settle where whole ones would swing.
            p = self.clamped([p[0] + 0.5 * (q[0] - back[0]), p[1] + 0.5 * (q[1] - back[1])]);
        }
        p
    }

    /// The height at a place, in units, and whether it is in a lake. `scratch` is room for one.
    pub fn height(&self, p: [f64; 2], scratch: &mut Scratch) -> (f64, bool) {
        self.row(&[p[0]], p[1], scratch);
        (f64::from(scratch.height[0]), scratch.is_lake[0])
    }

    /// Equation 3 in single precision; its usual exponent needs no logarithm.
    #[inline]
    fn raised(&self, elevation: f32) -> f32 {
        let size = elevation.abs();
        let power = if self.contrast == 1.5 {
            size * size.sqrt()
        } else {
            math::pow(f64::from(size), self.contrast) as f32
        };
        power.copysign(elevation)
    }

    /// The land along a row of places (`xs[i]`, `y`).
    pub fn row(&self, xs: &[f64], y: f64, scratch: &mut Scratch) {
        let s = scratch;
        for at in &mut s.looked_up {
            *at = [0.0; 2];
        }
        for (axis, octaves) in self.warp.iter().enumerate() {
            let mut amplitude = 1.0f32;
            s.hills.fill(0.0);
            s.fine.fill(0.0);
            for (octave, fray) in octaves.iter().zip(FRAY) {
                octave.row(xs, y, &mut s.noise_buffers, &mut s.octave);
                s.hills.iter_mut().zip(&s.octave).for_each(|(sum, value)| *sum += amplitude * value);
                if !s.height_only {
                    s.fine.iter_mut().zip(&s.octave).for_each(|(frayed, value)| *frayed += fray * value);
                }
                amplitude *= WARP_GAIN;
            }
            for ((at, frayed), (sum, fray)) in
                (s.looked_up.iter_mut().zip(&mut s.frayed)).zip(s.hills.iter().zip(&s.fine))
            {
                at[axis] = f64::from(*sum) * self.warp_amplitude;
                frayed[axis] = *fray * self.warp_amplitude as f32;
            }
        }
        if !s.height_only {
            self.fray.row(xs, y, &mut s.noise_buffers, &mut s.octave);
            for (frayed, octave) in s.frayed.iter_mut().zip(&s.octave) {
                let finest = FINEST_FRAY * self.warp_amplitude as f32 * octave;
                *frayed = [frayed[0] + finest, frayed[1] - finest];
            }
        }
        for (i, (at, &x)) in s.looked_up.iter_mut().zip(xs).enumerate() {
            *at = self.clamped([x + at[0], y + at[1]]);
            let (node, lake_level): ([f32; FOR_HEIGHT], f32) = if s.height_only {
                self.sheet.at(*at)
            } else {
                let (node, lake_level): (Node, f32) = self.sheet.at(*at);
                (s.temperature[i], s.moisture[i]) = (node[TEMPERATURE], node[MOISTURE]);
                (std::array::from_fn(|k| node[k]), lake_level)
            };
            s.height[i] = self.raised(node[ELEVATION]);
            s.weight[i] = node[AMPLITUDE] * self.noise;
            if s.height[i] < 0.0 && self.shore > 0.0 {
                s.weight[i] *= HILLS_AT_SEA;
            }
            s.gain[i] = node[GAIN];
            s.lake[i] = node[LAKE];
            s.lake_level[i] = lake_level;
        }
        s.hills.fill(0.0);
        s.fine.fill(0.0);
        let mut ridges = self.ridges;
        for (k, octave) in self.detail.iter().enumerate() {
            octave.row(xs, y, &mut s.noise_buffers, &mut s.octave);
            let hills = if k < COARSE_OCTAVES { &mut s.hills } else { &mut s.fine };
            for i in 0..xs.len() {
                let round = s.octave[i];
                let crest = 2.0 * (MEAN_SIZE - round.abs());
                hills[i] += s.weight[i] * (round + ridges * (crest - round));
                s.weight[i] *= s.gain[i];
            }
            // Fine crests would look like worms.
            ridges *= RIDGE_FADE;
        }
        for ((height, hills), fine) in s.height.iter_mut().zip(&s.hills).zip(&s.fine) {
            *height = with_hills(*height, *hills, self.shore);
            *height = with_hills(*height, *fine, FINE_SHORE * self.shore);
        }
        self.rivers.carve_row(xs, y, &s.fine, &mut s.height);
        if self.rim > 0.0 {
            for (i, &x) in xs.iter().enumerate() {
                let inside = (self.half[0] - x.abs()).min(self.half[1] - y.abs()).max(0.0);
                let out = inside as f32 * self.rim;
                if out < RIM.1 {
                    s.height[i] = below(s.height[i], RIM_RISE * (out - RIM.0) / (RIM.1 - out));
                }
                // A lake that came so near would not be level.
                s.lake[i] *= (out - RIM.1).clamp(0.0, 1.0);
            }
        }
        for i in 0..xs.len() {
            let (lake, level) = (s.lake[i], s.lake_level[i]);
            s.is_lake[i] = lake >= LAKE_SHORE.1 && !level.is_nan();
            if s.is_lake[i] {
                s.height[i] = level;
            } else if lake > LAKE_SHORE.0 && !level.is_nan() {
                let bend = math::smoothstep(LAKE_SHORE.0, LAKE_SHORE.1, lake);
                s.height[i] = math::lerp(s.height[i], level, bend);
            }
        }
    }

    /// The biomes of the row that [`Land::row`] was last given: ocean below the sea, lake in lakes, and elsewhere
    /// that of the polygon a place is looked up in, moved a little further, so that borders fray. Polygons that are
    /// beach are so only where they are low and the sea is near.
    pub fn biome_row(&self, map: &Map, xs: &[f64], y: f64, scratch: &Scratch, biome: &mut [u8]) {
        let mut hint = CenterIx(0);
        let mut low = Vec::new();
        for (i, out) in biome.iter_mut().enumerate() {
            *out = if scratch.is_lake[i] {
                Biome::Lake.id()
            } else if scratch.height[i] < 0.0 {
                Biome::Ocean.id()
            } else {
                let (at, by) = (scratch.looked_up[i], scratch.frayed[i]);
                let at = self.clamped([at[0] + f64::from(by[0]), at[1] + f64::from(by[1])]);
                hint = match i {
                    0 => map.locator.locate(at),
                    _ => map.locator.locate_from(at, hint),
                };
                let c = hint.at();
                if map.dry_biome[c] == Biome::Beach && self.scale.to_m_f32(scratch.height[i]) <= self.beach_m
                {
                    low.push(i);
                }
                map.climate[c].id()
            };
        }
        for i in self.beside_the_sea(xs, y, low) {
            biome[i] = Biome::Beach.id();
        }
    }

    /// Those of some samples of a row that have the sea no further away than a beach is wide.
    fn beside_the_sea(&self, xs: &[f64], y: f64, mut samples: Vec<usize>) -> Vec<usize> {
        let mut found = Vec::new();
        for [dx, dy] in BEACH_LOOKS {
            if samples.is_empty() {
                break;
            }
            let places: Vec<f64> = samples.iter().map(|&i| xs[i] + dx * self.beach_width).collect();
            let mut scratch = Scratch::for_height(places.len());
            self.row(&places, y + dy * self.beach_width, &mut scratch);
            let mut heights = scratch.height.iter();
            samples.retain(|&i| {
                let is_sea = heights.next().is_some_and(|&h| h < 0.0);
                found.extend(is_sea.then_some(i));
                !is_sea
            });
        }
        found
    }

    /// Finds the scale that makes the highest place `peak_m` and the deepest `-sea_depth_m`, by looking at a fixed
    /// grid and then closely at the best candidates: the samples of a terrain have no say in it.
    fn survey(&self, params: &Island) -> Scale {
        let step = 2.0 * self.half[0].max(self.half[1]) / (SURVEY_SAMPLES - 1) as f64;
        let count = |half: f64| (2.0 * half / step + 1e-9) as usize + 1;
        let (cols, rows) = (count(self.half[0]), count(self.half[1]));
        let xs: Vec<f64> = (0..cols).map(|i| i as f64 * step - self.half[0]).collect();
        let heights: Vec<Vec<f32>> = (0..rows)
            .into_par_iter()
            .map_init(
                || Scratch::for_height(cols),
                |scratch, row| {
                    self.row(&xs, row as f64 * step - self.half[1], scratch);
                    scratch.height.clone()
                },
            )
            .collect();
        let extreme = |sign: f32| {
            let mut tops: Vec<(f32, [f64; 2])> = Vec::new();
            for (row, heights) in heights.iter().enumerate() {
                for (col, &height) in heights.iter().enumerate() {
                    let value = sign * height;
                    if tops.len() < SURVEY_TOPS || tops.last().is_some_and(|last| value > last.0) {
                        let at = [xs[col], row as f64 * step - self.half[1]];
                        let place = tops.partition_point(|top| top.0 >= value);
                        tops.insert(place, (value, at));
                        tops.truncate(SURVEY_TOPS);
                    }
                }
            }
            tops.iter().map(|&top| self.climb(top, step, sign)).fold(0.0, f32::max)
        };
        let metres = |metres: f64, unit: f32| if unit > 0.0 { metres / f64::from(unit) } else { metres };
        Scale {
            land_m: metres(params.peak_m, extreme(1.0)),
            sea_m: metres(params.sea_depth_m, extreme(-1.0)),
        }
    }

    /// The largest value near a place: two looks, each eight times closer than the last.
    fn climb(&self, (mut best, mut at): (f32, [f64; 2]), mut step: f64, sign: f32) -> f32 {
        const SIDE: usize = 17;
        let mut scratch = Scratch::for_height(SIDE);
        for _ in 0..2 {
            step /= 8.0;
            let middle = at;
            let shift = |i: usize| (i as f64 - (SIDE / 2) as f64) * step;
            let xs: Vec<f64> =
                (0..SIDE).map(|i| (middle[0] + shift(i)).clamp(-self.half[0], self.half[0])).collect();
            for row in 0..SIDE {
                let y = (middle[1] + shift(row)).clamp(-self.half[1], self.half[1]);
                self.row(&xs, y, &mut scratch);
                for (&x, &height) in xs.iter().zip(&scratch.height) {
                    if sign * height > best {
                        (best, at) = (sign * height, [x, y]);
                    }
                }
            }
        }
        best
    }
}

/// Ground with hills on it. Near the sea hills fade, and they never turn land to sea or sea to land.
#[inline]
fn with_hills(ground: f32, hills: f32, shore: f32) -> f32 {
    if shore <= 0.0 {
        return ground + hills;
    }
    let size = ground.abs();
    let t = (size / shore).min(1.0);
    // Hills count upwards at sea too, so there they make it shallower.
    let raised = size + hills * 1.0f32.copysign(ground) * t * t * (3.0 - 2.0 * t);
    let floor = LOWEST_HILL * size;
    let soft = 0.5 * size + f32::MIN_POSITIVE;
    let near = (soft - (raised - floor).abs()).max(0.0);
    (raised.max(floor) + near * near / (4.0 * soft)).copysign(ground)
}

/// A height held below a ceiling, without a crease where it comes near.
#[inline]
fn below(height: f32, ceiling: f32) -> f32 {
    let near = (0.5 * RIM_RISE - (height - ceiling).abs()).max(0.0);
    height.min(ceiling) - near * near / (2.0 * RIM_RISE)
}

/// The map drawn on a grid.
struct Sheet {
    cols: usize,
    min: [f64; 2],
    per_unit: f64,
    nodes: Vec<Node>,
    /// Height of the lake that is there or near, NaN elsewhere.
    lake_level: Vec<f32>,
}

impl Sheet {
    fn draw(params: &Island, map: &Map, half: [f64; 2]) -> Self {
        let gain = BIOMES.map(|b| {
            math::pow(params.noise_lacunarity, params.roughness * f64::from(b.roughness) - 1.0) as f32
        });
        let area = 4.0 * half[0] * half[1];
        let step = (map.width / NODES_PER_POLYGON).max((area / MOST_NODES).sqrt()).min(0.125);
        // Two nodes beyond each side, for the spline.
        let count = |half: f64| (2.0 * half / step).ceil() as usize + 5;
        let (cols, rows) = (count(half[0]), count(half[1]));
        let min = [-half[0] - 2.0 * step, -half[1] - 2.0 * step];

        let corner_nodes: Vec<Node> = (map.graph.corner_ixs())
            .map(|q| {
                let mut node = [0.0; 8];
                let mut count = 0.0;
                for c in map.graph.corner_touches(q) {
                    let info = map.biome[c.at()].info();
                    node[AMPLITUDE] += info.amplitude;
                    node[GAIN] += gain[info.biome as usize];
                    count += 1.0;
                }
                node[AMPLITUDE] /= count;
                node[GAIN] /= count;
                node[ELEVATION] = map.corner.elevation[q.at()] as f32;
                node[TEMPERATURE] = map.corner.temperature[q.at()] as f32;
                node[MOISTURE] = map.corner.moisture[q.at()] as f32;
                node
            })
            .collect();
        let center_nodes: Vec<Node> = (0..map.ocean.len())
            .map(|c| {
                let info = map.biome[c].info();
                let mut node = [0.0; 8];
                node[ELEVATION] = map.center.elevation[c] as f32;
                node[TEMPERATURE] = map.center.temperature[c] as f32;
                node[MOISTURE] = map.center.moisture[c] as f32;
                node[AMPLITUDE] = info.amplitude;
                node[GAIN] = gain[info.biome as usize];
                node
            })
            .collect();

        let mut nodes = vec![[0.0; 8]; cols * rows];
        let mut lake = vec![NONE; cols * rows];
        (nodes.par_chunks_mut(cols)).zip(lake.par_chunks_mut(cols)).enumerate().for_each(
            |(row, (nodes, lake))| {
                let y = (min[1] + row as f64 * step).clamp(-half[1], half[1]);
                let mut hint = CenterIx(0);
                for (col, (node, lake)) in nodes.iter_mut().zip(lake).enumerate() {
                    let x = (min[0] + col as f64 * step).clamp(-half[0], half[0]);
                    hint = match col {
                        0 => map.locator.locate([x, y]),
                        _ => map.locator.locate_from([x, y], hint),
                    };
                    *node = in_polygon(&map.graph, hint, [x, y], &center_nodes[hint.at()], &corner_nodes);
                    *lake = map.lake[hint.at()];
                    node[LAKE] = if *lake == NONE { 0.0 } else { 1.0 };
                }
            },
        );
        let all = [1.0; 8];
        let mut biomes = [0.0; 8];
        biomes[AMPLITUDE] = 1.0;
        biomes[GAIN] = 1.0;
        blur(&mut nodes, cols, all);
        blur(&mut nodes, cols, biomes);
        blur(&mut nodes, cols, biomes);
        // A lake's number spreads as far as blur and spline let its water be felt.
        for _ in 0..4 {
            spread(&mut lake, cols);
        }
        let level = |lake: &u32| {
            let elevation = map.lake_level.get(*lake as usize);
            elevation.map_or(f32::NAN, |e| math::pow(e.abs(), params.contrast) as f32)
        };
        let lake_level = lake.iter().map(level).collect();
        Self { cols, min, per_unit: 1.0 / step, nodes, lake_level }
    }

    /// The first `N` values at a place inside the rectangle, and the height of the lake there, NaN if there is none near.
    #[inline]
    fn at<const N: usize>(&self, q: [f64; 2]) -> ([f32; N], f32) {
        let (gx, gy) = ((q[0] - self.min[0]) * self.per_unit, (q[1] - self.min[1]) * self.per_unit);
        let (col, row) = (gx as usize, gy as usize);
        let (tx, ty) = ((gx - col as f64) as f32, (gy - row as f64) as f32);
        let (wx, wy) = (spline(tx), spline(ty));
        let mut sum = [0.0f32; N];
        let first = (row - 1) * self.cols + col - 1;
        for (j, &wy) in wy.iter().enumerate() {
            let line = &self.nodes[first + j * self.cols..][..4];
            let mut part = [0.0f32; N];
            for (node, &wx) in line.iter().zip(&wx) {
                for k in 0..N {
                    part[k] += wx * node[k];
                }
            }
            for k in 0..N {
                sum[k] += wy * part[k];
            }
        }
        let nearest = (row + usize::from(ty >= 0.5)) * self.cols + col + usize::from(tx >= 0.5);
        (sum, self.lake_level[nearest])
    }
}

/// Weights of the cubic B-spline.
#[inline]
fn spline(t: f32) -> [f32; 4] {
    let u = 1.0 - t;
    let (t2, u2) = (t * t, u * u);
    [u2 * u / 6.0, (4.0 - 3.0 * t2 * (2.0 - t)) / 6.0, (4.0 - 3.0 * u2 * (2.0 - u)) / 6.0, t2 * t / 6.0]
}

/// The value at a place in a polygon: straight over the triangle of the centre and two corners that it lies in.
fn in_polygon(graph: &Graph, c: CenterIx, p: [f64; 2], center: &Node, corner_nodes: &[Node]) -> Node {
    let origin = graph.center(c);
    let from = |q: [f64; 2]| [q[0] - origin[0], q[1] - origin[1]];
    let cross = |a: [f64; 2], b: [f64; 2]| a[0] * b[1] - a[1] * b[0];
    let corners = graph.center_corners(c);
    let d = from(p);
    for (k, &q) in corners.iter().enumerate() {
        let next = corners[(k + 1) % corners.len()];
        let (a, b) = (from(graph.corner(q)), from(graph.corner(next)));
        let area = cross(a, b);
        let (wa, wb) = (cross(d, b), cross(a, d));
        if area > 0.0 && wa >= 0.0 && wb >= 0.0 {
            let (mut wa, mut wb) = (wa / area, wb / area);
            let over = (wa + wb).max(1.0);
            (wa, wb) = (wa / over, wb / over);
            let (na, nb) = (&corner_nodes[q.at()], &corner_nodes[next.at()]);
            let (wa, wb) = (wa as f32, wb as f32);
            return std::array::from_fn(|i| center[i] + wa * (na[i] - center[i]) + wb * (nb[i] - center[i]));
        }
    }
    *center
}

/// Averages each node with its neighbours, weights 1 2 1 each way; only the channels whose share is 1.
fn blur(nodes: &mut [Node], cols: usize, share: Node) {
    let average = |a: &Node, b: &Node, c: &Node| -> Node {
        std::array::from_fn(|i| b[i] + share[i] * 0.25 * (a[i] - 2.0 * b[i] + c[i]))
    };
    nodes.par_chunks_mut(cols).for_each(|row| {
        let mut before = row[0];
        for i in 0..cols {
            let here = row[i];
            row[i] = average(&before, &here, &row[(i + 1).min(cols - 1)]);
            before = here;
        }
    });
    let rows = nodes.len() / cols;
    let mut before: Vec<Node> = nodes[..cols].to_vec();
    for row in 0..rows {
        let next = (row + 1).min(rows - 1) * cols;
        for col in 0..cols {
            let here = nodes[row * cols + col];
            nodes[row * cols + col] = average(&before[col], &here, &nodes[next + col]);
            before[col] = here;
        }
    }
}

/// Gives every node without a lake the lake of a neighbour.
fn spread(lake: &mut [u32], cols: usize) {
    let old = lake.to_vec();
    let rows = old.len() / cols;
    for row in 0..rows {
        for col in 0..cols {
            if old[row * cols + col] == NONE {
                let near = [
                    old[row.saturating_sub(1) * cols + col],
                    old[(row + 1).min(rows - 1) * cols + col],
                    old[row * cols + col.saturating_sub(1)],
                    old[row * cols + (col + 1).min(cols - 1)],
                ];
                lake[row * cols + col] = near.into_iter().min().unwrap_or(NONE);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hills_grow_with_their_noise_and_fade_towards_the_sea() {
        // Noise adds as much as it is worth where the ground has its full strength, a share of it nearer the sea.
        for (ground, shore, share) in
            [(0.8f32, 0.2f32, 1.0f32), (0.25, 0.2, 1.0), (0.1, 0.2, 0.5), (-0.4, 0.2, 1.0), (0.3, 0.0, 1.0)]
        {
            for hills in [-0.06f32, -0.01, 0.0, 0.02, 0.06] {
                let once = with_hills(ground, 0.5 * hills, shore) - ground;
                let twice = with_hills(ground, hills, shore) - ground;
                let tolerance = if ground == 0.1 { 0.01 } else { 1e-6 };
                assert!((twice - share * hills).abs() < tolerance, "{ground} with {hills}: {twice}");
                assert!((twice - 2.0 * once).abs() < tolerance, "{ground} with {hills}: {once} and {twice}");
            }
        }
    }

    #[test]
    fn hills_never_turn_land_to_sea_or_sea_to_land() {
        for ground in [1e-6f32, 0.01, 0.5, -1e-6, -0.01, -0.5] {
            for hills in [-3.0f32, -0.2, 0.2, 3.0] {
                assert_eq!(with_hills(ground, hills, 0.2) > 0.0, ground > 0.0, "{ground} with {hills}");
            }
        }
    }
}
