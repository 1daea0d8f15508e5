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
    let denied = ApiOutcome::<()>::denied("Why", "no".to_owned());
    let not_found = |code: u16| ApiOutcome::NotFound(format!("{code} no"));
    let rows = [
        (404, "", not_found(404)),
        (410, "", not_found(410)),
        (409, "", ApiOutcome::Conflict("409 no".to_owned())),
        (422, "metadata.uid", not_found(422)),
        (422, "spec", denied.clone()),
        (400, "", denied.clone()),
        (403, "", denied),
    ];
    for (code, field, expected) in rows {
        assert_eq!(outcome_of::<()>(&status(code, field)), expected, "{code} {field}");
    }
    for code in [401, 408, 429, 500, 503, 504] {
        let outcome = outcome_of::<()>(&status(code, ""));
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
