//! S13, before the first write: a rollout that does not fit into a quota is not started.

use super::facts::{Broken, ClaimFacts, Rule, Scene};

/// S13: while no claim is updated and none was denied, nothing is written unless all claims that would grow fit into
/// the quota. Not checked where a human chooses the order, because the claims that would grow are unknown.
///
/// # Errors
/// [`Broken`] shows the numbers.
pub fn s13_fits(seen: &Scene<'_>) -> Result<(), Broken> {
    match excess(seen) {
        Some((need, room)) => {
            let why = format!("wrote the first claim although all of them need {need} more and {room} are left");
            Broken::of(Rule::S13, why)
        }
        None => Ok(()),
    }
}

/// How much all claims that would grow need, and how much is left, if that is not enough and nothing was written yet.
pub(super) fn excess(seen: &Scene<'_>) -> Option<(u64, u64)> {
    let (set, room) = (seen.set.filter(|set| !set.by_hand)?, seen.room?);
    let target = set.target?;
    let wanted = |claim: &ClaimFacts| {
        let mut templates = seen.templates();
        templates.find_map(|(template, wanted)| (template == claim.template).then_some(wanted.size))
    };
    let is_away = |claim: &ClaimFacts| set.is_scaled_away(claim.ordinal) && claim.can_follow(target);
    let in_range = |claim: &ClaimFacts| set.ordinals().any(|ordinal| ordinal == claim.ordinal) && !claim.terminating;
    let claims = || seen.claims.iter().filter(|claim| in_range(claim) || is_away(claim));
    let reaches = |claim: &ClaimFacts| set.reaches(claim.ordinal) || set.is_scaled_away(claim.ordinal);
    // The partition may have been raised since.
    let [first, end] = [set.replicas, set.followed].map(|count| set.first_ordinal.saturating_add(count));
    let was_in_range = |claim: &ClaimFacts| (first..end).contains(&claim.ordinal) && claim.can_follow(target);
    let was_written = |claim: &ClaimFacts| {
        let is_known = in_range(claim) || was_in_range(claim);
        is_known && claim.revision == Some(target)
    };
    // A write that was stored in part has no revision of ours; the controller that saw the reply knows it as failed.
    let was_denied = |claim: &ClaimFacts| claim.refused && reaches(claim);
    if seen.claims.iter().any(was_written) || claims().any(was_denied) {
        return None;
    }
    let free = claims().filter(|claim| reaches(claim) && claim.bound && !claim.is_foreign());
    let counted = |claim: &ClaimFacts| claim.request.max(claim.allocated);
    let need = free.filter_map(|claim| Some(wanted(claim)?.saturating_sub(counted(claim))));
    let need = need.sum::<u64>();
    (need > room).then_some((need, room))
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::{OwnedScene, TARGET, known, rules};
    use super::super::{Rule, l5_stops_no_other};
    use super::s13_fits;
    use Rule::{L5, S13};

    /// The state, whether the first write breaks S13, and whether writing nothing breaks L5.
    type Row = (&'static str, fn(&mut OwnedScene), &'static [Rule], &'static [Rule]);

    const ROWS: &[Row] = &[
        ("no quota", |_| {}, &[], &[L5]),
        ("30 are needed and left", |it| it.room = Some(30), &[], &[L5]),
        ("one less is left", |it| it.room = Some(29), &[S13], &[]),
        (
            "one was written",
            |it| {
                it.room = Some(0);
                let claim = it.claim(10);
                (claim.revision, claim.request, claim.capacity) = (Some(TARGET), 20, 20);
            },
            &[],
            &[L5],
        ),
        (
            "one was denied",
            |it| (it.room, it.claim(10).refused) = (Some(0), true),
            &[],
            &[L5],
        ),
        (
            "one that was denied is below the partition",
            |it| (it.room, it.set().partition, it.claim(10).refused) = (Some(19), 1, true),
            &[S13],
            &[],
        ),
        (
            "one was stored in part",
            |it| (it.room, it.claim(10).revision) = (Some(29), Some(u64::MAX)),
            &[S13],
            &[],
        ),
        (
            "one is below the partition",
            |it| (it.room, it.set().partition) = (Some(20), 1),
            &[],
            &[L5],
        ),
        (
            "one has no volume",
            |it| (it.room, it.claim(10).bound) = (Some(20), false),
            &[],
            &[L5],
        ),
        (
            "one is foreign",
            |it| (it.room, it.claim(10).ours) = (Some(20), false),
            &[],
            &[L5],
        ),
        (
            "one is being deleted",
            |it| (it.room, it.claim(10).terminating) = (Some(20), true),
            &[],
            &[L5],
        ),
        (
            "one requests enough",
            |it| (it.room, it.claim(10).request) = (Some(20), 20),
            &[],
            &[L5],
        ),
        (
            "the driver of one was asked for enough before",
            |it| (it.room, it.claim(10).allocated) = (Some(20), 20),
            &[],
            &[L5],
        ),
        (
            "the driver of one was asked for a half before",
            |it| (it.room, it.claim(10).allocated) = (Some(24), 15),
            &[S13],
            &[],
        ),
        (
            "one is out of range",
            |it| (it.room, it.set().replicas) = (Some(20), 2),
            &[],
            &[L5],
        ),
        (
            "the one that was written is scaled away, and below the partition",
            |it| {
                let set = it.set();
                (set.replicas, set.followed, set.partition) = (0, 3, 1);
                it.room = Some(0);
                let claim = it.claim(10);
                (claim.revision, claim.request, claim.capacity) = (Some(TARGET), 20, 20);
            },
            &[],
            &[L5],
        ),
        (
            "Pods are replaced by hand",
            |it| (it.room, it.set().by_hand) = (Some(0), true),
            &[],
            &[],
        ),
    ];

    #[test]
    fn first_write_beyond_the_quota_breaks_s13() {
        for (why, change, fits, stops) in ROWS {
            let mut it = known();
            change(&mut it);
            assert_eq!(rules([s13_fits(&it.scene())]), *fits, "{why}");
            assert_eq!(rules([l5_stops_no_other(&it.scene())]), *stops, "{why}");
        }
    }
}
