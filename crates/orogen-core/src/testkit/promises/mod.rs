//! What every operator promises, as checks that run on any operator of a catalogue.
//!
//! No operator is excused: the [standard surrounding](super::standard) has whatever one may ask for. Each check says
//! in a sentence what it found; [`broken`] adds the operator and the promise.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use toml::Value;

use super::schema::Walk;
use super::standard::{AnyFile, SEED, Standard};
use crate::ctx::{Silent, Watch};
use crate::each_kind;
use crate::error::OpError;
use crate::frame::{Frame, FrameError};
use crate::kinds::{Kind, LayerData, Sample};
use crate::layer::{self, LayerName};
use crate::op::{AnyOp, Operator, Reach};
use crate::param::path_text;
use crate::provenance::Part;
use crate::raster::Raster;
use crate::terrain::Terrain;

/// One promise and the check that holds an operator to it.
#[derive(Clone, Copy)]
pub struct Promise {
    /// In a few words.
    pub name: &'static str,
    /// What is wrong, if anything.
    pub check: fn(&Operator) -> Result<(), String>,
}

/// All of them, the quick ones first.
pub const PROMISES: &[Promise] = &[
    Promise { name: "names follow the rules", check: named },
    Promise { name: "documented", check: documented },
    Promise { name: "units in names", check: units },
    Promise { name: "defaults are valid", check: defaults },
    Promise { name: "parameters survive TOML", check: round_trip },
    Promise { name: "bad numbers are refused", check: bad_numbers },
    Promise { name: "unknown parameters are refused", check: unknown_parameters },
    Promise { name: "writes what it declares and nothing else", check: writes },
    Promise { name: "reads nothing but what it declares", check: reads },
    Promise { name: "same bits when run again", check: repeatable },
    Promise { name: "same bits on any number of threads", check: threads },
    Promise { name: "a window equals the same part of the whole", check: windows },
    Promise { name: "an endless operator does not ask for the world", check: endless },
    Promise { name: "extreme heights end in a sentence", check: extreme_heights },
    Promise { name: "can be cancelled", check: cancel },
    Promise { name: "two resolutions agree", check: resolutions },
];

/// The promises that an operator breaks, one sentence each.
#[must_use]
pub fn broken(operator: &Operator) -> Vec<String> {
    PROMISES
        .iter()
        .filter_map(|promise| {
            let outcome = catch_unwind(AssertUnwindSafe(|| (promise.check)(operator)));
            let found = match outcome {
                Ok(Ok(())) => return None,
                Ok(Err(found)) => found,
                Err(panic) => format!("it panicked: {}", panic_text(panic.as_ref())),
            };
            Some(format!("{} breaks the promise {:?}: {found}", operator.id, promise.name))
        })
        .collect()
}

fn panic_text(panic: &(dyn Any + Send)) -> &str {
    panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("without a word")
}

fn named(operator: &Operator) -> Result<(), String> {
    let word = |w: &str| {
        w.starts_with(|c: char| c.is_ascii_lowercase())
            && w.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
    };
    match operator.id.split_once('.') {
        Some((family, name)) if word(family) && word(name) => {}
        _ => return Err(format!("{:?} is not two lower-case words joined by a dot", operator.id)),
    }
    let schema = operator.schema();
    let taken = Walk::new(schema).parameters().find(|(name, _)| STEP_KEYS.contains(name));
    taken
        .map_or(Ok(()), |(name, _)| Err(format!("a parameter is called {name:?}, which belongs to the step")))
}

/// Keys of a recipe step, which Python takes beside the parameters.
const STEP_KEYS: [&str; 6] = ["id", "op", "from", "with", "mask", "enabled"];

fn documented(operator: &Operator) -> Result<(), String> {
    let schema = operator.schema();
    let missing = Walk::new(schema).undescribed();
    if !missing.is_empty() {
        return Err(format!("without a doc comment: {}", missing.join(", ")));
    }
    let text = schema["description"].as_str().unwrap_or_default();
    if operator.preview_rmse > 0.03 && !text.contains("resolution") {
        return Err(String::from(
            "PREVIEW_RMSE is over 0.03, and the doc does not say how resolution matters",
        ));
    }
    Ok(())
}

