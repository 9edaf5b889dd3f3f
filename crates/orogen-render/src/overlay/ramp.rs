//! Colours for values.

use orogen_core::math;

use super::{Legend, Texel};

/// Colours that run from the first value to the last.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ramp(&'static [(f32, [u8; 3])]);

/// From which value to which a ramp runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    /// The value of the first colour.
    pub low: f64,
    /// The value of the last colour.
    pub high: f64,
    /// Whether equal steps of colour are equal factors of the value.
    pub log: bool,
}

impl Scale {
    /// How far along a value is, 0 to 1.
    #[must_use]
    pub fn share(&self, value: f64) -> f64 {
        let share = if self.log {
            let (low, high) = (math::ln(self.low.max(1e-12)), math::ln(self.high.max(1e-11)));
            (math::ln(value.max(1e-12)) - low) / (high - low).max(1e-12)
        } else {
            (value - self.low) / (self.high - self.low).max(1e-12)
        };
        share.clamp(0.0, 1.0)
    }

    /// The value so far along.
    #[must_use]
    pub fn value(&self, share: f64) -> f64 {
        if self.log {
            let (low, high) = (math::ln(self.low.max(1e-12)), math::ln(self.high.max(1e-11)));
            math::exp(low + share * (high - low))
        } else {
            self.low + share * (self.high - self.low)
        }
    }

    pub(super) fn index(&self, value: f32) -> usize {
        (self.share(value.into()) * 255.0).round() as usize
    }
}

impl Ramp {
    /// Heights: lowland green, ochre uplands, grey crags, snow.
    pub const HEIGHT: Self = Self(&[
        (0.0, [62, 118, 76]),
        (0.1, [104, 150, 84]),
        (0.25, [176, 188, 104]),
        (0.42, [214, 190, 122]),
        (0.6, [176, 128, 84]),
        (0.76, [138, 106, 92]),
        (0.88, [190, 182, 178]),
        (1.0, [250, 250, 252]),
    ]);
    /// Slopes: level is pale, steep is dark.
    pub const SLOPE: Self = Self(&[
        (0.0, [244, 244, 232]),
        (0.12, [252, 232, 164]),
        (0.3, [246, 176, 88]),
        (0.5, [222, 96, 62]),
        (0.72, [150, 40, 84]),
        (1.0, [56, 12, 76]),
    ]);
    /// Cold is blue, warm is red.
    pub const TEMPERATURE: Self = Self(&[
        (0.0, [44, 62, 150]),
        (0.25, [96, 158, 208]),
        (0.5, [238, 234, 206]),
        (0.75, [232, 150, 84]),
        (1.0, [158, 28, 44]),
    ]);
    /// Dry is brown, wet is green and blue.
    pub const MOISTURE: Self = Self(&[
        (0.0, [150, 104, 52]),
        (0.3, [222, 200, 146]),
        (0.5, [214, 226, 190]),
        (0.75, [92, 172, 146]),
        (1.0, [16, 82, 120]),
    ]);
    /// Streams: pale slopes, deep blue rivers.
    pub const FLOW: Self = Self(&[
        (0.0, [244, 240, 228]),
        (0.35, [196, 216, 220]),
        (0.6, [104, 166, 204]),
        (0.8, [40, 98, 172]),
        (1.0, [8, 24, 88]),
    ]);
    /// Water: the deeper the bluer.
    pub const WATER: Self =
        Self(&[(0.0, [150, 206, 226]), (0.3, [64, 148, 208]), (0.65, [20, 82, 170]), (1.0, [6, 26, 92])]);
    /// What was eroded is black, what was deposited white.
    pub const DIFFERENCE: Self = Self(&[
        (0.0, [4, 4, 4]),
        (0.25, [44, 44, 44]),
        (0.5, [118, 118, 118]),
        (0.75, [206, 206, 206]),
        (1.0, [255, 255, 255]),
    ]);
    /// Anything else: from dark blue over green to yellow, evenly for the eye.
    pub const OTHER: Self = Self(&[
        (0.0, [68, 1, 84]),
        (0.125, [71, 44, 122]),
        (0.25, [59, 81, 139]),
        (0.375, [44, 113, 142]),
        (0.5, [33, 144, 141]),
        (0.625, [39, 173, 129]),
        (0.75, [92, 200, 99]),
        (0.875, [170, 220, 50]),
        (1.0, [253, 231, 37]),
    ]);

    /// The ramp that suits a layer whose values lie mostly between two.
    pub(super) fn of_layer(name: &str, low: f64, high: f64) -> (Self, Scale) {
        let (low, high) = if high > low { (low, high) } else { (low, low + 1.0) };
        let scale = Scale { low, high, log: false };
        let family = name.split('.').next().unwrap_or(name);
        match family {
            "height" => (Self::HEIGHT, scale),
            "slope" => (Self::SLOPE, Scale { low: 0.0, high: 60.0, log: false }),
            "temperature" => (Self::TEMPERATURE, scale),
            "moisture" | "rain" => (
                Self::MOISTURE,
                if family == "moisture" { Scale { low: 0.0, high: 1.0, log: false } } else { scale },
            ),
            "flow" => {
                let low = low.max(1.0);
                (Self::FLOW, Scale { low, high: (high * 30.0).max(low * 10.0), log: true })
            }
            "water" | "snow" | "ice" => (Self::WATER, scale),
            _ => (Self::OTHER, scale),
        }
    }

