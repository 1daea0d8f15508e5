//! The model as one that answers requests. Each goes where the simulation would send it.

use super::request::{Door, Edit, Holder, Request, Which};
use super::sight::{ClaimSight, ReportSight, SetSight, Sights};
use super::{Answer, Modify, Resize, Target};
use crate::sim::api::{Api, Apply, Write};
use crate::sim::inhabitants::{kubelet, people, statefulset, storage};
use crate::sim::mind::Mind;
use crate::sim::names;
use crate::sim::objects::{Claim, Owner, SLOTS, Set, Share, StagedChange, Uid, Version, place};
use crate::sim::snapshot::claim_name;
use crate::sim::world::World;
use crate::templates::UpdatePolicy;

/// The model.
#[derive(Debug)]
pub struct Model {
    pub(super) world: World,
    mind: Mind,
}

/// No object has had it.
const NO_UID: Uid = Uid::MAX;
const NO_VERSION: Version = Version::MAX;

impl Model {
    /// Nothing is there yet.
    #[must_use]
    pub fn new(door: Door) -> Self {
        let mut world = World::new();
        world.api.policy = door != Door::Away;
        world.recover = door == Door::Recover;
        Self {
            world,
            mind: Mind::default(),
        }
    }

    /// The answer; nothing if there is nothing that it could be asked about.
    pub fn ask(&mut self, request: &Request) -> Option<Answer> {
        let api = &mut self.world.api;
        Some(match *request {
            Request::Apply(..) | Request::StagedChange(..) | Request::Ready(..) | Request::Report(..) => {
                let write = ours(api, request)?;
                api.answer(&write)
            }
            Request::Create(replicas, target) => {
                self.world.manifest = (target, 0);
                people::create(&mut self.world, replicas)
            }
            Request::Update(ref edits) => self.update(edits),
            Request::Remove(orphan) => {
                let there = api.set.is_some();
                people::delete(api, orphan, &mut None);
                if there { Answer::Done } else { Answer::Gone }
            }
            Request::Owned(owned) => self.own(owned),
            Request::Observe => with_set(api, |set| {
                set.status.observed = true;
                set.status.update = set.spec.image;
            }),
            Request::Sibling(there) => {
                api.sibling = there;
                Answer::Done
            }
            Request::Quota(quota) => {
                api.quota = quota;
                Answer::Done
            }
            Request::Expandable(expandable) => {
                api.expandable = expandable;
                Answer::Done
            }
            Request::NewClaim(slot) => return self.bear(slot.into()),
            _ => return with_claim(api, request),
        })
    }

    fn update(&mut self, edits: &[Edit]) -> Answer {
        let uid = self.world.api.set.map_or(NO_UID, |set| set.uid);
        people::update(&mut self.world, &mut self.mind, |spec| {
            for edit in edits {
                match *edit {
                    Edit::Replicas(replicas) => spec.replicas = replicas,
                    Edit::Image(image) => spec.image = image,
                    Edit::Templates(target) => spec.live = target,
                    Edit::Partition(partition) => spec.partition = partition,
                    Edit::Paused(paused) => spec.paused = paused,
                    Edit::InPlace(policy) => spec.policy = policy.map(policy_of),
                    Edit::Async(asynchronous) => spec.asynchronous = asynchronous,
                    Edit::OnDelete(on_delete) => (spec.on_delete, spec.partition) = (on_delete, 0),
                    Edit::Withdraw(target) => spec.withdraw = Some(target),
                    Edit::Staged(target, mine) => {
                        let uid = if mine { uid } else { NO_UID };
                        spec.staged = Some(staged_change(target, false, uid));
                    }
                }
            }
        })
    }

    /// A set that gets an owner, or loses it, goes through the policy as one that has none.
    fn own(&mut self, owned: bool) -> Answer {
        let stays = owned && self.world.api.set.is_some_and(|set| set.owned);
        if stays {
            return Answer::Done;
        }
        with_set(&mut self.world.api, |set| set.owned = false);
        match self.update(&[]) {
            Answer::Done => with_set(&mut self.world.api, |set| set.owned = owned),
            denied => denied,
        }
    }

