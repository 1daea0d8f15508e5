//! Settings that limit changes, and the rows without mutation: N1 and K1.

use serde_json::{Value, json};

use super::{FakeCluster, annotated, decide_with, denial, edits, set, staged_change, template, update};
use crate::admission::{Edit, NoCluster, Verdict};
use crate::templates::{Phase, keys};

fn decide(old: &Value, new: &Value, settings: &str) -> Verdict {
    let settings = format!(r#"{{"authority":"TrustSetEditors",{settings}}}"#);
    decide_with(&update(old, new), &settings, &mut NoCluster)
}

fn with(field: &str, value: Value) -> Value {
    let mut one = template("data", "10Gi");
    one["spec"][field] = value;
    set(&[one])
}

#[test]
fn max_storage_is_inclusive_per_class_and_only_for_growth() {
    let of = |class: Value, size: &str| {
        let mut one = template("data", size);
        one["spec"]["storageClassName"] = class;
        set(&[one])
    };
    let limits = r#""maxStorage":{"fast":"100Gi","*":"50Gi"}"#;
    for (class, size, most) in [
        (json!("fast"), "100Gi", None),
        (json!("fast"), "101Gi", Some("100Gi")),
        (json!("slow"), "50Gi", None),
        (json!("slow"), "51Gi", Some("50Gi")),
        (Value::Null, "51Gi", Some("50Gi")),
        (json!(""), "51Gi", Some("50Gi")),
    ] {
        let verdict = decide(&of(class.clone(), "10Gi"), &of(class.clone(), size), limits);
        let Some(most) = most else {
            assert_eq!(edits(verdict).len(), 3, "{class} {size}");
            continue;
        };
        let (code, message) = denial(verdict);
        let expected = format!("requests.storage: is limited, expected at most {most}, but found {size}");
        assert_eq!((code, message.contains(&expected)), (403, true), "{message}");
    }
    // A template that is already larger may change elsewhere.
    let large = of(json!("slow"), "90Gi");
    let mut other = large.clone();
    other["spec"]["volumeClaimTemplates"][0]["spec"]["volumeAttributesClassName"] = "gold".into();
    assert_eq!(edits(decide(&large, &other, limits)).len(), 3);
}

#[test]
fn attributes_class_outside_list_is_denied_but_removal_allowed() {
    let class = |name: &str| with("volumeAttributesClassName", name.into());
    let allowed = r#""allowedVolumeAttributesClasses":["gold","silver"]"#;
    assert_eq!(edits(decide(&class("silver"), &class("gold"), allowed)).len(), 3);
    assert_eq!(
        edits(decide(&class("silver"), &set(&[template("data", "10Gi")]), allowed)).len(),
        3
    );
    let (code, message) = denial(decide(&class("silver"), &class("lead"), allowed));
    let expected = "spec.volumeAttributesClassName: expected one of gold, silver, but found lead";
    assert_eq!((code, message.contains(expected)), (403, true), "{message}");
    assert_eq!(
        edits(decide(&class("silver"), &class("lead"), r#""mode":"Stage""#)).len(),
        3,
        "any"
    );
}

#[test]
fn reserved_keys_follow_setting_but_ours_stay_reserved() {
    let labelled = |key: &str| {
        let mut one = template("data", "10Gi");
        one["metadata"]["labels"] = json!({key: "x"});
        set(&[one])
    };
    let old = set(&[template("data", "10Gi")]);
    let mine = r#""reservedKeyPrefixes":["example.com/"]"#;
    assert_eq!(denial(decide(&old, &labelled("example.com/a"), mine)).0, 403);
    assert_eq!(denial(decide(&old, &labelled("sub.example.com/a"), mine)).0, 403);
    assert_eq!(edits(decide(&old, &labelled("notexample.com/a"), mine)).len(), 3);
    assert_eq!(edits(decide(&old, &labelled("example.com"), mine)).len(), 3);
    assert_eq!(edits(decide(&old, &labelled("k8s.io/a"), mine)).len(), 3);
    assert_eq!(
        denial(decide(
            &old,
            &labelled("claim-rollout.io/revision"),
            r#""reservedKeyPrefixes":[]"#
        ))
        .0,
        403
    );
    let charts = labelled("app.kubernetes.io/version");
    for (prefix, allows) in [("kubernetes.io/", true), ("io/", true), ("app.kubernetes.io/", false)] {
        let settings = format!(r#""reservedKeyPrefixes":["{prefix}"]"#);
        let is_staged = matches!(decide(&old, &charts, &settings), Verdict::Stage(..));
        assert_eq!(is_staged, allows, "{prefix}");
    }
}

#[test]
fn frozen_fields_under_recreate_are_allowed() {
    let recreate = |set: Value| annotated(set, keys::UPDATE_POLICY, "ReCreate");
    let (old, new) = (
        recreate(with("storageClassName", "slow".into())),
        recreate(with("storageClassName", "fast".into())),
    );
    assert_eq!(edits(decide(&old, &new, r#""allowReCreate":true"#)).len(), 3);
    assert_eq!(denial(decide(&old, &new, r#""allowReCreate":false"#)).0, 403);
    let added = recreate(set(&[template("data", "10Gi"), template("log", "1Gi")]));
    assert_eq!(denial(decide(&old, &added, r#""allowReCreate":true"#)).0, 403);
}

fn claim(ordinal: u32, request: &str, capacity: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim",
        "metadata": {"name": format!("data-web-{ordinal}"), "namespace": "shop"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": request}}},
        "status": {"phase": "Bound", "capacity": {"storage": capacity}}})
}

#[test]
fn shrink_recover_allows_shrink_of_unreached_growth() {
    let old = annotated(
        set(&[template("data", "10Gi")]),
        keys::STAGED,
        &staged_change(&[template("data", "99Ti")], Phase::RollingOut),
    );
    let smaller = set(&[template("data", "20Gi")]);
    let recover = |claims: Vec<Value>, new: &Value| {
        let settings = r#"{"authority":"TrustSetEditors","shrink":"Recover","pvcChecks":"Off"}"#;
        decide_with(&update(&old, new), settings, &mut FakeCluster::of(claims))
    };
    assert_eq!(denial(decide(&old, &smaller, r#""shrink":"Deny""#)).0, 403);
    assert_eq!(
        edits(decide(&old, &smaller, r#""shrink":"Recover""#)).len(),
        3,
        "claims cannot be read"
    );
    assert_eq!(
        edits(recover(
            vec![claim(2, "99Ti", "10Gi"), claim(1, "10Gi", "10Gi")],
            &smaller
        ))
        .len(),
        3
    );
    let (code, message) = denial(recover(vec![claim(2, "99Ti", "20Gi")], &smaller));
    let expected = "claim-rollout: PVCs cannot be updated: data-web-2: already has 20Gi, and a volume cannot shrink";
    assert_eq!((code, message.as_str()), (403, expected));
    // A volume that is larger than requested does not count.
    assert_eq!(edits(recover(vec![claim(2, "10Gi", "40Gi")], &smaller)).len(), 3);
    let mut as_before = template("data", "10Gi");
    as_before["metadata"]["labels"] = json!({"tier": "gold"});
    assert_eq!(
        edits(recover(vec![], &set(&[as_before]))).len(),
        3,
        "down to the live size"
    );
    let (code, message) = denial(recover(vec![], &set(&[template("data", "5Gi")])));
    assert_eq!(
        (code, message.contains("expected at least 10Gi, but found 5Gi")),
        (403, true),
        "{message}"
    );
}

#[test]
fn shrink_recover_without_checks_reads_only_claims() {
    let old = annotated(
        set(&[template("data", "10Gi")]),
        keys::STAGED,
        &staged_change(&[template("data", "99Ti")], Phase::RollingOut),
    );
    let mut growing = claim(2, "10Gi", "10Gi");
    growing["spec"]["storageClassName"] = "fast".into();
    let mut cluster = FakeCluster::of(vec![growing, claim(1, "99Ti", "20Gi")]);
    let settings = r#"{"authority":"TrustSetEditors","shrink":"Recover","pvcChecks":"Off"}"#;
    let verdict = decide_with(&update(&old, &set(&[template("data", "20Gi")])), settings, &mut cluster);
    assert_eq!(denial(verdict).0, 403);
    let asked = [2, 1, 0].map(|ordinal| format!("get PersistentVolumeClaim/data-web-{ordinal}"));
    assert_eq!(cluster.asked, asked);
}

#[test]
fn n1_change_is_judged_without_mutation() {
    let only = r#""mode":"ValidateOnly""#;
    let old = set(&[template("data", "10Gi")]);
    let Verdict::Pass(remarks) = decide(&old, &set(&[template("data", "20Gi")]), only) else {
        panic!()
    };
    assert_eq!(remarks.warnings.len(), 1, "failed to check the PVCs: {remarks:?}");
    assert_eq!(denial(decide(&old, &set(&[template("data", "5Gi")]), only)).0, 403);
}

#[test]
fn k1_openkruise_is_judged_if_claims_follow_before_or_after() {
    let kruise = |size: &str, strategy: &str| {
        let mut set = set(&[template("data", size)]);
        set["apiVersion"] = "apps.kruise.io/v1beta1".into();
        set["spec"]["volumeClaimUpdateStrategy"] = json!({"type": strategy});
        set
    };
    let verdict = |old: &Value, new: &Value| {
        let mut review = update(old, new);
        review["kind"] = json!({"group": "apps.kruise.io", "version": "v1beta1", "kind": "StatefulSet"});
        let settings = r#"{"authority":"TrustSetEditors","pvcChecks":"Off"}"#;
        decide_with(&review, settings, &mut NoCluster)
    };
    let (follow, leave) = ("OnPodRollingUpdate", "OnDelete");
    assert_eq!(verdict(&kruise("10Gi", leave), &kruise("5Gi", leave)), Verdict::PASS);
    assert_eq!(verdict(&kruise("10Gi", follow), &kruise("20Gi", follow)), Verdict::PASS);
    for [before, after] in [[follow, follow], [leave, follow], [follow, leave]] {
        let code = denial(verdict(&kruise("10Gi", before), &kruise("5Gi", after))).0;
        assert_eq!(code, 403, "{before} {after}");
    }
}

#[test]
fn k1_fields_that_openkruise_ignores_get_warning() {
    let kruise = |size: &str, class: Value| {
        let mut set = with("volumeAttributesClassName", class);
        set["spec"]["volumeClaimTemplates"][0]["spec"]["resources"]["requests"]["storage"] = size.into();
        set["apiVersion"] = "apps.kruise.io/v1beta1".into();
        set["spec"]["volumeClaimUpdateStrategy"] = json!({"type": "OnPodRollingUpdate"});
        set
    };
    let warnings = |new: &Value, checks: &str| {
        let mut review = update(&kruise("10Gi", Value::Null), new);
        review["kind"] = json!({"group": "apps.kruise.io", "version": "v1beta1", "kind": "StatefulSet"});
        let settings = format!(r#"{{"authority":"TrustSetEditors","pvcChecks":"{checks}"}}"#);
        match decide_with(&review, &settings, &mut FakeCluster::of(vec![])) {
            Verdict::Pass(remarks) => remarks.warnings,
            other => panic!("expected Pass, but found {other:?}"),
        }
    };
    let gold = kruise("10Gi", "gold".into());
    let rest = "claim-rollout: OpenKruise applies only spec.resources.requests.storage to existing PVCs; new PVCs get the rest";
    assert_eq!(warnings(&gold, "Warn"), [rest]);
    assert_eq!(warnings(&gold, "Off"), [""; 0]);
    assert_eq!(
        warnings(&kruise("20Gi", Value::Null), "Warn"),
        [""; 0],
        "OpenKruise applies the size"
    );
}

#[test]
fn owned_set_is_staged_only_with_setting() {
    let owned = |size: &str| {
        let mut set = set(&[template("data", size)]);
        set["metadata"]["ownerReferences"] = json!([{"kind": "Database", "controller": true}]);
        set
    };
    assert_eq!(
        decide(&owned("10Gi"), &owned("20Gi"), r#""ownedSets":"Skip""#),
        Verdict::PASS
    );
    let staged = edits(decide(&owned("10Gi"), &owned("20Gi"), r#""ownedSets":"Stage""#));
    assert_eq!(staged[0], Edit::RestoreTemplates);
}
