//! Placed features: mountains, rivers, lakes and more, each with its place, size and strength.

mod area;
mod flats;
mod fractal;
mod index;
mod lines;
mod marks;
mod peaks;
mod river;
mod round;
mod sand;
mod spline;
mod trace;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use orogen_core::param::{Fault, Segment};
use orogen_core::vector::{Shape, VectorLayer};
use orogen_core::{
    Cancelled, Ctx, Footprint, Frame, LayerName, Layers, Op, OpError, Prepared, Raster, Reach, Rect, Seed,
    Terrain, layer,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use area::Massif;
pub use flats::{Lake, Plateau};
pub use lines::{Canyon, CanyonPoint, Ridge, RidgePoint};
pub use peaks::{Crater, Hill, Mountain, Volcano};
pub use river::{River, RiverPoint};
pub use sand::DuneField;

/// Features with everything worked out that does not depend on the sample: what a twin on another processor works with.
pub mod ready {
    pub use super::Ready;
    pub use super::area::{Area, Form as AreaForm, Slope};
    pub use super::flats::Flat;
    pub use super::fractal::Fractal;
    pub use super::lines::Profile;
    pub use super::peaks::{Peak, Shape};
    pub use super::round::{Form, Round};
    pub use super::sand::Sand;
    pub use super::spline::{Arc, Spline};
    pub use super::trace::Trace;
}

use crate::brush::changed;
use crate::held_lines::{self, HOLD};
use fractal::Grain;
use index::{Bands, Part};

/// Name of the vector layer with rivers.
const RIVERS: &str = "rivers";

/// A feature of some kind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Feature {
    /// A mountain, added to the land.
    Mountain(Mountain),
    /// High ground of any outline, added to the land.
    Massif(Massif),
    /// A hill, added to the land.
    Hill(Hill),
    /// A river and its valley, at heights of their own.
    River(River),
    /// Dunes, added to the land.
    DuneField(DuneField),
    /// A lake, at a height of its own.
    Lake(Lake),
    /// A plateau, at a height of its own.
    Plateau(Plateau),
    /// A ridge along a line, added to the land.
    Ridge(Ridge),
    /// A canyon along a line, cut into the land.
    Canyon(Canyon),
    /// The crater of an impact, cut into the land.
    Crater(Crater),
    /// A volcano with its crater, added to the land.
    Volcano(Volcano),
}

macro_rules! kinds {
    ($($kind:ident $word:literal,)*) => {
        impl Feature {
            /// Its kind, as recipes name it.
            #[must_use]
            pub fn kind(&self) -> &'static str {
                match self { $(Self::$kind(_) => $word,)* }
            }

            /// Its name, if it has one.
            #[must_use]
            pub fn name(&self) -> Option<&str> {
                match self { $(Self::$kind(feature) => feature.name.as_deref(),)* }
            }

            /// The same with a name.
            #[must_use]
            pub fn named(mut self, name: &str) -> Self {
                match &mut self { $(Self::$kind(feature) => feature.name = Some(name.to_owned()),)* }
                self
            }

            /// Sets whether later steps keep it.
            pub fn set_hold(&mut self, hold: bool) {
                match self { $(Self::$kind(feature) => feature.hold = hold,)* }
            }

            /// Whether later steps keep it.
            #[must_use]
            pub fn hold(&self) -> bool {
                match self { $(Self::$kind(feature) => feature.hold,)* }
            }

            fn ready(&self, grain: Grain) -> Ready {
                match self { $(Self::$kind(feature) => feature.ready(grain).into(),)* }
            }
        }

        $(impl From<$kind> for Feature {
            fn from(feature: $kind) -> Self {
                Self::$kind(feature)
            }
        })*
    };
}

kinds! {
    Mountain "mountain",
    Massif "massif",
    Hill "hill",
    River "river",
    DuneField "dune_field",
    Lake "lake",
    Plateau "plateau",
    Ridge "ridge",
    Canyon "canyon",
    Crater "crater",
    Volcano "volcano",
}

