//! Points, lines and areas on the ground.

use orogen_core::Rect;
use orogen_core::vector::{Shape, VectorLayer};

use super::Texel;
use super::ramp::linear;

/// Points, lines or areas, and how they are drawn.
#[derive(Clone, Debug)]
pub struct Drawing {
    /// What is drawn.
    pub vectors: VectorLayer,
    /// In which colour, sRGB.
    pub color: [u8; 3],
    /// Metres across a line; a width that suits the view where nothing is said.
    pub width_m: Option<f64>,
}

/// How much of the ground an area hides.
const FILL: f32 = 0.4;

impl Drawing {
    pub(super) fn paint(&self, map: &mut [Texel], side: usize, rect: &Rect, line_m: f64) {
        let step = rect.size()[0] / side as f64;
        // At least as wide as can be seen on this map.
        let wide = (self.width_m.unwrap_or(line_m) / step).max(1.2);
        let at = |p: [f64; 3]| [(p[0] - rect.min[0]) / step, (rect.max[1] - p[1]) / step];
        let mut cover = vec![0f32; map.len()];
        let vertices = self.vectors.vertices();
        for feature in 0..self.vectors.len() {
            let parts: Vec<Vec<[f64; 2]>> = self
                .vectors
                .parts(feature)
                .map(|part| vertices[part].iter().map(|p| at(*p)).collect())
                .collect();
            match self.vectors.shape() {
                Shape::Points => {
                    let points = parts.iter().flatten();
                    points.for_each(|p| stroke(&mut cover, side, *p, *p, 3.0 * wide));
                }
                Shape::Lines => {
                    for part in &parts {
                        part.windows(2).for_each(|ends| stroke(&mut cover, side, ends[0], ends[1], wide));
                    }
                }
                Shape::Polygons => {
                    fill(&mut cover, side, &parts);
                    for ring in &parts {
                        (0..ring.len()).for_each(|i| {
                            stroke(&mut cover, side, ring[i], ring[(i + 1) % ring.len()], wide)
                        });
                    }
                }
            }
        }
        let color = linear(self.color);
        for (texel, cover) in map.iter_mut().zip(&cover).filter(|(_, cover)| **cover > 0.0) {
            (0..3).for_each(|c| texel[c] = texel[c] * (1.0 - cover) + color[c] * cover);
            texel[3] = texel[3] * (1.0 - cover) + cover;
        }
    }
}

/// A line with round ends; places and width in texels.
fn stroke(cover: &mut [f32], side: usize, a: [f64; 2], b: [f64; 2], wide: f64) {
    let half = 0.5 * wide;
    let span = |axis: usize| {
        let low = (a[axis].min(b[axis]) - half - 1.0).clamp(0.0, side as f64) as usize;
        let high = (a[axis].max(b[axis]) + half + 2.0).clamp(0.0, side as f64) as usize;
        low..high
    };
    let along = [b[0] - a[0], b[1] - a[1]];
    let square = along[0] * along[0] + along[1] * along[1];
    // Places far outside, and those that are not numbers, leave nothing.
    if !square.is_finite() {
        return;
    }
    for row in span(1) {
        let y = row as f64 + 0.5 - a[1];
        // Of a long line, only what is near this row.
        let (mut cols, steep) = (span(0), along[1].abs());
        if steep > 1e-9 {
            let (middle, reach) = (a[0] + y * along[0] / along[1], (half + 2.0) * square.sqrt() / steep);
            let end = |x: f64| x.clamp(cols.start as f64, cols.end as f64) as usize;
            // Its ends are round.
            let (low, high) = (end(middle - reach - half), end(middle + reach + half + 1.0));
            cols = low..high;
        }
        for col in cols {
            let x = col as f64 + 0.5 - a[0];
            let t = ((x * along[0] + y * along[1]) / square.max(1e-12)).clamp(0.0, 1.0);
            let off = [x - t * along[0], y - t * along[1]];
            let inside = half + 0.5 - (off[0] * off[0] + off[1] * off[1]).sqrt();
            let texel = &mut cover[row * side + col];
            *texel = texel.max(inside.clamp(0.0, 1.0) as f32);
        }
    }
}

/// The inside of rings: where a line to the west crosses an odd number of edges.
fn fill(cover: &mut [f32], side: usize, rings: &[Vec<[f64; 2]>]) {
    for row in 0..side {
        let y = row as f64 + 0.5;
        let mut crossings: Vec<f64> = Vec::new();
        for ring in rings {
            for i in 0..ring.len() {
                let (a, b) = (ring[i], ring[(i + 1) % ring.len()]);
                if (a[1] <= y) != (b[1] <= y) {
                    crossings.push(a[0] + (y - a[1]) / (b[1] - a[1]) * (b[0] - a[0]));
                }
            }
        }
        crossings.sort_by(f64::total_cmp);
        for pair in crossings.chunks_exact(2) {
            let [from, to] = [pair[0], pair[1]].map(|x| (x + 0.5).clamp(0.0, side as f64) as usize);
            for texel in &mut cover[row * side + from..row * side + to.max(from)] {
                *texel = texel.max(FILL);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RECT: Rect = Rect { min: [0.0, 0.0], max: [640.0, 640.0] };

    fn painted(vectors: VectorLayer) -> impl Fn(f64, f64) -> f32 {
        let drawing = Drawing { vectors, color: [255, 0, 0], width_m: Some(20.0) };
        let mut map = vec![[0f32; 4]; 64 * 64];
        drawing.paint(&mut map, 64, &RECT, 1.0);
        move |x, y| map[((640.0 - y) / 10.0) as usize * 64 + (x / 10.0) as usize][3]
    }

    #[test]
    fn lines_points_and_areas_are_where_they_say() {
        let mut lines = VectorLayer::new(Shape::Lines);
        lines.push([[100.0, 100.0, 0.0], [500.0, 100.0, 0.0], [500.0, 600.0, f64::NAN]]);
        let at = painted(lines);
        assert!(at(305.0, 105.0) > 0.9 && at(495.0, 405.0) > 0.9 && at(305.0, 305.0) == 0.0);
        let mut points = VectorLayer::new(Shape::Points);
        points.push([[200.0, 300.0, 0.0]]);
        let at = painted(points);
        assert!(at(205.0, 305.0) > 0.9 && at(255.0, 305.0) == 0.0);
        let mut areas = VectorLayer::new(Shape::Polygons);
        let square = |a: f64, b: f64| [[a, a, 0.0], [b, a, 0.0], [b, b, 0.0], [a, b, 0.0]];
        areas.push_parts([square(100.0, 500.0), square(200.0, 400.0)]);
        let at = painted(areas);
        assert!((at(155.0, 305.0) - FILL).abs() < 1e-6, "{}", at(155.0, 305.0));
        assert_eq!(at(305.0, 305.0), 0.0, "the hole stays open");
        assert!(at(105.0, 305.0) > 0.9, "the edge is drawn");
    }

    #[test]
    fn what_lies_elsewhere_or_nowhere_is_left_out() {
        let mut lines = VectorLayer::new(Shape::Lines);
        lines.push([[-1e12, 5e11, 0.0], [-1e12, -5e11, 0.0]]);
        lines.push([[f64::NAN, 0.0, 0.0], [1.0, 1.0, 0.0]]);
        let at = painted(lines);
        assert!((0..64).all(|i| at(10.0 * f64::from(i) + 5.0, 305.0) == 0.0));
    }
}
