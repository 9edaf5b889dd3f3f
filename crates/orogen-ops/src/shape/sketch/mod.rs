//! Sketch: a landscape from a drawing of its mountains, hills, rivers, lakes, plains and forests.

mod density;
mod drawn;
mod ground;
mod joints;
mod lattice;
mod list;
mod network;
mod plan;
mod skeleton;
mod water;

use orogen_core::param::{Fault, Segment};
use orogen_core::vector::{Shape, VectorLayer};
use orogen_core::{Ctx, Frame, LayerName, Layers, Loops, Op, OpError, Raster, Reach, Seed, Terrain, layer};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use density::{Kind, Rule};
pub use drawn::{Drawn, Picture};
pub use list::fragment;

use crate::held_lines::HOLD;
use crate::mask;
use crate::shape::features::{Feature, Features};
use crate::source::Placement;
use drawn::Canvas;
use lattice::Lattice;

/// Name of the vector layer with everything a sketch has become.
pub const FEATURES: &str = "features";

/// What a river drawn across a mountain means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Crossing {
    /// A pass through the middle of large mountains, a gorge through small ones and near their edge.
    #[default]
    Auto,
    /// Two rivers have their springs on the mountain and run down either side.
    Spring,
    /// Peaks stand back, and the river runs through a valley between them.
    Pass,
    /// The mountain stays, and the river has cut a gorge with steep walls.
    Gorge,
}

