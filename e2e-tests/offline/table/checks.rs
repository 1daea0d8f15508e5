//! Would the existing PVCs follow? Each obstacle with each value of the setting, and the lookups that it takes.

use claim_rollout::templates::{Phase, UpdatePolicy};
use serde_json::{Value, json};

use super::case::{Case, update};
use super::objects::{Object, UID, access, attributes_class, claim, claims, storage_class, web};

/// The account of an operator.
const OPERATOR: &str = "system:serviceaccount:monitoring:prometheus-operator";

pub(super) fn cases() -> Vec<Case> {
    [obstacles(), switched(), no_obstacles(), lookups(), vec![many()], policies(), silence(), together()].into_iter().flatten().collect()
}

const POSITIONS: [&str; 3] = ["Ignore", "Warn", "Deny"];

/// Only `data` grows.
fn growth() -> (Object, Object) {
    (web().in_place(), web().in_place().size("20Gi"))
}

/// Only the class changes to `gold`.
fn gold() -> (Object, Object) {
    (web().in_place(), web().in_place().data("/spec/volumeAttributesClassName", "gold"))
}

/// Only a label is added.
fn label() -> (Object, Object) {
    (web().in_place(), web().in_place().data("/metadata/labels/tier", "a"))
}

fn classes() -> Vec<Value> {
    vec![storage_class("standard", true), attributes_class("gold", "csi.example.com")]
}

/// One PVC, `data-web-2`, changed; the others do not exist.
fn one(change: impl Fn(Object) -> Object) -> Vec<Value> {
    vec![change(claim("data-web-2")).0]
}

fn owner(kind: &str, name: &str, uid: &str, controller: bool) -> Value {
    json!([{"apiVersion": "v1", "kind": kind, "name": name, "uid": uid, "controller": controller}])
}

/// The case in words, a change, the cluster, the number of lookups, and the message.
type Row = (&'static str, (Object, Object), Vec<Value>, usize, &'static str);

fn row((sentence, (old, new), cluster, lookups, message): &Row) -> impl Iterator<Item = Case> {
    POSITIONS.into_iter().map(move |position| {
        let staged = "mutate templates staged:InPlace";
        let expected = match (position, message.is_empty()) {
            ("Ignore", _) => format!("{staged} warns \"staged data\""),
            (_, true) => format!("{staged} lookups={lookups} warns \"staged data\""),
            ("Warn", false) => {
                format!("{staged} lookups={lookups} warns \"staged data\" \"claim-rollout: data-web-2: {message}\"")
            }
            _ => format!("deny 403 lookups={lookups} \"claim-rollout: PVCs cannot be updated: data-web-2: {message}\""),
        };
        let case = update("U3", format!("{sentence} ({position})"), old, new).settings(json!({"pvcChecks": position}));
        case.cluster(cluster.clone()).expects(expected)
    })
}

/// Every obstacle.
fn obstacles() -> Vec<Case> {
    let tables = [whose(), volumes()];
    tables.iter().flatten().flat_map(row).chain(classless()).collect()
}

/// Obstacles to any change, even of a label.
fn whose() -> Vec<Row> {
    let has = |sentence, pointer: &str, value: Value, message| (sentence, label(), one(|claim| claim.with(pointer, value.clone())), 3, message);
    let lacks = |sentence, pointer: &str, message| (sentence, label(), one(|claim| claim.without(pointer)), 3, message);
    let owners = "/metadata/ownerReferences";
    vec![
        has("another controller owns a claim", owners, owner("Database", "db", "d", true), "owned by Database db"),
        has("another set owns a claim", owners, owner("StatefulSet", "web", "old", true), "owned by StatefulSet web"),
        has("another Pod owns a claim", owners, owner("Pod", "web-1", "p", true), "owned by Pod web-1"),
        has("a claim is being deleted", "/metadata/deletionTimestamp", json!("2026-01-01T00:00:00Z"), "being deleted"),
        has("a claim does not match the selector", "/metadata/labels/app", json!("db"), "label app is not web, as in the selector; set it with kubectl label pvc"),
        has("a claim has other access modes", "/spec/accessModes", json!(["ReadWriteMany"]), "spec.accessModes differs from the template's"),
        has("a claim has another class", "/spec/storageClassName", json!("fast"), "spec.storageClassName differs from the template's"),
        lacks("a claim has no class", "/spec/storageClassName", "spec.storageClassName differs from the template's"),
        has("a claim is a block device", "/spec/volumeMode", json!("Block"), "spec.volumeMode differs from the template's"),
        has("a claim cannot be read", "/spec/resources/requests/storage", json!("x"), "cannot be read"),
    ]
}

