//! Shows every change until the rollout is complete.

use std::time::Duration;

use futures::future::FutureExt as _;
use futures::stream::StreamExt as _;
use tokio::time::{sleep, timeout};

use super::render::{changes, render};
use super::source::{Changes, StatusSource};
use super::view::SetView;
use super::{Width, shape};
use crate::cli::output::print;

/// Changes come in flocks: they are shown together.
const TOGETHER: Duration = Duration::from_millis(100);
/// Also without a change, in case a watch is blind for a while.
const AT_LATEST: Duration = Duration::from_secs(10);

/// Draws again on every change on a terminal, prints a line per change elsewhere. Ends when everything shown is complete;
/// a set without a rollout is waited for. Ctrl-C ends it, too.
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
        if !views.is_empty() && views.iter().all(|view| view.complete) {
            return Ok(());
        }
        shown = views;
        next(&mut stream).await;
    }
}

/// Waits for a change, and for those that come with it.
async fn next(stream: &mut Changes) {
    timeout(AT_LATEST, stream.next()).await.ok();
    sleep(TOGETHER).await;
    while stream.next().now_or_never().flatten().is_some() {}
}

/// Moves the cursor to where the old text began, and clears what follows.
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
    fn a_picture_is_drawn_over_the_one_before() {
        assert_eq!(over(""), "");
        assert_eq!(over("a\nb\n"), "\x1b[2A\x1b[0J");
    }
}
