//! Gauges that count something until they are dropped.

use std::sync::atomic::{AtomicI64, Ordering};

use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge as AnyGauge;

use crate::metrics::{Label, number};

/// A number.
pub(super) type Gauge = AnyGauge<i64, AtomicI64>;

/// Numbers by the value of a label.
pub(super) type Gauges = Family<Label, Gauge>;

/// A watch that counts as open until it is dropped.
#[derive(Debug)]
pub(crate) struct WatchGauge {
    pub(crate) open: Gauge,
    pub(crate) failing: Gauge,
    pub(crate) is_failing: bool,
}

impl WatchGauge {
    /// Counts the watch as failing, or no longer.
    pub(crate) fn set_failing(&mut self, is_failing: bool) {
        if is_failing != self.is_failing {
            self.failing.inc_by(if is_failing { 1 } else { -1 });
            self.is_failing = is_failing;
        }
    }
}

impl Drop for WatchGauge {
    fn drop(&mut self) {
        self.open.dec();
        self.set_failing(false);
    }
}

/// The unreadable objects of one watch, which count until it is dropped.
#[derive(Debug)]
pub(crate) struct UnreadableGauge {
    pub(crate) all: Gauge,
    pub(crate) counted: AtomicI64,
}

impl UnreadableGauge {
    pub(crate) fn set(&self, count: usize) {
        let number = number(count);
        self.all.inc_by(number - self.counted.swap(number, Ordering::AcqRel));
    }
}

impl Drop for UnreadableGauge {
    fn drop(&mut self) {
        self.set(0);
    }
}
