use serde_json::{Value, json};

use super::{Labels, Registered, SetKind};
use crate::api::Settings;
use crate::rollout::fixtures::rows;

fn labels(namespace: &str) -> Labels {
    let tenant = if namespace == "system" { "no" } else { "yes" };
    let pairs = [("kubernetes.io/metadata.name", namespace), ("tenant", tenant)];
    pairs.map(|(key, value)| (key.to_owned(), value.to_owned())).into()
}

fn rule() -> Value {
    json!({"apiGroups": ["apps"], "apiVersions": ["v1"], "resources": ["statefulsets"], "operations": ["CREATE", "UPDATE"]})
}

fn kruise_rule() -> Value {
    json!({"apiGroups": ["apps.kruise.io"], "apiVersions": ["v1beta1"], "resources": ["statefulsets"], "operations": ["UPDATE"]})
}

/// The webhook that Kubewarden creates for the shipped policy, with a change.
fn webhook(change: fn(&mut Value)) -> Registered {
    let mut webhook = json!({
        "name": "clusterwide-claim-rollout.kubewarden.admission", "rules": [rule()],
        // Defaults of the API server.
        "namespaceSelector": {}, "objectSelector": {},
    });
    change(&mut webhook);
    let configuration = json!({"metadata": {"name": "any"}, "webhooks": [webhook]});
    Registered {
        configurations: vec![serde_json::from_value(configuration).unwrap()],
        ..Registered::default()
    }
}

/// The guard and its binding, with a change.
fn guard(change: fn(&mut Value, &mut Value)) -> Registered {
    guard_with(change)
}

fn guard_with(change: impl Fn(&mut Value, &mut Value)) -> Registered {
    let mut policy = json!({
        "metadata": {"name": "claim-rollout-staged"},
        "spec": {"matchConstraints": {"resourceRules": [rule()], "namespaceSelector": {}, "objectSelector": {}}},
    });
    let mut binding = json!({
        "metadata": {"name": "any"},
        "spec": {"policyName": "claim-rollout-staged", "validationActions": ["Deny"]},
    });
    change(&mut policy, &mut binding);
    Registered {
        guards: vec![serde_json::from_value(policy).unwrap()],
        bindings: vec![serde_json::from_value(binding).unwrap()],
        ..Registered::default()
    }
}

/// A policy object with a change, a merge patch. It is parsed from text because its settings stay unparsed JSON.
fn policy(change: &str) -> super::KubewardenPolicy {
    let mut policy = json!({
        "metadata": {"name": "volumes"},
        "spec": {"module": "registry://example.com/claim-rollout/policy:v1", "mutating": true, "rules": [rule()]},
    });
    json_patch::merge(&mut policy, &serde_json::from_str(change).unwrap());
    serde_json::from_str(&policy.to_string()).unwrap()
}

fn is_judged(registered: &Registered) -> bool {
    registered.judges_since(SetKind::Apps, &labels("a")).is_some()
}

