//! `docs/disk-is-full.md`, typed word for word: a Pod is not Ready because its disk is full, and is Ready again when there
//! is room. With claim-rollout, and by hand on a cluster without it.

use std::os::unix::fs::symlink;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};

use crate::world::book::{Book, Command};
use crate::world::installation::{AS_IN_A_POD, binary};
use crate::world::shell::typed;
use crate::world::{Cluster, Driver, Options, PATIENCE, World, eventually};

const DOCUMENT: &str = "docs/disk-is-full.md";
const QUICK: &str = "## With claim-rollout";
const BY_HAND: &str = "## By hand";
/// The StatefulSet of the page, which exists when its commands begin.
const MANIFEST: &str = include_str!("disk_is_full/db.yaml");
/// No volume grows until the page has shown that one grows.
const EXPANSION_MILLIS: u64 = 3_600_000;
const RECHECK: Duration = Duration::from_millis(100);
/// A Pod with this annotation runs and is not Ready.
const FULL: &str = "e2e.claim-rollout.io/ready";
/// This command is repeated until its output is that of the page, as a user repeats it. Then volumes may grow.
const REPEATED: &str = "kubectl claim-rollout status db";
/// Before this command the database has started again: a database needs room, and here nothing runs.
const RECOVERED: &str = "kubectl wait --for=jsonpath='{.status.readyReplicas}'=3 --timeout=5m statefulset/db";

/// The names and uids of the Pods.
async fn pods(cluster: &Cluster) -> anyhow::Result<String> {
    let uids = "get pods -l app=db -o jsonpath={.items[*].metadata['name','uid']}";
    Ok(cluster.done(&uids.split(' ').collect::<Vec<_>>(), "").await?.stdout)
}

/// Creates the database `db`, and fills the disk in the middle.
async fn fill(cluster: &Cluster) -> anyhow::Result<()> {
    cluster.done(&["apply", "-f", "-"], MANIFEST).await?;
    cluster
        .typed("wait --for=jsonpath={.status.readyReplicas}=3 --timeout=60s statefulset/db")
        .await?;
    cluster.typed(&format!("annotate pod db-1 {FULL}=false")).await?;
    cluster
        .typed("wait --for=jsonpath={.status.readyReplicas}=2 --timeout=60s statefulset/db")
        .await
        .map(drop)
}

/// The database starts where there is room: fails if its volume has not grown.
async fn recovers(cluster: &Cluster) -> anyhow::Result<()> {
    let found = cluster
        .typed("get pvc data-db-1 -o jsonpath={.status.capacity.storage}")
        .await?;
    ensure!(found.stdout == "20Gi", "the disk is still full: {found:?}");
    cluster.typed(&format!("annotate pod db-1 {FULL}-")).await.map(drop)
}

/// Types a command, which must succeed. Returns the output.
async fn types(cluster: &Cluster, command: &Command) -> anyhow::Result<String> {
    if command.typed == RECOVERED {
        recovers(cluster).await?;
    }
    let output = typed(cluster, cluster.folder(), &command.typed).await?;
    ensure!(output.success, "$ {}\n{}", command.typed, output.stdout);
    Ok(output.stdout)
}

/// Types all commands of a section. The Pods stay the same. Prints the time from the first command to the last.
async fn follow(cluster: &Cluster, heading: &'static str) -> anyhow::Result<()> {
    let (mut book, before) = (Book::under(&[heading], DOCUMENT)?, pods(cluster).await?);
    let begin = Instant::now();
    let mut types_recovered = false;
    while let Some(command) = book.next() {
        types_recovered |= command.typed == RECOVERED;
        let mut printed = types(cluster, &command).await?;
        if command.typed == REPEATED {
            // What it prints last is compared below, also if that is never what is shown.
            let shown = eventually("the first volume to grow", PATIENCE, async || {
                printed = types(cluster, &command).await?;
                tokio::time::sleep(RECHECK).await;
                Ok(command.shows(&printed).then_some(()))
            });
            // Best effort: the comparison prints what differs.
            let _ = shown.await;
            cluster.set_driver(&Driver::default())?;
        }
        book.compare(&command, &printed);
    }
    println!("{heading}: {:.1} s to the end", begin.elapsed().as_secs_f64());
    ensure!(types_recovered, "{heading} never waits for the database");
    book.end()?;
    let after = pods(cluster).await?;
    ensure!(before == after, "Pods restarted: {before} then {after}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn full_disk_grows_with_the_commands_of_the_page() -> anyhow::Result<()> {
    let cluster = Cluster::start(Options::default()).await?;
    let home = cluster.folder().join(".local/bin");
    std::fs::create_dir_all(&home)?;
    symlink(binary()?, home.join("kubectl-claim_rollout"))?;
    std::fs::write(cluster.folder().join("db.yaml"), MANIFEST)?;
    fill(&cluster).await?;
    follow(&cluster, BY_HAND).await?;

    cluster
        .typed("delete statefulset,pod,pvc --all --grace-period=1")
        .await?;
    cluster.set_driver(&Driver {
        expand_delay_millis: EXPANSION_MILLIS,
        ..Driver::default()
    })?;
    fill(&cluster).await?;
    let world = World::on(cluster).shipped_policy().controller(&AS_IN_A_POD);
    let world = world.build().await?;
    let followed = follow(&world.cluster, QUICK).await;
    followed.with_context(|| world.log())?;
    world.stop().await
}
