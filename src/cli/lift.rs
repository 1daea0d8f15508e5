//! `claim-rollout lift`: ends holds, for whoever takes claim-rollout out of a cluster.

use anyhow::{bail, ensure};
use clap::Args;
use kube::Client;
use kube::api::ListParams;
use serde_json::Value;

use super::ClusterArguments;
use super::cluster::{kind, objects as objects_of};
use super::output::print;
use super::withdraw::{DryRun, patch, remark};
use crate::controller::{objects, partition_patch};
use crate::rollout::release;
use crate::templates::keys;

/// Give StatefulSets their own partition back: their Pods no longer wait for claims
///
/// For the time when claim-rollout goes: a set whose Pods are held would be held for ever. What is staged stays staged. While
/// the policy is there it lets only the controller's account do so; everybody else can withdraw, or set sync to Async.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The StatefulSets; all whose Pods are held if none is named.
    names: Vec<String>,
    /// Of all namespaces.
    #[arg(short = 'A', long, conflicts_with = "names")]
    all_namespaces: bool,
    /// `server`: ask the API server what would become of it, and store nothing.
    #[arg(long, value_name = "MODE", default_value = "none")]
    dry_run: DryRun,
}

/// Runs the subcommand: what can be lifted is, whatever becomes of the others.
///
/// # Errors
/// If a set that is named is not there or not held, or a hold could not be lifted.
pub(crate) async fn run(cluster: &ClusterArguments, arguments: &Arguments) -> anyhow::Result<()> {
    let (client, namespace) = cluster.connect().await?;
    let namespace = (!arguments.all_namespaces).then_some(namespace);
    let mut left = Vec::new();
    for object in held(&client, namespace.as_deref(), &arguments.names).await? {
        let name = path(&object);
        match lift(&client, &object, arguments.dry_run).await {
            Ok(()) => print(&format!(
                "statefulset.apps/{name} is held no longer{}\n",
                remark(arguments.dry_run)
            ))?,
            Err(error) => {
                eprintln!("error: {name}: {}", super::in_words(&error));
                left.push(name);
            }
        }
    }
    ensure!(
        left.is_empty(),
        "expected to lift every hold, but could not lift {}",
        left.join(", ")
    );
    Ok(())
}

/// Namespace and name of a set.
fn path(object: &Value) -> String {
    let text = |key: &str| object["metadata"][key].as_str().unwrap_or_default();
    format!("{}/{}", text("namespace"), text("name"))
}

/// The sets of these names, or all that are held.
async fn held(client: &Client, namespace: Option<&str>, names: &[String]) -> anyhow::Result<Vec<Value>> {
    let sets = objects_of(client, namespace, &kind("apps", "v1", "StatefulSet"));
    if names.is_empty() {
        let all = sets.list(&ListParams::default()).await?;
        let all: Vec<Value> = all.into_iter().map(serde_json::to_value).collect::<Result<_, _>>()?;
        return Ok(all.into_iter().filter(is_held).collect());
    }
    let mut found = Vec::new();
    for name in names {
        let set = serde_json::to_value(sets.get(name).await?)?;
        if !is_held(&set) {
            bail!("expected the Pods of StatefulSet {name} to be held, but found that they are not");
        }
        found.push(set);
    }
    Ok(found)
}

fn is_held(set: &Value) -> bool {
    set["metadata"]["annotations"].get(keys::HELD_PARTITION).is_some()
}

async fn lift(client: &Client, object: &Value, dry_run: DryRun) -> anyhow::Result<()> {
    let set = objects::set(object)?;
    let Some(action) = release::lift(&set) else {
        bail!(
            "expected a partition in the annotation {}, but found something else",
            keys::HELD_PARTITION
        );
    };
    let stored = patch(client, &set, &partition_patch(&action), dry_run).await?;
    ensure!(
        !is_held(&stored),
        "expected the hold to end, but found that the policy keeps it: only the controller's account may end it. `claim-rollout \
         withdraw` drops what is staged, the annotation {}=Async lets the Pods go on",
        keys::SYNC
    );
    Ok(())
}
