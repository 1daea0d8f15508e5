//! A set `web` of three replicas with one template `data` that is to grow from 1Gi to 2Gi, and words to change it with.

use std::collections::BTreeMap;

use super::snapshot::{ClaimView, Earlier, Owner, PodManagement, PodView, SetView, Snapshot, Strategy};
use crate::templates::{ClaimTemplate, Phase, Quantity, Record, Revision, UpdatePolicy, keys};

pub(crate) fn gi(amount: u64) -> Quantity {
    Quantity::from_bytes(amount << 30)
}

pub(crate) fn template(name: &str, size: &str) -> ClaimTemplate {
    let text = format!(
        r#"[{{"metadata":{{"name":"{name}"}},"spec":{{"accessModes":["ReadWriteOnce"],"resources":{{"requests":{{"storage":"{size}"}}}}}}}}]"#
    );
    ClaimTemplate::read_list(&text).expect("a template").remove(0)
}

pub(crate) fn record(templates: Vec<ClaimTemplate>) -> Record {
    Record {
        by: "alice".to_owned(),
        manager: "kubectl".to_owned(),
        phase: Phase::RollingOut,
        templates,
        uid: "set-uid".to_owned(),
        update_policy: UpdatePolicy::InPlace,
    }
}

pub(crate) fn owner(kind: &str, name: &str, uid: &str) -> Owner {
    Owner {
        kind: kind.to_owned(),
        name: name.to_owned(),
        uid: uid.to_owned(),
    }
}

/// Three replicas, each with a Pod and a bound claim of 1Gi; 2Gi are staged, and this was reported already.
pub(crate) fn web() -> Snapshot {
    let staged = record(vec![template("data", "2Gi")]);
    let revision = staged.revision();
    let set = SetView {
        namespace: "default".to_owned(),
        name: "web".to_owned(),
        uid: "set-uid".to_owned(),
        resource_version: "100".to_owned(),
        terminating: false,
        controller: None,
        replicas: 3,
        first_ordinal: 0,
        match_labels: [("app".to_owned(), "web".to_owned())].into(),
        live: vec![template("data", "1Gi")],
        staged: Some(staged),
        update_policy: None,
        paused: false,
        partition: 0,
        strategy: Strategy::RollingUpdate,
        pod_management: PodManagement::OrderedReady,
        update_revision: "web-1".to_owned(),
    };
    let mut snapshot = Snapshot {
        now: 1000,
        set,
        claims: BTreeMap::new(),
        pods: BTreeMap::new(),
        neighbours: Vec::new(),
        refusals: BTreeMap::new(),
        earlier: Some(Earlier {
            revision,
            claims: BTreeMap::new(),
            ready: "RollingOut".to_owned(),
        }),
    };
    for ordinal in 0..3 {
        snapshot.add_claim("data", ordinal);
        snapshot.add_pod(ordinal);
    }
    snapshot
}

impl Snapshot {
    pub(crate) fn add_claim(&mut self, template: &str, ordinal: u32) {
        let name = format!("{template}-web-{ordinal}");
        let claim = ClaimView {
            uid: format!("{name}-uid"),
            name: name.clone(),
            resource_version: "7".to_owned(),
            labels: self.set.match_labels.clone(),
            controller: None,
            terminating: false,
            bound: true,
            request: gi(1),
            capacity: Some(gi(1)),
            class: None,
            class_is_ours: false,
            current_class: None,
            resize: None,
            modify: None,
            resizing: false,
            file_system_resize_pending: false,
            trouble: None,
        };
        self.claims.insert(name, claim);
    }

    pub(crate) fn add_pod(&mut self, ordinal: u32) {
        let name = format!("web-{ordinal}");
        let pod = PodView {
            uid: format!("{name}-uid"),
            name: name.clone(),
            controller: Some(owner("StatefulSet", "web", "set-uid")),
            revision: "web-1".to_owned(),
            claims: self
                .set
                .live
                .iter()
                .map(|template| format!("{}-{name}", template.name))
                .collect(),
        };
        self.pods.insert(name, pod);
    }

    pub(crate) fn claim(&mut self, name: &str) -> &mut ClaimView {
        self.claims.get_mut(name).expect("a claim of the fixture")
    }

    pub(crate) fn wish(&self) -> Revision {
        self.set.staged.as_ref().expect("a record").revision()
    }

    /// The claim was written: it carries the revision and asks for 2Gi.
    pub(crate) fn applied(&mut self, name: &str) -> &mut ClaimView {
        let revision = self.wish();
        let claim = self.claim(name);
        claim.labels.insert(keys::REVISION.to_owned(), revision.to_string());
        claim.request = claim.request.max(gi(2));
        claim
    }

    /// The claim was written and is ready.
    pub(crate) fn done(&mut self, name: &str) {
        let claim = self.applied(name);
        claim.capacity = Some(claim.request);
    }

    pub(crate) fn phase(&mut self, phase: Phase) {
        self.set.staged.as_mut().expect("a record").phase = phase;
    }

    pub(crate) fn stage(&mut self, templates: Vec<ClaimTemplate>) {
        self.set.staged = Some(record(templates));
        let revision = self.wish();
        if let Some(earlier) = &mut self.earlier {
            earlier.revision = revision;
        }
    }
}
