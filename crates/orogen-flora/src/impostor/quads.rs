//! The quads that an impostor is put up on.

use super::{Form, Impostor};
use crate::frame::{add, scaled};
use crate::mesh::Mesh;

impl Impostor {
    /// Its quads, both sides of which are seen: one of each frame for quads and crossed ones, else a single one that the renderer
    /// turns to the viewer. Rows of the atlas run down, as v does.
    #[must_use]
    pub fn mesh(&self) -> Mesh {
        let mut made = Mesh::default();
        let [across, down] = self.form.layout();
        let count = match self.form {
            Form::Quads | Form::Crossed => self.frames.len(),
            Form::Octahedral | Form::Axial => 1,
        };
        for (number, frame) in self.frames.iter().take(count).enumerate() {
            let corner = |s: f64, t: f64| {
                let aside =
                    add(scaled(frame.right, s * self.half_m[0]), scaled(frame.up, t * self.half_m[1]));
                add(self.middle, aside).map(|v| v as f32)
            };
            let uv = |s: f64, t: f64| {
                let part = [0.5 + 0.5 * s, 0.5 - 0.5 * t];
                if self.form == Form::Octahedral {
                    // Which frames are shown follows from where the viewer is.
                    return part.map(|v| v as f32);
                }
                let [col, row] = [number % across, number / across];
                [(col as f64 + part[0]) / across as f64, (row as f64 + part[1]) / down as f64]
                    .map(|v| v as f32)
            };
            let first = made.positions.len() as u32;
            for (s, t) in [(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)] {
                made.positions.push(corner(s, t));
                made.normals.push(frame.back.map(|v| v as f32));
                made.uvs.push(uv(s, t));
            }
            made.indices.extend([0, 1, 2, 0, 2, 3].map(|k| first + k));
        }
        made
    }
}
