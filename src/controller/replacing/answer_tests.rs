use kube::core::Status;
use serde_json::{Value, json};

use super::{existing, read};
use crate::controller::calls::api_calls::outcome;

fn status(code: u16, body: Value) -> kube::Error {
    let mut status: Status = serde_json::from_value(body).expect("a status");
    status.code = code;
    kube::Error::Api(status.boxed())
}

/// The body of the API server for an object that does not exist.
fn absent(resource: &str, name: &str) -> Value {
    json!({"status": "Failure", "reason": "NotFound", "message": format!("{resource} {name:?} not found"),
        "details": {"name": name, "kind": resource}})
}

/// Only the API server names the object.
#[tokio::test]
async fn object_is_absent_only_if_the_answer_names_it() {
    for (row, code, body, is_absent) in [
        ("the API server", 404, absent("statefulsets", "web"), true),
        ("another name", 404, absent("statefulsets", "api"), false),
        ("another kind", 404, absent("namespaces", "web"), false),
        (
            "a proxy",
            404,
            json!({"message": "404 page not found", "reason": "Failed to parse error data"}),
            false,
        ),
        (
            "a proxy with JSON",
            404,
            json!({"reason": "NotFound", "message": "no route"}),
            false,
        ),
        ("expired", 410, absent("statefulsets", "web"), false),
        ("denied", 403, absent("statefulsets", "web"), false),
        ("no code", 0, absent("statefulsets", "web"), false),
        ("overloaded", 503, json!({}), false),
    ] {
        let found = read::<()>(("statefulsets", "web"), async { Err(status(code, body.clone())) }).await;
        assert_eq!(found.is_ok(), is_absent, "{row}: {found:?}");
        // A list exists always.
        let listed = existing::<()>("Pods", outcome(Err(status(code, body))));
        assert!(listed.is_err(), "{row}");
    }
    let found = read(("statefulsets", "web"), async { Ok(7) }).await;
    assert_eq!(found, Ok(Some(7)));
}
