//! Requests, and the policies that are called for them.

/// Which policies are called, `s`ets, `c`laims, `r`etention, `p`ods, and the request: arguments of kubectl. Every request
/// is a dry run.
///
/// `keeps` and `deletes` are StatefulSets with two replicas. The retention policy of `deletes` deletes its PVCs, with
/// the StatefulSet and with a replica.
pub(super) const TABLE: &[(&str, &str)] = &[
    // Everyday requests call no policy.
    ("    ", "set image statefulset/keeps main=example/main:2"),
    ("    ", "annotate statefulset keeps example.com/note=hello"),
    ("    ", "label statefulset keeps team=storage"),
    ("    ", r#"patch statefulset keeps -p {"spec":{"replicas":1}}"#),
    ("    ", "delete statefulset keeps"),
    ("    ", "delete statefulset keeps --cascade=orphan"),
    ("    ", "set image statefulset/deletes main=example/main:2"),
    ("    ", r#"patch statefulset deletes -p {"spec":{"replicas":3}}"#),
    ("    ", "scale statefulset keeps --replicas=3"),
    ("    ", "scale statefulset keeps --replicas=2"),
    // Sets: a change of the templates, and an annotation of ours that is added, changed or removed.
    ("s   ", r#"patch statefulset keeps --type=json -p [{"op":"replace","path":"/spec/volumeClaimTemplates/0/spec/resources/requests/storage","value":"2Gi"}]"#),
    ("s   ", "annotate statefulset keeps claim-rollout.io/update-policy=InPlace"),
    ("s   ", "label statefulset ours team=storage"),
    ("s   ", "annotate statefulset ours claim-rollout.io/update-policy-"),
    ("    ", "delete statefulset ours"),
    // The controller writes without any of them: with them, a StatefulSet that is being replaced would stay absent.
    ("    ", "annotate statefulset ours claim-rollout.io/phase=Complete --as=system:serviceaccount:claim-rollout:claim-rollout-controller --as-group=system:masters"),
    ("    ", r#"patch statefulset deletes -p {"spec":{"persistentVolumeClaimRetentionPolicy":{"whenDeleted":"Retain"}}} --as=system:serviceaccount:claim-rollout:claim-rollout-controller --as-group=system:masters"#),
    ("    ", "delete statefulset deletes --as=system:serviceaccount:claim-rollout:claim-rollout-controller --as-group=system:masters"),
    // The status: only annotations and owners concern the policy, not the status itself.
    ("    ", r#"patch statefulset ours --subresource=status --type=merge -p {"status":{"observedGeneration":7}}"#),
    ("s   ", r#"patch statefulset ours --subresource=status --type=merge -p {"metadata":{"annotations":{"a":"b"}}}"#),
    ("s   ", r#"patch statefulset ours --subresource=status --type=merge -p {"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"owner","uid":"1"}]}}"#),
    ("    ", r#"patch statefulset keeps --subresource=status --type=merge -p {"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"owner","uid":"1"}]}}"#),
    // A StatefulSet that is deleted to be replaced: only a change of its templates, which the guard then denies.
    ("s   ", r#"patch statefulset replacing --type=json -p [{"op":"replace","path":"/spec/volumeClaimTemplates/0/spec/resources/requests/storage","value":"2Gi"}]"#),
    ("    ", "label statefulset replacing team=storage"),
    // A StatefulSet full of annotations calls the policy, and the request is answered.
    ("s   ", "label statefulset full team=storage"),
    ("    ", r#"patch statefulset full --subresource=status --type=merge -p {"status":{"observedGeneration":7}}"#),
    // Claims: only those of the StatefulSet controller, under both of its accounts.
    ("    ", "create -f -"),
    (" c  ", "create -f - --as=system:serviceaccount:kube-system:statefulset-controller"),
    (" c  ", "create -f - --as=system:kube-controller-manager --as-group=system:masters"),
    // Retention: a Scale shows only that it is a scale-down.
    ("  r ", "scale statefulset keeps --replicas=1"),
    ("  r ", "scale statefulset keeps --replicas=0"),
    ("  r ", "scale statefulset deletes --replicas=1"),
    ("  r ", r#"patch statefulset deletes -p {"spec":{"replicas":0}}"#),
    ("  r ", r#"patch statefulset deletes -p {"spec":{"ordinals":{"start":1}}}"#),
    ("  r ", r#"patch statefulset deletes -p {"spec":{"persistentVolumeClaimRetentionPolicy":{"whenScaled":"Retain"}}}"#),
    ("  r ", r#"patch statefulset keeps -p {"spec":{"persistentVolumeClaimRetentionPolicy":{"whenScaled":"Delete"}}}"#),
    ("  r ", "delete statefulset deletes"),
    ("  r ", "delete statefulset deletes --cascade=orphan"),
    ("    ", "delete statefulset deletes --as=system:serviceaccount:kube-system:namespace-controller"),
    ("    ", "delete statefulset deletes --as=system:serviceaccount:kube-system:generic-garbage-collector"),
    // Pods: only those with PVCs, of a StatefulSet, deleted by the StatefulSet controller.
    ("    ", "delete pod keeps-0"),
    ("   p", "delete pod keeps-0 --as=system:serviceaccount:kube-system:statefulset-controller"),
    ("   p", "delete pod keeps-0 --as=system:kube-controller-manager --as-group=system:masters"),
    ("    ", "delete pod keeps-0 --as=system:serviceaccount:kube-system:pod-garbage-collector"),
    ("    ", "delete pod claimless --as=system:serviceaccount:kube-system:statefulset-controller"),
    ("    ", "delete pod of-no-set --as=system:kube-controller-manager --as-group=system:masters"),
    ("    ", "label pod keeps-0 team=storage"),
];
