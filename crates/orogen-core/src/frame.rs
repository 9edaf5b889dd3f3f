//! Where a grid of samples lies in the world.

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// A rectangle in world metres; north is +y.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rect {
    /// South-west corner, (x, y) in metres.
    pub min: [f64; 2],
    /// North-east corner, (x, y) in metres.
    pub max: [f64; 2],
}

impl Rect {
    /// Width and height in metres.
    #[must_use]
    pub fn size(&self) -> [f64; 2] {
        [self.max[0] - self.min[0], self.max[1] - self.min[1]]
    }

    /// The smallest rectangle that holds both.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        Self {
            min: [0, 1].map(|axis| self.min[axis].min(other.min[axis])),
            max: [0, 1].map(|axis| self.max[axis].max(other.max[axis])),
        }
    }

    /// What both share; `None` when they do not even touch.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Option<Self> {
        let min = [0, 1].map(|axis| self.min[axis].max(other.min[axis]));
        let max = [0, 1].map(|axis| self.max[axis].min(other.max[axis]));
        (min[0] <= max[0] && min[1] <= max[1]).then_some(Self { min, max })
    }

    /// This rectangle with so many metres around it.
    #[must_use]
    pub fn grown(&self, by_m: [f64; 2]) -> Self {
        Self {
            min: [0, 1].map(|axis| self.min[axis] - by_m[axis]),
            max: [0, 1].map(|axis| self.max[axis] + by_m[axis]),
        }
    }
}

/// The longest side and the farthest place, in metres: sample positions still differ there.
const MOST_M: f64 = 1e9;

fn check_length(what: &'static str, least: f64, found: f64) -> Result<(), FrameError> {
    if (least..=MOST_M).contains(&found) { Ok(()) } else { Err(FrameError::BadLength { what, least, found }) }
}

/// Why a frame is not valid.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum FrameError {
    /// A side has too few samples.
    #[error("a frame needs at least 2 samples per side, found {0}")]
    TooFewSamples(usize),
    /// A length is not finite, too small or too large.
    #[error("{what} must be {least} to {MOST_M} metres, found {found}")]
    BadLength {
        /// Which length.
        what: &'static str,
        /// The least it may be.
        least: f64,
        /// What it was.
        found: f64,
    },
    /// A place is not finite or too far out for sample positions to differ.
    #[error("origin_m must be finite and within 1e9 m of zero, found {0}")]
    BadOrigin(f64),
    /// A corner of a part is not finite or too far out for sample positions to differ.
    #[error("a corner at {0} m is too far out; coordinates must lie within {most:e} m of zero", most = 2.0 * MOST_M)]
    TooFar(f64),
}

/// Where a grid lies: a lattice (anchor and spacing) and the part of it that the grid covers.
///
/// Samples are vertices. Positions are computed from whole lattice indices, `anchor + index * spacing`, so two
/// windows on one lattice give a shared sample the same position to the bit, however the windows were cut.
/// Row 0 is north, so the lattice index of a row falls as the row number grows.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Frame {
    anchor_m: [f64; 2],
    spacing_m: [f64; 2],
    west: i64,
    north: i64,
    cols: usize,
    rows: usize,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    loops: bool,
}

impl Frame {
    /// A grid of `samples` columns and rows over `size_m` metres whose south-west sample lies at `origin_m`.
    ///
    /// # Errors
    /// When a side has under two samples or a length is not positive and finite.
    pub fn new(origin_m: [f64; 2], size_m: [f64; 2], samples: [usize; 2]) -> Result<Self, FrameError> {
        for n in samples {
            if n < 2 {
                return Err(FrameError::TooFewSamples(n));
            }
        }
        for found in size_m {
            check_length("size_m", 1e-3, found)?;
        }
        for found in origin_m {
            if !(-MOST_M..=MOST_M).contains(&found) {
                return Err(FrameError::BadOrigin(found));
            }
        }
        let [cols, rows] = samples;
        let spacing_m = [size_m[0] / (cols - 1) as f64, size_m[1] / (rows - 1) as f64];
        Ok(Self { anchor_m: origin_m, spacing_m, west: 0, north: rows as i64 - 1, cols, rows, loops: false })
    }

