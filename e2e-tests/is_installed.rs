//! What `deploy/` installs is what the controller needs, and no more.

use anyhow::Context as _;
use serde_json::{Value, json};

use crate::cluster::{Cluster, Options};
use crate::installation::{Installation, USER, deployed};
use crate::policy_host::CONCERNS_US;

/// The documents of a manifest.
fn manifest(file: &str) -> anyhow::Result<Value> {
    let text = std::fs::read_to_string(deployed(file)).with_context(|| file.to_owned())?;
    Ok(serde_saphyr::from_str(&text)?)
}

#[test]
fn the_deployed_policy_is_registered_as_the_tests_register_it() -> anyhow::Result<()> {
    let policy = manifest("policy.yaml")?;
    assert_eq!(
        policy["spec"]["matchConditions"],
        json!([{"name": "concerns-claim-rollout", "expression": CONCERNS_US}])
    );
    assert_eq!(policy["spec"]["failurePolicy"], "Fail");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_controller_starts_with_the_rights_that_deploy_gives_and_has_no_others() -> anyhow::Result<()> {
    let cluster = Cluster::start(Options::default()).await?;
    let installation = Installation::new(&cluster, json!({})).await?;
    let mut controller = installation.start_controller(&[]).await?;
    assert_eq!(controller.get("/healthz")?, (200, "ok".to_owned()));

    for (verb, resource, expected) in [
        ("patch", "persistentvolumeclaims", "yes"),
        ("patch", "statefulsets.apps", "yes"),
        ("create", "claimrollouts.claim-rollout.io", "yes"),
        ("create", "persistentvolumeclaims", "no"),
        ("update", "persistentvolumeclaims", "no"),
        ("delete", "persistentvolumeclaims", "no"),
        ("patch", "persistentvolumes", "no"),
        ("patch", "pods", "no"),
        ("delete", "pods", "no"),
        ("create", "statefulsets.apps", "no"),
        ("delete", "statefulsets.apps", "no"),
        ("get", "secrets", "no"),
        ("get", "nodes", "no"),
        ("impersonate", "users", "no"),
    ] {
        let answer = cluster
            .kubectl(&["auth", "can-i", verb, resource, "--as", USER], "")
            .await?;
        assert_eq!(answer.stdout.trim(), expected, "{verb} {resource}: {}", answer.stderr);
    }

    let deployment = deployed("controller.yaml");
    let deployment = deployment.to_str().context("a path in UTF-8")?;
    let applied = cluster
        .kubectl(&["apply", "--server-side", "--dry-run=server", "-f", deployment], "")
        .await?;
    assert!(applied.success && applied.stderr.is_empty(), "{applied:?}");

    let status = controller.terminate().await?;
    assert!(status.success(), "{status}: {}", controller.log());
    installation.stop().await?;
    cluster.stop();
    Ok(())
}
