//! Calls of the real decisions.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::bugs::VolumesBug;
use super::objects::{LiveTemplates, PODS, SmallPod};
use crate::api::Settings;
use crate::claims::Owner;
use crate::gate;
use crate::gate::SetView;
use crate::rollout::milestones::Milestones;
use crate::rollout::volume_snapshot::ReCreateAnswers;
use crate::rollout::{Budgets, PodView, Quotas, Snapshot, missing_volumes};
use crate::templates::{ClaimTemplate, Phase, ReplaceSet, Revision, StagedChange, Staging, UpdatePolicy};

const NOW: u64 = 1_000;

type VolumesKey = ([SmallPod; PODS], bool, bool);

/// The decisions so far: few states differ in what a decision reads.
#[derive(Default)]
pub(super) struct VolumesDecisions {
    pub(super) bug: VolumesBug,
    evictions: HashMap<VolumesKey, Option<usize>>,
    gates: HashMap<(LiveTemplates, bool, usize), bool>,
}

impl VolumesDecisions {
    pub(super) fn with(bug: VolumesBug) -> Self {
        Self { bug, ..Self::default() }
    }

    /// The Pod to evict, and whether by its name alone.
    pub(super) fn evict(
        &mut self,
        mut seen: [SmallPod; PODS],
        mut live: bool,
        mut paused: bool,
    ) -> Option<(usize, bool)> {
        match self.bug {
            VolumesBug::IgnoresPause => paused = false,
            VolumesBug::TooEarly => live = true,
            VolumesBug::EvictsAny => seen = seen.map(as_old),
            VolumesBug::IgnoresOthers => seen = only_lowest(seen),
            VolumesBug::WaitsForMissing if seen.contains(&SmallPod::Absent) => return None,
            VolumesBug::Descending => seen.reverse(),
            _ => {}
        }
        let key = (seen, live, paused);
        let found = *self.evictions.entry(key).or_insert_with(|| {
            let evict = missing_volumes::find(&snapshot(&seen, live, paused))?.evict?;
            evict.pod.rsplit('-').next()?.parse().ok()
        });
        let at = found.map(|at| {
            if self.bug == VolumesBug::Descending {
                PODS - 1 - at
            } else {
                at
            }
        });
        Some((at?, self.bug == VolumesBug::ByName))
    }

    /// Whether the StatefulSet controller may not delete the Pod, whether or not it still has its owner.
    pub(super) fn gate_is_closed(
        &mut self,
        pods: &[SmallPod; PODS],
        templates: LiveTemplates,
        paused: bool,
        at: usize,
    ) -> bool {
        let is_leaving = templates == LiveTemplates::Leaving;
        let bug = self.bug;
        *self.gates.entry((templates, paused, at)).or_insert_with(|| {
            let mut snapshot = snapshot(pods, templates == LiveTemplates::New, paused);
            snapshot.set.terminating = is_leaving;
            let is_kept = |uid: &str| {
                let pod = gate::Pod {
                    name: format!("web-{at}"),
                    set_name: "web".to_owned(),
                    set_uid: uid.to_owned(),
                    mounts_claims: true,
                    ..gate::Pod::default()
                };
                let gate = gate::gate(&pod, &snapshot.set, &snapshot.settings, |_| None);
                gate.is_some() && !(uid.is_empty() && bug == VolumesBug::GateNeedsOwner)
            };
            bug != VolumesBug::GateOpen && is_kept("set") && (!is_leaving || is_kept(""))
        })
    }
}

const fn as_old(pod: SmallPod) -> SmallPod {
    match pod {
        SmallPod::Ready { .. } => SmallPod::Ready { new: false },
        other => other,
    }
}

/// The lowest Pod that lacks the volume; all others seem to be there.
fn only_lowest(mut seen: [SmallPod; PODS]) -> [SmallPod; PODS] {
    let lowest = seen.iter().position(|pod| *pod == SmallPod::Ready { new: false });
    for (at, pod) in seen.iter_mut().enumerate() {
        if Some(at) != lowest {
            *pod = SmallPod::Ready { new: true };
        }
    }
    seen
}

fn templates(names: &[&str]) -> Vec<ClaimTemplate> {
    let text = |name: &&str| {
        format!(r#"{{"metadata":{{"name":"{name}"}},"spec":{{"resources":{{"requests":{{"storage":"1Gi"}}}}}}}}"#)
    };
    let texts: Vec<String> = names.iter().map(text).collect();
    ClaimTemplate::read_list(&format!("[{}]", texts.join(","))).unwrap_or_default()
}

/// What our controller reads.
fn snapshot(pods: &[SmallPod; PODS], live: bool, paused: bool) -> Snapshot {
    let both = templates(&["data", "logs"]);
    let staged = StagedChange {
        by: "alice".to_owned(),
        manager: "kubectl".to_owned(),
        phase: Phase::Complete,
        replicas: 0,
        staging: Staging::of("set", "1", &Revision::of(&both)),
        templates: both.clone(),
        uid: "set".to_owned(),
        update_policy: UpdatePolicy::InPlace,
    };
    let set = SetView {
        namespace: "default".to_owned(),
        name: "web".to_owned(),
        uid: "set".to_owned(),
        replicas: u32::try_from(PODS).unwrap_or_default(),
        live: if live { both } else { templates(&["data"]) },
        staged: (!live).then_some(staged),
        replace_set: Some(ReplaceSet::WhenComplete),
        paused,
        status_is_current: true,
        ..SetView::default()
    };
    let views = pods.iter().enumerate().filter_map(|(at, pod)| view(at, *pod));
    Snapshot {
        now: NOW,
        settings: Arc::new(Settings::read(r#"{"templateChanges":"Allow"}"#).unwrap_or_default()),
        halted: None,
        write_refused: None,
        not_evicted: None,
        staged_before: None,
        set,
        claims: BTreeMap::new(),
        pods: views.map(|view| (view.name.clone(), view)).collect(),
        siblings: Vec::new(),
        refusals: BTreeMap::new(),
        quotas: Quotas::Unchecked,
        budgets: Budgets::default(),
        previous: None,
        milestones: Milestones::default(),
        claim_events: BTreeMap::new(),
        recreate: ReCreateAnswers::default(),
    }
}

fn view(at: usize, pod: SmallPod) -> Option<PodView> {
    let (new, ready, going) = match pod {
        SmallPod::Absent => return None,
        SmallPod::Ready { new } => (new, true, false),
        SmallPod::Unready { new } => (new, false, false),
        SmallPod::Going { new } => (new, false, true),
    };
    let volumes = if new { &["data", "logs"][..] } else { &["data"] };
    Some(PodView {
        name: format!("web-{at}"),
        uid: format!("web-{at}-{new}"),
        controller: Some(Owner {
            api_version: "apps/v1".to_owned(),
            kind: "StatefulSet".to_owned(),
            name: "web".to_owned(),
            uid: "set".to_owned(),
            controller: true,
            block_owner_deletion: true,
        }),
        created: 0,
        deleted: going.then_some(NOW + 30),
        revision: String::new(),
        ready_since: ready.then_some(NOW),
        unready: None,
        claims: volumes.iter().map(|volume| format!("{volume}-web-{at}")).collect(),
        volumes: volumes.iter().map(|volume| (*volume).to_owned()).collect(),
    })
}
