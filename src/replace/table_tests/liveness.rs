//! Every replacement ends: replaced, or as before, or deleted by its user (L7).

use super::others::POLICIES;
use super::process::{Process, run};
use super::words::{act, write};
use super::{Cluster, End, Ended, run_alone, run_on, state, web};
use crate::replace::world::ReportOwner;
use crate::rollout::fixtures::rows;

/// What others do once.
const DISTURBANCES: &str = "
    nothing                          |
    the caches settle                | settle
    a scale                          | /spec/replicas 4
    no replicas                      | /spec/replicas 0
    an image                         | /spec/template/spec/containers/0/image b
    whenDeleted                      | depends
    a pause                          | paused
    a withdrawal                     | withdrawn
    a Pod is deleted                 | web-1 missing
    the ClaimRollout is deleted      | no ClaimRollout
    the ClaimRollout loses its owner | disowned
    the namespace ends               | namespace ends
    the namespace is created again   | another namespace
    the guard is removed             | no guard
    DELETE in background             | no guard; DELETE Background
    DELETE in foreground             | no guard; DELETE Foreground
    DELETE of the set only           | no guard; DELETE Orphan
    a foreign set                    | foreign 2Gi
    a foreign set of one             | foreign 2Gi of one
    a foreign set of before          | foreign 1Gi
    the collector misses             | the collector misses
    other bytes                      | other bytes
    somebody removes the finalizer   | without finalizers
    the journal is lost              | no journal
";

fn disturb(cluster: &mut Cluster, word: &str) {
    let policy = POLICIES
        .iter()
        .find(|(policy, _)| word.strip_prefix("DELETE ") == Some(policy));
    match (word, policy) {
        (_, Some((_, finalizer))) => _ = cluster.user_deletes(*finalizer),
        ("another namespace", _) => {
            (cluster.set, cluster.namespace) = (None, "ns-2");
            (cluster.pods, cluster.others) = (Vec::new(), Vec::new());
            cluster.report = ReportOwner::NoReport;
        }
        ("foreign 2Gi", _) => _ = cluster.foreign_creates("2Gi", |_| {}),
        ("foreign 2Gi of one", _) => _ = cluster.foreign_creates("2Gi", |set| write(set, "/spec/replicas 1")),
        ("foreign 1Gi", _) => _ = cluster.foreign_creates("1Gi", |_| {}),
        ("the collector misses", _) => cluster.missed = vec!["web-1", "ControllerRevision web-a"],
        _ => act(cluster, word),
    }
}

/// One disturbance before each step, with and without a crash then or two steps later.
#[test]
fn replacement_ends_from_every_world() {
    let mut before = Vec::new();
    let first = run(&mut web(), &mut Process::default(), |cluster, process, _| {
        before.push((cluster.clone(), process.clone()));
    });
    assert!(before.len() > 15, "{:?}", first.steps);
    for [disturbance, words] in rows(DISTURBANCES) {
        for (at, (cluster, process)) in before.iter().enumerate() {
            for (crash, is_late) in [(None, false), (Some(0), false), (Some(2), false), (None, true)] {
                let mut cluster = cluster.clone();
                let process = if is_late {
                    process.clone().late()
                } else {
                    process.clone()
                };
                let (steps, ended) = run_on(&mut cluster, process, |cluster, process, number| {
                    if number == 0 {
                        words.split("; ").for_each(|word| disturb(cluster, word));
                    }
                    if crash == Some(number) {
                        *process = Process::default();
                    }
                });
                let path = format!(
                    "{disturbance} before step {at} of {:?}, late {is_late}, crash {crash:?}: {steps:?}",
                    first.steps
                );
                assert!(matches!(ended, Ended::End(_) | Ended::Foreign(_)), "{ended:?}: {path}");
                ends_for_good(&mut cluster, &path);
            }
        }
    }
}

/// No journal, no mark, and nothing is written any more.
fn ends_for_good(cluster: &mut Cluster, path: &str) {
    let found = state(cluster);
    for word in [
        "journal",
        "finalizer",
        "terminating",
        "a reference",
        "partition 1000000000",
    ] {
        assert!(!found.contains(word), "{found}: {path}");
    }
    let set = cluster.set.clone();
    let again = run_alone(cluster);
    // Who removes the owner of the ClaimRollout after the last read is answered by the next reconcile.
    let is_left = |step: &&String| !step.starts_with("read") && *step != "OwnReport";
    let written = again.steps.iter().find(is_left);
    // What was denied for a while may be asked again.
    let is_asked = set
        .as_ref()
        .is_some_and(|set| set.uid() == "uid-1" && set.staged().is_some());
    if !is_asked {
        assert_eq!(written, None, "{path}");
        assert_eq!(again.ended, Ended::End(End::Nothing), "{path}");
    }
}
