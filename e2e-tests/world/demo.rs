//! The main use: a StatefulSet gets larger volumes by `kubectl apply`. The claims in the final output are checked
//! against the API server.

mod checks;
pub(crate) mod picture;
mod screen;

use std::time::Instant;

use anyhow::ensure;

use crate::world::installation::{AS_IN_A_POD, Controller, Controllers};
use crate::world::namespace::TestNamespace;
use crate::world::policy_host::Shipped;
use crate::world::served::{Policies, Served};
use crate::world::{Cluster, Options, Output};
use checks::LARGE;
pub(crate) use screen::Screen;

/// The manifest of the user, and the same with larger volumes.
const MANIFEST: &str = include_str!("demo/web.yaml");
const SMALL: &str = "10Gi";
/// The command that the API server denies first, and then accepts.
const APPLY: [&str; 3] = ["apply", "-f", "web.yaml"];
/// The duration of an expansion: slow enough to watch.
const EXPANSION_MILLIS: u64 = 1000;
/// Printed when the cluster is removed.
pub(crate) const FAREWELL: &str = "Nothing is left running. `make demo KEEP=1` keeps it, to try things out.";

/// The options of the demo cluster.
pub(crate) fn options(minor: String) -> Options {
    Options {
        minor,
        ..Options::expanding_in(EXPANSION_MILLIS)
    }
}

/// Runs the whole demo. Fails if a check fails.
pub(crate) async fn show(
    cluster: &Cluster,
    begin: Instant,
    screen: &mut Screen,
) -> anyhow::Result<(Served, Controller)> {
    let ns = TestNamespace {
        cluster,
        client: cluster.client().await?,
        namespace: "default".to_owned(),
        controller: None,
    };
    let version = ns.client.apiserver_version().await?.git_version;
    screen.wrapped(&format!(
        "Kubernetes {version} is up after {:.1} s: the real control plane, CSI provisioner and resizer; only kubelet and \
         disks are simulated.",
        begin.elapsed().as_secs_f64()
    ));

    screen.title("1. A StatefulSet with three replicas, a volume of 10Gi each");
    let file = cluster.folder().join("web.yaml");
    std::fs::write(&file, MANIFEST)?;
    succeed(&kubectl(cluster, screen, &APPLY).await?)?;
    ns.until_ready(3).await?;
    succeed(&kubectl(cluster, screen, &["get", "pvc", "-o", COLUMNS_OF_CLAIMS]).await?)?;

    screen.title("2. The volumes are full: larger ones are needed");
    let larger = MANIFEST.replace(SMALL, LARGE);
    screen.print(&difference(MANIFEST, &larger));
    std::fs::write(&file, larger)?;
    let refused = kubectl(cluster, screen, &APPLY).await?;
    ensure!(!refused.success, "the API server accepted the change");
    screen.print("\n");
    screen.wrapped("That is Kubernetes without claim-rollout.");

    screen.title("3. With claim-rollout: the policy, and the controller");
    let start = Instant::now();
    let controllers = Controllers::install(cluster).await?;
    let policies = Policies::all(&Shipped::sets()?.spec["settings"])?
        .serve(cluster)
        .await?;
    let controller = controllers.start(&AS_IN_A_POD).await?;
    screen.wrapped(&format!(
        "Installed after {:.1} s: what deploy/ holds, with the same rights. Now the very same command again:",
        start.elapsed().as_secs_f64()
    ));
    screen.print("\n");
    let pods = ns.pods().await?;
    let start = Instant::now();
    succeed(&kubectl(cluster, screen, &APPLY).await?)?;

    screen.title("4. The volumes grow, one at a time, under the running Pods");
    follow(cluster, screen).await?;
    let seconds = start.elapsed().as_secs_f64();

    screen.title("5. What happened, checked on the API server");
    checks::check(&ns, &pods, screen).await?;
    screen.print("\n");
    screen.wrapped(&format!(
        "{seconds:.1} s from `kubectl apply` to the end, of which the disks took {} s; the whole demo {:.1} s.",
        3 * EXPANSION_MILLIS / 1000,
        begin.elapsed().as_secs_f64()
    ));
    Ok((policies, controller))
}

/// The columns of `kubectl get pvc` that the demo needs.
const COLUMNS_OF_CLAIMS: &str = "custom-columns=\
    NAME:.metadata.name,STATUS:.status.phase,REQUEST:.spec.resources.requests.storage,CAPACITY:.status.capacity.storage";

/// Runs kubectl, and prints the command line and its output.
async fn kubectl(cluster: &Cluster, screen: &mut Screen, arguments: &[&str]) -> anyhow::Result<Output> {
    screen.command(&format!("kubectl {}", essential(arguments)));
    let output = cluster.kubectl(arguments, "").await?;
    for text in [&output.stderr, &output.stdout] {
        text.lines().for_each(|line| screen.wrapped(line));
    }
    Ok(output)
}

/// The command line without the long list of columns.
fn essential(arguments: &[&str]) -> String {
    let words = arguments
        .iter()
        .filter(|word| !["-o", COLUMNS_OF_CLAIMS].contains(word));
    words.copied().collect::<Vec<_>>().join(" ")
}

fn succeed(output: &Output) -> anyhow::Result<()> {
    ensure!(output.success, "kubectl failed: {}", output.stderr);
    Ok(())
}

/// Runs `claim-rollout status --watch` until the rollout is complete.
async fn follow(cluster: &Cluster, screen: &mut Screen) -> anyhow::Result<()> {
    screen.command("claim-rollout status web --watch");
    screen.run(cluster, &["status", "web", "--watch"]).await
}

/// The changed lines with three lines of context; both texts have the same number of lines.
fn difference(old: &str, new: &str) -> String {
    let (old, new) = (old.lines().collect::<Vec<_>>(), new.lines().collect::<Vec<_>>());
    let mut text = "--- web.yaml\n+++ web.yaml\n".to_owned();
    for (at, (was, is)) in old.iter().zip(&new).enumerate().filter(|(_, (was, is))| was != is) {
        for line in &old[at.saturating_sub(3)..at] {
            text += &format!(" {line}\n");
        }
        text += &format!("-{was}\n+{is}\n");
    }
    text
}
