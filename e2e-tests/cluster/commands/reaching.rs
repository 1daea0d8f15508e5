//! How the commands reach the API server, on which terminals, and with which exit codes they end.

use std::os::unix::fs::symlink;
use std::sync::{Arc, Mutex};

use anyhow::{Context as _, ensure};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use super::watching::watch as begin_watch;
use super::{prepare, run};
use crate::world::installation::binary;
use crate::world::namespace::{PATIENCE, TestNamespace};
use crate::world::{Output, World, until};

/// A host that only the proxy knows.
const HOST: &str = "api.example.test";

/// An HTTP proxy on this machine, whose every host is this machine.
struct Proxy {
    port: u16,
    shared: Arc<Shared>,
}

/// What the connections of a proxy share.
#[derive(Default)]
struct Shared {
    /// What it was asked for.
    asked: Mutex<Vec<String>>,
    /// While it is down, it ends all connections.
    down: watch::Sender<bool>,
}

impl Proxy {
    async fn start() -> anyhow::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let port = listener.local_addr()?.port();
        let shared = Arc::<Shared>::default();
        let of_all = Arc::clone(&shared);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(tunnel(client, Arc::clone(&of_all)));
            }
        });
        Ok(Self { port, shared })
    }

    fn address(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    fn asked(&self) -> Vec<String> {
        self.shared.asked.lock().expect("no panic").clone()
    }
}

/// Answers `CONNECT host:port`.
async fn tunnel(client: TcpStream, shared: Arc<Shared>) -> anyhow::Result<()> {
    let mut client = BufReader::new(client);
    let mut first = String::new();
    client.read_line(&mut first).await?;
    let target = first.split(' ').nth(1).context("a target")?.to_owned();
    let port: u16 = target.rsplit(':').next().context("a port")?.parse()?;
    let mut line = String::new();
    while client.read_line(&mut line).await? > 2 {
        line.clear();
    }
    shared.asked.lock().expect("no panic").push(target);
    let mut down = shared.down.subscribe();
    let through = async {
        let mut server = TcpStream::connect(("127.0.0.1", port)).await?;
        client.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await?;
        copy_bidirectional(&mut client, &mut server).await?;
        Ok(())
    };
    tokio::select! {
        biased;
        _ = down.wait_for(|down| *down) => Ok(()),
        ended = through => ended,
    }
}

/// A kubeconfig whose server only the proxy knows, as an object and as a file; and that server.
fn proxied(ns: &TestNamespace<'_>) -> anyhow::Result<(Value, String, String)> {
    let mut kubeconfig: Value = serde_json::from_slice(&std::fs::read(ns.cluster.kubeconfig())?)?;
    let cluster = &mut kubeconfig["clusters"][0]["cluster"];
    let server = cluster["server"].as_str().context("a server")?.to_owned();
    let server = server.replace("127.0.0.1", HOST).replace("localhost", HOST);
    ensure!(server.contains(HOST), "{server}");
    cluster["server"] = server.clone().into();
    cluster["tls-server-name"] = "localhost".into();
    let file = ns.cluster.folder().join(format!("{}.kubeconfig", ns.namespace));
    std::fs::write(&file, serde_json::to_vec(&kubeconfig)?)?;
    Ok((kubeconfig, file.to_string_lossy().into_owned(), server))
}

async fn with(ns: &TestNamespace<'_>, arguments: &[&str], environment: &[(&str, &str)]) -> anyhow::Result<Output> {
    let arguments = [arguments, &["--namespace", &ns.namespace]].concat();
    let program = binary()?;
    ns.cluster
        .run(&program.to_string_lossy(), &arguments, environment, "")
        .await
}

pub(super) async fn commands_work_behind_a_proxy(env: &World) -> anyhow::Result<()> {
    let ns = prepare(env, "proxied").await?;
    let (mut kubeconfig, file, server) = proxied(&ns)?;
    let proxy = Proxy::start().await?;
    let through = proxy.address();
    let of = [("HTTPS_PROXY", through.as_str())];
    for command in [
        &["status", "web"][..],
        &["plan", "web"],
        &["drift", "web"],
        &["wait", "web"],
    ] {
        let output = with(&ns, &[command, &["--kubeconfig", &file]].concat(), &of).await?;
        // Nothing is staged, so there is no plan; but the API server answers.
        ensure!(
            !output.stderr.contains("no answer from the server"),
            "{command:?}: {output:?}"
        );
    }
    let hosts = proxy.asked();
    ensure!(
        !hosts.is_empty() && hosts.iter().all(|host| host.starts_with(HOST)),
        "{hosts:?}"
    );

    // kubectl goes the same way.
    let arguments = ["get", "sts", "web", "--kubeconfig", &file, "--namespace", &ns.namespace];
    let kubectl = ns.cluster.run("kubectl", &arguments, &of, "").await?;
    ensure!(kubectl.success, "{kubectl:?}");

    let direct = [of[0], ("NO_PROXY", "other.test,example.test")];
    let output = with(&ns, &["status", "web", "--kubeconfig", &file], &direct).await?;
    let expected = format!("error: no answer from the server {server}: ");
    ensure!(
        output.code == Some(1) && output.stderr.starts_with(&expected),
        "{output:?}"
    );

    // A proxy in the kubeconfig is before those in the environment.
    kubeconfig["clusters"][0]["cluster"]["proxy-url"] = through.clone().into();
    std::fs::write(&file, serde_json::to_vec(&kubeconfig)?)?;
    let output = with(&ns, &["status", "web", "--kubeconfig", &file], &direct).await?;
    ensure!(output.code == Some(0), "{output:?}");
    Ok(())
}