/// Makes land from a drawing: painted mountains, hills, rivers, lakes, plains, dunes and forests become named features.
///
/// Draw in the recipe (`shapes`: strokes and polygons), in a painting program (`pictures`: one PNG a layer) or on a map
/// (`path`: GeoJSON whose features have a property `kind`). Two stages follow on a lattice of cells in metres:
///
/// ```text
/// 1  shapes    cells that hang together; exact distance of each cell to the outline; candidates are the cells further
///              inside than a feature is large, and the middle lines; darts at candidates until their number or area
///              is reached
/// 2  places    each feature takes the best place near its dart: L = 2·D(drawn of its kind) + Σ rule·D(placed)
///              D = Σ C(d/R)·(s/R)²,  C(t) = 2t³ − 3t² + 1,  R = 4 sizes
/// ```
///
/// Undrawn land is filled by the same rules until it has the given shares. A kind that was drawn is filled in by only
/// `1 − fidelity` of its share. Drawn mountains become a massif of their outline, peaks and ridges between them; lakes,
/// plains and dunes have their outlines; rivers run on to the sea, a lake, another river or the border. Rivers that
/// meet, cross or part make a network: each arm runs downhill, arms that meet have one height there, and the main stem
/// goes on while the others end. Where a junction lies on a divide, its arms run down from it; where land rises in the
/// way, the river cuts through. Land below 0 m is sea: a river drawn across it ends at the shore and begins again
/// beyond, each part running to the sea. Where a drawing contradicts itself (a river across a mountain, a lake on one),
/// the step chooses and warns.
///
/// **Changing it afterwards** All features and their numbers are in the vector layer `features`, and a build writes
/// them to `features.toml`: a piece of a recipe that makes the same land with `shape.features` in place of this step.
/// Or stay with the sketch: copy a feature's line into `keep` and change it, or name it in `remove`. The others keep
/// every bit, and what was kept stays when the drawing, the seed or the shares change.
///
/// Forest has no shape: it becomes a mask (`forest_to`, from 0 to 1) that later steps can take as their `mask`.
///
/// **Guarantees** (1) With `fidelity = 1` mountains and lakes lie where they are drawn (intersection over union at
/// least 0.9), and 95 % of a drawn river within two cells of a river. (2) The beds of rivers never rise downstream, and
/// lie at one height where they meet; none lies more than 5 m above the land before, and the ground along none rises by
/// more than 2 m, whatever network was drawn (on 96 pairs of land and network). The highest place of drawn mountains,
/// hills or dunes stands as high above the land as given, to 5 %. (3) Changing or removing a feature by name changes no other. (4) What is written
/// down makes the same land, to the bit. (5) The same drawing gives the same features at any number of samples, as long
/// as the land below is the same at the lattice.
///
/// **Limits** Details smaller than `cell_m` are lost, except that a lone pixel or thin river still counts; outlines are
/// finer than cells. Shapes of one picture that touch are one shape, lakes that touch are one lake; all others keep
/// what they were asked for. Only the 500 largest shapes of a kind are used. The layer `water` is replaced. A hole of
/// the land stays a hole. 145 bytes a cell of the lattice (at most 1025 a side).
///
/// **After** Zaaijer, "GPU Based Generation and Real-Time Rendering of Semi-Procedural Terrain Using Features", chapter
/// 4; the distances are those of Felzenszwalb & Huttenlocher, "Distance transforms of sampled functions", 2012.
/// Outlines, ridges, the course and height of rivers, and what contradictions become are ours.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Sketch {
    /// What is drawn here: strokes and polygons.
    #[schemars(length(max = 2000))]
    pub shapes: Vec<Drawn>,
    /// Pictures, one layer of the drawing each.
    #[schemars(length(max = 50))]
    pub pictures: Vec<Picture>,
    /// A file of lines and polygons, relative to the recipe: GeoJSON whose features have a property `kind` and may have
    /// `name`, `height_m`, `number`, `size_m`, `width_m` and `radius_m`.
    #[schemars(extend("x-kind" = "file", "maxLength" = 4096))]
    pub path: String,
    /// How the coordinates of the file are placed in the world.
    pub placement: Placement,
    /// From a loose guide (0) to exactly as drawn (1).
    #[schemars(range(min = 0.0, max = 1.0))]
    pub fidelity: f64,
    /// Radius of a mountain; 0 for a fourteenth of the world.
    #[schemars(range(min = 0.0, max = 1e6), extend("x-unit" = "m", "x-slider" = [0.0, 5000.0]))]
    pub mountain_size_m: f64,
    /// Height of a mountain above the land; 0 for three fifths of its radius.
    #[schemars(range(min = 0.0, max = 20_000.0), extend("x-unit" = "m", "x-slider" = [0.0, 3000.0]))]
    pub mountain_height_m: f64,
    /// Radius of a hill; 0 for a fortieth of the world.
    #[schemars(range(min = 0.0, max = 1e6), extend("x-unit" = "m", "x-slider" = [0.0, 2000.0]))]
    pub hill_size_m: f64,
    /// Height of a hill above the land; 0 for a sixth of its radius.
    #[schemars(range(min = 0.0, max = 20_000.0), extend("x-unit" = "m", "x-slider" = [0.0, 300.0]))]
    pub hill_height_m: f64,
    /// Distance from dune to dune; 0 for a sixtieth of the world.
    #[schemars(range(min = 0.0, max = 1e5), extend("x-unit" = "m", "x-slider" = [0.0, 1000.0]))]
    pub dune_size_m: f64,
    /// Height of a dune; 0 for a tenth of the distance between two.
    #[schemars(range(min = 0.0, max = 5000.0), extend("x-unit" = "m", "x-slider" = [0.0, 150.0]))]
    pub dune_height_m: f64,
    /// Direction that the wind blows to, clockwise from north: dunes lie across it.
    #[schemars(range(min = 0.0, max = 360.0), extend("x-unit" = "deg"))]
    pub wind_deg: f64,
    /// Width of a river drawn without one; 0 for a four hundredth of the world.
    #[schemars(range(min = 0.0, max = 1e5), extend("x-unit" = "m", "x-slider" = [0.0, 300.0]))]
    pub river_width_m: f64,
    /// Slope of the sides of valleys.
    #[schemars(range(min = 1.0, max = 80.0), extend("x-unit" = "deg", "x-slider" = [10.0, 45.0]))]
    pub valley_deg: f64,
    /// Depth of a lake; 0 for a fifteenth of its radius.
    #[schemars(range(min = 0.0, max = 20_000.0), extend("x-unit" = "m", "x-slider" = [0.0, 200.0]))]
    pub lake_depth_m: f64,
    /// What a river drawn across a mountain means.
    pub crossing: Crossing,
    /// Share of undrawn land that mountains fill.
    #[schemars(range(min = 0.0, max = 100.0), extend("x-unit" = "%", "x-slider" = [0.0, 60.0]))]
    pub fill_mountain_pct: f64,
    /// Share of undrawn land that hills fill.
    #[schemars(range(min = 0.0, max = 100.0), extend("x-unit" = "%", "x-slider" = [0.0, 60.0]))]
    pub fill_hill_pct: f64,
    /// Share of undrawn land that lakes fill.
    #[schemars(range(min = 0.0, max = 50.0), extend("x-unit" = "%", "x-slider" = [0.0, 20.0]))]
    pub fill_lake_pct: f64,
    /// Share of undrawn land that forest fills.
    #[schemars(range(min = 0.0, max = 100.0), extend("x-unit" = "%", "x-slider" = [0.0, 100.0]))]
    pub fill_forest_pct: f64,
    /// Number of rivers on undrawn land, in a world of any size.
    #[schemars(range(min = 0, max = 200), extend("x-slider" = [0, 20]))]
    pub fill_rivers: u32,
    /// Rules between kinds that replace the default ones.
    #[schemars(length(max = 100))]
    pub rules: Vec<Rule>,
    /// Features changed by hand: they replace those of the same name, whatever the drawing says.
    #[schemars(length(max = 20_000))]
    pub keep: Vec<Feature>,
    /// Names of features to leave out.
    #[schemars(length(max = 20_000), inner(length(max = 100)))]
    pub remove: Vec<String>,
    /// Whether later steps keep what was drawn.
    pub hold: bool,
    /// Size of a cell of the lattice that the drawing is worked out on; 0 for 1/512 of the world, 1/1024 at least.
    #[schemars(range(min = 0.0, max = 1e6), extend("x-unit" = "m", "x-slider" = [0.0, 100.0]))]
    pub cell_m: f64,
    /// Layer that receives the forest, from 0 to 1.
    pub forest_to: LayerName,
}

