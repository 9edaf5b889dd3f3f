use std::sync::Arc;

use super::*;
use crate::noise::Field;
use crate::source::Noise;
use crate::source::points::{Method, Points, points_to_height};
use orogen_core::math::{cos, exp, sin};
use orogen_core::{Elevation, Files, Property};

const SIZE_M: f64 = 2000.0;
const INTERVAL_M: f64 = 20.0;

/// Hills, ridges and hollows, 0 to some 330 m.
fn truth(x: f64, y: f64) -> f64 {
    let bell = |cx: f64, cy: f64, r: f64| exp(-((x - cx) * (x - cx) + (y - cy) * (y - cy)) / (r * r));
    150.0
        + 60.0 * sin(x / 330.0 + 0.4) * cos(y / 290.0)
        + 35.0 * sin((x - 1.6 * y) / 240.0)
        + 90.0 * bell(1300.0, 700.0, 330.0)
        - 70.0 * bell(600.0, 1500.0, 260.0)
}

/// The contours of [`truth`], traced on a grid finer than any lattice here.
fn traced(interval_m: f64) -> Lines {
    const CELLS: usize = 400;
    let step = SIZE_M / CELLS as f64;
    let grid = Raster::from_fn(CELLS + 1, CELLS + 1, |c, r| truth(c as f64 * step, r as f64 * step));
    let height = |c: usize, r: usize| grid.row(r)[c];
    let mut lines = Lines::default();
    for k in -5..30 {
        let level = f64::from(k) * interval_m;
        for piece in trace::pieces(&height, CELLS + 1, CELLS + 1, level) {
            lines.push(piece.map(|[c, r]| [c * step, r * step, level]), false);
        }
    }
    lines
}

fn frame(samples: usize) -> Frame {
    Frame::square(SIZE_M, samples).unwrap()
}

fn land(lines: &Lines, samples: usize) -> Raster<f32> {
    let frame = frame(samples);
    contours_to_height(lines, &frame, &frame.extent(), Some(SIZE_M / 256.0), &Ctx::silent()).unwrap()
}

fn square(x: f64) -> f64 {
    x * x
}

fn rmse(height: &Raster<f32>) -> f64 {
    let frame = frame(height.cols());
    let square = |i: usize| {
        let (x, y) = (frame.x_m(i % height.cols()), frame.y_m(i / height.cols()));
        square(f64::from(height.as_slice()[i]) - truth(x, y))
    };
    ((0..frame.len()).map(square).sum::<f64>() / frame.len() as f64).sqrt()
}

/// The share of samples in each twentieth of an interval between contours.
fn histogram(height: &Raster<f32>) -> [f64; 20] {
    let mut bins = [0.0; 20];
    for h in height.as_slice() {
        let share = f64::from(*h) / INTERVAL_M - (f64::from(*h) / INTERVAL_M + 0.025).floor();
        bins[(((share + 0.025) * 20.0) as usize).min(19)] += 1.0 / height.as_slice().len() as f64;
    }
    bins
}

#[test]
fn land_comes_back_without_terraces_and_better_than_from_triangles() {
    let lines = traced(INTERVAL_M);
    let height = land(&lines, 201);
    let error = rmse(&height);
    let op = Points { method: Method::Linear, ..Points::default() };
    let triangles = points_to_height(&lines.vertices, &frame(201), &op, &Ctx::silent()).unwrap();
    let edgy = rmse(&triangles);
    assert!(error < 1.0 && error < 0.5 * edgy, "{error} m, triangles {edgy} m");

    let (smooth, terraced) = (histogram(&height), histogram(&triangles));
    // The first bin is about the contours themselves: triangles pile up there, the plate does not.
    assert!((0.035..0.065).contains(&smooth[0]), "{smooth:?}");
    assert!(smooth.iter().all(|share| (0.035..0.065).contains(share)), "{smooth:?}");
    assert!(terraced[0] > 0.07, "{terraced:?}");
}

