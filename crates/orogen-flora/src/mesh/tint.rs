//! Twigs have another colour than the trunk that they stand on.

use orogen_texture::color::from_srgb;

use super::Courses;
use crate::skeleton::Skeleton;
use crate::species::Species;

/// Radius up to which wood is a twig, and from which it has the trunk's bark, in metres; and both as shares of the thickest trunk's.
const TWIG_M: [f64; 2] = [0.008, 0.035];
const TWIG_SHARE: [f64; 2] = [0.08, 0.4];

/// What the colour of the bark is multiplied by.
pub struct Tint {
    twig: [f32; 3],
    trunk: [f32; 3],
    radii_m: [f64; 2],
    /// Stems of this level are twigs however thick they are: the stalks of palms and ferns.
    last: u8,
}

impl Tint {
    pub fn new(species: &Species, plant: &Skeleton, courses: &Courses) -> Self {
        let gain = bark_gain(species);
        let (twig, trunk) = (lighter(species).map(|share| share.min(1.0)), gain.map(|gain| 1.0 / gain));
        let trunks = plant.stems.iter().enumerate().filter(|(_, stem)| stem.level == 0);
        let thickest = trunks.map(|(stem, _)| courses.girth(stem)).fold(0.0, f64::max);
        let radii_m = [0, 1].map(|k| TWIG_M[k].min(TWIG_SHARE[k] * thickest));
        let last = if species.levels.len() > 1 { species.levels.len() as u8 - 1 } else { u8::MAX };
        Self { twig, trunk, radii_m, last }
    }

    pub fn of(&self, level: u8, radius_m: f64) -> [u8; 3] {
        let [thin, thick] = self.radii_m;
        let t = ((radius_m - thin) / (thick - thin).max(1e-6)).clamp(0.0, 1.0);
        let bark = if level >= self.last { 0.0 } else { t * t * (3.0 - 2.0 * t) } as f32;
        let mixed = |k: usize| self.twig[k] + bark * (self.trunk[k] - self.twig[k]);
        [0, 1, 2].map(|k| (255.0 * mixed(k) + 0.5) as u8)
    }
}

/// How much lighter the picture of the bark is painted, so that the lighter of trunk and twigs has its colour: tints only darken.
pub fn bark_gain(species: &Species) -> [f32; 3] {
    if species.stone.is_some() { [1.0; 3] } else { lighter(species).map(|share| share.max(1.0)) }
}

/// The colour of twigs against that of the trunk.
fn lighter(species: &Species) -> [f32; 3] {
    let [bark, twig] = [species.colors.bark, species.colors.twig].map(from_srgb);
    [0, 1, 2].map(|k| twig[k] / bark[k].max(1e-4))
}

#[cfg(test)]
mod tests {
    use crate::{Detail, Growth, grow, mesh, species};
    use orogen_core::Seed;

    #[test]
    fn the_twigs_of_a_larch_are_straw_on_a_darker_trunk() {
        let larch = species("larch").unwrap().unwrap().at(&Growth::MATURE).unwrap();
        let made = mesh(&larch, &grow(&larch, Seed(1)).unwrap(), &Detail::FULL).bark;
        let trunk = made.positions.iter().position(|at| at[2] > 0.0 && at[2] < 1.0).unwrap();
        let light = made.tints.iter().filter(|tint| tint[0] == 255).count();
        assert!(made.tints[trunk][0] < 120 && 2 * light > made.tints.len(), "{:?}", made.tints[trunk]);
    }

    #[test]
    fn a_birch_has_dark_twigs_on_a_white_trunk() {
        let birch = species("birch").unwrap().unwrap().at(&Growth::MATURE).unwrap();
        let made = mesh(&birch, &grow(&birch, Seed(1)).unwrap(), &Detail::FULL).bark;
        assert_eq!(made.tints.len(), made.positions.len());
        let foot = made.positions.iter().position(|at| at[2] > 0.0 && at[2] < 1.0).unwrap();
        assert_eq!(made.tints[foot], [255; 3]);
        let dark = made.tints.iter().filter(|tint| tint[1] < 60).count();
        assert!(2 * dark > made.tints.len(), "{dark} of {}", made.tints.len());
    }
}
