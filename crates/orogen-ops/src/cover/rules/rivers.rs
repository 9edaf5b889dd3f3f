//! Distance from the banks of rivers.

use orogen_core::vector::VectorLayer;
use orogen_core::{Cancelled, Ctx, Frame, Raster, Rect, math};
use rayon::prelude::*;

/// A piece of a river: its ends, and half its width there.
#[derive(Debug)]
struct Piece {
    ends: [[f64; 2]; 2],
    half: [f64; 2],
}

/// Distances from the banks of rivers: on the samples of a frame, and at any place of it. A brook may run between samples.
#[derive(Debug)]
pub(super) struct Banks {
    /// On the samples; as far as they are measured where no river is nearer.
    pub raster: Raster<f32>,
    frame: Frame,
    limit_m: f64,
    pieces: Vec<Piece>,
    /// The pieces that may be near enough, by squares of the frame.
    squares: Vec<Vec<u32>>,
    count: [usize; 2],
}

/// The most squares along a side. No more than pieces of rivers in all, so that they take little memory.
const MOST_SQUARES: f64 = 512.0;

impl Banks {
    pub fn new(
        rivers: Option<&VectorLayer>,
        frame: &Frame,
        limit_m: f64,
        ctx: &Ctx<'_>,
    ) -> Result<Self, Cancelled> {
        let raster = distance(rivers, frame, limit_m, ctx)?;
        let pieces = rivers.map_or_else(Vec::new, pieces);
        let size = frame.size_m();
        // Squares much smaller than what is measured would hold a piece many times over.
        let most = (pieces.len() as f64).sqrt().ceil().clamp(1.0, MOST_SQUARES);
        let side_m = (4.0 * limit_m).max(size[0].max(size[1]) / most).max(f64::MIN_POSITIVE);
        let count = size.map(|m| (m / side_m).ceil().clamp(1.0, most) as usize);
        let mut made = Self { raster, frame: *frame, limit_m, pieces, squares: Vec::new(), count };
        made.squares = vec![Vec::new(); count[0] * count[1]];
        for (i, piece) in made.pieces.iter().enumerate() {
            let far = limit_m + piece.half[0].max(piece.half[1]);
            let [a, b] = piece.ends;
            let [low, high] = [
                [0, 1].map(|axis| a[axis].min(b[axis]) - far),
                [0, 1].map(|axis| a[axis].max(b[axis]) + far),
            ];
            let Rect { min, max } = frame.extent();
            if (0..2).any(|axis| high[axis] < min[axis] || low[axis] > max[axis]) {
                continue;
            }
            let ([west, south], [east, north]) = (made.square(low), made.square(high));
            for row in south..=north {
                (west..=east).for_each(|col| made.squares[row * count[0] + col].push(i as u32));
            }
        }
        Ok(made)
    }

    fn square(&self, place: [f64; 2]) -> [usize; 2] {
        let Rect { min, .. } = self.frame.extent();
        let size = self.frame.size_m();
        [0, 1].map(|axis| {
            let at = (place[axis] - min[axis]) / size[axis] * self.count[axis] as f64;
            at.clamp(0.0, self.count[axis] as f64 - 1.0) as usize
        })
    }

    /// The distance at a place in metres.
    pub fn at(&self, place: [f64; 2]) -> f32 {
        let [col, row] = self.square(place);
        let near = self.squares[row * self.count[0] + col].iter();
        let apart = near.map(|i| self.pieces[*i as usize].distance(place));
        apart.fold(self.limit_m, f64::min) as f32
    }

    /// Whether no river is as near to a place as distances are measured.
    pub fn is_far(&self, distance: f32) -> bool {
        distance >= self.limit_m as f32
    }
}

/// Metres from each sample to the nearest bank, 0 in the river, at most `limit_m`.
///
/// Each piece of a line looks only at the samples that it may reach. The least of many distances is the same in any order and
/// window.
fn distance(
    rivers: Option<&VectorLayer>,
    frame: &Frame,
    limit_m: f64,
    ctx: &Ctx<'_>,
) -> Result<Raster<f32>, Cancelled> {
    /// Rows that one thread works on at a time.
    const BAND: usize = 64;
    let (cols, rows) = (frame.cols(), frame.rows());
    let mut out = Raster::filled(cols, rows, limit_m as f32);
    let Some(rivers) = rivers else { return Ok(out) };
    let pieces = pieces(rivers);
    out.as_mut_slice().par_chunks_mut(cols * BAND).enumerate().try_for_each(|(band, values)| {
        ctx.stop_if_asked()?;
        let first = band * BAND;
        let last = first + values.len() / cols - 1;
        let (north, south) = (frame.y_m(first) + limit_m, frame.y_m(last) - limit_m);
        for piece in &pieces {
            let wide = piece.half[0].max(piece.half[1]);
            let [a, b] = piece.ends;
            if a[1].max(b[1]) + wide < south || a[1].min(b[1]) - wide > north {
                continue;
            }
            let far = limit_m + wide;
            let spread = |low: f64, high: f64, count: usize| {
                let low = low.floor().clamp(0.0, count as f64) as usize;
                low..(high.ceil().clamp(-1.0, count as f64 - 1.0) + 1.0) as usize
            };
            let [west, top] = frame.locate(a[0].min(b[0]) - far, a[1].max(b[1]) + far);
            let [east, bottom] = frame.locate(a[0].max(b[0]) + far, a[1].min(b[1]) - far);
            for row in spread(top, bottom, rows) {
                if !(first..=last).contains(&row) {
                    continue;
                }
                let y = frame.y_m(row);
                let line = &mut values[(row - first) * cols..][..cols];
                for col in spread(west, east, cols) {
                    let apart = piece.distance([frame.x_m(col), y]) as f32;
                    line[col] = line[col].min(apart);
                }
            }
        }
        Ok(())
    })?;
    Ok(out)
}

fn pieces(rivers: &VectorLayer) -> Vec<Piece> {
    let widths = rivers.vertex_numbers("width_m");
    let half = |i: usize| widths.and_then(|w| w.get(i)).map_or(0.0, |w| (0.5 * w).max(0.0));
    let mut all = Vec::new();
    for feature in 0..rivers.len() {
        for part in rivers.parts(feature) {
            for i in part.start..part.end.saturating_sub(1) {
                let [a, b] = [i, i + 1].map(|i| rivers.vertices()[i]);
                all.push(Piece { ends: [[a[0], a[1]], [b[0], b[1]]], half: [half(i), half(i + 1)] });
            }
        }
    }
    all
}

impl Piece {
    fn distance(&self, [x, y]: [f64; 2]) -> f64 {
        let [[ax, ay], [bx, by]] = self.ends;
        let (dx, dy) = (bx - ax, by - ay);
        let long = dx * dx + dy * dy;
        let t = if long > 0.0 { (((x - ax) * dx + (y - ay) * dy) / long).clamp(0.0, 1.0) } else { 0.0 };
        let apart = math::hypot(x - (ax + t * dx), y - (ay + t * dy));
        (apart - (self.half[0] + t * (self.half[1] - self.half[0]))).max(0.0)
    }
}
