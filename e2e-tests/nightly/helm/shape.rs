//! Shapes of public charts: what their StatefulSets have in common is `chart/shapes.yaml`, and this is what differs.

use anyhow::ensure;

/// A chart.
pub(super) struct Shape {
    pub(super) name: &'static str,
    /// The texts of the template that differ, and what is in their place.
    edits: &'static [(&'static str, &'static str)],
    /// The names of the StatefulSets, and of their templates whose size is a value of the chart. All others have 1Gi.
    pub(super) sets: &'static [(&'static str, &'static [&'static str])],
    /// `updateStrategy: OnDelete`: the user deletes the Pods.
    pub(super) by_hand: bool,
    /// Before a rollback by server-side apply, Helm sends a patch of `managedFields`.
    pub(super) reorders: bool,
    /// What makes an upgrade fail.
    pub(super) broken: Broken,
}

/// What makes an upgrade fail.
pub(super) enum Broken {
    /// An object that the API server denies after it accepted the StatefulSets.
    Object,
    /// A Pod that no Node can run. Kubernetes replaces such a Pod by itself only with `podManagementPolicy: Parallel`.
    Pod,
}

const WEB: Shape = Shape {
    name: "",
    edits: &[],
    sets: &[("web", &["data"])],
    by_hand: false,
    reorders: false,
    broken: Broken::Object,
};
/// The one that goes back while sizes are kept.
pub(super) const KEPT: Shape = Shape { name: "kept", ..WEB };
const PARALLEL: (&str, &str) = (
    "  serviceName: web\n",
    "  serviceName: web\n  podManagementPolicy: Parallel\n",
);

pub(super) const SHAPES: [Shape; 7] = [
    Shape {
        name: "three-templates",
        edits: &[
            (
                "        - {name: data, mountPath: /data}\n",
                "        - {name: data, mountPath: /data}
        - {name: logs, mountPath: /logs}
        - {name: wal, mountPath: /wal}\n",
            ),
            (
                "---\n",
                "  - metadata: {name: logs}
    spec:
      accessModes: [ReadWriteOnce]
      resources: {requests: {storage: 1Gi}}
  - metadata: {name: wal}
    spec:
      accessModes: [ReadWriteOnce]
      resources: {requests: {storage: {{ $.Values.size }}}}
---\n",
            ),
        ],
        sets: &[("web", &["data", "wal"])],
        ..WEB
    },
    Shape {
        name: "two-sets",
        edits: &[
            (
                "apiVersion: apps/v1\n",
                "{{- range $set := list \"web\" \"store\" }}\n---\napiVersion: apps/v1\n",
            ),
            ("name: web\n", "name: {{ $set }}\n"),
            ("app: web", "app: {{ $set }}"),
            ("name: data", "name: {{ $set }}-data"),
            ("---\n{{- if", "{{- end }}\n---\n{{- if"),
        ],
        sets: &[("store", &["store-data"]), ("web", &["web-data"])],
        ..WEB
    },
    Shape {
        name: "on-delete",
        edits: &[
            PARALLEL,
            (
                "  serviceName: web\n",
                "  serviceName: web\n  updateStrategy: {type: OnDelete}\n",
            ),
            (
                "---\n",
                "  - metadata: {name: audit}
    spec:
      accessModes: [ReadWriteOnce]
      resources: {requests: {storage: {{ $.Values.size }}}}
---\n",
            ),
        ],
        sets: &[("web", &["data", "audit"])],
        by_hand: true,
        ..WEB
    },
    Shape {
        name: "ports",
        edits: &[
            PARALLEL,
            (
                "        volumeMounts:\n",
                "        ports:
        - {name: client, containerPort: 4222}
        - {name: websocket, containerPort: 80}
        volumeMounts:\n",
            ),
        ],
        reorders: true,
        broken: Broken::Pod,
        ..WEB
    },
    Shape {
        name: "zero-values",
        edits: &[
            (
                "mountPath: /data}\n",
                "mountPath: /data, subPath: \"\", readOnly: false}
        env: [{name: NONE, value: \"\"}]
        securityContext: {}
        resources: {}
        readinessProbe: {tcpSocket: {port: 80}, initialDelaySeconds: 0, successThreshold: 0}\n",
            ),
            (
                "      terminationGracePeriodSeconds: 0\n",
                "      terminationGracePeriodSeconds: 0
      hostNetwork: false
      priorityClassName: \"\"
      affinity: {}
      tolerations: []
      volumes: []\n",
            ),
        ],
        ..WEB
    },
    Shape {
        name: "budgets",
        edits: &[
            PARALLEL,
            ("InPlace\n", "InPlace\n    claim-rollout.io/max-in-motion: \"2\"\n"),
            ("replicas: 2\n", "replicas: 3\n"),
            (
                "---\n",
                "---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web}
spec:
  maxUnavailable: 1
  selector:
    matchLabels: {app: web}
---\n",
            ),
        ],
        broken: Broken::Pod,
        ..WEB
    },
    Shape {
        name: "null-annotations",
        edits: &[(
            "  - metadata:\n      name: data\n",
            "  - apiVersion: v1
    kind: PersistentVolumeClaim
    metadata:
      name: data
      annotations: null\n",
        )],
        ..WEB
    },
];

impl Shape {
    /// The template of the chart.
    pub(super) fn template(&self) -> anyhow::Result<String> {
        let mut template = include_str!("chart/shapes.yaml").to_owned();
        for (from, to) in self.edits {
            ensure!(template.contains(from), "{}: the template has no {from:?}", self.name);
            template = template.replace(from, to);
        }
        Ok(template)
    }
}
