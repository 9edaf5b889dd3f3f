//! A session answers as a build would, with less work.

use std::collections::BTreeSet;
use std::sync::Arc;

use orogen_core::{Cancel, Frame, LayerName, Part, Rect};
use orogen_recipe::{Plan, PlanError, Session, SessionOptions, TileError, Unobserved};

use crate::fakes::{build, checked};

const FRAME: &str = "seed = \"s\"\nframe = { size_m = [1000, 800], samples = [101, 81] }\n";

fn step(id: &str, op: &str, rest: &str) -> String {
    format!("[[step]]\nid = {id:?}\nop = {op:?}\n{rest}\n")
}

/// Sources, masks, steps that reach the whole world with and without a mask, ids, vectors and what follows from heights.
fn recipe() -> String {
    format!(
        "{FRAME}{}{}{}{}{}{}{}",
        step("a", "source.waves", ""),
        step("m", "mask.east", ""),
        step("b", "shape.blur", "params.radius_m = 20"),
        step("n", "shape.normalise", "mask = \"mask\"\nparams.writes_water = true"),
        step("i", "cover.ids", ""),
        step("w", "shape.normalise", ""),
        step("s", "survey.slope", ""),
    )
}

fn name(name: &'static str) -> LayerName {
    LayerName::fixed(name)
}

fn windows(base: &Frame) -> Vec<Frame> {
    let part = |min: [f64; 2], max: [f64; 2], spacing: f64| {
        base.part(&Rect { min, max }, [spacing, spacing]).unwrap().unwrap()
    };
    vec![
        base.window(20, 30, 17, 9),
        *base,
        part([200.0, 200.0], [300.0, 260.0], 4.0),
        part([0.0, 0.0], [70.0, 50.0], 2.5),
        part([100.0, 100.0], [900.0, 700.0], 50.0),
    ]
}

#[test]
fn every_answer_equals_the_build() {
    let checked_recipe = checked(&recipe());
    let session = Session::new(checked(&recipe()), SessionOptions::default());
    for window in windows(checked_recipe.frame()) {
        let whole = build(&checked_recipe, window);
        assert_eq!(session.tile(window, &[], &Cancel::new()).unwrap(), whole);
        for layer in whole.layers().keys() {
            let tile = session.tile(window, std::slice::from_ref(layer), &Cancel::new()).unwrap();
            assert_eq!(tile.layers().keys().collect::<Vec<_>>(), [layer]);
            assert!(tile.layers()[layer].bytes() == whole.layers()[layer].bytes(), "{layer} of {window:?}");
        }
        let peaks = BTreeSet::from([Part::Vectors("peaks".into())]);
        let tile = session.parts(window, &peaks, &Cancel::new()).unwrap();
        assert_eq!(tile.vectors()["peaks"], whole.vectors()["peaks"]);
    }
}

#[test]
fn only_the_steps_that_a_layer_needs_are_planned() {
    let checked = checked(&recipe());
    let window = checked.frame().window(10, 10, 5, 5);
    let steps = |layer: &'static str| {
        let plan = Plan::parts(&checked, window, &BTreeSet::from([Part::Layer(name(layer))])).unwrap();
        let mut ids: Vec<String> =
            plan.tasks().iter().map(|task| checked.steps()[task.step].id.clone()).collect();
        ids.dedup();
        ids.join("")
    };
    assert_eq!(steps("mask"), "m");
    assert_eq!(steps("biome"), "i");
    // Water is made together with the heights, from the blurred land, in proportion to the mask.
    assert_eq!(steps("water"), "ambn");
    assert_eq!(steps("slope"), "ambniws");
}

/// Operators hear what is wanted of them: what was asked for, and what later steps look at.
#[test]
fn steps_know_what_is_wanted_of_them() {
    let checked = checked(&recipe());
    let window = checked.frame().window(10, 10, 5, 5);
    let wanted = |plan: &Plan, id: &str| {
        let mut tasks = plan.tasks().iter().filter(|task| checked.steps()[task.step].id == id);
        tasks.next_back().unwrap().wanted.as_deref().cloned()
    };
    let parts = |names: &[&'static str]| names.iter().map(|n| Part::Layer(name(n))).collect::<BTreeSet<_>>();
    let plan = Plan::parts(&checked, window, &parts(&["slope"])).unwrap();
    assert_eq!(wanted(&plan, "s"), Some(parts(&["slope"])));
    // The whole world is worked out for all windows.
    assert_eq!(wanted(&plan, "w"), None);
    assert_eq!(wanted(&Plan::new(&checked, window).unwrap(), "s"), None);
}

#[test]
fn a_layer_that_is_not_there_is_named() {
    let session = Session::new(checked(&recipe()), SessionOptions::default());
    let window = *session.checked().frame();
    let error = session.tile(window, &[name("sand")], &Cancel::new()).unwrap_err();
    assert!(matches!(error, TileError::Plan(PlanError::NoSuchPart { .. })));
    assert!(error.to_string().starts_with("the recipe gives no layer \"sand\"; there are "), "{error}");
}

#[test]
fn what_was_solved_is_kept_within_bounds_and_solved_again_when_gone() {
    let whole = build(&checked(&recipe()), *checked(&recipe()).frame());
    for kept_bytes in [0, 20_000, 100_000, 1 << 30] {
        let options = SessionOptions { kept_bytes, ..SessionOptions::default() };
        let session = Session::new(checked(&recipe()), options);
        session.solve(&Unobserved, &Cancel::new()).unwrap();
        assert!(session.kept_bytes() <= kept_bytes);
        assert_eq!(session.kept_bytes() > 0, kept_bytes > 20_000, "{kept_bytes}");
        for _ in 0..2 {
            let tile = session.tile(*whole.frame(), &[], &Cancel::new()).unwrap();
            assert_eq!(tile, whole);
        }
    }
}

#[test]
fn many_threads_ask_at_once() {
    let session = Arc::new(Session::new(checked(&recipe()), SessionOptions::default()));
    let whole = build(session.checked(), *session.checked().frame());
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (session, whole) = (&session, &whole);
            scope.spawn(move || {
                for i in 0..10 {
                    let window = whole.frame().window(i * 7, thread * 13, 11, 9);
                    let tile = session.tile(window, &[name("height")], &Cancel::new()).unwrap();
                    let cut = whole.crop(&window).unwrap();
                    assert_eq!(tile.layers()[&name("height")], cut.layers()[&name("height")]);
                }
            });
        }
    });
}

#[test]
fn a_cancelled_answer_leaves_the_session_whole() {
    let session = Session::new(checked(&recipe()), SessionOptions::default());
    let window = *session.checked().frame();
    let stop = Cancel::new();
    stop.cancel();
    assert!(session.tile(window, &[], &stop).is_err());
    assert!(session.tile(window, &[], &Cancel::new()).is_ok());
}
