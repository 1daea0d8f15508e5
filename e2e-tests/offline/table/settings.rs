//! Every value of every setting, and the messages for invalid ones.

use claim_rollout::admission::settings::NAMES;
use claim_rollout::templates::{Phase, UpdatePolicy};
use claim_rollout::admission;
use serde_json::{Value, json};

use super::case::{Case, update};
use super::objects::{CONTROLLER, Object, access, claim, web};

pub(super) fn cases() -> Vec<Case> {
    [faults(), metadata_only(), shrink(), keep(), sizes(), classes(), prefixes(), defaults()].into_iter().flatten().collect()
}

/// The values of a setting, as the policy lists them; none if it takes any value.
pub(super) fn positions(setting: &str) -> Vec<String> {
    let answer = admission::validate_settings(json!({setting: "?"}).to_string().as_bytes());
    let answer: Value = serde_json::from_slice(&answer).expect("an answer");
    let message = answer["message"].as_str().unwrap_or_default();
    let message = message.split_once(", but found").map_or(message, |(expected, _)| expected);
    let words = message.split_once("expected one of ").map(|(_, words)| words.split(", ").map(str::to_owned).collect());
    let is_bool = message.contains("expected true or false");
    words.unwrap_or_else(|| if is_bool { vec!["true".to_owned(), "false".to_owned()] } else { Vec::new() })
}

/// A setting, values that it does not take, and the message.
const WRONG: [(&str, &[&str], &str); 19] = [
    ("mode", &["\"divert\"", "null"], "expected one of Stage, ValidateOnly"),
    ("defaultUpdatePolicy", &["\"ReCreate\"", "\"OnDelete\""], "expected one of OnClaimDelete, InPlace"),
    ("defaultReplaceSet", &["\"Always\"", "true"], "expected one of Never, WhenComplete"),
    ("allowReCreate", &["\"true\"", "1"], "expected true or false"),
    ("metadataOnlyChanges", &["\"Refuse\""], "expected one of Rollout, Ignore, Deny"), // words: allowed
    ("shrink", &["true"], "expected one of Deny, Recover, Keep"),
    ("immutableFields", &["\"All\""], "expected one of Deny, NewPVCs"),
    ("templateChanges", &["true"], "expected one of Deny, Allow"),
    ("maxStorage", &["\"1Ti\"", "{\"*\":\"x\"}", "{\"*\":\"0\"}", "{\"*\":\"8Ei\"}", "{\"*\":1}", "{\"\":\"1Ti\"}", "{\"a\":\"1Ti\",\"a\":\"1Ti\"}"], "expected a size by storage class"),
    ("allowedVolumeAttributesClasses", &["\"gold\"", "[\"\"]"], "expected a list of names"),
    ("reservedKeyPrefixes", &["[\"example.com\"]", "[\"/\"]", "[\"a/b/\"]"], "expected a list of domains with a slash at the end"),
    ("authority", &["\"Anybody\""], "expected one of RequirePatchOnPVCs, TrustSetEditors"),
    ("pvcChecks", &["\"On\""], "expected one of Warn, Ignore, Deny"),
    ("maxPVCLookups", &["0", "1001", "1.5"], "expected a whole number from 1 to 1000"),
    ("retention", &["\"Refuse\""], "expected one of Ignore, Warn, Deny"), // words: allowed
    ("ownedSets", &["\"Divert\""], "expected one of Skip, Stage"),
    ("stageOwnedBy", &["[\"Prometheus\"]", "[\"a/b/C\"]"], "expected a list of kinds"),
    ("controllerAccounts", &["\"robot\"", "[]"], "expected a list of user names"),
    ("statefulSetControllerAccounts", &["\"ssc\"", "[1]"], "expected a list of user names"),
];

