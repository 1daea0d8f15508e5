//! Rows U4 and U6: Pods that wait for their claims.

use claim_rollout::templates::{Phase, UpdatePolicy};
use serde_json::json;

use super::case::{Case, update};
use super::objects::{Object, web};

pub(super) fn cases() -> Vec<Case> {
    [begins(), does_not_begin(), goes_on(), ends(), grid()].into_iter().flatten().collect()
}

/// A set with a wish that is being rolled out.
fn rolling() -> Object {
    web().in_place().staged(&web().size("20Gi"))
}

/// The same, its Pods held at a partition.
fn held(partition: i64, users: &str) -> Object {
    rolling().partition(partition).note("held-partition", users)
}

fn waits(partition: i64, users: i64) -> String {
    format!(
        "\"Pods wait for their claims: rollingUpdate.partition is held at {partition} and lowered replica by replica, down to \
         {users} (annotation claim-rollout.io/sync: Async lets them go)\""
    )
}

const RELEASED: &str = "\"Pods do not wait for their claims any more: rollingUpdate.partition is the user's again\"";

fn begins() -> Vec<Case> {
    let begun = |partition: i64, users: i64| format!("divert partition={partition} held={users} warns {}", waits(partition, users));
    let wish = |set: Object| set.in_place().size("20Gi").image("2");
    let with_wish = |partition: i64, users: i64| {
        format!("divert templates staged:InPlace partition={partition} held={users} warns \"staged data 10Gi -> 20Gi\" {}", waits(partition, users))
    };
    let other_spec = rolling().with("/spec/template/spec/serviceAccountName", "web");
    let unnamed = web().without("/spec/updateStrategy").in_place();
    vec![
        update("U6", "a new image and a growth", &web().in_place(), &wish(web())).expects(with_wish(3, 0)),
        update("U6", "a new image and a growth of a canary", &web().in_place().partition(2), &wish(web().partition(2))).expects(with_wish(3, 2)),
        update("U6", "a new image, a growth and more replicas", &web().in_place(), &wish(web().replicas(5))).expects(with_wish(5, 0)),
        update("U6", "a new image, a growth and fewer replicas", &web().in_place(), &wish(web().replicas(1))).expects(with_wish(1, 0)),
        update("U6", "a new image while a wish is rolled out", &rolling(), &rolling().image("2")).expects(begun(3, 0)),
        update("U6", "another part of the Pod changes while a wish is rolled out", &rolling(), &other_spec).expects(begun(3, 0)),
        update(
            "U6",
            "a label of the Pod changes while a wish is rolled out",
            &rolling(),
            &rolling().with("/spec/template/metadata/annotations/restartedAt", "now"),
        )
        .expects(begun(3, 0)),
        update("U6", "a new image with the same wish again", &rolling(), &rolling().image("2").size("20Gi"))
            .expects(begun(3, 0).replace("divert", "divert templates")),
        update("U6", "a new image with a second wish", &rolling(), &rolling().image("2").size("30Gi"))
            .expects(with_wish(3, 0).replace("10Gi -> 20Gi", "20Gi -> 30Gi")),
        update("U6", "a canary is lowered while a wish is rolled out", &rolling().partition(2), &rolling().partition(1)).expects(begun(2, 1)),
        update("U6", "a canary is opened while a wish is rolled out", &rolling().partition(3), &rolling().partition(0)).expects(begun(3, 0)),
        update("U6", "a canary is lowered together with a wish", &web().in_place().partition(2), &web().in_place().size("20Gi").partition(0))
            .expects(with_wish(2, 0)),
        update("U6", "a set that names no strategy", &unnamed, &wish(unnamed.clone())).expects(with_wish(3, 0)),
        update(
            "U6",
            "a record that goes by in place without an annotation",
            &rolling().unnoted("update-policy"),
            &rolling().unnoted("update-policy").image("2"),
        )
        .expects(begun(3, 0)),
        update(
            "U6",
            "a strategy that names only its type",
            &rolling().without("/spec/updateStrategy/rollingUpdate"),
            &rolling().without("/spec/updateStrategy/rollingUpdate").image("2"),
        )
        .expects(begun(3, 0)),
    ]
}

