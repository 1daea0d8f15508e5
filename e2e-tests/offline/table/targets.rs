//! Rows U3 and U5: a new target, and an update policy that starts a rollout.

use claim_rollout::templates::{Phase, UpdatePolicy};
use serde_json::{Value, json};

use super::case::{Case, update};
use super::objects::{Object, access, web};

pub(super) fn cases() -> Vec<Case> {
    [growth(), whole_lists(), second_targets(), denials(), reserved(), sentences(), authority(), switches()].into_iter().flatten().collect()
}

const STAYS: &str = "existing PVCs stay as they are (annotation claim-rollout.io/update-policy: InPlace updates them)";
const FOLLOWS: &str = "3 PVCs will be updated in place, highest ordinal first (kubectl claim-rollout status web -n shop)";

/// Every kind of allowed change, under both update policies.
fn growth() -> Vec<Case> {
    let labelled = web().data("/metadata/labels", json!({"tier": "a"}));
    let noted = web().data("/metadata/annotations", json!({"team": "a"}));
    let class = |name: &str| web().data("/spec/volumeAttributesClassName", name);
    let changes = [
        ("a size grows", web(), web().size("20Gi"), "data 10Gi -> 20Gi"),
        ("by one byte", web(), web().size("10737418241"), "data 10Gi -> 10737418241"),
        ("a class is asked for", web(), class("gold"), "data class none -> gold"),
        ("another class is asked for", class("gold"), class("silver"), "data class gold -> silver"),
        ("a class is taken back", class("gold"), web(), "data class gold -> none"),
        ("a label is set", web(), labelled.clone(), "data label tier none -> a"),
        ("a label changes", labelled.clone(), labelled.clone().data("/metadata/labels/tier", "b"), "data label tier a -> b"),
        ("a label goes", labelled, web(), "data label tier a -> none"),
        ("an annotation is set", web(), noted.clone(), "data annotation team none -> a"),
        ("an annotation changes", noted.clone(), noted.clone().data("/metadata/annotations/team", "b"), "data annotation team a -> b"),
        ("an annotation goes", noted, web(), "data annotation team a -> none"),
    ];
    let mut cases = Vec::new();
    for (sentence, old, new, message) in changes {
        let lazy = format!("mutate templates staged:OnClaimDelete warns \"claim-rollout: staged {message}; {STAYS}\"");
        cases.push(update("U3", sentence, &old, &new).expects(lazy));
        let follows = format!("mutate templates staged:InPlace warns \"claim-rollout: staged {message}; {FOLLOWS}\"");
        cases.push(update("U3", format!("{sentence}, in place"), &old.in_place(), &new.in_place()).expects(follows));
    }
    cases
}

fn list(set: &Object, change: impl Fn(&mut Vec<Value>)) -> Object {
    let mut templates = set.0["spec"]["volumeClaimTemplates"].as_array().cloned().unwrap_or_default();
    change(&mut templates);
    set.clone().with("/spec/volumeClaimTemplates", templates)
}

/// `web` with this many templates more.
fn many(more: usize) -> Object {
    list(&web(), |templates| templates.extend((0..more).map(|index| json!({"metadata": {"name": format!("t{index}")}}))))
}

