//! The preconditions: when a set may be replaced.

use super::journal::{self, Journal, Millis};
use super::live::{self, LiveSet, MAX_UNAVAILABLE};
use super::step::{Fault, Part};
use super::world::{DependentPod, Dependents, DryRuns, World};
use super::{scaled_away, volumes};
use crate::api::ReplacementReason as Reason;
use crate::templates::{Diff, Phase, ReplaceSet, StagedChange, UpdatePolicy, keys};

/// The age from which a set may be replaced. The garbage collector may not know the references to a younger one
/// (kubernetes#131284).
const LEAST_AGE: Millis = 60_000;

/// The result of a check.
pub(super) enum Check {
    /// The set may be replaced.
    Allowed,
    /// Nothing asks for a replacement.
    NotAsked,
    /// The set must not be replaced.
    Refused(Fault),
    /// The set was marked, and its controller has yet to see that.
    TooEarly(Fault),
    /// This part of the world must be read first.
    Unread(Part),
}

/// Checks the preconditions, the cheapest first.
pub(super) fn check(world: &World<'_>, set: &LiveSet) -> Check {
    if world.taken_back || !is_asked(world, set) {
        return Check::NotAsked;
    }
    if let Some(fault) = world.denied.clone().or_else(|| by_set(world, set)) {
        return Check::Refused(fault);
    }
    // A scale since then does no harm: the new set has the replicas of the last version of the old one.
    if world.checks.checked.as_deref() == Some(&basis(set)) {
        return Check::Allowed;
    }
    if let Some(fault) = by_status(set) {
        // The mark is a change too. To take it back would be the next one.
        return match set.is_marked() && !world.has_waited_long() {
            true => Check::TooEarly(fault),
            false => Check::Refused(fault),
        };
    }
    if let Some(fault) = by_age(world, set) {
        return Check::Refused(fault);
    }
    match world.checks.guarded {
        None => return Check::Unread(Part::Guard),
        Some(false) => {
            let message = "the guard is not installed: it denies that others delete the StatefulSet meanwhile; apply \
                           deploy/guard, or set guard.enabled in the chart";
            return Check::Refused(Fault::new(Reason::GuardMissing, message));
        }
        Some(true) => {}
    }
    let Some(dependents) = &world.dependents else {
        return Check::Unread(Part::Dependents);
    };
    if let Some(fault) = by_dependents(set, dependents) {
        return Check::Refused(fault);
    }
    let Some(quotas) = &world.checks.quotas else {
        return Check::Unread(Part::Quotas);
    };
    if let Some(full) = quotas.iter().find(|quota| quota.used >= quota.hard) {
        let message = format!(
            "ResourceQuota {} allows {} StatefulSets and {} exist: raise it by one, because the old one may count for \
             a moment after it is deleted",
            full.name, full.hard, full.used
        );
        return Check::Refused(Fault::new(Reason::QuotaFull, message));
    }
    match world.checks.dry_runs.as_ref().filter(|runs| runs.basis == basis(set)) {
        None => Check::Unread(Part::DryRuns),
        Some(runs) => by_dry_runs(set, runs).map_or(Check::Allowed, Check::Refused),
    }
}

/// True iff the set has desired templates that are not live, and its user wants them live.
fn is_asked(world: &World<'_>, set: &LiveSet) -> bool {
    let wants = world.forced || set.replace_set(world.settings.default_replace_set) == ReplaceSet::WhenComplete;
    let paused = !world.forced && set.annotation(keys::PAUSED) == Some("true");
    let Some(change) = set.staged().filter(|_| wants && !paused) else {
        return false;
    };
    let live = live::read_templates(set.templates());
    live.is_some_and(|live| !Diff::between(&live, &change.templates).is_empty())
}

/// True iff the rollout of the change has nothing left to do.
pub(super) fn is_rolled_out(set: &LiveSet, change: &StagedChange) -> bool {
    set.update_policy(change) == UpdatePolicy::OnClaimDelete || change.phase == Phase::Complete
}

