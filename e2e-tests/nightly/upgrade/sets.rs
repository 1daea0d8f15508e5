//! The StatefulSets of the upgrade, each in a namespace of its own, and what each of them does meanwhile.

use anyhow::{Context as _, ensure};
use serde_json::Value;

use crate::world::namespace::{TestNamespace, condition};
use crate::world::web::Web;
use crate::world::{Driver, World, until};

/// An expansion that does not end before the test wants it to. The resizer asks again every ten seconds.
fn held() -> Driver {
    Driver {
        expand_delay_millis: 3_600_000,
        ..Driver::default()
    }
}

/// What happens to the Pods of a StatefulSet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pods {
    /// They run on.
    Stay,
    /// Each is replaced once, because the image changes.
    Change,
}

/// A StatefulSet before the upgrade, and its target.
#[derive(Clone, Copy, Debug)]
pub(super) struct Case {
    pub(super) namespace: &'static str,
    pub(super) replicas: u32,
    /// Its annotation besides the update policy; none for a StatefulSet without annotations.
    annotation: Option<(&'static str, &'static str)>,
    pub(super) pods: Pods,
    /// Its PVCs begin to grow before the upgrade.
    grows: bool,
}

const LOCK_STEP: Option<(&str, &str)> = Some(("sync", "LockStep"));
const ASYNC: Option<(&str, &str)> = Some(("sync", "Async"));
const REPLACED: Option<(&str, &str)> = Some(("replace-set", "WhenComplete"));

/// Lowering the partition begins each of its replicas.
const STEPWISE: Case = case("upgrade-stepwise", 4, LOCK_STEP, Pods::Change, true);

const CASES: [Case; 7] = [
    STEPWISE,
    // Its first PVC grows during the whole upgrade.
    case("upgrade-lockstep", 3, LOCK_STEP, Pods::Change, true),
    // Its Pods are new before the upgrade, and its PVCs grow afterwards.
    case("upgrade-async", 3, ASYNC, Pods::Change, true),
    // The new API server and the old controllers replace it.
    case("upgrade-replaced", 3, REPLACED, Pods::Stay, true),
    // The new controllers end its replacement.
    case("upgrade-due", 3, REPLACED, Pods::Stay, true),
    // Its rollout is complete before the upgrade.
    case("upgrade-complete", 2, LOCK_STEP, Pods::Stay, false),
    // Only Kubernetes acts on it.
    case("upgrade-plain", 2, None, Pods::Stay, false),
];

const fn case(
    namespace: &'static str,
    replicas: u32,
    annotation: Option<(&'static str, &'static str)>,
    pods: Pods,
    grows: bool,
) -> Case {
    Case {
        namespace,
        replicas,
        annotation,
        pods,
        grows,
    }
}

impl Case {
    /// The manifest with this size and image.
    pub(super) fn manifest(&self, size: &str, tag: &str) -> Web {
        let web = Web::replicas(self.replicas).size(size).class(self.namespace);
        let web = match self.annotation {
            Some((key, value)) => web.annotated(key, value),
            None => web.plain(),
        };
        match self.pods {
            Pods::Stay => web,
            Pods::Change => web.image(tag),
        }
    }

    /// The PVCs in the order of a rollout.
    pub(super) fn claims(&self) -> Vec<String> {
        (0..self.replicas)
            .rev()
            .map(|ordinal| format!("data-web-{ordinal}"))
            .collect()
    }
}

/// One of the StatefulSets.
pub(super) struct Member<'a> {
    pub(super) case: Case,
    pub(super) ns: TestNamespace<'a>,
    /// Its Pods and PVCs before its rollout.
    pub(super) pods: Vec<Value>,
    pub(super) claims: Vec<Value>,
    /// Earlier writes do not count.
    pub(super) mark: usize,
}

/// The members between two programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// The API server is new.
    OldControllers,
    /// The controllers are replaced next.
    NewControllers,
}

/// All of them.
pub(super) struct Fleet<'a> {
    pub(super) env: &'a World,
    pub(super) members: Vec<Member<'a>>,
}

