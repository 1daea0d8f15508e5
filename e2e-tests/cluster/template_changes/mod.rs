//! Templates are added, removed and renamed (`templateChanges: Allow`).

mod added;
mod removed;
mod trial;
mod wedged;

use crate::world::World;
use crate::world::runner::scenarios;

scenarios![World;
    added::pods_are_evicted_one_at_a_time_in_ascending_order,
    removed::removed_template_restarts_nothing_and_keeps_its_claims,
    wedged::wedge_made_by_hand_is_repaired,
    wedged::budget_and_pause_are_respected,
];
