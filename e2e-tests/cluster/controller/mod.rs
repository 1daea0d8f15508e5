//! The controller as a program in a cluster: what it keeps, what it waits for, who leads. `commands` runs these scenarios.

mod history;
mod inquire;
pub(crate) mod lease;
mod rights;
mod settings;
mod unblock;

use crate::world::World;
use crate::world::runner::{Report, scenarios};

scenarios![World;
    history::every_target_is_kept_and_not_adopted_by_a_statefulset,
    lease::one_of_two_leads_and_the_other_takes_over,
    settings::policy_object_with_other_setting_is_reported,
    unblock::removed_obstacle_is_used_at_once_despite_long_backoff,
];

/// Scenarios that run alone, in this order: the first changes the driver of all PVCs. By the second, other controllers have
/// used all rights, and their watches have ended.
pub(crate) async fn alone(report: &mut Report, env: &World) {
    let inquired = inquire::driver_error_of_slow_claim_is_in_the_claimrollout(env);
    report
        .run_one("inquire::driver_error_of_slow_claim_is_in_the_claimrollout", inquired)
        .await;
    let rights = rights::rights_of_deploy_are_the_used_ones(env);
    report
        .run_one("rights::rights_of_deploy_are_the_used_ones", rights)
        .await;
}
