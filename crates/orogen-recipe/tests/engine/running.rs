//! How steps run: masks, disabled steps, branches, progress, cancelling, failures, threads.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use orogen_core::layer::{BIOME, HEIGHT, MASK, SLOPE};
use orogen_core::{Cancel, Elevation, Files, OpError, Raster, Terrain};
use orogen_recipe::{Cache, Finished, Meter, Observer, Plan, RunError, RunOptions, StepReport, run};

use crate::fakes::{assert_same_bits, build, checked, runs};

const FRAME: &str = "frame = { size_m = 800, samples = 41 }\n";

fn step(id: &str, op: &str, rest: &str) -> String {
    format!("[[step]]\nid = {id:?}\nop = {op:?}\n{rest}\n")
}

fn whole(text: &str) -> Terrain {
    let checked = checked(text);
    build(&checked, *checked.frame())
}

fn run_with(text: &str, options: &RunOptions<'_>) -> Result<Finished, RunError> {
    let checked = checked(text);
    run(&checked, &Plan::whole(&checked).unwrap(), options)
}

#[test]
fn a_mask_limits_measured_values_in_proportion() {
    let start = format!("{FRAME}{}{}", step("a", "source.waves", ""), step("m", "mask.east", ""));
    let before = whole(&start);
    let after = whole(&format!("{start}{}", step("b", "shape.blur", "")));
    let masked = whole(&format!("{start}{}", step("b", "shape.blur", "mask = \"mask\"")));
    let [mask, before, after, masked] =
        [before.get(MASK), before.get(HEIGHT), after.get(HEIGHT), masked.get(HEIGHT)].map(Result::unwrap);
    let mut between = 0;
    for (i, share) in mask.as_slice().iter().enumerate() {
        let (before, after, masked) = (before.as_slice()[i], after.as_slice()[i], masked.as_slice()[i]);
        match *share {
            0.0 => assert_eq!(masked.to_bits(), before.to_bits()),
            1.0 => assert_eq!(masked.to_bits(), after.to_bits()),
            share => {
                between += 1;
                assert_eq!(masked, before + (after - before) * share);
            }
        }
    }
    assert!(between > 100);
}

#[test]
fn a_mask_switches_ids_at_one_half_and_new_layers_start_at_zero() {
    let start = format!("{FRAME}{}{}", step("a", "source.waves", ""), step("m", "mask.east", ""));
    let one = whole(&format!("{start}{}", step("i", "cover.ids", "mask = \"mask\"")));
    let two = whole(&format!(
        "{start}{}{}",
        step("i", "cover.ids", "params.id = 4"),
        step("j", "cover.ids", "mask = \"mask\"")
    ));
    let sloped = whole(&format!("{start}{}", step("s", "survey.slope", "mask = \"mask\"")));
    let free = whole(&format!("{start}{}", step("s", "survey.slope", "")));
    let mask: &Raster<f32> = one.get(MASK).unwrap();
    for (i, share) in mask.as_slice().iter().enumerate() {
        assert_eq!(one.get(BIOME).unwrap().as_slice()[i], if *share >= 0.5 { 9 } else { 0 });
        assert_eq!(two.get(BIOME).unwrap().as_slice()[i], if *share >= 0.5 { 9 } else { 4 });
        let full = free.get(SLOPE).unwrap().as_slice()[i];
        let expected = if *share == 1.0 { full } else { full * share };
        assert_eq!(sloped.get(SLOPE).unwrap().as_slice()[i], expected);
    }
}

#[test]
fn a_mask_of_ids_is_refused_in_a_sentence() {
    let text = format!(
        "{FRAME}{}{}{}",
        step("a", "source.waves", ""),
        step("i", "cover.ids", ""),
        step("b", "shape.blur", "mask = \"biome\"")
    );
    let error = run_with(&text, &RunOptions::default()).unwrap_err().to_string();
    assert!(error.starts_with("step \"b\" (shape.blur): layer \"biome\" holds "), "{error}");
}

