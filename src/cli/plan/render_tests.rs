use super::render;
use crate::api::ReplacementReason as Reason;
use crate::cli::json_tests::{has_the_words, is_as_described};
use crate::cli::output::{OutputFormat, list};
use crate::cli::plan::report::{
    ClaimReport, ClaimValues, PlanOutcome, PlanReport, PlanVerdict, PlannedAction, PodOutcome, ReplacementOrigin,
    ReplacementReport, TargetReport,
};
use crate::cli::row::tests::row;
use crate::gate::ClaimState;
use crate::replace::Fault;

fn state(storage: &str) -> ClaimValues {
    ClaimValues {
        storage: storage.to_owned(),
        capacity: Some("1Gi".to_owned()),
        storage_class: Some("fast".to_owned()),
        attributes_class: None,
    }
}

fn claim(ordinal: u32, action: PlannedAction, step: Option<usize>) -> ClaimReport {
    ClaimReport {
        row: row(&format!("data-web-{ordinal}"), ordinal, Some(ClaimState::Pending)),
        step,
        action,
        now: Some(state("1Gi")),
        then: Some(state("2Gi")),
        keys: Vec::new(),
        pod_replaced: false,
        pod_created: false,
        keeps: Vec::new(),
        obstacles: Vec::new(),
    }
}

fn web() -> PlanReport {
    PlanReport {
        namespace: "shop".to_owned(),
        name: "web".to_owned(),
        source: Some("web.yaml".to_owned()),
        goes_through: true,
        verdict: Some(PlanVerdict {
            outcome: PlanOutcome::Staged,
            decided_here: None,
            message: None,
            warnings: vec!["claim-rollout: staged data 1Gi -> 2Gi".to_owned()],
        }),
        target: Some(TargetReport {
            revision: "6c9f7d5b84".to_owned(),
            update_policy: "InPlace".to_owned(),
            sync: "LockStep".to_owned(),
            idle: None,
            reason: None,
        }),
        pods: PodOutcome::KeepRunning,
        claims: vec![
            claim(1, PlannedAction::Update, Some(1)),
            claim(0, PlannedAction::Update, Some(2)),
        ],
        replacement: None,
        obstacles: Vec::new(),
        notes: Vec::new(),
    }
}

#[test]
fn render_plan_has_headline_table_and_summary() {
    let expected = "\
StatefulSet shop/web: the change would be staged, revision 6c9f7d5b84 (InPlace, LockStep)
  claim-rollout: staged data 1Gi -> 2Gi

STEP   PVC          STORAGE      POD     PLAN
1      data-web-1   1Gi -> 2Gi   stays   update
2      data-web-0   1Gi -> 2Gi   stays   update

2 PVCs to update, one replica after the other; no Pod is restarted.
";
    assert_eq!(render(&[web()], None), expected);
}

/// A terminal wraps longer lines, which are sentences.
#[test]
fn render_table_fits_sixty_columns() {
    let text = render(&[web()], None);
    let rows: Vec<&str> = text.lines().filter(|line| line.contains("   ")).collect();
    assert!(
        rows.len() == 3 && rows.iter().all(|row| row.chars().count() <= 60),
        "{text}"
    );
}

#[test]
fn render_obstacles_are_in_the_row() {
    let mut report = web();
    report.goes_through = false;
    report.pods = PodOutcome::AfterTheirClaims;
    report.claims[0].pod_replaced = true;
    report.claims[1] = claim(0, PlannedAction::Blocked, None);
    report.claims[1].obstacles = vec!["exceeded quota: q\x1b".to_owned(), "and more".to_owned()];
    report.notes = vec!["StorageClass: not checked (forbidden)".to_owned()];
    let text = render(&[report], None);
    let expected = "\
STEP   PVC          STORAGE      POD        PLAN
1      data-web-1   1Gi -> 2Gi   replaced   update
-      data-web-0   1Gi -> 2Gi   stays      blocked: exceeded quota: q\\u{1b}; and more

Note: StorageClass: not checked (forbidden)
1 PVC to update, one replica after the other; 1 cannot be updated; each Pod is replaced when its PVCs are ready.
";
    assert!(text.ends_with(expected), "{text}");
}

#[test]
fn render_wide_has_all_columns() {
    let mut report = web();
    report.claims[1].then = Some(ClaimValues {
        attributes_class: Some("gold".to_owned()),
        ..state("2Gi")
    });
    report.claims[1].keys = vec!["tier a -> b".to_owned()];
    let usual = "STEP   PVC          STORAGE      ATTRIBUTESCLASS   LABELS        POD     PLAN\n";
    assert!(render(std::slice::from_ref(&report), None).contains(usual));
    let wide = "\
STEP   PVC          STORAGE      CAPACITY   STORAGECLASS   ATTRIBUTESCLASS   LABELS        POD     PLAN
1      data-web-1   1Gi -> 2Gi   1Gi        fast           -                 -             stays   update
2      data-web-0   1Gi -> 2Gi   1Gi        fast           none -> gold      tier a -> b   stays   update
";
    let text = render(&[report], Some(OutputFormat::Wide));
    assert!(text.contains(wide), "{text}");
}

