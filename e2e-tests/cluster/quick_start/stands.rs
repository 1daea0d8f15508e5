//! The commands that cannot be run here as the document shows them, what is done instead, and why. All others are typed
//! word for word.

/// A command of the document, word for word.
pub(crate) struct StandIn {
    pub(crate) typed: &'static str,
    pub(crate) how: Handling,
    pub(crate) why: &'static str,
}

/// The handling of a command.
#[derive(Clone, Copy)]
pub(crate) enum Handling {
    /// Not run. This is done instead, and nothing is printed.
    Instead(Action),
    /// Run, and then this is done.
    And(Action),
    /// This command is run instead, and then this is done.
    As(&'static str, Action),
    /// Run again and again until the output is that of the document: the first volume grows. Then volumes may grow.
    Until,
}

/// The action in place of a command.
#[derive(Clone, Copy)]
pub(crate) enum Action {
    Nothing,
    /// Links the binary of this test to the path of the plugin.
    LinkThePlugin,
    /// Copies this tree into the folder of the user.
    CopyTheTree,
    /// Links the binary of this test to the path where `make push-image` builds it.
    LinkTheBinary,
    /// Runs the controller beside the cluster, under the ServiceAccount of its Deployment, and does what Kubewarden
    /// makes of the policy objects.
    BesideKubewarden,
    /// Runs the same controller, and the webhook under its own ServiceAccount, with the API server led to it.
    BesideTheWebhook,
}

const NO_KUBELET: &str = "nothing pulls an image here, so the Pods of the Deployments are only reported as running";

/// The table. `TREE` is this tree, and `DIST` the folder with the manifests that are made from it.
pub(crate) const STAND_INS: [StandIn; 9] = [
    StandIn {
        typed: "curl -fsSL https://github.com/claim-rollout/claim-rollout/releases/latest/download/claim-rollout-linux-amd64.tar.gz | \\
    tar -xz -C ~/.local/bin kubectl-claim_rollout",
        how: Handling::Instead(Action::LinkThePlugin),
        why: "the binary of this tree is tried, not the one that was published last",
    },
    StandIn {
        typed: "helm install claim-rollout oci://ghcr.io/claim-rollout/charts/claim-rollout \\
    --namespace claim-rollout --create-namespace",
        how: Handling::As(
            "helm install claim-rollout TREE/charts/claim-rollout --namespace claim-rollout --create-namespace",
            Action::BesideKubewarden,
        ),
        why: "the chart of this tree is tried; `make release-dry-run` installs it from a registry",
    },
    StandIn {
        typed: "kubectl apply -f https://github.com/claim-rollout/claim-rollout/releases/latest/download/install-kubewarden.yaml",
        how: Handling::As(
            "kubectl apply -f DIST/install-kubewarden.yaml",
            Action::BesideKubewarden,
        ),
        why: "the same",
    },
    StandIn {
        typed: "kubectl apply -f https://github.com/claim-rollout/claim-rollout/releases/latest/download/install-builtin.yaml",
        how: Handling::As("kubectl apply -f DIST/install-builtin.yaml", Action::BesideTheWebhook),
        why: "the same",
    },
    StandIn {
        typed: "git clone https://github.com/claim-rollout/claim-rollout && cd claim-rollout",
        how: Handling::Instead(Action::CopyTheTree),
        why: "it is this tree that is tried, not the one that was published last",
    },
    StandIn {
        typed: "make push REF=registry.example.com/team/policy:v0.1.0",
        how: Handling::Instead(Action::Nothing),
        why: "there is no registry here; `make oci-test` pushes the policy to one, and pulls it again",
    },
    StandIn {
        typed: "make push-image REF=registry.example.com/team/claim-rollout:0.1.0",
        how: Handling::Instead(Action::LinkTheBinary),
        why: "the same; the binary that it would build first is the one that is tested",
    },
    StandIn {
        typed: "kubectl apply -k deploy",
        how: Handling::And(Action::BesideKubewarden),
        why: NO_KUBELET,
    },
    StandIn {
        typed: "kubectl claim-rollout status web",
        how: Handling::Until,
        why: "a user types it in the seconds in which the first volume grows",
    },
];