impl Default for Sketch {
    fn default() -> Self {
        Self {
            shapes: Vec::new(),
            pictures: Vec::new(),
            path: String::new(),
            placement: Placement::Own,
            fidelity: 0.8,
            mountain_size_m: 0.0,
            mountain_height_m: 0.0,
            hill_size_m: 0.0,
            hill_height_m: 0.0,
            dune_size_m: 0.0,
            dune_height_m: 0.0,
            wind_deg: 110.0,
            river_width_m: 0.0,
            valley_deg: 24.0,
            lake_depth_m: 0.0,
            crossing: Crossing::Auto,
            fill_mountain_pct: 18.0,
            fill_hill_pct: 8.0,
            fill_lake_pct: 1.0,
            fill_forest_pct: 25.0,
            fill_rivers: 3,
            rules: Vec::new(),
            keep: Vec::new(),
            remove: Vec::new(),
            hold: false,
            cell_m: 0.0,
            forest_to: LayerName::fixed("mask.forest"),
        }
    }
}

impl Op for Sketch {
    const ID: &'static str = "shape.sketch";
    const VERSION: u32 = 3;

    fn layers(&self) -> Layers {
        let mut layers = Layers::none()
            .updating([layer::HEIGHT.name()])
            .writing([layer::WATER.name(), self.forest_to.clone()])
            .using_vectors(["rivers"])
            .deriving_vectors(["rivers"], [layer::HEIGHT.name()])
            .writing_vectors([FEATURES]);
        if self.hold || self.keep.iter().any(Feature::hold) {
            layers = layers.writing_vectors([HOLD]).using_vectors([HOLD]);
        }
        layers
    }

    fn reach(&self, _: &Frame) -> Reach {
        Reach::World
    }

    fn bytes_a_sample(&self, frame: &Frame) -> f64 {
        // The sketch on its own lattice, or the land beside the lattice.
        let nodes = Lattice::new(&frame.extent(), self.cell_m).map_or(0, |lattice| lattice.len());
        let nodes = nodes as f64 / frame.len() as f64;
        (145.0 * nodes).max(12.0 + 42.0 * nodes)
    }

    fn loops(&self) -> Loops {
        Loops::AsIs
    }

    fn files(&self) -> Vec<&str> {
        let file = (!self.path.is_empty()).then_some(self.path.as_str());
        file.into_iter().chain(self.pictures.iter().map(|picture| picture.path.as_str())).collect()
    }