type WebhookRow = (&'static str, fn(&mut Value), bool);
type GuardRow = (&'static str, fn(&mut Value, &mut Value), [bool; 2]);

/// A change of the webhook, and whether it then judges the namespace `a`.
#[rustfmt::skip]
const WEBHOOKS: [WebhookRow; 15] = [
    ("of Kubewarden", |_| {}, true),
    ("built in", |it| it["name"] = json!("claim-rollout.claim-rollout.io"), true),
    ("of a tenant", |it| it["name"] = json!("namespaced-a-claim-rollout.kubewarden.admission"), false),
    ("of a tenant's group", |it| it["name"] = json!("namespaced-group-a-claim-rollout.kubewarden.admission"), false),
    ("somebody else's", |it| it["name"] = json!("clusterwide-labels.kubewarden.admission"), false),
    ("of another domain", |it| it["name"] = json!("labels.claim-rollout.io"), false),
    ("for new PVCs", |it| it["rules"][0]["resources"] = json!(["persistentvolumeclaims"]), false),
    ("for another group", |it| it["rules"][0]["apiGroups"] = json!(["apps.kruise.io"]), false),
    ("for deletions", |it| it["rules"][0]["operations"] = json!(["DELETE"]), false),
    ("for everything", |it| it["rules"] = json!([{"apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*/*"], "operations": ["*"]}]), true),
    ("for this namespace", |it| it["namespaceSelector"] = json!({"matchLabels": {"kubernetes.io/metadata.name": "a"}}), true),
    ("for others", |it| it["namespaceSelector"] = json!({"matchExpressions": [{"key": "tenant", "operator": "NotIn", "values": ["yes"]}]}), false),
    ("for a selector of tomorrow", |it| it["namespaceSelector"] = json!({"matchExpressions": [{"key": "tenant", "operator": "Like", "values": ["y"]}]}), false),
    ("for some objects", |it| it["objectSelector"] = json!({"matchLabels": {"judge": "me"}}), false),
    ("for objects of the cluster", |it| it["rules"][0]["scope"] = json!("Cluster"), false),
];

/// A change of the guard and its binding, and whether the part `staged` then judges the namespace `a`, and the part
/// `replacing` keeps a StatefulSet there that is being replaced.
#[rustfmt::skip]
const GUARDS: [GuardRow; 23] = [
    ("bound", |_, _| {}, [true, true]),
    ("of one installation", |guard, binding| (guard["metadata"]["name"], binding["spec"]["policyName"]) = (json!("claim-rollout-staged-a"), json!("claim-rollout-staged-a")), [true, false]),
    ("another policy", |guard, binding| (guard["metadata"]["name"], binding["spec"]["policyName"]) = (json!("claim-rollout-controller"), json!("claim-rollout-controller")), [false, false]),
    ("of another name", |guard, binding| (guard["metadata"], binding["spec"]["policyName"]) = (json!({"name": "volumes", "labels": {"claim-rollout.io/guard": "staged"}}), json!("volumes")), [true, false]),
    ("another part of another name", |guard, binding| (guard["metadata"], binding["spec"]["policyName"]) = (json!({"name": "volumes", "labels": {"claim-rollout.io/guard": "replacing"}}), json!("volumes")), [false, true]),
    ("not bound", |_, binding| binding["spec"]["policyName"] = json!("other"), [false, false]),
    ("bound to warn", |_, binding| binding["spec"]["validationActions"] = json!(["Warn", "Audit"]), [false, false]),
    ("bound to deny and audit", |_, binding| binding["spec"]["validationActions"] = json!(["Audit", "Deny"]), [true, true]),
    ("bound here", |_, binding| binding["spec"]["matchResources"] = json!({"namespaceSelector": {"matchLabels": {"tenant": "yes"}}}), [true, true]),
    ("bound elsewhere", |_, binding| binding["spec"]["matchResources"] = json!({"namespaceSelector": {"matchLabels": {"tenant": "no"}}}), [false, false]),
    ("bound for some objects", |_, binding| binding["spec"]["matchResources"] = json!({"objectSelector": {"matchLabels": {"judge": "me"}}}), [false, false]),
    ("bound but for StatefulSets", |_, binding| binding["spec"]["matchResources"] = json!({"excludeResourceRules": [rule()]}), [false, false]),
    ("bound for some rules", |_, binding| binding["spec"]["matchResources"] = json!({"resourceRules": [rule()]}), [false, false]),
    ("for other kinds", |guard, _| guard["spec"]["matchConstraints"]["resourceRules"][0]["resources"] = json!(["deployments"]), [false, false]),
    ("but for StatefulSets", |guard, _| guard["spec"]["matchConstraints"]["excludeResourceRules"] = json!([rule()]), [false, false]),
    ("for StatefulSets of one name", |guard, _| guard["spec"]["matchConstraints"]["resourceRules"][0]["resourceNames"] = json!(["web"]), [false, false]),
    ("for CREATE", |guard, _| guard["spec"]["matchConstraints"]["resourceRules"][0]["operations"] = json!(["CREATE"]), [false, false]),
    ("not for DELETE", |guard, _| guard["spec"]["matchConstraints"]["resourceRules"][0]["operations"] = json!(["CREATE", "UPDATE"]), [true, false]),
    ("not for UPDATE", |guard, _| guard["spec"]["matchConstraints"]["resourceRules"][0]["operations"] = json!(["DELETE"]), [false, false]),
    ("for some objects", |guard, _| guard["spec"]["matchConstraints"]["objectSelector"] = json!({"matchLabels": {"judge": "me"}}), [false, false]),
    ("that fails closed", |guard, _| guard["spec"]["failurePolicy"] = json!("Fail"), [true, true]),
    ("that fails open", |guard, _| guard["spec"]["failurePolicy"] = json!("Ignore"), [false, false]),
    ("for other namespaces", |guard, _| guard["spec"]["matchConstraints"]["namespaceSelector"] = json!({"matchLabels": {"tenant": "no"}}), [false, false]),
];

#[test]
fn webhook_for_updates_of_statefulsets_judges_its_namespaces() {
    for (which, change, expected) in WEBHOOKS {
        assert_eq!(is_judged(&webhook(change)), expected, "{which}");
    }
    assert!(!is_judged(&Registered::default()), "none");
}

#[test]
fn guard_judges_and_keeps_where_it_is_bound() {
    for (which, change, expected) in GUARDS {
        let replacing = guard_with(|policy, binding| {
            policy["metadata"]["name"] = json!("claim-rollout-replacing");
            let operations = json!(["CREATE", "UPDATE", "DELETE"]);
            policy["spec"]["matchConstraints"]["resourceRules"][0]["operations"] = operations;
            binding["spec"]["policyName"] = json!("claim-rollout-replacing");
            change(policy, binding);
        });
        let found = [is_judged(&guard(change)), replacing.keeps_replaced(&labels("a"))];
        assert_eq!(found, expected, "{which}");
    }
    for registered in [Registered::default(), webhook(|_| {})] {
        assert!(!registered.keeps_replaced(&labels("a")), "no guard");
    }
}

/// The objects that judge the namespace are as old as these seconds; the least counts.
#[test]
fn namespace_is_judged_since_the_oldest_object() {
    let at = |second: u8| json!(format!("1970-01-01T00:00:{second:02}Z"));
    let webhook = |second: u8| {
        let mut registered = webhook(|_| {});
        registered.configurations[0].metadata.creation_timestamp = serde_json::from_value(at(second)).unwrap();
        registered
    };
    let guard = |policy: u8, bindings: &[u8]| {
        let mut registered = guard(|_, _| {});
        registered.guards[0].metadata.creation_timestamp = serde_json::from_value(at(policy)).unwrap();
        let binding = registered.bindings.remove(0);
        registered.bindings = bindings
            .iter()
            .map(|second| {
                let mut binding = binding.clone();
                binding.metadata.creation_timestamp = serde_json::from_value(at(*second)).unwrap();
                binding
            })
            .collect();
        registered
    };
    let both = |webhook: Registered, guard: Registered| Registered {
        configurations: webhook.configurations,
        ..guard
    };
    for (which, registered, expected) in [
        ("the policy", webhook(5), Some(5)),
        ("the guard", guard(5, &[6]), Some(6)),
        ("the guard, bound before it was there", guard(5, &[4]), Some(5)),
        ("the guard, bound twice", guard(5, &[8, 7]), Some(7)),
        ("the guard, not bound", guard(5, &[]), None),
        ("the older policy", both(webhook(5), guard(6, &[6])), Some(5)),
        (
            "the older guard: the webhook was created anew",
            both(webhook(9), guard(5, &[5])),
            Some(5),
        ),
        (
            "the older policy: the binding was created anew",
            both(webhook(5), guard(4, &[9])),
            Some(5),
        ),
    ] {
        assert_eq!(
            registered.judges_since(SetKind::Apps, &labels("a")),
            expected,
            "{which}"
        );
    }
}

#[test]
fn sets_of_openkruise_are_judged_by_rules_for_their_group() {
    let both = || webhook(|it| it["rules"] = json!([rule(), kruise_rule()]));
    for (which, registered, expected) in [
        ("a webhook for apps/v1", webhook(|_| {}), false),
        (
            "a webhook for its group",
            webhook(|it| it["rules"] = json!([kruise_rule()])),
            true,
        ),
        ("a webhook for both", both(), true),
        ("the guard for apps/v1", guard(|_, _| {}), false),
        (
            "the guard for its group",
            guard(|guard, _| {
                guard["metadata"]["labels"] = json!({"claim-rollout.io/guard": "openkruise"});
                guard["spec"]["matchConstraints"]["resourceRules"] = json!([kruise_rule()]);
            }),
            true,
        ),
        (
            "another part of the guard",
            guard(|guard, _| guard["spec"]["matchConstraints"]["resourceRules"] = json!([kruise_rule()])),
            false,
        ),
    ] {
        assert_eq!(
            registered.judges_since(SetKind::OpenKruise, &labels("a")).is_some(),
            expected,
            "{which}"
        );
    }
    assert!(is_judged(&both()));
}

/// The name of a webhook, a change of the policy object `volumes`, and whether the webhook is ours.
const MODULES: &str = r#"
    no policy object            | clusterwide-volumes.kubewarden.admission  |                                                  | false
    its policy object           | clusterwide-volumes.kubewarden.admission  | {}                                               | true
    that of a namespace         | namespaced-a-volumes.kubewarden.admission | {"metadata": {"namespace": "a"}}                 | false
    of one name in a namespace  | clusterwide-volumes.kubewarden.admission  | {"metadata": {"namespace": "a"}}                 | false
    of a namespace, and cluster | namespaced-a-volumes.kubewarden.admission | {}                                               | false
    another module              | clusterwide-volumes.kubewarden.admission  | {"spec": {"module": "registry://example.com/x"}} | false
    one that is validating      | clusterwide-volumes.kubewarden.admission  | {"spec": {"mutating": false}}                    | false
"#;

#[test]
fn webhook_of_another_name_is_ours_by_its_module() {
    for [which, name, change, expected] in rows(MODULES) {
        let mut registered = webhook(|_| {});
        name.clone_into(&mut registered.configurations[0].webhooks[0].name);
        registered.policies.extend((!change.is_empty()).then(|| policy(change)));
        assert_eq!(is_judged(&registered).to_string(), expected, "{which}");
    }
}

/// A change of a policy object, our settings, the namespace of the controller, and the differences.
const SETTINGS: &str = r#"
    the same                   | {"spec": {"settings": {"shrink": "Recover", "pvcChecks": "Warn"}}} | {"shrink": "Recover"} | |
    another                    | {"spec": {"settings": {"shrink": "Recover", "pvcChecks": "Warn"}}} | {} |   | shrink: expected Deny, but found Recover
    another for the namespace  | {"spec": {"settings": {"shrink": "Recover", "pvcChecks": "Warn"}}} | {} | a | shrink: expected Deny, but found Recover
    none are the defaults      | {}                                                                 | {} |   |
    none, and we have one      | {}                                   | {"maxPVCLookups": 5} |   | maxPVCLookups: expected 5, but found 20
    invalid ones               | {"spec": {"settings": {"mode": "Divert"}}} | {} | | settings: mode: expected one of Stage, ValidateOnly, but found "Divert"
    for other namespaces       | {"spec": {"settings": {"shrink": "Recover"}, "namespaceSelector": {"matchLabels": {"tenant": "no"}}}} | {} | a |
    of a policy of a namespace | {"spec": {"settings": {"shrink": "Recover"}}, "metadata": {"namespace": "a"}} | {} | a |
    that warns of a retention policy | {"spec": {"settings": {"mode": "ValidateOnly"}, "mutating": false}} | {} | |
"#;

#[test]
fn settings_of_policy_objects_are_compared_with_ours() {
    for [which, change, settings, namespace, expected] in rows(SETTINGS) {
        let policies = vec![policy(change)];
        let registered = Registered {
            policies,
            ..Registered::default()
        };
        let namespace = Some(namespace).filter(|namespace| !namespace.is_empty()).map(labels);
        let found = registered.differing(&Settings::read(settings).unwrap(), namespace.as_ref());
        let expected = Some(format!("volumes: {expected}")).filter(|_| !expected.is_empty());
        assert_eq!(found, expected.into_iter().collect::<Vec<_>>(), "{which}");
    }
}
