//! The allocator of Orogen's programs.
//!
//! Rasters are large, are filled once and are often read out of order. In pages of 4 KiB the first touch of each page
//! and the search for its address cost more than many kernels: hillshading 4096 x 4096 samples takes 1.6 times as long,
//! following water over 8192 x 8192 samples 1.5 times. So large blocks are asked of the system in huge pages, where it
//! has them (Linux); all else goes to the system's allocator. No crate does this: those that know huge pages reserve
//! them by settings from outside.
//!
//! It also counts the bytes in use, for the manifest and for tests of readers.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

/// The global allocator; programs declare one, libraries none.
#[derive(Debug, Default)]
pub struct Memory {
    current: AtomicUsize,
    peak: AtomicUsize,
}

impl Memory {
    /// An allocator that has given nothing yet.
    pub const fn new() -> Self {
        Self { current: AtomicUsize::new(0), peak: AtomicUsize::new(0) }
    }

    /// Bytes in use.
    pub fn current_bytes(&self) -> usize {
        self.current.load(Ordering::Relaxed)
    }

    /// The most bytes that were in use at once since the last reset.
    pub fn peak_bytes(&self) -> usize {
        self.peak.load(Ordering::Relaxed)
    }

    /// Lets the peak start again from what is in use.
    pub fn reset_peak(&self) {
        self.peak.store(self.current_bytes(), Ordering::Relaxed);
    }

    /// Counts a block, if there is one.
    fn given(&self, block: *mut u8, bytes: usize) -> *mut u8 {
        if !block.is_null() {
            let before = self.current.fetch_add(bytes, Ordering::Relaxed);
            // Most blocks raise no peak, and a load is cheaper than an exchange.
            if before + bytes > self.peak_bytes() {
                self.peak.fetch_max(before + bytes, Ordering::Relaxed);
            }
        }
        block
    }
}

// SAFETY: a layout alone decides whether `large` or the system's allocator has a block, so each gets back what it gave;
// `realloc` is the trait's own, by way of `alloc` and `dealloc`, unless both sizes are the system's.
unsafe impl GlobalAlloc for Memory {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the contract, which is passed on.
        let block = unsafe { if large::holds(layout) { large::map(layout) } else { System.alloc(layout) } };
        self.given(block, layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above; what the system maps anew is zero.
        let block =
            unsafe { if large::holds(layout) { large::map(layout) } else { System.alloc_zeroed(layout) } };
        self.given(block, layout.size())
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: as above; `block` came from the same branch of `alloc`.
        unsafe { if large::holds(layout) { large::unmap(block, layout) } else { System.dealloc(block, layout) } }
        self.current.fetch_sub(layout.size(), Ordering::Relaxed);
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller says that `size` makes a layout with this alignment.
        let wanted = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
        if large::holds(layout) || large::holds(wanted) {
            // SAFETY: both blocks are valid for the smaller size and are two.
            return unsafe {
                let moved = self.alloc(wanted);
                if !moved.is_null() {
                    moved.copy_from_nonoverlapping(block, layout.size().min(size));
                    self.dealloc(block, layout);
                }
                moved
            };
        }
        // SAFETY: `block` is the system's, and is so after.
        let moved = unsafe { System.realloc(block, layout, size) };
        if !moved.is_null() {
            self.current.fetch_sub(layout.size(), Ordering::Relaxed);
        }
        self.given(moved, size)
    }
}

/// Blocks in huge pages.
#[cfg(target_os = "linux")]
mod large {
    use std::alloc::Layout;
    use std::ptr::null_mut;

    /// A huge page, where pages are 4 KiB.
    const HUGE: usize = 2 << 20;

    /// A multiple of any small page. What a block has beyond its last whole huge page stays in small ones.
    const PAGE: usize = 64 << 10;

    /// From here on a block has huge pages of its own.
    const LARGE: usize = 4 << 20;

    pub const fn holds(layout: Layout) -> bool {
        layout.size() >= LARGE && layout.align() <= HUGE
    }

    /// Bytes mapped for a layout; none where no address space is that large.
    fn pages(layout: Layout) -> Option<usize> {
        layout.size().checked_next_multiple_of(PAGE)
    }

