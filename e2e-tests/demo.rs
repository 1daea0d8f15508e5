//! The main job, from the user's point of view: a StatefulSet gets larger volumes because somebody ran `kubectl apply`.
//! What is said at the end is checked against the API server.

mod checks;

use std::io::{IsTerminal as _, stdout};
use std::pin::pin;
use std::time::{Duration, Instant};

use anyhow::{bail, ensure};
use k8s_openapi::api::apps::v1::StatefulSet;
use kube::api::Api;
use serde_json::json;

use crate::cluster::{Cluster, Options, Output, eventually, in_foreground};
use crate::installation::{Controller, Installation, binary};
use crate::{interrupted, wait_in};
use checks::{Before, Watch};

/// The manifest of the user, and the same with larger volumes.
const MANIFEST: &str = include_str!("demo/web.yaml");
const SMALL: &str = "10Gi";
const LARGE: &str = "20Gi";
/// The command that is refused, and accepted.
const APPLY: [&str; 3] = ["apply", "-f", "web.yaml"];
/// How long the driver takes to expand a volume: slow enough to be seen.
const EXPANSION_MILLIS: u64 = 1000;
const PATIENCE: Duration = Duration::from_secs(60);
const COLUMNS: usize = 80;

/// Shows it; with `keep` the cluster stays until the user has had enough. An error if anything was not as it should be.
pub(crate) async fn run(minor: String, keep: bool) -> anyhow::Result<()> {
    // Listening begins before the start: whoever gives up early gets an orderly end as well.
    let mut end = pin!(interrupted()?);
    let begin = Instant::now();
    let options = Options {
        minor,
        ..Options::expanding_in(EXPANSION_MILLIS)
    };
    let cluster = Cluster::start(options).await?;
    let shown = tokio::select! {
        shown = show(&cluster, begin) => Some(shown?),
        () = &mut end => None,
    };
    let Some((installation, controller)) = shown else {
        cluster.stop();
        bail!("interrupted; nothing is left running");
    };
    if keep {
        println!("\nThe cluster is yours; in another shell:\n");
        wait_in(&cluster, "\nCtrl-C ends it.", end).await?;
    }
    drop(controller);
    installation.stop().await?;
    cluster.stop();
    if !keep {
        println!("Nothing is left running. `make demo KEEP=1` keeps it, to try things out.");
    }
    Ok(())
}

/// The whole play.
async fn show(cluster: &Cluster, begin: Instant) -> anyhow::Result<(Installation, Controller)> {
    let client = cluster.client().await?;
    let version = client.apiserver_version().await?.git_version;
    say(&format!(
        "Kubernetes {version} is up after {:.1} s: the real control plane, CSI provisioner and resizer; only kubelet and \
         disks are simulated.",
        begin.elapsed().as_secs_f64()
    ));

    title("1. A StatefulSet with three replicas, a volume of 10Gi each");
    let file = cluster.folder().join("web.yaml");
    std::fs::write(&file, MANIFEST)?;
    succeed(&kubectl(cluster, &APPLY).await?)?;
    until_ready(&client).await?;
    succeed(&kubectl(cluster, &["get", "pvc", "-o", COLUMNS_OF_CLAIMS]).await?)?;

    title("2. The volumes are full: larger ones are needed");
    let larger = MANIFEST.replace(SMALL, LARGE);
    print!("{}", difference(MANIFEST, &larger));
    std::fs::write(&file, larger)?;
    let refused = kubectl(cluster, &APPLY).await?;
    ensure!(
        !refused.success,
        "expected the API server to refuse the change, but it did not"
    );
    println!();
    say("That is Kubernetes as it is.");

    title("3. With claim-rollout: the policy, and the controller");
    let start = Instant::now();
    let installation = Installation::new(cluster, json!({})).await?;
    let controller = installation.start_controller(&[]).await?;
    say(&format!(
        "Installed after {:.1} s: what deploy/ holds, with the same rights. Now the very same command again:",
        start.elapsed().as_secs_f64()
    ));
    println!();
    let before = Before::see(&client).await?;
    let watch = Watch::begin(&client).await?;
    let start = Instant::now();
    succeed(&kubectl(cluster, &APPLY).await?)?;

    title("4. The volumes grow, one at a time, under the running Pods");
    follow(cluster).await?;
    let seconds = start.elapsed().as_secs_f64();

    title("5. What happened, checked on the API server");
    checks::check(cluster, &client, &before, watch).await?;
    println!();
    say(&format!(
        "{seconds:.1} s from `kubectl apply` to the end, of which the disks took {} s; the whole demo {:.1} s.",
        3 * EXPANSION_MILLIS / 1000,
        begin.elapsed().as_secs_f64()
    ));
    Ok((installation, controller))
}