/// Changes of the list itself.
fn whole_lists() -> Vec<Case> {
    let renamed = web().data("/metadata/name", "store");
    let more = list(&web(), |templates| {
        let mut one = templates[1].clone();
        one["metadata"]["name"] = "more".into();
        templates.push(one);
    });
    let swapped = list(&web().size("20Gi"), |templates| templates.swap(0, 1));
    let twice = list(&web(), |templates| templates.push(templates[0].clone()));
    let bare = web().without("/spec/volumeClaimTemplates");
    let added = "[more]: a template cannot be added";
    let [data, logs] = ["data", "logs"].map(|name| format!("[{name}]: a template cannot be removed or renamed"));
    let both = web().size("20Gi").with("/spec/volumeClaimTemplates/1/spec/resources/requests/storage", "6Gi");
    let allowed = |case: Case| case.settings(json!({"allowReCreate": true}));
    let anew = |set: &Object| set.clone().policy("ReCreate");
    vec![
        update("U3", "a template is added", &web(), &more).expects(format!("deny 403 \"{added}\"")),
        update("U3", "a template is removed", &more, &web()).expects("deny 403 \"[more]: a template cannot be removed or renamed\""),
        update("U3", "a template is renamed", &web(), &renamed).expects(format!("deny 403 \"[store]: a template cannot be added\" \"{data}\"")),
        update("U3", "all templates are removed", &web(), &bare).expects(format!("deny 403 \"{data}\" \"{logs}\"")),
        update("U3", "all templates are null", &web(), &web().with("/spec/volumeClaimTemplates", Value::Null))
            .expects(format!("deny 403 \"{data}\" \"{logs}\"")),
        update("U3", "the first template is added", &bare, &web()).expects("deny 403 \"[data]: a template cannot be added\""),
        update("U3", "a size grows in another order", &web(), &swapped)
            .expects(format!("mutate templates staged:OnClaimDelete warns \"staged data 10Gi -> 20Gi; {STAYS}\"")),
        update("U3", "two templates grow", &web().in_place(), &both.clone().in_place())
            .expects("mutate templates staged:InPlace warns \"staged data 10Gi -> 20Gi, logs 5Gi -> 6Gi; 6 PVCs will be updated\""),
        update("U3", "two templates of one name", &web(), &twice).expects("deny 403 \"expected each name once, but found\" \"twice\""),
        update("U3", "a list that is none", &web(), &web().with("/spec/volumeClaimTemplates", json!({})))
            .expects("deny 403 \"spec.volumeClaimTemplates: expected a list\""),
        update("U3", "more templates than allowed", &web(), &many(999)).expects("deny 403 \"expected at most 1000 templates, but found 1001\""),
        allowed(update("U3", "claims are made anew: a template is added", &anew(&web()), &anew(&more))).expects(format!("deny 403 \"{added}\"")),
        allowed(update("U3", "claims are made anew: a template is removed", &anew(&more), &anew(&web())))
            .expects("deny 403 \"[more]: a template cannot be removed\""),
    ]
}

fn second_targets() -> Vec<Case> {
    let rolling = web().in_place().staged(&web().size("20Gi"));
    let complete = web().in_place().staged_change(&web().size("20Gi"), UpdatePolicy::InPlace, Phase::Complete);
    let staged = |from: &str, to: &str| format!("mutate templates staged:InPlace warns \"staged data {from} -> {to}; {FOLLOWS}\"");
    let other = web().staged_change(&web().size("20Gi"), UpdatePolicy::InPlace, Phase::RollingOut);
    vec![
        update("U3", "a second target in the middle", &rolling, &rolling.clone().size("30Gi")).expects(staged("20Gi", "30Gi")),
        update("U3", "a second target after the first", &complete, &complete.clone().size("30Gi")).expects(staged("20Gi", "30Gi")),
        update("U3", "a second target drops the staged change, as a replace does", &rolling, &web().in_place().size("30Gi")).expects(staged("20Gi", "30Gi")),
        update("U3", "a second target is smaller than the first", &rolling, &rolling.clone().size("15Gi"))
            .expects("mutate templates staged:InPlace warns \"staged data 20Gi -> 15Gi\" \"no PVC shrinks\""),
        update("U3", "a second target takes back another part of the first", &rolling, &rolling.clone().data("/metadata/labels/tier", "a"))
            .expects("mutate templates staged:InPlace warns \"staged data 20Gi -> 10Gi, data label tier none -> a\" \"no PVC shrinks\""),
        update("U3", "a forged staged change is nothing to compare with", &web().note("staged", "{}"), &web().size("15Gi"))
            .expects(format!("mutate templates staged:OnClaimDelete warns \"staged data 10Gi -> 15Gi; {STAYS}\"")),
        // The policy in the staged change is history: the setting is in force.
        update("U3", "without the annotation the second target has the default policy", &other, &other.clone().size("30Gi"))
            .expects(format!("mutate templates staged:OnClaimDelete warns \"staged data 20Gi -> 30Gi; {STAYS}\"")),
        update("U3", "the policy comes with the target", &web(), &web().in_place().size("30Gi")).expects(staged("10Gi", "30Gi")),
        update("U3", "the target removes the policy", &web().in_place(), &web().size("30Gi"))
            .expects(format!("mutate templates staged:OnClaimDelete warns \"staged data 10Gi -> 30Gi; {STAYS}\"")),
        update("U3", "a new target withdraws as well, which has no effect", &rolling, &rolling.clone().size("30Gi").note("withdraw", "x"))
            .expects(format!("{} \"nothing was withdrawn\"", staged("20Gi", "30Gi")).replace("mutate", "mutate -withdraw")),
    ]
}

