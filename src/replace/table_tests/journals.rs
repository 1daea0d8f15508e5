//! Every combination of a set and a journal: one step.

use serde_json::{Value, json};

use super::api_server::Answer;
use super::cluster::{Cluster, manifest, staged, web};
use super::process::{Process, fill, name, run, world};
use super::{Change, run_alone};
use crate::replace::journal::Journal;
use crate::replace::live::FINALIZER;
use crate::replace::next;
use crate::replace::step::{Part, Step};
use crate::replace::world::ReportOwner;
use crate::templates::{Phase, keys};

fn journal(cluster: &mut Cluster, change: fn(Journal, &Cluster) -> Journal) {
    let prepared = Journal::prepare(cluster.live(), None, 0).expect("a staged change");
    let journal = change(prepared, cluster);
    cluster.journal = Some((1, journal));
}

fn prepared(cluster: &mut Cluster) {
    journal(cluster, |journal, _| journal);
}

fn releasing(cluster: &mut Cluster) {
    journal(cluster, |journal, cluster| releasing_of(&journal, cluster));
}

fn releasing_of(journal: &Journal, cluster: &Cluster) -> Journal {
    journal.release(cluster.live(), Vec::new(), cluster.namespace, &cluster.secret())
}

fn created(cluster: &mut Cluster) {
    journal(cluster, |journal, cluster| releasing_of(&journal, cluster).created());
}

fn finalizers(cluster: &mut Cluster, finalizers: &Value) {
    cluster.change(|set| set["metadata"]["finalizers"] = finalizers.clone());
}

fn mark(cluster: &mut Cluster) {
    finalizers(cluster, &json!([FINALIZER]));
}

fn delete(cluster: &mut Cluster) {
    cluster.change(|set| set["metadata"]["deletionTimestamp"] = "2026-01-01T01:00:00Z".into());
}

/// Another set of the name.
fn renew(cluster: &mut Cluster) {
    cluster.store(manifest("2Gi"), "kubectl");
}

/// The new set has a change of its own.
fn stage(cluster: &mut Cluster, phase: Phase) {
    let text = staged("3Gi", phase, &cluster.uid());
    cluster.change(|set| set["metadata"]["annotations"][keys::STAGED] = text.into());
}

