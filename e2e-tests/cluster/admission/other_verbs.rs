//! Requests that change no template, to a StatefulSet with a staged change and to one without.

use anyhow::ensure;
use serde_json::{Value, json};

use crate::world::World;
use crate::world::namespace::{STAGED, TestNamespace, staged_change};
use crate::world::served::Policies;
use crate::world::web::Web;

const PHASE: &str = "claim-rollout.io/phase";

/// The part of the object that a request changes.
#[derive(Clone, Copy, Debug, PartialEq)]
enum About {
    /// Only `metadata`.
    Metadata,
    /// Something in `spec`.
    Spec,
}

/// The requests, in this order. kubectl has no dry run for a restart, so the patch that it sends comes before it.
const REQUESTS: [(About, &[&str]); 8] = [
    (About::Metadata, &["label", "statefulset", "web", "team=storage"]),
    (
        About::Metadata,
        &["annotate", "statefulset", "web", "example.com/note=hello"],
    ),
    (About::Spec, &["scale", "statefulset", "web", "--replicas=2"]),
    (
        About::Spec,
        &[
            "patch",
            "statefulset",
            "web",
            "--subresource=scale",
            "--type=merge",
            "-p",
            r#"{"spec":{"replicas":1}}"#,
        ],
    ),
    (About::Spec, &["set", "env", "statefulset/web", "A=b"]),
    (
        About::Spec,
        &[
            "patch",
            "statefulset",
            "web",
            "-p",
            r#"{"spec":{"template":{"metadata":{"annotations":{"kubectl.kubernetes.io/restartedAt":"then"}}}}}"#,
        ],
    ),
    (About::Spec, &["rollout", "restart", "statefulset/web"]),
    (
        About::Spec,
        &["patch", "statefulset", "web", "-p", r#"{"spec":{"minReadySeconds":1}}"#],
    ),
];

/// Sends one request, first as a dry run.
async fn send(ns: &TestNamespace<'_>, about: About, arguments: &[&str]) -> anyhow::Result<()> {
    let before = ns.settled().await?;
    if arguments[0] != "rollout" {
        let output = ns.done(&[arguments, &["--dry-run=server"]].concat(), "").await?;
        ensure!(output.stderr.is_empty(), "{arguments:?}: {output:?}");
        ensure!(ns.set().await? == before, "{arguments:?}: a dry run changed the set");
    }
    let output = ns.done(arguments, "").await?;
    ensure!(output.stderr.is_empty(), "{arguments:?}: {output:?}");
    let after = ns.set().await?;
    let generation = |set: &Value| set["metadata"]["generation"].as_u64().unwrap_or_default();
    let steps = u64::from(about == About::Spec);
    ensure!(
        generation(&after) == generation(&before) + steps,
        "{arguments:?}: {after:#}"
    );
    let kept = |set: &Value| {
        let (annotations, spec) = (&set["metadata"]["annotations"], &set["spec"]);
        let beside = [STAGED, PHASE, "claim-rollout.io/ready"].map(|key| &annotations[key]);
        json!([beside, spec["volumeClaimTemplates"], spec["updateStrategy"]])
    };
    ensure!(kept(&after) == kept(&before), "{arguments:?}: {after:#}");
    Ok(())
}

/// Sends all requests to one StatefulSet, and then deletes it.
async fn live(ns: &TestNamespace<'_>) -> anyhow::Result<()> {
    for (about, arguments) in REQUESTS {
        send(ns, about, arguments).await?;
    }
    let before = ns.settled().await?;
    let claims = ns.claims().await?;
    let delete = ["delete", "statefulset", "web"];
    let output = ns.done(&[&delete[..], &["--dry-run=server"]].concat(), "").await?;
    ensure!(output.stderr.is_empty(), "{output:?}");
    ensure!(ns.set().await? == before, "a dry run changed the set");
    let output = ns.done(&delete, "").await?;
    ensure!(output.stderr.is_empty(), "{output:?}");
    ensure!(ns.set().await.is_err(), "the set is still there");
    let uids = |claims: &[Value]| {
        claims
            .iter()
            .map(|claim| claim["metadata"]["uid"].clone())
            .collect::<Vec<_>>()
    };
    ensure!(uids(&ns.claims().await?) == uids(&claims), "claims went with the set");
    Ok(())
}

pub(super) async fn scale_restart_and_delete_pass_and_keep_the_staged_change(env: &World) -> anyhow::Result<()> {
    let (plain, staged) = (
        &env.namespace("others-plain").await?,
        &env.namespace("others-staged").await?,
    );
    let served = Policies::of_sets(&[plain, staged])?
        .and_pods()?
        .serve(&env.cluster)
        .await?;
    plain.target(&Web::replicas(1).plain()).await?;
    let before = served.sets();
    live(plain).await?;
    ensure!(
        served.sets() == before,
        "the policy was asked about a set that does not concern it"
    );

    // Existing PVCs stay as they are, so no Pod waits for one.
    let set = |size: &str| Web::replicas(1).size(size).policy("OnClaimDelete");
    staged.target(&set("1Gi")).await?;
    staged.settled().await?;
    staged.target(&set("2Gi")).await?;
    let set = staged.set().await?;
    let phase = &set["metadata"]["annotations"][PHASE];
    ensure!(
        !staged_change(&set)?.is_null() && phase == "Staged",
        "nothing was staged: {set:#}"
    );
    let asked = served.pods();
    live(staged).await?;
    ensure!(served.pods() > asked, "no Pod was replaced");
    Ok(())
}
