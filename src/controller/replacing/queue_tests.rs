use std::sync::Arc;

use futures::channel::mpsc;
use kube::Client;
use kube::client::Body;
use kube::runtime::reflector::store;
use serde_json::json;

use super::{Due, LastReport, Rest, State, name_of};
use crate::controller::slim_set::SlimSet;
use crate::controller::watch::lock;
use crate::controller::{Config, lead};

fn set(resource_version: &str) -> SlimSet {
    let annotations = json!({
        "claim-rollout.io/staged": "{}", "claim-rollout.io/phase": "Complete",
        "claim-rollout.io/replace-set": "WhenComplete",
    });
    let metadata = json!({
        "name": "web", "namespace": "default", "uid": "u", "resourceVersion": resource_version,
        "annotations": annotations,
    });
    serde_json::from_value(json!({ "metadata": metadata })).unwrap()
}

#[tokio::test]
async fn refused_replacement_rests_until_a_change_or_retry() {
    let never =
        |_: axum::http::Request<Body>| std::future::pending::<Result<axum::http::Response<Body>, kube::Error>>();
    let client = Client::new(tower::service_fn(never), "default");
    let watched = (store().0, store().0);
    let (requeue, _) = mpsc::unbounded();
    let context = lead::context(
        &Config::default(),
        &client,
        &Arc::default(),
        watched,
        requeue,
        Arc::default(),
    );
    for (what, seen, now, retries, expected) in [
        ("refused a moment ago", "7", 1000, false, Due::In(300)),
        ("long ago", "7", 1300, false, Due::Now),
        ("the set has changed", "8", 1000, false, Due::In(5)),
        ("a user asks for it", "7", 1000, true, Due::Now),
    ] {
        let rest = Rest {
            resource_version: "7".to_owned(),
            attempts: 9,
            tried: 1000,
            reported: LastReport::default(),
        };
        let set = set(seen);
        lock(&context.replacements.states).insert(name_of(&set), State::Rests(rest));
        if retries {
            context.replacements.retry_now(&set);
        }
        assert_eq!(context.replacements.due(&set, now), expected, "{what}");
    }
}
