//! What a renderer does with an impostor: which frames it looks up, where, and how it lights them.

use orogen_texture::color::from_srgb;

use super::draw::{Camera, Drawn, FINER, Paint, Surfel, draw};
use super::frames::nearest;
use super::relief::Relief;
use super::{Form, FrameView, Impostor, ImpostorError, bounds};
use crate::frame::{Vec3, add, cross, dot, scaled, sub, unit};
use crate::mesh::PlantMesh;
use crate::picture::View;
use crate::surface::Surface;

/// The light of a scene, linear.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Light {
    /// Towards the sun; of length 1.
    pub sun: [f32; 3],
    /// Of the sun, on a surface that looks at it.
    pub sunlight: [f32; 3],
    /// Of the sky, on a surface that looks up.
    pub sky: [f32; 3],
    /// Of the ground, on a surface that looks down.
    pub ground: [f32; 3],
}

impl Light {
    /// A clear day with the sun on a side.
    #[must_use]
    pub fn day(sun: [f64; 3]) -> Self {
        Self {
            sun: unit(sun).map(|v| v as f32),
            sunlight: [2.3, 2.15, 1.9],
            sky: [0.5, 0.58, 0.72],
            ground: [0.12, 0.13, 0.09],
        }
    }

    /// What a piece of surface sends to the viewer: the sun's light on its front, what shines through from behind, and that of
    /// sky and ground. `sun` is the direction as the frame has it, `relief` how its normals vary.
    fn on(&self, surfel: &Surfel, sun: [f32; 3], relief: &Relief) -> [f32; 3] {
        let share = relief.sun_on(surfel, sun);
        let sun = relief.gain(sun).map(|gain| gain * share);
        let above = 0.5 + 0.5 * surfel.normal[2];
        [0, 1, 2].map(|k| {
            surfel.color[k]
                * (self.sunlight[k] * sun[k] + self.sky[k] * above + self.ground[k] * (1.0 - above))
        })
    }
}

/// A picture in linear light, multiplied by its coverage, which comes fourth.
#[derive(Clone, Debug, PartialEq)]
pub struct Rgba {
    /// Pixels.
    pub size: [usize; 2],
    /// Row by row from the top.
    pub pixels: Vec<[f32; 4]>,
}

impl Rgba {
    /// Pixels that are covered, those in part by their part.
    #[must_use]
    pub fn area(&self) -> f64 {
        self.pixels.iter().map(|pixel| f64::from(pixel[3])).sum()
    }

    /// Mean colour of what is covered.
    #[must_use]
    pub fn mean(&self) -> [f64; 3] {
        let area = self.area().max(1e-9);
        [0, 1, 2].map(|k| self.pixels.iter().map(|pixel| f64::from(pixel[k])).sum::<f64>() / area)
    }
}

/// A view as a camera: [`View`] looks away from the viewer.
fn camera(view: &View, finer: usize) -> Camera {
    let [wide, tall] = view.size.map(|v| v.max(1));
    let half = 0.5 * view.width_m;
    Camera {
        middle: view.middle,
        frame: FrameView::from(view.toward.map(|v| -v)),
        half_m: [half, half * tall as f64 / wide as f64],
        size: [wide * finer, tall * finer],
    }
}

/// Pictures of a mesh, one for each light, lit as its impostor is.
///
/// # Errors
/// When the mesh has no triangles or cannot be drawn.
pub fn mesh_pictures(
    mesh: &PlantMesh,
    surface: &Surface,
    view: &View,
    lights: &[Light],
) -> Result<Vec<Rgba>, ImpostorError> {
    bounds(mesh)?;
    let camera = camera(view, FINER);
    let paint = Paint::new(mesh, surface, view.width_m / camera.size[0] as f64);
    let drawn = draw(mesh, &paint, &camera);
    Ok(lights.iter().map(|light| lit(&drawn, view.size.map(|v| v.max(1)), light)).collect())
}

fn lit(drawn: &Drawn<'_>, size: [usize; 2], light: &Light) -> Rgba {
    let share = 1.0 / (FINER * FINER) as f32;
    let wide = size[0] * FINER;
    let pixels = (0..size[0] * size[1]).map(|i| {
        let first = i / size[0] * FINER * wide + i % size[0] * FINER;
        let mut sum = [0.0; 4];
        for k in 0..FINER * FINER {
            if let Some((surfel, _)) = drawn.at(first + k / FINER * wide + k % FINER) {
                let [r, g, b] = light.on(&surfel, light.sun, &Relief::FLAT);
                sum = [sum[0] + share * r, sum[1] + share * g, sum[2] + share * b, sum[3] + share];
            }
        }
        sum
    });
    Rgba { size, pixels: pixels.collect() }
}

