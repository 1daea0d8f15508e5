//! A change of an immutable field is denied, and nothing happens.

use anyhow::ensure;
use serde_json::{Value, json};

use crate::world::World;
use crate::world::installation::USER;
use crate::world::namespace::are_as_written;
use crate::world::web::Web;

pub(super) async fn immutable_field_is_denied_with_its_path(env: &World) -> anyhow::Result<()> {
    let ns = env.with_set("refused", 1).await?;
    let (set, claims) = (ns.set().await?, ns.claims().await?);
    let template = "spec.volumeClaimTemplates[data].spec";
    let original = Web::replicas(1);
    for (what, changed, expected) in [
        (
            "a frozen field",
            original.template(&json!({"spec": {"accessModes": ["ReadWriteMany"]}})),
            format!(
                "{template}.accessModes: cannot change, expected [\"ReadWriteOnce\"], but found [\"ReadWriteMany\"]"
            ),
        ),
        (
            "another frozen field",
            original.class("fixed"),
            format!("{template}.storageClassName: cannot change, expected \"expandable\", but found \"fixed\""),
        ),
        (
            "a smaller size",
            original.size("512Mi"),
            format!("{template}.resources.requests.storage: cannot shrink, expected at least 1Gi, but found 512Mi"),
        ),
        (
            "one template more",
            original.and_template("more"),
            "spec.volumeClaimTemplates[more]: a template cannot be added without the setting templateChanges: Allow"
                .to_owned(),
        ),
        (
            "an unknown policy",
            original.policy("Sometimes"),
            "expected one of OnClaimDelete, InPlace, but found Sometimes".to_owned(),
        ),
    ] {
        for way in [
            &["apply", "-f", "-"][..],
            &["apply", "--server-side", "--force-conflicts", "-f", "-"],
        ] {
            let output = ns.kubectl(way, &changed).await?;
            ensure!(!output.success, "{what} {way:?}: {output:?}");
            ensure!(output.stderr.contains(&expected), "{what} {way:?}: {output:?}");
            ensure!(
                output.stderr.contains("admission webhook"),
                "{what} {way:?}: {output:?}"
            );
        }
    }
    let metadata = |object: &Value| json!([object["metadata"]["resourceVersion"], object["metadata"]["uid"]]);
    ensure!(metadata(&ns.set().await?) == metadata(&set), "the set was written");
    ensure!(are_as_written(&ns.claims().await?, &claims), "a claim was written");
    let writes = ns.writes_of(USER).await?;
    ensure!(writes.is_empty(), "{writes:?}");
    Ok(())
}
