//! The objects of both sides as texts, which [`set_words`] and [`claim_words`] read from their JSON. Uids, resourceVersions
//! and revisions differ between the sides, so a text contains only which objects have changed, a number for each object
//! of the same name, and targets.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{ModelTarget, target_of};
use crate::claims::Manager;
use crate::sim::names::{SET, TIER};
use crate::templates::{ClaimTemplate, Quantity, Ready, Revision, StagedChange, keys};

/// All objects by name: uid, version and text.
pub type ObservedObjects = BTreeMap<String, ((String, String), String)>;

/// Finds what has changed between two observations.
#[derive(Clone, Debug, Default)]
pub struct ChangeTracker {
    uids: BTreeMap<String, Vec<String>>,
    last: ObservedObjects,
}

impl ChangeTracker {
    /// The changes since the previous call: one entry for each object that was written, created or deleted, and for
    /// each that changed without a write.
    pub fn changes(&mut self, now: ObservedObjects) -> Vec<String> {
        let mut changes = Vec::new();
        for (name, (identity, words)) in &now {
            let uid = &identity.0;
            let uids = self.uids.entry(name.clone()).or_default();
            if !uids.contains(uid) {
                uids.push(uid.clone());
            }
            let number = uids.iter().position(|known| known == uid).map_or(0, |at| at + 1);
            match self.last.get(name) {
                Some((before, was)) if before == identity && was == words => {}
                Some((before, _)) if before == identity => {
                    changes.push(format!("{name}#{number} without a write: {words}"));
                }
                _ => changes.push(format!("{name}#{number} {words}")),
            }
        }
        let deleted = self.last.keys().filter(|name| !now.contains_key(*name));
        changes.extend(deleted.map(|name| format!("{name} is deleted")));
        self.last = now;
        changes
    }
}

/// The targets of the revisions of one side.
#[derive(Clone, Debug, Default)]
pub struct Revisions(BTreeMap<String, String>);

impl Revisions {
    /// Remembers the target of a revision.
    pub fn learn(&mut self, revision: &Revision, target: &ModelTarget) {
        self.0.insert(revision.to_string(), target.to_string());
    }

    /// The target of a revision as text; an unknown revision is returned unchanged.
    fn target(&self, revision: &str) -> String {
        self.0.get(revision).map_or(revision, String::as_str).to_owned()
    }
}

