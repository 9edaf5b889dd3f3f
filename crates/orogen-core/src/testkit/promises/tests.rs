//! Operators that break one promise each: the checks must notice.

use std::sync::atomic::{AtomicU32, Ordering};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::*;
use crate::ctx::Ctx;
use crate::layer::{HEIGHT, MASK, SLOPE, TEMPERATURE};
use crate::op::{Layers, Op};
use crate::raster::Raster;

/// Defines an operator on `height` with a default of its own for everything; `impl` items given last come on top.
macro_rules! operator {
    (
        $(#[$meta:meta])*
        $name:ident($id:literal) { $($fields:tt)* }
        layers: $layers:expr, reach: $reach:expr,
        run: |$self:ident, $terrain:ident, $ctx:ident| $run:block
        $($more:item)*
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(default, deny_unknown_fields)]
        struct $name { $($fields)* }

        impl Op for $name {
            const ID: &'static str = $id;
            const VERSION: u32 = 1;
            fn layers(&self) -> Layers { $layers }
            fn reach(&self, _frame: &Frame) -> Reach { $reach }
            fn run(&$self, mut $terrain: Terrain, $ctx: &Ctx<'_>) -> Result<Terrain, OpError> {
                $run
                Ok($terrain)
            }
            $($more)*
        }
    };
}

fn height() -> Layers {
    Layers::none().updating([HEIGHT.name()])
}

/// Changes the height row by row, with progress, as an honest operator does.
fn map(
    terrain: &mut Terrain,
    ctx: &Ctx<'_>,
    f: impl Fn(usize, usize, f32) -> f32 + Sync,
) -> Result<(), OpError> {
    let mut height = terrain.get(HEIGHT)?.clone();
    let counter = ctx.counter(height.rows());
    height.try_par_rows(|row, values| {
        for (col, value) in values.iter_mut().enumerate() {
            *value = f(col, row, *value);
        }
        counter.done()
    })?;
    terrain.set(HEIGHT, height);
    Ok(())
}

#[track_caller]
fn breaks<T: Op>(promise: &str, word: &str) -> Vec<String> {
    assert!(PROMISES.iter().any(|p| p.name == promise), "there is no promise {promise:?}");
    let found = broken(&Operator::of::<T>());
    let lead = format!("{} breaks the promise {promise:?}: ", T::ID);
    assert!(
        found.iter().any(|sentence| sentence.starts_with(&lead) && sentence.contains(word)),
        "expected {lead:?} with {word:?}, found {found:#?}"
    );
    found
}

/// One promise only: the bad operator is otherwise good.
#[track_caller]
fn breaks_only<T: Op>(promise: &str, word: &str) {
    let found = breaks::<T>(promise, word);
    assert_eq!(found.len(), 1, "{found:#?}");
}

operator! {
    /// Raises the land.
    Good("test.good") {
        /// By how much.
        #[schemars(range(min = -10.0, max = 10.0), extend("x-unit" = "m"))]
        by_m: f64,
    }
    layers: height(), reach: Reach::Point,
    run: |self, terrain, ctx| { map(&mut terrain, ctx, |_, _, h| h + self.by_m as f32)?; }
}

#[test]
fn a_good_operator_breaks_no_promise() {
    assert_eq!(broken(&Operator::of::<Good>()), [""; 0]);
}

operator! {
    /// Has a name without a family.
    Nameless("nameless") {}
    layers: height(), reach: Reach::Point,
    run: |self, terrain, ctx| { map(&mut terrain, ctx, |_, _, h| h + 1.0)?; }
}

operator! {
    /// Takes a name that belongs to the step.
    Grabbing("test.grabbing") {
        /// A flag.
        mask: bool,
    }
    layers: height(), reach: Reach::Point,
    run: |self, terrain, ctx| { map(&mut terrain, ctx, |_, _, h| h + 1.0)?; }
}

#[test]
fn names_out_of_place_are_noticed() {
    breaks_only::<Nameless>("names follow the rules", "nameless");
    breaks_only::<Grabbing>("names follow the rules", "belongs to the step");
}

operator! {
    /// Does not say what its parameters are.
    Undocumented("test.undocumented") {
        #[schemars(range(min = 0.0, max = 1.0))]
        strength: f64,
    }
    layers: height(), reach: Reach::Point,
    run: |self, terrain, ctx| { map(&mut terrain, ctx, |_, _, h| h + 1.0)?; }
}

operator! {
    /// Is far off in previews without a word why.
    Unargued("test.unargued") {}
    layers: height(), reach: Reach::Point,
    run: |self, terrain, ctx| { map(&mut terrain, ctx, |_, _, h| h + 1.0)?; }
    const PREVIEW_RMSE: f64 = 0.05;
}

