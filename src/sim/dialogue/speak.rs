//! Random requests from a seed. What is asked depends on what is there in the model, so that most of it means something.

use super::request::{Edit, Holder, Request, Which};
use super::{Door, Model, Target, Want};
use crate::sim::inhabitants::storage::{self, Driver, Resizing};
use crate::sim::objects::{ORDINALS, SLOTS, place};
use crate::sim::schedule::Random;

/// How many requests a sequence has.
const LENGTH: usize = 80;
/// So few replicas have claims that the same ones are met again and again.
const REPLICAS: usize = 2;

/// The sequence of a seed.
#[must_use]
pub fn sequence(seed: u64) -> (Door, Vec<Request>) {
    let mut random = Random::new(seed);
    let door = random.pick(&[Door::Away, Door::Refuse, Door::Refuse, Door::Recover]);
    let mut model = Model::new(door);
    let mut requests = Vec::with_capacity(LENGTH);
    while requests.len() < LENGTH {
        let request = choose(&mut random, &model);
        model.ask(&request);
        requests.push(request);
    }
    (door, requests)
}

fn choose(random: &mut Random, model: &Model) -> Request {
    let api = &model.world.api;
    if api.set.is_none() && random.below(3) > 0 {
        return Request::Create(random.byte(4), first(random));
    }
    let slot = slot(random, model);
    let claim = api.claims[usize::from(slot)];
    match claim {
        None if random.below(3) > 0 && api.set.is_some() => return Request::NewClaim(slot),
        Some(claim) if !claim.bound && random.below(3) == 0 => return Request::Bind(slot),
        _ => {}
    }
    match random.below(100) {
        0..18 => ours(random, model, slot),
        18..24 => {
            let (uid, version) = names(random);
            Request::StagedChange(uid, version, target(random, model), random.coin())
        }
        24..30 => {
            let (uid, version) = names(random);
            let ready = (random.below(4) > 0).then(|| (target(random, model), random.byte(4)));
            Request::Ready(uid, version, ready)
        }
        30..34 => {
            let target = target(random, model);
            // What is said tells one wish from another.
            let parts = target
                .wants()
                .iter()
                .flat_map(|want| [want.size, want.class, want.tier]);
            let says = parts.fold(0, |says, part| says * 40 + u32::from(part));
            Request::Report(target, says)
        }
        34..56 => Request::Update(edits(random, model)),
        56 => Request::Remove(random.coin()),
        57 => Request::Owned(random.coin()),
        58 => Request::Sibling(random.coin()),
        59 => Request::Create(random.byte(4), first(random)),
        60..63 => Request::Observe,
        63..66 => Request::Quota(random.pick(&[u8::MAX, 6, 12, 20])),
        66..68 => Request::Expandable(random.below(3) > 0),
        _ => of_others(random, model, slot),
    }
}

/// A slot of those few replicas.
fn slot(random: &mut Random, model: &Model) -> u8 {
    let templates = model
        .world
        .api
        .set
        .map_or(1, |set| usize::from(set.spec.live.templates));
    let template = random.below(templates);
    u8::try_from(template * ORDINALS + random.below(REPLICAS)).unwrap_or(0)
}

/// Most writes of ours name what is there.
fn names(random: &mut Random) -> (Option<Which>, Option<Which>) {
    let all = [
        Some(Which::Now),
        Some(Which::Now),
        Some(Which::Now),
        Some(Which::Other),
        None,
    ];
    (random.pick(&all), random.pick(&all))
}

fn ours(random: &mut Random, model: &Model, slot: u8) -> Request {
    let claim = model.world.api.claims[usize::from(slot)];
    let (uid, version) = names(random);
    // An apply without a uid to a claim that is not there would make it. Ours names the uid, always.
    let uid = if claim.is_none() { Some(Which::Other) } else { uid };
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
    Request::Apply(
        slot,
        uid,
        version,
        Target::of(&[Want { size, class, tier }]),
        target(random, model),
    )
}

/// The first templates of a set.
fn first(random: &mut Random) -> Target {
    let mut want = || Want {
        size: 1 + random.byte(3),
        class: random.byte(2),
        tier: random.byte(2),
    };
    let wants = [want(), want()];
    Target::of(&wants[..1 + random.below(2)])
}

