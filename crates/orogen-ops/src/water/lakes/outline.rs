//! Shores as polygons, drawn where the water meets the ground between samples.

use orogen_core::vector::{Column, Point, Shape, VectorLayer};
use orogen_core::{Ctx, Frame, OpError, Raster};

use super::find::Found;
use crate::drainage::neighbours_of;
use crate::survey::contours::{Contours, contours};

/// Least height of dry ground above the water beside it, in metres, so that shores lie beyond wet samples.
const DRY_M: f32 = 1e-3;
/// Height of ground that is beside no lake.
const FAR_M: f32 = 1.0;

/// The polygons of all lakes, holes for islands.
pub(super) fn shores(
    found: &Found,
    land: &Raster<f32>,
    frame: &Frame,
    ctx: &Ctx<'_>,
) -> Result<VectorLayer, OpError> {
    let (cols, rows) = (land.cols(), land.rows());
    let above = Raster::from_fn(cols, rows, |col, row| {
        let (cell, here) = (row * cols + col, land.row(row)[col]);
        if let Some(lake) = found.lake_at(cell) {
            return here - lake.surface;
        }
        let lakes = neighbours_of(cell, cols, rows).filter_map(|other| found.lake_at(other));
        let lowest = lakes.map(|lake| here - lake.surface).fold(f32::INFINITY, f32::min);
        // Holes are not ground and not beside a lake.
        if lowest == f32::INFINITY { FAR_M } else { lowest.max(DRY_M) }
    });
    // One level: all others lie beyond any ground.
    let level = Contours { interval_m: 1e5, base_m: 0.0, smooth: false };
    let lines = contours(&above, &level, |at, _| at, &ctx.unwatched())?;

    let mut rings: Vec<Rings> = vec![Rings::default(); found.lakes.len()];
    for line in (0..lines.len()).map(|i| lines.line(i)) {
        // Closed lines repeat their first vertex; water never reaches the edge of the map, so all are closed.
        let ring = line[..line.len() - 1].to_vec();
        let Some(lake) = beside(found, ring[0]) else { continue };
        // High ground is on the left: a shore that runs clockwise has its lake inside.
        if doubled_area(&ring) < 0.0 { rings[lake].shores.push(ring) } else { rings[lake].islands.push(ring) }
    }

    let [dx, dy] = frame.spacing_m();
    let (west, north) = (frame.x_m(0), frame.y_m(0));
    let mut vectors = VectorLayer::new(Shape::Polygons);
    let mut of = Vec::new();
    for (index, Rings { shores, islands }) in rings.into_iter().enumerate() {
        let level = f64::from(found.lakes[index].surface);
        let place = |&[col, row]: &[f64; 2]| -> Point { [west + col * dx, north - row * dy, level] };
        let alone = shores.len() == 1;
        for shore in &shores {
            let holes = islands.iter().filter(|island| alone || contains(shore, island[0]));
            let parts = std::iter::once(shore).chain(holes);
            vectors.push_parts(parts.map(|ring| ring.iter().map(place).collect::<Vec<_>>()));
            of.push(index);
        }
    }
    let numbers = |f: &dyn Fn(usize) -> f64| Column::Number(of.iter().map(|&index| f(index)).collect());
    let lake = |index: usize| &found.lakes[index];
    let outlet = |index: usize| {
        let lake = lake(index);
        let cell = if lake.overflows { lake.outlet } else { lake.lowest };
        [frame.x_m(cell % cols), frame.y_m(cell / cols)]
    };
    let depth = |i: usize| f64::from(lake(i).surface) - f64::from(land.as_slice()[lake(i).lowest]);
    // One entry for each polygon, so all fit.
    let columns = [
        ("lake", Column::Integer(of.iter().map(|&index| index as i64 + 1).collect())),
        ("level_m", numbers(&|i| f64::from(lake(i).surface))),
        ("area_m2", numbers(&|i| lake(i).cells as f64 * dx * dy)),
        ("depth_m", numbers(&depth)),
        ("volume_m3", numbers(&|i| lake(i).volume_m * dx * dy)),
        ("overflows", Column::Flag(of.iter().map(|&index| lake(index).overflows).collect())),
        ("outlet_x_m", numbers(&|i| outlet(i)[0])),
        ("outlet_y_m", numbers(&|i| outlet(i)[1])),
    ];
    for (name, column) in columns {
        let _ = vectors.set_feature_attribute(name, column);
    }
    Ok(vectors)
}

#[derive(Clone, Default)]
struct Rings {
    shores: Vec<Vec<[f64; 2]>>,
    islands: Vec<Vec<[f64; 2]>>,
}

/// The lake that a place on a shore belongs to: it lies between a wet sample and a dry one.
fn beside(found: &Found, [col, row]: [f64; 2]) -> Option<usize> {
    let (cols, rows) = (found.labels.cols(), found.labels.rows());
    let corners = [(col.floor(), row.floor()), (col.ceil(), row.ceil())];
    corners.iter().find_map(|&(col, row)| {
        let (col, row) = ((col as usize).min(cols - 1), (row as usize).min(rows - 1));
        (found.labels.row(row)[col] as usize).checked_sub(1)
    })
}

/// Twice the area of a ring, positive when it runs counter-clockwise; rows count southwards.
fn doubled_area(ring: &[[f64; 2]]) -> f64 {
    let turn = |i: usize| {
        let ([x0, y0], [x1, y1]) = (ring[i], ring[(i + 1) % ring.len()]);
        x1 * y0 - x0 * y1
    };
    (0..ring.len()).map(turn).sum()
}

/// Whether a ring goes round a place.
fn contains(ring: &[[f64; 2]], [x, y]: [f64; 2]) -> bool {
    let crosses = |i: &usize| {
        let ([x0, y0], [x1, y1]) = (ring[*i], ring[(*i + 1) % ring.len()]);
        (y0 > y) != (y1 > y) && x < x0 + (y - y0) / (y1 - y0) * (x1 - x0)
    };
    (0..ring.len()).filter(crosses).count() % 2 == 1
}
