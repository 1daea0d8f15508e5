//! The door: decision one, asked with the bytes that an API server would send, its answer read from its bytes.

use rustc_hash::FxHashMap;
use serde_json::{Value, json};

use super::api::{Api, Cause};
use super::names::{self, Names, SET, TEMPLATE, TIER, number, whole_gi};
use super::objects::{
    Claim, Claims, Lot, Modify, Owner, Resize, SLOTS, Set, SetSpec, StagedChange, TEMPLATES, Target, Uid, slot,
};
use super::snapshot::claim_name;
use crate::admission::{CanI, CannotAsk, Get, Lookups};
use crate::claims::claim::Manager;
use crate::templates::{self, ClaimTemplate, Quantity, keys};
use crate::wire;

/// When so many answers are remembered, they are forgotten.
const MOST: usize = 50_000;

/// The door, and the answers that it gave.
#[derive(Debug, Default)]
pub(crate) struct Door {
    updates: FxHashMap<Update, Result<SetSpec, Cause>>,
    new_claims: FxHashMap<NewClaim, Claim>,
    deletions: FxHashMap<Deletion, bool>,
}

/// A Pod that is deleted: its set, whether another controller owns that, its ordinal, what becomes of it, and its claims.
type Deletion = (SetSpec, bool, usize, Lot, [Option<Claim>; TEMPLATES]);

/// A claim that is born: the set, whether another controller owns it, template and ordinal, whether there is a neighbour.
type NewClaim = (SetSpec, Uid, (usize, usize), bool, Claim);

/// What each claim asks for and has: with `shrink: Recover` the policy looks whether a growth was reached.
type Sizes = [Option<(u8, u8)>; SLOTS];

/// An update: before and after, whether another controller owns the set, and the claims that are looked at.
type Update = (SetSpec, SetSpec, bool, Option<Sizes>);

/// What the cluster answers: the set, its claims, and perhaps its neighbour.
struct Cluster {
    set: String,
    claims: Option<Sizes>,
    sibling: bool,
    /// The claims of a Pod, by name.
    of_pod: Vec<(String, String)>,
}

impl Lookups for Cluster {
    fn can_i(&mut self, _: &CanI<'_>) -> Result<bool, CannotAsk> {
        Ok(true)
    }

    fn get(&mut self, question: &Get<'_>) -> Result<Option<String>, CannotAsk> {
        Ok(match question.name {
            SET => Some(self.set.clone()),
            "a-web" if self.sibling => {
                let other = r#"{"apiVersion":"apps/v1","kind":"StatefulSet","metadata":{"name":"a-web","namespace":"default","uid":"n"},"spec":{"selector":{"matchLabels":{"app":"a"}},"volumeClaimTemplates":[{"metadata":{"name":"data"},"spec":{}}]}}"#;
                Some(other.to_owned())
            }
            name => match self.of_pod.iter().find(|(of_pod, _)| of_pod == name) {
                Some((_, text)) => Some(text.clone()),
                None => self.claim(name),
            },
        })
    }
}

impl Cluster {
    /// A claim, as far as its size goes.
    fn claim(&self, name: &str) -> Option<String> {
        let slot = (0..SLOTS).find(|slot| claim_name(*slot) == name)?;
        let (request, capacity) = self.claims.as_ref()?[slot]?;
        let mut claim = json!({
            "metadata": {"name": name, "uid": "c"},
            "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": format!("{request}Gi")}}},
            "status": {"phase": "Pending"},
        });
        if capacity != 0 {
            claim["status"] = json!({"phase": "Bound", "capacity": {"storage": format!("{capacity}Gi")}});
        }
        Some(claim.to_string())
    }
}

