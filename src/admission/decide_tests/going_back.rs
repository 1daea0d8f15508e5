//! Row U1, the withdrawal; U5; and `metadataOnlyChanges`.

use serde_json::{Value, json};

use super::{Cluster, annotated, decide, decide_with, denial, edits, set, staged_change, template, update};
use crate::admission::{CannotAsk, Edit, NoCluster, Verdict};
use crate::templates::{Phase, StagedChange, UpdatePolicy, keys};

fn staged() -> (Value, String) {
    let text = staged_change(&[template("data", "20Gi")], Phase::RollingOut);
    let revision = StagedChange::read(&text, super::UID)
        .expect("valid")
        .revision()
        .to_string();
    (
        annotated(set(&[template("data", "10Gi")]), keys::STAGED, &text),
        revision,
    )
}

/// What is edited, and by what it was withdrawn.
fn withdrawn(verdict: Verdict, by: &str) -> Vec<Edit> {
    let Verdict::Stage(edits, remarks) = verdict else {
        panic!("expected Stage, but found {verdict:?}")
    };
    assert_eq!(
        remarks.warnings,
        ["claim-rollout: withdrew data 10Gi -> 20Gi; claims that were updated already stay as they are"]
    );
    assert_eq!(remarks.audit[0].0, "withdrawn");
    assert_eq!(remarks.audit[1], ("withdrawn-by", by.to_owned()));
    edits
}

#[test]
fn u1_a_withdrawal_names_the_revision_and_is_consumed() {
    let (old, revision) = staged();
    let new = annotated(old.clone(), keys::WITHDRAW, &revision);
    let told = |verdict: Verdict| match verdict {
        Verdict::Stage(_, remarks) => remarks.warnings,
        other => panic!("expected Stage, but found {other:?}"),
    };
    let expected = [Edit::no_annotation(keys::STAGED), Edit::no_annotation(keys::WITHDRAW)];
    assert_eq!(withdrawn(decide(&update(&old, &new)), "annotation"), expected);

    let wrong = annotated(old.clone(), keys::WITHDRAW, "another");
    let Verdict::Stage(edits, remarks) = decide(&update(&old, &wrong)) else {
        panic!()
    };
    assert_eq!(edits, [Edit::no_annotation(keys::WITHDRAW)]);
    assert_eq!(
        remarks.warnings,
        [format!(
            "claim-rollout: nothing was withdrawn: expected {revision}, but found another"
        )]
    );
    let mut instead = wrong;
    instead["spec"]["volumeClaimTemplates"][0] = template("data", "30Gi");
    let warnings = told(decide(&update(&old, &instead)));
    assert!(
        warnings
            .iter()
            .any(|line| line.starts_with("claim-rollout: nothing was withdrawn")),
        "also beside a new wish: {warnings:?}"
    );
    let mut again = new;
    again["spec"]["volumeClaimTemplates"][0] = template("data", "20Gi");
    assert_eq!(
        told(decide(&update(&old, &again))),
        [format!(
            "claim-rollout: nothing was withdrawn: the request itself asks for the templates of {revision}"
        )]
    );
    let bare = set(&[template("data", "10Gi")]);
    assert_eq!(
        told(decide(&update(
            &bare,
            &annotated(bare.clone(), keys::WITHDRAW, &revision)
        ))),
        ["claim-rollout: nothing was withdrawn: nothing is staged"]
    );
}

fn applied(mut set: Value, size: &str) -> Value {
    let manifest = json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "web"},
        "spec": {"volumeClaimTemplates": [template("data", size)]}});
    set["metadata"]["annotations"]["kubectl.kubernetes.io/last-applied-configuration"] = manifest.to_string().into();
    set
}

#[test]
fn u1_client_side_apply_goes_back_when_what_it_applied_does() {
    let (old, _) = staged();
    let gone = [Edit::no_annotation(keys::STAGED)];
    let before = applied(old.clone(), "20Gi");
    assert_eq!(
        withdrawn(
            decide(&update(&before, &applied(old.clone(), "10240Mi"))),
            "client-side apply"
        ),
        gone
    );
    for (sentence, before, after) in [
        (
            "it applied the live templates already",
            applied(old.clone(), "10Gi"),
            applied(old.clone(), "10Gi"),
        ),
        (
            "it applies something third",
            applied(old.clone(), "20Gi"),
            applied(old.clone(), "30Gi"),
        ),
        ("it applied nothing before", old.clone(), applied(old.clone(), "10Gi")),
        ("it drops what it applied", applied(old.clone(), "20Gi"), old.clone()),
    ] {
        assert_eq!(decide(&update(&before, &after)), Verdict::PASS, "{sentence}");
    }
}

