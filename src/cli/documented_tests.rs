//! Makes every request in the tables of docs/settings.md, with the setting in its row, and compares the answers.

use serde_json::{Value, json};

use super::recorded::Recorded;
use crate::admission::{Edit, Remarks, Settings, Verdict, admit};
use crate::rollout::fixtures::staged_change;
use crate::templates::{ClaimTemplate, Phase, StagedChange, UpdatePolicy, keys};
use crate::wire::decode;

const DOCUMENT: &str = include_str!("../../docs/settings.md");
const UID: &str = "6c4a6a3e-0000-4000-8000-000000000001";
const CONTROLLER: &str = "system:serviceaccount:storage:rollouts";
const SET_CONTROLLER: &str = "system:serviceaccount:kube-system:statefulset-controller";

/// One row: the request, and the existing objects.
struct DocumentedRequest {
    user: &'static str,
    operation: &'static str,
    old: Value,
    new: Value,
    options: Value,
    exists: Vec<Value>,
    /// Settings that the row assumes.
    beside: Value,
}

fn template(size: &str, change: impl Fn(&mut Value)) -> Value {
    let mut template = json!({"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": size}}}});
    change(&mut template);
    template
}

fn sized(size: &str) -> Value {
    template(size, |_| {})
}

fn classed(field: &str, class: &str, size: &str) -> Value {
    template(size, |template| template["spec"][field] = class.into())
}

fn labelled(key: &str, value: &str, size: &str) -> Value {
    template(size, |template| template["metadata"]["labels"] = json!({key: value}))
}

fn set(replicas: u32, template: &Value) -> Value {
    json!({"apiVersion": "apps/v1", "kind": "StatefulSet",
        "metadata": {"name": "web", "namespace": "shop", "uid": UID, "annotations": {}},
        "spec": {"replicas": replicas, "selector": {"matchLabels": {}}, "volumeClaimTemplates": [template]}})
}

/// A set with `target` staged.
fn staged(live: &Value, target: &Value, phase: Phase) -> Value {
    let change = StagedChange {
        manager: "helm".to_owned(),
        phase,
        uid: UID.to_owned(),
        ..staged_change(ClaimTemplate::list_from_value(json!([target])).expect("a template"))
    };
    let mut set = set(3, live);
    set["metadata"]["annotations"][keys::STAGED] = change.write().expect("short").into();
    set
}

fn claim(ordinal: u32, request: &str, capacity: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim",
        "metadata": {"name": format!("data-web-{ordinal}"), "namespace": "shop", "uid": format!("claim-{ordinal}")},
        "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "fast", "resources": {"requests": {"storage": request}}},
        "status": {"phase": "Bound", "capacity": {"storage": capacity}}})
}

fn class(expands: bool) -> Value {
    json!({"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "fast"},
        "provisioner": "csi.example.com", "allowVolumeExpansion": expands})
}

fn may_patch(user: &str, allowed: bool) -> Value {
    json!({"kind": "SubjectAccessReview", "status": {"allowed": allowed}, "spec": {"user": user,
        "resourceAttributes": {"namespace": "shop", "verb": "patch", "resource": "persistentvolumeclaims"}}})
}

/// alice, who may patch claims, changes the set.
fn change(old: Value, new: Value) -> DocumentedRequest {
    DocumentedRequest {
        user: "alice",
        operation: "UPDATE",
        old,
        new,
        options: json!({"fieldManager": "kubectl"}),
        exists: vec![may_patch("alice", true)],
        beside: json!({"pvcChecks": "Ignore"}),
    }
}

fn from_10(new: &Value) -> DocumentedRequest {
    change(set(3, &sized("10Gi")), set(3, new))
}

/// The words of the document after a prefix, without the backquotes.
fn after<'a>(request: &'a str, prefix: &str) -> Option<&'a str> {
    request.strip_prefix(prefix).map(|rest| rest.trim_matches('`'))
}

