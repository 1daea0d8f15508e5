//! Rows U4 and U6: when Pods wait for claims, and when they do not any more. The numbers are in `hold`.

use serde_json::{Value, json};

use super::{admit, annotated, decide, edits, record, set, template, update};
use crate::admission::{Edit, NoCluster, Settings, Verdict};
use crate::templates::{Phase, keys};
use crate::wire::request::decode;

/// A set with an image and a partition.
fn pods(mut set: Value, image: &str, partition: i64) -> Value {
    set["spec"]["template"] = json!({"spec": {"containers": [{"name": "web", "image": image}]}});
    set["spec"]["updateStrategy"] = json!({"type": "RollingUpdate", "rollingUpdate": {"partition": partition}});
    set
}

fn live() -> Value {
    set(&[template("data", "10Gi")])
}

fn rolling() -> Value {
    annotated(
        live(),
        keys::STAGED,
        &record(&[template("data", "20Gi")], Phase::RollingOut),
    )
}

fn held(partition: i64, users: &str) -> Value {
    pods(annotated(rolling(), keys::HELD_PARTITION, users), "v1", partition)
}

#[test]
fn u6_a_new_image_in_the_same_request_as_the_growth_is_held() {
    let wish = pods(set(&[template("data", "20Gi")]), "v2", 0);
    let Verdict::Stage(found, remarks) = decide(&update(&pods(live(), "v1", 0), &wish)) else {
        panic!()
    };
    assert_eq!(found.len(), 4, "{found:?}");
    assert_eq!(
        found[2..],
        [
            Edit::SetPartition(3),
            Edit::annotation(keys::HELD_PARTITION, "0".to_owned())
        ]
    );
    assert_eq!(
        remarks.warnings[1],
        "claim-rollout: Pods wait for their claims: rollingUpdate.partition is held at 3 and lowered replica by replica, down \
         to 0 (annotation claim-rollout.io/sync: Async lets them go)"
    );
}

#[test]
fn u6_also_while_a_wish_is_rolled_out_and_not_once_it_is_complete() {
    let found = edits(decide(&update(&pods(rolling(), "v1", 0), &pods(rolling(), "v2", 0))));
    let hold = [
        Edit::SetPartition(3),
        Edit::annotation(keys::HELD_PARTITION, "0".to_owned()),
    ];
    assert_eq!(found, hold);
    let complete = annotated(
        live(),
        keys::STAGED,
        &record(&[template("data", "20Gi")], Phase::Complete),
    );
    let image = update(&pods(complete.clone(), "v1", 0), &pods(complete, "v2", 0));
    assert_eq!(decide(&image), Verdict::PASS);
}

#[test]
fn u6_the_same_pods_in_another_order_of_keys_are_no_new_pods() {
    let with = |mut set: Value, pods: &str| {
        set["spec"]["template"] = pods.into();
        set
    };
    let changed = |other: &str| {
        let payload = json!({"request": update(&with(rolling(), "old"), &with(rolling(), "new"))}).to_string();
        let payload = payload
            .replace("\"template\":\"old\"", r#""template":{"a":1,"b":2}"#)
            .replace("\"template\":\"new\"", &format!(r#""template":{other}"#));
        let Ok(Some((review, _))) = decode(&payload) else {
            panic!("a review: {payload}")
        };
        admit(&review, &Settings::default(), &mut NoCluster) != Verdict::PASS
    };
    assert!(!changed(r#"{"b":2,"a":1}"#));
    assert!(!changed(r#"{"a": 1, "b": 2}"#));
    assert!(changed(r#"{"a":1,"b":3}"#));
}

#[test]
fn u6_what_the_user_writes_while_it_is_held_goes_beside_the_hold() {
    let table = [
        ("an unrelated edit", held(2, "0"), vec![]),
        (
            "a replace drops the user's own",
            pods(rolling(), "v1", 2),
            vec![Edit::annotation(keys::HELD_PARTITION, "0".to_owned())],
        ),
        (
            "it is changed by hand",
            held(2, "1"),
            vec![Edit::annotation(keys::HELD_PARTITION, "0".to_owned())],
        ),
        (
            "another partition is asked for",
            held(1, "0"),
            vec![
                Edit::SetPartition(2),
                Edit::annotation(keys::HELD_PARTITION, "1".to_owned()),
            ],
        ),
    ];
    for (sentence, new, expected) in table {
        let Verdict::Pass(_) = decide(&update(&held(2, "0"), &new)) else {
            assert_eq!(edits(decide(&update(&held(2, "0"), &new))), expected, "{sentence}");
            continue;
        };
        assert_eq!(expected, [], "{sentence}");
    }
}

#[test]
fn u4_the_users_partition_is_put_back_when_the_rollout_is_given_up() {
    let old = held(2, "1");
    let ends = [Edit::SetPartition(1), Edit::no_annotation(keys::HELD_PARTITION)];
    for (key, value) in [(keys::UPDATE_POLICY, "OnClaimDelete"), (keys::SYNC, "Async")] {
        let Verdict::Stage(found, remarks) = decide(&update(&old, &annotated(old.clone(), key, value))) else {
            panic!("{key}")
        };
        assert_eq!(found, ends, "{key}: {value}");
        assert_eq!(
            remarks.warnings,
            ["claim-rollout: Pods do not wait for their claims any more: rollingUpdate.partition is the user's again"]
        );
    }
    // A hold that outlived its record does not hold Pods for ever.
    let orphan = pods(annotated(live(), keys::HELD_PARTITION, "1"), "v1", 2);
    assert_eq!(edits(decide(&update(&orphan, &orphan))), ends);
    let dropped = pods(live(), "v1", 2);
    assert_eq!(edits(decide(&update(&orphan, &dropped))), [Edit::SetPartition(1)]);
}

#[test]
fn u4_a_strategy_without_a_partition_ends_the_hold() {
    let mut on_delete = held(2, "1");
    on_delete["spec"]["updateStrategy"] = json!({"type": "OnDelete"});
    let found = edits(decide(&update(&held(2, "1"), &on_delete)));
    assert_eq!(found, [Edit::no_annotation(keys::HELD_PARTITION)]);
}
