//! What plants look like from a hand's breadth: bark that repeats without a seam, and atlases of leaves.
//!
//! All pictures have their row 0 at v = 0: the foot of a trunk, the stalk of a leaf. glTF takes them as they are.

mod bark;
mod leaf;
mod mips;

pub use bark::{BarkKind, BarkMaps};
pub(crate) use leaf::LeafMask;
pub use leaf::{LeafMaps, Outline, leaf_maps};
pub use mips::{LeafLevel, levels};

use orogen_core::Seed;

use crate::growth::Season;
use crate::mesh::bark_gain;
use crate::species::Species;

/// Samples along a side that the pictures of a plant may have; powers of two only.
pub const SURFACE_SIZES: std::ops::RangeInclusive<usize> = 64..=2048;

/// The pictures of a species.
#[derive(Clone, Debug, PartialEq)]
pub struct Surface {
    /// Of trunks and branches.
    pub bark: BarkMaps,
    /// What its colour is multiplied by where meshes have tints: twigs may be lighter than the trunk, and tints only darken.
    pub bark_gain: [f32; 3],
    /// Of leaves; plants without them have none.
    pub leaves: Option<LeafMaps>,
}

/// Where the pictures of a species show leaves; `None` for plants without any.
pub(crate) fn leaf_mask(species: &Species) -> Option<LeafMask> {
    has_leaves(species).then(|| leaf::leaf_mask(species, Seed::from_text(&species.name).child("leaves")))
}

fn has_leaves(species: &Species) -> bool {
    species.leaves.count != 0 || species.flowers.share > 0.0
}

/// Makes the pictures of a species in a season, `size` samples along a side; the nearest power of two in
/// [`SURFACE_SIZES`] is taken. They depend on the species and the season only, so that all its plants share them.
#[must_use]
pub fn surface(species: &Species, season: Season, size: usize) -> Surface {
    let size = size.clamp(*SURFACE_SIZES.start(), *SURFACE_SIZES.end()).next_power_of_two();
    let seed = Seed::from_text(&species.name);
    Surface {
        bark: species.bark_kind.make(size, species.colors.bark, seed.child("bark")),
        bark_gain: bark_gain(species),
        leaves: has_leaves(species).then(|| leaf_maps(species, season, size, seed.child("leaves"))),
    }
}
