use kube::runtime::watcher::Event;
use serde_json::json;

use super::PodStore;
use crate::controller::objects::pod::SlimPod;
use crate::gate::SetView;
use crate::rollout::fixtures::rows;

/// A Pod from namespace, name, uid of the controller, PVCs and phase.
fn pod([namespace, name, controller, claims, phase]: [&str; 5]) -> SlimPod {
    let volumes = claims.split_whitespace();
    let volumes = volumes.map(|claim| json!({"persistentVolumeClaim": {"claimName": claim}}));
    serde_json::from_value(json!({
        "metadata": {"namespace": namespace, "name": name, "uid": format!("{name}-uid"), "ownerReferences": [
            {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "web", "uid": controller, "controller": true},
        ]},
        "spec": {"volumes": volumes.collect::<Vec<_>>()},
        "status": {"phase": phase},
    }))
    .unwrap()
}

/// The names of the Pods of the set `web` in namespace `a` with the PVC `data-web-0`.
fn of_web(pods: &PodStore) -> String {
    let set = SetView {
        namespace: "a".to_owned(),
        name: "web".to_owned(),
        uid: "web-uid".to_owned(),
        ..SetView::default()
    };
    let claims = ["data-web-0".to_owned()];
    let names: Vec<String> = pods.of(&set, claims.iter()).into_keys().collect();
    names.join(" ")
}

/// A Pod, and whether it is one of the set: namespace, name, uid of the controller, PVCs, phase.
const ROWS: &str = "
    its own                      | a | web-0  | web-uid | data-web-0      | Running   | web-0
    its own, out of range        | a | web-7  | web-uid | data-web-7      | Running   | web-7
    another's that mounts it     | a | backup | job-uid | logs data-web-0 | Running   | backup
    another's that has ended     | a | backup | job-uid | data-web-0      | Succeeded |
    another's that mounts others | a | db-0   | db-uid  | data-db-0       | Running   |
    of another namespace         | b | web-0  | db-uid  | data-web-0      | Running   |
    its own, without claims      | a | web-0  | web-uid |                 | Running   | web-0
";

#[test]
fn set_has_its_pods_and_those_that_mount_its_claims() {
    for [what, namespace, name, controller, claims, phase, expected] in rows(ROWS) {
        let pods = PodStore::default();
        pods.note(&Event::Apply(pod([namespace, name, controller, claims, phase])));
        assert_eq!(of_web(&pods), expected, "{what}");
    }
}

#[test]
fn pods_follow_the_events_of_their_watch() {
    let web = |phase| pod(["a", "web-0", "web-uid", "data-web-0", phase]);
    let recreated = || pod(["a", "web-0", "web-uid", "other", "Running"]);
    let backup = || pod(["a", "backup", "job-uid", "data-web-0", "Running"]);
    let pods = PodStore::default();
    for (what, event, expected) in [
        ("a list begins", Event::Init, ""),
        ("it shows one", Event::InitApply(web("Running")), ""),
        ("it is complete", Event::InitDone, "web-0"),
        ("another one is created", Event::Apply(backup()), "backup web-0"),
        ("one ends", Event::Apply(web("Failed")), "backup"),
        ("it is created again", Event::Apply(recreated()), "backup web-0"),
        ("one is deleted", Event::Delete(backup()), "web-0"),
        ("a list begins again", Event::Init, "web-0"),
        ("it shows the other one", Event::InitApply(backup()), "web-0"),
        ("it is complete, without the first one", Event::InitDone, "backup"),
    ] {
        pods.note(&event);
        assert_eq!(of_web(&pods), expected, "{what}");
    }
    pods.note(&Event::Delete(backup()));
    assert!(super::lock(&pods.known).index.is_empty(), "nothing is left behind");
}
