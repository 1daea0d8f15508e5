//! Row U1: an unrelated edit, or a withdrawal.

use claim_rollout::templates::{Phase, UpdatePolicy};
use serde_json::{Value, json};

use super::case::{Case, update};
use super::objects::{Object, access, staged_change, web};

const FIELDS: &str = "/metadata/managedFields";
const LAST_APPLIED: &str = "/metadata/annotations/kubectl.kubernetes.io~1last-applied-configuration";
const STILL: &str = "warns \"claim-rollout: data 10Gi -> 20Gi is still staged; kubectl claim-rollout withdraw web -n shop drops it\"";
const WITHDREW: &str = "warns \"claim-rollout: withdrew data 10Gi -> 20Gi; updated PVCs stay as they are\"";

pub(super) fn cases() -> Vec<Case> {
    [unrelated(), by_annotation(), taking_back(), client_side(), server_side(), in_order(), entries()].into_iter().flatten().collect()
}

fn rolling() -> Object {
    web().in_place().staged(&web().size("20Gi"))
}

fn unrelated() -> Vec<Case> {
    let old = rolling();
    let edit = |sentence: &str, new: Object, expected: &str| update("U1", sentence, &old, &new).expects(expected);
    let complete = web().in_place().staged_change(&web().size("20Gi"), UpdatePolicy::InPlace, Phase::Complete);
    let templates = web().0["spec"]["volumeClaimTemplates"].clone();
    vec![
        edit("nothing changes", old.clone(), "pass"),
        edit("the set is scaled", old.clone().replicas(5), "pass"),
        edit("a label changes", old.clone().with("/metadata/labels/a", "b"), "pass"),
        edit("the rollout is paused", old.clone().note("paused", "true"), "pass"),
        edit("a replace drops the staged change", old.clone().unnoted("staged"), "mutate kept"),
        edit("a replace drops every annotation", old.clone().without("/metadata/annotations").in_place(), "mutate kept"),
        edit("the staged change becomes null", old.clone().without("/metadata/annotations").with("/metadata/annotations", Value::Null), "mutate kept"),
        edit("the staged change is changed by hand", old.clone().staged(&web().size("99Gi")), "mutate kept"),
        edit("the phase is changed by hand", complete.clone(), "mutate kept"),
        edit("the staged change is emptied", old.clone().note("staged", ""), "mutate kept"),
        edit("the staged change is spelt otherwise", old.clone().note("staged", &spaced(&old)), "mutate kept"),
        edit("templates are only reordered", old.clone().with("/spec/volumeClaimTemplates", json!([templates[1], templates[0]])), "mutate templates"),
        edit("the live size in another spelling", old.clone().size("10240Mi"), "mutate templates"),
        edit("a template with a status", old.clone().data("/status", json!({"phase": "Bound"})), "mutate templates"),
        update("U1", "after it was reached the staged change stays", &complete, &complete.clone().unnoted("staged")).expects("mutate kept"),
        update("U1", "a staged change of another set is none", &old.clone().with("/metadata/uid", "another"), &old.clone().with("/metadata/uid", "another"))
            .expects("mutate -staged warns \"the uid is of another StatefulSet\""),
    ]
}

/// The staged change with another space: the same JSON.
fn spaced(set: &Object) -> String {
    let text = set.0["metadata"]["annotations"]["claim-rollout.io/staged"].as_str().unwrap_or_default();
    text.replacen(':', ": ", 1)
}

