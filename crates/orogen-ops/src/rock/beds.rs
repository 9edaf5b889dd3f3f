//! The rock under the land: a column of beds, bent, cut and intruded; a field in x, y and z that erosion asks.
//!
//! It travels with the terrain as the vector layer `strata`, one feature for each bed, fold, fault, pluton and dyke, so that it
//! survives the cache, windows and Python. [`Strata::of`] reads it; [`Strata::at`] answers for a place, [`Places`] for many
//! places at once.
//!
//! Bending is by upright shear: every place has a height of the column's top, and the beds lie below it in order. So a place
//! is asked for its structure once, and then for any height by a search in the column alone.

use std::f64::consts::TAU;
use std::sync::Arc;

use orogen_core::param::Field;
use orogen_core::vector::{Column, Point, Shape, VectorLayer};
use orogen_core::{Cancelled, Ctx, Raster, Seed, Terrain, math};

use super::line::Line;
use crate::noise::Noise;

/// Name of the vector layer.
pub const STRATA: &str = "strata";

/// Hardness of middling rock: erosion works there as its own parameters say.
pub const MIDDLING: f32 = 0.5;

/// No bed is softer than this: loose sand, which streams cut a hundred times as fast as middling rock.
const SOFTEST: f32 = 0.01;

/// Rock of one kind.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bed {
    /// From 0 (as loose ground) over 0.5 (middling) to 1 (nothing wears it).
    pub hardness: f32,
    /// Steepest slope that stands, rise over distance.
    pub grade: f32,
    /// Its number: beds from the top down, then plutons, then dykes.
    pub index: u16,
}

impl Bed {
    /// How much faster than middling rock streams cut it.
    #[inline]
    #[must_use]
    pub fn softness(&self) -> f32 {
        let hard = self.hardness.max(SOFTEST);
        (1.0 - hard) / hard
    }

    /// The hardness, 0 to 1, of a bed where middling rock has the hardness `middling`.
    #[inline]
    #[must_use]
    pub fn hardness_where(&self, middling: f32) -> f32 {
        1.0 - (2.0 * (1.0 - middling) * (1.0 - self.hardness)).min(1.0)
    }
}

/// What a bed, pluton or dyke is called and looks like.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Look {
    /// Name.
    pub name: String,
    /// Colour, as `#rrggbb`.
    pub colour: String,
}

/// Beds thrown into parallel waves.
#[derive(Clone, Debug, PartialEq)]
pub struct Fold {
    /// Direction of the crest lines, clockwise from north.
    pub axis_deg: f64,
    /// From crest to crest.
    pub wavelength_m: f64,
    /// Half of the height from trough to crest.
    pub amplitude_m: f64,
    /// How far to the right of the middle a crest lies, seen along the axis.
    pub offset_m: f64,
    /// How steeply crest lines go down along the axis.
    pub plunge_deg: f64,
    /// How much steeper the right limb is, -1 to 1.
    pub asymmetry: f64,
    /// How much crest lines waver, fade and plunge of themselves, 0 not at all.
    pub variation: f64,
    /// Length of a fold, as far as it varies.
    pub length_m: f64,
    /// Of the variation.
    pub seed: Seed,
}

/// A break along which one side has moved down.
#[derive(Clone, Debug, PartialEq)]
pub struct Fault {
    line: Line,
    throw_m: f64,
    reach_m: f64,
}

/// A body of rock that rose into the beds.
#[derive(Clone, Debug, PartialEq)]
enum Body {
    /// A dome, round from above, upright below.
    Pluton { at: [f64; 2], radius_m: f64, top_m: f64, seed: Seed },
    /// An upright wall.
    Dyke { line: Line, width_m: f64 },
}