impl<'a> Member<'a> {
    async fn prepare(env: &'a World, case: Case) -> anyhow::Result<Self> {
        let ns = env.namespace(case.namespace).await?;
        ns.make_class(&Driver::default(), true).await?;
        ns.target(&case.manifest("1Gi", "1")).await?;
        ns.settled().await?;
        let mut member = Self {
            case,
            pods: ns.pods().await?,
            claims: ns.claims().await?,
            mark: ns.mark().await?,
            ns,
        };
        if !case.grows && case.annotation.is_some() {
            member.ns.target(&case.manifest("2Gi", "1")).await?;
            member.ns.until_complete(case.replicas as usize, "2Gi").await?;
            member.mark = member.ns.mark().await?;
        }
        Ok(member)
    }

    /// Changes the target, and returns when its first PVC is being expanded.
    async fn begin(&self) -> anyhow::Result<()> {
        let (case, ns) = (&self.case, &self.ns);
        let target = case.manifest("2Gi", "2");
        if case.namespace == STEPWISE.namespace {
            // The first replica is complete before the upgrade.
            ns.target(&target.partition(case.replicas - 1)).await?;
            let is_partitioned = |rollout: &Value| {
                rollout["status"]["conditions"][1]["reason"] == "Partitioned" && rollout["status"]["readyReplicas"] == 1
            };
            ns.until_reported("the first replica", is_partitioned).await?;
            ns.until_updated(1).await?;
            return self.lower(case.replicas - 2).await;
        }
        self.hold(&held())?;
        ns.target(&target).await?;
        if case.annotation == ASYNC {
            ns.until_updated(case.replicas as usize).await?;
        }
        self.until_expanding(case.replicas - 1).await
    }

    /// Lowers the partition, and returns when the PVC of that replica is being expanded.
    async fn lower(&self, partition: u32) -> anyhow::Result<()> {
        self.hold(&held())?;
        self.ns.partition(partition).await?;
        self.until_expanding(partition).await
    }

    /// Its rollout goes on during the upgrade.
    pub(super) fn grows(&self) -> bool {
        self.case.grows
    }

    /// Its rollout ends with a replacement.
    pub(super) fn is_replaced(&self) -> bool {
        self.case.annotation == REPLACED
    }

    /// Its Pods wait for their PVCs.
    pub(super) fn waits_for_claims(&self) -> bool {
        self.case.pods == Pods::Change && self.case.annotation == LOCK_STEP
    }

    fn hold(&self, driver: &Driver) -> anyhow::Result<()> {
        self.ns.cluster.set_driver_of(self.case.namespace, driver)
    }

    async fn is_expanding(&self, ordinal: u32) -> anyhow::Result<bool> {
        let claims = self.ns.claims().await?;
        let claim = claims.get(ordinal as usize).context("a PVC")?;
        let (wanted, has) = (
            &claim["spec"]["resources"]["requests"]["storage"],
            &claim["status"]["capacity"]["storage"],
        );
        let state = &claim["status"]["allocatedResourceStatuses"]["storage"];
        Ok(wanted == "2Gi" && has == "1Gi" && state == "ControllerResizeInProgress")
    }

    async fn until_expanding(&self, ordinal: u32) -> anyhow::Result<()> {
        let what = format!("data-web-{ordinal} of {} to be expanded", self.case.namespace);
        until(&what, async || self.is_expanding(ordinal).await, |is| *is)
            .await
            .map(drop)
    }
}

impl<'a> Fleet<'a> {
    /// Creates all StatefulSets, and returns when each is in the middle.
    pub(super) async fn begin(env: &'a World) -> anyhow::Result<Self> {
        let members = CASES.map(|case| Member::prepare(env, case));
        let members = futures::future::try_join_all(members).await?;
        let growing = members.iter().filter(|member| member.case.grows);
        futures::future::try_join_all(growing.map(Member::begin)).await?;
        Ok(Self { env, members })
    }

