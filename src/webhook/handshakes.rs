//! Orders TLS handshakes: one at a time, and one address after the other.
//!
//! A handshake costs the server much more than it costs a malicious client. Without an order, a thousand handshakes
//! would come before a request on an open connection, and before the handshake of a later client.

use std::collections::HashMap;
use std::future::poll_fn;
use std::net::IpAddr;
use std::pin::pin;
use std::sync::{Arc, Mutex as Lock, PoisonError};
use std::task::Poll;

use tokio::sync::{Mutex, MutexGuard, OwnedMutexGuard};
use tokio::task::yield_now;

/// The handshakes of a server. The locks are fair: first come, first served.
#[derive(Debug, Default)]
pub(super) struct Handshakes {
    one: Mutex<()>,
    /// The handshakes of an address wait for each other here, so that only one of them at a time waits for `one`.
    addresses: Lock<HashMap<IpAddr, Arc<Mutex<()>>>>,
}

/// The right to take one step.
#[derive(Debug)]
pub(super) struct HandshakeTurn<'a> {
    _one: MutexGuard<'a, ()>,
    _address: OwnedMutexGuard<()>,
}

impl Handshakes {
    /// Runs the handshake of a client at this address. Each step takes a turn, so that a client that stops in the
    /// middle blocks nobody.
    pub(super) async fn step_by_step<T>(&self, address: IpAddr, handshake: impl Future<Output = T>) -> T {
        let mut handshake = pin!(handshake);
        loop {
            let turn = self.turn(address).await;
            // Other ready tasks run before the next step, even on a single thread.
            yield_now().await;
            let step = poll_fn(|context| Poll::Ready(handshake.as_mut().poll(context))).await;
            if let Poll::Ready(done) = step {
                return done;
            }
            drop(turn);
            notified().await;
        }
    }

    /// Waits for a turn.
    pub(super) async fn turn(&self, address: IpAddr) -> HandshakeTurn<'_> {
        let address = self.of(address).lock_owned().await;
        HandshakeTurn {
            _one: self.one.lock().await,
            _address: address,
        }
    }

    fn of(&self, address: IpAddr) -> Arc<Mutex<()>> {
        let mut addresses = self.addresses.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = addresses.get(&address) {
            return Arc::clone(known);
        }
        addresses.retain(|_, waiting| Arc::strong_count(waiting) > 1);
        Arc::clone(addresses.entry(address).or_default())
    }
}

/// Completes when the task is notified. Notifications of the poll just before are not missed: nothing ran since.
async fn notified() {
    let mut is_later = false;
    poll_fn(|_| {
        if std::mem::replace(&mut is_later, true) {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    })
    .await;
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};
    use std::sync::{Arc, Mutex};
    use std::time::Duration;

    use tokio::task::{JoinSet, yield_now};
    use tokio::time::timeout;

    use super::Handshakes;

    fn address(last: u8) -> IpAddr {
        Ipv4Addr::new(10, 0, 0, last).into()
    }

    /// The order of steps and requests: a hundred handshakes of two steps from 10.0.0.1, then one from 10.0.0.2, then a
    /// request, all of them ready at once on one thread.
    async fn order() -> Vec<String> {
        let handshakes = Arc::new(Handshakes::default());
        let order = Arc::new(Mutex::new(Vec::new()));
        let mut tasks = JoinSet::new();
        let clients = std::iter::repeat_n(1, 100).chain([2]);
        for (number, last) in clients.enumerate() {
            let (handshakes, order) = (Arc::clone(&handshakes), Arc::clone(&order));
            tasks.spawn(async move {
                let steps = async {
                    for step in ["begins", "ends"] {
                        order.lock().unwrap().push(format!("{last}.{number} {step}"));
                        yield_now().await;
                    }
                };
                handshakes.step_by_step(address(last), steps).await;
            });
        }
        let request = Arc::clone(&order);
        tasks.spawn(async move { request.lock().unwrap().push("request".to_owned()) });
        tasks.join_all().await;
        assert_eq!(handshakes.addresses.lock().unwrap().len(), 2);
        drop(handshakes.turn(address(3)).await);
        assert_eq!(
            handshakes.addresses.lock().unwrap().len(),
            1,
            "addresses without handshakes are dropped"
        );
        Arc::into_inner(order).unwrap().into_inner().unwrap()
    }

    #[tokio::test]
    async fn handshake_of_others_and_request_do_not_wait_for_many() {
        let order = order().await;
        assert_eq!(order.len(), 203, "all are complete: {order:?}");
        assert_eq!(order[..3], ["request", "1.0 begins", "2.100 begins"]);
        assert!(order[..10].contains(&"2.100 ends".to_owned()), "{order:?}");
    }

    #[tokio::test]
    async fn handshake_that_stops_midway_blocks_nobody() {
        let handshakes = Arc::new(Handshakes::default());
        let stopped = Arc::clone(&handshakes);
        let stopped = tokio::spawn(async move { stopped.step_by_step(address(1), std::future::pending::<()>()).await });
        yield_now().await;
        let other = timeout(Duration::from_secs(10), handshakes.step_by_step(address(1), async {})).await;
        assert_eq!((other.is_ok(), stopped.is_finished()), (true, false));
    }
}
