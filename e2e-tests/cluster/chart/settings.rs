//! Values of the chart, and the objects that they change.

use anyhow::{Context as _, ensure};
use claim_rollout::api::Settings;
use serde_json::{Value, json};

use super::deployed::{NETWORK, Objects, WARN, by_name};
use super::{folder, helm, render};
use crate::world::{Cluster, base64};

pub(super) async fn check_settings(cluster: &Cluster) -> anyhow::Result<()> {
    settings_reach_the_policy_and_the_controller(cluster).await?;
    empty_list_is_not_a_missing_list(cluster).await?;
    settings_reach_the_guard(cluster).await?;
    retention_setting_decides_object_and_failure_policy(cluster).await?;
    without_gate_no_object_for_pods(cluster).await?;
    one_namespace_limits_policy_and_controller(cluster).await?;
    other_namespace_reaches_the_policy(cluster).await?;
    external_certificate_removes_rights(cluster).await?;
    network_policy_admits_named_sources(cluster).await?;
    wrong_value_fails_with_its_name(cluster).await
}

/// The policy and the controller get the same settings.
async fn settings_reach_the_policy_and_the_controller(cluster: &Cluster) -> anyhow::Result<()> {
    let values = [
        "policy.settings.shrink=Recover",
        "policy.settings.ownedSets=Stage",
        "policy.settings.reservedKeyPrefixes={example.com/,example.org/}",
        WARN,
    ];
    let settings = json!({
        "defaultUpdatePolicy": "InPlace", "ownedSets": "Stage",
        "reservedKeyPrefixes": ["example.com/", "example.org/"], "retention": "Warn", "shrink": "Recover",
    });
    let objects = by_name(render(cluster, &values).await?)?;
    for policy in ["", "-claims", "-pods"] {
        let policy = &objects[&format!("ClusterAdmissionPolicy claim-rollout{policy}")];
        assert_eq!(policy["spec"]["settings"], settings);
    }
    let mut of_retention = settings.clone();
    of_retention["mode"] = "ValidateOnly".into();
    assert_eq!(
        objects["ClusterAdmissionPolicy claim-rollout-retention"]["spec"]["settings"],
        of_retention
    );
    let values = [&values[..], &["admission=builtin"]].concat();
    let builtin = by_name(render(cluster, &values).await?)?;
    for (objects, readers) in [(&objects, &["controller"][..]), (&builtin, &["controller", "webhook"])] {
        assert_eq!(
            objects["ConfigMap claim-rollout-settings"]["data"]["settings.yaml"],
            settings
        );
        for reader in readers {
            let pod = &objects[&format!("Deployment claim-rollout-{reader}")]["spec"]["template"]["spec"];
            let arguments = [reader, "--log-format=json", "--settings=/settings/settings.yaml"];
            let given: Vec<String> = serde_json::from_value(pod["containers"][0]["args"].clone())?;
            assert_eq!(given[..3], arguments, "{given:?}");
            assert_eq!(pod["volumes"][0]["configMap"]["name"], "claim-rollout-settings");
        }
    }
    Ok(())
}

/// An empty list of reserved domains reaches both the policy and the controller. Without the list, several domains are
/// reserved.
async fn empty_list_is_not_a_missing_list(cluster: &Cluster) -> anyhow::Result<()> {
    let objects = by_name(render(cluster, &["policy.settings.reservedKeyPrefixes=[]"]).await?)?;
    let settings = json!({"reservedKeyPrefixes": []});
    let of_policy = &objects["ClusterAdmissionPolicy claim-rollout"]["spec"]["settings"];
    let of_controller = &objects["ConfigMap claim-rollout-settings"]["data"]["settings.yaml"];
    for found in [of_policy, of_controller] {
        let found = json!({"reservedKeyPrefixes": found["reservedKeyPrefixes"]});
        assert_eq!(found, settings);
    }
    let text = settings.to_string();
    let read = Settings::read(&text).map_err(anyhow::Error::msg)?;
    assert!(read.reserved_key_prefixes.is_empty(), "{text}");
    Ok(())
}

/// `Deny` renders `failurePolicy: Fail`. Without the setting there is no object for retention.
async fn retention_setting_decides_object_and_failure_policy(cluster: &Cluster) -> anyhow::Result<()> {
    for (setting, expected) in [("Ignore", None), ("Warn", Some("Ignore")), ("Deny", Some("Fail"))] {
        let value = format!("policy.settings.retention={setting}");
        let kubewarden = by_name(render(cluster, &[&value]).await?)?;
        let policy = kubewarden.get("ClusterAdmissionPolicy claim-rollout-retention");
        let of_policy = policy.and_then(|policy| policy["spec"]["failurePolicy"].as_str());
        let builtin = by_name(render(cluster, &[&value, "admission=builtin"]).await?)?;
        let configuration = builtin.get("ValidatingWebhookConfiguration claim-rollout-webhook");
        let of_webhook = configuration.and_then(|object| object["webhooks"][0]["failurePolicy"].as_str());
        assert_eq!((of_policy, of_webhook), (expected, expected), "{setting}");
    }
    Ok(())
}

