//! Builds what the reconciles of the StatefulSets of one kind share.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

use kube::runtime::reflector::Store;

use super::config::Config;
use crate::controller::calls::caller::Caller;
use crate::controller::clock::clock_millis;
use crate::controller::memory::memories::Memories;
use crate::controller::objects::packed_rollout::PackedRollout;
use crate::controller::objects::set::SlimSet;
use crate::controller::observe::observer::Observer;
use crate::controller::observe::pace::Pace;
use crate::controller::observe::quota_cache::SharedQuotas;
use crate::controller::observe::reader::LiveReader;
use crate::controller::places::class_places::ClassPlaces;
use crate::controller::reconcile::context::Context;
use crate::controller::registrations::admission::Admission;
use crate::controller::replacing::cluster::Cluster;
use crate::controller::replacing::queue::Replacements;
use crate::controller::report::reporter::Reporter;
use crate::controller::watch::cache::WatchCache;
use crate::controller::watch::namespaces::Namespaces;
use crate::controller::watch::streams::RequeueSender;
use crate::controller::watch::unblock::Unblock;
use crate::controller::write::writer::Writer;

/// What the reconciles of both kinds share.
pub(crate) struct CommonParts {
    pub(crate) caller: Caller,
    pub(crate) admission: Arc<Admission>,
    pub(crate) places: Arc<ClassPlaces>,
    pub(crate) rollouts: Store<PackedRollout>,
    pub(crate) stopping: Arc<AtomicBool>,
}

impl CommonParts {
    pub(crate) fn new(config: &Config, caller: Caller, rollouts: Store<PackedRollout>) -> Self {
        let admission = Admission::new(
            caller.client.clone(),
            Arc::new(config.settings.clone()),
            config.namespace.clone(),
            config.without_policy,
            Arc::clone(&caller.metrics),
        );
        Self {
            caller,
            admission: Arc::new(admission),
            places: Arc::new(ClassPlaces::new(config.class_limits.clone())),
            rollouts,
            stopping: Arc::default(),
        }
    }

    /// The context for these sets, which this queue requeues. `others` are those of the other kind.
    pub(crate) fn context(
        &self,
        config: &Config,
        sets: Store<SlimSet>,
        others: Option<Store<SlimSet>>,
        requeue: RequeueSender,
    ) -> Context {
        let Caller { client, clock, metrics } = &self.caller;
        let (settings, memories) = (Arc::new(config.settings.clone()), Arc::<Memories>::default());
        self.places.requeue_in(requeue.clone());
        let cluster = Cluster {
            client: client.clone(),
            settings: Arc::clone(&settings),
            admission: Arc::clone(&self.admission),
            journals: config
                .journals
                .clone()
                .unwrap_or_else(|| client.default_namespace().to_owned()),
            clock: clock_millis,
        };
        let replacements = Replacements::new(
            cluster,
            self.caller.clone(),
            (sets.clone(), self.rollouts.clone()),
            requeue.clone(),
            Arc::clone(&self.stopping),
        );
        let cache = WatchCache {
            sets,
            others,
            rollouts: self.rollouts.clone(),
            namespaces: Namespaces::new(client.clone(), requeue.clone(), *clock, Arc::clone(metrics)),
            unblock: Unblock::new(client.clone(), requeue, Arc::clone(metrics)),
        };
        Context {
            observer: Observer {
                clock: *clock,
                settings: Arc::clone(&settings),
                max_in_motion: config.max_in_motion,
                recreating: config.recreating,
                cache,
                memories: Arc::clone(&memories),
                places: Arc::clone(&self.places),
            },
            admission: Arc::clone(&self.admission),
            reader: LiveReader {
                caller: self.caller.clone(),
                memories: Arc::clone(&memories),
                event_reads: Pace::default(),
                quota_lists: SharedQuotas::default(),
            },
            writer: Writer {
                caller: self.caller.clone(),
                memories: Arc::clone(&memories),
            },
            reporter: Reporter {
                caller: self.caller.clone(),
                memories,
                settings,
                last_reports: Mutex::default(),
            },
            replacements: Arc::new(replacements),
            stopping: Arc::clone(&self.stopping),
        }
    }
}
