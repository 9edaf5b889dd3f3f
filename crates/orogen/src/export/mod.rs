//! From a terrain to files on disk.
//!
//! A kind of export is one file of this folder, which implements [`Export`], and one line in [`ExportKind::ALL`]. Its struct
//! describes its options as that of an operator describes its parameters: recipes, the schema, help and the manual follow
//! from it.

mod ascii;
mod biomes;
mod colormap;
mod exr;
mod film;
mod fragment;
mod geojson;
mod geotiff;
mod instances;
mod land;
mod mesh;
mod output;
mod plants;
mod png16;
mod r16;
mod r32;
mod relief;
mod sixteen_bits;
mod splat;

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use orogen_core::param::{self, Segment, nearest};
use orogen_core::{Cancel, Frame, LayerName, Terrain};
use orogen_io::OutputFolder;
use orogen_recipe::{Faults, Recipe};
use rayon::prelude::*;
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::BuildError;

pub use ascii::Ascii;
pub use biomes::Biomes;
pub use colormap::Colormap;
pub use exr::Exr;
pub use fragment::Fragment;
pub use geojson::Geojson;
pub use geotiff::Geotiff;
pub use instances::{Instances, plan};
pub use land::{Land, Windows};
pub use mesh::{Mesh, MeshFormat};
pub(crate) use output::hex;
pub use output::{Exported, Facts, Out, Output};
pub use plants::{Plants, species_of};
pub use png16::Png16;
pub use r16::R16;
pub use r32::R32;
pub use relief::Relief;
pub use sixteen_bits::SixteenBits;
pub use splat::Splat;

/// A way to write a terrain, with its options as they stand in a recipe.
pub trait Export:
    Clone + Default + Serialize + DeserializeOwned + JsonSchema + Send + Sync + 'static
{
    /// Its name in recipes.
    const NAME: &'static str;
    /// Whether a recipe without `[[export]]` gives it.
    const UNASKED: bool = false;

    /// The layers that its options name; empty where it knows by itself. A recipe may list a kind several times, for
    /// other layers each time.
    fn layers(&self) -> &[LayerName] {
        &[]
    }

    /// What is wrong with its options, beyond what their schema says.
    fn faults(&self) -> Vec<param::Fault> {
        Vec::new()
    }

    /// Leaves the floor of the sea out of files that hold heights.
    fn leave_out_sea_floor(&mut self) {}

    /// Why land on a frame, with these parts, cannot be written so, if it cannot: known before anything is built.
    fn refuses(&self, frame: &Frame, parts: &PartNames<'_>) -> Option<String> {
        let _ = (frame, parts);
        None
    }

    /// The names of all files that land with these parts may become, in sub-folders where they have a `/`.
    fn file_names(&self, parts: &PartNames<'_>) -> Vec<String>;

    /// Writes them.
    ///
    /// # Errors
    /// When a file cannot be written, or when cancelled.
    fn write(&self, land: &Land<'_>, out: &Output<'_>) -> Result<(), BuildError>;
}

/// What a terrain has, by name.
#[derive(Clone, Copy, Debug)]
pub struct PartNames<'a> {
    /// Rasters.
    pub layers: &'a [LayerName],
    /// Vectors.
    pub vectors: &'a [LayerName],
    /// Instances.
    pub instances: &'a [LayerName],
    /// The species that may grow there.
    pub species: &'a [String],
}

impl PartNames<'_> {
    /// Whether there is such a raster.
    #[must_use]
    pub fn has_layer(&self, name: &LayerName) -> bool {
        self.layers.contains(name)
    }
}

/// The name of a file and that of its sidecar.
fn with_sidecar(name: &str) -> [String; 2] {
    [name.to_owned(), format!("{name}.json")]
}

/// A kind of export: an entry of the list.
#[derive(Clone, Copy)]
pub struct ExportKind {
    name: &'static str,
    unasked: bool,
    schema: fn() -> &'static serde_json::Value,
    default: fn() -> Chosen,
    parse: fn(&toml::Table) -> Result<Chosen, Vec<param::Fault>>,
}

