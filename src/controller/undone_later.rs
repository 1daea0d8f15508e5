//! Applies that succeeded, and that somebody undid after the reply: a controller that removes labels which it does not
//! know. Without this, the controller would write again at once, for ever.

use std::collections::BTreeMap;

use crate::claims::Claim;
use crate::rollout::{Refusal, Seconds};
use crate::templates::{RevisionLabel, keys};

/// An apply that stays for this long was not undone: the pauses begin anew.
const STAYS: Seconds = 2 * Refusal::MAX_PAUSE;

/// The last successful apply to each PVC, by uid.
#[derive(Debug, Default)]
pub(super) struct LastApplies(BTreeMap<String, LastApply>);

#[derive(Debug)]
struct LastApply {
    label: RevisionLabel,
    /// The resourceVersion in the reply.
    resource_version: String,
    at: Seconds,
    /// How often in a row it was undone.
    undone: u32,
}

impl LastApplies {
    /// Notes the reply to an apply with this label.
    pub(super) fn note(&mut self, label: &RevisionLabel, reply: &Claim, now: Seconds) {
        let before = self.0.remove(&reply.uid).filter(|before| before.label == *label);
        let before = before.filter(|before| now.saturating_sub(before.at) < STAYS);
        let apply = LastApply {
            label: label.clone(),
            resource_version: reply.resource_version.clone(),
            at: now,
            undone: before.map_or(0, |before| before.undone),
        };
        self.0.insert(reply.uid.clone(), apply);
    }

    /// The applies that somebody undid, each as a denial by others. Those that are denied already are left out.
    pub(super) fn undone(
        &mut self,
        claims: &BTreeMap<String, Claim>,
        denials: &BTreeMap<String, Refusal>,
        now: Seconds,
    ) -> Vec<(String, Refusal)> {
        let mut undone = Vec::new();
        for claim in claims.values().filter(|claim| !denials.contains_key(&claim.uid)) {
            let Some(apply) = self.0.get_mut(&claim.uid) else {
                continue;
            };
            let is_late = is_older(&claim.resource_version, &apply.resource_version);
            if is_late || claim.resource_version == apply.resource_version || apply.label.is_on(&claim.labels) {
                continue;
            }
            apply.undone = apply.undone.saturating_add(1);
            let denial = Refusal {
                label: apply.label.clone(),
                resource_version: claim.resource_version.clone(),
                cause: Refusal::CHANGED_BY_OTHERS.to_owned(),
                message: format!("somebody removed the label {} after the reply", keys::REVISION),
                attempts: apply.undone,
                last: now,
            };
            undone.push((claim.uid.clone(), denial));
        }
        undone
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}

/// True iff both resourceVersions are numbers, as in every release of Kubernetes, and the first one is smaller.
pub(super) fn is_older(seen: &str, written: &str) -> bool {
    match (seen.parse::<u64>(), written.parse::<u64>()) {
        (Ok(seen), Ok(written)) => seen < written,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::LastApplies;
    use crate::claims::Claim;
    use crate::json::Map;
    use crate::rollout::Refusal;
    use crate::rollout::fixtures::label;
    use crate::templates::keys;

    fn claim(uid: &str, resource_version: &str, label: &str) -> Claim {
        let labels = vec![(keys::REVISION.to_owned(), label.to_owned())];
        Claim {
            name: "data-web-0".to_owned(),
            uid: uid.to_owned(),
            resource_version: resource_version.to_owned(),
            labels: Map::from_unsorted(labels).unwrap(),
            ..Claim::default()
        }
    }

    /// How often the claim counts as undone, after the apply of the label `b` with the reply of version 10.
    fn undone(applies: &mut LastApplies, seen: Claim, denials: &BTreeMap<String, Refusal>, now: u64) -> Vec<Refusal> {
        let seen = [("data-web-0".to_owned(), seen)].into();
        let undone = applies.undone(&seen, denials, now).into_iter();
        undone.map(|(_, denial)| denial).collect()
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
            let mut applies = LastApplies::default();
            applies.note(&label("b"), &claim("c", "10", &ours), 1000);
            let found = undone(&mut applies, seen, &BTreeMap::new(), 1001);
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
        let mut applies = LastApplies::default();
        let mut pauses = Vec::new();
        let mut now = 1000;
        for _ in 0..10 {
            applies.note(&label("b"), &claim("c", "10", ""), now);
            let denial = undone(&mut applies, claim("c", "11", ""), &BTreeMap::new(), now).remove(0);
            let denials = [("c".to_owned(), denial.clone())].into();
            let again = undone(&mut applies, claim("c", "12", ""), &denials, now);
            assert_eq!(again, [], "one denial for each apply");
            pauses.push(denial.retry_at(now) - now);
            now = denial.retry_at(now);
        }
        assert_eq!(pauses, [1, 2, 4, 8, 16, 32, 64, 128, 256, 300]);
        // It stays for long, and another staging begins anew.
        for (what, next, at) in [("later", label("b"), now + 600), ("another", label("c"), now)] {
            applies.note(&next, &claim("c", "10", ""), at);
            let denial = undone(&mut applies, claim("c", "11", ""), &BTreeMap::new(), at).remove(0);
            assert_eq!(denial.attempts, 1, "{what}");
        }
    }
}