/// The column and all that has happened to it.
#[derive(Clone, Debug, PartialEq)]
pub struct Strata {
    /// Beds from the top down, then plutons, then dykes.
    rocks: Vec<Bed>,
    looks: Vec<Look>,
    /// Depth of the bottom of each bed below the top of the column.
    bottoms: Vec<f64>,
    repeats: bool,
    top_m: f64,
    /// Where the top of the column lies at its height.
    middle: [f64; 2],
    dip_deg: f64,
    dip_to_deg: f64,
    uneven_m: f64,
    uneven_wavelength_m: f64,
    seed: Seed,
    folds: Vec<Fold>,
    faults: Vec<Fault>,
    bodies: Vec<Body>,
}

/// What the structure of a column is made with.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Lay {
    pub top_m: f64,
    pub repeats: bool,
    pub middle: [f64; 2],
    pub dip_deg: f64,
    pub dip_to_deg: f64,
    pub uneven_m: f64,
    pub uneven_wavelength_m: f64,
    pub seed: u64,
}

/// The structure at one place.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Place {
    /// Height of the top of the column.
    top_m: f32,
    /// Height below which a body has taken the place of the beds, and its number in `rocks`.
    body_m: f32,
    body: u16,
}

const NO_BODY: u16 = u16::MAX;

impl Place {
    /// Whether a height lies in the body.
    #[inline]
    fn is_body(&self, z_m: f32) -> bool {
        self.body != NO_BODY && z_m <= self.body_m
    }
}

impl Strata {
    /// A column that lies so, without beds yet.
    pub(super) fn new(lay: Lay) -> Self {
        Self {
            rocks: Vec::new(),
            looks: Vec::new(),
            bottoms: Vec::new(),
            repeats: lay.repeats,
            top_m: lay.top_m,
            middle: lay.middle,
            dip_deg: lay.dip_deg,
            dip_to_deg: lay.dip_to_deg,
            uneven_m: lay.uneven_m,
            uneven_wavelength_m: lay.uneven_wavelength_m,
            seed: Seed(lay.seed),
            folds: Vec::new(),
            faults: Vec::new(),
            bodies: Vec::new(),
        }
    }

    fn rock(&mut self, hardness: f64, talus_deg: f64, look: Look) {
        let hardness = if hardness.is_nan() { f64::from(MIDDLING) } else { hardness.clamp(0.0, 1.0) };
        let talus = if talus_deg.is_nan() { 40.0 } else { talus_deg.clamp(1.0, 89.0) };
        let index = self.rocks.len().min(usize::from(NO_BODY) - 1) as u16;
        self.rocks.push(Bed {
            hardness: hardness as f32,
            grade: math::tan(talus.to_radians()) as f32,
            index,
        });
        self.looks.push(look);
    }

    /// Adds a bed below those that are there; one without a thickness is left out. Bodies come after all beds.
    pub(super) fn bed(&mut self, thickness_m: f64, hardness: f64, talus_deg: f64, look: Look) {
        let thick = thickness_m.is_finite() && thickness_m > 0.0;
        if thick && self.bodies.is_empty() && self.rocks.len() < usize::from(NO_BODY) - 1 {
            self.bottoms.push(self.bottoms.last().copied().unwrap_or(0.0) + thickness_m);
            self.rock(hardness, talus_deg, look);
        }
    }

    /// Adds a fold.
    pub(super) fn fold(&mut self, fold: Fold) {
        let numbers = [fold.axis_deg, fold.amplitude_m, fold.offset_m, fold.plunge_deg, fold.asymmetry];
        let sound = numbers.iter().all(|v| v.is_finite()) && fold.variation.is_finite();
        if sound && fold.wavelength_m > 0.0 && fold.length_m > 0.0 {
            self.folds.push(fold);
        }
    }

    /// Adds a fault along a line: its right side, seen along the line, has moved down by the throw. With a reach of 0 the whole side
    /// has; otherwise the throw is that in the middle of the line, half up and half down, and fades over the reach and towards the ends.
    pub(super) fn fault(&mut self, points: &[[f64; 2]], throw_m: f64, reach_m: f64) {
        if let Some(line) = Line::new(points.iter().copied())
            && throw_m.is_finite()
        {
            self.faults.push(Fault { line, throw_m, reach_m: reach_m.max(0.0) });
        }
    }

