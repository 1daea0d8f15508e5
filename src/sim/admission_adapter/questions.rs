//! The reviews that the policy is called with, and its responses.

use serde_json::{Value, json};

use super::manifests::{claim_text, read_set, set_text};
use crate::admission::{self, CanI, CannotAsk, Get, Lookups};
use crate::sim::names::{self, Names, SET, STORAGE_CLASS, TEMPLATE, TIER, claim_name, number, whole_gi};
use crate::sim::objects::{ClaimObject, ModelTarget, PodHealth, SLOTS, SetObjectSpec, TEMPLATES, Want, slot};
use crate::sim::settings::ModelSettings;
use crate::sim::write::DenialCause;
use crate::templates::{Quantity, RevisionLabel, keys};

/// A Pod to delete: the set, whether another controller owns the set, the settings, ordinal and health of the Pod, and
/// its claims.
pub(super) type DeletionKey = (
    SetObjectSpec,
    bool,
    ModelSettings,
    usize,
    PodHealth,
    [Option<ClaimObject>; TEMPLATES],
);

/// A claim to create: the set, whether another controller owns it, the settings, template and ordinal, whether a
/// sibling exists, and the claim as requested.
pub(super) type NewClaimKey = (SetObjectSpec, bool, ModelSettings, (usize, usize), bool, ClaimObject);

/// An update: old and new spec, whether another controller owns the set, the settings, and the claims that the policy
/// reads.
pub(super) type UpdateKey = (SetObjectSpec, SetObjectSpec, bool, ModelSettings, Option<Sizes>);

/// Request and capacity of each claim. With `shrink: Recover` the policy checks whether a growth was reached.
pub(super) type Sizes = [Option<(u8, u8)>; SLOTS];

/// Answers the lookups of the policy from the model.
struct AdmissionLookups {
    set: String,
    claims: Option<Sizes>,
    sibling: bool,
    /// The claims of the Pod, by name.
    of_pod: Vec<(String, String)>,
}

impl Lookups for AdmissionLookups {
    fn can_i(&mut self, _: &CanI<'_>) -> Result<bool, CannotAsk> {
        Ok(true)
    }

    fn get(&mut self, question: &Get<'_>) -> Result<Option<String>, CannotAsk> {
        Ok(match question.name {
            SET => Some(self.set.clone()),
            "a-web" if self.sibling => {
                let other = r#"{"apiVersion":"apps/v1","kind":"StatefulSet","metadata":{"name":"a-web","namespace":"default","uid":"n"},"spec":{"selector":{"matchLabels":{"app":"a"}},"volumeClaimTemplates":[{"metadata":{"name":"data"},"spec":{}}]}}"#;
                Some(other.to_owned())
            }
            name => match self.of_pod.iter().find(|(of_pod, _)| of_pod == name) {
                Some((_, text)) => Some(text.clone()),
                None => self.claim(name),
            },
        })
    }
}

impl AdmissionLookups {
    /// A claim with request and capacity, and nothing else.
    fn claim(&self, name: &str) -> Option<String> {
        let slot = (0..SLOTS).find(|slot| claim_name(*slot) == name)?;
        let (request, capacity) = self.claims.as_ref()?[slot]?;
        let mut claim = json!({
            "metadata": {"name": name, "uid": "c"},
            "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": format!("{request}Gi")}}},
            "status": {"phase": "Pending"},
        });
        if capacity != 0 {
            claim["status"] = json!({"phase": "Bound", "capacity": {"storage": format!("{capacity}Gi")}});
        }
        Some(claim.to_string())
    }
}

pub(super) fn ask_deletion(names: &mut Names, (spec, owned, settings, ordinal, health, claims): &DeletionKey) -> bool {
    let named =
        |(template, claim): (usize, &Option<ClaimObject>)| Some((claim_name(slot(template, *ordinal)), (*claim)?));
    let claims: Vec<(String, ClaimObject)> = claims.iter().enumerate().filter_map(named).collect();
    let of_pod = claims
        .iter()
        .map(|(name, claim)| (name.clone(), claim_text(names, name, claim)));
    let mut cluster = AdmissionLookups {
        of_pod: of_pod.collect(),
        set: set_text(names, spec, *owned),
        claims: None,
        sibling: false,
    };
    let status = match health {
        PodHealth::Running => r#"{"phase":"Running"}"#,
        PodHealth::Disrupted => r#"{"phase":"Running","conditions":[{"type":"DisruptionTarget","status":"True"}]}"#,
        PodHealth::Failed => r#"{"phase":"Failed"}"#,
    };
    let settings = settings.field();
    let payload = format!(
        r#"{{"request":{{"uid":"r","kind":{{"group":"","version":"v1","kind":"Pod"}},"resource":{{"group":"","version":"v1","resource":"pods"}},"name":"{SET}-{ordinal}","namespace":"default","operation":"DELETE","userInfo":{{"username":"system:serviceaccount:kube-system:statefulset-controller"}},"oldObject":{{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"{SET}-{ordinal}","namespace":"default","uid":"p","ownerReferences":[{{"apiVersion":"apps/v1","kind":"StatefulSet","name":"{SET}","uid":"u1","controller":true}}]}},"spec":{{"volumes":[{{"name":"data","persistentVolumeClaim":{{"claimName":"data-{SET}-{ordinal}"}}}}]}},"status":{status}}}}},"settings":{{{settings}}}}}"#
    );
    let answer: Option<Value> = serde_json::from_slice(&admission::validate(payload.as_bytes(), &mut cluster)).ok();
    answer.is_some_and(|answer| answer["accepted"] == Value::Bool(false))
}