#[test]
fn render_denial_and_no_change_have_no_table() {
    let mut report = web();
    report.goes_through = false;
    report.claims = Vec::new();
    report.target = None;
    report.verdict = Some(PlanVerdict {
        outcome: PlanOutcome::Refused,
        decided_here: None,
        message: Some("claim-rollout: no".to_owned()),
        warnings: Vec::new(),
    });
    let denied = "StatefulSet shop/web: the change would be denied\n  claim-rollout: no\n\nNothing would change.\n";
    assert_eq!(render(&[report], None), denied);

    let mut report = web();
    report.verdict = None;
    report.claims = vec![claim(0, PlannedAction::UpToDate, None)];
    let nothing = "StatefulSet shop/web: revision 6c9f7d5b84 (InPlace, LockStep) is staged\n\nNothing to do.\n";
    assert_eq!(render(&[report], None), nothing);
}

#[test]
fn json_of_a_plan_is_as_described() {
    let mut report = web();
    let some = |text: &str| Some(text.to_owned());
    let values = |storage: &str, capacity: Option<String>| ClaimValues {
        capacity,
        attributes_class: some("gold"),
        ..state(storage)
    };
    report.claims = vec![ClaimReport {
        now: Some(values("1Gi", some("1Gi"))),
        then: Some(values("2Gi", None)),
        keys: vec!["tier a -> b".to_owned()],
        keeps: vec!["spec.storageClassName fast, not slow".to_owned()],
        obstacles: vec!["exceeded quota".to_owned()],
        ..claim(1, PlannedAction::Blocked, Some(1))
    }];
    let verdict = report.verdict.as_mut().expect("a verdict");
    (verdict.decided_here, verdict.message) = (some("no cluster"), some("no"));
    let target = report.target.as_mut().expect("a target");
    (target.idle, target.reason) = (some("Paused"), Some("Paused"));
    report.replacement = Some(ReplacementReport {
        asked_by: ReplacementOrigin::Setting,
        prevented_by: vec![Fault {
            reason: Reason::PodNotReady,
            message: "web-1".to_owned(),
        }],
    });
    let text = list(Some(OutputFormat::Json), "PlanList", &[report], String::new);
    is_as_described(&[text.expect("text")]);
}

#[test]
fn words_of_a_plan_are_as_described() {
    use PlanOutcome::{AlreadyStaged, Created, Refused, Staged, Unchanged, Withdrawn};
    use PlannedAction::{Blocked, Create, Held, NotReached, ReCreate, UpToDate, Update, Wait};
    use PodOutcome::{AfterTheReplacement, AfterTheirClaims, ByThemselves, KeepRunning, NotChecked, WhenDeleted};
    use ReplacementOrigin::{Annotation, Setting};
    let outcomes = [Created, Staged, AlreadyStaged, Withdrawn, Unchanged, Refused];
    has_the_words("PlanList", "verdict.outcome", &outcomes);
    let actions = [Update, ReCreate, UpToDate, Wait, Create, Blocked, NotReached, Held];
    has_the_words("PlanList", "claims.action", &actions);
    let pods = [
        KeepRunning,
        AfterTheirClaims,
        ByThemselves,
        WhenDeleted,
        AfterTheReplacement,
        NotChecked,
    ];
    has_the_words("PlanList", "pods", &pods);
    has_the_words("PlanList", "replacement.askedBy", &[Annotation, Setting]);
}

#[test]
fn render_replacement_is_below_the_table() {
    let fault = |reason: Reason, message: &str| Fault {
        reason,
        message: message.to_owned(),
    };
    let mut report = web();
    report.claims.clear();
    report.replacement = Some(ReplacementReport {
        asked_by: ReplacementOrigin::Annotation,
        prevented_by: vec![
            fault(Reason::PartitionSet, "the partition is 1"),
            fault(Reason::PodNotReady, "Pod web-1\u{1b}"),
        ],
    });
    let text = render(&[report.clone()], None);
    let expected = "\
Replacement: when the rollout is complete, the StatefulSet gets these templates without a restart of its Pods (the annotation replace-set)
  not now: PartitionSet: the partition is 1
  not now: PodNotReady: Pod web-1\\u{1b}
  not checked: the guard, and whether the API server would accept it (a dry run of claim-rollout replace does)
";
    assert!(text.contains(expected), "{text}");
    report.target.as_mut().expect("a target").update_policy = "OnClaimDelete".to_owned();
    report.replacement.as_mut().expect("a replacement").asked_by = ReplacementOrigin::Setting;
    let text = render(&[report], None);
    let line = "Replacement: at once, the StatefulSet gets these templates without a restart of its Pods (the setting defaultReplaceSet)\n";
    assert!(text.contains(line), "{text}");
}
