//! The metrics `claim_rollout_*`; `docs/metrics.md` lists them. No label names a StatefulSet or a PVC, so the number
//! of series is fixed. All series exist from the start.

use std::sync::atomic::AtomicI64;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;
use tokio::time::Instant;

use super::gauges::{Gauge, Gauges, UnreadableGauge, WatchGauge};
use super::replacements::ReplacementMetrics;
use super::states::{StateCounts, states};
use crate::gate::ClaimState;
use crate::metrics::{Counters, Label, families, family, number, text};
use crate::rollout::Reason;

type Histograms = Family<Label, Histogram, fn() -> Histogram>;

/// The outcomes of a write.
const OUTCOMES: [&str; 5] = ["done", "conflict", "not_found", "refused", "unsure"];
const RESOURCES: [&str; 7] = [
    "statefulsets",
    "claimrollouts",
    "persistentvolumeclaims",
    "pods",
    "limitranges",
    "resourcequotas",
    "storageclasses",
];
/// What is registered for admission: several kinds, which are listed together.
const ADMISSION: &str = "admission";
const VERBS: [&str; 6] = ["read", "watch", "create", "update", "patch", "delete"];
/// The causes of a failed request: the class of the response, or no response.
const FAILURES: [&str; 5] = [
    "conflict",
    "too_many_requests",
    "client_error",
    "server_error",
    "unanswered",
];

families! {
    /// What the controller counts and measures.
    struct ControllerFamilies {
        claim_writes: Counters = family("outcome", &OUTCOMES), "Server-side applies to PVCs";
        staged_change_writes: Counters = family("outcome", &OUTCOMES), "Writes of staged changes to StatefulSets";
        ready_writes: Counters = family("outcome", &OUTCOMES), "Writes that make the StatefulSet controller retry a Pod deletion";
        report_writes: Counters = family("outcome", &OUTCOMES), "Writes of ClaimRollouts";
        history_writes: Counters = family("outcome", &OUTCOMES), "Writes of ControllerRevisions";
        events: Counters = family("reason", &Reason::ALL.map(Reason::as_str)), "Published Events";
        watch_errors: Counters = family("resource", &RESOURCES), "Watches that failed or could not start";
        request_failures: Counters = family("cause", &FAILURES), "Requests to the API server that failed or timed out";
        reconcile_failures: Counter = Counter::default(), "Failed reconciles, which are requeued";
        watches: Gauges = family("resource", &RESOURCES),
            "Open watches: on PVCs and Pods one per namespace with a rollout (at most 16), and one for all others";
        failing_lists: Gauges = family("resource", &[&RESOURCES[..], &[ADMISSION]].concat()),
            "Lists and watches that have failed for a minute or longer; of admission, the namespaces that need them";
        unreadable_objects: Gauges = family("resource", &RESOURCES),
            "Watched objects that cannot be read and are skipped; the log names them";
        rollouts: Gauges = family("state", &states().collect::<Vec<_>>()),
            "ClaimRollouts, by the reason of their condition Ready";
        claims: Gauges = family("state", &ClaimState::ALL.map(ClaimState::as_str)),
            "PVCs that are not ready, at most 50 of each rollout";
        longest_standstill: Gauge = Gauge::default(),
            "Time since the last progress of the rollout that has made none for longest, without paused ones" in Seconds;
        leader: Gauge = Gauge::default(), "1 while this controller leads, else 0";
        settings_differ: Gauge = Gauge::default(),
            "Settings in which policy objects of Kubewarden differ from this controller, as last read";
        reconcile: Histogram = histogram(), "Duration of a reconcile" in Seconds;
        request: Histograms = requests(), "Time until the API server responded" in Seconds;
    }
}

/// All metrics of the controller.
#[derive(Debug)]
pub(crate) struct ControllerMetrics {
    registry: Registry,
    families: ControllerFamilies,
    replacements: ReplacementMetrics,
}

/// A pending request. It counts as unanswered if it is dropped before `answered`.
#[derive(Debug)]
pub(crate) struct MeasuredRequest<'a> {
    metrics: &'a ControllerMetrics,
    verb: &'static str,
    begun: Instant,
    failure: Option<&'static str>,
}

impl MeasuredRequest<'_> {
    /// Notes the status of the response; none if the request failed without one.
    pub(crate) fn answered(mut self, status: Option<u16>) {
        self.failure = match status {
            None => Some("unanswered"),
            Some(409) => Some("conflict"),
            Some(429) => Some("too_many_requests"),
            Some(400..500) => Some("client_error"),
            Some(500..) => Some("server_error"),
            Some(_) => None,
        };
    }
}

