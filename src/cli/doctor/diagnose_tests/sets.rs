//! Faults of sets.

use std::sync::Arc;

use super::{healthy, rendered};
use crate::cli::doctor::sets::judge_before;
use crate::cli::drift::find::DriftSet;
use crate::cli::drift::find::tests::{even, one};
use crate::rollout::fixtures::{gi, staged_change, template};
use crate::templates::{Phase, StagedChange, keys};

/// The fault, the finding as `severity subject | found`, and the beginning of its fix.
pub(super) type Row = (&'static str, fn(&mut DriftSet), &'static str, &'static str);

pub(super) const ROWS: &[Row] = &[
    (
        "an unknown policy",
        |seen| annotate(seen, keys::UPDATE_POLICY, "Inplace"),
        "Error statefulset.apps/default/web | Inplace",
        "kubectl annotate -n default statefulset.apps/web claim-rollout.io/update-policy-",
    ),
    (
        "an unknown value of sync",
        |seen| annotate(seen, keys::SYNC, "Sometimes"),
        "Error statefulset.apps/default/web | Sometimes",
        "kubectl annotate -n default statefulset.apps/web claim-rollout.io/sync-",
    ),
    (
        "an unknown value of paused",
        |seen| annotate(seen, keys::PAUSED, "yes"),
        "Error statefulset.apps/default/web | yes",
        "kubectl annotate -n default statefulset.apps/web claim-rollout.io/paused-",
    ),
    (
        "a staged change that cannot be read",
        |seen| seen.set.unreadable = StagedChange::read("[]", &seen.set.uid).err(),
        "Error statefulset.apps/default/web | an invalid value: not a staged change: no JSON object",
        "kubectl annotate -n default statefulset.apps/web claim-rollout.io/staged-",
    ),
    (
        "a staged growth in a class without expansion",
        |seen| {
            of_class(seen, "fixed");
            stage(seen, "2Gi", Phase::RollingOut);
        },
        "Error storageclass/fixed | false, and PVCs of default/web use it",
        "kubectl patch storageclass/fixed -p '{\"allowVolumeExpansion\":true}'",
    ),
    (
        "a Kubernetes with KEP-4650",
        |seen| seen.has_native_policy = true,
        "Warning statefulsets.apps | spec.volumeClaimUpdatePolicy (KEP-4650)",
        "set it in no StatefulSet that claim-rollout manages",
    ),
    (
        "a class without expansion",
        |seen| of_class(seen, "fixed"),
        "Warning storageclass/fixed | false, and PVCs of default/web use it",
        "kubectl patch storageclass/fixed ",
    ),
    (
        "an outdated claim that no rollout will update",
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
        "Warning persistentvolumeclaim/default/data-web-1 | spec.resources.requests.storage 1Gi, metadata.labels[tier] none, and no rollout that will update it",
        "kubectl patch -n default persistentvolumeclaim/data-web-1 --type=merge -p '{\"metadata\":{\"labels\":{\"tier\":\"it'\\''s\"}},\"spec\":{\"resources\":{\"requests\":{\"storage\":\"2Gi\"}}}}'",
    ),
];

pub(super) fn annotate(seen: &mut DriftSet, key: &str, value: &str) {
    seen.annotations.insert(key.to_owned(), value.to_owned());
}

pub(super) fn stage(seen: &mut DriftSet, size: &str, phase: Phase) {
    let mut change = staged_change(vec![template("data", size)]);
    change.phase = phase;
    // As in the API: the class of the template is that of the live one.
    change.templates[0].spec = seen.set.live[0].spec.clone();
    seen.set.staged = Some(change);
}

pub(super) fn of_class(seen: &mut DriftSet, class: &str) {
    let claims = seen
        .claims
        .values_mut()
        .map(|claim| Arc::make_mut(&mut claim.view.spec));
    for spec in claims.chain(seen.set.live.iter_mut().map(|template| &mut template.spec)) {
        spec.insert("storageClassName".to_owned(), class.to_owned().into());
    }
}

#[test]
fn annotations_before_an_installation_are_listed() {
    let mut seen = even();
    seen.annotations.retain(|_, _| false);
    let plain = seen.clone();
    annotate(&mut seen, keys::UPDATE_POLICY, "InPlace");
    annotate(&mut seen, keys::STAGED, "{}");
    let mut facts = healthy();
    facts.sets = vec![plain, seen];
    let findings = rendered(&facts, judge_before(&facts.sets));
    let [finding] = &findings[..] else {
        panic!("{findings:?}")
    };
    assert_eq!(finding.subject, "statefulset.apps/default/web");
    assert_eq!(finding.found, "claim-rollout.io/staged, claim-rollout.io/update-policy");
    assert_eq!(
        finding.fix,
        "kubectl annotate -n default statefulset.apps/web claim-rollout.io/staged- claim-rollout.io/update-policy-, \
         unless somebody wants them"
    );
}
