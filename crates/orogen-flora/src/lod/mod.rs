//! Levels of detail: the same plant with ever fewer triangles.
//!
//! Each level has a budget, which stems and leaves share. Stems lose sides, points that their shape needs least, and then the
//! thinnest of them go; their leaves stay. Leaves are thinned, and what is left shows more of them: up to a little larger at
//! first, then as cards of several leaves in their own size. The leaves of a level are among those of the finer one.

mod cover;
mod leaves;
mod stems;

use crate::kinds::cards::flower_triangles;
use crate::mesh::{Bloom, Courses, Plan, PlantMesh, StemPlan, draw};
use crate::skeleton::Skeleton;
use crate::species::Species;

/// Triangles of a level, about: from the one for the nearest metres to the one for the far side of a valley. A plant that has
/// fewer altogether is drawn whole.
pub const BUDGETS: [usize; 4] = [60_000, 15_000, 4_000, 800];

/// What a level spends and how it looks.
struct Level {
    budget: usize,
    /// Share of it that leaves get.
    leaves: f64,
    /// How far normals of cards lean to where the crown looks.
    rounding: f64,
    /// How much larger leaves are before cards show several.
    grown: f64,
    /// Least area of the cards, as a share of that of all leaves.
    area: f64,
    /// Longest card, as a share of the plant's height, of slender ones of their width.
    longest: f64,
    /// Thinnest stem, as a share of the plant's height: half a pixel where the level is used.
    thinnest: f64,
    /// Fewest sides of a trunk.
    trunk_sides: u16,
    /// In how many pieces a leaf bends at most.
    pieces: u32,
    /// Whether flowers are cups and crosses.
    flowers: bool,
}

const LEVELS: [Level; 4] = [
    Level {
        budget: BUDGETS[0],
        leaves: 0.6,
        rounding: 0.48,
        grown: 1.3,
        area: 0.8,
        longest: 0.05,
        thinnest: 0.0,
        trunk_sides: 12,
        pieces: 16,
        flowers: true,
    },
    Level {
        budget: BUDGETS[1],
        leaves: 0.62,
        rounding: 0.52,
        grown: 1.6,
        area: 0.5,
        longest: 0.08,
        thinnest: 2.5e-4,
        trunk_sides: 8,
        pieces: 4,
        flowers: true,
    },
    Level {
        budget: BUDGETS[2],
        leaves: 0.64,
        rounding: 0.56,
        grown: 1.8,
        area: 0.25,
        longest: 0.1,
        thinnest: 6e-4,
        trunk_sides: 6,
        pieces: 2,
        flowers: false,
    },
    Level {
        budget: BUDGETS[3],
        leaves: 0.62,
        rounding: 0.6,
        grown: 2.0,
        area: 0.1,
        longest: 0.28,
        thinnest: 1.5e-3,
        trunk_sides: 4,
        pieces: 2,
        flowers: false,
    },
];

/// A plant at a level of detail: 0 the finest, 3 the coarsest (higher numbers are as 3). [`crate::mesh`] gives all of it.
#[must_use]
pub fn lod(species: &Species, plant: &Skeleton, level: u8) -> PlantMesh {
    let level = &LEVELS[usize::from(level).min(LEVELS.len() - 1)];
    let courses = Courses::new(species, plant);
    let stems = stems::Thinning::new(species, plant, &courses, level);
    // Flowers are cups and crosses as long as there is room for all of them.
    let near = flower_triangles(&species.flowers, true);
    let is_near = level.flowers || near * plant.flowers.len() <= level.budget / 4;
    let blooms = leaves::flowers(species, plant, is_near, level.budget / 4);
    let each = flower_triangles(&species.flowers, is_near);
    let budget = level.budget - each * blooms.len();
    // What one of the two does not need, the other may have.
    let most = 2 * species.leaves.pieces().min(level.pieces) as usize * plant.leaves.len();
    let for_leaves = ((level.leaves * budget as f64) as usize)
        .max(budget.saturating_sub(stems.most_triangles()))
        .min(most);
    let (plans, keep) = stems.plan(budget - for_leaves);
    let cover = cover::Cover::new(species, plant);
    let cards = leaves::cards(species, plant, level, for_leaves, &cover, |full| {
        let all = StemPlan { sides: 1, wider: 1.0 };
        let mut seen = if full {
            cover.stems(&courses, |_| all, |_| true)
        } else {
            cover.stems(&courses, |stem| plans[stem], |point| keep[point])
        };
        let whole = || (0..plant.flowers.len() as u32).map(|flower| Bloom { flower, grown: 1.0, near: true });
        cover.flowers(&if full { whole().collect() } else { blooms.clone() }, &mut seen);
        seen
    });
    let plan = Plan {
        stems: plans,
        keep,
        cards,
        flowers: blooms,
        // Stones are smooth enough with fewer, down to where they lose their form.
        stones: (level.budget / 4).max(400),
        rounding: level.rounding,
        lobes: true,
    };
    draw(species, plant, &courses, &plan)
}
