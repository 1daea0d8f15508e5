//! Each test compares the whole list of Events.

use crate::gate::{ClaimState, PodManagement};
use crate::rollout::ClaimProgress;
use crate::rollout::action::Reason;
use crate::rollout::fixtures::{events, refused, staged_change, template, web as fixture};
use crate::rollout::plan::plan;
use crate::templates::Phase;

#[test]
fn event_is_emitted_once() {
    let mut web = fixture();
    web.previous = None;
    let first = events(&web);
    let revision = web.target();
    assert_eq!(
        first,
        [(
            Reason::ClaimsStaged,
            format!("Updating 3 PVCs of template \"data\" to revision {revision}, highest ordinal first")
        )]
    );

    let mut web = fixture();
    refused(&mut web, 1000);
    assert_eq!(
        events(&web),
        [(Reason::FailedToPatchPVC, "data-web-2: exceeded quota".to_owned())]
    );
    let known = ["Refused", "Forbidden", "exceeded quota"].map(str::to_owned);
    web.previous
        .as_mut()
        .unwrap()
        .claims
        .insert("data-web-2".to_owned(), known.into());
    assert_eq!(events(&web), []);
}

#[test]
fn stuck_claim_not_listed_still_emits_an_event() {
    let mut web = fixture();
    web.set.replicas = 60;
    for ordinal in 3..60 {
        web.add_claim("data", ordinal);
        web.add_pod(ordinal);
    }
    web.set.pod_management = PodManagement::Parallel;
    refused(&mut web, 1000);
    let failed = web.refusals.values().next().unwrap().clone();
    let uids = web.claims.values().map(|claim| claim.uid.clone());
    web.refusals = uids.map(|uid| (uid, failed.clone())).collect();

    let progress = plan(&web).progress;
    assert_eq!((progress.claims.len(), progress.unlisted.len()), (50, 10));
    let of = |ordinal: u32| (Reason::FailedToPatchPVC, format!("data-web-{ordinal}: exceeded quota"));
    assert_eq!(events(&web), (0..60).rev().map(of).collect::<Vec<_>>());

    let reported = |claims: &[ClaimProgress]| -> Vec<_> {
        let known = |claim: &ClaimProgress| {
            let state = claim.state.as_str().to_owned();
            (claim.name.clone(), (state, claim.reason.clone(), claim.message.clone()))
        };
        claims.iter().map(known).collect()
    };
    let previous = web.previous.as_mut().unwrap();
    previous.claims.extend(reported(&progress.claims));
    assert_eq!(events(&web), (0..10).rev().map(of).collect::<Vec<_>>());
    let previous = web.previous.as_mut().unwrap();
    previous.claims.extend(reported(&progress.unlisted));
    assert_eq!(events(&web), []);
}

#[test]
fn claim_ready_is_emitted_for_claims_that_were_updated() {
    for (before, is_emitted) in [
        ("Pending", true),
        ("Applied", true),
        ("Expanding", true),
        ("NodeExpanding", true),
        ("Modifying", true),
        ("Infeasible", true),
        ("Refused", true),
        ("Unbound", false),
        ("Foreign", false),
        ("Terminating", false),
        ("Missing", false),
    ] {
        let mut web = fixture();
        let known = [before, "", ""].map(str::to_owned);
        let previous = web.previous.as_mut().unwrap();
        previous.claims.insert("data-web-2".to_owned(), known.into());
        web.done("data-web-2");
        let ready = (Reason::ClaimReady, "data-web-2: capacity 2Gi".to_owned());
        let expected: Vec<_> = is_emitted.then_some(ready).into_iter().collect();
        assert_eq!(events(&web), expected, "{before}");
    }
}

#[test]
fn complete_is_emitted_with_the_phase() {
    let mut web = fixture();
    for name in ["data-web-2", "data-web-1", "data-web-0"] {
        web.done(name);
    }
    assert_eq!(events(&web), []);
    web.phase(Phase::Complete);
    let revision = web.target();
    let expected = format!("revision {revision}: All PVCs are updated and ready");
    assert_eq!(events(&web), [(Reason::ClaimRolloutComplete, expected)]);
}

#[test]
fn counters_are_those_of_the_kep() {
    let mut web = fixture();
    web.done("data-web-2");
    web.applied("data-web-1");
    let progress = plan(&web).progress;
    let counts = progress.counts.unwrap();
    assert_eq!(
        (counts.replicas, counts.current, counts.updated, counts.ready),
        (3, 1, 2, 1)
    );
    let data = &progress.by_template[0];
    assert_eq!(
        (
            data.updated,
            data.ready,
            data.compatible,
            data.compatible_ready,
            data.finished
        ),
        (2, 1, 2, 1, None)
    );
    // A second template that did not change: only the label of its claims changes.
    let mut two = fixture();
    two.set.generation = 7;
    two.set.live.push(template("log", "1Gi"));
    for ordinal in 0..3 {
        two.add_claim("log", ordinal);
    }
    two.stage(vec![template("data", "2Gi"), template("log", "1Gi")]);
    let by_template = plan(&two).progress.by_template;
    let counted = by_template
        .iter()
        .map(|template| (template.updated, template.ready, template.finished));
    assert_eq!(counted.collect::<Vec<_>>(), [(0, 0, None), (3, 3, Some(7))]);
    let listed: Vec<_> = progress
        .claims
        .iter()
        .map(|claim| (claim.ordinal, claim.state))
        .collect();
    assert_eq!(listed, [(1, ClaimState::Applied), (0, ClaimState::Pending)]);
    assert_eq!(
        progress.current_revision,
        staged_change(web.set.live.clone()).revision()
    );
    assert_eq!(
        (progress.ready.holds, progress.reconciling.holds, progress.stalled.holds),
        (false, true, false)
    );
}

#[test]
fn warnings_are_events_that_require_action() {
    let all = [
        (Reason::ClaimsStaged, false),
        (Reason::ClaimUpdated, false),
        (Reason::ClaimReady, false),
        (Reason::FailedToPatchPVC, true),
        (Reason::ClaimExpansionFailed, true),
        (Reason::ClaimForeign, true),
        (Reason::ClaimRolloutStalled, true),
        (Reason::ClaimRolloutNotWritten, true),
        (Reason::ClaimRolloutComplete, false),
        (Reason::ClaimRolloutWithdrawn, false),
    ];
    for (reason, warns) in all {
        assert_eq!(reason.is_warning(), warns, "{}", reason.as_str());
    }
}
