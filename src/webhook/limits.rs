//! Limits of connections and requests.

use std::time::Duration;

use jiff::SignedDuration;
use tokio::time::Instant;

/// The limits of each connection and request, and of all together.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The longest body in bytes.
    pub body: usize,
    /// The bytes of bodies in memory at the same time, of all requests. Decisions take about three times as much
    /// memory.
    pub room: usize,
    /// The longest time from the head of a request to its answer. An API server that waits for less is answered
    /// earlier.
    pub time: Duration,
    /// The maximum number of connections. A further one replaces the one that has kept the server waiting for longest.
    pub connections: usize,
    /// The time until a new connection has sent the head of a request under a valid path, handshake included.
    pub introduction: Duration,
    /// The time that such a connection may be idle after a request. An API server closes it after 90 s.
    pub idle: Duration,
    /// The time that [`Running::stop`](super::Running::stop) waits for requests in flight.
    pub grace: Duration,
}

/// The part of the timeout of an API server that is left for the response.
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
    /// The deadline for the answer to a request that came `now`. API servers send their timeout in the query:
    /// `timeout=5s`, in whole seconds, rounded up.
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
    async fn deadline_is_before_the_timeout_of_the_caller() {
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
