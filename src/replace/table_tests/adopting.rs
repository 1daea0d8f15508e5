//! After the create: the new set adopts the Pods at their revision, or somebody is called.

use super::process::{Process, run};
use super::words::act;
use super::{Cluster, Ended, LiveSet, Run, run_alone, state, web, writes};
use crate::rollout::fixtures::rows;

/// Whether the new set exists.
fn is_created(cluster: &Cluster) -> bool {
    cluster.set.as_ref().is_some_and(|set| set.uid() != "uid-1")
}

/// Runs, with a change as soon as the new set exists.
fn run_with(cluster: &mut Cluster, change: &str) -> Run {
    let mut is_done = false;
    run(cluster, &mut Process::default(), |cluster, _, _| {
        if is_created(cluster) && !is_done {
            is_done = true;
            act(cluster, change);
        }
    })
}

/// How it ends.
fn ended(run: &Run) -> String {
    match &run.ended {
        Ended::Stalled(fault) => format!("{}: {}", fault.reason, fault.message),
        other => format!("{other:?}"),
    }
}

/// A change of the fixture, a change of the new set, how it ends, and the state afterwards.
const ROWS: &str = "
    a Pod is not adopted | web-1 not adopted | | PodNotAdopted: the new StatefulSet has not adopted Pod web-1 \
        | replaced, a journal (Releasing), the finalizer claim-rollout.io/replacing, partition 1000000000, fields of \
            ours, ClaimRollout of Nobody, web-1 is an orphan
    a Pod is not adopted, and being deleted | web-1 not adopted | web-1 ending | End(Nothing) \
        | replaced, web-1 is an orphan
    a Pod is deleted | web-1 not adopted | web-1 missing | End(Nothing) | replaced
    a Pod is created again by the new set | web-1 not adopted | web-1 missing; control | End(Nothing) | replaced
    another controller has the Pod | | web-1 of others; web-1 not adopted \
        | PodNotAdopted: the new StatefulSet has not adopted Pod web-1 \
        | replaced, a journal (Releasing), the finalizer claim-rollout.io/replacing, partition 1000000000, fields of \
            ours, ClaimRollout of Nobody, web-1 is an orphan
    the Pod template is the same in other bytes | other bytes | | End(Nothing) | replaced
    something changes the Pod template of the new set | another Pod template | \
        | RevisionChanged: the new StatefulSet has revision web-b, not web-a: something changed its Pod template. The \
            partition 1000000000 keeps the Pods. Set it to 0 to restart them with the new template \
        | replaced, a journal (Releasing), the finalizer claim-rollout.io/replacing, partition 1000000000, fields of \
            ours, ClaimRollout of Nobody
    something changes it, and the user agrees | another Pod template \
        | control; /spec/updateStrategy/rollingUpdate/partition 0 | End(Nothing) \
        | replaced, web-0 restarted, web-1 restarted, web-2 restarted
";

#[test]
fn new_set_adopts_the_pods_or_stalls() {
    for [row, before, change, end, expected] in rows(ROWS) {
        let mut cluster = web();
        act(&mut cluster, before);
        let run = run_with(&mut cluster, change);
        assert_eq!(ended(&run), end, "{row}: {:?}", run.steps);
        assert_eq!(state(&cluster), expected, "{row}: {:?}", run.steps);
    }
}

/// Pods above the replicas, which another revision would restart: the set was scaled down before it was let go, and is
/// scaled up before the new one has deleted them.
#[test]
fn hold_keeps_pods_above_the_replicas() {
    let mut cluster = web();
    act(&mut cluster, "another Pod template");
    let (mut is_down, mut is_up) = (false, false);
    let run = run(&mut cluster, &mut Process::default(), |cluster, _, _| {
        if !is_down && cluster.set.as_ref().is_some_and(LiveSet::terminating) {
            is_down = cluster.change(|set| set["spec"]["replicas"] = 1.into());
        }
        if !is_up && is_created(cluster) {
            assert_eq!(cluster.live().replicas(), 1);
            is_up = cluster.change(|set| set["spec"]["replicas"] = 3.into());
        }
    });
    assert!(ended(&run).starts_with("RevisionChanged"), "{:?}", run.steps);
    assert_eq!(cluster.lost, [""; 0], "{:?}", run.steps);
}

/// A DaemonSet or another controller with an overlapping selector takes a Pod while it has no owner, before the journal
/// lists the Pods. So the StatefulSet has one replica less, and that is no success.
#[test]
fn pod_that_another_controller_took_is_not_forgotten() {
    let mut cluster = web();
    let run = run(&mut cluster, &mut Process::default(), |cluster, _, _| {
        if cluster.pods[1].controller.is_none() {
            act(cluster, "web-1 of others; web-1 not adopted");
        }
    });
    let expected = "PodNotAdopted: the new StatefulSet has not adopted Pod web-1";
    assert_eq!(ended(&run), expected, "{:?}", run.steps);
    assert_eq!(cluster.lost, [""; 0], "{:?}", run.steps);
}

const WITHOUT_JOURNAL: &str = "
    nothing else | | End(Nothing) | replaced, fields of ours
    something changes the Pod template of the new set | another Pod template \
        | RevisionChanged: a Pod has no owner or another revision, and the journal does not exist any more. The \
            partition keeps the Pods. Set it to 0 to restart them \
        | replaced, the finalizer claim-rollout.io/replacing, partition 1000000000, fields of ours, ClaimRollout of \
            Nobody
    a Pod is not adopted | web-1 not adopted \
        | RevisionChanged: a Pod has no owner or another revision, and the journal does not exist any more. The \
            partition keeps the Pods. Set it to 0 to restart them \
        | replaced, the finalizer claim-rollout.io/replacing, partition 1000000000, fields of ours, ClaimRollout of \
            Nobody, web-1 is an orphan
";

/// The journal is lost after the CREATE: the hold ends all the same, unless it would restart Pods.
#[test]
fn hold_without_a_journal_ends_if_no_pod_restarts() {
    for [row, before, end, expected] in rows(WITHOUT_JOURNAL) {
        let mut cluster = web();
        act(&mut cluster, before);
        let run = run_with(&mut cluster, "no journal");
        assert_eq!(ended(&run), end, "{row}: {:?}", run.steps);
        assert_eq!(state(&cluster), expected, "{row}: {:?}", run.steps);
    }
}

/// What made it stall ends, and so does the replacement.
#[test]
fn stalled_replacement_goes_on() {
    let mut cluster = web();
    act(&mut cluster, "web-1 not adopted");
    assert!(matches!(run_alone(&mut cluster).ended, Ended::Stalled(_)));
    cluster.not_adopted.clear();
    cluster.settle();
    let run = run_alone(&mut cluster);
    assert_eq!(
        writes(&run.steps),
        "RestoreStrategy, RestoreManagers, OwnReport, DeleteJournal, Unmark"
    );
    assert_eq!(state(&cluster), "replaced");
}

/// The revision of ours goes; the Pods keep theirs.
#[test]
fn revision_of_the_same_template_is_deleted() {
    let mut cluster = web();
    act(&mut cluster, "other bytes");
    let run = run_alone(&mut cluster);
    assert_eq!(
        run.steps.iter().filter(|step| *step == "DeleteRevision").count(),
        1,
        "{:?}",
        run.steps
    );
    let revisions: Vec<String> = cluster.revisions().into_iter().map(|revision| revision.name).collect();
    assert_eq!(revisions, ["web-a"]);
    assert_eq!(cluster.live().update_revision(), "web-a");
}
