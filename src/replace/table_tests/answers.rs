//! Every write gets every answer, from our policy, the webhook of somebody else, a proxy or the API server: nothing is
//! lost, and nothing stays away in silence.

use super::cluster::Answer;
use super::process::{Process, run};
use super::{End, Ended, run_alone, run_to_end, state, web};
use crate::api::ReplacementReason as Reason;

/// What is answered, and whether the write is done nevertheless. Which code is which answer is tested where it is read.
const ANSWERS: [(Answer, bool); 6] = [
    (Answer::Conflict, false),
    (Answer::NotFound, false),
    (Answer::Denied, false),
    (Answer::Invalid, false),
    (Answer::Unsure, false),
    (Answer::Unsure, true),
];

/// The names of the writes of a replacement without disturbances, each once.
fn names() -> Vec<String> {
    let mut names = run_alone(&mut web()).steps;
    names.retain(|name| !name.starts_with("read") && name != "Wait");
    names
}

#[test]
fn any_answer_to_any_write_loses_nothing() {
    for name in names() {
        let name: &'static str = name.leak();
        for (answer, is_done) in ANSWERS {
            for times in [1, 2, 3] {
                let mut cluster = web();
                cluster.answers = vec![(name, answer, is_done); times];
                let (steps, ended) = run_to_end(&mut cluster, |_, _, _| {});
                let row = format!("{name} gets {answer:?}, done {is_done}, {times} times: {steps:?}");
                assert_eq!(ended, Ended::End(End::Nothing), "{row}");
                assert_eq!(state(&cluster), "replaced", "{row}");
            }
        }
    }
}

/// The code of a change is believed once. After that, it is the denial of somebody.
#[test]
fn create_that_is_not_done_is_tried_again() {
    for (answer, is_done) in ANSWERS.into_iter().filter(|(_, is_done)| !is_done) {
        for crash in [None, Some(12), Some(14)] {
            let mut cluster = web();
            cluster.answers = vec![("Create", answer, is_done); 6];
            let mut absent = 0;
            let run = run(&mut cluster, &mut Process::default(), |cluster, process, number| {
                absent += u32::from(cluster.set.is_none());
                assert!(cluster.set.is_some() || cluster.journal.is_some(), "the set is lost");
                if crash == Some(number) {
                    *process = Process::default();
                }
            });
            let row = format!("{answer:?}, crash {crash:?}: {:?}", run.steps);
            assert!(absent >= 6, "{absent}: {row}");
            assert_eq!(run.ended, Ended::End(End::Nothing), "{row}");
            assert_eq!(state(&cluster), "replaced", "{row}");
            let reported = run.stalled.iter().any(|fault| fault.reason == Reason::StepDenied);
            assert!(reported, "{row}");
            // Each attempt is made for the namespace as it is then.
            let created: Vec<usize> = (0..run.steps.len())
                .filter(|at| run.steps[*at].starts_with("Create"))
                .collect();
            for pair in created.windows(2) {
                let between = &run.steps[pair[0]..pair[1]];
                assert!(between.iter().any(|step| step == "read Namespace"), "{row}");
            }
        }
    }
}
