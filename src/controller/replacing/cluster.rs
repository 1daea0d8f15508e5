//! The objects of one replacement, read without caches.

use std::sync::Arc;

use k8s_openapi::ByteString;
use k8s_openapi::api::authorization::v1::{ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec};
use k8s_openapi::api::core::v1::Secret;
use kube::api::{Api, GetParams, ListParams, PostParams, Request};
use kube::{Client, ResourceExt};
use serde::Deserialize;
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::answer::{delete, existing, read};
use crate::api::{ApiOutcome, Settings};
use crate::controller::calls::api_calls::{call, deletion, outcome};
use crate::controller::crd::ClaimRollout;
use crate::controller::objects::rollout::SlimRollout;
use crate::controller::objects::set::SlimSet;
use crate::controller::objects::views;
use crate::controller::read::lists;
use crate::controller::registrations::admission::Admission;
use crate::gate::Target;
use crate::replace::journal::Millis;
use crate::replace::world::ReportOwner;
use crate::replace::{Journal, LiveSet, SetObjects, Stage};

/// The label of the Secrets that are journals.
pub(crate) const JOURNAL_LABEL: &str = "claim-rollout.io/journal";

/// The key of the journal in its Secret.
const JOURNAL_KEY: &str = "journal";

/// What all replacements share.
pub(crate) struct Cluster {
    pub(crate) client: Client,
    pub(crate) settings: Arc<Settings>,
    pub(crate) admission: Arc<Admission>,
    /// The namespace of the journals.
    pub(crate) journals: String,
    pub(crate) clock: fn() -> Millis,
}

/// A request, or why it cannot be built.
type BuiltRequest = Result<axum::http::Request<Vec<u8>>, kube::core::request::Error>;

/// The namespace and the name of a StatefulSet.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct SetName {
    pub(crate) namespace: String,
    pub(crate) name: String,
}

impl Cluster {
    /// Reads the set, the journal and the ClaimRollout.
    ///
    /// # Errors
    /// The message of the first read that failed.
    pub(super) async fn look(&self, set: &SetName) -> Result<SetObjects, String> {
        let reports: Api<SlimRollout> = Api::namespaced(self.client.clone(), &set.namespace);
        let (found, secret, report) = tokio::join!(self.read(set), self.secret(set), call(reports.get(&set.name)),);
        let secret = secret?;
        let (journal, unreadable) = match secret.as_ref().map(|secret| journal_of(secret, set)) {
            None => (None, None),
            Some(Ok(journal)) => (Some(journal), None),
            Some(Err(why)) => (None, Some(why)),
        };
        let report = report_of(report)?;
        Ok(SetObjects {
            set: found?,
            journal,
            secret: secret.as_ref().and_then(ResourceExt::uid),
            journal_version: secret.and_then(|secret| secret.resource_version()),
            unreadable,
            report_version: report.as_ref().and_then(ResourceExt::resource_version),
            report: report.as_ref().map_or(ReportOwner::NoReport, report_owner),
        })
    }

    /// Reads the set.
    ///
    /// # Errors
    /// The message of a read that failed.
    pub(super) async fn read(&self, set: &SetName) -> Result<Option<LiveSet>, String> {
        let request = Request::new(sets_path(&set.namespace)).get(&set.name, &GetParams::default());
        let request = request.map_err(|error| error.to_string())?;
        let found = read(("statefulsets", &*set.name), self.client.request::<Value>(request)).await?;
        Ok(found.map(LiveSet::new))
    }

    async fn secret(&self, set: &SetName) -> Result<Option<Secret>, String> {
        let name = secret_name(set);
        read(("secrets", &*name), self.secrets().get(&name)).await
    }

    pub(super) fn secrets(&self) -> Api<Secret> {
        Api::namespaced(self.client.clone(), &self.journals)
    }

    /// Whether we may list the journals. Without the rights to replace sets there are none, and a LIST would be denied.
    async fn may_list(&self) -> ApiOutcome<bool> {
        let review = SelfSubjectAccessReview {
            spec: SelfSubjectAccessReviewSpec {
                resource_attributes: Some(ResourceAttributes {
                    namespace: Some(self.journals.clone()),
                    verb: Some("list".to_owned()),
                    resource: Some("secrets".to_owned()),
                    ..ResourceAttributes::default()
                }),
                ..SelfSubjectAccessReviewSpec::default()
            },
            ..SelfSubjectAccessReview::default()
        };
        let reviews: Api<SelfSubjectAccessReview> = Api::all(self.client.clone());
        let reviewed = call(reviews.create(&PostParams::default(), &review)).await;
        reviewed.and_then(|review| ApiOutcome::Done(review.status.is_some_and(|status| status.allowed)))
    }

    /// What `keep` returns of the Secrets of journals.
    async fn journals<T>(&self, keep: impl FnMut(Secret) -> Option<T>) -> ApiOutcome<Vec<T>> {
        match self.may_list().await {
            ApiOutcome::Done(true) => {}
            other => {
                return other
                    .and_then(|_| ApiOutcome::denied("Forbidden", "the right to list them is missing".to_owned()));
            }
        }
        let (secrets, labeled) = (self.secrets(), ListParams::default().labels(JOURNAL_LABEL));
        let listed = lists::objects(&self.client, secrets.resource_url(), labeled)
            .fold(keep)
            .await;
        outcome(listed.map(|listed| listed.kept))
    }

