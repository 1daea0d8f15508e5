use jiff::{SignedDuration, Timestamp};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;

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
fn authorities_of_the_newest_two_are_trusted_and_the_path_stays() {
    let mut certificates = Certificates::make(&names(), now(), None).unwrap();
    assert_eq!(authorities(&certificates).len(), 1);
    for _ in 0..3 {
        let next = Certificates::make(&names(), now(), Some(&certificates)).unwrap();
        assert_eq!(authorities(&next).len(), 2);
        assert_ne!(authorities(&next)[0], authorities(&certificates)[0]);
        assert_eq!(authorities(&next)[1], authorities(&certificates)[0], "the previous one");
        assert_eq!(next.path, certificates.path);
        certificates = next;
    }
    let others = Certificates::make(&names(), now(), None).unwrap();
    assert_ne!(others.path, certificates.path);
}

#[test]
fn authority_before_that_is_no_certificate_is_not_trusted() {
    let mut before = Certificates::make(&names(), now(), None).unwrap();
    before.authorities = "something else".to_owned();
    let made = Certificates::make(&names(), now(), Some(&before)).unwrap();
    assert_eq!(authorities(&made).len(), 1);
}

/// The servers of Kubernetes trust no certificate that its issuer may not sign.
#[test]
fn authority_may_sign_and_its_server_may_not() {
    // basicConstraints, critical: CA, and no authority below it.
    const SIGNS: [u8; 16] = [
        0x55, 0x1d, 0x13, 0x01, 0x01, 0xff, 0x04, 0x08, 0x30, 0x06, 0x01, 0x01, 0xff, 0x02, 0x01, 0x00,
    ];
    let made = Certificates::make(&names(), now(), None).unwrap();
    for (pem, expected) in [(&made.authorities, true), (&made.identity.certificates, false)] {
        let der = CertificateDer::from_pem_slice(pem.as_bytes()).unwrap();
        let signs = der.windows(SIGNS.len()).any(|part| part == SIGNS);
        assert_eq!(signs, expected);
    }
}

fn days(days: i64) -> Timestamp {
    now() + SignedDuration::from_hours(24 * days)
}

#[test]
fn terms_after_sixty_days_or_with_another_name_are_over() {
    let terms = Certificates::make(&names(), now(), None).unwrap().terms;
    let another = [&names()[..], &["other".to_owned()]].concat();
    for (names, at, over) in [
        (names(), days(0), false),
        (names(), days(59), false),
        (names(), days(60), true),
        (names(), days(400), true),
        (names()[..1].to_vec(), days(0), false),
        (another, days(0), true),
    ] {
        assert_eq!(terms.are_over(&names, at), over, "{names:?} {at}");
    }
}

#[test]
fn names_of_replicas_that_differ_are_in_one_certificate() {
    let named = |host: &str| vec!["service".to_owned(), host.to_owned()];
    let mut shared = Certificates::make(&named("a"), now(), None).unwrap();
    let mut made = 0;
    for round in 0..3 {
        for host in ["a", "b", "c"] {
            if shared.terms.are_over(&named(host), days(round)) {
                shared = Certificates::make(&named(host), days(round), Some(&shared)).unwrap();
                made += 1;
            }
        }
    }
    assert_eq!((made, shared.terms.names.len()), (2, 4));
    let renewed = Certificates::make(&named("a"), days(100), Some(&shared)).unwrap();
    assert_eq!(renewed.terms.names, named("a"), "names that no replica has are dropped");
    let most = (0..100).fold(shared, |before, host| {
        Certificates::make(&named(&host.to_string()), now(), Some(&before)).unwrap()
    });
    assert_eq!(most.terms.names.len(), 64);
}

#[test]
fn make_for_invalid_name_is_error() {
    let error = Certificates::make(&["näme".to_owned()], now(), None).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("failed to create a certificate for näme: "),
        "{error}"
    );
}
