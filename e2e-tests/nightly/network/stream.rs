//! Passes on the answer of a watch event by event, with faults.

use std::collections::VecDeque;
use std::io;
use std::time::Duration;

use axum::body::{Body, Bytes};
use futures::{Stream, StreamExt as _};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep_until};

use super::script::Streams;

/// The last event of a watch whose version is too old.
const EXPIRED: &[u8] = br#"{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"too old resource version: 1 (2)","reason":"Expired","code":410}}
"#;
/// The beginning of an event.
const HALF: &[u8] = br#"{"type":"MODIFIED","object":{"kind":"#;
/// A day: as good as never.
const NEVER: Duration = Duration::from_secs(86_400);

/// Passes on the answer of a watch with the faults of the script.
pub(super) fn pass<E>(
    upstream: impl Stream<Item = Result<Bytes, E>> + Send + 'static,
    faults: watch::Receiver<Streams>,
) -> Body
where
    E: Send + 'static,
{
    let (events, mut answer) = mpsc::channel(1);
    tokio::spawn(pump(Box::pin(upstream), faults, events));
    Body::from_stream(futures::stream::poll_fn(move |context| answer.poll_recv(context)))
}

type Events = mpsc::Sender<io::Result<Bytes>>;

async fn pump<E>(
    mut upstream: impl Stream<Item = Result<Bytes, E>> + Unpin,
    mut faults: watch::Receiver<Streams>,
    events: Events,
) {
    let initial = *faults.borrow_and_update();
    let mut open = true;
    let mut lines = Lines::default();
    loop {
        let now = *faults.borrow_and_update();
        if now.expired > initial.expired {
            let _ = events.send(Ok(Bytes::from_static(EXPIRED))).await;
            return;
        }
        if now.cuts > initial.cuts {
            let _ = events.send(Ok(Bytes::from_static(HALF))).await;
            let _ = events.send(Err(io::ErrorKind::ConnectionReset.into())).await;
            return;
        }
        if !open && lines.whole.is_empty() && !now.silent {
            return;
        }
        let due = lines
            .whole
            .front()
            .map(|(came, _)| *came + now.delay)
            .filter(|_| !now.silent);
        tokio::select! {
            read = upstream.next(), if open => match read {
                Some(Ok(bytes)) => lines.take(&bytes),
                // A stream that the API server cuts off is cut off here.
                Some(Err(_)) => return drop(events.send(Err(io::ErrorKind::ConnectionReset.into())).await),
                None => open = false,
            },
            () = sleep_until(due.unwrap_or_else(|| Instant::now() + NEVER)) => {
                if let Some((_, line)) = lines.whole.pop_front()
                    && !(now.without_bookmarks && line.starts_with(br#"{"type":"BOOKMARK""#))
                    && events.send(Ok(line)).await.is_err()
                {
                    return;
                }
            }
            changed = faults.changed() => if changed.is_err() { return },
            () = events.closed() => return,
        }
    }
}

/// Splits bytes into lines.
#[derive(Default)]
struct Lines {
    rest: Vec<u8>,
    /// With the time of arrival.
    whole: VecDeque<(Instant, Bytes)>,
}

impl Lines {
    fn take(&mut self, bytes: &[u8]) {
        self.rest.extend_from_slice(bytes);
        while let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') {
            let rest = self.rest.split_off(end + 1);
            let line = std::mem::replace(&mut self.rest, rest);
            self.whole.push_back((Instant::now(), line.into()));
        }
    }
}
