//! The annotation `replace-set`: whoever sets it to `WhenComplete` must be allowed to delete and create StatefulSets.

use serde_json::Value;

use super::status::status;
use super::trust::{by_bob, owned, plain, waiting};
use super::{FakeCluster, annotated, decide_with, denial, review, set, template, update};
use crate::admission::Verdict;
use crate::templates::keys;

fn replaced(set: Value, value: &str) -> Value {
    annotated(set, keys::REPLACE_SET, value)
}

/// The request in words, the request, the settings, and whether the rights to replace a set are asked for.
type Row = (&'static str, Value, &'static str, bool);

fn rows() -> Vec<Row> {
    let when_complete = || replaced(plain(), "WhenComplete");
    let never = || replaced(plain(), "Never");
    let other = || annotated(when_complete(), keys::PAUSED, "true");
    let create = |set: &Value| review("CREATE", None, Some(set));
    let row = |sentence, review, is_asked| (sentence, review, "{}", is_asked);
    let trusted = r#"{"authority":"TrustSetEditors"}"#;
    let checked = r#"{"mode":"ValidateOnly"}"#;
    vec![
        row("it is added", update(&plain(), &when_complete()), true),
        row("it is changed", update(&never(), &when_complete()), true),
        row("it comes along", create(&when_complete()), true),
        row("it was there", update(&when_complete(), &other()), false),
        row("it is removed", update(&when_complete(), &plain()), false),
        row("it is set to Never", update(&when_complete(), &never()), false),
        row("Never comes along", create(&never()), false),
        row(
            "the owner is removed",
            update(&owned(when_complete()), &when_complete()),
            true,
        ),
        row(
            "the owner is removed by the status",
            status(&owned(when_complete()), &when_complete()),
            true,
        ),
        row(
            "the owner of another is removed",
            update(&owned(never()), &never()),
            false,
        ),
        row(
            "an owner is added",
            update(&when_complete(), &owned(when_complete())),
            false,
        ),
        row(
            "an owner keeps it",
            update(&owned(plain()), &owned(when_complete())),
            false,
        ),
        (
            "editors are trusted",
            update(&plain(), &when_complete()),
            trusted,
            false,
        ),
        (
            "editors who create are trusted",
            create(&when_complete()),
            trusted,
            false,
        ),
        (
            "nothing is staged here",
            update(&plain(), &when_complete()),
            checked,
            true,
        ),
    ]
}

#[test]
fn u5_replace_set_needs_rights_on_stateful_sets() {
    for (sentence, review, settings, is_asked) in rows() {
        let (verdict, asked) = by_bob(review, settings);
        let expected: &[&str] = if is_asked {
            &["bob dev,ops delete shop/statefulsets"]
        } else {
            &[]
        };
        assert_eq!(asked, expected, "{sentence}");
        if is_asked {
            let message = "claim-rollout: user bob cannot delete statefulsets in namespace shop, which replace-set: \
                           WhenComplete needs; grant that (ClusterRole edit has it), or set authority: TrustSetEditors \
                           in the policy's settings";
            assert_eq!(denial(verdict), (403, message.to_owned()), "{sentence}");
        } else {
            assert!(!matches!(verdict, Verdict::Deny(_)), "{sentence}: {verdict:?}");
        }
    }
}

#[test]
fn u5_replace_set_with_all_rights_passes_without_warning() {
    let new = replaced(plain(), "WhenComplete");
    for (review, verbs) in [
        (update(&plain(), &new), &["delete", "create"][..]),
        // The API server has checked the right to create.
        (review("CREATE", None, Some(&new)), &["delete"]),
    ] {
        let mut cluster = FakeCluster::of(vec![]);
        assert_eq!(decide_with(&review, "{}", &mut cluster), Verdict::PASS, "{verbs:?}");
        let asked = verbs
            .iter()
            .map(|verb| format!("alice dev,ops {verb} shop/statefulsets"));
        assert_eq!(cluster.asked, asked.collect::<Vec<_>>());
    }
}

#[test]
fn u3_default_replace_set_needs_no_more_rights() {
    let settings = r#"{"defaultReplaceSet":"WhenComplete","pvcChecks":"Off"}"#;
    for old in [plain(), waiting()] {
        let mut new = set(&[template("data", "30Gi")]);
        new["metadata"] = old["metadata"].clone();
        let mut cluster = FakeCluster::of(vec![]);
        let verdict = decide_with(&update(&old, &new), settings, &mut cluster);
        assert!(matches!(verdict, Verdict::Stage(..)), "{verdict:?}");
        assert_eq!(cluster.asked, ["alice dev,ops patch shop/persistentvolumeclaims"]);
    }
}
