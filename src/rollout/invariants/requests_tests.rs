//! Guarantees about one request. Each row lists every guarantee that is broken.

use super::What;
use super::fixtures::Trace;
use super::fixtures::words::{change_all, check_table};

/// The request of another claim does not matter.
fn grow_the_highest() -> Trace {
    changed("request=30 10")
}

fn changed(change: &str) -> Trace {
    let mut trace = Trace::of_apply(12);
    change_all(&mut trace, change);
    trace
}

const SIZES: &str = "
    as large as the request of the claim                                | size 10                   |
    smaller than the request of the claim                               | size 9                    | S1
    smaller than the request of the claim, and larger than its capacity | capacity=8 12; size 9     | S1
    larger than the request of the claim, and smaller than its capacity | capacity=15 12; size 12   | S1
    as large as its capacity                                            | capacity=20 12            |
    larger than template and claim                                      | size 21                   | S1
    larger than the template, and as large as the claim                 | request=30 12; size 30    |
    larger than this template, and smaller than another                 | template of 90; size 21   | S1
    larger than the template, for the previous target | once: previous target; revision 6; size 21 |
";

/// Takes back a growth to 40 that was ours and that the driver did not reach.
fn take_back() -> Trace {
    changed("request=30 10; at previous 12, request=40 12, capacity=8 12, our size 12; recover")
}

const TAKEN_BACK: &str = "
    the settings do not permit taking a growth back | do not recover             | S1
    the growth was not ours: the label is missing   | unlabelled 12              | S1
    somebody else asked for the growth              | size of a user 12          | S1
    down to the capacity                            | capacity=20 12             | S1
    down to less than the capacity                  | capacity=21 12             | S1
";

#[test]
fn size_below_the_claim_or_above_the_template_breaks_s1() {
    check_table(grow_the_highest, SIZES);
    check_table(take_back, TAKEN_BACK);
}

const FIELDS: &str = "
    a field that is not of the template              | other fields 1                                              | S2
    a class that is not of the template              | after: class=9 12                                           | S2
    the claim keeps its own class                    | always: class=4 12                                          |
    a class of the previous target                   | once: previous target; revision 6; after: class=9 12        |
    the claim was deleted                            | after: no claim 12                                          |
    another StorageClass                             | after: storage class=8 12                                   | S2
    a class of the driver of the claim               | always: storage class=8 12, template with storage class 8   |
    a class of another driver                        | always: storage class=8 12, template with storage class 9   | S2
    a class of another driver than the default       | always: template with storage class 9                       | S2
    the template has the default StorageClass        | always: storage class=8 12                                  |
    a claim of another driver keeps its class \
        | always: storage class=8 12, template with storage class 9; writes class none |
";

/// An earlier staging gave the claim class 4, which the volume never got. The template has no class, and removes it.
fn remove_an_earlier_class() -> Trace {
    changed("request=30 10; always: template without class, class=4 12; writes class none")
}

const EARLIER_CLASS: &str = "
    it is left out, and stays                     | after: class=4 12                            |
    a class that the volume has is removed        | always: current class=4 12                   | S2
    a class that the volume has is written        | always: current class=4 12; writes class 4   |
    a class that the volume never got is written  | writes class 4                               | S2
";

#[test]
fn other_field_or_class_breaks_s2() {
    check_table(grow_the_highest, FIELDS);
    check_table(remove_an_earlier_class, EARLIER_CLASS);
}

const OBJECTS: &str = "
    an object is created              | creates         | S3
    no uid is named                   | no uid          | S3
    the object was created again      | another uid     | S3
    a claim is deleted                | deletes         | S4
    no version is named               | no version      | S9
    the object has changed since      | another version | S9
    nothing is changed                | changes nothing | S12
";

#[test]
fn request_creates_deletes_or_is_stale_breaks_s3_s4_s9_s12() {
    check_table(grow_the_highest, OBJECTS);
    check_table(|| Trace::of_set(What::StagedChange), OBJECTS);
}

const CLAIMS: &str = "
    a foreign claim                                          | foreign 12                                  | S5
    a foreign claim, and the set of the request is unknown   | foreign 12; request for an unknown set      | S5
    a foreign claim, for a deleted set of the same name      | foreign 12; request for another set         |
    a foreign claim, and the set does not exist              | foreign 12, no set                          |
    other claims are foreign                                 | foreign 10, foreign of another template 12  |
    a claim that carries the revision                        | at target 12                                | S8
    a claim that carries the previous revision               | at previous 12                              |
    a claim that is being deleted                            | terminating 12                              | S10
    a claim of a set that is being deleted                   | deleted set                                 |
";

#[test]
fn write_to_a_claim_off_limits_breaks_s5_s8_s10() {
    check_table(grow_the_highest, CLAIMS);
}

const TERMINATING: &str = "
    the set is being deleted     | deleted set          | S10
    its claims are being deleted | terminating 10 11 12 |
";

#[test]
fn write_to_a_terminating_set_breaks_s10() {
    check_table(|| Trace::of_set(What::StagedChange), TERMINATING);
    check_table(|| Trace::of_set(What::Ready), TERMINATING);
}
