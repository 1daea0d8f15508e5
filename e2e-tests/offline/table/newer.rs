//! A staged change of a newer version is kept, and only what does not depend on its content is judged.

use serde_json::json;

use super::case::{Case, update};
use super::objects::{Object, access, web};

pub(super) fn cases() -> Vec<Case> {
    [kept(), starts()].into_iter().flatten().collect()
}

/// `web` with what a newer version staged.
fn newer() -> Object {
    web().note("staged", "{\"rings\":[1],\"version\":2}").note("phase", "Halted")
}

fn kept() -> Vec<Case> {
    let templates = web().0["spec"]["volumeClaimTemplates"].clone();
    let reordered = newer().with("/spec/volumeClaimTemplates", json!([templates[1], templates[0]]));
    let of = |what: &str, new: &Object, expected: &str| {
        update("U1", format!("what a newer version staged {what}"), &newer(), new).shipped().expects(expected)
    };
    vec![
        update("U0", "what a newer version would stage is written", &web(), &newer()).expects("mutate -staged -phase"),
        of("stays", &newer().replicas(5), "pass"),
        of("is stopped", &newer().policy("OnClaimDelete"), "pass"),
        of("is paused", &newer().note("paused", "true"), "pass"),
        of("goes", &web(), "mutate kept phase=Halted"),
        of("is forged", &newer().note("staged", "{}"), "mutate kept"),
        of("gets a ready replica", &newer().note("ready", "x.1"), "mutate -ready"),
        of("is spelt otherwise", &newer().size("10240Mi"), "mutate templates"),
        of("is reordered", &reordered, "mutate templates"),
        of("is replaced", &newer().size("20Gi"), "deny 403 \"a newer version of claim-rollout has staged a change\""),
        of("is replaced by what cannot be read", &newer().size("x"), "deny 403 \"request.object: spec.volumeClaimTemplates[0]\""),
        of("gets an unknown value", &newer().note("sync", "x"), "deny 403 \"sync: expected one of\""),
    ]
}

/// Whatever it holds, who makes it roll out must be allowed to patch claims.
fn starts() -> Vec<Case> {
    let stopped = newer().policy("OnClaimDelete");
    let status = |case: Case| case.asking("/subResource", "status");
    let mut cases = vec![
        update("U5", "an owner comes to what a newer version staged", &newer(), &newer().owned()).shipped().expects("pass"),
        update("U5", "the owner goes from what a newer version staged, and it is stopped", &stopped.clone().owned(), &stopped).shipped().expects("pass"),
    ];
    for (sentence, case) in [
        ("the annotation is set", update("U5", "", &newer(), &newer().in_place())),
        ("the annotation is removed", update("U5", "", &stopped, &newer())),
        ("the owner goes", update("U5", "", &newer().owned(), &newer())),
        ("the owner goes by a status update", status(update("S1", "", &newer().owned(), &newer()))),
    ] {
        for (may, expected) in [(true, "pass who"), (false, "deny 403 who \"user alice cannot patch\"")] {
            let case = Case { sentence: format!("what a newer version staged is rolled out: {sentence} ({may})"), ..case.clone() };
            cases.push(case.shipped().cluster(vec![access("alice", may)]).expects(expected));
        }
    }
    cases
}
