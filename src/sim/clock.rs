//! Ages. They have an upper bound, beyond which they make no difference.

use std::sync::Arc;

use super::objects::{Age, OLDEST, PodsByOrdinal, ReportObject, SetObject};

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
