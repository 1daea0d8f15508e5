//! The open connections, and which of them is closed for a new one.
//!
//! A semaphore is shorter. With it, as many clients as there are places, each of which sends half of a request, keep
//! all others waiting until their time ends: `connections_that_are_slow_make_way_for_a_valid_request`.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::task::{AbortHandle, Id, JoinSet};
use tokio::time::Instant;

/// The time that a connection may take to send a body before it may be closed. A body of the usual length comes in one
/// piece, and one of 6 MiB in a moment.
const SLOW: Duration = Duration::from_secs(1);

/// The stage of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum GuestStage {
    /// It has not had a request under a valid path yet.
    Stranger,
    /// Its last request is answered.
    Idle,
    /// A body is being read.
    Reading,
    /// A request is being decided: the client waits for the server.
    Deciding,
}

/// The handle of one connection.
#[derive(Clone, Debug)]
pub(super) struct Guest(Arc<Mutex<(GuestStage, Instant)>>);

/// All connections.
#[derive(Debug)]
pub(super) struct Guests {
    bound: usize,
    tasks: JoinSet<()>,
    seated: HashMap<Id, (Guest, AbortHandle)>,
}

/// The outcome for a new connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Seated {
    /// There was a free place.
    Free,
    /// Another connection was closed for it.
    InPlaceOfAnother,
    /// All others are being answered, so the new one was closed.
    Nowhere,
}

impl Guest {
    fn new() -> Self {
        Self(Arc::new(Mutex::new((GuestStage::Stranger, Instant::now()))))
    }

    /// Enters a stage.
    pub(super) fn enters(&self, stage: GuestStage) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = (stage, Instant::now());
    }

    fn standing(&self) -> (GuestStage, Instant) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// True iff the connection has had a request under a valid path.
    pub(super) fn is_known(&self) -> bool {
        self.standing().0 != GuestStage::Stranger
    }
}

impl Guests {
    pub(super) fn new(bound: usize) -> Self {
        Self {
            bound,
            tasks: JoinSet::new(),
            seated: HashMap::new(),
        }
    }

    /// The number of connections.
    pub(super) fn count(&self) -> usize {
        self.seated.len()
    }

    /// Serves a new connection.
    pub(super) fn seat<F>(&mut self, serve: impl FnOnce(Guest) -> F) -> Seated
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let mut seated = Seated::Free;
        if self.count() >= self.bound {
            if !self.evict() {
                return Seated::Nowhere;
            }
            seated = Seated::InPlaceOfAnother;
        }
        let guest = Guest::new();
        let handle = self.tasks.spawn(serve(guest.clone()));
        self.seated.insert(handle.id(), (guest, handle));
        seated
    }

    /// Closes the most dispensable connection; false iff there is none.
    pub(super) fn evict(&mut self) -> bool {
        let standings = self.seated.iter().map(|(id, (guest, _))| (*id, guest.standing()));
        let standings: Vec<_> = standings.collect();
        let Some(id) = first_to_go(&standings, self.bound / 4, Instant::now()) else {
            return false;
        };
        if let Some((_, handle)) = self.seated.remove(&id) {
            handle.abort();
        }
        true
    }

    /// Completes when a connection has ended; never if there is none.
    pub(super) async fn left(&mut self) {
        match self.tasks.join_next_with_id().await {
            Some(Ok((id, ()))) => drop(self.seated.remove(&id)),
            Some(Err(error)) => drop(self.seated.remove(&error.id())),
            None => std::future::pending().await,
        }
    }

    /// Completes when all connections have ended.
    pub(super) async fn all_left(&mut self) {
        while self.tasks.join_next().await.is_some() {}
    }
}

/// The connection that has kept the server waiting for longest: among strangers, if there are more than `strangers`;
/// else among those that send a body slowly, then those that are idle, then those that send a body. So a new connection
/// has some time to become known, whoever has the other places, and an API server finds the connection open that it
/// keeps for its next request. A connection that is being answered is never closed.
fn first_to_go<T: Copy>(standings: &[(T, (GuestStage, Instant))], strangers: usize, now: Instant) -> Option<T> {
    let oldest = |stage: GuestStage| {
        let standings = standings.iter().filter(|(_, standing)| standing.0 == stage);
        standings.min_by_key(|(_, standing)| standing.1)
    };
    let of_strangers = standings
        .iter()
        .filter(|(_, standing)| standing.0 == GuestStage::Stranger);
    let reading = oldest(GuestStage::Reading);
    let slow = reading.filter(|(_, (_, since))| now.duration_since(*since) >= SLOW);
    let known = || slow.or_else(|| oldest(GuestStage::Idle)).or(reading);
    let first = match of_strangers.count() {
        count if count > strangers => oldest(GuestStage::Stranger),
        _ => known().or_else(|| oldest(GuestStage::Stranger)),
    };
    first.map(|(guest, _)| *guest)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::Instant;

    use super::{GuestStage, Guests, Seated, first_to_go};

    #[tokio::test]
    async fn first_to_go_kept_the_server_waiting_for_longest() {
        use GuestStage::{Deciding, Idle, Reading, Stranger};
        let begin = Instant::now();
        let goes = |standings: &[(GuestStage, u64)]| {
            let standings = standings.iter().enumerate();
            let standings =
                standings.map(|(index, (stage, since))| (index, (*stage, begin + Duration::from_secs(*since))));
            first_to_go(&standings.collect::<Vec<_>>(), 2, begin + Duration::from_secs(10))
        };
        for (standings, expected) in [
            (&[][..], None),
            (&[(Deciding, 0), (Deciding, 1)], None),
            (&[(Deciding, 0), (Reading, 9)], Some(1)),
            (&[(Reading, 2), (Reading, 1)], Some(1)),
            (&[(Reading, 10), (Idle, 9)], Some(1)),
            (&[(Reading, 9), (Idle, 0)], Some(0)),
            (&[(Reading, 9), (Reading, 8), (Idle, 0)], Some(1)),
            (&[(Idle, 2), (Idle, 1), (Reading, 10)], Some(1)),
            (&[(Stranger, 2), (Stranger, 1)], Some(1)),
            (&[(Stranger, 0), (Stranger, 1), (Reading, 9)], Some(2)),
            (&[(Stranger, 9), (Stranger, 8), (Stranger, 7), (Idle, 0)], Some(2)),
        ] {
            assert_eq!(goes(standings), expected, "{standings:?}");
        }
    }

    #[tokio::test]
    async fn seat_when_all_are_taken_is_that_of_a_stranger() {
        let mut guests = Guests::new(2);
        let known = |guest: super::Guest| async move {
            guest.enters(GuestStage::Deciding);
            std::future::pending::<()>().await;
        };
        let stranger = |_| std::future::pending();
        assert_eq!(guests.seat(known), Seated::Free);
        assert_eq!(guests.seat(stranger), Seated::Free);
        tokio::task::yield_now().await;
        assert_eq!(guests.seat(known), Seated::InPlaceOfAnother);
        // The end of the closed connection does not free the place of its successor.
        guests.left().await;
        tokio::task::yield_now().await;
        assert_eq!((guests.count(), guests.seat(stranger)), (2, Seated::Nowhere));
    }
}