impl Drop for MeasuredRequest<'_> {
    fn drop(&mut self) {
        let metrics = self.metrics;
        let seconds = self.begun.elapsed().as_secs_f64();
        metrics
            .families
            .request
            .get_or_create(&[("verb", self.verb)])
            .observe(seconds);
        if let Some(failure) = self.failure {
            metrics
                .families
                .request_failures
                .get_or_create(&[("cause", failure)])
                .inc();
        }
    }
}

fn histogram() -> Histogram {
    Histogram::new([0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0])
}

/// The times of requests, by verb.
fn requests() -> Histograms {
    let requests: Histograms = Family::new_with_constructor(histogram);
    for verb in VERBS {
        drop(requests.get_or_create(&[("verb", verb)]));
    }
    requests
}

impl Default for ControllerMetrics {
    fn default() -> Self {
        let mut registry = Registry::with_prefix("claim_rollout");
        Self {
            families: ControllerFamilies::new(&mut registry),
            replacements: ReplacementMetrics::new(&mut registry),
            registry,
        }
    }
}

impl ControllerMetrics {
    pub(crate) fn claim_write(&self, outcome: &'static str) {
        self.families.claim_writes.get_or_create(&[("outcome", outcome)]).inc();
    }

    /// Counts a write to a StatefulSet: of the staged change, or of `ready`.
    pub(crate) fn set_write(&self, what: &str, outcome: &'static str) {
        let family = if what == "annotation ready" {
            &self.families.ready_writes
        } else {
            &self.families.staged_change_writes
        };
        family.get_or_create(&[("outcome", outcome)]).inc();
    }

    pub(crate) fn report_write(&self, outcome: &'static str) {
        self.families.report_writes.get_or_create(&[("outcome", outcome)]).inc();
    }

    pub(crate) fn history_write(&self, outcome: &'static str) {
        self.families
            .history_writes
            .get_or_create(&[("outcome", outcome)])
            .inc();
    }

    pub(crate) fn event(&self, reason: Reason) {
        self.families.events.get_or_create(&[("reason", reason.as_str())]).inc();
    }

    pub(crate) fn watch_error(&self, resource: &'static str) {
        self.families
            .watch_errors
            .get_or_create(&[("resource", resource)])
            .inc();
    }

    /// Counts a watch as open until the return value is dropped.
    pub(crate) fn watch(&self, resource: &'static str) -> WatchGauge {
        let [open, failing] = [&self.families.watches, &self.families.failing_lists]
            .map(|family| family.get_or_create(&[("resource", resource)]).clone());
        open.inc();
        WatchGauge {
            open,
            failing,
            is_failing: false,
        }
    }

    /// Sets the number of namespaces for which it cannot be read what is registered for admission.
    pub(crate) fn admission_fails(&self, namespaces: usize) {
        let failing = self.families.failing_lists.get_or_create(&[("resource", ADMISSION)]);
        failing.set(number(namespaces));
    }

    /// Counts the objects of one watch that cannot be read, until the return value is dropped.
    pub(crate) fn unreadable(&self, resource: &'static str) -> UnreadableGauge {
        UnreadableGauge {
            all: self
                .families
                .unreadable_objects
                .get_or_create(&[("resource", resource)])
                .clone(),
            counted: AtomicI64::new(0),
        }
    }

    pub(crate) fn leads(&self, leads: bool) {
        self.families.leader.set(leads.into());
    }

    pub(crate) fn settings_differ(&self, count: usize) {
        self.families.settings_differ.set(number(count));
    }

    pub(crate) fn reconciled(&self, seconds: f64) {
        self.families.reconcile.observe(seconds);
    }

    pub(crate) const fn replacements(&self) -> &ReplacementMetrics {
        &self.replacements
    }

    pub(crate) fn failure(&self) {
        self.families.reconcile_failures.inc();
    }

    /// Measures a request until the return value is dropped.
    pub(crate) fn request(&self, verb: &'static str) -> MeasuredRequest<'_> {
        MeasuredRequest {
            metrics: self,
            verb,
            begun: Instant::now(),
            failure: Some("unanswered"),
        }
    }

    /// Sets the number of rollouts and PVCs in each state.
    pub(crate) fn set_states(&self, counts: &StateCounts) {
        for (state, count) in states().zip(counts.rollouts) {
            self.families.rollouts.get_or_create(&[("state", state)]).set(count);
        }
        let states = ClaimState::ALL.into_iter().zip(counts.claims);
        for (state, count) in states {
            self.families
                .claims
                .get_or_create(&[("state", state.as_str())])
                .set(count);
        }
        self.families.longest_standstill.set(counts.standstill);
    }

    /// The metrics in the text format of OpenMetrics.
    ///
    /// # Errors
    /// None in practice: writing to a string does not fail.
    pub(crate) fn text(&self) -> Result<String, std::fmt::Error> {
        self.replacements.set_age();
        text(&self.registry)
    }
}

#[cfg(test)]
#[path = "controller_tests.rs"]
mod tests;
