//! Rows C1 to C3, U0 and U2.

use claim_rollout::templates::{Phase, UpdatePolicy};
use serde_json::{Value, json};

use super::case::{Case, create, delete, update};
use super::objects::{CONTROLLER, Object, UID, access, staged_change, web, claim};

/// The values that users may write, and those that are denied.
const KEYS: [(&str, &[&str], &str, &[&str]); 4] = [
    ("update-policy", &["OnClaimDelete", "OnDelete", "InPlace"], "OnClaimDelete, InPlace", &["inplace", "In Place", "", "ReCreate", "OnPodRollingUpdate"]),
    ("sync", &["LockStep", "Async"], "LockStep, Async", &["lockstep", "", "None"]),
    ("replace-set", &["Never", "WhenComplete"], "Never, WhenComplete", &["Always", "never", ""]),
    ("paused", &["true", "false"], "true, false", &["yes", "True", "1", ""]),
];

/// The annotations that only the policy may write.
const POLICYS: [&str; 5] = ["staged", "phase", "ready", "staged-at", "withdraw"];

pub(super) fn cases() -> Vec<Case> {
    let parts = [creations(), restored(), released(), user_keys(), unknown_keys(), audits(), controllers(), others(), owned(), unchanged(), forged(), same_target()];
    parts.into_iter().flatten().collect()
}

fn grown() -> Object {
    web().size("20Gi")
}

fn creations() -> Vec<Case> {
    let all = POLICYS.iter().fold(web(), |set, key| set.note(key, "x"));
    let stolen = web().staged(&grown());
    let mut cases = vec![
        create("C1", "a set is created", &web()).expects("pass"),
        create("C1", "one without annotations is created", &web().without("/metadata/annotations")).expects("pass"),
        create("C1", "one without templates is created", &web().without("/spec/volumeClaimTemplates")).expects("pass"),
        create("C1", "all that only the policy writes comes along", &all).expects("mutate -staged -phase -ready -staged-at -withdraw warns \"is removed: \""),
        create("C1", "the request has a staged change of another set", &stolen).expects("mutate restored -staged warns \"StatefulSet web gets the staged templates it was created with\""),
        create("C1", "a dry run", &all).asking("/dryRun", true).expects("mutate -staged -phase -ready -staged-at -withdraw warns \"is removed: \""),
        create("C1", "a name is generated", &web().without("/metadata/name").with("/metadata/generateName", "web-")).asking("/name", "").expects("pass"),
        create("C1", "the controller makes a set again with its own staged change", &stolen).by(CONTROLLER).expects("pass"),
    ];
    for (key, word) in POLICYS.into_iter().zip(["-staged warns \"is removed: \"", "-phase", "-ready", "-staged-at", "-withdraw"]) {
        let set = web().note(key, "x");
        cases.push(create("C1", format!("{key} comes along"), &set).expects(format!("mutate {word}")));
        let alone = web().without("/metadata/annotations").note(key, "");
        cases.push(create("C1", format!("{key} is the only annotation, and empty"), &alone).expects(format!("mutate {word}")));
    }
    cases
}

/// A staged change from a backup, or from another cluster.
fn restored() -> Vec<Case> {
    let copy = web().with("/metadata/uid", "new").staged(&grown()).note("phase", "RollingOut");
    let named = web().data("/metadata/name", "Data");
    let removed = |why: &str| format!("mutate -staged -phase warns \"claim-rollout.io/staged is removed: {why}\"");
    let of = |sentence: &str, set: &Object| create("C1", sentence, set).shipped();
    vec![
        of("a backup is restored, which asks for no right", &copy)
            .expects("mutate restored -staged -phase warns \"StatefulSet web gets the staged templates it was created with: data 10Gi -> 20Gi\""),
        of("a backup with the staged templates", &copy.clone().size("20Gi")).expects("mutate -staged -phase"),
        of("a backup that is restored to another storage class", &copy.clone().size("20Gi").data("/spec/storageClassName", "fast")).expects(
            "mutate -staged -phase warns \"keeps what it asks for: spec.storageClassName\"",
        ),
        of("a backup beyond a ceiling", &copy).settings(json!({"maxStorage": {"*": "15Gi"}})).expects(removed("spec.volumeClaimTemplates[data].spec.resources.requests.storage: is limited, expected at most 15Gi")),
        of("a backup whose staged change cannot be read", &copy.clone().note("staged", "x")).expects(removed("not a staged change: no JSON object")),
        of("a backup whose templates cannot be read", &copy.clone().size("x")).expects(removed("spec.volumeClaimTemplates[0]")),
        of("a backup with a name that no claim can have", &named.clone().staged(&named.size("20Gi")).note("phase", "Staged"))
            .expects(removed("spec.volumeClaimTemplates[Data]: expected a template name")),
    ]
}

