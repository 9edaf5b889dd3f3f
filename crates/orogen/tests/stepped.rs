//! Runs that are stepped: however the pieces are shared out the result has the bits of running through, and the land can be
//! looked at on its way.

#![allow(clippy::unwrap_used, reason = "a failing test may stop")]

use std::collections::BTreeSet;
use std::sync::Arc;

use orogen::prelude::*;
use orogen::recipe::{Limits, Plan, Run, RunError, RunOptions, Session, SessionOptions, StartOptions};
use orogen_core::{Progress, Simulated};

const LAND: &str = "\
seed = \"pieces\"
frame = { size_m = 2000.0, samples = 65 }
[[step]]
id = \"land\"
op = \"source.noise\"
params = { octaves = 6, wavelength_m = 1300.0, amplitude_m = 90.0, offset_m = 15.0 }
";

/// The operators that work in pieces, with enough work for many of them.
const STEPPED: [(&str, &str); 6] = [
    ("erode.pipes", "duration_s = 240.0, runoff_s = 120.0, snapshots = 2"),
    ("erode.glacier", "duration_yr = 30000.0, equilibrium_m = 100.0, steps = 30"),
    ("erode.stream_power", "duration_yr = 200000.0, steps = 12"),
    ("erode.droplets", "rounds = 10"),
    ("erode.coast", "duration_yr = 1500.0"),
    (
        "erode.wind",
        "duration_yr = 4.0, others = [{ wind_deg = 20.0, share = 0.5 }], abrasion_mm_per_yr = 1.0",
    ),
];

fn session(text: &str) -> Arc<Session> {
    let recipe = Recipe::parse("stepped.toml", text.as_bytes()).unwrap();
    let checked = recipe.check(&orogen::catalog(), &Limits::default()).unwrap();
    Arc::new(Session::new(checked, SessionOptions::default()))
}

fn with_step(op: &str, params: &str) -> String {
    format!("{LAND}[[step]]\nid = \"work\"\nop = \"{op}\"\nparams = {{ {params} }}\n")
}

fn start(session: &Arc<Session>, options: StartOptions) -> Run {
    session.start(*session.checked().frame(), BTreeSet::new(), options).unwrap()
}

/// The recipe run through, without a session.
fn through(session: &Session) -> Terrain {
    let plan = Plan::whole(session.checked()).unwrap();
    orogen::recipe::run(session.checked(), &plan, &RunOptions::default()).unwrap().terrain
}

/// Both have the same parts with the same bits; holes are equal to holes.
fn assert_same(a: &Terrain, b: &Terrain, what: &str) {
    let names = |t: &Terrain| t.layers().keys().cloned().collect::<Vec<_>>();
    assert_eq!((names(a), a.frame(), a.vectors()), (names(b), b.frame(), b.vectors()), "{what}");
    for (name, data) in a.layers() {
        assert!(data.bytes() == b.layers()[name].bytes(), "{what}: {name} differs");
    }
}

fn height(terrain: &Terrain) -> &Raster<f32> {
    terrain.get(layer::HEIGHT).unwrap()
}

fn rmse(a: &Terrain, b: &Terrain) -> f64 {
    let pairs = height(a).as_slice().iter().zip(height(b).as_slice());
    let squares = pairs.map(|(a, b)| f64::from(a - b) * f64::from(a - b));
    (squares.sum::<f64>() / a.frame().len() as f64).sqrt()
}

#[test]
fn any_budget_gives_the_bits_of_running_through() {
    for (op, params) in STEPPED {
        let text = with_step(op, params);
        let whole = through(&session(&text));
        for budget in [1, 3, 1000] {
            // A session of its own, which has not solved anything yet.
            let mut run = start(&session(&text), StartOptions::default());
            let mut calls = 1;
            while run.advance(budget).unwrap() == Progress::More {
                calls += 1;
            }
            assert!(budget > 1 || calls > 12, "{op} has {calls} pieces only");
            let finished = run.finish().unwrap();
            assert_same(&finished.terrain, &whole, op);
            assert!(finished.steps.len() == 2 && !finished.steps[1].figures.is_empty(), "{op}");
        }
    }
}

