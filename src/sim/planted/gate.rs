//! Bugs of the gate.

use std::sync::Arc;

use super::Planted;
use crate::sim::api::Api;
use crate::sim::objects::{ORDINALS, PodHealth, ResizeState, TEMPLATES, slot};
use crate::sim::watch::Views;

impl Planted {
    /// Changes the objects that the gate reads about the Pod of an ordinal.
    pub(crate) fn asks(self, api: &Api, cached: Option<&Views>, ordinal: usize) -> Api {
        let mut api = api.clone();
        let cached = cached.filter(|views| views.set.map(|set| set.uid) == api.set.map(|set| set.uid));
        if let (Self::GateSeesOldSet, Some(views)) = (self, cached) {
            api.set = views.set;
        }
        if let (Self::GateSeesOldClaims, Some(views)) = (self, cached) {
            api.claims = views.claims.clone();
        }
        if let Some(set) = &mut api.set {
            match self {
                Self::GateKeepsOutOfRange => set.spec.replicas = u8::try_from(ORDINALS).unwrap_or(u8::MAX),
                Self::GateForgetsPause => set.spec.paused = false,
                Self::GateKeepsComplete => set.spec.staged.iter_mut().for_each(|change| change.complete = false),
                _ => {}
            }
        }
        if let (Self::GateKeepsDisrupted, Some(pod)) = (self, &mut Arc::make_mut(&mut api.pods)[ordinal]) {
            pod.health = PodHealth::Running;
        }
        let claims = Arc::make_mut(&mut api.claims);
        for template in 0..TEMPLATES {
            let place = slot(template, ordinal);
            match (self, &mut claims[place]) {
                (Self::GateSeesOtherClaims, _) => claims[place] = claims[slot(template, (ordinal + 1) % ORDINALS)],
                (Self::GateKeepsForNode, Some(claim)) if claim.resize == ResizeState::Node => {
                    claim.resize = ResizeState::Controller;
                }
                _ => {}
            }
        }
        api
    }
}