fn text(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

/// Whole Gi; any other size is returned unchanged.
fn gi(value: &Value) -> Option<String> {
    let written = value.as_str()?;
    let whole = written.parse::<Quantity>().ok()?.whole();
    Some(if whole & ((1 << 30) - 1) == 0 {
        (whole >> 30).to_string()
    } else {
        written.to_owned()
    })
}

/// Writes the fields that are present, separated by spaces.
fn line<const N: usize>(words: [(&str, Option<String>); N]) -> String {
    let there = words
        .into_iter()
        .filter_map(|(key, value)| Some(key.to_owned() + &value?));
    there.collect::<Vec<_>>().join(" ")
}

fn flag(holds: bool) -> Option<String> {
    holds.then(String::new)
}

/// A StatefulSet: its spec, our annotations, and whether its status has observed the generation. The revision of a staged
/// change is remembered for the labels of PVCs.
#[must_use]
pub fn set_words(set: &Value, revisions: &mut Revisions) -> String {
    let (metadata, spec) = (&set["metadata"], &set["spec"]);
    let annotation = |key: &str| text(&metadata["annotations"][key]);
    let uid = metadata["uid"].as_str().unwrap_or_default();
    let staged = annotation(keys::STAGED).map(|staged| staged_words(&staged, uid, revisions));
    let ready = annotation(keys::READY).map(|ready| match ready.parse() {
        Ok(Ready { revision, ordinal }) => format!("{}.{ordinal}", revisions.target(revision.as_str())),
        Err(_) => ready,
    });
    let live = ClaimTemplate::read_list(&spec["volumeClaimTemplates"].to_string());
    let strategy = &spec["updateStrategy"];
    let partition = strategy["rollingUpdate"]["partition"].as_u64().unwrap_or(0);
    let image = &spec["template"]["spec"]["containers"][0]["image"];
    line([
        ("x", Some(spec["replicas"].to_string())),
        ("image=", text(image).map(|image| image.replace("i:", ""))),
        ("live=", live.ok().map(|live| target_of(&live).to_string())),
        ("staged=", staged),
        ("policy=", annotation(keys::UPDATE_POLICY)),
        ("paused=", annotation(keys::PAUSED)),
        ("sync=", annotation(keys::SYNC)),
        ("ready=", ready),
        (
            "withdraw=",
            annotation(keys::WITHDRAW).map(|revision| revisions.target(&revision)),
        ),
        (
            "partition=",
            (strategy["type"] != "OnDelete").then(|| partition.to_string()),
        ),
        ("owned", flag(metadata["ownerReferences"][0].is_object())),
        (
            "observed",
            flag(metadata["generation"] == set["status"]["observedGeneration"]),
        ),
    ])
}

/// A staged change: target, phase and policy.
fn staged_words(staged: &str, uid: &str, revisions: &mut Revisions) -> String {
    if let Ok(change) = StagedChange::read(staged, uid) {
        let target = target_of(&change.templates);
        revisions.learn(&change.revision(), &target);
        return format!("{target}:{}:{}", change.phase, change.update_policy);
    }
    let own = serde_json::from_str::<Value>(staged).unwrap_or_default();
    match StagedChange::read(staged, own["uid"].as_str().unwrap_or_default()) {
        Ok(change) => format!("{}:foreign", target_of(&change.templates)),
        Err(error) => error.to_string(),
    }
}

/// A PVC, whose owner is the StatefulSet with this uid or another object. `ours` are the fields that our applies own: the
/// size alone, the class and the tier perhaps with others.
#[must_use]
pub fn claim_words(claim: &Value, set: Option<&str>, revisions: &Revisions) -> String {
    let (metadata, spec, status) = (&claim["metadata"], &claim["spec"], &claim["status"]);
    let entries = metadata["managedFields"].as_array().into_iter().flatten();
    let is_ours = |entry: &&Value| entry["manager"] == Manager::OURS && entry["operation"] == "Apply";
    let (mine, others): (Vec<&Value>, Vec<&Value>) = entries.partition(is_ours);
    let has = |entries: &[&Value], field: &str| entries.iter().any(|entry| entry["fieldsV1"].pointer(field).is_some());
    let size = "/f:spec/f:resources/f:requests/f:storage";
    let ours = [
        ("s", has(&mine, size) && !has(&others, size)),
        ("c", has(&mine, "/f:spec/f:volumeAttributesClassName")),
        ("t", has(&mine, "/f:metadata/f:labels/f:tier")),
    ];
    let ours: String = ours
        .iter()
        .filter(|(_, ours)| *ours)
        .map(|(letter, _)| *letter)
        .collect();
    let labels = &metadata["labels"];
    let revision = labels[keys::REVISION]
        .as_str()
        .and_then(|label| label.split('.').next());
    let owner = metadata["ownerReferences"][0]["uid"].as_str();
    let resize = status["allocatedResourceStatuses"]["storage"].as_str();
    line([
        ("", gi(&spec["resources"]["requests"]["storage"])),
        ("has=", gi(&status["capacity"]["storage"])),
        ("class=", text(&spec["volumeAttributesClassName"])),
        ("current=", text(&status["currentVolumeAttributesClassName"])),
        ("tier=", text(&labels[TIER])),
        ("revision=", revision.map(|revision| revisions.target(revision))),
        ("unselected", flag(labels["app"] != SET)),
        (
            "owner=",
            owner.map(|owner| if Some(owner) == set { "set" } else { "other" }.to_owned()),
        ),
        ("ours=", Some(ours).filter(|ours| !ours.is_empty())),
        (
            "resize=",
            resize.map(|resize| match resize {
                "ControllerResizeInProgress" => "Controller".to_owned(),
                "ControllerResizeInfeasible" => "ControllerInfeasible".to_owned(),
                "NodeResizePending" => "Node".to_owned(),
                other => other.to_owned(),
            }),
        ),
        ("modify=", text(&status["modifyVolumeStatus"]["status"])),
        ("terminating", flag(metadata["deletionTimestamp"].is_string())),
    ])
}

/// A ClaimRollout: its contents, a number, and whether it belongs to the existing StatefulSet.
#[must_use]
pub fn report_words(content: &str, is_of_the_set: bool) -> String {
    line([
        ("content=", Some(content.to_owned())),
        ("of another set", flag(!is_of_the_set)),
    ])
}
