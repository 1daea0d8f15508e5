//! Values of the chart, what they change in its objects, and values that are errors.

/// How the policy is called: by Kubewarden, or by the built-in webhook.
pub(super) const K: &str = "admission=kubewarden";
pub(super) const B: &str = "admission=builtin";

/// The parts of objects: kind, name and JSON pointer, where `*` stands for any text; and what is to be there. That is JSON,
/// or `has` or `lacks` with a text, and null if there is no such object or field. VERSION is that of the chart.
pub(super) type Parts = &'static [(&'static str, &'static str)];

/// Values, and the parts that they change.
pub(super) const ROWS: &[(&str, &str, Parts)] = &[
    // Images follow registry, tag and digest.
    (B, "", &[("Deployment * /spec/template/spec/containers/0/image", r#""ghcr.io/claim-rollout/claim-rollout:VERSION""#)]),
    (K, "", &[("ClusterAdmissionPolicy * /spec/module", r#""registry://ghcr.io/claim-rollout/policy:vVERSION""#)]),
    (B, "global.imageRegistry=mirror:5000", &[("Deployment * /spec/template/spec/containers/0/image", r#""mirror:5000/claim-rollout/claim-rollout:VERSION""#)]),
    (K, "global.imageRegistry=mirror:5000", &[("ClusterAdmissionPolicy * /spec/module", r#""registry://mirror:5000/claim-rollout/policy:vVERSION""#)]),
    (B, "image.registry=a image.repository=b/c image.tag=d", &[("Deployment * /spec/template/spec/containers/0/image", r#""a/b/c:d""#)]),
    (K, "policy.image.tag=e", &[("ClusterAdmissionPolicy * /spec/module", r#""registry://ghcr.io/claim-rollout/policy:e""#)]),
    (B, "image.tag=d image.digest=sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
        &[("Deployment * /spec/template/spec/containers/0/image", r#""ghcr.io/claim-rollout/claim-rollout@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef""#)]),
    (K, "policy.image.digest=sha256:fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210",
        &[("ClusterAdmissionPolicy * /spec/module", r#""registry://ghcr.io/claim-rollout/policy@sha256:fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210""#)]),
    (K, "policy.module=https://example.com/policy.wasm policy.image.tag=e", &[("ClusterAdmissionPolicy * /spec/module", r#""https://example.com/policy.wasm""#)]),
    // A changed port is that of the argument, the container, the Service and the probes.
    (B, "webhook.port=10250 webhook.metricsPort=9090 controller.port=9091", &[
        ("Deployment claim-rollout-controller /spec/template/spec/containers/0/ports", r#"[{"containerPort":9091,"name":"metrics"}]"#),
        ("Deployment claim-rollout-controller /spec/template/spec/containers/0/args", r#"has "--health-address=[::]:9091""#),
        ("Deployment claim-rollout-controller /spec/template/spec/containers/0/*Probe/httpGet/port", r#""metrics""#),
        ("Deployment claim-rollout-webhook /spec/template/spec/containers/0/ports", r#"[{"containerPort":10250,"name":"https"},{"containerPort":9090,"name":"metrics"}]"#),
        ("Deployment claim-rollout-webhook /spec/template/spec/containers/0/args", r#"has "--address=[::]:10250""#),
        ("Deployment claim-rollout-webhook /spec/template/spec/containers/0/args", r#"has "--metrics-address=[::]:9090""#),
        ("Deployment claim-rollout-webhook /spec/template/spec/containers/0/*Probe/httpGet/port", r#""https""#),
        ("Service claim-rollout-webhook /spec/ports/0/port", "443"),
        ("Service claim-rollout-webhook /spec/ports/0/targetPort", r#""https""#),
    ]),
    // The priority class is made, or named.
    (B, "", &[("PriorityClass * /metadata/name", r#""claim-rollout""#), ("Deployment * /spec/template/spec/priorityClassName", r#""claim-rollout""#)]),
    (B, "priorityClass.name=high", &[("PriorityClass * /metadata/name", r#""high""#), ("Deployment * /spec/template/spec/priorityClassName", r#""high""#)]),
    (B, "priorityClass.create=false", &[("PriorityClass * /metadata", "null"), ("Deployment * /spec/template/spec/priorityClassName", "null")]),
    (B, "priorityClass.create=false priorityClass.name=high", &[("PriorityClass * /metadata", "null"), ("Deployment * /spec/template/spec/priorityClassName", r#""high""#)]),
    // Accounts reach the conditions for PVCs and Pods, and the guard.
    (K, "policy.settings.statefulSetControllerAccounts={system:serviceaccount:kube-system:sets,it's}", &[
        ("ClusterAdmissionPolicy claim-rollout-claims /spec/matchConditions/0/expression", r#"has request.userInfo.username in ["system:serviceaccount:kube-system:sets", "it's"]"#),
        ("ClusterAdmissionPolicy claim-rollout-pods /spec/matchConditions/0/expression", r#"has request.userInfo.username in ["system:serviceaccount:kube-system:sets", "it's"]"#),
    ]),
    (B, "policy.settings.statefulSetControllerAccounts={system:serviceaccount:kube-system:sets,it's}", &[
        ("MutatingWebhookConfiguration * /webhooks/1/matchConditions/0/expression", r#"has request.userInfo.username in ["system:serviceaccount:kube-system:sets", "it's"]"#),
        ("MutatingWebhookConfiguration * /webhooks/2/matchConditions/0/expression", r#"has request.userInfo.username in ["system:serviceaccount:kube-system:sets", "it's"]"#),
    ]),
    (K, "policy.settings.controllerAccounts={system:serviceaccount:storage:rollouts,system:serviceaccount:claim-rollout:claim-rollout-controller}", &[
        ("ValidatingAdmissionPolicy * /spec", r#"has request.userInfo.username in [\"system:serviceaccount:claim-rollout:claim-rollout-controller\", \"system:serviceaccount:storage:rollouts\"]"#),
    ]),
    (K, "--namespace=storage", &[
        ("* * /metadata/namespace", "lacks claim-rollout"),
        ("ValidatingAdmissionPolicy * /spec", r#"has in [\"system:serviceaccount:storage:claim-rollout-controller\"]"#),
        ("ClusterAdmissionPolicy claim-rollout /spec/settings", r#"{"controllerAccounts":["system:serviceaccount:storage:claim-rollout-controller"],"defaultUpdatePolicy":"InPlace"}"#),
    ]),
    // The guard follows the settings.
    (K, "", &[("ValidatingAdmissionPolicy claim-rollout-staged /spec", "has variables.claims.check('patch')")]),
    (K, "policy.settings.authority=RequirePatchOnPVCs", &[("ValidatingAdmissionPolicy claim-rollout-staged /spec", "has variables.claims.check('patch')")]),
    (K, "policy.settings.authority=TrustSetEditors", &[("ValidatingAdmissionPolicy * /spec", "lacks variables.claims.check('patch')")]),
    (K, "guard.enabled=false", &[("ValidatingAdmissionPolicy* * /metadata", "null")]),
    // A PVC or a Pod does not wait for long: nothing is lost without an answer.
    (K, "policy.timeoutSeconds=9", &[("ClusterAdmissionPolicy claim-rollout /spec/timeoutSeconds", "9"), ("ClusterAdmissionPolicy claim-rollout-pods /spec/timeoutSeconds", "2")]),
    (B, "policy.timeoutSeconds=9", &[("MutatingWebhookConfiguration * /webhooks/0/timeoutSeconds", "9"), ("MutatingWebhookConfiguration * /webhooks/2/timeoutSeconds", "2")]),
    // The webhook gets the certificate from the Secret of the Certificate, and has no right to write.
    (B, "webhook.certManager.enabled=true", &[
        ("Certificate claim-rollout-webhook /spec/dnsNames", r#"["claim-rollout-webhook.claim-rollout.svc"]"#),
        ("Certificate claim-rollout-webhook /spec/issuerRef", r#"{"kind":"Issuer","name":"claim-rollout-webhook"}"#),
        ("Certificate claim-rollout-webhook /spec/secretName", r#""claim-rollout-webhook-tls""#),
        ("Issuer claim-rollout-webhook /metadata/name", r#""claim-rollout-webhook""#),
        ("Deployment claim-rollout-webhook /spec/template/spec/volumes/1/secret/secretName", r#""claim-rollout-webhook-tls""#),
        ("Deployment claim-rollout-webhook /spec/template/spec/containers/0/args", r#"has "--certificates=/certificates""#),
        ("MutatingWebhookConfiguration * /metadata/annotations", r#"{"cert-manager.io/inject-ca-from":"claim-rollout/claim-rollout-webhook"}"#),
        ("ClusterRole claim-rollout-webhook /rules", "lacks update"),
        ("ClusterRole claim-rollout-webhook /rules", "lacks webhook"),
        ("Role* claim-rollout-webhook /metadata", "null"),
        ("Secret claim-rollout-webhook /metadata", "null"),
    ]),
    (B, r#"webhook.certManager.enabled=true webhook.certManager.issuerRef={"kind":"ClusterIssuer","name":"ours"}"#, &[
        ("Certificate claim-rollout-webhook /spec/issuerRef", r#"{"kind":"ClusterIssuer","name":"ours"}"#),
        ("Issuer * /metadata", "null"),
    ]),
    // With an external certificate the webhook has no right to write: the chart renders what the webhook would write.
    (B, "webhook.certificateSecret=tls", &[
        ("MutatingWebhookConfiguration * /webhooks/1/clientConfig/service/path", r#""/validate/claim-rollout-claims""#),
        ("ClusterRole claim-rollout-webhook /rules", "lacks update"),
        ("ClusterRole claim-rollout-webhook /rules", "lacks webhook"),
        ("Role* claim-rollout-webhook /metadata", "null"),
        ("Secret claim-rollout-webhook /metadata", "null"),
        ("Deployment claim-rollout-webhook /spec/template/spec/containers/0/args", r#"has "--certificates=/certificates""#),
        ("Deployment claim-rollout-webhook /spec/template/spec/containers/0/args", "lacks --path-file"),
    ]),
    (B, "webhook.certificateSecret=tls webhook.path=0123456789abcdef-012345678", &[
        ("MutatingWebhookConfiguration * /webhooks/1/clientConfig/service/path", r#""/validate/claim-rollout-claims/0123456789abcdef-012345678""#),
        ("Secret claim-rollout-webhook /data/path", r#""MDEyMzQ1Njc4OWFiY2RlZi0wMTIzNDU2Nzg=""#),
        ("Role* claim-rollout-webhook /metadata", "null"),
        ("Deployment claim-rollout-webhook /spec/template/spec/containers/0/args", r#"has "--path-file=/path/path""#),
    ]),
    // A NetworkPolicy limits who reaches the webhook.
    (B, "", &[("NetworkPolicy * /metadata", "null")]),
    (B, "webhook.networkPolicy.enabled=true webhook.networkPolicy.from[0].ipBlock.cidr=10.0.0.0/28", &[
        ("NetworkPolicy claim-rollout-webhook /spec/ingress", r#"[{"ports":[{"port":"https","protocol":"TCP"}],"from":[{"ipBlock":{"cidr":"10.0.0.0/28"}}]}]"#),
    ]),
    // Values of a component reach its Pods.
    (B, r#"controller.extraArgs=["--more"] controller.extraEnv=[{"name":"HTTPS_PROXY","value":"http://proxy"}] controller.podLabels={"a":"b"} controller.serviceAccount.annotations={"e":"f"} controller.topologySpreadConstraints=[{"maxSkew":2,"topologyKey":"zone","whenUnsatisfiable":"DoNotSchedule"}] controller.podDisruptionBudget.enabled=false"#, &[
        ("Deployment claim-rollout-controller /spec/template/spec/containers/0/args", r#"has "--more""#),
        ("Deployment claim-rollout-controller /spec/template/spec/containers/0/env", r#"[{"name":"HTTPS_PROXY","value":"http://proxy"}]"#),
        ("Deployment claim-rollout-controller /spec/template/metadata/labels/a", r#""b""#),
        ("Deployment claim-rollout-controller /spec/template/spec/topologySpreadConstraints/0/maxSkew", "2"),
        ("Deployment claim-rollout-controller /spec/template/spec/hostNetwork", "null"),
        ("Deployment claim-rollout-controller /spec", "lacks runAsUser"),
        ("ServiceAccount claim-rollout-controller /metadata/annotations", r#"{"e":"f"}"#),
        ("PodDisruptionBudget claim-rollout-controller /metadata", "null"),
    ]),
    (B, r#"webhook.extraArgs=["--more"] webhook.extraEnv=[{"name":"HTTPS_PROXY","value":"http://proxy"}] webhook.podLabels={"a":"b"} webhook.serviceAccount.annotations={"e":"f"} webhook.topologySpreadConstraints=[{"maxSkew":2,"topologyKey":"zone","whenUnsatisfiable":"DoNotSchedule"}] webhook.podDisruptionBudget.enabled=false webhook.hostNetwork=true"#, &[
        ("Deployment claim-rollout-webhook /spec/template/spec/containers/0/args", r#"has "--more""#),
        ("Deployment claim-rollout-webhook /spec/template/spec/containers/0/env", r#"[{"name":"HTTPS_PROXY","value":"http://proxy"}]"#),
        ("Deployment claim-rollout-webhook /spec/template/metadata/labels/a", r#""b""#),
        ("Deployment claim-rollout-webhook /spec/template/spec/topologySpreadConstraints/0/maxSkew", "2"),
        ("Deployment claim-rollout-webhook /spec/template/spec/hostNetwork", "true"),
        // Two replicas of one node would need the same ports.
        ("Deployment claim-rollout-webhook /spec/strategy/rollingUpdate", r#"{"maxSurge":0,"maxUnavailable":1}"#),
        ("Deployment claim-rollout-controller /spec/strategy", "null"),
        ("Deployment claim-rollout-webhook /spec", "lacks runAsUser"),
        ("ServiceAccount claim-rollout-webhook /metadata/annotations", r#"{"e":"f"}"#),
        ("PodDisruptionBudget claim-rollout-webhook /metadata", "null"),
    ]),
    // The policy and the controller get the same settings. Only the policy for retention is validating.
    (K, "policy.settings.shrink=Recover policy.settings.reservedKeyPrefixes={example.com/,example.org/} policy.settings.retention=Warn", &[
        ("ClusterAdmissionPolicy claim-rollout /spec/settings", SETTINGS),
        ("ClusterAdmissionPolicy claim-rollout-claims /spec/settings", SETTINGS),
        ("ClusterAdmissionPolicy claim-rollout-pods /spec/settings", SETTINGS),
        ("ClusterAdmissionPolicy claim-rollout-retention /spec/settings/mode", r#""ValidateOnly""#),
        ("ConfigMap claim-rollout-settings /data/settings.yaml", SETTINGS),
    ]),
    (B, "policy.settings.shrink=Recover policy.settings.reservedKeyPrefixes={example.com/,example.org/} policy.settings.retention=Warn", &[
        ("ConfigMap claim-rollout-settings /data/settings.yaml", SETTINGS),
        ("Deployment * /spec/template/spec/containers/0/args", r#"has "--log-format=json","--settings=/settings/settings.yaml""#),
        ("Deployment * /spec/template/spec/volumes/0/configMap/name", r#""claim-rollout-settings""#),
    ]),
    // An empty list is not a missing list: without the list, several domains are reserved.
    (K, "policy.settings.reservedKeyPrefixes=[]", &[
        ("ClusterAdmissionPolicy claim-rollout /spec/settings/reservedKeyPrefixes", "[]"),
        ("ConfigMap claim-rollout-settings /data/settings.yaml/reservedKeyPrefixes", "[]"),
    ]),
    // The setting for retention decides the object and its failurePolicy.
    (K, "policy.settings.retention=Ignore", &[("ClusterAdmissionPolicy claim-rollout-retention /metadata", "null")]),
    (K, "policy.settings.retention=Warn", &[("ClusterAdmissionPolicy claim-rollout-retention /spec/failurePolicy", r#""Ignore""#)]),
    (K, "policy.settings.retention=Deny", &[("ClusterAdmissionPolicy claim-rollout-retention /spec/failurePolicy", r#""Fail""#)]),
    (B, "policy.settings.retention=Ignore", &[("ValidatingWebhookConfiguration * /webhooks", "null")]),
    (B, "policy.settings.retention=Warn", &[("ValidatingWebhookConfiguration * /webhooks/0/failurePolicy", r#""Ignore""#)]),
    (B, "policy.settings.retention=Deny", &[("ValidatingWebhookConfiguration * /webhooks/0/failurePolicy", r#""Fail""#)]),
    // Without the gate there is no object for Pods.
    (K, "gate.enabled=false", &[("ClusterAdmissionPolicy claim-rollout-pods /metadata", "null"), ("ClusterAdmissionPolicy claim-rollout-claims /spec/module", "has policy")]),
    (B, "gate.enabled=false", &[("MutatingWebhookConfiguration * /webhooks/1/name", r#""claim-rollout-claims.claim-rollout.io""#), ("MutatingWebhookConfiguration * /webhooks/2", "null")]),
    (B, "", &[("MutatingWebhookConfiguration * /webhooks/2/name", r#""claim-rollout-pods.claim-rollout.io""#)]),
    // One namespace: the controller has rights in it alone, and the policy is called for it alone. The journals are where
    // the controller is. No object of the cluster has a name that another release could have.
    (K, "policy.settings.retention=Warn onlyNamespace=team-a features.restart=true features.reCreate=true features.openkruise=true features.replaceSets=true", &[
        ("ClusterAdmissionPolicy * /spec/namespaceSelector", TEAM_A),
        ("Role* claim-rollout-controller /metadata/namespace", r#""team-a""#),
        ("Role* claim-rollout-controller-evict-pods /metadata/namespace", r#""team-a""#),
        ("Role* claim-rollout-controller-recreate /metadata/namespace", r#""team-a""#),
        ("Role* claim-rollout-controller-openkruise /metadata/namespace", r#""team-a""#),
        ("Role* claim-rollout-controller-replace-sets /metadata/namespace", r#""team-a""#),
        ("Role* claim-rollout-controller-journals /metadata/namespace", r#""claim-rollout""#),
        ("Role* claim-rollout-controller-lease /metadata/namespace", r#""claim-rollout""#),
        ("Deployment claim-rollout-controller /spec/template/spec/containers/0/args", r#"has "--namespace=team-a""#),
        ("Cluster* * /metadata/name", "has -team-a"),
    ]),
    (B, "policy.settings.retention=Warn onlyNamespace=team-a", &[
        ("MutatingWebhookConfiguration * /webhooks/*/namespaceSelector", TEAM_A),
        ("ValidatingWebhookConfiguration * /webhooks/*/namespaceSelector", TEAM_A),
    ]),
    // A label of all objects, which an object has with another value.
    (B, "commonLabels.team=a serviceMonitor.enabled=true serviceMonitor.labels.team=b prometheusRule.enabled=true prometheusRule.labels.team=c dashboard.enabled=true dashboard.labels.team=d", &[
        ("ServiceMonitor * /metadata/labels/team", r#""b""#),
        ("PrometheusRule * /metadata/labels/team", r#""c""#),
        ("ConfigMap claim-rollout-dashboard /metadata/labels/team", r#""d""#),
        ("Deployment * /metadata/labels/team", r#""a""#),
    ]),
    (B, "commonLabels.app\\.kubernetes\\.io/component=storage", &[
        ("Deployment claim-rollout-webhook /metadata/labels", r#"has "app.kubernetes.io/component":"webhook""#),
    ]),
    // The API server counts the webhooks of Kubewarden by the names of the policy objects.
    (K, "fullnameOverride=volumes prometheusRule.enabled=true", &[
        ("PrometheusRule * /spec", r#"has name=~\".*claim-rollout.*|clusterwide-volumes(-.*)?[.]kubewarden[.]admission\""#),
    ]),
    (K, "prometheusRule.enabled=true", &[("PrometheusRule * /spec", "lacks clusterwide")]),
    // Another name reaches the arguments and the accounts, too.
    (B, "fullnameOverride=volumes", &[
        ("Deployment volumes-webhook /spec/template/spec/containers/0/args", r#"has "--name=volumes-webhook""#),
        ("ConfigMap volumes-settings /data/settings.yaml/controllerAccounts", r#"["system:serviceaccount:claim-rollout:volumes-controller"]"#),
    ]),
];

const SETTINGS: &str = r#"{"defaultUpdatePolicy":"InPlace","reservedKeyPrefixes":["example.com/","example.org/"],"retention":"Warn","shrink":"Recover"}"#;
const TEAM_A: &str = r#"{"matchLabels":{"kubernetes.io/metadata.name":"team-a"}}"#;

/// Values that are wrong or contradict each other, and the error of Helm; none if they only look like that.
pub(super) const ERRORS: &[(&str, &str)] = &[
    ("features.replaceSets=true guard.enabled=false", "features.replaceSets needs guard.enabled=true: without the guard, the controller replaces no StatefulSet"),
    ("features.templateChanges=true guard.enabled=false", "features.templateChanges needs guard.enabled=true: without the guard, the controller replaces no StatefulSet"),
    ("policy.settings.defaultReplaceSet=WhenComplete", "policy.settings.defaultReplaceSet=WhenComplete needs features.replaceSets=true: otherwise the controller may not replace a StatefulSet"),
    ("policy.settings.templateChanges=Allow", "features.templateChanges sets policy.settings.templateChanges: remove the setting, and set features.templateChanges=true or false"),
    ("features.reCreate=true policy.settings.allowReCreate=false", "features.reCreate sets policy.settings.allowReCreate: remove the setting, and set features.reCreate=true or false"),
    (r#"controller.extraArgs=["--recreate"]"#, "controller.extraArgs contains --recreate, without the rights for it: set features.reCreate=true instead"),
    (r#"controller.extraArgs=["--openkruise"]"#, "controller.extraArgs contains --openkruise, without the rights for it: set features.openkruise=true instead"),
    ("features.reCreate=true policy.settings.mode=ValidateOnly", "features.reCreate does nothing with policy.settings.mode=ValidateOnly, which stages no change"),
    ("controller.reCreate=true", "at '/controller': additional properties 'reCreate' not allowed"),
    ("features.reCreate=true guard.enabled=false", ""),
    ("features.templateChanges=true policy.settings.defaultReplaceSet=WhenComplete", ""),
    ("features.openkruise=true policy.settings.mode=ValidateOnly", ""),
    ("gate.enabled=maybe", "at '/gate/enabled': got string, want boolean"),
    ("guard.enabled=maybe", "at '/guard/enabled': got string, want boolean"),
    ("admission=kubewarden2", "at '/admission': value must be one of 'kubewarden', 'builtin', 'none'"),
    ("controller.replica=3", "at '/controller': additional properties 'replica' not allowed"),
    ("controller.replicas=two", "at '/controller/replicas': got string, want integer"),
    ("controller.replicas=-1", "at '/controller/replicas': minimum: got -1, want 0"),
    ("image.repository=", "at '/image/repository': minLength: got 0, want 1"),
    ("policy.retention=true", "at '/policy': additional properties 'retention' not allowed"),
    ("policy.settings.retention=On", "at '/policy/settings/retention': value must be one of 'Ignore', 'Warn', 'Deny'"),
    ("policy.settings.stageOwnedBy={Prometheus}", "at '/policy/settings/stageOwnedBy/0': 'Prometheus' does not match pattern"),
    ("policy.settings.shrinks=Recover", "at '/policy/settings': additional properties 'shrinks' not allowed"),
    ("policy.module=policy.wasm", "at '/policy/module': 'policy.wasm' does not match pattern"),
    ("pullSecrets[0].name=registry", "at '': additional properties 'pullSecrets' not allowed"),
    ("image.digest=0123", "at '/image/digest': '0123' does not match pattern"),
    ("webhook.port=https", "at '/webhook/port': got string, want integer"),
    ("webhook.path=0123456789abcdef0123456789abcdef", "at '/webhook/certificateSecret': minLength: got 0, want 1"),
    ("webhook.path=short", "at '/webhook/path': 'short' does not match pattern"),
    ("webhook.networkPolicy.enabled=true", "at '/webhook/networkPolicy/from': minItems: got 0, want 1"),
    ("prometheusRule.stuckAfterSeconds=1", "at '/prometheusRule/stuckAfterSeconds': minimum: got 1, want 60"),
];
