use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use futures::StreamExt as _;
use futures::channel::mpsc;
use serde_json::{Value, json};

use super::{ByHand, Ended, Happened, LiveSet, Machine, MachineKind, Run, RunPlace, StartFrom, Step, cluster};
use crate::controller::fixtures::{not_done, serving};
use crate::controller::locking::lock;
use crate::replace::{FINALIZER, Journal};
use crate::rollout::fixtures::{staged_change, template};
use crate::templates::keys;

/// An API server with one StatefulSet, if it exists, and one journal.
#[derive(Default)]
struct OneSet {
    /// The uid of the namespace.
    namespace: &'static str,
    set: Option<Value>,
    journal: Option<String>,
    /// The requests that write.
    writes: Vec<String>,
    /// The answers to the first CREATEs.
    denials: Vec<(u16, Value)>,
    /// Every WATCH of StatefulSets fails.
    fails_watches: bool,
    /// Becomes true when the journal is read.
    read: Arc<AtomicBool>,
}

impl OneSet {
    fn answer(&mut self, method: &str, path: &str) -> (u16, Value) {
        let (parent, name) = path.rsplit_once('/').unwrap_or_default();
        let details = json!({"kind": parent.rsplit('/').next(), "name": name});
        let missing = (
            404,
            json!({"status": "Failure", "code": 404, "reason": "NotFound", "message": "not found", "details": details}),
        );
        if method != "GET" {
            self.writes.push(format!("{method} {path}"));
        }
        if path == "/api/v1/namespaces/shop" {
            return (200, json!({"metadata": {"name": "shop", "uid": self.namespace}}));
        }
        if path.contains("/secrets/") {
            self.read.store(true, Ordering::Release);
            let Some(journal) = self.journal.take_if(|_| method == "DELETE").or(self.journal.clone()) else {
                return missing;
            };
            let data = json!({"journal": k8s_openapi::ByteString(journal.into_bytes())});
            return (
                200,
                json!({"metadata": {"name": "j", "uid": "secret-uid", "resourceVersion": "9"}, "data": data}),
            );
        }
        match (method, path.contains("/statefulsets")) {
            ("GET", true) if self.fails_watches && path.ends_with("/statefulsets") => (
                500,
                json!({"status": "Failure", "code": 500, "reason": "InternalError", "message": "no watch"}),
            ),
            // The version is too old.
            ("GET", true) if path.ends_with("/statefulsets") => {
                let status = json!({"kind": "Status", "status": "Failure", "code": 410, "reason": "Expired"});
                (200, json!({"type": "ERROR", "object": status}))
            }
            ("GET", true) => self.set.clone().map_or(missing, |set| (200, set)),
            ("POST", true) if !self.denials.is_empty() => self.denials.remove(0),
            ("PUT", true) => self.set.take().map_or(missing, |set| (200, set)),
            ("POST", true) => {
                // The StatefulSet controller has not seen it, so that the replacement waits.
                let set = json!({
                    "apiVersion": "apps/v1", "kind": "StatefulSet",
                    "metadata": {"namespace": "shop", "name": "web", "uid": "new", "resourceVersion": "8",
                        "generation": 1, "finalizers": [FINALIZER]},
                    "spec": {"replicas": 1},
                });
                self.set = Some(set.clone());
                (201, set)
            }
            _ => missing,
        }
    }
}

/// The old set.
fn old() -> LiveSet {
    let change = staged_change(vec![template("data", "2Gi")])
        .write()
        .expect("a short text");
    LiveSet::new(json!({
        "kind": "StatefulSet",
        "metadata": {"namespace": "shop", "name": "web", "uid": "set-uid", "resourceVersion": "7",
            "annotations": {(keys::STAGED): change}, "finalizers": [FINALIZER],
            "deletionTimestamp": "2026-01-01T00:00:00Z"},
        "spec": {"replicas": 1, "volumeClaimTemplates": []},
    }))
}

/// The journal of a set that was let go.
fn journal() -> String {
    let old = old();
    let journal = Journal::prepare(&old, None, 0).expect("a staged change");
    journal
        .release(&old, Vec::new(), "ns-1", "secret-uid")
        .write()
        .expect("JSON")
}

fn by_hand(server: &Arc<Mutex<OneSet>>) -> ByHand {
    let server = Arc::clone(server);
    ByHand::new(
        serving(move |request| Some(lock(&server).answer(&request.method, &request.path))),
        crate::api::Settings::default(),
        "claim-rollout".to_owned(),
        ("shop", "web"),
    )
}

#[tokio::test]
async fn stop_waits_until_the_set_is_created() {
    let exists = json!({"status": "Failure", "code": 409, "reason": "AlreadyExists", "message": "exists"});
    let server = Arc::new(Mutex::new(OneSet {
        namespace: "ns-1",
        journal: Some(journal()),
        denials: vec![(409, exists.clone()), (409, exists)],
        ..OneSet::default()
    }));
    let by_hand = by_hand(&server);
    let check = by_hand.check().await.expect("a decision");
    assert!(
        matches!(
            (&check.set, check.has_begun, &check.step),
            (None, true, Step::Create(_))
        ),
        "{check:?}"
    );
    assert_eq!(lock(&server).writes, [""; 0], "a check writes nothing");

    let stopping = AtomicBool::new(false);
    let mut happened = Vec::new();
    let ended = by_hand.run(&stopping, |what| {
        // The user presses Ctrl-C before the first CREATE is answered.
        stopping.store(true, Ordering::Release);
        happened.push(what);
    });
    assert_eq!(ended.await, Ended::Stopped);
    happened.retain(|what| !matches!(what, Happened::Stalled(_)));
    assert_eq!(happened, vec![Happened::Step("Create"); 3]);
    let create = "POST /apis/apps/v1/namespaces/shop/statefulsets";
    assert_eq!(lock(&server).writes, [create; 3], "nothing is written after the CREATE");
}

