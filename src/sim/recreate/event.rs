//! One event in the world, with the decisions of our controllers.

use super::decision::AnewDecisions;
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
                world.accept(decisions.bug.sent(step, &objects))?;
            }
        }
        AnewEvent::Crash(place) => {
            let process = world.process(place);
            (process.step, process.seen) = (None, objects);
        }
        AnewEvent::ShowClaims(place) => world.process(place).seen.claims = objects.claims,
        AnewEvent::ShowPods(place) => world.process(place).seen.pods = objects.pods,
        AnewEvent::User(action) => world.act(action),
        other => world.go_on(other),
    }
    world.come_back();
    Ok(())
}
