//! One PVC of a StatefulSet, as `status`, `plan` and `drift` show it.
//!
//! The fields are a part of the stable format of each `-o json`. Those of the state are those of `status.claims` of the
//! ClaimRollout.

use std::borrow::Cow;

use serde::Serialize;

use crate::claims::{Claim, Foreign};
use crate::controller::crd::PvcStatus;
use crate::gate::ClaimState;
use crate::rollout::assessment::{At, ClaimAssessment};
use crate::templates::{ClaimName, ClaimTemplate, RevisionLabel};

/// A claim, its state and its differences.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ClaimRow {
    /// The name of its template.
    pub(crate) template: String,
    pub(crate) name: String,
    pub(crate) ordinal: u32,
    /// None if no rollout concerns the claim.
    pub(crate) state: Option<ClaimState>,
    /// The reason for the state, in one word.
    pub(crate) reason: String,
    /// The reason for the state, in a sentence.
    pub(crate) message: String,
    /// Differences from the desired template, where they are compared.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) differences: Vec<FieldDifference>,
}

/// A difference from the desired templates.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct FieldDifference {
    /// The field of the claim, or of the set.
    pub(crate) field: String,
    /// The desired value; none if the field should be absent.
    pub(crate) wanted: Option<String>,
    /// The present value; none if the field is absent.
    pub(crate) found: Option<String>,
    /// A remark; often empty.
    pub(crate) note: String,
    /// True iff a rollout could update the field, and none will.
    #[serde(skip)]
    pub(crate) is_left: bool,
}

/// How a rollout concerns the claims of a set.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RowTarget<'a> {
    /// The label of updated claims.
    pub(crate) label: Option<&'a RevisionLabel>,
    /// The rollout updates outdated claims.
    pub(crate) updates: bool,
}

impl ClaimRow {
    /// What the claim shows by itself, by the decision of the controller.
    pub(crate) fn of(
        (name, ordinal): (ClaimName, u32),
        template: &ClaimTemplate,
        claim: Option<&Claim>,
        (target, foreign): (RowTarget<'_>, Option<&Foreign>),
    ) -> Self {
        let assessment = ClaimAssessment::of_claim(name, Cow::Borrowed(template), claim, (target.label, foreign));
        let is_plain = matches!(
            assessment.state,
            ClaimState::Missing | ClaimState::Terminating | ClaimState::Foreign
        );
        let row = Self::assessed(&assessment, ordinal);
        if is_plain || assessment.at == At::Updated || target.updates {
            return row;
        }
        Self::blank(&row.template, &row.name, ordinal)
    }

    /// A claim as the controller assesses it.
    pub(crate) fn assessed(assessment: &ClaimAssessment<'_>, ordinal: u32) -> Self {
        Self {
            state: Some(assessment.state),
            reason: assessment.reason.clone(),
            message: assessment.message.clone(),
            ..Self::blank(&assessment.template.name, assessment.name.as_str(), ordinal)
        }
    }

    /// A claim as the controller reports it.
    pub(crate) fn reported(status: &PvcStatus, template: &str) -> Self {
        Self {
            state: ClaimState::read(&status.state),
            reason: status.reason.clone(),
            message: status.message.clone(),
            ..Self::blank(
                template,
                &status.name,
                u32::try_from(status.ordinal).unwrap_or_default(),
            )
        }
    }

    /// A claim that no rollout concerns.
    pub(crate) fn blank(template: &str, name: &str, ordinal: u32) -> Self {
        Self {
            template: template.to_owned(),
            name: name.to_owned(),
            ordinal,
            state: None,
            reason: String::new(),
            message: String::new(),
            differences: Vec::new(),
        }
    }

    /// The message, or else the reason.
    pub(crate) fn why(&self) -> &str {
        if self.message.is_empty() {
            &self.reason
        } else {
            &self.message
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use serde_json::json;

    use super::{ClaimRow, RowTarget};
    use crate::claims::Claim;
    use crate::gate::ClaimState;
    use crate::rollout::fixtures::{gi, label, template, web};
    use crate::templates::{ClaimName, keys};

    /// A claim of the template `data` in this state.
    pub(crate) fn row(name: &str, ordinal: u32, state: Option<ClaimState>) -> ClaimRow {
        ClaimRow {
            state,
            ..ClaimRow::blank("data", name, ordinal)
        }
    }

    /// What the claim is, whether a rollout updates claims, and the state with its reason; empty without a state.
    type Row = (&'static str, fn(&mut Claim), bool, &'static str);

    const ROWS: [Row; 6] = [
        ("outdated", |_| {}, true, "Pending: waiting for its turn"),
        ("outdated, and nothing is rolled out", |_| {}, false, ""),
        ("being deleted", deleted, false, "Terminating: is being deleted"),
        ("written", updated, true, "Applied: capacity 1Gi of 2Gi"),
        ("written before", updated, false, "Applied: capacity 1Gi of 2Gi"),
        ("done", done, true, "Done: "),
    ];

    fn deleted(claim: &mut Claim) {
        claim.terminating = true;
    }

    fn done(claim: &mut Claim) {
        updated(claim);
        claim.capacity = Some(gi(2));
    }

    fn updated(claim: &mut Claim) {
        claim.labels.insert(keys::REVISION.to_owned(), label("r").to_string());
        claim.request = gi(2);
    }

    fn seen(claim: Option<&Claim>, updates: bool) -> ClaimRow {
        let label = label("r");
        let target = RowTarget {
            label: Some(&label),
            updates,
        };
        let name = ClaimName::new("data", "web", 1).expect("a name");
        ClaimRow::of((name, 1), &template("data", "2Gi"), claim, (target, None))
    }

    #[test]
    fn row_has_the_state_that_the_controller_decides() {
        for (what, change, updates, expected) in ROWS {
            let mut claim = web().claim("data-web-1").clone();
            change(&mut claim);
            let row = seen(Some(&claim), updates);
            let state = row.state.map(|state| format!("{state}: "));
            assert_eq!(state.unwrap_or_default() + row.why(), expected, "{what}");
        }
        let missing = seen(None, false);
        assert_eq!(missing.state, Some(ClaimState::Missing));
    }

    #[test]
    fn row_has_the_fields_of_the_claim_rollout() {
        let expected = json!({
            "template": "data", "name": "data-web-1", "ordinal": 1, "state": "Missing", "reason": "NotFound",
            "message": "waiting for the StatefulSet controller to create it",
        });
        assert_eq!(json!(seen(None, true)), expected);
    }
}
