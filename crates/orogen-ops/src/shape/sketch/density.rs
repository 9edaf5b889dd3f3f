//! How crowded a place is: features in a k-d tree, weighed by a cubic kernel and their size.

use orogen_core::math;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What can be drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// High mountains: a massif with peaks and ridges.
    Mountain,
    /// Single hills.
    Hill,
    /// A river.
    River,
    /// A lake.
    Lake,
    /// Level ground, free of mountains and hills.
    Plain,
    /// Forest: no shape of the land, but a mask.
    Forest,
    /// Dunes, with crests across the wind.
    Dune,
}

/// How many kinds there are.
pub(super) const KINDS: usize = Kind::ALL.len();

impl Kind {
    pub(super) const ALL: [Self; 7] =
        [Self::Mountain, Self::Hill, Self::River, Self::Lake, Self::Plain, Self::Forest, Self::Dune];

    /// Its name in recipes and files.
    #[must_use]
    pub fn word(self) -> &'static str {
        ["mountain", "hill", "river", "lake", "plain", "forest", "dune"][self as usize]
    }

    pub(super) fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.word() == word)
    }
}

/// How features of one kind are drawn to another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// What is placed.
    pub kind: Kind,
    /// What is near.
    pub near: Kind,
    /// Above 0 draws it near, below 0 keeps it away, 0 has no effect.
    #[schemars(range(min = -100.0, max = 100.0), extend("x-slider" = [-3.0, 3.0]))]
    pub weight: f64,
}

/// The default rules: what is placed, what is near, and the weight.
const USUAL: [(Kind, Kind, f64); 31] = {
    use Kind::{Dune, Forest, Hill, Lake, Mountain, Plain, River};
    [
        (Mountain, Mountain, -0.6),
        (Mountain, Hill, 0.1),
        (Mountain, River, -1.0),
        (Mountain, Lake, -1.0),
        (Mountain, Plain, -1.5),
        (Hill, Mountain, 0.4),
        (Hill, Hill, -0.7),
        (Hill, River, -0.6),
        (Hill, Lake, -0.6),
        (Hill, Plain, -1.5),
        (River, Mountain, 1.2),
        (River, Hill, 0.3),
        (River, River, -1.5),
        (River, Lake, -0.5),
        (River, Plain, -0.3),
        (Lake, Mountain, -0.5),
        (Lake, Hill, -0.3),
        (Lake, River, 0.2),
        (Lake, Lake, -1.2),
        (Lake, Plain, 0.1),
        (Forest, Mountain, -0.6),
        (Forest, Hill, 0.4),
        (Forest, River, 0.5),
        (Forest, Lake, 0.3),
        (Forest, Plain, -0.4),
        (Forest, Forest, 0.6),
        (Mountain, Dune, -1.0),
        (Hill, Dune, -1.2),
        (River, Dune, -0.5),
        (Lake, Dune, -0.6),
        (Forest, Dune, -1.5),
    ]
};

/// The weight of every kind near every other.
#[derive(Clone, Debug)]
pub(super) struct Table([[f64; KINDS]; KINDS]);

impl Table {
    /// The default rules, replaced by a recipe's own where it has any.
    pub fn new(rules: &[Rule]) -> Self {
        let mut table = [[0.0; KINDS]; KINDS];
        let usual = USUAL.iter().copied();
        for (kind, near, weight) in usual.chain(rules.iter().map(|r| (r.kind, r.near, r.weight))) {
            table[kind as usize][near as usize] = weight;
        }
        Self(table)
    }
}

/// What stands somewhere: place and size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Spot {
    pub at: [f64; 2],
    pub size: f64,
}

/// A k-d tree that grows spot by spot. Places come in random order, so it stays about as deep as a balanced one.
///
/// Written here rather than taken from a crate: sixty lines, in a fixed order of sums, and nothing else of a crate's.
#[derive(Clone, Debug, Default)]
pub(super) struct Tree {
    spots: Vec<Spot>,
    below: Vec<[u32; 2]>,
}

const NONE: u32 = u32::MAX;

impl Tree {
    pub fn push(&mut self, spot: Spot) {
        let new = self.spots.len() as u32;
        self.spots.push(spot);
        self.below.push([NONE; 2]);
        let (mut node, mut axis) = (0usize, 0usize);
        while node != new as usize {
            let side = usize::from(spot.at[axis] >= self.spots[node].at[axis]);
            let next = &mut self.below[node][side];
            if *next == NONE {
                *next = new;
            }
            node = *next as usize;
            axis = 1 - axis;
        }
    }

