//! What differs between the minor versions of Kubernetes: each row of the table in `docs/versions.md` is observed, and
//! compared with the cell of this minor version.

mod classes;
mod controllers;
mod fields;

use std::collections::BTreeSet;

use anyhow::{Context as _, ensure};
use futures::FutureExt as _;
use futures::future::LocalBoxFuture;
use serde_json::json;

use crate::world::by_minor::{VERSIONS, column};
use crate::world::runner::Report;
use crate::world::{Options, World};

/// The first cell of a row, and what its other cells contain: without backticks, as it is found on this cluster.
type Row = (
    &'static str,
    for<'a> fn(&'a World) -> LocalBoxFuture<'a, anyhow::Result<String>>,
);

const ROWS: [Row; 11] = [
    ("the error for other templates, without claim-rollout", |env| {
        fields::refusal(env).boxed_local()
    }),
    ("a new StatefulSet with a template without `accessModes`", |env| {
        fields::without_modes(env).boxed_local()
    }),
    ("`maxUnavailable` of a StatefulSet", |env| {
        fields::max_unavailable(env).boxed_local()
    }),
    ("`volumeAttributesClassName` of a PVC", |env| {
        fields::class_name(env).boxed_local()
    }),
    ("a rollout to a VolumeAttributesClass", |env| {
        classes::rollout(env).boxed_local()
    }),
    ("`claim-rollout plan` for it", |env| classes::plan(env).boxed_local()),
    ("a smaller request for a PVC whose growth failed", |env| {
        classes::lowered(env).boxed_local()
    }),
    (
        "`Parallel`, a new image, and web-0 of 3 is not Ready: the first Pod that is replaced",
        |env| controllers::first_replaced(env).boxed_local(),
    ),
    (
        "`Parallel` and a new image: the next Pod waits for `minReadySeconds`",
        |env| controllers::waits_for_seconds(env).boxed_local(),
    ),
    ("the condition of a PVC that no Pod uses", |env| {
        controllers::unused(env).boxed_local()
    }),
    ("Events of the StatefulSet controller begin with", |env| {
        controllers::events(env).boxed_local()
    }),
];

/// Compares what is found with the cell.
async fn is_as_documented(env: &World, row: Row, cell: Option<&String>) -> anyhow::Result<()> {
    let (what, observe) = row;
    let cell = cell.with_context(|| format!("{VERSIONS} has no row: {what}"))?;
    let found = observe(env).await?;
    let minor = env.cluster.minor();
    println!("          1.{minor}: {what}: {found}");
    ensure!(
        found == cell.replace('`', ""),
        "{VERSIONS} should have {found} for 1.{minor}, but has {cell}"
    );
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn this_minor_version_behaves_as_documented() -> anyhow::Result<()> {
    let mut report = Report::new();
    let options = Options::expanding_in(300);
    let documented = column(VERSIONS, "What you see", &options.minor)?;
    let rows: BTreeSet<&str> = ROWS.iter().map(|(what, _)| *what).collect();
    let listed: BTreeSet<&str> = documented.keys().map(String::as_str).collect();
    ensure!(
        rows == listed,
        "the rows, and those in {VERSIONS}: {rows:#?} {listed:#?}"
    );
    let env = World::with(options)
        .policy(json!({}))
        .but_in(&[fields::ALONE])
        .build()
        .await?;
    report.print("the cluster is up");
    let compared = ROWS.map(|row| {
        let compared = is_as_documented(&env, row, documented.get(row.0));
        (format!("minors::{}", row.0), compared.boxed_local())
    });
    report.run_all(compared.into()).await;
    report.end()?;
    env.stop().await
}