fn by_annotation() -> Vec<Case> {
    let old = rolling();
    let revision = web().size("20Gi").revision();
    let asked = |value: &str| old.clone().note("withdraw", value);
    let withdrawn = format!("mutate -staged -withdraw by:annotation {WITHDREW}");
    let nothing = |found: &str| format!("mutate -withdraw warns \"nothing was withdrawn: expected {revision}, but found {found}\"");
    let of_live = web().in_place().staged(&web());
    let beside = |set: Object| set.beside("RollingOut", "x.2");
    vec![
        update("U1", "a withdrawal by its revision", &old, &asked(&revision)).expects(&withdrawn),
        update("U1", "a withdrawal takes no lookup", &old, &asked(&revision)).shipped().expects(&withdrawn),
        update("U1", "a withdrawal that drops the staged change as well", &old, &asked(&revision).unnoted("staged"))
            .expects(format!("mutate -withdraw by:annotation {WITHDREW}")),
        update("U1", "a withdrawal of another revision", &old, &asked("another")).expects(nothing("another")),
        update("U1", "a withdrawal of nothing in particular", &old, &asked("")).expects(nothing("")),
        update("U1", "a withdrawal in capital letters", &old, &asked(&revision.to_uppercase())).expects(nothing("")),
        update("U1", "a withdrawal of the live revision", &old, &asked(&web().revision())).expects(nothing("")),
        update("U1", "a withdrawal that drops the staged change and names another", &old, &asked("x").unnoted("staged"))
            .expects(format!("{} ", nothing("x")).replace("mutate", "mutate kept")),
        update("U1", "a withdrawal stood there before", &asked("x"), &asked("x")).expects(nothing("x")),
        update("U1", "a withdrawal of what is live: there is a label less to write", &of_live, &of_live.clone().note("withdraw", &web().revision()))
            .expects("mutate -staged -withdraw by:annotation warns \"withdrew\""),
        update("U1", "a withdrawal with an image that had to wait", &beside(old.clone()), &beside(asked(&revision)).image("2"))
            .expects(format!("mutate -staged -withdraw -phase -ready by:annotation {WITHDREW}")),
        update("U2", "a withdrawal beside the target itself", &old, &asked(&revision).size("20Gi"))
            .expects(format!("mutate templates -withdraw warns \"nothing was withdrawn: the request itself asks for the templates of {revision}\"")),
    ]
}

/// With `shrink: Recover`, the live templates are staged in place of the withdrawn ones.
fn taking_back() -> Vec<Case> {
    let old = rolling();
    let revision = web().size("20Gi").revision();
    let recover = |case: Case| case.settings(json!({"shrink": "Recover"}));
    let asked = |old: &Object, revision: &str| update("U1", "", old, &old.clone().note("withdraw", revision));
    let named = |sentence: &str, case: Case| Case { sentence: sentence.to_owned(), ..recover(case) };
    let by = |how: &str| format!("mutate staged:InPlace by:{how} warns \"sizes that PVCs have not reached are taken back\" \"6 PVCs will be updated in place\"");
    let live = web().in_place().staged(&web());
    let more = web().with("/spec/volumeClaimTemplates/1/spec/resources/requests/storage", "6Gi");
    let (logs, logs_revision) = (web().in_place().staged(&more), more.revision());
    let of = |policy, phase| web().staged_change(&web().size("20Gi"), policy, phase);
    let complete = of(UpdatePolicy::InPlace, Phase::Complete).in_place();
    let lazy = of(UpdatePolicy::OnClaimDelete, Phase::RollingOut);
    let stays = format!("mutate -staged -withdraw by:annotation {WITHDREW}");
    vec![
        named("a withdrawal takes back what was not reached", asked(&old, &revision)).expects(by("annotation").replace(" by:", " -withdraw by:")),
        named("client-side apply withdraws and recovers", update("U1", "", &applied(&old, &web().size("20Gi")), &applied(&old, &web())))
            .manager("kubectl-client-side-apply")
            .expects(by("client-side-apply")),
        named("a withdrawal takes back under the staged policy", asked(&of(UpdatePolicy::InPlace, Phase::RollingOut), &revision))
            .expects(by("annotation").replace(" by:", " -withdraw by:")),
        named("a withdrawal takes back the second template", asked(&logs, &logs_revision)).expects(by("annotation").replace(" by:", " -withdraw by:")),
        named("a withdrawal takes nothing back after it was reached", asked(&complete, &revision)).expects(&stays),
        named("a withdrawal takes nothing back where claims stay as they are", asked(&lazy, &revision)).expects(&stays),
        named("a withdrawal that stops as well takes nothing back", update("U1", "", &old, &old.clone().note("withdraw", &revision).policy("OnClaimDelete"))).expects(&stays),
        named("an unrelated edit of what takes back", update("U1", "", &live, &live.clone().replicas(5))).shipped().settings(json!({"shrink": "Recover"})).expects("pass"),
        named("who may patch claims takes back", asked(&old, &revision)).settings(json!({"authority": "RequirePatchOnPVCs"})).cluster(vec![access("alice", true)])
            .expects(by("annotation").replace(" by:", " -withdraw who by:")),
        named("who is known not to may take nothing back", asked(&old, &revision)).settings(json!({"authority": "RequirePatchOnPVCs"})).cluster(vec![access("alice", false)])
            .expects(format!("mutate -staged -withdraw by:annotation who {WITHDREW} \"PVC requests stay as they are: user alice cannot patch\"")),
        named("a withdrawal of what takes back", asked(&live, &web().revision())).expects("mutate -staged -withdraw by:annotation warns \"withdrew\""),
        named("who may not patch claims takes nothing back", asked(&old, &revision))
            .settings(json!({"authority": "RequirePatchOnPVCs"}))
            .expects(format!("mutate -staged -withdraw by:annotation who {WITHDREW} \"PVC requests stay as they are\"")),
    ]
}

