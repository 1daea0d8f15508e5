//! The types of metrics.

use std::sync::atomic::AtomicI64;

use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge as AnyGauge;

/// A label with its value.
pub(crate) type Label = [(&'static str, &'static str); 1];
/// A number.
pub(crate) type Gauge = AnyGauge<i64, AtomicI64>;

/// A family with all its members: Prometheus does not see the first increase of a counter that did not exist before.
pub(crate) fn family<M: Default>(label: &'static str, values: &[&'static str]) -> Family<Label, M> {
    let family = Family::default();
    for value in values {
        drop(family.get_or_create(&[(label, *value)]));
    }
    family
}
