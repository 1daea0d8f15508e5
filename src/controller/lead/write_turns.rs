//! Waits for the budget of writes.

use std::future::pending;
use std::sync::Mutex;

use tokio::sync::{Notify, oneshot};
use tokio::time::{Instant, sleep};

use super::write_budget::{WriteBudget, WriteQueue};
use crate::controller::locking::lock;

/// The writes that wait for the budget.
pub(super) struct WriteTurns {
    queue: Mutex<WriteQueue<oneshot::Sender<()>>>,
    /// One more waits.
    asked: Notify,
    /// Held by the one of those that wait that serves all of them.
    serves: tokio::sync::Mutex<()>,
}

impl WriteTurns {
    pub(crate) fn new(budget: WriteBudget) -> Self {
        Self {
            queue: Mutex::new(WriteQueue::new(budget)),
            asked: Notify::new(),
            serves: tokio::sync::Mutex::default(),
        }
    }

    /// Waits until a write to this namespace may be sent.
    pub(crate) async fn take(&self, namespace: &str) {
        let (turn, is_next) = oneshot::channel();
        lock(&self.queue).push(namespace, turn);
        self.asked.notify_one();
        tokio::select! {
            biased;
            _ = is_next => {}
            () = self.serve() => {}
        }
    }

    /// Serves all that wait, while the caller waits too.
    async fn serve(&self) {
        let _serves = self.serves.lock().await;
        loop {
            let next = lock(&self.queue).next(Instant::now());
            match next {
                // Some may wait no more: that write is lost.
                Ok(turn) => _ = turn.send(()),
                Err(Some(wait)) => tokio::select! {
                    () = sleep(wait) => {}
                    () = self.asked.notified() => {}
                },
                // The caller was served.
                Err(None) => pending().await,
            }
        }
    }
}
