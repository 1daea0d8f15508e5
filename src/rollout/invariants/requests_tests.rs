//! Guarantees about one request. Each row lists every guarantee that is broken.

use super::Rule::{S1, S2, S3, S4, S5, S8, S9, S10, S12};
use super::fixtures::{PREVIOUS, Row, Trace, check, claim, wanted};
use super::{Id, What};

fn grow_the_highest() -> Trace {
    let mut trace = Trace::of_apply(12);
    // Another claim does not matter.
    trace.before.claim(10).request = 30;
    trace
}

/// Takes back a growth to 40 that the driver did not reach.
fn take_back(trace: &mut Trace) {
    let claim = trace.before.claim(12);
    (claim.revision, claim.request, claim.capacity) = (Some(PREVIOUS), 40, 8);
    claim.our_size = true;
    trace.recover = true;
}

const SIZES: &[Row] = &[
    ("as large as the request of the claim", |it| it.size(10), &[]),
    ("smaller than the request of the claim", |it| it.size(9), &[S1]),
    (
        "smaller than the request of the claim, and larger than its capacity",
        |it| {
            it.before.claim(12).capacity = 8;
            it.size(9);
        },
        &[S1],
    ),
    (
        "larger than the request of the claim, and smaller than its capacity",
        |it| {
            it.before.claim(12).capacity = 15;
            it.size(12);
        },
        &[S1],
    ),
    ("as large as its capacity", |it| it.before.claim(12).capacity = 20, &[]),
    ("larger than template and claim", |it| it.size(21), &[S1]),
    (
        "larger than the template, and as large as the claim",
        |it| {
            it.before.claim(12).request = 30;
            it.size(30);
        },
        &[],
    ),
    (
        "larger than this template, and smaller than another",
        |it| {
            it.before.wanted.push(wanted(90));
            it.size(21);
        },
        &[S1],
    ),
    (
        "larger than the template, for the previous target",
        |it| {
            it.once(|then| then.set().target = Some(PREVIOUS));
            it.revision(PREVIOUS);
            it.size(21);
        },
        &[],
    ),
    ("a growth that was ours and not reached is taken back", take_back, &[]),
    (
        "the settings do not permit taking a growth back",
        |it| {
            take_back(it);
            it.recover = false;
        },
        &[S1],
    ),
    (
        "the growth was not ours: the label is missing",
        |it| {
            take_back(it);
            it.before.claim(12).revision = None;
        },
        &[S1],
    ),
    (
        "somebody else asked for the growth",
        |it| {
            take_back(it);
            it.before.claim(12).our_size = false;
        },
        &[S1],
    ),
    (
        "down to the capacity",
        |it| {
            take_back(it);
            it.before.claim(12).capacity = 20;
        },
        &[S1],
    ),
    (
        "down to less than the capacity",
        |it| {
            take_back(it);
            it.before.claim(12).capacity = 21;
        },
        &[S1],
    ),
];

#[test]
fn size_below_the_claim_or_above_the_template_breaks_s1() {
    check(grow_the_highest, SIZES);
}

/// Adds this number of fields that are not of the template.
fn other_fields(trace: &mut Trace, count: u32) {
    let What::Apply { other_fields, .. } = &mut trace.request.what else {
        panic!("expected an apply");
    };
    *other_fields = count;
}

const FIELDS: &[Row] = &[
    ("a field that is not of the template", |it| other_fields(it, 1), &[S2]),
    (
        "a class that is not of the template",
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
        "a class of the previous target",
        |it| {
            it.once(|then| then.set().target = Some(PREVIOUS));
            it.revision(PREVIOUS);
            it.after.claim(12).class = Some(9);
        },
        &[],
    ),
    ("the claim was deleted", |it| it.after.without_claim(12), &[]),
    (
        "another StorageClass",
        |it| it.after.claim(12).storage_class = Some(8),
        &[S2],
    ),
    (
        "a class of the driver of the claim",
        |it| storage_classes(it, Some(8), Some(8)),
        &[],
    ),
    (
        "a class of another driver",
        |it| storage_classes(it, Some(8), Some(9)),
        &[S2],
    ),
    (
        "a class of another driver than the default",
        |it| storage_classes(it, None, Some(9)),
        &[S2],
    ),
    (
        "the template has the default StorageClass",
        |it| storage_classes(it, Some(8), None),
        &[],
    ),
    (
        "a claim of another driver keeps its class",
        |it| {
            storage_classes(it, Some(8), Some(9));
            writes_class(it, None);
        },
        &[],
    ),
    (
        "a class of an earlier staging is left out",
        |it| {
            earlier_class(it, None);
            writes_class(it, None);
        },
        &[],
    ),
    (
        "a class that the volume has is removed",
        |it| {
            earlier_class(it, Some(4));
            it.after.claim(12).class = None;
            writes_class(it, None);
        },
        &[S2],
    ),
    (
        "a class that the volume never got is removed",
        |it| {
            earlier_class(it, None);
            it.after.claim(12).class = None;
            writes_class(it, None);
        },
        &[],
    ),
    (
        "a class of an earlier staging that the volume has",
        |it| {
            earlier_class(it, Some(4));
            writes_class(it, Some(4));
        },
        &[],
    ),
    (
        "a class of an earlier staging that the volume never got",
        |it| {
            earlier_class(it, None);
            writes_class(it, Some(4));
        },
        &[S2],
    ),
];

