//! Rows U4 and U6: the partition of a set while the controller drives it, and the user's own beside it.
//!
//! On a stock cluster KEP-4650's order (claims before Pods) is kept with Kubernetes' own partition: it is raised so that
//! no Pod is replaced, and the controller lowers it replica by replica.

use super::fields::{MAX_PARTITION, Strategy, StrategyType};
use super::object::Read;
use super::review::Object;
use super::verdict::Edit;
use crate::json::{read, same};
use crate::templates::keys;

/// Whether the claims of a replica come before its Pod, once the request has been let through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Claims {
    /// `InPlace` and `LockStep`, with a wish that is being rolled out.
    First,
    /// Pods go their own way.
    Apart,
}

/// What becomes of the partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hold {
    /// There is none, before and after.
    None,
    /// It begins.
    Begins {
        /// What the object gets.
        partition: i64,
        /// What the user asked for.
        users: i64,
    },
    /// It goes on.
    Continues {
        /// What the object gets.
        partition: i64,
        /// What the user asked for.
        users: i64,
    },
    /// It ends: the user's partition is put back.
    Ends {
        /// What the user asked for; nothing where the strategy has no partition any more.
        partition: Option<i64>,
    },
}

/// What a request says about Pods.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pods {
    /// The partition before the request.
    pub(super) old: i64,
    /// The user's own partition before the request, where a hold is on.
    pub(super) held: Option<i64>,
    /// The strategy that the request asks for.
    pub(super) asked: Strategy,
    /// The replicas that the request asks for.
    pub(super) replicas: i64,
    /// Whether the Pod template changes.
    pub(super) template: PodTemplate,
}

/// Whether the Pod template changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PodTemplate {
    /// It does.
    Changed,
    /// It does not.
    Same,
}

impl Pods {
    /// What the request says.
    pub(super) fn of(old: &Object<'_>, new: &Object<'_>) -> Read<Self> {
        let held = old.metadata.annotations.get(keys::HELD_PARTITION);
        Ok(Self {
            old: Strategy::of(old)?.partition,
            held: held
                .and_then(|text| text.parse().ok())
                .filter(|held| (0..=MAX_PARTITION).contains(held)),
            asked: Strategy::of(new)?,
            replicas: new.replicas().clamp(0, MAX_PARTITION),
            template: pod_template(old, new),
        })
    }

    /// What becomes of the partition.
    pub(super) fn hold(&self, claims: Claims) -> Hold {
        let rolling = self.asked.kind == StrategyType::RollingUpdate;
        // While it is held, only a partition that the request changes is the user's.
        let users = match self.held {
            Some(held) if self.asked.partition == self.old => held,
            _ => self.asked.partition,
        };
        // Every Pod waits for its claims after a new template; else those that wait go on waiting.
        let base = match self.template {
            PodTemplate::Changed => self.replicas,
            PodTemplate::Same => self.old,
        };
        let partition = base.max(users);
        if claims == Claims::Apart || !rolling {
            return match self.held {
                Some(_) => Hold::Ends {
                    partition: rolling.then_some(users),
                },
                None => Hold::None,
            };
        }
        match self.held {
            Some(_) => Hold::Continues { partition, users },
            None if partition != users => Hold::Begins { partition, users },
            None => Hold::None,
        }
    }
}

/// Bytes first: most requests do not touch it. They differ without a difference where another key order came along.
fn pod_template(old: &Object<'_>, new: &Object<'_>) -> PodTemplate {
    let (old, new) = (old.spec.pod_template, new.spec.pod_template);
    let same = match (old, new) {
        (None, None) => true,
        (Some(old), Some(new)) => same(old, new) || matches!((read(old), read(new)), (Ok(old), Ok(new)) if old == new),
        _ => false,
    };
    if same { PodTemplate::Same } else { PodTemplate::Changed }
}

impl Hold {
    /// The edits that make it so; none where it is so already.
    pub(super) fn edits(self, new: &Object<'_>, asked: Strategy) -> Vec<Edit> {
        let found = new.metadata.annotations.get(keys::HELD_PARTITION);
        let mut edits = Vec::new();
        let mut partition = |wanted: i64| {
            if wanted != asked.partition {
                edits.push(Edit::SetPartition(wanted));
            }
        };
        match self {
            Self::None => {}
            Self::Begins { partition: wanted, .. } | Self::Continues { partition: wanted, .. } => partition(wanted),
            Self::Ends { partition: wanted } => wanted.into_iter().for_each(partition),
        }
        match self {
            Self::Begins { users, .. } | Self::Continues { users, .. } => {
                let users = users.to_string();
                if found != Some(users.as_str()) {
                    edits.push(Edit::annotation(keys::HELD_PARTITION, users));
                }
            }
            // One that nothing holds has no business here.
            Self::None | Self::Ends { .. } if found.is_some() => edits.push(Edit::no_annotation(keys::HELD_PARTITION)),
            Self::None | Self::Ends { .. } => {}
        }
        edits
    }
}

#[cfg(test)]
#[path = "hold_tests.rs"]
mod tests;
