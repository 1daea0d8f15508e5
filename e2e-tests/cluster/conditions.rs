//! The matchConditions of the shipped policy objects, on a real API server: which policies are called for a request.

mod table;

use std::sync::Arc;
use std::time::Duration;

use anyhow::ensure;
use serde_json::{Value, json};

use crate::world::policy_host::{KubeApi, PolicyHost, Shipped, policy};
use crate::world::{Cluster, EXPANDABLE, Options, eventually};
use table::TABLE;

/// As many annotations as fit into an object.
const MANY: usize = 80_000;

/// A StatefulSet without Pods: the StatefulSet controller is stopped.
fn set(name: &str, annotations: &Value, retention: &Value) -> Value {
    json!({
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": name, "annotations": annotations},
        "spec": {
            "replicas": 2,
            "serviceName": name,
            "selector": {"matchLabels": {"app": name}},
            "persistentVolumeClaimRetentionPolicy": retention,
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {"containers": [{"name": "main", "image": "example/main:1"}]},
            },
            "volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": claim_spec()}],
        },
    })
}

/// A Pod with a volume.
fn pod(name: &str, labels: &Value, volume: &Value) -> Value {
    let mut volume = volume.clone();
    volume["name"] = "data".into();
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": labels},
        "spec": {"containers": [{"name": "main", "image": "example/main:1"}], "volumes": [volume]},
    })
}

/// Waits for the service account of the namespace; no Pod is created without it.
async fn until_service_account(cluster: &Cluster) -> anyhow::Result<()> {
    let account = eventually("a service account", Duration::from_secs(60), async || {
        let get = ["get", "serviceaccount", "default"];
        Ok(cluster.kubectl(&get, "").await?.success.then_some(()))
    });
    account.await
}

fn claim_spec() -> Value {
    json!({
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": EXPANDABLE,
        "resources": {"requests": {"storage": "1Gi"}},
    })
}

/// Creates the objects of the table.
async fn make(cluster: &Cluster) -> anyhow::Result<()> {
    let deletes = json!({"whenDeleted": "Delete", "whenScaled": "Delete"});
    let ours = json!({"claim-rollout.io/update-policy": "OnClaimDelete"});
    let claimed = json!({"persistentVolumeClaim": {"claimName": "data-keeps-0"}});
    // The StatefulSet controller gives each of its Pods this label (`updateIdentity` in
    // `pkg/controller/statefulset/stateful_set_utils.go`).
    let of_set = json!({"statefulset.kubernetes.io/pod-name": "keeps-0"});
    let mut replacing = set("replacing", &ours, &Value::Null);
    replacing["metadata"]["finalizers"] = json!(["claim-rollout.io/replacing"]);
    for object in [
        replacing,
        set("full", &many(), &Value::Null),
        set("keeps", &json!({}), &Value::Null),
        set("deletes", &json!({}), &deletes),
        set("ours", &ours, &Value::Null),
        pod("keeps-0", &of_set, &claimed),
        pod("claimless", &of_set, &json!({"emptyDir": {}})),
        pod("of-no-set", &json!({}), &claimed),
    ] {
        let made = cluster.kubectl(&["create", "-f", "-"], &object.to_string()).await?;
        ensure!(made.success, "{made:?}");
    }
    let delete = ["delete", "statefulset", "replacing", "--cascade=orphan", "--wait=false"];
    let deleted = cluster.kubectl(&delete, "").await?;
    ensure!(deleted.success, "{deleted:?}");
    Ok(())
}

fn many() -> Value {
    let digits: Vec<char> = ('0'..='9').chain('a'..='z').chain('A'..='Z').collect();
    let digit = |number: usize, place: usize| digits[number / place % digits.len()];
    let key = |number: usize| {
        [62 * 62, 62, 1]
            .map(|place| digit(number, place))
            .iter()
            .collect::<String>()
    };
    (0..MANY).map(|number| (key(number), json!(""))).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn policies_get_only_requests_that_concern_them() -> anyhow::Result<()> {
    let cluster = Cluster::start(Options::default()).await?;
    until_service_account(&cluster).await?;
    cluster.halt("kube-controller-manager");
    let client = cluster.client().await?;
    let shipped = [
        Shipped::sets()?,
        Shipped::claims()?,
        Shipped::retention()?,
        Shipped::pods()?,
    ];
    let mut policies = Vec::new();
    for one in &shipped {
        policies.push(one.policy(&policy())?);
    }
    let host = PolicyHost::start(policies, Arc::new(KubeApi::new(client.clone()))).await?;
    make(&cluster).await?;
    for policy in &shipped {
        host.register(&client, &policy.registration()).await?;
    }
    let requests = || shipped.each_ref().map(|policy| host.requests(&policy.name));
    let asked = async |arguments: &[&str]| -> anyhow::Result<String> {
        let claim = json!({
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": "data-other-0", "namespace": "default"},
            "spec": claim_spec(),
        });
        let before = requests();
        let output = cluster
            .kubectl(&[arguments, &["--dry-run=server"]].concat(), &claim.to_string())
            .await?;
        ensure!(output.success, "{arguments:?}: {output:?}");
        let pairs = ["s", "c", "r", "p"].iter().zip(before.into_iter().zip(requests()));
        Ok(pairs
            .map(|(name, (before, after))| if after > before { name } else { " " })
            .collect())
    };
    // The API server learns of new webhooks with a delay.
    for wanted in ["s   ", " c  ", "  r ", "   p"] {
        let (_, arguments) = TABLE.iter().find(|(who, _)| *who == wanted).expect("a row");
        eventually(
            "the API server to know the policies",
            Duration::from_secs(120),
            async || Ok((asked(arguments).await? == wanted).then_some(())),
        )
        .await?;
    }
    for (who, arguments) in TABLE {
        assert_eq!(&asked(arguments).await?, who, "{}", arguments.join(" "));
    }
    host.stop().await?;
    cluster.stop();
    Ok(())
}
