//! Seeded schedules of everything that may happen, and the shortest part of one that still breaks a guarantee.

use super::api::Meddles;
use super::inhabitants::people::Deed;
use super::inhabitants::storage::Resizing;
use super::log::Log;
use super::mind::Mind;
use super::objects::{ORDINALS, SLOTS, Target, Want};
use super::watch::Kind;
use super::workload::Workload;
use super::workloads;
use super::world::{Fate, Step, World};
use crate::rollout::invariants::Broken;
use crate::templates::UpdatePolicy;

/// How many steps a schedule has.
pub(crate) const STEPS: usize = 200;

/// SplitMix64. Its own, because a seed must mean the same with every version of every library.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Random(u64);

/// A list of steps that breaks a guarantee.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    pub(crate) seed: u64,
    pub(crate) steps: Vec<Step>,
    pub(crate) broken: Broken,
}

/// SplitMix64.
const STEP: u64 = 0x9E37_79B9_7F4A_7C15;

const fn mixed(state: u64) -> u64 {
    let state = (state ^ state >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let state = (state ^ state >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    state ^ state >> 31
}

impl Random {
    /// The numbers of a seed. It is mixed first: otherwise those of the next seed would be the same, but for the first.
    pub(crate) const fn new(seed: u64) -> Self {
        Self(mixed(seed.wrapping_add(1).wrapping_mul(STEP)))
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(STEP);
        mixed(self.0)
    }

    /// A number below `bound`.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() % bound.max(1) as u64).unwrap_or(0)
    }

    pub(crate) fn byte(&mut self, bound: usize) -> u8 {
        u8::try_from(self.below(bound)).unwrap_or(0)
    }

    pub(crate) fn coin(&mut self) -> bool {
        self.next() & 1 == 0
    }

    pub(crate) fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }
}

/// The workload of a seed.
pub(crate) fn workload_of(seed: u64) -> &'static Workload {
    let places = workloads::ALL.len() as u64;
    &workloads::ALL[usize::try_from(seed % places).unwrap_or(0)]
}

/// Runs the schedule of a seed.
///
/// # Errors
/// [`Failure`] with the steps so far.
pub(crate) fn run(seed: u64, workload: &Workload, mind: &mut Mind, log: &mut Log) -> Result<(), Box<Failure>> {
    let mut random = Random::new(seed);
    let mut steps = Vec::with_capacity(STEPS);
    let fail = |steps: &Vec<Step>, broken| {
        Box::new(Failure {
            seed,
            steps: steps.clone(),
            broken,
        })
    };
    let mut world = start(seed, workload, mind, log).map_err(|broken| fail(&steps, broken))?;
    let mut script = workload.script.iter();
    // What the workload is about happens sooner or later, and much else besides.
    let pace = STEPS / (workload.script.len() + 1);
    for number in 0..STEPS {
        let step = match script.as_slice().first() {
            Some((_, deed)) if number > 0 && number % pace == 0 => {
                script.next();
                Step::Deed(*deed)
            }
            _ => choose(&mut random, &world),
        };
        steps.push(step);
        world.step(step, mind, log).map_err(|broken| fail(&steps, broken))?;
    }
    world.end(mind, log).map_err(|broken| fail(&steps, broken))
}

/// A workload before its schedule, in a cluster of one minor of Kubernetes or another.
fn start(seed: u64, workload: &Workload, mind: &mut Mind, log: &mut Log) -> Result<World, Broken> {
    let mut world = workload.start(mind, log)?;
    if (seed / workloads::ALL.len() as u64) & 1 == 1 {
        world.api.upgrade();
    }
    Ok(world)
}

/// Runs a list of steps of the schedule of a seed.
///
/// # Errors
/// [`Broken`] says which guarantee does not hold.
pub(crate) fn replay(
    seed: u64,
    workload: &Workload,
    steps: &[Step],
    mind: &mut Mind,
    log: &mut Log,
) -> Result<(), Broken> {
    let mut world = start(seed, workload, mind, log)?;
    for step in steps {
        world.step(*step, mind, log)?;
    }
    world.end(mind, log)
}

/// The shortest list that can be made of these steps by leaving some out, and still breaks the same guarantee.
pub(crate) fn shrink(workload: &Workload, failure: &Failure, mind: &mut Mind) -> Failure {
    let mut best = failure.clone();
    let mut chunk = best.steps.len().next_power_of_two() / 2;
    while chunk > 0 {
        let mut at = 0;
        while at < best.steps.len() {
            let mut steps = best.steps.clone();
            steps.drain(at..(at + chunk).min(steps.len()));
            match replay(failure.seed, workload, &steps, mind, &mut Log::default()) {
                Err(broken) if broken.rule == failure.broken.rule => {
                    best = Failure {
                        seed: failure.seed,
                        steps,
                        broken,
                    };
                }
                _ => at += chunk,
            }
        }
        chunk /= 2;
    }
    best
}

