//! Row P1: claims at birth.

use serde_json::{Value, json};

use super::{Cluster, annotated, decide_with, set, staged_change, template};
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

/// A set whose template has a label and an annotation of its own.
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

fn new_claims(claim: &Value, user: &str, cluster: &mut Cluster) -> Verdict {
    created_with(claim, user, "{}", cluster)
}

fn created_with(claim: &Value, user: &str, settings: &str, cluster: &mut Cluster) -> Verdict {
    let review = json!({
        "kind": {"group": "", "version": "v1", "kind": "PersistentVolumeClaim"}, "operation": "CREATE",
        "namespace": "shop", "name": claim["metadata"]["name"], "userInfo": {"username": user}, "object": claim,
    });
    decide_with(&review, settings, cluster)
}

#[test]
fn p1_a_claim_is_born_with_the_wish_in_place_of_the_live_template() {
    let mut cluster = Cluster::of(vec![web()]);
    let Verdict::Stage(edits, remarks) = new_claims(&claim("data-web-3"), CONTROLLER, &mut cluster) else {
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
fn p1_only_what_differs_is_written() {
    let edits = |target: &Value, claim: &Value| {
        let mut live = template("data", "10Gi");
        live["metadata"]["annotations"] = json!({"before": "x"});
        let set = named("web", &[live], std::slice::from_ref(target));
        match new_claims(claim, CONTROLLER, &mut Cluster::of(vec![set])) {
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
    assert_eq!(edits(&same, &plain), [labelled(&same)], "the size is that of the wish");
    let mut kept = same.clone();
    kept["metadata"]["annotations"] = json!({"before": "x", "backup": "daily"});
    let mut had = plain.clone();
    had["metadata"]["annotations"] = json!({"before": "x", "backup": "daily"});
    assert_eq!(edits(&kept, &had), [labelled(&kept)], "the wish keeps the annotation");
    let mut empty = same.clone();
    empty["metadata"]["annotations"] = json!({"note": ""});
    let note = Edit::SetAnnotation("note".into(), String::new());
    assert_eq!(edits(&empty, &plain), [labelled(&empty), note], "absent is not empty");
    let mut strange = same.clone();
    strange["metadata"]["annotations"] = json!({"note": "xyzzy"});
    let note = Edit::SetAnnotation("note".into(), "xyzzy".to_owned());
    assert_eq!(edits(&strange, &plain), [labelled(&strange), note]);
}

#[test]
fn p1_what_is_edited_in_a_claim_is_found_in_it() {
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
fn p1_each_set_that_may_have_given_the_name_is_looked_up() {
    for (name, asked) in [
        // data of one-web, and data-one of web.
        ("data-one-web-3".to_owned(), 2),
        (format!("data{}-web-3", "-a".repeat(19)), 20),
        (format!("data{}-web-3", "-a".repeat(20)), 0),
        // No template has a name of more than 63 characters.
        (format!("{}-b{}-web-3", "a".repeat(61), "-c".repeat(20)), 2),
        ("data-web-03".to_owned(), 0),
        ("data-web-99999999999999999999".to_owned(), 0),
    ] {
        let mut cluster = Cluster::of(vec![]);
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
fn p1_below_the_partition_a_claim_is_born_from_the_live_template() {
    let strategy = |kind: &str, partition: u32| json!({"type": kind, "rollingUpdate": {"partition": partition}});
    for (sentence, strategy, start, new_claim) in [
        ("no partition", json!({}), 0, true),
        ("at the partition", strategy("RollingUpdate", 3), 0, true),
        ("below it", strategy("RollingUpdate", 4), 0, false),
        ("ordinals begin later", strategy("RollingUpdate", 3), 1, false),
        ("no strategy that has one", strategy("OnDelete", 9), 0, true),
        ("all at once", strategy("Recreate", 9), 0, true),
        ("one that cannot be read", strategy("RollingUpdate", u32::MAX), 0, false),
    ] {
        let mut set = web();
        set["spec"]["updateStrategy"] = strategy;
        set["spec"]["ordinals"] = json!({"start": start});
        let verdict = new_claims(&claim("data-web-3"), CONTROLLER, &mut Cluster::of(vec![set]));
        assert_eq!(
            matches!(verdict, Verdict::Stage(..)),
            new_claim,
            "{sentence}: {verdict:?}"
        );
    }
}

#[test]
fn p1_what_the_settings_do_not_allow_any_more_is_not_born() {
    for (settings, new_claim) in [
        ("{}", true),
        (r#"{"maxStorage":{"*":"20Gi"}}"#, true),
        (r#"{"maxStorage":{"*":"19Gi"}}"#, false),
        (r#"{"allowedVolumeAttributesClasses":["slow"]}"#, false),
        (r#"{"metadataOnlyChanges":"Deny"}"#, false),
        (r#"{"mode":"ValidateOnly"}"#, false),
    ] {
        let mut cluster = Cluster::of(vec![web()]);
        let verdict = created_with(&claim("data-web-3"), CONTROLLER, settings, &mut cluster);
        assert_eq!(
            matches!(verdict, Verdict::Stage(..)),
            new_claim,
            "{settings}: {verdict:?}"
        );
    }
}

#[test]
fn p1_where_templates_are_mutable_a_claim_is_born_as_it_is() {
    let mut cluster = Cluster::of(vec![web()]);
    let verdict = created_with(
        &claim("data-web-3"),
        CONTROLLER,
        r#"{"mode":"ValidateOnly"}"#,
        &mut cluster,
    );
    assert_eq!((verdict, cluster.asked), (Verdict::PASS, vec![]));
}

#[test]
fn p1_a_claim_is_never_born_smaller_than_it_was_asked_for() {
    let mut large = claim("data-web-3");
    large["spec"]["resources"]["requests"]["storage"] = "99Gi".into();
    let Verdict::Stage(edits, _) = new_claims(&large, CONTROLLER, &mut Cluster::of(vec![web()])) else {
        panic!()
    };
    assert!(
        !edits.iter().any(|edit| matches!(edit, Edit::SetStorage(_))),
        "{edits:?}"
    );
}

#[test]
fn p1_any_other_claim_passes_without_a_question_where_that_is_possible() {
    let mut plain = web();
    plain["metadata"]["annotations"] = Value::Null;
    let mut owned = web();
    owned["metadata"]["ownerReferences"] = json!([{"kind": "Database", "controller": true}]);
    let mut stranger = claim("data-web-3");
    stranger["metadata"]["labels"] = json!({"app": "other"});
    let mut another = web();
    another["metadata"]["uid"] = "made-again".into();
    let table = [
        ("somebody else makes it", claim("data-web-3"), "alice", vec![web()], 0),
        ("there is no such set", claim("data-db-0"), CONTROLLER, vec![web()], 1),
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
        (
            "its labels are not the selector's",
            stranger,
            CONTROLLER,
            vec![web()],
            1,
        ),
        (
            "the record is of a set that is gone",
            claim("data-web-3"),
            CONTROLLER,
            vec![another],
            1,
        ),
    ];
    for (sentence, claim, user, sets, asked) in table {
        let mut cluster = Cluster::of(sets);
        assert_eq!(new_claims(&claim, user, &mut cluster), Verdict::PASS, "{sentence}");
        assert_eq!(cluster.asked.len(), asked, "{sentence}");
    }
}

#[test]
fn p1_a_name_that_no_set_could_have_given_is_not_looked_up() {
    for name in ["data", "data-3", "data--3", "-web-3", "data-web-", "data-web-x"] {
        let mut cluster = Cluster::of(vec![web()]);
        let verdict = new_claims(&claim(name), CONTROLLER, &mut cluster);
        assert_eq!((verdict, cluster.asked), (Verdict::PASS, vec![]), "{name}");
    }
}

#[test]
fn p1_a_name_that_two_sets_give_is_left_alone() {
    // data of web-1 at 0, and data-web of 1 at 0.
    let one = named("web-1", &[template("data", "10Gi")], &[target()]);
    let mut target = target();
    target["metadata"]["name"] = "data-web".into();
    let other = named("1", &[template("data-web", "10Gi")], &[target]);
    let new_claim = |sets: Vec<Value>| new_claims(&claim("data-web-1-0"), CONTROLLER, &mut Cluster::of(sets));
    assert!(matches!(new_claim(vec![one.clone()]), Verdict::Stage(..)));
    assert_eq!(new_claim(vec![one, other]), Verdict::PASS);
}

#[test]
fn p1_a_claim_is_born_from_the_live_template_rather_than_not_at_all() {
    let mut silent = Cluster {
        objects: Err(CannotAsk("not granted".to_owned())),
        ..Cluster::of(vec![])
    };
    let Verdict::Pass(remarks) = new_claims(&claim("data-web-3"), CONTROLLER, &mut silent) else {
        panic!()
    };
    let expected =
        "claim-rollout: claim data-web-3 is made from the live template: its set cannot be read (not granted)";
    assert_eq!(remarks.warnings, [expected]);
}
