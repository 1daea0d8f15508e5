//! Follows rollouts until they are complete or stalled.

use std::collections::BTreeSet;
use std::time::Duration;

use futures::future::FutureExt as _;
use futures::stream::StreamExt as _;
use tokio::time::{sleep, timeout};

use super::changes::changes;
use super::render::fit;
use super::screen::{shape, terminal};
use super::source::{Changes, LoadedStatus, StatusSource};
use super::view::StatusView;
use crate::cli::cluster::is_brief;
use crate::cli::lists::warn;
use crate::cli::output::{note, print};
use crate::cli::process::in_words;

/// Changes within this time are shown together.
const TOGETHER: Duration = Duration::from_millis(100);
/// The longest time between two reads, in case a watch misses a change.
const AT_LATEST: Duration = Duration::from_secs(10);

/// The pause after a read that failed.
const AGAIN: Duration = Duration::from_secs(1);

/// How to follow rollouts.
#[derive(Clone, Debug)]
pub(super) struct Follow {
    pub(super) show: Show,
    /// The longest time; without a limit if none.
    pub(super) timeout: Option<Duration>,
    /// Only the rollout of this revision counts.
    pub(super) revision: Option<String>,
}

/// What is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Show {
    /// The state, drawn in place on a terminal.
    Drawing,
    /// A line for each change.
    Lines,
    Nothing,
}

/// Why following has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum FollowEnd {
    Complete,
    /// A rollout does not continue by itself; its note.
    Stalled(String),
    /// Another revision is staged instead, or nothing.
    Superseded(String),
    TimedOut,
    /// Ctrl-C.
    Interrupted,
}

impl FollowEnd {
    /// The exit code of the program.
    pub(super) const fn code(&self) -> u8 {
        match self {
            Self::Complete => 0,
            Self::Stalled(_) | Self::Superseded(_) => 1,
            // As of `timeout`: 2 is a wrong flag.
            Self::TimedOut => 124,
            // As of a program that the signal has ended.
            Self::Interrupted => 130,
        }
    }
}

/// The end, if these views are the last. Where several sets are shown, the others continue if one is stalled.
pub(super) fn end(views: &[StatusView], revision: Option<&str>) -> Option<FollowEnd> {
    if let Some(revision) = revision
        && let Some(other) = views.iter().find(|view| !view.has(revision))
    {
        let instead = other.staged.clone().unwrap_or_else(|| "nothing".to_owned());
        return Some(FollowEnd::Superseded(instead));
    }
    let is_stalled = |view: &StatusView| view.stalled || view.unreadable.is_some();
    let has_ended = |view: &StatusView| view.is_done() || is_stalled(view);
    if views.is_empty() || !views.iter().all(has_ended) {
        return None;
    }
    let stalled = views.iter().find(|view| is_stalled(view) && !view.is_done());
    Some(stalled.map_or(FollowEnd::Complete, |view| {
        let why = view.unreadable.as_ref().or(view.note.as_ref());
        FollowEnd::Stalled(why.cloned().unwrap_or_default())
    }))
}

impl Follow {
    /// Follows until the end, the time-out or Ctrl-C. Waits for the rollout of a set that has none, and for an API server
    /// that does not answer any more.
    ///
    /// # Errors
    /// If something cannot be read: the first time, or because it is not allowed.
    pub(super) async fn run(&self, source: &StatusSource) -> anyhow::Result<FollowEnd> {
        let limit = async {
            match self.timeout {
                Some(timeout) => sleep(timeout).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            ended = self.until_end(source) => ended,
            () = limit => Ok(FollowEnd::TimedOut),
            _ = tokio::signal::ctrl_c() => Ok(FollowEnd::Interrupted),
        }
    }

    async fn until_end(&self, source: &StatusSource) -> anyhow::Result<FollowEnd> {
        let mut stream = source.changes();
        let mut shown: Vec<StatusView> = Vec::new();
        let mut drawn = String::new();
        let (mut answered, mut warned) = (false, false);
        let mut named = BTreeSet::new();
        loop {
            let LoadedStatus { views, unread, .. } = match source.load().await {
                Ok(loaded) => loaded,
                Err(error) if answered && is_brief(&error) => {
                    if !warned {
                        note(&format!("warning: {}; trying again", in_words(&error)));
                        // The next drawing is below the warning.
                        drawn.clear();
                    }
                    warned = true;
                    sleep(AGAIN).await;
                    continue;
                }
                Err(error) => return Err(error),
            };
            (answered, warned) = (true, false);
            for unread in unread {
                if named.insert(unread.clone()) {
                    warn([&unread]);
                    drawn.clear();
                }
            }
            match self.show {
                Show::Drawing => {
                    let (width, rows) = terminal();
                    // The last row is for the cursor.
                    let text = fit(&views, shape(width), rows.saturating_sub(1));
                    if text != drawn {
                        print(&(over(&drawn) + &text))?;
                        drawn = text;
                    }
                }
                Show::Lines => {
                    for line in changes(&shown, &views) {
                        print(&(line + "\n"))?;
                    }
                }
                Show::Nothing => {}
            }
            if let Some(end) = end(&views, self.revision.as_deref()) {
                return Ok(end);
            }
            shown = views;
            next(&mut stream).await;
        }
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
    use super::super::view::tests::shown;
    use super::{FollowEnd, end, over};

    /// The state of each rollout, the revision that is waited for, and the exit code; none goes on.
    const ENDS: &[(&[&str], Option<&str>, Option<u8>)] = &[
        (&[], None, None),
        (&["complete"], None, Some(0)),
        (&["complete", "complete"], None, Some(0)),
        (&["reconciling"], None, None),
        (&["stalled"], None, Some(1)),
        (&["stalled", "reconciling"], None, None),
        (&["stalled", "complete"], None, Some(1)),
        (&["complete"], Some("r"), Some(0)),
        (&["reconciling"], Some("r"), None),
        (&["stalled"], Some("r"), Some(1)),
        (&["reconciling"], Some("other"), Some(1)),
        (&["complete"], Some("other"), Some(1)),
        (&["unreadable"], None, Some(1)),
        (&["unreadable", "reconciling"], None, None),
    ];

    #[test]
    fn end_of_each_combination_has_its_exit_code() {
        for (states, revision, expected) in ENDS {
            let views: Vec<_> = states.iter().map(|state| shown(state, "r")).collect();
            let found = end(&views, *revision).map(|end| end.code());
            assert_eq!(found, *expected, "{states:?} {revision:?}");
        }
        assert_eq!(
            [FollowEnd::TimedOut, FollowEnd::Interrupted].map(|end| end.code()),
            [124, 130]
        );
    }

    #[test]
    fn over_clears_the_old_text() {
        assert_eq!(over(""), "");
        assert_eq!(over("a\nb\n"), "\x1b[2A\x1b[0J");
    }
}
