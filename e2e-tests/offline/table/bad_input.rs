//! Input that cannot be read is denied with a reason; the policy neither guesses nor traps.

use serde_json::{Value, json};

use super::case::{Case, creation, create, deletion, update};
use super::objects::{Object, SET_CONTROLLER, claim, pod, web};

pub(super) fn cases() -> Vec<Case> {
    [bytes(), objects(), depths(), lengths(), twice(), about_others(), pods_and_claims(), many_keys()].into_iter().flatten().collect()
}

fn growth(sentence: &str) -> Case {
    update("bad input", sentence, &web(), &web().size("20Gi"))
}

const STAGED: &str = "mutate templates staged:OnClaimDelete warns \"staged data 10Gi -> 20Gi\"";
const NO_REQUEST: &str = "claim-rollout: request: expected an AdmissionRequest about a StatefulSet: ";

fn bytes() -> Vec<Case> {
    let refused = |sentence: &str, payload: &[u8], fault: &str| growth(sentence).payload(payload).expects(format!("deny 400 \"{fault}\""));
    let whole = growth("").bytes();
    let mut cases = vec![
        refused("no bytes", b"", "but found the end (line 1 column 1)"),
        refused("no JSON", b"hello", NO_REQUEST),
        refused("YAML", b"request: {}\n", NO_REQUEST),
        refused("a number", b"1", "expected an object"),
        refused("a text", b"\"request\"", "expected an object"),
        refused("a list", b"[]", "expected an object"),
        refused("null", b"null", "expected an object"),
        refused("an empty object", b"{}", "expected request, but found nothing"),
        refused("no UTF-8", b"{\"request\":\"\xff\"}", "claim-rollout: request: expected UTF-8"),
        refused("a byte order mark", b"\xef\xbb\xbf{}", NO_REQUEST),
        refused("UTF-16", b"{\0}\0", NO_REQUEST),
        refused("two answers in one", &[&*whole, b"{}"].concat(), "expected JSON"),
        refused("a tail", &[&*whole, b"x"].concat(), "expected JSON"),
        refused("a control character in a text", b"{\"request\":{\"operation\":\"UP\nDATE\"}}", NO_REQUEST),
        refused("a comment", b"{/**/}", NO_REQUEST),
        refused("single quotes", b"{'request':1}", NO_REQUEST),
        refused("a comma too many", b"{\"request\":{},}", NO_REQUEST),
    ];
    for part in 1..12 {
        let cut = whole.len() * part / 12;
        cases.push(refused(&format!("{part} of 12 parts of a review"), &whole[..cut], NO_REQUEST));
    }
    cases
}

/// Values that are no strategies.
fn strategies() -> [Value; 6] {
    [
        json!("RollingUpdate"),
        json!({"type": 1}),
        json!({"rollingUpdate": []}),
        json!({"rollingUpdate": {"partition": "1"}}),
        json!({"rollingUpdate": {"partition": 0.5}}),
        json!([]),
    ]
}

