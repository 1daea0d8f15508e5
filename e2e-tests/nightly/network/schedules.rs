//! Random faults: the seed decides which, when, and for how long. `SEED=7` repeats one schedule,
//! `NETWORK_SCHEDULES=100` runs that many.

use std::time::Duration;

use anyhow::Context as _;
use tokio::time::sleep;

use super::asked::Asked;
use super::script::{Fault, Rule, To};
use super::trial::{Network, Trial};
use crate::world::World;
use crate::world::alike::Random;
use crate::world::generated::choices::Choices;

/// The default number of schedules.
const SCHEDULES: u64 = 4;
/// The number of faults in each schedule.
const STEPS: usize = 8;
/// The longest time until the controller continues after the last fault: a silent watch and a pause.
const WITHIN: Duration = Duration::from_secs(90);

/// The seeds to run.
pub(super) fn seeds() -> anyhow::Result<std::ops::Range<u64>> {
    let number = |name: &'static str| {
        let text = std::env::var(name).ok();
        let number = text.map(|text| text.parse::<u64>()).transpose();
        number.with_context(|| format!("expected a number in {name}"))
    };
    let (seed, count) = (number("SEED")?, number("NETWORK_SCHEDULES")?);
    let count = count.unwrap_or(if seed.is_some() { 1 } else { SCHEDULES });
    let first = seed.unwrap_or(1);
    Ok(first..first + count)
}

/// One fault.
#[derive(Clone, Copy, Debug)]
enum Step {
    Rule(Rule),
    StopListening,
    Hold,
    Mend,
    Reset,
    Forget,
    Cut,
    Expired,
    Late(u64),
    Silent(bool),
    Bookmarks,
}

/// A fault, and the pause after it in milliseconds.
fn draw(choices: &mut dyn Choices) -> (Step, u64) {
    let step = match choices.below(16) {
        0 => Step::StopListening,
        1 => Step::Hold,
        2 | 3 => Step::Mend,
        4 => Step::Reset,
        5 if choices.one_in(3) => Step::Forget,
        6 => Step::Cut,
        7 => Step::Expired,
        8 => Step::Late(500 * choices.below(6) as u64),
        9 => Step::Silent(choices.one_in(2)),
        10 => Step::Bookmarks,
        _ => Step::Rule(rule(choices)),
    };
    (step, 100 * (1 + choices.below(30)) as u64)
}

fn rule(choices: &mut dyn Choices) -> Rule {
    let to = *choices.pick(&[
        To::Only(Asked::Claim),
        To::Only(Asked::Ready),
        To::Only(Asked::StagedChange),
        To::Only(Asked::Target),
        To::Only(Asked::Status),
        To::Only(Asked::Read),
        To::Only(Asked::Watch),
        To::Writes,
        To::All,
    ]);
    let fault = *choices.pick(&[
        Fault::Lost,
        Fault::Unheard,
        Fault::ReplyLost,
        Fault::ReplyUnheard,
        Fault::ReplyHalf,
        Fault::ReplyCut,
        Fault::Slow(500, 4000),
        Fault::Late(3000),
        Fault::Answer(409, 0),
        Fault::Answer(410, 0),
        Fault::Answer(429, 2),
        Fault::Answer(500, 0),
        Fault::Answer(503, 1),
        Fault::Answer(504, 0),
    ]);
    let number = |below: usize, choices: &mut dyn Choices| u32::try_from(choices.below(below)).unwrap_or(0);
    Rule {
        to,
        after: number(4, choices),
        times: 1 + number(3, choices),
        fault,
    }
}

fn act(network: &Network, step: Step) {
    let streams = |change: fn(&mut super::script::Streams)| network.script.streams(change);
    match step {
        Step::Rule(rule) => network.script.add(rule),
        Step::StopListening => network.wire.stop_listening(),
        Step::Hold => network.wire.hold(),
        Step::Mend => network.wire.mend(),
        Step::Reset => network.wire.reset(),
        Step::Forget => network.wire.forget(),
        Step::Cut => streams(|streams| streams.cuts += 1),
        Step::Expired => streams(|streams| streams.expired += 1),
        Step::Late(millis) => network
            .script
            .streams(|streams| streams.delay = Duration::from_millis(millis)),
        Step::Silent(silent) => network.script.streams(|streams| streams.silent = silent),
        Step::Bookmarks => streams(|streams| streams.without_bookmarks = true),
    }
}

/// Runs a rollout with the faults of this schedule.
pub(super) async fn run(env: &World, seed: u64) -> anyhow::Result<()> {
    let mut random = Random(seed);
    let steps: Vec<_> = (0..STEPS).map(|_| draw(&mut random)).collect();
    let trial = Trial::begin(env, &format!("network-seed-{seed}")).await?;
    let rollout = async {
        trial.roll_out().await?;
        for (step, pause) in &steps {
            act(&trial.network, *step);
            sleep(Duration::from_millis(*pause)).await;
        }
        trial.recovers(WITHIN).await.map(drop)
    };
    rollout.await.with_context(|| format!("SEED={seed}: {steps:?}"))
}
