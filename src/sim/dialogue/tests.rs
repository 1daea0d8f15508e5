//! The model and the answers of a real API server.

use super::{ModelRequest, TranscriptPart, sequence};

/// Written by `RECORD=1 cargo test -p e2e-tests --test e2e model::`, from the answers of a real API server.
const TRANSCRIPT: &str = include_str!("transcript.txt");

#[test]
fn model_gives_recorded_answers() {
    let parts = TranscriptPart::read_all(TRANSCRIPT).expect("a transcript");
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
fn transcript_round_trips() {
    let parts = TranscriptPart::read_all(TRANSCRIPT).expect("a transcript");
    let again: String = parts.iter().map(TranscriptPart::to_string).collect();
    let without_remarks = TRANSCRIPT.lines().filter(|line| !line.starts_with('#'));
    assert!(without_remarks.eq(again.lines()));
    let error = TranscriptPart::read_all("seed 1 \"Absent\"\n{\"Observe\"} => Done").expect_err("no request");
    assert_eq!(error.to_string(), "line 2: expected a request");
}

#[test]
fn seed_determines_sequence() {
    assert_eq!(sequence(7), sequence(7));
    assert_ne!(sequence(7), sequence(8));
}

/// Every kind of request occurs.
#[test]
fn sequences_contain_every_request() {
    let mut kinds = std::collections::BTreeSet::new();
    for seed in 0..60 {
        let (_, requests) = sequence(seed);
        kinds.extend(requests.iter().map(|request| {
            let text = format!("{request:?}");
            text.split('(').next().unwrap_or_default().to_owned()
        }));
        assert!(
            requests
                .iter()
                .any(|request| matches!(request, ModelRequest::NewClaim(_))),
            "{seed}"
        );
    }
    assert_eq!(kinds.len(), 23, "{kinds:?}");
}