/// A backup from the time of a replacement, when the controller had written the finalizer, the partition and
/// `whenDeleted: Retain` (docs/replacing.md). Velero's `resetMetadata` keeps finalizers
/// (github.com/vmware-tanzu/velero, pkg/restore/restore.go).
fn released() -> Vec<Case> {
    let marked = |set: Object, finalizers: &[&str]| set.with("/metadata/finalizers", json!(finalizers));
    let replacing = "claim-rollout.io/replacing";
    let held = |set: Object| set.partition(1_000_000_000);
    let web = || web().retention("Delete", "Delete");
    let kept = |set: Object| set.retention("Retain", "Delete");
    let copied = |what: &str| format!("\"StatefulSet web was copied while being replaced: {what}\"");
    let finalizer = copied("our finalizer is removed");
    let partition = copied("partition 1000000000 is removed; set yours again");
    let retain = copied("whenDeleted: Retain may not be yours");
    let growing = marked(kept(web().staged(&grown()).note("phase", "Complete")), &[replacing]);
    let mut cases = vec![
        create("C1", "a backup with our finalizer", &marked(web(), &[replacing])).expects(format!("mutate -finalizer warns {finalizer}")),
        create("C1", "a backup with our finalizer and others", &marked(web(), &["example.com/a", replacing, "example.com/b"])).expects(format!("mutate -finalizer warns {finalizer}")),
        create("C1", "a backup with our partition", &held(web())).expects(format!("mutate -partition warns {partition}")),
        create("C1", "a backup of the new set", &marked(held(kept(web())), &[replacing])).expects(format!("mutate -finalizer -partition warns {finalizer} {partition} {retain}")),
        create("C1", "a backup of the old set", &growing)
            .expects(format!("mutate restored -staged -phase -finalizer warns \"gets the staged templates\" {finalizer} {retain}")),
        create("C1", "by the controller", &marked(held(kept(web())), &[replacing])).by(CONTROLLER).expects("pass"),
        create("C1", "by the command claim-rollout replace", &marked(held(kept(web())), &[replacing])).manager("claim-rollout").expects("pass"),
        create("C1", "a backup is only judged", &marked(held(web()), &[replacing])).settings(json!({"mode": "ValidateOnly"})).expects("pass"),
        create("C1", "finalizers that cannot be read", &web().with("/metadata/finalizers", json!([1]))).expects("pass"),
    ];
    for (what, set) in [
        ("another finalizer", marked(kept(web()), &["example.com/a"])),
        ("a partition of the user", kept(web()).partition(999_999_999)),
        ("a larger partition", kept(web()).partition(1_000_000_001)),
        ("no partition", kept(web()).without("/spec/updateStrategy/rollingUpdate")),
        ("no strategy", kept(web()).without("/spec/updateStrategy")),
    ] {
        cases.push(create("C1", format!("a set with {what} is created"), &set).expects("pass"));
    }
    cases
}

/// An annotation of our domain that has no effect.
fn unknown_keys() -> Vec<Case> {
    let set = web().note("updatepolicy", "InPlace");
    let warned = "pass warns \"claim-rollout: annotation claim-rollout.io/updatepolicy is not known and has no effect\"";
    vec![
        create("C1", "an unknown key comes along, with a warning", &set).expects(warned),
        update("U0", "an unknown key is written, with a warning", &web(), &set).expects(warned),
        update("U0", "an unknown key stays, without another warning", &set, &set).expects("pass"),
    ]
}

