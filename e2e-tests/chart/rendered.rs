//! What the chart renders.

use std::collections::BTreeMap;

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};

use super::{folder, helm, render};
use crate::cluster::{Cluster, Options, base64};
use crate::policy_host::documents;

/// By kind and name, without what a release adds.
type Objects = BTreeMap<String, Value>;

/// What the chart has beyond `deploy/`: the settings of the webhook as a file, and what runs before an uninstallation.
const BEYOND: [&str; 2] = ["ConfigMap claim-rollout-webhook", "Job claim-rollout-lift-holds"];

/// Every switch that adds objects.
const EVERYTHING: [&str; 4] = [
    "policy.retention=true",
    "serviceMonitor.enabled=true",
    "prometheusRule.enabled=true",
    "dashboard.enabled=true",
];

/// A NetworkPolicy, which needs to know from where API servers come.
const NETWORK: [&str; 2] = [
    "webhook.networkPolicy.enabled=true",
    "webhook.networkPolicy.from[0].ipBlock.cidr=10.0.0.0/28",
];

fn by_name(objects: Vec<Value>) -> anyhow::Result<Objects> {
    let mut by_name = Objects::new();
    for mut object in objects {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let name = format!("{} {}", text(&object["kind"]), text(&object["metadata"]["name"]));
        plain(&mut object);
        ensure!(by_name.insert(name.clone(), object).is_none(), "{name} is there twice");
    }
    Ok(by_name)
}

/// Takes away what a release adds, and what the chart says in another way: labels, and what values fill in.
fn plain(object: &mut Value) {
    for label in [
        "app.kubernetes.io/instance",
        "app.kubernetes.io/version",
        "app.kubernetes.io/managed-by",
        "helm.sh/chart",
    ] {
        remove(&mut object["metadata"]["labels"], label);
    }
    match object["kind"].as_str() {
        Some("CustomResourceDefinition") => {
            remove(&mut object["metadata"], "labels");
            remove(&mut object["metadata"], "annotations");
        }
        Some("ClusterAdmissionPolicy") => remove(&mut object["spec"], "policyServer"),
        Some("Deployment") => {
            let template = &mut object["spec"]["template"];
            remove(&mut template["metadata"], "annotations");
            remove(&mut template["spec"], "volumes");
            let container = &mut template["spec"]["containers"][0];
            for key in ["imagePullPolicy", "volumeMounts"] {
                remove(container, key);
            }
            if let Some(arguments) = container["args"].as_array_mut() {
                arguments.retain(|argument| argument != "--settings=/settings/settings.json");
            }
        }
        _ => {}
    }
}

fn remove(object: &mut Value, key: &str) {
    if let Some(fields) = object.as_object_mut() {
        fields.remove(key);
    }
}

fn deployed(files: &[&str]) -> anyhow::Result<Objects> {
    let mut all = Vec::new();
    for file in files {
        all.extend(documents(file)?);
    }
    by_name(all)
}

async fn is_what_is_deployed(cluster: &Cluster, values: &[&str], files: &[&str]) -> anyhow::Result<()> {
    let mut rendered = by_name(render(cluster, values).await?)?;
    rendered.retain(|name, _| !BEYOND.contains(&name.as_str()));
    let deployed = deployed(files)?;
    let names = |objects: &Objects| objects.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&rendered), names(&deployed), "{values:?}");
    for (name, expected) in &deployed {
        assert_eq!(&rendered[name], expected, "{values:?}: {name}");
    }
    Ok(())
}

/// What the settings say, the controller is told as well.
async fn settings_reach_the_policy_and_the_controller(cluster: &Cluster) -> anyhow::Result<()> {
    let values = [
        "policy.settings.shrink=Recover",
        "policy.settings.ownedSets=Divert",
        "policy.settings.reservedKeyPrefixes={example.com/,example.org/}",
        "policy.retention=true",
    ];
    let settings = json!({
        "ownedSets": "Divert", "reservedKeyPrefixes": ["example.com/", "example.org/"], "shrink": "Recover",
    });
    let objects = by_name(render(cluster, &values).await?)?;
    assert_eq!(
        objects["ClusterAdmissionPolicy claim-rollout"]["spec"]["settings"],
        settings
    );
    assert_eq!(
        objects["ClusterAdmissionPolicy claim-rollout-claims"]["spec"]["settings"],
        settings
    );
    let mut of_retention = settings.clone();
    (of_retention["mode"], of_retention["retention"]) = ("ValidateOnly".into(), "Warn".into());
    assert_eq!(
        objects["ClusterAdmissionPolicy claim-rollout-retention"]["spec"]["settings"],
        of_retention
    );
    let arguments = [
        "controller",
        "--log-format=json",
        "--owned-sets=Divert",
        "--shrink=Recover",
        "--reserved-key-prefix=example.com/",
        "--reserved-key-prefix=example.org/",
    ];
    let controller = &objects["Deployment claim-rollout-controller"]["spec"]["template"]["spec"]["containers"][0];
    assert_eq!(controller["args"], json!(arguments));

    let values = [&values[..], &["admission=builtin"]].concat();
    let objects = by_name(render(cluster, &values).await?)?;
    let file = objects["ConfigMap claim-rollout-webhook"]["data"]["settings.json"]
        .as_str()
        .context("a file")?;
    assert_eq!(serde_json::from_str::<Value>(file)?, settings);
    Ok(())
}

