//! The replacement of the set after the rollout.

use serde_json::json;

use super::world::{PlanWorld, claim, live};
use crate::cli::plan::report::{PlanReport, ReplacementOrigin};

const ASKED: &str = "claim-rollout.io/replace-set";

/// A set whose change is staged, with Pods that the selector matches.
fn world() -> PlanWorld {
    let mut world = PlanWorld::new();
    world.stage("2Gi");
    world.set()["metadata"]["annotations"][ASKED] = json!("WhenComplete");
    for ordinal in 0..3 {
        world.object("Pod", &format!("web-{ordinal}"))["metadata"]["labels"]["app"] = json!("web");
    }
    world
}

/// The reasons that prevent the replacement; none if there is no replacement.
fn prevented(report: &PlanReport) -> Option<Vec<&str>> {
    let faults = &report.replacement.as_ref()?.prevented_by;
    Some(faults.iter().map(|fault| fault.reason.as_str()).collect())
}

/// What is changed in the world, the change, and what would prevent the replacement now.
type Row = (&'static str, fn(&mut PlanWorld), Option<&'static [&'static str]>);

const ROWS: [Row; 13] = [
    ("all is well", |_| {}, Some(&[])),
    (
        "never",
        |world| world.set()["metadata"]["annotations"][ASKED] = json!("Never"),
        None,
    ),
    (
        "never, whatever the setting is",
        |world| {
            world.set()["metadata"]["annotations"][ASKED] = json!("Never");
            world.settings = json!({"defaultReplaceSet": "WhenComplete"});
        },
        None,
    ),
    (
        "paused",
        |world| world.set()["metadata"]["annotations"]["claim-rollout.io/paused"] = json!("true"),
        None,
    ),
    (
        "the templates are live",
        |world| {
            let staged = live()["spec"]["volumeClaimTemplates"].clone();
            world.stage("1Gi");
            world.set()["spec"]["volumeClaimTemplates"] = staged;
        },
        None,
    ),
    (
        "a PVC of a replica that was scaled away before",
        |world| world.objects.push(claim("data-web-3")),
        Some(&["ClaimOutdated"]),
    ),
    (
        "a Pod that is not Ready",
        |world| world.object("Pod", "web-1")["status"]["conditions"][0]["status"] = json!("False"),
        Some(&["PodNotReady"]),
    ),
    (
        "a Pod with other labels",
        |world| world.object("Pod", "web-1")["metadata"]["labels"]["app"] = json!("other"),
        Some(&["PodNotSelected"]),
    ),
    (
        "Pods that may not be read",
        |world| {
            world.objects.retain(|object| object["kind"] != "Pod");
            world.unreadable = Some("Pod");
        },
        Some(&[]),
    ),
    (
        "created a moment ago, and not seen: both end soon",
        |world| {
            world.set()["metadata"]["creationTimestamp"] = json!("2026-11-23T11:59:30Z");
            world.set()["status"]["observedGeneration"] = json!(0);
        },
        Some(&[]),
    ),
    ("a quota with room", |world| world.objects.push(count(2, 1)), Some(&[])),
    (
        "a change that the settings deny now",
        |world| world.settings = json!({"maxStorage": {"*": "1Gi"}}),
        Some(&["StagedChangeNotAllowed"]),
    ),
    (
        "several",
        |world| {
            world.set()["metadata"]["finalizers"] = json!(["backup.example.com/wait"]);
            world.set()["spec"]["updateStrategy"]["rollingUpdate"]["partition"] = json!(1);
            world.objects.retain(|object| object["metadata"]["name"] != "web-2");
            world.objects.push(count(1, 1));
        },
        Some(&["ForeignFinalizer", "PartitionSet", "PodNotReady", "QuotaFull"]),
    ),
];

fn count(hard: u32, used: u32) -> serde_json::Value {
    let (hard, used) = (
        json!({"count/statefulsets.apps": hard.to_string()}),
        json!({"count/statefulsets.apps": used.to_string()}),
    );
    json!({
        "apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "sets", "namespace": "shop"},
        "spec": {"hard": hard}, "status": {"hard": hard, "used": used},
    })
}

#[test]
fn plan_lists_what_prevents_a_replacement_now() {
    for (what, change, expected) in ROWS {
        let mut world = world();
        change(&mut world);
        let report = world.plan(None).expect(what);
        assert_eq!(prevented(&report).as_deref(), expected, "{what}");
    }
}

#[test]
fn replacement_does_not_change_whether_all_goes_through() {
    let mut world = world();
    let annotations = world.set()["metadata"]["annotations"].as_object_mut();
    annotations.expect("a map").remove(ASKED);
    assert_eq!(
        world.plan(None).expect("a plan").replacement,
        None,
        "nothing asks for it"
    );
    world.settings = json!({"defaultReplaceSet": "WhenComplete"});
    world.object("Pod", "web-0")["metadata"]["deletionTimestamp"] = json!("2026-11-23T12:00:00Z");
    let report = world.plan(None).expect("a plan");
    assert!(report.goes_through, "{:?}", report.obstacles);
    let replacement = report.replacement.expect("a replacement");
    assert_eq!(replacement.asked_by, ReplacementOrigin::Setting);
    let json = serde_json::to_value(&replacement).expect("JSON");
    let expected = json!({"askedBy": "Setting", "preventedBy": [
        {"reason": "PodTerminating", "message": "Pod web-0 is being deleted"},
    ]});
    assert_eq!(json, expected);
}
