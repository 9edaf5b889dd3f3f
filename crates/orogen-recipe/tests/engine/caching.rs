//! The cache: what it saves, what it notices, how it is bounded, and that builds can share it.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, SystemTime};

use orogen_core::{Backend, Terrain};
use orogen_recipe::{Cache, Finished, Observer, Plan, RunOptions, run};

use crate::fakes::{assert_same_bits, build, checked, runs};

const GIB: u64 = 1 << 30;

/// Three steps whose parameters the tests change.
fn recipe(seed: &str, length_m: u32, radius_m: u32, id: u32) -> String {
    format!(
        "seed = {seed:?}\nframe = {{ size_m = 640, samples = 65 }}\n\
         [[step]]\nid = \"a\"\nop = \"source.waves\"\nparams.length_m = {length_m}\n\
         [[step]]\nid = \"b\"\nop = \"shape.blur\"\nparams.radius_m = {radius_m}\n\
         [[step]]\nid = \"n\"\nop = \"shape.normalise\"\n\
         [[step]]\nid = \"c\"\nop = \"cover.ids\"\nparams.id = {id}\n"
    )
}

#[derive(Default)]
struct Warnings(Mutex<Vec<String>>);

impl Observer for Warnings {
    fn warning(&self, message: &str) {
        self.0.lock().unwrap().push(message.to_owned());
    }
}

impl Warnings {
    fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }
}

fn run_cached(text: &str, cache: &Cache, observer: &dyn Observer) -> Finished {
    let checked = checked(text);
    let options = RunOptions { cache: Some(cache), observer, ..RunOptions::default() };
    run(&checked, &Plan::whole(&checked).unwrap(), &options).unwrap()
}

fn uncached(text: &str) -> Terrain {
    let checked = checked(text);
    build(&checked, *checked.frame())
}

fn files(dir: &Path, part: &str) -> Vec<PathBuf> {
    let mut files: Vec<_> = fs::read_dir(dir.join(part)).unwrap().map(|e| e.unwrap().path()).collect();
    files.sort();
    files
}

#[test]
fn only_what_changed_runs_again() {
    let dir = tempfile::tempdir().unwrap();
    let cache = Cache::open(dir.path(), GIB).unwrap();
    let counts = || ["a", "b", "n", "c"].map(|id| runs("again", id));
    let go = |text: String| run_cached(&text, &cache, &Warnings::default());
    let first = go(recipe("again", 300, 30, 1));
    assert_eq!(counts(), [1, 1, 1, 1]);
    assert!(first.steps.iter().all(|step| !step.cached));
    let second = go(recipe("again", 300, 30, 1));
    assert_eq!(counts(), [1, 1, 1, 1]);
    assert!(second.steps.iter().all(|step| step.cached));
    assert_same_bits(&first.terrain, &second.terrain, "from the cache");
    go(recipe("again", 300, 30, 2));
    assert_eq!(counts(), [1, 1, 1, 2], "the last step changed");
    let middle = go(recipe("again", 300, 40, 2));
    assert_eq!(counts(), [1, 2, 2, 3], "the middle changed");
    assert_eq!(middle.steps.iter().map(|s| s.cached).collect::<Vec<_>>(), [true, false, false, false]);
    go(recipe("again", 300, 30, 1));
    assert_eq!(counts(), [1, 2, 2, 3], "an old state is still there");
    go(recipe("again", 200, 30, 1));
    assert_eq!(counts(), [2, 3, 3, 4], "the first changed");
    // Another cache object, as in another run of the program.
    let other = Cache::open(dir.path(), GIB).unwrap();
    assert_same_bits(
        &uncached(&recipe("again", 300, 40, 2)),
        &run_cached(&recipe("again", 300, 40, 2), &other, &Warnings::default()).terrain,
        "reopened",
    );
}

