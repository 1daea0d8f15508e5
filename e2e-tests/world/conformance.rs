//! What the controller writes is what its machines ask for: in the audit log, every write to a StatefulSet, a PVC, a Pod or
//! a VolumeSnapshot is a task that the log of the controller shows, and none is sent more often than asked for.

use std::collections::BTreeMap;

use anyhow::{Context as _, ensure};
use serde_json::Value;

use super::installation::USER;
use super::{Cluster, Entry};

/// The kinds that only a machine decides to write.
const KINDS: [&str; 4] = ["statefulsets", "persistentvolumeclaims", "pods", "volumesnapshots"];

/// Checks this for everything that the controllers of the cluster wrote.
pub(super) async fn every_write_is_a_task(cluster: &Cluster) -> anyhow::Result<()> {
    let mut tasks = tasks(cluster)?;
    let is_ours = |entry: &Entry| entry.user == USER && !entry.is_pretended() && !entry.dry_run();
    let written = cluster.audit().await?.into_iter().filter(is_ours);
    let mut of_machines: Vec<Entry> = written.filter(|entry| KINDS.contains(&&*entry.resource)).collect();
    // The others take the tasks that are left.
    of_machines.sort_by_key(|entry| !is_whole(entry));
    let others: Vec<&Entry> = of_machines.iter().filter(|entry| !take(&mut tasks, entry)).collect();
    ensure!(
        others.is_empty(),
        "expected only writes that a machine asked for, but found also {others:#?}"
    );
    println!("{} writes to {KINDS:?}, each asked for by a machine", of_machines.len());
    Ok(())
}

/// The tasks in the logs of all controllers, and how often each was asked for.
fn tasks(cluster: &Cluster) -> anyhow::Result<BTreeMap<String, usize>> {
    let mut tasks = BTreeMap::new();
    for (_, log) in cluster.controller_logs() {
        for line in log.lines().filter(|line| line.contains(" write task=\"")) {
            let (_, task) = line.split_once(" task=\"").context("a task")?;
            let (task, _) = task.split_once('"').context("the end of a task")?;
            *tasks.entry(task.to_owned()).or_default() += 1;
        }
    }
    Ok(tasks)
}

/// Takes the task of this write. False if there is none.
fn take(tasks: &mut BTreeMap<String, usize>, entry: &Entry) -> bool {
    let Entry {
        verb,
        resource,
        namespace,
        name,
        ..
    } = entry;
    let object = format!("{verb} {resource} {namespace}/{name} ");
    let request = entry.request.value();
    let version = match (&**resource, &**verb) {
        ("pods", _) => &request["deleteOptions"]["preconditions"]["uid"],
        (_, "delete") => &request["preconditions"]["resourceVersion"],
        (_, "create") => &Value::Null,
        // A JSON patch names its version, if any, in a test.
        _ => &request["metadata"]["resourceVersion"],
    };
    let write = format!("{object}{}", version.as_str().unwrap_or_default());
    let is_same = |task: &str| {
        if is_whole(entry) {
            task == write
        } else {
            task.starts_with(object.trim_end())
        }
    };
    let task = tasks.iter_mut().find(|(task, left)| **left > 0 && is_same(task));
    task.map(|(_, left)| *left -= 1).is_some()
}

/// The log has no body of a request without the right to it, and no name of a new object of a kind that is not served.
fn is_whole(entry: &Entry) -> bool {
    !entry.forbidden && !entry.name.is_empty()
}
