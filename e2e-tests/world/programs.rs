//! The programs of a control plane and their flags. All run in the folder of the control plane, so file names are
//! relative to it.

use std::path::{Display, Path};

/// The programs that the API server needs, the API server, and the programs that do not need it.
pub(super) const FIRST: [&str; 3] = ["etcd", API_SERVER, "csi-driver"];
/// The programs that need a ready API server. Each is a user of its own name, with `name.kubeconfig`.
pub(super) const THEN: [&str; 5] = [
    "kube-controller-manager",
    "kube-scheduler",
    "csi-provisioner",
    "csi-resizer",
    "kwok",
];

/// The only program that listens on a TCP port.
pub(super) const API_SERVER: &str = "kube-apiserver";

/// The name of the CSI driver, and the provisioner of every StorageClass.
pub(crate) const DRIVER: &str = "mock.csi.claim-rollout.io";
/// The annotation of Nodes that kwok simulates.
pub(super) const NODE_ANNOTATION: &str = "kwok.x-k8s.io/node";

/// The flags of `program`, one a line; empty lines are left out.
pub(super) fn flags(program: &str, folder: &Path, port: u16) -> Vec<String> {
    let folder = folder.display();
    let workers = if program == "csi-resizer" { "--workers=50" } else { "" };
    let text = match program {
        // etcd has no peer, and the data is thrown away. The advertised URL is not used, but must be a host and a port.
        "etcd" => format!(
            "--data-dir=etcd
             --unsafe-no-fsync
             --log-level=warn
             --listen-client-urls=unix://{folder}/etcd.sock
             --advertise-client-urls=http://127.0.0.1:0
             --listen-peer-urls=http://127.0.0.1:0"
        ),
        API_SERVER => of_api_server(&folder, port),
        "kube-controller-manager" => of_controller_manager(program),
        "kube-scheduler" => format!(
            "--kubeconfig={program}.kubeconfig
             --secure-port=0
             --leader-elect=false"
        ),
        "csi-driver" => format!(
            "--endpoint={folder}/csi.sock
             --name={DRIVER}
             --behaviour=driver.json"
        ),
        // Short retries, because tests that remove a limit want to see the effect at once. All requested volumes are
        // expanded at the same time.
        "csi-provisioner" | "csi-resizer" => format!(
            "{workers}
             --kubeconfig={program}.kubeconfig
             --csi-address={folder}/csi.sock
             --retry-interval-start=200ms
             --retry-interval-max=2s
             --kube-api-qps=100
             --kube-api-burst=200
             -v=3"
        ),
        "kwok" => format!(
            "--kubeconfig={program}.kubeconfig
             --config=kwok-stages.yaml
             --manage-all-nodes=false
             --manage-nodes-with-annotation-selector={NODE_ANNOTATION}=fake
             --node-lease-duration-seconds=40"
        ),
        _ => String::new(),
    };
    text.lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .map(str::to_owned)
        .collect()
}

/// The reconciler of endpoints does not take loopback addresses. The audit log is written before the request ends, into
/// one file.
fn of_api_server(folder: &Display<'_>, port: u16) -> String {
    format!(
        "--etcd-servers=unix://{folder}/etcd.sock
         --bind-address=127.0.0.1
         --advertise-address=127.0.0.1
         --endpoint-reconciler-type=none
         --secure-port={port}
         --tls-cert-file=server.crt
         --tls-private-key-file=server.key
         --token-auth-file=tokens.csv
         --authorization-mode=RBAC
         --service-cluster-ip-range=10.96.0.0/16
         --service-account-issuer=https://kubernetes.default.svc
         --service-account-key-file=service-accounts.pub
         --service-account-signing-key-file=service-accounts.key
         --audit-policy-file=audit-policy.yaml
         --audit-log-path=audit.log
         --audit-log-mode=blocking
         --audit-log-maxsize=4096"
    )
}

/// Every controller has its own ServiceAccount, as in production: admission distinguishes them by name. A PVC whose
/// binding loses a race against the StatefulSet controller is retried in one second instead of fifteen.
fn of_controller_manager(program: &str) -> String {
    format!(
        "--kubeconfig={program}.kubeconfig
         --secure-port=0
         --leader-elect=false
         --use-service-account-credentials=true
         --service-account-private-key-file=service-accounts.key
         --root-ca-file=ca.crt
         --pvclaimbinder-sync-period=1s
         --kube-api-qps=300
         --kube-api-burst=600"
    )
}
