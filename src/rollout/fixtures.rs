//! A StatefulSet `web` of three replicas with one template `data` that grows from 1Gi to 2Gi, and helpers to change it.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::action::{Action, ApplyClaim, EventNotice, Reason, SetStaged};
use super::budget::Budgets;
use super::milestones::Milestones;
use super::plan::plan;
use super::snapshot::{PodView, Previous, Refusal, Snapshot, Trouble};
use super::volume_snapshot::ReCreateAnswers;
use crate::claims::quota::Quotas;
use crate::claims::{Claim, Owner};
use crate::gate::{ClaimState, SetView};
use crate::json::Map;
use crate::templates::{
    ClaimName, ClaimTemplate, Phase, Quantity, Revision, RevisionLabel, StagedChange, Staging, UpdatePolicy, keys,
};

/// The rows of a table: its lines, each with this number of columns between `|`. A comment begins with `//`.
pub(crate) fn rows<const N: usize>(table: &str) -> Vec<[&str; N]> {
    let lines = table.lines().map(str::trim);
    let rows = lines
        .filter(|line| !line.is_empty() && !line.starts_with("//"))
        .map(|line| {
            let columns: Vec<&str> = line.split('|').map(str::trim).collect();
            columns
                .try_into()
                .unwrap_or_else(|_| panic!("expected {N} columns: {line}"))
        });
    rows.collect()
}

pub(crate) fn gi(amount: u64) -> Quantity {
    Quantity::from_bytes(amount << 30)
}

pub(crate) fn template(name: &str, size: &str) -> ClaimTemplate {
    let text = format!(
        r#"[{{"metadata":{{"name":"{name}"}},"spec":{{"accessModes":["ReadWriteOnce"],"resources":{{"requests":{{"storage":"{size}"}}}}}}}}]"#
    );
    ClaimTemplate::read_list(&text).expect("a template").remove(0)
}

pub(crate) fn staging(text: &str) -> Staging {
    Staging::read(text).expect("a staging")
}

pub(crate) fn label(revision: &str) -> RevisionLabel {
    RevisionLabel {
        revision: Revision::from_text(revision),
        staging: staging("xz245"),
    }
}

pub(crate) fn staged_change(templates: Vec<ClaimTemplate>) -> StagedChange {
    StagedChange {
        by: "alice".to_owned(),
        manager: "kubectl".to_owned(),
        phase: Phase::RollingOut,
        replicas: 0,
        staging: staging("xz245"),
        templates,
        uid: "set-uid".to_owned(),
        update_policy: UpdatePolicy::InPlace,
    }
}

pub(crate) fn owner(kind: &str, name: &str, uid: &str) -> Owner {
    Owner {
        api_version: "example.com/v1".to_owned(),
        kind: kind.to_owned(),
        name: name.to_owned(),
        uid: uid.to_owned(),
        controller: true,
        block_owner_deletion: true,
    }
}

