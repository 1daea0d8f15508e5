//! The words of the tables: each changes the fixture, as in `done 2, old 1 0, unready 2`.

use std::sync::Arc;

use crate::claims::Claim;
use crate::gate::{Idle, PodManagement};
use crate::rollout::fixtures::{gi, refused, template};
use crate::rollout::snapshot::{Modify, PodView, Resize, Snapshot};
use crate::templates::{
    ClaimTemplate, MaxInMotion, Phase, Quantity, Ready, Restart, Strategy, Sync, UpdatePolicy, keys,
};

/// Does what one word stands for, with the numbers after it.
pub(crate) type Word = fn(&mut Snapshot, &str, &[u32]);

/// Does what the words of the text stand for, one after the other.
pub(crate) fn act(web: &mut Snapshot, text: &str, word: Word) {
    for part in text.split(", ").filter(|part| !part.is_empty()) {
        let digits = part.find(|sign: char| sign.is_ascii_digit()).unwrap_or(part.len());
        let (name, numbers) = part.split_at(digits);
        let numbers = numbers
            .split_whitespace()
            .map(|number| number.parse().expect("a number"));
        word(web, name.trim_end(), &numbers.collect::<Vec<_>>());
    }
}

/// The words that many tables use. A table with more words leaves these to it.
///
/// The numbers are ordinals, as in `done 2 1 0`, or the ordinal and its value: `request 2 9` is 9Gi for `data-web-2`, and
/// `Pod created 2 960` a second.
pub(crate) fn common(web: &mut Snapshot, word: &str, numbers: &[u32]) {
    match (word, numbers) {
        ("", []) => {}
        ("now", [time]) => web.now = (*time).into(),
        ("nothing reported", []) => web.previous = None,
        ("write denied", [retry]) => web.write_refused = Some(("no".to_owned(), (*retry).into())),
        ("denied at", [time]) => refused(web, (*time).into()),
        ("Pod ready since", [ordinal, time]) => pod(web, *ordinal).ready_since = Some((*time).into()),
        ("ending at", [ordinal, time]) => pod(web, *ordinal).deleted = Some((*time).into()),
        ("Pod created", [ordinal, time]) => pod(web, *ordinal).created = (*time).into(),
        ("request", [ordinal, size]) => claim(web, *ordinal).request = gi((*size).into()),
        ("request Mi", [ordinal, size]) => claim(web, *ordinal).request = Quantity::from_bytes(u64::from(*size) << 20),
        ("capacity", [ordinal, size]) => claim(web, *ordinal).capacity = Some(gi((*size).into())),
        ("allocated", [ordinal, size]) => claim(web, *ordinal).allocated = Some(gi((*size).into())),
        ("live", [size]) => web.set.live = vec![template("data", &format!("{size}Gi"))],
        ("replicas", [number]) => web.set.replicas = *number,
        ("first ordinal", [number]) => web.set.first_ordinal = *number,
        ("partition", [number]) => web.set.partition = *number,
        ("at a time", [number]) => web.set.max_in_motion = Some(MaxInMotion(*number)),
        ("min ready", [seconds]) => web.set.min_ready_seconds = (*seconds).into(),
        ("pends", [ordinal, since]) => pends(web, &format!("data-web-{ordinal}"), (*since).into()),
        ("named", [ordinal]) => {
            let (revision, ordinal) = (web.target(), *ordinal);
            web.set.ready = Some(Ready { revision, ordinal });
        }
        (word, []) => of_the_set(web, word),
        (word, ordinals) => ordinals.iter().for_each(|ordinal| of_a_replica(web, word, *ordinal)),
    }
}

fn of_the_set(web: &mut Snapshot, word: &str) {
    match word {
        "Parallel" => web.set.pod_management = PodManagement::Parallel,
        "Async" => web.set.sync = Sync::Async,
        "OnDelete" => web.set.strategy = Strategy::OnDelete,
        "Recreate" => web.set.strategy = Strategy::Recreate,
        "OnClaimDelete" => web.set.update_policy = Some(UpdatePolicy::OnClaimDelete),
        "InPlace" => web.set.update_policy = Some(UpdatePolicy::InPlace),
        "MaxUnavailable" => web.set.max_unavailable = true,
        "withdrawn" => web.set.staged = None,
        "paused" => web.set.paused = true,
        "deleted set" => web.set.terminating = true,
        "unlisted" => {
            let why = "no answer".to_owned();
            web.halted = Some(Idle::Unlisted { what: "PVCs", why });
        }
        "mutable" => web.set.templates_can_change = true,
        "outdated status" => web.set.status_is_current = false,
        "Complete" => web.phase(Phase::Complete),
        _ => match word.strip_prefix("reported ") {
            Some(reason) => reason.clone_into(&mut web.previous.as_mut().expect("a report").ready),
            None => panic!("{word:?} is no word of this table"),
        },
    }
}