impl ExportKind {
    /// All kinds.
    pub const ALL: &'static [Self] = &[
        Self::of::<Geotiff>(),
        Self::of::<Png16>(),
        Self::of::<R16>(),
        Self::of::<R32>(),
        Self::of::<Ascii>(),
        Self::of::<Relief>(),
        Self::of::<Geojson>(),
        Self::of::<Instances>(),
        Self::of::<Plants>(),
        Self::of::<Exr>(),
        Self::of::<Mesh>(),
        Self::of::<Fragment>(),
        Self::of::<Splat>(),
        Self::of::<Colormap>(),
        Self::of::<Biomes>(),
    ];

    /// The entry of a kind.
    #[must_use]
    pub const fn of<E: Export>() -> Self {
        Self {
            name: E::NAME,
            unasked: E::UNASKED,
            schema: param::schema::<E>,
            default: || Chosen(Arc::new(E::default())),
            parse: |options| {
                let export: E = param::parse(options)?;
                let faults = export.faults();
                if faults.is_empty() { Ok(Chosen(Arc::new(export))) } else { Err(faults) }
            },
        }
    }

    /// Its name in recipes.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.name
    }

    /// The names of all kinds.
    pub fn names() -> impl Iterator<Item = &'static str> + Clone {
        Self::ALL.iter().map(|kind| kind.name)
    }

    /// A kind by its name.
    ///
    /// # Errors
    /// A sentence with the names there are.
    pub fn parse(name: &str) -> Result<Self, String> {
        Self::ALL.iter().find(|kind| kind.name == name).copied().ok_or_else(|| {
            let names: Vec<&str> = Self::names().collect();
            let hint =
                nearest(name, Self::names()).map_or(String::new(), |n| format!("; did you mean {n:?}?"));
            format!("unknown export kind {name:?}; expected one of {}{hint}", names.join(", "))
        })
    }

    /// Whether a recipe that asks for nothing gives it.
    #[must_use]
    pub fn is_unasked(self) -> bool {
        self.unasked
    }

    /// The schema of its options besides `kind`.
    #[must_use]
    pub fn options(self) -> &'static serde_json::Value {
        (self.schema)()
    }

    /// The export that options ask for.
    fn with(self, options: &toml::Table) -> Result<Chosen, Vec<param::Fault>> {
        let has_options = self.options()["properties"].as_object().is_some_and(|fields| !fields.is_empty());
        if !has_options {
            let fault =
                |key: &String| param::Fault::of(key, format!("the kind {:?} has no options", self.name));
            let faults: Vec<_> = options.keys().map(fault).collect();
            return if faults.is_empty() { Ok((self.default)()) } else { Err(faults) };
        }
        (self.parse)(options)
    }

    /// Its place in the list.
    fn rank(name: &str) -> usize {
        Self::names().position(|known| known == name).unwrap_or(usize::MAX)
    }
}

impl fmt::Debug for ExportKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl PartialEq for ExportKind {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

/// An export without its type: what [`Export`] says, of a value.
trait AnyExport: Any + Send + Sync {
    fn name(&self) -> &'static str;
    fn options(&self) -> toml::Value;
    fn layers(&self) -> &[LayerName];
    fn without_sea_floor(&self) -> Chosen;
    fn refuses(&self, frame: &Frame, parts: &PartNames<'_>) -> Option<String>;
    fn file_names(&self, parts: &PartNames<'_>) -> Vec<String>;
    fn write(&self, land: &Land<'_>, out: &Output<'_>) -> Result<(), BuildError>;
}

impl<E: Export> AnyExport for E {
    fn name(&self) -> &'static str {
        E::NAME
    }

    fn options(&self) -> toml::Value {
        toml::Value::try_from(self).unwrap_or(toml::Value::Boolean(false))
    }

    fn layers(&self) -> &[LayerName] {
        Export::layers(self)
    }

    fn without_sea_floor(&self) -> Chosen {
        let mut changed = self.clone();
        changed.leave_out_sea_floor();
        Chosen(Arc::new(changed))
    }

    fn refuses(&self, frame: &Frame, parts: &PartNames<'_>) -> Option<String> {
        Export::refuses(self, frame, parts)
    }

    fn file_names(&self, parts: &PartNames<'_>) -> Vec<String> {
        Export::file_names(self, parts)
    }

    fn write(&self, land: &Land<'_>, out: &Output<'_>) -> Result<(), BuildError> {
        Export::write(self, land, out)
    }
}

/// One export with its options.
#[derive(Clone)]
struct Chosen(Arc<dyn AnyExport>);

impl fmt::Debug for Chosen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.0.name(), self.0.options())
    }
}

