//! Impostors as files: three pictures and what they mean.

use orogen_core::Raster;
use orogen_flora::{Form, IMPOSTOR_LEVEL, Impostor, impostor, surface};
use serde_json::json;

use super::{Fineness, Plant};
use crate::png8;

/// Samples along a side of a frame.
const SAMPLES: usize = 128;
/// Samples along a side of the pictures on leaves and bark that frames are drawn from.
const SURFACE: usize = 256;
/// The picture that the distances of the fade are given for.
const PICTURE: (usize, f64) = (1080, 60.0);

/// The names of the files of an impostor: pictures of colour, normals and depth, and what they mean.
#[must_use]
pub fn impostor_names(name: &str) -> [String; 4] {
    ["_color.png", "_normal.png", "_depth.png", ".json"].map(|end| format!("{name}{end}"))
}

/// The files of a plant's impostor by their names: `NAME_color.png`, `NAME_normal.png`, `NAME_depth.png` and `NAME.json`.
///
/// # Errors
/// When the plant has no surface.
pub fn impostor_files(plant: &Plant, name: &str, form: Form) -> Result<Vec<(String, Vec<u8>)>, String> {
    let mesh = plant.mesh(Fineness::Level(IMPOSTOR_LEVEL));
    let pictures = surface(&plant.species, plant.growth.season, SURFACE);
    let made = impostor(&mesh, &pictures, form, SAMPLES).map_err(|e| e.to_string())?;
    let [color, normal, depth, json] = impostor_names(name);
    let about = about(plant, &made, [&color, &normal, &depth]);
    let depths = made.depth.iter().map(|&depth| [depth]).collect();
    Ok(vec![
        (color, png(&made, made.color.clone())?),
        (normal, png(&made, made.normal.clone())?),
        (depth, png(&made, depths)?),
        (json, format!("{about:#}\n").into_bytes()),
    ])
}

fn png<const N: usize>(made: &Impostor, samples: Vec<[u8; N]>) -> Result<Vec<u8>, String> {
    let [across, down] = made.form.layout().map(|frames| frames * made.samples);
    let raster = Raster::from_vec(across, down, samples).ok_or("the pictures do not fill the atlas")?;
    Ok(png8::encode_small(&raster))
}

fn about(plant: &Plant, made: &Impostor, [color, normal, depth]: [&str; 3]) -> serde_json::Value {
    let (height_px, field_deg) = PICTURE;
    let fade = made.fade(height_px, field_deg);
    let quads = made.mesh();
    let frames: Vec<_> = made
        .frames
        .iter()
        .zip(&made.reliefs)
        .map(|(frame, relief)| {
            json!({
                "back": frame.back, "right": frame.right, "up": frame.up,
                "spread": relief.spread, "gains": relief.gains,
            })
        })
        .collect();
    json!({
        "species": plant.species.name,
        "season": plant.growth.season,
        "form": made.form.name(),
        "files": { "color": color, "normal": normal, "depth": depth },
        "axes": "x east, y north, z up; metres; the foot at the origin",
        "color": "sRGB without sun and sky, and coverage; not multiplied",
        "normal": "mean normal, 0 is -1 and 255 is 1, shorter where normals differ; alpha is the share of light that shines through",
        "depth": "0 is half_depth_m nearer to the viewer than the middle, 255 as much farther",
        "samples": made.samples,
        "layout": made.form.layout(),
        "middle_m": made.middle,
        "half_m": made.half_m,
        "half_depth_m": made.half_depth_m,
        "replaces_level": IMPOSTOR_LEVEL,
        "fade": {
            "near_m": fade.near_m, "far_m": fade.far_m,
            "for": { "picture_height_px": height_px, "field_of_view_deg": field_deg },
        },
        "quads": { "positions": quads.positions, "uvs": quads.uvs, "indices": quads.indices },
        "frames": frames,
    })
}
