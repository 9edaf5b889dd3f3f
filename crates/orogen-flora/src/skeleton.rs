//! What a plant is made of before it has a surface.

use orogen_core::Seed;

use crate::species::StoneForm;

/// A plant as lines with radii, and its leaves.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Skeleton {
    /// Size that the species' lengths were taken from, in metres.
    pub scale_m: f64,
    /// Stems; parents come before their children.
    pub stems: Vec<Stem>,
    /// Nodes of the stems, those of a stem in a row from its foot.
    pub nodes: Vec<Node>,
    /// Leaves.
    pub leaves: Vec<Leaf>,
    /// Flowers, and what else stands at the ends of stems. Those that are flat look up, as leaves do.
    pub flowers: Vec<Leaf>,
    /// Stones.
    pub stones: Vec<Boulder>,
}

/// A trunk, branch or twig.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stem {
    /// 0 for trunks.
    pub level: u8,
    /// The stem that it stands on; a trunk has none.
    pub parent: Option<u32>,
    /// Whether it is what a stem split into; it goes on from the middle of its parent then.
    pub is_clone: bool,
    /// Length from its foot, or from the foot of what it split from, in metres.
    pub length_m: f32,
    /// Radius at its foot, in metres.
    pub radius_m: f32,
    /// Where on its parent it stands, in metres from the parent's foot.
    pub offset_m: f32,
    /// Its first node, and how many it has.
    pub first: u32,
    /// How many nodes it has.
    pub count: u32,
}

/// A place along a stem.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Node {
    /// Where it is, in metres; z is up.
    pub at: [f32; 3],
    /// Which way the stem goes there; of length 1.
    pub along: [f32; 3],
    /// Radius of the stem, in metres.
    pub radius_m: f32,
    /// Distance from the stem's foot, in metres.
    pub from_foot_m: f32,
}

/// A leaf.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Leaf {
    /// Where its stalk begins.
    pub at: [f32; 3],
    /// From the stalk to the tip; of length 1.
    pub along: [f32; 3],
    /// The way its upper side looks; of length 1.
    pub up: [f32; 3],
    /// Its length against that of the species.
    pub size: f32,
    /// The stem that it stands on.
    pub stem: u32,
}

/// A stone.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Boulder {
    /// Its middle.
    pub at: [f32; 3],
    /// Half its length, width and height, each along an axis of its own: three vectors at right angles.
    pub axes: [[f32; 3]; 3],
    /// What it looks like.
    pub form: StoneForm,
    /// What makes it another stone than others of the same form.
    pub seed: Seed,
}

impl Skeleton {
    /// The nodes of a stem, from its foot.
    #[must_use]
    pub fn nodes_of(&self, stem: &Stem) -> &[Node] {
        &self.nodes[stem.first as usize..][..stem.count as usize]
    }

    /// How many stems a level has, those that others split into included.
    #[must_use]
    pub fn stems_of_level(&self, level: u8) -> usize {
        self.stems.iter().filter(|stem| stem.level == level).count()
    }

    /// Height of the highest end of a stem.
    #[must_use]
    pub fn height_m(&self) -> f32 {
        self.nodes.iter().map(|node| node.at[2]).fold(0.0, f32::max)
    }
}
