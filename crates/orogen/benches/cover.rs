//! How fast cover is: 12 materials by 6 parameters, and biomes, on 4096 × 4096 samples, beside simplex fBm of 8 octaves there; Poisson
//! disks on 512 × 512; the grass of a tile.
#![allow(missing_docs, reason = "criterion's macros make undocumented items")]

use std::hint::black_box;
use std::time::Duration;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use orogen::core::Rect;
use orogen::ops::cover::poisson::{Plan, Spacing, disks};
use orogen::ops::cover::rules::{Rule, Span};
use orogen::ops::cover::scatter::{Method, Scatter, standing};
use orogen::ops::cover::species::Species;
use orogen::ops::cover::{Biomes, Material, Materials};
use orogen::ops::noise::{Basis, Field, Fractal};
use orogen::ops::source::Noise;
use orogen::prelude::*;

const SIDE: usize = 4096;
const SPACING_M: f64 = 4.0;

fn simplex() -> Noise {
    Noise {
        octaves: 8,
        wavelength_m: 1024.0 * SPACING_M,
        fractal: Fractal::Fbm,
        basis: Basis::Simplex,
        ..Noise::default()
    }
}

fn land(frame: Frame) -> Terrain {
    let mut terrain = Terrain::new(frame);
    let layer_of = |seed: u64, low: f32, high: f32| {
        let mut raster = Raster::filled(SIDE, SIDE, 0.0f32);
        let field = Field::new(&simplex().look(), Seed(seed));
        field.fill(&frame, raster.as_mut_slice(), &Ctx::silent()).expect("runs");
        let (from, to) = raster.range().expect("no holes");
        raster.map(|v| low + (high - low) * (v - from) / (to - from))
    };
    terrain.set(layer::HEIGHT, layer_of(1, -300.0, 1800.0));
    terrain.set(layer::MOISTURE, layer_of(2, 0.0, 1.0));
    terrain.set(layer::TEMPERATURE, layer_of(3, -8.0, 24.0));
    terrain.set(layer::SEDIMENT, layer_of(4, 0.0, 6.0));
    terrain
}

/// Twelve materials, each with six parameters of its own: ranges that overlap, so that several lie at most places.
fn twelve() -> Materials {
    let material = |i: usize| {
        let at = i as f64 / 12.0;
        let rule = |set: &dyn Fn(&mut Rule)| {
            let mut rule = Rule::default();
            set(&mut rule);
            rule
        };
        Material {
            name: format!("m{i}"),
            rules: vec![
                rule(&|r| {
                    (r.slope_deg, r.fade) = (Some(Span([40.0 * at - 20.0, 40.0 * at + 20.0])), 8.0 + at)
                }),
                rule(&|r| {
                    (r.height_m, r.fade) = (Some(Span([1800.0 * at - 900.0, 1800.0 * at + 900.0])), 90.0 + at)
                }),
                rule(&|r| (r.moisture, r.fade) = (Some(Span([at - 0.6, at + 0.6])), 0.2 + 0.01 * at)),
                rule(&|r| {
                    (r.temperature_c, r.fade) = (Some(Span([30.0 * at - 20.0, 30.0 * at + 8.0])), 4.0 + at)
                }),
                rule(&|r| (r.sediment_m, r.fade) = (Some(Span([4.0 * at - 3.0, 4.0 * at + 4.0])), 1.0 + at)),
                rule(&|r| (r.curvature_per_m, r.fade) = (Some(Span([-0.05, 0.05 - 0.01 * at])), 0.01)),
            ],
        }
    };
    Materials { materials: (0..12).map(material).collect(), rock: None, fallback: "m0".to_owned() }
}

fn cover(criterion: &mut Criterion) {
    let frame = Frame::square(SPACING_M * (SIDE - 1) as f64, SIDE).expect("a frame");
    let terrain = land(frame);
    let mut group = criterion.benchmark_group("cover");
    group.sample_size(10).warm_up_time(Duration::from_millis(500)).measurement_time(Duration::from_secs(3));
    let field = Field::new(&simplex().look(), Seed(7));
    let mut out = vec![0.0; SIDE * SIDE];
    group.bench_function("simplex", |bencher| {
        bencher.iter(|| {
            field.fill(&frame, &mut out, &Ctx::silent()).expect("runs");
            black_box(&mut out);
        });
    });
    let materials = twelve();
    group.bench_function("materials", |bencher| {
        bencher.iter(|| black_box(materials.run(terrain.clone(), &Ctx::silent()).expect("runs")));
    });
    group.bench_function("biomes", |bencher| {
        bencher.iter(|| black_box(Biomes::default().run(terrain.clone(), &Ctx::silent()).expect("runs")));
    });
    group.finish();
}

/// A hectare of grass, on a tile of its own with what is around it.
fn grass() -> (Scatter, Terrain) {
    let frame = Frame::square(128.0, 33).expect("a frame");
    let mut terrain = Terrain::new(frame);
    terrain.set(layer::HEIGHT, Raster::from_fn(33, 33, |col, row| 50.0 + 0.1 * (col + row) as f32));
    let rules = vec![Rule { height_m: Some(Span([0.0, 1000.0])), ..Rule::default() }];
    let grass = Species {
        radius_m: Some(0.1),
        density_per_ha: Some(80_000.0),
        spread: Some(0.0),
        rules,
        ..Species::named("bent_grass")
    };
    let scatter = Scatter { method: Method::Grid, species: vec![grass], cell_m: 0.3, ..Scatter::default() };
    let land = Op::run(&scatter, terrain, &Ctx::silent()).expect("runs");
    (scatter, land)
}

fn plants(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("plants");
    group.sample_size(10).warm_up_time(Duration::from_millis(500)).measurement_time(Duration::from_secs(3));
    let rect = Rect { min: [0.0; 2], max: [512.0; 2] };
    let inside = |[x, y]: [f64; 2]| (0.0..512.0).contains(&x) && (0.0..512.0).contains(&y);
    for (name, darts, maximal) in [("disks_4", 4, false), ("disks_12", 12, false), ("disks_full", 4, true)] {
        for distance in [1.0, 2.0, 4.0, 8.0] {
            let plan = Plan { spacing: Spacing::new(distance), seed: Seed(7), darts, maximal };
            let made =
                || disks(&rect, &rect, &plan, &[], inside, &Ctx::silent()).expect("runs").points(&rect);
            group.throughput(Throughput::Elements(made().len() as u64));
            group.bench_function(format!("{name}_{distance}"), |bencher| bencher.iter(|| black_box(made())));
        }
    }
    let (scatter, land) = grass();
    let tile = Rect { min: [14.0; 2], max: [114.0; 2] };
    let made = || standing(&scatter, &land, &tile, &Ctx::silent()).expect("runs");
    group.throughput(Throughput::Elements(made().len() as u64));
    group.bench_function("grass", |bencher| bencher.iter(|| black_box(made())));
    group.finish();
}

criterion_group!(benches, cover, plants);
criterion_main!(benches);
