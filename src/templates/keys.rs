//! The annotations and labels of `claim-rollout.io`, and the values that users may set.

use std::borrow::Cow;
use std::str::FromStr;

use super::words::words;

/// How existing PVCs get the desired templates (user; [`UpdatePolicy`]).
pub const UPDATE_POLICY: &str = "claim-rollout.io/update-policy";
/// How the rollout coordinates PVCs and Pods (user; [`Sync`]).
pub const SYNC: &str = "claim-rollout.io/sync";
/// Whether a complete rollout replaces the StatefulSet, so that the live templates are the desired ones (user;
/// [`ReplaceSet`]).
pub const REPLACE_SET: &str = "claim-rollout.io/replace-set";
/// `"true"`: nothing new begins (user).
pub const PAUSED: &str = "claim-rollout.io/paused";
/// How many seconds without progress make a rollout stalled (user).
pub const PROGRESS_DEADLINE: &str = "claim-rollout.io/progress-deadline";
/// How many replicas may be in motion at a time (user; [`MaxInMotion`]).
pub const MAX_IN_MOTION: &str = "claim-rollout.io/max-in-motion";
/// Whether to evict a Pod whose node does not grow the file system (user; [`Restart`]).
pub const RESTART: &str = "claim-rollout.io/restart";
/// The revision of a staged change to withdraw (user; the policy removes it).
pub const WITHDRAW: &str = "claim-rollout.io/withdraw";
/// The [`StagedChange`](super::StagedChange) (policy).
pub const STAGED: &str = "claim-rollout.io/staged";
/// The phase of the rollout, for health checks that read no JSON (policy, controller).
pub const PHASE: &str = "claim-rollout.io/phase";
/// The last replica whose PVCs became ready while its Pod waited, or [`HELD`](super::HELD) (controller;
/// [`Ready`](super::Ready)).
pub const READY: &str = "claim-rollout.io/ready";
/// The time at which the controller first saw the staging, or the one that it only grows, in RFC 3339, where PVCs may be
/// deleted (controller).
pub const STAGED_AT: &str = "claim-rollout.io/staged-at";
/// The annotation on a ClaimRollout: a user asks the controller to try again now (user; the controller removes it).
pub const RETRY: &str = "claim-rollout.io/retry";
/// The label on PVCs: the revision and the staging that were applied (controller; [`RevisionLabel`](super::RevisionLabel)).
pub const REVISION: &str = "claim-rollout.io/revision";
/// The annotation on PVCs: when we modified the PVC in the last 24 hours, if its storage class has a budget for that
/// (controller).
pub const MODIFIED: &str = "claim-rollout.io/modified";
/// The annotation on PVCs: the revision for which we delete the PVC, so that it is created anew (controller).
pub const RECREATED_FOR: &str = "claim-rollout.io/recreated-for";
/// The VolumeSnapshotClass of a snapshot of each PVC before it is deleted (user).
pub const RECREATE_SNAPSHOT: &str = "claim-rollout.io/recreate-snapshot";
/// The annotation on VolumeSnapshots: the StatefulSet of the PVC (controller).
pub const SNAPSHOT_SET: &str = "claim-rollout.io/of-set";
/// The annotation on VolumeSnapshots: the PVC (controller).
pub const SNAPSHOT_CLAIM: &str = "claim-rollout.io/of-claim";
/// The annotation on a revision of the history: the user who staged it last (controller).
pub const BY: &str = "claim-rollout.io/by";
/// The annotation on a revision of the history: the field manager of that request (controller).
pub const MANAGER: &str = "claim-rollout.io/manager";
/// The label on a revision of the history: the uid of its ClaimRollout (controller).
pub const ROLLOUT: &str = "claim-rollout.io/rollout-uid";
/// The finalizer of a StatefulSet that is being replaced (controller). It keeps the object while the garbage collector
/// removes the references to it, and while others may still write to it.
pub const REPLACING: &str = "claim-rollout.io/replacing";
/// The partition of a new StatefulSet until its Pods are adopted (controller): above every ordinal, also above those of a
/// scale-up that comes meanwhile.
pub const HOLD: i64 = 1_000_000_000;
/// The prefix of all keys of this project.
pub const PREFIX: &str = "claim-rollout.io/";

/// Domains whose labels and annotations other controllers act on, subdomains included: a change would make PVCs do what
/// a StatefulSet does not show. [`OF_CHARTS`] and `helm.sh/` are not reserved.
pub const RESERVED_KEY_PREFIXES: [Cow<'static, str>; 3] = [
    Cow::Borrowed("kubernetes.io/"),
    Cow::Borrowed("k8s.io/"),
    Cow::Borrowed(PREFIX),
];
/// The keys that charts put on every object. They are reserved only if the setting names this domain.
pub const OF_CHARTS: &str = "app.kubernetes.io/";

words! {
    /// How existing PVCs get the desired templates: `volumeClaimUpdatePolicy` of KEP-4650, and `ReCreate` of OpenKruise.
    pub enum UpdatePolicy = OnClaimDelete {
        /// Only PVCs created from now on get the desired templates (the default of KEP-4650). OpenKruise has another name
        /// for it.
        OnClaimDelete | "OnDelete",
        /// The controller patches existing PVCs.
        InPlace,
        /// The controller deletes PVCs and Pods, and Kubernetes creates them again (OpenKruise's proposal).
        ReCreate,
    }
}

impl UpdatePolicy {
    /// The words of those that delete no PVC, in the order of [`UpdatePolicy::ALL`].
    pub const WITHOUT_RECREATE: [&'static str; 2] = [Self::OnClaimDelete.as_str(), Self::InPlace.as_str()];
}

words! {
    /// How the rollout coordinates the PVCs and the Pod of a replica.
    pub enum Sync = LockStep {
        /// The PVCs of a replica first, then its Pod.
        LockStep,
        /// Pods do not wait.
        Async,
    }
}

words! {
    /// Whether a complete rollout replaces the StatefulSet, so that the live templates are the desired ones.
    pub enum ReplaceSet = Never {
        /// The StatefulSet stays.
        Never,
        /// The controller deletes the StatefulSet without its Pods, and creates it again with the desired templates.
        WhenComplete,
    }
}

words! {
    /// Whether to evict a Pod whose node has not grown the file system for a minute.
    pub enum Restart = Never {
        /// No Pod is evicted.
        Never,
        /// One Pod at a time is evicted: some drivers grow the file system only at the next mount.
        WhenNodeExpansionPends,
    }
}

/// How many seconds without progress make a rollout stalled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProgressDeadline(pub u32);

impl ProgressDeadline {
    /// Thirty days.
    pub(super) const MOST: u32 = 30 * 24 * 60 * 60;
}

/// Reads a number from 1 to `most`.
fn number(text: &str, most: u32) -> Result<u32, ()> {
    let number = text.parse().map_err(drop)?;
    (1..=most).contains(&number).then_some(number).ok_or(())
}

/// The default of a Deployment.
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

/// How many replicas of a StatefulSet may be in motion at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MaxInMotion(pub u32);

impl MaxInMotion {
    pub(super) const MOST: u32 = 1000;
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
    use super::UpdatePolicy;

    #[test]
    fn update_policy_has_another_name_and_an_order() {
        assert_eq!("OnDelete".parse(), Ok(UpdatePolicy::OnClaimDelete));
        assert_eq!("inplace".parse::<UpdatePolicy>().ok(), None, "case matters");
        let words = UpdatePolicy::WITHOUT_RECREATE;
        assert_eq!(words, UpdatePolicy::WORDS[..2], "the settings take the place of a word");
    }
}
