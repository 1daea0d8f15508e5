//! Reviews as a guest gets them from policy-server, in three sizes. They are seeded, so every run measures the same
//! bytes.

use serde_json::{Map, Value, json};

/// The size of a review, and its contents.
#[derive(Clone, Copy)]
pub(crate) struct Size {
    pub(crate) name: &'static str,
    containers: usize,
    /// Environment variables of each container.
    env: usize,
    managed_fields: bool,
    /// Bytes of one long annotation, as some operators write.
    annotation: usize,
}

pub(crate) const SIZES: [Size; 3] = [
    Size {
        name: "4 KB",
        containers: 1,
        env: 0,
        managed_fields: false,
        annotation: 0,
    },
    Size {
        name: "15 KB",
        containers: 3,
        env: 12,
        managed_fields: true,
        annotation: 0,
    },
    Size {
        name: "659 KB",
        containers: 100,
        env: 4,
        managed_fields: true,
        annotation: 200_000,
    },
];

/// The change of an UPDATE.
#[derive(Clone, Copy)]
pub(crate) enum Edit {
    /// Another image, the same templates: the most common update.
    Image,
    /// The storage of the template grows from 10Gi to 20Gi.
    Grow,
}

/// The payload of `validate` for an UPDATE of a StatefulSet of this size.
pub(crate) fn review(size: Size, edit: Edit) -> Value {
    let old = stateful_set(size);
    let mut new = old.clone();
    match edit {
        Edit::Image => new["spec"]["template"]["spec"]["containers"][0]["image"] = json!("example/app-0:1.8.0"),
        Edit::Grow => {
            new["spec"]["volumeClaimTemplates"][0]["spec"]["resources"]["requests"]["storage"] = json!("20Gi");
        }
    }
    let kind = json!({"group": "apps", "version": "v1", "kind": "StatefulSet"});
    let resource = json!({"group": "apps", "version": "v1", "resource": "statefulsets"});
    json!({
        "request": {
            "uid": "0c1f6d2e-6f0a-4a55-9d0e-3f8b1a1c2d4e",
            "kind": kind,
            "resource": resource,
            "requestKind": kind,
            "requestResource": resource,
            "name": "web",
            "namespace": "shop",
            "operation": "UPDATE",
            "userInfo": {"username": "alice", "groups": ["developers", "system:authenticated"]},
            "object": new,
            "oldObject": old,
            "dryRun": false,
            "options": {"apiVersion": "meta.k8s.io/v1", "kind": "UpdateOptions", "fieldManager": "kubectl-edit"},
        },
        // Without lookups, the benchmark measures the guest only. The peer makes no lookups either.
        "settings": {"authority": "TrustSetEditors", "pvcChecks": "Ignore"},
    })
}

/// A StatefulSet that survives a typed round trip: otherwise the peer could not answer correctly.
fn stateful_set(size: Size) -> Value {
    let mut random = Random(0x5EED);
    let mut annotations = Map::new();
    annotations.insert("claim-rollout.io/update-policy".to_owned(), json!("InPlace"));
    if size.annotation > 0 {
        annotations.insert("example.com/inventory".to_owned(), json!(random.text(size.annotation)));
    }
    let containers: Vec<Value> = (0..size.containers)
        .map(|n| container(n, size.env, &mut random))
        .collect();
    let mut metadata = json!({
        "name": "web",
        "namespace": "shop",
        "uid": "7d9e3c52-8b1f-4f5e-a0c7-5b2d9f0e6a31",
        "resourceVersion": "812345",
        "generation": 7,
        "creationTimestamp": "2026-01-02T03:04:05Z",
        "labels": {"app.kubernetes.io/name": "web", "app.kubernetes.io/instance": "shop"},
        "annotations": annotations,
    });
    if size.managed_fields {
        metadata["managedFields"] = json!([managed_fields(&containers)]);
    }
    json!({
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": metadata,
        "spec": {
            "podManagementPolicy": "OrderedReady",
            "replicas": 3,
            "revisionHistoryLimit": 10,
            "selector": {"matchLabels": {"app.kubernetes.io/name": "web"}},
            "serviceName": "web",
            "template": {
                "metadata": {"labels": {"app.kubernetes.io/name": "web"}},
                "spec": {
                    "containers": containers,
                    "dnsPolicy": "ClusterFirst",
                    "restartPolicy": "Always",
                    "terminationGracePeriodSeconds": 30,
                },
            },
            "updateStrategy": {"rollingUpdate": {"partition": 0}, "type": "RollingUpdate"},
            "volumeClaimTemplates": [claim_template()],
        },
        "status": {
            "availableReplicas": 3, "collisionCount": 0, "currentReplicas": 3, "currentRevision": "web-5d8f6c7b9",
            "observedGeneration": 7, "readyReplicas": 3, "replicas": 3, "updateRevision": "web-5d8f6c7b9",
            "updatedReplicas": 3,
        },
    })
}

