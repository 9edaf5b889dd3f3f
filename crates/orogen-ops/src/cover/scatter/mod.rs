//! Where plants stand: densities of species from rules, and the plants themselves for a window or on request.

mod density;
mod random;
pub(super) mod reasons;
pub mod stand;
#[cfg(test)]
mod tests;

use orogen_core::instances::Instances;
use orogen_core::param::{Fault, Segment};
use orogen_core::species::{Kind, SPECIES};
use orogen_core::{
    Ctx, Frame, LayerName, Layers, Loops, Op, OpError, Part, Prepared, Raster, Reach, Reason, Rect, Terrain,
    layer, looped,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::climate::north_deg;

use super::rules::{Asked, Compiled, Needs, Rule, bytes_a_sample, reach_m};
use super::species::{Plant, Species, Weather, faults_of, forest_mask, weather_layers};
use stand::{Stand, Standing};

/// The name under which plants are kept.
pub const PLANTS: &str = "plants";

/// The most plants that a terrain keeps; each takes 32 bytes.
const MOST_PLANTS: f64 = 5e7;

/// The largest share of the ground under crowns.
fn most_cover(method: Method) -> f64 {
    match method {
        // Crowns may meet.
        Method::Grid | Method::Biome => 0.9,
        // Circles that do not meet find no more room soon after one half.
        Method::Poisson => 0.55,
        // At random places they are soon in each other's way: more would take hundreds of trials for each that fits.
        Method::Random => 0.35,
    }
}

/// How places are found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// One trial a cell of `cell_m`, displaced at random; the species by roulette. For grass and flowers: neighbours may touch.
    Grid,
    /// Random places with collisions: where one species does not fit, the next is tried.
    Random,
    /// Poisson disks, the largest species first: even, and as dense as the species ask for.
    #[default]
    Poisson,
    /// One trial a cell of `cell_m` with the chance and the species that `biomes` states for the biome there.
    Biome,
}

/// What stands in a biome.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BiomeTrees {
    /// Number of the biome in the layer `biome`.
    #[schemars(range(min = 0, max = 255))]
    pub biome: u8,
    /// Chance that something stands in a cell.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub density: f64,
    /// How likely each species is, by its place in `species`; only how they compare matters.
    #[schemars(length(max = 256), inner(range(min = 0.0, max = 1e6)))]
    pub shares: Vec<f64>,
}

/// Says how many plants of each species stand on a square metre, and on request where each one stands.
///
/// A species is at home where the product of its rules is above 0 (equation 1 of Mikuličić & Mihajlović 2016) and the ground
/// holds it: not in a river, on a lake, on ice, in the sea, nor on a slope that is too steep. Wind and salt beyond what it bears
/// dwarf and bend it, then exclude it. Where `mask.forest` is there, trees stand where it says and nowhere else. Plants other
/// than trees look at `canopy.cover` of an earlier step: each bears so much shade.
///
/// The step writes `density.<species>` and, where trees are among them, `canopy.height`, `canopy.cover` and the colour
/// `canopy.red`, `.green`, `.blue`. A forest of millions is not kept; with `plants` it is, as the instances `plants`. They are made
/// on the recipe's own samples, so they are the same at every zoom.
///
/// **Guarantees** (1) with `poisson` and `random` no two crowns of one step are nearer than the sum of their radii allows, grown
/// to full size; (2) a window holds the same plants as the whole, to the bit; (3) no plant but reeds and seagrass stands in
/// water; (4) crowns cover at most 0.9 of the ground, with
/// `poisson` 0.55 and with `random` 0.35 (less where sizes differ much: large crowns find no room among many small ones), and of all species together at most one plant stands in a cell of `grid` and `biome`; (5) on land that loops crowns keep their distance across the seam.
///
/// **After** Mikuličić & Mihajlović, "Procedural generation of Mediterranean environments", MIPRO 2016 (`grid`, `random`);
/// `biome` after the tree placement of Weiss; `poisson` after Wei, "Parallel Poisson disk sampling", 2008.
///
/// **Limits** Densities and canopy say how many stand: exactly, but for chance, with `grid` and `biome`; with `poisson` and `random` they say what is
/// asked for, and where species of different sizes crowd each other up to half as many large plants and up to twice as many small ones may stand. Plants of
/// a step know nothing of other steps while they are made; when all plants of a recipe are gathered, those of later steps whose trunks would stand on
/// trunks of earlier ones (a tenth of both radii) are left out. `plants` keeps up to 50 million.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Scatter {
    /// How places are found.
    pub method: Method,
    /// The species; if none are listed, the trees of all biomes.
    #[schemars(length(max = 256))]
    pub species: Vec<Species>,
    /// Factor on the number of all plants.
    #[schemars(range(min = 0.0, max = 20.0), extend("x-slider" = [0.0, 2.0]))]
    pub density: f64,
    /// Side of the cells of `grid` and `biome`.
    #[schemars(range(min = 0.05, max = 200.0), extend("x-unit" = "m", "x-slider" = [0.2, 20.0]))]
    pub cell_m: f64,
    /// What stands in each biome, with the method `biome`; if nothing is listed, the rules of the species decide there too.
    #[schemars(length(max = 256))]
    pub biomes: Vec<BiomeTrees>,
    /// Where the wind comes from, to the right of north: plants lean away from it.
    #[schemars(range(min = 0.0, max = 360.0), extend("x-unit" = "deg"))]
    pub wind_from_deg: f64,
    /// Whether every plant is kept.
    pub plants: bool,
}