impl Feature {
    /// Where it is: its middle, or the first point of its line.
    #[must_use]
    pub fn at_m(&self) -> [f64; 2] {
        match self {
            Self::Mountain(f) => f.at_m,
            Self::Massif(f) => f.at_m,
            Self::Hill(f) => f.at_m,
            Self::DuneField(f) => f.at_m,
            Self::Lake(f) => f.at_m,
            Self::Plateau(f) => f.at_m,
            Self::Crater(f) => f.at_m,
            Self::Volcano(f) => f.at_m,
            Self::River(f) => f.points.first().map_or([0.0; 2], |p| [p.x_m, p.y_m]),
            Self::Ridge(f) => f.points.first().map_or([0.0; 2], |p| [p.x_m, p.y_m]),
            Self::Canyon(f) => f.points.first().map_or([0.0; 2], |p| [p.x_m, p.y_m]),
        }
    }

    /// Its outline in radii around its middle; empty for those without.
    #[must_use]
    pub fn rings(&self) -> &[Vec<[f64; 2]>] {
        match self {
            Self::Massif(f) => &f.outline,
            Self::Lake(f) => &f.outline,
            Self::Plateau(f) => &f.outline,
            Self::DuneField(f) => &f.outline,
            _ => &[],
        }
    }

    /// Everything that it may change lies inside.
    pub(crate) fn extent(&self) -> Rect {
        let ready = self.ready(Grain { seed: Seed(0), finest_m: 1.0 });
        let none = Rect { min: [f64::INFINITY; 2], max: [f64::NEG_INFINITY; 2] };
        ready.parts(0).iter().fold(none, |all, (_, part)| Rect {
            min: [all.min[0].min(part.min[0]), all.min[1].min(part.min[1])],
            max: [all.max[0].max(part.max[0]), all.max[1].max(part.max[1])],
        })
    }

    /// Multiplies the height of what stands on the land; others stay.
    pub(crate) fn scale_height(&mut self, by: f64, rounded: impl Fn(f64) -> f64) {
        let scale = |height: &mut f64| *height = rounded(*height * by);
        match self {
            Self::Mountain(f) => scale(&mut f.height_m),
            Self::Massif(f) => scale(&mut f.height_m),
            Self::Hill(f) => scale(&mut f.height_m),
            Self::DuneField(f) => scale(&mut f.height_m),
            Self::Volcano(f) => scale(&mut f.height_m),
            Self::Ridge(f) => {
                scale(&mut f.height_m);
                f.points.iter_mut().filter_map(|p| p.height_m.as_mut()).for_each(scale);
            }
            Self::River(_) | Self::Lake(_) | Self::Plateau(_) | Self::Canyon(_) | Self::Crater(_) => {}
        }
    }

    /// Its own seed: from its name, or from its place where it has none, so that others may come and go.
    fn own_seed(&self, seed: Seed) -> Seed {
        match self.name() {
            Some(name) => seed.child(self.kind()).child(name),
            None => {
                let [x, y] = self.at_m().map(|v| (v + 0.0).to_bits() as i64);
                Seed(seed.child(self.kind()).bits2(x, y))
            }
        }
    }
}

fn one() -> f64 {
    1.0
}

fn half() -> f64 {
    0.5
}

