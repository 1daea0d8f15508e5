//! The journal: what the controller needs to finish a replacement after a crash.
//!
//! It is a Secret in the namespace of the controller. A StatefulSet that it describes is created with every right of
//! the controller, so users must not be able to write it.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::live::{self, DELETE, LiveSet};
use super::managers::{WHEN_DELETED, with_managers};
use crate::claims::Manager;
use crate::templates::{ClaimTemplate, Diff, StagedChange, keys};

/// Milliseconds since the Unix epoch.
pub type Millis = u64;

/// The only version of the format.
const VERSION: u32 = 1;

/// The longest journal in bytes: a Secret holds 1 MiB.
pub const MAX_BYTES: usize = 900 * 1024;

/// How far the replacement is.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub enum Stage {
    /// The old StatefulSet exists. It is not created if somebody deletes it now.
    Prepared,
    /// Our finalizer is the last one, and `set` is the object as it was read last. If it does not exist any more, we
    /// let it go, and it is to be created.
    Releasing,
    /// Somebody else created a set of this name. It is not created if somebody deletes it.
    Created,
}

/// A Pod of the old StatefulSet.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub struct JournaledPod {
    /// `metadata.name`
    pub name: String,
    /// `metadata.uid`
    pub uid: String,
}

/// A replacement in progress.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Journal {
    version: u32,
    /// The namespace of the StatefulSet.
    pub namespace: String,
    /// The uid of the Secret that has the journal. Empty until the old StatefulSet is let go. A Secret that a backup brought
    /// back has another one.
    pub secret_uid: String,
    /// The uid of the namespace. Empty until the old StatefulSet is let go.
    pub namespace_uid: String,
    /// The name of the StatefulSet.
    pub name: String,
    /// The uid of the old StatefulSet.
    pub uid: String,
    /// How far the replacement is.
    pub stage: Stage,
    /// When it began.
    pub began: Millis,
    /// `whenDeleted` of the old StatefulSet, if we change it to `Retain`.
    pub when_deleted: Option<String>,
    /// Who owned it then, as entries of `metadata.managedFields` with this field alone: our change takes it away.
    pub when_deleted_managers: Vec<Value>,
    /// The value in the manifest of `kubectl apply` then: our change hides a later `Retain` of its user.
    pub when_deleted_applied: Option<Value>,
    /// The templates of the new StatefulSet.
    pub templates: Vec<Value>,
    /// Somebody changed the Pod template after we deleted the StatefulSet: the new one has another revision.
    pub has_new_pod_template: bool,
    /// The Pods that the new StatefulSet is to adopt.
    pub pods: Vec<JournaledPod>,
    /// The old StatefulSet.
    pub set: Value,
    /// The hash of everything else.
    hash: String,
}

/// The version of a journal, which may be a newer one.
#[derive(Deserialize)]
struct Versioned {
    version: u32,
}

/// Why a text is not a journal.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// It cannot be read. The message of serde may quote the Secret.
    #[error("expected the journal of a replacement, but it cannot be read at line {}, column {}", .0.line(), .0.column())]
    Malformed(#[from] serde_json::Error),
    /// A newer version.
    #[error("expected version 1, but found {0}")]
    Version(u32),
    /// Somebody changed it.
    #[error("the hash does not fit: somebody changed the journal")]
    Hash,
    /// A backup brought the Secret back.
    #[error("it was written into another Secret: a backup brought it back, or somebody copied it")]
    OtherSecret,
}

impl Journal {
    /// The journal of a replacement that begins, or that began with another version of the set. None if the set has no
    /// readable staged change.
    #[must_use]
    pub fn prepare(set: &LiveSet, before: Option<&Self>, now: Millis) -> Option<Self> {
        let templates = set.staged()?.templates;
        // The set has `Retain` because of us.
        let is_ours = set.retains();
        let before = before.filter(|before| before.uid == set.uid());
        let (when_deleted, when_deleted_managers, when_deleted_applied) = match before.filter(|_| is_ours) {
            Some(before) => (
                before.when_deleted.clone(),
                before.when_deleted_managers.clone(),
                before.when_deleted_applied.clone(),
            ),
            None if set.when_deleted() == Some(DELETE) => (
                Some(DELETE.to_owned()),
                set.managers_of(&WHEN_DELETED),
                set.applied(&WHEN_DELETED),
            ),
            None => (None, Vec::new(), None),
        };
        let templates = templates
            .iter()
            .filter_map(|template| serde_json::from_str(&template.text()).ok());
        let journal = Self {
            version: VERSION,
            namespace: set.namespace().to_owned(),
            secret_uid: String::new(),
            namespace_uid: String::new(),
            name: set.name().to_owned(),
            uid: set.uid().to_owned(),
            stage: Stage::Prepared,
            began: before.map_or(now, |before| before.began),
            when_deleted,
            when_deleted_managers,
            when_deleted_applied,
            templates: templates.collect(),
            has_new_pod_template: false,
            pods: Vec::new(),
            set: set.object().clone(),
            hash: String::new(),
        };
        Some(journal.hashed())
    }

    /// The journal before the old object is let go: the object as it was just read, in the namespace with this uid, for
    /// the Secret with this uid. It is never the first journal in its Secret.
    #[must_use]
    pub fn release(&self, set: &LiveSet, pods: Vec<JournaledPod>, namespace: &str, secret: &str) -> Self {
        // A user who withdraws the change keeps the live templates.
        let templates = match set.staged() {
            Some(_) => self.templates.clone(),
            None => set.templates().as_array().cloned().unwrap_or_default(),
        };
        let journal = Self {
            stage: Stage::Releasing,
            secret_uid: secret.to_owned(),
            namespace_uid: namespace.to_owned(),
            templates,
            has_new_pod_template: self.has_new_pod_template || self.old().pod_template() != set.pod_template(),
            pods,
            set: set.object().clone(),
            ..self.clone()
        };
        journal.hashed()
    }

