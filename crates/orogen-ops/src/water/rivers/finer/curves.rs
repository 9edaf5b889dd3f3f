//! The lines of rivers between the samples that they were drawn on: smooth, and never rising.

use std::sync::Arc;

use orogen_core::vector::{Column, Shape, VectorLayer};
use orogen_core::{Frame, Raster, math};

use super::super::Rivers;
use crate::water::shores::Shores;

/// Pieces to a cell of the recipe's lattice.
const PARTS: f64 = 6.0;
/// How far lines are smoothed, in cells.
const SMOOTH_CELLS: f64 = 0.6;
/// The same for heights along them.
const SMOOTH_FALL_CELLS: f64 = 0.5;
/// And for banks and the slopes of the valley's sides.
const SMOOTH_SIDES_CELLS: f64 = 1.0;
/// How far to either side the floor of a valley is looked for at a time, in cells, how often, and the slopes of its sides from which
/// there is one.
const FLOOR_CELLS: f64 = 0.4;
const SETTLES: usize = 5;
const FLOOR: [f32; 2] = [0.04, 0.2];
/// How far beside the water ground counts for its height, in cells.
const BESIDE_CELLS: f64 = 0.2;
/// How far from the water the sides of the valley are held straight, in cells: there the lattice shows in what is interpolated.
const VALLEY_CELLS: f64 = 0.8;
/// Width of banks in widths of the river, depths and depths of the cut.
const BANK: [f64; 3] = [1.5, 2.0, 5.0];

/// A place on a river, in metres from the origin of the world.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Node {
    pub at: [f64; 2],
    /// Where the line goes, of length 1.
    pub along: [f64; 2],
    /// Height of the water.
    pub z: f64,
    pub discharge: f64,
    pub width: f64,
    pub depth: f64,
    /// Over which banks lead up to the land.
    pub bank: f64,
    /// Over which the sides of the valley are held straight, and how steep they are to the left and right.
    pub valley: f64,
    pub sides: [f64; 2],
    /// Whether it lies on a lake.
    pub lake: bool,
}

/// All rivers, each from its spring to its end; those that others run into come first.
#[derive(Debug)]
pub(super) struct Curves {
    pub chains: Vec<Vec<Node>>,
    /// For each reach its river and the first and last of its nodes.
    reaches: Vec<(usize, usize, usize)>,
    /// The lines with all their nodes.
    pub lines: Arc<VectorLayer>,
}

/// A river between its vertices as they were drawn.
struct Drawn {
    nodes: Vec<Node>,
    /// The reach that it ends in.
    into: Option<usize>,
}

impl Curves {
    /// From the lines on the recipe's lattice. Heights are held below the ground beside the water.
    pub fn new(
        params: &Rivers,
        base: &Frame,
        ground: &Raster<f32>,
        shores: &Shores,
        lines: &VectorLayer,
    ) -> Self {
        let whole = |name: &str| match lines.feature_attributes().get(name) {
            Some(Column::Integer(all)) => Some(all.as_slice()),
            _ => None,
        };
        let numbers = |name: &str| lines.vertex_numbers(name);
        let (Some(rivers), Some(into), Some(discharge), Some(width), Some(depth)) =
            (whole("river"), whole("into"), numbers("discharge_m3s"), numbers("width_m"), numbers("depth_m"))
        else {
            return Self { chains: Vec::new(), reaches: Vec::new(), lines: Arc::new(lines.clone()) };
        };
        let cell_m = {
            let [dx, dy] = base.spacing_m();
            (dx * dy).sqrt()
        };
        let lake_of = |at: [f64; 2]| {
            let [col, row] = base.locate(at[0], at[1]);
            let near = |at: f64, count: usize| at.round().clamp(0.0, (count - 1) as f64) as usize;
            let cell = near(row, base.rows()) * base.cols() + near(col, base.cols());
            shores.lake_level(cell)
        };
        let mut curves =
            Self { chains: Vec::new(), reaches: Vec::new(), lines: Arc::new(VectorLayer::new(Shape::Lines)) };
        let mut first = 0;
        while first < lines.len() {
            let mut last = first;
            while last + 1 < lines.len() && rivers[last + 1] == rivers[first] {
                last += 1;
            }
            let mut drawn = Drawn { nodes: Vec::new(), into: usize::try_from(into[last]).ok() };
            for reach in first..=last {
                let Some(range) = lines.parts(reach).next() else { continue };
                let begins = drawn.nodes.len().saturating_sub(1);
                // The last vertex of a reach is the first of the next, which has what joins there.
                drawn.nodes.pop();
                for (k, vertex) in range.enumerate() {
                    let [x, y, z] = lines.vertices()[vertex];
                    let node = Node {
                        at: [x, y],
                        z,
                        discharge: discharge[vertex],
                        width: width[vertex],
                        depth: depth[vertex],
                        lake: lake_of([x, y]).is_some_and(|level| (f64::from(level) - z).abs() < 1e-3),
                        ..Node::default()
                    };
                    drawn.divide(node, if k == 0 { f64::INFINITY } else { cell_m / PARTS });
                }
                let ends = drawn.nodes.len().saturating_sub(1);
                curves.reaches.push((curves.chains.len(), begins, ends));
            }
            let chain = curves.finish(drawn, params, base, ground, cell_m);
            curves.chains.push(chain);
            first = last + 1;
        }
        curves.lines = Arc::new(curves.vectors(lines));
        curves
    }

