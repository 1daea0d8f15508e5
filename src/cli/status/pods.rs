//! The Pods to show: only while they wait for their PVCs or are being replaced.

use serde::Serialize;

use crate::gate::SetView;
use crate::rollout::PodView;
use crate::rollout::assessment::At;

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
    /// The state in text for people.
    pub(crate) fn text(self) -> String {
        format!("{self:?}").to_lowercase()
    }
}

/// The Pods of a set, highest ordinal first; none unless one waits.
pub(crate) fn pods(set: &SetView, pods: &[PodView]) -> Vec<PodStatusView> {
    let view = |ordinal| {
        let name = set.pod_name(ordinal);
        let ours = |pod: &&PodView| pod.name == name && set.controls(pod.controller.as_ref());
        let state = pods.iter().find(ours).map_or(PodState::Missing, |pod| state(pod, set));
        PodStatusView { name, ordinal, state }
    };
    let views: Vec<PodStatusView> = set.ordinals().map(view).collect();
    let behind = views.iter().any(|view| view.state == PodState::Waiting);
    if behind { views } else { Vec::new() }
}

fn state(pod: &PodView, set: &SetView) -> PodState {
    match At::of_pod(Some(pod), set) {
        At::Absent => PodState::Terminating,
        At::Outdated => PodState::Waiting,
        At::Updated if pod.ready_since.is_some() => PodState::Updated,
        At::Updated => PodState::Starting,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{PodView, SetView, pods};
    use crate::controller::objects::conversion;

    fn set() -> SetView {
        let set = json!({
            "metadata": {"name": "web", "uid": "u-1"},
            "spec": {"replicas": 5, "ordinals": {"start": 2}},
            "status": {"updateRevision": "b"},
        });
        conversion::set(&set).expect("a set")
    }

    fn pod(ordinal: u32, revision: &str, ready: &str) -> PodView {
        let owner =
            json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "web", "uid": "u-1", "controller": true});
        let pod = json!({
            "metadata": {"name": format!("web-{ordinal}"), "labels": {"controller-revision-hash": revision}, "ownerReferences": [owner]},
            "status": {"conditions": [{"type": "Ready", "status": ready}]},
        });
        conversion::pod(&pod).expect("a Pod").expect("it has not ended")
    }

    fn shown(all: &[PodView]) -> Vec<String> {
        let views = pods(&set(), all).into_iter();
        views
            .map(|view| format!("{} {}", view.name, view.state.text()))
            .collect()
    }

    #[test]
    fn pods_have_a_state_for_each_replica() {
        let mut terminating = pod(4, "a", "True");
        terminating.deleted = Some(1);
        let mut others = pod(2, "b", "True");
        others.controller = None;
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
        let all: Vec<PodView> = (2..7).map(|ordinal| pod(ordinal, "b", "True")).collect();
        assert_eq!(shown(&all), Vec::<String>::new());
    }
}
