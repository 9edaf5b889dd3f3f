//! How depressions grow together as water rises: which lower one each meets first, and at what level.

use orogen_core::{Cancelled, Ctx, Raster};

use super::basins::{Edge, NO_CELL, OUTSIDE, labels, passes};
use super::ways::Ways;

/// The tree of a map's depressions. Its root is the outside.
#[derive(Debug)]
pub(super) struct Merging {
    /// Basin of each cell, as in [`super::Basins`].
    pub labels: Raster<u32>,
    /// The pit of each basin; the outside has none.
    pub pits: Vec<u32>,
    /// The basin whose pit is lower (of two as low, the one that comes first in the raster) that each meets.
    pub into: Vec<u32>,
    /// The level at which they meet: from this pit no way to lower ground stays below it.
    pub at: Vec<f32>,
}

impl Merging {
    /// Finds the tree by joining basins over the passes between them, the lowest pass first.
    ///
    /// # Errors
    /// When cancelled.
    pub fn find(height: &Raster<f32>, ways: &Ways, sea_m: f32, ctx: &Ctx<'_>) -> Result<Self, Cancelled> {
        let fresh = Raster::filled(height.cols(), height.rows(), 0);
        let (labels, pits) = labels(height, &ways.0, sea_m, Edge::Open, fresh);
        ctx.tick(1, 2)?;
        let mut passes = passes(height, &labels, pits.len(), Edge::Open);
        passes.sort_unstable_by(|a, b| a.level.total_cmp(&b.level).then(a.pair.cmp(&b.pair)));
        let mut into = vec![OUTSIDE; pits.len()];
        let mut at = vec![f32::INFINITY; pits.len()];
        // Each set of joined basins goes by its lowest; the outside is lower than any.
        let mut lowest: Vec<u32> = (0..pits.len() as u32).collect();
        let depth = |basin: u32| match pits[basin as usize] {
            NO_CELL => (f32::NEG_INFINITY, 0),
            pit => (height.as_slice()[pit as usize], pit),
        };
        for pass in &passes {
            let [a, b] = pass.basins().map(|basin| root(&mut lowest, basin));
            if a == b {
                continue;
            }
            let (low, high) = if depth(a) < depth(b) { (a, b) } else { (b, a) };
            lowest[high as usize] = low;
            into[high as usize] = low;
            at[high as usize] = pass.level;
        }
        Ok(Self { labels, pits, into, at })
    }
}

/// The lowest basin of a set. Halves the way there for the next call.
fn root(lowest: &mut [u32], mut basin: u32) -> u32 {
    loop {
        let next = lowest[basin as usize];
        if next == basin {
            return basin;
        }
        lowest[basin as usize] = lowest[next as usize];
        basin = next;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drainage::Basins;
    use crate::test_support;

    #[test]
    fn three_bowls_in_a_row_meet_over_their_dams() {
        // Pits at 3, 1 and 2 between dams of 5, 4, 6 and 9.
        let profile = [0.0, 5.0, 3.0, 4.0, 1.0, 6.0, 2.0, 9.0, 0.0];
        let walled = Raster::from_fn(9, 3, |col, row| if row == 1 { profile[col] } else { 20.0 });
        let ways = Ways::steepest(&walled, [1.0, 1.0], f32::NEG_INFINITY);
        let tree = Merging::find(&walled, &ways, f32::NEG_INFINITY, &Ctx::silent()).unwrap();
        let of = |col: u32| tree.pits.iter().position(|&pit| pit == 9 + col).unwrap();
        assert_eq!([tree.at[of(2)], tree.at[of(4)], tree.at[of(6)]], [4.0, 5.0, 6.0]);
        assert_eq!(tree.into[of(2)] as usize, of(4));
        assert_eq!(tree.into[of(4)], OUTSIDE);
        // The middle one has met the outside by then.
        assert_eq!(tree.into[of(6)], OUTSIDE);
    }

    #[test]
    fn the_highest_meeting_on_the_way_out_is_the_level_of_standing_water() {
        let height = test_support::rough(70, 90);
        let ways = Ways::steepest(&height, [1.0, 1.0], f32::NEG_INFINITY);
        let ctx = Ctx::silent();
        let tree = Merging::find(&height, &ways, f32::NEG_INFINITY, &ctx).unwrap();
        let basins = Basins::find(&height, &ways, f32::NEG_INFINITY, Edge::Open, &ctx).unwrap();
        assert!(tree.pits.len() > 50);
        for basin in 1..tree.pits.len() {
            let mut level = f32::NEG_INFINITY;
            let mut at = basin as u32;
            while at != OUTSIDE {
                level = level.max(tree.at[at as usize]);
                at = tree.into[at as usize];
            }
            assert_eq!(level, basins.levels[basin]);
        }
    }
}
