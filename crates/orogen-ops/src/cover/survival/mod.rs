//! Forests that grow: plants seed, compete for ground and light, age and die.

mod densities;
pub mod ecosystem;
mod home;
mod realised;
mod reasons;
#[cfg(test)]
mod tests;

use std::f64::consts::PI;

use orogen_core::instances::{Instance, Instances};
use orogen_core::param::Fault;
use orogen_core::rng::Seed;
use orogen_core::{
    Ctx, Frame, LayerName, Layers, Loops, Moment, Op, OpError, Part, Progress, Raster, Reach, Reason, Rect,
    Simulated, Started, Stepped, Terrain, layer, looped, stepped, work,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::densities::Spread;
use self::ecosystem::{Ecosystem, Forest, GROWN, Kind, OLD, Stages, Tree};
use self::home::Home;
use super::rules::{Asked, Measured, Needs, Rule, bytes_a_sample, reach_m};
use super::scatter::{PLANTS, canopy_layers};
use super::species::{Plant, Species, faults_of, forest_mask, weather_layers};

pub use self::realised::{reach_of_plants_m, standing};

/// The most plants that are followed one by one.
const MOST_PLANTS: f64 = 2e6;

/// How many plants stand on a square of the grown radius at most, saplings and understory included: measured.
const PACKED: f64 = 0.32;

/// Grows a forest: every round plants drop seeds, compete with their neighbours, age and die.
///
/// A seed falls within the seeding radius of its mother and comes up with the chance that the species' rules give the place. Of two
/// plants whose crowns meet the weaker dies: the one that likes its place less, is very young or very old, or stands in the
/// other's shade and does not bear it. What bears shade can grow below crowns twice its height. So groups of one species form,
/// species that need light give way to those that bear shade, and tree lines and strips along rivers stand where rules end.
///
/// The forest of any year is that of a run of so many years: what comes later changes nothing before, and a run that is stepped
/// shows it round by round. The step gives each of the
/// plants, as the instances `plants`, and for each species how many stand on a square metre, measured over `over_m`:
/// `density.<species>`, and of these `young.<species>`, which still grow, and `old.<species>`, past three quarters of their life; and
/// the canopy that they make. Where more than two million plants are expected, one plant that is followed stands for several, with
/// crown and seeding radius that much larger; then the step gives densities and ages only, and plants are made from them where
/// somebody looks, as those of `cover.scatter` are.
///
/// **Guarantees** (1) nothing stands where its rules give 0; (2) no two crowns of one storey meet; (3) the same plants for any
/// number of threads; (4) on land that loops they compete across the seam.
///
/// **After** Mikuličić & Mihajlović, "Procedural generation of Mediterranean environments", MIPRO 2016, and Beneš, "A stable
/// modeling of large plant ecosystems", 2002. The competition for light is ours, and so is that places draw seeds, in proportion to
/// the crowns of grown plants at a random part of the seeding radius, instead of plants throwing them.
///
/// **Limits** Who wins a place hangs on chance, and a sample more or less of the ground may turn it: at another resolution single
/// plants are others, and densities differ by what that makes of them over `over_m`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Survival {
    /// The species.
    #[schemars(length(max = 64))]
    pub species: Vec<Species>,
    /// How long the forest grows, in whole rounds.
    #[schemars(range(min = 0.0, max = 1e5), extend("x-unit" = "yr", "x-slider" = [0.0, 1000.0]))]
    pub years_yr: f64,
    /// Years of a round.
    #[schemars(range(min = 1.0, max = 100.0), extend("x-unit" = "yr"))]
    pub round_yr: f64,
    /// Seeds that a grown plant drops in a round.
    #[schemars(range(min = 0.0, max = 8.0))]
    pub seeds: f64,
    /// Seeds that lie there at the start, of all species together.
    #[schemars(range(min = 0.0, max = 1e5), extend("x-unit" = "1/ha"))]
    pub first_per_ha: f64,
    /// Seeds that wind and birds bring from afar in a round, of all species together.
    #[schemars(range(min = 0.0, max = 1e4), extend("x-unit" = "1/ha"))]
    pub afar_per_ha: f64,
    /// Length over which densities are measured.
    #[schemars(range(min = 0.0, max = 1000.0), extend("x-unit" = "m", "x-slider" = [10.0, 100.0]))]
    pub over_m: f64,
}

