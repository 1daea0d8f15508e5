//! Checks that the accounts of claim-rollout have the rights in the manifests.

use std::fmt;

use anyhow::Context as _;
use k8s_openapi::api::rbac::v1::{PolicyRule, RoleRef, Subject};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::Deserialize;

use super::finding::{Finding, Fix, OPENKRUISE, apply, chart_value};

/// What the names of all objects begin with, unless the chart has another `fullnameOverride`.
pub(super) const OURS: &str = "claim-rollout";

/// A service account of claim-rollout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Account {
    /// The account of `claim-rollout controller`.
    Controller,
    /// The same, where it replaces StatefulSets.
    Replacing,
    /// The same, where it deletes PVCs for the update policy `ReCreate`.
    ReCreating,
    /// The same, where it evicts Pods.
    Evicting,
    /// The same, where it updates PVCs of OpenKruise's StatefulSets.
    OpenKruise,
    /// The account of `claim-rollout webhook`.
    Webhook,
}

/// A policy-server of Kubewarden.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PolicyServer {
    /// The name of its PolicyServer.
    pub(crate) name: String,
    pub(crate) namespace: String,
    /// The name of its ServiceAccount.
    pub(crate) account: String,
}

/// One verb on one resource.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RbacRight {
    pub(crate) verb: String,
    pub(crate) group: String,
    pub(crate) resource: String,
    pub(crate) subresource: Option<String>,
    /// The name of the object, for a right on a single one.
    pub(crate) name: Option<String>,
    /// True if the right is needed only in the namespace of the installation.
    pub(crate) at_home: bool,
}

impl Account {
    /// The name of the account in the manifests.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Webhook => "claim-rollout-webhook",
            _ => "claim-rollout-controller",
        }
    }

    /// The manifest with its rights: the file, and its text.
    const fn manifest(self) -> (&'static str, &'static str) {
        match self {
            Self::Controller => (
                "deploy/controller/rbac.yaml",
                include_str!("../../../deploy/controller/rbac.yaml"),
            ),
            Self::Replacing => (
                "deploy/replace-sets.yaml",
                include_str!("../../../deploy/replace-sets.yaml"),
            ),
            Self::ReCreating => ("deploy/recreate.yaml", include_str!("../../../deploy/recreate.yaml")),
            Self::Evicting => (
                "deploy/evict-pods.yaml",
                include_str!("../../../deploy/evict-pods.yaml"),
            ),
            Self::OpenKruise => (OPENKRUISE, include_str!("../../../deploy/openkruise.yaml")),
            Self::Webhook => (
                "deploy/webhook/rbac.yaml",
                include_str!("../../../deploy/webhook/rbac.yaml"),
            ),
        }
    }

    /// The manifest with its rights, or the value of the chart that does the same.
    fn restore(self) -> Fix {
        let (file, _) = self.manifest();
        let restore = Fix::restore(file);
        match chart_value(file) {
            Some(value) => restore.by(format!("{}, or {value}=true in the chart", apply(file))),
            None => restore,
        }
    }

    /// The lacking rights that the account needs. Where another program renews the certificate, the webhook needs no
    /// right on the Secret and the webhook configurations.
    fn needs(self, lacking: &[RbacRight]) -> Vec<&RbacRight> {
        let of_certificates = |right: &RbacRight| right.is_of_certificates();
        let all = self == Self::Webhook
            && self.rights().is_ok_and(|rights| {
                let all = rights.iter().filter(|right| of_certificates(right));
                all.count() == lacking.iter().filter(|right| of_certificates(right)).count()
            });
        lacking
            .iter()
            .filter(|right| !(all && of_certificates(right)))
            .collect()
    }

    /// The rights that the manifest binds to the account.
    ///
    /// # Errors
    /// If the manifest is invalid; a test reads it.
    pub(crate) fn rights(self) -> anyhow::Result<Vec<RbacRight>> {
        let (file, text) = self.manifest();
        let objects: Vec<RbacObject> = serde_saphyr::from_multiple(text).context(file)?;
        let bound = |role: &RbacObject| {
            let mut bindings = objects
                .iter()
                .filter(|object| object.subjects.iter().any(|it| it.name == self.name()));
            bindings.any(|binding| {
                let to = binding.role_ref.as_ref();
                to.is_some_and(|to| to.kind == role.kind && Some(&to.name) == role.metadata.name.as_ref())
            })
        };
        let roles = objects
            .iter()
            .filter(|object| !object.rules.is_empty() && bound(object));
        let rights = roles.flat_map(|role| role.rules.iter().flat_map(|rule| rights(rule, role.kind == "Role")));
        Ok(rights.collect())
    }
}

