//! Row P1: the creation of PVCs.

use claim_rollout::templates::{Phase, UpdatePolicy};
use serde_json::{Value, json};

use super::case::{Case, creation};
use super::objects::{Object, SET_CONTROLLER, UID, claim, web};

pub(super) fn cases() -> Vec<Case> {
    [desired(), fields(), immutable(), replicas(), settings(), passes(), names(), hosts()].into_iter().flatten().collect()
}

/// A StatefulSet with a staged growth of `data`.
fn growing() -> Object {
    web().staged(&web().size("20Gi"))
}

fn cluster(sets: &[&Object]) -> Vec<Value> {
    sets.iter().map(|set| set.0.clone()).collect()
}

fn created(sentence: &str, claim: &Object, sets: &[&Object], expected: &str) -> Case {
    creation("P1", sentence, SET_CONTROLLER, claim).shipped().cluster(cluster(sets)).expects(expected)
}

const CREATED: &str = "mutate storage=20Gi revision lookups=1";
const REQUEST: &str = "/spec/resources/requests/storage";
/// It has all of the target but the label.
const LABELLED: &str = "mutate revision lookups=1";

/// A PVC that gets these changes.
fn changed(sentence: &str, claim: &Object, live: Object, target: &Object, changes: &str) -> Case {
    created(sentence, claim, &[&live.staged(target)], &format!("mutate {changes} revision lookups=1"))
}

fn desired() -> Vec<Case> {
    let one = claim("data-web-3");
    let staged_change = |policy, phase| web().staged_change(&web().size("20Gi"), policy, phase);
    let complete = staged_change(UpdatePolicy::InPlace, Phase::Complete);
    let lazy = staged_change(UpdatePolicy::OnClaimDelete, Phase::RollingOut);
    let unlabelled = one.clone().without("/metadata/labels");
    let before = one.clone().with(REQUEST, "20Gi").with("/metadata/labels/claim-rollout.io~1revision", web().size("20Gi").label());
    vec![
        created("a claim is created at the target", &one, &[&growing()], CREATED),
        created("after the target was reached", &one, &[&complete], CREATED),
        created("where existing PVCs stay as they are", &one, &[&lazy], CREATED),
        created("by the controller manager's own account", &one, &[&growing()], CREATED).by("system:kube-controller-manager"),
        created("by the account that the setting names", &one, &[&growing()], CREATED)
            .by("ssc")
            .settings(json!({"statefulSetControllerAccounts": ["other", "ssc"]})),
        created("its name is only in the request", &one.clone().without("/metadata/name"), &[&growing()], CREATED).asking("/name", "data-web-3"),
        created("the set has no selector that matches labels", &one, &[&growing().without("/spec/selector")], CREATED),
        created("a template that the target leaves as it is", &claim("logs-web-0"), &[&growing()], "mutate storage=5Gi revision lookups=1")
            .asking(&format!("/object{REQUEST}"), "4Gi"),
        created("it has the size already", &one.clone().with(REQUEST, "20480Mi"), &[&growing()], LABELLED),
        created("it asks for more than the target", &one.clone().with(REQUEST, "99Gi"), &[&growing()], LABELLED),
        created("it asks for nothing", &one.clone().without("/spec/resources"), &[&growing()], CREATED),
        created("it has no labels, and the set selects by none", &unlabelled, &[&growing().with("/spec/selector", json!({}))], CREATED),
        created("it was created before", &before, &[&growing()], "pass lookups=1"),
        created("the switch alone is staged", &one, &[&web().staged(&web())], LABELLED),
        created("in a dry run", &one, &[&growing()], CREATED).asking("/dryRun", true),
        created("where sets of other controllers are managed", &one, &[&growing().owned()], CREATED).settings(json!({"ownedSets": "Stage"})),
    ]
}

