//! Many small windows cost about as much as one that is as large as all of them: what they share is prepared once.
//!
//! Work is counted in bytes taken from the allocator, which no clock and no other test changes.

use orogen_core::testkit::standard::{AnyFile, SEED, Standard};
use orogen_core::{Ctx, Frame, Operator, Reach, Ready, Terrain};
use orogen_memory::PerThread;

/// Samples a side of the world; windows have an eighth of it.
const SAMPLES: usize = 513;
const WINDOWS: usize = 8;
/// What a window may take by itself: the lists of its rows and layers.
const BYTES_A_WINDOW: usize = 100_000;

/// What is wrong with how an operator works on windows.
pub fn broken(operator: &Operator) -> Vec<String> {
    check(operator).err().into_iter().collect()
}

fn check(operator: &Operator) -> Result<(), String> {
    let op = operator.default_op();
    let world = Frame::square(4096.0, SAMPLES).map_err(|e| e.to_string())?;
    let reach = op.reach(&world);
    if reach == Reach::World {
        return Ok(()); // never asked for a window
    }
    let standard = Standard::bare(world, &op.layers());
    let files = AnyFile::default();
    let second = (!op.layers().reads_second.is_empty()).then_some(&standard.second);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().map_err(|e| e.to_string())?;
    pool.install(|| {
        let ready = Ready::new(op.into(), &world, &ctx(world, &files)).map_err(|e| e.to_string())?;
        let apply = |terrain: Terrain, second: Option<&Terrain>| {
            ready.apply(terrain, &ctx(world, &files).with_second(second)).map_err(|e| e.to_string())
        };
        let (large, whole) = PerThread::taken_by(|| apply(standard.terrain.clone(), second));
        let whole = whole?;
        let side = (SAMPLES - 1) / WINDOWS;
        let mut small = 0;
        for (i, j) in (0..WINDOWS).flat_map(|i| (0..WINDOWS).map(move |j| (i, j))) {
            let window = world.window((i * side) as i64, (j * side) as i64, side, side);
            let terrain = standard.terrain.crop(&window).ok_or("a window of the world")?;
            let second =
                second.map(|second| second.crop(&window).ok_or("a window of the world")).transpose()?;
            let (taken, made) = PerThread::taken_by(|| apply(terrain, second.as_ref()));
            small += taken;
            let wanted = whole.crop(&window).ok_or("a window of the world")?;
            // Beside the edge of a window an operator that reaches further sees less.
            if reach == Reach::Point && made?.layers() != wanted.layers() {
                return Err(format!("{}: window {i}, {j} differs from the whole", operator.id));
            }
        }
        let most = 2 * large + WINDOWS * WINDOWS * BYTES_A_WINDOW;
        if small > most {
            return Err(format!(
                "{}: {} windows take {small} bytes, all of them at once {large}; prepare what they share",
                operator.id,
                WINDOWS * WINDOWS
            ));
        }
        Ok(())
    })
}

fn ctx(world: Frame, files: &AnyFile) -> Ctx<'_> {
    Ctx::new(SEED).in_world(world).with_files(files)
}
