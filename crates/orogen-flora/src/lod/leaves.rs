//! Which leaves stand for all of them, and how much each card shows.

use super::Level;
use super::cover::{Cover, Seen};
use crate::kinds::cards::flower_triangles;
use crate::mesh::{Bloom, Card, is_round};
use crate::skeleton::Skeleton;
use crate::species::Species;

/// Most that the picture of a leaf is enlarged: beyond that crowns read as balloons.
const LARGEST: f64 = 2.0;
/// Most area that cards have against that of all leaves: those of a light crown hide each other more when they stand together.
const MOST_AREA: f64 = 2.5;
/// How far a card of many leaves keeps to the place of its own leaf, from the middle of all that it stands for.
const KEPT_PLACE: f64 = 0.5;
/// From so many times its radius on a crown is a column.
const COLUMN: f64 = 12.0;
/// The same in a column, from which cards would stand out, and how much larger its leaves get before cards show several.
const KEPT_IN_COLUMN: f64 = 0.25;
const GROWN_IN_COLUMN: f64 = 1.2;
/// Most that the length and the width of a crown count for against its radius when cards are made as large as fits it.
const SLENDER: [f64; 2] = [12.0, 4.0];
/// Most leaves across or along a card.
const MOST_CELLS: f64 = 64.0;

/// Cards for a budget of triangles: as large as their leaves together, or smaller where the crown covers as much with less, as
/// leaves hide each other.
///
/// `others` gives what stems and flowers cover: those of the whole plant, or those of this level.
pub fn cards(
    species: &Species,
    plant: &Skeleton,
    level: &Level,
    budget: usize,
    cover: &Cover<'_>,
    others: impl Fn(bool) -> Seen,
) -> Vec<Card> {
    let all = plant.leaves.len();
    let pieces = species.leaves.pieces().min(level.pieces) as u16;
    let count = (budget / (2 * usize::from(pieces))).min(all);
    if count == 0 {
        return Vec::new();
    }
    let chosen = choose(all, count);
    let natural = 1.0 / species.leaves.quality.sqrt();
    // Crossed cards of the whole plant show each leaf twice.
    let crossed = is_round(species);
    let each = if crossed { 2.0 } else { 1.0 };
    let stands_for = each * all as f64 / count as f64;
    let leaf_m = species.leaves.length_m * natural;
    // No card is longer than looks like a part of the crown, which may be a column.
    let reach = cover.crown().reach;
    let is_column = COLUMN * reach[0].max(reach[1]) < plant.scale_m;
    let (kept, grown) = if is_column { (KEPT_IN_COLUMN, GROWN_IN_COLUMN) } else { (KEPT_PLACE, level.grown) };
    let level = &Level { grown, ..*level };
    let size_m = SLENDER.map(|most| plant.scale_m.min(most * reach[0].max(reach[1])));
    let middles = middles(plant, &chosen, all as f64 / count as f64, kept);
    let sized = |share: f64| -> Vec<Card> {
        let share = (share * stands_for).max(0.25);
        // Atlases with flowers do not repeat, and leaves that bend are drawn one by one.
        let (grown, cells) = if species.flowers.share > 0.0 || species.leaves.droop_deg != 0.0 {
            (share.sqrt().min(LARGEST), [1, 1])
        } else {
            spread(share, level, species.leaves.width_share, leaf_m, size_m)
        };
        let card = |(leaf, middle): (&u32, &[f32; 3])| Card {
            cells,
            middle: *middle,
            pieces,
            ..Card::single(*leaf, grown * natural, false)
        };
        chosen.iter().zip(&middles).map(card).collect()
    };
    if stands_for <= 1.0 {
        return sized(1.0);
    }
    let bent = species.leaves.pieces() as u16;
    let whole: Vec<Card> =
        (0..all as u32).map(|leaf| Card { pieces: bent, ..Card::single(leaf, natural, crossed) }).collect();
    let wanted = cover.of(&whole, &others(true));
    let others = others(false);
    // Against the whole plant, on average over the views, however much of it each shows; plants are mostly seen from the side.
    let covered = |share: f64| -> f64 {
        let views = cover.of(&sized(share), &others);
        let shares = views.iter().zip(wanted).map(|(covered, wanted)| covered / wanted.max(1.0));
        shares.zip([0.3, 0.3, 0.3, 0.1]).map(|(share, weight)| weight * share).sum()
    };
    // Crossed cards show each leaf twice.
    let (mut low, mut high) = (level.area / each, MOST_AREA);
    let (mut best, mut nearest) = (high, covered(high));
    if nearest <= 1.0 {
        return sized(high);
    }
    // Whole numbers of leaves make small steps on the way, so the nearest that was seen counts.
    for _ in 0..7 {
        let middle = (low * high).sqrt();
        let found = covered(middle);
        if (found - 1.0).abs() < (nearest - 1.0).abs() {
            (best, nearest) = (middle, found);
        }
        if found > 1.0 { high = middle } else { low = middle }
    }
    sized(best)
}

