//! What a person has fixed: lines whose heights later steps, erosion above all, have to keep to.
//!
//! The marks travel with the terrain as the vector layer `hold`: polylines whose z is the height to keep (a lone vertex
//! holds a point), with the attributes `kind` (what was drawn: `curve`, `river`, `lake`, ...) and `radius_m` (how far to
//! either side the height is to be kept). Every step adds to what is there.

use orogen_core::vector::{Column, Point, Shape, VectorLayer};
use orogen_core::{Frame, Raster, Terrain, math};

/// Name of the vector layer.
pub const HOLD: &str = "hold";

/// A line, or a point, that keeps its height.
#[derive(Clone, Debug, PartialEq)]
pub struct Held {
    /// What was drawn.
    pub kind: String,
    /// Its vertices with the heights to keep.
    pub points: Vec<Point>,
    /// How far to either side the height is to be kept.
    pub radius_m: f64,
}

/// Adds marks to those that a terrain has.
pub fn hold(terrain: &mut Terrain, more: Vec<Held>) {
    if more.is_empty() {
        return;
    }
    let mut all = held(terrain);
    all.extend(more);
    let mut layer = VectorLayer::new(Shape::Lines);
    let (mut kinds, mut radii) = (Vec::new(), Vec::new());
    for mark in all {
        layer.push(mark.points);
        kinds.push(mark.kind);
        radii.push(mark.radius_m);
    }
    // One entry per feature was pushed above, so both fit.
    let _ = layer.set_feature_attribute("kind", Column::Text(kinds));
    let _ = layer.set_feature_attribute("radius_m", Column::Number(radii));
    terrain.set_vector(HOLD, layer);
}

/// All marks of a terrain, in the order in which they were made.
#[must_use]
pub fn held(terrain: &Terrain) -> Vec<Held> {
    let Some(layer) = terrain.vector(HOLD) else { return Vec::new() };
    let kinds = layer.feature_attributes().get("kind");
    let radii = layer.numbers("radius_m");
    (0..layer.len())
        .map(|i| Held {
            kind: match kinds {
                Some(Column::Text(kinds)) => kinds[i].clone(),
                _ => String::new(),
            },
            points: layer.parts(i).flat_map(|part| layer.vertices()[part].to_vec()).collect(),
            radius_m: radii.map_or(0.0, |radii| radii[i]),
        })
        .collect()
}

/// The samples that are to keep their height: those within the radius of a mark, and at least the four round each place of
/// it. None when nothing is held.
#[must_use]
pub fn held_samples(terrain: &Terrain) -> Option<Raster<bool>> {
    let marks = held(terrain);
    if marks.is_empty() {
        return None;
    }
    let frame = terrain.frame();
    let [dx, dy] = frame.spacing_m();
    let mut samples = Raster::filled(frame.cols(), frame.rows(), false);
    let place_m = |col: usize, row: usize| [col as f64 * dx, row as f64 * dy];
    beside(&marks, frame, [dx, dy], [frame.cols(), frame.rows()], place_m, |cell, _, _| {
        samples.as_mut_slice()[cell] = true;
    });
    Some(samples)
}

/// Visits the samples of a lattice over the frame within the radius of each piece of each mark, or within a cell of it: number,
/// distance, and the height to keep at the nearest point. Places are in metres from the north-west corner, south positive,
/// and less than a cell off the even lattice.
pub(crate) fn beside(
    marks: &[Held],
    frame: &Frame,
    [dx, dy]: [f64; 2],
    [cols, rows]: [usize; 2],
    place_m: impl Fn(usize, usize) -> [f64; 2],
    mut visit: impl FnMut(usize, f64, f64),
) {
    let local = |p: &Point| [p[0] - frame.x_m(0), frame.y_m(0) - p[1], p[2]];
    for mark in marks {
        // All four samples round a place on the line are to keep its height.
        let radius_m = mark.radius_m.max(1.01 * math::hypot(dx, dy));
        let span = |p: f64, q: f64, d: f64, count: usize| {
            let first = ((p.min(q) - radius_m) / d - 1.0).floor().max(0.0);
            let end = ((p.max(q) + radius_m) / d + 1.0).floor() + 1.0;
            first as usize..(end.max(0.0) as usize).min(count)
        };
        let lone = mark.points.len() == 1;
        for (a, b) in mark.points.iter().zip(mark.points.iter().skip(usize::from(!lone))) {
            let (a, b) = (local(a), local(b));
            let along = [b[0] - a[0], b[1] - a[1]];
            let length2 = along[0] * along[0] + along[1] * along[1];
            for row in span(a[1], b[1], dy, rows) {
                for col in span(a[0], b[0], dx, cols) {
                    let [x, y] = place_m(col, row);
                    let off = [x - a[0], y - a[1]];
                    let t =
                        if length2 > 0.0 { (off[0] * along[0] + off[1] * along[1]) / length2 } else { 0.0 };
                    let t = t.clamp(0.0, 1.0);
                    let far_m = math::hypot(off[0] - t * along[0], off[1] - t * along[1]);
                    if far_m <= radius_m {
                        visit(row * cols + col, far_m, a[2] + t * (b[2] - a[2]));
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use orogen_core::layer;

    #[test]
    fn samples_beside_a_line_are_held() {
        let mut terrain = Terrain::new(Frame::square(100.0, 11).unwrap());
        assert!(held_samples(&terrain).is_none());
        let line = vec![[20.0, 50.0, 1.0], [80.0, 50.0, 1.0]];
        hold(&mut terrain, vec![Held { kind: String::from("river"), points: line, radius_m: 15.0 }]);
        let samples = held_samples(&terrain).unwrap();
        let held = |col: usize, row: usize| samples.row(row)[col];
        assert!(held(2, 5) && held(8, 4) && held(5, 6) && held(1, 4));
        assert!(!held(5, 3) && !held(0, 5) && !held(10, 5));
    }

    #[test]
    fn marks_add_up_and_survive_a_new_height() {
        let mut terrain = Terrain::new(Frame::square(100.0, 5).unwrap());
        let mark = |kind: &str, z: f64| Held {
            kind: kind.to_owned(),
            points: vec![[10.0, 10.0, z], [90.0, 40.0, z - 5.0]],
            radius_m: 3.0,
        };
        hold(&mut terrain, vec![mark("river", 20.0)]);
        terrain.set(layer::HEIGHT, Raster::filled(5, 5, 1.0));
        hold(&mut terrain, vec![mark("curve", 60.0)]);
        assert_eq!(held(&terrain), [mark("river", 20.0), mark("curve", 60.0)]);
    }
}
