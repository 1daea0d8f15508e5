//! Requests that go wrong, one kind of fault after the other. Each row is a rollout of its own.

use std::time::Duration;

use super::asked::Asked::{Claim, Partition, Read, Record, Status, Watch, Wish};
use super::script::Fault::{Answer, Lost, ReplyCut, ReplyHalf, ReplyLost, ReplyUnheard, Slow, Unheard};
use super::script::To::{All, Only, Writes};
use super::script::{Fault, Rule, To};
use super::trial::{Stage, Trial};

/// A fault, and what it happens to.
pub(super) struct Row {
    pub(super) name: &'static str,
    to: To,
    /// So many of them pass before.
    after: u32,
    times: u32,
    fault: Fault,
    /// So many seconds after the last fault at most the controller has gone on.
    within: u64,
    /// Before that, all lists have to be read anew.
    relists: bool,
}

const fn row(name: &'static str, to: To, after: u32, times: u32, fault: Fault, within: u64) -> Row {
    Row {
        name,
        to,
        after,
        times,
        fault,
        within,
        relists: false,
    }
}

const fn relisting(name: &'static str, to: To, times: u32, fault: Fault, within: u64) -> Row {
    Row {
        relists: true,
        ..row(name, to, 0, times, fault, within)
    }
}

/// A request that nobody answers is given up after fifteen seconds.
pub(super) const ROWS: &[Row] = &[
    row("the-answer-to-a-claim-never-comes", Only(Claim), 1, 1, ReplyUnheard, 25),
    row(
        "the-answer-to-a-partition-never-comes",
        Only(Partition),
        1,
        1,
        ReplyUnheard,
        25,
    ),
    row(
        "the-answer-to-a-rollout-never-comes",
        Only(Wish),
        0,
        1,
        ReplyUnheard,
        25,
    ),
    row(
        "the-answer-to-a-status-never-comes",
        Only(Status),
        2,
        1,
        ReplyUnheard,
        25,
    ),
    row(
        "the-answer-to-the-record-never-comes",
        Only(Record),
        0,
        1,
        ReplyUnheard,
        25,
    ),
    row("a-claim-is-never-heard-of", Only(Claim), 1, 1, Unheard, 25),
    row("every-answer-takes-seconds", All, 4, 10, Slow(1000, 4000), 20),
    row("the-answer-to-each-claim-is-lost", Only(Claim), 0, 3, ReplyLost, 10),
    row(
        "the-answer-to-each-partition-is-lost",
        Only(Partition),
        0,
        4,
        ReplyLost,
        10,
    ),
    row("the-answer-to-each-rollout-is-lost", Only(Wish), 0, 1, ReplyLost, 10),
    row("the-answer-to-each-status-is-lost", Only(Status), 0, 3, ReplyLost, 20),
    row("the-answer-to-the-record-is-lost", Only(Record), 0, 1, ReplyLost, 10),
    row("writes-are-lost", Writes, 2, 4, Lost, 30),
    row("answers-are-half", Writes, 2, 4, ReplyHalf, 30),
    row("answers-are-cut", Writes, 2, 4, ReplyCut, 30),
    row("writes-conflict", Writes, 2, 4, Answer(409, 0), 30),
    row("writes-are-too-many", Writes, 2, 2, Answer(429, 3), 10),
    row("writes-fail", Writes, 2, 4, Answer(500, 0), 30),
    row("writes-find-nobody", Writes, 2, 4, Answer(503, 0), 30),
    row("writes-take-too-long", Writes, 2, 4, Answer(504, 0), 30),
    relisting("versions-are-too-old", Only(Watch), 12, Answer(410, 0), 30),
    relisting("lists-are-half", Only(Read), 8, ReplyHalf, 30),
];

impl Row {
    /// A rollout during which it happens.
    pub(super) async fn play(&self, stage: &Stage) -> anyhow::Result<()> {
        let trial = Trial::begin(stage, &format!("network-{}", self.name)).await?;
        trial.strike(Rule {
            to: self.to,
            after: self.after,
            times: self.times,
            fault: self.fault,
        });
        trial.roll_out().await?;
        if self.relists {
            trial.until_asked(Claim, 1).await?;
            trial.network.script.streams(|streams| streams.gone += 1);
        }
        trial.until_struck(self.times).await?;
        trial.heals(Duration::from_secs(self.within)).await
    }
}
