//! Target `admit`: whole reviews from the generator of the end-to-end tests, with the bytes as its choices.

use claim_rollout::templates::rules::FOR_NEW_CLAIMS;
use claim_rollout::templates::{ClaimTemplate, Diff, StagedChange};
use serde_json::{Value, json};

use crate::answer::Answer;
use crate::bytes::Bytes;
use crate::generated::{Case, case};

/// The annotation of the staged change.
pub(crate) const STAGED: &str = "claim-rollout.io/staged";

/// Decides one review, and further ones that follow from the answer.
///
/// # Laws
/// * A StatefulSet with unchanged templates and without annotations of ours passes silently (S14).
/// * A mutated object differs from the original only where the policy may change it (S14).
/// * The staged change contains the templates of the request, and no change that is not allowed (S15).
/// * The same request after the mutated object was stored changes nothing, nor does the stored object itself: a GitOps
///   tool may repeat its request forever (S12).
pub fn admit(data: &[u8]) {
    let case = case(&mut Bytes(data));
    let answer = ask(&case);
    let review = Review(&case);
    if review.is_invisible() {
        assert!(answer.is_silent(), "{} of {}", answer.text, case.payload());
    }
    let Some(mutated) = answer.mutated() else {
        return;
    };
    assert!(answer.accepted());
    review.check_places(mutated);
    if review.is_about_a_set() {
        review.check_staged_change(mutated);
        review.check_again(mutated);
    }
}

fn ask(case: &Case) -> Answer {
    let payload = case.payload().to_string();
    Answer::to(payload.as_bytes(), || case.cluster.clone()).expect("the payload is JSON, so the answer is")
}

struct Review<'a>(&'a Case);

