//! A cluster as a List of objects: from `--objects`, or gathered by `plan`.

use anyhow::bail;
use k8s_openapi::api::authorization::v1::{SubjectAccessReviewSpec, SubjectAccessReviewStatus};
use serde::Deserialize;
use serde_json::Value;

use super::lists::{SkippedObject, path};
use crate::admission::{CanI, CannotAsk, Get, Lookups};

/// The access reviews and the objects of a List.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Recorded {
    reviews: Vec<AccessReview>,
    objects: Vec<Value>,
    /// True if a List was given. Without one, lookups fail; with one, objects that are not in it do not exist.
    given: bool,
    /// Kinds that could not be read, and why.
    unreadable: Vec<(&'static str, String)>,
    /// Single objects that cannot be read.
    skipped: Vec<SkippedObject>,
}

/// A SubjectAccessReview, or one of one namespace.
#[derive(Clone, Debug, PartialEq, Deserialize)]
struct AccessReview {
    spec: SubjectAccessReviewSpec,
    status: Option<SubjectAccessReviewStatus>,
}

impl Recorded {
    /// Reads a List, or a single object: SubjectAccessReviews answer questions of authority, all others are what
    /// exists.
    ///
    /// # Errors
    /// If it is neither, or with the index of the first SubjectAccessReview that cannot be read.
    pub(crate) fn read(value: &Value) -> anyhow::Result<Self> {
        let items = match (value["items"].as_array(), value["kind"].as_str()) {
            (Some(items), _) => items.iter().collect(),
            (None, Some(_)) => vec![value],
            (None, None) => bail!("expected a List or an object, but found none"),
        };
        let mut recorded = Self {
            given: true,
            ..Self::default()
        };
        for (index, item) in items.into_iter().enumerate() {
            if matches!(
                item["kind"].as_str(),
                Some("SubjectAccessReview" | "LocalSubjectAccessReview")
            ) {
                let review = AccessReview::deserialize(item);
                let review = review.map_err(|error| {
                    anyhow::anyhow!("item {index}: expected a SubjectAccessReview, but found: {error}")
                })?;
                recorded.reviews.push(review);
            } else {
                recorded.objects.push(item.clone());
            }
        }
        Ok(recorded)
    }
}

impl Recorded {
    /// Marks a kind as unreadable: objects that the List does not have may exist.
    pub(crate) fn cannot_read(&mut self, kind: &'static str, why: String) {
        self.unreadable.push((kind, why));
    }

    /// True iff the objects of this kind could be read.
    pub(crate) fn can_read(&self, kind: &str) -> bool {
        self.unreadable.iter().all(|(unread, _)| *unread != kind)
    }

    /// Takes out each object for which `why_not` has a reason that it cannot be read, and notes it.
    pub(crate) fn sift(&mut self, why_not: impl Fn(&Value) -> Option<String>) {
        let Self { objects, skipped, .. } = self;
        objects.retain(|object| {
            let Some(why) = why_not(object) else {
                return true;
            };
            let kind = object["kind"].as_str().unwrap_or_default();
            skipped.push(SkippedObject::unreadable(kind, path(object), why));
            false
        });
    }

    /// Notes an object that cannot be read.
    pub(crate) fn skip(&mut self, object: SkippedObject) {
        self.skipped.push(object);
    }

    /// Single objects that cannot be read.
    pub(crate) fn skipped(&self) -> &[SkippedObject] {
        &self.skipped
    }

    /// Kinds that could not be read, and why.
    pub(crate) fn unreadable(&self) -> &[(&'static str, String)] {
        &self.unreadable
    }

    /// The objects of this kind in the namespace, or without a namespace.
    pub(crate) fn all<'a>(&'a self, api_version: &str, kind: &str, namespace: &str) -> impl Iterator<Item = &'a Value> {
        self.objects.iter().filter(move |object| {
            let within = object["metadata"]["namespace"].as_str().unwrap_or(namespace);
            object["apiVersion"] == api_version && object["kind"] == kind && within == namespace
        })
    }

    /// The object of this name.
    pub(crate) fn one(&self, api_version: &str, kind: &str, namespace: &str, name: &str) -> Option<&Value> {
        self.all(api_version, kind, namespace)
            .find(|object| object["metadata"]["name"] == name)
    }

    /// The user and the groups of the first SubjectAccessReview.
    pub(crate) fn requester(&self) -> Option<(&str, &[String])> {
        let spec = &self.reviews.first()?.spec;
        Some((spec.user.as_deref()?, spec.groups.as_deref().unwrap_or_default()))
    }
}

