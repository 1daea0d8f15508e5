use super::{MAX_WARNING, staged};
use crate::templates::{Change, Diff, TemplateChange, UpdatePolicy};

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