fn units(operator: &Operator) -> Result<(), String> {
    let wrong = Walk::new(operator.schema()).misnamed();
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("; ")) }
}

fn defaults(operator: &Operator) -> Result<(), String> {
    let op =
        operator.parse(&toml::Table::new()).map_err(|faults| format!("refused: {}", sentences(&faults)))?;
    let (from_nothing, default) = (op.params().map_err(text)?, operator.default_op().params().map_err(text)?);
    if from_nothing != default {
        return Err(format!("an empty table gives {from_nothing:?}, Default gives {default:?}"));
    }
    operator.parse(&default).map_err(|faults| format!("refused: {}", sentences(&faults)))?;
    let surrounding = Standard::bare(small_world().map_err(text)?, &op.layers());
    surrounding.run(op.as_ref(), &AnyFile::default(), &Silent).map_err(text)?;
    Ok(())
}

fn round_trip(operator: &Operator) -> Result<(), String> {
    let schema = operator.schema();
    for (params, op) in variants(operator) {
        let table = op.params().map_err(text)?;
        for (name, property) in Walk::new(schema).parameters() {
            let optional = property.get("default").is_some_and(serde_json::Value::is_null);
            if !optional && !table.contains_key(name) {
                return Err(format!("{name} is lost when the parameters are written down"));
            }
        }
        if let Some((name, value)) = params.iter().find(|(name, value)| table.get(*name) != Some(*value)) {
            return Err(format!("{name} = {value} comes back as {:?}", table.get(name)));
        }
        let written = toml::to_string(&table).map_err(text)?;
        let read: toml::Table = toml::from_str(&written).map_err(text)?;
        let again = operator.parse(&read).map_err(|faults| sentences(&faults))?.params().map_err(text)?;
        if again != table {
            return Err(format!("{table:?} comes back as {again:?}"));
        }
    }
    Ok(())
}

fn bad_numbers(operator: &Operator) -> Result<(), String> {
    let schema = operator.schema();
    let walk = Walk::new(schema);
    for (name, property) in walk.parameters() {
        let (probes, unbounded) = walk.bad_numbers(name, property);
        if let Some(path) = unbounded.first() {
            return Err(format!("{path} has no range (both ends are needed)"));
        }
        for probe in probes {
            let params = toml::Table::from_iter([(name.to_owned(), probe.value)]);
            match operator.parse(&params) {
                Ok(_) => return Err(format!("{} accepts {}", probe.path, probe.what)),
                Err(faults) => {
                    let named =
                        faults.iter().any(|f| path_text(&f.path) == probe.path && f.message.len() > 10);
                    if !named {
                        return Err(format!(
                            "{} in {} gives only: {}",
                            probe.what,
                            probe.path,
                            sentences(&faults)
                        ));
                    }
                }
            }
        }
    }
    Ok(())
}

fn unknown_parameters(operator: &Operator) -> Result<(), String> {
    let schema = operator.schema();
    for (name, _) in Walk::new(schema).parameters() {
        let params = toml::Table::from_iter([(format!("{name}x"), Value::Integer(1))]);
        match operator.parse(&params) {
            Ok(_) => return Err(format!("{name}x is accepted")),
            Err(faults) if !sentences(&faults).contains(&format!("{name:?}")) => {
                return Err(format!("{name}x gives only: {}", sentences(&faults)));
            }
            Err(_) => {}
        }
    }
    let nonsense = toml::Table::from_iter([(String::from("qqqqqqqqqqqq"), Value::Integer(1))]);
    if operator.parse(&nonsense).is_ok() {
        return Err(String::from("a parameter \"qqqqqqqqqqqq\" is accepted"));
    }
    Ok(())
}

