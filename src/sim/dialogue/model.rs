//! Executes requests in the model. Each request takes the way that it takes in the simulation.

use super::manifests;
use super::observed::{ObservedObjects, Revisions, claim_words, report_words, set_words};
use super::request::{Holder, ModelRequest, PolicyMode, SetEdit, WritePrecondition};
use super::{ApiAnswer, ModelTarget};
use crate::sim::actors::{kubelet, statefulset, storage, users};
use crate::sim::api::{Api, WebhookEdit};
use crate::sim::decisions::Decisions;
use crate::sim::names::{Names, claim_name};
use crate::sim::objects::{ClaimOwner, SetObject, Share, StagedAnnotation, Uid, Version, place};
use crate::sim::settings::ModelSettings;
use crate::sim::world::SimWorld;
use crate::sim::write::{Apply, Write};
use crate::templates::UpdatePolicy;
use std::sync::Arc;

/// The model.
#[derive(Debug)]
pub struct Model {
    pub(super) world: SimWorld,
    decisions: Decisions,
    /// The API server drops the fields of VolumeAttributesClass.
    drops_classes: bool,
    names: Names,
    revisions: Revisions,
}

/// No object has this uid.
const NO_UID: Uid = Uid::MAX;
const NO_VERSION: Version = Version::MAX;

impl Model {
    /// An empty cluster.
    #[must_use]
    pub fn new(mode: PolicyMode) -> Self {
        let mut world = SimWorld::new();
        world.api.policy = mode != PolicyMode::Absent;
        if mode == PolicyMode::Recover {
            world.api.settings = ModelSettings::Recover;
        }
        Self {
            world,
            decisions: Decisions::default(),
            drops_classes: false,
            names: Names::default(),
            revisions: Revisions::default(),
        }
    }

    /// The same with an API server 1.33, where the feature gate VolumeAttributesClass is off. The fields are dropped
    /// after admission, and after server-side apply has recorded who owns them (`PrepareForCreate` and
    /// `PrepareForUpdate` in `pkg/registry/core/persistentvolumeclaim/strategy.go`).
    #[must_use]
    pub fn without_attributes_classes(mode: PolicyMode) -> Self {
        let mut model = Self::new(mode);
        model.world.api.webhook = WebhookEdit::Class;
        model.drops_classes = true;
        model
    }

    /// The answer, or `None` if the object of the request does not exist.
    pub fn ask(&mut self, request: &ModelRequest) -> Option<ApiAnswer> {
        let api = &mut self.world.api;
        Some(match *request {
            ModelRequest::Apply(..)
            | ModelRequest::StagedChange(..)
            | ModelRequest::Ready(..)
            | ModelRequest::Report(..) => {
                let write = ours(api, request)?;
                api.answer(&write)
            }
            ModelRequest::Create(replicas, target) => {
                self.world.manifest = (target, 0);
                users::create(&mut self.world, replicas)
            }
            ModelRequest::Update(ref edits) => self.update(edits),
            ModelRequest::Remove(orphan) => {
                let there = api.set.is_some();
                users::delete(api, orphan, &mut None);
                if there { ApiAnswer::Done } else { ApiAnswer::NotFound }
            }
            ModelRequest::Owned(owned) => self.own(owned),
            ModelRequest::Observe => with_set(api, |set| {
                set.status.observed = true;
                set.status.update = set.spec.image;
            }),
            ModelRequest::Sibling(there) => {
                api.sibling = there;
                ApiAnswer::Done
            }
            ModelRequest::Quota(quota) => {
                api.quota = quota;
                ApiAnswer::Done
            }
            ModelRequest::Expandable(expandable) => {
                api.expandable = expandable;
                ApiAnswer::Done
            }
            ModelRequest::NewClaim(slot) => return self.create_claim(slot.into()),
            _ => return with_claim(api, request, self.drops_classes),
        })
    }

