//! `relief`: `relief.png`, a picture of the land, and one of each snapshot of it, `film_1.png` and so on.

use orogen_core::{Terrain, layer};
use orogen_io::png8;
use orogen_io::relief::{self, ReliefStyle};
use rayon::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Export, Facts, Land, Output, PartNames, film};
use crate::error::BuildError;

const FILE: &str = "relief.png";

fn film_name(shot: u32) -> String {
    format!("film_{shot}.png")
}

/// `relief.png`, and `film_1.png` and so on where there are snapshots.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Relief(
    /// How the picture is drawn.
    pub ReliefStyle,
);

impl Export for Relief {
    const NAME: &'static str = "relief";
    const UNASKED: bool = true;

    fn file_names(&self, parts: &PartNames<'_>) -> Vec<String> {
        if !parts.has_layer(&layer::HEIGHT.name()) {
            return Vec::new();
        }
        let shots = film::shots(parts.layers.iter()).into_iter().map(film_name);
        std::iter::once(FILE.to_owned()).chain(shots).collect()
    }

    fn write(&self, land: &Land<'_>, out: &Output<'_>) -> Result<(), BuildError> {
        let terrain = land.terrain();
        if !terrain.layers().contains_key(&layer::HEIGHT.name()) {
            return Ok(());
        }
        let shots = film::shots(terrain.layers().keys());
        std::iter::once(None)
            .chain(shots.into_iter().map(Some))
            .collect::<Vec<_>>()
            .into_par_iter()
            .try_for_each(|shot| match shot {
                None => self.draw(terrain, FILE, out),
                Some(shot) => match film::land_at(terrain, shot) {
                    Some(then) => self.draw(&then, &film_name(shot), out),
                    None => Ok(()),
                },
            })
    }
}

impl Relief {
    fn draw(&self, land: &Terrain, file: &str, out: &Output<'_>) -> Result<(), BuildError> {
        let picture = relief::render_unless_cancelled(land, &self.0, out.cancel())?;
        out.write(file, &Facts::default(), |out| png8::write_picture(&picture, out))?;
        Ok(())
    }
}
