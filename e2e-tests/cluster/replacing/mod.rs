//! The StatefulSet is replaced by one with the desired templates.

mod complete;
pub(crate) mod denying;
pub(crate) mod kept;
pub(crate) mod refused;
pub(crate) mod trial;
pub(crate) mod webhook;
pub(crate) mod writer;

use crate::world::World;
use crate::world::runner::scenarios;

scenarios![World;
    complete::complete_set_is_replaced_and_nothing_else_changes,
    refused::denied_delete_and_create_prevent_a_replacement,
    refused::denied_mark_is_undone,
    refused::dependent_of_another_kind_prevents_a_replacement,
    refused::guard_that_is_bound_elsewhere_prevents_a_replacement,
    refused::webhook_that_changes_new_sets_prevents_a_replacement,
    writer::write_every_20_ms_is_not_lost,
];
