//! Cases that a rule makes, most of them from every pair of two lists.

use claim_rollout::templates::{Phase, UpdatePolicy};
use serde_json::json;

use super::case::{Case, create, update};
use super::objects::{Object, UID, right, staged_change, web};

/// The values that users may write, and those that are denied.
const KEYS: [(&str, &[&str], &str, &[&str]); 4] = [
    ("update-policy", &["OnClaimDelete", "OnDelete", "InPlace"], "OnClaimDelete, InPlace", &["inplace", "In Place", "", "ReCreate", "OnPodRollingUpdate"]),
    ("sync", &["LockStep", "Async"], "LockStep, Async", &["lockstep", "", "None"]),
    ("replace-set", &["Never", "WhenComplete"], "Never, WhenComplete", &["Always", "never", ""]),
    ("paused", &["true", "false"], "true, false", &["yes", "True", "1", ""]),
];

pub(super) fn cases() -> Vec<Case> {
    [user_keys(), forged(), reserved(), missing(), judged(), written()].into_iter().flatten().collect()
}

fn grown() -> Object {
    web().size("20Gi")
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
    cases
}

/// Keys that other controllers obey, and keys that charts may set.
fn reserved() -> Vec<Case> {
    let [label, note] = ["labels", "annotations"].map(|map| move |key: &str| format!("/metadata/{map}/{}", key.replace('/', "~1")));
    let mut cases = Vec::new();
    for domain in [
        "kubernetes.io",
        "k8s.io",
        "volume.kubernetes.io",
        "volume.beta.kubernetes.io",
        "pv.kubernetes.io",
        "storage.kubernetes.io",
        "snapshot.storage.kubernetes.io",
        "claim-rollout.io",
        "x.claim-rollout.io",
        "resize.kubernetes.io",
        "scheduling.x.k8s.io",
    ] {
        let key = format!("{domain}/x");
        for (kind, pointer) in [("labels", label(&key)), ("annotations", note(&key))] {
            let new = web().data(&pointer, "a");
            let refused = format!("deny 403 \"[data].metadata.{kind}[{key}]: is reserved, expected no change\"");
            cases.push(update("U3", format!("a reserved key is set in {kind}: {key}"), &web(), &new).expects(&refused));
            cases.push(update("U3", format!("a reserved key goes from {kind}: {key}"), &new, &web()).expects(&refused));
            cases.push(update("U3", format!("a reserved key changes in {kind}: {key}"), &new, &web().data(&pointer, "b")).expects(&refused));
            let grows = "mutate templates staged:OnClaimDelete warns \"staged data 10Gi -> 20Gi\"";
            cases.push(update("U3", format!("a reserved key stays in {kind}: {key}"), &new, &new.clone().size("20Gi")).expects(grows));
        }
    }
    for key in ["app.kubernetes.io/version", "helm.sh/chart", "xclaim-rollout.io/a", "mykubernetes.io/x", "kubernetes.io", "example.com/k8s.io"] {
        let new = web().data(&label(key), "a");
        let staged = "mutate templates staged:OnClaimDelete warns \"staged data label\"";
        cases.push(update("U3", format!("a key that charts may set: {key}"), &web(), &new).expects(staged));
    }
    cases
}

/// A case with this sentence.
type Missing<'c> = &'c dyn Fn(String) -> Case;

/// The first right that is missing denies, wherever it is in the list.
fn missing() -> Vec<Case> {
    let (patch, delete, evict) = ("patch persistentvolumeclaims", "delete persistentvolumeclaims", "create pods/eviction");
    let (remove, create_sets) = ("delete statefulsets.apps", "create statefulsets.apps");
    let replaced = web().note("replace-set", "WhenComplete");
    let anew = |sentence: String| update("U3", sentence, &web(), &grown().policy("ReCreate"));
    let switch = |sentence: String| update("U5", sentence, &web(), &web().policy("ReCreate"));
    let asked = |sentence: String| update("U5", sentence, &web(), &replaced);
    let under = |sentence: String| update("U3", sentence, &replaced, &replaced.clone().size("20Gi"));
    let lazy = || web().staged_change(&grown(), UpdatePolicy::OnClaimDelete, Phase::RollingOut);
    let started = |sentence: String| update("U5", sentence, &lazy().note("replace-set", "WhenComplete"), &lazy().in_place().note("replace-set", "WhenComplete"));
    let created = |sentence: String| create("C1", sentence, &replaced);
    let lists: [(&str, Missing<'_>, &[&str]); 6] = [
        ("claims are made anew", &anew, &[patch, delete, evict]),
        ("the switch to claims made anew", &switch, &[patch, delete, evict]),
        ("replace-set is set", &asked, &[remove, create_sets]),
        ("a change of a set that is replaced", &under, &[patch, remove, create_sets]),
        ("a staged change of a set that is replaced is rolled out", &started, &[patch, remove, create_sets]),
        ("a set that is replaced is created", &created, &[remove]),
    ];
    let mut cases = Vec::new();
    for (sentence, case, rights) in lists {
        for (place, lacking) in rights.iter().enumerate() {
            let answers = rights.iter().map(|of| right("alice", of, of != lacking)).collect();
            let words: String = rights[..=place].iter().map(|of| match *of {
                "patch persistentvolumeclaims" => "who ".to_owned(),
                of => format!("who:{} ", of.replace(' ', "-")),
            }).collect();
            let (what, _) = lacking.split_once('.').unwrap_or((lacking, ""));
            cases.push(case(format!("{sentence}, by one who may all but {lacking}"))
                .shipped()
                .settings(json!({"allowReCreate": true, "pvcChecks": "Ignore"}))
                .cluster(answers)
                .expects(format!("deny 403 {words} \"user alice cannot {what} in namespace shop\"")));
        }
    }
    cases
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

/// What only the policy may write, where nothing is staged.
fn written() -> Vec<Case> {
    let mut cases = Vec::new();
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
        cases.extend(rows.map(|((what, case), expected)| {
            let case = case.settings(json!({"mode": "ValidateOnly"})).expects(expected);
            Case { sentence: format!("{key} {what}"), ..case }
        }));
    }
    cases
}