/// Puts features on the land: mountain, massif, hill, river, dune field, lake, plateau, ridge, canyon, crater and volcano.
///
/// Each has a place, a size and a strength, acts up to its radius and nowhere else. With the cubic
/// `C(t) = 2t³ − 3t² + 1`, which falls smoothly from 1 in the middle (t = 0) to 0 at the radius (t = 1),
///
/// ```text
/// hill       h + s·H·C·(1 + r·N)                plateau   h + s·C(out)·(level − h)
/// mountain   h + s·H·(C + pointed C)·(1 + r·N)  lake      as a plateau, and a bowl of its depth inside the shore
/// ridge      as a mountain, across a line       river     to the level of its banks by a wide C, its bed by a narrow C
/// massif     h + s·H·(1 − C)·(1 + r·N)          by the distance inside an outline
/// dunes      h + s·H·(crest across the wind)·(noise by which dunes begin and end)
/// ```
///
/// A lake, plateau or dune field may have an outline as well: then the distance to the outline takes the place of that
/// to the middle. Noise may lower a mountain, hill or massif by any amount, but raises it only as long as its top stays
/// the highest.
///
/// N is a fractal that moves with the feature and is 0 in its middle; it also lets outlines wander. Its waves shorter
/// than two samples are left out. Lines are centripetal
/// Catmull-Rom curves; between two branches of a hairpin everything goes smoothly from one to the other.
///
/// Features act in the order of the list, each on what the ones before it have left: a river after a mountain cuts
/// through it, a mountain after a river buries it. Rivers that follow each other in the list make all banks first and
/// then all beds, so that none dams another where they meet. A feature with a `name` keeps its random shape when it is
/// moved.
///
/// Rivers of full strength also become lines of the vector layer `rivers`, with the height of the bed and `width_m`;
/// former rivers stay where no feature touches them. Lakes with a depth set the layer `water`; with `keep_water` the
/// water of earlier steps stays where the ground does. What has `hold` is
/// marked in the vector layer `hold`.
///
/// **Guarantees** (1) In the middle, or on the line, the land has the given height, depth or level, and on level land
/// that is the summit of a mountain or hill; the crater of a volcano never lies below the land it stands on; (2)
/// outside the radius nothing changes, to the bit; (3) the bed of a river falls downstream whatever land is underneath,
/// and at its points the river has the given width and depth; (4) no jump and no crease inside hairpins and loops; (5)
/// a window has the same bits as the whole; (6) an empty list changes nothing.
///
/// **Limits** A hole stays a hole. Where a river crosses itself at two heights its bed goes from one to the other within
/// a quarter of its width. On the inside of a bend as tight as the river is wide, its bed is a few per cent wider. A
/// held mountain, hill, ridge, canyon, crater, volcano or dune field is marked without a height: erosion keeps the one it
/// finds there. A feature costs only what it touches.
///
/// **After** Zaaijer, "GPU Based Generation and Real-Time Rendering of Semi-Procedural Terrain Using Features", chapters
/// 3.3 to 3.5; the curves are those of Yuksel, Schaefer & Keyser, "Parameterization and applications of Catmull-Rom
/// curves", 2011. The closest point, the blending of branches and the other kinds are ours.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Features {
    /// The features, in the order in which they act.
    #[schemars(length(max = 200_000))]
    pub features: Vec<Feature>,
    /// Seed of all shapes, any text; empty takes the step's own seed. The features that `shape.sketch` writes down have
    /// one, so that they keep their shape in any recipe.
    #[serde(alias = "luck")] // formerly
    #[schemars(length(max = 100), extend("x-formerly" = "luck"))]
    pub seed: String,
    /// Keeps existing `water` wherever the ground stays; otherwise lakes replace the layer.
    pub keep_water: bool,
}

impl Op for Features {
    const ID: &'static str = "shape.features";
    const VERSION: u32 = 3;

    fn layers(&self) -> Layers {
        let mut layers = Layers::none().updating([layer::HEIGHT.name()]);
        if self.lakes().next().is_some() {
            let water = [layer::WATER.name()];
            layers = if self.keep_water { layers.updating(water) } else { layers.writing(water) };
        }
        if self.features.iter().any(|feature| matches!(feature, Feature::River(_))) {
            layers = layers.deriving_vectors([RIVERS], [layer::HEIGHT.name()]).using_vectors([RIVERS]);
        } else {
            layers = layers.keeping_vectors([RIVERS]);
        }
        if self.features.iter().any(Feature::hold) {
            layers = layers.writing_vectors([HOLD]).using_vectors([HOLD]);
        }
        layers
    }

    fn reach(&self, _: &Frame) -> Reach {
        Reach::Point
    }

    fn endless(&self) -> bool {
        true
    }

