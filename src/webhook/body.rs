//! Reads bodies without trusting what they announce.

use std::time::Duration;

use http_body_util::BodyExt as _;
use hyper::body::{Body, Bytes};
use tokio::time::timeout;

use super::room::{Full, Reservation};

/// The time and the bytes for which an unread body is drained. Otherwise a client that still sends would be reset, and
/// never read the answer.
const DRAIN_TIME: Duration = Duration::from_secs(3);
const DRAIN_BYTES: usize = 16 * 1024 * 1024;
/// The initial capacity for a body.
const FIRST: usize = 4096;

/// The reason why a body is not read to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unread {
    /// It is longer than allowed.
    TooLong,
    /// There is no room for it now.
    NoRoom,
    /// The connection broke off.
    Broken,
}

impl From<Full> for Unread {
    fn from(_: Full) -> Self {
        Self::NoRoom
    }
}

/// Reads a body of at most `limit` bytes into reserved room.
///
/// A body with an announced length that is too long, or has no room, is denied at once. Room is reserved for received
/// bytes: a client that announces much and sends nothing reserves none. A body that has proved to be large reserves its
/// announced length at once, so that of many large bodies some are read to their end.
///
/// # Errors
/// [`Unread`]; the rest of the body is left where it is.
pub(super) async fn read<B>(body: &mut B, limit: usize, reservation: &mut Reservation) -> Result<Vec<u8>, Unread>
where
    B: Body<Data = Bytes> + Unpin,
{
    let announced = body.size_hint().exact().map(usize::try_from);
    let announced = announced.transpose().map_err(|_| Unread::TooLong)?;
    if let Some(length) = announced {
        if length > limit {
            return Err(Unread::TooLong);
        }
        reservation.could_grow(length)?;
    }
    let mut bytes = Vec::new();
    while let Some(frame) = body.frame().await {
        // Trailers are ignored.
        let Ok(data) = frame.map_err(|_| Unread::Broken)?.into_data() else {
            continue;
        };
        let length = bytes.len() + data.len();
        if length > limit {
            return Err(Unread::TooLong);
        }
        if length > bytes.capacity() {
            let capacity = capacity(length, announced, reservation.room().small()).min(limit);
            reservation.grow(capacity)?;
            bytes.reserve_exact(capacity - bytes.len());
        }
        bytes.extend_from_slice(&data);
    }
    Ok(bytes)
}

/// The room to reserve for this length.
fn capacity(length: usize, announced: Option<usize>, small: usize) -> usize {
    let doubled = length.next_power_of_two().max(FIRST);
    match announced {
        Some(announced) if length > small => announced.max(length),
        Some(announced) => doubled.min(announced.max(length)),
        None => doubled,
    }
}

/// Drains the rest of a body, within limits.
pub(super) async fn drain<B>(mut body: B)
where
    B: Body<Data = Bytes> + Unpin,
{
    let mut left = DRAIN_BYTES;
    let rest = async {
        while let Some(Ok(frame)) = body.frame().await {
            left = left.saturating_sub(frame.data_ref().map_or(0, Bytes::len));
            if left == 0 {
                return;
            }
        }
    };
    let _ = timeout(DRAIN_TIME, rest).await;
}

#[cfg(test)]
mod tests {
    use std::pin::Pin;
    use std::task::{Context, Poll};
    use std::time::Duration;

    use hyper::body::{Body, Bytes, Frame, SizeHint};
    use tokio::time::timeout;

    use super::{FIRST, Unread, capacity, drain, read};
    use crate::webhook::room::Room;

    /// A body of equal pieces; the announced length may be wrong.
    struct Pieces {
        count: usize,
        length: usize,
        announced: Option<u64>,
        /// Breaks off instead of ending.
        breaks: bool,
    }

    impl Body for Pieces {
        type Data = Bytes;
        type Error = ();

        fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, ()>>> {
            let Some(count) = self.count.checked_sub(1) else {
                return Poll::Ready(self.breaks.then_some(Err(())));
            };
            self.count = count;
            Poll::Ready(Some(Ok(Frame::data(vec![b'x'; self.length].into()))))
        }

        fn size_hint(&self) -> SizeHint {
            self.announced.map_or_else(SizeHint::default, SizeHint::with_exact)
        }
    }

    /// Reads with a limit of 10,000 in a room of 160,000 bytes; also returns the number of pieces that were left.
    async fn outcome(mut body: Pieces, taken: usize) -> (Result<usize, Unread>, usize) {
        let room = Room::new(160_000, Default::default());
        let mut others = room.reservation();
        others.grow(taken).unwrap();
        let mut reservation = room.reservation();
        let read = read(&mut body, 10_000, &mut reservation).await;
        drop(reservation);
        assert_eq!(room.used(), taken as u64, "the room is released");
        (read.map(|bytes| bytes.len()), body.count)
    }

    #[tokio::test]
    async fn read_body_beyond_a_bound_is_left_unread() {
        for (count, length, announced, taken, expected, left) in [
            (0, 0, None, 0, Ok(0), 0),
            (10, 1000, None, 0, Ok(10_000), 0),
            (10, 1000, Some(10_000), 0, Ok(10_000), 0),
            (11, 1000, None, 0, Err(Unread::TooLong), 0),
            (50, 1000, None, 0, Err(Unread::TooLong), 39),
            (50, 1000, Some(50_000), 0, Err(Unread::TooLong), 50),
            (1, 1000, Some(u64::MAX), 0, Err(Unread::TooLong), 1),
            (10, 1000, Some(10_000), 120_000, Err(Unread::NoRoom), 10),
            (10, 1000, None, 120_000, Err(Unread::NoRoom), 5),
            (1, 500, Some(500), 128_000, Ok(500), 0),
        ] {
            let body = Pieces {
                count,
                length,
                announced,
                breaks: false,
            };
            let case = format!("{count} of {length}, announced {announced:?}, {taken} taken");
            assert_eq!(outcome(body, taken).await, (expected, left), "{case}");
        }
        let broken = Pieces {
            count: 2,
            length: 10,
            announced: Some(30),
            breaks: true,
        };
        assert_eq!(outcome(broken, 0).await, (Err(Unread::Broken), 0));
    }

    #[tokio::test]
    async fn unread_body_is_drained_within_its_bounds() {
        for (count, left) in [(3, 0), (16, 0), (40, 24)] {
            let mut body = Pieces {
                count,
                length: 1 << 20,
                announced: None,
                breaks: false,
            };
            drain(&mut body).await;
            assert_eq!(body.count, left, "{count} MiB");
        }
    }

    /// A body of which nothing comes.
    struct Silent;

    impl Body for Silent {
        type Data = Bytes;
        type Error = ();

        fn poll_frame(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, ()>>> {
            Poll::Pending
        }
    }

    #[tokio::test]
    async fn silent_body_is_not_drained_for_ever() {
        let drained = timeout(Duration::from_secs(60), drain(Silent)).await;
        assert!(drained.is_ok());
    }

    #[test]
    fn capacity_announced_length_counts_when_much_has_come() {
        const MIB: usize = 1 << 20;
        for (length, announced, expected) in [
            (1, None, FIRST),
            (1, Some(MIB), FIRST),
            (1, Some(10), 10),
            (FIRST + 1, Some(MIB), 2 * FIRST),
            (1001 * 1024, Some(6 * MIB), 6 * MIB),
            (1001 * 1024, None, MIB),
        ] {
            assert_eq!(
                capacity(length, announced, 1000 * 1024),
                expected,
                "{length} {announced:?}"
            );
        }
    }
}