    /// Adds a pluton: its hardness, steepest slope, look, middle, radius and the height of its top.
    pub(super) fn pluton(
        &mut self,
        (hardness, talus_deg, look): (f64, f64, Look),
        at: [f64; 2],
        radius_m: f64,
        top_m: f64,
        seed: u64,
    ) {
        if radius_m > 0.0 && top_m.is_finite() && at.iter().all(|v| v.is_finite()) {
            self.bodies.push(Body::Pluton { at, radius_m, top_m, seed: Seed(seed) });
            self.rock(hardness, talus_deg, look);
        }
    }

    /// Adds a dyke: its hardness, steepest slope, look, line and width.
    pub(super) fn dyke(
        &mut self,
        (hardness, talus_deg, look): (f64, f64, Look),
        points: &[[f64; 2]],
        width_m: f64,
    ) {
        if let Some(line) = Line::new(points.iter().copied())
            && width_m > 0.0
        {
            self.bodies.push(Body::Dyke { line, width_m });
            self.rock(hardness, talus_deg, look);
        }
    }

    /// The strata of a terrain; `None` where it has none, or a vector layer of that name that holds no bed.
    #[must_use]
    pub fn of(terrain: &Terrain) -> Option<Self> {
        table::read(terrain.vector(STRATA)?)
    }

    /// The strata as vectors.
    #[must_use]
    pub fn vectors(&self) -> VectorLayer {
        table::write(self)
    }

    /// Every kind of rock: beds from the top down, then plutons, then dykes.
    #[must_use]
    pub fn rocks(&self) -> &[Bed] {
        &self.rocks
    }

    /// The name and colour of each kind of rock.
    #[must_use]
    pub fn looks(&self) -> &[Look] {
        &self.looks
    }

    /// The rock at a place and height.
    #[must_use]
    pub fn at(&self, x_m: f64, y_m: f64, z_m: f64) -> Bed {
        let place = self.place([x_m, y_m]);
        self.rock_at(place, z_m as f32)
    }

    /// The height at which the top of the column lies at a place; bodies apart.
    #[must_use]
    pub fn top_at(&self, [x, y]: [f64; 2]) -> f64 {
        let (u, v) = (x - self.middle[0], y - self.middle[1]);
        let to = self.dip_to_deg.to_radians();
        let mut top =
            self.top_m - math::tan(self.dip_deg.to_radians()) * (u * math::sin(to) + v * math::cos(to));
        if self.uneven_m > 0.0 {
            let noise = wander(self.seed.child("uneven"), [u, v].map(|d| d / self.uneven_wavelength_m));
            top += self.uneven_m * noise;
        }
        for fold in &self.folds {
            top += fold.lift([u, v]);
        }
        for fault in &self.faults {
            top += fault.lift([x, y]);
        }
        top
    }

    fn place(&self, at: [f64; 2]) -> Place {
        let mut place = Place { top_m: self.top_at(at) as f32, body_m: f32::NEG_INFINITY, body: NO_BODY };
        for (i, body) in self.bodies.iter().enumerate() {
            let top_m = body.top_at(at) as f32;
            if top_m > place.body_m {
                (place.body_m, place.body) = (top_m, (self.bottoms.len() + i) as u16);
            }
        }
        place
    }

    /// The number of the bed just below a depth, and how many whole columns lie above it.
    fn bed_below(&self, depth: f64) -> (usize, f64) {
        let total = self.bottoms.last().copied().unwrap_or(1.0);
        let turns = if self.repeats { (depth / total).floor() } else { 0.0 };
        let within = depth - turns * total;
        let number = self.bottoms.partition_point(|&bottom| bottom <= within);
        (number.min(self.bottoms.len() - 1), turns)
    }

    #[inline]
    fn rock_at(&self, place: Place, z_m: f32) -> Bed {
        if place.is_body(z_m) {
            return self.rocks[usize::from(place.body)];
        }
        self.rocks[self.bed_below(f64::from(place.top_m) - f64::from(z_m)).0]
    }

