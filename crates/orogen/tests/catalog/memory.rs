//! Every operator takes the memory that it declares, to a fifth: builds are refused and planned by it.

use orogen_core::testkit::standard::{AnyFile, Standard};
use orogen_core::{AnyOp, Frame, Operator, Silent};
use orogen_memory::PerThread;

#[global_allocator]
static MEMORY: PerThread = PerThread;

/// Samples a side: enough for what does not grow with them to vanish.
const SAMPLES: usize = 1025;
/// How far a declaration may be off.
const SHARE: f64 = 0.2;
/// Bytes a sample that nobody misses: a row or two of a buffer.
const LITTLE: f64 = 0.15;

/// Parameters that shorten the work of operators that go on for long, with the same memory.
const SHORTER: &[(&str, &str)] = &[
    ("erode.coast", "duration_yr = 100"),
    ("erode.droplets", "drops_per_km2 = 100"),
    ("erode.musgrave", "travel_m = 20"),
    ("erode.pipes", "duration_s = 1\nrunoff_s = 1"),
    ("erode.wind", "duration_yr = 0.5"),
    // As crowded as centuries later.
    ("cover.survival", "years_yr = 100\nfirst_per_ha = 300"),
    ("source.planet", "faults = 10"),
];

/// What is wrong with the memory that an operator declares.
pub fn broken(operator: &Operator) -> Vec<String> {
    check(operator).err().into_iter().collect()
}

fn check(operator: &Operator) -> Result<(), String> {
    let shorter = SHORTER.iter().find(|(id, _)| *id == operator.id).map_or("", |(_, params)| params);
    let table: toml::Table = shorter.parse().map_err(|e| format!("{}: {e}", operator.id))?;
    let op = operator.parse(&table).map_err(|faults| format!("{}: {faults:?}", operator.id))?;
    let frame = Frame::square(8192.0, SAMPLES).map_err(|e| e.to_string())?;
    let (taken, declared) = (measured(op.as_ref(), frame)?, op.bytes_a_sample(&frame));
    if (taken - declared).abs() <= SHARE * declared + LITTLE {
        return Ok(());
    }
    Err(format!(
        "{} takes {taken:.2} bytes a sample and declares {declared:.2} (Op::bytes_a_sample)",
        operator.id
    ))
}

/// The most memory that an operator has in use at once beside its input, in bytes a sample.
fn measured(op: &dyn AnyOp, frame: Frame) -> Result<f64, String> {
    let standard = Standard::declared(frame, &op.layers());
    let files = AnyFile::default();
    // On one thread, which is counted by itself.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().map_err(|e| e.to_string())?;
    let (bytes, made) = pool.install(|| PerThread::peak_of(|| standard.run(op, &files, &Silent)));
    made.map_err(|e| format!("{}: {e}", op.id()))?;
    Ok(bytes as f64 / frame.len() as f64)
}
