//! Which features may touch a row: bands of rows, each with its features in the order of the list.

use std::ops::Range;

use orogen_core::{Frame, Rect};

use crate::brush::span;

/// Rows of a band: few enough that hardly a feature in it misses a row, many enough that a band is quickly filled.
const TALL: usize = 16;

/// A feature, or one arc of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Part {
    /// Number of the feature.
    pub feature: u32,
    /// Number of its arc; 0 for features around a point.
    pub arc: u32,
}

/// Parts by the band of rows they touch. 8 bytes a part and band.
pub(super) struct Bands {
    /// Where each band starts in `parts`, and the end of the last.
    starts: Vec<usize>,
    parts: Vec<Part>,
}

impl Bands {
    /// Sorts parts, given in the order in which they act, into the bands of a frame. Parts that miss the frame are left out.
    pub fn new(frame: &Frame, parts: &[(Part, Rect)]) -> Self {
        let bands = frame.rows().div_ceil(TALL);
        let touched = |rect: &Rect| {
            let (cols, rows) = (columns(frame, rect.min[0], rect.max[0]), rows(frame, rect));
            if cols.is_empty() || rows.is_empty() {
                0..0
            } else {
                rows.start / TALL..(rows.end - 1) / TALL + 1
            }
        };
        let mut starts = vec![0; bands + 1];
        for (_, rect) in parts {
            touched(rect).for_each(|band| starts[band + 1] += 1);
        }
        for band in 0..bands {
            starts[band + 1] += starts[band];
        }
        let mut next = starts.clone();
        let mut sorted = vec![Part { feature: 0, arc: 0 }; starts[bands]];
        for (part, rect) in parts {
            for band in touched(rect) {
                sorted[next[band]] = *part;
                next[band] += 1;
            }
        }
        Self { starts, parts: sorted }
    }

    /// The parts that may touch a row, in their order, feature by feature.
    pub fn of_row(&self, row: usize) -> impl Iterator<Item = &[Part]> {
        let band = row / TALL;
        self.parts[self.starts[band]..self.starts[band + 1]].chunk_by(|a, b| a.feature == b.feature)
    }
}

/// The columns of a frame between two eastings, with one to spare on both sides.
pub(super) fn columns(frame: &Frame, west: f64, east: f64) -> Range<usize> {
    span(frame.locate(west, 0.0)[0], frame.locate(east, 0.0)[0], frame.cols())
}

fn rows(frame: &Frame, rect: &Rect) -> Range<usize> {
    span(frame.locate(0.0, rect.max[1])[1], frame.locate(0.0, rect.min[1])[1], frame.rows())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_finds_what_touches_it_in_order() {
        let frame = Frame::square(1000.0, 101).unwrap();
        let part = |feature, arc| Part { feature, arc };
        let rect = |x: f64, y: f64, r: f64| Rect { min: [x - r, y - r], max: [x + r, y + r] };
        let parts = [
            (part(0, 0), rect(500.0, 500.0, 2000.0)),
            (part(1, 0), rect(5000.0, 500.0, 100.0)),
            (part(2, 0), rect(100.0, 950.0, 30.0)),
            (part(2, 1), rect(150.0, 950.0, 30.0)),
            (part(3, 0), rect(100.0, 50.0, 10.0)),
        ];
        let bands = Bands::new(&frame, &parts);
        let at = |row: usize| bands.of_row(row).map(<[Part]>::to_vec).collect::<Vec<_>>();
        assert_eq!(at(5), [vec![part(0, 0)], vec![part(2, 0), part(2, 1)]]);
        assert_eq!(at(50), [vec![part(0, 0)]]);
        assert_eq!(at(95), [vec![part(0, 0)], vec![part(3, 0)]]);
        assert!(Bands::new(&frame, &[]).of_row(100).next().is_none());
    }
}