impl Review<'_> {
    fn object(&self) -> &Value {
        &self.0.request["object"]
    }

    fn old(&self) -> &Value {
        &self.0.request["oldObject"]
    }

    fn is_about_a_set(&self) -> bool {
        let Value::Object(kind) = &self.0.request["kind"] else {
            return false;
        };
        self.0.request["subResource"].is_null() && kind.get("kind").is_some_and(|kind| kind == "StatefulSet")
    }

    /// True iff the review is an UPDATE without any concern for the policy.
    fn is_invisible(&self) -> bool {
        let (request, settings) = (&self.0.request, &self.0.settings);
        let quiet = ["retention", "mode"].iter().all(|key| settings[*key].is_null());
        let plain = settings.is_object() && quiet && has_valid_settings(settings);
        let whole = |set: &Value| {
            let metadata = &set["metadata"];
            metadata["name"] == "web"
                && metadata["namespace"] == "shop"
                && metadata["uid"].is_string()
                && metadata["ownerReferences"].is_null()
                && set["apiVersion"] == "apps/v1"
                && set["kind"] == "StatefulSet"
                && set["spec"].is_object()
                && (set["spec"]["replicas"].is_null() || set["spec"]["replicas"].is_i64())
                && ours(set).is_none_or(|mut ours| ours.next().is_none())
                && (metadata["annotations"].is_object() || metadata["annotations"].is_null())
        };
        plain
            && depth(&self.0.payload()) <= claim_rollout::json::MAX_DEPTH
            && self.is_about_a_set()
            && request["operation"] == "UPDATE"
            && request["kind"] == json!({"group": "apps", "version": "v1", "kind": "StatefulSet"})
            && request["name"] == "web"
            && request["namespace"] == "shop"
            && (request["userInfo"].is_object() && request["options"].is_object())
            && [self.object(), self.old()].into_iter().all(whole)
            && self.object()["spec"]["updateStrategy"] == self.old()["spec"]["updateStrategy"]
            && self.object()["spec"]["volumeClaimTemplates"] == self.old()["spec"]["volumeClaimTemplates"]
    }

    /// Checks that only allowed fields were changed.
    fn check_places(&self, mutated: &Value) {
        let (mut before, mut after) = (self.object().clone(), mutated.clone());
        let claim = self.0.request["kind"]["kind"] == "PersistentVolumeClaim";
        for object in [&mut before, &mut after] {
            if claim {
                for path in ["/metadata/labels", "/metadata/annotations", "/spec/resources/requests"] {
                    blank(object, path);
                }
                blank(object, "/spec/volumeAttributesClassName");
            } else {
                forget_ours(object);
                blank(object, "/spec/volumeClaimTemplates");
                if self.0.request["operation"] == "CREATE" {
                    forget_replacement(object);
                }
            }
        }
        assert_eq!(after, before, "changed elsewhere: {}", self.0.payload());
        if !claim {
            let [found, asked, old] =
                [mutated, self.object(), self.old()].map(|set| &set["spec"]["volumeClaimTemplates"]);
            let staged = self.object()["metadata"]["annotations"][STAGED].as_str();
            let is_restored = self.0.request["operation"] == "CREATE"
                && came_staged(
                    staged,
                    [asked, found].map(Value::to_string).each_ref().map(String::as_str),
                );
            assert!(
                found == asked || found == old || is_restored,
                "templates of neither object: {}",
                self.0.payload()
            );
        }
    }

    /// Checks a new staged change.
    fn check_staged_change(&self, mutated: &Value) {
        let text = |set: &Value| set["metadata"]["annotations"][STAGED].as_str().map(str::to_owned);
        let uid = self.old()["metadata"]["uid"].as_str().unwrap_or_default();
        let Some(written) = text(mutated) else {
            return;
        };
        let old = text(self.old());
        if old.as_ref() == Some(&written) {
            return;
        }
        let payload = self.0.payload();
        let change =
            StagedChange::read(&written, uid).unwrap_or_else(|error| panic!("{error}: {written} of {payload}"));
        let list = |set: &Value| ClaimTemplate::list_from_value(set["spec"]["volumeClaimTemplates"].clone());
        let live = list(self.old()).expect("templates");
        assert!(
            list(mutated).is_ok_and(|restored| restored == live),
            "staged, but the templates were not restored: {payload}"
        );
        if self.0.settings["metadataOnlyChanges"].is_null() {
            let asked = list(self.object()).expect("templates");
            assert!(
                Diff::between(&change.templates, &asked).is_empty(),
                "not the templates of the request: {payload}"
            );
        }
        if self.0.settings["allowReCreate"] != true {
            let staged = old.and_then(|old| StagedChange::read(&old, uid).ok());
            self.check_fields(&change.templates, &live, staged.map(|change| change.templates));
        }
    }

    /// Checks that each field of a new staged change may differ from the live one, or is that of the staged change
    /// before it, which the policy trusts.
    fn check_fields(&self, change: &[ClaimTemplate], live: &[ClaimTemplate], staged: Option<Vec<ClaimTemplate>>) {
        let payload = self.0.payload();
        let diff = Diff::between(live, change);
        let to_staged = staged.as_ref().map(|staged| Diff::between(staged, change));
        let renames = self.0.settings["templateChanges"] == "Allow";
        let has_staged_names = to_staged.as_ref().is_some_and(|diff| !diff.renames());
        assert!(renames || has_staged_names || !diff.renames(), "{diff:?} of {payload}");
        let new_claims = self.0.settings["immutableFields"] == "NewPVCs";
        let is_staged = |template: &str, field: &str| {
            let mut changed = to_staged.iter().flat_map(|diff| &diff.changed);
            let found = changed.find(|changed| changed.template == template);
            let is_other = found.is_some_and(|found| found.frozen.iter().any(|change| change.field == field));
            to_staged.is_some() && !is_other
        };
        for changed in &diff.changed {
            let mut frozen = changed.frozen.iter();
            assert!(
                frozen.all(|change| new_claims && is_for_new_claims(&change.field)
                    || is_staged(&changed.template, &change.field)),
                "{diff:?} of {payload}"
            );
        }
        for (before, after) in live.iter().zip(change).filter(|_| !diff.renames()) {
            assert_eq!(before.name, after.name, "another order: {payload}");
            let staged = staged.iter().flatten().find(|template| template.name == after.name);
            let is_staged = staged.is_some_and(|staged| staged.storage == after.storage);
            assert!(
                new_claims || is_staged || before.storage.is_none() || before.storage <= after.storage,
                "a shrink: {payload}"
            );
        }
    }

    /// Stores the mutated object, then sends the same request again and the stored object unchanged.
    fn check_again(&self, mutated: &Value) {
        // An API server never stores another uid, which would make the staged change foreign. A StatefulSet that gets
        // an owner is no longer managed, so the next request passes.
        let [old, new] = [self.old(), mutated].map(|set| &set["metadata"]);
        if self.0.request["operation"] != "UPDATE" || new["uid"] != old["uid"] || !new["ownerReferences"].is_null() {
            return;
        }
        for object in [self.object(), mutated] {
            let mut next = self.0.clone();
            next.request["oldObject"] = mutated.clone();
            next.request["object"] = object.clone();
            // The field manager of the staged change would withdraw it (row U1).
            if object == mutated {
                next.request["options"] = serde_json::json!({"fieldManager": "somebody else"});
            }
            let answer = ask(&next);
            // A StatefulSet that is not valid is read only for a staged change, and denied then.
            if answer.value["code"] == 400 {
                continue;
            }
            let found = answer.mutated().unwrap_or(object);
            assert!(
                answer.accepted() && found == mutated,
                "not stable: {} of {} is not {mutated}",
                answer.text,
                next.payload()
            );
        }
    }
}

