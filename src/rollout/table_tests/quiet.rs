//! How much a whole rollout writes, in a small simulated cluster that reconciles after each change.

use crate::claims::Claim;
use crate::gate;
use crate::rollout::fixtures::{gi, template, web};
use crate::rollout::milestones::Milestones;
use crate::rollout::plan::plan;
use crate::rollout::snapshot::{PodView, Previous, Resize, Snapshot};
use crate::rollout::{Action, Progress};
use crate::templates::{ClaimTemplate, Phase, keys};

/// The writes of a rollout.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Writes {
    claims: usize,
    nudges: usize,
    changes: usize,
    reports: usize,
    events: usize,
}

/// A set, its claims and Pods, and the last report.
struct SmallCluster {
    web: Snapshot,
    /// The driver finishes when the volume is mounted.
    remount: bool,
    reported: Option<Progress>,
    writes: Writes,
}

/// The update revision.
const NEW: &str = "web-2";
/// The most reconciles until nothing changes.
const ENOUGH: usize = 100;

impl SmallCluster {
    /// Claims of 1Gi for these templates and replicas; 2Gi are staged. Pods change as well if `pods_change`.
    fn new(replicas: u32, templates: &[&str], pods_change: bool) -> Self {
        let mut web = web();
        let sized = |size: &str| -> Vec<ClaimTemplate> { templates.iter().map(|name| template(name, size)).collect() };
        web.claims.clear();
        web.set.replicas = replicas;
        web.set.live = sized("1Gi");
        web.stage(sized("2Gi"));
        web.previous = None;
        for ordinal in 0..replicas {
            web.add_pod(ordinal);
            for name in templates {
                web.add_claim(name, ordinal);
            }
        }
        if pods_change {
            web.set.update_revision = NEW.to_owned();
        }
        Self {
            web,
            remount: false,
            reported: None,
            writes: Writes::default(),
        }
    }

    /// Reconciles until nothing is written any more, because a write to the set triggers a reconcile.
    fn settle(&mut self) {
        for _ in 0..ENOUGH {
            let before = self.writes.clone();
            self.reconcile();
            if self.writes == before {
                return;
            }
        }
        panic!("the set is written again and again: {:?}", self.writes);
    }

    /// Reconciles as the controller does: executes actions until no apply is left, then reports changes.
    fn reconcile(&mut self) {
        for _ in 0..ENOUGH {
            let plan = plan(&self.web);
            let (mut applied, mut events) = (false, 0);
            for action in plan.actions {
                match action {
                    Action::ApplyClaim(apply) => {
                        self.writes.claims += 1;
                        applied = true;
                        let claim = self.web.claims.get_mut(apply.name.as_str()).unwrap();
                        claim.request = apply.storage;
                        claim.labels.insert(keys::REVISION.to_owned(), apply.label.to_string());
                    }
                    Action::SetReady(ready) => {
                        self.writes.nudges += 1;
                        self.web.set.ready = ready.ready;
                    }
                    Action::SetStaged(change) => {
                        self.writes.changes += 1;
                        self.web.set.staged = change.change;
                    }
                    Action::Evict(_)
                    | Action::SetStagedAt(_)
                    | Action::HoldStaged(_)
                    | Action::TakeSnapshot(_)
                    | Action::MarkClaim(_)
                    | Action::UnmarkClaim(_)
                    | Action::DeleteClaim(_) => panic!("nobody asked for {action:?}"),
                    // Emitted with the report.
                    Action::Event(_) => events += 1,
                }
            }
            if !applied {
                self.writes.events += events;
                return self.report(plan.progress);
            }
        }
        panic!("claims are written again and again: {:?}", self.writes);
    }

    fn report(&mut self, progress: Progress) {
        self.web.milestones = progress.milestones.clone();
        // The report has the time, and not what was reached before.
        let progress = Progress {
            milestones: Milestones::default(),
            ..progress
        };
        if self.reported.as_ref() == Some(&progress) {
            return;
        }
        self.writes.reports += 1;
        let claims = progress.claims.iter().map(|claim| {
            let events = (claim.state.to_string(), claim.reason.clone(), claim.message.clone());
            (claim.name.clone(), events)
        });
        self.web.previous = Some(Previous {
            revision: progress.update_revision.clone(),
            staging: progress.staging.clone(),
            started: Some(progress.started),
            claims: claims.collect(),
            moved: progress.moved,
            ready: progress.ready.reason.to_owned(),
        });
        self.reported = Some(progress);
    }

