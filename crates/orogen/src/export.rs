//! From a terrain to files on disk.

use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::sync::atomic::{AtomicUsize, Ordering};

use orogen_core::param::{self, Segment, nearest};
use orogen_core::vector::VectorLayer;
use orogen_core::{Cancel, Frame, LayerData, LayerName, OpError, Raster, Terrain, layer};
use orogen_io::mesh::Surface;
use orogen_io::raw::Depth;
use orogen_io::relief::ReliefStyle;
use orogen_io::{
    About, OutputFolder, Watched, WithSidecar, Written, ascii_grid, exr, geojson, geotiff, glb, obj, png8,
    png16, raw, relief,
};
use orogen_ops::shape::sketch;
use orogen_recipe::{Faults, Recipe};
use rayon::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::BuildError;
use crate::film;
use crate::manifest::FileReport;

/// A way to write a terrain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ExportKind {
    /// Every layer as `<layer>.tif`.
    Geotiff,
    /// `height.png`, 16 bits, with its sidecar.
    Png16,
    /// `height.r16` with its sidecar.
    Raw16,
    /// `height.r32` with its sidecar.
    Raw32,
    /// `height.asc`.
    Ascii,
    /// `relief.png`, a picture of the land, and one of each snapshot of it, `film_1.png` and so on.
    Relief,
    /// Every vector layer as `<name>.geojson`.
    Geojson,
    /// `height.exr` and, where the land is displaced, `displacement_xyz.exr`, with their sidecars.
    Exr,
    /// `terrain.glb` or `terrain.obj`: triangles, displaced where the land is.
    Mesh,
    /// `features.toml`: what a sketch has become, as a piece of a recipe.
    Fragment,
}

/// A file for a mesh.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MeshFormat {
    /// `terrain.glb`, binary glTF.
    Glb,
    /// `terrain.obj`, Wavefront text.
    Obj,
}

/// How a mesh is written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct MeshStyle {
    /// The files to make.
    #[schemars(length(min = 1, max = 2))]
    pub formats: Vec<MeshFormat>,
    /// Whether the floor of the sea is there; without it, what lies below sea level lies at sea level.
    pub sea_floor: bool,
}

impl Default for MeshStyle {
    fn default() -> Self {
        Self { formats: vec![MeshFormat::Glb], sea_floor: true }
    }
}

/// How heights are written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct HeightStyle {
    /// Whether the floor of the sea is there; without it, heights below sea level are written as sea level, 0 m.
    pub sea_floor: bool,
}

impl Default for HeightStyle {
    fn default() -> Self {
        Self { sea_floor: true }
    }
}

/// Changes to what a recipe asks for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ExportChanges {
    /// These kinds instead of the recipe's own, with the options that it has for them; as the recipe says when empty.
    pub kinds: Vec<ExportKind>,
    /// Heights below sea level are written as sea level, whatever the recipe says.
    pub no_sea_floor: bool,
}

impl ExportKind {
    /// All kinds, with their names in recipes.
    pub const ALL: [(&'static str, Self); 10] = [
        ("geotiff", Self::Geotiff),
        ("png16", Self::Png16),
        ("r16", Self::Raw16),
        ("r32", Self::Raw32),
        ("ascii", Self::Ascii),
        ("relief", Self::Relief),
        ("geojson", Self::Geojson),
        ("exr", Self::Exr),
        ("mesh", Self::Mesh),
        ("fragment", Self::Fragment),
    ];

    /// What a recipe without `[[export]]` gives.
    pub const DEFAULT: [Self; 5] = [Self::Geotiff, Self::Png16, Self::Relief, Self::Geojson, Self::Fragment];

    /// Its name in recipes.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, kind)| *kind == self).map_or("", |(name, _)| name)
    }

