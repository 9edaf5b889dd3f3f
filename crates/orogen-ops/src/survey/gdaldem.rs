//! What `gdaldem -compute_edges` (GDAL 3.10.3) made of a small model, cell by cell.

use orogen_core::testkit::assert_close;
use orogen_core::{Ctx, Raster};

use super::aspect::aspect;
use super::gradient::Method;
use super::hillshade::{Hillshade, hillshade};
use super::ruggedness::{Kind, ruggedness};
use super::slope::slope;

const SPACING_M: [f64; 2] = [10.0, 20.0];

fn model() -> Raster<f32> {
    let heights: [[f32; 5]; 4] = [
        [12.0, 15.0, 11.0, 9.0, 20.0],
        [14.0, 19.0, 23.0, 8.0, 7.0],
        [3.0, 6.0, 30.0, 25.0, 12.0],
        [5.0, 5.0, 5.0, 17.0, 40.0],
    ];
    Raster::from_vec(5, 4, heights.concat()).unwrap()
}

/// The second row and the first one without its corners, which gdaldem carries on otherwise.
#[track_caller]
fn assert_rows(found: &Raster<f32>, second: [f64; 5], first: [f64; 3], within: f64) {
    for (a, b) in found.row(1).iter().zip(second) {
        assert_close!(*a, b, abs = within);
    }
    for (a, b) in found.row(0)[1..4].iter().zip(first) {
        assert_close!(*a, b, abs = within);
    }
}

#[test]
fn slope_aspect_and_shade() {
    let (z, ctx) = (model(), Ctx::silent());
    let found = slope(&z, SPACING_M, Method::Horn, &ctx).unwrap();
    assert_rows(&found, [24.6522, 28.9105, 16.8524, 30.0576, 12.6044], [15.6161, 24.302, 24.302], 1e-3);
    // It takes cells for square here.
    let found = aspect(&z, [10.0, 10.0], Method::Horn, &ctx).unwrap();
    assert_rows(&found, [221.6335, 259.6952, 11.3099, 43.6361, 165.9637], [5.1944, 23.9625, 260.5377], 1e-3);
    let found = hillshade(&z, SPACING_M, &Hillshade::default(), &ctx).unwrap();
    let bytes = found.map(|shade| (1.0 + 254.0 * shade).round());
    assert_rows(&bytes, [184.0, 214.0, 193.0, 130.0, 139.0], [201.0, 169.0, 212.0], 0.0);
}

#[test]
fn measures_of_ruggedness() {
    let find = |kind| ruggedness(&model(), kind, &Ctx::silent()).unwrap();
    let tri = find(Kind::Tri);
    assert_rows(&tri, [21.4709, 26.7582, 31.4166, 34.1906, 34.1174], [20.0749, 19.5448, 31.6702], 1e-3);
    assert_rows(&find(Kind::TriWilson), [6.375, 8.5, 9.875, 9.375, 9.0], [5.625, 5.25, 8.125], 1e-4);
    assert_rows(&find(Kind::Tpi), [4.875, 4.75, 7.625, -9.125, -6.75], [2.625, -0.75, -4.875], 1e-4);
    assert_rows(&find(Kind::Roughness), [19.0, 27.0, 24.0, 23.0, 32.0], [24.0, 24.0, 34.0], 1e-4);
}
