use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::LeaseSpec;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;

use tokio::time::Instant;

use super::{LeaseTurn, Term, held, released, turn};

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
fn lease_is_acquired_when_free_or_expired() {
    let other = || LeaseTurn::Wait {
        holder: "other".to_owned(),
    };
    for (why, holder, seconds, unchanged, expected) in [
        ("never held", None, None, 0, LeaseTurn::Take),
        ("released", Some(""), Some(1), 0, LeaseTurn::Take),
        ("seen for the first time", Some("other"), Some(15), 0, other()),
        ("not yet old enough", Some("other"), Some(15), 14, other()),
        ("not renewed in time", Some("other"), Some(15), 15, LeaseTurn::Take),
        ("its duration is longer", Some("other"), Some(60), 59, other()),
        ("it has no duration", Some("other"), None, 0, LeaseTurn::Take),
        ("its duration is negative", Some("other"), Some(-1), 0, LeaseTurn::Take),
        ("ours", Some("me"), Some(15), 0, LeaseTurn::Renew),
        (
            "ours, though long not renewed",
            Some("me"),
            Some(15),
            100,
            LeaseTurn::Renew,
        ),
    ] {
        let turn = turn(&lease(holder, seconds), "me", Duration::from_secs(unchanged));
        assert_eq!(turn, expected, "{why}");
    }
}

#[test]
fn times_in_the_lease_are_ignored() {
    // The clock of the holder is years ahead, or behind.
    for renewed in [0, 4_000_000_000] {
        let lease = LeaseSpec {
            renew_time: Some(at(renewed)),
            ..lease(Some("other"), Some(15))
        };
        assert_eq!(turn(&lease, "me", Duration::from_secs(15)), LeaseTurn::Take);
        assert_ne!(turn(&lease, "me", Duration::from_secs(14)), LeaseTurn::Take);
    }
}

#[test]
fn written_lease_has_holder_times_and_transitions() {
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
    assert_eq!(turn(&released(&first), "other", Duration::ZERO), LeaseTurn::Take);
}

#[test]
fn term_lasts_until_its_end_or_has_none() {
    let term = Term::default();
    assert!(term.lasts());
    // The clone of the client that writes.
    let seen = term.clone();
    let now = Instant::now();
    for (end, expected) in [(now + Duration::from_secs(60), true), (now, false)] {
        term.set(end);
        assert_eq!(seen.lasts(), expected, "{end:?} at {now:?}");
    }
}
