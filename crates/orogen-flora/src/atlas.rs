//! Where the pictures of leaves lie in a species' atlas.

/// How many variants of a leaf there are across the atlas, and along it.
pub(crate) const CELLS: u32 = 2;

/// The picture that shows the flower, of species that have any when it is drawn.
pub(crate) const FLOWER_CELL: u32 = 3;

/// The part of the atlas that shows a variant of the leaf: u and v of its corner at the stalk, then of the one at the tip.
///
/// The atlas repeats: a card of many leaves reaches over several cells, and beyond 0 to 1.
#[must_use]
pub fn leaf_cell(which: u32) -> [f32; 4] {
    let wide = 1.0 / CELLS as f32;
    let [col, row] = [which % CELLS, which / CELLS % CELLS].map(|place| place as f32 * wide);
    [col, row, col + wide, row + wide]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cells_fill_the_atlas() {
        let area = |[u, v, s, t]: [f32; 4]| (s - u) * (t - v);
        assert_eq!((0..4).map(|which| area(leaf_cell(which))).sum::<f32>(), 1.0);
        assert_eq!((leaf_cell(0), leaf_cell(3)), ([0.0, 0.0, 0.5, 0.5], [0.5, 0.5, 1.0, 1.0]));
        assert_eq!(leaf_cell(6), leaf_cell(2));
    }
}
