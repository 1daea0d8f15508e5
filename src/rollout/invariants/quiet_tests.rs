//! S12 and S13: the number of writes, retries and Events.

use super::Rule::{S12, S13};
use super::fixtures::rules;
use super::{
    Attempt, EmittedEvent, Rule, Tally, s12_knows_replies, s12_reads_nothing, s12_writes, s13_awaits_answers,
    s13_backs_off, s13_repeats_failures, s13_reports_once,
};

#[test]
fn one_write_too_many_breaks_s12() {
    let most = Tally {
        claims: 3,
        replicas: 3,
        claim_writes: 3,
        ready_writes: 3,
        staged_change_writes: 1,
        report_writes: 24,
    };
    assert_eq!(s12_writes(&most), Ok(()));
    let more: [fn(&mut Tally); 4] = [
        |it| it.claim_writes += 1,
        |it| it.ready_writes += 1,
        |it| it.staged_change_writes += 1,
        |it| it.report_writes += 1,
    ];
    for change in more {
        let mut tally = most;
        change(&mut tally);
        assert_eq!(rules([s12_writes(&tally)]), [S12], "{tally:?}");
    }
}

#[test]
fn read_of_settled_set_breaks_s12() {
    for (settled, expected) in [(None, &[][..]), (Some(1), &[]), (Some(2), &[S12])] {
        assert_eq!(rules([s12_reads_nothing(settled, 2)]), expected, "{settled:?}");
    }
}

/// The times of attempts, and whether the last one is too early.
const PAUSES: [(&[u64], &[Rule]); 10] = [
    (&[5], &[]),
    (&[5, 5], &[S13]),
    (&[5, 6], &[]),
    (&[5, 6, 7], &[S13]),
    (&[5, 6, 8], &[]),
    (&[5, 6, 8, 11], &[S13]),
    (&[5, 6, 8, 12], &[]),
    (&[0, 1, 3, 7, 15, 31, 63, 127, 255, 511, 810], &[S13]),
    (&[0, 1, 3, 7, 15, 31, 63, 127, 255, 511, 811], &[]),
    (&[0, 1, 3, 7, 15, 31, 63, 127, 255, 511, 811, 1110], &[S13]),
];

fn attempts(times: &[u64]) -> Vec<Attempt> {
    let attempt = |at: &u64| Attempt {
        at: *at,
        claim: 10,
        version: 1010,
        revision: 7,
    };
    times.iter().map(attempt).collect()
}

#[test]
fn attempt_before_the_doubled_pause_breaks_s13() {
    for (times, expected) in PAUSES {
        assert_eq!(rules([s13_backs_off(&attempts(times))]), expected, "{times:?}");
    }
}

#[test]
fn broken_s13_shows_the_numbers() {
    let broken = s13_backs_off(&attempts(&[5, 6, 6])).map_err(|broken| broken.to_string());
    assert_eq!(broken, Err("S13: attempt 3 came after 0 s, expected 2 s".to_owned()));
}

#[test]
fn attempts_of_different_applies_need_no_pause() {
    let others: [fn(&mut Attempt); 3] = [|it| it.claim = 11, |it| it.revision = 8, |it| it.version = 1011];
    for change in others {
        let mut attempts = attempts(&[5, 5]);
        change(&mut attempts[1]);
        assert_eq!(s13_backs_off(&attempts), Ok(()), "{attempts:?}");
    }
}

/// Events, each a claim and a cause, in the order of time, and whether one was emitted twice.
const EVENTS: [(&str, &[Rule]); 5] = [
    ("10:1 10:1", &[S13]),
    ("10:1 10:2 10:1", &[]),
    ("10:1 11:1", &[]),
    ("10:1 11:1 10:1", &[S13]),
    ("", &[]),
];

fn events(text: &str) -> Vec<EmittedEvent> {
    let pairs = text.split_whitespace().filter_map(|pair| pair.split_once(':'));
    let number = |text: &str| text.parse().expect("a number");
    let events = pairs.map(|(claim, cause)| (number(claim), number(cause)));
    events.map(|(claim, cause)| EmittedEvent { claim, cause }).collect()
}

#[test]
fn event_emitted_twice_breaks_s13() {
    for (text, expected) in EVENTS {
        assert_eq!(rules([s13_reports_once(&events(text))]), expected, "{text}");
    }
}

#[test]
fn denial_before_a_minute_without_answer_breaks_s13() {
    for (unanswered, expected) in [(0, &[S13][..]), (5, &[S13]), (6, &[]), (u8::MAX, &[])] {
        assert_eq!(rules([s13_awaits_answers(unanswered)]), expected, "{unanswered}");
    }
}

#[test]
fn write_for_a_version_before_the_reply_breaks_s12() {
    for (replied, expected) in [(None, &[][..]), (Some(6), &[]), (Some(7), &[]), (Some(8), &[S12])] {
        assert_eq!(rules([s12_knows_replies(7, replied)]), expected, "{replied:?}");
    }
}

#[test]
fn other_pause_after_failures_than_the_doubled_one_breaks_s13() {
    for (in_a_row, pause) in [(1, 1), (2, 2), (3, 4), (6, 32), (7, 60), (200, 60)] {
        assert_eq!(s13_repeats_failures(in_a_row, pause), Ok(()), "{in_a_row}");
        for other in [pause - 1, pause + 1] {
            assert_eq!(
                rules([s13_repeats_failures(in_a_row, other)]),
                [S13],
                "{in_a_row}: {other}"
            );
        }
    }
}
