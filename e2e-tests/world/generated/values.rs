//! The values in reviews: usual ones first, then values that have caused trouble somewhere.

use serde_json::{Value, json};

use super::choices::Choices;

/// Valid sizes of volumes. Some are equal.
const SIZES: [&str; 12] = [
    "10Gi",
    "20Gi",
    "5Gi",
    "10240Mi",
    "1Ti",
    "1.5Gi",
    "10737418240",
    "21474836480000m",
    "2e10",
    "9223372036854775807",
    "1",
    "100G",
];

/// Invalid sizes and texts that are no quantities.
const ODD_SIZES: [&str; 20] = [
    "0",
    "-1Gi",
    "8Ei",
    "9223372036854775808",
    "",
    "Gi",
    ".",
    "1Zi",
    " 10Gi",
    "１０Gi",
    "+10Gi",
    "1_000",
    "1e",
    "1e9999999999",
    "1e-9999",
    "0.0000000001",
    "1e29",
    "NaN",
    "10gi",
    "00000000000000000000000000000000000000000000000001Gi",
];

/// The name of the StatefulSet in almost every review.
pub(crate) const SET: &str = "web";
/// The namespace of the StatefulSet.
pub(crate) const NAMESPACE: &str = "shop";
/// The uid of the StatefulSet.
pub(crate) const UID: &str = "5b6c1e1a-7d0b-4b0e-9d3f-2a4c6e8f0a1b";
/// The default account of the controller.
pub(crate) const CONTROLLER: &str = "system:serviceaccount:claim-rollout:claim-rollout-controller";
/// The account of the StatefulSet controller.
pub(crate) const STATEFUL_SET_CONTROLLER: &str = "system:serviceaccount:kube-system:statefulset-controller";

/// Keys of labels and annotations: usual, reserved, ours, invalid.
pub(crate) const KEYS: [&str; 12] = [
    "tier",
    "app.kubernetes.io/name",
    "helm.sh/chart",
    "example.com/note",
    "volume.kubernetes.io/storage-provisioner",
    "kubernetes.io/x",
    "pv.kubernetes.io/bind-completed",
    "claim-rollout.io/revision",
    "resize.topolvm.io/storage_limit",
    "",
    "a b\u{202e}\n",
    "x.kubernetes.io/é",
];

/// Texts for any field.
pub(crate) const TEXTS: [&str; 12] = [
    "a",
    "gold",
    "",
    "true",
    "null",
    "{}",
    "é\u{1f600}",
    "\u{0}",
    "\u{202e}gnp.exe",
    "a\"b\\c\n\td",
    "system:masters",
    "0",
];

/// A size, rarely an invalid one.
pub(crate) fn size(choices: &mut dyn Choices) -> Value {
    if choices.one_in(12) {
        return odd_size(choices);
    }
    json!(*choices.pick(&SIZES))
}

/// A size that is smaller than most others; rarely an invalid one.
pub(crate) fn small_size(choices: &mut dyn Choices) -> Value {
    if choices.one_in(48) {
        return odd_size(choices);
    }
    json!(*choices.pick(&["10Gi", "10Gi", "5Gi", "1.5Gi", "10240Mi", "1"]))
}

/// A key of a label or an annotation, mostly one that any user may set.
pub(crate) fn key(choices: &mut dyn Choices) -> &'static str {
    if choices.one_in(4) {
        return choices.word(&KEYS);
    }
    choices.word(&KEYS[..4])
}

/// A value that is no size.
pub(crate) fn odd_size(choices: &mut dyn Choices) -> Value {
    match choices.below(8) {
        0 => json!(10),
        1 => json!(1.5),
        2 => json!(u64::MAX),
        3 => trouble(choices),
        _ => json!(*choices.pick(&ODD_SIZES)),
    }
}

/// Values of the wrong type.
pub(crate) fn trouble(choices: &mut dyn Choices) -> Value {
    match choices.below(10) {
        0 => Value::Null,
        1 => json!([]),
        2 => json!({}),
        3 => json!(choices.below(2) == 1),
        4 => json!(*choices.pick(&[0.0, -0.0, 1e300, 1.5, -1.0])),
        5 => json!(*choices.pick(&[0, 1, -1, i64::MAX, i64::MIN])),
        6 => json!([null, "a", 1]),
        7 => (0..choices.below(140)).fold(json!({}), |deep, _| json!([deep])),
        8 => json!("x".repeat(choices.below(3000))),
        _ => json!(*choices.pick(&TEXTS)),
    }
}
