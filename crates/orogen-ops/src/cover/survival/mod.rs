//! Forests that grow: plants seed, compete for ground and light, age and die.

pub mod ecosystem;

use orogen_core::instances::{Instance, Instances};
use orogen_core::param::Fault;
use orogen_core::rng::Seed;
use orogen_core::{Ctx, Frame, LayerName, Layers, Op, OpError, Part, Raster, Reach, Terrain, layer, work};
use rayon::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::ecosystem::{Ecosystem, Kind, Tree};
use super::rules::{Compiled, Needs, Rule, bytes_a_sample};
use super::scatter::PLANTS;
use super::species::{Plant, Species, Weather, faults_of, weather_layers};

/// The most plants that are followed one by one.
const MOST_PLANTS: f64 = 2e6;

/// Grows a forest: every round plants drop seeds, compete with their neighbours, age and die.
///
/// A seed falls within the seeding radius of its mother and comes up with the chance that the species' rules give the place. Of two
/// plants whose crowns meet the weaker dies: the one that likes its place less, is very young or very old, or stands in the
/// other's shade and does not bear it. What bears shade can grow below crowns twice its height. So groups of one species form,
/// and tree lines and strips along rivers where rules end.
///
/// The result is the forest after `years_yr`: `density.<species>` and `age.<species>` (mean age in years), and where no more
/// than two million plants are expected each of them, as the instances `plants`. Beyond that one plant that is followed stands
/// for several, with crown and seeding radius that much larger, and the step gives densities and ages only.
///
/// **Guarantees** (1) nothing stands where its rules give 0; (2) no two crowns of one storey meet; (3) the same plants for any
/// number of threads.
///
/// **After** Mikuličić & Mihajlović, "Procedural generation of Mediterranean environments", MIPRO 2016, and Beneš, "A stable
/// modeling of large plant ecosystems", 2002. The competition for light is ours.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Survival {
    /// The species.
    #[schemars(length(max = 64))]
    pub species: Vec<Species>,
    /// How long the forest grows.
    #[schemars(range(min = 0.0, max = 1e5), extend("x-unit" = "yr", "x-slider" = [0.0, 1000.0]))]
    pub years_yr: f64,
    /// Years of a round.
    #[schemars(range(min = 1.0, max = 100.0), extend("x-unit" = "yr"))]
    pub round_yr: f64,
    /// Seeds that a grown plant drops in a round.
    #[schemars(range(min = 0, max = 8))]
    pub seeds: u32,
    /// Seeds of the first round, of all species together.
    #[schemars(range(min = 0.0, max = 1e5), extend("x-unit" = "1/ha"))]
    pub first_per_ha: f64,
}

impl Default for Survival {
    fn default() -> Self {
        Self {
            species: ["oak", "beech", "birch", "hazel"].map(Species::named).to_vec(),
            years_yr: 400.0,
            round_yr: 10.0,
            seeds: 1,
            first_per_ha: 40.0,
        }
    }
}

impl Survival {
    fn plants(&self) -> Vec<Plant> {
        self.species.iter().map(Species::plant).collect()
    }

    fn rules(plants: &[Plant]) -> impl Iterator<Item = &Rule> {
        plants.iter().flat_map(|plant| plant.rules.iter().chain(&plant.limits))
    }

    fn written(&self) -> Vec<LayerName> {
        let ages =
            self.species.iter().filter_map(|species| LayerName::parse(&format!("age.{}", species.name)));
        self.species.iter().filter_map(Species::layer).chain(ages).collect()
    }

    fn rounds(&self) -> usize {
        (self.years_yr / self.round_yr) as usize
    }
}

impl Op for Survival {
    const ID: &'static str = "cover.survival";
    const VERSION: u32 = 1;

    fn layers(&self) -> Layers {
        let plants = self.plants();
        let needs = Needs::of(Self::rules(&plants));
        let mut from: Vec<LayerName> = vec![layer::HEIGHT.name()];
        from.extend(needs.parts().filter_map(|part| match part {
            Part::Layer(name) => Some(name),
            _ => None,
        }));
        from.extend(weather_layers());
        let layers = Layers::none().reading([layer::HEIGHT.name()]).using(weather_layers());
        let layers = needs.declare(layers).deriving(self.written(), from.clone());
        layers.deriving_instances([PLANTS], from)
    }

    fn reach(&self, _: &Frame) -> Reach {
        Reach::World
    }

    fn bytes_a_sample(&self, frame: &Frame) -> f64 {
        let plants = self.plants();
        // Plants before and after a round, sorted, with what others see of them; then as instances.
        let most = (frame.size_m()[0] * frame.size_m()[1] * crowded(&plants)).min(3.0 * MOST_PLANTS);
        8.0 * plants.len() as f64 + bytes_a_sample(Self::rules(&plants)) + 300.0 * most / frame.len() as f64
    }

