//! Row G1: Pods that wait for their PVCs; and the annotations beside a staged change.

use claim_rollout::templates::{HELD, Phase, UpdatePolicy};
use serde_json::{Value, json};

use super::bad_input::strategies;
use super::case::{Case, creation, deletion, update};
use super::objects::{CONTROLLER, Object, SET_CONTROLLER, UID, access, claim, pod, web};

pub(super) fn cases() -> Vec<Case> {
    [waits(), adds(), goes(), asked(), where_nothing_is_rolled_out(), hosts(), beside(), held(), follows_the_policy(), follows_the_target()]
        .into_iter()
        .flatten()
        .collect()
}

/// A StatefulSet with a staged growth of `data`.
fn rolling() -> Object {
    web().in_place().staged(&grown())
}

fn grown() -> Object {
    web().size("20Gi")
}

/// A PVC at the target revision, with this capacity.
fn at(name: &str, capacity: &str) -> Object {
    claim(name)
        .with("/metadata/labels/claim-rollout.io~1revision", grown().label())
        .with("/spec/resources/requests/storage", "20Gi")
        .with("/status/capacity/storage", capacity)
}

/// The PVC of `data` of the highest replica.
fn data(capacity: &str) -> Object {
    at("data-web-2", capacity)
}

fn logs() -> Object {
    at("logs-web-2", "20Gi")
}

fn cluster(objects: &[&Object]) -> Vec<Value> {
    objects.iter().map(|object| object.0.clone()).collect()
}

fn condition(kind: &str, message: &str) -> Value {
    json!([{"type": "Other", "status": "True"}, {"type": kind, "status": "True", "message": message}])
}

/// Deletes web-2; its PVC of `data` is this one.
fn of_data(sentence: &str, data: &Object, expected: &str) -> Case {
    deletion("G1", sentence, &pod(2)).cluster(cluster(&[&rolling(), data, &logs()])).expects(expected)
}

/// A Pod that could not be created: no live template has its volume.
fn adds() -> Vec<Case> {
    let target = |set: &Object| {
        let mut templates = set.0["spec"]["volumeClaimTemplates"].as_array().cloned().unwrap_or_default();
        templates[1]["metadata"]["name"] = "more".into();
        set.clone().with("/spec/volumeClaimTemplates", templates)
    };
    let set = || web().in_place().note("replace-set", "WhenComplete");
    let staged = |phase: Phase| set().staged_change(&target(&set()), UpdatePolicy::InPlace, phase);
    let row = |sentence: &str, set: &Object, setting: &str| {
        deletion("G1", sentence, &pod(2)).cluster(cluster(&[set])).settings(json!({"templateChanges": setting}))
    };
    let deleted = staged(Phase::Complete).with("/metadata/deletionTimestamp", "2026-11-25T00:00:00Z");
    let left = |sentence: &str, pod: &Object| {
        deletion("G1", sentence, pod).cluster(cluster(&[&deleted])).settings(json!({"templateChanges": "Allow"}))
    };
    let ownerless = pod(2).without("/metadata/ownerReferences");
    let denied = "deny 403 lookups=1 \"the staged template more is not live yet; Pod web-2 is replaced after the StatefulSet\"";
    vec![
        row("a template is yet to be renamed", &staged(Phase::RollingOut), "Allow").expects(denied),
        row("a template is yet to be renamed, and PVCs are ready", &staged(Phase::Complete), "Allow").expects(denied),
        row("a template is yet to be renamed, and Pods do not wait", &staged(Phase::RollingOut).note("sync", "Async"), "Allow").expects(denied),
        row("a template is yet to be renamed, and the set is deleted to be replaced", &deleted, "Allow").expects(denied),
        left("a template is yet to be renamed, and the garbage collector has taken the owner away", &ownerless).expects(denied),
        left("a Pod of nobody whose name has no number", &ownerless.clone().with("/metadata/name", "web")).expects("pass"),
        left("a Pod of nobody whose number is too high", &ownerless.clone().with("/metadata/name", "web-3")).expects("pass lookups=1"),
        row("a template that may not be renamed", &staged(Phase::RollingOut), "Deny").expects("pass lookups=1"),
    ]
}

