//! Shows every change until the rollout is complete.

use std::time::Duration;

use futures::future::FutureExt as _;
use futures::stream::StreamExt as _;
use tokio::time::{sleep, timeout};

use super::render::{changes, render};
use super::source::{Changes, StatusSource};
use super::view::StatusView;
use super::{Width, shape};
use crate::cli::output::print;

/// Changes within this time are shown together.
const TOGETHER: Duration = Duration::from_millis(100);
/// The longest time between two reads, in case a watch misses a change.
const AT_LATEST: Duration = Duration::from_secs(10);

/// Redraws on every change on a terminal, prints a line for each change elsewhere. Ends when everything shown is
/// done, or at Ctrl-C. Waits for the rollout of a set that has none.
pub(crate) async fn follow(source: &StatusSource, terminal: bool) -> anyhow::Result<()> {
    tokio::select! {
        ended = until_complete(source, terminal) => ended,
        _ = tokio::signal::ctrl_c() => Ok(()),
    }
}

async fn until_complete(source: &StatusSource, terminal: bool) -> anyhow::Result<()> {
    let mut stream = source.changes();
    let mut shown: Vec<StatusView> = Vec::new();
    let mut drawn = String::new();
    loop {
        let views = source.load().await?;
        if terminal {
            let text = render(&views, shape(Width::OfTerminal));
            if text != drawn {
                print(&(over(&drawn) + &text))?;
                drawn = text;
            }
        } else {
            for line in changes(&shown, &views) {
                print(&(line + "\n"))?;
            }
        }
        if !views.is_empty() && views.iter().all(StatusView::is_done) {
            return Ok(());
        }
        shown = views;
        next(&mut stream).await;
    }
}

/// Waits for a change, and for those shortly after it.
async fn next(stream: &mut Changes) {
    timeout(AT_LATEST, stream.next()).await.ok();
    sleep(TOGETHER).await;
    while stream.next().now_or_never().flatten().is_some() {}
}

/// Moves the cursor to the start of the old text and clears the rest of the screen.
fn over(old: &str) -> String {
    match old.lines().count() {
        0 => String::new(),
        lines => format!("\x1b[{lines}A\x1b[0J"),
    }
}

#[cfg(test)]
mod tests {
    use super::over;

    #[test]
    fn over_clears_the_old_text() {
        assert_eq!(over(""), "");
        assert_eq!(over("a\nb\n"), "\x1b[2A\x1b[0J");
    }
}
