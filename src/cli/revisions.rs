//! The revisions of the volumeClaimTemplates of a StatefulSet, for `history` and `undo`.
//!
//! Each revision is a ControllerRevision `<set>-claims-<revision>` of the ClaimRollout. The live templates come before
//! all of them.

use kube::Client;
use kube::api::ListParams;
use serde_json::{Value, json};

use super::cluster;
use super::lists::list;
use crate::controller::objects::conversion;
use crate::gate::SetView;
use crate::templates::{ClaimTemplate, Diff, Phase, Revision, TemplateError, keys};

/// The revisions of a set, the latest last.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RevisionHistory {
    pub(crate) set: SetView,
    pub(crate) entries: Vec<HistoryEntry>,
}

/// One revision.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct HistoryEntry {
    /// A higher number was staged later. None if the controller has not read the revision yet; 0 for the live
    /// templates.
    pub(crate) number: Option<i64>,
    pub(crate) revision: Revision,
    pub(crate) templates: Vec<ClaimTemplate>,
    pub(crate) by: String,
    pub(crate) manager: String,
    /// The time of the first staging, as the API server writes it.
    pub(crate) created: Option<String>,
    /// The phase, if the revision is staged.
    pub(crate) phase: Option<Phase>,
    /// True if these templates are those in the spec of the set.
    pub(crate) is_live: bool,
    /// True if outdated claims still have this revision.
    pub(crate) current: bool,
}

/// Reads the history of a set.
///
/// # Errors
/// If there is no such set, or it cannot be read.
pub(crate) async fn read(client: &Client, namespace: &str, name: &str) -> anyhow::Result<(Value, RevisionHistory)> {
    let objects = |kind| cluster::objects(client, Some(namespace), &kind);
    let set = serde_json::to_value(objects(cluster::sets()).get(name).await?)?;
    let rollout = match objects(cluster::rollouts()).get_opt(name).await {
        Ok(rollout) => rollout,
        // The kind is not installed: then there is no history.
        Err(kube::Error::Api(status)) if status.code == 404 => None,
        Err(error) => return Err(error.into()),
    };
    let mut stored = Vec::new();
    let status = |key: &str| Some(rollout.as_ref()?.data["status"][key].as_str()?.to_owned());
    let (current, update) = (status("currentRevision"), status("updateRevision"));
    if let Some(uid) = rollout.and_then(|rollout| rollout.metadata.uid) {
        let of_rollout = ListParams::default().labels(&format!("{}={uid}", keys::ROLLOUT));
        let revisions = cluster::kind("apps", "v1", "ControllerRevision");
        stored = list::<Value>(client, Some(namespace), &revisions, &of_rollout)
            .await?
            .named();
        stored.retain(|revision| belongs(revision, &uid));
    }
    let mut history = RevisionHistory::of(&set, &stored)?;
    if current != update {
        history.mark_current(current.as_deref().unwrap_or_default());
    }
    Ok((set, history))
}

/// True iff the ClaimRollout of this uid is the controller of the object. Anybody can write a label.
fn belongs(stored: &Value, rollout: &str) -> bool {
    let owners = stored["metadata"]["ownerReferences"].as_array();
    let owned = |owner: &Value| owner["controller"] == true && owner["uid"] == rollout;
    owners.into_iter().flatten().any(owned)
}

impl RevisionHistory {
    /// The history of a set from its stored revisions. One that cannot be read is left out: somebody else wrote it.
    ///
    /// # Errors
    /// If the set cannot be read.
    pub(crate) fn of(set: &Value, stored: &[Value]) -> Result<Self, conversion::ObjectError> {
        let set = conversion::set(set)?;
        let live = Revision::of(&set.live);
        let mut entries: Vec<HistoryEntry> = stored
            .iter()
            .filter_map(|stored| HistoryEntry::read(stored).ok())
            .collect();
        entries.sort_by_key(|entry| entry.number);
        if !entries.iter().any(|entry| entry.revision == live) {
            entries.insert(0, HistoryEntry::new(Some(0), set.live.clone()));
        }
        if let Some(change) = &set.staged {
            let revision = change.revision();
            // The staged change comes last, even before the controller gives it a new number.
            let mut staged = match entries.iter().position(|entry| entry.revision == revision) {
                Some(at) => entries.remove(at),
                None => HistoryEntry::new(None, change.templates.clone()),
            };
            staged.by.clone_from(&change.by);
            staged.manager.clone_from(&change.manager);
            staged.phase = Some(change.phase);
            entries.push(staged);
        }
        for entry in &mut entries {
            entry.is_live = entry.revision == live;
        }
        Ok(Self { set, entries })
    }

