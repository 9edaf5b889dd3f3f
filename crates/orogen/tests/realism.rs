//! What tells noise from land: real elevation models pass, noise fails.

#![allow(clippy::unwrap_used, reason = "a failing test may stop")]

use orogen_core::testkit::surveyed_model;
use orogen_core::{Coef, Ctx, Frame, Op, Raster, Seed, Terrain, layer};
use orogen_io::{Limits, elevation};
use orogen_ops::source::Noise;
use orogen_ops::survey::stats::{Stats, stats};
use orogen_ops::water::fill::Fill;

const NO_SEA: f32 = f32::NEG_INFINITY;
/// Between the most level rivers of any surveyed model (0.26) and the least level ones of noise (0.38).
const LEVEL_SHARE: f64 = 0.3;

fn measured(height: &Raster<f32>, spacing_m: [f64; 2], sea_m: f32) -> Stats {
    stats(height, spacing_m, sea_m, &Ctx::silent()).unwrap()
}

#[test]
fn rivers_of_noise_are_level_more_often_than_those_of_land() {
    for (seed, hurst) in [(1, 0.5), (2, 0.7), (3, 0.9)] {
        let noise = Noise {
            hurst,
            octaves: 9,
            wavelength_m: 16_000.0,
            amplitude_m: Coef::Const(800.0),
            offset_m: 1000.0,
            ..Noise::default()
        };
        let frame = Frame::square(40_960.0, 513).unwrap();
        let raw = noise.apply(Terrain::new(frame), &Ctx::new(Seed(seed))).unwrap();
        // Filling hides the hollows, and with them all that the share of depressions could tell.
        let filled = Fill::default().apply(raw.clone(), &Ctx::silent()).unwrap();
        for (how, terrain) in [("raw", raw), ("filled", filled)] {
            let found = measured(terrain.get(layer::HEIGHT).unwrap(), frame.spacing_m(), NO_SEA).drainage;
            let level = found.level_share.unwrap();
            assert!(level > LEVEL_SHARE, "{how} noise of Hurst {hurst}: {level}");
        }
    }

    for (name, sea_m) in [
        ("alps_gotthard.tif", NO_SEA),
        ("big_tujunga.tif", NO_SEA),
        ("ecuador_rainforest.tif", NO_SEA),
        ("jacksboro_fault.tif", NO_SEA),
        ("reunion_island.tif", 0.0),
        ("riviera_nice.tif", 0.0),
        ("st_helens.tif", NO_SEA),
        ("tablelands_nsw.tif", NO_SEA),
        ("white_mtns_nh.tif", NO_SEA),
    ] {
        let Some(path) = surveyed_model(name) else { continue };
        let (model, place) = elevation::read_placed(&path, &Limits::default()).unwrap();
        let found = measured(&model.height, place.unwrap().spacing_m(), sea_m).drainage;
        let level = found.level_share.unwrap();
        assert!(level < LEVEL_SHARE, "{name}: {level}");
    }
}
