use kube::core::Status;
use serde_json::json;

use super::{ApiOutcome, outcome_of};

#[test]
fn failure_status_is_classified_by_its_code() {
    let status = |code: u16, field: &str| -> Status {
        serde_json::from_value(json!({
            "status": "Failure", "message": "no\nwith a diff", "reason": "Why", "code": code,
            "details": { "causes": [{ "field": field }], "retryAfterSeconds": 7 },
        }))
        .unwrap()
    };
    let denied = ApiOutcome::<()>::Denied {
        cause: "Why".to_owned(),
        message: "no".to_owned(),
        stored: None,
    };
    let rows = [
        (404, "", ApiOutcome::NotFound),
        (409, "", ApiOutcome::Conflict),
        (422, "metadata.uid", ApiOutcome::NotFound),
        (422, "spec", denied.clone()),
        (400, "", denied.clone()),
        (403, "", denied),
    ];
    for (code, field, expected) in rows {
        assert_eq!(outcome_of::<()>(status(code, field)), expected, "{code} {field}");
    }
    for code in [401, 408, 429, 500, 503, 504] {
        let outcome = outcome_of::<()>(status(code, ""));
        assert!(
            matches!(
                outcome,
                ApiOutcome::Unsure {
                    retry_after: Some(7),
                    ..
                }
            ),
            "{code}"
        );
    }
}
