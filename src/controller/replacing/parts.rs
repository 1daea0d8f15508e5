//! Reads the parts of the world that a decision asks for.

use k8s_openapi::api::apps::v1::ControllerRevision;
use k8s_openapi::api::core::v1::{Namespace, PersistentVolumeClaim, Pod as CorePod, ResourceQuota};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};
use kube::api::{Api, DeleteParams, ListParams, PostParams, PropagationPolicy, Request};
use kube::core::{Selector, SelectorExt as _};
use kube::{Resource, ResourceExt};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};

use super::answer::{existing, read};
use super::cluster::{Cluster, SetName, sets_path};
use super::others::owned_by;
use crate::api::{ApiOutcome, Settings};
use crate::controller::calls::api_calls::{deletion, outcome, post};
use crate::controller::objects::blockers::SlimQuota;
use crate::controller::objects::claim::SlimClaim;
use crate::controller::objects::pod::{POD_REVISION, PodSpec, PodStatus, SlimPod};
use crate::controller::objects::set::owner;
use crate::controller::read::item::UnreadObject;
use crate::controller::read::metadata::Bare;
use crate::controller::read::{lists, metadata};
use crate::replace::world::{CountQuota, DependentPod, DependentRevision, Dependents, DryRuns};
use crate::replace::{Journal, LiveSet, Part, World, basis, scaled_away};
use crate::templates::{StagedChange, keys};

/// A ControllerRevision with unparsed data.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct SentRevision {
    #[serde(deserialize_with = "metadata::without_managers")]
    metadata: ObjectMeta,
    data: Option<Box<RawValue>>,
}

impl Cluster {
    /// Reads a part of the world.
    ///
    /// # Errors
    /// The message of the read that failed.
    pub(super) async fn fill(&self, set: &SetName, world: &mut World<'_>, part: Part) -> Result<(), String> {
        match part {
            Part::Guard => {
                let guarded = self.admission.guards_replacing(&set.namespace).await;
                world.checks.guarded = Some(guarded.map_err(|error| error.to_string())?);
            }
            Part::Dependents => return self.fill_dependents(set, world).await,
            Part::Quotas => world.checks.quotas = Some(self.count_quotas(set).await?),
            Part::Namespace => world.namespace = Some(self.namespace_uid(set).await?),
            Part::LastVersion => {
                if let Some(journal) = &world.journal {
                    world.last_version = Some(self.last_version(set, journal).await?);
                }
            }
            Part::DryRuns => {
                if let Some(live) = &world.set {
                    world.checks.dry_runs = Some(self.dry_runs(set, live).await);
                }
            }
        }
        Ok(())
    }

    /// Reads the dependents, and beside them what is asked for next: each read takes as long as a write.
    async fn fill_dependents(&self, set: &SetName, world: &mut World<'_>) -> Result<(), String> {
        let live = world.set.as_ref();
        let old = world.journal.as_ref().map(|journal| journal.uid.clone());
        let dependents = self.dependents(set, live, old);
        let dependents = match live {
            // After the set is marked, nothing can be done about objects of other kinds.
            Some(live) if !live.is_marked() => {
                let unknown = owned_by(&self.client, set, live.uid());
                let (dependents, unknown, quotas) = tokio::join!(dependents, unknown, self.count_quotas(set));
                world.checks.quotas = Some(quotas?);
                Dependents { unknown, ..dependents? }
            }
            // After the settling. Before it, what is read here would be read again.
            Some(live) if live.terminating() && world.unreferenced_since.is_some() => {
                let (dependents, namespace) = tokio::join!(dependents, self.namespace_uid(set));
                world.namespace = Some(namespace?);
                dependents?
            }
            _ => dependents.await?,
        };
        let lagging = match live {
            Some(live) if !dependents.lagging.is_empty() => self.lagging(set, live, world.settings).await?,
            _ => Vec::new(),
        };
        world.dependents = Some(Dependents { lagging, ..dependents });
        Ok(())
    }

    /// The PVCs that do not have what is staged and would never get it.
    async fn lagging(&self, set: &SetName, live: &LiveSet, settings: &Settings) -> Result<Vec<String>, String> {
        let Some(change) = scaled_away::rolled_out(live) else {
            return Ok(Vec::new());
        };
        let may_lag = |metadata: &ObjectMeta| may_lag(live, &change, metadata);
        let claim = |claim: SlimClaim| {
            // What cannot be read may lag.
            let lags = claim.read.map_or_else(
                |_| may_lag(&claim.metadata),
                |claim| scaled_away::lags(live, &change, &claim, settings),
            );
            lags.then(|| claim.metadata.name.unwrap_or_default())
        };
        let url = PersistentVolumeClaim::url_path(&(), Some(&set.namespace));
        let claims = lists::objects(&self.client, &url, ListParams::default())
            .fold(claim)
            .await;
        let claims = existing("PVCs", outcome(claims))?;
        let unread = claims.unread.into_iter().map(|unread| unread.metadata).filter(may_lag);
        let unread = unread.filter_map(|metadata| metadata.name);
        Ok(claims.kept.into_iter().chain(unread).collect())
    }

