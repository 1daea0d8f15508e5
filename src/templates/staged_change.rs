//! The record: `claim-rollout.io/staged`, in which a wish travels from the policy to the controller.

use std::fmt;

use super::keys::UpdatePolicy;
use super::revision::Revision;
use super::template::{ClaimTemplate, TemplateError};
use super::text::write_list;
use crate::json::{self, Map, Members, Value, write_string};

/// The longest record, in bytes. It must never push an object over what an admission webhook can receive.
pub const MAX_BYTES: usize = 8 * 1024;

/// The only version of the format.
pub const VERSION: u64 = 1;

/// A record has no fields but its own.
const NO_OTHERS: &Map<Value> = &Map::new();

/// A staged change.
#[derive(Clone, Debug, PartialEq)]
pub struct StagedChange {
    /// The user who asked for it.
    pub by: String,
    /// The field manager that the request named (`options.fieldManager`), or nothing.
    pub manager: String,
    /// How far the controller has come.
    pub phase: Phase,
    /// The whole wanted list.
    pub templates: Vec<ClaimTemplate>,
    /// The uid of the set that it is for.
    pub uid: String,
    /// The update policy in force when it was staged; an annotation on the set rules when there is one.
    pub update_policy: UpdatePolicy,
}

/// How far the rollout of a record has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Phase {
    /// Some replica may not be at the wish.
    RollingOut,
    /// Every replica has been brought to it.
    Complete,
}

/// Why a text is no record for a set. None of them shows the text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StagedError {
    /// Longer than [`MAX_BYTES`].
    #[error("expected at most 8192 bytes, but found {found}")]
    TooLong {
        /// The length in bytes.
        found: usize,
    },
    /// Not a JSON object with exactly the fields of a record.
    #[error("expected a record, but found {found}")]
    Malformed {
        /// What was found.
        found: &'static str,
    },
    /// A version that this program does not know.
    #[error("expected version 1")]
    Version,
    /// The record of another set, or of one that was deleted and made again.
    #[error("expected the uid of the set, but found another")]
    Uid,
    /// The content was changed after it was written.
    #[error("expected the revision of its templates, but found another")]
    Revision,
    /// The templates cannot be read.
    #[error(transparent)]
    Templates(#[from] TemplateError),
}

impl Phase {
    /// The phase as it is written.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::RollingOut => "RollingOut",
            Self::Complete => "Complete",
        }
    }

    /// The value of the annotation `claim-rollout.io/phase` while this update policy is in force: with `OnClaimDelete`
    /// nothing is rolled out.
    #[must_use]
    pub const fn flat(self, policy: UpdatePolicy) -> &'static str {
        match (self, policy) {
            (Self::RollingOut, UpdatePolicy::OnClaimDelete) => "Staged",
            _ => self.as_str(),
        }
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl StagedChange {
    /// The revision of the wanted templates.
    #[must_use]
    pub fn revision(&self) -> Revision {
        Revision::of(&self.templates)
    }

    /// Reads the record of the set with this uid.
    ///
    /// What it does not do: prove that the policy wrote it. Whoever may edit the set could have; so the policy rewrites
    /// or removes what it did not write, and the controller checks every rule again.
    ///
    /// # Errors
    /// A text with an error is no record: it stands for no wish at all.
    pub fn read(text: &str, uid: &str) -> Result<Self, StagedError> {
        let change = Self::read_of_any(text)?;
        if uid.is_empty() || change.uid != uid {
            return Err(StagedError::Uid);
        }
        Ok(change)
    }

    /// As [`StagedChange::read`], of whatever set it is: one that was restored from a backup has another uid.
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
        let mut text_of = |key: &str, found| match fields.remove(key) {
            Some(Value::String(text)) => Ok(text),
            _ => Err(StagedError::Malformed { found }),
        };
        let uid = text_of("uid", "no uid")?;
        let by = text_of("by", "no user")?;
        let manager = text_of("manager", "no manager")?;
        let revision = text_of("revision", "no revision")?;
        let phase = match text_of("phase", "no phase")?.as_str() {
            "RollingOut" => Phase::RollingOut,
            "Complete" => Phase::Complete,
            _ => {
                return Err(StagedError::Malformed {
                    found: "an unknown phase",
                });
            }
        };
        let update_policy =
            text_of("updatePolicy", "no update policy")?
                .parse()
                .map_err(|_| StagedError::Malformed {
                    found: "an unknown update policy",
                })?;
        let templates = fields
            .remove("templates")
            .ok_or(StagedError::Malformed { found: "no templates" })?;
        if !fields.is_empty() {
            return Err(StagedError::Malformed {
                found: "an unknown field",
            });
        }
        let change = Self {
            by,
            manager,
            phase,
            templates: ClaimTemplate::list_from_value(templates)?,
            uid,
            update_policy,
        };
        if change.revision().as_str() != revision {
            return Err(StagedError::Revision);
        }
        Ok(change)
    }

    /// True iff a newer version of this program wrote the text: what it means is for that one to say.
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

    /// As [`StagedChange::write`], with the revision that was computed before.
    pub(crate) fn write_as(&self, revision: &Revision) -> Result<String, StagedError> {
        let mut text = String::new();
        let mut fields = Members::of(NO_OTHERS, &mut text);
        write_string(&self.by, fields.member("by"));
        write_string(&self.manager, fields.member("manager"));
        write_string(self.phase.as_str(), fields.member("phase"));
        write_string(revision.as_str(), fields.member("revision"));
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
