//! The commands that cannot be run here as the document shows them, what is done instead, and why. All others are typed
//! word for word.

/// A command of the document, word for word.
pub(super) struct StandIn {
    pub(super) typed: &'static str,
    pub(super) how: Handling,
    pub(super) why: &'static str,
}

/// The handling of a command.
#[derive(Clone, Copy)]
pub(super) enum Handling {
    /// Not run. This is done instead, and nothing is printed.
    Instead(Action),
    /// Run, and then this is done.
    And(Action),
    /// Run again and again until the output is that of the document: a passing state.
    Until,
}

/// The action in place of a command.
#[derive(Clone, Copy)]
pub(super) enum Action {
    Nothing,
    /// Copies this tree into the folder of the user.
    CopyTheTree,
    /// Links the binary of this test to the path of a release build.
    LinkTheBinary,
    /// Runs the controller beside the cluster, under the ServiceAccount of its Deployment, and does what Kubewarden
    /// makes of the policy objects.
    BesideKubewarden,
    /// Runs the same controller, and the webhook under its own ServiceAccount, with the API server led to it.
    BesideTheWebhook,
}

const NO_KUBELET: &str = "nothing pulls an image here, so the Pods of the Deployments are only reported as running";

/// The table.
pub(super) const STAND_INS: [StandIn; 7] = [
    StandIn {
        typed: "git clone https://github.com/claim-rollout/claim-rollout && cd claim-rollout",
        how: Handling::Instead(Action::CopyTheTree),
        why: "it is this tree that is tried, not the one that was published last",
    },
    StandIn {
        typed: "make push REF=ghcr.io/claim-rollout/policy:v0.1.0",
        how: Handling::Instead(Action::Nothing),
        why: "there is no registry here; `make oci-test` pushes the policy to one, and pulls it again",
    },
    StandIn {
        typed: "make push-image REF=ghcr.io/claim-rollout/claim-rollout:0.1.0",
        how: Handling::Instead(Action::LinkTheBinary),
        why: "the same; the binary that it would build first is the one that is tested",
    },
    StandIn {
        typed: "kubectl apply -k deploy",
        how: Handling::And(Action::BesideKubewarden),
        why: NO_KUBELET,
    },
    StandIn {
        typed: "kubectl apply -k deploy/webhook",
        how: Handling::And(Action::BesideTheWebhook),
        why: NO_KUBELET,
    },
    StandIn {
        typed: "helm install claim-rollout charts/claim-rollout --namespace claim-rollout --create-namespace \\
    --set image.repository=ghcr.io/claim-rollout/claim-rollout \\
    --set policy.module=registry://ghcr.io/claim-rollout/policy:v0.1.0",
        how: Handling::And(Action::BesideKubewarden),
        why: NO_KUBELET,
    },
    StandIn {
        typed: "kubectl claim-rollout status web",
        how: Handling::Until,
        why: "a user types it in the seconds in which the first volume grows",
    },
];
