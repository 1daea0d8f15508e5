//! The API server of the model: the stored objects, and the answers to writes.
//!
//! The answers are those of a real API server 1.37, as the end-to-end tests found them.

use std::sync::Arc;

use super::objects::{
    Age, ClaimObject, ClaimOwner, ClaimsBySlot, ModelTarget, ORDINALS, PodObject, PodsByOrdinal, ReportObject, SLOTS,
    SetObject, SetObjectSpec, Uid, Version, Want, place, slot,
};
use super::settings::ModelSettings;
use super::write::{ApiAnswer, Apply, DenialCause, Write};

/// The stored objects, and settings of the cluster.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Api {
    pub(crate) set: Option<SetObject>,
    pub(crate) claims: ClaimsBySlot,
    pub(crate) pods: PodsByOrdinal,
    pub(crate) report: Option<ReportObject>,
    /// Claims that a foreign Pod mounts, by slot.
    pub(crate) foreign_mounts: u16,
    /// A set `a-web` with a template `data` exists. Its claims have the names of those of our second template.
    pub(crate) sibling: bool,
    /// The Gi that all claims together may request.
    pub(crate) quota: u8,
    /// `allowVolumeExpansion` of the StorageClass.
    pub(crate) expandable: bool,
    /// The settings of the policy and the controller.
    pub(crate) settings: ModelSettings,
    /// The policy and its gate are registered.
    pub(crate) policy: bool,
    /// The policy knows the account of our controller (`controllerAccounts`); otherwise, it takes the controller for a
    /// user.
    pub(crate) known: bool,
    /// The StatefulSet controller supports `maxUnavailable`, the default since 1.37.
    pub(crate) max_unavailable: bool,
    /// What a webhook changes in an apply on a claim.
    pub(crate) webhook: WebhookEdit,
    /// Reports can be written.
    pub(crate) reports: bool,
    /// Claims that a webhook changed during their last write, by slot.
    pub(crate) put_back: u16,
    /// The policy denied a deletion: the StatefulSet controller backs off until its set or a Pod changes, or for a
    /// long time.
    pub(crate) backoff: Option<Backoff>,
    pub(crate) last_uid: Uid,
    pub(crate) last_version: Version,
    pub(crate) last_staging: u8,
}

/// What a webhook, or a disabled feature gate, changes in an apply on a claim.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) enum WebhookEdit {
    /// Nothing.
    #[default]
    No,
    /// It removes our label.
    Label,
    /// It restores the previous size.
    Size,
    /// It restores the previous attributes class.
    Class,
    /// It does not answer for the first claim of ordinal 2.
    Down,
    /// It answers for that claim that the claim has changed.
    Overtaken,
    /// It denies what our controller writes to the set.
    Sets,
}

/// The StatefulSet controller backs off, because the deletion of a Pod was denied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Backoff {
    pub(crate) ordinal: u8,
    /// How long it has waited.
    pub(crate) age: Age,
}

/// The claim for which a webhook is called that is down, or answers that the claim has changed.
const HAS_NO_ANSWER: usize = slot(0, 2);

/// The longest backoff of the StatefulSet controller.
const LONGEST_PAUSE: Age = 1000;

impl Api {
    /// An empty cluster.
    pub(crate) fn new() -> Self {
        Self {
            set: None,
            claims: Arc::new([None; SLOTS]),
            pods: Arc::new([None; ORDINALS]),
            report: None,
            foreign_mounts: 0,
            sibling: false,
            quota: u8::MAX,
            expandable: true,
            settings: ModelSettings::Default,
            policy: true,
            known: true,
            max_unavailable: false,
            webhook: WebhookEdit::No,
            reports: true,
            put_back: 0,
            backoff: None,
            last_uid: 0,
            last_version: 0,
            last_staging: 0,
        }
    }

    /// Gives a staging that the policy has just computed a number of its own.
    pub(crate) fn number_staging(&mut self, spec: &mut SetObjectSpec) {
        let staged = spec.staged.iter_mut().map(|change| &mut change.target.staging);
        for staging in staged.filter(|staging| **staging == ModelTarget::NEW) {
            self.last_staging += 1;
            *staging = self.last_staging;
        }
    }

    pub(crate) fn uid(&mut self) -> Uid {
        self.last_uid += 1;
        self.last_uid
    }

    pub(crate) fn version(&mut self) -> Version {
        self.last_version += 1;
        self.last_version
    }