    /// Bytes that it keeps in memory.
    pub fn size_bytes(&self) -> usize {
        let nodes: usize = self.chains.iter().map(Vec::len).sum();
        nodes * size_of::<Node>() + self.lines.size_bytes()
    }

    /// Smooths a line and lays its heights.
    fn finish(
        &self,
        drawn: Drawn,
        params: &Rivers,
        base: &Frame,
        ground: &Raster<f32>,
        cell_m: f64,
    ) -> Vec<Node> {
        let mut nodes = drawn.nodes;
        let count = nodes.len();
        if count < 2 {
            return nodes;
        }
        // Ends lie on the river that they join, as that was smoothed.
        let joined = drawn.into.and_then(|into| {
            let &(chain, begins, _) = self.reaches.get(into)?;
            self.chains.get(chain)?.get(begins).copied()
        });
        if let Some(joined) = joined {
            (nodes[count - 1].at, nodes[count - 1].z) = (joined.at, joined.z);
            nodes[count - 1].lake |= joined.lake;
        }
        let land = |at: [f64; 2]| {
            let [col, row] = base.locate(at[0], at[1]);
            f64::from(ground.bicubic(col, row))
        };
        let rounds = |cells: f64| (2.0 * (cells * PARTS) * (cells * PARTS)).round() as usize;
        let fixed = |_: &Node| false;
        diffuse(&mut nodes, rounds(SMOOTH_CELLS), fixed, |n| n.at[0], |n, x| n.at[0] = x);
        diffuse(&mut nodes, rounds(SMOOTH_CELLS), fixed, |n| n.at[1], |n, y| n.at[1] = y);
        settle(&mut nodes, &land, cell_m);
        // Springs, and what joins on the way, make widths jump.
        diffuse(&mut nodes, 2 * PARTS as usize, fixed, |n| n.width, |n, w| n.width = w);
        diffuse(&mut nodes, 2 * PARTS as usize, fixed, |n| n.depth, |n, d| n.depth = d);

        let sea_m = f64::from(crate::water::sea_level(params.sea));
        // The land so many metres to the left of a node.
        let beside = |nodes: &[Node], i: usize, left_m: f64| {
            let (a, b) = (nodes[i.saturating_sub(1)].at, nodes[(i + 1).min(count - 1)].at);
            let (x, y) = (b[0] - a[0], b[1] - a[1]);
            let length = math::hypot(x, y).max(1e-9);
            land([nodes[i].at[0] - y / length * left_m, nodes[i].at[1] + x / length * left_m])
        };
        let mut floor = joined.map_or(sea_m, |joined| joined.z);
        let mut floors = vec![0.0; count];
        for (node, low) in nodes.iter().zip(&mut floors).rev() {
            if node.lake {
                floor = node.z;
            }
            *low = floor;
        }
        let middle: Vec<f64> = nodes.iter().map(|node| land(node.at)).collect();
        for i in 0..count {
            let node = nodes[i];
            if node.lake || (i + 1 == count && joined.is_some()) {
                continue;
            }
            let wide = 0.5 * node.width + BESIDE_CELLS * cell_m;
            let around = [-wide, -0.5 * wide, 0.5 * wide, wide].map(|off| beside(&nodes, i, off));
            // `min` passes over holes.
            let lowest = around.into_iter().fold(middle[i], f64::min);
            let highest = (lowest + 0.25 + 0.5 * node.depth).max(0.5 * (lowest + sea_m));
            let own = if middle[i].is_finite() {
                params.surface(middle[i], node.depth, sea_m as f32)
            } else {
                node.z
            };
            let z = node.z.min(highest).min(own.max(floors[i]));
            nodes[i].z = if z.is_nan() { node.z } else { z.max(floors[i]) };
        }
        let mut above = f64::INFINITY;
        for node in &mut nodes {
            node.z = if node.lake { node.z } else { node.z.min(above) };
            above = node.z;
        }
        diffuse(&mut nodes, rounds(SMOOTH_FALL_CELLS), |n| n.lake, |n| n.z, |n, z| n.z = z);
        let mut above = f64::INFINITY;
        for (node, middle) in nodes.iter_mut().zip(&middle) {
            // Sums are rounded, falls are not.
            node.z = node.z.min(above);
            above = node.z;
            let cut = if middle.is_finite() { (middle - node.z).max(0.0) } else { 0.0 };
            let bank = BANK[0] * node.width + BANK[1] * node.depth + BANK[2] * cut;
            node.bank = bank.min(params.bank_m).max(1e-3);
            node.valley = (VALLEY_CELLS * cell_m).max(node.bank);
        }
        for i in 0..count {
            let node = nodes[i];
            nodes[i].sides = [1.0, -1.0].map(|side| {
                let rise = |far: f64| (beside(&nodes, i, side * (0.5 * node.width + far)) - node.z) / far;
                // Two places, so that no single pit or hump counts alone.
                let slope = 0.5 * (rise(node.valley) + rise(0.7 * node.valley));
                if slope.is_finite() { slope.max(0.0) } else { 0.0 }
            });
        }
        for i in 0..count {
            let (a, b) = (nodes[i.saturating_sub(1)].at, nodes[(i + 1).min(count - 1)].at);
            let length = math::hypot(b[0] - a[0], b[1] - a[1]).max(1e-9);
            nodes[i].along = [(b[0] - a[0]) / length, (b[1] - a[1]) / length];
        }
        let rounds = rounds(SMOOTH_SIDES_CELLS);
        diffuse(&mut nodes, rounds, fixed, |n| n.bank, |n, b| n.bank = b);
        diffuse(&mut nodes, rounds, fixed, |n| n.sides[0], |n, s| n.sides[0] = s);
        diffuse(&mut nodes, rounds, fixed, |n| n.sides[1], |n, s| n.sides[1] = s);
        nodes
    }

