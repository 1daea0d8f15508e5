//! A server-side apply of the live templates withdraws the staged change; an update by the same field manager does not,
//! and neither does a patch that only puts `managedFields` in order.

use anyhow::ensure;

use crate::world::namespace::TestNamespace;
use crate::world::served::Policies;
use crate::world::web::Web;
use crate::world::{Output, World};

/// Applies a StatefulSet of this size and image as the field manager `ops`.
async fn apply(ns: &TestNamespace<'_>, size: &str, image: u32) -> anyhow::Result<Output> {
    let set = Web::replicas(0).size(size).plain().image(&image.to_string());
    let arguments = [
        "apply",
        "--server-side",
        "--field-manager=ops",
        "--force-conflicts",
        "-f",
        "-",
    ];
    ns.done(&arguments, &set).await
}

pub(super) async fn apply_of_live_templates_withdraws_and_update_does_not(env: &World) -> anyhow::Result<()> {
    let ns = &env.namespace("going-back").await?;
    let _served = Policies::of_sets(&[ns])?.serve(&env.cluster).await?;
    apply(ns, "1Gi", 1).await?;
    // Managed fields have times in whole seconds, and most of these requests fall into one second.
    for image in 2..7 {
        apply(ns, "2Gi", image).await?;
        ensure!(!ns.staged_change().await?.is_null(), "nothing was staged");
        let output = apply(ns, "1Gi", image + 1).await?;
        ensure!(
            output.stderr.contains("withdrew data 1Gi -> 2Gi"),
            "{image}: {output:?}"
        );
        ensure!(
            ns.staged_change().await?.is_null(),
            "{image}: the staged change is still there"
        );
    }

    apply(ns, "2Gi", 7).await?;
    let change = ns.staged_change().await?;
    for image in 8..10 {
        let image = format!("main=example/main:{image}");
        let arguments = ["set", "image", "statefulset/web", &image, "--field-manager=ops"];
        let output = ns.done(&arguments, "").await?;
        ensure!(output.stderr.contains("data 1Gi -> 2Gi is still staged"), "{output:?}");
        ensure!(ns.staged_change().await? == change, "an update by the manager withdrew");
    }
    Ok(())
}

/// On the way from client-side apply, kubectl applies, puts `managedFields` in order by a patch of its own, and applies
/// once more.
pub(super) async fn way_to_server_side_apply_withdraws_nothing(env: &World) -> anyhow::Result<()> {
    let ns = &env.namespace("to-server-side").await?;
    let _served = Policies::of_sets(&[ns])?.serve(&env.cluster).await?;
    ns.target(&Web::replicas(0).plain()).await?;
    let server_side = ["apply", "--server-side", "--force-conflicts", "-f", "-"];
    let output = ns.done(&server_side, &Web::replicas(0).size("2Gi").plain()).await?;
    ensure!(
        output.stderr.matches("claim-rollout: ").count() == 1 && output.stderr.contains("staged data 1Gi -> 2Gi"),
        "{output:?}"
    );
    let managers = ns.set().await?["metadata"]["managedFields"].take();
    let entries = managers.as_array().into_iter().flatten();
    let clients = entries.filter(|entry| entry["manager"] == "kubectl-client-side-apply");
    ensure!(clients.count() == 0, "kubectl did not put them in order: {managers:#}");
    let change = ns.staged_change().await?;
    ensure!(change["manager"] == "kubectl", "{change:#}");
    Ok(())
}
