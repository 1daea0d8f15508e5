//! A release of each shape goes through the table.

use std::time::Duration;

use anyhow::{Context as _, ensure};
use serde_json::Value;

use super::shape::{Broken, Shape};
use super::steps::{Does, Left, Step};
use crate::world::again::Unmoved;
use crate::world::helm::{Release, SERVER_SIDE, VERSION, warnings};
use crate::world::installation::JOURNALS;
use crate::world::namespace::{STAGED, condition, staged_change, text};
use crate::world::waits::is_observed;
use crate::world::{Output, World, until};

/// A release of a shape, and what was seen of it.
struct Play<'a> {
    shape: &'a Shape,
    release: Release<'a>,
    /// Whether the release began by server-side apply.
    server_side: bool,
    /// The last upgrade: the version of the chart, and the values.
    asked: (&'static str, String),
    /// The staged size, the image, and the Pods.
    staged: &'static str,
    image: u32,
    pods: Vec<Value>,
}

/// Plays a table with this shape by server-side or client-side apply.
pub(super) async fn row(
    env: &World,
    namespace: String,
    shape: &Shape,
    way: &'static [&'static str],
    steps: &[Step],
) -> anyhow::Result<()> {
    let server_side = way == SERVER_SIDE;
    let mut ns = env.namespace(&namespace).await?;
    ns.start_controller(env, &[JOURNALS]).await?;
    let ns = &ns;
    let template = shape.template()?;
    let mut play = Play {
        shape,
        release: Release::of(&template, ns, way),
        server_side,
        asked: (VERSION, String::new()),
        staged: "",
        image: 0,
        pods: Vec::new(),
    };
    for (index, step) in steps.iter().enumerate() {
        let result = play.step(step).await;
        result.with_context(|| format!("row {} of the table\n{}", index + 1, ns.log()))?;
    }
    if steps.iter().any(|step| matches!(step.does, Does::IsReplaced)) {
        return Ok(());
    }
    // No PVC ever got smaller.
    ns.writes_since(0).await.map(drop)
}

/// Whether the rollout is complete and all Pods are updated and Ready.
fn is_settled(set: &Value, staged: &str) -> bool {
    let change = &set["metadata"]["annotations"];
    let is_complete = match staged {
        "" => change[STAGED].is_null(),
        _ => change["claim-rollout.io/phase"] == "Complete",
    };
    let pods = ["replicas", "readyReplicas", "updatedReplicas"].map(|key| &set["status"][key]);
    is_observed(set) && is_complete && pods == [&set["spec"]["replicas"]; 3]
}

fn values(size: &str, image: u32) -> String {
    format!("size={size},image=example/main:{image}")
}

