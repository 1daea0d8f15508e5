//! A set `web` of three replicas with one template `data` of 1Gi, the objects that a plan reads, and the words of the
//! tables, which change them.

use std::collections::BTreeMap;

use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::super::{Decider, Inputs, PlanTarget, report};
use crate::api::Seconds;
use crate::cli::plan::overlay::set_last_applied;
use crate::cli::plan::report::PlanReport;
use crate::cli::plan::request::{KUBECTL, RequestAnswer};
use crate::cli::plan::unreadable::sift;
use crate::cli::recorded::Recorded;
use crate::controller::ClassLimits;
use crate::rollout::fixtures::staged_change;
use crate::templates::{ClaimTemplate, StagedChange};

/// A set `web` of three replicas of 1Gi in a class that expands, and everything around it.
pub(super) struct PlanWorld {
    objects: Vec<Value>,
    settings: Value,
    manager: &'static str,
    /// A kind that may not be read.
    unreadable: Option<&'static str>,
    /// The limits of storage classes.
    limits: BTreeMap<String, ClassLimits>,
    decider: Decider,
}

/// 2026-11-23T12:00:00Z
const NOON: Seconds = 1_795_435_200;

fn template(size: &str) -> Value {
    json!({
        "metadata": {"name": "data"},
        "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "fast", "resources": {"requests": {"storage": size}}},
    })
}

/// The manifest of the user.
pub(super) fn manifest(size: &str, image: &str) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "StatefulSet",
        "metadata": {"name": "web", "annotations": {"claim-rollout.io/update-policy": "InPlace"}},
        "spec": {
            "replicas": 3, "serviceName": "web", "selector": {"matchLabels": {"app": "web"}},
            "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "main", "image": image}]}},
            "volumeClaimTemplates": [template(size)],
        },
    })
}

/// The set as the API server stores it.
fn live() -> Value {
    let mut set = manifest("1Gi", "m:1");
    let applied = set.clone();
    set["metadata"]["namespace"] = json!("shop");
    set["metadata"]["uid"] = json!("set-uid");
    set["metadata"]["resourceVersion"] = json!("7");
    set["metadata"]["generation"] = json!(1);
    set["spec"]["updateStrategy"] = json!({"type": "RollingUpdate", "rollingUpdate": {"partition": 0}});
    set["spec"]["podManagementPolicy"] = json!("OrderedReady");
    set["spec"]["volumeClaimTemplates"][0]["spec"]["volumeMode"] = json!("Filesystem");
    set["status"] = json!({"observedGeneration": 1, "updateRevision": "web-1"});
    set_last_applied(&mut set, &applied);
    set
}

fn claim(name: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": "shop", "uid": format!("{name}-uid"), "resourceVersion": "5", "labels": {"app": "web"}},
        "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "fast", "volumeMode": "Filesystem", "resources": {"requests": {"storage": "1Gi"}}},
        "status": {"phase": "Bound", "capacity": {"storage": "1Gi"}},
    })
}

fn pod(ordinal: u32) -> Value {
    let claim = format!("data-web-{ordinal}");
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "name": format!("web-{ordinal}"), "namespace": "shop", "labels": {"controller-revision-hash": "web-1"},
            "ownerReferences": [{"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "web", "uid": "set-uid", "controller": true}],
        },
        "spec": {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": claim}}]},
        "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]},
    })
}

fn allowed(yes: bool) -> Value {
    json!({
        "apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
        "spec": {"user": "alice", "resourceAttributes": {"namespace": "shop", "verb": "patch", "resource": "persistentvolumeclaims"}},
        "status": {"allowed": yes},
    })
}

fn class() -> Value {
    json!({
        "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "fast"},
        "provisioner": "csi.example.com", "allowVolumeExpansion": true,
    })
}

/// A quota: its name, what it counts, how much, and how much is used.
fn quota(name: &str, resource: &str, hard: &str, used: &str) -> Value {
    let (hard, used) = (json!({resource: hard}), json!({resource: used}));
    json!({
        "apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": name, "namespace": "shop"},
        "spec": {"hard": hard}, "status": {"hard": hard, "used": used},
    })
}

/// An object of the namespace with nothing but its kind and its name.
fn bare(version: &str, kind: &str, name: &str) -> Value {
    json!({"apiVersion": version, "kind": kind, "metadata": {"namespace": "shop", "name": name}})
}

