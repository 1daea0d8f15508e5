//! Generated reviews: whole ones, made of parts that belong together, with some parts that do not.
//!
//! The source of choices decides the review: a seed in `reviews_generated.rs`, or a coverage-guided fuzzer in `fuzz/`,
//! which compiles this folder too.

pub(crate) mod choices;
pub(crate) mod cluster;
mod edits;
mod forged;
mod set;
mod settings;
pub(crate) mod spelling;
mod staged;
pub(crate) mod values;

use serde_json::{Value, json};

use choices::Choices;
use cluster::Cluster;
use edits::EditContext;
use set::{annotate, put};
use values::{CONTROLLER, NAMESPACE, SET, TEXTS};

/// A review, and the cluster that answers its lookups.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) request: Value,
    pub(crate) settings: Value,
    pub(crate) cluster: Cluster,
}

impl Case {
    /// The payload of `validate`.
    pub(crate) fn payload(&self) -> Value {
        json!({"request": self.request, "settings": self.settings})
    }
}

/// Any review. From an exhausted source: an UPDATE that changes nothing.
pub(crate) fn case(choices: &mut dyn Choices) -> Case {
    let settings = settings::settings(choices);
    let mut old = set::set(choices);
    let context = EditContext {
        staged: staged(&mut old, choices),
        manager: choices.word(&["kubectl", "helm", ""]),
    };
    let cluster = match choices.below(8) {
        7 => Cluster::around(&cluster::with_retention(&old, choices), choices),
        _ => Cluster::around(&old, choices),
    };
    let mut request = match choices.below(28) {
        16..=17 => create(&old, choices),
        18..=19 => cluster::claim_request(choices),
        20 => cluster::scale_request(choices),
        21..=22 => kruise(&old, context, choices),
        23 => other(&old, choices),
        24..=26 => cluster::pod_request(choices),
        _ => update(&old, context, choices),
    };
    request["uid"] = json!("0c1f6d2e-6f0a-4a55-9d0e-3f8b1a1c2d4e");
    request["dryRun"] = json!(choices.one_in(4));
    if choices.one_in(64) {
        let part = *choices.pick(&[
            "userInfo",
            "options",
            "operation",
            "kind",
            "name",
            "namespace",
            "object",
            "oldObject",
        ]);
        request[part] = values::trouble(choices);
    }
    Case {
        request,
        settings,
        cluster,
    }
}

/// Adds a staged change to the StatefulSet, sometimes a forged one, sometimes with the annotations beside it.
fn staged(set: &mut Value, choices: &mut dyn Choices) -> Option<(Value, String)> {
    if choices.one_in(3) {
        annotate(set, "claim-rollout.io/update-policy", "InPlace");
    }
    if !choices.one_in(2) {
        return None;
    }
    let (templates, change) = staged::target(set, choices)?;
    let written = if choices.one_in(6) {
        forged::forged(&change, choices)
    } else {
        change.clone()
    };
    annotate(set, "claim-rollout.io/staged", &written);
    if choices.one_in(4) {
        let phases = ["RollingOut", "Complete", "Staged", "x"];
        annotate(set, "claim-rollout.io/phase", choices.word(&phases));
        annotate(set, "claim-rollout.io/ready", &ready(&change, choices));
    }
    Some((templates, change))
}

/// The annotation `ready`: of the staged change, or of another revision.
fn ready(change: &str, choices: &mut dyn Choices) -> String {
    let change: Value = serde_json::from_str(change).unwrap_or_default();
    let revision = change["revision"].as_str().unwrap_or_default();
    (*choices.pick(&[&*format!("{revision}.0"), &*format!("{revision}.2"), "x.1", "x"])).to_owned()
}

fn update(old: &Value, mut context: EditContext, choices: &mut dyn Choices) -> Value {
    let mut object = old.clone();
    for _ in 0..choices.below(5) {
        edits::edit(&mut object, &mut context, choices);
    }
    let mut request = about_set("UPDATE", choices);
    request["options"] = json!({"kind": "UpdateOptions", "fieldManager": context.manager});
    request["object"] = object;
    request["oldObject"] = old.clone();
    request
}

/// The creation of a StatefulSet, or an audit scan: without an old object.
fn create(old: &Value, choices: &mut dyn Choices) -> Value {
    let mut context = EditContext {
        staged: None,
        manager: "kubectl",
    };
    let mut object = old.clone();
    for _ in 0..choices.below(3) {
        edits::edit(&mut object, &mut context, choices);
    }
    let mut request = about_set("CREATE", choices);
    request["object"] = object;
    if choices.one_in(4) {
        request["userInfo"] = Value::Null;
    }
    request
}

/// A StatefulSet of OpenKruise.
fn kruise(old: &Value, context: EditContext, choices: &mut dyn Choices) -> Value {
    let mut request = update(old, context, choices);
    request["kind"]["group"] = json!("apps.kruise.io");
    request["kind"]["version"] = json!("v1beta1");
    for part in ["object", "oldObject"] {
        if !choices.one_in(16) {
            put(
                &mut request,
                &format!("/{part}/apiVersion"),
                json!("apps.kruise.io/v1beta1"),
            );
        }
        let strategies = ["OnPodRollingUpdate", "OnPVCDelete", "x"];
        if choices.one_in(2) {
            let strategy = json!({"type": *choices.pick(&strategies)});
            put(
                &mut request,
                &format!("/{part}/spec/volumeClaimUpdateStrategy"),
                strategy,
            );
        }
    }
    request
}

/// Operations and kinds that do not concern the policy.
fn other(old: &Value, choices: &mut dyn Choices) -> Value {
    let operation = *choices.pick(&["DELETE", "CONNECT", "PATCH", "UPDATE"]);
    let mut request = about_set(operation, choices);
    request["oldObject"] = old.clone();
    match choices.below(4) {
        0 => {}
        1 => request["subResource"] = json!("status"),
        2 => request["kind"]["kind"] = json!("Deployment"),
        _ => request["object"] = values::trouble(choices),
    }
    request
}

/// A request about the StatefulSet, without objects.
fn about_set(operation: &str, choices: &mut dyn Choices) -> Value {
    let kind = json!({"group": "apps", "version": "v1", "kind": "StatefulSet"});
    let users = ["alice", "alice", "alice", CONTROLLER, "robot", ""];
    let user = if choices.one_in(24) {
        *choices.pick(&TEXTS)
    } else {
        *choices.pick(&users)
    };
    json!({
        "kind": kind, "requestKind": kind, "resource": {"group": "apps", "version": "v1", "resource": "statefulsets"},
        "operation": operation, "name": SET, "namespace": NAMESPACE,
        "userInfo": {"username": user, "groups": ["developers", "system:authenticated"]},
        "object": null, "oldObject": null,
    })
}
