//! Vectors of land that loops: copies of them beside the land, and the part of them that lies on it.

use std::collections::BTreeMap;

use crate::frame::Rect;
use crate::vector::{Categories, Column, Point, Shape, VectorLayer};

/// A vertex with its number in the layer, and the number of the next together with how far towards it the vertex lies.
#[derive(Clone, Copy)]
struct Vertex {
    place: Point,
    from: usize,
    to: usize,
    share: f64,
}

/// The same features at several places, those that do not touch a rectangle left out.
pub(super) fn repeated(layer: &VectorLayer, copies_m: &[[f64; 2]], rect: &Rect) -> VectorLayer {
    let mut out = Builder::new(layer);
    for &[x, y] in copies_m {
        for feature in 0..layer.len() {
            let parts: Vec<Vec<Vertex>> = layer
                .parts(feature)
                .map(|part| {
                    let moved = |from: usize| {
                        let [px, py, z] = layer.vertices()[from];
                        Vertex { place: [px + x, py + y, z], from, to: from, share: 0.0 }
                    };
                    part.map(moved).collect()
                })
                .collect();
            if touches(&parts, rect) {
                out.push(feature, parts);
            }
        }
    }
    out.finish()
}

/// The part of each feature that lies inside a rectangle; a line that leaves it and comes back becomes several.
pub(super) fn clipped(layer: &VectorLayer, rect: &Rect) -> VectorLayer {
    let mut out = Builder::new(layer);
    for feature in 0..layer.len() {
        let parts = layer.parts(feature).map(|part| {
            part.map(|from| Vertex { place: layer.vertices()[from], from, to: from, share: 0.0 }).collect()
        });
        let parts: Vec<Vec<Vertex>> = match layer.shape() {
            Shape::Points => {
                parts.filter(|part: &Vec<Vertex>| part.iter().all(|v| inside(v, rect))).collect()
            }
            Shape::Lines => {
                for piece in parts.flat_map(|part: Vec<Vertex>| pieces(&part, rect)) {
                    out.push(feature, vec![piece]);
                }
                continue;
            }
            Shape::Polygons => {
                let mut rings = parts.map(|ring: Vec<Vertex>| ring_inside(ring, rect));
                // Without its outer ring a polygon has no holes either.
                match rings.next() {
                    Some(outer) if outer.len() > 2 => {
                        std::iter::once(outer).chain(rings.filter(|ring| ring.len() > 2)).collect()
                    }
                    _ => Vec::new(),
                }
            }
        };
        if !parts.is_empty() {
            out.push(feature, parts);
        }
    }
    out.finish()
}

fn inside(vertex: &Vertex, rect: &Rect) -> bool {
    (0..2).all(|i| (rect.min[i]..=rect.max[i]).contains(&vertex.place[i]))
}

fn touches(parts: &[Vec<Vertex>], rect: &Rect) -> bool {
    (0..2).all(|i| {
        let places = || parts.iter().flatten().map(|v| v.place[i]);
        places().any(|p| p >= rect.min[i]) && places().any(|p| p <= rect.max[i])
    })
}

/// The point on the way from one vertex to the next; both are vertices of the layer or lie between the same two.
fn between(a: &Vertex, b: &Vertex, t: f64) -> Vertex {
    let place = std::array::from_fn(|i| a.place[i] + (b.place[i] - a.place[i]) * t);
    Vertex { place, from: a.from, to: b.from, share: t }
}

/// The pieces of a line inside a rectangle, by the shares of each step between its crossings (Liang and Barsky, 1984).
fn pieces(line: &[Vertex], rect: &Rect) -> Vec<Vec<Vertex>> {
    if let [only] = line {
        return if inside(only, rect) { vec![vec![*only]] } else { Vec::new() };
    }
    let mut pieces: Vec<Vec<Vertex>> = Vec::new();
    let mut open = false;
    for pair in line.windows(2) {
        let (mut enters, mut leaves) = (0.0f64, 1.0f64);
        for i in 0..2 {
            let (start, step) = (pair[0].place[i], pair[1].place[i] - pair[0].place[i]);
            let (low, high) = (rect.min[i] - start, rect.max[i] - start);
            if step == 0.0 {
                if low > 0.0 || high < 0.0 {
                    leaves = -1.0;
                }
                continue;
            }
            let (first, last) =
                if step > 0.0 { (low / step, high / step) } else { (high / step, low / step) };
            (enters, leaves) = (enters.max(first), leaves.min(last));
        }
        // Touching a corner makes no piece.
        if enters >= leaves {
            open = false;
            continue;
        }
        let at = |t: f64| match t {
            t if t <= 0.0 => pair[0],
            t if t >= 1.0 => pair[1],
            t => between(&pair[0], &pair[1], t),
        };
        match pieces.last_mut() {
            Some(piece) if open && enters <= 0.0 => piece.push(at(leaves)),
            _ => pieces.push(vec![at(enters), at(leaves)]),
        }
        open = leaves >= 1.0;
    }
    pieces
}

/// A ring cut at the four sides in turn (Sutherland and Hodgman, 1974).
fn ring_inside(mut ring: Vec<Vertex>, rect: &Rect) -> Vec<Vertex> {
    for (axis, bound, sign) in
        [(0, rect.min[0], 1.0), (0, rect.max[0], -1.0), (1, rect.min[1], 1.0), (1, rect.max[1], -1.0)]
    {
        let depth = |v: &Vertex| sign * (v.place[axis] - bound);
        let mut cut = Vec::with_capacity(ring.len());
        for (i, here) in ring.iter().enumerate() {
            let next = &ring[(i + 1) % ring.len()];
            let (a, b) = (depth(here), depth(next));
            if a >= 0.0 {
                cut.push(*here);
            }
            if (a >= 0.0) != (b >= 0.0) {
                cut.push(between(here, next, a / (a - b)));
            }
        }
        ring = cut;
    }
    ring
}

