//! Images that lie on the ground.

use orogen_core::{Raster, Rect};
use rayon::prelude::*;

use super::Texel;
use super::ramp::linear;
use crate::error::RenderError;

/// An image on the ground.
#[derive(Clone, Debug)]
pub struct Drape {
    image: Raster<[u8; 4]>,
    /// From a place to the image: its left upper corner is 0, 0, its right lower corner 1, 1.
    into: [[f64; 3]; 3],
    bounds: Rect,
    /// Metres of a pixel, about.
    pixel_m: f64,
    share: f64,
}

impl Drape {
    /// An image (red, green, blue, alpha in sRGB) that fills a rectangle.
    ///
    /// # Errors
    /// When the rectangle is empty.
    pub fn on(image: Raster<[u8; 4]>, rect: &Rect, share: f64) -> Result<Self, RenderError> {
        let (a, b) = (rect.min, rect.max);
        if !(a[0] < b[0] && a[1] < b[1]) {
            let text =
                "the edges of an image are west, south, east and north, the first two less than the others";
            return Err(RenderError::Call(String::from(text)));
        }
        Self::between(image, [[a[0], b[1]], [b[0], b[1]], [b[0], a[1]], [a[0], a[1]]], share)
    }

    /// An image whose corners lie at four places, clockwise from its left upper one: a photograph from the air is seldom a
    /// rectangle.
    ///
    /// # Errors
    /// When the corners do not lie around a convex area.
    pub fn between(image: Raster<[u8; 4]>, corners: [[f64; 2]; 4], share: f64) -> Result<Self, RenderError> {
        let wrong = || {
            RenderError::Call(String::from(
                "the corners of an image must lie around it, clockwise from its left upper one as the image is seen",
            ))
        };
        let turn = |i: usize| {
            let [a, b, c] = [corners[i], corners[(i + 1) % 4], corners[(i + 2) % 4]];
            (b[0] - a[0]) * (c[1] - b[1]) - (b[1] - a[1]) * (c[0] - b[0])
        };
        // Clockwise on a map, or a mirror image of that.
        let turns = [0, 1, 2, 3].map(turn);
        if !(turns.iter().all(|t| *t < 0.0) || turns.iter().all(|t| *t > 0.0)) {
            return Err(wrong());
        }
        let into = inverse(&from_unit_square(corners)).ok_or_else(wrong)?;
        let edge = |axis: usize, most: bool| {
            let pick = if most { f64::max } else { f64::min };
            corners.iter().map(|c| c[axis]).reduce(pick).unwrap_or(0.0)
        };
        let bounds = Rect { min: [edge(0, false), edge(1, false)], max: [edge(0, true), edge(1, true)] };
        let side =
            |a: [f64; 2], b: [f64; 2]| ((a[0] - b[0]) * (a[0] - b[0]) + (a[1] - b[1]) * (a[1] - b[1])).sqrt();
        let pixel_m = (side(corners[0], corners[1]) / image.cols() as f64)
            .max(side(corners[0], corners[3]) / image.rows() as f64);
        Ok(Self { image, into, bounds, pixel_m, share: share.clamp(0.0, 1.0) })
    }

    pub(super) fn paint(&self, map: &mut [Texel], side: usize, rect: &Rect) {
        let step = rect.size()[0] / side as f64;
        // A texel that holds many pixels shows their mean.
        let looks = (step / self.pixel_m).ceil().clamp(1.0, 4.0) as usize;
        map.par_chunks_mut(side).enumerate().for_each(|(row, texels)| {
            let y = rect.max[1] - (row as f64 + 0.5) * step;
            if y < self.bounds.min[1] - step || y > self.bounds.max[1] + step {
                return;
            }
            for (col, texel) in texels.iter_mut().enumerate() {
                let x = rect.min[0] + (col as f64 + 0.5) * step;
                if x < self.bounds.min[0] - step || x > self.bounds.max[0] + step {
                    continue;
                }
                let mut sum = [0f32; 4];
                for i in 0..looks * looks {
                    let off = |i: usize| ((i as f64 + 0.5) / looks as f64 - 0.5) * step;
                    if let Some(found) = self.look([x + off(i % looks), y + off(i / looks)]) {
                        (0..4).for_each(|c| sum[c] += found[c]);
                    }
                }
                let by = self.share as f32 / (looks * looks) as f32;
                let over = sum.map(|x| x * by);
                (0..4).for_each(|c| texel[c] = texel[c] * (1.0 - over[3]) + over[c]);
            }
        });
    }