#[test]
fn a_disabled_step_passes_its_input_on() {
    let a = step("a", "source.waves", "");
    let c = step("c", "cover.ids", "");
    let without = whole(&format!("{FRAME}{a}{c}"));
    let disabled = whole(&format!("{FRAME}{a}{}{c}", step("b", "shape.blur", "enabled = false")));
    assert_same_bits(&without, &disabled, "above");
    // Named by `from`, a disabled step stands for what it would have changed, also through others.
    let named = whole(&format!(
        "{FRAME}{a}{}{}{}{}",
        step("b", "shape.blur", "enabled = false"),
        step("d", "shape.blur", "enabled = false"),
        step("x", "source.waves", "params.length_m = 9"),
        step("c", "cover.ids", "from = \"d\"")
    ));
    assert_same_bits(&without, &named, "from");
    let with = whole(&format!(
        "{FRAME}{a}{}{}",
        step("b", "shape.blur", "enabled = false"),
        step("c", "combine.mix", "with = \"b\"")
    ));
    let itself = whole(&format!("{FRAME}{a}{}", step("c", "combine.mix", "with = \"a\"")));
    assert_same_bits(&itself, &with, "with");
}

#[test]
fn steps_draw_their_luck_from_their_id_alone() {
    let alone = whole(&format!("seed = 7\n{FRAME}{}", step("a", "source.waves", "")));
    let among = whole(&format!(
        "seed = \"7\"\n{FRAME}{}{}",
        step("z", "source.waves", ""),
        step("a", "source.waves", "")
    ));
    assert_same_bits(&alone, &among, "another step before");
    let other = whole(&format!("seed = 8\n{FRAME}{}", step("a", "source.waves", "")));
    assert_ne!(alone.get(HEIGHT).unwrap(), other.get(HEIGHT).unwrap());
}

#[test]
fn steps_nobody_uses_do_not_run() {
    let text = format!(
        "seed = \"nobody\"\n{FRAME}{}{}{}",
        step("a", "source.waves", ""),
        step("b", "shape.blur", ""),
        step("c", "cover.ids", "from = \"a\"")
    );
    whole(&text);
    assert_eq!([runs("nobody", "a"), runs("nobody", "b"), runs("nobody", "c")], [1, 0, 1]);
}

#[test]
fn the_number_of_threads_changes_no_bit() {
    let text = format!(
        "{FRAME}{}{}{}{}",
        step("a", "source.waves", ""),
        step("m", "mask.east", ""),
        step("n", "shape.normalise", "mask = \"mask\""),
        step("b", "shape.blur", "mask = \"mask\"")
    );
    let checked = checked(&text);
    let base = *checked.frame();
    let fine = base.resampled(&base.extent(), [7.0, 7.0]).unwrap();
    for window in [base, fine] {
        let on = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| build(&checked, window))
        };
        assert_same_bits(&on(1), &on(3), "threads");
    }
}

#[test]
fn the_last_user_of_a_result_may_change_it_in_place() {
    let text = format!(
        "seed = \"in place\"\n{FRAME}{}{}{}{}{}",
        step("a", "source.waves", ""),
        step("b", "shape.raise", ""),
        step("c", "shape.raise", "from = \"a\""),
        step("d", "combine.mix", "with = \"b\""),
        step("e", "shape.raise", "")
    );
    let dir = tempfile::tempdir().unwrap();
    let cache = Cache::open(dir.path(), 1 << 30).unwrap();
    // With a cache too: it remembers what it stored without holding on to it.
    for cache in [None, Some(&cache)] {
        let run = run_with(&text, &RunOptions { cache, ..RunOptions::default() }).unwrap();
        let copied: Vec<&str> =
            run.steps.iter().filter(|step| !step.warnings.is_empty()).map(|step| step.id.as_str()).collect();
        assert_eq!(copied, ["b"], "only the result of a is needed twice");
    }
}

#[derive(Default)]
struct Log(Mutex<Vec<String>>);

impl Log {
    fn note(&self, text: String) {
        self.0.lock().unwrap().push(text);
    }

