//! Helm and charts of many shapes, on a real control plane.

mod denied;
mod kept;
mod play;
mod recreating;
mod requests;
mod shape;
mod steps;

use futures::FutureExt as _;
use serde_json::json;

use crate::cluster::admission;
use crate::world::helm::{CLIENT_SIDE, SERVER_SIDE};
use crate::world::runner::{Report, scenarios};
use crate::world::{Options, World};
use kept::SENDERS;
use shape::SHAPES;

scenarios![World;
    recreating::job_that_recreates_by_server_side_apply,
    recreating::job_that_recreates_by_client_side_apply,
];

scenarios![REQUESTS: World;
    requests::helm_upgrade_is_staged_pods_wait_and_rollback_withdraws,
    requests::helm_3_repeats_growth_and_rolls_back_only_with_other_changes,
    requests::chart_version_in_template_is_ignored_if_so_set,
    denied::denied_helm_upgrade_keeps_the_set_even_if_forced,
];

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn requests_of_helm_have_the_intended_effect() -> anyhow::Result<()> {
    admission::run(REQUESTS).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn releases_of_every_shape_grow_and_go_back() -> anyhow::Result<()> {
    let mut report = Report::new();
    let env = World::with(Options::default())
        .policy(json!({}))
        .rights(&["replace-sets.yaml"])
        .build()
        .await?;
    report.print("the cluster is up");
    let mut rows = Vec::new();
    for shape in &SHAPES {
        for (helm, way) in [("helm-4", SERVER_SIDE), ("helm-3", CLIENT_SIDE)] {
            rows.push((
                format!("{}-{helm}", shape.name),
                play::row(&env, shape, way).boxed_local(),
            ));
        }
    }
    for (name, scenario) in SCENARIOS {
        rows.push(((*name).to_owned(), scenario(&env)));
    }
    report.run_all(rows).await;

    let env = env.reinstalled(&json!({"shrink": "Keep"})).await?;
    report.print("sizes are kept");
    let mut rows = Vec::new();
    for sender in &SENDERS {
        let name = |when: &str| format!("kept-{when}-a-replacement-{}", sender.name);
        rows.push((name("after"), kept::after_a_replacement(&env, sender).boxed_local()));
        rows.push((name("before"), kept::before_a_replacement(&env, sender).boxed_local()));
    }
    report.run_all(rows).await;
    report.end()?;
    env.stop().await
}
