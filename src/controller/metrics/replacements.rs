//! The metrics of replacements.

use std::collections::{BTreeMap, HashSet};
use std::sync::{Arc, Mutex};

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};
use tokio::time::Instant;

use super::families::{Gauge, Label, family};
use crate::controller::locking::lock;

/// How a replacement can end.
const OUTCOMES: [&str; 6] = ["replaced", "nothing", "refused", "foreign", "absent", "stopped"];

/// When each replacement in progress began.
type Begun = Arc<Mutex<BTreeMap<u64, Instant>>>;

/// The metrics of replacements.
#[derive(Debug)]
pub(crate) struct ReplacementMetrics {
    ended: Family<Label, Counter>,
    stalled: Counter,
    absent: Histogram,
    running: Gauge,
    places: Gauge,
    waiting: Gauge,
    oldest: Gauge,
    begun: Begun,
    absent_sets: Gauge,
    /// The sets that were let go and are yet to be created.
    are_absent: Mutex<HashSet<String>>,
    refused_journals: Gauge,
}

/// A replacement counts as running until this is dropped.
pub(crate) struct ReplacementTimer {
    begun: Begun,
    number: u64,
}

impl Drop for ReplacementTimer {
    fn drop(&mut self) {
        lock(&self.begun).remove(&self.number);
    }
}

impl Default for ReplacementMetrics {
    fn default() -> Self {
        Self {
            ended: family("outcome", &OUTCOMES),
            stalled: Counter::default(),
            absent: Histogram::new([0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 60.0]),
            running: Gauge::default(),
            places: Gauge::default(),
            waiting: Gauge::default(),
            oldest: Gauge::default(),
            begun: Begun::default(),
            absent_sets: Gauge::default(),
            are_absent: Mutex::default(),
            refused_journals: Gauge::default(),
        }
    }
}

impl ReplacementMetrics {
    pub(crate) fn register(&self, registry: &mut Registry) {
        registry.register("replacements", "Ended replacements of StatefulSets", self.ended.clone());
        registry.register(
            "replacement_stalls",
            "Steps of replacements that were denied, or wait for longer than a minute",
            self.stalled.clone(),
        );
        registry.register_with_unit(
            "set_absent",
            "Time for which a StatefulSet did not exist while it was replaced",
            Unit::Seconds,
            self.absent.clone(),
        );
        registry.register(
            "replacing",
            "StatefulSets that are being replaced",
            self.running.clone(),
        );
        registry.register(
            "replacement_places",
            "Places that replacements have, of 16; one that waits for others for longer than usual has none",
            self.places.clone(),
        );
        registry.register(
            "replacements_waiting",
            "Replacements that wait for a place, or for the garbage collector to do its work for another one",
            self.waiting.clone(),
        );
        registry.register_with_unit(
            "oldest_replacement",
            "Age of the oldest replacement in progress; 0 without one",
            Unit::Seconds,
            self.oldest.clone(),
        );
        registry.register(
            "absent_sets",
            "StatefulSets that do not exist, because their replacement has not yet created them again",
            self.absent_sets.clone(),
        );
        registry.register(
            "refused_journals",
            "Journals of replacements that cannot be read or that a backup brought back",
            self.refused_journals.clone(),
        );
    }

    /// Notes whether the set was let go and is yet to be created.
    pub(crate) fn set_is_absent(&self, namespace: &str, name: &str, is_absent: bool) {
        let mut absent = lock(&self.are_absent);
        if is_absent {
            absent.insert(format!("{namespace}/{name}"));
        } else {
            absent.remove(&format!("{namespace}/{name}"));
        }
        self.absent_sets.set(i64::try_from(absent.len()).unwrap_or(i64::MAX));
    }

    /// Notes how many journals are refused.
    pub(crate) fn refused_journals(&self, count: usize) {
        self.refused_journals.set(i64::try_from(count).unwrap_or(i64::MAX));
    }

    /// Counts a replacement as running until the return value is dropped.
    pub(crate) fn begin(&self) -> ReplacementTimer {
        let mut begun = lock(&self.begun);
        let number = begun.last_key_value().map_or(0, |(number, _)| number + 1);
        begun.insert(number, Instant::now());
        ReplacementTimer {
            begun: Arc::clone(&self.begun),
            number,
        }
    }

    pub(crate) fn queued(&self, places: usize, waiting: usize) {
        let number = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
        self.places.set(number(places));
        self.waiting.set(number(waiting));
    }

    pub(crate) fn ended(&self, outcome: &'static str) {
        self.ended.get_or_create(&[("outcome", outcome)]).inc();
    }

    pub(crate) fn stalled(&self) {
        self.stalled.inc();
    }

    pub(crate) fn absent(&self, seconds: f64) {
        self.absent.observe(seconds);
    }

    /// Sets the gauges to the present state.
    pub(crate) fn set_age(&self) {
        let begun = lock(&self.begun);
        self.running.set(i64::try_from(begun.len()).unwrap_or(i64::MAX));
        let oldest = begun.values().map(Instant::elapsed).max().unwrap_or_default();
        self.oldest.set(i64::try_from(oldest.as_secs()).unwrap_or(i64::MAX));
    }
}
