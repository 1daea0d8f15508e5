//! A real control plane with claim-rollout in it, in the foreground, for a tour or for experiments:
//!
//! ```text
//! cargo run -p e2e-tests --example playground -- demo
//! cargo run -p e2e-tests --example playground -- up --k8s 1.34
//! ```

mod reviews_capture;
#[allow(
    dead_code,
    unused_imports,
    unused_macros,
    reason = "it uses a part; the tests use all of it"
)]
mod world;

use std::io::{IsTerminal as _, Read as _, stdin};
use std::os::unix::fs::symlink;
use std::pin::pin;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::bail;
use clap::{Parser, Subcommand};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;

use world::demo::{self, Screen, picture};
use world::installation::{AS_IN_A_POD, binary};
use world::{Cluster, Options, World};

/// A real Kubernetes control plane with claim-rollout in it; everything is removed afterwards.
#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

/// One variant, and one function, for each tour.
#[derive(Subcommand)]
enum Command {
    /// Start a control plane with claim-rollout, print how to use it in another shell, and stop it on Ctrl-C (or on
    /// SIGTERM, or at the end of an input that is not a terminal).
    Up {
        /// The minor version to run; the pinned ones are in e2e-tests/world/go/kubernetes.
        #[arg(long, env = "K8S", default_value = "1.37")]
        k8s: String,
    },
    /// Show how the PVCs of a StatefulSet follow its template, and check that they did.
    Demo {
        /// The minor version to run; the pinned ones are in e2e-tests/world/go/kubernetes.
        #[arg(long, env = "K8S", default_value = "1.37")]
        k8s: String,
        /// Keep the cluster running afterwards, as `up` does.
        #[arg(long)]
        keep: bool,
    },
    /// Write e2e-tests/reviews anew, as a real API server sends them to the policy.
    Capture,
}

#[tokio::main]
async fn main() -> ExitCode {
    let shown = match Arguments::parse().command {
        Command::Up { k8s } => up(k8s).await,
        Command::Demo { k8s, keep } => show(k8s, keep).await,
        Command::Capture => reviews_capture::run().await,
    };
    match shown {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn up(minor: String) -> anyhow::Result<()> {
    // Handles signals before the start, so that an early Ctrl-C stops everything in order too.
    let end = interrupted()?;
    let start = Instant::now();
    let options = Options {
        minor,
        ..Options::default()
    };
    let world = World::with(options)
        .shipped_policy()
        .controller(&AS_IN_A_POD)
        .build()
        .await?;
    let seconds = start.elapsed().as_secs_f64();
    let how = format!("up after {seconds:.1} s, with claim-rollout installed; Ctrl-C ends it");
    wait_in(&world.cluster, &how, end).await?;
    world.stop().await
}

/// Shows the demo; with `keep` the cluster runs until the user ends it. Fails if a check of the demo fails.
async fn show(minor: String, keep: bool) -> anyhow::Result<()> {
    // Handles signals before the start, so that an early Ctrl-C stops everything in order too.
    let mut end = pin!(interrupted()?);
    let begin = Instant::now();
    let cluster = Cluster::start(demo::options(minor)).await?;
    let mut screen = Screen::Standard;
    let shown = tokio::select! {
        shown = async { tokio::try_join!(demo::show(&cluster, begin, &mut screen), picture::drawn(&cluster)) } => Some(shown?),
        () = &mut end => None,
    };
    let Some(((policies, controller), drawn)) = shown else {
        cluster.stop();
        bail!("interrupted; nothing is left running");
    };
    if !picture::write(&drawn)? {
        eprintln!("docs/images/status.svg stays as it was: no replica was drawn while it grew");
    }
    if keep {
        println!("\nThe cluster is yours; in another shell:\n");
        wait_in(&cluster, "\nCtrl-C ends it.", end).await?;
    }
    drop(controller);
    policies.stop().await?;
    cluster.stop();
    if !keep {
        println!("{}", demo::FAREWELL);
    }
    Ok(())
}

/// Prints what to type in another shell to use the cluster, and waits until the user ends it.
async fn wait_in(cluster: &Cluster, how: &str, interrupted: impl Future<Output = ()>) -> anyhow::Result<()> {
    let bin = cluster.folder().join("bin");
    std::fs::create_dir(&bin)?;
    for name in ["claim-rollout", "kubectl-claim_rollout"] {
        symlink(binary()?, bin.join(name))?;
    }
    println!("export KUBECONFIG={}", cluster.kubeconfig().display());
    println!("export PATH={}:{}:$PATH", bin.display(), cluster.bin_folder().display());
    eprintln!("{how}");
    tokio::select! {
        () = interrupted => {}
        () = end_of_input() => {}
    }
    Ok(())
}

/// Resolves at the first SIGINT or SIGTERM since the call.
fn interrupted() -> anyhow::Result<impl Future<Output = ()>> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    })
}

/// Resolves at the end of an input that is no terminal.
async fn end_of_input() {
    if stdin().is_terminal() {
        return std::future::pending().await;
    }
    let (closed, input) = oneshot::channel();
    std::thread::spawn(move || {
        let _ = stdin().read_to_end(&mut Vec::new());
        let _ = closed.send(());
    });
    let _ = input.await;
}
