//! StatefulSets whose templates can change (OpenKruise): the live templates are rolled out, and nothing is written to
//! the set.

use super::text;
use super::words::{act, common};
use crate::api::Settings;
use crate::rollout::fixtures::{rows, staged_change, template, web, writes};
use crate::rollout::snapshot::Snapshot;
use crate::rollout::{Action, plan};
use crate::templates::{Phase, ReplaceSet, Sync};

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

/// A change, the writes, and the reason of the condition `Ready`.
const MUTABLE: &str = "
    its templates have grown   |                                       | grow 2 | RollingOut
    one PVC is on the way      | applied 2                             |        | RollingOut
    one PVC is done            | done 2                                | grow 1 | RollingOut
    all are done               | done 0 1 2                            |        | Complete
    a PVC was made by hand     | done 0 1 2, unlabelled 0              | grow 0 | RollingOut
    a PVC is larger            | done 0 1 2, request 0 9, capacity 0 9 |        | Complete
    its Pods are outdated      | Pods outdated                         | grow 2 | RollingOut
    a Pod is away              | no Pod 1                              | grow 2 | RollingOut
    it is paused               | paused                                |        | Paused
    a partition keeps the last | partition 3                           |        | Partitioned
    a field excludes it        | excluded                              |        | NotSupported
";

fn word(web: &mut Snapshot, word: &str, numbers: &[u32]) {
    match word {
        "Pods outdated" => "web-2".clone_into(&mut web.set.update_revision),
        "excluded" => web.set.not_supported = Some("spec.reserveOrdinals is set"),
        _ => common(web, word, numbers),
    }
}

#[test]
fn mutable_templates_are_rolled_out_and_the_set_not_written() {
    for [row, change, written, reason] in rows(MUTABLE) {
        let mut web = advanced();
        act(&mut web, change, word);
        let found: Vec<String> = writes(&web).into_iter().map(|action| text(&web, action)).collect();
        assert_eq!(found.join(", "), written, "{row}");
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
