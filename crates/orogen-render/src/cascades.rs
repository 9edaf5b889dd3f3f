//! Shadows of what is near: the land and what stands on it as the lamp sees them, on squares around the eye, each several times as
//! wide as the one before. Far land has its shade from the horizon (`shade.rs`).

use orogen_core::math;

use crate::gpu::{DEPTH, Gpu};
use crate::passes::Scene;
use crate::vec3::{Vec3, add, cross, direction, dot, scale, sub};

/// How many squares there are.
pub const CASCADES: usize = 3;
/// Samples along a side of each.
pub const SHADOW_SIDE: u32 = 2048;
/// Each square is so many times wider than the one before.
const WIDER: f64 = 4.0;
/// Half the side of the narrowest, for an eye on the ground.
const LEAST_M: f64 = 28.0;
/// The same for an eye high above it.
const MOST_M: f64 = 640.0;

/// What the lamp sees of one square.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cascade {
    /// By columns, from places relative to the eye to clip space; what is nearest to the lamp has depth 1.
    pub clip: [[f32; 4]; 4],
    /// The middle, relative to the eye.
    pub middle: Vec3,
    /// Half the side, in metres.
    pub radius_m: f64,
}

impl Cascade {
    /// The width of a sample.
    #[must_use]
    pub fn texel_m(&self) -> f64 {
        2.0 * self.radius_m / f64::from(SHADOW_SIDE)
    }

    /// Where a place relative to the eye lies in it: from -1 to 1 across, and from 0 to 1 in depth.
    fn seen(&self, place: Vec3) -> Vec3 {
        [0, 1, 2].map(|row| {
            let along: f64 = (0..3).map(|col| f64::from(self.clip[col][row]) * place[col]).sum();
            along + f64::from(self.clip[3][row])
        })
    }

    /// Whether a ball relative to the eye may throw a shadow into it.
    #[must_use]
    pub fn may_see(&self, middle: Vec3, radius_m: f64) -> bool {
        let [x, y, z] = self.seen(middle);
        let wide = 1.0 + radius_m / self.radius_m;
        let deep = 0.5 * radius_m / depth_m(self.radius_m);
        x.abs() < wide && y.abs() < wide && (-deep..1.0 + deep).contains(&z)
    }

    /// Whether the shadow of a ball relative to the eye falls where no wider square is asked for it.
    #[must_use]
    pub fn holds(&self, middle: Vec3, radius_m: f64) -> bool {
        let [x, y, z] = self.seen(middle);
        let within = ALONE - radius_m / self.radius_m;
        x.abs() < within && y.abs() < within && (0.3..1.0).contains(&z)
    }
}

/// Up to this share of its half side a square is the only one that is asked (`near_light` in `common.wgsl`).
const ALONE: f64 = 0.78;

/// How far before and behind its middle a square looks.
fn depth_m(radius_m: f64) -> f64 {
    (3.0 * radius_m).max(250.0)
}

/// The squares for an eye some way above the ground that looks along `forward`, under a lamp in the direction `lamp`, nearest first.
/// They move by whole samples, so that shadows stand still while the eye moves.
#[must_use]
pub fn cascades(eye: Vec3, above_ground_m: f64, forward: Vec3, lamp: Vec3) -> [Cascade; CASCADES] {
    // Of one width for a range of heights.
    let steps = math::log2((above_ground_m.max(1.0) * 2.5).clamp(LEAST_M, MOST_M) / LEAST_M).round();
    let narrowest = LEAST_M * math::exp2(steps);
    let side = direction(cross(lamp, [0.0, 0.0, 1.0]), [1.0, 0.0, 0.0]);
    let up = cross(side, lamp);
    let flat = direction([forward[0], forward[1], 0.0], [0.0, 0.0, 0.0]);
    let level = math::hypot(forward[0], forward[1]).min(1.0);
    let mut radius_m = narrowest;
    [(); CASCADES].map(|()| {
        let texel = 2.0 * radius_m / f64::from(SHADOW_SIDE);
        let wanted = add(eye, scale(flat, 0.7 * radius_m * level));
        let wanted = [wanted[0], wanted[1], eye[2] - above_ground_m];
        let snapped = |axis: Vec3| (dot(wanted, axis) / texel).round() * texel;
        let middle = add(add(scale(side, snapped(side)), scale(up, snapped(up))), scale(lamp, snapped(lamp)));
        let middle = sub(middle, eye);
        let deep = depth_m(radius_m);
        let row = |axis: Vec3, by: f64, plus: f64| {
            [axis[0] * by, axis[1] * by, axis[2] * by, plus - dot(middle, axis) * by]
        };
        let rows = [
            row(side, 1.0 / radius_m, 0.0),
            row(up, 1.0 / radius_m, 0.0),
            row(lamp, 0.5 / deep, 0.5),
            [0.0, 0.0, 0.0, 1.0],
        ];
        let clip = [0, 1, 2, 3].map(|col| rows.map(|row| row[col] as f32));
        let cascade = Cascade { clip, middle, radius_m };
        radius_m *= WIDER;
        cascade
    })
}

