//! Dry grass: straw that lies, with soil showing through and some green at its foot.

use orogen_core::Seed;

use super::meadow::Meadow;
use crate::detail::Plan;
use crate::maps::{Finish, Made};

pub(crate) fn dry_grass(size: usize, seed: Seed) -> Made {
    let meadow = Meadow {
        size_m: 2.0,
        ground: [[0.145, 0.108, 0.070], [0.185, 0.140, 0.085]],
        thatch: 7000,
        thatch_colors: [[0.30, 0.235, 0.130], [0.205, 0.160, 0.088]],
        tufts: 620,
        blades: [10.0, 30.0],
        length_m: [0.08, 0.26],
        stand_m: 0.036,
        half_width_m: [0.0011, 0.0024],
        greens: vec![
            [0.255, 0.195, 0.100],
            [0.330, 0.258, 0.138],
            [0.300, 0.235, 0.125],
            [0.235, 0.205, 0.090],
            [0.375, 0.300, 0.170],
        ],
        tip: [0.42, 0.34, 0.20],
        tip_share: 0.6,
        dead: 0.12,
        dead_color: [0.185, 0.145, 0.085],
        combed: 0.8,
    };
    Made {
        canvas: meadow.paint(size, seed),
        finish: Finish { keep_color: 0.35, keep_height: 0.4, cavity: 0.5, occlusion_m: 0.10 },
        detail: Plan::Pattern {
            size_m: 35.0,
            period: [6, 6],
            tone: 0.11,
            tint: [-0.02, 0.02, -0.01],
            joints: None,
        },
    }
}
