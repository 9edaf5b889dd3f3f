//! Rivers as smooth lines with soft edges.

use orogen_core::vector::{Column, Shape, VectorLayer};
use orogen_core::{Frame, Raster};

/// A straight piece of a river: both ends in samples (column, row) with half the width there.
#[derive(Clone, Copy, Debug)]
struct Piece {
    a: [f32; 2],
    b: [f32; 2],
    half_a: f32,
    half_b: f32,
}

/// Rows that are drawn together.
const BAND: usize = 32;
/// Pixels, in a picture of a thousand, that the widest river is drawn wider than it is, so that rivers show from
/// afar; narrower ones less, down to nothing at a spring.
const DRAWN_WIDER: f32 = 1.0;
/// Drawn width of rivers that tell no width.
const THINNEST: f32 = 1.0;
/// Pixels that the largest volume adds.
const VOLUME_WIDTH: f32 = 2.8;
/// Widest river drawn, in pixels: what a stranger's attribute says is not to fill the picture.
const WIDEST: f32 = 200.0;

/// How much of each sample rivers cover, 0 to 1; `None` when there are none.
///
/// Widths come from `width_m` (of vertices or features), else from `volume`, else all rivers are thin.
pub(super) fn coverage(rivers: &VectorLayer, frame: &Frame) -> Option<Raster<f32>> {
    if rivers.shape() != Shape::Lines || rivers.is_empty() {
        return None;
    }
    let (cols, rows) = (frame.cols(), frame.rows());
    let pixel = (cols.max(rows) as f32 / 1000.0).max(0.75);
    let pieces = pieces(rivers, frame, pixel);
    let mut bands: Vec<Vec<Piece>> = vec![Vec::new(); rows.div_ceil(BAND)];
    for piece in pieces {
        let reach = piece.half_a.max(piece.half_b) + 1.0;
        let top = (piece.a[1].min(piece.b[1]) - reach).floor();
        let bottom = (piece.a[1].max(piece.b[1]) + reach).ceil();
        if bottom < 0.0 || top > rows as f32 {
            continue;
        }
        let first = top.max(0.0) as usize / BAND;
        let last = (bottom as usize).min(rows - 1) / BAND;
        bands[first..=last].iter_mut().for_each(|band| band.push(piece));
    }
    let mut out = Raster::filled(cols, rows, 0f32);
    out.par_rows(|row, out| {
        for piece in &bands[row / BAND] {
            piece.draw(row, out);
        }
    });
    Some(out)
}

impl Piece {
    /// Adds the piece to one row; the larger coverage wins, so the order of pieces does not matter.
    fn draw(&self, row: usize, out: &mut [f32]) {
        let reach = self.half_a.max(self.half_b) + 1.0;
        let y = row as f32;
        if y < self.a[1].min(self.b[1]) - reach || y > self.a[1].max(self.b[1]) + reach {
            return;
        }
        let left = (self.a[0].min(self.b[0]) - reach).floor().max(0.0);
        let right = (self.a[0].max(self.b[0]) + reach).ceil().min(out.len() as f32 - 1.0);
        if left > right {
            return;
        }
        let (dx, dy) = (self.b[0] - self.a[0], self.b[1] - self.a[1]);
        let length2 = (dx * dx + dy * dy).max(1e-12);
        for col in left as usize..=right as usize {
            let (px, py) = (col as f32 - self.a[0], y - self.a[1]);
            let along = ((px * dx + py * dy) / length2).clamp(0.0, 1.0);
            let (ex, ey) = (px - along * dx, py - along * dy);
            let half = self.half_a + (self.half_b - self.half_a) * along;
            // A line thinner than a sample covers it in part, wherever in the sample it runs.
            let covered = (half + 0.5 - (ex * ex + ey * ey).sqrt()).clamp(0.0, (2.0 * half).min(1.0));
            out[col] = out[col].max(covered);
        }
    }
}