#[test]
fn a_whole_hit_loads_the_result_alone() {
    let dir = tempfile::tempdir().unwrap();
    let cache = Cache::open(dir.path(), GIB).unwrap();
    let text = recipe("result alone", 300, 30, 1);
    let first = run_cached(&text, &cache, &Warnings::default());
    // The height of the first two steps is not part of the result: without it the build still comes from the cache.
    // Biomes come from the last step alone. (Times of files are too coarse to tell which was written last.)
    let entry = files(dir.path(), "steps")
        .into_iter()
        .map(|f| fs::read_to_string(f).unwrap())
        .find(|entry| entry.contains("\"biome\""))
        .unwrap();
    let mut removed = 0;
    for blob in files(dir.path(), "blobs") {
        if !entry.contains(blob.file_name().unwrap().to_str().unwrap()) {
            fs::remove_file(blob).unwrap();
            removed += 1;
        }
    }
    assert_eq!(removed, 2);
    let second = run_cached(&text, &cache, &Warnings::default());
    assert_eq!(runs("result alone", "a"), 1);
    assert_same_bits(&first.terrain, &second.terrain, "result alone");
}

#[test]
fn layers_left_alone_are_stored_once() {
    let dir = tempfile::tempdir().unwrap();
    let cache = Cache::open(dir.path(), GIB).unwrap();
    run_cached(&recipe("once", 300, 30, 1), &cache, &Warnings::default());
    // Heights of three steps, one biome, one set of peaks.
    assert_eq!(files(dir.path(), "blobs").len(), 5);
    assert_eq!(files(dir.path(), "steps").len(), 4);
    assert_eq!(files(dir.path(), "tmp").len(), 0);
    assert!(cache.used_bytes() > 3 * 65 * 65 * 4);
    cache.clear().unwrap();
    assert_eq!(cache.used_bytes(), 0);
}

/// Harms every file of a part in one way, and checks that the build tells, mends and gives the same.
fn survives(seed: &str, part: &str, harm: impl Fn(&Path), warns: bool) {
    let dir = tempfile::tempdir().unwrap();
    let cache = Cache::open(dir.path(), GIB).unwrap();
    let text = recipe(seed, 300, 30, 1);
    let first = run_cached(&text, &cache, &Warnings::default());
    files(dir.path(), part).iter().for_each(|file| harm(file));
    let seen = Warnings::default();
    let second = run_cached(&text, &cache, &seen);
    assert_same_bits(&first.terrain, &second.terrain, seed);
    let warnings = seen.take();
    assert_eq!(!warnings.is_empty(), warns, "{warnings:?}");
    for warning in &warnings {
        assert!(warning.starts_with("cache entry ") && warning.ends_with("; recomputing it"), "{warning}");
        assert!(warning.contains(" is damaged ("), "{warning}");
    }
    assert_eq!(runs(seed, "a"), 2, "everything was harmed, so everything ran again");
    let third = run_cached(&text, &cache, &seen);
    assert!(third.steps.iter().all(|step| step.cached), "mended");
    assert!(seen.take().is_empty());
    assert_same_bits(&first.terrain, &third.terrain, seed);
}

#[test]
fn damaged_blobs_are_noticed_and_made_anew() {
    survives(
        "flipped",
        "blobs",
        |file| {
            let mut bytes = fs::read(file).unwrap();
            let middle = bytes.len() / 2;
            bytes[middle] ^= 1;
            fs::write(file, bytes).unwrap();
        },
        true,
    );
    survives(
        "cut",
        "blobs",
        |file| {
            let bytes = fs::read(file).unwrap();
            fs::write(file, &bytes[..bytes.len() / 2]).unwrap();
        },
        true,
    );
    survives("emptied", "blobs", |file| fs::write(file, "").unwrap(), true);
}

#[test]
fn damaged_entries_are_noticed_and_made_anew() {
    survives("entry emptied", "steps", |file| fs::write(file, "").unwrap(), true);
    survives(
        "entry changed",
        "steps",
        |file| {
            let text = fs::read_to_string(file).unwrap().replace("height", "heighu");
            fs::write(file, text).unwrap();
        },
        true,
    );
    survives("entry noise", "steps", |file| fs::write(file, [0xff; 300]).unwrap(), true);
}

#[test]
fn missing_parts_are_a_plain_miss() {
    survives("no blobs", "blobs", |file| fs::remove_file(file).unwrap(), false);
    survives("no entries", "steps", |file| fs::remove_file(file).unwrap(), false);
}

