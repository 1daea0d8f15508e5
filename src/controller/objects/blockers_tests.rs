use kube::runtime::watcher::Event;
use serde_json::{Value, json};

use super::{Blocker, SeenBlockers, SlimLimitRange, SlimQuota, SlimStorageClass};
use crate::rollout::fixtures::rows;

fn quota(name: &str, hard: &Value, used: &Value) -> SlimQuota {
    let quota = json!({"metadata": {"name": name}, "status": {"hard": hard, "used": used}});
    serde_json::from_value(quota).unwrap()
}

/// A resource, its limit and its use before and after, and whether there is more room for PVCs.
const QUOTAS: &str = "
    the limit was raised       | requests.storage                                  | 4Gi 4Gi | 5Gi 4Gi    | true
    only spelled differently   | requests.storage                                  | 4Gi 4Gi | 4096Mi 4Gi | false
    the limit was lowered      | requests.storage                                  | 4Gi 4Gi | 3Gi 4Gi    | false
    less is used               | requests.storage                                  | 4Gi 4Gi | 4Gi 3Gi    | true
    more is used               | requests.storage                                  | 4Gi 3Gi | 4Gi 4Gi    | false
    of one class               | fast.storageclass.storage.k8s.io/requests.storage | 4Gi 4Gi | 5Gi 4Gi    | true
    fewer claims               | persistentvolumeclaims                            | 4 4     | 4 3        | true
    fewer Pods                 | pods                                              | 4 4     | 5 3        | false
    less memory                | requests.memory                                   | 4Gi 4Gi | 5Gi 3Gi    | false
    a Pod has ended            | requests.ephemeral-storage                        | 4Gi 4Gi | 4Gi 3Gi    | false
    a Pod of a limit has ended | limits.ephemeral-storage                          | 4Gi 4Gi | 4Gi 3Gi    | false
";

#[test]
fn quota_gives_way_when_it_has_more_room_for_claims() {
    for [why, key, before, after, expected] in rows(QUOTAS) {
        let of = |amounts: &str| {
            let (hard, used) = amounts.split_once(' ').unwrap();
            quota("q", &json!({ key: hard }), &json!({ key: used }))
        };
        let gave_way = SlimQuota::gave_way(Some(&of(before)), Some(&of(after)));
        assert_eq!(gave_way.to_string(), expected, "{why}");
    }
    let full = |key: &str, amount: &str| quota("q", &json!({ key: amount }), &json!({ key: amount }));
    let (one, other) = (full("requests.storage", "4Gi"), full("pods", "4"));
    assert!(SlimQuota::gave_way(Some(&one), None), "it was deleted");
    let is_dropped = SlimQuota::gave_way(Some(&one), Some(&other));
    assert!(is_dropped, "it limits storage no more");
    assert!(!SlimQuota::gave_way(None, Some(&one)), "a new one is no relief");
}

/// The resource of a quota, its limit and its use, and whether the growth that it denied fits now.
const ROOM: &str = "
    nothing has changed       | requests.storage | 4Gi | 4Gi    | false
    too little was given back | requests.storage | 4Gi | 3500Mi | false
    enough was given back     | requests.storage | 4Gi | 3Gi    | true
    the limit was raised      | requests.storage | 5Gi | 4Gi    | true
    the limit was dropped     | pods             | 1   | 1      | true
";

#[test]
fn denied_growth_is_due_when_it_fits_into_its_quota() {
    let message = "persistentvolumeclaims \"data-web-2\" is forbidden: exceeded quota: storage, requested: requests.storage=1Gi, \
                   used: requests.storage=4Gi, limited: requests.storage=4Gi";
    for [why, key, hard, used, expected] in rows(ROOM) {
        let quota = quota("storage", &json!({ key: hard }), &json!({ key: used }));
        assert_eq!(quota.has_room_for(message).to_string(), expected, "{why}");
    }
    let two = "exceeded quota: q, requested: fast.storageclass.storage.k8s.io/requests.storage=1Gi,requests.storage=1Gi, used: …";
    let of_class = "fast.storageclass.storage.k8s.io/requests.storage";
    let hard = json!({of_class: "2Gi", "requests.storage": "9Gi"});
    assert!(!quota("q", &hard, &json!({of_class: "2Gi", "requests.storage": "2Gi"})).has_room_for(two));
    assert!(quota("q", &hard, &json!({of_class: "1Gi", "requests.storage": "2Gi"})).has_room_for(two));
}

#[test]
fn class_gives_way_when_it_allows_expansion() {
    let class = |allow: Value| -> SlimStorageClass {
        serde_json::from_value(json!({"metadata": {"name": "c"}, "allowVolumeExpansion": allow})).unwrap()
    };
    let (yes, no, unset) = (class(json!(true)), class(json!(false)), class(Value::Null));
    for (why, before, after, expected) in [
        ("switched on", Some(&no), Some(&yes), true),
        ("set for the first time", Some(&unset), Some(&yes), true),
        ("created again", None, Some(&yes), true),
        ("the same as before", Some(&yes), Some(&yes), false),
        ("switched off", Some(&yes), Some(&no), false),
        ("created without", None, Some(&unset), false),
        ("deleted", Some(&yes), None, false),
    ] {
        assert_eq!(SlimStorageClass::gave_way(before, after), expected, "{why}");
    }
}