    /// A zeroed block that starts on a huge page, or null.
    ///
    /// # Safety
    /// None beyond that of the allocator's contract: [`holds`] the layout.
    pub unsafe fn map(layout: Layout) -> *mut u8 {
        let Some((bytes, room)) = pages(layout).and_then(|bytes| Some((bytes, bytes.checked_add(HUGE)?))) else {
            return null_mut();
        };
        // SAFETY: a private mapping anywhere touches no memory of ours; what lies outside the whole huge pages is given
        // back at once, so that `unmap` need know the block only.
        unsafe {
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
            let start = libc::mmap(null_mut(), room, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0);
            if start == libc::MAP_FAILED {
                return null_mut();
            }
            let start = start.cast::<u8>();
            let before = start.align_offset(HUGE);
            let block = start.add(before);
            if before > 0 {
                libc::munmap(start.cast(), before);
            }
            if before < HUGE {
                libc::munmap(block.add(bytes).cast(), HUGE - before);
            }
            // Refused where the system has no huge pages, which costs time only.
            libc::madvise(block.cast(), bytes, libc::MADV_HUGEPAGE);
            block
        }
    }

    /// Gives a block back.
    ///
    /// # Safety
    /// `block` is from [`map`] with this layout.
    pub unsafe fn unmap(block: *mut u8, layout: Layout) {
        if let Some(bytes) = pages(layout) {
            // SAFETY: the mapping of `block` is this long.
            unsafe { libc::munmap(block.cast(), bytes) };
        }
    }
}

/// Elsewhere the system's allocator has all blocks.
#[cfg(not(target_os = "linux"))]
mod large {
    use std::alloc::Layout;

    pub const fn holds(_: Layout) -> bool {
        false
    }

    pub unsafe fn map(_: Layout) -> *mut u8 {
        std::ptr::null_mut()
    }

    pub unsafe fn unmap(_: *mut u8, _: Layout) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZES: [usize; 6] = [1, 4095, (4 << 20) - 1, 4 << 20, (4 << 20) + 1, 33_554_433];

    fn layout(size: usize) -> Layout {
        Layout::from_size_align(size, 64).expect("a small power of two aligns")
    }

    #[test]
    fn blocks_are_zeroed_aligned_and_writable_to_their_ends() {
        let memory = Memory::new();
        for layout in SIZES.map(layout) {
            // SAFETY: the layout is not empty; the block is used within it and given back once.
            unsafe {
                let block = memory.alloc_zeroed(layout);
                assert!(!block.is_null() && block.align_offset(64) == 0);
                let bytes = std::slice::from_raw_parts_mut(block, layout.size());
                assert!(bytes.iter().all(|&byte| byte == 0));
                bytes.fill(7);
                memory.dealloc(block, layout);
            }
        }
        assert_eq!(memory.current_bytes(), 0);
    }

    #[test]
    fn blocks_keep_their_bytes_when_they_grow_and_shrink() {
        let memory = Memory::new();
        for from in SIZES {
            for to in SIZES {
                // SAFETY: as above; a block that was moved is not used again.
                unsafe {
                    let block = memory.alloc(layout(from));
                    for i in 0..from {
                        block.add(i).write(i as u8);
                    }
                    let moved = memory.realloc(block, layout(from), to);
                    assert!((0..from.min(to)).all(|i| moved.add(i).read() == i as u8), "{from} to {to}");
                    assert_eq!(memory.current_bytes(), to);
                    memory.dealloc(moved, layout(to));
                }
            }
        }
    }

    #[test]
    fn the_peak_is_what_was_in_use_at_once() {
        let memory = Memory::new();
        // SAFETY: as above.
        unsafe {
            let [a, b] = [5 << 20, 1000].map(|size| (memory.alloc(layout(size)), layout(size)));
            memory.dealloc(a.0, a.1);
            let c = memory.alloc(layout(2000));
            assert_eq!(memory.peak_bytes(), (5 << 20) + 1000);
            memory.reset_peak();
            assert_eq!(memory.peak_bytes(), 3000);
            memory.dealloc(b.0, b.1);
            memory.dealloc(c, layout(2000));
        }
    }

    #[test]
    fn what_no_system_has_is_refused() {
        let memory = Memory::new();
        for size in [1 << 60, isize::MAX as usize - 63] {
            // SAFETY: nothing is given.
            assert!(unsafe { memory.alloc(layout(size)) }.is_null());
        }
        assert_eq!((memory.current_bytes(), memory.peak_bytes()), (0, 0));
    }
}
