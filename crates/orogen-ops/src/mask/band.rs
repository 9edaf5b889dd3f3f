//! The shape that masks by a measured value share: full inside a range, fading out beyond it.

use orogen_core::math::smoothstep;
use orogen_core::param::Fault;

/// A range of values with soft edges.
///
/// ```text
///  1        ________________
///          /                \
///  0 _____/                  \_____
///         ↔ min          max ↔          ↔ falloff
/// ```
pub(super) struct Band {
    pub min: f32,
    pub max: f32,
    pub falloff: f32,
    pub invert: bool,
}

impl Band {
    /// 0 to 1; no part of the mask where the value is a hole, inverted or not.
    #[inline]
    pub fn at(&self, value: f32) -> f32 {
        if value.is_nan() {
            return 0.0;
        }
        // The upper edge is the lower one seen in a mirror, so that both ends belong to the range.
        let inside = smoothstep(self.min - self.falloff, self.min, value)
            * smoothstep(-self.max - self.falloff, -self.max, -value);
        if self.invert { 1.0 - inside } else { inside }
    }
}

/// The fault of a range that ends before it starts.
pub(super) fn order_fault(min: (&str, f64), max: (&str, f64)) -> Vec<Fault> {
    if min.1 <= max.1 {
        return Vec::new();
    }
    vec![Fault::of(min.0, format!("{} is above {} ({})", min.1, max.0, max.1))]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_belong_to_the_range_also_without_falloff() {
        for falloff in [0.0, 5.0] {
            let band = Band { min: 10.0, max: 20.0, falloff, invert: false };
            for (value, inside) in [(10.0, 1.0), (15.0, 1.0), (20.0, 1.0), (4.9, 0.0), (25.1, 0.0)] {
                assert_eq!(band.at(value), inside, "{value} with falloff {falloff}");
            }
        }
    }

    #[test]
    fn edges_are_half_way_in_the_middle_of_the_falloff() {
        let band = Band { min: 10.0, max: 20.0, falloff: 4.0, invert: false };
        assert_eq!((band.at(8.0), band.at(22.0)), (0.5, 0.5));
    }

    #[test]
    fn a_hole_is_no_part_of_a_mask_or_of_its_inverse() {
        for invert in [false, true] {
            assert_eq!(Band { min: 0.0, max: 1.0, falloff: 0.0, invert }.at(f32::NAN), 0.0);
        }
    }
}