    fn faults(&self) -> Vec<Fault> {
        let mut faults = Vec::new();
        let mut names: BTreeMap<&str, usize> = BTreeMap::new();
        for (i, feature) in self.features.iter().enumerate() {
            if let Some(name) = feature.name()
                && let Some(first) = names.insert(name, i)
            {
                let path =
                    vec![Segment::Key("features".into()), Segment::Index(i), Segment::Key("name".into())];
                let message =
                    format!("features[{first}] is also named {name:?}; give every feature a different name");
                faults.push(Fault { path, message });
            }
            if let Feature::River(river) = feature {
                faults.extend(river.faults(i));
            }
            faults.extend(feature.rings().iter().enumerate().filter(|(_, ring)| ring.len() < 3).map(
                |(k, ring)| {
                    let path = ["features", "outline"].map(|key| Segment::Key(key.into()));
                    let [features, outline] = path;
                    Fault {
                        path: vec![features, Segment::Index(i), outline, Segment::Index(k)],
                        message: format!("an outline needs at least 3 corners, found {}", ring.len()),
                    }
                },
            ));
            if faults.len() > 100 {
                break; // enough to mend
            }
        }
        faults
    }

    fn footprint(&self, old: &Self, _: &Frame) -> Footprint {
        if self.seed != old.seed || self.keep_water != old.keep_water {
            return Footprint::Everything;
        }
        Footprint::of(changed(&old.features, &self.features).into_iter().map(Feature::extent))
    }

    fn prepare(&self, world: &Frame, ctx: &Ctx<'_>) -> Result<Option<Box<dyn Prepared>>, OpError> {
        let world = Traced::new(self, world, ctx.seed());
        Ok(Some(Box::new(AtSpacings { world, others: Mutex::default() })))
    }

    fn run(&self, terrain: Terrain, ctx: &Ctx<'_>) -> Result<Terrain, OpError> {
        Traced::new(self, terrain.frame(), ctx.seed()).run(terrain, ctx)
    }
}

/// Features with their splines traced and their noise set up, for frames of one spacing: finer ones have finer noise.
struct Traced {
    params: Features,
    finest_m: f64,
    ready: Vec<Ready>,
    parts: Vec<(Part, Rect)>,
}

/// Features traced for the world, and for the spacings of windows as they come.
struct AtSpacings {
    world: Traced,
    /// By the shortest waves, in bits.
    others: Mutex<BTreeMap<u64, Arc<Traced>>>,
}

/// Spacings that are remembered: the levels of a quadtree.
const MOST_SPACINGS: usize = 24;

impl Prepared for AtSpacings {
    fn run(&self, terrain: Terrain, ctx: &Ctx<'_>) -> Result<Terrain, OpError> {
        let finest_m = Traced::finest_m(terrain.frame());
        if finest_m == self.world.finest_m {
            return self.world.run(terrain, ctx);
        }
        let others = || self.others.lock().unwrap_or_else(PoisonError::into_inner);
        let known = others().get(&finest_m.to_bits()).cloned();
        let traced = known.unwrap_or_else(|| {
            let made = Arc::new(Traced::new(&self.world.params, terrain.frame(), ctx.seed()));
            let mut others = others();
            if others.len() >= MOST_SPACINGS {
                others.clear();
            }
            others.insert(finest_m.to_bits(), made.clone());
            made
        });
        traced.run(terrain, ctx)
    }
}

impl Traced {
    fn new(params: &Features, frame: &Frame, seed: Seed) -> Self {
        let ready = params.ready(frame, seed);
        let parts = ready.iter().enumerate().flat_map(|(i, ready)| ready.parts(i as u32)).collect();
        Self { params: params.clone(), finest_m: Self::finest_m(frame), ready, parts }
    }

    /// The shortest waves that a frame can show.
    fn finest_m(frame: &Frame) -> f64 {
        2.0 * frame.spacing_m()[0].max(frame.spacing_m()[1])
    }
}

