//! The adapter to the guarantees about requests.

use super::api::{Api, WebhookEdit};
use super::invariant_adapter::{SceneFacts, class, id};
use super::objects::{SetObject, place, slot};
use super::settings::ModelSettings;
use super::write::{ApiAnswer, Apply, Write};
use crate::rollout::invariants::{
    Broken, Id, Ledger, Request, Scene, What, s1_never_smaller, s2_four_fields, s3_nothing_is_created,
    s4_nothing_is_deleted, s5_only_ours, s8_once, s9_not_stale, s10_not_terminating, s12_no_write_for_nothing,
    s19_borrows_nothing,
};

/// Checks a request of ours against all guarantees about requests.
pub(crate) fn request(
    before: &Api,
    after: &Api,
    ledger: &Ledger,
    write: &Write,
    answer: ApiAnswer,
    set: &SetObject,
) -> Result<(), Broken> {
    match answer {
        _ if matches!(write, Write::Report { .. }) => Ok(()),
        ApiAnswer::Done => stored(before, after, ledger, write, set),
        ApiAnswer::Refused(_) => refused(before, write, set),
        _ => Ok(()),
    }
}

/// Checks a request that the API server refused, as if it had stored it. A request for another version than the stored
/// one was decided for something else.
fn refused(before: &Api, write: &Write, set: &SetObject) -> Result<(), Broken> {
    let Write::Apply(apply) = write else {
        return Ok(());
    };
    let Some(after) = if_applied(before, apply) else {
        return Ok(());
    };
    let (was, is) = (SceneFacts::of(before, &|_| false), SceneFacts::of(&after, &|_| false));
    let (was, is) = (was.scene(), is.scene());
    let request = request_of(before, &after, write, set);
    sent(before, &request, &was, &is)
}

/// Checks what holds for each request that is sent, whatever is answered.
fn sent(before: &Api, request: &Request, was: &Scene<'_>, is: &Scene<'_>) -> Result<(), Broken> {
    s2_four_fields(request, was, is)?;
    s10_not_terminating(request, was)?;
    s1_never_smaller(request, was, before.settings == ModelSettings::Recover)?;
    s5_only_ours(request, was)
}

/// What would be stored if nothing refused the apply. `None` if it is for another version of the claim.
fn if_applied(before: &Api, apply: &Apply) -> Option<Api> {
    let slot = usize::from(apply.slot);
    let claim = before.claims[slot]?;
    let is_of_version = apply.version.is_none_or(|version| version == claim.version);
    let is_of_claim = apply.uid.is_none_or(|uid| uid == claim.uid);
    (is_of_version && is_of_claim).then(|| {
        let mut api = before.clone();
        api.edit_claim(slot, |stored| *stored = apply.on(&claim));
        api
    })
}

/// Checks a request that the API server accepted.
fn stored(before: &Api, after: &Api, ledger: &Ledger, write: &Write, set: &SetObject) -> Result<(), Broken> {
    let (was, is) = (SceneFacts::of(before, &|_| false), SceneFacts::of(after, &|_| false));
    let (was, is) = (was.scene(), is.scene());
    let request = request_of(before, after, write, set);
    s4_nothing_is_deleted(&request)?;
    s3_nothing_is_created(&request)?;
    sent(before, &request, &was, &is)?;
    ledger.s5_around(&request, &was)?;
    // A retry after others changed the claim does not break S8.
    let put_back = matches!(write, Write::Apply(apply) if before.put_back & 1 << apply.slot != 0);
    if !put_back {
        s8_once(&request, &was)?;
    }
    ledger.s9_asked_for(&request, &was)?;
    ledger.s6_order(&request, &was)?;
    s19_borrows_nothing(&was, &is)?;
    // A write that a webhook or the policy takes back is not an empty one.
    let undoes = before.policy && !before.known;
    if before.webhook == WebhookEdit::No && !undoes {
        s12_no_write_for_nothing(&request)?;
    }
    s9_not_stale(&request)
}

fn request_of(before: &Api, after: &Api, write: &Write, set: &SetObject) -> Request {
    let of_claim = |slot: usize| before.claims[slot].map(|claim| (claim.uid.into(), claim.version.into()));
    let of_set = before.set.map(|set| (set.uid.into(), set.version.into()));
    let changed = after.last_version != before.last_version;
    let (what, uid, version, found) = match *write {
        Write::Apply(apply) => {
            let (template, ordinal) = place(apply.slot.into());
            let what = What::Apply {
                template: u32::try_from(template).unwrap_or(0),
                ordinal: u32::try_from(ordinal).unwrap_or(0),
                size: apply.size.into(),
                class: class(apply.class),
                revision: id(&apply.revision),
                other_fields: apply.others.into(),
            };
            (what, apply.uid, apply.version, of_claim(slot(template, ordinal)))
        }
        Write::StagedChange { uid, version, .. } => (What::StagedChange, uid, version, of_set),
        Write::Ready { uid, version, .. } | Write::Partition { uid, version, .. } => {
            (What::Ready, uid, version, of_set)
        }
        Write::Report { set, .. } => (What::StagedChange, Some(set), None, of_set),
        Write::Delete { slot } => (What::Delete, None, None, of_claim(slot.into())),
    };
    Request {
        what,
        uid: uid.map(Id::from),
        version: version.map(Id::from),
        before: found,
        changed,
        set: Some(set.uid.into()),
    }
}
