//! The landscapes that come with Orogen, as recipes to start from.

use orogen_core::param::nearest;
use orogen_core::{Raster, layer};
use orogen_recipe::{Recipe, Unobserved};

use crate::build::{BuildOptions, build};
use crate::error::BuildError;

/// A recipe that comes with Orogen.
#[derive(Clone, Copy, Debug)]
pub struct Preset {
    /// Its name, as [`preset`] takes it.
    pub name: &'static str,
    /// One line about the land it makes.
    pub about: &'static str,
    /// The commented recipe.
    pub text: &'static str,
    /// A place worth a closer look, in metres; none where the land is not natural land.
    pub closer_m: Option<[f64; 2]>,
}

/// All presets; the first is the default.
pub const PRESETS: &[Preset] = &[
    Preset {
        name: "island",
        about: "an island grown from a polygon map: mountains, lakes, rivers, biomes",
        text: include_str!("../../../recipes/island.toml"),
        closer_m: Some([22000.0, 22000.0]),
    },
    Preset {
        name: "alps",
        about: "a mountain range that rose while rivers cut it down, and an ice age that widened its valleys",
        text: include_str!("../../../recipes/alps.toml"),
        closer_m: Some([20000.0, 20000.0]),
    },
    Preset {
        name: "appalachia",
        about: "folded beds worn down to long ridges, with rivers that break through them",
        text: include_str!("../../../recipes/appalachia.toml"),
        closer_m: Some([30000.0, 30000.0]),
    },
    Preset {
        name: "archipelago",
        about: "islands of all sizes in a shallow sea",
        text: include_str!("../../../recipes/archipelago.toml"),
        closer_m: None,
    },
    Preset {
        name: "badlands",
        about: "soft coloured beds cut into a maze of gullies",
        text: include_str!("../../../recipes/badlands.toml"),
        closer_m: Some([4000.0, 4000.0]),
    },
    Preset {
        name: "basin-and-range",
        about: "tilted blocks of rock with dry plains between them",
        text: include_str!("../../../recipes/basin-and-range.toml"),
        closer_m: Some([17000.0, 20000.0]),
    },
    Preset {
        name: "canyon",
        about: "a plateau of level beds that a river has cut to pieces",
        text: include_str!("../../../recipes/canyon.toml"),
        closer_m: Some([18000.0, 20000.0]),
    },
    Preset {
        name: "desert",
        about: "a sea of sand with rocks standing out of it",
        text: include_str!("../../../recipes/desert.toml"),
        closer_m: None,
    },
    Preset {
        name: "fjords",
        about: "mountains by the sea that ice has cut into deep inlets",
        text: include_str!("../../../recipes/fjords.toml"),
        closer_m: Some([25000.0, 30000.0]),
    },
    Preset {
        name: "karst",
        about: "steep limestone towers on a wet green plain",
        text: include_str!("../../../recipes/karst.toml"),
        closer_m: Some([5000.0, 5000.0]),
    },
    Preset {
        name: "karst-coast",
        about: "limestone towers and headlands in a drowned bay",
        text: include_str!("../../../recipes/karst-coast.toml"),
        closer_m: None,
    },
    Preset {
        name: "mediterranean",
        about: "a limestone island in a warm sea, with maquis, pines and olives between its white hills",
        text: include_str!("../../../recipes/mediterranean.toml"),
        closer_m: None,
    },
    Preset {
        name: "planet",
        about: "a small planet as a seamless map of the whole globe",
        text: include_str!("../../../recipes/planet.toml"),
        closer_m: None,
    },
    Preset {
        name: "savanna",
        about: "wide grassland of the dry tropics with hills of bare rock, and woods along its rivers",
        text: include_str!("../../../recipes/savanna.toml"),
        closer_m: None,
    },
    Preset {
        name: "taiga",
        about: "low hills that ice has worn, under spruce and birch, with a lake in every hollow",
        text: include_str!("../../../recipes/taiga.toml"),
        closer_m: None,
    },
    Preset {
        name: "tree-line",
        about: "a mountain side where every tree has grown from a seed, up to where none can",
        text: include_str!("../../../recipes/tree-line.toml"),
        closer_m: None,
    },
    Preset {
        name: "volcanic-chain",
        about: "volcanic islands in a row, with ravines and fallen-in summits",
        text: include_str!("../../../recipes/volcanic-chain.toml"),
        closer_m: Some([8500.0, 12500.0]),
    },
    Preset {
        name: "weiss",
        about: "an island with feature curves, storms, a river source and biomes, after Weiss's \"Procedural Terrain\"",
        text: include_str!("../../../recipes/weiss.toml"),
        closer_m: None,
    },
];

