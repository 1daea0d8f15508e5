//! The model beside what a real API server answered.

use super::{Part, Request, sequence};

/// Written by `RECORD=1 cargo test -p e2e-tests --test e2e model::`, from the answers of a real API server.
const TRANSCRIPT: &str = include_str!("transcript.txt");

#[test]
fn the_model_answers_as_a_real_api_server_did() {
    let parts = Part::read_all(TRANSCRIPT).expect("a transcript");
    let asked: usize = parts.iter().map(|part| part.lines.len()).sum();
    assert!(asked >= 2000, "only {asked} requests");
    for part in &parts {
        if let Some((number, ours)) = part.differs() {
            let line = &part.lines[number];
            panic!(
                "seed {}, request {number}:\n{line}\nbut the model: {}",
                part.seed,
                ours.join("; ")
            );
        }
    }
}

#[test]
fn a_transcript_reads_back_as_it_is_written() {
    let parts = Part::read_all(TRANSCRIPT).expect("a transcript");
    let again: String = parts.iter().map(Part::to_string).collect();
    let without_remarks = TRANSCRIPT.lines().filter(|line| !line.starts_with('#'));
    assert!(without_remarks.eq(again.lines()));
    let error = Part::read_all("seed 1 \"Away\"\n{\"Observe\"} => Done").expect_err("no request");
    assert_eq!(error.to_string(), "line 2: expected a request");
}

#[test]
fn a_seed_says_the_same_each_time_and_another_something_else() {
    assert_eq!(sequence(7), sequence(7));
    assert_ne!(sequence(7), sequence(8));
}

/// Every request there is comes up, and most of what is asked changes something.
#[test]
fn sequences_ask_everything() {
    let mut kinds = std::collections::BTreeSet::new();
    for seed in 0..60 {
        let (_, requests) = sequence(seed);
        kinds.extend(requests.iter().map(|request| {
            let text = format!("{request:?}");
            text.split('(').next().unwrap_or_default().to_owned()
        }));
        assert!(
            requests.iter().any(|request| matches!(request, Request::NewClaim(_))),
            "{seed}"
        );
    }
    assert_eq!(kinds.len(), 23, "{kinds:?}");
}