impl Default for Scatter {
    fn default() -> Self {
        Self {
            method: Method::default(),
            species: Vec::new(),
            density: 1.0,
            cell_m: 8.0,
            biomes: Vec::new(),
            wind_from_deg: 270.0,
            plants: false,
        }
    }
}

impl Scatter {
    /// The species that stand, with every number known.
    #[must_use]
    pub fn all(&self) -> Vec<Plant> {
        self.listed().iter().map(Species::plant).collect()
    }

    fn listed(&self) -> Vec<Species> {
        if !self.species.is_empty() {
            return self.species.clone();
        }
        SPECIES.iter().filter(|s| s.kind == Kind::Tree).map(|s| Species::named(s.name)).collect()
    }

    fn densities(&self) -> Vec<LayerName> {
        self.listed().iter().filter_map(Species::layer).collect()
    }

    fn rules(plants: &[Plant]) -> impl Iterator<Item = &Rule> {
        plants.iter().flat_map(|plant| plant.rules.iter().chain(&plant.limits))
    }

    fn writes(&self, plants: &[Plant], name: &LayerName) -> bool {
        self.densities().contains(name) || has_trees(plants) && canopy_layers().contains(name)
    }

    fn uses(&self, plants: &[Plant]) -> Vec<LayerName> {
        let mut used = weather_layers().to_vec();
        used.push(if has_trees(plants) { forest_mask() } else { layer::CANOPY_COVER.name() });
        if self.method == Method::Biome && !self.biomes.is_empty() {
            used.push(layer::BIOME.name());
        }
        used
    }
}

fn has_trees(plants: &[Plant]) -> bool {
    plants.iter().any(|plant| plant.kind == Kind::Tree)
}

pub(super) fn canopy_layers() -> Vec<LayerName> {
    let color = layer::CANOPY_COLOR.into_iter().map(layer::Layer::name);
    [layer::CANOPY_HEIGHT.name(), layer::CANOPY_COVER.name()].into_iter().chain(color).collect()
}

impl Op for Scatter {
    const ID: &'static str = "cover.scatter";
    const VERSION: u32 = 4;

    fn layers(&self) -> Layers {
        let plants = self.all();
        let needs = Needs::of(Self::rules(&plants));
        let used = self.uses(&plants);
        let mut from: Vec<LayerName> = vec![layer::HEIGHT.name()];
        from.extend(needs.parts().filter_map(|part| match part {
            Part::Layer(name) => Some(name),
            _ => None,
        }));
        from.extend(used.clone());
        let mut layers = needs.declare(Layers::none().reading([layer::HEIGHT.name()]).using(used));
        let mut written = self.densities();
        if has_trees(&plants) {
            written.extend(canopy_layers());
        }
        layers.reads.dedup();
        let layers = layers.deriving(written, from.clone());
        if self.plants { layers.deriving_instances([PLANTS], from) } else { layers }
    }

    fn reach(&self, frame: &Frame) -> Reach {
        let plants = self.all();
        match reach_m(Self::rules(&plants), frame) {
            _ if self.plants => Reach::World,
            reach if reach > 0.0 => Reach::Within(reach),
            _ => Reach::Point,
        }
    }

    fn loops(&self) -> Loops {
        Loops::Itself
    }

    fn bytes_a_sample(&self, frame: &Frame) -> f64 {
        let plants = self.all();
        let [dx, dy] = frame.spacing_m();
        let kept = plants.iter().map(|plant| plant.per_m2).sum::<f64>() * self.density * dx * dy;
        // A plant is made, sorted and kept: three copies, and the cells of its pattern.
        let kept = if self.plants { kept.min(MOST_PLANTS / frame.len() as f64) * 200.0 } else { 0.0 };
        4.0 * (plants.len() + 5) as f64
            + bytes_a_sample(Self::rules(&plants), Asked::Places, frame)
            + kept
            + 8.0
    }

