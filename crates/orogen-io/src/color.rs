//! Colours: light adds up in linear RGB, ramps are smooth to the eye in Oklab, screens want sRGB.

use orogen_core::math;

/// Red, green and blue as amounts of light.
pub(crate) type Light = [f32; 3];

/// Amount of light of an sRGB colour.
pub(crate) fn light_of(srgb: [u8; 3]) -> Light {
    srgb.map(|v| {
        let v = f64::from(v) / 255.0;
        (if v <= 0.04045 { v / 12.92 } else { math::pow((v + 0.055) / 1.055, 2.4) }) as f32
    })
}

#[inline]
pub(crate) fn mix(a: Light, b: Light, share: f32) -> Light {
    [0, 1, 2].map(|i| a[i] + (b[i] - a[i]) * share)
}

/// From amounts of light to sRGB, by table.
pub(crate) struct Display {
    table: Vec<u8>,
}

impl Display {
    const STEPS: usize = 8192;

    pub fn new() -> Self {
        let encode = |i: usize| {
            let v = i as f64 / (Self::STEPS - 1) as f64;
            let v = if v <= 0.003_130_8 { 12.92 * v } else { 1.055 * math::pow(v, 1.0 / 2.4) - 0.055 };
            (v * 255.0).round() as u8
        };
        Self { table: (0..Self::STEPS).map(encode).collect() }
    }

    #[inline]
    pub fn srgb(&self, light: Light) -> [u8; 3] {
        light.map(|v| self.table[(v.clamp(0.0, 1.0) * (Self::STEPS - 1) as f32 + 0.5) as usize])
    }
}

/// A smooth run of colours over 0 to 1, by table.
pub(crate) struct Ramp {
    table: Vec<Light>,
}

impl Ramp {
    const STEPS: usize = 1024;

    /// Colours at given places, straight in Oklab in between. Places rise from 0 to 1.
    pub fn new(stops: &[(f32, [u8; 3])]) -> Self {
        let stops: Vec<(f32, [f64; 3])> =
            stops.iter().map(|&(at, srgb)| (at, oklab(light_of(srgb)))).collect();
        let color = |i: usize| {
            let t = i as f32 / (Self::STEPS - 1) as f32;
            let next = stops.iter().position(|stop| stop.0 >= t).unwrap_or(stops.len() - 1);
            let (b, a) = (stops[next], stops[next.saturating_sub(1)]);
            let share = if b.0 > a.0 { f64::from((t - a.0) / (b.0 - a.0)).clamp(0.0, 1.0) } else { 1.0 };
            light_of_oklab([0, 1, 2].map(|k| a.1[k] + (b.1[k] - a.1[k]) * share))
        };
        Self { table: (0..Self::STEPS).map(color).collect() }
    }

    #[inline]
    pub fn at(&self, t: f32) -> Light {
        self.table[(t.clamp(0.0, 1.0) * (Self::STEPS - 1) as f32 + 0.5) as usize]
    }
}

/// Oklab after Ottosson, 2020: lightness and two axes of hue in which equal steps look equal.
fn oklab([r, g, b]: Light) -> [f64; 3] {
    let [r, g, b] = [f64::from(r), f64::from(g), f64::from(b)];
    let cube_root = |v: f64| math::pow(v.max(0.0), 1.0 / 3.0);
    let l = cube_root(0.412_221_470_8 * r + 0.536_332_536_3 * g + 0.051_445_992_9 * b);
    let m = cube_root(0.211_903_498_2 * r + 0.680_699_545_1 * g + 0.107_396_956_6 * b);
    let s = cube_root(0.088_302_461_9 * r + 0.281_718_837_6 * g + 0.629_978_700_5 * b);
    [
        0.210_454_255_3 * l + 0.793_617_785_0 * m - 0.004_072_046_8 * s,
        1.977_998_495_1 * l - 2.428_592_205_0 * m + 0.450_593_709_9 * s,
        0.025_904_037_1 * l + 0.782_771_766_2 * m - 0.808_675_766_0 * s,
    ]
}

pub(crate) fn light_of_oklab([lightness, a, b]: [f64; 3]) -> Light {
    let cube = |v: f64| v * v * v;
    let l = cube(lightness + 0.396_337_777_4 * a + 0.215_803_757_3 * b);
    let m = cube(lightness - 0.105_561_345_8 * a - 0.063_854_172_8 * b);
    let s = cube(lightness - 0.089_484_177_5 * a - 1.291_485_548_0 * b);
    [
        4.076_741_662_1 * l - 3.307_711_591_3 * m + 0.230_969_929_2 * s,
        -1.268_438_004_6 * l + 2.609_757_401_1 * m - 0.341_319_396_5 * s,
        -0.004_196_086_3 * l - 0.703_418_614_7 * m + 1.707_614_701_0 * s,
    ]
    .map(|v| v.clamp(0.0, 1.0) as f32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_grey_and_primary_survives_the_way_there_and_back() {
        let display = Display::new();
        for v in 0..=255 {
            for srgb in [[v, v, v], [v, 0, 0], [0, v, 0], [0, 0, v]] {
                assert_eq!(display.srgb(light_of(srgb)), srgb);
                let back = display.srgb(light_of_oklab(oklab(light_of(srgb))));
                assert!((0..3).all(|i| back[i].abs_diff(srgb[i]) <= 1), "{srgb:?} came back as {back:?}");
            }
        }
    }

    #[test]
    fn a_ramp_meets_its_stops() {
        let display = Display::new();
        let ramp = Ramp::new(&[(0.0, [10, 20, 30]), (0.5, [200, 100, 50]), (1.0, [255, 255, 255])]);
        let close = |t: f32, wanted: [u8; 3]| {
            let found = display.srgb(ramp.at(t));
            assert!((0..3).all(|i| found[i].abs_diff(wanted[i]) <= 1), "{found:?} is not {wanted:?}");
        };
        close(0.0, [10, 20, 30]);
        close(0.5, [200, 100, 50]);
        close(1.0, [255, 255, 255]);
    }
}
