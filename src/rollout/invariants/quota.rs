//! S13, before the first write: a rollout that does not fit into a quota is not begun.

use super::facts::{Broken, ClaimFacts, Rule, Scene};

/// S13: as long as no claim was brought to the wish, and none was refused, nothing is written unless all that would grow fits
/// into what the quota leaves. Where a human chooses the order, nobody knows what would.
///
/// # Errors
/// [`Broken`] shows the numbers.
pub fn s13_fits(seen: &Scene<'_>) -> Result<(), Broken> {
    match excess(seen) {
        Some((need, room)) => {
            let why = format!("the first claim is written, {need} more are needed for all, and {room} are left");
            Broken::of(Rule::S13, why)
        }
        None => Ok(()),
    }
}

/// How much all that would grow needs, and how much is left, where that is not enough and nothing was written yet.
pub(super) fn excess(seen: &Scene<'_>) -> Option<(u64, u64)> {
    let (set, room) = (seen.set.filter(|set| !set.by_hand)?, seen.room?);
    let target = set.target?;
    let wanted = |claim: &ClaimFacts| {
        let mut templates = seen.templates();
        templates.find_map(|(template, wanted)| (template == claim.template).then_some(wanted.size))
    };
    let in_range = |claim: &&ClaimFacts| set.ordinals().any(|ordinal| ordinal == claim.ordinal) && !claim.terminating;
    let claims = || seen.claims.iter().filter(in_range);
    // What was stored of a write in part is at no wish: whoever knows of it has it refused.
    let was_tried = |claim: &ClaimFacts| claim.revision == Some(target) || claim.refused && set.reaches(claim.ordinal);
    if claims().any(was_tried) {
        return None;
    }
    let free = claims().filter(|claim| set.reaches(claim.ordinal) && claim.bound && !claim.is_foreign());
    let need = free.filter_map(|claim| Some(wanted(claim)?.saturating_sub(claim.request)));
    let need = need.sum::<u64>();
    (need > room).then_some((need, room))
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::{Known, TARGET, known, rules};
    use super::super::{Rule, l5_stops_no_other};
    use super::s13_fits;
    use Rule::{L5, S13};

    /// What there is, whether the first write breaks S13, and whether it breaks L5 that nothing is written.
    type Row = (&'static str, fn(&mut Known), &'static [Rule], &'static [Rule]);

    const ROWS: &[Row] = &[
        ("no quota", |_| {}, &[], &[L5]),
        ("30 are needed and left", |it| it.room = Some(30), &[], &[L5]),
        ("one less is left", |it| it.room = Some(29), &[S13], &[]),
        (
            "one was written",
            |it| (it.room, it.claim(10).revision) = (Some(0), Some(TARGET)),
            &[],
            &[L5],
        ),
        (
            "one was refused",
            |it| (it.room, it.claim(10).refused) = (Some(0), true),
            &[],
            &[L5],
        ),
        (
            "one that was refused is below the partition",
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
            "one is another's",
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
            "one asks for enough",
            |it| (it.room, it.claim(10).request) = (Some(20), 20),
            &[],
            &[L5],
        ),
        (
            "one of no replica",
            |it| (it.room, it.set().replicas) = (Some(20), 2),
            &[],
            &[L5],
        ),
        (
            "somebody deletes Pods",
            |it| (it.room, it.set().by_hand) = (Some(0), true),
            &[],
            &[],
        ),
    ];

    #[test]
    fn what_does_not_fit_is_not_begun_and_nothing_else_is_kept() {
        for (why, change, fits, stops) in ROWS {
            let mut it = known();
            change(&mut it);
            assert_eq!(rules([s13_fits(&it.scene())]), *fits, "{why}");
            assert_eq!(rules([l5_stops_no_other(&it.scene())]), *stops, "{why}");
        }
    }
}
