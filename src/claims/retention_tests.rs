use super::{
    Event, Fate, Ordinal, Ownership, PodUid, ReplicaPod, RetentionPolicy, RetentionType, RightfulOwner, Set, Standing,
};
use crate::claims::Owner;

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

const OTHER: &str = "other";

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
struct Case {
    row: String,
    owners: Vec<Owner>,
    policy: RetentionPolicy,
    ordinal: Ordinal,
    answer: String,
}

fn cases() -> Vec<Case> {
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

/// The references of three words: to the StatefulSet, to the Pod, to another object.
fn owners_of(words: &str) -> Vec<Owner> {
    let who = [
        ("apps/v1", "StatefulSet", "web", "set"),
        ("v1", "Pod", "web-1", "pod"),
        ("example.com/v1", "Backup", "nightly", OTHER),
    ];
    let words = words.split_whitespace();
    words
        .zip(who)
        .filter(|(word, _)| *word != "none")
        .map(|(word, (api_version, kind, name, uid))| Owner {
            api_version: api_version.to_owned(),
            kind: kind.to_owned(),
            name: name.to_owned(),
            uid: if word == "stale" { "previous" } else { uid }.to_owned(),
            controller: matches!(word, "controller" | "stale"),
            block_owner_deletion: matches!(word, "controller" | "stale"),
        })
        .collect()
}

fn claim(owners: &[Owner], policy: RetentionPolicy, ordinal: Ordinal) -> Ownership<'_> {
    Ownership {
        owners,
        policy,
        set: Set {
            name: "web",
            uid: "set",
        },
        pod: ReplicaPod {
            name: "web-1",
            uid: PodUid::Is("pod"),
        },
        ordinal,
    }
}

impl Ownership<'_> {
    /// The owner references after the StatefulSet controller corrected its own. A reference to a Pod that nobody has
    /// checked has no uid.
    fn corrected(&self) -> Vec<Owner> {
        if self.is_up_to_date() {
            return self.owners.to_vec();
        }
        let foreign = |owner: &&Owner| !self.names_set(owner) && !self.names_pod(owner);
        let mut owners: Vec<_> = self.owners.iter().filter(foreign).cloned().collect();
        if !self.has_another_controller() {
            let asked = match (self.policy.asks_for(self.ordinal), self.pod.uid) {
                (RightfulOwner::Set, _) => Some(controller("apps/v1", "StatefulSet", self.set.name, self.set.uid)),
                (RightfulOwner::Pod, PodUid::Is(uid)) => Some(controller("v1", "Pod", self.pod.name, uid)),
                (RightfulOwner::Pod, PodUid::NotAsked) => Some(controller("v1", "Pod", self.pod.name, "")),
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
            assert!(claim.is_up_to_date(), "{row}: {:?}", claim.standing());
            assert_eq!(corrected, owners, "{row}");
            continue;
        }
        assert_eq!(claim.standing(), Standing::Outdated, "{row}");
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
fn standing_names_why_references_are_left() {
    let deletes = RetentionPolicy::read(Some("Delete"), Some("Delete"));
    for (owners, expected) in [
        ("controller none none", Standing::AsAsked),
        ("none none none", Standing::Outdated),
        ("stale none none", Standing::Stale),
        ("none none controller", Standing::Foreign),
    ] {
        let owners = owners_of(owners);
        assert_eq!(claim(&owners, deletes, Ordinal::InRange).standing(), expected);
    }
    let mut unattended = claim(&[], deletes, Ordinal::ScaledDown);
    unattended.pod.uid = PodUid::NoPod;
    assert_eq!(unattended.standing(), Standing::Unattended);
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

#[test]
fn retention_policy_unknown_value_makes_both_retain() {
    let delete = RetentionPolicy::read(Some("Delete"), Some("Delete"));
    assert_eq!(delete.when_deleted, RetentionType::Delete);
    assert_eq!(delete.when_scaled, RetentionType::Delete);
    assert_eq!(
        RetentionPolicy::read(None, Some("Delete")).when_deleted,
        RetentionType::Retain
    );
    for (when_deleted, when_scaled) in [
        (None, None),
        (Some(""), Some("Retain")),
        (Some("Delete"), Some("Recycle")),
        (Some("delete"), Some("Delete")),
    ] {
        assert!(RetentionPolicy::read(when_deleted, when_scaled).retains_all());
    }
}

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
        claim.pod.uid = PodUid::NoPod;
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
        claim.pod.uid = PodUid::NotAsked;
        assert_eq!(claim.fate(Event::ScaleDown), Fate::Goes, "{owners:?}");
        assert_eq!(claim.fate(Event::OrphanSet), Fate::Stays, "{owners:?}");
    }
}
