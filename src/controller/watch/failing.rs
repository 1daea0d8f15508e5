//! For how long lists and watches have failed, and what to report about it.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use kube::runtime::watcher;
use tokio::time::Instant;

use crate::controller::calls::api_calls::shorten;
use crate::rollout::events::is_same_cause;

/// A failure is reported after this time.
const REPORTED: Duration = Duration::from_secs(60);

/// After this time without another failure, reads succeed again: a watch that was opened emits nothing before an object
/// changes. It is longer than any pause between two attempts, together with the time of an attempt without an answer.
pub(super) const QUIET: Duration = Duration::from_secs(120);

/// A [`Failing`] that a watch changes.
pub(super) type SharedFailing = Arc<Mutex<Failing>>;

/// The failures of one kind of reads since the last success.
#[derive(Debug, Default)]
pub(crate) struct Failing(Option<ReadFailure>);

#[derive(Debug)]
struct ReadFailure {
    since: Instant,
    last: Instant,
    /// When reads last failed, or went on without an end.
    seen: Instant,
    why: String,
    /// Since when `why` is the cause that is reported.
    named: Instant,
}

impl Failing {
    /// A read failed. The cause that is reported changes at most once a minute, and not with the numbers in its message.
    pub(crate) fn failed(&mut self, why: String, now: Instant) {
        let before = self.0.take().filter(|before| now - before.seen < QUIET);
        let Some(mut before) = before else {
            self.0 = Some(ReadFailure {
                since: now,
                last: now,
                seen: now,
                why,
                named: now,
            });
            return;
        };
        (before.last, before.seen) = (now, now);
        if now - before.named >= REPORTED && !is_same_cause(&before.why, &why) {
            (before.why, before.named) = (why, now);
        }
        self.0 = Some(before);
    }

    /// A list has begun, or one of its pages was read. That is no success: a page after it may come too late, when the
    /// list has expired (410), and a list of many pages takes longer than [`QUIET`].
    pub(crate) fn lists(&mut self, now: Instant) {
        if let Some(failure) = &mut self.0 {
            failure.seen = now;
        }
    }

    /// A read succeeded.
    pub(crate) fn succeeded(&mut self) {
        self.0 = None;
    }

    /// True iff the last read failed, a short time ago.
    pub(crate) fn is_failing(&self) -> bool {
        self.0.is_some()
    }

    /// Why reads have failed for a minute or longer, if so.
    pub(crate) fn reported(&self, now: Instant) -> Option<&str> {
        let failure = self.0.as_ref()?;
        let is_due = failure.last - failure.since >= REPORTED && now - failure.seen < QUIET;
        is_due.then_some(&*failure.why)
    }
}

/// Why a watch failed, for a report that others may read: the answer of the API server, and never a part of an object.
pub(super) fn of_watch(error: &watcher::Error) -> String {
    match error {
        watcher::Error::InitialListFailed(error)
        | watcher::Error::WatchStartFailed(error)
        | watcher::Error::WatchFailed(error) => of_call(error),
        watcher::Error::WatchError(status) => of_status(status),
        watcher::Error::NoResourceVersion => "the answer has no resourceVersion".to_owned(),
    }
}

/// The same for a call.
fn of_call(error: &kube::Error) -> String {
    match error {
        kube::Error::Api(status) => of_status(status),
        kube::Error::SerdeError(_) | kube::Error::FromUtf8(_) => "the answer cannot be decoded".to_owned(),
        _ => "the API server does not answer".to_owned(),
    }
}

fn of_status(status: &kube::core::Status) -> String {
    format!("{} {}", status.code, shorten(&status.message))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use kube::core::Status;
    use kube::runtime::watcher;
    use tokio::time::Instant;

    use super::{Failing, of_watch};
    use crate::rollout::fixtures::rows;

    /// What happens, by the second: a failure with this cause, a `page` of a list, or `ok`. Then what is reported at this second.
    const ROWS: &str = "
        nothing                           |                                                     | 1000 |
        a failure                         | 0: 403 a                                            | 60   |
        not for a minute                  | 0: 403 a, 59: 403 a                                 | 70   |
        for a minute                      | 0: 403 a, 60: 403 a                                 | 60   | 403 a
        a success                         | 0: 403 a, 59: ok, 60: 403 a                         | 100  |
        a success that nobody sees        | 0: 500 a, 120: 500 a                                | 130  |
        many failures, and then silence   | 0: 500 a, 60: 500 a                                 | 180  |
        other numbers                     | 0: 504 timeout after 31 s, 70: 504 timeout after 32 s | 80 | 504 timeout after 31 s
        another cause, soon               | 0: 403 a, 59: 500 b, 61: 403 a                      | 62   | 403 a
        another cause, later              | 0: 403 a, 60: 500 b, 100: 403 a                     | 110  | 500 b
        a list that expires after minutes | 0: 410 a, 90: page, 180: page, 270: 410 a           | 271  | 410 a
        and begins again                  | 0: 410 a, 100: page, 200: 410 a, 310: page          | 400  | 410 a
        a failure, and then a slow list   | 0: 410 a, 90: page, 180: page                       | 200  |
    ";

    #[test]
    fn reads_that_fail_for_a_minute_are_reported() {
        let begun = Instant::now();
        let at = |seconds: &str| begun + Duration::from_secs(seconds.parse().unwrap());
        for [what, events, now, expected] in rows(ROWS) {
            let mut failing = Failing::default();
            for (second, event) in events.split(", ").filter_map(|event| event.split_once(": ")) {
                match event {
                    "ok" => failing.succeeded(),
                    "page" => failing.lists(at(second)),
                    why => failing.failed(why.to_owned(), at(second)),
                }
            }
            assert_eq!(failing.reported(at(now)).unwrap_or_default(), expected, "{what}");
        }
    }

    #[test]
    fn cause_contains_no_part_of_an_object() {
        let forbidden = Status::failure("pods is forbidden\nmore", "Forbidden").with_code(403);
        let object = serde_json::from_str::<u8>("\"marker\"").unwrap_err();
        for (error, expected) in [
            (
                watcher::Error::InitialListFailed(kube::Error::Api(forbidden.clone().boxed())),
                "403 pods is forbidden",
            ),
            (watcher::Error::WatchError(forbidden.boxed()), "403 pods is forbidden"),
            (
                watcher::Error::WatchFailed(kube::Error::SerdeError(object)),
                "the answer cannot be decoded",
            ),
            (
                watcher::Error::WatchStartFailed(kube::Error::LinesCodecMaxLineLengthExceeded),
                "the API server does not answer",
            ),
            (watcher::Error::NoResourceVersion, "the answer has no resourceVersion"),
        ] {
            assert_eq!(of_watch(&error), expected);
        }
    }
}
