//! How far the parts of a plant give way to the wind.

use orogen_core::{Seed, math};

use crate::frame::{Vec3, dot, sub};
use crate::skeleton::Skeleton;

/// Share of what is left to give that a trunk gives over its length, and a branch.
const TRUNK: f64 = 0.25;
const BRANCH: f64 = 0.55;

/// What each stem gives.
pub struct Sway {
    stems: Vec<Stem>,
}

struct Stem {
    /// At its foot.
    foot: f64,
    /// What its tip gives more.
    more: f64,
    /// Distances of its ends from the foot of what it grew from.
    from: f64,
    length: f64,
    branch: u16,
    phase: u8,
}

impl Sway {
    pub fn new(plant: &Skeleton) -> Self {
        let mut stems: Vec<Stem> = Vec::with_capacity(plant.stems.len());
        let mut branches = 0u16;
        for stem in &plant.stems {
            let nodes = plant.nodes_of(stem);
            let [from, to] = [0, nodes.len().saturating_sub(1)]
                .map(|end| nodes.get(end).map_or(0.0, |node| f64::from(node.from_foot_m)));
            let parent = stem.parent.map(|parent| &stems[parent as usize]);
            let foot = parent
                .map_or(0.0, |parent| parent.at(if stem.is_clone { from } else { f64::from(stem.offset_m) }));
            let branch = match parent {
                _ if stem.level == 0 => 0,
                Some(parent) if stem.level > 1 || stem.is_clone => parent.branch,
                _ => {
                    // A plant has hundreds at most; beyond that numbers are given again.
                    branches = if branches == u16::MAX { 1 } else { branches + 1 };
                    branches
                }
            };
            let share = if stem.level == 0 { TRUNK } else { BRANCH };
            stems.push(Stem {
                foot,
                more: (1.0 - foot) * share,
                from,
                length: (to - from).max(1e-6),
                branch,
                phase: (Seed(u64::from(branch)).bits(1) >> 56) as u8,
            });
        }
        Self { stems }
    }

    /// From 0, nothing, to 255, at a distance from the foot of a stem.
    pub fn give(&self, stem: u32, from_foot: f64) -> u8 {
        (255.0 * self.stems[stem as usize].at(from_foot)) as u8
    }

    /// The same at the place of a leaf, which stands between the ends of its stem.
    pub fn give_at(&self, plant: &Skeleton, stem: u32, at: Vec3) -> u8 {
        let made = &self.stems[stem as usize];
        let foot =
            plant.nodes_of(&plant.stems[stem as usize]).first().map_or(at, |node| node.at.map(f64::from));
        let away = sub(at, foot);
        self.give(stem, made.from + dot(away, away).sqrt())
    }

    pub fn branch(&self, stem: u32) -> u16 {
        self.stems[stem as usize].branch
    }

    pub fn phase(&self, stem: u32) -> u8 {
        self.stems[stem as usize].phase
    }
}

impl Stem {
    fn at(&self, from_foot: f64) -> f64 {
        let along = ((from_foot - self.from) / self.length).clamp(0.0, 1.0);
        self.foot + self.more * math::pow(along, 1.5)
    }
}