/// Each field of a new PVC.
fn fields() -> Vec<Case> {
    let old = web().data("/metadata/labels", json!({"tier": "bronze", "old": "yes"})).data("/metadata/annotations", json!({"before": "x"}));
    let new = web().data("/metadata/labels", json!({"tier": "gold", "app": "other"})).data("/metadata/annotations", json!({"backup": "daily"}));
    let one = || {
        claim("data-web-0")
            .with("/metadata/labels", json!({"app": "web", "tier": "bronze", "old": "yes"}))
            .with("/metadata/annotations", json!({"before": "x", "someone.else/s": "own"}))
    };
    let class = |name: &str| web().data("/spec/volumeAttributesClassName", name);
    let was = |name: &str| claim("data-web-0").with("/spec/volumeAttributesClassName", name);
    let kept = claim("data-web-0").with("/metadata/annotations", json!({"before": "x", "backup": "daily"}));
    let all = new.clone().size("20Gi").data("/spec/volumeAttributesClassName", "gold");
    let replaced = "label:tier=gold -label:old annotation:backup=daily";
    let bare = claim("data-web-0");
    vec![
        changed("with the target's labels and annotations in place of the live template's", &one(), old.clone(), &new, &format!("{replaced} -annotation:before")),
        changed("with labels and annotations where it had none", &one().without("/metadata/annotations"), old.clone(), &new, replaced),
        created("what the target no longer has was not there", &bare, &[&old.clone().staged(&web())], LABELLED),
        created("the selector's labels stay the selector's", &bare, &[&web().staged(&web().data("/metadata/labels", json!({"app": "x"})))], LABELLED),
        changed("with the target's class", &bare, web(), &class("gold"), "class=gold"),
        changed("with the target's class in place of another", &was("silver"), class("silver"), &class("gold"), "class=gold"),
        created("it has the class already", &was("gold"), &[&web().staged(&class("gold"))], LABELLED),
        // A target without a class leaves the class of a PVC as it is.
        created("a target without a class", &was("silver"), &[&class("silver").staged(&web())], LABELLED),
        changed("annotations that the target keeps", &kept, old.clone(), &old.clone().data("/metadata/annotations/backup", "daily"), "label:tier=bronze label:old=yes"),
        changed("an empty annotation is no absent one", &bare, web(), &web().data("/metadata/annotations/note", ""), "annotation:note="),
        changed("with all of it", &one(), old, &all, &format!("storage=20Gi class=gold {replaced} -annotation:before")),
    ]
}

/// Fields that only new PVCs can have (`immutableFields: NewPVCs`).
fn immutable() -> Vec<Case> {
    let class = |name: &str| web().data("/spec/storageClassName", name);
    let mode = |mode: &str| web().data("/spec/volumeMode", mode);
    let one = || claim("data-web-0");
    let of_class = |name: &str| one().with("/spec/storageClassName", name);
    let anew = |case: Case| case.settings(json!({"immutableFields": "NewPVCs"}));
    let row = |sentence: &str, claim: &Object, live: Object, target: Object, changes: &str| anew(changed(sentence, claim, live, &target, changes));
    let kept = |sentence: &str, claim: &Object, live: Object, target: Object| anew(created(sentence, claim, &[&live.staged(&target)], LABELLED));
    let unnamed = || web().data("/spec/storageClassName", Value::Null);
    let all = class("fast").size("20Gi").data("/spec/volumeAttributesClassName", "gold").data("/metadata/labels/tier", "gold");
    let filesystem = one().with("/spec/volumeMode", "Filesystem");
    vec![
        row("another storage class", &of_class("slow"), class("slow"), class("fast"), "spec:storageClassName=fast"),
        row("a storage class in place of the default", &of_class("default"), unnamed(), class("fast"), "spec:storageClassName=fast"),
        kept("a storage class that another webhook has changed", &of_class("encrypted"), class("slow"), class("fast")),
        row("no storage class", &of_class("slow"), class("slow"), unnamed(), "spec:storageClassName=null"),
        row("another volume mode", &filesystem, mode("Filesystem"), mode("Block"), "spec:volumeMode=Block"),
        row("a smaller size", &one(), web(), web().size("5Gi"), "storage=5Gi"),
        kept("a smaller size that another webhook has changed", &one().with(REQUEST, "12Gi"), web(), web().size("5Gi")),
        row("all at once", &of_class("slow"), class("slow"), all, "spec:storageClassName=fast storage=20Gi class=gold label:tier=gold"),
        created("another storage class, after the setting was taken away", &of_class("slow"), &[&class("slow").staged(&class("fast"))], "pass lookups=1"),
    ]
}