    /// The lines with all their nodes, and what is known of the reaches.
    fn vectors(&self, lines: &VectorLayer) -> VectorLayer {
        let mut layer = VectorLayer::new(Shape::Lines);
        let of = |&(chain, begins, ends): &(usize, usize, usize)| {
            self.chains[chain].get(begins..=ends).unwrap_or_default()
        };
        for reach in &self.reaches {
            layer.push(of(reach).iter().map(|node| [node.at[0], node.at[1], node.z]));
        }
        let every = |of_node: &dyn Fn(&Node) -> f64| {
            Column::Number(self.reaches.iter().flat_map(|reach| of(reach).iter().map(of_node)).collect())
        };
        let mut fits = layer.set_vertex_attribute("discharge_m3s", every(&|n| n.discharge))
            && layer.set_vertex_attribute("width_m", every(&|n| n.width))
            && layer.set_vertex_attribute("depth_m", every(&|n| n.depth));
        for (name, column) in lines.feature_attributes() {
            fits &= layer.set_feature_attribute(name, column.clone());
        }
        debug_assert!(fits, "one entry a line or node");
        layer
    }
}

impl Drawn {
    /// Goes on to a node, by pieces of at most so many metres.
    fn divide(&mut self, to: Node, step_m: f64) {
        if let Some(&from) = self.nodes.last() {
            let length = math::hypot(to.at[0] - from.at[0], to.at[1] - from.at[1]);
            let pieces = (length / step_m).ceil().clamp(1.0, 64.0) as usize;
            for k in 1..pieces {
                let share = k as f64 / pieces as f64;
                let mix = |a: f64, b: f64| a + (b - a) * share;
                self.nodes.push(Node {
                    at: [mix(from.at[0], to.at[0]), mix(from.at[1], to.at[1])],
                    z: mix(from.z, to.z),
                    discharge: mix(from.discharge, to.discharge),
                    width: mix(from.width, to.width),
                    depth: mix(from.depth, to.depth),
                    lake: from.lake && to.lake,
                    ..Node::default()
                });
            }
        }
        self.nodes.push(to);
    }
}