/// An invalid setting denies the request: the intention of its author is unknown.
fn faults() -> Vec<Case> {
    let edit = |sentence: String| update("U0", sentence, &web(), &web().image("2"));
    let with = |sentence: &str, settings: &str| {
        let case = edit(sentence.to_owned());
        let payload = format!("{{\"settings\":{settings},\"request\":{}}}", case.request);
        case.payload(payload)
    };
    let mut cases: Vec<Case> = WRONG
        .iter()
        .flat_map(|(name, values, expected)| values.iter().map(move |value| (name, value, expected)))
        .map(|(name, value, expected)| {
            let fault = format!("deny 400 \"claim-rollout: settings: {name}: {expected}\"");
            with(&format!("the setting {name}: {value}"), &format!("{{\"{name}\":{value}}}")).expects(fault)
        })
        .collect();
    cases.extend([
        with("no settings", "{}").expects("pass"),
        with("settings that are null", "null").expects("pass"),
        with("settings that are a list", "[]").expects("deny 400 \"settings: expected a JSON object without duplicate keys\""),
        with("a setting is duplicated", "{\"mode\":\"Stage\",\"mode\":\"Stage\"}")
            .expects("deny 400 \"settings: expected a JSON object without duplicate keys\""),
        with("an unknown setting", "{\"modes\":1}").expects("deny 400 \"settings: modes: no such setting\""),
        with("everything is wrong at once", "{\"mode\":1,\"shrink\":2,\"x\":3}").expects(
            "deny 400 \"settings: mode: expected one of Stage, ValidateOnly, but found 1; shrink: expected one of Deny, Recover, Keep, but found 2; x: no such setting\"",
        ),
        update("U3", "the usual authority", &web(), &web().size("20Gi")).settings(json!({"authority": "RequirePatchOnPVCs"})).expects("deny 403 who \"failed to check whether user\""),
        edit("the usual controller".to_owned()).settings(json!({"controllerAccounts": [CONTROLLER]})).expects("pass"),
        edit("the usual mode".to_owned()).settings(json!({"mode": "Stage"})).expects("pass"),
        edit("settings are left out".to_owned()).respelt(|text| text.replacen("\"settings\"", "\"x\"", 1)).expects("pass"),
    ]);
    assert!(NAMES.iter().all(|name| WRONG.iter().any(|(wrong, ..)| wrong == name)), "every setting has a wrong value");
    cases
}

fn labelled(size: &str, chart: &str) -> Object {
    web().in_place().size(size).data("/metadata/labels", json!({"helm.sh/chart": chart}))
}

