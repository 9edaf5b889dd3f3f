//! What is looked at: a recipe, the folder of an earlier build, or an elevation model.

use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use orogen::core::{Cancel, Frame, LayerName, Place, Rect, Terrain, layer};
use orogen::io::{FolderFiles, Limits, elevation};
use orogen::recipe::{Recipe, Session, Set};
use orogen::{BuildError, BuildOptions};
use orogen_render::{DeviceLand, Gpu, Land, Materials, PlantsOf, RecipeLand, RenderError};

use crate::args::{Changes, Look};
use crate::build::{limits, overrides};
use crate::progress::Bars;

/// A land that is ready to be looked at.
pub struct Source {
    /// The land itself.
    pub land: Arc<dyn Land>,
    /// The textures of its ground.
    pub materials: Arc<Materials>,
    /// What it is called on a contact sheet.
    pub name: String,
    /// How places of the files beside it become its own.
    pub offset_m: [f64; 2],
    /// What answers for a recipe.
    session: Option<Arc<Session>>,
}

/// What is said about elevation models that are much larger than pictures need.
const BYTES_PER_SAMPLE: u64 = 8;

impl Source {
    /// Reads a file or a folder and works out what has to be; `without` switches off a step of a recipe.
    ///
    /// # Errors
    /// When it cannot be read or worked out.
    pub fn open(
        path: &Path,
        without: Option<&str>,
        changes: &Changes,
        bars: &Bars,
        cancel: &Cancel,
    ) -> Result<Self> {
        let name = path.file_stem().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
        let is_recipe = path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("toml"));
        if is_recipe && !path.is_dir() {
            return Self::of_recipe(path, name, without, changes, bars, cancel);
        }
        if let Some(step) = without {
            let text = format!("{}: only a recipe has a step {step:?} that can be left out", path.display());
            return Err(BuildError::Call(text).into());
        }
        let memory = Limits::of_memory(changes.memory, BYTES_PER_SAMPLE);
        let (land, offset_m) = if path.is_dir() {
            (orogen::read_folder(path, &memory)?, [0.0, 0.0])
        } else {
            elevation_model(path, &memory)?
        };
        let layers: Vec<LayerName> = land.layers().keys().cloned().collect();
        let materials = Arc::new(Materials::of_layers(&layers));
        Ok(Self { land: Arc::new(land), materials, name, offset_m, session: None })
    }

    fn of_recipe(
        path: &Path,
        name: String,
        without: Option<&str>,
        changes: &Changes,
        bars: &Bars,
        cancel: &Cancel,
    ) -> Result<Self> {
        let mut build = BuildOptions {
            overrides: overrides(changes)?,
            limits: limits(changes),
            base: path.parent().map(Path::to_path_buf),
            ..BuildOptions::default()
        };
        let recipe = orogen::read_recipe(path)?;
        if let Some(step) = without {
            let set = Set::parse(&format!("{step}.enabled=false"))
                .map_err(|e| BuildError::Call(format!("--without {step}: {e}")))?;
            build.overrides.set.push(set);
        }
        let cache = orogen::open_cache().ok().map(Arc::new);
        let session = Arc::new(orogen::session(&recipe, &build, cache)?);
        // Textures are made while the land is.
        let layers = session.checked().layers();
        let textures = std::thread::spawn(move || Materials::of_layers(&layers));
        session.solve(bars, cancel).map_err(RenderError::from)?;
        let materials =
            textures.join().map_err(|_| anyhow::anyhow!("the textures of the ground could not be made"))?;
        let base = build.base.unwrap_or_default();
        let files = FolderFiles::new(base, Limits::of_memory(changes.memory, BYTES_PER_SAMPLE));
        let place = session.checked().place(&files);
        let plants = orogen::has_plants(session.checked()).then(|| plants_of(Arc::clone(&session), recipe));
        let land: Arc<dyn Land> = Arc::new(RecipeLand { session: Arc::clone(&session), place, plants });
        Ok(Self { land, materials: Arc::new(materials), name, offset_m: [0.0, 0.0], session: Some(session) })
    }

    /// The same with heights that the device makes, where that is asked for.
    ///
    /// # Errors
    /// When the device cannot make them.
    pub fn heights_by(mut self, look: &Look, gpu: &Gpu) -> Result<Self> {
        if look.device_land {
            let refused = |why: String| BuildError::Call(format!("{}: --device-land: {why}", self.name));
            let Some(session) = &self.session else {
                return Err(refused(String::from("only a recipe has steps that the device can make")).into());
            };
            let land = DeviceLand::new(gpu, Arc::clone(&self.land), session.checked());
            self.land = Arc::new(land.map_err(|e| refused(e.to_string()))?);
        }
        Ok(self)
    }
}

/// Makes the plants of a recipe's land.
fn plants_of(session: Arc<Session>, recipe: Recipe) -> Box<PlantsOf> {
    Box::new(move |rect, cancel| {
        orogen::plants(&session, &recipe, rect, cancel).map_err(|e| match e {
            BuildError::Cancelled => RenderError::Cancelled,
            other => RenderError::Plants(other.to_string()),
        })
    })
}

/// A file of heights as a land of its own, from 0,0 on; and the coordinates that its own file gives that place.
fn elevation_model(path: &Path, limits: &Limits) -> Result<(Terrain, [f64; 2])> {
    let refused = |why: String| BuildError::Call(format!("{}: {why}", path.display()));
    let model = elevation::read(path, limits).map_err(|e| BuildError::Call(e.to_string()))?;
    let spacing = model
        .spacing_m
        .ok_or_else(|| refused(String::from("it does not say how far apart its samples are")))?;
    let (cols, rows) = (model.height.cols(), model.height.rows());
    let size = [spacing[0] * (cols.saturating_sub(1)) as f64, spacing[1] * (rows.saturating_sub(1)) as f64];
    let frame = Frame::new([0.0, 0.0], size, [cols, rows]).map_err(|e| refused(e.to_string()))?;
    let mut land = Terrain::new(frame);
    let georeference = elevation::georeference(path, limits).ok().flatten();
    if let Some([longitude, latitude]) = georeference.and_then(|g| g.middle_deg) {
        land.set_place(Place {
            latitude_deg: Some(latitude),
            longitude_deg: Some(longitude),
            ..Place::default()
        });
    }
    land.accept(layer::HEIGHT.name(), model.height.into()).map_err(|e| refused(e.to_string()))?;
    let offset = model.north_west_m.map_or([0.0, 0.0], |[x, y]| [x, y - size[1]]);
    Ok((land, offset))
}

/// A rectangle of the coordinates of a file in those of the land.
pub fn moved(rect: &Rect, by: [f64; 2]) -> Rect {
    let place = |at: [f64; 2]| [at[0] - by[0], at[1] - by[1]];
    Rect { min: place(rect.min), max: place(rect.max) }
}
