//! `claim-rollout replace`: replaces a StatefulSet without a controller.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::bail;
use clap::Args;

use super::cluster::{ClusterArguments, HOME};
use super::completion::sets;
use super::controller::settings;
use super::output::{note, print};
use super::process::{exit, program};
use super::withdraw::DryRun;
use crate::api::ReplacementReason as Reason;
use crate::controller::by_hand::{ByHand, Ended, HandCheck, Happened, RETAINED};
use crate::replace::{End, Fault, LiveSet, Step};
use crate::templates::keys;
use crate::templates::show::printable;

/// Replace a StatefulSet by one with the desired templates, without restarting its Pods
///
/// Does what the annotation `claim-rollout.io/replace-set: WhenComplete` lets the controller do, once, with the rights
/// of the user and without a controller: deletes the StatefulSet without its Pods and creates it with the staged
/// volumeClaimTemplates. It also finishes a replacement that a controller or a previous run began. Two at the same time
/// do no harm: each step names the version of the object that it was decided for.
///
/// The guard allows these steps to the account of the controller only, so use
/// `--as=system:serviceaccount:claim-rollout:claim-rollout-controller` where it is installed. That account needs the
/// rights in deploy/replace-sets.yaml.
///
/// With `--take-back`, it takes a replacement back that is stuck: the StatefulSet is as before. A StatefulSet that is being
/// deleted already, or does not exist, cannot be taken back: its replacement is finished. No Pod and no PVC is deleted:
/// the finalizer is removed only where that deletes nothing, or where no object refers to the StatefulSet and the
/// journal has it.
///
/// Ctrl-C stops it after the present step, never while the StatefulSet does not exist. Run it again to go on.
///
/// Exits with 0 if the StatefulSet is replaced or taken back, or needs neither; with 1 if not, or if it does not exist
/// any more, with the reason; and with 2 on an error or after Ctrl-C.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Name of the StatefulSet
    #[arg(add = sets())]
    name: String,
    /// Take the replacement back, or finish it if the StatefulSet is being deleted already
    #[arg(long)]
    take_back: bool,
    /// Namespace of the installation, with the journals of its controller
    #[arg(long, value_name = "NAMESPACE", default_value = HOME)]
    system_namespace: String,
    /// Policy settings file (JSON or YAML), as the controller has it; built-in defaults if omitted
    #[arg(long, value_name = "FILE")]
    settings: Option<PathBuf>,
    /// `none`, or `server` to check whether the StatefulSet can be replaced, without a change; `server` if the mode is
    /// omitted
    #[arg(
        long,
        value_name = "MODE",
        default_value = "none",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "server"
    )]
    dry_run: DryRun,
}

/// How the command ends.
#[derive(Clone, Debug, PartialEq, Eq)]
enum HandResult {
    /// The StatefulSet is replaced, or would be; or nothing is to be done.
    Done(String),
    /// The StatefulSet is not replaced.
    NotReplaced(String),
}

pub(crate) fn run(cluster: &ClusterArguments, arguments: &Arguments) -> ExitCode {
    let end = async {
        Ok(match replace(cluster, arguments).await? {
            HandResult::Done(text) => print(&text).map(|()| ExitCode::SUCCESS)?,
            HandResult::NotReplaced(text) => {
                note(text.trim_end());
                ExitCode::FAILURE
            }
        })
    };
    exit(end, 2)
}

async fn replace(cluster: &ClusterArguments, arguments: &Arguments) -> anyhow::Result<HandResult> {
    let settings = settings(arguments.settings.as_deref())?;
    // A step that failed is decided anew, not sent again.
    let client = cluster.connect_quietly().await?;
    let own = client.default_namespace().to_owned();
    let namespace = cluster.namespace.clone().unwrap_or(own);
    let place = SetPlace {
        namespace: &namespace,
        name: &arguments.name,
        journals: &arguments.system_namespace,
        takes_back: arguments.take_back,
    };
    let mut by_hand = ByHand::new(
        client,
        settings,
        arguments.system_namespace.clone(),
        (&namespace, &arguments.name),
    );
    if arguments.take_back {
        by_hand = by_hand.taking_back();
    }
    let check = by_hand.check().await.map_err(anyhow::Error::msg)?;
    if let Some(result) = before(&place, &check, arguments.dry_run)? {
        return Ok(result);
    }
    let stopping = AtomicBool::new(false);
    let mut progress = ShownSteps::default();
    let ended = tokio::select! {
        ended = by_hand.run(&stopping, |happened| progress.on(&place, happened, &stopping)) => ended,
        error = interrupted(&stopping, &place) => return Err(error),
    };
    after(&place, ended, progress)
}