/// A replica below the partition gets the live template.
fn replicas() -> Vec<Case> {
    let strategy = |kind: &str, partition: u32| growing().with("/spec/updateStrategy", json!({"type": kind, "rollingUpdate": {"partition": partition}}));
    let start = |set: Object, first: u32| set.with("/spec/ordinals", json!({"start": first}));
    [
        ("no strategy", growing().with("/spec/updateStrategy", json!({})), CREATED),
        ("at the partition", strategy("RollingUpdate", 3), CREATED),
        ("below the partition", strategy("RollingUpdate", 4), "pass lookups=1"),
        ("below the partition, whose type is not named", strategy("", 4), "pass lookups=1"),
        ("below the partition, as ordinals start later", start(strategy("RollingUpdate", 3), 1), "pass lookups=1"),
        ("ordinals start at it", start(growing(), 3), CREATED),
        ("ordinals start after it", start(growing(), 4), "pass lookups=1"),
        ("Pods are replaced by hand", strategy("OnDelete", 9), CREATED),
        ("Pods are replaced together", strategy("Recreate", 9), CREATED),
        ("the largest partition", strategy("RollingUpdate", i32::MAX.unsigned_abs()), "pass lookups=1"),
        ("a partition that is none", strategy("OnDelete", u32::MAX), "pass lookups=1"),
    ]
    .into_iter()
    .map(|(sentence, set, expected)| created(sentence, &claim("data-web-3"), &[&set], expected))
    .collect()
}

/// A staged change that the settings no longer allow.
fn settings() -> Vec<Case> {
    let set = growing().staged(&web().size("20Gi").data("/metadata/labels/tier", "a").data("/spec/volumeAttributesClassName", "gold"));
    let all = "mutate storage=20Gi class=gold label:tier=a revision lookups=1";
    [
        (json!({}), all),
        (json!({"maxStorage": {"*": "20Gi"}}), all),
        (json!({"maxStorage": {"*": "19Gi"}}), "pass lookups=1"),
        (json!({"allowedVolumeAttributesClasses": ["slow"]}), "pass lookups=1"),
        (json!({"metadataOnlyChanges": "Deny"}), "pass lookups=1"),
    ]
    .into_iter()
    .map(|(settings, expected)| created(&format!("the settings are {settings}"), &claim("data-web-3"), &[&set], expected).settings(settings))
    .collect()
}

/// PVCs that are left alone.
fn passes() -> Vec<Case> {
    let one = claim("data-web-3");
    let pass = |sentence: &str, claim: &Object, sets: &[&Object], lookups: &str| created(sentence, claim, sets, &format!("pass {lookups}"));
    let once = "lookups=1";
    vec![
        pass("another user creates it", &one, &[&growing()], "").by("alice"),
        pass("another user with a similar name creates it", &one, &[&growing()], "").by(&format!("{SET_CONTROLLER}2")),
        pass("the usual account, where the setting names another", &one, &[&growing()], "")
            .settings(json!({"statefulSetControllerAccounts": ["ssc"]})),
        pass("the user may not create claims", &one, &[&growing()], "").settings(json!({"statefulSetControllerAccounts": []})),
        pass("templates are mutable here", &one, &[&growing()], "").settings(json!({"mode": "ValidateOnly"})),
        pass("nothing is staged", &one, &[&web()], once),
        pass("the staged change is forged", &one, &[&web().note("staged", "{}")], once),
        pass("the staged change is of a deleted set", &one, &[&growing().with("/metadata/uid", "made-again")], once),
        pass("another controller owns the set", &one, &[&growing().owned()], once),
        pass("the set has no such template", &claim("cache-web-0"), &[&growing()], once),
        pass("there is no such set", &claim("data-db-0"), &[&growing()], once),
        pass("its labels are not the selector's", &one.clone().with("/metadata/labels/app", "db"), &[&growing()], once),
        pass("it has no labels", &one.clone().without("/metadata/labels"), &[&growing()], once),
        pass("the set's templates cannot be read", &one, &[&growing().with("/spec/volumeClaimTemplates", "x")], once),
        pass("the set cannot be read", &one, &[&growing().with("/spec", "x")], once),
        pass("the set's strategy cannot be read", &one, &[&growing().with("/spec/updateStrategy", "x")], once),
        pass("its labels cannot be read", &one.clone().with("/metadata/labels", json!([])), &[&growing()], ""),
        pass("it is changed", &one, &[&growing()], "").asking("/operation", "UPDATE").asking("/oldObject", one.0.clone()),
        pass("it is deleted", &one, &[&growing()], "").asking("/operation", "DELETE").asking("/object", Value::Null),
        pass("its status is written", &one, &[&growing()], "").asking("/subResource", "status"),
        pass("the audit scanner shows it", &one, &[&growing()], "").without("/userInfo"),
    ]
}

