//! Wavefront OBJ: land as a mesh in plain text, for programs that read nothing else.
//!
//! Axes are those of the glb (x east, y up, z south; what readers take an OBJ for), in metres from the south-west sample,
//! whose place in the world stands in the first lines.

use std::io::{self, Write};

use crate::about::SOFTWARE;
use crate::mesh::Surface;

/// Writes a surface; the mesh is worked out while it is written.
///
/// # Errors
/// When writing fails.
pub fn write(surface: &Surface<'_>, name: &str, seed: &str, out: &mut impl Write) -> io::Result<()> {
    let [x, y] = surface.origin_m();
    writeln!(out, "# {SOFTWARE}, metres, x east, y up, z south")?;
    writeln!(out, "# 0 0 0 lies at x {x:?}, y {y:?} of the world, at sea level; seed {seed:?}")?;
    writeln!(out, "o {name}")?;
    // Writing into memory cannot fail.
    surface.each_vertex(out, |col, row, bytes| {
        let [x, y, z] = surface.place(col, row);
        let _ = writeln!(bytes, "v {x} {y} {z}");
    })?;
    surface.each_vertex(out, |col, row, bytes| {
        let [u, v] = surface.uv(col, row);
        // Here 0 is the foot of a picture.
        let _ = writeln!(bytes, "vt {u:.6} {:.6}", 1.0 - v);
    })?;
    surface.each_vertex(out, |col, row, bytes| {
        let [x, y, z] = surface.normal(col, row);
        let _ = writeln!(bytes, "vn {x:.4} {y:.4} {z:.4}");
    })?;
    surface.each_triangle(out, |corners, bytes| {
        let [a, b, c] = corners.map(|corner| corner + 1);
        let _ = writeln!(bytes, "f {a}/{a}/{a} {b}/{b}/{b} {c}/{c}/{c}");
    })
}