fn managed(mut set: Value, manager: &str, operation: &str, owns: &str) -> Value {
    set["metadata"]["managedFields"] = json!([
        {"manager": "kube-controller-manager", "operation": "Update", "subresource": "status", "fieldsV1": {"f:status": {}}},
        {"manager": manager, "operation": operation, "fieldsV1": {"f:spec": {owns: {}}}},
    ]);
    set
}

#[test]
fn u1_server_side_apply_goes_back_when_the_manager_of_the_wish_applies_the_live_templates() {
    let (old, _) = staged();
    let helm = |owns: &str| managed(old.clone(), "helm", "Apply", owns);
    let gone = [Edit::no_annotation(keys::STAGED)];
    let withdrawn = |verdict: Verdict| withdrawn(verdict, "server-side apply");
    let templates = "f:volumeClaimTemplates";
    let same = helm(templates);
    assert_eq!(withdrawn(decide(&update(&same, &same))), gone, "nothing else changes");
    let mut more = same.clone();
    more["spec"]["replicas"] = 5.into();
    let within_a_second = more.clone();
    assert_eq!(
        withdrawn(decide(&update(&same, &within_a_second))),
        gone,
        "its entry is the same"
    );
    more["metadata"]["managedFields"][1]["fieldsV1"]["f:spec"]["f:replicas"] = json!({});
    assert_eq!(withdrawn(decide(&update(&same, &more))), gone, "its entry changes");
    let updated = |set: &Value, time: &str| {
        let mut set = set.clone();
        let entry =
            json!({"manager": "helm", "operation": "Update", "time": time, "fieldsV1": {"f:spec": {"f:replicas": {}}}});
        let entries = set["metadata"]["managedFields"].as_array_mut().expect("a list");
        entries.push(entry);
        set
    };
    let [before, after] = [&same, &more].map(|set| updated(set, "1"));
    assert_eq!(
        withdrawn(decide(&update(&before, &after))),
        gone,
        "it made an update before"
    );

    let mut scaled = updated(&same, "1");
    scaled["spec"]["replicas"] = 6.into();
    for (sentence, before, after) in [
        ("a plain update under the same name", same.clone(), scaled.clone()),
        ("a plain update of what it applied", more.clone(), scaled.clone()),
        ("one more update within a second", updated(&same, "1"), scaled.clone()),
        ("a later update", updated(&same, "0"), scaled),
        (
            "the apply leaves the templates out",
            helm(templates),
            helm("f:replicas"),
        ),
        (
            "another manager applies",
            managed(old.clone(), "argocd", "Apply", templates),
            managed(old.clone(), "argocd", "Apply", templates),
        ),
        (
            "it is no apply",
            managed(old.clone(), "helm", "Update", templates),
            managed(old.clone(), "helm", "Update", templates),
        ),
    ] {
        assert_eq!(decide(&update(&before, &after)), Verdict::PASS, "{sentence}");
    }
}

#[test]
fn u1_server_side_apply_is_told_from_what_is_done_beside_it() {
    let (old, _) = staged();
    let gone = [Edit::no_annotation(keys::STAGED)];
    let other = managed(old.clone(), "argocd", "Apply", "f:volumeClaimTemplates");
    let mut by_another = update(&other, &other);
    by_another["options"]["fieldManager"] = "argocd".into();
    assert_eq!(decide(&by_another), Verdict::PASS, "the wish was not this manager's");
    let same = managed(old, "helm", "Apply", "f:volumeClaimTemplates");
    let mut elsewhere = same.clone();
    let status =
        json!({"manager": "helm", "operation": "Apply", "subresource": "status", "fieldsV1": {"f:status": {}}});
    elsewhere["metadata"]["managedFields"]
        .as_array_mut()
        .expect("a list")
        .push(status);
    assert_eq!(
        withdrawn(decide(&update(&elsewhere, &elsewhere)), "server-side apply"),
        gone,
        "what it applies to the status is something else"
    );
    let noted = |value: &str, time: &str| {
        let mut set = same.clone();
        set["metadata"]["annotations"]["a"] = value.into();
        let update = json!({"manager": "helm", "operation": "Update", "time": time, "fieldsV1": {"f:metadata": {}}});
        set["metadata"]["managedFields"]
            .as_array_mut()
            .expect("a list")
            .push(update);
        set
    };
    assert_eq!(
        decide(&update(&noted("a", "1"), &noted("b", "1"))),
        Verdict::PASS,
        "an update of what stands before the managers"
    );
    let long = "a".repeat(2000);
    assert_eq!(
        withdrawn(
            decide(&update(&noted(&long, "1"), &noted(&long, "2"))),
            "server-side apply"
        ),
        gone,
        "nothing but the managers changes"
    );
}

