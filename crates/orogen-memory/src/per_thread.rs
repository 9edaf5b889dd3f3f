//! An allocator for tests that counts the bytes of each thread by itself, so that tests side by side do not mix.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// The system's allocator, with a count for each thread. A block is counted by the thread that takes it and by the one
/// that drops it: measure what happens on one thread.
#[derive(Clone, Copy, Debug, Default)]
pub struct PerThread;

thread_local! {
    /// Bytes in use, and the most since the last reset.
    static BYTES: Cell<(isize, isize)> = const { Cell::new((0, 0)) };
    /// All bytes that were ever taken.
    static TAKEN: Cell<usize> = const { Cell::new(0) };
}

impl PerThread {
    /// The most bytes that `work` has in use at once on this thread, beyond those in use before; and what it gave.
    pub fn peak_of<T>(work: impl FnOnce() -> T) -> (usize, T) {
        let before = BYTES.get().0;
        BYTES.set((before, before));
        let made = work();
        (usize::try_from(BYTES.get().1 - before).unwrap_or(0), made)
    }

    /// All bytes that `work` takes on this thread, dropped again or not: a measure of work that no clock changes. And what
    /// it gave.
    pub fn taken_by<T>(work: impl FnOnce() -> T) -> (usize, T) {
        let before = TAKEN.get();
        let made = work();
        (TAKEN.get() - before, made)
    }

    fn count(bytes: isize) {
        // A thread that ends has no count any more.
        let _ = BYTES.try_with(|count| {
            let now = count.get().0 + bytes;
            count.set((now, count.get().1.max(now)));
        });
        let _ = TAKEN.try_with(|taken| taken.set(taken.get() + usize::try_from(bytes).unwrap_or(0)));
    }
}

// SAFETY: every call is handed on to the system's allocator as it is.
unsafe impl GlobalAlloc for PerThread {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        Self::count(layout.size() as isize);
        // SAFETY: as asked of the caller.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        Self::count(layout.size() as isize);
        // SAFETY: as asked of the caller.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        Self::count(-(layout.size() as isize));
        // SAFETY: as asked of the caller.
        unsafe { System.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        Self::count(size as isize - layout.size() as isize);
        // SAFETY: as asked of the caller.
        unsafe { System.realloc(block, layout, size) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peaks_and_takings_are_those_of_the_work() {
        // Not the global allocator of this test, so blocks are taken by hand.
        let layout = Layout::array::<u8>(1000).unwrap();
        let work = || {
            for _ in 0..3 {
                // SAFETY: the block is dropped with the layout that it was taken with.
                unsafe { PerThread.dealloc(PerThread.alloc(layout), layout) }
            }
        };
        assert_eq!(PerThread::peak_of(work).0, 1000);
        assert_eq!(PerThread::taken_by(work).0, 3000);
        assert_eq!(PerThread::peak_of(|| ()).0, 0);
    }
}
