//! Somebody else creates the set while it does not exist.

use super::cluster::Answer;
use super::others::POLICIES;
use super::process::{Decision, Process, run};
use super::words::{act, write};
use super::{Cluster, End, Ended, Run, STEPS, run_alone, state, web, writes};
use crate::replace::Stage;
use crate::replace::world::ReportOwner;
use crate::rollout::fixtures::rows;

/// Runs until the set does not exist. Then somebody else creates it.
fn let_go(size: &str, change: &str) -> Cluster {
    let mut cluster = web();
    let mut process = Process::default();
    while cluster.set.is_some() {
        process.go_on(&mut cluster);
    }
    let words = change.split("; ").filter(|word| !word.is_empty());
    assert!(cluster.foreign_creates(size, |set| words.for_each(|word| write(set, word))));
    cluster
}

/// The size and a change of what is created, the steps, how it ends, and the state afterwards.
const ROWS: &str = "
    the same | 2Gi | | WriteJournal(Created), Wait, OwnReport, DeleteJournal | End(Nothing) | replaced
    fewer replicas | 2Gi | /spec/replicas 1 \
        | ScaleUp, WriteJournal(Created), Wait, RestoreStrategy, Wait, OwnReport, DeleteJournal | End(Nothing) \
        | replaced
    more replicas | 2Gi | /spec/replicas 4 | WriteJournal(Created), Wait, OwnReport, DeleteJournal | End(Nothing) \
        | replaced
    other templates | 1Gi | | WriteJournal(Created), Wait, OwnReport, LeaveForeign \
        | ForeignSet: somebody else created the StatefulSet with other volumeClaimTemplates while it was replaced; \
            its Pods and PVCs are as before | replaced, 1Gi and staged None
    other templates and fewer replicas | 1Gi | /spec/replicas 1 \
        | ScaleUp, WriteJournal(Created), Wait, RestoreStrategy, Wait, OwnReport, LeaveForeign \
        | ForeignSet: somebody else created the StatefulSet with other volumeClaimTemplates while it was replaced; \
            its Pods and PVCs are as before | replaced, 1Gi and staged None
    another Pod template: what it does to the Pods is its own | 2Gi | /spec/template/spec/containers/0/image b \
        | WriteJournal(Created), Wait, OwnReport, DeleteJournal | End(Nothing) \
        | replaced, web-0 restarted, web-1 restarted, web-2 restarted
    another Pod template and fewer replicas: the partition of ours keeps the Pods | 2Gi \
        | /spec/replicas 1; /spec/template/spec/containers/0/image b | ScaleUp, WriteJournal(Created), Wait \
        | RevisionChanged: the new StatefulSet has revision web-b, not web-a: something changed its Pod template. The \
            partition 1000000000 keeps the Pods. Set it to 0 to restart them with the new template \
        | replaced, a journal (Created), partition 1000000000, ClaimRollout of Nobody
";

/// One replica instead of three.
const ONE_REPLICA: &str = "/spec/replicas 1";

fn ended(run: &Run) -> String {
    match &run.ended {
        Ended::Foreign(fault) | Ended::Stalled(fault) => format!("{}: {}", fault.reason, fault.message),
        Ended::End(end) => format!("End({end:?})"),
        Ended::Never => "Never".to_owned(),
    }
}

#[test]
fn foreign_set_is_compared_with_the_old_one() {
    for [row, size, change, steps, end, expected] in rows(ROWS) {
        let mut cluster = let_go(size, change);
        let uid = cluster.uid();
        let run = run_alone(&mut cluster);
        assert_eq!(writes(&run.steps), steps, "{row}");
        assert_eq!(ended(&run), end, "{row}");
        assert_eq!(state(&cluster), expected, "{row}");
        assert_eq!(cluster.uid(), uid, "{row}");
        assert!(!cluster.is_marked(), "{row}");
    }
}

/// The partition of ours ends when its user wants it.
#[test]
fn foreign_set_held_ends_without_the_partition() {
    let [_, size, change, ..] = rows::<6>(ROWS).pop().expect("a row");
    let mut cluster = let_go(size, change);
    run_alone(&mut cluster);
    act(&mut cluster, "/spec/updateStrategy/rollingUpdate/partition 0; settle");
    let run = run_alone(&mut cluster);
    assert_eq!(ended(&run), "End(Nothing)");
    assert_eq!(
        state(&cluster),
        "replaced, web-0 restarted, web-1 restarted, web-2 restarted"
    );
}

/// Somebody scales the set down again: that is not answered a second time.
#[test]
fn foreign_set_is_scaled_up_once() {
    for at in 1..STEPS {
        let mut cluster = let_go("2Gi", ONE_REPLICA);
        let run = run(&mut cluster, &mut Process::default(), |cluster, _, number| {
            if number >= at && cluster.live().replicas() != 1 {
                act(cluster, ONE_REPLICA);
            }
        });
        let row = format!("{at}: {:?}", run.steps);
        assert_eq!(run.ended, Ended::End(End::Nothing), "{row}");
        let count = run.steps.iter().filter(|step| *step == "ScaleUp").count();
        assert_eq!(count, 1, "{row}");
    }
}

/// Whoever created the set may delete it.
#[test]
fn foreign_set_deleted_is_not_created_again() {
    for (policy, finalizer) in POLICIES {
        for crash in [false, true] {
            for at in 1..STEPS {
                let mut cluster = let_go("2Gi", ONE_REPLICA);
                let mut is_deleted = false;
                let run = run(&mut cluster, &mut Process::default(), |cluster, process, number| {
                    let is_known = cluster
                        .journal
                        .as_ref()
                        .is_none_or(|(_, journal)| journal.stage == Stage::Created);
                    if number >= at && !is_deleted && is_known {
                        is_deleted = cluster.user_deletes(finalizer);
                        cluster.settle();
                        if crash {
                            *process = Process::default();
                        }
                    }
                });
                cluster.settle();
                let row = format!("{policy} {crash} {at}: {:?}", run.steps);
                assert_eq!(run.ended, Ended::End(End::Nothing), "{row}");
                assert_eq!(
                    state(&cluster),
                    if is_deleted { "deleted" } else { "replaced" },
                    "{row}"
                );
                assert!(!is_deleted || !matches!(cluster.report, ReportOwner::Set(_)), "{row}");
            }
        }
    }
}

/// Our own create comes too late.
#[test]
fn create_after_a_foreign_one_is_a_conflict() {
    let mut cluster = let_go("2Gi", "");
    let set = cluster.set.take();
    let mut process = Process::default();
    let Decision::Write(step) = process.decide(&cluster, &mut Vec::new()) else {
        panic!("nothing is written");
    };
    cluster.set = set;
    assert_eq!(process.execute(&mut cluster, &step), Answer::Conflict);
    assert_eq!(run_alone(&mut cluster).ended, Ended::End(End::Nothing));
    assert_eq!(state(&cluster), "replaced");
}
