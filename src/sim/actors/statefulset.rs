//! The StatefulSet controller and the garbage collector of Kubernetes. Each call makes one write.

use crate::sim::api::{Api, Backoff};
use crate::sim::decisions::Decisions;
use crate::sim::objects::{
    ClaimObject, ClaimOwner, ORDINALS, PodHealth, PodObject, SLOTS, SetObject, SetObjectStatus, TEMPLATES, Want, place,
    slot,
};
use crate::sim::write::{ApiAnswer, DenialCause};

/// Makes the first write that is due, or has it denied.
pub(crate) fn sync(api: &mut Api, decisions: &mut Decisions) -> bool {
    let Some(set) = api.set.filter(|set| !set.terminating && api.backoff.is_none()) else {
        return false;
    };
    adopt(api, &set) || own_claims(api, &set) || replicas(api, &set, decisions)
}

/// Adopts Pods that have no controller.
fn adopt(api: &mut Api, set: &SetObject) -> bool {
    (0..ORDINALS).any(|ordinal| {
        let orphan = api.pods[ordinal].is_some_and(|pod| pod.set == 0 && !pod.terminating);
        orphan && api.edit_pod(ordinal, |pod| pod.set = set.uid)
    })
}

/// KEP-1847: the owner of each claim that has a Pod follows the retention policy.
fn own_claims(api: &mut Api, set: &SetObject) -> bool {
    (0..SLOTS).any(|slot| {
        let ordinal = place(slot).1;
        let Some(pod) = api.pods[ordinal].filter(|pod| pod.set == set.uid) else {
            return false;
        };
        let condemned = ordinal >= usize::from(set.spec.replicas);
        let wanted = match (set.spec.when_scaled && condemned, set.spec.when_deleted && !condemned) {
            (true, _) => ClaimOwner::Pod(pod.uid),
            (_, true) => ClaimOwner::Set(set.uid),
            _ => ClaimOwner::None,
        };
        let hands_off = matches!(api.claims[slot].map(|claim| claim.owner), Some(ClaimOwner::Other));
        !hands_off && api.edit_claim(slot, |claim| claim.owner = wanted)
    })
}

fn replicas(api: &mut Api, set: &SetObject, decisions: &mut Decisions) -> bool {
    let replicas = usize::from(set.spec.replicas).min(ORDINALS);
    for ordinal in 0..replicas {
        match api.pods[ordinal] {
            None => {
                if let Some(created) = missing_claim(api, set, ordinal, decisions) {
                    return created;
                }
                let uid = api.uid();
                let version = api.version();
                let image = if !set.spec.on_delete && ordinal < usize::from(set.spec.partition) {
                    set.status.current
                } else {
                    set.spec.image
                };
                api.put_pod(
                    ordinal,
                    Some(PodObject {
                        uid,
                        version,
                        set: set.uid,
                        image,
                        ready: None,
                        terminating: false,
                        full: 0,
                        age: 0,
                        health: PodHealth::Running,
                    }),
                );
                return true;
            }
            // A Pod with this name that another controller owns blocks the set.
            Some(pod) if pod.set != set.uid => return false,
            // A failed Pod is replaced.
            Some(pod) if pod.health == PodHealth::Failed && !pod.terminating => return delete(api, ordinal, decisions),
            Some(pod) => {
                if pod.ready.is_none() && !pod.terminating && missing_claim(api, set, ordinal, decisions) == Some(true)
                {
                    return true;
                }
                if !set.spec.parallel && (pod.terminating || pod.ready.is_none()) {
                    return false;
                }
            }
        }
    }
    scale_down(api, set, replicas, decisions).unwrap_or_else(|| replace(api, set, replicas, decisions))
}

/// Creates a claim that a Pod needs: `Some(true)` if it was created, `Some(false)` if that is not possible yet.
fn missing_claim(api: &mut Api, set: &SetObject, ordinal: usize, decisions: &mut Decisions) -> Option<bool> {
    for (template, want) in set.spec.live.wants().iter().enumerate() {
        let place = slot(template, ordinal);
        match api.claims[place] {
            Some(claim) if claim.terminating => return Some(false),
            Some(_) => {}
            None => return Some(create_claim(api, set, (template, ordinal), *want, decisions) == ApiAnswer::Done),
        }
    }
    None
}

/// Creates a claim of a template. The policy may change it.
pub(crate) fn create_claim(
    api: &mut Api,
    set: &SetObject,
    at: (usize, usize),
    want: Want,
    decisions: &mut Decisions,
) -> ApiAnswer {
    let (template, ordinal) = at;
    let mut claim = ClaimObject::new(0, 0, want);
    if api.policy {
        let asked = claim;
        decisions.new_claim(set, at, api, &mut claim);
        claim.owned_since_created(&asked);
    }
    if !api.has_room(0, claim.request) {
        return ApiAnswer::Refused(DenialCause::Quota);
    }
    (claim.uid, claim.version) = (api.uid(), api.version());
    api.put_claim(slot(template, ordinal), Some(claim));
    ApiAnswer::Done
}

/// Deletes a Pod, unless the policy denies it. Always true. A denied deletion is tried again when the set or a Pod
/// changes, or much later: the StatefulSet controller does not watch claims.
fn delete(api: &mut Api, ordinal: usize, decisions: &mut Decisions) -> bool {
    if api.policy && decisions.keeps(api, ordinal) {
        let ordinal = u8::try_from(ordinal).unwrap_or(u8::MAX);
        api.backoff = Some(Backoff { ordinal, age: 0 });
        return true;
    }
    api.edit_pod(ordinal, |pod| pod.terminating = true)
}

