//! Checks that the guard is installed, that it denies, and that it knows the account of the controller.

use serde_json::Value;

use super::cel;
use super::deployed::Deployed;
use super::finding::{Finding, Fix, OPENKRUISE};
use super::rights::{Account, OURS};
use crate::claims::class::Known;

/// The policies of the guard, and the manifests that contain them and their bindings.
const POLICIES: [(&str, &str); 5] = [
    ("claim-rollout-staged", "deploy/guard/staged.yaml"),
    ("claim-rollout-replacing", "deploy/guard/replacing.yaml"),
    (FAILS_OPEN, "deploy/guard/replacing.yaml"),
    ("claim-rollout-controller-statefulsets", "deploy/guard/controller.yaml"),
    (
        "claim-rollout-controller-persistentvolumeclaims",
        "deploy/guard/controller.yaml",
    ),
];

/// The policy for OpenKruise's StatefulSets, which is needed where their PVCs are updated. It names no account.
const OF_OPENKRUISE: (&str, &str) = ("claim-rollout-openkruise", OPENKRUISE);

/// The policy that has `failurePolicy: Ignore`: it reads ClaimRollouts, whose definition may be missing.
const FAILS_OPEN: &str = "claim-rollout-creating";

/// The fields of a ValidatingAdmissionPolicy of the guard that the checks read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct GuardPolicy {
    /// The name of the policy in the manifests.
    pub(crate) part: &'static str,
    /// The name of the policy in the cluster: in an installation for one namespace it ends with the namespace.
    pub(crate) name: String,
    /// `failurePolicy: Fail`.
    pub(crate) fails_closed: bool,
    /// A binding has `validationActions: [Deny]`.
    pub(crate) denies: bool,
    /// The expressions of `matchConditions`, which name the accounts.
    pub(crate) conditions: String,
}

impl GuardPolicy {
    /// The policies of the guard among all policies and bindings of a cluster. `fullname` is what their names begin
    /// with, `sets` the namespace of an installation for one namespace.
    pub(super) fn list(policies: &[Value], bindings: &[Value], fullname: &str, sets: Option<&str>) -> Vec<Self> {
        let is_it = |part: &str, name: &str| {
            let part = named(part, fullname);
            name == part || sets.is_some_and(|sets| name == format!("{part}-{sets}"))
        };
        let parts = || POLICIES.iter().chain([&OF_OPENKRUISE]).map(|(part, _)| *part);
        let read = |policy: &Value| {
            let name = policy["metadata"]["name"].as_str()?;
            let part = parts().find(|part| is_it(part, name))?;
            Some(Self {
                part,
                name: name.to_owned(),
                // The default of the API.
                fails_closed: policy["spec"]["failurePolicy"] != "Ignore",
                denies: bindings.iter().any(|binding| denies(&binding["spec"], name)),
                conditions: cel::conditions(&policy["spec"]["matchConditions"]),
            })
        };
        policies.iter().filter_map(read).collect()
    }
}

/// The name of a part in an installation with this `fullnameOverride`.
fn named(part: &str, fullname: &str) -> String {
    part.replacen(OURS, fullname, 1)
}

/// True iff this is the `spec` of a binding of this policy that denies.
fn denies(binding: &Value, policy: &str) -> bool {
    let mut actions = binding["validationActions"].as_array().into_iter().flatten();
    binding["policyName"] == policy && actions.any(|action| action == "Deny")
}

/// Faults of the guard of an installation in the namespace `home`. `openkruise`: the guard must have the policy for
/// OpenKruise's StatefulSets. No guard at all is a choice; a part of the guard is a fault.
pub(super) fn judge(
    home: &str,
    deployed: &Deployed,
    openkruise: bool,
    guard: &Known<Vec<GuardPolicy>>,
) -> Vec<Finding> {
    let Known::Found(policies) = guard else {
        return Vec::new();
    };
    let account = deployed.user(Account::Controller, home);
    let policy = |part: &str| policies.iter().find(|policy| policy.part == part);
    if POLICIES.iter().all(|(part, _)| policy(part).is_none()) {
        let found = "none: only the policy protects staged changes";
        let finding = Finding::warning("validatingadmissionpolicies").but("the policies of the guard", found);
        return vec![finding.fix(Fix::restore("deploy/guard"))];
    }
    let of_policy = |(part, file): &(&str, &'static str)| match policy(part) {
        None => vec![missing(&named(part, deployed.fullname()), file)],
        Some(policy) => of_policy(file, policy, &account),
    };
    let openkruise = openkruise.then_some(&OF_OPENKRUISE);
    POLICIES.iter().chain(openkruise).flat_map(of_policy).collect()
}

fn missing(name: &str, file: &'static str) -> Finding {
    let none = "none, although other policies of the guard are installed";
    let finding = Finding::error(format!("validatingadmissionpolicy/{name}"));
    finding.but("this policy", none).fix(Fix::restore(file))
}

fn of_policy(file: &'static str, policy: &GuardPolicy, account: &str) -> Vec<Finding> {
    let error = |kind: &str| Finding::error(format!("{kind}/{}", policy.name));
    let (part, apply) = (policy.part, Fix::restore(file));
    let mut found = Vec::new();
    if !policy.denies {
        let none = "none: nothing is denied";
        let finding = error("validatingadmissionpolicybinding").but("a binding that denies", none);
        // An apply would add `Deny` to `Warn`, which exclude each other: the actions are a set.
        let first = format!(
            ", after kubectl delete validatingadmissionpolicybinding {} --ignore-not-found",
            policy.name
        );
        found.push(finding.fix(apply.clone().then(first)));
    }
    if !policy.fails_closed && part != FAILS_OPEN {
        let ignored = "Ignore: requests that cannot be evaluated are allowed";
        let finding = error("validatingadmissionpolicy").but("failurePolicy Fail", ignored);
        found.push(finding.fix(apply.clone()));
    }
    if part != OF_OPENKRUISE.0 && !cel::names(&policy.conditions, account) {
        let finding = error("validatingadmissionpolicy").but(
            format!("{account} in its matchConditions"),
            "other accounts: the guard does not recognize the controller",
        );
        found.push(finding.fix(apply.then(", with that account in its matchConditions")));
    }
    found
}

#[cfg(test)]
#[path = "guard_tests.rs"]
mod tests;
