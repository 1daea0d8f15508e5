//! One StatefulSet as an API server stores it, and what the controller would do with it.

use serde_json::{Value, json};

use super::super::schedule::Random;
use super::judges::{Hole, Judges};
use super::manifests::{REVISED, staged_change, template};
use super::requests::BobRequest;
use super::rights;
use super::rights::{BOB, MALLORY};
use crate::admission;
use crate::admission::{CanI, CannotAsk, Get, Lookups};
use crate::api::Settings;
use crate::claims::Owner;
use crate::gate::target::recreates;
use crate::gate::{SetView, Target};
use crate::replace::FINALIZER;
use crate::templates::{ClaimTemplate, Phase, Revision, StagedChange, UpdatePolicy, keys};

/// The settings of the policy.
const SETTINGS: [&str; 6] = [
    "{}",
    r#"{"defaultUpdatePolicy":"InPlace"}"#,
    r#"{"defaultUpdatePolicy":"InPlace","shrink":"Recover","pvcChecks":"Ignore"}"#,
    r#"{"ownedSets":"Stage"}"#,
    r#"{"stageOwnedBy":["example.com/Database"],"metadataOnlyChanges":"Ignore"}"#,
    r#"{"allowReCreate":true,"defaultUpdatePolicy":"InPlace"}"#,
];

pub(super) struct Store {
    set: Option<Value>,
    /// The number of StatefulSets created so far: each has another uid.
    made: u32,
    /// Whose requests these are: bob's or mallory's.
    user: &'static str,
    /// alice's staged change is rolled out to existing PVCs.
    rolls_out: bool,
    /// The StatefulSet is replaced for alice's staged change.
    is_replaced: bool,
    /// What was staged when the replacement of the StatefulSet began.
    replaced: Option<Value>,
    settings: Settings,
    text: &'static str,
}

/// The outcome of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum RequestOutcome {
    /// Stored or deleted, or a dry run of that.
    Stored,
    /// The validation of the API server failed.
    Invalid,
    /// The name of the policy or guard that denied it.
    Denied(String),
}

/// The lookups of the policy: no other object exists.
struct Rights {
    /// The policy asks for one right only.
    has_hole: bool,
}

impl Lookups for Rights {
    fn can_i(&mut self, asked: &CanI<'_>) -> Result<bool, CannotAsk> {
        let resource = [asked.group, asked.resource, asked.subresource];
        let is_unasked = self.has_hole && asked.verb != "patch";
        Ok(is_unasked || rights::may(asked.user, asked.verb, resource, asked.namespace))
    }

    fn get(&mut self, _: &Get<'_>) -> Result<Option<String>, CannotAsk> {
        Ok(None)
    }
}