    pub(super) fn member(&self, namespace: &str) -> anyhow::Result<&Member<'a>> {
        let found = self.members.iter().find(|member| member.case.namespace == namespace);
        found.with_context(|| namespace.to_owned())
    }

    /// Fails if a rollout has ended that should go on.
    pub(super) async fn is_in_the_middle(&self, step: Step) -> anyhow::Result<()> {
        for member in self.members.iter().filter(|member| member.case.grows) {
            let ordinal = match (member.case.namespace, step) {
                ("upgrade-stepwise", Step::OldControllers) => 2,
                ("upgrade-stepwise", Step::NewControllers) => 1,
                ("upgrade-replaced", Step::NewControllers) => continue,
                _ => member.case.replicas - 1,
            };
            ensure!(
                member.is_expanding(ordinal).await?,
                "{} is not in the middle: {:#?}",
                member.case.namespace,
                member.ns.claims().await?
            );
        }
        Ok(())
    }

    /// The replica at the partition ends, and the next one begins.
    pub(super) async fn next_replica(&self, ordinal: u32) -> anyhow::Result<()> {
        let member = self.member(STEPWISE.namespace)?;
        member.hold(&Driver::default())?;
        let ready = STEPWISE.replicas - ordinal;
        let is_ready = |rollout: &Value| rollout["status"]["readyReplicas"] == ready;
        member.ns.until_reported("the next replica", is_ready).await?;
        member.ns.until_updated(ready as usize).await?;
        member.lower(ordinal - 1).await
    }

    /// The PVCs of this StatefulSet grow, and it is replaced.
    pub(super) async fn replaces(&self, namespace: &str) -> anyhow::Result<()> {
        self.member(namespace)?.hold(&Driver::default())?;
        self.is_replaced(namespace).await
    }

    pub(super) async fn is_replaced(&self, namespace: &str) -> anyhow::Result<()> {
        let is_replaced = |rollout: &Value| rollout["status"]["replacement"]["phase"] == "Replaced";
        let ns = &self.member(namespace)?.ns;
        ns.until_reported("the replacement", is_replaced).await?;
        ns.settled().await.map(drop)
    }

    /// The PVCs of this StatefulSet grow, and it is deleted: without a garbage collector it stays, with its Pods.
    pub(super) async fn begins_to_replace(&self, namespace: &str) -> anyhow::Result<()> {
        let member = self.member(namespace)?;
        member.hold(&Driver::default())?;
        let is_terminating = |set: &Value| !set["metadata"]["deletionTimestamp"].is_null();
        let set = member
            .ns
            .until("the StatefulSet to be deleted", "statefulset/web", is_terminating);
        let last = &set.await?["metadata"];
        let finalizers = last["finalizers"].to_string();
        ensure!(finalizers.contains("\"orphan\""), "{last:#}");
        Ok(())
    }

    /// All volumes grow.
    pub(super) async fn end(&self) -> anyhow::Result<()> {
        for member in &self.members {
            member.hold(&Driver::default())?;
        }
        let ended = self
            .members
            .iter()
            .filter(|member| member.case.grows)
            .map(async |member| {
                let (case, ns) = (&member.case, &member.ns);
                if member.is_replaced() {
                    return self.is_replaced(case.namespace).await;
                }
                ns.until_complete(case.replicas as usize, "2Gi").await?;
                ns.settled().await.map(drop)
            });
        futures::future::try_join_all(ended).await.map(drop)
    }

    /// A StatefulSet that was at rest during the upgrade gets another target.
    pub(super) async fn rolls_out_again(&self) -> anyhow::Result<()> {
        let Member { case, ns, .. } = self.member("upgrade-complete")?;
        ns.give_rights_to_alice_and_bob().await?;
        let staged = ns.staged_change().await?;
        ns.typed("annotate statefulset web claim-rollout.io/staged- --as=bob")
            .await?;
        ensure!(ns.staged_change().await? == staged, "the policy was not called");
        let output = ns.target(&case.manifest("3Gi", "1")).await?;
        ensure!(
            output.stderr.contains("claim-rollout: staged data 2Gi -> 3Gi"),
            "{output:?}"
        );
        ns.until_complete(case.replicas as usize, "3Gi").await?;
        ensure!(condition(&ns.rollout().await?, "Ready") == "True", "not Ready");
        Ok(())
    }
}