/// Looking at the land changes nothing, and it comes closer to what it will be.
#[test]
fn views_are_land_on_its_way_to_the_result() {
    for (op, params) in STEPPED {
        let session = session(&with_step(op, params));
        let whole = through(&session);
        let mut run = start(&session, StartOptions::default());
        let (mut far, mut last_share, mut last_time) = (Vec::new(), 0.0, 0.0);
        while run.advance(1).unwrap() == Progress::More {
            let view = run.view().unwrap();
            assert_eq!(view.frame(), whole.frame(), "{op}");
            if !view.layers().is_empty() {
                assert!(height(&view).as_slice().iter().all(|h| h.is_finite()), "{op}");
                far.push(rmse(&view, &whole));
            }
            let moment = run.moment();
            if moment.id == "work" {
                assert!(
                    (last_share..=1.0).contains(&moment.moment.share),
                    "{op}: {moment:?} after {last_share}"
                );
                last_share = moment.moment.share;
                let time = match moment.moment.time {
                    Some(Simulated::Years(time) | Simulated::Seconds(time)) => time,
                    None => last_time,
                };
                assert!(time >= last_time, "{op}: {time} after {last_time}");
                last_time = time;
            }
        }
        assert!(last_share > 0.99, "{op}: {last_share}");
        let (first, middle, last) = (far[0], far[far.len() / 2], far[far.len() - 1]);
        assert!(first > 0.0 && middle < first && last < 0.3 * first, "{op}: {first}, {middle}, {last}");
        assert_same(&run.finish().unwrap().terrain, &whole, op);
    }
}

/// Land that still grows on a coarse lattice is seen on its own, finer one.
#[test]
fn coarse_lattices_are_seen_on_the_finer_land() {
    let text = with_step("erode.stream_power", "duration_yr = 200000.0, steps = 8");
    let session = session(&text.replace("samples = 65", "samples = 193"));
    let whole = through(&session);
    let mut run = start(&session, StartOptions::default());
    let mut far = Vec::new();
    while run.advance(1).unwrap() == Progress::More {
        if run.moment().id == "work" {
            let view = run.view().unwrap();
            assert!(height(&view).as_slice().iter().all(|h| h.is_finite()));
            far.push(rmse(&view, &whole));
        }
    }
    // Half of the time is spent on the coarse lattice, and most of the land is made there.
    let (first, middle) = (far[0], far[far.len() / 2]);
    assert!(first > 0.0 && middle < 0.7 * first, "{far:?}");
    assert_same(&run.finish().unwrap().terrain, &whole, "stream power");
}

#[test]
fn snapshots_are_bounded_and_in_order() {
    for (op, params) in STEPPED {
        let text = with_step(op, params);
        let whole = through(&session(&text));
        let mut run = start(&session(&text), StartOptions { snapshots: 4, ..StartOptions::default() });
        while run.advance(2).unwrap() == Progress::More {}
        let shots = run.take_snapshots();
        assert!(run.snapshots().is_empty());
        assert!((2..=4).contains(&shots.len()), "{op}: {}", shots.len());
        assert!(shots.iter().all(|shot| shot.id == "work" && shot.op == op));
        let shares: Vec<f64> = shots.iter().map(|shot| shot.moment.share).collect();
        assert!(shares.is_sorted() && shares.last() == Some(&1.0), "{op}: {shares:?}");
        let far: Vec<f64> = shots.iter().map(|shot| rmse(&shot.terrain, &whole)).collect();
        assert!(far[far.len() - 1] < far[0] && far[far.len() - 1] < 0.01, "{op}: {far:?}");
        // However much is done at a time, the same moments are kept.
        let mut again = start(&session(&text), StartOptions { snapshots: 4, ..StartOptions::default() });
        again.advance(usize::MAX).unwrap();
        let same = again.snapshots().iter().zip(&shots).all(|(a, b)| a.moment == b.moment);
        assert!(same && again.snapshots().len() == shots.len(), "{op}");
    }
}

#[test]
fn a_run_is_cancelled_between_pieces_or_dropped() {
    for (op, params) in STEPPED {
        let session = session(&with_step(op, params));
        let cancel = Arc::new(Cancel::new());
        let mut run = start(&session, StartOptions { cancel: cancel.clone(), ..StartOptions::default() });
        assert_eq!(run.advance(4).unwrap(), Progress::More, "{op}");
        cancel.cancel();
        assert_eq!(run.advance(1), Err(RunError::Cancelled), "{op}");
        // Nothing of it stays: the next run has the whole result.
        let mut dropped = start(&session, StartOptions::default());
        dropped.advance(5).unwrap();
        drop(dropped);
        assert_eq!(session.kept_bytes(), 0, "{op}");
        assert_same(
            &start(&session, StartOptions::default()).finish().unwrap().terrain,
            &through(&session),
            op,
        );
    }
}

#[test]
fn a_caller_may_stop_by_any_measure() {
    let mut run = start(&session(&with_step("erode.droplets", "rounds = 10")), StartOptions::default());
    let mut asked = 0;
    let progress = run.advance_until(&mut || {
        asked += 1;
        asked == 5
    });
    assert_eq!((progress.unwrap(), asked), (Progress::More, 5));
    // With nothing left to wait for, at least one piece is done.
    let before = run.moment().moment.share;
    assert_eq!(run.advance_until(&mut || true).unwrap(), Progress::More);
    assert!(run.moment().moment.share > before);
}

