//! The allocator of Orogen's programs.
//!
//! Rasters are large, are filled once and are often read out of order. In pages of 4 KiB the first touch of each page
//! and the search for its address cost more than many kernels: hillshading 4096 x 4096 samples takes 1.6 times as long,
//! following water over 8192 x 8192 samples 1.5 times. So large blocks are asked of the system in huge pages, where it
//! has them (Linux); all else goes to the system's allocator. No crate does this: those that know huge pages reserve
//! them by settings from outside. Blocks that were dropped go back to the system at once: keeping them for the next spared
//! it little clearing, and pages it had at hand came back warmer than ours (contours took half as long again).
//!
//! It also counts the bytes in use, for the manifest and for tests of readers.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

/// The global allocator; programs declare one, libraries none.
#[derive(Debug)]
pub struct Memory {
    current: AtomicUsize,
    peak: AtomicUsize,
}

impl Default for Memory {
    fn default() -> Self {
        Self::new()
    }
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

// SAFETY: a layout alone decides whether a block is large or the system allocator's, and how many bytes it has, so each
// gets back what it gave.
unsafe impl GlobalAlloc for Memory {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let block = match large::bytes(layout) {
            Some(bytes) => large::map(bytes),
            // SAFETY: the caller keeps the contract, which is passed on.
            None => unsafe { System.alloc(layout) },
        };
        self.given(block, layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        let block = match large::bytes(layout) {
            Some(bytes) => large::map(bytes),
            // SAFETY: as above.
            None => unsafe { System.alloc_zeroed(layout) },
        };
        self.given(block, layout.size())
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        self.current.fetch_sub(layout.size(), Ordering::Relaxed);
        match large::bytes(layout) {
            // SAFETY: a block of this layout is from `large`, and the caller is done with it.
            Some(bytes) => unsafe { large::unmap(block, bytes) },
            // SAFETY: as above; a block of this layout is the system allocator's.
            None => unsafe { System.dealloc(block, layout) },
        }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller says that `size` makes a layout with this alignment.
        let wanted = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
        if let (Some(from), Some(to)) = (large::bytes(layout), large::bytes(wanted)) {
            // SAFETY: a block of this layout is from `large`, and the caller has no other use for it from now on.
            let moved = unsafe { large::resize(block, from, to) };
            if !moved.is_null() {
                self.current.fetch_sub(layout.size(), Ordering::Relaxed);
            }
            return self.given(moved, size);
        }
        if large::bytes(layout).is_some() || large::bytes(wanted).is_some() {
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

    /// Bytes of the block for a layout, if it is a large one.
    pub fn bytes(layout: Layout) -> Option<usize> {
        let is_large = layout.size() >= LARGE && layout.align() <= HUGE;
        is_large.then(|| layout.size().next_multiple_of(PAGE))
    }

    /// A zeroed block that starts on a huge page, or null.
    pub fn map(bytes: usize) -> *mut u8 {
        // No layout exceeds half the address space, so that this cannot overflow.
        let room = bytes + HUGE;
        // SAFETY: a private mapping anywhere touches no memory of ours; what lies outside the block is given back at once,
        // so that `unmap` need know the block only.
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

    /// The block with more or fewer bytes, elsewhere; its pages go with it, uncopied. Null, and all as it was, where the
    /// system refuses.
    ///
    /// # Safety
    /// `block` is from [`map`] with `from` bytes, and not used after, unless null came back.
    pub unsafe fn resize(block: *mut u8, from: usize, to: usize) -> *mut u8 {
        let place = map(to);
        if place.is_null() {
            return place;
        }
        // SAFETY: `place` is a mapping of our own of `to` bytes, which the moved pages take over.
        unsafe {
            let flags = libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED;
            if libc::mremap(block.cast(), from, to, flags, place) == libc::MAP_FAILED {
                // Whether the place was given up already is not known; it holds addresses, not memory.
                return null_mut();
            }
        }
        place
    }

    /// Gives a block back.
    ///
    /// # Safety
    /// `block` is from [`map`] with as many bytes, and nobody uses it.
    pub unsafe fn unmap(block: *mut u8, bytes: usize) {
        // SAFETY: the mapping of `block` is this long.
        unsafe { libc::munmap(block.cast(), bytes) };
    }
}

/// Elsewhere no block is large.
#[cfg(not(target_os = "linux"))]
mod large {
    use std::alloc::Layout;

    pub fn bytes(_: Layout) -> Option<usize> {
        None
    }

    pub fn map(_: usize) -> *mut u8 {
        std::ptr::null_mut()
    }

    pub unsafe fn resize(_: *mut u8, _: usize, _: usize) -> *mut u8 {
        std::ptr::null_mut()
    }

    pub unsafe fn unmap(_: *mut u8, _: usize) {}
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
                // What was dropped may come again, and must be zero again.
                let block = memory.alloc_zeroed(layout);
                assert!((0..layout.size()).all(|i| block.add(i).read() == 0));
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
