//! What a person has fixed: lines whose heights later steps, erosion above all, have to keep to.
//!
//! The marks travel with the terrain as the vector layer `hold`: polylines whose z is the height to keep (a lone vertex
//! holds a point), with the attributes `kind` (what was drawn: `curve`, `river`, `lake`, ...) and `radius_m` (how far to
//! either side the height is to be kept). Every step adds to what is there.

use orogen_core::Terrain;
use orogen_core::vector::{Column, Point, Shape, VectorLayer};

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

#[cfg(test)]
mod tests {
    use super::*;
    use orogen_core::{Frame, Raster, layer};

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
