//! Reads a StatefulSet, its PVCs and its ClaimRollout from the cluster.

use std::collections::BTreeMap;

use anyhow::{Context as _, bail};
use kube::Client;
use kube::api::{Api, ListParams};
use serde_json::Value;

use super::decide::{GrownClaim, RecoverInputs};
use crate::api::Settings;
use crate::cli::cluster::{kind, objects as objects_of};
use crate::cli::drift::find::named;
use crate::cli::lists::{ClusterList, list};
use crate::cli::settings_in_use;
use crate::controller::crd::ClaimRollout;
use crate::controller::objects;
use crate::rollout::ClaimState;

/// Reads what the decision needs.
///
/// # Errors
/// If the StatefulSet is not found, or one of the objects cannot be read.
pub(super) async fn read(client: &Client, namespace: &str, name: &str) -> anyhow::Result<RecoverInputs> {
    let sets = objects_of(client, Some(namespace), &kind("apps", "v1", "StatefulSet"));
    let set = sets.get_opt(name).await?;
    let set = set.with_context(|| format!("StatefulSet {name:?} not found"))?;
    let set = objects::set(&serde_json::to_value(set)?)?;
    let found = settings_in_use::read(client).await?;
    eprintln!("settings: {}", found.place);
    let settings = Settings::read(found.settings.get()).map_err(anyhow::Error::msg)?;
    let kind = kind("", "v1", "PersistentVolumeClaim");
    let ClusterList { items, unread } = list::<Value>(client, Some(namespace), &kind, &ListParams::default()).await?;
    let name_of = |claim: &Value| claim["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    let listed: BTreeMap<String, Value> = items.into_iter().map(|claim| (name_of(&claim), claim)).collect();
    let mut claims = BTreeMap::new();
    for (.., name) in named(&set, set.wanted()) {
        // The PVCs of other StatefulSets do not matter.
        if let Some(unread) = unread.iter().find(|unread| unread.name == name.as_str()) {
            bail!("{unread}");
        }
        if let Some(claim) = listed.get(name.as_str()) {
            claims.insert(name.as_str().to_owned(), grown(claim)?);
        }
    }
    Ok(RecoverInputs {
        denied: denied(client, namespace, name).await?,
        minor: minor(&client.apiserver_version().await?.minor),
        set,
        settings,
        claims,
    })
}

fn grown(claim: &Value) -> anyhow::Result<GrownClaim> {
    let text = |field: &str| claim["status"][field]["storage"].as_str();
    Ok(GrownClaim {
        view: objects::claim(claim)?,
        allocated: text("allocatedResources").and_then(|text| text.parse().ok()),
        status: text("allocatedResourceStatuses").map(str::to_owned),
    })
}

/// The PVCs whose write was denied, by the report of the controller; none without a report.
async fn denied(client: &Client, namespace: &str, name: &str) -> anyhow::Result<BTreeMap<String, String>> {
    let rollouts: Api<ClaimRollout> = Api::namespaced(client.clone(), namespace);
    let rollout = match rollouts.get_opt(name).await {
        Ok(rollout) => rollout,
        // The definition is not installed, or the user may not read it.
        Err(kube::Error::Api(status)) if status.code == 403 || status.code == 404 => None,
        Err(error) => return Err(error.into()),
    };
    let claims = rollout.and_then(|rollout| rollout.status).map(|status| status.claims);
    let denied = claims
        .into_iter()
        .flatten()
        .filter(|claim| claim.state == ClaimState::Refused.as_str());
    Ok(denied.map(|claim| (claim.name, claim.message)).collect())
}

/// The number of a minor version; some vendors append a sign: `33+`.
fn minor(text: &str) -> Option<u32> {
    text.trim_end_matches('+').parse().ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{grown, minor};

    #[test]
    fn claim_has_what_is_allocated() {
        let claim = json!({
            "metadata": {"name": "data-web-0", "uid": "u", "resourceVersion": "7"},
            "spec": {"resources": {"requests": {"storage": "1Ti"}}},
            "status": {
                "phase": "Bound", "capacity": {"storage": "1Gi"}, "allocatedResources": {"storage": "1Ti"},
                "allocatedResourceStatuses": {"storage": "ControllerResizeInfeasible"},
            },
        });
        let found = grown(&claim).expect("a PVC");
        assert_eq!(found.allocated.map(|size| size.to_string()).as_deref(), Some("1Ti"));
        assert_eq!(found.status.as_deref(), Some("ControllerResizeInfeasible"));
        let plain = grown(&json!({"metadata": {"name": "x", "uid": "u", "resourceVersion": "7"}})).expect("a PVC");
        assert_eq!((plain.allocated, plain.status), (None, None));
    }

    #[test]
    fn minor_version_may_have_a_sign() {
        assert_eq!([minor("33"), minor("33+"), minor("")], [Some(33), Some(33), None]);
    }
}
