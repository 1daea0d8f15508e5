//! Values that change many objects, and those that once were traps.

use std::collections::BTreeSet;

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};

use super::deployed::{EVERYTHING, NETWORK, Objects, by_name};
use super::render;
use crate::world::Cluster;
use crate::world::document::text;

pub(super) const BUILTIN: &str = "admission=builtin";
const CERT_MANAGER: [&str; 2] = [BUILTIN, "webhook.certManager.enabled=true"];
pub(super) const DEPLOYMENTS: [&str; 2] = [
    "Deployment claim-rollout-controller",
    "Deployment claim-rollout-webhook",
];

pub(super) async fn check_objects(cluster: &Cluster) -> anyhow::Result<()> {
    other_name_reaches_every_object(cluster).await?;
    common_metadata_is_on_every_object(cluster).await?;
    each_selector_selects_the_pods_of_a_deployment(cluster).await?;
    images_follow_registry_tag_and_digest(cluster).await?;
    ports_agree(cluster).await?;
    priority_class_is_made_or_named(cluster).await?;
    accounts_reach_the_conditions(cluster).await?;
    time_of_the_policy_reaches_both_modes(cluster).await?;
    cert_manager_makes_the_certificate(cluster).await?;
    values_reach_the_pods(cluster).await
}

/// Every object of both modes, with every switch on.
async fn all_objects(cluster: &Cluster, values: &[&str]) -> anyhow::Result<Vec<Value>> {
    let mut all = Vec::new();
    for admission in ["admission=kubewarden", BUILTIN] {
        let values = [&EVERYTHING[..], &NETWORK[..], values, &[admission]].concat();
        all.extend(render(cluster, &values).await?);
    }
    Ok(all)
}

fn pod<'a>(objects: &'a Objects, deployment: &str) -> &'a Value {
    &objects[deployment]["spec"]["template"]["spec"]
}

pub(super) fn arguments(objects: &Objects, deployment: &str) -> Vec<String> {
    let given = pod(objects, deployment)["containers"][0]["args"].as_array();
    let texts = given.into_iter().flatten().filter_map(Value::as_str);
    texts.map(str::to_owned).collect()
}

/// The names of objects, and all references to them.
async fn other_name_reaches_every_object(cluster: &Cluster) -> anyhow::Result<()> {
    for (value, label) in [
        ("fullnameOverride=volumes", "claim-rollout"),
        ("nameOverride=volumes", "volumes"),
    ] {
        for object in all_objects(cluster, &[value]).await? {
            let metadata = &object["metadata"];
            let name = metadata["name"].as_str().unwrap_or_default();
            let kind = object["kind"].as_str().unwrap_or_default();
            let is_definition = kind == "CustomResourceDefinition";
            ensure!(name.starts_with("volumes") || is_definition, "{value}: {kind} {name}");
            assert_eq!(
                metadata["labels"]["app.kubernetes.io/name"], label,
                "{value}: {kind} {name}"
            );
            // Domains, the paths of the webhook, the image and the Lease keep the name of the project.
            let text = object.to_string().replace("[\"claim-rollout-controller\"]", "");
            for old in [
                "-controller\"",
                "-webhook\"",
                "-settings\"",
                "-staged\"",
                ":claim-rollout-controller",
            ] {
                ensure!(
                    !text.contains(&format!("\"claim-rollout{old}")),
                    "{value}: {kind} {name}: {old}"
                );
            }
        }
        let builtin = by_name(render(cluster, &[BUILTIN, value]).await?)?;
        let given = arguments(&builtin, "Deployment volumes-webhook");
        ensure!(given.contains(&"--name=volumes-webhook".to_owned()), "{given:?}");
        let settings = &builtin["ConfigMap volumes-settings"]["data"]["settings.yaml"];
        let accounts = json!(["system:serviceaccount:claim-rollout:volumes-controller"]);
        assert_eq!(settings["controllerAccounts"], accounts, "{value}");
    }
    Ok(())
}

async fn common_metadata_is_on_every_object(cluster: &Cluster) -> anyhow::Result<()> {
    let values = [
        r#"commonLabels={"example.com/team":"storage","app.kubernetes.io/name":"mine"}"#,
        r#"commonAnnotations={"example.com/contact":"storage@example.com"}"#,
    ];
    for object in all_objects(cluster, &values).await? {
        let template = &object["spec"]["template"]["metadata"];
        let metadata = [&object["metadata"], template];
        for metadata in metadata.into_iter().filter(|metadata| !metadata.is_null()) {
            let what = format!("{} {}", object["kind"], object["metadata"]["name"]);
            assert_eq!(metadata["labels"]["example.com/team"], "storage", "{what}");
            // Selectors need the labels of the chart.
            assert_eq!(metadata["labels"]["app.kubernetes.io/name"], "claim-rollout", "{what}");
            assert_eq!(
                metadata["annotations"]["example.com/contact"], "storage@example.com",
                "{what}"
            );
        }
    }
    Ok(())
}

