mod answered;
mod obstacles;
mod recreation;
mod replacing;
mod scaled;
mod world;

use serde_json::json;

use self::world::{PlanWorld, allowed, lines, manifest, outcome};
use crate::cli::plan::report::{PlanOutcome, PlannedAction, PodOutcome};

#[test]
fn plan_growth_updates_highest_ordinal_first() {
    let report = PlanWorld::new().apply("2Gi", "m:1");
    let verdict = report.verdict.clone().expect("a verdict");
    assert_eq!((verdict.outcome, verdict.message), (PlanOutcome::Staged, None));
    assert_eq!(
        verdict.warnings,
        [
            "claim-rollout: staged data 1Gi -> 2Gi; 3 PVCs will be updated in place, highest ordinal first (kubectl claim-rollout status web -n shop)"
        ]
    );
    assert_eq!(
        lines(&report),
        [
            "1 data-web-2 1Gi>2Gi Update",
            "2 data-web-1 1Gi>2Gi Update",
            "3 data-web-0 1Gi>2Gi Update",
        ]
    );
    assert_eq!((report.pods, report.goes_through), (PodOutcome::KeepRunning, true));
    assert_eq!(
        (report.obstacles, report.notes),
        (Vec::<String>::new(), Vec::<String>::new())
    );
}

#[test]
fn plan_new_image_replaces_pods_after_their_claims() {
    let mut world = PlanWorld::new();
    let report = world.apply("2Gi", "m:2");
    assert_eq!(report.pods, PodOutcome::AfterTheirClaims);
    assert_eq!(lines(&report)[0], "1 data-web-2 1Gi>2Gi Update pod");
    assert_eq!(lines(&report)[2], "3 data-web-0 1Gi>2Gi Update pod");
    assert!(report.goes_through);

    let mut partition = manifest("2Gi", "m:2");
    partition["spec"]["updateStrategy"] = json!({"rollingUpdate": {"partition": 2}});
    let report = world.plan(Some(&partition)).expect("a plan");
    assert_eq!(
        lines(&report),
        [
            "1 data-web-2 1Gi>2Gi Update pod",
            "- data-web-1 1Gi>2Gi Held",
            "- data-web-0 1Gi>2Gi Held",
        ]
    );

    let mut apart = manifest("2Gi", "m:2");
    apart["metadata"]["annotations"]["claim-rollout.io/sync"] = json!("Async");
    assert_eq!(world.plan(Some(&apart)).expect("a plan").pods, PodOutcome::ByThemselves);
    assert_eq!(
        world.apply("1Gi", "m:2").pods,
        PodOutcome::ByThemselves,
        "nothing is staged"
    );
    world.set()["spec"]["updateStrategy"] = json!({"type": "OnDelete"});
    let report = world.apply("2Gi", "m:2");
    assert_eq!(
        (report.pods, lines(&report)[0].as_str()),
        (PodOutcome::WhenDeleted, "- data-web-2 1Gi>2Gi Held")
    );
}

#[test]
fn plan_renamed_template_evicts_pods_and_names_what_is_left() {
    let mut world = PlanWorld::new();
    world.settings = json!({
        "templateChanges": "Allow", "defaultReplaceSet": "WhenComplete", "defaultUpdatePolicy": "InPlace",
        "authority": "TrustSetEditors",
    });
    let mut renamed = manifest("1Gi", "m:1");
    renamed["spec"]["volumeClaimTemplates"][0]["metadata"]["name"] = json!("store");
    let report = world.plan(Some(&renamed)).expect("a plan");
    assert_eq!(outcome(&report), PlanOutcome::Staged, "{report:?}");
    assert_eq!((report.pods, lines(&report)), (PodOutcome::AfterTheReplacement, vec![]));
    assert!(report.replacement.is_some(), "{report:?}");
    let note = "template data would be removed; its PVCs stay, and nothing manages them any more: data-web-0, \
                data-web-1, data-web-2";
    assert_eq!(report.notes, [note]);

    // One more template: existing PVCs follow, and Pods with a new image wait.
    let mut more = manifest("2Gi", "m:2");
    let mut logs = more["spec"]["volumeClaimTemplates"][0].clone();
    logs["metadata"]["name"] = json!("logs");
    more["spec"]["volumeClaimTemplates"]
        .as_array_mut()
        .expect("a list")
        .push(logs);
    let report = world.plan(Some(&more)).expect("a plan");
    assert_eq!(report.pods, PodOutcome::AfterTheReplacement);
    assert_eq!(
        lines(&report),
        [
            "1 data-web-2 1Gi>2Gi Update pod",
            "2 data-web-1 1Gi>2Gi Update pod",
            "3 data-web-0 1Gi>2Gi Update pod",
        ]
    );
    assert_eq!(report.notes, [""; 0]);
}

