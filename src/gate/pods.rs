//! Whether the deletion of a Pod waits, and for what.

use super::readiness;
use super::set_view::SetView;
use super::target::{self, Target};
use crate::api::Settings;
use crate::claims::compatible::in_place;
use crate::claims::{Claim, belongs};
use crate::templates::rules::Frozen;
use crate::templates::show::shown;
use crate::templates::{ClaimName, ClaimTemplate, Phase, Ready, RevisionLabel, Strategy, Sync, keys};

/// A Pod that is about to be deleted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pod {
    /// `metadata.name`
    pub name: String,
    /// The name of the StatefulSet that controls the Pod. Without a controller, the name that its StatefulSet would have;
    /// empty if none can.
    pub set_name: String,
    /// The uid of the StatefulSet that controls the Pod; empty if none does.
    pub set_uid: String,
    /// `metadata.deletionTimestamp` is set.
    pub terminating: bool,
    /// `status.phase` is `Failed` or `Succeeded`.
    pub has_ended: bool,
    /// The condition `DisruptionTarget` is true: the Pod is being evicted.
    pub disrupted: bool,
    /// The Pod mounts a PersistentVolumeClaim.
    pub mounts_claims: bool,
}

impl Pod {
    /// True iff the deletion of the Pod may be denied, so that its set must be read.
    #[must_use]
    pub const fn may_wait(&self) -> bool {
        let is_ending = self.terminating || self.has_ended || self.disrupted;
        self.mounts_claims && !is_ending && !self.set_name.is_empty()
    }

    fn ordinal(&self) -> Option<u32> {
        let ordinal = self.name.strip_prefix(&self.set_name)?.strip_prefix('-')?;
        ordinal.parse().ok()
    }
}

/// A Pod that waits unless its claims are ready.
#[derive(Clone, Debug, PartialEq)]
pub struct Gate<'s> {
    set: &'s SetView,
    target: Target<'s>,
    /// The name of the Pod.
    pod: String,
    ordinal: u32,
    frozen: Frozen,
    /// A staged template that is not live yet.
    added: Option<&'s str>,
}

impl<'s> Gate<'s> {
    /// The gate of a Pod; `None` if the Pod may be deleted in any case.
    ///
    /// The gate is open if no valid staged change rolls out or reaches this replica, if Pods do not wait (`sync:
    /// Async`), and if the Pod is not deleted to be replaced: its ordinal is out of range, it has ended, or it is being
    /// evicted. While a template is to be added, it is closed in each of the first cases as well, and while the set is
    /// deleted to be replaced, also for Pods that the garbage collector has taken from it: the Pod would come back without
    /// the volume, or not at all.
    #[must_use]
    pub fn of(pod: &Pod, set: &'s SetView, settings: &Settings) -> Option<Self> {
        let ordinal = pod.ordinal().filter(|ordinal| set.has(*ordinal))?;
        let target = Target::sound(set, settings).ok()?;
        let added = set.added_template();
        let rolls_out = || {
            target.change.phase == Phase::RollingOut
                && set.sync == Sync::LockStep
                && !set.is_below_partition(ordinal)
                && Target::of(set, settings).is_ok()
        };
        let is_left = || pod.set_uid.is_empty() && set.terminating && added.is_some();
        let is_kept = || pod.set_uid == set.uid && (added.is_some() || rolls_out());
        let waits = pod.may_wait() && (is_kept() || is_left());
        waits.then_some(Self {
            set,
            target,
            pod: pod.name.clone(),
            ordinal,
            frozen: target::frozen(set, settings),
            added,
        })
    }

    /// The names of the Pod's claims, and their desired templates.
    pub fn claims(&self) -> impl Iterator<Item = (ClaimName, &'s ClaimTemplate)> {
        let (set, ordinal) = (self.set, self.ordinal);
        let templates = self.target.change.templates.iter();
        templates.filter_map(move |template| Some((ClaimName::new(&template.name, &set.name, ordinal).ok()?, template)))
    }

    /// Why the Pod waits whatever the state of its claims.
    #[must_use]
    pub fn waits_anyway(&self) -> Option<String> {
        let (set, pod) = (&self.set.name, &self.pod);
        if let Some(added) = self.added {
            return Some(format!(
                "the staged template {} is not live yet; Pod {pod} is replaced after the StatefulSet",
                shown(added)
            ));
        }
        if self.set.paused {
            return Some(format!(
                "the rollout is paused by the annotation {}; Pod {pod} is replaced after the pause",
                keys::PAUSED
            ));
        }
        // All Pods are deleted together: `ready` means that the controller has checked all claims.
        let is_open = |ready: &Ready| ready.revision == self.target.label.revision;
        let waits = self.set.strategy == Strategy::Recreate && !self.set.ready.as_ref().is_some_and(is_open);
        waits.then(|| format!("the Pods of {set} are replaced together, when all its PVCs are ready"))
    }

    /// Why the Pod waits for this claim; `None` if it does not wait, or the claim does not exist.
    #[must_use]
    pub fn waits_for(&self, claim: Option<&Claim>, template: &ClaimTemplate) -> Option<String> {
        let claim = claim?;
        let template = &*in_place(template, claim, self.frozen);
        if !keeps_pod(claim, template, (&self.set.uid, &self.pod), &self.target.label) {
            return None;
        }
        let why = if claim.lost || readiness::is_at(claim, template, &self.target.label) {
            let state = readiness::state_at_target(claim, template);
            let (_, why) = readiness::explain(state, claim, template);
            format!("is {state}: {why}")
        } else {
            format!("is not yet at revision {}", self.target.label.revision)
        };
        let (claim, pod) = (&claim.name, &self.pod);
        Some(format!("{claim} {why}; Pod {pod} is replaced when it is ready"))
    }
}

/// True iff the claim keeps this Pod of the set with this uid from being replaced. The template is what the claim can get
/// of the desired one.
///
/// The claim of another object keeps no Pod: nobody updates it, so the Pod would wait for ever.
#[must_use]
pub fn keeps_pod(claim: &Claim, template: &ClaimTemplate, (set_uid, pod): (&str, &str), label: &RevisionLabel) -> bool {
    belongs(claim, set_uid, pod) && readiness::keeps_pod(claim, template, label)
}

/// Why the Pod may not be deleted now; `None` if it may. `claims` returns existing claims.
#[must_use]
pub fn gate<'c>(
    pod: &Pod,
    set: &SetView,
    settings: &Settings,
    claims: impl Fn(&ClaimName) -> Option<&'c Claim>,
) -> Option<String> {
    let gate = Gate::of(pod, set, settings)?;
    let mut waits = gate
        .claims()
        .filter_map(|(name, template)| gate.waits_for(claims(&name), template));
    gate.waits_anyway().or_else(|| waits.next())
}

#[cfg(test)]
#[path = "pods_tests.rs"]
mod tests;