fn user_keys() -> Vec<Case> {
    let mut cases = Vec::new();
    for (key, known, allowed, unknown) in KEYS {
        for value in known {
            let set = web().note(key, value);
            cases.push(create("C1", format!("{key}: {value:?} comes along"), &set).expects("pass"));
        }
        for value in unknown {
            let set = web().note(key, value);
            let refused = format!("deny 403 \"annotation claim-rollout.io/{key}: expected one of {allowed}, but found {value}\"");
            cases.push(create("C1", format!("{key}: {value:?} comes along"), &set).expects(&refused));
            cases.push(update("U0", format!("{key}: {value:?} is written"), &web(), &set).expects(&refused));
            let scaled = set.clone().replicas(5);
            cases.push(update("U0", format!("{key}: {value:?} was there before"), &set, &scaled).expects("pass"));
            let removed = scaled.unnoted(key);
            cases.push(update("U0", format!("{key}: {value:?} is taken away"), &set, &removed).expects("pass"));
        }
    }
    cases
}

fn audits() -> Vec<Case> {
    let live = web().staged(&grown()).beside("RollingOut", "x.2").policy("Sometimes");
    let audit =
        |sentence: &str, set: &Object| create("C1", sentence, set).asking("/uid", UID).without("/userInfo").without("/options").without("/dryRun");
    vec![
        audit("the audit scanner shows a set that is being rolled out", &live).expects("pass"),
        audit("the audit scanner shows a set with names that no claim can have", &web().data("/metadata/name", "A_b")).expects("pass"),
        audit("an object that was never stored is judged", &live.clone().without("/metadata/resourceVersion"))
            .expects("deny 403 \"update-policy: expected one of\""),
        audit("a request with another object's uid is not an audit", &live).asking("/uid", "another").expects("deny 403 \"update-policy\""),
        audit("an object without a uid was never stored", &live.clone().without("/metadata/uid")).asking("/uid", "")
            .expects("deny 403 \"update-policy: expected one of\""),
        audit("a user's request is not an audit", &live.unnoted("update-policy")).by("alice").expects("mutate restored -staged -phase -ready warns \"StatefulSet web gets the staged templates it was created with\""),
    ]
}

fn controllers() -> Vec<Case> {
    let rolling = web().in_place().staged(&grown());
    let complete = web().in_place().staged_change(&grown(), UpdatePolicy::InPlace, Phase::Complete);
    let elsewhere = json!({"controllerAccounts": ["system:serviceaccount:ops:mover"]});
    let kept = "mutate kept";
    let ready = |ready: &str| rolling.clone().beside("RollingOut", ready);
    vec![
        update("C2", "the controller ends a rollout", &rolling, &complete).by(CONTROLLER).expects("pass"),
        update("C2", "another user ends a rollout", &rolling, &complete).expects(kept),
        update("C2", "the controller drops a staged change", &rolling, &web().in_place()).by(CONTROLLER).expects("pass"),
        update("C2", "the controller writes the ready replica", &ready("x.2"), &ready("x.1")).by(CONTROLLER).expects("pass"),
        update("C2", "the controller changes templates", &web(), &web().size("1Gi")).by(CONTROLLER).expects("pass"),
        update("C2", "the account is another one: it passes", &rolling, &complete)
            .settings(elsewhere.clone())
            .by("system:serviceaccount:ops:mover")
            .expects("pass"),
        update("C2", "the account is another one: the usual one is a stranger", &rolling, &complete).settings(elsewhere).by(CONTROLLER).expects(kept),
        update("C2", "a user whose name begins like the controller's", &rolling, &complete).by(&format!("{CONTROLLER}-2")).expects(kept),
    ]
}