/// True for a field that may change with the setting `immutableFields: NewPVCs`, and for a path below it.
fn is_for_new_claims(field: &str) -> bool {
    let name = field.strip_prefix("spec.").unwrap_or_default();
    name.split(['.', '['])
        .next()
        .is_some_and(|name| FOR_NEW_CLAIMS.contains(&name))
}

/// The depth of a value.
fn depth(value: &Value) -> u32 {
    match value {
        Value::Object(fields) => 1 + fields.values().map(depth).max().unwrap_or(0),
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

/// Our annotations; `None` if `annotations` is not a map.
fn ours(set: &Value) -> Option<impl Iterator<Item = &String>> {
    let annotations = set["metadata"]["annotations"].as_object()?;
    Some(annotations.keys().filter(|key| key.starts_with("claim-rollout.io/")))
}

/// Removes our annotations, and an empty `annotations`.
fn forget_ours(set: &mut Value) {
    let Some(Value::Object(metadata)) = set.get_mut("metadata") else {
        return;
    };
    if let Some(Value::Object(annotations)) = metadata.get_mut("annotations") {
        annotations.retain(|key, _| !key.starts_with("claim-rollout.io/"));
    }
    let empty =
        |annotations: &Value| annotations.is_null() || annotations.as_object().is_some_and(|map| map.is_empty());
    if metadata.get("annotations").is_some_and(empty) {
        metadata.remove("annotations");
    }
}

/// Removes what the controller writes for a replacement.
fn forget_replacement(set: &mut Value) {
    if let Some(Value::Array(finalizers)) = set.pointer_mut("/metadata/finalizers") {
        finalizers.retain(|finalizer| finalizer != "claim-rollout.io/replacing");
    }
    if let Some(Value::Object(rolling)) = set.pointer_mut("/spec/updateStrategy/rollingUpdate") {
        rolling.retain(|key, value| key != "partition" || !value.is_null() && *value != 1_000_000_000);
    }
}

/// Removes the value at a path, and objects on the path that are empty then.
fn blank(value: &mut Value, path: &str) {
    let (parent, key) = path.rsplit_once('/').unwrap_or_default();
    if let Some(Value::Object(fields)) = value.pointer_mut(parent) {
        fields.remove(key);
        if fields.is_empty() && parent.matches('/').count() > 1 {
            blank(value, parent);
        }
    } else if value.pointer(parent).is_none_or(Value::is_null) && parent.matches('/').count() > 1 {
        blank(value, parent);
    }
}

fn has_valid_settings(settings: &Value) -> bool {
    claim_rollout::admission::validate_settings(settings.to_string().as_bytes()).starts_with(b"{\"valid\":true")
}

/// True iff the templates that are found are those of a staged change, with the immutable fields of those that are asked for.
pub(crate) fn came_staged(staged: Option<&str>, [asked, found]: [&str; 2]) -> bool {
    let Some(change) = staged.and_then(|text| StagedChange::read_of_any(text).ok()) else {
        return false;
    };
    let [Ok(asked), Ok(found)] = [asked, found].map(ClaimTemplate::read_list) else {
        return false;
    };
    let from_change = Diff::between(&change.templates, &found);
    let from_asked = Diff::between(&asked, &found);
    let is_asked = |name: &str| asked.iter().any(|template| template.name == name);
    !from_change.renames()
        && from_change
            .changed
            .iter()
            .all(|changed| changed.changes.is_empty() && (changed.frozen.is_empty() || is_asked(&changed.template)))
        && from_asked.changed.iter().all(|changed| changed.frozen.is_empty())
}
