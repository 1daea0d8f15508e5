//! Every file in `examples/` does what its comments promise. `commands` runs these scenarios.

use std::time::Duration;

use anyhow::{Context as _, ensure};
use serde_json::Value;

use crate::world::namespace::{TestNamespace, text};
use crate::world::runner::scenarios;
use crate::world::{World, until};

scenarios![World;
    example::postgresql_grows_without_pod_restart,
    example::cassandra_grows_both_volumes_of_a_replica_together,
    example::etcd_grows_last_member_first_others_after_partition_lowered,
    example::kafka_grows_although_one_broker_fails,
    example::elasticsearch_grows_as_its_pods_are_deleted,
];

/// One example in a namespace of its own.
struct Example<'a> {
    ns: TestNamespace<'a>,
    name: &'static str,
    manifest: String,
}

/// The manifest with every size doubled.
fn doubled(manifest: &str) -> anyhow::Result<String> {
    let mut lines = Vec::new();
    for line in manifest.lines() {
        lines.push(match line.split_once("storage: ") {
            Some((before, size)) => {
                let number: u32 = size.strip_suffix("Gi").context("a size in Gi")?.parse()?;
                format!("{before}storage: {}Gi", 2 * number)
            }
            None => line.to_owned(),
        });
    }
    Ok(lines.join("\n"))
}

impl<'a> Example<'a> {
    /// Applies the example and waits until its three replicas run.
    async fn start(env: &'a World, name: &'static str) -> anyhow::Result<Self> {
        let path = crate::world::repository::root().join(format!("examples/{name}.yaml"));
        let manifest = std::fs::read_to_string(path)?;
        let ns = env.managed(&format!("example-{name}")).await?;
        ns.target(&manifest).await?;
        let example = Self { ns, name, manifest };
        let all_ready = |set: &Value| set["status"]["availableReplicas"] == 3;
        until("three replicas", async || example.get("statefulset").await, all_ready).await?;
        Ok(example)
    }

    async fn get(&self, kind: &str) -> anyhow::Result<Value> {
        let output = self.ns.done(&["get", kind, self.name, "-o", "json"], "").await?;
        Ok(serde_json::from_str(&output.stdout)?)
    }

    async fn double(&self) -> anyhow::Result<()> {
        let warning = self.ns.target(&doubled(&self.manifest)?).await?.stderr;
        ensure!(warning.contains("Warning: claim-rollout: staged "), "{warning}");
        Ok(())
    }

    /// Waits until the PVCs have exactly these capacities.
    async fn until(&self, expected: &[(&str, &str)]) -> anyhow::Result<()> {
        let have_grown = |claims: &[Value]| {
            let capacity = |claim: &Value| {
                let size = &claim["status"]["capacity"]["storage"];
                (text(&claim["metadata"]["name"]), text(size))
            };
            let expected = expected
                .iter()
                .map(|(name, size)| ((*name).to_owned(), (*size).to_owned()));
            claims.iter().map(capacity).eq(expected)
        };
        self.ns.until_all("the capacities", "pvc", have_grown).await.map(drop)
    }

    /// Waits until the rollout is complete.
    async fn until_complete(&self) -> anyhow::Result<()> {
        let rollout = format!("claimrollout/{}", self.name);
        // The controller creates the ClaimRollout a moment after the apply.
        for what in ["create", "condition=Ready"] {
            self.ns
                .typed(&format!("wait --for={what} {rollout} --timeout=120s"))
                .await?;
        }
        Ok(())
    }
}

mod example {
    use super::*;

    pub(super) async fn postgresql_grows_without_pod_restart(env: &World) -> anyhow::Result<()> {
        let example = Example::start(env, "postgresql").await?;
        let pods = example.ns.pods().await?;
        example.double().await?;
        example.until_complete().await?;
        let names = ["data-postgresql-0", "data-postgresql-1", "data-postgresql-2"];
        example.until(&names.map(|name| (name, "20Gi"))).await?;
        ensure!(example.ns.pods().await? == pods, "Pods restarted");
        Ok(())
    }

