//! The species that come with the program, by the names that instances have.

use crate::species::{Species, SpeciesError};

/// A species that comes with the program.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Its name, as in recipes and layers.
    pub name: &'static str,
    /// Its file, as TOML.
    pub text: &'static str,
}

macro_rules! entries {
    ($($name:literal),* $(,)?) => {
        &[$(Entry { name: $name, text: include_str!(concat!("../species/", $name, ".toml")) }),*]
    };
}

/// All of them.
pub const CATALOG: &[Entry] = entries![
    "oak",
    "black_oak",
    "black_tupelo",
    "beech",
    "birch",
    "maple",
    "willow",
    "poplar",
    "spruce",
    "pine",
    "larch",
    "holm_oak",
    "aleppo_pine",
    "stone_pine",
    "cypress",
    "olive",
    "juniper",
    "strawberry_tree",
    "kapok",
    "fan_palm",
    "coconut_palm",
    "acacia",
    "column_cactus",
    "joshua_tree",
    "maquis",
    "heather",
    "hazel",
    "fern",
    "reed",
    "lactuca_serriola",
    "trisetum_flavescens",
    "conyza_sumatrensis",
    "eupatorium_cannabinum",
    "urtica_dioica",
    "melilotus",
    "flowers",
    "poppy",
    "cow_parsley",
    "grass",
    "tussock",
    "seagrass",
    "liana",
    "ivy",
    "dead_wood",
    "snag",
    "stone",
    "boulder",
];

/// Names of all species.
pub fn names() -> impl Iterator<Item = &'static str> {
    CATALOG.iter().map(|entry| entry.name)
}

/// A species by its name; `None` for one that the program does not know.
///
/// # Errors
/// When its file is not sound, which a test rules out.
pub fn species(name: &str) -> Option<Result<Species, SpeciesError>> {
    CATALOG.iter().find(|entry| entry.name == name).map(|entry| Species::from_toml(entry.text))
}
