//! Each test is a row of the table in `decide`, or an edge case of a row.

mod checks;
mod creates;
mod going_back;
mod metadata_only;
mod new_claims;
mod newer;
mod pods;
mod replacing;
mod retention;
mod settings;
mod status;
mod taking_back;
mod targets;
mod trust;

use serde_json::{Value, json};

use super::admit;
use crate::admission::{CanI, CannotAsk, Edit, Get, Lookups, NoCluster, Remarks, Settings, Verdict};
use crate::templates::{ClaimTemplate, Phase, StagedChange, UpdatePolicy, keys};
use crate::wire::request::decode;

const UID: &str = "6c4a6a3e-0000-4000-8000-000000000001";

/// Gives one answer to all checks of authority, finds objects in a list, and stores the questions.
struct FakeCluster {
    answer: Result<bool, CannotAsk>,
    objects: Result<Vec<Value>, CannotAsk>,
    asked: Vec<String>,
}

impl FakeCluster {
    fn of(objects: Vec<Value>) -> Self {
        Self {
            answer: Ok(true),
            objects: Ok(objects),
            asked: vec![],
        }
    }
}

impl Lookups for FakeCluster {
    fn can_i(&mut self, q: &CanI<'_>) -> Result<bool, CannotAsk> {
        self.asked.push(format!(
            "{} {} {} {}/{}{}{}",
            q.user,
            q.groups.join(","),
            q.verb,
            q.namespace,
            q.resource,
            if q.subresource.is_empty() { "" } else { "/" },
            q.subresource
        ));
        self.answer.clone()
    }

    fn get(&mut self, question: &Get<'_>) -> Result<Option<String>, CannotAsk> {
        self.asked.push(format!("get {}/{}", question.kind, question.name));
        let objects = self.objects.clone()?;
        let found = objects.iter().find(|object| {
            object["apiVersion"] == question.api_version
                && object["kind"] == question.kind
                && object["metadata"]["name"] == question.name
        });
        Ok(found.map(Value::to_string))
    }
}

fn template(name: &str, size: &str) -> Value {
    json!({"metadata": {"name": name}, "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}}})
}

fn set(templates: &[Value]) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "StatefulSet",
        "metadata": {"name": "web", "namespace": "shop", "uid": UID},
        "spec": {"replicas": 3, "volumeClaimTemplates": templates},
    })
}

fn annotated(mut set: Value, key: &str, value: &str) -> Value {
    set["metadata"]["annotations"][key] = value.into();
    set
}

fn review(operation: &str, old: Option<&Value>, new: Option<&Value>) -> Value {
    json!({
        "kind": {"group": "apps", "version": "v1", "kind": "StatefulSet"}, "operation": operation,
        "name": "web", "namespace": "shop", "userInfo": {"username": "alice", "groups": ["dev", "ops"]},
        "options": {"fieldManager": "helm"}, "object": new, "oldObject": old,
    })
}

fn update(old: &Value, new: &Value) -> Value {
    review("UPDATE", Some(old), Some(new))
}

/// The edits when this change is staged under `InPlace`.
fn staged(text: String) -> [Edit; 3] {
    [
        Edit::RestoreTemplates,
        Edit::annotation(keys::STAGED, text),
        Edit::annotation(keys::PHASE, "RollingOut".to_owned()),
    ]
}

fn decide_with(review: &Value, settings: &str, lookups: &mut dyn Lookups) -> Verdict {
    let payload = json!({"request": review}).to_string();
    let Ok(Some((review, _))) = decode(&payload) else {
        panic!("a review: {payload}")
    };
    admit(&review, &Settings::read(settings).expect("settings"), lookups)
}

fn decide(review: &Value) -> Verdict {
    decide_with(
        review,
        r#"{"authority":"TrustSetEditors","pvcChecks":"Off","defaultUpdatePolicy":"InPlace"}"#,
        &mut NoCluster,
    )
}

fn staged_change(templates: &[Value], phase: Phase) -> String {
    let templates = ClaimTemplate::list_from_value(Value::from(templates)).expect("templates");
    let (by, manager) = ("alice".to_owned(), "helm".to_owned());
    let change = StagedChange {
        by,
        manager,
        phase,
        templates,
        uid: UID.to_owned(),
        update_policy: UpdatePolicy::InPlace,
    };
    change.write().expect("short")
}

