//! Replicas without a Pod: Kubernetes creates it, and what is planned for the others goes on.

use serde_json::json;

use super::world::{PlanWorld, claim, lines, manifest};
use crate::cli::plan::report::PlanReport;

/// The plan of another size for this number of replicas.
fn scaled(world: &PlanWorld, replicas: u32, image: &str) -> PlanReport {
    let mut manifest = manifest("2Gi", image);
    manifest["spec"]["replicas"] = json!(replicas);
    world.plan(Some(&manifest)).expect("a plan")
}

fn created(report: &PlanReport) -> Vec<u32> {
    let created = report.claims.iter().filter(|claim| claim.pod_created);
    created.map(|claim| claim.row.ordinal).collect()
}

#[test]
fn plan_of_one_more_replica_creates_it() {
    let world = PlanWorld::new();
    let report = scaled(&world, 4, "m:1");
    assert_eq!(
        lines(&report),
        [
            "- data-web-3 ->- Create",
            "1 data-web-2 1Gi>2Gi Update",
            "2 data-web-1 1Gi>2Gi Update",
            "3 data-web-0 1Gi>2Gi Update",
        ]
    );
    assert_eq!((created(&report), report.goes_through), (vec![3], true));
    let report = scaled(&world, 4, "m:2");
    assert_eq!((created(&report), report.goes_through), (vec![3], true), "{report:?}");
    assert!(
        !report.claims[0].pod_replaced && report.claims[3].pod_replaced,
        "{report:?}"
    );
}

#[test]
fn plan_updates_the_pvc_that_a_new_replica_finds() {
    let mut world = PlanWorld::new();
    world.objects.push(claim("data-web-3"));
    let report = scaled(&world, 4, "m:1");
    assert_eq!(lines(&report)[0], "1 data-web-3 1Gi>2Gi Update");
    assert_eq!((created(&report), report.goes_through), (vec![3], true));
}

#[test]
fn plan_of_fewer_replicas_goes_through() {
    let report = scaled(&PlanWorld::new(), 2, "m:1");
    assert_eq!(
        (created(&report), report.goes_through, lines(&report).len()),
        (vec![], true, 2)
    );
}
