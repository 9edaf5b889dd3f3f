//! A contact sheet: pictures of one size side by side, each with its name below.

use crate::png8::Picture;
use crate::strokes;

/// Pixels between pictures, and below them for the name.
const GAP_PX: usize = 8;
const NAME_PX: usize = 30;
/// Pixels to a unit of the letters' grid, and the width of the pen.
const LETTER_PX: f64 = 2.2;
const PEN_PX: f64 = 1.7;
const PAPER: [u8; 3] = [250, 250, 248];
const INK: [u8; 3] = [40, 40, 44];

/// Lays pictures out in rows of `columns`. Each gets the room of the largest.
#[must_use]
pub fn sheet(pictures: &[(String, Picture)], columns: usize) -> Picture {
    let columns = columns.clamp(1, pictures.len().max(1));
    let width = pictures.iter().map(|(_, picture)| picture.cols()).max().unwrap_or(1);
    let height = pictures.iter().map(|(_, picture)| picture.rows()).max().unwrap_or(1);
    let rows = pictures.len().div_ceil(columns);
    let cell = [width + GAP_PX, height + GAP_PX + NAME_PX];
    let mut sheet = Picture::filled(columns * cell[0] + GAP_PX, rows * cell[1] + GAP_PX, PAPER);
    for (index, (name, picture)) in pictures.iter().enumerate() {
        let left = index % columns * cell[0] + GAP_PX;
        let top = index / columns * cell[1] + GAP_PX;
        let stride = sheet.cols();
        for row in 0..picture.rows() {
            let at = (top + row) * stride + left;
            sheet.as_mut_slice()[at..at + picture.cols()].copy_from_slice(picture.row(row));
        }
        let place = [left as f64 + 2.0, (top + height) as f64 + 7.0];
        write(&mut sheet, name, place, width as f64, &Pen { letter_px: LETTER_PX, pen_px: PEN_PX, ink: INK });
    }
    sheet
}

/// How letters are drawn.
pub(crate) struct Pen {
    /// Pixels to a unit of the letters' grid.
    pub letter_px: f64,
    /// The width of a line.
    pub pen_px: f64,
    /// Its colour.
    pub ink: [u8; 3],
}

/// Writes a line of text whose upper left corner is at a place, as far as there is room.
pub(crate) fn write(sheet: &mut Picture, text: &str, at: [f64; 2], room: f64, pen: &Pen) {
    let (strokes, _) = strokes::lines(text);
    for stroke in strokes {
        let placed: Vec<[f64; 2]> =
            stroke.iter().map(|p| [at[0] + pen.letter_px * p[0], at[1] + pen.letter_px * p[1]]).collect();
        for pair in placed.windows(2).filter(|pair| pair.iter().all(|p| p[0] - at[0] < room)) {
            line(sheet, pair[0], pair[1], pen);
        }
    }
}

/// A line with round ends, smooth at its edges.
pub(crate) fn line(sheet: &mut Picture, a: [f64; 2], b: [f64; 2], pen: &Pen) {
    let (cols, rows) = (sheet.cols(), sheet.rows());
    let span = |from: f64, to: f64, end: usize| {
        (from - pen.pen_px).max(0.0) as usize..((to + pen.pen_px).max(0.0) as usize + 1).min(end)
    };
    let along = [b[0] - a[0], b[1] - a[1]];
    let square = (along[0] * along[0] + along[1] * along[1]).max(1e-12);
    for row in span(a[1].min(b[1]), a[1].max(b[1]), rows) {
        for col in span(a[0].min(b[0]), a[0].max(b[0]), cols) {
            let to = [col as f64 + 0.5 - a[0], row as f64 + 0.5 - a[1]];
            let share = ((to[0] * along[0] + to[1] * along[1]) / square).clamp(0.0, 1.0);
            let (dx, dy) = (to[0] - share * along[0], to[1] - share * along[1]);
            let ink = (0.5 + 0.5 * pen.pen_px - (dx * dx + dy * dy).sqrt()).clamp(0.0, 1.0);
            mix(&mut sheet.as_mut_slice()[row * cols + col], pen.ink, ink);
        }
    }
}

/// Moves a pixel toward a colour.
pub(crate) fn mix(pixel: &mut [u8; 3], color: [u8; 3], share: f64) {
    for (part, to) in pixel.iter_mut().zip(color) {
        let mixed = f64::from(*part) + (f64::from(to) - f64::from(*part)) * share;
        *part = mixed.round() as u8;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pictures_stand_in_rows_and_names_are_written() {
        let red = Picture::filled(40, 30, [200, 0, 0]);
        let pictures: Vec<(String, Picture)> =
            ["a", "bb", &"long ".repeat(99)].map(|name| (name.to_owned(), red.clone())).into();
        let made = sheet(&pictures, 2);
        assert_eq!((made.cols(), made.rows()), (2 * 48 + 8, 2 * 68 + 8));
        let reds = made.as_slice().iter().filter(|&&p| p == [200, 0, 0]).count();
        assert_eq!(reds, 3 * 40 * 30, "no name is written over a picture");
        assert!(made.as_slice().iter().any(|p| p[0] < 100), "no ink");
        assert!(sheet(&[], 3).as_slice().iter().all(|&p| p == PAPER), "nothing to show is paper");
    }
}