fn others() -> Vec<Case> {
    let (old, new) = (web().staged(&grown()), web().size("1Gi"));
    let mut cases: Vec<Case> = ["scale", "eviction", "ephemeralcontainers"]
        .iter()
        .map(|sub| update("C3", format!("the subresource {sub}"), &old, &new).asking("/subResource", *sub).expects("pass"))
        .collect();
    for (group, version, kind, resource) in [
        ("apps", "v1", "Deployment", "deployments"),
        ("apps", "v1", "DaemonSet", "daemonsets"),
        ("apps", "v1beta1", "StatefulSet", "statefulsets"),
        ("apps", "v2", "StatefulSet", "statefulsets"),
        ("example.com", "v1", "StatefulSet", "statefulsets"),
        ("apps.kruise.io", "v1alpha1", "StatefulSet", "statefulsets"),
        ("", "v1", "PersistentVolume", "persistentvolumes"),
        ("", "v1", "PersistentVolumeClaim", "persistentvolumeclaims"),
    ] {
        let sentence = format!("another kind: {group}/{version} {kind}");
        cases.push(update("C3", sentence, &old, &new).of_kind(group, version, kind, resource).expects("pass"));
    }
    cases.push(delete("C3", "a set is deleted", &old).expects("pass"));
    cases.push(delete("C3", "a connection", &old).asking("/operation", "CONNECT").expects("pass"));
    cases.push(delete("C3", "many sets are deleted", &old).asking("/name", "").expects("pass"));
    cases.push(
        create("K1", "a set of OpenKruise is created", &new.with("/apiVersion", "apps.kruise.io/v1beta1")).of_kind("apps.kruise.io", "v1beta1", "StatefulSet", "statefulsets").expects("pass"),
    );
    cases
}

fn owned() -> Vec<Case> {
    let staged = "mutate templates staged:OnClaimDelete warns \"staged data 10Gi -> 20Gi; existing PVCs stay\"";
    let only_new = update("C3", "a controller comes in the same request", &web(), &grown().owned());
    let only_old = update("C3", "a controller goes in the same request", &web().owned(), &grown());
    let merely = |set: Object| set.owned().without("/metadata/ownerReferences/0/controller");
    let marked = |set: Object, controls: Value| set.owned().with("/metadata/ownerReferences/0/controller", controls);
    let after = json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": "a", "uid": "a"},
        {"apiVersion": "example.com/v1", "kind": "Database", "name": "db", "uid": "d", "controller": true}]);
    let second = |set: Object| set.with("/metadata/ownerReferences", after.clone());
    let managed = || json!({"ownedSets": "Stage"});
    vec![
        update("C3", "another controller owns the set", &web().owned(), &grown().owned()).expects("pass"),
        update("C3", "the second owner is a controller", &second(web()), &second(grown())).expects("pass"),
        update("C3", "another controller owns the set, by the setting", &web().owned(), &grown().owned())
            .settings(json!({"ownedSets": "Skip"}))
            .expects("pass"),
        update("C3", "owned sets are managed", &web().owned(), &grown().owned()).settings(managed()).expects(staged),
        update("C3", "owned sets of such an owner are managed", &web().owned(), &grown().owned())
            .settings(json!({"stageOwnedBy": ["example.com/Database"]}))
            .expects(staged),
        update("C3", "owned sets of such an owner only", &web().owned(), &grown().owned())
            .settings(json!({"stageOwnedBy": ["example.com/Other", "other.com/Database"]}))
            .expects("pass"),
        update("C3", "an owner that is no controller", &merely(web()), &merely(grown())).expects(staged),
        update("C3", "an owner that is marked as no controller", &marked(web(), false.into()), &marked(grown(), false.into())).expects(staged),
        update("C3", "an owner that is not marked", &marked(web(), Value::Null), &marked(grown(), Value::Null)).expects(staged),
        only_old.expects(staged),
        only_new.expects(staged),
        create("C3", "an owned set comes with a staged change", &web().owned().staged(&grown())).expects("mutate -staged"),
        create("C3", "an owned set comes with a staged change, and is managed", &web().owned().staged(&grown()))
            .settings(managed())
            .expects("mutate restored -staged warns \"StatefulSet web gets the staged templates it was created with\""),
        update("C3", "an owned set keeps its staged change", &web().owned().staged(&grown()), &web().owned()).expects("mutate kept"),
        update("C3", "an owned set keeps the annotations beside its staged change", &web().owned().staged(&grown()).beside("RollingOut", "x.1"), &web().owned())
            .expects("mutate kept phase=RollingOut ready=x.1"),
        update("C3", "an owned set gets no phase", &web().owned(), &web().owned().beside("RollingOut", "x.1")).expects("mutate -phase -ready"),
    ]
}

