//! Faults of an installation.

use super::{definition, lease, policies, release, time, webhook, webhooks};
use crate::api::Settings;
use crate::claims::class::Known;
use crate::cli::doctor::admission::{By, Probe, WebhookPart};
use crate::cli::doctor::agreement::PlacedSettings;
use crate::cli::doctor::facts::{FoundJournal, InstallationFacts, SetInReplacement};
use crate::cli::doctor::rights::{Account, PolicyServer, RbacRight};
use crate::cli::lists::SkippedObject;
use crate::cli::status::rollout::Rollout;
use serde_json::json;

/// The fault, the finding as `severity subject | found`, and the beginning of its fix.
pub(super) type Row = (&'static str, fn(&mut InstallationFacts), &'static str, &'static str);

/// The settings of a policy object and of the ConfigMap.
pub(super) fn settings(policy: &str, map: &str) -> Vec<PlacedSettings> {
    let placed = |place: &str, text: &str| PlacedSettings {
        place: place.to_owned(),
        is_of_controller: place.starts_with("configmap/"),
        settings: Settings::read(text),
    };
    vec![
        placed("clusteradmissionpolicy/claim-rollout", policy),
        placed("configmap/s", map),
    ]
}

pub(super) fn policy_server(rights: Vec<RbacRight>) -> Vec<(PolicyServer, Vec<RbacRight>)> {
    let server = PolicyServer {
        name: "default".to_owned(),
        namespace: "kw".to_owned(),
        account: "ps".to_owned(),
    };
    vec![(server, rights)]
}

/// The right of this account with these words.
fn right(account: Account, words: &str) -> Vec<RbacRight> {
    let rights = account.rights().expect("a manifest").into_iter();
    rights.filter(|right| right.to_string() == words).collect()
}

fn skipped(kind: &str, name: &str) -> SkippedObject {
    SkippedObject {
        kind: kind.to_owned(),
        namespace: "shop".to_owned(),
        name: name.to_owned(),
        why: "why".to_owned(),
    }
}

pub(super) const ROWS: &[Row] = &[
    (
        "a release of Helm without the guard",
        |facts| {
            policies(facts).clear();
            facts.deployed.release = release("ops");
        },
        "Warning validatingadmissionpolicies | none: only the policy protects staged changes",
        "helm upgrade cr oci://ghcr.io/claim-rollout/charts/claim-rollout --version 0.1.0 -n ops ",
    ),
    (
        "a release of Helm without the definition",
        |facts| {
            facts.definition = Known::Missing;
            facts.deployed.release = release("ops");
        },
        "Error customresourcedefinition/claimrollouts.claim-rollout.io | none",
        "helm upgrade cr oci://ghcr.io/claim-rollout/charts/claim-rollout --version 0.1.0 -n ops --reuse-values",
    ),
    (
        "settings that do not know the account of the controller",
        |facts| {
            let accounts = r#"{"controllerAccounts":["system:serviceaccount:ops:claim-rollout-controller"]}"#;
            facts.settings = settings(accounts, accounts);
            facts.settings.truncate(1);
        },
        "Error clusteradmissionpolicy/claim-rollout | other accounts: the policy undoes what the controller writes",
        "add it, and restart the Deployments",
    ),
    (
        "a webhook for Pods that names no account of the StatefulSet controller",
        |facts| webhooks(facts)[2].conditions = "request.userInfo.username in ['system:admin']".to_owned(),
        "Error mutatingwebhookconfiguration/claim-rollout-webhook[claim-rollout-pods.claim-rollout.io] | other accounts: if that one creates Pods, Pods are replaced before their PVCs are ready",
        "kubectl apply --server-side --force-conflicts -f deploy/webhook/configuration.yaml, with that account",
    ),
    (
        "a webhook for PVCs that names one of the accounts",
        |facts| {
            webhooks(facts)[1].conditions =
                "request.userInfo.username in ['system:serviceaccount:kube-system:statefulset-controller']".to_owned();
        },
        "Warning mutatingwebhookconfiguration/claim-rollout-webhook[claim-rollout-claims.claim-rollout.io] | other accounts: if that one creates Pods, new PVCs get the live templates",
        "kubectl apply --server-side --force-conflicts -f deploy/webhook/configuration.yaml, with that account",
    ),
    (
        "a webhook without which the controller writes nothing",
        |facts| webhooks(facts)[0].conditions = "true".to_owned(),
        "Warning mutatingwebhookconfiguration/claim-rollout-webhook[claim-rollout.claim-rollout.io] | other accounts: while the policy is unavailable, a StatefulSet that is being replaced stays absent",
        "kubectl apply --server-side --force-conflicts -f deploy/webhook/configuration.yaml, with that account in its matchConditions",
    ),
    (
        "a policy-server without rights",
        |facts| {
            facts.policy_servers = policy_server(crate::cli::doctor::rights::of_policy_server().expect("a manifest"));
        },
        "Error serviceaccount/kw/ps | no right to get persistentvolumeclaims, get storageclasses.storage.k8s.io, get volumeattributesclasses.storage.k8s.io, get statefulsets.apps, create subjectaccessreviews.authorization.k8s.io",
        "kubectl create clusterrolebinding claim-rollout-policy-server-default ",
    ),
    (
        "other settings in the policy",
        |facts| facts.settings = settings("{}", r#"{"defaultUpdatePolicy":"InPlace"}"#),
        "Error clusteradmissionpolicy/claim-rollout | other settings: what the policy allows, the controller may not do",
        "write the same settings into both",
    ),
    (
        "other settings in a policy after the ConfigMap",
        |facts| {
            facts.settings = settings("{}", r#"{"defaultUpdatePolicy":"InPlace"}"#);
            facts.settings.reverse();
        },
        "Error clusteradmissionpolicy/claim-rollout | other settings: what the policy allows, the controller may not do",
        "write the same settings into both",
    ),
    (
        "settings of the controller that cannot be read",
        |facts| facts.settings = settings("{}", "["),
        "Error configmap/s | settings: expected a JSON object without duplicate keys",
        "correct them: https://github.com/claim-rollout/claim-rollout/blob/main/docs/settings.md ",
    ),
    (
        "no definition",
        |facts| facts.definition = Known::Missing,
        "Error customresourcedefinition/claimrollouts.claim-rollout.io | none",
        "kubectl apply --server-side --force-conflicts -f https://raw.githubusercontent.com/claim-rollout/claim-rollout/v",
    ),
    (
        "a definition that is not established",
        |facts| definition(facts)["status"] = json!({}),
        "Error customresourcedefinition/claimrollouts.claim-rollout.io | no such condition",
        "kubectl describe customresourcedefinition/claimrollouts.claim-rollout.io ",
    ),
    (
        "an older definition",
        |facts| definition(facts)["spec"]["names"]["shortNames"] = json!([]),
        "Error customresourcedefinition/claimrollouts.claim-rollout.io | another spec.names.shortNames: the definition is older than this program",
        "kubectl apply --server-side --force-conflicts -f https://raw.githubusercontent.com/claim-rollout/claim-rollout/v",
    ),
    (
        "the policy is not called",
        |facts| {
            facts.probe = Probe::Accepted;
            webhooks(facts).clear();
        },
        "Error admission of StatefulSets | that nothing calls it: templates cannot change, and annotations are not checked",
        "kubectl apply --server-side --force-conflicts -k 'https://github.com/claim-rollout/claim-rollout/deploy/webhook?ref=v",
    ),
    (
        "the policy cannot be reached",
        |facts| facts.probe = Probe::Unreachable("no route".to_owned()),
        "Error admission of StatefulSets | no route",
        "kubectl rollout restart -n claim-rollout deployment/claim-rollout-webhook",
    ),
    (
        "the user may not create sets",
        |facts| facts.probe = Probe::Unknown("forbidden".to_owned()),
        "Warning admission of StatefulSets | forbidden",
        "run doctor as a user ",
    ),
    (
        "a webhook that fails open",
        |facts| webhooks(facts)[0].fails_closed = false,
        "Error {} | Ignore: while the policy is unavailable, nothing is checked or staged",
        "kubectl patch mutatingwebhookconfiguration/claim-rollout-webhook --type=json ",
    ),
    (
        "a webhook that fails closed without conditions",
        |facts| webhooks(facts)[0].conditions.clear(),
        "Error {} | none: while the policy is unavailable, every update of a StatefulSet fails",
        "kubectl apply --server-side --force-conflicts -f deploy/webhook/configuration.yaml",
    ),
    (
        "a webhook without a caBundle, which is unreachable too",
        |facts| {
            facts.probe = Probe::Unreachable("unknown authority".to_owned());
            webhooks(facts)[0].is_trusted = false;
        },
        "Error {} | none: the API server cannot trust the server",
        "kubectl rollout restart -n claim-rollout deployment/claim-rollout-webhook",
    ),
    (
        "Kubewarden and the built-in webhook",
        |facts| webhooks(facts).push(webhook(WebhookPart::Sets, By::Kubewarden)),
        "Error {} | two: also mutatingwebhookconfiguration/clusterwide-claim-rollout",
        "kubectl delete mutatingwebhookconfiguration/claim-rollout-webhook, or kubectl delete clusteradmissionpolicy/claim-rollout",
    ),
    (
        "no webhook for new claims",
        |facts| drop(webhooks(facts).remove(1)),
        "Warning mutatingwebhookconfiguration/claim-rollout-webhook | none: new PVCs get the live templates, and have to be updated later",
        "kubectl apply --server-side --force-conflicts -f deploy/webhook/configuration.yaml",
    ),
    (
        "no webhook for Pods",
        |facts| drop(webhooks(facts).remove(2)),
        "Warning mutatingwebhookconfiguration/claim-rollout-webhook | none: Pods are replaced before their PVCs are ready",
        "kubectl apply --server-side --force-conflicts -f deploy/webhook/configuration.yaml",
    ),
    (
        "a right is missing",
        |facts| facts.lacking[0].1 = right(Account::Controller, "patch persistentvolumeclaims"),
        "Error serviceaccount/claim-rollout/claim-rollout-controller | no right to patch persistentvolumeclaims",
        "kubectl apply --server-side --force-conflicts -f deploy/controller/rbac.yaml",
    ),
    (
        "no Lease",
        |facts| facts.lease = Known::Missing,
        "Error lease/claim-rollout/claim-rollout-controller | none",
        "kubectl rollout restart -n claim-rollout deployment/claim-rollout-controller",
    ),
    (
        "a Lease without a holder",
        |facts| facts.lease = lease("", 999),
        "Error lease/claim-rollout/claim-rollout-controller | no holder",
        "kubectl rollout restart ",
    ),
    (
        "an abandoned Lease",
        |facts| facts.now = time(1058),
        "Error lease/claim-rollout/claim-rollout-controller | that one has not renewed it for 60 s",
        "kubectl rollout restart ",
    ),
    (
        "a kind that may not be read",
        |facts| {
            facts.lease = Known::Unknown;
            facts.unread = vec![("leases".to_owned(), "forbidden".to_owned())];
        },
        "Warning leases | forbidden",
        "run doctor as a user who may read leases",
    ),
    (
        "a StatefulSet that cannot be read",
        |facts| facts.skipped = vec![skipped("StatefulSet", "odd")],
        "Warning statefulset.apps/shop/odd | why",
        "kubectl get -n shop statefulset.apps/odd -o json ",
    ),
    (
        "a PVC that cannot be read",
        |facts| facts.skipped = vec![skipped("PersistentVolumeClaim", "data-web-0")],
        "Warning persistentvolumeclaim/shop/data-web-0 | why",
        "kubectl get -n shop persistentvolumeclaim/data-web-0 -o json ",
    ),
    (
        "a rollout that is stalled",
        |facts| {
            facts.rollouts = ["Ready", "Stalled"].map(rollout).into();
        },
        "Error claimrollout.claim-rollout.io/default/web | that it is stalled (ClaimRefused): exceeded quota",
        "claim-rollout status -n default web",
    ),
    (
        "no right to replace",
        |facts| {
            let right = right(Account::Replacing, "delete statefulsets.apps");
            facts.lacking.push((Account::Replacing, right));
        },
        "Error serviceaccount/claim-rollout/claim-rollout-controller | no right to delete statefulsets.apps",
        "kubectl apply --server-side --force-conflicts -f deploy/replace-sets.yaml, or features.replaceSets=true",
    ),
    (
        "no right to read StatefulSets of OpenKruise",
        |facts| {
            let rights = Account::OpenKruise.rights().expect("a manifest");
            facts.lacking.push((Account::OpenKruise, rights));
        },
        "Error serviceaccount/claim-rollout/claim-rollout-controller | no right to get statefulsets.apps.kruise.io, list statefulsets.apps.kruise.io, watch statefulsets.apps.kruise.io",
        "kubectl apply --server-side --force-conflicts -f deploy/openkruise.yaml, or features.openkruise=true",
    ),
    (
        "a replacement that waits",
        |facts| {
            facts.marked = vec![marked(940)];
            facts.journals = vec![journal(Ok(("web", 900)))];
        },
        "Warning statefulset.apps/default/web | that its last step was 60 s ago",
        "claim-rollout status -n default web",
    ),
    (
        "a replacement without a controller",
        |facts| {
            facts.marked = vec![marked(900)];
            facts.journals = vec![journal(Ok(("web", 900)))];
            facts.lease = Known::Unknown;
        },
        "Error statefulset.apps/default/web | that its last step was 100 s ago, and no controller leads",
        "claim-rollout replace -n default web --as=system:serviceaccount:claim-rollout:claim-rollout-controller",
    ),
    (
        "the finalizer from a backup",
        |facts| facts.marked = vec![marked(900)],
        "Warning statefulset.apps/default/web | the finalizer claim-rollout.io/replacing, and no journal of a replacement",
        "claim-rollout replace -n default web --as=system:serviceaccount:claim-rollout:claim-rollout-controller",
    ),
    (
        "the partition from a backup",
        |facts| facts.sets[0].set.partition = 1_000_000_000,
        "Error statefulset.apps/default/web | 1000000000, the one of a replacement, and no replacement: no Pod is updated",
        "kubectl patch -n default statefulset web --type=merge -p '{\"spec\":{\"updateStrategy\":{\"rollingUpdate\":{\"partition\":0}}}}'",
    ),
    (
        "a set that only its journal has",
        |facts| facts.journals = vec![journal(Ok(("db", 900)))],
        "Error statefulset.apps/default/db | none: its replacement began 100 s ago, and stopped",
        "claim-rollout replace -n default db --as=",
    ),
    (
        "the journal of a set that is not marked",
        |facts| facts.journals = vec![journal(Ok(("web", 900)))],
        "Warning secret/claim-rollout/j | that replacing StatefulSet default/web began 100 s ago, and stopped",
        "claim-rollout replace -n default web",
    ),
    (
        "a journal that cannot be read",
        |facts| facts.journals = vec![journal(Err("the hash does not fit"))],
        "Error secret/claim-rollout/j | the hash does not fit",
        "if kubectl get -n claim-rollout secret j -o yaml shows a StatefulSet ",
    ),
];

/// The rollout of the set `web`, with this condition.
fn rollout(condition: &str) -> Rollout {
    let condition = json!({
        "type": condition, "status": "True", "reason": "ClaimRefused", "message": "exceeded quota",
        "lastTransitionTime": "2026-11-28T12:00:00Z",
    });
    let metadata = json!({"namespace": "default", "name": "web"});
    let object = json!({"metadata": metadata, "status": {"conditions": [condition]}});
    serde_json::from_str(&object.to_string()).expect("a ClaimRollout")
}

/// The set `web`, with the finalizer since this second.
pub(super) fn marked(since: i64) -> SetInReplacement {
    replaced("web", since)
}

fn replaced(name: &str, since: i64) -> SetInReplacement {
    SetInReplacement {
        namespace: "default".to_owned(),
        name: name.to_owned(),
        since: time(since),
    }
}

/// A journal: the name of its set and when it began, or why it cannot be read.
pub(super) fn journal(content: Result<(&str, i64), &str>) -> FoundJournal {
    let set = content.map(|(name, began)| replaced(name, began));
    FoundJournal {
        secret: "j".to_owned(),
        content: set.map_err(str::to_owned),
    }
}
