//! The reads of a replacement, as an API server answers them.

use serde_json::{Value, json};

use super::cluster::{Cluster, SetName, allows};
use crate::controller::fixtures::{cluster, recording, serving_text};
use crate::replace::{FINALIZER, Journal, LastVersion, LiveSet, MachineKind, Part, SetObjects};
use crate::rollout::fixtures::{staged_change, template};
use crate::templates::keys;

/// Reads answered with the objects whose path contains a text, each of them in a line: a WATCH has many.
fn answers(objects: Vec<(&'static str, Vec<Value>)>) -> Cluster {
    let client = serving_text(move |request| {
        let path = &request.path;
        let found = objects.iter().find(|(of, _)| path.contains(of));
        let missing = || {
            let (parent, name) = path.rsplit_once('/').unwrap_or_default();
            let details = json!({"kind": parent.rsplit('/').next(), "name": name});
            json!({"status": "Failure", "code": 404, "reason": "NotFound", "message": "", "details": details})
        };
        let (code, lines) = found.map_or_else(|| (404, vec![missing()]), |(_, lines)| (200, lines.clone()));
        Some((code, lines.iter().map(|line| format!("{line}\n")).collect()))
    });
    cluster(client)
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
        (
            "/pods",
            list(
                "v1",
                "Pod",
                &[("web-0", "set-uid"), ("web-1", "nobody"), ("db-0", "db-uid")],
            ),
        ),
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
    let mut world = objects.world((cluster.clock)(), &cluster.settings, allows, MachineKind::Controller);
    let filled = cluster.fill(&web(), &mut world, Part::Dependents).await;
    assert_eq!(filled, Ok(()));
    let dependents = world.dependents.unwrap_or_default();
    let pods: Vec<_> = dependents.pods.iter().map(|pod| (&*pod.name, &*pod.owners)).collect();
    let [set, nobody] = ["set-uid", "nobody"].map(|uid| [uid.to_owned()]);
    // One with a name of the set may be in its way.
    assert_eq!(pods, [("web-0", &set[..]), ("web-1", &nobody[..])]);
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

/// After the replacement nothing is staged: a PVC that was created again while the policy was away would stay as it is.
#[tokio::test]
async fn claim_without_what_is_staged_is_read() {
    let staged = staged_change(vec![template("data", "2Gi")]).label().to_string();
    for (what, name, label, size, lags) in [
        ("created again", "data-web-0", None, "1Gi", true),
        ("of an earlier staging", "data-web-0", Some("b.xz245"), "1Gi", true),
        ("created again with the size", "data-web-0", None, "2Gi", false),
        ("written for this staging", "data-web-0", Some(&*staged), "1Gi", false),
        ("scaled away", "data-web-1", None, "1Gi", true),
        (
            "scaled away, and lowered since",
            "data-web-1",
            Some(&*staged),
            "1Gi",
            true,
        ),
        ("of another set", "data-db-0", None, "1Gi", false),
    ] {
        let labels = label.map(|label| json!({(keys::REVISION): label}));
        let claim = json!({
            "metadata": {"name": name, "uid": "u", "resourceVersion": "1", "labels": labels},
            "spec": {"accessModes": ["ReadWriteOnce"], "volumeMode": "Filesystem",
                "resources": {"requests": {"storage": size}}},
            "status": {"phase": "Bound", "capacity": {"storage": size}},
        });
        let list = |kind: &str, items: &[Value]| vec![json!({"kind": kind, "metadata": {}, "items": items})];
        let mut unmarked = set("shop", "web", "set-uid").object().clone();
        unmarked["metadata"]["finalizers"] = Value::Null;
        let cluster = answers(vec![
            ("/pods", list("PodList", &[])),
            ("/controllerrevisions", list("ControllerRevisionList", &[])),
            ("/persistentvolumeclaims", list("PersistentVolumeClaimList", &[claim])),
            ("/resourcequotas", list("ResourceQuotaList", &[])),
            ("/statefulsets/", vec![unmarked]),
        ]);
        let objects = cluster.look(&web()).await.expect("all reads are answered");
        let mut world = objects.world((cluster.clock)(), &cluster.settings, allows, MachineKind::Controller);
        assert_eq!(
            cluster.fill(&web(), &mut world, Part::Dependents).await,
            Ok(()),
            "{what}"
        );
        let found = world.dependents.unwrap_or_default().lagging;
        assert_eq!(found, Vec::from_iter(lags.then_some(name)), "{what}");
    }
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

/// What is seen of a set that is not being replaced.
fn objects() -> SetObjects {
    SetObjects {
        set: Some(set("shop", "web", "set-uid")),
        ..SetObjects::default()
    }
}

/// Nothing can be created in it any more, and the next one of its name is another.
#[tokio::test]
async fn namespace_that_is_deleted_has_no_uid() {
    let namespace = |deleted: Value| json!({"metadata": {"name": "shop", "uid": "ns-1", "deletionTimestamp": deleted}});
    for (what, found, expected) in [
        ("it exists", Some(namespace(Value::Null)), "ns-1"),
        (
            "it is being deleted",
            Some(namespace("2026-01-01T00:00:00Z".into())),
            "",
        ),
        ("it is deleted", None, ""),
    ] {
        let cluster = answers(
            found
                .map(|found| ("/namespaces/shop", vec![found]))
                .into_iter()
                .collect(),
        );
        let mut world = objects().world((cluster.clock)(), &cluster.settings, allows, MachineKind::Controller);
        let filled = cluster.fill(&web(), &mut world, Part::Namespace).await;
        assert_eq!((filled, world.namespace.as_deref()), (Ok(()), Some(expected)), "{what}");
    }
}

#[tokio::test]
async fn dry_runs_of_a_replacement_change_nothing() {
    let (client, received) = recording(|_| Some((200, json!({}))));
    let cluster = cluster(client);
    let mut world = objects().world((cluster.clock)(), &cluster.settings, allows, MachineKind::Controller);
    assert_eq!(cluster.fill(&web(), &mut world, Part::DryRuns).await, Ok(()));
    let sent = received.take().into_iter().map(|request| {
        let is_dry_run = request.query.contains("dryRun=All") || request.body["dryRun"] == json!(["All"]);
        (request.method, is_dry_run)
    });
    let mut sent: Vec<_> = sent.collect();
    sent.sort();
    let expected = ["DELETE", "POST", "POST"].map(|method| (method.to_owned(), true));
    assert_eq!(sent, expected);
}

/// The version that was let go may be too old for a watch.
#[tokio::test]
async fn version_too_old_for_a_watch_is_unknown() {
    let journal = journal("shop", "web");
    for (code, expected) in [(410, Some(LastVersion::Unknown)), (500, None)] {
        let status = json!({"kind": "Status", "status": "Failure", "code": code, "reason": "", "message": "no"});
        let event = json!({"type": "ERROR", "object": status});
        let found = answers(vec![("/statefulsets", vec![event])])
            .last_version(&web(), &journal)
            .await;
        assert_eq!(found.ok(), expected, "{code}");
    }
}