    fn bear(&mut self, slot: usize) -> Option<Answer> {
        let api = &mut self.world.api;
        let set = api.set?;
        let want = *set.spec.live.wants().get(place(slot).0)?;
        if api.claims[slot].is_some() {
            return Some(Answer::Conflict);
        }
        Some(statefulset::bear(api, &set, place(slot), want, &mut self.mind))
    }

    /// What is there.
    #[must_use]
    pub fn sights(&self) -> Sights {
        let api = &self.world.api;
        let mut sights = Sights::new();
        if let Some(set) = &api.set {
            sights.insert(
                "set".to_owned(),
                (identity(&set.uid, set.version), set_sight(set).to_string()),
            );
        }
        if let Some(report) = &api.report {
            let sight = ReportSight {
                of_the_set: api.set.is_some_and(|set| set.uid == report.set),
                says: report.says.to_string(),
            };
            sights.insert(
                "report".to_owned(),
                (identity(&"one", report.version), sight.to_string()),
            );
        }
        for slot in 0..SLOTS {
            if let Some(claim) = &api.claims[slot] {
                let words = claim_sight(api, claim).to_string();
                sights.insert(claim_name(slot), (identity(&claim.uid, claim.version), words));
            }
        }
        sights
    }
}

fn policy_of(in_place: bool) -> UpdatePolicy {
    if in_place {
        UpdatePolicy::InPlace
    } else {
        UpdatePolicy::OnClaimDelete
    }
}

fn staged_change(target: Target, complete: bool, uid: Uid) -> StagedChange {
    StagedChange {
        target,
        complete,
        policy: UpdatePolicy::InPlace,
        uid,
    }
}

/// A write of ours, as the controller of the simulation makes it.
fn ours(api: &Api, request: &Request) -> Option<Write> {
    let of_set = |uid: Option<Which>, version: Option<Which>| {
        let known = api.set.map(|set| (set.uid, set.version));
        named(uid, version, known)
    };
    Some(match *request {
        Request::Apply(slot, uid, version, target, revision) => {
            let claim = api.claims[usize::from(slot)];
            let (uid, version) = named(uid, version, claim.map(|claim| (claim.uid, claim.version)));
            let want = target.wants().first()?;
            Write::Apply(Apply {
                slot,
                uid,
                version,
                size: want.size,
                class: want.class,
                tier: want.tier,
                revision,
                others: 0,
                taken_back: false,
            })
        }
        Request::StagedChange(uid, version, target, complete) => {
            let (uid, version) = of_set(uid, version);
            let set = api.set.map_or(NO_UID, |set| set.uid);
            Write::StagedChange {
                uid,
                version,
                change: Some(staged_change(target, complete, set)),
            }
        }
        Request::Ready(uid, version, ready) => {
            let (uid, version) = of_set(uid, version);
            Write::Ready { uid, version, ready }
        }
        Request::Report(target, says) => Write::Report {
            set: api.set?.uid,
            says,
            target: Some(target),
        },
        _ => return None,
    })
}

/// The uid and the version that are meant.
fn named(uid: Option<Which>, version: Option<Which>, known: Option<(Uid, Version)>) -> (Option<Uid>, Option<Version>) {
    let known = known.unwrap_or((NO_UID, NO_VERSION));
    let uid = uid.map(|which| if which == Which::Now { known.0 } else { NO_UID });
    let version = version.map(|which| if which == Which::Now { known.1 } else { NO_VERSION });
    (uid, version)
}

fn with_set(api: &mut Api, edit: impl FnOnce(&mut Set)) -> Answer {
    if api.set.is_none() {
        return Answer::Gone;
    }
    api.edit_set(edit);
    Answer::Done
}