    /// The sets that have a journal, with its stage.
    pub(super) async fn journaled(&self) -> ApiOutcome<Vec<(SetName, Stage)>> {
        let name = |secret: Secret| {
            let journal = read_journal(&secret).ok()?;
            Some((SetName::new(journal.namespace, journal.name), journal.stage))
        };
        self.journals(name).await
    }

    /// The Secrets of journals that cannot be read or are not to be believed, and why.
    pub(super) async fn refused_journals(&self) -> ApiOutcome<Vec<(Secret, String)>> {
        let refused = |secret: Secret| {
            let why = read_journal(&secret).err()?;
            // Its data may be large.
            let metadata = secret.metadata;
            let secret = Secret {
                metadata,
                ..Secret::default()
            };
            Some((secret, why))
        };
        self.journals(refused).await
    }

    /// Writes the journal. `version` is the resourceVersion of the one that was read. Returns the uid and the
    /// resourceVersion of the Secret.
    pub(super) async fn write_journal(
        &self,
        set: &SetName,
        journal: &Journal,
        version: Option<&str>,
    ) -> ApiOutcome<[Option<String>; 2]> {
        let text = match journal.write() {
            Ok(text) => text,
            Err(error) => return ApiOutcome::denied("Invalid", error.to_string()),
        };
        let mut secret = Secret {
            data: Some([(JOURNAL_KEY.to_owned(), ByteString(text.into_bytes()))].into()),
            type_: Some("claim-rollout.io/journal".to_owned()),
            ..Secret::default()
        };
        secret.metadata.name = Some(secret_name(set));
        secret.metadata.labels = Some([(JOURNAL_LABEL.to_owned(), "true".to_owned())].into());
        secret.metadata.resource_version = version.map(str::to_owned);
        let secrets = self.secrets();
        let params = PostParams::default();
        let written = match version {
            None => call(secrets.create(&params, &secret)).await,
            Some(_) => call(secrets.replace(&secret_name(set), &params, &secret)).await,
        };
        written.and_then(|secret| ApiOutcome::Done([secret.uid(), secret.resource_version()]))
    }

    /// Sends a request about StatefulSets.
    pub(super) async fn send(&self, request: BuiltRequest) -> ApiOutcome<Value> {
        match request {
            Ok(request) => call(self.client.request::<Value>(request)).await,
            Err(error) => ApiOutcome::denied("Invalid", error.to_string()),
        }
    }

    /// Deletes the journal that was read.
    pub(super) async fn delete_journal(&self, set: &SetName, version: Option<&str>) -> ApiOutcome<()> {
        delete(&self.secrets(), &secret_name(set), &deletion(None, version)).await
    }
}

/// Whether the staged change obeys the rules of the settings.
pub(super) fn allows(settings: &Settings, set: &LiveSet) -> Result<(), String> {
    let slim = slim(set)?;
    let view = views::set(&slim).map_err(|error| error.to_string())?;
    Target::staged(&view, settings)
        .map(drop)
        .map_err(|idle| idle.to_string())
}

impl SetName {
    pub(crate) fn new(namespace: impl Into<String>, name: impl Into<String>) -> Self {
        Self {
            namespace: namespace.into(),
            name: name.into(),
        }
    }
}

/// The set with only the fields that the rollout reads.
pub(super) fn slim(set: &LiveSet) -> Result<SlimSet, String> {
    let text = set.object().to_string();
    SlimSet::deserialize(&mut serde_json::Deserializer::from_str(&text)).map_err(|error| error.to_string())
}

pub(super) fn sets_path(namespace: &str) -> String {
    format!("/apis/apps/v1/namespaces/{namespace}/statefulsets")
}

/// The name of the Secret: a hash, because namespace and name together can be too long.
fn secret_name(set: &SetName) -> String {
    let hash = Sha256::digest(format!("{}/{}", set.namespace, set.name));
    let digits: String = hash.iter().take(10).map(|byte| format!("{byte:02x}")).collect();
    format!("claim-rollout-journal-{digits}")
}

/// Reads a journal from its Secret.
///
/// # Errors
/// Why it cannot be read.
pub(crate) fn read_journal(secret: &Secret) -> Result<Journal, String> {
    let data = secret.data.as_ref().and_then(|data| data.get(JOURNAL_KEY));
    let text = data.map(|bytes| String::from_utf8_lossy(&bytes.0)).unwrap_or_default();
    let uid = secret.metadata.uid.as_deref().unwrap_or_default();
    Journal::read(&text, uid).map_err(|error| error.to_string())
}

/// The journal of the set.
fn journal_of(secret: &Secret, set: &SetName) -> Result<Journal, String> {
    let named = |why: String| format!("Secret {} is no journal: {why}", secret.name_any());
    let journal = read_journal(secret).map_err(named)?;
    if (&*journal.namespace, &*journal.name) == (&*set.namespace, &*set.name) {
        Ok(journal)
    } else {
        Err(named("it is of another StatefulSet".to_owned()))
    }
}

pub(super) fn report_owner(report: &ClaimRollout) -> ReportOwner {
    let owner = report
        .owner_references()
        .iter()
        .find(|owner| owner.kind == "StatefulSet");
    owner.map_or(ReportOwner::Nobody, |owner| ReportOwner::Set(owner.uid.clone()))
}

/// The ClaimRollout. It is a report: where its kind does not exist, the answer names no object.
fn report_of(outcome: ApiOutcome<SlimRollout>) -> Result<Option<ClaimRollout>, String> {
    match outcome {
        ApiOutcome::NotFound(_) => Ok(None),
        other => existing("ClaimRollout", other).map(|SlimRollout(report)| Some(report)),
    }
}
