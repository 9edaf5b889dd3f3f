//! Every number of every parameter at both ends of its range, alone and in pairs: finite land or a sentence, and soon.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};

use cpu_time::ProcessTime;
use orogen_core::testkit::promises;
use orogen_core::testkit::standard::{AnyFile, Standard};
use orogen_core::{AnyOp, Frame, LayerData, OpError, Operator, Terrain, Watch};

/// Samples a side of the land.
const SAMPLES: usize = 129;
/// Pairs of ends for each operator.
const PAIRS: usize = 20;
/// The longest that a run may take, in seconds of one processor: the machine may be busy with other tests.
const MOST_S: f64 = 30.0;

/// Stops a run that takes too long, and remembers whether any work was done.
struct Stopwatch {
    start: ProcessTime,
    worked: AtomicBool,
}

impl Watch for Stopwatch {
    fn progress(&self, share: f32) {
        if share > 0.0 {
            self.worked.store(true, Ordering::Relaxed);
        }
    }

    fn is_cancelled(&self) -> bool {
        self.start.elapsed().as_secs_f64() > MOST_S
    }
}

/// What is wrong with an operator at the ends of its ranges.
pub fn broken(operator: &Operator) -> Vec<String> {
    let params = promises::at_the_ends(operator, PAIRS);
    params.iter().filter_map(|params| broken_with(operator, params)).collect()
}

fn broken_with(operator: &Operator, params: &toml::Table) -> Option<String> {
    let say = |found: &str| Some(format!("{} with {params}: {found}", operator.id).replace('\n', " "));
    let op = match operator.parse(params) {
        Ok(op) => op,
        Err(faults) => return say(&format!("refused: {faults:?}")),
    };
    let frame = Frame::square(2560.0, SAMPLES).expect("a frame");
    let standard = Standard::bare(frame, &op.layers());
    let watch = Stopwatch { start: ProcessTime::now(), worked: AtomicBool::new(false) };
    let run = || standard.run(op.as_ref(), &AnyFile::default(), &watch);
    match catch_unwind(AssertUnwindSafe(run)) {
        Err(_) => say("it panicked"),
        Ok(Err(OpError::Cancelled)) => say(&format!("it takes longer than {MOST_S} s")),
        Ok(Err(OpError::TooMuchWork(text))) if watch.worked.load(Ordering::Relaxed) => {
            say(&format!("it worked before it said {text:?}"))
        }
        Ok(Err(OpError::TooMuchWork(_) | OpError::Failed(_))) => None,
        // A mountain of 1e9 m is refused.
        Ok(Err(OpError::Overflow { value, .. })) if value.is_finite() => None,
        Ok(Err(error)) => say(&format!("it gives the error {:?}", error.to_string())),
        Ok(Ok(made)) => strange(&made, op.as_ref()).and_then(|found| say(&found)),
    }
}

/// The first layer with infinite values, or with holes that were not there.
fn strange(made: &Terrain, op: &dyn AnyOp) -> Option<String> {
    let is_strange = |v: &&f32| v.is_infinite() || (v.is_nan() && !op.makes_holes());
    op.layers().writes.iter().find_map(|name| {
        let LayerData::F32(raster) = made.layers().get(name)? else { return None };
        let count = raster.as_slice().iter().filter(is_strange).count();
        (count > 0).then(|| format!("{count} values of layer {name} are not finite"))
    })
}
