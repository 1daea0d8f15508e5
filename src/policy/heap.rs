//! The guest's allocator: memory is handed out front to back, and only what was handed out last is ever taken back.
//!
//! An instance lives for one call, so nothing has to be reused, and an allocator that could is the largest function of
//! a guest and a third of the time of a divert. No crate that is looked after does this little without a lock or more
//! code. How much a call takes is bounded by what the readers keep: the end-to-end tests measure it.

use std::alloc::{GlobalAlloc, Layout};
use std::arch::wasm32::{memory_grow, memory_size};
use std::cell::Cell;
use std::ptr;

/// What memory grows by.
const PAGE: usize = 65_536;

/// Addresses: what is free lies between `next` and `end`; both are 0 before the first allocation.
struct Heap {
    next: Cell<usize>,
    end: Cell<usize>,
}

#[global_allocator]
static HEAP: Heap = Heap {
    next: Cell::new(0),
    end: Cell::new(0),
};

#[allow(unsafe_code)]
mod unsafety {
    use super::{GlobalAlloc, Heap, Layout, PAGE, memory_size, ptr};

    unsafe extern "C" {
        /// Where the linker's own data end; only its address means something.
        static __heap_base: u8;
    }

    // SAFETY: wasm32-unknown-unknown without atomics has one thread.
    unsafe impl Sync for Heap {}

    // SAFETY: every block lies between __heap_base and the end of memory, is aligned as asked, and overlaps no other that
    // has not been freed: `next` only goes back to the beginning of the last block when that one is freed or shrunk.
    unsafe impl GlobalAlloc for Heap {
        #[inline]
        unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
            if self.end.get() == 0 {
                self.next.set(&raw const __heap_base as usize);
                self.end.set(memory_size(0).saturating_mul(PAGE));
            }
            self.take(self.next.get(), layout)
        }

        #[inline]
        unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
            if block as usize + layout.size() == self.next.get() {
                self.next.set(block as usize);
            }
        }

        unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
            // SAFETY: as the caller's. What was freed and is handed out again is not zero.
            let block = unsafe { self.alloc(layout) };
            if !block.is_null() {
                // SAFETY: the block is ours and this long.
                unsafe { ptr::write_bytes(block, 0, layout.size()) };
            }
            block
        }

        unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
            // SAFETY: the caller says that the new size is valid for this alignment.
            let wanted = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
            if block as usize + layout.size() == self.next.get() {
                return self.take(block as usize, wanted);
            }
            if size <= layout.size() {
                return block;
            }
            // SAFETY: the new block is longer than the old one and does not overlap it.
            unsafe {
                let new = self.alloc(wanted);
                if !new.is_null() {
                    ptr::copy_nonoverlapping(block, new, layout.size());
                }
                new
            }
        }
    }
}

impl Heap {
    /// The first aligned block of this layout from an address on that is free; null if memory cannot grow so far.
    #[inline]
    fn take(&self, from: usize, layout: Layout) -> *mut u8 {
        let Some(start) = from.checked_next_multiple_of(layout.align()) else {
            return ptr::null_mut();
        };
        let Some(next) = start.checked_add(layout.size()) else {
            return ptr::null_mut();
        };
        if next > self.end.get() && !self.grow(next) {
            return ptr::null_mut();
        }
        self.next.set(next);
        start as *mut u8
    }

    /// Grows memory to hold this address, by no more than that takes; false if it cannot.
    #[cold]
    fn grow(&self, next: usize) -> bool {
        let missing = (next - self.end.get()).div_ceil(PAGE);
        if memory_grow(0, missing) == usize::MAX {
            return false;
        }
        self.end.set(memory_size(0).saturating_mul(PAGE));
        true
    }
}

#[cfg(test)]
mod tests {
    use wasm_bindgen_test::wasm_bindgen_test;

    #[wasm_bindgen_test]
    fn blocks_do_not_overlap_and_keep_their_content_while_they_grow() {
        let mut texts: Vec<String> = vec![String::new(); 7];
        for round in 0..2000_usize {
            let index = round * 5 % texts.len();
            texts[index].push_str(&round.to_string());
            if round % 97 == 0 {
                texts[index].shrink_to_fit();
            }
        }
        for (index, text) in texts.iter().enumerate() {
            let rounds = (0..2000_usize).filter(|round| round * 5 % 7 == index);
            assert_eq!(*text, rounds.map(|round| round.to_string()).collect::<String>());
        }
    }

    #[wasm_bindgen_test]
    fn blocks_are_aligned_and_zeroed_where_that_is_asked() {
        let odd = vec![1_u8; 3];
        let aligned = vec![0_u128; 5];
        assert_eq!(aligned.as_ptr() as usize % align_of::<u128>(), 0);
        drop(odd);
        let mut dirty = vec![0xAA_u8; 4096];
        dirty.truncate(0);
        drop(dirty);
        assert_eq!(vec![0_u8; 4096], [0; 4096]);
        assert_eq!(aligned, [0; 5]);
    }
}
