use super::{Growth, Quota, charge, exceeded};

/// Name, resource, hard and used.
type Of = (&'static str, &'static str, &'static str, &'static str);

/// A growth: class, from, to.
type To = (Option<&'static str>, &'static str, &'static str);

/// The case, the quotas, the growths, and the message.
type Row = (&'static str, &'static [Of], &'static [To], &'static str);

const ALL: &str = "requests.storage";
const FAST: &str = "fast.storageclass.storage.k8s.io/requests.storage";

const THREE: &[To] = &[(Some("fast"), "10Gi", "20Gi"); 3];
const MIXED: &[To] = &[
    (Some("fast"), "10Gi", "20Gi"),
    (None, "1Gi", "5Gi"),
    (Some("slow"), "3Gi", "2Gi"),
];
const SMALLER: &[To] = &[(Some("slow"), "3Gi", "2Gi")];

fn quota((name, resource, hard, used): &Of) -> Quota {
    Quota {
        name: (*name).to_owned(),
        resource: (*resource).to_owned(),
        hard: hard.parse().unwrap(),
        used: used.parse().unwrap(),
    }
}

fn growth((class, from, to): &To) -> Growth<'static> {
    Growth {
        class: *class,
        from: from.parse().unwrap(),
        to: to.parse().unwrap(),
    }
}

fn message(quotas: &[Of], growths: &[To]) -> String {
    let quotas: Vec<Quota> = quotas.iter().map(quota).collect();
    let growths: Vec<Growth<'_>> = growths.iter().map(growth).collect();
    let message = exceeded(&quotas, &growths).map_or_else(String::new, |excess| excess.to_string());
    message.split(": raise it").next().unwrap_or_default().to_owned()
}

const ROWS: &[Row] = &[
    ("no quota", &[], THREE, ""),
    ("it fits to the byte", &[("storage", ALL, "60Gi", "30Gi")], THREE, ""),
    (
        "a byte is missing",
        &[("storage", ALL, "60Gi", "32212254721")],
        THREE,
        "the 3 PVCs that would grow need 30Gi more, and ResourceQuota storage has 32212254719 left of 60Gi",
    ),
    (
        "room for one of three",
        &[("storage", ALL, "100Gi", "88Gi")],
        THREE,
        "the 3 PVCs that would grow need 30Gi more, and ResourceQuota storage has 12Gi left of 100Gi",
    ),
    (
        "more is used than may be",
        &[("storage", ALL, "20Gi", "30Gi")],
        THREE,
        "the 3 PVCs that would grow need 30Gi more, and ResourceQuota storage has 0 left of 20Gi",
    ),
    ("nothing grows", &[("storage", ALL, "1", "9")], SMALLER, ""),
    (
        "what shrinks makes no room",
        &[("storage", ALL, "33Gi", "20Gi")],
        MIXED,
        "the 2 PVCs that would grow need 14Gi more, and ResourceQuota storage has 13Gi left of 33Gi",
    ),
    (
        "others count another class",
        &[("storage", FAST, "1Gi", "1Gi")],
        SMALLER,
        "",
    ),
    (
        "a class counts its own",
        &[("storage", FAST, "19Gi", "10Gi")],
        MIXED,
        "the PVC that would grow needs 10Gi more, and ResourceQuota storage has 9Gi left of 19Gi for storage class fast",
    ),
    ("a class has room", &[("storage", FAST, "20Gi", "10Gi")], MIXED, ""),
    (
        "the first by name, all classes before one",
        &[
            ("tight", ALL, "0", "0"),
            ("storage", FAST, "0", "0"),
            ("storage", ALL, "0", "0"),
        ],
        MIXED,
        "the 2 PVCs that would grow need 14Gi more, and ResourceQuota storage has 0 left of 0",
    ),
    (
        "what Pods use",
        &[("storage", "requests.ephemeral-storage", "0", "0")],
        THREE,
        "",
    ),
    (
        "how many there are",
        &[("storage", "persistentvolumeclaims", "3", "3")],
        THREE,
        "",
    ),
    (
        "sums beyond every volume",
        &[("storage", ALL, "7Ei", "0")],
        &[(None, "1", "7Ei"); 4],
        "the 4 PVCs that would grow need 18446744073709551615 more, and ResourceQuota storage has 7Ei left of 7Ei",
    ),
];

#[test]
fn quota_exceeded_by_the_sum_of_growths_is_reported() {
    for (why, quotas, growths, expected) in ROWS {
        assert_eq!(message(quotas, growths), *expected, "{why}");
    }
}

/// Growths one after the other, and what the API server denies.
#[test]
fn charge_counts_each_growth_that_it_does_not_deny() {
    let of_all = ("storage", ALL, "5Gi", "3Gi");
    let of_class = ("q", FAST, "1Gi", "0");
    let denied = "exceeded quota: storage, requested: requests.storage=1Gi, used: requests.storage=5Gi, limited: requests.storage=5Gi";
    let rows: [(Of, &[(To, &str)]); 2] = [
        (
            of_all,
            &[
                ((Some("fast"), "1Gi", "2Gi"), ""),
                ((None, "1Gi", "2Gi"), ""),
                ((None, "1Gi", "2Gi"), denied),
                ((None, "2Gi", "2Gi"), ""),
                ((None, "2Gi", "1Gi"), ""),
            ],
        ),
        (
            of_class,
            &[
                ((Some("slow"), "1Gi", "9Gi"), ""),
                ((None, "1Gi", "9Gi"), ""),
                ((Some("fast"), "1Gi", "3Gi"), "exceeded quota: q, "),
                ((Some("fast"), "1Gi", "2Gi"), ""),
            ],
        ),
    ];
    for (of, growths) in rows {
        let mut quotas = [quota(&of)];
        for (to, expected) in growths {
            let found = charge(&mut quotas, &growth(to)).err().unwrap_or_default();
            assert!(
                found.starts_with(expected) && found.is_empty() == expected.is_empty(),
                "{of:?} {to:?}: {found}"
            );
        }
    }
}
