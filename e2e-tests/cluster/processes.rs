//! The processes of a control plane and beside it, and the promise that none outlives the program that started them.
//!
//! Every child is started through `setpriv --pdeathsig KILL`: the kernel kills it when its parent dies, however that
//! comes about. "Parent" there means the *thread* that forked, and test threads come and go; so one thread, which lives
//! as long as the program, forks them all.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::LazyLock;
use std::sync::mpsc::{Sender, SyncSender, channel, sync_channel};
use std::time::Duration;

use anyhow::Context as _;

/// A running program. Dropping it kills it and waits until it is gone.
#[derive(Debug)]
pub(crate) struct Process {
    /// The name of the program, which is also the name of its log.
    pub(super) name: String,
    child: Child,
    log: PathBuf,
}

/// What a process has used.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Usage {
    /// Resident memory.
    pub(crate) resident_kib: u64,
    /// The most that it was.
    pub(crate) peak_kib: u64,
    /// Time on processors.
    pub(crate) cpu: Duration,
}

/// Linux counts a hundred ticks a second, whatever its own clock does.
const MILLIS_PER_TICK: u64 = 10;

impl Process {
    /// Starts `program` in `folder` (its working directory and `HOME`); everything it prints is appended to `name.log`
    /// there. Nothing of the caller's environment but `PATH` reaches it.
    pub(crate) fn start(name: &str, program: &Path, arguments: &[String], folder: &Path) -> anyhow::Result<Self> {
        let log = folder.join(format!("{name}.log"));
        let output = File::options().create(true).append(true).open(&log)?;
        let mut command = bound(program);
        command
            .args(arguments)
            .current_dir(folder)
            .env_clear()
            .envs(std::env::var_os("PATH").map(|path| ("PATH", path)))
            .env("HOME", folder)
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(output);
        let child = spawn(command).with_context(|| format!("starting {name} through setpriv (util-linux)"))?;
        Ok(Self {
            name: name.to_owned(),
            child,
            log,
        })
    }

    /// Sends a signal, such as `TERM`, unless the process has ended: its number may be another one's then.
    pub(crate) fn signal(&mut self, signal: &str) -> io::Result<()> {
        if self.status()?.is_some() {
            return Ok(());
        }
        let pid = self.child.id().to_string();
        let sent = Command::new("kill").args(["-s", signal, &pid]).status()?;
        if sent.success() || self.status()?.is_some() {
            return Ok(());
        }
        Err(io::Error::other(format!("kill -s {signal} {pid}: {sent}")))
    }

    /// How the process ended, if it did.
    pub(crate) fn status(&mut self) -> io::Result<Option<ExitStatus>> {
        self.child.try_wait()
    }

    /// Kills the process and waits until it is gone; fails only for one that is gone already.
    pub(crate) fn kill(&mut self) -> io::Result<ExitStatus> {
        self.child.kill()?;
        self.child.wait()
    }

    /// What it has used so far.
    pub(crate) fn usage(&self) -> anyhow::Result<Usage> {
        let read = |file: &str| std::fs::read_to_string(format!("/proc/{}/{file}", self.child.id()));
        let status = read("status")?;
        let kib = |what: &'static str| -> anyhow::Result<u64> {
            let size = status.lines().find_map(|line| line.strip_prefix(what)).context(what)?;
            Ok(size.trim().trim_end_matches(" kB").trim().parse()?)
        };
        // The name, in parentheses, may hold spaces; user and system time are the 12th and 13th after it.
        let stat = read("stat")?;
        let (_, fields) = stat.rsplit_once(')').context("a name")?;
        let ticks: Vec<u64> = fields
            .split_whitespace()
            .skip(11)
            .take(2)
            .map(str::parse)
            .collect::<Result<_, _>>()?;
        Ok(Usage {
            resident_kib: kib("VmRSS:")?,
            peak_kib: kib("VmHWM:")?,
            cpu: Duration::from_millis(ticks.iter().sum::<u64>() * MILLIS_PER_TICK),
        })
    }

    /// How many sockets it has open.
    pub(crate) fn sockets(&self) -> anyhow::Result<usize> {
        let files = std::fs::read_dir(format!("/proc/{}/fd", self.child.id()))?;
        // One may be closed while it is looked at.
        let targets = files.filter_map(|file| std::fs::read_link(file.ok()?.path()).ok());
        Ok(targets
            .filter(|target| target.to_string_lossy().starts_with("socket:"))
            .count())
    }

    /// Everything it printed so far.
    pub(crate) fn log(&self) -> String {
        let text = std::fs::read(&self.log).unwrap_or_default();
        String::from_utf8_lossy(&text).into_owned()
    }

    /// How the process ended, if it did, in words.
    pub(super) fn ended(&mut self) -> Option<String> {
        match self.status() {
            Ok(None) => None,
            Ok(Some(status)) => Some(status.to_string()),
            Err(error) => Some(error.to_string()),
        }
    }

    /// The last lines it printed.
    pub(crate) fn last_words(&self) -> String {
        const LINES: usize = 15;
        let text = self.log();
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(LINES)..].join("\n")
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Both fail only for a process that is gone already.
        let _ = self.kill();
    }
}

/// Starts a program with the terminal, the folder and the environment of this one, and `environment` on top of it.
pub(crate) fn in_foreground(
    program: &Path,
    arguments: &[&str],
    environment: &[(&str, &OsStr)],
) -> anyhow::Result<Process> {
    let mut command = bound(program);
    command.args(arguments).envs(environment.iter().copied());
    let child = spawn(command).context("starting a program through setpriv (util-linux)")?;
    let (name, log) = (program.display().to_string(), PathBuf::new());
    Ok(Process { name, child, log })
}

/// A command that ends with the thread that starts it.
fn bound(program: &Path) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL", "--"]).arg(program);
    command
}

/// A command to spawn, and where the answer goes.
type Order = (Command, SyncSender<io::Result<Child>>);

/// The door to the thread that forks; it is never joined.
static FORKER: LazyLock<Sender<Order>> = LazyLock::new(|| {
    let (orders, inbox) = channel::<Order>();
    std::thread::spawn(move || {
        for (mut command, answer) in inbox {
            // Whoever asked waits for the answer, so the send cannot fail.
            let _ = answer.send(command.spawn());
        }
    });
    orders
});

/// Spawns `command` on the thread that lives as long as the program.
fn spawn(command: Command) -> io::Result<Child> {
    let (answer, reply) = sync_channel(1);
    FORKER.send((command, answer)).map_err(io::Error::other)?;
    reply.recv().map_err(io::Error::other)?
}
