//! Normals of a surface from its heights.

use rayon::prelude::*;

use crate::field::Field;
use crate::filter::slope;

/// Unit normals of heights in metres on a tile of `size_m`. x points right, y up (against the rows, as OpenGL, Vulkan and
/// glTF take it), z out of the surface.
#[must_use]
pub fn normals(height_m: &Field, size_m: f32) -> Vec<[f32; 3]> {
    let size = height_m.size();
    let mut normals = vec![[0.0; 3]; size * size];
    normals.par_chunks_mut(size).enumerate().for_each(|(row, out)| {
        for (col, normal) in out.iter_mut().enumerate() {
            let [x, y] = slope(height_m, col, row);
            *normal = unit([-x / size_m, y / size_m, 1.0]);
        }
    });
    normals
}

/// A vector brought to length 1; straight up where it has none.
#[inline]
#[must_use]
pub fn unit([x, y, z]: [f32; 3]) -> [f32; 3] {
    let length = (x * x + y * y + z * z).sqrt();
    if length > 0.0 { [x / length, y / length, z / length] } else { [0.0, 0.0, 1.0] }
}

/// A normal as the bytes of a picture: 128 is 0.
#[inline]
#[must_use]
pub fn bytes(normal: [f32; 3]) -> [u8; 3] {
    normal.map(|x| (x * 127.0 + 128.0).round().clamp(0.0, 255.0) as u8)
}
