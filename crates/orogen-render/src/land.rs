//! The land that a picture shows.

use std::sync::Arc;

use orogen_core::instances::Instances;
use orogen_core::{
    Cancel, Frame, LayerData, LayerName, Part, Place, Raster, Rect, Terrain, each_kind, layer, vector,
};
use orogen_recipe::Session;

use crate::error::RenderError;

/// Land that answers for any window at any spacing.
pub trait Land: Send + Sync {
    /// The samples it was made with.
    fn frame(&self) -> Frame;
    /// Where on Earth it lies.
    fn place(&self) -> Place;
    /// The layers that it has.
    fn layers(&self) -> Vec<LayerName>;
    /// Some of its layers on a window inside its frame.
    ///
    /// # Errors
    /// When the work fails or is cancelled.
    fn window(&self, frame: Frame, layers: &[LayerName], cancel: &Cancel) -> Result<Terrain, RenderError>;
    /// Its rivers, if it has some.
    ///
    /// # Errors
    /// As [`Land::window`].
    fn rivers(&self, cancel: &Cancel) -> Result<Option<vector::VectorLayer>, RenderError>;
    /// The plants that stand in a rectangle, the same however large it is; `None` where nothing is known of any.
    ///
    /// # Errors
    /// As [`Land::window`].
    fn plants(&self, _rect: &Rect, _cancel: &Cancel) -> Result<Option<Instances>, RenderError> {
        Ok(None)
    }
    /// The finest spacing that shows something new, in metres.
    fn finest_m(&self) -> f64;
}

/// Says which plants stand in a rectangle.
pub type PlantsOf = dyn Fn(&Rect, &Cancel) -> Result<Instances, RenderError> + Send + Sync;

/// The land of a recipe.
pub struct RecipeLand {
    /// Answers for windows.
    pub session: Arc<Session>,
    /// Where on Earth it lies.
    pub place: Place,
    /// Makes its plants, where it has some.
    pub plants: Option<Box<PlantsOf>>,
}

/// Nothing smaller is worth a vertex.
const FINEST_M: f64 = 0.1;

const RIVERS: &str = "rivers";
const PLANTS: &str = "plants";

impl Land for RecipeLand {
    fn frame(&self) -> Frame {
        *self.session.checked().frame()
    }

    fn place(&self) -> Place {
        self.place
    }

    fn layers(&self) -> Vec<LayerName> {
        self.session.checked().layers()
    }

    fn window(&self, frame: Frame, layers: &[LayerName], cancel: &Cancel) -> Result<Terrain, RenderError> {
        Ok(self.session.tile(frame, layers, cancel)?)
    }

    fn rivers(&self, cancel: &Cancel) -> Result<Option<vector::VectorLayer>, RenderError> {
        let name = LayerName::fixed(RIVERS);
        if !self.session.checked().vectors().contains(&name) {
            return Ok(None);
        }
        let wanted = [Part::Vectors(name)].into();
        let land = self.session.parts(self.frame(), &wanted, cancel)?;
        Ok(land.vector(RIVERS).cloned())
    }

    fn plants(&self, rect: &Rect, cancel: &Cancel) -> Result<Option<Instances>, RenderError> {
        self.plants.as_ref().map(|plants| plants(rect, cancel)).transpose()
    }

    fn finest_m(&self) -> f64 {
        FINEST_M
    }
}

/// Land that is known at its samples only: between them it is interpolated.
impl Land for Terrain {
    fn frame(&self) -> Frame {
        *Self::frame(self)
    }

    fn place(&self) -> Place {
        Self::place(self)
    }

    fn layers(&self) -> Vec<LayerName> {
        Self::layers(self).keys().cloned().collect()
    }

    fn window(&self, frame: Frame, layers: &[LayerName], _: &Cancel) -> Result<Terrain, RenderError> {
        let (cols, rows) = Self::frame(self).places_of(&frame);
        let mut out = Terrain::new(frame);
        for name in layers {
            if let Ok(raster) = self.get_named::<f32>(name) {
                let smooth = *name == layer::HEIGHT.name();
                let made = Raster::from_fn(frame.cols(), frame.rows(), |c, r| {
                    if smooth { raster.bicubic(cols[c], rows[r]) } else { raster.bilinear(cols[c], rows[r]) }
                });
                out.set_named(name.clone(), made.into());
            } else if let Some(data) = Self::layers(self).get(name) {
                let made: LayerData = each_kind!(data, raster => {
                    Raster::from_fn(frame.cols(), frame.rows(), |c, r| {
                        raster.clamped(cols[c].round() as isize, rows[r].round() as isize)
                    })
                    .into()
                });
                out.set_named(name.clone(), made);
            }
        }
        Ok(out)
    }

    fn rivers(&self, _: &Cancel) -> Result<Option<vector::VectorLayer>, RenderError> {
        Ok(self.vector(RIVERS).cloned())
    }

    fn plants(&self, rect: &Rect, _: &Cancel) -> Result<Option<Instances>, RenderError> {
        Ok(self.instances().get(&LayerName::fixed(PLANTS)).map(|all| all.crop(rect)))
    }

    fn finest_m(&self) -> f64 {
        let [dx, dy] = Self::frame(self).spacing_m();
        0.25 * dx.min(dy)
    }
}
