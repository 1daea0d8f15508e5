use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::{AdmissionResponse, AdmissionReview, EnvelopeError};

fn body(request: &Value) -> Vec<u8> {
    json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request})
        .to_string()
        .into_bytes()
}

fn web() -> Value {
    json!({"uid": "u-1", "object": {"metadata": {"name": "web"}, "spec": {"replicas": 3, "x": 1.50}}})
}

fn respond(request: &Value, answer: &Value) -> AdmissionResponse {
    AdmissionReview::read(&body(request))
        .expect("a review")
        .respond(answer.to_string().as_bytes())
}

fn patch(response: &AdmissionResponse) -> Value {
    let bytes = STANDARD
        .decode(response.patch.as_ref().expect("a patch"))
        .expect("base64");
    serde_json::from_slice(&bytes).expect("a JSON patch")
}

fn nested(depth: usize) -> String {
    format!("{}{}", "[".repeat(depth), "]".repeat(depth))
}

#[test]
fn read_keeps_the_request_as_written() {
    let text = r#"{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{ "uid" : "a\u002d1", "object":{"b":1.0, "a":1e0} }}"#;
    let review = AdmissionReview::read(text.as_bytes()).expect("a review");
    assert_eq!(review.uid, "a-1");
    assert_eq!(
        review.request.get(),
        r#"{ "uid" : "a\u002d1", "object":{"b":1.0, "a":1e0} }"#
    );
    assert_eq!(review.object.expect("an object").get(), r#"{"b":1.0, "a":1e0}"#);
}

#[test]
fn read_delete_has_no_object() {
    let body = body(&json!({"uid": "u", "object": null, "oldObject": {}}));
    assert!(AdmissionReview::read(&body).expect("a review").object.is_none());
}

#[test]
fn read_of_no_review_is_error_without_its_content() {
    let review = |rest: &str| format!(r#"{{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1"{rest}}}"#);
    for (body, found) in [
        ("{}".to_owned(), "another kind"),
        ("[1]".to_owned(), "another JSON value"),
        ("null".to_owned(), "another JSON value"),
        (r#"{"kind":7}"#.to_owned(), "another JSON value"),
        (
            r#"{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1beta1"}"#.to_owned(),
            "another apiVersion",
        ),
        (review(""), "no request"),
        (review(r#","request":null"#), "no request"),
        (
            review(r#","request":{"uid":"a"},"request":{"uid":"b"}"#),
            "another JSON value",
        ),
        (
            r#"["admission.k8s.io/v1","AdmissionReview",{"uid":"u"}]"#.to_owned(),
            "another JSON value",
        ),
        (review(r#","request":["u",{}]"#), "another value as the request"),
        (review(r#","request":"secret""#), "another value as the request"),
        (review(r#","request":{"uid":7}"#), "another value as the request"),
        (
            review(r#","request":{"uid":"a","uid":"b"}"#),
            "another value as the request",
        ),
        (review(r#","request":{"uid":""}"#), "a request without uid"),
    ] {
        let error = AdmissionReview::read(body.as_bytes()).expect_err(&body);
        assert_eq!(error, EnvelopeError::NotAReview { found }, "{body}");
    }
    assert_eq!(AdmissionReview::read(b" \n").expect_err("blank"), EnvelopeError::Empty);
    assert_eq!(
        AdmissionReview::read(b"{\xff}").expect_err("no text"),
        EnvelopeError::NotUtf8 { offset: 1 }
    );
    assert_eq!(
        AdmissionReview::read(b"{\n  secret").expect_err("cut off"),
        EnvelopeError::NotJson { line: 2, column: 3 }
    );
    let deep = AdmissionReview::read(nested(1_000_000).as_bytes()).expect_err("a deep list");
    assert_eq!(
        deep,
        EnvelopeError::NotAReview {
            found: "another JSON value"
        }
    );
}

#[test]
fn read_every_prefix_is_error() {
    let body = body(&web());
    for length in 0..body.len() {
        assert!(AdmissionReview::read(&body[..length]).is_err(), "cut at {length}");
    }
}

#[test]
fn respond_unchanged_is_allowed_without_patch() {
    let response = respond(&web(), &json!({"accepted": true, "mutated_object": null}));
    let review = String::from_utf8(response.to_review()).expect("text");
    assert_eq!(
        review,
        r#"{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":"u-1","allowed":true}}"#
    );
}

#[test]
fn respond_denial_has_code_and_message() {
    let response = respond(&web(), &json!({"accepted": false, "code": 422, "message": "no"}));
    let value = serde_json::to_value(&response).expect("JSON");
    assert_eq!(
        value,
        json!({"uid": "u-1", "allowed": false, "status": {"code": 422, "message": "no"}})
    );
}

#[test]
fn respond_change_is_a_minimal_patch() {
    let answer = json!({
        "accepted": true,
        "mutated_object": {"metadata": {"name": "web", "annotations": {"a/b": "c"}}, "spec": {"replicas": 3, "x": 1.5}},
        "warnings": ["w"],
        "audit_annotations": {"k": "v"},
    });
    let response = respond(&web(), &answer);
    assert!(response.allowed);
    assert_eq!(response.patch_type, Some("JSONPatch"));
    assert_eq!(
        patch(&response),
        json!([{"op": "add", "path": "/metadata/annotations", "value": {"a/b": "c"}}])
    );
    assert_eq!(response.warnings, ["w"]);
    assert_eq!(response.audit_annotations["k"], "v");
}

#[test]
fn respond_equal_object_makes_no_patch() {
    let response = respond(&web(), &json!({"accepted": true, "mutated_object": web()["object"]}));
    assert_eq!((response.patch, response.patch_type), (None, None));
}

#[test]
fn respond_denied_request_is_not_patched() {
    let response = respond(
        &web(),
        &json!({"accepted": false, "message": "no", "mutated_object": {}}),
    );
    assert_eq!((response.allowed, response.patch), (false, None));
}

#[test]
fn respond_mutation_without_object_is_denied() {
    let response = respond(
        &json!({"uid": "u", "object": null}),
        &json!({"accepted": true, "mutated_object": {}}),
    );
    assert!(!response.allowed);
    let message = response.status.and_then(|status| status.message).expect("a message");
    assert!(message.starts_with("Incoming object is null"), "{message}");
}

#[test]
fn respond_unusable_answer_is_denied() {
    let body = body(&web());
    let review = AdmissionReview::read(&body).expect("a review");
    for answer in [
        "",
        "null",
        "{}",
        r#"{"accepted":"yes"}"#,
        r#"{"accepted":true,"code":99999}"#,
        "\u{0}",
    ] {
        let response = review.respond(answer.as_bytes());
        assert!(!response.allowed, "{answer}");
        assert_eq!(response.status.and_then(|status| status.code), Some(500), "{answer}");
    }
}

#[test]
fn respond_too_deep_object_is_denied() {
    let text = format!(
        r#"{{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{{"uid":"u","object":{}}}}}"#,
        nested(500)
    );
    let review = AdmissionReview::read(text.as_bytes()).expect("a review");
    assert!(review.respond(br#"{"accepted":true}"#).allowed);
    assert!(!review.respond(br#"{"accepted":true,"mutated_object":{}}"#).allowed);
}

#[test]
fn patch_of_any_change_is_that_of_the_whole_objects() {
    let before = json!({
        "metadata": {"name": "web", "labels": {"a": "b"}, "annotations": {"x/a": "1", "x/b": "2"}, "managedFields": [{"f": {}}]},
        "spec": {"replicas": 3, "volumeClaimTemplates": [{"n": 1}, {"n": 2}], "template": {"spec": {"containers": [{"a": {"b": 1}}]}}},
    });
    let set = |pointer: &str, value: Value| {
        let mut after = before.clone();
        *after.pointer_mut(pointer).expect("a member") = value;
        after
    };
    for after in [
        set("/metadata/annotations/x~1a", json!("3")),
        set("/metadata/annotations", json!({"x/b": "2", "x/c": "3"})),
        set("/metadata/annotations", Value::Null),
        set("/spec/volumeClaimTemplates", json!([{"n": 1}])),
        set("/spec/volumeClaimTemplates/1", json!({"m": 2})),
        set("/spec/template/spec/containers/0/a/b", json!([])),
        set("/metadata", json!({"name": "web"})),
        set("", json!({"status": {}})),
        set("", json!([])),
    ] {
        let whole = json_patch::diff(&before, &after);
        let response = respond(
            &json!({"uid": "u", "object": before}),
            &json!({"accepted": true, "mutated_object": after}),
        );
        assert_eq!(patch(&response), serde_json::to_value(whole).expect("JSON"), "{after}");
    }
}

#[test]
fn patch_beside_what_nests_too_deeply_to_compare_is_made() {
    let object = |size: u32| format!(r#"{{"deep":{},"size":{size}}}"#, nested(500));
    let text = format!(
        r#"{{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{{"uid":"u","object":{}}}}}"#,
        object(1)
    );
    let review = AdmissionReview::read(text.as_bytes()).expect("a review");
    let response = review.respond(format!(r#"{{"accepted":true,"mutated_object":{}}}"#, object(2)).as_bytes());
    assert_eq!(
        patch(&response),
        json!([{"op": "replace", "path": "/size", "value": 2}])
    );
}