/// Objects with values of the wrong type.
fn objects() -> Vec<Case> {
    let mut cases = Vec::new();
    let table: [(&str, Value); 16] = [
        ("metadata", Value::Null),
        ("metadata", json!([])),
        ("spec", Value::Null),
        ("spec", json!("x")),
        ("metadata/name", json!(1)),
        ("metadata/uid", json!({})),
        ("metadata/annotations", json!([])),
        ("metadata/annotations/claim-rollout.io~1sync", json!(1)),
        ("metadata/annotations/claim-rollout.io~1staged", json!({})),
        ("metadata/ownerReferences", json!({})),
        ("metadata/ownerReferences", json!([1])),
        ("metadata/ownerReferences", json!([{"controller": "yes"}])),
        ("spec/replicas", json!("3")),
        ("spec/replicas", json!(1.5)),
        ("spec/replicas", json!(1e30)),
        ("apiVersion", json!(1)),
    ];
    for which in ["object", "oldObject"] {
        for (field, value) in &table {
            let case = growth(&format!("{which}/{field} is {value}")).asking(&format!("/{which}/{field}"), value.clone());
            cases.push(case.expects("deny 400 \"claim-rollout: request: \""));
        }
        // The policy does not read how Pods are replaced here: the API server denies an invalid strategy.
        for value in strategies() {
            let case = growth(&format!("{which}/spec/updateStrategy is {value}")).asking(&format!("/{which}/spec/updateStrategy"), value);
            cases.push(case.expects(STAGED));
        }
    }
    let checked = |sentence: &str, pointer: &str, value: Value| {
        growth(sentence)
            .asking(pointer, value)
            .asking("/object/metadata/annotations/claim-rollout.io~1update-policy", "InPlace")
            .settings(json!({"pvcChecks": "Warn"}))
            .expects("deny 400 \"request.object.spec: \"")
    };
    cases.push(checked("a selector that is a list", "/object/spec/selector", json!([])));
    cases.push(checked("labels of a selector that are numbers", "/object/spec/selector/matchLabels", json!({"app": 1})));
    let starts = checked("ordinals that start twice", "/object/spec/ordinals/start", json!(7));
    cases.push(starts.respelt(|text| text.replacen("\"start\":7", "\"start\":7,\"start\":7", 1)));
    cases.push(checked("ordinals that are a number", "/object/spec/ordinals", json!(1)));
    let retention = |sentence: &str, value: Value| {
        update("bad input", sentence, &web().with("/spec/persistentVolumeClaimRetentionPolicy", value), &web().replicas(1))
            .settings(json!({"retention": "Warn"}))
            .expects("deny 400 \"claim-rollout: request: \"")
    };
    cases.push(retention("a retention policy that is a text", json!("Delete")));
    cases.push(retention("a retention policy of numbers", json!({"whenScaled": 1})));
    cases
}

/// Nested lists.
fn nested(depth: usize) -> String {
    format!("{}{}", "[".repeat(depth), "]".repeat(depth))
}

fn depths() -> Vec<Case> {
    // Including the levels around it: the payload, the request, the object, its spec, the field and its list.
    let deep = |depth: usize| {
        let case = update("bad input", format!("nested {depth} deep"), &web(), &web().image("2"));
        case.respelt(|text| text.replace("[null,1.5]", &format!("[null,{}]", nested(depth - 6))))
    };
    let refused = "deny 400 \"expected JSON nested at most 128 deep, but found it deeper\"";
    let mut cases = vec![
        deep(128).expects("pass"),
        growth("brackets in a text do not nest").asking("/object/spec/fieldOfTheFuture", "[".repeat(1000)).expects(STAGED),
        growth("an escaped quote does not end a string").asking("/object/spec/fieldOfTheFuture", format!("\\\"{}", "{".repeat(1000))).expects(STAGED),
    ];
    cases.extend([129, 200, 10_000, 200_000].map(|depth| deep(depth).expects(refused)));
    // In the templates and in the staged change, which different readers read.
    let note = |depth: usize| web().note("staged", &format!("{{\"version\":1,\"x\":{}}}", nested(depth)));
    cases.push(update("bad input", "a staged change that is nested too deep is ignored", &note(10_000), &web().size("20Gi")).expects(STAGED));
    let applied = |depth: usize| {
        web().staged(&web().size("20Gi")).with("/metadata/annotations/kubectl.kubernetes.io~1last-applied-configuration", nested(depth))
    };
    cases.push(update("bad input", "what was applied is nested too deep", &applied(10_000), &applied(20_000)).expects("pass"));
    cases
}