fn writes(operator: &Operator) -> Result<(), String> {
    for (params, op) in variants(operator) {
        writes_of(op.as_ref()).map_err(|found| with(&params, &found))?;
    }
    Ok(())
}

fn writes_of(op: &dyn AnyOp) -> Result<(), String> {
    let declared = op.layers();
    let before = Standard::full(small_world().map_err(text)?, &declared);
    let after = before.run(op, &AnyFile::default(), &Silent).map_err(text)?;
    let before = &before.terrain;
    if after.frame() != before.frame() {
        return Err(String::from("the frame is another one afterwards"));
    }
    let stale = |part: &Part| declared.outputs().any(|from| before.provenance().follows(part, &from));
    // Weights of a family are written together: those of its members that are not named must go, or sums would be wrong.
    let is_weight = |terrain: &Terrain, name: &LayerName| {
        terrain.layers().get(name).is_some_and(|data| data.kind() == Kind::Weight)
    };
    let replaced = |name: &LayerName| {
        let mut written = declared.writes.iter().filter(|written| written.family() == name.family());
        is_weight(before, name)
            && !declared.writes.contains(name)
            && written.any(|written| is_weight(&after, written))
    };
    let derived = |name: &LayerName| stale(&Part::Layer(name.clone())) || replaced(name);
    for (name, data) in before.layers() {
        let touched = after.layers().get(name).is_none_or(|now| !now.same_allocation(data));
        match (declared.writes.contains(name), after.layers().contains_key(name)) {
            (true, false) => return Err(format!("layer {name} is declared as written and is gone")),
            (true, true) if !touched => {
                return Err(format!("layer {name} is declared as written and was not"));
            }
            (false, false) if !derived(name) => return Err(format!("layer {name} is gone, undeclared")),
            (false, true) if replaced(name) => {
                return Err(format!("layer {name} is left of a family of weights that was written anew"));
            }
            (false, true) if touched => return Err(format!("layer {name} is changed, undeclared")),
            _ => {}
        }
    }
    for name in &declared.writes {
        if !after.layers().contains_key(name) {
            return Err(format!("layer {name} is declared as written and is not there"));
        }
    }
    for name in after.layers().keys() {
        if !before.layers().contains_key(name) && !declared.writes.contains(name) {
            return Err(format!("layer {name} is new, undeclared"));
        }
    }
    for (name, vectors) in before.vectors() {
        if declared.writes_vectors.contains(name) || declared.keeps.contains(&Part::Vectors(name.clone())) {
            continue;
        }
        match after.vectors().get(name) {
            None if !stale(&Part::Vectors(name.clone())) => {
                return Err(format!("vectors {name} are gone, undeclared"));
            }
            Some(now) if !Arc::ptr_eq(now, vectors) => {
                return Err(format!("vectors {name} are changed, undeclared"));
            }
            _ => {}
        }
    }
    for name in &declared.writes_vectors {
        if !after.vectors().contains_key(name) {
            return Err(format!("vectors {name} are declared as written and are not there"));
        }
    }
    for name in after.vectors().keys() {
        if !before.vectors().contains_key(name) && !declared.writes_vectors.contains(name) {
            return Err(format!("vectors {name} are new, undeclared"));
        }
    }
    let kept = before.provenance().iter().map(|(part, _)| part).find(|part| {
        stale(part)
            && after.has(part)
            && !declared.outputs().chain(declared.keeps.iter().cloned()).any(|output| output == **part)
    });
    if let Some(part) = kept {
        return Err(format!("{part} follows from what is written and stays"));
    }
    let forgotten = declared.follows.iter().find_map(|(part, from)| {
        from.iter().find(|from| !after.provenance().follows(part, from)).map(|from| (part, from))
    });
    if let Some((part, from)) = forgotten {
        return Err(format!("{part} is declared to follow from {from}, which is not remembered"));
    }
    Ok(())
}