#[test]
fn plan_same_manifest_has_nothing_to_do() {
    let mut world = PlanWorld::new();
    let report = world.apply("1Gi", "m:1");
    assert_eq!(
        (outcome(&report), report.is_nothing_to_do()),
        (PlanOutcome::Unchanged, true)
    );
    world.stage("2Gi");
    let report = world.apply("2Gi", "m:1");
    assert_eq!(
        (outcome(&report), report.is_nothing_to_do()),
        (PlanOutcome::AlreadyStaged, false)
    );
    assert_eq!(lines(&report).len(), 3);
}

#[test]
fn plan_older_manifest_withdraws_the_staged_change() {
    let mut world = PlanWorld::new();
    world.stage("2Gi");
    let report = world.apply("1Gi", "m:1");
    assert_eq!((outcome(&report), lines(&report).len()), (PlanOutcome::Withdrawn, 0));
    world.manager = "helm";
    assert_eq!(
        outcome(&world.apply("1Gi", "m:1")),
        PlanOutcome::Unchanged,
        "somebody else's apply"
    );
}

#[test]
fn plan_denial_has_the_message_of_the_policy() {
    let mut world = PlanWorld::new();
    for (change, part) in [
        (
            "/spec/volumeClaimTemplates/0/spec/storageClassName",
            "spec.volumeClaimTemplates[data].spec.storageClassName",
        ),
        (
            "/metadata/annotations/claim-rollout.io~1update-policy",
            "expected one of OnClaimDelete, InPlace, but found other",
        ),
    ] {
        let mut manifest = manifest("2Gi", "m:1");
        *manifest.pointer_mut(change).expect(change) = json!("other");
        let report = world.plan(Some(&manifest)).expect("a plan");
        let message = report
            .verdict
            .clone()
            .and_then(|verdict| verdict.message)
            .expect(change);
        assert!(message.contains(part), "{message}");
        assert_eq!(
            (report.goes_through, lines(&report).len(), outcome(&report)),
            (false, 0, PlanOutcome::Refused)
        );
    }
    world.objects[0] = allowed(false);
    let message = world
        .apply("2Gi", "m:1")
        .verdict
        .and_then(|verdict| verdict.message)
        .expect("a denial");
    assert!(message.contains("cannot patch persistentvolumeclaims"), "{message}");
}

#[test]
fn plan_without_manifest_continues_the_staged_change() {
    let mut world = PlanWorld::new();
    let report = world.plan(None).expect("a plan");
    assert_eq!((report.verdict.clone(), report.is_nothing_to_do()), (None, true));
    world.stage("2Gi");
    let revision = world.plan(None).expect("a plan").target.expect("a target").revision;
    let claim = world.object("PersistentVolumeClaim", "data-web-2");
    claim["metadata"]["labels"]["claim-rollout.io/revision"] = json!(format!("{revision}.xz245"));
    claim["spec"]["resources"]["requests"]["storage"] = json!("2Gi");
    assert_eq!(
        lines(&world.plan(None).expect("a plan")),
        [
            "- data-web-2 2Gi>- Wait",
            "1 data-web-1 1Gi>2Gi Update",
            "2 data-web-0 1Gi>2Gi Update"
        ]
    );
    world.set()["metadata"]["annotations"]["claim-rollout.io/paused"] = json!("true");
    let report = world.plan(None).expect("a plan");
    assert_eq!(
        (report.count(PlannedAction::Held), report.notes),
        (2, vec!["paused: nothing new is started".to_owned()])
    );
    world.objects.retain(|object| object["kind"] != "StatefulSet");
    assert_eq!(
        world.plan(None).expect_err("no set").to_string(),
        "StatefulSet web not found in namespace shop"
    );
}

#[test]
fn plan_on_claim_delete_lists_no_claims() {
    let mut manifest = manifest("2Gi", "m:1");
    manifest["metadata"]["annotations"] = json!({});
    let report = PlanWorld::new().plan(Some(&manifest)).expect("a plan");
    let target = report.target.clone().expect("a target");
    assert_eq!(
        (
            target.update_policy.as_str(),
            target.idle.as_deref(),
            target.reason,
            lines(&report).len(),
            report.goes_through
        ),
        (
            "OnClaimDelete",
            Some("Only PVCs created from now on get the new templates"),
            Some("OnClaimDelete"),
            0,
            true
        )
    );
}

#[test]
fn plan_missing_set_would_be_created() {
    let mut world = PlanWorld::new();
    world.objects.retain(|object| object["kind"] != "StatefulSet");
    let report = world.apply("2Gi", "m:1");
    assert_eq!(
        (outcome(&report), report.goes_through, lines(&report).len()),
        (PlanOutcome::Created, true, 0)
    );
}

#[test]
fn plan_without_access_review_is_noted() {
    let mut world = PlanWorld::new();
    world.objects.remove(0);
    let report = world.apply("2Gi", "m:1");
    assert!(report.goes_through);
    assert_eq!(
        report.notes,
        ["not checked whether the requester may change PVCs: no SubjectAccessReview was given"]
    );
}