/// Obstacles to a growth, or to another attributes class.
fn volumes() -> Vec<Row> {
    let phase = |phase: &str| [one(|claim| claim.with("/status/phase", phase)), classes()].concat();
    let beside = |classes: Vec<Value>| [one(|claim| claim), classes].concat();
    let new = [one(|claim| claim.without("/status")), classes()].concat();
    let another = attributes_class("gold", "other.example.com");
    let slow = |expansion: Value| storage_class("standard", expansion);
    let (waits, fixed) = ("not bound to a volume yet, so it has to wait", "storage class standard does not have allowVolumeExpansion: true");
    vec![
        ("a claim waits for its volume", growth(), phase("Pending"), 4, waits),
        ("a claim lost its volume", growth(), phase("Lost"), 4, waits),
        ("a claim has no status", gold(), new, 5, waits),
        ("the class does not expand", growth(), beside(vec![slow(false.into())]), 4, fixed),
        ("the class does not allow expansion", growth(), beside(vec![slow(Value::Null)]), 4, fixed),
        ("the class does not exist", growth(), beside(vec![]), 4, "storage class standard does not exist"),
        ("the attributes class is not there", gold(), beside(vec![slow(false.into())]), 5, "volume attributes class gold does not exist"),
        ("the attributes class is another driver's", gold(), beside(vec![slow(false.into()), another]), 5, "volume attributes class gold is for driver other.example.com"),
    ]
}

/// What was staged under `OnClaimDelete` is checked when it is switched on.
fn switched() -> Vec<Case> {
    let (_, grown) = growth();
    let lazy = web().staged_change(&grown, UpdatePolicy::OnClaimDelete, Phase::RollingOut).note("phase", "Staged");
    let cluster = [one(|claim| claim), vec![storage_class("standard", false)]].concat();
    let message = "data-web-2: storage class standard does not have allowVolumeExpansion: true";
    let positions = [
        ("Warn", format!("mutate phase=RollingOut lookups=4 warns \"staged data\" \"claim-rollout: {message}\"")),
        ("Deny", format!("deny 403 lookups=4 \"claim-rollout: PVCs cannot be updated: {message}\"")),
    ];
    let switch = |(position, expected): (&str, String)| {
        let case = update("U5", format!("the class does not expand ({position})"), &lazy, &lazy.clone().in_place());
        case.settings(json!({"pvcChecks": position})).cluster(cluster.clone()).expects(expected)
    };
    positions.into_iter().map(switch).collect()
}

/// The class in the annotation that Kubernetes reads first.
fn annotated(claim: Object) -> Object {
    claim.with("/metadata/annotations", json!({"volume.beta.kubernetes.io/storage-class": "slow"}))
}

/// A template without a class: the class of the PVC counts.
fn classless() -> Vec<Case> {
    let bare = |set: Object| set.data("/spec/storageClassName", Value::Null);
    let grows = || (bare(growth().0), bare(growth().1));
    let slow = |sentence, change: fn(Object) -> Object| {
        let cluster = [one(change), vec![storage_class("slow", false)]].concat();
        (sentence, grows(), cluster, 4, "storage class slow does not have allowVolumeExpansion: true")
    };
    let none = |sentence, change: fn(Object) -> Object| (sentence, grows(), one(change), 3, "a PVC without a storage class cannot grow");
    let rows: [Row; 5] = [
        slow("the class in the old annotation does not expand", |claim| annotated(claim).without("/spec/storageClassName")),
        slow("the class in the old annotation comes first", annotated),
        none("a claim without a class cannot grow", |claim| claim.without("/spec/storageClassName")),
        none("a claim of no class cannot grow", |claim| claim.with("/spec/storageClassName", "")),
        slow("the default class of its day counts", |claim| claim.with("/spec/storageClassName", "slow")),
    ];
    rows.iter().flat_map(row).collect()
}

