//! How fast curves are solved: 20 of them on 1025 × 1025 and 4097 × 4097 samples, against the plain iteration to the
//! same residual, and against doing again what one moved point can reach. `cargo xtask bench` prints the ratios.
#![allow(missing_docs, reason = "criterion's macros make undocumented items")]

use std::time::{Duration, Instant};

use criterion::{BenchmarkId, Criterion, SamplingMode, criterion_group, criterion_main};
use orogen::ops::shape::Curves;
use orogen::ops::shape::curves::solve::{jacobi, solve};
use orogen::ops::shape::curves::{ControlPoint, Curve, equations};
use orogen::prelude::*;
use orogen_core::{Reach, math};

const SIDE_M: f64 = 8192.0;

/// Steps of the plain iteration at most.
const MOST_SWEEPS: usize = 1_000_000;

/// Twenty curves, five across and four up, each with elevations, a plateau, slopes and envelopes.
fn drawing() -> Curves {
    let seed = Seed(20);
    let curve = |i: u64| {
        let (x, y) = ((i % 5) as f64 + 0.5, (i / 5) as f64 + 0.5);
        let points = (0..4u64).map(|k| {
            let draw = |n: u64| seed.unit(100 * i + 10 * k + n);
            ControlPoint {
                x_m: SIDE_M * x / 5.0 + 260.0 * (k as f64 - 1.5) + 80.0 * draw(0),
                y_m: SIDE_M * y / 4.0 + 500.0 * (draw(1) - 0.5),
                z_m: Some(200.0 + 400.0 * draw(2)),
                plateau_m: Some(40.0),
                slope_left_m: Some(100.0),
                slope_right_m: Some(100.0),
                envelope_left_m: Some(240.0),
                envelope_right_m: Some(240.0),
                ..ControlPoint::default()
            }
        });
        Curve { points: points.collect(), ..Curve::default() }
    };
    Curves { curves: (0..20).map(curve).collect(), ..Curves::default() }
}

/// The same with envelopes so wide that the whole map is one system.
fn large() -> Curves {
    let mut drawing = drawing();
    for point in drawing.curves.iter_mut().flat_map(|curve| &mut curve.points) {
        point.envelope_left_m = Some(900.0);
        point.envelope_right_m = Some(900.0);
    }
    drawing
}

fn land(samples: usize) -> Terrain {
    let frame = Frame::square(SIDE_M, samples).expect("a frame");
    let mut terrain = Terrain::new(frame);
    let wave = |x: f64| math::sin(x * std::f64::consts::TAU / 3000.0);
    let height = Raster::from_fn(samples, samples, |col, row| {
        (150.0 + 120.0 * wave(frame.x_m(col)) * wave(frame.y_m(row) + 500.0)) as f32
    });
    terrain.set(layer::HEIGHT, height);
    terrain
}

fn curves(criterion: &mut Criterion) {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().expect("threads start");
    let mut group = criterion.benchmark_group("curves");
    group.sample_size(10).warm_up_time(Duration::from_millis(500)).measurement_time(Duration::from_secs(4));
    for (name, op) in [("apart", drawing()), ("together", large())] {
        for samples in [1025, 4097] {
            let terrain = land(samples);
            group.bench_function(BenchmarkId::new(name, samples), |bencher| {
                bencher.iter(|| pool.install(|| op.apply(terrain.clone(), &Ctx::silent()).expect("runs")));
            });
        }
    }

    // The solver alone, and the plain iteration until its equations hold as closely.
    let systems = equations(&large(), &land(1025)).expect("there is a height");
    group.bench_function("solver", |bencher| {
        bencher.iter(|| {
            for (system, relief) in &systems {
                pool.install(|| solve(system.clone(), 1e-4 * relief, || Ok(()))).expect("nobody cancels");
            }
        });
    });
    let residuals: Vec<f32> = systems
        .iter()
        .map(|(system, relief)| {
            let found = solve(system.clone(), 1e-4 * relief, || Ok(())).expect("nobody cancels");
            system.residual(&found.values)
        })
        .collect();
    // It takes a minute, so it runs once and in full, not in criterion's loop, which gets that time for every run. Without
    // a warm-up: the loop would double its runs until they no longer fit a number, as they take no time at all.
    let start = Instant::now();
    let steps: Vec<usize> = systems
        .iter()
        .zip(&residuals)
        .map(|((system, _), residual)| pool.install(|| jacobi(system, *residual, MOST_SWEEPS)).1)
        .collect();
    let once = start.elapsed();
    assert!(
        steps.iter().all(|&steps| (1..MOST_SWEEPS).contains(&steps)),
        "the plain iteration must reach the residual, and not at once: {steps:?} steps"
    );
    group.warm_up_time(Duration::from_nanos(1)).sampling_mode(SamplingMode::Flat);
    group.bench_function("jacobi", |bencher| {
        bencher.iter_custom(|times| Duration::from_secs_f64(once.as_secs_f64() * times as f64));
    });
    group.warm_up_time(Duration::from_millis(500)).sampling_mode(SamplingMode::Auto);

    // One point of one curve moves: what it reached and reaches now is done again, as a window.
    let mut moved = drawing();
    moved.curves[7].points[1].x_m += 60.0;
    moved.curves[7].points[2].y_m -= 90.0;
    let terrain = land(1025);
    let world = *terrain.frame();
    let [before, after] = [drawing(), moved.clone()].map(|op| touched(&op, 7, &world));
    let window = before.union(&after).expect("one lattice");
    let Reach::Within(reach_m) = Op::reach(&moved, &world) else { unreachable!("curves have an envelope") };
    let cut = window.expanded(reach_m).clipped(&world.extent()).expect("inside");
    let part = terrain.crop(&cut).expect("inside");
    group.bench_function("moved", |bencher| {
        bencher.iter(|| {
            let ctx = Ctx::silent().in_world(world);
            pool.install(|| moved.apply(part.clone(), &ctx).expect("runs"))
        });
    });
    group.finish();
}

/// The samples that a curve can change.
fn touched(op: &Curves, curve: usize, world: &Frame) -> Frame {
    let points = &op.curves[curve].points;
    let range = |f: fn(&ControlPoint) -> f64| {
        points.iter().map(f).fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), v| (a.min(v), b.max(v)))
    };
    let ((west, east), (south, north)) = (range(|p| p.x_m), range(|p| p.y_m));
    let far = 400.0;
    let rect = Rect { min: [west - far, south - far], max: [east + far, north + far] };
    world.clipped(&rect).expect("inside")
}

criterion_group!(benches, curves);
criterion_main!(benches);
