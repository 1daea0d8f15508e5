//! Replacements without a controller: what the commands `replace`, `plan` and `doctor` need.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use futures::channel::mpsc;
use futures::{FutureExt, StreamExt};
use kube::Client;
use serde::Deserialize;
use serde_json::{Value, json};

use super::cluster::{Cluster, SetName};
use super::place::RunPlace;
use super::run::Run;
use super::{cluster, parts};
use crate::api::{ReplacementReason as Reason, Settings};
use crate::claims::Claim;
use crate::controller::clock::clock_millis;
use crate::controller::metrics::controller::ControllerMetrics;
use crate::controller::objects::blockers::SlimQuota;
use crate::controller::objects::pod::SlimPod;
use crate::controller::registrations::admission::{Admission, WithoutPolicy};
use crate::replace::scaled_away;
use crate::replace::world::Dependents;
use crate::replace::{
    End, Fault, LiveSet, Machine, MachineKind, Millis, Part, SetObjects, StartFrom, Step, World, next,
};
use crate::templates::{Phase, keys};

pub(crate) use super::cluster::{JOURNAL_LABEL, read_journal};
pub(crate) use super::notify::RETAINED;
pub(crate) use crate::replace::{Ended, Happened};

/// Replaces a StatefulSet with the rights of a user, whether or not its annotation asks for it.
pub(crate) struct ByHand {
    cluster: Cluster,
    set: SetName,
    kind: MachineKind,
}

/// The first decision.
#[derive(Debug)]
pub(crate) struct HandCheck {
    /// The set, if it exists.
    pub(crate) set: Option<LiveSet>,
    /// True iff a replacement has begun: its journal exists, or the set has our finalizer.
    pub(crate) has_begun: bool,
    /// The first step.
    pub(crate) step: Step,
}

impl ByHand {
    /// The set of this namespace and name. `journals` is the namespace of the journals.
    pub(crate) fn new(client: Client, settings: Settings, journals: String, (namespace, name): (&str, &str)) -> Self {
        let settings = Arc::new(settings);
        let metrics = Arc::<ControllerMetrics>::default();
        let admission = Admission::new(
            client.clone(),
            Arc::clone(&settings),
            None,
            WithoutPolicy::Stall,
            metrics,
        );
        Self {
            cluster: Cluster {
                client,
                settings,
                admission: Arc::new(admission),
                journals,
                clock: clock_millis,
            },
            set: SetName::new(namespace, name),
            kind: MachineKind::Forced,
        }
    }

    /// Takes the replacement back, unless the set is being deleted already: then it is created.
    pub(crate) fn taking_back(self) -> Self {
        Self {
            kind: MachineKind::TakesBack,
            ..self
        }
    }

    /// Reads, and asks the API server by dry runs, until the first step is decided. Writes nothing.
    ///
    /// # Errors
    /// The message of the read that failed.
    pub(crate) async fn check(&self) -> Result<HandCheck, String> {
        let objects = self.cluster.look(&self.set).await?;
        let is_marked = objects.set.as_ref().is_some_and(LiveSet::is_marked);
        let has_begun = is_marked || objects.secret.is_some();
        let (now, settings) = ((self.cluster.clock)(), &self.cluster.settings);
        let mut world = objects.world(now, settings, cluster::allows, self.kind);
        let step = loop {
            match next(&world) {
                Step::Read(part) => self.cluster.fill(&self.set, &mut world, part).await?,
                step => break step,
            }
        };
        let set = objects.set;
        Ok(HandCheck { set, has_begun, step })
    }

    /// Runs until the replacement has ended, or `stopping` is true; then the next run, or a controller, goes on. It
    /// does not stop while the set is absent.
    pub(crate) async fn run(&self, stopping: &AtomicBool, mut on: impl FnMut(Happened)) -> Ended {
        let (notices, mut noticed) = mpsc::unbounded();
        let machine = Machine::new(&self.cluster.settings, cluster::allows, self.kind, StartFrom::Nothing);
        let run = Run {
            cluster: &self.cluster,
            set: &self.set,
            stopping,
            notices: &notices,
            place: RunPlace::by_hand(),
            machine,
        };
        let mut run = pin!(run.run());
        let ended = loop {
            tokio::select! {
                Some(notice) = noticed.next() => on(notice.what),
                (_, ended) = &mut run => break ended,
            }
        };
        while let Some(Some(notice)) = noticed.next().now_or_never() {
            on(notice.what);
        }
        ended
    }
}

/// What is known of a set, for a check without the API server.
pub(crate) struct KnownSet<'a> {
    pub(crate) set: &'a Value,
    /// None if they cannot be read: then they count as good.
    pub(crate) pods: Option<Vec<&'a Value>>,
    pub(crate) claims: Vec<&'a Value>,
    pub(crate) quotas: Vec<&'a Value>,
}

