//! A preset at few samples is a faithful preview of the same land at many.

#![allow(clippy::unwrap_used, reason = "a failing test may stop")]

use orogen::presets::{PRESETS, preset};

/// Largest difference, as a share of the relief.
const ALLOWED: f64 = 0.03;

macro_rules! previews {
    ($($test:ident: $name:literal,)*) => {
        const TESTED: &[&str] = &[$($name),*];

        // A test each, so that they run side by side.
        $(#[test]
        fn $test() {
            let off = preset($name).unwrap().preview_error(513, 2049).unwrap();
            assert!(off <= ALLOWED, "513 samples differ from 2049 by {off:.4} of the relief");
        })*
    };
}

previews! {
    island: "island",
    alps: "alps",
    appalachia: "appalachia",
    archipelago: "archipelago",
    badlands: "badlands",
    basin_and_range: "basin-and-range",
    canyon: "canyon",
    desert: "desert",
    fjords: "fjords",
    karst: "karst",
    karst_coast: "karst-coast",
    mediterranean: "mediterranean",
    planet: "planet",
    savanna: "savanna",
    taiga: "taiga",
    tree_line: "tree-line",
    volcanic_chain: "volcanic-chain",
    weiss: "weiss",
}

#[test]
fn every_preset_is_tested() {
    let names: Vec<&str> = PRESETS.iter().map(|preset| preset.name).collect();
    assert_eq!(names, TESTED);
}