#[test]
fn rough_land_comes_back_without_terraces() {
    const SIDE: usize = 129;
    let step = SIZE_M / (SIDE - 1) as f64;
    let rough =
        Noise { octaves: 6, hurst: 0.8, wavelength_m: 900.0, amplitude_m: 80.0.into(), ..Noise::default() };
    let field = Field::new(&rough.look(), Seed(5));
    let height = |c: usize, r: usize| f64::from(field.at(c as f64 * step, r as f64 * step));
    let mut lines = Lines::default();
    for k in -20..40 {
        let level = f64::from(k) * INTERVAL_M;
        for piece in trace::pieces(&height, SIDE, SIDE, level) {
            lines.push(piece.map(|[c, r]| [c * step, r * step, level]), false);
        }
    }
    // 250 lattice cells a side, which the lattice has to go beyond to be halved.
    let frame = frame(SIDE);
    let height =
        contours_to_height(&lines, &frame, &frame.extent(), Some(SIZE_M / 250.0), &Ctx::silent()).unwrap();
    let share = |h: &&f32| {
        let share = f64::from(**h) / INTERVAL_M;
        (share - share.round()).abs() < 0.01
    };
    let at_lines = height.as_slice().iter().filter(share).count() as f64 / frame.len() as f64;
    assert!(at_lines < 0.03, "{at_lines} of the samples lie at the height of a line, even would be 0.02");
}

#[test]
fn lines_have_their_height() {
    let lines = traced(INTERVAL_M);
    let extent = frame(2).extent();
    let lattice = lattice_of(&extent, Some(SIZE_M / 256.0));
    let solved = Raster::from_vec(
        lattice.cols,
        lattice.rows,
        plate_through(&lines, &lattice, &|| Ok(()), &|| Ok(())).unwrap(),
    )
    .unwrap();
    let (mut worst, mut squares) = (0.0f64, 0.0);
    for p in &lines.vertices {
        let [u, v] = lattice.locate([p[0], p[1]]);
        let off = f64::from(solved.bicubic(u, v)) - p[2];
        worst = worst.max(off.abs());
        squares += off * off;
    }
    let mean = (squares / lines.vertices.len() as f64).sqrt();
    assert!(worst < 0.05 * INTERVAL_M && mean < 0.005 * INTERVAL_M, "worst {worst} m, rms {mean} m");
}

#[test]
fn land_stays_between_its_lines() {
    let height = land(&traced(INTERVAL_M), 201);
    let frame = frame(201);
    let mut worst = 0.0f64;
    for i in 0..frame.len() {
        let z = truth(frame.x_m(i % 201), frame.y_m(i / 201));
        let (low, high) = ((z / INTERVAL_M).floor() * INTERVAL_M, (z / INTERVAL_M).ceil() * INTERVAL_M);
        let h = f64::from(height.as_slice()[i]);
        worst = worst.max(low - h).max(h - high);
    }
    assert!(worst < 0.05 * INTERVAL_M, "{worst} m beyond the lines on either side");
}

fn level(z_m: f64, points_m: &[[f64; 2]]) -> Contour {
    Contour { z_m, points_m: points_m.to_vec(), closed: false }
}

#[test]
fn a_ridge_between_lines_of_one_height_is_round() {
    // Lines run north; between the two of 100 m there is no other.
    let lines = Lines::given(&[
        level(40.0, &[[400.0, -10.0], [400.0, 2010.0]]),
        level(60.0, &[[530.0, -10.0], [530.0, 2010.0]]),
        level(80.0, &[[660.0, -10.0], [660.0, 2010.0]]),
        level(100.0, &[[800.0, -10.0], [800.0, 2010.0]]),
        level(100.0, &[[1200.0, -10.0], [1200.0, 2010.0]]),
        level(80.0, &[[1340.0, -10.0], [1340.0, 2010.0]]),
        level(60.0, &[[1470.0, -10.0], [1470.0, 2010.0]]),
    ]);
    let height = land(&lines, 201);
    let row = height.row(100);
    assert!(row[100] > 106.0 && row[100] < 119.0, "the crest is {} m high", row[100]);
    for col in 81..96 {
        assert!(row[col + 1] > row[col] + 0.02, "flat at column {col}: {:?}", &row[80..102]);
        assert!(row[200 - col - 1] > row[200 - col] + 0.02, "flat at column {}", 200 - col);
    }
}