fn metadata_only() -> Vec<Case> {
    let (old, label) = (labelled("10Gi", "web-1"), labelled("10Gi", "web-2"));
    let (size, both) = (labelled("20Gi", "web-1"), labelled("20Gi", "web-2"));
    let note = labelled("10Gi", "web-1").data("/metadata/annotations", json!({"a": "b"}));
    let ignored = "\"ignored changed labels and annotations of data (setting metadataOnlyChanges: Ignore)\"";
    let fixed = |path: &str| format!("deny 403 \"[data].metadata.{path}: cannot change while the policy's setting metadataOnlyChanges is not Rollout; allowed changes: spec.resources.requests.storage (larger only) and spec.volumeAttributesClassName\"");
    let staged = "mutate templates staged:InPlace warns \"staged data";
    let mut cases = Vec::new();
    let mut row = |sentence: &str, old: &Object, new: &Object, [rollout, ignore, deny]: [&str; 3]| {
        for (position, expected) in [("Rollout", rollout), ("Ignore", ignore), ("Deny", deny)] {
            let case = update("U3", format!("{sentence} ({position})"), old, new).settings(json!({"metadataOnlyChanges": position}));
            cases.push(case.expects(expected));
        }
    };
    let grows = format!("{staged} 10Gi -> 20Gi\"");
    let ignored_grows =
        format!("mutate templates staged:InPlace[data=20Gi+helm.sh/chart:web-1,logs=5Gi] warns \"staged data 10Gi -> 20Gi;\" {ignored}");
    let alone = format!("mutate templates warns {ignored}");
    let denied = fixed("labels[helm.sh/chart]");
    row("a label changes", &old, &label, [&format!("{staged} label helm.sh/chart web-1 -> web-2\""), &alone, &denied]);
    row("an annotation is set", &old, &note, [&format!("{staged} annotation a none -> b\""), &alone, &fixed("annotations[a]")]);
    row("a size grows", &old, &size, [&grows, &grows, &grows]);
    row(
        "a size grows and a label changes",
        &old,
        &both,
        [&format!("{staged} 10Gi -> 20Gi, data label helm.sh/chart web-1 -> web-2\""), &ignored_grows, &denied],
    );
    let rolling = old.clone().staged(&size);
    row(
        "the same target comes with another label",
        &rolling,
        &both,
        [&format!("{staged} label helm.sh/chart web-1 -> web-2\""), &format!("mutate templates kept warns {ignored}"), &denied],
    );
    let (lazy, follows) = (rolling.clone().policy("OnClaimDelete"), both.clone().staged(&size));
    row(
        "the same target comes with another label, and claims are to follow",
        &lazy,
        &follows,
        [
            &format!("{staged} label helm.sh/chart web-1 -> web-2\""),
            &format!("mutate templates warns \"staged data 10Gi -> 20Gi; 3 PVCs will be updated in place\" {ignored}"),
            &denied,
        ],
    );
    row(
        "a size shrinks and a label changes",
        &size,
        &label,
        ["deny 403 \"cannot shrink\"", "deny 403 \"cannot shrink\"", "deny 403 \"cannot shrink\" \"is not Rollout\""],
    );
    let reserved = labelled("10Gi", "web-1").data("/metadata/labels/k8s.io~1a", "b");
    row("a reserved label is set", &old, &reserved, ["deny 403 \"is reserved\"", &alone, "deny 403 \"is reserved\""]);
    cases
}

fn shrink() -> Vec<Case> {
    let rolling = web().in_place().staged(&web().size("90Gi"));
    let smaller = web().in_place().size("20Gi");
    let sized = |ordinal: u32, asks: &str, has: &str| {
        claim(&format!("data-web-{ordinal}")).with("/spec/resources/requests/storage", asks).with("/status/capacity/storage", has).0
    };
    let recover = |sentence: &str, new: &Object, claims: Vec<Value>| {
        update("U3", sentence, &rolling, new).settings(json!({"shrink": "Recover"})).cluster(claims)
    };
    let staged = "mutate templates staged:InPlace warns \"staged data 90Gi -> 20Gi\" \"sizes that PVCs have not reached are taken back\"";
    let taken_back = format!("{staged} lookups=3");
    vec![
        update("U3", "a target gets smaller (Deny)", &rolling, &smaller)
            .settings(json!({"shrink": "Deny"}))
            .expects("mutate templates staged:InPlace warns \"staged data 90Gi -> 20Gi\" \"no PVC shrinks: one that asks for more keeps it\""),
        update("U3", "below the live template (Deny)", &rolling, &smaller.clone().size("5Gi"))
            .settings(json!({"shrink": "Deny"}))
            .expects("deny 403 \"cannot shrink, expected at least 10Gi, but found 5Gi\" \"the setting shrink: Keep ignores a smaller size, and lets the rest pass\""),
        recover("what no claim has reached", &smaller, vec![sized(2, "90Gi", "10Gi"), sized(1, "10Gi", "10Gi")]).expects(&taken_back),
        recover("what no claim has", &smaller, vec![web().0]).expects(&taken_back),
        recover("without an API server to ask", &smaller, vec![]).expects(format!("{staged} lookups=1")),
        recover("what one claim has reached exactly", &smaller, vec![sized(2, "90Gi", "10Gi"), sized(1, "90Gi", "20Gi")])
            .expects(format!("{staged} \"data-web-1: already has 20Gi, and a volume cannot shrink\" lookups=3")),
        recover("what one claim has reached, and one is not checked", &smaller, vec![sized(2, "90Gi", "90Gi"), sized(1, "90Gi", "90Gi")])
            .settings(json!({"maxPVCLookups": 1}))
            .expects(format!("{staged} \"data-web-2: already has 90Gi, and a volume cannot shrink\" lookups=1")),
        recover("what every claim is beyond", &smaller, vec![sized(2, "90Gi", "90Gi"), sized(1, "90Gi", "90Gi")])
            .expects(format!("{staged} \"data-web-2, data-web-1: already has 90Gi, and a volume cannot shrink\" lookups=3")),
        recover("a volume is larger than its claim ever asked for", &smaller, vec![sized(2, "10Gi", "40Gi")]).expects(&taken_back),
        recover("a claim is smaller than it will be", &smaller, vec![sized(2, "15Gi", "15Gi")]).expects(&taken_back),
        recover("below the live template", &smaller.clone().size("5Gi"), vec![])
            .expects("deny 403 \"cannot shrink, expected at least 10Gi, but found 5Gi\""),
        recover("down to the live size, with a label", &rolling.clone().unnoted("staged").data("/metadata/labels/tier", "gold"), vec![sized(2, "90Gi", "9Gi")])
            .expects("mutate templates staged:InPlace lookups=3 warns \"staged data 90Gi -> 10Gi, data label tier none -> gold\" \"sizes that PVCs have not reached are taken back\""),
        recover("a frozen field beside it", &smaller.clone().data("/spec/volumeMode", "Block"), vec![])
            .expects("deny 403 \"volumeMode: cannot change\""),
        recover("with pvcChecks Deny and no API server to ask", &smaller, vec![])
            .settings(json!({"pvcChecks": "Deny"}))
            .expects("deny 403 lookups=1 \"failed to check the PVCs\""),
        recover("a growth is a growth", &smaller.clone().size("95Gi"), vec![])
            .expects("mutate templates staged:InPlace warns \"staged data 90Gi -> 95Gi\""),
        update("U3", "nothing was staged: there is nothing to take back", &web(), &web().size("5Gi"))
            .settings(json!({"shrink": "Recover"}))
            .expects("deny 403 \"cannot shrink, expected at least 10Gi, but found 5Gi\""),
    ]
}

