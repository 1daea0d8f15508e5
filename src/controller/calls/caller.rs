//! What the calls of the API need.

use std::sync::Arc;

use kube::api::Api;
use kube::core::NamespaceResourceScope;
use kube::{Client, Resource};

use crate::api::Seconds;
use crate::controller::clock::Clock;
use crate::controller::metrics::controller::ControllerMetrics;

/// The client, the clock, and the metrics of calls.
#[derive(Clone)]
pub(crate) struct Caller {
    pub(crate) client: Client,
    pub(crate) clock: Clock,
    pub(crate) metrics: Arc<ControllerMetrics>,
}

impl Caller {
    /// The time.
    pub(crate) fn now(&self) -> Seconds {
        (self.clock)()
    }

    /// The objects of one kind in this namespace.
    pub(crate) fn namespaced<K>(&self, namespace: &str) -> Api<K>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
    {
        Api::namespaced(self.client.clone(), namespace)
    }
}
