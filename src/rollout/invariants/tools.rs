//! Guarantees for others that use the set: tools that wait for it, and the author of its spec.

use super::facts::{Broken, Rule, Scene, SetFacts};

/// S19: a tool that waits for the set does not report it as done while a Pod from the partition up is to be replaced.
/// The tool reads the status that the StatefulSet controller has just written.
///
/// # Errors
/// [`Broken`] names the tool, and the Pod.
pub fn s19_waits(scene: &Scene<'_>) -> Result<(), Broken> {
    let Some(set) = scene.set.filter(|set| !set.by_hand) else {
        return Ok(());
    };
    let ours = || scene.pods.iter().filter(|pod| pod.ours);
    // The tools count Pods, and do not know which.
    let is_miscounted = ours().any(|pod| !set.reaches(pod.ordinal) && pod.revision == set.pod_revision);
    let waits = ours().find(|pod| set.reaches(pod.ordinal) && pod.revision != set.pod_revision);
    let tools = [
        ("kubectl rollout status", rollout_status_is_done(&set)),
        ("kstatus", kstatus_is_current(&set)),
    ];
    let done = tools.iter().find(|(_, is_done)| *is_done);
    match (waits.filter(|_| !is_miscounted), done) {
        (Some(pod), Some((tool, _))) => Broken::of(
            Rule::S19,
            format!("{tool} reports done while Pod {} is to be replaced", pod.ordinal),
        ),
        _ => Ok(()),
    }
}

/// S19, for tools that wait for the ClaimRollout: its condition `Ready` is true only if no staged change is left to
/// roll out. What cannot be read is left.
///
/// # Errors
/// [`Broken`] names what is left.
pub fn s19_reports(seen: &Scene<'_>, ready: bool) -> Result<(), Broken> {
    let Some(set) = seen.set.filter(|_| ready) else {
        return Ok(());
    };
    if set.unreadable {
        return Broken::of(Rule::S19, "Ready although the staged change cannot be read".to_owned());
    }
    let Some(target) = set.target else {
        return Ok(());
    };
    if !set.complete {
        return Broken::of(Rule::S19, "Ready although the phase is not Complete".to_owned());
    }
    let is_done = |ordinal, template, wanted| {
        seen.claim(template, ordinal)
            .is_some_and(|claim| claim.is_done(target, wanted))
    };
    let left = set.ordinals().find(|ordinal| {
        !seen
            .templates()
            .all(|(template, wanted)| is_done(*ordinal, template, wanted))
    });
    match left {
        Some(ordinal) => Broken::of(Rule::S19, format!("Ready although ordinal {ordinal} is not ready")),
        None => Ok(()),
    }
}

/// `StatefulSetStatusViewer` of kubectl.
fn rollout_status_is_done(set: &SetFacts) -> bool {
    let status = &set.status;
    status.observed && status.ready >= set.replicas && status.updated >= set.replicas.saturating_sub(set.partition)
}

/// `stsConditions` of kstatus. The API server sets a default partition.
fn kstatus_is_current(set: &SetFacts) -> bool {
    let is_settled = set.status.replicas == set.replicas;
    is_settled && rollout_status_is_done(set)
}

/// S19, second part: no write of ours changes the spec of the user.
///
/// # Errors
/// [`Broken`] shows the set before and after.
pub fn s19_borrows_nothing(before: &Scene<'_>, after: &Scene<'_>) -> Result<(), Broken> {
    let spec = |set: SetFacts| {
        let of_pods = (set.pod_revision, set.by_hand, set.parallel, set.partition);
        (set.first_ordinal, set.replicas, set.lock_step, set.paused, of_pods)
    };
    match (before.set, after.set) {
        (Some(was), Some(is)) if was.uid == is.uid && spec(was) != spec(is) => {
            Broken::of(Rule::S19, format!("a write changed the spec from {was:?} to {is:?}"))
        }
        _ => Ok(()),
    }
}
