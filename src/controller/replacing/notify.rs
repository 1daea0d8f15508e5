//! Reports a replacement: status, Events, metrics.

use kube::api::{Api, Patch};
use kube::runtime::reflector::ObjectRef;
use serde_json::{Value, json};

use super::cluster::SetName;
use super::queue::{LastReport, Replacements};
use crate::api::{ApiOutcome, ReplacementPhase as Phase, ReplacementReason};
use crate::controller::calls::api_calls::{call, merge};
use crate::controller::clock::timestamp;
use crate::controller::crd::ReplacementStatus;
use crate::controller::objects::rollout::SlimRollout;
use crate::controller::objects::set_kind::SetKind;
use crate::controller::report::events;
use crate::replace::step::MARK;
use crate::replace::{Ended, Fault, Happened, Notice};
use crate::rollout::{EventNotice, Reason};

/// Why `whenDeleted` is not what it was before.
pub(crate) const RETAINED: &str = "somebody set whenDeleted to Retain while the StatefulSet was replaced, so it stays Retain: PVCs are kept when \
                        the StatefulSet is deleted";

impl Replacements {
    /// Reports one notice of a replacement.
    pub(super) async fn notify(&self, set: &SetName, reported: &mut LastReport, notice: Notice) {
        let uid = notice.uid.unwrap_or_default();
        let metrics = self.caller.metrics.replacements();
        metrics.set_is_absent(&set.namespace, &set.name, notice.is_absent);
        match notice.what {
            Happened::Step(step) => self.notify_step(set, reported, step, notice.replicas).await,
            Happened::Absent(time) => self.caller.metrics.replacements().absent(time.as_secs_f64()),
            Happened::Waits(fault) => self.notify_fault(set, reported, Phase::Refused, &uid, fault).await,
            Happened::Retained => self.publish(set, &uid, Reason::RetentionKept, RETAINED).await,
            Happened::Stalled(fault) => {
                self.caller.metrics.replacements().stalled();
                self.notify_fault(set, reported, Phase::Stalled, &uid, fault).await;
            }
            Happened::Ended(ended) => self.notify_end(set, reported, &uid, ended).await,
        }
    }

    /// Reports that the replacement has begun, at the step after which the guard denies a DELETE of others. It denies a
    /// CREATE of others with fewer replicas than are reported, so they are reported again when they change.
    async fn notify_step(&self, set: &SetName, reported: &mut LastReport, step: &str, replicas: Option<i64>) {
        let differ = replicas.is_some() && replicas != reported.replicas;
        if step == MARK || differ {
            let before = reported.replicas;
            (reported.phase, reported.replicas) = (Some(Phase::InProgress), replicas);
            if !self.write_replacement(set, reported, Some(step), None).await {
                // The next step reports them.
                reported.replicas = before;
            }
        }
    }

    /// The replicas in the last report that was seen.
    pub(super) fn reported_replicas(&self, set: &SetName) -> Option<i64> {
        let seen = self.rollouts.get(&ObjectRef::new(&set.name).within(&set.namespace))?;
        seen.read()?.status?.replacement?.replicas
    }

    async fn notify_end(&self, set: &SetName, reported: &mut LastReport, uid: &str, ended: Ended) {
        self.caller.metrics.replacements().ended(label(&ended));
        // Another controller goes on, and the guard still needs them.
        let denied_fewer = ended != Ended::Stopped && reported.replicas.take().is_some();
        match ended {
            Ended::Nothing if denied_fewer => {
                self.patch_replacement(set, &json!({ "replicas": null })).await;
            }
            Ended::Nothing | Ended::Stopped => {}
            Ended::Replaced => {
                let message = "the StatefulSet has the desired volumeClaimTemplates; its Pods and PVCs are the same";
                reported.phase = Some(Phase::Replaced);
                self.write_replacement(set, reported, None, None).await;
                self.publish(set, uid, Reason::StatefulSetReplaced, message).await;
            }
            Ended::Refused(fault) => self.notify_fault(set, reported, Phase::Refused, uid, fault).await,
            Ended::Foreign(fault) | Ended::Absent(fault) => {
                self.notify_fault(set, reported, Phase::Stalled, uid, fault).await;
            }
        }
    }

