//! What exports are given: the land, and ways to have more of it.

use std::sync::OnceLock;

use orogen_core::{Cancel, Frame, LayerName, Raster, Terrain, layer};
use orogen_io::geotiff;
use orogen_recipe::{RunError, Session, TileError};

use super::ExportOptions;
use crate::error::BuildError;

/// Works out windows of a land at any spacing.
pub trait Windows: Sync {
    /// Some layers of a window; all of it where none is named.
    ///
    /// # Errors
    /// When the window reaches beyond the land, a step fails, or the work is cancelled.
    fn tile(&self, window: Frame, layers: &[LayerName], cancel: &Cancel) -> Result<Terrain, BuildError>;
}

impl Windows for Session {
    fn tile(&self, window: Frame, layers: &[LayerName], cancel: &Cancel) -> Result<Terrain, BuildError> {
        Self::tile(self, window, layers, cancel).map_err(|error| match error {
            TileError::Plan(error) => BuildError::Plan(error),
            TileError::Run(RunError::Cancelled) => BuildError::Cancelled,
            TileError::Run(error) => BuildError::Run(error.to_string()),
        })
    }
}

/// The land that exports write.
pub struct Land<'a> {
    terrain: &'a Terrain,
    seed: &'a str,
    place: geotiff::Place,
    moved: bool,
    windows: Option<&'a dyn Windows>,
    cancel: &'a Cancel,
    /// The same with the sea at its level, made when the first export asks for it.
    drained: OnceLock<Terrain>,
}

impl<'a> Land<'a> {
    pub(super) fn new(terrain: &'a Terrain, options: &ExportOptions<'a>) -> Self {
        Self {
            terrain,
            seed: options.seed,
            moved: options.place.is_some() || terrain.place().crs.is_some(),
            place: options
                .place
                .cloned()
                .unwrap_or_else(|| geotiff::Place::of_frame(terrain.frame(), &terrain.place())),
            windows: options.windows,
            cancel: options.cancel,
            drained: OnceLock::new(),
        }
    }

    /// The land as it was built.
    #[must_use]
    pub fn terrain(&self) -> &'a Terrain {
        self.terrain
    }

    /// Its samples.
    #[must_use]
    pub fn frame(&self) -> &'a Frame {
        self.terrain.frame()
    }

    /// The world seed; empty where there is none.
    #[must_use]
    pub fn seed(&self) -> &'a str {
        self.seed
    }

    /// Where its samples lie: in a coordinate system of the real world where one is known, else in metres of its own.
    #[must_use]
    pub fn place(&self) -> &geotiff::Place {
        &self.place
    }

    /// The same, if it is a coordinate system of the real world.
    #[must_use]
    pub fn real_place(&self) -> Option<&geotiff::Place> {
        self.moved.then_some(&self.place)
    }

    /// The land with the floor of the sea, or without: what lies below sea level lies at sea level then. Layers that follow
    /// from the height are gone in that case, but for those that displace it.
    #[must_use]
    pub fn shown(&self, sea_floor: bool) -> &Terrain {
        if sea_floor { self.terrain } else { self.drained.get_or_init(|| without_sea_floor(self.terrain)) }
    }

    /// Its heights, with the floor of the sea or without.
    #[must_use]
    pub fn heights(&self, sea_floor: bool) -> Option<&Raster<f32>> {
        self.shown(sea_floor).get(layer::HEIGHT).ok()
    }

    /// Some layers of another window of the land, at any spacing: level by level of a pyramid, or tile by tile.
    ///
    /// # Errors
    /// When there is no recipe behind the land, the window reaches beyond it, or a step fails.
    pub fn tile(&self, window: Frame, layers: &[LayerName]) -> Result<Terrain, BuildError> {
        let Some(windows) = self.windows else {
            return Err(BuildError::Call(String::from(
                "this land cannot be worked out at another place or spacing, as there is no recipe behind it",
            )));
        };
        windows.tile(window, layers, self.cancel)
    }
}

fn without_sea_floor(terrain: &Terrain) -> Terrain {
    let mut land = terrain.clone();
    if let Ok(height) = terrain.get(layer::HEIGHT) {
        // A hole stays one: the comparison is false.
        land.set(layer::HEIGHT, height.map(|h| if h < 0.0 { 0.0 } else { h }));
    }
    for name in [layer::DISPLACE_X, layer::DISPLACE_Y, layer::DISPLACE_Z].map(|layer| layer.name()) {
        if let Some(data) = terrain.layers().get(&name) {
            land.set_named(name, data.clone());
        }
    }
    land
}
