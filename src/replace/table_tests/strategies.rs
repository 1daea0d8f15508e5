//! Update strategies, update policies and sizes.

use serde_json::json;

use super::process::{Process, run};
use super::words::act;
use super::{End, Ended, run_alone, state, web, writes};
use crate::replace::live::HOLD;
use crate::rollout::fixtures::rows;

/// The steps before those of the new set.
const BEFORE: &str = "WriteJournal(Prepared), DisownReport, Mark, Delete, Wait, WriteJournal(Releasing), LetGo, \
                      Create, Wait";
/// The steps after the update strategy was restored.
const AFTER: &str = "RestoreManagers, OwnReport, DeleteJournal, Unmark";

/// A change of the fixture, and the steps of the new set before [`AFTER`].
const ROWS: &str = "
    RollingUpdate                                           |                            | RestoreStrategy
    RollingUpdate without its fields, as operators write it | RollingUpdate              | RestoreStrategy
    RollingUpdate with another maxUnavailable | /spec/updateStrategy/rollingUpdate/maxUnavailable 2 | RestoreStrategy
    OnDelete: nothing keeps the Pods, and nothing has to    | OnDelete                   |
    Recreate: it is OnDelete until the revision is known    | Recreate                   | RestoreStrategy
    OnClaimDelete rolls nothing out                         | rolling out; OnClaimDelete | RestoreStrategy
    no replicas                                             | /spec/replicas 0           | RestoreStrategy
";

#[test]
fn strategy_of_the_user_is_kept() {
    for [row, change, steps] in rows(ROWS) {
        let mut cluster = web();
        act(&mut cluster, change);
        cluster.settle();
        cluster.lost.clear();
        let spec = cluster.live().object()["spec"].clone();
        let run = run_alone(&mut cluster);
        let mut expected = vec![BEFORE, steps, AFTER];
        expected.retain(|steps| !steps.is_empty());
        assert_eq!(writes(&run.steps), expected.join(", "), "{row}");
        assert_eq!(run.ended, Ended::End(End::Nothing), "{row}");
        assert_eq!(state(&cluster), "replaced", "{row}");
        assert_eq!(
            cluster.live().object()["spec"]["updateStrategy"],
            spec["updateStrategy"],
            "{row}"
        );
    }
}

/// Recreate would delete all Pods at once if something changed the Pod template.
#[test]
fn recreate_with_another_revision_stalls() {
    let mut cluster = web();
    act(&mut cluster, "Recreate; settle");
    act(&mut cluster, "another Pod template");
    let first = run_alone(&mut cluster);
    let Ended::Stalled(fault) = first.ended else {
        panic!("{:?}", first.ended);
    };
    assert_eq!(
        fault.message,
        "the new StatefulSet has revision web-b, not web-a: something changed its Pod template. The update strategy \
         OnDelete keeps the Pods. Set it to Recreate to restart them with the new template"
    );
    assert_eq!(cluster.lost, [""; 0]);
    act(&mut cluster, "Recreate; settle");
    assert_eq!(run_alone(&mut cluster).ended, Ended::End(End::Nothing));
    assert_eq!(
        state(&cluster),
        "replaced, web-0 restarted, web-1 restarted, web-2 restarted"
    );
}

/// A user who sets another partition on the new set meanwhile means it; also one who changes the strategy.
#[test]
fn strategy_that_the_user_sets_meanwhile_is_kept() {
    let rows = [
        json!({"type": "RollingUpdate", "rollingUpdate": {"partition": 1}}),
        json!({"type": "RollingUpdate", "rollingUpdate": {"partition": 0}}),
        json!({"type": "OnDelete"}),
    ];
    for strategy in rows {
        let mut cluster = web();
        let mut is_done = false;
        let run = run(&mut cluster, &mut Process::default(), |cluster, _, _| {
            if !is_done && cluster.set.as_ref().is_some_and(|set| set.uid() != "uid-1") {
                is_done = true;
                cluster.change(|set| set["spec"]["updateStrategy"] = strategy.clone());
            }
        });
        assert_eq!(run.ended, Ended::End(End::Nothing), "{strategy}");
        assert_eq!(cluster.live().object()["spec"]["updateStrategy"], strategy);
        assert_eq!(cluster.lost, [""; 0], "{strategy}");
    }
}

/// The partition that keeps the Pods of a new set means nothing without our finalizer: a user wrote it.
#[test]
fn partition_of_a_user_is_left_alone() {
    let mut cluster = web();
    cluster.change(|set| {
        set["metadata"]["annotations"] = json!({});
        set["spec"]["updateStrategy"]["rollingUpdate"]["partition"] = HOLD.into();
    });
    cluster.control();
    let before = format!("{:?}", cluster.set);
    let run = run_alone(&mut cluster);
    assert_eq!((run.steps, run.ended), (Vec::new(), Ended::End(End::Nothing)));
    assert_eq!(format!("{:?}", cluster.set), before);
}