fn by_set(world: &World<'_>, set: &LiveSet) -> Option<Fault> {
    if let Err(why) = &world.allowed {
        return Some(Fault::new(Reason::StagedChangeNotAllowed, why));
    }
    if let Some(finalizer) = set.foreign_finalizer() {
        let message =
            format!("the StatefulSet has the finalizer {finalizer}: who set it would clean up when it is deleted");
        return Some(Fault::new(Reason::ForeignFinalizer, message));
    }
    let change = set.staged()?;
    if !is_rolled_out(set, &change) {
        return Some(Fault::new(
            Reason::RolloutNotComplete,
            "not every PVC is updated and ready",
        ));
    }
    if let Some(volume) = volumes::missed(set, &change) {
        let message = format!(
            "the Pod template mounts the volume {volume}, whose template is to be removed, so that no Pod could be \
             created"
        );
        return Some(Fault::new(Reason::VolumeMissing, message));
    }
    if set.has_partition() && set.partition() > 0 {
        let message = format!(
            "the partition is {}: set it to 0, so that every Pod has one revision",
            set.partition()
        );
        return Some(Fault::new(Reason::PartitionSet, message));
    }
    let fits = Journal::prepare(set, None, world.now).and_then(|journal| journal.write().ok());
    let bytes = fits.map_or(usize::MAX, |text| text.len());
    (bytes > journal::MAX_BYTES).then(|| {
        let message = format!(
            "the StatefulSet takes {bytes} bytes, but the journal holds {}",
            journal::MAX_BYTES
        );
        Fault::new(Reason::TooLarge, message)
    })
}

fn by_status(set: &LiveSet) -> Option<Fault> {
    (!set.status_is_current()).then(|| {
        let message = "the StatefulSet controller has not seen the last change of the StatefulSet";
        Fault::new(Reason::StatusOutdated, message)
    })
}

fn by_age(world: &World<'_>, set: &LiveSet) -> Option<Fault> {
    let created: jiff::Timestamp = set.created().parse().ok()?;
    let created = Millis::try_from(created.as_millisecond()).unwrap_or_default();
    let age = world.now.saturating_sub(created);
    (age < LEAST_AGE).then(|| {
        let message = "the StatefulSet is younger than a minute; it is replaced after that";
        Fault::new(Reason::TooYoung, message)
    })
}

fn by_dependents(set: &LiveSet, dependents: &Dependents) -> Option<Fault> {
    if let Some(other) = dependents.unknown.first() {
        let message = format!("{other} is owned by the StatefulSet and would lose its owner for ever");
        return Some(Fault::new(Reason::OtherDependents, message));
    }
    let controls = |pod: &&DependentPod| pod.controller.as_ref().is_some_and(|owner| owner.uid == set.uid());
    let pods: Vec<&DependentPod> = dependents.pods.iter().filter(controls).collect();
    let names = set.ordinals().map(|ordinal| format!("{}-{ordinal}", set.name()));
    let missing = { names }.find(|name| !pods.iter().any(|pod| pod.name == *name));
    let count = i64::try_from(pods.len()).unwrap_or(i64::MAX);
    let change = set.staged();
    let adds = change.as_ref().is_some_and(|change| volumes::adds(set, change));
    // Only the replacement brings the Pod back: the policy did not keep it, or somebody deleted it.
    let is_stuck = missing.is_some() && change.as_ref().is_some_and(|change| volumes::is_stuck(set, change));
    let missing = missing.filter(|_| !is_stuck);
    let asked = AskedOfPod {
        revision: !adds,
        ready: !is_stuck,
    };
    pods.iter().find_map(|pod| by_pod(set, pod, &asked)).or_else(|| {
        missing.map(|name| by_missing_pod(&name, dependents)).or_else(|| {
            (count > set.replicas()).then(|| {
                let message = format!(
                    "{count} Pods exist, but the StatefulSet has {} replicas",
                    set.replicas()
                );
                Fault::new(Reason::ScalingDown, message)
            })
        })
    })
    .or_else(|| {
        let claim = dependents.lagging.first()?;
        let templates = change.as_ref().map_or(&[][..], |change| &change.templates);
        let message = if scaled_away::template_of(set, templates, claim).is_some() {
            format!(
                "the replica of {claim} was scaled away, and the PVC does not have what is staged: scale up, so that it \
                 gets it, or delete it"
            )
        } else {
            format!(
                "{claim} does not have what is staged, because it was created again: the controller updates it first; \
                 without one, give the PVC the size and the class yourself"
            )
        };
        Some(Fault::new(Reason::ClaimOutdated, message))
    })
}

