//! The words of a step, a write and a state in a trace.

use super::api::Api;
use super::names::{self, claim_name};
use super::objects::{ModelTarget, place};
use super::step::SimStep;
use super::write::{Apply, Write};
use std::fmt::Write as _;

pub(crate) fn controller(who: u8) -> &'static str {
    if who == 0 { "controller" } else { "second controller" }
}

pub(crate) fn write_words(write: &Write) -> String {
    match write {
        Write::Apply(apply) => apply_words(apply),
        Write::StagedChange { change: None, .. } => "staged: none".to_owned(),
        Write::StagedChange {
            change: Some(change), ..
        } => {
            format!(
                "staged {}: {}",
                target_words(&change.target),
                if change.complete { "Complete" } else { "RollingOut" }
            )
        }
        Write::Ready { ready, .. } => match ready {
            Some((_, ordinal)) => format!("ready {ordinal}"),
            None => "ready: none".to_owned(),
        },
        Write::Report { content, .. } => format!("report {content}"),
        Write::Partition { to, .. } => format!("partition {to}"),
        Write::Delete { slot } => format!("delete {}", claim_name((*slot).into())),
    }
}

fn apply_words(apply: &Apply) -> String {
    let mut text = format!("apply {} {}Gi", claim_name(apply.slot.into()), apply.size);
    if apply.class != 0 {
        let _ = write!(text, " class-{}", apply.class);
    }
    if let Some(class) = names::storage_class(apply.storage_class) {
        let _ = write!(text, " {class}");
    }
    if apply.taken_back {
        text.push_str(" (taken back)");
    }
    text
}

/// A target as text.
pub(crate) fn target_words(target: &ModelTarget) -> String {
    let wants = target.wants().iter().map(|want| {
        let named = |name: Option<String>| name.map_or_else(String::new, |name| format!(" {name}"));
        let (class, storage_class) = (names::class(want.class), names::storage_class(want.storage_class));
        let tier = (want.tier != 0).then(|| format!("t{}", want.tier));
        format!("{}Gi{}{}{}", want.size, named(class), named(tier), named(storage_class))
    });
    let again = match target.staging {
        0 | 1 => String::new(),
        number => format!(" (staging {number})"),
    };
    wants.collect::<Vec<_>>().join(" + ") + &again
}

/// A step as text.
pub(crate) fn words(step: SimStep) -> String {
    let claim = |slot: u8| claim_name(slot.into());
    match step {
        SimStep::Deliver(who, kind) => format!("{} receives {kind:?}", controller(who)),
        SimStep::Reconcile(who) => format!("{} reconciles", controller(who)),
        SimStep::Send(who, fate) => format!("{} sends [{fate:?}]", controller(who)),
        SimStep::Crash(who) => format!("{} restarts", controller(who)),
        SimStep::Start => "a second controller starts".to_owned(),
        SimStep::Freeze => "an API server falls behind".to_owned(),
        SimStep::TimeTravel(who) => format!("{} reads from the API server that is behind", controller(who)),
        SimStep::Sync => "the StatefulSet controller makes a write".to_owned(),
        SimStep::Retry => "the StatefulSet controller retries".to_owned(),
        SimStep::Observe => "the StatefulSet controller writes the status".to_owned(),
        SimStep::Kubelet(ordinal) => format!("kubelet: Pod {ordinal}"),
        SimStep::Provision(slot) => format!("a volume is provisioned for {}", claim(slot)),
        SimStep::Resize(slot, how) => format!("resizer: {} {how:?}", claim(slot)),
        SimStep::Collect => "the garbage collector deletes something".to_owned(),
        SimStep::Tick(seconds) => format!("{seconds} s pass"),
        SimStep::Clock(who, seconds) => format!("the clock of {} jumps by {seconds} s", controller(who)),
        SimStep::User(action) => format!("user: {action:?}"),
    }
}

/// The state as one line.
pub(crate) fn state_words(api: &Api) -> String {
    let Some(set) = api.set else {
        return "no StatefulSet".to_owned();
    };
    let mut text = format!(
        "StatefulSet: {} replicas, image {}, partition {}",
        set.spec.replicas, set.spec.image, set.spec.partition
    );
    if api.max_unavailable {
        text.push_str(", Kubernetes 1.37");
    }
    if let Some(change) = set.staged_change() {
        let _ = write!(text, ", staged {}", target_words(&change.target));
    }
    for (slot, claim) in api.claims.iter().enumerate() {
        let Some(claim) = claim else {
            continue;
        };
        let (template, ordinal) = place(slot);
        let at = claim
            .revision
            .map_or_else(|| "-".to_owned(), |target| target_words(&target));
        let _ = write!(
            text,
            "; PVC {template}/{ordinal} {}/{}Gi at {at}",
            claim.capacity, claim.request
        );
        if let Some(class) = names::storage_class(claim.storage_class) {
            let _ = write!(text, " in {class}");
        }
    }
    text
}
