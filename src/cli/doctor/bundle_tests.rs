use std::collections::BTreeSet;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::gather::{Raw, RawLog};
use super::kinds::{BundleKind, OTHERS, PODS, ROLLOUTS, SETS};
use super::scope::BundledSets;
use super::{BundleFile, check, files, save};
use crate::cli::doctor::facts::{FoundJournal, JournaledSet};
use crate::replace::Stage;

const SECRET: &str = "hunter2";

fn kinds() -> impl Iterator<Item = &'static BundleKind> {
    [&SETS, &ROLLOUTS, &PODS].into_iter().chain(&OTHERS)
}

/// An object of any kind, with the secret wherever one may be, and with what makes it ours.
fn planted() -> Value {
    let annotations = json!({
        "kubectl.kubernetes.io/last-applied-configuration": format!("{{\"env\":\"{SECRET}\"}}"),
        "example.com/token": SECRET,
        "claim-rollout.io/unknown": SECRET,
        "claim-rollout.io/sync": SECRET,
        "claim-rollout.io/paused": "true",
        "claim-rollout.io/staged": staged().to_string(),
    });
    let container = json!({
        "name": "main", "image": "example/main:1", "command": [SECRET],
        "args": ["controller", "--token", SECRET, format!("--token={SECRET}"), "--log-format=json"],
        "env": [{"name": "PASSWORD", "value": SECRET}],
        "livenessProbe": {"httpGet": {"httpHeaders": [{"name": "Authorization", "value": SECRET}]}},
    });
    let volumes = json!([
        {"name": "data", "persistentVolumeClaim": {"claimName": "data-web-0"}},
        {"name": "csi", "csi": {"volumeAttributes": {"password": SECRET}}},
    ]);
    json!({
        "metadata": {
            "name": "web", "namespace": "shop", "annotations": annotations,
            "labels": {"app.kubernetes.io/name": "claim-rollout"},
            "managedFields": [{"manager": "helm", "fieldsV1": {"f:env": {format!("k:{SECRET}"): {}}}}],
        },
        "spec": {
            "replicas": 3,
            "module": "registry://ghcr.io/claim-rollout/policy:v1",
            "volumeClaimTemplates": [template()],
            "templates": [template()],
            "template": {
                "metadata": {"labels": {"app": "web"}, "annotations": {"vault": SECRET}},
                "spec": {"containers": [container], "initContainers": [container], "volumes": volumes},
            },
        },
        "status": {"replicas": 3},
        "data": {"settings.yaml": "sync: LockStep", "other": SECRET},
        "stringData": {"a": SECRET},
        "involvedObject": {"kind": "StatefulSet", "namespace": "shop", "name": "web"},
        "message": "a message",
        "webhooks": [
            {
                "name": "claim-rollout.claim-rollout.io",
                "clientConfig": {
                    "url": format!("https://a/{SECRET}"), "caBundle": SECRET,
                    "service": {"name": "claim-rollout-webhook", "path": format!("/{SECRET}")},
                },
            },
            {"name": "others.example.com", "matchConditions": [{"expression": SECRET}]},
        ],
    })
}

fn template() -> Value {
    let metadata = json!({"name": "data", "labels": {"tier": "a"}, "annotations": {"note": SECRET}});
    json!({"metadata": metadata, "spec": {"resources": {"requests": {"storage": "2Gi"}}}})
}

fn staged() -> Value {
    json!({"version": 1, "by": "alice", "revision": "r", "templates": [template()], "more": SECRET})
}

