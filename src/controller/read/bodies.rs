//! Bodies of responses, bounded in bytes. Of large ones, few are in memory at a time.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use futures::StreamExt;
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use super::limits::PAGE;

/// A body up to this length needs no permit.
const SMALL: usize = 128 << 10;

/// The number of bodies above [`SMALL`] at a time.
const LARGE_AT_ONCE: usize = 4;

/// How long the next part of a body may take.
const PART_TIMEOUT: Duration = Duration::from_secs(15);

/// The permits for large bodies.
pub(super) struct Bodies {
    large: Arc<Semaphore>,
    /// For bodies above [`PAGE`], one at a time.
    huge: Arc<Semaphore>,
    /// The timeout of each part of a body.
    patience: Duration,
}

impl Default for Bodies {
    fn default() -> Self {
        Self {
            large: Arc::new(Semaphore::new(LARGE_AT_ONCE)),
            huge: Arc::new(Semaphore::new(1)),
            patience: PART_TIMEOUT,
        }
    }
}

/// Why a body is not complete.
#[derive(Debug, thiserror::Error)]
pub(super) enum Incomplete {
    /// It has more bytes than this.
    #[error("the response has more than {0} bytes")]
    TooLarge(usize),
    /// The next part did not come.
    #[error("the response stopped")]
    Stopped,
    /// The connection failed.
    #[error(transparent)]
    Failed(#[from] axum::Error),
}

impl Bodies {
    /// Reads a body of at most this many bytes.
    ///
    /// # Errors
    /// [`Incomplete`], as soon as it has more bytes.
    pub(super) async fn read(&self, body: Body, most: usize) -> Result<Whole, Incomplete> {
        let mut parts = body.into_data_stream();
        let (mut text, mut permits) = (Vec::new(), Vec::new());
        loop {
            let part = timeout(self.patience, parts.next());
            let Some(part) = part.await.map_err(|_| Incomplete::Stopped)?.transpose()? else {
                break;
            };
            let length = text.len() + part.len();
            if length > most {
                return Err(Incomplete::TooLarge(most));
            }
            for (above, semaphore) in [(SMALL, &self.large), (PAGE, &self.huge)] {
                if text.len() <= above && above < length {
                    // Never closed. Meanwhile the rest of the body waits in the connection.
                    permits.extend(Arc::clone(semaphore).acquire_owned().await.ok());
                }
            }
            text.extend_from_slice(&part);
        }
        // A user may have stored bytes that are no UTF-8, and they would make the whole list unreadable.
        let text = match String::from_utf8(text) {
            Ok(text) => text.into_bytes(),
            Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned().into_bytes(),
        };
        Ok(Whole { text, permits })
    }
}

/// A complete body, with its permits.
pub(super) struct Whole {
    text: Vec<u8>,
    permits: Vec<OwnedSemaphorePermit>,
}

impl AsRef<[u8]> for Whole {
    fn as_ref(&self) -> &[u8] {
        &self.text
    }
}

impl Drop for Whole {
    fn drop(&mut self) {
        let permits = std::mem::take(&mut self.permits);
        // The client parses its copy of the body in the same poll that drops this one. A task runs after it.
        if let (false, Ok(runtime)) = (permits.is_empty(), Handle::try_current()) {
            runtime.spawn(async move { drop(permits) });
        }
    }
}

impl From<Whole> for Body {
    fn from(whole: Whole) -> Self {
        Self::from(Bytes::from_owner(whole))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use axum::body::{Body, Bytes};
    use futures::{FutureExt as _, StreamExt as _, stream};
    use tokio::task::yield_now;

    use super::{Bodies, Incomplete, LARGE_AT_ONCE, SMALL};
    use crate::controller::read::limits::{OBJECT, PAGE};

    /// A body in parts of 64 KiB.
    fn body(length: usize) -> Body {
        const PART: usize = 64 << 10;
        let parts = (0..length).step_by(PART).map(move |at| PART.min(length - at));
        let parts = parts.map(|length| Ok::<_, std::io::Error>(Bytes::from(vec![b' '; length])));
        Body::from_stream(stream::iter(parts))
    }

    #[tokio::test]
    async fn body_is_read_up_to_its_bound() {
        for (length, most, is_read) in [
            (0, PAGE, true),
            (SMALL, PAGE, true),
            (PAGE, PAGE, true),
            (PAGE + 1, PAGE, false),
            (PAGE + 1, OBJECT, true),
            (OBJECT, OBJECT, true),
            (OBJECT + 1, OBJECT, false),
        ] {
            let read = Bodies::default().read(body(length), most).await;
            match read {
                Ok(whole) => assert_eq!((whole.as_ref().len(), true), (length, is_read)),
                Err(Incomplete::TooLarge(bound)) => assert_eq!((bound, false), (most, is_read), "{length}"),
                Err(other) => panic!("{length}: {other}"),
            }
        }
    }

    /// The next one waits, and small ones do not.
    #[tokio::test]
    async fn large_bodies_wait_for_each_other() {
        for (length, at_once) in [(SMALL + 1, LARGE_AT_ONCE), (PAGE + 1, 1)] {
            let bodies = Bodies::default();
            let mut held = Vec::new();
            for _ in 0..at_once {
                held.push(bodies.read(body(length), OBJECT).await.ok());
            }
            let is_read = |length| {
                let read = bodies.read(body(length), OBJECT).now_or_never();
                read.is_some_and(|read| read.is_ok())
            };
            assert!(!is_read(length), "one more of {length} bytes");
            assert!(is_read(SMALL), "a small one");
            held.pop();
            yield_now().await;
            assert!(is_read(length), "a permit of {length} bytes is free");
        }
    }

    #[tokio::test]
    async fn bytes_that_are_no_text_are_replaced() {
        let read = Bodies::default().read(Body::from(&b"{\"f:\xff\":{}}"[..]), PAGE).await;
        let text = read.map(|whole| String::from_utf8_lossy(whole.as_ref()).into_owned());
        assert_eq!(text.ok().as_deref(), Some("{\"f:\u{fffd}\":{}}"));
    }

    #[tokio::test]
    async fn body_that_stops_is_an_error() {
        let bodies = Bodies {
            patience: Duration::from_millis(1),
            ..Bodies::default()
        };
        let parts = stream::iter([Ok::<_, std::io::Error>(Bytes::from_static(b"{"))]);
        let read = bodies
            .read(Body::from_stream(parts.chain(stream::pending())), PAGE)
            .await;
        assert!(matches!(read, Err(Incomplete::Stopped)));
    }
}