    /// A kind by its name.
    ///
    /// # Errors
    /// A sentence with the names there are.
    pub fn parse(name: &str) -> Result<Self, String> {
        Self::ALL.iter().find(|(n, _)| *n == name).map(|(_, kind)| *kind).ok_or_else(|| {
            let names = Self::ALL.map(|(n, _)| n);
            let hint = nearest(name, names).map_or(String::new(), |n| format!("; did you mean {n:?}?"));
            format!("unknown export kind {name:?}; expected one of {}{hint}", names.join(", "))
        })
    }

    /// Whether its files hold heights, so that the sea floor can be left out of them.
    fn has_heights(self) -> bool {
        match self {
            Self::Relief | Self::Geojson | Self::Fragment => false,
            Self::Geotiff
            | Self::Png16
            | Self::Raw16
            | Self::Raw32
            | Self::Ascii
            | Self::Exr
            | Self::Mesh => true,
        }
    }

    /// The schema of its options besides `kind`; `None` when it has none.
    #[must_use]
    pub fn options(self) -> Option<&'static serde_json::Value> {
        match self {
            Self::Relief => Some(param::schema::<ReliefStyle>()),
            Self::Mesh => Some(param::schema::<MeshStyle>()),
            _ if self.has_heights() => Some(param::schema::<HeightStyle>()),
            _ => None,
        }
    }
}

/// Which files to make, and how.
#[derive(Clone, Debug, PartialEq)]
pub struct Exports {
    /// The kinds of file, each once.
    pub kinds: Vec<ExportKind>,
    /// How the picture is drawn.
    pub relief: ReliefStyle,
    /// How a mesh is written.
    pub mesh: MeshStyle,
    /// Kinds whose heights below sea level are written as sea level; meshes have that in their style.
    pub without_sea_floor: Vec<ExportKind>,
}

impl Default for Exports {
    fn default() -> Self {
        Self::of(ExportKind::DEFAULT.to_vec())
    }
}

impl Exports {
    /// These kinds, with default options.
    #[must_use]
    pub fn of(mut kinds: Vec<ExportKind>) -> Self {
        kinds.sort();
        kinds.dedup();
        Self {
            kinds,
            relief: ReliefStyle::default(),
            mesh: MeshStyle::default(),
            without_sea_floor: Vec::new(),
        }
    }

    /// What a recipe asks for; [`ExportKind::DEFAULT`] when it asks for nothing.
    ///
    /// # Errors
    /// Every unknown kind and option, with its place in the recipe.
    pub fn of_recipe(recipe: &Recipe) -> Result<Self, Faults> {
        let mut exports = Self::of(Vec::new());
        let mut faults = Faults::new(recipe.name());
        for export in recipe.exports() {
            let kind = match ExportKind::parse(&export.kind) {
                Ok(kind) => kind,
                Err(message) => {
                    faults.push(recipe.export_fault(export, &[Segment::Key(String::from("kind"))], message));
                    continue;
                }
            };
            if exports.kinds.contains(&kind) {
                let message = format!("the kind {:?} is listed twice", kind.name());
                faults.push(recipe.export_fault(export, &[Segment::Key(String::from("kind"))], message));
                continue;
            }
            exports.kinds.push(kind);
            for fault in exports.take(kind, &export.options) {
                faults.push(recipe.export_fault(export, &fault.path, fault.to_string()));
            }
        }
        faults.into_result()?;
        if exports.kinds.is_empty() {
            exports.kinds.extend(ExportKind::DEFAULT);
        }
        Ok(exports)
    }

    /// The same with changes.
    #[must_use]
    pub fn changed(mut self, changes: &ExportChanges) -> Self {
        if !changes.kinds.is_empty() {
            self.kinds.clone_from(&changes.kinds);
            self.kinds.sort();
            self.kinds.dedup();
        }
        if changes.no_sea_floor {
            self.mesh.sea_floor = false;
            self.without_sea_floor = self.kinds.iter().copied().filter(|kind| kind.has_heights()).collect();
        }
        self
    }

