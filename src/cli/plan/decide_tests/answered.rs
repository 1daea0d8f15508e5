//! The answer of the API server decides: a plan on this side has neither its settings nor its defaults.

use serde_json::json;

use super::world::{PlanWorld, lines, live, manifest, outcome};
use crate::cli::plan::inputs::Decider;
use crate::cli::plan::report::{ClaimReport, PlanOutcome, PlanReport, PodOutcome};
use crate::cli::plan::request::RequestAnswer;

fn answered(stored: Result<serde_json::Value, &str>) -> Decider {
    Decider::Server(RequestAnswer {
        stored: stored.map_err(str::to_owned),
        warnings: vec!["of the API server".to_owned()],
    })
}

fn why_here(report: &PlanReport) -> Option<&str> {
    report.verdict.as_ref()?.decided_here.as_deref()
}

#[test]
fn plan_denied_by_the_api_server_is_refused() {
    let mut world = PlanWorld::new();
    assert_eq!(why_here(&world.apply("2Gi", "m:1")), Some("no cluster"));
    world.decider = answered(Err("updates to statefulset spec are forbidden"));
    let report = world.apply("2Gi", "m:1");
    let verdict = report.verdict.clone().expect("a verdict");
    assert_eq!(
        (outcome(&report), verdict.message.as_deref(), verdict.warnings.len()),
        (
            PlanOutcome::Refused,
            Some("updates to statefulset spec are forbidden"),
            1
        )
    );
    assert_eq!(
        (report.goes_through, lines(&report).len(), why_here(&report)),
        (false, 0, None)
    );
    world.objects.retain(|object| object["kind"] != "StatefulSet");
    assert_eq!(outcome(&world.apply("2Gi", "m:1")), PlanOutcome::Refused);
}

#[test]
fn plan_shows_what_the_api_server_would_store() {
    let mut world = PlanWorld::new();
    // On this side, the settings are the default ones, and the manifest has no annotation.
    let mut plain = manifest("2Gi", "m:1");
    plain["metadata"]["annotations"] = json!({});
    world.stage("2Gi");
    let mut stored = world.set().clone();
    let annotations = stored["metadata"]["annotations"].as_object_mut();
    annotations
        .expect("annotations")
        .remove("claim-rollout.io/update-policy");
    stored["metadata"]["generation"] = json!(2);
    *world.set() = live();
    world.decider = answered(Ok(stored));
    let report = world.plan(Some(&plain)).expect("a plan");
    assert_eq!((outcome(&report), report.goes_through), (PlanOutcome::Staged, true));
    assert_eq!(report.target.as_ref().expect("a target").update_policy, "InPlace");
    assert_eq!(lines(&report).len(), 3);
}

#[test]
fn plan_restarts_pods_only_if_the_stored_template_changes() {
    let mut world = PlanWorld::new();
    let mut zero = manifest("1Gi", "m:1");
    zero["spec"]["template"]["spec"]["hostNetwork"] = json!(false);
    assert_eq!(world.plan(Some(&zero)).expect("a plan").pods, PodOutcome::ByThemselves);
    // The API server does not store it.
    world.decider = answered(Ok(live()));
    let report = world.plan(Some(&zero)).expect("a plan");
    assert_eq!(
        (report.pods, outcome(&report)),
        (PodOutcome::KeepRunning, PlanOutcome::Unchanged)
    );
}

#[test]
fn plan_without_pods_to_read_promises_nothing_of_them() {
    let mut world = PlanWorld::new();
    world.unreadable = Some("Pod");
    world.objects.retain(|object| object["kind"] != "Pod");
    let report = world.apply("2Gi", "m:2");
    assert_eq!(report.pods, PodOutcome::NotChecked);
    let is_promised = |claim: &ClaimReport| claim.pod_replaced || claim.pod_created;
    assert!(!report.claims.iter().any(is_promised), "{report:?}");
}
