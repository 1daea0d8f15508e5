//! Commands that a user types, and what they print.

use std::fmt::Display;

use serde_json::Value;

use crate::world::installation::binary;
use crate::world::namespace::TestNamespace;
use crate::world::web::Web;
use crate::world::{Output, World};

/// Creates a namespace with a controller and a StatefulSet of three replicas of 1Gi, all Ready.
pub(crate) async fn prepare<'a>(env: &'a World, namespace: &str) -> anyhow::Result<TestNamespace<'a>> {
    let ns = env.managed(namespace).await?;
    ns.target(&Web::replicas(3)).await?;
    ns.until_ready(3).await?;
    Ok(ns)
}

/// `claim-rollout` in this namespace, as the administrator.
pub(crate) async fn run(
    ns: &TestNamespace<'_>,
    arguments: &[&str],
    input: &(impl Display + ?Sized),
) -> anyhow::Result<Output> {
    let arguments = [arguments, &["--namespace", &ns.namespace]].concat();
    ns.cluster
        .run(&binary()?.to_string_lossy(), &arguments, &[], &input.to_string())
        .await
}

/// The items of a document that a command printed as JSON.
pub(crate) fn items(output: &Output) -> anyhow::Result<Vec<Value>> {
    let mut document: Value = serde_json::from_str(&output.stdout)?;
    Ok(serde_json::from_value(document["items"].take())?)
}
