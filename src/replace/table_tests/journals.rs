//! Every combination of a set and a journal: one step.

use super::cluster::{Answer, web};
use super::process::{Process, fill, run, world};
use super::run_alone;
use super::words::act;
use super::words::name;
use crate::replace::next;
use crate::replace::step::{Part, Step};
use crate::rollout::fixtures::rows;

/// What there is, and the step.
const ROWS: &str = "
    no set, no journal                         | no set                                  | End
    no set, Prepared: a user deleted it        | Prepared; no set                        | DeleteJournal
    no set, Releasing: we let it go            | Releasing; no set                       | Create
    no set, Created: who created it deleted it | Created; no set                         | DeleteJournal
    another set, Prepared                      | Prepared; another set                   | DeleteJournal
    another set, Releasing                     | Releasing; another set                  | WriteJournal(Created)
    another set is being deleted, and the ClaimRollout has no owner \
        | Releasing; another set; marked; deleted; disowned | OwnReport
    another set is being deleted               | Releasing; another set; marked; deleted | DeleteJournal
    the new set is being deleted, and the journal is deleted | another set; marked; deleted | Unmark
    the new set is being deleted with a change of its own | another set; staged; marked; deleted | Unmark
    the old set is being deleted, and somebody deleted the journal: it is not lost | marked; deleted \
        | WriteJournal(Prepared)
    the old set is being deleted in foreground: the journal goes first | Releasing; in foreground; deleted \
        | DeleteJournal
    the old set is being deleted in foreground, and the ClaimRollout is to follow it \
        | disowned; in foreground; deleted | OwnReport
    the old set is being deleted in foreground | in foreground; deleted                  | Unmark
    a user deletes the unmarked set: the ClaimRollout is to follow it | Prepared; orphaning; deleted; disowned \
        | OwnReport
    a user deletes the unmarked set            | Prepared; orphaning; deleted            | DeleteJournal
    a user deletes the unmarked set, and there is no journal | orphaning; deleted | End
    a marked set that nothing asks for         | another set; marked                     | Unmark
    an unmarked set that nothing asks for, with a journal | Prepared; paused | DeleteJournal
    a set that nothing asks for, and a ClaimRollout without an owner | another set; disowned | OwnReport
    // The journal has this version of the set.
    the old set, Releasing: as read            | marked; deleted; disowned; Releasing    | LetGo
    the old set, Releasing: somebody wrote to it | marked; deleted; disowned; Releasing; /spec/replicas 4 | Read
";

#[test]
fn set_and_journal_decide_the_step() {
    for [row, change, expected] in rows(ROWS) {
        let mut cluster = web();
        act(&mut cluster, change);
        let process = Process::default();
        let mut world = world(&cluster, &process);
        let mut step = next(&world);
        for part in [Part::Namespace, Part::LastVersion] {
            if step == Step::Read(part) {
                fill(&cluster, &mut world, part);
                step = next(&world);
            }
        }
        assert_eq!(name(&step), expected, "{row}: {step:?}");
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
        act(&mut cluster, "Releasing");
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
    act(&mut cluster, "Releasing");
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
    let rows = [
        ("absent", "no set", "End"),
        ("scaled down since", "/spec/replicas 1", "End"),
        ("another set", "another set", "End"),
        (
            "another set with fewer replicas",
            "another set; /spec/replicas 1",
            "End",
        ),
        ("being replaced now", "marked", "Wait"),
        ("being deleted now", "marked; deleted", "Wait"),
        ("deleted by a user", "deleted", "End"),
    ];
    for stage in ["Releasing", "Created"] {
        for (row, change, expected) in rows {
            for process in [Process::default(), Process::forced(), Process::taking_back()] {
                let mut cluster = web();
                act(&mut cluster, stage);
                cluster.secrets += 1;
                act(&mut cluster, change);
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
    for (row, change, is_written) in [
        ("nothing changed", "", false),
        ("a scale", "/spec/replicas 2", false),
        ("another change", "staged and complete", true),
        ("PVCs depend on the set now", "depends", true),
    ] {
        let mut cluster = web();
        act(&mut cluster, "Prepared");
        act(&mut cluster, change);
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
