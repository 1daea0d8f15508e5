//! A small part of `make sim`, in every run of the unit tests.

use super::actors::action::UserAction;
use super::actors::users;
use super::crash;
use super::decisions::Decisions;
use super::explore::{ScopeModel, SearchScope};
use super::log::Log;
use super::objects::{ModelTarget, SLOTS, Want};
use super::planted::Planted;
use super::run::{self, DOCUMENT};
use super::schedule;
use super::search::explore;
use super::settings::ModelSettings;
use super::workload::Workload;
use super::workloads;
use super::write::{ApiAnswer, DenialCause};
use crate::rollout::invariants::{Tally, s12_writes};

#[test]
fn undisturbed_workload_reaches_target() {
    for workload in workloads::ALL {
        let world = workload.run(&mut Decisions::default(), &mut Log::default());
        assert!(world.is_ok(), "{}: {:?}", workload.name, world.err());
    }
}

#[test]
fn rollout_takes_minimal_writes() {
    for name in [
        "grow",
        "grow-two-templates",
        "grow-with-image",
        "grow-two-templates-with-image",
        "remount",
        "disk-full-in-parallel",
    ] {
        let workload = Workload::named(name).expect("a workload");
        let mut log = Log::default();
        let world = workload
            .run(&mut Decisions::default(), &mut log)
            .expect("every guarantee holds");
        let replicas = u32::from(workload.replicas);
        let tally = Tally {
            claims: replicas * u32::try_from(workload.wants.len()).expect("few"),
            replicas,
            claim_writes: log.writes[..SLOTS].iter().map(|writes| u32::from(*writes)).sum(),
            ready_writes: log.writes[SLOTS].into(),
            staged_change_writes: log.writes[SLOTS + 1].into(),
            report_writes: log.reports().into(),
        };
        assert_eq!(s12_writes(&tally), Ok(()), "{name}");
        let staged = world.api.set.and_then(|set| set.spec.staged);
        assert!(staged.is_some_and(|change| change.complete), "{name}");
    }
}

/// Size, StorageClass and attributes class of each claim after the first actions of a workload.
fn claims_after(workload: &str, actions: usize) -> Vec<(u8, u8, u8)> {
    let named = Workload::named(workload).expect("a workload");
    let begun = Workload {
        script: &named.script[..actions],
        ..*named
    };
    let world = begun.run(&mut Decisions::default(), &mut Log::default());
    let world = world.expect("every guarantee holds");
    let staged = world.api.set.and_then(|set| set.spec.staged);
    assert!(staged.is_some_and(|change| change.complete), "{workload}");
    let claims = world.api.claims.iter().flatten();
    claims
        .map(|claim| (claim.capacity, claim.storage_class, claim.current_class))
        .collect()
}

#[test]
fn existing_claim_keeps_what_is_for_new_ones() {
    for (workload, actions, claims) in [
        ("another-storage-class", 1, [(3, 1, 0), (3, 1, 0)].as_slice()),
        ("another-storage-class", 2, &[(3, 1, 0), (3, 1, 0), (3, 2, 1)]),
        ("another-storage-class", 4, &[(3, 2, 1), (3, 1, 0), (3, 2, 1)]),
        ("another-storage-class", 5, &[(4, 2, 2), (4, 1, 0), (4, 2, 2)]),
        ("smaller-for-new-claims", 1, &[(3, 0, 0), (3, 0, 0)]),
        ("smaller-for-new-claims", 2, &[(3, 0, 0), (3, 0, 0), (2, 0, 0)]),
        ("smaller-for-new-claims", 4, &[(2, 0, 0), (3, 0, 0), (2, 0, 0)]),
        ("smaller-for-new-claims", 5, &[(4, 0, 0), (4, 0, 0), (4, 0, 0)]),
    ] {
        assert_eq!(claims_after(workload, actions), claims, "{workload}: {actions} actions");
    }
}

/// The first actions of the workload scale to 0; with the last one, the replicas come back.
#[test]
fn offline_driver_needs_one_outage() {
    let named = Workload::named("scaled-to-zero-and-back").expect("a workload");
    for actions in [2, 3] {
        let script = &named.script[..actions];
        let workload = Workload { script, ..*named };
        let mut log = Log::default();
        let world = workload
            .run(&mut Decisions::default(), &mut log)
            .expect("every guarantee holds");
        let sizes: Vec<u8> = world.api.claims.iter().flatten().map(|claim| claim.capacity).collect();
        assert_eq!(sizes, [3, 3, 3], "{actions} actions");
        let staged = world.api.set.and_then(|set| set.spec.staged);
        assert!(staged.is_some_and(|change| change.complete), "{actions} actions");
        assert_eq!(log.writes[SLOTS + 1], 1, "{actions} actions: complete once");
    }
}