fn claim_template() -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "data"},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "10Gi"}},
            "storageClassName": "fast",
            "volumeMode": "Filesystem",
        },
        "status": {"phase": "Pending"},
    })
}

fn container(n: usize, env: usize, random: &mut Random) -> Value {
    let env: Vec<Value> = (0..env)
        .map(|m| json!({"name": format!("SETTING_{m}"), "value": random.text(32)}))
        .collect();
    let probe = |path: &str| {
        json!({
            "failureThreshold": 3, "httpGet": {"path": path, "port": 8080, "scheme": "HTTP"}, "periodSeconds": 10,
            "successThreshold": 1, "timeoutSeconds": 1,
        })
    };
    let mut container = json!({
        "name": format!("app-{n}"),
        "image": format!("example/app-{n}:1.7.3"),
        "imagePullPolicy": "IfNotPresent",
        "resources": {"limits": {"memory": "512Mi"}, "requests": {"cpu": "250m", "memory": "256Mi"}},
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
        "volumeMounts": [{"mountPath": "/var/lib/app", "name": "data"}],
    });
    if !env.is_empty() {
        container["args"] = json!([
            "--config",
            "/etc/app/config.yaml",
            "--log-level",
            "info",
            random.text(24)
        ]);
        container["env"] = json!(env);
        container["livenessProbe"] = probe("/healthz");
        container["ports"] = json!([{"containerPort": 8080, "name": "http", "protocol": "TCP"}]);
        container["readinessProbe"] = probe("/ready");
    }
    container
}

/// The managed fields of a server-side apply: an entry for each field of each container.
fn managed_fields(containers: &[Value]) -> Value {
    let each = containers.iter().filter_map(Value::as_object).map(|container| {
        let name = container.get("name").unwrap_or(&Value::Null);
        let mut fields: Map<String, Value> = container.keys().map(|key| (format!("f:{key}"), json!({}))).collect();
        fields.insert(".".to_owned(), json!({}));
        (format!("k:{{\"name\":{name}}}"), Value::Object(fields))
    });
    json!({
        "apiVersion": "apps/v1",
        "fieldsType": "FieldsV1",
        "fieldsV1": {
            "f:metadata": {"f:annotations": {"f:claim-rollout.io/update-policy": {}}},
            "f:spec": {
                "f:replicas": {}, "f:selector": {}, "f:serviceName": {}, "f:volumeClaimTemplates": {},
                "f:template": {"f:spec": {"f:containers": each.collect::<Map<_, _>>()}},
            },
        },
        "manager": "deployer",
        "operation": "Apply",
        "time": "2026-01-02T03:04:05Z",
    })
}

/// xorshift64*: stable on all machines and in all versions, unlike the generators of libraries.
struct Random(u64);

impl Random {
    fn text(&mut self, length: usize) -> String {
        const ALPHABET: &[u8; 64] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
        let letter = |_| {
            self.0 ^= self.0 >> 12;
            self.0 ^= self.0 << 25;
            self.0 ^= self.0 >> 27;
            let index = self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 58;
            char::from(ALPHABET[usize::from(index.to_le_bytes()[0])])
        };
        (0..length).map(letter).collect()
    }
}
