//! The Pods that lack a volume as a table: the state, and which Pod is evicted or what it waits for.

use std::sync::Arc;

use super::{MissingVolumes, find};
use crate::api::settings::ReCreate;
use crate::api::{ReadyReason, Settings};
use crate::gate::{PodManagement, StagedAt};
use crate::json::Value;
use crate::rollout::fixtures::{owner, rows, staged_change, template, web, writes};
use crate::rollout::snapshot::{Snapshot, Unready};
use crate::rollout::table_tests::words::{act, common, pod};
use crate::rollout::volume_snapshot::EvictionAnswer;
use crate::rollout::{Action, plan};
use crate::templates::{ReplaceSet, Strategy, UpdatePolicy};

const ALLOW: &str = r#"{"templateChanges": "Allow"}"#;

/// Three replicas without the volume of the new template `logs`. Nothing is staged.
fn wedged() -> Snapshot {
    let mut web = web();
    web.settings = Arc::new(Settings::read(ALLOW).expect("settings"));
    web.set.staged = None;
    web.set.replace_set = Some(ReplaceSet::WhenComplete);
    web.set.live.push(template("logs", "1Gi"));
    web.previous = None;
    web
}

/// These Pods were created again, with every volume.
fn mount(web: &mut Snapshot, ordinals: &[u32]) {
    ordinals.iter().for_each(|ordinal| web.add_pod(*ordinal));
}

/// The Pod has not been Ready since this second; the present second is 1000.
fn unready_since(web: &mut Snapshot, ordinal: u32, since: u64) {
    pod(web, ordinal).ready_since = None;
    let message = "containers with unready status: [app]".to_owned();
    pod(web, ordinal).unready = Some(Unready { since, message });
}

/// `evict web-0`, or what it waits for; nothing if no Pod lacks a volume.
fn found(web: &Snapshot) -> String {
    match find(web) {
        None => String::new(),
        Some(MissingVolumes { evict: Some(evict), .. }) => format!("evict {} {}", evict.pod, evict.claim.0),
        Some(MissingVolumes { message, .. }) => {
            let waits = message.split_once("is not evicted yet: ").expect("what it waits for");
            waits.1.to_owned()
        }
    }
}

fn word(web: &mut Snapshot, word: &str, numbers: &[u32]) {
    match (word, numbers) {
        ("mounts", ordinals) => mount(web, ordinals),
        ("unready since", [ordinal, since]) => unready_since(web, *ordinal, (*since).into()),
        ("another volume", []) => "other".clone_into(&mut pod(web, 0).volumes[1]),
        ("another PVC", []) => "logs-web-0".clone_into(&mut pod(web, 1).claims[1]),
        ("no owner", []) => pod(web, 0).controller = None,
        ("another owner", []) => pod(web, 0).controller = Some(owner("StatefulSet", "web", "another")),
        ("not evicted", [retry]) => {
            web.not_evicted = Some(("it would violate the budget".to_owned(), (*retry).into()));
        }
        ("Never", []) => web.set.replace_set = Some(ReplaceSet::Never),
        ("by default", []) => web.set.replace_set = None,
        ("no settings", []) => web.settings = Arc::default(),
        ("owned", []) => web.set.controller = Some(owner("Database", "db", "uid")),
        ("staged more", []) => {
            let more = ["data", "logs", "more"].map(|name| template(name, "1Gi"));
            web.set.staged = Some(staged_change(more.to_vec()));
        }
        ("staged larger", []) => {
            let larger = vec![template("data", "2Gi"), template("logs", "1Gi")];
            web.set.staged = Some(staged_change(larger));
        }
        _ => common(web, word, numbers),
    }
}

