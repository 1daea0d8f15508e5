//! Requests that change no template, in many shapes.

use std::fmt::Display;

use serde_json::{Value, json};

use crate::world::web::Web;

/// The arguments and the standard input of kubectl.
pub(super) struct Shape {
    pub(super) arguments: Vec<String>,
    pub(super) input: String,
}

/// A command line of kubectl.
fn typed(line: &str) -> Shape {
    given(line, "")
}

/// A command line of kubectl with standard input.
fn given(line: &str, input: &(impl Display + ?Sized)) -> Shape {
    Shape {
        arguments: line.split(' ').map(str::to_owned).collect(),
        input: input.to_string(),
    }
}

fn patch(kind: &str, patch: &Value) -> Shape {
    let mut shape = typed(&format!("patch statefulset web --type={kind} -p"));
    shape.arguments.push(patch.to_string());
    shape
}

fn merge(spec: &Value) -> Shape {
    patch("merge", &json!({"spec": spec}))
}

fn strategic(spec: &Value) -> Shape {
    patch("strategic", &json!({"spec": spec}))
}

fn metadata(metadata: &Value) -> Shape {
    patch("merge", &json!({"metadata": metadata}))
}

/// The template as a user writes it.
fn template(size: &str) -> Value {
    json!({"metadata": {"name": "data"}, "spec": {
        "accessModes": ["ReadWriteOnce"], "storageClassName": "expandable", "resources": {"requests": {"storage": size}},
    }})
}

/// The StatefulSet that nothing of ours concerns.
pub(super) fn plain() -> Web {
    Web::replicas(0).plain()
}

/// The same with a label.
fn labelled(key: &str, value: &str) -> Web {
    plain().with(&json!({"metadata": {"labels": {key: value}}}))
}

/// The same with a field that no release of Kubernetes has.
fn unknown(web: &Web) -> Web {
    web.spec(&json!({"volumeClaimUpdatePolicy": "InPlace"}))
}