    fn faults(&self) -> Vec<Fault> {
        let at = |list: &str, i: usize, field: Option<&str>, message: String| {
            let mut path = vec![Segment::Key(list.to_owned()), Segment::Index(i)];
            path.extend(field.map(|field| Segment::Key(field.to_owned())));
            Fault { path, message }
        };
        let mut faults = Vec::new();
        for (i, shape) in self.shapes.iter().enumerate().filter(|(_, s)| s.closed && s.points_m.len() < 3) {
            let message = format!("a closed shape needs at least 3 corners, found {}", shape.points_m.len());
            faults.push(at("shapes", i, Some("points_m"), message));
        }
        for (i, picture) in self.pictures.iter().enumerate() {
            if picture.path.is_empty() {
                faults.push(at(
                    "pictures",
                    i,
                    Some("path"),
                    String::from("expected the name of a PNG, found \"\""),
                ));
            }
            if let Some([west, south, east, north]) = picture.over_m
                && (east - west < 1e-3 || north - south < 1e-3)
            {
                let message = "covers no area; expected west, south, east and north, with west below east and south below north";
                faults.push(at("pictures", i, Some("over_m"), message.to_owned()));
            }
        }
        for (i, feature) in self.keep.iter().enumerate().filter(|(_, feature)| feature.name().is_none()) {
            let message = format!(
                "this {} has no name; give it the name of the feature that it replaces",
                feature.kind()
            );
            faults.push(at("keep", i, None, message));
        }
        for fault in Features::new(self.keep.clone()).faults() {
            let path = fault.path.into_iter().skip(1);
            let path = std::iter::once(Segment::Key(String::from("keep"))).chain(path).collect();
            faults.push(Fault { path, message: fault.message });
        }
        for word in [layer::HEIGHT.name(), layer::WATER.name()] {
            if self.forest_to == word {
                let message =
                    format!("{:?} is written by this step itself; choose another layer", word.as_str());
                faults.push(Fault::of("forest_to", message));
            }
        }
        faults.truncate(100);
        faults
    }

    fn run(&self, mut terrain: Terrain, ctx: &Ctx<'_>) -> Result<Terrain, OpError> {
        let world = ctx.world(&terrain).extent();
        let lattice = Lattice::new(&world, self.cell_m)?;
        let canvas = Canvas::new(self, &lattice, &world, ctx)?;
        ctx.tick(1, 20)?;
        let base = on_lattice(terrain.get(layer::HEIGHT)?, terrain.frame(), &lattice);
        let seed = format!("{:016x}", ctx.seed().0);
        let plan = plan::plan(self, &lattice, &canvas, &base, &seed, ctx)?;
        plan.notes.iter().for_each(|note| ctx.warn(note.clone()));

        let list = list::List::new(plan.features, self);
        list.unknown().into_iter().for_each(|note| ctx.warn(note));
        let features = Features { features: list.features(), seed: seed.clone(), ..Features::default() };
        terrain = Op::run(&features, terrain, ctx)?;
        if !Op::layers(&features).writes.contains(&layer::WATER.name()) {
            let frame = *terrain.frame();
            terrain.set(layer::WATER, Raster::filled(frame.cols(), frame.rows(), 0.0));
        }
        let forest = list::forest(&plan.forest, &self.forest_to);
        terrain = Op::run(&forest, terrain, &Ctx::new(Seed(0)))?;
        for name in
            ["rivers"].into_iter().chain((self.hold || self.keep.iter().any(Feature::hold)).then_some(HOLD))
        {
            if terrain.vector(name).is_none() {
                terrain.set_vector(name, VectorLayer::new(Shape::Lines));
            }
        }
        terrain.set_vector(FEATURES, list.vectors(&seed, &forest));
        Ok(terrain)
    }
}

impl Sketch {
    /// The usual radius of a kind.
    fn size_m(&self, kind: Kind, lattice: &Lattice) -> f64 {
        let [width, depth] = lattice.frame.size_m();
        let longer = width.max(depth);
        let or = |given: f64, usual: f64| if given > 0.0 { given } else { usual };
        match kind {
            Kind::Mountain => or(self.mountain_size_m, longer / 14.0),
            Kind::Hill => or(self.hill_size_m, longer / 40.0),
            Kind::River => or(self.river_width_m, longer / 400.0),
            Kind::Lake => longer / 25.0,
            Kind::Plain | Kind::Forest => longer / 10.0,
            Kind::Dune => or(self.dune_size_m, longer / 60.0),
        }
    }
}

/// Heights at the cells of the lattice; holes count as sea.
fn on_lattice(height: &Raster<f32>, frame: &Frame, lattice: &Lattice) -> Raster<f32> {
    Raster::from_fn(lattice.cols(), lattice.rows(), |col, row| {
        let [c, r] = frame.locate(lattice.frame.x_m(col), lattice.frame.y_m(row));
        let h = height.bilinear(c, r);
        if h.is_nan() { -1.0 } else { h }
    })
}

/// The mask of a forest is that of `mask.polygon`.
type Forest = mask::Polygon;

#[cfg(test)]
mod tests;