    fn faults(&self) -> Vec<Fault> {
        faults_of(&self.species)
    }

    fn run(&self, mut terrain: Terrain, ctx: &Ctx<'_>) -> Result<Terrain, OpError> {
        let plants = self.plants();
        let frame = *terrain.frame();
        let (trees, each) = grow(self, &plants, &terrain, ctx)?;
        let (densities, ages) = layers_of(&trees, each, plants.len(), &frame);
        for (name, raster) in self.written().into_iter().zip(densities.into_iter().chain(ages)) {
            terrain.set_named(name, raster.into());
        }
        ctx.report("plants", trees.len() as f64 * each, "");
        let kept = if each > 1.0 { Vec::new() } else { trees };
        let things = kept.iter().map(|tree| (tree.place, instance(tree, &plants[usize::from(tree.species)])));
        let names = plants.iter().map(|plant| plant.name.clone()).collect();
        let made = Instances::new(names, things).map_err(|e| OpError::Failed(e.to_string()))?;
        terrain.set_instances(PLANTS, made);
        Ok(terrain)
    }
}

/// Plants a square metre of a crowded forest of the smallest species: crowns of saplings side by side.
fn crowded(plants: &[Plant]) -> f64 {
    let smallest = plants.iter().map(|plant| plant.radius_m).fold(f64::INFINITY, f64::min);
    if smallest.is_finite() { 0.35 / (smallest * smallest) } else { 0.0 }
}

/// The forest, and for how many plants each of its trees stands.
fn grow(
    params: &Survival,
    plants: &[Plant],
    terrain: &Terrain,
    ctx: &Ctx<'_>,
) -> Result<(Vec<Tree>, f64), OpError> {
    if plants.is_empty() {
        return Ok((Vec::new(), 1.0));
    }
    let frame = *terrain.frame();
    let bounds = frame.extent();
    let area = bounds.size()[0] * bounds.size()[1];
    let each = (area * crowded(plants) / MOST_PLANTS).max(1.0);
    let plant_rounds = (area * crowded(plants) / each).max(1.0) * params.rounds() as f64;
    work::check(
        "years_yr",
        params.years_yr,
        plant_rounds * 600.0 / frame.len() as f64,
        "let it grow for fewer years, or in longer rounds",
    )?;
    // Trees that stand for several are as much larger, and all distances with them.
    let larger = each.sqrt();
    let kinds: Vec<Kind> = plants
        .iter()
        .map(|plant| Kind {
            radius_m: plant.radius_m * larger,
            height_m: plant.height_m,
            age_yr: plant.age_yr,
            seeds_m: plant.seeds_m * larger,
            shade: plant.shade,
        })
        .collect();
    let things: Vec<&[Rule]> =
        plants.iter().flat_map(|plant| [plant.rules.as_slice(), plant.limits.as_slice()]).collect();
    let rules = Compiled::new(&things, terrain, ctx)?;
    let [wind, salt] = [layer::WIND, layer::SALT].map(|of| terrain.get(of).ok());
    let weather = Weather { wind, salt };
    let home = |species: usize, place: [f64; 2]| {
        let weight = f64::from(rules.at(2 * species, place)) * f64::from(rules.at(2 * species + 1, place));
        if weight <= 0.0 {
            return 0.0;
        }
        let [wind, salt] = weather.harm_at(&plants[species], frame.locate(place[0], place[1]));
        weight * (1.0 - wind) * (1.0 - salt)
    };
    let ecosystem = Ecosystem {
        kinds: &kinds,
        home,
        bounds,
        seed: ctx.seed(),
        years_a_round: params.round_yr,
        seeds: params.seeds,
        first_per_m2: params.first_per_ha / 1e4 / each,
    };
    Ok((ecosystem.run(params.rounds(), ctx)?, each))
}

