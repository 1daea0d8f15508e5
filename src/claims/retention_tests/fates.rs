//! What happens to a PVC.

use super::references::cases;
use super::{OTHER, claim, owners_of};
use crate::claims::Owner;
use crate::claims::retention::{Event, Fate, Ordinal, Ownership, PodUid, RetentionPolicy};

/// What happens to a PVC, most common cases first. `?` depends on the order of events, `!` is happening already.
const FATES: &str = "
 set        pod        other      whenScaled whenDeleted ordinal    | scale-down delete orphan
KEP story 0: nothing is deleted
 none       none       none       Retain     Retain      InRange    | stays      stays  stays
KEP story 1: the claims go with the set
 controller none       none       Retain     Delete      InRange    | stays      goes   stays
 controller none       none       Retain     Delete      ScaledDown | stays      goes   stays
KEP story 2: the claims go with the replica
 none       none       none       Delete     Retain      InRange    | goes       stays  stays
 none       controller none       Delete     Retain      ScaledDown | goes       goes   stays
KEP story 3: the claims go with either
 controller none       none       Delete     Delete      InRange    | goes       goes   stays
 none       controller none       Delete     Delete      ScaledDown | goes       goes   stays
KEP: from a deletion policy to Retain, not yet seen by the controller
 controller none       none       Retain     Retain      InRange    | stays      ?      stays
 none       controller none       Retain     Retain      ScaledDown | ?          ?      stays
KEP: from Retain to a deletion policy, not yet seen by the controller
 none       none       none       Retain     Delete      InRange    | stays      ?      stays
 none       none       none       Delete     Delete      ScaledDown | goes       ?      stays
KEP: another controller owns the PVC, the policy is ignored
 none       none       controller Delete     Delete      InRange    | stays      stays  stays
 controller none       controller Delete     Delete      InRange    | stays      stays  stays
the garbage collector keeps PVCs with another owner
 controller none       owner      Delete     Delete      InRange    | stays      stays  stays
upstream: a stale reference, the garbage collector deletes the PVC
 stale      none       none       Retain     Retain      InRange    | !          !      !
 none       stale      none       Delete     Delete      InRange    | !          !      !
 none       stale      owner      Delete     Delete      InRange    | stays      stays  stays
";

#[test]
fn fate_matches_the_table() {
    for row in FATES.lines().filter(|line| line.contains(" | ")).skip(1) {
        let (left, right) = row.split_once('|').expect("two sides");
        let words: Vec<_> = left.split_whitespace().collect();
        let owners = owners_of(left);
        let policy = RetentionPolicy::read(Some(words[4]), Some(words[3]));
        let ordinal = if words[5] == "InRange" {
            Ordinal::InRange
        } else {
            Ordinal::ScaledDown
        };
        let claim = claim(&owners, policy, ordinal);
        let fates = [Event::ScaleDown, Event::DeleteSet, Event::OrphanSet].map(|event| match claim.fate(event) {
            Fate::Stays => "stays",
            Fate::MayGo => "?",
            Fate::Goes => "goes",
            Fate::IsGoing => "!",
        });
        assert_eq!(
            fates.as_slice(),
            right.split_whitespace().collect::<Vec<_>>(),
            "{}",
            row.trim_end()
        );
    }
}

/// The garbage collector: true iff it deletes the PVC after this event.
fn is_collected(owners: &[Owner], event: Event) -> bool {
    let mut alive = vec!["set", "pod", OTHER];
    let mut owners = owners.to_vec();
    match event {
        Event::ScaleDown => alive.retain(|uid| *uid != "pod"),
        Event::DeleteSet => alive.retain(|uid| *uid == OTHER),
        Event::OrphanSet => owners.retain(|owner| owner.uid != "set"),
    }
    !owners.is_empty() && owners.iter().all(|owner| !alive.contains(&owner.uid.as_str()))
}

#[test]
fn fate_matches_both_controllers_in_either_order() {
    for case in cases() {
        for event in [Event::ScaleDown, Event::DeleteSet, Event::OrphanSet] {
            let claim = claim(&case.owners, case.policy, case.ordinal);
            let ordinal = match event {
                Event::ScaleDown => Ordinal::ScaledDown,
                Event::DeleteSet | Event::OrphanSet => case.ordinal,
            };
            let corrected = Ownership { ordinal, ..claim }.corrected();
            let at_once = is_collected(&case.owners, event);
            let afterwards = is_collected(&corrected, event);
            let expected = match (at_once, afterwards) {
                _ if !case.owners.is_empty() && case.owners.iter().all(|owner| owner.uid == "previous") => {
                    Fate::IsGoing
                }
                (true, true) => Fate::Goes,
                // The controller removes a Pod only after it corrected the PVCs.
                (false, true) if event == Event::ScaleDown => Fate::Goes,
                (false, false) => Fate::Stays,
                _ => Fate::MayGo,
            };
            assert_eq!(claim.fate(event), expected, "{} {event:?}", case.row);
        }
    }
}

#[test]
fn claim_without_pod_is_not_corrected() {
    let policy = RetentionPolicy::read(Some("Retain"), Some("Delete"));
    let left_over = |owners| {
        let mut claim = claim(owners, policy, Ordinal::ScaledDown);
        claim.pod_uid = PodUid::NoPod;
        claim
    };
    assert_eq!(left_over(&[]).fate(Event::ScaleDown), Fate::Stays);
    // Written under a previous policy, and never removed: the PVC is deleted with the StatefulSet.
    let owners = owners_of("controller none none");
    assert_eq!(left_over(&owners).fate(Event::DeleteSet), Fate::Goes);
    assert!(left_over(&owners).is_owned_by_set());
    // The Pod does not exist, so the PVC is being deleted.
    let owners = owners_of("none controller none");
    assert_eq!(left_over(&owners).fate(Event::OrphanSet), Fate::IsGoing);
}

#[test]
fn pod_not_checked_is_matched_by_name() {
    let policy = RetentionPolicy::read(Some("Retain"), Some("Delete"));
    for owners in ["none none none", "none controller none", "none stale none"] {
        let owners = owners_of(owners);
        let mut claim = claim(&owners, policy, Ordinal::ScaledDown);
        claim.pod_uid = PodUid::NotAsked;
        assert_eq!(claim.fate(Event::ScaleDown), Fate::Goes, "{owners:?}");
        assert_eq!(claim.fate(Event::OrphanSet), Fate::Stays, "{owners:?}");
    }
}

/// OpenKruise's StatefulSets have the same kind.
#[test]
fn owner_of_another_group_is_no_previous_set_or_pod() {
    let deletes = RetentionPolicy::read(Some("Delete"), Some("Delete"));
    for (api_version, kind, name, expected) in [
        ("apps/v1", "StatefulSet", "web", Fate::IsGoing),
        ("apps.kruise.io/v1beta1", "StatefulSet", "web", Fate::Stays),
        ("v1", "Pod", "web-1", Fate::IsGoing),
        ("example.com/v1", "Pod", "web-1", Fate::Stays),
    ] {
        let owner = Owner {
            api_version: api_version.to_owned(),
            kind: kind.to_owned(),
            name: name.to_owned(),
            uid: OTHER.to_owned(),
            controller: true,
            block_owner_deletion: true,
        };
        let fate = claim(&[owner], deletes, Ordinal::InRange).fate(Event::DeleteSet);
        assert_eq!(fate, expected, "{api_version} {kind}");
    }
}
