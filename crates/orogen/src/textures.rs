//! Ground textures as files.

use std::path::{Path, PathBuf};

use orogen_core::{Cancel, Raster, Seed};
use orogen_io::png8::Picture;
use orogen_io::{Existing, MANIFEST, OutputFolder, png8, png16, sheet};
use orogen_texture::color::to_srgb;
use orogen_texture::{Detail, Field, Maps, Texture, TextureError, normal, preview};
use serde_json::{Value, json};

use crate::error::BuildError;

/// Which textures to make, and how.
pub struct TextureOptions<'a> {
    /// The textures; an empty list stands for all.
    pub textures: &'a [Texture],
    /// Samples along a side: a power of two from 64 to 2048.
    pub size: usize,
    /// The seed, any text.
    pub seed: &'a str,
    /// Whether to write a picture of all of them side by side.
    pub sheet: bool,
    /// What may happen to files that are there already.
    pub existing: Existing,
    /// A switch to stop the work.
    pub cancel: &'a Cancel,
    /// Called with each texture when it is done.
    pub done: &'a dyn Fn(Texture),
}

/// Pixels along a side of a texture on the sheet, and the tiles it shows.
const SHEET_PX: usize = 384;
const SHEET_TILES: f32 = 3.0;
const SHEET_COLUMNS: usize = 5;
const SHEET: &str = "sheet.png";

/// Makes textures and writes them into a folder, with `manifest.json`: all of them, or none. Files that an earlier run wrote
/// there are replaced unless somebody changed them.
///
/// # Errors
/// When the size does not suit, a file is in the way or cannot be written, or when cancelled.
pub fn save_textures(options: &TextureOptions<'_>, folder: &Path) -> Result<Vec<PathBuf>, BuildError> {
    let textures = if options.textures.is_empty() { Texture::ALL } else { options.textures };
    let mut expected: Vec<String> = textures.iter().flat_map(|&texture| file_names(texture)).collect();
    if options.sheet {
        expected.push(String::from(SHEET));
    }
    expected.push(String::from(MANIFEST));
    let seed = Seed::from_text(options.seed);
    // A size that does not suit is found before the folder is touched.
    Texture::check(options.size)?;
    let output = OutputFolder::with_manifest(folder, options.existing, Vec::new(), &expected)?;
    let (mut files, mut pictures) = (Vec::new(), Vec::new());
    for &texture in textures {
        let maps = texture.make(options.size, seed)?;
        for (name, bytes) in encoded(&maps, options.seed)? {
            if options.cancel.is_cancelled() {
                return Err(BuildError::Cancelled);
            }
            files.push(write(&output, &name, &bytes)?);
        }
        if options.sheet {
            let lit = preview::lit(&maps, SHEET_TILES, SHEET_PX, false);
            pictures.push((texture.name().to_owned(), picture(lit.pixels, lit.rgb)?));
        }
        (options.done)(texture);
    }
    if options.sheet {
        files.push(write(&output, SHEET, &png8::encode(&sheet::sheet(&pictures, SHEET_COLUMNS)))?);
    }
    let mut all = output.kept_entries();
    all.extend(files);
    let manifest = json!({ "orogen": crate::VERSION, "seed": options.seed, "files": all });
    output.write(MANIFEST, &text(&manifest)?)?;
    Ok(output.commit()?)
}

impl From<TextureError> for BuildError {
    fn from(error: TextureError) -> Self {
        Self::Call(error.to_string())
    }
}

fn write(output: &OutputFolder, name: &str, bytes: &[u8]) -> Result<Value, BuildError> {
    let written = output.write(name, bytes)?;
    let sha256: String = written.sha256.iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(json!({ "name": name, "kind": "texture", "sha256": sha256, "bytes": written.bytes }))
}

fn text(value: &Value) -> Result<Vec<u8>, BuildError> {
    serde_json::to_vec_pretty(value).map_err(|e| BuildError::Write(e.to_string()))
}

/// The files of a texture; not all textures have the last one.
fn file_names(texture: Texture) -> Vec<String> {
    let name = texture.name();
    let parts = ["albedo.png", "height.png", "normal.png", "roughness.png", "ao.png", "detail.png"];
    parts.iter().map(|part| format!("{name}_{part}")).chain([format!("{name}.json")]).collect()
}

/// The bytes of the files of a texture.
fn encoded(maps: &Maps, seed: &str) -> Result<Vec<(String, Vec<u8>)>, BuildError> {
    let name = maps.texture.name();
    let raster = |field: &Field| {
        let values = field.as_slice().to_vec();
        Raster::from_vec(field.size(), field.size(), values).ok_or_else(not_square)
    };
    let grey = |field: &Field| {
        let bytes = field.as_slice().iter().map(|v| (v * 255.0).round() as u8).collect();
        let raster: Option<Raster<u8>> = Raster::from_vec(field.size(), field.size(), bytes);
        raster.map(|raster| png8::encode_grey(&raster)).ok_or_else(not_square)
    };
    let normals = maps.normal.iter().map(|&n| normal::bytes(n)).collect();
    let mut files = vec![
        (format!("{name}_albedo.png"), png8::encode(&picture(maps.size, maps.albedo.clone())?)),
        (format!("{name}_height.png"), png16::picture(&raster(&maps.height)?).0),
        (format!("{name}_normal.png"), png8::encode(&picture(maps.size, normals)?)),
        (format!("{name}_roughness.png"), grey(&maps.roughness)?),
        (format!("{name}_ao.png"), grey(&maps.occlusion)?),
    ];
    if let Detail::Pattern(pattern) = &maps.detail {
        let bytes = pattern.factor.iter().map(|f| f.map(|c| (c * 128.0).round().min(255.0) as u8)).collect();
        files.push((format!("{name}_detail.png"), png8::encode(&picture(pattern.size, bytes)?)));
    }
    files.push((format!("{name}.json"), text(&sidecar(maps, seed))?));
    Ok(files)
}

/// What the pictures mean.
fn sidecar(maps: &Maps, seed: &str) -> Value {
    let mean = maps.texture.mean_color();
    let detail = match &maps.detail {
        Detail::Turned { turn_deg, scale } => {
            json!({ "blend": "average", "turn_deg": turn_deg, "scale": scale, "map": format!("{}_albedo.png", maps.texture.name()) })
        }
        Detail::Pattern(pattern) => {
            json!({ "blend": "multiply", "size_m": pattern.size_m, "one": 128, "map": format!("{}_detail.png", maps.texture.name()) })
        }
    };
    json!({
        "name": maps.texture.name(),
        "about": maps.texture.about(),
        "seed": seed,
        "samples": maps.size,
        "size_m": maps.size_m,
        "height_range_m": maps.height_range_m,
        "mean_albedo_linear": mean,
        "mean_albedo_srgb": to_srgb(mean),
        "normal": "x right, y up, z out (OpenGL); 128 is 0",
        "detail": detail,
    })
}

fn picture(size: usize, pixels: Vec<[u8; 3]>) -> Result<Picture, BuildError> {
    Picture::from_vec(size, size, pixels).ok_or_else(not_square)
}

fn not_square() -> BuildError {
    BuildError::Internal(String::from("a map of a texture is not square"))
}
