//! How fast plants are made: a whole black tupelo, beside the reference kernel, and the trees of a forest. `cargo xtask bench`
//! prints the ratios. Times are those of the processor, as one thread does all of it.
#![allow(missing_docs, reason = "criterion's macros make undocumented items")]

use std::hint::black_box;
use std::path::Path;
use std::time::Duration;

use cpu_time::ThreadTime;
use criterion::{BenchmarkGroup, Criterion, criterion_group, criterion_main, measurement::WallTime};
use orogen_core::Seed;
use orogen_flora::{CATALOG, Detail, PlantMesh, Species, from_arbaro, grow, lod, mesh};
use orogen_ops::reference::reference_fbm;

/// The tree that figures are given for, as Arbaro has it; our own, which has more leaves, where that is not there.
fn tupelo() -> Species {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/trees/black_tupelo.xml");
    let arbaros = std::fs::read_to_string(path).ok().map(|text| from_arbaro(&text).expect("a species"));
    arbaros.unwrap_or_else(|| orogen_flora::species("black_tupelo").expect("known").expect("sound"))
}

/// Forty trees, of all species that are large.
fn forest() -> Vec<PlantMesh> {
    let species: Vec<Species> =
        CATALOG.iter().map(|entry| Species::from_toml(entry.text).expect("a sound species")).collect();
    (0..40u64)
        .map(|number| {
            let species = &species[number as usize % species.len()];
            lod(species, &grow(species, Seed(number)).expect("grows"), 2)
        })
        .collect()
}

fn timed<T>(group: &mut BenchmarkGroup<'_, WallTime>, name: &str, made: impl Fn() -> T) {
    group.bench_function(name, |bencher| {
        bencher.iter_custom(|times| {
            let start = ThreadTime::now();
            for _ in 0..times {
                black_box(made());
            }
            start.elapsed()
        });
    });
}

fn plants(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("plants");
    group.sample_size(10).warm_up_time(Duration::from_millis(500)).measurement_time(Duration::from_secs(4));
    timed(&mut group, "reference", || reference_fbm(1025, 1025, Seed(7)));
    let species = tupelo();
    timed(&mut group, "tupelo", || {
        let plant = grow(&species, Seed(13)).expect("grows");
        mesh(&species, &plant, &Detail::FULL)
    });
    let plant = grow(&species, Seed(13)).expect("grows");
    timed(&mut group, "mesh", || mesh(&species, &plant, &Detail::FULL));
    for level in 0..4 {
        timed(&mut group, &format!("level_{level}"), || lod(&species, &plant, level));
    }
    // Each pair is made once; a thousand trees share the forty meshes, copied as a scene without instances would.
    timed(&mut group, "forest", || {
        let made = forest();
        (0..1000).map(|tree| made[tree % made.len()].clone()).collect::<Vec<_>>()
    });
    group.finish();
}

criterion_group!(benches, plants);
criterion_main!(benches);
