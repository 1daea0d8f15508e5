//! Random schedules from a seed, and how a failing one is shortened.

use super::actors::action::UserAction;
use super::actors::storage::Resizing;
use super::api::WebhookEdit;
use super::decisions::Decisions;
use super::log::Log;
use super::objects::{ModelTarget, ORDINALS, SLOTS, Want};
use super::settings::ModelSettings;
use super::step::{RequestFate, SimStep};
use super::watch::WatchKind;
use super::workload::Workload;
use super::workloads;
use super::world::SimWorld;
use crate::rollout::invariants::Broken;
use crate::templates::UpdatePolicy;

/// The steps of a schedule.
pub(crate) const STEPS: usize = 200;

/// SplitMix64. Not a library, because a seed must mean the same with every version.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Random(u64);

/// Steps that break a guarantee.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    pub(crate) seed: u64,
    pub(crate) steps: Vec<SimStep>,
    pub(crate) broken: Broken,
}

/// The increment of SplitMix64.
const STEP: u64 = 0x9E37_79B9_7F4A_7C15;

const fn mixed(state: u64) -> u64 {
    let state = (state ^ state >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let state = (state ^ state >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    state ^ state >> 31
}

impl Random {
    /// The numbers of a seed. The seed is mixed first; otherwise the sequences of two seeds in a row overlap.
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
pub(crate) fn run(
    seed: u64,
    workload: &Workload,
    decisions: &mut Decisions,
    log: &mut Log,
) -> Result<(), Box<Failure>> {
    let mut random = Random::new(seed);
    let mut steps = Vec::with_capacity(STEPS);
    let fail = |steps: &Vec<SimStep>, broken| {
        Box::new(Failure {
            seed,
            steps: steps.clone(),
            broken,
        })
    };
    let mut world = start(seed, workload, decisions, log).map_err(|broken| fail(&steps, broken))?;
    let mut script = workload.script.iter();
    // The actions of the workload are spread over the schedule.
    let pace = STEPS / (workload.script.len() + 1);
    for number in 0..STEPS {
        let step = match script.as_slice().first() {
            Some((_, action)) if number > 0 && number % pace == 0 => {
                script.next();
                SimStep::User(*action)
            }
            _ => choose(&mut random, &world),
        };
        steps.push(step);
        world
            .step(step, decisions, log)
            .map_err(|broken| fail(&steps, broken))?;
    }
    world.end(decisions, log).map_err(|broken| fail(&steps, broken))
}

/// A workload before its schedule, in one of two minors of Kubernetes.
fn start(seed: u64, workload: &Workload, decisions: &mut Decisions, log: &mut Log) -> Result<SimWorld, Broken> {
    let mut world = workload.start(decisions, log)?;
    if (seed / workloads::ALL.len() as u64) & 1 == 1 {
        world.api.upgrade();
    }
    Ok(world)
}

/// Runs the steps of the schedule of a seed.
///
/// # Errors
/// [`Broken`] names the guarantee that does not hold.
pub(crate) fn replay(
    seed: u64,
    workload: &Workload,
    steps: &[SimStep],
    decisions: &mut Decisions,
    log: &mut Log,
) -> Result<(), Broken> {
    let mut world = start(seed, workload, decisions, log)?;
    for step in steps {
        world.step(*step, decisions, log)?;
    }
    world.end(decisions, log)
}

/// The shortest list of these steps that still breaks the same guarantee.
pub(crate) fn shrink(workload: &Workload, failure: &Failure, decisions: &mut Decisions) -> Failure {
    let mut best = failure.clone();
    let mut chunk = best.steps.len().next_power_of_two() / 2;
    while chunk > 0 {
        let mut at = 0;
        while at < best.steps.len() {
            let mut steps = best.steps.clone();
            steps.drain(at..(at + chunk).min(steps.len()));
            match replay(failure.seed, workload, &steps, decisions, &mut Log::default()) {
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

/// The next step. Most of them have an effect.
fn choose(random: &mut Random, world: &SimWorld) -> SimStep {
    let who = random.byte(if world.instances[1].alive { 2 } else { 1 });
    let instance = &world.instances[usize::from(who)];
    match random.below(100) {
        0..30 if instance.reconcile.is_some() => SimStep::Send(who, fate(random)),
        0..30 => SimStep::Reconcile(who),
        30..48 => SimStep::Deliver(who, random.pick(&WatchKind::ALL)),
        48..58 => SimStep::Sync,
        58..63 => SimStep::Observe,
        63..71 => SimStep::Kubelet(random.byte(ORDINALS)),
        71..74 => SimStep::Provision(random.byte(SLOTS)),
        74..84 => {
            let how = [
                Resizing::Begin,
                Resizing::Fail,
                Resizing::Finish,
                Resizing::Finish,
                Resizing::Partly,
            ];
            SimStep::Resize(slot(random, world), random.pick(&how))
        }
        84 => SimStep::Collect,
        85 => SimStep::Retry,
        86..91 => SimStep::Tick(random.pick(&[1, 1, 2, 10, 301])),
        91..96 => SimStep::User(action(random, world)),
        96 => SimStep::Crash(who),
        97 => SimStep::Freeze,
        98 => SimStep::TimeTravel(who),
        _ if random.below(4) == 0 => SimStep::Start,
        _ => SimStep::Clock(who, random.pick(&[-3600, 3600])),
    }
}

fn fate(random: &mut Random) -> RequestFate {
    if random.below(8) > 0 {
        RequestFate::Answered
    } else {
        random.pick(&RequestFate::FAULTS)
    }
}

/// The slot of a random claim; 0 if there is none.
fn slot(random: &mut Random, world: &SimWorld) -> u8 {
    let there: Vec<usize> = (0..SLOTS).filter(|slot| world.api.claims[*slot].is_some()).collect();
    if there.is_empty() {
        0
    } else {
        u8::try_from(random.pick(&there)).unwrap_or(0)
    }
}

fn action(random: &mut Random, world: &SimWorld) -> UserAction {
    let claim = slot(random, world);
    let ordinal = random.byte(3);
    match random.below(38) {
        0..5 => UserAction::Target(target(random, world)),
        5 => UserAction::Image(random.byte(4)),
        6..9 => UserAction::Both(target(random, world), random.byte(4)),
        9 | 10 => UserAction::Reapply,
        11 | 12 => UserAction::Scale(random.byte(ORDINALS + 1)),
        13 => UserAction::Partition(random.byte(3)),
        14 => UserAction::Pause(random.coin()),
        15 => UserAction::Policy(random.pick(&[None, Some(UpdatePolicy::InPlace), Some(UpdatePolicy::OnClaimDelete)])),
        16 => UserAction::Async(random.coin()),
        17 => UserAction::OnDelete(random.coin()),
        18 => UserAction::Withdraw,
        19 | 20 => {
            let request = world.api.claims[usize::from(claim)].map_or(1, |claim| claim.request);
            UserAction::Size(
                claim,
                if random.below(4) == 0 {
                    request.saturating_sub(1)
                } else {
                    request + 1 + random.byte(3)
                },
            )
        }
        21 => UserAction::Class(claim, 1 + random.byte(2)),
        22 => UserAction::DropLabel(claim),
        23 => UserAction::Select(claim, random.coin()),
        24 => UserAction::Own(claim, random.coin()),
        25 => UserAction::Mount(claim, random.coin()),
        26 => UserAction::DeleteClaim(claim),
        27 | 28 => UserAction::DeletePod(ordinal),
        29 => UserAction::FillDisk(ordinal),
        30 => UserAction::DeleteSet(random.coin()),
        31 => UserAction::CreateSet(3),
        32 => UserAction::Quota(random.pick(&[u8::MAX, 12, 8])),
        33 => random.pick(&[
            UserAction::Expandable(false),
            UserAction::Expandable(true),
            UserAction::Sibling(true),
            UserAction::Owned(random_coin(ordinal)),
        ]),
        34 => random.pick(&[
            UserAction::Limit(3),
            UserAction::Limit(u8::MAX),
            UserAction::BadClass(2),
            UserAction::BadClass(0),
        ]),
        35 => UserAction::Drain(ordinal),
        36 => UserAction::Fail(ordinal),
        _ => of_the_cluster(random, ordinal),
    }
}

/// An action on what the controller and the policy depend on.
fn of_the_cluster(random: &mut Random, number: u8) -> UserAction {
    random.pick(&[
        UserAction::Registered(false),
        UserAction::Registered(true),
        UserAction::Webhook(random_webhook_edit(number)),
        UserAction::Webhook(WebhookEdit::No),
        UserAction::Webhook(WebhookEdit::Down),
        UserAction::Reports(false),
        UserAction::Reports(true),
        UserAction::DeleteReport,
        UserAction::Known(false),
        UserAction::Known(true),
        UserAction::Newer(true),
        UserAction::Newer(false),
        UserAction::Forge(target_of(1)),
        UserAction::Replay,
    ])
}

const fn random_webhook_edit(number: u8) -> WebhookEdit {
    match number {
        0 => WebhookEdit::Label,
        1 => WebhookEdit::Size,
        _ => WebhookEdit::Class,
    }
}

const fn random_coin(number: u8) -> bool {
    number & 1 == 0
}

fn target_of(size: u8) -> ModelTarget {
    ModelTarget::of(&[Want::size(size)])
}

/// The templates of the manifest with a change.
fn target(random: &mut Random, world: &SimWorld) -> ModelTarget {
    let mut target = world.manifest.0;
    let template = random.below(usize::from(target.templates));
    let want = &mut target.wants[template];
    let changes = if world.api.settings == ModelSettings::ForNewClaims {
        10
    } else {
        8
    };
    match random.below(changes) {
        0..4 => want.size += 1 + random.byte(2),
        4 => want.size = want.size.saturating_sub(1).max(1),
        5 => want.class = random.byte(3),
        6 => want.tier = random.byte(3),
        8.. => want.storage_class = random.byte(3),
        _ => target = world.api.set.map_or(target, |set| set.spec.live),
    }
    target
}
