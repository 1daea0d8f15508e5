//! Somebody else writes to the set at each step: nothing that the API server acknowledged is lost (S17).

use serde_json::{Value, json};

use super::cluster::staged;
use super::process::Process;
use super::{Change, Cluster, End, Ended, STEPS, run_to_end, state, web};
use crate::replace::world::ReportOwner;
use crate::templates::{Phase, keys};

/// A write, whether the set has it, and the states that it may lead to.
type Row = (
    &'static str,
    fn(&mut Value),
    fn(&Value) -> bool,
    &'static [&'static str],
);

const ROWS: &[Row] = &[
    (
        "scale up",
        |set| set["spec"]["replicas"] = 4.into(),
        |set| set["spec"]["replicas"] == 4,
        &["replaced"],
    ),
    (
        "scale down",
        |set| set["spec"]["replicas"] = 2.into(),
        |set| set["spec"]["replicas"] == 2,
        &["replaced, web-2 scaled down"],
    ),
    (
        "scale to nothing",
        |set| set["spec"]["replicas"] = 0.into(),
        |set| set["spec"]["replicas"] == 0,
        &["replaced, web-0 scaled down, web-1 scaled down, web-2 scaled down"],
    ),
    (
        "a label",
        |set| set["metadata"]["labels"]["tier"] = "one".into(),
        |set| set["metadata"]["labels"]["tier"] == "one",
        &["replaced"],
    ),
    (
        "an annotation",
        |set| set["metadata"]["annotations"]["team"] = "red".into(),
        |set| set["metadata"]["annotations"]["team"] == "red",
        &["replaced"],
    ),
    (
        "an image",
        |set| set["spec"]["template"]["spec"]["containers"][0]["image"] = "b".into(),
        |set| set["spec"]["template"]["spec"]["containers"][0]["image"] == "b",
        &["replaced, web-0 restarted, web-1 restarted, web-2 restarted"],
    ),
    (
        "PVCs that depend on the set",
        |set| set["spec"]["persistentVolumeClaimRetentionPolicy"]["whenDeleted"] = "Delete".into(),
        |set| set["spec"]["persistentVolumeClaimRetentionPolicy"]["whenDeleted"] == "Delete",
        &["replaced, whenDeleted Delete"],
    ),
    (
        "a partition",
        |set| set["spec"]["updateStrategy"]["rollingUpdate"]["partition"] = 2.into(),
        |set| set["spec"]["updateStrategy"]["rollingUpdate"]["partition"] == 2,
        &["as before, partition 2", "replaced, partition 2"],
    ),
    (
        "OnDelete",
        |set| set["spec"]["updateStrategy"] = json!({"type": "OnDelete"}),
        |set| set["spec"]["updateStrategy"] == json!({"type": "OnDelete"}),
        &["replaced"],
    ),
    (
        "maxUnavailable",
        |set| set["spec"]["updateStrategy"]["rollingUpdate"]["maxUnavailable"] = 2.into(),
        |set| set["spec"]["updateStrategy"]["rollingUpdate"]["maxUnavailable"] == 2,
        &["replaced"],
    ),
    (
        "an owner that is no controller",
        |set| {
            let owner = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "of", "uid": "of-uid"});
            set["metadata"]["ownerReferences"] = json!([owner]);
        },
        |set| set["metadata"]["ownerReferences"][0]["uid"] == "of-uid",
        &["replaced"],
    ),
    (
        "a pause",
        |set| set["metadata"]["annotations"][keys::PAUSED] = "true".into(),
        |set| set["metadata"]["annotations"][keys::PAUSED] == "true",
        &["as before", "replaced"],
    ),
    (
        "replace-set: Never",
        |set| set["metadata"]["annotations"][keys::REPLACE_SET] = "Never".into(),
        |set| set["metadata"]["annotations"][keys::REPLACE_SET] == "Never",
        &["as before", "replaced"],
    ),
    (
        "another change is staged",
        |set| {
            let uid = set["metadata"]["uid"].as_str().unwrap_or_default();
            let text = staged("3Gi", Phase::RollingOut, uid);
            set["metadata"]["annotations"][keys::STAGED] = text.into();
            set["metadata"]["annotations"][keys::PHASE] = "RollingOut".into();
        },
        |set| set["metadata"]["annotations"][keys::PHASE] == "RollingOut",
        &[
            r#"as before, 1Gi and staged Some("3Gi")"#,
            r#"replaced, 2Gi and staged Some("3Gi")"#,
        ],
    ),
    (
        "the change is withdrawn",
        |set| {
            let annotations = set["metadata"]["annotations"].as_object_mut().expect("annotations");
            annotations.retain(|key, _| ![keys::STAGED, keys::PHASE].contains(&&**key));
        },
        |set| set["metadata"]["annotations"][keys::STAGED].is_null(),
        &[
            "as before, 1Gi and staged None",
            "replaced, 1Gi and staged None",
            "replaced",
        ],
    ),
];

/// Writes before step `at`. Returns whether the API server acknowledged it.
fn write_at(cluster: &mut Cluster, at: usize, crash: bool, write: fn(&mut Value)) -> (bool, Vec<String>) {
    let mut is_done = false;
    let (steps, ended) = run_to_end(cluster, |cluster, process, number| {
        if number == at {
            is_done = cluster.change(write);
            if crash {
                *process = Process::default();
            }
        }
    });
    let is_end = matches!(ended, Ended::End(End::Nothing | End::Refused(_)));
    assert!(is_end, "{at} {ended:?}: {steps:?}");
    (is_done, steps)
}

