//! The plot of a profile as a picture, laid out as the scalable one is.
//!
//! Drawn three times as large with hard edges and averaged, so that lines are smooth. Labels are drawn with a pen, so no
//! font is needed and every machine gives the same bytes.

use crate::png8::Picture;
use crate::strokes;
use crate::svg::Layout;

/// Drawn this much larger, then averaged.
const FINER: usize = 3;
const PAPER: [u8; 3] = [255, 255, 255];
const LAND: [u8; 3] = [233, 216, 196];
const GRID: [u8; 3] = [221, 221, 221];
const LINE: [u8; 3] = [122, 67, 18];
const TEXT: [u8; 3] = [51, 51, 51];
/// Pixels to a unit of the letters' grid, which makes capitals 9 pixels high.
const LETTER_PX: f64 = 1.5;
const PEN_PX: f64 = 1.2;

/// Plots heights over distances, both in metres; a height that is NaN leaves a gap.
#[must_use]
pub fn profile(title: &str, distances_m: &[f64], heights_m: &[f32]) -> Picture {
    let layout = Layout::new(distances_m, heights_m);
    let [left, top, wide, tall] = layout.area;
    let mut sheet = Sheet::new(layout.size);
    for run in &layout.ground {
        sheet.land(run, top + tall);
    }
    for (y, shown) in &layout.heights {
        sheet.line([left, *y], [left + wide, *y], 1.0, GRID);
        sheet.text(shown, [left - 8.0, y + 4.5], 1.0);
    }
    for (x, shown) in &layout.distances {
        sheet.line([*x, top], [*x, top + tall], 1.0, GRID);
        sheet.text(shown, [*x, top + tall + 18.0], 0.5);
    }
    for run in &layout.ground {
        sheet.polyline(run, 1.6, LINE);
    }
    sheet.text(layout.unit, [left + 0.5 * wide, layout.size[1] - 8.0], 0.5);
    sheet.text(&format!("{title}, height in m"), [left, 18.0], 0.0);
    sheet.averaged()
}

/// Boxes of colour with a line of text each, one below another: the legend of a map.
#[must_use]
pub fn legend(lines: &[([u8; 3], String)]) -> Picture {
    const LINE_PX: f64 = 22.0;
    const BOX_PX: f64 = 14.0;
    let widest = lines.iter().map(|(_, text)| strokes::lines(text).1).fold(40.0, f64::max);
    let wide = (3.0 * BOX_PX + LETTER_PX * widest + 12.0).min(1200.0).ceil();
    let mut sheet = Sheet::new([wide, LINE_PX * lines.len().max(1) as f64 + 10.0]);
    for (i, (color, text)) in lines.iter().enumerate() {
        let middle = 5.0 + LINE_PX * (i as f64 + 0.5);
        sheet.rectangle([8.0, middle - 0.5 * BOX_PX], [8.0 + 1.6 * BOX_PX, middle + 0.5 * BOX_PX], *color);
        sheet.text(text, [2.6 * BOX_PX, middle + 4.5], 0.0);
    }
    sheet.averaged()
}

/// What is drawn on, with hard edges.
struct Sheet(Picture);

impl Sheet {
    fn new(size: [f64; 2]) -> Self {
        Self(Picture::filled(size[0] as usize * FINER, size[1] as usize * FINER, PAPER))
    }

    /// Whole numbers of fine pixels that a stretch covers, inside the sheet.
    fn span(from: f64, to: f64, most: usize) -> std::ops::Range<usize> {
        let fine = |at: f64| (at * FINER as f64 + 0.5).clamp(0.0, most as f64) as usize;
        fine(from)..fine(to)
    }

    /// A box of a colour with a thin dark edge.
    fn rectangle(&mut self, a: [f64; 2], b: [f64; 2], color: [u8; 3]) {
        let stride = self.0.cols();
        let cols = Self::span(a[0], b[0], stride);
        for row in Self::span(a[1], b[1], self.0.rows()) {
            self.0.as_mut_slice()[row * stride..][cols.clone()].fill(color);
        }
        for [from, to] in [[a, [b[0], a[1]]], [[b[0], a[1]], b], [b, [a[0], b[1]]], [[a[0], b[1]], a]] {
            self.line(from, to, 1.0, TEXT);
        }
    }

