//! The allocator of the guest: it allocates memory front to back and frees only the last block.
//!
//! An instance serves one call, so memory need not be reused. An allocator that reuses memory is the largest function
//! of a guest and takes a third of the time of a staging request. No maintained crate does this little without a lock
//! or more code. `make bench` shows it in the rows 659 KB, and prints the size of both modules. The decoders bound the memory of a call; the end-to-end tests measure it.

use std::alloc::{GlobalAlloc, Layout};
use std::arch::wasm32::{memory_grow, memory_size};
use std::cell::Cell;
use std::ptr;

/// The unit in which memory grows.
const PAGE: usize = 65_536;

/// Free memory is between the addresses `next` and `end`; both are 0 before the first allocation.
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
        /// The address of this symbol is the end of the static data.
        static __heap_base: u8;
    }

    // SAFETY: wasm32-unknown-unknown without atomics has one thread.
    unsafe impl Sync for Heap {}

    // SAFETY: every block is between __heap_base and the end of memory, is aligned as requested, and overlaps no block
    // in use: `next` only decreases to the start of the last block, when that block is freed or shrunk.
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
            // SAFETY: the contract of the caller. A reused block is not zero.
            let block = unsafe { self.alloc(layout) };
            if !block.is_null() {
                // SAFETY: the block is ours and this long.
                unsafe { ptr::write_bytes(block, 0, layout.size()) };
            }
            block
        }

        unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
            // SAFETY: the caller guarantees that the new size is valid for this alignment.
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
    /// Allocates the first aligned block of this layout from a free address on; null if memory cannot grow enough.
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

    /// Grows memory up to this address and no further; false if that fails.
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
    fn growing_blocks_keep_their_content() {
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
    fn blocks_are_aligned_and_zeroed_on_request() {
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
