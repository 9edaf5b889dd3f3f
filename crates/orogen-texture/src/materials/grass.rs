//! A green meadow.

use orogen_core::Seed;

use super::meadow::Meadow;
use crate::detail::Plan;
use crate::maps::{Finish, Made};

pub(crate) fn grass(size: usize, seed: Seed) -> Made {
    let meadow = Meadow {
        size_m: 2.0,
        ground: [[0.045, 0.034, 0.022], [0.075, 0.062, 0.034]],
        thatch: 2600,
        thatch_colors: [[0.155, 0.125, 0.062], [0.075, 0.080, 0.030]],
        tufts: 760,
        blades: [16.0, 34.0],
        length_m: [0.06, 0.19],
        stand_m: 0.09,
        half_width_m: [0.0014, 0.0030],
        greens: vec![
            [0.062, 0.100, 0.026],
            [0.085, 0.128, 0.033],
            [0.100, 0.140, 0.036],
            [0.125, 0.150, 0.042],
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
        detail: Plan::Pattern { size_m: 33.0, period: [6, 6], tone: 0.11, tint: [0.07, 0.015, 0.0] },
    }
}
