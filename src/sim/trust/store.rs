//! One StatefulSet as an API server stores it, and what the controller would do with it.

use serde_json::{Value, json};

use super::super::schedule::Random;
use super::requests::Request;
use super::{Hole, Judges};
use crate::admission::{CanI, CannotAsk, Get, Lookups};
use crate::api::Settings;
use crate::claims::Owner;
use crate::rollout::SetView;
use crate::rollout::target::Target;
use crate::templates::{ClaimTemplate, Phase, Revision, StagedChange, UpdatePolicy, keys};
use crate::wire;

/// The revision of what alice staged.
pub(super) const REVISED: &str = "m6mrc6cwlq";

/// What administrators set.
const SETTINGS: [&str; 6] = [
    "{}",
    r#"{"defaultUpdatePolicy":"InPlace"}"#,
    r#"{"defaultUpdatePolicy":"InPlace","shrink":"Recover","pvcChecks":"Off"}"#,
    r#"{"ownedSets":"Stage"}"#,
    r#"{"stageOwnedBy":["example.com/Database"],"metadataOnlyChanges":"Ignore"}"#,
    r#"{"allowReCreate":true,"defaultUpdatePolicy":"InPlace"}"#,
];

pub(super) struct Store {
    set: Option<Value>,
    /// How many StatefulSets of the name there were: each has another uid.
    made: u32,
    /// What alice has staged is to reach existing PVCs.
    rolls_out: bool,
    settings: Settings,
    text: &'static str,
}

/// What became of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// Stored, or deleted; or it would be, but for the dry run.
    Stored,
    /// The API server itself would not have it.
    Invalid,
    /// By whom.
    Denied(String),
}

/// bob may not, and there is nothing.
struct Bob;

impl Lookups for Bob {
    fn can_i(&mut self, _: &CanI<'_>) -> Result<bool, CannotAsk> {
        Ok(false)
    }

    fn get(&mut self, _: &Get<'_>) -> Result<Option<String>, CannotAsk> {
        Ok(None)
    }
}

/// A template of a size.
pub(super) fn template(size: &str) -> Value {
    json!({"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}}})
}

/// A staged change.
pub(super) fn staged_change(size: &str, uid: &str, update_policy: UpdatePolicy, phase: Phase) -> String {
    let templates = ClaimTemplate::list_from_value(json!([template(size)])).unwrap_or_default();
    let (by, manager, uid) = ("alice".to_owned(), "helm".to_owned(), uid.to_owned());
    let change = StagedChange {
        by,
        manager,
        phase,
        templates,
        uid,
        update_policy,
    };
    change.write().unwrap_or_default()
}

impl Store {
    /// A StatefulSet of alice's, for which she may have staged 20Gi.
    pub(super) fn random(random: &mut Random) -> Self {
        let text = random.pick(&SETTINGS);
        let mut store = Self {
            set: None,
            made: 1,
            rolls_out: false,
            settings: Settings::read(text).unwrap_or_default(),
            text,
        };
        let (policy, annotation) = random.pick(&[
            (None, None),
            (Some(UpdatePolicy::OnClaimDelete), None),
            (Some(UpdatePolicy::OnClaimDelete), Some("OnClaimDelete")),
            (Some(UpdatePolicy::OnClaimDelete), Some("nonsense")),
            (Some(UpdatePolicy::InPlace), Some("OnClaimDelete")),
            (Some(UpdatePolicy::InPlace), None),
        ]);
        let mut annotations = json!({"note": "x"});
        if let Some(policy) = policy {
            annotations[keys::STAGED] = staged_change("20Gi", &store.uid(), policy, Phase::RollingOut).into();
        }
        if let Some(annotation) = annotation {
            annotations[keys::UPDATE_POLICY] = annotation.into();
        }
        let owners = if random.below(4) == 0 {
            json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "o", "controller": true}])
        } else {
            Value::Null
        };
        store.set = Some(json!({
            "apiVersion": "apps/v1", "kind": "StatefulSet",
            "metadata": {"name": "web", "namespace": "shop", "uid": store.uid(), "resourceVersion": "1",
                "annotations": annotations, "ownerReferences": owners},
            "spec": {"replicas": 3, "selector": {"matchLabels": {"app": "web"}}, "serviceName": "web",
                "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}},
                "volumeClaimTemplates": [template("10Gi")]},
            "status": {},
        }));
        store.rolls_out = store.desired().is_some();
        store
    }

    pub(super) fn uid(&self) -> String {
        format!("u{}", self.made)
    }

    pub(super) const fn settings_text(&self) -> &str {
        self.text
    }

    pub(super) fn text(&self) -> String {
        self.set.as_ref().map_or_else(|| "nothing".to_owned(), Value::to_string)
    }

    /// What became of it.
    pub(super) fn send(&mut self, request: &Request, judges: &Judges) -> Outcome {
        let old = self.set.clone();
        let Request::Write {
            subresource,
            manager,
            dry_run,
            edits,
        } = request
        else {
            let request = review(("DELETE", "", "kubectl", false));
            let denial = old.as_ref().map(|old| judges.guard_denies(&request, &Value::Null, old));
            if denial == Some(None) {
                self.set = None;
            }
            return denial.map_or(Outcome::Invalid, Outcome::of);
        };
        if old.is_none() && !subresource.is_empty() {
            return Outcome::Invalid;
        }
        let mut new = old.clone().unwrap_or_else(|| self.created());
        for edit in edits {
            edit.apply(&mut new);
        }
        let operation = if old.is_some() { "UPDATE" } else { "CREATE" };
        let request = review((operation, subresource, manager, *dry_run));
        let admitted = match (&judges.policy, &old) {
            (None, _) => Some(new),
            (Some(Some(Hole::Status)), _) if *subresource == "status" => Some(new),
            (Some(Some(Hole::Owner)), Some(old)) if is_owned(old) => {
                new["metadata"]["annotations"][keys::STAGED] = old["metadata"]["annotations"][keys::STAGED].clone();
                Some(new)
            }
            _ => ask(self.text, request.clone(), old.as_ref(), new),
        };
        let Some(admitted) = admitted else {
            return Outcome::Denied("the policy".to_owned());
        };
        let Some(stored) = validated(old.as_ref(), admitted, subresource) else {
            return Outcome::Invalid;
        };
        let denial = judges.guard_denies(&request, &stored, old.as_ref().unwrap_or(&Value::Null));
        if denial.is_none() && !dry_run {
            self.set = Some(stored);
        }
        Outcome::of(denial)
    }

    /// What bob creates in place of one that was deleted.
    fn created(&mut self) -> Value {
        self.made += 1;
        json!({
            "apiVersion": "apps/v1", "kind": "StatefulSet",
            "metadata": {"name": "web", "namespace": "shop", "uid": self.uid(), "resourceVersion": "1", "annotations": {}},
            "spec": {"replicas": 3, "selector": {"matchLabels": {"app": "web"}}, "serviceName": "web",
                "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}},
                "volumeClaimTemplates": [template("10Gi")]},
            "status": {},
        })
    }

    /// The revision that existing PVCs are brought to.
    fn desired(&self) -> Option<Revision> {
        let view = view(self.set.as_ref()?)?;
        Target::of(&view, &self.settings).ok().map(|target| target.revision)
    }

    /// What would happen to PVCs that nobody with the right asked for.
    pub(super) fn broken(&self) -> Option<String> {
        if let Some(revision) = self.desired() {
            let is_alices = self.made == 1 && self.rolls_out && revision.as_str() == REVISED;
            if !is_alices {
                return Some(format!("existing PVCs are brought to {}", revision.as_str()));
            }
        }
        let revision = view(self.set.as_ref()?)?.staged.as_ref().map(StagedChange::revision)?;
        let is_alices = self.made == 1 && revision.as_str() == REVISED;
        (!is_alices).then(|| format!("new PVCs are created at {}", revision.as_str()))
    }
}