fn reads(operator: &Operator) -> Result<(), String> {
    for (params, op) in variants(operator) {
        let declared = op.layers();
        let world = small_world().map_err(text)?;
        let files = AnyFile::default();
        let run = |standard: Standard| {
            standard.run(op.as_ref(), &files, &Silent).map_err(|e| with(&params, &e.to_string()))
        };
        let rich = run(Standard::full(world, &declared))?;
        let poor = run(Standard::declared(world, &declared))?;
        run(Standard::bare(world, &declared))?;
        for name in &declared.writes {
            equal(name, rich.layers().get(name), poor.layers().get(name)).map_err(|found| {
                with(&params, &format!("with layers it did not ask for it gives other results: {found}"))
            })?;
        }
        if let Some(path) = files.asked().iter().find(|path| !op.files().contains(&path.as_str())) {
            return Err(with(&params, &format!("it reads the file {path:?}, undeclared")));
        }
    }
    Ok(())
}

fn repeatable(operator: &Operator) -> Result<(), String> {
    let op = operator.default_op();
    let standard = Standard::full(small_world().map_err(text)?, &op.layers());
    let run = || standard.run(op.as_ref(), &AnyFile::default(), &Silent).map_err(text);
    equal_terrains(&run()?, &run()?)
}

fn threads(operator: &Operator) -> Result<(), String> {
    for (params, op) in variants(operator) {
        let standard = Standard::full(small_world().map_err(text)?, &op.layers()).with_holes();
        let run = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().map_err(text)?;
            pool.install(|| standard.run(op.as_ref(), &AnyFile::default(), &Silent)).map_err(text)
        };
        let one = run(1)?;
        for count in [2, 3] {
            equal_terrains(&one, &run(count)?)
                .map_err(|found| with(&params, &format!("1 and {count} threads differ: {found}")))?;
        }
    }
    Ok(())
}

/// Windows as (column, row, columns, rows) of [`small_world`]: inside, at corners and edges, single rows and samples.
const WINDOWS: [(i64, i64, usize, usize); 8] = [
    (30, 20, 33, 17),
    (0, 0, 40, 30),
    (63, 56, 40, 30),
    (0, 85, 103, 1),
    (102, 0, 1, 86),
    (0, 85, 1, 1),
    (51, 43, 1, 1),
    (0, 0, 103, 86),
];

fn windows(operator: &Operator) -> Result<(), String> {
    for (params, op) in variants(operator) {
        let world = small_world().map_err(text)?;
        let standard = Standard::full(world, &op.layers()).with_holes();
        let whole = standard.run(op.as_ref(), &AnyFile::default(), &Silent).map_err(text)?;
        for (col, row, cols, rows) in WINDOWS {
            let window = world.window(col, row, cols, rows);
            let reach_m = match op.reach(&window) {
                Reach::Point => 0.0,
                Reach::Within(reach_m) => reach_m,
                Reach::World => break, // solved on the whole world only
            };
            let found = window_differs(op.as_ref(), &standard, &whole, &window, reach_m)?;
            if let Some(found) = found {
                let place = format!("{cols} × {rows} samples at column {col}, row {row}");
                return Err(with(&params, &format!("{place}: {found}")));
            }
        }
    }
    Ok(())
}

fn window_differs(
    op: &dyn AnyOp,
    standard: &Standard,
    whole: &Terrain,
    window: &Frame,
    reach_m: f64,
) -> Result<Option<String>, String> {
    let outside = || String::from("the test's window lies outside its world");
    // As the planner cuts it: the window, what it reaches, inside the world.
    let cut = window.expanded(reach_m).clipped(&standard.world.extent()).ok_or_else(outside)?;
    let part = standard.crop(&cut).ok_or_else(outside)?;
    let part = part.run(op, &AnyFile::default(), &Silent).map_err(text)?;
    let (part, whole) = part.crop(window).zip(whole.crop(window)).ok_or_else(outside)?;
    Ok(equal_terrains(&whole, &part).err())
}