    /// The structure at the samples of a raster, whose places are given.
    #[must_use]
    pub fn places(
        self: &Arc<Self>,
        cols: usize,
        rows: usize,
        place: impl Fn(usize, usize) -> [f64; 2] + Sync,
    ) -> Places {
        let tops = Raster::from_fn(cols, rows, |c, r| self.top_at(place(c, r)) as f32);
        let bodies = (!self.bodies.is_empty()).then(|| {
            Raster::from_fn(cols, rows, |c, r| {
                let Place { body_m, body, .. } = self.place(place(c, r));
                (body_m, body)
            })
        });
        Places { strata: self.clone(), tops, bodies }
    }

    /// The same for a raster so large that somebody may want to stop meanwhile.
    ///
    /// # Errors
    /// When cancelled.
    pub fn places_of_many(
        self: &Arc<Self>,
        cols: usize,
        rows: usize,
        place: impl Fn(usize, usize) -> [f64; 2] + Sync,
        ctx: &Ctx<'_>,
    ) -> Result<Places, Cancelled> {
        let mut tops = Raster::filled(cols, rows, 0.0);
        tops.try_par_rows(|r, out| {
            out.iter_mut().enumerate().for_each(|(c, top)| *top = self.top_at(place(c, r)) as f32);
            ctx.stop_if_asked()
        })?;
        let bodies = match self.bodies.is_empty() {
            true => None,
            false => {
                let mut bodies = Raster::filled(cols, rows, Default::default());
                bodies.try_par_rows(|r, out| {
                    for (c, out) in out.iter_mut().enumerate() {
                        let Place { body_m, body, .. } = self.place(place(c, r));
                        *out = (body_m, body);
                    }
                    ctx.stop_if_asked()
                })?;
                Some(bodies)
            }
        };
        Ok(Places { strata: self.clone(), tops, bodies })
    }

    /// The structure at the samples of a terrain, if it has strata.
    ///
    /// # Errors
    /// When cancelled.
    pub fn under(terrain: &Terrain, ctx: &Ctx<'_>) -> Result<Option<Places>, Cancelled> {
        let frame = *terrain.frame();
        let Some(strata) = Self::of(terrain).map(Arc::new) else { return Ok(None) };
        let place = |c: usize, r: usize| [frame.x_m(c), frame.y_m(r)];
        strata.places_of_many(frame.cols(), frame.rows(), place, ctx).map(Some)
    }
}

impl Fold {
    /// How far it lifts beds, at a place relative to the middle of the column.
    fn lift(&self, [x, y]: [f64; 2]) -> f64 {
        let axis = self.axis_deg.to_radians();
        let (sin, cos) = (math::sin(axis), math::cos(axis));
        let (along, across) = (x * sin + y * cos, x * cos - y * sin - self.offset_m);
        let (mut phase, mut strength) = (TAU * across / self.wavelength_m, 1.0);
        if self.variation > 0.0 {
            let at = [across / (1.7 * self.wavelength_m), along / self.length_m];
            phase += 2.5 * self.variation * wander(self.seed.child("bends"), at);
            strength = (1.0 + 1.6 * self.variation * wander(self.seed.child("fades"), at)).max(0.0);
        }
        let leaning = phase + self.asymmetry * (1.0 - math::cos(phase));
        self.amplitude_m * strength * math::cos(leaning) - math::tan(self.plunge_deg.to_radians()) * along
    }
}

impl Fault {
    fn lift(&self, at: [f64; 2]) -> f64 {
        let whole = self.reach_m == 0.0;
        let beside = self.line.beside(at, whole);
        let is_down = beside.right_m > 0.0;
        if whole {
            return if is_down { -self.throw_m } else { 0.0 };
        }
        let far = beside.right_m.abs() / self.reach_m;
        if far >= 1.0 {
            return 0.0;
        }
        let from_middle = 2.0 * beside.along_m / self.line.length_m() - 1.0;
        let here = 0.5 * self.throw_m * (1.0 - from_middle * from_middle).max(0.0).sqrt();
        let left = (1.0 - far) * (1.0 - far);
        if is_down { -here * left } else { here * left }
    }
}

