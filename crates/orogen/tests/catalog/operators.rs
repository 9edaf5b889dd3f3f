//! One test an operator and question. A new operator is one word here; a test says so when it is missing.

use orogen_core::testkit::promises;

use crate::{cancel, ends, hold_to, loops, memory, windows};

macro_rules! operators {
    ($($family:ident: $($name:ident),+;)+) => {
        /// Every operator that is tested.
        const LISTED: &[&str] = &[$($(concat!(stringify!($family), ".", stringify!($name))),+),+];

        $(mod $family {
            $(mod $name {
                const ID: &str = concat!(stringify!($family), ".", stringify!($name));

                #[test]
                fn keeps_every_promise() {
                    super::super::hold_to(ID, super::super::promises::broken);
                }

                #[test]
                fn stands_the_ends_of_every_range() {
                    super::super::hold_to(ID, super::super::ends::broken);
                }

                #[test]
                fn leaves_a_loop_a_loop() {
                    super::super::hold_to(ID, super::super::loops::broken);
                }

                #[test]
                fn hears_a_cancel_within_a_second() {
                    super::super::hold_to(ID, super::super::cancel::broken);
                }

                #[test]
                fn works_no_more_on_windows() {
                    super::super::hold_to(ID, super::super::windows::broken);
                }

                #[test]
                fn takes_the_memory_that_it_declares() {
                    super::super::hold_to(ID, super::super::memory::broken);
                }
            })+
        })+
    };
}

operators! {
    climate: moisture, rain, salt, snow, temperature, wind;
    combine: add, blend, max, min, multiply;
    cover: biomes, materials, satellite, scatter, survival;
    erode: alluvium, coast, creep, detail, droplets, glacier, musgrave, pipes, stream_power, thermal, wind;
    mask: aspect, brush, curvature, distance, height, layer, noise, polygon, slope;
    rock: outcrop, strata, uplift;
    shape: blur, curves, features, ground, gullies, overhang, paint, plain, plateau, remap, sketch, terrace, turbulence, valley,
        warp, window;
    source: contours, cracks, dem, deposition, diamond_square, dunes, faults, island, midpoint, noise, planet, points,
        random, ridges, squig, subdivision;
    survey: contours, hillshade, slope;
    water: basins, breach, fill, flow, lakes, rivers, sea;
}

#[test]
fn every_operator_is_tested() {
    let catalog = orogen::catalog();
    let ids: Vec<&str> = catalog.operators().iter().map(|operator| operator.id).collect();
    let mut listed = LISTED.to_vec();
    listed.sort_unstable();
    assert_eq!(
        listed, ids,
        "crates/orogen/tests/catalog/operators.rs lists the left ones, the catalogue the right ones"
    );
}
