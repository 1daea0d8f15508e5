//! Requests that fail, one kind of fault after the other. Each row is a rollout of its own.

use std::time::Duration;

use super::asked::Asked::{Claim, Read, Ready, StagedChange, Status, Target, Watch};
use super::script::Fault::{Answer, Lost, ReplyCut, ReplyHalf, ReplyLost, ReplyUnheard, Slow, Unheard};
use super::script::To::{All, Only, Writes};
use super::script::{Fault, Rule, To};
use super::trial::Trial;
use crate::world::World;

/// The faults of one rollout.
pub(super) struct Row {
    pub(super) name: &'static str,
    /// The first rule that matches a request and is not used up applies.
    rules: &'static [Rule],
    /// The controller continues at most this many seconds after the last fault. It gives up unanswered requests after
    /// fifteen seconds and watches after thirty, and retries after 1, 2, 4 … seconds.
    within: u64,
}

const fn rule(to: To, after: u32, times: u32, fault: Fault) -> Rule {
    Rule {
        to,
        after,
        times,
        fault,
    }
}

const fn row(name: &'static str, within: u64, rules: &'static [Rule]) -> Row {
    Row { name, rules, within }
}

#[rustfmt::skip]
pub(super) const ROWS: &[Row] = &[
    row("every-answer-takes-seconds", 20, &[rule(All, 4, 10, Slow(1000, 4000))]),
    row("answers-to-a-rollout-and-a-nudge-never-come", 25, &[rule(Only(Target), 0, 1, ReplyUnheard), rule(Only(Ready), 0, 1, ReplyUnheard)]),
    row("answers-to-a-status-and-the-record-never-come", 25, &[rule(Only(Status), 2, 1, ReplyUnheard), rule(Only(StagedChange), 0, 1, ReplyUnheard)]),
    row("the-answer-to-a-claim-never-comes", 25, &[rule(Only(Claim), 1, 1, ReplyUnheard)]),
    row("a-claim-is-never-heard-of", 25, &[rule(Only(Claim), 1, 1, Unheard)]),
    row("the-answer-to-each-claim-is-lost", 10, &[rule(Only(Claim), 0, 3, ReplyLost)]),
    row("the-answer-to-a-nudge-is-lost", 10, &[rule(Only(Ready), 0, 1, ReplyLost)]),
    row("answers-to-reports-are-lost", 10, &[rule(Only(Target), 0, 1, ReplyLost), rule(Only(Status), 0, 3, ReplyLost), rule(Only(StagedChange), 0, 1, ReplyLost)]),
    row("writes-are-lost", 30, &[rule(Writes, 2, 4, Lost)]),
    row("answers-are-half-or-cut", 30, &[rule(Writes, 2, 2, ReplyHalf), rule(Writes, 2, 2, ReplyCut)]),
    row("writes-are-too-many", 10, &[rule(Writes, 2, 2, Answer(429, 3))]),
    row("writes-conflict-or-fail", 30, &[rule(Writes, 2, 2, Answer(409, 0)), rule(Writes, 2, 1, Answer(500, 0)), rule(Writes, 2, 1, Answer(503, 0)), rule(Writes, 2, 1, Answer(504, 0))]),
    row("watches-are-never-answered", 45, &[rule(Only(Watch), 0, 4, Unheard)]),
    row("versions-are-too-old", 30, &[rule(Only(Watch), 0, 12, Answer(410, 0))]),
    row("lists-are-half", 30, &[rule(Only(Read), 0, 4, ReplyHalf)]),
];

impl Row {
    /// Runs a rollout with these faults.
    pub(super) async fn run(&self, env: &World) -> anyhow::Result<()> {
        let trial = Trial::begin(env, &format!("network-{}", self.name)).await?;
        for rule in self.rules {
            trial.inject(*rule);
        }
        trial.roll_out().await?;
        // A new watch or list needs a watch that ended before.
        for rule in self.rules.iter().filter(|rule| matches!(rule.to, Only(Read | Watch))) {
            trial.until_asked(Claim, 1).await?;
            trial.network.script.streams(|streams| match rule.to {
                Only(Watch) => streams.cuts += 1,
                _ => streams.expired += 1,
            });
        }
        trial
            .until_injected(self.rules.iter().map(|rule| rule.times).sum())
            .await?;
        trial.recovers(Duration::from_secs(self.within)).await.map(drop)
    }
}