fn named(name: &str, template: &str) -> Object {
    let live = web().with("/metadata/name", name).data("/metadata/name", template);
    live.clone().staged(&live.size("20Gi"))
}

fn names() -> Vec<Case> {
    let [first, second] = [named("web-1", "data"), named("1", "data-web")];
    let both = claim("data-web-1-0");
    let plain = |set: &Object| set.clone().unnoted("staged");
    let created_after_two = CREATED.replace("lookups=1", "lookups=2");
    let odd = |sentence: &str, name: &str| created(sentence, &claim(name), &[&growing()], "pass");
    let dashes = |count: usize| format!("data{}-web-0", "-a".repeat(count));
    // A template has a name of at most 63 characters.
    let long = |length: usize| format!("{}-b{}-web-0", "a".repeat(length), "-c".repeat(20));
    vec![
        created("two sets could have given the name, one exists", &both, &[&first], &created_after_two),
        created("two sets could have given the name, the other exists", &both, &[&second], &created_after_two),
        created("two sets give the name", &both, &[&first, &second], "pass lookups=2"),
        created("two sets give the name, one without a staged change", &both, &[&first, &plain(&second)], "pass lookups=2"),
        created("two sets give the name, one of another controller", &both, &[&first, &second.clone().owned()], "pass lookups=2"),
        created("two sets could, one has no such template", &both, &[&first, &named("1", "log")], &created_after_two),
        odd("a name without a dash", "data"),
        odd("a name without an ordinal", "data-web-x"),
        odd("a name that ends with a dash", "data-web-"),
        odd("a name that is an ordinal", "0"),
        odd("a name without a set", "data-0"),
        odd("an ordinal with a zero before it", "data-web-03"),
        odd("an ordinal beyond all replicas", "data-web-99999999999999999999"),
        odd("a name with an empty set", "data--3"),
        odd("a name with an empty template", "-web-3"),
        created("two sets are looked up, the shorter template first", &claim("data-one-web-3"), &[&growing()], "pass lookups=2 order:one-web,web"),
        created("as many sets as are looked up", &claim(&dashes(19)), &[&growing()], "pass lookups=20").settings(json!({"maxPVCLookups": 1})),
        created("a template with the longest name", &claim(&long(61)), &[&growing()], "pass lookups=2"),
        created("a template with a name that is longer than any", &claim(&long(62)), &[&growing()], "pass lookups=1"),
        created("a name that could be of too many sets", &claim(&dashes(20)), &[&growing()], "pass warns \"is created from the live template: its name fits 21 StatefulSets\""),
        created("with few lookups of claims", &claim("data-web-0"), &[&growing()], CREATED).settings(json!({"maxPVCLookups": 1})),
    ]
}

fn hosts() -> Vec<Case> {
    let one = claim("data-web-3");
    let from_live = "warns \"data-web-3 is created from the live template: failed to read its StatefulSet (";
    vec![
        created("there is no API server to ask", &one, &[], &format!("pass lookups=1 {from_live}\"")),
        created("the host grants nothing", &one, &[], &format!("pass lookups=1 {from_live}Host error: Policy has not been granted access\""))
            .nothing_granted(),
        created("it is of another kind", &growing(), &[&growing()], "pass")
            .asking("/name", "web"),
        created("there is none", &one, &[&growing()], "pass")
            .asking("/object", Value::Null),
        created("the set's uid is another's", &one, &[&growing().with("/metadata/uid", format!("{UID}0"))], "pass lookups=1"),
    ]
}
