//! What a material is painted on: heights and colours of a tile, and things laid upon it one after the other.

use orogen_core::math::lerp;
use rayon::prelude::*;

use crate::color::{Color, mix};
use crate::field::{Field, place};

/// The surface at one sample.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Texel {
    /// Height in metres.
    pub height_m: f32,
    /// Light reflected.
    pub color: Color,
    /// 0 a mirror, 1 chalk.
    pub roughness: f32,
}

impl Texel {
    /// Covers a share of this sample by something else.
    #[inline]
    pub fn cover(&mut self, with: &Self, share: f32) {
        self.height_m = lerp(self.height_m, with.height_m, share);
        self.color = mix(self.color, with.color, share);
        self.roughness = lerp(self.roughness, with.roughness, share);
    }
}

/// Where a sample lies, in metres and near the thing that is being laid: beyond the tile where that hangs over an edge.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spot {
    /// To the right.
    pub x: f32,
    /// Downwards.
    pub y: f32,
    /// The width of a sample.
    pub width_m: f32,
}

/// The middle of something and how far it reaches to each side, in metres.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    /// The middle.
    pub center: [f32; 2],
    /// Half its width and height.
    pub half: [f32; 2],
}

/// Something that can be laid on a canvas.
pub trait Shape: Sync {
    /// Where it may change anything.
    fn bounds(&self) -> Bounds;
    /// Changes a sample within the bounds.
    fn draw(&self, spot: Spot, texel: &mut Texel);
}

/// A square of surface that repeats in both directions.
#[derive(Clone, Debug, PartialEq)]
pub struct Canvas {
    size: usize,
    size_m: f32,
    texels: Vec<Texel>,
}

/// Rows that a thread paints by itself.
const BAND: usize = 16;

impl Canvas {
    /// A canvas of `size` samples and `size_m` metres, whose surface at the place (u, v), 0 to 1, is `f(u, v)`.
    pub fn from_fn(size: usize, size_m: f32, f: impl Fn(f32, f32) -> Texel + Sync) -> Self {
        let size = size.max(1).next_power_of_two();
        let mut texels = vec![Texel::default(); size * size];
        texels.par_chunks_mut(size).enumerate().for_each(|(row, out)| {
            let v = place(row, size);
            for (col, texel) in out.iter_mut().enumerate() {
                *texel = f(place(col, size), v);
            }
        });
        Self { size, size_m, texels }
    }

    /// Samples along a side.
    #[must_use]
    pub fn size(&self) -> usize {
        self.size
    }

    /// The side in metres.
    #[must_use]
    pub fn size_m(&self) -> f32 {
        self.size_m
    }

    /// All samples, row by row from the top.
    #[must_use]
    pub fn texels(&self) -> &[Texel] {
        &self.texels
    }

    /// Changes every sample by itself; `f` gets its place, 0 to 1, and the sample.
    pub fn each(&mut self, f: impl Fn(f32, f32, &mut Texel) + Sync) {
        let size = self.size;
        self.texels.par_chunks_mut(size).enumerate().for_each(|(row, out)| {
            let v = place(row, size);
            for (col, texel) in out.iter_mut().enumerate() {
                f(place(col, size), v, texel);
            }
        });
    }

    /// Changes every sample by the value of a field of the same size.
    pub fn each_with(&mut self, field: &Field, f: impl Fn(f32, &mut Texel) + Sync) {
        self.texels.par_iter_mut().zip(field.as_slice()).for_each(|(texel, &value)| f(value, texel));
    }

    /// One number of each sample.
    pub fn field(&self, f: impl Fn(&Texel) -> f32 + Sync) -> Field {
        Field::from_cells(self.size, |col, row| f(&self.texels[row * self.size + col]))
    }

    /// Heights in metres.
    #[must_use]
    pub fn heights(&self) -> Field {
        self.field(|texel| texel.height_m)
    }