/// Three replicas, each with a Pod and a bound claim of 1Gi; 2Gi are staged, and this was reported before.
pub(crate) fn web() -> Snapshot {
    let staged = staged_change(vec![template("data", "2Gi")]);
    let revision = staged.revision();
    let set = SetView {
        namespace: "default".to_owned(),
        name: "web".to_owned(),
        uid: "set-uid".to_owned(),
        resource_version: "100".to_owned(),
        replicas: 3,
        match_labels: Map::from_unsorted(vec![("app".to_owned(), "web".to_owned())]).unwrap(),
        live: vec![template("data", "1Gi")],
        staged: Some(staged),
        status_is_current: true,
        update_revision: "web-1".to_owned(),
        ..SetView::default()
    };
    let mut snapshot = Snapshot {
        now: 1000,
        settings: Arc::default(),
        halted: None,
        write_refused: None,
        not_evicted: None,
        recreate: ReCreateAnswers::default(),
        staged_before: None,
        set,
        claims: BTreeMap::new(),
        pods: BTreeMap::new(),
        siblings: Vec::new(),
        refusals: BTreeMap::new(),
        quotas: Quotas::Unchecked,
        budgets: Budgets::default(),
        previous: Some(Previous {
            revision,
            staging: Some(staging("xz245")),
            started: Some(950),
            claims: BTreeMap::new(),
            moved: Some(950),
            ready: "RollingOut".to_owned(),
        }),
        milestones: Milestones::default(),
        claim_events: BTreeMap::new(),
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
        let claim = Claim {
            uid: format!("{name}-uid"),
            name: name.clone(),
            resource_version: "7".to_owned(),
            labels: self.set.match_labels.clone(),
            bound: true,
            spec: Arc::new(self.set.live[0].spec.clone()),
            request: gi(1),
            capacity: Some(gi(1)),
            ..Claim::default()
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
            created: 890,
            deleted: None,
            ready_since: Some(900),
            unready: None,
            claims: self
                .set
                .live
                .iter()
                .map(|template| format!("{}-{name}", template.name))
                .collect(),
            volumes: self.set.live.iter().map(|template| template.name.clone()).collect(),
        };
        self.pods.insert(name, pod);
    }

    pub(crate) fn claim(&mut self, name: &str) -> &mut Claim {
        self.claims.get_mut(name).expect("a claim of the fixture")
    }

    /// Another object controls the claim.
    pub(crate) fn take_over(&mut self, name: &str) {
        self.claim(name).owners = vec![owner("Backup", "b", "b-uid")];
    }

    pub(crate) fn target(&self) -> Revision {
        self.set.staged.as_ref().expect("a staged change").revision()
    }

    /// The label of updated claims.
    pub(crate) fn label(&self) -> RevisionLabel {
        self.set.staged.as_ref().expect("a staged change").label()
    }

    /// The claim was written: it carries the revision and requests 2Gi.
    pub(crate) fn applied(&mut self, name: &str) -> &mut Claim {
        let label = self.label();
        let claim = self.claim(name);
        claim.labels.insert(keys::REVISION.to_owned(), label.to_string());
        claim.request = claim.request.max(gi(2));
        claim
    }

    /// The claim was written and is ready.
    pub(crate) fn done(&mut self, name: &str) {
        let claim = self.applied(name);
        claim.capacity = Some(claim.request);
    }

    pub(crate) fn phase(&mut self, phase: Phase) {
        self.set.staged.as_mut().expect("a staged change").phase = phase;
    }

    pub(crate) fn stage(&mut self, templates: Vec<ClaimTemplate>) {
        self.set.staged = Some(staged_change(templates));
        let revision = self.target();
        if let Some(previous) = &mut self.previous {
            previous.revision = revision;
        }
    }
}

/// The apply that grows `data-web-<ordinal>` to 2Gi.
pub(crate) fn apply(snapshot: &Snapshot, ordinal: u32) -> Action {
    let name = ClaimName::new("data", "web", ordinal).unwrap();
    Action::ApplyClaim(ApplyClaim {
        uid: format!("{name}-uid"),
        name,
        resource_version: "7".to_owned(),
        storage: gi(2),
        taken_back: None,
        volume_attributes_class_name: None,
        labels: [].into(),
        annotations: [].into(),
        label: snapshot.label(),
    })
}

pub(crate) fn complete(snapshot: &Snapshot) -> Action {
    let change = snapshot.set.staged.as_ref().unwrap();
    Action::SetStaged(SetStaged::complete(&snapshot.set, change))
}

pub(crate) fn events(snapshot: &Snapshot) -> Vec<(Reason, String)> {
    let notices = plan(snapshot).actions.into_iter().filter_map(|action| match action {
        Action::Event(EventNotice { reason, message, .. }) => Some((reason, message)),
        _ => None,
    });
    notices.collect()
}

pub(crate) fn writes(snapshot: &Snapshot) -> Vec<Action> {
    plan(snapshot)
        .actions
        .into_iter()
        .filter(|action| !matches!(action, Action::Event(_)))
        .collect()
}

pub(crate) fn state(snapshot: &Snapshot, claim: &str) -> ClaimState {
    let listed = plan(snapshot).progress.claims;
    listed
        .into_iter()
        .find(|listed| listed.name == claim)
        .map_or(ClaimState::Done, |listed| listed.state)
}

/// A condition of this type on a claim.
pub(crate) fn trouble(kind: &str) -> Trouble {
    Trouble {
        reason: kind.to_owned(),
        message: format!("{kind} of the driver"),
    }
}

pub(crate) fn refused(web: &mut Snapshot, last: u64) {
    let failed = Refusal {
        label: web.label(),
        resource_version: "7".to_owned(),
        cause: "Forbidden".to_owned(),
        message: "exceeded quota".to_owned(),
        attempts: 3,
        last,
    };
    web.refusals.insert("data-web-2-uid".to_owned(), failed);
}