fn of_a_replica(web: &mut Snapshot, word: &str, ordinal: u32) {
    let (name, pod_name) = (format!("data-web-{ordinal}"), format!("web-{ordinal}"));
    match word {
        "missing" => _ = web.claims.remove(&name),
        "foreign" => web.take_over(&name),
        "terminating" => web.claim(&name).terminating = true,
        "unbound" => web.claim(&name).bound = false,
        // Its volume does not exist any more.
        "lost" => {
            let claim = web.claim(&name);
            (claim.bound, claim.lost) = (false, true);
        }
        "unlabelled" => _ = web.claim(&name).labels.remove(keys::REVISION),
        // Written, and this far.
        "done" => web.done(&name),
        "applied" => _ = web.applied(&name),
        "expanding" => web.applied(&name).resizing = true,
        "node pending" => web.applied(&name).resize = Some(Resize::NodePending),
        "infeasible" => web.applied(&name).resize = Some(Resize::ControllerInfeasible),
        "node infeasible" => web.applied(&name).resize = Some(Resize::NodeInfeasible),
        "modifying" => {
            web.done(&name);
            let claim = web.claim(&name);
            (claim.class, claim.modify) = (Some("fast".to_owned()), Some(Modify::InProgress));
        }
        "another access mode" => {
            let many = r#"{"metadata":{"name":"data"},"spec":{"accessModes":["ReadWriteMany"]}}"#;
            web.claim(&name).spec = Arc::new(ClaimTemplate::read(many).expect("a template").spec);
        }
        "no Pod" => _ = web.pods.remove(&pod_name),
        "new claim" => web.add_claim("data", ordinal),
        "new Pod" => web.add_pod(ordinal),
        "old" => "web-0".clone_into(&mut pod(web, ordinal).revision),
        "unready" => pod(web, ordinal).ready_since = None,
        "ending" => pod(web, ordinal).deleted = Some(1030),
        _ => of_a_status(web.claim(&name), word),
    }
}

/// One field of a PVC.
pub(super) fn of_a_status(claim: &mut Claim, word: &str) {
    if let Some(resize) = Resize::read(word) {
        claim.resize = Some(resize);
    } else if let Some(class) = word.strip_prefix("class ") {
        claim.class = Some(class.to_owned());
    } else if let Some(class) = word.strip_prefix("current class ") {
        claim.current_class = Some(class.to_owned());
    } else if let Some(class) = word.strip_prefix("modify class ") {
        claim.modify_class = Some(class.to_owned());
    } else if let Some(modify) = word.strip_prefix("modify ") {
        claim.modify = Some(modify.parse().expect("a status"));
    } else {
        match word {
            "no capacity" => claim.capacity = None,
            "no class" => claim.class = None,
            "file system pending" => claim.file_system_resize_pending = Some(String::new()),
            "resizing" => claim.resizing = true,
            "their size" => claim.size_is_ours = false,
            "their class" => claim.class_is_ours = false,
            "our class" => claim.class_is_ours = true,
            _ => panic!("{word:?} is no word of this table"),
        }
    }
}

pub(crate) fn pod(web: &mut Snapshot, ordinal: u32) -> &mut PodView {
    web.pods.get_mut(&format!("web-{ordinal}")).expect("a Pod")
}

pub(super) fn claim(web: &mut Snapshot, ordinal: u32) -> &mut Claim {
    web.claim(&format!("data-web-{ordinal}"))
}

/// The file system of this PVC pends since this second of the first day; the present second is 1000.
pub(super) fn pends(web: &mut Snapshot, name: &str, since: u64) {
    web.set.restart = Restart::WhenNodeExpansionPends;
    let claim = web.applied(name);
    claim.resize = Some(Resize::NodePending);
    claim.file_system_resize_pending = Some(format!("1970-01-01T00:{:02}:{:02}Z", since / 60, since % 60));
}
