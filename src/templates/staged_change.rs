//! The staged change: the annotation `claim-rollout.io/staged`, which carries desired templates from the policy to the
//! controller.

use super::keys::UpdatePolicy;
use super::revision::Revision;
use super::staging::{RevisionLabel, Staging};
use super::template::{ClaimTemplate, TemplateError};
use super::text::write_list;
use super::words::words;
use crate::json::{self, Map, Members, Value, write_string};

/// The longest staged change, in bytes. With it, an object must still fit into an admission request.
pub const MAX_BYTES: usize = 8 * 1024;

/// The only version of the format.
pub const VERSION: u64 = 1;

/// A staged change has no other fields.
const NO_OTHERS: &Map<Value> = &Map::new();

/// A staged change.
#[derive(Clone, Debug, PartialEq)]
pub struct StagedChange {
    /// The user who asked for the change.
    pub by: String,
    /// `options.fieldManager` of the request, or the empty string.
    pub manager: String,
    /// The progress of the rollout.
    pub phase: Phase,
    /// The replicas of the StatefulSet when the change was staged: the PVCs of those that were scaled away since are
    /// updated too.
    pub replicas: u32,
    /// Which staging of these templates this is.
    pub staging: Staging,
    /// All desired templates, the unchanged ones included.
    pub templates: Vec<ClaimTemplate>,
    /// The uid of the StatefulSet.
    pub uid: String,
    /// The update policy at the time of staging. The annotation `update-policy` of the StatefulSet takes precedence.
    pub update_policy: UpdatePolicy,
}

words! {
    /// The progress of the rollout of a staged change.
    pub enum Phase {
        /// Some replicas may not be updated.
        RollingOut,
        /// Every replica is updated.
        Complete,
    }
}

/// Why a text is not a staged change of a StatefulSet. No variant contains the text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StagedError {
    /// Longer than [`MAX_BYTES`].
    #[error("expected at most 8192 bytes, but found {found}")]
    TooLong {
        /// The length in bytes.
        found: usize,
    },
    /// Not a JSON object with exactly the fields of a staged change.
    #[error("not a staged change: {found}")]
    Malformed {
        /// The fault.
        found: &'static str,
    },
    /// A field is absent, or has a value that no field of this name has.
    #[error("not a staged change: expected a valid {field}")]
    Field {
        /// The name of the field.
        field: &'static str,
    },
    /// An unknown version.
    #[error("expected version 1")]
    Version,
    /// The staged change of another StatefulSet, or of a previous one with the same name.
    #[error("the uid is of another StatefulSet")]
    Uid,
    /// Somebody changed the text after the policy wrote it.
    #[error("the revision is not of these templates")]
    Revision,
    /// The templates cannot be read.
    #[error(transparent)]
    Templates(#[from] TemplateError),
}

impl Phase {
    /// The value of the annotation `claim-rollout.io/phase` under this update policy. `OnClaimDelete` rolls nothing
    /// out.
    #[must_use]
    pub const fn flat(self, policy: UpdatePolicy) -> &'static str {
        match (self, policy) {
            (Self::RollingOut, UpdatePolicy::OnClaimDelete) => "Staged",
            _ => self.as_str(),
        }
    }
}

impl StagedChange {
    /// The target revision.
    #[must_use]
    pub fn revision(&self) -> Revision {
        Revision::of(&self.templates)
    }

    /// The label of PVCs that have got this staging.
    #[must_use]
    pub fn label(&self) -> RevisionLabel {
        RevisionLabel {
            revision: self.revision(),
            staging: self.staging.clone(),
        }
    }

    /// Reads the staged change of the StatefulSet with this uid.
    ///
    /// A valid text does not prove that the policy wrote it: whoever may edit the StatefulSet may write the annotation.
    /// So the policy rewrites or removes annotations of others, and the controller checks every rule again.
    ///
    /// # Errors
    /// Ignore a text with an error: the live templates are the desired ones.
    pub fn read(text: &str, uid: &str) -> Result<Self, StagedError> {
        let change = Self::read_of_any(text)?;
        if uid.is_empty() || change.uid != uid {
            return Err(StagedError::Uid);
        }
        Ok(change)
    }

