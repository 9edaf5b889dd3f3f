//! Changes made by hand to the polygon map.

use orogen_core::param::{Fault, Segment};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How an edit changes a value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// The given value replaces what is there.
    #[default]
    Set,
    /// The given value is added to what is there.
    Add,
}

/// One change: a polygon, or all that a brush stroke touches. Values left out stay as they are.
///
/// Elevation is that of the ground before hills are added. What follows from a changed value is worked out again:
/// elevation decides sea, lakes, rivers and temperature; temperature and moisture decide biomes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Edit {
    /// A polygon and its corners.
    Polygon {
        /// Number of the polygon, as in the `polygons` layer; or give `at_m`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(range(min = 0, max = 199_999))]
        index: Option<u32>,
        /// A place in the polygon, (x, y); or give `index`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(inner(range(min = -1e9, max = 1e9)), extend("x-unit" = "m"))]
        at_m: Option<[f64; 2]>,
        /// Elevation.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(range(min = -20_000.0, max = 20_000.0), extend("x-unit" = "m"))]
        elevation_m: Option<f64>,
        /// Temperature.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(range(min = -200.0, max = 200.0), extend("x-unit" = "degC"))]
        temperature_c: Option<f64>,
        /// Moisture.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(range(min = -1.0, max = 1.0))]
        moisture: Option<f64>,
        /// Whether values replace or add.
        #[serde(default)]
        mode: Mode,
    },
    /// Everything near a line: fully on the line, fading to nothing at `radius_m`.
    Brush {
        /// The stroke, (x, y) each; one point makes a dab.
        #[schemars(length(min = 1, max = 10_000), inner(inner(range(min = -1e9, max = 1e9))), extend("x-unit" = "m"))]
        points_m: Vec<[f64; 2]>,
        /// Distance at which the stroke ends.
        #[schemars(range(min = 1e-3, max = 1e9), extend("x-unit" = "m", "x-slider" = [50.0, 2000.0]))]
        radius_m: f64,
        /// How strong the stroke is on its line.
        #[serde(default = "full")]
        #[schemars(range(min = 0.0, max = 1.0))]
        strength: f64,
        /// Elevation.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(range(min = -20_000.0, max = 20_000.0), extend("x-unit" = "m"))]
        elevation_m: Option<f64>,
        /// Temperature.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(range(min = -200.0, max = 200.0), extend("x-unit" = "degC"))]
        temperature_c: Option<f64>,
        /// Moisture.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(range(min = -1.0, max = 1.0))]
        moisture: Option<f64>,
        /// Whether values replace or add.
        #[serde(default)]
        mode: Mode,
    },
}

fn full() -> f64 {
    1.0
}

/// Which value an edit changes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Quantity {
    Elevation,
    Temperature,
    Moisture,
}

impl Edit {
    /// What it does to a quantity, if anything.
    pub(super) fn change(&self, quantity: Quantity) -> Option<(Mode, f64)> {
        let (Self::Polygon { elevation_m, temperature_c, moisture, mode, .. }
        | Self::Brush { elevation_m, temperature_c, moisture, mode, .. }) = self;
        let value = match quantity {
            Quantity::Elevation => elevation_m,
            Quantity::Temperature => temperature_c,
            Quantity::Moisture => moisture,
        };
        value.map(|value| (*mode, value))
    }

    pub(super) fn faults(&self, number: usize, polygons: u32) -> Option<Fault> {
        let message = match self {
            Self::Polygon { index: None, at_m: None, .. } => {
                String::from("expected \"index\", the number of a polygon, or \"at_m\", a place in it")
            }
            Self::Polygon { index: Some(_), at_m: Some(_), .. } => {
                String::from("\"index\" cannot be combined with \"at_m\"; give one of them")
            }
            Self::Polygon { index: Some(index), .. } if *index >= polygons => {
                format!("polygon {index} is outside 0 to {}", polygons - 1)
            }
            _ => return None,
        };
        Some(Fault { path: vec![Segment::Key(String::from("edits")), Segment::Index(number)], message })
    }
}