/// The fields of an object of the manifest that are read.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RbacObject {
    kind: String,
    metadata: ObjectMeta,
    #[serde(default)]
    rules: Vec<PolicyRule>,
    role_ref: Option<RoleRef>,
    #[serde(default)]
    subjects: Vec<Subject>,
}

/// The rights that a rule gives.
fn rights(rule: &PolicyRule, at_home: bool) -> Vec<RbacRight> {
    let names = match rule.resource_names.as_deref() {
        None => vec![None],
        Some(names) => names.iter().map(Some).collect(),
    };
    let mut rights = Vec::new();
    for group in rule.api_groups.iter().flatten() {
        for path in rule.resources.iter().flatten() {
            let (resource, subresource) = match path.split_once('/') {
                Some((resource, subresource)) => (resource, Some(subresource.to_owned())),
                None => (path.as_str(), None),
            };
            for name in &names {
                rights.extend(rule.verbs.iter().map(|verb| RbacRight {
                    verb: verb.clone(),
                    group: group.clone(),
                    resource: resource.to_owned(),
                    subresource: subresource.clone(),
                    name: name.cloned(),
                    at_home,
                }));
            }
        }
    }
    rights
}

impl RbacRight {
    /// With the name of the object in an installation whose names begin with this. The name of the Lease is always the
    /// same.
    pub(super) fn rename(&mut self, fullname: &str) {
        if self.group != "coordination.k8s.io" {
            self.name = self.name.take().map(|name| name.replacen(OURS, fullname, 1));
        }
    }

    /// True iff the right serves to renew a certificate and to make API servers trust it.
    fn is_of_certificates(&self) -> bool {
        self.resource == "secrets" || self.group == "admissionregistration.k8s.io"
    }
}

impl fmt::Display for RbacRight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.verb, self.resource)?;
        if !self.group.is_empty() {
            write!(f, ".{}", self.group)?;
        }
        for part in self.subresource.iter().chain(&self.name) {
            write!(f, "/{part}")?;
        }
        Ok(())
    }
}

/// One finding for each account that lacks rights. `name` returns the name of the ServiceAccount in use.
pub(super) fn judge<'a>(
    namespace: &str,
    lacking: &[(Account, Vec<RbacRight>)],
    name: impl Fn(Account) -> &'a str,
) -> Vec<Finding> {
    let lacking = lacking.iter().map(|(account, rights)| (account, account.needs(rights)));
    let lacking = lacking.filter(|(_, rights)| !rights.is_empty());
    let finding = |(account, rights): (&Account, Vec<&RbacRight>)| {
        let rights: Vec<String> = rights.iter().map(|right| right.to_string()).collect();
        Finding::error(format!("serviceaccount/{namespace}/{}", name(*account)))
            .but(
                format!("the rights in {}", account.manifest().0),
                format!("no right to {}", rights.join(", ")),
            )
            .fix(account.restore())
    };
    lacking.map(finding).collect()
}

/// The rights that the policy needs on the account of its policy-server.
///
/// # Errors
/// If the manifest is invalid; a test reads it.
pub(super) fn of_policy_server() -> anyhow::Result<Vec<RbacRight>> {
    let objects: Vec<RbacObject> =
        serde_saphyr::from_multiple(include_str!("../../../deploy/policy-server-rbac.yaml"))?;
    let rules = objects.iter().flat_map(|object| &object.rules);
    Ok(rules.flat_map(|rule| rights(rule, false)).collect())
}

