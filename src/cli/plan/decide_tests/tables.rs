//! The rows of the tables: a name, the world and the manifest in words; then the outcome, each PVC, and the remarks.
//!
//! Without a manifest, what is staged is planned. A PVC is its step, its sizes before and after, what is done with it and
//! with its Pod (`pod`: replaced, `new`: created), and its obstacles.

/// The world, the manifest, then the outcome, the PVCs and the remarks: requests, and what is staged already.
pub(super) const REQUESTS: &str = "
    growth | | 2Gi m:1 | Staged, InPlace, KeepRunning | 1 web-2..0 1Gi>2Gi Update |
    another image | | 2Gi m:2 | Staged, InPlace, AfterTheirClaims | 1 web-2..0 1Gi>2Gi Update pod |
    another image, and a partition | | 2Gi m:2; /spec/updateStrategy/rollingUpdate/partition 2 \
        | Staged, InPlace, AfterTheirClaims | 1 web-2 1Gi>2Gi Update pod; - web-1..0 1Gi>2Gi Held |
    another image, Async | | 2Gi m:2; @sync Async | Staged, InPlace, ByThemselves \
        | 1 web-2..0 1Gi>2Gi Update pod |
    another image alone | | 1Gi m:2 | Unchanged, ByThemselves | |
    another image, OnDelete | set /spec/updateStrategy/type OnDelete | 2Gi m:2 | Staged, InPlace, WhenDeleted \
        | - web-2..0 1Gi>2Gi Held |
    OnDelete and the same templates | set /spec/updateStrategy/type OnDelete | 1Gi m:2 \
        | Unchanged, WhenDeleted | |
    a renamed template | settings templateChanges=Allow, defaultReplaceSet=WhenComplete, \
        defaultUpdatePolicy=InPlace, authority=TrustSetEditors | 1Gi m:1; renamed \
        | Staged, InPlace, AfterTheReplacement | \
        | template data would be removed; its PVCs stay, and nothing manages them any more: data-web-0, \
        data-web-1, data-web-2; replaced PodNotSelected
    one more template: existing PVCs follow, and Pods wait \
        | settings templateChanges=Allow, defaultReplaceSet=WhenComplete, defaultUpdatePolicy=InPlace, \
        authority=TrustSetEditors | 2Gi m:2; another | Staged, InPlace, AfterTheReplacement \
        | 1 web-2..0 1Gi>2Gi Update pod | replaced PodNotSelected
    the same manifest | | 1Gi m:1 | Unchanged, KeepRunning, nothing to do | |
    the same manifest, and it is staged | staged 2Gi | 2Gi m:1 | AlreadyStaged, InPlace, KeepRunning \
        | 1 web-2..0 1Gi>2Gi Update |
    an older manifest | staged 2Gi | 1Gi m:1 | Withdrawn, KeepRunning | |
    an older manifest, by somebody else | staged 2Gi; helm | 1Gi m:1 | Unchanged, InPlace, KeepRunning \
        | 1 web-2..0 1Gi>2Gi Update |
    another storage class | | 2Gi m:1; class other | Refused, KeepRunning, stuck | \
        | claim-rollout: spec.volumeClaimTemplates[data].spec.storageClassName: cannot change, expected \
        \"fast\", but found \"other\"; allowed changes: spec.resources.requests.storage (larger only), \
        spec.volumeAttributesClassName, metadata.labels and metadata.annotations; the setting immutableFields: \
        NewPVCs allows other changes of spec for new PVCs
    an unknown update policy | | 2Gi m:1; @update-policy other | Refused, KeepRunning, stuck | \
        | claim-rollout: annotation claim-rollout.io/update-policy: expected one of OnClaimDelete, InPlace, but \
        found other
    a requester without the right | forbidden | 2Gi m:1 | Refused, KeepRunning, stuck | \
        | claim-rollout: user alice cannot patch persistentvolumeclaims in namespace shop, which a change of \
        volumeClaimTemplates needs; grant that (ClusterRole edit has it), or set authority: TrustSetEditors in \
        the policy's settings
    a requester who is not known | no SubjectAccessReview | 2Gi m:1 | Staged, InPlace, KeepRunning \
        | 1 web-2..0 1Gi>2Gi Update | not checked whether the requester may change PVCs: no SubjectAccessReview \
        was given
    nothing is staged | | | KeepRunning, nothing to do | |
    nothing is staged, and no StatefulSet | no StatefulSet | | StatefulSet web not found in namespace shop | |
    what is staged | staged 2Gi | | InPlace, KeepRunning | 1 web-2..0 1Gi>2Gi Update |
    the first one is written | staged 2Gi; written data-web-2 | | InPlace, KeepRunning \
        | - web-2 2Gi>- Wait; 1 web-1..0 1Gi>2Gi Update |
    paused | staged 2Gi; written data-web-2; @paused true | | InPlace, KeepRunning \
        | - web-2 2Gi>- Wait; - web-1..0 1Gi>2Gi Held | paused: nothing new is started
    OnClaimDelete | | 2Gi m:1; plain | Staged, OnClaimDelete, (Only PVCs created from now on get the new \
        templates), KeepRunning | |
    no StatefulSet | no StatefulSet; no PersistentVolumeClaim | 2Gi m:1 | Created, KeepRunning | \
        | the StatefulSet does not exist yet: its PVCs will be created from these templates
    no StatefulSet, and PVCs of one before it | no StatefulSet; no data-web-1; more claim data-web-3 | 2Gi m:1 \
        | Created, KeepRunning | \
        | the StatefulSet does not exist yet: its PVCs will be created from these templates, but these exist and \
        stay as they are: data-web-2, data-web-0
    one more replica | | 2Gi m:1; replicas 4 | Staged, InPlace, KeepRunning \
        | - web-3 ->- Create new; 1 web-2..0 1Gi>2Gi Update |
    one more replica and another image | | 2Gi m:2; replicas 4 | Staged, InPlace, AfterTheirClaims \
        | - web-3 ->- Create new; 1 web-2..0 1Gi>2Gi Update pod |
    one more replica, which finds its PVC | more claim data-web-3 | 2Gi m:1; replicas 4 \
        | Staged, InPlace, KeepRunning | 1 web-3 1Gi>2Gi Update new; 2 web-2..0 1Gi>2Gi Update |
    fewer replicas | | 2Gi m:1; replicas 2 | Staged, InPlace, KeepRunning | 1 web-1..0 1Gi>2Gi Update |
