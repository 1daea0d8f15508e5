use kube::runtime::watcher::Event;
use serde_json::{Value, json};

use super::{Class, Limits, Obstacle, Quota, Seen};

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

/// A LimitRange whose PVCs may ask for at most and at least so much.
fn limits(name: &str, most: Option<&str>, least: Option<&str>) -> Limits {
    let bound = |bound: Option<&str>| bound.map_or_else(|| json!({}), |bound| json!({"storage": bound}));
    let of_pods = json!({"type": "Pod", "max": {"cpu": "1"}, "min": {"storage": "99Gi"}});
    let of_claims = json!({"type": "PersistentVolumeClaim", "max": bound(most), "min": bound(least)});
    let object = json!({"metadata": {"name": name, "namespace": "default"}, "spec": {"limits": [of_pods, of_claims]}});
    serde_json::from_value(object).unwrap()
}

#[test]
fn limit_range_gives_way_when_a_pvc_may_ask_for_more_or_less() {
    for (why, before, after, expected) in [
        ("nothing has changed", ["5Gi", "1Gi"], ["5Gi", "1Gi"], false),
        ("only spelled anew", ["5Gi", ""], ["5120Mi", ""], false),
        ("the most was raised", ["5Gi", ""], ["6Gi", ""], true),
        ("the most was lowered", ["5Gi", ""], ["4Gi", ""], false),
        ("the most was dropped", ["5Gi", ""], ["", ""], true),
        ("there is a most now", ["", ""], ["5Gi", ""], false),
        ("the least was lowered", ["", "2Gi"], ["", "1Gi"], true),
        ("the least was raised", ["", "2Gi"], ["", "3Gi"], false),
        ("the least was dropped", ["", "2Gi"], ["", ""], true),
    ] {
        let of = |bounds: [&str; 2]| {
            let [most, least] = bounds.map(|bound| Some(bound).filter(|bound| !bound.is_empty()));
            limits("l", most, least)
        };
        let (before, after) = (of(before), of(after));
        assert_eq!(Limits::gave_way(Some(&before), Some(&after)), expected, "{why}");
    }
    let one = limits("l", Some("5Gi"), None);
    assert!(Limits::gave_way(Some(&one), None), "it was deleted");
    assert!(!Limits::gave_way(None, Some(&one)), "a new one is no relief");
}

/// Whether what was refused passes where these stand; before the first list was read nobody knows.
fn passes<K: Obstacle + kube::ResourceExt>(known: Vec<K>, refusal: &str, class: Option<&str>) -> bool {
    let mut seen = Seen::default();
    seen.note(Event::Init);
    for object in known {
        seen.note(Event::InitApply(object));
    }
    assert!(!seen.lets_pass("default", refusal, class), "nothing is known yet");
    seen.note(Event::InitDone);
    seen.lets_pass("default", refusal, class)
}

#[test]
fn pvc_out_of_limits_is_due_when_they_let_it_pass() {
    let limited = "persistentvolumeclaims \"data-web-0\" is forbidden: maximum storage usage per PersistentVolumeClaim is 5Gi, \
                   but request is 10Gi";
    let several = "forbidden: [maximum storage usage per PersistentVolumeClaim is 5Gi, but request is 10Gi, another]";
    let small = "forbidden: minimum storage usage per PersistentVolumeClaim is 5Gi, but request is 2Gi";
    let of_pods = "forbidden: maximum storage usage per Pod is 5Gi, but request is 10Gi";
    let elsewhere = || {
        let mut limits = limits("elsewhere", Some("1Gi"), None);
        limits.metadata.namespace = Some("other".to_owned());
        limits
    };
    for (why, most, least, refusal, expected) in [
        ("as before", Some("5Gi"), None, limited, false),
        ("not enough", Some("9Gi"), None, limited, false),
        ("enough", Some("10Gi"), None, limited, true),
        ("no limit", None, None, limited, true),
        ("one of several causes", Some("10Gi"), None, several, true),
        ("a least", None, Some("5Gi"), small, false),
        ("a least that is lower", None, Some("2Gi"), small, true),
        ("words of another kind", None, None, of_pods, false),
        (
            "words of a quota",
            None,
            None,
            "exceeded quota: q, requested: requests.storage=1Gi",
            false,
        ),
    ] {
        let known = vec![elsewhere(), limits("l", most, least)];
        assert_eq!(
            Limits::is_named_in(refusal),
            refusal.contains("per PersistentVolumeClaim"),
            "{why}"
        );
        assert_eq!(passes(known, refusal, None), expected, "{why}");
    }
    let two = vec![limits("a", Some("20Gi"), None), limits("b", Some("5Gi"), None)];
    assert!(!passes(two, limited, None), "another one is in the way");
}

#[test]
fn pvc_is_due_when_the_quota_or_class_of_its_words_lets_it_pass() {
    let exceeded = "exceeded quota: q, requested: requests.storage=1Gi, used: requests.storage=4Gi";
    let (full, used) = (json!({"requests.storage": "4Gi"}), json!({"requests.storage": "4Gi"}));
    let mut of_default = quota("q", &full, &used);
    of_default.metadata.namespace = Some("default".to_owned());
    assert!(!passes(vec![of_default], exceeded, None), "it is full");
    let mut of_other = quota("q", &full, &used);
    of_other.metadata.namespace = Some("other".to_owned());
    assert!(passes(vec![of_other], exceeded, None), "that of another namespace");

    let class = |allow: bool| -> Class {
        serde_json::from_value(json!({"metadata": {"name": "c"}, "allowVolumeExpansion": allow})).unwrap()
    };
    let resize = "storageclass that provisions the pvc must support resize";
    for (why, class, name, expected) in [
        ("it expands", class(true), Some("c"), true),
        ("it does not", class(false), Some("c"), false),
        ("another class", class(true), Some("d"), false),
        ("no class", class(true), None, false),
    ] {
        assert_eq!(passes(vec![class], resize, name), expected, "{why}");
    }
}
