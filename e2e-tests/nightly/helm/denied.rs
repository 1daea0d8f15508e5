//! Helm 4 where the policy denies, with every flag that forces: no StatefulSet and no Pod is deleted.

use anyhow::ensure;
use serde_json::json;

use crate::world::World;
use crate::world::helm::{Release, VERSION, warns};
use crate::world::namespace::{staged_change, text};
use crate::world::served::Policies;

/// The ways in which Helm writes: server-side apply, or a patch that Helm computes; each with and without force.
const WAYS: [&[&str]; 4] = [
    &["--server-side=true"],
    &["--server-side=true", "--force-conflicts"],
    &["--server-side=false"],
    &["--server-side=false", "--force-replace"],
];

/// A kind of denial: the values that cause it, the user who sends them, and the message.
const DENIED: [(&str, &[&str], &str); 9] = [
    ("size=2Gi,mode=ReadWriteMany", &[], "accessModes"),
    ("size=2Gi,class=other", &[], "storageClassName"),
    ("size=512Mi", &[], "storage"),
    ("size=2Gi,more=more", &[], "more"),
    ("size=2Gi,label=kubernetes\\.io/x", &[], "kubernetes.io/x"),
    ("size=2Gi,policy=inplace", &[], "update-policy"),
    ("size=9Gi", &[], "at most 4Gi"),
    ("size=3Gi", &["--kube-as-user=bob"], "user bob cannot patch"),
    ("size=2Gi,replicas=1", &[], "data-web-1"),
];

/// The policy of all others is not called in this namespace.
pub(super) const NAMESPACE: &str = "helm-denied";

pub(super) async fn denied_helm_upgrade_keeps_the_set_even_if_forced(env: &World) -> anyhow::Result<()> {
    let ns = &env.namespace(NAMESPACE).await?;
    let policies = Policies::of_sets(&[ns])?
        .with("maxStorage", &json!({"*": "4Gi"}))
        .and_retention("Deny")?;
    let _served = policies.serve(&env.cluster).await?;
    ns.typed("create role helm --verb=* --resource=statefulsets.apps,secrets")
        .await?;
    ns.typed("create rolebinding helm --role=helm --user=bob").await?;
    let release = Release::new(ns, WAYS[0]);
    let installed = release.upgraded(VERSION, "retention=Delete,size=1Gi", &[]).await?;
    ensure!(installed.success, "{installed:?}");
    let set = ns.settled().await?;
    let before = (text(&set["metadata"]["uid"]), ns.pods().await?);
    for way in WAYS {
        let release = Release::new(ns, way);
        let allowed = release.upgraded(VERSION, "retention=Delete,size=2Gi", &[]).await?;
        ensure!(allowed.success, "{way:?}: {allowed:?}");
        let staged = staged_change(&ns.set().await?)?;
        ensure!(
            staged["templates"][0]["spec"]["resources"]["requests"]["storage"] == "2Gi",
            "{way:?}: {staged:#}"
        );
        for (values, who, message) in DENIED {
            let row = format!("{} {values} {}", way.join(" "), who.join(" "));
            let values = format!("retention=Delete,{values}");
            let answer = release.upgraded(VERSION, &values, who).await?;
            ensure!(
                !answer.success && answer.stderr.contains("denied the request"),
                "{row}: {answer:?}"
            );
            ensure!(
                warns(&answer, "") && answer.stderr.contains(message),
                "{row}: {answer:?}"
            );
            let set = ns.set().await?;
            ensure!(
                (text(&set["metadata"]["uid"]), ns.pods().await?) == before,
                "{row}: {set:#}"
            );
            ensure!(staged_change(&set)? == staged, "{row}: {set:#}");
        }
    }
    Ok(())
}
