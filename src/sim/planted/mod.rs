//! Known bugs of this kind of software, planted around the decisions, to check that each is found.
//!
//! The decisions and the controller contain no planted bugs. The model changes the view of a decision, its result, or
//! a request.

mod decision;
mod gate;
mod new_claims;
mod returns;

use crate::rollout::invariants::Rule;

macro_rules! planted {
    ($($name:ident: $repeats:literal, $rules:expr;)+) => {
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

            /// The guarantees that it may break first.
            pub(crate) const fn breaks(self) -> &'static [Rule] {
                match self { $(Self::$name => &$rules,)+ }
            }
        }
    };
}

planted! {
    NoteBeforeGrowth: "rabbitmq/cluster-operator#782: writes that the size is done before the growth, and trusts that after a crash", [Rule::L1, Rule::S19];
    NoUid: "an apply without a uid creates a deleted PVC again, empty (F12, F13)", [Rule::S3];
    ComparesSpelling: "percona-xtradb-cluster-operator#1826: a PVC whose size is spelled unlike the template is written again", [Rule::S8];
    NoVersion: "K8SPSMDB-433, zookeeper-operator#314: decides from an older view, and the write has no precondition", [Rule::S9, Rule::S1, Rule::S8, Rule::S5, Rule::S10];
    IgnoresTerminating: "kubernetes#74374: a terminating PVC counts as existing", [Rule::S10];
    Unobserved: "cassandra-operator#398, #402: acts on events only; a missed event is lost", [Rule::L1, Rule::L5];
    OlderViewIsReady: "readiness is decided from a view older than the write: the old capacity suffices for the old request", [Rule::S6];
    OwnerByName: "kruise: ownership by name; PVCs that others own or mount are written", [Rule::S5];
    StagedOfAnotherSet: "kruise: the mark of a deleted StatefulSet counts for the next one with its name", [Rule::S9];
    MissingIsAnError: "casskop#370: a missing Pod is an error for ever", [Rule::L1];
    OneStopsAll: "kubernetes#136812: a stuck PVC stops all others", [Rule::L5];
    WaitsForPods: "cass-operator#860: waits for Pods that cannot become Ready because their disks are full", [Rule::L1];
    WaitsForCapacity: "solr-operator#712, cloudnative-pg#7997: waits for a capacity that needs a remount", [Rule::L1];
    HotLoop: "milvus-operator#516: a denied expansion is retried at once, for ever", [Rule::S13];
    SaysAgain: "milvus-operator#516: and emits an Event each time", [Rule::S13];
    ShrinksToTemplate: "formancehq/ledger#1634: the size of the template is written, even if the PVC is larger", [Rule::S1, Rule::L1];
    GrowsBeyond: "the size is rounded up beyond the target", [Rule::S1];
    LowestFirst: "the lowest ordinal first", [Rule::S6];
    AllAtOnce: "all PVCs at once, beyond max-in-motion", [Rule::S6];
    DeletesOrphans: "K8SSAND-559, K8SPSMDB-433: PVCs without a Pod are deleted as orphans", [Rule::S4];
    FifthField: "prometheus-operator#5067: writes more than the four fields", [Rule::S2];
    DropsClass: "an apply without the attributes class removes it", [Rule::S2, Rule::L1];
    ConflictIsFinal: "percona-server-mongodb-operator#2220: a conflict is never retried", [Rule::L1];
    StagesAgain: "prometheus-operator#4519: each reconcile writes the same again", [Rule::S12];
    IgnoresQuota: "percona-server-mongodb-operator#1947: the quota is hit half way, which leaves PVCs of two sizes", [Rule::S13];
    UnreadyWaits: "ours, once: a PVC waits for a Pod that Kubernetes replaces only when the Pod of this PVC is Ready, whose disk is full", [Rule::L1];
    UnboundStopsAll: "ours, once: with Parallel, a PVC without a volume stops all others", [Rule::L5];
    ClockSetBack: "ours, once: after a clock is set back, a denied write waits until the old time is reached", [Rule::L1];
    RefusalOfOne: "ours, once: of two controllers, one still reports a denial where nothing is left to write", [Rule::L1];
    StatusOfBefore: "ours, once: an outdated status of the StatefulSet decides which Pods are replaced", [Rule::S6];
    NextBeforePod: "the PVCs of the next replica are written before the Pod of this one runs", [Rule::S6];
    ForgetsReady: "does not write `ready` when the PVCs of a waiting Pod are ready", [Rule::L1];
    SaysReadyAgain: "each reconcile writes `ready` again", [Rule::S12];
    BorrowsPartition: "ours, once: Pods are kept by the partition, so tools report that all are replaced", [Rule::S19];
    ErrorsBeforeStatuses: "ours, once: an error of the kubelet or the resizer hides that only the Pod is awaited", [Rule::L1, Rule::L5];
    TransientIsStalled: "ours, once: a transient error counts as infeasible, and with Parallel the next replica starts", [Rule::S6];
    ReplyNotCompared: "ours, once: a field that a webhook removes is applied again at once, for ever", [Rule::S13, Rule::L1];
    FailureEnds: "ours, once: a write without an answer ends the reconcile, so a PVC whose webhook is down stops all others", [Rule::L5, Rule::L1];
    NoReportNoWrite: "ours, once: PVCs are written only after the first report", [Rule::L5, Rule::L1];
    LabelIsEnough: "ours, once: without the reply, a PVC with only our label counts as updated", [Rule::L1, Rule::S19];
    LabelOfRevision: "ours, once: the label names the revision alone, so a PVC that was lowered between two stagings of it counts as updated", [Rule::L1, Rule::S19];
    StartOfReport: "ours, once: with OnDelete, only the ClaimRollout shows since when the target is desired, and it was deleted", [Rule::L1];
    UnreadableIsWithdrawn: "ours, once: a staged change that cannot be read, as one of a newer version, counts as withdrawn", [Rule::S19];
    StatusUnsettles: "ours, once: PVCs and Pods are listed again whenever the status of a completed StatefulSet changes", [Rule::S12];
    UndoneNotCompared: "ours, once: the policy takes the controller for a user and undoes what it writes, and it writes that again", [Rule::S13];
    WritesClassOfAnotherDriver: "with `immutableFields: NewPVCs`, a PVC of another StorageClass gets an attributes class that its driver does not know", [Rule::S2];
    NewPvcsShrinkExisting: "the smaller size that is for new PVCs is written to existing ones", [Rule::S1, Rule::L1];
    ImmutableNeverComplete: "the rollout waits until existing PVCs have a StorageClass that they cannot get", [Rule::L1];
    AppliesStorageClass: "KEP-4650 applies the whole template: the API server denies another StorageClass, for ever", [Rule::L1];
    NewPvcsAsLive: "a new PVC has the StorageClass of the live template", [Rule::L4];
    ScaledAwayForgotten: "PVCs of replicas that were scaled away are left alone, and the rollout is complete without them", [Rule::S19];
    ScaledAwayNeverWritten: "PVCs of replicas that were scaled away are waited for, and never written", [Rule::L1, Rule::L5];
    CompleteStays: "ours, once: a replica comes back with an outdated PVC, and the phase stays Complete", [Rule::S19];
    InfeasibleOfBefore: "ours, once: what the driver reported about the previous request counts for the next one, and with Parallel all are written", [Rule::S6];
    LeftInMotion: "ours, once: a PVC that an earlier staging left in motion counts as one that waits for its turn", [Rule::S6];
    KeepsClassNeverReached: "ours, once: a class of an earlier staging that the volume never got is applied again", [Rule::S2];
    UnansweredBySet: "ours, once: reports that cannot be written make the first write without an answer count as denied", [Rule::S13];
    MissingLabelIsForeign: "ours, once: a PVC without the label of the selector counts as that of somebody else", [Rule::L1, Rule::L5];
    ErrorHidesProgress: "a driver that fails and tries again takes a PVC back to the state before the expansion", [Rule::S21];
    GateSeesOldSet: "the gate reads the StatefulSet from a cache", [Rule::S7];
    GateSeesOldClaims: "the gate reads PVCs from a cache", [Rule::S7];
    GateSeesOtherClaims: "the gate reads the PVCs of another Pod", [Rule::S7];
    GateKeepsOutOfRange: "the gate keeps a Pod that is scaled down", [Rule::S7];
    GateKeepsDisrupted: "the gate keeps a Pod that is disrupted or has failed", [Rule::S7];
    GateKeepsForNode: "the gate keeps a Pod whose file system needs expansion on the node, perhaps at a remount", [Rule::S7, Rule::L1];
    GateKeepsComplete: "the gate keeps Pods after the rollout is complete", [Rule::S7];
    GateForgetsPause: "the gate allows deletions while the rollout is paused", [Rule::S7];
}

impl Planted {
    /// The bug with this name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|planted| format!("{planted:?}") == name)
    }
}
