//! Species in TOML: any text gives a species that grows within bounds, or a sentence.
#![no_main]

use libfuzzer_sys::fuzz_target;
use orogen_core::Seed;
use orogen_flora::{Species, grow};

fuzz_target!(|text: &str| {
    if let Ok(species) = Species::from_toml(text) {
        let _ = grow(&species, Seed(1));
    }
});
