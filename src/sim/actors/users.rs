//! The users of the set, and their tools: GitOps, autoscalers. Their updates of the set go through the policy while
//! it is registered.

use std::sync::Arc;

use crate::sim::actors::action::UserAction;
use crate::sim::api::Api;
use crate::sim::decisions::Decisions;
use crate::sim::log::Log;
use crate::sim::objects::{
    ClaimObject, ClaimOwner, PodHealth, SLOTS, SetObject, SetObjectSpec, SetObjectStatus, Share, StagedAnnotation,
};
use crate::sim::world::SimWorld;
use crate::sim::write::{ApiAnswer, DenialCause};
use crate::templates::UpdatePolicy;

impl SimWorld {
    /// Executes an action; true if it changed anything.
    pub(crate) fn act(&mut self, action: UserAction, decisions: &mut Decisions, log: &mut Log) -> bool {
        match action {
            UserAction::Target(target) => {
                self.manifest.0 = target;
                reapply(self, decisions, log)
            }
            UserAction::Image(image) => {
                self.manifest.1 = image;
                update_set(self, decisions, log, |spec| spec.image = image)
            }
            UserAction::Both(target, image) => {
                self.manifest = (target, image);
                reapply(self, decisions, log)
            }
            UserAction::Reapply => reapply(self, decisions, log),
            UserAction::Scale(replicas) => update_set(self, decisions, log, |spec| spec.replicas = replicas),
            UserAction::Partition(partition) => update_set(self, decisions, log, |spec| spec.partition = partition),
            UserAction::Pause(paused) => update_set(self, decisions, log, |spec| spec.paused = paused),
            UserAction::Policy(policy) => update_set(self, decisions, log, |spec| spec.policy = policy),
            UserAction::Async(asynchronous) => {
                update_set(self, decisions, log, |spec| spec.asynchronous = asynchronous)
            }
            UserAction::OnDelete(on_delete) => update_set(self, decisions, log, |spec| {
                spec.on_delete = on_delete;
                spec.partition = 0;
            }),
            UserAction::Withdraw => update_set(self, decisions, log, |spec| {
                spec.withdraw = spec.staged.map(|change| change.target);
            }),
            UserAction::Forge(target) => update_set(self, decisions, log, |spec| {
                let uid = spec.staged.map_or(0, |change| change.uid);
                spec.staged = Some(StagedAnnotation {
                    target,
                    complete: false,
                    replicas: spec.replicas,
                    policy: UpdatePolicy::InPlace,
                    uid,
                    newer: false,
                });
            }),
            UserAction::Replay => {
                let copied = self.copied;
                update_set(self, decisions, log, |spec| spec.staged = copied)
            }
            UserAction::CreateSet(replicas) => create(self, replicas) == ApiAnswer::Done,
            UserAction::Limit(limit) => change(&mut self.driver.limit, limit),
            UserAction::BadClass(class) => change(&mut self.driver.bad_class, class),
            UserAction::Offline(offline) => change(&mut self.driver.offline, offline),
            action => act_on_objects(&mut self.api, action, &mut self.copied),
        }
    }
}

fn reapply(world: &mut SimWorld, decisions: &mut Decisions, log: &mut Log) -> bool {
    let (target, image) = world.manifest;
    update_set(world, decisions, log, |spec| {
        spec.live = target;
        spec.image = image;
    })
}

/// A user updates the set; true if that changed anything.
fn update_set(
    world: &mut SimWorld,
    decisions: &mut Decisions,
    log: &mut Log,
    edit: impl FnOnce(&mut SetObjectSpec),
) -> bool {
    let before = world.api.last_version;
    let answer = update(world, decisions, edit);
    if matches!(answer, ApiAnswer::Refused(_)) {
        log.line(|| "    denied".to_owned());
    }
    world.api.last_version != before
}

fn change<T: PartialEq>(place: &mut T, value: T) -> bool {
    let changes = *place != value;
    *place = value;
    changes
}

/// A user updates the set.
pub(crate) fn update(
    world: &mut SimWorld,
    decisions: &mut Decisions,
    edit: impl FnOnce(&mut SetObjectSpec),
) -> ApiAnswer {
    let Some(set) = world.api.set else {
        return ApiAnswer::NotFound;
    };
    let mut asked = set.spec;
    edit(&mut asked);
    let stored = if world.api.policy {
        decisions.update(&set, asked, &world.api)
    } else {
        // F1: the API server denies other templates.
        Some(asked)
            .filter(|asked| asked.live == set.spec.live)
            .ok_or(DenialCause::Immutable)
    };
    match stored {
        Err(cause) => ApiAnswer::Refused(cause),
        Ok(spec) if spec.on_delete && spec.partition != 0 => ApiAnswer::Refused(DenialCause::Strategy),
        Ok(mut spec) => {
            world.api.number_staging(&mut spec);
            let target = |spec: &SetObjectSpec| spec.staged.map(|change| change.target);
            let stages = target(&spec) != target(&set.spec);
            world.api.edit_set(|set| {
                set.spec = spec;
                set.since_staged = if stages { 0 } else { set.since_staged };
            });
            ApiAnswer::Done
        }
    }
}

