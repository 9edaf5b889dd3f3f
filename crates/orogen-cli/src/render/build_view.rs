//! `view.png` of a build.

use std::sync::Arc;

use orogen::TakesView;
use orogen::core::{Cancel, Cancelled, LayerName, Terrain, layer};
use orogen::io::png8::Picture;
use orogen_render::{Gpu, Land, Materials, Options, RenderError, render};

/// Takes the picture that a build writes, small enough not to be waited for.
pub struct BuildView;

const SIZE: [u32; 2] = [960, 540];
/// The share of the work, about, that textures of the ground take.
const TEXTURES_SHARE: f32 = 0.15;

impl TakesView for BuildView {
    fn view(
        &self,
        land: &Terrain,
        cancel: &Cancel,
        progress: &(dyn Fn(f32) + Sync),
    ) -> Result<Result<Picture, String>, Cancelled> {
        if !land.layers().contains_key(&layer::HEIGHT.name()) {
            return Ok(Err(String::from("no view.png: the land has no heights")));
        }
        let gpu = match Gpu::open(None) {
            Ok(gpu) => gpu,
            Err(error) => return Ok(Err(format!("no view.png: {error}; --no-view leaves it out"))),
        };
        let layers: Vec<LayerName> = land.layers().keys().cloned().collect();
        // Coarser than a picture that is asked for: most of the time goes into near tiles and their textures.
        let options = Options { size: SIZE, samples: 2, quality: 4.0, ..Options::default() };
        let materials = Arc::new(Materials::of_layers(&layers));
        // The layers themselves are shared.
        let land: Arc<dyn Land> = Arc::new(land.clone());
        // Textures come first.
        let share = |done: f32| progress(TEXTURES_SHARE + (1.0 - TEXTURES_SHARE) * done);
        share(0.0);
        match render(&gpu, &land, &materials, &options, cancel, &share) {
            Ok(done) => Ok(Ok(done.picture)),
            Err(RenderError::Cancelled) => Err(Cancelled),
            Err(error) => Ok(Err(format!("no view.png: {error}"))),
        }
    }
}
