//! Binary glTF 2.0 of things: meshes with materials and pictures, all in one file; levels of detail as `MSFT_lod`.
//!
//! Coordinates come with z up and leave with y up. What the wind does goes into `_SWAY`, an attribute of four bytes that programs
//! which do not know it ignore.

use std::ops::Range;

use serde_json::{Value, json};

use crate::about::SOFTWARE;

/// A picture.
#[derive(Clone, Debug)]
pub struct Image {
    /// Its name.
    pub name: String,
    /// The bytes of a PNG.
    pub png: Vec<u8>,
}

/// How a surface looks. Pictures are numbers in [`Model::images`].
#[derive(Clone, Debug)]
pub struct Material {
    /// Its name.
    pub name: String,
    /// Colour (sRGB), and coverage where it is cut out.
    pub color: usize,
    /// Normals, y against the rows.
    pub normal: usize,
    /// 0 a mirror, 1 chalk.
    pub roughness: f32,
    /// Whether it is cut out where the colour's alpha is below one half, and seen from both sides.
    pub cut: bool,
    /// The picture whose alpha is the share of light that goes through (`KHR_materials_diffuse_transmission`).
    pub through: Option<usize>,
}

/// Triangles of one material.
#[derive(Clone, Copy, Debug)]
pub struct Part<'a> {
    /// Places in metres, z up.
    pub positions: &'a [[f32; 3]],
    /// Unit normals.
    pub normals: &'a [[f32; 3]],
    /// Places on the pictures, row 0 at v = 0.
    pub uvs: &'a [[f32; 2]],
    /// What colours are multiplied by, or empty.
    pub light: &'a [[u8; 3]],
    /// Four bytes for the wind, or empty.
    pub sway: &'a [[u8; 4]],
    /// Corners of the triangles.
    pub indices: &'a [u32],
    /// Its number in [`Model::materials`].
    pub material: usize,
}

/// Something in the file.
#[derive(Clone, Debug)]
pub struct Node<'a> {
    /// Its name.
    pub name: String,
    /// What it is made of; parts without triangles are left out.
    pub parts: Vec<Part<'a>>,
    /// With levels of detail: the share of the picture's height from which it is drawn.
    pub coverage: f32,
}

/// What a file holds.
#[derive(Clone, Debug)]
pub struct Model<'a> {
    /// Pictures.
    pub images: Vec<Image>,
    /// Materials.
    pub materials: Vec<Material>,
    /// Things. With more than one, the others are levels of detail of the first, ever coarser.
    pub nodes: Vec<Node<'a>>,
    /// What else the file says of itself.
    pub extras: Value,
}

const FLOAT: u32 = 5126;
const UNSIGNED_BYTE: u32 = 5121;
const UNSIGNED_SHORT: u32 = 5123;
const UNSIGNED_INT: u32 = 5125;
const VERTICES: u32 = 34962;
const INDICES: u32 = 34963;

/// The bytes of a file.
///
/// # Errors
/// A sentence, when it would be larger than a glb file can be, or its parts do not fit together.
pub fn encode(model: &Model<'_>) -> Result<Vec<u8>, String> {
    let mut file = File::default();
    let meshes: Vec<Value> = model.nodes.iter().map(|node| file.mesh(node)).collect::<Result<_, _>>()?;
    let images: Vec<Value> = model
        .images
        .iter()
        .map(|image| {
            let view = file.view(None, |bytes| bytes.extend(&image.png));
            json!({ "name": image.name, "mimeType": "image/png", "bufferView": view })
        })
        .collect();
    let textures: Vec<Value> =
        (0..images.len()).map(|image| json!({ "source": image, "sampler": 0 })).collect();
    let (mut used, mut nodes) = (Vec::new(), Vec::new());
    for (number, node) in model.nodes.iter().enumerate() {
        let mut made = json!({ "name": node.name, "mesh": number });
        if number == 0 && model.nodes.len() > 1 {
            let others: Vec<usize> = (1..model.nodes.len()).collect();
            let coverage: Vec<f32> = model.nodes.iter().map(|node| node.coverage).collect();
            made["extensions"] = json!({ "MSFT_lod": { "ids": others } });
            made["extras"] = json!({ "MSFT_screencoverage": coverage });
            used.push("MSFT_lod");
        }
        nodes.push(made);
    }
    if model.materials.iter().any(|material| material.through.is_some()) {
        used.push("KHR_materials_diffuse_transmission");
    }
    let mut document = json!({
        "asset": { "version": "2.0", "generator": SOFTWARE, "extras": model.extras },
        "scene": 0,
        "scenes": [{ "nodes": [0] }],
        "nodes": nodes,
        "meshes": meshes,
        "materials": model.materials.iter().map(material).collect::<Vec<_>>(),
        "textures": textures,
        "images": images,
        // Trilinear, repeating.
        "samplers": [{ "magFilter": 9729, "minFilter": 9987, "wrapS": 10497, "wrapT": 10497 }],
        "accessors": file.accessors,
        "bufferViews": file.views,
        "buffers": [{ "byteLength": file.bytes.len() }],
    });
    if !used.is_empty() {
        document["extensionsUsed"] = json!(used);
    }
    packed(&document, file.bytes)
}