    /// A line of a width, its ends round.
    fn line(&mut self, a: [f64; 2], b: [f64; 2], width: f64, color: [u8; 3]) {
        let half = 0.5 * width;
        let cols = Self::span(a[0].min(b[0]) - half, a[0].max(b[0]) + half, self.0.cols());
        let along = [b[0] - a[0], b[1] - a[1]];
        let length2 = along[0] * along[0] + along[1] * along[1];
        let stride = self.0.cols();
        for row in Self::span(a[1].min(b[1]) - half, a[1].max(b[1]) + half, self.0.rows()) {
            for col in cols.clone() {
                let at = [col, row].map(|i| (i as f64 + 0.5) / FINER as f64);
                let off = [at[0] - a[0], at[1] - a[1]];
                let share = (off[0] * along[0] + off[1] * along[1]) / length2.max(1e-12);
                let share = share.clamp(0.0, 1.0);
                let off = [off[0] - share * along[0], off[1] - share * along[1]];
                if off[0] * off[0] + off[1] * off[1] <= half * half {
                    self.0.as_mut_slice()[row * stride + col] = color;
                }
            }
        }
    }

    fn polyline(&mut self, points: &[[f64; 2]], width: f64, color: [u8; 3]) {
        if let [only] = points {
            self.line(*only, *only, width, color);
        }
        for pair in points.windows(2) {
            self.line(pair[0], pair[1], width, color);
        }
    }

    /// The ground below a line that runs to the right, down to a level.
    fn land(&mut self, line: &[[f64; 2]], down_to: f64) {
        let stride = self.0.cols();
        for pair in line.windows(2) {
            let [a, b] = [pair[0], pair[1]];
            for col in Self::span(a[0], b[0], self.0.cols()) {
                let share = ((col as f64 + 0.5) / FINER as f64 - a[0]) / (b[0] - a[0]);
                let y = a[1] + share * (b[1] - a[1]);
                for row in Self::span(y, down_to, self.0.rows()) {
                    self.0.as_mut_slice()[row * stride + col] = LAND;
                }
            }
        }
    }

    /// Text on a base line; `share` of its width lies left of the place.
    fn text(&mut self, text: &str, at: [f64; 2], share: f64) {
        // Longer ones would run off the sheet.
        let text: String = text.chars().take(150).collect();
        let (strokes, width) = strokes::lines(&text);
        for stroke in strokes {
            let placed: Vec<[f64; 2]> = stroke
                .iter()
                .map(|p| {
                    [at[0] + LETTER_PX * (p[0] - share * width), at[1] + LETTER_PX * (p[1] - strokes::BASE)]
                })
                .collect();
            self.polyline(&placed, PEN_PX, TEXT);
        }
    }

    fn averaged(&self) -> Picture {
        let mean = |col: usize, row: usize| {
            let mut sums = [0u32; 3];
            for row in row * FINER..(row + 1) * FINER {
                for color in &self.0.row(row)[col * FINER..(col + 1) * FINER] {
                    for (sum, &part) in sums.iter_mut().zip(color) {
                        *sum += u32::from(part);
                    }
                }
            }
            sums.map(|sum| (sum / (FINER * FINER) as u32) as u8)
        };
        Picture::from_fn(self.0.cols() / FINER, self.0.rows() / FINER, mean)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share_of(picture: &Picture, is: impl Fn([u8; 3]) -> bool) -> f64 {
        let count = picture.as_slice().iter().filter(|&&color| is(color)).count();
        count as f64 / picture.as_slice().len() as f64
    }

    #[test]
    fn the_ground_is_filled_and_a_hole_leaves_a_gap() {
        let distances: Vec<f64> = (0..=100).map(f64::from).collect();
        let mut heights = vec![50.0f32; 101];
        heights[0] = 0.0;
        heights[100] = 100.0;
        let land = |heights: &[f32]| share_of(&profile("a", &distances, heights), |color| color == LAND);
        let whole = land(&heights);
        heights[26..75].fill(f32::NAN);
        let holed = land(&heights);
        assert!(whole > 0.3 && (holed / whole - 0.5).abs() < 0.05, "{whole} {holed}");
    }

    #[test]
    fn labels_are_drawn_and_odd_profiles_do_no_harm() {
        let dark = |picture: &Picture| share_of(picture, |color| color[0] < 120 && color[2] > 40);
        let titled = |title: &str| dark(&profile(title, &[0.0, 1.0], &[1.0, 2.0]));
        assert!(titled("a long title with many letters") > titled("") + 1e-4);
        for odd in [&[][..], &[f32::NAN][..], &[5.0][..], &[f32::INFINITY, 1.0][..]] {
            let picture = profile(&"ä".repeat(1000), &vec![0.0; odd.len()], odd);
            assert_eq!((picture.cols(), picture.rows()), (1200, 420));
        }
    }
}
