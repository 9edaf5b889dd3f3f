//! Species files of Arbaro: any text gives a species that grows within bounds, or a sentence.
#![no_main]

use libfuzzer_sys::fuzz_target;
use orogen_core::Seed;
use orogen_flora::{from_arbaro, grow};

fuzz_target!(|text: &str| {
    if let Ok(species) = from_arbaro(text) {
        let _ = grow(&species, Seed(1));
    }
});
