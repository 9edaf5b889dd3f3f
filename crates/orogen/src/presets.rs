//! The landscapes that come with Orogen, as recipes to start from.

use orogen_core::param::nearest;

/// A recipe that comes with Orogen.
#[derive(Clone, Copy, Debug)]
pub struct Preset {
    /// Its name, as `orogen new --preset` takes it.
    pub name: &'static str,
    /// One line about the land it makes.
    pub about: &'static str,
    /// The commented recipe.
    pub text: &'static str,
}

/// All presets; the first is the default.
pub const PRESETS: &[Preset] = &[
    Preset {
        name: "island",
        about: "an island grown from a polygon map: mountains, lakes, rivers, biomes",
        text: include_str!("../../../recipes/island.toml"),
    },
    Preset {
        name: "alps",
        about: "a mountain range with sharp crests and broad valley floors",
        text: include_str!("../../../recipes/alps.toml"),
    },
    Preset {
        name: "archipelago",
        about: "islands of all sizes in a shallow sea",
        text: include_str!("../../../recipes/archipelago.toml"),
    },
    Preset {
        name: "badlands",
        about: "soft coloured beds cut into a maze of gullies",
        text: include_str!("../../../recipes/badlands.toml"),
    },
    Preset {
        name: "canyon",
        about: "a river canyon with its side canyons in the level beds of a plateau",
        text: include_str!("../../../recipes/canyon.toml"),
    },
    Preset {
        name: "desert",
        about: "a sea of sand with rocks standing out of it",
        text: include_str!("../../../recipes/desert.toml"),
    },
    Preset {
        name: "karst",
        about: "steep limestone towers on a wet green plain",
        text: include_str!("../../../recipes/karst.toml"),
    },
    Preset {
        name: "karst-coast",
        about: "limestone towers and headlands in a drowned bay",
        text: include_str!("../../../recipes/karst-coast.toml"),
    },
    Preset {
        name: "planet",
        about: "a small planet as a seamless map of the whole globe",
        text: include_str!("../../../recipes/planet.toml"),
    },
    Preset {
        name: "volcanic-chain",
        about: "volcanic islands in a row, with ravines, calderas and an atoll",
        text: include_str!("../../../recipes/volcanic-chain.toml"),
    },
];

/// A preset by name; blanks and underscores count as hyphens.
///
/// # Errors
/// A sentence with the names there are.
pub fn preset(name: &str) -> Result<&'static Preset, String> {
    let plain = name.to_lowercase().replace([' ', '_'], "-");
    PRESETS.iter().find(|preset| preset.name == plain).ok_or_else(|| {
        let names: Vec<&str> = PRESETS.iter().map(|preset| preset.name).collect();
        let hint =
            nearest(name, names.iter().copied()).map_or(String::new(), |n| format!("; did you mean {n:?}?"));
        format!("there is no preset {name:?}{hint} (there are: {})", names.join(", "))
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
