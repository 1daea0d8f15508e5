//! The support bundle of a real cluster.

use std::fs;

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};

use super::environment::{Environment, FAULTS, KEPT, faulty};
use crate::world::web::Web;

/// A secret that users may have put where it is not expected.
const SECRET: &str = "hunter2";

/// A file of the bundle.
struct File {
    name: String,
    text: String,
}

/// The StatefulSet `planted`, with the secret in its annotations, in those of its templates, and in its Pods.
fn planted() -> Web {
    faulty("1Gi")
        .named("planted")
        .with(&json!({"metadata": {"annotations": {"example.com/token": SECRET}}}))
        .template(&json!({"metadata": {"annotations": {"example.com/note": SECRET}}}))
        .container(&json!({"args": [SECRET], "env": [{"name": "PASSWORD", "value": SECRET}]}))
}

/// Writes a bundle, and reads its files.
async fn bundle(env: &Environment, name: &str, more: &[&str]) -> anyhow::Result<(Option<i32>, Vec<File>)> {
    let folder = env.cluster.folder().join(name);
    let path = folder.to_string_lossy();
    let output = env.run(&[&["doctor", "--bundle", &path], more].concat()).await?;
    let mut files = Vec::new();
    for entry in fs::read_dir(&folder).with_context(|| format!("{output:?}"))? {
        let entry = entry?;
        if entry.file_type()?.is_file() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let text = fs::read_to_string(entry.path())?;
            files.push(File { name, text });
        }
    }
    let again = env.run(&[&["doctor", "--bundle", &path], more].concat()).await?;
    ensure!(
        again.code == Some(2) && again.stderr.contains("expected an empty folder"),
        "{again:?}"
    );
    Ok((output.code, files))
}

fn items(files: &[File], name: &str) -> anyhow::Result<Vec<Value>> {
    let file = files
        .iter()
        .find(|file| file.name == name)
        .with_context(|| name.to_owned())?;
    let list: Value = serde_saphyr::from_str(&file.text)?;
    Ok(list["items"].as_array().cloned().unwrap_or_default())
}

fn names(items: &[Value]) -> Vec<String> {
    let mut names: Vec<String> = items
        .iter()
        .map(|item| crate::world::namespace::text(&item["metadata"]["name"]))
        .collect();
    names.sort();
    names
}

/// The StatefulSets with an annotation of ours or a ClaimRollout, and what belongs to them.
fn has_objects_of_sets(files: &[File]) -> anyhow::Result<()> {
    let sets = items(files, "statefulsets.yaml")?;
    ensure!(names(&sets) == ["planted", "web", "web"], "{:?}", names(&sets));
    let namespaces: Vec<&Value> = sets.iter().map(|set| &set["metadata"]["namespace"]).collect();
    ensure!(
        namespaces.contains(&&json!(KEPT)) && namespaces.contains(&&json!(FAULTS)),
        "{namespaces:?}"
    );
    let claims = names(&items(files, "persistentvolumeclaims.yaml")?);
    // Those of the StatefulSets, also of replicas that were removed.
    let expected = ["data-planted-0", "data-web-0", "data-web-1"];
    ensure!(
        claims.iter().all(|claim| expected.contains(&claim.as_str())),
        "{claims:?}"
    );
    ensure!(claims.contains(&"data-planted-0".to_owned()), "{claims:?}");
    let webhooks = items(files, "mutatingwebhookconfigurations.yaml")?;
    ensure!(names(&webhooks) == ["claim-rollout-webhook"], "{webhooks:?}");
    ensure!(
        items(files, "validatingadmissionpolicies.yaml")?.len() == 5,
        "the guard"
    );
    ensure!(
        names(&items(files, "leases.yaml")?) == ["claim-rollout-controller"],
        "the Lease"
    );
    let events = items(files, "events.yaml")?;
    ensure!(
        events.iter().any(|event| event["reason"] == "SuccessfulCreate"),
        "{events:?}"
    );
    Ok(())
}

pub(super) async fn bundle_has_no_planted_secret(env: &mut Environment) -> anyhow::Result<()> {
    env.faults(&["apply", "-f", "-"], &planted()).await?;
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}, "stringData": {"a": SECRET}});
    env.faults(&["apply", "-f", "-"], &secret.to_string()).await?;
    let stored = env.faults(&["get", "statefulset/planted", "-o", "json"], "").await?;
    ensure!(
        stored.stdout.matches(SECRET).count() > 4,
        "planted in annotations, templates and Pods"
    );
    env.until_no_drift(&["-n", FAULTS]).await?;

    let (code, files) = bundle(env, "bundle", &[]).await?;
    ensure!(code == Some(0), "{code:?}");
    for File { name, text } in &files {
        ensure!(!text.contains(SECRET), "{name}: {text}");
        // The certificate of the webhook, and the secret part of its path.
        ensure!(
            !text.contains("caBundle") && !text.contains("/validate/"),
            "{name}: {text}"
        );
    }
    has_objects_of_sets(&files)?;

    // Kubewarden is not installed, and the list shows it.
    let about = files.iter().find(|file| file.name == "README.txt").context("a list")?;
    ensure!(
        about.text.contains("clusteradmissionpolicies.yaml: not read: "),
        "{}",
        about.text
    );
    env.faults(&["delete", "statefulset/planted", "secret/a", "pvc/data-planted-0"], "")
        .await?;
    env.until_healthy().await?;

    blind(env).await
}

/// A user without rights gets the findings, and no objects.
async fn blind(env: &mut Environment) -> anyhow::Result<()> {
    let kubeconfig = env.cluster.kubeconfig_for("bob", &[])?.display().to_string();
    let (code, files) = bundle(env, "blind", &["--kubeconfig", &kubeconfig]).await?;
    let found: Vec<&str> = files.iter().map(|file| &*file.name).collect();
    ensure!(code == Some(2) && found.len() == 2, "{code:?} {found:?}");
    let doctor = files
        .iter()
        .find(|file| file.name == "doctor.yaml")
        .context("findings")?;
    ensure!(
        doctor.text.contains("statefulsets.apps is forbidden"),
        "{}",
        doctor.text
    );
    Ok(())
}
