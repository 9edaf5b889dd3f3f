//! Impostors: what a plant looks like from many sides, as pictures that stand in for its mesh far away.
//!
//! Each picture keeps colour, coverage, normals, what shines through, and depth, so that it can be lit by any sun and looked at
//! from between the sides it was drawn from. [`Impostor::pictures`] says what a renderer's shader does with them.

mod draw;
mod fade;
mod frames;
mod mips;
mod quads;
mod relief;
mod shade;

use rayon::prelude::*;
use thiserror::Error;

use crate::frame::Vec3;
use crate::mesh::PlantMesh;
use crate::surface::Surface;

pub use draw::Surfel;
pub use fade::Fade;
pub use frames::FrameView;
pub use relief::Relief;
pub use shade::{Light, Rgba, mesh_pictures};

use draw::{Camera, Paint, Texel};

/// Sizes of a frame's sides that can be asked for, in samples; powers of two only.
pub const IMPOSTOR_SAMPLES: std::ops::RangeInclusive<usize> = 16..=256;

/// The level of detail that an impostor is drawn from and takes over from: with frames of 128 samples, the one in use where
/// a plant is 128 pixels high.
pub const IMPOSTOR_LEVEL: u8 = 2;

/// How the pictures of an impostor are arranged and put up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// Eight by eight views over the upper half of all directions, on one quad that looks at the viewer: right from the air too.
    #[default]
    Octahedral,
    /// Eight upright quads through one axis, each with the view from its front (seed 000, Fig. 12).
    Quads,
    /// Three upright quads through one axis: for grass.
    Crossed,
    /// One view, on a quad that turns about an upright axis: for grass and reeds.
    Axial,
}

impl Form {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Octahedral, Self::Quads, Self::Crossed, Self::Axial];

    /// Its name, as in files.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Octahedral => "octahedral",
            Self::Quads => "quads",
            Self::Crossed => "crossed",
            Self::Axial => "axial",
        }
    }

    /// How many frames lie beside and below each other.
    #[must_use]
    pub fn layout(self) -> [usize; 2] {
        match self {
            Self::Octahedral => [frames::SIDE, frames::SIDE],
            Self::Quads => [4, 2],
            Self::Crossed => [3, 1],
            Self::Axial => [1, 1],
        }
    }
}

/// The atlas of a plant's pictures.
#[derive(Clone, Debug, PartialEq)]
pub struct Impostor {
    /// How its frames are arranged and put up.
    pub form: Form,
    /// Samples along each side of a frame.
    pub samples: usize,
    /// What is in the middle of every frame, in metres; the plant's foot is at the origin.
    pub middle: [f64; 3],
    /// Half the width and height that a frame shows, in metres.
    pub half_m: [f64; 2],
    /// Half the depth that a frame holds, in metres.
    pub half_depth_m: f64,
    /// Where each frame is seen from, row by row of the atlas.
    pub frames: Vec<FrameView>,
    /// How normals vary within the samples of each frame.
    pub reliefs: Vec<Relief>,
    /// Colour without sun and sky, but darker where leaves keep the sky away (sRGB), and coverage. Clear samples have the colour
    /// of what is beside them.
    pub color: Vec<[u8; 4]>,
    /// Mean of the normals that a sample covers (x east, y north, z up; 0 is -1, 255 is 1), shorter where they differ; and the
    /// share of light that shines through.
    pub normal: Vec<[u8; 4]>,
    /// Depth: 0 is `half_depth_m` nearer to the viewer than the middle, 255 as much farther.
    pub depth: Vec<u8>,
}

