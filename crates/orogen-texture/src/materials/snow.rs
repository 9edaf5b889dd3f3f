//! Wind-packed snow: low drifts with sharper edges to the wind, ripples, a fine crust.

use orogen_core::Seed;
use orogen_core::math::smoothstep;

use crate::canvas::{Canvas, Texel};
use crate::color::{mix, scaled};
use crate::detail::Plan;
use crate::dice::lattice_seed;
use crate::maps::{Finish, Made};
use crate::noise::{Noise, Octaves, Value, Warp};

const SIZE_M: f32 = 4.0;

pub(crate) fn snow(size: usize, seed: Seed) -> Made {
    let s = |name| lattice_seed(seed, name);
    let swell = Octaves::new(s("swell"), 3, 4, 0.5);
    let drift = Warp::new(s("drift"), 5, 4, 0.03);
    // Drawn out along the wind, which blows across the picture.
    let carved = Octaves::directional(s("carved"), [5, 14], 4, 0.5);
    let ripples = Octaves::directional(s("ripples"), [36, 14], 3, 0.55);
    let where_ripples = Octaves::new(s("where"), 5, 2, 0.5);
    let fine = Octaves::new(s("fine"), 110, 3, 0.8);
    let crystals = Value::new(s("crystals"), 700);
    let canvas = Canvas::from_fn(size, SIZE_M, |u, v| {
        let (du, dv) = drift.at(u, v);
        let body = carved.at(du, dv);
        // Steps where the wind has cut: soft on one side, an edge on the other.
        let step = smoothstep(-0.1, 0.3, body) + 0.45 * smoothstep(0.2, 0.34, body);
        let rippled = smoothstep(-0.1, 0.35, where_ripples.at(u, v));
        let height = 0.05 * swell.at(u, v)
            + 0.016 * step
            + 0.018 * body
            + 0.006 * rippled * ripples.at(du, dv)
            + 0.0009 * fine.at(u, v)
            + 0.0004 * crystals.at(u, v);
        let packed = smoothstep(0.1, 0.4, body);
        let color = mix([0.885, 0.89, 0.90], [0.845, 0.865, 0.895], packed);
        Texel {
            height_m: height,
            color: scaled(color, 1.0 + 0.016 * crystals.at(v, u) + 0.012 * fine.at(u, v)),
            roughness: 0.62 - 0.12 * packed + 0.08 * crystals.at(u, v),
        }
    });
    Made {
        canvas,
        finish: Finish { keep_color: 0.6, keep_height: 0.3, cavity: 0.10, occlusion_m: 0.25 },
        detail: Plan::Pattern {
            size_m: 45.0,
            period: [5, 8],
            tone: 0.022,
            tint: [-0.006, 0.0, 0.004],
            joints: None,
        },
    }
}
