//! Row R1: PVCs that a request deletes (KEP-1847).

use serde_json::{Value, json};

use super::case::{Case, delete, update};
use super::objects::{CONTROLLER, Object, UID, claim, web};

pub(super) fn cases() -> Vec<Case> {
    [scale_downs(), policies(), in_progress(), scales(), deletions(), leftovers(), owners(), bounds()].into_iter().flatten().collect()
}

/// `whenDeleted` and `whenScaled` in every combination.
const POLICIES: [[&str; 2]; 4] = [["Retain", "Retain"], ["Retain", "Delete"], ["Delete", "Retain"], ["Delete", "Delete"]];
const SCALED: &str = "persistentVolumeClaimRetentionPolicy.whenScaled: Delete deletes data-web-2, data-web-1";

/// `web` with only one template, to keep the names short.
fn small(when_deleted: &str, when_scaled: &str) -> Object {
    web().without("/spec/volumeClaimTemplates/1").retention(when_deleted, when_scaled)
}

fn owner(kind: &str, name: &str, uid: &str) -> Value {
    let api_version = if kind == "Pod" { "v1" } else { "apps/v1" };
    json!({"apiVersion": api_version, "kind": kind, "name": name, "uid": uid, "controller": true, "blockOwnerDeletion": true})
}

/// The PVCs of `data` with this owner.
fn claims(owner: &Value) -> Vec<Value> {
    let one = |ordinal: u32| {
        let one = claim(&format!("data-web-{ordinal}"));
        if owner.is_null() { one.0 } else { one.with("/metadata/ownerReferences", json!([owner])).0 }
    };
    (0..3).map(one).collect()
}

fn of_set() -> Value {
    owner("StatefulSet", "web", UID)
}

fn with(case: Case, setting: &str, claims: Vec<Value>) -> Case {
    case.settings(json!({"retention": setting})).cluster(claims)
}

/// The case with every value of the setting; all but `Ignore` make this many lookups.
fn everywhere(case: &Case, cluster: &[Value], lookups: usize, message: Option<&str>) -> Vec<Case> {
    ["Ignore", "Warn", "Deny"]
        .map(|setting| {
            let lookups = if lookups == 0 { String::new() } else { format!("lookups={lookups}") };
            let expected = match (setting, message) {
                ("Ignore", _) => "pass".to_owned(),
                (_, None) => format!("pass {lookups}"),
                ("Warn", Some(message)) => format!("pass {lookups} warns \"claim-rollout: {message}\""),
                (_, Some(message)) => {
                    let when = if message.contains("whenScaled") { "whenScaled" } else { "whenDeleted" };
                    format!(
                        "deny 403 {lookups} \"claim-rollout: {message}; set {when}: Retain to keep them, or delete them by name first \
                         (setting retention: Deny)\""
                    )
                }
            };
            let mut case = with(case.clone(), setting, cluster.to_vec()).expects(expected);
            case.sentence = format!("{} ({setting})", case.sentence);
            case
        })
        .into()
}

fn scale_downs() -> Vec<Case> {
    let mut cases = Vec::new();
    for [deleted, scaled] in POLICIES {
        let set = small(deleted, scaled);
        // The owner of PVCs under each policy while their replicas exist.
        let owner = if deleted == "Delete" { of_set() } else { Value::Null };
        let goes = scaled == "Delete";
        let case = update("R1", format!("a scale-down under {deleted}/{scaled}"), &set, &set.clone().replicas(1));
        cases.extend(everywhere(&case, &claims(&owner), if goes { 2 } else { 0 }, goes.then_some(SCALED)));
        let case = update("R1", format!("a scale-up under {deleted}/{scaled}"), &set, &set.clone().replicas(5));
        cases.extend(everywhere(&case, &claims(&owner), 0, None));
    }
    let set = small("Retain", "Delete");
    let start = |first: i64| set.clone().with("/spec/ordinals/start", first);
    let shifted = "persistentVolumeClaimRetentionPolicy.whenScaled: Delete deletes data-web-0";
    let down = |sentence: &str, set: &Object| update("R1", sentence, set, &set.clone().replicas(1));
    let (free, last) = (claims(&Value::Null), set.clone().replicas(0));
    let unnamed = set.clone().without("/spec/persistentVolumeClaimRetentionPolicy");
    let mutable = down("templates are mutable, and a scale-down is one", &set).settings(json!({"mode": "ValidateOnly"}));
    [
        everywhere(&update("R1", "the ordinals begin later", &start(0), &start(1)), &free, 1, Some(shifted)),
        everywhere(&update("R1", "the last replica goes", &set.clone().replicas(1), &last), &free, 1, Some(shifted)),
        everywhere(&down("claims that are not there", &set), &[web().0], 2, None),
        everywhere(&down("a scale-down by the controller", &set).by(CONTROLLER), &free, 0, None),
        everywhere(&down("a scale-down of an owned set", &set.clone().owned()), &free, 0, None),
        everywhere(&down("the policy is not named", &unnamed), &free, 0, None),
        everywhere(&down("the policy is a word of the future", &small("Retain", "Archive")), &free, 0, None),
        everywhere(&mutable, &free, 2, Some(SCALED)),
        cases,
    ]
    .concat()
}

