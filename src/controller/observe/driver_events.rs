//! Reads the last Event of the resizer or the kubelet about a slow PVC, to report the cause.
//!
//! [`claim_events`](crate::rollout::machine::claim_events) decides which ones are read, and when.
//!
//! The API server does not cache Events: each list reads all Events of the namespace from etcd, whatever the
//! selector. So the controller lists them at most twelve times a minute in total, for one PVC in each reconcile.

use k8s_openapi::api::core::v1::Event;
use kube::Client;
use kube::api::{Api, ListParams};

use crate::api::{ApiOutcome, Seconds};
use crate::controller::calls::api_calls::{call, shorten};
use crate::controller::crd::ClaimRollout;
use crate::rollout::ClaimProgress;

/// The maximum number of Events of a read. Each cause has one Event, which expires after an hour.
const MAX_EVENTS: u32 = 50;

/// The message of the latest Event about the PVC of this uid, if there is one.
pub(crate) async fn read(client: &Client, namespace: &str, uid: &str) -> Option<String> {
    let events: Api<Event> = Api::namespaced(client.clone(), namespace);
    let params = ListParams::default()
        .fields(&format!("involvedObject.uid={uid},type=Warning"))
        .limit(MAX_EVENTS);
    match call(events.list(&params)).await {
        ApiOutcome::Done(listed) => latest(&listed.items),
        other => {
            tracing::debug!(uid, outcome = other.as_str(), "failed to list the Events of a PVC");
            None
        }
    }
}

/// Since when the report has had the PVC in its present state.
pub(crate) fn since(report: Option<&ClaimRollout>, claim: &ClaimProgress) -> Option<Seconds> {
    let mut claims = report?.status.as_ref()?.claims.iter();
    let known = claims.find(|known| known.name == claim.name && known.state == claim.state.as_str())?;
    u64::try_from(known.since.0.as_second()).ok()
}

/// The latest reason and message, without Events of this controller.
fn latest(events: &[Event]) -> Option<String> {
    let time = |event: &Event| {
        let series = event
            .series
            .as_ref()
            .and_then(|series| series.last_observed_time.as_ref());
        let observed = series.or(event.event_time.as_ref()).map(|time| time.0);
        event.last_timestamp.as_ref().map(|time| time.0).max(observed)
    };
    let others = events
        .iter()
        .filter(|event| event.reporting_component.as_deref() != Some(crate::controller::report::events::REPORTER));
    let event = others.max_by_key(|event| time(event))?;
    let (reason, message) = (event.reason.as_deref()?, event.message.as_deref()?);
    Some(shorten(&format!("{reason}: {message}")))
}

#[cfg(test)]
#[path = "driver_events_tests.rs"]
mod tests;
