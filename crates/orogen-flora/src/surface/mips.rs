//! Smaller pictures of leaves that cover as much as the large ones.
//!
//! Where coverage is cut at one half, plain means of it lose thin leaves and needles: trees go bald with distance. Each level is
//! scaled so that as many samples as at first pass the cut (after Castaño, "Computing alpha mipmaps", 2010).

use orogen_texture::color::{from_srgb, to_srgb};
use orogen_texture::normal::unit;

use super::leaf::LeafMaps;

/// Coverage from which a sample is seen.
pub(crate) const CUT: u8 = 128;

/// An atlas at some size.
pub type LeafLevel = LeafMaps;

/// The atlas and its smaller pictures, down to a sample for each cell.
#[must_use]
pub fn levels(maps: &LeafMaps) -> Vec<LeafLevel> {
    let wanted = covered(maps.albedo.iter().map(|p| f32::from(p[3])));
    let mut levels = vec![maps.clone()];
    let mut now = Samples::of(maps);
    while now.size > 2 {
        now = now.halved();
        levels.push(now.level(wanted, maps.roughness));
    }
    levels
}

/// Share of samples that are seen.
fn covered(alpha: impl ExactSizeIterator<Item = f32>) -> f64 {
    let all = alpha.len().max(1);
    alpha.filter(|&a| a >= f32::from(CUT)).count() as f64 / all as f64
}

/// Samples before they are rounded; colours are light.
struct Samples {
    size: usize,
    color: Vec<[f32; 3]>,
    alpha: Vec<f32>,
    normal: Vec<[f32; 3]>,
    through: Vec<f32>,
}

impl Samples {
    fn of(maps: &LeafMaps) -> Self {
        Self {
            size: maps.size,
            color: maps.albedo.iter().map(|&[r, g, b, _]| from_srgb([r, g, b])).collect(),
            alpha: maps.albedo.iter().map(|p| f32::from(p[3])).collect(),
            normal: maps.normal.clone(),
            through: maps.translucency.iter().map(|&t| f32::from(t)).collect(),
        }
    }

    /// Means of two by two, by coverage: clear samples have no say where any is covered.
    fn halved(&self) -> Self {
        let half = self.size / 2;
        let n = half * half;
        let mut made = Self {
            size: half,
            color: vec![[0.0; 3]; n],
            alpha: vec![0.0; n],
            normal: vec![[0.0; 3]; n],
            through: vec![0.0; n],
        };
        for i in 0..n {
            let first = 2 * (i / half) * self.size + 2 * (i % half);
            let four = [first, first + 1, first + self.size, first + self.size + 1];
            let sum: f32 = four.iter().map(|&k| self.alpha[k] + 0.01).sum();
            for k in four {
                let weight = (self.alpha[k] + 0.01) / sum;
                for axis in 0..3 {
                    made.color[i][axis] += weight * self.color[k][axis];
                    made.normal[i][axis] += weight * self.normal[k][axis];
                }
                made.through[i] += weight * self.through[k];
                made.alpha[i] += 0.25 * self.alpha[k];
            }
        }
        made
    }

    /// As bytes, with coverage scaled so that the share `wanted` of all samples is seen.
    fn level(&self, wanted: f64, roughness: f32) -> LeafLevel {
        let (mut low, mut high) = (0.05f32, 20.0f32);
        for _ in 0..30 {
            let middle = (low * high).sqrt();
            if covered(self.alpha.iter().map(|a| (a * middle).min(255.0).round())) < wanted {
                low = middle;
            } else {
                high = middle;
            }
        }
        let gain = high;
        let albedo = self.color.iter().zip(&self.alpha).map(|(&color, alpha)| {
            let [r, g, b] = to_srgb(color);
            [r, g, b, (alpha * gain).round().clamp(0.0, 255.0) as u8]
        });
        LeafMaps {
            size: self.size,
            albedo: albedo.collect(),
            normal: self.normal.iter().map(|&n| unit(n)).collect(),
            translucency: self.through.iter().map(|t| t.round().clamp(0.0, 255.0) as u8).collect(),
            roughness,
        }
    }
}