fn lengths() -> Vec<Case> {
    let long = |bytes: usize| "x".repeat(bytes);
    let padded = |sentence: &str, bytes: usize| growth(sentence).asking("/object/spec/fieldOfTheFuture", long(bytes));
    let refused = "deny 400 \"at most 3 MiB for each object; it is larger\"";
    let mut payload = growth("").bytes();
    payload.extend(vec![b' '; 7 << 20]);
    vec![
        padded("an object of almost 3 MiB", (3 << 20) - 4096).expects(STAGED),
        padded("two objects of almost 3 MiB", (3 << 20) - 4096).asking("/oldObject/spec/fieldOfTheFuture", long((3 << 20) - 4096)).expects(STAGED),
        padded("an object of 7 MiB", 7 << 20).expects(refused),
        growth("7 MiB of blanks").payload(payload).expects(refused),
        growth("a very long name")
            .asking("/object/metadata/name", long(100_000))
            .asking("/oldObject/metadata/name", long(100_000))
            .asking("/name", long(100_000))
            .expects("deny 403 \"expected a PVC name of at most 253 characters\""),
        growth("a very long user name").by(&long(100_000)).expects("deny 403 \"expected at most 8192 bytes\""),
        growth("a very long value")
            .asking("/object/metadata/annotations/claim-rollout.io~1sync", long(100_000))
            .expects("deny 403 \"expected one of LockStep, Async\""),
        growth("a very long label")
            .asking(&format!("/object/spec/volumeClaimTemplates/0/metadata/labels/{}", long(100_000)), "a")
            .expects("deny 403 \"expected at most 65536 bytes, but found\""),
        growth("a very long immutable field")
            .asking("/object/spec/volumeClaimTemplates/0/spec/volumeName", long(100_000))
            .expects("deny 403 \"expected at most 65536 bytes, but found\""),
    ]
}

/// A duplicate key has no meaning: readers of the first and of the last one see different objects.
fn twice() -> Vec<Case> {
    let plain = |text: &str| growth(&format!("{text} stands twice")).respelt(|payload| payload.replacen(text, &format!("{text},{text}"), 1));
    let refused = "deny 400 \"expected each key once\"";
    let mut cases: Vec<Case> = [
        "\"operation\":\"UPDATE\"",
        "\"namespace\":\"shop\"",
        "\"kind\":\"StatefulSet\"",
        "\"username\":\"alice\"",
        "\"fieldManager\":\"helm\"",
        "\"uid\":\"6c4a6a3e-0000-4000-8000-000000000001\"",
        "\"replicas\":3",
        "\"apiVersion\":\"apps/v1\"",
    ]
    .into_iter()
    .map(|text| plain(text).expects(refused))
    .collect();
    let escaped = growth("a key is duplicated, once escaped")
        .respelt(|text| text.replacen("\"operation\":\"UPDATE\"", "\"operation\":\"UPDATE\",\"op\\u0065ration\":\"UPDATE\"", 1));
    cases.push(escaped.expects(refused));
    for (sentence, find) in [("in a template", "\"storageClassName\":\"standard\""), ("in the requests", "\"storage\":\"20Gi\"")] {
        let case = growth(&format!("a key stands twice {sentence}")).respelt(|text| text.replacen(find, &format!("{find},{find}"), 1));
        cases.push(case.expects("deny 403 \"spec.volumeClaimTemplates: expected each key once\""));
    }
    let metadata = growth("")
        .asking("/object/metadata/deletionTimestamp", Value::Null)
        .asking("/object/metadata/ownerReferences", json!([{"controller": false}]));
    for text in ["\"deletionTimestamp\":null", "\"controller\":false", "\"annotations\":{\"example.com/note\":\"kept\"}"] {
        let case = Case { sentence: format!("{text} stands twice"), ..metadata.clone() };
        cases.push(case.respelt(|payload| payload.replacen(text, &format!("{text},{text}"), 1)).expects(refused));
    }
    let ours = growth("an annotation of ours is duplicated").respelt(|text| {
        text.replacen("\"example.com/note\":\"kept\"", "\"claim-rollout.io/sync\":\"Async\",\"claim-rollout.io/sync\":\"LockStep\"", 1)
    });
    cases.push(ours.expects(refused));
    cases
}

