//! Quota, StorageClass and sibling of a set. An API server notices a changed quota or class a moment later, so the
//! test waits for that. The used part of a quota is computed here, as the quota controller does.

use std::time::Duration;

use anyhow::Context as _;
use claim_rollout::templates::Quantity;
use serde_json::{Value, json};

use super::real::{Body, Real, call};
use crate::world::eventually;

/// A claim for dry runs.
pub(super) const PROBE: &str = "probe";
const PATIENCE: Duration = Duration::from_secs(120);

/// The usage of a claim in a quota, in Gi.
fn usage(claim: &Value) -> u64 {
    let gi = |value: &Value| {
        let quantity = value.as_str().and_then(|text| text.parse::<Quantity>().ok());
        quantity.map_or(0, |quantity| u64::try_from(quantity.whole() >> 30).unwrap_or(0))
    };
    gi(&claim["spec"]["resources"]["requests"]["storage"]).max(gi(&claim["status"]["allocatedResources"]["storage"]))
}

impl Real<'_> {
    /// Creates the claim that shows whether the StorageClass allows expansion.
    pub(super) async fn settle(&self) -> anyhow::Result<()> {
        let probe = self.claim(PROBE, "1Gi");
        self.must("POST", self.path("persistentvolumeclaims"), Body::Json(probe))
            .await?;
        let path = format!("{}/{PROBE}", self.path("persistentvolumeclaims"));
        let bound = json!({"status": {"phase": "Bound", "capacity": {"storage": "1Gi"}}});
        self.must("PATCH", format!("{path}/status"), Body::Merge(bound)).await?;
        self.until_expandable(true).await
    }

    fn claim(&self, name: &str, size: &str) -> Value {
        json!({
            "metadata": {"name": name},
            "spec": {
                "accessModes": ["ReadWriteOnce"],
                "storageClassName": self.namespace,
                "resources": {"requests": {"storage": size}},
            },
        })
    }

    /// Sets or removes the quota.
    pub(super) async fn set_quota(&mut self, gi: u8) -> anyhow::Result<()> {
        let had = self.quota.take();
        let quotas = self.path("resourcequotas");
        if gi != u8::MAX {
            self.quota = Some(gi);
            let hard = json!({"requests.storage": format!("{gi}Gi")});
            let quota = json!({
                "apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "storage"}, "spec": {"hard": hard},
            });
            let path = format!("{quotas}/storage?fieldManager=test&force=true");
            self.must("PATCH", path, Body::Apply(quota)).await?;
        } else if had.is_some() {
            self.must("DELETE", format!("{quotas}/storage"), Body::Nothing).await?;
        }
        self.count_for_quota(true).await
    }

    /// Writes the usage of the quota, as the quota controller does, if it has changed.
    pub(super) async fn count_for_quota(&self, changed: bool) -> anyhow::Result<()> {
        let claims = self.claims().await?;
        let counted = claims.iter().filter(|claim| claim["metadata"]["name"] != PROBE);
        let used = format!("{}Gi", counted.map(usage).sum::<u64>());
        if let Some(gi) = self.quota {
            let quota = self.get("resourcequotas", "storage").await?.context("a quota")?;
            let known = quota["status"]["used"]["requests.storage"].as_str().unwrap_or_default();
            if !changed && known.parse::<Quantity>().ok() == used.parse().ok() {
                return Ok(());
            }
            let status = json!({"status": {
                "hard": {"requests.storage": format!("{gi}Gi")}, "used": {"requests.storage": used},
            }});
            let path = format!("{}/storage/status", self.path("resourcequotas"));
            self.must("PATCH", path, Body::Merge(status)).await?;
        }
        if !changed && self.quota.is_none() {
            return Ok(());
        }
        eventually("the API server to know the quota", PATIENCE, async || {
            let huge = self.claim("another-probe", "10000Gi");
            let path = format!("{}?dryRun=All", self.path("persistentvolumeclaims"));
            let reply = call(&self.clients.admin, "POST", &path, Body::Json(huge)).await?;
            let knows = match (self.quota, reply) {
                (None, reply) => reply.is_ok(),
                (Some(_), Ok(_)) => false,
                (Some(gi), Err(status)) => {
                    let word = |key: &str| {
                        let (_, rest) = status.message.split_once(&format!("{key}: requests.storage="))?;
                        rest.split(',').next()?.parse::<Quantity>().ok()
                    };
                    word("used") == used.parse().ok() && word("limited") == format!("{gi}Gi").parse().ok()
                }
            };
            Ok(knows.then_some(()))
        })
        .await
    }

    /// Changes the StorageClass.
    pub(super) async fn set_expandable(&self, expandable: bool) -> anyhow::Result<()> {
        let class = format!("/apis/storage.k8s.io/v1/storageclasses/{}", self.namespace);
        let body = json!({"allowVolumeExpansion": expandable});
        self.must("PATCH", class, Body::Merge(body)).await?;
        self.until_expandable(expandable).await
    }

    async fn until_expandable(&self, expandable: bool) -> anyhow::Result<()> {
        let path = format!("{}/{PROBE}?dryRun=All", self.path("persistentvolumeclaims"));
        eventually("the API server to know the class", PATIENCE, async || {
            let body = json!({"spec": {"resources": {"requests": {"storage": "2Gi"}}}});
            let reply = call(&self.clients.admin, "PATCH", &path, Body::Merge(body)).await?;
            let denied = reply.is_err_and(|status| status.message.contains("support resize"));
            Ok((denied != expandable).then_some(()))
        })
        .await
    }

    /// Creates or deletes the set whose claims have the same names.
    pub(super) async fn set_sibling(&self, there: bool) -> anyhow::Result<()> {
        let known = self.get("statefulsets", "a-web").await?.is_some();
        let sets = self.path("statefulsets");
        if there && !known {
            let set = json!({
                "metadata": {"name": "a-web"},
                "spec": {
                    "serviceName": "a",
                    "selector": {"matchLabels": {"app": "a"}},
                    "template": {
                        "metadata": {"labels": {"app": "a"}},
                        "spec": {"containers": [{"name": "main", "image": "i:0"}]},
                    },
                    "volumeClaimTemplates": [{
                        "metadata": {"name": "data"},
                        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
                    }],
                },
            });
            self.must("POST", sets, Body::Json(set)).await?;
        } else if !there && known {
            let path = format!("{sets}/a-web?propagationPolicy=Background");
            self.must("DELETE", path, Body::Nothing).await?;
        }
        Ok(())
    }
}