fn material(material: &Material) -> Value {
    let mut made = json!({
        "name": material.name,
        "pbrMetallicRoughness": {
            "baseColorTexture": { "index": material.color },
            "metallicFactor": 0.0,
            "roughnessFactor": material.roughness,
        },
        "normalTexture": { "index": material.normal },
    });
    if material.cut {
        made["alphaMode"] = json!("MASK");
        made["alphaCutoff"] = json!(0.5);
        made["doubleSided"] = json!(true);
    }
    if let Some(image) = material.through {
        made["extensions"] = json!({ "KHR_materials_diffuse_transmission": {
            "diffuseTransmissionFactor": 1.0,
            "diffuseTransmissionTexture": { "index": image },
        }});
    }
    made
}

/// Header, description and data.
fn packed(document: &Value, mut data: Vec<u8>) -> Result<Vec<u8>, String> {
    let mut text = document.to_string().into_bytes();
    while !text.len().is_multiple_of(4) {
        text.push(b' ');
    }
    while !data.len().is_multiple_of(4) {
        data.push(0);
    }
    let whole = 12 + 8 + text.len() + 8 + data.len();
    let size = |bytes: usize| {
        u32::try_from(bytes).map_err(|_| {
            format!("a model of {whole} bytes is too large: a glb file holds at most {}", u32::MAX)
        })
    };
    let mut out = Vec::with_capacity(whole);
    out.extend(b"glTF");
    out.extend(2u32.to_le_bytes());
    out.extend(size(whole)?.to_le_bytes());
    out.extend(size(text.len())?.to_le_bytes());
    out.extend(b"JSON");
    out.extend(text);
    out.extend(size(data.len())?.to_le_bytes());
    out.extend(b"BIN\0");
    out.extend(data);
    Ok(out)
}

/// Corners that indices of 16 bits reach; the largest number means something else to some programs.
const SHORT: usize = 65_534;
/// Meshes of at most so many times as many are written in pieces, whose indices take half the room.
const PIECES: usize = 4;

/// The corners and indices of the pieces of a mesh: runs of triangles that need few enough corners.
fn pieces(indices: &[u32], corners: usize) -> Vec<(Range<usize>, Vec<u32>)> {
    let whole = || vec![(0..corners, indices.to_vec())];
    if corners <= SHORT || corners > PIECES * SHORT {
        return whole();
    }
    let mut made = Vec::new();
    let (mut from, mut low, mut high) = (0, u32::MAX, 0);
    let mut close = |range: Range<usize>, low: u32, high: u32| {
        let own = indices[range].iter().map(|index| index - low).collect();
        made.push((low as usize..high as usize + 1, own));
    };
    for (number, triangle) in indices.chunks_exact(3).enumerate() {
        let (first, last) = triangle.iter().fold((u32::MAX, 0), |(a, b), &i| (a.min(i), b.max(i)));
        if (last - first) as usize >= SHORT {
            // Corners that lie far apart stay together.
            return whole();
        }
        let (lower, higher) = (low.min(first), high.max(last));
        if (higher - lower) as usize >= SHORT {
            close(from..3 * number, low, high);
            (from, low, high) = (3 * number, first, last);
        } else {
            (low, high) = (lower, higher);
        }
    }
    close(from..indices.len(), low, high);
    made
}

impl Part<'_> {
    fn check(&self) -> Result<(), String> {
        let count = self.positions.len();
        let fits = |length: usize| length == 0 || length == count;
        let sound = self.normals.len() == count
            && self.uvs.len() == count
            && fits(self.light.len())
            && fits(self.sway.len())
            && self.indices.len().is_multiple_of(3)
            && self.indices.iter().all(|&i| (i as usize) < count);
        if sound { Ok(()) } else { Err(String::from("the corners of a mesh do not fit together")) }
    }
}

/// The data of a file while it is put together.
#[derive(Default)]
struct File {
    bytes: Vec<u8>,
    views: Vec<Value>,
    accessors: Vec<Value>,
}

impl File {
    fn view(&mut self, target: Option<u32>, write: impl FnOnce(&mut Vec<u8>)) -> usize {
        while !self.bytes.len().is_multiple_of(4) {
            self.bytes.push(0);
        }
        let at = self.bytes.len();
        write(&mut self.bytes);
        let mut view = json!({ "buffer": 0, "byteOffset": at, "byteLength": self.bytes.len() - at });
        if let Some(target) = target {
            view["target"] = json!(target);
        }
        self.views.push(view);
        self.views.len() - 1
    }

    fn accessor(&mut self, description: Value) -> usize {
        self.accessors.push(description);
        self.accessors.len() - 1
    }