impl Door {
    /// What is stored after an update of the set, or who refuses it.
    pub(crate) fn update(
        &mut self,
        names: &mut Names,
        before: &Set,
        after: SetSpec,
        recover: Option<&Claims>,
    ) -> Result<SetSpec, Cause> {
        let mut old = before.spec;
        // A record of another set stays one, whatever the uids are.
        for spec in [&mut old] {
            if let Some(change) = &mut spec.staged {
                change.uid = Uid::from(change.uid != before.uid) + 1;
            }
        }
        let mut new = after;
        if let Some(change) = &mut new.staged {
            change.uid = Uid::from(change.uid != before.uid) + 1;
        }
        let sizes = recover.map(|claims| {
            let sizes = |claim: &Option<Claim>| claim.map(|claim| (claim.request, claim.capacity));
            std::array::from_fn(|slot| sizes(&claims[slot]))
        });
        let key = (old, new, before.owned, sizes);
        let answer = match self.updates.get(&key) {
            Some(answer) => *answer,
            None => {
                let answer = ask_update(names, &old, &new, before.owned, sizes);
                if self.updates.len() >= MOST {
                    self.updates.clear();
                }
                self.updates.insert(key, answer);
                answer
            }
        };
        let mut spec = answer?;
        if let Some(change) = &mut spec.staged {
            change.uid = if change.uid == 1 { before.uid } else { Uid::MAX };
        }
        Ok(spec)
    }

    /// Makes of a claim that is born what the policy makes of it.
    pub(crate) fn new_claim(
        &mut self,
        names: &mut Names,
        set: &Set,
        (template, ordinal): (usize, usize),
        sibling: bool,
        claim: &mut Claim,
    ) {
        let mut spec = set.spec;
        let known = set.staged_change().is_some();
        if let Some(change) = &mut spec.staged {
            change.uid = if known { 1 } else { 2 };
        }
        let asked = Claim {
            uid: 0,
            version: 0,
            ..*claim
        };
        let key = (spec, Uid::from(set.owned), (template, ordinal), sibling, asked);
        let created = match self.new_claims.get(&key) {
            Some(created) => *created,
            None => {
                let text = set_text(names, &spec, set.owned);
                let created = ask_new_claim(names, text, (template, ordinal), sibling, asked);
                if self.new_claims.len() >= MOST {
                    self.new_claims.clear();
                }
                self.new_claims.insert(key, created);
                created
            }
        };
        *claim = Claim {
            uid: claim.uid,
            version: claim.version,
            ..created
        };
    }

    /// Whether the gate denies the deletion of a Pod.
    pub(crate) fn keeps(&mut self, names: &mut Names, api: &Api, ordinal: usize) -> bool {
        let (Some(set), Some(pod)) = (api.set, api.pods[ordinal]) else {
            return false;
        };
        let mut spec = set.spec;
        if let Some(change) = &mut spec.staged {
            change.uid = Uid::from(change.uid != set.uid) + 1;
        }
        let claims = std::array::from_fn(|template| {
            let claim = api.claims[slot(template, ordinal)]?;
            Some(Claim {
                uid: 0,
                version: 0,
                owner: Owner::Nobody,
                ..claim
            })
        });
        let key = (spec, set.owned, ordinal, pod.lot, claims);
        if let Some(answer) = self.deletions.get(&key) {
            return *answer;
        }
        let answer = ask_deletion(names, &key);
        if self.deletions.len() >= MOST {
            self.deletions.clear();
        }
        self.deletions.insert(key, answer);
        answer
    }
}