/// Without the gate there is no object for Pods; nothing else differs.
async fn without_gate_no_object_for_pods(cluster: &Cluster) -> anyhow::Result<()> {
    let kubewarden = by_name(render(cluster, &[]).await?)?;
    let mut expected = kubewarden.clone();
    let policy = expected.remove("ClusterAdmissionPolicy claim-rollout-pods");
    ensure!(policy.is_some(), "no policy for Pods");
    assert_eq!(by_name(render(cluster, &["gate.enabled=false"]).await?)?, expected);

    let webhooks = async |values: &[&str]| -> anyhow::Result<Vec<Value>> {
        let objects = by_name(render(cluster, &[values, &["admission=builtin"]].concat()).await?)?;
        let configuration = &objects["MutatingWebhookConfiguration claim-rollout-webhook"];
        let mut webhooks = configuration["webhooks"].as_array().cloned().context("webhooks")?;
        // The certificate and the path are made anew each time.
        webhooks
            .iter_mut()
            .for_each(|webhook| drop(webhook["clientConfig"].take()));
        Ok(webhooks)
    };
    let mut expected = webhooks(&[]).await?;
    let gate = expected.pop().context("a webhook for Pods")?;
    assert_eq!(gate["name"], "claim-rollout-pods.claim-rollout.io");
    assert_eq!(webhooks(&["gate.enabled=false"]).await?, expected);
    Ok(())
}

/// The controller has rights in one namespace and watches only it, and the policy is called for it alone.
async fn one_namespace_limits_policy_and_controller(cluster: &Cluster) -> anyhow::Result<()> {
    let selector = json!({"matchLabels": {"kubernetes.io/metadata.name": "team-a"}});
    let values = [WARN, "onlyNamespace=team-a"];
    let optional = [
        "features.restart=true",
        "features.reCreate=true",
        "features.openkruise=true",
        "features.replaceSets=true",
    ];
    let objects = by_name(render(cluster, &[&values[..], &optional].concat()).await?)?;
    for policy in ["", "-claims", "-pods", "-retention"] {
        let policy = &objects[&format!("ClusterAdmissionPolicy claim-rollout{policy}-team-a")];
        assert_eq!(policy["spec"]["namespaceSelector"], selector);
    }
    for kind in ["Role", "RoleBinding"] {
        let namespace =
            |part: &str| &objects[&format!("{kind} claim-rollout-controller{part}")]["metadata"]["namespace"];
        for part in ["", "-evict-pods", "-recreate", "-openkruise", "-replace-sets"] {
            assert_eq!(*namespace(part), "team-a", "{kind} {part}");
        }
        // The journals are where the controller is.
        assert_eq!(namespace("-journals"), namespace("-lease"));
    }
    let deployment = &objects["Deployment claim-rollout-controller"];
    let arguments = &deployment["spec"]["template"]["spec"]["containers"][0]["args"];
    assert!(
        arguments
            .as_array()
            .is_some_and(|all| all.contains(&json!("--namespace=team-a")))
    );
    // Cluster-scoped objects with names that another release could have.
    let own = |name: &&String| {
        let is_of_cluster = ["ClusterRole", "ClusterAdmissionPolicy"]
            .iter()
            .any(|kind| name.starts_with(kind));
        is_of_cluster && !name.ends_with("-team-a")
    };
    assert_eq!(objects.keys().filter(own).collect::<Vec<_>>(), [""; 0]);

    let builtin = by_name(render(cluster, &[&values[..], &["admission=builtin"]].concat()).await?)?;
    for kind in ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"] {
        let webhooks = builtin[&format!("{kind} claim-rollout-webhook")]["webhooks"].as_array();
        for webhook in webhooks.context("webhooks")? {
            assert_eq!(webhook["namespaceSelector"], selector, "{webhook:#}");
        }
    }
    Ok(())
}