    /// Whether the files of a kind show the sea floor.
    fn has_sea_floor(&self, kind: ExportKind) -> bool {
        match kind {
            ExportKind::Mesh => self.mesh.sea_floor,
            kind => !self.without_sea_floor.contains(&kind),
        }
    }

    /// Takes the options of a kind, or tells what is wrong with them.
    fn take(&mut self, kind: ExportKind, options: &toml::Table) -> Vec<param::Fault> {
        let taken = match kind {
            ExportKind::Relief => param::parse(options).map(|style| self.relief = style),
            ExportKind::Mesh => param::parse(options).map(|style| self.mesh = style),
            kind if kind.has_heights() => param::parse(options).map(|style: HeightStyle| {
                if !style.sea_floor {
                    self.without_sea_floor.push(kind);
                }
            }),
            _ => {
                let fault = |key: &String| {
                    param::Fault::of(key, format!("the kind {:?} has no options", kind.name()))
                };
                return options.keys().map(fault).collect();
            }
        };
        match taken {
            Ok(()) => Vec::new(),
            Err(faults) => faults,
        }
    }

    /// The names of all files that land with these layers and vectors may become.
    pub(crate) fn file_names(&self, layers: &[LayerName], vectors: &[LayerName]) -> Vec<String> {
        let has = |name: &LayerName| layers.contains(name);
        let grounded = has(&layer::HEIGHT.name());
        let with_sidecar = |name: &str| vec![name.to_owned(), format!("{name}.json")];
        let mut names = Vec::new();
        for kind in &self.kinds {
            match kind {
                ExportKind::Geotiff => names.extend(layers.iter().map(|name| format!("{name}.tif"))),
                ExportKind::Geojson => names.extend(vectors.iter().map(|name| format!("{name}.geojson"))),
                ExportKind::Fragment if vectors.iter().any(|name| name.as_str() == sketch::FEATURES) => {
                    names.push(String::from(FRAGMENT));
                }
                _ if !grounded => {}
                ExportKind::Fragment => {}
                ExportKind::Png16 => names.extend(with_sidecar("height.png")),
                ExportKind::Raw16 => names.extend(with_sidecar("height.r16")),
                ExportKind::Raw32 => names.extend(with_sidecar("height.r32")),
                ExportKind::Ascii => names.push(String::from("height.asc")),
                ExportKind::Relief => {
                    names.push(String::from(PICTURE));
                    names.extend(film::shots(layers.iter()).into_iter().map(film_name));
                }
                ExportKind::Mesh => names.extend(self.mesh.formats.iter().map(|format| match format {
                    MeshFormat::Glb => String::from(GLB),
                    MeshFormat::Obj => String::from(OBJ),
                })),
                ExportKind::Exr => {
                    names.extend(with_sidecar(HEIGHT_EXR));
                    let moved = [layer::DISPLACE_X, layer::DISPLACE_Y, layer::DISPLACE_Z];
                    if moved.iter().all(|moved| has(&moved.name())) {
                        names.extend(with_sidecar(DISPLACEMENT_EXR));
                    }
                }
            }
        }
        names
    }

    /// Why land on a frame cannot be written so, if it cannot: known before anything is built.
    pub(crate) fn refuses(&self, frame: &Frame) -> Option<String> {
        if !self.kinds.contains(&ExportKind::Mesh) {
            return None;
        }
        let [cols, rows] = [frame.cols() as u64, frame.rows() as u64];
        if cols < 2 || rows < 2 {
            return Some(format!("a mesh needs at least 2 samples per side, found {cols} x {rows}"));
        }
        let too_large = glb::too_large(cols * rows, 2 * (cols - 1) * (rows - 1));
        too_large.filter(|_| self.mesh.formats.contains(&MeshFormat::Glb))
    }
}