/// The labels that a selector asks for.
fn selector(object: &Value) -> Option<&Value> {
    let spec = &object["spec"];
    match object["kind"].as_str()? {
        "Service" => Some(&spec["selector"]),
        "NetworkPolicy" => Some(&spec["podSelector"]["matchLabels"]),
        "Deployment" | "PodDisruptionBudget" => Some(&spec["selector"]["matchLabels"]),
        _ => None,
    }
}

/// Each has the release and the component, so that it selects nothing of another release.
async fn each_selector_selects_the_pods_of_a_deployment(cluster: &Cluster) -> anyhow::Result<()> {
    let mut kinds = BTreeSet::new();
    for object in all_objects(cluster, &[]).await? {
        let component = &object["metadata"]["labels"]["app.kubernetes.io/component"];
        let expected = json!({
            "app.kubernetes.io/component": component, "app.kubernetes.io/instance": "claim-rollout",
            "app.kubernetes.io/name": "claim-rollout",
        });
        if let Some(selector) = selector(&object) {
            assert_eq!(*selector, expected, "{object:#}");
            kinds.insert(format!("{} of the {component}", object["kind"]));
        }
        if object["kind"] == "Deployment" {
            let template = &object["spec"]["template"];
            let spread = &template["spec"]["topologySpreadConstraints"][0]["labelSelector"]["matchLabels"];
            assert_eq!(*spread, expected, "{object:#}");
            for (key, value) in expected.as_object().into_iter().flatten() {
                assert_eq!(template["metadata"]["labels"][key], *value, "{object:#}");
            }
        }
    }
    assert_eq!(kinds.len(), 8, "{kinds:?}");
    Ok(())
}

/// Values, the image, and the module of the policy.
const IMAGES: [(&[&str], &str, &str); 5] = [
    (
        &[],
        "ghcr.io/claim-rollout/claim-rollout:VERSION",
        "registry://ghcr.io/claim-rollout/policy:vVERSION",
    ),
    (
        &["global.imageRegistry=mirror:5000"],
        "mirror:5000/claim-rollout/claim-rollout:VERSION",
        "registry://mirror:5000/claim-rollout/policy:vVERSION",
    ),
    (
        &[
            "image.registry=a",
            "image.repository=b/c",
            "image.tag=d",
            "policy.image.tag=e",
        ],
        "a/b/c:d",
        "registry://ghcr.io/claim-rollout/policy:e",
    ),
    (
        &[
            "image.tag=d",
            "image.digest=sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
            "policy.image.digest=sha256:fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210",
        ],
        "ghcr.io/claim-rollout/claim-rollout@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
        "registry://ghcr.io/claim-rollout/policy@sha256:fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210",
    ),
    (
        &["policy.module=https://example.com/policy.wasm", "policy.image.tag=e"],
        "ghcr.io/claim-rollout/claim-rollout:VERSION",
        "https://example.com/policy.wasm",
    ),
];

async fn images_follow_registry_tag_and_digest(cluster: &Cluster) -> anyhow::Result<()> {
    let chart: Value = serde_saphyr::from_str(&text("charts/claim-rollout/Chart.yaml")?)?;
    let version = chart["appVersion"].as_str().context("a version")?;
    for (values, image, module) in IMAGES {
        let expected = |text: &str| text.replace("VERSION", version);
        let (mut images, mut modules) = (BTreeSet::new(), BTreeSet::new());
        for object in all_objects(cluster, values).await? {
            let named = |value: &Value| value.as_str().map(str::to_owned);
            images.extend(named(&object["spec"]["template"]["spec"]["containers"][0]["image"]));
            modules.extend(named(&object["spec"]["module"]));
        }
        assert_eq!(images, [expected(image)].into(), "{values:?}");
        assert_eq!(modules, [expected(module)].into(), "{values:?}");
    }
    Ok(())
}

