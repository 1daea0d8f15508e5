//! The words of a case that is a text: changes of an object, and what is around a request.

use claim_rollout::admission::settings::NAMES;
use claim_rollout::templates::{Phase, UpdatePolicy};
use serde_json::{Value, json};

use super::case::{Case, create, creation, delete, deletion, update};
use super::objects::{
    Object, SET_CONTROLLER, UID, access, attributes_class, claim, claims, pod, put, remove, storage_class, web,
};

/// Names for parts of a StatefulSet, of a PVC and of a Pod.
const PARTS: [(&str, &str); 11] = [
    ("asks", "/spec/resources/requests/storage"),
    ("capacity", "/status/capacity/storage"),
    ("data", "/spec/volumeClaimTemplates/0"),
    ("logs", "/spec/volumeClaimTemplates/1"),
    ("mode", "/spec/volumeMode"),
    ("owners", "/metadata/ownerReferences"),
    ("partition", "/spec/updateStrategy/rollingUpdate/partition"),
    ("policy", "/metadata/annotations/claim-rollout.io~1update-policy"),
    ("replicas", "/spec/replicas"),
    ("revision", "/metadata/labels/claim-rollout.io~1revision"),
    ("size", "/spec/volumeClaimTemplates/0/spec/resources/requests/storage"),
];

/// The parts of a text between these separators, but for those in quotes and brackets.
pub(super) fn split<'t>(text: &'t str, separator: &str) -> Vec<&'t str> {
    let (mut parts, mut begin, mut depth, mut quoted) = (Vec::new(), 0, 0, false);
    let mut characters = text.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '\\' if quoted => _ = characters.next(),
            '"' => quoted = !quoted,
            _ if quoted => {}
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            _ if depth == 0 && text[at..].starts_with(separator) => {
                parts.push(text[begin..at].trim());
                begin = at + separator.len();
            }
            _ => {}
        }
    }
    parts.push(text[begin..].trim());
    parts
}

/// The phrases of a list; none if it is empty.
fn phrases(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let phrases = split(text, ",").into_iter().filter(|phrase| !phrase.is_empty());
    phrases.map(|phrase| phrase.split_once(' ').unwrap_or((phrase, "")))
}

/// What is between the brackets.
pub(super) fn inside(text: &str) -> Result<&str, String> {
    let inner = text.trim().strip_prefix('(').and_then(|text| text.strip_suffix(')'));
    inner.ok_or_else(|| format!("expected brackets, but found {text:?}"))
}

/// JSON, a character that is repeated, or else the text itself.
fn value(text: &str) -> Value {
    let repeated = text
        .split_once('*')
        .and_then(|(one, count)| Some(one.repeat(count.parse().ok()?)));
    let plain = || repeated.map_or_else(|| Value::from(text), Value::from);
    serde_json::from_str(text).unwrap_or_else(|_| plain())
}

/// The value as a text.
fn text(text: &str) -> String {
    value(text).as_str().map_or_else(|| text.to_owned(), str::to_owned)
}

/// The pointer that a word stands for.
fn pointer(word: &str) -> Option<String> {
    if word.starts_with('/') {
        return Some(word.to_owned());
    }
    if let Some(key) = word.strip_prefix('@') {
        return Some(format!("/metadata/annotations/claim-rollout.io~1{key}"));
    }
    let (name, rest) = word.split_at(word.find('/').unwrap_or(word.len()));
    let (_, part) = PARTS.iter().find(|(part, _)| *part == name)?;
    Some(format!("{part}{rest}"))
}

