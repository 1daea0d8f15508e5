//! Rows N1 and K1: where templates are mutable, a change is judged and passes unmodified.

use serde_json::{Value, json};

use super::case::{Case, create, update};
use super::objects::{CONTROLLER, Object, access, claims, storage_class, web};

pub(super) fn cases() -> Vec<Case> {
    [judged(), validate_only(), kruise(), kruise_rolled_out(), strategies()].into_iter().flatten().collect()
}

/// A change of a template, and the message where it is judged; none if it is allowed.
fn changes() -> Vec<(&'static str, Object, Object, &'static str)> {
    let class = |name: &str| web().data("/spec/volumeAttributesClassName", name);
    let templates = &web().0["spec"]["volumeClaimTemplates"];
    let modes = |modes: [&str; 2]| web().data("/spec/accessModes", json!(modes));
    let source = json!({"kind": "PersistentVolumeClaim", "name": "a"});
    let bare = web().without("/spec/volumeClaimTemplates/1");
    let reordered = web().with("/spec/volumeClaimTemplates", json!([templates[1], templates[0]]));
    let (once, twice) = (modes(["ReadWriteOnce", "ReadOnlyMany"]), modes(["ReadOnlyMany", "ReadWriteOnce"]));
    vec![
        ("a size grows", web(), web().size("20Gi"), ""),
        ("a size in another spelling", web(), web().size("10240Mi"), ""),
        ("a size shrinks", web(), web().size("5Gi"), "[data].spec.resources.requests.storage: cannot shrink, expected at least 10Gi, but found 5Gi"),
        ("a size that no volume has", web(), web().size("8Ei"), "expected at most 9223372036854775807 bytes, but found 8Ei"),
        ("a class changes", class("gold"), class("silver"), ""),
        ("a label is set", web(), web().data("/metadata/labels/tier", "a"), ""),
        ("an annotation is set", web(), web().data("/metadata/annotations/tier", "a"), ""),
        ("a reserved label is set", web(), web().data("/metadata/labels/k8s.io~1a", "a"), "[data].metadata.labels[k8s.io/a]: is reserved"),
        ("access modes change", web(), web().data("/spec/accessModes", json!(["ReadWriteMany"])), "[data].spec.accessModes: cannot change"),
        ("access modes are reordered", once, twice, ""),
        ("the storage class changes", web(), web().data("/spec/storageClassName", "fast"), "[data].spec.storageClassName: cannot change"),
        ("the volume mode changes", web(), web().data("/spec/volumeMode", "Block"), "[data].spec.volumeMode: cannot change"),
        ("a selector is set", web(), web().data("/spec/selector", json!({})), "[data].spec.selector: cannot change"),
        ("a data source is set", web(), web().data("/spec/dataSource", source), "[data].spec.dataSource: cannot change"),
        ("a limit is set", web(), web().data("/spec/resources/limits/storage", "90Gi"), "[data].spec.resources.limits.storage: cannot change"),
        ("a template is added", bare.clone(), web(), "[logs]: a template cannot be added"),
        ("a template is removed", web(), bare, "[logs]: a template cannot be removed or renamed"),
        ("a template is renamed", web(), web().data("/metadata/name", "store"), "[data]: a template cannot be removed or renamed"),
        ("templates are reordered", web(), reordered, ""),
        ("nothing changes", web(), web(), ""),
        ("an image changes", web(), web().image("2"), ""),
    ]
}

fn asts(set: Object, strategy: &str) -> Object {
    let strategy = json!({"type": strategy});
    set.with("/apiVersion", "apps.kruise.io/v1beta1").with("/spec/volumeClaimUpdateStrategy", strategy)
}

fn of_kruise(case: Case) -> Case {
    case.of_kind("apps.kruise.io", "v1beta1", "StatefulSet", "statefulsets")
}

