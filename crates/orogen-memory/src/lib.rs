//! The allocator of Orogen's programs.
//!
//! Rasters are large, are filled once and are often read out of order. In pages of 4 KiB the first touch of each page
//! and the search for its address cost more than many kernels: hillshading 4096 x 4096 samples takes 1.6 times as long,
//! following water over 8192 x 8192 samples 1.5 times. So large blocks are asked of the system in huge pages, where it
//! has them (Linux); all else goes to the system's allocator. No crate does this: those that know huge pages reserve
//! them by settings from outside. Pages that the system gives for the first time are cleared by it, and on virtual machines
//! fetched from the host, which makes work on large maps up to a half slower; so dropped blocks are kept for the next,
//! whatever its size, no more in all than were in use at once.
//!
//! It also counts the bytes in use, for the manifest and for tests of readers.

mod per_thread;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

pub use per_thread::PerThread;

/// The global allocator; programs declare one, libraries none.
#[derive(Debug)]
pub struct Memory {
    current: AtomicUsize,
    peak: AtomicUsize,
    /// The most that were ever in use at once.
    highest: AtomicUsize,
    kept: Mutex<Kept>,
}

impl Default for Memory {
    fn default() -> Self {
        Self::new()
    }
}

impl Memory {
    /// An allocator that has given nothing yet.
    pub const fn new() -> Self {
        Self {
            current: AtomicUsize::new(0),
            peak: AtomicUsize::new(0),
            highest: AtomicUsize::new(0),
            kept: Mutex::new(Kept { blocks: [(0, 0); MOST_KEPT], count: 0, bytes: 0 }),
        }
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
                self.highest.fetch_max(before + bytes, Ordering::Relaxed);
            }
        }
        block
    }
}

/// Most blocks kept.
const MOST_KEPT: usize = 256;
/// Smaller blocks come and go so fast that the system still holds their pages.
const LEAST_KEPT: usize = 8 << 20;

/// Large blocks that were dropped, the oldest first. The system may take their pages when it is short of memory.
#[derive(Debug)]
struct Kept {
    /// Address and bytes of the first `count`.
    blocks: [(usize, usize); MOST_KEPT],
    count: usize,
    bytes: usize,
}

impl Kept {
    /// A block of so many bytes and how many of its first ones were used before. Best is one just as large, then the
    /// smallest that is larger, whose rest stays, then the largest of all, to which is added.
    fn take(&mut self, bytes: usize) -> Option<(*mut u8, usize)> {
        let waste = |&(place, size): &(usize, usize)| match size.checked_sub(bytes) {
            Some(over) => (0, over, usize::MAX - place),
            None => (1, bytes - size, usize::MAX - place),
        };
        let sizes = self.blocks[..self.count].iter().map(|block| block.1).enumerate();
        let best = sizes.min_by_key(waste)?.0;
        let (block, size) = self.remove(best);
        let block = block as *mut u8;
        if size < bytes {
            // SAFETY: it came by `keep`, and nobody else knows of it.
            let grown = unsafe { large::resize(block, size, bytes) };
            if grown.is_null() {
                // SAFETY: as above; all is as it was.
                unsafe { large::unmap(block, size) };
                return None;
            }
            return Some((grown, size));
        }
        // SAFETY: the rest lies within the block.
        unsafe {
            let rest = large::cut(block, size, bytes);
            if rest > 0 {
                self.push(block.add(size - rest), rest);
            }
        }
        Some((block, bytes))
    }

    fn push(&mut self, block: *mut u8, bytes: usize) {
        self.blocks[self.count] = (block as usize, bytes);
        self.count += 1;
        self.bytes += bytes;
    }

    fn remove(&mut self, place: usize) -> (usize, usize) {
        let block = self.blocks[place];
        self.blocks.copy_within(place + 1..self.count, place);
        self.count -= 1;
        self.bytes -= block.1;
        block
    }

    /// Gives up the oldest until there are no more than `most` bytes.
    fn trim(&mut self, most: usize) {
        while self.bytes > most {
            let (oldest, bytes) = self.remove(0);
            // SAFETY: it came by `keep`.
            unsafe { large::unmap(oldest as *mut u8, bytes) };
        }
    }

    /// Keeps a block if all together are no more than `most` bytes, and gives up the oldest for it.
    ///
    /// # Safety
    /// The block is from [`large::map`], and nobody uses it.
    unsafe fn keep(&mut self, block: *mut u8, bytes: usize, most: usize) {
        if bytes > most || bytes < LEAST_KEPT {
            // SAFETY: as the caller says.
            unsafe { large::unmap(block, bytes) };
            return;
        }
        self.trim(most - bytes);
        if self.count == MOST_KEPT {
            self.trim(self.bytes - 1);
        }
        // SAFETY: as the caller says.
        unsafe { large::spare(block, bytes) };
        self.push(block, bytes);
    }
}

impl Memory {
    /// Bytes that may be kept beside so many in use: together no more than were ever in use at once.
    fn room(&self, in_use: usize) -> usize {
        self.highest.load(Ordering::Relaxed).saturating_sub(in_use)
    }

    /// A large block, and how many of its first bytes may be other than zero. If the kept ones are locked, it is a fresh one.
    fn large(&self, bytes: usize) -> (*mut u8, usize) {
        if let Ok(mut kept) = self.kept.try_lock() {
            let taken = if bytes < LEAST_KEPT { None } else { kept.take(bytes) };
            kept.trim(self.room(self.current_bytes() + bytes));
            if let Some(taken) = taken {
                return taken;
            }
        }
        (large::map(bytes), 0)
    }
}

