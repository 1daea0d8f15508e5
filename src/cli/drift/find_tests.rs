use std::collections::BTreeSet;
use std::sync::Arc;

use super::{DriftClaim, DriftSet, rows};
use crate::api::Settings;
use crate::cli::drift::render::SetDifferences;
use crate::json::{Map, Value};
use crate::rollout::fixtures::{gi, owner, rows as table, staged_change, template, web};
use crate::rollout::snapshot::Trouble;
use crate::templates::{Phase, StagedChange, UpdatePolicy, keys};

/// A set of three replicas and their claims, all of 1Gi, and nothing staged.
pub(crate) fn even() -> DriftSet {
    let mut web = web();
    web.set.staged = None;
    web.set.update_policy = Some(UpdatePolicy::InPlace);
    let claims = web.claims.into_iter().map(|(name, view)| {
        let annotations = Map::new();
        (name, DriftClaim { view, annotations })
    });
    DriftSet {
        settings: Arc::default(),
        annotations: Map::new(),
        has_native_policy: false,
        claims: claims.collect(),
        unread: BTreeSet::new(),
        set: web.set,
    }
}

/// The same set with a change.
pub(crate) fn changed(change: impl FnOnce(&mut DriftSet)) -> DriftSet {
    let mut seen = even();
    change(&mut seen);
    seen
}

/// The claim of replica 1.
pub(crate) fn one(seen: &mut DriftSet) -> &mut DriftClaim {
    seen.claims.get_mut("data-web-1").expect("a claim of the fixture")
}

/// Does what the words of the text stand for, as in `staged 2Gi; missing`. Those about a claim are about that of replica 1.
pub(crate) fn act(seen: &mut DriftSet, text: &str) {
    for word in text.split("; ").filter(|word| !word.is_empty()) {
        let (name, rest) = word.split_once(' ').unwrap_or((word, ""));
        if let Some(key) = name.strip_prefix('@') {
            let key = format!("{}{key}", keys::PREFIX);
            seen.annotations.insert(key, rest.to_owned());
        } else if !is_of_the_set(seen, name, rest) && !is_of_all(seen, name, rest) {
            of_a_claim(one(seen), name, rest);
        }
    }
}

/// Changes the set, or which claims it has; false if the word is another.
fn is_of_the_set(seen: &mut DriftSet, name: &str, rest: &str) -> bool {
    let set = &mut seen.set;
    match name {
        "live" => set.live = vec![template("data", rest)],
        "staged" => {
            let mut change = staged_change(vec![template("data", rest)]);
            // As in the API: the class of the template is that of the live one.
            change.templates[0].spec = set.live[0].spec.clone();
            set.staged = Some(change);
        }
        "log" => set.staged = Some(staged_change(vec![template("log", rest)])),
        "complete" => set.staged.as_mut().expect("a staged change").phase = Phase::Complete,
        "broken" => set.unreadable = StagedChange::read(rest, &set.uid).err(),
        "update" => set.update_policy = rest.parse().ok(),
        "replicas" => set.replicas = rest.parse().expect("a number"),
        "first" => set.first_ordinal = rest.parse().expect("a number"),
        "partition" => set.partition = rest.parse().expect("a number"),
        "operated" => set.controller = Some(owner("Operator", "boss", "boss-uid")),
        "terminating" => set.terminating = true,
        "native" => seen.has_native_policy = true,
        "settings" => seen.settings = Arc::new(Settings::read(rest).expect("settings")),
        "missing" => _ = seen.claims.remove("data-web-1"),
        "only" => seen.claims.retain(|name, _| name == "data-web-1"),
        "none" => seen.claims.clear(),
        "unread" => {
            let removed = seen.claims.remove_entry("data-web-1");
            seen.unread.extend(removed.map(|(name, _)| name));
        }
        _ => return false,
    }
    true
}

/// Changes the template, or each claim; false if the word is another.
fn is_of_all(seen: &mut DriftSet, name: &str, rest: &str) -> bool {
    let template = &mut seen.set.live[0];
    let claims = seen.claims.values_mut();
    match name {
        // The class of the templates and of the claims.
        "class" => {
            let specs = claims.map(|claim| Arc::make_mut(&mut claim.view.spec));
            for spec in specs.chain([&mut template.spec]) {
                spec.insert("storageClassName".to_owned(), rest.into());
            }
        }
        "staged-class" => {
            let change = seen.set.staged.as_mut().expect("a staged change");
            change.templates[0]
                .spec
                .insert("storageClassName".to_owned(), rest.into());
        }
        "attributes" => {
            template.volume_attributes_class_name = Some(rest.to_owned());
            for claim in claims {
                (claim.view.class, claim.view.current_class) = (Some(rest.to_owned()), Some(rest.to_owned()));
            }
        }
        "done" => of_a_claim(seen.claims.get_mut("data-web-2").expect("a claim"), "grown", "2"),
        "grown-to" => {
            for claim in claims {
                of_a_claim(claim, "grown", rest);
            }
        }
        "template-label" => put(&mut template.labels, rest),
        "template-annotation" => put(&mut template.annotations, rest),
        "labels" => claims.for_each(|claim| put(&mut claim.view.labels, rest)),
        "annotations" => claims.for_each(|claim| put(&mut claim.annotations, rest)),
        _ => return false,
    }
    true
}

