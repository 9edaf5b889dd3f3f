//! How fast features are: 10,000 of all kinds on 2049 × 2049 samples, with the reference kernel there beside them.
//!
//! The map is 16 km wide, and a feature about 100 m in radius: each sample lies in one or two. A twentieth are rivers,
//! ridges and canyons of four points.
#![allow(missing_docs, reason = "criterion's macros make undocumented items")]

use std::hint::black_box;
use std::time::Duration;

use criterion::{Criterion, criterion_group, criterion_main};
use orogen::ops::reference::reference_fbm;
use orogen::ops::shape::features::{
    Canyon, Crater, DuneField, Feature, Features, Hill, Lake, Mountain, Plateau, Ridge, River, RiverPoint,
    Volcano,
};
use orogen::prelude::*;

const SIDE: usize = 2049;
const SIZE_M: f64 = 16_384.0;

fn some(count: u64) -> Vec<Feature> {
    let seed = Seed(11);
    let mut lines = 0;
    let mut one = |i: u64| -> Feature {
        let unit = |k: u64| seed.unit(8 * i + k);
        let at = [SIZE_M * unit(0), SIZE_M * unit(1)];
        let radius = 60.0 + 80.0 * unit(2);
        if i.is_multiple_of(20) {
            lines += 1;
            let points: Vec<[f64; 2]> =
                (0..4).map(|k| [at[0] + 80.0 * k as f64, at[1] + 100.0 * unit(3 + k)]).collect();
            return match lines % 3 {
                0 => {
                    let mut points: Vec<RiverPoint> =
                        points.iter().map(|p| RiverPoint::new(*p, 12.0, 2.0)).collect();
                    points[0].z_m = Some(100.0);
                    River { bank_m: 60.0, ..River::new(points) }.into()
                }
                1 => Ridge::new(&points, 60.0, 30.0).into(),
                _ => Canyon::new(&points, 60.0, 30.0).into(),
            };
        }
        match i % 7 {
            0 => Mountain::new(at, radius, 60.0).into(),
            1 => Hill::new(at, radius, 20.0).into(),
            2 => DuneField::new(at, radius, 8.0).into(),
            3 => Lake { rim_m: 0.3 * radius, ..Lake::new(at, 0.7 * radius, 90.0) }.into(),
            4 => Plateau::new(at, radius, 120.0).into(),
            5 => Crater::new(at, radius, 15.0).into(),
            _ => Volcano { crater_depth_m: 10.0, ..Volcano::new(at, radius, 50.0) }.into(),
        }
    };
    (0..count).map(&mut one).collect()
}

fn features(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("features");
    group.sample_size(10).warm_up_time(Duration::from_millis(500)).measurement_time(Duration::from_secs(3));
    group.bench_function("reference", |bencher| {
        bencher.iter(|| black_box(reference_fbm(SIDE, SIDE, Seed(7))))
    });
    let mut terrain = Terrain::new(Frame::square(SIZE_M, SIDE).expect("a frame"));
    terrain.set(layer::HEIGHT, Raster::filled(SIDE, SIDE, 100.0));
    for count in [0, 10_000] {
        let op = Features::new(some(count));
        group.bench_function(count.to_string(), |bencher| {
            bencher.iter(|| black_box(op.apply(terrain.clone(), &Ctx::silent()).expect("runs")));
        });
    }
    group.finish();
}

criterion_group!(benches, features);
criterion_main!(benches);
