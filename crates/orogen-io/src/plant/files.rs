//! Plants as glb files, with their pictures inside.

use crate::model::{self, Image, Material, Model, Node, Part};
use crate::png8;
use orogen_core::Raster;
use orogen_flora::{LeafMaps, Mesh, PlantMesh, Surface, levels, surface};
use orogen_texture::color::{from_srgb, to_srgb};
use orogen_texture::normal;
use serde_json::json;

use super::{Fineness, Plant};

/// Levels of detail that plants have.
pub const LEVELS: u8 = 4;

/// What a file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlantFile {
    /// One mesh.
    One(Fineness),
    /// All levels of detail, as `MSFT_lod`.
    Levels,
}

/// Samples along a side of the pictures, by level of detail: coarser ones are seen from afar.
const PICTURE: [usize; LEVELS as usize] = [512, 256, 128, 64];

/// Shares of the picture's height from which levels are drawn: the last however small it is.
const COVERAGE: [f32; LEVELS as usize] = [0.45, 0.2, 0.08, 0.0];

/// A plant as a glb file: y up, metres, its foot at the origin.
///
/// # Errors
/// When it has no surface at all, or too much of it for a file.
pub fn plant_glb(plant: &Plant, name: &str, what: PlantFile) -> Result<Vec<u8>, String> {
    let pictures = surface(&plant.species, plant.growth.season, PICTURE[0]);
    match what {
        PlantFile::One(Fineness::Level(level)) => {
            let level = level.min(LEVELS - 1);
            level_glb(plant, name, &pictures, level, plant.mesh(Fineness::Level(level)))
        }
        PlantFile::One(Fineness::Full) => {
            let mesh = plant.mesh(Fineness::Full);
            glb(plant, &pictures, PICTURE[0], &[(format!("{name}_full"), mesh)])
        }
        PlantFile::Levels => {
            let meshes = (0..LEVELS).map(|level| (level, plant.mesh(Fineness::Level(level))));
            levels_glb(plant, name, &pictures, meshes)
        }
    }
}

/// The file of one level of detail, whose pictures are as fine as it needs.
fn level_glb(
    plant: &Plant,
    name: &str,
    pictures: &Surface,
    level: u8,
    mesh: PlantMesh,
) -> Result<Vec<u8>, String> {
    glb(plant, pictures, PICTURE[usize::from(level)], &[(format!("{name}_LOD{level}"), mesh)])
}

fn levels_glb(
    plant: &Plant,
    name: &str,
    pictures: &Surface,
    meshes: impl Iterator<Item = (u8, PlantMesh)>,
) -> Result<Vec<u8>, String> {
    let named: Vec<_> = meshes.map(|(level, mesh)| (format!("{name}_LOD{level}"), mesh)).collect();
    glb(plant, pictures, PICTURE[0], &named)
}

/// All models of a plant by the names of their files: each level of detail, `NAME_LOD0.glb` and so on, and `NAME.glb` with all of
/// them. The pictures on it are made once. `write` gets one after the other and ends the work by refusing
/// one; `failed` makes an error of a sentence.
///
/// # Errors
/// When the plant has no surface at all, or too much of it for a file, and what `write` says.
pub fn plant_models<E>(
    plant: &Plant,
    name: &str,
    failed: impl Fn(String) -> E,
    mut write: impl FnMut(&str, &[u8]) -> Result<(), E>,
) -> Result<(), E> {
    let pictures = surface(&plant.species, plant.growth.season, PICTURE[0]);
    let mut meshes = Vec::new();
    for level in 0..LEVELS {
        let mesh = plant.mesh(Fineness::Level(level));
        let bytes = level_glb(plant, name, &pictures, level, mesh.clone()).map_err(&failed)?;
        write(&model_name(name, Some(level)), &bytes)?;
        meshes.push((level, mesh));
    }
    let bytes = levels_glb(plant, name, &pictures, meshes.into_iter()).map_err(&failed)?;
    write(&model_name(name, None), &bytes)
}

/// The names of the files of [`plant_models`].
pub fn model_names(name: &str) -> impl Iterator<Item = String> {
    (0..LEVELS).map(Some).chain([None]).map(move |level| model_name(name, level))
}

fn model_name(name: &str, level: Option<u8>) -> String {
    level.map_or_else(|| format!("{name}.glb"), |level| format!("{name}_LOD{level}.glb"))
}

/// Meshes with the pictures that they share.
fn glb(
    plant: &Plant,
    pictures: &Surface,
    size: usize,
    meshes: &[(String, PlantMesh)],
) -> Result<Vec<u8>, String> {
    let (images, materials) = looks(pictures, size)?;
    let lights: Vec<[Vec<[u8; 3]>; 2]> =
        meshes.iter().map(|(_, mesh)| [light(&mesh.bark), light(&mesh.leaves)]).collect();
    let sways: Vec<[Vec<[u8; 4]>; 2]> =
        meshes.iter().map(|(_, mesh)| [sway(&mesh.bark), sway(&mesh.leaves)]).collect();
    let nodes = meshes
        .iter()
        .enumerate()
        .map(|(i, (name, mesh))| {
            let part =
                |mesh, material: usize| part(mesh, &lights[i][material], &sways[i][material], material);
            let mut parts = vec![part(&mesh.bark, 0)];
            if materials.len() > 1 {
                parts.push(part(&mesh.leaves, 1));
            }
            Node { name: name.clone(), parts, coverage: COVERAGE[i] }
        })
        .collect();
    let extras = json!({
        "unit": "m",
        "species": plant.species.name,
        "age": plant.growth.age,
        "vigour": plant.growth.vigour,
        "season": plant.growth.season,
        "bark_m": pictures.bark.size_m,
        "_SWAY": "stiffness, phase, flutter, branch (modulo 256)",
        "COLOR_0": "light of the sky that comes through the leaves, times the colour of twigs",
    });
    model::encode(&Model { images, materials, nodes, extras })
}

