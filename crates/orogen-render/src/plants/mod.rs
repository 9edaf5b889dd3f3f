//! Plants in a picture: those of the land, near ones as meshes, farther ones as impostors, up to where the cover of the ground
//! takes over.
//!
//! [`Plants`] lasts over pictures: it keeps what stands in cells around the eye and what each species looks like. A plant looks
//! the same however often it is made: its shape comes from its id.

mod cells;
mod choose;
mod draw;
mod grass;
mod model;
mod season;

use orogen_core::Cancel;

use crate::camera::Camera;
use crate::error::RenderError;
use crate::gpu::Gpu;
use crate::land::Land;
use crate::overview::Overview;
use crate::sun::Moment;

use cells::Cells;
use choose::{Chosen, choose};
use draw::Drawing;
use model::Models;

/// The ground that plants stand on, as it is drawn.
pub(crate) trait Footing: Sync {
    /// How high it is at a place.
    fn height_at(&self, at: [f64; 2]) -> f64;
    /// What it is like, where that is known finely.
    fn spot(&self, at: [f64; 2]) -> Option<Spot>;
}

/// What the ground is like at a place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spot {
    /// Whether it lies under water, or is too near to it.
    pub wet: bool,
    /// How steep it is, as a tangent.
    pub steep: f32,
    /// The share of it under crowns.
    pub cover: f32,
    /// Materials by their number, and their weights.
    pub materials: [(u8, f32); 8],
}

/// How plants are seen.
pub(crate) struct Sight<'a> {
    pub camera: &'a Camera,
    /// Width over height of the picture.
    pub aspect: f64,
    /// Pixels, width and height.
    pub size: [u32; 2],
    pub moment: &'a Moment,
    pub latitude_deg: f64,
}

impl Sight<'_> {
    /// Pixels that a metre takes at a distance of one metre.
    fn focal_px(&self) -> f64 {
        f64::from(self.size[0]) / (2.0 * self.camera.half(self.aspect)[0])
    }
}

/// Plants that are counted after a picture was made ready.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Plants that are drawn, by level: the four meshes, then impostors. One that fades from one to the next counts twice.
    pub levels: [usize; 5],
    /// Triangles that they have.
    pub triangles: u64,
    /// Bytes on the device, about.
    pub bytes: u64,
}

/// The plants around an eye, and what they look like.
pub(crate) struct Plants {
    cells: Cells,
    models: Models,
    drawing: Drawing,
    counts: Counts,
}

impl Plants {
    pub fn new(gpu: &Gpu, scene: &wgpu::BindGroupLayout) -> Self {
        let drawing = Drawing::new(gpu, scene);
        Self { cells: Cells::default(), models: Models::default(), drawing, counts: Counts::default() }
    }

    /// Makes everything ready that a picture shows.
    ///
    /// # Errors
    /// When the land cannot say what stands on it, or when cancelled.
    pub fn prepare(
        &mut self,
        gpu: &Gpu,
        land: &dyn Land,
        overview: &Overview,
        sight: &Sight<'_>,
        ground: &dyn Footing,
        cancel: &Cancel,
    ) -> Result<(), RenderError> {
        self.models.turn(season::season(sight.moment, sight.latitude_deg));
        self.cells.fill(land, overview, sight, cancel)?;
        self.cells.grow(overview, sight, ground);
        let chosen: Chosen = choose(&self.cells, sight, ground);
        self.models.make(gpu, &self.drawing, &self.cells.species, &chosen, cancel)?;
        self.counts = self.drawing.upload(gpu, &chosen, &self.models, sight.focal_px());
        Ok(())
    }

    /// Up to where plants are drawn; 0 where there are none.
    pub fn far_m(&self) -> f32 {
        if self.cells.any() { cells::FAR_M as f32 } else { 0.0 }
    }

    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Says which sample of the pixels comes next, the time in seconds and how strong the wind is: 0 in stills.
    pub fn begin(&self, gpu: &Gpu, sample: u32, samples: u32, time_s: f32, wind: f32) {
        self.drawing.begin(gpu, sample, samples, time_s, wind);
    }

    /// Draws all of them; the scene is bound.
    pub fn draw(&self, pass: &mut wgpu::RenderPass<'_>) {
        self.drawing.draw(pass, &self.models);
    }
}
