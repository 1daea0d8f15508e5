//! The old set as it was when the API server deleted it.

use std::pin::pin;
use std::time::Duration;

use futures::StreamExt;
use kube::api::{Request, WatchEvent, WatchParams};
use serde_json::Value;

use super::cluster::{Cluster, SetName, sets_path};
use crate::api::ApiOutcome;
use crate::controller::calls::api_calls::{call, outcome_of};
use crate::replace::{Journal, LastVersion, LiveSet};

/// The longest wait for the event, in seconds. The API server has it before it answers that the object was deleted.
const PATIENCE: u32 = 3;

impl Cluster {
    /// Reads the DELETED event of the old set, by a watch from the version in the journal. The API server keeps events
    /// for minutes, so a process that starts after a crash finds it, too.
    ///
    /// # Errors
    /// The message of a failure that may end by itself.
    pub(super) async fn last_version(&self, set: &SetName, journal: &Journal) -> Result<LastVersion, String> {
        let params = WatchParams::default()
            .fields(&format!("metadata.name={}", set.name))
            .timeout(PATIENCE);
        let old = journal.old();
        let request = Request::new(sets_path(&set.namespace)).watch(&params, old.resource_version());
        let request = request.map_err(|error| error.to_string())?;
        let events = match call(self.client.request_events::<Value>(request)).await {
            ApiOutcome::Done(events) => events,
            other => return failed(set, &other),
        };
        let mut events = pin!(events);
        let deleted = async {
            while let Some(event) = events.next().await {
                match event {
                    Ok(WatchEvent::Deleted(object)) => {
                        let last = LiveSet::new(object);
                        if last.uid() == old.uid() {
                            return Ok(LastVersion::Seen(last));
                        }
                    }
                    Ok(WatchEvent::Error(status)) | Err(kube::Error::Api(status)) => {
                        // The version is too old.
                        if status.code == 410 {
                            return Ok(unknown(set, &status.message));
                        }
                        return failed(set, &outcome_of::<()>(&status));
                    }
                    Ok(_) => {}
                    Err(error) => return Err(format!("failed to watch the StatefulSet: {error}")),
                }
            }
            Ok(unknown(set, "the watch has ended"))
        };
        match tokio::time::timeout(Duration::from_secs(PATIENCE.into()), deleted).await {
            Ok(found) => found,
            Err(_) => Ok(unknown(set, "no event")),
        }
    }
}

/// Without the right to watch, the event stays unknown. Everything else may end by itself, a 404 of a proxy too.
fn failed<T>(set: &SetName, outcome: &ApiOutcome<T>) -> Result<LastVersion, String> {
    match outcome {
        ApiOutcome::Denied { message, .. } => Ok(unknown(set, message)),
        ApiOutcome::Unsure { why, .. } => Err(format!("failed to watch the StatefulSet: {why}")),
        other => Err(format!("failed to watch the StatefulSet: {}", other.as_str())),
    }
}

fn unknown(set: &SetName, why: &str) -> LastVersion {
    tracing::warn!(
        namespace = set.namespace,
        set = set.name,
        why,
        "the DELETED event of the StatefulSet is not known: it is created as it was read last"
    );
    LastVersion::Unknown
}
