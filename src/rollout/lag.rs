//! What is reported of claims for which nothing is rolled out, or nothing any more: which of them ask for more than they have.

use super::idle::Idle;
use super::replica::{self, Replica};
use super::snapshot::{Previous, SetView, Snapshot};
use super::target::Target;
use crate::claims::Claim;
use crate::templates::{ClaimName, ClaimTemplate, Revision};

/// How many claims a message names.
const NAMED: usize = 3;

/// The replicas of a set whose staged change waits for claims to come: how many claims have older templates.
#[must_use]
pub fn replicas<'a>(snapshot: &'a Snapshot, target: &Target<'a>) -> Vec<Replica<'a>> {
    let mounting = replica::mounting(snapshot);
    let ordinals = snapshot.set.ordinals();
    ordinals
        .map(|ordinal| Replica::assess(snapshot, target, &mounting, ordinal))
        .collect()
}

/// True iff the claims of the set are looked at for the report, although nothing is done about them: how many of them
/// lag, and which ask for more than they will get. Not where there are more than are looked at of any set.
#[must_use]
pub fn is_reported(idle: &Idle, set: &SetView) -> bool {
    matches!(idle, Idle::OnClaimDelete | Idle::Withdrawn) && set.too_many_claims(set.wanted()).is_none()
}

/// Why nothing is rolled out, by what was reported before: where nothing is staged any more, that a wish was dropped.
///
/// A wish that has become the live templates was not dropped.
#[must_use]
pub fn after(idle: Idle, previous: Option<&Previous>, live: &Revision) -> Idle {
    let (Idle::NothingStaged, Some(previous)) = (&idle, previous) else {
        return idle;
    };
    let was_dropped = if previous.ready == Idle::Withdrawn.as_str() {
        previous.revision == *live
    } else {
        previous.ready != Idle::NothingStaged.as_str() && previous.revision != *live
    };
    if was_dropped { Idle::Withdrawn } else { idle }
}

/// True iff a claim that is counted is yet to come: nobody would look when it does.
#[must_use]
pub fn waits(snapshot: &Snapshot, idle: &Idle) -> bool {
    let counts = *idle == Idle::OnClaimDelete && is_reported(idle, &snapshot.set);
    counts && names(&snapshot.set).any(|(name, _)| !snapshot.claims.contains_key(name.as_str()))
}

/// Which claims ask for more than they have and than is wished, because an earlier wish asked for it: the driver may be at
/// it still, or never get there.
#[must_use]
pub fn asking(snapshot: &Snapshot) -> Option<String> {
    let set = &snapshot.set;
    // Of a set with too many claims none was looked up.
    if snapshot.claims.is_empty() || set.too_many_claims(set.wanted()).is_some() {
        return None;
    }
    let asks = |(name, template): (ClaimName, &ClaimTemplate)| {
        let claim = snapshot.claims.get(name.as_str())?;
        asks_for_more(claim, template).then(|| {
            let has = claim.capacity.map(|capacity| format!(", has {capacity}"));
            format!("{name} still asks for {}{}", claim.request, has.unwrap_or_default())
        })
    };
    let mut asking = names(set).filter_map(asks);
    let named: Vec<String> = asking.by_ref().take(NAMED).collect();
    let more = match asking.count() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    (!named.is_empty()).then(|| format!("{}{more}", named.join(", ")))
}

/// That it does is ours: a human or an autoscaler may ask for what they like.
fn asks_for_more(claim: &Claim, template: &ClaimTemplate) -> bool {
    let wanted = template.storage.is_some_and(|wanted| claim.request > wanted);
    wanted && claim.size_is_ours && claim.capacity.is_none_or(|capacity| capacity < claim.request)
}

/// The names that the claims of the set have, and the templates that they are of; highest ordinal first.
fn names(set: &SetView) -> impl Iterator<Item = (ClaimName, &ClaimTemplate)> {
    set.ordinals().flat_map(move |ordinal| {
        let templates = set.wanted().iter();
        templates.filter_map(move |template| Some((ClaimName::new(&template.name, &set.name, ordinal).ok()?, template)))
    })
}
