//! Which StatefulSets are replaced at all: those that are old enough, and asked for.

use super::cluster::{Cluster, NOW, staged, web};
use super::process::{Process, world};
use super::words::act;
use super::{End, Ended, run, run_alone};
use crate::api::Settings;
use crate::replace::live::LiveSet;
use crate::replace::next;
use crate::replace::step::{Part, Step};
use crate::replace::world::World;
use crate::templates::{Phase, ReplaceSet, keys};

/// An age of a minute is enough, and an unreadable time is none.
#[test]
fn set_of_a_minute_is_old_enough() {
    for time in ["2026-01-01T00:59:00Z", "2026-01-01T00:00:00Z", "no time"] {
        let mut cluster = web();
        act(&mut cluster, &format!("/metadata/creationTimestamp {time}"));
        assert_eq!(cluster.now, NOW);
        let step = next(&world(&cluster, &Process::default()));
        assert_eq!(step, Step::Read(Part::Guard), "{time}");
    }
}

fn annotate(cluster: &mut Cluster, key: &str, value: &str) {
    cluster.change(|object| object["metadata"]["annotations"][key] = value.into());
}

/// Who asks for nothing gets nothing, and nothing is read.
#[test]
fn set_without_a_request_is_left_alone() {
    let staged = |size, uid| staged(size, Phase::Complete, uid);
    for (row, key, value) in [
        ("replace-set: Never", keys::REPLACE_SET, "Never"),
        ("the default is Never", keys::REPLACE_SET, "unknown"),
        ("paused", keys::PAUSED, "true"),
        (
            "the staged change is of another set",
            keys::STAGED,
            &staged("2Gi", "uid-0"),
        ),
        (
            "the live templates are the desired ones",
            keys::STAGED,
            &staged("1Gi", "uid-1"),
        ),
    ] {
        let mut cluster = web();
        annotate(&mut cluster, key, value);
        let run = run_alone(&mut cluster);
        assert_eq!(run.steps, [""; 0], "{row}");
        assert_eq!(run.ended, Ended::End(End::Nothing), "{row}");
    }
}

/// The setting decides without the annotation.
#[test]
fn default_replace_set_asks_for_all_sets() {
    let mut cluster = web();
    annotate(&mut cluster, keys::REPLACE_SET, "unknown");
    let settings = Settings {
        default_replace_set: ReplaceSet::WhenComplete,
        ..Settings::default()
    };
    let process = Process::default();
    let asked = World {
        settings: &settings,
        ..world(&cluster, &process)
    };
    assert_eq!(next(&asked), Step::Read(Part::Guard));
}

/// The command `replace` needs no annotation, and does not care about a pause. Every other precondition holds.
#[test]
fn forced_replacement_needs_no_request() {
    for (key, value) in [(keys::REPLACE_SET, "Never"), (keys::PAUSED, "true")] {
        let mut cluster = web();
        annotate(&mut cluster, key, value);
        let mut process = Process::forced();
        let run = run(&mut cluster, &mut process, |_, _, _| {});
        assert_eq!(run.ended, Ended::End(End::Nothing), "{key}");
        assert_eq!(super::state(&cluster), "replaced", "{key}");
        assert_eq!(
            cluster.set.as_ref().and_then(|set: &LiveSet| set.annotation(key)),
            Some(value)
        );
    }
}