#[test]
fn missing_docs_are_noticed() {
    breaks_only::<Undocumented>("documented", "parameter strength");
    breaks_only::<Unargued>("documented", "resolution");
}

operator! {
    /// Says metres in one place only.
    Unitless("test.unitless") {
        /// A length.
        #[schemars(range(min = 0.0, max = 1.0))]
        length_m: f64,
        /// An angle.
        #[schemars(range(min = 0.0, max = 1.0), extend("x-unit" = "deg"))]
        angle: f64,
    }
    layers: height(), reach: Reach::Point,
    run: |self, terrain, ctx| { map(&mut terrain, ctx, |_, _, h| h + 1.0)?; }
}

#[test]
fn names_without_their_unit_are_noticed() {
    breaks_only::<Unitless>("units in names", "length_m");
    breaks_only::<Unitless>("units in names", "angle");
}

operator! {
    /// Its default lies outside its range.
    BadDefault("test.bad_default") {
        /// A factor.
        #[schemars(range(min = 1.0, max = 2.0))]
        factor: f64,
    }
    layers: height(), reach: Reach::Point,
    run: |self, terrain, ctx| { map(&mut terrain, ctx, |_, _, h| h + 1.0)?; }
}

#[test]
fn a_default_outside_its_range_is_noticed() {
    breaks::<BadDefault>("defaults are valid", "factor: 0.0 is outside");
}

operator! {
    /// Forgets a parameter on the way to TOML.
    Forgetful("test.forgetful") {
        /// A flag.
        #[serde(skip_serializing)]
        flag: bool,
    }
    layers: height(), reach: Reach::Point,
    run: |self, terrain, ctx| { map(&mut terrain, ctx, |_, _, h| h + 1.0)?; }
}

#[test]
fn a_parameter_lost_in_toml_is_noticed() {
    breaks_only::<Forgetful>("parameters survive TOML", "flag");
}

operator! {
    /// Takes any number.
    Unbounded("test.unbounded") {
        /// A factor.
        factor: f64,
    }
    layers: height(), reach: Reach::Point,
    run: |self, terrain, ctx| { map(&mut terrain, ctx, |_, _, h| h + 1.0)?; }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
struct AnyNumber(f64);

impl JsonSchema for AnyNumber {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "AnyNumber".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        // No type: the checker cannot hold a value to anything, while the range below looks fine to a reader.
        schemars::json_schema!({ "anyOf": [{ "type": "number", "minimum": 0.0, "maximum": 1.0 }, {}] })
    }
}

operator! {
    /// Has a range that holds nobody.
    Lax("test.lax") {
        /// A factor.
        factor: AnyNumber,
    }
    layers: height(), reach: Reach::Point,
    run: |self, terrain, ctx| { map(&mut terrain, ctx, |_, _, h| h + 1.0)?; }
}

#[test]
fn numbers_that_nothing_holds_are_noticed() {
    breaks_only::<Unbounded>("bad numbers are refused", "factor has no range");
    breaks_only::<Lax>("bad numbers are refused", "factor accepts");
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct Open {
    flag: bool,
}

impl JsonSchema for Open {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Open".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let flag =
            |about: &str| serde_json::json!({ "type": "boolean", "default": false, "description": about });
        schemars::json_schema!({
            "description": "Has a parameter that is described and unknown.",
            "type": "object",
            "properties": { "flag": flag("A flag."), "flagx": { "description": "Anything." } }
        })
    }
}

impl Op for Open {
    const ID: &'static str = "test.open";
    const VERSION: u32 = 1;
    fn layers(&self) -> Layers {
        height()
    }
    fn reach(&self, _: &Frame) -> Reach {
        Reach::Point
    }
    fn run(&self, mut terrain: Terrain, ctx: &Ctx<'_>) -> Result<Terrain, OpError> {
        map(&mut terrain, ctx, |_, _, h| h + 1.0)?;
        Ok(terrain)
    }
}

#[test]
fn a_parameter_that_does_nothing_is_noticed() {
    breaks::<Open>("unknown parameters are refused", "flagx is accepted");
    breaks::<Open>("parameters survive TOML", "flagx");
}

operator! {
    /// Changes the temperature on the side.
    Meddling("test.meddling") {}
    layers: height(), reach: Reach::Point,
    run: |self, terrain, ctx| {
        map(&mut terrain, ctx, |_, _, h| h + 1.0)?;
        if terrain.get(TEMPERATURE).is_ok() {
            terrain.update::<f32>(&TEMPERATURE.name(), |t| t.as_mut_slice()[0] += 1.0)?;
        }
    }
}

