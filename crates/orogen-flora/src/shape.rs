//! Outlines of crowns.

use std::f64::consts::PI;

use orogen_core::math;

use crate::species::{Prune, Shape};

impl Shape {
    /// How long a branch is at a share of the crown's height: 0 at the top, 1 at the foot.
    pub(crate) fn ratio(self, at: f64, prune: &Prune) -> f64 {
        let flame = if at <= 0.7 { at / 0.7 } else { (1.0 - at) / 0.3 };
        match self {
            // Pointed, as in Arbaro; the paper leaves branches of a fifth at the top.
            Self::Conical => at,
            Self::Spherical => 0.2 + 0.8 * math::sin(PI * at),
            Self::Hemispherical => 0.2 + 0.8 * math::sin(0.5 * PI * at),
            Self::Cylindrical => 1.0,
            Self::TaperedCylindrical => 0.5 + 0.5 * at,
            Self::Flame => flame,
            Self::InverseConical => 1.0 - 0.8 * at,
            Self::TendFlame => 0.5 + 0.5 * flame,
            Self::Envelope => {
                let widest = 1.0 - prune.peak;
                if !(0.0..=1.0).contains(&at) {
                    0.0
                } else if at < widest {
                    math::pow(at / widest, prune.power_high)
                } else if prune.peak > 0.0 {
                    math::pow((1.0 - at) / prune.peak, prune.power_low)
                } else {
                    1.0
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outlines_are_those_of_the_paper_but_for_a_pointed_cone() {
        let prune = Prune { peak: 0.6, power_low: 1.0, power_high: 2.0, ..Prune::default() };
        let expected = [
            (Shape::Conical, [0.0, 0.5, 1.0]),
            (Shape::Spherical, [0.2, 1.0, 0.2]),
            (Shape::Cylindrical, [1.0, 1.0, 1.0]),
            (Shape::TaperedCylindrical, [0.5, 0.75, 1.0]),
            (Shape::Flame, [0.0, 0.5 / 0.7, 0.0]),
            (Shape::InverseConical, [1.0, 0.6, 0.2]),
            (Shape::TendFlame, [0.5, 0.5 + 0.5 * 0.5 / 0.7, 0.5]),
            (Shape::Envelope, [0.0, 0.5 / 0.6, 0.0]),
        ];
        for (shape, ratios) in expected {
            for (at, ratio) in [0.0, 0.5, 1.0].into_iter().zip(ratios) {
                assert!((shape.ratio(at, &prune) - ratio).abs() < 1e-12, "{shape:?} at {at}");
            }
        }
    }
}
