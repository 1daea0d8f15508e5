//! Which StatefulSets are replaced at all: those that are old enough, and asked for.

use super::cluster::{Cluster, NOW, staged, web};
use super::preconditions::created;
use super::process::{Process, world};
use super::{Change, End, Ended, run, run_alone};
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
        created(&mut cluster, time);
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
    let rows: [(&str, Change); 5] = [
        ("replace-set: Never", |cluster| {
            annotate(cluster, keys::REPLACE_SET, "Never");
        }),
        ("the default is Never", |cluster| {
            annotate(cluster, keys::REPLACE_SET, "unknown");
        }),
        ("paused", |cluster| annotate(cluster, keys::PAUSED, "true")),
        ("the staged change is of another set", |cluster| {
            annotate(cluster, keys::STAGED, &staged("2Gi", Phase::Complete, "uid-0"));
        }),
        ("the live templates are the desired ones", |cluster| {
            annotate(cluster, keys::STAGED, &staged("1Gi", Phase::Complete, "uid-1"));
        }),
    ];
    for (row, change) in rows {
        let mut cluster = web();
        change(&mut cluster);
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
        cluster.change(|object| object["metadata"]["annotations"][key] = value.into());
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
