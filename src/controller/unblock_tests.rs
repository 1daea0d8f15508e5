use kube::runtime::watcher::Event;
use serde_json::{Value, json};

use super::{Class, Obstacle, Quota, Seen};

fn quota(name: &str, hard: &Value, used: &Value) -> Quota {
    let quota = json!({"metadata": {"name": name}, "status": {"hard": hard, "used": used}});
    serde_json::from_value(quota).unwrap()
}

#[test]
fn a_quota_gives_way_when_there_is_more_room_for_claims() {
    const STORAGE: &str = "requests.storage";
    const OF_CLASS: &str = "fast.storageclass.storage.k8s.io/requests.storage";
    const CLAIMS: &str = "persistentvolumeclaims";
    const EPHEMERAL: &str = "requests.ephemeral-storage";
    for (why, key, before, after, expected) in [
        ("the limit was raised", STORAGE, ["4Gi", "4Gi"], ["5Gi", "4Gi"], true),
        ("only spelled anew", STORAGE, ["4Gi", "4Gi"], ["4096Mi", "4Gi"], false),
        ("the limit was lowered", STORAGE, ["4Gi", "4Gi"], ["3Gi", "4Gi"], false),
        ("less is used", STORAGE, ["4Gi", "4Gi"], ["4Gi", "3Gi"], true),
        ("more is used", STORAGE, ["4Gi", "3Gi"], ["4Gi", "4Gi"], false),
        ("of one class", OF_CLASS, ["4Gi", "4Gi"], ["5Gi", "4Gi"], true),
        ("fewer claims", CLAIMS, ["4", "4"], ["4", "3"], true),
        ("fewer Pods", "pods", ["4", "4"], ["5", "3"], false),
        ("less memory", "requests.memory", ["4Gi", "4Gi"], ["5Gi", "3Gi"], false),
        ("a Pod has ended", EPHEMERAL, ["4Gi", "4Gi"], ["4Gi", "3Gi"], false),
        (
            "a Pod of a limit has ended",
            "limits.ephemeral-storage",
            ["4Gi", "4Gi"],
            ["4Gi", "3Gi"],
            false,
        ),
    ] {
        let of = |[hard, used]: [&str; 2]| quota("q", &json!({ key: hard }), &json!({ key: used }));
        let (before, after) = (of(before), of(after));
        assert_eq!(Quota::gave_way(Some(&before), Some(&after)), expected, "{why}");
    }
    let one = quota("q", &json!({ STORAGE: "4Gi" }), &json!({ STORAGE: "4Gi" }));
    let other = quota("q", &json!({ "pods": "4" }), &json!({ "pods": "4" }));
    assert!(Quota::gave_way(Some(&one), None), "it was deleted");
    assert!(Quota::gave_way(Some(&one), Some(&other)), "it limits storage no more");
    assert!(!Quota::gave_way(None, Some(&one)), "a new one is no relief");
}

/// What the quota allows and what is used of it, and whether the growth that it refused fits now.
#[test]
fn refused_growth_is_due_when_it_fits_into_its_quota() {
    let refusal = "persistentvolumeclaims \"data-web-2\" is forbidden: exceeded quota: storage, requested: requests.storage=1Gi, \
                   used: requests.storage=4Gi, limited: requests.storage=4Gi";
    for (why, hard, used, expected) in [
        (
            "nothing has changed",
            json!({"requests.storage": "4Gi"}),
            json!({"requests.storage": "4Gi"}),
            false,
        ),
        (
            "too little was given back",
            json!({"requests.storage": "4Gi"}),
            json!({"requests.storage": "3500Mi"}),
            false,
        ),
        (
            "enough was given back",
            json!({"requests.storage": "4Gi"}),
            json!({"requests.storage": "3Gi"}),
            true,
        ),
        (
            "the limit was raised",
            json!({"requests.storage": "5Gi"}),
            json!({"requests.storage": "4Gi"}),
            true,
        ),
        (
            "the limit was dropped",
            json!({"pods": "1"}),
            json!({"pods": "1"}),
            true,
        ),
    ] {
        assert_eq!(quota("storage", &hard, &used).has_room_for(refusal), expected, "{why}");
    }
    let two = "exceeded quota: q, requested: fast.storageclass.storage.k8s.io/requests.storage=1Gi,requests.storage=1Gi, used: …";
    let of_class = "fast.storageclass.storage.k8s.io/requests.storage";
    let hard = json!({of_class: "2Gi", "requests.storage": "9Gi"});
    assert!(!quota("q", &hard, &json!({of_class: "2Gi", "requests.storage": "2Gi"})).has_room_for(two));
    assert!(quota("q", &hard, &json!({of_class: "1Gi", "requests.storage": "2Gi"})).has_room_for(two));
}

#[test]
fn a_class_gives_way_when_its_volumes_can_be_expanded_now() {
    let class = |allow: Value| -> Class {
        serde_json::from_value(json!({"metadata": {"name": "c"}, "allowVolumeExpansion": allow})).unwrap()
    };
    let (yes, no, unset) = (class(json!(true)), class(json!(false)), class(Value::Null));
    for (why, before, after, expected) in [
        ("switched on", Some(&no), Some(&yes), true),
        ("set for the first time", Some(&unset), Some(&yes), true),
        ("made anew", None, Some(&yes), true),
        ("the same as before", Some(&yes), Some(&yes), false),
        ("switched off", Some(&yes), Some(&no), false),
        ("made, but without", None, Some(&unset), false),
        ("deleted", Some(&yes), None, false),
    ] {
        assert_eq!(Class::gave_way(before, after), expected, "{why}");
    }
}

#[test]
fn the_first_list_says_how_things_are_and_what_a_later_one_shows_counts() {
    let of = |name: &str, hard: &str| {
        let (hard, used) = (json!({"requests.storage": hard}), json!({"requests.storage": "1Gi"}));
        quota(name, &hard, &used)
    };
    let mut seen = Seen::default();
    let mut note = |event| seen.note(event);
    assert!(!note(Event::Init));
    assert!(!note(Event::InitApply(of("a", "1Gi"))));
    assert!(!note(Event::InitApply(of("b", "1Gi"))));
    assert!(!note(Event::InitDone), "the first list");

    assert!(!note(Event::Apply(of("a", "1Gi"))), "as before");
    assert!(note(Event::Apply(of("a", "2Gi"))), "raised");
    assert!(!note(Event::Apply(of("a", "2Gi"))), "said once");

    // The watch broke; while nobody looked, b was deleted.
    assert!(!note(Event::Init));
    assert!(!note(Event::InitApply(of("a", "2Gi"))));
    assert!(note(Event::InitDone), "b is gone");

    assert!(!note(Event::Init));
    assert!(!note(Event::InitApply(of("a", "2Gi"))));
    assert!(!note(Event::InitDone), "as before");

    assert!(note(Event::Delete(of("a", "2Gi"))), "deleted");
    assert!(!note(Event::Delete(of("a", "2Gi"))), "it was not known");
}
