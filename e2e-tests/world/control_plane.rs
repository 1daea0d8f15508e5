//! The programs of one control plane: started in order, read, halted and ended.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use anyhow::{Context as _, bail, ensure};
use k8s_openapi::api::core::v1::{Node, PersistentVolumeClaim, ServiceAccount};
use kube::api::{Api, DeleteParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use tempfile::TempDir;

use super::audit::Entry;
use super::certificates::Authority;
use super::driver::Driver;
use super::exceptions::ExceptionsOfAll;
use super::options::Options;
use super::processes::{Process, Usage};
use super::users::{ADMIN, Tokens};
use super::waiting::{PATIENCE, eventually};
use super::{audit, certificates, folder, objects, programs};

/// The value of an environment variable of Pods, which no log may have.
pub(crate) const MARKER: &str = "pA55w0rd-0f-a-P0d";
/// [`Cluster::audit`] tries to delete PVCs with this prefix, which never exist.
const MARK: &str = "audit-mark-";

/// A running control plane.
///
/// [`Cluster::stop`] ends it after a success and removes everything. Dropping it otherwise means that a test failed:
/// the folder is kept, and its path and the last lines of the failed program are printed.
pub(crate) struct Cluster {
    // Dropped first: the programs write into the folder until they end.
    pub(super) processes: Mutex<Vec<Process>>,
    pub(super) folder: TempDir,
    pub(super) bin: PathBuf,
    /// The folders of programs of another minor version.
    pub(super) newer: Mutex<BTreeMap<&'static str, PathBuf>>,
    pub(super) minor: u32,
    pub(super) port: u16,
    pub(super) tokens: Tokens,
    pub(super) authority: Authority,
    pub(super) marks: AtomicU32,
    pub(super) log: Mutex<audit::Log>,
    /// The guarantees that do not apply in a namespace.
    pub(crate) exceptions: ExceptionsOfAll,
    pub(super) remove: bool,
    pub(super) keep: bool,
}

impl Cluster {
    /// Starts a control plane and returns when it is ready for a StatefulSet.
    pub(crate) async fn start(options: Options) -> anyhow::Result<Self> {
        let minor = options.minor.strip_prefix("1.").and_then(|minor| minor.parse().ok());
        let mut cluster = Self {
            processes: Mutex::default(),
            folder: folder::create()?,
            bin: build(&options.minor).await?,
            newer: Mutex::default(),
            minor: minor.with_context(|| format!("{} is no minor version such as 1.37", options.minor))?,
            port: 0,
            tokens: Tokens::new()?,
            authority: Authority::new()?,
            marks: AtomicU32::new(0),
            log: Mutex::default(),
            exceptions: ExceptionsOfAll::default(),
            remove: false,
            keep: options.keep,
        };
        cluster.write_files(&options.driver)?;
        // Another program can take a free port before the API server does; three times in a row is unlikely.
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
    ///
    /// # Panics
    /// If a controller has logged an environment variable of a Pod.
    pub(crate) fn stop(mut self) {
        for (log, text) in self.controller_logs() {
            assert!(
                !text.contains(MARKER),
                "{} has a value of an environment variable",
                log.display()
            );
        }
        self.remove = !self.keep;
    }

    /// The logs of all controllers so far, by file.
    pub(super) fn controller_logs(&self) -> impl Iterator<Item = (PathBuf, String)> {
        let entries = std::fs::read_dir(self.folder()).into_iter().flatten().flatten();
        let logs = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with("controller-"));
        logs.map(|log| {
            let text = std::fs::read(log.path()).unwrap_or_default();
            (log.path(), String::from_utf8_lossy(&text).into_owned())
        })
    }

    /// The number after `1.`.
    pub(crate) fn minor(&self) -> u32 {
        self.minor
    }

    /// Whether a PVC can have a VolumeAttributesClass. In 1.33 the feature gate is off, and the API server drops the
    /// field.
    pub(crate) fn modifies_volumes(&self) -> bool {
        self.minor >= 34
    }

    /// The folder of the logs. Tests may add files.
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

    /// Writes a kubeconfig for a user. `alice` and `bob` have tokens of their own and no rights. All other users are
    /// impersonated, and so are these two if groups are given.
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

    /// A client of a user; see [`Cluster::kubeconfig_for`].
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

    /// Changes the behaviour of the CSI driver from its next call on.
    pub(crate) fn set_driver(&self, driver: &Driver) -> anyhow::Result<()> {
        driver.write(self.folder(), Driver::FILE)
    }

    /// The same for volumes of StorageClasses with this value of the parameter `behaviour`.
    pub(crate) fn set_driver_of(&self, behaviour: &str, driver: &Driver) -> anyhow::Result<()> {
        driver.write(self.folder(), behaviour)
    }

    /// All writes in the audit log so far, in the order of their answers.
    pub(crate) async fn audit(&self) -> anyhow::Result<Vec<Entry>> {
        let mut entries = self.requests().await?;
        entries.retain(|entry| !entry.is_read());
        Ok(entries)
    }

    /// The same with reads.
    pub(crate) async fn requests(&self) -> anyhow::Result<Vec<Entry>> {
        // An answer can reach its client a moment before it is logged. So this makes one more write, and reads the log
        // until that write is in it.
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

    /// The resources that a program, such as `kube-apiserver`, has used so far.
    pub(crate) fn usage(&self, program: &str) -> anyhow::Result<Usage> {
        let processes = self.lock();
        let process = processes.iter().find(|process| process.name == program);
        process.with_context(|| format!("{program} does not run"))?.usage()
    }

    /// Kills a program, such as `kube-apiserver`, and waits for its end. Every program can be resumed; only
    /// `csi-driver` then has lost its volumes.
    pub(crate) fn halt(&self, program: &str) {
        self.lock().retain(|process| process.name != program);
    }

    /// Starts a program (again), with the same data, port and log.
    pub(crate) fn resume(&self, program: &'static str) -> anyhow::Result<()> {
        let flags = programs::flags(program, self.folder(), self.port);
        let newer = self.newer.lock().unwrap_or_else(PoisonError::into_inner);
        let binary = newer.get(program).unwrap_or(&self.bin).join(program);
        let process = Process::start(program, &binary, &flags, self.folder())?;
        self.lock().push(process);
        Ok(())
    }

    /// Writes all files that the programs read, except those that depend on the port.
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

    /// Picks a port, starts the API server and what it needs, and returns when it is ready.
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

    /// Waits until the API server reports that it is ready.
    pub(crate) async fn wait_for_api_server(&self) -> anyhow::Result<()> {
        let client = self.client().await?;
        let ready = eventually("the API server to be ready", PATIENCE, async || {
            self.check()?;
            let request = axum::http::Request::get("/readyz").body(Vec::new())?;
            Ok(client.request_text(request).await.ok())
        });
        ready.await.map(drop)
    }

    /// Waits for everything that a StatefulSet needs.
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

    /// Fails if one of the programs has ended by itself.
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
            process.name == programs::API_SERVER && process.last_lines().contains("address already in use")
        })
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Vec<Process>> {
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
                    process.last_lines()
                );
            }
        }
        eprintln!("the logs of the control plane are kept in {}", self.folder().display());
        folder::keep(&mut self.folder);
    }
}

/// Builds the programs of this minor version, or finds them in the cache, and returns their folder.
pub(super) async fn build(minor: &str) -> anyhow::Result<PathBuf> {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/world/go/build.sh");
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
