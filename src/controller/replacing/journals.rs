//! Reports journals that are refused, as long as they are there.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::Secret;
use kube::ResourceExt;

use super::queue::Replacements;
use crate::api::{ApiOutcome, ReplacementReason};
use crate::controller::report::events;
use crate::rollout::{EventNotice, Reason};

/// The pause between two reports. The API server keeps an Event for an hour by default.
const PAUSE: Duration = Duration::from_secs(300);

impl Replacements {
    /// Reports the journals that cannot be read or that a backup brought back, again and again.
    pub(crate) async fn report_refused_journals(self: Arc<Self>) {
        loop {
            if let ApiOutcome::Done(refused) = self.cluster.refused_journals().await {
                self.caller.metrics.replacements().refused_journals(refused.len());
                for (secret, why) in &refused {
                    self.report_refused_journal(secret, why).await;
                }
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    async fn report_refused_journal(&self, secret: &Secret, why: &str) {
        let (namespace, name) = (&*self.cluster.journals, secret.name_any());
        let message = format!(
            "{}: the journal of a replacement is refused: {why}. Nothing is created or scaled from it. If the \
             StatefulSet in it exists as it should be, delete this Secret",
            ReplacementReason::JournalRefused
        );
        tracing::error!(namespace, secret = name, message, "refused a journal");
        let notice = EventNotice::of_set("", Reason::StatefulSetNotReplaced, message);
        let uid = secret.uid().unwrap_or_default();
        let on = events::reference("v1", "Secret", namespace, &name, &uid);
        events::emit_about(&self.caller, (on, None), &notice).await;
    }
}
