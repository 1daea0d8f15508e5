//! A real Kubernetes control plane for tests and for playing: etcd, API server, controller manager, scheduler, CSI
//! provisioner and resizer are the programs of production, built from Go modules by `go/build.sh`. Simulated are only
//! the kubelet (kwok: no container runs) and the storage behind the CSI driver (Kubernetes' own mock).
//!
//! ```text
//! let cluster = Cluster::start(Options::default()).await?;
//! let client = cluster.client().await?;
//! ...
//! cluster.stop();
//! ```
//!
//! Any number of them run side by side, in one program or several: each has a folder of its own and the one TCP port it
//! needs is a free one. Whatever happens to the program that started it, nothing stays behind but, after a failure, the
//! folder with the logs. Linux only.

#![allow(
    dead_code,
    unused_imports,
    reason = "a toolbox: neither the tests nor the playground use all of it"
)]

mod audit;
mod certificates;
mod commands;
mod driver;
mod folder;
mod objects;
mod options;
mod processes;
mod programs;
mod users;
mod waiting;

use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Context as _, bail, ensure};
use k8s_openapi::api::core::v1::{Node, PersistentVolumeClaim, ServiceAccount};
use kube::api::{Api, DeleteParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use tempfile::TempDir;

pub(crate) use audit::Entry;
pub(crate) use certificates::Authority;
pub(crate) use commands::Output;
pub(crate) use driver::Driver;
pub(crate) use objects::{ATTRIBUTES_CLASSES, EXPANDABLE, FIXED, ON_FIRST_USE};
pub(crate) use options::Options;
pub(crate) use processes::{Process, Usage, in_foreground};
pub(crate) use programs::DRIVER;
pub(crate) use users::{POLICY_SERVER, base64};
pub(crate) use waiting::eventually;

use users::{ADMIN, Tokens};

/// How long a control plane may take to start, on a slow and busy machine.
const PATIENCE: Duration = Duration::from_secs(60);
/// The claims of this name that [`Cluster::audit`] tries to delete are never there.
const MARK: &str = "audit-mark-";

/// A running control plane.
///
/// [`Cluster::stop`] says that all went well, and removes everything. Dropping it otherwise means that a test did not
/// come to its end: the folder is kept, and where it is gets printed together with the last lines of what broke.
pub(crate) struct Cluster {
    // Dropped first: nobody writes into the folder any more when it is removed.
    processes: Mutex<Vec<Process>>,
    folder: TempDir,
    bin: PathBuf,
    minor: u32,
    port: u16,
    tokens: Tokens,
    authority: Authority,
    marks: AtomicU32,
    log: Mutex<audit::Log>,
    remove: bool,
    keep: bool,
}

impl Cluster {
    /// Starts a control plane and returns when it is ready for a StatefulSet.
    pub(crate) async fn start(options: Options) -> anyhow::Result<Self> {
        let minor = options.minor.strip_prefix("1.").and_then(|minor| minor.parse().ok());
        let mut cluster = Self {
            processes: Mutex::default(),
            folder: folder::create()?,
            bin: build(&options.minor).await?,
            minor: minor.with_context(|| format!("{} is no minor version such as 1.37", options.minor))?,
            port: 0,
            tokens: Tokens::new()?,
            authority: Authority::new()?,
            marks: AtomicU32::new(0),
            log: Mutex::default(),
            remove: false,
            keep: options.keep,
        };
        cluster.write_files(&options.driver)?;
        // A free port can be taken by somebody else before the API server gets to it; three times in a row it is not.
        for attempt in 1.. {
            match cluster.start_api_server().await {
                Ok(()) => break,
                Err(_) if attempt < 3 && cluster.lost_port() => cluster.lock().clear(),
                Err(error) => return Err(error),
            }
        }
        objects::create(&cluster.client().await?, cluster.minor).await?;
        if options.controllers {
            for program in programs::THEN {
                cluster.resume(program)?;
            }
            cluster.wait_until_ready().await?;
        }
        Ok(cluster)
    }

    /// Ends the control plane after a success and removes its folder.
    pub(crate) fn stop(mut self) {
        self.remove = !self.keep;
    }

    /// The number after `1.`.
    pub(crate) fn minor(&self) -> u32 {
        self.minor
    }

    /// Whether a claim can change its VolumeAttributesClass. 1.33 serves the class only as v1beta1, which the resizer
    /// does not act on.
    pub(crate) fn modifies_volumes(&self) -> bool {
        self.minor >= 34
    }

    /// Where the logs are, and whatever a test wants to put beside them.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The folder of the binaries, for `PATH`.
    pub(crate) fn bin_folder(&self) -> &Path {
        &self.bin
    }

    /// One of the binaries, such as `kubectl`.
    pub(crate) fn bin(&self, program: &str) -> PathBuf {
        self.bin.join(program)
    }

    /// Issues serving certificates, for webhooks.
    pub(crate) fn authority(&self) -> &Authority {
        &self.authority
    }

    /// The kubeconfig of the administrator.
    pub(crate) fn kubeconfig(&self) -> PathBuf {
        self.folder().join("admin.kubeconfig")
    }

    /// Writes a kubeconfig for somebody. `alice` and `bob` have tokens of their own and no rights; everybody else, and
    /// they too if groups are named, is impersonated.
    pub(crate) fn kubeconfig_for(&self, user: &str, groups: &[&str]) -> anyhow::Result<PathBuf> {
        let path = self.folder().join(format!(
            "{}.kubeconfig",
            [&[user], groups].concat().join("+").replace('/', "_")
        ));
        let content = self.tokens.kubeconfig(self.port, self.authority.pem(), user, groups);
        std::fs::write(&path, serde_json::to_vec_pretty(&content)?)?;
        Ok(path)
    }

    /// A client of the administrator.
    pub(crate) async fn client(&self) -> anyhow::Result<kube::Client> {
        self.client_for(ADMIN, &[]).await
    }

    /// A client of somebody; see [`Cluster::kubeconfig_for`].
    pub(crate) async fn client_for(&self, user: &str, groups: &[&str]) -> anyhow::Result<kube::Client> {
        let kubeconfig = serde_json::from_value::<Kubeconfig>(self.tokens.kubeconfig(
            self.port,
            self.authority.pem(),
            user,
            groups,
        ))?;
        let config = kube::Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
        Ok(kube::Client::try_from(config)?)
    }

    /// Changes how the CSI driver behaves from its next call on.
    pub(crate) fn set_driver(&self, driver: &Driver) -> anyhow::Result<()> {
        driver.write(self.folder(), Driver::FILE)
    }

    /// The same for volumes of StorageClasses whose parameter `behaviour` is this name.
    pub(crate) fn set_driver_of(&self, behaviour: &str, driver: &Driver) -> anyhow::Result<()> {
        driver.write(self.folder(), behaviour)
    }

    /// Every write so far that the audit policy names, in the order they were answered.
    pub(crate) async fn audit(&self) -> anyhow::Result<Vec<Entry>> {
        let mut entries = self.requests().await?;
        entries.retain(|entry| !entry.is_read());
        Ok(entries)
    }

    /// The same with what was read.
    pub(crate) async fn requests(&self) -> anyhow::Result<Vec<Entry>> {
        // An answer can reach its client a moment before it is logged. So one more write is made, and the log read when
        // it holds that one.
        let mark = format!("{MARK}{}", self.marks.fetch_add(1, Ordering::Relaxed));
        let claims: Api<PersistentVolumeClaim> = Api::namespaced(self.client().await?, "default");
        match claims.delete(&mark, &DeleteParams::default()).await {
            Err(kube::Error::Api(status)) if status.code == 404 => {}
            other => bail!("deleting a claim that is not there: {other:?}"),
        }
        let file = self.folder().join("audit.log");
        let entries = eventually("the audit log to be complete", PATIENCE, async || {
            let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
            let entries = log.read(&file)?;
            let at = entries.iter().rposition(|entry| entry.name == mark);
            Ok(at.map(|at| entries[..at].to_vec()))
        });
        let mut entries = entries.await?;
        entries.retain(|entry| !entry.name.starts_with(MARK));
        Ok(entries)
    }

    /// What one of the programs, such as `kube-apiserver`, has used so far.
    pub(crate) fn usage(&self, program: &str) -> anyhow::Result<Usage> {
        let processes = self.lock();
        let process = processes.iter().find(|process| process.name == program);
        process.with_context(|| format!("{program} does not run"))?.usage()
    }

    /// Kills one of the programs, such as `kube-apiserver`, and waits until it is gone. All of them can be resumed; only
    /// `csi-driver` has then forgotten its volumes.
    pub(crate) fn halt(&self, program: &str) {
        self.lock().retain(|process| process.name != program);
    }

    /// Starts one of the programs (again). Its data, its port and its log are the same as before.
    pub(crate) fn resume(&self, program: &'static str) -> anyhow::Result<()> {
        let flags = programs::flags(program, self.folder(), self.port, self.minor);
        let process = Process::start(program, &self.bin(program), &flags, self.folder())?;
        self.lock().push(process);
        Ok(())
    }

    /// Everything the programs read, but for what depends on the port.
    fn write_files(&self, driver: &Driver) -> anyhow::Result<()> {
        let server = self
            .authority
            .issue(&["127.0.0.1", "localhost", "kubernetes.default.svc"])?;
        let (private, public) = certificates::signing_keys()?;
        for (name, content) in [
            ("ca.crt", self.authority.pem()),
            ("server.crt", &server.certificate),
            ("server.key", &server.key),
            ("service-accounts.key", &private),
            ("service-accounts.pub", &public),
            ("tokens.csv", &self.tokens.file()),
            ("audit-policy.yaml", include_str!("audit-policy.yaml")),
            ("kwok-stages.yaml", include_str!("kwok-stages.yaml")),
        ] {
            std::fs::write(self.folder().join(name), content)?;
        }
        driver.write(self.folder(), Driver::FILE)
    }

    /// Picks a port and starts the API server on it, with what it needs. Returns when it is ready.
    async fn start_api_server(&mut self) -> anyhow::Result<()> {
        self.port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port();
        for user in programs::THEN.into_iter().chain([ADMIN]) {
            self.kubeconfig_for(user, &[])?;
        }
        for program in programs::FIRST {
            self.resume(program)?;
        }
        self.wait_for_api_server().await
    }

    /// Waits until the API server says that it is ready.
    pub(crate) async fn wait_for_api_server(&self) -> anyhow::Result<()> {
        let client = self.client().await?;
        let ready = eventually("the API server to be ready", PATIENCE, async || {
            self.check()?;
            let request = axum::http::Request::get("/readyz").body(Vec::new())?;
            Ok(client.request_text(request).await.ok())
        });
        ready.await.map(drop)
    }

    /// Waits for what a StatefulSet needs.
    async fn wait_until_ready(&self) -> anyhow::Result<()> {
        let client = self.client().await?;
        let nodes: Api<Node> = Api::all(client.clone());
        let accounts: Api<ServiceAccount> = Api::namespaced(client, "default");
        let ready = eventually("the node and the first ServiceAccount", PATIENCE, async || {
            self.check()?;
            let node = nodes.get(objects::NODE).await?;
            let tainted = node
                .spec
                .is_none_or(|spec| spec.taints.is_some_and(|taints| !taints.is_empty()));
            let conditions = node.status.and_then(|status| status.conditions).unwrap_or_default();
            let up = conditions
                .iter()
                .any(|condition| condition.type_ == "Ready" && condition.status == "True");
            let account = accounts.get_opt("default").await?;
            Ok((up && !tainted && account.is_some()).then_some(()))
        });
        ready.await
    }

    /// An error if one of the programs has ended by itself.
    fn check(&self) -> anyhow::Result<()> {
        for process in self.lock().iter_mut() {
            if let Some(end) = process.ended() {
                bail!("{} ended ({end})", process.name);
            }
        }
        Ok(())
    }

    /// Whether the API server ended because its port was taken.
    fn lost_port(&self) -> bool {
        self.lock().iter().any(|process| {
            process.name == programs::API_SERVER && process.last_words().contains("address already in use")
        })
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Process>> {
        self.processes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        if self.remove {
            return;
        }
        for process in self.lock().iter_mut() {
            if let Some(end) = process.ended() {
                eprintln!(
                    "{} ended ({end}); its last lines:\n{}\n",
                    process.name,
                    process.last_words()
                );
            }
        }
        eprintln!("the logs of the control plane are kept in {}", self.folder().display());
        folder::keep(&mut self.folder);
    }
}

/// Builds the programs of this minor version, which after the first time means finding them, and returns their folder.
async fn build(minor: &str) -> anyhow::Result<PathBuf> {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/cluster/go/build.sh");
    let output = tokio::process::Command::new(script)
        .arg(minor)
        .stderr(Stdio::inherit())
        .output()
        .await?;
    ensure!(
        output.status.success(),
        "building the control plane failed ({})",
        output.status
    );
    Ok(PathBuf::from(String::from_utf8(output.stdout)?.trim()))
}