/// Each change under both rows; OpenKruise's where PVCs follow before or after the request, or neither.
fn judged() -> Vec<Case> {
    let mut cases = Vec::new();
    for (sentence, old, new, fault) in changes() {
        let expected = if fault.is_empty() { "pass".to_owned() } else { format!("deny 403 \"{fault}\"") };
        let case = update("N1", sentence, &old, &new).settings(json!({"mode": "ValidateOnly"}));
        cases.push(case.expects(&expected));
        for (before, after) in [
            ("OnPodRollingUpdate", "OnPodRollingUpdate"),
            ("OnDelete", "OnPodRollingUpdate"),
            ("OnPodRollingUpdate", "OnDelete"),
            ("OnDelete", "OnDelete"),
        ] {
            let sentence = format!("{sentence}: {before} to {after}");
            let case = of_kruise(update("K1", sentence, &asts(old.clone(), before), &asts(new.clone(), after)));
            cases.push(case.expects(if before == after && after == "OnDelete" { "pass" } else { &*expected }));
        }
    }
    cases
}

fn validate_only() -> Vec<Case> {
    let only = |case: Case| case.settings(json!({"mode": "ValidateOnly"}));
    let slow = || [claims(), vec![storage_class("standard", false)]].concat();
    let slow_message = "\"data-web-2, data-web-1, data-web-0: storage class standard does not have allowVolumeExpansion: true\"";
    let grown = web().size("20Gi");
    let mut cases = vec![
        only(create("N1", "a staged change comes along, and nothing is mutated", &web().staged(&grown))).expects("deny 403 \"staged: only claim-rollout may change it\""),
        only(create("N1", "an unknown value comes along", &web().policy("Sometimes"))).expects("deny 403 \"update-policy: expected one of\""),
        only(update("N1", "a staged change is forged, and nothing is mutated", &web(), &web().note("staged", "{}"))).expects("deny 403 \"staged: only claim-rollout may change it\""),
        only(update("N1", "a phase is forged", &web(), &web().note("phase", "Complete"))).expects("deny 403 \"phase: only claim-rollout may change it\""),
        only(update("N1", "a ready replica is forged", &web(), &web().note("ready", "x.0"))).expects("deny 403 \"ready: only claim-rollout may change it\""),
        only(update("N1", "an unknown value is written", &web(), &web().note("sync", "x"))).expects("deny 403 \"sync: expected one of\""),
        only(update("N1", "the switch to in place", &web(), &web().in_place())).expects("pass"),
        only(update("N1", "an image with a growth", &web().in_place(), &web().in_place().size("20Gi").image("2"))).expects("pass"),
        only(update("N1", "by the controller", &web(), &web().size("5Gi")).by(CONTROLLER)).expects("pass"),
        only(update("N1", "an owned set", &web().owned(), &web().owned().size("5Gi"))).expects("pass"),
        only(update("N1", "a user who may patch claims may change templates", &web(), &grown).shipped())
            .cluster(vec![access("alice", true)])
            .expects("pass who lookups=3"),
        only(update("N1", "a user without the right is denied", &web(), &grown).shipped())
            .cluster(vec![access("alice", false)])
            .expects("deny 403 who \"cannot patch\""),
        only(update("N1", "there is no API server to ask", &web(), &grown).shipped()).expects("deny 403 who \"failed to check whether user\""),
        only(update("N1", "claims that would not follow are warned of", &web(), &grown))
            .settings(json!({"pvcChecks": "Warn"}))
            .cluster(slow())
            .expects(format!("pass lookups=4 warns {slow_message}")),
        only(update("N1", "claims that would not follow are refused", &web(), &grown))
            .settings(json!({"pvcChecks": "Deny"}))
            .cluster(slow())
            .expects(format!("deny 403 lookups=4 {slow_message}")),
        only(update("N1", "templates that cannot be read", &web(), &web().size("x"))).expects("deny 403 \"expected a quantity such as 10Gi\""),
    ];
    for key in ["staged", "phase", "ready", "staged-at"] {
        let [x, y] = ["x", "y"].map(|value| web().note(key, value));
        let written = [
            ("is created", create("N1", "", &x)),
            ("is added", update("N1", "", &web(), &x)),
            ("changes", update("N1", "", &x, &y)),
            ("is added in a status", update("N1", "", &web(), &x).asking("/subResource", "status")),
            ("is added to an owned set", update("N1", "", &web().owned(), &x.clone().owned())),
            ("is created on an owned set", create("N1", "", &x.clone().owned())),
        ];
        let refused = format!("deny 403 \"{key}: only claim-rollout may change it; leave it out\"");
        let stays = [("goes", update("N1", "", &x, &web())), ("stays", update("N1", "", &x, &x))];
        let rows = written.map(|row| (row, &*refused)).into_iter().chain(stays.map(|row| (row, "pass")));
        cases.extend(rows.map(|((what, case), expected)| Case { sentence: format!("{key} {what}"), ..only(case).expects(expected) }));
    }
    cases
}