/// A StatefulSet after `kubectl apply` without `--server-side`: an annotation has the applied manifest.
fn applied(set: &Object, manifest: &Object) -> Object {
    let templates = &manifest.0["spec"]["volumeClaimTemplates"];
    let manifest = json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "web"},
        "spec": {"replicas": 3, "volumeClaimTemplates": templates}});
    set.clone().with(LAST_APPLIED, manifest.to_string())
}

fn client_side() -> Vec<Case> {
    let old = rolling();
    let target = applied(&old, &web().size("20Gi"));
    let back = applied(&old, &web());
    let withdrawn = format!("mutate -staged by:client-side-apply {WITHDREW}");
    let raw = |text: &str| old.clone().with(LAST_APPLIED, text);
    let swapped = |set: Object| {
        let templates = set.0["spec"]["volumeClaimTemplates"].clone();
        set.with("/spec/volumeClaimTemplates", json!([templates[1], templates[0]]))
    };
    let to = |sentence: &str, before: &Object, after: &Object, expected: &str| {
        update("U1", sentence, before, after).manager("kubectl-client-side-apply").expects(expected)
    };
    let labelled = |set: Object, version: &str| set.data("/metadata/labels", json!({"helm.sh/chart": version}));
    let chart = |size: &str, version: &str| {
        let live = labelled(web().in_place(), if size == "10Gi" { version } else { "1" });
        let staged = live.staged(&labelled(web().size("20Gi"), "1"));
        applied(&staged, &labelled(web().size(size), version))
    };
    let (imaged, dropped) = (applied(&old.clone().image("2"), &web()), applied(&old.clone().unnoted("staged"), &web()));
    let reordered = applied(&swapped(old.clone()), &swapped(web()));
    let sizeless = "{\"metadata\":{},\"spec\":{\"volumeClaimTemplates\":[{\"metadata\":{\"name\":\"data\"},\"spec\":{\"resources\":{\"requests\":{\"storage\":\"x\"}}}}]}}";
    vec![
        to("client-side apply withdraws", &target, &back, &withdrawn),
        to("client-side apply withdraws in another spelling", &target, &applied(&old, &web().size("10240Mi")), &withdrawn),
        to("client-side apply of what was applied, with an image", &back, &imaged, &format!("pass {STILL}")).manager("helm"),
        to("client-side apply withdraws in another order", &target, &reordered, &withdrawn.replace("mutate", "mutate templates")),
        to("client-side apply withdraws with an image", &target, &imaged, &withdrawn),
        to("client-side apply withdraws and drops the staged change", &target, &dropped, &withdrawn.replace("mutate -staged", "pass")),
        to("client-side apply withdraws from a third target", &applied(&old, &web().size("15Gi")), &back, &withdrawn),
        to("client-side apply had the live templates before", &back, &applied(&old, &web()).replicas(5), "pass"),
        to("client-side apply repeats the target", &target, &target.clone().replicas(5), "pass"),
        to("client-side apply never had templates", &raw("{\"metadata\":{},\"spec\":{}}"), &back, "pass"),
        to("client-side apply leaves the templates out now", &target, &raw("{\"metadata\":{},\"spec\":{}}"), "pass"),
        to("there was no client-side apply before", &old, &back, "pass"),
        to("what was applied is dropped", &target, &old, "pass"),
        to("what was applied before cannot be read", &raw("{"), &back, "pass"),
        to("what is applied now cannot be read", &target, &raw("{"), "pass"),
        to("what was applied before has a size that is none", &raw(sizeless), &back, "pass"),
        // A chart that returns writes another version into its labels.
        update("U1", "client-side apply withdraws with another label, which is ignored", &chart("20Gi", "2"), &chart("10Gi", "3"))
            .settings(json!({"metadataOnlyChanges": "Ignore"}))
            .expects(format!("mutate templates -staged by:client-side-apply {WITHDREW} \"ignored changed labels and annotations of data\"")),
        update("U2", "client-side apply asks for the target again", &back, &applied(&old.clone().size("20Gi"), &web().size("20Gi")))
            .expects("mutate templates"),
    ]
}

