//! Contours of real elevation models, rebuilt: `source.contours` must come nearer to the truth than triangles do.

#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a failing test may stop, and shows its figures"
)]

use orogen_core::testkit::surveyed_model;
use orogen_core::{Ctx, Frame, Op, Raster, Terrain, layer};
use orogen_io::{Limits, elevation};
use orogen_ops::source::contours::Contour;
use orogen_ops::source::points::Method;
use orogen_ops::source::{Contours, Points};

const SPACING_M: f64 = 30.0;

/// The pieces of line at a level, cell by cell; saddles are resolved by the mean of the corners.
fn traced(height: &Raster<f32>, frame: &Frame, level: f64) -> Vec<[[f64; 2]; 2]> {
    let mut pieces = Vec::new();
    for row in 0..height.rows() - 1 {
        for col in 0..height.cols() - 1 {
            let corners = [(col, row), (col + 1, row), (col + 1, row + 1), (col, row + 1)];
            let h = corners.map(|(c, r)| f64::from(height.row(r)[c]));
            let crossed: Vec<[f64; 2]> = (0..4)
                .filter(|&k| (h[k] < level) != (h[(k + 1) % 4] < level))
                .map(|k| {
                    let t = (level - h[k]) / (h[(k + 1) % 4] - h[k]);
                    let ((c0, r0), (c1, r1)) = (corners[k], corners[(k + 1) % 4]);
                    let between = |a: f64, b: f64| a + t * (b - a);
                    [between(frame.x_m(c0), frame.x_m(c1)), between(frame.y_m(r0), frame.y_m(r1))]
                })
                .collect();
            match crossed[..] {
                [a, b] => pieces.push([a, b]),
                [a, b, c, d] if (h.iter().sum::<f64>() / 4.0 < level) == (h[0] < level) => {
                    pieces.extend([[a, b], [c, d]]);
                }
                [a, b, c, d] => pieces.extend([[d, a], [b, c]]),
                _ => {}
            }
        }
    }
    pieces
}

fn land(op: &impl Op, frame: Frame) -> Raster<f32> {
    op.apply(Terrain::new(frame), &Ctx::silent()).unwrap().get(layer::HEIGHT).unwrap().clone()
}

fn square(x: f64) -> f64 {
    x * x
}

fn rmse(a: &Raster<f32>, b: &Raster<f32>) -> f64 {
    let sum: f64 = a.as_slice().iter().zip(b.as_slice()).map(|(a, b)| square(f64::from(a - b))).sum();
    (sum / a.as_slice().len() as f64).sqrt()
}

/// The greatest share of samples in any fiftieth of the interval, wherever it lies, and the share in that about the
/// contours; both 0.02 where heights are spread evenly.
fn piled_up(height: &Raster<f32>, low: f64, interval: f64) -> [f64; 2] {
    let mut bins = [0.0; 50];
    for h in height.as_slice() {
        let share = (f64::from(*h) - low) / interval + 0.01;
        bins[(((share - share.floor()) * 50.0) as usize).min(49)] += 1.0 / height.as_slice().len() as f64;
    }
    [bins.iter().copied().fold(0.0, f64::max), bins[0]]
}

#[test]
fn real_land_comes_back_better_than_from_triangles() {
    let mut worse = Vec::new();
    for name in ["jacksboro_fault.tif", "st_helens.tif", "big_tujunga.tif"] {
        let Some(path) = surveyed_model(name) else { continue };
        let model = elevation::read(&path, &Limits::default()).unwrap();
        let side = model.height.cols().min(model.height.rows()).min(180);
        let (col, row) = ((model.height.cols() - side) / 2, (model.height.rows() - side) / 2);
        let truth = model.height.crop(col, row, side, side);
        assert!(!truth.as_slice().iter().any(|h| h.is_nan()), "{name} has holes in its middle");
        let frame = Frame::square((side - 1) as f64 * SPACING_M, side).unwrap();
        let (low, high) = truth.range().map(|(a, b)| (f64::from(a), f64::from(b))).unwrap();
        let interval = (high - low) / 20.0;
        // Half an interval off the lowest sample, so that no contour runs along a flat of the model.
        let first = low + 0.4917 * interval;
        let mut contours = Vec::new();
        for k in 0..20 {
            let z_m = first + f64::from(k) * interval;
            let pieces = traced(&truth, &frame, z_m);
            contours.extend(pieces.iter().map(|p| Contour { z_m, points_m: p.to_vec(), closed: false }));
        }
        let points_m = contours.iter().flat_map(|c| c.points_m.iter().map(|p| [p[0], p[1], c.z_m])).collect();
        let plate =
            land(&Contours { contours, lattice_m: Some(0.5 * SPACING_M), ..Contours::default() }, frame);
        let triangles = land(&Points { points_m, method: Method::Linear, ..Points::default() }, frame);
        let (ours, theirs) = (rmse(&plate, &truth), rmse(&triangles, &truth));
        let piles = [&truth, &plate, &triangles].map(|h| piled_up(h, first, interval));
        eprintln!(
            "{name}: interval {interval:.1} m, rmse {ours:.2} m, triangles {theirs:.2} m; at contours {piles:.4?}"
        );
        if ours >= 0.8 * theirs || piles[1][0] >= 0.03 {
            worse.push(name);
        }
    }
    assert!(worse.is_empty(), "{worse:?} came back worse than allowed; the figures are above");
}
