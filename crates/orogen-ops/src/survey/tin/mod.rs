//! Land as few triangles: greedy insertion, and the hierarchy of right triangles.

use orogen_core::{Ctx, OpError, Raster};

mod greedy;
mod hierarchy;
#[cfg(test)]
mod tests;

/// Triangles between samples.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tin {
    /// Column and row of each vertex.
    pub vertices: Vec<[u32; 2]>,
    /// Three vertices each, counter-clockwise seen from above.
    pub triangles: Vec<[u32; 3]>,
}

/// The smallest error that is accepted, in metres: below it single precision does not suffice.
pub const LEAST_ERROR_M: f64 = 1e-4;

/// Triangles that stay within `max_error_m` of every sample, by greedy insertion: beginning with two triangles, the sample
/// that is furthest off becomes a vertex of a Delaunay triangulation, again and again. Towards the end an edge is turned
/// against that rule where this alone makes a vertex needless: an eighth to a quarter fewer triangles.
///
/// **Guarantees** (1) no sample lies further above or below its triangle than `max_error_m`; (2) vertices are samples, and
/// triangles cover all ground between samples; (3) a plane needs two; (4) holes are cut out along their outermost samples.
///
/// **Limits** At most 20,000 samples a side. Samples are taken in order of their error within a quarter of it: those of like
/// error along a curve through the land, which spares a sorted queue and jumps in memory. A stricter order saves about 1 %
/// of the triangles.
///
/// **After** Garland & Heckbert, CMU-CS-95-181 (1995).
///
/// # Errors
/// When cancelled, when the error is too small, or when the model is too large or has no two samples a side.
pub fn greedy(height: &Raster<f32>, max_error_m: f64, ctx: &Ctx<'_>) -> Result<Tin, OpError> {
    check(height, max_error_m, greedy::MOST_SIDE)?;
    let Some(deep) = deep(height, max_error_m) else { return Ok(Tin::default()) };
    let (vertices, triangles) = greedy::triangulate(height, deep, max_error_m as f32, ctx)?;
    Ok(ground(height, vertices, triangles))
}

/// Triangles that stay within `max_error_m` of every sample, from a hierarchy of right triangles, each half of another.
/// More triangles than [`greedy`], in a fraction of its time, and nested: a coarser mesh has a part of the vertices.
///
/// **Guarantees** (1) as [`greedy`], (1) to (4), except for the number of triangles of a plane when sides are not 2^n + 1; (2) no
/// cracks: every vertex on an edge is a vertex of both sides.
///
/// **Limits** Works on a square of 2^n + 1 samples that holds the model, at most 16,385 a side; 8 bytes a sample of it.
///
/// **After** Evans, Kirkpatrick & Townsend, Algorithmica 30 (2001).
///
/// # Errors
/// As [`greedy`].
pub fn hierarchy(height: &Raster<f32>, max_error_m: f64, ctx: &Ctx<'_>) -> Result<Tin, OpError> {
    check(height, max_error_m, hierarchy::MOST_SIDE)?;
    let Some(deep) = deep(height, max_error_m) else { return Ok(Tin::default()) };
    let (vertices, triangles) = hierarchy::triangulate(height, deep, max_error_m as f32, ctx)?;
    Ok(ground(height, vertices, triangles))
}

fn check(height: &Raster<f32>, max_error_m: f64, most_side: usize) -> Result<(), OpError> {
    let (cols, rows) = (height.cols(), height.rows());
    if !(LEAST_ERROR_M..=1e6).contains(&max_error_m) {
        return Err(OpError::Failed(format!(
            "a maximum error of {max_error_m} m is outside {LEAST_ERROR_M} to 1e6 m"
        )));
    }
    if cols < 2 || rows < 2 || cols.max(rows) > most_side {
        return Err(OpError::Failed(format!(
            "triangles need 2 to {most_side} samples a side, found {cols} x {rows}"
        )));
    }
    Ok(())
}

/// What stands for a hole: so deep that every sample beside one becomes a vertex. `None` when there is nothing but holes.
fn deep(height: &Raster<f32>, max_error_m: f64) -> Option<f32> {
    let (low, high) = height.range()?;
    Some(low - 100.0 * (high - low) - 1e4 * max_error_m as f32 - 1e4)
}

/// The triangles without a hole at a corner, and the vertices that they use.
fn ground(height: &Raster<f32>, vertices: Vec<[u32; 2]>, triangles: Vec<[u32; 3]>) -> Tin {
    const UNUSED: u32 = u32::MAX;
    let is_hole = |[col, row]: [u32; 2]| {
        let (col, row) = (col as usize, row as usize);
        col >= height.cols() || row >= height.rows() || !height.row(row)[col].is_finite()
    };
    if !vertices.iter().any(|&vertex| is_hole(vertex)) {
        return Tin { vertices, triangles };
    }
    let mut number = vec![UNUSED; vertices.len()];
    let mut tin = Tin::default();
    for corners in triangles {
        if corners.iter().any(|&corner| is_hole(vertices[corner as usize])) {
            continue;
        }
        tin.triangles.push(corners.map(|corner| {
            let number = &mut number[corner as usize];
            if *number == UNUSED {
                *number = tin.vertices.len() as u32;
                tin.vertices.push(vertices[corner as usize]);
            }
            *number
        }));
    }
    tin
}
