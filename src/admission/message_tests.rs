use super::{MAX_REFUSAL, MAX_WARNING, claims_refused, faults, staged};
use crate::admission::checks::Cause;
use crate::templates::rules::Metadata;
use crate::templates::{Change, Diff, Fault, FaultKind, TemplateChange, UpdatePolicy};

fn growth(template: &str) -> TemplateChange {
    let quantity = |text: &str| Some(text.parse().expect("a quantity"));
    TemplateChange {
        template: template.to_owned(),
        changes: vec![Change::Storage {
            from: quantity("10Gi"),
            to: quantity("20Gi"),
        }],
        frozen: vec![],
    }
}

#[test]
fn the_warning_says_what_was_staged_and_what_will_happen() {
    let diff = Diff {
        changed: vec![growth("data")],
        ..Diff::default()
    };
    assert_eq!(
        staged("web", &diff, 3, UpdatePolicy::InPlace),
        "claim-rollout: staged data 10Gi -> 20Gi; 3 claims will be updated in place, highest ordinal first \
         (kubectl claim-rollout status web)"
    );
    assert_eq!(
        staged("web", &diff, 3, UpdatePolicy::OnClaimDelete),
        "claim-rollout: staged data 10Gi -> 20Gi; existing claims stay as they are \
         (annotation claim-rollout.io/update-policy: InPlace updates them)"
    );
}

#[test]
fn a_warning_is_never_longer_than_the_api_server_lets_through() {
    let changed: Vec<_> = (0..50)
        .map(|index| growth(&format!("a-template-with-a-long-name-{index}")))
        .collect();
    let diff = Diff {
        changed,
        ..Diff::default()
    };
    for policy in UpdatePolicy::ALL {
        let line = staged(&"w".repeat(63), &diff, i64::MAX, policy);
        assert!(line.chars().count() <= MAX_WARNING, "{line}");
        assert!(line.contains("more; "), "{line}");
    }
}

#[test]
fn a_refusal_names_what_has_room_counts_the_rest_and_still_says_what_to_do() {
    let fault = |index| Fault {
        template: format!("a-template-with-a-long-name-{index}"),
        kind: FaultKind::Added,
    };
    for count in [1, 5, 15, 100, 10_000] {
        let all: Vec<Fault> = (0..count).map(fault).collect();
        let line = faults(&all, Metadata::MayChange);
        assert!(line.chars().count() <= MAX_REFUSAL, "{line}");
        assert!(line.ends_with("metadata.labels and metadata.annotations"), "{line}");
        let named = line.matches("a template cannot be added").count();
        let rest = format!("; and {} more; what can change", count - named);
        assert_eq!(line.contains(&rest), named < count, "{line}");
    }
    let cause = |index| Cause {
        what: format!("volume attributes class {index} does not exist"),
        claims: vec!["data-web-0".to_owned(); 20],
    };
    let causes: Vec<Cause> = (0..50).map(cause).collect();
    let line = claims_refused(&causes);
    assert!(line.chars().count() <= MAX_REFUSAL, "{line}");
    assert!(line.contains("; and ") && line.ends_with(" more"), "{line}");
}
