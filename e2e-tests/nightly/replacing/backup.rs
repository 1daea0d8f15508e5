//! Backups that were made during a replacement are restored: with the finalizer, the partition and `whenDeleted: Retain`
//! of the controller.

use anyhow::ensure;
use serde_json::{Value, json};

use crate::cluster::replacing::trial::{prepare, replaced};
use crate::world::World;
use crate::world::namespace::TestNamespace;
use crate::world::web::Web;

/// A StatefulSet as a backup has it: Velero removes what only the cluster knows, and keeps finalizers
/// (`resetMetadata` in github.com/vmware-tanzu/velero, pkg/restore/restore.go).
fn backup(name: &str, web: &Web) -> Value {
    let mut set = web.value();
    set["metadata"]["name"] = name.into();
    set["spec"]["replicas"] = 0.into();
    set["spec"]["persistentVolumeClaimRetentionPolicy"] = json!({"whenDeleted": "Retain", "whenScaled": "Delete"});
    set
}

/// Restores it as an administrator, and returns it with the warnings.
async fn restored(ns: &TestNamespace<'_>, backup: &Value) -> anyhow::Result<(Value, String)> {
    let created = ns.done(&["create", "-f", "-", "-o=json"], backup).await?;
    Ok((serde_json::from_str(&created.stdout)?, created.stderr))
}

pub(super) async fn set_from_a_backup_of_a_replacement_is_restored(env: &World) -> anyhow::Result<()> {
    let ns = &prepare(env, "backup", 1).await?;
    let finalizer = "our finalizer is removed";
    let partition = "partition 1000000000 is removed; set yours again";
    let retain = "whenDeleted: Retain may not be yours";
    // With `defaultReplaceSet: WhenComplete` it has no annotation of ours.
    for (name, manifest, is_marked, is_held) in [
        ("marked", replaced(0, "1Gi"), true, false),
        ("created", replaced(0, "1Gi"), true, true),
        ("bare", Web::replicas(0).plain(), true, true),
        ("without-finalizers", Web::replicas(0).plain(), false, true),
    ] {
        let mut backup = backup(name, &manifest);
        if is_marked {
            backup["metadata"]["finalizers"] = json!(["example.com/other", "claim-rollout.io/replacing"]);
        }
        if is_held {
            backup["spec"]["updateStrategy"] =
                json!({"type": "RollingUpdate", "rollingUpdate": {"partition": 1_000_000_000}});
        }
        let (set, warnings) = restored(ns, &backup).await?;
        let others = if is_marked {
            json!(["example.com/other"])
        } else {
            Value::Null
        };
        ensure!(set["metadata"]["finalizers"] == others, "{name}: {set:#}");
        ensure!(
            set["spec"]["updateStrategy"]["rollingUpdate"]["partition"] == 0,
            "{name}: {set:#}"
        );
        ensure!(
            set["spec"]["persistentVolumeClaimRetentionPolicy"]
                == backup["spec"]["persistentVolumeClaimRetentionPolicy"],
            "{name}: {set:#}"
        );
        for (expected, is_expected) in [(finalizer, is_marked), (partition, is_held), (retain, true)] {
            let line = format!("StatefulSet {name} was copied while being replaced: {expected}");
            ensure!(warnings.contains(&line) == is_expected, "{name}: {warnings}");
        }
        // So that the namespace can end.
        let clean = r#"{"metadata":{"finalizers":null}}"#;
        ns.done(&["patch", "statefulset", name, "--type=merge", "-p", clean], "")
            .await?;
    }
    // What looks similar is left alone.
    let mut own = backup("own", &Web::replicas(0).plain());
    own["spec"]["updateStrategy"] = json!({"type": "RollingUpdate", "rollingUpdate": {"partition": 999_999_999}});
    let (set, warnings) = restored(ns, &own).await?;
    ensure!(
        set["spec"]["updateStrategy"]["rollingUpdate"]["partition"] == 999_999_999,
        "{set:#}"
    );
    ensure!(!warnings.contains("claim-rollout"), "{warnings}");
    Ok(())
}
