//! Mask by polygon: what lies inside an outline.

use orogen_core::math::smoothstep;
use orogen_core::param::{Fault, Segment};
use orogen_core::{
    Ctx, Footprint, Frame, LayerData, LayerName, Layers, Op, OpError, Raster, Reach, Terrain, layer,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::brush::{Near, Path, changed};

/// Marks what lies inside polygons, with soft edges outside.
///
/// ```text
/// mask = 1 inside, else s(1 − d/f)        d: distance to the outline, f: falloff_m, s(t) = t²(3 − 2t)
/// ```
///
/// A place is inside when a line from it to the far west crosses the outlines an odd number of times, so a ring inside a
/// ring makes a hole, and where two polygons overlap there is a gap.
///
/// **Guarantees** (1) every result lies in 0 to 1; (2) inside it is exactly 1, further than `falloff_m` outside exactly
/// 0; (3) without falloff the mask is 0 or 1, and two polygons that share an edge mark every sample once; (4) outlines
/// are in metres: the same mask at any number of samples.
///
/// **Limits** It needs no layer and has no holes. Time goes by the number of edges that a row meets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Polygon {
    /// The outlines, each a ring of three or more corners, (x, y) each; the last corner joins the first.
    #[schemars(
        length(max = 10_000),
        inner(length(min = 3, max = 100_000), inner(inner(range(min = -1e9, max = 1e9)))),
        extend("x-unit" = "m")
    )]
    pub rings_m: Vec<Vec<[f64; 2]>>,
    /// Distance over which the mask fades from 1 to 0 outside the outline.
    #[schemars(range(min = 0.0, max = 1e6), extend("x-unit" = "m", "x-slider" = [0.0, 1000.0]))]
    pub falloff_m: f64,
    /// Marks the outside.
    pub invert: bool,
    /// Layer that receives the mask.
    pub to: LayerName,
}

impl Default for Polygon {
    fn default() -> Self {
        Self { rings_m: Vec::new(), falloff_m: 50.0, invert: false, to: layer::MASK.name() }
    }
}

impl Op for Polygon {
    const ID: &'static str = "mask.polygon";
    const VERSION: u32 = 1;

    fn layers(&self) -> Layers {
        Layers::none().writing([self.to.clone()])
    }

    fn reach(&self, _: &Frame) -> Reach {
        Reach::Point
    }

    fn endless(&self) -> bool {
        true
    }

    fn faults(&self) -> Vec<Fault> {
        let short = self.rings_m.iter().enumerate().filter(|(_, ring)| ring.len() < 3);
        short
            .map(|(i, ring)| Fault {
                path: vec![Segment::Key(String::from("rings_m")), Segment::Index(i)],
                message: format!("a ring needs at least 3 corners, found {}", ring.len()),
            })
            .collect()
    }

    fn footprint(&self, old: &Self, _: &Frame) -> Footprint {
        if self.invert != old.invert {
            return Footprint::Everything;
        }
        let falloff_m = self.falloff_m.max(old.falloff_m);
        let rings: Vec<_> = if self.falloff_m == old.falloff_m {
            changed(&old.rings_m, &self.rings_m)
        } else {
            self.rings_m.iter().chain(&old.rings_m).collect()
        };
        Footprint::of(rings.iter().map(|ring| Path::new(ring, true, falloff_m).extent()))
    }

    fn run(&self, mut terrain: Terrain, ctx: &Ctx<'_>) -> Result<Terrain, OpError> {
        let frame = *terrain.frame();
        let falloff = self.falloff_m as f32;
        let edges: Vec<[[f64; 2]; 2]> = self
            .rings_m
            .iter()
            .flat_map(|ring| (0..ring.len()).map(|i| [ring[i], ring[(i + 1) % ring.len()]]))
            .collect();
        let outlines: Vec<_> = self
            .rings_m
            .iter()
            .filter(|_| falloff > 0.0)
            .filter_map(|ring| {
                let path = Path::new(ring, true, self.falloff_m);
                let (cols, rows) = path.touches(&frame)?;
                Some((path, cols, rows))
            })
            .collect();
        let counter = ctx.counter(frame.rows());
        let mut mask = Raster::filled(frame.cols(), frame.rows(), 0.0f32);
        mask.try_par_rows(|row, values| {
            let mut near = Near::default();
            for (path, cols, rows) in &outlines {
                if !rows.contains(&row) {
                    continue;
                }
                path.nearest(&frame, row, cols.clone(), &mut near);
                for (value, distance2) in values[cols.clone()].iter_mut().zip(&near.distance2) {
                    *value = value.max(1.0 - smoothstep(0.0, falloff, distance2.sqrt()));
                }
            }
            fill(&edges, &frame, row, values);
            if self.invert {
                values.iter_mut().for_each(|value| *value = 1.0 - *value);
            }
            counter.done()
        })?;
        terrain.set_named(self.to.clone(), LayerData::F32(mask.into()));
        Ok(terrain)
    }
}

