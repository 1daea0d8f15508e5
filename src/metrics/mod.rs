//! Metrics for Prometheus. Each is described once: its name, its type, its labels and its text.

use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;

/// A label with its value.
pub(crate) type Label = [(&'static str, &'static str); 1];

/// Counters by the value of a label.
pub(crate) type Counters = Family<Label, Counter>;

/// Defines a struct of metrics, whose fields have the names of the metrics. `new` registers them in this order.
macro_rules! families {
    (
        $(#[$attribute:meta])*
        struct $name:ident {
            $($field:ident: $type:ty = $made:expr, $help:literal $(in $unit:ident)?;)*
        }
    ) => {
        $(#[$attribute])*
        #[derive(Debug)]
        struct $name {
            $($field: $type,)*
        }

        impl $name {
            fn new(registry: &mut prometheus_client::registry::Registry) -> Self {
                $(
                    let $field: $type = $made;
                    families!(@register registry, $field, $help $(, $unit)?);
                )*
                Self { $($field,)* }
            }
        }
    };
    (@register $registry:ident, $field:ident, $help:literal) => {
        $registry.register(stringify!($field), $help, $field.clone());
    };
    (@register $registry:ident, $field:ident, $help:literal, $unit:ident) => {
        let unit = prometheus_client::registry::Unit::$unit;
        $registry.register_with_unit(stringify!($field), $help, unit, $field.clone());
    };
}
pub(crate) use families;

/// A family with all its members: Prometheus does not see the first increase of a counter that did not exist before.
pub(crate) fn family<M: Default>(label: &'static str, values: &[&'static str]) -> Family<Label, M> {
    let family = Family::default();
    for value in values {
        drop(family.get_or_create(&[(label, *value)]));
    }
    family
}

/// A count as the value of a gauge.
pub(crate) fn number(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// The metrics in the text format of OpenMetrics.
///
/// # Errors
/// None in practice: writing to a string does not fail.
pub(crate) fn text(registry: &Registry) -> Result<String, std::fmt::Error> {
    let mut text = String::new();
    encode(&mut text, registry)?;
    Ok(text)
}

/// The answer to Prometheus.
pub(crate) fn answer(text: Result<String, std::fmt::Error>) -> Response {
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    match text {
        Ok(text) => ([(header::CONTENT_TYPE, kind)], text).into_response(),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
    }
}
