//! Sessions over recipes of real operators: any edit gives the land of a clean build to the bit, and so do tiles that many
//! threads ask for at once, before and after edits and cancels.

#![allow(clippy::unwrap_used, reason = "a failing test may stop")]

use std::collections::BTreeSet;
use std::sync::Arc;

use orogen::prelude::*;
use orogen::recipe::{
    Checked, Limits, Plan, RunOptions, Session, SessionOptions, StartOptions, TileError, Unobserved,
};
use orogen_core::{Cancel, Frame};

const SIZE_M: f64 = 4000.0;
const SAMPLES: usize = 129;

/// Numbers at random, one after the other.
struct Dice(u64);

impl Dice {
    fn below(&mut self, count: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % count as u64) as usize
    }

    /// Between two numbers, to a tenth.
    fn between(&mut self, low: f64, high: f64) -> f64 {
        let steps = ((high - low) * 10.0) as usize;
        low + self.below(steps.max(1)) as f64 / 10.0
    }

    /// A place, now and then beyond the edge.
    fn place(&mut self) -> [f64; 2] {
        [(); 2].map(|()| self.between(-200.0, SIZE_M + 200.0))
    }

    fn places(&mut self, most: usize) -> String {
        let count = 1 + self.below(most);
        let [mut x, mut y] = self.place();
        let mut all = Vec::new();
        for _ in 0..count {
            all.push(format!("[{x:.1}, {y:.1}]"));
            (x, y) = (x + self.between(-500.0, 500.0), y + self.between(-500.0, 500.0));
        }
        format!("[{}]", all.join(", "))
    }

    fn one_of<'a>(&mut self, all: &[&'a str]) -> &'a str {
        all[self.below(all.len())]
    }

    fn stroke(&mut self) -> String {
        let tool = self.one_of(&["raise", "lower", "set", "flatten", "smooth", "noise"]);
        let amount = match tool {
            "flatten" | "smooth" => String::new(),
            _ => format!(", amount = {:.1}", self.between(5.0, 150.0)),
        };
        let scale = match tool {
            "smooth" | "noise" => format!(", scale_m = {:.1}", self.between(40.0, 200.0)),
            _ => String::new(),
        };
        let radius = self.between(60.0, 500.0);
        format!(
            "{{ tool = \"{tool}\"{amount}{scale}, points_m = {}, radius_m = {radius:.1} }}",
            self.places(4)
        )
    }

    fn feature(&mut self, name: usize) -> String {
        let [x, y] = self.place();
        let radius = self.between(150.0, 800.0);
        let height = self.between(40.0, 400.0);
        let round = format!("at_m = [{x:.1}, {y:.1}], radius_m = {radius:.1}");
        let what = match self.below(5) {
            0 => format!("kind = \"hill\", {round}, height_m = {height:.1}"),
            1 => format!("kind = \"mountain\", {round}, height_m = {height:.1}, roughness = 0.7"),
            2 => format!("kind = \"crater\", {round}"),
            3 => format!("kind = \"volcano\", {round}, height_m = {height:.1}"),
            _ => {
                let to = [x + self.between(300.0, 900.0), y + self.between(-600.0, 600.0)];
                format!(
                    "kind = \"ridge\", points = [{{ x_m = {x:.1}, y_m = {y:.1} }}, {{ x_m = {:.1}, y_m = {:.1} }}], \
                     radius_m = {radius:.1}, height_m = {height:.1}",
                    to[0], to[1]
                )
            }
        };
        format!("{{ name = \"f{name}\", {what} }}")
    }

    fn curve(&mut self) -> String {
        let [x, y] = self.place();
        let rest = "slope_left_m = 90, slope_right_m = 70, slope_left_deg = 20, slope_right_deg = 25, \
                    envelope_left_m = 300, envelope_right_m = 250, noise_m = 10, roughness = 0.3";
        let [z, w] = [self.between(20.0, 300.0), self.between(20.0, 300.0)];
        let to = [x + self.between(200.0, 900.0), y + self.between(-400.0, 400.0)];
        format!(
            "{{ points = [{{ x_m = {x:.1}, y_m = {y:.1}, z_m = {z:.1}, {rest} }}, \
             {{ x_m = {:.1}, y_m = {:.1}, z_m = {w:.1} }}] }}",
            to[0], to[1]
        )
    }

    fn list(&mut self, most: usize, mut one: impl FnMut(&mut Self, usize) -> String) -> Vec<String> {
        (0..1 + self.below(most)).map(|i| one(self, i)).collect()
    }
}