fn of_a_claim(claim: &mut DriftClaim, name: &str, rest: &str) {
    let view = &mut claim.view;
    let text = || (!rest.is_empty()).then(|| rest.to_owned());
    let size = || gi(rest.parse().expect("a number"));
    match name {
        "grown" => (view.request, view.capacity) = (size(), Some(size())),
        "request" => view.request = size(),
        "ours" => view.size_is_ours = true,
        "capacity" => view.capacity = Some(size()),
        "unbound" => (view.capacity, view.bound) = (None, false),
        "trouble" => {
            view.troubles = vec![Trouble {
                reason: "ControllerResizeError".to_owned(),
                message: rest.to_owned(),
            }];
        }
        "asks-for" => view.class = text(),
        "has" => view.current_class = text(),
        "label" => put(&mut view.labels, rest),
        "no-label" => _ = view.labels.remove(rest),
        "no-annotation" => _ = claim.annotations.remove(rest),
        "of-class" => _ = Arc::make_mut(&mut view.spec).insert("storageClassName".to_owned(), rest.into()),
        "mode" => {
            let modes = Value::Array(vec![rest.into()]);
            Arc::make_mut(&mut view.spec).insert("accessModes".to_owned(), modes);
        }
        "deleted" => view.terminating = true,
        "owned" => view.owners = vec![owner("StatefulSet", "other", "other-uid")],
        _ => panic!("{name:?} is no word of a set"),
    }
}

/// Sets a value, as in `tier=gold`.
fn put(map: &mut Map<String>, text: &str) {
    let (key, value) = text.split_once('=').expect("a key and a value");
    map.insert(key.to_owned(), value.to_owned());
}

/// The same set with what the words stand for.
pub(crate) fn acted(text: &str) -> DriftSet {
    changed(|seen| act(seen, text))
}

/// Each difference: the state, the claim, the field, the wanted and the found value, and the note.
fn lines(seen: &DriftSet) -> String {
    let or_none = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
    let found = SetDifferences::of(seen);
    let lines = found.all().map(|(claim, found)| {
        let state = claim.and_then(|claim| claim.state);
        format!(
            "{} {} {} {} {} ({})",
            state.map_or("-", crate::gate::ClaimState::as_str),
            claim.map_or("-", |claim| &claim.name),
            found.field,
            or_none(&found.wanted),
            or_none(&found.found),
            found.note
        )
    });
    lines.collect::<Vec<_>>().join("; ")
}

