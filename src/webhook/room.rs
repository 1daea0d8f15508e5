//! Room for bodies: bytes that all requests share.
//!
//! A count of requests would be a bad measure: a review may have two kilobytes or eight million bytes. Large bodies
//! leave a fifth of the room to small ones, so that a client that sends large bodies cannot block the others.

use std::sync::atomic::Ordering;

use super::metrics::Bytes;

/// All bytes, and those in use.
#[derive(Clone, Debug)]
pub(super) struct Room {
    all: usize,
    used: Bytes,
}

/// A part of the room; released when dropped.
#[derive(Debug)]
pub(super) struct Reservation {
    room: Room,
    bytes: usize,
}

/// There is no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Full;

impl Room {
    /// A room of this size; `used` counts the bytes in use.
    pub(super) fn new(bytes: usize, used: Bytes) -> Self {
        Self { all: bytes, used }
    }

    /// A reservation of no bytes yet.
    pub(super) fn reservation(&self) -> Reservation {
        Reservation {
            room: self.clone(),
            bytes: 0,
        }
    }

    /// The number of bytes in use.
    pub(super) fn used(&self) -> u64 {
        self.used.get()
    }

    /// The longest body that may have the last fifth: 256 KiB of 40 MiB. Most reviews are shorter.
    pub(super) fn small(&self) -> usize {
        self.all / 160
    }

    /// The least room for a decision, however short its body is: 64 KiB of 40 MiB.
    pub(super) fn decision(&self) -> usize {
        self.all / 640
    }

    /// The bound on all bytes in use for a reservation of this size.
    fn bound(&self, bytes: usize) -> u64 {
        let large = if bytes <= self.small() { 0 } else { self.all / 5 };
        (self.all - large) as u64
    }
}

impl Reservation {
    /// The room of this reservation.
    pub(super) fn room(&self) -> &Room {
        &self.room
    }

    /// Grows the reservation to this size; it never shrinks.
    ///
    /// # Errors
    /// [`Full`], and the reservation stays as it is.
    pub(super) fn grow(&mut self, bytes: usize) -> Result<(), Full> {
        let Some(more) = bytes.checked_sub(self.bytes) else {
            return Ok(());
        };
        let bound = self.room.bound(bytes);
        let taken = |used: u64| used.checked_add(more as u64).filter(|used| *used <= bound);
        let used = self.room.used.inner();
        used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, taken)
            .map_err(|_| Full)?;
        self.bytes = bytes;
        Ok(())
    }

    /// Checks whether the reservation could grow to this size now.
    ///
    /// # Errors
    /// [`Full`] if it could not.
    pub(super) fn could_grow(&self, bytes: usize) -> Result<(), Full> {
        let more = bytes.saturating_sub(self.bytes) as u64;
        if self.room.used().saturating_add(more) <= self.room.bound(bytes) {
            Ok(())
        } else {
            Err(Full)
        }
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.room.used.dec_by(self.bytes as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::{Bytes, Full, Room};

    #[test]
    fn large_parts_full_room_leave_a_fifth_to_small_ones() {
        let room = Room::new(16_000, Bytes::default());
        assert_eq!((room.small(), room.decision()), (100, 25));
        let mut large = room.reservation();
        assert_eq!(large.grow(12_801), Err(Full));
        assert_eq!((large.grow(12_800), room.used()), (Ok(()), 12_800));
        let mut other = room.reservation();
        for (bytes, expected, used) in [
            (101, Err(Full), 12_800),
            (60, Ok(()), 12_860),
            (100, Ok(()), 12_900),
            (40, Ok(()), 12_900),
            (101, Err(Full), 12_900),
        ] {
            assert_eq!(other.could_grow(bytes), expected, "{bytes}");
            assert_eq!((other.grow(bytes), room.used()), (expected, used), "{bytes}");
        }
        let small: Vec<_> = std::iter::repeat_with(|| {
            let mut reservation = room.reservation();
            reservation.grow(100).map(|()| reservation)
        })
        .take_while(Result::is_ok)
        .collect();
        assert_eq!((small.len(), room.used()), (31, 16_000), "room for 32 small ones");
        drop((large, small));
        assert_eq!(room.used(), 100);
        assert_eq!(other.grow(usize::MAX), Err(Full));
        drop(other);
        assert_eq!(room.used(), 0);
    }
}