/// A change of the templates.
fn template_change(section: &str, words: &str) -> Option<DocumentedRequest> {
    if matches!(section, "ownedSets" | "stageOwnedBy" | "authority") {
        let mut request = from_10(&sized(after(words, "storage from 10Gi to ")?));
        if section != "authority" {
            let owner = json!([{"apiVersion": "monitoring.coreos.com/v1", "kind": "Prometheus", "name": "p", "uid": "p", "controller": true}]);
            request.old["metadata"]["ownerReferences"] = owner.clone();
            request.new["metadata"]["ownerReferences"] = owner;
        } else {
            (request.user, request.exists) = ("bob", vec![may_patch("bob", false)]);
        }
        return Some(request);
    }
    if let Some(size) = after(words, "storage from 10Gi to ") {
        return Some(from_10(&sized(size)));
    }
    let class_to = |class: &str, size: &str| {
        let [old, new] = ["10Gi", size].map(|size| set(3, &classed("storageClassName", class, size)));
        change(old, new)
    };
    if let Some(size) = after(words, "class `fast`, storage to ") {
        return Some(class_to("fast", size));
    }
    if let Some(size) = after(words, "class `slow`, storage to ") {
        return Some(class_to("slow", size));
    }
    if let Some(to) = after(words, "class from `silver` to ") {
        let attributes = |class| set(3, &classed("volumeAttributesClassName", class, "10Gi"));
        return Some(change(attributes("silver"), attributes(to)));
    }
    if let Some(key) = after(words, "the label ").and_then(|rest| rest.strip_suffix("` is added")) {
        return Some(from_10(&labelled(key, "x", "10Gi")));
    }
    let label = |value, size| set(3, &labelled("version", value, size));
    Some(match words {
        "another storage class" => from_10(&classed("storageClassName", "another", "10Gi")),
        "another volume name" => from_10(&classed("volumeName", "another", "10Gi")),
        "a label from `1.0` to `1.1`" => change(label("1.0", "10Gi"), label("1.1", "10Gi")),
        "the same, and storage from 10Gi to 20Gi" => change(label("1.0", "10Gi"), label("1.1", "20Gi")),
        _ => return None,
    })
}

/// Where 10Gi is live and 1Ti is staged.
fn taken_back(words: &str) -> Option<DocumentedRequest> {
    let (size, capacities) = match words {
        "storage 20Gi" => ("20Gi", &[][..]),
        "storage 20Gi, all PVCs have 10Gi" => ("20Gi", &["10Gi", "10Gi", "10Gi"][..]),
        "storage 20Gi, one PVC has 1Ti" => ("20Gi", &["10Gi", "10Gi", "1Ti"][..]),
        "storage 20Gi, all PVCs have 1Ti" => ("20Gi", &["1Ti", "1Ti", "1Ti"][..]),
        "storage 5Gi" => ("5Gi", &[][..]),
        _ => return None,
    };
    let old = staged(&sized("10Gi"), &sized("1Ti"), Phase::RollingOut);
    let mut new = old.clone();
    new["spec"]["volumeClaimTemplates"] = json!([sized(size)]);
    let mut request = change(old, new);
    let claims = (0..)
        .zip(capacities)
        .map(|(ordinal, capacity)| claim(ordinal, "1Ti", capacity));
    request.exists.extend(claims);
    Some(request)
}

