use std::collections::BTreeSet;
use std::sync::Arc;

use super::{DriftClaim, DriftSet, rows};
use crate::api::Settings;
use crate::cli::drift::render::SetDifferences;
use crate::json::{Map, Value};
use crate::rollout::fixtures::{gi, owner, staged_change, template, web};
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

/// Each difference as one line: the state, and the cells of the table.
fn lines(seen: &DriftSet) -> Vec<String> {
    let or_none = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
    let found = SetDifferences::of(seen);
    let lines = found.all().map(|(claim, found)| {
        let state = claim.and_then(|claim| claim.state);
        format!(
            "{} {} {} {} {} | {}",
            state.map_or("-", crate::gate::ClaimState::as_str),
            claim.map_or("-", |claim| &claim.name),
            found.field,
            or_none(&found.wanted),
            or_none(&found.found),
            found.note
        )
    });
    lines.collect()
}

/// The change, and the lines for it.
type Row = (&'static str, fn(&mut DriftSet), &'static [&'static str]);

const CLAIMS: [Row; 19] = [
    ("nothing", |_| {}, &[]),
    (
        "a claim does not exist",
        |seen| _ = seen.claims.remove("data-web-1"),
        &["Missing data-web-1 metadata.name data-web-1 - | created with the Pod"],
    ),
    (
        "a claim cannot be read",
        |seen| {
            let removed = seen.claims.remove_entry("data-web-1");
            seen.unread.extend(removed.map(|(name, _)| name));
        },
        &[],
    ),
    (
        "a claim asks for less",
        |seen| seen.set.live = vec![template("data", "2Gi")],
        &[
            "- data-web-2 spec.resources.requests.storage 2Gi 1Gi | no rollout will update it",
            "- data-web-1 spec.resources.requests.storage 2Gi 1Gi | no rollout will update it",
            "- data-web-0 spec.resources.requests.storage 2Gi 1Gi | no rollout will update it",
        ],
    ),
    (
        "a claim was grown by hand",
        |seen| (one(seen).view.request, one(seen).view.capacity) = (gi(4), Some(gi(4))),
        &["- data-web-1 spec.resources.requests.storage 1Gi 4Gi | grown by somebody else"],
    ),
    (
        "a claim was grown for a change that was withdrawn",
        |seen| {
            let view = &mut one(seen).view;
            (view.request, view.capacity, view.size_is_ours) = (gi(4), Some(gi(4)), true);
        },
        &["- data-web-1 spec.resources.requests.storage 1Gi 4Gi | grown for a previous staged change"],
    ),
    (
        "a volume is behind",
        |seen| {
            one(seen).view.capacity = Some(gi(0));
            one(seen).view.troubles = vec![Trouble {
                reason: "ControllerResizeError".to_owned(),
                message: "no space".to_owned(),
            }];
        },
        &["- data-web-1 status.capacity.storage 1Gi 0 | no space"],
    ),
    (
        "there is no volume",
        |seen| (one(seen).view.capacity, one(seen).view.bound) = (None, false),
        &["- data-web-1 status.capacity.storage 1Gi - | not bound to a volume yet"],
    ),
    (
        "another attributes class",
        |seen| {
            for claim in seen.claims.values_mut() {
                claim.view.class = Some("gold".to_owned());
                claim.view.current_class = Some("gold".to_owned());
            }
            seen.set.live[0].volume_attributes_class_name = Some("gold".to_owned());
            one(seen).view.class = None;
            one(seen).view.current_class = None;
        },
        &["- data-web-1 spec.volumeAttributesClassName gold - | no rollout will update it"],
    ),
    (
        "a volume that has not got its attributes class",
        |seen| one(seen).view.class = Some("gold".to_owned()),
        &["- data-web-1 status.currentVolumeAttributesClassName gold - | "],
    ),
    (
        "a template without an attributes class leaves the claim's",
        |seen| {
            one(seen).view.class = Some("gold".to_owned());
            one(seen).view.current_class = Some("gold".to_owned());
        },
        &[],
    ),
    (
        "labels: those of the template that are not the selector's",
        |seen| {
            set(&mut seen.set.live[0].labels, &[("app", "other"), ("tier", "gold")]);
            seen.claims.values_mut().for_each(|claim| {
                claim.view.labels.insert("tier".to_owned(), "gold".to_owned());
                claim.view.labels.insert("extra".to_owned(), "its own".to_owned());
            });
            one(seen).view.labels.insert("tier".to_owned(), "silver".to_owned());
        },
        &["- data-web-1 metadata.labels[tier] gold silver | no rollout will update it"],
    ),
    (
        "annotations: also a key of the selector",
        |seen| {
            set(&mut seen.set.live[0].annotations, &[("app", "a")]);
            seen.claims
                .values_mut()
                .for_each(|claim| claim.annotations = pairs(&[("app", "a"), ("b", "c")]));
            one(seen).annotations.remove("app");
        },
        &["- data-web-1 metadata.annotations[app] a - | no rollout will update it"],
    ),
    (
        "an immutable field",
        |seen| {
            let view = &mut one(seen).view;
            Arc::make_mut(&mut view.spec).insert("accessModes".to_owned(), Value::Array(vec!["ReadOnlyMany".into()]));
        },
        &["- data-web-1 spec.accessModes [\"ReadWriteOnce\"] [\"ReadOnlyMany\"] | cannot change in place"],
    ),
    (
        "an immutable field that is for new claims",
        |seen| {
            seen.settings = Arc::new(Settings::read(r#"{"immutableFields": "NewPVCs"}"#).unwrap());
            let mut next = template("data", "2Gi");
            next.spec.insert("storageClassName".to_owned(), "fast".into());
            seen.set.staged = Some(staged_change(vec![next]));
            seen.claims.retain(|name, _| name == "data-web-1");
            Arc::make_mut(&mut one(seen).view.spec).insert("storageClassName".to_owned(), "slow".into());
            seen.set.replicas = 2;
        },
        &[
            "- - spec.volumeClaimTemplates[data].spec.resources.requests.storage 2Gi 1Gi | staged, RollingOut",
            "- - spec.volumeClaimTemplates[data].spec.storageClassName \"fast\" - | staged, RollingOut",
            "Pending data-web-1 spec.storageClassName \"fast\" \"slow\" | kept: that of the template is for new PVCs",
            "Pending data-web-1 spec.resources.requests.storage 2Gi 1Gi | the rollout will update it",
            "Missing data-web-0 metadata.name data-web-0 - | created with the Pod",
        ],
    ),
    (
        "a claim that is being deleted is not compared",
        |seen| (one(seen).view.terminating, one(seen).view.request) = (true, gi(4)),
        &["Terminating data-web-1 metadata.deletionTimestamp - set | is being deleted"],
    ),
    (
        "a claim of another set is not compared",
        |seen| {
            one(seen).view.owners = vec![owner("StatefulSet", "other", "other-uid")];
            one(seen).view.request = gi(4);
        },
        &["Foreign data-web-1 metadata.ownerReferences StatefulSet web StatefulSet other | owned by StatefulSet other"],
    ),
    (
        "a claim without a label of the selector",
        |seen| drop(one(seen).view.labels.remove("app")),
        &[],
    ),
    (
        "a claim with another label",
        |seen| drop(one(seen).view.labels.insert("app".to_owned(), "db".to_owned())),
        &[
            "Foreign data-web-1 metadata.labels[app] web db | label app is not web, as in the selector; set it with kubectl label pvc",
        ],
    ),
];

const SETS: [Row; 9] = [
    (
        "a rollout in progress: the first claim is updated, the others wait",
        |seen| {
            seen.set.staged = Some(staged_change(vec![template("data", "2Gi")]));
            let view = &mut seen.claims.get_mut("data-web-2").expect("a claim").view;
            (view.request, view.capacity) = (gi(2), Some(gi(2)));
        },
        &[
            "- - spec.volumeClaimTemplates[data].spec.resources.requests.storage 2Gi 1Gi | staged, RollingOut",
            "Pending data-web-1 spec.resources.requests.storage 2Gi 1Gi | the rollout will update it",
            "Pending data-web-0 spec.resources.requests.storage 2Gi 1Gi | the rollout will update it",
        ],
    ),
    (
        "a complete rollout",
        |seen| {
            let mut change = staged_change(vec![template("data", "2Gi")]);
            change.phase = Phase::Complete;
            seen.set.staged = Some(change);
            seen.claims.values_mut().for_each(|claim| {
                (claim.view.request, claim.view.capacity) = (gi(2), Some(gi(2)));
            });
        },
        &["- - spec.volumeClaimTemplates[data].spec.resources.requests.storage 2Gi 1Gi | staged, Complete"],
    ),
    (
        "with OnClaimDelete claims stay",
        |seen| {
            seen.set.replicas = 1;
            seen.set.staged = Some(staged_change(vec![template("data", "2Gi")]));
            seen.set.update_policy = Some(UpdatePolicy::OnClaimDelete);
        },
        &[
            "- - spec.volumeClaimTemplates[data].spec.resources.requests.storage 2Gi 1Gi | staged, RollingOut",
            "- data-web-0 spec.resources.requests.storage 2Gi 1Gi | unchanged with OnClaimDelete",
        ],
    ),
    (
        "a staged change that will not be rolled out",
        |seen| {
            seen.set.replicas = 1;
            seen.set.staged = Some(staged_change(vec![template("data", "2Gi")]));
            seen.set.controller = Some(owner("Operator", "boss", "boss-uid"));
        },
        &[
            "- - spec.volumeClaimTemplates[data].spec.resources.requests.storage 2Gi 1Gi | staged, RollingOut",
            "- data-web-0 spec.resources.requests.storage 2Gi 1Gi | The StatefulSet is owned by Operator boss",
        ],
    ),
    (
        "another template in the staged change",
        |seen| {
            seen.set.replicas = 0;
            seen.set.staged = Some(staged_change(vec![template("log", "1Gi")]));
        },
        &[
            "- - spec.volumeClaimTemplates[log] log - | staged, RollingOut",
            "- - spec.volumeClaimTemplates[data] - data | staged, RollingOut",
        ],
    ),
    (
        "a staged change that cannot be read",
        |seen| seen.set.unreadable = StagedChange::read("{}", &seen.set.uid).err(),
        &["- - metadata.annotations[claim-rollout.io/staged] a staged change an invalid value | expected version 1"],
    ),
    (
        "claims out of range, and none in it",
        |seen| (seen.set.replicas, seen.set.first_ordinal) = (1, 3),
        &["Missing data-web-3 metadata.name data-web-3 - | created with the Pod"],
    ),
    (
        "more replicas than any cluster has room for",
        |seen| seen.set.replicas = 150_001,
        &["- - spec.replicas 150001 PVCs - | not compared: more than 150000"],
    ),
    (
        "a set that is being deleted",
        |seen| {
            seen.set.terminating = true;
            seen.claims.clear();
        },
        &[],
    ),
];

fn set(map: &mut Map<String>, pairs: &[(&str, &str)]) {
    for (key, value) in pairs {
        map.insert((*key).to_owned(), (*value).to_owned());
    }
}

fn pairs(pairs: &[(&str, &str)]) -> Map<String> {
    let owned = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
    Map::from_unsorted(pairs.iter().map(owned).collect()).unwrap()
}

#[test]
fn find_reports_exactly_the_differences() {
    for (what, change, expected) in CLAIMS.iter().chain(&SETS) {
        assert_eq!(lines(&changed(change)), *expected, "{what}");
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