impl Outcome {
    fn of(denial: Option<String>) -> Self {
        denial.map_or(Self::Stored, Self::Denied)
    }
}

fn is_owned(set: &Value) -> bool {
    set["metadata"]["ownerReferences"][0]["controller"] == true
}

/// A request of bob's, without the object.
fn review((operation, subresource, manager, dry_run): (&str, &str, &str, bool)) -> Value {
    json!({
        "uid": "r", "kind": {"group": "apps", "version": "v1", "kind": "StatefulSet"},
        "resource": {"group": "apps", "version": "v1", "resource": "statefulsets"}, "subResource": subresource,
        "name": "web", "namespace": "shop", "operation": operation, "userInfo": {"username": "bob"},
        "options": {"fieldManager": manager}, "dryRun": dry_run,
    })
}

/// The object as the policy lets it through.
fn ask(settings: &str, mut request: Value, old: Option<&Value>, new: Value) -> Option<Value> {
    (request["oldObject"], request["object"]) = (json!(old), new);
    let payload = format!(r#"{{"request":{request},"settings":{settings}}}"#);
    let mut answer: Value = serde_json::from_slice(&wire::validate(payload.as_bytes(), &mut Bob)).ok()?;
    if answer["accepted"] != true {
        return None;
    }
    Some(match answer.get_mut("mutated_object") {
        Some(object) => object.take(),
        None => request["object"].take(),
    })
}

/// What the API server stores: an update of the status leaves the spec as it was, one of the object its templates.
fn validated(old: Option<&Value>, mut new: Value, subresource: &str) -> Option<Value> {
    // What is empty is not there, once it was read.
    if let Some(metadata) = new["metadata"].as_object_mut() {
        if let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) {
            annotations.retain(|_, value| !value.is_null());
        }
        metadata.retain(|_, value| !value.is_null() && *value != json!({}));
    }
    let Some(old) = old else {
        return Some(new);
    };
    if subresource == "status" {
        new["spec"] = old["spec"].clone();
    }
    let templates = |set: &Value| ClaimTemplate::read_list(&set["spec"]["volumeClaimTemplates"].to_string()).ok();
    (templates(old) == templates(&new) && new["metadata"]["uid"] == old["metadata"]["uid"]).then_some(new)
}

/// What the controller reads of it.
fn view(set: &Value) -> Option<SetView> {
    let metadata = &set["metadata"];
    let annotation = |key: &str| metadata["annotations"][key].as_str();
    let owner = &metadata["ownerReferences"][0];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    Some(SetView {
        namespace: "shop".to_owned(),
        name: "web".to_owned(),
        resource_version: "1".to_owned(),
        controller: is_owned(set).then(|| Owner {
            api_version: text(&owner["apiVersion"]),
            kind: text(&owner["kind"]),
            name: text(&owner["name"]),
            uid: text(&owner["uid"]),
            ..Owner::default()
        }),
        replicas: 3,
        live: ClaimTemplate::read_list(&set["spec"]["volumeClaimTemplates"].to_string()).ok()?,
        status_is_current: true,
        ..SetView::annotated(metadata["uid"].as_str()?, annotation)
    })
}