/// Names that do not follow from a layer's.
const PICTURE: &str = "relief.png";
const GLB: &str = "terrain.glb";
const OBJ: &str = "terrain.obj";
const HEIGHT_EXR: &str = "height.exr";
const DISPLACEMENT_EXR: &str = "displacement_xyz.exr";
const FRAGMENT: &str = "features.toml";

fn film_name(shot: u32) -> String {
    format!("film_{shot}.png")
}

/// What an export needs besides the terrain.
pub struct ExportOptions<'a> {
    /// The files to make.
    pub exports: &'a Exports,
    /// The world seed, for the files that carry it.
    pub seed: &'a str,
    /// Where the land lies in a coordinate system of the real world; `None` for a world of its own. GeoTIFF and GeoJSON
    /// say so, other formats cannot.
    pub place: Option<&'a geotiff::Place>,
    /// Stops the export; nothing is written then.
    pub cancel: &'a Cancel,
    /// Receives the share of files done.
    pub progress: &'a (dyn Fn(f32) + Sync),
}

/// What an export wrote aside.
#[derive(Clone, Debug, Default)]
pub struct Exported {
    /// The files.
    pub files: Vec<FileReport>,
    /// What a format could not keep.
    pub warnings: Vec<String>,
}

/// Makes the files of a terrain in a folder whose content appears when it is committed.
///
/// # Errors
/// When a file cannot be written, or when cancelled.
pub fn export(
    terrain: &Terrain,
    options: &ExportOptions<'_>,
    folder: &OutputFolder,
) -> Result<Exported, BuildError> {
    let exports = options.exports;
    let land = exports.kinds.iter().any(|&kind| !exports.has_sea_floor(kind)).then(|| land_only(terrain));
    let shown = |kind: ExportKind| match &land {
        Some(land) if !exports.has_sea_floor(kind) => land,
        _ => terrain,
    };
    let mut jobs: Vec<Job<'_>> =
        exports.kinds.iter().flat_map(|&kind| jobs(terrain, shown(kind), kind, exports)).collect();
    // The slowest first, so that no thread is left with it at the end.
    jobs.sort_by_key(|job| match job.what {
        What::Picture | What::Film(..) | What::Glb | What::Obj => 0,
        What::Layer(..) | What::Channels(..) => 1,
        What::Vectors(..) | What::Fragment(..) => 2,
    });
    let done = AtomicUsize::new(0);
    let made: Vec<Exported> = jobs
        .par_iter()
        .map(|job| {
            if options.cancel.is_cancelled() {
                return Err(BuildError::Cancelled);
            }
            let made = job.run(options, folder)?;
            let done = done.fetch_add(1, Ordering::Relaxed) + 1;
            (options.progress)(done as f32 / jobs.len() as f32);
            Ok(made)
        })
        .collect::<Result<_, _>>()?;
    let mut all = Exported::default();
    for one in made {
        all.files.extend(one.files);
        all.warnings.extend(one.warnings);
    }
    all.files.sort_by(|a, b| a.name.cmp(&b.name));
    all.warnings.sort();
    all.warnings.dedup();
    Ok(all)
}

/// One file to make, and its sidecar where it has one.
struct Job<'a> {
    kind: ExportKind,
    /// What it shows.
    terrain: &'a Terrain,
    what: What<'a>,
}

enum What<'a> {
    Picture,
    /// The picture of a snapshot.
    Film(u32),
    Glb,
    Obj,
    /// Red, green and blue under a name.
    Channels(&'static str, LayerName, [&'a Raster<f32>; 3]),
    Layer(&'a LayerName, &'a LayerData),
    Vectors(&'a str, &'a VectorLayer),
    Fragment(String),
}

