//! `ReCreate` with VolumeSnapshots: a PVC is deleted only after its snapshot is ready, and not too old.

use super::recreate::{reclassed, seen};
use crate::rollout::fixtures::rows;
use crate::rollout::snapshot::Snapshot;
use crate::rollout::volume_snapshot::{VolumeSnapshot, VolumeSnapshotAnswer};
use crate::rollout::{Action, plan};
use crate::templates::ProgressDeadline;

/// A VolumeSnapshot of `data-web-2` is asked for, and this is the answer.
fn snapshot(web: &mut Snapshot, answer: Option<VolumeSnapshotAnswer>) {
    web.set.recreate_snapshot = Some("fast".to_owned());
    let name = |number| format!("data-web-2-uid-{}-{number}", web.label());
    let next = answer.as_ref().map(|_| (name(2), VolumeSnapshotAnswer::Absent));
    let answer = answer.map(|answer| (name(1), answer));
    web.recreate.volume_snapshots.extend(answer.into_iter().chain(next));
}

fn found() -> VolumeSnapshot {
    VolumeSnapshot {
        claim: "data-web-2".to_owned(),
        class: Some("fast".to_owned()),
        taken: Some(951),
        ..VolumeSnapshot::default()
    }
}

/// `not asked`, or what the answer about the VolumeSnapshot is.
fn answer(text: &str) -> Option<VolumeSnapshotAnswer> {
    let mut one = found();
    for word in text.split(", ") {
        match word {
            "not asked" => return None,
            "absent" => return Some(VolumeSnapshotAnswer::Absent),
            "no right" => return Some(VolumeSnapshotAnswer::Unreadable("forbidden".to_owned())),
            "not ready" => {}
            "ready" => one.is_ready = true,
            "terminating" => one.terminating = true,
            "no time" => one.taken = None,
            "no class" => one.class = None,
            "class slow" => one.class = Some("slow".to_owned()),
            "error" => one.error = Some("no space".to_owned()),
            "another PVC" => "data-web-1".clone_into(&mut one.claim),
            _ => one.taken = Some(word.strip_prefix("taken ").expect(word).parse().expect("a time")),
        }
    }
    Some(VolumeSnapshotAnswer::Found(one))
}

/// The answer about the VolumeSnapshot, all actions, and a part of the message.
const SNAPSHOTS: &str = "
    not asked          | not asked          | ask data-web-2-uid- |
    absent             | absent             | snapshot data-web-2 |
    not ready          | not ready          |                     | -1, which is not ready, and was taken 49 seconds ago
    not ready, and not taken | not ready, no time | | -1, which is not ready
    ready, and its time is not known | ready, no time | | -1, whose status.creationTime is not known
    taken when the staging was seen: another one | ready, taken 950 | snapshot data-web-2 |
    of another class: another one | ready, class slow | snapshot data-web-2 |
    of another class, and failed: another one | error, no class | snapshot data-web-2 |
    taken a little later than now: the clocks differ | ready, taken 1300 | mark data-web-2 |
    taken in the future | ready, taken 1301 | ClaimRolloutStalled \
        | will be taken in 301 seconds: compare the clocks of the storage and the controller
    ready              | ready              | mark data-web-2     |
    an error           | error              | ClaimRolloutStalled | has an error: no space
    an error of before | ready, error       | mark data-web-2     |
    of another PVC     | ready, another PVC | ClaimRolloutStalled | is of another PVC
    being deleted: another one | ready, terminating | snapshot data-web-2 |
    no right           | no right           | ClaimRolloutStalled | cannot be read: forbidden
";

#[test]
fn recreate_with_a_snapshot_deletes_only_when_it_is_ready() {
    for [row, text, actions, end] in rows(SNAPSHOTS) {
        let mut web = reclassed();
        snapshot(&mut web, answer(text));
        let (found, ready) = seen(&web);
        assert!(
            found.starts_with(actions) && found.is_empty() == actions.is_empty(),
            "{row}: {found}"
        );
        let reason = if actions == "ClaimRolloutStalled" {
            "ReCreateStopped: data-web-2 is not deleted: VolumeSnapshot data-web-2-uid-"
        } else {
            "RollingOut: "
        };
        assert!(ready.starts_with(reason) && ready.ends_with(end), "{row}: {ready}");
    }
}

