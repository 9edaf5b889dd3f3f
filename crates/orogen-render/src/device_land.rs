//! Land whose heights the graphics device makes.

use std::sync::Arc;

use orogen_core::instances::Instances;
use orogen_core::{Cancel, Frame, LayerName, Place, Rect, Terrain, layer, vector};
use orogen_gpu::{Device, Generator, Plan};
use orogen_recipe::Checked;

use crate::error::RenderError;
use crate::gpu::Gpu;
use crate::land::Land;

/// The land of a recipe whose steps have twins on the device ([`Plan::of`]): heights of windows come from there, all else from
/// the processor. For pictures alone: its heights are within [`orogen_gpu::TOLERANCE`] of the land that is built.
pub struct DeviceLand {
    land: Arc<dyn Land>,
    generator: Generator,
    plan: Plan,
}

impl DeviceLand {
    /// The land of a recipe with its heights from a device.
    ///
    /// # Errors
    /// When a step that makes heights has no twin there.
    pub fn new(gpu: &Gpu, land: Arc<dyn Land>, checked: &Checked) -> Result<Self, RenderError> {
        let plan = Plan::of(checked).map_err(|e| RenderError::Call(e.to_string()))?;
        let generator = Generator::new(&Device::of(gpu.device.clone(), gpu.queue.clone()));
        Ok(Self { land, generator, plan })
    }
}

impl Land for DeviceLand {
    fn frame(&self) -> Frame {
        self.land.frame()
    }

    fn place(&self) -> Place {
        self.land.place()
    }

    fn layers(&self) -> Vec<LayerName> {
        self.land.layers()
    }

    fn window(&self, frame: Frame, layers: &[LayerName], cancel: &Cancel) -> Result<Terrain, RenderError> {
        let height = layer::HEIGHT.name();
        if !layers.contains(&height) || self.generator.most_tiles([frame.cols(), frame.rows()]) == 0 {
            return self.land.window(frame, layers, cancel);
        }
        let mut out = Terrain::new(frame);
        if let Some(made) = self.generator.heights(&self.plan, &[frame])?.pop() {
            out.set(layer::HEIGHT, made);
        }
        let others: Vec<LayerName> = layers.iter().filter(|name| **name != height).cloned().collect();
        // No names at all would be all layers.
        if !others.is_empty() {
            let rest = self.land.window(frame, &others, cancel)?;
            for (name, data) in rest.layers() {
                out.set_named(name.clone(), data.clone());
            }
        }
        Ok(out)
    }

    fn rivers(&self, cancel: &Cancel) -> Result<Option<vector::VectorLayer>, RenderError> {
        self.land.rivers(cancel)
    }

    fn plants(&self, rect: &Rect, cancel: &Cancel) -> Result<Option<Instances>, RenderError> {
        self.land.plants(rect, cancel)
    }

    fn finest_m(&self) -> f64 {
        self.land.finest_m()
    }
}

#[cfg(test)]
mod tests {
    use orogen_core::{Catalog, Operator};
    use orogen_ops::{shape, source};
    use orogen_recipe::{Limits, Recipe, Session, SessionOptions};

    use super::*;
    use crate::land::RecipeLand;

    fn land(text: &str) -> (Arc<Session>, Arc<dyn Land>) {
        let catalog = Catalog::new([
            Operator::of::<source::Noise>(),
            Operator::of::<source::Cracks>(),
            Operator::of::<shape::Features>(),
        ]);
        let text = format!("seed = \"d\"\nframe = {{ size_m = 4000, samples = 129 }}\n{text}");
        let checked =
            Recipe::parse("d", text.as_bytes()).unwrap().check(&catalog, &Limits::default()).unwrap();
        let session = Arc::new(Session::new(checked, SessionOptions::default()));
        let land = RecipeLand { session: session.clone(), place: Place::default(), plants: None };
        (session, Arc::new(land))
    }

    #[test]
    fn windows_have_the_heights_of_the_device_and_the_water_of_the_processor() {
        let gpu = Gpu::open(None).expect("a graphics adapter; cargo xtask test installs one");
        let (session, processor) = land(
            "[[step]]\nid = \"n\"\nop = \"source.noise\"\n[[step]]\nid = \"f\"\nop = \"shape.features\"\n\
             params.features = [{ kind = \"lake\", at_m = [2000, 2000], radius_m = 700, level_m = 150 }]\n",
        );
        let device = DeviceLand::new(&gpu, processor.clone(), session.checked()).unwrap();
        let frame = processor.frame().window(30, 40, 65, 33);
        let layers = processor.layers();
        let window = |land: &dyn Land| land.window(frame, &layers, &Cancel::new()).unwrap();
        let (ours, theirs) = (window(&device), window(&*processor));
        assert_eq!(ours.layers().keys().collect::<Vec<_>>(), theirs.layers().keys().collect::<Vec<_>>());
        assert_eq!(ours.get(layer::WATER).unwrap(), theirs.get(layer::WATER).unwrap());
        let heights = [&ours, &theirs].map(|land| land.get(layer::HEIGHT).unwrap().as_slice());
        assert!(heights[0].iter().zip(heights[1]).all(|(a, b)| (a - b).abs() < 2e-3));
        let water = device.window(frame, &[layer::WATER.name()], &Cancel::new()).unwrap();
        assert_eq!(water.layers().len(), 1);
    }

    #[test]
    fn a_step_without_a_twin_is_refused_in_a_sentence() {
        let gpu = Gpu::open(None).expect("a graphics adapter; cargo xtask test installs one");
        let (session, processor) = land("[[step]]\nid = \"c\"\nop = \"source.cracks\"\n");
        let error = DeviceLand::new(&gpu, processor, session.checked()).map(|_| ()).unwrap_err();
        assert_eq!(error.to_string(), "step \"c\": the graphics device has no source.cracks");
    }
}
