//! The fields of `-o json`: one description for `status`, `plan`, `drift`, `doctor` and `history`, with one vocabulary.
//!
//! The tests of each command compare what it prints with this description. `version` prints no JSON.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::{Value, json};

use crate::api::{ReadyReason, ReplacementPhase, ReplacementReason};
use crate::gate::ClaimState;
use crate::templates::{Phase, Sync, UpdatePolicy};

/// A PVC, whichever command shows it.
const ROW: &str = "
claims list
  template string
  name string
  ordinal number
  state ClaimState?
  reason string
  message string
";

/// What `status` adds to each PVC, and the other fields.
const STATUS: &str = "  request string
  desired string
  capacity string
  percent number
  attributesClass string?
  revision string?
namespace string
name string
target object?
  revision string
  policy UpdatePolicy
  sync Sync
  staged boolean
  state Reconciling|Stalled|Complete
  reason ReadyReason|
  replicas number
  updated number
  ready number
note string?
pods list
  name string
  ordinal number
  state Waiting|Terminating|Missing|Starting|Updated
complete boolean
stalled boolean
staged string?
replacement object?
  phase ReplacementPhase
  step string?
  reason ReplacementReason?
  message string?
  replicas number?
  since string
awaitsReplacement boolean
";

const PLAN: &str = "  step number?
  action Update|ReCreate|UpToDate|Wait|Create|Blocked|NotReached|Held
  now object?
    storage string
    capacity string?
    storageClass string?
    attributesClass string?
  then object?
    storage string
    storageClass string?
    attributesClass string?
  keys strings?
  podReplaced boolean
  podCreated boolean
  keeps strings?
  obstacles strings?
namespace string
name string
source string?
goesThrough boolean
verdict object?
  outcome Created|Staged|AlreadyStaged|Withdrawn|Unchanged|Refused
  decidedHere string?
  message string?
  warnings strings
target object?
  revision string
  updatePolicy UpdatePolicy
  sync Sync
  idle string?
  reason ReadyReason?
pods KeepRunning|AfterTheirClaims|ByThemselves|WhenDeleted|AfterTheReplacement|NotChecked
replacement object?
  askedBy Annotation|Setting
  preventedBy list
    reason ReplacementReason
    message string
obstacles strings
notes strings
";

const DRIFT: &str = "  differences list
    field string
    wanted string?
    found string?
    note string
namespace string
name string
differences list
  field string
  wanted string?
  found string?
  note string
";

const FINDING: &str = "
severity Error|Warning
subject string
expected string
found string
fix string
";

const HISTORY: &str = "
revision string
number number?
created string?
by string
manager string
phase Phase?
live boolean
current boolean
changes strings
templates objects
";

/// The types of fields, by their paths.
type Fields = BTreeMap<String, &'static str>;

/// The types of the fields in the items of a list, by their paths. A field with `?` may be null or absent.
fn described(list: &str) -> Fields {
    let parts = match list {
        "StatusList" => [ROW, STATUS],
        "PlanList" => [ROW, PLAN],
        "DriftList" => [ROW, DRIFT],
        "FindingList" => ["", FINDING],
        "HistoryList" => ["", HISTORY],
        other => panic!("{other} is not described"),
    };
    let mut path: Vec<&str> = Vec::new();
    let lines = parts.into_iter().flat_map(str::lines).filter(|line| !line.is_empty());
    let fields = lines.map(|line| {
        let (name, kind) = line.trim_start().split_once(' ').expect(line);
        path.truncate((line.len() - line.trim_start().len()) / 2);
        path.push(name);
        (path.join("."), kind)
    });
    fields.collect()
}

/// The words of a vocabulary that the ClaimRollout and the annotations share; otherwise those in the description.
fn words(kind: &str) -> Vec<&str> {
    let words = |kind| match kind {
        "ClaimState" => ClaimState::WORDS.to_vec(),
        "Phase" => Phase::WORDS.to_vec(),
        "ReadyReason" => ReadyReason::WORDS.to_vec(),
        "ReplacementPhase" => ReplacementPhase::WORDS.to_vec(),
        "ReplacementReason" => ReplacementReason::WORDS.to_vec(),
        "Sync" => Sync::WORDS.to_vec(),
        "UpdatePolicy" => UpdatePolicy::WORDS.to_vec(),
        word => vec![word],
    };
    kind.split('|').flat_map(words).collect()
}

/// Compares a value with its description, and notes the paths that it has.
fn compare(value: &Value, path: &str, fields: &Fields, found: &mut BTreeSet<String>) {
    let described = fields.get(path).unwrap_or_else(|| panic!("{path} is not described"));
    let kind = described.trim_end_matches('?');
    if value.is_null() {
        assert_ne!(kind, *described, "{path} is null");
        return;
    }
    found.insert(path.to_owned());
    let fits = match value {
        Value::Null => true,
        Value::Bool(_) => kind == "boolean",
        Value::Number(_) => kind == "number",
        Value::String(text) => kind == "string" || words(kind).contains(&text.as_str()),
        Value::Array(items) if kind == "list" => {
            items.iter().for_each(|item| members(item, path, fields, found));
            true
        }
        Value::Array(items) => match kind {
            "strings" => items.iter().all(Value::is_string),
            _ => kind == "objects" && items.iter().all(Value::is_object),
        },
        Value::Object(_) => {
            members(value, path, fields, found);
            kind == "object"
        }
    };
    assert!(fits, "{path}: expected {kind}, but found {value}");
}

/// Compares the members of an object, and those that it has to have.
fn members(object: &Value, path: &str, fields: &Fields, found: &mut BTreeSet<String>) {
    let prefix = if path.is_empty() {
        String::new()
    } else {
        format!("{path}.")
    };
    for (key, member) in object.as_object().expect(path) {
        compare(member, &format!("{prefix}{key}"), fields, found);
    }
    for (field, kind) in fields {
        let own = field.strip_prefix(&prefix).filter(|name| !name.contains('.'));
        let is_there = own.is_none_or(|name| kind.ends_with('?') || object.get(name).is_some());
        assert!(is_there, "{field} is missing in {object}");
    }
}

/// Compares what a command prints with the description of its list. The texts together have to have every field.
pub(crate) fn is_as_described(texts: &[String]) {
    let mut found = BTreeSet::new();
    let mut all = BTreeSet::new();
    for text in texts {
        let document: Value = serde_json::from_str(text).expect("JSON");
        assert_eq!(document["apiVersion"], "cli.claim-rollout.io/v1alpha1");
        let fields = described(document["kind"].as_str().expect("a kind"));
        for item in document["items"].as_array().expect("a list") {
            members(item, "", &fields, &mut found);
        }
        all.extend(fields.into_keys());
    }
    assert_eq!(found, all, "the fields that are printed, and those that are described");
}

/// Compares the values of an enum with the words of its field.
pub(crate) fn has_the_words(list: &str, field: &str, values: &[impl Serialize]) {
    let described = words(described(list)[field].trim_end_matches('?'));
    assert_eq!(json!(values), json!(described), "{list}: {field}");
}
