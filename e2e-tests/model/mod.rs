//! The model of `make sim` beside a real API server: both are asked the same random requests, and must answer the same and
//! hold the same afterwards, request by request.
//!
//! Nobody but the test writes: there is no controller, so what controllers do is asked for as well. `SEED=7` asks the
//! sequence of that seed alone, `SEEDS=500` so many, counted from `FIRST`; `RECORD=1` writes down what the server answered,
//! which the unit tests ask the model again.

mod admission;
mod asking;
mod causes;
mod claims;
mod neighbourhood;
mod real;
mod seeing;

use std::path::Path;
use std::time::Instant;

use anyhow::{Context as _, ensure};
use claim_rollout::sim::dialogue::{Door, Line, Model, Part, Request, Witness, sequence};
use futures::{StreamExt as _, TryStreamExt as _, stream};

use crate::cluster::{Cluster, Options};
use crate::installation::Controllers;
use admission::Doors;
use real::{Clients, Real};

/// How many sequences are asked unless `SEEDS` says otherwise.
const SEEDS: u64 = 80;
/// How many of them are written down.
const RECORDED: u64 = 34;
/// How many are asked at the same time.
const SIDE_BY_SIDE: usize = 16;

/// What was found.
struct Disagreement {
    number: usize,
    model: Vec<String>,
    server: Vec<String>,
}

/// The control plane, and who asks.
struct Stage {
    cluster: Cluster,
    clients: Clients,
}

fn number(name: &str) -> anyhow::Result<Option<u64>> {
    let text = std::env::var(name).ok();
    text.map(|text| text.parse().context(name.to_owned())).transpose()
}

/// The namespace of a sequence, or of a part of it that is tried again.
fn namespace(seed: u64, attempt: usize) -> String {
    format!("seed-{seed}-{attempt}")
}

impl Stage {
    /// Asks both, in a fresh namespace; what was asked, and the first disagreement.
    async fn ask(
        &self,
        door: Door,
        namespace: &str,
        requests: &[Request],
    ) -> anyhow::Result<(Vec<Line>, Option<Disagreement>)> {
        let mut model = Model::new(door);
        let mut real = Real::new(&self.clients, namespace, door).await?;
        let mut witnesses = (Witness::default(), Witness::default());
        let mut lines = Vec::with_capacity(requests.len());
        for request in requests {
            let Some(ours) = Line::of(&mut model, &mut witnesses.0, request) else {
                continue;
            };
            let answer = real.ask(request).await.with_context(|| format!("{request:?}"))?;
            let mut came = vec![answer];
            came.extend(witnesses.1.changes(real.sights().await?));
            let line = Line {
                request: request.clone(),
                came,
            };
            let differs = line != ours;
            lines.push(line.clone());
            if differs {
                let disagreement = Disagreement {
                    number: lines.len() - 1,
                    model: ours.came,
                    server: line.came,
                };
                return Ok((lines, Some(disagreement)));
            }
        }
        real.leave().await?;
        Ok((lines, None))
    }

    /// Leaves out of a sequence what the disagreement at its end does not need.
    async fn shorten(&self, seed: u64, door: Door, requests: &[Request]) -> anyhow::Result<Vec<Request>> {
        let mut shortest = requests.to_vec();
        let (mut chunk, mut attempt) = (shortest.len().next_power_of_two() / 2, 1);
        while chunk > 0 {
            let mut at = 0;
            while at < shortest.len() {
                let mut shorter = shortest.clone();
                shorter.drain(at..(at + chunk).min(shorter.len()));
                attempt += 1;
                let (lines, disagreement) = self.ask(door, &namespace(seed, attempt), &shorter).await?;
                match disagreement {
                    Some(_) => {
                        // What was not asked, or comes after it, does not matter.
                        shortest = lines.into_iter().map(|line| line.request).collect();
                    }
                    None => at += chunk,
                }
            }
            chunk /= 2;
        }
        Ok(shortest)
    }
}