#[test]
fn change_for_new_claims_needs_the_setting() {
    for workload in ["another-storage-class", "smaller-for-new-claims"] {
        let named = Workload::named(workload).expect("a workload");
        let mut decisions = Decisions::default();
        let mut world = named
            .start(&mut decisions, &mut Log::default())
            .expect("every guarantee holds");
        let (_, UserAction::Both(target, _)) = named.script[0] else {
            panic!("expected a change of the templates");
        };
        for (settings, policy, expected) in [
            (ModelSettings::Default, true, ApiAnswer::Refused(DenialCause::Webhook)),
            (
                ModelSettings::ForNewClaims,
                false,
                ApiAnswer::Refused(DenialCause::Immutable),
            ),
            (ModelSettings::ForNewClaims, true, ApiAnswer::Done),
        ] {
            (world.api.settings, world.api.policy) = (settings, policy);
            let answer = users::update(&mut world, &mut decisions, |spec| spec.live = target);
            assert_eq!(answer, expected, "{workload}: {settings:?}, policy {policy}");
        }
        let spec = world.api.set.expect("a set").spec;
        assert_eq!(spec.live, ModelTarget::of(named.wants), "{workload}");
        assert_eq!(
            spec.staged.map(|change| change.target.unstaged()),
            Some(target),
            "{workload}"
        );
        let answer = users::edit(&mut world.api, 0, |claim| claim.storage_class += 1);
        assert_eq!(answer, ApiAnswer::Refused(DenialCause::Immutable), "{workload}");
    }
}

#[test]
fn fault_while_pods_wait_keeps_outcome() {
    let workload = Workload::named("grow-with-image").expect("a workload");
    let tried = crash::every_point(workload, &mut Decisions::default());
    assert!(tried.as_ref().is_ok_and(|points| *points > 90), "{tried:?}");
}

fn hold_guarantees(workload: &str, seed: u64, decisions: &mut Decisions) {
    let named = Workload::named(workload).expect("a workload");
    let broken = schedule::run(seed, named, decisions, &mut Log::default()).err();
    assert!(
        broken.is_none(),
        "make story SEED={seed} WORKLOAD={workload}: {broken:?}"
    );
}

#[test]
fn random_schedules_hold_guarantees() {
    let mut decisions = Decisions::default();
    (0..300).for_each(|seed| hold_guarantees(schedule::workload_of(seed).name, seed, &mut decisions));
}

/// Each of them broke a guarantee, or was checked wrongly, although a hundred thousand others were fine.
#[test]
fn rare_schedules_hold_guarantees() {
    for (workload, seed) in [
        ("retention", 76_412),
        ("claim-deleted", 171_002),
        ("take-back", 1_892_876),
        ("first-consumer", 2_554_754),
        ("set-created-again", 2_850_110),
        ("set-created-again", 3_125_204),
        ("grow-with-image", 33_575),
        ("parallel-with-one-foreign", 19_762),
        ("second-target", 23_850),
        ("image-there-and-back", 75_608),
        ("image-there-and-back", 36_889),
        ("staged-change-of-another-set", 1_506_930),
        ("staged-change-of-another-set", 1_707_004),
        ("image-there-and-back", 1_715_756),
        ("parallel-with-one-foreign", 2_074_256),
        ("grow-two-templates", 4_506_564),
        ("give-up-on-the-way", 3_480_073),
        ("remount", 37_452),
        ("remount", 91_361),
        ("grow-two-templates-with-image", 52_269),
        ("newcomers", 23_528),
        ("disk-full-and-image", 3023),
        ("second-target", 89_694),
        ("disk-fills-in-parallel", 66_099),
    ] {
        hold_guarantees(workload, seed, &mut Decisions::default());
    }
}

