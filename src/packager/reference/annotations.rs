//! The annotations and labels of `claim-rollout.io`.

use super::section::{code, section};
use crate::templates::user_keys::USER_KEYS;

/// Every annotation that users set, with its default and its meaning.
const OF_USERS: &str = "\
claim-rollout.io/update-policy | setting [`defaultUpdatePolicy`](settings.md#defaultupdatepolicy) | `InPlace`: \
    existing PVCs follow. `OnClaimDelete` (as in KEP-4650): only PVCs that are created from now on get the desired \
    templates. If you set `InPlace` later, existing PVCs follow. `ReCreate`: PVCs that cannot follow in place are \
    [deleted with their data and created anew](recreate.md), one replica at a time
claim-rollout.io/sync | `LockStep` | `LockStep`: if Pods change as well, the PVCs of a replica come before its \
    Pod: the policy denies the deletion of the Pod until they are ready. `Async`: Pods do not wait
claim-rollout.io/replace-set | setting [`defaultReplaceSet`](settings.md#defaultreplaceset) | `WhenComplete`: when \
    the rollout is complete, the controller [replaces the StatefulSet](replacing.md), without its Pods, so that the \
    live templates are the desired ones. The controller needs [rights of its own](../deploy/replace-sets.yaml) for \
    that (chart: `features.replaceSets`)
claim-rollout.io/restart | `Never` | `WhenNodeExpansionPends`: the controller evicts a Pod whose node has not \
    grown the file system for a minute, so that the volume is mounted again. It evicts one Pod at a time, and only \
    while all others are available. The controller needs [the right to evict](../deploy/evict-pods.yaml) (chart: \
    `features.restart`)
claim-rollout.io/recreate-snapshot | none | with `ReCreate`: the controller creates a VolumeSnapshot of each PVC, \
    and deletes the PVC only when it is [ready](recreate.md#snapshots)
claim-rollout.io/paused | `false` | `true`: the controller begins nothing new. What has begun continues, and Pods \
    that wait for their PVCs go on waiting
claim-rollout.io/progress-deadline | `600` | without progress for that long, the ClaimRollout is `Stalled`, and an \
    Event reports it. The rollout still continues when it can
claim-rollout.io/max-in-motion | `1` | the number of replicas that are in motion at the same time. While one of \
    them is stuck, nothing new begins, except with `podManagementPolicy: Parallel`
claim-rollout.io/withdraw |  | drops the staged change with this revision; the policy removes the annotation. With \
    [`shrink: Recover`](settings.md#shrink), a size that was not reached is taken back. `kubectl apply` of the old \
    manifest does the same
";

/// Every other annotation and label: key, kind of object, writer, meaning.
const OF_PROGRAMS: &str = "\
claim-rollout.io/staged | annotation on StatefulSets | policy | the staged change: the desired templates, their \
    revision, which staging of them this is, the phase, and who asked for them
claim-rollout.io/phase | annotation on StatefulSets | policy, controller | `Staged` (nothing is rolled out), \
    `RollingOut` or `Complete`, for health checks that read no JSON
claim-rollout.io/ready | annotation on StatefulSets | controller | `REVISION.ORDINAL`: the last replica whose PVCs \
    became ready while its Pod waited. `StagedBeforePolicy`: this staging is [not rolled \
    out](troubleshooting.md#the-rollout-is-stalled)
claim-rollout.io/staged-at | annotation on StatefulSets | controller | when the controller first saw this staging, \
    or the one that it only grows, where PVCs may be [deleted](recreate.md)
claim-rollout.io/retry | annotation on ClaimRollouts | `claim-rollout retry` | asks the controller to [try again \
    now](commands.md#retry-try-again-now); the controller removes it
claim-rollout.io/replacing | finalizer on StatefulSets | controller | the StatefulSet is being \
    [replaced](replacing.md); the policy takes it off a StatefulSet that somebody else creates
claim-rollout.io/revision | label on PVCs | controller, policy | `REVISION.STAGING`: what was applied to the PVC
claim-rollout.io/modified | annotation on PVCs | controller | when the controller modified the PVC in the last 24 \
    hours, if its storage class has a [budget](commands.md#budgets-of-storage-classes)
claim-rollout.io/recreated-for | annotation on PVCs | controller | the revision and the staging for which the \
    controller deletes the PVC, so that it is [created anew](recreate.md)
claim-rollout.io/of-set | annotation on VolumeSnapshots | controller | the StatefulSet of the PVC
claim-rollout.io/of-claim | annotation on VolumeSnapshots | controller | the PVC
claim-rollout.io/by | annotation on ControllerRevisions | controller | the user who staged the revision last
claim-rollout.io/manager | annotation on ControllerRevisions | controller | the field manager of that request
claim-rollout.io/rollout-uid | label on ControllerRevisions | controller | the uid of the ClaimRollout
";

/// The cells of each row.
fn rows(table: &'static str) -> impl Iterator<Item = Vec<String>> {
    let rows = table.lines().map(|row| row.split(" | ").map(str::to_owned));
    rows.map(Iterator::collect)
}

/// The annotations that users set.
pub(super) fn of_users() -> String {
    let rows = rows(OF_USERS).map(|mut row| {
        let values = USER_KEYS.into_iter().find(|known| known.key == row[0]);
        let values = values.map_or_else(
            || "a revision (`kubectl get claimrollouts` shows it)".to_owned(),
            |known| {
                let words = known.values.in_words();
                words.replace("one of ", "").replace("the name of a ", "a ")
            },
        );
        row[0] = code(&row[0]);
        row.insert(1, values);
        row
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
    let rows = rows(OF_PROGRAMS).map(|mut row| {
        row[0] = code(&row[0]);
        row
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
    use super::{OF_PROGRAMS, OF_USERS, rows};
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
        let of = |table| rows(table).map(|row| row[0].clone());
        let mut described: Vec<String> = of(OF_USERS).chain(of(OF_PROGRAMS)).collect();
        defined.sort_unstable();
        defined.dedup();
        described.sort_unstable();
        assert_eq!(described, defined);
        for known in USER_KEYS {
            assert!(of(OF_USERS).any(|key| key == known.key), "{}", known.key);
        }
    }
}