fn denials() -> Vec<Case> {
    let wrong = web().size("1Gi").data("/spec/accessModes", json!(["ReadWriteMany"])).with("/spec/volumeClaimTemplates/1/metadata/name", "more");
    let named = |name: &str| web().data("/metadata/name", name);
    let long = named(&"d".repeat(248));
    vec![
        update("U3", "everything is wrong at once", &web(), &wrong).expects(
            "deny 403 \"[more]: a template cannot be added\" \"[logs]: a template cannot be removed or renamed\" \
                \"[data].spec.accessModes: cannot change, expected [\" \"[data].spec.resources.requests.storage: cannot shrink, \
                expected at least 10Gi, but found 1Gi\" \"allowed changes: spec.resources.requests.storage (larger only), \
                spec.volumeAttributesClassName, metadata.labels and metadata.annotations\"",
        ),
        update("U3", "more is wrong than a denial holds", &web(), &many(500)).expects("deny 403 \"[t0]: a template cannot be added without the setting templateChanges: Allow; \" \"; and \" \" more; allowed changes: spec.resources.requests.storage\""),
        update("U3", "the size goes", &web(), &web().data("/spec/resources", json!({})))
            .expects("deny 403 \"[data].spec.resources.requests.storage: cannot be removed\""),
        update("U3", "a target that is too long for the annotation", &web(), &web().data("/metadata/annotations/a", "x".repeat(9000)))
            .expects("deny 403 \"do not fit the annotation claim-rollout.io/staged: expected at most 8192 bytes\""),
        update("U3", "a name that no claim can have", &named("Data"), &named("Data").size("20Gi"))
            .expects("deny 403 \"[Data].metadata.name: expected a template name of lower case letters\""),
        update("U3", "a name that is too long for a claim", &long, &long.clone().size("20Gi"))
            .expects("deny 403 \"expected a PVC name of at most 253 characters, but found 254\""),
        update("U3", "a template without a name", &web(), &web().data("/metadata/name", Value::Null))
            .expects("deny 403 \"metadata.name: expected a name\""),
        update("U3", "a set without a uid", &web().without("/metadata/uid"), &web().without("/metadata/uid").size("20Gi"))
            .expects("deny 400 \"request.oldObject: expected metadata.uid\""),
    ]
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

/// Messages to the user that depend on more than the change.
fn sentences() -> Vec<Case> {
    let grow = |sentence: &str, set: Object, message: &str| {
        update("U3", sentence, &set.clone().in_place(), &set.size("20Gi").in_place())
            .expects(format!("mutate templates staged:InPlace warns \"staged data 10Gi -> 20Gi; {message}\""))
    };
    vec![
        grow("one replica", web().replicas(1), "1 PVC will be updated in place"),
        grow("no replica", web().replicas(0), "0 PVCs will be updated in place"),
        grow("replicas are not named", web().without("/spec/replicas"), "1 PVC will be updated in place"),
        grow("replicas out of range", web().replicas(i64::MAX), "9223372036854775807 PVCs will be updated in place"),
        update("U3", "no field manager is named", &web(), &web().size("20Gi"))
            .without("/options")
            .expects(format!("mutate templates staged:OnClaimDelete warns \"{STAYS}\"")),
        update("U3", "a user with a name beyond ASCII", &web(), &web().size("20Gi"))
            .by("Å\"\\\u{1F600}\n")
            .expects(format!("mutate templates staged:OnClaimDelete warns \"{STAYS}\"")),
        update("U3", "claims are made anew", &web().policy("ReCreate"), &web().policy("ReCreate").size("20Gi"))
            .settings(json!({"allowReCreate": true}))
            .expects("mutate templates staged:ReCreate warns \"PVCs that cannot follow in place are deleted with their data and created anew, one replica at a time\""),
        update("U3", "a set without annotations", &web().without("/metadata/annotations"), &web().without("/metadata/annotations").size("20Gi"))
            .expects(format!("mutate templates staged:OnClaimDelete warns \"{STAYS}\"")),
        update("U3", "a label with characters that a terminal obeys", &web(), &web().data("/metadata/labels/a", "\u{202e}\u{7}"))
            .expects("mutate templates staged:OnClaimDelete warns \"data label a none -> \\u{202e}\\u{7}\""),
        update("U3", "a size in another spelling beside a growth elsewhere", &web(), &web().size("10240Mi").data("/metadata/labels/a", "b"))
            .expects("mutate templates staged:OnClaimDelete warns \"staged data label a none -> b\""),
    ]
}

fn authority() -> Vec<Case> {
    let grow = |sentence: &str| update("U3", sentence, &web(), &web().size("20Gi")).shipped();
    let staged = "mutate templates staged:OnClaimDelete who warns \"existing PVCs stay\"";
    vec![
        grow("a user who may patch claims may change templates").cluster(vec![access("alice", true)]).expects(staged),
        grow("a user without the right is denied")
            .cluster(vec![access("alice", false)])
            .expects("deny 403 who \"user alice cannot patch persistentvolumeclaims in namespace shop\" \"ClusterRole edit\" \"TrustSetEditors\""),
        grow("the rights of another user do not count")
            .cluster(vec![access("bob", true)])
            .expects("deny 403 who \"failed to check whether user alice may patch\""),
        grow("there is no API server to ask").expects("deny 403 who \"failed to check whether user alice may patch\" \"kubernetes/can_i\" \"TrustSetEditors\""),
        grow("the host grants nothing").nothing_granted().expects("deny 403 who \"has not been granted access to the 'kubernetes/can_i'\""),
        update("U3", "a rule is broken: no lookup", &web(), &web().size("1Gi")).shipped().expects("deny 403 \"cannot shrink\""),
        update("U0", "nothing changes: no lookup", &web(), &web().image("2")).shipped().expects("pass"),
        update("U5", "a switch by one who may", &web(), &web().in_place())
            .shipped()
            .cluster(vec![access("alice", true)])
            .expects("mutate staged:InPlace who lookups=6 warns \"staged the live templates; 6 PVCs will be updated in place\""),
        update("U5", "a switch by one who may not", &web(), &web().in_place())
            .shipped()
            .cluster(vec![access("alice", false)])
            .expects("deny 403 who \"user alice cannot patch\""),
        update("U5", "a switch without an API server to ask", &web(), &web().in_place()).shipped().expects("deny 403 who \"failed to check whether user\""),
    ]
}

fn switches() -> Vec<Case> {
    let staged = "mutate staged:InPlace warns \"claim-rollout: staged the live templates; 6 PVCs will be updated in place, \
                  highest ordinal first (kubectl claim-rollout status web -n shop)\"";
    let lazy = web().staged_change(&web().size("20Gi"), UpdatePolicy::OnClaimDelete, Phase::RollingOut);
    let recreate = || json!({"allowReCreate": true});
    let by_default = |case: Case| case.settings(json!({"defaultUpdatePolicy": "InPlace"}));
    let bare = web().without("/spec/volumeClaimTemplates");
    vec![
        update("U5", "the switch to in place is a rollout", &web(), &web().in_place()).expects(staged),
        update("U5", "from the name of the default", &web().policy("OnClaimDelete"), &web().in_place()).expects(staged),
        update("U5", "from an unknown value", &web().policy("Sometimes"), &web().in_place()).expects(staged),
        update("U5", "with a forged staged change", &web().note("staged", "{}"), &web().in_place()).expects(staged),
        update("U5", "with templates in another order", &web(), &list(&web().in_place(), |templates| templates.swap(0, 1)))
            .expects(staged.replace("mutate", "mutate templates")),
        update("U5", "without templates", &bare, &bare.clone().in_place()).expects("pass"),
        update("U5", "it was in place already", &web().in_place(), &web().in_place().replicas(5)).expects("pass"),
        update("U5", "back to the default", &web().in_place(), &web().policy("OnClaimDelete")).expects("pass"),
        update("U5", "the annotation goes", &web().in_place(), &web()).expects("pass"),
        by_default(update("U5", "a default is written down", &web(), &web().in_place())).expects("pass"),
        by_default(update("U5", "a default comes back", &web().policy("OnClaimDelete"), &web())).expects("pass"),
        by_default(update("U5", "the setting is in place, and nothing is switched", &web(), &web().image("2"))).expects("pass"),
        update("U5", "a staged change waits already", &lazy, &lazy.clone().in_place())
            .expects("pass warns \"staged data 10Gi -> 20Gi; 3 PVCs will be updated in place\""),
        update("U5", "claims are to be made anew", &web(), &web().policy("ReCreate"))
            .settings(recreate())
            .expects("mutate staged:ReCreate warns \"staged the live templates; PVCs that cannot follow in place are deleted with their data and created anew, one replica at a time\""),
        update("U5", "claims are to be made anew, which is not allowed", &web(), &web().policy("ReCreate"))
            .expects("deny 403 \"update-policy: expected one of OnClaimDelete, InPlace, but found ReCreate\""),
        update("U5", "in place after made anew", &web().policy("ReCreate"), &web().in_place()).settings(recreate()).expects(staged),
        update("U5", "the switch and an image", &web(), &web().in_place().image("2")).expects(staged),
    ]
}
