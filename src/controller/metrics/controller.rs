//! The metrics `claim_rollout_*`; `docs/metrics.md` lists them. No label names a StatefulSet or a PVC, so the number
//! of series is fixed. All series exist from the start.

use std::sync::atomic::AtomicI64;

use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};
use tokio::time::Instant;

use super::families::{Gauge, Label, family};
use super::gauges::{UnreadableGauge, WatchGauge};
use super::replacements::ReplacementMetrics;
use super::states::{StateCounts, states};
use crate::gate::ClaimState;
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

/// All metrics of the controller.
#[derive(Debug)]
pub(crate) struct ControllerMetrics {
    registry: Registry,
    claim_writes: Family<Label, Counter>,
    staged_change_writes: Family<Label, Counter>,
    ready_writes: Family<Label, Counter>,
    report_writes: Family<Label, Counter>,
    history_writes: Family<Label, Counter>,
    events: Family<Label, Counter>,
    watch_errors: Family<Label, Counter>,
    watches: Family<Label, Gauge>,
    failing_lists: Family<Label, Gauge>,
    rollouts: Family<Label, Gauge>,
    claims: Family<Label, Gauge>,
    standstill: Gauge,
    leader: Gauge,
    settings_differ: Gauge,
    unreadable: Family<Label, Gauge>,
    reconciles: Histogram,
    reconcile_failures: Counter,
    replacements: ReplacementMetrics,
    requests: Histograms,
    request_failures: Family<Label, Counter>,
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
        metrics.requests.get_or_create(&[("verb", self.verb)]).observe(seconds);
        if let Some(failure) = self.failure {
            metrics.request_failures.get_or_create(&[("cause", failure)]).inc();
        }
    }
}

fn histogram() -> Histogram {
    Histogram::new([0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0])
}

impl Default for ControllerMetrics {
    fn default() -> Self {
        let writes = || family("outcome", &OUTCOMES);
        let requests: Histograms = Family::new_with_constructor(histogram);
        for verb in VERBS {
            drop(requests.get_or_create(&[("verb", verb)]));
        }
        let mut metrics = Self {
            registry: Registry::with_prefix("claim_rollout"),
            claim_writes: writes(),
            staged_change_writes: writes(),
            ready_writes: writes(),
            report_writes: writes(),
            history_writes: writes(),
            events: family("reason", &Reason::ALL.map(Reason::as_str)),
            watch_errors: family("resource", &RESOURCES),
            watches: family("resource", &RESOURCES),
            failing_lists: family("resource", &[&RESOURCES[..], &[ADMISSION]].concat()),
            rollouts: family("state", &states().collect::<Vec<_>>()),
            claims: family("state", &ClaimState::ALL.map(ClaimState::as_str)),
            standstill: Gauge::default(),
            leader: Gauge::default(),
            settings_differ: Gauge::default(),
            unreadable: family("resource", &RESOURCES),
            reconciles: histogram(),
            reconcile_failures: Counter::default(),
            replacements: ReplacementMetrics::default(),
            requests,
            request_failures: family("cause", &FAILURES),
        };
        metrics.register_counters();
        metrics.register_gauges();
        metrics.register_histograms();
        metrics.replacements.register(&mut metrics.registry);
        metrics
    }
}

impl ControllerMetrics {
    fn register_counters(&mut self) {
        let registry = &mut self.registry;
        for (name, help, family) in [
            ("claim_writes", "Server-side applies to PVCs", &self.claim_writes),
            (
                "staged_change_writes",
                "Writes of staged changes to StatefulSets",
                &self.staged_change_writes,
            ),
            (
                "ready_writes",
                "Writes that make the StatefulSet controller retry a Pod deletion",
                &self.ready_writes,
            ),
            ("report_writes", "Writes of ClaimRollouts", &self.report_writes),
            ("history_writes", "Writes of ControllerRevisions", &self.history_writes),
            ("events", "Published Events", &self.events),
            (
                "watch_errors",
                "Watches that failed or could not start",
                &self.watch_errors,
            ),
            (
                "request_failures",
                "Requests to the API server that failed or timed out",
                &self.request_failures,
            ),
        ] {
            registry.register(name, help, family.clone());
        }
        registry.register(
            "reconcile_failures",
            "Failed reconciles, which are requeued",
            self.reconcile_failures.clone(),
        );
    }

