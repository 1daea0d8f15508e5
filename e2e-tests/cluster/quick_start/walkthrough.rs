//! A user who follows the document.

use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::Command as Program;
use std::time::{Duration, Instant};

use anyhow::ensure;

use super::kubewarden;
use super::stands::{Action, Handling, STAND_INS};
use crate::cluster::chart::manifests;
use crate::cluster::controller::lease::until_it_leads;
use crate::world::book::Command;
use crate::world::installation::{AS_IN_A_POD, Controller, Controllers, binary};
use crate::world::policy_host::{PolicyHost, deployed};
use crate::world::repository::root;
use crate::world::shell::typed;
use crate::world::webhook::Server;
use crate::world::{Cluster, Driver, Options};

/// No volume grows until the document has shown that one grows.
const EXPANSION_MILLIS: u64 = 3_600_000;
/// The most time until the document's state appears. After 30 seconds the controller also reports why it takes so long.
const MOMENT: Duration = Duration::from_secs(25);
const RECHECK: Duration = Duration::from_millis(100);

/// A cluster without claim-rollout, the clone of the user, and the programs that run beside the cluster in place of
/// Pods.
pub(crate) struct Walkthrough {
    cluster: Cluster,
    clone: PathBuf,
    controller: Option<Controller>,
    webhook: Option<Server>,
    kubewarden: Option<PolicyHost>,
}

impl Walkthrough {
    /// A new cluster, with or without Kubewarden.
    pub(crate) async fn begin(with_kubewarden: Kubewarden) -> anyhow::Result<Self> {
        let cluster = Cluster::start(Options::expanding_in(EXPANSION_MILLIS)).await?;
        if let Kubewarden::IsThere = with_kubewarden {
            kubewarden::define(&cluster).await?;
        }
        let clone = cluster.folder().join("claim-rollout");
        std::fs::create_dir(&clone)?;
        Ok(Self {
            clone,
            cluster,
            controller: None,
            webhook: None,
            kubewarden: None,
        })
    }

    /// Runs a command, or does what [`STAND_INS`] lists for it. Returns the output.
    pub(crate) async fn types(&mut self, command: &Command) -> anyhow::Result<String> {
        match STAND_INS
            .iter()
            .find(|stand_in| stand_in.typed == command.typed)
            .map(|it| it.how)
        {
            Some(Handling::Instead(action)) => {
                self.does(action).await?;
                Ok(String::new())
            }
            Some(Handling::And(action)) => {
                let printed = self.run(command).await?;
                self.does(action).await?;
                Ok(printed)
            }
            Some(Handling::As(typed, action)) => {
                let printed = self.run_typed(&self.of_this_tree(typed)?).await?;
                self.does(action).await?;
                Ok(printed)
            }
            Some(Handling::Until) => self.until_shown(command).await,
            None => self.run(command).await,
        }
    }

    async fn run(&self, command: &Command) -> anyhow::Result<String> {
        self.run_typed(&command.typed).await
    }

    async fn run_typed(&self, command: &str) -> anyhow::Result<String> {
        let output = typed(&self.cluster, &self.clone, command).await?;
        ensure!(output.success, "$ {command}\n{}", output.stdout);
        Ok(output.stdout)
    }

    /// A command with the paths of this tree, and of the manifests that are made from it.
    fn of_this_tree(&self, command: &str) -> anyhow::Result<String> {
        let folder = self.cluster.folder().join("dist");
        if command.contains("DIST") {
            manifests::make(&self.cluster, &folder)?;
        }
        let [tree, folder] = [root(), &folder].map(|path| path.display().to_string());
        Ok(command.replace("TREE", &tree).replace("DIST", &folder))
    }

    async fn until_shown(&self, command: &Command) -> anyhow::Result<String> {
        let begun = Instant::now();
        loop {
            let printed = self.run(command).await?;
            if command.shows(&printed) || begun.elapsed() > MOMENT {
                self.cluster.set_driver(&Driver::default())?;
                return Ok(printed);
            }
            tokio::time::sleep(RECHECK).await;
        }
    }

    /// Does what stands for a command.
    pub(crate) async fn does(&mut self, action: Action) -> anyhow::Result<()> {
        match action {
            Action::Nothing => {}
            Action::LinkThePlugin => {
                symlink(
                    binary()?,
                    self.cluster.folder().join(".local/bin/kubectl-claim_rollout"),
                )?;
            }
            Action::CopyTheTree => {
                for folder in ["deploy", "charts"] {
                    let from = deployed("..").join(folder);
                    let copied = Program::new("cp").arg("-r").arg(from).arg(&self.clone).status()?;
                    ensure!(copied.success(), "copying {folder}: {copied}");
                }
            }
            Action::LinkTheBinary => {
                let folder = self.clone.join("dist/bin/linux-amd64");
                std::fs::create_dir_all(&folder)?;
                symlink(binary()?, folder.join("claim-rollout"))?;
            }
            Action::BesideKubewarden => {
                self.lead().await?;
                self.kubewarden = Some(kubewarden::serve(&self.cluster).await?);
            }
            Action::BesideTheWebhook => {
                self.lead().await?;
                let server = Server::begin(&self.cluster).await?;
                server.stand_for_the_service(&self.cluster).await?;
                self.webhook = Some(server);
            }
        }
        Ok(())
    }

    /// Starts the controller, which leads before any Pod would be Ready.
    async fn lead(&mut self) -> anyhow::Result<()> {
        let controllers = Controllers::of(&self.cluster).await?;
        let controller = controllers.start_configured(&self.cluster, &AS_IN_A_POD).await?;
        until_it_leads(self.controller.insert(controller)).await
    }

    /// Stops everything after a success.
    pub(crate) async fn end(mut self) -> anyhow::Result<()> {
        drop(self.controller.take());
        drop(self.webhook.take());
        self.cluster.stop();
        match self.kubewarden {
            Some(host) => host.stop().await,
            None => Ok(()),
        }
    }
}

/// Whether the cluster has Kubewarden.
#[derive(Clone, Copy)]
pub(crate) enum Kubewarden {
    IsThere,
    IsNot,
}