/// For each chosen leaf the middle of the leaves that it stands for: those before and after it, on the same twigs.
fn middles(plant: &Skeleton, chosen: &[u32], stands_for: f64, kept: f64) -> Vec<[f32; 3]> {
    let mut sums = Vec::with_capacity(plant.leaves.len() + 1);
    let mut sum = [0.0; 3];
    sums.push(sum);
    for leaf in &plant.leaves {
        for axis in 0..3 {
            sum[axis] += f64::from(leaf.at[axis]);
        }
        sums.push(sum);
    }
    let half = (0.5 * stands_for) as usize;
    let middle = |leaf: &u32| {
        let leaf = *leaf as usize;
        let [from, to] = [leaf.saturating_sub(half), (leaf + half + 1).min(plant.leaves.len())];
        let own = plant.leaves[leaf].at;
        [0, 1, 2].map(|axis| {
            let mean = (sums[to][axis] - sums[from][axis]) / (to - from) as f64;
            // Not all the way, so that crowns stay as wide as they are.
            (mean + kept * (f64::from(own[axis]) - mean)) as f32
        })
    };
    chosen.iter().map(middle).collect()
}

/// Flowers for a budget of triangles: those that are left are larger.
pub fn flowers(species: &Species, plant: &Skeleton, near: bool, budget: usize) -> Vec<Bloom> {
    let all = plant.flowers.len();
    let count = (budget / flower_triangles(&species.flowers, near)).min(all);
    if count == 0 {
        return Vec::new();
    }
    let grown = (all as f64 / count as f64).sqrt().min(LARGEST);
    choose(all, count).into_iter().map(|flower| Bloom { flower, grown, near }).collect()
}

/// How much larger leaves are and how many a card shows, so that cards cover as much as what they stand for.
fn spread(
    stands_for: f64,
    level: &Level,
    width_share: f64,
    leaf_m: f64,
    size_m: [f64; 2],
) -> (f64, [u16; 2]) {
    if stands_for <= level.grown * level.grown {
        return (stands_for.sqrt(), [1, 1]);
    }
    // About square on the plant, and no longer than looks like a part of it.
    let cells = stands_for / (level.grown * level.grown);
    let [most_long, most_broad] =
        size_m.map(|size_m| (level.longest * size_m / (leaf_m * level.grown)).max(1.0));
    let rows = (cells * width_share).sqrt().clamp(1.0, most_long).round().min(MOST_CELLS);
    let most_wide = (most_broad / width_share).max(1.0);
    let cols = (cells / rows).clamp(1.0, most_wide).round().min(MOST_CELLS);
    // What has no room across may be longer.
    let rows = (cells / cols).clamp(rows, most_long.max(rows)).round().min(MOST_CELLS);
    let grown = (stands_for / (rows * cols)).sqrt().min(LARGEST);
    let longest = (level.longest * size_m[0] / (leaf_m * rows)).max(1.0);
    (grown.min(longest.max(level.grown)), [cols as u16, rows as u16])
}

/// So many of all leaves, spread evenly over the plant: leaves that follow each other in the skeleton stand near each other. What
/// is chosen for a smaller number is among what is chosen for a larger one.
fn choose(all: usize, count: usize) -> Vec<u32> {
    if count >= all || all < 2 {
        return (0..all as u32).collect();
    }
    // Two places or more for each leaf in an order that is even at every length; the first of them counts.
    let bits = usize::BITS - (all - 1).leading_zeros() + 1;
    let place = |leaf: usize| ((leaf as u64) << bits).div_ceil(all as u64);
    let rank = |leaf: usize| {
        let ranks = (place(leaf)..place(leaf + 1)).map(|even| {
            let reversed = even.reverse_bits() >> (64 - bits);
            scrambled(reversed as u32) & ((1u64 << bits) - 1) as u32
        });
        ranks.min().unwrap_or(u32::MAX)
    };
    let mut ranked: Vec<(u32, u32)> = (0..all).map(|leaf| (rank(leaf), leaf as u32)).collect();
    ranked.select_nth_unstable(count);
    ranked.truncate(count);
    let mut chosen: Vec<u32> = ranked.into_iter().map(|(_, leaf)| leaf).collect();
    chosen.sort_unstable();
    chosen
}

/// A hash by which each bit depends on lower ones only (Laine & Karras 2011): it turns an even order into one that is random and
/// still even, as Owen's scrambling does.
fn scrambled(mut bits: u32) -> u32 {
    bits = bits.wrapping_add(0x9e37_79b9);
    for factor in [0x6c50_b47c_u32, 0xb82f_1e52, 0xc7af_e638, 0x8d22_f6e6] {
        bits ^= bits.wrapping_mul(factor);
    }
    bits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fewer_leaves_are_among_more_and_spread_evenly() {
        let all = 10_000;
        let mut last = choose(all, 5000);
        for count in [2500, 1000, 300, 77] {
            let chosen = choose(all, count);
            assert_eq!(chosen.len(), count);
            assert!(chosen.iter().all(|leaf| last.binary_search(leaf).is_ok()), "{count}");
            // No tenth of the plant has much more or less than a tenth of them.
            for tenth in 0..10 {
                let part = chosen.iter().filter(|leaf| **leaf as usize / 1000 == tenth).count() as f64;
                let expected = 0.1 * count as f64;
                assert!((part - expected).abs() <= 2.0 + 0.05 * expected, "{part} of {expected}");
            }
            last = chosen;
        }
        assert_eq!(choose(3, 7), [0, 1, 2]);
    }

    #[test]
    fn pictures_of_leaves_grow_to_twice_at_most() {
        for level in &super::super::LEVELS {
            for stands_for in [1.0, 1.7, 3.0, 9.0, 40.0, 1000.0] {
                for width_share in [0.05, 0.3, 1.0, 1.4] {
                    let (grown, [cols, rows]) = spread(stands_for, level, width_share, 0.1, [20.0; 2]);
                    assert!(grown > 0.4 && grown <= LARGEST, "{grown}");
                    assert!(cols > 0 && rows > 0);
                }
            }
        }
    }
}