/// With `shrink: Keep`, a smaller size becomes the current one, and the rest of the request is judged.
fn keep() -> Vec<Case> {
    let rolling = web().in_place().staged(&web().size("90Gi"));
    let complete = web().in_place().staged_change(&web().size("90Gi"), UpdatePolicy::InPlace, Phase::Complete);
    let case = |sentence: &str, old: &Object, new: &Object, expected: &str| {
        update("U3", sentence, old, new).settings(json!({"shrink": "Keep"})).expects(expected)
    };
    let ignored = |from: &str, to: &str| format!("warns \"ignored data {from} -> {to} (setting shrink: Keep); the rest passes\"");
    let (five, twenty) = (ignored("10Gi", "5Gi"), ignored("90Gi", "20Gi"));
    let smaller = |set: &Object, size: &str| set.clone().size(size);
    let logs = "/spec/volumeClaimTemplates/1/spec/resources/requests/storage";
    vec![
        case("a smaller size and another image, nothing staged", &web(), &smaller(&web(), "5Gi").image("2"), &format!("mutate templates {five}")),
        case("a smaller size alone", &web(), &smaller(&web(), "5Gi"), &format!("mutate templates {five}")),
        case("less than the live size, while more is staged", &rolling, &smaller(&rolling, "5Gi").image("2"), &format!("mutate templates {}", ignored("90Gi", "5Gi"))),
        case("less than the staged size", &rolling, &smaller(&rolling, "20Gi").image("2"), &format!("mutate templates {twenty}")),
        case("less than the staged size, after it was reached", &complete, &smaller(&complete, "20Gi"), &format!("mutate templates {twenty}")),
        case(
            "a smaller size beside a larger one of another template",
            &rolling,
            &smaller(&rolling, "20Gi").with(logs, "50Gi"),
            &format!("mutate templates staged:InPlace[data=90Gi,logs=50Gi] warns \"staged logs 5Gi -> 50Gi\" {}", twenty.replace("warns ", "")),
        ),
        case("a smaller size beside a frozen field", &web(), &smaller(&web(), "5Gi").data("/spec/volumeMode", "Block"), "deny 403 \"volumeMode: cannot change\""),
        case("no size at all", &web(), &web().without("/spec/volumeClaimTemplates/0/spec/resources"), "deny 403 \"cannot be removed\""),
        case("a larger size", &web().in_place(), &web().in_place().size("20Gi"), "mutate templates staged:InPlace warns \"staged data 10Gi -> 20Gi\""),
        case("nothing is staged here", &web(), &smaller(&web(), "5Gi"), "deny 403 \"cannot shrink, expected at least 10Gi, but found 5Gi\"")
            .settings(json!({"mode": "ValidateOnly"})),
    ]
}

