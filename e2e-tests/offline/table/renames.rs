//! `templateChanges`: templates that are added, removed and renamed.

use claim_rollout::templates::{Phase, UpdatePolicy};
use serde_json::{Value, json};

use super::case::{Case, create, update};
use super::objects::{Object, access, web};

const ADDED: &str = "\"the StatefulSet is replaced; then each Pod is evicted, lowest ordinal first, to mount these volumes: more\"";
const REMOVED: &str = "\"the StatefulSet is replaced; the PVCs of these templates stay, and nothing manages them any more: logs\"";
const SETTING: &str = "without the setting templateChanges: Allow";
const ANNOTATION: &str = "without the annotation claim-rollout.io/replace-set: WhenComplete";

pub(super) fn cases() -> Vec<Case> {
    [allowed(), denied(), mounted(), rights(), again(), never_again()].into_iter().flatten().collect()
}

fn list(set: &Object, change: impl Fn(&mut Vec<Value>)) -> Object {
    let mut templates = set.0["spec"]["volumeClaimTemplates"].as_array().cloned().unwrap_or_default();
    change(&mut templates);
    set.clone().with("/spec/volumeClaimTemplates", templates)
}

/// The set with one more template, of this size.
fn more(set: &Object, size: &str) -> Object {
    list(set, |templates| {
        let mut one = templates[0].clone();
        one["metadata"]["name"] = "more".into();
        one["spec"]["resources"]["requests"]["storage"] = size.into();
        templates.push(one);
    })
}

fn removed(set: &Object) -> Object {
    list(set, |templates| drop(templates.pop()))
}

fn renamed(set: &Object) -> Object {
    set.clone().with("/spec/volumeClaimTemplates/1/metadata/name", "more")
}

/// The set that is replaced when its rollout is complete.
fn replaced() -> Object {
    web().in_place().note("replace-set", "WhenComplete")
}

fn allow() -> Value {
    json!({"templateChanges": "Allow", "pvcChecks": "Ignore"})
}

fn deny() -> Value {
    json!({"templateChanges": "Deny"})
}

fn row(sentence: &str, old: &Object, new: &Object) -> Case {
    update("U3", format!("templateChanges: {sentence}"), old, new).settings(allow())
}

fn allowed() -> Vec<Case> {
    let set = replaced();
    let lazy = web().note("replace-set", "WhenComplete");
    let by_default = json!({"templateChanges": "Allow", "defaultReplaceSet": "WhenComplete", "pvcChecks": "Ignore"});
    let front = list(&set, |templates| {
        let mut one = templates[0].clone();
        one["metadata"]["name"] = "more".into();
        templates.insert(0, one);
    });
    vec![
        row("a template is added", &set, &more(&set, "1Gi"))
            .expects(format!("mutate templates staged:InPlace[data=10Gi,logs=5Gi,more=1Gi] warns \"staged more added\" {ADDED}")),
        row("a template is added in front", &set, &front)
            .expects(format!("mutate templates staged:InPlace warns \"staged more added\" {ADDED}")),
        row("a template is removed", &set, &removed(&set))
            .expects(format!("mutate templates staged:InPlace warns \"staged logs removed\" {REMOVED}")),
        row("a template is renamed", &set, &renamed(&set))
            .expects(format!("mutate templates staged:InPlace[data=10Gi,more=5Gi] warns \"staged more added, logs removed\" {ADDED} {REMOVED}")),
        row("a template is added, and another grows", &set, &more(&set.clone().size("20Gi"), "1Gi"))
            .expects(format!("mutate templates staged:InPlace[data=20Gi,logs=5Gi,more=1Gi] warns \"staged more added, data 10Gi -> 20Gi; 3 PVCs will\" {ADDED}")),
        row("all templates are removed", &set, &set.clone().without("/spec/volumeClaimTemplates"))
            .expects("mutate templates staged:InPlace warns \"staged data removed, logs removed\" \"nothing manages them any more: data, logs\""),
        row("existing PVCs stay as they are", &lazy, &more(&lazy, "1Gi"))
            .expects(format!("mutate templates staged:OnClaimDelete[data=10Gi,logs=5Gi,more=1Gi] warns \"staged more added; existing PVCs stay\" {ADDED}")),
        row("the annotation comes with the template", &web().in_place(), &more(&set, "1Gi"))
            .expects(format!("mutate templates staged:InPlace[data=10Gi,logs=5Gi,more=1Gi] warns \"staged more added\" {ADDED}")),
        row("the default of replace-set", &web().in_place(), &more(&web().in_place(), "1Gi")).settings(by_default)
            .expects(format!("mutate templates staged:InPlace[data=10Gi,logs=5Gi,more=1Gi] warns \"staged more added\" {ADDED}")),
    ]
}