/// Why there is no impostor.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum ImpostorError {
    /// Nothing to draw.
    #[error("the plant has no triangles, so there is nothing to draw")]
    Empty,
    /// An index beyond the corners, or lists of different lengths.
    #[error(
        "the mesh of the {0} is not complete: a triangle names a corner that has no place, normal or texture"
    )]
    Corners(&'static str),
    /// Infinite or not a number.
    #[error("a corner of the {0} lies nowhere: its place, normal or texture is not a finite number")]
    NotFinite(&'static str),
    /// Too small or large to be a plant.
    #[error("the plant is {0} m wide, which is outside 0.0001 to 100000")]
    Size(f64),
    /// Samples of a frame.
    #[error("{0} samples along a frame is not a power of two from 16 to 256")]
    Samples(usize),
}

/// Draws the impostor of a mesh.
///
/// # Errors
/// When the mesh has no triangles, is broken or absurdly large or small, or `samples` is not a power of two in
/// [`IMPOSTOR_SAMPLES`].
pub fn impostor(
    mesh: &PlantMesh,
    surface: &Surface,
    form: Form,
    samples: usize,
) -> Result<Impostor, ImpostorError> {
    if !IMPOSTOR_SAMPLES.contains(&samples) || !samples.is_power_of_two() {
        return Err(ImpostorError::Samples(samples));
    }
    let (low, high) = bounds(mesh)?;
    // Two samples stay clear all around, so that neighbours on the atlas never show.
    let room = samples as f64 / (samples as f64 - 4.0);
    let upright = form != Form::Octahedral;
    let middle = [0, 1, 2].map(|k| if upright && k < 2 { 0.0 } else { 0.5 * (low[k] + high[k]) });
    let corners = || mesh.bark.positions.iter().chain(&mesh.leaves.positions);
    let farthest = |axes: std::ops::Range<usize>| {
        corners()
            .map(|at| {
                axes.clone().map(|k| (f64::from(at[k]) - middle[k]) * (f64::from(at[k]) - middle[k])).sum()
            })
            .fold(0.0, f64::max)
            .sqrt()
            .max(1e-4)
    };
    let half_depth_m = farthest(0..3);
    let half_m =
        if upright { [farthest(0..2) * room, farthest(2..3) * room] } else { [half_depth_m * room; 2] };
    let frames = frames::frames(form);
    let paint = Paint::new(mesh, surface, 2.0 * half_m[1] / (samples * draw::FINER) as f64);
    let drawn: Vec<(Vec<Texel>, Relief)> = frames
        .par_iter()
        .map(|frame| {
            let size = [samples * draw::FINER; 2];
            let camera = Camera { middle, frame: *frame, half_m, size };
            let (texels, relief) = draw::texels(&draw::draw(mesh, &paint, &camera), samples);
            (draw::spread(texels, samples), relief)
        })
        .collect();
    let [across, down] = form.layout();
    let all = across * down * samples * samples;
    let mut made = Impostor {
        form,
        samples,
        middle,
        half_m,
        half_depth_m,
        frames,
        reliefs: drawn.iter().map(|(_, relief)| *relief).collect(),
        color: Vec::with_capacity(all),
        normal: Vec::with_capacity(all),
        depth: Vec::with_capacity(all),
    };
    for row in 0..down * samples {
        for (frame, _) in &drawn[row / samples * across..][..across] {
            for texel in &frame[row % samples * samples..][..samples] {
                let [color, normal] = texel.bytes();
                made.color.push(color);
                made.normal.push(normal);
                let depth = 0.5 + 0.5 * f64::from(texel.depth) / half_depth_m;
                made.depth.push((255.0 * depth + 0.5).clamp(0.0, 255.0) as u8);
            }
        }
    }
    Ok(made)
}

/// The least and greatest coordinates of a mesh that is fit to be drawn.
fn bounds(mesh: &PlantMesh) -> Result<(Vec3, Vec3), ImpostorError> {
    if mesh.triangles() == 0 {
        return Err(ImpostorError::Empty);
    }
    let (mut low, mut high) = ([f64::MAX; 3], [f64::MIN; 3]);
    for (part, name) in [(&mesh.bark, "bark"), (&mesh.leaves, "leaves")] {
        let corners = part.positions.len();
        let complete = part.normals.len() == corners
            && part.uvs.len() == corners
            && (part.sway.is_empty() || part.sway.len() == corners)
            && (part.tints.is_empty() || part.tints.len() == corners)
            && part.indices.iter().all(|id| (*id as usize) < corners);
        if !complete {
            return Err(ImpostorError::Corners(name));
        }
        let all = part.positions.iter().chain(&part.normals).flatten().chain(part.uvs.iter().flatten());
        if !all.into_iter().all(|v| v.is_finite()) {
            return Err(ImpostorError::NotFinite(name));
        }
        for at in &part.positions {
            low = [0, 1, 2].map(|k| low[k].min(f64::from(at[k])));
            high = [0, 1, 2].map(|k| high[k].max(f64::from(at[k])));
        }
    }
    let wide = (0..3).map(|k| high[k] - low[k]).fold(0.0, f64::max);
    let farthest = (0..3).map(|k| high[k].abs().max(low[k].abs())).fold(wide, f64::max);
    if wide < 1e-4 {
        return Err(ImpostorError::Size(wide));
    }
    if farthest > 1e5 {
        return Err(ImpostorError::Size(farthest));
    }
    Ok((low, high))
}