/// The words, and the differences: those of one claim.
const CLAIMS: &str = "
    nothing | |
    a claim does not exist | missing | Missing data-web-1 metadata.name data-web-1 - (created with the Pod)
    a claim cannot be read | unread |
    a claim asks for less | live 2Gi | - data-web-2 spec.resources.requests.storage 2Gi 1Gi (no rollout will \
        update it); - data-web-1 spec.resources.requests.storage 2Gi 1Gi (no rollout will update it); - \
        data-web-0 spec.resources.requests.storage 2Gi 1Gi (no rollout will update it)
    a claim was grown by hand | grown 4 | - data-web-1 spec.resources.requests.storage 1Gi 4Gi (grown by \
        somebody else)
    a claim was grown for a change that was withdrawn | grown 4; ours \
        | - data-web-1 spec.resources.requests.storage 1Gi 4Gi (grown for a previous staged change)
    a volume is behind | capacity 0; trouble no space | - data-web-1 status.capacity.storage 1Gi 0 (no space)
    there is no volume | unbound | - data-web-1 status.capacity.storage 1Gi - (not bound to a volume yet)
    another attributes class | attributes gold; asks-for; has \
        | - data-web-1 spec.volumeAttributesClassName gold - (no rollout will update it)
    a volume that has not got its attributes class | asks-for gold \
        | - data-web-1 status.currentVolumeAttributesClassName gold - ()
    a template without an attributes class leaves the claim's | asks-for gold; has gold |
    labels: those of the template that are not the selector's \
        | template-label app=other; template-label tier=gold; labels tier=gold; labels extra=its own; label \
        tier=silver | - data-web-1 metadata.labels[tier] gold silver (no rollout will update it)
    annotations: also a key of the selector \
        | template-annotation app=a; annotations app=a; annotations b=c; no-annotation app \
        | - data-web-1 metadata.annotations[app] a - (no rollout will update it)
    an immutable field | mode ReadOnlyMany \
        | - data-web-1 spec.accessModes [\"ReadWriteOnce\"] [\"ReadOnlyMany\"] (cannot change in place)
    an immutable field that is for new claims \
        | settings {\"immutableFields\": \"NewPVCs\"}; staged 2Gi; staged-class fast; only; of-class slow; \
        replicas 2 | - - spec.volumeClaimTemplates[data].spec.resources.requests.storage 2Gi 1Gi (staged, \
        RollingOut); - - spec.volumeClaimTemplates[data].spec.storageClassName \"fast\" - (staged, RollingOut); \
        Pending data-web-1 spec.storageClassName \"fast\" \"slow\" (kept: that of the template is for new \
        PVCs); Pending data-web-1 spec.resources.requests.storage 2Gi 1Gi (the rollout will update it); Missing \
        data-web-0 metadata.name data-web-0 - (created with the Pod)
    a claim that is being deleted is not compared | deleted; request 4 \
        | Terminating data-web-1 metadata.deletionTimestamp - set (is being deleted)
    a claim of another set is not compared | owned; request 4 \
        | Foreign data-web-1 metadata.ownerReferences StatefulSet web StatefulSet other (owned by StatefulSet \
        other)
    a claim without a label of the selector | no-label app |
    a claim with another label | label app=db \
        | Foreign data-web-1 metadata.labels[app] web db (label app is not web, as in the selector; set it with \
        kubectl label pvc)
";

/// The words, and the differences: those of the set and of all its claims.
const SETS: &str = "
    a rollout in progress: the first claim is updated, the others wait | staged 2Gi; done \
        | - - spec.volumeClaimTemplates[data].spec.resources.requests.storage 2Gi 1Gi (staged, RollingOut); \
        Pending data-web-1 spec.resources.requests.storage 2Gi 1Gi (the rollout will update it); Pending \
        data-web-0 spec.resources.requests.storage 2Gi 1Gi (the rollout will update it)
    a complete rollout | staged 2Gi; complete; grown-to 2 \
        | - - spec.volumeClaimTemplates[data].spec.resources.requests.storage 2Gi 1Gi (staged, Complete)
    with OnClaimDelete claims stay | replicas 1; staged 2Gi; update OnClaimDelete \
        | - - spec.volumeClaimTemplates[data].spec.resources.requests.storage 2Gi 1Gi (staged, RollingOut); - \
        data-web-0 spec.resources.requests.storage 2Gi 1Gi (unchanged with OnClaimDelete)
    a staged change that will not be rolled out | replicas 1; staged 2Gi; operated \
        | - - spec.volumeClaimTemplates[data].spec.resources.requests.storage 2Gi 1Gi (staged, RollingOut); - \
        data-web-0 spec.resources.requests.storage 2Gi 1Gi (The StatefulSet is owned by Operator boss)
    another template in the staged change | replicas 0; log 1Gi \
        | - - spec.volumeClaimTemplates[log] log - (staged, RollingOut); - - spec.volumeClaimTemplates[data] - \
        data (staged, RollingOut)
    a staged change that cannot be read | broken {} \
        | - - metadata.annotations[claim-rollout.io/staged] a staged change an invalid value (expected version \
        1)
    claims out of range, and none in it | replicas 1; first 3 \
        | Missing data-web-3 metadata.name data-web-3 - (created with the Pod)
    more replicas than any cluster has room for | replicas 150001 \
        | - - spec.replicas 150001 PVCs - (not compared: more than 150000)
    a set that is being deleted | terminating; none |
";

#[test]
fn find_reports_exactly_the_differences() {
    for [what, words, expected] in table(CLAIMS).into_iter().chain(table(SETS)) {
        assert_eq!(lines(&acted(words)), expected, "{what}");
    }
}

#[test]
fn outlook_of_updated_claim_is_nobody() {
    let mut seen = even();
    let change = staged_change(vec![template("data", "2Gi")]);
    let label = change.label().to_string();
    seen.set.staged = Some(change);
    one(&mut seen).view.labels.insert(keys::REVISION.to_owned(), label);
    let rows = rows(&seen).into_iter();
    let notes: Vec<String> = rows.flat_map(|row| row.differences).map(|found| found.note).collect();
    let coming = "the rollout will update it";
    assert_eq!(notes, [coming, "no rollout will update it", coming]);
}
