//! What is wrong with an installation.

use serde_json::json;

use super::{definition, policies, time, webhook, webhooks};
use crate::claims::class::Known;
use crate::cli::doctor::admission::{By, Probe, WebhookPart};
use crate::cli::doctor::facts::{InstallationFacts, Lease, Stalled};
use crate::cli::doctor::rights::Right;

/// What is wrong, the finding as `severity subject | found`, and how its cure begins.
pub(super) type Row = (&'static str, fn(&mut InstallationFacts), &'static str, &'static str);

pub(super) const ROWS: &[Row] = &[
    (
        "no definition",
        |facts| facts.definition = Known::Missing,
        "Error customresourcedefinition/claimrollouts.claim-rollout.io | none",
        "claim-rollout crd | kubectl apply ",
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
        "Error customresourcedefinition/claimrollouts.claim-rollout.io | that spec.names.shortNames differs: it is older than this program",
        "claim-rollout crd | kubectl apply ",
    ),
    (
        "the policy is not asked",
        |facts| {
            facts.probe = Probe::Accepted;
            webhooks(facts).clear();
        },
        "Error admission of StatefulSets | that nobody asks it: templates cannot change, and annotations are not checked",
        "kubectl apply -k deploy/webhook",
    ),
    (
        "the policy cannot be reached",
        |facts| facts.probe = Probe::Unreachable("no route".to_owned()),
        "Error admission of StatefulSets | no route",
        "kubectl rollout restart -n claim-rollout deployment/claim-rollout-webhook",
    ),
    (
        "who asks may not create sets",
        |facts| facts.probe = Probe::Unknown("forbidden".to_owned()),
        "Warning admission of StatefulSets | forbidden",
        "run it as somebody ",
    ),
    (
        "what fails open",
        |facts| webhooks(facts)[0].fails_closed = false,
        "Error {} | Ignore: while the policy is away nothing is checked, and nothing is staged",
        "kubectl patch mutatingwebhookconfiguration/claim-rollout-webhook --type=json ",
    ),
    (
        "what fails closed for everybody",
        |facts| webhooks(facts)[0].has_conditions = false,
        "Error {} | none: while the policy is away every update of every StatefulSet is refused",
        "kubectl apply --server-side --force-conflicts -f deploy/webhook/configuration.yaml",
    ),
    (
        "nobody trusts it, so it is not reached either",
        |facts| {
            facts.probe = Probe::Unreachable("unknown authority".to_owned());
            webhooks(facts)[0].is_trusted = false;
        },
        "Error {} | none: the API server trusts nobody there",
        "kubectl rollout restart -n claim-rollout deployment/claim-rollout-webhook",
    ),
    (
        "both at once",
        |facts| webhooks(facts).push(webhook(WebhookPart::Sets, By::Kubewarden)),
        "Error {} | two: mutatingwebhookconfiguration/clusterwide-claim-rollout as well",
        "kubectl delete mutatingwebhookconfiguration/claim-rollout-webhook, or else kubectl delete clusteradmissionpolicy/claim-rollout",
    ),
    (
        "no webhook for new claims",
        |facts| drop(webhooks(facts).remove(1)),
        "Warning mutatingwebhookconfiguration/claim-rollout-webhook | none: a new claim gets the old template, and has to be brought up later",
        "kubectl apply --server-side --force-conflicts -f deploy/webhook/configuration.yaml",
    ),
    (
        "no webhook for Pods",
        |facts| drop(webhooks(facts).remove(2)),
        "Warning mutatingwebhookconfiguration/claim-rollout-webhook | none: Pods are replaced before their claims are ready",
        "kubectl apply --server-side --force-conflicts -f deploy/webhook/configuration.yaml",
    ),
    (
        "no guard",
        |facts| policies(facts).clear(),
        "Warning validatingadmissionpolicies | none: what is staged is as safe as the policy alone makes it",
        "kubectl apply --server-side --force-conflicts -k deploy/guard",
    ),
    (
        "a policy of the guard is missing",
        |facts| drop(policies(facts).remove(1)),
        "Error validatingadmissionpolicy/claim-rollout-replacing | none, although other parts of the guard are there",
        "kubectl apply --server-side --force-conflicts -f deploy/guard/replacing.yaml",
    ),
    (
        "a policy of the guard that is not bound",
        |facts| policies(facts)[0].denies = false,
        "Error validatingadmissionpolicybinding/claim-rollout-staged | none: nothing is denied",
        "kubectl apply --server-side --force-conflicts -f deploy/guard/staged.yaml",
    ),
    (
        "a policy of the guard that fails open",
        |facts| policies(facts)[2].fails_closed = false,
        "Error validatingadmissionpolicy/claim-rollout-controller-statefulsets | Ignore: what cannot be evaluated is let through",
        "kubectl apply --server-side --force-conflicts -f deploy/guard/controller.yaml",
    ),
    (
        "a policy of the guard for another account",
        |facts| policies(facts)[3].conditions = "['system:serviceaccount:other:claim-rollout-controller']".to_owned(),
        "Error validatingadmissionpolicy/claim-rollout-controller-persistentvolumeclaims | that it is not there: the guard takes the controller for somebody else",
        "kubectl apply --server-side --force-conflicts -f deploy/guard/controller.yaml, with that account in its matchConditions",
    ),
    (
        "a right is missing",
        |facts| {
            facts.lacking[0].1.push(RbacRight {
                verb: "patch".to_owned(),
                resource: "persistentvolumeclaims".to_owned(),
                ..RbacRight::default()
            });
        },
        "Error serviceaccount/claim-rollout/claim-rollout-controller | that it may not patch persistentvolumeclaims",
        "kubectl apply --server-side --force-conflicts -f deploy/controller/rbac.yaml",
    ),
    (
        "no Lease",
        |facts| facts.lease = Known::Missing,
        "Error lease/claim-rollout/claim-rollout-controller | none",
        "kubectl rollout restart -n claim-rollout deployment/claim-rollout-controller",
    ),
    (
        "a Lease that was given back",
        |facts| {
            facts.lease = Known::Found(Lease {
                holder: String::new(),
                renewed: Some(time(999)),
            });
        },
        "Error lease/claim-rollout/claim-rollout-controller | nobody holding it",
        "kubectl rollout restart ",
    ),
    (
        "a Lease of somebody who is gone",
        |facts| facts.now = time(1058),
        "Error lease/claim-rollout/claim-rollout-controller | that one has not renewed it for 60 s",
        "kubectl rollout restart ",
    ),
    (
        "what may not be read",
        |facts| {
            facts.lease = Known::Unknown;
            facts.unread = vec![("leases".to_owned(), "forbidden".to_owned())];
        },
        "Warning leases | forbidden",
        "run it as somebody who may read leases",
    ),
    (
        "a rollout that is stalled",
        |facts| {
            facts.stalled = vec![Stalled {
                namespace: "default".to_owned(),
                name: "web".to_owned(),
                reason: "ClaimRefused".to_owned(),
                message: "exceeded quota".to_owned(),
            }];
        },
        "Error claimrollout.claim-rollout.io/default/web | that it is stalled (ClaimRefused): exceeded quota",
        "claim-rollout status -n default web",
    ),
];
