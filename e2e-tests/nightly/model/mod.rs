//! The model of `make sim` beside a real API server: both get the same random requests, must answer the same, and
//! must store the same.
//!
//! No controllers run; the test sends their writes as well. `SEED=7` runs the sequence of that seed, `SEEDS=500` so
//! many, starting at `FIRST`. `RECORD=1` writes the answers of the server into the transcript that the unit tests
//! check.

mod admission;
mod causes;
mod claims;
mod observed;
mod real;
mod requests;
mod surroundings;

use std::time::Instant;

use anyhow::{Context as _, ensure};
use claim_rollout::sim::dialogue::{ChangeTracker, Model, ModelRequest, TranscriptLine, TranscriptPart, sequence};
use futures::{StreamExt as _, TryStreamExt as _, stream};

use crate::world::installation::Controllers;
use crate::world::{Cluster, Options, number};
use admission::PolicyModes;
use real::{Clients, Real};

/// The default of `SEEDS`.
const SEEDS: u64 = 80;
/// The sequences in the transcript.
const RECORDED: u64 = 34;
/// The sequences that run at the same time.
const SIDE_BY_SIDE: usize = 16;

/// The control plane and its clients.
struct Stage {
    cluster: Cluster,
    clients: Clients,
}

impl Stage {
    /// Runs the sequence of a seed in a fresh namespace. The first disagreement is the inner error, as a trace.
    async fn ask(&self, seed: u64) -> anyhow::Result<Result<TranscriptPart, String>> {
        let (mode, requests) = sequence(seed);
        let mut model = if self.cluster.modifies_volumes() {
            Model::new(mode)
        } else {
            Model::without_attributes_classes(mode)
        };
        let mut real = Real::new(&self.clients, &format!("seed-{seed}"), mode).await?;
        let mut trackers = (ChangeTracker::default(), ChangeTracker::default());
        let mut lines = Vec::with_capacity(requests.len());
        for request in requests {
            let Some(ours) = TranscriptLine::of(&mut model, &mut trackers.0, &request) else {
                continue;
            };
            let answer = real.ask(&request).await.with_context(|| format!("{request:?}"))?;
            let mut results = vec![answer];
            results.extend(trackers.1.changes(real.objects().await?));
            let line = TranscriptLine { request, results };
            if line != ours {
                return Ok(Err(trace(seed, &lines, &ours, &line)));
            }
            lines.push(line);
        }
        real.leave().await?;
        Ok(Ok(TranscriptPart { seed, mode, lines }))
    }
}

/// The trace of a disagreement.
fn trace(seed: u64, lines: &[TranscriptLine], model: &TranscriptLine, server: &TranscriptLine) -> String {
    let before: Vec<String> = lines.iter().map(TranscriptLine::to_string).collect();
    format!(
        "{}\nthe model:  {model}\nthe server: {server}\nagain: SEED={seed} cargo test -p e2e-tests --test e2e model::",
        before.join("\n"),
    )
}

/// The seeds to run.
fn seeds() -> anyhow::Result<Vec<u64>> {
    if let Some(seed) = number("SEED")? {
        return Ok(vec![seed]);
    }
    let first = number("FIRST")?.unwrap_or(0);
    Ok((first..first + number("SEEDS")?.unwrap_or(SEEDS)).collect())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn model_and_api_server_answer_alike() -> anyhow::Result<()> {
    let begun = Instant::now();
    let cluster = Cluster::start(Options::without_controllers()).await?;
    Controllers::without_the_guard(&cluster).await?;
    let clients = Clients::new(&cluster).await?;
    let modes = PolicyModes::open(&cluster, &clients.admin).await?;
    let stage = Stage { cluster, clients };
    println!("{:.1} s: the API server is up", begun.elapsed().as_secs_f64());
    let asked = stream::iter(seeds()?).map(async |seed| {
        let asked = stage.ask(seed).await;
        asked.with_context(|| format!("seed {seed}"))
    });
    let parts: Vec<Result<TranscriptPart, String>> = asked.buffered(SIDE_BY_SIDE).try_collect().await?;
    modes.close(&stage.clients.admin).await?;
    let lines = parts.iter().flatten().flat_map(|part| &part.lines);
    let requests = lines
        .filter(|line| !matches!(line.request, ModelRequest::Mount(..)))
        .count();
    let disagreements: Vec<&String> = parts.iter().filter_map(|part| part.as_ref().err()).collect();
    println!(
        "{:.1} s: {} sequences, {requests} requests answered alike, {} disagreements",
        begun.elapsed().as_secs_f64(),
        parts.len(),
        disagreements.len()
    );
    if number("RECORD")?.is_some() {
        write_transcript(&parts)?;
    }
    if let Some(first) = disagreements.iter().min_by_key(|trace| trace.len()) {
        for trace in &disagreements {
            let end: Vec<&str> = trace.lines().rev().take(3).collect();
            println!("{}\n", end.into_iter().rev().collect::<Vec<_>>().join("\n"));
        }
        anyhow::bail!("the shortest of them:\n{first}");
    }
    ensure!(requests >= parts.len() * 60, "only {requests} requests were asked");
    stage.cluster.stop();
    Ok(())
}

/// Writes the transcript.
fn write_transcript(parts: &[Result<TranscriptPart, String>]) -> anyhow::Result<()> {
    let mut text = String::from(
        "# Requests to a real API server 1.37, its answers, and the changes after each. Written by RECORD=1 cargo test -p e2e-tests --test e2e model::\n",
    );
    let recorded = parts.iter().flatten().filter(|part| part.seed < RECORDED);
    text.extend(recorded.map(TranscriptPart::to_string));
    let path = crate::world::repository::root().join("src/sim/dialogue/transcript.txt");
    std::fs::write(&path, text).with_context(|| path.display().to_string())
}
