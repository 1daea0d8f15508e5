//! The metrics of replacements.

use std::collections::{BTreeMap, HashSet};
use std::sync::{Arc, Mutex};

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;
use tokio::time::Instant;

use super::gauges::Gauge;
use crate::controller::locking::lock;
use crate::metrics::{Counters, families, family, number};

/// How a replacement can end.
const OUTCOMES: [&str; 6] = ["replaced", "nothing", "refused", "foreign", "absent", "stopped"];

/// When each replacement in progress began.
type Begun = Arc<Mutex<BTreeMap<u64, Instant>>>;

families! {
    /// What is counted and measured of replacements.
    struct ReplacementFamilies {
        replacements: Counters = family("outcome", &OUTCOMES), "Ended replacements of StatefulSets";
        replacement_stalls: Counter = Counter::default(),
            "Steps of replacements that were denied, or wait for longer than a minute";
        set_absent: Histogram = Histogram::new([0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 60.0]),
            "Time for which a StatefulSet did not exist while it was replaced" in Seconds;
        replacing: Gauge = Gauge::default(), "StatefulSets that are being replaced";
        replacement_places: Gauge = Gauge::default(),
            "Places that replacements have, of 16; one that waits for others for longer than usual has none";
        replacements_waiting: Gauge = Gauge::default(),
            "Replacements that wait for a place, or for the garbage collector to do its work for another one";
        oldest_replacement: Gauge = Gauge::default(), "Age of the oldest replacement in progress; 0 without one" in Seconds;
        absent_sets: Gauge = Gauge::default(),
            "StatefulSets that do not exist, because their replacement has not yet created them again";
        refused_journals: Gauge = Gauge::default(),
            "Journals of replacements that cannot be read or that a backup brought back";
    }
}

/// The metrics of replacements.
#[derive(Debug)]
pub(crate) struct ReplacementMetrics {
    families: ReplacementFamilies,
    begun: Begun,
    /// The sets that were let go and are yet to be created.
    are_absent: Mutex<HashSet<String>>,
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

impl ReplacementMetrics {
    pub(super) fn new(registry: &mut Registry) -> Self {
        Self {
            families: ReplacementFamilies::new(registry),
            begun: Begun::default(),
            are_absent: Mutex::default(),
        }
    }

    /// Notes whether the set was let go and is yet to be created.
    pub(crate) fn set_is_absent(&self, namespace: &str, name: &str, is_absent: bool) {
        let mut absent = lock(&self.are_absent);
        if is_absent {
            absent.insert(format!("{namespace}/{name}"));
        } else {
            absent.remove(&format!("{namespace}/{name}"));
        }
        self.families.absent_sets.set(number(absent.len()));
    }

    /// Notes how many journals are refused.
    pub(crate) fn refused_journals(&self, count: usize) {
        self.families.refused_journals.set(number(count));
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
        self.families.replacement_places.set(number(places));
        self.families.replacements_waiting.set(number(waiting));
    }

    pub(crate) fn ended(&self, outcome: &'static str) {
        self.families.replacements.get_or_create(&[("outcome", outcome)]).inc();
    }

    pub(crate) fn stalled(&self) {
        self.families.replacement_stalls.inc();
    }

    pub(crate) fn absent(&self, seconds: f64) {
        self.families.set_absent.observe(seconds);
    }

    /// Sets the gauges to the present state.
    pub(crate) fn set_age(&self) {
        let begun = lock(&self.begun);
        self.families.replacing.set(number(begun.len()));
        let oldest = begun.values().map(Instant::elapsed).max().unwrap_or_default();
        self.families
            .oldest_replacement
            .set(i64::try_from(oldest.as_secs()).unwrap_or(i64::MAX));
    }
}