/// No obstacles, although they resemble some.
fn no_obstacles() -> Vec<Case> {
    let beside = |classes: Vec<Value>| [one(|claim| claim), classes].concat();
    let has = |sentence, change, pointer: &str, value: Value| (sentence, change, one(|claim| claim.with(pointer, value.clone())), 3, "");
    let (owners, request) = ("/metadata/ownerReferences", "/spec/resources/requests/storage");
    let waiting = |claim: Object| claim.with("/status/phase", "Pending");
    let source = json!({"kind": "PersistentVolumeClaim", "name": "a"});
    let mut unreadable = storage_class("standard", true);
    unreadable["provisioner"] = json!(1);
    let table: Vec<Row> = vec![
        ("a claim can follow", growth(), beside(classes()), 4, ""),
        ("a claim can have the class", gold(), beside(classes()), 5, ""),
        ("no claim is there", growth(), classes(), 3, ""),
        has("the set owns the claim", label(), owners, owner("StatefulSet", "web", UID, true)),
        has("its Pod owns the claim", label(), owners, owner("Pod", "web-2", "p", true)),
        ("the claim has no labels", label(), one(|claim| claim.without("/metadata/labels")), 3, ""),
        has("something else owns the claim, and does not control it", label(), owners, owner("ConfigMap", "a", "a", false)),
        has("a claim is larger already", growth(), request, json!("99Gi")),
        has("a claim has the size in another spelling", growth(), request, json!("20480Mi")),
        ("a claim waits for its volume, and gets a label only", label(), one(waiting), 3, ""),
        ("a claim waits for its volume, and is large enough", growth(), one(|claim| waiting(claim).with(request, "20Gi")), 3, ""),
        has("a claim has the class already", gold(), "/spec/volumeAttributesClassName", json!("gold")),
        has("a claim has more labels", label(), "/metadata/labels/x", json!("y")),
        has("a claim has what was filled in for it", label(), "/spec/dataSourceRef", source),
        ("a class that cannot be read", growth(), beside(vec![unreadable]), 4, ""),
    ];
    table.iter().flat_map(row).collect()
}

