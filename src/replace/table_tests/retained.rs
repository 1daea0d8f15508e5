//! `whenDeleted: Retain` and `OnDelete`, which a user may want while the replacement has set them: such a write changes
//! nothing else, and it stays.

use serde_json::json;

use super::cluster::Answer;
use super::process::Process;
use super::words::{act, manage, write};
use super::{Cluster, STEPS, dependent, run_to_end, web};

/// A set whose user applied `whenDeleted: Delete`.
fn applied_delete() -> Cluster {
    let mut cluster = dependent();
    act(&mut cluster, "Delete applied");
    cluster.control();
    cluster
}

/// How a user asks for it.
const WRITES: [&str; 2] = ["Retain applied", "Retain applied by Argo CD"];

/// Before each step, also where the replacement is taken back, and after a crash.
#[test]
fn retain_that_was_acknowledged_stays() {
    for row in WRITES {
        for denied in [0, 9] {
            for crash in [false, true] {
                let mut written = 0;
                for at in 0..STEPS {
                    let mut cluster = applied_delete();
                    cluster.answers = vec![("Delete", Answer::Denied, false); denied];
                    let mut is_written = false;
                    let (steps, _) = run_to_end(&mut cluster, |cluster, process, number| {
                        if number == at {
                            is_written = cluster.change(|set| write(set, row));
                            *process = if crash { Process::default() } else { process.clone() };
                        }
                    });
                    let expected = if is_written { "Retain" } else { "Delete" };
                    let path = format!("{row} before step {at}, {denied} denials, crash {crash}: {steps:?}");
                    assert_eq!(cluster.live().when_deleted(), Some(expected), "{path}");
                    written += u32::from(is_written);
                }
                assert!(written > 9, "{row}: {written}");
            }
        }
    }
}

/// While the update that removes the last finalizer is executed.
#[test]
fn retain_within_the_deletion_stays() {
    for row in WRITES {
        let mut cluster = applied_delete();
        cluster.within = Some(row);
        let (steps, _) = run_to_end(&mut cluster, |_, _, _| {});
        assert_eq!(cluster.live().when_deleted(), Some("Retain"), "{row}: {steps:?}");
    }
}

/// Nobody has asked for anything: the field is as before, and its manager too.
#[test]
fn delete_comes_back_with_its_manager() {
    for (row, change) in [("nothing", ""), ("another apply", "/metadata/labels/n 1")] {
        for denied in [0, 9] {
            let mut cluster = applied_delete();
            cluster.answers = vec![("Delete", Answer::Denied, false); denied];
            let (steps, _) = run_to_end(&mut cluster, |cluster, _, number| {
                if number == 9 {
                    act(cluster, change);
                }
            });
            assert_eq!(cluster.live().when_deleted(), Some("Delete"), "{row}: {steps:?}");
            let managers = cluster.live().object()["metadata"]["managedFields"].to_string();
            assert!(!managers.contains("claim-rollout"), "{row}: {managers}");
        }
    }
}

/// `Recreate` waits as `OnDelete`.
#[test]
fn on_delete_that_was_acknowledged_stays() {
    for at in 0..STEPS {
        let mut cluster = web();
        act(&mut cluster, "Recreate; settle");
        let mut is_written = false;
        let (steps, _) = run_to_end(&mut cluster, |cluster, _, number| {
            if number == at {
                is_written = cluster.change(|set| {
                    write(set, "OnDelete");
                    manage(set, &json!({"f:updateStrategy": {"f:type": {}}}));
                });
            }
        });
        let expected = if is_written { "OnDelete" } else { "Recreate" };
        let found = &cluster.live().object()["spec"]["updateStrategy"]["type"];
        assert_eq!(found, expected, "before step {at}: {steps:?}");
    }
}

/// Ownership is a write, too: what somebody applies to the new set stays theirs.
#[test]
fn field_manager_of_a_write_stays() {
    for at in 0..STEPS {
        let mut cluster = web();
        let mut is_written = false;
        let (steps, _) = run_to_end(&mut cluster, |cluster, _, number| {
            if number == at {
                is_written = cluster.change(|set| manage(set, &json!({"f:minReadySeconds": {}})));
            }
        });
        let managers = cluster.live().object()["metadata"]["managedFields"].to_string();
        assert_eq!(
            managers.contains("argocd"),
            is_written,
            "before step {at}: {steps:?} {managers}"
        );
    }
}