/// Creates the set from the repository.
pub(crate) fn create(world: &mut SimWorld, replicas: u8) -> ApiAnswer {
    if world.api.set.is_some() {
        return ApiAnswer::Conflict;
    }
    let (target, image) = world.manifest;
    let (uid, version) = (world.api.uid(), world.api.version());
    let spec = SetObjectSpec {
        replicas,
        image,
        live: target,
        staged: None,
        policy: None,
        paused: false,
        asynchronous: false,
        partition: 0,
        ready: None,
        withdraw: None,
        on_delete: false,
        parallel: false,
        in_motion: 1,
        when_scaled: false,
        when_deleted: false,
        min_ready: 0,
    };
    let status = SetObjectStatus {
        update: image,
        current: image,
        ..SetObjectStatus::default()
    };
    world.api.set = Some(SetObject {
        uid,
        version,
        terminating: false,
        owned: false,
        max_unavailable: world.api.max_unavailable,
        since_staged: 0,
        spec,
        status,
    });
    ApiAnswer::Done
}

fn act_on_objects(api: &mut Api, action: UserAction, copied: &mut Option<StagedAnnotation>) -> bool {
    match action {
        UserAction::Size(slot, size) => update_claim(api, slot, |claim| {
            claim.request = size;
            claim.our_size = false;
        }),
        UserAction::Class(slot, class) => update_claim(api, slot, |claim| {
            claim.class = class;
            claim.our_class = Share::None;
        }),
        UserAction::DropLabel(slot) => update_claim(api, slot, |claim| claim.revision = None),
        UserAction::Select(slot, selected) => update_claim(api, slot, |claim| claim.selected = selected),
        UserAction::Own(slot, own) => update_claim(api, slot, |claim| {
            claim.owner = if own { ClaimOwner::Other } else { ClaimOwner::None }
        }),
        UserAction::Mount(slot, mount) => {
            let bit = 1 << slot;
            let foreign_mounts = if mount {
                api.foreign_mounts | bit
            } else {
                api.foreign_mounts & !bit
            };
            change(&mut api.foreign_mounts, foreign_mounts)
        }
        UserAction::DeleteClaim(slot) => {
            let there = api.claims[usize::from(slot)].is_some_and(|claim| !claim.terminating);
            there && api.delete_claim(slot.into())
        }
        UserAction::DeletePod(ordinal) => api.edit_pod(ordinal.into(), |pod| pod.terminating = true),
        UserAction::Drain(ordinal) => api.edit_pod(ordinal.into(), |pod| pod.health = PodHealth::Disrupted),
        UserAction::Fail(ordinal) => api.edit_pod(ordinal.into(), |pod| {
            (pod.ready, pod.health) = (None, PodHealth::Failed);
        }),
        UserAction::FillDisk(ordinal) => {
            let full = api.claims[usize::from(ordinal)].map_or(0, |claim| claim.capacity);
            api.edit_pod(ordinal.into(), |pod| (pod.ready, pod.full) = (None, full))
        }
        UserAction::FreeDisk(ordinal) => api.edit_pod(ordinal.into(), |pod| pod.full = 0),
        UserAction::DeleteSet(orphan) => delete(api, orphan, copied),
        UserAction::Sibling(there) => change(&mut api.sibling, there),
        UserAction::Newer(newer) => api.edit_set(|set| {
            set.spec.staged.iter_mut().for_each(|change| change.newer = newer);
        }),
        UserAction::Owned(owned) => api.edit_set(|set| set.owned = owned),
        UserAction::Quota(quota) => change(&mut api.quota, quota),
        UserAction::Expandable(expandable) => change(&mut api.expandable, expandable),
        UserAction::Registered(registered) => change(&mut api.policy, registered),
        UserAction::Known(known) => change(&mut api.known, known),
        UserAction::Webhook(webhook) => change(&mut api.webhook, webhook),
        UserAction::Reports(written) => change(&mut api.reports, written),
        UserAction::DeleteReport => api.report.take().is_some(),
        _ => false,
    }
}

/// A user updates a claim; true if that changed anything.
fn update_claim(api: &mut Api, slot: u8, edit: impl FnOnce(&mut ClaimObject)) -> bool {
    let before = api.last_version;
    self::edit(api, slot, edit);
    api.last_version != before
}

/// A user updates a claim. The API server validates it like a write of ours.
pub(crate) fn edit(api: &mut Api, slot: u8, edit: impl FnOnce(&mut ClaimObject)) -> ApiAnswer {
    let Some(before) = api.claims[usize::from(slot)] else {
        return ApiAnswer::NotFound;
    };
    let mut after = before;
    edit(&mut after);
    let same = ClaimObject {
        our_size: before.our_size,
        our_class: before.our_class,
        ..after
    } == before;
    if same {
        return ApiAnswer::Done;
    }
    if let Err(cause) = api.check(&before, &after) {
        return ApiAnswer::Refused(cause);
    }
    api.edit_claim(slot.into(), |claim| *claim = after);
    ApiAnswer::Done
}

pub(crate) fn delete(api: &mut Api, orphan: bool, copied: &mut Option<StagedAnnotation>) -> bool {
    let Some(set) = api.set else {
        return false;
    };
    if set.staged_change().is_some() {
        *copied = set.spec.staged;
    }
    api.drop_set();
    if orphan {
        let mut pods = *api.pods;
        pods.iter_mut()
            .flatten()
            .filter(|pod| pod.set == set.uid)
            .for_each(|pod| pod.set = 0);
        api.pods = Arc::new(pods);
        for slot in 0..SLOTS {
            api.edit_claim(slot, |claim| {
                if claim.owner == ClaimOwner::Set(set.uid) {
                    claim.owner = ClaimOwner::None;
                }
            });
        }
    }
    // The set owns the ClaimRollout.
    api.report = None;
    true
}

const _: () = assert!(SLOTS <= 16);