fn kruise() -> Vec<Case> {
    let follow = |set: Object| asts(set, "OnPodRollingUpdate");
    let sizes_only = "\"OpenKruise applies only spec.resources.requests.storage to existing PVCs; new PVCs get the rest\"";
    let warned = |sentence: &str, new: Object, expected: &str| {
        of_kruise(update("K1", sentence, &follow(web()), &follow(new)))
            .settings(json!({"pvcChecks": "Warn"}))
            .cluster([claims(), vec![storage_class("standard", true)]].concat())
            .expects(expected)
    };
    let missing = of_kruise(update("K1", "an expandable class is not named", &follow(web()), &follow(web().size("20Gi"))));
    let nil = || [claims(), vec![storage_class("standard", Value::Null)]].concat();
    let not_expandable = "\"storage class standard does not have allowVolumeExpansion: true\"";
    let created = |sentence: &str, set: Object| of_kruise(create("K1", sentence, &follow(set.policy("Sometimes"))));
    vec![
        created("an unknown value comes along", web()).expects("deny 403 \"update-policy: expected one of\""),
        created("an unknown value comes along with an owned set", web().owned()).expects("pass"),
        created("an unknown value comes along by the controller", web()).by(CONTROLLER).expects("pass"),
        warned("a growth is applied", web().size("20Gi"), "pass lookups=4"),
        warned("a label reaches new claims only", web().data("/metadata/labels/a", "b"), &format!("pass lookups=3 warns {sizes_only}")),
        warned("a growth and a label", web().size("20Gi").data("/metadata/labels/a", "b"), &format!("pass lookups=4 warns {sizes_only}")),
        warned("only the replicas change", web().replicas(5), "pass"),
        // OpenKruise's webhook accepts a class without allowVolumeExpansion; its controller then fails.
        missing.clone().settings(json!({"pvcChecks": "Warn"})).cluster(nil()).expects(format!("pass lookups=4 warns {not_expandable}")),
        missing.settings(json!({"pvcChecks": "Deny"})).cluster(nil()).expects(format!("deny 403 lookups=4 {not_expandable}")),
        of_kruise(update("K1", "who may not patch claims", &follow(web()), &follow(web().size("20Gi"))).shipped())
            .cluster(vec![access("alice", false)])
            .expects("deny 403 who \"cannot patch\""),
        of_kruise(update("K1", "a staged change is forged, and nothing is mutated", &follow(web()), &follow(web().note("staged", "{}")))).expects("pass"),
        of_kruise(update("K1", "a staged set is changed", &follow(web().staged(&web().size("90Gi"))), &follow(web().size("20Gi")))).expects("pass"),
        of_kruise(update("K1", "an owned set", &follow(web().owned()), &follow(web().owned().size("5Gi")))).expects("pass"),
        of_kruise(update("K1", "an owned set that is managed", &follow(web().owned()), &follow(web().owned().size("5Gi"))))
            .settings(json!({"ownedSets": "Stage"}))
            .expects("deny 403 \"cannot shrink\""),
        of_kruise(update("K1", "where templates are only judged anyway", &follow(web()), &follow(web().size("5Gi"))))
            .settings(json!({"mode": "ValidateOnly"}))
            .expects("deny 403 \"cannot shrink\""),
        of_kruise(update("K1", "its kind differs from that of the request", &follow(web()), &web()))
            .expects("deny 400 \"request.object: expected an object of request.kind\""),
    ]
}

