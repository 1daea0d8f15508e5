//! Update strategies, update policies and sizes.

use serde_json::json;

use super::cluster::staged;
use super::process::{Process, run};
use super::{Change, End, Ended, run_alone, state, web, writes};
use crate::replace::live::HOLD;
use crate::templates::{Phase, keys};

/// The steps before those of the new set.
const BEFORE: &str = "WriteJournal(Prepared), DisownReport, Mark, Delete, Wait, WriteJournal(Releasing), LetGo, \
                      Create, Wait, ";
/// The steps after the update strategy was restored.
const AFTER: &str = "RestoreManagers, OwnReport, DeleteJournal, Unmark";

/// A change of the fixture, and the steps of the new set before [`AFTER`].
const ROWS: &[(&str, Change, &str)] = &[
    ("RollingUpdate", |_| {}, "RestoreStrategy, "),
    (
        "RollingUpdate without its fields, as operators write it",
        |cluster| _ = cluster.change(|set| set["spec"]["updateStrategy"] = json!({"type": "RollingUpdate"})),
        "RestoreStrategy, ",
    ),
    (
        "RollingUpdate with another maxUnavailable",
        |cluster| _ = cluster.change(|set| set["spec"]["updateStrategy"]["rollingUpdate"]["maxUnavailable"] = 2.into()),
        "RestoreStrategy, ",
    ),
    (
        "OnDelete: nothing keeps the Pods, and nothing has to",
        |cluster| _ = cluster.change(|set| set["spec"]["updateStrategy"] = json!({"type": "OnDelete"})),
        "",
    ),
    (
        "Recreate: it is OnDelete until the revision is known",
        |cluster| _ = cluster.change(|set| set["spec"]["updateStrategy"] = json!({"type": "Recreate"})),
        "RestoreStrategy, ",
    ),
    (
        "OnClaimDelete rolls nothing out",
        |cluster| {
            cluster.change(|set| {
                set["metadata"]["annotations"][keys::UPDATE_POLICY] = "OnClaimDelete".into();
                set["metadata"]["annotations"][keys::STAGED] = staged("2Gi", Phase::RollingOut, "uid-1").into();
                set["metadata"]["annotations"][keys::PHASE] = "Staged".into();
            });
        },
        "RestoreStrategy, ",
    ),
    (
        "no replicas",
        |cluster| _ = cluster.change(|set| set["spec"]["replicas"] = 0.into()),
        "RestoreStrategy, ",
    ),
];

#[test]
fn strategy_of_the_user_is_kept() {
    for (row, change, steps) in ROWS {
        let mut cluster = web();
        change(&mut cluster);
        cluster.settle();
        cluster.lost.clear();
        let spec = cluster.live().object()["spec"].clone();
        let run = run_alone(&mut cluster);
        assert_eq!(writes(&run.steps), format!("{BEFORE}{steps}{AFTER}"), "{row}");
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
    cluster.change(|set| set["spec"]["updateStrategy"] = json!({"type": "Recreate"}));
    cluster.settle();
    cluster.late_webhook = Some(|set| {
        set["spec"]["template"]["spec"]["containers"][0]["image"] = "b".into();
    });
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
    cluster.change(|set| set["spec"]["updateStrategy"] = json!({"type": "Recreate"}));
    cluster.settle();
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
