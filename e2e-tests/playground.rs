//! A real control plane to play with, in the foreground:
//!
//! ```text
//! cargo run --example playground -- up
//! cargo run --example playground -- up --k8s 1.34
//! ```

mod cluster;

use std::io::{IsTerminal as _, Read as _, stdin};
use std::time::Instant;

use clap::{Parser, Subcommand};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;

use cluster::{Cluster, Options};

/// A real Kubernetes control plane to play with; nothing of it stays behind.
#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

/// One variant for each thing there is to see; each is a function of its own.
#[derive(Subcommand)]
enum Command {
    /// Starts a control plane, prints what to type in another shell to use it, and stops it on Ctrl-C (or on SIGTERM, or
    /// at the end of an input that is no terminal).
    Up {
        /// The minor version to run; the pinned ones are in e2e-tests/cluster/go/kubernetes.
        #[arg(long, env = "K8S", default_value = "1.37")]
        k8s: String,
    },
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    match Arguments::parse().command {
        Command::Up { k8s } => up(k8s).await,
    }
}

async fn up(minor: String) -> anyhow::Result<()> {
    // Listening begins before the start: whoever gives up early gets an orderly end as well.
    let end = end_of_session()?;
    let start = Instant::now();
    let cluster = Cluster::start(Options {
        minor,
        ..Options::default()
    })
    .await?;
    println!("export KUBECONFIG={}", cluster.kubeconfig().display());
    println!("export PATH={}:$PATH", cluster.bin_folder().display());
    eprintln!("up after {:.1} s; Ctrl-C ends it", start.elapsed().as_secs_f64());
    end.await;
    cluster.stop();
    Ok(())
}

/// Resolves when the user has had enough.
fn end_of_session() -> anyhow::Result<impl Future<Output = ()>> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let (closed, input) = oneshot::channel();
    if stdin().is_terminal() {
        // Never resolves: the sender lives as long as the program.
        std::mem::forget(closed);
    } else {
        std::thread::spawn(move || {
            let _ = stdin().read_to_end(&mut Vec::new());
            let _ = closed.send(());
        });
    }
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            _ = input => {}
        }
    })
}
