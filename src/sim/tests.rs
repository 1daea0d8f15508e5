//! A small part of the long run (`make sim`), in every run of the unit tests.

use super::crash;
use super::explore::{Scope, explore};
use super::inhabitants::people::Deed;
use super::log::Log;
use super::mind::Mind;
use super::objects::{SLOTS, Target, Want};
use super::planted::Planted;
use super::run;
use super::schedule;
use super::workload::Workload;
use super::workloads;
use crate::rollout::invariants::{Tally, s12_writes};

#[test]
fn every_workload_reaches_its_wish_undisturbed() {
    for workload in workloads::ALL {
        let world = workload.run(&mut Mind::default(), &mut Log::default());
        assert!(world.is_ok(), "{}: {:?}", workload.name, world.err());
    }
}

#[test]
fn a_wish_takes_no_more_writes_than_it_must() {
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
            .run(&mut Mind::default(), &mut log)
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

#[test]
fn any_fault_while_pods_wait_changes_nothing_in_the_end() {
    let workload = Workload::named("grow-with-image").expect("a workload");
    let tried = crash::every_point_of(workload, &mut Mind::default());
    assert!(tried.as_ref().is_ok_and(|points| *points > 90), "{tried:?}");
}

fn breaks_nothing(workload: &str, seed: u64, mind: &mut Mind) {
    let named = Workload::named(workload).expect("a workload");
    let broken = schedule::run(seed, named, mind, &mut Log::default()).err();
    assert!(
        broken.is_none(),
        "make story SEED={seed} WORKLOAD={workload}: {broken:?}"
    );
}

#[test]
fn random_schedules_break_nothing() {
    let mut mind = Mind::default();
    (0..300).for_each(|seed| breaks_nothing(schedule::workload_of(seed).name, seed, &mut mind));
}

/// Each of them broke a guarantee, or was judged wrongly, for longer than a hundred thousand others.
#[test]
fn schedules_that_were_hard_to_find_break_nothing() {
    for (workload, seed) in [
        ("retention", 76_412),
        ("claim-deleted", 171_002),
        ("take-back", 1_892_876),
        ("first-consumer", 2_554_754),
        ("set-made-anew", 2_850_110),
        ("set-made-anew", 3_125_204),
        ("grow-with-image", 33_575),
        ("parallel-with-one-refused", 19_762),
        ("second-wish", 23_850),
        ("image-there-and-back", 75_608),
        ("image-there-and-back", 36_889),
        ("record-of-another-set", 1_506_930),
        ("record-of-another-set", 1_707_004),
        ("image-there-and-back", 1_715_756),
        ("parallel-with-one-refused", 2_074_256),
        ("grow-two-templates", 4_506_564),
        ("give-up-on-the-way", 3_480_073),
        ("remount", 37_452),
        ("remount", 91_361),
        ("grow-two-templates-with-image", 52_269),
        ("newcomers", 23_528),
        ("disk-full-and-image", 3023),
        ("second-wish", 89_694),
        ("disk-fills-in-parallel", 66_099),
    ] {
        breaks_nothing(workload, seed, &mut Mind::default());
    }
}

#[test]
fn from_every_state_of_a_small_scope_the_wish_is_reached() {
    const TARGET: Target = Target {
        wants: [Want::size(2), Want::size(0)],
        templates: 1,
    };
    for (workload, deed, faults) in [
        ("newcomers", Deed::Target(TARGET), 1),
        // Pods are available some time after they are Ready.
        ("min-ready", Deed::Both(TARGET, 1), 0),
    ] {
        let scope = Scope {
            workload,
            deeds: vec![deed].into(),
            faults,
            travels: 0,
            second: false,
        };
        let explored = explore(scope, 100_000, &mut Mind::default()).expect("every guarantee holds");
        assert!(explored.exhausted && explored.states > 50, "{explored:?}");
    }
}

/// Those that come to light at once; `make sim` finds each.
#[test]
fn planted_bugs_are_found_by_a_guarantee_that_they_break() {
    for planted in [
        Planted::NoUid,
        Planted::NoVersion,
        Planted::NoteBeforeGrowth,
        Planted::LowestFirst,
        Planted::FifthField,
    ] {
        let found = run::find(planted).expect("a failure");
        assert!(
            planted.breaks().contains(&found.broken.rule),
            "{planted:?}: {}",
            found.broken
        );
    }
}

#[test]
fn a_seed_tells_the_same_story_each_time() {
    let seed = run::find(Planted::LowestFirst).expect("a failure").seed;
    let story = super::event(seed, None, Some("LowestFirst")).expect("a story");
    assert_eq!(super::event(seed, None, Some("LowestFirst")), Ok(story.clone()));
    assert!(story.broken.is_some_and(|broken| broken.starts_with("S6: ")));
    assert_eq!(super::event(seed, None, None).expect("a story").broken, None);
    assert!(
        super::event(7, Some("shrink"), None).is_err_and(|why| why.starts_with("expected one of the workloads grow, "))
    );
}

#[test]
fn document_shows_what_a_story_ends_with() {
    let story = super::event(1, Some("grow"), None).expect("a story");
    let last = story.text.lines().last().expect("a line");
    let document = include_str!("../../docs/guarantees.md");
    assert!(
        document.contains(&format!("\n{last}\n")),
        "docs/guarantees.md should show: {last}"
    );
}
