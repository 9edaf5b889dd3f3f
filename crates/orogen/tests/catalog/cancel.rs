//! Every operator looks up from its work often enough for a cancel to be heard within a second.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use cpu_time::ThreadTime;
use orogen_core::testkit::standard::{AnyFile, Standard};
use orogen_core::{AnyOp, Frame, Operator, Watch};

/// Samples a side of the land.
const SAMPLES: usize = 513;
/// Samples a side of land on which a cancel is to be heard within a second on one processor of a slow machine.
const LARGE: usize = 2049;

/// Measures the longest time between two looks at the switch. One thread does all the work, so what it takes does not
/// depend on what else the machine does.
struct Looks(Mutex<(Option<Duration>, f64)>);

impl Looks {
    fn look(&self) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now = ThreadTime::now().as_duration();
        let passed = state.0.map_or(0.0, |last| (now - last).as_secs_f64());
        *state = (Some(now), state.1.max(passed));
    }
}

impl Watch for Looks {
    fn progress(&self, _: f32) {}

    fn is_cancelled(&self) -> bool {
        self.look();
        false
    }
}

/// What is wrong with how often an operator can be stopped.
pub fn broken(operator: &Operator) -> Vec<String> {
    broken_with(operator.default_op().as_ref(), LARGE)
}

fn broken_with(op: &dyn AnyOp, large: usize) -> Vec<String> {
    let longest_s = match longest_s(op, SAMPLES) {
        Ok(longest_s) => longest_s,
        Err(error) => return vec![format!("{}: {error}", op.id())],
    };
    let scale = (large * large) as f64 / (SAMPLES * SAMPLES) as f64;
    if longest_s * scale <= 1.0 {
        return Vec::new();
    }
    // Work on a lattice of the operator's own takes as long for fewer samples; other work takes a quarter.
    let fewer_s = self::longest_s(op, SAMPLES / 2 + 1).unwrap_or(0.0);
    if longest_s < 0.25 && longest_s < 2.0 * fewer_s {
        return Vec::new();
    }
    vec![format!(
        "{} works for {:.0} ms at {SAMPLES} samples without looking whether it should stop, about {:.1} s at {large}",
        op.id(),
        1000.0 * longest_s,
        longest_s * scale
    )]
}

/// The longest time between two looks, in seconds of one processor.
fn longest_s(op: &dyn AnyOp, samples: usize) -> Result<f64, String> {
    let frame = Frame::square(4096.0, samples).map_err(|e| e.to_string())?;
    let standard = Standard::bare(frame, &op.layers());
    let looks = Looks(Mutex::new((None, 0.0)));
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().map_err(|e| e.to_string())?;
    pool.install(|| {
        looks.look();
        let made = standard.run(op, &AnyFile::default(), &looks);
        looks.look();
        made.map(drop).map_err(|e| e.to_string())
    })?;
    Ok(looks.0.into_inner().unwrap_or_else(PoisonError::into_inner).1)
}

/// Contours may be larger than all the land: joining them took 27 seconds without a look at 4097 samples.
#[test]
fn a_cancel_is_heard_while_dense_contours_are_joined() {
    let catalog = orogen::catalog();
    let operator = catalog.get("survey.contours").expect("an operator");
    let dense = toml::toml! { interval_m = 1.0 };
    let wrong = broken_with(operator.parse(&dense).expect("right parameters").as_ref(), 4097);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