/// Steps along the ray of a pixel to where a frame has its surface.
const STEPS: usize = 2;
/// How far what depth says is followed, aside, and up and down where the viewer is right above. Followed entirely, frames hide
/// best that they are several, but crowns that are flat or deep are torn wider than they are: leaves behind a gap were not drawn.
const ASIDE: f64 = 0.5;
const UPWARDS: f64 = 0.5;

impl Impostor {
    /// Its pictures, one for each light, as a renderer shows them; [`mesh_pictures`] gives those of the mesh.
    #[must_use]
    pub fn pictures(&self, view: &View, lights: &[Light]) -> Vec<Rgba> {
        let camera = camera(view, 1);
        let size = camera.size;
        let mut made: Vec<Rgba> =
            lights.iter().map(|_| Rgba { size, pixels: vec![[0.0; 4]; size[0] * size[1]] }).collect();
        for i in 0..size[0] * size[1] {
            let aside = |at: usize, size: usize| 2.0 * (at as f64 + 0.5) / size as f64 - 1.0;
            let [s, t] = [aside(i % size[0], size[0]), -aside(i / size[0], size[1])];
            let at = add(
                camera.middle,
                add(
                    scaled(camera.frame.right, s * camera.half_m[0]),
                    scaled(camera.frame.up, t * camera.half_m[1]),
                ),
            );
            let seen = self.seen(at, camera.frame.back);
            for (picture, light) in made.iter_mut().zip(lights) {
                picture.pixels[i] = self.blend(&seen, light);
            }
        }
        made
    }

    /// Colour and coverage, multiplied, that a ray through a place meets: the shader for one pixel. `back` goes to the viewer.
    #[must_use]
    pub fn shade(&self, at: [f64; 3], back: [f64; 3], light: &Light) -> [f32; 4] {
        self.blend(&self.seen(at, unit(back)), light)
    }

    /// Frames are lit one by one, then mixed by share and coverage.
    fn blend(&self, seen: &[Looked; 3], light: &Light) -> [f32; 4] {
        let mut sum = [0.0; 4];
        for looked in seen.iter().filter(|looked| looked.share > 0.0 && looked.cover > 0.0) {
            let view = &self.frames[looked.frame];
            // The sun as it was for the frame when it was drawn.
            let own = [view.right, view.up, view.back];
            let sun = (0..3).fold([0.0; 3], |sun, k| {
                add(sun, scaled(own[k], dot(light.sun.map(f64::from), looked.axes[k])))
            });
            let part = looked.share * looked.cover;
            let [r, g, b] = light.on(&looked.surfel, sun.map(|v| v as f32), &self.reliefs[looked.frame]);
            sum = [sum[0] + part * r, sum[1] + part * g, sum[2] + part * b, sum[3] + part];
        }
        sum
    }

    /// What the frames say that a ray meets.
    fn seen(&self, at: Vec3, back: Vec3) -> [Looked; 3] {
        let from = sub(at, self.middle);
        match self.form {
            Form::Octahedral => {
                // A viewer who looks up steeply from below sees the views from the horizon.
                nearest(back).map(|(frame, share)| self.through_depth(frame, share as f32, from, back))
            }
            Form::Quads | Form::Crossed => self.on_quads(from, back),
            Form::Axial => [self.on_axis(from, back), Looked::default(), Looked::default()],
        }
    }

    /// The frame where the ray meets the surface that its depth describes.
    fn through_depth(&self, frame: usize, share: f32, from: Vec3, back: Vec3) -> Looked {
        let view = &self.frames[frame];
        let slope = dot(back, view.back).max(0.3);
        let flat = -dot(from, view.back) / slope;
        let followed = [ASIDE, UPWARDS * back[2].max(0.0) * back[2].max(0.0)];
        let ways = [dot(back, view.right), dot(back, view.up)];
        let place = |depth: f64| {
            let aside = [dot(from, view.right), dot(from, view.up)];
            let at = [0, 1].map(|k| {
                let along = flat * (0.5 + 0.5 * followed[k]) - followed[k] * depth / slope;
                aside[k] + along * ways[k]
            });
            self.on_frame(at)
        };
        let mut at = place(0.0);
        for _ in 0..STEPS {
            at = place(self.depth_at(frame, at));
        }
        self.look(frame, share, at)
    }