/// A growth of existing claims.
fn checked(words: &str) -> Option<DocumentedRequest> {
    let (replicas, expands) = match words {
        "growth, and the class does not expand" => (3, false),
        "growth of a StatefulSet with 30 PVCs" => (30, true),
        "growth, and one of the 20 would not follow, with `pvcChecks: Deny`" => (30, true),
        _ => return None,
    };
    let [old, new] = ["10Gi", "20Gi"].map(|size| set(replicas, &sized(size)));
    let mut request = change(old, new);
    request.exists.push(class(expands));
    request
        .exists
        .extend((0..replicas).map(|ordinal| claim(ordinal, "10Gi", "10Gi")));
    request.beside = json!({"defaultUpdatePolicy": "InPlace"});
    if words.ends_with("Deny`") {
        request.beside["pvcChecks"] = "Deny".into();
        let last = request.exists.last_mut().expect("a claim");
        last["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
    }
    Some(request)
}

/// A request after which a retention policy deletes claims.
fn retained(words: &str) -> Option<DocumentedRequest> {
    let mut old = set(3, &sized("10Gi"));
    old["spec"]["persistentVolumeClaimRetentionPolicy"] = json!({"whenDeleted": "Delete", "whenScaled": "Delete"});
    let mut new = old.clone();
    new["spec"]["replicas"] = 2.into();
    let mut request = change(old, new);
    request
        .exists
        .extend((0..3).map(|ordinal| claim(ordinal, "10Gi", "10Gi")));
    request.beside = json!({"mode": "ValidateOnly"});
    match words {
        "from 3 replicas to 2" => {}
        "`kubectl delete --cascade=orphan`" => {
            (request.operation, request.new) = ("DELETE", Value::Null);
            request.options = json!({"propagationPolicy": "Orphan"});
        }
        _ => return None,
    }
    Some(request)
}

/// A user who has all rights, or none, sets an annotation.
fn annotation_set(key: &str, value: &str, may_do_all: bool) -> DocumentedRequest {
    let mut request = from_10(&sized("10Gi"));
    request.new["metadata"]["annotations"][key] = value.into();
    request.exists = vec![may_do("alice", may_do_all)];
    request
}

/// A user with all rights adds a template.
fn added(replace_set: &str) -> DocumentedRequest {
    let mut request = annotation_set(keys::REPLACE_SET, replace_set, true);
    let mut more = sized("1Gi");
    more["metadata"]["name"] = "more".into();
    let templates = request.new["spec"]["volumeClaimTemplates"].as_array_mut();
    templates.expect("templates").push(more);
    request
}

/// The review of all rights.
fn may_do(user: &str, all: bool) -> Value {
    let mut rights = may_patch(user, all);
    for part in ["verb", "group", "resource", "subresource"] {
        rights["spec"]["resourceAttributes"][part] = "*".into();
    }
    rights
}

/// A request that depends on who makes it.
fn by_account(words: &str) -> Option<DocumentedRequest> {
    let [rolling, complete] =
        [Phase::RollingOut, Phase::Complete].map(|phase| staged(&sized("10Gi"), &sized("20Gi"), phase));
    let completed = |user| DocumentedRequest {
        user,
        ..change(rolling, complete.clone())
    };
    let creation = |user| {
        let mut created = claim(3, "10Gi", "10Gi");
        created["status"] = Value::Null;
        DocumentedRequest {
            user,
            operation: "CREATE",
            exists: vec![complete.clone()],
            ..change(Value::Null, created)
        }
    };
    Some(match words {
        "that account marks a staged change as complete" => completed(CONTROLLER),
        "anybody else does" => completed("alice"),
        "that account creates a PVC" => creation(SET_CONTROLLER),
        "a user creates a PVC of the same name" => creation("alice"),
        "the annotation is set to `ReCreate`" => annotation_set(keys::UPDATE_POLICY, "ReCreate", true),
        "the annotation `replace-set` is set to `WhenComplete`" => {
            annotation_set(keys::REPLACE_SET, "WhenComplete", true)
        }
        "a template is added, `replace-set: WhenComplete`" => added("WhenComplete"),
        "a template is added, `replace-set: Never`" => added("Never"),
        "the same, by a user who may not delete StatefulSets" => {
            annotation_set(keys::REPLACE_SET, "WhenComplete", false)
        }
        _ => return None,
    })
}

fn request(section: &str, words: &str) -> Option<DocumentedRequest> {
    if section == "shrink" {
        return taken_back(words);
    }
    template_change(section, words)
        .or_else(|| checked(words))
        .or_else(|| retained(words))
        .or_else(|| by_account(words))
}

fn verdict(request: &DocumentedRequest, setting: &Value) -> Verdict {
    let object = if request.new.is_null() {
        &request.old
    } else {
        &request.new
    };
    let (group, kind) = match object["kind"].as_str() {
        Some("PersistentVolumeClaim") => ("", "PersistentVolumeClaim"),
        _ => ("apps", "StatefulSet"),
    };
    let payload = json!({"request": {
        "kind": {"group": group, "version": "v1", "kind": kind}, "operation": request.operation,
        "name": object["metadata"]["name"], "namespace": "shop", "userInfo": {"username": request.user},
        "options": request.options, "object": request.new, "oldObject": request.old,
    }});
    let mut settings = request.beside.clone();
    for (name, value) in setting.as_object().expect("a map") {
        settings[name] = value.clone();
    }
    let settings = Settings::read(&settings.to_string()).expect("settings");
    let list = json!({"kind": "List", "items": request.exists});
    let mut lookups = Recorded::read(&list).expect("a list");
    let text = payload.to_string();
    let Ok(Some((review, _))) = decode(text.as_bytes()) else {
        panic!("a review: {text}")
    };
    admit(&review, &settings, &mut lookups)
}

/// The staged change that the verdict writes.
fn written(verdict: &Verdict) -> Option<StagedChange> {
    let Verdict::Stage(edits, _) = verdict else {
        return None;
    };
    edits.iter().find_map(|edit| match edit {
        Edit::SetAnnotation(key, value) if key == keys::STAGED => StagedChange::read(value, UID).ok(),
        _ => None,
    })
}

fn is_unchanged(verdict: &Verdict) -> bool {
    matches!(verdict, Verdict::Pass(Remarks { warnings, .. }) if warnings.is_empty())
}

/// True iff the verdict matches the documented answer.
fn agrees(verdict: &Verdict, answer: &str) -> bool {
    let warned = |words: &str| match verdict {
        Verdict::Pass(remarks) | Verdict::Stage(_, remarks) => {
            remarks.warnings.iter().any(|warning| warning.contains(words))
        }
        Verdict::Deny(_) => false,
    };
    let change = written(verdict);
    let policy = change.as_ref().map(|change| change.update_policy);
    let edits = match verdict {
        Verdict::Stage(edits, _) => edits.as_slice(),
        _ => &[],
    };
    match answer {
        // Not because something cannot be read.
        "refused" => matches!(verdict, Verdict::Deny(denial) if !denial.message.contains("failed to ")),
        "accepted" => !matches!(verdict, Verdict::Deny(_)),
        "accepted: staged" => change.is_some() && edits.contains(&Edit::RestoreTemplates),
        "accepted: for new PVCs" => policy == Some(UpdatePolicy::OnClaimDelete),
        "accepted: existing PVCs follow" => policy == Some(UpdatePolicy::InPlace),
        "accepted: 1Ti stays staged" | "accepted: nothing is staged" => *edits == [Edit::RestoreTemplates],
        "accepted: only the size is staged" => change.is_some_and(|change| {
            let target = &change.templates[0];
            target.storage == "20Gi".parse().ok()
                && target.labels.get("version").is_some_and(|version| version == "1.0")
        }),
        "accepted: unchanged"
        | "accepted: no PVC is deleted"
        | "refused, by the API server: the policy does nothing" => is_unchanged(verdict),
        "accepted: unchanged, and then up to the API server" => matches!(verdict, Verdict::Pass(_)),
        "accepted, with a warning" => warned("data-web-"),
        "accepted, with a warning that 10 are unchecked" => warned("10 more PVCs"),
        "accepted: but what was staged stays as it was" => {
            change.is_some_and(|change| change.phase == Phase::RollingOut)
        }
        "accepted: it is created as staged" => edits.contains(&Edit::SetStorage("20Gi".parse().expect("a size"))),
        _ => false,
    }
}

#[test]
fn every_documented_request_gets_the_documented_answer() {
    let mut rows = 0;
    for section in DOCUMENT.split("\n### `").skip(1) {
        let (name, body) = section.split_once('`').expect("a heading");
        let mut answers = Vec::new();
        for row in body.lines().filter(|line| line.starts_with("| `")) {
            let cells: Vec<_> = row.trim_matches('|').split('|').map(str::trim).collect();
            let (setting, words, answer) = (cells[0].trim_matches('`'), cells[1], cells[2]);
            let setting: Value = serde_saphyr::from_str(setting).expect(row);
            assert!(setting.get(name).is_some(), "{row}");
            rows += 1;
            answers.push(answer.split([':', ',']).next().unwrap_or_default());
            if answer == "invalid" {
                let error = Settings::read(&setting.to_string()).expect_err(row).to_string();
                assert!(words.is_empty() && error.contains(name), "{row}: {error}");
                continue;
            }
            let request = request(name, words).unwrap_or_else(|| panic!("words that this test does not know: {row}"));
            let verdict = verdict(&request, &setting);
            assert!(agrees(&verdict, answer), "{name}: {row}\n{verdict:#?}");
        }
        assert!(answers.contains(&"accepted"), "{name}");
        assert!(answers.contains(&"refused") || answers.contains(&"invalid"), "{name}");
    }
    assert!(rows > 40, "{rows}");
}