    fn faults(&self) -> Vec<Fault> {
        let mut found = faults_of(&self.species);
        let count = self.listed().len();
        for (i, entry) in self.biomes.iter().enumerate() {
            if entry.shares.len() != count {
                let path =
                    vec![Segment::Key("biomes".into()), Segment::Index(i), Segment::Key("shares".into())];
                let message =
                    format!("{} shares for {count} species; state one for each", entry.shares.len());
                found.push(Fault { path, message });
            }
        }
        found
    }

    fn explain(&self, land: &Terrain, place: [f64; 2], ctx: &Ctx<'_>) -> Result<Vec<Reason>, OpError> {
        reasons::of(self, land, place, ctx)
    }

    fn prepare(&self, _: &Frame, _: &Ctx<'_>) -> Result<Option<Box<dyn Prepared>>, OpError> {
        Ok(Some(Box::new(Known { scatter: self.clone(), plants: self.all() })))
    }

    fn run(&self, terrain: Terrain, ctx: &Ctx<'_>) -> Result<Terrain, OpError> {
        Known { scatter: self.clone(), plants: self.all() }.run(terrain, ctx)
    }
}

/// The step with its species looked up.
struct Known {
    scatter: Scatter,
    plants: Vec<Plant>,
}

impl Prepared for Known {
    fn run(&self, mut terrain: Terrain, ctx: &Ctx<'_>) -> Result<Terrain, OpError> {
        let Self { scatter, plants } = self;
        let world = ctx.world(&terrain);
        // Plants of the whole world at once: a loop comes without its last column and row, and is seen with what lies beyond.
        let mut around = (scatter.plants && world.loops() && world.len() > terrain.frame().len())
            .then(|| looped::repeated(&terrain, &world, beyond_m(scatter, terrain.frame())));
        let land = around.as_mut().unwrap_or(&mut terrain);
        density::write(scatter, plants, land, ctx)?;
        if let Some(around) = &around {
            let part = around.crop(terrain.frame()).ok_or_else(lost)?;
            for (name, data) in part.layers().iter().filter(|(name, _)| scatter.writes(plants, name)) {
                terrain.set_named(name.clone(), data.clone());
            }
        }
        density::report(scatter, &terrain, ctx);
        self.warn_of_nowhere(&terrain, ctx);
        if scatter.plants && ctx.wants(&Part::Instances(LayerName::fixed(PLANTS))) {
            let rect = if around.is_some() { world.extent() } else { terrain.frame().extent() };
            let standing = standing_on(scatter, around.as_ref().unwrap_or(&terrain), &rect, ctx)?;
            let names = plants.iter().map(|plant| plant.name.clone()).collect();
            let kept = Instances::new(names, standing).map_err(|e| OpError::Failed(e.to_string()))?;
            ctx.report("plants", kept.len() as f64, "");
            terrain.set_instances(PLANTS, kept);
        }
        Ok(terrain)
    }
}

impl Known {
    /// Says so when a species that the recipe names is at home nowhere in the world.
    fn warn_of_nowhere(&self, terrain: &Terrain, ctx: &Ctx<'_>) {
        let is_whole = terrain.frame().extent() == ctx.world(terrain).extent();
        for (species, name) in self.scatter.species.iter().zip(self.scatter.densities()).filter(|_| is_whole)
        {
            let most = terrain.get_named::<f32>(&name).ok().and_then(Raster::range);
            if self.scatter.density > 0.0 && most.is_some_and(|(_, most)| most <= 0.0) {
                ctx.warn(format!(
                    "{:?} stands nowhere: no place of this land fits its rules; an explanation of a place says which of them keeps it away",
                    species.name
                ));
            }
        }
    }
}

/// The plants of a rectangle, from a terrain with the densities that the step wrote. It is to reach as far around the rectangle as
/// [`reach_of_plants_m`] says, on the recipe's own lattice; then they are the same as those of the whole. Of a world that loops it
/// is to be the whole.
///
/// # Errors
/// When a density is missing, when there are too many, or when cancelled.
pub fn standing(
    scatter: &Scatter,
    terrain: &Terrain,
    rect: &Rect,
    ctx: &Ctx<'_>,
) -> Result<Vec<Standing>, OpError> {
    let world = ctx.world(terrain);
    if !(world.loops() && world.len() == terrain.frame().len()) {
        return standing_on(scatter, terrain, rect, ctx);
    }
    let once = terrain.crop(&world.window(0, 0, world.cols() - 1, world.rows() - 1)).ok_or_else(lost)?;
    let around = looped::repeated(&once, &world, beyond_m(scatter, &world));
    standing_on(scatter, &around, rect, ctx)
}

fn lost() -> OpError {
    OpError::Internal(String::from("the land does not hold its own frame"))
}

