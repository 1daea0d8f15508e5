//! The requests of users, and the answers of the guard. The policy is not installed: the guard is alone.
//!
//! The StatefulSets: `plain`; `staged` and `rolling`, with a staged change under OnClaimDelete and InPlace; `owned`, as
//! `staged` but with a ConfigMap as its controller; `left`, with a phase and no staged change, that is to be
//! replaced; `replacing`, with our
//! finalizer; `canary`, with a partition; `held`, with the partition of a replacement; `large`, with thousands of
//! annotations and with 101 finalizers; `crowded`, as `staged` but with 101 owners. The PVCs: `data`, bound, and `waiting`, for a class that does not exist,
//! and `marked`, by the controller.
//! ClaimRollouts without a StatefulSet: `absent`, whose replacement is in progress and had three replicas; `ended`;
//! `foreign`, whose StatefulSet somebody else created.

/// The user of a request. All have all rights on StatefulSets, but mallory, who may only read and change them. alice and
/// mallory may patch PVCs, and the controller may write them in every way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Who {
    Alice,
    Bob,
    Mallory,
    Admin,
    /// With the token of its account.
    Controller,
}

use Who::{Admin, Alice, Bob, Controller, Mallory};

/// The user, the arguments of kubectl, and the message of the denial after the name of the user; empty if the request
/// is allowed. UID is that of the ConfigMap, MANY are 101 owners. The last argument is what is created: an object, or
/// the metadata of a StatefulSet and its replicas, `new` and none by default.
pub(super) type Row<'a> = (Who, &'a str, &'static str);

const YES: &str = "";
pub(super) const STATUS: &str = "may not change annotations of claim-rollout.io through the status of a StatefulSet";
const RIGHT: &str = "may not patch persistentvolumeclaims in namespace guarded, which is needed to add or modify a staged change, \
                     or to roll one out";
const RECREATE: &str = "may not delete persistentvolumeclaims and create pods/eviction in namespace guarded, which the update \
                        policy ReCreate needs";
const REPLACE: &str = "may not delete and create statefulsets in namespace guarded, which replace-set: WhenComplete needs";
const PHASE: &str =
    "may not change claim-rollout.io/phase, ready or staged-at: they change with the staged change";
const FINALIZER: &str = "may not add or remove the finalizer claim-rollout.io/replacing: only the controller may";
const REPLACING: &str = "may not delete StatefulSet replacing now: it is being replaced, try again in a moment";
const STAYS: &str = "may not change what is staged for StatefulSet replacing now: it is being replaced, try again in a moment";
const FEWER: &str = "may not create StatefulSet absent with fewer than 3 replicas now, because Pods would be deleted: it is \
                     being replaced, try again in a moment";
const VERBS: &str = "may create and delete a StatefulSet only to replace it, and may not write its scale or status";
const METADATA: &str = "may change no metadata of a StatefulSet but its own annotations (if there are at most 1000 in all) and, without a \
                        partition, the finalizer of claim-rollout.io";
const SPEC: &str = "may change nothing in the spec of a StatefulSet but what a replacement needs: partition, whenDeleted, more \
                    replicas";
const CLAIM_VERBS: &str = "may not create a PVC, write its status, or delete one that it has not marked";
const CLAIM_METADATA: &str = "may change no metadata of a PVC but labels and annotations";
const CLAIM_LABELS: &str =
    "may change labels and annotations of a PVC only together with the label claim-rollout.io/revision";
const CLAIM_SPEC: &str =
    "may change nothing in the spec of a PVC but the requested storage and the volumeAttributesClassName";

