//! Cases with more objects, or longer texts, than a line of a file should have.

use claim_rollout::templates::{Phase, UpdatePolicy};
use serde_json::{Value, json};

use super::case::{Case, deletion, update};
use super::objects::{Object, claim, pod, staged_change, storage_class, web};

pub(super) fn cases() -> Vec<Case> {
    let mut cases = vec![many_causes(), many_claims(), no_pod(), nobody()];
    cases.extend(many_templates());
    cases
}

/// `web` with this many templates more.
fn many(more: usize) -> Object {
    let mut templates = web().0["spec"]["volumeClaimTemplates"].as_array().cloned().unwrap_or_default();
    templates.extend((0..more).map(|index| json!({"metadata": {"name": format!("t{index}")}})));
    web().with("/spec/volumeClaimTemplates", templates)
}

fn many_templates() -> [Case; 2] {
    [
        update("U3", "more templates than allowed", &web(), &many(999)).expects("deny 403 \"expected at most 1000 templates, but found 1001\""),
        update("U3", "more is wrong than a denial holds", &web(), &many(500)).expects("deny 403 \"[t0]: a template cannot be added without the setting templateChanges: Allow; \" \"; and \" \" more; allowed changes: spec.resources.requests.storage\""),
    ]
}

/// More PVCs than a line names.
fn many_claims() -> Case {
    let wide = || web().in_place().replicas(20);
    let cluster = (0..20).map(|ordinal| claim(&format!("data-web-{ordinal}")).0).chain([storage_class("standard", false)]);
    update("U3", "more claims than a line names", &wide(), &wide().size("20Gi"))
        .settings(json!({"pvcChecks": "Warn"}))
        .cluster(cluster.collect())
        .expects("mutate templates staged:InPlace lookups=21 warns \"20 PVCs\" \"more: storage class standard does not have allowVolumeExpansion: true\"")
}

/// A request about a Pod whose old object is a StatefulSet.
fn no_pod() -> Case {
    let case = deletion("G1", "there is no API server to ask", &pod(2));
    case.asking("/oldObject", web().0).asking("/name", "web").expects("pass")
}

/// Neither the apply nor what is staged names a manager.
fn nobody() -> Case {
    let named = staged_change(&web().size("20Gi"), UpdatePolicy::InPlace, Phase::RollingOut);
    let owns = json!({"f:spec": {"f:replicas": {}, "f:volumeClaimTemplates": {}}});
    let fields = json!([
        {"manager": "kube-controller-manager", "operation": "Update", "subresource": "status", "fieldsV1": {"f:status": {}}},
        {"manager": "", "operation": "Apply", "apiVersion": "apps/v1", "fieldsType": "FieldsV1", "fieldsV1": owns, "time": "1"},
    ]);
    let set = web().in_place().with("/metadata/managedFields", fields).note("staged", &named.replace("\"manager\":\"helm\"", "\"manager\":\"\""));
    update("U1", "server-side apply by nobody of what nobody staged", &set, &set).manager("").expects("pass")
}

/// More causes than the API server shows warnings: the rest is counted.
fn many_causes() -> Case {
    let set = |size: &str| web().in_place().data("/spec/storageClassName", Value::Null).size(size).replicas(200);
    let class = |ordinal: u32| claim(&format!("data-web-{ordinal}")).with("/spec/storageClassName", format!("missing-{ordinal}")).0;
    let first = "claim-rollout: staged data 10Gi -> 20Gi; 200 PVCs will be updated in place, highest ordinal first (kubectl claim-rollout status web -n shop)";
    let rest = (0..200).rev().map(|ordinal| format!("claim-rollout: data-web-{ordinal}: storage class missing-{ordinal} does not exist"));
    // 4,096 characters, and room for the last line.
    let mut left = 4000 - first.len();
    let shown: Vec<String> = rest.take_while(|line| left.checked_sub(line.len()).is_some_and(|rest| { left = rest; true })).collect();
    let left_out = format!("warnings left out: {}", 200 - shown.len());
    let lines: Vec<String> = shown.iter().chain([&left_out]).map(|line| format!("\"{line}\"")).collect();
    update("U3", "more causes than warnings", &set("10Gi"), &set("20Gi"))
        .settings(json!({"pvcChecks": "Warn", "maxPVCLookups": 200}))
        .cluster((0..200).map(class).collect())
        .expects(format!("mutate templates staged:InPlace lookups=400 warns \"{first}\" {}", lines.join(" ")))
}