/// Sets the value at a JSON pointer. A value that is no JSON is a string.
fn write(object: &mut Value, pointer: &str, value: &str) {
    let field = pointer[1..].split('/').fold(object, |object, key| match object {
        Value::Array(list) => &mut list[key.parse::<usize>().expect("an index")],
        object => &mut object[key],
    });
    *field = serde_json::from_str(value).unwrap_or_else(|_| value.into());
}

/// Sets an annotation of the domain claim-rollout.io.
fn annotate(set: &mut Value, key: &str, value: &str) {
    set["metadata"]["annotations"][format!("claim-rollout.io/{key}")] = value.into();
}

/// The manifest of these words: its size and its image, then changes of it. None without words.
pub(super) fn manifest_of(text: &str) -> Option<Value> {
    let mut words = text.split("; ");
    let (size, image) = words.next()?.split_once(' ')?;
    let mut manifest = manifest(size, image);
    for word in words {
        match word.split_once(' ') {
            Some((pointer, value)) if pointer.starts_with('/') => write(&mut manifest, pointer, value),
            Some((key, value)) if let Some(key) = key.strip_prefix('@') => annotate(&mut manifest, key, value),
            Some(("replicas", number)) => write(&mut manifest, "/spec/replicas", number),
            Some(("class", class)) => {
                write(
                    &mut manifest,
                    "/spec/volumeClaimTemplates/0/spec/storageClassName",
                    class,
                );
            }
            _ if word == "plain" => manifest["metadata"]["annotations"] = json!({}),
            _ if word == "renamed" => write(&mut manifest, "/spec/volumeClaimTemplates/0/metadata/name", "store"),
            _ if word == "another" => {
                let mut template = template(size);
                template["metadata"]["name"] = json!("logs");
                let templates = manifest["spec"]["volumeClaimTemplates"].as_array_mut();
                templates.expect("a list").push(template);
            }
            _ => panic!("{word:?} is no word of a manifest"),
        }
    }
    Some(manifest)
}

impl PlanWorld {
    pub(super) fn new() -> Self {
        let mut objects = vec![allowed(true), class(), live()];
        for ordinal in 0..3 {
            objects.push(claim(&format!("data-web-{ordinal}")));
            objects.push(pod(ordinal));
        }
        Self {
            objects,
            settings: json!({}),
            manager: KUBECTL,
            unreadable: None,
            limits: BTreeMap::new(),
            decider: Decider::Here("no cluster".to_owned()),
        }
    }

    /// The world with what the words stand for, one after the other.
    pub(super) fn of(text: &str) -> Self {
        let mut world = Self::new();
        for word in text.split("; ").filter(|word| !word.is_empty()) {
            let (name, rest) = word.split_once(' ').unwrap_or((word, ""));
            match name {
                "set" | "class" | "web-0" | "web-1" | "web-2" | "data-web-1" | "data-web-2" => {
                    let (pointer, value) = rest.split_once(' ').expect(word);
                    write(world.object(name), pointer, value);
                }
                "no" => world.take_out(rest),
                "unread" => world.hide(rest),
                "more" => world.add(rest),
                "settings" => world.set_up(rest),
                "answer" => world.answer(rest),
                _ => world.act(name, rest),
            }
        }
        world
    }

    fn act(&mut self, name: &str, rest: &str) {
        match name {
            "staged" => self.stage(rest),
            "written" => self.written(rest),
            "asked" => {
                self.stage("2Gi");
                annotate(self.object("set"), "replace-set", "WhenComplete");
                for ordinal in 0..3 {
                    self.object(&format!("web-{ordinal}"))["metadata"]["labels"]["app"] = json!("web");
                }
            }
            "forbidden" => self.objects[0] = allowed(false),
            "helm" => self.manager = "helm",
            "modified" => {
                let (claim, times) = rest.split_once(' ').expect("times");
                annotate(self.object(claim), "modified", times);
            }
            "budget" => {
                let limits = ClassLimits {
                    per_day: rest.parse().ok(),
                    at_once: None,
                };
                self.limits.insert("fast".to_owned(), limits);
            }
            _ if name.starts_with('@') => annotate(self.object("set"), &name[1..], rest),
            _ => panic!("{name:?} is no word of the world"),
        }
    }

