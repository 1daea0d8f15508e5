//! The report about claims where nothing is rolled out, or no longer: which are outdated, and which request more than
//! they have.

use super::listing;
use super::replica;
use super::replica::Replica;
use super::snapshot::{Previous, Snapshot};
use crate::api::ReadyReason;
use crate::claims::Claim;
use crate::gate::{Idle, SetView, Target, readiness};
use crate::templates::{ClaimName, ClaimTemplate, Revision};

/// The replicas of a set whose staged change is for new claims only, to count the outdated claims.
#[must_use]
pub fn replicas<'a>(snapshot: &'a Snapshot, target: &Target<'a>) -> Vec<Replica<'a>> {
    let mounting = replica::mounting(snapshot);
    let ordinals = snapshot.set.ordinals();
    ordinals
        .map(|ordinal| Replica::assess(snapshot, target, &mounting, ordinal))
        .collect()
}

/// True iff the claims of the set are read for the report although nothing is rolled out. A set with too many claims is
/// never read.
#[must_use]
pub fn is_reported(idle: &Idle, set: &SetView) -> bool {
    matches!(idle, Idle::OnClaimDelete | Idle::Withdrawn) && set.too_many_claims(set.wanted()).is_none()
}

/// Why nothing is rolled out, with the last report in mind: if the staged change has disappeared, it was withdrawn.
///
/// If the live templates are those that were staged, it was not withdrawn.
#[must_use]
pub fn after(idle: Idle, previous: Option<&Previous>, live: &Revision) -> Idle {
    let (Idle::NothingStaged, Some(previous)) = (&idle, previous) else {
        return idle;
    };
    let was_dropped = if previous.ready == Idle::Withdrawn.as_str() {
        previous.revision == *live
    } else {
        let was_idle = [ReadyReason::NothingStaged, ReadyReason::PodLacksVolume].map(ReadyReason::as_str);
        !was_idle.contains(&&*previous.ready) && previous.revision != *live
    };
    if was_dropped { Idle::Withdrawn } else { idle }
}

/// True iff a claim that is counted does not exist yet. Without a watch, nobody would notice its creation.
#[must_use]
pub fn waits(snapshot: &Snapshot, idle: &Idle) -> bool {
    let counts = *idle == Idle::OnClaimDelete && is_reported(idle, &snapshot.set);
    counts && names(&snapshot.set).any(|(name, _)| !snapshot.claims.contains_key(name.as_str()))
}

/// The claims that request more than they have and more than the desired templates, or an attributes class that neither
/// has, because of a previous staged change. The driver may still reach that, or never.
#[must_use]
pub fn asking(snapshot: &Snapshot) -> Option<String> {
    let set = &snapshot.set;
    // The claims of a set with too many claims were not read.
    if snapshot.claims.is_empty() || set.too_many_claims(set.wanted()).is_some() {
        return None;
    }
    let asks = |(name, template): (ClaimName, &ClaimTemplate)| {
        let claim = snapshot.claims.get(name.as_str())?;
        let (what, has) = if asks_for_more(claim, template) {
            (
                claim.request.to_string(),
                claim.capacity.map(|capacity| capacity.to_string()),
            )
        } else {
            let class = asks_for_class(claim, template)?;
            let has = claim.current_class.clone().filter(|class| !class.is_empty());
            (
                format!("attributes class {class}"),
                Some(has.unwrap_or_else(|| "none".to_owned())),
            )
        };
        let has = has.map(|has| format!(", has {has}")).unwrap_or_default();
        Some(format!("{name} still asks for {what}{has}"))
    };
    listing::some(names(set).filter_map(asks))
}

/// True iff our apply owns the growth: a human or an autoscaler may request any size.
fn asks_for_more(claim: &Claim, template: &ClaimTemplate) -> bool {
    let wanted = template.storage.is_some_and(|wanted| claim.request > wanted);
    wanted && claim.size_is_ours && claim.capacity.is_none_or(|capacity| capacity < claim.request)
}

/// The attributes class that our apply owns, and that neither the template nor the volume has.
fn asks_for_class<'c>(claim: &'c Claim, template: &ClaimTemplate) -> Option<&'c str> {
    let class = claim.class.as_deref().filter(|class| !class.is_empty())?;
    let is_wanted = template.volume_attributes_class_name.as_deref() == Some(class);
    (claim.class_is_ours && !is_wanted && !readiness::has_class(claim)).then_some(class)
}

/// The names of the claims of the set with their templates, highest ordinal first.
fn names(set: &SetView) -> impl Iterator<Item = (ClaimName, &ClaimTemplate)> {
    set.ordinals().flat_map(move |ordinal| {
        let templates = set.wanted().iter();
        templates.filter_map(move |template| Some((ClaimName::new(&template.name, &set.name, ordinal).ok()?, template)))
    })
}