    fn update(&mut self, edits: &[SetEdit]) -> ApiAnswer {
        let uid = self.world.api.set.map_or(NO_UID, |set| set.uid);
        let answer = users::update(&mut self.world, &mut self.decisions, |spec| {
            for edit in edits {
                match *edit {
                    SetEdit::Replicas(replicas) => spec.replicas = replicas,
                    SetEdit::Image(image) => spec.image = image,
                    SetEdit::Templates(target) => spec.live = target,
                    SetEdit::Partition(partition) => spec.partition = partition,
                    SetEdit::Paused(paused) => spec.paused = paused,
                    SetEdit::InPlace(policy) => spec.policy = policy.map(policy_of),
                    SetEdit::Async(asynchronous) => spec.asynchronous = asynchronous,
                    SetEdit::OnDelete(on_delete) => (spec.on_delete, spec.partition) = (on_delete, 0),
                    SetEdit::Withdraw(target) => spec.withdraw = Some(target),
                    SetEdit::Staged(target, mine) => {
                        let uid = if mine { uid } else { NO_UID };
                        spec.staged = Some(staged_change(spec.staged, target, false, uid));
                    }
                }
            }
        });
        // The requests have one staging for each target.
        let staged = self.world.api.set.iter_mut().flat_map(|set| &mut set.spec.staged);
        staged.for_each(|change| change.target = change.target.unstaged());
        answer
    }

    /// A change of the owner goes through the policy as a set without one.
    fn own(&mut self, owned: bool) -> ApiAnswer {
        let stays = owned && self.world.api.set.is_some_and(|set| set.owned);
        if stays {
            return ApiAnswer::Done;
        }
        with_set(&mut self.world.api, |set| set.owned = false);
        match self.update(&[]) {
            ApiAnswer::Done => with_set(&mut self.world.api, |set| set.owned = owned),
            denied => denied,
        }
    }

    fn create_claim(&mut self, slot: usize) -> Option<ApiAnswer> {
        let api = &mut self.world.api;
        let set = api.set?;
        let want = *set.spec.live.wants().get(place(slot).0)?;
        if api.claims[slot].is_some() {
            return Some(ApiAnswer::Conflict);
        }
        let answer = statefulset::create_claim(api, &set, place(slot), want, &mut self.decisions);
        if self.drops_classes
            && let Some(claim) = &mut Arc::make_mut(&mut api.claims)[slot]
        {
            claim.class = 0;
        }
        Some(answer)
    }

    /// The objects of the model, as texts.
    #[must_use]
    pub fn objects(&mut self) -> ObservedObjects {
        let Self {
            world,
            names,
            revisions,
            ..
        } = self;
        let api = &world.api;
        let uid = api.set.map(|set| set.uid);
        let mut objects = ObservedObjects::new();
        let mut insert = |name: String, uid: &dyn ToString, version: Version, words: String| {
            objects.insert(name, ((uid.to_string(), version.to_string()), words));
        };
        if let Some(set) = &api.set {
            let manifest = manifests::set(set, names, revisions);
            insert("set".to_owned(), &set.uid, set.version, set_words(&manifest, revisions));
        }
        if let Some(report) = &api.report {
            let words = report_words(&report.content.to_string(), uid == Some(report.set));
            insert("report".to_owned(), &"one", report.version, words);
        }
        for (slot, claim) in api.claims.iter().enumerate() {
            if let Some(claim) = claim {
                let name = claim_name(slot);
                let manifest = manifests::claim(&name, claim, uid, names, revisions);
                let set = uid.map(|_| manifests::UID);
                insert(name, &claim.uid, claim.version, claim_words(&manifest, set, revisions));
            }
        }
        objects
    }
}

fn policy_of(in_place: bool) -> UpdatePolicy {
    if in_place {
        UpdatePolicy::InPlace
    } else {
        UpdatePolicy::OnClaimDelete
    }
}

/// The staged change that is written over another one, with its replicas.
fn staged_change(known: Option<StagedAnnotation>, target: ModelTarget, complete: bool, uid: Uid) -> StagedAnnotation {
    let known = known.filter(|change| !change.newer);
    StagedAnnotation {
        target,
        complete,
        replicas: known.map_or(0, |change| change.replicas),
        policy: UpdatePolicy::InPlace,
        uid,
        newer: false,
    }
}