#[test]
fn the_cache_stays_within_its_bound() {
    let dir = tempfile::tempdir().unwrap();
    // A height of 65 x 65 takes 16.9 kB.
    let bound = 200_000;
    let cache = Cache::open(dir.path(), bound).unwrap();
    for length_m in 100..130 {
        run_cached(&recipe("bound", length_m, 30, 1), &cache, &Warnings::default());
        assert!(cache.used_bytes() <= bound, "{} bytes", cache.used_bytes());
    }
    assert!(cache.used_bytes() > bound / 2);
    // The newest is still there.
    let before = runs("bound", "a");
    run_cached(&recipe("bound", 129, 30, 1), &cache, &Warnings::default());
    assert_eq!(runs("bound", "a"), before);
    // Opened with less room, it shrinks.
    let small = Cache::open(dir.path(), 50_000).unwrap();
    assert!(small.used_bytes() <= 50_000);
}

#[test]
fn what_is_used_stays_longest() {
    let dir = tempfile::tempdir().unwrap();
    let cache = Cache::open(dir.path(), GIB).unwrap();
    let (old, new) = (recipe("stays", 100, 30, 1), recipe("stays", 200, 30, 2));
    run_cached(&old, &cache, &Warnings::default());
    run_cached(&new, &cache, &Warnings::default());
    for file in files(dir.path(), "steps").iter().chain(&files(dir.path(), "blobs")) {
        let file = fs::File::options().write(true).open(file).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(1000)).unwrap();
    }
    run_cached(&old, &cache, &Warnings::default());
    let ran = runs("stays", "c");
    let used = cache.used_bytes();
    let shrunk = Cache::open(dir.path(), used - 1000).unwrap();
    assert!(shrunk.used_bytes() < used);
    run_cached(&old, &shrunk, &Warnings::default());
    assert_eq!(runs("stays", "c"), ran, "what was just used is still there");
}

#[test]
fn results_too_large_for_the_cache_are_not_stored() {
    let dir = tempfile::tempdir().unwrap();
    let cache = Cache::open(dir.path(), 60_000).unwrap();
    run_cached(&recipe("large", 300, 30, 1), &cache, &Warnings::default());
    assert_eq!(cache.used_bytes(), 0);
}

#[test]
fn a_cache_that_cannot_be_written_warns_once() {
    let dir = tempfile::tempdir().unwrap();
    let cache = Cache::open(dir.path().join("cache"), GIB).unwrap();
    fs::remove_dir_all(dir.path().join("cache")).unwrap();
    let seen = Warnings::default();
    let text = recipe("unwritable", 300, 30, 1);
    let run = run_cached(&text, &cache, &seen);
    assert_same_bits(&uncached(&text), &run.terrain, "without a cache");
    let warnings = seen.take();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].contains("cannot write to the cache"), "{warnings:?}");
    // A file where the folder should be is reported when opening.
    fs::write(dir.path().join("file"), "").unwrap();
    assert!(Cache::open(dir.path().join("file"), GIB).is_err());
}

#[test]
fn several_builds_share_a_small_cache() {
    let dir = tempfile::tempdir().unwrap();
    let expected: Vec<Terrain> = (0..4).map(|i| uncached(&recipe("shared", 100 + i, 30, 1))).collect();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (dir, expected) = (dir.path(), &expected);
            scope.spawn(move || {
                // Each its own cache object, as programs would have; so small that they evict under each other.
                let cache = Cache::open(dir, 250_000).unwrap();
                let seen = Warnings::default();
                for round in 0..12 {
                    let i = (round * (thread + 1)) % 4;
                    let run = run_cached(&recipe("shared", 100 + i as u32, 30, 1), &cache, &seen);
                    assert_same_bits(&expected[i], &run.terrain, "shared");
                }
                assert_eq!(seen.take(), Vec::<String>::new());
            });
        }
    });
    assert_eq!(files(dir.path(), "tmp").len(), 0);
}

