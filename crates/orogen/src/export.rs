//! From a terrain to files on disk.

use std::sync::atomic::{AtomicUsize, Ordering};

use orogen_core::param::{self, Segment, nearest};
use orogen_core::vector::VectorLayer;
use orogen_core::{Cancel, Frame, LayerData, LayerName, Terrain, layer};
use orogen_io::raw::Depth;
use orogen_io::relief::ReliefStyle;
use orogen_io::{About, OutputFolder, WithSidecar, ascii_grid, geojson, geotiff, png8, png16, raw, relief};
use orogen_recipe::{Faults, Recipe};
use rayon::prelude::*;
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
}

impl ExportKind {
    /// All kinds, with their names in recipes.
    pub const ALL: [(&'static str, Self); 7] = [
        ("geotiff", Self::Geotiff),
        ("png16", Self::Png16),
        ("r16", Self::Raw16),
        ("r32", Self::Raw32),
        ("ascii", Self::Ascii),
        ("relief", Self::Relief),
        ("geojson", Self::Geojson),
    ];

    /// What a recipe without `[[export]]` gives.
    pub const DEFAULT: [Self; 4] = [Self::Geotiff, Self::Png16, Self::Relief, Self::Geojson];

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
        (self == Self::Relief).then(param::schema::<ReliefStyle>)
    }
}

/// Which files to make, and how.
#[derive(Clone, Debug, PartialEq)]
pub struct Exports {
    /// The kinds of file, each once.
    pub kinds: Vec<ExportKind>,
    /// How the picture is drawn.
    pub relief: ReliefStyle,
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
        Self { kinds, relief: ReliefStyle::default() }
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
        match kind {
            ExportKind::Relief => match param::parse(options) {
                Ok(style) => self.relief = style,
                Err(faults) => return faults,
            },
            _ => {
                let message = |key: &String| {
                    param::Fault::of(key, format!("the kind {:?} has no options", kind.name()))
                };
                return options.keys().map(message).collect();
            }
        }
        Vec::new()
    }
}

/// What an export is told besides the terrain.
pub struct ExportOptions<'a> {
    /// The files to make.
    pub exports: &'a Exports,
    /// The world seed, for the files that carry it.
    pub seed: &'a str,
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
    let mut jobs: Vec<Job<'_>> = options.exports.kinds.iter().flat_map(|&kind| jobs(terrain, kind)).collect();
    // The slowest first, so that no thread is left with it at the end.
    jobs.sort_by_key(|job| match job.what {
        What::Picture => 0,
        What::Layer(..) => 1,
        What::Vectors(..) => 2,
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
    Layer(&'a LayerName, &'a LayerData),
    Vectors(&'a str, &'a VectorLayer),
}

fn jobs(terrain: &Terrain, kind: ExportKind) -> Vec<Job<'_>> {
    let height = layer::HEIGHT.name();
    let what: Vec<What<'_>> = match kind {
        ExportKind::Geotiff => terrain.layers().iter().map(|(name, data)| What::Layer(name, data)).collect(),
        ExportKind::Png16 | ExportKind::Raw16 | ExportKind::Raw32 | ExportKind::Ascii => terrain
            .layers()
            .get_key_value(&height)
            .map(|(name, data)| What::Layer(name, data))
            .into_iter()
            .collect(),
        ExportKind::Relief if terrain.layers().contains_key(&height) => vec![What::Picture],
        ExportKind::Relief => Vec::new(),
        ExportKind::Geojson => {
            terrain.vectors().iter().map(|(name, layer)| What::Vectors(name, layer)).collect()
        }
    };
    what.into_iter().map(|what| Job { kind, what }).collect()
}

impl Job<'_> {
    fn run(
        &self,
        terrain: &Terrain,
        options: &ExportOptions<'_>,
        folder: &OutputFolder,
    ) -> Result<Exported, BuildError> {
        match &self.what {
            What::Picture => {
                let picture = relief::render(terrain, &options.exports.relief)?;
                self.write(folder, "relief.png", &png8::encode(&picture), None)
            }
            What::Vectors(name, layer) => {
                self.write(folder, &format!("{name}.geojson"), &geojson::encode(layer, name), Some(name))
            }
            What::Layer(name, data) => self.layer(terrain.frame(), name, data, options.seed, folder),
        }
    }

    fn layer(
        &self,
        frame: &Frame,
        name: &LayerName,
        data: &LayerData,
        seed: &str,
        folder: &OutputFolder,
    ) -> Result<Exported, BuildError> {
        let about = About { layer: name.as_str(), unit: layer::unit(name), seed };
        let (ending, encoded) = match (self.kind, data) {
            (ExportKind::Geotiff, LayerData::F32(raster)) => {
                ("tif", plain(geotiff::encode_f32(raster, frame, &about)))
            }
            (ExportKind::Geotiff, LayerData::U8(raster)) => {
                ("tif", plain(geotiff::encode_u8(raster, frame, &about)))
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
        let report = FileReport {
            name: name.to_owned(),
            kind: self.kind.name(),
            sha256: hex(&Sha256::digest(bytes)),
            bytes: bytes.len() as u64,
            layer: layer.map(str::to_owned),
            unit: None,
            min: None,
            max: None,
        };
        Ok(Exported { files: vec![report], warnings: Vec::new() })
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