impl Traced {
    /// Lays the features on land of their spacing.
    fn run(&self, mut terrain: Terrain, ctx: &Ctx<'_>) -> Result<Terrain, OpError> {
        let frame = *terrain.frame();
        let Self { params, ready, parts, .. } = self;
        let layers = Op::layers(params);
        let height = lay(ready, parts, terrain.get(layer::HEIGHT)?, &frame, ctx)?;
        let former = terrain.vectors().get(RIVERS).cloned();
        let wet = match layers.reads.contains(&layer::WATER.name()) {
            true => Some((terrain.get(layer::HEIGHT)?.clone(), terrain.get(layer::WATER)?.clone())),
            false => None,
        };
        terrain.set(layer::HEIGHT, height);

        let wants_water = ctx.wants(&orogen_core::Part::Layer(layer::WATER.name()));
        if layers.writes.contains(&layer::WATER.name()) && wants_water {
            let mut water = params.water(ready, parts, terrain.get(layer::HEIGHT)?, &frame);
            if let Some((height, former)) = wet {
                let now = terrain.get(layer::HEIGHT)?;
                water.par_rows(|row, out| {
                    let ground = now.row(row).iter().zip(height.row(row));
                    for ((out, former), (now, before)) in out.iter_mut().zip(former.row(row)).zip(ground) {
                        if now.to_bits() == before.to_bits() {
                            *out = out.max(*former);
                        }
                    }
                });
            }
            terrain.set(layer::WATER, water);
        }
        let own = layers.writes_vectors.iter().any(|name| name.as_str() == RIVERS);
        let wants_rivers = ctx.wants(&orogen_core::Part::Vectors(LayerName::fixed(RIVERS)));
        let touched: Vec<Rect> =
            if wants_rivers { parts.iter().map(|(_, rect)| *rect).collect() } else { Vec::new() };
        match former {
            _ if !wants_rivers => {}
            // Lines of other steps keep all they know while nothing moves their ground.
            Some(former)
                if !own && (0..former.len()).all(|line| !marks::is_touched(&former, line, &touched)) =>
            {
                terrain.set_vector(RIVERS, former);
            }
            None if !own => {}
            former => {
                let rivers = marks::rivers(former.as_deref(), &params.features, ready, &touched);
                terrain.set_vector(RIVERS, rivers);
            }
        }
        if layers.writes_vectors.iter().any(|name| name.as_str() == HOLD) {
            let marks = marks::held(&params.features, ready);
            held_lines::hold(&mut terrain, marks);
            if terrain.vector(HOLD).is_none() {
                terrain.set_vector(HOLD, VectorLayer::new(Shape::Lines));
            }
        }
        Ok(terrain)
    }
}

impl Features {
    /// A list of features.
    #[must_use]
    pub fn new(features: Vec<Feature>) -> Self {
        Self { features, ..Self::default() }
    }

    /// All features ready to be laid on frames of one spacing, with the seed of the step.
    #[must_use]
    pub fn ready(&self, frame: &Frame, seed: Seed) -> Vec<Ready> {
        let seed = if self.seed.is_empty() { seed } else { Seed::from_text(&self.seed) };
        let (seed, finest_m) = (seed.child("features"), Traced::finest_m(frame));
        let ready = |feature: &Feature| feature.ready(Grain { seed: feature.own_seed(seed), finest_m });
        self.features.iter().map(ready).collect()
    }

    /// Numbers of the lakes that hold water.
    fn lakes(&self) -> impl Iterator<Item = usize> + '_ {
        self.features.iter().enumerate().filter_map(|(i, feature)| match feature {
            Feature::Lake(lake) if lake.depth_m > 0.0 && lake.strength > 0.0 => Some(i),
            _ => None,
        })
    }

    /// Depth of the water of all lakes over the land as it is in the end.
    fn water(
        &self,
        ready: &[Ready],
        parts: &[(Part, Rect)],
        height: &Raster<f32>,
        frame: &Frame,
    ) -> Raster<f32> {
        let lakes: Vec<u32> = self.lakes().map(|i| i as u32).collect();
        let parts: Vec<(Part, Rect)> =
            parts.iter().filter(|(part, _)| lakes.binary_search(&part.feature).is_ok()).copied().collect();
        let bands = Bands::new(frame, &parts);
        let xs: Vec<f64> = (0..frame.cols()).map(|col| frame.x_m(col)).collect();
        let mut water = Raster::filled(frame.cols(), frame.rows(), 0.0);
        water.par_rows(|row, out| {
            let (mut around, mut inside) = (round::RoundBuffers::default(), area::AreaBuffers::default());
            for parts in bands.of_row(row) {
                match &ready[parts[0].feature as usize] {
                    Ready::Round(round) => {
                        round.water_row(frame, row, &xs, height.row(row), out, &mut around);
                    }
                    Ready::Area(area) => area.water_row(frame, row, &xs, height.row(row), out, &mut inside),
                    Ready::Line(_) => {}
                }
            }
        });
        water
    }
}

