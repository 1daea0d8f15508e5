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

#[test]
fn policy_list_of_a_cluster_reads_what_is_stored() {
    let name = "claim-rollout-staged";
    let policy = |name: &str, spec: Value| json!({"metadata": {"name": name}, "spec": spec});
    let binding = |policy: &str, actions: Value| json!({"spec": {"policyName": policy, "validationActions": actions}});
    let plain = || policy(name, json!({}));
    for (what, policy, binding, expected) in [
        (
            "somebody else's",
            policy("other", json!({})),
            binding("other", json!(["Deny"])),
            None,
        ),
        (
            "bound",
            plain(),
            binding(name, json!(["Audit", "Deny"])),
            Some((true, true)),
        ),
        (
            "only audited",
            plain(),
            binding(name, json!(["Audit"])),
            Some((false, true)),
        ),
        (
            "another's binding",
            plain(),
            binding("other", json!(["Deny"])),
            Some((false, true)),
        ),
        (
            "fails open",
            policy(name, json!({"failurePolicy": "Ignore"})),
            binding(name, json!(["Deny"])),
            Some((true, false)),
        ),
    ] {
        let found = GuardPolicy::list(&[policy], &[binding], "claim-rollout", None).pop();
        let found = found.map(|policy| (policy.denies, policy.fails_closed));
        assert_eq!(found, expected, "{what}");
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