/// The terrain with what lies below sea level at sea level. Layers that follow from the height are gone, but for those that
/// displace it.
fn land_only(terrain: &Terrain) -> Terrain {
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

/// The files of a kind: layers and vectors of the terrain, heights as they are `shown`.
fn jobs<'a>(terrain: &'a Terrain, shown: &'a Terrain, kind: ExportKind, exports: &Exports) -> Vec<Job<'a>> {
    let height = layer::HEIGHT.name();
    let grounded = shown.get(layer::HEIGHT).ok();
    let what: Vec<What<'_>> = match kind {
        ExportKind::Exr => {
            let moved =
                [layer::DISPLACE_X, layer::DISPLACE_Y, layer::DISPLACE_Z].map(|l| terrain.get(l).ok());
            let moved = match moved {
                [Some(x), Some(y), Some(z)] => {
                    Some(What::Channels(DISPLACEMENT_EXR, LayerName::fixed("displace"), [x, y, z]))
                }
                _ => None,
            };
            grounded.map(|h| What::Channels(HEIGHT_EXR, height, [h; 3])).into_iter().chain(moved).collect()
        }
        ExportKind::Mesh if grounded.is_some() => {
            let asked = |format: MeshFormat| exports.mesh.formats.contains(&format);
            [(MeshFormat::Glb, What::Glb), (MeshFormat::Obj, What::Obj)]
                .into_iter()
                .filter_map(|(format, what)| asked(format).then_some(what))
                .collect()
        }
        ExportKind::Mesh => Vec::new(),
        ExportKind::Geotiff => {
            let layers = terrain.layers().iter().filter(|(name, _)| **name != height);
            let heights = shown.layers().get_key_value(&height);
            layers.chain(heights).map(|(name, data)| What::Layer(name, data)).collect()
        }
        ExportKind::Png16 | ExportKind::Raw16 | ExportKind::Raw32 | ExportKind::Ascii => shown
            .layers()
            .get_key_value(&height)
            .map(|(name, data)| What::Layer(name, data))
            .into_iter()
            .collect(),
        ExportKind::Relief if terrain.layers().contains_key(&height) => std::iter::once(What::Picture)
            .chain(film::shots(terrain.layers().keys()).into_iter().map(What::Film))
            .collect(),
        ExportKind::Relief => Vec::new(),
        ExportKind::Fragment => {
            let made = terrain.vector(sketch::FEATURES).and_then(sketch::fragment);
            made.map(What::Fragment).into_iter().collect()
        }
        ExportKind::Geojson => {
            terrain.vectors().iter().map(|(name, layer)| What::Vectors(name.as_str(), layer)).collect()
        }
    };
    what.into_iter().map(|what| Job { kind, terrain: shown, what }).collect()
}

/// A file that is being written, until the export is cancelled.
type Out<'a, 'f> = Watched<'a, BufWriter<&'f File>>;

/// Features in the coordinates of a place, which need not be the metres of the frame.
fn placed(layer: &VectorLayer, frame: &Frame, place: &geotiff::Place) -> VectorLayer {
    let mut moved = VectorLayer::new(layer.shape());
    for feature in 0..layer.len() {
        moved.push_parts(layer.parts(feature).map(|part| {
            layer.vertices()[part].iter().map(|&[x, y, z]| {
                let [x, y] = place.at(frame.locate(x, y));
                [x, y, z]
            })
        }));
    }
    // As many features and vertices as before, so every column fits.
    for (name, column) in layer.feature_attributes() {
        let _fits = moved.set_feature_attribute(name, column.clone());
    }
    for (name, column) in layer.vertex_attributes() {
        let _fits = moved.set_vertex_attribute(name, column.clone());
    }
    moved
}

