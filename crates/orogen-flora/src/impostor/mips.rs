//! Smaller pictures of an impostor, for farther away.
//!
//! Every frame is made smaller by itself, so that none takes on what lies beside it on the atlas. Where pictures are cut at one
//! half, plain means lose twigs and needles: coverage is scaled until as much of a frame passes the cut as at first.

use orogen_texture::color::{from_srgb, to_srgb};
use rayon::prelude::*;

use super::Impostor;

/// Coverage from which a sample is seen where pictures are cut.
const CUT: f32 = 127.5;
/// Least and greatest factor on coverage: what is nearly clear stays so.
const GAINS: [f32; 2] = [0.5, 4.0];
/// Fewest samples along a frame.
const FEWEST: usize = 8;

impl Impostor {
    /// The same with ever fewer samples, itself the first: half as many along each side from one to the next, down to frames of 8.
    #[must_use]
    pub fn levels(&self) -> Vec<Self> {
        let mut levels = vec![self.clone()];
        if self.samples < 2 * FEWEST {
            return levels;
        }
        let frames = self.frames.len();
        let mut now: Vec<Frame> = (0..frames).into_par_iter().map(|frame| Frame::of(self, frame)).collect();
        let wanted: Vec<f32> = now.iter().map(|frame| frame.passing(1.0)).collect();
        let mut samples = self.samples;
        while samples >= 2 * FEWEST {
            samples /= 2;
            now = now.par_iter().map(Frame::halved).collect();
            let gains: Vec<f32> =
                now.par_iter().zip(&wanted).map(|(frame, wanted)| frame.gain(*wanted)).collect();
            levels.push(self.of_frames(&now, &gains, samples));
        }
        levels
    }

    fn of_frames(&self, frames: &[Frame], gains: &[f32], samples: usize) -> Self {
        let [across, down] = self.form.layout();
        let all = across * down * samples * samples;
        let byte = |v: f32| (v + 0.5).clamp(0.0, 255.0) as u8;
        let mut made = Self {
            samples,
            color: Vec::with_capacity(all),
            normal: Vec::with_capacity(all),
            depth: Vec::with_capacity(all),
            frames: self.frames.clone(),
            reliefs: self.reliefs.clone(),
            ..*self
        };
        for row in 0..down * samples {
            for col in 0..across * samples {
                let number = row / samples * across + col / samples;
                let texel = &frames[number].texels[row % samples * samples + col % samples];
                let [r, g, b] = to_srgb(texel.color);
                made.color.push([r, g, b, byte(texel.cover * gains[number])]);
                made.normal.push(texel.normal.map(byte));
                made.depth.push(byte(texel.depth));
            }
        }
        made
    }
}

/// A sample before it is rounded: colour is light, all else as in bytes.
#[derive(Clone, Copy, Default)]
struct Texel {
    color: [f32; 3],
    cover: f32,
    normal: [f32; 4],
    depth: f32,
}

struct Frame {
    samples: usize,
    texels: Vec<Texel>,
}

impl Frame {
    fn of(made: &Impostor, frame: usize) -> Self {
        let (samples, across) = (made.samples, made.form.layout()[0]);
        let texel = |i: usize| {
            let at = (frame / across * samples + i / samples) * across * samples
                + frame % across * samples
                + i % samples;
            let [r, g, b, cover] = made.color[at];
            Texel {
                color: from_srgb([r, g, b]),
                cover: f32::from(cover),
                normal: made.normal[at].map(f32::from),
                depth: f32::from(made.depth[at]),
            }
        };
        Self { samples, texels: (0..samples * samples).map(texel).collect() }
    }

    /// Means of two by two, by coverage: clear samples have no say where any is covered.
    fn halved(&self) -> Self {
        let half = self.samples / 2;
        let texel = |i: usize| {
            let first = 2 * (i / half) * self.samples + 2 * (i % half);
            let four = [first, first + 1, first + self.samples, first + self.samples + 1];
            let four = four.map(|k| &self.texels[k]);
            let all: f32 = four.iter().map(|texel| texel.cover + 0.01).sum();
            let mut mean = Texel::default();
            for texel in four {
                let share = (texel.cover + 0.01) / all;
                mean.cover += 0.25 * texel.cover;
                mean.depth += share * texel.depth;
                mean.color = [0, 1, 2].map(|k| mean.color[k] + share * texel.color[k]);
                mean.normal = [0, 1, 2, 3].map(|k| mean.normal[k] + share * texel.normal[k]);
            }
            mean
        };
        Self { samples: half, texels: (0..half * half).map(texel).collect() }
    }

    /// Share of samples that pass the cut with a factor on their coverage.
    fn passing(&self, gain: f32) -> f32 {
        let passing = self.texels.iter().filter(|texel| texel.cover * gain >= CUT).count();
        passing as f32 / self.texels.len().max(1) as f32
    }

    /// The factor with which as many pass as are wanted.
    fn gain(&self, wanted: f32) -> f32 {
        if wanted == 0.0 {
            return 1.0;
        }
        let [mut low, mut high] = GAINS;
        for _ in 0..24 {
            let middle = (low * high).sqrt();
            if self.passing(middle) < wanted { low = middle } else { high = middle }
        }
        high
    }
}

#[cfg(test)]
mod tests {
    use crate::{Form, Growth, Season, grow, impostor, lod, species, surface};
    use orogen_core::Seed;
    use orogen_texture::color::from_srgb;

    #[test]
    fn smaller_pictures_cover_as_much_where_they_are_cut_and_have_the_same_colour() {
        for name in ["larch", "oak", "birch"] {
            let season = if name == "birch" { Season::Winter } else { Season::Summer };
            let growth = Growth { season, ..Growth::MATURE };
            let species = species(name).unwrap().unwrap().at(&growth).unwrap();
            let plant = grow(&species, Seed(3)).unwrap();
            let made = impostor(&lod(&species, &plant, 2), &surface(&species, season, 64), Form::Crossed, 64)
                .unwrap();
            let levels = made.levels();
            assert_eq!(levels.iter().map(|level| level.samples).collect::<Vec<_>>(), [64, 32, 16, 8]);
            assert!(levels[0] == made);
            let passing = |level: &crate::Impostor| {
                let seen = level.color.iter().filter(|texel| texel[3] >= 128).count();
                seen as f64 / level.color.len() as f64
            };
            let green = |level: &crate::Impostor| {
                let (sum, all) = level.color.iter().fold((0.0, 0.0), |(sum, all), texel| {
                    let (cover, green) = (f64::from(texel[3]), from_srgb([0, texel[1], 0])[1]);
                    (sum + cover * f64::from(green), all + cover)
                });
                sum / all
            };
            // The trunk covers all it can already, so where twigs are made to cover more, their colour counts for more.
            let bound = if season == Season::Winter { 0.1 } else { 0.03 };
            for level in &levels[1..] {
                assert_eq!(level.color.len(), 3 * level.samples * level.samples);
                // Of bare twigs hardly any sample passes, and those that are alike pass together: three of a frame.
                let off = (passing(level) - passing(&made)).abs();
                let least = 3.0 / (level.samples * level.samples) as f64;
                assert!(off < (0.03 * passing(&made)).max(least), "{name} {}: {off}", level.samples);
                let off = (green(level) / green(&made) - 1.0).abs();
                assert!(off < bound, "{name} {}: {off}", level.samples);
            }
        }
    }
}
