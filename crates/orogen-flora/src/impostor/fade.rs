//! From where on an impostor is seen.

use orogen_core::math;

use super::Impostor;

/// Distances between which a mesh gives way to its impostor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fade {
    /// Nearer than this the mesh alone is seen, in metres: a sample of the impostor is a pixel here.
    pub near_m: f64,
    /// Farther than this the impostor alone is seen, in metres.
    pub far_m: f64,
}

/// How much farther the fade ends than it begins.
const WIDTH: f64 = 1.25;

impl Fade {
    /// Share of the impostor at a distance; the mesh has the rest.
    #[must_use]
    pub fn share(&self, distance_m: f64) -> f64 {
        let t = ((distance_m - self.near_m) / (self.far_m - self.near_m).max(1e-9)).clamp(0.0, 1.0);
        t * t * (3.0 - 2.0 * t)
    }
}

impl Impostor {
    /// Where it takes over in pictures of `height_px` pixels and a field of view of `field_deg` from top to bottom; a field
    /// outside 1 to 170 is taken for the nearest of both.
    #[must_use]
    pub fn fade(&self, height_px: usize, field_deg: f64) -> Fade {
        let field = if field_deg.is_nan() { 60.0 } else { field_deg.clamp(1.0, 170.0) };
        let sample_m = 2.0 * self.half_m[1] / self.samples as f64;
        let near_m = sample_m * height_px as f64 / (2.0 * math::tan(0.5 * field.to_radians()));
        Fade { near_m, far_m: WIDTH * near_m }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_goes_from_none_to_all_and_never_back() {
        let fade = Fade { near_m: 80.0, far_m: 100.0 };
        assert_eq!([0.0, 80.0, 90.0, 100.0, 1e9].map(|d| fade.share(d)), [0.0, 0.0, 0.5, 1.0, 1.0]);
        let shares: Vec<f64> = (0..60).map(|d| fade.share(60.0 + f64::from(d))).collect();
        assert!(shares.is_sorted());
    }
}