    fn lines(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

impl Observer for Log {
    fn step_started(&self, index: usize, count: usize, id: &str, op: &str) {
        self.note(format!("{index}/{count} {id} {op}"));
    }
    fn step_finished(&self, report: &StepReport) {
        assert!(report.seconds >= 0.0);
        self.note(format!("done {} cached {} peak {:?}", report.id, report.cached, report.peak_bytes));
    }
    fn warning(&self, message: &str) {
        self.note(format!("warning {message}"));
    }
}

struct FixedMeter;

impl Meter for FixedMeter {
    fn reset(&self) {}
    fn peak_bytes(&self) -> u64 {
        77
    }
}

#[test]
fn an_observer_sees_everything_in_order() {
    let log = Log::default();
    let text = format!(
        "{FRAME}{}{}",
        step("a", "source.waves", ""),
        step("t", "source.troubled", "params.kind = \"warn\"")
    );
    let options = RunOptions { observer: &log, meter: Some(&FixedMeter), ..RunOptions::default() };
    let run = run_with(&text, &options).unwrap();
    assert_eq!(
        log.lines(),
        [
            "0/2 a source.waves",
            "done a cached false peak Some(77)",
            "1/2 t source.troubled",
            "warning step \"t\": the sea is high today",
            "done t cached false peak Some(77)"
        ]
    );
    assert_eq!(run.steps[1].warnings, ["the sea is high today"]);
}

#[test]
fn failures_name_the_step() {
    let fail = |kind: &str| {
        let text = format!(
            "{FRAME}{}{}",
            step("a", "source.waves", ""),
            step("t", "source.troubled", &format!("params.kind = {kind:?}"))
        );
        run_with(&text, &RunOptions::default()).unwrap_err().to_string()
    };
    assert_eq!(fail("fail"), "step \"t\" (source.troubled): no ground was found");
    assert_eq!(
        fail("panic"),
        "step \"t\" (source.troubled): internal error in Orogen, please report it: index out of bounds"
    );
    if cfg!(debug_assertions) {
        assert_eq!(
            fail("lie"),
            "step \"t\" (source.troubled): internal error in Orogen, please report it: \
             the operator changed the layer \"height\" without declaring it"
        );
    }
    // A file that is missing is reported before anything runs.
    assert_eq!(fail("read"), "step \"t\" (source.troubled): file \"dem.tif\": files cannot be read here");
}

/// A file whose content is one number.
struct OneNumber(f32);

impl Files for OneNumber {
    fn fingerprint(&self, _: &str) -> Result<[u8; 32], OpError> {
        let mut hash = [0; 32];
        hash[..4].copy_from_slice(&self.0.to_le_bytes());
        Ok(hash)
    }

    fn elevation(&self, _: &str) -> Result<std::sync::Arc<Elevation>, OpError> {
        let height = Raster::filled(2, 2, self.0);
        Ok(std::sync::Arc::new(Elevation { height, spacing_m: None, north_west_m: None }))
    }
}

#[test]
fn cached_results_follow_the_files_they_were_made_from() {
    let dir = tempfile::tempdir().unwrap();
    let cache = Cache::open(dir.path(), 1 << 30).unwrap();
    let text = format!("{FRAME}{}", step("t", "source.troubled", "params.kind = \"read\""));
    let value = |number: f32| {
        let options = RunOptions { files: &OneNumber(number), cache: Some(&cache), ..RunOptions::default() };
        let run = run_with(&text, &options).unwrap();
        (run.terrain.get(MASK).unwrap().as_slice()[0], run.steps[0].cached)
    };
    assert_eq!(value(3.0), (3.0, false));
    assert_eq!(value(3.0), (3.0, true));
    assert_eq!(value(4.0), (4.0, false));
}

#[test]
fn cancelling_returns_at_once_and_leaves_no_file_behind() {
    let dir = tempfile::tempdir().unwrap();
    let cache = Cache::open(dir.path(), 1 << 30).unwrap();
    let text = format!("{FRAME}{}{}", step("a", "source.waves", ""), step("s", "erode.slow", ""));
    let cancel = Cancel::new();
    let started = Instant::now();
    let result = std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            let options = RunOptions { cache: Some(&cache), cancel: &cancel, ..RunOptions::default() };
            run_with(&text, &options).map(|_| ())
        });
        std::thread::sleep(Duration::from_millis(200));
        cancel.cancel();
        thread.join().unwrap()
    });
    assert_eq!(result, Err(RunError::Cancelled));
    assert!(started.elapsed() < Duration::from_secs(5));
    assert_eq!(std::fs::read_dir(dir.path().join("tmp")).unwrap().count(), 0);
    // The first step was whole before, so it stays.
    assert_eq!(std::fs::read_dir(dir.path().join("steps")).unwrap().count(), 1);
}