    /// The image at a place, times its alpha.
    fn look(&self, [x, y]: [f64; 2]) -> Option<Texel> {
        let [u, v, w] = self.into.map(|m| m[0] * x + m[1] * y + m[2]);
        let (u, v) = (u / w, v / w);
        if !((0.0..=1.0).contains(&u) && (0.0..=1.0).contains(&v)) {
            return None;
        }
        let (cols, rows) = (self.image.cols() as isize, self.image.rows() as isize);
        let (x, y) = (u * cols as f64 - 0.5, v * rows as f64 - 0.5);
        let (c, r) = (x.floor(), y.floor());
        let (fx, fy) = ((x - c) as f32, (y - r) as f32);
        let mut sum = [0f32; 4];
        for (dx, dy, weight) in [
            (0, 0, (1.0 - fx) * (1.0 - fy)),
            (1, 0, fx * (1.0 - fy)),
            (0, 1, (1.0 - fx) * fy),
            (1, 1, fx * fy),
        ] {
            let [r, g, b, a] = self.image.clamped(c as isize + dx, r as isize + dy);
            let alpha = f32::from(a) / 255.0;
            let color = linear([r, g, b]);
            (0..3).for_each(|i| sum[i] += weight * color[i] * alpha);
            sum[3] += weight * alpha;
        }
        Some(sum)
    }
}

/// The projection of the unit square onto a quadrangle: rows of a matrix.
fn from_unit_square([p0, p1, p2, p3]: [[f64; 2]; 4]) -> [[f64; 3]; 3] {
    let d1 = [p1[0] - p2[0], p1[1] - p2[1]];
    let d2 = [p3[0] - p2[0], p3[1] - p2[1]];
    let s = [p0[0] - p1[0] + p2[0] - p3[0], p0[1] - p1[1] + p2[1] - p3[1]];
    let below = d1[0] * d2[1] - d2[0] * d1[1];
    let g = (s[0] * d2[1] - d2[0] * s[1]) / below;
    let h = (d1[0] * s[1] - s[0] * d1[1]) / below;
    let row = |i: usize| [p1[i] - p0[i] + g * p1[i], p3[i] - p0[i] + h * p3[i], p0[i]];
    [row(0), row(1), [g, h, 1.0]]
}

fn inverse(m: &[[f64; 3]; 3]) -> Option<[[f64; 3]; 3]> {
    let minor = |r: usize, c: usize| {
        let (r1, r2, c1, c2) = ((r + 1) % 3, (r + 2) % 3, (c + 1) % 3, (c + 2) % 3);
        m[r1][c1] * m[r2][c2] - m[r1][c2] * m[r2][c1]
    };
    let whole: f64 = (0..3).map(|c| m[0][c] * minor(0, c)).sum();
    if !whole.is_finite() || whole == 0.0 {
        return None;
    }
    Some([0, 1, 2].map(|r| [0, 1, 2].map(|c| minor(c, r) / whole)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Red, green / blue, clear.
    fn image() -> Raster<[u8; 4]> {
        let all = [[255, 0, 0, 255], [0, 255, 0, 255], [0, 0, 255, 255], [9, 9, 9, 0]];
        Raster::from_vec(2, 2, all.to_vec()).unwrap()
    }

    fn painted(drape: &Drape) -> impl Fn(f64, f64) -> Texel {
        let mut map = vec![[0f32; 4]; 64 * 64];
        drape.paint(&mut map, 64, &Rect { min: [0.0, 0.0], max: [640.0, 640.0] });
        move |x, y| map[((640.0 - y) / 10.0) as usize * 64 + (x / 10.0) as usize]
    }

    #[test]
    fn an_image_fills_its_rectangle_and_nothing_else() {
        let drape = Drape::on(image(), &Rect { min: [100.0, 200.0], max: [300.0, 400.0] }, 1.0).unwrap();
        let at = painted(&drape);
        assert!(at(115.0, 385.0)[0] > 0.99 && at(115.0, 385.0)[3] > 0.99, "north-west is red");
        assert!(at(285.0, 385.0)[1] > 0.99, "north-east is green");
        assert!(at(115.0, 215.0)[2] > 0.99, "south-west is blue");
        assert!(at(295.0, 205.0)[3] < 0.02, "south-east is clear");
        assert_eq!(at(320.0, 300.0), [0.0; 4]);
        assert_eq!(at(200.0, 180.0), [0.0; 4]);
    }

    #[test]
    fn corners_may_lie_anyhow_if_they_lie_around() {
        let corners = [[100.0, 500.0], [420.0, 560.0], [500.0, 150.0], [160.0, 90.0]];
        let drape = Drape::between(image(), corners, 1.0).unwrap();
        let at = painted(&drape);
        assert!(at(115.0, 490.0)[0] > 0.9 && at(412.0, 545.0)[1] > 0.9 && at(166.0, 104.0)[2] > 0.9);
        // A quarter turn is an image on its side.
        let bow = [corners[0], corners[2], corners[1], corners[3]];
        assert!(Drape::between(image(), bow, 1.0).is_err());
        assert!(Drape::between(image(), [[1.0, 1.0]; 4], 1.0).is_err());
        assert!(Drape::on(image(), &Rect { min: [5.0, 5.0], max: [5.0, 9.0] }, 1.0).is_err());
    }
}
