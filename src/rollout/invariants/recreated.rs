//! S4 and L8 under the update policy `ReCreate`: which PVC may be deleted, which Pod evicted, and when.

use super::facts::{Broken, Rule};

/// A PVC as it is when the API server accepts that we delete it or evict its Pod.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AcceptedFacts {
    /// The PVC belongs to the set.
    pub is_ours: bool,
    /// Its template cannot be reached in place.
    pub differs: bool,
    /// The PVC was created after the change was staged.
    pub is_new: bool,
    /// It has our mark.
    pub is_marked: bool,
    /// It is being deleted.
    pub is_terminating: bool,
}

/// What was known when a step was decided.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DecidedFacts {
    /// The update policy is `ReCreate`.
    pub is_on: bool,
    /// The rollout is paused.
    pub is_paused: bool,
    /// The replica has a PVC that is being deleted by us.
    pub has_begun: bool,
    /// The API server would evict the Pod.
    pub may_be_evicted: bool,
    /// A snapshot is asked for.
    pub asks_snapshot: bool,
    /// The PVC has a snapshot that is ready.
    pub has_snapshot: bool,
    /// The set has no other replica.
    pub is_only: bool,
    /// Every other replica is there.
    pub others_are_there: bool,
}

/// S4: of PVCs, only those with our mark are deleted that belong to the set, cannot follow in place, and were not created
/// since.
///
/// # Errors
/// [`Broken`] names the PVC.
pub fn s4_deletes_only_marked(claim: AcceptedFacts) -> Result<(), Broken> {
    let may = claim.is_marked && claim.is_ours && claim.differs && !claim.is_new;
    broken_unless(may, Rule::S4, || format!("a PVC was deleted: {claim:?}"))
}

/// S4: a Pod is evicted only if it uses a PVC that is being deleted and has our mark.
///
/// # Errors
/// [`Broken`] names the PVC.
pub fn s4_evicts_only_for_marked(claim: AcceptedFacts) -> Result<(), Broken> {
    let may = claim.is_marked && claim.is_ours && claim.is_terminating;
    broken_unless(may, Rule::S4, || format!("a Pod was evicted: {claim:?}"))
}

/// S4: a deletion is decided only under `ReCreate`, not during a pause unless the replica has begun, only if the Pod may
/// be evicted, and only with the snapshots that are asked for; of the only replica, only with a snapshot.
///
/// # Errors
/// [`Broken`] contains what was known.
pub fn s4_deletes_as_asked(known: DecidedFacts) -> Result<(), Broken> {
    let may_begin = !known.is_paused || known.has_begun;
    let needs_snapshot = known.asks_snapshot || known.is_only;
    let may = known.is_on && may_begin && known.may_be_evicted && (known.has_snapshot || !needs_snapshot);
    broken_unless(may, Rule::S4, || format!("a deletion was decided: {known:?}"))
}

/// L8: a step for a replica is decided only while every other one is there.
///
/// # Errors
/// [`Broken`] contains what was known.
pub fn l8_others_are_there(known: DecidedFacts) -> Result<(), Broken> {
    broken_unless(known.others_are_there, Rule::L8, || {
        format!("a step was decided: {known:?}")
    })
}

/// L8: who waits reports why, and decides again. `message` is that of the condition `Ready`.
///
/// # Errors
/// [`Broken`] contains the message.
pub fn l8_reports_why(is_ready: bool, message: &str, again: Option<u64>, most: u64) -> Result<(), Broken> {
    let reports = !is_ready && !message.is_empty() && again.is_some_and(|again| again <= most);
    broken_unless(reports, Rule::L8, || {
        format!("nothing is done: expected a reason and at most {most} seconds, but found {message:?} and {again:?}")
    })
}

/// L8: no replica is taken away while another one is away because of us.
///
/// # Errors
/// [`Broken`] names both.
pub fn l8_no_second_away(away: &[bool], index: usize) -> Result<(), Broken> {
    let others = away.iter().enumerate();
    let mut others = others.filter(|(other, is_away)| *other != index && **is_away);
    match others.next() {
        Some((other, _)) => Broken::of(
            Rule::L8,
            format!("replica {index} was taken away, and {other} is not back"),
        ),
        None => Ok(()),
    }
}

fn broken_unless(may: bool, rule: Rule, why: impl FnOnce() -> String) -> Result<(), Broken> {
    if may { Ok(()) } else { Broken::of(rule, why()) }
}

