//! Reports a replacement: status, Events, metrics.

use kube::api::{Api, Patch};
use serde_json::{Value, json};

use super::super::api_calls::{ApiOutcome, call, merge};
use super::super::context::Context;
use super::super::crd::{ClaimRollout, IN_PROGRESS, REPLACED, ReplacementStatus};
use super::super::{events, timestamp};
use super::cluster::SetName;
use super::queue::LastReport;
use super::run::{Ended, Happened, Notice};
use crate::replace::Fault;
use crate::rollout::{EventNotice, Reason};

/// The other values of `status.replacement.phase`.
const STALLED: &str = "Stalled";
const REFUSED: &str = "Refused";

impl Context {
    /// Reports one notice of a replacement.
    pub(super) async fn notify(&self, set: &SetName, reported: &mut LastReport, notice: Notice) {
        let uid = notice.uid.unwrap_or_default();
        match notice.what {
            // The step after which a DELETE of others is denied.
            Happened::Step(step @ "Mark") => {
                reported.phase = IN_PROGRESS;
                self.write_replacement(set, IN_PROGRESS, Some(step), None).await;
            }
            Happened::Step(_) => {}
            Happened::Absent(time) => self.metrics.replacements().absent(time.as_secs_f64()),
            Happened::Stalled(fault) => {
                self.metrics.replacements().stalled();
                self.notify_fault(set, reported, STALLED, &uid, fault).await;
            }
            Happened::Ended(ended) => self.notify_end(set, reported, &uid, ended).await,
        }
    }

    async fn notify_end(&self, set: &SetName, reported: &mut LastReport, uid: &str, ended: Ended) {
        self.metrics.replacements().ended(label(&ended));
        match ended {
            Ended::Nothing | Ended::Stopped => {}
            Ended::Replaced => {
                let message = "the StatefulSet has the desired volumeClaimTemplates; its Pods and PVCs are the same";
                self.write_replacement(set, REPLACED, None, None).await;
                self.publish(set, uid, Reason::StatefulSetReplaced, message).await;
            }
            Ended::Refused(fault) => self.notify_fault(set, reported, REFUSED, uid, fault).await,
            Ended::Foreign(fault) => self.notify_fault(set, reported, STALLED, uid, fault).await,
        }
    }

    /// Reports a fault, once.
    async fn notify_fault(
        &self,
        set: &SetName,
        reported: &mut LastReport,
        phase: &'static str,
        uid: &str,
        fault: Fault,
    ) {
        if reported.phase == phase && reported.fault.as_ref() == Some(&fault) {
            return;
        }
        let message = format!("{}: {}", fault.reason, fault.message);
        tracing::warn!(
            namespace = set.namespace,
            set = set.name,
            message,
            "StatefulSet is not replaced"
        );
        self.write_replacement(set, phase, None, Some(&fault)).await;
        self.publish(set, uid, Reason::StatefulSetNotReplaced, &message).await;
        (reported.phase, reported.fault) = (phase, Some(fault));
    }

    /// Writes `status.replacement`. It is a report: if it cannot be written, the replacement goes on.
    async fn write_replacement(&self, set: &SetName, phase: &str, step: Option<&str>, fault: Option<&Fault>) {
        let replacement = ReplacementStatus {
            phase: phase.to_owned(),
            step: step.map(str::to_owned),
            reason: fault.map(|fault| fault.reason.as_str().to_owned()),
            message: fault.map(|fault| fault.message.clone()),
            since: k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(timestamp((self.clock)())),
        };
        let body: Value = json!({ "status": { "replacement": replacement } });
        let rollouts: Api<ClaimRollout> = Api::namespaced(self.client.clone(), &set.namespace);
        let written = call(rollouts.patch_status(&set.name, &merge(), &Patch::Merge(&body))).await;
        if let ApiOutcome::Denied { message: why, .. } | ApiOutcome::Unsure { why, .. } = written {
            tracing::warn!(
                namespace = set.namespace,
                set = set.name,
                why,
                "failed to report a replacement"
            );
        }
    }

    async fn publish(&self, set: &SetName, uid: &str, reason: Reason, message: &str) {
        let notice = EventNotice {
            set_uid: uid.to_owned(),
            claim: None,
            reason,
            message: message.to_owned(),
        };
        let on = (&*set.namespace, &*set.name);
        events::publish_on(&self.client, &self.metrics, self.clock, on, &notice).await;
    }
}

/// The value of the metric label `outcome`.
fn label(ended: &Ended) -> &'static str {
    match ended {
        Ended::Replaced => "replaced",
        Ended::Nothing => "nothing",
        Ended::Refused(_) => "refused",
        Ended::Foreign(_) => "foreign",
        Ended::Stopped => "stopped",
    }
}
