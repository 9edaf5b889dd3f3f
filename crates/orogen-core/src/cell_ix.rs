//! The index of a cell: a type of its own, so that it is not taken for the number of a lake, a river or a node.

/// A cell of a tile, counted row by row from its north-west corner. Within a tile 32 bits are enough; they are what large
/// lists of cells store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CellIx(pub u32);

impl CellIx {
    /// The cell at an index of a raster's values, which operators hold below 2^32.
    #[inline]
    #[must_use]
    pub fn new(at: usize) -> Self {
        debug_assert!(u32::try_from(at).is_ok(), "cell {at} is outside a tile");
        Self(at as u32)
    }

    /// The same index, for the values of a raster.
    #[inline]
    #[must_use]
    pub fn at(self) -> usize {
        self.0 as usize
    }
}
