//! The reads of a replacement, as an API server answers them.

use std::future::ready;

use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};

use super::cluster::{Cluster, SetName, allows};
use crate::controller::fixtures::cluster;
use crate::replace::{FINALIZER, Journal, LastVersion, LiveSet, Part};
use crate::rollout::fixtures::{staged_change, template};
use crate::templates::keys;

/// Reads answered with the objects whose path contains a text, each of them in a line: a WATCH has many.
fn answers(objects: Vec<(&'static str, Vec<Value>)>) -> Cluster {
    let answer = move |request: axum::http::Request<Body>| {
        let path = request.uri().path();
        let found = objects.iter().find(|(of, _)| path.contains(of));
        let missing = || {
            let (parent, name) = path.rsplit_once('/').unwrap_or_default();
            let details = json!({"kind": parent.rsplit('/').next(), "name": name});
            json!({"status": "Failure", "code": 404, "reason": "NotFound", "message": "", "details": details})
        };
        let (code, lines) = found.map_or_else(|| (404, vec![missing()]), |(_, lines)| (200, lines.clone()));
        let body: String = lines.iter().map(|line| format!("{line}\n")).collect();
        let response = axum::http::Response::builder().status(code);
        ready(Ok::<_, kube::Error>(
            response.body(Body::from(body.into_bytes())).expect("a response"),
        ))
    };
    cluster(Client::new(tower::service_fn(answer), "default"))
}

fn web() -> SetName {
    SetName::new("shop", "web")
}

/// A marked set of this namespace and name.
fn set(namespace: &str, name: &str, uid: &str) -> LiveSet {
    let staged = staged_change(vec![template("data", "2Gi")]).write().expect("JSON");
    LiveSet::new(json!({
        "apiVersion": "apps/v1", "kind": "StatefulSet",
        "metadata": {"namespace": namespace, "name": name, "uid": uid, "resourceVersion": "7",
            "finalizers": [FINALIZER], "annotations": {(keys::STAGED): staged}},
        "spec": {"replicas": 1},
    }))
}

fn journal(namespace: &str, name: &str) -> Journal {
    Journal::prepare(&set(namespace, name, "set-uid"), None, 0).expect("a staged change")
}

/// A Secret may have any content: only a journal of this set is its journal.
#[tokio::test]
async fn journal_of_another_set_is_not_that_of_this_one() {
    for (namespace, name, is_ours) in [("shop", "web", true), ("shop", "db", false), ("test", "web", false)] {
        let text = journal(namespace, name).write().expect("JSON");
        let data = json!({"journal": k8s_openapi::ByteString(text.into_bytes())});
        let secret = json!({"metadata": {"name": "j", "uid": "secret-uid", "resourceVersion": "9"}, "data": data});
        let cluster = answers(vec![
            ("/secrets/", vec![secret]),
            ("/statefulsets/", vec![set("shop", "web", "set-uid").object().clone()]),
        ]);
        let objects = cluster.look(&web()).await.expect("all reads are answered");
        let found = objects.journal.map(|journal| (journal.namespace, journal.name));
        assert_eq!(
            found,
            is_ours.then(|| ("shop".to_owned(), "web".to_owned())),
            "{namespace}/{name}"
        );
        let why = (!is_ours).then_some("Secret j is no journal: it is of another StatefulSet");
        assert_eq!(objects.unreadable.as_deref(), why, "{namespace}/{name}");
        assert_eq!(objects.journal_version.as_deref(), Some("9"), "{namespace}/{name}");
    }
}

/// Each object that refers to a set is a dependent, of whichever kind it is.
#[tokio::test]
async fn dependents_are_pods_revisions_and_pvcs() {
    let list = |api_version: &str, kind: &str, names: &[(&str, &str)]| {
        let item = |(name, owner): &(&str, &str)| {
            let owner = json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "web", "uid": owner});
            json!({"metadata": {"name": name, "uid": name, "ownerReferences": [owner]}})
        };
        let items: Vec<Value> = names.iter().map(item).collect();
        vec![json!({"apiVersion": api_version, "kind": format!("{kind}List"), "metadata": {}, "items": items})]
    };
    let cluster = answers(vec![
        ("/pods", list("v1", "Pod", &[("web-0", "set-uid")])),
        (
            "/controllerrevisions",
            list("apps/v1", "ControllerRevision", &[("web-a", "set-uid")]),
        ),
        (
            "/persistentvolumeclaims",
            list(
                "v1",
                "PersistentVolumeClaim",
                &[("data-web-0", "set-uid"), ("data-db-0", "db-uid")],
            ),
        ),
        ("/statefulsets/", vec![set("shop", "web", "set-uid").object().clone()]),
    ]);
    let objects = cluster.look(&web()).await.expect("all reads are answered");
    let mut world = objects.world((cluster.clock)(), &cluster.settings, allows);
    let filled = cluster.fill(&web(), &mut world, Part::Dependents).await;
    assert_eq!(filled, Ok(()));
    let dependents = world.dependents.unwrap_or_default();
    let pods: Vec<_> = dependents.pods.iter().map(|pod| (&*pod.name, &*pod.owners)).collect();
    assert_eq!(pods, [("web-0", &["set-uid".to_owned()][..])]);
    let others: Vec<_> = dependents.others.iter().map(|(what, uid)| (&**what, &**uid)).collect();
    assert_eq!(
        others,
        [
            ("ControllerRevision web-a", "set-uid"),
            ("PersistentVolumeClaim data-web-0", "set-uid"),
            ("PersistentVolumeClaim data-db-0", "db-uid"),
        ]
    );
    let revisions: Vec<_> = dependents.revisions.iter().map(|revision| &*revision.name).collect();
    assert_eq!(revisions, ["web-a"]);
}

/// Others may create and delete sets of the name: the last version is that of the old one, by its uid.
#[tokio::test]
async fn last_version_is_that_of_the_old_set() {
    let event = |kind: &str, uid: &str| json!({"type": kind, "object": set("shop", "web", uid).object()});
    let journal = journal("shop", "web");
    for (events, is_seen) in [
        (vec![event("DELETED", "set-uid")], true),
        (vec![event("MODIFIED", "set-uid")], false),
        (vec![event("DELETED", "namesake")], false),
        (vec![event("DELETED", "namesake"), event("DELETED", "set-uid")], true),
    ] {
        let row = format!("{events:?}");
        let found = answers(vec![("/statefulsets", events)])
            .last_version(&web(), &journal)
            .await;
        let expected = if is_seen {
            LastVersion::Seen(set("shop", "web", "set-uid"))
        } else {
            LastVersion::Unknown
        };
        assert_eq!(found, Ok(expected), "{row}");
    }
}
