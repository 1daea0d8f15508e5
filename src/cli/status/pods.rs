//! The Pods to show: only while they wait for their PVCs or are being replaced.

use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::Pod;
use serde::Serialize;

/// The label of a Pod that names its revision.
const REVISION: &str = "controller-revision-hash";

/// A Pod of a replica.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PodStatusView {
    pub(crate) name: String,
    pub(crate) ordinal: u32,
    pub(crate) state: PodState,
}

/// The state of a Pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) enum PodState {
    /// It runs at the old revision: its claims come first, or it is below the partition.
    Waiting,
    /// It is being deleted, to be created anew.
    Terminating,
    /// It does not exist.
    Missing,
    /// It is at the new revision, and not ready.
    Starting,
    /// It is at the new revision, and ready.
    Updated,
}

impl PodState {
    /// The state in the output.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Terminating => "terminating",
            Self::Missing => "missing",
            Self::Starting => "starting",
            Self::Updated => "updated",
        }
    }
}

/// The Pods of a set, highest ordinal first; none unless one waits.
pub(crate) fn pods(set: &StatefulSet, pods: &[Pod]) -> Vec<PodStatusView> {
    let Some(spec) = &set.spec else {
        return Vec::new();
    };
    let natural = |number: Option<i32>| u32::try_from(number.unwrap_or(0)).unwrap_or(0);
    let first = natural(spec.ordinals.as_ref().and_then(|ordinals| ordinals.start));
    let replicas = natural(Some(spec.replicas.unwrap_or(1)));
    let set_name = set.metadata.name.as_deref().unwrap_or_default();
    let update = set.status.as_ref().and_then(|status| status.update_revision.as_deref());
    let views: Vec<PodStatusView> = (first..first.saturating_add(replicas))
        .rev()
        .map(|ordinal| {
            let name = format!("{set_name}-{ordinal}");
            let ours = |pod: &&Pod| pod.metadata.name.as_deref() == Some(&name) && is_of(set, pod);
            let state = pods
                .iter()
                .find(ours)
                .map_or(PodState::Missing, |pod| state(pod, update));
            PodStatusView { name, ordinal, state }
        })
        .collect();
    let behind = views.iter().any(|view| view.state == PodState::Waiting);
    if behind { views } else { Vec::new() }
}

fn is_of(set: &StatefulSet, pod: &Pod) -> bool {
    let owners = pod.metadata.owner_references.as_deref().unwrap_or_default();
    let uid = set.metadata.uid.as_deref();
    owners
        .iter()
        .any(|owner| owner.controller == Some(true) && Some(owner.uid.as_str()) == uid)
}

fn state(pod: &Pod, update: Option<&str>) -> PodState {
    if pod.metadata.deletion_timestamp.is_some() {
        return PodState::Terminating;
    }
    let revision = pod.metadata.labels.as_ref().and_then(|labels| labels.get(REVISION));
    if revision.map(String::as_str) != update {
        return PodState::Waiting;
    }
    let conditions = pod.status.as_ref().and_then(|status| status.conditions.as_deref());
    let mut conditions = conditions.unwrap_or_default().iter();
    if conditions.any(|condition| condition.type_ == "Ready" && condition.status == "True") {
        PodState::Updated
    } else {
        PodState::Starting
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::apps::v1::StatefulSet;
    use k8s_openapi::api::core::v1::Pod;
    use serde_json::json;

    use super::pods;

    fn set() -> StatefulSet {
        let set = json!({
            "metadata": {"name": "web", "uid": "u-1"},
            "spec": {"selector": {}, "template": {}, "replicas": 5, "serviceName": "web", "ordinals": {"start": 2}},
            "status": {"replicas": 5, "updateRevision": "b"},
        });
        serde_json::from_value(set).expect("a set")
    }

    fn pod(ordinal: u32, revision: &str, ready: &str) -> Pod {
        let owner =
            json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "web", "uid": "u-1", "controller": true});
        let pod = json!({
            "metadata": {"name": format!("web-{ordinal}"), "labels": {"controller-revision-hash": revision}, "ownerReferences": [owner]},
            "status": {"conditions": [{"type": "Ready", "status": ready}]},
        });
        serde_json::from_value(pod).expect("a Pod")
    }

    fn shown(all: &[Pod]) -> Vec<String> {
        let views = pods(&set(), all).into_iter();
        views
            .map(|view| format!("{} {}", view.name, view.state.as_str()))
            .collect()
    }

    #[test]
    fn pods_have_a_state_for_each_replica() {
        let mut terminating = pod(4, "a", "True");
        terminating.metadata.deletion_timestamp =
            serde_json::from_value(json!("2026-01-01T00:00:00Z")).expect("a time");
        let mut others = pod(2, "b", "True");
        others.metadata.owner_references = None;
        let all = [
            pod(6, "b", "True"),
            pod(5, "b", "False"),
            terminating,
            pod(3, "a", "True"),
            others,
        ];
        let expected = [
            "web-6 updated",
            "web-5 starting",
            "web-4 terminating",
            "web-3 waiting",
            "web-2 missing",
        ];
        assert_eq!(shown(&all), expected);
    }

    #[test]
    fn pods_are_hidden_unless_one_waits() {
        let all: Vec<Pod> = (2..7).map(|ordinal| pod(ordinal, "b", "True")).collect();
        assert_eq!(shown(&all), Vec::<String>::new());
    }
}