impl Default for Survival {
    fn default() -> Self {
        Self {
            species: ["oak", "beech", "birch", "hazel"].map(Species::named).to_vec(),
            years_yr: 200.0,
            round_yr: 10.0,
            seeds: 1.0,
            first_per_ha: 40.0,
            afar_per_ha: 1.0,
            over_m: 40.0,
        }
    }
}

impl Survival {
    /// The species, with every number known.
    #[must_use]
    pub fn plants(&self) -> Vec<Plant> {
        self.species.iter().map(Species::plant).collect()
    }

    fn rules(plants: &[Plant]) -> impl Iterator<Item = &Rule> {
        plants.iter().flat_map(|plant| plant.rules.iter().chain(&plant.limits))
    }

    /// The layers of a species: all plants, young and old ones.
    fn names_of(species: &Species) -> Option<[LayerName; 3]> {
        let of = |family: &str| LayerName::parse(&format!("{family}.{}", species.name));
        Some([of("density")?, of("young")?, of("old")?])
    }

    /// The layers of plants that it writes.
    pub fn densities(&self) -> impl Iterator<Item = LayerName> {
        self.species.iter().filter_map(Self::names_of).flatten()
    }

    fn written(&self) -> Vec<LayerName> {
        self.densities().chain(canopy_layers()).collect()
    }

    fn rounds(&self) -> usize {
        (self.years_yr / self.round_yr) as usize
    }

    /// How many plants each that is followed stands for on a frame.
    #[must_use]
    pub fn each(&self, frame: &Frame) -> f64 {
        (expected(&self.plants(), frame) / MOST_PLANTS).max(1.0)
    }
}

/// How many plants may stand on a frame, about.
fn expected(plants: &[Plant], frame: &Frame) -> f64 {
    let [width, depth] = frame.size_m();
    let packed = plants.iter().map(|plant| PACKED / (plant.radius_m * plant.radius_m)).sum::<f64>();
    width * depth * packed / plants.len().max(1) as f64
}

impl Op for Survival {
    const ID: &'static str = "cover.survival";
    const VERSION: u32 = 3;
    const PREVIEW_RMSE: f64 = 0.08;

    fn layers(&self) -> Layers {
        let plants = self.plants();
        let needs = Needs::of(Self::rules(&plants));
        let used: Vec<LayerName> = weather_layers().into_iter().chain([forest_mask()]).collect();
        let mut from: Vec<LayerName> = vec![layer::HEIGHT.name()];
        from.extend(needs.parts().filter_map(|part| match part {
            Part::Layer(name) => Some(name),
            _ => None,
        }));
        from.extend(used.clone());
        let mut layers = needs.declare(Layers::none().reading([layer::HEIGHT.name()]).using(used));
        layers.reads.dedup();
        layers.deriving(self.written(), from.clone()).deriving_instances([PLANTS], from)
    }

    fn reach(&self, _: &Frame) -> Reach {
        Reach::World
    }

    fn loops(&self) -> Loops {
        Loops::Itself
    }

    fn bytes_a_sample(&self, frame: &Frame) -> f64 {
        let plants = self.plants();
        // About half of the ground suits a species and is left to it.
        let followed = 0.5 * expected(&plants, frame).min(MOST_PLANTS);
        let kept = if self.each(frame) > 1.0 { 0.0 } else { followed };
        let [width, depth] = frame.size_m();
        let first = 0.5 * width * depth * self.first_per_ha / 1e4 / self.each(frame);
        let samples = frame.len() as f64;
        let rules = bytes_a_sample(Self::rules(&plants), Asked::Places, frame);
        let written = 4.0 * self.written().len() as f64;
        // A round holds the plants before and after it; then they are spread over five sums and two more rasters, beside what
        // rules keep; then sorted. Before all that, while distances are found, rules take three rasters more.
        let rounds = (70.0 * followed).max(32.0 * first) / samples + rules;
        let spread = 32.0 * followed / samples + (rules - 12.0).max(0.0) + written + 20.0;
        let sorted = 32.0 * followed / samples + written + 130.0 * kept / samples;
        rounds.max(spread).max(sorted)
    }

