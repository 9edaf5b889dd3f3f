//! Species in recipes: by name from the table of [`orogen_core::species`], with whatever the recipe says otherwise.

use orogen_core::param::{Fault, Segment};
use orogen_core::rng::Seed;
use orogen_core::species::{self, Kind};
use orogen_core::{LayerName, Raster, biome::Biome, layer};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::rules::{BiomeRef, Curve, Rule, Span, faults};

/// A species: `{ name = "oak" }` is the oak of the table, and what is stated beside it counts instead of what the table says. A name that
/// is not in the table makes a species of one's own, which needs `rules`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Species {
    /// Its name: small letters, digits and underscores.
    pub name: String,
    /// Radius of a grown crown.
    #[schemars(range(min = 0.05, max = 30.0), extend("x-unit" = "m"))]
    pub radius_m: Option<f64>,
    /// Height of a grown one.
    #[schemars(range(min = 0.05, max = 120.0), extend("x-unit" = "m"))]
    pub height_m: Option<f64>,
    /// How many stand on a hectare where it is at home.
    #[schemars(range(min = 0.0, max = 1e6), extend("x-unit" = "1/ha"))]
    pub density_per_ha: Option<f64>,
    /// From 0 (evenly) to 1 (in patches).
    #[schemars(range(min = 0.0, max = 1.0))]
    pub spread: Option<f64>,
    /// How much shade it bears, from 0 (none) to 1 (any).
    #[schemars(range(min = 0.0, max = 1.0))]
    pub shade: Option<f64>,
    /// Mean wind that it bears unharmed; more dwarfs and bends it, twice as much excludes it.
    #[schemars(range(min = 0.1, max = 100.0), extend("x-unit" = "m/s"))]
    pub wind_m_per_s: Option<f64>,
    /// Salt that it bears unharmed, from 0 to 1; more dwarfs it, 0.4 more excludes it.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub salt: Option<f64>,
    /// The steepest ground that it holds on to.
    #[schemars(range(min = 1.0, max = 90.0), extend("x-unit" = "deg"))]
    pub slope_deg: Option<f64>,
    /// How old it gets.
    #[schemars(range(min = 1.0, max = 5000.0), extend("x-unit" = "yr"))]
    pub age_yr: Option<f64>,
    /// How far its seeds fall.
    #[schemars(range(min = 0.1, max = 2000.0), extend("x-unit" = "m"))]
    pub seeds_m: Option<f64>,
    /// Colour of its leaves, red, green and blue from 0 to 255.
    pub color: Option<[u8; 3]>,
    /// Where it is at home; those of the table if there are none.
    #[schemars(length(max = 64))]
    pub rules: Vec<Rule>,
}

/// A species with every number known.
#[derive(Clone, Debug, PartialEq)]
pub struct Plant {
    /// Its name.
    pub name: String,
    /// What kind of thing it is.
    pub kind: Kind,
    /// Radius of a grown crown, in metres.
    pub radius_m: f64,
    /// Height of a grown one, in metres.
    pub height_m: f64,
    /// How many stand on a square metre where it is at home.
    pub per_m2: f64,
    /// How much shade it bears.
    pub shade: f64,
    /// Mean wind that it bears unharmed.
    pub wind_m_per_s: f64,
    /// Salt that it bears unharmed.
    pub salt: f64,
    /// How old it gets, in years.
    pub age_yr: f64,
    /// How far its seeds fall, in metres.
    pub seeds_m: f64,
    /// Colour of its leaves.
    pub color: [u8; 3],
    /// Where it is at home.
    pub rules: Vec<Rule>,
    /// Where it can stand at all: not in rivers, lakes or the sea, nor on ground that is too steep.
    pub limits: Vec<Rule>,
}

impl Species {
    /// One of the table, by name.
    #[must_use]
    pub fn named(name: &str) -> Self {
        Self { name: name.to_owned(), ..Self::default() }
    }

    /// With every number known.
    #[must_use]
    pub fn plant(&self) -> Plant {
        let known = species::named(&self.name);
        let or = |own: Option<f64>, of: fn(&species::Info) -> f64, usual: f64| {
            own.or_else(|| known.map(of)).unwrap_or(usual)
        };
        let slope_deg = or(self.slope_deg, |s| s.slope_deg, 35.0);
        let radius_m = or(self.radius_m, |s| s.radius_m, 2.0);
        let swims = known.is_some_and(|s| s.biomes.iter().all(|b| matches!(b, Biome::Lake | Biome::Ocean)));
        Plant {
            name: self.name.clone(),
            kind: known.map(|s| s.kind).unwrap_or_default(),
            radius_m,
            height_m: or(self.height_m, |s| s.height_m, 8.0),
            per_m2: or(self.density_per_ha, |s| s.per_ha, 100.0) / 1e4,
            shade: or(self.shade, |s| s.shade, 0.3),
            wind_m_per_s: or(self.wind_m_per_s, |s| s.wind_m_per_s, 9.0),
            salt: or(self.salt, |s| s.salt, 0.3),
            age_yr: or(self.age_yr, |s| s.age_yr, 100.0),
            seeds_m: or(self.seeds_m, |s| s.seeds_m, 30.0),
            color: self.color.or_else(|| known.map(|s| s.color)).unwrap_or([96, 120, 64]),
            rules: match known {
                Some(known) if self.rules.is_empty() => home(known),
                _ => self.rules.clone(),
            }
            .into_iter()
            .chain(patches(
                &self.name,
                or(self.spread, |s| s.spread, 0.3),
                or(self.seeds_m, |s| s.seeds_m, 30.0),
            ))
            .collect(),
            limits: limits(slope_deg, radius_m, swims),
        }
    }