/// A snapshot counts for five minutes. After that another one is made, but not without end.
#[test]
fn snapshot_that_is_old_is_followed_by_another() {
    let mut web = reclassed();
    web.set.recreate_snapshot = Some("fast".to_owned());
    web.set.progress_deadline = ProgressDeadline(1_000_000);
    let name = |web: &Snapshot, number| format!("data-web-2-uid-{}-{number}", web.label());
    let ready = |taken| VolumeSnapshot {
        is_ready: true,
        taken: Some(taken),
        ..found()
    };
    for number in 1..=5 {
        web.now += 1000;
        let (taken, next) = (web.now, name(&web, number));
        assert_eq!(seen(&web).0, format!("ask {next}"));
        let answers = &mut web.recreate.volume_snapshots;
        answers.insert(next.clone(), VolumeSnapshotAnswer::Absent);
        let [Action::TakeSnapshot(take)] = &plan(&web).actions[..] else {
            panic!("expected a snapshot, but found {:?}", seen(&web));
        };
        assert_eq!((&take.name, &*take.class), (&next, "fast"));
        // A slow one is waited for, and none is made beside it.
        let slow = VolumeSnapshotAnswer::Found(VolumeSnapshot { taken: None, ..found() });
        web.recreate.volume_snapshots.insert(next.clone(), slow);
        let after = name(&web, number + 1);
        web.recreate
            .volume_snapshots
            .insert(after.clone(), VolumeSnapshotAnswer::Absent);
        web.now += 1000;
        assert_eq!(seen(&web).0, "", "{number}");
        web.recreate.volume_snapshots.remove(&after);
        let answer = VolumeSnapshotAnswer::Found(ready(taken));
        web.recreate.volume_snapshots.insert(next, answer);
        for (age, expected) in [(0, "mark data-web-2"), (300, "mark data-web-2")] {
            web.now = taken + age;
            assert_eq!(seen(&web).0, expected, "{number}: {age} seconds");
        }
        web.now = taken + 301;
    }
    let (found, ready) = seen(&web);
    assert_eq!(found, "ClaimRolloutStalled");
    assert!(
        ready.contains("-5 is 301 seconds old, and so are 5 in all, of which none may be older than 5 minutes"),
        "{ready}"
    );
    // The user deletes them.
    web.recreate
        .volume_snapshots
        .insert(name(&web, 1), VolumeSnapshotAnswer::Absent);
    assert_eq!(seen(&web).0, "snapshot data-web-2");
}

/// The age of the snapshot is in the Event of the deletion.
#[test]
fn deletion_names_the_age_of_its_snapshot() {
    let mut web = reclassed();
    let is_ready = true;
    snapshot(
        &mut web,
        Some(VolumeSnapshotAnswer::Found(VolumeSnapshot { is_ready, ..found() })),
    );
    let label = web.label();
    web.claim("data-web-2").recreated_for = Some(label.to_string());
    let [Action::DeleteClaim(delete)] = &plan(&web).actions[..] else {
        panic!("expected a deletion, but found {:?}", seen(&web));
    };
    let expected = format!("VolumeSnapshot data-web-2-uid-{label}-1 is 49 seconds old");
    assert_eq!(delete.snapshot, Some(expected));
}

#[test]
fn only_replica_with_a_ready_snapshot_is_re_created() {
    let mut web = reclassed();
    (web.set.replicas, web.set.first_ordinal) = (1, 2);
    let is_ready = true;
    snapshot(
        &mut web,
        Some(VolumeSnapshotAnswer::Found(VolumeSnapshot { is_ready, ..found() })),
    );
    assert_eq!(seen(&web).0, "mark data-web-2");
}
