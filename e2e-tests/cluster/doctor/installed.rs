//! Faults of an installation that the doctor finds. `src/cli/doctor` has a row for each; these are the kinds of fixes.

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};

use super::examined::{CONFIGURATION, Examined};
use crate::world::until;
use crate::world::webhook::Server;

const SETS: &str = "mutatingwebhookconfiguration/claim-rollout-webhook[claim-rollout.claim-rollout.io]";
const ASKED: &str = "admission of StatefulSets";
const ROLE: &str = "clusterrole/claim-rollout-controller";

/// What is broken, as a JSON patch of an object, and the object of the finding. The command of the finding fixes it.
const BROKEN: [(&str, &str, &str); 5] = [
    (
        "customresourcedefinition/claimrollouts.claim-rollout.io",
        r#"[{"op": "remove", "path": "/spec/versions/0/additionalPrinterColumns/0"}]"#,
        "customresourcedefinition/claimrollouts.claim-rollout.io",
    ),
    (
        CONFIGURATION,
        r#"[{"op": "replace", "path": "/webhooks/0/failurePolicy", "value": "Ignore"}]"#,
        SETS,
    ),
    (
        "validatingadmissionpolicy/claim-rollout-staged",
        r#"[{"op": "replace", "path": "/spec/failurePolicy", "value": "Ignore"}]"#,
        "validatingadmissionpolicy/claim-rollout-staged",
    ),
    (
        "validatingadmissionpolicybinding/claim-rollout-staged",
        r#"[{"op": "replace", "path": "/spec/validationActions", "value": ["Audit"]}]"#,
        "validatingadmissionpolicybinding/claim-rollout-staged",
    ),
    (
        ROLE,
        r#"[{"op": "remove", "path": "/rules/EVENTS"}]"#,
        "serviceaccount/claim-rollout/claim-rollout-controller",
    ),
];

pub(super) async fn broken_parts_are_found_and_fixed(env: &mut Examined) -> anyhow::Result<()> {
    let role: Value = serde_json::from_str(&env.saved(ROLE).await?)?;
    let mut rules = role["rules"].as_array().into_iter().flatten();
    let events = rules.position(|rule| rule["resources"] == json!(["events"]));
    let events = events.context("a rule for Events")?.to_string();
    for (object, patch, finding) in BROKEN {
        env.edit(object, &patch.replace("EVENTS", &events)).await?;
        env.fixed(("Error", finding)).await?;
    }
    for object in ["validatingadmissionpolicybinding", "validatingadmissionpolicy"] {
        let object = format!("{object}/claim-rollout-staged");
        env.typed(&format!("delete {object}")).await?;
        env.fixed(("Error", &object)).await?;
    }
    env.typed("delete validatingadmissionpolicies,validatingadmissionpolicybindings --all")
        .await?;
    env.fixed(("Warning", "validatingadmissionpolicies")).await
}

/// What a restart of the webhook, or the next installation, repairs.
pub(super) async fn unreachable_webhook_is_found(env: &mut Examined) -> anyhow::Result<()> {
    let saved = env.saved(CONFIGURATION).await?;
    let elsewhere = r#"[{"op": "replace", "path": "/webhooks/0/clientConfig/url", "value": "https://127.0.0.1:1/validate/claim-rollout"}]"#;
    env.edit(CONFIGURATION, elsewhere).await?;
    env.diagnosed(("Error", ASKED)).await?;
    env.done(&["replace", "-f", "-"], &saved).await?;
    env.until_healthy().await?;
    let untrusted = r#"[{"op": "remove", "path": "/webhooks/0/clientConfig/caBundle"}]"#;
    env.edit(CONFIGURATION, untrusted).await?;
    env.diagnosed(("Error", SETS)).await?;
    Server::begin(&env.world.cluster).await?.terminate().await?;
    env.until_healthy().await
}

/// Each kind that the user may not read is a finding; without the right to list StatefulSets there is no answer.
pub(super) async fn user_without_rights_gets_an_error(env: &mut Examined) -> anyhow::Result<()> {
    let kubeconfig = env.world.cluster.kubeconfig_for("bob", &[])?.display().to_string();
    let blind = env.run(&["doctor", "--kubeconfig", &kubeconfig]).await?;
    let forbidden = blind.stderr.starts_with("error: statefulsets.apps is forbidden: ");
    ensure!(
        blind.code == Some(2) && blind.stdout.is_empty() && forbidden,
        "{blind:?}"
    );

    env.typed("create clusterrole sets --verb=list --resource=statefulsets.apps,persistentvolumeclaims")
        .await?;
    env.typed("create clusterrolebinding bob --clusterrole=sets --user=bob")
        .await?;
    let arguments = ["doctor", "-o", "json", "--kubeconfig", &kubeconfig];
    let ask = async || env.printed(&arguments).await;
    let (_, items) = until("bob to see sets", ask, |(code, _)| *code == Some(0)).await?;
    let warned = items.iter().filter(|item| item["severity"] == "Warning");
    ensure!(warned.count() == 12 && items.len() == 12, "{items:#?}");
    Ok(())
}
