//! What the reconciles of the StatefulSets of one kind share, by what it does.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::controller::observe::observer::Observer;
use crate::controller::observe::reader::LiveReader;
use crate::controller::registrations::admission::Admission;
use crate::controller::replacing::queue::Replacements;
use crate::controller::report::reporter::Reporter;
use crate::controller::write::writer::Writer;

/// What the reconciles of one kind share.
pub(crate) struct Context {
    pub(crate) observer: Observer,
    pub(crate) admission: Arc<Admission>,
    pub(crate) reader: LiveReader,
    pub(crate) writer: Writer,
    pub(crate) reporter: Reporter,
    pub(crate) replacements: Arc<Replacements>,
    /// True once the controller stops: it starts no further write.
    pub(crate) stopping: Arc<AtomicBool>,
}

impl Context {
    /// True once the controller stops.
    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Acquire)
    }

    /// Forgets sets that do not exist any more. Some may have been deleted while the watch was broken.
    pub(crate) fn prune(&self) {
        self.observer.prune();
        let cache = &self.observer.cache;
        self.replacements
            .retain(|namespace, set| cache.has_name(namespace, set));
    }
}
