//! Helm and charts of many shapes, on a real control plane.

mod denied;
mod play;
mod shape;
mod steps;

use futures::FutureExt as _;
use futures::future::LocalBoxFuture;
use serde_json::json;

use crate::world::helm::{CLIENT_SIDE, SERVER_SIDE};
use crate::world::runner::Report;
use crate::world::{Options, World};
use shape::{SHAPES, Shape};
use steps::{KEPT, STEPS, Step};

/// A release of this shape takes these steps, by each way of Helm.
fn rows<'a>(
    env: &'a World,
    shape: &'a Shape,
    steps: &'static [Step],
) -> impl Iterator<Item = (String, LocalBoxFuture<'a, anyhow::Result<()>>)> {
    let ways = [("helm-4", SERVER_SIDE), ("helm-3", CLIENT_SIDE)];
    ways.into_iter().map(move |(helm, way)| {
        let name = format!("{}-{helm}", shape.name);
        (name.clone(), play::row(env, name, shape, way, steps).boxed_local())
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn releases_of_every_shape_grow_and_go_back() -> anyhow::Result<()> {
    let mut report = Report::new();
    let env = World::with(Options::default())
        .policy(json!({}))
        .but_in(&[denied::NAMESPACE])
        .rights(&["replace-sets.yaml"])
        .build()
        .await?;
    report.print("the cluster is up");
    report
        .run_all(SHAPES.iter().flat_map(|shape| rows(&env, shape, &STEPS)).collect())
        .await;
    let denied = denied::denied_helm_upgrade_keeps_the_set_even_if_forced(&env);
    report
        .run_one("denied_helm_upgrade_keeps_the_set_even_if_forced", denied)
        .await;

    let env = env.reinstalled(&json!({"shrink": "Keep"})).await?;
    report.print("sizes are kept");
    report.run_all(rows(&env, &shape::KEPT, &KEPT).collect()).await;
    report.end()?;
    env.stop().await
}
