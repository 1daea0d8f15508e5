//! Ages. They have an upper bound, beyond which they make no difference.

use std::sync::Arc;

use super::objects::{Age, PodsByOrdinal, ReportObject};

/// The upper bound of the age of Pods and reports.
pub(crate) const OLDEST: Age = 32_000;

/// An age after some seconds.
pub(crate) fn grow(age: Age, seconds: Age) -> Age {
    age.saturating_add(seconds).clamp(-4000, 4000)
}

/// Advances Pods and a report.
pub(crate) fn advance(pods: &mut PodsByOrdinal, report: &mut Option<ReportObject>, seconds: Age) {
    for pod in Arc::make_mut(pods).iter_mut().flatten() {
        pod.ready = pod.ready.map(|age| grow(age, seconds));
        pod.age = pod.age.saturating_add(seconds).min(OLDEST);
    }
    if let Some(report) = report {
        report.started = report.started.saturating_add(seconds).min(OLDEST);
    }
}