pub(super) fn ask_update(
    names: &mut Names,
    (old, new, owned, settings, sizes): &UpdateKey,
) -> Result<SetObjectSpec, DenialCause> {
    let (old_text, new_text) = (set_text(names, old, *owned), set_text(names, new, *owned));
    let settings = settings.field();
    let payload = format!(
        r#"{{"request":{{"uid":"r","kind":{{"group":"apps","version":"v1","kind":"StatefulSet"}},"resource":{{"group":"apps","version":"v1","resource":"statefulsets"}},"name":"{SET}","namespace":"default","operation":"UPDATE","userInfo":{{"username":"alice"}},"options":{{"fieldManager":"kubectl"}},"object":{new_text},"oldObject":{old_text}}},"settings":{{"defaultUpdatePolicy":"InPlace","pvcChecks":"Ignore",{settings}}}}}"#
    );
    let mut cluster = AdmissionLookups {
        set: old_text,
        claims: *sizes,
        sibling: false,
        of_pod: Vec::new(),
    };
    let answer: Option<Value> = serde_json::from_slice(&admission::validate(payload.as_bytes(), &mut cluster)).ok();
    let answer = answer.filter(|answer| answer["accepted"] == Value::Bool(true));
    let answer = answer.ok_or(DenialCause::Webhook)?;
    let stored = match &answer["mutated_object"] {
        Value::Null => *new,
        object => read_set(names, object, new).ok_or(DenialCause::Webhook)?,
    };
    // F1: the API server denies other templates, unless a policy puts the live ones back.
    if stored.live == old.live {
        Ok(stored)
    } else {
        Err(DenialCause::Immutable)
    }
}

pub(super) fn ask_new_claim(
    names: &mut Names,
    (spec, owned, settings, (template, ordinal), sibling, asked): &NewClaimKey,
) -> ClaimObject {
    let (asked, settings) = (*asked, settings.field());
    let name = claim_name(slot(*template, *ordinal));
    let want = Want {
        size: asked.request,
        class: asked.class,
        tier: asked.tier,
        storage_class: asked.storage_class,
    };
    let of_template = names::text(&ModelTarget::of(&[want]));
    let Ok(mut object) = serde_json::from_str::<Vec<Value>>(&of_template).map(|mut list| list.remove(0)) else {
        return asked;
    };
    object["apiVersion"] = "v1".into();
    object["kind"] = "PersistentVolumeClaim".into();
    object["metadata"]["name"] = name.clone().into();
    object["metadata"]["namespace"] = "default".into();
    object["metadata"]["labels"]["app"] = SET.into();
    let payload = format!(
        r#"{{"request":{{"uid":"r","kind":{{"group":"","version":"v1","kind":"PersistentVolumeClaim"}},"resource":{{"group":"","version":"v1","resource":"persistentvolumeclaims"}},"name":"{name}","namespace":"default","operation":"CREATE","userInfo":{{"username":"system:serviceaccount:kube-system:statefulset-controller"}},"object":{object}}},"settings":{{{settings}}}}}"#
    );
    debug_assert!(TEMPLATE.len() > *template);
    let mut cluster = AdmissionLookups {
        set: set_text(names, spec, *owned),
        claims: None,
        sibling: *sibling,
        of_pod: Vec::new(),
    };
    let answer: Option<Value> = serde_json::from_slice(&admission::validate(payload.as_bytes(), &mut cluster)).ok();
    let created = answer.as_ref().and_then(|answer| answer.get("mutated_object"));
    let Some(created) = created.filter(|object| !object.is_null()) else {
        return asked;
    };
    let labels = &created["metadata"]["labels"];
    let storage = created["spec"]["resources"]["requests"]["storage"].as_str();
    let storage = storage.and_then(|text| text.parse::<Quantity>().ok());
    ClaimObject {
        request: storage.map_or(asked.request, |storage| whole_gi(&storage)),
        class: number(created["spec"]["volumeAttributesClassName"].as_str(), "class-"),
        storage_class: number(created["spec"]["storageClassName"].as_str(), STORAGE_CLASS),
        tier: number(labels[TIER].as_str(), "t"),
        revision: labels[keys::REVISION]
            .as_str()
            .and_then(RevisionLabel::read)
            .and_then(|label| names.at(&label)),
        ..asked
    }
}
