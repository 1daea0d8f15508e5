//! Faults that end: rows with one kind of fault each, and random schedules. The seed of a schedule decides which faults,
//! when, and for how long: `SEED=7` repeats one, `NETWORK_SCHEDULES=100` runs that many.

use std::ops::{Range, RangeInclusive};
use std::time::Duration;

use anyhow::{Context as _, ensure};
use tokio::time::sleep;

use super::asked::Asked::{Claim, Read, Ready, StagedChange, Status, Target, Watch};
use super::script::Fault::{Answer, Late, Lost, ReplyCut, ReplyHalf, ReplyLost, ReplyUnheard, Slow, Unheard};
use super::script::To::{All, Only, Writes};
use super::script::{Fault, Rule, Streams, To};
use super::trial::Trial;
use crate::world::alike::Random;
use crate::world::generated::choices::Choices;
use crate::world::{World, number};

/// The default number of schedules, the faults of each, and the most seconds until the controller goes on after the
/// last one: a silent watch and a pause.
const SCHEDULES: (u64, usize, u64) = (4, 8, 90);

/// Something that happens to the network.
#[derive(Clone, Copy, Debug)]
enum Step {
    Rule(Rule),
    StopListening,
    Hold,
    Mend,
    Reset,
    Forget,
    /// The watches end in the middle of an event.
    Cut,
    /// The watches end with the error 410.
    Expired,
    /// Events are so many milliseconds late.
    Delay(u64),
    Silent(bool),
    NoBookmarks,
    /// The controller has written so many PVCs.
    Claims(usize),
}
use Step::{Claims, Cut, Delay, Expired, Forget, Hold, Mend, NoBookmarks, Reset, Silent, StopListening};

/// The faults of one rollout.
pub(super) struct Row {
    pub(super) name: &'static str,
    /// The controller continues at most this many seconds after the last fault. It gives up unanswered requests after
    /// fifteen seconds and watches after thirty, and retries after 1, 2, 4 … seconds.
    within: u64,
    /// Before the rollout.
    before: &'static [Step],
    /// After the first PVC was written, each with the milliseconds after it.
    steps: &'static [(Step, u64)],
    /// A number that may grow by so much during the steps.
    counts: Option<(Count, RangeInclusive<usize>)>,
}

