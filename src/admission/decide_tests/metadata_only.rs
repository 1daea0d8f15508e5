//! The setting `metadataOnlyChanges`.

use serde_json::{Value, json};

use super::{annotated, decide_with, denial, edits, set, staged_change, template, update};
use crate::admission::{Edit, NoCluster, Verdict};
use crate::templates::{Phase, StagedChange, keys};

fn labelled(size: &str, value: &str) -> Value {
    let mut template = template("data", size);
    template["metadata"]["labels"] = json!({"helm.sh/chart": value});
    template
}

#[test]
fn metadata_only_changes_are_staged_ignored_or_denied() {
    let with = |value: &str| format!(r#"{{"authority":"TrustSetEditors","metadataOnlyChanges":"{value}"}}"#);
    let old = set(&[labelled("10Gi", "web-1.0")]);
    let new = set(&[labelled("10Gi", "web-1.1")]);
    let staged = edits(decide_with(&update(&old, &new), &with("Rollout"), &mut NoCluster));
    assert_eq!(staged.len(), 3, "{staged:?}");

    let Verdict::Stage(ignored, remarks) = decide_with(&update(&old, &new), &with("Ignore"), &mut NoCluster) else {
        panic!()
    };
    assert_eq!(ignored, [Edit::RestoreTemplates]);
    assert_eq!(
        remarks.warnings,
        ["claim-rollout: ignored changed labels and annotations of data (setting metadataOnlyChanges: Ignore)"]
    );
    let annotated = |value: &str| {
        let mut template = labelled("10Gi", "web-1.0");
        template["metadata"]["annotations"] = json!({"note": value});
        set(&[template])
    };
    let only_annotations = update(&annotated("a"), &annotated("b"));
    let Verdict::Stage(ignored, also) = decide_with(&only_annotations, &with("Ignore"), &mut NoCluster) else {
        panic!()
    };
    assert_eq!((ignored, also), (vec![Edit::RestoreTemplates], remarks));
    // Together with a growth, the labels do not change and the size is staged.
    let both = update(&old, &set(&[labelled("20Gi", "web-1.1")]));
    let found = edits(decide_with(&both, &with("Ignore"), &mut NoCluster));
    let Edit::SetAnnotation(_, text) = &found[1] else {
        panic!("{found:?}")
    };
    let desired = StagedChange::read(text, super::UID).expect("valid").templates;
    assert_eq!(
        desired[0].labels.get("helm.sh/chart").map(String::as_str),
        Some("web-1.0")
    );

    let (code, message) = denial(decide_with(&update(&old, &new), &with("Deny"), &mut NoCluster));
    let path =
        "spec.volumeClaimTemplates[data].metadata.labels[helm.sh/chart]: cannot change while the policy's setting";
    assert_eq!((code, message.contains(path)), (403, true), "{message}");
    let allowed = "allowed changes: spec.resources.requests.storage (larger only) and spec.volumeAttributesClassName";
    assert!(message.ends_with(allowed), "{message}");
}

#[test]
fn u1_chart_returns_with_another_version_in_labels() {
    let settings = r#"{"authority":"TrustSetEditors","pvcChecks":"Off","metadataOnlyChanges":"Ignore"}"#;
    let applied = |mut set: Value, size: &str, version: &str| {
        let manifest = json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "web"},
            "spec": {"volumeClaimTemplates": [labelled(size, version)]}});
        set["metadata"]["annotations"]["kubectl.kubernetes.io/last-applied-configuration"] =
            manifest.to_string().into();
        set
    };
    let text = staged_change(&[labelled("20Gi", "web-1.0")], Phase::RollingOut);
    let old = annotated(set(&[labelled("10Gi", "web-1.0")]), keys::STAGED, &text);
    let new = annotated(set(&[labelled("10Gi", "web-1.2")]), keys::STAGED, &text);
    let review = update(&applied(old, "20Gi", "web-1.1"), &applied(new, "10Gi", "web-1.2"));
    let Verdict::Stage(edits, remarks) = decide_with(&review, settings, &mut NoCluster) else {
        panic!()
    };
    assert_eq!(edits, [Edit::RestoreTemplates, Edit::no_annotation(keys::STAGED)]);
    assert!(
        remarks.warnings[0].starts_with("claim-rollout: withdrew data 10Gi -> 20Gi"),
        "{remarks:?}"
    );
    assert!(
        remarks.warnings[1].starts_with("claim-rollout: ignored changed labels"),
        "{remarks:?}"
    );
}