fn edits(verdict: Verdict) -> Vec<Edit> {
    match verdict {
        Verdict::Stage(edits, _) => edits,
        other => panic!("expected Stage, but found {other:?}"),
    }
}

fn denial(verdict: Verdict) -> (u16, String) {
    match verdict {
        Verdict::Deny(denial) => (denial.code, denial.message),
        other => panic!("expected Deny, but found {other:?}"),
    }
}

#[test]
fn u0_update_with_same_templates_passes() {
    let old = set(&[template("data", "10Gi")]);
    let scaled = json!({"replicas": 5, "volumeClaimTemplates": [template("data", "10Gi")]});
    let mut new = old.clone();
    new["spec"] = scaled;
    assert_eq!(decide(&update(&old, &new)), Verdict::PASS);
    // Another form of the size, and fields that the API server adds.
    let mut spelt = template("data", "10240Mi");
    spelt["status"] = json!({"phase": "Pending"});
    spelt["spec"]["volumeMode"] = "Filesystem".into();
    assert_eq!(decide(&update(&old, &set(&[spelt]))), Verdict::PASS);
}

#[test]
fn u0_unreadable_templates_are_denied_only_on_change() {
    let twice = annotated(
        set(&[template("data", "10Gi"), template("data", "10Gi")]),
        keys::UPDATE_POLICY,
        "InPlace",
    );
    let mut scaled = twice.clone();
    scaled["spec"]["replicas"] = 5.into();
    assert_eq!(decide(&update(&twice, &scaled)), Verdict::PASS);
    scaled["spec"]["volumeClaimTemplates"][0] = template("data", "20Gi");
    assert_eq!(denial(decide(&update(&twice, &scaled))).0, 403);
}

#[test]
fn u0_our_annotations_without_staged_change_are_removed() {
    let old = set(&[template("data", "10Gi")]);
    let foreign = staged_change(&[template("data", "99Gi")], Phase::RollingOut).replace(UID, "another-uid");
    for (key, value) in [
        (keys::STAGED, foreign.as_str()),
        (keys::STAGED, "{}"),
        (keys::STAGED, ""),
        (keys::READY, "a.0"),
        (keys::WITHDRAW, "abc"),
    ] {
        let new = annotated(old.clone(), key, value);
        assert_eq!(
            edits(decide(&update(&old, &new))),
            [Edit::no_annotation(key_of(key))],
            "{key}={value}"
        );
        // Also if the annotation existed before.
        assert_eq!(
            edits(decide(&update(&new, &new))),
            [Edit::no_annotation(key_of(key))],
            "{key}={value}"
        );
    }
}

fn key_of(key: &str) -> &'static str {
    [keys::STAGED, keys::READY, keys::WITHDRAW]
        .into_iter()
        .find(|known| *known == key)
        .expect("a key")
}

#[test]
fn u1_unrelated_edit_keeps_staged_change() {
    let text = staged_change(&[template("data", "20Gi")], Phase::RollingOut);
    let plain = set(&[template("data", "10Gi")]);
    let old = annotated(plain.clone(), keys::STAGED, &text);
    assert_eq!(decide(&update(&old, &old)), Verdict::PASS, "kept");
    let kept = [Edit::annotation(keys::STAGED, text.clone())];
    assert_eq!(edits(decide(&update(&old, &plain))), kept, "dropped by a replace");
    let changed = annotated(
        plain,
        keys::STAGED,
        &staged_change(&[template("data", "900Gi")], Phase::RollingOut),
    );
    assert_eq!(edits(decide(&update(&old, &changed))), kept, "changed by hand");
}

#[test]
fn u2_staged_templates_again_keep_staged_change() {
    let old = annotated(
        set(&[template("data", "10Gi")]),
        keys::STAGED,
        &staged_change(&[template("data", "20Gi")], Phase::Complete),
    );
    let mut again = old.clone();
    again["spec"]["volumeClaimTemplates"][0] = template("data", "20480Mi");
    // No lookup: nothing new is staged.
    let verdict = decide_with(&update(&old, &again), "{}", &mut NoCluster);
    assert_eq!(verdict, Verdict::with(vec![Edit::RestoreTemplates], Remarks::default()));
}