impl Job<'_> {
    fn run(&self, options: &ExportOptions<'_>, folder: &OutputFolder) -> Result<Exported, BuildError> {
        let (terrain, seed) = (self.terrain, options.seed);
        match &self.what {
            What::Picture => {
                let picture = self.picture(terrain, options)?;
                self.write(folder, PICTURE, &png8::encode(&picture), None, options.cancel)
            }
            What::Film(shot) => {
                let Some(land) = film::land_at(terrain, *shot) else { return Ok(Exported::default()) };
                let picture = self.picture(&land, options)?;
                self.write(folder, &film_name(*shot), &png8::encode(&picture), None, options.cancel)
            }
            What::Vectors(name, layer) => {
                let moved = options.place.map(|place| placed(layer, terrain.frame(), place));
                let system = options.place.map_or_else(geojson::System::local, geojson::System::of);
                let file = format!("{name}.geojson");
                let written = folder.write_with(&file, options.cancel, |out| {
                    geojson::write_in(moved.as_ref().unwrap_or(layer), name, &system, out)
                })?;
                Ok(self.report(&file, &written, Some(name)))
            }
            What::Fragment(text) => {
                self.write(folder, FRAGMENT, text.as_bytes(), Some(sketch::FEATURES), options.cancel)
            }
            What::Layer(name, data) => self.layer(terrain.frame(), name, data, options, folder),
            What::Channels(file, name, channels) => {
                self.channels(terrain.frame(), file, name, *channels, options, folder)
            }
            What::Glb => {
                let write =
                    |surface: &Surface<'_>, out: &mut Out<'_, '_>| glb::write(surface, "terrain", seed, out);
                self.mesh(terrain, GLB, options.cancel, folder, write)
            }
            What::Obj => {
                let write =
                    |surface: &Surface<'_>, out: &mut Out<'_, '_>| obj::write(surface, "terrain", seed, out);
                self.mesh(terrain, OBJ, options.cancel, folder, write)
            }
        }
    }

    fn picture(&self, land: &Terrain, options: &ExportOptions<'_>) -> Result<png8::Picture, BuildError> {
        Ok(relief::render_unless_cancelled(land, &options.exports.relief, options.cancel)?)
    }

    fn channels(
        &self,
        frame: &Frame,
        file: &str,
        name: &LayerName,
        channels: [&Raster<f32>; 3],
        options: &ExportOptions<'_>,
        folder: &OutputFolder,
    ) -> Result<Exported, BuildError> {
        let about = About { layer: name.as_str(), unit: layer::unit(name), seed: options.seed };
        let ranges = channels.iter().filter_map(|raster| raster.range());
        let range = ranges
            .map(|(low, high)| (f64::from(low), f64::from(high)))
            .reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)));
        // Programs that read heights take a hole for one in the world, or for infinitely deep.
        let heights = *name == layer::HEIGHT.name();
        let hole = if heights { range.map_or(0.0, |(low, _)| low as f32) } else { 0.0 };
        let written =
            folder.write_with(file, options.cancel, |out| exr::write(channels, hole, &about, out))?;
        let mut made = self.report(file, &written, Some(name.as_str()));
        if let Some(report) = made.files.first_mut() {
            report.unit = Some(layer::unit(name)).filter(|unit| !unit.is_empty());
            (report.min, report.max) = range.unzip();
        }
        let mut sidecar = exr::sidecar(frame, &about, range, &written);
        let holes = channels[0].as_slice().iter().filter(|v| !v.is_finite()).count();
        if holes > 0 {
            let warning = format!("{holes} samples without a value are written as {hole}");
            sidecar.warning = Some(warning.clone());
            made.warnings.push(format!("{file}: {warning}"));
        }
        let beside = self.write(
            folder,
            &format!("{file}.json"),
            &sidecar.to_json(),
            Some(name.as_str()),
            options.cancel,
        )?;
        made.files.extend(beside.files);
        Ok(made)
    }

    fn mesh(
        &self,
        terrain: &Terrain,
        file: &str,
        cancel: &Cancel,
        folder: &OutputFolder,
        write: impl FnOnce(&Surface<'_>, &mut Out<'_, '_>) -> io::Result<()>,
    ) -> Result<Exported, BuildError> {
        let surface = Surface::unless_cancelled(terrain, cancel).map_err(|e| match e {
            OpError::Cancelled => BuildError::Cancelled,
            e => BuildError::Write(format!("{file}: {e}")),
        })?;
        let written = folder.write_with(file, cancel, |out| write(&surface, out))?;
        let mut made = self.report(file, &written, Some("height"));
        if let Some(report) = made.files.first_mut() {
            let [low, high] = surface.bounds();
            (report.unit, report.min, report.max) = (Some("m"), Some(low[1].into()), Some(high[1].into()));
        }
        let holes = terrain.frame().len() - surface.vertices();
        if holes > 0 {
            made.warnings.push(format!("{file}: {holes} samples without a height are holes in the mesh"));
        }
        Ok(made)
    }

    fn layer(
        &self,
        frame: &Frame,
        name: &LayerName,
        data: &LayerData,
        options: &ExportOptions<'_>,
        folder: &OutputFolder,
    ) -> Result<Exported, BuildError> {
        let about = About { layer: name.as_str(), unit: layer::unit(name), seed: options.seed };
        let cancel = options.cancel;
        let place = || {
            let local = || geotiff::Place::local([frame.x_m(0), frame.y_m(0)], frame.spacing_m());
            options.place.cloned().unwrap_or_else(local)
        };
        let packed = geotiff::Compression::default();
        let with_sidecar = |ending: &str, made: WithSidecar| -> Result<_, BuildError> {
            let file = format!("{name}.{ending}");
            let written = folder.write_with(&file, cancel, |out| out.write_all(&made.bytes))?;
            Ok((file, written, Some(made.sidecar)))
        };
        let (file, written, sidecar) = match (self.kind, data) {
            (ExportKind::Geotiff, LayerData::F32(raster)) => {
                let file = format!("{name}.tif");
                let written = folder.write_with(&file, cancel, |out| {
                    geotiff::write_f32_at(out, raster, raster.range(), &place(), &about, packed)
                })?;
                (file, written, None)
            }
            (ExportKind::Geotiff, LayerData::U8(raster)) => {
                let file = format!("{name}.tif");
                let written = folder.write_with(&file, cancel, |out| {
                    geotiff::write_u8_at(out, raster, &place(), None, &about, packed)
                })?;
                (file, written, None)
            }
            (ExportKind::Ascii, LayerData::F32(raster)) => {
                let file = format!("{name}.asc");
                let written =
                    folder.write_with(&file, cancel, |out| ascii_grid::write(raster, frame, out))?;
                (file, written, None)
            }
            (ExportKind::Png16, LayerData::F32(raster)) => {
                with_sidecar("png", png16::encode(raster, frame, &about))?
            }
            (ExportKind::Raw16, LayerData::F32(raster)) => {
                with_sidecar("r16", raw::encode(raster, Depth::R16, frame, &about))?
            }
            (ExportKind::Raw32, LayerData::F32(raster)) => {
                with_sidecar("r32", raw::encode(raster, Depth::R32, frame, &about))?
            }
            // `jobs` gives no other pair: only heights, which are floats, go to the other kinds.
            (kind, _) => {
                return Err(BuildError::Internal(format!(
                    "the layer {name:?} of {} cannot be written as {:?}",
                    data.kind(),
                    kind.name()
                )));
            }
        };
        let mut made = self.report(&file, &written, Some(name.as_str()));
        if let Some(report) = made.files.first_mut() {
            report.unit = Some(layer::unit(name)).filter(|unit| !unit.is_empty());
            (report.min, report.max) = range(data).unzip();
        }
        if let Some(sidecar) = sidecar {
            let (beside, json) = (format!("{file}.json"), sidecar.to_json());
            let beside = self.write(folder, &beside, &json, Some(name.as_str()), cancel)?;
            made.files.extend(beside.files);
            made.warnings.extend(sidecar.warning.map(|warning| format!("{file}: {warning}")));
        }
        Ok(made)
    }

    fn write(
        &self,
        folder: &OutputFolder,
        name: &str,
        bytes: &[u8],
        layer: Option<&str>,
        cancel: &Cancel,
    ) -> Result<Exported, BuildError> {
        let written = folder.write_with(name, cancel, |out| out.write_all(bytes))?;
        Ok(self.report(name, &written, layer))
    }

    fn report(&self, name: &str, written: &Written, layer: Option<&str>) -> Exported {
        let report = FileReport {
            name: name.to_owned(),
            kind: self.kind.name(),
            sha256: hex(&written.sha256),
            bytes: written.bytes,
            layer: layer.map(str::to_owned),
            unit: None,
            min: None,
            max: None,
        };
        Exported { files: vec![report], warnings: Vec::new() }
    }
}

