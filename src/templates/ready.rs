//! The annotation `claim-rollout.io/ready`: the last replica whose PVCs became ready while its Pod waited, or that the
//! staging is not rolled out.

use std::fmt;
use std::str::FromStr;

use super::revision::Revision;

/// The value beside a staging that is older than the policy and the guard: it is not rolled out, and whoever applies the
/// same templates again stages them anew.
pub const HELD: &str = "StagedBeforePolicy";

/// A replica of a rollout, in the form `<revision>.<ordinal>`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ready {
    /// The revision of the rollout.
    pub revision: Revision,
    /// The ordinal of the replica.
    pub ordinal: u32,
}

/// The text is not `<revision>.<ordinal>`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected <revision>.<ordinal>")]
pub struct NoReady;

impl fmt::Display for Ready {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.revision, self.ordinal)
    }
}

impl FromStr for Ready {
    type Err = NoReady;

    fn from_str(text: &str) -> Result<Self, NoReady> {
        let (revision, ordinal) = text.rsplit_once('.').ok_or(NoReady)?;
        Ok(Self {
            revision: Revision::from_text(revision),
            ordinal: ordinal.parse().map_err(|_| NoReady)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{NoReady, Ready};

    #[test]
    fn ready_written_and_read_is_equal() {
        for (text, is_one) in [
            ("bcdfghjklm.2", true),
            ("bcdfghjklm.4294967295", true),
            ("bcdfghjklm", false),
            ("bcdfghjklm.", false),
            ("bcdfghjklm.-1", false),
            ("bcdfghjklm.4294967296", false),
            ("", false),
        ] {
            let read = text.parse::<Ready>();
            let expected = is_one.then(|| text.to_owned()).ok_or(NoReady);
            assert_eq!(read.map(|ready| ready.to_string()), expected, "{text}");
        }
    }
}
