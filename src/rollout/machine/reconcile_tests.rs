use super::{
    COLLECT, MAX_ROUNDS, MOST_QUESTIONS, Machine, PlanFacts, ReconcileEnd, ReportFailure, ReportWrite, RolloutTask,
    RoundOutcome, SetMemory,
};
use crate::rollout::machine::fixtures::TestMemory;
use crate::rollout::machine::{Retry, WrittenObject};

type Tested = Machine<&'static str>;

/// What comes of a task.
#[derive(Clone, Copy, Debug)]
enum Reaction {
    Decided(PlanFacts),
    Answered(Result<RoundOutcome, &'static str>),
    Reported(Result<ReportWrite, ReportFailure<&'static str>>),
    Read(bool),
}

use Reaction::{Answered, Decided, Read, Reported};

const DONE: Reaction = Answered(Ok(RoundOutcome::Nothing));
const AGAIN: Reaction = Answered(Ok(RoundOutcome::DecideAgain));
const OVERTAKEN: Reaction = Answered(Ok(RoundOutcome::Overtaken));
const FAILED: Reaction = Answered(Err("write"));
const REPORTED: Reaction = Reported(Ok(ReportWrite::Something));
const NOT_REPORTED: Reaction = Reported(Err(ReportFailure {
    error: "report",
    is_of_history: false,
}));

const fn plan(actions: usize) -> PlanFacts {
    PlanFacts {
        actions,
        begins: false,
        ends: false,
        settled: false,
        asks_quotas: false,
        asks: false,
        inquires: false,
        requeue_after: Some(300),
    }
}

const BEGINS: PlanFacts = PlanFacts {
    begins: true,
    ..plan(1)
};
const ENDS: PlanFacts = PlanFacts { ends: true, ..plan(1) };
const SETTLED: PlanFacts = PlanFacts {
    settled: true,
    requeue_after: None,
    ..plan(0)
};

/// Runs a reconcile with these reactions. Returns the tasks, and how it ended.
fn run(memory: &mut TestMemory, reactions: &[Reaction]) -> (String, Option<ReconcileEnd<&'static str>>) {
    let mut machine = Tested::default();
    let mut tasks = Vec::new();
    let mut reactions = reactions.iter().copied();
    loop {
        let task = machine.next(memory, 1000, false);
        let name = match task {
            RolloutTask::End(end) => return (tasks.join(" "), Some(end)),
            RolloutTask::Write(place) => format!("write{place}"),
            other => format!("{other:?}").to_lowercase(),
        };
        tasks.push(name);
        match (task, reactions.next()) {
            (RolloutTask::Decide | RolloutTask::ReadQuotas | RolloutTask::Ask, Some(Decided(facts))) => {
                machine.decided(facts);
            }
            (RolloutTask::Write(_), Some(Answered(outcome))) => machine.answered(outcome),
            (RolloutTask::Report, Some(Reported(written))) => machine.reported(memory, written),
            (RolloutTask::ReadEvents, Some(Read(is_new))) => machine.read_events(is_new),
            (_, None) => return (tasks.join(" "), None),
            (task, Some(reaction)) => panic!("{reaction:?} is no reaction to {task:?}"),
        }
    }
}

/// Why, the reactions, the tasks, and the end.
type Row = (
    &'static str,
    &'static [Reaction],
    &'static str,
    Option<ReconcileEnd<&'static str>>,
);

const RESTS: Option<ReconcileEnd<&str>> = Some(ReconcileEnd::Rests {
    settles: false,
    requeue: Some(300),
});

const ROWS: &[Row] = &[
    (
        "nothing is to be written",
        &[Decided(plan(0)), Read(false), REPORTED],
        "decide readevents report",
        RESTS,
    ),
    (
        "a write changes what is decided",
        &[Decided(plan(2)), AGAIN, DONE, Decided(plan(0)), Read(false), REPORTED],
        "decide write0 write1 decide readevents report",
        RESTS,
    ),
    (
        "the report of a new target comes first, once, and need not succeed",
        &[
            Decided(BEGINS),
            NOT_REPORTED,
            AGAIN,
            Decided(BEGINS),
            AGAIN,
            Decided(plan(0)),
        ],
        "decide report write0 decide write0 decide readevents",
        None,
    ),
    (
        "a failed write stops no other, and is reported",
        &[Decided(plan(2)), FAILED, AGAIN, REPORTED],
        "decide write0 write1 report",
        Some(ReconcileEnd::Failed("write")),
    ),
    (
        "the report of a failed write fails, too",
        &[Decided(plan(1)), FAILED, NOT_REPORTED],
        "decide write0 report",
        Some(ReconcileEnd::Failed("report")),
    ),
    (
        "one write is overtaken",
        &[Decided(plan(2)), OVERTAKEN, AGAIN],
        "decide write0 write1",
        Some(ReconcileEnd::Overtaken),
    ),
    (
        "the completion is written",
        &[Decided(ENDS), DONE],
        "decide write0",
        Some(ReconcileEnd::Complete),
    ),
    (
        "the write of the completion was undone",
        &[Decided(ENDS), AGAIN],
        "decide write0 decide",
        None,
    ),
    (
        "an Event is new",
        &[Decided(plan(0)), Read(true), Decided(plan(0)), Read(false), REPORTED],
        "decide readevents decide readevents report",
        RESTS,
    ),
    (
        "nothing is left to do",
        &[Decided(SETTLED), Read(false), REPORTED],
        "decide readevents report",
        Some(ReconcileEnd::Rests {
            settles: true,
            requeue: None,
        }),
    ),
    (
        "the report is written later",
        &[Decided(SETTLED), Read(false), Reported(Ok(ReportWrite::Later))],
        "decide readevents report",
        Some(ReconcileEnd::Rests {
            settles: false,
            requeue: Some(COLLECT),
        }),
    ),
    (
        "the report is not written",
        &[Decided(SETTLED), Read(false), NOT_REPORTED],
        "decide readevents report",
        Some(ReconcileEnd::Failed("report")),
    ),
];

#[test]
fn reconcile_has_this_order_and_this_end() {
    for (why, reactions, tasks, end) in ROWS {
        let found = run(&mut SetMemory::default(), reactions);
        assert_eq!(found, ((*tasks).to_owned(), *end), "{why}");
    }
}

#[test]
fn quotas_are_read_once_and_questions_have_a_limit() {
    let asks = PlanFacts {
        asks_quotas: true,
        asks: true,
        ..plan(1)
    };
    let mut reactions = vec![Decided(asks); 2 + usize::from(MOST_QUESTIONS)];
    reactions.push(AGAIN);
    let (tasks, _) = run(&mut SetMemory::default(), &reactions);
    let expected = format!(
        "decide readquotas {}write0 decide",
        "ask ".repeat(MOST_QUESTIONS.into())
    );
    assert_eq!(tasks, expected);
}

#[test]
fn rounds_end_after_their_limit() {
    let reactions = [Decided(plan(1)), AGAIN].repeat(MAX_ROUNDS.into());
    let (tasks, end) = run(&mut SetMemory::default(), &reactions);
    assert_eq!(tasks.split(' ').count(), 2 * usize::from(MAX_ROUNDS));
    assert_eq!(end, Some(ReconcileEnd::Unfinished));
}

#[test]
fn process_that_stops_begins_no_write() {
    let memory = TestMemory::default();
    let mut machine = Tested::default();
    assert_eq!(machine.next(&memory, 1000, true), RolloutTask::Decide);
    machine.decided(plan(2));
    assert_eq!(machine.next(&memory, 1000, false), RolloutTask::Write(0));
    machine.answered(Ok(RoundOutcome::DecideAgain));
    assert_eq!(
        machine.next(&memory, 1000, true),
        RolloutTask::End(ReconcileEnd::Overtaken)
    );
    let mut machine = Tested::default();
    machine.decided(plan(1));
    machine.answered(Ok(RoundOutcome::DecideAgain));
    assert_eq!(machine.next(&memory, 1000, false), RolloutTask::Decide);
    assert_eq!(
        machine.next(&memory, 1000, true),
        RolloutTask::End(ReconcileEnd::Stopped)
    );
}

#[test]
fn write_overtaken_for_seconds_is_reported() {
    for (since, expected) in [(998, "decide write0"), (997, "decide write0 report")] {
        let mut memory = TestMemory::default();
        assert!(!memory.is_stuck(&WrittenObject::Set, &"a write".to_owned(), since));
        let (tasks, end) = run(&mut memory, &[Decided(plan(1)), OVERTAKEN, REPORTED]);
        assert_eq!((&*tasks, end), (expected, Some(ReconcileEnd::Overtaken)), "{since}");
    }
}

/// A target that is not in the history yet: the reconcile that writes it comes soon, and the memory keeps that.
#[test]
fn set_is_not_settled_before_its_history() {
    let mut memory = TestMemory {
        unkept: 1,
        ..TestMemory::default()
    };
    let (_, end) = run(&mut memory, &[Decided(SETTLED), Read(false), REPORTED]);
    let expected = ReconcileEnd::Rests {
        settles: false,
        requeue: Some(30),
    };
    assert_eq!(end, Some(expected));
}

#[test]
fn request_to_try_again_is_answered_by_a_report() {
    let of_history = Reported(Err(ReportFailure {
        error: "history",
        is_of_history: true,
    }));
    let later = Reported(Ok(ReportWrite::Later));
    for (why, reactions, expected) in [
        (
            "reported",
            vec![Decided(plan(0)), Read(false), REPORTED],
            Retry::Reported,
        ),
        ("only later", vec![Decided(plan(0)), Read(false), later], Retry::Begun),
        (
            "not reported",
            vec![Decided(plan(0)), Read(false), NOT_REPORTED],
            Retry::Begun,
        ),
        (
            "but for the history",
            vec![Decided(plan(0)), Read(false), of_history],
            Retry::Reported,
        ),
        ("a failure", vec![Decided(plan(1)), FAILED, later], Retry::Reported),
        (
            "a failure that is not",
            vec![Decided(plan(1)), FAILED, NOT_REPORTED],
            Retry::Begun,
        ),
        ("a new target", vec![Decided(BEGINS), REPORTED], Retry::Begun),
        ("overtaken", vec![Decided(plan(1)), OVERTAKEN, REPORTED], Retry::Begun),
    ] {
        let mut memory = TestMemory::default();
        memory.is_stuck(&WrittenObject::Set, &"a write".to_owned(), 0);
        memory.retry_if_new(Some(1));
        run(&mut memory, &reactions);
        assert_eq!(memory.retry, expected, "{why}");
    }
}

#[test]
fn slow_claims_and_late_reports_shorten_the_requeue() {
    let facts = PlanFacts {
        inquires: true,
        ..plan(0)
    };
    for (written, expected) in [
        (ReportWrite::Nothing, 30),
        (ReportWrite::Something, 30),
        (ReportWrite::Later, COLLECT),
    ] {
        assert_eq!(facts.requeue(written, None), Some(expected), "{written:?}");
    }
    assert_eq!(plan(0).requeue(ReportWrite::Nothing, Some(7)), Some(7));
    assert_eq!(SETTLED.requeue(ReportWrite::Something, None), None);
}

/// The facts come from the plan itself.
#[test]
fn facts_are_those_of_the_plan() {
    use crate::rollout::fixtures::web;
    let mut new = web();
    new.previous = None;
    let facts = |snapshot: &_| PlanFacts::of(&crate::rollout::plan(snapshot));
    assert!(facts(&new).begins && !facts(&web()).begins);
    let mut done = web();
    for name in ["data-web-0", "data-web-1", "data-web-2"] {
        done.done(name);
    }
    assert!(facts(&done).ends && !facts(&web()).ends);
    let mut moving = web();
    moving.applied("data-web-2");
    assert!(facts(&moving).inquires && !facts(&web()).inquires);
    assert_eq!(facts(&web()).actions, crate::rollout::plan(&web()).actions.len());
}