fn does_not_begin() -> Vec<Case> {
    let complete = web().in_place().record(&web().size("20Gi"), UpdatePolicy::InPlace, Phase::Complete);
    let lazy = web().record(&web().size("20Gi"), UpdatePolicy::OnClaimDelete, Phase::RollingOut);
    let on_delete = |set: Object| set.with("/spec/updateStrategy", json!({"type": "OnDelete"}));
    let asynchronous = rolling().note("sync", "Async");
    let passes = |sentence: &str, old: Object, new: Object| update("U6", sentence, &old, &new).expects("pass");
    let reordered = json!({"spec": {"containers": [{"image": "example/main:1", "name": "main"}]}, "metadata": {"labels": {"app": "web"}}});
    vec![
        passes("nothing is staged", web().in_place(), web().in_place().image("2")),
        passes("the wish was reached", complete.clone(), complete.image("2")),
        passes("claims stay as they are", lazy.clone(), lazy.image("2")),
        passes("Pods go their own way", asynchronous.clone(), asynchronous.image("2")),
        passes("Pods are replaced by hand", on_delete(rolling()), on_delete(rolling()).image("2")),
        passes("the partition is raised", rolling(), rolling().partition(2)),
        passes("all Pods are held by the user", rolling().partition(3), rolling().partition(3).image("2")),
        passes("more Pods are held by the user than there are", rolling(), rolling().partition(9).image("2")),
        passes("there are no Pods", rolling().replicas(0), rolling().replicas(0).image("2")),
        passes("only the replicas change", rolling(), rolling().replicas(5)),
        passes("the Pod template is only spelt otherwise", rolling(), rolling().with("/spec/template", reordered)),
        passes("only a label of the set changes", rolling(), rolling().with("/metadata/labels/a", "b")),
        update("U6", "a growth without an image", &web().in_place(), &web().in_place().size("20Gi"))
            .expects("divert templates staged:InPlace warns \"staged data\""),
        update("U6", "a growth and an image where claims stay as they are", &web(), &web().size("20Gi").image("2"))
            .expects("divert templates staged:OnClaimDelete warns \"existing claims stay\""),
        update(
            "U6",
            "a growth and an image where Pods go their own way",
            &web().in_place(),
            &web().in_place().note("sync", "Async").size("20Gi").image("2"),
        )
        .expects("divert templates staged:InPlace warns \"staged data\""),
        update("U6", "the hold of nobody comes with an edit", &rolling(), &rolling().note("held-partition", "1")).expects("divert -held"),
    ]
}

fn goes_on() -> Vec<Case> {
    let old = held(2, "0");
    let edit = |sentence: &str, new: Object, expected: &str| update("U6", sentence, &old, &new).expects(expected);
    vec![
        edit("an unrelated edit while it is held", old.clone().with("/metadata/labels/a", "b"), "pass"),
        edit("more replicas while it is held", old.clone().replicas(5), "pass"),
        edit("a replace drops the user's own", old.clone().unnoted("held-partition"), "divert held=0"),
        edit("a replace drops all of it", web().in_place().partition(2), "divert kept held=0"),
        edit("the user's own is changed by hand", held(2, "1"), "divert held=0"),
        edit("a lower partition is asked for", held(1, "0"), "divert partition=2 held=1"),
        edit("none is asked for, as a chart without one does", held(0, "0"), "divert partition=2"),
        edit("a higher partition is asked for", held(3, "0"), "divert held=3"),
        edit("a much higher partition is asked for", held(9, "0"), "divert held=9"),
        edit("a new image while it is held", old.clone().image("2"), "divert partition=3"),
        edit("a new image with the user's partition", old.clone().image("2").partition(0), "divert partition=3"),
        edit("a new image with another partition", old.clone().image("2").partition(1), "divert partition=3 held=1"),
        edit("a new image and more replicas", old.clone().image("2").replicas(5), "divert partition=5"),
        edit("the same wish again, as Helm sends it", web().in_place().partition(0).size("20Gi"), "divert templates kept partition=2 held=0"),
        edit("a second wish", old.clone().size("30Gi"), "divert templates staged:InPlace warns \"staged data 20Gi -> 30Gi\""),
        update("U6", "what is held is not a number", &held(2, "x"), &held(2, "x").image("2"))
            .expects(format!("divert partition=3 held=2 warns {}", waits(3, 2))),
    ]
}

