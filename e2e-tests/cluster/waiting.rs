//! Waiting for a condition.

use std::time::{Duration, Instant};

use anyhow::bail;

/// Polls until there is an answer. If there is none in time, the error names what was missing. An error ends the
/// waiting at once.
pub(crate) async fn eventually<T>(
    what: &str,
    limit: Duration,
    mut attempt: impl AsyncFnMut() -> anyhow::Result<Option<T>>,
) -> anyhow::Result<T> {
    const PAUSE: Duration = Duration::from_millis(50);
    let start = Instant::now();
    loop {
        if let Some(answer) = attempt().await? {
            return Ok(answer);
        }
        if start.elapsed() > limit {
            bail!("waited {} s in vain for {what}", limit.as_secs());
        }
        tokio::time::sleep(PAUSE).await;
    }
}
