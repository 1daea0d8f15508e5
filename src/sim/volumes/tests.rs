//! The whole search, in every run of the unit tests.

use super::super::bugs::PlantedBug as _;
use super::super::effort::Effort;
use super::bugs::VolumesBug;
use super::prove;
use crate::sim::tests::documented;

#[test]
fn every_state_keeps_pods_and_each_planted_bug_is_found() {
    let numbers = prove(&Effort::times(1), &|_| {});
    println!("{}", numbers.expect("every guarantee holds"));
}

#[test]
fn document_counts_planted_bugs() {
    assert_eq!(
        documented("planted bugs of added templates"),
        Some(VolumesBug::ALL.len())
    );
}