/// Plants a square metre and their mean age, by species.
fn layers_of(
    trees: &[Tree],
    each: f64,
    species: usize,
    frame: &Frame,
) -> (Vec<Raster<f32>>, Vec<Raster<f32>>) {
    let (cols, rows) = (frame.cols(), frame.rows());
    let [dx, dy] = frame.spacing_m();
    let of = |wanted: usize| {
        let (mut count, mut age) = (vec![0.0f32; cols * rows], vec![0.0f32; cols * rows]);
        for tree in trees.iter().filter(|tree| usize::from(tree.species) == wanted) {
            let [col, row] = frame.locate(tree.place[0], tree.place[1]).map(|x| x.round().max(0.0) as usize);
            let at = row.min(rows - 1) * cols + col.min(cols - 1);
            count[at] += 1.0;
            age[at] += tree.age_yr;
        }
        for (count, age) in count.iter_mut().zip(&mut age) {
            *age /= count.max(1.0);
            *count *= (each / (dx * dy)) as f32;
        }
        (count, age)
    };
    let made: Vec<(Vec<f32>, Vec<f32>)> = (0..species).into_par_iter().map(of).collect();
    let raster = |data: Vec<f32>| {
        Raster::from_vec(cols, rows, data).unwrap_or_else(|| Raster::filled(cols, rows, 0.0))
    };
    made.into_iter().map(|(count, age)| (raster(count), raster(age))).unzip()
}

fn instance(tree: &Tree, plant: &Plant) -> Instance {
    let life = (f64::from(tree.age_yr) / plant.age_yr).clamp(0.0, 1.0);
    let kind = Kind {
        radius_m: 1.0,
        height_m: plant.height_m,
        age_yr: plant.age_yr,
        seeds_m: plant.seeds_m,
        shade: plant.shade,
    };
    Instance {
        id: tree.id,
        x_mm: 0,
        y_mm: 0,
        z_m: f32::NAN,
        species: tree.species,
        yaw: Seed(tree.id).bits(3) as u16,
        scale: (kind.radius_at(f64::from(tree.age_yr)) * 4096.0) as u16,
        tilt_deg: 0,
        tilt_to: 0,
        age: (life * 255.0) as u8,
        health: (255.0 * f64::from(tree.home).clamp(0.0, 1.0)) as u8,
        tag: plant.kind as u16,
    }
}

#[cfg(test)]
mod tests {
    use super::super::rules::Span;
    use super::*;

    fn grown(years_yr: f64) -> Terrain {
        let mut terrain = Terrain::new(Frame::square(200.0, 65).unwrap());
        // The sea in the west.
        terrain.set(layer::HEIGHT, Raster::from_fn(65, 65, |col, _| if col < 20 { -5.0 } else { 20.0 }));
        let rules = vec![Rule { height_m: Some(Span([0.0, 1e4])), ..Rule::default() }];
        let own = |name: &str| Species { rules: rules.clone(), spread: Some(0.0), ..Species::named(name) };
        let op = Survival { species: vec![own("oak"), own("birch")], years_yr, ..Survival::default() };
        Op::apply(&op, terrain, &Ctx::silent()).unwrap()
    }

    #[test]
    fn a_forest_grows_on_land_only() {
        let terrain = grown(300.0);
        let plants = &terrain.instances()[&LayerName::fixed(PLANTS)];
        assert!(plants.len() > 100, "{}", plants.len());
        assert!(plants.iter().all(|(place, _)| place[0] > 55.0));
        let density = terrain.get_named::<f32>(&LayerName::fixed("density.birch")).unwrap();
        let count = plants.iter().filter(|(_, thing)| thing.species == 1).count() as f64;
        assert!(
            (density.sum_f64() * 3.125 * 3.125 - count).abs() < 0.5,
            "the densities are those of the plants"
        );
    }

    #[test]
    fn a_snapshot_of_another_year_is_another_forest() {
        let age = |terrain: &Terrain| {
            let plants = &terrain.instances()[&LayerName::fixed(PLANTS)];
            plants.iter().map(|(_, thing)| f64::from(thing.age)).sum::<f64>() / plants.len() as f64
        };
        let (young, old) = (grown(30.0), grown(300.0));
        assert!(age(&old) > age(&young), "{} {}", age(&old), age(&young));
    }

    #[test]
    fn large_land_has_densities_only() {
        let mut terrain = Terrain::new(Frame::square(20_000.0, 65).unwrap());
        terrain.set(layer::HEIGHT, Raster::filled(65, 65, 20.0));
        let rules = vec![Rule { height_m: Some(Span([0.0, 1e4])), ..Rule::default() }];
        let own = Species { rules, spread: Some(0.0), ..Species::named("birch") };
        let op = Survival { species: vec![own], years_yr: 20.0, ..Survival::default() };
        let made = Op::apply(&op, terrain, &Ctx::silent()).unwrap();
        assert!(made.instances()[&LayerName::fixed(PLANTS)].is_empty());
        let density = made.get_named::<f32>(&LayerName::fixed("density.birch")).unwrap();
        let per_ha = density.sum_f64() / density.as_slice().len() as f64 * 1e4;
        assert!((5.0..2000.0).contains(&per_ha), "{per_ha} birches on a hectare");
    }
}
