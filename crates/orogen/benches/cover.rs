//! How fast cover is: 12 materials by 6 parameters, and biomes, on 4096 × 4096 samples, beside simplex fBm of 8 octaves there.
#![allow(missing_docs, reason = "criterion's macros make undocumented items")]

use std::hint::black_box;
use std::time::Duration;

use criterion::{Criterion, criterion_group, criterion_main};
use orogen::ops::cover::rules::{Rule, Span};
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

criterion_group!(benches, cover);
criterion_main!(benches);
