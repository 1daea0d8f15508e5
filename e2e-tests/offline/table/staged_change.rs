//! The edits of an answer in words, and checks of the written formats (docs/dev/fields.md).

use claim_rollout::templates::{Quantity, StagedChange, Staging};
use serde_json::{Map, Value};

use super::case::Case;
use super::changes::{Change, changes, ensure};
use super::objects::STAGING;

/// The edits from the object of the request to the mutated one.
pub(super) fn edits(case: &Case, mutated: &Value, json: &Value) -> Result<Vec<String>, String> {
    let object = &case.request["object"];
    let words = changes(object, mutated)
        .iter()
        .map(|change| edit(case, change, json))
        .collect::<Result<Vec<String>, String>>()?;
    let Some(staged) = words.iter().find_map(|word| word.strip_prefix("staged:")) else {
        return Ok(words);
    };
    let begins = begins_beside(mutated, staged);
    ensure(begins, "a new staged change has its phase, and no ready replica")?;
    let phase = |word: &String| word.starts_with("phase=");
    Ok(words.into_iter().filter(|word| !phase(word)).collect())
}

/// Whether the annotations beside a new staged change are those of its policy.
fn begins_beside(set: &Value, staged: &str) -> bool {
    let annotations = &set["metadata"]["annotations"];
    let phase = if staged.starts_with("OnClaimDelete") {
        "Staged"
    } else {
        "RollingOut"
    };
    annotations["claim-rollout.io/phase"] == phase && annotations["claim-rollout.io/ready"].is_null()
}

fn edit(case: &Case, change: &Change<'_>, json: &Value) -> Result<String, String> {
    let (old, object) = (&case.request["oldObject"], &case.request["object"]);
    let path: Vec<&str> = change.path.iter().map(String::as_str).collect();
    let text = change
        .after
        .map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned));
    let key = path.last().copied().unwrap_or_default();
    let written = |kind: &str| match &text {
        Some(value) => format!("{kind}{key}={value}"),
        None => format!("-{kind}{key}"),
    };
    Ok(match (&*path, &text) {
        (["spec", "volumeClaimTemplates"], _) => {
            let before = old["spec"].get("volumeClaimTemplates");
            if before.is_some() && change.after == before {
                return Ok("templates".to_owned());
            }
            let of = if old.is_null() { &case.request["object"] } else { old };
            let staged = of["metadata"]["annotations"]["claim-rollout.io/staged"].as_str();
            let staged: Value = serde_json::from_str(staged.unwrap_or_default()).map_err(|error| error.to_string())?;
            ensure(
                change.after == staged.get("templates"),
                "the templates are the old ones or the staged ones",
            )?;
            "restored".to_owned()
        }
        (["metadata", "annotations", "claim-rollout.io/staged"], Some(text)) => staged(case, text, json)?,
        (["metadata", "annotations", "claim-rollout.io/staged"], None) => "-staged".to_owned(),
        (["metadata", "annotations", "claim-rollout.io/withdraw"], None) => "-withdraw".to_owned(),
        (["metadata", "annotations", "claim-rollout.io/phase"], None) => "-phase".to_owned(),
        (["metadata", "annotations", "claim-rollout.io/phase"], Some(phase)) => format!("phase={phase}"),
        (["metadata", "annotations", "claim-rollout.io/ready"], None) => "-ready".to_owned(),
        (["metadata", "annotations", "claim-rollout.io/ready"], Some(ready)) => format!("ready={ready}"),
        (["metadata", "annotations", "claim-rollout.io/staged-at"], None) => "-staged-at".to_owned(),
        (["metadata", "annotations", "claim-rollout.io/staged-at"], Some(at)) => format!("staged-at={at}"),
        (["metadata", "annotations", _], _) => written("annotation:"),
        (["metadata", "labels", "claim-rollout.io/revision"], Some(label)) => {
            let staging = label.strip_prefix(json["audit_annotations"]["revision"].as_str().unwrap_or_default());
            ensure(
                staging == Some(&format!(".{STAGING}")),
                "the label has the revision of the audit log, and the staging of the staged change",
            )?;
            "revision".to_owned()
        }
        (["metadata", "labels", _], _) => written("label:"),
        (["metadata", "finalizers"], _) => without_ours(object, change)?,
        (["spec", "updateStrategy", "rollingUpdate", "partition"], _) if change.after.is_none_or(Value::is_null) => {
            "-partition".to_owned()
        }
        (["spec", "resources", "requests", "storage"], Some(value)) => format!("storage={value}"),
        (["spec", "volumeAttributesClassName"], Some(value)) => format!("class={value}"),
        (["spec", "accessModes" | "storageClassName" | "volumeMode"], _) => written("spec:"),
        _ => format!("!{}", change.path()),
    })
}

/// The finalizers but ours.
fn without_ours(object: &Value, change: &Change<'_>) -> Result<String, String> {
    let before = object["metadata"]["finalizers"].as_array().into_iter().flatten();
    let others: Vec<&Value> = before.filter(|one| *one != "claim-rollout.io/replacing").collect();
    ensure(
        change.after == Some(&serde_json::json!(others)),
        "the other finalizers stay",
    )?;
    Ok("-finalizer".to_owned())
}

/// The replicas of a StatefulSet, as far as the API server accepts them.
fn replicas(set: &Value) -> Option<u32> {
    let replicas = set["spec"].get("replicas").map_or(Some(1), Value::as_i64)?;
    i32::try_from(replicas).ok()?.try_into().ok()
}