/// An earlier staging gave the claim class 4, and the volume has this one; the template has none.
fn earlier_class(trace: &mut Trace, current: Option<Id>) {
    for scene in [&mut trace.before, &mut trace.after] {
        scene.wanted[0].class = None;
        (scene.claim(12).class, scene.claim(12).current_class) = (Some(4), current);
    }
}

/// The request contains this class, and it is stored.
fn writes_class(trace: &mut Trace, other: Option<Id>) {
    let What::Apply { class, .. } = &mut trace.request.what else {
        panic!("expected an apply");
    };
    *class = other;
    trace.after.claim(12).class = other;
}

/// The StorageClasses of the claim and of its template.
fn storage_classes(trace: &mut Trace, of_claim: Option<Id>, of_template: Option<Id>) {
    for scene in [&mut trace.before, &mut trace.after] {
        scene.wanted[0].storage_class = of_template;
        scene.claim(12).storage_class = of_claim;
    }
}

#[test]
fn other_field_or_class_breaks_s2() {
    check(grow_the_highest, FIELDS);
}

const OBJECTS: &[Row] = &[
    ("an object is created", |it| it.request.before = None, &[S3]),
    ("no uid is named", |it| it.request.uid = None, &[S3]),
    ("the object was created again", |it| it.request.uid = Some(3), &[S3]),
    ("a claim is deleted", |it| it.request.what = What::Delete, &[S4]),
    ("no version is named", |it| it.request.version = None, &[S9]),
    ("the object has changed since", |it| it.request.version = Some(3), &[S9]),
    ("nothing is changed", |it| it.request.changed = false, &[S12]),
];

#[test]
fn request_creates_deletes_or_is_stale_breaks_s3_s4_s9_s12() {
    check(grow_the_highest, OBJECTS);
    check(|| Trace::of_set(What::StagedChange), OBJECTS);
}

const CLAIMS: &[Row] = &[
    ("a foreign claim", |it| it.before.claim(12).ours = false, &[S5]),
    (
        "a foreign claim, and the set of the request is unknown",
        |it| {
            it.before.claim(12).ours = false;
            it.request.set = None;
        },
        &[S5],
    ),
    (
        "a foreign claim, for a deleted set of the same name",
        |it| {
            it.before.claim(12).ours = false;
            it.request.set = Some(2);
        },
        &[],
    ),
    (
        "a foreign claim, and the set does not exist",
        |it| {
            it.before.claim(12).ours = false;
            it.before.set = None;
        },
        &[],
    ),
    (
        "other claims are foreign",
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
        "a claim that carries the previous revision",
        |it| it.before.claim(12).revision = Some(PREVIOUS),
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
fn write_to_a_claim_off_limits_breaks_s5_s8_s10() {
    check(grow_the_highest, CLAIMS);
}

#[test]
fn write_to_a_terminating_set_breaks_s10() {
    let rows: &[Row] = &[
        (
            "the set is being deleted",
            |it| it.before.set().terminating = true,
            &[S10],
        ),
        (
            "its claims are being deleted",
            |it| {
                for claim in &mut it.before.claims {
                    claim.terminating = true;
                }
            },
            &[],
        ),
    ];
    check(|| Trace::of_set(What::StagedChange), rows);
    check(|| Trace::of_set(What::Ready), rows);
}
