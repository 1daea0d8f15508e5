//! The policy host treats a policy as policy-server does. The guests are a few lines of WebAssembly text, each with one
//! behaviour.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::world::policy_host::{
    Api, Capabilities, GetResource, Module, NoApi, Policy, PolicyHost, Resource, Runtime, Subject, run, shared_policy,
};

/// Increments a digit in its memory, and returns it.
const COUNTS: &str = r#"(module
  (import "wapc" "__guest_response" (func $respond (param i32 i32)))
  (memory (export "memory") 1)
  (data (i32.const 0) "0")
  (func (export "__guest_call") (param i32 i32) (result i32)
    (i32.store8 (i32.const 0) (i32.add (i32.load8_u (i32.const 0)) (i32.const 1)))
    (call $respond (i32.const 0) (i32.const 1))
    (i32.const 1)))"#;

/// Never ends.
const SPINS: &str = r#"(module
  (memory (export "memory") 1)
  (func (export "__guest_call") (param i32 i32) (result i32) (loop (br 0)) (i32.const 0)))"#;

/// Calls the host with its payload as `kubernetes/<operation>`, and returns the response or the error.
const ASKS: &str = r#"(module
  (import "wapc" "__guest_request" (func $request (param i32 i32)))
  (import "wapc" "__guest_response" (func $respond (param i32 i32)))
  (import "wapc" "__host_call" (func $ask (param i32 i32 i32 i32 i32 i32 i32 i32) (result i32)))
  (import "wapc" "__host_response_len" (func $length (result i32)))
  (import "wapc" "__host_response" (func $response (param i32)))
  (import "wapc" "__host_error_len" (func $error_length (result i32)))
  (import "wapc" "__host_error" (func $error (param i32)))
  (memory (export "memory") 4)
  (data (i32.const 0) "kubewarden")
  (data (i32.const 16) "kubernetes")
  (func (export "__guest_call") (param $operation i32) (param $payload i32) (result i32)
    (call $request (i32.const 64) (i32.const 1024))
    (if (call $ask (i32.const 0) (i32.const 10) (i32.const 16) (i32.const 10)
                   (i32.const 64) (local.get $operation) (i32.const 1024) (local.get $payload))
      (then
        (call $response (i32.const 65536))
        (call $respond (i32.const 65536) (call $length)))
      (else
        (call $error (i32.const 65536))
        (call $respond (i32.const 65536) (call $error_length))))
    (i32.const 1)))"#;

/// An API server with every object.
struct Echo;

impl Api for Echo {
    fn get_resource(&self, question: &GetResource) -> Result<String, String> {
        Ok(json!({"metadata": {"name": question.name}}).to_string())
    }

    fn can_i(&self, question: &Subject) -> Result<String, String> {
        let allowed = question.user == "alice" && question.resource_attributes.verb == "patch";
        Ok(json!({"allowed": allowed}).to_string())
    }
}

fn module(text: &str) -> Module {
    Runtime::new()
        .expect("a runtime")
        .compile(text.as_bytes())
        .expect("a module")
}

fn ask(granted: &[&str], readable: &[(&str, &str)], operation: &str, question: &Value) -> String {
    let granted = granted.iter().map(ToString::to_string).collect();
    let readable = readable
        .iter()
        .map(|(api_version, kind)| Resource {
            api_version: (*api_version).to_owned(),
            kind: (*kind).to_owned(),
        })
        .collect();
    let capabilities = Arc::new(Capabilities::new(granted, readable, Arc::new(Echo)));
    let answer = module(ASKS)
        .call(operation, question.to_string().as_bytes(), capabilities)
        .expect("an answer");
    String::from_utf8(answer).expect("text")
}

fn get(kind: &str) -> Value {
    json!({
        "api_version": "v1", "kind": kind, "name": "data-web-0", "namespace": "default",
        "disable_cache": true, "field_masks": null,
    })
}

fn can_i(user: &str) -> Value {
    let attributes = json!({
        "group": "", "name": null, "namespace": "default", "resource": "persistentvolumeclaims",
        "subresource": null, "verb": "patch", "version": null,
    });
    let review = json!({"user": user, "groups": ["dev"], "resource_attributes": attributes});
    json!({"subject_access_review": review, "disable_cache": true})
}

#[test]
fn every_call_gets_a_fresh_instance() {
    let module = module(COUNTS);
    for _ in 0..3 {
        assert_eq!(run(&module, b"", Capabilities::none()).expect("an answer"), b"1");
    }
}

#[test]
fn endless_guest_is_interrupted_after_two_ticks() {
    let module = module(SPINS);
    let error = run(&module, b"", Capabilities::none()).expect_err("no answer");
    assert_eq!(
        error,
        "Guest call failure: guest code interrupted, execution deadline exceeded"
    );
}

#[test]
fn missing_grant_fails_with_the_text_of_policy_server() {
    let denied = |path| {
        format!("Policy has not been granted access to the '{path}' host capability. The violation has been reported.")
    };
    let claims = [("v1", "PersistentVolumeClaim")];
    assert_eq!(ask(&[], &claims, "can_i", &can_i("alice")), denied("kubernetes/can_i"));
    let other = ask(
        &["kubernetes/can_i", "oci/*"],
        &claims,
        "get_resource",
        &get("PersistentVolumeClaim"),
    );
    assert_eq!(other, denied("kubernetes/get_resource"));
    assert_eq!(
        ask(&["*"], &claims, "get_resource", &get("Secret")),
        "Policy has not been granted access to Kubernetes v1/Secret resources. The violation has been reported."
    );
    assert_eq!(
        ask(&["*"], &claims, "list_everything", &json!({})),
        "unknown operation: list_everything"
    );
}

#[test]
fn granted_lookup_is_answered_by_the_api_server() {
    for granted in ["*", "kubernetes/*", "kubernetes/can_i"] {
        assert_eq!(ask(&[granted], &[], "can_i", &can_i("alice")), r#"{"allowed":true}"#);
        assert_eq!(ask(&[granted], &[], "can_i", &can_i("bob")), r#"{"allowed":false}"#);
    }
    assert_eq!(
        ask(&["*"], &[("v1", "Pod")], "get_resource", &get("Pod")),
        r#"{"metadata":{"name":"data-web-0"}}"#
    );
}

/// Answers of five seconds ago are not those that the policy decides by.
#[test]
fn question_to_the_cache_is_an_error() {
    let mut question = get("Pod");
    question["disable_cache"] = false.into();
    let answer = ask(&["*"], &[("v1", "Pod")], "get_resource", &question);
    assert_eq!(answer, "expected a question for a whole object without the cache");
}

#[tokio::test]
async fn invalid_settings_keep_the_host_from_starting() {
    let policy = Policy::new("sets", &shared_policy().expect("a policy"), json!({"mode": "Sideways"}));
    let error = PolicyHost::start(vec![policy], Arc::new(NoApi))
        .await
        .err()
        .expect("refused");
    assert!(
        format!("{error:#}").starts_with("policy sets: policy settings are invalid: "),
        "{error:#}"
    );
}