    /// The layer of its density.
    #[must_use]
    pub fn layer(&self) -> Option<LayerName> {
        LayerName::parse(&format!("density.{}", self.name))
    }
}

fn span(from: f64, to: f64) -> Option<Span> {
    Some(Span([from, to]))
}

/// Where a species of the table is at home.
fn home(known: &species::Info) -> Vec<Rule> {
    if known.biomes == [Biome::Lake] {
        return vec![Rule { water_m: span(0.05, 1.0), fade: 0.3, without: Some(0.0), ..Rule::default() }];
    }
    if known.biomes == [Biome::Ocean] {
        return vec![Rule { height_m: span(-12.0, -1.0), fade: 1.0, ..Rule::default() }];
    }
    let biome = known.biomes.iter().map(|biome| BiomeRef::from(biome.info().name)).collect();
    let [cold, warm] = known.temperature_c;
    let [dry, wet] = known.moisture;
    vec![
        Rule { biome, without: Some(1.0), ..Rule::default() },
        Rule { temperature_c: span(cold, warm), fade: 1.5, without: Some(1.0), ..Rule::default() },
        Rule { moisture: span(dry, wet), fade: 0.06, without: Some(1.0), ..Rule::default() },
    ]
}

/// Patches some seeding radii wide, of each species its own.
fn patches(name: &str, spread: f64, seeds_m: f64) -> Option<Rule> {
    let curve = Curve::Points(vec![[0.0, 0.0], [0.3, 0.0], [0.7, 1.0], [1.0, 1.0]]);
    let pattern = (Seed::from_text(name).0 % 1_000_000) as u32;
    let wavelength_m = (8.0 * seeds_m).clamp(30.0, 600.0);
    (spread > 0.0).then(|| Rule {
        noise: span(0.0, 1.0),
        curve,
        wavelength_m,
        pattern,
        strength: spread,
        ..Rule::default()
    })
}

/// Where anything of its kind can stand at all.
fn limits(slope_deg: f64, radius_m: f64, swims: bool) -> Vec<Rule> {
    let slope = Rule { slope_deg: span(0.0, slope_deg), fade: 4.0, ..Rule::default() };
    if swims {
        return vec![slope];
    }
    vec![
        slope,
        Rule { height_m: span(0.3, 1e9), ..Rule::default() },
        Rule { water_m: span(-1.0, 0.05), without: Some(1.0), ..Rule::default() },
        // A trunk's width from the bank; crowns may hang over the water.
        Rule { river_m: span(0.5 + 0.1 * radius_m, 1e9), without: Some(1.0), ..Rule::default() },
        Rule { ice_m: span(-1.0, 0.5), without: Some(1.0), ..Rule::default() },
    ]
}

/// What is wrong with a list of species, each in a sentence.
#[must_use]
pub fn faults_of(list: &[Species]) -> Vec<Fault> {
    let mut found = Vec::new();
    for (i, species) in list.iter().enumerate() {
        let path =
            |key: &str| vec![Segment::Key("species".into()), Segment::Index(i), Segment::Key(key.into())];
        let mut say = |key: &str, message: String| found.push(Fault { path: path(key), message });
        if species.layer().is_none() {
            say(
                "name",
                format!("{:?} is not a valid name; use a-z, 0-9 and _, as in \"holm_oak\"", species.name),
            );
        } else if list[..i].iter().any(|other| other.name == species.name) {
            say("name", format!("{:?} is listed twice", species.name));
        } else if species::named(&species.name).is_none() && species.rules.is_empty() {
            let near = orogen_core::param::nearest(&species.name, species::all().map(|s| s.name));
            let near = near.map_or(String::new(), |name| format!("; did you mean {name:?}?"));
            say(
                "name",
                format!(
                    "{:?} is nowhere at home: it is not in the table and has no rules{near}",
                    species.name
                ),
            );
        }
        found.extend(faults(&species.rules, &path("rules")));
    }
    found
}

/// Where sketches draw forest.
#[must_use]
pub fn forest_mask() -> LayerName {
    LayerName::fixed("mask.forest")
}

/// How much wind and salt harm a plant, from 0 (not) to 1 (it does not stand there).
#[derive(Clone, Copy)]
pub struct Weather<'a> {
    /// Speed of the wind, where it is known.
    pub wind: Option<&'a Raster<f32>>,
    /// Salt, where it is known.
    pub salt: Option<&'a Raster<f32>>,
}

impl Weather<'_> {
    /// By wind and by salt.
    #[must_use]
    pub fn harm(&self, plant: &Plant, wind: f32, salt: f32) -> [f64; 2] {
        let by_wind = if wind > 0.0 { f64::from(wind) / plant.wind_m_per_s - 1.0 } else { 0.0 };
        let by_salt = if salt > 0.0 { (f64::from(salt) - plant.salt) / 0.4 } else { 0.0 };
        [by_wind.clamp(0.0, 1.0), by_salt.clamp(0.0, 1.0)]
    }

    /// The same at a place of a lattice, in columns and rows.
    #[must_use]
    pub fn harm_at(&self, plant: &Plant, [col, row]: [f64; 2]) -> [f64; 2] {
        let at = |raster: Option<&Raster<f32>>| raster.map_or(0.0, |raster| raster.bilinear(col, row));
        self.harm(plant, at(self.wind), at(self.salt))
    }
}

/// Layers of wind and salt.
#[must_use]
pub fn weather_layers() -> [LayerName; 2] {
    [layer::WIND.name(), layer::SALT.name()]
}
