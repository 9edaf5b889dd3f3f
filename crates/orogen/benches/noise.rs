//! How fast noise is: fBm of 8 octaves on 4096 × 4096 samples, on one thread and on two. Criterion prints samples per
//! second; `long` waves start at a quarter of the map, `short` ones at 64 samples, where hashing is shared least.
#![allow(missing_docs, reason = "criterion's macros make undocumented items")]

use std::hint::black_box;
use std::time::Duration;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use orogen::ops::noise::{Basis, Field, Fractal};
use orogen::ops::source::Noise;
use orogen::prelude::*;

const SIDE: usize = 4096;

fn noise(criterion: &mut Criterion) {
    let frame = Frame::square((SIDE - 1) as f64, SIDE).expect("a frame");
    let mut out = vec![0.0; SIDE * SIDE];
    let long = Noise { octaves: 8, wavelength_m: 1024.0, fractal: Fractal::Fbm, ..Noise::default() };
    let cases = [
        ("long", long.clone()),
        ("short", Noise { wavelength_m: 64.0, ..long.clone() }),
        ("turned", Noise { rotation_deg: 30.0, ..long }),
    ];
    for threads in [1, 2] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads start");
        let mut group = criterion.benchmark_group(format!("noise_{threads}"));
        group
            .sample_size(10)
            .warm_up_time(Duration::from_millis(500))
            .measurement_time(Duration::from_secs(3));
        group.throughput(Throughput::Elements((SIDE * SIDE) as u64));
        for basis in [Basis::Perlin, Basis::Simplex, Basis::Value, Basis::Worley] {
            for (name, params) in &cases {
                let field = Field::new(&Noise { basis, ..params.clone() }.look(), Seed(7));
                group.bench_function(format!("{basis:?}/{name}"), |bencher| {
                    bencher.iter(|| {
                        pool.install(|| field.fill(&frame, &mut out, &Ctx::silent())).expect("runs");
                        black_box(&mut out);
                    });
                });
            }
        }
        group.finish();
    }
}

criterion_group!(benches, noise);
criterion_main!(benches);