// SAFETY: a layout alone decides whether a block is large or the system allocator's, and how many bytes it has, so each
// gets back what it gave.
unsafe impl GlobalAlloc for Memory {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let block = match large::bytes(layout) {
            Some(bytes) => self.large(bytes).0,
            // SAFETY: the caller keeps the contract, which is passed on.
            None => unsafe { System.alloc(layout) },
        };
        self.given(block, layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        let block = match large::bytes(layout) {
            Some(bytes) => {
                let (block, used) = self.large(bytes);
                // SAFETY: the block has at least as many bytes.
                unsafe { block.write_bytes(0, used.min(layout.size())) };
                block
            }
            // SAFETY: as above.
            None => unsafe { System.alloc_zeroed(layout) },
        };
        self.given(block, layout.size())
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        let in_use = self.current.fetch_sub(layout.size(), Ordering::Relaxed) - layout.size();
        let Some(bytes) = large::bytes(layout) else {
            // SAFETY: as above; a block of this layout is the system allocator's.
            unsafe { System.dealloc(block, layout) };
            return;
        };
        match self.kept.try_lock() {
            // SAFETY: a block of this layout is from `large`, and the caller is done with it.
            Ok(mut kept) => unsafe { kept.keep(block, bytes, self.room(in_use)) },
            // SAFETY: as above.
            Err(_) => unsafe { large::unmap(block, bytes) },
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

    /// Lets the system have the pages of a block when it is short of memory; until then they stay.
    ///
    /// # Safety
    /// `block` is from [`map`] with as many bytes, and what is in it is of no use to anybody.
    pub unsafe fn spare(block: *mut u8, bytes: usize) {
        // SAFETY: the mapping of `block` is this long. Refused by old systems, which costs memory only.
        unsafe { libc::madvise(block.cast(), bytes, libc::MADV_FREE) };
    }

    /// Makes a block of `from` bytes one of `to`. How many of its last bytes are left as a large block, which starts on a huge
    /// page too; what is between them, or too little for one, is given back.
    ///
    /// # Safety
    /// `block` is from [`map`] with `from` bytes, no fewer than `to`, and nobody uses it.
    pub unsafe fn cut(block: *mut u8, from: usize, to: usize) -> usize {
        let rest = from.checked_sub(to.next_multiple_of(HUGE)).filter(|&rest| rest >= LARGE).unwrap_or(0);
        if from - rest > to {
            // SAFETY: this lies within the block and is not part of what stays.
            unsafe { unmap(block.add(to), from - rest - to) };
        }
        rest
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

    pub unsafe fn spare(_: *mut u8, _: usize) {}

    pub unsafe fn cut(_: *mut u8, _: usize, _: usize) -> usize {
        0
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
    fn dropped_blocks_are_kept_within_bounds() {
        let memory = Memory::new();
        let sizes: Vec<usize> = (0..40).map(|i| (4 << 20) + i * (1 << 20)).collect();
        // SAFETY: as above.
        unsafe {
            let blocks: Vec<*mut u8> = sizes.iter().map(|&size| memory.alloc(layout(size))).collect();
            for (&block, &size) in blocks.iter().zip(&sizes) {
                memory.dealloc(block, layout(size));
                let kept = memory.kept.lock().expect("nobody panicked");
                assert!(kept.bytes + memory.current_bytes() <= memory.peak_bytes());
                assert_eq!(kept.bytes, kept.blocks[..kept.count].iter().map(|block| block.1).sum::<usize>());
            }
        }
        let kept = memory.kept.lock().expect("nobody panicked");
        assert!(cfg!(not(target_os = "linux")) || kept.count > 0);
    }

    #[test]
    fn kept_blocks_serve_others_of_any_size() {
        let memory = Memory::new();
        let mut held: Vec<(*mut u8, usize)> = Vec::new();
        // Sizes that jump about, each block filled with a number of its own.
        for i in 0..400usize {
            let size = (4 << 20) + (i * 7_919 % 61) * 700_001;
            // SAFETY: as above; blocks that are held are read within their sizes and given back once.
            unsafe {
                let block = memory.alloc_zeroed(layout(size));
                let bytes = std::slice::from_raw_parts_mut(block, size);
                assert!(bytes.iter().step_by(997).chain(bytes.last()).all(|&byte| byte == 0), "{i}");
                bytes.fill(i as u8 | 1);
                held.push((block, size));
                if i % 3 > 0 {
                    let (block, size) = held.swap_remove(i * 31 % held.len());
                    let bytes = std::slice::from_raw_parts(block, size);
                    assert!(bytes.iter().all(|byte| *byte == bytes[0]), "{i}");
                    memory.dealloc(block, layout(size));
                }
            }
            let kept = memory.kept.lock().expect("nobody panicked");
            assert!(kept.bytes + memory.current_bytes() <= memory.highest.load(Ordering::Relaxed));
            drop(kept);
            while held.len() > 12 {
                let (block, size) = held.remove(0);
                // SAFETY: as above.
                unsafe { memory.dealloc(block, layout(size)) };
            }
        }
        for (block, size) in held {
            // SAFETY: as above.
            unsafe { memory.dealloc(block, layout(size)) };
        }
        assert_eq!(memory.current_bytes(), 0);
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
