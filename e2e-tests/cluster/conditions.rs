//! The matchConditions of the shipped policy objects, on a real API server: which policies are called for a request.

use std::sync::Arc;
use std::time::Duration;

use anyhow::ensure;
use serde_json::{Value, json};

use crate::world::policy_host::policy;
use crate::world::policy_host::{KubeApi, PolicyHost, Shipped};
use crate::world::{Cluster, EXPANDABLE, Options, eventually};

/// A request, and which policies are called: `s`ets, `c`laims, `r`etention, `p`ods. Every request is a dry run.
///
/// `keeps` and `deletes` are StatefulSets with two replicas. The retention policy of `deletes` deletes its PVCs, with
/// the StatefulSet and with a replica.
const TABLE: &[(&str, &[&str])] = &[
    // Everyday requests call no policy.
    ("    ", &["set", "image", "statefulset/keeps", "main=example/main:2"]),
    ("    ", &["annotate", "statefulset", "keeps", "example.com/note=hello"]),
    ("    ", &["label", "statefulset", "keeps", "team=storage"]),
    (
        "    ",
        &["patch", "statefulset", "keeps", "-p", r#"{"spec":{"replicas":1}}"#],
    ),
    ("    ", &["delete", "statefulset", "keeps"]),
    ("    ", &["delete", "statefulset", "keeps", "--cascade=orphan"]),
    ("    ", &["set", "image", "statefulset/deletes", "main=example/main:2"]),
    (
        "    ",
        &["patch", "statefulset", "deletes", "-p", r#"{"spec":{"replicas":3}}"#],
    ),
    ("    ", &["scale", "statefulset", "keeps", "--replicas=3"]),
    ("    ", &["scale", "statefulset", "keeps", "--replicas=2"]),
    // Sets: a change of the templates, and an annotation of ours that is added, changed or removed.
    ("s   ", &["patch", "statefulset", "keeps", "--type=json", "-p", LARGER]),
    (
        "s   ",
        &[
            "annotate",
            "statefulset",
            "keeps",
            "claim-rollout.io/update-policy=InPlace",
        ],
    ),
    ("s   ", &["label", "statefulset", "ours", "team=storage"]),
    (
        "s   ",
        &["annotate", "statefulset", "ours", "claim-rollout.io/update-policy-"],
    ),
    ("    ", &["delete", "statefulset", "ours"]),
    // The controller writes without any of them: with them, a StatefulSet that is being replaced would stay absent.
    (
        "    ",
        &[
            "annotate",
            "statefulset",
            "ours",
            "claim-rollout.io/phase=Complete",
            CONTROLLER,
            MASTERS,
        ],
    ),
    (
        "    ",
        &[
            "patch",
            "statefulset",
            "deletes",
            "-p",
            r#"{"spec":{"persistentVolumeClaimRetentionPolicy":{"whenDeleted":"Retain"}}}"#,
            CONTROLLER,
            MASTERS,
        ],
    ),
    ("    ", &["delete", "statefulset", "deletes", CONTROLLER, MASTERS]),
    // The status: only annotations and owners concern the policy, not the status itself.
    (
        "    ",
        &[
            "patch",
            "statefulset",
            "ours",
            STATUS,
            "--type=merge",
            "-p",
            r#"{"status":{"observedGeneration":7}}"#,
        ],
    ),
    (
        "s   ",
        &[
            "patch",
            "statefulset",
            "ours",
            STATUS,
            "--type=merge",
            "-p",
            r#"{"metadata":{"annotations":{"a":"b"}}}"#,
        ],
    ),
    (
        "s   ",
        &["patch", "statefulset", "ours", STATUS, "--type=merge", "-p", OWNED],
    ),
    (
        "    ",
        &["patch", "statefulset", "keeps", STATUS, "--type=merge", "-p", OWNED],
    ),
    // A StatefulSet that is deleted to be replaced: only a change of its templates, which the guard then denies.
    (
        "s   ",
        &["patch", "statefulset", "replacing", "--type=json", "-p", LARGER],
    ),
    ("    ", &["label", "statefulset", "replacing", "team=storage"]),
    // A StatefulSet full of annotations calls the policy, and the request is answered.
    ("s   ", &["label", "statefulset", "full", "team=storage"]),
    (
        "    ",
        &[
            "patch",
            "statefulset",
            "full",
            STATUS,
            "--type=merge",
            "-p",
            r#"{"status":{"observedGeneration":7}}"#,
        ],
    ),
    // Claims: only those of the StatefulSet controller, under both of its accounts.
    ("    ", &["create", "-f", "-"]),
    (
        " c  ",
        &[
            "create",
            "-f",
            "-",
            "--as=system:serviceaccount:kube-system:statefulset-controller",
        ],
    ),
    (
        " c  ",
        &[
            "create",
            "-f",
            "-",
            "--as=system:kube-controller-manager",
            "--as-group=system:masters",
        ],
    ),
    // Retention: a Scale shows only that it is a scale-down.
    ("  r ", &["scale", "statefulset", "keeps", "--replicas=1"]),
    ("  r ", &["scale", "statefulset", "keeps", "--replicas=0"]),
    ("  r ", &["scale", "statefulset", "deletes", "--replicas=1"]),
    (
        "  r ",
        &["patch", "statefulset", "deletes", "-p", r#"{"spec":{"replicas":0}}"#],
    ),
    (
        "  r ",
        &[
            "patch",
            "statefulset",
            "deletes",
            "-p",
            r#"{"spec":{"ordinals":{"start":1}}}"#,
        ],
    ),
    (
        "  r ",
        &[
            "patch",
            "statefulset",
            "deletes",
            "-p",
            r#"{"spec":{"persistentVolumeClaimRetentionPolicy":{"whenScaled":"Retain"}}}"#,
        ],
    ),
    (
        "  r ",
        &[
            "patch",
            "statefulset",
            "keeps",
            "-p",
            r#"{"spec":{"persistentVolumeClaimRetentionPolicy":{"whenScaled":"Delete"}}}"#,
        ],
    ),
    ("  r ", &["delete", "statefulset", "deletes"]),
    ("  r ", &["delete", "statefulset", "deletes", "--cascade=orphan"]),
    (
        "    ",
        &[
            "delete",
            "statefulset",
            "deletes",
            "--as=system:serviceaccount:kube-system:namespace-controller",
        ],
    ),
    (
        "    ",
        &[
            "delete",
            "statefulset",
            "deletes",
            "--as=system:serviceaccount:kube-system:generic-garbage-collector",
        ],
    ),
    // Pods: only those with PVCs, of a StatefulSet, deleted by the StatefulSet controller.
    ("    ", &["delete", "pod", "keeps-0"]),
    (
        "   p",
        &[
            "delete",
            "pod",
            "keeps-0",
            "--as=system:serviceaccount:kube-system:statefulset-controller",
        ],
    ),
    (
        "   p",
        &[
            "delete",
            "pod",
            "keeps-0",
            "--as=system:kube-controller-manager",
            "--as-group=system:masters",
        ],
    ),
    (
        "    ",
        &[
            "delete",
            "pod",
            "keeps-0",
            "--as=system:serviceaccount:kube-system:pod-garbage-collector",
        ],
    ),
    (
        "    ",
        &[
            "delete",
            "pod",
            "claimless",
            "--as=system:serviceaccount:kube-system:statefulset-controller",
        ],
    ),
    (
        "    ",
        &[
            "delete",
            "pod",
            "of-no-set",
            "--as=system:kube-controller-manager",
            "--as-group=system:masters",
        ],
    ),
    ("    ", &["label", "pod", "keeps-0", "team=storage"]),
];

const CONTROLLER: &str = "--as=system:serviceaccount:claim-rollout:claim-rollout-controller";
const MASTERS: &str = "--as-group=system:masters";
const STATUS: &str = "--subresource=status";
const OWNED: &str =
    r#"{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"owner","uid":"1"}]}}"#;
/// As many annotations as fit into an object.
const MANY: usize = 80_000;

const LARGER: &str =
    r#"[{"op":"replace","path":"/spec/volumeClaimTemplates/0/spec/resources/requests/storage","value":"2Gi"}]"#;

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
    for policy in &shipped {
        policies.push(policy.policy(&self::policy())?);
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