/// Stops the replacement at the first Ctrl-C. Returns at the second one.
async fn interrupted(stopping: &AtomicBool, place: &SetPlace<'_>) -> anyhow::Error {
    let first = tokio::signal::ctrl_c().await;
    stopping.store(true, Ordering::Release);
    if first.is_ok() {
        note("stopping after this step; press Ctrl-C again to stop at once");
        drop(tokio::signal::ctrl_c().await);
    }
    anyhow::anyhow!("stopped in the middle of a step; to go on: {}", place.command())
}

/// The StatefulSet, and the namespace of its journal.
struct SetPlace<'a> {
    namespace: &'a str,
    name: &'a str,
    journals: &'a str,
    /// The replacement is to be taken back.
    takes_back: bool,
}

impl SetPlace<'_> {
    /// The command that goes on.
    fn command(&self) -> String {
        let take_back = if self.takes_back { " --take-back" } else { "" };
        command(self.namespace, self.name, self.journals) + take_back
    }

    fn line(&self, text: &str) -> String {
        format!("statefulset.apps/{} {}\n", self.name, printable(text))
    }
}

/// The command that replaces a StatefulSet, or finishes its replacement.
pub(super) fn command(namespace: &str, name: &str, journals: &str) -> String {
    let elsewhere = match journals {
        HOME => String::new(),
        other => format!(" --system-namespace {other}"),
    };
    format!("{} replace -n {namespace} {name}{elsewhere}", program())
}

/// The result of the checks alone. None if the steps are to be executed.
fn before(place: &SetPlace<'_>, check: &HandCheck, dry_run: DryRun) -> anyhow::Result<Option<HandResult>> {
    if let Step::End(End::Refused(fault)) = &check.step {
        return Ok(Some(HandResult::NotReplaced(not_replaced(place, fault))));
    }
    let Some(set) = &check.set else {
        if !check.has_begun {
            bail!(
                "StatefulSet {:?} not found in namespace {}",
                place.name,
                place.namespace
            );
        }
        return Ok(dry(place, check, dry_run));
    };
    Ok(match &check.step {
        Step::End(_) => {
            let text = nothing(set)?;
            let text = if place.takes_back {
                "is not being replaced"
            } else {
                text
            };
            Some(HandResult::Done(place.line(text)))
        }
        _ => dry(place, check, dry_run),
    })
}

/// Why nothing is to be done.
fn nothing(set: &LiveSet) -> anyhow::Result<&'static str> {
    if set.terminating() {
        bail!("StatefulSet {} is being deleted", set.name());
    }
    if set.annotation(keys::STAGED).is_some() && set.staged().is_none() {
        bail!(
            "the staged change of StatefulSet {} cannot be read: {} doctor shows why",
            set.name(),
            program()
        );
    }
    Ok("needs no replacement: nothing is staged that is not live")
}

/// The result of a dry run.
fn dry(place: &SetPlace<'_>, check: &HandCheck, dry_run: DryRun) -> Option<HandResult> {
    let text = match (&check.step, check.has_begun) {
        _ if place.takes_back && check.set.as_ref().is_none_or(LiveSet::terminating) => {
            "is deleted already, and its replacement would be finished (server dry run)"
        }
        _ if place.takes_back => "would be taken back (server dry run)",
        (_, false) => "would be replaced (server dry run)",
        (Step::Unmark { .. } | Step::DeleteJournal, true) => {
            "is being replaced, and the last steps would be made (server dry run)"
        }
        (_, true) => "is being replaced, and the replacement would go on (server dry run)",
    };
    (dry_run == DryRun::Server).then(|| HandResult::Done(place.line(text)))
}

/// What was printed, and why the run was stopped.
#[derive(Default)]
struct ShownSteps {
    /// The step or the fault that was printed last.
    printed: String,
    /// The denial because of which the run stops.
    denied: Option<Fault>,
    absent_millis: Option<u128>,
}

impl ShownSteps {
    fn on(&mut self, place: &SetPlace<'_>, happened: Happened, stopping: &AtomicBool) {
        let text = match happened {
            Happened::Step(step) => format!("{step}: {}", step_in_words(step)),
            Happened::Stalled(fault) => {
                let text = format!("waits: {}: {}", fault.reason, fault.message);
                // The rights of the user do not change while they wait, and whoever takes back has waited.
                if fault.reason == Reason::StepDenied || place.takes_back {
                    self.denied = Some(fault);
                    stopping.store(true, Ordering::Release);
                }
                text
            }
            Happened::Absent(time) => {
                self.absent_millis = Some(time.as_millis());
                return;
            }
            Happened::Retained => RETAINED.to_owned(),
            Happened::Waits(_) | Happened::Ended(_) => return,
        };
        if self.printed != text {
            // A closed pipe does not stop a replacement.
            print(&place.line(&text)).ok();
            self.printed = text;
        }
    }
}

