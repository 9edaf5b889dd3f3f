//! How fast a session answers for small windows: against the bare operators, and with the steps of `island` solved.
#![allow(missing_docs, reason = "criterion's macros make undocumented items")]

use std::hint::black_box;
use std::path::Path;
use std::time::Duration;

use criterion::{Criterion, criterion_group, criterion_main};
use orogen::core::{Cancel, LayerName, Rect};
use orogen::prelude::*;
use orogen::recipe::{Checked, Limits, Plan, RunOptions, Session, SessionOptions, Unobserved, run};

/// Noise and twenty features.
fn points_recipe() -> String {
    let hills: String = (0..20)
        .map(|i| {
            let (x, y) = (400.0 * f64::from(i), 300.0 * f64::from(i) + 500.0);
            format!("{{ kind = \"hill\", at_m = [{x}, {y}], radius_m = 300, height_m = 60 }}, ")
        })
        .collect();
    format!(
        "seed = \"s\"\nframe = {{ size_m = 8192, samples = 1025 }}\n[[step]]\nid = \"n\"\nop = \"source.noise\"\n\
         [[step]]\nid = \"f\"\nop = \"shape.features\"\n[step.params]\nfeatures = [{hills}]\n"
    )
}

/// A stroke of the brush on noise, and ten steps that look around them.
fn painted_recipe(x: f64) -> String {
    let blurs: String = (0..10)
        .map(|i| format!("[[step]]\nid = \"b{i}\"\nop = \"shape.blur\"\nparams.radius_m = {}\n", 20 + 2 * i))
        .collect();
    format!(
        "seed = \"s\"\nframe = {{ size_m = 8192, samples = 1025 }}\n[[step]]\nid = \"n\"\nop = \"source.noise\"\n\
         [[step]]\nid = \"p\"\nop = \"shape.paint\"\n[[step.params.strokes]]\ntool = \"raise\"\n\
         points_m = [[{x}, 4000], [4500, 4300]]\nradius_m = 200\n{blurs}"
    )
}

fn checked(name: &str, text: &[u8]) -> Checked {
    let recipe = Recipe::parse(name, text).expect("the recipe parses");
    recipe.check(&orogen::catalog(), &Limits::default()).expect("the recipe has no fault")
}

fn session(name: &str, text: &[u8]) -> Session {
    Session::new(checked(name, text), SessionOptions::default())
}

/// A window of 65 x 65 samples, `i` of a row of them.
fn window(session: &Session, i: usize, spacing_m: f64) -> Frame {
    let base = session.checked().frame();
    let extent = base.extent();
    let side = 64.0 * spacing_m;
    let count = ((extent.size()[0] - side) / side) as usize;
    let min = [(i % count) as f64, (i / count % count) as f64].map(|k| k * side);
    let min = [extent.min[0] + min[0], extent.min[1] + min[1]];
    let rect = Rect { min, max: [min[0] + side, min[1] + side] };
    base.part(&rect, [spacing_m; 2]).expect("the window is inside").expect("it has samples")
}

fn tiles(c: &mut Criterion) {
    let mut group = c.benchmark_group("session");
    group.sample_size(20).measurement_time(Duration::from_secs(3));
    let (height, never) = ([LayerName::fixed("height")], Cancel::new());
    let one = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("one thread");

    let points = session("points", points_recipe().as_bytes());
    let frame = window(&points, 700, 1.0);
    group.bench_function("points", |b| {
        b.iter(|| one.install(|| points.tile(black_box(frame), &height, &never).expect("a tile")));
    });
    let ops: Vec<_> = points.checked().steps().iter().map(|step| (step.op.clone(), step.seed)).collect();
    let world = *points.checked().frame();
    group.bench_function("kernels", |b| {
        b.iter(|| {
            one.install(|| {
                ops.iter().fold(Terrain::new(black_box(frame)), |land, (op, seed)| {
                    op.run(land, &Ctx::new(*seed).in_world(world)).expect("land")
                })
            })
        });
    });

    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../recipes/island.toml");
    let island = session("island", &std::fs::read(path).expect("the recipe is there"));
    island.solve(&Unobserved, &never).expect("the steps are solved");
    // One tile beside the other, more of them than sources keep windows: none is asked for again while it is still known.
    const TILES: usize = 1200;
    let mut next = 0;
    group.bench_function("island", |b| {
        b.iter(|| {
            next = (next + 1) % TILES;
            let frame = window(&island, 7000 + next, 4.0);
            one.install(|| island.tile(black_box(frame), &height, &never).expect("a tile"))
        });
    });
    let two = rayon::ThreadPoolBuilder::new().num_threads(2).build().expect("two threads");
    group.bench_function("island_100_tiles", |b| {
        b.iter(|| {
            next = (next + 100) % TILES;
            two.install(|| {
                use rayon::prelude::*;
                (0..100).into_par_iter().for_each(|i| {
                    let frame = window(&island, 7000 + (next + i) % TILES, 4.0);
                    island.tile(frame, &height, &never).expect("a tile");
                });
            });
        });
    });
    group.finish();
}

/// One stroke moved to and fro, against clean builds of the same land.
fn edits(c: &mut Criterion) {
    let mut group = c.benchmark_group("session");
    group.sample_size(10).measurement_time(Duration::from_secs(4));
    let never = Cancel::new();
    let recipes = [4200.0, 4250.0].map(|x| checked("painted", painted_recipe(x).as_bytes()));
    let clean = |recipe: &Checked| {
        let plan = Plan::whole(recipe).expect("a plan");
        run(recipe, &plan, &RunOptions::default()).expect("land").terrain
    };
    group.bench_function("clean", |b| b.iter(|| clean(black_box(&recipes[0]))));
    let mut session = Session::new(recipes[0].clone(), SessionOptions::default());
    session.land(&Unobserved, &never).expect("land");
    let mut turn = 0;
    group.bench_function("edit", |b| {
        b.iter(|| {
            turn += 1;
            session.edit(recipes[turn % 2].clone());
            session.land(&Unobserved, &never).expect("land")
        });
    });
    let edited = session.land(&Unobserved, &never).expect("land").terrain;
    assert_eq!(edited, clean(session.checked()), "the same bytes");
    group.finish();
}

criterion_group!(benches, tiles, edits);
criterion_main!(benches);
