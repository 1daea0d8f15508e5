//! Requests of users and controllers to an API server with the policy behind its webhooks. One file per behaviour. Each
//! scenario has its own namespaces and its own policy-server, so that it can count the requests. `scenarios` runs them.

mod gate;
mod native;
mod new_claims;
mod retention;
mod verbs;

use crate::world::World;
use crate::world::runner::scenarios;

scenarios![World;
    retention::claims_are_deleted_and_kept_as_forecast,
    new_claims::new_replica_after_staged_growth_gets_claim_at_target,
    new_claims::without_claim_policy_new_claim_starts_small_and_is_expanded,
    gate::image_and_size_in_one_apply_keep_every_pod_until_released,
    gate::pods_that_need_not_wait_are_replaced_at_once,
    native::field_of_the_kep_is_dropped_and_the_change_is_staged,
    verbs::every_verb_stages_growth_and_dry_run_prints_the_same,
];