fn of_controller(by_hand: &ByHand) -> Machine<'_> {
    let settings = &by_hand.cluster.settings;
    Machine::new(settings, cluster::allows, MachineKind::Controller, StartFrom::Nothing)
}

/// The next controller goes on with an absent set at once. So this one tries once more, and not for ever.
#[tokio::test]
async fn controller_that_stops_creates_the_absent_set_first() {
    let exists = json!({"status": "Failure", "code": 409, "reason": "AlreadyExists", "message": "exists"});
    for (what, denials) in [
        ("it is created", Vec::new()),
        ("the CREATE is not accepted", vec![(409, exists)]),
    ] {
        let read = Arc::new(AtomicBool::new(false));
        let server = Arc::new(Mutex::new(OneSet {
            namespace: "ns-1",
            journal: Some(journal()),
            denials,
            read: Arc::clone(&read),
            ..OneSet::default()
        }));
        let by_hand = by_hand(&server);
        let (notices, _noticed) = mpsc::unbounded();
        let run = Run {
            cluster: &by_hand.cluster,
            set: &by_hand.set,
            // It is to stop as soon as it has seen that the set is absent.
            stopping: &read,
            notices: &notices,
            place: RunPlace::by_hand(),
            machine: of_controller(&by_hand),
        };
        assert_eq!(run.run().await, (None, Ended::Stopped), "{what}");
        let create = "POST /apis/apps/v1/namespaces/shop/statefulsets";
        assert_eq!(lock(&server).writes, [create], "{what}");
    }
}

/// The namespace was deleted, and created again.
#[tokio::test]
async fn set_of_a_deleted_namespace_is_not_created() {
    let server = Arc::new(Mutex::new(OneSet {
        namespace: "ns-2",
        journal: Some(journal()),
        ..OneSet::default()
    }));
    let ended = by_hand(&server).run(&AtomicBool::new(false), |_| {}).await;
    assert!(
        matches!(&ended, Ended::Absent(fault) if fault.reason.as_str() == "SetAbsent"),
        "{ended:?}"
    );
    let writes = &lock(&server).writes;
    assert!(
        matches!(&writes[..], [write] if write.starts_with("DELETE /api/v1/namespaces/claim-rollout/secrets/")),
        "{writes:?}"
    );
}

/// The DELETED event cannot be had: the set is created as it was read last.
#[tokio::test]
async fn set_is_created_although_no_watch_succeeds() {
    let server = Arc::new(Mutex::new(OneSet {
        namespace: "ns-1",
        journal: Some(journal()),
        fails_watches: true,
        ..OneSet::default()
    }));
    let stopping = AtomicBool::new(false);
    let by_hand = by_hand(&server);
    let ended = by_hand.run(&stopping, |what| {
        let is_create = what == Happened::Step("Create");
        stopping.store(is_create, Ordering::Release);
    });
    assert_eq!(ended.await, Ended::Stopped);
    let create = "POST /apis/apps/v1/namespaces/shop/statefulsets";
    assert_eq!(lock(&server).writes, [create]);
}

/// While the namespace is there, no answer ends the replacement: the set is created when it is allowed, and until then
/// the journal is kept and the denial reported.
#[tokio::test]
async fn create_denied_with_any_code_is_tried_again() {
    let all = not_done().into_iter().map(async |denial| {
        let server = Arc::new(Mutex::new(OneSet {
            namespace: "ns-1",
            journal: Some(journal()),
            denials: vec![denial.clone(); 5],
            ..OneSet::default()
        }));
        let stopping = AtomicBool::new(false);
        let mut stalled = 0;
        let by_hand = by_hand(&server);
        let ended = by_hand.run(&stopping, |what| {
            stopping.store(true, Ordering::Release);
            stalled += u32::from(matches!(what, Happened::Stalled(_)));
        });
        let ended = ended.await;
        assert_eq!(ended, Ended::Stopped, "{denial:?}");
        let server = lock(&server);
        let create = "POST /apis/apps/v1/namespaces/shop/statefulsets";
        assert_eq!(server.writes, [create; 6], "{denial:?}");
        assert!(server.set.is_some() && server.journal.is_some(), "{denial:?}");
        assert!(stalled > 0, "{denial:?}");
    });
    futures::future::join_all(all).await;
}

/// A controller that is stopped just when it has let the set go creates it first.
#[tokio::test]
async fn controller_stopped_in_the_gap_creates_the_set() {
    let server = Arc::new(Mutex::new(OneSet {
        namespace: "ns-1",
        set: Some(old().object().clone()),
        journal: Some(journal()),
        ..OneSet::default()
    }));
    let by_hand = by_hand(&server);
    let stopping = AtomicBool::new(false);
    let (notices, mut noticed) = mpsc::unbounded();
    let run = Run {
        cluster: &by_hand.cluster,
        set: &by_hand.set,
        stopping: &stopping,
        notices: &notices,
        place: RunPlace::by_hand(),
        machine: of_controller(&by_hand),
    };
    let stop = async {
        while let Some(notice) = noticed.next().await {
            if notice.what == Happened::Step("LetGo") {
                stopping.store(true, Ordering::Release);
                break;
            }
        }
    };
    let ((_, ended), ()) = tokio::join!(run.run(), stop);
    assert_eq!(ended, Ended::Stopped);
    let server = lock(&server);
    let path = "/apis/apps/v1/namespaces/shop/statefulsets";
    assert_eq!(server.writes, [format!("PUT {path}/web"), format!("POST {path}")]);
    assert_eq!(
        server.set.as_ref().map(|set| &set["metadata"]["uid"]),
        Some(&json!("new"))
    );
}
