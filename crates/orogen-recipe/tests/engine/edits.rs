//! After any edit a session's land equals a clean build to the bit, for less work.

use orogen_core::{Cancel, Footprint, Rect, Seed, Terrain};
use orogen_recipe::{Answer, Checked, Session, SessionOptions, Unobserved};

use crate::fakes::{build, check, checked};

const FRAME: &str = "frame = { size_m = [1000, 800], samples = [101, 81] }\n";

fn session(text: &str) -> Session {
    Session::new(checked(text), SessionOptions::default())
}

fn land(session: &Session) -> Answer {
    session.land(&Unobserved, &Cancel::new()).unwrap()
}

/// Asserts that two lands have the same parts, bits and provenance.
fn assert_same(found: &Terrain, clean: &Terrain, what: &str) {
    let names = |land: &Terrain| land.layers().keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(found), names(clean), "{what}");
    for (name, data) in clean.layers() {
        assert!(data.bytes() == found.layers()[name].bytes(), "{name} differs: {what}");
    }
    assert_eq!(found.vectors(), clean.vectors(), "{what}");
    assert_eq!(found.instances(), clean.instances(), "{what}");
    assert_eq!(found.provenance(), clean.provenance(), "{what}");
}

fn clean(checked: &Checked) -> Terrain {
    build(checked, *checked.frame())
}

/// A step of a recipe that changes at random.
#[derive(Clone)]
struct Draft {
    id: usize,
    op: &'static str,
    params: String,
    mask: bool,
    enabled: bool,
    from: Option<usize>,
    with: Option<usize>,
}

/// Numbers at random, one after the other.
struct Dice(Seed, u64);

impl Dice {
    fn below(&mut self, count: usize) -> usize {
        self.1 += 1;
        (self.0.unit(self.1) * count as f64) as usize
    }

    fn params(&mut self, op: &str) -> String {
        let n = |dice: &mut Self, most: usize| dice.below(most);
        match op {
            "source.waves" => format!("params.length_m = {}", 100 + n(self, 3) * 100),
            "shape.blur" => format!("params.radius_m = {}", n(self, 4) * 15),
            "shape.raise" => format!("params.by_m = {}", n(self, 5)),
            "shape.normalise" => format!("params.writes_water = {}", n(self, 3) == 0),
            "combine.mix" => format!("params.share = 0.{}", n(self, 10)),
            "mask.east" => format!("params.to_m = {}", 300 + n(self, 3) * 300),
            "cover.ids" => format!("params.id = {}", 1 + n(self, 3)),
            "shape.dabs" => {
                let dabs: Vec<String> = (0..1 + n(self, 3))
                    .map(|_| format!("[{}, {}]", n(self, 11) as i32 * 110 - 50, n(self, 9) * 100))
                    .collect();
                let (radius, on_mask) = (20 + n(self, 3) * 20, n(self, 2) == 0);
                format!(
                    "params.at_m = [{}]\nparams.radius_m = {radius}\nparams.on_mask = {on_mask}",
                    dabs.join(", ")
                )
            }
            _ => String::new(),
        }
    }

    fn step(&mut self, id: usize, world: bool) -> Draft {
        let ops = [
            "shape.dabs",
            "shape.blur",
            "shape.raise",
            "combine.mix",
            "mask.east",
            "cover.ids",
            "survey.slope",
            "shape.dabs",
            "shape.normalise",
        ];
        let op = ops[self.below(ops.len() - usize::from(!world))];
        Draft {
            id,
            op,
            params: self.params(op),
            mask: self.below(4) == 0,
            enabled: self.below(6) > 0,
            from: (self.below(6) == 0).then(|| self.below(id)),
            with: (op == "combine.mix").then(|| self.below(id)),
        }
    }

    /// Changes something.
    fn edit(&mut self, steps: &mut Vec<Draft>, next: &mut usize, world: bool) {
        let at = self.below(steps.len());
        match self.below(9) {
            0..4 => steps[at].params = self.params(steps[at].op),
            4 => steps[at].enabled ^= at > 0,
            5 => steps[at].mask ^= at > 0,
            6 if at > 0 => steps[at].from = (self.below(2) == 0).then(|| self.below(at)),
            7 if at > 0 => {
                let step = self.step(*next, world);
                *next += 1;
                steps.insert(at, step);
            }
            8 if at > 0 && steps.len() > 3 => {
                steps.remove(at);
            }
            _ => {}
        }
    }
}

