//! Held ground: lines whose heights later steps, erosion above all, keep.
//!
//! The marks travel with the terrain as the vector layer `hold`: polylines whose z is the height to keep, or NaN for the
//! height that the ground has where the mark is read (a lone vertex holds a point), with the attributes `kind` (what was drawn: `curve`, `river`, `lake`, ...) and `radius_m` (how far to
//! either side the height is to be kept). Every step adds to what is there.

use orogen_core::vector::{Column, Point, Shape, VectorLayer};
use orogen_core::{Frame, Raster, Terrain, layer, math};

/// Name of the vector layer.
pub const HOLD: &str = "hold";

/// A line, or a point, that keeps its height.
#[derive(Clone, Debug, PartialEq)]
pub struct Held {
    /// What was drawn.
    pub kind: String,
    /// Its vertices with the heights to keep; NaN for the height that the ground has.
    pub points: Vec<Point>,
    /// How far to either side the height is to be kept.
    pub radius_m: f64,
}

/// Adds marks to those that a terrain has.
pub fn hold(terrain: &mut Terrain, more: Vec<Held>) {
    if more.is_empty() {
        return;
    }
    let mut all = marks(terrain);
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

/// All marks of a terrain, in the order in which they were made, with the heights that are to be kept. Where a mark takes
/// the height of the ground, places outside the frame and in holes have none and are left out.
#[must_use]
pub fn held(terrain: &Terrain) -> Vec<Held> {
    let (frame, ground) = (terrain.frame(), terrain.get(layer::HEIGHT).ok());
    let place = |[x, y, z]: Point| -> Option<Point> {
        if !z.is_nan() {
            return Some([x, y, z]);
        }
        let [col, row] = frame.locate(x, y);
        let inside = (0.0..=(frame.cols() - 1) as f64).contains(&col)
            && (0.0..=(frame.rows() - 1) as f64).contains(&row);
        let z = ground.filter(|_| inside)?.bilinear(col, row);
        (!z.is_nan()).then_some([x, y, f64::from(z)])
    };
    let with_heights = marks(terrain)
        .into_iter()
        .map(|mark| Held { points: mark.points.into_iter().filter_map(place).collect(), ..mark });
    with_heights.filter(|mark| !mark.points.is_empty()).collect()
}

/// All marks as they were made.
fn marks(terrain: &Terrain) -> Vec<Held> {
    let Some(layer) = terrain.vector(HOLD) else { return Vec::new() };
    let kinds = layer.feature_attributes().get("kind");
    let radii = layer.numbers("radius_m");
    (0..layer.len())
        .map(|i| Held {
            kind: kinds.and_then(|kinds| kinds.text(i)).unwrap_or_default().to_owned(),
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
    fn a_mark_without_a_height_keeps_the_ground_as_it_is_found() {
        let mut terrain = Terrain::new(Frame::square(100.0, 5).unwrap());
        let points = vec![[-10.0, 50.0, f64::NAN], [10.0, 50.0, f64::NAN], [90.0, 50.0, 7.0]];
        hold(&mut terrain, vec![Held { kind: String::from("ridge"), points, radius_m: 0.0 }]);
        terrain.set(layer::HEIGHT, Raster::from_fn(5, 5, |col, _| 20.0 * col as f32));
        assert_eq!(held(&terrain)[0].points, [[10.0, 50.0, 8.0], [90.0, 50.0, 7.0]]);
        terrain.set(layer::HEIGHT, Raster::filled(5, 5, f32::NAN));
        assert_eq!(held(&terrain)[0].points, [[90.0, 50.0, 7.0]]);
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
