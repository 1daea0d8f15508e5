//! What a replacement reports.

use std::time::Duration;

use super::step::Fault;

/// What a replacement reports while it runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Notice {
    /// The uid of the set, if it exists.
    pub uid: Option<String>,
    /// The replicas of the old set, while it is replaced.
    pub replicas: Option<i64>,
    /// True iff the set was let go and is yet to be created.
    pub is_absent: bool,
    /// What happened.
    pub what: Happened,
}

/// What happened in a replacement.
#[derive(Clone, Debug, PartialEq)]
pub enum Happened {
    /// A step with this name is executed.
    Step(&'static str),
    /// It must not begin yet.
    Waits(Fault),
    /// It waits for longer than it should.
    Stalled(Fault),
    /// The set did not exist for this time.
    Absent(Duration),
    /// `whenDeleted` stays `Retain`.
    Retained,
    /// It has ended.
    Ended(Ended),
}

/// How a replacement ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The set has the desired templates.
    Replaced,
    /// Nothing was to be done.
    Nothing,
    /// The set is not replaced; it is as before.
    Refused(Fault),
    /// Somebody else created a set of the name.
    Foreign(Fault),
    /// The set was let go, does not exist, and is not created again.
    Absent(Fault),
    /// The controller stops. Another one goes on.
    Stopped,
}
