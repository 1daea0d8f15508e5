//! The owner references that the StatefulSet controller writes, in every case.

use super::{OTHER, claim, owners_of};
use crate::claims::Owner;
use crate::claims::retention::{Ordinal, Ownership, PodUid, RetentionPolicy, RetentionType, RightfulOwner};

/// The results of `isClaimOwnerUpToDate` and `updateClaimOwnerRefForSetAndPod` of Kubernetes 1.37.1.
///
/// Left: the references of a PVC; `beta` is one without `controller: true`, `stale` one to a previous uid. Right: `=`
/// if they stay; otherwise the new owner: `S` the StatefulSet, `P` the Pod, `-` neither. In range and scaled down are
/// side by side.
const UPSTREAM: &str = "
                                 whenScaled:   Retain           Delete
                                 whenDeleted:  Retain  Delete   Retain  Delete
 set        pod        other                 |
KEP: no policy deletes without an owner reference
 none       none       none                  | = =     S S      = P     S P
KEP: the set is a controller owner
 controller none       none                  | - -     = =      - P     = P
KEP: the Pod is a controller owner
 none       controller none                  | - -     S S      - =     S =
KEP: policy changed during a scale-down
 controller controller none                  | - -     S S      - P     S P
KEP: an owner of the first beta becomes controller
 none       beta       none                  | - -     S S      - P     S P
 controller beta       none                  | - -     S S      - P     S P
 beta       none       none                  | - -     S S      - P     S P
 beta       controller none                  | - -     S S      - P     S P
 beta       beta       none                  | - -     S S      - P     S P
upstream: a stale reference is left alone
 none       stale      none                  | = =     = =      = =     = =
 controller stale      none                  | = =     = =      = =     = =
 beta       stale      none                  | = =     = =      = =     = =
 stale      none       none                  | = =     = =      = =     = =
 stale      controller none                  | = =     = =      = =     = =
 stale      beta       none                  | = =     = =      = =     = =
 stale      stale      none                  | = =     = =      = =     = =
upstream: an owner that is no controller does not matter
 none       none       owner                 | = =     S S      = P     S P
 none       controller owner                 | - -     S S      - =     S =
 none       beta       owner                 | - -     S S      - P     S P
 none       stale      owner                 | = =     = =      = =     = =
 controller none       owner                 | - -     = =      - P     = P
 controller controller owner                 | - -     S S      - P     S P
 controller beta       owner                 | - -     S S      - P     S P
 controller stale      owner                 | = =     = =      = =     = =
 beta       none       owner                 | - -     S S      - P     S P
 beta       controller owner                 | - -     S S      - P     S P
 beta       beta       owner                 | - -     S S      - P     S P
 beta       stale      owner                 | = =     = =      = =     = =
 stale      none       owner                 | = =     = =      = =     = =
 stale      controller owner                 | = =     = =      = =     = =
 stale      beta       owner                 | = =     = =      = =     = =
 stale      stale      owner                 | = =     = =      = =     = =
KEP: another controller owns the PVC
 none       none       controller            | = =     = =      = =     = =
KEP: another controller owns the PVC, old references of the set and the Pod are removed
 none       controller controller            | - -     - -      - -     - -
 none       beta       controller            | - -     - -      - -     - -
 controller none       controller            | - -     - -      - -     - -
 controller controller controller            | - -     - -      - -     - -
 controller beta       controller            | - -     - -      - -     - -
 beta       none       controller            | - -     - -      - -     - -
 beta       controller controller            | - -     - -      - -     - -
 beta       beta       controller            | - -     - -      - -     - -
upstream: a stale reference and another controller, left alone
 none       stale      controller            | = =     = =      = =     = =
 controller stale      controller            | = =     = =      = =     = =
 beta       stale      controller            | = =     = =      = =     = =
 stale      none       controller            | = =     = =      = =     = =
 stale      controller controller            | = =     = =      = =     = =
 stale      beta       controller            | = =     = =      = =     = =
 stale      stale      controller            | = =     = =      = =     = =
";

/// The policy and the ordinal of each column of [`UPSTREAM`].
fn columns() -> Vec<(RetentionPolicy, Ordinal)> {
    let values = [RetentionType::Retain, RetentionType::Delete];
    let policies = values.map(|when_scaled| {
        values.map(|when_deleted| RetentionPolicy {
            when_deleted,
            when_scaled,
        })
    });
    let ordinals = [Ordinal::InRange, Ordinal::ScaledDown];
    let column = |policy| ordinals.map(|ordinal| (policy, ordinal));
    policies.into_iter().flatten().flat_map(column).collect()
}

/// One question of the table, and the answer of Kubernetes.
pub(super) struct Case {
    pub(super) row: String,
    pub(super) owners: Vec<Owner>,
    pub(super) policy: RetentionPolicy,
    pub(super) ordinal: Ordinal,
    answer: String,
}