impl AccessReview {
    /// True iff this review answers `question`: the same user in the same groups (any groups, if it names
    /// none), the same verb on the same resource in the same namespace. `*` stands for any, as in RBAC.
    fn asked(&self, question: &CanI<'_>) -> bool {
        let same = |recorded: &Option<String>, asked: &str| {
            let recorded = recorded.as_deref().unwrap_or_default();
            recorded == "*" || recorded == asked
        };
        let groups = self.spec.groups.as_ref().is_none_or(|groups| {
            let recorded: std::collections::BTreeSet<&str> = groups.iter().map(String::as_str).collect();
            recorded == question.groups.iter().copied().collect()
        });
        groups
            && self.spec.user.as_deref() == Some(question.user)
            && self.spec.resource_attributes.as_ref().is_some_and(|attributes| {
                same(&attributes.namespace, question.namespace)
                    && same(&attributes.group, question.group)
                    && same(&attributes.resource, question.resource)
                    && same(&attributes.verb, question.verb)
                    && same(&attributes.subresource, question.subresource)
                    && attributes.name.as_ref().is_none_or(String::is_empty)
            })
    }
}

impl Lookups for Recorded {
    fn can_i(&mut self, question: &CanI<'_>) -> Result<bool, CannotAsk> {
        self.reviews
            .iter()
            .filter(|review| review.asked(question))
            .find_map(|review| review.status.as_ref())
            .map(|status| status.allowed && status.denied != Some(true))
            .ok_or_else(|| CannotAsk("no SubjectAccessReview with a status was given for this user".to_owned()))
    }

    fn get(&mut self, question: &Get<'_>) -> Result<Option<String>, CannotAsk> {
        if !self.given {
            return Err(CannotAsk("no list of objects was given (--objects)".to_owned()));
        }
        if let Some((_, why)) = self.unreadable.iter().find(|(kind, _)| *kind == question.kind) {
            return Err(CannotAsk(why.clone()));
        }
        let namespace = question.namespace.unwrap_or_default();
        let mut skipped = self.skipped.iter();
        if let Some(skipped) = skipped.find(|skipped| skipped.is(question.kind, namespace, question.name)) {
            return Err(CannotAsk(skipped.to_string()));
        }
        let found = self.one(question.api_version, question.kind, namespace, question.name);
        Ok(found.map(Value::to_string))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::Recorded;
    use crate::admission::{CanI, Lookups as _};

    fn question<'a>(user: &'a str, groups: &[&'a str]) -> CanI<'a> {
        CanI {
            user,
            groups: groups.to_vec(),
            namespace: "shop",
            resource: "persistentvolumeclaims",
            verb: "patch",
            ..CanI::default()
        }
    }

    fn review(user: &str, groups: &Value, verb: &str, status: &Value) -> Value {
        let attributes = json!({"namespace": "shop", "verb": verb, "resource": "persistentvolumeclaims"});
        let spec = json!({"user": user, "groups": groups, "resourceAttributes": attributes});
        json!({"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec, "status": status})
    }

    fn ask(items: &[Value], user: &str, groups: &[&str]) -> Option<bool> {
        let list = json!({"apiVersion": "v1", "kind": "List", "items": items});
        Recorded::read(&list)
            .expect("a list")
            .can_i(&question(user, groups))
            .ok()
    }

    #[test]
    fn can_i_needs_the_same_user_groups_and_verb() {
        let yes = json!({"allowed": true});
        let reviews = [
            review("alice", &json!(["dev", "ops"]), "patch", &yes),
            review("bob", &Value::Null, "*", &yes),
            review("carol", &Value::Null, "get", &yes),
            review("dave", &Value::Null, "patch", &Value::Null),
            review("erin", &Value::Null, "patch", &json!({"allowed": false})),
            review(
                "frank",
                &Value::Null,
                "patch",
                &json!({"allowed": true, "denied": true}),
            ),
            json!({"kind": "PersistentVolumeClaim"}),
        ];
        for (user, groups, expected) in [
            ("alice", ["ops", "dev"].as_slice(), Some(true)),
            ("alice", &["ops"], None),
            ("bob", &["whatever"], Some(true)),
            ("carol", &[], None),
            ("dave", &[], None),
            ("erin", &[], Some(false)),
            ("frank", &[], Some(false)),
            ("grace", &[], None),
        ] {
            assert_eq!(ask(&reviews, user, groups), expected, "{user} {groups:?}");
        }
    }

    #[test]
    fn read_without_list_is_error() {
        let no_list = "expected a List or an object, but found none";
        for (value, expected) in [
            (Value::Null, no_list),
            (json!([]), no_list),
            (json!({}), no_list),
            (json!("x"), no_list),
            (
                json!({"kind": "SubjectAccessReview"}),
                "item 0: expected a SubjectAccessReview, but found: missing field `spec`",
            ),
        ] {
            let error = Recorded::read(&value).expect_err("no list").to_string();
            assert_eq!(error, expected);
        }
    }
}