fn named(object: Value, kind: &BundleKind) -> Value {
    let mut object = object;
    match kind.kind {
        "PersistentVolumeClaim" => {
            object["metadata"]["name"] = json!("data-web-0");
            // A PVC has neither, and what it has is shown.
            object["spec"] = json!({"volumeName": "pv-1"});
        }
        "Lease" => object["metadata"]["name"] = json!(crate::controller::LEASE),
        "ClaimRollout" => object["spec"] = json!({"revision": "r", "templates": [template()]}),
        "ClusterAdmissionPolicy" | "AdmissionPolicy" => object["spec"] = json!({"module": object["spec"]["module"]}),
        "ValidatingAdmissionPolicy" | "ValidatingAdmissionPolicyBinding" => object["spec"] = json!({"policyName": "a"}),
        _ => {}
    }
    if kind.kind == "Lease" {
        object["spec"] = json!({"holderIdentity": "a"});
    }
    object
}

fn raw() -> Raw {
    let line = json!({"message": "patch StatefulSet", "annotations": format!("{{\"a\":\"{SECRET}\"}}"), "set": "web"});
    let log = |name: &str, text: Result<String, String>| RawLog {
        file: format!("logs/{name}.log"),
        text,
    };
    Raw {
        kinds: kinds().map(|kind| (kind, Ok(vec![named(planted(), kind)]))).collect(),
        scope: BundledSets::of(&[planted()], &[]),
        logs: vec![log("a", Ok(line.to_string())), log("b", Err("forbidden".to_owned()))],
        server: "v1.37.0".to_owned(),
    }
}

fn written(raw: &Raw) -> Vec<BundleFile> {
    let journal = |content| FoundJournal {
        secret: "journal-1".to_owned(),
        content,
    };
    let set = JournaledSet {
        namespace: "shop".to_owned(),
        name: "web".to_owned(),
        stage: Stage::Releasing,
        began: Timestamp::UNIX_EPOCH,
    };
    let mut facts = crate::cli::doctor::tests::healthy();
    facts.journals = vec![
        journal(Ok(set)),
        journal(Err(format!("expected a number, but found {SECRET}"))),
    ];
    files(raw, &Ok((facts, Vec::new())), Timestamp::UNIX_EPOCH).expect("files")
}

fn text<'a>(files: &'a [BundleFile], name: &str) -> &'a str {
    let file = files.iter().find(|file| file.name == name);
    &file.expect(name).text
}

#[test]
fn planted_secret_is_in_no_file() {
    assert!(kinds().all(|kind| kind.kind != "Secret"));
    let files = written(&raw());
    for BundleFile { name, text } in &files {
        assert!(!text.contains(SECRET), "{name}: {text}");
    }
    // The secret is in what was read.
    for (kind, objects) in &raw().kinds {
        let objects = objects.as_ref().expect("objects");
        assert!(objects[0].to_string().contains(SECRET), "{}", kind.file);
        assert!(text(&files, kind.file).contains("name: "), "{} is not empty", kind.file);
    }
}

#[test]
fn shown_fields_of_a_set_are_those_that_help() {
    let files = written(&raw());
    let sets: Value = serde_saphyr::from_str(text(&files, SETS.file)).expect("YAML");
    let set = &sets["items"][0];
    for (pointer, expected) in [
        ("/apiVersion", json!("apps/v1")),
        ("/kind", json!("StatefulSet")),
        ("/metadata/annotations/claim-rollout.io~1paused", json!("true")),
        ("/metadata/annotations/claim-rollout.io~1sync", json!("(left out)")),
        ("/metadata/annotations/example.com~1token", json!("(left out)")),
        ("/metadata/managedFields", json!([{"manager": "helm"}])),
        (
            "/spec/volumeClaimTemplates/0/metadata/annotations",
            json!({"note": "(left out)"}),
        ),
        (
            "/spec/volumeClaimTemplates/0/spec/resources/requests/storage",
            json!("2Gi"),
        ),
        (
            "/spec/template/spec/containers",
            json!([{"name": "main", "image": "example/main:1"}]),
        ),
        (
            "/spec/template/spec/volumes",
            json!([{"name": "data", "persistentVolumeClaim": {"claimName": "data-web-0"}}, {"name": "csi"}]),
        ),
    ] {
        assert_eq!(set.pointer(pointer), Some(&expected), "{pointer}");
    }
    let staged = set.pointer("/metadata/annotations/claim-rollout.io~1staged");
    let staged: Value = serde_json::from_str(staged.and_then(Value::as_str).expect("a text")).expect("JSON");
    assert_eq!((&staged["by"], &staged["revision"]), (&json!("alice"), &json!("r")));
    let deployments: Value = serde_saphyr::from_str(text(&files, "deployments.yaml")).expect("YAML");
    let args = deployments.pointer("/items/0/spec/template/spec/containers/0/args");
    let expected = json!([
        "controller",
        "--token",
        "(left out)",
        "--token=(left out)",
        "--log-format=json"
    ]);
    assert_eq!(args, Some(&expected));
    let doctor = text(&files, "doctor.yaml");
    assert!(
        doctor.contains("stage: Releasing") && doctor.contains("stage: unreadable"),
        "{doctor}"
    );
}