    fn faults(&self) -> Vec<Fault> {
        faults_of(&self.species)
    }

    fn run(&self, terrain: Terrain, ctx: &Ctx<'_>) -> Result<Terrain, OpError> {
        stepped::run_through(self, terrain, ctx)
    }

    fn explain(&self, land: &Terrain, place: [f64; 2], ctx: &Ctx<'_>) -> Result<Vec<Reason>, OpError> {
        reasons::of(self, land, place, ctx)
    }

    fn start(&self, terrain: Terrain, ctx: &Ctx<'_>) -> Result<Started, OpError> {
        let world = ctx.world(&terrain);
        // Without its last column and row a loop is smaller than its world.
        let loops = world.loops() && world.len() > terrain.frame().len();
        let whole = if loops { world } else { *terrain.frame() };
        let (plants, each) = (self.plants(), self.each(&whole));
        self.refuse_too_much(&plants, each, &whole)?;
        let around = loops.then(|| {
            let far_m = reach_m(Self::rules(&plants), terrain.frame());
            looped::repeated(&terrain, &world, far_m)
        });
        let kinds = kinds(&plants, each);
        let mut growing = Growing {
            params: self.clone(),
            stages: Stages::new(&kinds, self.round_yr),
            spread: Spread::new(terrain.frame(), loops, self.over_m * each.sqrt()),
            world,
            seed: ctx.seed(),
            bounds: whole.extent(),
            loops,
            each,
            plants,
            kinds,
            terrain,
            around,
            measured: Measured::default(),
            forest: None,
            round: 0,
        };
        // A land that lacks what rules need is refused at once.
        growing.with_ecosystem(ctx, |_| Ok(()))?;
        Ok(Started::Stepped(Box::new(growing)))
    }
}

/// A forest on its way: a piece is a round.
struct Growing {
    params: Survival,
    plants: Vec<Plant>,
    kinds: Vec<Kind>,
    stages: Stages,
    spread: Spread,
    /// The land before, and what lies around it where it goes on beyond its edges.
    terrain: Terrain,
    around: Option<Terrain>,
    world: Frame,
    seed: Seed,
    bounds: Rect,
    loops: bool,
    /// How many plants each that is followed stands for.
    each: f64,
    measured: Measured,
    /// None before the first seeds have come up.
    forest: Option<Forest>,
    round: usize,
}

impl Growing {
    fn home<'a>(&'a self, measured: &mut Measured, ctx: &Ctx<'_>) -> Result<Home<'a>, OpError> {
        Home::new(&self.plants, self.around.as_ref().unwrap_or(&self.terrain), measured, ctx)
    }

