//! Pods that lack a volume of the live templates, because a template was added when their set was replaced.
//!
//! The StatefulSet controller updates such a Pod in vain and goes no further: it creates no Pod above the lowest one
//! (kubernetes#141876; `processReplica` and `storageMatches` in `pkg/controller/statefulset`). So each is evicted, lowest
//! ordinal first, whatever the update strategy and the Pod management are.

use super::action::{Evict, EvictReason};
use super::disruption;
use super::disruption::Away;
use super::snapshot::{PodView, Snapshot};
use crate::api::settings::{Mode, TemplateChanges};
use crate::api::{Seconds, Settings};
use crate::gate::SetView;
use crate::templates::{ClaimName, keys};

/// Seconds until the next look at something that no watch may report.
const RECHECK: Seconds = 5;

/// For how many seconds a Pod that lacks a volume and is not Ready counts as away: a container that is restarted may
/// become Ready by itself. After that, nothing but its own eviction may make it Ready, and it can only be evicted after
/// the lower ones.
const PATIENCE: Seconds = 300;

/// The lowest Pod that lacks a volume.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingVolumes {
    /// How many Pods lack a volume, which is the next, and what it waits for.
    pub message: String,
    /// The eviction that is due.
    pub evict: Option<Evict>,
    /// When to decide again, even if no watch reports a change.
    pub until: Seconds,
}

/// True iff Pods of the set that lack a volume are evicted. Of any other set, Pods need not be read.
#[must_use]
pub fn is_evicting(set: &SetView, settings: &Settings) -> bool {
    let is_skipped = |owner: &crate::claims::Owner| settings.skips_owned_by(owner.group(), &owner.kind);
    settings.template_changes == TemplateChanges::Allow
        && settings.mode == Mode::Stage
        && settings.replaces(set.replace_set)
        && !set.terminating
        && !set.templates_can_change
        && !set.live.is_empty()
        && !set.controller.as_ref().is_some_and(is_skipped)
}

/// The lowest Pod that lacks a volume; `None` if there is none. The Pods of the set must have been read.
///
/// # Guarantees
/// * Only a Pod that lacks a volume is evicted, and none above it before it is available again.
/// * Every other Pod that exists is available, unless it lacks a volume itself and has not been Ready for five minutes.
///   A Pod that is missing above it is no obstacle: nothing but this eviction brings it back. The eviction API also
///   respects PodDisruptionBudgets.
/// * Nothing is evicted while the set is paused, or while a template is to be added: a Pod that mounts its volume could
///   not be created before the set is replaced.
#[must_use]
pub fn find(snapshot: &Snapshot) -> Option<MissingVolumes> {
    let set = &snapshot.set;
    if !is_evicting(set, &snapshot.settings) || !set.replaces_pods() {
        return None;
    }
    let mut pods: Vec<(u32, &PodView)> = set.ordinals().filter_map(|at| Some((at, pod(snapshot, at)?))).collect();
    pods.reverse();
    let lacking = pods.iter().filter(|(at, pod)| lacks(set, *at, pod).is_some());
    let count = lacking.clone().count();
    let (at, pod) = lacking.min_by_key(|(at, _)| *at)?;
    let volume = lacks(set, *at, pod)?;
    let obstacle = obstacle(snapshot, &pods, *at, pod);
    let plural = if count == 1 { "Pod lacks" } else { "Pods lack" };
    let next = format!("{count} {plural} a volume; Pod {} lacks {volume}", pod.name);
    let evict = obstacle.is_none().then(|| Evict {
        pod: pod.name.clone(),
        uid: pod.uid.clone(),
        claim: (claim(set, volume, *at), String::new()),
        reason: EvictReason::Lacks,
    });
    let (message, until) = match obstacle {
        None => (format!("{next}, and is evicted now"), None),
        Some(Away { why, until }) => (format!("{next}, and is not evicted yet: {why}"), until),
    };
    Some(MissingVolumes {
        message,
        evict,
        until: until.unwrap_or_else(|| snapshot.now.saturating_add(RECHECK)),
    })
}

/// The Pod of the replica, also one that the set has yet to adopt.
fn pod(snapshot: &Snapshot, ordinal: u32) -> Option<&PodView> {
    let pod = snapshot.pods.get(&snapshot.set.pod_name(ordinal))?;
    let owner = pod.controller.as_ref();
    (owner.is_none() || snapshot.set.controls(owner)).then_some(pod)
}

/// The first live template whose volume the Pod lacks.
fn lacks<'s>(set: &'s SetView, ordinal: u32, pod: &PodView) -> Option<&'s str> {
    let has = |volume: &str| {
        let claim = claim(set, volume, ordinal);
        let mut mounted = pod.volumes.iter().zip(&pod.claims);
        mounted.any(|(name, of)| name == volume && *of == claim)
    };
    let mut templates = set.live.iter().map(|template| template.name.as_str());
    templates.find(|template| !has(template))
}

fn claim(set: &SetView, template: &str, ordinal: u32) -> String {
    ClaimName::new(template, &set.name, ordinal).map_or_else(|_| String::new(), |name| name.to_string())
}

/// Why the lowest Pod that lacks a volume is not evicted now.
fn obstacle(snapshot: &Snapshot, pods: &[(u32, &PodView)], ordinal: u32, pod: &PodView) -> Option<Away> {
    let set = &snapshot.set;
    let never = |why: String| Some(Away { why, until: None });
    if set.paused {
        return never(format!("paused by the annotation {}", keys::PAUSED));
    }
    if pod.deleted.is_some() {
        return never("it is being deleted".to_owned());
    }
    if pod.controller.is_none() {
        return never("the StatefulSet has not adopted it".to_owned());
    }
    let exists = |at: u32| pods.iter().any(|(other, _)| *other == at);
    if let Some(missing) = (set.first_ordinal..ordinal).find(|at| !exists(*at)) {
        return never(format!("Pod {}-{missing} does not exist", set.name));
    }
    let others = pods.iter().filter(|(other, _)| *other != ordinal);
    let mut unavailable = others.filter_map(|(at, other)| {
        let away = disruption::of_pod(snapshot, *at, Some(other))?;
        if other.ready_since.is_some() || other.deleted.is_some() || lacks(set, *at, other).is_none() {
            return Some(away);
        }
        let since = other.unready.as_ref().map_or(other.created, |unready| unready.since);
        let until = since.saturating_add(PATIENCE);
        let why = format!("{}, and may become Ready by itself", away.why);
        (snapshot.now < until).then_some(Away {
            why,
            until: Some(until),
        })
    });
    if let Some(away) = unavailable.next() {
        return Some(away);
    }
    let denied = snapshot
        .not_evicted
        .as_ref()
        .filter(|(_, retry_at)| *retry_at > snapshot.now);
    denied.map(|(why, retry_at)| Away {
        why: format!("the eviction was denied: {why}"),
        until: Some(*retry_at),
    })
}

#[cfg(test)]
#[path = "missing_volumes_tests.rs"]
mod tests;