fn text(steps: &[Draft]) -> String {
    let mut text = format!("seed = \"s\"\n{FRAME}");
    for step in steps {
        text += &format!("[[step]]\nid = \"{}\"\nop = {:?}\n{}\n", step.id, step.op, step.params);
        if step.mask {
            text += "mask = \"mask\"\n";
        }
        if !step.enabled {
            text += "enabled = false\n";
        }
        for (key, link) in [("from", step.from), ("with", step.with)] {
            if let Some(id) = link {
                text += &format!("{key} = \"{id}\"\n");
            }
        }
    }
    text
}

/// A recipe without faults, reached from another one by some edits.
fn next_recipe(dice: &mut Dice, steps: &[Draft], next: &mut usize, world: bool) -> (Vec<Draft>, String) {
    loop {
        let mut edited = steps.to_vec();
        for _ in 0..1 + dice.below(3) {
            dice.edit(&mut edited, next, world);
        }
        let text = text(&edited);
        if check(&text).is_ok() {
            return (edited, text);
        }
    }
}

fn random_edits(seed: usize, rounds: usize, world: bool, kept_bytes: u64) {
    let mut dice = Dice(Seed::from_text("edits").child(&seed.to_string()), 0);
    let source = Draft {
        id: 0,
        op: "source.waves",
        params: String::new(),
        mask: false,
        enabled: true,
        from: None,
        with: None,
    };
    let mut steps = vec![source];
    while steps.len() < 8 {
        let mut more = steps.clone();
        more.push(dice.step(steps.len(), world));
        if check(&text(&more)).is_ok() {
            steps = more;
        }
    }
    let mut next = steps.len();
    let options = SessionOptions { kept_bytes, ..SessionOptions::default() };
    let mut session = Session::new(checked(&text(&steps)), options);
    let mut history = text(&steps);
    for round in 0..rounds {
        let what = format!("round {round} of {seed}:\n{history}");
        if dice.below(4) > 0 {
            assert_same(&land(&session).terrain, &clean(session.checked()), &what);
        }
        if dice.below(3) == 0 {
            let window = session.checked().frame().window(30, 20, 25, 30);
            let tile = session.tile(window, &[], &Cancel::new()).unwrap();
            assert_same(&tile, &build(session.checked(), window), &what);
        }
        let (edited, text) = next_recipe(&mut dice, &steps, &mut next, world);
        session.edit(checked(&text));
        steps = edited;
        history = format!("{history}\nthen\n{text}");
    }
}

#[test]
fn random_edits_of_local_steps_give_the_clean_build() {
    for seed in 0..12 {
        random_edits(seed, 12, false, 1 << 30);
    }
}

#[test]
fn random_edits_give_the_clean_build_where_steps_reach_the_whole_world() {
    for seed in 100..108 {
        random_edits(seed, 12, true, 1 << 30);
    }
}

#[test]
fn random_edits_give_the_clean_build_in_little_memory() {
    for (seed, kept_bytes) in [(200, 0), (201, 40_000), (202, 120_000), (203, 200_000)] {
        random_edits(seed, 12, true, kept_bytes);
    }
}

/// Ten steps that look around, after dabs.
fn blurred(dabs: &str) -> String {
    let mut text = format!("seed = \"b\"\n{FRAME}[[step]]\nid = \"w\"\nop = \"source.waves\"\n");
    text += &format!("[[step]]\nid = \"d\"\nop = \"shape.dabs\"\nparams.at_m = [{dabs}]\n");
    for i in 0..10 {
        text += &format!("[[step]]\nid = \"{i}\"\nop = \"shape.blur\"\nparams.radius_m = 10\n");
    }
    text
}