    /// The two quads that look at the viewer most, in proportion, so that none is seen edge on.
    fn on_quads(&self, from: Vec3, back: Vec3) -> [Looked; 3] {
        let mut found = [Looked::default(); 3];
        let level = (back[0] * back[0] + back[1] * back[1]).sqrt();
        if level < 1e-6 {
            return found;
        }
        let facing = [back[0] / level, back[1] / level, 0.0];
        // Shares fall evenly with the angle: by its sine between neighbours.
        let apart = orogen_core::math::sin(std::f64::consts::PI / self.frames.len() as f64);
        let mut count = 0;
        for (frame, view) in self.frames.iter().enumerate() {
            let aside = cross(view.back, facing)[2].abs();
            let share = 1.0 - aside / apart;
            if share <= 0.0 || count == 3 {
                continue;
            }
            let cos = dot(facing, view.back);
            let at = self.on_plane(view, from, back);
            found[count] = self.look(frame, share as f32, at);
            if cos < 0.0 {
                // The same leaves from behind.
                found[count].axes = [view.right, view.up, scaled(view.back, -1.0)];
            }
            count += 1;
        }
        let sum: f32 = found.iter().map(|looked| looked.share).sum();
        for looked in &mut found {
            looked.share /= sum.max(1e-9);
        }
        found
    }

    /// The one view, turned about its axis.
    fn on_axis(&self, from: Vec3, back: Vec3) -> Looked {
        let level = (back[0] * back[0] + back[1] * back[1]).sqrt();
        if level < 1e-6 {
            return Looked::default();
        }
        let turned = FrameView::from([back[0] / level, back[1] / level, 0.0]);
        let at = self.on_plane(&turned, from, back);
        Looked { axes: [turned.right, turned.up, turned.back], ..self.look(0, 1.0, at) }
    }

    /// The place on a frame, 0 to 1 from its upper left corner, from metres to the right and up.
    fn on_frame(&self, [right, up]: [f64; 2]) -> [f64; 2] {
        [0.5 + 0.5 * right / self.half_m[0], 0.5 - 0.5 * up / self.half_m[1]]
    }

    /// The place on a frame that a ray goes through where it meets its plane.
    fn on_plane(&self, view: &FrameView, from: Vec3, back: Vec3) -> [f64; 2] {
        let at = add(from, scaled(back, -dot(from, view.back) / dot(back, view.back)));
        self.on_frame([dot(at, view.right), dot(at, view.up)])
    }

    /// The four samples around a place on a frame and their shares. Places beyond its edge are those on it, which is clear.
    fn around(&self, frame: usize, at: [f64; 2]) -> [(usize, f32); 4] {
        let across = self.form.layout()[0];
        let most = self.samples - 1;
        let at = at.map(|v| (v * self.samples as f64 - 0.5).clamp(0.0, most as f64));
        let low = at.map(|v| (v as usize).min(most - 1));
        let [s, t] = [0, 1].map(|k| (at[k] - low[k] as f64) as f32);
        let first = (frame / across * self.samples + low[1]) * across * self.samples
            + frame % across * self.samples
            + low[0];
        let below = first + across * self.samples;
        [
            (first, (1.0 - s) * (1.0 - t)),
            (first + 1, s * (1.0 - t)),
            (below, (1.0 - s) * t),
            (below + 1, s * t),
        ]
    }

    /// Metres from the middle's plane, away from the viewer.
    fn depth_at(&self, frame: usize, at: [f64; 2]) -> f64 {
        let sum: f32 =
            self.around(frame, at).iter().map(|(i, share)| share * f32::from(self.depth[*i])).sum();
        (2.0 * f64::from(sum) / 255.0 - 1.0) * self.half_depth_m
    }

    fn look(&self, frame: usize, share: f32, at: [f64; 2]) -> Looked {
        let view = &self.frames[frame];
        let axes = [view.right, view.up, view.back];
        let mut looked = Looked { frame, share, axes, ..Looked::default() };
        for (i, part) in self.around(frame, at) {
            let [r, g, b, cover] = self.color[i];
            let color = from_srgb([r, g, b]);
            let [x, y, z, through] = self.normal[i];
            let normal = [x, y, z].map(|v| f32::from(v) / 127.5 - 1.0);
            looked.cover += part * f32::from(cover) / 255.0;
            looked.surfel.through += part * f32::from(through) / 255.0;
            for k in 0..3 {
                looked.surfel.color[k] += part * color[k];
                looked.surfel.normal[k] += part * normal[k];
            }
        }
        looked
    }
}

/// What a frame says at a place.
#[derive(Clone, Copy, Default)]
struct Looked {
    frame: usize,
    /// Where the frame's right, up and back are in the scene: elsewhere than when it was drawn where it turned or is seen from
    /// behind.
    axes: [Vec3; 3],
    /// Share of the frame among those that are mixed.
    share: f32,
    surfel: Surfel,
    cover: f32,
}