impl Store {
    /// A StatefulSet of alice, for which she may have staged 20Gi.
    pub(super) fn random(random: &mut Random, user: &'static str) -> Self {
        let text = random.pick(&SETTINGS);
        let mut store = Self {
            set: None,
            made: 1,
            user,
            rolls_out: false,
            is_replaced: false,
            replaced: None,
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
        if random.below(4) == 0
            && let Some(set) = &mut store.set
        {
            set["metadata"]["annotations"][keys::REPLACE_SET] = "WhenComplete".into();
        }
        store.rolls_out = store.desired().is_some();
        store.is_replaced = store.replaced_for().is_some();
        store
    }

    /// The controller replaces the StatefulSet.
    pub(super) fn marked(mut self) -> Self {
        if let Some(set) = &mut self.set {
            set["metadata"]["finalizers"] = json!([FINALIZER]);
            self.replaced = Some(set["metadata"]["annotations"][keys::STAGED].clone());
        }
        self
    }

    /// What happened to the StatefulSet that is being replaced, if anything did.
    pub(super) fn disturbed(&self) -> Option<String> {
        let staged = self.replaced.as_ref()?;
        let Some(set) = &self.set else {
            return Some("the StatefulSet was deleted while it is being replaced".to_owned());
        };
        let is_kept = set["metadata"]["annotations"][keys::STAGED] == *staged
            && set["metadata"]["finalizers"] == json!([FINALIZER]);
        (!is_kept).then(|| "what is staged changed while the StatefulSet is being replaced".to_owned())
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

    /// Sends a request.
    pub(super) fn send(&mut self, request: &BobRequest, judges: &Judges) -> RequestOutcome {
        let old = self.set.clone();
        let BobRequest::Write {
            subresource,
            manager,
            dry_run,
            edits,
        } = request
        else {
            if self.user != BOB {
                return RequestOutcome::Invalid;
            }
            let request = review(self.user, ("DELETE", "", "kubectl", false));
            let denial = old.as_ref().map(|old| judges.guard_denies(&request, &Value::Null, old));
            if denial == Some(None) {
                self.set = None;
            }
            return denial.map_or(RequestOutcome::Invalid, RequestOutcome::of);
        };
        if old.is_none() && !subresource.is_empty() {
            return RequestOutcome::Invalid;
        }
        let mut new = old.clone().unwrap_or_else(|| self.created());
        for edit in edits {
            edit.apply(&mut new);
        }
        let operation = if old.is_some() { "UPDATE" } else { "CREATE" };
        let request = review(self.user, (operation, subresource, manager, *dry_run));
        let admitted = match (&judges.policy, &old) {
            (None, _) => Some(new),
            (Some(Some(Hole::Status)), _) if *subresource == "status" => Some(new),
            (Some(Some(Hole::Owner)), Some(old)) if is_owned(old) => {
                new["metadata"]["annotations"][keys::STAGED] = old["metadata"]["annotations"][keys::STAGED].clone();
                Some(new)
            }
            (Some(hole), _) => {
                let has_hole = *hole == Some(Hole::Rights);
                ask((self.text, has_hole), request.clone(), old.as_ref(), new)
            }
        };
        let Some(admitted) = admitted else {
            return RequestOutcome::Denied("the policy".to_owned());
        };
        let Some(stored) = validated(old.as_ref(), admitted, subresource) else {
            return RequestOutcome::Invalid;
        };
        let denial = judges.guard_denies(&request, &stored, old.as_ref().unwrap_or(&Value::Null));
        if denial.is_none() && !dry_run {
            self.set = Some(stored);
        }
        RequestOutcome::of(denial)
    }

    /// The StatefulSet that bob creates after a deletion.
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

    /// The revision that is rolled out to existing PVCs.
    fn desired(&self) -> Option<Revision> {
        let view = view(self.set.as_ref()?)?;
        Target::of(&view, &self.settings)
            .ok()
            .map(|target| target.label.revision)
    }

    /// The revision for which the StatefulSet is replaced, once it is rolled out.
    fn replaced_for(&self) -> Option<Revision> {
        let view = view(self.set.as_ref()?)?;
        let target = Target::sound(&view, &self.settings).ok()?;
        self.settings
            .replaces(view.replace_set)
            .then_some(target.label.revision)
    }

    /// What mallory did without the right to do it by hand, if she did. She may change PVCs.
    fn broken_by_mallory(&self) -> Option<String> {
        let view = view(self.set.as_ref()?)?;
        if recreates(&view) && Target::of(&view, &self.settings).is_ok() {
            return Some("PVCs are deleted and created anew".to_owned());
        }
        let revision = self.replaced_for()?;
        let is_alices = self.is_replaced && revision.as_str() == REVISED;
        (!is_alices).then(|| format!("the StatefulSet is replaced for {}", revision.as_str()))
    }

    /// A change of PVCs that alice did not ask for, if there is one.
    pub(super) fn broken(&self) -> Option<String> {
        if self.user == MALLORY {
            return self.broken_by_mallory();
        }
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

impl RequestOutcome {
    fn of(denial: Option<String>) -> Self {
        denial.map_or(Self::Stored, Self::Denied)
    }
}

fn is_owned(set: &Value) -> bool {
    set["metadata"]["ownerReferences"][0]["controller"] == true
}

/// A request without the object.
fn review(user: &str, (operation, subresource, manager, dry_run): (&str, &str, &str, bool)) -> Value {
    json!({
        "uid": "r", "kind": {"group": "apps", "version": "v1", "kind": "StatefulSet"},
        "resource": {"group": "apps", "version": "v1", "resource": "statefulsets"}, "subResource": subresource,
        "name": "web", "namespace": "shop", "operation": operation, "userInfo": {"username": user},
        "options": {"fieldManager": manager}, "dryRun": dry_run,
    })
}

/// The object as the policy admits it; `None` if it denies.
fn ask((settings, has_hole): (&str, bool), mut request: Value, old: Option<&Value>, new: Value) -> Option<Value> {
    (request["oldObject"], request["object"]) = (json!(old), new);
    let payload = format!(r#"{{"request":{request},"settings":{settings}}}"#);
    let mut answer: Value =
        serde_json::from_slice(&admission::validate(payload.as_bytes(), &mut Rights { has_hole })).ok()?;
    if answer["accepted"] != true {
        return None;
    }
    Some(match answer["mutated_object"].take() {
        Value::Null => request["object"].take(),
        object => object,
    })
}

/// The stored object: an update of the status keeps the spec, an update of the object must keep the templates.
fn validated(old: Option<&Value>, mut new: Value, subresource: &str) -> Option<Value> {
    // Empty fields are dropped.
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

/// The StatefulSet as the controller reads it.
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
