//! StatefulSets whose templates can change (OpenKruise): the live templates are rolled out, and nothing is written to
//! the set.

use super::super::fixtures::{apply, gi, staged_change, template, web, writes};
use super::super::plan::plan;
use super::super::snapshot::Snapshot;
use crate::api::Settings;
use crate::rollout::Action;
use crate::templates::{Phase, ReplaceSet, Sync, keys};

/// The set as the controller reads it: 2Gi in its live templates.
fn advanced() -> Snapshot {
    let mut web = web();
    web.set.templates_can_change = true;
    web.set.sync = Sync::Async;
    web.set.live = vec![template("data", "2Gi")];
    web.stage(web.set.live.clone());
    web.phase(Phase::Complete);
    web
}

/// A change, the ordinal of the PVC that is written, and the reason of the condition `Ready`.
type MutableRow = (&'static str, fn(&mut Snapshot), Option<u32>, &'static str);

#[rustfmt::skip]
const MUTABLE: [MutableRow; 11] = [
    ("its templates have grown", |_| {}, Some(2), "RollingOut"),
    ("one PVC is on the way", |web| _ = web.applied("data-web-2"), None, "RollingOut"),
    ("one PVC is done", |web| web.done("data-web-2"), Some(1), "RollingOut"),
    ("all are done", all_done, None, "Complete"),
    ("a PVC was made by hand", |web| { all_done(web); web.claim("data-web-0").labels.remove(keys::REVISION); }, Some(0), "RollingOut"),
    ("a PVC is larger", |web| { all_done(web); let claim = web.claim("data-web-0"); (claim.request, claim.capacity) = (gi(9), Some(gi(9))); }, None, "Complete"),
    ("its Pods are outdated", |web| web.set.update_revision = "web-2".to_owned(), Some(2), "RollingOut"),
    ("a Pod is away", |web| _ = web.pods.remove("web-1"), Some(2), "RollingOut"),
    ("it is paused", |web| web.set.paused = true, None, "Paused"),
    ("a partition keeps the last", |web| { web.set.partition = 3; }, None, "Partitioned"),
    ("a field excludes it", |web| web.set.not_supported = Some("spec.reserveOrdinals is set"), None, "NotSupported"),
];

fn all_done(web: &mut Snapshot) {
    for ordinal in 0..3 {
        web.done(&format!("data-web-{ordinal}"));
    }
}

#[test]
fn mutable_templates_are_rolled_out_and_the_set_not_written() {
    for (row, change, written, reason) in MUTABLE {
        let mut web = advanced();
        change(&mut web);
        let expected: Vec<Action> = written.map(|ordinal| apply(&web, ordinal)).into_iter().collect();
        assert_eq!(writes(&web), expected, "{row}");
        let plan = plan(&web);
        let [ready, stalled] = [&plan.progress.ready, &plan.progress.stalled];
        assert_eq!(ready.reason, reason, "{row}");
        assert_eq!(
            (ready.holds, stalled.holds),
            (reason == "Complete", reason == "NotSupported"),
            "{row}"
        );
        assert_eq!(plan.settled, ["Complete", "NotSupported"].contains(&reason), "{row}");
    }
}

#[test]
fn pod_of_mutable_templates_that_lacks_a_volume_is_not_evicted() {
    let settings = r#"{"templateChanges": "Allow", "defaultReplaceSet": "WhenComplete"}"#;
    for (is_mutable, evicts) in [(false, true), (true, false)] {
        let mut web = advanced();
        web.settings = Settings::read(settings).expect("settings").into();
        web.set.templates_can_change = is_mutable;
        web.set.replace_set = Some(ReplaceSet::WhenComplete);
        web.set.live = vec![template("data", "1Gi"), template("logs", "1Gi")];
        web.set.staged = is_mutable.then(|| staged_change(web.set.live.clone()));
        let is_eviction = |action: &Action| matches!(action, Action::Evict(_));
        assert_eq!(writes(&web).iter().any(is_eviction), evicts, "mutable: {is_mutable}");
    }
}
