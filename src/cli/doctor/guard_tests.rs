use serde_json::{Value, json};

use super::{FAILS_OPEN, GuardPolicy, OF_OPENKRUISE, POLICIES, cel};

const ACCOUNT: &str = "system:serviceaccount:claim-rollout:claim-rollout-controller";

/// The policies and bindings in the manifests.
fn shipped() -> [Vec<Value>; 2] {
    let files = [
        include_str!("../../../deploy/guard/staged.yaml"),
        include_str!("../../../deploy/guard/replacing.yaml"),
        include_str!("../../../deploy/guard/controller.yaml"),
        include_str!("../../../deploy/openkruise.yaml"),
    ];
    let objects = files.map(|file| serde_saphyr::from_multiple::<Value>(file).expect("objects"));
    objects
        .concat()
        .into_iter()
        .partition::<Vec<Value>, _>(|object| object["kind"] == "ValidatingAdmissionPolicy")
        .into()
}

#[test]
fn policy_list_of_manifests_denies_and_knows_the_account() {
    let [policies, bindings] = shipped();
    let found = GuardPolicy::list(&policies, &bindings, "claim-rollout", None);
    let names = found.iter().map(|policy| policy.name.as_str());
    assert!(names.eq(POLICIES.iter().chain([&OF_OPENKRUISE]).map(|(name, _)| *name)));
    for policy in found {
        assert!(policy.denies, "{policy:?}");
        assert_eq!(policy.fails_closed, policy.part != FAILS_OPEN, "{policy:?}");
        let names = cel::names(&policy.conditions, ACCOUNT);
        assert_eq!(names, policy.part != OF_OPENKRUISE.0, "{policy:?}");
    }
}

/// What is stored: the name of a policy and its `failurePolicy`, the policy of a binding and its actions. Whether the policy
/// is of the guard, denies, and fails closed.
const STORED: &str = "
somebody else's   | other                |        | other                | Deny       | -
bound             | claim-rollout-staged |        | claim-rollout-staged | Audit Deny | denies closed
only audited      | claim-rollout-staged |        | claim-rollout-staged | Audit      | closed
another's binding | claim-rollout-staged |        | other                | Deny       | closed
fails open        | claim-rollout-staged | Ignore | claim-rollout-staged | Deny       | denies
";

#[test]
fn policy_list_of_a_cluster_reads_what_is_stored() {
    for row in STORED.lines().skip(1) {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let fails = (!cells[2].is_empty()).then_some(cells[2]);
        let policy = json!({"metadata": {"name": cells[1]}, "spec": {"failurePolicy": fails}});
        let actions: Vec<&str> = cells[4].split(' ').collect();
        let binding = json!({"spec": {"policyName": cells[3], "validationActions": actions}});
        let found = GuardPolicy::list(&[policy], &[binding], "claim-rollout", None).pop();
        let found = found.map(|policy| {
            let words = [(policy.denies, "denies"), (policy.fails_closed, "closed")];
            let words = words.into_iter().filter(|(is_so, _)| *is_so).map(|(_, word)| word);
            words.collect::<Vec<_>>().join(" ")
        });
        assert_eq!(found.as_deref().unwrap_or("-"), cells[5], "{row}");
    }
}

#[test]
fn policy_list_for_one_namespace_reads_its_own() {
    let (ours, staged) = ("claim-rollout", Some("claim-rollout-staged"));
    for (name, fullname, sets, expected) in [
        ("claim-rollout-staged", ours, None, staged),
        ("claim-rollout-staged", ours, Some("team-a"), staged),
        ("claim-rollout-staged-team-a", ours, Some("team-a"), staged),
        ("claim-rollout-staged-team-a", ours, Some("team-b"), None),
        ("claim-rollout-staged-team-a", ours, None, None),
        ("claim-rollout-stagedteam-a", ours, Some("team-a"), None),
        ("volumes-staged", "volumes", None, staged),
        ("volumes-staged-team-a", "volumes", Some("team-a"), staged),
        ("volumes-staged", ours, None, None),
    ] {
        let policy = json!({"metadata": {"name": name}});
        let binding = json!({"spec": {"policyName": name, "validationActions": ["Deny"]}});
        let found = GuardPolicy::list(&[policy], &[binding], fullname, sets).pop();
        let found = found.map(|policy| (policy.part, policy.denies));
        assert_eq!(
            found,
            expected.map(|part| (part, true)),
            "{name} for {fullname} and {sets:?}"
        );
    }
}