/// All rivers as straight pieces, corners rounded.
fn pieces(rivers: &VectorLayer, frame: &Frame, pixel: f32) -> Vec<Piece> {
    let widths = Widths::of(rivers, frame, pixel);
    let mut pieces = Vec::new();
    for feature in 0..rivers.len() {
        for part in rivers.parts(feature) {
            let mut line: Vec<[f32; 3]> = part
                .map(|v| {
                    let [x, y, _] = rivers.vertices()[v];
                    let [col, row] = frame.locate(x, y);
                    [col as f32, row as f32, widths.half(feature, v)]
                })
                .filter(|vertex| vertex.iter().all(|v| v.is_finite() && v.abs() < 1e7))
                .collect();
            for _ in 0..2 {
                line = rounded(&line);
            }
            pieces.extend(line.windows(2).map(|pair| Piece {
                a: [pair[0][0], pair[0][1]],
                b: [pair[1][0], pair[1][1]],
                half_a: pair[0][2],
                half_b: pair[1][2],
            }));
        }
    }
    pieces
}

/// Cuts every corner at a quarter of its sides (Chaikin); the ends stay.
fn rounded(line: &[[f32; 3]]) -> Vec<[f32; 3]> {
    let (Some(&first), Some(&last)) = (line.first(), line.last()) else { return Vec::new() };
    let mut out = vec![first];
    for pair in line.windows(2) {
        let at = |share: f32| [0, 1, 2].map(|i| pair[0][i] + (pair[1][i] - pair[0][i]) * share);
        out.extend([at(0.25), at(0.75)]);
    }
    out.push(last);
    out
}

/// Where the width of a river comes from.
struct Widths<'a> {
    of_vertex: Option<&'a [f64]>,
    of_feature: Option<&'a [f64]>,
    /// Pixels per unit of the attribute, or of its square root for volumes.
    scale: f32,
    /// The largest value, 0 if there is none.
    largest: f32,
    volume: bool,
    pixel: f32,
}

impl<'a> Widths<'a> {
    fn of(rivers: &'a VectorLayer, frame: &Frame, pixel: f32) -> Self {
        let find = |name: &str| {
            let numbers = |columns: &'a std::collections::BTreeMap<String, Column>| match columns.get(name) {
                Some(Column::Number(values)) => Some(&values[..]),
                _ => None,
            };
            (numbers(rivers.vertex_attributes()), numbers(rivers.feature_attributes()))
        };
        let [sx, sy] = frame.spacing_m();
        let largest = |values: Option<&[f64]>| {
            let values = values.unwrap_or_default().iter().copied();
            values.filter(|v| v.is_finite()).fold(0.0, f64::max) as f32
        };
        match (find("width_m"), find("volume")) {
            ((None, None), (of_vertex, of_feature)) => {
                let largest = largest(of_vertex.or(of_feature));
                let scale = if largest > 0.0 { VOLUME_WIDTH * pixel / largest.sqrt() } else { 0.0 };
                Self { of_vertex, of_feature, scale, largest, volume: true, pixel }
            }
            ((of_vertex, of_feature), _) => {
                let (scale, largest) = ((2.0 / (sx + sy)) as f32, largest(of_vertex.or(of_feature)));
                Self { of_vertex, of_feature, scale, largest, volume: false, pixel }
            }
        }
    }

    /// Half the width at a vertex, in samples.
    fn half(&self, feature: usize, vertex: usize) -> f32 {
        let value = match (self.of_vertex, self.of_feature) {
            (Some(values), _) => values[vertex],
            (None, Some(values)) => values[feature],
            (None, None) => 0.0,
        };
        let value = if value.is_finite() { value.max(0.0) as f32 } else { 0.0 };
        if self.largest <= 0.0 {
            return 0.5 * THINNEST * self.pixel;
        }
        // Brooks narrower than a pixel are drawn too, and what they grow downstream is added, so that it shows.
        let share = if self.volume { (value / self.largest).sqrt() } else { value / self.largest };
        let wider = DRAWN_WIDER * self.pixel * share.sqrt();
        let width = wider + self.scale * if self.volume { value.sqrt() } else { value };
        0.5 * width.min(WIDEST)
    }
}
