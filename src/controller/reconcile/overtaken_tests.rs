//! The API server, or what it calls, answers a write as overtaken again and again, and nothing has changed: that is
//! reported, and stops nothing else.

use std::cell::Cell;
use std::sync::Arc;

use serde_json::{Value, json};

use super::left_alone_tests::{STATUS, api_server, listed_at, stalled, until_now};
use super::reconcile;
use super::tests::{growing_sent, templates};
use crate::controller::objects::set::SlimSet;
use crate::templates::{StagedChange, keys};

const CLAIMS: &str = "/api/v1/namespaces/default/persistentvolumeclaims";
const SET: &str = "PATCH /apis/apps/v1/namespaces/default/statefulsets/web";

/// The code of every answer, and the cause that is reported.
const CODES: [(u16, &str); 3] = [(409, "Conflict"), (404, "NotFound"), (410, "NotFound")];

thread_local! {
    static NOW: Cell<u64> = const { Cell::new(0) };
}

/// Two replicas whose Pods are managed in parallel. 2Gi is staged, and the progress deadline is two seconds.
fn parallel() -> SlimSet {
    let mut sent = growing_sent();
    sent["spec"]["replicas"] = 2.into();
    sent["spec"]["podManagementPolicy"] = "Parallel".into();
    sent["spec"]["updateStrategy"] = json!({"type": "RollingUpdate"});
    sent["metadata"]["annotations"][keys::PROGRESS_DEADLINE] = "2".into();
    serde_json::from_value(sent).unwrap()
}

/// The list of PVCs of this size, and with this label if they are updated.
fn claims(size: &str, label: Option<&str>) -> Value {
    let claims = [0, 1].map(|ordinal| {
        let mut metadata = json!({
            "name": format!("data-web-{ordinal}"), "namespace": "default", "uid": format!("c-{ordinal}"),
            "resourceVersion": "3", "labels": {"app": "web"},
        });
        if let Some(label) = label {
            metadata["labels"][keys::REVISION] = label.into();
        }
        json!({
            "metadata": metadata, "spec": templates(size)[0]["spec"],
            "status": {"phase": "Bound", "capacity": {"storage": size}},
        })
    });
    json!({"metadata": {"resourceVersion": "9"}, "items": claims})
}

/// The writes of a reconcile at each of these times, if this request is always answered with this code.
async fn writes_at(denied: String, code: u16, claims: Value, times: [u64; 4]) -> [Vec<(String, Value)>; 4] {
    let message = "admission webhook \"x\" denied the request: busy";
    let busy = json!({"kind": "Status", "status": "Failure", "code": code, "reason": "", "message": message});
    let (client, mut written) = api_server(move |request| match request {
        request if *request == denied => Some((code, busy.clone())),
        request if *request == format!("GET {CLAIMS}") => Some((200, claims.clone())),
        _ => None,
    });
    let set = Arc::new(parallel());
    let context = Arc::new(listed_at(|| NOW.get(), &client, &set).await);
    let mut writes = [const { Vec::new() }; 4];
    for (now, writes) in times.into_iter().zip(&mut writes) {
        NOW.set(now);
        reconcile(Arc::clone(&set), Arc::clone(&context)).await.unwrap();
        *writes = until_now(&mut written);
    }
    writes
}

fn count(writes: &[(String, Value)], of: &str) -> usize {
    writes.iter().filter(|(path, _)| path == of).count()
}

#[tokio::test]
async fn pvc_always_overtaken_is_reported_and_others_grow() {
    for (code, cause) in CODES {
        let [first, other] = [1, 0].map(|ordinal| format!("PATCH {CLAIMS}/data-web-{ordinal}"));
        let times = [1000, 1003, 1030, 1030];
        let [begun, late, denied, pause] = writes_at(first.clone(), code, claims("1Gi", None), times).await;
        for writes in [&begun, &late] {
            assert_eq!(
                (count(writes, &first), count(writes, &other)),
                (1, 0),
                "{code}: {writes:?}"
            );
        }
        assert_eq!(
            stalled(&late),
            Some(&json!("ProgressDeadlineExceeded")),
            "{code}: {late:?}"
        );
        assert_eq!(
            (count(&denied, &first), count(&denied, &other)),
            (1, 1),
            "{code}: {denied:?}"
        );
        let report = denied.iter().rfind(|(path, _)| path == STATUS);
        let claim = report.map(|(_, body)| &body["status"]["claims"][0]);
        let found = claim.map(|claim| [&claim["name"], &claim["state"], &claim["reason"]]);
        let expected = [json!("data-web-1"), json!("Refused"), json!(cause)];
        assert_eq!(found, Some(expected.each_ref()), "{code}: {denied:?}");
        let message = claim.map(|claim| claim["message"].to_string()).unwrap_or_default();
        assert!(
            message.contains(&format!("{code} admission webhook")),
            "{code}: {message}"
        );
        assert_eq!(count(&pause, &first), 0, "{code}: {pause:?}");
    }
}

/// The last write of a rollout, when every PVC is done.
#[tokio::test]
async fn set_always_overtaken_is_reported() {
    for (code, _) in CODES {
        let staged = growing_sent()["metadata"]["annotations"][keys::STAGED].take();
        let change = StagedChange::read(staged.as_str().unwrap(), "u").unwrap();
        let claims = claims("2Gi", Some(&change.label().to_string()));
        let times = [1000, 1003, 1030, 1030];
        let [begun, late, denied, pause] = writes_at(SET.to_owned(), code, claims, times).await;
        assert_eq!(
            [&begun, &late, &denied].map(|writes| count(writes, SET)),
            [1; 3],
            "{code}"
        );
        assert_eq!(stalled(&denied), Some(&json!("WriteRefused")), "{code}: {denied:?}");
        let report = denied.iter().rfind(|(path, _)| path == STATUS);
        let message = report.map(|(_, body)| body["status"]["conditions"].to_string());
        let message = message.unwrap_or_default();
        assert!(
            message.contains(&format!("{code} admission webhook")),
            "{code}: {message}"
        );
        assert_eq!(count(&pause, SET), 0, "{code}: {pause:?}");
    }
}
