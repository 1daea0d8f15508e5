//! What the status lists and names, if there is too much of it.

/// The most claims that are listed.
const MAX_CLAIMS: usize = 50;

/// The most further stuck claims that get an Event: as many as are sent to the API server at once.
const MAX_UNLISTED: usize = 1000;

/// The claims to list, in their order, and the stuck claims that do not fit. Stuck claims are preferred to claims that
/// only wait.
pub(super) fn split<T>(claims: impl Iterator<Item = T>, is_stuck: impl Fn(&T) -> bool) -> (Vec<T>, Vec<T>) {
    let claims: Vec<T> = claims.collect();
    let stuck = claims.iter().filter(|claim| is_stuck(claim)).count();
    let mut places = [stuck.min(MAX_CLAIMS), MAX_CLAIMS.saturating_sub(stuck)];
    let (mut listed, mut unlisted) = (Vec::new(), Vec::new());
    for claim in claims {
        let is_stuck = is_stuck(&claim);
        let place = &mut places[usize::from(!is_stuck)];
        if *place > 0 {
            *place -= 1;
            listed.push(claim);
        } else if is_stuck && unlisted.len() < MAX_UNLISTED {
            unlisted.push(claim);
        }
    }
    (listed, unlisted)
}

/// The most PVCs or Pods that a message names.
const NAMED: usize = 3;

/// The first few of these, and how many more there are; `None` if there are none.
pub(super) fn some(mut all: impl Iterator<Item = String>) -> Option<String> {
    let named: Vec<String> = all.by_ref().take(NAMED).collect();
    let more = match all.count() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    (!named.is_empty()).then(|| format!("{}{more}", named.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::{MAX_CLAIMS, MAX_UNLISTED, split};

    #[test]
    fn claim_stuck_is_listed_before_waiting() {
        // Claims by number; those from `stuck` on are stuck.
        for (why, claims, stuck, expected, unlisted) in [
            ("few", 3, 1, vec![0, 1, 2], vec![]),
            ("none is stuck", 60, 60, (0..50).collect(), vec![]),
            ("the last is stuck", 60, 59, (0..49).chain([59]).collect(), vec![]),
            ("all are stuck", 52, 0, (0..50).collect(), vec![50, 51]),
            ("too many are stuck", 2000, 0, (0..50).collect(), (50..1050).collect()),
        ] {
            let found = split(0..claims, |claim| *claim >= stuck);
            assert_eq!(found, (expected, unlisted), "{why}");
            assert!(found.0.len() <= MAX_CLAIMS && found.1.len() <= MAX_UNLISTED, "{why}");
        }
    }
}