    /// A square frame at the origin.
    ///
    /// # Errors
    /// As [`Frame::new`].
    pub fn square(size_m: f64, samples: usize) -> Result<Self, FrameError> {
        Self::new([0.0, 0.0], [size_m, size_m], [samples, samples])
    }

    /// The same frame for land that repeats: its last column is its first one again, and its last row its first, so that
    /// copies laid side by side join without a seam.
    #[must_use]
    pub fn looped(self) -> Self {
        Self { loops: true, ..self }
    }

    /// Whether the land repeats beyond the frame; see [`Frame::looped`].
    #[must_use]
    pub fn loops(&self) -> bool {
        self.loops
    }

    /// Samples from west to east.
    #[must_use]
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// Samples from north to south.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Samples in all.
    #[must_use]
    pub fn len(&self) -> usize {
        self.cols * self.rows
    }

    /// Never: a frame has at least one sample.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        false
    }

    /// Distance between neighbouring samples, (x, y) in metres.
    #[must_use]
    pub fn spacing_m(&self) -> [f64; 2] {
        self.spacing_m
    }

    /// Easting of a column, in metres.
    #[inline]
    #[must_use]
    pub fn x_m(&self, col: usize) -> f64 {
        self.anchor_m[0] + (self.west + col as i64) as f64 * self.spacing_m[0]
    }

    /// Northing of a row, in metres.
    #[inline]
    #[must_use]
    pub fn y_m(&self, row: usize) -> f64 {
        self.anchor_m[1] + (self.north - row as i64) as f64 * self.spacing_m[1]
    }

    /// Index on the world lattice of a sample: what randomness per sample hangs on.
    #[inline]
    #[must_use]
    pub fn lattice(&self, col: usize, row: usize) -> (i64, i64) {
        (self.west + col as i64, self.north - row as i64)
    }

    /// The rectangle from the outermost sample to the outermost sample.
    #[must_use]
    pub fn extent(&self) -> Rect {
        Rect { min: [self.x_m(0), self.y_m(self.rows - 1)], max: [self.x_m(self.cols - 1), self.y_m(0)] }
    }

    /// Size of the extent, (x, y) in metres.
    #[must_use]
    pub fn size_m(&self) -> [f64; 2] {
        [(self.cols - 1) as f64 * self.spacing_m[0], (self.rows - 1) as f64 * self.spacing_m[1]]
    }

    /// Column and row, as fractions, of a place in metres.
    #[inline]
    #[must_use]
    pub fn locate(&self, x_m: f64, y_m: f64) -> [f64; 2] {
        [
            (x_m - self.anchor_m[0]) / self.spacing_m[0] - self.west as f64,
            self.north as f64 - (y_m - self.anchor_m[1]) / self.spacing_m[1],
        ]
    }

    /// Where the columns and rows of another frame lie on this one, in samples from the first.
    #[must_use]
    pub fn places_of(&self, other: &Self) -> (Vec<f64>, Vec<f64>) {
        let cols = (0..other.cols()).map(|col| self.locate(other.x_m(col), 0.0)[0]).collect();
        let rows = (0..other.rows()).map(|row| self.locate(0.0, other.y_m(row))[1]).collect();
        (cols, rows)
    }

    /// The part of this frame that starts at a column and row, on the same lattice. The part may lie outside.
    #[must_use]
    pub fn window(&self, col: i64, row: i64, cols: usize, rows: usize) -> Self {
        Self { west: self.west + col, north: self.north - row, cols: cols.max(1), rows: rows.max(1), ..*self }
    }

    /// The samples within `reach_m` metres of this frame, as a larger frame on the same lattice.
    #[must_use]
    pub fn expanded(&self, reach_m: f64) -> Self {
        let halo = |spacing: f64| (reach_m / spacing - 1e-9).ceil().clamp(0.0, 1e9) as usize;
        let (x, y) = (halo(self.spacing_m[0]), halo(self.spacing_m[1]));
        self.window(-(x as i64), -(y as i64), self.cols + 2 * x, self.rows + 2 * y)
    }

    /// Whether both frames are parts of one lattice.
    #[must_use]
    pub fn same_lattice(&self, other: &Self) -> bool {
        self.anchor_m == other.anchor_m && self.spacing_m == other.spacing_m
    }

    /// Column and row of `part`'s first sample in this frame, when `part` lies wholly inside on the same lattice.
    #[must_use]
    pub fn offset_of(&self, part: &Self) -> Option<(usize, usize)> {
        if !self.same_lattice(part) {
            return None;
        }
        let col = usize::try_from(part.west - self.west).ok()?;
        let row = usize::try_from(self.north - part.north).ok()?;
        (col + part.cols <= self.cols && row + part.rows <= self.rows).then_some((col, row))
    }

    /// The smallest frame on the same lattice that holds both; `None` on different lattices.
    #[must_use]
    pub fn union(&self, other: &Self) -> Option<Self> {
        if !self.same_lattice(other) {
            return None;
        }
        let west = self.west.min(other.west);
        let north = self.north.max(other.north);
        let east = (self.west + self.cols as i64).max(other.west + other.cols as i64);
        let south = (self.north - self.rows as i64).min(other.north - other.rows as i64);
        Some(Self { west, north, cols: (east - west) as usize, rows: (north - south) as usize, ..*self })
    }

    /// The samples of this frame that lie inside a rectangle (edges included), `None` when there are none.
    #[must_use]
    pub fn clipped(&self, rect: &Rect) -> Option<Self> {
        let east = self.west + self.cols as i64 - 1;
        let south = self.north - self.rows as i64 + 1;
        self.samples_in(rect, [self.west, south, east, self.north])
    }

    /// The samples of this lattice that lie in a rectangle and within indices: west, south, east, north.
    fn samples_in(&self, rect: &Rect, [west, south, east, north]: [i64; 4]) -> Option<Self> {
        // A thousandth of a cell of slack: an edge computed on another lattice must not lose its samples.
        const SLACK: f64 = 1e-3;
        let index = |at: f64, axis: usize| (at - self.anchor_m[axis]) / self.spacing_m[axis];
        let west = west.max((index(rect.min[0], 0) - SLACK).ceil() as i64);
        let south = south.max((index(rect.min[1], 1) - SLACK).ceil() as i64);
        let east = east.min((index(rect.max[0], 0) + SLACK).floor() as i64);
        let north = north.min((index(rect.max[1], 1) + SLACK).floor() as i64);
        // More than this machine can count is more than any limit allows.
        let count = |from: i64, to: i64| usize::try_from(to - from + 1).unwrap_or(usize::MAX);
        (west <= east && south <= north).then(|| Self {
            west,
            north,
            cols: count(west, east),
            rows: count(south, north),
            ..*self
        })
    }

    /// The frame of another spacing that covers a rectangle, anchored like this one.
    ///
    /// # Errors
    /// When the spacing is not positive or the rectangle holds no two samples a side.
    pub fn resampled(&self, rect: &Rect, spacing_m: [f64; 2]) -> Result<Self, FrameError> {
        match self.part(rect, spacing_m)? {
            Some(frame) if frame.cols >= 2 && frame.rows >= 2 => Ok(frame),
            Some(frame) => Err(FrameError::TooFewSamples(frame.cols.min(frame.rows))),
            None => Err(FrameError::TooFewSamples(0)),
        }
    }

    /// The samples of a spacing, anchored like this frame, that lie in a rectangle inside or outside of it; `None` when
    /// there are none.
    ///
    /// # Errors
    /// When the spacing is not positive, or a corner is too far out for sample positions to differ.
    pub fn part(&self, rect: &Rect, spacing_m: [f64; 2]) -> Result<Option<Self>, FrameError> {
        for found in spacing_m {
            check_length("spacing_m", 1e-6, found)?;
        }
        for found in rect.min.into_iter().chain(rect.max) {
            // A frame at the farthest origin still has its whole length before it.
            if !(-2.0 * MOST_M..=2.0 * MOST_M).contains(&found) {
                return Err(FrameError::TooFar(found));
            }
        }
        let [least, most] = [i64::MIN / 4, i64::MAX / 4];
        Ok(Self { spacing_m, ..*self }.samples_in(rect, [least, least, most, most]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_give_shared_samples_the_same_position() {
        let whole = Frame::new([123.456, -7.1], [1000.1, 800.3], [513, 257]).unwrap();
        let part = whole.window(100, 30, 50, 40);
        assert_eq!(whole.x_m(117).to_bits(), part.x_m(17).to_bits());
        assert_eq!(whole.y_m(42).to_bits(), part.y_m(12).to_bits());
        assert_eq!(whole.offset_of(&part), Some((100, 30)));
        assert_eq!(part.offset_of(&whole), None);
    }

    #[test]
    fn halved_spacing_keeps_every_sample_in_place() {
        let coarse = Frame::square(8192.0, 513).unwrap();
        let [sx, sy] = coarse.spacing_m();
        let fine = coarse.resampled(&coarse.extent(), [sx / 2.0, sy / 2.0]).unwrap();
        assert_eq!((fine.cols(), fine.rows()), (1025, 1025));
        assert_eq!(coarse.x_m(77).to_bits(), fine.x_m(154).to_bits());
        assert_eq!(coarse.y_m(0).to_bits(), fine.y_m(0).to_bits());
    }

    #[test]
    fn expanding_then_clipping_stays_inside() {
        let whole = Frame::square(100.0, 11).unwrap();
        let part = whole.window(0, 4, 3, 3);
        let halo = part.expanded(20.0).clipped(&whole.extent()).unwrap();
        assert_eq!((halo.cols(), halo.rows()), (5, 7));
        assert_eq!(whole.offset_of(&halo), Some((0, 2)));
        assert_eq!(part.union(&halo), Some(halo));
    }

    #[test]
    fn bad_frames_are_refused() {
        assert_eq!(Frame::square(10.0, 1), Err(FrameError::TooFewSamples(1)));
        assert!(Frame::square(f64::NAN, 9).is_err());
        assert!(Frame::square(-1.0, 9).is_err());
        assert!(Frame::new([f64::INFINITY, 0.0], [1.0, 1.0], [2, 2]).is_err());
    }

    #[test]
    fn a_part_may_lie_outside_on_the_same_lattice() {
        let whole = Frame::new([100.0, 50.0], [100.0, 100.0], [11, 11]).unwrap();
        let rect = Rect { min: [-22.0, 140.0], max: [15.0, 171.0] };
        let part = whole.part(&rect, whole.spacing_m()).unwrap().unwrap();
        assert!(part.same_lattice(&whole));
        assert_eq!(part.extent(), Rect { min: [-20.0, 140.0], max: [10.0, 170.0] });
        assert_eq!(whole.part(&whole.extent(), whole.spacing_m()), Ok(Some(whole)));
        let between = Rect { min: [101.0, 61.0], max: [109.0, 69.0] };
        assert_eq!(whole.part(&between, whole.spacing_m()), Ok(None));
        let far = Rect { min: [0.0, 0.0], max: [1e300, 1.0] };
        assert!(whole.part(&far, whole.spacing_m()).is_err());
    }

    #[test]
    fn locate_inverts_position() {
        let frame = Frame::new([5.0, 6.0], [90.0, 40.0], [10, 5]).unwrap();
        assert_eq!(frame.locate(frame.x_m(3), frame.y_m(1)), [3.0, 1.0]);
    }
}