    fn register_gauges(&mut self) {
        let registry = &mut self.registry;
        for (name, help, family) in [
            (
                "watches",
                "Open watches: on PVCs and Pods one per namespace with a rollout (at most 16), and one for all others",
                &self.watches,
            ),
            (
                "failing_lists",
                "Lists and watches that have failed for a minute or longer; of admission, the namespaces that need them",
                &self.failing_lists,
            ),
            (
                "unreadable_objects",
                "Watched objects that cannot be read and are skipped; the log names them",
                &self.unreadable,
            ),
            (
                "rollouts",
                "ClaimRollouts, by the reason of their condition Ready",
                &self.rollouts,
            ),
            (
                "claims",
                "PVCs that are not ready, at most 50 of each rollout",
                &self.claims,
            ),
        ] {
            registry.register(name, help, family.clone());
        }
        registry.register_with_unit(
            "longest_standstill",
            "Time since the last progress of the rollout that has made none for longest, without paused ones",
            Unit::Seconds,
            self.standstill.clone(),
        );
        registry.register("leader", "1 while this controller leads, else 0", self.leader.clone());
        registry.register(
            "settings_differ",
            "Settings in which policy objects of Kubewarden differ from this controller, as last read",
            self.settings_differ.clone(),
        );
    }

    fn register_histograms(&mut self) {
        let registry = &mut self.registry;
        registry.register_with_unit(
            "reconcile",
            "Duration of a reconcile",
            Unit::Seconds,
            self.reconciles.clone(),
        );
        registry.register_with_unit(
            "request",
            "Time until the API server responded",
            Unit::Seconds,
            self.requests.clone(),
        );
    }

    pub(crate) fn claim_write(&self, outcome: &'static str) {
        self.claim_writes.get_or_create(&[("outcome", outcome)]).inc();
    }

    /// Counts a write to a StatefulSet: of the staged change, or of `ready`.
    pub(crate) fn set_write(&self, what: &str, outcome: &'static str) {
        let family = if what == "annotation ready" {
            &self.ready_writes
        } else {
            &self.staged_change_writes
        };
        family.get_or_create(&[("outcome", outcome)]).inc();
    }

    pub(crate) fn report_write(&self, outcome: &'static str) {
        self.report_writes.get_or_create(&[("outcome", outcome)]).inc();
    }

    pub(crate) fn history_write(&self, outcome: &'static str) {
        self.history_writes.get_or_create(&[("outcome", outcome)]).inc();
    }

    pub(crate) fn event(&self, reason: Reason) {
        self.events.get_or_create(&[("reason", reason.as_str())]).inc();
    }

    pub(crate) fn watch_error(&self, resource: &'static str) {
        self.watch_errors.get_or_create(&[("resource", resource)]).inc();
    }

    /// Counts a watch as open until the return value is dropped.
    pub(crate) fn watch(&self, resource: &'static str) -> WatchGauge {
        let [open, failing] =
            [&self.watches, &self.failing_lists].map(|family| family.get_or_create(&[("resource", resource)]).clone());
        open.inc();
        WatchGauge {
            open,
            failing,
            is_failing: false,
        }
    }

    /// Sets the number of namespaces for which it cannot be read what is registered for admission.
    pub(crate) fn admission_fails(&self, namespaces: usize) {
        let failing = self.failing_lists.get_or_create(&[("resource", ADMISSION)]);
        failing.set(i64::try_from(namespaces).unwrap_or(i64::MAX));
    }

    /// Counts the objects of one watch that cannot be read, until the return value is dropped.
    pub(crate) fn unreadable(&self, resource: &'static str) -> UnreadableGauge {
        UnreadableGauge {
            all: self.unreadable.get_or_create(&[("resource", resource)]).clone(),
            counted: AtomicI64::new(0),
        }
    }

    pub(crate) fn leads(&self, leads: bool) {
        self.leader.set(leads.into());
    }

    pub(crate) fn settings_differ(&self, count: usize) {
        self.settings_differ.set(i64::try_from(count).unwrap_or(i64::MAX));
    }

    pub(crate) fn reconciled(&self, seconds: f64) {
        self.reconciles.observe(seconds);
    }

    pub(crate) const fn replacements(&self) -> &ReplacementMetrics {
        &self.replacements
    }

    pub(crate) fn failure(&self) {
        self.reconcile_failures.inc();
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
            self.rollouts.get_or_create(&[("state", state)]).set(count);
        }
        let states = ClaimState::ALL.into_iter().zip(counts.claims);
        for (state, count) in states {
            self.claims.get_or_create(&[("state", state.as_str())]).set(count);
        }
        self.standstill.set(counts.standstill);
    }

    /// The metrics in the text format of OpenMetrics.
    ///
    /// # Errors
    /// None in practice: writing to a string does not fail.
    pub(crate) fn text(&self) -> Result<String, std::fmt::Error> {
        self.replacements.set_age();
        let mut text = String::new();
        encode(&mut text, &self.registry)?;
        Ok(text)
    }
}

#[cfg(test)]
#[path = "controller_tests.rs"]
mod tests;
