//! The update policy `ReCreate`: which PVCs would be deleted.

use serde_json::{Value, json};

use super::world::{PlanWorld, lines, manifest};
use crate::cli::plan::report::PlannedAction;

/// The manifest under `ReCreate`, with this storage class.
fn anew(class: &str, size: &str) -> Value {
    let mut manifest = manifest(size, "m:1");
    manifest["metadata"]["annotations"] = json!({"claim-rollout.io/update-policy": "ReCreate"});
    manifest["spec"]["volumeClaimTemplates"][0]["spec"]["storageClassName"] = json!(class);
    manifest
}

fn world() -> PlanWorld {
    let mut world = PlanWorld::new();
    // Without an answer, the requester may do it.
    world.objects.remove(0);
    world.settings = json!({"allowReCreate": true});
    world
}

#[test]
fn plan_of_recreate_lists_the_claims_to_be_deleted() {
    let report = world().plan(Some(&anew("slow", "1Gi"))).expect("a plan");
    assert!(report.goes_through, "{report:#?}");
    assert_eq!(
        lines(&report),
        [
            "1 data-web-2 1Gi>1Gi ReCreate pod",
            "2 data-web-1 1Gi>1Gi ReCreate pod",
            "3 data-web-0 1Gi>1Gi ReCreate pod"
        ]
    );
    for claim in &report.claims {
        let then = claim.then.as_ref().and_then(|then| then.storage_class.as_deref());
        assert_eq!((then, claim.pod_replaced), (Some("slow"), true), "{}", claim.row.name);
    }
}

#[test]
fn plan_of_recreate_updates_in_place_what_it_can() {
    let report = world().plan(Some(&anew("fast", "2Gi"))).expect("a plan");
    let counts = [PlannedAction::Update, PlannedAction::ReCreate].map(|action| report.count(action));
    assert_eq!(counts, [3, 0], "{:?}", lines(&report));
}

#[test]
fn plan_of_recreate_names_what_stops_it() {
    let mut world = world();
    world.set()["spec"]["replicas"] = json!(1);
    let mut manifest = anew("slow", "1Gi");
    manifest["spec"]["replicas"] = json!(1);
    let report = world.plan(Some(&manifest)).expect("a plan");
    let why = report.obstacles.join("; ");
    assert!(
        !report.goes_through && why.contains("this is the only replica"),
        "{why}"
    );
}