fn denied() -> Vec<Case> {
    let set = replaced();
    let with = |sentence: &str, new: &Object, settings: Value| row(sentence, &set, new).settings(settings);
    let never = set.clone().note("replace-set", "Never");
    let by_default = json!({"templateChanges": "Allow", "defaultReplaceSet": "WhenComplete"});
    let bare = set.clone().without("/spec/volumeClaimTemplates");
    let gold = list(&more(&set, "1Gi"), |templates| templates[2]["spec"]["volumeAttributesClassName"] = "gold".into());
    let sizeless = list(&more(&set, "1Gi"), |templates| templates[2]["spec"]["resources"] = json!({}));
    let named = |name: &str| list(&more(&set, "1Gi"), |templates| templates[2]["metadata"]["name"] = name.into());
    let limit = json!({"templateChanges": "Allow", "maxStorage": {"*": "15Gi"}});
    let both = format!("deny 403 \"[more]: a template cannot be added {ANNOTATION}\" \"[logs]: a template cannot be removed or renamed {ANNOTATION}\"");
    vec![
        with("Deny, added", &more(&set, "1Gi"), deny()).expects(format!("deny 403 \"[more]: a template cannot be added {SETTING}\"")),
        with("Deny, removed", &removed(&set), deny())
            .expects(format!("deny 403 \"[logs]: a template cannot be removed or renamed {SETTING}\"")),
        row("Allow, but the set is not replaced", &web(), &renamed(&web())).expects(&both),
        row("Allow, but the set is never replaced", &never, &renamed(&never)).settings(by_default).expects(&both),
        row("Allow, but the request takes the annotation away", &set, &renamed(&web().in_place())).expects(&both),
        row("the first template is added", &bare, &set).expects("deny 403 \"[data]: the first template cannot be added\""),
        with("beyond the limit", &more(&set, "20Gi"), limit).expects("deny 403 \"[more].spec.resources.requests.storage: is limited, expected at most 15Gi, but found 20Gi\""),
        row("without a size", &set, &sizeless).expects("deny 403 \"[more].spec.resources.requests.storage: cannot be removed\""),
        row("of size zero", &set, &more(&set, "0")).expects("deny 403 \"[more].spec.resources.requests.storage: \""),
        with("of another class", &gold, json!({"templateChanges": "Allow", "allowedVolumeAttributesClasses": []}))
            .expects("deny 403 \"[more].spec.volumeAttributesClassName: expected one of\""),
        row("with a name that no PVC can have", &set, &named("More")).expects("deny 403 \"[More].metadata.name: expected a template name\""),
        row("of a name that exists", &set, &named("data")).expects("deny 403 \"expected each name once\" \"twice\""),
        row("beside a field that cannot change", &set, &more(&set.clone().data("/spec/volumeMode", "Block"), "1Gi"))
            .expects("deny 403 \"[data].spec.volumeMode: cannot change\""),
        row("beside a smaller size", &set, &more(&set.clone().size("1Gi"), "1Gi")).expects("deny 403 \"[data].spec.resources.requests.storage: cannot shrink\""),
        with("templates are mutable here", &more(&set, "1Gi"), json!({"templateChanges": "Allow", "mode": "ValidateOnly"}))
            .expects("deny 403 \"[more]: a template cannot be added; allowed changes\""),
    ]
}