/// Sets what lies between the first and second, third and fourth, ... crossing of a row with the edges to 1.
pub(crate) fn fill(edges: &[[[f64; 2]; 2]], frame: &Frame, row: usize, values: &mut [f32]) {
    let y = frame.y_m(row);
    let mut crossings: Vec<f64> = edges
        .iter()
        // The lower end belongs to an edge and the upper does not, so a corner counts once.
        .filter(|[a, b]| (a[1] <= y) != (b[1] <= y))
        .map(|[a, b]| {
            // From the lower end, so that the same edge walked either way crosses at the same bits.
            let (low, high) = if a[1] < b[1] { (a, b) } else { (b, a) };
            low[0] + (y - low[1]) / (high[1] - low[1]) * (high[0] - low[0])
        })
        .collect();
    crossings.sort_by(f64::total_cmp);
    for pair in crossings.chunks_exact(2) {
        let first = column_from(frame, pair[0], values.len());
        let end = column_from(frame, pair[1], values.len());
        values[first.min(end)..end].fill(1.0);
    }
}

/// The first column at or east of a place; found by position, so that every window agrees.
fn column_from(frame: &Frame, x_m: f64, cols: usize) -> usize {
    let guess = frame.locate(x_m, 0.0)[0].ceil().clamp(0.0, cols as f64) as usize;
    let mut col = guess.saturating_sub(2);
    while col < cols && frame.x_m(col) < x_m {
        col += 1;
    }
    col
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::{assert_footprint, assert_windows, place};

    fn mask(op: &Polygon) -> Raster<f32> {
        let terrain = Terrain::new(Frame::square(1000.0, 101).unwrap());
        op.apply(terrain, &Ctx::silent()).unwrap().get(layer::MASK).unwrap().clone()
    }

    fn square(from: f64, to: f64) -> Vec<[f64; 2]> {
        vec![[from, from], [to, from], [to, to], [from, to]]
    }

    #[test]
    fn a_ring_in_a_ring_is_a_hole_and_edges_fade_outside() {
        let op = Polygon { rings_m: vec![square(205.0, 805.0), square(405.0, 605.0)], ..Polygon::default() };
        let mask = mask(&op);
        let at = |x: usize, y: usize| mask.row(100 - y)[x];
        assert_eq!((at(30, 30), at(50, 50), at(10, 50)), (1.0, 0.0, 0.0));
        assert!((at(18, 50) - 0.5).abs() < 1e-3, "25 of 50 m outside: {}", at(18, 50));
        assert!((at(43, 50) - 0.5).abs() < 1e-3, "25 of 50 m inside the hole: {}", at(43, 50));
    }

    #[test]
    fn polygons_that_share_an_edge_mark_every_sample_once() {
        let corners = [[100.0, 100.0], [900.0, 150.0], [850.0, 900.0], [120.0, 870.0]];
        let middle = [470.0, 520.0];
        let whole = Polygon { rings_m: vec![corners.to_vec()], falloff_m: 0.0, ..Polygon::default() };
        let mut sum = vec![0.0; 101 * 101];
        for i in 0..4 {
            let ring = vec![corners[i], corners[(i + 1) % 4], middle];
            let part = mask(&Polygon { rings_m: vec![ring], ..whole.clone() });
            sum.iter_mut().zip(part.as_slice()).for_each(|(sum, value)| *sum += value);
        }
        assert_eq!(sum, mask(&whole).as_slice());
    }

    #[test]
    fn windows_equal_the_whole() {
        let ring = vec![place(0.1, 0.1), place(0.9, 0.3), place(0.6, 0.5), place(0.7, 0.95), place(0.2, 0.8)];
        for invert in [false, true] {
            assert_windows(&Polygon { rings_m: vec![ring.clone()], invert, ..Polygon::default() });
        }
    }

    #[test]
    fn a_ring_of_two_corners_is_refused() {
        let op = Polygon { rings_m: vec![vec![[0.0, 0.0], [1.0, 1.0]]], ..Polygon::default() };
        assert_eq!(op.faults()[0].to_string(), "rings_m[0]: a ring needs at least 3 corners, found 2");
    }

    #[test]
    fn an_edit_changes_nothing_outside_its_footprint() {
        let ring = |x: f64| vec![place(x, 0.2), place(x + 0.2, 0.2), place(x + 0.1, 0.5)];
        for invert in [false, true] {
            let polygon = |rings_m| Polygon { rings_m, falloff_m: 30.0, invert, ..Polygon::default() };
            let before = polygon(vec![ring(0.1), ring(0.25), ring(0.6)]);
            assert_footprint(&before, &polygon(vec![ring(0.1), ring(0.2), ring(0.6)]), 0.4);
            assert_footprint(&before, &polygon(vec![ring(0.1), ring(0.25)]), 0.4);
            let wide = Polygon { falloff_m: 60.0, ..before.clone() };
            assert_footprint(&before, &wide, 0.9);
        }
    }
}
