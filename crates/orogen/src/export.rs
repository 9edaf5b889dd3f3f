//! From a terrain to files on disk.

use std::fs::File;
use std::io::{self, BufWriter};
use std::sync::atomic::{AtomicUsize, Ordering};

use orogen_core::param::{self, Segment, nearest};
use orogen_core::vector::VectorLayer;
use orogen_core::{Cancel, Frame, LayerData, LayerName, Raster, Terrain, layer};
use orogen_io::mesh::Surface;
use orogen_io::raw::Depth;
use orogen_io::relief::ReliefStyle;
use orogen_io::{
    About, OutputFolder, WithSidecar, Written, ascii_grid, exr, geojson, geotiff, glb, obj, png8, png16, raw,
    relief,
};
use orogen_ops::shape::sketch;
use orogen_recipe::{Faults, Recipe};
use rayon::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::error::BuildError;
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
    /// `relief.png`, a picture of the land.
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
}

impl Default for MeshStyle {
    fn default() -> Self {
        Self { formats: vec![MeshFormat::Glb] }
    }
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
            let hint = nearest(name, names).map_or(String::new(), |n| format!(" (did you mean {n:?}?)"));
            format!("found the export kind {name:?}, allowed is one of {}{hint}", names.join(", "))
        })
    }

    /// The schema of its options besides `kind`; `None` when it has none.
    #[must_use]
    pub fn options(self) -> Option<serde_json::Value> {
        match self {
            Self::Relief => Some(param::schema::<ReliefStyle>()),
            Self::Mesh => Some(param::schema::<MeshStyle>()),
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
        Self { kinds, relief: ReliefStyle::default(), mesh: MeshStyle::default() }
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
                let message = format!("the kind {:?} stands there twice; once is enough", kind.name());
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

    /// Takes the options of a kind, or tells what is wrong with them.
    fn take(&mut self, kind: ExportKind, options: &toml::Table) -> Vec<param::Fault> {
        let taken = match kind {
            ExportKind::Relief => param::parse(options).map(|style| self.relief = style),
            ExportKind::Mesh => param::parse(options).map(|style| self.mesh = style),
            _ => {
                let fault = |key: &String| {
                    param::Fault::of(key, format!("the kind {:?} has no options", kind.name()))
                };
                return options.keys().map(fault).collect();
            }
        };
        taken.err().unwrap_or_default()
    }

    /// Why land on a frame cannot be written so, if it cannot: told before anything is built.
    pub(crate) fn refuses(&self, frame: &Frame) -> Option<String> {
        if !self.kinds.contains(&ExportKind::Mesh) {
            return None;
        }
        let [cols, rows] = [frame.cols() as u64, frame.rows() as u64];
        if cols < 2 || rows < 2 {
            return Some(format!("a mesh needs 2 samples a side, found {cols} x {rows}"));
        }
        let too_large = glb::too_large(cols * rows, 2 * (cols - 1) * (rows - 1));
        too_large.filter(|_| self.mesh.formats.contains(&MeshFormat::Glb))
    }
}

/// What an export is told besides the terrain.
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
    /// Told the share of files done.
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
    let mut jobs: Vec<Job<'_>> =
        options.exports.kinds.iter().flat_map(|&kind| jobs(terrain, kind, options.exports)).collect();
    // The slowest first, so that no thread is left with it at the end.
    jobs.sort_by_key(|job| match job.what {
        What::Picture | What::Glb | What::Obj => 0,
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
            let made = job.run(terrain, options, folder)?;
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
    what: What<'a>,
}

enum What<'a> {
    Picture,
    Glb,
    Obj,
    /// Red, green and blue under a name.
    Channels(&'static str, LayerName, [&'a Raster<f32>; 3]),
    Layer(&'a LayerName, &'a LayerData),
    Vectors(&'a str, &'a VectorLayer),
    Fragment(String),
}