    /// The journal once somebody else created the set.
    #[must_use]
    pub fn created(&self) -> Self {
        let journal = Self {
            stage: Stage::Created,
            ..self.clone()
        };
        journal.hashed()
    }

    /// The old StatefulSet.
    #[must_use]
    pub fn old(&self) -> LiveSet {
        LiveSet::new(self.set.clone())
    }

    /// The StatefulSet to create.
    #[must_use]
    pub fn recreated(&self) -> Value {
        let old = self.old();
        let mut object = old.recreated(&self.templates, self.owed_retention(&old).as_deref());
        // Somebody staged another change meanwhile. It gets the uid of the new set as soon as that is known.
        let is_other = |change: &StagedChange| !self.has_templates(&change.templates);
        if old.staged().as_ref().is_some_and(is_other) {
            for key in [keys::STAGED, keys::PHASE] {
                object["metadata"]["annotations"][key] = old.annotation(key).into();
            }
        }
        object
    }

    /// `whenDeleted` to give back to the old StatefulSet, of which this is the last version. None if it was not changed, or
    /// if somebody else wants `Retain` meanwhile: then it protects PVCs.
    #[must_use]
    pub fn owed_retention(&self, set: &LiveSet) -> Option<String> {
        let is_wanted = set.has_others(&WHEN_DELETED) || set.applied(&WHEN_DELETED) != self.when_deleted_applied;
        let keeps = set.when_deleted() != Some(DELETE) && is_wanted;
        self.when_deleted.clone().filter(|_| !keeps)
    }

    /// True iff `whenDeleted` stays `Retain`, because somebody else wants that since we changed it.
    #[must_use]
    pub fn keeps_retain(&self, set: &LiveSet) -> bool {
        self.when_deleted.is_some() && self.owed_retention(set).is_none()
    }

    /// `metadata.managedFields` of a StatefulSet without ours, and `whenDeleted` with the managers that it had before we
    /// changed it.
    #[must_use]
    pub fn managed_fields(&self, set: &LiveSet) -> Value {
        let fields = set.managed_fields_without(Manager::OURS);
        with_managers(fields, &self.when_deleted_managers)
    }

    /// True iff `whenDeleted` of the old StatefulSet is as it is to be, but we are still its manager.
    #[must_use]
    pub fn owes_managers(&self, set: &LiveSet) -> bool {
        let is_ours = |entry: &Value| entry["manager"] == Manager::OURS;
        !self.when_deleted_managers.is_empty()
            && (self.when_deleted.as_deref() == set.when_deleted() || !set.is_marked())
            && set.managers_of(&WHEN_DELETED).iter().any(is_ours)
    }

    /// True iff the journal has the object that we let go.
    #[must_use]
    pub fn has_released(&self) -> bool {
        self.stage != Stage::Prepared
    }

    /// True iff these are the templates of the new StatefulSet.
    #[must_use]
    pub fn has_templates(&self, others: &[ClaimTemplate]) -> bool {
        let ours = live::read_templates(&self.templates.clone().into());
        ours.is_some_and(|ours| Diff::between(&ours, others).is_empty())
    }

    /// True iff the old object may be let go: the journal has exactly this version of it.
    #[must_use]
    pub fn is_of(&self, set: &LiveSet) -> bool {
        self.stage == Stage::Releasing && self.old().resource_version() == set.resource_version()
    }

    /// True iff the journal has the object as it was when it was deleted. The event has a resourceVersion of its own.
    #[must_use]
    pub fn is_last(&self, last: &LiveSet) -> bool {
        let mut expected = self.set.clone();
        expected["metadata"]["resourceVersion"] = last.resource_version().into();
        expected == *last.object()
    }

    /// True iff the StatefulSet may be created in the namespace with this uid. One that was deleted with its namespace
    /// does not come back with a namespace of the same name.
    #[must_use]
    pub fn is_in(&self, namespace: &str) -> bool {
        !namespace.is_empty() && self.namespace_uid == namespace
    }

    /// The text of the journal.
    ///
    /// # Errors
    /// If the object cannot be written as JSON, which no object of the API server causes.
    pub fn write(&self) -> serde_json::Result<String> {
        serde_json::to_string(self)
    }

    /// Reads a journal from the Secret with this uid.
    ///
    /// # Errors
    /// [`JournalError`]; nothing is created from such a text.
    pub fn read(text: &str, secret: &str) -> Result<Self, JournalError> {
        // A newer version may have fields of its own.
        let Versioned { version } = serde_json::from_str(text)?;
        if version != VERSION {
            return Err(JournalError::Version(version));
        }
        let journal: Self = serde_json::from_str(text)?;
        let hash = journal.clone().hashed().hash;
        if hash != journal.hash {
            return Err(JournalError::Hash);
        }
        if !journal.is_of_secret(secret) {
            return Err(JournalError::OtherSecret);
        }
        Ok(journal)
    }

    /// True iff the journal was written into the Secret with this uid. From the first write it is not known.
    #[must_use]
    pub fn is_of_secret(&self, secret: &str) -> bool {
        self.stage == Stage::Prepared || self.secret_uid == secret
    }

    pub(super) fn hashed(mut self) -> Self {
        self.hash.clear();
        let text = self.write().unwrap_or_default();
        let hash = Sha256::digest(text);
        self.hash = hash.iter().map(|byte| format!("{byte:02x}")).collect();
        self
    }
}