    /// The uid of the namespace, if something can be created in it.
    async fn namespace_uid(&self, set: &SetName) -> Result<String, String> {
        let namespaces: Api<Namespace> = Api::all(self.client.clone());
        let named = ("namespaces", &*set.namespace);
        let found = read(named, namespaces.get_metadata(&set.namespace)).await?;
        let found = found.filter(|found| found.metadata.deletion_timestamp.is_none());
        Ok(found.and_then(|found| found.uid()).unwrap_or_default())
    }

    /// Everything in the namespace that may refer to the set. The reads are not served from a cache.
    /// `old` is the uid of the set that is being replaced.
    async fn dependents(
        &self,
        set: &SetName,
        live: Option<&LiveSet>,
        old: Option<String>,
    ) -> Result<Dependents, String> {
        let selector = live.and_then(selector);
        let uids: Vec<String> = live.map(|live| live.uid().to_owned()).into_iter().chain(old).collect();
        let stem = format!("{}-", set.name);
        // A namespace has many other Pods.
        let concerns = |pod: &DependentPod| {
            pod.selected || pod.name.starts_with(&stem) || pod.owners.iter().any(|owner| uids.contains(owner))
        };
        let pod = |pod: SlimPod| Some(pod_of(&pod, selector.as_ref())).filter(&concerns);
        // Its content is not known: it is not Ready.
        let unread = |unread: UnreadObject| {
            pod(SlimPod {
                metadata: unread.metadata,
                spec: PodSpec::default(),
                status: PodStatus::default(),
            })
        };
        let revision = |revision: SentRevision| {
            let owners = owners("ControllerRevision", &revision.metadata);
            Some((owners, revision_of(revision)))
        };
        let change = live.filter(|live| !live.is_marked()).and_then(scaled_away::rolled_out);
        let staged = live.zip(change.as_ref());
        let claim = |claim: Bare| {
            let may_lag = staged.is_some_and(|(live, change)| may_lag(live, change, &claim.metadata));
            let owners = owners("PersistentVolumeClaim", &claim.metadata);
            Some((owners, claim.metadata.name.filter(|_| may_lag)))
        };
        let client = &self.client;
        let all = |url: String| lists::objects(client, &url, ListParams::default());
        let metadata = |url: String| lists::metadata(client, &url, ListParams::default());
        let in_namespace = Some(&*set.namespace);
        let (pods, revisions, claims) = tokio::join!(
            all(CorePod::url_path(&(), in_namespace)).fold(&pod),
            all(ControllerRevision::url_path(&(), in_namespace)).fold(revision),
            metadata(PersistentVolumeClaim::url_path(&(), in_namespace)).fold(claim),
        );
        let pods = existing("Pods", outcome(pods))?;
        let pods = pods.kept.into_iter().chain(pods.unread.into_iter().filter_map(unread));
        let revisions = existing("ControllerRevisions", outcome(revisions))?;
        let unread = revisions
            .unread
            .iter()
            .flat_map(|unread| owners("ControllerRevision", &unread.metadata));
        let unread: Vec<_> = unread.collect();
        let claims = existing("PVCs", outcome(claims))?;
        let (of_claims, left): (Vec<_>, Vec<Option<String>>) = claims.kept.into_iter().unzip();
        let (owners, revisions): (Vec<_>, Vec<_>) = revisions.kept.into_iter().unzip();
        Ok(Dependents {
            pods: pods.collect(),
            others: owners.into_iter().chain(of_claims).flatten().chain(unread).collect(),
            unknown: Vec::new(),
            lagging: left.into_iter().flatten().collect(),
            revisions,
        })
    }

    async fn count_quotas(&self, set: &SetName) -> Result<Vec<CountQuota>, String> {
        let url = ResourceQuota::url_path(&(), Some(&set.namespace));
        let quotas = lists::objects(&self.client, &url, ListParams::default());
        let listed = quotas.fold(|quota: SlimQuota| quota.sets()).await;
        existing("ResourceQuotas", outcome(listed)).map(|listed| listed.kept)
    }