impl Body {
    /// Height of its top at a place; minus infinity where it is not.
    fn top_at(&self, [x, y]: [f64; 2]) -> f64 {
        match self {
            Self::Pluton { at: [ax, ay], radius_m, top_m, seed } => {
                let (u, v) = ((x - ax) / radius_m, (y - ay) / radius_m);
                let uneven = 1.0 + 0.25 * wander(seed.child("outline"), [1.2 * u, 1.2 * v]);
                let far2 = (u * u + v * v) * uneven * uneven;
                if far2 >= 1.0 { f64::NEG_INFINITY } else { top_m - radius_m * (1.0 - (1.0 - far2).sqrt()) }
            }
            Self::Dyke { line, width_m } => {
                let far = line.beside([x, y], false).right_m.abs();
                if far <= 0.5 * width_m { f64::INFINITY } else { f64::NEG_INFINITY }
            }
        }
    }
}

/// Three octaves of smooth noise, about -0.6 to 0.6.
pub(super) fn wander(seed: Seed, [x, y]: [f64; 2]) -> f64 {
    let mut sum = 0.0;
    for (octave, weight) in [1.0, 0.4, 0.16].into_iter().enumerate() {
        let own = Seed(seed.bits(octave as u64));
        let scale = f64::from(1u32 << octave);
        // Lattice points are zeros of the noise: octaves may not share them.
        let at = [scale * x + own.unit(1), scale * y + own.unit(2)];
        sum += weight * f64::from(Noise::new(own).at(at[0].clamp(-1e15, 1e15), at[1].clamp(-1e15, 1e15)));
    }
    sum
}

/// The structure at many places, for quick questions at any height.
#[derive(Clone, Debug)]
pub struct Places {
    strata: Arc<Strata>,
    tops: Raster<f32>,
    bodies: Option<Raster<(f32, u16)>>,
}

impl Places {
    #[inline]
    fn place(&self, cell: usize) -> Place {
        let (body_m, body) =
            self.bodies.as_ref().map_or((f32::NEG_INFINITY, NO_BODY), |bodies| bodies.as_slice()[cell]);
        Place { top_m: self.tops.as_slice()[cell], body_m, body }
    }

    /// The rock just below a height at a sample, by its number row by row. A hole is in the lowest bed.
    #[inline]
    #[must_use]
    pub fn rock(&self, cell: usize, z_m: f32) -> Bed {
        self.strata.rock_at(self.place(cell), z_m)
    }

    /// The rocks below a height at a sample from the top down, each with the height of its bottom; the last goes down for ever.
    #[must_use]
    pub fn down(&self, cell: usize, z_m: f32) -> Down<'_> {
        let place = self.place(cell);
        let depth = f64::from(place.top_m) - f64::from(z_m);
        let (bed, turns) = if depth.is_finite() { self.strata.bed_below(depth) } else { (0, 0.0) };
        Down { strata: &self.strata, place, bed, turns, inside: place.is_body(z_m), done: false }
    }

    /// How deep rock is worn from a height down by what would take `middling_m` of middling rock: far into soft beds, little into
    /// hard ones.
    #[must_use]
    pub fn worn(&self, cell: usize, z_m: f32, middling_m: f32) -> f32 {
        let (mut left_m, mut top) = (middling_m, z_m);
        for (bed, bottom) in self.down(cell, z_m).take(MOST_BEDS) {
            let (drop, soft) = ((top - bottom).max(0.0), bed.softness());
            if drop >= soft * left_m {
                top -= soft * left_m;
                break;
            }
            left_m -= drop / soft;
            top = bottom;
        }
        (z_m - top).max(0.0)
    }

    /// How steep a slope may be that begins at a height and goes down for so far: through hard beds steeply, through soft ones
    /// less so.
    #[must_use]
    pub fn grade(&self, cell: usize, z_m: f32, far_m: f32) -> f32 {
        let (mut left_m, mut top) = (far_m, z_m);
        for (bed, bottom) in self.down(cell, z_m).take(MOST_BEDS) {
            let drop = (top - bottom).max(0.0);
            if drop >= bed.grade * left_m {
                top -= bed.grade * left_m;
                break;
            }
            left_m -= drop / bed.grade;
            top = bottom;
        }
        ((z_m - top) / far_m).max(1e-3)
    }
}

