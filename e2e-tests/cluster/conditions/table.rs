//! Requests, and the policies that are called for them.

/// A request, and which policies are called: `s`ets, `c`laims, `r`etention, `p`ods. Every request is a dry run.
///
/// `keeps` and `deletes` are StatefulSets with two replicas. The retention policy of `deletes` deletes its PVCs, with
/// the StatefulSet and with a replica.
pub(super) const TABLE: &[(&str, &[&str])] = &[
    // Everyday requests call no policy.
    ("    ", &["set", "image", "statefulset/keeps", "main=example/main:2"]),
    ("    ", &["annotate", "statefulset", "keeps", "example.com/note=hello"]),
    ("    ", &["label", "statefulset", "keeps", "team=storage"]),
    (
        "    ",
        &["patch", "statefulset", "keeps", "-p", r#"{"spec":{"replicas":1}}"#],
    ),
    ("    ", &["delete", "statefulset", "keeps"]),
    ("    ", &["delete", "statefulset", "keeps", "--cascade=orphan"]),
    ("    ", &["set", "image", "statefulset/deletes", "main=example/main:2"]),
    (
        "    ",
        &["patch", "statefulset", "deletes", "-p", r#"{"spec":{"replicas":3}}"#],
    ),
    ("    ", &["scale", "statefulset", "keeps", "--replicas=3"]),
    ("    ", &["scale", "statefulset", "keeps", "--replicas=2"]),
    // Sets: a change of the templates, and an annotation of ours that is added, changed or removed.
    ("s   ", &["patch", "statefulset", "keeps", "--type=json", "-p", LARGER]),
    (
        "s   ",
        &[
            "annotate",
            "statefulset",
            "keeps",
            "claim-rollout.io/update-policy=InPlace",
        ],
    ),
    ("s   ", &["label", "statefulset", "ours", "team=storage"]),
    (
        "s   ",
        &["annotate", "statefulset", "ours", "claim-rollout.io/update-policy-"],
    ),
    ("    ", &["delete", "statefulset", "ours"]),
    // The controller writes without any of them: with them, a StatefulSet that is being replaced would stay absent.
    (
        "    ",
        &[
            "annotate",
            "statefulset",
            "ours",
            "claim-rollout.io/phase=Complete",
            CONTROLLER,
            MASTERS,
        ],
    ),
    (
        "    ",
        &[
            "patch",
            "statefulset",
            "deletes",
            "-p",
            r#"{"spec":{"persistentVolumeClaimRetentionPolicy":{"whenDeleted":"Retain"}}}"#,
            CONTROLLER,
            MASTERS,
        ],
    ),
    ("    ", &["delete", "statefulset", "deletes", CONTROLLER, MASTERS]),
    // The status: only annotations and owners concern the policy, not the status itself.
    (
        "    ",
        &[
            "patch",
            "statefulset",
            "ours",
            STATUS,
            "--type=merge",
            "-p",
            r#"{"status":{"observedGeneration":7}}"#,
        ],
    ),
    (
        "s   ",
        &[
            "patch",
            "statefulset",
            "ours",
            STATUS,
            "--type=merge",
            "-p",
            r#"{"metadata":{"annotations":{"a":"b"}}}"#,
        ],
    ),
    (
        "s   ",
        &["patch", "statefulset", "ours", STATUS, "--type=merge", "-p", OWNED],
    ),
    (
        "    ",
        &["patch", "statefulset", "keeps", STATUS, "--type=merge", "-p", OWNED],
    ),
    // A StatefulSet that is deleted to be replaced: only a change of its templates, which the guard then denies.
    (
        "s   ",
        &["patch", "statefulset", "replacing", "--type=json", "-p", LARGER],
    ),
    ("    ", &["label", "statefulset", "replacing", "team=storage"]),
    // A StatefulSet full of annotations calls the policy, and the request is answered.
    ("s   ", &["label", "statefulset", "full", "team=storage"]),
    (
        "    ",
        &[
            "patch",
            "statefulset",
            "full",
            STATUS,
            "--type=merge",
            "-p",
            r#"{"status":{"observedGeneration":7}}"#,
        ],
    ),
    // Claims: only those of the StatefulSet controller, under both of its accounts.
    ("    ", &["create", "-f", "-"]),
    (
        " c  ",
        &[
            "create",
            "-f",
            "-",
            "--as=system:serviceaccount:kube-system:statefulset-controller",
        ],
    ),
    (
        " c  ",
        &[
            "create",
            "-f",
            "-",
            "--as=system:kube-controller-manager",
            "--as-group=system:masters",
        ],
    ),
    // Retention: a Scale shows only that it is a scale-down.
    ("  r ", &["scale", "statefulset", "keeps", "--replicas=1"]),
    ("  r ", &["scale", "statefulset", "keeps", "--replicas=0"]),
    ("  r ", &["scale", "statefulset", "deletes", "--replicas=1"]),
    (
        "  r ",
        &["patch", "statefulset", "deletes", "-p", r#"{"spec":{"replicas":0}}"#],
    ),
    (
        "  r ",
        &[
            "patch",
            "statefulset",
            "deletes",
            "-p",
            r#"{"spec":{"ordinals":{"start":1}}}"#,
        ],
    ),
    (
        "  r ",
        &[
            "patch",
            "statefulset",
            "deletes",
            "-p",
            r#"{"spec":{"persistentVolumeClaimRetentionPolicy":{"whenScaled":"Retain"}}}"#,
        ],
    ),
    (
        "  r ",
        &[
            "patch",
            "statefulset",
            "keeps",
            "-p",
            r#"{"spec":{"persistentVolumeClaimRetentionPolicy":{"whenScaled":"Delete"}}}"#,
        ],
    ),
    ("  r ", &["delete", "statefulset", "deletes"]),
    ("  r ", &["delete", "statefulset", "deletes", "--cascade=orphan"]),
    (
        "    ",
        &[
            "delete",
            "statefulset",
            "deletes",
            "--as=system:serviceaccount:kube-system:namespace-controller",
        ],
    ),
    (
        "    ",
        &[
            "delete",
            "statefulset",
            "deletes",
            "--as=system:serviceaccount:kube-system:generic-garbage-collector",
        ],
    ),
    // Pods: only those with PVCs, of a StatefulSet, deleted by the StatefulSet controller.
    ("    ", &["delete", "pod", "keeps-0"]),
    (
        "   p",
        &[
            "delete",
            "pod",
            "keeps-0",
            "--as=system:serviceaccount:kube-system:statefulset-controller",
        ],
    ),
    (
        "   p",
        &[
            "delete",
            "pod",
            "keeps-0",
            "--as=system:kube-controller-manager",
            "--as-group=system:masters",
        ],
    ),
    (
        "    ",
        &[
            "delete",
            "pod",
            "keeps-0",
            "--as=system:serviceaccount:kube-system:pod-garbage-collector",
        ],
    ),
    (
        "    ",
        &[
            "delete",
            "pod",
            "claimless",
            "--as=system:serviceaccount:kube-system:statefulset-controller",
        ],
    ),
    (
        "    ",
        &[
            "delete",
            "pod",
            "of-no-set",
            "--as=system:kube-controller-manager",
            "--as-group=system:masters",
        ],
    ),
    ("    ", &["label", "pod", "keeps-0", "team=storage"]),
];

const CONTROLLER: &str = "--as=system:serviceaccount:claim-rollout:claim-rollout-controller";
const MASTERS: &str = "--as-group=system:masters";
const STATUS: &str = "--subresource=status";
const OWNED: &str =
    r#"{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"owner","uid":"1"}]}}"#;
const LARGER: &str =
    r#"[{"op":"replace","path":"/spec/volumeClaimTemplates/0/spec/resources/requests/storage","value":"2Gi"}]"#;
