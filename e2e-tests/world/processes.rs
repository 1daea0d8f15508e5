//! The processes of a control plane and beside it. None outlives the program that started them.
//!
//! `setpriv --pdeathsig KILL` starts every child: the kernel kills the child when its parent ends. The parent is the
//! *thread* that forked, and test threads come and go. So one thread forks all children, and lives as long as the
//! program.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::LazyLock;
use std::sync::mpsc::{Sender, SyncSender, channel, sync_channel};
use std::time::Duration;

use anyhow::Context as _;
use rustix::process::{Pid, kill_process};

pub(crate) use rustix::process::Signal;

/// A running program. Dropping it kills it and waits for its end.
#[derive(Debug)]
pub(crate) struct Process {
    /// The name of the program and of its log.
    pub(super) name: String,
    child: Child,
    log: PathBuf,
}

/// The resources that a process has used.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Usage {
    /// Resident memory.
    pub(crate) resident_kib: u64,
    /// The maximum of the resident memory.
    pub(crate) peak_kib: u64,
    /// Processor time.
    pub(crate) cpu: Duration,
}

impl Usage {
    /// The use by the process with this number.
    pub(crate) fn of(process: u32) -> anyhow::Result<Self> {
        let read = |file: &str| std::fs::read_to_string(format!("/proc/{}/{file}", process));
        let status = read("status")?;
        let kib = |what: &'static str| -> anyhow::Result<u64> {
            let size = status.lines().find_map(|line| line.strip_prefix(what)).context(what)?;
            Ok(size.trim().trim_end_matches(" kB").trim().parse()?)
        };
        // The name, in parentheses, may contain spaces; user and system time are the 12th and 13th fields after it.
        let stat = read("stat")?;
        let (_, fields) = stat.rsplit_once(')').context("a name")?;
        let ticks: Vec<u64> = fields
            .split_whitespace()
            .skip(11)
            .take(2)
            .map(str::parse)
            .collect::<Result<_, _>>()?;
        Ok(Self {
            resident_kib: kib("VmRSS:")?,
            peak_kib: kib("VmHWM:")?,
            cpu: Duration::from_millis(ticks.iter().sum::<u64>() * MILLIS_PER_TICK),
        })
    }
}

/// Linux counts a hundred ticks a second, whatever the frequency of its own clock.
const MILLIS_PER_TICK: u64 = 10;

/// The filter of the log of claim-rollout: it shows what the machines ask for.
const LOG: &str = "info,claim_rollout::controller=debug";

impl Process {
    /// Starts `program` in `folder` (its working directory and `HOME`), and appends its output to `name.log` there. Of
    /// the environment only `PATH` is passed on, and claim-rollout logs the tasks of its machines.
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
            .env("RUST_LOG", LOG)
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

    /// Sends a signal, unless the process has ended: another process may have its number by then.
    pub(crate) fn signal(&mut self, signal: Signal) -> io::Result<()> {
        if self.status()?.is_some() {
            return Ok(());
        }
        Ok(kill_process(Pid::from_child(&self.child), signal)?)
    }

    /// The exit status, if the process has ended.
    pub(crate) fn status(&mut self) -> io::Result<Option<ExitStatus>> {
        self.child.try_wait()
    }

    /// Kills the process and waits for its end. Fails only if it has ended before.
    pub(crate) fn kill(&mut self) -> io::Result<ExitStatus> {
        self.child.kill()?;
        self.child.wait()
    }

    /// The resources that the process has used so far.
    pub(crate) fn usage(&self) -> anyhow::Result<Usage> {
        Usage::of(self.child.id())
    }

    /// The number of open sockets.
    pub(crate) fn sockets(&self) -> anyhow::Result<usize> {
        let files = std::fs::read_dir(format!("/proc/{}/fd", self.child.id()))?;
        // A socket may be closed while it is read.
        let targets = files.filter_map(|file| std::fs::read_link(file.ok()?.path()).ok());
        Ok(targets
            .filter(|target| target.to_string_lossy().starts_with("socket:"))
            .count())
    }

    /// The output so far.
    pub(crate) fn log(&self) -> String {
        let text = std::fs::read(&self.log).unwrap_or_default();
        String::from_utf8_lossy(&text).into_owned()
    }

    /// The exit status in words, if the process has ended.
    pub(super) fn ended(&mut self) -> Option<String> {
        match self.status() {
            Ok(None) => None,
            Ok(Some(status)) => Some(status.to_string()),
            Err(error) => Some(error.to_string()),
        }
    }

    /// The last lines of the output.
    pub(crate) fn last_lines(&self) -> String {
        const LINES: usize = 15;
        let text = self.log();
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(LINES)..].join("\n")
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Both fail only if the process has ended before.
        let _ = self.kill();
    }
}

/// Starts a program with the terminal, the folder and the environment of this one, and `environment` added to it.
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

/// A command to spawn, and the channel for the result.
type Order = (Command, SyncSender<io::Result<Child>>);

/// The channel to the thread that forks, which is never joined.
static FORKER: LazyLock<Sender<Order>> = LazyLock::new(|| {
    let (orders, inbox) = channel::<Order>();
    std::thread::spawn(move || {
        for (mut command, answer) in inbox {
            // The caller waits for the answer, so the send cannot fail.
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