/// A feature with everything worked out that does not depend on the sample.
pub enum Ready {
    /// Around a point.
    Round(Box<round::Round>),
    /// Along a line.
    Line(Box<trace::Trace>),
    /// Inside an outline.
    Area(Box<area::Area>),
}

impl From<round::Round> for Ready {
    fn from(round: round::Round) -> Self {
        Self::Round(Box::new(round))
    }
}

impl From<Box<trace::Trace>> for Ready {
    fn from(trace: Box<trace::Trace>) -> Self {
        Self::Line(trace)
    }
}

impl From<area::Area> for Ready {
    fn from(area: area::Area) -> Self {
        Self::Area(Box::new(area))
    }
}

impl Ready {
    /// What it can touch, piece by piece.
    fn parts(&self, feature: u32) -> Vec<(Part, Rect)> {
        match self {
            Self::Round(round) => vec![(Part { feature, arc: 0 }, round.bounds())],
            Self::Line(trace) => trace.parts(feature).collect(),
            Self::Area(area) => vec![(Part { feature, arc: 0 }, area.bounds())],
        }
    }
}

/// Lays features on heights, row by row: every row takes its features from the index, in their order.
fn lay(
    ready: &[Ready],
    parts: &[(Part, Rect)],
    before: &Raster<f32>,
    frame: &Frame,
    ctx: &Ctx<'_>,
) -> Result<Raster<f32>, Cancelled> {
    let bands = Bands::new(frame, parts);
    let xs: Vec<f64> = (0..frame.cols()).map(|col| frame.x_m(col)).collect();
    let counter = ctx.counter(frame.rows());
    let mut height = Raster::filled(frame.cols(), frame.rows(), 0.0);
    let runs = runs(ready);
    height.try_par_rows(|row, out| {
        out.copy_from_slice(before.row(row));
        let (mut around, mut along) = (round::RoundBuffers::default(), trace::TraceBuffers::default());
        let mut inside = area::AreaBuffers::default();
        // Beds of the current rivers, and the run of the list they are in.
        let (mut beds, mut run) = (Vec::new(), 0);
        for parts in bands.of_row(row) {
            let number = parts[0].feature as usize;
            if run != runs[number] {
                carve(&mut beds, out);
                run = runs[number];
            }
            match &ready[number] {
                Ready::Round(round) => round.row(frame, row, &xs, out, &mut around),
                Ready::Line(trace) => {
                    beds.resize(out.len(), f32::INFINITY);
                    trace.row(parts, frame, row, &xs, out, &mut beds, &mut along);
                }
                Ready::Area(area) => area.row(frame, row, &xs, out, &mut inside),
            }
        }
        carve(&mut beds, out);
        counter.done()
    })?;
    Ok(height)
}

/// Numbers of the runs of the list: rivers that follow each other are one run, every other feature is one of its own.
fn runs(ready: &[Ready]) -> Vec<u32> {
    let (mut run, mut last) = (0, false);
    let mut number = |ready: &Ready| {
        let river = matches!(ready, Ready::Line(trace) if trace.is_river());
        if !(river && last) {
            run += 1;
        }
        last = river;
        run
    };
    ready.iter().map(&mut number).collect()
}

/// Carves beds into a row, and has none left.
fn carve(beds: &mut Vec<f32>, heights: &mut [f32]) {
    for (h, bed) in heights.iter_mut().zip(beds.drain(..)) {
        if bed < *h {
            *h = bed;
        }
    }
}

#[cfg(test)]
mod tests;
