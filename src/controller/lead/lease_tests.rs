use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::LeaseSpec;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use kube::Client;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::{Candidate, DURATION, Election, LeaseTurn, Lost, MARGIN, Term, end_of_term, held, released, turn};
use crate::controller::fixtures::{recording, serving};
use crate::controller::locking::lock;

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

#[test]
fn writes_end_a_second_before_another_may_lead() {
    let (renewed, spec) = (Instant::now(), held(None, "me", &at(500)));
    // Another candidate sees the renewal when it was written, at the earliest.
    let waits = |seconds| turn(&spec, "other", Duration::from_secs(seconds)) != LeaseTurn::Take;
    let taken = (0..60).find(|seconds| !waits(*seconds)).unwrap();
    let end = end_of_term(renewed) - renewed;
    assert_eq!(end + MARGIN, Duration::from_secs(taken));
    assert_eq!(MARGIN, Duration::from_secs(1));
    let lost = Lost::not_renewed(renewed, "no response in time");
    assert_eq!(lost.why, "failed to renew the Lease for 10s: no response in time");
    assert_eq!(lost.end - renewed, end);
}

/// The Lease with this holder.
fn stored(holder: &str) -> Value {
    let spec = json!({"holderIdentity": holder, "leaseDurationSeconds": 15});
    json!({"metadata": {"name": super::NAME, "resourceVersion": "1"}, "spec": spec})
}

fn failure(code: u16) -> (u16, Value) {
    let status = json!({"kind": "Status", "code": code, "reason": "", "message": "", "status": "Failure"});
    (code, status)
}

fn election() -> Election {
    Election {
        namespace: "default".to_owned(),
        identity: "me".to_owned(),
    }
}

/// When each write arrived, and the end of the term then.
type Arrivals = Arc<Mutex<Vec<(Instant, Option<Instant>)>>>;

/// An API server that stores the Lease twice. Then another controller holds it.
fn taken_away(term: &Term) -> (Client, Arrivals) {
    let (term, arrivals) = (term.clone(), Arrivals::default());
    let noted = Arc::clone(&arrivals);
    let client = serving(move |request| {
        let (is_read, mut writes) = (request.method == "GET", lock(&noted));
        let before = writes.len();
        if !is_read {
            writes.push((Instant::now(), *lock(&term.0)));
        }
        Some(match (is_read, before) {
            (true, 0) => failure(404),
            (true, _) => (200, stored("other")),
            (false, 0) => (201, stored("me")),
            (false, 1) => (200, stored("me")),
            (false, _) => failure(409),
        })
    });
    (client, arrivals)
}

/// However slow the machine is, each term is no longer than this, and ends with the Lease.
#[tokio::test]
async fn lost_lease_ends_the_term_at_once() {
    let term = Term::default();
    let (client, arrivals) = taken_away(&term);
    let mut candidate = Candidate::new(client, election(), || 1000, term.clone());
    candidate.until_it_leads(|| {}).await;
    let lost = candidate.until_lost().await;
    let arrivals = lock(&arrivals).clone();
    let ends: Vec<_> = arrivals.iter().map(|(_, end)| *end).collect();
    let [None, Some(first), Some(second)] = ends[..] else {
        panic!("{arrivals:?}")
    };
    for ((written, _), end) in arrivals.iter().zip([first, second]) {
        assert!(end <= *written + DURATION - MARGIN, "{arrivals:?}");
    }
    assert_eq!(lost.why, "other holds the Lease");
    assert!(!term.lasts());
    assert!(lost.end <= Instant::now());
}

/// Another controller may lead by now.
#[tokio::test]
async fn lease_is_released_only_by_its_holder() {
    // The second number is how many writes meet a renewal that was on its way.
    let table = [
        ("me", 0, vec![Value::Null]),
        ("me", 1, vec![Value::Null; 2]),
        ("me", 9, vec![Value::Null; 2]),
        ("other", 0, vec![]),
    ];
    for (holder, conflicts, expected) in table {
        let writes = AtomicUsize::default();
        let (client, received) = recording(move |request| {
            Some(match &*request.method {
                "GET" => (200, stored(holder)),
                _ if writes.fetch_add(1, Ordering::Relaxed) < conflicts => failure(409),
                _ => (200, request.body.clone()),
            })
        });
        Candidate::new(client, election(), || 1000, Term::default())
            .release()
            .await;
        let sent = received.take().into_iter().filter(|request| request.method != "GET");
        let written: Vec<Value> = sent
            .map(|request| request.body["spec"]["holderIdentity"].clone())
            .collect();
        assert_eq!(written, expected, "{holder} holds it, {conflicts} conflicts");
    }
}
