//! The annotations and labels of `claim-rollout.io`, and the values that users may give them.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

/// How existing claims follow the templates (user; [`UpdatePolicy`]).
pub const UPDATE_POLICY: &str = "claim-rollout.io/update-policy";
/// How claims and Pods are coordinated (user; [`Sync`]).
pub const SYNC: &str = "claim-rollout.io/sync";
/// Whether the set is replaced at the end, so that its templates are the wish (user; [`ReplaceSet`]).
pub const REPLACE_SET: &str = "claim-rollout.io/replace-set";
/// `"true"`: start nothing new (user).
pub const PAUSED: &str = "claim-rollout.io/paused";
/// How many seconds without progress a rollout may take before it is said to be stalled (user).
pub const PROGRESS_DEADLINE: &str = "claim-rollout.io/progress-deadline";
/// How many replicas may be in motion at a time (user; [`MaxInMotion`]).
pub const MAX_IN_MOTION: &str = "claim-rollout.io/max-in-motion";
/// Whether a Pod is evicted whose node has not grown the file system yet (user; [`Restart`]).
pub const RESTART: &str = "claim-rollout.io/restart";
/// A revision whose staged change is to be dropped (user; consumed by the policy).
pub const WITHDRAW: &str = "claim-rollout.io/withdraw";
/// The [`StagedChange`](super::Record) of the staged change (policy).
pub const STAGED: &str = "claim-rollout.io/staged";
/// How far the staged change has come, for health checks that read no JSON (policy, controller).
pub const PHASE: &str = "claim-rollout.io/phase";
/// The last replica whose claims became ready while its Pod waited (controller; [`Ready`](super::Ready)).
pub const READY: &str = "claim-rollout.io/ready";
/// The label on claims: the revision that was applied to them (controller).
pub const REVISION: &str = "claim-rollout.io/revision";
/// The annotation on claims: when we modified it in the last 24 hours, where its class has a budget for that (controller).
pub const MODIFIED: &str = "claim-rollout.io/modified";
/// The annotation on a wish of the history: the user who staged it last (controller).
pub const BY: &str = "claim-rollout.io/by";
/// The annotation on a wish of the history: the field manager that the user named (controller).
pub const MANAGER: &str = "claim-rollout.io/manager";
/// The label on a wish of the history: the uid of the ClaimRollout that it belongs to (controller).
pub const ROLLOUT: &str = "claim-rollout.io/rollout-uid";
/// What all keys of this project begin with.
pub const PREFIX: &str = "claim-rollout.io/";

/// Domains of labels and annotations that other controllers obey, with all below them: a template that changes one of them
/// would make claims do what nobody reads out of a StatefulSet. [`OF_CHARTS`] is not among them, nor is `helm.sh/`.
pub const RESERVED_KEY_PREFIXES: [Cow<'static, str>; 3] = [
    Cow::Borrowed("kubernetes.io/"),
    Cow::Borrowed("k8s.io/"),
    Cow::Borrowed(PREFIX),
];
/// What charts put on everything: reserved only where it is named itself.
pub const OF_CHARTS: &str = "app.kubernetes.io/";

/// How existing claims follow the templates: KEP-4650's `volumeClaimUpdatePolicy` and OpenKruise's `ReCreate`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum UpdatePolicy {
    /// Only claims created from now on get the new templates (the default of KEP-4650).
    #[default]
    OnClaimDelete,
    /// Existing claims are patched.
    InPlace,
    /// Claims and Pods are deleted and made anew (OpenKruise's proposal).
    ReCreate,
}

impl UpdatePolicy {
    /// Every value, in the order in which messages name them.
    pub const ALL: [Self; 3] = [Self::OnClaimDelete, Self::InPlace, Self::ReCreate];

    /// The value as it is written.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::OnClaimDelete => "OnClaimDelete",
            Self::InPlace => "InPlace",
            Self::ReCreate => "ReCreate",
        }
    }
}

/// How the claims and the Pod of a replica are coordinated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Sync {
    /// The claims of a replica first, then its Pod.
    #[default]
    LockStep,
    /// Pods roll by themselves.
    Async,
}

impl Sync {
    /// Every value, in the order in which messages name them.
    pub const ALL: [Self; 2] = [Self::LockStep, Self::Async];

    /// The value as it is written.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::LockStep => "LockStep",
            Self::Async => "Async",
        }
    }
}

/// Whether the set is replaced when the rollout is complete, so that its templates are the wish.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ReplaceSet {
    /// The set stays as it is.
    #[default]
    Never,
    /// It is deleted, without its Pods, and made again with the wished templates.
    WhenComplete,
}

