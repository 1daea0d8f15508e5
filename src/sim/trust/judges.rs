//! The policy and the guard, each perhaps with a hole.

use serde_json::Value;

use super::guard::{self, CelGuard};

/// A hole that was open once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hole {
    /// `statefulsets/status` is not checked.
    Status,
    /// The policy restores only the staged change of a StatefulSet that another controller owns. The guard ignores
    /// the removal of an owner.
    Owner,
    /// The guard lets others delete a StatefulSet that is being replaced, or change what is staged for it.
    Replacing,
    /// Of the rights that a request needs, only the one to patch PVCs is asked for.
    Rights,
}

/// The admission of bob's requests.
#[derive(Debug)]
pub(crate) struct Judges {
    pub(super) name: &'static str,
    /// `None` if the policy is not registered; else its hole, if it has one.
    pub(super) policy: Option<Option<Hole>>,
    /// `None` if the guard is not registered.
    pub(super) guard: Option<CelGuard>,
}

impl Judges {
    /// Only the policy.
    pub(crate) const fn policy(hole: Option<Hole>) -> Self {
        let (name, policy, guard) = ("policy", Some(hole), None);
        Self { name, policy, guard }
    }

    /// Only the guard.
    ///
    /// # Errors
    /// If the deployed manifests cannot be read.
    pub(crate) fn guard(hole: Option<Hole>) -> Result<Self, String> {
        let mut manifests = guard::manifests()?;
        let name = match hole {
            Some(Hole::Replacing) => "claim-rollout-replacing",
            _ => "claim-rollout-staged",
        };
        let spec = &mut manifests
            .iter_mut()
            .find(|policy| policy["metadata"]["name"] == name)
            .ok_or("expected the policy with the hole")?["spec"];
        match hole {
            None => {}
            Some(Hole::Status) => spec["matchConstraints"]["resourceRules"][0]["resources"] = "statefulsets".into(),
            Some(Hole::Replacing) => spec["validations"] = Value::Null,
            Some(Hole::Rights) => {
                let validations = spec["validations"].as_array_mut().into_iter().flatten();
                let others = |text: &str| text.contains(".check(") && !text.contains("'patch'");
                for validation in validations.filter(|one| one["expression"].as_str().is_some_and(others)) {
                    validation["expression"] = "true".into();
                }
            }
            Some(Hole::Owner) => {
                let variables = spec["variables"].as_array_mut().into_iter().flatten();
                for variable in variables.filter(|variable| variable["name"] == "losesOwner") {
                    variable["expression"] = "false".into();
                }
            }
        }
        let (name, policy, guard) = ("guard", None, Some(CelGuard::of(&manifests)?));
        Ok(Self { name, policy, guard })
    }

    /// The policy and the guard.
    ///
    /// # Errors
    /// As [`Judges::guard`].
    pub(crate) fn both(of_policy: Option<Hole>, of_guard: Option<Hole>) -> Result<Self, String> {
        let (name, policy, guard) = ("both", Some(of_policy), Self::guard(of_guard)?.guard);
        Ok(Self { name, policy, guard })
    }

    /// The reason why the guard denies, if it does.
    pub(super) fn guard_denies(&self, request: &Value, object: &Value, old: &Value) -> Option<String> {
        self.guard.as_ref()?.denial(request, object, old)
    }
}