fn sizes() -> Vec<Case> {
    let of = |class: Value, size: &str| web().data("/spec/storageClassName", class).size(size);
    let limits = || json!({"maxStorage": {"fast": "100Gi", "*": "50Gi"}});
    let staged = "mutate templates staged:OnClaimDelete warns \"staged data 10Gi ->";
    let mut cases = Vec::new();
    for (class, size, most) in [
        (json!("fast"), "100Gi", ""),
        (json!("fast"), "102400Mi", ""),
        (json!("fast"), "107374182401", "100Gi"),
        (json!("slow"), "50Gi", ""),
        (json!("slow"), "51Gi", "50Gi"),
        (Value::Null, "50Gi", ""),
        (Value::Null, "51Gi", "50Gi"),
        (json!(""), "50Gi", ""),
        (json!(""), "51Gi", "50Gi"),
        (json!("*"), "51Gi", "50Gi"),
    ] {
        let expected = if most.is_empty() {
            format!("{staged}\"")
        } else {
            format!("deny 403 \"requests.storage: is limited, expected at most {most}, but found\"")
        };
        let case = update("U3", format!("at most 100Gi in fast, 50Gi in the rest: {size} in {class}"), &of(class.clone(), "10Gi"), &of(class, size));
        cases.push(case.settings(limits()).expects(expected));
    }
    let large = of(json!("slow"), "90Gi");
    cases.extend([
        update("U3", "what is larger already may stay", &large, &large.clone().data("/metadata/labels/a", "b"))
            .settings(limits())
            .expects("mutate templates staged:OnClaimDelete warns \"staged data label\""),
        update("U3", "a class without a limit", &of(json!("slow"), "10Gi"), &of(json!("slow"), "90Ti"))
            .settings(json!({"maxStorage": {"fast": "1Gi"}}))
            .expects(format!("{staged}\"")),
        update("U3", "no limits", &web(), &web().size("90Ti")).settings(json!({"maxStorage": {}})).expects(format!("{staged}\"")),
    ]);
    cases
}

fn classes() -> Vec<Case> {
    let class = |name: &str| web().data("/spec/volumeAttributesClassName", name);
    let allowed = |sentence: &str, old: &Object, new: &Object, classes: Value| {
        update("U3", sentence, old, new).settings(json!({"allowedVolumeAttributesClasses": classes}))
    };
    let staged = "mutate templates staged:OnClaimDelete warns \"staged data class\"";
    vec![
        allowed("a class that is allowed", &class("gold"), &class("silver"), json!(["silver", "gold"])).expects(staged),
        allowed("a class that is not allowed", &class("gold"), &class("lead"), json!(["silver", "gold"]))
            .expects("deny 403 \"[data].spec.volumeAttributesClassName: expected one of silver, gold, but found lead\""),
        allowed("no class is allowed", &web(), &class("gold"), json!([])).expects("deny 403 \"expected one of\""),
        allowed("any class is allowed", &web(), &class("lead"), Value::Null).expects(staged),
        allowed("a class may be removed", &class("lead"), &web(), json!(["gold"])).expects(staged),
        allowed("an existing class may stay", &class("lead"), &class("lead").data("/metadata/labels/a", "b"), json!(["gold"]))
            .expects("mutate templates staged:OnClaimDelete warns \"staged data label\""),
        allowed("an empty class is a class", &class("gold"), &class(""), json!(["gold"])).expects("deny 403 \"expected one of gold, but found \""),
    ]
}