/// What an operator gives beyond the recipe's frame has nothing to hang on but the place.
fn endless(operator: &Operator) -> Result<(), String> {
    let world = small_world().map_err(text)?;
    let elsewhere = world.window(-4000, 2500, 31, 900);
    for (params, op) in variants(operator).into_iter().filter(|(_, op)| op.endless()) {
        let mut standard = Standard::full(world, &op.layers());
        if op.reach(&world) != Reach::Point {
            return Err(with(&params, "it is endless, and its reach is not Point"));
        }
        let run = |standard: &Standard| standard.run(op.as_ref(), &AnyFile::default(), &Silent).map_err(text);
        let here = run(&standard)?;
        standard.world = elsewhere;
        equal_terrains(&here, &run(&standard)?)
            .map_err(|found| with(&params, &format!("in another world it differs: {found}")))?;
    }
    Ok(())
}

/// Heights that are infinite or huge are refused; tall ones give land or a sentence, and never an endless loop or a panic.
fn extreme_heights(operator: &Operator) -> Result<(), String> {
    let op = operator.default_op();
    let layers = op.layers();
    let world = small_world().map_err(text)?;
    let run = |standard: &Standard| standard.run(op.as_ref(), &AnyFile::default(), &Silent);
    for (second, names) in [(false, &layers.reads), (true, &layers.reads_second)] {
        for name in names {
            let refused: &[f32] = match *name == layer::HEIGHT.name() {
                true => &[f32::INFINITY, f32::NEG_INFINITY, 1e30],
                false => &[f32::INFINITY, f32::NEG_INFINITY],
            };
            for &value in refused {
                let mut standard = Standard::bare(world, &layers);
                let terrain = if second { &mut standard.second } else { &mut standard.terrain };
                // Layers of small numbers have no such values.
                if terrain.update::<f32>(name, |raster| raster.as_mut_slice()[4000] = value).is_err() {
                    continue;
                }
                match run(&standard) {
                    Err(OpError::Value { name: reported, .. }) if reported == *name => {}
                    other => return Err(format!("{value} in {name} gives {}", outcome(&other))),
                }
            }
        }
    }
    for factor in [-1e4f32, 1.2e4] {
        let mut standard = Standard::bare(world, &layers);
        for terrain in [&mut standard.terrain, &mut standard.second] {
            // Land up to about 8e6 m high; without a height there is nothing to stretch.
            let _ = terrain.update::<f32>(&layer::HEIGHT.name(), |height| {
                height.as_mut_slice().iter_mut().for_each(|h| *h *= factor);
            });
        }
        match run(&standard) {
            Ok(_) | Err(OpError::Overflow { .. } | OpError::TooMuchWork(_) | OpError::Failed(_)) => {}
            Err(error) => return Err(format!("heights times {factor} give the error {error}")),
        }
    }
    Ok(())
}

fn cancel(operator: &Operator) -> Result<(), String> {
    let op = operator.default_op();
    let standard = Standard::bare(small_world().map_err(text)?, &op.layers());
    let run = |watch: &Canceller| standard.run(op.as_ref(), &AnyFile::default(), watch);

    match run(&Canceller::at_once()) {
        Err(OpError::Cancelled) => {}
        other => return Err(format!("cancelled from the start it gives {}", outcome(&other))),
    }
    let midway = Canceller::midway();
    match run(&midway) {
        Err(OpError::Cancelled) => {}
        Ok(_) if !midway.cancelled.load(Ordering::Relaxed) => {
            return Err(String::from(
                "it reports no progress between 0 and 1, so nobody can cancel it midway",
            ));
        }
        other => return Err(format!("cancelled midway it gives {}", outcome(&other))),
    }
    let strange = f32::from_bits(midway.strange.load(Ordering::Relaxed));
    if strange != 0.0 {
        return Err(format!("it reports a progress of {strange}, outside 0 to 1"));
    }
    Ok(())
}

fn outcome(result: &Result<Terrain, OpError>) -> String {
    match result {
        Ok(_) => String::from("a terrain"),
        Err(error) => format!("the error {:?}", error.to_string()),
    }
}