/// The policy changes in the same request.
fn policies() -> Vec<Case> {
    let [retain, delete] = [small("Retain", "Retain"), small("Retain", "Delete")];
    let to = |sentence: &str, old: &Object, new: &Object| update("R1", sentence, old, new);
    let free = claims(&Value::Null);
    [
        everywhere(&to("Delete and a scale-down at once", &retain, &delete.clone().replicas(1)), &free, 2, Some(SCALED)),
        everywhere(&to("Retain and a scale-down at once", &delete, &retain.clone().replicas(1)), &free, 2, None),
        everywhere(&to("Delete without a deletion", &retain, &delete), &free, 0, None),
    ]
    .concat()
}

/// The policy changes during a scale-down.
fn in_progress() -> Vec<Case> {
    let old = small("Retain", "Retain").replicas(1);
    let new = small("Retain", "Delete").replicas(1);
    let pod = |ordinal: u32| {
        let name = format!("web-{ordinal}");
        claim(&format!("data-web-{ordinal}")).with("/metadata/ownerReferences", json!([owner("Pod", &name, "p")])).0
    };
    let may = "persistentVolumeClaimRetentionPolicy.whenScaled: Delete may delete data-web-2, data-web-1";
    let settled = |set: &Object| set.clone().with("/status/replicas", 1);
    let to = |sentence: &str, old: &Object, new: &Object| update("R1", sentence, old, new);
    let free = claims(&Value::Null);
    [
        everywhere(&to("Delete while a scale-down is in progress", &old, &new), &free, 2, Some(SCALED)),
        everywhere(&to("Retain while a scale-down is in progress: too late for some", &new, &old), &[pod(2), pod(1)], 2, Some(may)),
        everywhere(&to("Delete when the scale-down is over", &settled(&old), &settled(&new)), &free, 0, None),
        everywhere(&to("an unrelated edit while a scale-down is in progress", &new, &new.clone().image("2")), &free, 0, None),
    ]
    .concat()
}

/// Through the subresource, as `kubectl scale` and autoscalers do.
fn scales() -> Vec<Case> {
    let scale = |replicas: i64| {
        Object(json!({"apiVersion": "autoscaling/v1", "kind": "Scale",
        "metadata": {"name": "web", "namespace": "shop", "uid": UID}, "spec": {"replicas": replicas}, "status": {"replicas": 3}}))
    };
    let request = |sentence: &str, to: Object| {
        update("R1", sentence, &scale(3), &to)
            .of_kind("autoscaling", "v1", "Scale", "scales")
            .asking("/subResource", "scale")
            .asking("/resource", json!({"group": "apps", "version": "v1", "resource": "statefulsets"}))
    };
    let set = |set: Object| [claims(&Value::Null), vec![set.0]].concat();
    let none = scale(0).without("/spec/replicas");
    let all = "persistentVolumeClaimRetentionPolicy.whenScaled: Delete deletes data-web-2, data-web-1, data-web-0";
    let deployment = json!({"group": "apps", "version": "v1", "resource": "deployments"});
    let kruise = json!({"group": "apps.kruise.io", "version": "v1beta1", "resource": "statefulsets"});
    let any_shape = |kind: &str| request(&format!("a scale request of any shape for {kind}"), scale(1)).asking("/object/spec", "x");
    let goes = set(small("Retain", "Delete"));
    let mut cases = [
        everywhere(&request("a scale request", scale(1)), &goes, 3, Some(SCALED)),
        everywhere(&request("a scale request to nothing", scale(0)), &goes, 4, Some(all)),
        everywhere(&request("a scale request that leaves out a zero", none), &goes, 4, Some(all)),
        everywhere(&request("a scale request to the same number", scale(3)), &goes, 0, None),
        everywhere(&request("a scale request upwards", scale(5)), &goes, 0, None),
        everywhere(&request("a scale request under Retain", scale(1)), &set(small("Delete", "Retain")), 1, None),
        everywhere(&request("a scale request for an owned set", scale(1)), &set(small("Retain", "Delete").owned()), 1, None),
        everywhere(&request("a scale request for a set that is not there", scale(1)), &claims(&Value::Null), 1, None),
        everywhere(&request("a scale request by the controller", scale(1)).by(CONTROLLER), &goes, 0, None),
        everywhere(&request("a scale request for a Deployment", scale(1)).asking("/resource", deployment.clone()), &goes, 0, None),
        everywhere(&any_shape("a Deployment").asking("/resource", deployment), &[], 0, None),
        everywhere(&any_shape("a set of OpenKruise").asking("/resource", kruise), &[], 0, None),
    ]
    .concat();
    let unknown = "\"failed to find the PVCs to be deleted (\" ";
    cases.extend([
        with(request("no API server to ask for the set (Warn)", scale(1)), "Warn", vec![]).expects(format!("pass lookups=1 warns {unknown}")),
        with(request("no API server to ask for the set (Deny)", scale(1)), "Deny", vec![])
            .expects(format!("deny 403 lookups=1 {unknown} \"grant the policy get on statefulsets and persistentvolumeclaims\"")),
        with(request("the host grants nothing (Warn)", scale(1)), "Warn", vec![]).nothing_granted().expects(format!("pass lookups=1 warns {unknown}")),
        with(request("the host grants nothing (Deny)", scale(1)), "Deny", vec![])
            .nothing_granted()
            .expects(format!("deny 403 lookups=1 {unknown} \"has not been granted\"")),
        with(request("a scale request without a scale", scale(1)), "Ignore", vec![]).asking("/object", Value::Null).expects("pass"),
        with(request("a set that cannot be read", scale(1)), "Warn", vec![small("Retain", "Delete").with("/spec", 1).0])
            .expects("deny 400 lookups=1 \"the StatefulSet cannot be read\""),
    ]);
    cases
}

