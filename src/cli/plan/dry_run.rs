//! The request that the manifest makes, as a dry run: the API server gives the verdict, the warnings, and the StatefulSet
//! as it would be stored. So all policies, their settings and the defaults of fields are those that are in force.

use anyhow::bail;
use axum::http::Request;
use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::authorization::v1::ResourceAttributes;
use kube::api::{Patch, PatchParams, PostParams};
use kube::client::Body;
use kube::core::request::Request as Path;
use kube::{Client, Resource as _};
use serde_json::Value;

use super::gather::access;
use super::inputs::Decider;
use super::overlay;
use super::request::{KUBECTL, RequestAnswer};
use crate::cli::warnings;

/// The request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DryRunRequest<'a> {
    pub(crate) namespace: &'a str,
    pub(crate) name: &'a str,
    pub(crate) manifest: &'a Value,
    /// The StatefulSet, if it exists.
    pub(crate) live: Option<&'a Value>,
    pub(crate) manager: &'a str,
    /// Whether a server-side apply takes fields from other managers.
    pub(crate) force: bool,
}

impl DryRunRequest<'_> {
    /// Sends the request. None if the StatefulSet has changed since it was read.
    ///
    /// # Errors
    /// If the API server does not answer, or asks to try again later.
    pub(crate) async fn send(&self, client: &Client) -> anyhow::Result<Option<Decider>> {
        let response = client.send(self.request()?.map(Body::from)).await?;
        let warnings = warnings::of(&response);
        let code = response.status();
        let body = response.into_body().collect_bytes().await?;
        if code.is_success() {
            let stored = Ok(serde_json::from_slice(&body)?);
            return Ok(Some(Decider::Server(RequestAnswer { stored, warnings })));
        }
        let message = message(&body);
        Ok(match code.as_u16() {
            409 if self.manager == KUBECTL => None,
            400 if message.contains("does not support dry run") => Some(Decider::Here(message)),
            401 | 429 | 502..=504 => bail!("the dry run was not answered: {message}"),
            403 if !self.is_allowed(client).await? => Some(Decider::Here(format!(
                "you may not {} StatefulSets in namespace {}",
                self.verb(),
                self.namespace
            ))),
            _ => Some(Decider::Server(RequestAnswer {
                stored: Err(message),
                warnings,
            })),
        })
    }

    /// The request as `kubectl apply` makes it; any other manager applies server-side.
    fn request(&self) -> anyhow::Result<Request<Vec<u8>>> {
        let path = Path::new(StatefulSet::url_path(&(), Some(self.namespace)));
        let manager = Some(self.manager.to_owned());
        let mut manifest = self.manifest.clone();
        manifest["metadata"]["namespace"] = self.namespace.into();
        let params = PatchParams {
            dry_run: true,
            field_manager: manager.clone(),
            ..PatchParams::default()
        };
        Ok(match self.live {
            _ if self.manager != KUBECTL => {
                let force = self.force;
                path.patch(self.name, &PatchParams { force, ..params }, &Patch::Apply(manifest))?
            }
            None => {
                overlay::set_last_applied(&mut manifest, self.manifest);
                let params = PostParams {
                    dry_run: true,
                    field_manager: manager,
                };
                path.create(&params, serde_json::to_vec(&manifest)?)?
            }
            Some(live) => path.patch(self.name, &params, &Patch::Merge(update(live, self.manifest)))?,
        })
    }

    const fn verb(&self) -> &'static str {
        if self.live.is_some() { "patch" } else { "create" }
    }

    async fn is_allowed(&self, client: &Client) -> anyhow::Result<bool> {
        let attributes = ResourceAttributes {
            namespace: Some(self.namespace.to_owned()),
            verb: Some(self.verb().to_owned()),
            group: Some("apps".to_owned()),
            resource: Some("statefulsets".to_owned()),
            // The name of what is created is not known to RBAC.
            name: self.live.map(|_| self.name.to_owned()),
            ..ResourceAttributes::default()
        };
        let status = access(client, &attributes).await?;
        Ok(status.is_some_and(|status| status.allowed))
    }
}

/// The patch that makes the manifest of the live StatefulSet, if that has not changed meanwhile.
fn update(live: &Value, manifest: &Value) -> Value {
    let mut asked = overlay::apply(live, manifest);
    overlay::set_last_applied(&mut asked, manifest);
    let mut patch = merge_patch(live, &asked);
    patch["metadata"]["resourceVersion"] = live["metadata"]["resourceVersion"].clone();
    patch
}

