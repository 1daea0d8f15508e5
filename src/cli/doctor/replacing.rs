//! Checks replacements of StatefulSets in progress.

use jiff::Timestamp;

use super::facts::{FoundJournal, InstallationFacts, SetInReplacement};
use super::finding::{self, Finding};
use super::leader;
use super::rights::Account;
use crate::cli::process::program;
use crate::cli::replace::command;
use crate::gate::SetView;
use crate::replace::{FINALIZER, HOLD};

/// The age in seconds from which a replacement should have ended. It takes about three.
const LONG: i64 = 60;

/// Replacements that should have ended: those of sets that exist, then those that only a journal shows.
pub(super) fn judge(facts: &InstallationFacts) -> Vec<Finding> {
    let mut found: Vec<Finding> = facts.marked.iter().filter_map(|set| of_marked(facts, set)).collect();
    found.extend(facts.journals.iter().filter_map(|journal| of_journal(facts, journal)));
    found.extend(facts.sets.iter().filter_map(|seen| of_held(facts, &seen.set)));
    found
}

/// The journal of this set. Without the right to read journals, there seems to be one.
fn has_journal(facts: &InstallationFacts, namespace: &str, name: &str) -> bool {
    let is_of = |journal: &FoundJournal| match &journal.content {
        Ok(set) => set.is(namespace, name),
        Err(_) => true,
    };
    facts.is_unread("secrets") || facts.journals.iter().any(is_of)
}

/// A set with the partition of a replacement, and without the replacement: it is from a backup.
fn of_held(facts: &InstallationFacts, set: &SetView) -> Option<Finding> {
    let (namespace, name) = (&*set.namespace, &*set.name);
    let is_marked = facts.marked.iter().any(|set| set.is(namespace, name));
    if i64::from(set.partition) != HOLD || is_marked || has_journal(facts, namespace, name) {
        return None;
    }
    let found = format!("{HOLD}, the one of a replacement, and no replacement: no Pod is updated");
    let patch = r#"{"spec":{"updateStrategy":{"rollingUpdate":{"partition":0}}}}"#;
    let fix = format!("kubectl patch -n {namespace} statefulset {name} --type=merge -p '{patch}'; it is from a backup");
    let finding = Finding::error(finding::set(namespace, name)).but("a partition of its user", found);
    Some(finding.fix(fix))
}

/// The time since then in seconds, if it is long.
fn long(facts: &InstallationFacts, since: Timestamp) -> Option<i64> {
    let age = facts.now.as_second().saturating_sub(since.as_second());
    (age >= LONG).then_some(age)
}

fn of_marked(facts: &InstallationFacts, set: &SetInReplacement) -> Option<Finding> {
    let age = long(facts, set.since)?;
    let (namespace, name) = (&set.namespace, &set.name);
    let subject = finding::set(namespace, name);
    let (expected, found) = (
        "a replacement that takes some seconds",
        format!("that its last step was {age} s ago"),
    );
    Some(if !has_journal(facts, namespace, name) {
        let found = format!("the finalizer {FINALIZER}, and no journal of a replacement");
        let finding = Finding::warning(subject).but("none of a replacement", found);
        finding.fix(finish(facts, set))
    } else if leader::leads(facts) {
        let shows = format!("{} status -n {namespace} {name} shows what it waits for", program());
        Finding::warning(subject).but(expected, found).fix(shows)
    } else {
        let finding = Finding::error(subject).but(expected, format!("{found}, and no controller leads"));
        finding.fix(finish(facts, set))
    })
}

fn of_journal(facts: &InstallationFacts, journal: &FoundJournal) -> Option<Finding> {
    let secret = format!("secret/{}/{}", facts.namespace, journal.secret);
    let set = match &journal.content {
        Ok(set) => set,
        Err(why) => {
            let fix = format!(
                "if kubectl get -n {} secret {} -o yaml shows a StatefulSet that does not exist, create it; then delete \
                 the Secret",
                facts.namespace, journal.secret
            );
            return Some(Finding::error(secret).but("the journal of a replacement", why).fix(fix));
        }
    };
    let age = long(facts, set.since)?;
    let (namespace, name) = (&set.namespace, &set.name);
    if facts.marked.iter().any(|marked| marked.is(namespace, name)) {
        return None;
    }
    let mut sets = facts.sets.iter().map(|seen| &seen.set);
    let finding = if sets.any(|found| set.is(&found.namespace, &found.name)) {
        let found = format!("that replacing StatefulSet {namespace}/{name} began {age} s ago, and stopped");
        Finding::warning(secret).but("a journal only while a StatefulSet is replaced", found)
    } else {
        let found = format!("none: its replacement began {age} s ago, and stopped");
        Finding::error(finding::set(namespace, name)).but("a StatefulSet", found)
    };
    Some(finding.fix(finish(facts, set)))
}

/// The command that finishes the replacement, as the account that the guard allows to do so.
fn finish(facts: &InstallationFacts, set: &SetInReplacement) -> String {
    let home = &facts.namespace;
    format!(
        "{} --as={}",
        command(&set.namespace, &set.name, home),
        facts.deployed.user(Account::Controller, home)
    )
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
    use serde_json::json;

    use super::SetInReplacement;

    #[test]
    fn marked_set_has_the_time_of_its_last_step() {
        let second = |second: u32| format!("1970-01-01T00:00:{second}Z");
        let entry = |manager: &str, at| json!({"manager": manager, "time": second(at), "operation": "Update"});
        let (ours, foreign) = (json!(["claim-rollout.io/replacing", "orphan"]), json!(["orphan"]));
        let both = json!([entry("claim-rollout", 20), entry("helm", 50)]);
        let (none, deleted) = (json!([]), json!(second(30)));
        for (what, finalizers, deleted, entries, expected) in [
            ("no finalizer", &none, &json!(null), &none, None),
            ("a foreign one", &foreign, &json!(null), &none, None),
            ("created", &ours, &json!(null), &none, Some(10)),
            ("deleted", &ours, &deleted, &none, Some(30)),
            ("marked by us", &ours, &json!(null), &both, Some(20)),
        ] {
            let metadata = json!({
                "namespace": "shop", "name": "web", "finalizers": finalizers, "managedFields": entries,
                "creationTimestamp": second(10), "deletionTimestamp": deleted,
            });
            let metadata: ObjectMeta = serde_json::from_value(metadata).expect("metadata");
            let expected = expected.map(|second| SetInReplacement {
                namespace: "shop".to_owned(),
                name: "web".to_owned(),
                since: Timestamp::from_second(second).expect("a time"),
            });
            assert_eq!(SetInReplacement::marked(&metadata), expected, "{what}");
        }
    }
}
