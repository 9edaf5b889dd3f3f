//! `splat`: the weights of ground materials as `splat_1.png` and so on, four to a file.

use orogen_core::{LayerName, Raster, Terrain, Weight, weights};
use orogen_io::png8;
use rayon::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Export, Facts, Land, Output, PartNames};
use crate::error::BuildError;

const ABOUT: &str = "splat.json";

fn file_name(file: usize) -> String {
    format!("splat_{}.png", file + 1)
}

/// The weights of ground materials as `splat_1.png` and so on, four materials to an RGBA picture, and `splat.json`, which says what each
/// channel holds. The bytes of all files sum to 255 at every sample.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Splat {}

/// The materials of a terrain, in the order of their names.
fn members(terrain: &Terrain) -> Vec<(&LayerName, &Raster<Weight>)> {
    weights::families(terrain.layers()).remove("material").unwrap_or_default()
}

/// What a channel holds: the name of the material.
fn word(name: &LayerName) -> &str {
    name.as_str().strip_prefix("material.").unwrap_or(name.as_str())
}

impl Export for Splat {
    const NAME: &'static str = "splat";
    const UNASKED: bool = true;

    fn file_names(&self, parts: &PartNames<'_>) -> Vec<String> {
        let count = parts.layers.iter().filter(|name| name.family() == "material").count();
        if count == 0 {
            return Vec::new();
        }
        (0..count.div_ceil(4)).map(file_name).chain([ABOUT.to_owned()]).collect()
    }

    fn write(&self, land: &Land<'_>, out: &Output<'_>) -> Result<(), BuildError> {
        let members = members(land.terrain());
        if members.is_empty() {
            out.warn(String::from("splat: the land has no materials; add a step cover.materials"));
            return Ok(());
        }
        let groups: Vec<&[(&LayerName, &Raster<Weight>)]> = members.chunks(4).collect();
        groups.par_iter().enumerate().try_for_each(|(file, group)| {
            let (cols, rows) = (land.frame().cols(), land.frame().rows());
            let mut bytes = Raster::filled(cols, rows, [0u8; 4]);
            bytes.par_rows(|row, samples| {
                for (channel, (_, raster)) in group.iter().enumerate() {
                    let pairs = samples.iter_mut().zip(raster.row(row));
                    pairs.for_each(|(sample, weight)| sample[channel] = weight.0);
                }
            });
            out.write(&file_name(file), &Facts::default(), |out| png8::write_four(&bytes, out))?;
            Ok::<(), BuildError>(())
        })?;
        let channels: Vec<serde_json::Value> = (groups.iter().enumerate())
            .map(|(file, group)| {
                let of = |i: usize| group.get(i).map(|(name, _)| word(name));
                let [red, green, blue, alpha] = [0, 1, 2, 3].map(of);
                serde_json::json!({ "file": file_name(file), "red": red, "green": green, "blue": blue, "alpha": alpha })
            })
            .collect();
        let about = serde_json::json!({ "sum": weights::WHOLE, "files": channels });
        let mut text = serde_json::to_vec_pretty(&about).unwrap_or_default();
        text.push(b'\n');
        out.write(ABOUT, &Facts::default(), |out| std::io::Write::write_all(out, &text))?;
        Ok(())
    }
}
