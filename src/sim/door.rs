//! The door: decision one, asked with the bytes that an API server would send, its answer read from its bytes.

use rustc_hash::FxHashMap;
use serde_json::{Value, json};

use super::api::Cause;
use super::names::{self, Names, SET, TEMPLATE, TIER, number, whole_gi};
use super::objects::{Claim, Claims, Record, SLOTS, Set, SetSpec, Uid, Wish};
use super::snapshot::claim_name;
use crate::admission::{CanI, CannotAsk, Get, Lookups};
use crate::templates::{self, ClaimTemplate, Quantity, keys};
use crate::wire;

/// When so many answers are remembered, they are forgotten.
const MOST: usize = 50_000;

/// The door, and the answers that it gave.
#[derive(Debug, Default)]
pub(crate) struct Door {
    updates: FxHashMap<Update, Result<SetSpec, Cause>>,
    births: FxHashMap<Birth, Claim>,
}

/// A claim that is born: the set, whether another controller owns it, template and ordinal, whether there is a neighbour.
type Birth = (SetSpec, Uid, (usize, usize), bool, Claim);

/// What each claim asks for and has: with `shrink: Recover` the policy looks whether a growth was reached.
type Sizes = [Option<(u8, u8)>; SLOTS];

/// An update: before and after, whether another controller owns the set, and the claims that are looked at.
type Update = (SetSpec, SetSpec, bool, Option<Sizes>);

/// What the cluster answers: the set, its claims, and perhaps its neighbour.
struct Cluster {
    set: String,
    claims: Option<Sizes>,
    neighbour: bool,
}

impl Lookups for Cluster {
    fn can_i(&mut self, _: &CanI<'_>) -> Result<bool, CannotAsk> {
        Ok(true)
    }

    fn get(&mut self, question: &Get<'_>) -> Result<Option<String>, CannotAsk> {
        Ok(match question.name {
            SET => Some(self.set.clone()),
            "a-web" if self.neighbour => {
                let other = r#"{"apiVersion":"apps/v1","kind":"StatefulSet","metadata":{"name":"a-web","namespace":"default","uid":"n"},"spec":{"selector":{"matchLabels":{"app":"a"}},"volumeClaimTemplates":[{"metadata":{"name":"data"},"spec":{}}]}}"#;
                Some(other.to_owned())
            }
            name => self.claim(name),
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
            if let Some(record) = &mut spec.staged {
                record.uid = Uid::from(record.uid != before.uid) + 1;
            }
        }
        let mut new = after;
        if let Some(record) = &mut new.staged {
            record.uid = Uid::from(record.uid != before.uid) + 1;
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
        if let Some(record) = &mut spec.staged {
            record.uid = if record.uid == 1 { before.uid } else { Uid::MAX };
        }
        Ok(spec)
    }

    /// Makes of a claim that is born what the policy makes of it.
    pub(crate) fn birth(
        &mut self,
        names: &mut Names,
        set: &Set,
        (template, ordinal): (usize, usize),
        neighbour: bool,
        claim: &mut Claim,
    ) {
        let mut spec = set.spec;
        let known = set.record().is_some();
        if let Some(record) = &mut spec.staged {
            record.uid = if known { 1 } else { 2 };
        }
        let asked = Claim {
            uid: 0,
            version: 0,
            ..*claim
        };
        let key = (spec, Uid::from(set.owned), (template, ordinal), neighbour, asked);
        let born = match self.births.get(&key) {
            Some(born) => *born,
            None => {
                let text = set_text(names, &spec, set.owned);
                let born = ask_birth(names, text, (template, ordinal), neighbour, asked);
                if self.births.len() >= MOST {
                    self.births.clear();
                }
                self.births.insert(key, born);
                born
            }
        };
        *claim = Claim {
            uid: claim.uid,
            version: claim.version,
            ..born
        };
    }
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
        neighbour: false,
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
    if let Some(record) = &spec.staged {
        annotate(keys::STAGED, &record_text(names, record));
    }
    if let Some(held) = spec.held {
        annotate(keys::HELD_PARTITION, &held.to_string());
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

fn record_text(names: &mut Names, record: &Record) -> String {
    let record = templates::Record {
        by: "alice".to_owned(),
        manager: "kubectl".to_owned(),
        phase: record.phase(),
        templates: names.templates(&record.wish),
        uid: format!("u{}", record.uid),
        update_policy: record.policy,
    };
    record.write().unwrap_or_default()
}

/// What of a set the policy may have edited; the rest is as it was asked for.
fn read_set(object: &Value, asked: &SetSpec) -> Option<SetSpec> {
    let annotation = |key: &str| object["metadata"]["annotations"][key].as_str();
    let staged = annotation(keys::STAGED).and_then(read_record);
    let partition = &object["spec"]["updateStrategy"]["rollingUpdate"]["partition"];
    let live = ClaimTemplate::read_list(&object["spec"]["volumeClaimTemplates"].to_string()).ok()?;
    Some(SetSpec {
        staged,
        held: annotation(keys::HELD_PARTITION).and_then(|held| held.parse().ok()),
        policy: annotation(keys::UPDATE_POLICY).and_then(|policy| policy.parse().ok()),
        paused: annotation(keys::PAUSED) == Some("true"),
        asynchronous: annotation(keys::SYNC) == Some("Async"),
        withdraw: asked.withdraw.filter(|_| annotation(keys::WITHDRAW).is_some()),
        partition: partition
            .as_u64()
            .map_or(asked.partition, |partition| u8::try_from(partition).unwrap_or(u8::MAX)),
        live: names::wish(&live),
        ..*asked
    })
}

fn read_record(text: &str) -> Option<Record> {
    let of = |uid: Uid| {
        let record = templates::Record::read(text, &format!("u{uid}")).ok()?;
        Some(Record {
            wish: names::wish(&record.templates),
            complete: record.phase == templates::Phase::Complete,
            policy: record.update_policy,
            uid,
        })
    };
    of(1).or_else(|| of(2))
}

fn ask_birth(
    names: &mut Names,
    set: String,
    (template, ordinal): (usize, usize),
    neighbour: bool,
    asked: Claim,
) -> Claim {
    let name = claim_name(super::objects::slot(template, ordinal));
    let want = super::objects::Want {
        size: asked.request,
        class: asked.class,
        tier: asked.tier,
    };
    let of_template = names::text(&Wish::of(&[want]));
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
        neighbour,
    };
    let answer: Option<Value> = serde_json::from_slice(&wire::validate(payload.as_bytes(), &mut cluster)).ok();
    let Some(born) = answer.as_ref().and_then(|answer| answer.get("mutated_object")) else {
        return asked;
    };
    let labels = &born["metadata"]["labels"];
    let storage = born["spec"]["resources"]["requests"]["storage"].as_str();
    let storage = storage.and_then(|text| text.parse::<Quantity>().ok());
    Claim {
        request: storage.map_or(asked.request, |storage| whole_gi(&storage)),
        class: number(born["spec"]["volumeAttributesClassName"].as_str(), "class-"),
        tier: number(labels[TIER].as_str(), "t"),
        revision: labels[keys::REVISION]
            .as_str()
            .and_then(|revision| names.wish(revision)),
        ..asked
    }
}
