use super::ControllerMetrics;
use crate::api::ReadyReason;
use crate::api::reasons::Kind;
use crate::controller::metrics::states::StateCounts;

#[test]
fn text_contains_what_was_counted() {
    let metrics = ControllerMetrics::default();
    metrics.claim_write("done");
    metrics.request("patch").answered(Some(200));
    metrics.request("patch").answered(Some(429));
    drop(metrics.request("read"));
    let watch = metrics.watch("pods");
    let (unread, ended) = (metrics.unreadable("pods"), metrics.unreadable("pods"));
    unread.set(5);
    unread.set(2);
    ended.set(3);
    drop(ended);
    drop(metrics.watch("pods"));
    metrics.leads(true);
    let mut counts = StateCounts::default();
    (counts.rollouts[1], counts.claims[0], counts.standstill) = (2, 3, 4);
    metrics.set_states(&counts);
    let text = metrics.text().unwrap();
    drop(watch);
    for line in [
        "claim_rollout_claim_writes_total{outcome=\"done\"} 1",
        "claim_rollout_claim_writes_total{outcome=\"refused\"} 0",
        "claim_rollout_request_seconds_count{verb=\"patch\"} 2",
        "claim_rollout_request_failures_total{cause=\"too_many_requests\"} 1",
        "claim_rollout_request_failures_total{cause=\"unanswered\"} 1",
        "claim_rollout_request_failures_total{cause=\"server_error\"} 0",
        "claim_rollout_watches{resource=\"pods\"} 1",
        "claim_rollout_unreadable_objects{resource=\"pods\"} 2",
        "claim_rollout_leader 1",
        "claim_rollout_rollouts{state=\"Complete\"} 2",
        "claim_rollout_rollouts{state=\"Paused\"} 0",
        "claim_rollout_claims{state=\"Pending\"} 3",
        "claim_rollout_longest_standstill_seconds 4",
    ] {
        assert!(
            text.lines().any(|found| found == line),
            "expected {line}, but found\n{text}"
        );
    }
}

/// Each reason of a stalled rollout is in the alert, and in the troubleshooting page with what to do.
#[test]
fn stalled_reasons_are_documented_and_alerted() {
    let text = |path: &str| std::fs::read_to_string(format!("{}/{path}", env!("CARGO_MANIFEST_DIR"))).unwrap();
    let stalled = ReadyReason::ALL
        .into_iter()
        .filter(|reason| reason.kind() == Kind::Stalled);
    let names: Vec<&str> = stalled.map(ReadyReason::as_str).collect();
    let alert = format!("state=~\"{}\"", names.join("|"));
    assert!(
        text("charts/claim-rollout/templates/monitoring.yaml").contains(&alert),
        "{alert}"
    );
    assert!(text("docs/metrics.md").contains(&alert.replace('|', "\\|")), "{alert}");
    let troubleshooting = text("docs/troubleshooting.md");
    for name in names {
        assert!(troubleshooting.contains(&format!("| `{name}` |")), "{name}");
    }
}