/// With a certificate that somebody else renews the webhook writes nothing, so it may not; what it would have written is
/// rendered.
async fn a_certificate_of_others_takes_rights_away(cluster: &Cluster) -> anyhow::Result<()> {
    let secret = "0123456789abcdef-_ABCD";
    let path = format!("webhook.path={secret}");
    let values = ["admission=builtin", "webhook.certificateSecret=tls"];
    for (values, suffix) in [
        (&values[..], String::new()),
        (&[values[0], values[1], &path], format!("/{secret}")),
    ] {
        let objects = by_name(render(cluster, values).await?)?;
        let configuration = &objects["MutatingWebhookConfiguration claim-rollout-webhook"];
        let asked = &configuration["webhooks"][1]["clientConfig"]["service"]["path"];
        assert_eq!(*asked, format!("/validate/claim-rollout-claims{suffix}"), "{values:?}");
        let roles = ["Role claim-rollout-webhook", "RoleBinding claim-rollout-webhook"];
        assert!(roles.iter().all(|role| !objects.contains_key(*role)), "{values:?}");
        let rules = objects["ClusterRole claim-rollout-webhook"]["rules"].to_string();
        assert!(!rules.contains("update") && !rules.contains("webhook"), "{rules}");
        let of_path = objects
            .get("Secret claim-rollout-webhook")
            .map(|secret| &secret["data"]["path"]);
        assert_eq!(
            of_path,
            (!suffix.is_empty()).then(|| json!(base64(secret))).as_ref(),
            "{values:?}"
        );
        let container = &objects["Deployment claim-rollout-webhook"]["spec"]["template"]["spec"]["containers"][0];
        let arguments = container["args"].to_string();
        assert!(arguments.contains("--certificates=/certificates"), "{arguments}");
        assert_eq!(
            arguments.contains("--path-file=/path/path"),
            !suffix.is_empty(),
            "{arguments}"
        );
    }
    Ok(())
}

/// Who may reach the webhook, where that is said.
async fn a_network_policy_lets_in_who_is_named(cluster: &Cluster) -> anyhow::Result<()> {
    let name = "NetworkPolicy claim-rollout-webhook";
    let off = by_name(render(cluster, &["admission=builtin"]).await?)?;
    assert!(!off.contains_key(name));
    let on = by_name(render(cluster, &[&["admission=builtin"], &NETWORK[..]].concat()).await?)?;
    let expected =
        json!([{"ports": [{"port": "https", "protocol": "TCP"}], "from": [{"ipBlock": {"cidr": "10.0.0.0/28"}}]}]);
    assert_eq!(on[name]["spec"]["ingress"], expected);
    Ok(())
}

/// In another namespace the policy must know the account of the controller there.
async fn another_namespace_is_told_to_the_policy(cluster: &Cluster) -> anyhow::Result<()> {
    let folder = folder();
    let folder = folder.to_str().context("a path in UTF-8")?;
    let output = cluster
        .run("helm", &["template", "mine", folder, "--namespace", "storage"], &[], "")
        .await?;
    let objects: Vec<Value> = serde_saphyr::from_multiple(&output.stdout)?;
    let elsewhere = objects
        .iter()
        .filter(|object| object["metadata"]["namespace"] == "claim-rollout")
        .count();
    assert_eq!(elsewhere, 0, "an object is in another namespace than the release");
    let policy = by_name(objects)?
        .remove("ClusterAdmissionPolicy claim-rollout")
        .context("the policy")?;
    let account = "system:serviceaccount:storage:claim-rollout-controller";
    assert_eq!(policy["spec"]["settings"], json!({"controllerAccount": account}));
    Ok(())
}