/// Deletes the Pod with the highest ordinal out of range; `None` if there is none.
fn scale_down(api: &mut Api, set: &SetObject, replicas: usize, decisions: &mut Decisions) -> Option<bool> {
    for ordinal in (replicas..ORDINALS).rev() {
        let Some(pod) = api.pods[ordinal].filter(|pod| pod.set == set.uid) else {
            continue;
        };
        if pod.terminating {
            if set.spec.parallel {
                continue;
            }
            return Some(false);
        }
        return Some(delete(api, ordinal, decisions));
    }
    None
}

/// A rolling update, down to the partition.
fn replace(api: &mut Api, set: &SetObject, replicas: usize, decisions: &mut Decisions) -> bool {
    if set.spec.on_delete {
        return false;
    }
    if api.max_unavailable {
        return replace_since_1_37(api, set, replicas, decisions);
    }
    for ordinal in (usize::from(set.spec.partition)..replicas).rev() {
        let Some(pod) = api.pods[ordinal] else {
            return false;
        };
        if pod.image != set.spec.image && !pod.terminating {
            return delete(api, ordinal, decisions);
        }
        if !is_available(set, &pod) {
            return false;
        }
    }
    false
}

fn is_available(set: &SetObject, pod: &PodObject) -> bool {
    !pod.terminating && pod.ready.is_some_and(|age| age >= set.min_ready())
}

/// `updateStatefulSetAfterInvariantEstablished` of Kubernetes 1.37.1, with `maxUnavailable: 1`. One unavailable Pod
/// uses up the budget, also below the partition. With Parallel, unavailable outdated Pods are replaced first.
fn replace_since_1_37(api: &mut Api, set: &SetObject, replicas: usize, decisions: &mut Decisions) -> bool {
    let is_unavailable = |pod: &Option<PodObject>| pod.is_none_or(|pod| !is_available(set, &pod));
    let is_outdated = |pod: &PodObject| pod.image != set.spec.image && !pod.terminating;
    let unavailable = api.pods[..replicas].iter().filter(|pod| is_unavailable(pod)).count();
    let reached = (usize::from(set.spec.partition)..replicas).rev();
    if set.spec.parallel {
        let first =
            |ordinal: &usize| api.pods[*ordinal].is_some_and(|pod| is_outdated(&pod) && !is_available(set, &pod));
        if let Some(ordinal) = reached.clone().find(first) {
            return delete(api, ordinal, decisions);
        }
    }
    if unavailable > 0 {
        return false;
    }
    let next = |ordinal: &usize| api.pods[*ordinal].is_some_and(|pod| is_outdated(&pod));
    match reached.clone().find(next) {
        Some(ordinal) => delete(api, ordinal, decisions),
        None => false,
    }
}

/// Writes the status.
pub(crate) fn observe(api: &mut Api) -> bool {
    let Some(set) = api.set else {
        return false;
    };
    let ours = || api.pods.iter().flatten().filter(|pod| pod.set == set.uid);
    let count = |holds: &dyn Fn(&&PodObject) -> bool| u8::try_from(ours().filter(holds).count()).unwrap_or(0);
    let mut status = SetObjectStatus {
        observed: true,
        update: set.spec.image,
        current: set.status.current,
        replicas: count(&|_| true),
        ready: count(&|pod| pod.ready.is_some() && !pod.terminating),
        updated: count(&|pod| pod.image == set.spec.image),
    };
    let all = status.updated == status.replicas && status.ready == status.replicas;
    if all && status.replicas == set.spec.replicas && !set.spec.on_delete {
        status.current = status.update;
    }
    api.edit_set(|set| set.status = status)
}

/// Deletes one dependent whose owner does not exist.
pub(crate) fn collect(api: &mut Api) -> bool {
    let lost =
        (0..SLOTS).find(|slot| !api.owner_exists(*slot) && api.claims[*slot].is_some_and(|claim| !claim.terminating));
    if let Some(slot) = lost {
        return api.delete_claim(slot);
    }
    let lives = |uid| uid == 0 || api.set.is_some_and(|set| set.uid == uid);
    let lost = (0..ORDINALS).find(|ordinal| api.pods[*ordinal].is_some_and(|pod| !lives(pod.set) && !pod.terminating));
    if let Some(ordinal) = lost {
        return api.edit_pod(ordinal, |pod| pod.terminating = true);
    }
    // A set that is deleted in the foreground is removed after its Pods.
    let terminating = api.set.is_some_and(|set| set.terminating);
    let pods = api
        .pods
        .iter()
        .flatten()
        .any(|pod| api.set.is_some_and(|set| set.uid == pod.set));
    if terminating && !pods {
        api.drop_set();
        return true;
    }
    if terminating {
        let next = (0..ORDINALS)
            .rev()
            .find(|ordinal| api.pods[*ordinal].is_some_and(|pod| !pod.terminating));
        return next.is_some_and(|ordinal| api.edit_pod(ordinal, |pod| pod.terminating = true));
    }
    false
}

const _: () = assert!(SLOTS == ORDINALS * TEMPLATES);
