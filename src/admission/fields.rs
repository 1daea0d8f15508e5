//! Fields that only some rows need, decoded from their bytes on demand.

use super::object::Read;
use super::review::{Object, Text};
use crate::json::{ErrorKind, Map, Once, Reader};

/// `spec.updateStrategy` of a set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct PodStrategy {
    /// `type`
    pub(super) kind: StrategyType,
    /// `rollingUpdate.partition`
    pub(super) partition: i64,
}

/// `spec.updateStrategy.type`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum StrategyType {
    /// One Pod after the other, down to the partition.
    #[default]
    RollingUpdate,
    /// All Pods at once.
    Recreate,
    /// `OnDelete`, or unknown.
    Other,
}

/// The largest partition.
const MAX_PARTITION: i64 = i32::MAX as i64;

/// A map of strings.
pub(super) type Strings<'a> = Map<Text<'a>>;

impl PodStrategy {
    /// The strategy of a set, with the defaults of Kubernetes.
    pub(super) fn of(set: &Object<'_>) -> Read<Self> {
        let mut strategy = Self::default();
        let (mut once, mut inner) = (Once::default(), Once::default());
        members(set.spec.update_strategy, |reader, key| {
            match key {
                "type" => {
                    let name = once.text(0, reader)?;
                    strategy.kind = match &*name {
                        "" | "RollingUpdate" => StrategyType::RollingUpdate,
                        "Recreate" => StrategyType::Recreate,
                        _ => StrategyType::Other,
                    };
                }
                "rollingUpdate" => {
                    once.mark(1, reader)?;
                    if reader.null()? {
                        return Ok(());
                    }
                    reader.object(|reader, key| {
                        if key != "partition" {
                            return reader.skip();
                        }
                        inner.mark(0, reader)?;
                        strategy.partition = if reader.null()? { 0 } else { reader.integer()? };
                        // An int32 in the API.
                        if (0..=MAX_PARTITION).contains(&strategy.partition) {
                            return Ok(());
                        }
                        Err(reader.error(ErrorKind::Expected("a partition from 0 to 2147483647")))
                    })?;
                }
                _ => reader.skip()?,
            }
            Ok(())
        })?;
        Ok(strategy)
    }
}

/// `spec.ordinals.start`
pub(super) fn first_ordinal(set: &Object<'_>) -> Read<i64> {
    integer(set.spec.ordinals, "start")
}

/// `spec.selector.matchLabels`
pub(super) fn match_labels<'a>(set: &Object<'a>) -> Read<Strings<'a>> {
    let mut labels = None;
    let mut once = Once::default();
    members(set.spec.selector, |reader, key| {
        if key == "matchLabels" {
            labels = once.raw(0, reader)?;
            return Ok(());
        }
        reader.skip()
    })?;
    strings(labels)
}

/// `status.replicas`: the existing replicas.
pub(super) fn existing_replicas(set: &Object<'_>) -> Read<i64> {
    integer(set.status, "replicas")
}

/// A number in an object; 0 if absent.
fn integer(text: Option<&str>, of: &str) -> Read<i64> {
    let mut found = 0;
    let mut once = Once::default();
    members(text, |reader, key| {
        if key != of {
            return reader.skip();
        }
        once.mark(0, reader)?;
        found = if reader.null()? { 0 } else { reader.integer()? };
        Ok(())
    })?;
    Ok(found)
}

/// `type` of OpenKruise's `spec.volumeClaimUpdateStrategy`; empty if absent.
pub(super) fn claim_update_strategy<'a>(set: &Object<'a>) -> Read<Text<'a>> {
    let mut found = Text::default();
    let mut once = Once::default();
    members(set.spec.claim_update_strategy, |reader, key| {
        if key == "type" {
            found = once.text(0, reader)?;
            return Ok(());
        }
        reader.skip()
    })?;
    Ok(found)
}

/// `whenDeleted` and `whenScaled` of `spec.persistentVolumeClaimRetentionPolicy`; empty if absent.
pub(super) fn retention<'a>(set: &Object<'a>) -> Read<(Text<'a>, Text<'a>)> {
    let (mut deleted, mut scaled) = (Text::default(), Text::default());
    let mut once = Once::default();
    members(set.spec.retention, |reader, key| {
        match key {
            "whenDeleted" => deleted = once.text(0, reader)?,
            "whenScaled" => scaled = once.text(1, reader)?,
            _ => reader.skip()?,
        }
        Ok(())
    })?;
    Ok((deleted, scaled))
}

/// Decodes a map of strings; empty if absent or `null`.
pub(super) fn strings(text: Option<&str>) -> Read<Strings<'_>> {
    let mut reader = Reader::new(text.unwrap_or("null"));
    if reader.null()? {
        return Ok(Map::new());
    }
    let mut members = Vec::new();
    reader.object(|reader, key| {
        members.push((key.into_owned(), reader.string()?));
        Ok(())
    })?;
    Map::from_unsorted(members).ok_or_else(|| reader.error(ErrorKind::Duplicate))
}

/// Calls `member` for each member of an object; for none if absent or `null`.
pub(super) fn members<'a>(
    text: Option<&'a str>,
    mut member: impl FnMut(&mut Reader<'a>, &str) -> Read<()>,
) -> Read<()> {
    let mut reader = Reader::new(text.unwrap_or("null"));
    if reader.null()? {
        return Ok(());
    }
    reader.object(|reader, key| member(reader, &key))
}