fn ask_deletion(names: &mut Names, (spec, owned, ordinal, lot, claims): &Deletion) -> bool {
    let named = |(template, claim): (usize, &Option<Claim>)| Some((claim_name(slot(template, *ordinal)), (*claim)?));
    let claims: Vec<(String, Claim)> = claims.iter().enumerate().filter_map(named).collect();
    let of_pod = claims
        .iter()
        .map(|(name, claim)| (name.clone(), claim_text(names, name, claim)));
    let mut cluster = Cluster {
        of_pod: of_pod.collect(),
        set: set_text(names, spec, *owned),
        claims: None,
        sibling: false,
    };
    let status = match lot {
        Lot::Runs => r#"{"phase":"Running"}"#,
        Lot::Disrupted => r#"{"phase":"Running","conditions":[{"type":"DisruptionTarget","status":"True"}]}"#,
        Lot::Failed => r#"{"phase":"Failed"}"#,
    };
    let payload = format!(
        r#"{{"request":{{"uid":"r","kind":{{"group":"","version":"v1","kind":"Pod"}},"resource":{{"group":"","version":"v1","resource":"pods"}},"name":"{SET}-{ordinal}","namespace":"default","operation":"DELETE","userInfo":{{"username":"system:serviceaccount:kube-system:statefulset-controller"}},"oldObject":{{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"{SET}-{ordinal}","namespace":"default","uid":"p","ownerReferences":[{{"apiVersion":"apps/v1","kind":"StatefulSet","name":"{SET}","uid":"u1","controller":true}}]}},"spec":{{"volumes":[{{"name":"data","persistentVolumeClaim":{{"claimName":"data-{SET}-{ordinal}"}}}}]}},"status":{status}}}}},"settings":{{}}}}"#
    );
    let answer: Option<Value> = serde_json::from_slice(&wire::validate(payload.as_bytes(), &mut cluster)).ok();
    answer.is_some_and(|answer| answer["accepted"] == Value::Bool(false))
}

/// A claim as an API server writes it.
fn claim_text(names: &mut Names, name: &str, claim: &Claim) -> String {
    let mut object = json!({
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": "default", "uid": "c", "labels": {"app": SET}},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": format!("{}Gi", claim.request)}},
            "volumeAttributesClassName": names::class(claim.class),
        },
        "status": {"phase": if claim.bound { "Bound" } else { "Pending" }},
    });
    if let Some(target) = &claim.revision {
        object["metadata"]["labels"][keys::REVISION] = names.revision(target).as_str().into();
    }
    let mut ours = json!({});
    if claim.our_size {
        ours["f:resources"]["f:requests"]["f:storage"] = json!({});
    }
    if claim.our_class.is_ours() {
        ours["f:volumeAttributesClassName"] = json!({});
    }
    let fields = json!({"f:spec": ours});
    object["metadata"]["managedFields"] = json!([{"manager": Manager::OURS, "operation": "Apply", "fieldsV1": fields}]);
    if claim.terminating {
        object["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
    }
    let status = &mut object["status"];
    if claim.bound {
        status["capacity"] = json!({"storage": format!("{}Gi", claim.capacity)});
        status["currentVolumeAttributesClassName"] = names::class(claim.current_class).into();
    }
    let resize = match claim.resize {
        Resize::None => None,
        Resize::Controller => Some("ControllerResizeInProgress"),
        Resize::ControllerInfeasible => Some("ControllerResizeInfeasible"),
        Resize::Node if claim.errors.node => Some("NodeResizeInProgress"),
        Resize::Node => Some("NodeResizePending"),
    };
    if let Some(resize) = resize {
        status["allocatedResourceStatuses"] = json!({"storage": resize});
    }
    let pending = (claim.resize == Resize::Node).then_some("FileSystemResizePending");
    let conditions = claim.errors.kinds().chain(pending);
    let conditions = conditions.map(|kind| json!({"type": kind, "status": "True", "message": ""}));
    status["conditions"] = conditions.collect();
    let modify = match claim.modify {
        Modify::None => None,
        Modify::Pending => Some("Pending"),
        Modify::InProgress => Some("InProgress"),
        Modify::Infeasible => Some("Infeasible"),
    };
    if let Some(modify) = modify {
        status["modifyVolumeStatus"] = json!({"status": modify, "targetVolumeAttributesClassName": "class"});
    }
    object.to_string()
}