impl PartialEq for Chosen {
    fn eq(&self, other: &Self) -> bool {
        self.0.name() == other.0.name() && self.0.options() == other.0.options()
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

/// Which files to make, and how.
#[derive(Clone, Debug, PartialEq)]
pub struct Exports(Vec<Chosen>);

impl Default for Exports {
    /// What a recipe without `[[export]]` gives.
    fn default() -> Self {
        Self::of(ExportKind::ALL.iter().copied().filter(|kind| kind.unasked).collect())
    }
}

impl Exports {
    /// These kinds, with default options.
    #[must_use]
    pub fn of(kinds: Vec<ExportKind>) -> Self {
        let wanted = ExportKind::ALL.iter().filter(|kind| kinds.contains(kind));
        Self(wanted.map(|kind| (kind.default)()).collect())
    }

    /// One export with its options.
    #[must_use]
    pub fn one(export: impl Export) -> Self {
        Self(vec![Chosen(Arc::new(export))])
    }

    /// The first export of a kind, with its options.
    #[must_use]
    pub fn get<E: Export>(&self) -> Option<&E> {
        self.0.iter().find_map(|chosen| (&*chosen.0 as &dyn Any).downcast_ref())
    }

    /// What a recipe asks for; the default when it asks for nothing.
    ///
    /// # Errors
    /// Every unknown kind and option, with its place in the recipe.
    pub fn of_recipe(recipe: &Recipe) -> Result<Self, Faults> {
        let mut chosen: Vec<Chosen> = Vec::new();
        let mut faults = Faults::new(recipe.name());
        let kind_key = [Segment::Key(String::from("kind"))];
        for export in recipe.exports() {
            let kind = match ExportKind::parse(&export.kind) {
                Ok(kind) => kind,
                Err(message) => {
                    faults.push(recipe.export_fault(export, &kind_key, message));
                    continue;
                }
            };
            match kind.with(&export.options) {
                Ok(found) if chosen.iter().any(|known| clash(known, &found)) => {
                    let message = match found.0.layers() {
                        [] => format!("the kind {:?} is listed twice", kind.name),
                        _ => format!("the kind {:?} is listed twice for one layer", kind.name),
                    };
                    faults.push(recipe.export_fault(export, &kind_key, message));
                }
                Ok(found) => chosen.push(found),
                Err(wrong) => {
                    for fault in wrong {
                        faults.push(recipe.export_fault(export, &fault.path, fault.to_string()));
                    }
                }
            }
        }
        faults.into_result()?;
        Ok(if chosen.is_empty() { Self::default() } else { Self(chosen) })
    }

    /// The same with changes.
    #[must_use]
    pub fn changed(mut self, changes: &ExportChanges) -> Self {
        if !changes.kinds.is_empty() {
            let asked = |name| changes.kinds.iter().any(|kind| kind.name == name);
            self.0.retain(|chosen| asked(chosen.0.name()));
            let missing: Vec<ExportKind> =
                changes.kinds.iter().copied().filter(|kind| !self.has(kind.name)).collect();
            self.0.extend(Self::of(missing).0);
            self.0.sort_by_key(|chosen| ExportKind::rank(chosen.0.name()));
        }
        if changes.no_sea_floor {
            self.0.iter_mut().for_each(|chosen| *chosen = chosen.0.without_sea_floor());
        }
        self
    }

    /// The same, and these instances among them.
    #[must_use]
    pub fn and_instances(mut self, name: LayerName) -> Self {
        let lists = |chosen: &Chosen| {
            let export = (&*chosen.0 as &dyn Any).downcast_ref::<Instances>();
            export.is_some_and(|export| export.writes(&name))
        };
        if !self.0.iter().any(lists) {
            self.0.push(Chosen(Arc::new(Instances { instances: vec![name], ..Instances::default() })));
        }
        self
    }

    fn has(&self, name: &str) -> bool {
        self.0.iter().any(|chosen| chosen.0.name() == name)
    }

    /// The names of all files that land with these parts may become.
    #[must_use]
    pub fn file_names(&self, parts: &PartNames<'_>) -> Vec<String> {
        self.0.iter().flat_map(|chosen| chosen.0.file_names(parts)).collect()
    }

    /// Why land on a frame, with these parts, cannot be written so, if it cannot: known before anything is built.
    #[must_use]
    pub fn refuses(&self, frame: &Frame, parts: &PartNames<'_>) -> Option<String> {
        // A land without heights gives no files of them.
        let wanted = |name: &&LayerName| **name != orogen_core::layer::HEIGHT.name();
        let missing =
            |chosen: &Chosen| no_such(parts.layers, chosen.0.layers().iter().filter(wanted), "layer");
        self.0.iter().find_map(|chosen| {
            let why = chosen.0.refuses(frame, parts).or_else(|| missing(chosen))?;
            Some(format!("{}: {why}", chosen.0.name()))
        })
    }
}

/// A sentence about the first name that is not among those there are.
fn no_such<'a>(
    known: &[LayerName],
    mut wanted: impl Iterator<Item = &'a LayerName>,
    what: &str,
) -> Option<String> {
    let unknown = wanted.find(|name| !known.contains(name))?;
    let known: Vec<&str> = known.iter().map(LayerName::as_str).collect();
    let hint = nearest(unknown.as_str(), known.iter().copied())
        .map_or(String::new(), |name| format!("; did you mean {name:?}?"));
    Some(format!("no {what} {unknown:?} here; available: {}{hint}", known.join(", ")))
}

/// Whether two exports would write the same files.
fn clash(a: &Chosen, b: &Chosen) -> bool {
    let (of_a, of_b) = (a.0.layers(), b.0.layers());
    a.0.name() == b.0.name()
        && (of_a.is_empty() || of_b.is_empty() || of_a.iter().any(|layer| of_b.contains(layer)))
}

/// What an export needs besides the terrain.
pub struct ExportOptions<'a> {
    /// The files to make.
    pub exports: &'a Exports,
    /// The world seed, for the files that carry it.
    pub seed: &'a str,
    /// Where the land lies in a coordinate system of the real world; `None` for what the terrain itself says. GeoTIFF, GeoJSON
    /// and sidecars say so, other formats cannot.
    pub place: Option<&'a orogen_io::geotiff::Place>,
    /// Works out other windows of the land, for exports that need them; `None` where there is no recipe behind it.
    pub windows: Option<&'a dyn Windows>,
    /// Stops the export; nothing is written then.
    pub cancel: &'a Cancel,
    /// Receives the share of files done.
    pub progress: &'a (dyn Fn(f32) + Sync),
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
    let land = Land::new(terrain, options);
    let names = |parts: Vec<&LayerName>| parts.into_iter().cloned().collect::<Vec<_>>();
    let parts = PartNames {
        layers: &names(terrain.layers().keys().collect()),
        vectors: &names(terrain.vectors().keys().collect()),
        instances: &names(terrain.instances().keys().collect()),
        species: &plants::species_of(terrain),
    };
    let expected = options.exports.file_names(&parts).len();
    let output = Output::new(folder, options, expected);
    options.exports.0.par_iter().try_for_each(|chosen| {
        let out = output.of_kind(chosen.0.name());
        chosen.0.write(&land, &out)
    })?;
    (options.progress)(1.0);
    Ok(output.finish())
}

