use super::{
    ALLOWED, FOR_NEW_PVCS, KEEP, MAX_DENIAL, MAX_WARNINGS, ROOM_FOR_COUNT, bound, claims_deleted, claims_denied,
    faults, new_claim_of_too_many, restored, some, warning,
};
use crate::admission::cause::Cause;
use crate::templates::rules::TemplateNames;
use crate::templates::{Diff, FaultKind, Quantity, RuleFault, Rules};

#[test]
fn long_denial_counts_rest_and_keeps_advice() {
    let fault = |index| RuleFault {
        template: format!("a-template-with-a-long-name-{index}"),
        kind: FaultKind::Added(TemplateNames::Deny),
    };
    for count in [1, 5, 15, 100, 10_000] {
        let all: Vec<RuleFault> = (0..count).map(fault).collect();
        let line = faults(&all, &Rules::default());
        assert!(line.chars().count() <= MAX_DENIAL, "{line}");
        assert!(line.ends_with("metadata.labels and metadata.annotations"), "{line}");
        let named = line.matches("a template cannot be added").count();
        let rest = format!("; and {} more; allowed changes", count - named);
        assert_eq!(line.contains(&rest), named < count, "{line}");
    }
    let cause = |index| Cause {
        what: format!("volume attributes class {index} does not exist"),
        claims: vec!["data-web-0".to_owned(); 20],
    };
    let causes: Vec<Cause> = (0..50).map(cause).collect();
    let line = claims_denied(&causes);
    assert!(line.chars().count() <= MAX_DENIAL, "{line}");
    assert!(line.contains("; and ") && line.ends_with(" more"), "{line}");
}

#[test]
fn all_warnings_fit_api_server_limit() {
    // The number of lines, their length, and the number of lines kept.
    let table = [
        (0, 256, 0),
        (1, 256, 1),
        (16, 256, 16),
        (17, 256, 15),
        (1000, 256, 15),
        (102, 40, 102),
        (103, 40, 100),
    ];
    for (count, length, stay) in table {
        // A character of two bytes, because the API server counts characters.
        let all: Vec<String> = (0..count)
            .map(|index| warning(&format!("{index:é<width$}", width = length - 15)))
            .collect();
        let mut kept = all.clone();
        bound(&mut kept);
        let sum: usize = kept.iter().map(|line| line.chars().count()).sum();
        assert!(sum <= MAX_WARNINGS, "{count} of {length}: {sum} characters");
        let mut expected = all[..stay].to_vec();
        if stay < count {
            let left_out = count - stay;
            expected.push(format!("claim-rollout: warnings left out: {left_out}"));
        }
        assert_eq!(kept, expected, "{count} of {length}");
    }
}

#[test]
fn denial_of_any_length_ends_with_count() {
    for length in 10..120 {
        let cause = Cause {
            what: "x".repeat(length),
            claims: vec!["data-web-0".to_owned()],
        };
        let causes: Vec<Cause> = (0..200)
            .map(|_| Cause {
                what: cause.what.clone(),
                claims: cause.claims.clone(),
            })
            .collect();
        let line = claims_denied(&causes);
        assert!(line.chars().count() <= MAX_DENIAL && line.ends_with(" more"), "{line}");
        let fault = |_| RuleFault {
            template: "data".to_owned(),
            kind: FaultKind::Metadata("x".repeat(length)),
        };
        let line = faults(&(0..200).map(fault).collect::<Vec<_>>(), &Rules::default());
        assert!(line.chars().count() <= MAX_DENIAL, "{line}");
        assert!(line.ends_with("metadata.labels and metadata.annotations"), "{line}");
        let (named, _) = line.split_once("; and ").expect("a count");
        let room = MAX_DENIAL - ALLOWED.len() - ROOM_FOR_COUNT;
        assert!(named.chars().count() <= room, "no room for the count: {line}");
    }
}

#[test]
fn long_denial_names_the_settings_that_allow_it() {
    let fault = |index| RuleFault {
        template: format!("a-template-with-a-long-name-{index}"),
        kind: FaultKind::Shrinks {
            least: Quantity::from_bytes(2),
            found: Quantity::from_bytes(1),
        },
    };
    let rules = Rules {
        names: TemplateNames::Deny,
        ..Rules::default()
    };
    for count in 1..40 {
        let all: Vec<RuleFault> = (0..count).map(fault).collect();
        let line = faults(&all, &rules);
        assert!(line.chars().count() <= MAX_DENIAL, "{line}");
        assert!(line.ends_with(&format!("{KEEP}{FOR_NEW_PVCS}")), "{line}");
    }
}

#[test]
fn list_names_at_least_one_item_and_counts_rest() {
    let items = ["abc", "def", "ghi"].map(str::to_owned);
    let table = [
        (1, "abc and 2 more"),
        (9, "abc and 2 more"),
        (10, "abc, def and 1 more"),
        (14, "abc, def and 1 more"),
        (15, "abc, def, ghi"),
    ];
    for (room, expected) in table {
        assert_eq!(some(&items, room, ", ", " and "), expected, "{room}");
    }
}

#[test]
fn warning_with_a_control_character_shows_its_code() {
    assert_eq!(warning("a\u{7f}b\n\u{202e}"), "claim-rollout: a\\u{7f}b\\u{a}\\u{202e}");
}

/// A name that is cut could be that of another object.
#[test]
fn message_has_whole_names_of_pvcs_and_sets() {
    let name = |ordinal| format!("vmstorage-volume-r-victoria-metrics-cluster-vmstorage-{ordinal}");
    let [one, two] = [name(1), name(0)];
    let both = [one.clone(), two.clone()];
    let cause = Cause {
        what: "x".to_owned(),
        claims: both.to_vec(),
    };
    let set = "r-victoria-metrics-cluster-vmstorage-of-the-platform";
    for (line, expected) in [
        (claims_deleted(&both, "whenDeleted"), format!("deletes {one}, {two}")),
        (claims_denied(&[cause]), format!("{one}, {two}: x")),
        (new_claim_of_too_many(&one, 21), format!("{one} is created")),
        (restored(set, &Diff::default()), format!("StatefulSet {set} gets")),
    ] {
        assert!(line.contains(&expected), "{line}");
    }
}