    /// The same surface in half as many samples: means of two by two.
    #[must_use]
    pub fn halved(&self) -> Self {
        let size = (self.size / 2).max(1);
        let mut texels = vec![Texel::default(); size * size];
        texels.par_chunks_mut(size).enumerate().for_each(|(row, out)| {
            for (col, texel) in out.iter_mut().enumerate() {
                let i = 2 * row * self.size + 2 * col;
                // A tile of one sample has no second one; it is its own mean.
                let four = [0, 1, self.size, self.size + 1].map(|k| self.texels[(i + k) % self.texels.len()]);
                let mean = |f: &dyn Fn(&Texel) -> f32| four.iter().map(f).sum::<f32>() * 0.25;
                *texel = Texel {
                    height_m: mean(&|t| t.height_m),
                    color: [0, 1, 2].map(|c| mean(&|t| t.color[c])),
                    roughness: mean(&|t| t.roughness),
                };
            }
        });
        Self { size, size_m: self.size_m, texels }
    }

    /// Lays things down in their order; whatever hangs over an edge comes in at the opposite one. Nothing may be larger than
    /// the tile; what is, is cut there.
    ///
    /// Each band of rows is painted by one thread, in order, so threads change nothing.
    pub fn lay<S: Shape>(&mut self, shapes: &[S]) {
        let (size, spacing) = (self.size as isize, self.size_m / self.size as f32);
        let boxes: Vec<[isize; 4]> = shapes.par_iter().map(|shape| self.samples(&shape.bounds())).collect();
        let bands = self.size.div_ceil(BAND);
        let mut by_band: Vec<Vec<u32>> = vec![Vec::new(); bands];
        for (index, &[_, y0, _, y1]) in boxes.iter().enumerate() {
            let mut last = usize::MAX;
            for y in y0..=y1 {
                let band = y.rem_euclid(size) as usize / BAND;
                // A tall thing may come round to the band it began in.
                if band != last && by_band[band].last() != Some(&(index as u32)) {
                    by_band[band].push(index as u32);
                }
                last = band;
            }
        }
        self.texels.par_chunks_mut(BAND * self.size).zip(&by_band).enumerate().for_each(
            |(band, (texels, indices))| {
                for &index in indices {
                    let ([x0, y0, x1, y1], shape) = (boxes[index as usize], &shapes[index as usize]);
                    for (i, row) in texels.chunks_mut(size as usize).enumerate() {
                        // The row of the thing's own copy of the tile.
                        let row_y = (band * BAND + i) as isize;
                        let y = y0 + (row_y - y0).rem_euclid(size);
                        if y > y1 {
                            continue;
                        }
                        let y_m = (y as f32 + 0.5) * spacing;
                        for x in x0..=x1 {
                            let spot = Spot { x: (x as f32 + 0.5) * spacing, y: y_m, width_m: spacing };
                            shape.draw(spot, &mut row[x as usize & (size as usize - 1)]);
                        }
                    }
                }
            },
        );
    }

    /// The samples within bounds: left, top, right, bottom; at most one tile of them.
    fn samples(&self, bounds: &Bounds) -> [isize; 4] {
        let spacing = self.size_m / self.size as f32;
        let side = |center: f32, half: f32| {
            let first = ((center - half) / spacing - 0.5).floor() as isize;
            let last = ((center + half) / spacing - 0.5).ceil() as isize;
            (first, last.min(first + self.size as isize - 1))
        };
        let (x0, x1) = side(bounds.center[0], bounds.half[0]);
        let (y0, y1) = side(bounds.center[1], bounds.half[1]);
        [x0, y0, x1, y1]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Disk([f32; 2], f32);

    impl Shape for Disk {
        fn bounds(&self) -> Bounds {
            Bounds { center: self.0, half: [self.1; 2] }
        }
        fn draw(&self, spot: Spot, texel: &mut Texel) {
            let (dx, dy) = (spot.x - self.0[0], spot.y - self.0[1]);
            if dx * dx + dy * dy < self.1 * self.1 {
                texel.height_m += 1.0;
            }
        }
    }

    #[test]
    fn what_hangs_over_a_corner_comes_in_at_the_others_and_is_drawn_once() {
        for (place, radius) in [([0.0, 0.0], 0.3), ([1.9, 1.0], 0.5), ([-0.1, 2.2], 0.95)] {
            let mut canvas = Canvas::from_fn(64, 2.0, |_, _| Texel::default());
            canvas.lay(&[Disk(place, radius)]);
            let heights = canvas.heights();
            let area = heights.mean() * 4.0;
            let true_area = std::f64::consts::PI * f64::from(radius * radius);
            assert!((area / true_area - 1.0).abs() < 0.03, "{area} for {true_area}");
            assert_eq!(heights.range(), (0.0, 1.0));
        }
    }
}
