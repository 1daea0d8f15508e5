//! The matchConditions of the shipped policy objects, on a real API server: which policies are called for a request.

// A row is a line.
#[rustfmt::skip]
mod table;

use std::sync::Arc;

use serde_json::{Value, json};

use crate::world::policy_host::{KubeApi, PolicyHost, Shipped, shared_policy};
use crate::world::web::Web;
use crate::world::{Cluster, EXPANDABLE, Options, until, words};
use table::TABLE;

/// As many annotations as fit into an object.
const MANY: usize = 80_000;

/// A StatefulSet without Pods: the StatefulSet controller is stopped.
fn set(name: &str, annotations: &Value, retention: &Value) -> Value {
    let web = Web::replicas(2).named(name).plain();
    web.with(
        &json!({"metadata": {"annotations": annotations}, "spec": {"persistentVolumeClaimRetentionPolicy": retention}}),
    )
    .value()
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
        cluster.done(&["create", "-f", "-"], &object.to_string()).await?;
    }
    cluster
        .typed("delete statefulset replacing --cascade=orphan --wait=false")
        .await
        .map(drop)
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
    // Without it, no Pod is created.
    let account = ["get", "serviceaccount", "default"];
    let ask = async || cluster.kubectl(&account, "").await;
    until("the service account of the namespace", ask, |output| output.success).await?;
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
        policies.push(one.policy(&shared_policy()?)?);
    }
    let host = PolicyHost::start(policies, Arc::new(KubeApi::new(client.clone()))).await?;
    make(&cluster).await?;
    for policy in &shipped {
        host.register(&client, &policy.registration()).await?;
    }
    let requests = || shipped.each_ref().map(|policy| host.requests(&policy.name));
    let asked = async |line: &str| -> anyhow::Result<String> {
        let claim = json!({
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": "data-other-0", "namespace": "default"},
            "spec": claim_spec(),
        });
        let before = requests();
        let arguments = [line, " --dry-run=server"].concat();
        cluster.done(&words(&arguments), &claim.to_string()).await?;
        let pairs = ["s", "c", "r", "p"].iter().zip(before.into_iter().zip(requests()));
        Ok(pairs
            .map(|(name, (before, after))| if after > before { name } else { " " })
            .collect())
    };
    // The API server learns of new webhooks with a delay.
    for wanted in ["s   ", " c  ", "  r ", "   p"] {
        let (_, line) = TABLE.iter().find(|(who, _)| *who == wanted).expect("a row");
        until(
            "the API server to know the policies",
            async || asked(line).await,
            |who| who == wanted,
        )
        .await?;
    }
    for (who, line) in TABLE {
        assert_eq!(&asked(line).await?, who, "{line}");
    }
    host.stop().await?;
    cluster.stop();
    Ok(())
}