/// How hard the rock is, from 0 (as loose ground) to 1 (nothing wears it), for operators that have such a parameter: what the
/// parameter says is middling rock, and beds, where there are any, are by so much harder or softer.
#[derive(Clone, Copy, Debug)]
pub struct Hardness<'a> {
    middling: Field<'a>,
    places: Option<&'a Places>,
}

impl<'a> Hardness<'a> {
    /// The hardness of middling rock, and the beds if there are any.
    #[must_use]
    pub fn new(middling: Field<'a>, places: Option<&'a Places>) -> Self {
        Self { middling, places }
    }

    /// The hardness at a sample whose rock begins at a height.
    #[inline]
    #[must_use]
    pub fn at(&self, col: usize, row: usize, z_m: f32) -> f32 {
        let middling = self.middling.at(col, row);
        self.bed(col, row, z_m).map_or(middling, |bed| bed.hardness_where(middling))
    }

    /// The bed at a sample whose rock begins at a height, if there are beds.
    #[inline]
    #[must_use]
    pub fn bed(&self, col: usize, row: usize, z_m: f32) -> Option<Bed> {
        self.places.map(|places| places.rock(row * places.tops.cols() + col, z_m))
    }

    /// Whether hardness changes as the surface falls.
    #[must_use]
    pub fn has_beds(&self) -> bool {
        self.places.is_some()
    }
}

impl<'a> From<Field<'a>> for Hardness<'a> {
    fn from(middling: Field<'a>) -> Self {
        Self { middling, places: None }
    }
}

/// Beds that are looked at one by one at most; what lies below counts as the last.
pub const MOST_BEDS: usize = 200;

/// See [`Places::down`].
#[derive(Clone, Debug)]
pub struct Down<'a> {
    strata: &'a Strata,
    place: Place,
    bed: usize,
    turns: f64,
    inside: bool,
    done: bool,
}

impl Iterator for Down<'_> {
    type Item = (Bed, f32);

    #[inline]
    fn next(&mut self) -> Option<(Bed, f32)> {
        if self.done {
            return None;
        }
        let strata = self.strata;
        if self.inside {
            self.done = true;
            return Some((strata.rocks[usize::from(self.place.body)], f32::NEG_INFINITY));
        }
        let bed = strata.rocks[self.bed];
        let beds = strata.bottoms.len();
        let total = strata.bottoms[beds - 1];
        let mut bottom = (f64::from(self.place.top_m) - self.turns * total - strata.bottoms[self.bed]) as f32;
        self.bed += 1;
        if self.bed == beds {
            if strata.repeats {
                (self.bed, self.turns) = (0, self.turns + 1.0);
            } else {
                bottom = f32::NEG_INFINITY;
            }
        }
        if bottom <= self.place.body_m {
            (bottom, self.inside) = (self.place.body_m, true);
        }
        self.done = bottom == f32::NEG_INFINITY;
        Some((bed, bottom))
    }
}

/// Strata as a table of features.
mod table {
    use super::*;

    /// Columns of numbers.
    const NUMBERS: [&str; 18] = [
        "thickness_m",
        "hardness",
        "talus_deg",
        "top_m",
        "dip_deg",
        "direction_deg",
        "wavelength_m",
        "amplitude_m",
        "offset_m",
        "plunge_deg",
        "asymmetry",
        "variation",
        "length_m",
        "throw_m",
        "reach_m",
        "width_m",
        "x_m",
        "y_m",
    ];

    /// One feature.
    #[derive(Default)]
    struct Entry {
        kind: &'static str,
        look: Look,
        numbers: Vec<(&'static str, f64)>,
        seed: u64,
        repeats: bool,
        points: Vec<[f64; 2]>,
    }

