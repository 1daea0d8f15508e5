//! The policy forecasts which PVCs a retention policy deletes; Kubernetes deletes exactly those.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use anyhow::{Context as _, ensure};
use claim_rollout::claims::Owner;
use claim_rollout::claims::retention::{
    Event, Fate, Ordinal, Ownership, PodUid, ReplicaPod as Replica, RetentionPolicy, Set, Standing,
};
use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::{ConfigMap, PersistentVolumeClaim, Pod};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};

use crate::world::{Cluster, EXPANDABLE, Options, eventually};

const PATIENCE: Duration = Duration::from_secs(60);
/// Long enough for the controllers to do what they should not.
const MOMENT: Duration = Duration::from_secs(3);

/// A StatefulSet of two replicas, and what happens to it.
struct Case {
    name: String,
    policy: [&'static str; 2],
    event: Event,
    other: Other,
}

/// Another owner of the PVC of the second replica.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Other {
    Nobody,
    /// An owner that is no controller.
    Owner,
    /// A controller.
    Controller,
}

fn cases() -> Vec<Case> {
    let policies = [
        ("rr", ["Retain", "Retain"]),
        ("dr", ["Delete", "Retain"]),
        ("rd", ["Retain", "Delete"]),
        ("dd", ["Delete", "Delete"]),
    ];
    let events = [
        ("scale", Event::ScaleDown),
        ("delete", Event::DeleteSet),
        ("orphan", Event::OrphanSet),
    ];
    let case = |name: String, policy, event, other| Case {
        name,
        policy,
        event,
        other,
    };
    let mut cases = Vec::new();
    for (name, policy) in policies {
        cases.extend(events.map(|(what, event)| case(format!("{name}-{what}"), policy, event, Other::Nobody)));
    }
    let both = ["Delete", "Delete"];
    for (what, event) in &events[..2] {
        cases.push(case(format!("foreign-{what}"), both, *event, Other::Controller));
        cases.push(case(format!("shared-{what}"), both, *event, Other::Owner));
    }
    cases
}

impl Case {
    fn set(&self) -> anyhow::Result<StatefulSet> {
        let [when_deleted, when_scaled] = self.policy;
        let name = &self.name;
        Ok(serde_json::from_value(json!({
            "metadata": {"name": name},
            "spec": {
                "replicas": 2,
                "serviceName": name,
                "podManagementPolicy": "Parallel",
                "selector": {"matchLabels": {"app": name}},
                "persistentVolumeClaimRetentionPolicy": {"whenDeleted": when_deleted, "whenScaled": when_scaled},
                "template": {
                    "metadata": {"labels": {"app": name}},
                    "spec": {"containers": [{"name": "main", "image": "example/main:1"}]},
                },
                "volumeClaimTemplates": [{
                    "metadata": {"name": "data"},
                    "spec": {
                        "accessModes": ["ReadWriteOnce"],
                        "storageClassName": EXPANDABLE,
                        "resources": {"requests": {"storage": "1Gi"}},
                    },
                }],
            },
        }))?)
    }

    /// Makes it happen.
    async fn happen(&self, sets: &Api<StatefulSet>) -> anyhow::Result<()> {
        let parameters = match self.event {
            Event::ScaleDown => {
                let fewer = Patch::Merge(json!({"spec": {"replicas": 1}}));
                sets.patch(&self.name, &PatchParams::default(), &fewer).await?;
                return Ok(());
            }
            Event::DeleteSet => DeleteParams::background(),
            Event::OrphanSet => DeleteParams::orphan(),
        };
        sets.delete(&self.name, &parameters).await?;
        Ok(())
    }
}

/// Objects in the API server.
struct ClusterState {
    sets: Api<StatefulSet>,
    pods: Api<Pod>,
    claims: Api<PersistentVolumeClaim>,
}

impl ClusterState {
    async fn claims(&self) -> anyhow::Result<BTreeMap<String, Vec<OwnerReference>>> {
        let claims = self.claims.list(&ListParams::default()).await?;
        let owners = claims.into_iter().map(|claim| {
            let metadata = claim.metadata;
            (
                metadata.name.unwrap_or_default(),
                metadata.owner_references.unwrap_or_default(),
            )
        });
        Ok(owners.collect())
    }