    /// Marks the revision that outdated claims still have.
    fn mark_current(&mut self, revision: &str) {
        for entry in &mut self.entries {
            entry.current = entry.revision.as_str() == revision;
        }
    }

    /// The entry with this revision or number.
    pub(crate) fn find(&self, asked: &str) -> Option<&HistoryEntry> {
        let is_revision = |entry: &&HistoryEntry| entry.revision.as_str() == asked;
        let is_number = |entry: &&HistoryEntry| entry.number.is_some_and(|number| number.to_string() == asked);
        let all = || self.entries.iter();
        all().find(is_revision).or_else(|| all().find(is_number))
    }

    /// The changes of each revision against the previous one; of the first, the sizes.
    pub(crate) fn changes(&self) -> Vec<Vec<String>> {
        let before = std::iter::once(None).chain(self.entries.iter().map(Some));
        let changes = before.zip(&self.entries).map(|(before, entry)| match before {
            None => sizes(&entry.templates),
            Some(before) => Diff::between(&before.templates, &entry.templates).in_short(),
        });
        changes.collect()
    }
}

fn sizes(templates: &[ClaimTemplate]) -> Vec<String> {
    let size = |template: &ClaimTemplate| {
        template
            .storage
            .map_or_else(|| "none".to_owned(), |size| size.to_string())
    };
    templates
        .iter()
        .map(|template| format!("{} {}", template.name, size(template)))
        .collect()
}

impl HistoryEntry {
    fn new(number: Option<i64>, templates: Vec<ClaimTemplate>) -> Self {
        Self {
            number,
            revision: Revision::of(&templates),
            templates,
            by: String::new(),
            manager: String::new(),
            created: None,
            phase: None,
            is_live: false,
            current: false,
        }
    }

    /// Reads a ControllerRevision.
    fn read(stored: &Value) -> Result<Self, TemplateError> {
        let templates = ClaimTemplate::list_from_value(stored["data"]["spec"]["volumeClaimTemplates"].clone())?;
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let annotations = &stored["metadata"]["annotations"];
        Ok(Self {
            by: text(&annotations[keys::BY]).unwrap_or_default(),
            manager: text(&annotations[keys::MANAGER]).unwrap_or_default(),
            created: text(&stored["metadata"]["creationTimestamp"]),
            ..Self::new(stored["revision"].as_i64(), templates)
        })
    }

    /// The templates as JSON.
    pub(crate) fn templates(&self) -> Value {
        self.templates
            .iter()
            .map(|template| Value::from(template.to_value()))
            .collect()
    }
}

/// The patch that requests these templates.
pub(crate) fn patch(set: &Value, entry: &HistoryEntry) -> Value {
    let mut patch = precondition(set);
    patch["spec"] = json!({"volumeClaimTemplates": entry.templates()});
    patch
}

/// The patch that withdraws the staged change.
pub(crate) fn withdrawal(set: &Value, revision: &Revision) -> Value {
    let mut patch = precondition(set);
    patch["metadata"]["annotations"] = json!({keys::WITHDRAW: revision.as_str()});
    patch
}

/// The JSON patch that removes the annotation `withdraw` again, if its value is unchanged. The rest of the StatefulSet
/// may have changed, as its status often does.
pub(crate) fn no_withdrawal(set: &Value) -> Value {
    let place = format!("/metadata/annotations/{}", keys::WITHDRAW.replace('/', "~1"));
    json!([
        {"op": "test", "path": "/metadata/uid", "value": set["metadata"]["uid"]},
        {"op": "test", "path": place, "value": set["metadata"]["annotations"][keys::WITHDRAW]},
        {"op": "remove", "path": place},
    ])
}

/// Restricts a patch to the set as it was read.
fn precondition(set: &Value) -> Value {
    let metadata = &set["metadata"];
    json!({"metadata": {"uid": metadata["uid"], "resourceVersion": metadata["resourceVersion"]}})
}

#[cfg(test)]
#[path = "revisions_tests.rs"]
pub(crate) mod tests;
