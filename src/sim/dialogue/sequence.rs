//! Random requests from a seed. The objects of the model guide the choice, so most requests are meaningful.

use super::request::{Holder, ModelRequest, SetEdit, WritePrecondition};
use super::{Model, ModelTarget, PolicyMode, Want};
use crate::sim::actors::storage::{self, Driver, Resizing};
use crate::sim::objects::{ORDINALS, PodHealth, PodObject, SLOTS, place};
use crate::sim::schedule::Random;

/// The requests of a sequence.
const LENGTH: usize = 80;
/// Replicas with claims: few, so that requests meet the same claims again.
const REPLICAS: usize = 2;

/// The sequence of a seed.
#[must_use]
pub fn sequence(seed: u64) -> (PolicyMode, Vec<ModelRequest>) {
    let mut random = Random::new(seed);
    let mode = random.pick(&[
        PolicyMode::Absent,
        PolicyMode::Deny,
        PolicyMode::Deny,
        PolicyMode::Recover,
    ]);
    let mut model = Model::new(mode);
    let mut requests = Vec::with_capacity(LENGTH);
    while requests.len() < LENGTH {
        let request = choose(&mut random, &model);
        model.ask(&request);
        requests.push(request);
    }
    (mode, requests)
}

fn choose(random: &mut Random, model: &Model) -> ModelRequest {
    let api = &model.world.api;
    if api.set.is_none() && random.below(3) > 0 {
        return ModelRequest::Create(random.byte(4), first(random));
    }
    let slot = slot(random, model);
    let claim = api.claims[usize::from(slot)];
    match claim {
        None if random.below(3) > 0 && api.set.is_some() => return ModelRequest::NewClaim(slot),
        Some(claim) if !claim.bound && random.below(3) == 0 => return ModelRequest::Bind(slot),
        _ => {}
    }
    match random.below(100) {
        0..18 => ours(random, model, slot),
        18..24 => {
            let (uid, version) = names(random);
            ModelRequest::StagedChange(uid, version, target(random, model), random.coin())
        }
        24..30 => {
            let (uid, version) = names(random);
            let ready = (random.below(4) > 0).then(|| (target(random, model), random.byte(4)));
            ModelRequest::Ready(uid, version, ready)
        }
        30..34 => {
            let target = target(random, model);
            // The number differs for each target.
            let parts = target
                .wants()
                .iter()
                .flat_map(|want| [want.size, want.class, want.tier]);
            let content = parts.fold(0, |content, part| content * 40 + u32::from(part));
            ModelRequest::Report(target, content)
        }
        34..56 => ModelRequest::Update(edits(random, model)),
        56 => ModelRequest::Remove(random.coin()),
        57 => ModelRequest::Owned(random.coin()),
        58 => ModelRequest::Sibling(random.coin()),
        59 => ModelRequest::Create(random.byte(4), first(random)),
        60..63 => ModelRequest::Observe,
        63..66 => ModelRequest::Quota(random.pick(&[u8::MAX, 6, 12, 20])),
        66..68 => ModelRequest::Expandable(random.below(3) > 0),
        _ => of_others(random, model, slot),
    }
}

/// A slot of these replicas.
fn slot(random: &mut Random, model: &Model) -> u8 {
    let templates = model
        .world
        .api
        .set
        .map_or(1, |set| usize::from(set.spec.live.templates));
    let template = random.below(templates);
    u8::try_from(template * ORDINALS + random.below(REPLICAS)).unwrap_or(0)
}

/// Most writes of ours name the existing object.
fn names(random: &mut Random) -> (Option<WritePrecondition>, Option<WritePrecondition>) {
    let all = [
        Some(WritePrecondition::Now),
        Some(WritePrecondition::Now),
        Some(WritePrecondition::Now),
        Some(WritePrecondition::Other),
        None,
    ];
    (random.pick(&all), random.pick(&all))
}

fn ours(random: &mut Random, model: &Model, slot: u8) -> ModelRequest {
    let claim = model.world.api.claims[usize::from(slot)];
    let (uid, version) = names(random);
    // An apply without a uid to a missing claim creates it. Ours always names the uid.
    let uid = if claim.is_none() {
        Some(WritePrecondition::Other)
    } else {
        uid
    };
    let request = claim.map_or(1, |claim| claim.request);
    let size = match random.below(6) {
        0 => request.saturating_sub(1 + random.byte(2)).max(1),
        1 | 2 => request,
        _ => request + 1 + random.byte(2),
    };
    let class = match claim {
        Some(claim) if random.coin() => claim.class,
        _ => random.byte(3),
    };
    let tier = match claim {
        Some(claim) if random.coin() => claim.tier,
        _ => random.byte(3),
    };
    ModelRequest::Apply(
        slot,
        uid,
        version,
        ModelTarget::of(&[Want {
            class,
            tier,
            ..Want::size(size)
        }]),
        target(random, model),
    )
}