/// The request for this row, about these objects.
pub(super) fn of_objects(row: &'static str, sentence: &str, text: &str) -> Result<Case, String> {
    if let [old, new] = *split(text, "->") {
        let old = changed(web(), old)?;
        return Ok(update(row, sentence, &old, &changed(old.clone(), new)?));
    }
    let (kind, rest) = text.split_once(' ').unwrap_or((text, ""));
    let (name, words) = rest.split_once(',').unwrap_or((rest, ""));
    Ok(match kind {
        "create" => create(row, sentence, &changed(web(), rest)?),
        "delete" => delete(row, sentence, &changed(web(), rest)?),
        "claim" => creation(row, sentence, SET_CONTROLLER, &changed(claim(name), words)?),
        "pod" => deletion(row, sentence, &changed(pod(number(name)?), words)?),
        "scale" => scaled(row, sentence, rest)?,
        _ => {
            return Err(format!(
                "expected old -> new, create, delete, claim, pod or scale, but found {text:?}"
            ));
        }
    })
}

/// A request for the subresource `scale`; `replicas 1` changes it.
fn scaled(row: &'static str, sentence: &str, words: &str) -> Result<Case, String> {
    let old = Object(json!({"apiVersion": "autoscaling/v1", "kind": "Scale",
        "metadata": {"name": "web", "namespace": "shop", "uid": UID}, "spec": {"replicas": 3}, "status": {"replicas": 3}}));
    let case = update(row, sentence, &old, &changed(old.clone(), words)?);
    let case = case
        .of_kind("autoscaling", "v1", "Scale", "scales")
        .asking("/subResource", "scale");
    Ok(case.asking(
        "/resource",
        json!({"group": "apps", "version": "v1", "resource": "statefulsets"}),
    ))
}

fn number(text: &str) -> Result<u32, String> {
    text.parse()
        .map_err(|_| format!("expected a number, but found {text:?}"))
}

/// The object with these changes.
pub(super) fn changed(mut object: Object, words: &str) -> Result<Object, String> {
    for (word, rest) in phrases(words) {
        object = change(object, word, rest)?;
    }
    Ok(object)
}

fn change(mut object: Object, word: &str, rest: &str) -> Result<Object, String> {
    if let Some(pointer) = pointer(word) {
        put(&mut object.0, &pointer, value(rest))?;
        return Ok(object);
    }
    Ok(match word {
        "anew" => web(),
        "image" => object.image(rest),
        "owned" => object.owned(),
        "no" => {
            remove(
                &mut object.0,
                &pointer(rest).ok_or_else(|| format!("no such part: {rest}"))?,
            )?;
            object
        }
        "retention" => {
            let (deleted, scaled) = rest
                .split_once('/')
                .ok_or("expected retention WHENDELETED/WHENSCALED")?;
            object.retention(deleted, scaled)
        }
        "swapped" => {
            let mut templates = object.0["spec"]["volumeClaimTemplates"]
                .as_array()
                .cloned()
                .unwrap_or_default();
            templates.swap(0, 1);
            object.with("/spec/volumeClaimTemplates", templates)
        }
        "template" => {
            let (name, size) = rest.split_once(' ').ok_or("expected template NAME SIZE")?;
            let mut template = web().0["spec"]["volumeClaimTemplates"][0].clone();
            put(&mut template, "/metadata/name", name.into())?;
            put(&mut template, "/spec/resources/requests/storage", size.into())?;
            object.with("/spec/volumeClaimTemplates/-", template)
        }
        "staged" => staged(object, rest)?,
        "applied" => {
            let templates = &changed(web(), inside(rest)?)?.0["spec"]["volumeClaimTemplates"];
            let manifest = json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "web"},
                "spec": {"replicas": 3, "volumeClaimTemplates": templates}});
            let key = "/metadata/annotations/kubectl.kubernetes.io~1last-applied-configuration";
            object.with(key, manifest.to_string())
        }
        "managed" => managed(object, rest)?,
        _ => return Err(format!("no such change: {word}")),
    })
}

/// `staged (size 20Gi)`, `staged OnClaimDelete (…)`, `staged Complete (…)`.
fn staged(object: Object, rest: &str) -> Result<Object, String> {
    let (policy, rest) = match rest.split_once(' ') {
        Some(("OnClaimDelete", rest)) => (UpdatePolicy::OnClaimDelete, rest),
        _ => (UpdatePolicy::InPlace, rest),
    };
    let (phase, rest) = match rest.split_once(' ') {
        Some(("Complete", rest)) => (Phase::Complete, rest),
        _ => (Phase::RollingOut, rest),
    };
    let target = changed(web(), inside(rest)?)?;
    Ok(object.staged_change(&target, policy, phase))
}