/// Cancels from the start, or as soon as a share of the work is done.
struct Canceller {
    cancelled: AtomicBool,
    /// Bits of a progress outside 0..1, 0 if there was none.
    strange: AtomicU32,
}

impl Canceller {
    fn at_once() -> Self {
        Self { cancelled: AtomicBool::new(true), strange: AtomicU32::new(0) }
    }

    fn midway() -> Self {
        Self { cancelled: AtomicBool::new(false), strange: AtomicU32::new(0) }
    }
}

impl Watch for Canceller {
    fn progress(&self, share: f32) {
        if !(0.0..=1.0).contains(&share) {
            self.strange.store(share.to_bits(), Ordering::Relaxed);
        }
        if share > 0.0 && share < 1.0 {
            self.cancelled.store(true, Ordering::Relaxed);
        }
    }

    fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }
}

fn resolutions(operator: &Operator) -> Result<(), String> {
    const MOST: f64 = 0.08;
    let allowed = operator.preview_rmse;
    if !(0.0..=MOST).contains(&allowed) {
        return Err(format!("PREVIEW_RMSE: {allowed} is outside 0 to {MOST}"));
    }
    for (name, differ) in preview_differences(operator)? {
        if !(0.0..=allowed).contains(&differ) {
            return Err(format!(
                "layer {name} at 513 and 1025 samples differs by {differ:.4} of its range, more than {allowed}"
            ));
        }
    }
    Ok(())
}

/// How far each written layer differs between 513 and 1025 samples of the standard world, as a share of its range.
///
/// # Errors
/// When the operator fails or does not write what it declares.
pub fn preview_differences(operator: &Operator) -> Result<Vec<(LayerName, f64)>, String> {
    let op = operator.default_op();
    let layers = op.layers();
    let run = |samples: usize| {
        let world = Frame::square(4096.0, samples).map_err(text)?;
        Standard::bare(world, &layers).run(op.as_ref(), &AnyFile::default(), &Silent).map_err(text)
    };
    let (coarse, fine) = (run(513)?, run(1025)?);
    let one = |name: &LayerName| match coarse.layers().get(name).zip(fine.layers().get(name)) {
        Some((coarse, fine)) => Ok((name.clone(), difference(coarse, fine))),
        None => Err(format!("layer {name} is not there")),
    };
    layers.writes.iter().map(one).collect()
}

/// How far every second sample of `fine` is from `coarse`: RMSE as a share of the range; for ids, the share that
/// differs. A hole on one side only counts as the whole range.
fn difference(coarse: &LayerData, fine: &LayerData) -> f64 {
    fn differing<T: Sample>(coarse: &Raster<T>, fine: &Arc<Raster<T>>) -> f64 {
        let differ = |(c, r): &(usize, usize)| coarse.row(*r)[*c] != fine.row(2 * r)[2 * c];
        shared(coarse.cols(), coarse.rows()).filter(differ).count() as f64 / coarse.as_slice().len() as f64
    }
    fn shared(cols: usize, rows: usize) -> impl Iterator<Item = (usize, usize)> {
        (0..rows).flat_map(move |r| (0..cols).map(move |c| (c, r)))
    }
    match (coarse, fine) {
        (LayerData::F32(coarse), LayerData::F32(fine)) => {
            let (low, high) = fine.range().unwrap_or((0.0, 0.0));
            let range = f64::from(high - low).max(f64::MIN_POSITIVE);
            let squares: f64 = shared(coarse.cols(), coarse.rows())
                .map(|(c, r)| {
                    let (a, b) = (f64::from(coarse.row(r)[c]), f64::from(fine.row(2 * r)[2 * c]));
                    match (a.is_nan(), b.is_nan()) {
                        (true, true) => 0.0,
                        (false, false) => ((a - b) / range) * ((a - b) / range),
                        _ => 1.0,
                    }
                })
                .sum();
            (squares / (coarse.cols() * coarse.rows()) as f64).sqrt()
        }
        (ids, fine) => each_kind!(ids, ids => {
            Sample::view(fine).map_or(f64::INFINITY, |fine| differing(ids, fine))
        }),
    }
}

