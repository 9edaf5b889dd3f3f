//! Colours: sRGB bytes and light, means, mixes.

use std::sync::OnceLock;

use orogen_core::math::{lerp, pow};

/// Red, green and blue as shares of light reflected: linear, 0 to 1.
pub type Color = [f32; 3];

/// The share of light that a byte of a picture stands for (sRGB, IEC 61966-2-1).
#[must_use]
pub fn linear_from_srgb(byte: u8) -> f32 {
    static TABLE: OnceLock<[f32; 256]> = OnceLock::new();
    TABLE.get_or_init(|| std::array::from_fn(|i| decode(i as f64 / 255.0) as f32))[usize::from(byte)]
}

fn decode(encoded: f64) -> f64 {
    if encoded <= 0.040_45 { encoded / 12.92 } else { pow((encoded + 0.055) / 1.055, 2.4) }
}

/// Steps of a table that says where to start looking.
const STARTS: usize = 4096;

/// The byte of a picture that is nearest to a share of light; beyond 0 and 1 the ends.
#[must_use]
pub fn srgb_from_linear(light: f32) -> u8 {
    static TABLE: OnceLock<([f32; 255], Vec<u8>)> = OnceLock::new();
    // The light half-way, as encoded, between each byte and the next.
    let (limits, starts) = TABLE.get_or_init(|| {
        let limits: [f32; 255] = std::array::from_fn(|i| decode((i as f64 + 0.5) / 255.0) as f32);
        let starts = (0..STARTS)
            .map(|step| limits.partition_point(|&limit| limit <= step as f32 / STARTS as f32) as u8)
            .collect();
        (limits, starts)
    });
    let light = if light > 0.0 { light.min(1.0) } else { 0.0 };
    let mut byte = starts[((light * STARTS as f32) as usize).min(STARTS - 1)];
    while byte < 255 && limits[usize::from(byte)] <= light {
        byte += 1;
    }
    byte
}

/// A colour as the bytes of a picture.
#[must_use]
pub fn to_srgb(color: Color) -> [u8; 3] {
    color.map(srgb_from_linear)
}

/// The colour of the bytes of a picture.
#[must_use]
pub fn from_srgb(bytes: [u8; 3]) -> Color {
    bytes.map(linear_from_srgb)
}

/// `a` at 0, `b` at 1.
#[inline]
#[must_use]
pub fn mix(a: Color, b: Color, t: f32) -> Color {
    [lerp(a[0], b[0], t), lerp(a[1], b[1], t), lerp(a[2], b[2], t)]
}

/// A colour made brighter or darker.
#[inline]
#[must_use]
pub fn scaled(color: Color, factor: f32) -> Color {
    color.map(|c| c * factor)
}

/// How bright a colour is to the eye.
#[inline]
#[must_use]
pub fn luminance([r, g, b]: Color) -> f32 {
    0.2126 * r + 0.7152 * g + 0.0722 * b
}

/// The mean of the light that a picture reflects, summed in order.
#[must_use]
pub fn mean(picture: &[[u8; 3]]) -> Color {
    let mut sum = [0.0f64; 3];
    for pixel in picture {
        for (sum, &byte) in sum.iter_mut().zip(pixel) {
            *sum += f64::from(linear_from_srgb(byte));
        }
    }
    sum.map(|s| (s / picture.len().max(1) as f64) as f32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_comes_back() {
        for byte in 0..=255 {
            assert_eq!(srgb_from_linear(linear_from_srgb(byte)), byte);
        }
        assert!((linear_from_srgb(128) - 0.215_861).abs() < 1e-6);
    }

    #[test]
    fn the_nearest_byte_is_taken_and_odd_numbers_are_the_ends() {
        for i in 0..=5000 {
            let light = i as f32 / 5000.0;
            let encoded = if light <= 0.003_130_8 {
                f64::from(light) * 12.92
            } else {
                1.055 * pow(f64::from(light), 1.0 / 2.4) - 0.055
            };
            let byte = f64::from(srgb_from_linear(light));
            assert!((byte - encoded * 255.0).abs() < 0.501, "{light}: {byte} for {}", encoded * 255.0);
        }
        assert_eq!(to_srgb([f32::NAN, -3.0, f32::INFINITY]), [0, 0, 255]);
    }
}
