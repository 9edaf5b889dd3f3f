//! The outline of a tile: where tiles meet, both take what one of them says, so that no gap opens whatever their levels are
//! and however far each has changed over to the next coarser one.
//!
//! ```text
//! side      the coarser of the two; of equals the one that has changed over farther
//! corner    the coarsest of the four; of equals likewise
//! ```

use crate::quadtree::{Node, QUADS, leaf_over};
use crate::tile::VERTICES;

/// Shifted east and north, height, level of the water.
pub(crate) type Vertex = [f32; 4];

/// Vertices of an outline: the north side from the west, the south side, the west side from the north, the east side.
pub(crate) const RIM: usize = 4 * VERTICES;

/// A tile as it is drawn.
#[derive(Clone, Copy)]
pub(crate) struct Shown<'a> {
    /// Its vertices.
    pub own: &'a [Vertex],
    /// The surface of the next coarser tile at the same places; empty where it is not known.
    pub coarse: &'a [Vertex],
    /// How far it has changed over to that, 0 to 1.
    pub morph: f32,
}

impl Shown<'_> {
    fn at(&self, i: usize) -> Vertex {
        let own = self.own[i];
        match self.coarse.get(i) {
            Some(coarse) if self.morph > 0.0 => mix(own, *coarse, self.morph),
            _ => own,
        }
    }
}

fn mix(a: Vertex, b: Vertex, share: f32) -> Vertex {
    [0, 1, 2, 3].map(|i| a[i] + (b[i] - a[i]) * share)
}

