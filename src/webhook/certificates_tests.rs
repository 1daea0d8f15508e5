use k8s_openapi::jiff::{SignedDuration, Timestamp};

use super::{Certificates, END};

fn names() -> Vec<String> {
    ["claim-rollout-webhook.claim-rollout.svc", "127.0.0.1"]
        .map(str::to_owned)
        .into()
}

fn now() -> Timestamp {
    "2026-03-01T12:00:00Z".parse().unwrap()
}

fn authorities(certificates: &Certificates) -> Vec<&str> {
    certificates
        .authorities
        .split_inclusive(END)
        .map(str::trim)
        .filter(|pem| !pem.is_empty())
        .collect()
}

#[test]
fn the_newest_two_authorities_are_trusted() {
    let mut certificates = Certificates::make(&names(), now(), "").unwrap();
    assert_eq!(authorities(&certificates).len(), 1);
    for _ in 0..3 {
        let next = Certificates::make(&names(), now(), &certificates.authorities).unwrap();
        assert_eq!(authorities(&next).len(), 2);
        assert_ne!(authorities(&next)[0], authorities(&certificates)[0]);
        assert_eq!(authorities(&next)[1], authorities(&certificates)[0], "the one before");
        certificates = next;
    }
}

#[test]
fn what_stood_there_before_is_not_trusted_for_being_no_certificate() {
    let made = Certificates::make(&names(), now(), "something else").unwrap();
    assert_eq!(authorities(&made).len(), 1);
}

#[test]
fn others_are_due_after_sixty_days_or_with_another_name() {
    let terms = Certificates::make(&names(), now(), "").unwrap().terms;
    let days = |days: i64| now() + SignedDuration::from_hours(24 * days);
    for (names, at, over) in [
        (names(), days(0), false),
        (names(), days(59), false),
        (names(), days(60), true),
        (names(), days(400), true),
        (names()[..1].to_vec(), days(0), true),
    ] {
        assert_eq!(terms.are_over(&names, at), over, "{names:?} {at}");
    }
}

#[test]
fn a_name_that_is_none_is_an_error_that_says_so() {
    let error = Certificates::make(&["näme".to_owned()], now(), "").unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("expected to make a certificate for näme, but could not: "),
        "{error}"
    );
}
