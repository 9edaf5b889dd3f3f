//! The rivers as lines with attributes.

use orogen_core::math;
use orogen_core::vector::{Column, Shape, VectorLayer};

use super::Rivers;
use super::course::Courses;
use super::grid::Grid;
use super::profile::Profiles;

/// A vertex of a reach.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Vertex {
    /// Column and row, as fractions.
    pub at: [f64; 2],
    /// Height of the water, in metres.
    pub z_m: f64,
    /// Discharge, in cubic metres a second.
    pub discharge_m3s: f64,
    /// Width, in metres.
    pub width_m: f64,
    /// Depth, in metres.
    pub depth_m: f64,
}

/// A river between two junctions.
#[derive(Clone, Debug, PartialEq)]
pub struct Reach {
    /// From upstream down; the last vertex is also the first of the next reach.
    pub vertices: Vec<Vertex>,
    /// Number of the reach that it runs into, if any.
    pub into: Option<usize>,
    /// Number of the river: the same from its spring to its end.
    pub river: usize,
    /// Strahler order.
    pub order: u8,
}

/// All rivers of a map: those that drain most first, each from its spring down.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Network {
    /// The reaches; their numbers are their ids.
    pub reaches: Vec<Reach>,
}

impl Network {
    pub(super) fn new(
        grid: &Grid,
        courses: &Courses,
        profiles: &Profiles,
        params: &Rivers,
        per_part: f64,
    ) -> Self {
        // Where the reaches of each line begin, and the number of its first.
        let mut starts: Vec<Vec<usize>> = Vec::with_capacity(profiles.len());
        let mut first = Vec::with_capacity(profiles.len());
        let mut count = 0;
        for (line, profile) in courses.lines.iter().zip(profiles) {
            let mut at = Vec::new();
            if profile.len() >= 2 {
                // The last vertex of a line that ends there begins nothing.
                let end = if line.join.is_some() { profile.len() } else { profile.len() - 1 };
                at = (0..end).filter(|&i| i == 0 || profile[i].junction).collect();
            }
            first.push(count);
            count += at.len();
            starts.push(at);
        }
        let mut reaches = Vec::with_capacity(count);
        for (number, (line, profile)) in courses.lines.iter().zip(profiles).enumerate() {
            for (k, &from) in starts[number].iter().enumerate() {
                let last = k + 1 == starts[number].len();
                let to = if last { profile.len() - 1 } else { starts[number][k + 1] };
                let vertex = |i: usize, water: u64| {
                    let discharge = water as f64 * per_part;
                    Vertex {
                        at: grid.column_row(line.vertices[i].at),
                        z_m: f64::from(profile[i].z),
                        discharge_m3s: discharge,
                        width_m: params.width_of(discharge),
                        depth_m: params.depth_of(discharge),
                    }
                };
                let mut vertices: Vec<Vertex> = (from..=to)
                    .map(|i| {
                        // At its lower end a reach has not yet what joins there.
                        let before = i == to && i > from && (!last || line.join.is_none());
                        vertex(i, if before { profile[i].before } else { profile[i].water })
                    })
                    .collect();
                let into = match line.join {
                    _ if !last => Some(first[number] + k + 1),
                    Some((river, at)) => {
                        let end = vertices[vertices.len() - 1];
                        let [at_place, z] =
                            [courses.lines[river].vertices[at].at, [f64::from(profiles[river][at].z); 2]];
                        vertices.push(Vertex { at: grid.column_row(at_place), z_m: z[0], ..end });
                        starts[river].binary_search(&at).ok().map(|k| first[river] + k)
                    }
                    None => None,
                };
                reaches.push(Reach { vertices, into, river: number, order: profile[from].order });
            }
        }
        Self { reaches }
    }

    /// How many reaches there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.reaches.len()
    }

    /// Whether there is no river.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.reaches.is_empty()
    }

    /// Length of all reaches together, in metres.
    #[must_use]
    pub fn length_m(&self, [dx, dy]: [f64; 2]) -> f64 {
        let length = |pair: &[Vertex]| {
            math::hypot((pair[1].at[0] - pair[0].at[0]) * dx, (pair[1].at[1] - pair[0].at[1]) * dy)
        };
        self.reaches.iter().map(|reach| reach.vertices.windows(2).map(length).sum::<f64>()).sum()
    }

    /// The largest discharge, in cubic metres a second.
    #[must_use]
    pub fn largest_m3s(&self) -> f64 {
        self.reaches.iter().flat_map(|r| &r.vertices).map(|v| v.discharge_m3s).fold(0.0, f64::max)
    }

    /// As vectors, given where a column and row lie.
    #[must_use]
    pub fn vectors(&self, place: impl Fn([f64; 2]) -> [f64; 2]) -> VectorLayer {
        let mut layer = VectorLayer::new(Shape::Lines);
        for reach in &self.reaches {
            layer.push(reach.vertices.iter().map(|v| {
                let [x, y] = place(v.at);
                [x, y, v.z_m]
            }));
        }
        let whole = |of: &dyn Fn(usize, &Reach) -> i64| {
            Column::Integer(self.reaches.iter().enumerate().map(|(i, reach)| of(i, reach)).collect())
        };
        let lower = |of: &dyn Fn(&Vertex) -> f64| {
            Column::Number(self.reaches.iter().map(|reach| reach.vertices.last().map_or(0.0, of)).collect())
        };
        let every = |of: &dyn Fn(&Vertex) -> f64| {
            Column::Number(self.reaches.iter().flat_map(|reach| reach.vertices.iter().map(of)).collect())
        };
        type Of = fn(&Vertex) -> f64;
        let numbers: [(&str, Of); 3] =
            [("discharge_m3s", |v| v.discharge_m3s), ("width_m", |v| v.width_m), ("depth_m", |v| v.depth_m)];
        let mut fits = layer.set_feature_attribute("id", whole(&|i, _| i as i64))
            && layer.set_feature_attribute("into", whole(&|_, reach| reach.into.map_or(-1, |i| i as i64)))
            && layer.set_feature_attribute("river", whole(&|_, reach| reach.river as i64))
            && layer.set_feature_attribute("order", whole(&|_, reach| i64::from(reach.order)));
        for (name, of) in numbers {
            fits &=
                layer.set_feature_attribute(name, lower(&of)) && layer.set_vertex_attribute(name, every(&of));
        }
        debug_assert!(fits, "one entry a line or vertex");
        layer
    }
}