    fn with_ecosystem<R>(
        &mut self,
        ctx: &Ctx<'_>,
        f: impl FnOnce(&Ecosystem<'_, &(dyn Fn(usize, [f64; 2]) -> f64 + Sync)>) -> Result<R, OpError>,
    ) -> Result<R, OpError> {
        let mut measured = std::mem::take(&mut self.measured);
        let home = self.home(&mut measured, ctx)?;
        let likes = |species: usize, place: [f64; 2]| home.at(species, place);
        let params = &self.params;
        let ecosystem = Ecosystem {
            kinds: &self.kinds,
            home: &likes as &(dyn Fn(usize, [f64; 2]) -> f64 + Sync),
            bounds: self.bounds,
            loops: self.loops,
            seed: self.seed,
            years_a_round: params.round_yr,
            seeds: params.seeds,
            first_per_m2: params.first_per_ha / 1e4 / self.each,
            strays_per_m2: params.afar_per_ha / 1e4 / self.each,
        };
        let found = f(&ecosystem);
        self.measured = measured;
        found
    }

    /// The land with the forest as it is.
    fn planted(
        &self,
        mut terrain: Terrain,
        forest: &Forest,
        home: &Home<'_>,
        ctx: &Ctx<'_>,
    ) -> Result<Terrain, OpError> {
        let Self { params, plants, stages, each, .. } = self;
        let layers = self.measure(forest, home, ctx)?;
        for (name, raster) in params.written().into_iter().zip(layers) {
            terrain.set_named(name, raster.into());
        }
        let kept = *each <= 1.0 && ctx.wants(&Part::Instances(LayerName::fixed(PLANTS)));
        let things = forest.trees().filter(|_| kept);
        let things = things.map(|tree| (tree.place, instance(tree, stages, plants, params.round_yr)));
        let names = plants.iter().map(|plant| plant.name.clone()).collect();
        let made = Instances::new(names, things).map_err(|e| OpError::Failed(e.to_string()))?;
        terrain.set_instances(PLANTS, made);
        Ok(terrain)
    }
}

impl Stepped for Growing {
    fn advance(&mut self, ctx: &Ctx<'_>) -> Result<Progress, OpError> {
        let rounds = self.params.rounds();
        ctx.tick(self.round, rounds + 1)?;
        let next = if self.forest.is_some() { self.round + 1 } else { 0 };
        let before = self.forest.take();
        let grown = self.with_ecosystem(ctx, |ecosystem| {
            Ok(match before {
                Some(forest) => ecosystem.round(forest, next, ctx)?,
                None => ecosystem.sown(ctx)?,
            })
        })?;
        (self.forest, self.round) = (Some(grown), next);
        Ok(if next == rounds { Progress::Done } else { Progress::More })
    }

    fn moment(&self) -> Moment {
        let (rounds, done) = (self.params.rounds() + 1, self.round + usize::from(self.forest.is_some()));
        let share = done as f64 / rounds as f64;
        Moment { share, time: Some(Simulated::Years(self.round as f64 * self.params.round_yr)) }
    }

    fn view(&self) -> Result<Terrain, OpError> {
        let ctx = Ctx::new(self.seed).in_world(self.world);
        let Some(forest) = &self.forest else { return Ok(self.terrain.clone()) };
        let home = self.home(&mut Measured::default(), &ctx)?;
        self.planted(self.terrain.clone(), forest, &home, &ctx)
    }

