//! A request that changes no template and leaves our annotations alone passes unchanged, however its JSON is written.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::case::{Case, create, delete, update};
use super::objects::{Object, web};

pub(super) fn cases() -> Vec<Case> {
    [edits(), spellings(), unread(), others()].into_iter().flatten().collect()
}

/// Edits that do not concern PVCs.
fn plain() -> Vec<(&'static str, &'static str, Value)> {
    vec![
        ("nothing", "/metadata/labels/app", json!("web")),
        ("a label", "/metadata/labels/team", json!("storage")),
        ("no labels", "/metadata/labels", Value::Null),
        ("an annotation", "/metadata/annotations/example.com~1note", json!("new")),
        ("an annotation that looks like ours", "/metadata/annotations/claim-rollout.example.com~1staged", json!("{}")),
        ("an annotation in a domain below ours", "/metadata/annotations/x.claim-rollout.io~1staged", json!("{}")),
        ("a finalizer", "/metadata/finalizers", json!(["example.com/wait"])),
        ("a deletion", "/metadata/deletionTimestamp", json!("2026-01-01T00:00:00Z")),
        ("an owner", "/metadata/ownerReferences", json!([{"kind": "ConfigMap", "name": "a", "uid": "a"}])),
        (
            "managed fields",
            "/metadata/managedFields",
            json!([{"manager": "x", "operation": "Apply", "fieldsV1": {"f:spec": {"f:volumeClaimTemplates": {}}}}]),
        ),
        ("no managed fields", "/metadata/managedFields", json!([])),
        ("the generation", "/metadata/generation", json!(2)),
        ("an unknown field of the metadata", "/metadata/partOfTheFuture", json!([{"a": 1e300}])),
        ("the replicas", "/spec/replicas", json!(7)),
        ("no replicas", "/spec/replicas", json!(0)),
        ("the name of the service", "/spec/serviceName", json!("other")),
        ("the selector", "/spec/selector/matchLabels/tier", json!("a")),
        ("the ordinals", "/spec/ordinals", json!({"start": 5})),
        ("the history", "/spec/revisionHistoryLimit", json!(1)),
        ("the seconds of readiness", "/spec/minReadySeconds", json!(30)),
        ("the management of Pods", "/spec/podManagementPolicy", json!("Parallel")),
        ("the retention policy", "/spec/persistentVolumeClaimRetentionPolicy", json!({"whenDeleted": "Delete", "whenScaled": "Delete"})),
        ("a higher partition", "/spec/updateStrategy/rollingUpdate/partition", json!(2)),
        ("an unknown field of the spec", "/spec/fieldOfTheFuture", json!({"volumeClaimTemplates": [{"metadata": {"name": "x"}}]})),
        ("the status", "/status", json!({"replicas": 1, "conditions": [{"type": "x", "status": "True"}]})),
        ("no status", "/status", Value::Null),
        ("an unknown field of the set", "/partOfTheFuture", json!({"metadata": {"annotations": {"claim-rollout.io/staged": "x"}}})),
        ("numbers of every kind", "/spec/fieldOfTheFuture", json!([0, -1, 1.5, 1e-300, u64::MAX, i64::MIN])),
        ("texts of every kind", "/spec/fieldOfTheFuture", json!(["", "\u{0}\u{1f}\u{7f}", "\u{2028}\u{feff}", "\u{1F600}", "\"\\/"])),
        ("an image", "/spec/template/spec/containers/0/image", json!("example/main:2")),
        ("a restart", "/spec/template/metadata/annotations/kubectl.kubernetes.io~1restartedAt", json!("2026-01-01T00:00:00Z")),
        ("an unknown field of the Pods", "/spec/template/spec/partOfTheFuture", json!(1)),
        ("Pods are replaced by hand", "/spec/updateStrategy", json!({"type": "OnDelete"})),
        ("a strategy of the future", "/spec/updateStrategy", json!({"type": "Recreate"})),
    ]
}

fn edits() -> Vec<Case> {
    let rolling = web().in_place().staged(&web().size("20Gi"));
    let mut cases = Vec::new();
    for (what, pointer, value) in plain() {
        for (whose, set) in
            [("of a set", web()), ("of a set that is managed", web().in_place()), ("of a set that is being rolled out", rolling.clone())]
        {
            let new = set.clone().with(pointer, value.clone());
            cases.push(update("U0", format!("{what}: {whose}"), &set, &new).manager("kubectl-edit").shipped().expects("pass"));
            cases.push(update("U0", format!("{what}, undone: {whose}"), &new, &set).manager("kubectl-edit").shipped().expects("pass"));
        }
    }
    cases
}

/// The spelling of a value.
#[derive(Clone, Copy, Debug)]
enum Spelling {
    /// Keys in reverse order.
    Reversed,
    /// One value per line.
    Pretty,
    /// Every character of every text as a number.
    Escaped,
}

