//! S5 and S9: past owners of a claim, and past targets.

use super::Rule::{S5, S9};
use super::fixtures::{PREVIOUS, Row, Trace, check, claim, wanted};

fn grow_the_highest() -> Trace {
    Trace::of_apply(12)
}

fn three_then_four(trace: &mut Trace) {
    trace.once(|then| then.set().replicas = 4);
    trace.ordinal(13);
}

const AROUND: &[Row] = &[
    ("the ordinal above the last", |it| it.ordinal(13), &[S5]),
    (
        "of a deleted set",
        |it| {
            it.ordinal(13);
            it.request.set = Some(2);
        },
        &[],
    ),
    ("it was in range at this target", three_then_four, &[]),
    (
        "it was in range before this target",
        |it| {
            three_then_four(it);
            it.past[0].set().target = Some(PREVIOUS);
        },
        &[S5],
    ),
    (
        "it was in range when this target came first",
        |it| {
            three_then_four(it);
            it.once(|then| then.set().target = Some(PREVIOUS));
        },
        &[],
    ),
    (
        "it was in range in another set",
        |it| {
            three_then_four(it);
            it.past[0].set().uid = 2;
        },
        &[S5],
    ),
    (
        "a foreign Pod mounts the claim",
        |it| it.before.claim(12).mounted_by_another = true,
        &[S5],
    ),
    (
        "but did not at the previous target",
        |it| {
            it.before.claim(12).mounted_by_another = true;
            it.once(|then| {
                then.claim(12).mounted_by_another = false;
                then.set().target = Some(PREVIOUS);
            });
        },
        &[],
    ),
    (
        "no Pod mounted the claim in the previous set",
        |it| {
            it.before.claim(12).mounted_by_another = true;
            it.once(|then| {
                then.claim(12).mounted_by_another = false;
                then.without_pod(12);
                then.set().uid = 2;
            });
        },
        &[],
    ),
    (
        "no Pod mounted the claim two sets ago",
        |it| {
            it.before.claim(12).mounted_by_another = true;
            it.once(|then| {
                then.claim(12).mounted_by_another = false;
                then.without_pod(12);
                then.set().uid = 3;
            });
            it.once(|then| then.set().uid = 2);
        },
        &[],
    ),
    (
        "no Pod mounted the claim between two sets",
        |it| {
            it.before.claim(12).mounted_by_another = true;
            it.once(|then| then.set().uid = 2);
            it.once(|then| {
                then.claim(12).mounted_by_another = false;
                then.without_pod(12);
                then.set = None;
            });
        },
        &[],
    ),
    (
        "a foreign Pod mounted the claim between two sets",
        |it| {
            it.before.claim(12).mounted_by_another = true;
            it.once(|then| then.set().uid = 2);
            it.once(|then| {
                then.without_pod(12);
                then.set = None;
            });
            it.once(|then| {
                then.claim(12).mounted_by_another = false;
                then.set = None;
            });
        },
        &[S5],
    ),
    (
        "a Pod of the previous set mounted the claim",
        |it| {
            it.before.claim(12).mounted_by_another = true;
            it.once(|then| {
                then.claim(12).mounted_by_another = false;
                then.set().uid = 2;
            });
        },
        &[S5],
    ),
    (
        "no foreign Pod mounted the claim out of range",
        |it| {
            it.before.claim(12).mounted_by_another = true;
            it.once(|then| {
                then.claim(12).mounted_by_another = false;
                then.set().replicas = 2;
            });
        },
        &[],
    ),
    (
        "a foreign Pod mounted the claim out of range",
        |it| {
            it.before.claim(12).mounted_by_another = true;
            it.once(|then| {
                then.claim(10).mounted_by_another = false;
                then.set().replicas = 2;
            });
        },
        &[S5],
    ),
    (
        "another set has a claim of the same name",
        |it| it.before.claim(12).ambiguous = true,
        &[S5],
    ),
    (
        "but did not at the previous target",
        |it| {
            it.before.claim(12).ambiguous = true;
            it.once(|then| {
                then.claim(12).ambiguous = false;
                then.set().target = Some(PREVIOUS);
            });
        },
        &[],
    ),
    (
        "another set has the same name, but the claim did not exist once",
        |it| {
            it.before.claim(12).ambiguous = true;
            it.once(|then| then.without_claim(12));
        },
        &[],
    ),
    (
        "a foreign Pod mounts the claim, which did not exist once",
        |it| {
            it.before.claim(12).mounted_by_another = true;
            it.once(|then| then.without_claim(12));
        },
        &[],
    ),
    (
        "a foreign Pod mounts the claim, which did not exist in the previous set",
        |it| {
            it.before.claim(12).mounted_by_another = true;
            it.once(|then| {
                then.without_claim(12);
                then.without_pod(12);
                then.set().uid = 2;
            });
        },
        &[],
    ),
    (
        "another set has the same name, and no foreign Pod mounts the claim",
        |it| {
            it.before.claim(12).ambiguous = true;
            it.once(|then| then.claim(12).mounted_by_another = true);
        },
        &[S5],
    ),
    (
        "other claims are foreign",
        |it| {
            it.before.claim(11).mounted_by_another = true;
            it.before.claim(10).ambiguous = true;
        },
        &[],
    ),
    (
        "a claim of the other template is foreign",
        |it| {
            let other = wanted(20);
            it.before.wanted.push(other);
            it.before.claims.extend([10, 11, 12].map(|ordinal| claim(1, ordinal)));
            it.before.claims[5].mounted_by_another = true;
        },
        &[],
    ),
    (
        "the write was decided for the previous target",
        |it| {
            it.once(|then| then.set().target = Some(PREVIOUS));
            it.revision(PREVIOUS);
            it.before.claim(12).mounted_by_another = true;
        },
        &[],
    ),
    (
        "the write was decided for a deleted set",
        |it| {
            it.before.claim(12).mounted_by_another = true;
            it.request.set = Some(2);
        },
        &[],
    ),
];

