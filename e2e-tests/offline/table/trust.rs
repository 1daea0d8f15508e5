//! Rows C3 and U5: who may make a staged change reach existing PVCs, and the rights that it takes.

use claim_rollout::templates::{Phase, UpdatePolicy};
use serde_json::{Value, json};

use super::case::{Case, create, update};
use super::objects::{Object, access, right, web};

pub(super) fn cases() -> Vec<Case> {
    [owned(), starts(), rights(), missing(), replacements(), requesters()].into_iter().flatten().collect()
}

fn grown() -> Object {
    web().size("20Gi")
}

/// Claims follow by the staged change.
fn rolling() -> Object {
    web().staged(&grown())
}

/// Claims stay as they are by the staged change.
fn lazy() -> Object {
    web().staged_change(&grown(), UpdatePolicy::OnClaimDelete, Phase::RollingOut)
}

/// The StatefulSet of another controller: its annotations may stop a rollout, and start none.
fn owned() -> Vec<Case> {
    let old = lazy().owned();
    let mut cases = Vec::new();
    for (key, value, expected) in [
        ("update-policy", "InPlace", "mutate -annotation:claim-rollout.io/update-policy"),
        ("update-policy", "nonsense", "mutate -annotation:claim-rollout.io/update-policy"),
        ("update-policy", "OnClaimDelete", "pass"),
        ("update-policy", "OnDelete", "pass"),
        ("sync", "Async", "mutate -annotation:claim-rollout.io/sync"),
        ("replace-set", "WhenComplete", "mutate -annotation:claim-rollout.io/replace-set"),
        ("paused", "true", "pass"),
        ("withdraw", "x", "pass"),
        ("phase", "Complete", "mutate -phase"),
        ("ready", "x.1", "mutate -ready"),
        ("staged-at", "x", "mutate -staged-at"),
    ] {
        let new = old.clone().note(key, value);
        cases.push(update("C3", format!("an owned set with a staged change gets {key}: {value}"), &old, &new).shipped().expects(expected));
    }
    let c3 = |sentence: &str, old: Object, new: Object, expected: &str| update("C3", sentence, &old.owned(), &new.owned()).shipped().expects(expected);
    let stopped = rolling().policy("OnClaimDelete");
    cases.extend([
        c3("an owned set loses what stops its staged change", stopped, rolling(), "mutate annotation:claim-rollout.io/update-policy=OnClaimDelete"),
        c3("an owned set goes on after a pause", lazy().note("paused", "true"), lazy(), "pass"),
        c3("an owned set with nothing staged gets a policy", web(), web().in_place(), "pass"),
        c3("an owned set gets a staged change", web(), web().staged(&web().size("99Gi")), "mutate -staged"),
        c3("an owned set gets another staged change", lazy(), web().staged(&web().size("99Gi")), "mutate kept"),
    ]);
    cases
}

/// Each request that could make a staged change reach existing claims.
fn starts() -> Vec<Case> {
    let stopped = rolling().policy("OnClaimDelete");
    let u5 = |sentence: &str, old: &Object, new: &Object| update("U5", sentence, old, new).shipped();
    let mut cases = vec![
        u5("the owner goes, and claims stay as they are", &lazy().owned(), &lazy()).expects("pass"),
        u5("the owner goes, and nothing is staged", &web().in_place().owned(), &web().in_place()).expects("pass"),
        u5("an owner comes to what is rolled out", &rolling(), &rolling().owned()).expects("pass"),
        u5("a rollout is stopped", &rolling(), &stopped).expects("pass"),
        u5("an unknown value in place of one that stops", &stopped, &rolling().policy("Sometimes")).expects("deny 403 \"update-policy: expected one of\""),
    ];
    for (sentence, old, new) in [
        ("the annotation is set", lazy(), lazy().in_place()),
        ("the annotation goes, and the staged policy applies", stopped, rolling()),
        ("the annotation becomes valid", rolling().policy("x"), rolling().in_place()),
        ("the owner goes", rolling().owned(), rolling()),
        ("the owner goes and the annotation is set", lazy().owned(), lazy().in_place()),
    ] {
        for (may, expected) in [
            (true, "pass who lookups=3 warns \"staged data 10Gi -> 20Gi; 3 PVCs will be updated in place\""),
            (false, "deny 403 who \"user alice cannot patch persistentvolumeclaims in namespace shop, which a change of volumeClaimTemplates needs\""),
        ] {
            let case = u5(&format!("a staged change is rolled out: {sentence} ({may})"), &old, &new);
            cases.push(case.cluster(vec![access("alice", may)]).expects(expected));
        }
    }
    cases
}

