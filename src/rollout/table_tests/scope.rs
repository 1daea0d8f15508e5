//! Which claims are in scope: ordinals, partitions and ownership.

use super::check_with;
use super::words::common;
use crate::json::Map;
use crate::rollout::fixtures::web;
use crate::rollout::snapshot::{Sibling, Snapshot};

/// The first ordinal is 5.
fn from_five(web: &mut Snapshot) {
    web.set.first_ordinal = 5;
    for ordinal in [5, 6, 7] {
        web.add_claim("data", ordinal);
        web.add_pod(ordinal);
    }
}

fn word(web: &mut Snapshot, word: &str, numbers: &[u32]) {
    match word {
        "from five" => from_five(web),
        "ambiguous" => ambiguous(web),
        "no labels" => {
            web.set.match_labels = Map::new();
            web.claim("data-web-2").labels = Map::new();
        }
        _ => common(web, word, numbers),
    }
}

const PARTITIONS: &str = "
    ordinals start at spec.ordinals.start          | from five                      | grow 7
    a partition counts replicas, not ordinals      | from five, partition 2, done 7 |
    a Pod is named by its ordinal                  | from five, old 7 6 5, done 7   | nudge 7
    the user lowers the partition                  | done 2, partition 1            | grow 1
    a partition above all replicas                 | partition 7                    |
    a canary stops at the partition                | done 2, old 1 0, partition 2   |
    with a partition the rollout is never complete | done 2 1 0, partition 1        |
";

#[test]
fn replicas_below_the_partition_are_left_alone() {
    check_with(web, PARTITIONS, word);
}

const OWNERS: &str = "
    a selector without matchLabels requires no label | no labels           | grow 2
    an ambiguous claim stops the rest                | ambiguous           | ClaimForeign, ClaimForeign, ClaimForeign
    with Parallel, all claims are ambiguous          | ambiguous, Parallel | ClaimForeign, ClaimForeign, ClaimForeign
    with Parallel, a foreign claim stops no other    | foreign 2, Parallel | grow 1, ClaimForeign
    a set that is being deleted is left alone        | deleted set         |
";

#[test]
fn claims_not_of_the_set_are_left_alone() {
    check_with(web, OWNERS, word);
}

fn ambiguous(web: &mut Snapshot) {
    web.set.name = "a-web".to_owned();
    for (_, mut claim) in std::mem::take(&mut web.claims) {
        claim.name = claim.name.replace("data-", "data-a-");
        web.claims.insert(claim.name.clone(), claim);
    }
    web.siblings.push(Sibling {
        set: "web".to_owned(),
        templates: vec!["data-a".to_owned()],
    });
}
