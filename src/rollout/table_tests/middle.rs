//! Changes in the middle of a rollout.

use super::words::common;
use super::{check, check_with};
use crate::rollout::fixtures::{template, web};

const SWITCHES: &str = "
    to OnClaimDelete                       | done 2, old 1 0, OnClaimDelete          | ClaimsStaged
    back to InPlace: the rollout continues | done 2, reported OnClaimDelete, InPlace | grow 1
    to Async: claims follow as before      | done 2, old 1 0, Async                  | grow 1
    to OnDelete                            | done 2, OnDelete                        |
";

#[test]
fn policy_switch_in_the_middle() {
    check(SWITCHES);
}

const SECOND_TARGETS: &str = "
    what is in motion is finished first                            | done 2, expanding 1, another label | grow 1
    nothing is in motion: it starts again with the highest ordinal | done 2, unlabelled 2               | grow 2
    a replaced Pod is not replaced again                           | done 2, old 1 0, unlabelled 2      | grow 2
";

#[test]
fn second_target_in_the_middle() {
    check_with(web, SECOND_TARGETS, |web, word, numbers| match word {
        "another label" => {
            web.stage(vec![template("data", "2Gi")]);
            let labels = &mut web.set.staged.as_mut().unwrap().templates[0].labels;
            labels.insert("tier".to_owned(), "a".to_owned());
            let revision = web.target();
            web.previous.as_mut().unwrap().revision = revision;
            // So that the apply is `grow 2` in this table.
            web.set.match_labels.insert("tier".to_owned(), "a".to_owned());
            for claim in web.claims.values_mut() {
                claim.labels.insert("tier".to_owned(), "a".to_owned());
            }
        }
        _ => common(web, word, numbers),
    });
}

const SCALES: &str = "
    up: new claims are created updated, and waited for \
        | done 2, replicas 4, new claim 3, applied 3, unbound 3, new Pod 3 |
    up: a new claim that does not exist yet is not waited for   | done 2, replicas 4                         | grow 1
    up, while Pods change: its Pod is waited for                | old 2 1 0, replicas 4                      |
    up, while Pods change: the claim of a Pod that is not Ready comes first | old 2 1 0, replicas 4, unready 0 \
        | grow 0
    the same with Parallel                                      | old 2 1 0, replicas 4, Parallel, unready 0 | grow 0
    up, with a new Pod that is not Ready and has no claim | old 2 1 0, replicas 4, new Pod 3, unready 3 0 | grow 0
    up, while Pods change: one claim at a time | old 2 1 0, replicas 4, unready 0 1, applied 1 |
    down: claims out of range are left alone                    | replicas 2, applied 2                      | grow 1
    down, while Pods change: the highest remaining Pod is named | old 2 1 0, replicas 2, done 1              | nudge 1
    to zero                                                     | replicas 0                                 | complete
    to zero, while Pods change                                  | old 2 1 0, replicas 0                      | complete
    to zero and back: the rest follows, and the phase is Complete no more | done 2, Complete | grow 1, back 3
";

#[test]
fn scaling_in_the_middle() {
    check(SCALES);
}