    pub(super) async fn cassandra_grows_both_volumes_of_a_replica_together(env: &World) -> anyhow::Result<()> {
        let example = Example::start(env, "cassandra").await?;
        let begun = example.ns.mark().await?;
        example.double().await?;
        example.until_complete().await?;
        example
            .until(&[
                ("commit-log-cassandra-0", "10Gi"),
                ("commit-log-cassandra-1", "10Gi"),
                ("commit-log-cassandra-2", "10Gi"),
                ("data-cassandra-0", "80Gi"),
                ("data-cassandra-1", "80Gi"),
                ("data-cassandra-2", "80Gi"),
            ])
            .await?;
        let mut written = example.ns.writes_since(begun).await?.count().claims;
        ensure!(written.len() == 6, "{written:?}");
        for ordinal in ["-2", "-1", "-0"] {
            ensure!(written.drain(..2).all(|claim| claim.ends_with(ordinal)), "{ordinal}");
        }
        Ok(())
    }

    pub(super) async fn etcd_grows_last_member_first_others_after_partition_lowered(env: &World) -> anyhow::Result<()> {
        let example = Example::start(env, "etcd").await?;
        example.double().await?;
        example
            .until(&[
                ("data-etcd-0", "10Gi"),
                ("data-etcd-1", "10Gi"),
                ("data-etcd-2", "20Gi"),
            ])
            .await?;
        let all = doubled(&example.manifest)?.replace("partition: 2", "partition: 0");
        example.ns.target(&all).await?;
        example.until_complete().await?;
        example
            .until(&["data-etcd-0", "data-etcd-1", "data-etcd-2"].map(|name| (name, "20Gi")))
            .await
    }

    pub(super) async fn kafka_grows_although_one_broker_fails(env: &World) -> anyhow::Result<()> {
        let example = Example::start(env, "kafka").await?;
        // Another controller owns the PVC of the last broker.
        let owner = "{\"metadata\":{\"ownerReferences\":[{\"apiVersion\":\"example.com/v1\",\"kind\":\"Backup\",\"name\":\"b\",\
                     \"uid\":\"00000000-0000-0000-0000-000000000001\",\"controller\":true}]}}";
        example
            .ns
            .typed(&format!("patch pvc logs-kafka-2 --type=merge -p '{owner}'"))
            .await?;
        example.double().await?;
        example
            .until(&[
                ("logs-kafka-0", "100Gi"),
                ("logs-kafka-1", "100Gi"),
                ("logs-kafka-2", "50Gi"),
            ])
            .await
    }

    pub(super) async fn elasticsearch_grows_as_its_pods_are_deleted(env: &World) -> anyhow::Result<()> {
        let example = Example::start(env, "elasticsearch").await?;
        // Times are in whole seconds. A Pod that is created in the second of the staged change counts as older.
        tokio::time::sleep(Duration::from_millis(1100)).await;
        example.double().await?;
        tokio::time::sleep(Duration::from_millis(1100)).await;
        example.ns.delete_pods(&["elasticsearch-1"]).await?;
        let of = |name: &'static str, grown: bool| (name, if grown { "200Gi" } else { "100Gi" });
        let claims = |grown: [bool; 3]| {
            [
                of("data-elasticsearch-0", grown[0]),
                of("data-elasticsearch-1", grown[1]),
                of("data-elasticsearch-2", grown[2]),
            ]
        };
        example.until(&claims([false, true, false])).await?;
        example.ns.delete_pods(&["elasticsearch-0", "elasticsearch-2"]).await?;
        example.until(&claims([true, true, true])).await?;
        example.until_complete().await
    }
}

#[test]
fn every_example_is_listed_and_run() -> anyhow::Result<()> {
    let folder = crate::world::repository::root().join("examples");
    let list = std::fs::read_to_string(folder.join("README.md"))?;
    let mut count = 0;
    for entry in std::fs::read_dir(&folder)? {
        let file = entry?
            .file_name()
            .into_string()
            .map_err(|_| anyhow::anyhow!("a name in UTF-8"))?;
        let Some(name) = file.strip_suffix(".yaml") else {
            continue;
        };
        count += 1;
        assert!(list.contains(&format!("[{file}]({file})")), "{file} is not listed");
        let run = SCENARIOS.iter().any(|(scenario, _)| scenario.contains(name));
        assert!(run, "{file} is not run");
    }
    assert_eq!(count, SCENARIOS.len());
    Ok(())
}