fn unchanged() -> Vec<Case> {
    let passes = |sentence: &str, new: Object| update("U0", sentence, &web(), &new).expects("pass");
    // The API server denies some of these, such as another status.
    let respelt = |sentence: &str, new: Object| update("U0", sentence, &web(), &new).expects("mutate templates");
    let templates = &web().0["spec"]["volumeClaimTemplates"];
    let bare = web().with("/spec/volumeClaimTemplates", json!([]));
    vec![
        passes("nothing changes", web()),
        passes("an image changes", web().image("2")),
        passes("the partition is lowered", web().partition(-1).partition(0)),
        passes("a label changes", web().with("/metadata/labels/team", "storage")),
        passes("an annotation of another project changes", web().with("/metadata/annotations/example.com~1note", "new")),
        respelt("a size in another spelling", web().size("10240Mi")),
        respelt(
            "templates without what the API server adds",
            web().data("/status", json!(null)).data("/apiVersion", json!(null)).data("/kind", json!(null)).data("/spec/volumeMode", json!(null)),
        ),
        respelt("another status in a template", web().data("/status/phase", "Bound")),
        respelt("another creation time in a template", web().data("/metadata/creationTimestamp", "2026-01-01T00:00:00Z")),
        respelt("empty labels in a template", web().data("/metadata/labels", json!({}))),
        passes("how claims follow is written down as it is", web().policy("OnClaimDelete")),
        passes("the rollout is paused", web().note("paused", "true")),
        update("U0", "a policy's own words before and after", &web().in_place(), &web().in_place().image("2")).expects("pass"),
        update("U0", "an alias takes the place of the name", &web().policy("OnClaimDelete"), &web().policy("OnDelete")).expects("pass"),
        respelt("templates are only reordered", web().with("/spec/volumeClaimTemplates", json!([templates[1], templates[0]]))),
        update("U0", "a set without templates changes", &web().without("/spec/volumeClaimTemplates"), &bare.in_place().image("2")).expects("pass"),
    ]
}

fn forged() -> Vec<Case> {
    let text = staged_change(&grown(), UpdatePolicy::InPlace, Phase::RollingOut);
    let forgeries = [
        ("of another set", text.replace(UID, "another-uid"), "the uid is of another StatefulSet"),
        ("of an older version", text.replace("\"version\":1", "\"version\":0"), "expected version 1"),
        ("whose version is no number", text.replace("\"version\":1", "\"version\":\"2\""), "expected version 1"),
        ("whose templates were changed", text.replace("20Gi", "99Gi"), "the revision is not of these templates"),
        ("with a field more", text.replace("\"version\":1", "\"version\":1,\"x\":1"), "not a staged change: an unknown field"),
        ("of another phase", text.replace("RollingOut", "Done"), "not a staged change: expected a valid phase"),
        ("with a key twice", text.replace("\"version\":1", "\"version\":1,\"version\":1"), "not a staged change: no JSON object"),
        ("that is no JSON", "{".to_owned(), "not a staged change: no JSON object"),
        ("that is a list", "[]".to_owned(), "not a staged change: no JSON object"),
        ("that is empty", String::new(), "not a staged change: no JSON object"),
        ("that is longer than any", format!("{text}{}", " ".repeat(8192)), "expected at most 8192 bytes"),
    ];
    let mut cases = Vec::new();
    for (what, forgery, why) in forgeries {
        let forged = web().note("staged", &forgery);
        cases.push(update("U0", format!("a staged change {what} is written"), &web(), &forged).expects("mutate -staged"));
        let was_there = update("U0", format!("a staged change {what} was there before"), &forged, &forged);
        cases.push(was_there.expects(format!("mutate -staged warns \"{why}\"")));
        let removed = update("U0", format!("a staged change {what} is removed"), &forged, &web());
        cases.push(removed.expects("pass"));
    }
    let valid = web().staged(&grown());
    cases.push(update("U0", "a staged change that would be valid is written by hand", &web(), &valid).expects("mutate -staged"));
    let beside = web().beside("RollingOut", "x.2");
    cases.push(update("U0", "a phase of nothing is written", &web(), &web().note("phase", "Complete")).expects("mutate -phase"));
    cases.push(update("U0", "a replica of nothing is ready", &web(), &web().note("ready", "x.2")).expects("mutate -ready"));
    cases.push(update("U0", "a time of nothing is written", &web(), &web().note("staged-at", "x")).expects("mutate -staged-at"));
    cases.push(update("U0", "a phase and a ready replica were left over", &beside, &beside.clone().image("2")).expects("mutate -phase -ready"));
    let both = beside.clone().note("staged", "{}");
    cases.push(update("U0", "a forged staged change is removed with all beside it", &both, &both.clone().image("2"))
        .expects("mutate -staged -phase -ready warns \"the annotation claim-rollout.io/staged is removed: expected version 1\""));
    let withdraw = web().note("withdraw", "abc");
    let nothing = "mutate -withdraw warns \"nothing was withdrawn: nothing is staged\"";
    cases.push(update("U0", "a withdrawal of nothing", &web(), &withdraw).expects(nothing));
    cases
}