type Count = fn(&Trial<'_>) -> anyhow::Result<usize>;

const fn rule(to: To, after: u32, times: u32, fault: Fault) -> Step {
    Step::Rule(Rule {
        to,
        after,
        times,
        fault,
    })
}

const fn row(name: &'static str, within: u64, before: &'static [Step], steps: &'static [(Step, u64)]) -> Row {
    Row {
        name,
        within,
        before,
        steps,
        counts: None,
    }
}

/// Requests without an answer, from the metrics of the controller.
fn unanswered(trial: &Trial<'_>) -> anyhow::Result<usize> {
    let (_, metrics) = trial.controller()?.get("/metrics")?;
    let count = "claim_rollout_request_failures_total{cause=\"unanswered\"} ";
    let count = metrics.lines().find_map(|line| line.strip_prefix(count));
    Ok(count.unwrap_or("0").parse()?)
}

fn lists(trial: &Trial<'_>) -> anyhow::Result<usize> {
    Ok(trial.network.script.count(Read))
}

#[rustfmt::skip]
pub(super) const ROWS: &[Row] = &[
    // The next requests may use one dead connection after the other, and a silent watch is restarted after a minute.
    row("connections-are-dead", 70, &[], &[(Forget, 0)]),
    // Requests in progress have been given up by then.
    row("bytes-are-delayed-beyond-all-timeouts", 50, &[], &[(Hold, 30_000)]),
    // Four watches retry their list after about 1, 2, 4 and 8 seconds, or a little later, not once a second.
    Row { counts: Some((lists, 4..=24)), ..row("lists-fail", 40, &[], &[(rule(Only(Read), 0, u32::MAX, Answer(503, 0)), 0), (Expired, 15_000)]) },
    // At most five requests a second.
    Row { counts: Some((unanswered, 1..=50)), ..row("connections-are-refused", 20, &[], &[(StopListening, 10_000)]) },
    row("connections-are-reset", 20, &[], &[(Reset, 700); 10]),
    row("bytes-are-delayed", 20, &[], &[(Hold, 10_000)]),
    row("watches-are-cut-within-an-event", 20, &[], &[(Cut, 1000); 6]),
    Row { counts: Some((lists, 4..=usize::MAX)), ..row("watches-end-with-410", 20, &[], &[(Expired, 2000); 4]) },
    row("watches-have-no-bookmarks", 20, &[NoBookmarks], &[(Cut, 0), (Claims(2), 0), (Cut, 0), (Claims(3), 0), (Cut, 0)]),
    // Writes pass at once, so the controller knows more than it sees.
    row("events-are-late", 20, &[Delay(4000)], &[(Claims(2), 0)]),
    row("every-answer-takes-seconds", 20, &[rule(All, 4, 10, Slow(1000, 4000))], &[]),
    row("answers-to-a-rollout-and-a-nudge-never-come", 25, &[rule(Only(Target), 0, 1, ReplyUnheard), rule(Only(Ready), 0, 1, ReplyUnheard)], &[]),
    row("answers-to-a-status-and-the-record-never-come", 25, &[rule(Only(Status), 2, 1, ReplyUnheard), rule(Only(StagedChange), 0, 1, ReplyUnheard)], &[]),
    row("the-answer-to-a-claim-never-comes", 25, &[rule(Only(Claim), 1, 1, ReplyUnheard)], &[]),
    row("a-claim-is-never-heard-of", 25, &[rule(Only(Claim), 1, 1, Unheard)], &[]),
    row("the-answer-to-each-claim-is-lost", 10, &[rule(Only(Claim), 0, 3, ReplyLost)], &[]),
    row("the-answer-to-a-nudge-is-lost", 10, &[rule(Only(Ready), 0, 1, ReplyLost)], &[]),
    row("answers-to-reports-are-lost", 10, &[rule(Only(Target), 0, 1, ReplyLost), rule(Only(Status), 0, 3, ReplyLost), rule(Only(StagedChange), 0, 1, ReplyLost)], &[]),
    row("writes-are-lost", 30, &[rule(Writes, 2, 4, Lost)], &[]),
    row("answers-are-half-or-cut", 30, &[rule(Writes, 2, 2, ReplyHalf), rule(Writes, 2, 2, ReplyCut)], &[]),
    row("writes-are-too-many", 10, &[rule(Writes, 2, 2, Answer(429, 3))], &[]),
    row("writes-conflict-or-fail", 30, &[rule(Writes, 2, 2, Answer(409, 0)), rule(Writes, 2, 1, Answer(500, 0)), rule(Writes, 2, 1, Answer(503, 0)), rule(Writes, 2, 1, Answer(504, 0))], &[]),
    // A new watch or list needs a watch that ended before.
    row("watches-are-never-answered", 45, &[rule(Only(Watch), 0, 4, Unheard)], &[(Cut, 0)]),
    row("versions-are-too-old", 30, &[rule(Only(Watch), 0, 12, Answer(410, 0))], &[(Cut, 0)]),
    row("lists-are-half", 30, &[rule(Only(Read), 0, 4, ReplyHalf)], &[(Expired, 0)]),
];

impl Row {
    /// Runs a rollout with these faults.
    pub(super) async fn run(&self, env: &World) -> anyhow::Result<()> {
        let trial = Trial::begin(env, &format!("network-{}", self.name)).await?;
        for step in self.before {
            act(&trial, *step).await?;
        }
        trial.roll_out().await?;
        if !self.steps.is_empty() {
            trial.until_asked(Claim, 1).await?;
        }
        let count = |count: Count| count(&trial);
        let before = self.counts.as_ref().map(|(of, _)| count(*of)).transpose()?;
        for (step, pause) in self.steps {
            act(&trial, *step).await?;
            sleep(Duration::from_millis(*pause)).await;
        }
        if let (Some((of, range)), Some(before)) = (&self.counts, before) {
            let counted = count(*of)? - before;
            println!("network-{}: {counted} requests", self.name);
            ensure!(range.contains(&counted), "{counted} requests\n{}", trial.ns.log());
        }
        let injected = self.before.iter().map(|step| match step {
            Step::Rule(rule) => rule.times,
            _ => 0,
        });
        trial.until_injected(injected.sum()).await?;
        trial.recovers(Duration::from_secs(self.within)).await.map(drop)
    }
}

/// The seeds of the schedules.
pub(super) fn seeds() -> anyhow::Result<Range<u64>> {
    let (seed, count) = (number("SEED")?, number("NETWORK_SCHEDULES")?);
    let count = count.unwrap_or(if seed.is_some() { 1 } else { SCHEDULES.0 });
    let first = seed.unwrap_or(1);
    Ok(first..first + count)
}

/// Runs a rollout with the faults of this schedule.
pub(super) async fn scheduled(env: &World, seed: u64) -> anyhow::Result<()> {
    let mut random = Random(seed);
    let (_, steps, within) = SCHEDULES;
    let steps: Vec<_> = (0..steps).map(|_| draw(&mut random)).collect();
    let trial = Trial::begin(env, &format!("network-seed-{seed}")).await?;
    let rollout = async {
        trial.roll_out().await?;
        for (step, pause) in &steps {
            act(&trial, *step).await?;
            sleep(Duration::from_millis(*pause)).await;
        }
        trial.recovers(Duration::from_secs(within)).await.map(drop)
    };
    rollout.await.with_context(|| format!("SEED={seed}: {steps:?}"))
}

/// A fault, and the pause after it in milliseconds.
fn draw(choices: &mut dyn Choices) -> (Step, u64) {
    let step = match choices.below(16) {
        0 => StopListening,
        1 => Hold,
        2 | 3 => Mend,
        4 => Reset,
        5 if choices.one_in(3) => Forget,
        6 => Cut,
        7 => Expired,
        8 => Delay(500 * choices.below(6) as u64),
        9 => Silent(choices.one_in(2)),
        10 => NoBookmarks,
        _ => draw_rule(choices),
    };
    (step, 100 * (1 + choices.below(30)) as u64)
}

fn draw_rule(choices: &mut dyn Choices) -> Step {
    let writes = [Claim, Ready, StagedChange, Target, Status].map(Only);
    let all = [&writes[..], &[Only(Read), Only(Watch), Writes, All]].concat();
    let to = *choices.pick(&all);
    let fault = *choices.pick(&[
        Lost,
        Unheard,
        ReplyLost,
        ReplyUnheard,
        ReplyHalf,
        ReplyCut,
        Slow(500, 4000),
        Late(3000),
        Answer(409, 0),
        Answer(410, 0),
        Answer(429, 2),
        Answer(500, 0),
        Answer(503, 1),
        Answer(504, 0),
    ]);
    let mut number = |below: usize| u32::try_from(choices.below(below)).unwrap_or(0);
    rule(to, number(4), 1 + number(3), fault)
}

async fn act(trial: &Trial<'_>, step: Step) -> anyhow::Result<()> {
    let (script, wire) = (&trial.network.script, &trial.network.wire);
    let streams = |change: fn(&mut Streams)| script.streams(change);
    match step {
        Step::Rule(rule) => script.add(rule),
        StopListening => wire.stop_listening(),
        Hold => wire.hold(),
        Mend => wire.mend(),
        Reset => wire.reset(),
        Forget => wire.forget(),
        Cut => streams(|streams| streams.cuts += 1),
        Expired => streams(|streams| streams.expired += 1),
        Delay(millis) => script.streams(|streams| streams.delay = Duration::from_millis(millis)),
        Silent(silent) => script.streams(|streams| streams.silent = silent),
        NoBookmarks => streams(|streams| streams.without_bookmarks = true),
        Claims(count) => trial.until_asked(Claim, count).await?,
    }
    Ok(())
}