/// What `kubectl get pvc` shows, as far as it matters here.
const COLUMNS_OF_CLAIMS: &str = "custom-columns=\
    NAME:.metadata.name,STATUS:.status.phase,REQUEST:.spec.resources.requests.storage,CAPACITY:.status.capacity.storage";

/// Runs kubectl, and shows the command line and what it printed.
async fn kubectl(cluster: &Cluster, arguments: &[&str]) -> anyhow::Result<Output> {
    command(&format!("kubectl {}", essential(arguments)));
    let output = cluster.kubectl(arguments, "").await?;
    for text in [&output.stderr, &output.stdout] {
        text.lines().for_each(say);
    }
    Ok(output)
}

/// The list of columns is of no interest.
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

/// Runs `claim-rollout status -w` in the foreground until the rollout is complete.
async fn follow(cluster: &Cluster) -> anyhow::Result<()> {
    let arguments = ["status", "web", "--watch"];
    command("claim-rollout status web --watch");
    let kubeconfig = cluster.kubeconfig();
    let mut child = in_foreground(&binary()?, &arguments, &[("KUBECONFIG", kubeconfig.as_os_str())])?;
    let ended = eventually("the rollout to be complete", PATIENCE, async || Ok(child.status()?)).await?;
    ensure!(ended.success(), "claim-rollout status: {ended}");
    Ok(())
}

async fn until_ready(client: &kube::Client) -> anyhow::Result<()> {
    let sets: Api<StatefulSet> = Api::default_namespaced(client.clone());
    let ready = eventually("three Pods to be ready", PATIENCE, async || {
        let status = sets.get("web").await?.status.unwrap_or_default();
        Ok((status.ready_replicas == Some(3)).then_some(()))
    });
    ready.await
}

/// The lines that are different, with three of context; both texts have the same number of them.
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

fn title(text: &str) {
    println!("\n{}\n", bold(text));
}

fn command(text: &str) {
    println!("{}", bold(&format!("$ {text}")));
}

fn bold(text: &str) -> String {
    if stdout().is_terminal() {
        format!("\x1b[1m{text}\x1b[0m")
    } else {
        text.to_owned()
    }
}

/// Prints text, broken between words where a line would be too long.
fn say(text: &str) {
    for line in text.lines() {
        println!("{}", fold(line));
    }
}

/// Breaks a line between words; what follows is indented as the line is. A word that is longer than a line (the API server
/// prints whole objects) is shortened.
fn fold(line: &str) -> String {
    let text = line.trim_start();
    let indent = line.len() - text.len();
    let mut lines = vec![" ".repeat(indent)];
    let mut column = indent;
    for word in text.split(' ').map(shorten) {
        let length = word.chars().count();
        if column > indent && column + 1 + length > COLUMNS {
            lines.push(" ".repeat(indent));
            column = indent;
        }
        let gap = if column > indent { " " } else { "" };
        let last = lines.len() - 1;
        lines[last] += &format!("{gap}{word}");
        column += gap.len() + length;
    }
    lines.join("\n")
}

fn shorten(word: &str) -> String {
    const START: usize = 50;
    const END: usize = 4;
    let length = word.chars().count();
    if length <= COLUMNS {
        return word.to_owned();
    }
    let start: String = word.chars().take(START).collect();
    let end: String = word.chars().skip(length - END).collect();
    format!("{start}…{end}")
}
