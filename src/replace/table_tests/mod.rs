//! Replacements in a model of a namespace: what [`next`](super::next::next) does, as tables. The model applies each
//! step as an API server does; the garbage collector, the StatefulSet controller and users act in between.

mod adopting;
mod answers;
mod api_server;
mod cluster;
mod collector;
mod crashes;
mod deletes;
mod foreign;
mod journals;
mod liveness;
mod others;
mod preconditions;
mod process;
mod requests;
mod retained;
mod strategies;
mod taken_back;
mod transcript;
mod words;
mod writes;

use cluster::{Cluster, dependent, web};
use process::{Ended, Process, Run, run, writes};

use super::live::LiveSet;
use super::step::End;
use super::world::ReportOwner;
use crate::claims::Manager;
use crate::templates::{StagedChange, keys};

/// What somebody does.
type Change = fn(&mut Cluster);

/// More steps than a replacement has.
const STEPS: usize = 24;

/// Runs one process until the end.
fn run_alone(cluster: &mut Cluster) -> Run {
    run(cluster, &mut Process::default(), |_, _, _| {})
}

/// Runs processes until one has nothing left to do: what was denied is tried again later.
fn run_to_end(cluster: &mut Cluster, meanwhile: impl FnMut(&mut Cluster, &mut Process, usize)) -> (Vec<String>, Ended) {
    run_on(cluster, Process::default(), meanwhile)
}

/// As [`run_to_end`], from this process.
fn run_on(
    cluster: &mut Cluster,
    mut process: Process,
    mut meanwhile: impl FnMut(&mut Cluster, &mut Process, usize),
) -> (Vec<String>, Ended) {
    let (mut steps, mut before) = (Vec::new(), 0);
    let mut ended = Ended::Never;
    for _ in 0..4 {
        let more = run(cluster, &mut process, |cluster, process, number| {
            meanwhile(cluster, process, before + number);
        });
        before += 1000;
        steps.extend(more.steps);
        ended = more.ended;
        if !matches!(ended, Ended::End(End::Refused(_))) {
            break;
        }
        steps.push("later".to_owned());
        process = Process::default();
        cluster.now += 61_000;
        cluster.settle();
    }
    // Everybody else does what is left to do.
    cluster.settle();
    cluster.settle();
    (steps, ended)
}

/// The state of the cluster after a replacement has ended, in a few words: `replaced`, `as before`, or `deleted` by a
/// user. Everything that should not be so is added.
fn state(cluster: &Cluster) -> String {
    let mut found = Vec::new();
    if let Some((_, journal)) = &cluster.journal {
        found.push(format!("a journal ({:?})", journal.stage));
    }
    let set = match &cluster.set {
        None => {
            found.insert(0, "deleted".to_owned());
            return found.join(", ");
        }
        Some(set) => set,
    };
    let is_old = set.uid() == "uid-1";
    found.insert(0, if is_old { "as before" } else { "replaced" }.to_owned());
    found.extend(set.finalizers().map(|finalizer| format!("the finalizer {finalizer}")));
    found.extend(set.terminating().then(|| "terminating".to_owned()));
    found.extend(staging(set, is_old));
    if set.partition() != 0 {
        found.push(format!("partition {}", set.partition()));
    }
    if set.when_deleted() != Some("Retain") {
        found.push(format!("whenDeleted {}", set.when_deleted().unwrap_or_default()));
    }
    if set.is_owned_by(Manager::OURS) {
        found.push("fields of ours".to_owned());
    }
    if cluster.report != ReportOwner::Set(set.uid().to_owned()) {
        found.push(format!("ClaimRollout of {:?}", cluster.report));
    }
    let references = cluster.dependents();
    let strange = |owner: &&str| *owner != set.uid();
    let owners = references.pods.iter().flat_map(|pod| &pod.owners).map(String::as_str);
    let owners = owners.chain(references.others.iter().map(|(_, owner)| &**owner));
    found.extend(owners.filter(strange).map(|owner| format!("a reference to {owner}")));
    let orphans = references.pods.iter().filter(|pod| pod.owners.is_empty());
    found.extend(orphans.map(|pod| format!("{} is an orphan", pod.name)));
    found.extend(cluster.lost.iter().cloned());
    found.join(", ")
}

/// What differs from the staged change on the old set, and from the desired templates without one on the new set.
fn staging(set: &LiveSet, is_old: bool) -> Option<String> {
    let size = &set.templates()[0]["spec"]["resources"]["requests"]["storage"];
    let size = size.as_str().unwrap_or_default();
    let staged = set
        .annotation(keys::STAGED)
        .map(|text| match StagedChange::read(text, set.uid()) {
            Ok(change) => change.templates[0]
                .storage
                .map(|size| size.to_string())
                .unwrap_or_default(),
            Err(error) => error.to_string(),
        });
    let expected = if is_old { ("1Gi", Some("2Gi")) } else { ("2Gi", None) };
    ((size, staged.as_deref()) != expected).then(|| format!("{size} and staged {staged:?}"))
}
