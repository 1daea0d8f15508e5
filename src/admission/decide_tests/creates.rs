//! Rows C1 to C3: new sets, requests of the controller, and unrelated requests.

use serde_json::{Value, json};

use super::{annotated, decide, edits, review, set, staged_change, template, update};
use crate::admission::{Edit, Verdict};
use crate::templates::{Phase, keys};

#[test]
fn c1_policy_annotations_on_new_set_are_removed() {
    let new = set(&[template("data", "10Gi")]);
    assert_eq!(decide(&review("CREATE", None, Some(&new))), Verdict::PASS);
    for key in [keys::STAGED, keys::READY, keys::WITHDRAW] {
        let new = annotated(new.clone(), key, "x");
        assert_eq!(
            edits(decide(&review("CREATE", None, Some(&new)))),
            [Edit::no_annotation(key)]
        );
    }
}

#[test]
fn c1_requests_of_scanner_and_controller_pass() {
    let create = |user: &str, uid_of_request: &str, uid: &str, version: &str| {
        let mut new = annotated(set(&[template("data", "10Gi")]), keys::STAGED, "x");
        new["metadata"]["uid"] = uid.into();
        new["metadata"]["resourceVersion"] = version.into();
        let mut review = review("CREATE", None, Some(&new));
        review["uid"] = uid_of_request.into();
        review["userInfo"]["username"] = user.into();
        decide(&review)
    };
    let controller = crate::admission::settings::DEFAULT_CONTROLLER_ACCOUNT;
    assert_eq!(create("", "u-1", "u-1", "7"), Verdict::PASS, "by the audit scanner");
    assert_eq!(create(controller, "r-1", "", ""), Verdict::PASS, "by the controller");
    for (sentence, verdict) in [
        ("by a user", create("alice", "u-1", "u-1", "7")),
        ("the request has another uid", create("", "r-1", "u-1", "7")),
        ("the set has no uid", create("", "", "", "7")),
        ("the set has no resourceVersion", create("", "u-1", "u-1", "")),
    ] {
        assert_eq!(edits(verdict), [Edit::no_annotation(keys::STAGED)], "{sentence}");
    }
    let mut owned = annotated(set(&[template("data", "10Gi")]), keys::STAGED, "x");
    owned["metadata"]["ownerReferences"] = json!([{"kind": "Database", "controller": true}]);
    let removed = [Edit::no_annotation(keys::STAGED)];
    assert_eq!(
        edits(decide(&review("CREATE", None, Some(&owned)))),
        removed,
        "owned by another controller"
    );
}

#[test]
fn c2_updates_of_controller_pass() {
    let old = annotated(
        set(&[template("data", "10Gi")]),
        keys::STAGED,
        &staged_change(&[template("data", "20Gi")], Phase::RollingOut),
    );
    let new = annotated(
        set(&[template("data", "10Gi")]),
        keys::STAGED,
        &staged_change(&[template("data", "20Gi")], Phase::Complete),
    );
    let mut review = update(&old, &new);
    assert!(
        matches!(decide(&review), Verdict::Stage(..)),
        "by others, the staged change is restored"
    );
    review["userInfo"]["username"] = crate::admission::settings::DEFAULT_CONTROLLER_ACCOUNT.into();
    assert_eq!(decide(&review), Verdict::PASS);
}

#[test]
fn c3_unrelated_requests_pass() {
    let old = set(&[template("data", "10Gi")]);
    let new = set(&[template("data", "20Gi")]);
    for subresource in ["status", "scale", "eviction"] {
        let mut review = update(&old, &new);
        review["subResource"] = subresource.into();
        assert_eq!(decide(&review), Verdict::PASS, "{subresource}");
    }
    let mut daemon = update(&old, &new);
    daemon["kind"]["kind"] = "DaemonSet".into();
    assert_eq!(decide(&daemon), Verdict::PASS);
    for operation in ["DELETE", "CONNECT"] {
        assert_eq!(
            decide(&review(operation, Some(&old), None)),
            Verdict::PASS,
            "{operation}"
        );
    }
    let owned = |mut set: Value, controller: Value| {
        set["metadata"]["ownerReferences"] = json!([{"kind": "Database", "controller": controller}]);
        set
    };
    let managed = update(&owned(old.clone(), true.into()), &owned(new.clone(), true.into()));
    assert_eq!(decide(&managed), Verdict::PASS);
    let merely_owned = update(&owned(old, Value::Null), &owned(new, Value::Null));
    assert!(matches!(decide(&merely_owned), Verdict::Stage(..)));
}