const ROWS: &[(&str, Change, &str)] = &[
    ("no set, no journal", |cluster| cluster.set = None, "End"),
    (
        "no set, Prepared: a user deleted it",
        |cluster| {
            prepared(cluster);
            cluster.set = None;
        },
        "DeleteJournal",
    ),
    (
        "no set, Releasing: we let it go",
        |cluster| {
            releasing(cluster);
            cluster.set = None;
        },
        "Create",
    ),
    (
        "no set, Created: who created it deleted it",
        |cluster| {
            created(cluster);
            cluster.set = None;
        },
        "DeleteJournal",
    ),
    (
        "another set, Prepared",
        |cluster| {
            prepared(cluster);
            renew(cluster);
        },
        "DeleteJournal",
    ),
    (
        "another set, Releasing",
        |cluster| {
            releasing(cluster);
            renew(cluster);
        },
        "WriteJournal(Created)",
    ),
    (
        "another set is being deleted, and the ClaimRollout has no owner",
        |cluster| {
            releasing(cluster);
            renew(cluster);
            mark(cluster);
            delete(cluster);
            cluster.report = ReportOwner::Nobody;
        },
        "OwnReport",
    ),
    (
        "another set is being deleted",
        |cluster| {
            releasing(cluster);
            renew(cluster);
            mark(cluster);
            delete(cluster);
        },
        "DeleteJournal",
    ),
    (
        "the new set is being deleted, and the journal is deleted",
        |cluster| {
            renew(cluster);
            mark(cluster);
            delete(cluster);
        },
        "Unmark",
    ),
    (
        "the new set is being deleted with a change of its own",
        |cluster| {
            renew(cluster);
            stage(cluster, Phase::RollingOut);
            mark(cluster);
            delete(cluster);
        },
        "Unmark",
    ),
    (
        "the old set is being deleted, and somebody deleted the journal: it is not lost",
        |cluster| {
            mark(cluster);
            delete(cluster);
        },
        "WriteJournal(Prepared)",
    ),
    (
        "the old set is being deleted in foreground: the journal goes first",
        |cluster| {
            releasing(cluster);
            finalizers(cluster, &json!(["foregroundDeletion", FINALIZER]));
            delete(cluster);
        },
        "DeleteJournal",
    ),
    (
        "the old set is being deleted in foreground, and the ClaimRollout is to follow it",
        |cluster| {
            cluster.report = ReportOwner::Nobody;
            finalizers(cluster, &json!(["foregroundDeletion", FINALIZER]));
            delete(cluster);
        },
        "OwnReport",
    ),
    (
        "the old set is being deleted in foreground",
        |cluster| {
            finalizers(cluster, &json!(["foregroundDeletion", FINALIZER]));
            delete(cluster);
        },
        "Unmark",
    ),
    (
        "a user deletes the unmarked set: the ClaimRollout is to follow it",
        |cluster| {
            prepared(cluster);
            finalizers(cluster, &json!(["orphan"]));
            delete(cluster);
            cluster.report = ReportOwner::Nobody;
        },
        "OwnReport",
    ),
    (
        "a user deletes the unmarked set",
        |cluster| {
            prepared(cluster);
            finalizers(cluster, &json!(["orphan"]));
            delete(cluster);
        },
        "DeleteJournal",
    ),
    (
        "a user deletes the unmarked set, and there is no journal",
        |cluster| {
            finalizers(cluster, &json!(["orphan"]));
            delete(cluster);
        },
        "End",
    ),
    (
        "a marked set that nothing asks for",
        |cluster| {
            renew(cluster);
            mark(cluster);
        },
        "Unmark",
    ),
    (
        "an unmarked set that nothing asks for, with a journal",
        |cluster| {
            prepared(cluster);
            cluster.change(|set| set["metadata"]["annotations"][keys::PAUSED] = "true".into());
        },
        "DeleteJournal",
    ),
    (
        "a set that nothing asks for, and a ClaimRollout without an owner",
        |cluster| {
            renew(cluster);
            cluster.report = ReportOwner::Nobody;
        },
        "OwnReport",
    ),
    ("the old set, Releasing: as read", release_of_now, "LetGo"),
    (
        "the old set, Releasing: somebody wrote to it",
        |cluster| {
            release_of_now(cluster);
            cluster.change(|set| set["spec"]["replicas"] = 4.into());
        },
        "Read",
    ),
];

/// The journal has this version of the set.
fn release_of_now(cluster: &mut Cluster) {
    mark(cluster);
    delete(cluster);
    cluster.report = ReportOwner::Nobody;
    releasing(cluster);
}

#[test]
fn set_and_journal_decide_the_step() {
    for (row, change, expected) in ROWS {
        let mut cluster = web();
        change(&mut cluster);
        let process = Process::default();
        let mut world = world(&cluster, &process);
        let mut step = next(&world);
        for part in [Part::Namespace, Part::LastVersion] {
            if step == Step::Read(part) {
                fill(&cluster, &mut world, part);
                step = next(&world);
            }
        }
        assert_eq!(name(&step), *expected, "{row}: {step:?}");
    }
}