    /// As [`StagedChange::read`], for any uid: a StatefulSet that was restored from a backup has a new one.
    ///
    /// # Errors
    /// All of [`StagedError`] but [`StagedError::Uid`].
    pub fn read_of_any(text: &str) -> Result<Self, StagedError> {
        if text.len() > MAX_BYTES {
            return Err(StagedError::TooLong { found: text.len() });
        }
        let Ok(Value::Object(mut fields)) = json::read(text) else {
            return Err(StagedError::Malformed {
                found: "no JSON object",
            });
        };
        if fields.remove("version") != Some(VERSION.into()) {
            return Err(StagedError::Version);
        }
        let mut text_of = |field| match fields.remove(field) {
            Some(Value::String(text)) => Ok(text),
            _ => Err(StagedError::Field { field }),
        };
        let uid = text_of("uid")?;
        let by = text_of("by")?;
        let manager = text_of("manager")?;
        let revision = text_of("revision")?;
        let staging = Staging::read(text_of("staging")?).ok_or(StagedError::Field { field: "staging" })?;
        let phase = Phase::read(&text_of("phase")?).ok_or(StagedError::Field { field: "phase" })?;
        let policy = text_of("updatePolicy")?.parse();
        // Without it, PVCs of replicas that were scaled away stay as they are.
        let replicas = fields.remove("replicas").and_then(|count| count.as_u64());
        let replicas = u32::try_from(replicas.unwrap_or(0)).unwrap_or(0);
        let update_policy = policy.map_err(|_| StagedError::Field { field: "updatePolicy" })?;
        let templates = fields
            .remove("templates")
            .ok_or(StagedError::Field { field: "templates" })?;
        if !fields.is_empty() {
            return Err(StagedError::Malformed {
                found: "an unknown field",
            });
        }
        let change = Self {
            by,
            manager,
            phase,
            replicas,
            staging,
            templates: ClaimTemplate::list_from_value(templates)?,
            uid,
            update_policy,
        };
        if change.revision().as_str() != revision {
            return Err(StagedError::Revision);
        }
        Ok(change)
    }

    /// True iff a newer version of claim-rollout wrote the text. Leave such a text alone.
    #[must_use]
    pub fn is_newer(text: &str) -> bool {
        if text.len() > MAX_BYTES {
            return false;
        }
        let Ok(Value::Object(mut fields)) = json::read(text) else {
            return false;
        };
        let version = fields.remove("version").and_then(|version| version.as_u64());
        version.is_some_and(|version| version > VERSION)
    }

    /// The text of the annotation: canonical JSON.
    ///
    /// # Errors
    /// [`StagedError::TooLong`] if it exceeds [`MAX_BYTES`].
    pub fn write(&self) -> Result<String, StagedError> {
        self.write_as(&self.revision())
    }

    /// As [`StagedChange::write`], with a revision that the caller has computed.
    pub(crate) fn write_as(&self, revision: &Revision) -> Result<String, StagedError> {
        let mut text = String::new();
        let mut fields = Members::of(NO_OTHERS, &mut text);
        write_string(&self.by, fields.member("by"));
        write_string(&self.manager, fields.member("manager"));
        write_string(self.phase.as_str(), fields.member("phase"));
        if self.replicas > 0 {
            fields.member("replicas").push_str(&self.replicas.to_string());
        }
        write_string(revision.as_str(), fields.member("revision"));
        write_string(self.staging.as_str(), fields.member("staging"));
        write_list(&self.templates, fields.member("templates"));
        write_string(&self.uid, fields.member("uid"));
        write_string(self.update_policy.as_str(), fields.member("updatePolicy"));
        fields.member("version").push_str(&VERSION.to_string());
        fields.end();
        if text.len() > MAX_BYTES {
            return Err(StagedError::TooLong { found: text.len() });
        }
        Ok(text)
    }
}

#[cfg(test)]
#[path = "staged_change_tests.rs"]
mod tests;
