use super::{MAX_WARNING, Reach, staged, still_staged, switched};
use crate::templates::diff::KeyChange;
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

fn reach(set: &str, replicas: i64) -> Reach<'_> {
    Reach {
        set,
        namespace: "shop",
        replicas,
        partition: 0,
        by_hand: false,
    }
}

#[test]
fn staged_warning_names_change_and_effect() {
    let diff = Diff {
        changed: vec![growth("data")],
        ..Diff::default()
    };
    let all = || reach("web", 3);
    // What the rollout reaches, and the effect on existing PVCs.
    let table = [
        (all(), "3 PVCs will be updated in place, highest ordinal first"),
        (
            Reach { partition: 2, ..all() },
            "1 PVC will be updated in place, highest ordinal first",
        ),
        (Reach { partition: 3, ..all() }, ""),
        (
            Reach { by_hand: true, ..all() },
            "3 PVCs will be updated in place, each after you delete its Pod (updateStrategy OnDelete)",
        ),
    ];
    for (reach, effect) in table {
        let expected = match effect {
            "" => "no PVC is updated until partition 3 is lower".to_owned(),
            effect => format!("{effect} (kubectl claim-rollout status web -n shop)"),
        };
        let line = staged(&diff, &reach, UpdatePolicy::InPlace, 1);
        assert_eq!(line, format!("claim-rollout: staged data 10Gi -> 20Gi; {expected}"));
    }
    assert_eq!(
        staged(&diff, &all(), UpdatePolicy::InPlace, 0),
        "claim-rollout: staged data 10Gi -> 20Gi"
    );
    assert_eq!(
        staged(&diff, &all(), UpdatePolicy::OnClaimDelete, 1),
        "claim-rollout: staged data 10Gi -> 20Gi; existing PVCs stay as they are \
         (annotation claim-rollout.io/update-policy: InPlace updates them)"
    );
}

#[test]
fn warning_is_cut_to_api_server_limit() {
    let changed: Vec<_> = (0..50)
        .map(|index| growth(&format!("a-template-with-a-long-name-{index}")))
        .collect();
    let diff = Diff {
        changed,
        ..Diff::default()
    };
    for policy in UpdatePolicy::ALL {
        let line = staged(&diff, &reach(&"w".repeat(63), i64::MAX), policy, 50);
        assert!(line.chars().count() <= MAX_WARNING, "{line}");
        assert!(line.contains("more; "), "{line}");
    }
}

/// With a name that is cut, it would be about another StatefulSet.
#[test]
fn command_in_a_warning_is_whole_or_left_out() {
    let of = |changes: Vec<Change>| Diff {
        changed: vec![TemplateChange {
            changes,
            ..growth("data")
        }],
        ..Diff::default()
    };
    let annotation = |length: usize| {
        Change::Annotation(KeyChange {
            key: "k".repeat(length),
            from: Some("a".repeat(length)),
            to: Some("b".repeat(length)),
        })
    };
    let set = "w".repeat(52);
    let lines = |diff: &Diff, namespace: &str| {
        let reach = Reach {
            namespace,
            ..reach(&set, 3)
        };
        let status = format!(" (kubectl claim-rollout status {set} -n {namespace})");
        let withdraw = format!("; kubectl claim-rollout withdraw {set} -n {namespace} drops it");
        [
            (staged(diff, &reach, UpdatePolicy::InPlace, 1), status.clone()),
            (switched(&reach, 1, UpdatePolicy::InPlace), status),
            (still_staged(diff, &set, namespace), withdraw),
        ]
    };
    let namespace = "n".repeat(63);
    for (line, command) in lines(&of(growth("data").changes), &namespace) {
        assert!(line.ends_with(&command), "{line}");
    }
    for (length, namespace) in (1..60).flat_map(|length| [(length, "n"), (length, &namespace)]) {
        for (line, command) in lines(&of(vec![annotation(length)]), namespace) {
            assert!(line.chars().count() <= MAX_WARNING, "{line}");
            assert!(line.ends_with(&command) || !line.contains("kubectl"), "{line}");
            assert!(!line.ends_with('…'), "{line}");
        }
    }
}