const ROWS: &str = "
    all lack the volume             |                           | evict web-0 logs-web-0
    the lowest has it               | mounts 0                  | evict web-1 logs-web-1
    the highest lacks it            | mounts 0 1                | evict web-2 logs-web-2
    no Pod lacks it                 | mounts 0 1 2              |
    the first ordinal is 1 | first ordinal 1, replicas 2, no Pod 0 | evict web-1 logs-web-1
    one out of range lacks it       | replicas 2, mounts 0 1    |
    a volume of another name mounts its PVC | mounts 0 1 2, another volume | evict web-0 logs-web-0
    its volume mounts another PVC   | mounts 0 1 2, another PVC | evict web-1 logs-web-1
    // Others.
    a higher one is missing         | no Pod 2                  | evict web-0 logs-web-0
    a lower one is missing          | no Pod 0                  | Pod web-0 does not exist
    it is not Ready                 | unready 0                 | evict web-0 logs-web-0
    a higher one that lacks it has not been Ready for five minutes | unready since 2 700 | evict web-0 logs-web-0
    a higher one that lacks it has not been Ready for less: it may come back | unready since 2 701 \
        | Pod web-2 is not Ready, and may become Ready by itself
    a higher one that lacks it has never been Ready, and was created five minutes ago | unready 2, Pod created 2 700 \
        | evict web-0 logs-web-0
    a higher one that lacks it has never been Ready, and was created a moment ago | unready 2 \
        | Pod web-2 is not Ready, and may become Ready by itself
    both higher ones lack it, and one of them may come back | unready since 1 600, unready since 2 990 \
        | Pod web-2 is not Ready, and may become Ready by itself
    a higher one that lacks nothing is not Ready | mounts 2, unready 2 | Pod web-2 is not Ready
    a lower one is not Ready        | mounts 0, unready 0       | Pod web-0 is not Ready
    a lower one has not been Ready for long enough | mounts 0, min ready 30, Pod ready since 0 980 \
        | Pod web-0 has not been Ready for 30 seconds yet
    a higher one that lacks it has not been Ready for long enough | min ready 30, Pod ready since 2 980 \
        | Pod web-2 has not been Ready for 30 seconds yet
    a lower one is being deleted | mounts 0, ending 0, unready 0 | Pod web-0 is being deleted
    a higher one is being deleted   | ending 2, unready 2       | Pod web-2 is being deleted
    it is being deleted             | ending 0, unready 0       | it is being deleted
    it has no owner yet             | no owner                  | the StatefulSet has not adopted it
    it is of another set            | another owner             | Pod web-0 does not exist
    // Users and settings.
    paused                          | paused                    | paused by the annotation claim-rollout.io/paused
    the eviction was denied         | not evicted 1004          | the eviction was denied: it would violate the budget
    it is tried again               | not evicted 1000          | evict web-0 logs-web-0
    never replaced                  | Never                     |
    not replaced by default         | by default                |
    templates may not change        | no settings               |
    the set is being deleted        | deleted set               |
    another controller owns the set | owned                     |
    another template is staged      | staged more               |
    a larger size is staged         | staged larger             | evict web-0 logs-web-0
";

#[test]
fn pods_without_volume_are_evicted_in_turn() {
    for [row, change, expected] in rows(ROWS) {
        for management in [PodManagement::OrderedReady, PodManagement::Parallel] {
            for strategy in [Strategy::RollingUpdate, Strategy::OnDelete, Strategy::Recreate] {
                let mut web = wedged();
                (web.set.pod_management, web.set.strategy) = (management, strategy);
                act(&mut web, change, word);
                assert_eq!(found(&web), expected, "{row}");
            }
        }
    }
}

/// The plan evicts what the decision returns, and nothing else; it reports it, and goes on until no Pod lacks a volume.
#[test]
fn plan_evicts_and_reports_the_lowest_pod() {
    for [row, change, _] in rows(ROWS) {
        let mut web = wedged();
        act(&mut web, change, word);
        let (plan, lacking) = (plan(&web), find(&web));
        let evicted = plan.actions.iter().filter_map(|action| match action {
            Action::Evict(evict) => Some(evict.clone()),
            _ => None,
        });
        let expected = lacking.as_ref().and_then(|lacking| lacking.evict.clone());
        assert_eq!(evicted.collect::<Vec<_>>(), Vec::from_iter(expected), "{row}");
        assert_eq!(plan.lacks, lacking.is_some(), "{row}");
        let Some(lacking) = lacking else { continue };
        assert!(
            !plan.settled && plan.requeue_after.is_some_and(|after| after <= 300),
            "{row}"
        );
        assert!(plan.progress.ready.message.contains(&lacking.message), "{row}");
        if web.set.staged.is_none() {
            assert_eq!(
                plan.progress.ready.reason,
                ReadyReason::PodLacksVolume.as_str(),
                "{row}"
            );
            assert!(plan.progress.reconciling.holds, "{row}");
        }
    }
}

