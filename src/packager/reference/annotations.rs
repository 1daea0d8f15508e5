//! The annotations and labels of `claim-rollout.io`.

use super::section::{code, section};
use crate::templates::keys;
use crate::templates::user_keys::USER_KEYS;

/// Every annotation that users set, with its default and its meaning.
const OF_USERS: [(&str, &str, &str); 9] = [
    (
        keys::UPDATE_POLICY,
        "setting [`defaultUpdatePolicy`](settings.md#defaultupdatepolicy)",
        "`InPlace`: existing PVCs follow. `OnClaimDelete` (as in KEP-4650): only PVCs that are created from now on get the \
         desired templates. If you set `InPlace` later, existing PVCs follow. `ReCreate`: PVCs that cannot follow in place are \
         [deleted with their data and created anew](recreate.md), one replica at a time",
    ),
    (
        keys::SYNC,
        "`LockStep`",
        "`LockStep`: if Pods change as well, the PVCs of a replica come before its Pod: the policy denies the deletion of \
         the Pod until they are ready. `Async`: Pods do not wait",
    ),
    (
        keys::REPLACE_SET,
        "setting [`defaultReplaceSet`](settings.md#defaultreplaceset)",
        "`WhenComplete`: when the rollout is complete, the controller [replaces the StatefulSet](replacing.md), without its \
         Pods, so that the live templates are the desired ones. The controller needs \
         [rights of its own](../deploy/replace-sets.yaml) for that (chart: `features.replaceSets`)",
    ),
    (
        keys::RESTART,
        "`Never`",
        "`WhenNodeExpansionPends`: the controller evicts a Pod whose node has not grown the file system for a minute, so \
         that the volume is mounted again. It evicts one Pod at a time, and only while all others are available. The \
         controller needs [the right to evict](../deploy/evict-pods.yaml) (chart: `features.restart`)",
    ),
    (
        keys::RECREATE_SNAPSHOT,
        "none",
        "with `ReCreate`: the controller creates a VolumeSnapshot of each PVC, and deletes the PVC only when it is \
         [ready](recreate.md#snapshots)",
    ),
    (
        keys::PAUSED,
        "`false`",
        "`true`: the controller begins nothing new. What has begun continues, and Pods that wait for their PVCs go on waiting",
    ),
    (
        keys::PROGRESS_DEADLINE,
        "`600`",
        "without progress for that long, the ClaimRollout is `Stalled`, and an Event reports it. The rollout still \
         continues when it can",
    ),
    (
        keys::MAX_IN_MOTION,
        "`1`",
        "the number of replicas that are in motion at the same time. While one of them is stuck, nothing new begins, \
         except with `podManagementPolicy: Parallel`",
    ),
    (
        keys::WITHDRAW,
        "",
        "drops the staged change with this revision; the policy removes the annotation. With \
         [`shrink: Recover`](settings.md#shrink), a size that was not reached is taken back. `kubectl apply` of the old \
         manifest does the same",
    ),
];

