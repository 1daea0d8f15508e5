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
pub(super) enum ConnectionStage {
    /// It has not had a request under a valid path yet.
    New,
    /// Its last request is answered.
    Idle,
    /// A body is being read.
    Reading,
    /// A request is being decided: the client waits for the server.
    Deciding,
}

/// The handle of one connection.
#[derive(Clone, Debug)]
pub(super) struct OpenConnection(Arc<Mutex<(ConnectionStage, Instant)>>);

/// All connections.
#[derive(Debug)]
pub(super) struct Connections {
    bound: usize,
    tasks: JoinSet<()>,
    seated: HashMap<Id, (OpenConnection, AbortHandle)>,
}

/// The outcome for a new connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Placement {
    /// There was a free place.
    Free,
    /// Another connection was closed for it.
    InPlaceOfAnother,
    /// All others are being answered, so the new one was closed.
    Full,
}

impl OpenConnection {
    fn new() -> Self {
        Self(Arc::new(Mutex::new((ConnectionStage::New, Instant::now()))))
    }

    /// Enters a stage.
    pub(super) fn enter(&self, stage: ConnectionStage) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = (stage, Instant::now());
    }

    fn standing(&self) -> (ConnectionStage, Instant) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// True iff the connection has had a request under a valid path.
    pub(super) fn is_known(&self) -> bool {
        self.standing().0 != ConnectionStage::New
    }
}

impl Connections {
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
    pub(super) fn seat<F>(&mut self, serve: impl FnOnce(OpenConnection) -> F) -> Placement
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let mut seated = Placement::Free;
        if self.count() >= self.bound {
            if !self.evict() {
                return Placement::Full;
            }
            seated = Placement::InPlaceOfAnother;
        }
        let connection = OpenConnection::new();
        let handle = self.tasks.spawn(serve(connection.clone()));
        self.seated.insert(handle.id(), (connection, handle));
        seated
    }

    /// Closes the most dispensable connection; false iff there is none.
    pub(super) fn evict(&mut self) -> bool {
        let standings = self
            .seated
            .iter()
            .map(|(id, (connection, _))| (*id, connection.standing()));
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
fn first_to_go<T: Copy>(standings: &[(T, (ConnectionStage, Instant))], strangers: usize, now: Instant) -> Option<T> {
    let oldest = |stage: ConnectionStage| {
        let standings = standings.iter().filter(|(_, standing)| standing.0 == stage);
        standings.min_by_key(|(_, standing)| standing.1)
    };
    let of_strangers = standings
        .iter()
        .filter(|(_, standing)| standing.0 == ConnectionStage::New);
    let reading = oldest(ConnectionStage::Reading);
    let slow = reading.filter(|(_, (_, since))| now.duration_since(*since) >= SLOW);
    let known = || slow.or_else(|| oldest(ConnectionStage::Idle)).or(reading);
    let first = match of_strangers.count() {
        count if count > strangers => oldest(ConnectionStage::New),
        _ => known().or_else(|| oldest(ConnectionStage::New)),
    };
    first.map(|(connection, _)| *connection)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::Instant;

    use super::{ConnectionStage, Connections, Placement, first_to_go};

    #[tokio::test]
    async fn first_to_go_kept_the_server_waiting_for_longest() {
        use ConnectionStage::{Deciding, Idle, New, Reading};
        let begin = Instant::now();
        let goes = |standings: &[(ConnectionStage, u64)]| {
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
            (&[(New, 2), (New, 1)], Some(1)),
            (&[(New, 0), (New, 1), (Reading, 9)], Some(2)),
            (&[(New, 9), (New, 8), (New, 7), (Idle, 0)], Some(2)),
        ] {
            assert_eq!(goes(standings), expected, "{standings:?}");
        }
    }

    #[tokio::test]
    async fn seat_when_all_are_taken_is_that_of_a_stranger() {
        let mut connections = Connections::new(2);
        let known = |connection: super::OpenConnection| async move {
            connection.enter(ConnectionStage::Deciding);
            std::future::pending::<()>().await;
        };
        let stranger = |_| std::future::pending();
        assert_eq!(connections.seat(known), Placement::Free);
        assert_eq!(connections.seat(stranger), Placement::Free);
        tokio::task::yield_now().await;
        assert_eq!(connections.seat(known), Placement::InPlaceOfAnother);
        // The end of the closed connection does not free the place of its successor.
        connections.left().await;
        tokio::task::yield_now().await;
        assert_eq!((connections.count(), connections.seat(stranger)), (2, Placement::Full));
    }
}
