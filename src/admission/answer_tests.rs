use serde_json::{Value, json};

use super::{validate, validate_settings};
use crate::admission::NoCluster;
use crate::templates::keys;
use crate::wire::decode;

/// A set with unknown fields, in a form that decoding and encoding would change.
const SET: &str = r#"{"apiVersion":"apps/v1","kind":"StatefulSet","metadata":{"name":"web","namespace":"shop","uid":"u-1",
  "annotations":{"a\u0062":"\u00e9","claim-rollout.io/update-policy":"InPlace"}, "managedFields":[{"x":1.50}]},
  "spec":{"newField":[1e2,{"deep":null}],"replicas":3,"volumeClaimTemplates":[{"metadata":{"name":"data"},
  "spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"10Gi"}}}}]},"status":{"replicas":3}}"#;

fn payload(old: &str, new: &str) -> String {
    format!(
        r#"{{"settings":{{"authority":"TrustSetEditors","pvcChecks":"Ignore"}},"request":{{"uid":"1","kind":{{"group":"apps","version":"v1","kind":"StatefulSet"}},
        "operation":"UPDATE","name":"web","namespace":"shop","userInfo":{{"username":"alice"}},"oldObject":{old},"object":{new}}}}}"#
    )
}

fn answer(payload: &str) -> Value {
    let bytes = validate(payload.as_bytes(), &mut NoCluster);
    serde_json::from_slice(&bytes).unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&bytes)))
}

/// The answer that accepts, and has nothing else.
fn accepted() -> Value {
    json!({
        "accepted": true, "message": null, "code": null, "mutated_object": null, "audit_annotations": null,
        "warnings": null,
    })
}

#[test]
fn unchanged_object_is_accepted_without_mutation() {
    assert_eq!(answer(&payload(SET, SET)), accepted());
}

#[test]
fn staged_object_differs_only_in_templates_and_our_annotations() {
    let new = SET.replace("10Gi", "20Gi");
    let answer = answer(&payload(SET, &new));
    let mut object = answer["mutated_object"].clone();
    let annotations = object["metadata"]["annotations"].as_object_mut().expect("annotations");
    let change = annotations.remove(keys::STAGED).expect("a staged change");
    assert!(change.as_str().is_some_and(|text| text.contains("20Gi")));
    assert_eq!(annotations.remove(keys::PHASE), Some("RollingOut".into()));
    assert_eq!(object, serde_json::from_str::<Value>(SET).expect("valid"));
    assert_eq!(answer["accepted"], true);
    assert_eq!(answer["warnings"].as_array().map(Vec::len), Some(1));
}

/// The PVCs of replicas that the same request scales away follow, too.
#[test]
fn change_is_staged_for_the_most_replicas_of_a_request() {
    for (before, after) in [(3, 3), (3, 1), (3, 5)] {
        let new = SET.replace("10Gi", "20Gi");
        let new = new.replacen("\"replicas\":3", &format!("\"replicas\":{after}"), 1);
        let object = answer(&payload(SET, &new))["mutated_object"].clone();
        let staged = object["metadata"]["annotations"][keys::STAGED]
            .as_str()
            .unwrap_or_default();
        let replicas = format!("\"replicas\":{}", before.max(after));
        assert!(staged.contains(&replicas), "{before} to {after}: {staged}");
    }
}