/// A preset by name; blanks and underscores count as hyphens.
///
/// # Errors
/// A sentence that lists the available names.
pub fn preset(name: &str) -> Result<&'static Preset, String> {
    let plain = name.to_lowercase().replace([' ', '_'], "-");
    PRESETS.iter().find(|preset| preset.name == plain).ok_or_else(|| {
        let names: Vec<&str> = PRESETS.iter().map(|preset| preset.name).collect();
        let hint =
            nearest(name, names.iter().copied()).map_or(String::new(), |n| format!("; did you mean {n:?}?"));
        format!("no such preset {name:?}{hint} (available: {})", names.join(", "))
    })
}

impl Preset {
    /// The recipe with another seed; all comments stay.
    #[must_use]
    pub fn with_seed(&self, seed: &str) -> String {
        let mut text = String::with_capacity(self.text.len() + seed.len());
        for line in self.text.split_inclusive('\n') {
            match line.split_once('=') {
                Some((key, rest)) if key.trim() == "seed" => {
                    let comment = rest.find('#').map_or("\n", |at| &rest[at..]);
                    let gap = if comment == "\n" { "" } else { "  " };
                    text.push_str(&format!("{key}= {}{gap}{comment}", toml::Value::String(seed.to_owned())));
                }
                _ => text.push_str(line),
            }
        }
        text
    }

    /// How far a build of few samples along the longer side is from one of many: the root mean square of the difference
    /// in height where both have samples, as a share of the relief.
    ///
    /// # Errors
    /// As [`build()`].
    pub fn preview_error(&self, few: usize, many: usize) -> Result<f64, BuildError> {
        let recipe = Recipe::parse(self.name, self.text.as_bytes())?;
        let height = |samples: usize| -> Result<Raster<f32>, BuildError> {
            let mut options = BuildOptions::default();
            options.overrides.samples = Some(samples);
            let built = build(&recipe, &options, &Unobserved)?;
            let height = built.terrain.get(layer::HEIGHT);
            Ok(height.map_err(|error| BuildError::Call(error.to_string()))?.clone())
        };
        let (coarse, fine) = (height(few)?, height(many)?);
        let step = (fine.cols() - 1) / (coarse.cols() - 1);
        let mut squares = 0.0;
        for row in 0..coarse.rows() {
            for (col, height) in coarse.row(row).iter().enumerate() {
                let off = f64::from(height - fine.row(row * step)[col * step]);
                squares += off * off;
            }
        }
        let (low, high) = fine.range().unwrap_or((0.0, 1.0));
        Ok((squares / coarse.as_slice().len() as f64).sqrt() / f64::from(high - low))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_of_any_text_is_written_safely() {
        for seed in ["42", "two words", "quote \" and \\ slash", "line\nbreak", ""] {
            for preset in PRESETS {
                let table: toml::Table = preset.with_seed(seed).parse().unwrap();
                assert_eq!(table["seed"].as_str(), Some(seed), "preset {}", preset.name);
            }
        }
    }

    #[test]
    fn an_unknown_preset_is_answered_with_the_nearest() {
        assert!(preset("iland").unwrap_err().contains("did you mean \"island\"?"));
        assert_eq!(preset("Karst coast").unwrap().name, "karst-coast");
    }
}
