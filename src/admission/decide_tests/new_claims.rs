//! Row P1: new claims.

use serde_json::{Value, json};

use super::{FakeCluster, annotated, decide_with, set, staged_change, template};
use crate::admission::{CannotAsk, Edit, Verdict};
use crate::templates::{Phase, StagedChange, keys};
use crate::wire::request::decode;

const CONTROLLER: &str = "system:serviceaccount:kube-system:statefulset-controller";

fn target() -> Value {
    let mut target = template("data", "20Gi");
    target["metadata"]["labels"] = json!({"tier": "gold", "app": "ignored"});
    target["metadata"]["annotations"] = json!({"backup": "daily"});
    target["spec"]["volumeAttributesClassName"] = "fast".into();
    target
}

fn named(name: &str, templates: &[Value], desired: &[Value]) -> Value {
    let mut set = annotated(set(templates), keys::STAGED, &staged_change(desired, Phase::Complete));
    set["metadata"]["name"] = name.into();
    set["spec"]["selector"] = json!({"matchLabels": {"app": "web"}});
    set
}

/// A set whose live template has labels and an annotation.
fn web() -> Value {
    let mut live = template("data", "10Gi");
    live["metadata"]["labels"] = json!({"tier": "bronze", "old": "yes"});
    live["metadata"]["annotations"] = json!({"before": "x"});
    named("web", &[live], &[target()])
}

fn claim(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": "shop", "labels": {"app": "web", "tier": "bronze", "old": "yes"},
            "annotations": {"before": "x"}},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "10Gi"}}}})
}

fn created(claim: &Value, user: &str, cluster: &mut FakeCluster) -> Verdict {
    created_with(claim, user, "{}", cluster)
}

fn created_with(claim: &Value, user: &str, settings: &str, cluster: &mut FakeCluster) -> Verdict {
    let review = json!({
        "kind": {"group": "", "version": "v1", "kind": "PersistentVolumeClaim"}, "operation": "CREATE",
        "namespace": "shop", "name": claim["metadata"]["name"], "userInfo": {"username": user}, "object": claim,
    });
    decide_with(&review, settings, cluster)
}

#[test]
fn p1_new_claim_is_created_from_desired_template() {
    let mut cluster = FakeCluster::of(vec![web()]);
    let Verdict::Stage(edits, remarks) = created(&claim("data-web-3"), CONTROLLER, &mut cluster) else {
        panic!()
    };
    let text = staged_change(&[target()], Phase::Complete);
    let revision = StagedChange::read(&text, super::UID)
        .expect("valid")
        .revision()
        .to_string();
    let expected = [
        Edit::SetStorage("20Gi".parse().expect("a size")),
        Edit::SetAttributesClass("fast".to_owned()),
        Edit::RemoveLabel("old".into()),
        Edit::SetLabel("tier".into(), "gold".to_owned()),
        Edit::SetLabel(keys::REVISION.into(), revision.clone()),
        Edit::RemoveAnnotation("before".into()),
        Edit::SetAnnotation("backup".into(), "daily".to_owned()),
    ];
    assert_eq!(edits, expected);
    assert_eq!(remarks.audit, [("revision", revision)]);
    assert_eq!(cluster.asked, ["get StatefulSet/web"]);
}

#[test]
fn p1_new_claim_gets_only_differences() {
    let edits = |target: &Value, claim: &Value| {
        let mut live = template("data", "10Gi");
        live["metadata"]["annotations"] = json!({"before": "x"});
        let set = named("web", &[live], std::slice::from_ref(target));
        match created(claim, CONTROLLER, &mut FakeCluster::of(vec![set])) {
            Verdict::Stage(edits, _) => edits,
            other => panic!("expected Stage, but found {other:?}"),
        }
    };
    let mut plain = claim("data-web-3");
    plain["spec"]["resources"]["requests"]["storage"] = "20Gi".into();
    plain["metadata"]["annotations"] = json!({"backup": "daily"});
    let text = |target: &Value| staged_change(std::slice::from_ref(target), Phase::Complete);
    let revision = |target: &Value| StagedChange::read(&text(target), super::UID).expect("valid").revision();
    let labelled = |target: &Value| Edit::SetLabel(keys::REVISION.into(), revision(target).to_string());

    let same = template("data", "20Gi");
    assert_eq!(
        edits(&same, &plain),
        [labelled(&same)],
        "the size is already the desired size"
    );
    let mut kept = same.clone();
    kept["metadata"]["annotations"] = json!({"before": "x", "backup": "daily"});
    let mut had = plain.clone();
    had["metadata"]["annotations"] = json!({"before": "x", "backup": "daily"});
    assert_eq!(
        edits(&kept, &had),
        [labelled(&kept)],
        "the desired template keeps the annotation"
    );
    let mut empty = same.clone();
    empty["metadata"]["annotations"] = json!({"note": ""});
    let note = Edit::SetAnnotation("note".into(), String::new());
    assert_eq!(
        edits(&empty, &plain),
        [labelled(&empty), note],
        "absent differs from empty"
    );
    let mut strange = same.clone();
    strange["metadata"]["annotations"] = json!({"note": "xyzzy"});
    let note = Edit::SetAnnotation("note".into(), "xyzzy".to_owned());
    assert_eq!(edits(&strange, &plain), [labelled(&strange), note]);
}