fn deletions() -> Vec<Case> {
    let all = "persistentVolumeClaimRetentionPolicy.whenDeleted: Delete deletes data-web-2, data-web-1, data-web-0";
    let options = [
        ("in the background", json!({"propagationPolicy": "Background"}), true),
        ("in the foreground", json!({"propagationPolicy": "Foreground"}), true),
        ("without options", Value::Null, true),
        ("its dependents orphaned", json!({"propagationPolicy": "Orphan"}), false),
        ("its dependents orphaned in the old way", json!({"orphanDependents": true}), false),
        ("its dependents not orphaned in the old way", json!({"orphanDependents": false}), true),
    ];
    let mut cases = Vec::new();
    for [deleted, scaled] in POLICIES {
        for (how, options, deletes) in &options {
            let case = delete("R1", format!("a set under {deleted}/{scaled} is deleted, {how}"), &small(deleted, scaled))
                .asking("/options", options.clone());
            // With Retain for scale-downs there is one more lookup: PVCs that a scale-down left are deleted with the
            // StatefulSet too.
            let (lookups, owner) = match (deleted, scaled) {
                ("Delete", "Retain") => (3 + usize::from(*deletes), of_set()),
                ("Delete", _) => (3, of_set()),
                _ => (0, Value::Null),
            };
            cases.extend(everywhere(&case, &claims(&owner), lookups, (*deletes && deleted == "Delete").then_some(all)));
        }
    }
    let bare = delete("R1", "a set is deleted without its object", &web()).asking("/oldObject", Value::Null);
    cases.push(with(bare.clone(), "Ignore", vec![]).expects("pass"));
    cases.push(with(bare, "Warn", vec![]).expects("deny 400 \"request.oldObject: expected a StatefulSet, but found nothing\""));
    let by = |who: Case, message: Option<&str>, lookups| everywhere(&who, &claims(&of_set()), lookups, message);
    cases.extend(by(delete("R1", "the controller deletes a set", &small("Delete", "Retain")).by(CONTROLLER), None, 0));
    cases.extend(by(delete("R1", "an owned set is deleted", &small("Delete", "Retain").owned()), None, 0));
    cases
}

/// PVCs of previous scale-downs are deleted with the StatefulSet. Their number is unknown.
fn leftovers() -> Vec<Case> {
    let of = |sentence: &str, replicas: i64| delete("R1", sentence, &small("Delete", "Retain").replicas(replicas));
    let goes = |names: &str| format!("persistentVolumeClaimRetentionPolicy.whenDeleted: Delete deletes {names}");
    let all = goes("data-web-0, data-web-1, data-web-2");
    let scaled_with = delete("R1", "a set whose scale-downs keep no claims is deleted", &small("Delete", "Delete").replicas(1));
    let mut cases = [
        everywhere(&of("a set after a scale-down is deleted", 1), &claims(&of_set()), 4, Some(&all)),
        everywhere(&of("a set without replicas is deleted", 0), &claims(&of_set()), 4, Some(&all)),
        everywhere(&scaled_with, &claims(&of_set()), 1, Some(&goes("data-web-0"))),
    ]
    .concat();
    for (most, lookups, names) in [
        (1, 1, "data-web-0"),
        (2, 2, "data-web-0, data-web-1"),
        (3, 3, "data-web-0, data-web-1, data-web-2"),
        (4, 4, "data-web-0, data-web-1, data-web-2"),
        (9, 4, "data-web-0, data-web-1, data-web-2"),
    ] {
        let case = of(&format!("a set after a scale-down is deleted, with {most} lookups"), 1).settings(json!({"maxPVCLookups": most}));
        cases.push(with(case, "Warn", claims(&of_set())).expects(format!("pass lookups={lookups} warns \"claim-rollout: {}\"", goes(names))));
    }
    cases
}