fn prefixes() -> Vec<Case> {
    let label = |key: &str| web().data(&format!("/metadata/labels/{}", key.replace('/', "~1")), "a");
    let reserved =
        |sentence: &str, key: &str, prefixes: Value| update("U3", sentence, &web(), &label(key)).settings(json!({"reservedKeyPrefixes": prefixes}));
    let (staged, refused) = ("mutate templates staged:OnClaimDelete warns \"staged data label\"", "deny 403 \"is reserved, expected no change\"");
    vec![
        reserved("a domain of the administrator's", "example.com/a", json!(["example.com/"])).expects(refused),
        reserved("a domain below it", "x.example.com/a", json!(["example.com/"])).expects(refused),
        reserved("a domain that ends like it", "xexample.com/a", json!(["example.com/"])).expects(staged),
        reserved("what charts put there", "app.kubernetes.io/a", json!(["kubernetes.io/"])).expects(staged),
        reserved("a domain that was reserved by default", "k8s.io/a", json!(["example.com/"])).expects(staged),
        reserved("a key that is the domain", "example.com", json!(["example.com/"])).expects(staged),
        reserved("what charts put there, in a wide domain", "app.kubernetes.io/a", json!(["io/"])).expects(staged),
        reserved("what charts put there, named itself", "app.kubernetes.io/a", json!(["app.kubernetes.io/"])).expects(refused),
        reserved("no domains", "volume.kubernetes.io/a", json!([])).expects(staged),
        reserved("no domains, but ours stays ours", "claim-rollout.io/revision", json!([])).expects(refused),
    ]
}

/// `defaultUpdatePolicy`, `defaultReplaceSet` and `allowReCreate`.
fn defaults() -> Vec<Case> {
    let by_default =
        |policy: &str| update("U3", format!("{policy} by default"), &web(), &web().size("20Gi")).settings(json!({"defaultUpdatePolicy": policy}));
    // A default needs no right besides the usual one.
    let replaced = |value: &str| {
        update("U3", format!("{value} is the default of replace-set"), &web(), &web().size("20Gi"))
            .settings(json!({"defaultReplaceSet": value, "authority": "RequirePatchOnPVCs"}))
            .cluster(vec![access("alice", true)])
    };
    let recreate = |allowed: bool, expected: &str| {
        update(
            "U3",
            format!("a claim made anew may have another class ({allowed})"),
            &web().policy("ReCreate"),
            &web().policy("ReCreate").data("/spec/storageClassName", "fast"),
        )
        .settings(json!({"allowReCreate": allowed}))
        .expects(expected)
    };
    vec![
        by_default("OnClaimDelete").expects("mutate templates staged:OnClaimDelete warns \"existing PVCs stay\""),
        by_default("InPlace").expects("mutate templates staged:InPlace warns \"3 PVCs will be updated in place\""),
        update("U3", "the annotation rules over the default", &web().policy("OnDelete"), &web().policy("OnDelete").size("20Gi"))
            .settings(json!({"defaultUpdatePolicy": "InPlace"}))
            .expects("mutate templates staged:OnClaimDelete warns \"existing PVCs stay\""),
        replaced("Never").expects("mutate templates staged:OnClaimDelete who warns \"staged data 10Gi -> 20Gi;\""),
        replaced("WhenComplete").expects("mutate templates staged:OnClaimDelete who warns \"staged data 10Gi -> 20Gi;\""),
        recreate(true, "mutate templates staged:ReCreate warns \"staged data spec.storageClassName; PVCs that cannot follow in place are deleted with their data and created anew, one replica at a time\""),
        recreate(false, "deny 403 \"[data].spec.storageClassName: cannot change\""),
    ]
}
