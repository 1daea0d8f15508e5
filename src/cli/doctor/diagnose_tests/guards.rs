//! What is wrong with the guard.

use super::installation::Row;
use super::{guard_openkruise, policies};

pub(super) const ROWS: &[Row] = &[
    (
        "no guard",
        |facts| policies(facts).clear(),
        "Warning validatingadmissionpolicies | none: only the policy protects staged changes",
        "kubectl apply --server-side --force-conflicts -k 'https://github.com/claim-rollout/claim-rollout/deploy/guard?ref=v",
    ),
    (
        "a policy of the guard is missing",
        |facts| drop(policies(facts).remove(1)),
        "Error validatingadmissionpolicy/claim-rollout-replacing | none, although other policies of the guard are installed",
        "kubectl apply --server-side --force-conflicts -f deploy/guard/replacing.yaml",
    ),
    (
        "the policy of the guard for OpenKruise is missing",
        |facts| facts.deployed.openkruise = true,
        "Error validatingadmissionpolicy/claim-rollout-openkruise | none, although other policies of the guard are installed",
        "kubectl apply --server-side --force-conflicts -f deploy/openkruise.yaml",
    ),
    (
        "the policy of the guard for OpenKruise is not bound",
        |facts| {
            guard_openkruise(facts);
            policies(facts)[5].denies = false;
        },
        "Error validatingadmissionpolicybinding/claim-rollout-openkruise | none: nothing is denied",
        "kubectl apply --server-side --force-conflicts -f deploy/openkruise.yaml",
    ),
    (
        "a policy of the guard that is not bound",
        |facts| policies(facts)[0].denies = false,
        "Error validatingadmissionpolicybinding/claim-rollout-staged | none: nothing is denied",
        "kubectl apply --server-side --force-conflicts -f deploy/guard/staged.yaml",
    ),
    (
        "a policy of the guard that fails open",
        |facts| policies(facts)[3].fails_closed = false,
        "Error validatingadmissionpolicy/claim-rollout-controller-statefulsets | Ignore: requests that cannot be evaluated are allowed",
        "kubectl apply --server-side --force-conflicts -f deploy/guard/controller.yaml",
    ),
    (
        "a policy of the guard for another account",
        |facts| policies(facts)[4].conditions = "['system:serviceaccount:other:claim-rollout-controller']".to_owned(),
        "Error validatingadmissionpolicy/claim-rollout-controller-persistentvolumeclaims | other accounts: the guard does not recognize the controller",
        "kubectl apply --server-side --force-conflicts -f deploy/guard/controller.yaml, with that account in its matchConditions",
    ),
];
