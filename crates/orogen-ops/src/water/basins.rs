//! Basins: the land that drains to each outlet.

use orogen_core::param::{Fault, Segment};
use orogen_core::vector::{Column, Point, Shape, VectorLayer};
use orogen_core::{Ctx, Frame, Layers, Op, OpError, Raster, Reach, Terrain, layer};
use rayon::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::sea_level;
use crate::drainage::catchment::{catchments, snap};
use crate::drainage::outline::outlines;
use crate::drainage::{Drainage, area, drainage};

/// Numbers the drainage basins of the land in the layer `basin`, and draws their outlines as the vectors `basins`.
///
/// Every sample belongs to the outlet that its water leaves by: at the edge of the map, beside a hole or into the sea; depressions
/// drain over their lowest passes. With `places_m` the basins are those of given places instead, each up to the next place
/// upstream.
///
/// **Guarantees** (1) basins are numbered from 1 in the order of their outlets, north to south and then west to east, or
/// in the order of `places_m`; 0 is sea, holes and land in no basin; (2) as many samples have a number as drain
/// through its outlet (less those of places upstream); (3) outlines run along the edges between samples, each with the area
/// inside it as `area_m2`. Samples of a basin that meet at a corner only have outlines of their own: these share `basin`, the
/// number, and `basin_m2`, the area of all of them together.
///
/// **Limits** Divides belong to a resolution: they move by a sample or two, small basins come and go about
/// `min_area_m2`, and the numbers that follow shift.
///
/// **After** the same drainage as `water.flow`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Basins {
    /// Smallest basin that gets a number.
    #[schemars(range(min = 0.0, max = 1e15), extend("x-unit" = "m2", "x-slider" = [0.0, 1e7]))]
    pub min_area_m2: f64,
    /// Outlets to use, (x, y) each; empty for all places where water leaves.
    #[schemars(
        length(max = 100_000),
        inner(inner(range(min = -1e9, max = 1e9))),
        extend("x-unit" = "m")
    )]
    pub places_m: Vec<[f64; 2]>,
    /// How far a place may move to the sample of the most flow.
    #[schemars(range(min = 0.0, max = 1e5), extend("x-unit" = "m", "x-slider" = [0.0, 500.0]))]
    pub snap_m: f64,
    /// Whether land at or below sea level (0 m) is sea, where water leaves.
    pub sea: bool,
}

impl Default for Basins {
    fn default() -> Self {
        Self { min_area_m2: 250_000.0, places_m: Vec::new(), snap_m: 100.0, sea: true }
    }
}

/// The vectors that hold the outlines.
pub const BASINS: &str = "basins";

impl Op for Basins {
    const ID: &'static str = "water.basins";
    const VERSION: u32 = 3;
    const PREVIEW_RMSE: f64 = 0.08;

    fn layers(&self) -> Layers {
        Layers::none()
            .reading([layer::HEIGHT.name()])
            .deriving([layer::BASIN.name()], [layer::HEIGHT.name()])
            .deriving_vectors([BASINS], [layer::HEIGHT.name()])
    }

    fn reach(&self, _: &Frame) -> Reach {
        Reach::World
    }

    fn bytes_a_sample(&self, _: &Frame) -> f64 {
        10.0
    }

    fn faults(&self) -> Vec<Fault> {
        let bad = self.places_m.iter().enumerate().filter(|(_, [x, y])| !(x.is_finite() && y.is_finite()));
        bad.map(|(i, [x, y])| Fault {
            path: vec![Segment::Key(String::from("places_m")), Segment::Index(i)],
            message: format!("{x}, {y} is not a valid place in metres"),
        })
        .collect()
    }

    fn run(&self, mut terrain: Terrain, ctx: &Ctx<'_>) -> Result<Terrain, OpError> {
        let frame = *terrain.frame();
        let height = terrain.get(layer::HEIGHT)?;
        let sea_m = sea_level(self.sea);
        let found = drainage(height, frame.spacing_m(), sea_m, ctx)?;
        let basins = if self.places_m.is_empty() {
            let [dx, dy] = frame.spacing_m();
            natural(height, &found, sea_m, self.min_area_m2 / (dx * dy))
        } else {
            let cells = self.cells(&frame)?;
            of_places(height, &found, sea_m, frame.spacing_m(), &cells, self.snap_m)
        };
        drop(found);
        let [dx, dy] = frame.spacing_m();
        let (west, north) = (frame.x_m(0), frame.y_m(0));
        let outlines = basins.vectors([dx, dy], |[col, row]| [west + col * dx, north - row * dy]);
        ctx.report("basins", basins.outlets.len() as f64, "");
        terrain.set(layer::BASIN, basins.labels);
        terrain.set_vector(BASINS, outlines);
        Ok(terrain)
    }
}

