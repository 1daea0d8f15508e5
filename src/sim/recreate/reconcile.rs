//! The reconciles of a controller: it does what the machine of the product returns.

use std::sync::Arc;

use super::decision::AnewDecisions;
use super::objects::AnewStep;
use super::process::{AnewProcess, AnewReconcile, OfAnew, simplify};
use super::world::AnewWorld;
use crate::rollout::invariants::Broken;
use crate::rollout::machine::{AttemptedWrite, ReconcileEnd, ReportWrite, RolloutTask, WriteReply};

impl AnewProcess {
    /// Starts a reconcile.
    pub(super) fn begin(&mut self, world: &AnewWorld, decisions: &mut AnewDecisions) -> Result<(), Broken> {
        self.reconcile = Some(AnewReconcile::default());
        self.proceed(world, decisions)
    }

    /// The reply to the request arrives, or none.
    pub(super) fn replied(
        &mut self,
        (step, reply): (AnewStep, WriteReply<OfAnew>),
        world: &AnewWorld,
        decisions: &mut AnewDecisions,
    ) -> Result<(), Broken> {
        let now = world.now().into();
        let of;
        let attempt = match &step {
            AnewStep::SeenAt(..) | AnewStep::Complete => AttemptedWrite::Set(step),
            AnewStep::Evict(..) => AttemptedWrite::Evict(step),
            AnewStep::Apply(index, number, version, label) => {
                of = (*index, *number);
                AttemptedWrite::Apply {
                    uid: &of,
                    version,
                    label,
                    write: step,
                }
            }
            AnewStep::Mark(index, number, ..)
            | AnewStep::Unmark(index, number, _)
            | AnewStep::Delete(index, number, ..)
            | AnewStep::Snapshot((index, number, ..), _) => {
                of = (*index, *number);
                AttemptedWrite::Step {
                    write: step,
                    of: &of,
                    failed: "failed".to_owned(),
                }
            }
        };
        let memory = Arc::make_mut(&mut self.memory);
        let outcome = memory.answered(&attempt, reply, now);
        simplify(memory);
        self.forget_past_writes(world);
        if let Some(reconcile) = &mut self.reconcile {
            reconcile.machine.answered(outcome.map_err(|_| ()));
        }
        self.proceed(world, decisions)
    }

    /// Does what the machine returns, until a request is to be sent or the reconcile has ended.
    fn proceed(&mut self, world: &AnewWorld, decisions: &mut AnewDecisions) -> Result<(), Broken> {
        let now = world.now().into();
        let Some(mut reconcile) = self.reconcile.take() else {
            return Ok(());
        };
        // After each answer, the last one first.
        let mut facts = Vec::new();
        loop {
            match reconcile.machine.next(&*self.memory, now, false) {
                RolloutTask::Decide => {
                    self.merge_replies(now);
                    let decision = decisions.decide(world, &self.seen, self.faults())?;
                    reconcile.steps = Arc::clone(&decision.steps);
                    facts = decision.facts.iter().rev().copied().collect();
                    reconcile.machine.decided(facts.pop().unwrap_or_default());
                }
                // The API server answers at once.
                RolloutTask::Ask | RolloutTask::ReadQuotas => {
                    reconcile.machine.decided(facts.pop().unwrap_or_default());
                }
                RolloutTask::Write(place) => {
                    reconcile.sending = reconcile.steps.get(place).copied();
                    reconcile.machine = reconcile.machine.uncounted();
                    self.reconcile = Some(reconcile);
                    return Ok(());
                }
                RolloutTask::Report => {
                    let memory = Arc::make_mut(&mut self.memory);
                    reconcile.machine.reported(memory, Ok(ReportWrite::Something));
                }
                RolloutTask::ReadEvents => reconcile.machine.read_events(false),
                RolloutTask::End(end) => {
                    if matches!(end, ReconcileEnd::Rests { settles: true, .. }) {
                        self.memory = Arc::default();
                    }
                    return Ok(());
                }
            }
        }
    }

    /// Forgets the writes that can never be decided again: their objects have changed, as the controller knows.
    fn forget_past_writes(&mut self, world: &AnewWorld) {
        self.merge_replies(world.now().into());
        let seen = self.seen;
        let is_shown = |index: usize, number: u8, version: u8| {
            let mut claims = [seen.claims[index], world.objects.claims[index]].into_iter().flatten();
            claims.any(|claim| (claim.number, claim.version) == (number, version))
        };
        let memory = Arc::make_mut(&mut self.memory);
        memory.overtaken.retain(|_, (write, _)| match *write {
            AnewStep::Apply(index, number, version, _)
            | AnewStep::Mark(index, number, version, _)
            | AnewStep::Unmark(index, number, version)
            | AnewStep::Delete(index, number, version, _) => is_shown(index, number, version),
            AnewStep::Snapshot(name, _) => world.snapshots.iter().flatten().all(|one| one.name != name),
            _ => true,
        });
    }
}