/// A step with a list of things that edits add to, change and take from.
#[derive(Clone)]
struct Draft {
    id: usize,
    op: &'static str,
    list: Vec<String>,
    masked: bool,
}

const LOCAL: [&str; 10] = [
    "shape.paint",
    "shape.features",
    "shape.curves",
    "mask.brush",
    "mask.polygon",
    "shape.blur",
    "shape.terrace",
    "shape.gullies",
    "survey.slope",
    "shape.warp",
];
const WORLD: [&str; 2] = ["water.flow", "erode.droplets"];

impl Draft {
    fn new(dice: &mut Dice, id: usize, op: &'static str) -> Self {
        let list = Self::items(dice, op, 3);
        Self { id, op, list, masked: dice.below(3) == 0 }
    }

    fn items(dice: &mut Dice, op: &str, most: usize) -> Vec<String> {
        match op {
            "shape.paint" => dice.list(most, |dice, _| dice.stroke()),
            "shape.features" => dice.list(most, |dice, _| {
                let name = dice.below(1_000_000);
                dice.feature(name)
            }),
            "shape.curves" => dice.list(most, |dice, _| dice.curve()),
            "mask.brush" => dice.list(most, |dice, _| {
                let radius = dice.between(100.0, 600.0);
                format!("{{ points_m = {}, radius_m = {radius:.1} }}", dice.places(3))
            }),
            "mask.polygon" => dice.list(most, |dice, _| {
                let ([x, y], r) = (dice.place(), dice.between(100.0, 700.0));
                format!("[[{x:.1}, {y:.1}], [{:.1}, {y:.1}], [{x:.1}, {:.1}]]", x + r, y + r)
            }),
            "shape.blur" => vec![format!("radius_m = {:.1}", dice.between(30.0, 90.0))],
            "shape.terrace" => vec![format!("height_m = {:.1}", dice.between(10.0, 40.0))],
            "erode.droplets" => vec![format!("rounds = {}", 1 + dice.below(2))],
            _ => Vec::new(),
        }
    }

    fn text(&self, has_mask: bool) -> String {
        let list = self.list.join(", ");
        let params = match self.op {
            "shape.paint" | "mask.brush" => format!("strokes = [{list}]"),
            "shape.features" => format!("features = [{list}]"),
            "shape.curves" => format!("curves = [{list}], wavelength_m = 300.0"),
            "mask.polygon" => format!("rings_m = [{list}], falloff_m = 80.0"),
            _ => list,
        };
        let mask =
            if self.masked && has_mask && !self.op.starts_with("mask") { "mask = \"mask\"\n" } else { "" };
        format!("[[step]]\nid = \"s{}\"\nop = \"{}\"\n{mask}params = {{ {params} }}\n", self.id, self.op)
    }
}

fn recipe(steps: &[Draft]) -> String {
    let mut text = format!(
        "seed = \"edits\"\nframe = {{ size_m = {SIZE_M:.1}, samples = {SAMPLES} }}\n[[step]]\nid = \"land\"\n\
         op = \"source.noise\"\nparams = {{ wavelength_m = 1500.0, amplitude_m = 80.0, offset_m = 120.0 }}\n"
    );
    let mut has_mask = false;
    for step in steps {
        text.push_str(&step.text(has_mask));
        has_mask |= step.op.starts_with("mask");
    }
    text
}

