//! Ages. They have an upper bound, beyond which they make no difference.

use std::sync::Arc;

use super::objects::{Age, OLDEST, PodsByOrdinal, ReportObject, SetObject};

/// The time at which the clock of the model stands still.
pub(crate) const CLOCK: u64 = 1_000_000;

/// The age of a time.
pub(crate) fn age(time: u64) -> Age {
    let seconds = i128::from(CLOCK) - i128::from(time);
    Age::try_from(seconds.clamp(-4000, 4000)).unwrap_or(Age::MAX)
}

/// A time after some seconds have passed.
pub(crate) fn earlier(time: u64, seconds: Age) -> u64 {
    CLOCK.saturating_add_signed(-i64::from(grow(age(time), seconds)))
}

/// An age after some seconds.
pub(crate) fn grow(age: Age, seconds: Age) -> Age {
    age.saturating_add(seconds).clamp(-4000, 4000)
}

/// Advances a set, Pods and a report.
pub(crate) fn advance(
    set: &mut Option<SetObject>,
    pods: &mut PodsByOrdinal,
    report: &mut Option<ReportObject>,
    seconds: Age,
) {
    if let Some(set) = set {
        set.age(seconds);
    }
    for pod in Arc::make_mut(pods).iter_mut().flatten() {
        pod.ready = pod.ready.map(|age| grow(age, seconds));
        pod.age = pod.age.saturating_add(seconds).min(OLDEST);
    }
    if let Some(report) = report {
        report.started = report.started.saturating_add(seconds).min(OLDEST);
    }
}
