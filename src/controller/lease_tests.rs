use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::LeaseSpec;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;

use tokio::time::Instant;

use super::{Term, Turn, held, released, turn};

fn at(second: i64) -> MicroTime {
    MicroTime(Timestamp::from_second(second).unwrap())
}

fn lease(holder: Option<&str>, seconds: Option<i32>) -> LeaseSpec {
    LeaseSpec {
        holder_identity: holder.map(str::to_owned),
        lease_duration_seconds: seconds,
        acquire_time: Some(at(100)),
        renew_time: Some(at(200)),
        lease_transitions: Some(3),
        ..LeaseSpec::default()
    }
}

#[test]
fn a_lease_is_taken_when_it_is_nobodys_or_has_not_changed_for_as_long_as_it_says() {
    let other = || Turn::Wait {
        holder: "other".to_owned(),
    };
    for (why, holder, seconds, unchanged, expected) in [
        ("nobody ever held it", None, None, 0, Turn::Take),
        ("it was given back", Some(""), Some(1), 0, Turn::Take),
        ("seen for the first time", Some("other"), Some(15), 0, other()),
        ("not yet old enough", Some("other"), Some(15), 14, other()),
        ("not renewed in time", Some("other"), Some(15), 15, Turn::Take),
        ("its holder says for how long", Some("other"), Some(60), 59, other()),
        ("its holder does not say", Some("other"), None, 0, Turn::Take),
        (
            "its holder says what makes no sense",
            Some("other"),
            Some(-1),
            0,
            Turn::Take,
        ),
        ("ours", Some("me"), Some(15), 0, Turn::Renew),
        ("ours, though long not renewed", Some("me"), Some(15), 100, Turn::Renew),
    ] {
        let turn = turn(&lease(holder, seconds), "me", Duration::from_secs(unchanged));
        assert_eq!(turn, expected, "{why}");
    }
}

#[test]
fn the_times_in_a_lease_are_not_judged_by() {
    // Written by somebody whose clock is years ahead, or behind.
    for renewed in [0, 4_000_000_000] {
        let lease = LeaseSpec {
            renew_time: Some(at(renewed)),
            ..lease(Some("other"), Some(15))
        };
        assert_eq!(turn(&lease, "me", Duration::from_secs(15)), Turn::Take);
        assert_ne!(turn(&lease, "me", Duration::from_secs(14)), Turn::Take);
    }
}

#[test]
fn what_is_written_says_who_holds_it_since_when_and_how_often_it_changed_hands() {
    let first = held(None, "me", &at(500));
    let expected = LeaseSpec {
        holder_identity: Some("me".to_owned()),
        lease_duration_seconds: Some(15),
        acquire_time: Some(at(500)),
        renew_time: Some(at(500)),
        lease_transitions: Some(0),
        ..LeaseSpec::default()
    };
    assert_eq!(first, expected);

    let renewed = held(Some(&first), "me", &at(502));
    let expected = LeaseSpec {
        renew_time: Some(at(502)),
        ..first.clone()
    };
    assert_eq!(renewed, expected);

    let taken = held(Some(&first), "other", &at(600));
    let expected = LeaseSpec {
        holder_identity: Some("other".to_owned()),
        acquire_time: Some(at(600)),
        renew_time: Some(at(600)),
        lease_transitions: Some(1),
        ..first.clone()
    };
    assert_eq!(taken, expected);
    assert_eq!(turn(&released(&first), "other", Duration::ZERO), Turn::Take);
}

#[test]
fn a_term_lasts_until_its_end_and_for_ever_where_there_is_no_election() {
    let term = Term::default();
    assert!(term.lasts());
    // As whoever writes sees it, which is somebody else than who renews.
    let seen = term.clone();
    let now = Instant::now();
    for (end, expected) in [(now + Duration::from_secs(60), true), (now, false)] {
        term.set(end);
        assert_eq!(seen.lasts(), expected, "{end:?} at {now:?}");
    }
}
