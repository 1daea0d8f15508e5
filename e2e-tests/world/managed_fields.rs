//! Managed fields that are hard to read.

use serde_json::{Value, json};

/// The API server normalises it, and serves a year that no other clock shows.
const LATE: &str = "9999-12-31T23:59:59-12:00";

/// Managed fields with a late time, and nested deeper than parsers with a limit read.
pub(crate) fn managed_fields(api_version: &str) -> [Value; 2] {
    let nested = (0..200).fold(json!({}), |inner, _| json!({ "f:a": inner }));
    [(LATE, json!({"f:metadata": {}})), ("2026-01-01T00:00:00Z", nested)].map(|(time, fields)| {
        json!([{
            "manager": "tenant", "operation": "Update", "apiVersion": api_version, "time": time,
            "fieldsType": "FieldsV1", "fieldsV1": fields,
        }])
    })
}