    fn floats<const N: usize>(
        &mut self,
        kind: &str,
        values: &[[f32; N]],
        bounds: Option<[[f32; N]; 2]>,
    ) -> usize {
        let view = self.view(Some(VERTICES), |bytes| {
            values.as_flattened().iter().for_each(|v| bytes.extend(v.to_le_bytes()));
        });
        let mut accessor =
            json!({ "bufferView": view, "componentType": FLOAT, "count": values.len(), "type": kind });
        if let Some([low, high]) = bounds {
            accessor["min"] = json!(&low[..]);
            accessor["max"] = json!(&high[..]);
        }
        self.accessor(accessor)
    }

    fn fours(&mut self, values: impl ExactSizeIterator<Item = [u8; 4]>) -> usize {
        let count = values.len();
        let view = self.view(Some(VERTICES), |bytes| values.for_each(|v| bytes.extend(v)));
        self.accessor(json!({
            "bufferView": view, "componentType": UNSIGNED_BYTE, "normalized": true, "count": count, "type": "VEC4",
        }))
    }

    fn indices(&mut self, indices: &[u32], corners: usize) -> usize {
        let short = corners <= SHORT;
        let view = self.view(Some(INDICES), |bytes| {
            for &index in indices {
                if short {
                    bytes.extend((index as u16).to_le_bytes())
                } else {
                    bytes.extend(index.to_le_bytes())
                }
            }
        });
        let kind = if short { UNSIGNED_SHORT } else { UNSIGNED_INT };
        self.accessor(
            json!({ "bufferView": view, "componentType": kind, "count": indices.len(), "type": "SCALAR" }),
        )
    }

    fn mesh(&mut self, node: &Node<'_>) -> Result<Value, String> {
        let mut primitives = Vec::new();
        for part in node.parts.iter().filter(|part| !part.indices.is_empty()) {
            part.check()?;
            for (corners, indices) in pieces(part.indices, part.positions.len()) {
                primitives.push(self.part(part, corners, &indices));
            }
        }
        if primitives.is_empty() {
            return Err(format!("{}: it has no triangles", node.name));
        }
        Ok(json!({ "name": node.name, "primitives": primitives }))
    }

    fn part(&mut self, part: &Part<'_>, corners: Range<usize>, indices: &[u32]) -> Value {
        let turned = |[x, y, z]: [f32; 3]| [x, z, -y];
        let positions: Vec<[f32; 3]> = part.positions[corners.clone()].iter().map(|&p| turned(p)).collect();
        let bound = |pick: fn(f32, f32) -> f32| {
            positions.iter().fold(positions[0], |bound, p| [0, 1, 2].map(|k| pick(bound[k], p[k])))
        };
        let bounds = [bound(f32::min), bound(f32::max)];
        let normals: Vec<[f32; 3]> = part.normals[corners.clone()].iter().map(|&n| turned(n)).collect();
        let mut attributes = json!({
            "POSITION": self.floats("VEC3", &positions, Some(bounds)),
            "NORMAL": self.floats("VEC3", &normals, None),
            "TEXCOORD_0": self.floats("VEC2", &part.uvs[corners.clone()], None),
        });
        if !part.light.is_empty() {
            attributes["COLOR_0"] =
                json!(self.fours(part.light[corners.clone()].iter().map(|&[r, g, b]| [r, g, b, 255])));
        }
        if !part.sway.is_empty() {
            attributes["_SWAY"] = json!(self.fours(part.sway[corners.clone()].iter().copied()));
        }
        let indices = self.indices(indices, corners.len());
        json!({ "attributes": attributes, "indices": indices, "material": part.material })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_the_whole_again() {
        let quads = 20_000u32;
        let indices: Vec<u32> = (0..quads).flat_map(|q| [0, 1, 2, 0, 2, 3].map(|k| 4 * q + k)).collect();
        let made = pieces(&indices, 4 * quads as usize);
        assert_eq!(made.len(), 2);
        let again: Vec<u32> = made
            .iter()
            .flat_map(|(corners, own)| {
                assert!(corners.len() <= SHORT);
                own.iter().map(|&i| i + corners.start as u32)
            })
            .collect();
        assert!(again == indices);
        assert_eq!(pieces(&[0, 70_000, 1, 1, 2, 3], 70_001).len(), 1);
    }

    #[test]
    fn what_does_not_fit_together_is_refused() {
        let (places, uvs) = ([[0.0; 3]; 3], [[0.0; 2]; 3]);
        let mut part = Part {
            positions: &places,
            normals: &places,
            uvs: &uvs,
            light: &[],
            sway: &[],
            indices: &[0, 1, 3],
            material: 0,
        };
        assert!(part.check().is_err());
        part.indices = &[0, 1, 2];
        assert!(part.check().is_ok());
        let empty = Node { name: String::from("air"), parts: Vec::new(), coverage: 1.0 };
        let model =
            Model { images: Vec::new(), materials: Vec::new(), nodes: vec![empty], extras: Value::Null };
        assert_eq!(encode(&model), Err(String::from("air: it has no triangles")));
    }
}