/// Masks limit what is seen on the way as they limit the result.
#[test]
fn masks_hold_in_every_view() {
    let masked = "[[step]]\nid = \"where\"\nop = \"mask.noise\"\nparams = { wavelength_m = 700.0 }\n\
                  [[step]]\nid = \"work\"\nop = \"erode.droplets\"\nmask = \"mask\"\nparams = { rounds = 10 }\n";
    let session = session(&format!("{LAND}{masked}"));
    let whole = through(&session);
    let mut run = start(&session, StartOptions::default());
    let (mut land, mut changed) = (None, 0);
    while run.advance(1).unwrap() == Progress::More {
        let view = run.view().unwrap();
        let (Ok(mask), true) = (view.get(layer::MASK), run.moment().id == "work") else { continue };
        let before: &Terrain = land.get_or_insert_with(|| view.clone());
        for (i, share) in mask.as_slice().iter().enumerate() {
            let [a, b] = [before, &view].map(|t| height(t).as_slice()[i]);
            assert!(*share > 0.0 || a == b, "{a} became {b} where the mask is {share}");
            changed += usize::from(a != b);
        }
    }
    assert!(changed > 1000 && whole.get(layer::MASK).unwrap().as_slice().contains(&0.0), "{changed}");
    assert_same(&run.finish().unwrap().terrain, &whole, "masked");
}

/// On land that loops an operator sees more land than is shown: views are rolled up as the result is.
#[test]
fn land_that_loops_is_seen_as_a_loop() {
    let source = "seed = \"round\"\nframe = { size_m = 1920.0, samples = 65, loops = true }\n\
                  [[step]]\nid = \"hills\"\nop = \"source.noise\"\n\
                  params = { wavelength_m = 640.0, amplitude_m = 90.0, offset_m = 10.0, period_m = 1920.0 }\n";
    for (op, params) in STEPPED {
        let step = format!("[[step]]\nid = \"work\"\nop = \"{op}\"\nparams = {{ {params} }}\n");
        let session = session(&format!("{source}{step}"));
        let whole = through(&session);
        let mut run = start(&session, StartOptions::default());
        let mut views = 0;
        while run.advance(3).unwrap() == Progress::More {
            let view = run.view().unwrap();
            assert_eq!(view.frame(), whole.frame());
            if run.moment().id == "work" {
                let seam = (0..65).all(|i| height(&view).row(i)[0] == height(&view).row(i)[64]);
                assert!(seam, "{op}");
                views += 1;
            }
        }
        assert!(views > 1, "{op}");
        assert_same(&run.finish().unwrap().terrain, &whole, op);
    }
}

/// Whole recipes, of many operators, and windows of them at another spacing.
#[test]
fn presets_can_be_stepped() {
    for preset in orogen::presets::PRESETS {
        let mut recipe = Recipe::parse(preset.name, preset.text.as_bytes()).unwrap();
        let set = orogen::recipe::Overrides { samples: Some(65), ..Default::default() };
        recipe.apply(&set, &orogen::catalog()).unwrap();
        let checked = recipe.check(&orogen::catalog(), &Limits::default()).unwrap();
        let session = Arc::new(Session::new(checked, SessionOptions::default()));
        let mut run = start(&session, StartOptions { snapshots: 2, ..StartOptions::default() });
        while run.advance(5).unwrap() == Progress::More {}
        let stepped = run.finish().unwrap().terrain;
        assert_same(&stepped, &through(&session), preset.name);
        let base = session.checked().frame();
        let [dx, dy] = base.spacing_m();
        let fine = base.window(20, 24, 9, 9);
        let fine = base.part(&fine.extent(), [dx / 2.0, dy / 2.0]).unwrap().unwrap();
        let names = [layer::HEIGHT.name()];
        let tile = session.tile(fine, &names, &Cancel::new()).unwrap();
        let parts = names.into_iter().map(orogen_core::Part::Layer).collect();
        let run = session.start(fine, parts, StartOptions::default()).unwrap();
        assert_same(&run.finish().unwrap().terrain, &tile, preset.name);
    }
}

/// Nothing but the one thread that calls does any work, as in a page of a browser.
#[cfg(target_os = "linux")]
#[test]
fn no_thread_is_started() {
    let threads = || std::fs::read_dir("/proc/self/task").unwrap().count();
    // The caller is the pool.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).use_current_thread().build().unwrap();
    pool.install(|| {
        let before = threads();
        for (op, params) in STEPPED {
            let mut run = start(&session(&with_step(op, params)), StartOptions::default());
            while run.advance(1).unwrap() == Progress::More {
                assert_eq!(threads(), before, "{op}");
            }
            run.finish().unwrap();
        }
        assert_eq!(threads(), before);
    });
}
