use std::collections::BTreeMap;

use super::{LastApplies, note};
use crate::claims::Claim;
use crate::json::Map;
use crate::rollout::Refusal;
use crate::rollout::fixtures::label;
use crate::rollout::machine::fixtures::{self, OfTests};
use crate::templates::keys;

fn claim(uid: &str, resource_version: &str, label: &str) -> Claim {
    let labels = vec![(keys::REVISION.to_owned(), label.to_owned())];
    Claim {
        labels: Map::from_unsorted(labels).unwrap(),
        ..fixtures::claim(uid, resource_version)
    }
}

/// The denials where the PVC is seen like this, after the apply of the label `b` with the reply of version 10.
fn undone(
    applies: &mut LastApplies<OfTests>,
    seen: &Claim,
    denials: &BTreeMap<String, Refusal>,
    now: u64,
) -> Vec<Refusal> {
    super::find_undone::<OfTests>(applies, [seen].into_iter(), denials, now)
        .into_values()
        .collect()
}

#[test]
fn label_removed_after_the_reply_is_noticed() {
    let ours = label("b").to_string();
    for (what, seen, expected) in [
        ("removed", claim("c", "11", ""), 1),
        ("changed", claim("c", "11", "a.xz245"), 1),
        ("still there", claim("c", "11", &ours), 0),
        ("the watch is late", claim("c", "9", ""), 0),
        ("the reply itself", claim("c", "10", ""), 0),
        ("another PVC of the name", claim("d", "11", ""), 0),
    ] {
        let mut applies = LastApplies::<OfTests>::new();
        note::<OfTests>(&mut applies, &label("b"), &claim("c", "10", &ours), 1000);
        let found = undone(&mut applies, &seen, &BTreeMap::new(), 1001);
        assert_eq!(found.len(), expected, "{what}");
        for denial in found {
            assert!(denial.is_by_others(), "{what}");
            assert_eq!(
                (denial.label, denial.last, denial.attempts),
                (label("b"), 1001, 1),
                "{what}"
            );
        }
    }
}

#[test]
fn pauses_double_while_the_label_is_removed() {
    let mut applies = LastApplies::<OfTests>::new();
    let mut pauses = Vec::new();
    let mut now = 1000;
    for _ in 0..10 {
        note::<OfTests>(&mut applies, &label("b"), &claim("c", "10", ""), now);
        let denial = undone(&mut applies, &claim("c", "11", ""), &BTreeMap::new(), now).remove(0);
        let denials = [("c".to_owned(), denial.clone())].into();
        let again = undone(&mut applies, &claim("c", "12", ""), &denials, now);
        assert_eq!(again, [], "one denial for each apply");
        pauses.push(denial.retry_at(now) - now);
        now = denial.retry_at(now);
    }
    assert_eq!(pauses, [1, 2, 4, 8, 16, 32, 64, 128, 256, 300]);
    // It stays for long, and another staging begins anew.
    for (what, next, at) in [("later", label("b"), now + 600), ("another", label("c"), now)] {
        note::<OfTests>(&mut applies, &next, &claim("c", "10", ""), at);
        let denial = undone(&mut applies, &claim("c", "11", ""), &BTreeMap::new(), at).remove(0);
        assert_eq!(denial.attempts, 1, "{what}");
    }
}