#[test]
fn only_what_an_edit_reaches_is_worked_out() {
    let mut session = session(&blurred("[200, 200], [900, 700]"));
    assert_eq!(land(&session).steps.len(), 12);
    let pending = session.edit(checked(&blurred("[200, 200], [900, 650]")));
    assert!(!pending.solves_world);
    let Footprint::Rect(rect) = pending.footprint else { panic!("{pending:?}") };
    // Two dabs of 40 m, two cells of slack, ten steps that look at one cell.
    assert_eq!(rect, Rect { min: [740.0, 490.0], max: [1000.0, 800.0] });
    let answer = land(&session);
    assert!(!answer.preview);
    assert_same(&answer.terrain, &clean(session.checked()), "a dab was moved");
    let ids: Vec<&str> = answer.steps.iter().map(|step| step.id.as_str()).collect();
    assert_eq!(ids, ["d", "0", "1", "2", "3", "4", "5", "6", "7", "8", "9"]);
    let samples: usize = answer.steps.iter().map(|step| step.frame.len()).sum();
    assert!(samples < 11 * 26 * 31, "{samples} samples");
    // Nothing is left to do.
    assert_eq!(session.pending().footprint, Footprint::Nothing);
    assert!(land(&session).steps.is_empty());
}

#[test]
fn a_change_that_makes_no_difference_goes_no_further() {
    let hidden = |x: usize| blurred(&format!("[200, 200], [{x}, 200]"));
    let mut session = session(&hidden(190));
    land(&session);
    // The other dab covers both.
    session.edit(checked(&hidden(210).replace("[200, 200]", "[200, 200], [190, 200]")));
    land(&session);
    session.edit(checked(&hidden(210).replace("[200, 200]", "[200, 200], [190, 200], [200, 200]")));
    assert_eq!(land(&session).steps.len(), 0);
    session.edit(checked(&hidden(210).replace("[200, 200]", "[200, 200], [190, 200], [201, 200]")));
    let answer = land(&session);
    assert_same(&answer.terrain, &clean(session.checked()), "hidden dab");
    assert_eq!(answer.steps.iter().map(|step| step.id.as_str()).collect::<Vec<_>>(), ["d"]);
}

#[test]
fn a_step_that_does_not_look_at_a_changed_layer_does_not_run() {
    let text = |x: usize, mask: &str| {
        let mask_step = format!(
            "[[step]]\nid = \"m\"\nop = \"shape.dabs\"\nparams = {{ at_m = [[{x}, 300]], on_mask = true }}\n[[step]]\nid = \"0\""
        );
        let raise = format!("[[step]]\nid = \"r\"\nop = \"shape.raise\"\n{mask}\n");
        blurred("[200, 200]").replacen("[[step]]\nid = \"0\"", &mask_step, 1) + &raise
    };
    let masked = "mask = \"mask\"";
    let mut session = session(&text(300, masked));
    land(&session);
    session.edit(checked(&text(500, masked)));
    let answer = land(&session);
    assert_same(&answer.terrain, &clean(session.checked()), "the mask was painted");
    assert_eq!(answer.steps.iter().map(|step| step.id.as_str()).collect::<Vec<_>>(), ["m", "r"]);
    // A step that is no longer limited by it.
    session.edit(checked(&text(500, "")));
    assert_same(&land(&session).terrain, &clean(session.checked()), "the mask was taken away");
}

#[test]
fn what_a_mask_mixes_with_counts_as_looked_at() {
    let text = |id: usize| {
        let step =
            |name: &str, op: &str, rest: &str| format!("[[step]]\nid = {name:?}\nop = {op:?}\n{rest}\n");
        let below = step("i", "cover.ids", &format!("params.id = {id}"));
        let east = step("m", "mask.east", "");
        format!("{FRAME}{below}{east}{}", step("j", "cover.ids", "mask = \"mask\""))
    };
    let mut session = session(&text(1));
    land(&session);
    session.edit(checked(&text(2)));
    assert_same(&land(&session).terrain, &clean(session.checked()), "ids under a mask");
}

