//! Objects that cannot be read: those of the StatefulSet prevent its rollout, and the others do not matter.

use super::report::PlanReport;
use crate::cli::lists::SkippedObject;
use crate::cli::recorded::Recorded;
use crate::controller::objects::conversion;
use crate::gate::SetView;
use crate::templates::names::ordinal_of;

/// Takes the objects that cannot be read out of the state, and notes them there.
pub(crate) fn sift(state: &mut Recorded) {
    state.sift(|object| {
        let error = match (object["apiVersion"].as_str()?, object["kind"].as_str()?) {
            ("apps/v1", "StatefulSet") => conversion::sibling(object).err(),
            ("v1", "PersistentVolumeClaim") => conversion::claim(object).err(),
            ("v1", "Pod") => conversion::pod(object).err(),
            ("v1", "ResourceQuota") => conversion::quota(object).err(),
            _ => None,
        };
        error.map(|error| error.to_string())
    });
}

/// Adds the objects of the namespace that cannot be read: those of the set as obstacles. True iff there is one of these.
pub(crate) fn note(state: &Recorded, set: &SetView, report: &mut PlanReport) -> bool {
    let concerns = |unread: &&SkippedObject| unread.namespace.is_empty() || unread.namespace == set.namespace;
    let (own, others): (Vec<&SkippedObject>, Vec<&SkippedObject>) = state
        .skipped()
        .iter()
        .filter(concerns)
        .partition(|unread| is_of(set, unread));
    report.obstacles.extend(own.iter().map(ToString::to_string));
    report.notes.extend(others.iter().map(ToString::to_string));
    !own.is_empty()
}

fn is_of(set: &SetView, unread: &SkippedObject) -> bool {
    let ordinal = match &*unread.kind {
        "PersistentVolumeClaim" => {
            let mut templates = set.live.iter().chain(set.wanted());
            templates.find_map(|template| ordinal_of(&unread.name, &template.name, &set.name))
        }
        "Pod" => unread.name.rsplit_once('-').and_then(|(stem, digits)| {
            let ordinal = digits.parse().ok()?;
            (stem == set.name).then_some(ordinal)
        }),
        _ => None,
    };
    ordinal.is_some_and(|ordinal| set.has(ordinal))
}