    /// Places from 0 to 1, and the colours there in sRGB.
    #[must_use]
    pub fn stops(&self) -> &'static [(f32, [u8; 3])] {
        self.0
    }

    /// The colour at a share, linear.
    #[must_use]
    pub fn at(&self, share: f64) -> [f32; 3] {
        let share = share.clamp(0.0, 1.0) as f32;
        let above = self.0.iter().position(|(at, _)| *at >= share).unwrap_or(self.0.len() - 1).max(1);
        let ((from, a), (to, b)) = (self.0[above - 1], self.0[above]);
        let t = ((share - from) / (to - from).max(1e-6)).clamp(0.0, 1.0);
        let (a, b) = (linear(a), linear(b));
        [0, 1, 2].map(|c| a[c] + t * (b[c] - a[c]))
    }

    pub(super) fn table(&self) -> Box<[[f32; 3]; 256]> {
        let mut table = Box::new([[0f32; 3]; 256]);
        table.iter_mut().enumerate().for_each(|(i, color)| *color = self.at(i as f64 / 255.0));
        table
    }

    pub(super) fn legend(&self, title: &str, unit: &str, scale: Scale) -> Legend {
        let colors = (0..=64).map(|i| {
            let [r, g, b] = self.at(f64::from(i) / 64.0);
            let [r, g, b, _] = encoded([r, g, b, 1.0]);
            [r, g, b]
        });
        Legend::Ramp { title: title.to_owned(), unit: unit.to_owned(), scale, colors: colors.collect() }
    }
}

/// Colours of tiles by level; `overlay.wgsl` has the same.
pub(super) const LEVELS: [[u8; 3]; 8] = [
    [94, 79, 162],
    [50, 136, 189],
    [102, 194, 165],
    [171, 221, 164],
    [254, 224, 139],
    [253, 174, 97],
    [244, 109, 67],
    [213, 62, 79],
];

/// A colour of a screen as light.
pub(super) fn linear(color: [u8; 3]) -> [f32; 3] {
    orogen_texture::color::from_srgb(color)
}

/// Light as a screen has it; alpha as it is.
pub(super) fn encoded([r, g, b, a]: Texel) -> [u8; 4] {
    let byte = |x: f32| (x * 255.0).round().clamp(0.0, 255.0) as u8;
    let curve = |x: f32| {
        let x = f64::from(x.clamp(0.0, 1.0));
        byte((if x <= 0.003_130_8 { 12.92 * x } else { 1.055 * math::pow(x, 1.0 / 2.4) - 0.055 }) as f32)
    };
    [curve(r), curve(g), curve(b), byte(a)]
}

/// The next of 1, 2, 2.5, 5, 10 ... from a number on.
pub(super) fn nice_above(x: f64) -> f64 {
    let power = math::pow(10.0, math::log10(x).floor());
    [1.0, 2.0, 2.5, 5.0, 10.0].map(|m| m * power).into_iter().find(|nice| *nice >= x * 0.999_999).unwrap_or(x)
}

/// A number with three digits that count.
pub(super) fn short(x: f64) -> String {
    if x == 0.0 {
        return String::from("0");
    }
    let digits = (2.0 - math::log10(x.abs()).floor()).clamp(0.0, 6.0) as usize;
    let text = format!("{x:.digits$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ramps_run_through_their_colours_and_scales_are_cut() {
        let ends = [Ramp::OTHER.at(0.0), Ramp::OTHER.at(1.0)];
        assert_eq!(ends, [linear([68, 1, 84]), linear([253, 231, 37])]);
        let [r, g, b] = Ramp::DIFFERENCE.at(0.5);
        assert_eq!(encoded([r, g, b, 0.5]), [118, 118, 118, 128]);
        let scale = Scale { low: 1.0, high: 100.0, log: true };
        assert!((scale.share(10.0) - 0.5).abs() < 1e-12 && (scale.value(0.5) - 10.0).abs() < 1e-9);
        assert_eq!((scale.index(f32::INFINITY), scale.index(-1.0)), (255, 0));
        for ramp in [
            Ramp::HEIGHT,
            Ramp::SLOPE,
            Ramp::TEMPERATURE,
            Ramp::MOISTURE,
            Ramp::FLOW,
            Ramp::WATER,
            Ramp::OTHER,
        ] {
            assert!(ramp.stops().len() <= super::super::STOPS && ramp.stops().is_sorted_by(|a, b| a.0 < b.0));
        }
    }

    #[test]
    fn steps_are_round_numbers_and_numbers_are_short() {
        for (x, nice) in
            [(0.7, 1.0), (1.0, 1.0), (1.3, 2.0), (22.0, 25.0), (26.0, 50.0), (501.0, 1000.0), (0.03, 0.05)]
        {
            assert!((nice_above(x) - nice).abs() < 1e-9 * nice, "{x}: {}", nice_above(x));
        }
        for (x, text) in [(0.0, "0"), (1234.6, "1235"), (12.34, "12.3"), (-0.05, "-0.05"), (100.0, "100")] {
            assert_eq!(short(x), text);
        }
    }
}
