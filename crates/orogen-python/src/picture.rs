//! A small map of a terrain, for notebooks.

use orogen::core::{Frame, Parts, Terrain};
use orogen::io::png8;
use orogen::io::relief::{self, ReliefStyle};

/// The map as a PNG, no side longer than `most` pixels; `None` for land without heights.
pub fn png(terrain: &Terrain, most: usize) -> Option<Vec<u8>> {
    let picture = relief::render(&thinned(terrain, most)?, &ReliefStyle::default()).ok()?;
    Some(png8::encode(&picture))
}

/// Every n-th sample of every layer; the vectors stay as they are.
fn thinned(terrain: &Terrain, most: usize) -> Option<Terrain> {
    let frame = terrain.frame();
    let step = frame.cols().max(frame.rows()).div_ceil(most.max(2));
    if step <= 1 {
        return Some(terrain.clone());
    }
    let (cols, rows) = (frame.cols().div_ceil(step), frame.rows().div_ceil(step));
    let (east, south) = ((cols - 1) * step, (rows - 1) * step);
    let origin_m = [frame.x_m(0), frame.y_m(south)];
    let size_m = [frame.x_m(east) - origin_m[0], frame.y_m(0) - origin_m[1]];
    let small = Frame::new(origin_m, size_m, [cols, rows]).ok()?;
    let every = |count: usize| (0..count).map(|i| i * step).collect::<Vec<_>>();
    let layers =
        terrain.layers().iter().map(|(name, data)| (name.clone(), data.picked(&every(cols), &every(rows))));
    let (vectors, provenance) = (terrain.vectors().clone(), terrain.provenance().clone());
    Terrain::from_parts(small, Parts { layers: layers.collect(), vectors, provenance, ..Parts::default() })
}
