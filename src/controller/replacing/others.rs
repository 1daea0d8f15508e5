//! Objects of other kinds that a StatefulSet owns, as far as our rights show them.

use k8s_openapi::api::authorization::v1::{ResourceRule, SelfSubjectRulesReview, SelfSubjectRulesReviewSpec};
use kube::Client;
use kube::api::{Api, ApiResource, DynamicObject, ListParams, PostParams};
use kube::discovery::{Discovery, Scope, verbs};

use super::cluster::SetName;
use crate::api::ApiOutcome;
use crate::controller::calls::api_calls::call;
use crate::controller::read::lists;
use crate::controller::read::metadata::Bare;

/// The kinds that the controller lists with its own rights: a replacement handles their references, or no StatefulSet
/// owns such an object. So nothing is asked for unless somebody gave it more rights.
const KNOWN: [&str; 14] = [
    "pods",
    "persistentvolumeclaims",
    "controllerrevisions",
    "claimrollouts",
    "events",
    "limitranges",
    "resourcequotas",
    "statefulsets",
    "storageclasses",
    "mutatingwebhookconfigurations",
    "validatingadmissionpolicies",
    "validatingadmissionpolicybindings",
    "clusteradmissionpolicies",
    // Every service account may list these.
    "clustertrustbundles",
];

/// The objects of the namespace that this set owns, besides those that a replacement handles, each as kind and name.
///
/// It is as good as our rights: a kind that we may not list is not looked at, and a request that fails finds nothing.
pub(super) async fn owned_by(client: &Client, set: &SetName, uid: &str) -> Vec<String> {
    let rules = rules(client, &set.namespace).await;
    let mut found = Vec::new();
    if rules.iter().all(|rule| !lists_others(rule)) {
        return found;
    }
    let Ok(discovered) = Discovery::new(client.clone()).run_aggregated().await else {
        return found;
    };
    for group in discovered.groups() {
        for (resource, capabilities) in group.recommended_resources() {
            let is_listed = capabilities.scope == Scope::Namespaced
                && capabilities.supports_operation(verbs::LIST)
                && !KNOWN.contains(&&*resource.plural)
                && rules.iter().any(|rule| allows(rule, &resource));
            if is_listed {
                found.extend(owned(client, set, uid, &resource).await);
            }
        }
    }
    found
}

/// What we may do in the namespace.
async fn rules(client: &Client, namespace: &str) -> Vec<ResourceRule> {
    let review = SelfSubjectRulesReview {
        spec: SelfSubjectRulesReviewSpec {
            namespace: Some(namespace.to_owned()),
        },
        ..SelfSubjectRulesReview::default()
    };
    let reviews: Api<SelfSubjectRulesReview> = Api::all(client.clone());
    match call(reviews.create(&PostParams::default(), &review)).await {
        ApiOutcome::Done(review) => review.status.map(|status| status.resource_rules).unwrap_or_default(),
        _ => Vec::new(),
    }
}

fn lists(rule: &ResourceRule) -> bool {
    let mut verbs = rule.verbs.iter();
    verbs.any(|verb| verb == "list" || verb == "*") && rule.resource_names.as_ref().is_none_or(Vec::is_empty)
}

/// True iff the rule lists a kind that a replacement does not handle.
fn lists_others(rule: &ResourceRule) -> bool {
    let mut resources = rule.resources.iter().flatten();
    lists(rule) && resources.any(|resource| !KNOWN.contains(&&**resource))
}

fn allows(rule: &ResourceRule, resource: &ApiResource) -> bool {
    let has = |list: &Option<Vec<String>>, word: &str| {
        let mut items = list.iter().flatten();
        items.any(|item| item == word || item == "*")
    };
    lists(rule) && has(&rule.api_groups, &resource.group) && has(&rule.resources, &resource.plural)
}

async fn owned(client: &Client, set: &SetName, uid: &str, resource: &ApiResource) -> Vec<String> {
    let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), &set.namespace, resource);
    let owned = |object: Bare| {
        let mut owners = object.metadata.owner_references.iter().flatten();
        let is_owned = owners.any(|owner| owner.uid == uid);
        is_owned.then(|| format!("{} {}", resource.kind, object.metadata.name.unwrap_or_default()))
    };
    let listed = lists::metadata(client, api.resource_url(), ListParams::default())
        .fold(owned)
        .await;
    listed.map(|listed| listed.kept).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{ApiResource, ResourceRule, SetName, allows, lists_others, owned};
    use crate::controller::fixtures::serving;

    #[test]
    fn rules_of_the_controller_list_no_others() -> anyhow::Result<()> {
        let manifest = include_str!("../../../deploy/controller/rbac.yaml");
        let objects: Vec<Value> = serde_saphyr::from_multiple(manifest)?;
        let rules = objects.into_iter().filter_map(|object| object.get("rules").cloned());
        let rules: Vec<Vec<ResourceRule>> = rules.map(serde_json::from_value).collect::<Result<_, _>>()?;
        assert!(rules.len() > 3, "{rules:?}");
        for rule in rules.iter().flatten() {
            assert!(!lists_others(rule), "{rule:?}");
        }
        Ok(())
    }

    #[tokio::test]
    async fn objects_that_the_set_owns_are_named() {
        let job = |name: &str, owner: &str| {
            let owners = json!([{"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "web", "uid": owner}]);
            json!({"metadata": {"name": name, "ownerReferences": owners}})
        };
        let bare = json!({"metadata": {"name": "alone"}});
        let items = [job("ours", "set-uid"), job("of-another", "other"), bare];
        let list = json!({"metadata": {}, "items": items});
        let client = serving(move |request| {
            assert_eq!(request.path, "/apis/batch/v1/namespaces/shop/jobs");
            Some((200, list.clone()))
        });
        let found = owned(&client, &SetName::new("shop", "web"), "set-uid", &jobs()).await;
        assert_eq!(found, ["Job ours"]);
    }

    fn jobs() -> ApiResource {
        ApiResource {
            group: "batch".to_owned(),
            version: "v1".to_owned(),
            api_version: "batch/v1".to_owned(),
            kind: "Job".to_owned(),
            plural: "jobs".to_owned(),
        }
    }

    #[test]
    fn rule_allows_a_list_of_its_kinds() {
        let rule = |group: &str, resource: &str, verb: &str, names: &[&str]| ResourceRule {
            api_groups: Some(vec![group.to_owned()]),
            resources: Some(vec![resource.to_owned()]),
            verbs: vec![verb.to_owned()],
            resource_names: Some(names.iter().map(|name| (*name).to_owned()).collect()),
        };
        for (rule, expected) in [
            (rule("batch", "jobs", "list", &[]), (true, true)),
            (rule("*", "*", "*", &[]), (true, true)),
            (rule("batch", "jobs", "get", &[]), (false, false)),
            (rule("batch", "jobs", "list", &["one"]), (false, false)),
            (rule("batch", "cronjobs", "list", &[]), (false, true)),
            (rule("apps", "jobs", "list", &[]), (false, true)),
            (rule("", "pods", "list", &[]), (false, false)),
        ] {
            assert_eq!((allows(&rule, &jobs()), lists_others(&rule)), expected, "{rule:?}");
        }
    }
}
