//! Row H1: where Kubernetes updates the PVCs itself, the staged templates become the live ones, and nothing is staged.
//! No release has the field; the rows follow KEP-4650, "Changes to API" and "Feature Enablement and Rollback": the API
//! server writes the default `OnClaimDelete` into every StatefulSet.

use serde_json::{Value, json};

use super::case::{Case, update};
use super::objects::{CONTROLLER, Object, access, web};

pub(super) fn cases() -> Vec<Case> {
    [handed_over(), afterwards(), judged(), not_yet()].into_iter().flatten().collect()
}

fn native(set: &Object, policy: &str) -> Object {
    set.clone().with("/spec/volumeClaimUpdatePolicy", policy)
}

fn by_default(set: &Object) -> Object {
    native(set, "OnClaimDelete")
}

fn in_place(set: &Object) -> Object {
    native(set, "InPlace")
}

/// `web`, growing to 20Gi.
fn growing() -> Object {
    web().in_place().staged(&web().size("20Gi")).beside("RollingOut", "x.2")
}

const WARNED: &str = "\"Kubernetes updates the PVCs of StatefulSet web from now on, to the staged templates: data 10Gi -> 20Gi\"";

/// The request that sets the field.
fn handed_over() -> Vec<Case> {
    let to = |sentence: &str, old: &Object, new: &Object| update("H1", sentence, &by_default(old), &in_place(new));
    let all_goes = format!("mutate restored -phase -ready -staged warns {WARNED}");
    let complete = growing().note("phase", "Complete");
    let damaged = web().note("staged", "{}");
    vec![
        to("a rollout is handed over", &growing(), &growing()).expects(&*all_goes),
        to("a complete rollout is handed over", &complete, &complete).expects(&*all_goes),
        to("an image changes too", &growing(), &growing().image("2")).expects(&*all_goes),
        to("the request asks for the staged templates", &growing(), &growing().size("20Gi")).expects("mutate -phase -ready -staged"),
        to("the request asks for more", &growing(), &growing().size("30Gi")).expects("mutate -phase -ready -staged"),
        to("the request withdraws it", &growing(), &growing().note("withdraw", "x")).expects(format!("mutate restored -phase -ready -staged -withdraw warns {WARNED}")),
        to("an edit without our annotations", &growing(), &web()).expects(format!("mutate restored warns {WARNED}")),
        to("nothing is staged", &web(), &web()).expects("pass"),
        to("the live templates are staged", &web().staged(&web()), &web().staged(&web())).expects("mutate -staged"),
        to("the staged change is damaged", &damaged, &damaged).expects("mutate -staged"),
        to("the staged change is forged", &web(), &web().staged(&web().size("90Gi"))).expects("mutate -staged"),
        to("by the controller", &growing(), &growing()).by(CONTROLLER).expects("pass"),
        to("an owned set", &growing().owned(), &growing().owned()).expects("pass"),
    ]
}

/// Every request after it.
fn afterwards() -> Vec<Case> {
    let case = |sentence: &str, old: &Object, new: &Object| update("H1", sentence, &in_place(old), &in_place(new));
    vec![
        case("a growth passes as it was sent", &web(), &web().size("20Gi")).expects("pass"),
        case("an image passes", &web(), &web().image("2")).expects("pass"),
        case("a change that was staged meanwhile", &growing(), &growing()).expects(format!("mutate restored -phase -ready -staged warns {WARNED}")),
    ]
}

/// The rules for a change that PVCs follow in place, whatever the settings allow for other PVCs.
fn judged() -> Vec<Case> {
    let case = |sentence: &str, old: &Object, new: &Object| update("H1", sentence, &by_default(old), &in_place(new));
    let fast = web().data("/spec/storageClassName", "fast");
    let staged = |target: &Object| web().in_place().staged(target);
    let mut cases = vec![
        case("a user who may patch claims", &growing(), &growing())
            .shipped()
            .cluster(vec![access("alice", true)])
            .expects(format!("mutate restored -phase -ready -staged who lookups=3 warns {WARNED}")),
        case("a user who may not", &growing(), &growing())
            .shipped()
            .cluster(vec![access("alice", false)])
            .expects("deny 403 who \"cannot patch\""),
        case("a user who may not, and nothing is staged", &web(), &web().image("2")).shipped().expects("pass"),
        case("an unknown value of ours is written", &growing(), &growing().note("sync", "x")).expects("deny 403 \"sync: expected one of\""),
        case("templates that cannot be read", &web(), &web().size("x")).expects("deny 403 \"expected a quantity such as 10Gi\""),
    ];
    for settings in [json!({}), json!({"immutableFields": "NewPVCs", "shrink": "Recover"})] {
        let rows = [
            ("a class that is staged for new PVCs", &staged(&fast), &staged(&fast), "storageClassName: cannot change"),
            ("another class", &web(), &fast, "storageClassName: cannot change"),
            ("a smaller size", &web(), &web().size("5Gi"), "cannot shrink"),
        ];
        let rows = rows.map(|(sentence, old, new, fault)| {
            case(&format!("{sentence} with {settings}"), old, new)
                .settings(settings.clone())
                .expects(format!("deny 403 \"{fault}\""))
        });
        cases.extend(rows);
    }
    cases
}

/// Requests after which the policy stages as ever.
fn not_yet() -> Vec<Case> {
    let grown = web().in_place().size("20Gi");
    let newer = web().note("staged", "{\"version\":2}");
    let staged = "mutate staged:InPlace templates warns \"staged data 10Gi -> 20Gi; 3 PVCs will be updated in place\"";
    let case = |sentence: &str, old: &Object, new: &Object| update("U3", sentence, old, new).expects(staged);
    vec![
        case("Kubernetes has the field, and its default", &by_default(&web().in_place()), &by_default(&grown)),
        case("the field has an unknown value", &native(&web().in_place(), "x"), &native(&grown, "x")),
        case("Kubernetes may update no more", &in_place(&web().in_place()), &by_default(&grown)),
        case("Kubernetes does not store the field", &web().in_place(), &in_place(&grown)),
        update("U1", "a change of a newer version is staged", &by_default(&newer), &in_place(&newer)).expects("pass"),
        update("N1", "templates are only judged anyway", &by_default(&web()), &in_place(&web().size("20Gi")))
            .settings(json!({"mode": "ValidateOnly"}))
            .expects("pass"),
        update("U0", "the field is no text", &web(), &web().with("/spec/volumeClaimUpdatePolicy", Value::from(1)))
            .expects("deny 400 \"expected a string, but found something else\""),
    ]
}