/// A StatefulSet after a server-side apply.
fn managed(set: &Object, manager: &str, operation: &str, fields: &Value, time: &str) -> Object {
    set.clone().with(
        "/metadata/managedFields",
        json!([
            {"manager": "kube-controller-manager", "operation": "Update", "subresource": "status", "fieldsV1": {"f:status": {}}},
            {"manager": manager, "operation": operation, "apiVersion": "apps/v1", "fieldsType": "FieldsV1", "fieldsV1": fields, "time": time},
        ]),
    )
}

/// A StatefulSet after an update of the replicas under the name `helm`, which owns the changed field as an update.
fn updated(set: &Object) -> Object {
    let entry = json!({"manager": "helm", "operation": "Update", "fieldsV1": {"f:spec": {"f:replicas": {}}}});
    set.clone().with("/metadata/managedFields/2", entry)
}

fn server_side() -> Vec<Case> {
    let old = rolling();
    let owns = json!({"f:spec": {"f:replicas": {}, "f:volumeClaimTemplates": {}}});
    let less = json!({"f:spec": {"f:replicas": {}}});
    let helm = |set: &Object, fields: &Value, time: &str| managed(set, "helm", "Apply", fields, time);
    let before = helm(&old, &owns, "1");
    // A manager that also updates has another entry.
    let both = |applies: &Value, time: &str| {
        let entry = |operation: &str, fields: &Value| json!({"manager": "helm", "operation": operation, "fieldsV1": fields, "time": time});
        let entries = json!([entry("Apply", applies), entry("Update", &json!({"f:spec": {"f:replicas": {}}}))]);
        old.clone().with("/metadata/managedFields", entries)
    };
    let withdrawn = format!("mutate -staged by:server-side-apply {WITHDREW}");
    let to = |sentence: &str, before: &Object, after: &Object, expected: &str| update("U1", sentence, before, after).expects(expected);
    let text = staged_change(&web().size("20Gi"), UpdatePolicy::InPlace, Phase::RollingOut).replace("\"manager\":\"helm\"", "\"manager\":\"\"");
    let unnamed = managed(&old, "", "Apply", &owns, "1").note("staged", &text);
    let noted = |value: &str, time: &str| both(&owns, time).with("/metadata/annotations/a", value);
    let first = json!({"manager": "helm", "operation": "Apply", "fieldsV1": owns, "time": "1"});
    let first = old.clone().with("/metadata/managedFields/1", first);
    let nobody = update("U1", "server-side apply of a manager without a name", &before, &before).manager("");
    let dropped = helm(&old.clone().unnoted("staged"), &owns, "2");
    let argo = |time: &str| managed(&old, "argocd", "Apply", &owns, time);
    let plain = |time: &str| managed(&old, "helm", "Update", &owns, time);
    vec![
        to("server-side apply withdraws, and nothing else changes", &before, &before, &withdrawn),
        to("server-side apply withdraws, and its entry is new", &before, &helm(&old, &owns, "2"), &withdrawn),
        to("server-side apply withdraws with an image", &before, &helm(&old.clone().image("2"), &owns, "2"), &withdrawn),
        to("server-side apply takes the templates over again", &helm(&old, &less, "1"), &helm(&old, &owns, "2"), &withdrawn),
        to("server-side apply comes for the first time", &old, &first, &withdrawn),
        to("server-side apply withdraws and drops the staged change", &before, &dropped, &withdrawn.replace("mutate -staged", "pass")),
        to("a plain update under the same name", &before, &updated(&before).replicas(5), "pass"),
        to("an apply within the second of the one before", &before, &before.clone().replicas(5), &withdrawn),
        to("a plain update of what was applied", &before, &both(&less, "2").replicas(5), "pass"),
        to("one more plain update", &both(&owns, "1"), &both(&owns, "2").replicas(5), "pass"),
        to("one more plain update within a second", &both(&owns, "1"), &both(&owns, "1").replicas(5), "pass"),
        to("one more plain update, which changes what stands before its entry", &noted("a", "1"), &noted("b", "1"), "pass"),
        to("only managed fields change", &noted(&"a".repeat(2000), "1"), &noted(&"a".repeat(2000), "2"), &withdrawn),
        to("server-side apply withdraws after an update", &both(&less, "1"), &both(&owns, "1").replicas(5), &withdrawn),
        to("the apply leaves the templates out", &before, &helm(&old, &less, "2"), "pass"),
        to("its entry is removed", &before, &old, "pass"),
        to("an entry of an update is none of an apply", &plain("1"), &plain("2"), "pass"),
        to("another manager's apply owns them", &argo("1"), &argo("2"), "pass"),
        to("another manager applies", &before, &argo("2"), "pass").manager("argocd"),
        to("managed fields are null", &before, &old.clone().with("/metadata/managedFields", Value::Null), "pass"),
        to("managed fields are cleared", &before, &old.clone().with("/metadata/managedFields", json!([{}])), "pass"),
        nobody.expects("pass"),
        update("U1", "server-side apply by nobody of what nobody staged", &unnamed, &unnamed).manager("").expects("pass"),
        update("U2", "server-side apply asks for the target again", &before, &helm(&old.clone().size("20Gi"), &owns, "2")).expects("mutate templates"),
        update("U3", "server-side apply asks for something new", &before, &helm(&old.clone().size("30Gi"), &owns, "2"))
            .expects("mutate templates staged:InPlace warns \"staged data 20Gi -> 30Gi\""),
    ]
}

