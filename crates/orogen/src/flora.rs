//! Plants: from the name of a species to meshes, files and pictures.

use std::path::Path;

use orogen_core::Seed;
use orogen_core::param::nearest;
use orogen_flora::{CATALOG, Entry, GrowError, Species, from_arbaro, grow, grow_within, species};
use orogen_io::png8::Picture;
use orogen_io::{read_bytes, sheet};
use rayon::prelude::*;
use serde::Serialize;

use crate::error::BuildError;

pub use orogen_flora::{Form, Growth, Mesh, PlantMesh, Season, names};
pub use orogen_io::plant::{
    Fineness, LEVELS, Plant, PlantFile, impostor_names, model_names, plant_models, portrait,
};

/// A plant as a glb file: y up, metres, its foot at the origin.
///
/// # Errors
/// When it has no surface at all, or too much of it for a file.
pub fn plant_glb(plant: &Plant, name: &str, what: PlantFile) -> Result<Vec<u8>, BuildError> {
    orogen_io::plant::plant_glb(plant, name, what).map_err(BuildError::Write)
}

/// The impostor of a plant as files by their names: pictures of colour, normals and depth, and a JSON that says what they mean.
///
/// # Errors
/// When the plant has no surface.
pub fn plant_impostor(plant: &Plant, name: &str, form: Form) -> Result<Vec<(String, Vec<u8>)>, BuildError> {
    orogen_io::plant::impostor_files(plant, name, form).map_err(BuildError::Write)
}

/// Grows a plant from a seed of any text. Its species is one of the program's, by its name, or the user's own: a file, by a path
/// that ends in `.toml` or `.xml` (as Arbaro writes it).
///
/// # Errors
/// When there is no such species (the sentence says which name is most like it) or file, the file holds no species, or age or
/// vigour lie outside 0 to 1.
pub fn plant(name: &str, seed: &str, growth: Growth) -> Result<Plant, BuildError> {
    let of_file = |e: String| BuildError::Read { path: name.into(), reason: e };
    let seed = Seed::from_text(seed);
    let wrong = |e: GrowError| match e {
        GrowError::Species(e) => BuildError::Call(e.to_string()),
        other => BuildError::Call(format!("{name}: {other}")),
    };
    let (species, skeleton) = if is_file_name(name) {
        let species = species_in_file(Path::new(name))?.at(&growth).map_err(|e| of_file(e.to_string()))?;
        let skeleton = grow_within(&species, seed, MOST_OF_A_STRANGER);
        (species, skeleton.map_err(|e| of_file(e.to_string()))?)
    } else {
        let species = species_named(name)?.at(&growth).map_err(|e| BuildError::Call(e.to_string()))?;
        let skeleton = grow(&species, seed).map_err(wrong)?;
        (species, skeleton)
    };
    Ok(Plant { species, growth, skeleton })
}

/// Largest file of a species, in bytes.
const MOST_BYTES: u64 = 1 << 20;
/// Most stems and leaves of a plant whose species a stranger made.
const MOST_OF_A_STRANGER: usize = 1_000_000;

/// Whether what names a species is a file.
fn is_file_name(name: &str) -> bool {
    ends_with(name, "toml") || ends_with(name, "xml")
}

fn ends_with(name: &str, end: &str) -> bool {
    Path::new(name).extension().is_some_and(|found| found.eq_ignore_ascii_case(end))
}

/// What files of a plant are called: its species' name, or that of the species' file without its end.
#[must_use]
pub fn plant_name(species: &str) -> String {
    let stem = Path::new(species).file_stem().filter(|_| is_file_name(species));
    stem.map_or_else(|| species.to_owned(), |stem| stem.to_string_lossy().into_owned())
}

/// A species in a file of the user's: TOML, or XML as the program Arbaro writes it.
///
/// # Errors
/// When there is no such regular file, it is too large or holds no species; the sentence says in which line.
pub fn species_in_file(path: &Path) -> Result<Species, BuildError> {
    let wrong = |reason: String| BuildError::Read { path: path.to_owned(), reason };
    let bytes = read_bytes(path, MOST_BYTES).map_err(wrong)?;
    let text = String::from_utf8(bytes).map_err(|_| wrong(String::from("it is not text (UTF-8)")))?;
    let read = if ends_with(&path.to_string_lossy(), "xml") { from_arbaro } else { Species::from_toml };
    read(&text).map_err(|e| wrong(e.to_string()))
}

/// A species that comes with the program.
///
/// # Errors
/// When there is none of that name.
pub fn species_named(name: &str) -> Result<Species, BuildError> {
    match species(name) {
        Some(Ok(species)) => Ok(species),
        Some(Err(e)) => Err(BuildError::Internal(format!("species {name}: {e}"))),
        None => {
            let hint = nearest(&name.to_lowercase(), names())
                .map_or(String::new(), |n| format!("; did you mean {n:?}?"));
            Err(BuildError::Call(format!("no such species {name:?}{hint}")))
        }
    }
}

/// How high a plant reaches with its leaves, and a stone with all it is made of.
#[must_use]
pub fn height_m(plant: &Plant) -> f32 {
    let mesh = plant.mesh(Fineness::Level(LEVELS - 1));
    let corners = mesh.bark.positions.iter().chain(&mesh.leaves.positions);
    corners.map(|at| at[2]).fold(0.0, f32::max)
}

/// Pixels along a side of a plant on the sheet.
const SHEET_PX: usize = 360;
const SHEET_COLUMNS: usize = 7;

/// A picture of all species side by side, each grown up, with its name and height.
///
/// # Errors
/// When age or vigour lie outside 0 to 1.
pub fn plant_sheet(seed: &str, growth: Growth) -> Result<Picture, BuildError> {
    let all: Vec<&str> = names().collect();
    let pictures: Vec<(String, Picture)> = all
        .par_iter()
        .map(|name| {
            let plant = plant(name, seed, growth)?;
            let height = height_m(&plant);
            let digits = if height < 1.0 { 2 } else { 1 };
            let text = format!("{} {height:.digits$} m", name.replace('_', " "));
            Ok((text, portrait(&plant, SHEET_PX)))
        })
        .collect::<Result<_, BuildError>>()?;
    Ok(sheet::sheet(&pictures, SHEET_COLUMNS))
}

/// What a list of species says of one.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Outlook {
    /// Its name.
    pub name: &'static str,
    /// What it looks like, in a sentence.
    pub about: String,
    /// Heights of grown plants.
    pub height_range_m: [f64; 2],
    /// Whether it keeps its leaves in winter.
    pub evergreen: bool,
    /// How its bark is built.
    pub bark: &'static str,
    /// What its leaves look like, if it has any.
    pub leaves: Option<&'static str>,
}

/// All species.
///
/// # Errors
/// When the file of one is not sound, which a test rules out.
pub fn outlooks() -> Result<Vec<Outlook>, BuildError> {
    CATALOG
        .iter()
        .map(|Entry { name, text }| {
            let species = species_named(name)?;
            // The comment that its file begins with.
            let about = text.lines().map_while(|line| line.strip_prefix('#')).map(str::trim);
            Ok(Outlook {
                name,
                about: about.collect::<Vec<_>>().join(" "),
                height_range_m: species.life.height_range_m,
                evergreen: species.life.evergreen,
                bark: species.bark_kind.name(),
                leaves: (species.leaves.count != 0).then(|| species.leaves.outline().name()),
            })
        })
        .collect()
}