fn write(value: &Value, spelling: Spelling, text: &mut String) {
    let space = if matches!(spelling, Spelling::Pretty) { "\r\n\t " } else { "" };
    match value {
        Value::Object(fields) => {
            let mut fields: Vec<(&String, &Value)> = fields.iter().collect();
            if matches!(spelling, Spelling::Reversed) {
                fields.reverse();
            }
            text.push('{');
            for (index, (key, value)) in fields.into_iter().enumerate() {
                text.push_str(if index > 0 { "," } else { "" });
                text.push_str(space);
                write(&Value::from(key.as_str()), spelling, text);
                text.push_str(space);
                text.push(':');
                write(value, spelling, text);
            }
            text.push('}');
        }
        Value::Array(items) => {
            text.push('[');
            for (index, item) in items.iter().enumerate() {
                text.push_str(if index > 0 { "," } else { "" });
                write(item, spelling, text);
                text.push_str(space);
            }
            text.push(']');
        }
        Value::String(string) if matches!(spelling, Spelling::Escaped) => {
            text.push('"');
            string.encode_utf16().for_each(|unit| write!(text, "\\u{unit:04x}").expect("a text takes all"));
            text.push('"');
        }
        other => text.push_str(&other.to_string()),
    }
}

/// The same object, or an edited one, in another spelling.
fn spellings() -> Vec<Case> {
    let rolling = web().in_place().staged(&web().size("20Gi"));
    let mut cases = Vec::new();
    for spelling in [Spelling::Reversed, Spelling::Pretty, Spelling::Escaped] {
        for (whose, old) in [("a set", web()), ("a set that is managed", web().in_place()), ("a set that is being rolled out", rolling.clone())]
        {
            for (what, new) in [("as it is", old.clone()), ("with a label more", old.clone().with("/metadata/labels/a", "b"))] {
                let mut text = String::new();
                write(&new.0, spelling, &mut text);
                let case =
                    update("U0", format!("{whose}, {what}, written otherwise: {spelling:?}"), &old, &new).manager("kubectl-edit").shipped().asking("/object", "OBJECT");
                cases.push(case.respelt(|payload| payload.replace("\"OBJECT\"", &text)).expects("pass"));
                let mut whole = String::new();
                let request = update("U0", "", &old, &new).request;
                write(&json!({"request": request, "settings": {}}), spelling, &mut whole);
                let case = update("U0", format!("{whose}, {what}, all of it written otherwise: {spelling:?}"), &old, &new);
                cases.push(case.payload(whole).expects("pass"));
            }
        }
    }
    cases
}

/// Templates that the API server accepts and the policy cannot read pass while they stay as they are.
fn unread() -> Vec<Case> {
    let twice = |set: Object| set.with("/spec/volumeClaimTemplates/1/metadata/name", "data");
    let size = |set: Object| set.size("1e30");
    let shape = |set: Object| set.data("/partOfTheFuture", 1);
    let table: [(&str, &dyn Fn(Object) -> Object); 3] = [("two templates of one name", &twice), ("a size beyond all counts", &size), ("a part of the future", &shape)];
    let mut cases = Vec::new();
    for (what, odd) in table {
        for (whose, set) in [("of a set", odd(web())), ("of a set that is managed", odd(web().in_place())), ("of a set with a forged staged change", odd(web().note("staged", "{}")))] {
            let case = update("U0", format!("{what} {whose}"), &set, &set.clone().replicas(5));
            cases.push(case.expects(if whose.ends_with("staged change") { "mutate -staged warns \"expected version 1\"" } else { "pass" }));
        }
        let [old, new] = [odd(web()), odd(web()).with("/spec/volumeClaimTemplates/1/metadata/labels/a", "b")];
        cases.push(update("U3", format!("{what}, and it changes"), &old, &new).expects("deny 403 \"request.\""));
    }
    cases
}

/// Kinds other than StatefulSets, with any operation.
fn others() -> Vec<Case> {
    let mut cases = Vec::new();
    for (group, version, kind, resource) in [
        ("", "v1", "Pod", "pods"),
        ("", "v1", "ConfigMap", "configmaps"),
        ("", "v1", "Service", "services"),
        ("apps", "v1", "Deployment", "deployments"),
        ("apps", "v1", "ReplicaSet", "replicasets"),
        ("apps", "v1", "ControllerRevision", "controllerrevisions"),
        ("storage.k8s.io", "v1", "StorageClass", "storageclasses"),
        ("claim-rollout.io", "v1alpha1", "ClaimRollout", "claimrollouts"),
    ] {
        let object = Object(json!({"apiVersion": "x", "kind": kind, "metadata": {"name": "web", "annotations": {"claim-rollout.io/sync": "x"}},
            "spec": {"volumeClaimTemplates": "whatever"}, "data": {"a": "b"}}));
        let about = |case: Case| case.of_kind(group, version, kind, resource).shipped().expects("pass");
        cases.push(about(create("C3", format!("{kind} is created"), &object)));
        cases.push(about(update("C3", format!("{kind} is changed"), &object, &object.clone().with("/data", 1))));
        cases.push(about(delete("C3", format!("{kind} is deleted"), &object)));
        cases.push(about(delete("C3", format!("{kind} is connected to"), &object).asking("/operation", "CONNECT")));
    }
    cases
}
