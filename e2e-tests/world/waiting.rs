//! Waiting for a condition, and for the end of writes.

use std::fmt::Debug;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};

use super::audit::{Entry, kinds};

/// The most time that any step may take on a machine that does a lot at once.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

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

/// Reads until what is read matches, and returns it. The failure has what was read last.
pub(crate) async fn until<T: Debug>(
    what: &str,
    mut read: impl AsyncFnMut() -> anyhow::Result<T>,
    mut matches: impl FnMut(&T) -> bool,
) -> anyhow::Result<T> {
    let mut last = None;
    let found = eventually(what, PATIENCE, async || {
        let seen = last.insert(read().await?);
        Ok(matches(seen).then_some(()))
    });
    found.await.with_context(|| format!("the last was {last:#?}"))?;
    last.context("it was read")
}

/// Waits until there has been no further write for this long, and returns all writes. Who writes again and again is never
/// at rest: after the limit, the error has the last writes.
pub(crate) async fn at_rest(
    what: &str,
    [quiet, limit]: [Duration; 2],
    writes: impl AsyncFn() -> anyhow::Result<Vec<Entry>>,
) -> anyhow::Result<Vec<Entry>> {
    let (mut count, mut since) = (0, Instant::now());
    let mut last = String::new();
    let what = format!("{what} to be at rest");
    let rest = eventually(&what, limit + quiet, async || {
        let all = writes().await?;
        if all.len() > count {
            last = kinds(&all[count..], Entry::kind);
            (count, since) = (all.len(), Instant::now());
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
        Ok((since.elapsed() >= quiet).then_some(all))
    });
    rest.await.with_context(|| format!("the last writes: {last}"))
}
