//! Which reports were written a moment ago. Somebody who changes a ClaimRollout in a loop would otherwise make the
//! controller write it in a loop.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use crate::api::Seconds;
use crate::controller::crd::ClaimRolloutSpec;
use crate::rollout::Progress;
use crate::rollout::machine::COLLECT;

/// The last report of each set, by uid, for [`COLLECT`] seconds.
#[derive(Debug, Default)]
pub(crate) struct LastReports(HashMap<String, (Seconds, u64)>);

/// A hash of what a report contains, without times.
pub(crate) fn content(spec: &ClaimRolloutSpec, progress: &Progress) -> u64 {
    let mut hasher = DefaultHasher::new();
    let Progress {
        templates: _,
        started: _,
        moved: _,
        milestones: _,
        update_policy: _,
        unlisted: _,
        update_revision,
        staging,
        current_revision,
        counts,
        by_template,
        claims,
        ready,
        reconciling,
        stalled,
    } = progress;
    let status = (update_revision, staging, current_revision, counts, by_template);
    format!("{spec:?} {status:?} {claims:?} {ready:?} {reconciling:?} {stalled:?}").hash(&mut hasher);
    hasher.finish()
}

impl LastReports {
    /// True iff the same was written a moment ago: if the report differs now, somebody else has changed it.
    pub(crate) fn restores(&self, uid: &str, content: u64, now: Seconds) -> bool {
        let last = self.0.get(uid);
        last.is_some_and(|(at, last)| *last == content && is_recent(*at, now))
    }

    /// Notes that this was written.
    pub(crate) fn note(&mut self, uid: &str, content: u64, now: Seconds) {
        self.0.retain(|_, (at, _)| is_recent(*at, now));
        self.0.insert(uid.to_owned(), (now, content));
    }
}

fn is_recent(at: Seconds, now: Seconds) -> bool {
    at.abs_diff(now) < COLLECT
}

#[cfg(test)]
mod tests {
    use super::{COLLECT, LastReports};

    #[test]
    fn report_is_restored_once_in_the_time_of_collecting() {
        let mut last = LastReports::default();
        last.note("a", 1, 1000);
        for (what, uid, content, now, expected) in [
            ("the same, now", "a", 1, 1000, true),
            ("the same, a moment later", "a", 1, 1000 + COLLECT - 1, true),
            ("the same, later", "a", 1, 1000 + COLLECT, false),
            ("something new", "a", 2, 1000, false),
            ("another set", "b", 1, 1000, false),
            ("the clock was set back", "a", 1, 1000 - COLLECT, false),
        ] {
            assert_eq!(last.restores(uid, content, now), expected, "{what}");
        }
        last.note("b", 1, 1000 + COLLECT);
        assert_eq!(last.0.len(), 1, "only those of the last moment are kept");
    }
}
