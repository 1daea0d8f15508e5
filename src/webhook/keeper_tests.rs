use k8s_openapi::jiff::Timestamp;
use serde_json::json;

use super::{Keeping, TERMS, read, set_bundle};
use crate::webhook::certificates::Certificates;

fn keeping() -> Keeping {
    Keeping {
        namespace: "claim-rollout".to_owned(),
        name: "claim-rollout".to_owned(),
        names: vec!["claim-rollout-webhook.claim-rollout.svc".to_owned()],
    }
}

#[test]
fn what_was_written_is_read_again_and_half_of_it_is_nothing() {
    let now: Timestamp = "2026-03-01T12:00:00Z".parse().unwrap();
    let made = Certificates::make(&keeping().names, now, "").unwrap();
    let secret = keeping().written(&made, Some("7".to_owned()));
    assert_eq!(secret.metadata.resource_version.as_deref(), Some("7"));
    let known = read(&secret).unwrap();
    assert_eq!(known.terms, made.terms);
    assert_eq!(known.authorities, made.authorities);
    assert_eq!(known.identity.certificates, made.identity.certificates);
    assert_eq!(known.identity.key, made.identity.key);
    for key in ["ca.crt", "tls.crt", "tls.key"] {
        let mut less = secret.clone();
        less.data.as_mut().unwrap().remove(key);
        assert!(read(&less).is_none(), "without {key}");
    }
    let mut anothers = secret.clone();
    anothers
        .metadata
        .annotations
        .as_mut()
        .unwrap()
        .insert(TERMS.to_owned(), "{}".to_owned());
    assert!(read(&anothers).is_none());
}

#[test]
fn only_the_bundle_of_a_configuration_changes() {
    let webhook = |bundle: &str| json!({"name": "a", "clientConfig": {"service": {"name": "s", "future": 1}, "caBundle": bundle}, "future": [2]});
    let mut configuration = json!({"webhooks": [webhook("old"), webhook("new")], "future": {}});
    assert!(set_bundle(&mut configuration, &json!("new")));
    assert_eq!(
        configuration,
        json!({"webhooks": [webhook("new"), webhook("new")], "future": {}})
    );
    assert!(
        !set_bundle(&mut configuration, &json!("new")),
        "a second time there is nothing to do"
    );
    assert!(!set_bundle(&mut json!({}), &json!("new")), "no webhooks");
}