/// A changed port is that of the argument, the container, the Service and the probes.
async fn ports_agree(cluster: &Cluster) -> anyhow::Result<()> {
    let values = [
        BUILTIN,
        "webhook.port=10250",
        "webhook.metricsPort=9090",
        "controller.port=9091",
    ];
    let objects = by_name(render(cluster, &values).await?)?;
    for (deployment, ports, flags) in [
        (
            DEPLOYMENTS[0],
            json!([["metrics", 9091]]),
            &["--health-address=0.0.0.0:9091"][..],
        ),
        (
            DEPLOYMENTS[1],
            json!([["https", 10250], ["metrics", 9090]]),
            &["--address=0.0.0.0:10250", "--metrics-address=0.0.0.0:9090"],
        ),
    ] {
        let container = &pod(&objects, deployment)["containers"][0];
        let found = container["ports"].as_array().context("ports")?.iter();
        let found: Vec<Value> = found.map(|port| json!([port["name"], port["containerPort"]])).collect();
        assert_eq!(json!(found), ports, "{deployment}");
        let given = arguments(&objects, deployment);
        ensure!(
            flags.iter().all(|flag| given.iter().any(|given| given == flag)),
            "{given:?}"
        );
        for probe in ["livenessProbe", "readinessProbe"] {
            assert_eq!(container[probe]["httpGet"]["port"], ports[0][0], "{deployment}");
        }
    }
    let service = &objects["Service claim-rollout-webhook"]["spec"]["ports"];
    assert_eq!(
        (&service[0]["port"], &service[0]["targetPort"]),
        (&json!(443), &json!("https"))
    );
    Ok(())
}

/// Values, the priority class that is made, and the one of the Pods.
const PRIORITIES: [(&[&str], Option<&str>, Option<&str>); 4] = [
    (&[], Some("claim-rollout"), Some("claim-rollout")),
    (&["priorityClass.name=high"], Some("high"), Some("high")),
    (&["priorityClass.create=false"], None, None),
    (
        &["priorityClass.create=false", "priorityClass.name=high"],
        None,
        Some("high"),
    ),
];

async fn priority_class_is_made_or_named(cluster: &Cluster) -> anyhow::Result<()> {
    for (values, made, used) in PRIORITIES {
        let objects = by_name(render(cluster, &[values, &[BUILTIN]].concat()).await?)?;
        let found = objects.keys().find_map(|name| name.strip_prefix("PriorityClass "));
        assert_eq!(found, made, "{values:?}");
        for deployment in DEPLOYMENTS {
            assert_eq!(
                pod(&objects, deployment)["priorityClassName"].as_str(),
                used,
                "{values:?}"
            );
        }
    }
    Ok(())
}

/// The conditions for PVCs and for Pods have the accounts of the settings.
async fn accounts_reach_the_conditions(cluster: &Cluster) -> anyhow::Result<()> {
    let value = "policy.settings.statefulSetControllerAccounts={system:serviceaccount:kube-system:sets,it's}";
    let expected = r#"request.userInfo.username in ["system:serviceaccount:kube-system:sets", "it's"]"#;
    let kubewarden = by_name(render(cluster, &[value]).await?)?;
    let builtin = by_name(render(cluster, &[value, BUILTIN]).await?)?;
    let webhooks = &builtin["MutatingWebhookConfiguration claim-rollout-webhook"]["webhooks"];
    for conditions in [
        &kubewarden["ClusterAdmissionPolicy claim-rollout-claims"]["spec"]["matchConditions"],
        &kubewarden["ClusterAdmissionPolicy claim-rollout-pods"]["spec"]["matchConditions"],
        &webhooks[1]["matchConditions"],
        &webhooks[2]["matchConditions"],
    ] {
        assert_eq!(conditions[0]["expression"], expected);
    }
    Ok(())
}

async fn time_of_the_policy_reaches_both_modes(cluster: &Cluster) -> anyhow::Result<()> {
    let value = "policy.timeoutSeconds=9";
    let kubewarden = by_name(render(cluster, &[value]).await?)?;
    let builtin = by_name(render(cluster, &[value, BUILTIN]).await?)?;
    let webhooks = &builtin["MutatingWebhookConfiguration claim-rollout-webhook"]["webhooks"];
    assert_eq!(
        kubewarden["ClusterAdmissionPolicy claim-rollout"]["spec"]["timeoutSeconds"],
        9
    );
    assert_eq!(webhooks[0]["timeoutSeconds"], 9);
    // A PVC or a Pod does not wait for long: nothing is lost without an answer.
    assert_eq!(
        kubewarden["ClusterAdmissionPolicy claim-rollout-pods"]["spec"]["timeoutSeconds"],
        2
    );
    assert_eq!(webhooks[2]["timeoutSeconds"], 2);
    Ok(())
}

