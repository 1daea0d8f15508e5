use std::collections::BTreeMap;

use super::Memory;
use crate::claims;
use crate::controller::crd::ClaimRollout;
use crate::controller::fixtures;
use crate::controller::slim::Claim;
use crate::controller::views;
use crate::rollout::{ApplyClaim, Refusal};
use crate::templates::{ClaimName, Quantity, Revision};

fn claim(uid: &str, resource_version: &str) -> claims::Claim {
    let claim: Claim = serde_json::from_value(serde_json::json!({
        "metadata": { "name": "data-web-0", "uid": uid, "resourceVersion": resource_version },
    }))
    .unwrap();
    views::claim(&claim).unwrap()
}

fn seen(claim: claims::Claim) -> BTreeMap<String, claims::Claim> {
    [(claim.name.clone(), claim)].into()
}

#[test]
fn an_older_view_is_brought_up_to_the_reply_until_the_watch_has_caught_up() {
    let mut memory = Memory::default();
    memory.applied(claim("a", "10"));
    // Numbers, not texts: 9 is older than 10.
    for (version, expected) in [("9", "10"), ("10", "10"), ("9", "9")] {
        let mut claims = seen(claim("a", version));
        memory.bring_up(&mut claims);
        assert_eq!(claims["data-web-0"].resource_version, expected, "{version}");
    }
}

#[test]
fn a_reply_of_a_claim_that_is_gone_is_forgotten() {
    let mut memory = Memory::default();
    memory.applied(claim("a", "10"));
    let mut claims = seen(claim("b", "9"));
    memory.bring_up(&mut claims);
    assert_eq!(claims["data-web-0"].uid, "b");
}

#[test]
fn refusals_count_up_for_one_revision_and_end_with_the_claim() {
    let mut memory = Memory::default();
    let mut apply = ApplyClaim {
        name: ClaimName::new("data", "web", 0).unwrap(),
        uid: "a".to_owned(),
        resource_version: "9".to_owned(),
        storage: Quantity::from_bytes(1),
        taken_back: None,
        volume_attributes_class_name: None,
        labels: BTreeMap::new(),
        annotations: BTreeMap::new(),
        revision: Revision::from_text("one"),
    };
    for attempts in [1, 2, 3] {
        memory.refused(&apply, ("Forbidden".to_owned(), "quota".to_owned()), None, 5);
        assert_eq!(memory.refusals["a"].attempts, attempts);
    }
    apply.revision = Revision::from_text("two");
    memory.refused(&apply, ("Forbidden".to_owned(), "quota".to_owned()), None, 5);
    let refusal = &memory.refusals["a"];
    assert_eq!((refusal.attempts, &*refusal.resource_version), (1, "9"));
    let changed = Refusal::CHANGED_BY_OTHERS.to_owned();
    memory.refused(&apply, (changed, "label".to_owned()), Some("10".to_owned()), 5);
    // Only what passes now is due, and waits for longer if it is refused once more.
    memory.retry_now(|_, refusal| refusal.cause == "Forbidden");
    let refusal = &memory.refusals["a"];
    assert_eq!((refusal.attempts, &*refusal.resource_version), (2, "10"));
    assert_eq!(refusal.last, 5);
    memory.retry_now(|claim, _| claim == "a");
    let refusal = &memory.refusals["a"];
    assert_eq!((refusal.attempts, refusal.last), (2, 0));
    memory.bring_up(&mut seen(claim("b", "9")));
    assert!(memory.refusals.is_empty());
}

fn report(uid: &str, resource_version: &str) -> ClaimRollout {
    let metadata = serde_json::json!({ "name": "web", "uid": uid, "resourceVersion": resource_version });
    fixtures::rollout(&metadata, &serde_json::Value::Null)
}

/// What was written, what the watch shows one after the other, and what is known each time.
type Shown = (
    &'static str,
    [Option<(&'static str, &'static str)>; 3],
    [Option<&'static str>; 3],
);

#[test]
fn a_report_is_known_as_it_was_written_until_the_watch_has_caught_up() {
    let rows: [Shown; 5] = [
        (
            "just created",
            [None, None, Some(("a", "10"))],
            [Some("10"), Some("10"), Some("10")],
        ),
        (
            "changed",
            [Some(("a", "9")), Some(("a", "10")), Some(("a", "11"))],
            [Some("10"), Some("10"), Some("11")],
        ),
        (
            "shown and then deleted",
            [Some(("a", "9")), None, None],
            [Some("10"), None, None],
        ),
        (
            "made anew in place of another",
            [Some(("b", "9")), None, Some(("a", "10"))],
            [Some("10"), Some("10"), Some("10")],
        ),
        (
            "in place of which another was made",
            [Some(("c", "12")), None, None],
            [Some("12"), None, None],
        ),
    ];
    for (sentence, shown, expected) in rows {
        let mut memory = Memory::default();
        memory.reported(report("a", "10").into(), 5);
        let known = shown.map(|seen| memory.latest(seen.map(|(uid, version)| report(uid, version).into())));
        let versions = known.map(|known| known.and_then(|known| known.metadata.resource_version.clone()));
        assert_eq!(versions.each_ref().map(Option::as_deref), expected, "{sentence}");
    }
}

#[test]
fn a_report_that_could_not_be_written_is_what_the_watch_shows() {
    let mut memory = Memory::default();
    memory.reported(report("a", "10").into(), 5);
    memory.report_failed();
    assert_eq!(memory.latest(None), None);
}
