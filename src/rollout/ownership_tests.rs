//! Foreign claims, and claims that cannot be written. Each test compares the whole list of actions.

use crate::json::Map;
use crate::rollout::action::Action;
use crate::rollout::fixtures::{apply, owner, refused, template, web as fixture, writes};
use crate::rollout::plan::{RECHECK, plan};
use crate::rollout::snapshot::{Sibling, Snapshot};

#[test]
fn denied_apply_is_retried_after_a_pause_or_a_change() {
    let mut web = fixture();
    refused(&mut web, 998);
    assert_eq!((writes(&web), plan(&web).requeue_after), (vec![], Some(2)));
    web.now = 1002;
    assert_eq!(
        (writes(&web), plan(&web).requeue_after),
        (vec![apply(&web, 2)], Some(RECHECK))
    );
    web.now = 1000;
    web.refusals.get_mut("data-web-2-uid").unwrap().resource_version = "6".to_owned();
    assert_eq!(writes(&web), [apply(&web, 2)]);
    refused(&mut web, 1000);
    web.stage(vec![template("data", "2049Mi")]);
    assert!(matches!(&writes(&web)[..], [Action::ApplyClaim(_)]));
}

#[test]
fn foreign_claim_is_reported_and_never_written() {
    type Row = (&'static str, fn(&mut Snapshot));
    let rows: [Row; 3] = [
        ("SelectorMismatch", |web| {
            _ = web.claim("data-web-2").labels.insert("app".to_owned(), "db".to_owned());
            web.pods.remove("web-2");
        }),
        ("OwnedByAnother", |web| {
            web.claim("data-web-2").owners = vec![owner("VirtualMachine", "web", "vm")];
        }),
        ("MountedByAnother", |web| {
            web.pods.get_mut("web-2").unwrap().controller = Some(owner("StatefulSet", "web", "older"));
        }),
    ];
    for (reason, change) in rows {
        let mut web = fixture();
        change(&mut web);
        assert_eq!(writes(&web), [], "{reason}");
        assert_eq!(plan(&web).progress.claims[0].reason, reason);
        assert_eq!(plan(&web).progress.stalled.reason, "ClaimForeign");
    }
}

#[test]
fn labels_are_no_obstacle_if_missing_or_if_its_pod_exists() {
    let another = || Map::from_unsorted(vec![("app".to_owned(), "db".to_owned())]).unwrap_or_default();
    for (row, labels) in [("none", Map::new()), ("older than the selector", another())] {
        let mut web = fixture();
        web.claim("data-web-2").labels = labels;
        assert_eq!(writes(&web), [apply(&web, 2)], "{row}");
    }
    let mut web = fixture();
    web.claim("data-web-2").labels = Map::new();
    web.pods.remove("web-2");
    assert_eq!(writes(&web), [apply(&web, 2)], "none, and no Pod");
}

#[test]
fn ambiguous_claim_is_foreign() {
    let mut web = fixture();
    web.set.name = "a-web".to_owned();
    let mut claim = web.claims.remove("data-web-2").unwrap();
    claim.name = "data-a-web-2".to_owned();
    web.claims.insert(claim.name.clone(), claim);
    web.siblings.push(Sibling {
        set: "web".to_owned(),
        templates: vec!["log".to_owned()],
    });
    assert!(matches!(&writes(&web)[..], [Action::ApplyClaim(_)]));
    web.siblings.push(Sibling {
        set: "web".to_owned(),
        templates: vec!["data-a".to_owned()],
    });
    assert_eq!(writes(&web), []);
    assert_eq!(plan(&web).progress.claims[0].reason, "AmbiguousName");
}

#[test]
fn pods_of_no_other_set_do_not_matter() {
    type Row = (&'static str, fn(&mut Snapshot));
    let rows: [Row; 2] = [
        ("a backup Job reads the same volume", |web| {
            let mut pod = web.pods["web-2"].clone();
            (pod.name, pod.uid) = ("backup".to_owned(), "backup-uid".to_owned());
            pod.controller = Some(owner("Job", "backup", "job-uid"));
            web.pods.insert(pod.name.clone(), pod);
        }),
        ("a Pod without a controller mounts the volume", |web| {
            let mut pod = web.pods["web-2"].clone();
            (pod.name, pod.uid, pod.controller) = ("shell".to_owned(), "shell-uid".to_owned(), None);
            web.pods.insert(pod.name.clone(), pod);
        }),
    ];
    for (row, change) in rows {
        let mut web = fixture();
        change(&mut web);
        assert_eq!(writes(&web), [apply(&web, 2)], "{row}");
    }
}

#[test]
fn claim_owned_by_the_set_or_its_pod_is_written() {
    for owner in [
        owner("StatefulSet", "web", "set-uid"),
        owner("Pod", "web-2", "web-2-uid"),
    ] {
        let mut web = fixture();
        web.claim("data-web-2").owners = vec![owner];
        assert_eq!(writes(&web), [apply(&web, 2)]);
    }
}
