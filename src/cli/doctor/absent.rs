//! Checks whether claim-rollout is in the cluster at all.

use super::facts::InstallationFacts;
use super::finding::Finding;
use crate::claims::class::Known;

/// One finding in place of one for each missing part. None if a part is there, or if one cannot be read.
pub(super) fn judge(facts: &InstallationFacts) -> Option<Finding> {
    let deployed = &facts.deployed;
    let is_absent = matches!((&facts.definition, &facts.lease), (Known::Missing, Known::Missing))
        && matches!(&facts.webhooks, Known::Found(webhooks) if webhooks.is_empty())
        && matches!(&facts.guard, Known::Found(policies) if policies.is_empty())
        && deployed.controller.is_none()
        && deployed.webhook.is_none()
        && facts.policy_servers.is_empty()
        && facts.settings.is_empty();
    let admission = if deployed.kubewarden.is_some() {
        ""
    } else {
        " --set admission=builtin"
    };
    let fix = format!(
        "helm install claim-rollout oci://ghcr.io/claim-rollout/charts/claim-rollout -n {} --create-namespace{admission}, \
         or another way of https://github.com/claim-rollout/claim-rollout#install",
        facts.namespace
    );
    let finding = || {
        Finding::error("claim-rollout")
            .but("it to be installed", "no part of it in this cluster")
            .fix(fix)
    };
    is_absent.then(finding)
}