fn ends() -> Vec<Case> {
    let old = held(2, "1");
    let end = |row: &'static str, sentence: &str, new: Object, expected: &str| {
        update(row, sentence, &old, &new).expects(format!("divert {expected} warns {RELEASED}"))
    };
    let withdraw = web().size("20Gi").revision();
    let gone = format!("divert -staged -withdraw -held partition=1 by:annotation warns \"withdrew data 10Gi -> 20Gi\" {RELEASED}");
    let orphan = web().partition(2).note("held-partition", "1");
    vec![
        end("U4", "claims are to stay as they are", old.clone().policy("OnClaimDelete"), "partition=1 -held"),
        end("U4", "by the word of OpenKruise", old.clone().policy("OnDelete"), "partition=1 -held"),
        end("U4", "Pods are to go their own way", old.clone().note("sync", "Async"), "partition=1 -held"),
        end("U4", "both, with an image", old.clone().policy("OnClaimDelete").note("sync", "Async").image("2"), "partition=1 -held"),
        end("U4", "with another partition", old.clone().policy("OnClaimDelete").partition(0), "partition=0 -held")
            .expects(format!("divert -held warns {RELEASED}")),
        end("U4", "a replace drops the hold at the same time", web().policy("OnClaimDelete").partition(2), "kept partition=1")
            .expects(format!("divert kept partition=1 warns {RELEASED}")),
        end("U4", "Pods are to be replaced by hand", old.clone().with("/spec/updateStrategy", json!({"type": "OnDelete"})), "-held"),
        update("U4", "the wish is withdrawn", &old, &old.clone().note("withdraw", &withdraw)).expects(gone),
        update("U4", "a hold outlived its record", &orphan, &orphan.clone().image("2")).expects(format!("divert partition=1 -held warns {RELEASED}")),
        update("U4", "a hold outlived its record, and goes by itself", &orphan, &orphan.clone().unnoted("held-partition"))
            .expects(format!("divert partition=1 warns {RELEASED}")),
        update("U4", "nothing was held", &rolling(), &rolling().policy("OnClaimDelete")).expects("pass"),
        update("U4", "nothing was held, and Pods are to go their own way", &rolling(), &rolling().note("sync", "Async")).expects("pass"),
        update("U4", "in lock step again: nothing is held until Pods would run ahead", &rolling().note("sync", "Async"), &rolling()).expects("pass"),
        update("U4", "in lock step again, with an image", &rolling().note("sync", "Async"), &rolling().note("sync", "LockStep").image("2"))
            .expects(format!("divert partition=3 held=0 warns {}", waits(3, 0))),
    ]
}

/// Every partition before and after, held and not, with an image and without: the rule in its plainest words.
fn grid() -> Vec<Case> {
    let mut cases = Vec::new();
    for (before, after, image) in (0..4).flat_map(|before| (0..4).flat_map(move |after| ["1", "2"].map(|image| (before, after, image)))) {
        let base = if image == "2" { 3 } else { before };
        // Nobody holds: Pods run ahead if the template changes or the partition falls.
        let partition = base.max(after);
        let ahead = (image == "2" || after < before) && partition != after;
        let expected = if ahead { format!("divert partition={partition} held={after} warns {}", waits(partition, after)) } else { "pass".to_owned() };
        let sentence = format!("partition {before} to {after}, image {image}");
        cases.push(update("U6", &sentence, &rolling().partition(before), &rolling().partition(after).image(image)).expects(expected));
        // The user's own is 1: only another partition than the one before is the user's.
        let users = if after == before { 1 } else { after };
        let partition = base.max(users);
        let mut expected = Vec::new();
        expected.extend((partition != after).then(|| format!("partition={partition}")));
        expected.extend((users != 1).then(|| format!("held={users}")));
        let expected = if expected.is_empty() { "pass".to_owned() } else { format!("divert {}", expected.join(" ")) };
        cases.push(update("U6", format!("{sentence}, held"), &held(before, "1"), &held(after, "1").image(image)).expects(expected));
    }
    cases
}