#[test]
fn write_to_a_claim_always_foreign_breaks_s5() {
    check(grow_the_highest, AROUND);
}

const ASKED_FOR: &[Row] = &[
    ("a revision that was never the target", |it| it.revision(8), &[S9]),
    (
        "of a deleted set",
        |it| {
            it.revision(8);
            it.request.set = Some(2);
        },
        &[],
    ),
    (
        "the target of another set",
        |it| {
            it.once(|then| {
                then.set().target = Some(PREVIOUS);
                then.set().uid = 2;
            });
            it.revision(PREVIOUS);
        },
        &[S9],
    ),
    (
        "the target before the previous one",
        |it| {
            it.once(|then| then.set().target = Some(PREVIOUS));
            it.once(|then| then.set().target = None);
            it.revision(PREVIOUS);
        },
        &[],
    ),
    ("the rollout is paused", |it| it.before.set().paused = true, &[S9]),
    (
        "the rollout was not always paused",
        |it| {
            it.before.set().paused = true;
            it.once(|then| then.set().paused = false);
        },
        &[],
    ),
    (
        "the rollout was not paused at the previous target",
        |it| {
            it.before.set().paused = true;
            it.once(|then| {
                then.set().paused = false;
                then.set().target = Some(PREVIOUS);
            });
        },
        &[S9],
    ),
    (
        "a late write of the previous target",
        |it| {
            it.before.set().paused = true;
            it.once(|then| then.set().target = Some(PREVIOUS));
            it.revision(PREVIOUS);
        },
        &[],
    ),
    (
        "the rollout was not paused when this target came first",
        |it| {
            it.before.set().paused = true;
            it.once(|then| then.set().paused = false);
            it.once(|then| then.set().target = Some(PREVIOUS));
        },
        &[],
    ),
];

#[test]
fn write_of_a_revision_never_staged_breaks_s9() {
    check(grow_the_highest, ASKED_FOR);
}
