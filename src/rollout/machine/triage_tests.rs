use super::{ListState, Namesake, Purpose, Triage, TriageFact, TriageTask, Volumes};
use crate::gate::Idle;

fn fails() -> Idle {
    Idle::Unlisted {
        what: "PVCs",
        why: "no".to_owned(),
    }
}

fn missing() -> Idle {
    Idle::PolicyMissing { unread: None }
}

fn decide(halted: Option<Idle>, reads_lists: bool) -> TriageTask {
    TriageTask::Decide { halted, reads_lists }
}

/// All facts of a rollout.
fn rolling_out() -> Triage {
    Triage {
        namesake: Some(Namesake::Absent),
        volumes: Some(Volumes::Mounted),
        is_reported: Some(true),
        rests: Some(false),
        was_settled: Some(false),
        purpose: Some(Purpose::RollOut),
        distrust: Some(None),
        lists: Some(ListState::Complete),
    }
}

/// Asks until there is a task, and returns the facts that were needed for it.
fn ask(all: &Triage) -> (Vec<TriageFact>, TriageTask) {
    let (mut known, mut found) = (Triage::default(), Vec::new());
    loop {
        let TriageTask::Find(fact) = known.next() else {
            return (found, known.next());
        };
        assert!(!found.contains(&fact), "{fact:?} is known");
        found.push(fact);
        match fact {
            TriageFact::Namesake => known.namesake = all.namesake,
            TriageFact::Volumes => known.volumes = all.volumes,
            TriageFact::IsReported => known.is_reported = all.is_reported,
            TriageFact::Rests => known.rests = all.rests,
            TriageFact::WasSettled => known.was_settled = all.was_settled,
            TriageFact::Purpose => known.purpose = all.purpose,
            TriageFact::Distrust => known.distrust.clone_from(&all.distrust),
            TriageFact::Lists => known.lists.clone_from(&all.lists),
        }
    }
}

/// One row: the facts that differ from those of a rollout, what is done, and the last fact that is needed for it.
type Row = (&'static str, fn(&mut Triage), TriageTask, TriageFact);

fn check(rows: &[Row]) {
    for (what, change, expected, last) in rows {
        let mut all = rolling_out();
        change(&mut all);
        let (found, task) = ask(&all);
        assert_eq!((&task, found.last()), (expected, Some(last)), "{what}");
    }
}

#[test]
fn set_without_work_rests() {
    check(&[
        (
            "a namesake",
            |t| t.namesake = Some(Namesake::Exists),
            TriageTask::LeaveToNamesake { only_event: false },
            TriageFact::Namesake,
        ),
        (
            "a namesake with the report",
            |t| t.namesake = Some(Namesake::Reported),
            TriageTask::LeaveToNamesake { only_event: true },
            TriageFact::Namesake,
        ),
        (
            "nothing to do",
            |t| t.rests = Some(true),
            TriageTask::Rest,
            TriageFact::Rests,
        ),
        (
            "reported by a previous controller",
            |t| t.was_settled = Some(true),
            TriageTask::Settle,
            TriageFact::WasSettled,
        ),
        (
            "nothing to do, and Pods lack volumes",
            |t| (t.rests, t.was_settled, t.volumes) = (Some(true), Some(true), Some(Volumes::Lacking)),
            decide(None, true),
            TriageFact::Lists,
        ),
    ]);
}

#[test]
fn lists_are_awaited_and_reported_if_they_fail() {
    check(&[
        (
            "the Pods are not listed",
            |t| t.volumes = Some(Volumes::Unread),
            TriageTask::AwaitLists,
            TriageFact::Lists,
        ),
        (
            "they are not, and nobody waits for it",
            |t| (t.volumes, t.is_reported) = (Some(Volumes::Unread), Some(false)),
            TriageTask::AwaitLists,
            TriageFact::IsReported,
        ),
        (
            "they cannot be listed",
            |t| {
                t.volumes = Some(Volumes::Unread);
                t.lists = Some(ListState::Failing {
                    why: fails(),
                    is_complete: false,
                });
            },
            decide(Some(fails()), false),
            TriageFact::Lists,
        ),
        (
            "a rollout, not listed",
            |t| t.lists = Some(ListState::Incomplete),
            TriageTask::AwaitLists,
            TriageFact::Lists,
        ),
        (
            "a rollout, cannot be listed any more",
            |t| {
                t.lists = Some(ListState::Failing {
                    why: fails(),
                    is_complete: true,
                });
            },
            decide(Some(fails()), true),
            TriageFact::Lists,
        ),
    ]);
}

#[test]
fn lists_are_read_only_if_a_decision_needs_them() {
    check(&[
        ("a rollout", |_| {}, decide(None, true), TriageFact::Lists),
        (
            "a count",
            |t| t.purpose = Some(Purpose::Count),
            decide(None, true),
            TriageFact::Lists,
        ),
        (
            "only a report",
            |t| t.purpose = Some(Purpose::Report),
            decide(None, false),
            TriageFact::Purpose,
        ),
        (
            "only a report, and Pods lack volumes",
            |t| (t.purpose, t.volumes) = (Some(Purpose::Report), Some(Volumes::Lacking)),
            decide(None, true),
            TriageFact::Lists,
        ),
        (
            "no policy",
            |t| t.distrust = Some(Some(missing())),
            decide(Some(missing()), false),
            TriageFact::Distrust,
        ),
        (
            "no policy, and Pods lack volumes",
            |t| (t.distrust, t.volumes) = (Some(Some(missing())), Some(Volumes::Lacking)),
            decide(Some(missing()), true),
            TriageFact::Lists,
        ),
        (
            "staged before the policy",
            |t| t.distrust = Some(Some(Idle::StagedBeforePolicy)),
            decide(Some(Idle::StagedBeforePolicy), true),
            TriageFact::Lists,
        ),
    ]);
}