/// What is asked of a Pod. While a template is to be added, Kubernetes must not replace Pods.
struct AskedOfPod {
    /// That it has the update revision.
    revision: bool,
    /// That it is Ready.
    ready: bool,
}

/// The set controls no Pod of this name. The StatefulSet controller removes the owner of a Pod whose labels changed.
fn by_missing_pod(name: &str, dependents: &Dependents) -> Fault {
    let is_it = |pod: &&DependentPod| pod.name == name && !pod.selected;
    match dependents.pods.iter().find(is_it) {
        Some(_) => not_selected(name),
        None => Fault::new(Reason::PodNotReady, format!("Pod {name} is missing")),
    }
}

fn not_selected(name: &str) -> Fault {
    let message = format!("the selector does not match the labels of Pod {name}, so that it would not be adopted");
    Fault::new(Reason::PodNotSelected, message)
}

fn by_pod(set: &LiveSet, pod: &DependentPod, asked: &AskedOfPod) -> Option<Fault> {
    let name = &pod.name;
    let fault = |reason, message| Some(Fault::new(reason, message));
    if pod.terminating {
        return fault(Reason::PodTerminating, format!("Pod {name} is being deleted"));
    }
    if !pod.selected {
        return Some(not_selected(name));
    }
    if asked.revision && pod.revision != set.update_revision() {
        let message = format!(
            "Pod {name} has revision {}, not {}",
            pod.revision,
            set.update_revision()
        );
        return fault(Reason::PodNotUpdated, message);
    }
    if pod.ready || !asked.ready {
        return None;
    }
    fault(Reason::PodNotReady, format!("Pod {name} is not Ready"))
}

fn by_dry_runs(set: &LiveSet, runs: &DryRuns) -> Option<Fault> {
    let denied = |reason, verb: &str, why: &String| Some(Fault::new(reason, format!("{verb} would be denied: {why}")));
    if let Err(why) = &runs.delete {
        return denied(Reason::DeleteDenied, "DELETE", why);
    }
    if let Err(why) = runs.create.as_ref().and(runs.created.as_ref()) {
        return denied(Reason::CreateDenied, "CREATE", why);
    }
    let created = runs.created.as_ref().ok()?;
    let field = changed_field(set, created)?;
    let message = format!("a webhook changes spec.{field} of a new StatefulSet, so that its Pods would restart");
    Some(Fault::new(Reason::CreateChanges, message))
}

/// The first field of the spec that differs from the old set, except those that are meant to.
fn changed_field(set: &LiveSet, created: &LiveSet) -> Option<String> {
    let journal = Journal::prepare(set, None, 0)?;
    let sent = journal.recreated();
    let (sent, created) = (fields(&sent), fields(created.object()));
    let mut keys = sent
        .keys()
        .chain(created.keys())
        .filter(|key| *key != "volumeClaimTemplates");
    keys.find(|key| sent.get(*key) != created.get(*key)).cloned()
}

/// The fields of the spec. The hold adds `rollingUpdate` to a set without it, and the API server then adds
/// `maxUnavailable`, if it knows the field.
fn fields(object: &serde_json::Value) -> serde_json::Map<String, serde_json::Value> {
    let mut fields = object["spec"].as_object().cloned().unwrap_or_default();
    let rolling = fields
        .get_mut("updateStrategy")
        .and_then(|strategy| strategy.get_mut("rollingUpdate")?.as_object_mut());
    if let Some(rolling) = rolling {
        rolling
            .entry("maxUnavailable")
            .or_insert_with(|| MAX_UNAVAILABLE.into());
    }
    fields
}

/// The part of a set that the dry runs depend on: everything that a user may change but `replicas`, which others may
/// change many times a second.
#[must_use]
pub fn basis(set: &LiveSet) -> String {
    let mut object = set.recreated(&[], None);
    if let Some(spec) = object["spec"].as_object_mut() {
        spec.remove("replicas");
        spec.remove("persistentVolumeClaimRetentionPolicy");
    }
    object["spec"]["updateStrategy"]["rollingUpdate"]["partition"] = serde_json::Value::Null;
    object["metadata"]["annotations"] = serde_json::Value::Null;
    format!(
        "{} {} {object}",
        set.uid(),
        set.annotation(keys::STAGED).unwrap_or_default()
    )
}