#[test]
fn a_foot_of_a_slope_neither_swings_below_nor_lies_flat() {
    // A cliff of close lines, then a plain to the next line far away.
    let mut contours: Vec<Contour> = (0..10)
        .map(|k| {
            let x = 600.0 - 30.0 * f64::from(k);
            level(100.0 + 20.0 * f64::from(k), &[[x, -10.0], [x + 20.0, 2010.0]])
        })
        .collect();
    contours.push(level(80.0, &[[1700.0, -10.0], [1600.0, 2010.0]]));
    let height = land(&Lines::given(&contours), 201);
    for row in [20, 100, 180] {
        let row = &height.row(row)[64..159];
        let mut lowest = f32::INFINITY;
        for h in row {
            assert!((79.6..=100.4).contains(h), "{h}: {row:?}");
            lowest = lowest.min(*h);
            assert!(h - lowest < 1.0, "it swings up again by {} m: {row:?}", h - lowest);
        }
        let flat = row.windows(2).filter(|pair| (pair[1] - pair[0]).abs() < 0.002).count();
        assert!(flat < 4 && row[0] - row[94] > 10.0, "{flat} flat steps: {row:?}");
    }
}

#[test]
fn a_summit_is_round_bounded_and_heeds_a_spot() {
    let ring = |z_m: f64, r: f64| {
        let points_m = (0..60).map(|k| {
            let way = f64::from(k) * std::f64::consts::TAU / 60.0;
            [1000.0 + r * cos(way), 1000.0 + 0.8 * r * sin(way)]
        });
        Contour { z_m, points_m: points_m.collect(), closed: true }
    };
    let mut lines =
        Lines::given(&[ring(0.0, 900.0), ring(20.0, 700.0), ring(40.0, 500.0), ring(60.0, 300.0)]);
    let height = land(&lines, 201);
    let top = height.row(100)[100];
    assert!(top > 66.0 && top < 79.0, "{top}");
    let flat = |height: &Raster<f32>| height.as_slice().iter().filter(|h| (**h - 60.0).abs() < 0.05).count();
    assert!(flat(&height) < 60, "{} samples at the height of the line", flat(&height));
    lines.spots.push([1040.0, 980.0, 97.0]);
    let spotted = land(&lines, 201);
    assert!((spotted.row(102)[104] - 97.0).abs() < 0.5, "{}", spotted.row(102)[104]);
}

#[test]
fn samplings_agree_to_the_bit() {
    let lines = traced(40.0);
    let (coarse, fine) = (land(&lines, 33), land(&lines, 65));
    for i in 0..33 * 33 {
        assert_eq!(coarse.as_slice()[i].to_bits(), fine.row(2 * (i / 33))[2 * (i % 33)].to_bits());
    }
}

#[test]
fn lattices_halve_and_cover_the_world() {
    for (size, lattice_m) in [
        ([8192.0, 8192.0], None),
        ([1530.0, 1190.0], None),
        ([1e5, 10.0], None),
        ([3.0, 900.0], Some(1e-3)),
        ([50.0, 50.0], Some(1e5)),
    ] {
        let world = Rect { min: [5.0, -7.0], max: [5.0 + size[0], -7.0 + size[1]] };
        let lattice = lattice_of(&world, lattice_m);
        assert!((lattice.cols - 1) as f64 * lattice.spacing_m >= size[0] * (1.0 - 1e-5), "{lattice:?}");
        assert!((lattice.rows - 1) as f64 * lattice.spacing_m >= size[1] * (1.0 - 1e-5), "{lattice:?}");
        assert!(lattice.cols.min(lattice.rows) >= 5 && lattice.nodes() < 5000 * 5000, "{lattice:?}");
    }
}

struct OneFile(Arc<Features>);

impl Files for OneFile {
    fn fingerprint(&self, _: &str) -> Result<[u8; 32], OpError> {
        Ok([0; 32])
    }
    fn elevation(&self, path: &str) -> Result<Arc<Elevation>, OpError> {
        orogen_core::NoFiles.elevation(path)
    }
    fn features(&self, _: &str) -> Result<Arc<Features>, OpError> {
        Ok(Arc::clone(&self.0))
    }
}

fn from_file(features: Features, op: &Contours) -> Result<Raster<f32>, OpError> {
    let op = Contours { path: String::from("map.geojson"), lattice_m: Some(2.0), ..op.clone() };
    let files = OneFile(Arc::new(features));
    let terrain =
        op.apply(Terrain::new(Frame::square(100.0, 11).unwrap()), &Ctx::silent().with_files(&files))?;
    Ok(terrain.get(layer::HEIGHT)?.clone())
}

