//! A set of cells, 64 to a number: a thirty-second of a raster of numbers, so that it stays in the cache.

use rayon::prelude::*;

/// A set of cells.
#[derive(Clone, Debug, Default)]
pub struct Bits(Vec<u64>);

impl Bits {
    /// Those of the first `count` cells that `f` holds for; asked in any order on any thread.
    pub fn of(count: usize, f: impl Fn(usize) -> bool + Sync) -> Self {
        let word = |word: usize| {
            let cells = 64 * word..(64 * word + 64).min(count);
            cells.enumerate().fold(0, |bits, (i, cell)| bits | u64::from(f(cell)) << i)
        };
        Self((0..count.div_ceil(64)).into_par_iter().with_min_len(1 << 10).map(word).collect())
    }

    /// Whether a cell is in it; the empty set has no cell of any map.
    #[inline]
    #[must_use]
    pub fn has(&self, cell: usize) -> bool {
        self.0.get(cell / 64).is_some_and(|word| word >> (cell % 64) & 1 == 1)
    }

    /// Puts a cell in.
    pub fn insert(&mut self, cell: usize) {
        self.0[cell / 64] |= 1 << (cell % 64);
    }

    /// Takes a cell out; returns whether it was in.
    #[inline]
    pub fn remove(&mut self, cell: usize) -> bool {
        let was = self.has(cell);
        if was {
            self.0[cell / 64] &= !(1 << (cell % 64));
        }
        was
    }

    /// The first cell that is in it, none before `from` being so.
    #[must_use]
    pub fn first(&self, from: usize) -> Option<usize> {
        let words = self.0.iter().enumerate().skip(from / 64);
        words
            .map(|(i, word)| (i, *word))
            .find(|(_, word)| *word != 0)
            .map(|(i, word)| 64 * i + word.trailing_zeros() as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_come_in_order_and_leave_once() {
        let mut bits = Bits::of(300, |cell| cell % 7 == 3);
        let mut cells = Vec::new();
        while let Some(cell) = bits.first(cells.last().copied().unwrap_or(0)) {
            assert!(bits.remove(cell) && !bits.remove(cell) && !bits.has(cell));
            cells.push(cell);
        }
        assert_eq!(cells, (0..300).filter(|cell| cell % 7 == 3).collect::<Vec<_>>());
        bits.insert(299);
        assert_eq!((bits.first(0), bits.has(299), bits.has(298)), (Some(299), true, false));
        assert!(!Bits::default().has(0) && Bits::of(0, |_| true).first(0).is_none());
    }
}
