//! People, and the programs that do what people would: GitOps, autoscalers. What they do to the set goes through the
//! policy, if it is there.

use std::sync::Arc;

use crate::sim::api::{Answer, Api, Cause, Meddles};
use crate::sim::log::Log;
use crate::sim::mind::Mind;
use crate::sim::objects::{Claim, Lot, Owner, SLOTS, Set, SetSpec, SetStatus, Share, StagedChange, Target};
use crate::sim::world::World;
use crate::templates::UpdatePolicy;

/// What somebody does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Deed {
    /// Applies a manifest with these templates.
    Target(Target),
    /// Applies a manifest with this image.
    Image(u8),
    /// Both at once.
    Both(Target, u8),
    /// GitOps applies what is in the repository, again.
    Reapply,
    Scale(u8),
    Partition(u8),
    Pause(bool),
    Policy(Option<UpdatePolicy>),
    Async(bool),
    OnDelete(bool),
    /// Names the revision that is staged.
    Withdraw,
    /// Makes a claim larger, or smaller than it asks for.
    Size(u8, u8),
    /// Gives a claim another attributes class.
    Class(u8, u8),
    /// Takes our label from a claim.
    DropLabel(u8),
    /// Takes the selector's label from a claim, or puts it there.
    Select(u8, bool),
    /// Makes somebody else the owner of a claim, or nobody.
    Own(u8, bool),
    /// Mounts a claim from another Pod, or not any more.
    Mount(u8, bool),
    DeleteClaim(u8),
    DeletePod(u8),
    /// A node is drained: its Pod is taken away soon.
    Drain(u8),
    /// A Pod ends, and is not started again.
    Fail(u8),
    /// The disk of a Pod is full.
    FillDisk(u8),
    /// Makes room on it.
    FreeDisk(u8),
    /// Deletes the set with its Pods, or without them.
    DeleteSet(bool),
    /// Makes the set anew, as it is in the repository.
    CreateSet(u8),
    /// Makes a set whose claims would have the same names, or deletes it.
    Sibling(bool),
    /// An operator owns the set, or nobody.
    Owned(bool),
    Quota(u8),
    Expandable(bool),
    /// The largest volume that the driver makes.
    Limit(u8),
    /// The class that the driver does not know.
    BadClass(u8),
    /// The policy is registered, or not.
    Registered(bool),
    /// A webhook changes what is applied to claims, or no more.
    Meddle(Meddles),
    /// Writes a record, which no policy sees if it is not there.
    Forge(Target),
    /// Writes the record of an earlier set.
    Replay,
}

/// Does it; true if anything came of it.
pub(crate) fn act(world: &mut World, deed: Deed, mind: &mut Mind, log: &mut Log) -> bool {
    match deed {
        Deed::Target(target) => {
            world.manifest.0 = target;
            reapply(world, mind, log)
        }
        Deed::Image(image) => {
            world.manifest.1 = image;
            with_the_set(world, mind, log, |spec| spec.image = image)
        }
        Deed::Both(target, image) => {
            world.manifest = (target, image);
            reapply(world, mind, log)
        }
        Deed::Reapply => reapply(world, mind, log),
        Deed::Scale(replicas) => with_the_set(world, mind, log, |spec| spec.replicas = replicas),
        Deed::Partition(partition) => with_the_set(world, mind, log, |spec| spec.partition = partition),
        Deed::Pause(paused) => with_the_set(world, mind, log, |spec| spec.paused = paused),
        Deed::Policy(policy) => with_the_set(world, mind, log, |spec| spec.policy = policy),
        Deed::Async(asynchronous) => with_the_set(world, mind, log, |spec| spec.asynchronous = asynchronous),
        Deed::OnDelete(on_delete) => with_the_set(world, mind, log, |spec| {
            spec.on_delete = on_delete;
            spec.partition = 0;
        }),
        Deed::Withdraw => with_the_set(world, mind, log, |spec| {
            spec.withdraw = spec.staged.map(|change| change.target);
        }),
        Deed::Forge(target) => with_the_set(world, mind, log, |spec| {
            let uid = spec.staged.map_or(0, |change| change.uid);
            spec.staged = Some(StagedChange {
                target,
                complete: false,
                policy: UpdatePolicy::InPlace,
                uid,
            });
        }),
        Deed::Replay => {
            let copied = world.copied;
            with_the_set(world, mind, log, |spec| spec.staged = copied)
        }
        Deed::CreateSet(replicas) => create(world, replicas) == Answer::Done,
        Deed::Limit(limit) => change(&mut world.driver.limit, limit),
        Deed::BadClass(class) => change(&mut world.driver.bad_class, class),
        deed => in_the_cluster(&mut world.api, deed, &mut world.copied),
    }
}

fn reapply(world: &mut World, mind: &mut Mind, log: &mut Log) -> bool {
    let (target, image) = world.manifest;
    with_the_set(world, mind, log, |spec| {
        spec.live = target;
        spec.image = image;
    })
}

/// An update of the set by a user; true if anything came of it.
fn with_the_set(world: &mut World, mind: &mut Mind, log: &mut Log, edit: impl FnOnce(&mut SetSpec)) -> bool {
    let before = world.api.last_version;
    let answer = update(world, mind, edit);
    if matches!(answer, Answer::Refused(_)) {
        log.line(|| "    refused".to_owned());
    }
    world.api.last_version != before
}