/// Rights beyond that on claims.
fn rights() -> Vec<Case> {
    let may = |case: Case, may: bool| case.shipped().settings(json!({"allowReCreate": true, "pvcChecks": "Ignore"})).cluster(vec![access("alice", may)]);
    let all = "who who:delete-persistentvolumeclaims who:create-pods/eviction";
    let anew = |sentence: &str| update("U3", sentence, &web(), &grown().policy("ReCreate"));
    vec![
        may(anew("claims are made anew, by one who may"), true)
            .expects(format!("mutate templates staged:ReCreate {all} warns \"staged data 10Gi -> 20Gi; PVCs that cannot follow in place\"")),
        may(anew("claims are made anew, by one who may not"), false).expects("deny 403 who \"user alice cannot patch\""),
        may(update("U5", "the switch to claims made anew", &web(), &web().policy("ReCreate")), true)
            .expects(format!("mutate staged:ReCreate {all} warns \"staged the live templates\"")),
    ]
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

/// Whoever asks for a replacement, or brings one about, may delete and create StatefulSets.
fn replacements() -> Vec<Case> {
    let asks = |set: Object| set.note("replace-set", "WhenComplete");
    let (replaced, never) = (asks(web()), web().note("replace-set", "Never"));
    let by = |case: Case, may: bool, settings: Value| case.shipped().settings(settings).cluster(vec![access("alice", may)]);
    let may = |case: Case| by(case, true, json!({}));
    let may_not = |case: Case| by(case, false, json!({}));
    let checks = || json!({"mode": "ValidateOnly"});
    let trusts = || json!({"authority": "TrustSetEditors"});
    let row = |sentence: &str, old: &Object, new: &Object| update("U5", format!("replace-set: {sentence}"), old, new);
    let created = |sentence: &str, set: &Object| create("C1", format!("replace-set: {sentence}"), set);
    let both = "pass who:delete-statefulsets.apps who:create-statefulsets.apps";
    let staged = |asks: &str| format!("mutate staged:OnClaimDelete templates {asks}who warns \"staged data 10Gi -> 20Gi; existing PVCs stay as they are\"");
    let denied = "deny 403 who:delete-statefulsets.apps \"user alice cannot delete statefulsets in namespace shop, which replace-set: WhenComplete needs\"";
    vec![
        may(row("it is added, by one who may", &web(), &replaced)).expects(both),
        may_not(row("it is added, by one who may not", &web(), &replaced)).expects(denied),
        may_not(row("it is changed", &never, &replaced)).expects(denied),
        may(created("it comes along, by one who may", &replaced)).expects("pass who:delete-statefulsets.apps"),
        may_not(created("it comes along, by one who may not", &replaced)).expects(denied),
        may_not(created("Never comes along", &never)).expects("pass"),
        may_not(row("it was there", &replaced, &replaced.clone().replicas(5))).expects("pass"),
        may_not(row("it is removed", &replaced, &web())).expects("pass"),
        may_not(row("it is set to Never", &replaced, &never)).expects("pass"),
        may_not(row("the owner is removed", &replaced.clone().owned(), &replaced)).expects(denied),
        may_not(row("the owner of another is removed", &never.clone().owned(), &never)).expects("pass"),
        may_not(row("an owner is added", &replaced, &replaced.clone().owned())).expects("pass"),
        may(row("it is added, with a size", &web(), &replaced.clone().size("20Gi"))).expects(staged("who:delete-statefulsets.apps who:create-statefulsets.apps ")),
        may(row("it is removed, with a size", &replaced, &web().size("20Gi"))).expects(staged("")),
        by(row("editors are trusted", &web(), &replaced), false, trusts()).expects("pass"),
        by(created("editors who create are trusted", &replaced), false, trusts()).expects("pass"),
        by(row("nothing is staged here", &web(), &replaced), false, checks()).expects(denied),
    ]
}

/// The right is that of the requester, with all that is known of the user, in the namespace of the set.
fn requesters() -> Vec<Case> {
    let staged = "mutate templates staged:OnClaimDelete who warns \"existing PVCs stay\"";
    let nowhere = |set: Object| set.without("/metadata/namespace");
    let grow = |sentence: &str, old: &Object, new: &Object| {
        update("U3", sentence, old, new).shipped().cluster(vec![access("alice", true)]).expects(staged)
    };
    vec![
        grow("a user with a uid and scopes", &web(), &grown())
            .asking("/userInfo/uid", "u-1")
            .asking("/userInfo/extra", json!({"scopes.authorization.openshift.io": ["user:info"]})),
        grow("only the object has a namespace", &web(), &grown()).asking("/namespace", Value::Null),
        grow("only the request has a namespace", &nowhere(web()), &nowhere(grown())),
    ]
}