/// The Pod template mounts a volume before its template is live.
fn mounted() -> Vec<Case> {
    let set = replaced();
    let rolling = set.clone().staged(&more(&set, "1Gi"));
    let pod = "/spec/template/spec";
    let mounts = |set: &Object, list: &str, field: &str| {
        set.clone().with(&format!("{pod}/{list}"), json!([{"name": "a", "image": "b"}, {"name": "main", "image": "c", field: [{"name": "more"}]}]))
    };
    let has = |set: Object| set.with(&format!("{pod}/volumes"), json!([{"name": "other"}, {"emptyDir": {}, "name": "more"}]));
    let early = "deny 403 \"spec.template mounts volume more, whose template is not live yet; mount it after the StatefulSet was replaced\"";
    let staged = format!("mutate templates staged:InPlace[data=10Gi,logs=5Gi,more=1Gi] warns \"staged more added\" {ADDED}");
    let added = |sentence: &str, change: &dyn Fn(&Object) -> Object| row(sentence, &set, &change(&more(&set, "1Gi")));
    let edit = |sentence: &str, new: &Object| update("U1", format!("templateChanges: {sentence}"), &rolling, new).settings(allow());
    vec![
        added("a container mounts it", &|set| mounts(set, "containers", "volumeMounts")).expects(early),
        added("an init container uses it", &|set| mounts(set, "initContainers", "volumeDevices")).expects(early),
        added("the Pod template has a volume of that name", &|set| has(mounts(set, "containers", "volumeMounts"))).expects(staged),
        edit("a later request mounts it", &mounts(&rolling, "containers", "volumeMounts")).expects(early),
        edit("a later request mounts a volume of that name", &has(mounts(&rolling, "containers", "volumeMounts"))).manager("kubectl-edit").expects("pass"),
        update("U2", "templateChanges: the same again, and it is mounted", &rolling, &mounts(&more(&rolling, "1Gi"), "containers", "volumeMounts"))
            .settings(allow()).expects(early),
        edit("it is mounted, and the change withdrawn", &mounts(&rolling, "containers", "volumeMounts").note("withdraw", &more(&set, "1Gi").revision()))
            .expects("mutate -staged -withdraw by:annotation warns \"withdrew more added\""),
    ]
}

/// Who adds or removes a template brings a replacement about.
fn rights() -> Vec<Case> {
    let settings = |authority: &str| json!({"templateChanges": "Allow", "defaultReplaceSet": "WhenComplete", "authority": authority, "pvcChecks": "Ignore"});
    let set = web().in_place();
    let by = |sentence: &str, new: &Object, objects: Vec<Value>, authority: &str| {
        row(sentence, &set, new).settings(settings(authority)).cluster(objects)
    };
    let all = "who who:delete-statefulsets.apps who:create-statefulsets.apps";
    vec![
        by("by one who may", &more(&set, "1Gi"), vec![access("alice", true)], "RequirePatchOnPVCs")
            .expects(format!("mutate templates staged:InPlace[data=10Gi,logs=5Gi,more=1Gi] {all} warns \"staged more added\" {ADDED}")),
        by("removed by one who may", &removed(&set), vec![access("alice", true)], "RequirePatchOnPVCs")
            .expects(format!("mutate templates staged:InPlace {all} warns \"staged logs removed\" {REMOVED}")),
        by("by one who may nothing", &more(&set, "1Gi"), vec![access("alice", false)], "RequirePatchOnPVCs")
            .expects("deny 403 who \"user alice cannot patch persistentvolumeclaims\""),
        by("a size is no such change", &set.clone().size("20Gi"), vec![access("alice", true)], "RequirePatchOnPVCs")
            .expects("mutate templates staged:InPlace who warns \"staged data 10Gi -> 20Gi\""),
        by("editors are trusted", &more(&set, "1Gi"), vec![], "TrustSetEditors")
            .expects(format!("mutate templates staged:InPlace[data=10Gi,logs=5Gi,more=1Gi] warns \"staged more added\" {ADDED}")),
    ]
}