#[test]
fn first_list_sets_the_state_and_later_ones_show_changes() {
    let of = |name: &str, hard: &str| {
        let (hard, used) = (json!({"requests.storage": hard}), json!({"requests.storage": "1Gi"}));
        quota(name, &hard, &used)
    };
    let mut seen = SeenBlockers::default();
    let mut note = |event| seen.note(event);
    assert!(!note(Event::Init));
    assert!(!note(Event::InitApply(of("a", "1Gi"))));
    assert!(!note(Event::InitApply(of("b", "1Gi"))));
    assert!(!note(Event::InitDone), "the first list");

    assert!(!note(Event::Apply(of("a", "1Gi"))), "as before");
    assert!(note(Event::Apply(of("a", "2Gi"))), "raised");
    assert!(!note(Event::Apply(of("a", "2Gi"))), "reported once");

    // The watch broke, and b was deleted meanwhile.
    assert!(!note(Event::Init));
    assert!(!note(Event::InitApply(of("a", "2Gi"))));
    assert!(note(Event::InitDone), "b is deleted");

    assert!(!note(Event::Init));
    assert!(!note(Event::InitApply(of("a", "2Gi"))));
    assert!(!note(Event::InitDone), "as before");

    assert!(note(Event::Delete(of("a", "2Gi"))), "deleted");
    assert!(!note(Event::Delete(of("a", "2Gi"))), "it was not known");
}

/// A LimitRange with this maximum and minimum for PVCs.
fn limits(name: &str, max: Option<&str>, min: Option<&str>) -> SlimLimitRange {
    let bound = |bound: Option<&str>| bound.map_or_else(|| json!({}), |bound| json!({"storage": bound}));
    let of_pods = json!({"type": "Pod", "max": {"cpu": "1"}, "min": {"storage": "99Gi"}});
    let of_claims = json!({"type": "PersistentVolumeClaim", "max": bound(max), "min": bound(min)});
    let object = json!({"metadata": {"name": name, "namespace": "default"}, "spec": {"limits": [of_pods, of_claims]}});
    serde_json::from_value(object).unwrap()
}

#[test]
fn limit_range_gives_way_when_bounds_widen() {
    for (why, before, after, expected) in [
        ("nothing has changed", ["5Gi", "1Gi"], ["5Gi", "1Gi"], false),
        ("only spelled differently", ["5Gi", ""], ["5120Mi", ""], false),
        ("the maximum was raised", ["5Gi", ""], ["6Gi", ""], true),
        ("the maximum was lowered", ["5Gi", ""], ["4Gi", ""], false),
        ("the maximum was dropped", ["5Gi", ""], ["", ""], true),
        ("there is a maximum now", ["", ""], ["5Gi", ""], false),
        ("the minimum was lowered", ["", "2Gi"], ["", "1Gi"], true),
        ("the minimum was raised", ["", "2Gi"], ["", "3Gi"], false),
        ("the minimum was dropped", ["", "2Gi"], ["", ""], true),
    ] {
        let of = |bounds: [&str; 2]| {
            let [max, min] = bounds.map(|bound| Some(bound).filter(|bound| !bound.is_empty()));
            limits("l", max, min)
        };
        let (before, after) = (of(before), of(after));
        assert_eq!(SlimLimitRange::gave_way(Some(&before), Some(&after)), expected, "{why}");
    }
    let one = limits("l", Some("5Gi"), None);
    assert!(SlimLimitRange::gave_way(Some(&one), None), "it was deleted");
    assert!(!SlimLimitRange::gave_way(None, Some(&one)), "a new one is no relief");
}

/// Whether a denied apply passes with these blockers. It never does before the first list is complete.
fn passes<K: Blocker + kube::ResourceExt>(known: Vec<K>, message: &str, class: Option<&str>) -> bool {
    let mut seen = SeenBlockers::default();
    seen.note(Event::Init);
    for object in known {
        seen.note(Event::InitApply(object));
    }
    assert!(!seen.lets_pass("default", message, class), "nothing is known yet");
    seen.note(Event::InitDone);
    seen.lets_pass("default", message, class)
}

#[test]
fn pvc_out_of_limits_is_due_when_limits_allow_it() {
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
    for (why, max, min, message, expected) in [
        ("as before", Some("5Gi"), None, limited, false),
        ("not enough", Some("9Gi"), None, limited, false),
        ("enough", Some("10Gi"), None, limited, true),
        ("no limit", None, None, limited, true),
        ("one of several causes", Some("10Gi"), None, several, true),
        ("a minimum", None, Some("5Gi"), small, false),
        ("a minimum that is lower", None, Some("2Gi"), small, true),
        ("message of another kind", None, None, of_pods, false),
        (
            "message of a quota",
            None,
            None,
            "exceeded quota: q, requested: requests.storage=1Gi",
            false,
        ),
    ] {
        let known = vec![elsewhere(), limits("l", max, min)];
        assert_eq!(
            SlimLimitRange::is_named_in(message),
            message.contains("per PersistentVolumeClaim"),
            "{why}"
        );
        assert_eq!(passes(known, message, None), expected, "{why}");
    }
    let two = vec![limits("a", Some("20Gi"), None), limits("b", Some("5Gi"), None)];
    assert!(!passes(two, limited, None), "another one is in the way");
}

#[test]
fn pvc_is_due_when_the_named_quota_or_class_allows_it() {
    let exceeded = "exceeded quota: q, requested: requests.storage=1Gi, used: requests.storage=4Gi";
    let (full, used) = (json!({"requests.storage": "4Gi"}), json!({"requests.storage": "4Gi"}));
    let mut of_default = quota("q", &full, &used);
    of_default.metadata.namespace = Some("default".to_owned());
    assert!(!passes(vec![of_default], exceeded, None), "it is full");
    let mut of_other = quota("q", &full, &used);
    of_other.metadata.namespace = Some("other".to_owned());
    assert!(passes(vec![of_other], exceeded, None), "that of another namespace");

    let class = |allow: bool| -> SlimStorageClass {
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