    /// Edits a claim; false if nothing changes.
    pub(crate) fn edit_claim(&mut self, slot: usize, edit: impl FnOnce(&mut ClaimObject)) -> bool {
        let Some(before) = self.claims[slot] else {
            return false;
        };
        let mut after = before;
        edit(&mut after);
        if after == before {
            return false;
        }
        after.version = self.version();
        self.put_back &= !(1 << slot);
        Arc::make_mut(&mut self.claims)[slot] = Some(after);
        true
    }

    /// Edits a Pod; false if nothing changes.
    pub(crate) fn edit_pod(&mut self, ordinal: usize, edit: impl FnOnce(&mut PodObject)) -> bool {
        let Some(before) = self.pods[ordinal] else {
            return false;
        };
        let mut after = before;
        edit(&mut after);
        if after == before {
            return false;
        }
        after.version = self.version();
        self.backoff = None;
        Arc::make_mut(&mut self.pods)[ordinal] = Some(after);
        true
    }

    /// Edits the set; false if nothing changes. After a change of the spec, the status is not observed.
    pub(crate) fn edit_set(&mut self, edit: impl FnOnce(&mut SetObject)) -> bool {
        let Some(before) = self.set else {
            return false;
        };
        let mut after = before;
        edit(&mut after);
        if after == before {
            return false;
        }
        if generation(&after) != generation(&before) {
            after.status.observed = false;
        }
        after.version = self.version();
        self.backoff = None;
        self.set = Some(after);
        true
    }

    /// Upgrades to Kubernetes 1.37.
    pub(crate) fn upgrade(&mut self) {
        self.max_unavailable = true;
        self.edit_set(|set| set.max_unavailable = true);
    }

    /// Removes the set.
    pub(crate) fn drop_set(&mut self) {
        (self.set, self.backoff) = (None, None);
    }

    /// Time passes for the StatefulSet controller.
    pub(crate) fn pass_backoff(&mut self, seconds: Age) {
        self.backoff = self.backoff.and_then(|backoff| {
            let age = backoff.age.saturating_add(seconds);
            (age < LONGEST_PAUSE).then_some(Backoff { age, ..backoff })
        });
    }

    pub(crate) fn put_claim(&mut self, slot: usize, claim: Option<ClaimObject>) {
        Arc::make_mut(&mut self.claims)[slot] = claim;
    }

    pub(crate) fn put_pod(&mut self, ordinal: usize, pod: Option<PodObject>) {
        self.backoff = None;
        Arc::make_mut(&mut self.pods)[ordinal] = pod;
    }

    /// Deletes a claim, at once or after its last Pod.
    pub(crate) fn delete_claim(&mut self, slot: usize) -> bool {
        let mounted = self.pods[place(slot).1].is_some() || self.foreign_mounts & 1 << slot != 0;
        if mounted {
            return self.edit_claim(slot, |claim| claim.terminating = true);
        }
        let there = self.claims[slot].is_some();
        self.put_claim(slot, None);
        there
    }

    /// The Gi that the quota counts of all claims together.
    fn asked(&self) -> u32 {
        let claims = self.claims.iter().flatten();
        claims.map(|claim| u32::from(claim.counted())).sum()
    }

    /// The Gi that the quota has left; `None` without a quota.
    pub(crate) fn room(&self) -> Option<u8> {
        let left = u32::from(self.quota).saturating_sub(self.asked());
        (self.quota != u8::MAX).then(|| u8::try_from(left).unwrap_or(u8::MAX))
    }

    /// Whether the quota has room to replace `before` Gi by `after` Gi.
    pub(crate) fn has_room(&self, before: u8, after: u8) -> bool {
        after <= before || self.asked() - u32::from(before) + u32::from(after) <= u32::from(self.quota)
    }

    /// Executes a write of ours.
    pub(crate) fn answer(&mut self, write: &Write) -> ApiAnswer {
        match *write {
            Write::Apply(apply) => self.apply(&apply),
            Write::StagedChange { uid, version, change } => self.patch_set(uid, version, |set| {
                (set.spec.staged, set.spec.ready) = (change, None);
            }),
            Write::Ready { uid, version, ready } => self.patch_set(uid, version, |set| set.spec.ready = ready),
            Write::Report { .. } if !self.reports => ApiAnswer::Unsure,
            Write::Report { set, content, target } => {
                let before = self.report.filter(|report| report.set == set);
                if before.is_none_or(|report| report.content != content) {
                    let uid = self.report.map_or_else(|| self.uid(), |report| report.uid);
                    let version = self.version();
                    let before = before.filter(|report| report.target == target);
                    let started = before.map_or(0, |report| report.started);
                    self.report = Some(ReportObject {
                        uid,
                        version,
                        set,
                        content,
                        target,
                        started,
                    });
                }
                ApiAnswer::Done
            }
            Write::Partition { uid, version, to } => self.patch_set(uid, version, |set| set.spec.partition = to),
            Write::Delete { slot } => {
                self.delete_claim(slot.into());
                ApiAnswer::Done
            }
        }
    }

