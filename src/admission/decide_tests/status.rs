//! Row S1: updates of the status.

use serde_json::{Value, json};

use super::trust::{ASKED, by_bob, owned, plain, staged_under, waiting};
use super::{FakeCluster, annotated, decide_with, denial, edits, update};
use crate::admission::{Edit, Verdict};
use crate::templates::{UpdatePolicy, keys};

pub(super) fn status(old: &Value, new: &Value) -> Value {
    let mut review = update(old, new);
    review["subResource"] = "status".into();
    review["resource"] = json!({"group": "apps", "version": "v1", "resource": "statefulsets"});
    review
}

#[test]
fn s1_annotations_in_status_update_are_restored() {
    let forged = staged_under(UpdatePolicy::InPlace, "500Ti");
    for (key, value) in [
        (keys::STAGED, forged.as_str()),
        (keys::UPDATE_POLICY, "InPlace"),
        (keys::PHASE, "Complete"),
        (keys::READY, "a.0"),
        (keys::PAUSED, "false"),
        ("claim-rollout.io/other", "x"),
    ] {
        let came = annotated(plain(), key, value);
        let (verdict, asked) = by_bob(status(&plain(), &came), "{}");
        assert_eq!(edits(verdict), [Edit::RemoveAnnotation(key.to_owned().into())], "{key}");
        assert_eq!(asked, Vec::<String>::new(), "{key}");
        let (verdict, _) = by_bob(status(&came, &plain()), "{}");
        let back = Edit::SetAnnotation(key.to_owned().into(), value.to_owned());
        assert_eq!(edits(verdict), [back], "{key} removed");
    }
    let (verdict, _) = by_bob(status(&waiting(), &waiting()), "{}");
    assert_eq!(verdict, Verdict::PASS, "the status alone");
    let mut by_controller = status(&plain(), &waiting());
    by_controller["userInfo"]["username"] = crate::admission::settings::DEFAULT_CONTROLLER_ACCOUNT.into();
    let verdict = decide_with(&by_controller, "{}", &mut FakeCluster::of(vec![]));
    assert_eq!(verdict, Verdict::PASS, "row C2");
}

#[test]
fn s1_removal_of_owner_in_status_update_needs_right() {
    let rolling = annotated(plain(), keys::STAGED, &staged_under(UpdatePolicy::InPlace, "20Gi"));
    let switched = annotated(waiting(), keys::UPDATE_POLICY, "InPlace");
    let stopped = annotated(rolling.clone(), keys::UPDATE_POLICY, "OnClaimDelete");
    for (sentence, settings, old, new, is_asked) in [
        (
            "the staged policy rolls out",
            "{}",
            owned(rolling.clone()),
            rolling.clone(),
            true,
        ),
        (
            "the annotation rolls out",
            "{}",
            owned(switched.clone()),
            switched.clone(),
            true,
        ),
        ("claims stay as they are", "{}", owned(stopped.clone()), stopped, false),
        ("nothing is staged", "{}", owned(plain()), plain(), false),
        (
            "the owner stays",
            "{}",
            owned(switched.clone()),
            owned(switched.clone()),
            false,
        ),
        ("an owner comes", "{}", rolling.clone(), owned(rolling.clone()), false),
        (
            "owned sets are staged",
            r#"{"ownedSets":"Stage"}"#,
            owned(rolling.clone()),
            rolling.clone(),
            false,
        ),
        (
            "nothing is mutated",
            r#"{"mode":"ValidateOnly"}"#,
            owned(rolling.clone()),
            rolling,
            false,
        ),
    ] {
        let (verdict, asked) = by_bob(status(&old, &new), settings);
        assert_eq!(asked, vec![ASKED; usize::from(is_asked)], "{sentence}");
        if is_asked {
            assert_eq!(denial(verdict).0, 403, "{sentence}");
            let mut cluster = FakeCluster::of(vec![]);
            assert_eq!(
                decide_with(&status(&old, &new), settings, &mut cluster),
                Verdict::PASS,
                "{sentence}"
            );
        } else {
            assert_eq!(verdict, Verdict::PASS, "{sentence}");
        }
    }
}
