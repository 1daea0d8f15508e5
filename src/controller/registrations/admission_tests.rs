use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::{Admission, FRESH, Idle, KnownAdmission, Labels, Registered, SlimSet, WithoutPolicy};
use crate::controller::fixtures::{recording, serving, silent};
use crate::templates::keys;

fn admission(client: Client, without: WithoutPolicy) -> Admission {
    Admission::new(client, Arc::default(), None, without, Arc::default())
}

fn rule(operations: &[&str]) -> Value {
    json!({"apiGroups": ["apps"], "apiVersions": ["v1"], "resources": ["statefulsets"], "operations": operations})
}

fn replacing_guard() -> Registered {
    let guard = json!({
        "metadata": {"name": "claim-rollout-replacing"},
        "spec": {"matchConstraints": {"resourceRules": [rule(&["UPDATE", "DELETE"])]}},
    });
    let spec = json!({"policyName": "claim-rollout-replacing", "validationActions": ["Deny"]});
    Registered {
        guards: vec![serde_json::from_value(guard).unwrap()],
        bindings: vec![serde_json::from_value(json!({"metadata": {}, "spec": spec})).unwrap()],
        ..Registered::default()
    }
}

#[tokio::test]
async fn replaced_set_is_guarded_iff_the_guard_is_known() {
    let forbidden = || Err("get is forbidden".to_owned());
    for (what, registered, labels, without, expected) in [
        (
            "the guard",
            replacing_guard(),
            Ok(Labels::new()),
            WithoutPolicy::Stall,
            true,
        ),
        (
            "none",
            Registered::default(),
            Ok(Labels::new()),
            WithoutPolicy::Stall,
            false,
        ),
        ("no right", replacing_guard(), forbidden(), WithoutPolicy::Stall, false),
        (
            "not asked",
            Registered::default(),
            forbidden(),
            WithoutPolicy::RollOut,
            true,
        ),
    ] {
        let admission = admission(silent(), without);
        *admission.known.lock().await = KnownAdmission {
            read: Some(Instant::now()),
            registered,
            labels: [("a".to_owned(), labels)].into(),
            ..KnownAdmission::default()
        };
        assert_eq!(admission.guards_replacing("a").await.unwrap(), expected, "{what}");
    }
}

/// A policy that was removed is noticed.
#[tokio::test]
async fn what_is_registered_is_read_again_after_a_while() {
    for (age, lists) in [(Duration::ZERO, 0), (FRESH / 2, 0), (FRESH, 4)] {
        let (client, received) = recording(|_| Some((200, json!({"metadata": {}, "items": []}))));
        let admission = admission(client, WithoutPolicy::Stall);
        *admission.known.lock().await = KnownAdmission {
            read: Some(Instant::now() - age),
            registered: replacing_guard(),
            labels: [("a".to_owned(), Ok(Labels::new()))].into(),
            ..KnownAdmission::default()
        };
        assert_eq!(admission.guards_replacing("a").await.unwrap(), lists == 0, "{age:?}");
        // A new list also reads the labels again.
        let expected = if lists == 0 { 0 } else { lists + 1 };
        assert_eq!(received.take().len(), expected, "{age:?}");
    }
}

#[test]
fn missing_right_is_the_reported_reason() {
    let forbidden = |what: &str| format!("{what} is forbidden");
    for (labels, unread, expected) in [
        (Ok(Labels::new()), None, None),
        (Ok(Labels::new()), Some(forbidden("list")), Some(forbidden("list"))),
        (Err(forbidden("get")), None, Some(forbidden("get"))),
        (Err(forbidden("get")), Some(forbidden("list")), Some(forbidden("get"))),
    ] {
        let known = KnownAdmission {
            labels: [("a".to_owned(), labels)].into(),
            unread,
            ..KnownAdmission::default()
        };
        let expected = Idle::PolicyMissing { unread: expected };
        assert_eq!(known.distrusts(&set("9"), "a").unwrap(), Some(expected));
    }
}

