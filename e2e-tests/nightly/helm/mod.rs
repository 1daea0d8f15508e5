//! Helm and charts of many shapes, on a real control plane.

mod kept;
mod play;
mod recreating;
mod shape;
mod steps;

use futures::FutureExt as _;
use serde_json::json;

use crate::world::Options;
use crate::world::environment::Environment;
use crate::world::helm::{CLIENT_SIDE, SERVER_SIDE};
use crate::world::runner::{Report, scenarios};
use kept::SENDERS;
use shape::SHAPES;

scenarios![Environment;
    recreating::job_that_recreates_by_server_side_apply,
    recreating::job_that_recreates_by_client_side_apply,
];

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn releases_of_every_shape_grow_and_go_back() -> anyhow::Result<()> {
    let mut report = Report::new();
    let env = Environment::build(Options::default()).await?;
    env.allow_replacements().await?;
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

    let env = env.reinstalled(json!({"shrink": "Keep"})).await?;
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