/// One request that each policy denies: when all are denied, the guard is in force.
pub(super) const IN_FORCE: &[Row<'_>] = &[
    (Bob, r#"create -f - {"annotations":{"claim-rollout.io/staged":"{}"}}"#, RIGHT),
    (Bob, r#"create -f - {"finalizers":["claim-rollout.io/replacing"]}"#, FINALIZER),
    (Controller, "create -f - {}", VERBS),
    (Controller, CLAIM, CLAIM_VERBS),
    (Bob, r#"create -f - {"name":"absent"}"#, FEWER),
    (Alice, r#"create -f - {"annotations":{"claim-rollout.io/staged":"{}"}}"#, YES),
];

/// Requests that bring or change a staged change, or roll it out.
pub(super) const STAGED: &[Row<'_>] = &[
    // Annotations of ours cannot be written through the status.
    (Bob, r#"patch statefulset/plain --subresource=status --type=merge -p {"metadata":{"annotations":{"claim-rollout.io/staged":"{}"}}}"#, STATUS),
    (Alice, r#"patch statefulset/staged --subresource=status --type=merge -p {"metadata":{"annotations":{"claim-rollout.io/update-policy":"InPlace"}}}"#, STATUS),
    (Admin, r#"patch statefulset/staged --subresource=status --type=merge -p {"metadata":{"annotations":{"claim-rollout.io/staged":null}}}"#, STATUS),
    (Bob, r#"patch statefulset/plain --subresource=status --type=merge -p {"metadata":{"annotations":{"claim-rollout.io/paused":"true"}}}"#, STATUS),
    (Bob, r#"patch statefulset/staged --subresource=status --type=merge -p {"metadata":{"annotations":{"example.com/note":"a"}}}"#, YES),
    (Bob, r#"patch statefulset/staged --subresource=status --type=merge -p {"status":{"observedGeneration":7}}"#, YES),
    // A staged change is added, changed, removed.
    (Bob, "annotate statefulset/plain claim-rollout.io/staged={}", RIGHT),
    (Alice, "annotate statefulset/plain claim-rollout.io/staged={}", YES),
    (Bob, "annotate --overwrite statefulset/staged claim-rollout.io/staged={}", RIGHT),
    (Alice, "annotate --overwrite statefulset/staged claim-rollout.io/staged={}", YES),
    (Bob, "annotate statefulset/staged claim-rollout.io/staged- claim-rollout.io/phase-", YES),
    (Bob, r#"create -f - {"annotations":{"claim-rollout.io/staged":"{}"}}"#, RIGHT),
    (Alice, r#"create -f - {"annotations":{"claim-rollout.io/staged":"{}","claim-rollout.io/phase":"Complete"}}"#, YES),
    (Bob, r#"create -f - {"annotations":{"claim-rollout.io/update-policy":"InPlace"}}"#, YES),
    // The update policy.
    (Bob, "annotate statefulset/plain claim-rollout.io/update-policy=InPlace", YES),
    (Bob, "annotate --overwrite statefulset/staged claim-rollout.io/update-policy=InPlace", RIGHT),
    (Bob, "annotate --overwrite statefulset/staged claim-rollout.io/update-policy=inplace", RIGHT),
    (Alice, "annotate --overwrite statefulset/staged claim-rollout.io/update-policy=InPlace", YES),
    (Bob, "annotate statefulset/staged claim-rollout.io/update-policy-", RIGHT),
    (Bob, "annotate statefulset/owned claim-rollout.io/update-policy-", RIGHT),
    (Bob, "annotate --overwrite statefulset/staged claim-rollout.io/update-policy=OnDelete", YES),
    (Bob, "annotate --overwrite statefulset/rolling claim-rollout.io/update-policy=OnClaimDelete", YES),
    (Bob, "annotate --overwrite statefulset/rolling claim-rollout.io/update-policy=OnClaimDelete claim-rollout.io/phase=Staged", YES),
    // ReCreate: PVCs are deleted, and Pods evicted.
    (Mallory, "annotate --overwrite statefulset/staged claim-rollout.io/update-policy=InPlace", YES),
    (Mallory, "annotate --overwrite statefulset/staged claim-rollout.io/update-policy=ReCreate", RECREATE),
    (Alice, "annotate --overwrite statefulset/rolling claim-rollout.io/update-policy=ReCreate", RECREATE),
    (Bob, "annotate --overwrite statefulset/rolling claim-rollout.io/update-policy=ReCreate", RIGHT),
    (Admin, "annotate --overwrite statefulset/rolling claim-rollout.io/update-policy=ReCreate", YES),
    (Mallory, "annotate statefulset/plain claim-rollout.io/staged={} claim-rollout.io/update-policy=ReCreate", RECREATE),
    (Mallory, r#"annotate statefulset/plain claim-rollout.io/staged={"updatePolicy":"ReCreate"}"#, RECREATE),
    (Mallory, r#"annotate statefulset/plain claim-rollout.io/staged={"updatePolicy":"Re\u0043reate"}"#, RECREATE),
    (Mallory, r#"annotate statefulset/plain claim-rollout.io/staged={"updatePolicy":"ReCreate"} claim-rollout.io/update-policy=InPlace"#, YES),
    (Alice, r#"create -f - {"annotations":{"claim-rollout.io/staged":"{\"updatePolicy\":\"ReCreate\"}"}}"#, RECREATE),
    (Admin, r#"annotate statefulset/plain claim-rollout.io/staged={"updatePolicy":"ReCreate"}"#, YES),
    (Mallory, "annotate statefulset/plain claim-rollout.io/update-policy=ReCreate", YES),
    // A replacement: the StatefulSet is deleted and created.
    (Mallory, "annotate statefulset/plain claim-rollout.io/replace-set=WhenComplete", REPLACE),
    (Mallory, "annotate statefulset/rolling claim-rollout.io/replace-set=WhenComplete", REPLACE),
    (Mallory, "annotate statefulset/plain claim-rollout.io/staged={} claim-rollout.io/phase=Complete claim-rollout.io/replace-set=WhenComplete", REPLACE),
    (Mallory, "annotate statefulset/left claim-rollout.io/staged={}", REPLACE),
    (Alice, "annotate statefulset/left claim-rollout.io/staged={}", YES),
    (Mallory, "annotate --overwrite statefulset/left claim-rollout.io/replace-set=Never", YES),
    (Mallory, "annotate statefulset/left claim-rollout.io/replace-set-", YES),
    (Mallory, "annotate statefulset/left example.com/note=a", YES),
    (Bob, "annotate statefulset/plain claim-rollout.io/replace-set=WhenComplete", YES),
    (Bob, r#"create -f - {"annotations":{"claim-rollout.io/replace-set":"WhenComplete"}}"#, YES),
    (Mallory, "label statefulset/rolling team=a", YES),
    // The other annotations of users, and unrelated changes.
    (Bob, "annotate statefulset/rolling claim-rollout.io/paused=true", YES),
    (Bob, "annotate statefulset/rolling claim-rollout.io/withdraw=1", YES),
    (Bob, "label statefulset/rolling team=a", YES),
    (Bob, "annotate statefulset/rolling example.com/note=a", YES),
    (Bob, "set image statefulset/rolling main=example/main:2", YES),
    (Bob, "scale statefulset/rolling --replicas=0", YES),
    // The owner that keeps the staged change from being rolled out.
    (Bob, r#"patch statefulset/owned --type=merge -p {"metadata":{"ownerReferences":null}}"#, RIGHT),
    (Bob, r#"patch statefulset/owned --subresource=status --type=merge -p {"metadata":{"ownerReferences":null}}"#, RIGHT),
    (Bob, r#"patch statefulset/owned --type=merge -p {"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"owner","uid":"UID"}]}}"#, RIGHT),
    (Bob, r#"patch statefulset/owned --type=merge -p {"metadata":{"ownerReferences":[{"apiVersion":"example.com/v1","kind":"ConfigMap","name":"owner","uid":"UID","controller":true}]}}"#, RIGHT),
    (Bob, r#"patch statefulset/owned --type=merge -p {"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"Secret","name":"owner","uid":"UID","controller":true}]}}"#, RIGHT),
    (Bob, r#"patch statefulset/owned --type=merge -p {"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"another","uid":"1","controller":true}]}}"#, YES),
    (Bob, r#"patch statefulset/owned --type=merge -p {"metadata":{"ownerReferences":null,"annotations":{"claim-rollout.io/update-policy":"InPlace"}}}"#, RIGHT),
    (Bob, r#"patch statefulset/owned --type=merge -p {"metadata":{"ownerReferences":null,"annotations":{"claim-rollout.io/staged":null}}}"#, YES),
    (Alice, r#"patch statefulset/owned --type=merge -p {"metadata":{"ownerReferences":null}}"#, YES),
    (Bob, r#"patch statefulset/staged --type=merge -p {"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"owner","uid":"UID","controller":true}]}}"#, YES),
    // The annotations beside a staged change.
    (Alice, "annotate --overwrite statefulset/rolling claim-rollout.io/phase=Complete", PHASE),
    (Alice, "annotate statefulset/rolling claim-rollout.io/ready=1.0", PHASE),
    (Alice, "annotate statefulset/rolling claim-rollout.io/staged-at=2026-01-01T00:00:00Z", PHASE),
    (Alice, "annotate statefulset/rolling claim-rollout.io/phase-", PHASE),
    (Alice, "annotate --overwrite statefulset/rolling claim-rollout.io/staged={} claim-rollout.io/phase=Staged", YES),
    // The update policy decides what is rolled out, and with it the phase; no replica becomes ready by it.
    (Bob, "annotate --overwrite statefulset/rolling claim-rollout.io/update-policy=OnClaimDelete claim-rollout.io/phase=Complete", YES),
    (Bob, "annotate --overwrite statefulset/rolling claim-rollout.io/update-policy=OnClaimDelete claim-rollout.io/phase=Done", PHASE),
    (Bob, "annotate --overwrite statefulset/rolling claim-rollout.io/update-policy=OnClaimDelete claim-rollout.io/phase-", PHASE),
    (Bob, "annotate --overwrite statefulset/rolling claim-rollout.io/update-policy=OnClaimDelete claim-rollout.io/phase=Staged claim-rollout.io/ready=1.0", PHASE),
    (Alice, "annotate --overwrite statefulset/rolling claim-rollout.io/phase=Staged", PHASE),
    (Admin, "annotate --overwrite statefulset/rolling claim-rollout.io/update-policy=ReCreate claim-rollout.io/phase=Staged", YES),
    (Alice, "annotate --overwrite statefulset/staged claim-rollout.io/update-policy=InPlace claim-rollout.io/phase=RollingOut", YES),
    (Bob, "annotate --overwrite statefulset/staged claim-rollout.io/update-policy=InPlace claim-rollout.io/phase=RollingOut", RIGHT),
    (Alice, "annotate --overwrite statefulset/staged claim-rollout.io/update-policy=InPlace claim-rollout.io/phase=RollingOut claim-rollout.io/ready=1.0", PHASE),
    (Alice, "annotate --overwrite statefulset/staged claim-rollout.io/phase=RollingOut", PHASE),
    (Bob, "annotate statefulset/plain claim-rollout.io/update-policy=OnClaimDelete claim-rollout.io/phase=Staged", PHASE),
    (Alice, "annotate statefulset/plain claim-rollout.io/phase=Complete", PHASE),
    (Bob, "annotate statefulset/left claim-rollout.io/phase-", YES),
    (Controller, "annotate --overwrite statefulset/rolling claim-rollout.io/ready=1.0", YES),
    (Controller, "annotate --overwrite statefulset/rolling claim-rollout.io/staged-at=2026-01-01T00:00:00Z", YES),
    (Controller, "annotate --overwrite statefulset/rolling claim-rollout.io/staged={} claim-rollout.io/phase=Complete claim-rollout.io/ready-", YES),
    // A StatefulSet full of annotations slows down nobody.
    (Bob, "annotate statefulset/large example.com/note=a", YES),
    (Bob, r#"patch statefulset/large --subresource=status --type=merge -p {"metadata":{"annotations":{"example.com/note":"a"}}}"#, YES),
    (Bob, "annotate statefulset/large claim-rollout.io/staged={}", RIGHT),
    (Controller, "annotate statefulset/large claim-rollout.io/ready=1.0", METADATA),
    (Controller, r#"patch statefulset/large --type=json -p [{"op":"add","path":"/metadata/finalizers/-","value":"claim-rollout.io/replacing"}]"#, METADATA),
    (Controller, r#"patch statefulset/large --type=merge -p {"spec":{"updateStrategy":{"rollingUpdate":{"partition":3}}}}"#, SPEC),
    (Bob, r#"patch statefulset/staged --type=merge -p {"metadata":{"ownerReferences":MANY}}"#, RIGHT),
    (Alice, r#"patch statefulset/staged --type=merge -p {"metadata":{"ownerReferences":MANY}}"#, YES),
    (Bob, "annotate statefulset/crowded example.com/note=a", YES),
];

/// The finalizer of claim-rollout.
pub(super) const OURS: &[Row<'_>] = &[
    (Admin, r#"patch statefulset/plain --type=merge -p {"metadata":{"finalizers":["claim-rollout.io/replacing"]}}"#, FINALIZER),
    (Bob, r#"patch statefulset/plain --subresource=status --type=merge -p {"metadata":{"finalizers":["claim-rollout.io/replacing"]}}"#, FINALIZER),
    (Bob, r#"create -f - {"finalizers":["claim-rollout.io/replacing"]}"#, FINALIZER),
    (Bob, r#"patch statefulset/replacing --type=merge -p {"metadata":{"finalizers":null}}"#, FINALIZER),
    (Admin, r#"patch statefulset/replacing --subresource=status --type=merge -p {"metadata":{"finalizers":null}}"#, FINALIZER),
    (Bob, "delete statefulset/replacing --wait=false", REPLACING),
    (Admin, "delete statefulset/replacing --cascade=orphan --wait=false", REPLACING),
    (Alice, "annotate statefulset/replacing claim-rollout.io/staged={}", STAYS),
    (Alice, "annotate statefulset/replacing claim-rollout.io/withdraw=1", STAYS),
    (Bob, "annotate statefulset/replacing claim-rollout.io/paused=true", YES),
    (Bob, "scale statefulset/replacing --replicas=3", YES),
    (Bob, "delete statefulset/plain --wait=false", YES),
    (Bob, r#"patch statefulset/plain --type=merge -p {"metadata":{"finalizers":["example.com/mine"]}}"#, YES),
    (Bob, r#"patch statefulset/replacing --type=merge -p {"metadata":{"finalizers":["claim-rollout.io/replacing","example.com/mine"]}}"#, YES),
    (Bob, "label statefulset/replacing team=a", YES),
    (Controller, r#"patch statefulset/plain --type=merge -p {"metadata":{"finalizers":["claim-rollout.io/replacing"]}}"#, YES),
    (Controller, r#"patch statefulset/replacing --type=merge -p {"metadata":{"finalizers":null}}"#, YES),
];

/// Requests that create a StatefulSet with or without a replacement in progress.
pub(super) const CREATING: &[Row<'_>] = &[
    (Bob, r#"create -f - {"name":"absent"}"#, FEWER),
    (Admin, r#"create -f - {"name":"absent","replicas":2}"#, FEWER),
    (Bob, r#"create -f - {"name":"absent","replicas":null}"#, FEWER),
    (Bob, r#"create -f - {"name":"absent","replicas":3}"#, YES),
    (Bob, r#"create -f - {"name":"absent","replicas":4}"#, YES),
    (Bob, r#"create -f - {"name":"absent-2"}"#, YES),
    (Bob, r#"create -f - {"name":"ended"}"#, YES),
    (Bob, r#"create -f - {"name":"foreign"}"#, YES),
    (Controller, r#"create -f - {"name":"absent","finalizers":["claim-rollout.io/replacing"]}"#, YES),
];

/// Requests of the controller, whose roles would allow more.
pub(super) const CONTROLLER: &[Row<'_>] = &[
    (Controller, "set image statefulset/plain main=example/main:2", SPEC),
    (Controller, "scale statefulset/plain --replicas=3", VERBS),
    (Controller, r#"patch statefulset/plain --type=merge -p {"spec":{"minReadySeconds":3}}"#, SPEC),
    (Controller, r#"patch statefulset/plain --type=merge -p {"spec":{"updateStrategy":{"type":"OnDelete","rollingUpdate":null}}}"#, SPEC),
    (Controller, r#"patch statefulset/plain --type=merge -p {"spec":{"updateStrategy":{"rollingUpdate":{"partition":3}}}}"#, SPEC),
    (Controller, "annotate statefulset/plain claim-rollout.io/staged={}", YES),
    (Controller, "annotate statefulset/staged claim-rollout.io/staged- claim-rollout.io/phase-", YES),
    (Controller, "annotate statefulset/plain example.com/note=a", METADATA),
    (Controller, "annotate statefulset/rolling claim-rollout.io/ready=1.0 claim-rollout.io/staged-at=2026-01-01T00:00:00Z", YES),
    (Controller, "annotate --overwrite statefulset/rolling claim-rollout.io/update-policy=ReCreate", METADATA),
    (Controller, "annotate statefulset/rolling claim-rollout.io/update-policy-", METADATA),
    (Controller, "annotate statefulset/rolling claim-rollout.io/paused=true", METADATA),
    (Controller, "annotate statefulset/rolling claim-rollout.io/sync=Async", METADATA),
    (Controller, "annotate statefulset/rolling claim-rollout.io/replace-set=WhenComplete", METADATA),
    (Controller, "annotate statefulset/left claim-rollout.io/replace-set-", METADATA),
    (Controller, "annotate statefulset/rolling claim-rollout.io/restart=Never", METADATA),
    (Controller, "annotate statefulset/rolling claim-rollout.io/max-in-motion=3", METADATA),
    (Controller, "annotate statefulset/rolling claim-rollout.io/progress-deadline=60", METADATA),
    (Controller, "annotate statefulset/rolling claim-rollout.io/recreate-snapshot=a", METADATA),
    (Controller, "annotate statefulset/rolling claim-rollout.io/withdraw=a", METADATA),
    (Controller, r#"create -f - {"finalizers":["claim-rollout.io/replacing"],"annotations":{"claim-rollout.io/update-policy":"ReCreate","claim-rollout.io/replace-set":"WhenComplete"}}"#, YES),
    (Controller, "label statefulset/plain team=a", METADATA),
    (Controller, r#"patch statefulset/plain --type=merge -p {"metadata":{"finalizers":["example.com/mine"]}}"#, METADATA),
    (Controller, r#"patch statefulset/owned --type=merge -p {"metadata":{"ownerReferences":null}}"#, METADATA),
    (Controller, r#"patch statefulset/plain --subresource=status --type=merge -p {"status":{"observedGeneration":7}}"#, VERBS),
    (Controller, r#"patch statefulset/plain --subresource=status --type=merge -p {"metadata":{"annotations":{"claim-rollout.io/ready":"1.0"}}}"#, VERBS),
    (Controller, "delete statefulset/plain --wait=false", VERBS),
    (Controller, "delete statefulset/plain --cascade=orphan --wait=false", VERBS),
    (Controller, "create -f - {}", VERBS),
    // A replacement: the dry run of the DELETE, the finalizer, the DELETE.
    (Controller, "delete statefulset/replacing --wait=false", VERBS),
    (Controller, "delete statefulset/replacing --cascade=foreground --wait=false", VERBS),
    (Controller, "delete statefulset/replacing --cascade=orphan --wait=false", YES),
    (Controller, r#"patch statefulset/canary --type=merge -p {"metadata":{"finalizers":["claim-rollout.io/replacing"]}}"#, METADATA),
    // PVCs are retained meanwhile.
    (Controller, r#"patch statefulset/plain --type=merge -p {"spec":{"persistentVolumeClaimRetentionPolicy":{"whenDeleted":"Delete"}}}"#, SPEC),
    (Controller, r#"patch statefulset/replacing --type=merge -p {"spec":{"persistentVolumeClaimRetentionPolicy":{"whenDeleted":"Delete"}}}"#, SPEC),
    (Controller, r#"patch statefulset/replacing --type=merge -p {"spec":{"persistentVolumeClaimRetentionPolicy":{"whenScaled":"Delete"}}}"#, SPEC),
    (Controller, r#"patch statefulset/replacing --type=merge -p {"metadata":{"finalizers":null},"spec":{"persistentVolumeClaimRetentionPolicy":{"whenDeleted":"Delete"}}}"#, YES),
    // The new StatefulSet, and its partition.
    (Controller, r#"create -f - {"finalizers":["claim-rollout.io/replacing"]}"#, YES),
    (Controller, r#"create -f - {"finalizers":["claim-rollout.io/replacing","example.com/mine"]}"#, VERBS),
    (Controller, r#"patch statefulset/replacing --type=merge -p {"spec":{"updateStrategy":{"rollingUpdate":{"partition":3}}}}"#, SPEC),
    (Controller, r#"patch statefulset/replacing --type=merge -p {"spec":{"updateStrategy":{"rollingUpdate":{"partition":1000000000}}}}"#, SPEC),
    (Controller, r#"patch statefulset/held --type=merge -p {"spec":{"updateStrategy":{"rollingUpdate":{"partition":0}}}}"#, YES),
    (Controller, r#"patch statefulset/held --type=merge -p {"spec":{"updateStrategy":{"rollingUpdate":null}}}"#, YES),
    (Controller, r#"patch statefulset/held --type=merge -p {"spec":{"updateStrategy":{"rollingUpdate":{"partition":2}}}}"#, YES),
    (Controller, r#"patch statefulset/canary --type=merge -p {"spec":{"updateStrategy":{"rollingUpdate":{"partition":0}}}}"#, SPEC),
    (Controller, "set image statefulset/replacing main=example/main:2", SPEC),
    (Controller, "label statefulset/replacing team=a", METADATA),
    // The StatefulSet of somebody else with fewer replicas.
    (Controller, r#"patch statefulset/plain --type=merge -p {"spec":{"replicas":3}}"#, YES),
    (Controller, r#"patch statefulset/plain --type=merge -p {"spec":{"replicas":3,"updateStrategy":{"rollingUpdate":{"partition":1000000000}}}}"#, YES),
    (Controller, r#"patch statefulset/plain --type=merge -p {"spec":{"replicas":3,"updateStrategy":{"rollingUpdate":{"partition":3}}}}"#, SPEC),
    (Controller, r#"patch statefulset/canary --type=merge -p {"spec":{"replicas":3,"updateStrategy":{"rollingUpdate":{"partition":0}}}}"#, SPEC),
    (Controller, r#"patch statefulset/canary --type=merge -p {"spec":{"replicas":1}}"#, SPEC),
    (Controller, r#"patch statefulset/replacing --type=merge -p {"spec":{"replicas":3}}"#, SPEC),
    (Controller, r#"patch pvc/data --type=merge -p {"spec":{"resources":{"requests":{"storage":"2Gi"}}}}"#, YES),
    (Controller, r#"patch pvc/data --type=merge -p {"spec":{"volumeAttributesClassName":"silver"}}"#, YES),
    (Controller, r#"patch pvc/data --type=merge -p {"metadata":{"labels":{"claim-rollout.io/revision":"2","tier":"a"},"annotations":{"example.com/note":"a"}}}"#, YES),
    (Controller, "label pvc/data tier=a", CLAIM_LABELS),
    (Controller, "annotate pvc/data example.com/note=a", CLAIM_LABELS),
    (Controller, "label pvc/data claim-rollout.io/revision-", CLAIM_LABELS),
    (Controller, r#"patch pvc/data --type=merge -p {"metadata":{"finalizers":null}}"#, CLAIM_METADATA),
    (Controller, r#"patch pvc/data --type=merge -p {"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"owner","uid":"UID"}]}}"#, CLAIM_METADATA),
    (Controller, r#"patch pvc/waiting --type=merge -p {"spec":{"volumeName":"another"}}"#, CLAIM_SPEC),
    (Controller, r#"patch pvc/data --subresource=status --type=merge -p {"status":{"phase":"Lost"}}"#, CLAIM_VERBS),
    (Controller, "delete pvc/data --wait=false", CLAIM_VERBS),
    // kubectl names no uid.
    (Controller, "delete pvc/marked --wait=false", CLAIM_VERBS),
    (Controller, "annotate pvc/data claim-rollout.io/recreated-for=1", YES),
    (Controller, "annotate pvc/marked claim-rollout.io/recreated-for-", YES),
    (Controller, "annotate pvc/data claim-rollout.io/recreated-for=1 example.com/note=a", CLAIM_LABELS),
    (Controller, CLAIM, CLAIM_VERBS),
];

/// Fields that Kubernetes accepts since 1.37.
pub(super) const SINCE_37: &[Row<'_>] = &[
    (Controller, r#"patch statefulset/plain --type=merge -p {"spec":{"updateStrategy":{"rollingUpdate":{"maxUnavailable":2}}}}"#, SPEC),
];

const CLAIM: &str = r#"create -f - {"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"new"},"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}}"#;