#[test]
fn write_that_was_acknowledged_is_not_lost() {
    for (row, write, is_kept, states) in ROWS {
        let mut seen = vec![false; states.len()];
        for at in 0..STEPS {
            for crash in [false, true] {
                let mut cluster = web();
                let (is_done, steps) = write_at(&mut cluster, at, crash, *write);
                let found = state(&cluster);
                let path = format!("{row} before step {at}, crash {crash}: {steps:?}");
                if !is_done {
                    assert_eq!(found, "replaced", "{path}");
                    continue;
                }
                assert!(is_kept(cluster.live().object()), "{path}");
                let index = states.iter().position(|state| *state == found);
                let index = index.unwrap_or_else(|| panic!("{found}: {path}"));
                seen[index] = true;
            }
        }
        assert!(seen.iter().all(|seen| *seen), "{row}: {states:?} {seen:?}");
    }
}

/// The rows above whose write is stored after the API server has checked that we have the last version.
#[test]
fn write_within_the_deletion_is_not_lost() {
    for (row, write, is_kept, states) in ROWS {
        // Without a crash, and with one before each step after the deletion.
        for at in 0..STEPS {
            let mut cluster = web();
            let write = *write;
            cluster.within = Some(write);
            let (steps, _) = run_to_end(&mut cluster, |cluster, process, number| {
                if cluster.within.is_none() && number == at {
                    *process = Process::default();
                }
            });
            let path = format!("{row}, crash before step {at}: {steps:?}");
            assert!(cluster.within.is_none(), "{path}");
            assert!(is_kept(cluster.live().object()), "{path}");
            assert!(
                states.contains(&state(&cluster).as_str()),
                "{}: {path}",
                state(&cluster)
            );
            let journals = steps.iter().filter(|step| *step == "WriteJournal(Releasing)");
            assert_eq!(journals.count(), 2, "{path}");
        }
    }
}

/// An API server that does not have the event any more: the set comes back as it was read last.
#[test]
fn set_without_its_deleted_event_is_created_as_read() {
    let mut cluster = web();
    cluster.within = Some(|object| object["spec"]["replicas"] = 4.into());
    let (steps, _) = run_to_end(&mut cluster, |cluster, _, _| cluster.last = None);
    assert_eq!(cluster.live().replicas(), 3, "{steps:?}");
    assert_eq!(state(&cluster), "replaced", "{steps:?}");
}

/// A user who deletes in the same moment wins, if the DELETE leaves a trace.
#[test]
fn foreground_delete_within_the_deletion_wins() {
    let mut cluster = web();
    cluster.within = Some(|object| {
        let finalizers = object["metadata"]["finalizers"].as_array_mut().expect("a list");
        finalizers.push("foregroundDeletion".into());
    });
    let (steps, _) = run_to_end(&mut cluster, |_, _, _| {});
    assert_eq!(state(&cluster), "deleted", "{steps:?}");
    assert_eq!(steps.last().map(String::as_str), Some("DeleteJournal"), "{steps:?}");
}

/// Two writes: the second one while the first one is being answered.
#[test]
fn writes_in_a_row_are_not_lost() {
    for at in 0..STEPS {
        for between in 1..4 {
            let mut cluster = web();
            let mut written = None;
            let (steps, _) = run_to_end(&mut cluster, |cluster, _, number| {
                if [at, at + between, at + 2 * between].contains(&number)
                    && cluster.change(|set| set["metadata"]["labels"]["n"] = number.into())
                {
                    written = Some(number);
                }
            });
            let found = cluster.live().object()["metadata"]["labels"]["n"].as_u64();
            assert_eq!(found, written.map(|number| number as u64), "{at} {between}: {steps:?}");
            assert_eq!(state(&cluster), "replaced", "{at} {between}: {steps:?}");
        }
    }
}

/// What others do to other objects at each step, and the state afterwards.
const OBJECTS: &[(&str, Change, &[&str])] = &[
    (
        "a Pod is deleted",
        |cluster| cluster.pods.retain(|pod| pod.name != "web-1"),
        &["replaced"],
    ),
    (
        "the ClaimRollout is deleted",
        |cluster| cluster.report = ReportOwner::NoReport,
        &["replaced", "replaced, ClaimRollout of NoReport"],
    ),
    (
        "the ClaimRollout loses its owner",
        |cluster| cluster.report = ReportOwner::Nobody,
        &["replaced", "replaced, ClaimRollout of Nobody"],
    ),
    (
        "the namespace is deleted",
        |cluster| cluster.namespace_ends = true,
        &["replaced", "deleted"],
    ),
];

#[test]
fn change_of_another_object_does_no_harm() {
    for (row, change, states) in OBJECTS {
        for at in 0..STEPS {
            let mut cluster = web();
            let (steps, ended) = run_to_end(&mut cluster, |cluster, _, number| {
                if number == at {
                    change(cluster);
                }
            });
            let path = format!("{row} before step {at}: {steps:?}");
            assert_eq!(ended, Ended::End(End::Nothing), "{path}");
            assert!(
                states.contains(&state(&cluster).as_str()),
                "{}: {path}",
                state(&cluster)
            );
        }
    }
}
