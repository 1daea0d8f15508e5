//! S5 and S9: past owners of a claim, and past targets.

use super::fixtures::words::check_table;
use super::fixtures::{Trace, claim, wanted};

fn grow_the_highest() -> Trace {
    Trace::of_apply(12)
}

const AROUND: &str = "
    the ordinal above the last                               | ordinal 13                                          | S5
    of a deleted set                                         | ordinal 13; request for another set                 |
    it was in range at this target                           | once: replicas 4; ordinal 13                        |
    it was in range before this target                       | once: replicas 4, previous target; ordinal 13       | S5
    it was in range when this target came first              | once: replicas 4; ordinal 13; once: previous target |
    it was in range in another set                           | once: replicas 4, set 2; ordinal 13                 | S5
    a foreign Pod mounts the claim                           | mounted 12                                          | S5
    but did not at the previous target                       | mounted 12; once: not mounted 12, previous target   |
    no Pod mounted the claim in the previous set             | mounted 12; once: not mounted 12, no Pod 12, set 2  |
    no Pod mounted the claim two sets ago | mounted 12; once: not mounted 12, no Pod 12, set 3; once: set 2 |
    no Pod mounted the claim between two sets | mounted 12; once: set 2; once: not mounted 12, no Pod 12, no set |
    a foreign Pod mounted the claim between two sets \
        | mounted 12; once: set 2; once: no Pod 12, no set; once: not mounted 12, no set | S5
    a Pod of the previous set mounted the claim              | mounted 12; once: not mounted 12, set 2             | S5
    no foreign Pod mounted the claim out of range            | mounted 12; once: not mounted 12, replicas 2        |
    a foreign Pod mounted the claim out of range             | mounted 12; once: not mounted 10, replicas 2        | S5
    another set has a claim of the same name                 | ambiguous 12                                        | S5
    but did not at the previous target                       | ambiguous 12; once: unambiguous 12, previous target |
    another set has the same name, but the claim did not exist once | ambiguous 12; once: no claim 12 |
    a foreign Pod mounts the claim, which did not exist once | mounted 12; once: no claim 12                       |
    a foreign Pod mounts the claim, which did not exist in the previous set \
        | mounted 12; once: no claim 12, no Pod 12, set 2 |
    another set has the same name, and no foreign Pod mounts the claim | ambiguous 12; once: mounted 12 | S5
    other claims are foreign                                 | mounted 11, ambiguous 10                            |
    the write was decided for the previous target            | once: previous target; revision 6; mounted 12       |
    the write was decided for a deleted set                  | mounted 12; request for another set                 |
";

#[test]
fn write_to_a_claim_always_foreign_breaks_s5() {
    check_table(grow_the_highest, AROUND);
    // A claim of the other template is foreign.
    let mut trace = grow_the_highest();
    trace.before.wanted.push(wanted(20));
    trace
        .before
        .claims
        .extend([10, 11, 12].map(|ordinal| claim(1, ordinal)));
    trace.before.claims[5].mounted_by_another = true;
    assert_eq!(trace.breaks(), []);
}

const ASKED_FOR: &str = "
    a revision that was never the target                   | revision 8                                         | S9
    of a deleted set                                       | revision 8; request for another set                |
    the target of another set                              | once: previous target, set 2; revision 6           | S9
    the target before the previous one                     | once: previous target; once: no target; revision 6 |
    the rollout is paused                                  | paused                                             | S9
    the rollout was not always paused                      | paused; once: not paused                           |
    the rollout was not paused at the previous target      | paused; once: not paused, previous target          | S9
    a late write of the previous target                    | paused; once: previous target; revision 6          |
    the rollout was not paused when this target came first | paused; once: not paused; once: previous target    |
";

#[test]
fn write_of_a_revision_never_staged_breaks_s9() {
    check_table(grow_the_highest, ASKED_FOR);
}
