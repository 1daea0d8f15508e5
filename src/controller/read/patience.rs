//! A time limit for calls that does not include the time in our own queue: a call that was not sent yet is not a call
//! without an answer.

use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::time::{Instant, timeout_at};

use crate::controller::locking::lock;

/// The timeout of one call, without its time in our own queue.
const CALL_TIMEOUT: Duration = Duration::from_secs(15);

/// A call took longer than [`CALL_TIMEOUT`].
#[derive(Debug, thiserror::Error)]
#[error("no response within {CALL_TIMEOUT:?}")]
struct Unanswered;

tokio::task_local! {
    static QUEUED: Arc<Mutex<Queued>>;
}

/// The time of a call in our queue.
#[derive(Debug, Default)]
struct Queued {
    since: Option<Instant>,
    before: Duration,
}

impl Queued {
    fn total(&self, now: Instant) -> Duration {
        self.before + self.since.map_or(Duration::ZERO, |since| now - since)
    }

    fn end(&mut self, now: Instant) {
        self.before = self.total(now);
        self.since = None;
    }
}

/// The call is in the queue until this is dropped.
struct InQueue(Arc<Mutex<Queued>>);

impl Drop for InQueue {
    fn drop(&mut self) {
        lock(&self.0).end(Instant::now());
    }
}

/// Waits for a call of the API with the timeout of one.
///
/// # Errors
/// That of the call, or that there was no response in time.
pub(crate) async fn answered<T>(call: impl Future<Output = kube::Result<T>>) -> kube::Result<T> {
    let answer = within(CALL_TIMEOUT, call).await;
    answer.unwrap_or_else(|| Err(kube::Error::Service(Unanswered.into())))
}

/// Waits for a call; `None` if it takes longer than `limit` without its time in a [`queue`].
async fn within<T>(limit: Duration, call: impl Future<Output = T>) -> Option<T> {
    let begun = Instant::now();
    let queued = Arc::<Mutex<Queued>>::default();
    let end = || begun + limit + lock(&queued).total(Instant::now());
    let mut call = pin!(QUEUED.scope(Arc::clone(&queued), call));
    let mut deadline = end();
    loop {
        if let Ok(answer) = timeout_at(deadline, &mut call).await {
            return Some(answer);
        }
        let later = end();
        if later <= deadline {
            return None;
        }
        deadline = later;
    }
}

/// Waits in a queue of ours.
pub(crate) async fn queue(wait: impl Future<Output = ()>) {
    let in_queue = QUEUED.try_with(|queued| {
        lock(queued).since = Some(Instant::now());
        InQueue(Arc::clone(queued))
    });
    wait.await;
    drop(in_queue);
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};
    use std::time::Duration;

    use tokio::time::{Instant, sleep};

    use super::{Queued, queue, within};

    /// However long it takes until a future is polled, none of these changes.
    #[tokio::test]
    async fn time_in_the_queue_is_not_limited() {
        const LIMIT: Duration = Duration::from_millis(1);
        let wait = || queue(sleep(Duration::from_millis(50)));
        assert_eq!(within(LIMIT, ready(7)).await, Some(7));
        assert_eq!(within(LIMIT, pending::<u8>()).await, None);
        let queued = async {
            wait().await;
            7
        };
        assert_eq!(within(LIMIT, queued).await, Some(7));
        let unanswered = async {
            wait().await;
            pending::<u8>().await
        };
        assert_eq!(within(LIMIT, unanswered).await, None);
        // A write of a task without a limit.
        wait().await;
    }

    #[test]
    fn times_in_the_queue_are_added() {
        let begun = Instant::now();
        let at = |seconds| begun + Duration::from_secs(seconds);
        let mut queued = Queued::default();
        assert_eq!(queued.total(at(5)), Duration::ZERO);
        queued.since = Some(at(5));
        assert_eq!(queued.total(at(8)), Duration::from_secs(3));
        queued.end(at(9));
        assert_eq!(queued.total(at(20)), Duration::from_secs(4));
        queued.since = Some(at(20));
        assert_eq!(queued.total(at(21)), Duration::from_secs(5));
    }
}