/// A value, and what Helm says of it.
const WRONG: [(&str, &str); 11] = [
    (
        "admission=kubewarden2",
        "at '/admission': value must be one of 'kubewarden', 'builtin', 'none'",
    ),
    (
        "controller.replica=3",
        "at '/controller': additional properties 'replica' not allowed",
    ),
    (
        "controller.replicas=two",
        "at '/controller/replicas': got string, want integer",
    ),
    (
        "controller.replicas=-1",
        "at '/controller/replicas': minimum: got -1, want 0",
    ),
    ("image.repository=", "at '/image/repository': minLength: got 0, want 1"),
    (
        "policy.retention=Warn",
        "at '/policy/retention': got string, want boolean",
    ),
    (
        "policy.module=policy.wasm",
        "at '/policy/module': 'policy.wasm' does not match pattern",
    ),
    (
        "webhook.path=0123456789abcdefABCDEF",
        "at '/webhook/certificateSecret': minLength: got 0, want 1",
    ),
    (
        "webhook.path=short",
        "at '/webhook/path': 'short' does not match pattern",
    ),
    (
        "webhook.networkPolicy.enabled=true",
        "at '/webhook/networkPolicy/from': minItems: got 0, want 1",
    ),
    (
        "prometheusRule.stuckAfterSeconds=1",
        "at '/prometheusRule/stuckAfterSeconds': minimum: got 1, want 60",
    ),
];

async fn a_wrong_value_is_refused_and_named(cluster: &Cluster) -> anyhow::Result<()> {
    for (value, message) in WRONG {
        let output = helm(cluster, &["template", "claim-rollout"], &[value]).await?;
        assert!(
            !output.success && output.stderr.contains(message),
            "{value}: {output:?}"
        );
    }
    Ok(())
}

async fn is_clean(cluster: &Cluster, values: &[&str]) -> anyhow::Result<()> {
    let path = folder();
    let path = path.to_str().context("a path in UTF-8")?;
    let set: Vec<&str> = values.iter().flat_map(|value| ["--set", value]).collect();
    let output = cluster
        .run("helm", &[&["lint", "--strict", path], &set[..]].concat(), &[], "")
        .await?;
    assert!(output.success, "{values:?}: {output:?}");

    // What needs other operators is not known to this API server.
    let known = |object: &Value| {
        let group = object["apiVersion"].as_str().unwrap_or_default();
        !group.starts_with("policies.kubewarden.io/") && !group.starts_with("monitoring.coreos.com/")
    };
    let objects: Vec<Value> = render(cluster, values).await?.into_iter().filter(known).collect();
    let list = json!({"apiVersion": "v1", "kind": "List", "items": objects});
    let apply = ["apply", "--server-side", "--dry-run=server", "-f", "-"];
    let applied = cluster.kubectl(&apply, &list.to_string()).await?;
    assert!(applied.success && applied.stderr.is_empty(), "{values:?}: {applied:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_chart_says_what_deploy_says() -> anyhow::Result<()> {
    let cluster = Cluster::start(Options::default()).await?;
    let namespace = cluster.kubectl(&["create", "namespace", "claim-rollout"], "").await?;
    ensure!(namespace.success, "{namespace:?}");
    let both = ["crd.yaml", "controller/rbac.yaml", "controller/deployment.yaml"];
    let kubewarden = [
        &both[..],
        &["policy-server-rbac.yaml", "policy.yaml", "policy-retention.yaml"],
    ]
    .concat();
    let builtin = [
        &both[..],
        &[
            "webhook/rbac.yaml",
            "webhook/deployment.yaml",
            "webhook/configuration.yaml",
            "webhook/retention.yaml",
        ],
    ]
    .concat();
    is_what_is_deployed(&cluster, &["policy.retention=true"], &kubewarden).await?;
    is_what_is_deployed(&cluster, &["policy.retention=true", "admission=builtin"], &builtin).await?;
    is_what_is_deployed(&cluster, &["admission=none"], &both).await?;
    settings_reach_the_policy_and_the_controller(&cluster).await?;
    another_namespace_is_told_to_the_policy(&cluster).await?;
    a_certificate_of_others_takes_rights_away(&cluster).await?;
    a_network_policy_lets_in_who_is_named(&cluster).await?;
    a_wrong_value_is_refused_and_named(&cluster).await?;
    for admission in ["admission=kubewarden", "admission=builtin", "admission=none"] {
        is_clean(&cluster, &[&EVERYTHING[..], &NETWORK[..], &[admission]].concat()).await?;
        is_clean(&cluster, &[admission]).await?;
    }
    cluster.stop();
    Ok(())
}
