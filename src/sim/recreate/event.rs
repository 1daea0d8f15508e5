//! One event in the world, with the decisions of our controllers.

use super::decision::AnewDecisions;
use super::objects::AnewProcess;
use super::world::{AnewEvent, AnewWorld};
use crate::rollout::invariants::Broken;

/// Lets an event happen; returns the broken guarantee.
///
/// # Errors
/// [`Broken`].
pub(super) fn happen(world: &mut AnewWorld, event: AnewEvent, decisions: &mut AnewDecisions) -> Result<(), Broken> {
    let objects = world.objects;
    match event {
        AnewEvent::Start => {}
        AnewEvent::Decide(place) => {
            let step = decisions.decide(world, place)?;
            world.process(place).step = step;
        }
        AnewEvent::Send(place) => {
            if let Some(step) = world.process(place).step.take() {
                world.accept(decisions.bug.sent(step, world))?;
                world.process(place).is_denied = false;
            }
        }
        AnewEvent::SendUnanswered(place) => {
            if let Some(step) = world.process(place).step.take() {
                world.accept(decisions.bug.sent(step, world))?;
                world.process(place).is_denied = true;
            }
        }
        AnewEvent::Deny(place) => {
            let process = world.process(place);
            (process.step, process.is_denied) = (None, true);
        }
        AnewEvent::Retry(place) => world.process(place).is_denied = false,
        AnewEvent::Crash(place) => {
            *world.process(place) = AnewProcess {
                seen: objects,
                step: None,
                is_denied: false,
            };
        }
        AnewEvent::ShowClaims(place) => world.process(place).seen.claims = objects.claims,
        AnewEvent::ShowPods(place) => world.process(place).seen.pods = objects.pods,
        AnewEvent::User(action) => world.act(action),
        other => world.go_on(other),
    }
    world.come_back();
    Ok(())
}
