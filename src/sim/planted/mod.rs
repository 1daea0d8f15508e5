//! Known bugs of this kind of software, planted at the border of the decision, to see that each is found.
//!
//! Nothing of this is in the decisions or in the controller: what is bent is what the model shows to a decision, what
//! comes out of it, and what is sent.

mod decision;
mod gate;

use crate::rollout::invariants::Rule;

macro_rules! planted {
    ($($name:ident: $repeats:literal, $rules:expr;)+) => {
        /// A known bug.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub(crate) enum Planted { $(#[doc = $repeats] $name,)+ }

        impl Planted {
            /// Every one.
            pub(crate) const ALL: &[Self] = &[$(Self::$name,)+];

            /// What it does, and where it was seen first.
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
    NoteBeforeGrowth: "rabbitmq/cluster-operator#782: notes that the size is done, then grows; believes the note after a crash", [Rule::L1];
    NoUid: "an apply without uid makes a claim that was deleted anew, and empty (F12, F13)", [Rule::S3];
    ComparesSpelling: "percona-xtradb-cluster-operator#1826: a claim whose size is not written like the template's is written again", [Rule::S8];
    NoVersion: "K8SPSMDB-433, zookeeper-operator#314: decides from an older view, and nothing stops the write", [Rule::S9, Rule::S1, Rule::S8, Rule::S5, Rule::S10];
    IgnoresTerminating: "kubernetes#74374: a claim that is being deleted is taken for one that is there", [Rule::S10];
    Unobserved: "cassandra-operator#398, #402: acts on events alone; what came while nobody looked is lost", [Rule::L1, Rule::L5];
    OlderViewIsReady: "ready is judged from an older view than the write: the capacity that was is enough for the request that was", [Rule::S6];
    OwnerByName: "kruise: ownership by name; what another owns or mounts is written", [Rule::S5];
    StagedOfAnotherSet: "kruise: the mark of a set that was deleted counts for the next one of its name", [Rule::S9];
    MissingIsAnError: "casskop#370: a Pod that is not there is an error, for ever", [Rule::L1];
    OneStopsAll: "kubernetes#136812: what is stuck stops all the others", [Rule::L5];
    WaitsForPods: "cass-operator#860: waits for Pods to be Ready that cannot be, because their disks are full", [Rule::L1];
    WaitsForCapacity: "solr-operator#712, cloudnative-pg#7997: waits for a capacity that only the next mount would bring", [Rule::L1];
    HotLoop: "milvus-operator#516: a refused expansion is tried again at once, for ever", [Rule::S13];
    SaysAgain: "milvus-operator#516: and is reported each time", [Rule::S13];
    ShrinksToTemplate: "formancehq/ledger#1634: the template's size is written whatever the claim has", [Rule::S1, Rule::L1];
    GrowsBeyond: "the size is rounded up beyond what was asked for", [Rule::S1];
    LowestFirst: "the lowest ordinal first", [Rule::S6];
    AllAtOnce: "every claim at once, whatever is in motion", [Rule::S6];
    DeletesOrphans: "K8SSAND-559, K8SPSMDB-433: claims without a Pod are taken for left over, and deleted", [Rule::S4];
    FifthField: "prometheus-operator#5067: more fields than the four are written", [Rule::S2];
    DropsClass: "an apply that leaves the attributes class out takes it away", [Rule::S2, Rule::L1];
    ConflictIsFinal: "percona-server-mongodb-operator#2220: a conflict is taken for the last word", [Rule::L1];
    StagesAgain: "prometheus-operator#4519: what is there already is written again, in each look", [Rule::S12];
    IgnoresQuota: "percona-server-mongodb-operator#1947: a quota is found out half way, and claims of two sizes are left", [Rule::S13];
    UnreadyWaits: "ours, once: a claim waits for a Pod that Kubernetes replaces when the Pod of this claim, whose disk is full, is Ready", [Rule::L1];
    UnboundStopsAll: "ours, once: with Parallel a claim that has no volume stops all the others", [Rule::L5];
    ClockSetBack: "ours, once: what was refused waits until a clock that was set back is where it was", [Rule::L1];
    RefusalOfOne: "ours, once: of two controllers the one that was refused reports it where nothing is to be written any more", [Rule::L1];
    StatusOfBefore: "ours, once: a status from before the last change of the set says which Pods are to be replaced", [Rule::S6];
    NextBeforePod: "the claims of the next replica are written before the Pod of this one runs", [Rule::S6];
    ForgetsReady: "nobody says that the claims of a Pod that waits have become ready", [Rule::L1];
    SaysReadyAgain: "what became ready is said again in each look", [Rule::S12];
    BorrowsPartition: "ours, once: Pods are held by the partition, and tools that wait say that all are replaced", [Rule::S19];
    ErrorsBeforeStatuses: "ours, once: an error of the kubelet, or of the controller before it, hides that only a Pod is waited for", [Rule::L1, Rule::L5];
    TransientIsStalled: "ours, once: what the driver tries again counts as infeasible, and with Parallel the next replica begins", [Rule::S6];
    ReplyNotCompared: "ours, once: what a webhook takes away is applied again at once, for ever", [Rule::S13, Rule::L1];
    LabelIsEnough: "ours, once: whoever did not see the reply takes a claim for done that has our label and nothing else", [Rule::L1];
    GateSeesOldSet: "the gate reads the set from a cache", [Rule::S7];
    GateSeesOldClaims: "the gate reads claims from a cache", [Rule::S7];
    GateSeesOtherClaims: "the gate reads the claims of another Pod", [Rule::S7];
    GateKeepsOutOfRange: "the gate keeps a Pod that a scale-down takes away", [Rule::S7];
    GateKeepsDisrupted: "the gate keeps a Pod that somebody else takes away, or that has ended", [Rule::S7];
    GateKeepsForNode: "the gate keeps a Pod whose node has to expand the file system, perhaps at the next mount", [Rule::S7, Rule::L1];
    GateKeepsComplete: "the gate keeps Pods when the rollout is complete", [Rule::S7];
    GateForgetsPause: "the gate lets Pods go while the rollout is paused", [Rule::S7];
}

impl Planted {
    /// The one of this name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|planted| format!("{planted:?}") == name)
    }
}
