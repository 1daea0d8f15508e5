use jiff::Timestamp;
use k8s_openapi::api::core::v1::Secret;
use serde_json::{Value, json};

use super::{TERMS, filled, publish, read};
use crate::webhook::certificates::Certificates;

fn made() -> Certificates {
    let now: Timestamp = "2026-03-01T12:00:00Z".parse().unwrap();
    Certificates::make(&["claim-rollout-webhook.claim-rollout.svc".to_owned()], now, None).unwrap()
}

/// The Secret in the manifests.
fn empty() -> Secret {
    let secret = json!({"metadata": {"name": "s", "resourceVersion": "7", "labels": {"a": "b"}}, "type": "Opaque"});
    serde_json::from_value(secret).unwrap()
}

#[test]
fn secret_complete_is_read_and_partial_is_not() {
    assert!(read(&empty()).is_none());
    let made = made();
    let secret = filled(empty(), &made);
    let known = read(&secret).unwrap();
    assert_eq!(known.terms, made.terms);
    assert_eq!(known.authorities, made.authorities);
    assert_eq!(known.identity, made.identity);
    assert_eq!(known.path, made.path);
    for key in ["ca.crt", "tls.crt", "tls.key", "path"] {
        let mut less = secret.clone();
        less.data.as_mut().unwrap().remove(key);
        assert!(read(&less).is_none(), "without {key}");
    }
    let mut anothers = secret.clone();
    let annotations = anothers.metadata.annotations.as_mut().unwrap();
    annotations.insert(TERMS.to_owned(), "{}".to_owned());
    assert!(read(&anothers).is_none());
    let mut emptied = secret;
    (emptied.data, emptied.metadata.annotations) = (None, None);
    assert_eq!(emptied, empty(), "nothing else was written");
}

#[test]
fn configuration_gets_certificates_and_path_only() {
    let made = made();
    let bundle = json!(k8s_openapi::ByteString(made.authorities.clone().into_bytes()));
    let under = |policy: &str| format!("/validate/{policy}/{}", made.path.as_str());
    let webhook = |client: Value| json!({"name": "sets.claim-rollout.io", "clientConfig": client, "future": [2]});
    for (before, after) in [
        (
            json!({"service": {"name": "s", "future": 1}}),
            json!({"service": {"name": "s", "future": 1, "path": under("sets")}}),
        ),
        (
            json!({"service": {"name": "s", "path": "/validate/other"}, "caBundle": "old"}),
            json!({"service": {"name": "s", "path": under("other")}}),
        ),
        (
            json!({"service": {"path": "/validate/other/before"}}),
            json!({"service": {"path": under("other")}}),
        ),
        (
            json!({"url": "https://127.0.0.1:1"}),
            json!({"url": format!("https://127.0.0.1:1{}", under("sets"))}),
        ),
        (
            json!({"url": "https://host/validate/other/before"}),
            json!({"url": format!("https://host{}", under("other"))}),
        ),
    ] {
        let case = before.to_string();
        let mut after = after;
        after["caBundle"] = bundle.clone();
        let mut configuration = json!({"webhooks": [webhook(before), webhook(after.clone())], "future": {}});
        assert!(publish(&mut configuration, &made), "{case}");
        let expected = json!({"webhooks": [webhook(after.clone()), webhook(after)], "future": {}});
        assert_eq!(configuration, expected, "{case}");
        assert!(
            !publish(&mut configuration, &made),
            "a second time there is nothing to do: {case}"
        );
    }
    assert!(!publish(&mut json!({"webhooks": []}), &made), "no webhooks");
}
