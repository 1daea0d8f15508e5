//! The journal: what the controller needs to finish a replacement after a crash.
//!
//! It is a Secret in the namespace of the controller. A StatefulSet that it describes is created with every right of
//! the controller, so users must not be able to write it.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::live::LiveSet;
use super::world::Millis;

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
    /// The name of the StatefulSet.
    pub name: String,
    /// The uid of the old StatefulSet.
    pub uid: String,
    /// How far the replacement is.
    pub stage: Stage,
    /// When it began.
    pub began: Millis,
    /// `whenDeleted` of the old StatefulSet before we changed it to `Retain`.
    pub when_deleted: Option<String>,
    /// The templates of the new StatefulSet.
    pub templates: Vec<Value>,
    /// The Pods of the old StatefulSet.
    pub pods: Vec<JournaledPod>,
    /// The old StatefulSet.
    pub set: Value,
    /// The hash of everything else.
    hash: String,
}

/// Why a text is not a journal.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// It cannot be read.
    #[error("expected the journal of a replacement: {0}")]
    Malformed(#[from] serde_json::Error),
    /// A newer version.
    #[error("expected version 1, but found {0}")]
    Version(u32),
    /// Somebody changed it.
    #[error("the hash does not fit: somebody changed the journal")]
    Hash,
}

impl Journal {
    /// The journal of a replacement that begins. None if the set has no readable staged change.
    #[must_use]
    pub fn begin(set: &LiveSet, pods: Vec<JournaledPod>, now: Millis) -> Option<Self> {
        let templates = set.staged()?.templates;
        let templates = templates
            .iter()
            .filter_map(|template| serde_json::from_str(&template.text()).ok());
        let journal = Self {
            version: VERSION,
            namespace: set.namespace().to_owned(),
            name: set.name().to_owned(),
            uid: set.uid().to_owned(),
            stage: Stage::Prepared,
            began: now,
            when_deleted: set.when_deleted().map(str::to_owned),
            templates: templates.collect(),
            pods,
            set: set.object().clone(),
            hash: String::new(),
        };
        Some(journal.hashed())
    }

    /// The journal before the old object is let go: the object as it was just read.
    #[must_use]
    pub fn release(&self, set: &LiveSet, pods: Vec<JournaledPod>) -> Self {
        let journal = Self {
            stage: Stage::Releasing,
            pods,
            set: set.object().clone(),
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
        self.old().recreated(&self.templates, self.when_deleted.as_deref())
    }

    /// True iff the old object may be let go: the journal has exactly this version of it.
    #[must_use]
    pub fn is_of(&self, set: &LiveSet) -> bool {
        self.stage == Stage::Releasing && self.old().resource_version() == set.resource_version()
    }

    /// The text of the journal.
    ///
    /// # Errors
    /// If the object cannot be written as JSON, which no object of the API server causes.
    pub fn write(&self) -> serde_json::Result<String> {
        serde_json::to_string(self)
    }

    /// Reads a journal.
    ///
    /// # Errors
    /// [`JournalError`]; nothing is created from such a text.
    pub fn read(text: &str) -> Result<Self, JournalError> {
        let journal: Self = serde_json::from_str(text)?;
        if journal.version != VERSION {
            return Err(JournalError::Version(journal.version));
        }
        let hash = journal.clone().hashed().hash;
        if hash != journal.hash {
            return Err(JournalError::Hash);
        }
        Ok(journal)
    }

    fn hashed(mut self) -> Self {
        self.hash.clear();
        let text = self.write().unwrap_or_default();
        let hash = Sha256::digest(text);
        self.hash = hash.iter().map(|byte| format!("{byte:02x}")).collect();
        self
    }
}