#[test]
fn small_scope_every_state_reaches_target() {
    const TARGET: ModelTarget = ModelTarget {
        wants: [Want::size(2), Want::size(0)],
        templates: 1,
        staging: 0,
    };
    const FOR_NEW_CLAIMS: ModelTarget = ModelTarget {
        wants: [
            Want {
                class: 1,
                storage_class: 2,
                ..Want::size(2)
            },
            Want::size(0),
        ],
        templates: 1,
        staging: 0,
    };
    for (workload, action, faults) in [
        ("newcomers", UserAction::Target(TARGET), 1),
        ("another-storage-class", UserAction::Target(FOR_NEW_CLAIMS), 1),
        // Pods are available some time after they are Ready.
        ("min-ready", UserAction::Both(TARGET, 1), 0),
    ] {
        let scope = SearchScope {
            workload,
            actions: vec![action].into(),
            faults,
            travels: 0,
            second: false,
        };
        let explored = explore(&mut ScopeModel::of(scope), 100_000).expect("every guarantee holds");
        assert!(explored.exhausted && explored.states > 50, "{explored:?}");
    }
}

/// The bugs that are found quickly; `make sim` finds all.
#[test]
fn planted_bug_is_found_by_its_guarantee() {
    for planted in [
        Planted::NoUid,
        Planted::NoVersion,
        Planted::NoteBeforeGrowth,
        Planted::LabelOfRevision,
        Planted::LowestFirst,
        Planted::FifthField,
        Planted::DropsClass,
        Planted::TakesBackOfOthers,
        Planted::NewPvcsShrinkExisting,
        Planted::AppliesStorageClass,
        Planted::GateSeesOldClaims,
        Planted::WritesClassOfAnotherDriver,
        Planted::ImmutableNeverComplete,
        Planted::CompleteStays,
        Planted::ScaledAwayNeverWritten,
        Planted::LeftInMotion,
        Planted::KeepsClassNeverReached,
        Planted::MissingLabelIsForeign,
    ] {
        assert!(run::find(planted).is_some(), "{planted:?}");
    }
}

#[test]
fn seed_gives_same_trace() {
    let seed = run::find(Planted::LowestFirst).expect("a failure").seed;
    let trace = super::trace(seed, None, Some("LowestFirst")).expect("a trace");
    assert_eq!(super::trace(seed, None, Some("LowestFirst")), Ok(trace.clone()));
    assert!(trace.broken.is_some_and(|broken| broken.starts_with("S6: ")));
    assert_eq!(super::trace(seed, None, None).expect("a trace").broken, None);
    assert!(
        super::trace(7, Some("shrink"), None).is_err_and(|why| why.starts_with("expected one of the workloads grow, "))
    );
}

/// The last cell of a row of the page, if it is a number.
pub(super) fn documented(row: &str) -> Option<usize> {
    let row = DOCUMENT.lines().find(|line| line.starts_with(&format!("| {row} |")))?;
    row.rsplit('|').nth(1)?.trim().parse().ok()
}

/// Whether the page counts the scopes in this file.
pub(super) fn documents_scopes(file: &str, count: usize) -> bool {
    DOCUMENT.contains(&format!(" in {count} [scopes](../../src/sim/{file})"))
}

/// The bugs that the page names as planted again, in the table after this line.
pub(super) fn documented_bugs(after: &str) -> impl Iterator<Item = &'static str> {
    let table = DOCUMENT.split(after).nth(1).expect("the table");
    let rows = table.lines().skip_while(|line| !line.starts_with('|'));
    let rows = rows.take_while(|line| line.starts_with('|'));
    rows.filter_map(|row| {
        let name = row.split('|').nth(2)?.trim().strip_prefix('`')?;
        let name = name.split('`').next()?;
        name.starts_with(char::is_uppercase).then_some(name)
    })
}

#[test]
fn document_counts_workloads_and_planted_bugs() {
    assert_eq!(documented("workloads"), Some(workloads::ALL.len()));
    assert_eq!(documented("planted bugs"), Some(Planted::ALL.len()));
    let bugs: Vec<&str> = documented_bugs("The model found these bugs.").collect();
    assert!(bugs.len() > 8, "{bugs:?}");
    for bug in bugs {
        assert!(Planted::named(bug).is_some(), "{bug} is not planted");
    }
}

#[test]
fn document_shows_last_line_of_trace() {
    let trace = super::trace(1, Some("grow"), None).expect("a trace");
    let last = trace.text.lines().last().expect("a line");
    assert!(
        DOCUMENT.contains(&format!("\n{last}\n")),
        "docs/dev/guarantees.md should show: {last}"
    );
}
