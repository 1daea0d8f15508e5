//! Row U3: other templates.

use serde_json::json;

use super::{UID, annotated, decide, denial, edits, set, staged, staged_change, template, update};
use crate::admission::{Edit, Verdict};
use crate::templates::{Phase, StagedChange, UpdatePolicy, keys};

#[test]
fn u3_growth_is_staged_with_requester_and_manager() {
    let old = set(&[template("data", "10Gi")]);
    let new = set(&[template("data", "20Gi")]);
    let Verdict::Stage(found, remarks) = decide(&update(&old, &new)) else {
        panic!()
    };
    let text = staged_change(&[template("data", "20Gi")], Phase::RollingOut);
    assert_eq!(found, staged(text));
    assert_eq!(
        remarks.warnings,
        [
            "claim-rollout: staged data 10Gi -> 20Gi; 3 PVCs will be updated in place, highest ordinal first (kubectl claim-rollout status web)"
        ]
    );
    assert_eq!(remarks.audit.len(), 1);
}

#[test]
fn u3_annotation_overrides_default_update_policy() {
    let old = annotated(set(&[template("data", "10Gi")]), keys::UPDATE_POLICY, "OnDelete");
    let new = annotated(set(&[template("data", "20Gi")]), keys::UPDATE_POLICY, "OnDelete");
    let Verdict::Stage(found, remarks) = decide(&update(&old, &new)) else {
        panic!()
    };
    let Edit::SetAnnotation(_, text) = &found[1] else {
        panic!()
    };
    assert_eq!(
        StagedChange::read(text, UID).expect("valid").update_policy,
        UpdatePolicy::OnClaimDelete
    );
    assert!(
        remarks.warnings[0].contains("existing PVCs stay as they are"),
        "{}",
        remarks.warnings[0]
    );
}

#[test]
fn u3_second_change_is_compared_with_staged_change() {
    let old = annotated(
        set(&[template("data", "10Gi")]),
        keys::STAGED,
        &staged_change(&[template("data", "20Gi")], Phase::RollingOut),
    );
    let grown = set(&[template("data", "30Gi")]);
    let text = staged_change(&[template("data", "30Gi")], Phase::RollingOut);
    assert_eq!(edits(decide(&update(&old, &grown))), staged(text));
    let (code, message) = denial(decide(&update(&old, &set(&[template("data", "15Gi")]))));
    assert_eq!(code, 403);
    assert!(
        message.contains("cannot shrink, expected at least 20Gi, but found 15Gi"),
        "{message}"
    );
}

#[test]
fn u3_reordered_templates_are_restored_and_not_staged() {
    let old = set(&[template("data", "10Gi"), template("log", "1Gi")]);
    let new = set(&[template("log", "1Gi"), template("data", "10Gi")]);
    assert_eq!(edits(decide(&update(&old, &new))), [Edit::RestoreTemplates]);
    let grown = set(&[template("log", "2Gi"), template("data", "10Gi")]);
    let text = staged_change(&[template("data", "10Gi"), template("log", "2Gi")], Phase::RollingOut);
    assert_eq!(edits(decide(&update(&old, &grown))), staged(text));
}

#[test]
fn u3_denial_names_each_fault_and_allowed_changes() {
    let mut other = template("data", "5Gi");
    other["spec"]["accessModes"] = json!(["ReadWriteMany"]);
    other["spec"]["storageClassName"] = "fast".into();
    let old = set(&[template("data", "10Gi"), template("log", "1Gi")]);
    let (code, message) = denial(decide(&update(&old, &set(&[other, template("new", "1Gi")]))));
    assert_eq!(code, 403);
    assert_eq!(
        message,
        "claim-rollout: spec.volumeClaimTemplates[new]: a template cannot be added; \
         spec.volumeClaimTemplates[log]: a template cannot be removed or renamed; \
         spec.volumeClaimTemplates[data].spec.accessModes: cannot change, expected [\"ReadWriteOnce\"], but found [\"ReadWriteMany\"]; \
         spec.volumeClaimTemplates[data].spec.storageClassName: cannot change, expected nothing, but found \"fast\"; \
         spec.volumeClaimTemplates[data].spec.resources.requests.storage: cannot shrink, expected at least 10Gi, but found 5Gi; \
         allowed changes: spec.resources.requests.storage (larger only), spec.volumeAttributesClassName, metadata.labels and \
         metadata.annotations"
    );
}

#[test]
fn u3_reserved_keys_are_denied_and_chart_keys_allowed() {
    let labelled = |key: &str, value: &str| {
        let mut template = template("data", "10Gi");
        template["metadata"]["labels"] = json!({ key: value });
        set(&[template])
    };
    for key in [
        "kubernetes.io/x",
        "volume.kubernetes.io/selected-node",
        "pv.kubernetes.io/bind-completed",
        "resize.kubernetes.io/x",
        "volume.beta.kubernetes.io/storage-class",
        "scheduling.x.k8s.io/x",
        "k8s.io/x",
        "claim-rollout.io/revision",
        "x.claim-rollout.io/x",
    ] {
        let (code, message) = denial(decide(&update(&labelled(key, "a"), &labelled(key, "b"))));
        let path = format!("spec.volumeClaimTemplates[data].metadata.labels[{key}]: is reserved, expected no change");
        assert_eq!((code, message.contains(&path)), (403, true), "{message}");
        assert_eq!(
            decide(&update(&labelled(key, "a"), &labelled(key, "a"))),
            Verdict::PASS,
            "{key} existed before"
        );
    }
    for key in [
        "app.kubernetes.io/version",
        "helm.sh/chart",
        "tier",
        "mykubernetes.io/x",
    ] {
        let verdict = decide(&update(&labelled(key, "a"), &labelled(key, "b")));
        assert!(matches!(verdict, Verdict::Stage(..)), "{key}: {verdict:?}");
    }
}

#[test]
fn u3_impossible_size_is_denied() {
    let old = set(&[template("data", "10Gi")]);
    for (size, fault) in [
        (
            "9223372036854775808",
            "expected at most 9223372036854775807 bytes, but found 9223372036854775808",
        ),
        ("8Ei", "expected at most 9223372036854775807 bytes, but found 8Ei"),
        (
            "1e9999999999",
            "expected a quantity with an exponent of at most 32 bits",
        ),
        ("20 Gi", "expected a quantity such as 10Gi"),
    ] {
        let (code, message) = denial(decide(&update(&old, &set(&[template("data", size)]))));
        assert_eq!(code, 403);
        assert!(message.contains(fault), "{message}");
    }
}

#[test]
fn u3_invalid_claim_name_and_too_long_templates_are_denied() {
    let old = set(&[template("Data", "10Gi")]);
    let (code, message) = denial(decide(&update(&old, &set(&[template("Data", "20Gi")]))));
    assert_eq!(
        (code, message.contains("metadata.name: expected a template name")),
        (403, true),
        "{message}"
    );
    let mut long = template("data", "20Gi");
    long["metadata"]["labels"] = json!({"a": "x".repeat(9000)});
    let (code, message) = denial(decide(&update(&set(&[template("data", "10Gi")]), &set(&[long]))));
    assert_eq!(
        (code, message.contains("expected at most 8192 bytes")),
        (403, true),
        "{message}"
    );
}