#[test]
fn authority_is_checked_for_requester_only_when_staging() {
    let old = set(&[template("data", "10Gi")]);
    let new = set(&[template("data", "20Gi")]);
    let ask = |review: &Value, answer: Result<bool, CannotAsk>| {
        let mut cluster = FakeCluster {
            answer,
            ..FakeCluster::of(vec![])
        };
        let verdict = decide_with(review, "{}", &mut cluster);
        (verdict, cluster.asked)
    };
    let question = ["alice dev,ops patch shop/persistentvolumeclaims"];

    let (verdict, asked) = ask(&update(&old, &new), Ok(true));
    assert_eq!(
        (matches!(verdict, Verdict::Stage(..)), asked.as_slice()),
        (true, question.map(str::to_owned).as_slice())
    );
    let (verdict, _) = ask(&update(&old, &new), Ok(false));
    let (code, message) = denial(verdict);
    assert_eq!(code, 403);
    assert!(
        message.contains("user alice cannot patch persistentvolumeclaims in namespace shop"),
        "{message}"
    );
    let (verdict, _) = ask(&update(&old, &new), Err(CannotAsk("not granted".to_owned())));
    let (code, message) = denial(verdict);
    assert_eq!(code, 403);
    assert!(
        message.contains("(not granted)") && message.contains("TrustSetEditors"),
        "{message}"
    );

    let mut frozen = template("data", "10Gi");
    frozen["spec"]["storageClassName"] = "fast".into();
    for review in [
        update(&old, &old),
        update(&old, &set(&[frozen])),
        review("CREATE", None, Some(&new)),
    ] {
        assert_eq!(ask(&review, Ok(true)).1, Vec::<String>::new(), "{review}");
    }
}

#[test]
fn authority_is_checked_in_namespace_of_request_or_object() {
    let [mut old, new] = ["10Gi", "20Gi"].map(|size| set(&[template("data", size)]));
    let asked = |request: &Value| {
        let mut cluster = FakeCluster::of(vec![]);
        decide_with(request, r#"{"pvcChecks":"Off"}"#, &mut cluster);
        cluster.asked
    };
    let question = ["alice dev,ops patch shop/persistentvolumeclaims"];
    let mut nowhere = update(&old, &new);
    nowhere["namespace"] = Value::Null;
    assert_eq!(asked(&nowhere), question, "only the object has a namespace");
    old["metadata"]["namespace"] = Value::Null;
    assert_eq!(asked(&update(&old, &new)), question, "only the request has a namespace");
}

#[test]
fn invalid_user_key_is_denied_only_when_written() {
    let plain = set(&[template("data", "10Gi")]);
    for (key, value, allowed) in [
        (keys::UPDATE_POLICY, "inplace", "OnClaimDelete, InPlace"),
        (keys::UPDATE_POLICY, "ReCreate", "OnClaimDelete, InPlace"),
        (keys::SYNC, "", "LockStep, Async"),
        (keys::PAUSED, "yes", "true, false"),
    ] {
        let wrong = annotated(plain.clone(), key, value);
        let expected = format!("claim-rollout: annotation {key}: expected one of {allowed}, but found {value}");
        assert_eq!(denial(decide(&update(&plain, &wrong))), (403, expected.clone()));
        assert_eq!(denial(decide(&review("CREATE", None, Some(&wrong)))), (403, expected));
        assert_eq!(decide(&update(&wrong, &wrong)), Verdict::PASS, "{key} existed before");
    }
}

#[test]
fn inconsistent_request_is_denied() {
    let old = set(&[template("data", "10Gi")]);
    let with = |path: &str, value: Value| {
        let mut review = update(&old, &old);
        *review.pointer_mut(path).expect(path) = value;
        review
    };
    let table = [
        (
            with("/operation", "PATCH".into()),
            "request.operation: expected CREATE, UPDATE, DELETE or CONNECT",
        ),
        (
            with("/object", Value::Null),
            "request.object: expected a StatefulSet, but found nothing",
        ),
        (
            with("/oldObject", Value::Null),
            "request.oldObject: expected a StatefulSet, but found nothing",
        ),
        (
            with("/object/kind", "Deployment".into()),
            "request.object: expected an object of request.kind",
        ),
        (
            with("/oldObject/apiVersion", "apps/v1beta1".into()),
            "request.oldObject: expected an object of request.kind",
        ),
        (
            with("/object/metadata/name", "db".into()),
            "request.object: expected the name in request.name",
        ),
        (
            with("/object/metadata/namespace", "x".into()),
            "request.object: expected the namespace in request.namespace",
        ),
    ];
    for (review, message) in table {
        assert_eq!(denial(decide(&review)), (400, format!("claim-rollout: {message}")));
    }
}