fn same_target() -> Vec<Case> {
    let old = web().in_place().staged(&grown());
    let target = old.clone().size("20Gi");
    let again = |sentence: &str, new: &Object| update("U2", sentence, &old, new).shipped();
    let lazy = web().staged_change(&grown(), UpdatePolicy::OnClaimDelete, Phase::RollingOut);
    let complete = web().in_place().staged_change(&grown(), UpdatePolicy::InPlace, Phase::Complete);
    let swapped = target.0["spec"]["volumeClaimTemplates"].as_array().map(|list| json!([list[1], list[0]]));
    vec![
        again("the same target again takes no lookup", &target).expects("mutate templates"),
        again("by another user", &target).by("bob").expects("mutate templates"),
        again("in another spelling", &target.clone().size("20480Mi")).expects("mutate templates"),
        again("in another order", &target.clone().with("/spec/volumeClaimTemplates", swapped)).expects("mutate templates"),
        again("without the staged change, as a replace has it", &target.clone().unnoted("staged")).expects("mutate templates kept"),
        again("with a staged change of something else", &target.clone().staged(&web().size("99Gi"))).expects("mutate templates kept"),
        again("with more replicas", &target.clone().replicas(5)).expects("mutate templates"),
        again("in a dry run", &target).asking("/dryRun", true).expects("mutate templates"),
        update("U2", "after it was reached", &complete, &complete.clone().size("20Gi")).shipped().expects("mutate templates"),
        update("U2", "with a forged phase and ready replica", &complete, &complete.clone().size("20Gi").beside("Staged", "x.1"))
            .expects("mutate templates -phase -ready"),
        update("U2", "without the annotations beside the staged change", &old.clone().beside("RollingOut", "x.1"), &target)
            .expects("mutate templates phase=RollingOut ready=x.1"),
        update("U2", "and now it is to reach claims, by one who may", &lazy, &lazy.clone().size("20Gi").in_place())
            .shipped()
            .cluster(vec![access("alice", true)])
            .expects("mutate templates who lookups=3 warns \"staged data 10Gi -> 20Gi; 3 PVCs will be updated in place\""),
        update("U2", "and now it is to reach claims, which cannot grow", &lazy, &lazy.clone().size("20Gi").in_place())
            .shipped()
            .settings(json!({"pvcChecks": "Deny"}))
            .cluster(vec![access("alice", true), claim("data-web-1").with("/spec/storageClassName", Value::Null).0])
            .expects("deny 403 who lookups=3 \"data-web-1: \""),
        update("U2", "and now it is to reach claims, by one who may not", &lazy, &lazy.clone().size("20Gi").in_place())
            .shipped()
            .cluster(vec![access("alice", false)])
            .expects("deny 403 who \"user alice cannot patch\""),
    ]
}
