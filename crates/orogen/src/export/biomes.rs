//! `biomes`: `biomes.png`, a map of biomes, with its legend as a picture and as a table.

use std::io::Write as _;

use orogen_core::biome::Biome;
use orogen_core::{Raster, Seed, layer};
use orogen_io::{plot, png8};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Export, Facts, Land, Output, PartNames};
use crate::error::BuildError;

const FILES: [&str; 3] = ["biomes.png", "biomes_legend.png", "biomes.json"];

/// `biomes.png`, the map of biomes, a pixel a sample; its legend as `biomes_legend.png`, and with numbers and areas as `biomes.json`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Biomes {
    /// Names and colours of biomes of the recipe's own (see `cover.biomes`), and other colours for known ones.
    #[schemars(length(max = 256))]
    pub own: Vec<Shown>,
}

/// How a biome is shown.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Shown {
    /// Its number.
    #[schemars(range(min = 0, max = 255))]
    pub id: u8,
    /// Its name.
    #[schemars(length(max = 40))]
    pub name: String,
    /// Its colour: red, green and blue, 0 to 255.
    #[schemars(inner(range(min = 0, max = 255)))]
    pub color: [u8; 3],
}

impl Biomes {
    /// The name and the colour of a biome.
    fn shown(&self, id: u8) -> (String, [u8; 3]) {
        if let Some(own) = self.own.iter().find(|own| own.id == id) {
            return (own.name.clone(), own.color);
        }
        match Biome::from_id(id) {
            Some(biome) => (biome.info().name.to_owned(), biome.info().color),
            // A number that nothing is known of still has a colour of its own.
            None => {
                let bits = Seed(u64::from(id)).bits(0);
                (format!("biome {id}"), [0, 8, 16].map(|shift| 96 + ((bits >> shift) & 127) as u8))
            }
        }
    }
}

impl Export for Biomes {
    const NAME: &'static str = "biomes";

    fn file_names(&self, parts: &PartNames<'_>) -> Vec<String> {
        if parts.has_layer(&layer::BIOME.name()) { FILES.map(str::to_owned).to_vec() } else { Vec::new() }
    }

    fn write(&self, land: &Land<'_>, out: &Output<'_>) -> Result<(), BuildError> {
        let Ok(biomes) = land.terrain().get(layer::BIOME) else {
            out.warn(String::from("biomes: the land has no biomes; add a step cover.biomes"));
            return Ok(());
        };
        let counts = counts(biomes);
        let shown: Vec<(String, [u8; 3])> = (0..=255).map(|id| self.shown(id)).collect();
        let picture = biomes.map(|id| shown[usize::from(id)].1);
        out.write(FILES[0], &Facts::default(), |out| png8::write_picture(&picture, out))?;
        let [dx, dy] = land.frame().spacing_m();
        let all = biomes.as_slice().len() as f64;
        let (mut lines, mut table) = (Vec::new(), Vec::new());
        for (id, &count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            let (name, color) = &shown[id];
            let share = count as f64 / all;
            lines.push((*color, format!("{name}, {:.1} %", 100.0 * share)));
            table.push(serde_json::json!({
                "id": id, "name": name, "color": color, "share": share, "area_m2": count as f64 * dx * dy,
            }));
        }
        let legend = plot::legend(&lines);
        out.write(FILES[1], &Facts::default(), |out| png8::write_picture(&legend, out))?;
        let mut text = serde_json::to_vec_pretty(&serde_json::json!({ "biomes": table })).unwrap_or_default();
        text.push(b'\n');
        out.write(FILES[2], &Facts::default(), |out| out.write_all(&text))?;
        Ok(())
    }
}

fn counts(biomes: &Raster<u8>) -> [u64; 256] {
    let mut counts = [0; 256];
    biomes.as_slice().iter().for_each(|id| counts[usize::from(*id)] += 1);
    counts
}
