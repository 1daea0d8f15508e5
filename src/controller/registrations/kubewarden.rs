//! The names that Kubewarden gives to the webhooks of policies.

/// The end of each name.
const SUFFIX: &str = ".kubewarden.admission";
/// What the names begin with of the webhooks for policies of the whole cluster.
const OF_CLUSTER: &str = "clusterwide-";
/// The same for policies of one namespace.
const OF_NAMESPACE: &str = "namespaced-";

/// The policy that a webhook of Kubewarden calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WebhookPolicy<'a> {
    /// The ClusterAdmissionPolicy of this name.
    OfCluster(&'a str),
    /// An AdmissionPolicy: tenants register these.
    OfNamespace,
}

/// The policy that the webhook of this name calls; none if it is no webhook of Kubewarden.
pub(crate) fn policy_of(webhook: &str) -> Option<WebhookPolicy<'_>> {
    let name = webhook.strip_suffix(SUFFIX)?;
    Some(if name.starts_with(OF_NAMESPACE) {
        WebhookPolicy::OfNamespace
    } else {
        WebhookPolicy::OfCluster(name.strip_prefix(OF_CLUSTER).unwrap_or(name))
    })
}

#[cfg(test)]
mod tests {
    use super::{WebhookPolicy, policy_of};

    #[test]
    fn webhook_of_kubewarden_names_its_policy() {
        for (webhook, expected) in [
            (
                "clusterwide-volumes.kubewarden.admission",
                Some(WebhookPolicy::OfCluster("volumes")),
            ),
            (
                "volumes.kubewarden.admission",
                Some(WebhookPolicy::OfCluster("volumes")),
            ),
            (
                "namespaced-a-volumes.kubewarden.admission",
                Some(WebhookPolicy::OfNamespace),
            ),
            ("claim-rollout.claim-rollout.io", None),
            ("clusterwide-volumes", None),
        ] {
            assert_eq!(policy_of(webhook), expected, "{webhook}");
        }
    }
}
