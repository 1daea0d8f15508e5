//! Guarantees about the gate, at which Pods wait for their claims.

use super::facts::{Broken, Rule, Scene};

/// S7: with the policy running, the StatefulSet controller deletes a Pod of a LockStep rollout only when each of its
/// claims is absent, being deleted, without a volume or of another owner; or updated, and either ready or waiting for
/// its node only.
///
/// # Errors
/// [`Broken`] names what the Pod had to wait for.
pub fn s7_gate(before: &Scene<'_>, ordinal: u32) -> Result<(), Broken> {
    match waits_for(before, ordinal) {
        Some(obstacle) => Broken::of(Rule::S7, format!("Pod {ordinal} was deleted {obstacle}")),
        None => Ok(()),
    }
}

/// S7, second part: no Pod waits for anything else.
///
/// # Errors
/// [`Broken`] names the Pod that was kept.
pub fn s7_keeps_no_other(before: &Scene<'_>, ordinal: u32) -> Result<(), Broken> {
    if waits_for(before, ordinal).is_none() {
        return Broken::of(Rule::S7, format!("Pod {ordinal} was kept for no reason"));
    }
    Ok(())
}

/// What a Pod must wait for.
fn waits_for(scene: &Scene<'_>, ordinal: u32) -> Option<String> {
    let set = scene
        .set
        .filter(|set| set.lock_step && !set.complete && !set.terminating)?;
    let target = set.target?;
    let stays = |pod: &&super::PodFacts| !pod.going && !pod.ended && !pod.disrupted;
    scene.pod(ordinal).filter(stays).filter(|_| set.reaches(ordinal))?;
    if set.paused {
        return Some("while the rollout is paused".to_owned());
    }
    scene.templates().find_map(|(template, wanted)| {
        let claim = scene.claim(template, ordinal)?;
        let is_open = !claim.ours
            || claim.terminating
            || !claim.bound
            || claim.is_done(target, wanted)
            || claim.waits_for_the_node(target);
        (!is_open).then(|| format!("before its claim of template {template}: {claim:x?}"))
    })
}