    /// The spots within a distance of a place, in the order of the tree.
    pub fn near(&self, at: [f64; 2], radius: f64, mut found: impl FnMut(&Spot, f64)) {
        let mut left = if self.spots.is_empty() { Vec::new() } else { vec![(0u32, 0usize)] };
        while let Some((node, axis)) = left.pop() {
            let spot = &self.spots[node as usize];
            let distance = math::hypot(spot.at[0] - at[0], spot.at[1] - at[1]);
            if distance < radius {
                found(spot, distance);
            }
            let off = at[axis] - spot.at[axis];
            for (side, next) in self.below[node as usize].into_iter().enumerate() {
                let reaches = if side == 0 { off < radius } else { off >= -radius };
                if next != NONE && reaches {
                    left.push((next, 1 - axis));
                }
            }
        }
    }

    /// The density around a place: the area of spots within a radius, nearer ones more, as a share of the circle.
    ///
    /// ```text
    /// D = Σ C(d/R)·(s/R)²        C(t) = 2t³ − 3t² + 1
    /// ```
    pub fn density(&self, at: [f64; 2], radius: f64) -> f64 {
        let mut sum = 0.0;
        self.near(at, radius, |spot, distance| {
            let (t, s) = (distance / radius, (spot.size / radius).min(1.0));
            sum += (1.0 - t * t * (3.0 - 2.0 * t)) * s * s;
        });
        sum
    }
}

/// All that has been drawn and placed so far.
#[derive(Clone, Debug)]
pub(super) struct Crowd {
    table: Table,
    /// What was drawn, and what was placed, by kind.
    pub drawn: [Tree; KINDS],
    pub placed: [Tree; KINDS],
}

impl Crowd {
    pub fn new(rules: &[Rule]) -> Self {
        Self { table: Table::new(rules), drawn: Default::default(), placed: Default::default() }
    }

    /// How well a feature of a kind and size would stand at a place: drawn ones of its kind attract it, and the rules
    /// weigh what has been placed.
    pub fn likes(&self, kind: Kind, at: [f64; 2], size: f64) -> f64 {
        let radius = 4.0 * size;
        let own = 2.0 * self.drawn[kind as usize].density(at, radius);
        let rules = &self.table.0[kind as usize];
        let near = self.placed.iter().zip(rules).filter(|(_, weight)| **weight != 0.0);
        own + near.map(|(tree, weight)| weight * tree.density(at, radius)).sum::<f64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use orogen_core::Seed;
    use orogen_core::testkit::assert_close;

    #[test]
    fn the_tree_finds_what_looking_at_all_finds() {
        let seed = Seed(5);
        let spots: Vec<Spot> = (0..700)
            .map(|i| Spot {
                at: [seed.unit2(i, 0) * 900.0, seed.unit2(i, 1) * 700.0],
                size: 5.0 + seed.unit2(i, 2) * 40.0,
            })
            .collect();
        let mut tree = Tree::default();
        assert_eq!(tree.density([1.0, 1.0], 10.0), 0.0);
        spots.iter().for_each(|spot| tree.push(*spot));
        for i in 0..60 {
            let (at, radius) =
                ([seed.unit2(i, 7) * 900.0, seed.unit2(i, 8) * 700.0], 10.0 + 300.0 * seed.unit2(i, 9));
            let all = spots.iter().map(|spot| {
                let t = math::hypot(spot.at[0] - at[0], spot.at[1] - at[1]) / radius;
                let s = (spot.size / radius).min(1.0);
                if t < 1.0 { (2.0 * t * t * t - 3.0 * t * t + 1.0) * s * s } else { 0.0 }
            });
            assert_close!(tree.density(at, radius), all.sum::<f64>(), rel = 1e-9);
        }
        // Many in one place.
        (0..50).for_each(|_| tree.push(Spot { at: [-500.0, -500.0], size: 10.0 }));
        assert_close!(tree.density([-500.0, -500.0], 10.0), 50.0, rel = 1e-12);
    }

    #[test]
    fn a_recipe_s_rules_take_the_place_of_the_usual_ones() {
        let mut crowd = Crowd::new(&[]);
        crowd.placed[Kind::River as usize].push(Spot { at: [0.0, 0.0], size: 100.0 });
        assert!(crowd.likes(Kind::Mountain, [50.0, 0.0], 100.0) < 0.0);
        let fond = [Rule { kind: Kind::Mountain, near: Kind::River, weight: 2.0 }];
        let mut other = Crowd::new(&fond);
        other.placed = crowd.placed.clone();
        assert!(other.likes(Kind::Mountain, [50.0, 0.0], 100.0) > 0.0);
        // What was drawn draws.
        crowd.drawn[Kind::Mountain as usize].push(Spot { at: [0.0, 0.0], size: 300.0 });
        assert!(crowd.likes(Kind::Mountain, [50.0, 0.0], 100.0) > 0.0);
    }
}
