//! Guarantees about what has been: whose claim it was, and who asked for what is written.

use super::Rule::{S5, S9};
use super::Wanted;
use super::fixtures::{EARLIER, History, Row, check, claim};

fn grow_the_highest() -> History {
    History::of_apply(12)
}

fn three_then_four(history: &mut History) {
    history.once(|then| then.set().replicas = 4);
    history.ordinal(13);
}

const AROUND: &[Row] = &[
    ("the ordinal above the last", |it| it.ordinal(13), &[S5]),
    (
        "of a set that is no more",
        |it| {
            it.ordinal(13);
            it.request.set = Some(2);
        },
        &[],
    ),
    ("which was in range since the wish was made", three_then_four, &[]),
    (
        "which was in range before",
        |it| {
            three_then_four(it);
            it.past[0].set().target = Some(EARLIER);
        },
        &[S5],
    ),
    (
        "which was in range when this was wished for the first time",
        |it| {
            three_then_four(it);
            it.once(|then| then.set().target = Some(EARLIER));
        },
        &[],
    ),
    (
        "which was in range in another set",
        |it| {
            three_then_four(it);
            it.past[0].set().uid = 2;
        },
        &[S5],
    ),
    (
        "a claim that another's Pod mounts",
        |it| it.before.claim(12).mounted_by_another = true,
        &[S5],
    ),
    (
        "which it did not always, whatever was wished then",
        |it| {
            it.before.claim(12).mounted_by_another = true;
            it.once(|then| {
                then.claim(12).mounted_by_another = false;
                then.set().target = Some(EARLIER);
            });
        },
        &[],
    ),
    (
        "which no Pod mounted before there was the set",
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
        "nor before there was the set before it",
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
        "nor between the set before it and this one",
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
        "which another's Pod mounted between the set before it and this one",
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
        "which a Pod of the set before it mounted",
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
        "which it did not while it was out of range",
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
        "which it did while it was out of range",
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
        "a claim that another set gives the same name",
        |it| it.before.claim(12).ambiguous = true,
        &[S5],
    ),
    (
        "which it did not always, whatever was wished then",
        |it| {
            it.before.claim(12).ambiguous = true;
            it.once(|then| {
                then.claim(12).ambiguous = false;
                then.set().target = Some(EARLIER);
            });
        },
        &[],
    ),
    (
        "which did not when there was no claim yet",
        |it| {
            it.before.claim(12).ambiguous = true;
            it.once(|then| then.without_claim(12));
        },
        &[],
    ),
    (
        "which another's Pod did not mount when there was no claim yet",
        |it| {
            it.before.claim(12).mounted_by_another = true;
            it.once(|then| then.without_claim(12));
        },
        &[],
    ),
    (
        "nor in the set before",
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
        "which another's Pod does not mount",
        |it| {
            it.before.claim(12).ambiguous = true;
            it.once(|then| then.claim(12).mounted_by_another = true);
        },
        &[S5],
    ),
    (
        "other claims are another's as well",
        |it| {
            it.before.claim(11).mounted_by_another = true;
            it.before.claim(10).ambiguous = true;
        },
        &[],
    ),
    (
        "one of the other template is",
        |it| {
            let other = Wanted { size: 20, class: None };
            it.before.wanted.push(other);
            it.before.claims.extend([10, 11, 12].map(|ordinal| claim(1, ordinal)));
            it.before.claims[5].mounted_by_another = true;
        },
        &[],
    ),
    (
        "a claim of a set that was decided for an earlier wish",
        |it| {
            it.once(|then| then.set().target = Some(EARLIER));
            it.revision(EARLIER);
            it.before.claim(12).mounted_by_another = true;
        },
        &[],
    ),
    (
        "a claim of a set that is no more",
        |it| {
            it.before.claim(12).mounted_by_another = true;
            it.request.set = Some(2);
        },
        &[],
    ),
];

#[test]
fn s5_is_broken_by_a_write_to_a_claim_that_was_never_free() {
    check(grow_the_highest, AROUND);
}

const ASKED_FOR: &[Row] = &[
    ("what nobody wishes", |it| it.revision(8), &[S9]),
    (
        "of a set that is no more",
        |it| {
            it.revision(8);
            it.request.set = Some(2);
        },
        &[],
    ),
    (
        "what was wished of another set",
        |it| {
            it.once(|then| {
                then.set().target = Some(EARLIER);
                then.set().uid = 2;
            });
            it.revision(EARLIER);
        },
        &[S9],
    ),
    (
        "what was wished two wishes ago",
        |it| {
            it.once(|then| then.set().target = Some(EARLIER));
            it.once(|then| then.set().target = None);
            it.revision(EARLIER);
        },
        &[],
    ),
    ("the user holds it", |it| it.before.set().paused = true, &[S9]),
    (
        "the user did not always hold it",
        |it| {
            it.before.set().paused = true;
            it.once(|then| then.set().paused = false);
        },
        &[],
    ),
    (
        "the user did not hold the wish before this one",
        |it| {
            it.before.set().paused = true;
            it.once(|then| {
                then.set().paused = false;
                then.set().target = Some(EARLIER);
            });
        },
        &[S9],
    ),
    (
        "and that one is written late",
        |it| {
            it.before.set().paused = true;
            it.once(|then| then.set().target = Some(EARLIER));
            it.revision(EARLIER);
        },
        &[],
    ),
    (
        "the user did not hold it when it was wished for the first time",
        |it| {
            it.before.set().paused = true;
            it.once(|then| then.set().paused = false);
            it.once(|then| then.set().target = Some(EARLIER));
        },
        &[],
    ),
];

#[test]
fn s9_is_broken_by_a_write_that_the_user_has_not_asked_for() {
    check(grow_the_highest, ASKED_FOR);
}
