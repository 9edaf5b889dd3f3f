//! The sixteen biomes: names, colours, how rough their ground is, and which climate makes which.

/// A biome; the number is what the `biome` layer holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
#[allow(missing_docs, reason = "the names say what they are")]
pub enum Biome {
    Snow,
    Tundra,
    Bare,
    Scorched,
    Taiga,
    Shrubland,
    TemperateDesert,
    TemperateRainForest,
    DeciduousForest,
    Grassland,
    TropicalRainForest,
    TropicalSeasonalForest,
    SubtropicalDesert,
    Beach,
    Lake,
    Ocean,
}

/// What is known about a biome.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Info {
    /// The biome.
    pub biome: Biome,
    /// Its name in words.
    pub name: &'static str,
    /// How high its hills are, against the highest mountain: A of equation 4.
    pub amplitude: f32,
    /// How rough its ground is, 0 (smooth) to 1 (all octaves alike): R of equation 4.
    pub roughness: f32,
    /// Its colour on maps, in sRGB.
    pub color: [u8; 3],
}

const fn info(biome: Biome, name: &'static str, amplitude: f32, roughness: f32, color: [u8; 3]) -> Info {
    Info { biome, name, amplitude, roughness, color }
}

/// Every biome, in the order of its number, with the values of Table I.
pub const BIOMES: [Info; 16] = [
    info(Biome::Snow, "snow", 0.5, 0.7, [240, 243, 247]),
    info(Biome::Tundra, "tundra", 0.5, 0.5, [176, 178, 154]),
    info(Biome::Bare, "bare", 0.4, 0.4, [156, 149, 138]),
    info(Biome::Scorched, "scorched", 0.7, 0.3, [112, 103, 96]),
    info(Biome::Taiga, "taiga", 0.4, 0.3, [136, 156, 130]),
    info(Biome::Shrubland, "shrubland", 0.5, 0.2, [174, 174, 132]),
    info(Biome::TemperateDesert, "temperate desert", 0.1, 0.1, [208, 198, 154]),
    info(Biome::TemperateRainForest, "temperate rain forest", 0.3, 0.2, [100, 142, 104]),
    info(Biome::DeciduousForest, "deciduous forest", 0.3, 0.4, [128, 160, 106]),
    info(Biome::Grassland, "grassland", 0.4, 0.5, [172, 186, 122]),
    info(Biome::TropicalRainForest, "tropical rain forest", 0.3, 0.2, [84, 132, 94]),
    info(Biome::TropicalSeasonalForest, "tropical seasonal forest", 0.3, 0.2, [116, 156, 96]),
    info(Biome::SubtropicalDesert, "subtropical desert", 0.3, 0.6, [220, 198, 150]),
    info(Biome::Beach, "beach", 0.3, 0.5, [228, 214, 176]),
    info(Biome::Lake, "lake", 0.2, 0.2, [108, 164, 192]),
    info(Biome::Ocean, "ocean", 0.2, 0.1, [67, 122, 163]),
];

/// Coldest yearly mean of the boreal, the temperate and the tropical zone, in degrees Celsius.
const ZONES_C: [f64; 3] = [0.0, 8.0, 17.0];

/// Columns of moisture, dry to wet; rows cold to tropical.
const CLIMATES: [[Biome; 6]; 4] = {
    use Biome::*;
    [
        [Scorched, Bare, Tundra, Snow, Snow, Snow],
        [TemperateDesert, TemperateDesert, Shrubland, Shrubland, Taiga, Taiga],
        [TemperateDesert, Grassland, Grassland, DeciduousForest, DeciduousForest, TemperateRainForest],
        [
            SubtropicalDesert,
            Grassland,
            TropicalSeasonalForest,
            TropicalSeasonalForest,
            TropicalRainForest,
            TropicalRainForest,
        ],
    ]
};

impl Biome {
    /// What is known about it.
    #[must_use]
    pub fn info(self) -> &'static Info {
        &BIOMES[self as usize]
    }

    /// The biome of a number, `None` above 15.
    #[must_use]
    pub fn from_id(id: u8) -> Option<Self> {
        BIOMES.get(usize::from(id)).map(|info| info.biome)
    }

    /// Number in the `biome` layer.
    #[must_use]
    pub fn id(self) -> u8 {
        self as u8
    }

    /// The land biome of a climate: yearly mean temperature and moisture from 0 to 1.
    ///
    /// Four belts of temperature by six of moisture, after Whittaker's diagram as adapted for polygon maps by
    /// Patel, "Polygonal map generation for games", 2010.
    #[must_use]
    pub fn of_climate(temperature_c: f64, moisture: f64) -> Self {
        let zone = ZONES_C.iter().filter(|&&coldest| temperature_c >= coldest).count();
        let wet = (moisture * 6.0).clamp(0.0, 5.0) as usize;
        CLIMATES[zone][wet]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_names_and_table_line_up() {
        for (id, info) in BIOMES.iter().enumerate() {
            assert_eq!(info.biome as usize, id);
            assert_eq!(Biome::from_id(id as u8), Some(info.biome));
        }
        assert_eq!(Biome::from_id(16), None);
        // Table I, row by row, in tenths.
        let table = [
            (5, 7),
            (5, 5),
            (4, 4),
            (7, 3),
            (4, 3),
            (5, 2),
            (1, 1),
            (3, 2),
            (3, 4),
            (4, 5),
            (3, 2),
            (3, 2),
            (3, 6),
            (3, 5),
            (2, 2),
            (2, 1),
        ];
        for (info, (a, r)) in BIOMES.iter().zip(table) {
            let tenths = |x: f32| (x * 10.0).round() as i32;
            assert_eq!((tenths(info.amplitude), tenths(info.roughness)), (a, r), "{}", info.name);
        }
    }

    #[test]
    fn some_climate_makes_every_land_biome() {
        let mut met = [false; 16];
        for t in -20..40 {
            for m in 0..=100 {
                met[Biome::of_climate(f64::from(t), f64::from(m) / 100.0) as usize] = true;
            }
        }
        assert_eq!(met.iter().filter(|&&m| m).count(), 13);
        assert!(!met[Biome::Beach as usize] && !met[Biome::Lake as usize] && !met[Biome::Ocean as usize]);
    }

    #[test]
    fn climates_at_the_ends_are_the_expected_ones() {
        assert_eq!(Biome::of_climate(-30.0, 1.0), Biome::Snow);
        assert_eq!(Biome::of_climate(30.0, 0.0), Biome::SubtropicalDesert);
        assert_eq!(Biome::of_climate(30.0, 7.0), Biome::TropicalRainForest);
        assert_eq!(Biome::of_climate(f64::NAN, f64::NAN), Biome::Scorched, "no panic");
    }
}