#[test]
fn u5_the_switch_to_in_place_stages_what_the_set_has() {
    let settings = r#"{"authority":"RequirePatchOnPVCs"}"#;
    let old = set(&[template("data", "10Gi"), template("log", "1Gi")]);
    let new = annotated(old.clone(), keys::UPDATE_POLICY, "InPlace");
    let mut cluster = Cluster::of(vec![]);
    let Verdict::Stage(edits, remarks) = decide_with(&update(&old, &new), settings, &mut cluster) else {
        panic!()
    };
    let text = staged_change(&[template("data", "10Gi"), template("log", "1Gi")], Phase::RollingOut);
    assert_eq!(edits, super::staged(text)[1..]);
    assert_eq!(
        remarks.warnings,
        [
            "claim-rollout: staged the templates as they are; 6 claims will be updated in place, highest ordinal first (kubectl \
          claim-rollout status web)"
        ]
    );
    assert_eq!(cluster.asked, ["alice dev,ops patch shop/persistentvolumeclaims"]);

    let none = annotated(set(&[]), keys::UPDATE_POLICY, "InPlace");
    assert_eq!(
        decide_with(&update(&set(&[]), &none), settings, &mut NoCluster),
        Verdict::PASS,
        "no templates"
    );
    for (allowed, touched) in [(true, true), (false, false)] {
        let settings = format!(r#"{{"authority":"TrustSetEditors","allowReCreate":{allowed}}}"#);
        let off = annotated(old.clone(), keys::UPDATE_POLICY, "OnClaimDelete");
        let anew = annotated(old.clone(), keys::UPDATE_POLICY, "ReCreate");
        let verdict = decide_with(&update(&off, &anew), &settings, &mut NoCluster);
        assert_eq!(matches!(verdict, Verdict::Stage(..)), touched, "{verdict:?}");
    }
    let switched_off = update(&new, &annotated(old.clone(), keys::UPDATE_POLICY, "OnClaimDelete"));
    assert_eq!(decide_with(&switched_off, settings, &mut NoCluster), Verdict::PASS);
    // A default policy is no switch: InPlace was in force before it was written down.
    let default = r#"{"defaultUpdatePolicy":"InPlace"}"#;
    assert_eq!(decide_with(&update(&old, &new), default, &mut NoCluster), Verdict::PASS);
}

#[test]
fn u5_whoever_makes_a_staged_change_reach_claims_must_be_allowed_to() {
    let mut target = StagedChange::read(
        &staged_change(&[template("data", "20Gi")], Phase::RollingOut),
        super::UID,
    )
    .expect("valid");
    target.update_policy = UpdatePolicy::OnClaimDelete;
    let old = annotated(
        set(&[template("data", "10Gi")]),
        keys::STAGED,
        &target.write().expect("short"),
    );
    let new = annotated(old.clone(), keys::UPDATE_POLICY, "InPlace");
    // Whether the request shows the live templates or those of the wish.
    let mut again = new.clone();
    again["spec"]["volumeClaimTemplates"][0] = template("data", "20Gi");
    for new in [&new, &again] {
        let mut cluster = Cluster {
            answer: Ok(false),
            ..Cluster::of(vec![])
        };
        assert_eq!(denial(decide_with(&update(&old, new), "{}", &mut cluster)).0, 403);
    }
    let allowed = |new: &Value| decide_with(&update(&old, new), "{}", &mut Cluster::of(vec![]));
    let Verdict::Pass(remarks) = allowed(&new) else {
        panic!("kept as it was")
    };
    let expected = "claim-rollout: staged data 10Gi -> 20Gi; 3 claims will be updated in place, highest ordinal first (kubectl \
                    claim-rollout status web)";
    assert_eq!(remarks.warnings, [expected]);
    assert_eq!(edits(allowed(&again)), [Edit::RestoreTemplates]);
}

fn labelled(size: &str, value: &str) -> Value {
    let mut template = template("data", size);
    template["metadata"]["labels"] = json!({"helm.sh/chart": value});
    template
}

#[test]
fn metadata_only_changes_are_rolled_out_ignored_or_refused() {
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
    // Beside a growth, the labels stay as they were and the size is staged.
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
    let allowed = "what can change is spec.resources.requests.storage (larger only) and spec.volumeAttributesClassName";
    assert!(message.ends_with(allowed), "{message}");
}

#[test]
fn u1_a_chart_goes_back_also_with_another_version_in_its_labels() {
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

#[test]
fn what_cannot_be_asked_stages_nothing() {
    let old = set(&[template("data", "10Gi")]);
    let new = annotated(old.clone(), keys::UPDATE_POLICY, "InPlace");
    let mut cluster = Cluster {
        answer: Err(CannotAsk("not granted".to_owned())),
        ..Cluster::of(vec![])
    };
    assert_eq!(denial(decide_with(&update(&old, &new), "{}", &mut cluster)).0, 403);
}
