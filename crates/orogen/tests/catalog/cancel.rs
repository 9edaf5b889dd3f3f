//! Every operator looks up from its work often enough for a cancel to be heard within a second.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use cpu_time::ThreadTime;
use orogen_core::testkit::standard::{AnyFile, Standard};
use orogen_core::{Frame, Operator, Watch};

/// Samples a side of the land.
const SAMPLES: usize = 513;
/// Samples a side of land on which a cancel is to be heard within a second on one processor.
const LARGE: usize = 4097;

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
    let op = operator.default_op();
    let frame = Frame::square(4096.0, SAMPLES).expect("a frame");
    let standard = Standard::bare(frame, &op.layers());
    let looks = Looks(Mutex::new((None, 0.0)));
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("one thread");
    pool.install(|| {
        looks.look();
        let made = standard.run(op.as_ref(), &AnyFile::default(), &looks);
        looks.look();
        made.map(drop).map_err(|e| e.to_string())
    })
    .map_or_else(|error| vec![format!("{}: {error}", operator.id)], |()| {
        let longest_s = looks.0.into_inner().unwrap_or_else(PoisonError::into_inner).1;
        let scale = (LARGE * LARGE) as f64 / (SAMPLES * SAMPLES) as f64;
        if longest_s * scale <= 1.0 {
            return Vec::new();
        }
        vec![format!(
            "{} works for {:.0} ms at {SAMPLES} samples without looking whether it should stop, about {:.1} s at {LARGE}",
            operator.id,
            1000.0 * longest_s,
            longest_s * scale
        )]
    })
}