fn ask_update(
    names: &mut Names,
    old: &SetSpec,
    new: &SetSpec,
    owned: bool,
    recover: Option<Sizes>,
) -> Result<SetSpec, Cause> {
    let (old_text, new_text) = (set_text(names, old, owned), set_text(names, new, owned));
    let shrink = if recover.is_some() { "Recover" } else { "Deny" };
    let payload = format!(
        r#"{{"request":{{"uid":"r","kind":{{"group":"apps","version":"v1","kind":"StatefulSet"}},"resource":{{"group":"apps","version":"v1","resource":"statefulsets"}},"name":"{SET}","namespace":"default","operation":"UPDATE","userInfo":{{"username":"alice"}},"options":{{"fieldManager":"kubectl"}},"object":{new_text},"oldObject":{old_text}}},"settings":{{"defaultUpdatePolicy":"InPlace","pvcChecks":"Off","shrink":"{shrink}"}}}}"#
    );
    let mut cluster = Cluster {
        set: old_text,
        claims: recover,
        sibling: false,
        of_pod: Vec::new(),
    };
    let answer: Option<Value> = serde_json::from_slice(&wire::validate(payload.as_bytes(), &mut cluster)).ok();
    let answer = answer.filter(|answer| answer["accepted"] == Value::Bool(true));
    let answer = answer.ok_or(Cause::Webhook)?;
    let stored = match answer.get("mutated_object") {
        Some(object) => read_set(object, new).ok_or(Cause::Webhook)?,
        None => *new,
    };
    // F1: without a policy that puts the templates back the API server refuses.
    if stored.live == old.live {
        Ok(stored)
    } else {
        Err(Cause::Immutable)
    }
}

/// The set as an API server writes it.
fn set_text(names: &mut Names, spec: &SetSpec, owned: bool) -> String {
    let mut annotations: Vec<String> = Vec::new();
    let mut annotate = |key: &str, value: &str| {
        annotations.push(format!("{}:{}", Value::from(key), Value::from(value)));
    };
    if let Some(change) = &spec.staged {
        annotate(keys::STAGED, &staged_text(names, change));
    }
    if let Some((target, ordinal)) = &spec.ready {
        annotate(keys::READY, &format!("{}.{ordinal}", names.revision(target)));
    }
    if let Some(policy) = spec.policy {
        annotate(keys::UPDATE_POLICY, policy.as_str());
    }
    if spec.paused {
        annotate(keys::PAUSED, "true");
    }
    if spec.asynchronous {
        annotate(keys::SYNC, "Async");
    }
    if let Some(withdraw) = &spec.withdraw {
        annotate(keys::WITHDRAW, names.revision(withdraw).as_str());
    }
    let owner = if owned {
        r#","ownerReferences":[{"apiVersion":"v1","kind":"Operator","name":"o","uid":"o","controller":true}]"#
    } else {
        ""
    };
    let strategy = if spec.on_delete {
        r#"{"type":"OnDelete"}"#.to_owned()
    } else {
        format!(
            r#"{{"type":"RollingUpdate","rollingUpdate":{{"partition":{}}}}}"#,
            spec.partition
        )
    };
    format!(
        r#"{{"apiVersion":"apps/v1","kind":"StatefulSet","metadata":{{"name":"{SET}","namespace":"default","uid":"u1","resourceVersion":"1","annotations":{{{}}}{owner}}},"spec":{{"replicas":{},"selector":{{"matchLabels":{{"app":"{SET}"}}}},"serviceName":"{SET}","updateStrategy":{strategy},"template":{{"spec":{{"containers":[{{"image":"i:{}"}}]}}}},"volumeClaimTemplates":{}}},"status":{{}}}}"#,
        annotations.join(","),
        spec.replicas,
        spec.image,
        names::text(&spec.live),
    )
}

