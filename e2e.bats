#!/usr/bin/env bats
# The policy in kwctl: `make kubewarden` runs this where kwctl is installed. Each test has the name of a review in
# e2e-tests/reviews, from which test_data/ is made; test_data/sessions/ has the answers of the cluster. `make check`
# compares both, and checks that the native code answers each command as it is expected here.

setup() {
  cd "$BATS_TEST_DIRNAME" || exit
}

@test "an image is changed" {
  run kwctl run -r test_data/an-image-is-changed.json --settings-json '{}' policy.wasm
  echo "output = ${output}"
  [ "$status" -eq 0 ]
  [[ "$output" == *'"allowed":true'* ]]
  [[ "$output" != *'"patchType":"JSONPatch"'* ]]
}

@test "a template grows" {
  run kwctl run --allow-context-aware -r test_data/a-template-grows.json --settings-json '{}' \
    --replay-host-capabilities-interactions test_data/sessions/a-template-grows.yml policy.wasm
  echo "output = ${output}"
  [ "$status" -eq 0 ]
  [[ "$output" == *'"allowed":true'* ]]
  [[ "$output" == *'"patchType":"JSONPatch"'* ]]
  [[ "$output" == *'"revision":"2nmsvndgxd"'* ]]
  [[ "$output" == *'staged data 1Gi -> 3Gi; 3 PVCs will be updated in place'* ]]
}

@test "a template grows where templates are mutable" {
  run kwctl run --allow-context-aware -r test_data/a-template-grows-where-templates-are-mutable.json \
    --settings-json '{"mode": "ValidateOnly"}' \
    --replay-host-capabilities-interactions test_data/sessions/a-template-grows-where-templates-are-mutable.yml policy.wasm
  echo "output = ${output}"
  [ "$status" -eq 0 ]
  [[ "$output" == *'"allowed":true'* ]]
  [[ "$output" != *'"patchType":"JSONPatch"'* ]]
}

@test "a template grows in a class that does not expand" {
  run kwctl run --allow-context-aware -r test_data/a-template-grows-in-a-class-that-does-not-expand.json \
    --settings-json '{"pvcChecks": "Deny"}' \
    --replay-host-capabilities-interactions test_data/sessions/a-template-grows-in-a-class-that-does-not-expand.yml policy.wasm
  echo "output = ${output}"
  [ "$status" -eq 0 ]
  [[ "$output" == *'"allowed":false'* ]]
  [[ "$output" == *'"code":403'* ]]
  [[ "$output" == *'storage class expandable does not have allowVolumeExpansion: true'* ]]
}

@test "a template shrinks" {
  run kwctl run -r test_data/a-template-shrinks.json --settings-json '{}' policy.wasm
  echo "output = ${output}"
  [ "$status" -eq 0 ]
  [[ "$output" == *'"allowed":false'* ]]
  [[ "$output" == *'spec.volumeClaimTemplates[data].spec.resources.requests.storage: cannot shrink'* ]]
}

@test "a user may not patch claims" {
  run kwctl run --allow-context-aware -r test_data/a-user-may-not-patch-claims.json --settings-json '{}' \
    --replay-host-capabilities-interactions test_data/sessions/a-user-may-not-patch-claims.yml policy.wasm
  echo "output = ${output}"
  [ "$status" -eq 0 ]
  [[ "$output" == *'"allowed":false'* ]]
  [[ "$output" == *'user sam cannot patch persistentvolumeclaims in namespace shop'* ]]
}

@test "a staged change is withdrawn" {
  run kwctl run -r test_data/a-staged-change-is-withdrawn.json --settings-json '{}' policy.wasm
  echo "output = ${output}"
  [ "$status" -eq 0 ]
  [[ "$output" == *'"allowed":true'* ]]
  [[ "$output" == *'"patchType":"JSONPatch"'* ]]
  [[ "$output" == *'"withdrawn":"2nmsvndgxd"'* ]]
}

@test "a claim is created for a staged change" {
  run kwctl run --allow-context-aware -r test_data/a-claim-is-created-for-a-staged-change.json --settings-json '{}' \
    --replay-host-capabilities-interactions test_data/sessions/a-claim-is-created-for-a-staged-change.yml policy.wasm
  echo "output = ${output}"
  [ "$status" -eq 0 ]
  [[ "$output" == *'"allowed":true'* ]]
  [[ "$output" == *'"patchType":"JSONPatch"'* ]]
}

@test "a Pod is replaced whose claims are not ready" {
  run kwctl run --allow-context-aware -r test_data/a-Pod-is-replaced-whose-claims-are-not-ready.json --settings-json '{}' \
    --replay-host-capabilities-interactions test_data/sessions/a-Pod-is-replaced-whose-claims-are-not-ready.yml policy.wasm
  echo "output = ${output}"
  [ "$status" -eq 0 ]
  [[ "$output" == *'"allowed":false'* ]]
  [[ "$output" == *'data-web-2 is Expanding'* ]]
}

@test "a review under invalid settings" {
  run kwctl run -r test_data/a-review-under-invalid-settings.json \
    --settings-json '{"authority": 1, "mode": "Sideways"}' policy.wasm
  echo "output = ${output}"
  [ "$status" -ne 0 ]
  [[ "$output" == *'authority: expected one of RequirePatchOnPVCs, TrustSetEditors'* ]]
  [[ "$output" == *'mode: expected one of Stage, ValidateOnly'* ]]
}

@test "the usage is shown" {
  run kwctl inspect -o yaml policy.wasm
  echo "output = ${output}"
  [ "$status" -eq 0 ]
  [[ "$output" == *'io.kubewarden.policy.usage'* ]]
  [[ "$output" == *'Access to Kubernetes resources'* ]]
}