    /// One change by Kubernetes or the storage, if there is one: of a claim, else of a Pod.
    fn step(&mut self) -> bool {
        self.web.now += 1;
        let now = self.web.now;
        let mounted = |claim: &Claim| {
            let of_this = |pod: &&PodView| pod.claims.contains(&claim.name);
            self.web
                .pods
                .values()
                .find(of_this)
                .is_some_and(|pod| pod.revision == NEW)
        };
        let may_grow = |claim: &Claim| !self.remount || claim.resize != Some(Resize::NodePending) || mounted(claim);
        if self.web.claims.values_mut().any(|claim| may_grow(claim) && grow(claim)) {
            return true;
        }
        for ordinal in (0..self.web.set.replicas).rev() {
            if self.is_kept(ordinal) {
                return false;
            }
            let Some(pod) = self.web.pods.get_mut(&format!("web-{ordinal}")) else {
                self.web.add_pod(ordinal);
                let pod = self.web.pods.get_mut(&format!("web-{ordinal}")).unwrap();
                (pod.revision, pod.ready_since) = (NEW.to_owned(), None);
                return true;
            };
            if replace(pod, now) {
                return true;
            }
            if pod.deleted.is_some() {
                self.web.pods.remove(&format!("web-{ordinal}"));
                return true;
            }
        }
        false
    }
}

impl SmallCluster {
    /// True iff the gate denies the next deletion by the StatefulSet controller.
    fn is_kept(&self, ordinal: u32) -> bool {
        let web = &self.web;
        let pod = web.pods.get(&format!("web-{ordinal}"));
        let Some(pod) = pod.filter(|pod| pod.revision != web.set.update_revision && pod.deleted.is_none()) else {
            return false;
        };
        let pod = gate::Pod {
            name: pod.name.clone(),
            set_name: web.set.name.clone(),
            set_uid: web.set.uid.clone(),
            mounts_claims: true,
            ..gate::Pod::default()
        };
        gate::gate(&pod, &web.set, &web.settings, |claim| web.claims.get(claim.as_str())).is_some()
    }
}

/// One step of the resizer or the kubelet.
fn grow(claim: &mut Claim) -> bool {
    if claim.request == gi(1) || claim.capacity == Some(claim.request) {
        return false;
    }
    match claim.resize {
        None => claim.resize = Some(Resize::ControllerInProgress),
        Some(Resize::ControllerInProgress) => claim.resize = Some(Resize::NodePending),
        _ => (claim.resize, claim.capacity) = (None, Some(claim.request)),
    }
    true
}

/// One step of the StatefulSet controller or the kubelet: an outdated Pod is deleted, or a new one becomes Ready.
fn replace(pod: &mut PodView, now: u64) -> bool {
    if pod.revision != NEW && pod.deleted.is_none() {
        (pod.deleted, pod.ready_since) = (Some(now + 30), None);
        return true;
    }
    if pod.revision == NEW && pod.ready_since.is_none() {
        pod.ready_since = Some(now);
        return true;
    }
    false
}

fn roll_out(mut cluster: SmallCluster) -> Writes {
    loop {
        cluster.settle();
        if !cluster.step() {
            assert_eq!(cluster.web.set.staged.as_ref().unwrap().phase, Phase::Complete);
            return cluster.writes;
        }
    }
}

#[test]
fn rollout_writes_each_claim_and_names_each_pod_once() {
    for replicas in [0, 1, 10, 30] {
        for templates in [&["data"][..], &["data", "log"]] {
            for (pods_change, remount) in [(false, false), (true, false), (true, true)] {
                let count = usize::try_from(replicas).unwrap();
                let claims = count * templates.len();
                let found = roll_out(SmallCluster {
                    remount,
                    ..SmallCluster::new(replicas, templates, pods_change)
                });
                let expected = Writes {
                    claims,
                    nudges: if pods_change { count } else { 0 },
                    changes: 1,
                    // Each claim is applied, expanding, expanding on its node; then its Pod is replaced, before or
                    // after its node is done, and becomes available. At the end everything is ready, then complete.
                    reports: 3 * claims + if pods_change { 3 * count } else { 0 } + 2,
                    // Staged, each claim ready, complete.
                    events: claims + 2,
                };
                assert!(
                    found.reports <= expected.reports,
                    "{replicas} {templates:?} {pods_change} {remount}: {found:?}"
                );
                assert_eq!(
                    Writes { reports: 0, ..found },
                    Writes { reports: 0, ..expected },
                    "{replicas} {templates:?} {pods_change} {remount}"
                );
            }
        }
    }
}

#[test]
fn time_alone_causes_no_write() {
    // The pauses are shorter than the patience with a Pod and the progress deadline.
    for (pods_change, pauses) in [(false, &[1, 300, 200][..]), (true, &[1, 28])] {
        let mut cluster = SmallCluster::new(3, &["data"], pods_change);
        loop {
            cluster.settle();
            let before = cluster.writes.clone();
            for pause in pauses {
                cluster.web.now += pause;
                cluster.reconcile();
            }
            assert_eq!(cluster.writes, before);
            if !cluster.step() {
                break;
            }
        }
    }
}
