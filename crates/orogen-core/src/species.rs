//! Plants and stones by name: how large, how many, where at home. What the operators of cover start from, and what shapes of plants
//! hang on.

use crate::biome::Biome;

/// What kind of thing it is: who shades whom.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// Makes the canopy.
    #[default]
    Tree,
    /// Stands under trees or alone.
    Shrub,
    /// Ferns, reeds, flowers and grass.
    Herb,
    /// Dead wood and stones: nothing that lives.
    Litter,
}

/// What is known about a species.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Info {
    /// Its name in recipes and layers.
    pub name: &'static str,
    /// What kind of thing it is.
    pub kind: Kind,
    /// Radius of a grown crown, in metres.
    pub radius_m: f64,
    /// Height of a grown one, in metres.
    pub height_m: f64,
    /// How many stand on a hectare where it is at home.
    pub per_ha: f64,
    /// From 0 (evenly) to 1 (in patches).
    pub spread: f64,
    /// How much shade it bears, from 0 (none) to 1 (any).
    pub shade: f64,
    /// Mean wind that it bears unharmed, in metres a second.
    pub wind_m_per_s: f64,
    /// Salt that it bears unharmed, from 0 to 1.
    pub salt: f64,
    /// The steepest ground that it holds on to, in degrees.
    pub slope_deg: f64,
    /// How old it gets, in years.
    pub age_yr: f64,
    /// How far its seeds fall, in metres.
    pub seeds_m: f64,
    /// Yearly mean temperatures that it bears.
    pub temperature_c: [f64; 2],
    /// Moisture that it needs and bears.
    pub moisture: [f64; 2],
    /// Its leaves, in sRGB.
    pub color: [u8; 3],
    /// The biomes that it is at home in.
    pub biomes: &'static [Biome],
}

type Form = (f64, f64, f64);
type Bears = (f64, f64, f64, f64);
type Life = (f64, f64, f64);

/// (radius, height, number a hectare), (shade, wind, salt, slope), (spread, age, seeds), temperature, moisture, colour, biomes.
#[allow(clippy::too_many_arguments, reason = "a row of a table")]
const fn row(
    name: &'static str,
    kind: Kind,
    (radius_m, height_m, per_ha): Form,
    (shade, wind_m_per_s, salt, slope_deg): Bears,
    (spread, age_yr, seeds_m): Life,
    temperature_c: [f64; 2],
    moisture: [f64; 2],
    color: [u8; 3],
    biomes: &'static [Biome],
) -> Info {
    Info {
        name,
        kind,
        radius_m,
        height_m,
        per_ha,
        spread,
        shade,
        wind_m_per_s,
        salt,
        slope_deg,
        age_yr,
        seeds_m,
        temperature_c,
        moisture,
        color,
        biomes,
    }
}