/// The API server is upgraded, or a laptop sleeps, while somebody watches.
pub(super) async fn watch_continues_after_an_outage(env: &World) -> anyhow::Result<()> {
    let ns = prepare(env, "outage").await?;
    let (mut kubeconfig, file, server) = proxied(&ns)?;
    let proxy = Proxy::start().await?;
    kubeconfig["clusters"][0]["cluster"]["proxy-url"] = proxy.address().into();
    std::fs::write(&file, serde_json::to_vec(&kubeconfig)?)?;
    ensure!(run(&ns, &["pause", "web"], "").await?.success, "paused");
    ns.apply(3, "2Gi").await?;

    let watching = begin_watch(&ns, file.as_ref())?;
    watching.until_printed("outage/web ", PATIENCE).await?;
    proxy.shared.down.send_replace(true);
    let through = proxy.address();
    let warning = format!("warning: no answer from the server {server} through the proxy {through}: ");
    watching.until_printed(&warning, PATIENCE).await?;
    proxy.shared.down.send_replace(false);
    ensure!(run(&ns, &["resume", "web"], "").await?.success, "resumed");
    let (ended, log) = watching.until_ended(PATIENCE).await?;
    ensure!(ended.code() == Some(0), "{ended}\n{log}");
    ensure!(log.matches("warning: ").count() == 1, "one warning\n{log}");
    Ok(())
}

pub(super) async fn commands_act_as_others(env: &World) -> anyhow::Result<()> {
    let ns = prepare(env, "acting").await?;
    for (flags, code) in [
        (&["--as", "nobody"][..], 1),
        (&["--as", "nobody", "--as-group", "system:masters"], 0),
        (&["--token", "wrong"], 1),
        (&["--user", "nobody"], 1),
        (&["--cluster", "none"], 1),
        (&["--request-timeout", "30s"], 0),
        (&["-l", "no=such"], 1),
    ] {
        let output = run(&ns, &[&["status", "web"][..], flags].concat(), "").await?;
        ensure!(output.code == Some(code), "{flags:?}: {output:?}");
    }
    let forbidden = run(&ns, &["status", "web", "--as", "nobody"], "").await?;
    ensure!(
        forbidden.stderr.contains("User \"nobody\" cannot list"),
        "{forbidden:?}"
    );
    Ok(())
}

pub(super) async fn status_is_as_wide_as_the_terminal(env: &World) -> anyhow::Result<()> {
    let ns = prepare(env, "terminal").await?;
    ns.apply(3, "2Gi").await?;
    ns.until_complete(3, "2Gi").await?;
    let program = binary()?;
    let program = program.display();
    for (columns, command) in [
        (60, "status web"),
        (80, "status web --watch"),
        (60, "plan web"),
        (60, "doctor"),
    ] {
        let typed = format!("stty cols {columns} rows 24; {program} {command} -n {}", ns.namespace);
        let arguments = ["--quiet", "--return", "--command", &typed, "/dev/null"];
        let colourless = [("NO_COLOR", "1")];
        let output = ns.cluster.run("/usr/bin/script", &arguments, &colourless, "").await?;
        let lines: Vec<&str> = output.stdout.lines().map(|line| line.trim_end_matches('\r')).collect();
        if !command.starts_with("status") {
            // They print texts that are copied, so they cut nothing.
            let is_whole = !output.stdout.contains('…') && !output.stdout.contains("panicked");
            ensure!(is_whole, "{output:?}");
            continue;
        }
        let widest = lines.iter().map(|line| line.chars().count()).max();
        // Where both have no room, the end is on a line of its own.
        let ends = lines.iter().any(|line| line.ends_with("3/3 replicas, Complete"));
        let heading = lines.iter().find(|line| line.contains("terminal/web"));
        let is_full = heading.is_some_and(|line| columns < 80 || line.chars().count() == columns);
        let fits = output.code == Some(0) && widest <= Some(columns);
        ensure!(fits && ends && is_full, "{columns} {command}: {lines:#?}");
    }
    Ok(())
}

pub(super) async fn kubectl_and_bash_complete_names_of_sets(env: &World) -> anyhow::Result<()> {
    let ns = prepare(env, "completing").await?;
    let folder = ns.cluster.folder().join("plugins");
    std::fs::create_dir(&folder)?;
    for name in ["kubectl-claim_rollout", "kubectl_complete-claim_rollout"] {
        symlink(binary()?, folder.join(name))?;
    }
    let path = folder.to_string_lossy();
    for (words, expected) in [
        (&["status", "--namespace", &ns.namespace, "w"][..], "web\n:4\n"),
        (&["status", "--namespace", "none", "w"], ":4\n"),
        (
            &["withd"],
            "withdraw\tWithdraw the staged change of a StatefulSet\n:4\n",
        ),
    ] {
        let arguments = [&["__complete", "claim-rollout"][..], words].concat();
        // Without an answer of the API server in time, no name is shown.
        until(
            "the names",
            async || ns.cluster.run("kubectl", &arguments, &[("PATH", &*path)], "").await,
            |output| output.stdout == expected,
        )
        .await?;
    }
    // As the script of bash does it.
    let arguments = ["--", "claim-rollout", "--namespace", &ns.namespace, "status", "w"];
    let of_bash = [("COMPLETE", "bash"), ("_CLAP_COMPLETE_INDEX", "4"), ("_CLAP_IFS", "\n")];
    let program = binary()?;
    let program = program.to_string_lossy();
    until(
        "the name in bash",
        async || ns.cluster.run(&program, &arguments, &of_bash, "").await,
        |output| output.stdout.trim() == "web",
    )
    .await?;
    Ok(())
}