/// What others do with a claim.
fn with_claim(api: &mut Api, request: &Request) -> Option<Answer> {
    let set = api.set.map(|set| set.uid);
    Some(match *request {
        Request::Bind(slot) => {
            let bound = storage::provision(api, &storage::Driver::default(), slot.into());
            return bound.then_some(Answer::Done);
        }
        Request::Status(slot, capacity, class, resize, modify) => {
            api.claims[usize::from(slot)].filter(|claim| claim.bound)?;
            api.edit_claim(slot.into(), |claim| {
                (claim.capacity, claim.current_class) = (capacity, class);
                (claim.resize, claim.modify) = (resize, modify);
            });
            Answer::Done
        }
        Request::Size(slot, size) => people::edit(api, slot, |claim| {
            (claim.request, claim.our_size) = (size, false);
        }),
        Request::Class(slot, class) => people::edit(api, slot, |claim| {
            (claim.class, claim.our_class) = (class, Share::None);
        }),
        Request::DropLabel(slot) => people::edit(api, slot, |claim| claim.revision = None),
        Request::Select(slot, selected) => people::edit(api, slot, |claim| claim.selected = selected),
        Request::Own(slot, holder) => {
            let owner = match holder {
                Holder::Nobody => Owner::Nobody,
                Holder::Set => Owner::Set(set?),
                Holder::Stranger => Owner::Stranger,
            };
            people::edit(api, slot, |claim| claim.owner = owner)
        }
        Request::Mount(slot, mounted) => {
            let bit = 1 << slot;
            api.strangers = if mounted {
                api.strangers | bit
            } else {
                api.strangers & !bit
            };
            Answer::Done
        }
        Request::Delete(slot) => {
            let there = api.claims[usize::from(slot)].is_some();
            api.delete_claim(slot.into());
            if there { Answer::Done } else { Answer::Gone }
        }
        Request::Release(slot) => {
            let released = kubelet::release(api, slot.into());
            return released.then_some(Answer::Done);
        }
        _ => return None,
    })
}

fn identity(uid: &dyn ToString, version: Version) -> (String, String) {
    (uid.to_string(), version.to_string())
}

fn set_sight(set: &Set) -> SetSight {
    let spec = &set.spec;
    let word = |holds: bool, word: &str| holds.then(|| word.to_owned());
    SetSight {
        replicas: spec.replicas.into(),
        image: spec.image.to_string(),
        live: spec.live.to_string(),
        staged: spec.staged.map(|staged| match set.staged_change() {
            Some(change) => format!("{}:{}:{}", change.target, change.phase(), change.policy),
            None => format!("{}:foreign", staged.target),
        }),
        annotations: [
            spec.policy.map(|policy| policy.to_string()),
            word(spec.paused, "true"),
            word(spec.asynchronous, "Async"),
            spec.ready.map(|(target, ordinal)| format!("{target}.{ordinal}")),
            spec.withdraw.map(|target| target.to_string()),
        ],
        partition: (!spec.on_delete).then(|| spec.partition.into()),
        owned: set.owned,
        observed: set.status.observed,
    }
}

fn claim_sight(api: &Api, claim: &Claim) -> ClaimSight {
    let lives = |uid| api.set.is_some_and(|set| set.uid == uid);
    ClaimSight {
        request: claim.request.to_string(),
        capacity: claim.bound.then(|| claim.capacity.to_string()),
        classes: [names::class(claim.class), names::class(claim.current_class)],
        tier: (claim.tier != 0).then(|| format!("t{}", claim.tier)),
        selected: claim.selected,
        revision: claim.revision.map(|target| target.to_string()),
        owner: match claim.owner {
            Owner::Nobody => None,
            Owner::Set(uid) if lives(uid) => Some("set"),
            _ => Some("other"),
        },
        terminating: claim.terminating,
        ours: [claim.our_size, claim.our_class.is_ours(), claim.our_tier.is_ours()],
        resize: match claim.resize {
            Resize::None => String::new(),
            resize => format!("{resize:?}"),
        },
        modify: match claim.modify {
            Modify::None => String::new(),
            modify => format!("{modify:?}"),
        },
    }
}
