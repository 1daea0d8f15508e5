//! What connections and requests may take.

use std::time::Duration;

use jiff::SignedDuration;
use tokio::time::Instant;

/// What connections and requests may take, each and all together.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The longest body in bytes.
    pub body: usize,
    /// How many bytes of bodies are held at the same time, by all requests. Deciding takes about three times as much
    /// memory.
    pub room: usize,
    /// The longest time from the head of a request to its answer. An API server that waits for less is answered
    /// earlier.
    pub time: Duration,
    /// How many connections there may be. One more takes the place of the one that has kept the server waiting for
    /// longest.
    pub connections: usize,
    /// How long a new connection may take until the head of a request under the right path is there, handshake
    /// included.
    pub introduction: Duration,
    /// How long a connection that had such a request may wait for the next one. An API server hangs up after 90 s.
    pub idle: Duration,
    /// How long [`Running::stop`](super::Running::stop) waits for requests in flight.
    pub grace: Duration,
}

/// What is left of an API server's patience for the way back.
const MARGIN: Duration = Duration::from_millis(500);

impl Default for Limits {
    /// A body of 8 MiB holds a review of two objects of 3 MiB each, which is what an API server takes from a client.
    /// Room for 40 MiB is room for 640 reviews of the usual size, and fits into the 256 MiB of the manifests.
    fn default() -> Self {
        Self {
            body: 8 * 1024 * 1024,
            room: 40 * 1024 * 1024,
            time: Duration::from_secs(9),
            connections: 768,
            introduction: Duration::from_secs(5),
            idle: Duration::from_secs(120),
            grace: Duration::from_secs(5),
        }
    }
}

impl Limits {
    /// When a request that came `now` must be answered. API servers say how long they wait: `timeout=5s` in the query,
    /// in whole seconds, rounded up.
    pub(super) fn deadline(&self, query: Option<&str>, now: Instant) -> Instant {
        let parameters = query.unwrap_or_default().split('&');
        let timeout = parameters
            .filter_map(|parameter| parameter.strip_prefix("timeout="))
            .find_map(|text| Duration::try_from(text.parse::<SignedDuration>().ok()?).ok());
        let time = timeout.map(|timeout| timeout.saturating_sub(MARGIN.min(timeout / 4)));
        now + time.unwrap_or(self.time).min(self.time)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::Instant;

    use super::Limits;

    #[tokio::test]
    async fn deadline_query_is_before_the_patience_of_the_caller_ends() {
        let limits = Limits::default();
        let now = Instant::now();
        for (query, milliseconds) in [
            (None, 9000),
            (Some(""), 9000),
            (Some("timeout=5s"), 4500),
            (Some("dryRun=All&timeout=2s"), 1500),
            (Some("timeout=1s"), 750),
            (Some("timeout=0s"), 0),
            (Some("timeout=30s"), 9000),
            (Some("timeout=1m0s"), 9000),
            (Some("timeout=-5s"), 9000),
            (Some("timeout=soon"), 9000),
            (Some("timeouts=5s"), 9000),
        ] {
            let deadline = limits.deadline(query, now);
            assert_eq!(deadline - now, Duration::from_millis(milliseconds), "{query:?}");
        }
    }
}