/// The first templates of a set.
fn first(random: &mut Random) -> ModelTarget {
    let mut want = || Want {
        size: 1 + random.byte(3),
        class: random.byte(2),
        tier: random.byte(2),
        storage_class: 0,
    };
    let wants = [want(), want()];
    ModelTarget::of(&wants[..1 + random.below(2)])
}

/// The live or staged target with a change.
fn target(random: &mut Random, model: &Model) -> ModelTarget {
    let Some(set) = model.world.api.set else {
        return first(random);
    };
    let staged = set.staged_change().map(|change| change.target);
    let mut target = staged.filter(|_| random.coin()).unwrap_or(set.spec.live);
    let template = random.below(usize::from(target.templates));
    let want = &mut target.wants[template];
    match random.below(9) {
        0..3 => want.size += 1 + random.byte(2),
        3 => want.size = want.size.saturating_sub(1).max(1),
        4 => want.class = random.byte(3),
        5 => want.tier = random.byte(3),
        6 => target = first(random),
        _ => {}
    }
    target
}

fn edits(random: &mut Random, model: &Model) -> Vec<SetEdit> {
    let mut edits = vec![edit(random, model)];
    if random.below(4) == 0 {
        let another = edit(random, model);
        let same = |edit: &SetEdit| std::mem::discriminant(edit) == std::mem::discriminant(&another);
        // Strategy and partition at once are one field written twice.
        let strategy = |edit: &SetEdit| matches!(edit, SetEdit::OnDelete(_) | SetEdit::Partition(_));
        if !edits
            .iter()
            .any(|edit| same(edit) || (strategy(edit) && strategy(&another)))
        {
            edits.push(another);
        }
    }
    edits
}

fn edit(random: &mut Random, model: &Model) -> SetEdit {
    let staged = model
        .world
        .api
        .set
        .and_then(|set| set.staged_change().map(|change| change.target));
    match random.below(20) {
        0..7 => SetEdit::Templates(target(random, model)),
        7 | 8 => SetEdit::Image(random.byte(3)),
        9 | 10 => SetEdit::Replicas(random.byte(4)),
        // The model does not distinguish no partition from 0.
        11 | 12 => SetEdit::Partition(1 + random.byte(3)),
        13 => SetEdit::Paused(random.coin()),
        14 => SetEdit::InPlace(random.pick(&[None, Some(true), Some(false)])),
        15 => SetEdit::Async(random.coin()),
        16 => SetEdit::OnDelete(random.coin()),
        17 | 18 => SetEdit::Withdraw(staged.filter(|_| random.below(4) > 0).unwrap_or(target(random, model))),
        _ => SetEdit::Staged(target(random, model), random.coin()),
    }
}

fn of_others(random: &mut Random, model: &Model, slot: u8) -> ModelRequest {
    let claim = model.world.api.claims[usize::from(slot)];
    let request = claim.map_or(1, |claim| claim.request);
    match random.below(32) {
        0..4 => ModelRequest::Size(
            slot,
            if random.below(3) == 0 {
                request.saturating_sub(1 + random.byte(2)).max(1)
            } else {
                request + random.byte(3)
            },
        ),
        4..7 => ModelRequest::Class(slot, random.byte(3)),
        7 => ModelRequest::DropLabel(slot),
        8 => ModelRequest::Select(slot, random.coin()),
        9 | 10 => ModelRequest::Own(slot, random.pick(&[Holder::Nobody, Holder::Set, Holder::Stranger])),
        11 | 12 => ModelRequest::Mount(slot, random.coin()),
        13 | 14 => ModelRequest::Delete(slot),
        15 | 16 => ModelRequest::Release(terminating(model).unwrap_or(slot)),
        17..20 => ModelRequest::Bind(slot),
        _ => status(random, model, slot),
    }
}

/// A terminating claim.
fn terminating(model: &Model) -> Option<u8> {
    let slot = (0..SLOTS).find(|slot| model.world.api.claims[*slot].is_some_and(|claim| claim.terminating));
    u8::try_from(slot?).ok()
}

/// The next write of the resizer.
fn status(random: &mut Random, model: &Model, slot: u8) -> ModelRequest {
    let mut api = model.world.api.clone();
    let driver = Driver {
        limit: random.pick(&[u8::MAX, 4]),
        bad_class: random.byte(3),
        needs_node: random.coin(),
        ..Driver::default()
    };
    let how = random.pick(&[Resizing::Begin, Resizing::Finish, Resizing::Partly]);
    // The node expands file systems of mounted volumes.
    if driver.needs_node {
        let pod = PodObject {
            uid: 0,
            version: 0,
            set: 0,
            image: 0,
            ready: None,
            terminating: false,
            full: 0,
            age: 0,
            health: PodHealth::Running,
        };
        api.put_pod(place(slot.into()).1, Some(pod));
    }
    storage::resize(&mut api, &driver, slot.into(), how);
    let claim = api.claims[usize::from(slot)];
    claim.map_or(ModelRequest::Release(slot), |claim| {
        ModelRequest::Status(slot, claim.capacity, claim.current_class, claim.resize, claim.modify)
    })
}