    fn finish(mut self: Box<Self>, ctx: &Ctx<'_>) -> Result<Terrain, OpError> {
        let Some(forest) = self.forest.take() else {
            return Err(OpError::Internal(String::from("a forest that was not sown")));
        };
        let mut measured = std::mem::take(&mut self.measured);
        let made = {
            let home = self.home(&mut measured, ctx)?;
            self.planted(self.terrain.clone(), &forest, &home, ctx)?
        };
        for (i, plant) in self.plants.iter().enumerate() {
            let count = forest.trees().filter(|tree| usize::from(tree.species) == i).count();
            ctx.report(&format!("plants_{}", plant.name), count as f64 * self.each, "");
            if count == 0 {
                ctx.warn(format!(
                    "{:?} stands nowhere: its rules fit no place of this land, or no seed of it found room",
                    plant.name
                ));
            }
        }
        if self.plants.is_empty() {
            ctx.warn("no species is listed, so nothing grows");
        }
        Ok(made)
    }
}

/// The species as the ecosystem sees them: plants that stand for several are as much larger, and all distances with them.
fn kinds(plants: &[Plant], each: f64) -> Vec<Kind> {
    let larger = each.sqrt();
    let kind = |plant: &Plant| Kind {
        radius_m: plant.radius_m * larger,
        height_m: plant.height_m,
        age_yr: plant.age_yr,
        seeds_m: plant.seeds_m * larger,
        shade: plant.shade,
    };
    plants.iter().map(kind).collect()
}

impl Survival {
    fn refuse_too_much(&self, plants: &[Plant], each: f64, frame: &Frame) -> Result<(), OpError> {
        let largest = plants.iter().map(|plant| plant.radius_m).fold(0.0, f64::max);
        let [width, depth] = frame.size_m();
        let count = expected(plants, frame) / each;
        // Each looks at its neighbours as far as the largest crown reaches.
        let neighbours = count * each * 16.0 * largest * largest / (width * depth);
        let ns = count * self.rounds() as f64 * (600.0 + 5.0 * neighbours) * (1.0 + self.seeds)
            + width * depth / 1e4 / each
                * (self.first_per_ha + self.afar_per_ha * self.rounds() as f64)
                * 600.0;
        // A preview of few samples has as many plants as the whole, and may take as long as some hundred years of them do.
        let samples = (frame.len() as f64).max(count / 20.0);
        let advice = "let it grow for fewer years, in longer rounds or with fewer seeds";
        work::check("years_yr", self.years_yr, ns / samples, advice)
    }
}

impl Growing {
    /// The layers that the step writes, in the order of their names.
    fn measure(&self, forest: &Forest, home: &Home<'_>, ctx: &Ctx<'_>) -> Result<Vec<Raster<f32>>, OpError> {
        let Self { plants, stages, spread, .. } = self;
        let (frame, each) = (self.terrain.frame(), self.each);
        let (cols, rows) = (frame.cols(), frame.rows());
        let mut made = Vec::with_capacity(3 * plants.len() + 5);
        let mut canopy: [Raster<f32>; 5] = std::array::from_fn(|_| Raster::filled(cols, rows, 0.0));
        for (species, plant) in plants.iter().enumerate() {
            let own = forest.trees().filter(|tree| usize::from(tree.species) == species);
            let amounts = own.map(|tree| {
                let stage = stages.of(tree);
                let life = f64::from(tree.rounds) * self.params.round_yr / plant.age_yr;
                let is = |yes: bool| if yes { each as f32 } else { 0.0 };
                let crown = (PI * stage.radius_m * stage.radius_m) as f32;
                (
                    tree.place,
                    [each as f32, is(life < GROWN), is(life >= OLD), crown, crown * stage.height_m as f32],
                )
            });
            let ground = home.ground(species, frame, ctx)?;
            let [density, young, old, crowns, tall] = spread.over(amounts, &ground, ctx)?;
            made.extend([density, young, old]);
            let [height, cover, colors @ ..] = &mut canopy;
            add(height, &tall, 1.0);
            add(cover, &crowns, 1.0);
            for (sum, part) in colors.iter_mut().zip(plant.color) {
                add(sum, &crowns, f32::from(part) / 255.0);
            }
        }
        // Sums over crowns become means.
        let [height, cover, colors @ ..] = &mut canopy;
        for sum in std::iter::once(height).chain(colors) {
            sum.par_rows(|row, values| {
                for (value, cover) in values.iter_mut().zip(cover.row(row)) {
                    *value = if *cover > 0.0 { *value / *cover } else { 0.0 };
                }
            });
        }
        cover.par_rows(|_, values| values.iter_mut().for_each(|value| *value = value.min(1.0)));
        made.extend(canopy);
        Ok(made)
    }
}

fn add(sum: &mut Raster<f32>, part: &Raster<f32>, times: f32) {
    sum.par_rows(|row, values| {
        for (value, part) in values.iter_mut().zip(part.row(row)) {
            *value += times * part;
        }
    });
}

fn instance(tree: &Tree, stages: &Stages, plants: &[Plant], round_yr: f64) -> Instance {
    let plant = &plants[usize::from(tree.species)];
    let life = (f64::from(tree.rounds) * round_yr / plant.age_yr).clamp(0.0, 1.0);
    let size = stages.of(tree).radius_m / plant.radius_m;
    Instance {
        id: tree.id,
        x_mm: 0,
        y_mm: 0,
        z_m: f32::NAN,
        species: tree.species,
        yaw: Seed(tree.id).bits(3) as u16,
        scale: (size * 4096.0) as u16,
        tilt_deg: 0,
        tilt_to: 0,
        age: (life * 255.0) as u8,
        health: (255.0 * f64::from(tree.home).clamp(0.0, 1.0)) as u8,
        tag: plant.kind as u16,
    }
}