/// With an external certificate the webhook has no right to write: the chart renders what the webhook would write.
async fn external_certificate_removes_rights(cluster: &Cluster) -> anyhow::Result<()> {
    let secret = "0123456789abcdef-012345678";
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

/// A NetworkPolicy limits who reaches the webhook.
async fn network_policy_admits_named_sources(cluster: &Cluster) -> anyhow::Result<()> {
    let name = "NetworkPolicy claim-rollout-webhook";
    let off = by_name(render(cluster, &["admission=builtin"]).await?)?;
    assert!(!off.contains_key(name));
    let on = by_name(render(cluster, &[&["admission=builtin"], &NETWORK[..]].concat()).await?)?;
    let expected =
        json!([{"ports": [{"port": "https", "protocol": "TCP"}], "from": [{"ipBlock": {"cidr": "10.0.0.0/28"}}]}]);
    assert_eq!(on[name]["spec"]["ingress"], expected);
    Ok(())
}

/// In another namespace the policy gets the account of the controller there.
async fn other_namespace_reaches_the_policy(cluster: &Cluster) -> anyhow::Result<()> {
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
    let mut objects = by_name(objects)?;
    let account = "system:serviceaccount:storage:claim-rollout-controller";
    assert_eq!(guards_with(&objects, &format!(r#"in [\"{account}\"]"#)).len(), 5);
    let policy = objects
        .remove("ClusterAdmissionPolicy claim-rollout")
        .context("the policy")?;
    let settings = json!({"controllerAccounts": [account], "defaultUpdatePolicy": "InPlace"});
    assert_eq!(policy["spec"]["settings"], settings);
    Ok(())
}

/// The names of the guard's rendered policies with this text in an expression.
fn guards_with<'a>(objects: &'a Objects, text: &str) -> Vec<&'a str> {
    let policies = objects.iter().filter(|(name, object)| {
        name.starts_with("ValidatingAdmissionPolicy ") && object["spec"].to_string().contains(text)
    });
    policies
        .map(|(name, _)| name.split(' ').next_back().unwrap_or_default())
        .collect()
}

/// The guard follows the settings: the accounts, and who may stage a change.
async fn settings_reach_the_guard(cluster: &Cluster) -> anyhow::Result<()> {
    let guard = [
        "claim-rollout-controller-persistentvolumeclaims",
        "claim-rollout-controller-statefulsets",
        "claim-rollout-creating",
        "claim-rollout-replacing",
        "claim-rollout-staged",
    ];
    let accounts = [
        "policy.settings.controllerAccounts={system:serviceaccount:storage:rollouts,system:serviceaccount:claim-rollout:claim-rollout-controller}",
    ];
    let objects = by_name(render(cluster, &accounts).await?)?;
    // JSON within JSON.
    let both = r#"request.userInfo.username in [\"system:serviceaccount:claim-rollout:claim-rollout-controller\", \"system:serviceaccount:storage:rollouts\"]"#;
    assert_eq!(guards_with(&objects, both), guard);
    let right = "variables.claims.check('patch')";
    assert_eq!(guards_with(&objects, right), ["claim-rollout-staged"]);

    for (authority, expected) in [
        ("RequirePatchOnPVCs", &["claim-rollout-staged"][..]),
        ("TrustSetEditors", &[]),
    ] {
        let value = format!("policy.settings.authority={authority}");
        let objects = by_name(render(cluster, &[&value]).await?)?;
        assert_eq!(guards_with(&objects, right), expected, "{authority}");
        assert_eq!(guards_with(&objects, ""), guard, "{authority}");
    }
    let objects = by_name(render(cluster, &["guard.enabled=false"]).await?)?;
    let left = objects
        .keys()
        .filter(|name| name.starts_with("ValidatingAdmissionPolicy"));
    assert_eq!(left.count(), 0);
    Ok(())
}

/// A wrong value, and the error of Helm.
const WRONG: [(&str, &str); 19] = [
    ("gate.enabled=maybe", "at '/gate/enabled': got string, want boolean"),
    ("guard.enabled=maybe", "at '/guard/enabled': got string, want boolean"),
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
        "policy.retention=true",
        "at '/policy': additional properties 'retention' not allowed",
    ),
    (
        "policy.settings.retention=On",
        "at '/policy/settings/retention': value must be one of 'Ignore', 'Warn', 'Deny'",
    ),
    (
        "policy.settings.stageOwnedBy={Prometheus}",
        "at '/policy/settings/stageOwnedBy/0': 'Prometheus' does not match pattern",
    ),
    (
        "policy.settings.shrinks=Recover",
        "at '/policy/settings': additional properties 'shrinks' not allowed",
    ),
    (
        "policy.module=policy.wasm",
        "at '/policy/module': 'policy.wasm' does not match pattern",
    ),
    (
        "pullSecrets[0].name=registry",
        "at '': additional properties 'pullSecrets' not allowed",
    ),
    ("image.digest=0123", "at '/image/digest': '0123' does not match pattern"),
    ("webhook.port=https", "at '/webhook/port': got string, want integer"),
    (
        "webhook.path=0123456789abcdef0123456789abcdef",
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

async fn wrong_value_fails_with_its_name(cluster: &Cluster) -> anyhow::Result<()> {
    for (value, message) in WRONG {
        let output = helm(cluster, &["template", "claim-rollout"], &[value]).await?;
        assert!(
            !output.success && output.stderr.contains(message),
            "{value}: {output:?}"
        );
    }
    Ok(())
}
