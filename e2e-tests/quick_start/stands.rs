//! What cannot be done here as the document says, what is done instead, and why. Everything else is typed as it stands there.

/// A command of the document, word for word.
pub(super) struct Stand {
    pub(super) typed: &'static str,
    pub(super) how: How,
    pub(super) why: &'static str,
}

/// How what is typed and what is done are related.
#[derive(Clone, Copy)]
pub(super) enum How {
    /// It is not typed. This is done, and nothing is printed.
    Instead(Deed),
    /// It is typed, and then this is done.
    And(Deed),
    /// It is typed again and again until it prints what the document shows: a moment that passes.
    Until,
}

/// What is done.
#[derive(Clone, Copy)]
pub(super) enum Deed {
    Nothing,
    /// The folder of the user gets what is in this tree.
    CopyTheTree,
    /// The binary of this test is where a release build would be.
    LinkTheBinary,
    /// The controller runs beside the cluster, under the ServiceAccount of its Deployment; what Kubewarden makes of the policy
    /// objects is made of them here.
    BesideKubewarden,
    /// The same controller, and the webhook under its own ServiceAccount, with the API server led to it.
    BesideTheWebhook,
}

const NO_KUBELET: &str = "nothing pulls an image here: that the Pods of the Deployments run is only said of them";

/// The table.
pub(super) const STANDS: [Stand; 7] = [
    Stand {
        typed: "git clone https://github.com/claim-rollout/claim-rollout && cd claim-rollout",
        how: How::Instead(Deed::CopyTheTree),
        why: "it is this tree that is tried, not the one that was published last",
    },
    Stand {
        typed: "make push REF=registry.example.com/claim-rollout/policy:v0.1.0",
        how: How::Instead(Deed::Nothing),
        why: "there is no registry here; `make oci-test` pushes the policy to one, and pulls it again",
    },
    Stand {
        typed: "make push-image REF=registry.example.com/claim-rollout/claim-rollout:0.1.0",
        how: How::Instead(Deed::LinkTheBinary),
        why: "the same; the binary that it would build first is the one that is tested",
    },
    Stand {
        typed: "kubectl apply -k deploy",
        how: How::And(Deed::BesideKubewarden),
        why: NO_KUBELET,
    },
    Stand {
        typed: "kubectl apply -k deploy/webhook",
        how: How::And(Deed::BesideTheWebhook),
        why: NO_KUBELET,
    },
    Stand {
        typed: "helm install claim-rollout charts/claim-rollout --namespace claim-rollout --create-namespace \\
    --set image.repository=registry.example.com/claim-rollout/claim-rollout \\
    --set policy.module=registry://registry.example.com/claim-rollout/policy:v0.1.0",
        how: How::And(Deed::BesideKubewarden),
        why: NO_KUBELET,
    },
    Stand {
        typed: "kubectl claim-rollout status web",
        how: How::Until,
        why: "a user types it in the seconds in which the first volume grows",
    },
];
