//! Rows U1 (withdrawal) and U5.

use serde_json::{Value, json};

use super::{FakeCluster, annotated, decide, decide_with, denial, edits, set, staged_change, template, update};
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

/// Checks that the change was withdrawn for this reason, and returns the edits.
fn withdrawn(verdict: Verdict, by: &str) -> Vec<Edit> {
    let Verdict::Stage(edits, remarks) = verdict else {
        panic!("expected Stage, but found {verdict:?}")
    };
    assert_eq!(
        remarks.warnings,
        ["claim-rollout: withdrew data 10Gi -> 20Gi; updated PVCs stay as they are"]
    );
    assert_eq!(remarks.audit[0].0, "withdrawn");
    assert_eq!(remarks.audit[1], ("withdrawn-by", by.to_owned()));
    edits
}

#[test]
fn u1_withdraw_annotation_with_revision_is_applied_and_removed() {
    let (old, revision) = staged();
    let new = annotated(old.clone(), keys::WITHDRAW, &revision);
    let warnings_of = |verdict: Verdict| match verdict {
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
    let warnings = warnings_of(decide(&update(&old, &instead)));
    assert!(
        warnings
            .iter()
            .any(|line| line.starts_with("claim-rollout: nothing was withdrawn")),
        "also with other templates: {warnings:?}"
    );
    let mut again = new;
    again["spec"]["volumeClaimTemplates"][0] = template("data", "20Gi");
    assert_eq!(
        warnings_of(decide(&update(&old, &again))),
        [format!(
            "claim-rollout: nothing was withdrawn: the request itself asks for the templates of {revision}"
        )]
    );
    let bare = set(&[template("data", "10Gi")]);
    assert_eq!(
        warnings_of(decide(&update(
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
fn u1_client_side_apply_of_live_templates_withdraws() {
    let (old, _) = staged();
    let removed = [Edit::no_annotation(keys::STAGED)];
    let before = applied(old.clone(), "20Gi");
    assert_eq!(
        withdrawn(
            decide(&update(&before, &applied(old.clone(), "10240Mi"))),
            "client-side apply"
        ),
        removed
    );
    for (sentence, before, after) in [
        (
            "the previous apply had the live templates",
            applied(old.clone(), "10Gi"),
            applied(old.clone(), "10Gi"),
        ),
        (
            "the apply has other templates",
            applied(old.clone(), "20Gi"),
            applied(old.clone(), "30Gi"),
        ),
        ("no previous apply", old.clone(), applied(old.clone(), "10Gi")),
        (
            "the annotation of the apply is removed",
            applied(old.clone(), "20Gi"),
            old.clone(),
        ),
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
fn u1_server_side_apply_of_live_templates_withdraws() {
    let (old, _) = staged();
    let helm = |owns: &str| managed(old.clone(), "helm", "Apply", owns);
    let removed = [Edit::no_annotation(keys::STAGED)];
    let withdrawn = |verdict: Verdict| withdrawn(verdict, "server-side apply");
    let templates = "f:volumeClaimTemplates";
    let same = helm(templates);
    assert_eq!(
        withdrawn(decide(&update(&same, &same))),
        removed,
        "nothing else changes"
    );
    let mut more = same.clone();
    more["spec"]["replicas"] = 5.into();
    let within_a_second = more.clone();
    assert_eq!(
        withdrawn(decide(&update(&same, &within_a_second))),
        removed,
        "the entry is the same"
    );
    more["metadata"]["managedFields"][1]["fieldsV1"]["f:spec"]["f:replicas"] = json!({});
    assert_eq!(withdrawn(decide(&update(&same, &more))), removed, "the entry changes");
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
        removed,
        "the manager made an update before"
    );

    let mut scaled = updated(&same, "1");
    scaled["spec"]["replicas"] = 6.into();
    for (sentence, before, after) in [
        ("a plain update by the same manager", same.clone(), scaled.clone()),
        ("a plain update of applied fields", more.clone(), scaled.clone()),
        ("a second update within a second", updated(&same, "1"), scaled.clone()),
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
            "not an apply",
            managed(old.clone(), "helm", "Update", templates),
            managed(old.clone(), "helm", "Update", templates),
        ),
    ] {
        assert_eq!(decide(&update(&before, &after)), Verdict::PASS, "{sentence}");
    }
}

#[test]
fn u1_server_side_apply_differs_from_unrelated_updates() {
    let (old, _) = staged();
    let removed = [Edit::no_annotation(keys::STAGED)];
    let other = managed(old.clone(), "argocd", "Apply", "f:volumeClaimTemplates");
    let mut by_another = update(&other, &other);
    by_another["options"]["fieldManager"] = "argocd".into();
    assert_eq!(
        decide(&by_another),
        Verdict::PASS,
        "another manager asked for the staged change"
    );
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
        removed,
        "an apply to the status is unrelated"
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
        "an update before managedFields"
    );
    let long = "a".repeat(2000);
    assert_eq!(
        withdrawn(
            decide(&update(&noted(&long, "1"), &noted(&long, "2"))),
            "server-side apply"
        ),
        removed,
        "only managedFields change"
    );
}

#[test]
fn u5_switch_to_in_place_stages_live_templates() {
    let settings = r#"{"authority":"RequirePatchOnPVCs"}"#;
    let old = set(&[template("data", "10Gi"), template("log", "1Gi")]);
    let new = annotated(old.clone(), keys::UPDATE_POLICY, "InPlace");
    let mut cluster = FakeCluster::of(vec![]);
    let Verdict::Stage(edits, remarks) = decide_with(&update(&old, &new), settings, &mut cluster) else {
        panic!()
    };
    let text = staged_change(&[template("data", "10Gi"), template("log", "1Gi")], Phase::RollingOut);
    assert_eq!(edits, super::staged(text)[1..]);
    assert_eq!(
        remarks.warnings,
        [
            "claim-rollout: staged the live templates; 6 PVCs will be updated in place, highest ordinal first (kubectl \
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
        let recreate = annotated(old.clone(), keys::UPDATE_POLICY, "ReCreate");
        let verdict = decide_with(&update(&off, &recreate), &settings, &mut NoCluster);
        assert_eq!(matches!(verdict, Verdict::Stage(..)), touched, "{verdict:?}");
    }
    let switched_off = update(&new, &annotated(old.clone(), keys::UPDATE_POLICY, "OnClaimDelete"));
    assert_eq!(decide_with(&switched_off, settings, &mut NoCluster), Verdict::PASS);
    // No switch: InPlace was in force by default.
    let default = r#"{"defaultUpdatePolicy":"InPlace"}"#;
    assert_eq!(decide_with(&update(&old, &new), default, &mut NoCluster), Verdict::PASS);
}

#[test]
fn u5_switch_to_in_place_without_right_is_denied() {
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
    // With the live templates, and with the desired templates.
    let mut again = new.clone();
    again["spec"]["volumeClaimTemplates"][0] = template("data", "20Gi");
    for new in [&new, &again] {
        let mut cluster = FakeCluster {
            answer: Ok(false),
            ..FakeCluster::of(vec![])
        };
        assert_eq!(denial(decide_with(&update(&old, new), "{}", &mut cluster)).0, 403);
    }
    let allowed = |new: &Value| decide_with(&update(&old, new), "{}", &mut FakeCluster::of(vec![]));
    let Verdict::Pass(remarks) = allowed(&new) else {
        panic!("expected Pass")
    };
    let expected = "claim-rollout: staged data 10Gi -> 20Gi; 3 PVCs will be updated in place, highest ordinal first (kubectl \
                    claim-rollout status web)";
    assert_eq!(remarks.warnings, [expected]);
    assert_eq!(edits(allowed(&again)), [Edit::RestoreTemplates]);
}

#[test]
fn u5_failed_authority_check_stages_nothing() {
    let old = set(&[template("data", "10Gi")]);
    let new = annotated(old.clone(), keys::UPDATE_POLICY, "InPlace");
    let mut cluster = FakeCluster {
        answer: Err(CannotAsk("not granted".to_owned())),
        ..FakeCluster::of(vec![])
    };
    assert_eq!(denial(decide_with(&update(&old, &new), "{}", &mut cluster)).0, 403);
}