fn denied(why: &str, lookups: u32) -> String {
    format!("deny 403 lookups={lookups} \"claim-rollout: {why}; Pod web-2 is replaced when it is ready\"")
}

fn waits() -> Vec<Case> {
    let resize = |status: &str| data("10Gi").with("/status/allocatedResourceStatuses", json!({"storage": status}));
    let waits = |sentence: &str, data: Object, why: &str| of_data(sentence, &data, &denied(&format!("data-web-2 {why}"), 2));
    let gold = |claim: Object| claim.with("/spec/volumeAttributesClassName", "gold");
    let (size, class) = ("capacity 10Gi of 20Gi", "attributes class none, expected gold");
    let behind = format!("is not yet at revision {}", grown().revision());
    let second = deletion("G1", "the second claim of two", &pod(2))
        .cluster(cluster(&[&rolling(), &data("20Gi"), &claim("logs-web-2")]))
        .expects(denied(&format!("logs-web-2 {behind}"), 3));
    vec![
        waits("its claim was not written yet", claim("data-web-2"), &behind),
        waits("its claim has no label of the selector", claim("data-web-2").without("/metadata/labels"), &behind),
        waits("its claim is older than the selector", claim("data-web-2").with("/metadata/labels/app", "old"), &behind),
        waits("its claim is of another revision", data("20Gi").with("/metadata/labels/claim-rollout.io~1revision", "x"), &behind),
        waits("its claim is as large as the target, and was not written yet", claim("data-web-2").with("/status/capacity/storage", "20Gi"), &behind),
        waits("its claim was written", data("10Gi"), &format!("is Applied: {size}")),
        waits("its claim has no capacity", data("10Gi").without("/status/capacity"), "is Applied: capacity none of 20Gi"),
        waits("its claim is being expanded", resize("ControllerResizeInProgress"), &format!("is Expanding: {size}")),
        waits("its claim is being expanded, as a condition shows", data("10Gi").with("/status/conditions", condition("Resizing", "")), &format!("is Expanding: {size}")),
        waits("the driver cannot expand its claim", resize("ControllerResizeInfeasible"), "is Infeasible: not possible for the driver"),
        waits(
            "the driver cannot expand its claim, and reports why",
            resize("ControllerResizeInfeasible").with("/status/conditions", condition("ControllerResizeError", "out of space")),
            "is Infeasible: out of space",
        ),
        waits("its claim waits for another class", gold(data("20Gi")), &format!("is Modifying: {class}")),
        waits("its claim gets another class", gold(data("20Gi")).with("/status/modifyVolumeStatus/status", "InProgress"), &format!("is Modifying: {class}")),
        waits("a class does not exist", gold(data("20Gi")).with("/status/modifyVolumeStatus/status", "Pending"), &format!("is Modifying: {class}: the class may not exist")),
        waits("the driver cannot change the class", gold(data("20Gi")).with("/status/modifyVolumeStatus/status", "Infeasible"), "is Infeasible: not possible for the driver"),
        waits("a node expands its claim, which gets another class", gold(resize("NodeResizePending")), &format!("is NodeExpanding: {size}")),
        second,
    ]
}

