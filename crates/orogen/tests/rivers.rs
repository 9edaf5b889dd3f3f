//! Rivers on real elevation models: none rises, and no pit is left outside lakes.

#![allow(clippy::unwrap_used, reason = "a failing test may stop")]

use orogen_core::Ctx;
use orogen_core::testkit::surveyed_model;
use orogen_io::{Limits, elevation};
use orogen_ops::water::rivers::{Rivers, rivers};

#[test]
fn real_land_is_sound_after_rivers() {
    for (name, sea_m) in [
        ("big_tujunga.tif", f32::NEG_INFINITY),
        ("jacksboro_fault.tif", f32::NEG_INFINITY),
        ("st_helens.tif", f32::NEG_INFINITY),
        ("reunion_island.tif", 0.0),
    ] {
        let Some(path) = surveyed_model(name) else { continue };
        let (model, place) = elevation::read_placed(&path, &Limits::default()).unwrap();
        let spacing_m = place.unwrap().spacing_m();
        for lakes in [true, false] {
            let params = Rivers { lakes, spring_m3_per_s: 0.01, ..Rivers::default() };
            let made =
                rivers(&model.height, spacing_m, &params, |_, _| 1000.0, sea_m, &Ctx::silent()).unwrap();
            assert_eq!(made.violation(sea_m), None, "{name}, lakes {lakes}");
            assert!(made.network.len() > 50, "{name}: {} reaches", made.network.len());
        }
    }
}