    pub fn write(strata: &Strata) -> VectorLayer {
        let middle = vec![strata.middle];
        let mut entries = vec![Entry {
            kind: "column",
            numbers: vec![
                ("top_m", strata.top_m),
                ("dip_deg", strata.dip_deg),
                ("direction_deg", strata.dip_to_deg),
                ("amplitude_m", strata.uneven_m),
                ("wavelength_m", strata.uneven_wavelength_m),
            ],
            seed: strata.seed.0,
            repeats: strata.repeats,
            points: middle.clone(),
            ..Entry::default()
        }];
        let rock = |i: usize| {
            let Bed { hardness, grade, .. } = strata.rocks[i];
            let talus = math::atan(f64::from(grade)).to_degrees();
            vec![("hardness", f64::from(hardness)), ("talus_deg", talus)]
        };
        let mut above = 0.0;
        for (i, &bottom) in strata.bottoms.iter().enumerate() {
            let mut numbers = rock(i);
            numbers.push(("thickness_m", bottom - above));
            above = bottom;
            let look = strata.looks[i].clone();
            entries.push(Entry { kind: "bed", look, numbers, points: middle.clone(), ..Entry::default() });
        }
        for fold in &strata.folds {
            entries.push(Entry {
                kind: "fold",
                numbers: vec![
                    ("direction_deg", fold.axis_deg),
                    ("wavelength_m", fold.wavelength_m),
                    ("amplitude_m", fold.amplitude_m),
                    ("offset_m", fold.offset_m),
                    ("plunge_deg", fold.plunge_deg),
                    ("asymmetry", fold.asymmetry),
                    ("variation", fold.variation),
                    ("length_m", fold.length_m),
                ],
                seed: fold.seed.0,
                points: middle.clone(),
                ..Entry::default()
            });
        }
        for fault in &strata.faults {
            entries.push(Entry {
                kind: "fault",
                numbers: vec![("throw_m", fault.throw_m), ("reach_m", fault.reach_m)],
                points: fault.line.points().to_vec(),
                ..Entry::default()
            });
        }
        for (i, body) in strata.bodies.iter().enumerate() {
            let number = strata.bottoms.len() + i;
            let (look, mut numbers) = (strata.looks[number].clone(), rock(number));
            entries.push(match body {
                Body::Pluton { at, radius_m, top_m, seed } => {
                    numbers.extend([("width_m", 2.0 * radius_m), ("top_m", *top_m)]);
                    Entry {
                        kind: "pluton",
                        look,
                        numbers,
                        seed: seed.0,
                        points: vec![*at],
                        ..Entry::default()
                    }
                }
                Body::Dyke { line, width_m } => {
                    numbers.push(("width_m", *width_m));
                    let points = line.points().to_vec();
                    Entry { kind: "dyke", look, numbers, points, ..Entry::default() }
                }
            });
        }
        layer(entries)
    }

    fn layer(entries: Vec<Entry>) -> VectorLayer {
        let mut layer = VectorLayer::new(Shape::Lines);
        let mut numbers = NUMBERS.map(|_| Vec::new());
        let (mut kinds, mut names, mut colours) = (Vec::new(), Vec::new(), Vec::new());
        let (mut seeds, mut repeats) = (Vec::new(), Vec::new());
        for mut entry in entries {
            // Where it begins, so that copies of it beside land that loops can be left out.
            if let Some(&[x, y]) = entry.points.first() {
                entry.numbers.extend([("x_m", x), ("y_m", y)]);
            }
            layer.push(entry.points.iter().map(|&[x, y]| -> Point { [x, y, f64::NAN] }));
            for (name, column) in NUMBERS.iter().zip(&mut numbers) {
                column.push(entry.numbers.iter().find(|(n, _)| n == name).map_or(f64::NAN, |(_, v)| *v));
            }
            kinds.push(entry.kind.to_owned());
            names.push(entry.look.name);
            colours.push(entry.look.colour);
            seeds.push(entry.seed as i64);
            repeats.push(entry.repeats);
        }
        // One entry per feature was pushed above, so all fit.
        for (name, column) in NUMBERS.iter().zip(numbers) {
            let _ = layer.set_feature_attribute(name, Column::Number(column));
        }
        let _ = layer.set_feature_attribute("kind", Column::Text(kinds));
        let _ = layer.set_feature_attribute("name", Column::Text(names));
        let _ = layer.set_feature_attribute("colour", Column::Text(colours));
        let _ = layer.set_feature_attribute("seed", Column::Integer(seeds));
        let _ = layer.set_feature_attribute("repeats", Column::Flag(repeats));
        layer
    }

