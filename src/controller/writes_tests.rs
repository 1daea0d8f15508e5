use std::cell::Cell;

use kube::Client;
use kube::client::Body;
use kube::runtime::reflector::store;
use serde_json::json;

use super::{Context, RoundOutcome, SlimSet};
use crate::controller::fixtures;
use crate::rollout::fixtures::{apply, complete, web};
use crate::rollout::{Action, Refusal};

thread_local! {
    static NOW: Cell<u64> = const { Cell::new(0) };
}

/// A context whose API server answers every request like this.
fn answering(code: u16, message: &str) -> Context {
    let body = json!({"kind": "Status", "status": "Failure", "code": code, "reason": "", "message": message});
    let body = body.to_string().into_bytes();
    let answer = move |_: axum::http::Request<Body>| {
        let response = axum::http::Response::builder().status(code);
        let response = response.body(Body::from(body.clone()));
        std::future::ready(Ok::<_, kube::Error>(response.expect("a response")))
    };
    let client = Client::new(tower::service_fn(answer), "default");
    Context {
        clock: || NOW.get(),
        ..fixtures::context(&client, (store().0, store().0))
    }
}

fn set() -> SlimSet {
    let metadata = json!({"name": "web", "namespace": "default", "uid": "set-uid", "resourceVersion": "100"});
    serde_json::from_value(json!({ "metadata": metadata })).expect("a set")
}

fn denials(context: &Context) -> Vec<Refusal> {
    let denials = context.remembered(&set(), |memory| memory.denials.values().cloned().collect());
    denials.unwrap_or_default()
}

const WEBHOOK: &str = "admission webhook \"x\" denied the request: no";

/// The code of every answer, and the cause that is reported.
const CODES: [(u16, &str); 3] = [(409, "Conflict"), (404, "NotFound"), (410, "NotFound")];

#[tokio::test]
async fn apply_overtaken_again_and_again_is_denied() {
    for (code, cause) in CODES {
        let context = answering(code, WEBHOOK);
        let Action::ApplyClaim(first) = apply(&web(), 2) else {
            unreachable!()
        };
        let execute = async |apply: &_| {
            context
                .execute(&set(), &Action::ApplyClaim(Clone::clone(apply)))
                .await
                .unwrap()
        };
        for (now, expected) in [(1000, RoundOutcome::Overtaken), (1029, RoundOutcome::Overtaken)] {
            NOW.set(now);
            assert_eq!(
                (execute(&first).await, denials(&context)),
                (expected, Vec::new()),
                "{code} at {now}"
            );
        }
        // The watch shows another version: the object was overtaken.
        let mut second = first.clone();
        "8".clone_into(&mut second.resource_version);
        NOW.set(1030);
        assert_eq!(execute(&second).await, RoundOutcome::Overtaken, "{code}");
        for (now, attempts) in [(1060, 1), (1061, 2)] {
            NOW.set(now);
            assert_eq!(execute(&second).await, RoundOutcome::DecideAgain, "{code} at {now}");
            let expected = Refusal {
                label: second.label.clone(),
                resource_version: "8".to_owned(),
                cause: cause.to_owned(),
                message: format!("{code} {WEBHOOK}"),
                attempts,
                last: now,
            };
            assert_eq!(denials(&context), [expected], "{code} at {now}");
        }
    }
}

#[tokio::test]
async fn each_claim_is_overtaken_for_itself() {
    let context = answering(409, WEBHOOK);
    for now in [1000, 1010, 1020, 1030] {
        NOW.set(now);
        for ordinal in [2, 1] {
            context.execute(&set(), &apply(&web(), ordinal)).await.unwrap();
        }
    }
    assert_eq!(denials(&context).len(), 2);
}

#[tokio::test]
async fn patch_of_the_set_overtaken_again_and_again_is_denied() {
    for (code, _) in CODES {
        let context = answering(code, WEBHOOK);
        let action = complete(&web());
        for now in [1000, 1029] {
            NOW.set(now);
            let outcome = context.execute(&set(), &action).await.unwrap();
            assert_eq!(outcome, RoundOutcome::Overtaken, "{code} at {now}");
            assert_eq!(context.write_denied(&set()), None, "{code} at {now}");
        }
        NOW.set(1030);
        assert_eq!(
            context.execute(&set(), &action).await.unwrap(),
            RoundOutcome::DecideAgain,
            "{code}"
        );
        let expected = Some((format!("{code} {WEBHOOK}"), 1031));
        assert_eq!(context.write_denied(&set()), expected, "{code}");
    }
}

#[tokio::test]
async fn write_overtaken_for_seconds_is_late() {
    let context = answering(409, "");
    let is_late = |now| {
        context
            .remembered(&set(), |memory| memory.is_late(now))
            .unwrap_or_default()
    };
    assert!(!is_late(1000), "nothing was written");
    NOW.set(1000);
    context.execute(&set(), &apply(&web(), 2)).await.unwrap();
    assert_eq!([1000, 1002, 1003].map(is_late), [false, false, true]);
}

/// Only writes count, not failures of other requests.
#[tokio::test]
async fn write_without_answer_is_denied_after_a_minute() {
    let context = answering(500, "no");
    context.remember(&set(), |memory| memory.failures = 9);
    for attempt in 1..=7 {
        let outcome = context.execute(&set(), &apply(&web(), 2)).await;
        assert_eq!(outcome.is_ok(), attempt == 7, "{attempt}");
    }
    let causes: Vec<String> = denials(&context).into_iter().map(|denial| denial.cause).collect();
    assert_eq!(causes, [Refusal::NOT_ANSWERED]);
    assert!(context.execute(&set(), &apply(&web(), 1)).await.is_ok(), "another PVC");
    let causes: Vec<String> = denials(&context).into_iter().map(|denial| denial.cause).collect();
    assert_eq!(causes, [Refusal::NOT_ANSWERED; 2]);
}