/// Textures that the lamp's views are drawn into, and what the passes that do it need.
pub(crate) struct ShadowTargets {
    /// All squares, to look at.
    pub all: wgpu::TextureView,
    /// Each of them, to draw into.
    pub each: [wgpu::TextureView; CASCADES],
    /// A square of nothing, for the passes that draw the others.
    pub none: wgpu::TextureView,
    /// The scene as the lamp sees it.
    pub scenes: [wgpu::Buffer; CASCADES],
    /// Compares depths.
    pub compared: wgpu::Sampler,
}

impl ShadowTargets {
    pub fn new(gpu: &Gpu) -> Self {
        let texture = |side: u32, layers: u32| {
            gpu.device.create_texture(&wgpu::TextureDescriptor {
                label: Some("shadows"),
                size: wgpu::Extent3d { width: side, height: side, depth_or_array_layers: layers },
                mip_level_count: 1,
                sample_count: 1,
                dimension: wgpu::TextureDimension::D2,
                format: DEPTH,
                usage: wgpu::TextureUsages::RENDER_ATTACHMENT | wgpu::TextureUsages::TEXTURE_BINDING,
                view_formats: &[],
            })
        };
        let array = |texture: &wgpu::Texture| {
            texture.create_view(&wgpu::TextureViewDescriptor {
                dimension: Some(wgpu::TextureViewDimension::D2Array),
                ..Default::default()
            })
        };
        let shadows = texture(SHADOW_SIDE, CASCADES as u32);
        let layer = |layer: u32| {
            shadows.create_view(&wgpu::TextureViewDescriptor {
                dimension: Some(wgpu::TextureViewDimension::D2),
                base_array_layer: layer,
                array_layer_count: Some(1),
                ..Default::default()
            })
        };
        let scene = |_| gpu.buffer("lamp", &vec![0; size_of::<Scene>()], wgpu::BufferUsages::UNIFORM);
        Self {
            all: array(&shadows),
            each: [0, 1, 2].map(layer),
            none: array(&texture(1, 1)),
            scenes: [0, 1, 2].map(scene),
            compared: gpu.device.create_sampler(&wgpu::SamplerDescriptor {
                mag_filter: wgpu::FilterMode::Linear,
                min_filter: wgpu::FilterMode::Linear,
                compare: Some(wgpu::CompareFunction::GreaterEqual),
                ..Default::default()
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vec3::toward;

    #[test]
    fn what_is_nearer_to_the_lamp_has_more_depth_and_the_eyes_foot_is_inside() {
        let (eye, lamp) = ([5000.0, 7000.0, 302.0], toward(120.0, 35.0));
        for cascade in cascades(eye, 2.0, [0.6, 0.8, 0.0], lamp) {
            let foot = cascade.seen([0.0, 0.0, -2.0]);
            assert!(foot[0].abs() < 0.95 && foot[1].abs() < 0.95, "{foot:?}");
            let above = cascade.seen(scale(lamp, 10.0));
            let below = cascade.seen(scale(lamp, -10.0));
            assert!(above[2] > below[2] && below[2] > 0.0 && above[2] < 1.0);
            assert!((above[0] - below[0]).abs() < 1e-3, "along the light nothing moves sideways");
        }
    }

    #[test]
    fn shadows_stand_still_while_the_eye_moves() {
        let lamp = toward(200.0, 50.0);
        let place = [5010.0, 7020.0, 301.0];
        let at = |eye: Vec3| {
            let cascade = cascades(eye, 2.0, [1.0, 0.0, 0.0], lamp)[0];
            let found = cascade.seen(sub(place, eye));
            [0, 1].map(|i| 0.5 * f64::from(SHADOW_SIDE) * found[i])
        };
        let (before, after) = (at([5000.0, 7000.0, 302.0]), at([5000.517, 7000.291, 302.04]));
        for i in 0..2 {
            let moved = after[i] - before[i];
            assert!((moved - moved.round()).abs() < 0.02, "{moved}");
        }
    }
    #[test]
    fn what_a_square_holds_alone_throws_no_shadow_beyond_it() {
        let lamp = toward(120.0, 35.0);
        let [near, wider, _] = cascades([5000.0, 7000.0, 302.0], 2.0, [0.6, 0.8, 0.0], lamp);
        let ball = add(near.middle, scale(lamp, 20.0));
        assert!(near.holds(ball, 5.0) && near.may_see(ball, 5.0) && wider.may_see(ball, 5.0));
        let aside = add(ball, scale(direction(cross(lamp, [0.0, 0.0, 1.0]), [1.0, 0.0, 0.0]), 20.0));
        assert!(!near.holds(aside, 5.0) && near.may_see(aside, 5.0));
        let beyond = add(aside, scale(direction(cross(lamp, [0.0, 0.0, 1.0]), [1.0, 0.0, 0.0]), 20.0));
        assert!(!near.may_see(beyond, 5.0) && wider.may_see(beyond, 5.0));
    }
}
