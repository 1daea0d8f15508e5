//! What a replacement asks its caller to do, and the reply to a write.

use super::journal::Millis;
use super::live::LiveSet;
use super::notice::Ended;
use super::step::{Part, Step};
use super::world::{ReportOwner, World};

/// From where a replacement goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StartFrom {
    /// Nothing was done yet.
    Nothing,
    /// Another process began it.
    Begun,
    /// Another process let the set go, which may be absent.
    Absent,
}

/// Who replaces the set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MachineKind {
    /// The controller, if the set asks for it.
    Controller,
    /// The command `replace`.
    Forced,
    /// The command `replace --take-back`.
    TakesBack,
}

impl MachineKind {
    /// True iff the set is replaced whether or not it asks for it.
    #[must_use]
    pub fn is_forced(self) -> bool {
        self != Self::Controller
    }
}

/// What a replacement does next.
#[derive(Debug)]
pub enum ReplaceTask<'a> {
    /// Read all objects.
    Observe,
    /// Read the StatefulSet only.
    ObserveSet,
    /// Read this part of the world, for the objects in it.
    Fill(Box<World<'a>>, Part),
    /// Execute this step, which writes, or postpone it.
    Write(Step),
    /// Wait for this time, unless the process stops.
    Pause(Millis, PauseCause),
    /// It has ended.
    End(Option<String>, Ended),
}

/// Why a replacement pauses, which decides whether it keeps its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PauseCause {
    /// Others write to the set all the time.
    Conflicts,
    /// A read or a step failed. Empty if that was reported otherwise.
    Failure(String),
    /// The garbage collector has done its part.
    Settling,
    /// The garbage collector has yet to do its part.
    Collecting,
    /// Others have to do something.
    Others,
}

/// The reply to a write, as far as the next decision needs it.
#[derive(Clone, Debug, PartialEq)]
pub enum Reply {
    /// Nothing.
    Nothing,
    /// The uid and the resourceVersion of the Secret of the journal.
    Journal([Option<String>; 2]),
    /// The StatefulSet.
    Set(LiveSet),
    /// The owner of the ClaimRollout.
    Report(ReportOwner),
}