/// OpenKruise's kind with `update-policy: InPlace`, which our controller rolls out.
fn kruise_rolled_out() -> Vec<Case> {
    let plain = || asts(web(), "OnDelete");
    let rolled_out = || asts(web().in_place(), "OnDelete");
    let case = |sentence: &str, old: Object, new: Object| of_kruise(update("K1", sentence, &old, &new));
    let asked = |case: Case, may: bool| case.shipped().settings(json!({"pvcChecks": "Ignore"})).cluster(vec![access("alice", may)]);
    let grown = || asts(web().in_place().size("20Gi"), "OnDelete");
    let owned = || asts(web().in_place().owned(), "OnDelete");
    let denied = "deny 403 who \"cannot patch\"";
    let label = rolled_out().data("/metadata/labels/a", "b");
    vec![
        asked(of_kruise(create("K1", "it is created", &rolled_out())), false).expects(denied),
        asked(of_kruise(create("K1", "it is created by who may patch", &rolled_out())), true).expects("pass who"),
        asked(of_kruise(create("K1", "it is created with an owner", &owned())), false).expects("pass"),
        asked(of_kruise(create("K1", "it is created without the annotation", &plain())), false).expects("pass"),
        asked(case("the annotation is added", plain(), rolled_out()), false).expects(denied),
        asked(case("the annotation is added by who may patch", plain(), rolled_out()), true).expects("pass who"),
        asked(case("the owner goes", owned(), rolled_out()), false).expects(denied),
        asked(case("an owner comes", rolled_out(), owned()), false).expects("pass"),
        asked(case("the annotation goes", rolled_out(), plain()), false).expects("pass"),
        asked(case("it becomes OnClaimDelete", rolled_out(), plain().policy("OnClaimDelete")), false).expects("pass"),
        asked(case("it grows", rolled_out(), grown()), false).expects(denied),
        asked(case("it grows by who may patch", rolled_out(), grown()), true).expects("pass who"),
        asked(case("it grows and the annotation goes", rolled_out(), plain().size("20Gi")), false).expects(denied),
        asked(case("it grows with an owner", owned(), owned().size("20Gi")), false).expects("pass"),
        asked(case("an image changes", rolled_out(), rolled_out().image("2")), false).expects("pass"),
        case("it shrinks", rolled_out(), rolled_out().size("5Gi")).expects("deny 403 \"cannot shrink\""),
        case("it shrinks while the annotation is added", plain(), rolled_out().size("5Gi")).expects("deny 403 \"cannot shrink\""),
        case("a template is removed", rolled_out(), asts(web().in_place().without("/spec/volumeClaimTemplates/1"), "OnDelete"))
            .expects("deny 403 \"a template cannot be removed\""),
        // Nobody has compared the templates with the PVCs before.
        case("the annotation is added where the class does not expand", asts(web().size("20Gi"), "OnDelete"), grown())
            .settings(json!({"pvcChecks": "Deny"}))
            .cluster([claims(), vec![storage_class("standard", Value::Null)]].concat())
            .expects("deny 403 lookups=7 \"storage class standard does not have allowVolumeExpansion: true\""),
        case("OpenKruise begins to follow where the class does not expand", asts(web().size("20Gi"), "OnDelete"), asts(web().size("20Gi"), "OnPodRollingUpdate"))
            .settings(json!({"pvcChecks": "Warn"}))
            .cluster([claims(), vec![storage_class("standard", Value::Null)]].concat())
            .expects("pass lookups=7 warns \"storage class standard does not have allowVolumeExpansion: true\""),
        // Our controller applies it.
        case("a label changes", rolled_out(), label).settings(json!({"pvcChecks": "Warn"})).cluster(claims()).expects("pass lookups=3"),
        case("an unknown value is written", plain(), plain().policy("Sometimes")).expects("deny 403 \"update-policy: expected one of\""),
        case("an unknown value stays", plain().policy("Sometimes"), plain().policy("Sometimes").image("2")).expects("pass"),
    ]
}

/// Invalid and unknown strategies.
fn strategies() -> Vec<Case> {
    let with = |set: Object, strategy: Value| set.with("/apiVersion", "apps.kruise.io/v1beta1").with("/spec/volumeClaimUpdateStrategy", strategy);
    let shrink = |sentence: &str, strategy: Value, expected: &str| {
        of_kruise(update("K1", sentence, &with(web(), strategy.clone()), &with(web().size("5Gi"), strategy))).expects(expected)
    };
    vec![
        shrink("no strategy", Value::Null, "pass"),
        shrink("a strategy without a type", json!({}), "pass"),
        shrink("a strategy with an empty type", json!({"type": ""}), "pass"),
        shrink("a strategy of the future", json!({"type": "InPlace"}), "pass"),
        shrink("a type that is no text", json!({"type": 1}), "deny 400 \"request: spec.volumeClaimUpdateStrategy: \""),
        shrink("a strategy that is a text", json!("OnPodRollingUpdate"), "deny 400 \"request: spec.volumeClaimUpdateStrategy: \""),
    ]
}
