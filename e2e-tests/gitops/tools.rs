//! The requests and comparisons of each tool: the rows of the table in `docs/gitops.md`.

use std::collections::BTreeSet;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;

use anyhow::{Context as _, ensure};
use kube::api::{Api, ApiResource, DynamicObject, Patch, PatchParams};
use kube::core::GroupVersionKind;
use serde_json::Value;

use super::argo::{TEMPLATES, server_side_diff, three_way_diff};
use super::others::{diff_of_inputs, has_drifted, json_diff, plan};
use super::paths::{differences, without};
use crate::scenarios::namespace::TestNamespace;

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
}

/// The comparison of the tool.
enum Compare {
    KubectlDiff,
    ThreeWay { ignored: &'static [&'static str] },
    ServerSideDiff { webhooks: bool },
    HasDrifted,
    JsonDiff,
    Plan,
    Inputs,
}

const ARGO: &str = "argocd-controller";
const ARGO_SERVER_SIDE: Sync = Sync::ServerSide {
    manager: ARGO,
    force: true,
};

pub(super) const TERRAFORM: Sync = Sync::ServerSide {
    manager: "Terraform",
    force: false,
};

pub(crate) const TOOLS: [Tool; 11] = [
    Tool {
        name: "`kubectl diff`, `kubectl apply`",
        namespace: "kubectl",
        sync: Sync::ClientSide("kubectl-client-side-apply"),
        compare: Compare::KubectlDiff,
    },
    Tool {
        name: "the same with `--server-side`",
        namespace: "kubectl-server-side",
        sync: Sync::ServerSide {
            manager: "kubectl",
            force: false,
        },
        compare: Compare::KubectlDiff,
    },
    Tool {
        name: "Flux, Kustomization",
        namespace: "flux",
        sync: Sync::ServerSide {
            manager: "kustomize-controller",
            force: true,
        },
        compare: Compare::HasDrifted,
    },
    Tool {
        name: "Flux, HelmRelease with drift detection",
        namespace: "flux-helm",
        sync: Sync::ServerSide {
            manager: "helm-controller",
            force: true,
        },
        compare: Compare::JsonDiff,
    },
    Tool {
        name: "Argo CD",
        namespace: "argo",
        sync: Sync::ClientSide(ARGO),
        compare: Compare::ThreeWay { ignored: &[] },
    },
    Tool {
        name: "Argo CD, `ServerSideDiff=true,IncludeMutationWebhook=true`",
        namespace: "argo-server-side-diff",
        sync: Sync::ClientSide(ARGO),
        compare: Compare::ServerSideDiff { webhooks: true },
    },
    Tool {
        name: "the same with `ServerSideApply=true`",
        namespace: "argo-server-side",
        sync: ARGO_SERVER_SIDE,
        compare: Compare::ServerSideDiff { webhooks: true },
    },
    Tool {
        name: "Argo CD, `ServerSideDiff=true` alone",
        namespace: "argo-without-webhooks",
        sync: ARGO_SERVER_SIDE,
        compare: Compare::ServerSideDiff { webhooks: false },
    },
    Tool {
        name: "Argo CD, templates in `ignoreDifferences`",
        namespace: "argo-ignoring",
        sync: Sync::ClientSide(ARGO),
        compare: Compare::ThreeWay { ignored: &[TEMPLATES] },
    },
    Tool {
        name: "Terraform, `kubernetes_manifest`",
        namespace: "terraform",
        sync: TERRAFORM,
        compare: Compare::Plan,
    },
    Tool {
        name: "Pulumi",
        namespace: "pulumi",
        sync: Sync::ServerSide {
            manager: "pulumi-kubernetes-1a2b3c4d",
            force: false,
        },
        compare: Compare::Inputs,
    },
];

impl Sync {
    pub(super) fn manager(self) -> &'static str {
        match self {
            Self::ClientSide(manager) | Self::ServerSide { manager, .. } => manager,
        }
    }

    /// Sends the request, and returns the StatefulSet.
    pub(crate) async fn send(self, ns: &TestNamespace<'_>, manifest: &Value) -> anyhow::Result<Value> {
        match self {
            Self::ClientSide(manager) => {
                let manager = format!("--field-manager={manager}");
                let arguments = ["apply", &manager, "-o", "json", "-f", "-"];
                let output = ns.done(&arguments, &manifest.to_string()).await?;
                Ok(serde_json::from_str(&output.stdout)?)
            }
            Self::ServerSide { manager, force } => apply(ns, manifest, manager, force, false).await,
        }
    }
}

/// Server-side apply, or the answer to a dry run of it.
async fn apply(
    ns: &TestNamespace<'_>,
    manifest: &Value,
    manager: &str,
    force: bool,
    dry_run: bool,
) -> anyhow::Result<Value> {
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk("apps", "v1", "StatefulSet"));
    let api: Api<DynamicObject> = Api::namespaced_with(ns.client.clone(), &ns.namespace, &resource);
    let params = PatchParams {
        dry_run,
        force,
        ..PatchParams::apply(manager)
    };
    let set = api.patch("web", &params, &Patch::Apply(manifest)).await?;
    Ok(serde_json::to_value(set)?)
}

impl Tool {
    /// The paths at which the tool shows a difference between this manifest and the cluster. `last` is the manifest of
    /// the last sync.
    pub(crate) async fn shows(
        &self,
        ns: &TestNamespace<'_>,
        last: &Value,
        manifest: &Value,
    ) -> anyhow::Result<BTreeSet<String>> {
        let live = ns.set().await?;
        let dry_run = || apply(ns, manifest, self.sync.manager(), true, true);
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
            Compare::ThreeWay { ignored } => three_way_diff(manifest, &live, ignored)?,
            Compare::ServerSideDiff { webhooks } => {
                server_side_diff(&dry_run().await?, &live, self.sync.manager(), webhooks)
            }
            Compare::HasDrifted => has_drifted(&dry_run().await?, &live),
            Compare::JsonDiff => json_diff(&dry_run().await?, &live),
            Compare::Plan => plan(last, manifest, &live),
            Compare::Inputs => diff_of_inputs(last, manifest, &live),
        })
    }

    /// The difference between the two objects that `kubectl diff` writes into folders for `diff`; here they are
    /// printed.
    async fn kubectl_diff(&self, ns: &TestNamespace<'_>, manifest: &Value) -> anyhow::Result<BTreeSet<String>> {
        let way = match self.sync {
            Sync::ClientSide(_) => &["--server-side=false"][..],
            Sync::ServerSide { .. } => &["--server-side", "--force-conflicts"],
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