#[test]
fn unread_kinds_and_logs_are_in_the_list() {
    let mut raw = raw();
    raw.kinds[0].1 = Err("may not list statefulsets".to_owned());
    let files = written(&raw);
    let about = text(&files, "README.txt");
    for line in [
        "statefulsets.yaml: not read: may not list statefulsets",
        "logs/b.log: not read: forbidden",
    ] {
        assert!(about.contains(line), "{line}: {about}");
    }
    assert!(files.iter().all(|file| file.name != SETS.file));
    let names: BTreeSet<&str> = kinds().map(|kind| kind.file).collect();
    assert_eq!(names.len(), kinds().count(), "each file has its name");
}

#[test]
fn document_lists_every_file_of_the_bundle() {
    let document = include_str!("../../../docs/commands.md");
    let files = kinds()
        .map(|kind| kind.file)
        .chain(["README.txt", "doctor.yaml", "logs/"]);
    let missing: Vec<&str> = files.filter(|file| !document.contains(&format!("`{file}`"))).collect();
    assert_eq!(missing, [""; 0]);
}

#[test]
fn scope_has_annotated_sets_and_those_with_rollouts() {
    let set = |name: &str, annotation: &str| {
        json!({
            "metadata": {"namespace": "shop", "name": name, "annotations": {annotation: "a"}},
            "spec": {"volumeClaimTemplates": [{"metadata": {"name": "data"}}]},
        })
    };
    let rollout = json!({"metadata": {"namespace": "shop", "name": "lost-set"}, "spec": {"templates": [template()]}});
    let sets = [set("web", "claim-rollout.io/staged"), set("other", "example.com/a")];
    let scope = BundledSets::of(&sets, &[rollout]);
    for (kind, name, expected) in [
        ("StatefulSet", "web", true),
        ("StatefulSet", "other", false),
        ("ClaimRollout", "lost-set", true),
        ("PersistentVolumeClaim", "data-web-0", true),
        ("PersistentVolumeClaim", "data-lost-set-10", true),
        ("PersistentVolumeClaim", "data-other-0", false),
        ("PersistentVolumeClaim", "data-web-a", false),
        ("Pod", "web-0", false),
    ] {
        let event = json!({"involvedObject": {"kind": kind, "namespace": "shop", "name": name}});
        assert_eq!(scope.has_subject(&event), expected, "{kind} {name}");
    }
}

#[test]
fn bundle_is_written_only_into_an_empty_folder() {
    let folder = tempfile::tempdir().expect("a folder");
    let bundle = folder.path().join("a/bundle");
    check(&bundle).expect("it does not exist");
    save(&written(&raw()), &bundle).expect("written");
    assert!(bundle.join("README.txt").exists() && bundle.join("logs/a.log").exists());
    check(&bundle).expect_err("it is not empty");
    #[cfg(unix)]
    {
        let mode = std::os::unix::fs::PermissionsExt::mode(&bundle.metadata().expect("a folder").permissions());
        assert_eq!(mode & 0o777, 0o700);
    }
}
