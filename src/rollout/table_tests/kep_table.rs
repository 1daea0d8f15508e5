//! The table of KEP-4650: the revisions of the Pod and the claim of the highest replica, and the actions.

use super::{done, old_pods, put_pod};
use crate::rollout::assessment::At::{self, Absent, Outdated as A, Updated as B};
use crate::rollout::fixtures::web;
use crate::rollout::snapshot::Snapshot;

fn put_claim(web: &mut Snapshot, at: At) {
    match at {
        Absent => _ = web.claims.remove("data-web-2"),
        A => {}
        B => _ = web.applied("data-web-2"),
    }
}

/// The revisions of the Pod and the claim, the actions now, and the actions when the claim is ready.
type Row = (At, At, &'static str, &'static str);

fn check(rows: [Row; 9], old: &[u32]) {
    for (pod, claim, now, ready) in rows {
        let mut web = web();
        old_pods(&mut web, old);
        put_pod(&mut web, pod);
        put_claim(&mut web, claim);
        assert_eq!(done(&web), now, "Pod {pod:?}, claim {claim:?}");
        if claim != Absent {
            web.done("data-web-2");
        }
        assert_eq!(done(&web), ready, "Pod {pod:?}, claim {claim:?}, when it is ready");
    }
}

#[test]
fn kep_table_without_pod_changes() {
    let rows = [
        // The StatefulSet controller creates the claim, and no replica waits for it.
        (Absent, Absent, "grow 1", "grow 1"),
        (Absent, A, "grow 2", "grow 1"),
        (Absent, B, "", "grow 1"),
        // The claim is created with the Pod, which need not wait.
        (A, Absent, "", ""),
        (A, A, "grow 2", "nudge 2"),
        (A, B, "", "nudge 2"),
        (B, Absent, "grow 1", "grow 1"),
        (B, A, "grow 2", "grow 1"),
        (B, B, "", "grow 1"),
    ];
    check(rows, &[]);
}

#[test]
fn kep_table_with_pod_changes() {
    let rows = [
        // The StatefulSet controller creates the Pod, and the next replica waits for it.
        (Absent, Absent, "", ""),
        (Absent, A, "grow 2", ""),
        (Absent, B, "", ""),
        (A, Absent, "", ""),
        (A, A, "grow 2", "nudge 2"),
        (A, B, "", "nudge 2"),
        // The Pod is updated and Ready: the next replica.
        (B, Absent, "grow 1", "grow 1"),
        (B, A, "grow 2", "grow 1"),
        (B, B, "", "grow 1"),
    ];
    check(rows, &[1, 0]);
}