/// How far beyond the edge of a world that loops the land is looked at.
fn beyond_m(scatter: &Scatter, frame: &Frame) -> f64 {
    let [dx, dy] = frame.spacing_m();
    reach_m(Scatter::rules(&scatter.all()), frame) + 2.0 * dx.max(dy)
}

/// On a world that loops every place is one in it.
fn wrapped(repeats: Option<&Rect>, place: [f64; 2]) -> [f64; 2] {
    match repeats {
        Some(Rect { min, max }) => {
            [0, 1].map(|axis| min[axis] + (place[axis] - min[axis]).rem_euclid(max[axis] - min[axis]))
        }
        None => place,
    }
}

fn standing_on(
    scatter: &Scatter,
    terrain: &Terrain,
    rect: &Rect,
    ctx: &Ctx<'_>,
) -> Result<Vec<Standing>, OpError> {
    let world = ctx.world(terrain);
    let repeats = world.loops().then(|| world.extent());
    let inside = |place: [f64; 2]| wrapped(repeats.as_ref(), place);
    let plants = scatter.all();
    let frame = *terrain.frame();
    let names = scatter.densities();
    let densities =
        names.iter().map(|name| terrain.get_named::<f32>(name)).collect::<Result<Vec<_>, OpError>>()?;
    let [dx, dy] = frame.spacing_m();
    let share = rect.size()[0] * rect.size()[1] / (frame.size_m()[0] * frame.size_m()[1]);
    let expected: f64 = densities.iter().map(|d| d.sum_f64()).sum::<f64>() * dx * dy * share;
    if expected > MOST_PLANTS {
        return Err(OpError::Failed(format!(
            "about {expected:.1e} plants would stand here, more than {MOST_PLANTS:.0e}; ask for a smaller window"
        )));
    }
    let limits: Vec<&[Rule]> = plants.iter().map(|plant| plant.limits.as_slice()).collect();
    let limits = Compiled::new(&limits, Asked::Places, terrain, ctx)?;
    let [wind, salt] = [layer::WIND, layer::SALT].map(|of| terrain.get(of).ok());
    let weather = Weather { wind, salt };
    let bounds = if repeats.is_some() { Rect { min: [-1e12; 2], max: [1e12; 2] } } else { frame.extent() };
    // Summed up once: every point of smaller plants asks for all larger ones.
    let crowd = |weights: &[(usize, f64)]| {
        let sum = Raster::from_fn(frame.cols(), frame.rows(), |col, row| {
            let of = |(species, weight): &(usize, f64)| weight * f64::from(densities[*species].row(row)[col]);
            weights.iter().map(of).sum::<f64>() as f32
        });
        Box::new(move |place: [f64; 2]| {
            let place = wrapped(repeats.as_ref(), place);
            let [col, row] = frame.locate(place[0], place[1]);
            let taken = f64::from(sum.bilinear(col, row));
            if stand::holds(&bounds, place) && taken > 0.0 { taken } else { 0.0 }
        }) as stand::AtPlace
    };
    let stand = Stand {
        plants: &plants,
        crowd: &crowd,
        density: |species: usize, place: [f64; 2]| {
            if !stand::holds(&bounds, place) {
                return 0.0;
            }
            let place = inside(place);
            let [col, row] = frame.locate(place[0], place[1]);
            let dense = f64::from(densities[species].bilinear(col, row));
            // The lattice may miss a brook or a cliff; the place does not. Fading slopes count in the density already.
            if dense > 0.0 && limits.at(species, place) > 0.0 { dense } else { 0.0 }
        },
        harm: |species: usize, place: [f64; 2]| {
            let place = inside(place);
            weather.harm_at(&plants[species], frame.locate(place[0], place[1]))
        },
        wind_to: ((90.0 - (scatter.wind_from_deg + north_deg(ctx) + 180.0)).rem_euclid(360.0) / 360.0 * 256.0)
            as u8,
        seed: ctx.seed(),
        bounds,
        repeats,
        there: densities.iter().map(|density| density.range().is_some_and(|(_, most)| most > 0.0)).collect(),
    };
    match scatter.method {
        Method::Grid | Method::Biome => stand.grid(rect, scatter.cell_m, ctx),
        Method::Random => stand.random(rect, ctx),
        Method::Poisson => stand.poisson(rect, ctx),
    }
}

/// How far around a rectangle densities are to be known for its plants to be those of the whole.
#[must_use]
pub fn reach_of_plants_m(scatter: &Scatter) -> f64 {
    let plants = scatter.all();
    match scatter.method {
        Method::Grid | Method::Biome => 0.0,
        Method::Random => stand::random_reach_m(&plants),
        Method::Poisson => stand::poisson_reach_m(&plants),
    }
}