/// Moves a line sideways to the floor of its valley, where it has one: on plains it stays.
fn settle(nodes: &mut [Node], land: &dyn Fn([f64; 2]) -> f64, cell_m: f64) {
    let count = nodes.len();
    let far = FLOOR_CELLS * cell_m;
    for _ in 0..SETTLES {
        let moved: Vec<Node> = (0..count)
            .map(|i| {
                let (a, b) = (nodes[i.saturating_sub(1)].at, nodes[(i + 1).min(count - 1)].at);
                let (x, y) = (b[0] - a[0], b[1] - a[1]);
                let length = math::hypot(x, y).max(1e-9);
                let (left, at) = ([-y / length, x / length], nodes[i].at);
                let ground = |by: f64| land([at[0] + left[0] * by, at[1] + left[1] * by]);
                let [l, m, r] = [far, 0.0, -far].map(ground);
                let bend = l - 2.0 * m + r;
                let to = if bend > 0.0 {
                    (0.5 * far * (r - l) / bend).clamp(-far, far)
                } else {
                    far.copysign(r - l)
                };
                let steep = f64::from(math::smoothstep(
                    FLOOR[0],
                    FLOOR[1],
                    ((l.max(r) - m.min(l).min(r)) / far) as f32,
                ));
                let to = if to.is_finite() && !nodes[i].lake { 0.7 * steep * to } else { 0.0 };
                Node { at: [left[0] * to, left[1] * to], ..nodes[i] }
            })
            .collect();
        let mut moved = moved;
        for end in [0, count - 1] {
            moved[end].at = [0.0; 2];
        }
        let rounds = (2.0 * (0.5 * PARTS) * (0.5 * PARTS)) as usize;
        diffuse(&mut moved, rounds, |n| n.lake, |n| n.at[0], |n, x| n.at[0] = x);
        diffuse(&mut moved, rounds, |n| n.lake, |n| n.at[1], |n, y| n.at[1] = y);
        for (node, by) in nodes.iter_mut().zip(&moved) {
            node.at = [node.at[0] + by.at[0], node.at[1] + by.at[1]];
        }
        diffuse(nodes, PARTS as usize, |n| n.lake, |n| n.at[0], |n, x| n.at[0] = x);
        diffuse(nodes, PARTS as usize, |n| n.lake, |n| n.at[1], |n, y| n.at[1] = y);
    }
}

/// Rounds of averaging with the neighbours along a line; the ends and what is fixed stay. What falls goes on falling.
fn diffuse(
    nodes: &mut [Node],
    rounds: usize,
    fixed: impl Fn(&Node) -> bool,
    get: impl Fn(&Node) -> f64,
    set: impl Fn(&mut Node, f64),
) {
    let count = nodes.len();
    let mut now: Vec<f64> = nodes.iter().map(&get).collect();
    let mut next = now.clone();
    let free: Vec<bool> =
        nodes.iter().enumerate().map(|(i, node)| i > 0 && i + 1 < count && !fixed(node)).collect();
    for _ in 0..rounds {
        for i in (1..count.max(1) - 1).filter(|&i| free[i]) {
            next[i] = 0.5 * now[i] + 0.25 * (now[i - 1] + now[i + 1]);
        }
        std::mem::swap(&mut now, &mut next);
    }
    nodes.iter_mut().zip(now).for_each(|(node, value)| set(node, value));
}