fn staged_text(names: &mut Names, change: &StagedChange) -> String {
    let change = templates::StagedChange {
        by: "alice".to_owned(),
        manager: "kubectl".to_owned(),
        phase: change.phase(),
        templates: names.templates(&change.target),
        uid: format!("u{}", change.uid),
        update_policy: change.policy,
    };
    change.write().unwrap_or_default()
}

/// What of a set the policy may have edited; the rest is as it was asked for.
fn read_set(object: &Value, asked: &SetSpec) -> Option<SetSpec> {
    let annotation = |key: &str| object["metadata"]["annotations"][key].as_str();
    let staged = annotation(keys::STAGED).and_then(read_staged);
    let live = ClaimTemplate::read_list(&object["spec"]["volumeClaimTemplates"].to_string()).ok()?;
    Some(SetSpec {
        staged,
        ready: asked.ready.filter(|_| annotation(keys::READY).is_some()),
        policy: annotation(keys::UPDATE_POLICY).and_then(|policy| policy.parse().ok()),
        paused: annotation(keys::PAUSED) == Some("true"),
        asynchronous: annotation(keys::SYNC) == Some("Async"),
        withdraw: asked.withdraw.filter(|_| annotation(keys::WITHDRAW).is_some()),
        live: names::target(&live),
        ..*asked
    })
}

fn read_staged(text: &str) -> Option<StagedChange> {
    let of = |uid: Uid| {
        let change = templates::StagedChange::read(text, &format!("u{uid}")).ok()?;
        Some(StagedChange {
            target: names::target(&change.templates),
            complete: change.phase == templates::Phase::Complete,
            policy: change.update_policy,
            uid,
        })
    };
    of(1).or_else(|| of(2))
}

fn ask_new_claim(
    names: &mut Names,
    set: String,
    (template, ordinal): (usize, usize),
    sibling: bool,
    asked: Claim,
) -> Claim {
    let name = claim_name(slot(template, ordinal));
    let want = super::objects::Want {
        size: asked.request,
        class: asked.class,
        tier: asked.tier,
    };
    let of_template = names::text(&Target::of(&[want]));
    let Ok(mut object) = serde_json::from_str::<Vec<Value>>(&of_template).map(|mut list| list.remove(0)) else {
        return asked;
    };
    object["apiVersion"] = "v1".into();
    object["kind"] = "PersistentVolumeClaim".into();
    object["metadata"]["name"] = name.clone().into();
    object["metadata"]["namespace"] = "default".into();
    object["metadata"]["labels"]["app"] = SET.into();
    let payload = format!(
        r#"{{"request":{{"uid":"r","kind":{{"group":"","version":"v1","kind":"PersistentVolumeClaim"}},"resource":{{"group":"","version":"v1","resource":"persistentvolumeclaims"}},"name":"{name}","namespace":"default","operation":"CREATE","userInfo":{{"username":"system:serviceaccount:kube-system:statefulset-controller"}},"object":{object}}},"settings":{{}}}}"#
    );
    debug_assert!(TEMPLATE.len() > template);
    let mut cluster = Cluster {
        set,
        claims: None,
        sibling,
        of_pod: Vec::new(),
    };
    let answer: Option<Value> = serde_json::from_slice(&wire::validate(payload.as_bytes(), &mut cluster)).ok();
    let Some(created) = answer.as_ref().and_then(|answer| answer.get("mutated_object")) else {
        return asked;
    };
    let labels = &created["metadata"]["labels"];
    let storage = created["spec"]["resources"]["requests"]["storage"].as_str();
    let storage = storage.and_then(|text| text.parse::<Quantity>().ok());
    Claim {
        request: storage.map_or(asked.request, |storage| whole_gi(&storage)),
        class: number(created["spec"]["volumeAttributesClassName"].as_str(), "class-"),
        tier: number(labels[TIER].as_str(), "t"),
        revision: labels[keys::REVISION]
            .as_str()
            .and_then(|revision| names.target(revision)),
        ..asked
    }
}
