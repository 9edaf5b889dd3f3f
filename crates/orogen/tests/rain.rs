//! Rain over a real island against the package `orographic_precipitation` 1.0 from `PyPI`, which solves the same equation.

#![allow(clippy::unwrap_used, reason = "a failing test may stop")]

use orogen_core::testkit::surveyed_model;
use orogen_core::{Ctx, Frame};
use orogen_io::{Limits, elevation};
use orogen_ops::climate::{Blowing, Rain, rain};

/// Rows and columns of the first 640 rows and columns 80 to 719 of the island, and what the package adds there in mm/h: cells of
/// 90 m, sea at 0, wind from 110 degrees with 6 m/s, `nm` 0.02, `hw` 2500, `cw` 0.008, `conv_time` 800, `fall_time` 1000.
const PEER: [(usize, usize, f64); 8] = [
    (100, 100, -1.14664),
    (200, 320, -0.74258),
    (320, 320, -0.00753),
    (400, 200, 0.5384),
    (350, 480, -0.54731),
    (450, 420, -1.46808),
    (520, 350, -0.81179),
    (320, 520, 0.0334),
];

#[test]
fn rain_over_a_real_island_is_that_of_another_program() {
    let Some(path) = surveyed_model("reunion_island.tif") else { return };
    let (model, _) = elevation::read_placed(&path, &Limits::default()).unwrap();
    let land = model.height.crop(80, 0, 640, 640);
    let frame = Frame::square(639.0 * 90.0, 640).unwrap();
    let params = Rain {
        mean_mm_per_yr: 10000.0,
        steady: 0.0,
        winds: vec![Blowing { from_deg: 110.0, speed_m_per_s: 6.0, share: 1.0 }],
        wet_h: 100.0,
        vapour_kg_per_m3: 0.008,
        vapour_m: 2500.0,
        stability_per_s: 0.02,
        conversion_s: 800.0,
        fallout_s: 1000.0,
        sea: true,
    };
    let made = rain::rain(&land, &frame, false, &params, &Ctx::silent()).unwrap();
    let mut worst: f64 = 0.0;
    for (row, col, expected) in PEER {
        let found = (f64::from(made.row(row)[col]) - 10000.0) / 100.0;
        worst = worst.max((found - expected).abs());
        println!("{row} {col}: {found} {expected}");
    }
    // What the package adds lies between -1.96 and 1.72 mm/h; it pads with less land and drops waves that do not swing.
    assert!(worst < 0.06, "wrong by {worst} mm/h");
}