    pub fn read(layer: &VectorLayer) -> Option<Strata> {
        let columns = layer.feature_attributes();
        let kinds = columns.get("kind")?;
        let number = |name: &str, i: usize| columns.get(name).and_then(|c| c.number(i)).unwrap_or(f64::NAN);
        let or = |value: f64, other: f64| if value.is_finite() { value } else { other };
        let text =
            |name: &str, i: usize| columns.get(name).and_then(|c| c.text(i)).unwrap_or_default().to_owned();
        let seed = |i: usize| match columns.get("seed") {
            Some(Column::Integer(seeds)) => seeds[i] as u64,
            _ => 0,
        };
        let points = |i: usize| -> Vec<[f64; 2]> {
            let places = layer.parts(i).flat_map(|part| layer.vertices()[part].iter());
            places.map(|&[x, y, _]| [x, y]).collect()
        };
        let is_copy = |i: usize| {
            let begins = points(i).first().copied().unwrap_or_default();
            let other = |said: f64, is: f64| said.is_finite() && said != is;
            other(number("x_m", i), begins[0]) || other(number("y_m", i), begins[1])
        };
        let of_kind = |kind: &'static str| {
            (0..layer.len()).filter(move |&i| kinds.text(i).is_some_and(|text| text == kind) && !is_copy(i))
        };
        let column = of_kind("column").next()?;
        let finite = |value: &[f64; 2]| value.iter().all(|v| v.is_finite());
        let mut strata = Strata::new(Lay {
            top_m: or(number("top_m", column), 0.0),
            repeats: number("repeats", column) == 1.0,
            middle: points(column).first().copied().filter(finite).unwrap_or_default(),
            dip_deg: or(number("dip_deg", column), 0.0).clamp(-89.0, 89.0),
            dip_to_deg: or(number("direction_deg", column), 0.0),
            uneven_m: or(number("amplitude_m", column), 0.0),
            uneven_wavelength_m: or(number("wavelength_m", column), 1.0).max(1e-3),
            seed: seed(column),
        });
        let rock = |i: usize| {
            let look = Look { name: text("name", i), colour: text("colour", i) };
            (number("hardness", i), number("talus_deg", i), look)
        };
        for i in of_kind("bed") {
            let (hardness, talus_deg, look) = rock(i);
            strata.bed(number("thickness_m", i), hardness, talus_deg, look);
        }
        if strata.bottoms.is_empty() {
            return None;
        }
        for i in of_kind("fold") {
            strata.fold(Fold {
                axis_deg: number("direction_deg", i),
                wavelength_m: number("wavelength_m", i),
                amplitude_m: number("amplitude_m", i),
                offset_m: number("offset_m", i),
                plunge_deg: number("plunge_deg", i).clamp(-89.0, 89.0),
                asymmetry: number("asymmetry", i),
                variation: number("variation", i),
                length_m: number("length_m", i),
                seed: Seed(seed(i)),
            });
        }
        for i in of_kind("fault") {
            strata.fault(&points(i), number("throw_m", i), number("reach_m", i));
        }
        for i in of_kind("pluton") {
            if let Some(&at) = points(i).first() {
                strata.pluton(rock(i), at, 0.5 * number("width_m", i), number("top_m", i), seed(i));
            }
        }
        for i in of_kind("dyke") {
            strata.dyke(rock(i), &points(i), number("width_m", i));
        }
        Some(strata)
    }
}
