//! Guarantees for others that use the set: tools that wait for it, and the author of its spec.

use super::facts::{Broken, ClaimFacts, Rule, Scene, SetFacts};

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

/// S19, for tools that wait for the phase: it becomes `Complete` only when every claim is updated and ready, also those of
/// replicas that were scaled away since the target was staged.
///
/// # Errors
/// [`Broken`] names the replica that is left.
pub fn s19_completes(seen: &Scene<'_>) -> Result<(), Broken> {
    let Some((set, target)) = seen.set.and_then(|set| Some((set, set.target?))) else {
        return Ok(());
    };
    let is_left = |claim: &&ClaimFacts| {
        let mut templates = seen.templates().filter(|(template, _)| *template == claim.template);
        let is_done = templates.all(|(_, wanted)| claim.is_done(target, wanted));
        let in_range = set.ordinals().any(|ordinal| ordinal == claim.ordinal);
        let is_away = set.is_scaled_away(claim.ordinal) && claim.can_follow(target);
        !is_done && (in_range || is_away)
    };
    match seen.claims.iter().find(is_left) {
        Some(claim) => Broken::of(
            Rule::S19,
            format!("Complete although ordinal {} is not ready", claim.ordinal),
        ),
        None => Ok(()),
    }
}

/// S19: who writes a claim of a rollout that is `Complete` takes the phase back. `ordinal` is that of the claim.
///
/// # Errors
/// [`Broken`] names the ordinal.
pub fn s19_takes_back(seen: &Scene<'_>, ordinal: u32, takes_back: bool) -> Result<(), Broken> {
    let is_complete = seen.set.is_some_and(|set| set.complete && !set.paused);
    let mut claims = seen.claims.iter().filter(|claim| claim.ordinal == ordinal);
    if is_complete && !takes_back && !claims.any(|claim| claim.refused) {
        return Broken::of(Rule::S19, format!("Complete although ordinal {ordinal} is written"));
    }
    Ok(())
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
