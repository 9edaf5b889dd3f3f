//! What replays of the corpus in `cargo test` share: the kept files, mutations of them, and a count of the memory that
//! reading them takes.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use orogen_memory::Memory;

#[global_allocator]
static MEMORY: Memory = Memory;

/// Tests share the counter, so one reader runs at a time: hold this while counting.
pub fn alone() -> MutexGuard<'static, ()> {
    static COUNTED: Mutex<()> = Mutex::new(());
    COUNTED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The result of `f` and the most bytes that were in use beyond those before it.
pub fn with_peak<R>(f: impl FnOnce() -> R) -> (R, usize) {
    MEMORY.reset_peak();
    let before = MEMORY.current_bytes();
    let result = f();
    (result, MEMORY.peak_bytes().saturating_sub(before))
}

/// The kept files of a target, by name.
pub fn corpus(target: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    assert!(paths.len() > 5, "{} has hardly any files", folder.display());
    paths.into_iter().map(|path| (path.clone(), std::fs::read(&path).unwrap())).collect()
}

/// A small counter-based generator: every run tries the same mutations.
pub struct Dice(u64);

impl Dice {
    /// Dice of their own for every number.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % n.max(1) as u64) as usize
    }
}

/// One to four edits: flipped bits, bytes, numbers that lengths go wrong with, cuts, repeats.
pub fn mutated(bytes: &[u8], dice: &mut Dice) -> Vec<u8> {
    const NUMBERS: [u64; 12] =
        [0, 1, 2, 3, 255, 256, 65535, 65536, 0x7fff_ffff, 0xffff_ffff, 1 << 40, u64::MAX];
    let mut out = bytes.to_vec();
    for _ in 0..=dice.below(4) {
        // Headers and directories are where sizes stand: half of the edits go to the first part of the file.
        let reach = if dice.below(2) == 0 { out.len().min(400) } else { out.len() };
        let at = dice.below(reach);
        match dice.below(6) {
            _ if out.is_empty() => break,
            0 => out[at] ^= 1 << dice.below(8),
            1 => out[at] = dice.below(256) as u8,
            2 => {
                let number = NUMBERS[dice.below(NUMBERS.len())].to_le_bytes();
                let size = [1, 2, 4, 8][dice.below(4)].min(out.len() - at);
                out[at..at + size].copy_from_slice(&number[..size]);
            }
            3 => {
                let number = NUMBERS[dice.below(NUMBERS.len())].to_be_bytes();
                let size = [2, 4][dice.below(2)].min(out.len() - at);
                out[at..at + size].copy_from_slice(&number[8 - size..]);
            }
            4 => out.truncate(at),
            _ => {
                let piece = out[at..(at + 16).min(out.len())].to_vec();
                out.splice(at..at, piece);
            }
        }
    }
    out
}
