//! Fields that only some rows need, decoded from their bytes on demand.

use super::object::Read;
use super::review::{Object, Text};
use crate::json::{self, ErrorKind, Map, Once, Reader, Value};
use crate::templates::{ClaimTemplate, Strategy};

/// `spec.updateStrategy` of a set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PodStrategy {
    /// `type`
    pub(crate) kind: Strategy,
    /// `rollingUpdate.partition`
    pub(crate) partition: i64,
}

/// The largest partition.
const MAX_PARTITION: i64 = i32::MAX as i64;

/// A map of strings.
pub(crate) type Strings<'a> = Map<Text<'a>>;

impl<'a> Object<'a> {
    /// `spec.updateStrategy`, with the defaults of Kubernetes.
    pub(crate) fn pod_strategy(&self) -> Read<PodStrategy> {
        let mut strategy = PodStrategy::default();
        let (mut once, mut inner) = (Once::default(), Once::default());
        members(self.spec.update_strategy, |reader, key| {
            match key {
                "type" => strategy.kind = Strategy::of_type(&once.text(0, reader)?),
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

    /// `spec.ordinals.start`
    pub(crate) fn first_ordinal(&self) -> Read<i64> {
        integer(self.spec.ordinals, "start")
    }

    /// `spec.selector.matchLabels`
    pub(crate) fn match_labels(&self) -> Read<Strings<'a>> {
        let mut labels = None;
        let mut once = Once::default();
        members(self.spec.selector, |reader, key| {
            if key == "matchLabels" {
                labels = once.raw(0, reader)?;
                return Ok(());
            }
            reader.skip()
        })?;
        strings(labels)
    }

    /// `status.replicas`: the existing replicas.
    pub(crate) fn existing_replicas(&self) -> Read<i64> {
        integer(self.status, "replicas")
    }

    /// `type` of OpenKruise's `spec.volumeClaimUpdateStrategy`; empty if absent.
    pub(crate) fn claim_update_strategy(&self) -> Read<Text<'a>> {
        let mut found = Text::default();
        let mut once = Once::default();
        members(self.spec.claim_update_strategy, |reader, key| {
            if key == "type" {
                found = once.text(0, reader)?;
                return Ok(());
            }
            reader.skip()
        })?;
        Ok(found)
    }

    /// `whenDeleted` and `whenScaled` of `spec.persistentVolumeClaimRetentionPolicy`; empty if absent.
    pub(crate) fn retention(&self) -> Read<(Text<'a>, Text<'a>)> {
        let (mut deleted, mut scaled) = (Text::default(), Text::default());
        let mut once = Once::default();
        members(self.spec.retention, |reader, key| {
            match key {
                "whenDeleted" => deleted = once.text(0, reader)?,
                "whenScaled" => scaled = once.text(1, reader)?,
                _ => reader.skip()?,
            }
            Ok(())
        })?;
        Ok((deleted, scaled))
    }

    /// `metadata.finalizers` without this one, as JSON; `None` if it is not there.
    pub(crate) fn finalizers_without(&self, finalizer: &str) -> Option<String> {
        let Ok(Value::Array(mut finalizers)) = json::read(self.metadata.finalizers?) else {
            return None;
        };
        let all = finalizers.len();
        finalizers.retain(|found| found.as_str() != Some(finalizer));
        (finalizers.len() < all).then(|| json::canonical(&Value::Array(finalizers)))
    }

    /// The spec of a claim, without its metadata: decoding very many labels would take longer than all the rest.
    pub(crate) fn claim_spec(&self) -> Option<ClaimTemplate> {
        let unnamed = format!(r#"{{"metadata":{{"name":"-"}},"spec":{}}}"#, self.spec.text);
        ClaimTemplate::read(&unnamed).ok()
    }

    /// True iff the templates of both are equal, value for value.
    pub(crate) fn has_templates_of(&self, other: &Object<'_>) -> bool {
        let [one, two] = [self.templates(), other.templates()].map(json::read);
        matches!((one, two), (Ok(one), Ok(two)) if one == two)
    }

    /// `spec.volumeClaimTemplates` of the last-applied configuration: a JSON string that contains a manifest.
    pub(crate) fn last_applied_templates(&self) -> Option<Vec<ClaimTemplate>> {
        let manifest = Reader::new(self.metadata.last_applied?).string().ok()?;
        let manifest = super::object::read(&manifest)?;
        ClaimTemplate::read_list(manifest.spec.templates?).ok()
    }
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

/// Decodes a map of strings; empty if absent or `null`.
pub(crate) fn strings(text: Option<&str>) -> Read<Strings<'_>> {
    let mut reader = Reader::new(text.unwrap_or("null"));
    if reader.null()? {
        return Ok(Map::new());
    }
    reader.strings()
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
