//! Each guarantee about one request is broken by what breaks it, and no other one is.

use super::Rule::{S1, S2, S3, S4, S5, S8, S9, S10, S12};
use super::fixtures::{EARLIER, History, Row, check, claim};
use super::{Wanted, What};

fn grow_the_highest() -> History {
    let mut history = History::of_apply(12);
    // What holds of another claim says nothing about this one.
    history.before.claim(10).request = 30;
    history
}

/// A growth to 40, which the driver did not reach, is taken back.
fn take_back(history: &mut History) {
    let claim = history.before.claim(12);
    (claim.revision, claim.request, claim.capacity) = (Some(EARLIER), 40, 8);
    history.recover = true;
}

const SIZES: &[Row] = &[
    ("as large as the claim is no growth", |it| it.size(10), &[]),
    ("smaller than the claim asks for", |it| it.size(9), &[S1]),
    (
        "smaller than the claim asks for, although it has less",
        |it| {
            it.before.claim(12).capacity = 8;
            it.size(9);
        },
        &[S1],
    ),
    (
        "larger than the claim asks for, but smaller than it is",
        |it| {
            it.before.claim(12).capacity = 15;
            it.size(12);
        },
        &[S1],
    ),
    ("as large as it is", |it| it.before.claim(12).capacity = 20, &[]),
    ("larger than the wish and the claim", |it| it.size(21), &[S1]),
    (
        "larger than the wish, and as large as the claim",
        |it| {
            it.before.claim(12).request = 30;
            it.size(30);
        },
        &[],
    ),
    (
        "larger than the wish of this template, not of another",
        |it| {
            it.before.wanted.push(Wanted { size: 90, class: None });
            it.size(21);
        },
        &[S1],
    ),
    (
        "larger than the wish, which was another when that was decided",
        |it| {
            it.once(|then| then.set().target = Some(EARLIER));
            it.revision(EARLIER);
            it.size(21);
        },
        &[],
    ),
    ("a growth that was ours and not reached is taken back", take_back, &[]),
    (
        "which nobody has allowed",
        |it| {
            take_back(it);
            it.recover = false;
        },
        &[S1],
    ),
    (
        "a growth that was not ours",
        |it| {
            take_back(it);
            it.before.claim(12).revision = None;
        },
        &[S1],
    ),
    (
        "down to what it has",
        |it| {
            take_back(it);
            it.before.claim(12).capacity = 20;
        },
        &[S1],
    ),
    (
        "down to less than it has",
        |it| {
            take_back(it);
            it.before.claim(12).capacity = 21;
        },
        &[S1],
    ),
];

#[test]
fn s1_is_broken_by_a_claim_that_becomes_smaller_or_larger_than_wished() {
    check(grow_the_highest, SIZES);
}

/// A request that holds so many fields that are not the template's.
fn other_fields(history: &mut History, count: u32) {
    let What::Apply { other_fields, .. } = &mut history.request.what else {
        panic!("expected an apply");
    };
    *other_fields = count;
}

const FIELDS: &[Row] = &[
    ("a field that is not the template's", |it| other_fields(it, 1), &[S2]),
    (
        "a class that nobody wishes",
        |it| it.after.claim(12).class = Some(9),
        &[S2],
    ),
    (
        "the claim keeps its own class",
        |it| {
            it.before.claim(12).class = Some(4);
            it.after.claim(12).class = Some(4);
        },
        &[],
    ),
    (
        "a class that was wished when that was decided",
        |it| {
            it.once(|then| then.set().target = Some(EARLIER));
            it.revision(EARLIER);
            it.after.claim(12).class = Some(9);
        },
        &[],
    ),
    (
        "a claim that is gone since has no class",
        |it| it.after.without_claim(12),
        &[],
    ),
];

#[test]
fn s2_is_broken_by_a_fifth_field_and_by_a_class_that_nobody_wishes() {
    check(grow_the_highest, FIELDS);
}

const OBJECTS: &[Row] = &[
    ("an object is made", |it| it.request.before = None, &[S3]),
    ("no uid is named", |it| it.request.uid = None, &[S3]),
    (
        "the object is another one of that name",
        |it| it.request.uid = Some(3),
        &[S3],
    ),
    ("a claim is deleted", |it| it.request.what = What::Delete, &[S4]),
    ("no version is named", |it| it.request.version = None, &[S9]),
    ("the object has changed since", |it| it.request.version = Some(3), &[S9]),
    ("nothing is changed", |it| it.request.changed = false, &[S12]),
];

#[test]
fn s3_s4_s9_and_s12_are_broken_by_what_a_request_does_to_an_object() {
    check(grow_the_highest, OBJECTS);
    check(|| History::of_set(What::StagedChange), OBJECTS);
}

const CLAIMS: &[Row] = &[
    ("another's claim", |it| it.before.claim(12).ours = false, &[S5]),
    (
        "another's claim, if it is not known for which set that was decided",
        |it| {
            it.before.claim(12).ours = false;
            it.request.set = None;
        },
        &[S5],
    ),
    (
        "the claim of a set of that name which is no more",
        |it| {
            it.before.claim(12).ours = false;
            it.request.set = Some(2);
        },
        &[],
    ),
    (
        "of a set that is no more, and none came after it",
        |it| {
            it.before.claim(12).ours = false;
            it.before.set = None;
        },
        &[],
    ),
    (
        "other claims are another's",
        |it| {
            it.before.claim(10).ours = false;
            it.before.claims.insert(0, claim(1, 12));
            it.before.claims[0].ours = false;
        },
        &[],
    ),
    (
        "a claim that carries the revision",
        |it| it.before.claim(12).revision = it.before.set().target,
        &[S8],
    ),
    (
        "a claim that carries an earlier revision",
        |it| it.before.claim(12).revision = Some(EARLIER),
        &[],
    ),
    (
        "a claim that is being deleted",
        |it| it.before.claim(12).terminating = true,
        &[S10],
    ),
    (
        "a claim of a set that is being deleted",
        |it| it.before.set().terminating = true,
        &[],
    ),
];

#[test]
fn s5_s8_and_s10_are_broken_by_a_write_to_a_claim_that_is_to_be_left_alone() {
    check(grow_the_highest, CLAIMS);
}

#[test]
fn s10_is_broken_by_a_write_to_a_set_that_is_being_deleted() {
    let rows: &[Row] = &[
        (
            "the set is being deleted",
            |it| it.before.set().terminating = true,
            &[S10],
        ),
        (
            "its claims are",
            |it| {
                for claim in &mut it.before.claims {
                    claim.terminating = true;
                }
            },
            &[],
        ),
    ];
    check(|| History::of_set(What::StagedChange), rows);
    check(|| History::of_set(What::Ready), rows);
}