fn range(data: &LayerData) -> Option<(f64, f64)> {
    match data {
        LayerData::F32(raster) => raster.range().map(|(a, b)| (a.into(), b.into())),
        LayerData::U8(raster) => {
            let values = raster.as_slice();
            Some(((*values.iter().min()?).into(), (*values.iter().max()?).into()))
        }
    }
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use orogen_io::relief::Palette;

    use super::*;

    fn exports(text: &str) -> Result<Exports, String> {
        let recipe = Recipe::parse("r.toml", text.as_bytes()).unwrap();
        Exports::of_recipe(&recipe).map_err(|faults| faults.to_string())
    }

    #[test]
    fn a_recipe_says_how_its_picture_is_drawn() {
        let found =
            exports("[[export]]\nkind = \"relief\"\npalette = \"arid\"\nsun_from_deg = 90.0\n").unwrap();
        assert_eq!(found.kinds, [ExportKind::Relief]);
        assert_eq!(found.relief.palette, Palette::Arid);
        assert_eq!(found.relief.sun_from_deg, 90.0);
        assert_eq!(exports("").unwrap(), Exports::default());
    }

    #[test]
    fn the_call_chooses_kinds_and_leaves_the_options_of_the_recipe() {
        let recipe = "[[export]]\nkind = \"relief\"\npalette = \"arid\"\n[[export]]\nkind = \"r16\"\nsea_floor = false\n";
        let found = exports(recipe).unwrap();
        assert_eq!(found.without_sea_floor, [ExportKind::Raw16]);
        let kinds = vec![ExportKind::Relief, ExportKind::Png16, ExportKind::Png16];
        let changed = found.clone().changed(&ExportChanges { kinds, no_sea_floor: true });
        assert_eq!(changed.kinds, [ExportKind::Png16, ExportKind::Relief]);
        assert_eq!(changed.relief.palette, Palette::Arid);
        assert_eq!(changed.without_sea_floor, [ExportKind::Png16]);
        assert!(!changed.mesh.sea_floor);
        assert_eq!(found.clone().changed(&ExportChanges::default()), found);
    }

    #[test]
    fn wrong_options_are_reported_with_their_line() {
        let wrong = |text: &str, wanted: &str| {
            let message = exports(text).unwrap_err();
            assert!(message.contains(wanted), "{message:?} does not say {wanted:?}");
        };
        wrong("[[export]]\nkind = \"relief\"\npalete = \"arid\"\n", "r.toml:3:1: export: palete: no such");
        wrong("[[export]]\nkind = \"relief\"\npalette = \"aridd\"\n", "did you mean \"arid\"?");
        wrong("[[export]]\nkind = \"relief\"\nsun_height_deg = 0.0\n", "is outside 1 to 90");
        wrong(
            "[[export]]\nkind = \"geojson\"\nbits = 3\n",
            "r.toml:3:1: export: bits: the kind \"geojson\" has no options",
        );
        wrong("[[export]]\nkind = \"ascii\"\n[[export]]\nkind = \"ascii\"\n", "r.toml:4:1");
    }
}