fn edit(dice: &mut Dice, steps: &mut Vec<Draft>, ops: &[&'static str], next: &mut usize) {
    let at = dice.below(steps.len());
    match dice.below(8) {
        0 => {
            let op = ops[dice.below(ops.len())];
            let place = dice.below(steps.len() + 1);
            steps.insert(place, Draft::new(dice, *next, op));
            *next += 1;
        }
        1 if steps.len() > 2 => drop(steps.remove(at)),
        2 => steps[at].masked = !steps[at].masked,
        _ => {
            let mut more = Draft::items(dice, steps[at].op, 1);
            let list = &mut steps[at].list;
            if let (Some(new), false) = (more.pop(), list.is_empty()) {
                let item = dice.below(list.len());
                match dice.below(3) {
                    0 if list.len() > 1 => drop(list.remove(item)),
                    1 if new.starts_with(['{', '[']) => list.push(new),
                    _ => list[item] = new,
                }
            }
        }
    }
}

fn checked(text: &str) -> Option<Checked> {
    let recipe = Recipe::parse("session.toml", text.as_bytes()).unwrap();
    recipe.check(&orogen::catalog(), &Limits::default()).ok()
}

fn clean(checked: &Checked) -> Result<Terrain, String> {
    let plan = Plan::whole(checked).unwrap();
    let run = orogen::recipe::run(checked, &plan, &RunOptions::default());
    run.map(|run| run.terrain).map_err(|error| error.to_string())
}

fn assert_same(found: &Terrain, clean: &Terrain, what: &str) {
    let names = |t: &Terrain| t.layers().keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(found), names(clean), "{what}");
    assert!(found.vectors() == clean.vectors(), "vectors differ: {what}");
    for (name, data) in found.layers() {
        assert!(data.bytes() == clean.layers()[name].bytes(), "{name} differs: {what}");
    }
}

