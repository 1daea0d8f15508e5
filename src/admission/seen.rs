//! Converts objects to the input of the other decisions.

use std::borrow::Cow;

use super::fields::{self, PodStrategy, StrategyType, members};
use super::object::Read;
use super::review::{Object, OwnerRef};
use crate::claims::Owner;
use crate::gate::Pod;
use crate::json::{Map, Once};
use crate::rollout::snapshot::{self, SetView};
use crate::templates::ClaimTemplate;

/// The fields of a set that decide whether its staged change is valid and which replicas it reaches; `None` if the set
/// cannot be decoded. Pods, Pod management and status are not set.
pub(super) fn set(set: &Object<'_>) -> Option<SetView> {
    let metadata = &set.metadata;
    let strategy = PodStrategy::of(set).ok()?;
    let labels = fields::match_labels(set).ok()?;
    let labels = labels.into_iter().map(|(key, value)| (key, value.into_owned()));
    Some(SetView {
        namespace: metadata.namespace.to_string(),
        name: metadata.name.to_string(),
        terminating: metadata.terminating,
        controller: metadata.controller.as_ref().map(owner),
        replicas: natural(set.replicas()),
        first_ordinal: natural(fields::first_ordinal(set).ok()?),
        match_labels: Map::from_unsorted(labels.collect())?,
        live: ClaimTemplate::read_list(set.templates()).ok()?,
        partition: natural(strategy.partition),
        strategy: match strategy.kind {
            StrategyType::RollingUpdate => snapshot::Strategy::RollingUpdate,
            StrategyType::Recreate => snapshot::Strategy::Recreate,
            StrategyType::Other => snapshot::Strategy::OnDelete,
        },
        ..SetView::annotated(&metadata.uid, |key| metadata.annotations.get(key))
    })
}

/// A Pod to be deleted.
pub(super) fn pod(pod: &Object<'_>) -> Read<Pod> {
    let (set_name, set_uid) = match &pod.metadata.controller {
        Some(owner) if owner.kind == "StatefulSet" && owner.group() == "apps" => (&*owner.name, &*owner.uid),
        Some(_) => ("", ""),
        None => (pod.metadata.name.rsplit_once('-').map_or("", |(set, _)| set), ""),
    };
    let mut seen = Pod {
        name: pod.metadata.name.to_string(),
        set_name: set_name.to_owned(),
        set_uid: set_uid.to_owned(),
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

fn owner(owner: &OwnerRef<'_>) -> Owner {
    Owner {
        api_version: owner.api_version.to_string(),
        kind: owner.kind.to_string(),
        name: owner.name.to_string(),
        uid: owner.uid.to_string(),
        controller: true,
        block_owner_deletion: false,
    }
}

pub(super) fn natural(number: i64) -> u32 {
    u32::try_from(number.max(0)).unwrap_or(u32::MAX)
}
