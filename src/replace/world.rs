//! The input of the decision: what was read from the API server.

use super::journal::{Journal, Millis};
use super::live::LiveSet;
use super::step::{Fault, Step, Waits};
use crate::api::Settings;
use crate::claims::Owner;

/// After this time, what others should have done counts as stalled.
pub(super) const PATIENCE: Millis = 60_000;

/// The pauses between two reads of what others do: the shortest, the longest before it counts as stalled, and then.
const POLLS: [Millis; 3] = [50, 2_000, 5_000];

/// What was read. Parts that the decision does not need are not read: [`Step::Read`] asks for them.
#[derive(Clone, Debug)]
pub struct World<'a> {
    /// The time.
    pub now: Millis,
    /// The settings of the administrator.
    pub settings: &'a Settings,
    /// Whether the staged change obeys the rules of the settings; else the reason.
    pub allowed: Result<(), String>,
    /// Whether to replace the set although nothing asks for it: the command `replace`.
    pub forced: bool,
    /// The StatefulSet of this namespace and name, by a read of the API server.
    pub set: Option<LiveSet>,
    /// The journal.
    pub journal: Option<Journal>,
    /// The uid of its Secret.
    pub secret: Option<String>,
    /// Why its Secret is there and the journal is not to be believed.
    pub unreadable: Option<String>,
    /// Whether to take the replacement back, as far as the set is not being deleted: the command `replace --take-back`.
    pub taken_back: bool,
    /// The owner of the ClaimRollout.
    pub report: ReportOwner,
    /// The results of the checks.
    pub checks: CheckResults,
    /// Pods, ControllerRevisions and PVCs.
    pub dependents: Option<Dependents>,
    /// The write that the API server denied before the set was deleted.
    pub denied: Option<Fault>,
    /// The uid of the namespace, by a read of the API server after the last CREATE that was not done. Empty if there is
    /// none, or if it is being deleted: the API server creates nothing in it any more.
    pub namespace: Option<String>,
    /// The old set as it was when it was deleted.
    pub last_version: Option<LastVersion>,
    /// The uid of the new set to which this process gave its update strategy back, after it had adopted every Pod.
    pub verified: Option<String>,
    /// The uid of the set to which this process gave its managed fields back. The API server may keep an entry of ours.
    pub managers_restored: Option<String>,
    /// The generation of the marked set when this process first saw that its PVCs do not depend on it.
    pub retained_at: Option<i64>,
    /// Since when no object refers to the old set.
    pub unreferenced_since: Option<Millis>,
    /// Since when the present step has waited.
    pub waits_since: Option<Millis>,
}

/// The results of the checks before the first write. They count for a moment.
#[derive(Clone, Debug, Default)]
pub struct CheckResults {
    /// The [`basis`](super::basis) that all preconditions were checked for a moment ago.
    pub checked: Option<String>,
    /// Whether the guard denies that others delete the set.
    pub guarded: Option<bool>,
    /// The quotas of the namespace that count StatefulSets.
    pub quotas: Option<Vec<CountQuota>>,
    /// The answers to the dry runs.
    pub dry_runs: Option<DryRuns>,
}

/// The old set as it was when the API server deleted it: the object of its DELETED event. An update that removes the last
/// finalizer is checked against the resourceVersion, and then the object is deleted by its uid, so that a write in
/// between is stored (`Store.deleteWithoutFinalizers` of the API server).
#[derive(Clone, Debug, PartialEq)]
pub enum LastVersion {
    /// The object of the event.
    Seen(LiveSet),
    /// The API server does not have the event any more, or does not send it.
    Unknown,
}

/// The owner of the ClaimRollout of the set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ReportOwner {
    /// There is no ClaimRollout.
    #[default]
    NoReport,
    /// Nobody owns it.
    Nobody,
    /// A StatefulSet with this uid owns it.
    Set(String),
}

/// The objects that may refer to the set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dependents {
    /// The Pods that refer to the set, that the selector matches, or that have a name like those of the set.
    pub pods: Vec<DependentPod>,
    /// All other objects that have an owner, as `(kind and name, uid of an owner)`.
    pub others: Vec<(String, String)>,
    /// Objects of other kinds that refer to the set, as far as our rights show them.
    pub unknown: Vec<String>,
    /// PVCs that do not have what is staged and would never get it.
    pub lagging: Vec<String>,
    /// ControllerRevisions, by name.
    pub revisions: Vec<DependentRevision>,
}

/// A ControllerRevision that the set controls.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DependentRevision {
    /// `metadata.name`
    pub name: String,
    /// `metadata.uid`
    pub uid: String,
    /// A hash of `data`, as canonical JSON without nulls and empty objects: two releases may write the same
    /// template differently.
    pub digest: String,
}

/// A Pod.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DependentPod {
    /// `metadata.name`
    pub name: String,
    /// `metadata.uid`
    pub uid: String,
    /// The owner that controls the Pod.
    pub controller: Option<Owner>,
    /// The uids of all owners.
    pub owners: Vec<String>,
    /// The label `controller-revision-hash`.
    pub revision: String,
    /// True iff the labels match the selector of the set.
    pub selected: bool,
    /// True iff the Pod is being deleted.
    pub terminating: bool,
    /// True iff the Pod is Ready.
    pub ready: bool,
}

/// A quota that counts StatefulSets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CountQuota {
    /// `metadata.name`
    pub name: String,
    /// The number that is allowed.
    pub hard: u64,
    /// The number that exists.
    pub used: u64,
}

/// The answers to the dry runs. `Err` is the message of the API server.
#[derive(Clone, Debug, PartialEq)]
pub struct DryRuns {
    /// The set that they were made for: everything that a user may change but `replicas`.
    pub basis: String,
    /// DELETE.
    pub delete: Result<(), String>,
    /// CREATE under the same name. The API server checks everything else before it finds that the name exists.
    pub create: Result<(), String>,
    /// CREATE under another name: the object that would be stored.
    pub created: Result<LiveSet, String>,
}

impl World<'_> {
    /// True iff it has waited so long for others that somebody should look.
    pub(super) fn has_waited_long(&self) -> bool {
        self.waited() >= PATIENCE
    }

    fn waited(&self) -> Millis {
        self.now.saturating_sub(self.waits_since.unwrap_or(self.now))
    }

    /// Waits for others. The longer it takes, the less often they are asked.
    pub(super) fn waits(&self, fault: Fault) -> Step {
        let [shortest, longest, stalled] = POLLS;
        let elapsed = self.waited();
        if elapsed >= PATIENCE {
            return Step::Wait {
                millis: stalled,
                waits: Waits::Stalled(fault),
            };
        }
        Step::Wait {
            millis: (elapsed / 8).clamp(shortest, longest),
            waits: Waits::Others(fault),
        }
    }
}