/// Every species that lands have by themselves, trees first.
#[rustfmt::skip]
pub const SPECIES: &[Info] = {
    use Biome::*;
    use Kind::*;
    &[
        row("oak", Tree, (4.5, 22.0, 60.0), (0.3, 8.0, 0.2, 35.0), (0.4, 400.0, 40.0), [6.0, 17.0], [0.35, 0.9], [88, 110, 52], &[DeciduousForest, Grassland]),
        row("beech", Tree, (4.5, 28.0, 80.0), (0.8, 7.0, 0.1, 40.0), (0.5, 250.0, 30.0), [4.0, 14.0], [0.45, 0.95], [84, 116, 54], &[DeciduousForest, TemperateRainForest]),
        row("birch", Tree, (2.5, 18.0, 90.0), (0.1, 8.0, 0.2, 38.0), (0.6, 90.0, 80.0), [-0.5, 12.0], [0.3, 1.0], [122, 142, 74], &[DeciduousForest, Taiga, TemperateRainForest]),
        row("maple", Tree, (4.0, 22.0, 60.0), (0.6, 7.0, 0.1, 38.0), (0.4, 200.0, 60.0), [4.0, 15.0], [0.45, 1.0], [98, 124, 54], &[DeciduousForest, TemperateRainForest]),
        row("willow", Tree, (4.0, 14.0, 70.0), (0.1, 8.0, 0.3, 20.0), (0.6, 80.0, 120.0), [2.0, 20.0], [0.7, 1.0], [128, 144, 92], &[DeciduousForest, Grassland, TemperateRainForest]),
        row("poplar", Tree, (2.5, 26.0, 50.0), (0.1, 7.0, 0.3, 20.0), (0.6, 100.0, 150.0), [4.0, 18.0], [0.5, 1.0], [110, 136, 66], &[DeciduousForest, Grassland]),
        row("spruce", Tree, (2.3, 28.0, 320.0), (0.7, 7.0, 0.1, 45.0), (0.4, 300.0, 50.0), [1.0, 8.5], [0.4, 1.0], [48, 72, 46], &[Taiga, TemperateRainForest]),
        row("pine", Tree, (2.6, 22.0, 180.0), (0.2, 9.0, 0.3, 50.0), (0.5, 300.0, 60.0), [0.5, 13.0], [0.2, 0.8], [66, 88, 52], &[Taiga, Shrubland, DeciduousForest]),
        row("larch", Tree, (2.4, 24.0, 130.0), (0.1, 9.0, 0.1, 48.0), (0.5, 350.0, 60.0), [-1.0, 7.0], [0.3, 0.9], [112, 132, 66], &[Taiga, Tundra]),
        row("holm_oak", Tree, (3.2, 12.0, 130.0), (0.6, 9.0, 0.5, 45.0), (0.5, 300.0, 25.0), [11.0, 20.0], [0.25, 0.7], [74, 86, 50], &[Shrubland, DeciduousForest, TropicalSeasonalForest, Grassland]),
        row("aleppo_pine", Tree, (3.0, 15.0, 150.0), (0.1, 10.0, 0.6, 50.0), (0.6, 150.0, 60.0), [12.0, 21.0], [0.15, 0.6], [96, 112, 62], &[Shrubland, Grassland, TropicalSeasonalForest]),
        row("stone_pine", Tree, (4.5, 18.0, 40.0), (0.1, 9.0, 0.6, 30.0), (0.5, 200.0, 30.0), [12.0, 21.0], [0.2, 0.6], [82, 102, 54], &[Shrubland, Grassland, Beach]),
        row("cypress", Tree, (1.1, 18.0, 30.0), (0.2, 10.0, 0.4, 42.0), (0.7, 400.0, 20.0), [11.0, 22.0], [0.15, 0.6], [50, 68, 42], &[Shrubland, Grassland]),
        row("olive", Tree, (3.0, 8.0, 40.0), (0.2, 10.0, 0.6, 38.0), (0.6, 600.0, 20.0), [13.0, 22.0], [0.15, 0.5], [128, 136, 102], &[Shrubland, Grassland]),
        row("juniper", Shrub, (1.4, 4.0, 180.0), (0.2, 12.0, 0.7, 55.0), (0.6, 300.0, 30.0), [-1.0, 20.0], [0.1, 0.6], [84, 98, 70], &[Shrubland, TemperateDesert, Tundra, Beach]),
        row("strawberry_tree", Shrub, (1.8, 5.0, 150.0), (0.5, 10.0, 0.6, 45.0), (0.5, 120.0, 20.0), [11.0, 20.0], [0.25, 0.7], [80, 104, 52], &[Shrubland, TropicalSeasonalForest]),
        row("kapok", Tree, (9.0, 45.0, 8.0), (0.3, 7.0, 0.2, 30.0), (0.2, 250.0, 150.0), [20.0, 32.0], [0.55, 1.0], [74, 112, 48], &[TropicalRainForest, TropicalSeasonalForest]),
        row("fan_palm", Tree, (2.2, 16.0, 160.0), (0.6, 10.0, 0.5, 35.0), (0.4, 120.0, 25.0), [17.0, 32.0], [0.3, 1.0], [104, 132, 60], &[TropicalRainForest, TropicalSeasonalForest]),
        row("coconut_palm", Tree, (3.0, 20.0, 60.0), (0.1, 13.0, 1.0, 20.0), (0.5, 90.0, 30.0), [19.0, 32.0], [0.2, 1.0], [116, 138, 62], &[Beach]),
        row("acacia", Tree, (4.5, 9.0, 22.0), (0.0, 10.0, 0.3, 30.0), (0.4, 120.0, 60.0), [17.0, 32.0], [0.1, 0.5], [122, 128, 66], &[Grassland, TropicalSeasonalForest, SubtropicalDesert]),
        row("column_cactus", Tree, (0.8, 8.0, 12.0), (0.0, 12.0, 0.4, 35.0), (0.4, 180.0, 60.0), [14.0, 34.0], [0.0, 0.25], [98, 118, 82], &[SubtropicalDesert]),
        row("joshua_tree", Tree, (2.0, 7.0, 10.0), (0.0, 12.0, 0.3, 30.0), (0.4, 150.0, 60.0), [8.0, 24.0], [0.0, 0.3], [120, 126, 88], &[TemperateDesert, SubtropicalDesert]),
        row("maquis", Shrub, (0.9, 1.8, 1400.0), (0.3, 12.0, 0.8, 60.0), (0.5, 50.0, 12.0), [10.0, 22.0], [0.1, 0.7], [104, 114, 66], &[Shrubland, Grassland, TropicalSeasonalForest]),
        row("heather", Shrub, (0.4, 0.5, 5000.0), (0.2, 14.0, 0.6, 60.0), (0.7, 35.0, 8.0), [-4.0, 12.0], [0.25, 0.9], [122, 98, 96], &[Tundra, Shrubland, Taiga]),
        row("hazel", Shrub, (1.8, 5.0, 120.0), (0.8, 8.0, 0.2, 40.0), (0.5, 70.0, 20.0), [4.0, 15.0], [0.4, 0.95], [110, 134, 66], &[DeciduousForest, TemperateRainForest]),
        row("fern", Herb, (0.5, 0.8, 2500.0), (1.0, 7.0, 0.1, 50.0), (0.7, 15.0, 15.0), [2.0, 32.0], [0.55, 1.0], [92, 126, 54], &[TemperateRainForest, DeciduousForest, TropicalRainForest, Taiga]),
        row("reed", Herb, (0.4, 2.2, 8000.0), (0.1, 12.0, 0.4, 10.0), (0.6, 10.0, 10.0), [2.0, 30.0], [0.6, 1.0], [142, 142, 84], &[Lake]),
        row("lactuca_serriola", Herb, (0.2, 1.1, 900.0), (0.2, 12.0, 0.5, 45.0), (0.7, 2.0, 60.0), [8.0, 22.0], [0.1, 0.6], [122, 134, 84], &[Shrubland, Grassland]),
        row("trisetum_flavescens", Herb, (0.2, 0.6, 4000.0), (0.3, 12.0, 0.3, 50.0), (0.6, 6.0, 20.0), [2.0, 18.0], [0.25, 0.8], [158, 158, 82], &[Grassland, Shrubland, DeciduousForest]),
        row("conyza_sumatrensis", Herb, (0.2, 1.2, 800.0), (0.2, 12.0, 0.5, 45.0), (0.7, 2.0, 80.0), [10.0, 26.0], [0.1, 0.6], [116, 132, 84], &[Shrubland, Grassland, TropicalSeasonalForest]),
        row("eupatorium_cannabinum", Herb, (0.3, 1.4, 900.0), (0.5, 10.0, 0.2, 35.0), (0.7, 8.0, 30.0), [5.0, 18.0], [0.5, 1.0], [146, 118, 116], &[DeciduousForest, Grassland, TemperateRainForest]),
        row("urtica_dioica", Herb, (0.3, 1.2, 1500.0), (0.6, 11.0, 0.2, 40.0), (0.8, 8.0, 10.0), [3.0, 17.0], [0.4, 1.0], [88, 116, 58], &[DeciduousForest, Grassland, TemperateRainForest]),
        row("melilotus", Herb, (0.3, 0.9, 1000.0), (0.1, 12.0, 0.6, 40.0), (0.7, 2.0, 25.0), [6.0, 22.0], [0.15, 0.6], [170, 166, 76], &[Shrubland, Grassland, Beach]),
        row("flowers", Herb, (0.15, 0.3, 3000.0), (0.4, 12.0, 0.3, 50.0), (0.9, 4.0, 12.0), [-5.0, 26.0], [0.2, 0.9], [186, 152, 118], &[Grassland, Tundra, DeciduousForest, Shrubland]),
        row("seagrass", Herb, (0.3, 0.5, 6000.0), (0.6, 30.0, 1.0, 20.0), (0.8, 10.0, 15.0), [6.0, 32.0], [0.0, 1.0], [74, 98, 66], &[Ocean]),
        row("dead_wood", Litter, (1.2, 0.4, 25.0), (1.0, 30.0, 1.0, 40.0), (0.6, 60.0, 5.0), [-6.0, 34.0], [0.1, 1.0], [112, 98, 82], &[DeciduousForest, Taiga, TemperateRainForest, TropicalRainForest, Beach, Scorched]),
        row("stone", Litter, (0.3, 0.3, 500.0), (1.0, 50.0, 1.0, 38.0), (0.7, 1000.0, 5.0), [-60.0, 60.0], [0.0, 1.0], [146, 140, 130], &[Bare, Scorched, Tundra, TemperateDesert, SubtropicalDesert, Snow, Beach, Shrubland]),
        row("boulder", Litter, (1.2, 1.6, 12.0), (1.0, 50.0, 1.0, 34.0), (0.7, 1000.0, 5.0), [-60.0, 60.0], [0.0, 1.0], [138, 132, 124], &[Bare, Scorched, Tundra, TemperateDesert, SubtropicalDesert, Snow]),
    ]
};