    /// Asks the API server whether it would delete and create the set.
    async fn dry_runs(&self, set: &SetName, live: &LiveSet) -> DryRuns {
        let recreated = Journal::prepare(live, None, 0).map(|journal| journal.recreated());
        let recreated = recreated.unwrap_or_default();
        let mut renamed = recreated.clone();
        if let Some(metadata) = renamed["metadata"].as_object_mut() {
            let stem: String = set.name.chars().take(40).collect();
            metadata.remove("name");
            metadata.insert("generateName".to_owned(), format!("{stem}-").into());
        }
        let (delete, create, created) = tokio::join!(
            self.would_delete(set, live),
            self.would_create(set, &recreated),
            self.would_create(set, &renamed),
        );
        DryRuns {
            basis: basis(live),
            delete,
            create: match create {
                // Everything else was checked before the name.
                ApiOutcome::Conflict(_) => Ok(()),
                ApiOutcome::Done(_) => Err("the StatefulSet does not exist".to_owned()),
                other => Err(other.why()),
            },
            created: match created {
                ApiOutcome::Done(created) => Ok(LiveSet::new(created)),
                other => Err(other.why()),
            },
        }
    }

    async fn would_delete(&self, set: &SetName, live: &LiveSet) -> Result<(), String> {
        let mut params = orphan(live.uid(), None);
        params.dry_run = true;
        let request = Request::new(sets_path(&set.namespace)).delete(&set.name, &params);
        match self.send(request).await {
            ApiOutcome::Done(_) => Ok(()),
            other => Err(other.why()),
        }
    }

    async fn would_create(&self, set: &SetName, object: &Value) -> ApiOutcome<Value> {
        let params = PostParams {
            dry_run: true,
            ..post()
        };
        let body = object.to_string().into_bytes();
        let request = Request::new(sets_path(&set.namespace)).create(&params, body);
        self.send(request).await
    }
}

/// A DELETE without dependents.
pub(super) fn orphan(uid: &str, resource_version: Option<&str>) -> DeleteParams {
    DeleteParams {
        propagation_policy: Some(PropagationPolicy::Orphan),
        ..deletion(Some(uid), resource_version)
    }
}

/// The selector of the set, if it is valid.
pub(super) fn selector(set: &LiveSet) -> Option<Selector> {
    Selector::try_from(LabelSelector::deserialize(set.selector()).ok()?).ok()
}

/// True iff the PVC with this metadata may lack what is staged.
fn may_lag(live: &LiveSet, change: &StagedChange, claim: &ObjectMeta) -> bool {
    let label = claim.labels.as_ref().and_then(|labels| labels.get(keys::REVISION));
    let name = claim.name.as_deref().unwrap_or_default();
    scaled_away::may_lag(live, change, name, label.map(String::as_str))
}

/// The owners of an object, as `(kind and name, uid of the owner)`.
fn owners(kind: &str, metadata: &ObjectMeta) -> Vec<(String, String)> {
    let name = format!("{kind} {}", metadata.name.as_deref().unwrap_or_default());
    let owners = metadata.owner_references.iter().flatten();
    owners.map(|owner| (name.clone(), owner.uid.clone())).collect()
}

pub(super) fn pod_of(pod: &SlimPod, selector: Option<&Selector>) -> DependentPod {
    let references = pod.owner_references();
    let controller = references.iter().find(|owner| owner.controller == Some(true));
    let mut conditions = pod.status.conditions.iter();
    DependentPod {
        name: pod.name_any(),
        uid: pod.uid().unwrap_or_default(),
        controller: controller.cloned().map(owner),
        owners: references.iter().map(|owner| owner.uid.clone()).collect(),
        revision: pod.labels().get(POD_REVISION).cloned().unwrap_or_default(),
        selected: selector.is_some_and(|selector| selector.matches(pod.labels())),
        terminating: pod.metadata.deletion_timestamp.is_some(),
        ready: conditions.any(|condition| condition.type_ == "Ready" && condition.status == "True"),
    }
}

fn revision_of(revision: SentRevision) -> DependentRevision {
    let text = revision.data.as_deref().map_or("null", RawValue::get);
    let data = match serde_json::from_str(text) {
        Ok(data) => essence(data).unwrap_or_default().to_string(),
        // Nested without end: it is equal to the same bytes.
        Err(_) => text.to_owned(),
    };
    DependentRevision {
        name: revision.metadata.name.unwrap_or_default(),
        uid: revision.metadata.uid.unwrap_or_default(),
        digest: Sha256::digest(data).iter().map(|byte| format!("{byte:02x}")).collect(),
    }
}

/// The value without nulls and empty objects.
fn essence(value: Value) -> Option<Value> {
    match value {
        Value::Null => None,
        Value::Object(fields) => {
            let fields = fields
                .into_iter()
                .filter_map(|(key, value)| Some((key, essence(value)?)));
            let fields: serde_json::Map<String, Value> = fields.collect();
            (!fields.is_empty()).then_some(Value::Object(fields))
        }
        Value::Array(items) => Some(
            items
                .into_iter()
                .map(|item| essence(item).unwrap_or_default())
                .collect(),
        ),
        other => Some(other),
    }
}