/// `managed helm Apply 1 {…}`: the fields that this manager owns, since this time.
fn managed(object: Object, rest: &str) -> Result<Object, String> {
    let [manager, operation, time, fields] = *rest.splitn(4, ' ').collect::<Vec<_>>() else {
        return Err("expected managed MANAGER OPERATION TIME FIELDS".to_owned());
    };
    let entries = json!([
        {"manager": "kube-controller-manager", "operation": "Update", "subresource": "status", "fieldsV1": {"f:status": {}}},
        {"manager": manager, "operation": operation, "apiVersion": "apps/v1", "fieldsType": "FieldsV1",
            "fieldsV1": value(fields), "time": time},
    ]);
    Ok(object.with("/metadata/managedFields", entries))
}

/// The case with this request, these settings and this cluster.
pub(super) fn surrounded(mut case: Case, text: &str) -> Result<Case, String> {
    for (word, rest) in phrases(text) {
        case = surround(case, word, rest)?;
    }
    Ok(case)
}

fn surround(mut case: Case, word: &str, rest: &str) -> Result<Case, String> {
    Ok(match word {
        "by" => case.by(&text(rest)),
        "manager" => case.manager(&text(rest)),
        "dry-run" => case.asking("/dryRun", true),
        "kind" => {
            let [version, kind, resource] = *rest.split(' ').collect::<Vec<_>>() else {
                return Err("expected kind GROUP/VERSION KIND RESOURCE".to_owned());
            };
            let (group, version) = version.split_once('/').ok_or("expected GROUP/VERSION")?;
            case.of_kind(group, version, kind, resource)
        }
        "both" => {
            let [old, new] = ["oldObject", "object"].map(|which| case.request[which].clone());
            let one = if old.is_null() { new } else { old };
            case.asking("/object", one.clone()).asking("/oldObject", one)
        }
        "kruise" => case.of_kind("apps.kruise.io", "v1beta1", "StatefulSet", "statefulsets"),
        "shipped" => case.shipped(),
        "nothing-granted" => case.nothing_granted(),
        "in" => case.cluster(cluster(inside(rest)?)?),
        "no" => {
            remove(&mut case.request, rest)?;
            case
        }
        "subresource" => case.asking("/subResource", rest),
        pointer if pointer.starts_with('/') => {
            put(&mut case.request, pointer, value(rest))?;
            case
        }
        name if NAMES.contains(&name) => case.settings(json!({name: value(rest)})),
        _ => return Err(format!("no such setting, and no such part of a request: {word}")),
    })
}

/// The objects of a cluster.
fn cluster(text: &str) -> Result<Vec<Value>, String> {
    let mut objects = Vec::new();
    for (word, rest) in phrases(text) {
        let (name, more) = rest.split_once(' ').unwrap_or((rest, ""));
        match word {
            "web" if rest.is_empty() => objects.push(web().0),
            "web" => objects.push(changed(web(), inside(rest)?)?.0),
            "claims" if rest.is_empty() => objects.extend(claims()),
            "claims" => {
                for one in claims() {
                    objects.push(changed(Object(one), inside(rest)?)?.0);
                }
            }
            "claim" if more.is_empty() => objects.push(claim(name).0),
            "claim" => objects.push(changed(claim(name), inside(more)?)?.0),
            "class" => objects.push(storage_class(name, value(more))),
            "attributes-class" => objects.push(attributes_class(name, more)),
            "object" => objects.push(value(rest)),
            user if rest == "may" => objects.push(access(user, true)),
            user if rest == "may-not" => objects.push(access(user, false)),
            _ => return Err(format!("no such object: {word}")),
        }
    }
    Ok(objects)
}
