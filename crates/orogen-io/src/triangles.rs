//! Triangles between scattered vertices as OBJ and binary glTF.
//!
//! Axes are those of [`crate::mesh`]: x east, y up, z south (right-handed), in metres from the south-west of the model.

use std::fmt::Write;

use serde_json::json;

use crate::about::SOFTWARE;

/// A mesh in memory.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Triangles {
    /// Places of the vertices: x east, y up, z south.
    pub vertices: Vec<[f32; 3]>,
    /// Three vertices each, counter-clockwise seen from above.
    pub triangles: Vec<[u32; 3]>,
}

impl Triangles {
    /// The way up at each vertex: the mean of its triangles, each by its area.
    #[must_use]
    pub fn normals(&self) -> Vec<[f32; 3]> {
        let mut sums = vec![[0.0f64; 3]; self.vertices.len()];
        for corners in &self.triangles {
            let [a, b, c] = corners.map(|corner| self.vertices[corner as usize].map(f64::from));
            let [u, v] = [b, c].map(|end| [end[0] - a[0], end[1] - a[1], end[2] - a[2]]);
            let normal = [u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]];
            for &corner in corners {
                sums[corner as usize].iter_mut().zip(normal).for_each(|(sum, part)| *sum += part);
            }
        }
        sums.iter()
            .map(|n| {
                let length = (n[0] * n[0] + n[1] * n[1] + n[2] * n[2]).sqrt();
                if length > 0.0 { n.map(|part| (part / length) as f32) } else { [0.0, 1.0, 0.0] }
            })
            .collect()
    }

    /// The mesh as a Wavefront OBJ.
    #[must_use]
    pub fn to_obj(&self, name: &str) -> Vec<u8> {
        let mut out = format!("# {SOFTWARE}, metres, x east, y up, z south\no {name}\n");
        // Writing to a string cannot fail.
        for [x, y, z] in &self.vertices {
            let _ = writeln!(out, "v {x} {y} {z}");
        }
        for [x, y, z] in self.normals() {
            let _ = writeln!(out, "vn {x:.4} {y:.4} {z:.4}");
        }
        for corners in &self.triangles {
            let [a, b, c] = corners.map(|corner| corner + 1);
            let _ = writeln!(out, "f {a}//{a} {b}//{b} {c}//{c}");
        }
        out.into_bytes()
    }

    /// The mesh as binary glTF 2.0; `None` when it is larger than such a file can be, or empty, which glTF forbids.
    #[must_use]
    pub fn to_glb(&self, name: &str) -> Option<Vec<u8>> {
        let (vertices, triangles) = (self.vertices.len(), self.triangles.len());
        let data = 24 * vertices as u64 + 12 * triangles as u64;
        if vertices == 0 || triangles == 0 || data + (1 << 16) > u64::from(u32::MAX) {
            return None;
        }
        let bound = |pick: fn(f32, f32) -> f32, from: f32| {
            self.vertices.iter().fold([from; 3], |best, v| [0, 1, 2].map(|i: usize| pick(best[i], v[i])))
        };
        let (low, high) = (bound(f32::min, f32::INFINITY), bound(f32::max, f32::NEG_INFINITY));
        let view = |offset: usize, length: usize, target: u32| json!({ "buffer": 0, "byteOffset": offset, "byteLength": length, "target": target });
        let document = json!({
            "asset": { "version": "2.0", "generator": SOFTWARE },
            "scene": 0,
            "scenes": [{ "nodes": [0] }],
            "nodes": [{ "mesh": 0, "name": name }],
            "meshes": [{ "name": name, "primitives": [{ "attributes": { "POSITION": 0, "NORMAL": 1 }, "indices": 2 }] }],
            "accessors": [
                { "bufferView": 0, "componentType": 5126, "count": vertices, "type": "VEC3", "min": low, "max": high },
                { "bufferView": 1, "componentType": 5126, "count": vertices, "type": "VEC3" },
                { "bufferView": 2, "componentType": 5125, "count": 3 * triangles, "type": "SCALAR" },
            ],
            "bufferViews": [
                view(0, 12 * vertices, 34962),
                view(12 * vertices, 12 * vertices, 34962),
                view(24 * vertices, 12 * triangles, 34963),
            ],
            "buffers": [{ "byteLength": data }],
        });
        let mut json = document.to_string().into_bytes();
        while !json.len().is_multiple_of(4) {
            json.push(b' ');
        }
        let mut out = Vec::with_capacity(28 + json.len() + data as usize);
        out.extend_from_slice(b"glTF");
        for word in [2, 28 + json.len() as u64 + data, json.len() as u64] {
            out.extend_from_slice(&(word as u32).to_le_bytes());
        }
        out.extend_from_slice(b"JSON");
        out.extend_from_slice(&json);
        out.extend_from_slice(&(data as u32).to_le_bytes());
        out.extend_from_slice(b"BIN\0");
        for value in self.vertices.iter().chain(&self.normals()).flatten() {
            out.extend_from_slice(&value.to_le_bytes());
        }
        for value in self.triangles.iter().flatten() {
            out.extend_from_slice(&value.to_le_bytes());
        }
        Some(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn roof() -> Triangles {
        Triangles {
            vertices: vec![[0.0, 0.0, 0.0], [10.0, 0.0, 0.0], [10.0, 5.0, -10.0], [0.0, 5.0, -10.0]],
            triangles: vec![[0, 1, 2], [0, 2, 3]],
        }
    }

    #[test]
    fn another_reader_finds_the_same_mesh() {
        let file = roof().to_glb("roof").unwrap();
        let found = gltf::Gltf::from_slice(&file).unwrap();
        let primitive = found.meshes().next().unwrap().primitives().next().unwrap();
        let reader = primitive.reader(|_| found.blob.as_deref());
        assert_eq!(reader.read_positions().unwrap().collect::<Vec<_>>(), roof().vertices);
        assert_eq!(reader.read_indices().unwrap().into_u32().collect::<Vec<_>>(), [0, 1, 2, 0, 2, 3]);
        for [x, y, z] in reader.read_normals().unwrap() {
            assert!(x.abs() < 1e-6 && y > 0.89 && z > 0.44, "{x} {y} {z}");
        }
        assert_eq!(Triangles::default().to_glb("nothing"), None);
    }

    #[test]
    fn the_text_counts_from_one() {
        let text = String::from_utf8(roof().to_obj("roof")).unwrap();
        assert_eq!(text.lines().filter(|line| line.starts_with("v ")).count(), 4);
        assert!(text.contains("v 10 5 -10\n") && text.contains("f 1//1 3//3 4//4\n"));
    }
}