/// What a step does.
fn step_in_words(step: &'static str) -> &'static str {
    match step {
        "WriteJournal" => "writes the StatefulSet into the journal",
        "DisownReport" => "removes the owner of the ClaimRollout",
        "Mark" => "adds the finalizer",
        "Delete" => "deletes the StatefulSet without its Pods, and waits for the garbage collector",
        "LetGo" => "removes the finalizer: the StatefulSet does not exist any more",
        "Create" => "creates the StatefulSet with the desired templates",
        "ScaleUp" => "gives the StatefulSet of somebody else the previous replicas",
        "DeleteRevision" => "deletes a ControllerRevision with the same Pod template",
        "RestoreStrategy" => "restores the update strategy",
        "RestoreStaged" => "restores what was staged meanwhile",
        "RestoreManagers" => "restores the field managers",
        "OwnReport" => "makes the StatefulSet the owner of the ClaimRollout",
        "LeaveForeign" => "leaves the StatefulSet of somebody else as it is",
        "DeleteJournal" => "deletes the journal",
        "Unmark" => "removes the finalizer",
        // Of a newer version of the decision.
        _ => "executes the step",
    }
}

/// The result of a run.
fn after(place: &SetPlace<'_>, ended: Ended, progress: ShownSteps) -> anyhow::Result<HandResult> {
    Ok(match ended {
        Ended::Replaced => {
            let absent = progress.absent_millis;
            let absent = absent.map_or_else(String::new, |millis| format!("; it did not exist for {millis}ms"));
            HandResult::Done(place.line(&format!("replaced{absent}")))
        }
        Ended::Nothing if place.takes_back => {
            let keep = format!(
                "kubectl annotate -n {} statefulset.apps/{} {}=Never --overwrite",
                place.namespace,
                place.name,
                keys::REPLACE_SET
            );
            let taken_back = place.line("is as before: its replacement is taken back");
            HandResult::Done(format!(
                "{taken_back}  a controller may begin again; to prevent that: {keep}\n"
            ))
        }
        Ended::Nothing => HandResult::Done(place.line("needs no replacement any more")),
        Ended::Refused(fault) | Ended::Foreign(fault) | Ended::Absent(fault) => {
            HandResult::NotReplaced(not_replaced(place, &fault))
        }
        Ended::Stopped => match progress.denied {
            Some(fault) => {
                let text = not_replaced(place, &fault);
                HandResult::NotReplaced(format!("{text}  it is in progress; to go on: {}\n", place.command()))
            }
            None => bail!("stopped; to go on: {}", place.command()),
        },
    })
}

/// The reason, and what to do.
fn not_replaced(place: &SetPlace<'_>, fault: &Fault) -> String {
    let reason = place.line(&format!("not replaced: {}: {}", fault.reason, fault.message));
    format!("{reason}  what to do: {}\n", advice(place, fault))
}

fn advice(place: &SetPlace<'_>, fault: &Fault) -> String {
    let account = format!("system:serviceaccount:{}:claim-rollout-controller", place.journals);
    // The message of the guard.
    if fault.message.contains("only the controller may") || fault.message.contains("it is being replaced") {
        return format!(
            "the guard allows a replacement to the controller only: repeat the command with --as={account}, or let the \
             controller do it: kubectl annotate -n {} statefulset.apps/{} {}=WhenComplete --overwrite",
            place.namespace,
            place.name,
            keys::REPLACE_SET
        );
    }
    match fault.reason {
        Reason::DeleteDenied | Reason::CreateDenied | Reason::StepDenied => {
            "read the message; the rights that are needed are in deploy/replace-sets.yaml".to_owned()
        }
        Reason::WaitsForGarbageCollector => {
            "bring the garbage collector of kube-controller-manager back. It removes the references to the old \
             StatefulSet. Do not remove finalizers by hand: Kubernetes would delete every Pod"
                .to_owned()
        }
        Reason::JournalRefused => format!(
            "kubectl get secrets -n {} -l claim-rollout.io/journal shows the journals. If the StatefulSet in this one \
             exists as it should be, delete the Secret",
            place.journals
        ),
        Reason::SetAbsent => "if it is wanted, apply its manifest: its Pods that are left are adopted".to_owned(),
        Reason::GuardMissing => format!(
            "{} doctor shows the command that installs it. If it is installed, you may not read it: you need to list \
             validatingadmissionpolicies and their bindings",
            program()
        ),
        reason if reason.is_brief() => format!("wait, and repeat the command: {}", place.command()),
        _ => "see the reason in docs/replacing.md, and repeat the command".to_owned(),
    }
}

#[cfg(test)]
#[path = "replace_tests.rs"]
mod tests;