/// The story of a disagreement.
fn told(seed: u64, lines: &[Line], disagreement: &Disagreement) -> String {
    let story: Vec<String> = lines[..disagreement.number].iter().map(Line::to_string).collect();
    let request = serde_json::to_string(&lines[disagreement.number].request).unwrap_or_default();
    format!(
        "{}\nthen {request}\n  the model:  {}\n  the server: {}\nagain: SEED={seed} cargo test -p e2e-tests --test e2e model::",
        story.join("\n"),
        disagreement.model.join("; "),
        disagreement.server.join("; "),
    )
}

/// The sequence of a seed; a disagreement is an error.
async fn one(stage: &Stage, seed: u64) -> anyhow::Result<Result<Part, String>> {
    let (door, requests) = sequence(seed);
    let (lines, disagreement) = stage
        .ask(door, &namespace(seed, 0), &requests)
        .await
        .with_context(|| format!("seed {seed}"))?;
    let Some(mut found) = disagreement else {
        return Ok(Ok(Part { seed, door, lines }));
    };
    let mut lines = lines;
    if number("SHORTEN")?.is_some() {
        let shortest = stage.shorten(seed, door, &requests).await?;
        let (shorter, again) = stage.ask(door, &namespace(seed, 1), &shortest).await?;
        if let Some(again) = again {
            (lines, found) = (shorter, again);
        }
    }
    Ok(Err(told(seed, &lines, &found)))
}

/// The seeds that are asked for.
fn seeds() -> anyhow::Result<Vec<u64>> {
    if let Some(seed) = number("SEED")? {
        return Ok(vec![seed]);
    }
    let first = number("FIRST")?.unwrap_or(0);
    Ok((first..first + number("SEEDS")?.unwrap_or(SEEDS)).collect())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_model_and_a_real_api_server_answer_the_same() -> anyhow::Result<()> {
    let begun = Instant::now();
    let cluster = Cluster::start(Options {
        controllers: false,
        ..Options::default()
    })
    .await?;
    Controllers::without_the_guard(&cluster).await?;
    let clients = Clients::new(&cluster).await?;
    let doors = Doors::open(&cluster, &clients.admin).await?;
    let stage = Stage { cluster, clients };
    println!("{:.1} s: the API server is up", begun.elapsed().as_secs_f64());
    let asked = stream::iter(seeds()?).map(|seed| one(&stage, seed));
    let parts: Vec<Result<Part, String>> = asked.buffered(SIDE_BY_SIDE).try_collect().await?;
    doors.close(&stage.clients.admin).await?;
    let lines = parts.iter().flatten().flat_map(|part| &part.lines);
    let requests = lines.filter(|line| !matches!(line.request, Request::Mount(..))).count();
    let disagreements: Vec<&String> = parts.iter().filter_map(|part| part.as_ref().err()).collect();
    println!(
        "{:.1} s: {} sequences, {requests} requests answered alike, {} disagreements",
        begun.elapsed().as_secs_f64(),
        parts.len(),
        disagreements.len()
    );
    if number("RECORD")?.is_some() {
        change(&parts)?;
    }
    if let Some(first) = disagreements.iter().min_by_key(|story| story.len()) {
        for story in &disagreements {
            let end: Vec<&str> = story.lines().rev().take(4).collect();
            println!("{}\n", end.into_iter().rev().collect::<Vec<_>>().join("\n"));
        }
        anyhow::bail!("the shortest of them:\n{first}");
    }
    ensure!(requests >= parts.len() * 60, "only {requests} requests were asked");
    stage.cluster.stop();
    Ok(())
}

/// Writes down what was asked and answered.
fn change(parts: &[Result<Part, String>]) -> anyhow::Result<()> {
    let mut text = String::from(
        "# What a real API server 1.37 was asked, what it answered, and what had changed then. Written by RECORD=1 cargo test -p e2e-tests --test e2e model::\n",
    );
    let recorded = parts.iter().flatten().filter(|part| part.seed < RECORDED);
    text.extend(recorded.map(Part::to_string));
    let path = crate::repository::root().join("src/sim/dialogue/transcript.txt");
    std::fs::write(&path, text).with_context(|| path.display().to_string())
}
