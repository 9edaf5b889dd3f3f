//! Colours of the land by height.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::color::{Light, Ramp, light_of};

/// Which colours land without materials and biomes takes. With `strata` and `arid` bare rock takes them even where there are materials.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Palette {
    /// Meadows, dry slopes, rock, snow.
    #[default]
    Temperate,
    /// Deep green valleys, pastures, grey rock, much snow.
    Alpine,
    /// Sand and sun-burnt rock.
    Arid,
    /// Beds of red, ochre and pale rock, one above the other.
    Strata,
    /// Rain forest on pale limestone.
    Karst,
    /// Black lava, ash and young green.
    Volcanic,
}

/// The colours of a palette, ready to use.
pub(super) struct Colors {
    pub ramp: Ramp,
    pub rock: Light,
    /// Grades between which ground turns to rock.
    pub bare: [f32; 2],
    /// How much of steep ground is rock.
    pub bareness: f32,
    /// Whether low land ends lower in the ramp: hills in meadows rather than in snow.
    pub by_metres: bool,
}

type Stops = &'static [(f32, [u8; 3])];

const TEMPERATE: Stops = &[
    (0.00, [124, 157, 114]),
    (0.12, [152, 174, 122]),
    (0.28, [194, 195, 143]),
    (0.44, [201, 179, 130]),
    (0.60, [176, 147, 113]),
    (0.74, [157, 142, 129]),
    (0.86, [190, 188, 186]),
    (1.00, [248, 249, 251]),
];
const ALPINE: Stops = &[
    (0.00, [112, 146, 92]),
    (0.14, [92, 126, 82]),
    (0.30, [110, 134, 92]),
    (0.42, [152, 158, 116]),
    (0.54, [156, 148, 132]),
    (0.68, [168, 166, 164]),
    (0.80, [226, 230, 235]),
    (1.00, [250, 251, 253]),
];
const ARID: Stops = &[
    (0.00, [222, 196, 150]),
    (0.20, [230, 203, 152]),
    (0.40, [220, 182, 128]),
    (0.60, [198, 150, 104]),
    (0.80, [170, 122, 90]),
    (1.00, [150, 108, 86]),
];
const STRATA: Stops = &[
    (0.00, [148, 136, 104]),
    (0.07, [164, 128, 92]),
    (0.15, [178, 112, 78]),
    (0.22, [196, 140, 98]),
    (0.30, [168, 92, 66]),
    (0.38, [206, 160, 118]),
    (0.44, [188, 116, 80]),
    (0.54, [214, 172, 128]),
    (0.60, [172, 98, 70]),
    (0.70, [202, 146, 104]),
    (0.78, [226, 196, 154]),
    (0.84, [190, 128, 90]),
    (0.92, [196, 158, 114]),
    (1.00, [170, 158, 112]),
];
const KARST: Stops = &[
    (0.00, [150, 176, 112]),
    (0.10, [120, 158, 96]),
    (0.35, [84, 130, 82]),
    (0.65, [98, 138, 90]),
    (0.85, [142, 158, 116]),
    (1.00, [188, 188, 164]),
];
const VOLCANIC: Stops = &[
    (0.00, [122, 146, 88]),
    (0.15, [98, 130, 80]),
    (0.35, [116, 124, 84]),
    (0.50, [120, 108, 88]),
    (0.65, [98, 86, 78]),
    (0.82, [84, 74, 70]),
    (1.00, [120, 98, 88]),
];

impl Palette {
    /// Whether bare rock of known materials takes its colours from the heights of the palette.
    pub(super) fn has_beds(self) -> bool {
        matches!(self, Self::Strata | Self::Arid)
    }

    pub(super) fn colors(self) -> Colors {
        let (stops, rock, bare, bareness) = match self {
            Self::Temperate => (TEMPERATE, [142, 132, 124], [0.6, 1.2], 0.55),
            Self::Alpine => (ALPINE, [128, 126, 124], [0.6, 1.2], 0.75),
            Self::Arid => (ARID, [150, 108, 84], [0.45, 1.0], 0.7),
            Self::Strata => (STRATA, [150, 96, 72], [0.8, 2.0], 0.35),
            Self::Karst => (KARST, [196, 190, 172], [1.1, 2.4], 0.8),
            Self::Volcanic => (VOLCANIC, [92, 82, 78], [0.5, 1.1], 0.5),
        };
        let by_metres = matches!(self, Self::Temperate | Self::Alpine);
        Colors { ramp: Ramp::new(stops), rock: light_of(rock), bare, bareness, by_metres }
    }
}
