//! Installations with other names and modes, and other versions of Kubernetes.

use super::installation::Row;
use super::{own_deployment, policies};
use crate::claims::class::Known;
use crate::cli::doctor::admission::Probe;

pub(super) const ROWS: &[Row] = &[
    (
        "a policy object in monitor mode",
        |facts| {
            facts.probe = Probe::Accepted;
            facts.monitored = vec!["claim-rollout".to_owned()];
        },
        "Error clusteradmissionpolicy/claim-rollout | monitor: it stages and denies nothing, and only logs what it would do",
        r#"kubectl patch clusteradmissionpolicy/claim-rollout --type=merge -p '{"spec":{"mode":"protect"}}'"#,
    ),
    (
        "a policy object for new PVCs in monitor mode",
        |facts| facts.monitored = vec!["volumes-claims".to_owned()],
        "Error clusteradmissionpolicy/volumes-claims | monitor: it stages and denies nothing, and only logs what it would do",
        "kubectl patch clusteradmissionpolicy/volumes-claims ",
    ),
    (
        "a webhook of another name that cannot be reached",
        |facts| {
            facts.probe = Probe::Unreachable("no route".to_owned());
            facts.deployed.webhook = Some(own_deployment("volumes-webhook", "volumes-webhook"));
        },
        "Error admission of StatefulSets | no route",
        "kubectl rollout restart -n claim-rollout deployment/volumes-webhook",
    ),
    (
        "a controller of another name that does not lead",
        |facts| {
            facts.deployed.controller = Some(own_deployment("volumes-controller", "claim-rollout-controller"));
            policies(facts)
                .iter_mut()
                .for_each(|policy| policy.name = policy.name.replacen("claim-rollout", "volumes", 1));
            facts.lease = Known::Missing;
        },
        "Error lease/claim-rollout/claim-rollout-controller | none",
        "kubectl rollout restart -n claim-rollout deployment/volumes-controller",
    ),
    (
        "a part of the guard of another name is missing",
        |facts| {
            facts.deployed.controller = Some(own_deployment("volumes-controller", "claim-rollout-controller"));
            drop(policies(facts).remove(1));
        },
        "Error validatingadmissionpolicy/volumes-replacing | none, although other policies of the guard are installed",
        "kubectl apply --server-side --force-conflicts -f deploy/guard/replacing.yaml",
    ),
    (
        "no Deployment of the controller",
        |facts| {
            facts.deployed.controller = None;
            facts.lease = Known::Missing;
        },
        "Error lease/claim-rollout/claim-rollout-controller | none",
        "kubectl apply --server-side --force-conflicts -k 'https://github.com/claim-rollout/claim-rollout/deploy/controller?ref=v",
    ),
    (
        "a Kubernetes that is too old",
        |facts| facts.version = "v1.32.9".to_owned(),
        "Error kubernetes | v1.32.9",
        "upgrade Kubernetes",
    ),
    (
        "a Kubernetes with a regression",
        |facts| facts.version = "v1.35.3".to_owned(),
        "Warning kubernetes | v1.35.3",
        "upgrade Kubernetes",
    ),
];
