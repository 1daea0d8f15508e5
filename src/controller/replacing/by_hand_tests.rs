use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use super::{ByHand, Ended, Happened, LiveSet, Step};
use crate::controller::fixtures::serving;
use crate::controller::locking::lock;
use crate::replace::{FINALIZER, Journal};
use crate::rollout::fixtures::{staged_change, template};
use crate::templates::keys;

/// An API server with one StatefulSet, if it exists, and one journal.
#[derive(Default)]
struct OneSet {
    set: Option<Value>,
    journal: Option<String>,
    /// The requests that write.
    writes: Vec<String>,
    /// The answers to the first CREATEs.
    denials: Vec<(u16, Value)>,
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
            return (200, json!({"metadata": {"name": "shop", "uid": "ns-1"}}));
        }
        if path.contains("/secrets/") {
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
            // The version is too old.
            ("GET", true) if path.ends_with("/statefulsets") => {
                let status = json!({"kind": "Status", "status": "Failure", "code": 410, "reason": "Expired"});
                (200, json!({"type": "ERROR", "object": status}))
            }
            ("GET", true) => self.set.clone().map_or(missing, |set| (200, set)),
            ("POST", true) if !self.denials.is_empty() => self.denials.remove(0),
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