/// The outline of a tile among those that are drawn.
pub(crate) fn rim<'a>(node: Node, find: &dyn Fn(Node) -> Option<Shown<'a>>) -> Vec<Vertex> {
    const Q: usize = QUADS;
    let around = |dx: i64, dy: i64| -> Option<(Node, Shown<'a>)> {
        leaf_over(find, if (dx, dy) == (0, 0) { node } else { node.beside(dx, dy)? })
    };
    let mut out = vec![[0f32; 4]; RIM];
    let Some(own) = find(node) else { return out };
    for (side, (dx, dy)) in [(0, 1), (0, -1), (-1, 0), (1, 0)].into_iter().enumerate() {
        let place = |step: usize| match side {
            0 => (step, 0),
            1 => (step, Q),
            2 => (0, step),
            _ => (Q, step),
        };
        let beside = [Some((node, own)), around(dx, dy)];
        let beside: Vec<(Node, Shown<'a>)> = beside.into_iter().flatten().collect();
        for step in 1..Q {
            let (col, row) = place(step);
            // A vertex that the coarser neighbour lacks is not drawn.
            out[side * VERTICES + step] =
                agreed(node, col, row, &beside).unwrap_or(own.own[row * VERTICES + col]);
        }
        for step in [0, Q] {
            let (col, row) = place(step);
            let (dx, dy) = (if col == 0 { -1 } else { 1 }, if row == 0 { 1 } else { -1 });
            let four = [Some((node, own)), around(dx, 0), around(0, dy), around(dx, dy)];
            let four: Vec<(Node, Shown<'a>)> = four.into_iter().flatten().collect();
            out[side * VERTICES + step] =
                agreed(node, col, row, &four).unwrap_or(own.own[row * VERTICES + col]);
        }
    }
    out
}

/// What tiles agree on at a vertex of a node: the coarsest of them says it.
fn agreed(node: Node, col: usize, row: usize, tiles: &[(Node, Shown<'_>)]) -> Option<Vertex> {
    // In vertices of the node, from the south-west corner of the land.
    let x = i64::from(node.x) * QUADS as i64 + col as i64;
    let y = (i64::from(node.y) + 1) * QUADS as i64 - row as i64;
    let found = tiles.iter().filter_map(|(over, shown)| {
        let by = 1i64 << (node.level - over.level);
        let (vx, vy) =
            (x - i64::from(over.x) * QUADS as i64 * by, (i64::from(over.y) + 1) * QUADS as i64 * by - y);
        let inside = |v: i64| v % by == 0 && (0..=QUADS as i64).contains(&(v / by));
        (inside(vx) && inside(vy)).then(|| {
            let at = (vy / by) as usize * VERTICES + (vx / by) as usize;
            (*over, shown.morph, shown.at(at))
        })
    });
    let level = tiles.iter().map(|(over, _)| over.level).min()?;
    let coarsest = found.filter(|(over, ..)| over.level == level);
    let first = coarsest.reduce(|a, b| {
        let water = a.2[3].max(b.2[3]);
        let ahead = a.1 > b.1 || (a.1 == b.1 && a.0 <= b.0);
        let mut best = if ahead { a } else { b };
        // They agree on the ground; the water may have been brought up the shore unlike far.
        best.2[3] = water;
        best
    });
    first.map(|(.., vertex)| vertex)
}

/// The surface of a tile at the vertices of one of its four parts, along the edges of its triangles.
pub(crate) fn coarser_surface(parent: &[Vertex], node: Node) -> Vec<Vertex> {
    let half = QUADS / 2;
    let (west, north) = ((node.x as usize % 2) * half, (1 - node.y as usize % 2) * half);
    let at = |col: usize, row: usize| parent[row * VERTICES + col];
    let mut out = Vec::with_capacity(VERTICES * VERTICES);
    for row in 0..VERTICES {
        for col in 0..VERTICES {
            let (c, r) = (west + col / 2, north + row / 2);
            out.push(match (col % 2, row % 2) {
                (0, 0) => at(c, r),
                (1, 0) => mix(at(c, r), at(c + 1, r), 0.5),
                (0, _) => mix(at(c, r), at(c, r + 1), 0.5),
                // The diagonal of its quad, as `pattern` has it.
                _ if (r + c) % 2 == 0 => mix(at(c, r), at(c + 1, r + 1), 0.5),
                _ => mix(at(c + 1, r), at(c, r + 1), 0.5),
            });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use orogen_core::{Cancel, Seed};

    use super::*;
    use crate::camera::Camera;
    use crate::overview::Overview;
    use crate::quadtree::{Metric, split};
    use crate::tile::tests::Hills;
    use crate::tile::{Rivers, Tile};

    #[test]
    fn neighbours_meet_at_every_vertex_that_both_have() {
        let overview = Overview::of(&Hills, &Cancel::new()).unwrap();
        let bounds = overview.bounds();
        let seed = Seed::from_text("joins");
        for i in 0..6 {
            let random = |j: u64| seed.unit(i * 8 + j);
            let place = |j: u64| [300.0 + 8192.0 * random(j), -700.0 + 8192.0 * random(j + 1)];
            let (eye, target) = (place(0), place(2));
            let camera = Camera {
                eye: [eye[0], eye[1], 300.0 + 900.0 * random(4)],
                target: [target[0], target[1], 0.0],
                view_deg: 60.0,
                wide_m: None,
            };
            let metric = Metric { camera: &camera, aspect: 1.5, quality: 2.0, known: &bounds, finest: 8 };
            let all = split(&overview.root, &metric);
            let rivers = Rivers::of(None);
            let fill = |node: &Node| Tile::fill(*node, &Hills, &overview, &rivers, &Cancel::new()).unwrap();
            let tiles: BTreeMap<Node, (Tile, Vec<Vertex>, f32)> = all
                .keys()
                .enumerate()
                .map(|(k, node)| {
                    let parent = node.parent().map(|parent| fill(&parent));
                    let coarse =
                        parent.map_or_else(Vec::new, |parent| coarser_surface(&parent.vertices, *node));
                    // Odd cameras see tiles on the way to the next level.
                    let morph = if i % 2 == 0 { 0.0 } else { (k % 5) as f32 / 4.0 };
                    (*node, (fill(node), coarse, morph))
                })
                .collect();
            let find = |node: Node| {
                let (tile, coarse, morph) = tiles.get(&node)?;
                Some(Shown { own: &tile.vertices, coarse, morph: *morph })
            };
            // What each pattern draws of the sides, by place: all tiles agree.
            let mut known = BTreeMap::new();
            let mut shared = 0;
            for (node, (tile, ..)) in &tiles {
                let coarser = all[node];
                let rim = rim(*node, &find);
                let by = 1u64 << (12 - tile.node.level);
                for at in crate::pattern::indices(QUADS, coarser) {
                    let (col, row) = (usize::from(at) % VERTICES, usize::from(at) / VERTICES);
                    if col % QUADS != 0 && row % QUADS != 0 {
                        continue;
                    }
                    let x = (u64::from(tile.node.x) * QUADS as u64 + col as u64) * by;
                    let y = ((u64::from(tile.node.y) + 1) * QUADS as u64 - row as u64) * by;
                    let at = match (col, row) {
                        (_, 0) => col,
                        (_, QUADS) => VERTICES + col,
                        (0, _) => 2 * VERTICES + row,
                        _ => 3 * VERTICES + row,
                    };
                    // Tiles without water draw none.
                    let level = tile.has_water.then(|| rim[at][3].to_bits());
                    let here = (rim[at][2].to_bits(), level);
                    let before: (u32, Option<u32>) = *known.entry((x, y)).or_insert(here);
                    assert_eq!(before.0, here.0, "camera {i}: {:?} at {col}, {row}", tile.node);
                    assert!(
                        before.1.is_none() || here.1.is_none() || before.1 == here.1,
                        "camera {i}: water of {:?} at {col}, {row}",
                        tile.node
                    );
                    shared += 1;
                }
            }
            assert!(shared > 1000 && tiles.len() > 10, "camera {i}: {} tiles", tiles.len());
        }
    }

    #[test]
    fn the_surface_of_a_coarser_tile_is_as_its_triangles_are() {
        let parent: Vec<Vertex> =
            (0..VERTICES * VERTICES).map(|i| [0.0, 0.0, ((i * 7919) % 101) as f32, 0.0]).collect();
        let child = Node { level: 1, x: 1, y: 1 };
        let fine = coarser_surface(&parent, child);
        let at = |col: usize, row: usize| fine[row * VERTICES + col][2];
        // The north-eastern part.
        let of = |col: usize, row: usize| parent[row * VERTICES + QUADS / 2 + col][2];
        assert_eq!(at(4, 6), of(2, 3));
        assert_eq!(at(5, 6), 0.5 * (of(2, 3) + of(3, 3)));
        // Quads with an even place have a diagonal from the north-west, others from the north-east.
        assert_eq!(at(5, 5), 0.5 * (of(2, 2) + of(3, 3)));
        assert_eq!(at(3, 5), 0.5 * (of(2, 2) + of(1, 3)));
    }
}