operator! {
    /// Leaves a layer behind.
    Littering("test.littering") {}
    layers: height(), reach: Reach::Point,
    run: |self, terrain, ctx| {
        map(&mut terrain, ctx, |_, _, h| h + 1.0)?;
        let copy = terrain.layers()[&HEIGHT.name()].clone();
        terrain.set_named(LayerName::fixed("left.behind"), copy);
    }
}

operator! {
    /// Declares a slope that it does not make.
    Idle("test.idle") {}
    layers: height().writing([SLOPE.name()]), reach: Reach::Point,
    run: |self, terrain, ctx| { map(&mut terrain, ctx, |_, _, h| h + 1.0)?; }
}

operator! {
    /// Draws rivers that it does not declare.
    Scribbling("test.scribbling") {}
    layers: height(), reach: Reach::Point,
    run: |self, terrain, ctx| {
        map(&mut terrain, ctx, |_, _, h| h + 1.0)?;
        terrain.set_vector("notes", crate::vector::VectorLayer::new(crate::vector::Shape::Lines));
    }
}

#[test]
fn undeclared_and_missing_writes_are_noticed() {
    breaks::<Meddling>("writes what it declares and nothing else", "temperature is changed");
    breaks_only::<Littering>("writes what it declares and nothing else", "left.behind is new");
    breaks::<Idle>("writes what it declares and nothing else", "slope is declared as written");
    breaks_only::<Scribbling>("writes what it declares and nothing else", "notes are changed");
}

operator! {
    /// Looks at the mask without saying so.
    Peeking("test.peeking") {}
    layers: height(), reach: Reach::Point,
    run: |self, terrain, ctx| {
        let raise = terrain.get(MASK).map_or(0.0, |mask| mask.as_slice()[0]);
        map(&mut terrain, ctx, |_, _, h| h + raise)?;
    }
}

operator! {
    /// Reads a file that it does not name.
    Reading("test.reading") {}
    layers: height(), reach: Reach::Point,
    run: |self, terrain, ctx| {
        ctx.files().elevation("secret.tif")?;
        map(&mut terrain, ctx, |_, _, h| h + 1.0)?;
    }
}

#[test]
fn undeclared_reads_are_noticed() {
    breaks::<Peeking>("reads nothing but what it declares", "other results");
    breaks_only::<Reading>("reads nothing but what it declares", "secret.tif");
}

operator! {
    /// Counts its own runs.
    Counting("test.counting") {}
    layers: height(), reach: Reach::World,
    run: |self, terrain, ctx| {
        static RUNS: AtomicU32 = AtomicU32::new(0);
        let run = RUNS.fetch_add(1, Ordering::Relaxed);
        map(&mut terrain, ctx, |_, _, h| h + run as f32)?;
    }
}

#[test]
fn another_result_the_second_time_is_noticed() {
    breaks::<Counting>("same bits when run again", "layer height");
}

operator! {
    /// Depends on the number of threads.
    Threaded("test.threaded") {}
    layers: height(), reach: Reach::World,
    run: |self, terrain, ctx| {
        let threads = rayon::current_num_threads() as f32;
        map(&mut terrain, ctx, |_, _, h| h + threads)?;
    }
}

#[test]
fn another_result_on_more_threads_is_noticed() {
    breaks_only::<Threaded>("same bits on any number of threads", "1 and 2 threads differ");
}

operator! {
    /// Takes its place from the window.
    Local("test.local") {}
    layers: height(), reach: Reach::Point,
    run: |self, terrain, ctx| {
        let cols = terrain.frame().cols() as f32;
        map(&mut terrain, ctx, |col, _, h| h + col as f32 / cols)?;
    }
}

operator! {
    /// Looks two cells away and declares one.
    Farsighted("test.farsighted") {}
    layers: height(), reach: Reach::Within(15.0),
    run: |self, terrain, ctx| {
        let before = terrain.get(HEIGHT)?.clone();
        map(&mut terrain, ctx, |col, row, h| h + before.clamped(col as isize + 2, row as isize))?;
    }
}

operator! {
    /// Judges the land by its highest point.
    Global("test.global") {}
    layers: height(), reach: Reach::Point,
    run: |self, terrain, ctx| {
        let (_, top) = terrain.get(HEIGHT)?.range().unwrap_or((0.0, 1.0));
        map(&mut terrain, ctx, |_, _, h| h / top)?;
    }
}

#[test]
fn windows_that_differ_from_the_whole_are_noticed() {
    breaks_only::<Local>("a window equals the same part of the whole", "layer height");
    breaks_only::<Farsighted>("a window equals the same part of the whole", "layer height");
    breaks::<Global>("a window equals the same part of the whole", "layer height");
}

operator! {
    /// Never looks up.
    Deaf("test.deaf") {}
    layers: height(), reach: Reach::Point,
    run: |self, terrain, _ctx| {
        let raised = terrain.get(HEIGHT)?.map(|h| h + 1.0);
        terrain.set(HEIGHT, raised);
    }
}