/// Species that stand only where a recipe names them: kin of others, and what stands on or among them.
#[rustfmt::skip]
pub const ON_REQUEST: &[Info] = {
    use Biome::*;
    use Kind::*;
    &[
        row("black_oak", Tree, (4.5, 20.0, 60.0), (0.3, 8.0, 0.1, 38.0), (0.4, 200.0, 40.0), [8.0, 20.0], [0.3, 0.85], [84, 104, 50], &[DeciduousForest, Grassland]),
        row("black_tupelo", Tree, (4.0, 21.0, 60.0), (0.5, 8.0, 0.2, 30.0), (0.5, 300.0, 40.0), [9.0, 22.0], [0.5, 1.0], [82, 112, 52], &[DeciduousForest, TemperateRainForest]),
        row("poppy", Herb, (0.15, 0.45, 3000.0), (0.1, 12.0, 0.2, 40.0), (0.9, 1.0, 20.0), [6.0, 20.0], [0.15, 0.6], [206, 60, 40], &[Grassland, Shrubland]),
        row("cow_parsley", Herb, (0.25, 0.9, 2000.0), (0.6, 10.0, 0.1, 40.0), (0.7, 3.0, 15.0), [2.0, 16.0], [0.35, 1.0], [214, 216, 198], &[Grassland, DeciduousForest]),
        row("grass", Herb, (0.25, 0.3, 20000.0), (0.4, 20.0, 0.4, 60.0), (0.3, 6.0, 20.0), [-4.0, 28.0], [0.15, 1.0], [102, 132, 56], &[Grassland, DeciduousForest, Shrubland, Tundra]),
        row("tussock", Herb, (0.5, 0.6, 4000.0), (0.2, 25.0, 0.5, 60.0), (0.5, 30.0, 30.0), [-6.0, 18.0], [0.2, 1.0], [140, 142, 80], &[Tundra, Grassland, Beach]),
        row("liana", Shrub, (1.0, 14.0, 60.0), (1.0, 10.0, 0.2, 50.0), (0.5, 60.0, 40.0), [18.0, 32.0], [0.5, 1.0], [78, 114, 50], &[TropicalRainForest, TropicalSeasonalForest]),
        row("ivy", Shrub, (0.5, 6.0, 150.0), (1.0, 12.0, 0.3, 60.0), (0.6, 100.0, 20.0), [4.0, 20.0], [0.35, 1.0], [56, 84, 44], &[DeciduousForest, TemperateRainForest]),
        row("snag", Litter, (0.5, 8.0, 8.0), (1.0, 30.0, 1.0, 50.0), (0.6, 60.0, 5.0), [-6.0, 34.0], [0.1, 1.0], [138, 128, 116], &[DeciduousForest, Taiga, TemperateRainForest, Scorched]),
    ]
};

