//! The output of kubectl in the middle and at the end of a rollout.

use anyhow::{Context as _, ensure};

use crate::world::World;
use crate::world::namespace::{TestNamespace, text};
use crate::world::web::Web;

/// `kubectl get claimrollouts`, line by line, without the ages.
async fn table(ns: &TestNamespace<'_>) -> anyhow::Result<Vec<String>> {
    let output = ns.typed("get claimrollouts").await?;
    let line = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        words[..words.len().saturating_sub(1)].join(" ")
    };
    Ok(output.stdout.lines().map(line).collect())
}

/// The Events of our controller in `kubectl describe`: type, reason and message of each.
async fn described(ns: &TestNamespace<'_>, kind: &str, name: &str) -> anyhow::Result<Vec<String>> {
    let output = ns.typed(&format!("describe {kind} {name}")).await?;
    let (_, events) = output.stdout.split_once("\nEvents:").context("Events")?;
    let ours = events
        .lines()
        .filter_map(|line| line.split_once("claim-rollout.io/controller"));
    let lines = ours.map(|(before, message)| {
        let words: Vec<&str> = before.split_whitespace().take(2).collect();
        format!("{}: {}", words.join(" "), message.trim())
    });
    Ok(lines.collect())
}

async fn wait(ns: &TestNamespace<'_>, seconds: u32) -> anyhow::Result<(bool, String)> {
    let timeout = format!("--timeout={seconds}s");
    let arguments = ["wait", "--for=condition=Ready", "claimrollout/web", &timeout];
    let output = ns.kubectl(&arguments, "").await?;
    Ok((output.success, output.stdout + &output.stderr))
}

pub(super) async fn kubectl_shows_the_rollout_and_waits_for_its_end(env: &World) -> anyhow::Result<()> {
    let ns = env.with_set("stopped-words", 3).await?;
    env.barriers.hold_claim(&ns.namespace, "data-web-1");
    ns.target(&Web::replicas(3).size("2Gi").image("2")).await?;
    let held = env.barriers.until_held(&ns.namespace).await;
    held.with_context(|| ns.log())?;
    let revision = text(&ns.staged_change().await?["revision"]);
    let head = "NAME SET POLICY REVISION UPDATED READY STATE".to_owned();
    let row = |numbers: &str| format!("web web InPlace {revision} {numbers}");
    let lines = table(&ns).await?;
    ensure!(lines == [head.clone(), row("1 1 RollingOut")], "{lines:?}");
    let all = ns.typed("get all").await?.stdout;
    ensure!(all.contains("\nclaimrollout.claim-rollout.io/web "), "{all}");
    let (met, output) = wait(&ns, 1).await?;
    ensure!(
        !met && output == "error: timed out waiting for the condition on claimrollouts/web\n",
        "{output}"
    );

    env.barriers.open(&ns.namespace);
    let (met, output) = wait(&ns, 60).await?;
    ensure!(
        met && output == "claimrollout.claim-rollout.io/web condition met\n",
        "{output}"
    );
    let lines = table(&ns).await?;
    ensure!(lines == [head, row("3 3 Complete")], "{lines:?}");
    ns.until_event("ClaimRolloutComplete").await?;
    let mut of_set = described(&ns, "statefulset", "web").await?;
    let ready = |claim: &str| format!("Normal ClaimReady: {claim}: capacity 2Gi");
    let updated = |claim: &str| format!("Normal ClaimUpdated: {claim}: revision {revision}, storage 2Gi");
    let expected = [
        ready("data-web-0"),
        ready("data-web-1"),
        ready("data-web-2"),
        format!("Normal ClaimRolloutComplete: revision {revision}: All PVCs are updated and ready"),
        updated("data-web-0"),
        updated("data-web-1"),
        updated("data-web-2"),
        format!(
            "Normal ClaimsStaged: Updating 3 PVCs of template \"data\" to revision {revision}, highest ordinal first"
        ),
    ];
    // Events of the same second are in any order; the barrier held for longer.
    let place = |line: &String| of_set.iter().position(|event| event == line);
    let (before, after) = ([&expected[7], &expected[6]], [&expected[3], &expected[4]]);
    let sorted = before
        .iter()
        .all(|early| after.iter().all(|late| place(early) < place(late)));
    ensure!(sorted, "{of_set:#?}");
    of_set.sort();
    ensure!(of_set == expected, "{of_set:#?}");
    let mut of_claim = described(&ns, "pvc", "data-web-1").await?;
    of_claim.sort();
    ensure!(
        of_claim == [ready("data-web-1"), updated("data-web-1")],
        "{of_claim:#?}"
    );
    kubectl_waits_for_the_next_revision(&ns).await
}

/// Right after another change the conditions may still be those of the last one, so the wait is for the revision first.
async fn kubectl_waits_for_the_next_revision(ns: &TestNamespace<'_>) -> anyhow::Result<()> {
    ns.target(&Web::replicas(3).size("3Gi").image("2")).await?;
    let revision = text(&ns.staged_change().await?["revision"]);
    let seen = format!("--for=jsonpath={{.spec.revision}}={revision}");
    ns.typed(&format!("wait {seen} claimrollout/web --timeout=60s")).await?;
    let (met, output) = wait(ns, 60).await?;
    ensure!(met, "{output}");
    for claim in ns.claims().await? {
        ensure!(claim["status"]["capacity"]["storage"] == "3Gi", "{claim:#}");
    }
    Ok(())
}