/// The JSON merge patch (RFC 7396) from one value to another, which has no nulls.
fn merge_patch(from: &Value, to: &Value) -> Value {
    let (Some(before), Some(after)) = (from.as_object(), to.as_object()) else {
        return to.clone();
    };
    let removed = before.keys().filter(|key| !after.contains_key(*key));
    let removed = removed.map(|key| (key.clone(), Value::Null));
    let changed = after.iter().filter(|(key, value)| before.get(*key) != Some(*value));
    let changed = changed.map(|(key, value)| {
        let patch = before
            .get(key)
            .map_or_else(|| value.clone(), |from| merge_patch(from, value));
        (key.clone(), patch)
    });
    Value::Object(removed.chain(changed).collect())
}

/// The message of a Status, or the body as it is.
fn message(body: &[u8]) -> String {
    let status: Value = serde_json::from_slice(body).unwrap_or_default();
    let text = || String::from_utf8_lossy(body).into_owned();
    status["message"].as_str().map_or_else(text, str::to_owned)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{DryRunRequest, merge_patch};
    use crate::cli::plan::request::KUBECTL;

    const SETS: &str = "/apis/apps/v1/namespaces/shop/statefulsets";

    /// The method, the place below that of all sets, the content type without `application/`, and the body of a request.
    fn sent(manager: &str, live: Option<&Value>, force: bool) -> (String, Value) {
        let manifest = json!({"metadata": {"name": "web"}, "spec": {"replicas": 2}});
        let run = DryRunRequest {
            namespace: "shop",
            name: "web",
            manifest: &manifest,
            live,
            manager,
            force,
        };
        let request = run.request().expect("a request");
        let kind = request.headers()["content-type"].to_str().expect("text");
        let line = format!("{} {} {kind}", request.method(), request.uri());
        let line = line.replace(SETS, "").replace("application/", "");
        (line, serde_json::from_slice(request.body()).expect("JSON"))
    }

    #[test]
    fn request_is_that_of_the_tool() {
        let applied = json!({"kubectl.kubernetes.io/last-applied-configuration":
            "{\"metadata\":{\"name\":\"web\"},\"spec\":{\"replicas\":2}}\n"});
        let live = json!({"metadata": {"name": "web", "resourceVersion": "7"}, "spec": {"replicas": 3, "x": 1}});
        let live = Some(&live);
        let whole = json!({"metadata": {"name": "web", "namespace": "shop"}, "spec": {"replicas": 2}});
        let mut created = whole.clone();
        created["metadata"]["annotations"] = applied.clone();
        let patch = json!({"metadata": {"annotations": applied, "resourceVersion": "7"}, "spec": {"replicas": 2}});
        let [update, create, helm, new] = [
            "PATCH /web?&dryRun=All&fieldManager=kubectl-client-side-apply merge-patch+json",
            "POST ?&dryRun=All&fieldManager=kubectl-client-side-apply json",
            "PATCH /web?&dryRun=All&fieldManager=helm apply-patch+yaml",
            "PATCH /web?&dryRun=All&force=true&fieldManager=helm apply-patch+yaml",
        ];
        for (what, found, line, body) in [
            ("kubectl apply", sent(KUBECTL, live, false), update, &patch),
            ("of a new one", sent(KUBECTL, None, false), create, &created),
            ("server-side", sent("helm", live, false), helm, &whole),
            ("forced, of a new one", sent("helm", None, true), new, &whole),
        ] {
            assert_eq!(found, (line.to_owned(), body.clone()), "{what}");
        }
    }

    #[test]
    fn merge_patch_has_only_what_changes() {
        let from = json!({"a": {"b": 1, "c": [1, 2], "d": {"e": 1}}, "f": 1});
        for (to, patch) in [
            (from.clone(), json!({})),
            (
                json!({"a": {"b": 2, "c": [1], "d": {"e": 1}}, "f": 1}),
                json!({"a": {"b": 2, "c": [1]}}),
            ),
            (
                json!({"a": {"b": 1, "c": [1, 2]}}),
                json!({"a": {"d": null}, "f": null}),
            ),
            (json!({"a": 5, "f": {"g": 1}}), json!({"a": 5, "f": {"g": 1}})),
        ] {
            assert_eq!(merge_patch(&from, &to), patch);
            let mut patched = from.clone();
            json_patch::merge(&mut patched, &patch);
            assert_eq!(patched, to);
        }
    }
}
