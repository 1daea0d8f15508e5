//! Known bugs of this kind of software, planted around the decisions, to check that each is found.
//!
//! The decisions and the controller contain no planted bugs. The model changes the view of a decision, its result, or
//! a request.

mod decision;
mod gate;
mod machine;
mod new_claims;
mod returns;

use crate::rollout::invariants::{Broken, Rule};

macro_rules! planted {
    ($($name:ident: $repeats:literal, $rule:ident, $message:literal;)+) => {
        /// A known bug.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub(crate) enum Planted { $(#[doc = $repeats] $name,)+ }

        impl Planted {
            /// All bugs.
            pub(crate) const ALL: &[Self] = &[$(Self::$name,)+];

            /// The effect of the bug, and where it was first reported.
            pub(crate) const fn repeats(self) -> &'static str {
                match self { $(Self::$name => $repeats,)+ }
            }

            /// The guarantee that it breaks, and a part of the message.
            const fn breaks(self) -> (Rule, &'static str) {
                match self { $(Self::$name => (Rule::$rule, $message),)+ }
            }
        }
    };
}

planted! {
    NoteBeforeGrowth: "rabbitmq/cluster-operator#782: writes that the size is done before the growth, and trusts that after a crash", S19, "Complete although";
    NoUid: "an apply without a uid creates a deleted PVC again, empty (F12, F13)", S3, "named no uid";
    ComparesSpelling: "percona-xtradb-cluster-operator#1826: a PVC whose size is spelled unlike the template is written again", S8, "again";
    NoVersion: "K8SPSMDB-433, zookeeper-operator#314: decides from an older view, and the write has no precondition", S9, "decided for version None";
    IgnoresTerminating: "kubernetes#74374: a terminating PVC counts as existing", S10, "being deleted";
    Unobserved: "cassandra-operator#398, #402: acts on events only; a missed event is lost", L1, "the claim is not at";
    OlderViewIsReady: "readiness is decided from a view older than the write: the old capacity suffices for the old request", S6, "were ready";
    OwnerByName: "kruise: ownership by name; PVCs that others own or mount are written", S5, "foreign claim";
    StagedOfAnotherSet: "kruise: the mark of a deleted StatefulSet counts for the next one with its name", S9, "never the target";
    MissingIsAnError: "casskop#370: a missing Pod is an error for ever", L1, "the claim is not at";
    OneStopsAll: "kubernetes#136812: a stuck PVC stops all others", L5, "stopped by another replica";
    WaitsForPods: "cass-operator#860: waits for Pods that cannot become Ready because their disks are full", L1, "the claim is not at";
    WaitsForCapacity: "solr-operator#712, cloudnative-pg#7997: waits for a capacity that needs a remount", L1, "still backs off";
    HotLoop: "milvus-operator#516: a denied expansion is retried at once, for ever", S13, "came after 0 s";
    SaysAgain: "milvus-operator#516: and emits an Event each time", S13, "emitted twice";
    ShrinksToTemplate: "formancehq/ledger#1634: the size of the template is written, even if the PVC is larger", S1, "and has";
    TakesBackOfOthers: "with `shrink: Recover`, a size that a human or an autoscaler asked for is lowered", S1, "and has";
    GrowsBeyond: "the size is rounded up beyond the target", S1, "and the template";
    LowestFirst: "the lowest ordinal first", S6, "is written while";
    AllAtOnce: "all PVCs at once, beyond max-in-motion", S6, "is written while";
    DeletesOrphans: "K8SSAND-559, K8SPSMDB-433: PVCs without a Pod are deleted as orphans", S4, "was deleted";
    FifthField: "prometheus-operator#5067: writes more than the four fields", S2, "fields that are not of the template";
    DropsClass: "an apply without the attributes class removes it", S2, "changed class";
    ConflictIsFinal: "percona-server-mongodb-operator#2220: a conflict is never retried", L1, "still backs off";
    StagesAgain: "prometheus-operator#4519: each reconcile writes the same again", S12, "changed nothing: StagedChange";
    IgnoresQuota: "percona-server-mongodb-operator#1947: the quota is hit half way, which leaves PVCs of two sizes", S13, "all of them need";
    UnreadyWaits: "ours, once: a PVC waits for a Pod that Kubernetes replaces only when the Pod of this PVC is Ready, whose disk is full", L1, "the claim is not at";
    UnboundStopsAll: "ours, once: with Parallel, a PVC without a volume stops all others", L5, "stopped by another replica";
    ClockSetBack: "ours, once: after a clock is set back, a denied write waits until the old time is reached", L1, "the claim is not at";
    RefusalOfOne: "ours, once: of two controllers, one still reports a denial where nothing is left to write", L1, "still changing";
    StatusOfBefore: "ours, once: an outdated status of the StatefulSet decides which Pods are replaced", S6, "is written while";
    NextBeforePod: "the PVCs of the next replica are written before the Pod of this one runs", S6, "is written while";
    ForgetsReady: "does not write `ready` when the PVCs of a waiting Pod are ready", L1, "still backs off";
    SaysReadyAgain: "each reconcile writes `ready` again", S12, "changed nothing: Ready";
    BorrowsPartition: "ours, once: Pods are kept by the partition, so tools report that all are replaced", S19, "changed the spec";
    ErrorsBeforeStatuses: "ours, once: an error of the kubelet or the resizer hides that only the Pod is awaited", L1, "still backs off";
    TransientIsStalled: "ours, once: a transient error counts as infeasible, and with Parallel the next replica starts", S6, "is written while";
    ReplyNotCompared: "ours, once: a field that a webhook removes is applied again at once, for ever", S13, "came after 0 s";
    FailureEnds: "ours, once: a write without an answer ends the reconcile, so a PVC whose webhook is down stops all others", L5, "stopped by another replica";
    NoReportNoWrite: "ours, once: PVCs are written only after the first report", L5, "stopped by another replica";
    LabelIsEnough: "ours, once: without the reply, a PVC with only our label counts as updated", L1, "the claim is not at";
    LabelOfRevision: "ours, once: the label names the revision alone, so a PVC that was lowered between two stagings of it counts as updated", S19, "Complete although";
    StartOfReport: "ours, once: with OnDelete, only the ClaimRollout shows since when the target is desired, and it was deleted", L1, "although its Pod was deleted";
    UnreadableIsWithdrawn: "ours, once: a staged change that cannot be read, as one of a newer version, counts as withdrawn", S19, "cannot be read";
    StatusUnsettles: "ours, once: PVCs and Pods are listed again whenever the status of a completed StatefulSet changes", S12, "read the claims";
    UndoneNotCompared: "ours, once: the policy takes the controller for a user and undoes what it writes, and it writes that again", S13, "came after";
    WritesClassOfAnotherDriver: "with `immutableFields: NewPVCs`, a PVC of another StorageClass gets an attributes class that its driver does not know", S2, "which nobody asks for";
    NewPvcsShrinkExisting: "the smaller size that is for new PVCs is written to existing ones", S1, "and has";
    ImmutableNeverComplete: "the rollout waits until existing PVCs have a StorageClass that they cannot get", L1, "the phase is not Complete";
    AppliesStorageClass: "KEP-4650 applies the whole template: the API server denies another StorageClass, for ever", S2, "changed the StorageClass";
    NewPvcsAsLive: "a new PVC has the StorageClass of the live template", L4, "another StorageClass";
    ScaledAwayForgotten: "PVCs of replicas that were scaled away are left alone, and the rollout is complete without them", S19, "Complete although";
    ScaledAwayNeverWritten: "PVCs of replicas that were scaled away are waited for, and never written", L5, "stopped by another replica";
    CompleteStays: "ours, once: a replica comes back with an outdated PVC, and the phase stays Complete", S19, "Complete although";
    InfeasibleOfBefore: "ours, once: what the driver reported about the previous request counts for the next one, and with Parallel all are written", S6, "is written while";
    LeftInMotion: "ours, once: a PVC that an earlier staging left in motion counts as one that waits for its turn", S6, "is written while";
    KeepsClassNeverReached: "ours, once: a class of an earlier staging that the volume never got is applied again", S2, "which nobody asks for";
    UnansweredBySet: "ours, once: reports that cannot be written make the first write without an answer count as denied", S13, "counted as denied";
    MissingLabelIsForeign: "ours, once: a PVC without the label of the selector counts as that of somebody else", L1, "the claim is not at";
    ErrorHidesProgress: "a driver that fails and tries again takes a PVC back to the state before the expansion", S21, "again, after";
    GateSeesOldSet: "the gate reads the StatefulSet from a cache", S7, "before its claim";
    GateSeesOldClaims: "the gate reads PVCs from a cache", S7, "before its claim";
    GateSeesOtherClaims: "the gate reads the PVCs of another Pod", S7, "before its claim";
    GateKeepsOutOfRange: "the gate keeps a Pod that is scaled down", S7, "kept for no reason";
    GateKeepsDisrupted: "the gate keeps a Pod that is disrupted or has failed", S7, "kept for no reason";
    GateKeepsForNode: "the gate keeps a Pod whose file system needs expansion on the node, perhaps at a remount", S7, "kept for no reason";
    GateKeepsComplete: "the gate keeps Pods after the rollout is complete", S7, "kept for no reason";
    GateForgetsPause: "the gate allows deletions while the rollout is paused", S7, "while the rollout is paused";
    ForgetsDenial: "the memory forgets that an apply was denied, which is sent again at once", S13, "came after 0 s";
    PauseStays: "the pause after a denial does not grow", S13, "came after";
    UnansweredIsDenied: "one write without an answer counts as denied", S13, "counted as denied";
    ForgetsUnanswered: "writes without an answer are not counted, so a PVC whose webhook is down stops all others", L5, "stopped by another replica";
    ForgetsUndone: "the memory forgets that the policy undid a write, which is sent again at once", S13, "came after";
    ReplyStays: "the reply to an apply counts although the watch shows a newer PVC", L1, "the claim is not at";
    FailureIsFinal: "nothing comes after a failed reconcile but what a watch shows", L1, "but the ClaimRollout reports nothing";
    ForgetsRequeue: "nothing comes after a reconcile but what a watch shows", L1, "the claim is not at";
    SettlesInMotion: "a rollout is settled while its PVCs are in motion", L1, "the claim is not at";
    ForgetsReply: "the reply to an apply is forgotten before the watch shows it, and the old PVC is written again", S12, "although a reply has shown";
    ForgetsCompletion: "the memory forgets that the rollout is complete before the watch shows it, and writes it again", S12, "although a reply has shown";
    ForgetsDeniedPatch: "the memory forgets that a write to the StatefulSet was denied, which is sent again at once", S13, "came after 0 s";
    OvertakenIsFinal: "nothing comes after a conflict but what a watch shows", L1, "the claim is not at";
    OvertakenForEver: "a conflict that others only claim is repeated for ever", L5, "stopped by another replica";
    RequeuesTooLate: "a reconcile that is due in seconds comes after hours", L1, "the claim is not at";
    FailurePauseStays: "the pause after a failed reconcile does not grow", S13, "that failed is repeated";
    FailuresStay: "the pause after a failed reconcile goes on to grow after one that did not fail", S13, "that failed is repeated";
    SettlesUnreported: "a set is settled although its last report was not written", L1, "but the ClaimRollout reports";
    ReportedBeforeWritten: "a set is settled when the completion is written, with the report from before", L1, "but the ClaimRollout reports";
    SettledWithoutReport: "a set that is settled rests although its ClaimRollout was deleted", L1, "but the ClaimRollout reports nothing";
    ForgetsReport: "the memory forgets the report before the watch shows it", S13, "emitted twice";
    EventsWithoutEnd: "Events of a slow PVC are read again and again", S13, "reconciles again and again";
    QuotaNeverReadAgain: "a quota that was read once counts for ever", L1, "the claim is not at";
    RestsAlthoughChanged: "a settled set rests although it has changed", L5, "stopped by another replica";
}

impl Planted {
    /// True iff this is what the bug was planted for.
    pub(crate) fn is_shown_by(self, broken: &Broken) -> bool {
        let (rule, message) = self.breaks();
        broken.rule == rule && broken.why.contains(message)
    }

    /// The bug with this name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|planted| format!("{planted:?}") == name)
    }
}