impl Basins {
    /// The samples nearest to the places.
    fn cells(&self, frame: &Frame) -> Result<Vec<[usize; 2]>, OpError> {
        let inside = |(i, &[x, y]): (usize, &[f64; 2])| {
            let [col, row] = frame.locate(x, y).map(f64::round);
            let on = (0.0..frame.cols() as f64).contains(&col) && (0.0..frame.rows() as f64).contains(&row);
            on.then_some([col as usize, row as usize]).ok_or_else(|| {
                let (low, high) = (frame.extent().min, frame.extent().max);
                OpError::Failed(format!(
                    "places_m[{i}] ({x}, {y}) is outside the land, which reaches from ({}, {}) to ({}, {})",
                    low[0], low[1], high[0], high[1]
                ))
            })
        };
        self.places_m.iter().enumerate().map(inside).collect()
    }
}

/// Basins by number.
#[derive(Clone, Debug, PartialEq)]
pub struct Numbered {
    /// The number of each cell, from 1; 0 for none.
    pub labels: Raster<u32>,
    /// The outlet of each basin; the first is that of number 1.
    pub outlets: Vec<usize>,
    /// How many cells each basin has.
    pub cells: Vec<usize>,
}

impl Numbered {
    /// Outlines with the attributes `basin`, `area_m2` (inside the outline), `basin_m2` (of all outlines of the basin),
    /// `outlet_x` and `outlet_y`; `place` turns columns and rows into coordinates.
    #[must_use]
    pub fn vectors(&self, [dx, dy]: [f64; 2], place: impl Fn([f64; 2]) -> [f64; 2]) -> VectorLayer {
        let mut vectors = VectorLayer::new(Shape::Polygons);
        let (mut numbers, mut areas, mut of_basins) = (Vec::new(), Vec::new(), Vec::new());
        let mut outlets = [Vec::new(), Vec::new()];
        let cols = self.labels.cols();
        for piece in outlines(&self.labels) {
            let point = |at: &[f64; 2]| -> Point {
                let [x, y] = place(*at);
                [x, y, 0.0]
            };
            vectors.push_parts(piece.rings.iter().map(|ring| ring.iter().map(point).collect::<Vec<_>>()));
            let index = piece.label as usize - 1;
            numbers.push(i64::from(piece.label));
            areas.push(piece.cells as f64 * dx * dy);
            of_basins.push(self.cells[index] as f64 * dx * dy);
            let outlet = self.outlets[index];
            let [x, y] = place([(outlet % cols) as f64, (outlet / cols) as f64]);
            outlets[0].push(x);
            outlets[1].push(y);
        }
        let [x, y] = outlets;
        // One entry for each piece, so all fit.
        let _ = vectors.set_feature_attribute("basin", Column::Integer(numbers));
        let _ = vectors.set_feature_attribute("area_m2", Column::Number(areas));
        let _ = vectors.set_feature_attribute("basin_m2", Column::Number(of_basins));
        let _ = vectors.set_feature_attribute("outlet_x", Column::Number(x));
        let _ = vectors.set_feature_attribute("outlet_y", Column::Number(y));
        vectors
    }
}