fn change<T: PartialEq>(place: &mut T, value: T) -> bool {
    let changes = *place != value;
    *place = value;
    changes
}

/// An update of the set by a user.
pub(crate) fn update(world: &mut World, mind: &mut Mind, edit: impl FnOnce(&mut SetSpec)) -> Answer {
    let Some(set) = world.api.set else {
        return Answer::Gone;
    };
    let mut asked = set.spec;
    edit(&mut asked);
    let stored = if world.api.policy {
        mind.update(&set, asked, world.recover.then_some(&world.api.claims))
    } else {
        // F1
        Some(asked)
            .filter(|asked| asked.live == set.spec.live)
            .ok_or(Cause::Immutable)
    };
    match stored {
        Err(cause) => Answer::Refused(cause),
        Ok(spec) if spec.on_delete && spec.partition != 0 => Answer::Refused(Cause::Strategy),
        Ok(spec) => {
            world.api.edit_set(|set| set.spec = spec);
            Answer::Done
        }
    }
}

/// The set as it is in the repository; what was staged before has been reached by new sets.
pub(crate) fn create(world: &mut World, replicas: u8) -> Answer {
    if world.api.set.is_some() {
        return Answer::Conflict;
    }
    let (target, image) = world.manifest;
    let (uid, version) = (world.api.uid(), world.api.version());
    let spec = SetSpec {
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
    let status = SetStatus {
        update: image,
        current: image,
        ..SetStatus::default()
    };
    world.api.set = Some(Set {
        uid,
        version,
        terminating: false,
        owned: false,
        max_unavailable: world.api.max_unavailable,
        spec,
        status,
    });
    Answer::Done
}

fn in_the_cluster(api: &mut Api, deed: Deed, copied: &mut Option<StagedChange>) -> bool {
    match deed {
        Deed::Size(slot, size) => with_a_claim(api, slot, |claim| {
            claim.request = size;
            claim.our_size = false;
        }),
        Deed::Class(slot, class) => with_a_claim(api, slot, |claim| {
            claim.class = class;
            claim.our_class = Share::None;
        }),
        Deed::DropLabel(slot) => with_a_claim(api, slot, |claim| claim.revision = None),
        Deed::Select(slot, selected) => with_a_claim(api, slot, |claim| claim.selected = selected),
        Deed::Own(slot, own) => with_a_claim(api, slot, |claim| {
            claim.owner = if own { Owner::Stranger } else { Owner::Nobody }
        }),
        Deed::Mount(slot, mount) => {
            let bit = 1 << slot;
            let strangers = if mount {
                api.strangers | bit
            } else {
                api.strangers & !bit
            };
            change(&mut api.strangers, strangers)
        }
        Deed::DeleteClaim(slot) => {
            let there = api.claims[usize::from(slot)].is_some_and(|claim| !claim.terminating);
            there && api.delete_claim(slot.into())
        }
        Deed::DeletePod(ordinal) => api.edit_pod(ordinal.into(), |pod| pod.terminating = true),
        Deed::Drain(ordinal) => api.edit_pod(ordinal.into(), |pod| pod.lot = Lot::Disrupted),
        Deed::Fail(ordinal) => api.edit_pod(ordinal.into(), |pod| (pod.ready, pod.lot) = (None, Lot::Failed)),
        Deed::FillDisk(ordinal) => {
            let full = api.claims[usize::from(ordinal)].map_or(0, |claim| claim.capacity);
            api.edit_pod(ordinal.into(), |pod| (pod.ready, pod.full) = (None, full))
        }
        Deed::FreeDisk(ordinal) => api.edit_pod(ordinal.into(), |pod| pod.full = 0),
        Deed::DeleteSet(orphan) => delete(api, orphan, copied),
        Deed::Sibling(there) => change(&mut api.sibling, there),
        Deed::Owned(owned) => api.edit_set(|set| set.owned = owned),
        Deed::Quota(quota) => change(&mut api.quota, quota),
        Deed::Expandable(expandable) => change(&mut api.expandable, expandable),
        Deed::Registered(registered) => change(&mut api.policy, registered),
        Deed::Meddle(meddles) => change(&mut api.meddles, meddles),
        _ => false,
    }
}

/// A user's update of a claim; true if anything came of it.
fn with_a_claim(api: &mut Api, slot: u8, edit: impl FnOnce(&mut Claim)) -> bool {
    let before = api.last_version;
    self::edit(api, slot, edit);
    api.last_version != before
}

/// A user's update of a claim; the API server judges it as ours.
pub(crate) fn edit(api: &mut Api, slot: u8, edit: impl FnOnce(&mut Claim)) -> Answer {
    let Some(before) = api.claims[usize::from(slot)] else {
        return Answer::Gone;
    };
    let mut after = before;
    edit(&mut after);
    let same = Claim {
        our_size: before.our_size,
        our_class: before.our_class,
        ..after
    } == before;
    if same {
        return Answer::Done;
    }
    if let Err(cause) = api.check(&before, &after) {
        return Answer::Refused(cause);
    }
    api.edit_claim(slot.into(), |claim| *claim = after);
    Answer::Done
}

pub(crate) fn delete(api: &mut Api, orphan: bool, copied: &mut Option<StagedChange>) -> bool {
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
                if claim.owner == Owner::Set(set.uid) {
                    claim.owner = Owner::Nobody;
                }
            });
        }
    }
    // The ClaimRollout is owned by the set.
    api.report = None;
    true
}

const _: () = assert!(SLOTS <= 16);