#[test]
fn unedited_parts_stay_byte_for_byte() {
    let new = SET.replace("10Gi", "20Gi");
    let bytes = validate(payload(SET, &new).as_bytes(), &mut NoCluster);
    let text = String::from_utf8(bytes).expect("UTF-8");
    for part in [
        r#""\u00e9""#,
        r#""managedFields":[{"x":1.50}]"#,
        r#""newField":[1e2,{"deep":null}],"replicas":3"#,
        r#""status":{"replicas":3}"#,
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
}

#[test]
fn missing_annotations_are_created() {
    let bare = |size: &str| {
        format!(
            r#"{{"apiVersion":"apps/v1","kind":"StatefulSet","metadata":{{"name":"web","uid":"u-1"ANNOTATIONS}},"spec":{{"volumeClaimTemplates":[{{"metadata":{{"name":"data"}},"spec":{{"resources":{{"requests":{{"storage":"{size}"}}}}}}}}]}}}}"#
        )
    };
    for annotations in ["", r#","annotations":null"#, r#","annotations":{}"#] {
        let [old, new] = ["10Gi", "20Gi"].map(|size| bare(size).replace("ANNOTATIONS", annotations));
        let object = answer(&payload(&old, &new))["mutated_object"].clone();
        assert!(
            object["metadata"]["annotations"][keys::STAGED].is_string(),
            "{annotations}"
        );
        assert_eq!(
            object["spec"],
            serde_json::from_str::<Value>(&old).expect("valid")["spec"]
        );
    }
}

#[test]
fn malformed_payload_is_denied_without_its_content() {
    let secret = "s3cr3t";
    let good = payload(SET, SET);
    let table = [
        (String::new(), "but found the end (line 1 column 1)"),
        (
            secret.to_owned(),
            "expected an object, but found something else (line 1 column 1)",
        ),
        (format!("\"{secret}\""), "expected an object"),
        ("[]".to_owned(), "expected an object"),
        ("{}".to_owned(), "expected request, but found nothing (line 1 column 3)"),
        (
            r#"{"request":{}}"#.to_owned(),
            "expected request.kind.kind, but found nothing",
        ),
        (good[..good.len() / 2].to_owned(), "expected more, but found the end"),
        (format!("{good}x"), "expected JSON, but found something else"),
        (
            good.replace("\"replicas\":3,", &format!("\"replicas\":\"{secret}\",")),
            "expected a whole number, but found something else (line 4 ",
        ),
        (
            good.replace(
                "\"operation\":\"UPDATE\"",
                "\"operation\":\"UPDATE\",\"operation\":\"DELETE\"",
            ),
            "expected each key once",
        ),
        (
            good.replace("\"replicas\":3,", "\"replicas\":3,\"replicas\":4,"),
            "expected each key once",
        ),
        (
            good.replace(
                "\"claim-rollout.io/update-policy\":\"InPlace\"",
                "\"claim-rollout.io/paused\":\"\",\"claim-rollout.io/pause\\u0064\":\"\"",
            ),
            "expected each key once",
        ),
    ];
    for (payload, reason) in table {
        let answer = answer(&payload);
        let message = answer["message"].as_str().unwrap_or_default();
        assert_eq!(
            (&answer["accepted"], &answer["code"]),
            (&json!(false), &json!(400)),
            "{payload}"
        );
        assert!(message.contains(reason), "{message}");
        assert!(!message.contains(secret), "{message}");
    }
    let bytes = validate(b"\xff\xfe", &mut NoCluster);
    assert!(String::from_utf8(bytes).expect("UTF-8").contains("expected UTF-8"));
}

#[test]
fn other_kind_with_any_object_passes() {
    let other =
        payload(SET, r#"{"metadata":1,"spec":"x"}"#).replace("\"kind\":\"StatefulSet\"}", "\"kind\":\"Widget\"}");
    assert_eq!(answer(&other), accepted());
    let scale = payload(SET, r#"{"metadata":{},"spec":{"replicas":"x"}}"#)
        .replace("\"operation\"", "\"subResource\":\"scale\",\"operation\"");
    assert_eq!(answer(&scale), accepted());
}

/// Where the answer replaces a field of a PVC, it must not add the field a second time.
#[test]
fn claim_fields_to_edit_are_decoded() {
    let payload = json!({"request": {"operation": "CREATE", "userInfo": {},
        "kind": {"group": "", "version": "v1", "kind": "PersistentVolumeClaim"},
        "object": {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data-web-0"},
            "spec": {"resources": {"requests": {"storage": "10Gi"}}, "volumeAttributesClassName": "gold"}}}});
    let payload = payload.to_string();
    let Ok(Some((review, _))) = decode(payload.as_bytes()) else {
        panic!("a review: {payload}")
    };
    let spec = &review.object.as_ref().expect("a claim").spec;
    let resources = r#"{"requests":{"storage":"10Gi"}}"#;
    assert_eq!(
        (spec.resources, spec.attributes_class),
        (Some(resources), Some("\"gold\""))
    );
}

#[test]
fn nesting_beyond_128_is_denied() {
    let deep = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    let with = |depth: usize| payload(SET, &SET.replace("1e2", &deep(depth)));
    assert_eq!(answer(&with(100)), accepted());
    for depth in [128, 10_000] {
        let message = answer(&with(depth))["message"].to_string();
        assert!(
            message.contains("expected JSON nested at most 128 deep, but found it deeper"),
            "{message}"
        );
    }
    // Brackets in strings do not nest, also after an escaped quote.
    let text = format!(r#""\"{}""#, "[".repeat(1000));
    assert_eq!(answer(&payload(SET, &SET.replace("1e2", &text))), accepted());
}

#[test]
fn payload_of_six_megabytes_gets_answer() {
    let huge = |bytes: usize| payload(SET, &SET.replace("1e2", &format!("\"{}\"", "x".repeat(bytes))));
    assert_eq!(answer(&huge(5 << 20)), accepted());
    assert_eq!(answer(&huge(7 << 20))["code"], 400);
}

#[test]
fn settings_with_fault_are_denied() {
    let wrong = payload(SET, SET).replace("TrustSetEditors", "Nobody");
    assert_eq!(
        answer(&wrong)["message"],
        "claim-rollout: settings: authority: expected one of RequirePatchOnPVCs, TrustSetEditors, but found \"Nobody\""
    );
    assert_eq!(validate_settings(b"{}"), br#"{"valid":true,"message":null}"#);
    assert_eq!(validate_settings(b""), br#"{"valid":true,"message":null}"#);
    assert_eq!(
        validate_settings(br#"{"x":1}"#),
        br#"{"valid":false,"message":"settings: x: no such setting"}"#
    );
    assert_eq!(
        validate_settings(b"\xff"),
        br#"{"valid":false,"message":"settings: expected UTF-8"}"#
    );
}

#[test]
fn object_without_metadata_or_spec_is_denied() {
    for part in ["metadata", "spec"] {
        let mut new: Value = serde_json::from_str(&SET.replace("10Gi", "20Gi")).expect("valid");
        new.as_object_mut().expect("an object").remove(part);
        let answer = answer(&payload(SET, &new.to_string()));
        assert_eq!(
            (&answer["accepted"], &answer["code"]),
            (&json!(false), &json!(400)),
            "{answer}"
        );
    }
}
