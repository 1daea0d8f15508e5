//! Marks of PVCs that no deletion followed: they are removed when the rollout is paused, withdrawn or switched off, and
//! when something else is staged.
//!
//! Who deletes such a PVC later does not mean us. And the new resourceVersion stops a deletion that is still on its way.

use super::action::{Action, ClaimOf};
use super::replica::{Mounting, foreign};
use super::snapshot::Snapshot;
use crate::claims::Claim;
use crate::gate::Idle;
use crate::templates::{ClaimName, Revision, RevisionLabel, Staging};

/// True iff marks are removed although nothing is rolled out for this reason. What is not understood is not touched, and
/// a set that is being deleted or replaced is left alone.
#[must_use]
pub fn are_removed(idle: &Idle) -> bool {
    !matches!(
        idle,
        Idle::Unreadable { .. }
            | Idle::Terminating
            | Idle::PolicyMissing { .. }
            | Idle::StagedBeforePolicy
            | Idle::WriteUndone { .. }
    )
}

/// The next mark to remove: any but this one.
#[must_use]
pub fn next(snapshot: &Snapshot, mounting: &Mounting<'_>, keeps: Option<&RevisionLabel>) -> Option<Action> {
    // The claims that were read: a set may have more replicas than anybody can count.
    let mut claims = snapshot.claims.values().rev().filter(|claim| !claim.terminating);
    claims.find_map(|claim| {
        let mark = claim.recreated_for.as_ref()?;
        let (ordinal, name) = name(snapshot, claim)?;
        let is_stale = !keeps.is_some_and(|label| label.is(mark));
        let is_ours = foreign(snapshot, &name, claim, (ordinal, mounting)).is_none();
        (is_stale && is_ours).then(|| Action::UnmarkClaim(marked(claim, mark)))
    })
}

/// The ordinal of the claim, and its name, if it is one of the set.
fn name(snapshot: &Snapshot, claim: &Claim) -> Option<(u32, ClaimName)> {
    let (template, ordinal) = snapshot.set.place_of(&claim.name)?;
    Some((
        ordinal,
        ClaimName::new(&template.name, &snapshot.set.name, ordinal).ok()?,
    ))
}

fn marked(claim: &Claim, mark: &str) -> ClaimOf {
    ClaimOf {
        name: claim.name.clone(),
        uid: claim.uid.clone(),
        resource_version: claim.resource_version.clone(),
        // Somebody else may have written any text.
        label: RevisionLabel::read(mark).unwrap_or_else(|| {
            let revision = Revision::from_text(mark);
            let staging = Staging::of("", "", &revision);
            RevisionLabel { revision, staging }
        }),
        snapshot: None,
    }
}