fn part<'a>(mesh: &'a Mesh, light: &'a [[u8; 3]], sway: &'a [[u8; 4]], material: usize) -> Part<'a> {
    Part {
        positions: &mesh.positions,
        normals: &mesh.normals,
        uvs: &mesh.uvs,
        light,
        sway,
        indices: &mesh.indices,
        material,
    }
}

/// What colours are multiplied by: never black, as the sun comes in too.
fn light(mesh: &Mesh) -> Vec<[u8; 3]> {
    let colored = mesh.sway.iter().enumerate().map(|(corner, sway)| {
        let light = 0.4 + 0.6 * f32::from(sway[3]) / 255.0;
        let tint = mesh.tints.get(corner).copied().unwrap_or([255; 3]);
        tint.map(|tint| (light * f32::from(tint)).round() as u8)
    });
    colored.collect()
}

/// The light is in the colours already; its byte tells branches apart.
fn sway(mesh: &Mesh) -> Vec<[u8; 4]> {
    mesh.sway
        .iter()
        .zip(&mesh.branches)
        .map(|(&[stiffness, phase, flutter, _], &branch)| [stiffness, phase, flutter, branch as u8])
        .collect()
}

/// Pictures and materials: of bark, then of leaves.
fn looks(surface: &Surface, size: usize) -> Result<(Vec<Image>, Vec<Material>), String> {
    let bark = &surface.bark;
    let steps = (bark.size / size).max(1);
    let side = bark.size / steps;
    // Two bits less: nobody sees it on bark, and files are a third smaller.
    let color = block_means(&bark.albedo, bark.size, steps, |c| from_srgb(*c))
        .into_iter()
        .map(|c| [0, 1, 2].map(|k| (c[k] * surface.bark_gain[k]).min(1.0)))
        .map(|c| to_srgb(c).map(|byte| (byte.saturating_add(1) & !3) | 1));
    let color = image("bark color", side, color.collect())?;
    // Normals are smoother than colours: half as many samples show them.
    let normals = block_means(&bark.normal, bark.size, 2 * steps, |n| *n).into_iter().map(bytes_of);
    let normals = image("bark normal", side / 2, normals.collect())?;
    let roughness = bark.roughness.mean() as f32;
    let mut images = vec![color, normals];
    let mut materials = vec![Material {
        name: String::from("bark"),
        color: 0,
        normal: 1,
        roughness,
        cut: false,
        through: None,
    }];
    if let Some(leaves) = &surface.leaves {
        let of_size = |wanted: usize| -> LeafMaps {
            levels(leaves).into_iter().find(|level| level.size <= wanted).unwrap_or_else(|| leaves.clone())
        };
        let maps = of_size(size);
        let through = of_size(size / 2);
        images.push(image("leaves color", maps.size, maps.albedo)?);
        images.push(image("leaves normal", maps.size, maps.normal.iter().map(|&n| bytes_of(n)).collect())?);
        images.push(image(
            "leaves translucency",
            through.size,
            through.translucency.iter().map(|&t| [255, t]).collect(),
        )?);
        materials.push(Material {
            name: String::from("leaves"),
            color: 2,
            normal: 3,
            roughness: maps.roughness,
            cut: true,
            through: Some(4),
        });
    }
    Ok((images, materials))
}

/// Means of blocks of `step` by `step` samples.
fn block_means<T>(samples: &[T], size: usize, step: usize, f: impl Fn(&T) -> [f32; 3]) -> Vec<[f32; 3]> {
    let side = size / step;
    let share = 1.0 / (step * step) as f32;
    (0..side * side)
        .map(|i| {
            let first = i / side * step * size + i % side * step;
            let mut sum = [0.0; 3];
            for k in 0..step * step {
                let sample = f(&samples[first + k / step * size + k % step]);
                sum = [0, 1, 2].map(|axis| sum[axis] + share * sample[axis]);
            }
            sum
        })
        .collect()
}

/// A normal as bytes whose lowest bit is left out: nobody sees it, and files are a fifth smaller.
fn bytes_of(direction: [f32; 3]) -> [u8; 3] {
    normal::bytes(normal::unit(direction)).map(|byte| byte & !1)
}

fn image<const N: usize>(name: &str, size: usize, samples: Vec<[u8; N]>) -> Result<Image, String> {
    let raster: Option<Raster<[u8; N]>> = Raster::from_vec(size, size, samples);
    let raster = raster.ok_or_else(|| format!("the picture of {name} is not square"))?;
    Ok(Image { name: name.to_owned(), png: png8::encode_small(&raster) })
}
