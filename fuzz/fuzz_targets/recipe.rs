//! Recipe parsing: any bytes give a recipe or faults with their places.
#![no_main]

use libfuzzer_sys::fuzz_target;
use orogen_recipe::Recipe;

fuzz_target!(|bytes: &[u8]| {
    let _ = Recipe::parse("fuzz.toml", bytes);
});