fn jobs<'a>(terrain: &'a Terrain, kind: ExportKind, exports: &Exports) -> Vec<Job<'a>> {
    let height = layer::HEIGHT.name();
    let grounded = terrain.get(layer::HEIGHT).ok();
    let what: Vec<What<'_>> = match kind {
        ExportKind::Exr => {
            let moved =
                [layer::DISPLACE_X, layer::DISPLACE_Y, layer::DISPLACE_Z].map(|l| terrain.get(l).ok());
            let moved = match moved {
                [Some(x), Some(y), Some(z)] => {
                    Some(What::Channels("displacement_xyz.exr", LayerName::fixed("displace"), [x, y, z]))
                }
                _ => None,
            };
            grounded.map(|h| What::Channels("height.exr", height, [h; 3])).into_iter().chain(moved).collect()
        }
        ExportKind::Mesh if grounded.is_some() => {
            let asked = |format: MeshFormat| exports.mesh.formats.contains(&format);
            [(MeshFormat::Glb, What::Glb), (MeshFormat::Obj, What::Obj)]
                .into_iter()
                .filter_map(|(format, what)| asked(format).then_some(what))
                .collect()
        }
        ExportKind::Mesh => Vec::new(),
        ExportKind::Geotiff => terrain.layers().iter().map(|(name, data)| What::Layer(name, data)).collect(),
        ExportKind::Png16 | ExportKind::Raw16 | ExportKind::Raw32 | ExportKind::Ascii => terrain
            .layers()
            .get_key_value(&height)
            .map(|(name, data)| What::Layer(name, data))
            .into_iter()
            .collect(),
        ExportKind::Relief if terrain.layers().contains_key(&height) => vec![What::Picture],
        ExportKind::Relief => Vec::new(),
        ExportKind::Fragment => {
            let made = terrain.vector(sketch::FEATURES).and_then(sketch::fragment);
            made.map(What::Fragment).into_iter().collect()
        }
        ExportKind::Geojson => {
            terrain.vectors().iter().map(|(name, layer)| What::Vectors(name, layer)).collect()
        }
    };
    what.into_iter().map(|what| Job { kind, what }).collect()
}

/// Features in the coordinates of a place, which need not be the metres of the frame.
fn placed_geojson(layer: &VectorLayer, name: &str, frame: &Frame, place: &geotiff::Place) -> Vec<u8> {
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
    geojson::encode_in(&moved, name, &geojson::System::of(place))
}