/// The basins of all outlets of a map that have at least so many cells, numbered in the order of their outlets.
#[must_use]
pub fn natural(height: &Raster<f32>, found: &Drainage, sea_m: f32, least_cells: f64) -> Numbered {
    let h = height.as_slice();
    let dry = |cell: usize| h[cell] > sea_m;
    // The last dry cell: at the edge, beside a hole, or before the sea.
    let is_outlet = |cell: usize| dry(cell) && found.ways.next(cell).is_none_or(|next| !dry(next));
    let outlets: Vec<usize> =
        (0..h.len()).into_par_iter().with_min_len(1 << 14).filter(|&cell| is_outlet(cell)).collect();
    let number = |cell: usize| {
        if !dry(cell) {
            return Some(0);
        }
        is_outlet(cell).then(|| outlets.binary_search(&cell).map_or(0, |i| i as u32 + 1))
    };
    let labels = catchments(&found.ways, number);
    let counts = counted(&labels, outlets.len());
    let mut kept = Numbered { labels, outlets: Vec::new(), cells: Vec::new() };
    let mut renumbered = vec![0u32; outlets.len() + 1];
    for (i, (&outlet, &count)) in outlets.iter().zip(&counts).enumerate() {
        if count as f64 >= least_cells {
            kept.outlets.push(outlet);
            kept.cells.push(count);
            renumbered[i + 1] = kept.outlets.len() as u32;
        }
    }
    kept.labels.par_rows(|_, row| row.iter_mut().for_each(|label| *label = renumbered[*label as usize]));
    kept
}

/// The basins of given cells, each moved to the largest flow within a distance; numbered in their order. Where two end
/// at one cell, the first has the basin.
#[must_use]
pub fn of_places(
    height: &Raster<f32>,
    found: &Drainage,
    sea_m: f32,
    spacing_m: [f64; 2],
    places: &[[usize; 2]],
    snap_m: f64,
) -> Numbered {
    let area = area::cells(&found.ways, &found.ways.donors());
    let dry = |cell: usize| height.as_slice()[cell] > sea_m;
    let outlets: Vec<usize> =
        places.iter().map(|&place| snap(&area, spacing_m, place, snap_m, dry)).collect();
    let mut stops: Vec<(usize, u32)> =
        outlets.iter().zip(1..).map(|(&cell, number)| (cell, number)).collect();
    stops.sort_unstable();
    stops.dedup_by_key(|stop| stop.0);
    let number = |cell: usize| {
        if !dry(cell) {
            return Some(0);
        }
        stops.binary_search_by_key(&cell, |stop| stop.0).ok().map(|i| stops[i].1)
    };
    let labels = catchments(&found.ways, number);
    let cells = counted(&labels, outlets.len());
    Numbered { labels, outlets, cells }
}