#[test]
fn where_a_step_reaches_the_whole_world_a_preview_comes_first() {
    let text =
        |x: usize| blurred(&format!("[{x}, 200]")) + "[[step]]\nid = \"n\"\nop = \"shape.normalise\"\n";
    let mut session = session(&text(200));
    land(&session);
    let cancel = Cancel::new();
    assert!(session.preview(51, &Unobserved, &cancel).unwrap().is_none(), "nothing has changed");
    for x in [300, 320] {
        assert!(session.edit(checked(&text(x))).solves_world);
        let soon = session.preview(51, &Unobserved, &cancel).unwrap().unwrap();
        assert!(soon.preview);
        assert_eq!((soon.terrain.frame().cols(), soon.terrain.frame().rows()), (51, 41));
        let coarse = session.checked().coarser(51).unwrap();
        assert_same(&soon.terrain, &clean(&coarse), "preview");
        let exact = land(&session);
        assert!(!exact.preview);
        assert_same(&exact.terrain, &clean(session.checked()), "exact");
    }
    assert!(session.preview(101, &Unobserved, &cancel).unwrap().is_none());
}

#[test]
fn a_cancelled_land_goes_on_where_it_stopped_after_further_edits() {
    struct Stop<'a>(&'a Cancel, &'a str);
    impl orogen_recipe::Observer for Stop<'_> {
        fn step_started(&self, _: usize, _: usize, id: &str, _: &str) {
            if id == self.1 {
                self.0.cancel();
            }
        }
    }
    let mut session = session(&blurred("[200, 200]"));
    land(&session);
    for (x, id) in [(300, "0"), (500, "4"), (350, "d"), (600, "9")] {
        session.edit(checked(&blurred(&format!("[{x}, 200]"))));
        let cancel = Cancel::new();
        assert!(session.land(&Stop(&cancel, id), &cancel).is_err());
    }
    assert_same(&land(&session).terrain, &clean(session.checked()), "after four stops");
}

#[test]
fn steps_that_come_and_go_cost_what_they_change() {
    let with = blurred("[200, 200]");
    let without = with.replacen("id = \"d\"", "id = \"d\"\nenabled = false", 1);
    let mut session = session(&with);
    land(&session);
    for text in [&without, &with] {
        session.edit(checked(text));
        let answer = land(&session);
        assert_same(&answer.terrain, &clean(session.checked()), text);
        let whole = session.checked().frame().len();
        let parts = answer.steps.iter().filter(|step| step.frame.len() < whole / 4).count();
        assert_eq!(parts, 10, "each blur runs around the dab only");
    }
}

#[test]
fn another_frame_or_seed_starts_afresh() {
    let text = blurred("[200, 200]");
    let mut session = session(&text);
    land(&session);
    for other in [text.replace("101, 81", "51, 41"), text.replace("\"b\"", "\"c\"")] {
        assert_eq!(session.edit(checked(&other)).footprint, Footprint::Everything);
        assert_same(&land(&session).terrain, &clean(session.checked()), "another");
    }
    let looped = text.replace("81] }", "81], loops = true }");
    session.edit(checked(&looped));
    land(&session);
    for x in [300, 10, 990] {
        session.edit(checked(&looped.replace("[200, 200]", &format!("[{x}, 200]"))));
        assert_same(&land(&session).terrain, &clean(session.checked()), "a loop");
    }
}

#[test]
fn equal_numbers_of_other_signs_are_edits() {
    let text = |by: &str| blurred("[200, 200]").replacen("at_m", &format!("by = {by}\nparams.at_m"), 1);
    let mut session = session(&text("0.0"));
    land(&session);
    assert_ne!(session.edit(checked(&text("-0.0"))).footprint, Footprint::Nothing);
    assert_same(&land(&session).terrain, &clean(session.checked()), "minus nought");
}

#[test]
fn results_are_kept_within_bounds() {
    let options = SessionOptions { kept_bytes: 100_000, ..SessionOptions::default() };
    let mut session = Session::new(checked(&blurred("[200, 200]")), options);
    land(&session);
    assert!(session.kept_bytes() <= 200_000);
    session.edit(checked(&blurred("[300, 200]")));
    assert_same(&land(&session).terrain, &clean(session.checked()), "little room");
    assert!(session.kept_bytes() <= 200_000);
}