/// The lookups: the PVCs of changed templates, the highest ordinal first, and each class once, within the limit.
fn lookups() -> Vec<Case> {
    let cluster = || [claims(), classes()].concat();
    let staged = |lookups: &str, unchecked: &str| format!("mutate templates staged:InPlace {lookups} warns \"staged data\" {unchecked}");
    let grow = |sentence: &str, change: fn(Object) -> Object| {
        let (old, new) = growth();
        update("U3", sentence, &change(old), &change(new)).settings(json!({"pvcChecks": "Warn"})).cluster(cluster())
    };
    let bound = |most: u32, position: &str| {
        let (old, new) = growth();
        update("U3", format!("at most {most} claims are looked up ({position})"), &old, &new)
            .settings(json!({"pvcChecks": position, "maxPVCLookups": most}))
            .cluster(cluster())
    };
    let more = |count: u64, most: u32| {
        let claims = if count == 1 { "PVC was" } else { "PVCs were" };
        format!("\"{count} more {claims} not checked (setting maxPVCLookups: {most})\"")
    };
    let both = |set: Object| set.with("/spec/volumeClaimTemplates/1/metadata/labels/tier", "b");
    let (old, new) = growth();
    let mut cases = vec![
        grow("three claims and their class", |set| set).expects(staged("lookups=4 order:data-web-2,standard,data-web-1,data-web-0", "")),
        grow("no replica", |set| set.replicas(0)).expects(staged("", "")),
        grow("a negative number of replicas", |set| set.replicas(-1)).expects(staged("", "")),
        grow("one replica", |set| set.replicas(1)).expects(staged("lookups=2", "")),
        grow("ordinals that start later", |set| set.with("/spec/ordinals/start", 1))
            .expects(staged("lookups=4 order:data-web-3,data-web-2,standard,data-web-1", "")),
        grow("ordinals without a start", |set| set.with("/spec/ordinals", Value::Null)).expects(staged("lookups=4", "")),
        grow("as many replicas as lookups", |set| set.replicas(20)).expects(staged("lookups=21", "")),
        grow("one replica more than lookups", |set| set.replicas(21)).expects(staged("lookups=21", &more(1, 20))),
        grow("a huge number of replicas", |set| set.replicas(i64::from(i32::MAX))).expects(staged("lookups=20", &more(2_147_483_627, 20))),
        grow("more replicas than a name can have", |set| set.replicas(i64::MAX)).expects(staged("", &more(9_223_372_036_854_775_787, 20))),
        update("U3", "two templates change", &old, &both(new))
            .settings(json!({"pvcChecks": "Warn"}))
            .cluster(cluster())
            .expects(staged("lookups=7 order:data-web-2,standard,logs-web-2,data-web-1,logs-web-1,data-web-0,logs-web-0", "")),
        update("U3", "an attributes class that is not there is looked up once", &gold().0, &gold().1)
            .settings(json!({"pvcChecks": "Warn"}))
            .cluster([claims(), vec![storage_class("standard", true)]].concat())
            .expects(staged(
                "lookups=5 order:data-web-2,standard,gold,data-web-1,data-web-0",
                "\"claim-rollout: data-web-2, data-web-1, data-web-0: volume attributes class gold does not exist\"",
            )),
    ];
    for position in ["Warn", "Deny"] {
        cases.push(bound(1, position).expects(staged("lookups=2", &more(2, 1))));
        cases.push(bound(2, position).expects(staged("lookups=3", &more(1, 2))));
        cases.push(bound(3, position).expects(staged("lookups=4", "")));
        cases.push(bound(1000, position).expects(staged("lookups=4", "")));
    }
    cases
}

/// More causes than the API server shows warnings: the rest is counted.
fn many() -> Case {
    let set = |size: &str| web().in_place().data("/spec/storageClassName", Value::Null).size(size).replicas(200);
    let class = |ordinal: u32| claim(&format!("data-web-{ordinal}")).with("/spec/storageClassName", format!("missing-{ordinal}")).0;
    let first = "claim-rollout: staged data 10Gi -> 20Gi; 200 PVCs will be updated in place, highest ordinal first (kubectl claim-rollout status web -n shop)";
    let rest = (0..200).rev().map(|ordinal| format!("claim-rollout: data-web-{ordinal}: storage class missing-{ordinal} does not exist"));
    // 4,096 characters, and room for the last line.
    let mut left = 4000 - first.len();
    let shown: Vec<String> = rest.take_while(|line| left.checked_sub(line.len()).is_some_and(|rest| { left = rest; true })).collect();
    let left_out = format!("warnings left out: {}", 200 - shown.len());
    let lines: Vec<String> = shown.iter().chain([&left_out]).map(|line| format!("\"{line}\"")).collect();
    update("U3", "more causes than warnings", &set("10Gi"), &set("20Gi"))
        .settings(json!({"pvcChecks": "Warn", "maxPVCLookups": 200}))
        .cluster((0..200).map(class).collect())
        .expects(format!("mutate templates staged:InPlace lookups=400 warns \"{first}\" {}", lines.join(" ")))
}

