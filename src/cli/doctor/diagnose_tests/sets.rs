//! What is wrong with sets.

use std::sync::Arc;

use crate::cli::drift::find::Seen;
use crate::cli::drift::find::tests::one;
use crate::rollout::fixtures::{gi, staged_change, template};
use crate::templates::{Phase, keys};

/// What is wrong, the finding as `severity subject | found`, and how its cure begins.
pub(super) type Row = (&'static str, fn(&mut ObservedSet), &'static str, &'static str);

pub(super) const ROWS: &[Row] = &[
    (
        "an unknown policy",
        |seen| annotate(seen, keys::UPDATE_POLICY, "Inplace"),
        "Error statefulset.apps/default/web | Inplace",
        "kubectl annotate -n default statefulset.apps/web claim-rollout.io/update-policy-",
    ),
    (
        "an unknown way to coordinate",
        |seen| annotate(seen, keys::SYNC, "Sometimes"),
        "Error statefulset.apps/default/web | Sometimes",
        "kubectl annotate -n default statefulset.apps/web claim-rollout.io/sync-",
    ),
    (
        "paused by a word that is none",
        |seen| annotate(seen, keys::PAUSED, "yes"),
        "Error statefulset.apps/default/web | yes",
        "kubectl annotate -n default statefulset.apps/web claim-rollout.io/paused-",
    ),
    (
        "a record that is none",
        |seen| annotate(seen, keys::STAGED, "[]"),
        "Error statefulset.apps/default/web | something else: expected a record, but found no JSON object",
        "kubectl annotate -n default statefulset.apps/web claim-rollout.io/staged-",
    ),
    (
        "volumes that cannot grow and are to",
        |seen| {
            of_class(seen, "fixed");
            stage(seen, "2Gi", Phase::RollingOut);
        },
        "Error storageclass/fixed | that it is not, and that claims of default/web use it",
        "kubectl patch storageclass/fixed -p '{\"allowVolumeExpansion\":true}'",
    ),
    (
        "volumes that cannot grow",
        |seen| of_class(seen, "fixed"),
        "Warning storageclass/fixed | that it is not, and that claims of default/web use it",
        "kubectl patch storageclass/fixed ",
    ),
    (
        "a claim that lags and is left behind",
        |seen| {
            for claim in seen.claims.values_mut() {
                (claim.view.request, claim.view.capacity) = (gi(2), Some(gi(2)));
            }
            seen.set.live = vec![template("data", "2Gi")];
            let labels = &mut seen.set.live[0].labels;
            labels.insert("tier".to_owned(), "it's".to_owned());
            seen.claims.values_mut().for_each(|claim| {
                claim.view.labels.insert("tier".to_owned(), "it's".to_owned());
            });
            let view = &mut one(seen).view;
            view.labels.remove("tier");
            (view.request, view.capacity) = (gi(1), Some(gi(1)));
        },
        "Warning persistentvolumeclaim/default/data-web-1 | spec.resources.requests.storage 1Gi, metadata.labels[tier] none, and no rollout that would bring it up",
        "kubectl patch -n default persistentvolumeclaim/data-web-1 --type=merge -p '{\"metadata\":{\"labels\":{\"tier\":\"it'\\''s\"}},\"spec\":{\"resources\":{\"requests\":{\"storage\":\"2Gi\"}}}}'",
    ),
];

fn annotate(seen: &mut ObservedSet, key: &str, value: &str) {
    seen.annotations.insert(key.to_owned(), value.to_owned());
}

pub(super) fn stage(seen: &mut ObservedSet, size: &str, phase: Phase) {
    let mut change = staged_change(vec![template("data", size)]);
    change.phase = phase;
    // As the API has it, the class of the template is that of the live one.
    change.templates[0].spec = seen.set.live[0].spec.clone();
    seen.set.staged = Some(change);
}

pub(super) fn of_class(seen: &mut ObservedSet, class: &str) {
    let claims = seen
        .claims
        .values_mut()
        .map(|claim| Arc::make_mut(&mut claim.view.spec));
    for spec in claims.chain(seen.set.live.iter_mut().map(|template| &mut template.spec)) {
        spec.insert("storageClassName".to_owned(), class.to_owned().into());
    }
}
