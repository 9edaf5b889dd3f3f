//! A green meadow.

use orogen_core::Seed;

use super::meadow::Meadow;
use crate::detail::Plan;
use crate::maps::{Finish, Made};

pub(crate) fn grass(size: usize, seed: Seed) -> Made {
    let meadow = Meadow {
        size_m: 2.0,
        ground: [[0.045, 0.034, 0.022], [0.075, 0.062, 0.034]],
        thatch: 5200,
        thatch_colors: [[0.170, 0.138, 0.070], [0.082, 0.086, 0.034]],
        tufts: 1000,
        blades: [16.0, 34.0],
        length_m: [0.06, 0.19],
        stand_m: 0.034,
        half_width_m: [0.0016, 0.0034],
        greens: vec![
            [0.070, 0.102, 0.030],
            [0.098, 0.130, 0.036],
            [0.118, 0.142, 0.040],
            [0.142, 0.156, 0.046],
        ],
        tip: [0.175, 0.175, 0.062],
        tip_share: 0.5,
        dead: 0.06,
        dead_color: [0.23, 0.18, 0.085],
        combed: 0.45,
    };
    Made {
        canvas: meadow.paint(size, seed),
        finish: Finish { keep_color: 0.3, keep_height: 0.4, cavity: 0.55, occlusion_m: 0.10 },
        detail: Plan::Pattern {
            size_m: 33.0,
            period: [6, 6],
            tone: 0.11,
            tint: [0.06, 0.015, 0.0],
            joints: None,
        },
    }
}