/// A layer whose features come from those of another, with their attributes.
struct Builder<'a> {
    source: &'a VectorLayer,
    out: VectorLayer,
    features: Vec<usize>,
    vertices: Vec<Vertex>,
}

impl<'a> Builder<'a> {
    fn new(source: &'a VectorLayer) -> Self {
        Self { source, out: VectorLayer::new(source.shape()), features: Vec::new(), vertices: Vec::new() }
    }

    fn push(&mut self, feature: usize, parts: Vec<Vec<Vertex>>) {
        self.features.push(feature);
        self.vertices.extend(parts.iter().flatten());
        self.out.push_parts(parts.into_iter().map(|part| part.into_iter().map(|v| v.place)));
    }

    fn finish(mut self) -> VectorLayer {
        let features: Vec<Vertex> = self
            .features
            .iter()
            .map(|&from| Vertex { place: [0.0; 3], from, to: from, share: 0.0 })
            .collect();
        let taken = |columns: &BTreeMap<String, Column>, rows: &[Vertex]| -> Vec<(String, Column)> {
            columns.iter().map(|(name, column)| (name.clone(), take(column, rows))).collect()
        };
        // One entry is taken for each feature and vertex, so all fit.
        for (name, column) in taken(self.source.feature_attributes(), &features) {
            let _ = self.out.set_feature_attribute(&name, column);
        }
        for (name, column) in taken(self.source.vertex_attributes(), &self.vertices) {
            let _ = self.out.set_vertex_attribute(&name, column);
        }
        self.out
    }
}

/// Entries of a column; numbers between two vertices lie between theirs.
fn take(column: &Column, rows: &[Vertex]) -> Column {
    match column {
        Column::Number(all) => {
            Column::Number(rows.iter().map(|v| all[v.from] + (all[v.to] - all[v.from]) * v.share).collect())
        }
        Column::Integer(all) => Column::Integer(rows.iter().map(|v| all[v.from]).collect()),
        Column::Flag(all) => Column::Flag(rows.iter().map(|v| all[v.from]).collect()),
        Column::Text(all) => Column::Text(rows.iter().map(|v| all[v.from].clone()).collect()),
        Column::F32(all) => {
            let between = |v: &Vertex| all[v.from] + (all[v.to] - all[v.from]) * v.share as f32;
            Column::F32(rows.iter().map(between).collect())
        }
        Column::U8(all) => Column::U8(rows.iter().map(|v| all[v.from]).collect()),
        Column::U16(all) => Column::U16(rows.iter().map(|v| all[v.from]).collect()),
        Column::Category(all) => {
            let numbers = rows.iter().map(|v| all.numbers()[v.from]).collect();
            Column::Category(Categories::new(all.names().to_vec(), numbers).unwrap_or_default())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RECT: Rect = Rect { min: [0.0, 0.0], max: [10.0, 10.0] };

    #[test]
    fn a_line_that_leaves_and_comes_back_becomes_two_with_its_attributes() {
        let mut rivers = VectorLayer::new(Shape::Lines);
        rivers.push([[5.0, 5.0, 9.0], [15.0, 5.0, 7.0], [15.0, 8.0, 5.0], [5.0, 8.0, 3.0]]);
        rivers.push([[20.0, 5.0, 0.0], [30.0, 5.0, 0.0]]);
        assert!(rivers.set_feature_attribute("order", Column::Integer(vec![4, 1])));
        assert!(rivers.set_vertex_attribute("width", Column::Number(vec![1.0, 3.0, 5.0, 7.0, 0.0, 0.0])));
        let cut = clipped(&rivers, &RECT);
        assert_eq!(cut.vertices(), [[5.0, 5.0, 9.0], [10.0, 5.0, 8.0], [10.0, 8.0, 4.0], [5.0, 8.0, 3.0]]);
        assert_eq!((cut.len(), cut.vertex_numbers("width")), (2, Some(&[1.0, 2.0, 6.0, 7.0][..])));
        assert_eq!(cut.feature_attributes()["order"], Column::Integer(vec![4, 4]));
    }

    #[test]
    fn a_polygon_is_cut_at_the_sides() {
        let mut lakes = VectorLayer::new(Shape::Polygons);
        lakes.push([[-5.0, 2.0, 1.0], [5.0, 2.0, 1.0], [5.0, 4.0, 1.0], [-5.0, 4.0, 1.0]]);
        lakes.push([[-5.0, 2.0, 1.0], [-3.0, 2.0, 1.0], [-3.0, 4.0, 1.0]]);
        let cut = clipped(&lakes, &RECT);
        assert_eq!(cut.len(), 1);
        let xs: Vec<f64> = cut.vertices().iter().map(|v| v[0]).collect();
        assert_eq!(xs, [0.0, 5.0, 5.0, 0.0]);
    }

    #[test]
    fn copies_keep_their_attributes_and_those_out_of_sight_are_left_out() {
        let mut marks = VectorLayer::new(Shape::Points);
        marks.push([[9.0, 5.0, 1.0]]);
        assert!(marks.set_feature_attribute("kind", Column::Text(vec![String::from("peak")])));
        let all = repeated(
            &marks,
            &[[0.0, 0.0], [10.0, 0.0], [-10.0, 0.0]],
            &Rect { min: [-5.0, 0.0], max: [15.0, 10.0] },
        );
        assert_eq!(all.vertices(), [[9.0, 5.0, 1.0], [-1.0, 5.0, 1.0]]);
        assert_eq!(all.feature_attributes()["kind"].len(), 2);
    }
}
