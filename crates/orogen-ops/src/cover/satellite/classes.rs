//! From the numbers of an image to classes.

use orogen_core::{Cancelled, Ctx, LandClass, Raster};

use super::Line;

/// Share of the pixels that may be darker than black and brighter than white.
const DARKEST: f64 = 0.005;
const BRIGHTEST: f64 = 0.995;

/// Tones that a band is divided into to find the darkest and brightest.
const TONES: usize = 1 << 16;

/// What black and white are in each band.
pub struct Balance {
    black: Vec<f32>,
    per_tone: Vec<f32>,
}

impl Balance {
    /// Takes off as much of the darkest tones as `haze` says; `None` where a band has no pixels.
    pub fn of(bands: &[&Raster<f32>], haze: f64) -> Option<Self> {
        let (mut black, mut per_tone) = (Vec::new(), Vec::new());
        for band in bands {
            let [dark, bright] = darkest_and_brightest(band)?;
            let off = (f64::from(dark) * haze) as f32;
            black.push(off);
            per_tone.push(1.0 / (bright - off).max(f32::MIN_POSITIVE));
        }
        Some(Self { black, per_tone })
    }

    fn tone(&self, band: usize, value: f32) -> f32 {
        ((value - self.black[band]) * self.per_tone[band]).clamp(0.0, 1.0)
    }
}

fn darkest_and_brightest(band: &Raster<f32>) -> Option<[f32; 2]> {
    let (low, high) = band.range()?;
    if low >= high {
        return Some([low, high.max(f32::MIN_POSITIVE)]);
    }
    let mut counts = vec![0u64; TONES];
    let per = (TONES - 1) as f32 / (high - low);
    for value in band.as_slice().iter().filter(|value| !value.is_nan()) {
        counts[((value - low) * per) as usize] += 1;
    }
    let all: u64 = counts.iter().sum();
    let tone = |share: f64| {
        let wanted = (all as f64 * share) as u64;
        let mut sum = 0;
        let found = counts.iter().position(|count| {
            sum += count;
            sum > wanted
        });
        low + found.unwrap_or(TONES - 1) as f32 / per
    };
    Some([tone(DARKEST), tone(BRIGHTEST)])
}

/// An image and what its colours mean.
pub struct Seen<'a> {
    /// Red, green, blue and, if there is one, near infrared.
    pub bands: &'a [&'a Raster<f32>],
    pub balance: &'a Balance,
    pub lines: &'a [&'a Line],
}

impl Seen<'_> {
    /// The class of every pixel; 0 for holes.
    pub fn classify(&self, ctx: &Ctx<'_>) -> Result<Raster<u8>, Cancelled> {
        let first = self.bands[0];
        let counter = ctx.unwatched();
        let counter = counter.counter(first.rows());
        let mut out = Raster::filled(first.cols(), first.rows(), 0u8);
        out.try_par_rows(|row, values| {
            for (col, value) in values.iter_mut().enumerate() {
                *value = self.class(col, row);
            }
            counter.done()
        })?;
        Ok(out)
    }

    fn class(&self, col: usize, row: usize) -> u8 {
        // Bands of one file have one size.
        let at = |band: usize| self.bands[band].row(row)[col];
        if (0..self.bands.len()).any(|band| at(band).is_nan()) {
            return 0;
        }
        let hsv = hsv([0, 1, 2].map(|band| self.balance.tone(band, at(band))));
        let vegetation = (self.bands.len() > 3).then(|| {
            let (red, near) = (at(0), at(3));
            if red + near > 0.0 { (near - red) / (near + red) } else { 0.0 }
        });
        let fits = |line: &&&Line| fits(line, hsv, vegetation);
        self.lines.iter().find(fits).map_or(LandClass::Bare, |line| line.class.class()).id()
    }
}

fn fits(line: &Line, [hue, saturation, brightness]: [f32; 3], vegetation: Option<f32>) -> bool {
    let within = |[from, to]: [f64; 2], value: f32| (from as f32..=to as f32).contains(&value);
    let [from, to] = line.hue_deg;
    let hue_fits =
        if from <= to { within(line.hue_deg, hue) } else { hue >= from as f32 || hue <= to as f32 };
    let leaves_fit = match (line.vegetation, vegetation) {
        (None, None) => true,
        (None, Some(_)) => !line.without_infrared,
        (Some(_), None) => false,
        (Some(wanted), Some(found)) => within(wanted, found),
    };
    hue_fits && leaves_fit && within(line.saturation, saturation) && within(line.brightness, brightness)
}

/// Hue in degrees, saturation and brightness of red, green and blue from 0 to 1. Greys have a hue of 0.
pub fn hsv([red, green, blue]: [f32; 3]) -> [f32; 3] {
    let most = red.max(green).max(blue);
    let spread = most - red.min(green).min(blue);
    if spread <= 0.0 {
        return [0.0, 0.0, most];
    }
    let sixth = if most == red {
        let sixth = (green - blue) / spread;
        if sixth < 0.0 { sixth + 6.0 } else { sixth }
    } else if most == green {
        (blue - red) / spread + 2.0
    } else {
        (red - green) / spread + 4.0
    };
    [60.0 * sixth, spread / most, most]
}
