//! The allocator of Orogen's programs: mimalloc, with a count of the bytes in use for the manifest and for tests of readers.
//!
//! An allocator of our own stood here, with large blocks in huge pages that were kept for the next. Beside mimalloc, turn by turn
//! in one run, it gained no time (seconds of processor time, its and mimalloc's: hillshade of 8192 x 8192 samples 1.55 and 1.15,
//! fill 3.4 and 3.4, flow 3.5 and 3.6, basins 4.2 and 4.2, `alps` at 2049 samples 8.7 and 8.9, `island` 4.6 and 4.4), so it went.

mod per_thread;

use std::alloc::{GlobalAlloc, Layout};
use std::cell::Cell;
use std::sync::atomic::{AtomicIsize, Ordering};

use mimalloc::MiMalloc;

pub use per_thread::PerThread;

/// The global allocator; programs declare one, libraries none.
///
/// Small blocks come and go by the million, and a count that all threads share would cost more than they do. So each thread
/// hands its count on once it is worth [`BATCH`]: what is reported is right to that much for each thread.
#[derive(Clone, Copy, Debug, Default)]
pub struct Memory;

/// Bytes that a thread may have taken or dropped without saying so.
pub const BATCH: usize = 64 << 10;

static CURRENT: AtomicIsize = AtomicIsize::new(0);
static PEAK: AtomicIsize = AtomicIsize::new(0);

thread_local! {
    /// Bytes that this thread took, less those that it dropped, since it last said so.
    static UNTOLD: Cell<isize> = const { Cell::new(0) };
}

impl Memory {
    /// Bytes in use.
    pub fn current_bytes(&self) -> usize {
        usize::try_from(CURRENT.load(Ordering::Relaxed)).unwrap_or(0)
    }

    /// The most bytes that were in use at once since the last reset.
    pub fn peak_bytes(&self) -> usize {
        usize::try_from(PEAK.load(Ordering::Relaxed)).unwrap_or(0)
    }

    /// Lets the peak start again from what is in use.
    pub fn reset_peak(&self) {
        PEAK.store(CURRENT.load(Ordering::Relaxed), Ordering::Relaxed);
    }
}

/// Counts bytes that were taken, or dropped where they are fewer than none.
fn count(bytes: isize) {
    // A thread that ends has no count any more.
    let reported = UNTOLD.try_with(|untold| {
        let sum = untold.get() + bytes;
        let tell = sum.unsigned_abs() >= BATCH;
        untold.set(if tell { 0 } else { sum });
        if tell { sum } else { 0 }
    });
    let reported = reported.unwrap_or(bytes);
    if reported != 0 {
        let now = CURRENT.fetch_add(reported, Ordering::Relaxed) + reported;
        // Most blocks raise no peak, and a load is cheaper than an exchange.
        if now > PEAK.load(Ordering::Relaxed) {
            PEAK.fetch_max(now, Ordering::Relaxed);
        }
    }
}

/// Counts a block, if there is one.
fn counted(block: *mut u8, bytes: isize) -> *mut u8 {
    if !block.is_null() {
        count(bytes);
    }
    block
}

// SAFETY: every call is handed on to mimalloc as it is.
unsafe impl GlobalAlloc for Memory {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as asked of the caller.
        counted(unsafe { MiMalloc.alloc(layout) }, layout.size() as isize)
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as asked of the caller.
        counted(unsafe { MiMalloc.alloc_zeroed(layout) }, layout.size() as isize)
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        count(-(layout.size() as isize));
        // SAFETY: as asked of the caller.
        unsafe { MiMalloc.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as asked of the caller.
        let moved = unsafe { MiMalloc.realloc(block, layout, size) };
        counted(moved, size as isize - layout.size() as isize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts are those of the whole program, so one test looks at them.
    #[test]
    fn the_peak_is_what_was_in_use_at_once() {
        let layout = |size: usize| Layout::array::<u8>(size).unwrap();
        let (before, most) = (Memory.current_bytes(), 5 << 20);
        Memory.reset_peak();
        // SAFETY: every block is given back once, with the layout that it has then.
        unsafe {
            let [a, b] = [most, 2 * BATCH].map(|size| (Memory.alloc(layout(size)), layout(size)));
            Memory.dealloc(a.0, a.1);
            let c = Memory.alloc_zeroed(layout(BATCH));
            assert!((0..BATCH).all(|i| c.add(i).read() == 0));
            assert_eq!(Memory.peak_bytes() - before, most + 2 * BATCH);
            Memory.reset_peak();
            assert_eq!(Memory.peak_bytes() - before, 3 * BATCH);
            let b = Memory.realloc(b.0, b.1, 4 * BATCH);
            assert_eq!(Memory.current_bytes() - before, 5 * BATCH);
            Memory.dealloc(b, layout(4 * BATCH));
            Memory.dealloc(c, layout(BATCH));
            // Small ones are counted together.
            let small: Vec<_> = (0..1000).map(|_| Memory.alloc(layout(1000))).collect();
            assert!((Memory.current_bytes() - before).abs_diff(1_000_000) < BATCH);
            small.into_iter().for_each(|block| Memory.dealloc(block, layout(1000)));
            assert!(Memory.current_bytes().abs_diff(before) < BATCH);
            // What no system has is refused, and not counted.
            let peak = Memory.peak_bytes();
            assert!(Memory.alloc(layout(1 << 60)).is_null());
            assert_eq!(Memory.peak_bytes(), peak);
        }
    }
}