/// Why the set would not be replaced now, if its rollout were complete. None if nothing asks for it. The guard and the
/// answers to dry runs count as good. Reasons that end within a minute by themselves are left out.
pub(crate) fn foreseen(known: &KnownSet<'_>, settings: &Settings, now: Millis) -> Option<Vec<Fault>> {
    let set = LiveSet::new(known.set.clone());
    let objects = SetObjects {
        set: Some(set),
        ..SetObjects::default()
    };
    let mut world = objects.world(now, settings, cluster::allows, MachineKind::Controller);
    let mut faults: Vec<Fault> = Vec::new();
    loop {
        match next(&world) {
            Step::Read(Part::Guard) => world.checks.guarded = Some(true),
            Step::Read(Part::Dependents) => match &known.pods {
                Some(pods) => world.dependents = Some(dependents(pods, &known.claims, &world)),
                None => assume_good_pods(&mut world),
            },
            Step::Read(Part::Quotas) => {
                let quotas = known.quotas.iter();
                let quotas = quotas.filter_map(|quota| SlimQuota::deserialize(*quota).ok());
                world.checks.quotas = Some(quotas.filter_map(|quota| quota.sets()).collect());
            }
            Step::End(End::Refused(fault)) => {
                let is_known = faults.iter().any(|other| other.reason == fault.reason);
                if is_known || !assume_mended(&mut world, fault.reason) {
                    break;
                }
                faults.push(fault);
            }
            Step::End(_) => return None,
            // The dry runs come last. Everything else is as it should be.
            _ => break,
        }
    }
    faults.retain(|fault| fault.reason != Reason::RolloutNotComplete && !fault.reason.is_brief());
    Some(faults)
}

fn dependents(pods: &[&Value], claims: &[&Value], world: &World<'_>) -> Dependents {
    let selector = world.set.as_ref().and_then(parts::selector);
    let pods = pods.iter().filter_map(|pod| SlimPod::deserialize(*pod).ok());
    Dependents {
        pods: pods.map(|pod| parts::pod_of(&pod, selector.as_ref())).collect(),
        lagging: lagging_claims(claims, world).unwrap_or_default(),
        ..Dependents::default()
    }
}

/// The PVCs of replicas that were scaled away and would never follow. The rollout writes those that were scaled away
/// since the staging.
fn lagging_claims(claims: &[&Value], world: &World<'_>) -> Option<Vec<String>> {
    let set = world.set.as_ref()?;
    let change = scaled_away::rolled_out(set)?;
    let staged_for = set.first_ordinal()..set.first_ordinal().saturating_add(i64::from(change.replicas));
    let claims = claims.iter().filter_map(|claim| Claim::read(&claim.to_string()).ok());
    let lags = claims.filter(|claim| {
        let place = scaled_away::template_of(set, &change.templates, &claim.name);
        place.is_some_and(|(_, ordinal)| !staged_for.contains(&i64::from(ordinal)))
            && scaled_away::lags(set, &change, claim, world.settings)
    });
    Some(lags.map(|claim| claim.name).collect())
}

/// Changes the world so that the fault does not hide others. Returns false if that is not possible.
fn assume_mended(world: &mut World<'_>, reason: Reason) -> bool {
    let Some(set) = &mut world.set else {
        return false;
    };
    let mut object = set.object().clone();
    match reason {
        Reason::StagedChangeNotAllowed => world.allowed = Ok(()),
        Reason::RolloutNotComplete => {
            let Some(mut change) = set.staged() else {
                return false;
            };
            change.phase = Phase::Complete;
            let Ok(text) = change.write() else {
                return false;
            };
            object["metadata"]["annotations"][keys::STAGED] = text.into();
        }
        Reason::PartitionSet => object["spec"]["updateStrategy"]["rollingUpdate"]["partition"] = json!(0),
        Reason::ForeignFinalizer => object["metadata"]["finalizers"] = json!([]),
        Reason::StatusOutdated => {
            object["status"]["observedGeneration"] = object["metadata"]["generation"].clone();
        }
        Reason::TooYoung => object["metadata"]["creationTimestamp"] = Value::Null,
        Reason::QuotaFull => world.checks.quotas = Some(Vec::new()),
        _ if world.dependents.is_some() => {
            assume_good_pods(world);
            return true;
        }
        _ => return false,
    }
    *set = LiveSet::new(object);
    true
}

/// A set without replicas needs no Pods.
fn assume_good_pods(world: &mut World<'_>) {
    world.dependents = Some(Dependents::default());
    if let Some(set) = &mut world.set {
        let mut object = set.object().clone();
        object["spec"]["replicas"] = json!(0);
        *set = LiveSet::new(object);
    }
}

#[cfg(test)]
#[path = "by_hand_tests.rs"]
mod tests;
