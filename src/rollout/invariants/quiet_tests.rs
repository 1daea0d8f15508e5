//! How often something is written (S12), tried again and told (S13).

use super::Rule::{S12, S13};
use super::fixtures::rules;
use super::{Attempt, Rule, Tally, Told, s12_writes, s13_backs_off, s13_says_once};

#[test]
fn s12_is_broken_by_one_write_more_than_it_takes() {
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

/// The times of attempts, and whether the last one comes too early.
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
fn s13_is_broken_by_an_attempt_before_the_pause_has_doubled() {
    for (times, expected) in PAUSES {
        assert_eq!(rules([s13_backs_off(&attempts(times))]), expected, "{times:?}");
    }
}

#[test]
fn what_is_broken_is_said_in_numbers() {
    let broken = s13_backs_off(&attempts(&[5, 6, 6])).map_err(|broken| broken.to_string());
    assert_eq!(broken, Err("S13: attempt 3 came after 0 s, expected 2 s".to_owned()));
}

#[test]
fn s13_asks_for_no_pause_between_different_things() {
    let others: [fn(&mut Attempt); 3] = [|it| it.claim = 11, |it| it.revision = 8, |it| it.version = 1011];
    for change in others {
        let mut attempts = attempts(&[5, 5]);
        change(&mut attempts[1]);
        assert_eq!(s13_backs_off(&attempts), Ok(()), "{attempts:?}");
    }
}

/// What was told, each a claim and a cause in the order of time, and whether one was told twice.
const TOLD: [(&str, &[Rule]); 5] = [
    ("10:1 10:1", &[S13]),
    ("10:1 10:2 10:1", &[]),
    ("10:1 11:1", &[]),
    ("10:1 11:1 10:1", &[S13]),
    ("", &[]),
];

fn events(text: &str) -> Vec<Told> {
    let pairs = text.split_whitespace().filter_map(|pair| pair.split_once(':'));
    let number = |text: &str| text.parse().expect("a number");
    let events = pairs.map(|(claim, cause)| (number(claim), number(cause)));
    events.map(|(claim, cause)| Told { claim, cause }).collect()
}

#[test]
fn s13_is_broken_by_what_is_told_twice() {
    for (text, expected) in TOLD {
        assert_eq!(rules([s13_says_once(&events(text))]), expected, "{text}");
    }
}