/// Only PVCs with certain owners are deleted.
fn owners() -> Vec<Case> {
    let set = small("Delete", "Delete");
    let scale = |sentence: &str| update("R1", format!("{sentence}: a scale-down"), &set, &set.clone().replicas(2));
    let deletion = |sentence: &str| delete("R1", format!("{sentence}: a deletion"), &set.clone().replicas(1));
    let goes = "whenScaled: Delete deletes data-web-2";
    let deletes = "persistentVolumeClaimRetentionPolicy.whenDeleted: Delete deletes data-web-0";
    let may_delete = "persistentVolumeClaimRetentionPolicy.whenDeleted: Delete may delete data-web-0";
    let scaled = format!("persistentVolumeClaimRetentionPolicy.{goes}");
    let another = owner("StatefulSet", "web", "made-before");
    let database = json!({"apiVersion": "example.com/v1", "kind": "Database", "name": "db", "uid": "d", "controller": true});
    let plain = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "a", "uid": "c"});
    let mut beta = of_set();
    beta["controller"] = false.into();
    [
        ("owned by the set", of_set(), Some(&*scaled), Some(deletes)),
        ("not owned yet", Value::Null, Some(&*scaled), Some(may_delete)),
        ("owned by another controller", database, None, None),
        ("owned beside the set by something else", plain, None, None),
        ("owned by the set as in the first beta", beta, Some(&*scaled), Some(deletes)),
        ("owned by a deleted set of that name", another, None, None),
    ]
    .into_iter()
    .flat_map(|(sentence, owner, scaled, deletes)| {
        let mut cases = everywhere(&scale(sentence), &claims(&owner), 1, scaled);
        cases.extend(everywhere(&deletion(sentence), &claims(&owner), 1, deletes));
        cases
    })
    .collect()
}

fn bounds() -> Vec<Case> {
    let set = small("Retain", "Delete");
    let down = |sentence: &str| update("R1", sentence, &set, &set.clone().replicas(0)).settings(json!({"maxPVCLookups": 1}));
    let scale = |sentence: &str, set: &Object| update("R1", sentence, set, &set.clone().replicas(0));
    let bare = small("Delete", "Delete").with("/spec/volumeClaimTemplates", json!([])).replicas(i64::MAX);
    let most = i64::from(i32::MAX);
    let endless = update("R1", "as many replicas as there can be", &set.clone().replicas(most), &set.clone().replicas(0));
    let deletes = "persistentVolumeClaimRetentionPolicy.whenScaled: Delete deletes data-web-2";
    let unchecked = "2 more PVCs were not checked (setting maxPVCLookups: 1)";
    vec![
        with(down("more claims than look-ups (Warn)"), "Warn", claims(&Value::Null))
            .expects(format!("pass lookups=1 warns \"{deletes}\" \"{unchecked}\"")),
        with(down("more claims than look-ups (Deny)"), "Deny", claims(&Value::Null))
            .expects(format!("deny 403 lookups=1 \"{deletes}\" \"{unchecked}\"")),
        with(endless, "Warn", claims(&Value::Null)).expects("pass lookups=20 warns \"2147483627 more PVCs were not checked\""),
        with(scale("more replicas than a name can have", &set.clone().replicas(i64::MAX)), "Warn", claims(&Value::Null))
            .expects("pass warns \"9223372036854775787 more PVCs were not checked\""),
        with(scale("a set without templates is scaled down", &bare), "Warn", claims(&Value::Null)).expects("pass"),
        with(delete("R1", "a set without templates is deleted", &bare), "Warn", claims(&of_set())).expects("pass"),
        with(scale("as many claims as look-ups", &set).settings(json!({"maxPVCLookups": 3})), "Warn", claims(&Value::Null))
            .expects("pass lookups=3 order:data-web-2,data-web-1,data-web-0 warns \"deletes data-web-2, data-web-1, data-web-0\""),
        with(update("R1", "no API server to ask for the claims (Warn)", &set, &set.clone().replicas(1)), "Warn", vec![])
            .expects("pass lookups=1 warns \"failed to find the PVCs to be deleted\""),
        with(update("R1", "no API server to ask for the claims (Deny)", &set, &set.clone().replicas(1)), "Deny", vec![])
            .expects("deny 403 lookups=1 \"failed to find the PVCs to be deleted\""),
    ]
}