/// Helm 4 puts `managedFields` in order before a rollback, and on the way from Helm 3.
fn in_order() -> Vec<Case> {
    let old = rolling();
    let complete = web().in_place().staged_change(&web().size("20Gi"), UpdatePolicy::InPlace, Phase::Complete);
    let waits = web().staged(&web().size("20Gi"));
    let owns = json!({"f:spec": {"f:replicas": {}, "f:volumeClaimTemplates": {}}});
    let less = json!({"f:spec": {"f:replicas": {}}});
    let helm = |set: &Object, operation: &str, fields: &Value, time: &str| managed(set, "helm", operation, fields, time);
    let applied = |set: &Object, time: &str| helm(set, "Apply", &owns, time);
    let updated = |set: &Object| helm(set, "Update", &owns, "1");
    // An entry of an update after that of the apply.
    let beside = |set: &Object, manager: &str, operation: &str, subresource: &str| {
        let entry = json!({"manager": manager, "operation": operation, "subresource": subresource, "fieldsV1": less, "time": "1"});
        applied(set, "1").with("/metadata/managedFields/2", entry)
    };
    let withdrawn = format!("mutate -staged by:server-side-apply {WITHDREW}");
    let still = format!("pass {STILL}");
    let to = |sentence: &str, before: &Object, after: &Object, expected: &str| update("U1", sentence, before, after).expects(expected);
    vec![
        to("an update becomes an apply", &updated(&old), &applied(&old, "1"), "pass"),
        to("an update becomes an apply after the size was reached", &updated(&complete), &applied(&complete, "1"), "pass"),
        to("an update becomes an apply, with an image", &updated(&old), &applied(&old.clone().image("2"), "1"), &withdrawn),
        to("an update becomes part of an apply", &beside(&old, "helm", "Update", ""), &applied(&old, "1"), "pass"),
        to("an update of another name becomes part of an apply", &beside(&old, "kubectl-client-side-apply", "Update", ""), &applied(&old, "1"), "pass"),
        to("an update becomes part of an apply, with an image", &beside(&old, "helm", "Update", ""), &applied(&old.clone().image("2"), "1"), &withdrawn),
        to("an update of a subresource vanishes", &beside(&old, "helm", "Update", "scale"), &applied(&old, "1"), &withdrawn),
        to("an apply of another name vanishes", &beside(&old, "argocd", "Apply", ""), &applied(&old, "1"), &withdrawn),
        to("an update appears beside an apply", &applied(&old, "1"), &beside(&old, "argocd", "Update", ""), &withdrawn),
        to("nothing changes after the size was reached", &applied(&complete, "1"), &applied(&complete, "1"), &still),
        to("managed fields change after the size was reached", &helm(&complete, "Apply", &less, "1"), &applied(&complete, "2"), &still),
        to("an image changes after the size was reached", &applied(&complete, "1"), &applied(&complete.clone().image("2"), "2"), &withdrawn),
        to("nothing changes before any PVC may grow", &applied(&waits, "1"), &applied(&waits, "2"), &withdrawn),
        // Helm 3 asks for the live templates, and nothing else shows that it went back.
        to("an update by the one who staged, with an image", &updated(&old), &updated(&old.clone().image("2")), &still),
    ]
}

