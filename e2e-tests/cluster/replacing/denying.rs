//! Policies of somebody else: they deny requests about the StatefulSets or Pods of one namespace.

use anyhow::ensure;
use serde_json::json;

use crate::world::installation::USER;
use crate::world::namespace::TestNamespace;
use crate::world::web::Web;
use crate::world::{manifests, until};

/// The message of the policies.
pub(crate) const MESSAGE: &str = "somebody protects this namespace";

/// A ValidatingAdmissionPolicy for one namespace. It stays until [`Denial::end`].
pub(crate) struct Denial {
    name: String,
}

impl Denial {
    /// Denies this operation on these resources, if the CEL expression is true. `probe` is a request that has to be
    /// denied, so that it is known that the API server has read the policy.
    pub(crate) async fn begin(
        ns: &TestNamespace<'_>,
        (operation, group, resource): (&str, &str, &str),
        condition: &str,
        (probe, input): (&[&str], &str),
    ) -> anyhow::Result<Self> {
        let name = format!("{}-{resource}-{}", ns.namespace, operation.to_lowercase());
        let validation = json!({"expression": "false", "message": MESSAGE, "reason": "Forbidden"});
        let request = [operation, group, resource];
        let [mut policy, binding] = manifests::denying(&name, &ns.namespace, request, &validation);
        policy["spec"]["matchConditions"] = json!([{"name": "condition", "expression": condition}]);
        for object in [policy, binding] {
            ns.target(&object).await?;
        }
        let ask = async || {
            let output = ns.kubectl(&[probe, &["--dry-run=server"]].concat(), input).await?;
            ensure!(output.success || output.stderr.contains(MESSAGE), "{output:?}");
            Ok(output)
        };
        until("the API server to know the policy", ask, |output| !output.success).await?;
        Ok(Self { name })
    }

    /// Denies every DELETE of a StatefulSet, as a deletion protection does.
    pub(crate) async fn of_deletes(ns: &TestNamespace<'_>) -> anyhow::Result<Self> {
        let probe = ["delete", "statefulset", "web", "--cascade=orphan"];
        Self::begin(ns, ("DELETE", "apps", "statefulsets"), "true", (&probe, "")).await
    }

    /// Denies every CREATE of a StatefulSet.
    pub(crate) async fn of_creates(ns: &TestNamespace<'_>) -> anyhow::Result<Self> {
        let probe = Web::replicas(0).plain().named("probe").to_string();
        let probe = (&["create", "-f", "-"][..], &*probe);
        Self::begin(ns, ("CREATE", "apps", "statefulsets"), "true", probe).await
    }

    /// Denies the CREATE of the controller, but not its dry runs: the StatefulSet stays absent.
    pub(crate) async fn of_the_create(ns: &TestNamespace<'_>) -> anyhow::Result<Self> {
        let condition = format!(
            "request.userInfo.username == '{USER}' && (object.metadata.?name.orValue('') == 'probe' || \
             !request.?dryRun.orValue(false))"
        );
        let probe = probe().to_string();
        let probe = (&["create", "-f", "-", "--as", USER][..], &*probe);
        Self::begin(ns, ("CREATE", "apps", "statefulsets"), &condition, probe).await
    }

    /// Denies the mark of the controller. No dry run shows that.
    pub(crate) async fn of_the_mark(ns: &TestNamespace<'_>) -> anyhow::Result<Self> {
        let condition = format!(
            "request.userInfo.username == '{USER}' && ('claim-rollout.io/replacing' in \
             object.metadata.?finalizers.orValue([]) || \
             object.metadata.annotations[?'claim-rollout.io/ready'].orValue('') == 'probe')"
        );
        let probe = [
            "annotate",
            "statefulset",
            "web",
            "claim-rollout.io/ready=probe",
            "--as",
            USER,
        ];
        Self::begin(ns, ("UPDATE", "apps", "statefulsets"), &condition, (&probe, "")).await
    }

    /// Removes the policy. The API server notices that a moment later.
    pub(crate) async fn end(self, ns: &TestNamespace<'_>) -> anyhow::Result<()> {
        for kind in ["validatingadmissionpolicybinding", "validatingadmissionpolicy"] {
            ns.done(&["delete", kind, &self.name], "").await?;
        }
        Ok(())
    }
}

/// A StatefulSet that the guard allows the controller to create.
fn probe() -> Web {
    let web = Web::replicas(0).plain().named("probe");
    web.with(&json!({"metadata": {"finalizers": ["claim-rollout.io/replacing"]}}))
}
