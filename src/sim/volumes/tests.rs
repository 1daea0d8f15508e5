//! The whole search, in every run of the unit tests.

use super::decision::VolumesBug;
use super::prove;
use super::search::find;
use crate::sim::tests::documented;

#[test]
fn every_state_keeps_pods_and_reaches_the_end() {
    let numbers = prove();
    assert!(numbers.is_ok(), "{}", numbers.expect_err("a path"));
    println!("{}", numbers.expect("numbers"));
}

/// Each bug breaks the guarantee that it is meant to break.
#[test]
fn planted_bugs_break_their_guarantees() {
    for (bug, broken) in [
        (VolumesBug::Descending, "L9: a Pod does not get the volume"),
        (VolumesBug::IgnoresOthers, "S20: two Pods are away"),
        (
            VolumesBug::GateOpen,
            "S20: Kubernetes deleted a Pod that could not be created",
        ),
        (VolumesBug::IgnoresPause, "S20: a Pod was evicted during a pause"),
        (VolumesBug::ByName, "S20: a Pod was evicted that lacks nothing"),
        (VolumesBug::EvictsAny, "S20: a Pod was evicted that lacks nothing"),
        (VolumesBug::TooEarly, "S20: a Pod was evicted that lacks nothing"),
        (
            VolumesBug::GateNeedsOwner,
            "S20: Kubernetes deleted a Pod that could not be created",
        ),
        (VolumesBug::WaitsForMissing, "L9: a Pod does not get the volume"),
    ] {
        let path = find(bug);
        let found = path.map(|path| path.broken).unwrap_or_default();
        assert!(found.starts_with(broken), "{bug:?}: {found}");
    }
}

#[test]
fn document_counts_planted_bugs() {
    assert_eq!(
        documented("planted bugs of added templates"),
        Some(VolumesBug::ALL.len())
    );
}
