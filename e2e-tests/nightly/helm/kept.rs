//! `shrink: Keep`: whatever goes back, the image does, and no size.

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};

use crate::world::helm::{CLIENT_SIDE, Release, SERVER_SIDE, VERSION, warnings};
use crate::world::installation::JOURNALS;
use crate::world::namespace::{PATIENCE, TestNamespace, staged_change, text};
use crate::world::web::Web;
use crate::world::{Output, World, eventually};

/// Who sends the manifests.
pub(super) struct Sender {
    pub(super) name: &'static str,
    by: By,
    /// Whether going back to the live templates withdraws what is staged. If not, a warning names it.
    withdraws: bool,
}

/// The command.
enum By {
    /// `helm upgrade` and `helm rollback`
    Helm(&'static [&'static str]),
    /// `kubectl apply`
    Kubectl(&'static [&'static str]),
}

pub(super) const SENDERS: [Sender; 4] = [
    Sender {
        name: "helm-4",
        by: By::Helm(SERVER_SIDE),
        withdraws: true,
    },
    Sender {
        name: "helm-3",
        by: By::Helm(CLIENT_SIDE),
        withdraws: false,
    },
    Sender {
        name: "kubectl",
        by: By::Kubectl(&["apply", "-f", "-"]),
        withdraws: true,
    },
    Sender {
        name: "kubectl-server-side",
        by: By::Kubectl(&["apply", "--server-side", "-f", "-"]),
        withdraws: true,
    },
];

/// A size in gigabytes is also the number of the revision and of the image.
struct Sent<'a> {
    ns: &'a TestNamespace<'a>,
    sender: &'a Sender,
}

impl Sent<'_> {
    async fn kubectl(&self, arguments: &[&str], number: u32) -> anyhow::Result<Output> {
        let manifest = Web::replicas(2).size(&format!("{number}Gi")).image(&number.to_string());
        self.ns.done(arguments, &manifest).await
    }

    /// Applies the size and the image of this number.
    async fn goes_on(&self, number: u32) -> anyhow::Result<Output> {
        match self.sender.by {
            By::Helm(way) => {
                let values = format!("size={number}Gi,image=example/main:{number}");
                Release::new(self.ns, way).upgrade(VERSION, &values).await
            }
            By::Kubectl(arguments) => self.kubectl(arguments, number).await,
        }
    }

    /// Returns to those of this number, with this one warning.
    async fn goes_back(&self, number: u32, warning: &str) -> anyhow::Result<()> {
        let output = match self.sender.by {
            By::Helm(way) => {
                Release::new(self.ns, way)
                    .helm(&["rollback", "web", &number.to_string()])
                    .await?
            }
            By::Kubectl(arguments) => self.kubectl(arguments, number).await?,
        };
        let found = warnings(&output);
        ensure!(
            found.len() == 1 && found[0].starts_with(warning),
            "expected {warning:?}, but found {found:#?}"
        );
        Ok(())
    }

    /// Waits until every Pod has the image of this number, and every PVC this size, and checks what is live and staged.
    async fn runs(&self, image: u32, [claims, live, staged]: [&str; 3]) -> anyhow::Result<()> {
        let ns = self.ns;
        let size = |object: &Value| text(&object["spec"]["resources"]["requests"]["storage"]);
        let what = format!("image {image} with PVCs of {claims}");
        let settled = eventually(&what, PATIENCE, async || {
            let all = ns.claims().await?;
            let change = ns.staged_change().await?;
            let is_complete = change.is_null() || change["phase"] == "Complete";
            Ok((is_complete && all.iter().all(|claim| size(claim) == claims)).then_some(()))
        });
        settled.await.with_context(|| ns.log())?;
        let set = ns.settled().await?;
        ensure!(size(&set["spec"]["volumeClaimTemplates"][0]) == live, "{set:#}");
        ensure!(size(&staged_change(&set)?["templates"][0]) == staged, "{set:#}");
        for pod in ns.all("", "v1", "Pod").await? {
            let found = &pod["spec"]["containers"][0]["image"];
            ensure!(*found == format!("example/main:{image}"), "{found}");
        }
        Ok(())
    }
}

/// A rollback while the templates are staged: to a size in between, forward, and to the live one.
pub(super) async fn before_a_replacement(env: &World, sender: &Sender) -> anyhow::Result<()> {
    let ns = &env.managed(&format!("kept-{}", sender.name)).await?;
    let sent = Sent { ns, sender };
    sent.goes_on(1).await?;
    ns.settled().await?;
    sent.goes_on(2).await?;
    sent.runs(2, ["2Gi", "1Gi", "2Gi"]).await?;
    sent.goes_on(3).await?;
    sent.runs(3, ["3Gi", "1Gi", "3Gi"]).await?;

    let ignored = "ignored data 3Gi -> 2Gi (setting shrink: Keep); the rest passes";
    sent.goes_back(2, ignored).await?;
    sent.runs(2, ["3Gi", "1Gi", "3Gi"]).await?;
    let (warning, staged) = if sender.withdraws {
        ("withdrew data 1Gi -> 3Gi; updated PVCs stay as they are", "")
    } else {
        (
            "data 1Gi -> 3Gi is still staged; kubectl claim-rollout withdraw web -n ",
            "3Gi",
        )
    };
    sent.goes_back(1, warning).await?;
    sent.runs(1, ["3Gi", "1Gi", staged]).await?;
    ns.writes_since(0).await.map(drop)
}

/// A rollback after the live templates became the larger ones.
pub(super) async fn after_a_replacement(env: &World, sender: &Sender) -> anyhow::Result<()> {
    let namespace = format!("kept-replaced-{}", sender.name);
    let mut ns = env.namespace(&namespace).await?;
    ns.start_controller(env, &[JOURNALS]).await?;
    let sent = Sent { ns: &ns, sender };
    sent.goes_on(1).await?;
    let old = ns.settled().await?;
    let annotation = "claim-rollout.io/replace-set=WhenComplete";
    ns.done(&["annotate", "statefulset", "web", annotation], "").await?;
    sent.goes_on(2).await?;
    let replaced = |rollout: &Value| rollout["status"]["replacement"]["phase"] == "Replaced";
    ns.until_reported("the set to be replaced", replaced).await?;
    sent.runs(2, ["2Gi", "2Gi", ""]).await?;
    let uid = ns.set().await?["metadata"]["uid"].take();
    ensure!(uid != old["metadata"]["uid"], "the same set");
    // It was too young first, which is no Event.
    let events = ns.events().await?;
    ensure!(!events.contains_key("StatefulSetNotReplaced"), "{events:?}");

    let ignored = "ignored data 2Gi -> 1Gi (setting shrink: Keep); the rest passes";
    sent.goes_back(1, ignored).await?;
    sent.runs(1, ["2Gi", "2Gi", ""]).await?;
    ensure!(ns.set().await?["metadata"]["uid"] == uid, "another set");
    let written = json!(
        ns.writes_of("admin")
            .await?
            .iter()
            .filter(|entry| entry.resource == "persistentvolumeclaims")
            .count()
    );
    ensure!(written == 0, "{written} writes of PVCs by the user");
    Ok(())
}
