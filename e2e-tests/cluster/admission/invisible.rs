//! Users who change no template do not notice the policy. The same requests go to two StatefulSets: the policy is
//! called for every request to the first, and for none to the second. Both get the same answers and end as the same
//! object.

use anyhow::{Context as _, ensure};
use futures::try_join;
use serde_json::{Value, json};

use super::shapes::{Shape, plain, shapes};
use crate::world::namespace::{TestNamespace, text};
use crate::world::served::Policies;
use crate::world::{Output, World};

/// The result of one request.
#[derive(PartialEq)]
struct Done {
    output: [String; 3],
    /// Whether the request stored something, and by how much the generation grew.
    steps: Value,
    set: Value,
}

/// Removes names, numbers and times that differ between objects.
fn anonymous(ns: &TestNamespace<'_>, mut set: Value) -> anyhow::Result<Value> {
    for key in ["uid", "resourceVersion", "creationTimestamp"] {
        set["metadata"][key].take();
    }
    // Entries are sorted by time.
    if let Some(managers) = set["metadata"]["managedFields"].as_array_mut() {
        managers.iter_mut().for_each(|entry| entry["time"] = Value::Null);
        managers.sort_by_key(Value::to_string);
    }
    Ok(serde_json::from_str(&unnamed(ns, &set.to_string()))?)
}

fn unnamed(ns: &TestNamespace<'_>, text: &str) -> String {
    text.replace(&ns.namespace, "NAMESPACE")
}

async fn send(ns: &TestNamespace<'_>, shape: &Shape, node: &str) -> anyhow::Result<Done> {
    let before = ns.settled().await?;
    let arguments: Vec<String> = shape
        .arguments
        .iter()
        .map(|argument| argument.replace("NODE", node))
        .collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let Output {
        success,
        stdout,
        stderr,
        ..
    } = ns.kubectl(&arguments, &shape.input).await?;
    let moved = ns.set().await?["metadata"]["resourceVersion"] != before["metadata"]["resourceVersion"];
    let after = ns.settled().await?;
    let generation = |set: &Value| set["metadata"]["generation"].as_u64().unwrap_or_default();
    let steps = generation(&after) - generation(&before);
    let uid = text(&before["metadata"]["uid"]);
    let anonymous_text = |output: &str| unnamed(ns, output).replace(&uid, "UID");
    let (before, set) = (anonymous(ns, before)?, anonymous(ns, after)?);
    // A request that changes nothing is stored if it moves its manager behind another one in the order of seconds. Two
    // StatefulSets that are written a moment apart can differ in that, and in what kubectl prints about it.
    let stored = moved && before != set;
    let stdout = stdout.replace(" (no change)", "");
    Ok(Done {
        output: [success.to_string(), anonymous_text(&stdout), anonymous_text(&stderr)],
        steps: json!([stored, steps]),
        set,
    })
}

pub(super) async fn unchanged_templates_same_results_as_without_the_policy(env: &World) -> anyhow::Result<()> {
    let (with, without) = (
        &env.namespace("invisible-with").await?,
        &env.namespace("invisible").await?,
    );
    let served = Policies::of_sets(&[with])?
        .unconditionally()
        .serve(&env.cluster)
        .await?;
    let node = with
        .done(&["get", "node", "node-0", "-o", "jsonpath={.metadata.uid}"], "")
        .await?
        .stdout;
    for ns in [with, without] {
        ns.done(&["create", "-f", "-"], &plain()).await?;
    }
    let shapes = shapes();
    let asked = served.sets();
    let (mut stored, mut refused) = (0, 0);
    for shape in &shapes {
        let (seen, expected) = try_join!(send(with, shape, &node), send(without, shape, &node))
            .with_context(|| format!("{:?}", shape.arguments))?;
        ensure!(
            seen.output == expected.output,
            "{:?}: {:?} {:?}",
            shape.arguments,
            seen.output,
            expected.output
        );
        ensure!(
            seen.steps == expected.steps,
            "{:?}: {} {}",
            shape.arguments,
            seen.steps,
            expected.steps
        );
        ensure!(
            seen.set == expected.set,
            "{:?}: {:#} {:#}",
            shape.arguments,
            seen.set,
            expected.set
        );
        stored += usize::from(seen.steps[0] == true);
        refused += usize::from(seen.output[0] == "false");
    }
    let asked = served.sets() - asked;
    println!(
        "        {} shapes: {stored} stored something, {refused} were refused; the policy was asked about {asked} requests",
        shapes.len()
    );
    ensure!(
        shapes.len() >= 50 && stored >= 50 && asked >= 50,
        "too little was tried"
    );
    Ok(())
}
