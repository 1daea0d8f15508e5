//! Replicas without a Pod in a forecast: Kubernetes creates the Pod, and the PVCs that do not exist, from the desired
//! templates.

use std::sync::Arc;

use crate::claims::{Claim, Owner};
use crate::gate::Target;
use crate::rollout::Snapshot;
use crate::rollout::snapshot::PodView;
use crate::templates::{ClaimTemplate, keys};

/// Creates what is missing, and returns the ordinals of the new Pods.
pub(super) fn create(snapshot: &mut Snapshot) -> Vec<u32> {
    let Ok(target) = Target::of(&snapshot.set, &snapshot.settings) else {
        return Vec::new();
    };
    let label = target.label.to_string();
    let set = snapshot.set.clone();
    if set.added_template().is_some() {
        // No Pod can be created before the replacement.
        return Vec::new();
    }
    let controller = Owner {
        uid: set.uid.clone(),
        controller: true,
        ..Owner::default()
    };
    let is_missing = |ordinal: &u32| snapshot.pod_of(*ordinal).is_none();
    let ordinals: Vec<u32> = set.ordinals().filter(is_missing).collect();
    for ordinal in &ordinals {
        let mut names = Vec::new();
        for template in set.wanted() {
            let name = format!("{}-{}-{ordinal}", template.name, set.name);
            let new = || claim(&name, template, &label);
            snapshot.claims.entry(name.clone()).or_insert_with(new);
            names.push(name);
        }
        let name = format!("{}-{ordinal}", set.name);
        let pod = PodView {
            uid: format!("new {name}"),
            controller: Some(controller.clone()),
            created: 0,
            deleted: None,
            revision: set.update_revision.clone(),
            ready_since: Some(0),
            unready: None,
            claims: names,
            volumes: Vec::new(),
            name: name.clone(),
        };
        snapshot.pods.insert(name, pod);
    }
    ordinals
}

/// A PVC as the policy creates it, with its volume.
fn claim(name: &str, template: &ClaimTemplate, label: &str) -> Claim {
    let mut claim = Claim {
        name: name.to_owned(),
        uid: format!("new {name}"),
        ..Claim::default()
    };
    provision(&mut claim, template, label);
    claim
}

/// Gives a PVC that was just created what its template asks for, and a volume.
pub(super) fn provision(claim: &mut Claim, template: &ClaimTemplate, label: &str) {
    claim.labels.insert(keys::REVISION.to_owned(), label.to_owned());
    claim.spec = Arc::new(template.spec.clone());
    claim.class.clone_from(&template.volume_attributes_class_name);
    claim.current_class.clone_from(&claim.class);
    claim.request = template.storage.unwrap_or_default();
    (claim.capacity, claim.bound) = (Some(claim.request), true);
}