    fn take_out(&mut self, what: &str) {
        let is_it = |object: &Value| object["kind"] == what || object["metadata"]["name"] == what;
        self.objects.retain(|object| !is_it(object));
    }

    /// Objects of this kind may not be read.
    fn hide(&mut self, kind: &str) {
        self.unreadable = ["Pod", "ResourceQuota"].into_iter().find(|known| *known == kind);
    }

    fn add(&mut self, what: &str) {
        let words: Vec<&str> = what.splitn(4, ' ').collect();
        self.objects.push(match words[..] {
            ["claim", name] => claim(name),
            ["storage", hard, used] => quota("storage", "requests.storage", hard, used),
            ["sets", hard, used] => quota("sets", "count/statefulsets.apps", hard, used),
            [kind, name, pointer, value] => {
                let version = if kind == "StatefulSet" { "apps/v1" } else { "v1" };
                let mut object = bare(version, kind, name);
                write(&mut object, pointer, value);
                object
            }
            _ => panic!("{what:?} is no object"),
        });
    }

    fn set_up(&mut self, settings: &str) {
        for setting in settings.split(", ") {
            let (name, value) = setting.split_once('=').expect("a setting");
            write(&mut self.settings, &format!("/{name}"), value);
        }
    }

    /// What the API server answers: the set as it is, or as it would be staged, or why it denies the request.
    fn answer(&mut self, what: &str) {
        let stored = match what {
            "live" => Ok(live()),
            // On this side, neither the settings nor the manifest ask for the update policy.
            "staged" => {
                let mut world = Self::of("staged 2Gi; set /metadata/generation 2");
                let set = world.object("set");
                let annotations = set["metadata"]["annotations"].as_object_mut();
                annotations.expect("a map").remove("claim-rollout.io/update-policy");
                Ok(set.clone())
            }
            why => Err(why.to_owned()),
        };
        let warnings = vec!["of the API server".to_owned()];
        self.decider = Decider::Server(RequestAnswer { stored, warnings });
    }

    fn object(&mut self, name: &str) -> &mut Value {
        let (kind, name) = match name {
            "set" => ("StatefulSet", "web"),
            "class" => ("StorageClass", "fast"),
            claim if claim.starts_with("data-") => ("PersistentVolumeClaim", claim),
            pod => ("Pod", pod),
        };
        let mut objects = self.objects.iter_mut();
        let found = objects.find(|object| object["kind"] == kind && object["metadata"]["name"] == name);
        found.expect("an object of the fixture")
    }

    /// Stages this size, as the policy does; the controller has not started.
    fn stage(&mut self, size: &str) {
        let templates = ClaimTemplate::list_from_value(json!([template(size)])).expect("templates");
        let change = StagedChange {
            manager: KUBECTL.to_owned(),
            ..staged_change(templates)
        };
        annotate(self.object("set"), "staged", &change.write().expect("a staged change"));
        set_last_applied(self.object("set"), &manifest(size, "m:1"));
    }

    /// The claim has been written for the staged change.
    fn written(&mut self, name: &str) {
        let target = self.plan(None).expect("a plan").target.expect("a target");
        let claim = self.object(name);
        claim["metadata"]["labels"]["claim-rollout.io/revision"] = json!(format!("{}.xz245", target.revision));
        write(claim, "/spec/resources/requests/storage", "2Gi");
    }

    pub(super) fn plan(&self, manifest: Option<&Value>) -> anyhow::Result<PlanReport> {
        let list = json!({"kind": "List", "items": self.objects});
        let settings = RawValue::from_string(self.settings.to_string()).expect("JSON");
        let mut state = Recorded::read(&list).expect("a list");
        sift(&mut state);
        if let Some(kind) = self.unreadable {
            state.cannot_read(kind, "forbidden".to_owned());
        }
        let target = PlanTarget {
            namespace: "shop".to_owned(),
            name: "web".to_owned(),
            manifest: manifest.map(|manifest| ("web.yaml".to_owned(), manifest.clone())),
        };
        report(&Inputs {
            target: &target,
            decider: &self.decider,
            state: &state,
            manager: self.manager,
            settings: &settings,
            limits: &self.limits,
            now: NOON,
        })
    }
}