impl Job<'_> {
    fn run(
        &self,
        terrain: &Terrain,
        options: &ExportOptions<'_>,
        folder: &OutputFolder,
    ) -> Result<Exported, BuildError> {
        let seed = options.seed;
        match &self.what {
            What::Picture => {
                let picture = relief::render(terrain, &options.exports.relief)?;
                self.write(folder, "relief.png", &png8::encode(&picture), None)
            }
            What::Vectors(name, layer) => {
                let text = match options.place {
                    Some(place) => placed_geojson(layer, name, terrain.frame(), place),
                    None => geojson::encode(layer, name),
                };
                self.write(folder, &format!("{name}.geojson"), &text, Some(name))
            }
            What::Fragment(text) => {
                self.write(folder, "features.toml", text.as_bytes(), Some(sketch::FEATURES))
            }
            What::Layer(name, data) => self.layer(terrain.frame(), name, data, options, folder),
            What::Channels(file, name, channels) => {
                self.channels(terrain.frame(), file, name, *channels, seed, folder)
            }
            What::Glb => self.mesh(terrain, "terrain.glb", folder, |surface, out| {
                glb::write(surface, "terrain", seed, out)
            }),
            What::Obj => self.mesh(terrain, "terrain.obj", folder, |surface, out| {
                obj::write(surface, "terrain", seed, out)
            }),
        }
    }

    fn channels(
        &self,
        frame: &Frame,
        file: &str,
        name: &LayerName,
        channels: [&Raster<f32>; 3],
        seed: &str,
        folder: &OutputFolder,
    ) -> Result<Exported, BuildError> {
        let about = About { layer: name.as_str(), unit: layer::unit(name), seed };
        let ranges = channels.iter().filter_map(|raster| raster.range());
        let range = ranges
            .map(|(low, high)| (f64::from(low), f64::from(high)))
            .reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)));
        // Programs that read heights take a hole for one in the world, or for infinitely deep.
        let heights = *name == layer::HEIGHT.name();
        let hole = if heights { range.map_or(0.0, |(low, _)| low as f32) } else { 0.0 };
        let written = folder.write_with(file, |out| exr::write(channels, hole, &about, out))?;
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
        let beside = self.write(folder, &format!("{file}.json"), &sidecar.to_json(), Some(name.as_str()))?;
        made.files.extend(beside.files);
        Ok(made)
    }

    fn mesh(
        &self,
        terrain: &Terrain,
        file: &str,
        folder: &OutputFolder,
        write: impl FnOnce(&Surface<'_>, &mut BufWriter<&File>) -> io::Result<()>,
    ) -> Result<Exported, BuildError> {
        let surface = Surface::of(terrain).map_err(|e| BuildError::Write(format!("{file}: {e}")))?;
        let written = folder.write_with(file, |out| write(&surface, out))?;
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
        let (ending, encoded) = match (self.kind, data) {
            (ExportKind::Geotiff, LayerData::F32(raster)) => {
                let bytes = match options.place {
                    Some(place) => geotiff::encode_f32_at(raster, place, &about),
                    None => geotiff::encode_f32(raster, frame, &about),
                };
                ("tif", plain(bytes))
            }
            (ExportKind::Geotiff, LayerData::U8(raster)) => {
                let bytes = match options.place {
                    Some(place) => geotiff::encode_u8_at(raster, place, None, &about),
                    None => geotiff::encode_u8(raster, frame, &about),
                };
                ("tif", plain(bytes))
            }
            (ExportKind::Png16, LayerData::F32(raster)) => {
                ("png", png16::encode(raster, frame, &about).into())
            }
            (ExportKind::Raw16, LayerData::F32(raster)) => {
                ("r16", raw::encode(raster, Depth::R16, frame, &about).into())
            }
            (ExportKind::Raw32, LayerData::F32(raster)) => {
                ("r32", raw::encode(raster, Depth::R32, frame, &about).into())
            }
            (ExportKind::Ascii, LayerData::F32(raster)) => ("asc", plain(ascii_grid::encode(raster, frame))),
            // `jobs` gives no other pair: only heights, which are floats, go to the other kinds.
            _ => return Ok(Exported::default()),
        };
        let file = format!("{name}.{ending}");
        let mut made = self.write(folder, &file, &encoded.bytes, Some(name.as_str()))?;
        if let Some(report) = made.files.first_mut() {
            report.unit = Some(layer::unit(name)).filter(|unit| !unit.is_empty());
            (report.min, report.max) = range(data).unzip();
        }
        if let Some(sidecar) = encoded.sidecar {
            made.files
                .extend(self.write(folder, &format!("{file}.json"), &sidecar, Some(name.as_str()))?.files);
        }
        made.warnings.extend(encoded.warning.map(|warning| format!("{file}: {warning}")));
        Ok(made)
    }

    fn write(
        &self,
        folder: &OutputFolder,
        name: &str,
        bytes: &[u8],
        layer: Option<&str>,
    ) -> Result<Exported, BuildError> {
        folder.write(name, bytes)?;
        let written = Written { sha256: Sha256::digest(bytes).into(), bytes: bytes.len() as u64 };
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

/// A file as its format gave it.
struct Encoded {
    bytes: Vec<u8>,
    sidecar: Option<Vec<u8>>,
    warning: Option<String>,
}

fn plain(bytes: Vec<u8>) -> Encoded {
    Encoded { bytes, sidecar: None, warning: None }
}

impl From<WithSidecar> for Encoded {
    fn from(file: WithSidecar) -> Self {
        Self { bytes: file.bytes, sidecar: Some(file.sidecar.to_json()), warning: file.sidecar.warning }
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
    fn wrong_options_are_told_with_their_line() {
        let wrong = |text: &str, wanted: &str| {
            let message = exports(text).unwrap_err();
            assert!(message.contains(wanted), "{message:?} does not say {wanted:?}");
        };
        wrong("[[export]]\nkind = \"relief\"\npalete = \"arid\"\n", "r.toml:3:1: export: palete: no such");
        wrong("[[export]]\nkind = \"relief\"\npalette = \"aridd\"\n", "did you mean \"arid\"?");
        wrong("[[export]]\nkind = \"relief\"\nsun_height_deg = 0.0\n", "allowed is 1 to 90");
        wrong(
            "[[export]]\nkind = \"ascii\"\nbits = 3\n",
            "r.toml:3:1: export: bits: the kind \"ascii\" has no options",
        );
        wrong("[[export]]\nkind = \"ascii\"\n[[export]]\nkind = \"ascii\"\n", "r.toml:4:1");
    }
}