impl Play<'_> {
    async fn step(&mut self, step: &Step) -> anyhow::Result<()> {
        let ns = self.release.ns;
        let before = self.sets().await?;
        let output = self.sent(&step.does).await?;
        let left = if self.server_side {
            &step.server_side
        } else {
            &step.client_side
        };
        self.warned(step, left, &output)?;
        if matches!(step.does, Does::Repeats) {
            for (before, after) in before.into_iter().zip(self.sets().await?) {
                Unmoved::from(before)?.still(after)?;
            }
        }
        self.until_settled(left.staged, step.image).await?;
        self.sizes(step.claims).await?;
        let pods = ns.pods().await?;
        // A size restarts no Pod.
        let restarts = self.shape.by_hand || self.image != step.image || matches!(step.does, Does::Fails(..));
        ensure!(restarts || pods == self.pods, "Pods restarted");
        (self.staged, self.image, self.pods) = (left.staged, step.image, pods);
        Ok(())
    }

    async fn sets(&self) -> anyhow::Result<Vec<Value>> {
        self.release.ns.all("apps", "v1", "StatefulSet").await
    }

    /// Runs Helm.
    async fn sent(&mut self, does: &Does) -> anyhow::Result<Output> {
        let release = &self.release;
        match *does {
            Does::Upgrades(size, image, version) => {
                self.asked = (version, values(size, image));
                release.upgrade(self.asked.0, &self.asked.1).await
            }
            Does::Repeats => release.upgrade(self.asked.0, &self.asked.1).await,
            Does::CrossesOver(size, image, version) => {
                self.release.way = SERVER_SIDE;
                self.release.upgrade(version, &values(size, image)).await
            }
            Does::RollsBack(revision) => release.helm(&["rollback", "web", &revision.to_string()]).await,
            Does::RollsBackServerSide(revision) => {
                let rollback = ["rollback", "web", &revision.to_string()];
                release.helm(&[&rollback, SERVER_SIDE].concat()).await
            }
            Does::IsReplaced => {
                // Until then. A replacement writes more to the StatefulSet.
                release.ns.writes_since(0).await?;
                let annotate = "annotate statefulset web claim-rollout.io/replace-set=WhenComplete";
                let asked = release.ns.typed(annotate).await?;
                let replaced = |rollout: &Value| rollout["status"]["replacement"]["phase"] == "Replaced";
                release.ns.until_reported("the replacement", replaced).await?;
                Ok(asked)
            }
            Does::Fails(size, image) => {
                let (broken, limit) = match self.shape.broken {
                    Broken::Object => ("broken=true", "--timeout=120s"),
                    // The rollback has the same limit. If it takes longer, Helm reports that, and nothing else differs.
                    Broken::Pod => ("node=nowhere", "--timeout=10s"),
                };
                let values = format!("{},{broken}", values(size, image));
                let further = ["--rollback-on-failure", limit];
                let output = release.upgraded(self.asked.0, &values, &further).await?;
                ensure!(!output.success, "{output:?}");
                Ok(output)
            }
        }
    }

    /// Checks the warnings. A denial would be one more.
    fn warned(&self, step: &Step, left: &Left, output: &Output) -> anyhow::Result<()> {
        let found = warnings(output);
        let mut expected = left.warnings.to_vec();
        let still = format!("{{}} 1Gi -> {}", self.staged);
        match step.does {
            _ if !self.shape.reorders => {}
            Does::RollsBack(_) if self.server_side && !self.staged.is_empty() => expected.insert(0, &still),
            Does::RollsBackServerSide(_) => expected.insert(0, &still),
            // Helm sends the patch in the middle of the rollout.
            Does::Fails(..) if self.server_side => {
                expected
                    .splice(1.., ["withdrew {} 1Gi -> 4Gi", "staged {} 1Gi -> 3Gi"])
                    .for_each(drop);
            }
            _ => {}
        }
        for (_, templates) in self.shape.sets {
            let mut rest = found.iter();
            for line in &expected {
                let line = line.replace("{}", templates[0]);
                ensure!(
                    rest.any(|found| found.starts_with(&line)),
                    "expected {line:?} in {found:#?}"
                );
            }
        }
        let count = expected.len() * self.shape.sets.len();
        ensure!(found.len() == count, "expected {count} warnings, but found {found:#?}");
        Ok(())
    }

    /// Waits until the rollouts are complete, and all Pods are ready and have this image.
    async fn until_settled(&self, staged: &str, image: u32) -> anyhow::Result<()> {
        let ns = self.release.ns;
        let mut deleted = Vec::new();
        let what = format!("{staged:?} to be complete with image {image}");
        let others = async || {
            if self.shape.by_hand {
                self.delete_pods(&mut deleted).await?;
            }
            let mut sets = self.sets().await?;
            sets.retain(|set| !is_settled(set, staged));
            Ok(sets)
        };
        until(&what, others, Vec::is_empty).await?;
        for (name, templates) in self.shape.sets {
            let sets = self.sets().await?;
            let set = sets
                .iter()
                .find(|set| set["metadata"]["name"] == *name)
                .context("the set")?;
            let change = staged_change(set)?;
            for template in change["templates"].as_array().into_iter().flatten() {
                let is_grown = templates.contains(&&*text(&template["metadata"]["name"]));
                let expected = if is_grown { staged } else { "1Gi" };
                let found = &template["spec"]["resources"]["requests"]["storage"];
                ensure!(found == expected, "expected {expected}, but found {template:#}");
            }
        }
        for pod in ns.all("", "v1", "Pod").await? {
            let found = &pod["spec"]["containers"][0]["image"];
            ensure!(*found == format!("example/main:{image}"), "{found}");
        }
        Ok(())
    }

    /// Deletes all Pods when the controller or the StatefulSet controller waits for that, once for each cause.
    async fn delete_pods(&self, deleted: &mut Vec<Value>) -> anyhow::Result<()> {
        let ns = self.release.ns;
        let set = ns.set().await?;
        let rollout = ns.rollout().await?;
        let (status, change) = (&set["status"], staged_change(&set)?);
        let waits = change["phase"] == "RollingOut"
            && rollout["status"]["conditions"][1]["reason"] == "OnDelete"
            && condition(&rollout, "Ready") != "True";
        let outdated = status["updatedReplicas"] != status["replicas"] && change["phase"] != "RollingOut";
        let cause = serde_json::json!([change["staging"], status["updateRevision"]]);
        if is_observed(&set) && (waits || outdated) && !deleted.contains(&cause) {
            // A Pod that is created in the second in which the staged change was first seen could be an older one.
            tokio::time::sleep(Duration::from_millis(1100)).await;
            ns.delete_pods(&["web-0", "web-1"]).await?;
            deleted.push(cause);
        }
        Ok(())
    }

    /// Checks the size of every PVC.
    async fn sizes(&self, expected: &[&str]) -> anyhow::Result<()> {
        for claim in self.release.ns.claims().await? {
            let name = text(&claim["metadata"]["name"]);
            let is_grown = self.shape.sets.iter().any(|(set, templates)| {
                let mut prefixes = templates.iter().map(|template| format!("{template}-{set}-"));
                prefixes.any(|prefix| name.starts_with(&prefix))
            });
            let sizes = if is_grown { expected } else { &["1Gi"] };
            let found = text(&claim["spec"]["resources"]["requests"]["storage"]);
            ensure!(
                sizes.contains(&&*found),
                "{name}: expected {sizes:?}, but found {found}"
            );
        }
        Ok(())
    }
}