fn goes() -> Vec<Case> {
    let resize = |status: &str| data("10Gi").with("/status/allocatedResourceStatuses", json!({"storage": status}));
    let goes = |sentence: &str, data: Object| of_data(sentence, &data, "pass lookups=3");
    let behind = format!("is not yet at revision {}", grown().revision());
    let owned = |kind: &str, name: &str, uid: &str| {
        let owner = json!({"apiVersion": "v1", "kind": kind, "name": name, "uid": uid, "controller": true});
        claim("data-web-2").with("/metadata/ownerReferences", json!([owner]))
    };
    let others = deletion("G1", "only the claim of another Pod is not ready", &pod(1))
        .cluster(cluster(&[&rolling(), &data("10Gi"), &at("data-web-1", "20Gi"), &at("logs-web-1", "5Gi")]));
    let alone = |sentence: &str, claims: &[&Object]| deletion("G1", sentence, &pod(2)).cluster(cluster(&[&[&rolling()], claims].concat()));
    vec![
        of_data("its claims are ready", &data("20Gi"), "pass lookups=3 order:web,data-web-2,logs-web-2"),
        goes("its claims are larger than the target", data("99Gi")),
        goes("its claim is not bound", data("10Gi").with("/status/phase", "Pending")),
        goes("its claim is not bound, nor written", claim("data-web-2").with("/status/phase", "Pending")),
        goes("its claim is terminating", data("10Gi").with("/metadata/deletionTimestamp", "2026-01-01T00:00:00Z")),
        goes("a node expands its claim when a Pod mounts it", resize("NodeResizePending")),
        goes("a node expands its claim", resize("NodeResizeInProgress")),
        goes("a node cannot expand its claim", resize("NodeResizeInfeasible")),
        goes("a pending file system without allocatedResourceStatuses", data("10Gi").with("/status/conditions", condition("FileSystemResizePending", ""))),
        goes("its claim cannot be read", data("10Gi").with("/spec/resources/requests/storage", "much")),
        goes("its claim belongs to another object", owned("StatefulSet", "db", "uid-db")),
        goes("its claim belongs to the Pod of another replica", owned("Pod", "web-1", "uid-web-1")),
        of_data("its claim belongs to the Pod", &owned("Pod", "web-2", "uid-web-2"), &denied(&format!("data-web-2 {behind}"), 2)),
        of_data("its claim belongs to the set", &owned("StatefulSet", "web", UID), &denied(&format!("data-web-2 {behind}"), 2)),
        goes("its claim is of another kind", Object(json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data-web-2"}, "spec": "x"}))),
        others.expects("pass lookups=3"),
        alone("one of its claims is not there", &[&logs()]).expects("pass lookups=3"),
        alone("none of its claims is there", &[]).expects("pass lookups=3"),
    ]
}

/// The user, and the Pod.
fn asked() -> Vec<Case> {
    let of = |sentence: &str, pod: &Object| deletion("G1", sentence, pod).cluster(cluster(&[&rolling(), &data("10Gi"), &logs()]));
    let applied = denied("data-web-2 is Applied: capacity 10Gi of 20Gi", 2);
    let by = |sentence: &str, user: &str| of(sentence, &pod(2)).by(user);
    let named = |accounts: Value| json!({"statefulSetControllerAccounts": accounts});
    let goes = |sentence: &str, pod: Object| of(sentence, &pod).expects("pass");
    let drained = json!([{"type": "DisruptionTarget", "status": "True"}]);
    let not_drained = json!([{"type": "DisruptionTarget", "status": "False"}]);
    let two = pod(2);
    let claimless = json!([{"name": "scratch", "emptyDir": {}}]);
    vec![
        by("by the StatefulSet controller", SET_CONTROLLER).expects(&applied),
        by("by the controller manager's own account", "system:kube-controller-manager").expects(&applied),
        by("by another user", "alice").expects("pass"),
        by("by our controller", CONTROLLER).expects("pass"),
        by("by the garbage collector", "system:serviceaccount:kube-system:generic-garbage-collector").expects("pass"),
        by("by nobody", "").expects("pass"),
        by("by the account that the setting names", "ssc").settings(named(json!(["ssc"]))).expects(&applied),
        by("by the usual account, where the setting names another", SET_CONTROLLER).settings(named(json!(["ssc"]))).expects("pass"),
        of("in a dry run", &pod(2)).asking("/dryRun", true).expects(&applied),
        of("it is evicted", &pod(2)).asking("/subResource", "eviction").expects("pass"),
        of("it is created", &pod(2)).asking("/operation", "CREATE").asking("/object", pod(2).0).expects("pass"),
        of("it is changed", &pod(2)).asking("/operation", "UPDATE").asking("/object", pod(2).0).expects("pass"),
        goes("it has failed", two.clone().with("/status/phase", "Failed")),
        goes("it has succeeded", two.clone().with("/status/phase", "Succeeded")),
        goes("it is terminating", two.clone().with("/metadata/deletionTimestamp", "2026-01-01T00:00:00Z")),
        goes("a drain deletes it", two.clone().with("/status/conditions", drained)),
        of("its conditions are null", &two.clone().with("/status/conditions", Value::Null)).expects(&applied),
        of("it is not terminating", &two.clone().with("/metadata/deletionTimestamp", Value::Null)).expects(&applied),
        of("a drain took nothing away", &two.clone().with("/status/conditions", not_drained)).expects(&applied),
        goes("it mounts no claim", two.clone().with("/spec/volumes", claimless)),
        goes("it has no volumes", two.clone().without("/spec/volumes")),
        goes("its volumes are null", two.clone().with("/spec/volumes", Value::Null)),
        of("its spec has a text", &two.clone().with("/spec/nodeName", "node-1")).expects(&applied),
        goes("a Job controls it", two.clone().with("/metadata/ownerReferences/0/kind", "Job")),
        goes("a set of OpenKruise controls it", two.clone().with("/metadata/ownerReferences/0/apiVersion", "apps.kruise.io/v1beta1")),
        of("a set owns it without being its controller", &two.clone().without("/metadata/ownerReferences/0/controller")).expects("pass lookups=1"),
        of("it has no controller", &two.clone().without("/metadata/ownerReferences")).expects("pass lookups=1"),
        of("its set was made anew", &two.clone().with("/metadata/ownerReferences/0/uid", "before")).expects("pass lookups=1"),
        of("it is not named after its set", &two.clone().with("/metadata/name", "other-2")).expects("pass lookups=1"),
        of("it has no ordinal", &two.clone().with("/metadata/name", "web-x")).expects("pass lookups=1"),
        goes("its status cannot be read", two.with("/status", "x")),
    ]
}

/// Deletes Pod web-2 of this StatefulSet, whose PVC of `data` is not ready.
fn of_set(sentence: &str, set: &Object) -> Case {
    deletion("G1", sentence, &pod(2)).cluster(cluster(&[set, &data("10Gi"), &logs()]))
}

fn where_nothing_is_rolled_out() -> Vec<Case> {
    let goes = |sentence: &str, set: Object| of_set(sentence, &set).expects("pass lookups=1");
    let waits = |sentence: &str, set: Object| of_set(sentence, &set).expects(denied("data-web-2 is Applied", 2).replace("; Pod", "\" \"; Pod"));
    let staged_change = |policy, phase| web().staged_change(&grown(), policy, phase);
    let lazy = staged_change(UpdatePolicy::OnClaimDelete, Phase::RollingOut);
    let paused = "deny 403 lookups=1 \"the rollout is paused by the annotation claim-rollout.io/paused; Pod web-2 is replaced after the pause\"";
    let strategy = |kind: &str| rolling().with("/spec/updateStrategy", json!({"type": kind}));
    let ready = |ready: &str| strategy("Recreate").note("ready", ready);
    let together = "deny 403 lookups=1 \"the Pods of web are replaced together, when all its PVCs are ready\"";
    let elsewhere = json!({"ownedSets": "Stage"});
    vec![
        goes("nothing is staged", web().in_place()),
        goes("the target was reached", staged_change(UpdatePolicy::InPlace, Phase::Complete)),
        goes("claims stay as they are, by the staged change", lazy.clone()),
        waits("claims follow, by the set", lazy.in_place()),
        goes("claims stay as they are, by the set", rolling().policy("OnClaimDelete")),
        goes("the set has an unknown policy", rolling().policy("Sometimes")),
        goes("the staged change is forged", rolling().note("staged", "{}")),
        goes("the staged change is of another set", rolling().with("/metadata/uid", "made-again")),
        goes("the staged change breaks a rule", web().in_place().staged(&web().size("1Gi"))),
        goes("Pods roll by themselves", rolling().note("sync", "Async")),
        waits("Pods wait, by the set", rolling().note("sync", "LockStep")),
        waits("an unknown sync", rolling().note("sync", "Sometimes")),
        goes("it is below the partition", rolling().partition(3)),
        waits("it is at the partition", rolling().partition(2)),
        goes("it is out of range", rolling().replicas(2)),
        goes("it is below the first ordinal", rolling().with("/spec/ordinals", json!({"start": 3}))),
        goes("its set is terminating", rolling().with("/metadata/deletionTimestamp", "2026-01-01T00:00:00Z")),
        goes("another controller owns its set", rolling().owned()),
        of_set("another controller owns its set, which is managed", &rolling().owned()).settings(elsewhere)
            .expects("deny 403 lookups=2 \"data-web-2 is Applied\""),
        of_set("the staged change is beyond what the settings allow", &rolling()).settings(json!({"maxStorage": {"*": "15Gi"}})).expects("pass lookups=1"),
        of_set("templates are mutable here", &rolling()).settings(json!({"mode": "ValidateOnly"})).expects("pass lookups=1"),
        of_set("the rollout is paused", &rolling().note("paused", "true")).expects(paused),
        waits("the rollout is not paused", rolling().note("paused", "false")),
        waits("Pods are replaced by hand, and the controller deletes one", strategy("OnDelete")),
        of_set("Pods are replaced together", &strategy("Recreate")).expects(together),
        of_set("Pods are replaced together, when all were ready for another target", &ready("x.0")).expects(together),
        waits("Pods are replaced together, when all were ready", ready(&format!("{}.0", grown().revision()))),
    ]
}

fn hosts() -> Vec<Case> {
    let one = || deletion("G1", "there is no API server to ask", &pod(2));
    let set = deletion("G1", "there is no such set", &pod(2)).cluster(cluster(&[&data("10Gi")]));
    let odd = strategies().into_iter().map(|strategy| {
        let set = rolling().with("/spec/updateStrategy", strategy.clone());
        of_set(&format!("the strategy is {strategy}"), &set).expects("pass lookups=1")
    });
    let rows = vec![
        one().expects("pass lookups=1"),
        deletion("G1", "the host grants nothing", &pod(2)).nothing_granted().expects("pass lookups=1"),
        set.expects("pass lookups=1"),
        of_set("the set cannot be read", &rolling().with("/spec", "x")).expects("pass lookups=1"),
        of_set("the set's templates cannot be read", &rolling().with("/spec/volumeClaimTemplates", "x")).expects("pass lookups=1"),
        one().asking("/oldObject", Value::Null).expects("pass"),
        one().asking("/oldObject", web().0).asking("/name", "web").expects("pass"),
        one().asking("/oldObject/metadata/name", "web-1").expects("pass"),
        one().without("/userInfo").expects("pass"),
    ];
    rows.into_iter().chain(odd).collect()
}

/// A rollout whose staging the controller has seen at this time.
fn timed(at: &str) -> Object {
    rolling().note("staged-at", at)
}

/// The annotations beside a staged change stay with it, and only claim-rollout writes them.
fn beside() -> Vec<Case> {
    let ready = format!("{}.2", grown().revision());
    let old = rolling().beside("RollingOut", &ready);
    let put_back = format!("mutate phase=RollingOut ready={ready}");
    let edit = |sentence: &str, new: Object, expected: &str| update("U1", sentence, &old, &new).expects(expected);
    vec![
        edit("an unrelated edit leaves the annotations beside the staged change", old.clone().replicas(5), "pass"),
        edit("a canary is lowered", old.clone().partition(0), "pass"),
        edit("Async is asked for", old.clone().note("sync", "Async"), "pass"),
        edit("more replicas", old.clone().replicas(5), "pass"),
        edit("OnDelete is asked for", old.clone().with("/spec/updateStrategy", json!({"type": "OnDelete"})), "pass"),
        edit("a replace drops the annotations beside the staged change", rolling(), &put_back),
        edit("a replace drops all of it", web().in_place(), &put_back.replace("mutate", "mutate kept")),
        edit("the ready replica is written by hand", old.clone().beside("Complete", "x.0"), &put_back),
        edit("the phase is removed by hand", old.clone().unnoted("phase"), "mutate phase=RollingOut"),
        edit("all claims are ready, a user claims", old.clone().note("ready", "x.0"), &format!("mutate ready={ready}")),
        update("U1", "a replica is ready, a user claims", &rolling(), &rolling().note("ready", &ready)).expects("mutate -ready"),
        update("U1", "a phase is written by hand", &rolling(), &rolling().note("phase", "Complete")).expects("mutate -phase"),
        edit("a second target: no replica is ready for it", old.clone().size("30Gi"), "mutate templates staged:InPlace -ready warns \"staged data 20Gi -> 30Gi\""),
        edit("the same target again keeps the ready replica", old.clone().size("20Gi"), "mutate templates"),
    ]
}

/// A staging that is older than the policy: the controller does not roll it out until it is staged anew.
fn held() -> Vec<Case> {
    let old = rolling().beside("RollingOut", HELD);
    let edit = |row: &'static str, sentence: &str, new: Object| update(row, sentence, &old, &new).settings(json!({"authority": "RequirePatchOnPVCs"}));
    let anew = "mutate templates staged:InPlace -ready who warns \"staged data 10Gi -> 20Gi; 3 PVCs will be updated in place\"";
    let again = |may: bool| edit("U2", &format!("a held target comes again ({may})"), old.clone().size("20Gi")).cluster(vec![access("alice", may)]);
    vec![
        again(true).expects(anew),
        again(false).expects("deny 403 who \"user alice cannot patch persistentvolumeclaims\""),
        edit("U1", "an unrelated edit leaves what is held", old.clone().replicas(5)).expects("pass"),
        edit("U1", "somebody lets it go", old.clone().unnoted("ready")).expects(format!("mutate ready={HELD}")),
        edit("U1", "a held target is withdrawn", old.clone().note("withdraw", &grown().revision()))
            .expects("mutate -withdraw -staged -phase -ready by:annotation warns \"withdrew data 10Gi -> 20Gi\""),
        edit("U3", "another target than the held one", old.clone().size("30Gi"))
            .cluster(vec![access("alice", true)])
            .expects("mutate templates staged:InPlace -ready who warns \"staged data 10Gi -> 30Gi\""),
        edit("U3", "a smaller target than the held one", old.clone().size("15Gi"))
            .cluster(vec![access("alice", true)])
            .expects("mutate templates staged:InPlace -ready who warns \"staged data 10Gi -> 15Gi\""),
        of_set("a held change keeps no Pod", &old).expects("pass lookups=1"),
        creation("P1", "a held change is not for new PVCs", SET_CONTROLLER, &claim("data-web-3"))
            .cluster(cluster(&[&old]))
            .expects("pass lookups=1"),
    ]
}

/// The phase shows whether anything is rolled out.
fn follows_the_policy() -> Vec<Case> {
    let of = |policy, phase| web().staged_change(&grown(), policy, phase);
    let lazy = of(UpdatePolicy::OnClaimDelete, Phase::RollingOut).note("phase", "Staged");
    let complete = of(UpdatePolicy::InPlace, Phase::Complete).note("phase", "Complete");
    let old = rolling().note("phase", "RollingOut");
    let default = |case: Case| case.settings(json!({"defaultUpdatePolicy": "InPlace"}));
    let switched = "warns \"staged data 10Gi -> 20Gi; 3 PVCs will be updated in place\"";
    vec![
        update("U1", "claims are to stay as they are", &old, &old.clone().policy("OnClaimDelete")).expects("mutate phase=Staged"),
        update("U1", "by the word of OpenKruise", &old, &old.clone().policy("OnDelete")).expects("mutate phase=Staged"),
        update("U5", "claims are to follow", &lazy, &lazy.clone().in_place()).expects(format!("mutate phase=RollingOut {switched}")),
        update("U5", "claims are to follow, and there was no phase", &lazy.clone().unnoted("phase"), &lazy.clone().unnoted("phase").in_place())
            .expects(format!("pass {switched}")),
        update("U1", "the policy of the staged change applies", &old, &old.clone().unnoted("update-policy")).expects("pass"),
        default(update("U1", "the policy of the staged change overrides the default", &lazy, &lazy.clone().replicas(5))).expects("pass"),
        update("U1", "what was reached stays so", &complete, &complete.clone().policy("OnClaimDelete")).expects("pass"),
        update("U1", "what was reached is put back", &complete, &complete.clone().unnoted("phase")).expects("mutate phase=Complete"),
        update("U1", "what was staged lazily is put back", &lazy, &lazy.clone().note("phase", "RollingOut")).expects("mutate phase=Staged"),
    ]
}

/// A target is staged with its phase, whatever the StatefulSet had before.
fn follows_the_target() -> Vec<Case> {
    let target = |sentence: &str, set: Object, expected: &str| {
        let new = set.clone().size("20Gi").image("2");
        update("U3", sentence, &set, &new).expects(format!("mutate templates staged:{expected}"))
    };
    let [in_place, lazy] = [
        "InPlace warns \"staged data 10Gi -> 20Gi; 3 PVCs will be updated in place\"",
        "OnClaimDelete warns \"staged data 10Gi -> 20Gi; existing PVCs stay\"",
    ];
    let complete = web().in_place().staged_change(&grown(), UpdatePolicy::InPlace, Phase::Complete).beside("Complete", "x.0");
    vec![
        target("a growth and an image", web().in_place(), in_place),
        target("a growth and an image where claims stay as they are", web(), lazy),
        target("a growth and an image of a canary", web().in_place().partition(2), "InPlace warns \"staged data 10Gi -> 20Gi; 1 PVC will be updated in place\""),
        target("a growth and an image where Pods go their own way", web().in_place().note("sync", "Async"), in_place),
        target("a growth and an image while it is paused", web().in_place().note("paused", "true"), in_place),
        update("U3", "a growth with a phase of one's own", &web().in_place(), &web().in_place().size("20Gi").note("phase", "Complete"))
            .expects(format!("mutate templates staged:{in_place}")),
        update("U3", "a growth with a ready replica of one's own", &web().in_place(), &web().in_place().size("20Gi").note("ready", "x.0"))
            .expects(format!("mutate templates -ready staged:{in_place}")),
        update("U1", "a user moves the time of the staging", &timed("1"), &timed("2")).expects("mutate staged-at=1"),
        update("U1", "a user removes the time of the staging", &timed("1"), &rolling()).expects("mutate staged-at=1"),
        update("U2", "the same target again keeps the time of the staging", &timed("1"), &timed("1").size("20Gi")).expects("mutate templates"),
        update("U3", "another target is another staging, which has no time yet", &timed("1"), &timed("1").size("30Gi"))
            .expects("mutate templates -staged-at staged:InPlace warns \"staged data 20Gi -> 30Gi\""),
        update("U1", "a withdrawal takes the time along", &timed("1"), &timed("1").note("withdraw", &grown().revision()))
            .expects("mutate -staged -withdraw -staged-at by:annotation warns \"withdrew data 10Gi -> 20Gi\""),
        update("U3", "a growth after the last one was reached", &complete, &complete.clone().size("30Gi"))
            .expects("mutate templates -ready staged:InPlace warns \"staged data 20Gi -> 30Gi\""),
    ]
}
