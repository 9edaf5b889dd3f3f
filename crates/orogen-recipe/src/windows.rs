//! What sources made for windows of late, so that a window beside them makes only what they do not cover.
//!
//! Finer windows need some of their input around them, and neighbours share it: of a tile of 65 x 65 samples with 16 around it
//! more than half.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use orogen_core::{Frame, Part, Terrain};

/// Bytes that are kept at most, whatever is allowed.
const MOST_BYTES: u64 = 48 << 20;
/// Share of what a session may keep that is kept here at most.
const SHARE: u64 = 16;
/// Less room holds too few windows to meet a neighbour again: then nothing is kept.
const LEAST_BYTES: u64 = 1 << 18;
/// A window of more samples has little around it, and is not worth keeping.
const MOST_SAMPLES: usize = 1 << 17;
/// Rectangles that a window may fall into where others cover the rest.
const MOST_PIECES: usize = 3;
/// One over the share of a window that another must cover to be of use.
const LEAST_SHARE: usize = 8;

/// The windows, the least lately used first, bounded in bytes.
#[derive(Debug, Default)]
pub(crate) struct Windows {
    kept: Mutex<Vec<Kept>>,
}

#[derive(Clone, Debug)]
struct Kept {
    step: usize,
    /// Parts that were asked for; all of them where `None`.
    wanted: Option<Arc<BTreeSet<Part>>>,
    land: Terrain,
    bytes: u64,
}

impl Windows {
    fn kept(&self) -> MutexGuard<'_, Vec<Kept>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Bytes that are kept.
    pub fn bytes(&self) -> u64 {
        self.kept().iter().map(|kept| kept.bytes).sum()
    }

    /// Keeps what belongs to the steps that have a new number, under that.
    pub fn keep_steps(&self, new_number: impl Fn(usize) -> Option<usize>) {
        self.kept().retain_mut(|kept| new_number(kept.step).map(|step| kept.step = step).is_some());
    }

    /// What a source makes on a frame, from windows that are kept and, by `make`, the rest. The source must make the same
    /// of a place whatever the window. `max_bytes` is what the session may keep.
    pub fn made<E>(
        &self,
        step: usize,
        wanted: Option<&Arc<BTreeSet<Part>>>,
        frame: &Frame,
        max_bytes: u64,
        make: impl Fn(Frame) -> Result<Terrain, E>,
    ) -> Result<Terrain, E> {
        if frame.len() > MOST_SAMPLES {
            return make(*frame);
        }
        let (found, rest) = self.cover(step, wanted, frame);
        let mut pieces = found;
        if pieces.is_empty() {
            pieces.push(make(*frame)?);
        } else {
            for part in rest {
                pieces.push(make(part)?);
            }
        }
        let land = match joined(frame, &pieces) {
            Some(land) => land,
            None => make(*frame)?,
        };
        self.keep(step, wanted, &land, max_bytes);
        Ok(land)
    }

    /// Windows that cover a part of a frame, and what they leave.
    fn cover(
        &self,
        step: usize,
        wanted: Option<&Arc<BTreeSet<Part>>>,
        frame: &Frame,
    ) -> (Vec<Terrain>, Vec<Frame>) {
        let mut kept = self.kept();
        let mut rest = vec![*frame];
        let mut found = Vec::new();
        for i in (0..kept.len()).rev() {
            if kept[i].step != step || kept[i].wanted.as_ref() != wanted {
                continue;
            }
            let window = kept[i].land.frame();
            let covered: usize = rest.iter().filter_map(|part| common(part, window)).map(|c| c.len()).sum();
            if covered * LEAST_SHARE < frame.len() {
                continue;
            }
            let left: Vec<Frame> = rest.iter().flat_map(|part| without(part, window)).collect();
            if left.len() <= MOST_PIECES {
                rest = left;
                let used = kept.remove(i);
                found.push(used.land.clone());
                kept.push(used);
            }
            if rest.is_empty() {
                break;
            }
        }
        (found, rest)
    }

    fn keep(&self, step: usize, wanted: Option<&Arc<BTreeSet<Part>>>, land: &Terrain, max_bytes: u64) {
        let most = MOST_BYTES.min(max_bytes / SHARE);
        let bytes = land.layers().values().map(|data| data.bytes().len() as u64).sum();
        let mut kept = self.kept();
        // A window that lies in this one has nothing more to give.
        kept.retain(|old| {
            old.step != step
                || old.wanted.as_ref() != wanted
                || land.frame().offset_of(old.land.frame()).is_none()
        });
        let mut total: u64 = kept.iter().map(|kept| kept.bytes).sum::<u64>() + bytes;
        while total > most && !kept.is_empty() {
            total -= kept.remove(0).bytes;
        }
        if total <= most && most >= LEAST_BYTES {
            kept.push(Kept { step, wanted: wanted.cloned(), land: land.clone(), bytes });
        }
    }
}