#[test]
fn warnings_and_figures_of_steps_come_back_from_the_cache() {
    let dir = tempfile::tempdir().unwrap();
    let cache = Cache::open(dir.path(), GIB).unwrap();
    let text = "seed = \"warned\"\nframe.samples = 9\n[[step]]\nid = \"t\"\nop = \"source.troubled\"\n\
                [[step]]\nid = \"c\"\nop = \"cover.ids\"\n";
    for round in 0..2 {
        let seen = Warnings::default();
        let run = run_cached(text, &cache, &seen);
        assert_eq!(run.steps[0].cached, round == 1);
        assert_eq!(run.steps[0].warnings, ["the sea is high today"]);
        let [figure] = run.steps[0].figures.as_slice() else { panic!("{:?}", run.steps[0].figures) };
        assert_eq!((figure.name.as_str(), figure.value, figure.unit.as_str()), ("sea_level", 7.5, "m"));
        assert_eq!(seen.take(), ["step \"t\": the sea is high today"]);
    }
    assert_eq!(runs("warned", "t"), 1);
}

#[test]
fn windows_share_what_the_whole_solved() {
    let dir = tempfile::tempdir().unwrap();
    let cache = Cache::open(dir.path(), GIB).unwrap();
    let checked = checked(&recipe("tiles", 300, 30, 1));
    let base = *checked.frame();
    let fine = base.resampled(&base.extent(), [5.0, 5.0]).unwrap();
    let options = RunOptions { cache: Some(&cache), ..RunOptions::default() };
    let go = |window| run(&checked, &Plan::new(&checked, window).unwrap(), &options).unwrap().terrain;
    let whole = go(fine);
    assert_eq!(runs("tiles", "n"), 1);
    let part = go(fine.window(20, 30, 15, 16));
    assert_eq!(runs("tiles", "n"), 1, "the world step came from the cache");
    assert_same_bits(&whole, &part, "tile");
    go(base);
    assert_eq!(runs("tiles", "n"), 1);
}

#[test]
fn two_entries_that_changed_places_are_found_out() {
    let dir = tempfile::tempdir().unwrap();
    let cache = Cache::open(dir.path(), 1 << 30).unwrap();
    let warnings = Warnings::default();
    let text = |height: u32| {
        format!(
            "seed = \"s\"\nframe = {{ size_m = 100, samples = 9 }}\n\
             [[step]]\nid = \"a\"\nop = \"source.waves\"\nparams.length_m = {height}\n"
        )
    };
    for height in [10, 20] {
        run_cached(&text(height), &cache, &warnings);
    }
    let [first, second] = files(dir.path(), "steps").try_into().unwrap();
    let aside = dir.path().join("aside");
    fs::rename(&first, &aside).unwrap();
    fs::rename(&second, &first).unwrap();
    fs::rename(&aside, &second).unwrap();
    for height in [10, 20] {
        assert_eq!(run_cached(&text(height), &cache, &warnings).terrain, uncached(&text(height)));
    }
    assert!(warnings.take().iter().all(|warning| warning.contains("belongs to another step")));
}

#[test]
fn another_backend_or_place_has_results_of_its_own() {
    let dir = tempfile::tempdir().unwrap();
    let cache = Cache::open(dir.path(), GIB).unwrap();
    let go = |text: &str, backend| {
        let checked = checked(text);
        let options = RunOptions { cache: Some(&cache), backend, ..RunOptions::default() };
        let run = run(&checked, &Plan::whole(&checked).unwrap(), &options).unwrap();
        (run.steps.iter().all(|step| step.cached), run.terrain.place())
    };
    let text = recipe("backends", 300, 30, 1);
    let placed = format!("place = {{ latitude_deg = 10, north_deg = -5.5 }}\n{text}");
    for (text, backend) in [(&text, Backend::Cpu), (&text, Backend::Gpu), (&placed, Backend::Cpu)] {
        assert!(!go(text, backend).0, "{backend:?} took what another had made");
        let (cached, place) = go(text, backend);
        assert!(cached);
        assert_eq!(place.is_unknown(), !text.starts_with("place"));
    }
    let place = go(&placed, Backend::Cpu).1;
    assert_eq!((place.latitude_deg, place.longitude_deg, place.north_deg), (Some(10.0), None, Some(-5.5)));
}
