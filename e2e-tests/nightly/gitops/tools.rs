//! The requests and comparisons of each tool: the rows of the table in `docs/dev/gitops.md`.

use std::collections::BTreeSet;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;

use anyhow::{Context as _, bail, ensure};
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use super::comparers::{ArgoOptions, TEMPLATES, argo_cd, helm_release, kustomization};
use super::opentofu::{KUBECTL, KUBECTL_SERVER_SIDE, MANIFEST, Resource};
use super::others::diff_of_inputs;
use super::paths::{differences, without};
use crate::world::namespace::TestNamespace;

/// A row: the tool, its namespace in the test, and its methods.
pub(crate) struct Tool {
    /// The first cell.
    pub(crate) name: &'static str,
    pub(crate) namespace: &'static str,
    pub(crate) sync: Sync,
    compare: Compare,
}

/// The request that applies the manifest, with its field manager.
#[derive(Clone, Copy)]
pub(crate) enum Sync {
    /// `kubectl apply`, which Argo CD also calls.
    ClientSide(&'static str),
    /// Server-side apply; `force` takes over fields of other managers.
    ServerSide { manager: &'static str, force: bool },
    /// `tofu apply`.
    OpenTofu(&'static Resource),
}

/// The comparison of the tool.
enum Compare {
    KubectlDiff,
    ArgoCd(ArgoOptions),
    Kustomization,
    HelmRelease,
    Plan,
    Inputs,
}

const ARGO: &str = "argocd-controller";
/// The default: the manifest, what was applied last, and the live object.
const THREE_WAY: ArgoOptions = ArgoOptions {
    server_side_diff: false,
    webhooks: false,
    ignored: &[],
};
const SERVER_SIDE_DIFF: ArgoOptions = ArgoOptions {
    server_side_diff: true,
    webhooks: true,
    ignored: &[],
};
const ARGO_SERVER_SIDE: Sync = forced(ARGO);

/// A server-side apply that takes over fields of other managers.
pub(super) const fn forced(manager: &'static str) -> Sync {
    Sync::ServerSide { manager, force: true }
}

/// A server-side apply that fails if fields of other managers differ.
pub(super) const fn server_side(manager: &'static str) -> Sync {
    Sync::ServerSide { manager, force: false }
}

pub(crate) const TOOLS: [Tool; 13] = [
    Tool {
        name: "`kubectl diff`, `kubectl apply`",
        namespace: "kubectl",
        sync: Sync::ClientSide("kubectl-client-side-apply"),
        compare: Compare::KubectlDiff,
    },
    Tool {
        name: "the same with `--server-side`",
        namespace: "kubectl-server-side",
        sync: server_side("kubectl"),
        compare: Compare::KubectlDiff,
    },
    Tool {
        name: "Flux, Kustomization",
        namespace: "flux",
        sync: forced("kustomize-controller"),
        compare: Compare::Kustomization,
    },
    Tool {
        name: "Flux, HelmRelease with drift detection",
        namespace: "flux-helm",
        sync: forced("helm-controller"),
        compare: Compare::HelmRelease,
    },
    Tool {
        name: "Argo CD",
        namespace: "argo",
        sync: Sync::ClientSide(ARGO),
        compare: Compare::ArgoCd(THREE_WAY),
    },
    Tool {
        name: "Argo CD, `ServerSideDiff=true,IncludeMutationWebhook=true`",
        namespace: "argo-server-side-diff",
        sync: Sync::ClientSide(ARGO),
        compare: Compare::ArgoCd(SERVER_SIDE_DIFF),
    },
    Tool {
        name: "the same with `ServerSideApply=true`",
        namespace: "argo-server-side",
        sync: ARGO_SERVER_SIDE,
        compare: Compare::ArgoCd(SERVER_SIDE_DIFF),
    },
    Tool {
        name: "Argo CD, `ServerSideDiff=true` alone",
        namespace: "argo-without-webhooks",
        sync: ARGO_SERVER_SIDE,
        compare: Compare::ArgoCd(ArgoOptions {
            webhooks: false,
            ..SERVER_SIDE_DIFF
        }),
    },
    Tool {
        name: "Argo CD, templates in `ignoreDifferences`",
        namespace: "argo-ignoring",
        sync: Sync::ClientSide(ARGO),
        compare: Compare::ArgoCd(ArgoOptions {
            ignored: &[TEMPLATES],
            ..THREE_WAY
        }),
    },
    Tool {
        name: "OpenTofu, `kubernetes_manifest`",
        namespace: "tofu-manifest",
        sync: Sync::OpenTofu(&MANIFEST),
        compare: Compare::Plan,
    },
    Tool {
        name: "OpenTofu, `kubectl_manifest`",
        namespace: "tofu-kubectl",
        sync: Sync::OpenTofu(&KUBECTL),
        compare: Compare::Plan,
    },
    Tool {
        name: "the same with `server_side_apply = true`",
        namespace: "tofu-kubectl-server-side",
        sync: Sync::OpenTofu(&KUBECTL_SERVER_SIDE),
        compare: Compare::Plan,
    },
    Tool {
        name: "Pulumi",
        namespace: "pulumi",
        sync: server_side("pulumi-kubernetes-1a2b3c4d"),
        compare: Compare::Inputs,
    },
];

impl Sync {
    pub(super) fn manager(self) -> &'static str {
        match self {
            Self::ClientSide(manager) | Self::ServerSide { manager, .. } => manager,
            Self::OpenTofu(resource) => resource.manager,
        }
    }

    /// Whether it is a server-side apply.
    pub(super) fn is_server_side(self) -> bool {
        match self {
            Self::ClientSide(_) => false,
            Self::ServerSide { .. } => true,
            Self::OpenTofu(resource) => resource.is_server_side(),
        }
    }

    /// Whether a sync also applies the annotations that the tool has read, and so owns them from then on.
    pub(super) fn owns_what_it_has_read(self) -> bool {
        matches!(self, Self::OpenTofu(resource) if resource.plans_the_object())
    }

    /// Sends the request, and returns the StatefulSet.
    pub(crate) async fn send(self, ns: &TestNamespace<'_>, manifest: &Value) -> anyhow::Result<Value> {
        match self {
            Self::ClientSide(manager) => {
                let manager = format!("--field-manager={manager}");
                let arguments = ["apply", &manager, "-o", "json", "-f", "-"];
                let output = ns.done(&arguments, manifest).await?;
                Ok(serde_json::from_str(&output.stdout)?)
            }
            Self::ServerSide { manager, force } => apply(ns, manifest, manager, force).await,
            Self::OpenTofu(resource) => resource.sync(ns, manifest).await,
        }
    }
}

/// Server-side apply.
async fn apply(ns: &TestNamespace<'_>, manifest: &Value, manager: &str, force: bool) -> anyhow::Result<Value> {
    let params = PatchParams {
        force,
        ..PatchParams::apply(manager)
    };
    let sets = ns.api("apps", "v1", "StatefulSet");
    let set = sets.patch("web", &params, &Patch::Apply(manifest)).await?;
    Ok(serde_json::to_value(set)?)
}

impl Tool {
    /// What the tool shows for a field that somebody changed in the cluster: some show a fingerprint.
    pub(super) fn shows_of(&self, field: &'static str) -> &'static str {
        match self.sync {
            Sync::OpenTofu(resource) if !resource.shows_fields() => "yaml_incluster",
            _ => field,
        }
    }

    /// What the tool shows once if the object is another one of the same name.
    pub(crate) fn shows_of_another_object(&self) -> &'static [&'static str] {
        match self.sync {
            Sync::OpenTofu(resource) if !resource.shows_fields() => &["uid"],
            _ => &[],
        }
    }

    /// The paths at which the tool shows a difference between this manifest and the cluster. `last` is the manifest of
    /// the last sync.
    pub(crate) async fn shows(
        &self,
        ns: &TestNamespace<'_>,
        last: &Value,
        manifest: &Value,
    ) -> anyhow::Result<BTreeSet<String>> {
        let live = ns.set().await?;
        let in_namespace = || {
            let mut object = manifest.clone();
            object["metadata"]["namespace"] = ns.namespace.clone().into();
            object
        };
        Ok(match self.compare {
            Compare::KubectlDiff => {
                // kubectl reads the object and sends the dry run. Controllers may write the status between the two.
                let mut shown = self.kubectl_diff(ns, manifest).await?;
                for _ in 0..5 {
                    if !shown.iter().any(|path| path.starts_with("status.")) {
                        break;
                    }
                    shown = self.kubectl_diff(ns, manifest).await?;
                }
                shown
            }
            Compare::ArgoCd(options) => argo_cd(ns.cluster, &in_namespace(), &live, options).await?,
            Compare::Kustomization => kustomization(ns.cluster, &in_namespace()).await?,
            Compare::HelmRelease => helm_release(ns.cluster, &in_namespace()).await?,
            Compare::Plan => {
                let Sync::OpenTofu(resource) = self.sync else {
                    bail!("not OpenTofu");
                };
                let plan = resource.plan(ns, manifest).await?;
                ensure!(plan.actions != json!(["delete", "create"]), "{plan:?}");
                plan.changes
            }
            Compare::Inputs => diff_of_inputs(last, manifest, &live),
        })
    }

    /// The difference between the two objects that `kubectl diff` writes into folders for `diff`; here they are
    /// printed.
    async fn kubectl_diff(&self, ns: &TestNamespace<'_>, manifest: &Value) -> anyhow::Result<BTreeSet<String>> {
        let way = match self.sync {
            Sync::ClientSide(_) => &["--server-side=false"][..],
            _ => &["--server-side", "--force-conflicts"],
        };
        let arguments = [&["diff", "-f", "-", "--namespace", &ns.namespace], way].concat();
        let print = ns.cluster.folder().join(format!("print-{}", ns.namespace));
        std::fs::write(
            &print,
            "#!/bin/sh\ncmp -s \"$1\"/* \"$2\"/* && exit 0\ncat \"$1\"/*\necho ---\ncat \"$2\"/*\nexit 1\n",
        )?;
        std::fs::set_permissions(&print, Permissions::from_mode(0o755))?;
        let print = print.to_string_lossy();
        let environment = [("KUBECTL_EXTERNAL_DIFF", &*print)];
        let output = ns
            .cluster
            .run("kubectl", &arguments, &environment, &manifest.to_string())
            .await?;
        if output.code == Some(0) {
            ensure!(output.stdout.is_empty(), "{output:?}");
            return Ok(BTreeSet::new());
        }
        let two = output.stdout.split_once("\n---\n");
        let (live, merged) = two.with_context(|| format!("{output:?}"))?;
        let [live, merged] = [live, merged].map(serde_saphyr::from_str::<Value>);
        let (live, merged) = (live?, merged?);
        let left_out = ["/metadata/resourceVersion"];
        Ok(differences(&without(&merged, &left_out), &without(&live, &left_out)))
    }
}