    /// Reports a fault, once. A StatefulSet that is too young is replaced by itself within a minute, which is no Event.
    async fn notify_fault(&self, set: &SetName, reported: &mut LastReport, phase: Phase, uid: &str, fault: Fault) {
        if reported.phase == Some(phase) && reported.fault.as_ref() == Some(&fault) {
            return;
        }
        let message = format!("{}: {}", fault.reason, fault.message);
        reported.phase = Some(phase);
        self.write_replacement(set, reported, None, Some(&fault)).await;
        if fault.reason != ReplacementReason::TooYoung {
            tracing::warn!(
                namespace = set.namespace,
                set = set.name,
                message,
                "StatefulSet is not replaced"
            );
            self.publish(set, uid, Reason::StatefulSetNotReplaced, &message).await;
        }
        reported.fault = Some(fault);
    }

    /// Writes `status.replacement`. Returns whether it was written.
    async fn write_replacement(
        &self,
        set: &SetName,
        report: &LastReport,
        step: Option<&str>,
        fault: Option<&Fault>,
    ) -> bool {
        let replacement = ReplacementStatus {
            phase: report.phase.map_or_else(String::new, |phase| phase.to_string()),
            step: step.map(str::to_owned),
            reason: fault.map(|fault| fault.reason.as_str().to_owned()),
            message: fault.map(|fault| fault.message.clone()),
            replicas: report.replicas,
            since: k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(timestamp(self.caller.now())),
        };
        self.patch_replacement(set, &json!(replacement)).await
    }

    /// Patches `status.replacement`. It is a report: if it cannot be written, the replacement goes on.
    async fn patch_replacement(&self, set: &SetName, replacement: &Value) -> bool {
        let body = json!({ "status": { "replacement": replacement } });
        let rollouts: Api<SlimRollout> = self.caller.namespaced(&set.namespace);
        let written = call(rollouts.patch_status(&set.name, &merge(), &Patch::Merge(&body))).await;
        if let ApiOutcome::Denied { message: why, .. } | ApiOutcome::Unsure { why, .. } = &written {
            tracing::warn!(
                namespace = set.namespace,
                set = set.name,
                why,
                "failed to report a replacement"
            );
        }
        matches!(written, ApiOutcome::Done(_))
    }

    async fn publish(&self, set: &SetName, uid: &str, reason: Reason, message: &str) {
        let notice = EventNotice::of_set(uid, reason, message);
        let on = (SetKind::Apps, &*set.namespace, &*set.name);
        events::emit_on(&self.caller, on, &notice).await;
    }
}

/// The value of the metric label `outcome`.
fn label(ended: &Ended) -> &'static str {
    match ended {
        Ended::Replaced => "replaced",
        Ended::Nothing => "nothing",
        Ended::Refused(_) => "refused",
        Ended::Foreign(_) => "foreign",
        Ended::Absent(_) => "absent",
        Ended::Stopped => "stopped",
    }
}

#[cfg(test)]
mod tests {
    use kube::runtime::reflector::store;
    use serde_json::json;

    use super::{Fault, LastReport, Phase, ReplacementReason, SetName};
    use crate::controller::fixtures;

    /// Each of them is a write to the ClaimRollout and an Event.
    #[tokio::test]
    async fn fault_is_reported_again_only_if_it_changes() {
        let (client, written) = fixtures::recording(|_| Some((200, json!({}))));
        let context = fixtures::context(&client, (store().0, store().0));
        let mut reported = LastReport::default();
        for (what, phase, reason, message, expected) in [
            ("the first", Phase::Refused, ReplacementReason::PodNotReady, "web-1", 2),
            ("the same", Phase::Refused, ReplacementReason::PodNotReady, "web-1", 0),
            (
                "of another Pod",
                Phase::Refused,
                ReplacementReason::PodNotReady,
                "web-0",
                2,
            ),
            (
                "in another phase",
                Phase::Stalled,
                ReplacementReason::PodNotReady,
                "web-0",
                2,
            ),
            (
                "it ends by itself soon",
                Phase::Refused,
                ReplacementReason::TooYoung,
                "",
                1,
            ),
            ("it still does", Phase::Refused, ReplacementReason::TooYoung, "", 0),
        ] {
            let message = message.to_owned();
            let fault = Fault { reason, message };
            let set = SetName::new("shop", "web");
            context
                .replacements
                .notify_fault(&set, &mut reported, phase, "u", fault)
                .await;
            assert_eq!(written.take().len(), expected, "{what}");
        }
    }
}