/// A StatefulSet whose templates were last written in this second of 1970.
fn set(second: &str) -> SlimSet {
    let fields = json!([{"manager": "helm", "time": format!("1970-01-01T00:00:0{second}Z"),
        "fieldsV1": {"f:spec": {"f:volumeClaimTemplates": {}}}}]);
    let metadata =
        json!({"name": "web", "namespace": "a", "annotations": {(keys::STAGED): "{}"}, "managedFields": fields});
    // It is parsed from text because the managed fields stay unparsed JSON.
    serde_json::from_str(&json!({"metadata": metadata}).to_string()).unwrap()
}

#[test]
fn change_from_before_the_policy_is_not_trusted() {
    let rule = rule(&["UPDATE"]);
    let configuration = json!({"metadata": {"creationTimestamp": "1970-01-01T00:00:05Z"},
        "webhooks": [{"name": "claim-rollout.claim-rollout.io", "rules": [rule]}]});
    let known = KnownAdmission {
        registered: Registered {
            configurations: vec![serde_json::from_value(configuration).unwrap()],
            ..Registered::default()
        },
        labels: [("a".to_owned(), Ok(Labels::new()))].into(),
        ..KnownAdmission::default()
    };
    for (second, expected) in [
        ("4", Some(Idle::StagedBeforePolicy)),
        ("5", None),
        ("6", None),
        ("x", Some(Idle::StagedBeforePolicy)),
    ] {
        assert_eq!(known.distrusts(&set(second), "a").unwrap(), expected, "{second}");
    }
}

/// A webhook of an earlier release of Kubewarden may convert its objects, and answer nothing.
#[tokio::test]
async fn policies_without_answer_stop_only_what_nothing_else_judges() {
    for (what, guard, known, expected) in [
        ("the guard is bound", true, false, Some(None)),
        ("a policy was known before", false, true, Some(None)),
        ("nothing", false, false, None),
    ] {
        let client = serving(move |request| {
            let rule = rule(&["UPDATE"]);
            let created = "1970-01-01T00:00:01Z";
            let named = |name: &str| json!({"name": name, "creationTimestamp": created});
            let (guards, bindings) = (
                json!([{"metadata": named("claim-rollout-staged"), "spec": {"matchConstraints": {"resourceRules": [rule]}}}]),
                json!([{"metadata": named("b"), "spec": {"policyName": "claim-rollout-staged", "validationActions": ["Deny"]}}]),
            );
            let webhooks = json!([{"metadata": named("kubewarden"), "webhooks": [
                {"name": "clusterwide-volumes.kubewarden.admission", "rules": [rule]}]}]);
            let items = |last: &str| match last {
                "validatingadmissionpolicies" if guard => guards,
                "validatingadmissionpolicybindings" if guard => bindings,
                "mutatingwebhookconfigurations" if known => webhooks,
                _ => json!([]),
            };
            let last = request.path.rsplit('/').next().unwrap_or_default();
            Some(match last {
                "clusteradmissionpolicies" => {
                    let message = "conversion webhook failed";
                    (
                        500,
                        json!({"kind": "Status", "status": "Failure", "code": 500, "message": message}),
                    )
                }
                "a" => (200, json!({"metadata": {"name": "a"}})),
                last => (200, json!({"metadata": {}, "items": items(last)})),
            })
        });
        let admission = admission(client, WithoutPolicy::Stall);
        if known {
            let rule = rule(&["UPDATE"]);
            let policy = json!({"metadata": {"name": "volumes"},
                "spec": {"module": "registry://x/claim-rollout:v1", "mutating": true, "rules": [rule]}});
            let policies = vec![serde_json::from_value(policy).unwrap()];
            admission.known.lock().await.registered.policies = policies;
        }
        let found = admission.distrusts(&set("9")).await;
        assert_eq!(found.as_ref().ok(), expected.as_ref(), "{what}: {found:?}");
        let guards_replacing = admission.guards_replacing("a").await;
        assert!(guards_replacing.is_ok(), "{what}: {guards_replacing:?}");
    }
}
