//! From the bytes of objects to what the other decisions read.

use std::borrow::Cow;
use std::sync::Arc;

use super::fields::{self, Strategy, StrategyType, members};
use super::object::Read;
use super::review::{Object, Owner as Named};
use crate::claims::Claim;
use crate::claims::progress::Trouble;
use crate::gate::Pod;
use crate::json::{Map, Once};
use crate::rollout::snapshot::{self, ClaimView, PodManagement, SetView};
use crate::templates::{ClaimTemplate, Quantity, Record, Sync, UpdatePolicy, keys};

/// A set, as far as it decides whether its staged change counts and whom it reaches; nothing if it cannot be read.
///
/// Of Pods, of their management and of the status it says nothing.
pub(super) fn set(set: &Object<'_>) -> Option<SetView> {
    let metadata = &set.metadata;
    let annotation = |key: &str| metadata.annotations.get(key);
    let strategy = Strategy::of(set).ok()?;
    let labels = fields::match_labels(set).ok()?;
    let labels = labels.into_iter().map(|(key, value)| (key, value.into_owned()));
    Some(SetView {
        namespace: metadata.namespace.to_string(),
        name: metadata.name.to_string(),
        uid: metadata.uid.to_string(),
        resource_version: String::new(),
        terminating: metadata.terminating,
        controller: metadata.controller.as_ref().map(owner),
        replicas: natural(set.replicas()),
        first_ordinal: natural(fields::first_ordinal(set).ok()?),
        match_labels: Map::from_unsorted(labels.collect())?,
        live: ClaimTemplate::read_list(set.templates()).ok()?,
        staged: annotation(keys::STAGED).and_then(|text| Record::read(text, &metadata.uid).ok()),
        update_policy: annotation(keys::UPDATE_POLICY)
            .map(|policy| policy.parse().unwrap_or(UpdatePolicy::OnClaimDelete)),
        paused: annotation(keys::PAUSED) == Some("true"),
        partition: natural(strategy.partition),
        ready: annotation(keys::READY).and_then(|ready| ready.parse().ok()),
        sync: annotation(keys::SYNC).map_or(Sync::LockStep, |sync| sync.parse().unwrap_or(Sync::LockStep)),
        min_ready_seconds: 0,
        status_is_current: false,
        strategy: match strategy.kind {
            StrategyType::RollingUpdate => snapshot::Strategy::RollingUpdate,
            StrategyType::Recreate => snapshot::Strategy::Recreate,
            StrategyType::Other => snapshot::Strategy::OnDelete,
        },
        pod_management: PodManagement::OrderedReady,
        max_unavailable: false,
        update_revision: String::new(),
    })
}

/// A claim, as far as it decides whether it is ready; nothing if it cannot be read. Of its owner it says nothing.
pub(super) fn claim(text: &str) -> Option<ClaimView> {
    let claim = Claim::read(text).ok()?;
    let holds = |kind: &str| claim.conditions.iter().any(|(held, _)| held == kind);
    let is_trouble = |(kind, _): &&(String, String)| Trouble::CONDITIONS.contains(&kind.as_str());
    let trouble = claim.conditions.iter().find(is_trouble);
    Some(ClaimView {
        uid: claim.uid.clone(),
        resource_version: String::new(),
        controller: None,
        terminating: claim.terminating,
        bound: claim.bound,
        request: claim.asks.storage.unwrap_or_else(|| Quantity::from_bytes(0)),
        size_is_ours: false,
        capacity: claim.capacity,
        class: claim.asks.volume_attributes_class_name,
        class_is_ours: false,
        current_class: claim.current_class,
        resize: claim.resize,
        modify: claim.modify,
        resizing: holds("Resizing"),
        file_system_resize_pending: holds("FileSystemResizePending"),
        trouble: trouble.map(|(kind, message)| Trouble {
            reason: kind.clone(),
            message: message.clone(),
        }),
        name: claim.asks.name,
        labels: claim.asks.labels,
        spec: Arc::new(claim.asks.spec),
    })
}

/// A Pod that is to be deleted.
pub(super) fn pod(pod: &Object<'_>) -> Read<Pod> {
    let controller = pod.metadata.controller.as_ref();
    let set = controller.filter(|owner| owner.kind == "StatefulSet" && owner.group() == "apps");
    let text = |of: fn(&Named<'_>) -> String| set.map(of).unwrap_or_default();
    let mut seen = Pod {
        name: pod.metadata.name.to_string(),
        set_name: text(|set| set.name.to_string()),
        set_uid: text(|set| set.uid.to_string()),
        terminating: pod.metadata.terminating,
        ..Pod::default()
    };
    members(pod.status, |reader, key| {
        match key {
            "phase" => seen.has_ended = matches!(&*reader.string()?, "Failed" | "Succeeded"),
            "conditions" if !reader.null()? => reader.list(|reader| {
                let (mut kind, mut status) = (Cow::default(), Cow::default());
                let mut once = Once::default();
                reader.object(|reader, key| {
                    match &*key {
                        "type" => kind = once.text(0, reader)?,
                        "status" => status = once.text(1, reader)?,
                        _ => reader.skip()?,
                    }
                    Ok(())
                })?;
                seen.disrupted |= kind == "DisruptionTarget" && status == "True";
                Ok(())
            })?,
            "conditions" => {}
            _ => reader.skip()?,
        }
        Ok(())
    })?;
    members(Some(pod.spec.text), |reader, key| {
        if key != "volumes" || reader.null()? {
            return if key == "volumes" { Ok(()) } else { reader.skip() };
        }
        reader.list(|reader| {
            reader.object(|reader, key| {
                seen.mounts_claims |= key == "persistentVolumeClaim";
                reader.skip()
            })
        })
    })?;
    Ok(seen)
}

fn owner(named: &Named<'_>) -> snapshot::Owner {
    snapshot::Owner {
        group: named.group().to_owned(),
        kind: named.kind.to_string(),
        name: named.name.to_string(),
        uid: named.uid.to_string(),
    }
}

fn natural(number: i64) -> u32 {
    u32::try_from(number.max(0)).unwrap_or(u32::MAX)
}