/// A write of our controller.
fn ours(api: &Api, request: &ModelRequest) -> Option<Write> {
    let of_set = |uid: Option<WritePrecondition>, version: Option<WritePrecondition>| {
        let known = api.set.map(|set| (set.uid, set.version));
        named(uid, version, known)
    };
    Some(match *request {
        ModelRequest::Apply(slot, uid, version, target, revision) => {
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
                storage_class: want.storage_class,
                revision,
                others: 0,
                taken_back: false,
            })
        }
        ModelRequest::StagedChange(uid, version, target, complete) => {
            let (uid, version) = of_set(uid, version);
            let set = api.set.map_or(NO_UID, |set| set.uid);
            let known = api.set.and_then(|set| set.spec.staged);
            Write::StagedChange {
                uid,
                version,
                change: Some(staged_change(known, target, complete, set)),
            }
        }
        ModelRequest::Ready(uid, version, ready) => {
            let (uid, version) = of_set(uid, version);
            Write::Ready { uid, version, ready }
        }
        ModelRequest::Report(target, content) => Write::Report {
            set: api.set?.uid,
            content,
            target: Some(target),
        },
        _ => return None,
    })
}

/// The named uid and version.
fn named(
    uid: Option<WritePrecondition>,
    version: Option<WritePrecondition>,
    known: Option<(Uid, Version)>,
) -> (Option<Uid>, Option<Version>) {
    let known = known.unwrap_or((NO_UID, NO_VERSION));
    let uid = uid.map(|which| {
        if which == WritePrecondition::Now {
            known.0
        } else {
            NO_UID
        }
    });
    let version = version.map(|which| {
        if which == WritePrecondition::Now {
            known.1
        } else {
            NO_VERSION
        }
    });
    (uid, version)
}

fn with_set(api: &mut Api, edit: impl FnOnce(&mut SetObject)) -> ApiAnswer {
    if api.set.is_none() {
        return ApiAnswer::NotFound;
    }
    api.edit_set(edit);
    ApiAnswer::Done
}

/// A write to a claim by anyone else.
fn with_claim(api: &mut Api, request: &ModelRequest, drops_classes: bool) -> Option<ApiAnswer> {
    let set = api.set.map(|set| set.uid);
    Some(match *request {
        ModelRequest::Bind(slot) => {
            let bound = storage::provision(api, &storage::Driver::default(), slot.into());
            return bound.then_some(ApiAnswer::Done);
        }
        ModelRequest::Status(slot, capacity, class, resize, modify) => {
            api.claims[usize::from(slot)].filter(|claim| claim.bound)?;
            api.edit_claim(slot.into(), |claim| {
                (claim.capacity, claim.resize) = (capacity, resize);
                if !drops_classes {
                    (claim.current_class, claim.modify) = (class, modify);
                }
            });
            ApiAnswer::Done
        }
        ModelRequest::Size(slot, size) => users::edit(api, slot, |claim| {
            (claim.request, claim.our_size) = (size, false);
        }),
        ModelRequest::Class(slot, class) if drops_classes => {
            // The field is the user's all the same.
            if class != 0 {
                api.edit_claim(slot.into(), |claim| claim.our_class = Share::None);
            }
            api.claims[usize::from(slot)].map_or(ApiAnswer::NotFound, |_| ApiAnswer::Done)
        }
        ModelRequest::Class(slot, class) => users::edit(api, slot, |claim| {
            (claim.class, claim.our_class) = (class, Share::None);
        }),
        ModelRequest::DropLabel(slot) => users::edit(api, slot, |claim| claim.revision = None),
        ModelRequest::Select(slot, selected) => users::edit(api, slot, |claim| claim.selected = selected),
        ModelRequest::Own(slot, holder) => {
            let owner = match holder {
                Holder::Nobody => ClaimOwner::None,
                Holder::Set => ClaimOwner::Set(set?),
                Holder::Stranger => ClaimOwner::Other,
            };
            users::edit(api, slot, |claim| claim.owner = owner)
        }
        ModelRequest::Mount(slot, mounted) => {
            let bit = 1 << slot;
            api.foreign_mounts = if mounted {
                api.foreign_mounts | bit
            } else {
                api.foreign_mounts & !bit
            };
            ApiAnswer::Done
        }
        ModelRequest::Delete(slot) => {
            let there = api.claims[usize::from(slot)].is_some();
            api.delete_claim(slot.into());
            if there { ApiAnswer::Done } else { ApiAnswer::NotFound }
        }
        ModelRequest::Release(slot) => {
            let released = kubelet::release(api, slot.into());
            return released.then_some(ApiAnswer::Done);
        }
        _ => return None,
    })
}