";

/// Who decides: the API server, which has settings and defaults of its own, or this program.
pub(super) const FROM_HERE: &str = "
    denied by the API server | answer updates to statefulset spec are forbidden | 2Gi m:1 \
        | Refused, there, KeepRunning, stuck | | updates to statefulset spec are forbidden
    denied, and no StatefulSet | answer updates to statefulset spec are forbidden; no StatefulSet | 2Gi m:1 \
        | Refused, there, KeepRunning, stuck | | updates to statefulset spec are forbidden
    what it would store | answer staged | 2Gi m:1; plain | Staged, there, InPlace, KeepRunning \
        | 1 web-2..0 1Gi>2Gi Update |
    a default in the manifest, decided here | | 1Gi m:1; /spec/template/spec/hostNetwork false \
        | Unchanged, ByThemselves | |
    a default in the manifest, which it does not store | answer live \
        | 1Gi m:1; /spec/template/spec/hostNetwork false | Unchanged, there, KeepRunning, nothing to do | |
    Pods that may not be read | unread Pod; no Pod | 2Gi m:2 | Staged, InPlace, NotChecked \
        | 1 web-2..0 1Gi>2Gi Update | Pod: not checked (forbidden)
";

/// What is in the way of the whole plan.
pub(super) const OBSTACLES: &str = "
    an immutable field | | 1Gi m:1; /spec/serviceName other | Unchanged, KeepRunning, stuck | \
        | !spec.serviceName: the API server denies changes of this field
    its PVC cannot be read | data-web-1 /spec/resources/requests/storage odd | 2Gi m:1 \
        | Staged, InPlace, KeepRunning, stuck | \
        | !PersistentVolumeClaim shop/data-web-1 cannot be read: PersistentVolumeClaim data-web-1: \
        spec.resources.requests.storage: expected a quantity such as 10Gi
    its Pod cannot be read | web-1 /spec 5 | 2Gi m:1 | Staged, InPlace, KeepRunning, stuck | \
        | !Pod shop/web-1 cannot be read: expected a Pod, but found: invalid type: integer `5`, expected struct \
        PodSpec
    a Pod of another cannot be read | more Pod web-db-0 /spec 5 | 2Gi m:1 | Staged, InPlace, KeepRunning \
        | 1 web-2..0 1Gi>2Gi Update | Pod shop/web-db-0 cannot be read: expected a Pod, but found: invalid \
        type: integer `5`, expected struct PodSpec
    a Pod beyond its replicas cannot be read | more Pod web-3 /spec 5 | 2Gi m:1 \
        | Staged, InPlace, KeepRunning | 1 web-2..0 1Gi>2Gi Update \
        | Pod shop/web-3 cannot be read: expected a Pod, but found: invalid type: integer `5`, expected struct \
        PodSpec
    another StatefulSet cannot be read | more StatefulSet db /spec/replicas many | 2Gi m:1 \
        | Staged, InPlace, KeepRunning | 1 web-2..0 1Gi>2Gi Update \
        | StatefulSet shop/db cannot be read: expected a StatefulSet, but found: invalid type: string \"many\", \
        expected i32
    it cannot be read itself | set /spec/replicas many | 2Gi m:1 \
        | StatefulSet shop/web cannot be read: expected a StatefulSet, but found: invalid type: string \
        \"many\", expected i32 | |
    it cannot be read itself, without a manifest | set /spec/replicas many | \
        | StatefulSet shop/web cannot be read: expected a StatefulSet, but found: invalid type: string \
        \"many\", expected i32 | |
    a small quota | more storage 5Gi 3Gi | 2Gi m:1 | Staged, InPlace, KeepRunning, stuck \
        | - web-2..0 1Gi>2Gi NotReached | !the 3 PVCs that would grow need 3Gi more, and ResourceQuota storage \
        has 2Gi left of 5Gi: raise it, make room, or stage a smaller size; nothing is written before all of \
        them fit
    a quota that has counted what a lowered PVC had asked for \
        | more storage 13Gi 11Gi; data-web-2 /spec/resources/requests/storage 1025Mi; data-web-2 \
        /status/allocatedResources/storage 9Gi | 2Gi m:1 | Staged, InPlace, KeepRunning \
        | 1 web-2 1025Mi>2Gi Update; 2 web-1..0 1Gi>2Gi Update |
    a quota that is used up midway | more storage 4Gi 4Gi; staged 2Gi; written data-web-2; data-web-2 \
        /status/capacity/storage 2Gi | 2Gi m:1 | AlreadyStaged, InPlace, KeepRunning, stuck \
        | - web-2 2Gi>- UpToDate; - web-1 1Gi>2Gi Blocked !exceeded quota: storage, requested: \
        requests.storage=1Gi, used: requests.storage=4Gi, limited: requests.storage=4Gi; - web-0 1Gi>2Gi \
        NotReached |
    a quota that is used up midway, Parallel \
        | more storage 4Gi 4Gi; staged 2Gi; written data-web-2; data-web-2 /status/capacity/storage 2Gi; set \
        /spec/podManagementPolicy Parallel | 2Gi m:1 | AlreadyStaged, InPlace, KeepRunning, stuck \
        | - web-2 2Gi>- UpToDate; - web-1..0 1Gi>2Gi Blocked !exceeded quota: storage, requested: \
        requests.storage=1Gi, used: requests.storage=4Gi, limited: requests.storage=4Gi |
    a quota that may not be read | more storage 3Gi 3Gi; unread ResourceQuota | 2Gi m:1 \
        | Staged, InPlace, KeepRunning | 1 web-2..0 1Gi>2Gi Update | ResourceQuota: not checked (forbidden)
    quotas with scopes, and without a status \
        | more ResourceQuota s /spec/scopes [\"BestEffort\"]; more ResourceQuota n /spec/hard/requests.storage \
        \"1\" | 2Gi m:1 | Staged, InPlace, KeepRunning | 1 web-2..0 1Gi>2Gi Update \
        | not checked: ResourceQuota s has scopes; not checked: ResourceQuota n has no status
    modified before, without a budget | modified data-web-2 2026-11-22T14:00:00Z,2026-11-23T11:00:00Z \
        | 2Gi m:1 | Staged, InPlace, KeepRunning | 1 web-2..0 1Gi>2Gi Update |
    a used-up budget | modified data-web-2 2026-11-22T14:00:00Z,2026-11-23T11:00:00Z; modified data-web-1 \
        2026-11-23T11:00:00Z; budget 2 | 2Gi m:1 | Staged, InPlace, KeepRunning | 1 web-2..0 1Gi>2Gi Update \
        | data-web-2 has been modified 2 times in 24 h, the limit of storage class fast; continues at \
        2026-11-23T14:00:00Z
    a used-up budget, and a label is no modification \
        | modified data-web-2 2026-11-22T14:00:00Z,2026-11-23T11:00:00Z; modified data-web-1 \
        2026-11-23T11:00:00Z; budget 2; data-web-2 /spec/resources/requests/storage 2Gi | 2Gi m:1 \
        | Staged, InPlace, KeepRunning | 1 web-2 2Gi>2Gi Update; 2 web-1..0 1Gi>2Gi Update |
";

/// What is in the way of one PVC, and which PVCs `ReCreate` would delete.
pub(super) const OF_CLAIMS: &str = "
    a class that does not expand | class /allowVolumeExpansion false | 2Gi m:1 \
        | Staged, InPlace, KeepRunning, stuck \
        | - web-2 1Gi>2Gi Blocked !storage class fast does not have allowVolumeExpansion: true; - web-1..0 \
        1Gi>2Gi NotReached !storage class fast does not have allowVolumeExpansion: true |
    a PVC without a volume | data-web-2 /status/phase Pending | 2Gi m:1 | Staged, InPlace, KeepRunning, stuck \
        | - web-2 1Gi>2Gi Blocked !waiting for a volume !not bound to a volume yet, so it has to wait; - \
        web-1..0 1Gi>2Gi NotReached |
    another's PVC | data-web-2 /metadata/ownerReferences [{\"apiVersion\": \"v1\", \"kind\": \"Backup\", \
        \"name\": \"b\", \"uid\": \"b-uid\", \"controller\": true}] | 2Gi m:1 \
        | Staged, InPlace, KeepRunning, stuck \
        | - web-2 1Gi>- Blocked !owned by Backup b; - web-1..0 1Gi>2Gi NotReached |
    another access mode | data-web-2 /spec/accessModes/0 ReadWriteMany | 2Gi m:1 \
        | Staged, InPlace, KeepRunning, stuck \
        | - web-2 1Gi>2Gi Blocked !the template has spec.accessModes [\"ReadWriteOnce\"], but the PVC has \
        [\"ReadWriteMany\"], which cannot change in place; - web-1..0 1Gi>2Gi NotReached |
    a PVC that is being deleted | data-web-2 /metadata/deletionTimestamp 2026-01-01T00:00:00Z | 2Gi m:1 \
        | Staged, InPlace, KeepRunning | - web-2 1Gi>- Create; 1 web-1..0 1Gi>2Gi Update |
    no PVC | no data-web-2 | 2Gi m:1 | Staged, InPlace, KeepRunning \
        | - web-2 ->- Create; 1 web-1..0 1Gi>2Gi Update |
    a LimitRange | more LimitRange l /spec/limits [{\"type\": \"PersistentVolumeClaim\", \"max\": {\"storage\": \
        \"1Gi\"}}] | 2Gi m:1 | Staged, InPlace, KeepRunning, stuck \
        | - web-2 1Gi>2Gi Blocked !maximum storage usage per PersistentVolumeClaim is 1Gi, but request is 2Gi; \
        - web-1..0 1Gi>2Gi NotReached |
    ReCreate, another class | no SubjectAccessReview; settings allowReCreate=true \
        | 1Gi m:1; @update-policy ReCreate; class slow | Staged, ReCreate, KeepRunning \
        | 1 web-2..0 1Gi>1Gi slow ReCreate pod \
        | not checked whether the requester may change PVCs: no SubjectAccessReview was given
    ReCreate, a growth, which is in place | no SubjectAccessReview; settings allowReCreate=true \
        | 2Gi m:1; @update-policy ReCreate | Staged, ReCreate, KeepRunning | 1 web-2..0 1Gi>2Gi Update \
        | not checked whether the requester may change PVCs: no SubjectAccessReview was given
    ReCreate, the only replica | no SubjectAccessReview; settings allowReCreate=true; set /spec/replicas 1 \
        | 1Gi m:1; @update-policy ReCreate; class slow; replicas 1 | Staged, ReCreate, KeepRunning, stuck \
        | - web-0 1Gi>1Gi NotReached | !web-0 is not re-created: this is the only replica, and its data would \
        be lost: set the annotation claim-rollout.io/recreate-snapshot to a VolumeSnapshotClass, or add \
        replicas; not checked whether the requester may change PVCs: no SubjectAccessReview was given
";

/// What prevents the replacement after the rollout now.
pub(super) const REPLACEMENTS: &str = "
    asked for | asked | | InPlace, KeepRunning | 1 web-2..0 1Gi>2Gi Update | replaced
    never | asked; @replace-set Never | | InPlace, KeepRunning | 1 web-2..0 1Gi>2Gi Update |
    never, whatever the setting is | asked; @replace-set Never; settings defaultReplaceSet=WhenComplete | \
        | InPlace, KeepRunning | 1 web-2..0 1Gi>2Gi Update |
    asked for, and paused | asked; @paused true | | InPlace, KeepRunning | - web-2..0 1Gi>2Gi Held \
        | paused: nothing new is started
    the templates are live | asked; staged 1Gi | | InPlace, KeepRunning | 1 web-2..0 1Gi>1Gi Update |
    a PVC of a replica that was scaled away before | asked; more claim data-web-3 | | InPlace, KeepRunning \
        | 1 web-2..0 1Gi>2Gi Update | replaced ClaimOutdated
    a Pod that is not Ready | asked; web-1 /status/conditions/0/status False | | InPlace, KeepRunning \
        | 2 web-2 1Gi>2Gi Update; 1 web-1 1Gi>2Gi Update; 3 web-0 1Gi>2Gi Update | replaced PodNotReady
    a Pod with other labels | asked; web-1 /metadata/labels/app other | | InPlace, KeepRunning \
        | 1 web-2..0 1Gi>2Gi Update | replaced PodNotSelected
    asked for, and Pods that may not be read | asked; unread Pod; no Pod | | InPlace, NotChecked \
        | 1 web-2..0 1Gi>2Gi Update | Pod: not checked (forbidden); replaced
    created a moment ago, and not seen: both end soon \
        | asked; set /metadata/creationTimestamp 2026-11-23T11:59:30Z; set /status/observedGeneration 0 | \
        | InPlace, KeepRunning | 1 web-2..0 1Gi>2Gi Update | replaced
    a quota with room | asked; more sets 2 1 | | InPlace, KeepRunning | 1 web-2..0 1Gi>2Gi Update | replaced
    a change that the settings deny now | asked; settings maxStorage={\"*\": \"1Gi\"} | \
        | InPlace, (The staged change breaks a rule: \
        spec.volumeClaimTemplates[data].spec.resources.requests.storage: is limited, expected at most 1Gi, but \
        found 2Gi), KeepRunning, stuck | | !The staged change breaks a rule: \
        spec.volumeClaimTemplates[data].spec.resources.requests.storage: is limited, expected at most 1Gi, but \
        found 2Gi; replaced StagedChangeNotAllowed
    several | asked; set /metadata/finalizers [\"backup.example.com/wait\"]; set \
        /spec/updateStrategy/rollingUpdate/partition 1; no web-2; more sets 1 1 | | InPlace, KeepRunning \
        | 1 web-2 1Gi>2Gi Update new; 2 web-1 1Gi>2Gi Update; - web-0 1Gi>2Gi Held \
        | replaced ForeignFinalizer PartitionSet PodNotReady QuotaFull
    nothing asks for it | staged 2Gi | | InPlace, KeepRunning | 1 web-2..0 1Gi>2Gi Update |
";
