//! A trace that breaks no guarantee, for tests to change one thing of it.

pub(super) mod words;

use super::{
    Broken, ClaimFacts, Id, Ledger, PodFacts, Request, Rule, Scene, SetFacts, StatusFacts, Wanted, What,
    s1_never_smaller, s2_four_fields, s3_nothing_is_created, s4_nothing_is_deleted, s5_only_ours, s8_once,
    s9_not_stale, s10_not_terminating, s12_no_write_for_nothing,
};

/// The target and the previous target; the update revision of the Pods and their previous revision.
pub(super) const TARGET: Id = 7;
pub(super) const PREVIOUS: Id = 6;
pub(super) const PODS: Id = 70;
pub(super) const OLD_PODS: Id = 69;

/// Every Pod runs its update revision, and the status includes that.
const STATUS: StatusFacts = StatusFacts {
    observed: true,
    update: PODS,
    current: PODS,
    replicas: 3,
    ready: 3,
    updated: 3,
};

/// The objects at one time, from which a [`Scene`] borrows.
#[derive(Clone)]
pub(super) struct OwnedScene {
    pub(super) set: Option<SetFacts>,
    pub(super) wanted: Vec<Wanted>,
    pub(super) claims: Vec<ClaimFacts>,
    pub(super) pods: Vec<PodFacts>,
    pub(super) room: Option<u64>,
}

/// Three replicas, 10 to 12, of one template. It grows from 10 to 20 and gets class 5; nothing was written yet.
pub(super) fn known() -> OwnedScene {
    let set = SetFacts {
        uid: 1,
        terminating: false,
        first_ordinal: 10,
        replicas: 3,
        followed: 0,
        target: Some(TARGET),
        unreadable: false,
        complete: false,
        lock_step: false,
        paused: false,
        by_hand: false,
        partition: 0,
        parallel: false,
        max_in_motion: 1,
        pod_revision: PODS,
        status: STATUS,
    };
    OwnedScene {
        set: Some(set),
        wanted: vec![Wanted {
            size: 20,
            class: Some(5),
            storage_class: None,
        }],
        claims: [10, 11, 12].map(|ordinal| claim(0, ordinal)).to_vec(),
        pods: [10, 11, 12].map(pod).to_vec(),
        room: None,
    }
}

/// A template of this size, without classes.
pub(super) const fn wanted(size: u64) -> Wanted {
    Wanted {
        size,
        class: None,
        storage_class: None,
    }
}

pub(super) fn claim(template: u32, ordinal: u32) -> ClaimFacts {
    let uid = Id::from(100 * template + ordinal);
    ClaimFacts {
        template,
        ordinal,
        uid,
        version: 1000 + uid,
        revision: None,
        request: 10,
        allocated: 0,
        our_size: false,
        capacity: 10,
        class: None,
        current_class: None,
        storage_class: None,
        bound: true,
        terminating: false,
        ours: true,
        mounted_by_another: false,
        ambiguous: false,
        on_the_node: false,
        refused: false,
        infeasible: false,
        stuck: false,
    }
}

fn pod(ordinal: u32) -> PodFacts {
    PodFacts {
        ordinal,
        ours: true,
        revision: PODS,
        ready: true,
        available: true,
        going: false,
        ended: false,
        disrupted: false,
        after_staging: false,
    }
}

impl OwnedScene {
    pub(super) fn scene(&self) -> Scene<'_> {
        Scene {
            set: self.set,
            wanted: &self.wanted,
            claims: &self.claims,
            pods: &self.pods,
            room: self.room,
        }
    }

    pub(super) fn set(&mut self) -> &mut SetFacts {
        self.set.as_mut().expect("a set")
    }

    /// The claim of the first template.
    pub(super) fn claim(&mut self, ordinal: u32) -> &mut ClaimFacts {
        let mut claims = self.claims.iter_mut();
        claims
            .find(|claim| (claim.template, claim.ordinal) == (0, ordinal))
            .expect("a claim")
    }

    pub(super) fn pod(&mut self, ordinal: u32) -> &mut PodFacts {
        self.pods.iter_mut().find(|pod| pod.ordinal == ordinal).expect("a Pod")
    }

    /// The claim is updated and ready.
    pub(super) fn done(&mut self, ordinal: u32) {
        let claim = self.claim(ordinal);
        (claim.revision, claim.request, claim.capacity) = (Some(TARGET), 20, 20);
        (claim.class, claim.current_class) = (Some(5), Some(5));
    }

    pub(super) fn without_claim(&mut self, ordinal: u32) {
        self.claims.retain(|claim| claim.ordinal != ordinal);
    }

    pub(super) fn without_pod(&mut self, ordinal: u32) {
        self.pods.retain(|pod| pod.ordinal != ordinal);
    }
}

/// The past states, the present state, and a request.
pub(super) struct Trace {
    /// Every state before the present one, oldest first.
    pub(super) past: Vec<OwnedScene>,
    pub(super) before: OwnedScene,
    pub(super) after: OwnedScene,
    pub(super) request: Request,
    /// The settings permit taking a growth back.
    pub(super) recover: bool,
}

impl Trace {
    /// A correct apply to the claim of an ordinal.
    pub(super) fn of_apply(ordinal: u32) -> Self {
        let before = known();
        let mut after = before.clone();
        let claim = after.claim(ordinal);
        (claim.request, claim.class) = (20, Some(5));
        let (uid, version) = (claim.uid, claim.version);
        let what = What::Apply {
            template: 0,
            ordinal,
            size: 20,
            class: Some(5),
            revision: TARGET,
            other_fields: 0,
        };
        Self {
            past: Vec::new(),
            before,
            after,
            request: request(what, uid, version),
            recover: false,
        }
    }

    /// A correct write to the set.
    pub(super) fn of_set(what: What) -> Self {
        Self {
            past: Vec::new(),
            before: known(),
            after: known(),
            request: request(what, 1, 9),
            recover: false,
        }
    }

    /// Adds a past state.
    pub(super) fn once(&mut self, change: impl FnOnce(&mut OwnedScene)) {
        let mut past = self.before.clone();
        change(&mut past);
        self.past.push(past);
    }

    /// The guarantees about requests that this trace breaks.
    pub(super) fn breaks(&self) -> Vec<Rule> {
        let mut ledger = Ledger::default();
        for known in self.past.iter().chain([&self.before]) {
            ledger.observe(&known.scene());
        }
        let (request, before) = (&self.request, &self.before.scene());
        let judged = [
            s1_never_smaller(request, before, self.recover),
            s2_four_fields(request, before, &self.after.scene()),
            s3_nothing_is_created(request),
            s4_nothing_is_deleted(request),
            s5_only_ours(request, before),
            ledger.s5_around(request, before),
            ledger.s6_order(request, before),
            s8_once(request, before),
            s9_not_stale(request),
            ledger.s9_asked_for(request, before),
            s10_not_terminating(request, before),
            s12_no_write_for_nothing(request),
        ];
        rules(judged)
    }
}

/// The guarantees that are broken.
pub(super) fn rules(judged: impl IntoIterator<Item = Result<(), Broken>>) -> Vec<Rule> {
    let broken = judged.into_iter().filter_map(Result::err);
    broken.map(|broken| broken.rule).collect()
}

fn request(what: What, uid: Id, version: Id) -> Request {
    Request {
        what,
        uid: Some(uid),
        version: Some(version),
        before: Some((uid, version)),
        changed: true,
        set: Some(1),
    }
}