/// Every other annotation and label: key, kind of object, writer, meaning.
const OF_PROGRAMS: [(&str, &str, &str, &str); 14] = [
    (
        keys::STAGED,
        "annotation on StatefulSets",
        "policy",
        "the staged change: the desired templates, their revision, which staging of them this is, the phase, and who \
         asked for them",
    ),
    (
        keys::PHASE,
        "annotation on StatefulSets",
        "policy, controller",
        "`Staged` (nothing is rolled out), `RollingOut` or `Complete`, for health checks that read no JSON",
    ),
    (
        keys::READY,
        "annotation on StatefulSets",
        "controller",
        "`REVISION.ORDINAL`: the last replica whose PVCs became ready while its Pod waited. `StagedBeforePolicy`: this \
         staging is [not rolled out](troubleshooting.md#the-rollout-is-stalled)",
    ),
    (
        keys::STAGED_AT,
        "annotation on StatefulSets",
        "controller",
        "when the controller first saw this staging, where PVCs may be [deleted](recreate.md)",
    ),
    (
        keys::RETRY,
        "annotation on ClaimRollouts",
        "`claim-rollout retry`",
        "asks the controller to [try again now](commands.md#retry-try-again-now); the controller removes it",
    ),
    (
        keys::REPLACING,
        "finalizer on StatefulSets",
        "controller",
        "the StatefulSet is being [replaced](replacing.md); the policy takes it off a StatefulSet that somebody else creates",
    ),
    (
        keys::REVISION,
        "label on PVCs",
        "controller, policy",
        "`REVISION.STAGING`: what was applied to the PVC",
    ),
    (
        keys::MODIFIED,
        "annotation on PVCs",
        "controller",
        "when the controller modified the PVC in the last 24 hours, if its storage class has a \
         [budget](commands.md#budgets-of-storage-classes)",
    ),
    (
        keys::RECREATED_FOR,
        "annotation on PVCs",
        "controller",
        "the revision and the staging for which the controller deletes the PVC, so that it is [created anew](recreate.md)",
    ),
    (
        keys::SNAPSHOT_SET,
        "annotation on VolumeSnapshots",
        "controller",
        "the StatefulSet of the PVC",
    ),
    (
        keys::SNAPSHOT_CLAIM,
        "annotation on VolumeSnapshots",
        "controller",
        "the PVC",
    ),
    (
        keys::BY,
        "annotation on ControllerRevisions",
        "controller",
        "the user who staged the revision last",
    ),
    (
        keys::MANAGER,
        "annotation on ControllerRevisions",
        "controller",
        "the field manager of that request",
    ),
    (
        keys::ROLLOUT,
        "label on ControllerRevisions",
        "controller",
        "the uid of the ClaimRollout",
    ),
];

/// The annotations that users set.
pub(super) fn of_users() -> String {
    let rows = OF_USERS.map(|(key, default, meaning)| {
        let values = USER_KEYS.into_iter().find(|known| known.key == key);
        let values = values.map_or_else(
            || "a revision (`kubectl get claimrollouts` shows it)".to_owned(),
            |known| {
                known
                    .values
                    .in_words()
                    .replace("one of ", "")
                    .replace("the name of a ", "a ")
            },
        );
        vec![code(key), values, default.to_owned(), meaning.to_owned()]
    });
    section(
        "Annotations on the StatefulSet",
        "The policy denies any other value. `updateStrategy.rollingUpdate.partition` works as usual: PVCs below the \
         partition stay as they are.",
        &["annotation", "values", "default", "meaning"],
        rows,
    )
}

/// The annotations and labels that the policy and the controller write.
pub(super) fn of_programs() -> String {
    let rows = OF_PROGRAMS.map(|(key, object, writer, meaning)| {
        vec![code(key), object.to_owned(), writer.to_owned(), meaning.to_owned()]
    });
    section(
        "Other annotations, and labels",
        "Read them, but do not write them: the policy puts back the annotations of StatefulSets.",
        &["key", "is a", "written by", "meaning"],
        rows,
    )
}

#[cfg(test)]
mod tests {
    use super::{OF_PROGRAMS, OF_USERS};
    use crate::templates::keys;
    use crate::templates::user_keys::USER_KEYS;

    /// The keys in the source text: a new one has to be described here.
    #[test]
    fn every_key_is_described_once() {
        let source = include_str!("../../templates/keys.rs");
        let mut defined: Vec<&str> = source
            .split('"')
            .filter(|text| text.starts_with(keys::PREFIX))
            .collect();
        defined.retain(|key| *key != keys::PREFIX && !key.contains(char::is_whitespace));
        let users = OF_USERS.iter().map(|(key, ..)| *key);
        let mut described: Vec<&str> = users.chain(OF_PROGRAMS.iter().map(|(key, ..)| *key)).collect();
        defined.sort_unstable();
        defined.dedup();
        described.sort_unstable();
        assert_eq!(described, defined);
        for known in USER_KEYS {
            assert!(OF_USERS.iter().any(|(key, ..)| *key == known.key), "{}", known.key);
        }
    }
}
