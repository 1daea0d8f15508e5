//! PVCs of replicas that were scaled away. After the replacement nothing is staged, so they would keep what they have for ever.

use super::live::LiveSet;
use crate::api::Settings;
use crate::claims::compatible::in_place;
use crate::claims::retention::PodUid;
use crate::claims::{Belongs, Claim, foreign};
use crate::templates::names::ordinal_of;
use crate::templates::{ClaimTemplate, StagedChange, UpdatePolicy};

/// The templates that existing PVCs get from the rollout, if they get any.
#[must_use]
pub fn rolled_out(set: &LiveSet) -> Option<StagedChange> {
    let change = set.staged()?;
    (set.update_policy(&change) != UpdatePolicy::OnClaimDelete).then_some(change)
}

/// The template of the PVC of this name, if it is one of a replica that was scaled away.
#[must_use]
pub fn template_of<'t>(set: &LiveSet, templates: &'t [ClaimTemplate], claim: &str) -> Option<(&'t ClaimTemplate, u32)> {
    let first = set.first_ordinal();
    let in_range = first..first.saturating_add(set.replicas());
    templates.iter().find_map(|template| {
        let ordinal = ordinal_of(claim, &template.name, set.name())?;
        (!in_range.contains(&i64::from(ordinal))).then_some((template, ordinal))
    })
}

/// True iff the PVC of a replica that was scaled away asks for less than its template.
#[must_use]
pub fn lags(set: &LiveSet, templates: &[ClaimTemplate], claim: &Claim, settings: &Settings) -> bool {
    let Some((template, ordinal)) = template_of(set, templates, &claim.name) else {
        return false;
    };
    let pod = format!("{}-{ordinal}", set.name());
    let labels = set.selector()["matchLabels"].as_object().into_iter().flatten();
    let labels: Vec<_> = labels
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
    let template = in_place(template, claim, settings.immutable_fields);
    let class = template.volume_attributes_class_name.as_deref().unwrap_or_default();
    let has_class = class.is_empty() || claim.class.as_deref() == Some(class);
    template.storage.is_some_and(|wanted| claim.request < wanted) || !has_class
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{lags, rolled_out};
    use crate::api::Settings;
    use crate::claims::Claim;
    use crate::json::Map;
    use crate::replace::LiveSet;
    use crate::rollout::fixtures::{gi, owner, staged_change, template, web};
    use crate::templates::UpdatePolicy;

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

    const ROWS: &[Row] = &[
        ("it has the size of the live template", |_| {}, true),
        ("it asks for the size", |claim| claim.request = gi(2), false),
        (
            "its replica is in range",
            |claim| claim.name = "data-web-0".to_owned(),
            false,
        ),
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
            let templates = [template("data", "2Gi")];
            assert_eq!(
                lags(&set(None), &templates, &claim, &Settings::default()),
                *expected,
                "{row}"
            );
            let mut classed = templates;
            classed[0].volume_attributes_class_name = Some("fast".to_owned());
            (claim.request, claim.class) = (gi(2), Some("slow".to_owned()));
            let unclassed = lags(&set(None), &classed, &claim, &Settings::default());
            assert_eq!(
                unclassed,
                *expected || *row == "it asks for the size",
                "{row}, and another class"
            );
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
