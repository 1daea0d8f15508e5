//! `claim_rollout_*` for Prometheus. No label names a set or a claim: their number is bounded by this file.

use std::sync::atomic::AtomicI64;

use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};

use crate::rollout::Reason;

type Label = [(&'static str, &'static str); 1];

/// Everything that is counted.
#[derive(Debug)]
pub(super) struct Metrics {
    registry: Registry,
    claim_writes: Family<Label, Counter>,
    record_writes: Family<Label, Counter>,
    partition_writes: Family<Label, Counter>,
    report_writes: Family<Label, Counter>,
    history_writes: Family<Label, Counter>,
    events: Family<Label, Counter>,
    watch_errors: Family<Label, Counter>,
    rollouts: Family<Label, Gauge<i64, AtomicI64>>,
    watches: Family<Label, Gauge<i64, AtomicI64>>,
    leader: Gauge<i64, AtomicI64>,
    looks: Histogram,
    failures: Counter,
}

/// Something that is counted while it is there.
#[derive(Debug)]
pub(super) struct Open(Gauge<i64, AtomicI64>);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.dec();
    }
}

impl Default for Metrics {
    fn default() -> Self {
        let looks = Histogram::new([0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0]);
        let mut metrics = Self {
            registry: Registry::with_prefix("claim_rollout"),
            claim_writes: Family::default(),
            record_writes: Family::default(),
            partition_writes: Family::default(),
            report_writes: Family::default(),
            history_writes: Family::default(),
            events: Family::default(),
            watch_errors: Family::default(),
            rollouts: Family::default(),
            watches: Family::default(),
            leader: Gauge::default(),
            looks,
            failures: Counter::default(),
        };
        metrics.register();
        metrics
    }
}

impl Metrics {
    fn register(&mut self) {
        let Self { registry, .. } = self;
        registry.register(
            "claim_writes",
            "Server-side applies on claims, by outcome",
            self.claim_writes.clone(),
        );
        registry.register(
            "record_writes",
            "Writes of a set's record, by outcome",
            self.record_writes.clone(),
        );
        registry.register(
            "partition_writes",
            "Writes of a set's partition, by outcome",
            self.partition_writes.clone(),
        );
        registry.register(
            "report_writes",
            "Writes of ClaimRollouts, by outcome",
            self.report_writes.clone(),
        );
        registry.register(
            "history_writes",
            "Writes of ControllerRevisions, by outcome",
            self.history_writes.clone(),
        );
        registry.register("events", "Events, by reason", self.events.clone());
        registry.register(
            "watch_errors",
            "Watches that broke or could not begin, by resource",
            self.watch_errors.clone(),
        );
        registry.register(
            "rollouts",
            "ClaimRollouts, by the reason of their condition Ready",
            self.rollouts.clone(),
        );
        registry.register(
            "watches",
            "Open watches, by resource: on claims and Pods one for each namespace with a rollout in progress",
            self.watches.clone(),
        );
        registry.register("leader", "1 while this controller leads, else 0", self.leader.clone());
        registry.register_with_unit(
            "look",
            "Time to look at a set and act",
            Unit::Seconds,
            self.looks.clone(),
        );
        registry.register(
            "look_failures",
            "Looks at a set that failed and are repeated",
            self.failures.clone(),
        );
    }

    pub(super) fn claim_write(&self, outcome: &'static str) {
        self.claim_writes.get_or_create(&[("outcome", outcome)]).inc();
    }

    pub(super) fn record_write(&self, outcome: &'static str) {
        self.record_writes.get_or_create(&[("outcome", outcome)]).inc();
    }

    pub(super) fn partition_write(&self, outcome: &'static str) {
        self.partition_writes.get_or_create(&[("outcome", outcome)]).inc();
    }

    pub(super) fn report_write(&self, outcome: &'static str) {
        self.report_writes.get_or_create(&[("outcome", outcome)]).inc();
    }

    pub(super) fn history_write(&self, outcome: &'static str) {
        self.history_writes.get_or_create(&[("outcome", outcome)]).inc();
    }

    pub(super) fn event(&self, reason: Reason) {
        self.events.get_or_create(&[("reason", reason.as_str())]).inc();
    }

    pub(super) fn watch_error(&self, resource: &'static str) {
        self.watch_errors.get_or_create(&[("resource", resource)]).inc();
    }

    /// Counts a watch for as long as what is returned is kept.
    pub(super) fn watch(&self, resource: &'static str) -> Open {
        let watches = self.watches.get_or_create(&[("resource", resource)]).clone();
        watches.inc();
        Open(watches)
    }

    pub(super) fn leads(&self, leads: bool) {
        self.leader.set(leads.into());
    }

    pub(super) fn look(&self, seconds: f64) {
        self.looks.observe(seconds);
    }

    pub(super) fn failure(&self) {
        self.failures.inc();
    }

    /// Sets how many rollouts there are in each state.
    pub(super) fn rollouts<'a>(&self, states: impl Iterator<Item = &'a str>) {
        let mut counts = [0_i64; STATES.len()];
        for state in states {
            let index = STATES
                .iter()
                .position(|known| *known == state)
                .unwrap_or(STATES.len() - 1);
            counts[index] += 1;
        }
        for (state, count) in STATES.into_iter().zip(counts) {
            self.rollouts.get_or_create(&[("state", state)]).set(count);
        }
    }

    /// The text that Prometheus reads.
    ///
    /// # Errors
    /// None that can happen: writing to a string does not fail.
    pub(super) fn text(&self) -> Result<String, std::fmt::Error> {
        let mut text = String::new();
        encode(&mut text, &self.registry)?;
        Ok(text)
    }
}

/// The states of a rollout; all others are the last one.
const STATES: [&str; 10] = [
    "RollingOut",
    "Complete",
    "Paused",
    "Partitioned",
    "OnDelete",
    "OnClaimDelete",
    "ClaimRefused",
    "ClaimForeign",
    "ClaimInfeasible",
    "Other",
];

#[cfg(test)]
mod tests {
    use super::Metrics;

    #[test]
    fn labels_are_bounded_and_every_state_is_there() {
        let metrics = Metrics::default();
        metrics.rollouts(["RollingOut", "Complete", "Complete", "anything else"].into_iter());
        metrics.claim_write("done");
        let text = metrics.text().expect("a string");
        for line in [
            "claim_rollout_rollouts{state=\"Complete\"} 2",
            "claim_rollout_rollouts{state=\"Paused\"} 0",
            "claim_rollout_rollouts{state=\"Other\"} 1",
            "claim_rollout_claim_writes_total{outcome=\"done\"} 1",
        ] {
            assert!(text.contains(line), "{text}");
        }
    }
}