/// Only under update policies that change PVCs.
fn policies() -> Vec<Case> {
    let slow = || [claims(), vec![storage_class("standard", false)]].concat();
    let under = |policy: &str, expected: &str| {
        update("U3", format!("claims that could not follow, under {policy}"), &web().policy(policy), &web().policy(policy).size("20Gi"))
            .settings(json!({"pvcChecks": "Deny", "allowReCreate": true}))
            .cluster(slow())
            .expects(expected)
    };
    vec![
        under("OnClaimDelete", "mutate templates staged:OnClaimDelete warns \"existing PVCs stay\""),
        under("ReCreate", "mutate templates staged:ReCreate warns \"deleted with their data and created anew\""),
        under("InPlace", "deny 403 lookups=4 \"data-web-2, data-web-1, data-web-0: storage class standard does not have\""),
    ]
}

/// Lookups without an answer.
fn silence() -> Vec<Case> {
    let (old, new) = growth();
    let ask =
        |sentence: &str, position: &str| update("U3", format!("{sentence} ({position})"), &old, &new).settings(json!({"pvcChecks": position}));
    let grant = "\"grant the policy get on persistentvolumeclaims, storageclasses and volumeattributesclasses, or set pvcChecks: Warn\"";
    let unknown = "\"failed to check the PVCs (\"";
    let staged = "mutate templates staged:InPlace";
    vec![
        ask("there is no API server to ask", "Ignore").expects(format!("{staged} warns \"staged data\"")),
        ask("there is no API server to ask", "Warn").expects(format!("{staged} lookups=1 warns \"staged data\" {unknown}")),
        ask("there is no API server to ask", "Deny").expects(format!("deny 403 lookups=1 \"failed to check the PVCs\" {grant}")),
        ask("the host grants nothing", "Ignore").nothing_granted().expects(format!("{staged} warns \"staged data\"")),
        ask("the host grants nothing", "Warn").nothing_granted().expects(format!("{staged} lookups=1 warns \"staged data\" {unknown}")),
        ask("the host grants nothing", "Deny").nothing_granted().expects(format!("deny 403 lookups=1 \"has not been granted access\" {grant}")),
    ]
}

/// Several causes on one line, those with most PVCs first; with the shipped settings.
fn together() -> Vec<Case> {
    let (old, new) = growth();
    let mut found = [claims(), vec![storage_class("standard", false)]].concat();
    found[1]["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    let (slow, dying) = ("data-web-2, data-web-0: storage class standard does not have allowVolumeExpansion: true", "data-web-1: being deleted");
    let check =
        |sentence: &str, position: &str| update("U3", format!("{sentence} ({position})"), &old, &new).settings(json!({"pvcChecks": position}));
    let many: Vec<Value> = (0..20).map(|ordinal| claim(&format!("data-web-{ordinal}")).0).chain([storage_class("standard", false)]).collect();
    let wide = |set: &Object| set.clone().replicas(20);
    vec![
        check("two causes", "Warn")
            .cluster(found.clone())
            .expects(format!("mutate templates staged:InPlace lookups=4 warns \"staged\" \"{slow}\" \"{dying}\"")),
        check("two causes", "Deny").cluster(found).expects(format!("deny 403 lookups=4 \"PVCs cannot be updated: {slow}; {dying}\"")),
        update("U3", "more claims than a line names", &wide(&old), &wide(&new)).settings(json!({"pvcChecks": "Warn"})).cluster(many).expects(
            "mutate templates staged:InPlace lookups=21 warns \"20 PVCs\" \"more: storage class standard does not have allowVolumeExpansion: true\"",
        ),
        update("U3", "all is well, with the settings as they ship", &old, &new)
            .shipped()
            .cluster([claims(), classes(), vec![access("alice", true)]].concat())
            .expects("mutate templates staged:InPlace who lookups=4 warns \"3 PVCs will be updated in place\""),
        update("U3", "a user without the right gets that answer first", &old, &new)
            .shipped()
            .cluster([claims(), vec![access("alice", false)]].concat())
            .expects("deny 403 who \"cannot patch\""),
        update("U3", "the answer to an operator names its whole account", &old, &new)
            .shipped()
            .by(OPERATOR)
            .cluster([claims(), vec![access(OPERATOR, false)]].concat())
            .expects(format!("deny 403 who \"user {OPERATOR} cannot patch\"")),
    ]
}
