//! What a binary heap holds so that it gives out the lowest first.

use std::cmp::Ordering;

/// Something that waits its turn in a binary heap: the lowest level comes first, of equal ones the lowest number.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lowest<L, T = ()> {
    pub level: L,
    /// Of the cell or pass; no two that wait at one level have the same, or it does not matter which of them comes first.
    pub number: u32,
    /// What else belongs to it; without a say in the order.
    pub with: T,
}

/// What can be ordered by level: numbers, by the total order of floats, and pairs, by the second where the first is equal.
pub(crate) trait Level: Copy {
    fn order(self, other: Self) -> Ordering;
}

impl Level for f32 {
    #[inline]
    fn order(self, other: Self) -> Ordering {
        self.total_cmp(&other)
    }
}

impl Level for [f64; 2] {
    #[inline]
    fn order(self, other: Self) -> Ordering {
        self[0].total_cmp(&other[0]).then(self[1].total_cmp(&other[1]))
    }
}

impl<L: Level, T> Ord for Lowest<L, T> {
    // The heap gives out its greatest, which is to be the lowest.
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        other.level.order(self.level).then(other.number.cmp(&self.number))
    }
}
impl<L: Level, T> PartialOrd for Lowest<L, T> {
    #[inline]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl<L: Level, T> PartialEq for Lowest<L, T> {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}
impl<L: Level, T> Eq for Lowest<L, T> {}

#[cfg(test)]
mod tests {
    use std::collections::BinaryHeap;

    use super::*;

    #[test]
    fn the_lowest_comes_first_then_the_lowest_number() {
        let levels = [3.0, -1.0, f32::NEG_INFINITY, 3.0, 0.0, -0.0];
        let wait = |(i, &level): (usize, &f32)| Lowest { level, number: 9 - i as u32, with: () };
        let mut heap: BinaryHeap<_> = levels.iter().enumerate().map(wait).collect();
        let order: Vec<u32> = std::iter::from_fn(|| heap.pop()).map(|next| next.number).collect();
        assert_eq!(order, [7, 8, 4, 5, 6, 9]);

        let mut heap = BinaryHeap::new();
        for (number, level) in [[1.0, 2.0], [1.0, 1.0], [0.5, 9.0], [1.0, 1.0]].into_iter().enumerate() {
            heap.push(Lowest { level, number: number as u32, with: level[1] });
        }
        let order: Vec<(u32, f64)> = std::iter::from_fn(|| heap.pop()).map(|n| (n.number, n.with)).collect();
        assert_eq!(order, [(2, 9.0), (1, 1.0), (3, 1.0), (0, 2.0)]);
    }
}
