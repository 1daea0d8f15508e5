//! Replacements that are disturbed at each of their writes: the controller is killed, a user deletes the StatefulSet or
//! its namespace, another controller works on the same. A [barrier](crate::world::barrier) stops the controller at
//! exactly one write.

mod deleted;
mod environment;
mod held;
mod killed;
mod taken_back;
mod two;

use tokio::sync::Semaphore;

use crate::cluster::replacing::kept::every_write_names_its_version;
use crate::world::Options;
use crate::world::barrier::Barriers;
use crate::world::runner::{Report, scenarios};
pub(crate) use environment::{Environment, PATIENCE};

/// The number of StatefulSets that are created or replaced at a time.
const AT_ONCE: usize = 6;

scenarios![Environment;
    killed::controller_killed_before_any_write_successor_finishes,
    deleted::set_deleted_at_any_write_stays_deleted_or_is_denied,
    deleted::namespace_deleted_at_any_write_stays_deleted,
    two::two_controllers_at_once_replace_like_one,
    two::next_leader_finishes_what_the_last_one_began,
];

scenarios![LAST: Environment;
    taken_back::set_taken_back_at_any_write_loses_nothing,
];

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn replacement_disturbed_at_any_write_ends() -> anyhow::Result<()> {
    let mut report = Report::new();
    let shared = crate::world::environment::Environment::build(Options::default()).await?;
    shared.allow_replacements().await?;
    let barriers = Barriers::default();
    let served = barriers.install(&shared.cluster).await?;
    let env = Environment {
        shared,
        barriers,
        turns: Semaphore::new(AT_ONCE),
        _served: served,
    };
    report.print("the cluster is up");
    report.run(&env, SCENARIOS).await;
    // It stops a program that all others need.
    report.run(&env, LAST).await;
    report.end()?;
    every_write_names_its_version(&env.shared.cluster).await?;
    env.shared.stop().await
}