/// All requests, in an order in which each one changes something.
pub(super) fn shapes() -> Vec<Shape> {
    [
        of_metadata(),
        of_spec(),
        of_pods(),
        of_templates(),
        of_managers(),
        of_whole_sets(),
        of_denials(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn of_metadata() -> Vec<Shape> {
    let node = json!([{"apiVersion": "v1", "kind": "Node", "name": "node-0", "uid": "NODE"}]);
    let mut owner = node.clone();
    owner[0]["controller"] = json!(true);
    let mut odd = typed("annotate statefulset web");
    odd.arguments
        .push("example.com/odd=\"a\\b\" \u{2603} {\u{7f}} \n tab\t".to_owned());
    vec![
        typed("label statefulset web a=1"),
        typed("label statefulset web a=2 b=3 --overwrite"),
        typed("label statefulset web b-"),
        typed("label statefulset web a=2 --overwrite"),
        typed("annotate statefulset web example.com/note=one"),
        typed("annotate statefulset web example.com/note=two --overwrite"),
        odd,
        typed("annotate statefulset web example.com/note-"),
        metadata(&json!({"finalizers": ["example.com/stays"]})),
        metadata(&json!({"finalizers": null})),
        metadata(&json!({"ownerReferences": node})),
        metadata(&json!({"ownerReferences": owner})),
        typed("label statefulset web owned=yes"),
        metadata(&json!({"ownerReferences": []})),
        metadata(&json!({})),
        metadata(&json!({"annotations": {}, "labels": {}})),
    ]
}

fn of_spec() -> Vec<Shape> {
    let status = json!({"status": {"conditions": [{"type": "Odd", "status": "True", "reason": "Test"}]}});
    let mut of_status = patch("merge", &status);
    of_status.arguments.push("--subresource=status".to_owned());
    vec![
        typed("scale statefulset web --replicas=1"),
        strategic(&json!({"replicas": 2})),
        typed("scale statefulset web --replicas=0 --current-replicas=2"),
        strategic(&json!({"updateStrategy": {"rollingUpdate": {"partition": 1}}})),
        strategic(&json!({"updateStrategy": {"rollingUpdate": {"partition": 0, "maxUnavailable": "50%"}}})),
        strategic(&json!({"updateStrategy": {"rollingUpdate": {"maxUnavailable": null}}})),
        strategic(&json!({"updateStrategy": {"type": "OnDelete", "rollingUpdate": null}})),
        strategic(&json!({"updateStrategy": {"type": "RollingUpdate"}})),
        merge(&json!({"minReadySeconds": 5})),
        merge(&json!({"minReadySeconds": null})),
        merge(&json!({"persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Delete", "whenScaled": "Delete"}})),
        merge(&json!({"persistentVolumeClaimRetentionPolicy": null})),
        merge(&json!({"revisionHistoryLimit": 3})),
        merge(&json!({"ordinals": {"start": 5}})),
        merge(&json!({"ordinals": null})),
        of_status,
    ]
}

fn of_pods() -> Vec<Shape> {
    let container = |more: &Value| {
        let mut container = json!({"name": "main"});
        container.as_object_mut().into_iter().for_each(|fields| {
            fields.extend(more.as_object().cloned().unwrap_or_default());
        });
        strategic(&json!({"template": {"spec": {"containers": [container]}}}))
    };
    let pods = |spec: &Value| strategic(&json!({"template": {"spec": spec}}));
    vec![
        typed("set image statefulset/web main=example/main:2"),
        typed("set env statefulset/web A=b C=d"),
        typed("set env statefulset/web C-"),
        typed("set resources statefulset web --limits=cpu=1,memory=1024Mi"),
        typed("set serviceaccount statefulset web default"),
        container(&json!({"resources": {"limits": {"cpu": "1000m", "memory": "1Gi"}}})),
        container(&json!({"ports": [{"containerPort": 80}], "command": ["sh", "-c", "echo \"$A\""]})),
        container(&json!({"env": [{"$patch": "delete", "name": "A"}]})),
        pods(&json!({"tolerations": [{"operator": "Exists"}], "nodeSelector": {"kubernetes.io/hostname": "node-0"}})),
        pods(&json!({"volumes": [{"name": "tmp", "emptyDir": {"sizeLimit": "0.5Gi"}}]})),
        pods(&json!({"volumes": [{"name": "tmp", "$patch": "delete"}]})),
        pods(&json!({"terminationGracePeriodSeconds": 5, "priority": null})),
        strategic(&json!({"template": {"metadata": {"annotations": {"claim-rollout.io/update-policy": "of a Pod"}}}})),
        strategic(&json!({"template": {"metadata": {"labels": {"tier": "a"}}}})),
        typed("rollout undo statefulset/web"),
        typed("rollout undo statefulset/web --to-revision=1"),
    ]
}

/// Requests that contain the same templates in other spellings.
fn of_templates() -> Vec<Shape> {
    let mut exported = template("1024Mi");
    exported["metadata"]["creationTimestamp"] = Value::Null;
    exported["spec"]["volumeMode"] = json!("Filesystem");
    exported["status"] = json!({"phase": "Pending"});
    let replace = |path: &str, value: &Value| {
        patch(
            "json",
            &json!([{"op": "replace", "path": format!("/spec/volumeClaimTemplates{path}"), "value": value}]),
        )
    };
    vec![
        merge(&json!({"volumeClaimTemplates": [template("1Gi")]})),
        strategic(&json!({"volumeClaimTemplates": [template("1048576Ki")]})),
        merge(&json!({"volumeClaimTemplates": [exported], "minReadySeconds": 1})),
        replace("", &json!([template("1Gi")])),
        // From here on the StatefulSet has an annotation of ours, which changes nothing either.
        typed("annotate statefulset web claim-rollout.io/update-policy=OnClaimDelete"),
        typed("annotate statefulset web claim-rollout.io/paused=false"),
        replace("/0/spec/resources/requests/storage", &json!("1024Mi")),
        typed("label statefulset web a=4 --overwrite"),
    ]
}

fn of_managers() -> Vec<Shape> {
    let apply = |manager: &str, label: &str, more: &str| {
        let set = json!({
            "apiVersion": "apps/v1", "kind": "StatefulSet",
            "metadata": {"name": "web", "labels": {"applied": label, manager: "yes"}},
        });
        let line = format!("apply --server-side --field-manager={manager}{more} -f -");
        given(&line, &set)
    };
    let whole = |more: &str| given(&format!("apply --server-side{more} -f -"), &plain());
    vec![
        apply("ada", "1", ""),
        apply("bob", "1", ""),
        apply("ada", "1", ""),
        apply("bob", "2", ""),
        apply("bob", "2", " --force-conflicts"),
        apply("ada", "3", " --force-conflicts --dry-run=server"),
        given("apply --server-side --field-manager=ada -f -", &labelled("ada", "no")),
        whole(" --force-conflicts"),
        whole(" --force-conflicts"),
        metadata(&json!({"managedFields": [{}]})),
    ]
}

fn of_whole_sets() -> Vec<Shape> {
    let labelled = |label: &str| labelled("whole", label);
    // The same with the keys in another order.
    let reordered = |label: &str| {
        let set: Value = labelled(label).value();
        let fields = set.as_object().into_iter().flatten().rev();
        let fields: Vec<String> = fields.map(|(key, value)| format!("\"{key}\": {value}")).collect();
        format!("{{{}}}", fields.join(",\n"))
    };
    let unknown = |label: &str| unknown(&labelled(label));
    vec![
        given("apply -f -", &labelled("one")),
        given("apply -f -", &labelled("one")),
        given("apply -f -", &labelled("two")),
        given("apply -f - --field-manager=cy", &reordered("two")),
        given("apply -f -", &reordered("three")),
        given("apply -f - --dry-run=server", &labelled("four")),
        given("apply -f - --validate=ignore", &unknown("five")),
        given("apply -f - --validate=warn", &unknown("six")),
        given("replace -f -", &labelled("seven")),
        given("replace -f -", &reordered("seven")),
        given("replace -f - --validate=ignore", &unknown("eight")),
        given("replace -f - --dry-run=server", &labelled("nine")),
    ]
}

/// Requests that the API server itself denies.
fn of_denials() -> Vec<Shape> {
    let unknown = unknown(&plain());
    vec![
        given("apply -f -", &unknown),
        given("apply --server-side --force-conflicts -f -", &unknown),
        merge(&json!({"serviceName": "another"})),
        merge(&json!({"podManagementPolicy": "Parallel"})),
        merge(&json!({"selector": {"matchLabels": {"app": "another"}}})),
        merge(&json!({"replicas": -1})),
        metadata(&json!({"resourceVersion": "1"})),
        metadata(&json!({"uid": "another"})),
        patch("json", &json!([{"op": "test", "path": "/spec/replicas", "value": 7}])),
        typed("delete statefulset web --dry-run=server"),
        typed("label statefulset other a=b"),
    ]
}
