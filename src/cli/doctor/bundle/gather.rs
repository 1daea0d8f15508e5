//! Reads what a bundle contains. What cannot be read is noted: a bundle is most needed where something is broken.

use k8s_openapi::api::core::v1::Pod;
use kube::api::{Api, ListParams, LogParams};
use serde_json::{Value, json};

use super::kinds::{BundleKind, OTHERS, PODS, Place, ROLLOUTS, SETS};
use super::scope::BundledSets;
use crate::cli::cluster;
use crate::cli::doctor::gather::Installation;
use crate::cli::lists::list;

/// The most lines and bytes of one log.
const LOG_LINES: i64 = 20_000;
const LOG_BYTES: i64 = 8 << 20;

/// The objects of one kind, or why they cannot be read.
pub(super) type ListedObjects = Result<Vec<Value>, String>;

/// What was read, as the API server sent it.
pub(super) struct Raw {
    pub(super) kinds: Vec<(&'static BundleKind, ListedObjects)>,
    pub(super) scope: BundledSets,
    pub(super) logs: Vec<RawLog>,
    /// The version of the API server, or why there is none.
    pub(super) server: String,
}

/// The log of one container.
pub(super) struct RawLog {
    pub(super) file: String,
    pub(super) text: Result<String, String>,
}

impl Installation {
    /// Reads everything for a bundle.
    pub(super) async fn raw(&self) -> Raw {
        let none = BundledSets::default();
        let rollouts = self.objects(&ROLLOUTS, &none).await;
        let sets = self.objects(&SETS, &none).await;
        let read = |listed: &ListedObjects| listed.clone().unwrap_or_default();
        let scope = BundledSets::of(&read(&sets), &read(&rollouts));
        let pods = self.objects(&PODS, &scope).await;
        let ours: Vec<Value> = read(&pods)
            .into_iter()
            .filter(|pod| (PODS.is_ours)(pod, &scope))
            .collect();
        let is_unknown = sets.is_err() && rollouts.is_err();
        let mut kinds = vec![(&SETS, sets), (&ROLLOUTS, rollouts)];
        for kind in &OTHERS {
            kinds.push(match kind.place {
                Place::OfSets if is_unknown => (kind, Err("no StatefulSet could be read".to_owned())),
                _ => (kind, self.objects(kind, &scope).await),
            });
        }
        kinds.push((&PODS, pods));
        let server = self.client.apiserver_version().await;
        Raw {
            kinds,
            logs: self.logs(&ours).await,
            scope,
            server: server.map_or_else(|error| format!("unknown: {error}"), |version| version.git_version),
        }
    }

    async fn objects(&self, kind: &BundleKind, scope: &BundledSets) -> ListedObjects {
        let places: Vec<Option<&str>> = match kind.place {
            Place::Home => vec![Some(&self.home)],
            Place::All => vec![self.sets.as_deref()],
            Place::Cluster => vec![None],
            Place::OfSets => scope.namespaces().into_iter().map(Some).collect(),
        };
        let mut found = Vec::new();
        for namespace in places {
            let kind = cluster::kind(kind.group, kind.version, kind.kind);
            let listed = list(&self.client, namespace, &kind, &ListParams::default()).await;
            let listed = listed.map_err(|error| match error {
                kube::Error::Api(status) => status.message,
                error => error.to_string(),
            })?;
            found.extend(listed.named());
        }
        Ok(found)
    }

    /// The logs of every container of these Pods, and of its previous run if it was restarted.
    async fn logs(&self, pods: &[Value]) -> Vec<RawLog> {
        let api: Api<Pod> = Api::namespaced(self.client.clone(), &self.home);
        let mut logs = Vec::new();
        for pod in pods {
            let name = pod["metadata"]["name"].as_str().unwrap_or_default();
            let containers = pod["spec"]["containers"].as_array().into_iter().flatten();
            for container in containers.filter_map(|container| container["name"].as_str()) {
                let states = pod["status"]["containerStatuses"].as_array().into_iter().flatten();
                let mut states = states.filter(|state| state["name"] == container);
                let restarted = states.any(|state| state["restartCount"].as_u64() > Some(0));
                for previous in [false, true].into_iter().filter(|previous| restarted || !previous) {
                    let parameters = LogParams {
                        container: Some(container.to_owned()),
                        limit_bytes: Some(LOG_BYTES),
                        tail_lines: Some(LOG_LINES),
                        timestamps: true,
                        previous,
                        ..LogParams::default()
                    };
                    let suffix = if previous { "-previous" } else { "" };
                    logs.push(RawLog {
                        file: format!("logs/{name}-{container}{suffix}.log"),
                        text: api.logs(name, &parameters).await.map_err(|error| error.to_string()),
                    });
                }
            }
        }
        logs
    }
}

/// The kind and the version, which lists leave out.
pub(super) fn typed(kind: &BundleKind, object: &Value) -> Value {
    let mut object = object.clone();
    let api = if kind.group.is_empty() {
        kind.version.to_owned()
    } else {
        format!("{}/{}", kind.group, kind.version)
    };
    (object["apiVersion"], object["kind"]) = (json!(api), json!(kind.kind));
    object
}