#[cfg(test)]
mod tests {
    use orogen_io::relief::{Palette, ReliefStyle};

    use super::*;

    fn exports(text: &str) -> Result<Exports, String> {
        let recipe = Recipe::parse("r.toml", text.as_bytes()).unwrap();
        Exports::of_recipe(&recipe).map_err(|faults| faults.to_string())
    }

    fn kind(name: &str) -> ExportKind {
        ExportKind::parse(name).unwrap()
    }

    #[test]
    fn every_kind_is_listed_once_and_has_a_name_fit_for_a_recipe() {
        let mut names: Vec<&str> = ExportKind::names().collect();
        assert!(names.iter().all(|name| name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())));
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), ExportKind::ALL.len());
        for kind in ExportKind::ALL {
            // The options of a default export are a table that gives the same export again.
            let default = (kind.default)();
            let toml::Value::Table(options) = default.0.options() else { panic!("{kind:?} has no table") };
            assert_eq!(kind.with(&options).unwrap(), default);
        }
    }

    #[test]
    fn a_recipe_says_how_its_picture_is_drawn() {
        let found =
            exports("[[export]]\nkind = \"relief\"\npalette = \"arid\"\nsun_from_deg = 90.0\n").unwrap();
        let style = ReliefStyle { palette: Palette::Arid, sun_from_deg: 90.0, ..ReliefStyle::default() };
        assert_eq!(found, Exports::one(Relief(style)));
        assert_eq!(exports("").unwrap(), Exports::default());
        let unasked = ["geotiff", "png16", "relief", "geojson", "fragment", "splat"].map(kind);
        assert_eq!(Exports::default(), Exports::of(unasked.to_vec()));
    }

    #[test]
    fn the_call_chooses_kinds_and_leaves_the_options_of_the_recipe() {
        let recipe = "[[export]]\nkind = \"relief\"\npalette = \"arid\"\n[[export]]\nkind = \"r16\"\nsea_floor = false\n";
        let found = exports(recipe).unwrap();
        let kinds = vec![kind("relief"), kind("png16"), kind("png16")];
        let changed = found.clone().changed(&ExportChanges { kinds, no_sea_floor: true });
        let wanted = "[[export]]\nkind = \"png16\"\nsea_floor = false\n[[export]]\nkind = \"relief\"\npalette = \"arid\"\n";
        assert_eq!(changed, exports(wanted).unwrap());
        assert_ne!(changed, exports(&wanted.replace("false", "true")).unwrap());
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
            "[[export]]\nkind = \"fragment\"\nbits = 3\n",
            "r.toml:3:1: export: bits: the kind \"fragment\" has no options",
        );
        wrong("[[export]]\nkind = \"ascii\"\n[[export]]\nkind = \"ascii\"\n", "r.toml:4:1");
        wrong("[[export]]\nkind = \"r16\"\n[[export]]\nkind = \"r16\"\n", "r.toml:4:1");
    }
}
