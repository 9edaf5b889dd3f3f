//! `plants`: the species that grow on a land as models and impostors, in the folder `plants`.

use orogen_core::Terrain;
use orogen_flora::{Form, Growth, Season, names};
use orogen_io::plant::{impostor_files, impostor_names, model_names, plant_models};
use rayon::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Export, Facts, Land, Output, PartNames};
use crate::error::BuildError;
use crate::flora::plant;

/// Where the files go.
const FOLDER: &str = "plants";

/// The species that grow on the land as models: `plants/<species>_LOD0.glb` (about 60,000 triangles) to `_LOD3.glb` (about 800),
/// and `plants/<species>.glb` with all four levels (MSFT_lod). Each is one plant in its prime, grown from the world seed; the
/// table of `instances` says where they stand, how large and how old.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Plants {
    /// The time of the year.
    pub season: Season,
    /// Whether impostors lie beside them, pictures from 64 sides that stand in for a plant far away: `plants/<species>_impostor.json`
    /// and three PNG.
    pub impostors: bool,
}

impl Default for Plants {
    fn default() -> Self {
        Self { season: Season::Summer, impostors: true }
    }
}

impl Plants {
    fn files_of(&self, species: &str) -> Vec<String> {
        let impostors = self.impostors.then(|| impostor_names(&impostor(species)));
        let files = model_names(species).chain(impostors.into_iter().flatten());
        files.map(|file| format!("{FOLDER}/{file}")).collect()
    }
}

fn impostor(species: &str) -> String {
    format!("{species}_impostor")
}

/// Whether the program knows what it looks like.
fn is_known(species: &str) -> bool {
    names().any(|name| name == species)
}

/// The species that grow on a land: of what stands on it where that is known, else those with a density above zero anywhere.
#[must_use]
pub fn species_of(terrain: &Terrain) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for things in terrain.instances().values() {
        let mut used = vec![false; things.species().len()];
        for (_, thing) in things.iter() {
            if let Some(used) = used.get_mut(usize::from(thing.species)) {
                *used = true;
            }
        }
        let used = things.species().iter().zip(used).filter(|(_, used)| *used);
        found.extend(used.map(|(name, _)| name.clone()));
    }
    if found.is_empty() {
        let densities = terrain.layers().iter().filter_map(|(name, data)| {
            let species = name.as_str().strip_prefix("density.")?;
            let grows = data.range().is_some_and(|(_, most)| most > 0.0);
            grows.then(|| species.to_owned())
        });
        found.extend(densities);
    }
    found.sort_unstable();
    found.dedup();
    found
}

impl Export for Plants {
    const NAME: &'static str = "plants";

    fn refuses(&self, _: &orogen_core::Frame, parts: &PartNames<'_>) -> Option<String> {
        let none = parts.species.is_empty() && parts.instances.is_empty();
        none.then(|| String::from("no plants grow here: add a step cover.scatter or cover.survival"))
    }

    fn file_names(&self, parts: &PartNames<'_>) -> Vec<String> {
        let known = parts.species.iter().filter(|name| is_known(name));
        known.flat_map(|name| self.files_of(name)).collect()
    }

    fn write(&self, land: &Land<'_>, out: &Output<'_>) -> Result<(), BuildError> {
        let growth = Growth { season: self.season, ..Growth::MATURE };
        species_of(land.terrain()).par_iter().try_for_each(|name| {
            if !is_known(name) {
                out.warn(format!("plants: no species is named {name:?}, so there are no models of it"));
                return Ok(());
            }
            let plant = plant(name, land.seed(), growth)?;
            let write = |file: &str, bytes: &[u8]| {
                let path = format!("{FOLDER}/{file}");
                out.write(&path, &Facts::default(), |out| std::io::Write::write_all(out, bytes)).map(|_| ())
            };
            plant_models(&plant, name, BuildError::Write, write)?;
            if self.impostors {
                let files = impostor_files(&plant, &impostor(name), Form::Octahedral);
                for (file, bytes) in files.map_err(BuildError::Write)? {
                    write(&file, &bytes)?;
                }
            }
            Ok(())
        })
    }
}