/// Entries that are not what they seem.
fn entries() -> Vec<Case> {
    let old = rolling();
    let entry =
        |subresource: Option<&str>, fields: Value| json!({"manager": "helm", "operation": "Apply", "subresource": subresource, "fieldsV1": fields});
    let owns = || json!({"f:spec": {"f:volumeClaimTemplates": {}}});
    let with = |entries: Value| old.clone().with(FIELDS, entries);
    let to = |sentence: &str, entries: Value, expected: &str| update("U1", sentence, &with(json!([])), &with(entries)).expects(expected);
    let live = web().in_place().staged(&web());
    let withdrawn = format!("mutate -staged by:server-side-apply {WITHDREW}");
    vec![
        to("an entry of a subresource", json!([entry(Some("scale"), owns())]), "pass"),
        to("two entries of one manager", json!([entry(None, owns()), entry(None, owns())]), "pass"),
        to("an entry of an old version beside a subresource's", json!([entry(Some("status"), owns()), entry(None, owns())]), &withdrawn),
        to("an entry whose fields are null", json!([entry(None, Value::Null)]), "pass"),
        to("an entry with fields of the wrong type", json!([entry(None, json!([]))]), "pass"),
        to("an entry that owns the templates of something else", json!([entry(None, json!({"f:status": {"f:volumeClaimTemplates": {}}}))]), "pass"),
        to("entries of the wrong type", json!({}), "pass"),
        // If the live templates equal the staged ones, asking for them withdraws nothing.
        update("U1", "the live templates are what is staged: server-side apply", &live, &live.clone().with(FIELDS, json!([entry(None, owns())])))
            .expects("pass"),
        update("U1", "the live templates are what is staged: client-side apply", &applied(&live, &web().size("20Gi")), &applied(&live, &web()))
            .expects("pass"),
    ]
}