/// The webhook gets the certificate from the Secret of the Certificate, and has no right to write.
async fn cert_manager_makes_the_certificate(cluster: &Cluster) -> anyhow::Result<()> {
    let objects = by_name(render(cluster, &CERT_MANAGER).await?)?;
    let certificate = &objects["Certificate claim-rollout-webhook"]["spec"];
    assert_eq!(
        certificate["dnsNames"],
        json!(["claim-rollout-webhook.claim-rollout.svc"])
    );
    assert_eq!(
        certificate["issuerRef"],
        json!({"kind": "Issuer", "name": "claim-rollout-webhook"})
    );
    ensure!(objects.contains_key("Issuer claim-rollout-webhook"));
    let volumes = &pod(&objects, DEPLOYMENTS[1])["volumes"];
    assert_eq!(volumes[1]["secret"]["secretName"], certificate["secretName"]);
    let given = arguments(&objects, DEPLOYMENTS[1]);
    ensure!(given.contains(&"--certificates=/certificates".to_owned()), "{given:?}");
    let annotations = &objects["MutatingWebhookConfiguration claim-rollout-webhook"]["metadata"]["annotations"];
    let inject = json!({"cert-manager.io/inject-ca-from": "claim-rollout/claim-rollout-webhook"});
    assert_eq!(*annotations, inject);
    let rules = objects["ClusterRole claim-rollout-webhook"]["rules"].to_string();
    ensure!(!rules.contains("update") && !rules.contains("webhook"), "{rules}");
    for absent in ["Role", "RoleBinding", "Secret"] {
        ensure!(
            !objects.contains_key(&format!("{absent} claim-rollout-webhook")),
            "{absent}"
        );
    }

    let own = r#"webhook.certManager.issuerRef={"kind":"ClusterIssuer","name":"ours"}"#;
    let objects = by_name(render(cluster, &[&CERT_MANAGER[..], &[own]].concat()).await?)?;
    ensure!(
        !objects.keys().any(|name| name.starts_with("Issuer ")),
        "an Issuer of its own"
    );
    let issuer = &objects["Certificate claim-rollout-webhook"]["spec"]["issuerRef"];
    assert_eq!(*issuer, json!({"kind": "ClusterIssuer", "name": "ours"}));
    Ok(())
}

/// Every value of a component, and the place in its Deployment.
async fn values_reach_the_pods(cluster: &Cluster) -> anyhow::Result<()> {
    for (component, deployment) in ["controller", "webhook"].into_iter().zip(DEPLOYMENTS) {
        let mut values = vec![BUILTIN.to_owned()];
        values.extend(
            [
                r#"extraArgs=["--more"]"#,
                r#"extraEnv=[{"name":"HTTPS_PROXY","value":"http://proxy"}]"#,
                r#"podLabels={"a":"b"}"#,
                r#"podAnnotations={"c":"d"}"#,
                r#"serviceAccount.annotations={"e":"f"}"#,
                r#"topologySpreadConstraints=[{"maxSkew":2,"topologyKey":"zone","whenUnsatisfiable":"DoNotSchedule"}]"#,
                "podDisruptionBudget.enabled=false",
            ]
            .map(|value| format!("{component}.{value}")),
        );
        values.push("webhook.hostNetwork=true".to_owned());
        let values: Vec<&str> = values.iter().map(String::as_str).collect();
        let objects = by_name(render(cluster, &values).await?)?;
        let pod = pod(&objects, deployment);
        let metadata = &objects[deployment]["spec"]["template"]["metadata"];
        ensure!(arguments(&objects, deployment).contains(&"--more".to_owned()));
        let env = json!([{"name": "HTTPS_PROXY", "value": "http://proxy"}]);
        assert_eq!(pod["containers"][0]["env"], env);
        assert_eq!(metadata["labels"]["a"], "b");
        assert_eq!(pod["topologySpreadConstraints"][0]["maxSkew"], 2);
        let account = &objects[&format!("ServiceAccount claim-rollout-{component}")];
        assert_eq!(account["metadata"]["annotations"], json!({"e": "f"}));
        let budget = format!("PodDisruptionBudget claim-rollout-{component}");
        ensure!(!objects.contains_key(&budget), "{budget}");
        assert_eq!(pod["hostNetwork"] == true, component == "webhook");
        ensure!(!objects[deployment].to_string().contains("runAsUser"), "{deployment}");
    }
    Ok(())
}
