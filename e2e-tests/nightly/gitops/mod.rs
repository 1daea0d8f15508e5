//! GitOps tools and a change of templates. The tests send the requests of each tool to the real API server through the
//! policy, and compare objects as the tool does: Argo CD and Flux by their own code, kubectl and OpenTofu by
//! themselves, Pulumi by a function that is named after that of the tool. The table in `docs/dev/gitops.md` is the result.

mod beside;
mod comparers;
mod cycle;
mod health;
mod opentofu;
mod others;
mod paths;
mod terraform;
pub(crate) mod tools;
mod waiting;

use anyhow::{Context as _, ensure};
use futures::FutureExt as _;
use serde_json::json;

use crate::world::runner::{Report, scenarios};
use crate::world::{Options, World};
use tools::{TOOLS, Tool};

const DOCUMENT: &str = include_str!("../../../docs/dev/gitops.md");

scenarios![World;
    health::kstatus_waits_for_pods_and_not_for_volumes,
    beside::argo_replace_keeps_the_set_unless_forced,
    beside::forced_apply_of_an_exported_pvc_keeps_the_set,
    terraform::computed_templates_fail_and_withdraw_staged_change,
    terraform::typed_resource_sends_no_size_or_deletes_the_set,
    terraform::kubectl_manifest_waits_until_the_set_is_written,
    terraform::denial_is_shown,
    beside::pulumi_ignoring_templates_keeps_staged_change_of_others,
];

/// The rows of the table in the document.
fn rows() -> impl Iterator<Item = &'static str> {
    let table = DOCUMENT.lines().skip_while(|line| !line.starts_with("| tool |"));
    table.skip(2).take_while(|line| line.starts_with('|'))
}

/// Checks that the row of a tool in the document is the result of its scenario.
async fn row_is_documented(env: &World, tool: &Tool) -> anyhow::Result<()> {
    let [more, after, back] = cycle::cells(env, tool).await?;
    let row = format!("| {} | {more} | {after} | {back} |", tool.name);
    ensure!(
        rows().any(|documented| documented == row),
        "docs/dev/gitops.md should contain\n{row}"
    );
    let shown = waiting::shows(env, tool).await.context("while Pods wait")?;
    ensure!(
        shown == [after.clone(), after],
        "while Pods wait, and at the end: {shown:?}"
    );
    Ok(())
}

#[test]
fn every_row_of_the_document_is_run() {
    let names: Vec<String> = TOOLS.iter().map(|tool| format!("| {} |", tool.name)).collect();
    let documented: Vec<&str> = rows().collect();
    assert_eq!(documented.len(), names.len(), "{documented:#?}");
    for (row, name) in documented.iter().zip(&names) {
        assert!(row.starts_with(name), "expected {name}, but found {row}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn document_shows_what_the_tools_show() -> anyhow::Result<()> {
    let mut report = Report::new();
    let env = World::with(Options::expanding_in(300))
        .policy(json!({}))
        .build()
        .await?;
    report.print("the cluster is up");
    let scenarios = TOOLS.iter().map(|tool| {
        let scenario = row_is_documented(&env, tool).boxed_local();
        (format!("row::{}", tool.namespace), scenario)
    });
    report.run_all(scenarios.collect()).await;
    report.run(&env, SCENARIOS).await;
    report.end()?;
    env.stop().await
}