operator! {
    /// Reports progress and goes on regardless.
    Stubborn("test.stubborn") {}
    layers: height(), reach: Reach::Point,
    run: |self, terrain, ctx| {
        let raised = terrain.get(HEIGHT)?.map(|h| h + 1.0);
        let _ = ctx.tick(1, 2);
        let _ = ctx.tick(2, 2);
        terrain.set(HEIGHT, raised);
    }
}

#[test]
fn operators_that_cannot_be_stopped_are_noticed() {
    breaks_only::<Deaf>("can be cancelled", "no progress");
    breaks_only::<Stubborn>("can be cancelled", "cancelled midway it gives a terrain");
}

operator! {
    /// Blurs over cells instead of metres.
    Pixelated("test.pixelated") {}
    layers: height(), reach: Reach::World,
    run: |self, terrain, ctx| {
        let before = terrain.get(HEIGHT)?.clone();
        map(&mut terrain, ctx, |col, row, _| before.clamped(col as isize - 40, row as isize))?;
    }
}

operator! {
    /// Says itself that a preview at low resolution is worthless.
    Shameless("test.shameless") {}
    layers: height(), reach: Reach::Point,
    run: |self, terrain, ctx| { map(&mut terrain, ctx, |_, _, h| h + 1.0)?; }
    const PREVIEW_RMSE: f64 = 0.5;
}

#[test]
fn results_that_hang_on_the_sampling_are_noticed() {
    breaks_only::<Pixelated>("two resolutions agree", "at 513 and 1025 samples");
    breaks_only::<Shameless>("two resolutions agree", "PREVIEW_RMSE: 0.5 is outside");
}

operator! {
    /// Cannot stand a hole.
    Fragile("test.fragile") {}
    layers: height(), reach: Reach::Point,
    run: |self, terrain, ctx| {
        assert!(!terrain.get(HEIGHT)?.as_slice().iter().any(|h: &f32| h.is_nan()), "a hole!");
        map(&mut terrain, ctx, |_, _, h| h + 1.0)?;
    }
}

#[test]
fn a_panic_is_reported_with_the_operator_and_the_promise() {
    breaks::<Fragile>("same bits on any number of threads", "it panicked: a hole!");
}

operator! {
    /// Says that it goes on for ever and measures from the corner of its world.
    Homesick("test.homesick") {}
    layers: height(), reach: Reach::Point,
    run: |self, terrain, ctx| {
        let corner_m = ctx.world(&terrain).x_m(0) as f32;
        map(&mut terrain, ctx, |_, _, h| h + 1e-3 * corner_m)?;
    }
    fn endless(&self) -> bool { true }
}

#[test]
fn an_endless_operator_that_asks_for_the_world_is_noticed() {
    breaks_only::<Homesick>("an endless operator does not ask for the world", "in another world it differs");
}

operator! {
    /// Cannot stand great heights.
    Dizzy("test.dizzy") {}
    layers: height(), reach: Reach::Point,
    run: |self, terrain, ctx| {
        assert!(terrain.get(HEIGHT)?.as_slice().iter().all(|h: &f32| h.is_nan() || h.abs() < 1e5), "too high!");
        map(&mut terrain, ctx, |_, _, h| h + 1.0)?;
    }
}

#[test]
fn an_operator_that_cannot_stand_great_heights_is_noticed() {
    breaks_only::<Dizzy>("extreme heights end in a sentence", "it panicked: too high!");
}

#[test]
fn every_promise_has_an_operator_that_breaks_it() {
    let source = include_str!("tests.rs");
    for promise in PROMISES {
        let quoted = format!("(\"{}\", \"", promise.name);
        assert!(source.contains(&quoted), "nothing here breaks {:?}", promise.name);
    }
}

#[test]
fn holes_and_ids_count_when_resolutions_are_compared() {
    let coarse = LayerData::F32(Arc::new(Raster::from_fn(3, 3, |c, _| c as f32)));
    let mut fine = Raster::from_fn(5, 5, |c, _| c as f32 / 2.0);
    assert_eq!(difference(&coarse, &LayerData::F32(Arc::new(fine.clone()))), 0.0);
    fine.as_mut_slice()[0] = f32::NAN;
    assert!((difference(&coarse, &LayerData::F32(Arc::new(fine))) - (1.0f64 / 9.0).sqrt()).abs() < 1e-12);
    let ids = |n: usize, odd: u8| {
        LayerData::U8(Arc::new(Raster::from_fn(n, n, |c, r| if (c, r) == (0, 0) { odd } else { 1 })))
    };
    assert!((difference(&ids(3, 2), &ids(5, 1)) - 1.0 / 9.0).abs() < 1e-12);
}