/// A written staged change: the previous one, or one with the requested templates.
fn staged(case: &Case, text: &str, json: &Value) -> Result<String, String> {
    let old = &case.request["oldObject"];
    if old["metadata"]["annotations"]["claim-rollout.io/staged"] == *text {
        return Ok("kept".to_owned());
    }
    let change: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let uid = old["metadata"]["uid"].as_str().unwrap_or_default();
    let read = StagedChange::read(text, uid).map_err(|error| error.to_string())?;
    // Absent where there are none.
    let fields = change.as_object().into_iter().flat_map(|fields| fields.keys());
    let fields: Vec<&String> = fields.filter(|field| *field != "replicas").collect();
    let known = [
        "by",
        "manager",
        "phase",
        "revision",
        "staging",
        "templates",
        "uid",
        "updatePolicy",
        "version",
    ];
    let manager = case.request["options"].get("fieldManager").and_then(Value::as_str);
    let most = replicas(old).zip(replicas(&case.request["object"]));
    let version = old["metadata"]["resourceVersion"].as_str().unwrap_or_default();
    let canonical = change.to_string();
    let is_new = change["phase"] == "RollingOut" && change["version"] == 1;
    let has_replicas = most.is_none_or(|(old, new)| read.replicas == old.max(new));
    let is_logged = json["audit_annotations"]["revision"] == read.revision().as_str();
    for (holds, what) in [
        (fields == known, "a staged change has these fields"),
        (canonical == text, "a staged change is canonical JSON"),
        (text.len() <= 8192, "a staged change has at most 8 KiB"),
        (
            change["by"] == case.request["userInfo"]["username"],
            "a staged change names the user",
        ),
        (
            change["manager"] == manager.unwrap_or_default(),
            "a staged change names the field manager",
        ),
        (is_new, "a new staged change has a phase"),
        (has_replicas, "a staged change has the replicas"),
        (is_logged, "the audit log has the revision"),
        (
            read.staging == Staging::of(uid, version, &read.revision()),
            "a new staged change is another staging",
        ),
    ] {
        ensure(holds, what)?;
    }
    let policy = change["updatePolicy"].as_str().unwrap_or_default();
    let asked = in_order_of(
        &old["spec"]["volumeClaimTemplates"],
        &case.request["object"]["spec"]["volumeClaimTemplates"],
    );
    if same(&change["templates"], &asked) {
        return Ok(format!("staged:{policy}"));
    }
    let templates = change["templates"].as_array().into_iter().flatten();
    let briefly: Vec<String> = templates.map(brief).collect();
    Ok(format!("staged:{policy}[{}]", briefly.join(",")))
}

/// `data=20Gi+tier:a`
fn brief(template: &Value) -> String {
    let labels = template["metadata"]["labels"].as_object().into_iter().flatten();
    let labels: String = labels
        .map(|(key, value)| format!("+{key}:{}", value.as_str().unwrap_or_default()))
        .collect();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let size = text(&template["spec"]["resources"]["requests"]["storage"]);
    format!("{}={size}{labels}", text(&template["metadata"]["name"]))
}

fn in_order_of(live: &Value, asked: &Value) -> Value {
    let place = |template: &Value| {
        let live = live.as_array().into_iter().flatten();
        live.into_iter()
            .position(|one| one["metadata"]["name"] == template["metadata"]["name"])
    };
    let mut ordered: Vec<Value> = asked.as_array().into_iter().flatten().map(bare).collect();
    ordered.sort_by_key(place);
    Value::Array(ordered)
}

/// A template without the fields that the API server adds.
fn bare(template: &Value) -> Value {
    let mut bare = template.clone();
    for key in ["apiVersion", "kind", "status"] {
        bare.as_object_mut().map(|fields| fields.remove(key));
    }
    if let Some(metadata) = bare["metadata"].as_object_mut() {
        metadata.remove("creationTimestamp");
    }
    if bare["spec"]["volumeMode"] == "Filesystem" {
        bare["spec"].as_object_mut().map(|spec| spec.remove("volumeMode"));
    }
    if let Some(fields) = bare.as_object_mut() {
        prune(fields);
    }
    bare
}

/// Removes values that equal an absent field: `null`, and empty lists and maps that are no pointers in the API.
fn prune(fields: &mut Map<String, Value>) {
    fields.values_mut().filter_map(Value::as_object_mut).for_each(prune);
    let is_pointer = |key: &str| ["selector", "dataSource", "dataSourceRef"].contains(&key);
    fields.retain(|key, value| match value {
        Value::Null => false,
        Value::Object(inner) => !inner.is_empty() || is_pointer(key),
        Value::Array(items) => !items.is_empty(),
        _ => true,
    });
}

/// Equal, quantities by amount.
fn same(recorded: &Value, asked: &Value) -> bool {
    let amount = |value: Option<&Value>| {
        value
            .and_then(Value::as_str)
            .and_then(|text| text.parse::<Quantity>().ok())
    };
    let (recorded, asked) = (recorded.as_array(), asked.as_array());
    let (Some(recorded), Some(asked)) = (recorded, asked) else {
        return false;
    };
    recorded.len() == asked.len()
        && recorded.iter().zip(asked).all(|(recorded, asked)| {
            changes(recorded, asked).iter().all(|change| {
                let is_amount = matches!(&*change.path, [_, field, ..] if field == "resources");
                is_amount && amount(change.before).is_some() && amount(change.before) == amount(change.after)
            })
        })
}