    /// F15 and F16: a merge patch that names uid and resourceVersion.
    fn patch_set(
        &mut self,
        uid: Option<Uid>,
        version: Option<Version>,
        edit: impl FnOnce(&mut SetObject),
    ) -> ApiAnswer {
        let Some(set) = self.set else {
            return ApiAnswer::NotFound;
        };
        if version.is_some_and(|version| version != set.version) {
            return ApiAnswer::Conflict;
        }
        if uid.is_some_and(|uid| uid != set.uid) {
            return ApiAnswer::NotFound;
        }
        if self.webhook == WebhookEdit::Sets {
            return ApiAnswer::Refused(DenialCause::Webhook);
        }
        self.edit_set(edit);
        ApiAnswer::Done
    }

    /// F6 to F15: a forced server-side apply on a claim.
    fn apply(&mut self, apply: &Apply) -> ApiAnswer {
        let slot = usize::from(apply.slot);
        let Some(claim) = self.claims[slot] else {
            if apply.uid.is_some() {
                return ApiAnswer::Conflict;
            }
            // F12: an apply without a uid creates the claim.
            let (uid, version) = (self.uid(), self.version());
            let mut claim = ClaimObject::new(
                uid,
                version,
                Want {
                    size: apply.size,
                    class: apply.class,
                    storage_class: apply.storage_class,
                    tier: apply.tier,
                },
            );
            claim.revision = Some(apply.revision);
            self.put_claim(slot, Some(claim));
            return ApiAnswer::Done;
        };
        if apply.version.is_some_and(|version| version != claim.version) {
            return ApiAnswer::Conflict;
        }
        if apply.uid.is_some_and(|uid| uid != claim.uid) {
            return ApiAnswer::NotFound;
        }
        let mut after = apply.on(&claim);
        match self.webhook {
            WebhookEdit::Down if slot == HAS_NO_ANSWER => return ApiAnswer::Unsure,
            WebhookEdit::Overtaken if slot == HAS_NO_ANSWER => return ApiAnswer::Conflict,
            WebhookEdit::No | WebhookEdit::Down | WebhookEdit::Overtaken | WebhookEdit::Sets => {}
            WebhookEdit::Label => after.revision = None,
            WebhookEdit::Size => after.request = claim.request,
            WebhookEdit::Class => after.class = claim.class,
        }
        if let Err(cause) = self.check(&claim, &after) {
            return ApiAnswer::Refused(cause);
        }
        self.edit_claim(slot, |claim| *claim = after);
        if !apply.is_in(&after) {
            self.put_back |= 1 << slot;
        }
        ApiAnswer::Done
    }

    /// Validation and admission of a change of a claim.
    pub(crate) fn check(&self, before: &ClaimObject, after: &ClaimObject) -> Result<(), DenialCause> {
        if after.storage_class != before.storage_class {
            return Err(DenialCause::Immutable);
        }
        let (grows, same_class) = (after.request > before.request, after.class == before.class);
        if !before.bound && (after.request != before.request || !same_class) {
            return Err(DenialCause::Immutable);
        }
        if after.request < before.request && after.request <= before.capacity {
            return Err(DenialCause::Shrink);
        }
        if after.class == 0 && before.current_class != 0 && !same_class {
            return Err(DenialCause::Class);
        }
        if grows && !self.expandable {
            return Err(DenialCause::NotExpandable);
        }
        if grows && !self.has_room(before.counted(), after.counted()) {
            return Err(DenialCause::Quota);
        }
        Ok(())
    }

    /// Whether the owner of a claim exists.
    pub(crate) fn owner_exists(&self, slot: usize) -> bool {
        match self.claims[slot].map(|claim| claim.owner) {
            Some(ClaimOwner::Set(uid)) => self.set.is_some_and(|set| set.uid == uid),
            Some(ClaimOwner::Pod(uid)) => self.pods[place(slot).1].is_some_and(|pod| pod.uid == uid),
            _ => true,
        }
    }
}

/// The fields that raise the generation.
fn generation(set: &SetObject) -> (u8, u8, u8, bool, bool) {
    let spec = &set.spec;
    (
        spec.replicas,
        spec.image,
        spec.partition,
        spec.on_delete,
        spec.when_scaled,
    )
}