/// All that have a name, first those that lands have by themselves.
pub fn all() -> impl Iterator<Item = &'static Info> {
    SPECIES.iter().chain(ON_REQUEST)
}

/// A species by its name.
#[must_use]
pub fn named(name: &str) -> Option<&'static Info> {
    all().find(|info| info.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::biome::BIOMES;

    #[test]
    fn every_biome_has_something_that_stands_there() {
        for biome in BIOMES {
            assert!(SPECIES.iter().any(|s| s.biomes.contains(&biome.biome)), "{}", biome.name);
        }
    }

    #[test]
    fn rows_make_sense() {
        for (i, s) in all().enumerate() {
            assert!(all().take(i).all(|other| other.name != s.name), "{} is listed twice", s.name);
            assert!(s.temperature_c[0] < s.temperature_c[1] && s.moisture[0] < s.moisture[1], "{}", s.name);
            assert!(!s.biomes.is_empty() && s.per_ha > 0.0 && s.radius_m > 0.0, "{}", s.name);
            // Crowns of one species alone do not fill more than the ground there is.
            let cover = s.per_ha * std::f64::consts::PI * s.radius_m * s.radius_m / 1e4;
            assert!(cover < 0.9, "{} covers {cover}", s.name);
        }
        assert_eq!(named("oak").map(|s| s.radius_m), Some(4.5));
    }
}
