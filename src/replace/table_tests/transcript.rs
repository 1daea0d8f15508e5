//! The steps of a replacement without disturbances, in the order of docs/dev/replacing.md.

use super::words::act;
use super::{End, Ended, run_alone, state, web, writes};
use crate::rollout::fixtures::rows;

/// A change of the fixture, the steps, and the state afterwards. The first row is the design.
const ROWS: &str = "
    as in the design | \
        | WriteJournal(Prepared), DisownReport, Mark, Delete, Wait, WriteJournal(Releasing), LetGo, Create, Wait, \
            RestoreStrategy, RestoreManagers, OwnReport, DeleteJournal, Unmark | replaced
    PVCs depend on the set until it is marked | depends; control \
        | WriteJournal(Prepared), DisownReport, Mark, Wait, Delete, Wait, WriteJournal(Releasing), LetGo, Create, \
            Wait, RestoreStrategy, RestoreManagers, OwnReport, DeleteJournal, Unmark | replaced, whenDeleted Delete
    no ClaimRollout | no ClaimRollout \
        | WriteJournal(Prepared), Mark, Delete, Wait, WriteJournal(Releasing), LetGo, Create, Wait, RestoreStrategy, \
            RestoreManagers, DeleteJournal, Unmark | replaced, ClaimRollout of NoReport
    managed fields are not kept: nothing is restored | /metadata/managedFields [] \
        | WriteJournal(Prepared), DisownReport, Mark, Delete, Wait, WriteJournal(Releasing), LetGo, Create, Wait, \
            RestoreStrategy, OwnReport, DeleteJournal, Unmark | replaced, fields of ours
    the API server keeps an entry of ours: it is asked once | kept managers \
        | WriteJournal(Prepared), DisownReport, Mark, Delete, Wait, WriteJournal(Releasing), LetGo, Create, Wait, \
            RestoreStrategy, RestoreManagers, OwnReport, DeleteJournal, Unmark | replaced, fields of ours
";

#[test]
fn replacement_takes_the_steps_of_the_design() {
    for [row, change, steps, expected] in rows(ROWS) {
        let mut cluster = web();
        act(&mut cluster, change);
        let run = run_alone(&mut cluster);
        assert_eq!(writes(&run.steps), steps, "{row}");
        assert_eq!(run.ended, Ended::End(End::Nothing), "{row}");
        assert_eq!(state(&cluster), expected, "{row}");
    }
}

/// The reads: everything before the first write, then the Pods while they are orphaned and adopted. The namespace is
/// read once, before the set is absent, and the version that was deleted once, after that.
#[test]
fn replacement_reads_the_preconditions_once() {
    let mut cluster = web();
    let run = run_alone(&mut cluster);
    let first = run
        .steps
        .iter()
        .position(|step| !step.starts_with("read"))
        .expect("a write");
    assert_eq!(
        run.steps[..first],
        ["read Guard", "read Dependents", "read Quotas", "read DryRuns"]
    );
    let later = run.steps[first..].iter().filter(|step| step.starts_with("read"));
    let others: Vec<&String> = later.filter(|step| *step != "read Dependents").collect();
    assert_eq!(others, ["read Namespace", "read LastVersion"], "{:?}", run.steps);
    let position = |name: &str| run.steps.iter().position(|step| step == name);
    assert!(position("read Namespace") < position("LetGo"), "{:?}", run.steps);
}

/// After the end nothing is left to do, and a set that is deleted then stays deleted.
#[test]
fn set_deleted_after_the_end_stays_deleted() {
    for (policy, finalizer) in super::others::POLICIES {
        let mut cluster = web();
        run_alone(&mut cluster);
        assert!(cluster.user_deletes(finalizer), "{policy}");
        cluster.settle();
        let run = run_alone(&mut cluster);
        assert_eq!(run.steps, [""; 0], "{policy}");
        assert_eq!(cluster.set, None, "{policy}");
    }
}