/// What is live or staged, with something else in it.
fn target(random: &mut Random, model: &Model) -> Target {
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

fn edits(random: &mut Random, model: &Model) -> Vec<Edit> {
    let mut edits = vec![edit(random, model)];
    if random.below(4) == 0 {
        let another = edit(random, model);
        let same = |edit: &Edit| std::mem::discriminant(edit) == std::mem::discriminant(&another);
        // A strategy and a partition at once would be one field written twice.
        let strategy = |edit: &Edit| matches!(edit, Edit::OnDelete(_) | Edit::Partition(_));
        if !edits
            .iter()
            .any(|edit| same(edit) || (strategy(edit) && strategy(&another)))
        {
            edits.push(another);
        }
    }
    edits
}

fn edit(random: &mut Random, model: &Model) -> Edit {
    let staged = model
        .world
        .api
        .set
        .and_then(|set| set.staged_change().map(|change| change.target));
    match random.below(20) {
        0..7 => Edit::Templates(target(random, model)),
        7 | 8 => Edit::Image(random.byte(3)),
        9 | 10 => Edit::Replicas(random.byte(4)),
        // The model does not tell no partition from 0.
        11 | 12 => Edit::Partition(1 + random.byte(3)),
        13 => Edit::Paused(random.coin()),
        14 => Edit::InPlace(random.pick(&[None, Some(true), Some(false)])),
        15 => Edit::Async(random.coin()),
        16 => Edit::OnDelete(random.coin()),
        17 | 18 => Edit::Withdraw(staged.filter(|_| random.below(4) > 0).unwrap_or(target(random, model))),
        _ => Edit::Staged(target(random, model), random.coin()),
    }
}

fn of_others(random: &mut Random, model: &Model, slot: u8) -> Request {
    let claim = model.world.api.claims[usize::from(slot)];
    let request = claim.map_or(1, |claim| claim.request);
    match random.below(32) {
        0..4 => Request::Size(
            slot,
            if random.below(3) == 0 {
                request.saturating_sub(1 + random.byte(2)).max(1)
            } else {
                request + random.byte(3)
            },
        ),
        4..7 => Request::Class(slot, random.byte(3)),
        7 => Request::DropLabel(slot),
        8 => Request::Select(slot, random.coin()),
        9 | 10 => Request::Own(slot, random.pick(&[Holder::Nobody, Holder::Set, Holder::Stranger])),
        11 | 12 => Request::Mount(slot, random.coin()),
        13 | 14 => Request::Delete(slot),
        15 | 16 => Request::Release(dying(model).unwrap_or(slot)),
        17..20 => Request::Bind(slot),
        _ => status(random, model, slot),
    }
}

/// A claim that is being deleted.
fn dying(model: &Model) -> Option<u8> {
    let slot = (0..SLOTS).find(|slot| model.world.api.claims[*slot].is_some_and(|claim| claim.terminating));
    u8::try_from(slot?).ok()
}

/// What the resizer of the simulation would write next.
fn status(random: &mut Random, model: &Model, slot: u8) -> Request {
    let mut api = model.world.api.clone();
    let driver = Driver {
        limit: random.pick(&[u8::MAX, 4]),
        bad_class: random.byte(3),
        needs_node: random.coin(),
        ..Driver::default()
    };
    let how = random.pick(&[Resizing::Begin, Resizing::Finish, Resizing::Partly]);
    // The node grows file systems of volumes that a Pod uses.
    if driver.needs_node {
        let pod = crate::sim::objects::Pod {
            uid: 0,
            version: 0,
            set: 0,
            image: 0,
            ready: None,
            terminating: false,
            full: 0,
            age: 0,
            lot: crate::sim::objects::Lot::Runs,
        };
        api.put_pod(place(slot.into()).1, Some(pod));
    }
    storage::resize(&mut api, &driver, slot.into(), how);
    let claim = api.claims[usize::from(slot)];
    claim.map_or(Request::Release(slot), |claim| {
        Request::Status(slot, claim.capacity, claim.current_class, claim.resize, claim.modify)
    })
}