/// What happens next. Most of the time it is something that comes to something.
fn choose(random: &mut Random, world: &World) -> Step {
    let who = random.byte(if world.instances[1].alive { 2 } else { 1 });
    let instance = &world.instances[usize::from(who)];
    match random.below(100) {
        0..30 if instance.reconcile.is_some() => Step::Send(who, fate(random)),
        0..30 => Step::Reconcile(who),
        30..48 => Step::Deliver(who, random.pick(&Kind::ALL)),
        48..58 => Step::Sync,
        58..63 => Step::Observe,
        63..71 => Step::Kubelet(random.byte(ORDINALS)),
        71..74 => Step::Provision(random.byte(SLOTS)),
        74..84 => {
            let how = [
                Resizing::Begin,
                Resizing::Fail,
                Resizing::Finish,
                Resizing::Finish,
                Resizing::Partly,
            ];
            Step::Resize(slot(random, world), random.pick(&how))
        }
        84 => Step::Collect,
        85 => Step::Retry,
        86..91 => Step::Tick(random.pick(&[1, 1, 2, 10, 301])),
        91..96 => Step::Deed(deed(random, world)),
        96 => Step::Crash(who),
        97 => Step::Freeze,
        98 => Step::TimeTravel(who),
        _ if random.below(4) == 0 => Step::Start,
        _ => Step::Clock(who, random.pick(&[-3600, 3600])),
    }
}

fn fate(random: &mut Random) -> Fate {
    if random.below(8) > 0 {
        Fate::Answered
    } else {
        random.pick(&Fate::FAULTS)
    }
}

/// A slot with a claim in it, if the first try finds one.
fn slot(random: &mut Random, world: &World) -> u8 {
    let there: Vec<usize> = (0..SLOTS).filter(|slot| world.api.claims[*slot].is_some()).collect();
    if there.is_empty() {
        0
    } else {
        u8::try_from(random.pick(&there)).unwrap_or(0)
    }
}

fn deed(random: &mut Random, world: &World) -> Deed {
    let claim = slot(random, world);
    let ordinal = random.byte(3);
    match random.below(38) {
        0..5 => Deed::Target(target(random, world)),
        5 => Deed::Image(random.byte(4)),
        6..9 => Deed::Both(target(random, world), random.byte(4)),
        9 | 10 => Deed::Reapply,
        11 | 12 => Deed::Scale(random.byte(ORDINALS + 1)),
        13 => Deed::Partition(random.byte(3)),
        14 => Deed::Pause(random.coin()),
        15 => Deed::Policy(random.pick(&[None, Some(UpdatePolicy::InPlace), Some(UpdatePolicy::OnClaimDelete)])),
        16 => Deed::Async(random.coin()),
        17 => Deed::OnDelete(random.coin()),
        18 => Deed::Withdraw,
        19 | 20 => {
            let request = world.api.claims[usize::from(claim)].map_or(1, |claim| claim.request);
            Deed::Size(
                claim,
                if random.below(4) == 0 {
                    request.saturating_sub(1)
                } else {
                    request + 1 + random.byte(3)
                },
            )
        }
        21 => Deed::Class(claim, 1 + random.byte(2)),
        22 => Deed::DropLabel(claim),
        23 => Deed::Select(claim, random.coin()),
        24 => Deed::Own(claim, random.coin()),
        25 => Deed::Mount(claim, random.coin()),
        26 => Deed::DeleteClaim(claim),
        27 | 28 => Deed::DeletePod(ordinal),
        29 => Deed::FillDisk(ordinal),
        30 => Deed::DeleteSet(random.coin()),
        31 => Deed::CreateSet(3),
        32 => Deed::Quota(random.pick(&[u8::MAX, 12, 8])),
        33 => random.pick(&[
            Deed::Expandable(false),
            Deed::Expandable(true),
            Deed::Sibling(true),
            Deed::Owned(random_coin(ordinal)),
        ]),
        34 => random.pick(&[
            Deed::Limit(3),
            Deed::Limit(u8::MAX),
            Deed::BadClass(2),
            Deed::BadClass(0),
        ]),
        35 => Deed::Drain(ordinal),
        36 => Deed::Fail(ordinal),
        _ => random.pick(&[
            Deed::Registered(false),
            Deed::Registered(true),
            Deed::Meddle(random_meddling(ordinal)),
            Deed::Meddle(Meddles::No),
            Deed::Forge(target_of(1)),
            Deed::Replay,
        ]),
    }
}

const fn random_meddling(number: u8) -> Meddles {
    match number {
        0 => Meddles::Label,
        1 => Meddles::Size,
        _ => Meddles::Class,
    }
}

const fn random_coin(number: u8) -> bool {
    number & 1 == 0
}

fn target_of(size: u8) -> Target {
    Target::of(&[Want::size(size)])
}

/// What was wished before, with something else in it.
fn target(random: &mut Random, world: &World) -> Target {
    let mut target = world.manifest.0;
    let template = random.below(usize::from(target.templates));
    let want = &mut target.wants[template];
    match random.below(8) {
        0..4 => want.size += 1 + random.byte(2),
        4 => want.size = want.size.saturating_sub(1).max(1),
        5 => want.class = random.byte(3),
        6 => want.tier = random.byte(3),
        _ => target = world.api.set.map_or(target, |set| set.spec.live),
    }
    target
}