/// How many lands were compared.
fn random_edits(seed: u64, rounds: usize, ops: &[&'static str]) -> usize {
    let mut compared = 0;
    let mut dice = Dice(seed);
    let mut next = 4;
    let mut steps: Vec<Draft> =
        (0..4).map(|id| Draft::new(&mut dice, id, ops[dice_op(seed, id, ops)])).collect();
    let mut session: Option<Session> = None;
    for round in 0..rounds {
        let text = recipe(&steps);
        let Some(checked) = checked(&text) else {
            edit(&mut dice, &mut steps, ops, &mut next);
            continue;
        };
        let what = format!("seed {seed}, round {round}\n{text}");
        let expected = clean(&checked);
        let session = match &mut session {
            Some(session) => {
                session.edit(checked);
                session
            }
            none => none.insert(Session::new(checked, SessionOptions::default())),
        };
        if dice.below(4) == 0 {
            // A cancel at any moment, and more edits on top of it.
            let cancel = Cancel::new();
            cancel.cancel();
            let _ = session.land(&Unobserved, &cancel);
        } else {
            match (session.land(&Unobserved, &Cancel::new()), expected) {
                (Ok(found), Ok(expected)) => {
                    assert_same(&found.terrain, &expected, &what);
                    compared += 1;
                }
                (found, expected) => {
                    assert_eq!(found.map(|_| ()).map_err(|e| e.to_string()), expected.map(|_| ()), "{what}");
                }
            }
        }
        edit(&mut dice, &mut steps, ops, &mut next);
    }
    compared
}

fn dice_op(seed: u64, id: usize, ops: &[&str]) -> usize {
    (seed as usize * 7 + id * 3) % ops.len()
}

#[test]
fn random_edits_of_drawn_land_give_the_clean_build() {
    let compared: usize = (1..7).map(|seed| random_edits(seed, 10, &LOCAL)).sum();
    assert!(compared > 30, "{compared}");
}

#[test]
fn random_edits_before_steps_that_reach_the_whole_world_give_the_clean_build() {
    let ops: Vec<&'static str> = LOCAL.into_iter().chain(WORLD).collect();
    let compared: usize = (2000..2003).map(|seed| random_edits(seed, 6, &ops)).sum();
    assert!(compared > 5, "{compared}");
}

const ERODED: &str = "
[[step]]
id = \"peak\"
op = \"shape.features\"
params = { features = [{ kind = \"mountain\", name = \"a\", at_m = [2000, PEAK], radius_m = 900, height_m = 300 }] }
[[step]]
id = \"wear\"
op = \"erode.stream_power\"
params = { duration_yr = 100000.0, steps = 6 }
[[step]]
id = \"soft\"
op = \"shape.blur\"
params = { radius_m = 60.0 }
[[step]]
id = \"flow\"
op = \"water.flow\"
";

fn eroded(peak: &str) -> Checked {
    checked(&(recipe(&[]) + &ERODED.replace("PEAK", peak))).unwrap()
}

/// Windows of two lattices all over the land.
fn windows(base: &Frame) -> Vec<Frame> {
    let mut all = Vec::new();
    for i in 0..4i64 {
        for j in 0..4i64 {
            all.push(base.window(i * 29, j * 31, 36, 33));
            let fine = Frame::new(
                [1000.0 * i as f64, 1000.0 * j as f64],
                [SIZE_M / (SAMPLES - 1) as f64 * 16.0; 2],
                [33, 33],
            );
            all.push(fine.unwrap());
        }
    }
    all
}

fn tiles_equal_the_whole(session: &Session, expected: &Terrain, fine: &[Option<Terrain>], windows: &[Frame]) {
    let height = layer::HEIGHT.name();
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let height = height.clone();
            scope.spawn(move || {
                for k in 0..windows.len() {
                    let at = (k * 5 + thread * 3) % windows.len();
                    let tile =
                        session.tile(windows[at], std::slice::from_ref(&height), &Cancel::new()).unwrap();
                    let whole = match &fine[at] {
                        Some(fine) => fine.clone(),
                        None => expected.crop(&windows[at]).unwrap(),
                    };
                    let same = tile.layers()[&height].bytes() == whole.layers()[&height].bytes();
                    assert!(same, "thread {thread}, window {at}");
                }
            });
        }
    });
}

#[test]
fn tiles_from_many_threads_equal_the_whole_after_edits_and_cancels() {
    let mut session: Option<Session> = None;
    for peak in ["2000", "1200", "2600"] {
        let checked = eroded(peak);
        let expected = clean(&checked).unwrap();
        let windows = windows(checked.frame());
        // Finer windows one by one, from a session that knows nothing of other recipes.
        let alone = Session::new(checked.clone(), SessionOptions::default());
        let fine: Vec<Option<Terrain>> = (windows.iter().enumerate())
            .map(|(i, window)| {
                (i % 2 == 1).then(|| alone.tile(*window, &[layer::HEIGHT.name()], &Cancel::new()).unwrap())
            })
            .collect();
        let session = match &mut session {
            Some(session) => {
                session.edit(checked);
                session
            }
            none => none.insert(Session::new(checked, SessionOptions::default())),
        };
        let cancel = Cancel::new();
        cancel.cancel();
        let cancelled = session.tile(windows[0], &[layer::HEIGHT.name()], &cancel);
        assert!(matches!(cancelled, Err(TileError::Run(_))));
        tiles_equal_the_whole(session, &expected, &fine, &windows);
        let _ = session.land(&Unobserved, &cancel);
        assert_same(&session.land(&Unobserved, &Cancel::new()).unwrap().terrain, &expected, peak);
        tiles_equal_the_whole(session, &expected, &fine, &windows);
    }
}

#[test]
fn a_run_that_is_dropped_in_the_middle_leaves_the_session_whole() {
    let session = Arc::new(Session::new(eroded("2000"), SessionOptions::default()));
    let expected = clean(session.checked()).unwrap();
    for pieces in [1, 2, 3, 5, 7] {
        let frame = *session.checked().frame();
        let mut run = session.start(frame, BTreeSet::new(), StartOptions::default()).unwrap();
        run.advance(pieces).unwrap();
        run.view().unwrap();
        drop(run);
        let tile = session.tile(frame.window(10, 12, 40, 50), &[], &Cancel::new()).unwrap();
        assert_same(&tile, &expected.crop(tile.frame()).unwrap(), "after a dropped run");
    }
    let frame = *session.checked().frame();
    let run = session.start(frame, BTreeSet::new(), StartOptions::default()).unwrap();
    assert_same(&run.finish().unwrap().terrain, &expected, "a run after others were dropped");
}
