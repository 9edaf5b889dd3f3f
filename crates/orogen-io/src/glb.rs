//! Binary glTF 2.0: land as a mesh for engines, Blender and the web.
//!
//! Written by hand: the JSON part is twenty lines of `serde_json`, and the rest is bare numbers that are streamed; the
//! `gltf` crate reads the files back in tests.
//!
//! One node with one mesh of one primitive: positions, normals, one set of texture coordinates (row 0 of a picture is
//! north) and 32-bit indices. The node carries the world position, so that vertices stay exact far from zero.

use std::io::{self, Write};

use serde_json::json;

use crate::about::SOFTWARE;
use crate::mesh::Surface;

/// Bytes of a vertex: position, normal, texture coordinates.
const VERTEX: u64 = 12 + 12 + 8;

/// Why a surface does not fit a file, if it does not: lengths have 32 bits.
#[must_use]
pub fn too_large(vertices: u64, triangles: u64) -> Option<String> {
    // Room for header and JSON.
    let bytes = VERTEX * vertices + 12 * triangles + 4096;
    (bytes > u64::from(u32::MAX)).then(|| {
        format!(
            "a mesh of {vertices} vertices takes {bytes} bytes, but a glb file holds at most {}; build fewer samples or \
             smaller windows, or write formats = [\"obj\"]",
            u32::MAX
        )
    })
}

/// Writes a surface; the mesh is worked out while it is written.
///
/// # Errors
/// When writing fails, or the mesh is [too large](too_large).
pub fn write(surface: &Surface<'_>, name: &str, seed: &str, out: &mut impl Write) -> io::Result<()> {
    let (vertices, triangles) = (surface.vertices() as u64, surface.triangles() as u64);
    if let Some(why) = too_large(vertices, triangles) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
    }
    let mut json = describe(surface, name, seed).to_string().into_bytes();
    while !json.len().is_multiple_of(4) {
        json.push(b' ');
    }
    let data = VERTEX * vertices + 12 * triangles;
    let words = |values: &[u64]| values.iter().flat_map(|v| (*v as u32).to_le_bytes()).collect::<Vec<u8>>();
    out.write_all(b"glTF")?;
    out.write_all(&words(&[2, 12 + 8 + json.len() as u64 + 8 + data, json.len() as u64]))?;
    out.write_all(b"JSON")?;
    out.write_all(&json)?;
    out.write_all(&words(&[data]))?;
    out.write_all(b"BIN\0")?;
    let floats =
        |values: &[f32], bytes: &mut Vec<u8>| values.iter().for_each(|v| bytes.extend(v.to_le_bytes()));
    surface.each_vertex(out, |col, row, bytes| floats(&surface.place(col, row), bytes))?;
    surface.each_vertex(out, |col, row, bytes| floats(&surface.normal(col, row), bytes))?;
    surface.each_vertex(out, |col, row, bytes| floats(&surface.uv(col, row), bytes))?;
    surface.each_triangle(out, |corners, bytes| {
        corners.iter().for_each(|&corner| bytes.extend((corner as u32).to_le_bytes()));
    })
}

fn describe(surface: &Surface<'_>, name: &str, seed: &str) -> serde_json::Value {
    let (vertices, triangles) = (surface.vertices() as u64, surface.triangles() as u64);
    let [low, high] = surface.bounds();
    let [x, y] = surface.origin_m();
    let sizes = [12 * vertices, 12 * vertices, 8 * vertices, 12 * triangles];
    let mut at = 0;
    let views: Vec<serde_json::Value> = sizes
        .iter()
        .enumerate()
        .map(|(i, &size)| {
            // Vertices are for one kind of buffer, indices for another.
            let target = if i == 3 { 34963 } else { 34962 };
            let view = json!({ "buffer": 0, "byteOffset": at, "byteLength": size, "target": target });
            at += size;
            view
        })
        .collect();
    json!({
        "asset": { "version": "2.0", "generator": SOFTWARE },
        "scene": 0,
        "scenes": [{ "nodes": [0] }],
        "nodes": [{ "name": name, "mesh": 0, "translation": [x, 0.0, -y] }],
        "meshes": [{
            "name": name,
            "primitives": [{ "attributes": { "POSITION": 0, "NORMAL": 1, "TEXCOORD_0": 2 }, "indices": 3, "material": 0 }],
            "extras": { "unit": "m", "axes": "x east, y up, z south", "seed": seed },
        }],
        "materials": [{
            "name": "ground",
            "doubleSided": true,
            "pbrMetallicRoughness": { "baseColorFactor": [0.45, 0.42, 0.37, 1.0], "metallicFactor": 0.0, "roughnessFactor": 1.0 },
        }],
        "accessors": [
            { "bufferView": 0, "componentType": 5126, "count": vertices, "type": "VEC3", "min": low, "max": high },
            { "bufferView": 1, "componentType": 5126, "count": vertices, "type": "VEC3" },
            { "bufferView": 2, "componentType": 5126, "count": vertices, "type": "VEC2" },
            { "bufferView": 3, "componentType": 5125, "count": 3 * triangles, "type": "SCALAR" },
        ],
        "bufferViews": views,
        "buffers": [{ "byteLength": at }],
    })
}