pub(super) fn cases() -> Vec<Case> {
    let rows = UPSTREAM.lines().filter(|line| line.contains(" | "));
    let cases = rows.flat_map(|row| {
        let (owners, answers) = row.split_once('|').expect("two sides");
        let owners = owners_of(owners);
        let answers = answers.split_whitespace();
        let cases = columns()
            .into_iter()
            .zip(answers)
            .map(move |((policy, ordinal), answer)| Case {
                row: format!("{} | {policy:?} {ordinal:?}", row.trim_end()),
                owners: owners.clone(),
                policy,
                ordinal,
                answer: answer.to_owned(),
            });
        cases.collect::<Vec<_>>()
    });
    cases.collect()
}

impl Ownership<'_> {
    /// The owner references after the StatefulSet controller corrected its own. A reference to a Pod that nobody has
    /// checked has no uid.
    pub(super) fn corrected(&self) -> Vec<Owner> {
        if self.is_up_to_date() {
            return self.owners.to_vec();
        }
        let foreign = |owner: &&Owner| !self.names_set(owner) && !self.names_pod(owner);
        let mut owners: Vec<_> = self.owners.iter().filter(foreign).cloned().collect();
        if !self.has_another_controller() {
            let asked = match (self.policy.asks_for(self.ordinal), self.pod_uid) {
                (RightfulOwner::Set, _) => Some(controller("apps/v1", "StatefulSet", self.set_name, self.set_uid)),
                (RightfulOwner::Pod, PodUid::Is(uid)) => Some(controller("v1", "Pod", self.pod, uid)),
                (RightfulOwner::Pod, PodUid::NotAsked) => Some(controller("v1", "Pod", self.pod, "")),
                (RightfulOwner::Pod, PodUid::NoPod) | (RightfulOwner::Nobody, _) => None,
            };
            owners.extend(asked.filter(|asked| owners.iter().all(|owner| owner.uid != asked.uid)));
        }
        owners
    }
}

/// The result of `NewControllerRef`. KEP-1847 asks for `blockOwnerDeletion: false`, but Kubernetes writes true.
fn controller(api_version: &str, kind: &str, name: &str, uid: &str) -> Owner {
    Owner {
        api_version: api_version.to_owned(),
        kind: kind.to_owned(),
        name: name.to_owned(),
        uid: uid.to_owned(),
        controller: true,
        block_owner_deletion: true,
    }
}

#[test]
fn owner_references_match_upstream() {
    let cases = cases();
    assert_eq!(cases.len(), 4 * 4 * 3 * 8, "the full product");
    for Case {
        row,
        owners,
        policy,
        ordinal,
        answer,
    } in cases
    {
        let claim = claim(&owners, policy, ordinal);
        let corrected = claim.corrected();
        let ours = |owner: &&Owner| owner.uid != OTHER;
        if answer == "=" {
            assert!(claim.is_up_to_date(), "{row}");
            assert_eq!(corrected, owners, "{row}");
            continue;
        }
        assert!(!claim.is_up_to_date(), "{row}");
        let expected: Vec<_> = match answer.as_str() {
            "S" => owners_of("controller none none"),
            "P" => owners_of("none controller none"),
            _ => Vec::new(),
        };
        let found: Vec<_> = corrected.iter().filter(ours).cloned().collect();
        assert_eq!(found, expected, "{row}");
    }
}

#[test]
fn owner_references_corrected_are_up_to_date() {
    for case in cases() {
        let once = claim(&case.owners, case.policy, case.ordinal).corrected();
        let again = claim(&once, case.policy, case.ordinal);
        assert!(again.is_up_to_date(), "{}: {once:?}", case.row);
        assert_eq!(again.corrected(), once, "{}", case.row);
    }
}

#[test]
fn owner_reference_to_another_object_is_kept() {
    for case in cases() {
        let corrected = claim(&case.owners, case.policy, case.ordinal).corrected();
        assert_eq!(of_others(&corrected), of_others(&case.owners), "{}", case.row);
    }
}

fn of_others(owners: &[Owner]) -> Vec<Owner> {
    owners.iter().filter(|owner| owner.uid == OTHER).cloned().collect()
}

#[test]
fn reference_that_is_left_counts_as_up_to_date() {
    let deletes = RetentionPolicy::read(Some("Delete"), Some("Delete"));
    for (owners, expected) in [
        ("controller none none", true),
        ("none none none", false),
        ("stale none none", true),
        ("none none controller", true),
        ("controller none controller", false),
    ] {
        let references = owners_of(owners);
        let claim = claim(&references, deletes, Ordinal::InRange);
        assert_eq!(claim.is_up_to_date(), expected, "{owners}");
    }
    let mut unattended = claim(&[], deletes, Ordinal::ScaledDown);
    assert!(!unattended.is_up_to_date());
    unattended.pod_uid = PodUid::NoPod;
    assert!(unattended.is_up_to_date());
}

#[test]
fn two_references_of_one_name_are_removed_first() {
    let owners = [owners_of("controller none none"), owners_of("stale none none")].concat();
    let policy = RetentionPolicy::read(Some("Delete"), None);
    let scrubbed = claim(&owners, policy, Ordinal::InRange).corrected();
    assert_eq!(scrubbed, []);
    let written = claim(&scrubbed, policy, Ordinal::InRange).corrected();
    assert_eq!(written, owners_of("controller none none"));
}