impl ReplaceSet {
    /// Every value, in the order in which messages name them.
    pub const ALL: [Self; 2] = [Self::Never, Self::WhenComplete];

    /// The value as it is written.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Never => "Never",
            Self::WhenComplete => "WhenComplete",
        }
    }
}

/// Whether a Pod is evicted whose node has not grown the file system for a minute.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Restart {
    /// Nobody evicts it.
    #[default]
    Never,
    /// One Pod at a time: some drivers grow the file system only when the volume is mounted again.
    WhenNodeExpansionPends,
}

/// A user key holds a value that it does not know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{key}: expected one of {allowed}")]
pub struct UnknownValue {
    /// The annotation.
    pub key: &'static str,
    /// The values that it may have.
    pub allowed: &'static str,
}

impl FromStr for UpdatePolicy {
    type Err = UnknownValue;

    /// `OnDelete`, OpenKruise's word, is an alias of `OnClaimDelete`.
    fn from_str(text: &str) -> Result<Self, UnknownValue> {
        match text {
            "OnClaimDelete" | "OnDelete" => Ok(Self::OnClaimDelete),
            "InPlace" => Ok(Self::InPlace),
            "ReCreate" => Ok(Self::ReCreate),
            _ => Err(UnknownValue {
                key: UPDATE_POLICY,
                allowed: "OnClaimDelete, InPlace, ReCreate",
            }),
        }
    }
}

impl FromStr for Sync {
    type Err = UnknownValue;

    fn from_str(text: &str) -> Result<Self, UnknownValue> {
        match text {
            "LockStep" => Ok(Self::LockStep),
            "Async" => Ok(Self::Async),
            _ => Err(UnknownValue {
                key: SYNC,
                allowed: "LockStep, Async",
            }),
        }
    }
}

impl fmt::Display for UpdatePolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for ReplaceSet {
    type Err = UnknownValue;

    fn from_str(text: &str) -> Result<Self, UnknownValue> {
        match text {
            "Never" => Ok(Self::Never),
            "WhenComplete" => Ok(Self::WhenComplete),
            _ => Err(UnknownValue {
                key: REPLACE_SET,
                allowed: "Never, WhenComplete",
            }),
        }
    }
}

impl FromStr for Restart {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        match text {
            "Never" => Ok(Self::Never),
            "WhenNodeExpansionPends" => Ok(Self::WhenNodeExpansionPends),
            _ => Err(()),
        }
    }
}

impl fmt::Display for ReplaceSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for Sync {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// For how many seconds a rollout may make no progress before it is said to be stalled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProgressDeadline(pub u32);

impl ProgressDeadline {
    /// A month.
    const MOST: u32 = 2_592_000;
}

/// A number from 1 to this.
fn number(text: &str, most: u32) -> Result<u32, ()> {
    let number = text.parse().map_err(drop)?;
    (1..=most).contains(&number).then_some(number).ok_or(())
}

/// That of a Deployment.
impl Default for ProgressDeadline {
    fn default() -> Self {
        Self(600)
    }
}

impl FromStr for ProgressDeadline {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        number(text, Self::MOST).map(Self)
    }
}

/// How many replicas of a StatefulSet a rollout may have in motion at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MaxInMotion(pub u32);

impl MaxInMotion {
    const MOST: u32 = 1000;
}

/// One replica after the other (KEP-4650).
impl Default for MaxInMotion {
    fn default() -> Self {
        Self(1)
    }
}

impl FromStr for MaxInMotion {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        number(text, Self::MOST).map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::{ReplaceSet, Sync, UpdatePolicy};

    #[test]
    fn every_value_reads_back_as_it_is_written() {
        for policy in UpdatePolicy::ALL {
            assert_eq!(policy.to_string().parse(), Ok(policy));
        }
        for sync in Sync::ALL {
            assert_eq!(sync.to_string().parse(), Ok(sync));
        }
        for replace in ReplaceSet::ALL {
            assert_eq!(replace.to_string().parse(), Ok(replace));
        }
    }

    #[test]
    fn on_delete_is_an_alias_and_other_spellings_are_refused_with_the_allowed_ones() {
        assert_eq!("OnDelete".parse(), Ok(UpdatePolicy::OnClaimDelete));
        let error = "inplace".parse::<UpdatePolicy>().expect_err("case matters");
        assert_eq!(
            error.to_string(),
            "claim-rollout.io/update-policy: expected one of OnClaimDelete, InPlace, ReCreate"
        );
        let error = "Lockstep".parse::<Sync>().expect_err("case matters");
        assert_eq!(
            error.to_string(),
            "claim-rollout.io/sync: expected one of LockStep, Async"
        );
    }
}