/// Fields that do not concern the policy may have any shape.
fn about_others() -> Vec<Case> {
    let odd = || Object(json!({"metadata": 1, "spec": [], "kind": {}}));
    let other = |sentence: &str, kind: &str| update("bad input", sentence, &odd(), &odd()).of_kind("example.com", "v1", kind, "widgets");
    let twice = other("a key stands twice in another kind", "Widget")
        .respelt(|text| text.replacen("\"metadata\":1", "\"spec\":1,\"metadata\":1,\"spec\":2", 1));
    let created = |sentence: &str, value: Value| {
        creation("bad input", sentence, SET_CONTROLLER, &claim("data-web-0")).cluster(vec![value]).expects("pass lookups=1")
    };
    let set = json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "web"}});
    vec![
        other("another kind of any shape", "Widget").expects("pass"),
        other("another kind that calls itself a set", "StatefulSet").expects("pass"),
        twice.expects("pass"),
        other("another kind that is cut off", "Widget")
            .respelt(|text| text[..text.len() - 1].to_owned())
            .expects("pass"),
        created("the cluster shows a set without a spec", set.clone()),
        created(
            "the cluster shows a set whose annotations are a list",
            json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "web", "annotations": []}, "spec": {}}),
        ),
    ]
}

/// What is wrong with a Pod or a PVC, as JSON with a place for it in its metadata.
const UNREADABLE: [(&str, &str); 4] = [
    ("whose managed fields are nested too deep", "\"managedFields\":[{\"fieldsV1\":DEEP}]"),
    ("whose labels stand twice", "\"labels\":{},\"labels\":{}"),
    ("whose owner is a text", "\"ownerReferences\":\"web\""),
    ("of 7 MiB", "\"long\":\"LONG\""),
];

/// Nobody who writes Pods or PVCs may stop their deletion or creation.
fn pods_and_claims() -> Vec<Case> {
    let faults = UNREADABLE.into_iter().map(|(sentence, fault)| {
        let fault = fault.replace("DEEP", &nested(200)).replace("LONG", &"x".repeat(7 << 20));
        (sentence, fault)
    });
    let mut cases = Vec::new();
    for (sentence, fault) in faults {
        let with = |case: Case, kind: &str| {
            let case = Case { sentence: format!("a {kind} {sentence}"), ..case };
            case.respelt(|text| text.replacen("\"metadata\":{", &format!("\"metadata\":{{{fault},"), 1)).expects("pass")
        };
        let bare = |object: Object| object.without("/metadata/labels").without("/metadata/ownerReferences");
        cases.push(with(deletion("bad input", "", &bare(pod(2))).by(SET_CONTROLLER), "Pod"));
        cases.push(with(creation("bad input", "", SET_CONTROLLER, &bare(claim("data-web-2"))), "PVC"));
    }
    let cut = |case: Case| case.respelt(|text| text[..text.len() - 30].to_owned()).expects("pass");
    cases.push(cut(deletion("bad input", "a Pod that is cut off", &pod(2))));
    cases.push(cut(creation("bad input", "a PVC that is cut off", SET_CONTROLLER, &claim("data-web-2"))));
    let created = |sentence: &str| creation("bad input", sentence, SET_CONTROLLER, &claim("data-web-2"));
    cases.push(created("a PVC of another name").asking("/object/metadata/name", "data-web-1").expects("pass"));
    cases.push(created("no PVC is created").asking("/object", Value::Null).expects("pass"));
    let keys: serde_json::Map<_, _> = (0..70).map(|index| (format!("claim-rollout.io/x{index}"), json!(""))).collect();
    cases.push(created("a PVC with 70 annotations of ours").asking("/object/metadata/annotations", keys).expects("pass"));
    cases
}

/// Annotations of ours on a set that is older than the policy.
fn many_keys() -> Vec<Case> {
    let with = |count: usize| (0..count).fold(web(), |set, index| set.note(&format!("x{index}"), "a"));
    let row = |sentence: &str, old: &Object, new: &Object| update("bad input", sentence, old, new);
    let refused = "deny 400 \"at most 64 annotations of claim-rollout.io\"";
    vec![
        row("a set gets 65 annotations of ours", &web(), &with(65)).expects(refused),
        row("a set keeps 70 annotations of ours", &with(70), &with(70).image("2")).expects(refused),
        row("a set loses 70 annotations of ours", &with(70), &web()).expects("pass"),
        row("a set loses some of 70 annotations of ours", &with(70), &with(64)).expects("pass"),
        create("bad input", "a set is created with 65 annotations of ours", &with(65)).expects(refused),
    ]
}