#[test]
fn message_names_the_pod_and_what_it_waits_for() {
    let mut web = wedged();
    assert_eq!(
        find(&web).expect("a Pod").message,
        "3 Pods lack a volume; Pod web-0 lacks logs, and is evicted now"
    );
    mount(&mut web, &[0, 1]);
    pod(&mut web, 1).ready_since = None;
    assert_eq!(
        find(&web).expect("a Pod").message,
        "1 Pod lacks a volume; Pod web-2 lacks logs, and is not evicted yet: Pod web-1 is not Ready"
    );
}

/// How far the re-creation of a replica has come.
type ReCreatingRow = (&'static str, fn(&mut Snapshot));

const RECREATING: &[ReCreatingRow] = &[
    ("nothing was done", |_| {}),
    ("a snapshot is asked for", |web| {
        web.set.recreate_snapshot = Some("daily".to_owned());
    }),
    ("marked", mark),
    ("deleted", |web| {
        mark(web);
        let claim = web.claim("data-web-2");
        (claim.terminating, claim.deleted) = (true, Some(960));
    }),
];

fn mark(web: &mut Snapshot) {
    let label = web.label().to_string();
    web.claim("data-web-2").recreated_for = Some(label);
}

/// A PVC that is deleted takes its replica away. If another Pod lacks a volume, two are away.
#[test]
fn nothing_is_re_created_while_a_pod_lacks_a_volume() {
    for (row, change) in RECREATING {
        let mut web = wedged();
        web.settings = Arc::new(Settings {
            recreate: ReCreate::Allowed,
            ..Settings::clone(&web.settings)
        });
        web.set.update_policy = Some(UpdatePolicy::ReCreate);
        let mut data = template("data", "1Gi");
        let class = Value::String("fast".into());
        data.spec.insert("storageClassName".to_owned(), class);
        web.stage(vec![data, template("logs", "1Gi")]);
        (0..3).for_each(|ordinal| web.add_claim("logs", ordinal));
        web.set.staged_at = StagedAt::At(950);
        (web.claim("data-web-2").created, web.recreate.live) = (800, Some(Ok(())));
        web.recreate.eviction = Some(("web-2-uid".to_owned(), EvictionAnswer::Allowed));
        change(&mut web);
        // All mount it: the step of the re-creation is due.
        let mut all = web.clone();
        mount(&mut all, &[0, 1, 2]);
        let steps = writes(&all);
        let is_due = steps.iter().any(|step| !matches!(step, Action::ApplyClaim(_)));
        assert!(is_due || plan(&all).asks.is_some(), "{row}: {steps:?}");
        mount(&mut web, &[1, 2]);
        let mut steps = writes(&web);
        steps.retain(|step| !matches!(step, Action::ApplyClaim(_)));
        let [Action::Evict(evict)] = &steps[..] else {
            panic!("{row}: expected one eviction, but found {steps:?}");
        };
        assert_eq!((&*evict.pod, plan(&web).asks), ("web-0", None), "{row}");
    }
}

/// No Pod is evicted for its file system while it could not be created again.
#[test]
fn remount_waits_until_the_set_is_replaced() {
    let mut web = wedged();
    web.set.live.pop();
    web.set.restart = crate::templates::Restart::WhenNodeExpansionPends;
    web.set.staged = Some(staged_change(vec![template("data", "2Gi"), template("logs", "1Gi")]));
    let claim = web.applied("data-web-2");
    claim.resize = Some(crate::claims::progress::Resize::NodePending);
    claim.file_system_resize_pending = Some("1970-01-01T00:15:00Z".to_owned());
    let evicts = |web: &Snapshot| {
        plan(web)
            .actions
            .iter()
            .any(|action| matches!(action, Action::Evict(_)))
    };
    assert!(!evicts(&web));
    web.set.staged = Some(staged_change(vec![template("data", "2Gi")]));
    web.applied("data-web-2");
    assert!(evicts(&web));
}