#[test]
fn lines_polygons_and_spots_of_a_file_are_used() {
    let mut features = Features::default();
    features.lines.push(
        1,
        [[[0.0, -9.0, f64::NAN], [0.0, 109.0, f64::NAN]], [[20.0, -9.0, f64::NAN], [20.0, 109.0, f64::NAN]]],
    );
    features.lines.set_property("ELEV", Property::Text(String::from("10")));
    let square = [[50.0, 20.0, 30.0], [80.0, 20.0, 30.0], [80.0, 80.0, 30.0], [50.0, 80.0, 30.0]];
    features.polygons.push(2, [square]);
    features.points.push(3, [[[65.0, 50.0, 44.0]]]);
    let height = from_file(features.clone(), &Contours::default()).unwrap();
    let at = |x: usize, y: usize| height.row(10 - y)[x];
    assert!((at(2, 5) - 10.0).abs() < 0.3 && (at(5, 5) - 30.0).abs() < 0.5, "{} {}", at(2, 5), at(5, 5));
    assert!(at(6, 5) > 36.0 && at(7, 5) > 36.0, "{}", at(6, 5));
    assert!(at(1, 5) < 10.0, "between two lines of one height, with higher land beyond: {}", at(1, 5));

    let error = from_file(features, &Contours { property: String::from("depth"), ..Contours::default() })
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "file \"map.geojson\": feature 1 has no height from -100000 to 100000 m in its property \"depth\" and third \
         coordinates; set `property` to the name of the property with heights"
    );
    let error = from_file(Features::default(), &Contours::default()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "file \"map.geojson\": it has no lines or polygons; for points of known height use source.points"
    );
}

#[test]
fn lines_beyond_the_world_are_told_and_fit_brings_them_in() {
    let contours = vec![
        level(5.0, &[[1e6, 1e6], [1e6 + 10.0, 1e6 + 4.0]]),
        level(9.0, &[[1e6, 1e6 + 5.0], [1e6 + 10.0, 1e6 + 9.0]]),
    ];
    let op = Contours { contours, ..Contours::default() };
    let run = |op: &Contours| op.apply(Terrain::new(Frame::square(100.0, 11).unwrap()), &Ctx::silent());
    assert!(run(&op).unwrap_err().to_string().starts_with("no contour crosses the world"));
    let fitted = run(&Contours { placement: Placement::Fit, ..op }).unwrap();
    let (low, high) = fitted.get(layer::HEIGHT).unwrap().range().unwrap();
    assert!(low > 0.0 && high < 14.0, "{low} to {high}");
}

#[test]
fn rings_through_nodes_of_the_lattice_keep_land_between_them() {
    // Rings of 3500 and 1500 m pass through nodes exactly; a steep band borders a wide gap.
    let ring = |z_m: f64, r: f64| {
        let points_m = (0..720).map(|k| {
            let way = f64::from(k) * std::f64::consts::TAU / 720.0;
            [4000.0 + r * cos(way), 4000.0 + r * sin(way)]
        });
        Contour { z_m, points_m: points_m.collect(), closed: true }
    };
    for (interval, radii) in
        [(50.0, [3500.0, 3300.0, 1500.0, 400.0]), (10.0, [3500.0, 3450.0, 3400.0, 500.0])]
    {
        let levels = [0.0, 1.0, 2.0, 3.0].map(|k| k * interval);
        let rings: Vec<Contour> = levels.iter().zip(radii).map(|(z, r)| ring(*z, r)).collect();
        let frame = Frame::square(8000.0, 513).unwrap();
        let height =
            contours_to_height(&Lines::given(&rings), &frame, &frame.extent(), None, &Ctx::silent()).unwrap();
        for k in 0..3 {
            let (mut above, mut below) = (f64::NEG_INFINITY, f64::NEG_INFINITY);
            for i in 0..frame.len() {
                let (x, y) = (frame.x_m(i % 513) - 4000.0, frame.y_m(i / 513) - 4000.0);
                let r = (x * x + y * y).sqrt();
                if r < radii[k] - 20.0 && r > radii[k + 1] + 20.0 {
                    let h = f64::from(height.as_slice()[i]);
                    above = above.max(h - levels[k + 1]);
                    below = below.max(levels[k] - h);
                }
            }
            let (above, below) = (above / interval, below / interval);
            assert!(
                above < 0.02 && below < 0.02,
                "within {} m: {above} of an interval above its lines, {below} below",
                radii[k]
            );
        }
    }
}