#[cfg(test)]
mod tests {
    use super::{
        AcceptedFacts, Broken, DecidedFacts, l8_no_second_away, l8_others_are_there, l8_reports_why,
        s4_deletes_as_asked, s4_deletes_only_marked, s4_evicts_only_for_marked,
    };

    const DUE: AcceptedFacts = AcceptedFacts {
        is_ours: true,
        differs: true,
        is_new: false,
        is_marked: true,
        is_terminating: false,
    };
    const BEGUN: AcceptedFacts = AcceptedFacts {
        is_terminating: true,
        ..DUE
    };
    const KNOWN: DecidedFacts = DecidedFacts {
        is_on: true,
        is_paused: false,
        has_begun: false,
        may_be_evicted: true,
        asks_snapshot: false,
        has_snapshot: false,
        is_only: false,
        others_are_there: true,
    };

    fn rule(found: Result<(), Broken>) -> String {
        found.map_or_else(|broken| format!("{:?}", broken.rule), |()| String::new())
    }

    #[test]
    fn deletion_of_another_claim_breaks_s4() {
        for (row, change, expected) in [
            ("due", (|_| {}) as fn(&mut AcceptedFacts), ""),
            ("foreign", |claim| claim.is_ours = false, "S4"),
            ("can follow in place", |claim| claim.differs = false, "S4"),
            ("created since", |claim| claim.is_new = true, "S4"),
            ("without our mark", |claim| claim.is_marked = false, "S4"),
        ] {
            let mut claim = DUE;
            change(&mut claim);
            assert_eq!(rule(s4_deletes_only_marked(claim)), expected, "{row}");
        }
    }

    #[test]
    fn eviction_without_a_marked_deletion_breaks_s4() {
        for (row, change, expected) in [
            ("begun", (|_| {}) as fn(&mut AcceptedFacts), ""),
            ("foreign", |claim| claim.is_ours = false, "S4"),
            ("not being deleted", |claim| claim.is_terminating = false, "S4"),
            ("deleted by somebody else", |claim| claim.is_marked = false, "S4"),
        ] {
            let mut claim = BEGUN;
            change(&mut claim);
            assert_eq!(rule(s4_evicts_only_for_marked(claim)), expected, "{row}");
        }
    }

    #[test]
    fn deletion_that_nobody_asked_for_breaks_s4() {
        for (row, change, expected) in [
            ("asked", (|_| {}) as fn(&mut DecidedFacts), ""),
            ("another policy", |known| known.is_on = false, "S4"),
            ("paused", |known| known.is_paused = true, "S4"),
            (
                "paused, and begun",
                |known| (known.is_paused, known.has_begun) = (true, true),
                "",
            ),
            ("the budget", |known| known.may_be_evicted = false, "S4"),
            ("no snapshot", |known| known.asks_snapshot = true, "S4"),
            (
                "a snapshot",
                |known| (known.asks_snapshot, known.has_snapshot) = (true, true),
                "",
            ),
            ("the only one", |known| known.is_only = true, "S4"),
            (
                "the only one, a snapshot",
                |known| (known.is_only, known.has_snapshot) = (true, true),
                "",
            ),
        ] {
            let mut known = KNOWN;
            change(&mut known);
            assert_eq!(rule(s4_deletes_as_asked(known)), expected, "{row}");
        }
    }

    #[test]
    fn second_replica_away_breaks_l8() {
        for (away, index, expected) in [
            ([false, false], 0, ""),
            ([true, false], 0, ""),
            ([false, true], 0, "L8"),
            ([true, false], 1, "L8"),
        ] {
            assert_eq!(rule(l8_no_second_away(&away, index)), expected, "{away:?} {index}");
        }
        let known = DecidedFacts {
            others_are_there: false,
            ..KNOWN
        };
        for (is_ready, message, again, expected) in [
            (false, "web-2 waits", Some(10), ""),
            (true, "web-2 waits", Some(10), "L8"),
            (false, "", Some(10), "L8"),
            (false, "web-2 waits", Some(11), "L8"),
            (false, "web-2 waits", None, "L8"),
        ] {
            assert_eq!(
                rule(l8_reports_why(is_ready, message, again, 10)),
                expected,
                "{message}"
            );
        }
        assert_eq!(rule(l8_others_are_there(KNOWN)), "");
        assert_eq!(rule(l8_others_are_there(known)), "L8");
    }
}