/// Lands on parts of a frame as one; later ones cover earlier ones. `None` where they do not hold the same layers, or hold
/// things that belong to a place.
fn joined(frame: &Frame, pieces: &[Terrain]) -> Option<Terrain> {
    let first = pieces.first()?;
    if let Some(whole) = pieces.iter().find_map(|piece| piece.crop(frame)) {
        return Some(whole);
    }
    if pieces.iter().any(|piece| {
        !piece.instances().is_empty()
            || !piece.layers().keys().eq(first.layers().keys())
            || !piece.vectors().keys().eq(first.vectors().keys())
    }) {
        return None;
    }
    let place = first.place();
    let mut parts = first.clone().into_parts();
    for (name, data) in &mut parts.layers {
        let mut whole = data.picked(&vec![0; frame.cols()], &vec![0; frame.rows()]);
        for piece in pieces {
            let common = common(frame, piece.frame())?;
            let ((from_col, from_row), (col, row)) =
                (piece.frame().offset_of(&common)?, frame.offset_of(&common)?);
            let part = piece.layers().get(name)?.crop(from_col, from_row, common.cols(), common.rows());
            if !whole.paste(col, row, &part) {
                return None;
            }
        }
        *data = whole;
    }
    let mut land = Terrain::from_parts(*frame, parts)?;
    land.set_place(place);
    Some(land)
}

/// Columns and rows of a frame from those of another's first sample: first column, first row, and their ends.
fn bounds(frame: &Frame, of: &Frame) -> [i64; 4] {
    let ((west, north), (col, row)) = (frame.lattice(0, 0), of.lattice(0, 0));
    let (col, row) = (col - west, north - row);
    [col, row, col + of.cols() as i64, row + of.rows() as i64]
}

/// A part of a frame by columns and rows from its first; `None` where that is empty.
fn part(frame: &Frame, [col, row, east, south]: [i64; 4]) -> Option<Frame> {
    let (cols, rows) = (usize::try_from(east - col).ok()?, usize::try_from(south - row).ok()?);
    (cols > 0 && rows > 0).then(|| frame.window(col, row, cols, rows))
}

/// Samples that two frames of a lattice share.
fn common(a: &Frame, b: &Frame) -> Option<Frame> {
    if !a.same_lattice(b) {
        return None;
    }
    let [col, row, east, south] = bounds(a, b);
    part(a, [col.max(0), row.max(0), east.min(a.cols() as i64), south.min(a.rows() as i64)])
}

/// What is left of a frame without another: above it, below it, left and right of it.
fn without(frame: &Frame, other: &Frame) -> Vec<Frame> {
    let Some(middle) = common(frame, other) else { return vec![*frame] };
    let [col, row, east, south] = bounds(frame, &middle);
    let (cols, rows) = (frame.cols() as i64, frame.rows() as i64);
    let around = [[0, 0, cols, row], [0, south, cols, rows], [0, row, col, south], [east, row, cols, south]];
    around.into_iter().filter_map(|edges| part(frame, edges)).collect()
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use orogen_core::{Raster, layer};

    use super::*;

    /// Land that says where it is.
    fn land(frame: Frame) -> Terrain {
        let mut land = Terrain::new(frame);
        let at = |col, row| {
            let (x, y) = frame.lattice(col, row);
            (1000 * x + y) as f32
        };
        land.set(layer::HEIGHT, Raster::from_fn(frame.cols(), frame.rows(), at));
        land
    }

    #[test]
    fn windows_make_only_what_others_do_not_cover() {
        let world = Frame::square(4000.0, 1001).expect("a frame");
        let windows = Windows::default();
        let made = Cell::new(0);
        let ask = |col: i64, row: i64, cols, rows| {
            made.set(0);
            let frame = world.window(col, row, cols, rows);
            let got = windows.made(0, None, &frame, u64::MAX, |frame| {
                made.set(made.get() + frame.len());
                Ok::<_, ()>(land(frame))
            });
            assert_eq!(got, Ok(land(frame)), "{col} {row} {cols} {rows}");
            made.get()
        };
        assert_eq!(ask(100, 100, 97, 97), 97 * 97);
        assert_eq!(ask(100, 100, 97, 97), 0, "the same again");
        assert_eq!(ask(110, 120, 50, 60), 0, "a part of it");
        assert_eq!(ask(164, 100, 97, 97), 97 * 64, "east of it");
        assert_eq!(ask(100, 164, 97, 97), 97 * 64, "south of it");
        assert_eq!(ask(164, 164, 97, 97), 64 * 64, "between three");
        assert_eq!(ask(193, 193, 97, 97), 97 * 97 - 68 * 68, "a corner of the last");
        assert_eq!(ask(700, 700, 97, 97), 97 * 97, "far away");
        // Windows in a spiral, of many shapes.
        for i in 0..60i64 {
            ask(
                300 + 17 * i % 130,
                300 + 29 * i % 170,
                20 + (7 * i % 90) as usize,
                20 + (11 * i % 80) as usize,
            );
        }
    }

    #[test]
    fn memory_is_bounded_and_steps_are_kept_apart() {
        let world = Frame::square(4000.0, 1001).expect("a frame");
        let windows = Windows::default();
        let make = |frame| Ok::<_, ()>(land(frame));
        for i in 0..100 {
            let frame = world.window(8 * i, 0, 100, 60);
            windows.made(i as usize % 2, None, &frame, SHARE * LEAST_BYTES, make).expect("land");
            assert!(windows.bytes() <= LEAST_BYTES);
        }
        assert!(windows.bytes() > LEAST_BYTES / 2);
        windows.keep_steps(|step| (step == 1).then_some(0));
        let other = |_| Err::<Terrain, _>(());
        let last = world.window(8 * 99, 0, 100, 60);
        assert_eq!(windows.made(0, None, &last, u64::MAX, other), Ok(land(last)));
        assert!(windows.made(1, None, &last, u64::MAX, other).is_err());
        windows.made(0, None, &last, 0, make).expect("land");
        assert_eq!(windows.bytes(), 0);
    }
}