fn counted(labels: &Raster<u32>, most: usize) -> Vec<usize> {
    let mut counts = vec![0; most + 1];
    labels.as_slice().iter().for_each(|&label| counts[label as usize] += 1);
    counts.split_off(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support;

    fn made(op: &Basins, height: Raster<f32>, size_m: [f64; 2]) -> Result<Terrain, OpError> {
        let frame = Frame::new([0.0, 0.0], size_m, [height.cols().max(2), height.rows().max(2)]).unwrap();
        let mut terrain = Terrain::new(frame.window(0, 0, height.cols(), height.rows()));
        terrain.set(layer::HEIGHT, height);
        op.apply(terrain, &Ctx::silent())
    }

    fn basin(terrain: &Terrain) -> &[u32] {
        terrain.get(layer::BASIN).unwrap().as_slice()
    }

    #[test]
    fn every_sample_has_the_number_of_the_outlet_that_it_drains_to() {
        let mut height = test_support::rough(90, 70);
        height.as_mut_slice()[3000] = f32::NAN;
        let op = Basins { min_area_m2: 6_000.0, ..Basins::default() };
        let terrain = made(&op, height.map(|h| h - 30.0), [890.0, 690.0]).unwrap();
        let height = terrain.get(layer::HEIGHT).unwrap();
        let found = drainage(height, [10.0, 10.0], 0.0, &Ctx::silent()).unwrap();
        let mut counts = std::collections::BTreeMap::new();
        for (cell, &number) in basin(&terrain).iter().enumerate() {
            let here = height.as_slice()[cell];
            if here.is_nan() || here <= 0.0 {
                assert_eq!(number, 0);
                continue;
            }
            *counts.entry(number).or_insert(0) += 1;
            if let Some(next) = found.ways.next(cell)
                && height.as_slice()[next] > 0.0
            {
                assert_eq!(basin(&terrain)[next], number, "{cell} drains to {next}");
            }
        }
        let numbers: Vec<u32> = counts.keys().copied().collect();
        assert!(numbers.len() > 4, "{numbers:?}");
        assert_eq!(numbers, (0..numbers.len() as u32).collect::<Vec<_>>());
        assert!(counts.iter().all(|(number, count)| *number == 0 || *count >= 60));
        // Outlines have the areas of the basins.
        let outlines = terrain.vector(BASINS).unwrap();
        let areas = outlines.numbers("basin_m2").unwrap();
        let Column::Integer(ids) = &outlines.feature_attributes()["basin"] else { panic!("no numbers") };
        for (id, area) in ids.iter().zip(areas) {
            assert_eq!(*area, f64::from(counts[&(*id as u32)]) * 100.0);
        }
    }

    #[test]
    fn outlines_of_one_basin_each_have_their_own_area() {
        // Two fields that meet at a corner, over which one drains into the other.
        let labels = Raster::from_fn(6, 5, |col, row| u32::from((col < 2) == (row < 2)));
        let numbered = Numbered { labels, outlets: vec![29], cells: vec![16] };
        let outlines = numbered.vectors([10.0, 10.0], |at| at);
        assert_eq!(outlines.len(), 2);
        assert_eq!(outlines.numbers("area_m2").unwrap(), [400.0, 1200.0]);
        assert_eq!(outlines.numbers("basin_m2").unwrap(), [1600.0, 1600.0]);
        let Column::Integer(ids) = &outlines.feature_attributes()["basin"] else { panic!("no numbers") };
        assert_eq!(ids, &[1, 1]);
        // On land of noise the areas of all outlines of a basin add up to that of the basin.
        let op = Basins { min_area_m2: 0.0, ..Basins::default() };
        let at_random = |col: usize, row: usize| orogen_core::Seed(5).unit2(col as i64, row as i64) as f32;
        let noise = Raster::from_fn(90, 70, |col, row| 1.0 + 100.0 * at_random(col, row));
        let terrain = made(&op, noise, [890.0, 690.0]).unwrap();
        let outlines = terrain.vector(BASINS).unwrap();
        let Column::Integer(ids) = &outlines.feature_attributes()["basin"] else { panic!("no numbers") };
        let (areas, whole) = (outlines.numbers("area_m2").unwrap(), outlines.numbers("basin_m2").unwrap());
        let mut sums = std::collections::BTreeMap::new();
        ids.iter().zip(areas).for_each(|(id, area)| *sums.entry(*id).or_insert(0.0) += area);
        assert!(sums.len() > 20, "{} basins", sums.len());
        ids.iter().zip(whole).for_each(|(id, whole)| assert_eq!(sums[id], *whole));
    }

    #[test]
    fn places_cut_basins_into_parts() {
        // A valley that drains to the south.
        let height = Raster::from_fn(21, 30, |col, row| 5.0 * (col as f32 - 10.0).abs() - row as f32 + 100.0);
        let at = |col: f64, row: f64| [col * 10.0, (29.0 - row) * 10.0];
        let op = Basins { places_m: vec![at(12.0, 25.0), at(9.0, 10.0)], snap_m: 30.0, ..Basins::default() };
        let terrain = made(&op, height.clone(), [200.0, 290.0]).unwrap();
        let numbers = basin(&terrain);
        let count = |wanted: u32| numbers.iter().filter(|number| **number == wanted).count();
        // Each is moved to the largest flow in reach: downstream on the floor.
        assert_eq!(numbers[10], 2);
        assert_eq!(numbers[20 * 21 + 10], 1);
        assert_eq!(numbers[29 * 21 + 10], 0);
        assert!(count(1) > 100 && count(2) > 100);
        let outside = Basins { places_m: vec![[-50.0, 0.0]], ..op };
        let message = made(&outside, height, [200.0, 290.0]).unwrap_err().to_string();
        assert!(message.contains("places_m[0]") && message.contains("outside"), "{message}");
    }

    #[test]
    fn odd_land() {
        for (cols, rows) in [(1, 1), (2, 2), (1, 9), (9, 1), (6, 5)] {
            let all = Basins { min_area_m2: 0.0, ..Basins::default() };
            let flat = made(&all, Raster::filled(cols, rows, 3.0), [80.0, 80.0]).unwrap();
            assert!(basin(&flat).iter().all(|number| *number >= 1));
            let holes = made(&all, Raster::filled(cols, rows, f32::NAN), [80.0, 80.0]).unwrap();
            assert!(basin(&holes).iter().all(|number| *number == 0));
            assert!(holes.vector(BASINS).unwrap().is_empty());
        }
    }
}
