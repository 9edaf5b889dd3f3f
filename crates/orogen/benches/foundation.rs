//! How fast the foundation is. `cargo xtask bench` runs this and prints the ratios; the times by themselves say little,
//! since machines differ and are shared.
#![allow(missing_docs, reason = "criterion's macros make undocumented items")]

use std::hint::black_box;
use std::time::Duration;

use criterion::{
    BenchmarkGroup, BenchmarkId, Criterion, criterion_group, criterion_main, measurement::WallTime,
};
use orogen::ops::reference::reference_fbm;
use orogen::ops::source::island::{Island, graph};
use orogen::prelude::*;
use orogen_io::OutputFolder;
use rayon::prelude::*;

const SIZES: [usize; 3] = [513, 1025, 2049];

fn slow<'a>(criterion: &'a mut Criterion, name: &str) -> BenchmarkGroup<'a, WallTime> {
    let mut group = criterion.benchmark_group(name);
    group.sample_size(10).warm_up_time(Duration::from_millis(500)).measurement_time(Duration::from_secs(4));
    group
}

fn pool(threads: usize) -> rayon::ThreadPool {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads start")
}

/// The machine's own speed: memory bandwidth, and the yardstick kernel.
fn machine(criterion: &mut Criterion) {
    let n = 1 << 24;
    let (b, c) = (vec![1.0f32; n], vec![2.0f32; n]);
    let mut a = vec![0.0f32; n];
    let mut group = slow(criterion, "triad");
    for threads in [1, 2] {
        let pool = pool(threads);
        group.bench_function(BenchmarkId::from_parameter(threads), |bencher| {
            bencher.iter(|| {
                pool.install(|| {
                    a.par_chunks_mut(1 << 16).zip(b.par_chunks(1 << 16)).zip(c.par_chunks(1 << 16)).for_each(
                        |((a, b), c)| {
                            for ((a, b), c) in a.iter_mut().zip(b).zip(c) {
                                *a = b + 3.0 * c;
                            }
                        },
                    );
                });
                black_box(&mut a);
            });
        });
    }
    group.finish();
    let mut group = slow(criterion, "reference");
    for size in SIZES {
        group.bench_function(BenchmarkId::from_parameter(size), |bencher| {
            bencher.iter(|| reference_fbm(size, size, Seed(7)));
        });
    }
    group.finish();
    // What a second core is worth for pure arithmetic.
    let mut group = slow(criterion, "arithmetic");
    for threads in [1, 2] {
        let pool = pool(threads);
        group.bench_function(BenchmarkId::from_parameter(threads), |bencher| {
            bencher.iter(|| {
                pool.install(|| {
                    (0..16usize)
                        .into_par_iter()
                        .map(|i| reference_fbm(257, 65, Seed(i as u64)).sum_f64())
                        .sum::<f64>()
                })
            });
        });
    }
    group.finish();
}

/// The whole main job: recipe to files, cache off, two threads.
fn island(criterion: &mut Criterion) {
    let recipe = Recipe::parse("island.toml", orogen::presets::PRESETS[0].text.as_bytes())
        .expect("the preset is valid");
    let mut group = slow(criterion, "island_build");
    for size in SIZES {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut options = BuildOptions { threads: Some(2), ..BuildOptions::default() };
        options.overrides.samples = Some(size);
        group.bench_function(BenchmarkId::from_parameter(size), |bencher| {
            bencher.iter(|| {
                orogen::build_to_folder(&recipe, &options, &orogen::recipe::Unobserved, folder.path())
                    .expect("builds")
            });
        });
    }
    group.finish();
    // The operator alone: two samples cost the polygon map, the rest is the raster part.
    for threads in [1, 2] {
        let pool = pool(threads);
        let mut group = slow(criterion, &format!("island_operator_{threads}"));
        for size in [2, 1025] {
            let terrain = Terrain::new(Frame::square(8192.0, size).expect("a frame"));
            group.bench_function(BenchmarkId::from_parameter(size), |bencher| {
                bencher.iter(|| {
                    pool.install(|| Island::default().apply(terrain.clone(), &Ctx::silent()).expect("runs"))
                });
            });
        }
        group.finish();
    }
    let mut group = slow(criterion, "island_export");
    let built =
        orogen::build(&recipe, &BuildOptions::default(), &orogen::recipe::Unobserved).expect("builds");
    let pool = pool(2);
    group.bench_function("1025", |bencher| {
        let folder = tempfile::tempdir().expect("a temporary folder");
        bencher.iter(|| {
            let output = OutputFolder::new(folder.path()).expect("a folder");
            let cancel = Cancel::new();
            let options = orogen::ExportOptions {
                exports: &built.exports,
                seed: "",
                place: None,
                windows: None,
                cancel: &cancel,
                progress: &|_| (),
            };
            pool.install(|| orogen::export(&built.terrain, &options, &output)).expect("exports")
        });
    });
    group.finish();
}

/// The Voronoi graph against the bare triangulations it rests on.
fn voronoi(criterion: &mut Criterion) {
    let seed = Seed::from_text("voronoi");
    let mut rounds = vec![
        (0..100_000u64)
            .map(|i| [2.0 * seed.unit(2 * i) - 1.0, 2.0 * seed.unit(2 * i + 1) - 1.0])
            .collect::<Vec<_>>(),
    ];
    for round in 0..2 {
        let next = graph::relax(&rounds[round], graph::Rect::UNIT, 1).expect("relaxes");
        rounds.push(next);
    }
    let mut group = slow(criterion, "voronoi_100000");
    group.bench_function("library", |bencher| {
        let sets: Vec<Vec<delaunator::Point>> =
            rounds.iter().map(|set| set.iter().map(|&[x, y]| delaunator::Point { x, y }).collect()).collect();
        bencher.iter(|| sets.iter().map(|set| delaunator::triangulate(set).triangles.len()).sum::<usize>());
    });
    group.bench_function("graph", |bencher| {
        bencher.iter(|| {
            let points = graph::relax(&rounds[0], graph::Rect::UNIT, 2).expect("relaxes");
            graph::Graph::voronoi(&points, graph::Rect::UNIT).expect("has a graph")
        });
    });
    group.finish();
}

criterion_group!(foundation, machine, island, voronoi);
criterion_main!(foundation);