/// The namespace that has the name now, and the steps after the set was let go.
#[test]
fn set_is_created_only_in_its_namespace() {
    for (namespace, steps) in [
        ("ns-1", vec!["read Namespace", "read LastVersion", "Create"]),
        ("ns-2", vec!["read Namespace", "DeleteJournal"]),
        ("", vec!["read Namespace", "DeleteJournal"]),
    ] {
        let mut cluster = web();
        releasing(&mut cluster);
        (cluster.set, cluster.namespace) = (None, namespace);
        let run = run_alone(&mut cluster);
        assert_eq!(run.steps[..steps.len()], steps, "{namespace:?}: {:?}", run.steps);
        assert_eq!(cluster.set.is_some(), namespace == "ns-1", "{namespace:?}");
        assert!(cluster.journal.is_none(), "{namespace:?}");
    }
}

/// A namespace that is being deleted takes no new set: the journal goes.
#[test]
fn set_is_not_created_in_a_namespace_that_ends() {
    let mut cluster = web();
    releasing(&mut cluster);
    cluster.set = None;
    cluster.namespace_ends = true;
    let mut later = cluster.clone();
    assert_eq!(run_alone(&mut cluster).steps, ["read Namespace", "DeleteJournal"]);

    // It ends just before the CREATE.
    later.namespace_ends = false;
    later.answers.push(("Create", Answer::Denied, false));
    let run = run(&mut later, &mut Process::default(), |cluster, _, number| {
        cluster.namespace_ends = number == 1;
    });
    let expected = [
        "read Namespace",
        "read LastVersion",
        "Create!",
        "read Namespace",
        "DeleteJournal",
    ];
    assert_eq!(run.steps, expected);
}

/// A backup brings a journal back: nothing is created or scaled from it, whatever there is.
#[test]
fn journal_of_another_secret_is_refused() {
    let rows: [(&str, Change, &str); 7] = [
        ("absent", |cluster| cluster.set = None, "End"),
        (
            "scaled down since",
            |cluster| _ = cluster.change(|set| set["spec"]["replicas"] = 1.into()),
            "End",
        ),
        ("another set", renew, "End"),
        (
            "another set with fewer replicas",
            |cluster| {
                renew(cluster);
                cluster.change(|set| set["spec"]["replicas"] = 1.into());
            },
            "End",
        ),
        ("being replaced now", mark, "Wait"),
        (
            "being deleted now",
            |cluster| {
                mark(cluster);
                delete(cluster);
            },
            "Wait",
        ),
        ("deleted by a user", |cluster| delete(cluster), "End"),
    ];
    for stage in [releasing, created] {
        for (row, change, expected) in rows {
            for process in [Process::default(), Process::forced(), Process::taking_back()] {
                let mut cluster = web();
                stage(&mut cluster);
                cluster.secrets += 1;
                change(&mut cluster);
                let step = next(&world(&cluster, &process));
                assert_eq!(name(&step), expected, "{row}: {step:?}");
                assert!(format!("{step:?}").contains("JournalRefused"), "{row}: {step:?}");
            }
        }
    }
}

/// A journal that is out of date is written again before the set is marked: the new set gets what is desired now.
#[test]
fn journal_of_an_older_change_is_written_again() {
    let rows: [(&str, Change, bool); 4] = [
        ("nothing changed", |_| {}, false),
        (
            "a scale",
            |cluster| _ = cluster.change(|set| set["spec"]["replicas"] = 2.into()),
            false,
        ),
        ("another change", |cluster| stage(cluster, Phase::Complete), true),
        ("PVCs depend on the set now", Cluster::depend, true),
    ];
    for (row, change, is_written) in rows {
        let mut cluster = web();
        prepared(&mut cluster);
        change(&mut cluster);
        cluster.control();
        let run = run_alone(&mut cluster);
        let first = run
            .steps
            .iter()
            .find(|step| !step.starts_with("read"))
            .expect("a write");
        assert_eq!(first == "WriteJournal(Prepared)", is_written, "{row}: {:?}", run.steps);
        let size = if row == "another change" { "3Gi" } else { "2Gi" };
        let found = &cluster.live().templates()[0]["spec"]["resources"]["requests"]["storage"];
        assert_eq!(*found, size, "{row}");
    }
}