    /// The forecast for the two PVCs of a StatefulSet, once the StatefulSet controller has nothing to correct.
    async fn forecast(&self, case: &Case) -> anyhow::Result<Vec<(String, Fate)>> {
        let uid = self.sets.get(&case.name).await?.metadata.uid.context("a uid")?;
        let all = self.claims().await?;
        let mut fates = Vec::new();
        for ordinal in 0..2 {
            let name = format!("data-{}-{ordinal}", case.name);
            let pod = format!("{}-{ordinal}", case.name);
            let pod_uid = self.pods.get(&pod).await?.metadata.uid.context("a uid")?;
            let owners: Vec<_> = all.get(&name).context("a claim")?.iter().map(owner).collect();
            let [when_deleted, when_scaled] = case.policy.map(Some);
            let claim = Ownership {
                owners: &owners,
                policy: RetentionPolicy::read(when_deleted, when_scaled),
                set: Set {
                    name: &case.name,
                    uid: &uid,
                },
                pod: Replica {
                    name: &pod,
                    uid: PodUid::Is(&pod_uid),
                },
                ordinal: Ordinal::InRange,
            };
            let foreign = case.other == Other::Controller && ordinal == 1;
            let settled = if foreign { Standing::Foreign } else { Standing::AsAsked };
            ensure!(claim.standing() == settled, "{name}: {:?} {owners:?}", claim.standing());
            // A scale-down removes the second replica only.
            let stays = case.event == Event::ScaleDown && ordinal == 0;
            fates.push((name, if stays { Fate::Stays } else { claim.fate(case.event) }));
        }
        Ok(fates)
    }
}

fn owner(owner: &OwnerReference) -> Owner {
    Owner {
        api_version: owner.api_version.clone(),
        kind: owner.kind.clone(),
        name: owner.name.clone(),
        uid: owner.uid.clone(),
        controller: owner.controller.unwrap_or(false),
        block_owner_deletion: owner.block_owner_deletion.unwrap_or(false),
    }
}

/// Creates the StatefulSets, and adds another owner to the PVCs that need one.
async fn prepare(state: &ClusterState, client: &kube::Client, cases: &[Case]) -> anyhow::Result<()> {
    for case in cases {
        state.sets.create(&PostParams::default(), &case.set()?).await?;
    }
    for case in cases {
        eventually("the Pods to be ready", PATIENCE, async || {
            let status = state.sets.get(&case.name).await?.status.unwrap_or_default();
            Ok((status.ready_replicas == Some(2)).then_some(()))
        })
        .await?;
    }
    let maps: Api<ConfigMap> = Api::default_namespaced(client.clone());
    let map: ConfigMap = serde_json::from_value(json!({"metadata": {"name": "other"}}))?;
    let uid = maps.create(&PostParams::default(), &map).await?.metadata.uid;
    for case in cases {
        if case.other == Other::Nobody {
            continue;
        }
        let name = format!("data-{}-1", case.name);
        let other = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "other", "uid": uid, "controller": case.other == Other::Controller});
        // The API server allows only one controller, so another controller replaces the StatefulSet as the owner.
        let mut owners: Vec<Value> = Vec::new();
        if case.other == Other::Owner {
            let claim = state.claims.get(&name).await?.metadata;
            owners = serde_json::from_value(serde_json::to_value(claim.owner_references)?)?;
        }
        owners.push(other);
        let patch = Patch::Merge(json!({"metadata": {"ownerReferences": owners}}));
        state.claims.patch(&name, &PatchParams::default(), &patch).await?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn claims_are_deleted_and_kept_as_forecast() -> anyhow::Result<()> {
    let cluster = Cluster::start(Options::default()).await?;
    let client = cluster.client().await?;
    let state = ClusterState {
        sets: Api::default_namespaced(client.clone()),
        pods: Api::default_namespaced(client.clone()),
        claims: Api::default_namespaced(client.clone()),
    };
    let cases = cases();
    prepare(&state, &client, &cases).await?;
    tokio::time::sleep(MOMENT).await;
    let mut stay = BTreeSet::new();
    let mut counts = [0; 2];
    for case in &cases {
        for (name, fate) in state.forecast(case).await? {
            match fate {
                Fate::Stays => {
                    counts[0] += 1;
                    stay.insert(name);
                }
                Fate::Goes => counts[1] += 1,
                Fate::MayGo | Fate::IsGoing => anyhow::bail!("{name}: {fate:?}, although nothing is in motion"),
            }
        }
    }
    assert_eq!(counts, [24, 8], "what stays and what goes");
    for case in &cases {
        case.happen(&state.sets).await?;
    }
    let names = async || Ok::<_, anyhow::Error>(state.claims().await?.into_keys().collect::<BTreeSet<_>>());
    let deleted = eventually("the claims to be deleted", PATIENCE, async || {
        Ok((names().await? == stay).then_some(()))
    });
    if deleted.await.is_err() {
        assert_eq!(names().await?, stay);
    }
    tokio::time::sleep(MOMENT).await;
    assert_eq!(names().await?, stay, "a moment later");
    cluster.stop();
    Ok(())
}
