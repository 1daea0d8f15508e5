//! PVCs that do not have what is staged although the rollout is complete: their replica was scaled away, or they were
//! created again while neither the policy nor the controller saw it. After the replacement nothing is staged, so they would
//! keep what they have for ever.

use super::live::{self, LiveSet};
use crate::api::Settings;
use crate::claims::compatible::{differences, in_place};
use crate::claims::retention::PodUid;
use crate::claims::{Belongs, Claim, foreign};
use crate::templates::names::ordinal_of;
use crate::templates::rules::Frozen;
use crate::templates::{ClaimTemplate, FrozenChange, StagedChange, UpdatePolicy, keys};

/// The templates that existing PVCs get from the rollout, if they get any.
#[must_use]
pub fn rolled_out(set: &LiveSet) -> Option<StagedChange> {
    let change = set.staged()?;
    (set.update_policy(&change) != UpdatePolicy::OnClaimDelete).then_some(change)
}

/// The template and the ordinal of the PVC of this name, and whether its replica is in range.
fn place_of<'t>(set: &LiveSet, templates: &'t [ClaimTemplate], claim: &str) -> Option<(&'t ClaimTemplate, u32, bool)> {
    let in_range = set.ordinals();
    templates.iter().find_map(|template| {
        let ordinal = ordinal_of(claim, &template.name, set.name())?;
        Some((template, ordinal, in_range.contains(&i64::from(ordinal))))
    })
}

/// The template of the PVC of this name, if it is one of a replica that was scaled away.
#[must_use]
pub fn template_of<'t>(set: &LiveSet, templates: &'t [ClaimTemplate], claim: &str) -> Option<(&'t ClaimTemplate, u32)> {
    let place = place_of(set, templates, claim).filter(|(.., is_in_range)| !is_in_range);
    place.map(|(template, ordinal, _)| (template, ordinal))
}

/// True iff the PVC of this name, which has this label `claim-rollout.io/revision`, may lack what is staged. What became of a
/// PVC in range that has the label of the staging was known when the rollout was complete.
#[must_use]
pub fn may_lag(set: &LiveSet, change: &StagedChange, claim: &str, label: Option<&str>) -> bool {
    let place = place_of(set, &change.templates, claim);
    place.is_some_and(|(.., is_in_range)| !is_in_range || !label.is_some_and(|label| change.label().is(label)))
}

/// True iff the PVC asks for less than its template, and would never get it.
#[must_use]
pub fn lags(set: &LiveSet, change: &StagedChange, claim: &Claim, settings: &Settings) -> bool {
    let label = claim.labels.get(keys::REVISION).map(String::as_str);
    let place = place_of(set, &change.templates, &claim.name);
    let Some((template, ordinal, is_in_range)) = place.filter(|_| may_lag(set, change, &claim.name, label)) else {
        return false;
    };
    let pod = format!("{}-{ordinal}", set.name());
    // The Pod of a replica in range uses it whatever its labels are.
    let labels = set.selector()["matchLabels"].as_object().filter(|_| !is_in_range);
    let labels: Vec<_> = labels
        .into_iter()
        .flatten()
        .filter_map(|(key, value)| Some((key.as_str(), value.as_str()?)))
        .collect();
    let belongs = Belongs {
        set_uid: set.uid(),
        pod: &pod,
        pod_uid: PodUid::NotAsked,
        match_labels: &labels,
    };
    if claim.terminating || claim.lost || foreign(claim, &belongs).is_some() {
        return false;
    }
    let recreates = set.update_policy(change) == UpdatePolicy::ReCreate;
    let frozen = if recreates {
        Frozen::Deny
    } else {
        settings.immutable_fields
    };
    let template = in_place(template, claim, frozen);
    let class = template.volume_attributes_class_name.as_deref().unwrap_or_default();
    let has_class = class.is_empty() || claim.class.as_deref() == Some(class);
    let is_due = recreates && needs_new_claim(set, &template, claim);
    template.storage.is_some_and(|wanted| claim.request < wanted) || !has_class || is_due
}

