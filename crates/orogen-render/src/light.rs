//! The light of a moment: sun, sky and air as the shaders take them, kept while they hold.

use std::sync::Arc;

use orogen_core::math;

use crate::air::{Air, BLOCK, SKY};
use crate::camera::Camera;
use crate::gpu::{Gpu, Shape, half};
use crate::sun::Sun;
use crate::vec3::{Vec3, as_f32};

/// What light depends on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Asked {
    pub camera: Camera,
    /// Width over height of the picture.
    pub aspect: f64,
    pub sun: Sun,
    /// Where north is, clockwise from the land's own.
    pub north_deg: f64,
    /// How hazy the air is.
    pub haze: f64,
    /// Stops to brighten or darken by.
    pub exposure_ev: f64,
    /// The mean colour of the ground.
    pub ground: [f32; 3],
}

/// The light of a moment, for an eye.
pub(crate) struct Light {
    pub sun: Vec3,
    pub direct: [f32; 3],
    pub harmonics: [[f32; 3]; 4],
    pub bounce: [f32; 3],
    pub exposure: f32,
    /// Transmittance of red, green and blue, as powers of that of green.
    pub tint: [f32; 3],
    /// How dark the night is, from 0 by day to 1.
    pub night: f32,
    /// The light of the sky by direction.
    pub sky: wgpu::TextureView,
    /// What air does before each depth of the picture.
    pub block: wgpu::TextureView,
}

/// How bright white paper in the sun of a good day is, before it is toned.
const KEY: f32 = 3.0;
/// How far the eye adapts to the light of the hour: 1 would be wholly.
const ADAPTS: f64 = 0.80;

impl Light {
    /// That of a moment.
    pub fn of(gpu: &Gpu, air: &Air, asked: &Asked) -> Self {
        let height = (asked.camera.eye[2].max(1.0) as f32).min(90_000.0);
        let low_height = height.min(2000.0);
        let (lamp, strength) = asked.sun.lamp();
        let way = lamp.direction(asked.north_deg);
        // By night the moon lights the air too, and the sun from below the horizon.
        let mut lamps = vec![(way, strength)];
        if lamp != asked.sun {
            lamps.push((asked.sun.direction(asked.north_deg), 1.0));
        }
        let mut direct = [0f32; 3];
        let mut harmonics = [[0f32; 3]; 4];
        let mut sky = vec![[0f32; 3]; SKY[0] * SKY[1]];
        let mut block = vec![[0f32; 4]; BLOCK[0] * BLOCK[1] * BLOCK[2]];
        for (i, &(way, strength)) in lamps.iter().enumerate() {
            let low = as_f32(way);
            if i == 0 {
                direct = air.sunlight(low_height, low[2]).map(|c| c * strength);
            }
            for (sum, own) in harmonics.iter_mut().zip(air.harmonics(low_height, low)) {
                (0..3).for_each(|c| sum[c] += strength * own[c]);
            }
            let own = air.sky_table(height, low);
            for (at, sum) in sky.iter_mut().enumerate() {
                // Columns count from the lamp; the other stands over against it.
                let (row, col) = (at / SKY[0], (at + i * SKY[0] / 2) % SKY[0]);
                (0..3).for_each(|c| sum[c] += strength * own[row * SKY[0] + col][c]);
            }
            for (sum, own) in block.iter_mut().zip(air.block(&asked.camera, asked.aspect, way)) {
                (0..3).for_each(|c| sum[c] += strength * own[c]);
                sum[3] = own[3];
            }
        }
        let level = |direct: [f32; 3], harmonics: [[f32; 3]; 4], up: f32| {
            [0, 1, 2].map(|c| direct[c] * up.max(0.0) + harmonics[0][c] + harmonics[3][c])
        };
        let on_level = level(direct, harmonics, way[2] as f32);
        let bounce = [0, 1, 2].map(|c| on_level[c] * asked.ground[c]);
        // The eye adapts to the light of the hour, but not wholly: dusk stays darker than noon.
        let luminance = |c: [f32; 3]| 0.2126 * c[0] + 0.7152 * c[1] + 0.0722 * c[2];
        let day = as_f32(Sun { azimuth_deg: 180.0, altitude_deg: 45.0 }.direction(0.0));
        let at_day = luminance(level(air.sunlight(0.0, day[2]), air.harmonics(0.0, day), day[2]));
        let share = f64::from((luminance(on_level) / at_day).max(1e-6));
        let exposure = KEY * std::f32::consts::PI / at_day * math::exp2(asked.exposure_ev) as f32;
        // All light is brought to about that of day: in half precision that of night would have steps.
        let gain = math::pow(share, -ADAPTS) as f32;
        let gained = |c: [f32; 3]| c.map(|c| c * gain);
        let (direct, bounce, harmonics) = (gained(direct), gained(bounce), harmonics.map(gained));
        let sky: Vec<[f32; 3]> = sky.into_iter().map(gained).collect();
        let block: Vec<[f32; 4]> =
            block.into_iter().map(|[r, g, b, a]| [r * gain, g * gain, b * gain, a]).collect();
        let night = 1.0 - math::smoothstep(-10.8, -7.1, math::ln(share) as f32);
        let [sky, block] = upload(gpu, &sky, &block);
        let tint = air.tint(low_height);
        Self { sun: way, direct, harmonics, bounce, exposure, tint, night, sky, block }
    }
}

fn upload(gpu: &Gpu, sky: &[[f32; 3]], block: &[[f32; 4]]) -> [wgpu::TextureView; 2] {
    let halves = |values: &mut dyn Iterator<Item = f32>| -> Vec<u8> {
        values.flat_map(|x| half(x).to_le_bytes()).collect()
    };
    let format = wgpu::TextureFormat::Rgba16Float;
    let sky = halves(&mut sky.iter().flat_map(|[r, g, b]| [*r, *g, *b, 1.0]));
    let shape =
        Shape { size: [SKY[0] as u32, SKY[1] as u32, 1], format, view: wgpu::TextureViewDimension::D2 };
    let sky = gpu.texture("sky", &shape, &[vec![&sky[..]]]);
    let block = halves(&mut block.iter().flatten().copied());
    let shape = Shape { size: BLOCK.map(|n| n as u32), format, view: wgpu::TextureViewDimension::D3 };
    [sky, gpu.texture("air", &shape, &[vec![&block[..]]])]
}

/// Light that is worked out anew only where something changed.
#[derive(Default)]
pub(crate) struct Kept {
    air: Option<(f64, Arc<Air>)>,
    light: Option<(Asked, Arc<Light>)>,
}

impl Kept {
    pub fn light(&mut self, gpu: &Gpu, asked: &Asked) -> Arc<Light> {
        if let Some((_, light)) = self.light.as_ref().filter(|(known, _)| known == asked) {
            return light.clone();
        }
        let air = match &self.air {
            Some((haze, air)) if *haze == asked.haze => air.clone(),
            _ => Arc::new(Air::new(asked.haze as f32)),
        };
        self.air = Some((asked.haze, air.clone()));
        let light = Arc::new(Light::of(gpu, &air, asked));
        self.light = Some((*asked, light.clone()));
        light
    }

    #[cfg(test)]
    pub fn last(&self) -> Option<Arc<Light>> {
        self.light.as_ref().map(|(_, light)| light.clone())
    }
}