#[test]
fn p1_fields_to_edit_are_decoded() {
    let mut gold = claim("data-web-3");
    gold["spec"]["volumeAttributesClassName"] = "gold".into();
    let payload = json!({"request": {"operation": "CREATE", "userInfo": {}, "object": gold,
        "kind": {"group": "", "version": "v1", "kind": "PersistentVolumeClaim"}}});
    let payload = payload.to_string();
    let Ok(Some((review, _))) = decode(&payload) else {
        panic!("a review: {payload}")
    };
    let spec = &review.object.as_ref().expect("a claim").spec;
    let resources = r#"{"requests":{"storage":"10Gi"}}"#;
    assert_eq!(
        (spec.resources, spec.attributes_class),
        (Some(resources), Some("\"gold\""))
    );
}

#[test]
fn p1_each_set_that_fits_the_name_is_read() {
    for (name, asked) in [
        // data of one-web, and data-one of web.
        ("data-one-web-3".to_owned(), 2),
        (format!("data{}-web-3", "-a".repeat(19)), 20),
        (format!("data{}-web-3", "-a".repeat(20)), 0),
        // The name of a template has at most 63 characters.
        (format!("{}-b{}-web-3", "a".repeat(61), "-c".repeat(20)), 2),
        ("data-web-03".to_owned(), 0),
        ("data-web-99999999999999999999".to_owned(), 0),
    ] {
        let mut cluster = FakeCluster::of(vec![]);
        let verdict = created_with(&claim(&name), CONTROLLER, r#"{"maxPVCLookups":1}"#, &mut cluster);
        let Verdict::Pass(remarks) = verdict else {
            panic!("{name}")
        };
        let expected = usize::from(name.len() > 40 && asked == 0);
        assert_eq!(
            (cluster.asked.len(), remarks.warnings.len()),
            (asked, expected),
            "{name}"
        );
    }
}

#[test]
fn p1_new_claim_below_partition_is_created_from_live_template() {
    let strategy = |kind: &str, partition: u32| json!({"type": kind, "rollingUpdate": {"partition": partition}});
    for (sentence, strategy, start, new_claim) in [
        ("no partition", json!({}), 0, true),
        ("at the partition", strategy("RollingUpdate", 3), 0, true),
        ("below the partition", strategy("RollingUpdate", 4), 0, false),
        ("ordinals begin later", strategy("RollingUpdate", 3), 1, false),
        ("a strategy without a partition", strategy("OnDelete", 9), 0, true),
        ("all at once", strategy("Recreate", 9), 0, true),
        ("an invalid partition", strategy("RollingUpdate", u32::MAX), 0, false),
    ] {
        let mut set = web();
        set["spec"]["updateStrategy"] = strategy;
        set["spec"]["ordinals"] = json!({"start": start});
        let verdict = created(&claim("data-web-3"), CONTROLLER, &mut FakeCluster::of(vec![set]));
        assert_eq!(
            matches!(verdict, Verdict::Stage(..)),
            new_claim,
            "{sentence}: {verdict:?}"
        );
    }
}

#[test]
fn p1_new_claim_denied_by_settings_keeps_live_template() {
    for (settings, new_claim) in [
        ("{}", true),
        (r#"{"maxStorage":{"*":"20Gi"}}"#, true),
        (r#"{"maxStorage":{"*":"19Gi"}}"#, false),
        (r#"{"allowedVolumeAttributesClasses":["slow"]}"#, false),
        (r#"{"metadataOnlyChanges":"Deny"}"#, false),
        (r#"{"mode":"ValidateOnly"}"#, false),
    ] {
        let mut cluster = FakeCluster::of(vec![web()]);
        let verdict = created_with(&claim("data-web-3"), CONTROLLER, settings, &mut cluster);
        assert_eq!(
            matches!(verdict, Verdict::Stage(..)),
            new_claim,
            "{settings}: {verdict:?}"
        );
    }
}

#[test]
fn p1_new_claim_in_validate_only_passes() {
    let mut cluster = FakeCluster::of(vec![web()]);
    let verdict = created_with(
        &claim("data-web-3"),
        CONTROLLER,
        r#"{"mode":"ValidateOnly"}"#,
        &mut cluster,
    );
    assert_eq!((verdict, cluster.asked), (Verdict::PASS, vec![]));
}

#[test]
fn p1_new_claim_never_gets_smaller() {
    let mut large = claim("data-web-3");
    large["spec"]["resources"]["requests"]["storage"] = "99Gi".into();
    let Verdict::Stage(edits, _) = created(&large, CONTROLLER, &mut FakeCluster::of(vec![web()])) else {
        panic!()
    };
    assert!(
        !edits.iter().any(|edit| matches!(edit, Edit::SetStorage(_))),
        "{edits:?}"
    );
}

#[test]
fn p1_other_claims_pass_with_fewest_lookups() {
    let mut plain = web();
    plain["metadata"]["annotations"] = Value::Null;
    let mut owned = web();
    owned["metadata"]["ownerReferences"] = json!([{"kind": "Database", "controller": true}]);
    let mut stranger = claim("data-web-3");
    stranger["metadata"]["labels"] = json!({"app": "other"});
    let mut another = web();
    another["metadata"]["uid"] = "made-again".into();
    let table = [
        ("created by a user", claim("data-web-3"), "alice", vec![web()], 0),
        ("the set does not exist", claim("data-db-0"), CONTROLLER, vec![web()], 1),
        (
            "the set has no such template",
            claim("log-web-0"),
            CONTROLLER,
            vec![web()],
            1,
        ),
        ("nothing is staged", claim("data-web-3"), CONTROLLER, vec![plain], 1),
        (
            "another controller owns the set",
            claim("data-web-3"),
            CONTROLLER,
            vec![owned],
            1,
        ),
        ("the selector does not match", stranger, CONTROLLER, vec![web()], 1),
        (
            "the staged change is of a deleted set",
            claim("data-web-3"),
            CONTROLLER,
            vec![another],
            1,
        ),
    ];
    for (sentence, claim, user, sets, asked) in table {
        let mut cluster = FakeCluster::of(sets);
        assert_eq!(created(&claim, user, &mut cluster), Verdict::PASS, "{sentence}");
        assert_eq!(cluster.asked.len(), asked, "{sentence}");
    }
}

#[test]
fn p1_claim_name_without_set_reads_nothing() {
    for name in ["data", "data-3", "data--3", "-web-3", "data-web-", "data-web-x"] {
        let mut cluster = FakeCluster::of(vec![web()]);
        let verdict = created(&claim(name), CONTROLLER, &mut cluster);
        assert_eq!((verdict, cluster.asked), (Verdict::PASS, vec![]), "{name}");
    }
}

#[test]
fn p1_claim_name_of_two_sets_passes() {
    // data of web-1 at 0, and data-web of 1 at 0.
    let one = named("web-1", &[template("data", "10Gi")], &[target()]);
    let mut target = target();
    target["metadata"]["name"] = "data-web".into();
    let other = named("1", &[template("data-web", "10Gi")], &[target]);
    let new_claim = |sets: Vec<Value>| created(&claim("data-web-1-0"), CONTROLLER, &mut FakeCluster::of(sets));
    assert!(matches!(new_claim(vec![one.clone()]), Verdict::Stage(..)));
    assert_eq!(new_claim(vec![one, other]), Verdict::PASS);
}

#[test]
fn p1_new_claim_after_failed_lookup_passes_with_warning() {
    let mut failing = FakeCluster {
        objects: Err(CannotAsk("not granted".to_owned())),
        ..FakeCluster::of(vec![])
    };
    let Verdict::Pass(remarks) = created(&claim("data-web-3"), CONTROLLER, &mut failing) else {
        panic!()
    };
    let expected =
        "claim-rollout: data-web-3 is created from the live template: failed to read its StatefulSet (not granted)";
    assert_eq!(remarks.warnings, [expected]);
}
