//! Why a place is as it is: what an operator found there, and every factor that led to it.

use serde::Serialize;

/// One thing that an operator found at a place.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Reason {
    /// What it is about: "temperature", "biome", "material grass".
    pub of: String,
    /// What was found, in words.
    pub found: String,
    /// What led to it.
    pub because: Vec<Cause>,
}

/// A factor of what was found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cause {
    /// What was measured.
    pub name: String,
    /// Its value there; none where the land has no such layer.
    pub value: Option<f64>,
    /// Its unit; empty for plain numbers.
    pub unit: String,
    /// How much it weighs, from 0 to 1, where it is a weight.
    pub weight: Option<f64>,
    /// The rule that weighs it, or what it does, in words; empty where the name says all.
    pub says: String,
}

impl Cause {
    /// A measured value.
    #[must_use]
    pub fn value(name: &str, value: f64, unit: &str, says: &str) -> Self {
        Self {
            name: name.to_owned(),
            value: Some(value).filter(|value| value.is_finite()),
            unit: unit.to_owned(),
            weight: None,
            says: says.to_owned(),
        }
    }
}
