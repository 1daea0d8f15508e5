//! Obstacles of a plan.

use std::process::ExitCode;

use serde_json::json;

use crate::cli::plan::code;
use crate::controller::ClassLimits;

use super::world::{PlanWorld, lines, manifest, quota};

#[test]
fn plan_immutable_field_is_an_obstacle() {
    let mut manifest = manifest("1Gi", "m:1");
    manifest["spec"]["serviceName"] = json!("other");
    let report = PlanWorld::new().plan(Some(&manifest)).expect("a plan");
    assert_eq!(
        report.obstacles,
        ["spec.serviceName: the API server denies changes of this field"]
    );
    assert!(!report.goes_through);
    let fine = PlanWorld::new().apply("2Gi", "m:1");
    assert_eq!(code(std::slice::from_ref(&fine)), ExitCode::SUCCESS);
    assert_eq!(code(&[fine, report]), ExitCode::FAILURE, "one of them has an obstacle");
}

#[test]
fn plan_unreadable_object_of_the_set_is_an_obstacle() {
    let pod = |world: &mut PlanWorld, name: &str| {
        world.objects.push(
            json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"namespace": "shop", "name": name}, "spec": 5}),
        );
    };
    type Row = (&'static str, fn(&mut PlanWorld, &dyn Fn(&mut PlanWorld, &str)), bool);
    let rows: [Row; 5] = [
        (
            "its PVC",
            |world, _| {
                world.object("PersistentVolumeClaim", "data-web-1")["spec"]["resources"]["requests"]["storage"] =
                    json!("odd");
            },
            true,
        ),
        (
            "its Pod",
            |world, _| world.object("Pod", "web-1")["spec"] = json!(5),
            true,
        ),
        ("a Pod of another", |world, pod| pod(world, "web-db-0"), false),
        ("a Pod beyond its replicas", |world, pod| pod(world, "web-3"), false),
        (
            "another StatefulSet",
            |world, _| {
                let metadata = json!({"namespace": "shop", "name": "db"});
                world.objects.push(json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": metadata, "spec": {"replicas": "many"}}));
            },
            false,
        ),
    ];
    for (row, change, prevents) in rows {
        let mut world = PlanWorld::new();
        change(&mut world, &pod);
        let report = world.apply("2Gi", "m:1");
        let named = |texts: &[String]| texts.iter().filter(|text| text.contains(" cannot be read: ")).count();
        let found = (report.goes_through, named(&report.obstacles), named(&report.notes));
        let expected = if prevents { (false, 1, 0) } else { (true, 0, 1) };
        assert_eq!(found, expected, "{row}: {:?} {:?}", report.obstacles, report.notes);
        assert_eq!(report.claims.is_empty(), prevents, "{row}");
    }
    let mut world = PlanWorld::new();
    world.set()["spec"]["replicas"] = json!("many");
    for manifest in [None, Some(&manifest("2Gi", "m:1"))] {
        let error = world.plan(manifest).expect_err("no plan").to_string();
        assert!(error.starts_with("StatefulSet shop/web cannot be read: "), "{error}");
    }
}

#[test]
fn plan_small_quota_blocks_all_claims() {
    let mut world = PlanWorld::new();
    world.objects.push(quota("5Gi", "3Gi"));
    let report = world.apply("2Gi", "m:1");
    let not_reached = [2, 1, 0].map(|ordinal| format!("- data-web-{ordinal} 1Gi>2Gi NotReached"));
    assert_eq!(lines(&report), not_reached);
    let words = "the 3 PVCs that would grow need 3Gi more, and ResourceQuota storage has 2Gi left of 5Gi: raise it, make \
                 room, or stage a smaller size; nothing is written before all of them fit";
    assert_eq!(report.obstacles, [words]);
    assert!(!report.goes_through);
}

#[test]
fn plan_quota_counts_what_a_lowered_claim_had_asked_for() {
    let mut world = PlanWorld::new();
    world.objects.push(quota("13Gi", "11Gi"));
    let lowered = world.object("PersistentVolumeClaim", "data-web-2");
    lowered["spec"]["resources"]["requests"]["storage"] = json!("1025Mi");
    lowered["status"]["allocatedResources"] = json!({"storage": "9Gi"});
    let report = world.apply("2Gi", "m:1");
    assert!(report.goes_through && report.obstacles.is_empty(), "{report:?}");
}

#[test]
fn plan_quota_used_up_midway_blocks_the_rest() {
    let mut world = PlanWorld::new();
    world.objects.push(quota("4Gi", "4Gi"));
    world.stage("2Gi");
    let revision = world.apply("2Gi", "m:1").target.expect("a target").revision;
    let first = world.object("PersistentVolumeClaim", "data-web-2");
    first["metadata"]["labels"]["claim-rollout.io/revision"] = json!(format!("{revision}.xz245"));
    first["spec"]["resources"]["requests"]["storage"] = json!("2Gi");
    first["status"]["capacity"]["storage"] = json!("2Gi");
    let blocked = "- data-web-1 1Gi>2Gi Blocked !exceeded quota: storage, requested: requests.storage=1Gi, used: \
                   requests.storage=4Gi, limited: requests.storage=4Gi";
    let report = world.apply("2Gi", "m:1");
    assert_eq!(lines(&report)[1..], [blocked, "- data-web-0 1Gi>2Gi NotReached"]);
    assert!(!report.goes_through && report.obstacles.is_empty(), "{report:?}");
    world.set()["spec"]["podManagementPolicy"] = json!("Parallel");
    let parallel = world.apply("2Gi", "m:1");
    assert!(
        lines(&parallel)[2].starts_with("- data-web-0 1Gi>2Gi Blocked !exceeded quota"),
        "{:?}",
        lines(&parallel)
    );
}

#[test]
fn plan_unreadable_quota_is_noted() {
    let mut world = PlanWorld::new();
    world.objects.push(quota("3Gi", "3Gi"));
    world.unreadable = Some("ResourceQuota");
    let report = world.apply("2Gi", "m:1");
    assert_eq!(report.obstacles, Vec::<String>::new());
    assert!(
        report
            .notes
            .iter()
            .any(|note| note.starts_with("ResourceQuota: not checked")),
        "{report:?}"
    );
}

#[test]
fn plan_notes_quotas_whose_resources_are_not_known() {
    let mut world = PlanWorld::new();
    for (name, spec) in [
        ("s", json!({"scopes": ["BestEffort"]})),
        ("n", json!({"hard": {"requests.storage": "1"}})),
    ] {
        let metadata = json!({"name": name, "namespace": "shop"});
        world
            .objects
            .push(json!({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": metadata, "spec": spec}));
    }
    let report = world.apply("2Gi", "m:1");
    let notes = [("s", "has scopes"), ("n", "has no status")]
        .map(|(name, why)| format!("not checked: ResourceQuota {name} {why}"));
    assert_eq!((report.notes, report.goes_through), (notes.to_vec(), true));
}

#[test]
fn plan_used_up_budget_is_noted_with_the_time() {
    let mut world = PlanWorld::new();
    for (claim, times) in [
        ("data-web-2", "2026-11-22T14:00:00Z,2026-11-23T11:00:00Z"),
        ("data-web-1", "2026-11-23T11:00:00Z"),
    ] {
        let claim = world.object("PersistentVolumeClaim", claim);
        claim["metadata"]["annotations"]["claim-rollout.io/modified"] = json!(times);
    }
    let noted = |world: &PlanWorld| world.apply("2Gi", "m:1").notes;
    assert_eq!(noted(&world), Vec::<String>::new());
    let limits = ClassLimits {
        per_day: Some(2),
        at_once: None,
    };
    world.limits.insert("fast".to_owned(), limits);
    let words = "data-web-2 has been modified 2 times in 24 h, the limit of storage class fast; continues at \
                 2026-11-23T14:00:00Z";
    assert_eq!(noted(&world), [words]);
    // A label is no modification.
    world.object("PersistentVolumeClaim", "data-web-2")["spec"]["resources"]["requests"]["storage"] = json!("2Gi");
    assert_eq!(noted(&world), Vec::<String>::new());
}

const CLAIM: (&str, &str) = ("PersistentVolumeClaim", "data-web-2");

#[test]
fn plan_names_each_obstacle_of_a_claim() {
    for (what, (kind, name), pointer, value, expected) in [
        (
            "a class that does not expand",
            ("StorageClass", "fast"),
            "/allowVolumeExpansion",
            json!(false),
            "- data-web-2 1Gi>2Gi Blocked !storage class fast does not have allowVolumeExpansion: true",
        ),
        (
            "a claim without a volume",
            CLAIM,
            "/status/phase",
            json!("Pending"),
            "- data-web-2 1Gi>2Gi Blocked !waiting for a volume !not bound to a volume yet, so it has to wait",
        ),
        (
            "another's claim",
            CLAIM,
            "/metadata/ownerReferences",
            json!([{"apiVersion": "v1", "kind": "Backup", "name": "b", "uid": "b-uid", "controller": true}]),
            "- data-web-2 1Gi>- Blocked !owned by Backup b",
        ),
        (
            "another access mode",
            CLAIM,
            "/spec/accessModes",
            json!(["ReadWriteMany"]),
            "- data-web-2 1Gi>2Gi Blocked !the template has spec.accessModes [\"ReadWriteOnce\"], \
             but the PVC has [\"ReadWriteMany\"], which cannot change in place",
        ),
        (
            "a claim that is being deleted",
            CLAIM,
            "/metadata/deletionTimestamp",
            json!("2026-01-01T00:00:00Z"),
            "- data-web-2 1Gi>- Create",
        ),
        (
            "no claim",
            CLAIM,
            "/metadata/name",
            json!("other"),
            "- data-web-2 ->- Create",
        ),
    ] {
        let mut world = PlanWorld::new();
        let (parent, key) = pointer.rsplit_once('/').expect("a path");
        world.object(kind, name).pointer_mut(parent).expect(what)[key] = value;
        let report = world.apply("2Gi", "m:1");
        assert_eq!(lines(&report)[0], expected, "{what}");
        assert_eq!(report.goes_through, !expected.contains('!'), "{what}");
    }
}

#[test]
fn plan_limit_range_is_an_obstacle() {
    let limit = json!({
        "apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "l", "namespace": "shop"},
        "spec": {"limits": [{"type": "PersistentVolumeClaim", "max": {"storage": "1Gi"}}]},
    });
    let mut world = PlanWorld::new();
    world.objects.push(limit);
    let words = "maximum storage usage per PersistentVolumeClaim is 1Gi, but request is 2Gi";
    assert_eq!(
        lines(&world.apply("2Gi", "m:1"))[0],
        format!("- data-web-2 1Gi>2Gi Blocked !{words}")
    );
}