/// One finding for each policy-server whose account lacks rights.
pub(super) fn judge_policy_servers(lacking: &[(PolicyServer, Vec<RbacRight>)]) -> Vec<Finding> {
    let finding = |(server, rights): &(PolicyServer, Vec<RbacRight>)| {
        let rights: Vec<String> = rights.iter().map(RbacRight::to_string).collect();
        let subject = format!("serviceaccount/{}/{}", server.namespace, server.account);
        let fix = format!(
            "kubectl create clusterrolebinding claim-rollout-policy-server-{} --clusterrole=claim-rollout-policy-server \
             --serviceaccount={}:{}, after {}; in the chart, policy.policyServerAccount",
            server.name,
            server.namespace,
            server.account,
            apply("deploy/policy-server-rbac.yaml")
        );
        let expected = "the rights in deploy/policy-server-rbac.yaml: the policy runs with this account";
        Finding::error(subject)
            .but(expected, format!("no right to {}", rights.join(", ")))
            .fix(fix)
    };
    lacking
        .iter()
        .filter(|(_, rights)| !rights.is_empty())
        .map(finding)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{Account, RbacRight};

    #[test]
    fn rights_of_the_policy_server_are_in_its_manifest() {
        let rights = super::of_policy_server().expect("a manifest");
        let rights: Vec<String> = rights.iter().map(RbacRight::to_string).collect();
        let expected = [
            "get persistentvolumeclaims",
            "get storageclasses.storage.k8s.io",
            "get volumeattributesclasses.storage.k8s.io",
            "get statefulsets.apps",
            "create subjectaccessreviews.authorization.k8s.io",
        ];
        assert_eq!(rights, expected);
    }

    #[test]
    fn rights_match_the_bound_roles() {
        let rights = |account: Account| {
            let rights = account.rights().expect("a manifest");
            rights
                .iter()
                .map(|right| (right.to_string(), right.at_home))
                .collect::<Vec<_>>()
        };
        let controller = rights(Account::Controller);
        for (right, at_home) in [
            ("list statefulsets.apps", false),
            ("patch persistentvolumeclaims", false),
            ("patch claimrollouts.claim-rollout.io/status", false),
            // No request shows it: OpenShift asks for it where a ClaimRollout gets another owner.
            ("delete claimrollouts.claim-rollout.io", false),
            ("watch storageclasses.storage.k8s.io", false),
            ("create leases.coordination.k8s.io", true),
            ("get leases.coordination.k8s.io/claim-rollout-controller", true),
        ] {
            assert!(controller.contains(&(right.to_owned(), at_home)), "{right}");
        }
        let of_viewers = ("get claimrollouts.claim-rollout.io".to_owned(), false);
        assert!(!controller.contains(&of_viewers), "a role that is not bound to it");
        let replacing = rights(Account::Replacing);
        for (right, at_home) in [
            ("delete statefulsets.apps", false),
            ("get claimrollouts.claim-rollout.io", false),
            ("list secrets", true),
        ] {
            assert!(replacing.contains(&(right.to_owned(), at_home)), "{right}");
        }
        let recreating = rights(Account::ReCreating);
        let expected = [
            "delete persistentvolumeclaims",
            "create pods/eviction",
            "get volumesnapshots.snapshot.storage.k8s.io",
            "create volumesnapshots.snapshot.storage.k8s.io",
        ];
        assert_eq!(recreating, expected.map(|right| (right.to_owned(), false)));
        let evicting = rights(Account::Evicting);
        assert_eq!(evicting, [("create pods/eviction".to_owned(), false)]);
        let kruise = rights(Account::OpenKruise);
        let expected = ["get", "list", "watch"].map(|verb| (format!("{verb} statefulsets.apps.kruise.io"), false));
        assert_eq!(kruise, expected);
        let webhook = rights(Account::Webhook);
        assert!(webhook.contains(&("get secrets/claim-rollout-webhook".to_owned(), true)));
        assert!(webhook.contains(&("create subjectaccessreviews.authorization.k8s.io".to_owned(), false)));
    }

    #[test]
    fn rights_of_certificates_all_lacking_are_not_needed() {
        let all = Account::Webhook.rights().expect("a manifest");
        let of = |keep: fn(&RbacRight) -> bool| all.iter().filter(|right| keep(right)).cloned().collect::<Vec<_>>();
        let certificates = of(RbacRight::is_of_certificates);
        assert_eq!(
            certificates.len(),
            6,
            "get and update of a Secret and two configurations"
        );
        let needs = |lacking: &[RbacRight]| Account::Webhook.needs(lacking).len();
        assert_eq!(needs(&certificates), 0);
        assert_eq!(
            needs(&certificates[1..]),
            5,
            "some are granted, so the others are missing"
        );
        assert_eq!(needs(&all), all.len() - 6);
        assert_eq!(Account::Controller.needs(&certificates).len(), 6);
    }
}