/// A second change, while the first is staged.
fn again() -> Vec<Case> {
    let set = replaced();
    let rolling = set.clone().staged(&more(&set, "2Gi"));
    let complete = set.clone().staged_change(&more(&set, "2Gi"), UpdatePolicy::InPlace, Phase::Complete);
    let staged = |size: &str, words: &str| format!("mutate templates staged:InPlace[data=10Gi,logs=5Gi,more={size}] warns \"staged {words}\" {ADDED}");
    let over = |new: &Object| row("the added template", &rolling, new);
    let edit = |sentence: &str, old: &Object, new: &Object| update("U2", format!("templateChanges: {sentence}"), old, new).settings(allow());
    vec![
        edit("the same again", &rolling, &more(&rolling, "2Gi")).expects("mutate templates"),
        edit("the same after the rollout", &complete, &more(&complete, "2Gi")).expects("mutate templates"),
        over(&more(&rolling, "3Gi")).expects(staged("3Gi", "more added")),
        over(&more(&rolling, "1Gi")).expects(staged("1Gi", "more added")),
        over(&rolling.clone().size("20Gi")).expects("mutate templates staged:InPlace warns \"staged more removed, data 10Gi -> 20Gi\""),
        over(&removed(&rolling)).expects(format!("mutate templates staged:InPlace warns \"staged logs removed, more removed\" {REMOVED}")),
        over(&removed(&rolling)).settings(deny()).expects("deny 403 \"[logs]: a template cannot be removed\""),
        over(&more(&rolling, "3Gi")).settings(deny()).expects(format!("deny 403 \"[more]: a template cannot be added {SETTING}\"")),
    ]
}

/// While a template is to be added or removed, the set has to be replaced.
fn never_again() -> Vec<Case> {
    let set = replaced();
    let [rolling, grown] = [more(&set, "1Gi"), set.clone().size("20Gi")].map(|target| set.clone().staged(&target));
    let revision = more(&set, "1Gi").revision();
    let edit = |sentence: &str, old: &Object, new: &Object| update("U1", format!("replace-set: {sentence}"), old, new).settings(allow());
    let denied = "deny 403 \"claim-rollout.io/replace-set: cannot be Never, because the staged change adds or removes templates\"";
    let never = |set: &Object| set.clone().note("replace-set", "Never");
    let restored = more(&set, "1Gi").with("/metadata/uid", "new").staged(&set.clone().size("20Gi"));
    vec![
        edit("it becomes Never", &rolling, &never(&rolling)).expects(denied),
        edit("it is removed", &rolling, &rolling.clone().unnoted("replace-set")).expects(denied),
        edit("it stays", &rolling, &rolling.clone().replicas(5)).expects("pass"),
        edit("only a size is staged", &grown, &never(&grown)).expects("pass"),
        edit("it was Never before", &never(&rolling), &never(&rolling).replicas(5)).expects("pass"),
        edit("it goes with a withdrawal", &rolling, &never(&rolling).note("withdraw", &revision))
            .expects("mutate -staged -withdraw by:annotation warns \"withdrew more added\""),
        create("C1", "a copy removes a template", &restored).settings(allow())
            .expects("mutate restored -staged warns \"gets the staged templates it was created with: more removed, data 10Gi -> 20Gi\""),
        create("C1", "a copy removes a template, and may not", &restored).expects("mutate -staged warns \"a template cannot be removed or renamed\""),
    ]
}