/// True iff the PVC has another value in a field that the staged change makes different, so that it has to be created anew.
fn needs_new_claim(set: &LiveSet, template: &ClaimTemplate, claim: &Claim) -> bool {
    let live = live::read_templates(set.templates()).unwrap_or_default();
    let Some(live) = live.iter().find(|live| live.name == template.name) else {
        return false;
    };
    let staged = FrozenChange::in_spec(&live.spec, &template.spec);
    let is_staged = |change: FrozenChange| staged.iter().any(|staged| staged.field == change.field);
    differences(template, &claim.spec).any(is_staged)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::{Frozen, lags, rolled_out};
    use crate::api::Settings;
    use crate::claims::Claim;
    use crate::json::Map;
    use crate::replace::LiveSet;
    use crate::rollout::fixtures::{gi, owner, staged_change, template, web};
    use crate::templates::{UpdatePolicy, keys};

    fn set(policy: Option<&str>) -> LiveSet {
        let staged = staged_change(vec![template("data", "2Gi")]).write().expect("short");
        LiveSet::new(json!({
            "metadata": {
                "name": "web", "namespace": "default", "uid": "set-uid",
                "annotations": {"claim-rollout.io/staged": staged, "claim-rollout.io/update-policy": policy},
            },
            "spec": {"replicas": 1, "selector": {"matchLabels": {"app": "web"}}},
        }))
    }

    /// The PVC of a replica that was scaled away, and whether it would never follow.
    type Row = (&'static str, fn(&mut Claim), bool);

    fn written(claim: &mut Claim) {
        let label = staged_change(vec![template("data", "2Gi")]).label();
        _ = claim.labels.insert(keys::REVISION.to_owned(), label.to_string());
    }

    const ROWS: &[Row] = &[
        ("it has the size of the live template", |_| {}, true),
        ("it asks for the size", |claim| claim.request = gi(2), false),
        (
            "its replica is in range, and it was created again",
            |claim| claim.name = "data-web-0".to_owned(),
            true,
        ),
        (
            "its replica is in range, and its Pod uses it whatever its labels are",
            |claim| {
                claim.name = "data-web-0".to_owned();
                _ = claim.labels.insert("app".to_owned(), "db".to_owned());
            },
            true,
        ),
        (
            "its replica is in range, and the rollout has written it",
            |claim| {
                claim.name = "data-web-0".to_owned();
                written(claim);
            },
            false,
        ),
        ("the rollout has written it, and it was lowered since", written, true),
        (
            "it is of another template",
            |claim| claim.name = "logs-web-2".to_owned(),
            false,
        ),
        ("it is being deleted", |claim| claim.terminating = true, false),
        (
            "its volume is lost, so it cannot follow",
            |claim| (claim.bound, claim.lost) = (false, true),
            false,
        ),
        (
            "its labels are of another set",
            |claim| _ = claim.labels.insert("app".to_owned(), "db".to_owned()),
            false,
        ),
        ("a label is missing", |claim| claim.labels = Map::new(), true),
        (
            "it belongs to somebody else",
            |claim| claim.owners = vec![owner("Backup", "b", "b")],
            false,
        ),
    ];

    #[test]
    fn claim_that_would_never_follow_lags() {
        for (row, change, expected) in ROWS {
            let mut claim = web().claims["data-web-2"].clone();
            change(&mut claim);
            let mut staged = staged_change(vec![template("data", "2Gi")]);
            assert_eq!(
                lags(&set(None), &staged, &claim, &Settings::default()),
                *expected,
                "{row}"
            );
            staged.templates[0].volume_attributes_class_name = Some("fast".to_owned());
            (claim.request, claim.class) = (gi(2), Some("slow".to_owned()));
            if claim.labels.contains_key(keys::REVISION) {
                _ = claim
                    .labels
                    .insert(keys::REVISION.to_owned(), staged.label().to_string());
            }
            let unclassed = lags(&set(None), &staged, &claim, &Settings::default());
            assert_eq!(
                unclassed,
                *expected || *row == "it asks for the size",
                "{row}, and another class"
            );
        }
    }

    /// In another storage class than what is staged. Where existing PVCs keep their class, it has what it can get. Nor is it
    /// deleted for a growth.
    #[test]
    fn claim_created_again_in_another_class_lags() {
        let settings = Settings {
            immutable_fields: Frozen::ForNewClaims,
            ..Settings::default()
        };
        let of_class = |class: &str| {
            let mut classed = template("data", "2Gi");
            _ = classed.spec.insert("storageClassName".to_owned(), class.into());
            staged_change(vec![classed])
        };
        for (policy, class, expected) in [
            ("ReCreate", "fast", true),
            ("ReCreate", "slow", false),
            ("InPlace", "fast", false),
        ] {
            for name in ["data-web-0", "data-web-2"] {
                let mut claim = web().claims["data-web-2"].clone();
                (claim.name, claim.request) = (name.to_owned(), gi(2));
                claim.spec = Arc::new(of_class("older").templates[0].spec.clone());
                let live = of_class("slow").templates[0].text();
                let mut object = set(Some(policy)).object().clone();
                object["spec"]["volumeClaimTemplates"] = serde_json::from_str(&format!("[{live}]")).expect("JSON");
                let found = lags(&LiveSet::new(object), &of_class(class), &claim, &settings);
                assert_eq!(found, expected, "{policy} {class} {name}");
            }
        }
    }

    #[test]
    fn nothing_lags_where_only_new_claims_get_the_templates() {
        for (policy, expected) in [(None, true), (Some("InPlace"), true), (Some("OnClaimDelete"), false)] {
            let policies = rolled_out(&set(policy)).map(|change| change.update_policy);
            assert_eq!(policies, expected.then_some(UpdatePolicy::InPlace), "{policy:?}");
        }
    }
}