/// A world far from zero with cells that are not square.
fn small_world() -> Result<Frame, FrameError> {
    Frame::new([623_456.5, -1_198_765.25], [1530.0, 1190.0], [103, 86])
}

/// The operator with its defaults, and with each flag, word, and number-or-layer changed in turn.
///
/// A choice that the operator refuses without further parameters is passed over.
fn variants(operator: &Operator) -> Vec<(toml::Table, Box<dyn AnyOp>)> {
    let schema = operator.schema();
    let walk = Walk::new(schema);
    let mut found = vec![(toml::Table::new(), operator.default_op())];
    for (name, property) in walk.parameters() {
        for value in walk.choices(property) {
            let params = toml::Table::from_iter([(name.to_owned(), value)]);
            if let Ok(op) = operator.parse(&params)
                && found.iter().all(|(_, known)| known.params() != op.params())
            {
                found.push((params, op));
            }
        }
    }
    found
}

/// Parameter tables that put one number at an end of its range, and `pairs` tables that do so with two numbers of
/// different parameters, drawn from a seed. Tables that the operator refuses are passed over.
#[must_use]
pub fn at_the_ends(operator: &Operator, pairs: usize) -> Vec<toml::Table> {
    let schema = operator.schema();
    let walk = Walk::new(schema);
    let single: Vec<(&str, Value)> = walk
        .parameters()
        .flat_map(|(name, property)| {
            walk.end_numbers(name, property).into_iter().map(move |probe| (name, probe.value))
        })
        .collect();
    let mut draw = SEED.child(operator.id).stream();
    let mut tables: Vec<toml::Table> = single
        .iter()
        .map(|(name, value)| toml::Table::from_iter([((*name).to_owned(), value.clone())]))
        .collect();
    let alone = tables.len();
    // A few draws more than asked for: those of one parameter twice do not count.
    for _ in 0..20 * pairs {
        let (a, b) = (draw.below(single.len()), draw.below(single.len()));
        if tables.len() == alone + pairs || single.is_empty() {
            break;
        }
        if single[a].0 != single[b].0 {
            let pair = [a, b].map(|i| (single[i].0.to_owned(), single[i].1.clone()));
            let pair = toml::Table::from_iter(pair);
            if !tables.contains(&pair) {
                tables.push(pair);
            }
        }
    }
    tables.retain(|params| operator.parse(params).is_ok());
    tables
}

fn equal_terrains(a: &Terrain, b: &Terrain) -> Result<(), String> {
    let names = |t: &Terrain| t.layers().keys().cloned().collect::<Vec<_>>();
    if names(a) != names(b) {
        return Err(format!("layers {:?} and {:?}", names(a), names(b)));
    }
    for (name, data) in a.layers() {
        equal(name, Some(data), b.layers().get(name))?;
    }
    if a.vectors() != b.vectors() {
        return Err(String::from("the vectors differ"));
    }
    Ok(())
}

/// Equal to the bit; all NaN are one, as which NaN comes out of a sum is not fixed by the language.
fn equal(name: &LayerName, a: Option<&LayerData>, b: Option<&LayerData>) -> Result<(), String> {
    let (Some(a), Some(b)) = (a, b) else { return Err(format!("layer {name} is not there")) };
    match a.first_difference(b) {
        Ok(None) => Ok(()),
        Ok(Some((i, [x, y]))) => {
            let cols = a.shape().0;
            Err(format!("layer {name} at column {}, row {}: {x} and {y}", i % cols, i / cols))
        }
        Err(reason) => Err(format!("layer {name}: {reason}")),
    }
}

fn with(params: &toml::Table, found: &str) -> String {
    if params.is_empty() { found.to_owned() } else { format!("with {params}: {found}").replace('\n', " ") }
}

fn sentences(faults: &[crate::param::Fault]) -> String {
    faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

#[cfg(test)]
mod tests;
