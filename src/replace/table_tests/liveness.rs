//! Every replacement ends: replaced, or as before, or deleted by its user (L7).

use super::others::POLICIES;
use super::process::{Process, run};
use super::{Cluster, End, Ended, run_alone, run_on, state, web};
use crate::replace::world::ReportOwner;
use crate::templates::keys;

/// What others do once.
type Disturbance = (&'static str, fn(&mut Cluster));

fn without_guard(cluster: &mut Cluster, policy: usize) {
    cluster.guard = false;
    cluster.user_deletes(POLICIES[policy].1);
}

const DISTURBANCES: &[Disturbance] = &[
    ("nothing", |_| {}),
    ("the caches settle", Cluster::settle),
    ("a scale", |cluster| {
        _ = cluster.change(|set| set["spec"]["replicas"] = 4.into());
    }),
    ("no replicas", |cluster| {
        _ = cluster.change(|set| set["spec"]["replicas"] = 0.into());
    }),
    ("an image", |cluster| {
        cluster.change(|set| set["spec"]["template"]["spec"]["containers"][0]["image"] = "b".into());
    }),
    ("whenDeleted", Cluster::depend),
    ("a pause", |cluster| {
        _ = cluster.change(|set| set["metadata"]["annotations"][keys::PAUSED] = "true".into());
    }),
    ("a withdrawal", |cluster| {
        cluster.change(|set| {
            set["metadata"]["annotations"]
                .as_object_mut()
                .expect("annotations")
                .remove(keys::STAGED);
        });
    }),
    ("a Pod is deleted", |cluster| {
        cluster.pods.retain(|pod| pod.name != "web-1");
    }),
    ("the ClaimRollout is deleted", |cluster| {
        cluster.report = ReportOwner::NoReport;
    }),
    ("the ClaimRollout loses its owner", |cluster| {
        cluster.report = ReportOwner::Nobody;
    }),
    ("the namespace ends", |cluster| cluster.namespace_ends = true),
    ("the namespace is created again", |cluster| {
        (cluster.set, cluster.namespace) = (None, "ns-2");
        (cluster.pods, cluster.others) = (Vec::new(), Vec::new());
        cluster.report = ReportOwner::NoReport;
    }),
    ("the guard is removed", |cluster| cluster.guard = false),
    ("DELETE in background", |cluster| without_guard(cluster, 0)),
    ("DELETE in foreground", |cluster| without_guard(cluster, 1)),
    ("DELETE of the set only", |cluster| without_guard(cluster, 2)),
    ("a foreign set", |cluster| _ = cluster.foreign_creates("2Gi", |_| {})),
    ("a foreign set of one", |cluster| {
        cluster.foreign_creates("2Gi", |set| set["spec"]["replicas"] = 1.into());
    }),
    ("a foreign set of before", |cluster| {
        _ = cluster.foreign_creates("1Gi", |_| {});
    }),
    ("the collector misses", |cluster| {
        cluster.missed = vec!["web-1", "ControllerRevision web-a"];
    }),
    ("other bytes", |cluster| cluster.writes_other_bytes = true),
    ("somebody removes the finalizer", |cluster| {
        cluster.change(|set| set["metadata"]["finalizers"] = serde_json::json!([]));
    }),
    ("the journal is lost", |cluster| cluster.journal = None),
];

/// One disturbance before each step, with and without a crash then or two steps later.
#[test]
fn replacement_ends_from_every_world() {
    let mut before = Vec::new();
    let first = run(&mut web(), &mut Process::default(), |cluster, process, _| {
        before.push((cluster.clone(), process.clone()));
    });
    assert!(before.len() > 15, "{:?}", first.steps);
    for (disturbance, disturb) in DISTURBANCES {
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
                        disturb(cluster);
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
