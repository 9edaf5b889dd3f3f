//! What the colours of a picture mean, in a corner of it.

use crate::png8::Picture;
use crate::sheet::{Pen, mix, write};
use crate::strokes;

/// One thing that is said.
#[derive(Clone, Debug, PartialEq)]
pub enum Caption {
    /// Colours that run from one value to another.
    Ramp {
        /// What they say.
        title: String,
        /// The colours, from the first value on.
        colors: Vec<[u8; 3]>,
        /// What is written below them: how far along, and what.
        marks: Vec<(f64, String)>,
    },
    /// A colour for each of a few things.
    Keys {
        /// What they say.
        title: String,
        /// Colours and names.
        keys: Vec<([u8; 3], String)>,
    },
    /// A line of text.
    Note(String),
}

const PANEL: [u8; 3] = [16, 18, 22];
const PANEL_SHARE: f64 = 0.62;
const INK: [u8; 3] = [245, 245, 242];
/// Units of the letters' grid: a line of text, the gap around, a ramp's width and height, the side of a key.
const LINE: f64 = 12.0;
const GAP: f64 = 7.0;
const RAMP: [f64; 2] = [150.0, 8.0];
const KEY: f64 = 8.0;

impl Caption {
    /// Width and height in units of the letters' grid.
    fn size(&self) -> [f64; 2] {
        let text = |text: &str| strokes::lines(text).1;
        match self {
            Self::Ramp { title, .. } => [text(title).max(RAMP[0] + 12.0), 2.0 * LINE + RAMP[1] + 3.0],
            Self::Keys { title, keys } => {
                let widest = keys.iter().map(|(_, name)| text(name)).fold(0.0, f64::max);
                [text(title).max(widest + KEY + 6.0), LINE * (keys.len() + 1) as f64]
            }
            Self::Note(note) => [text(note), LINE],
        }
    }
}

/// Draws captions into the lower left corner of a picture, one below the other, on a dark panel. What does not fit is cut.
pub fn stamp(picture: &mut Picture, captions: &[Caption]) {
    if captions.is_empty() {
        return;
    }
    let (cols, rows) = (picture.cols() as f64, picture.rows() as f64);
    let sizes: Vec<[f64; 2]> = captions.iter().map(Caption::size).collect();
    let widest = sizes.iter().map(|size| size[0]).fold(0.0, f64::max);
    let tall: f64 = sizes.iter().map(|size| size[1] + 0.5 * GAP).sum::<f64>() - 0.5 * GAP;
    // Letters grow with the picture, and the panel never fills it.
    let wanted = (rows / 480.0).clamp(0.8, 4.0) * 1.25;
    let unit = wanted.min(0.9 * cols / (widest + 2.0 * GAP)).min(0.9 * rows / (tall + 2.0 * GAP)).max(0.3);
    let pen = Pen { letter_px: unit, pen_px: (1.15 * unit).max(1.1), ink: INK };
    let margin = GAP * unit;
    let panel = [(widest + 2.0 * GAP) * unit, (tall + 2.0 * GAP) * unit];
    let corner = [margin, rows - margin - panel[1]];
    fill(picture, corner, panel, PANEL, PANEL_SHARE);
    let mut y = corner[1] + GAP * unit;
    let x = corner[0] + GAP * unit;
    for (caption, size) in captions.iter().zip(&sizes) {
        match caption {
            Caption::Note(note) => write(picture, note, [x, y + 2.0 * unit], cols, &pen),
            Caption::Keys { title, keys } => {
                write(picture, title, [x, y + 2.0 * unit], cols, &pen);
                for (i, (color, name)) in keys.iter().enumerate() {
                    let top = y + LINE * unit * (i + 1) as f64;
                    fill(picture, [x, top + unit], [KEY * unit, KEY * unit], *color, 1.0);
                    write(picture, name, [x + (KEY + 5.0) * unit, top + 2.0 * unit], cols, &pen);
                }
            }
            Caption::Ramp { title, colors, marks } => {
                write(picture, title, [x, y + 2.0 * unit], cols, &pen);
                let (left, top) = (x + 4.0 * unit, y + LINE * unit);
                let wide = RAMP[0] * unit;
                let each = wide / colors.len().max(1) as f64;
                for (i, color) in colors.iter().enumerate() {
                    fill(picture, [left + each * i as f64, top], [each + 0.5, RAMP[1] * unit], *color, 1.0);
                }
                for (share, text) in marks {
                    let at = left + share.clamp(0.0, 1.0) * wide;
                    let width = strokes::lines(text).1 * unit;
                    fill(
                        picture,
                        [at - 0.3 * unit, top + RAMP[1] * unit],
                        [0.8 * unit, 2.0 * unit],
                        INK,
                        1.0,
                    );
                    let from = (at - 0.5 * width).clamp(x, x + widest * unit - width);
                    write(picture, text, [from, top + (RAMP[1] + 4.0) * unit], cols, &pen);
                }
            }
        }
        y += (size[1] + 0.5 * GAP) * unit;
    }
}

/// Moves a rectangle toward a colour.
fn fill(picture: &mut Picture, at: [f64; 2], size: [f64; 2], color: [u8; 3], share: f64) {
    let stride = picture.cols();
    let span = |axis: usize, most: usize| {
        let end = |x: f64| (x + 0.5).clamp(0.0, most as f64) as usize;
        end(at[axis])..end(at[axis] + size[axis])
    };
    let cols = span(0, stride);
    for row in span(1, picture.rows()) {
        for pixel in &mut picture.as_mut_slice()[row * stride..][cols.clone()] {
            mix(pixel, color, share);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> Vec<Caption> {
        let red = [200, 30, 30];
        vec![
            Caption::Ramp {
                title: String::from("height, m"),
                colors: vec![red; 8],
                marks: vec![(0.0, String::from("0")), (1.0, String::from("1200"))],
            },
            Caption::Keys {
                title: String::from("biomes"),
                keys: vec![([10, 200, 10], String::from("taiga"))],
            },
            Caption::Note(String::from("contours every 50 m")),
        ]
    }

    #[test]
    fn captions_lie_in_a_corner_and_leave_the_rest() {
        let mut picture = Picture::filled(640, 480, [120, 120, 120]);
        stamp(&mut picture, &all());
        let count = |is: &dyn Fn(&[u8; 3]) -> bool| picture.as_slice().iter().filter(|p| is(p)).count();
        assert!(count(&|p| *p == [200, 30, 30]) > 500, "no ramp");
        assert!(count(&|p| *p == [10, 200, 10]) > 40, "no key");
        assert!(count(&|p| p[0] > 230 && p[2] > 230) > 200, "no letters");
        assert!(picture.row(100).iter().all(|p| *p == [120; 3]), "the upper part is left alone");
        assert!((0..480).all(|row| picture.row(row)[600] == [120; 3]), "the right is left alone");
    }

    #[test]
    fn tiny_pictures_and_long_texts_do_no_harm() {
        for (cols, rows) in [(1, 1), (16, 9), (2, 900)] {
            let mut picture = Picture::filled(cols, rows, [9, 9, 9]);
            stamp(&mut picture, &[Caption::Note("long ".repeat(500))]);
            stamp(&mut picture, &all());
        }
        let mut same = Picture::filled(5, 5, [1, 2, 3]);
        stamp(&mut same, &[]);
        assert!(same.as_slice().iter().all(|p| *p == [1, 2, 3]));
    }
}
