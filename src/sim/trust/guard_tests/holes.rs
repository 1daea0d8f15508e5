//! The guard with a hole. Each hole is noticed by a row, or by the check of the bindings.

use serde_json::Value;

use super::super::guard::{self, CelGuard};
use super::rows::wrong;

/// The hole, the manifest, and its text without and with the hole.
type Hole = (&'static str, &'static str, &'static str, &'static str);

const HOLES: [Hole; 31] = [
    ("the right to read PVCs is enough", "staged.yaml", "claims.check('patch')", "claims.check('get')"),
    ("the right in one namespace is enough", "staged.yaml", "resource('persistentvolumeclaims').namespace(request.namespace)", "resource('persistentvolumeclaims').namespace('shop')"),
    ("the right on Pods is enough", "staged.yaml", "resource('persistentvolumeclaims')", "resource('pods')"),
    ("a removed update policy leaves PVCs alone", "staged.yaml", "update-policy'].orValue('') in ['OnClaimDelete'", "update-policy'].orValue('OnDelete') in ['OnClaimDelete'"),
    ("ReCreate needs no deletion of PVCs", "staged.yaml", "(variables.claims.check('delete').allowed() && ", "(true && "),
    ("ReCreate needs no eviction", "staged.yaml", "&& variables.evictions.check('create').allowed()", "&& true"),
    ("ReCreate needs to create Pods", "staged.yaml", ".subresource('eviction')", ""),
    ("ReCreate needs to patch evictions", "staged.yaml", "evictions.check('create')", "evictions.check('patch')"),
    ("ReCreate by the annotation is not seen", "staged.yaml", "== 'ReCreate' :", "== 'Recreate' :"),
    ("ReCreate in the staged change is not seen", "staged.yaml", "['ReCreate', ", "["),
    ("ReCreate in another spelling is not seen", "staged.yaml", "['ReCreate', '\\\\u']", "['\"updatePolicy\":\"ReCreate\"']"),
    ("a replacement needs no deletion", "staged.yaml", "(variables.sets.check('delete').allowed() && ", "(true && "),
    ("a replacement needs no creation", "staged.yaml", "&& variables.sets.check('create').allowed()", "&& true"),
    ("replace-set may be set", "staged.yaml", "(variables.was[?'claim-rollout.io/replace-set'].orValue('') != 'WhenComplete' || ", "("),
    ("the owner of a replaced set may go", "staged.yaml", "!= 'WhenComplete' || variables.losesOwner)", "!= 'WhenComplete')"),
    ("a replaced set may get a staged change", "staged.yaml", " || (variables.isReplaced && variables.rollsOut)", ""),
    ("phase is written through the status", "staged.yaml", "'paused', 'phase', ", "'paused', "),
    ("ready is written through the status", "staged.yaml", "'progress-deadline', 'ready', ", "'progress-deadline', "),
    ("update-policy is written through the status", "staged.yaml", "'sync', 'update-policy', ", "'sync', "),
    ("recreate-snapshot is written through the status", "staged.yaml", ", 'recreate-snapshot',", ","),
    ("restart is written through the status", "staged.yaml", "'replace-set', 'restart', ", "'replace-set', "),
    ("max-in-motion is written through the status", "staged.yaml", "['max-in-motion', ", "["),
    ("a CREATE is not asked about", "staged.yaml", "operations: [CREATE, UPDATE]", "operations: [UPDATE]"),
    ("many owners hide the loss of one", "staged.yaml", "references.size() > 100", "references.size() > 1000"),
    ("a replaced set is deleted", "replacing.yaml", "operations: [CREATE, UPDATE, DELETE]", "operations: [CREATE, UPDATE]"),
    ("the controller deletes PVCs without their uid", "controller.yaml", "request.?options.?preconditions.?uid.orValue('') == variables.metadata[0].uid", "true"),
    ("the controller deletes PVCs without a mark", "controller.yaml", "variables.annotations.all(one, 'claim-rollout.io/recreated-for' in one)", "true"),
    ("the controller moves PVCs to other volumes", "controller.yaml", "key in ['resources', 'volumeAttributesClassName']", "key in ['resources', 'volumeAttributesClassName', 'volumeName']"),
    ("the controller writes annotations of users", "controller.yaml", "key in ['claim-rollout.io/phase',\n        'claim-rollout.io/ready', 'claim-rollout.io/staged', 'claim-rollout.io/staged-at']", "key.startsWith('claim-rollout.io/')"),
    ("a binding only warns", "staged.yaml", "validationActions: [Deny]", "validationActions: [Warn]"),
    ("a binding only audits", "controller.yaml", "validationActions: [Deny]", "validationActions: [Audit]"),
];

/// The policies without a binding that denies.
pub(super) fn unbound(files: &[(&str, &str)]) -> Vec<String> {
    let objects = files.iter().flat_map(|(file, text)| {
        let objects: Vec<Value> = serde_saphyr::from_multiple(text).expect(file);
        objects
    });
    let (policies, others): (Vec<Value>, Vec<Value>) =
        objects.partition(|object| object["kind"] == "ValidatingAdmissionPolicy");
    let is_bound = |policy: &Value| {
        others.iter().any(|binding| {
            binding["kind"] == "ValidatingAdmissionPolicyBinding"
                && binding["spec"]["policyName"] == policy["metadata"]["name"]
                && binding["spec"]["validationActions"] == serde_json::json!(["Deny"])
                && binding["spec"]["matchResources"].is_null()
        })
    };
    let names = policies.iter().filter(|policy| !is_bound(policy));
    names.map(|policy| policy["metadata"]["name"].to_string()).collect()
}

#[test]
fn every_hole_of_the_guard_is_noticed() {
    let mut unnoticed = Vec::new();
    for (what, file, without, with) in HOLES {
        let holed = guard::MANIFESTS.map(|(name, text)| {
            let text = if name == file {
                text.replacen(without, with, 1)
            } else {
                text.to_owned()
            };
            (name, text)
        });
        assert!(
            guard::MANIFESTS
                .iter()
                .zip(&holed)
                .any(|((_, before), (_, after))| before != after),
            "{what}: {file} has no {without}"
        );
        let files: Vec<(&str, &str)> = holed.iter().map(|(name, text)| (*name, &**text)).collect();
        let guard = CelGuard::of(&guard::manifests_of(&files).expect(what)).expect(what);
        if unbound(&files).is_empty() && wrong(&guard).is_empty() {
            unnoticed.push(what);
        }
    }
    assert_eq!(unnoticed, [""; 0]);
}
