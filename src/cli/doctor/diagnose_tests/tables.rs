//! The rows of the tables: a name, and the state of an installation in words; then the severity and the subject of the only
//! finding, what is found, and the beginning of its fix. `{}` is the webhook for StatefulSets.

/// The faults of an installation.
pub(super) const FAULTS: &str = "
    a release of Helm without the guard | no guard; release | Warning validatingadmissionpolicies \
        | none: only the policy protects staged changes \
        | helm upgrade cr oci://ghcr.io/claim-rollout/charts/claim-rollout --version 0.1.0 -n ops
    a release of Helm without the definition | no definition; release \
        | Error customresourcedefinition/claimrollouts.claim-rollout.io | none \
        | helm upgrade cr oci://ghcr.io/claim-rollout/charts/claim-rollout --version 0.1.0 -n ops --reuse-values
    settings that do not know the account of the controller \
        | settings controllerAccounts=[\"system:serviceaccount:ops:claim-rollout-controller\"] \
        | Error clusteradmissionpolicy/claim-rollout \
        | other accounts: the policy undoes what the controller writes | add it, and restart the Deployments
    a webhook for Pods that names no account of the StatefulSet controller \
        | webhook 2 request.userInfo.username in ['system:admin'] \
        | Error mutatingwebhookconfiguration/claim-rollout-webhook[claim-rollout-pods.claim-rollout.io] \
        | other accounts: if that one creates Pods, Pods are replaced before their PVCs are ready \
        | apply -f deploy/webhook/configuration.yaml, with that account
    a webhook for PVCs that names one of the accounts \
        | webhook 1 request.userInfo.username in ['system:serviceaccount:kube-system:statefulset-controller'] \
        | Warning mutatingwebhookconfiguration/claim-rollout-webhook[claim-rollout-claims.claim-rollout.io] \
        | other accounts: if that one creates Pods, new PVCs get the live templates \
        | apply -f deploy/webhook/configuration.yaml, with that account
    a webhook without which the controller writes nothing | webhook 0 true \
        | Warning mutatingwebhookconfiguration/claim-rollout-webhook[claim-rollout.claim-rollout.io] \
        | other accounts: while the policy is unavailable, a StatefulSet that is being replaced stays absent \
        | apply -f deploy/webhook/configuration.yaml, with that account in its matchConditions
    a policy-server without rights | policy-server | Error serviceaccount/kw/ps \
        | no right to get persistentvolumeclaims, get storageclasses.storage.k8s.io, get \
        volumeattributesclasses.storage.k8s.io, get statefulsets.apps, create \
        subjectaccessreviews.authorization.k8s.io \
        | kubectl create clusterrolebinding claim-rollout-policy-server-default
    other settings in the policy | settings {} / defaultUpdatePolicy=InPlace \
        | Error clusteradmissionpolicy/claim-rollout \
        | other settings: what the policy allows, the controller may not do | write the same settings into both
    other settings in a policy after the ConfigMap \
        | settings {} / defaultUpdatePolicy=InPlace; ConfigMap first \
        | Error clusteradmissionpolicy/claim-rollout \
        | other settings: what the policy allows, the controller may not do | write the same settings into both
    settings of the controller that cannot be read | settings {} / [ | Error configmap/s \
        | settings: expected a JSON object without duplicate keys \
        | correct them: https://github.com/claim-rollout/claim-rollout/blob/main/docs/settings.md
    no definition | no definition | Error customresourcedefinition/claimrollouts.claim-rollout.io | none \
        | apply -f deploy/crd.yaml
    a definition that is not established | definition /status {} \
        | Error customresourcedefinition/claimrollouts.claim-rollout.io | no such condition \
        | kubectl describe customresourcedefinition/claimrollouts.claim-rollout.io
    an older definition | definition /spec/names/shortNames [] \
        | Error customresourcedefinition/claimrollouts.claim-rollout.io \
        | another spec.names.shortNames: the definition is older than this program | apply -f deploy/crd.yaml
    the policy is not called | probe Accepted; no webhooks | Error admission of StatefulSets \
        | that nothing calls it: templates cannot change, and annotations are not checked \
        | apply -k 'deploy/webhook?ref=v
    the policy cannot be reached | probe Unreachable no route | Error admission of StatefulSets | no route \
        | kubectl rollout restart -n claim-rollout deployment/claim-rollout-webhook
    the user may not create sets | probe Unknown forbidden | Warning admission of StatefulSets | forbidden \
        | run doctor as a user
    a webhook that fails open | webhook 0 open | Error {} \
        | Ignore: while the policy is unavailable, nothing is checked or staged \
        | kubectl patch mutatingwebhookconfiguration/claim-rollout-webhook --type=json
    a webhook that fails closed without conditions | webhook 0 unconditional | Error {} \
        | none: while the policy is unavailable, every update of a StatefulSet fails \
        | apply -f deploy/webhook/configuration.yaml
    a webhook without a caBundle, which is unreachable too \
        | probe Unreachable unknown authority; webhook 0 untrusted | Error {} \
        | none: the API server cannot trust the server \
        | kubectl rollout restart -n claim-rollout deployment/claim-rollout-webhook
    Kubewarden and the built-in webhook | Kubewarden Sets | Error {} \
        | two: also mutatingwebhookconfiguration/clusterwide-claim-rollout \
        | kubectl delete mutatingwebhookconfiguration/claim-rollout-webhook, or kubectl delete \
        clusteradmissionpolicy/claim-rollout
    no webhook for new claims | no webhook 1 | Warning mutatingwebhookconfiguration/claim-rollout-webhook \
        | none: new PVCs get the live templates, and have to be updated later \
        | apply -f deploy/webhook/configuration.yaml
    no webhook for Pods | no webhook 2 | Warning mutatingwebhookconfiguration/claim-rollout-webhook \
        | none: Pods are replaced before their PVCs are ready | apply -f deploy/webhook/configuration.yaml
    a right is missing | lacks Controller patch persistentvolumeclaims \
        | Error serviceaccount/claim-rollout/claim-rollout-controller \
        | no right to patch persistentvolumeclaims | apply -f deploy/controller/rbac.yaml
    no Lease | no Lease | Error lease/claim-rollout/claim-rollout-controller | none \
        | kubectl rollout restart -n claim-rollout deployment/claim-rollout-controller
    a Lease without a holder | no holder | Error lease/claim-rollout/claim-rollout-controller | no holder \
        | kubectl rollout restart
    an abandoned Lease | now 1058 | Error lease/claim-rollout/claim-rollout-controller \
        | that one has not renewed it for 60 s | kubectl rollout restart
    a kind that may not be read | unread leases | Warning leases | forbidden \
        | run doctor as a user who may read leases
    a StatefulSet that cannot be read | skipped StatefulSet odd | Warning statefulset.apps/shop/odd | why \
        | kubectl get -n shop statefulset.apps/odd -o json
    a PVC that cannot be read | skipped PersistentVolumeClaim data-web-0 \
        | Warning persistentvolumeclaim/shop/data-web-0 | why \
        | kubectl get -n shop persistentvolumeclaim/data-web-0 -o json
    a rollout that is stalled | rollout Ready; rollout Stalled \
        | Error claimrollout.claim-rollout.io/default/web | that it is stalled (ClaimRefused): exceeded quota \
        | claim-rollout status -n default web
    no right to replace | lacks Replacing delete statefulsets.apps \
        | Error serviceaccount/claim-rollout/claim-rollout-controller | no right to delete statefulsets.apps \
        | apply -f deploy/replace-sets.yaml, or features.replaceSets=true
    no right to evict | lacks Evicting create pods/eviction \
        | Error serviceaccount/claim-rollout/claim-rollout-controller | no right to create pods/eviction \
        | apply -f deploy/evict-pods.yaml, or features.restart=true in the chart
    no right to read StatefulSets of OpenKruise | lacks OpenKruise \
        | Error serviceaccount/claim-rollout/claim-rollout-controller \
        | no right to get statefulsets.apps.kruise.io, list statefulsets.apps.kruise.io, watch \
        statefulsets.apps.kruise.io | apply -f deploy/openkruise.yaml, or features.openkruise=true
    a replacement that waits | marked 940; journal web 900 | Warning statefulset.apps/default/web \
        | that its last step was 60 s ago | claim-rollout status -n default web
    a replacement without a controller | marked 900; journal web 900; unknown Lease \
        | Error statefulset.apps/default/web | that its last step was 100 s ago, and no controller leads \
        | claim-rollout replace -n default web --as=system:serviceaccount:claim-rollout:claim-rollout-controller
    the finalizer from a backup | marked 900 | Warning statefulset.apps/default/web \
        | the finalizer claim-rollout.io/replacing, and no journal of a replacement \
        | claim-rollout replace -n default web --as=system:serviceaccount:claim-rollout:claim-rollout-controller
    the partition from a backup | partition 1000000000 | Error statefulset.apps/default/web \
        | 1000000000, the one of a replacement, and no replacement: no Pod is updated \
        | kubectl patch -n default statefulset web --type=merge -p \
        '{\"spec\":{\"updateStrategy\":{\"rollingUpdate\":{\"partition\":0}}}}'
    a set that only its journal has | journal db 900 | Error statefulset.apps/default/db \
        | none: its replacement began 100 s ago, and stopped | claim-rollout replace -n default db --as=
    the journal of a set that is not marked | journal web 900 | Warning secret/claim-rollout/j \
        | that replacing StatefulSet default/web began 100 s ago, and stopped \
        | claim-rollout replace -n default web
    a journal that cannot be read | broken journal | Error secret/claim-rollout/j | the hash does not fit \
        | if kubectl get -n claim-rollout secret j -o yaml shows a StatefulSet
    no guard | no guard | Warning validatingadmissionpolicies | none: only the policy protects staged changes \
        | apply -k 'deploy/guard?ref=v
    a policy of the guard is missing | no policy 1 | Error validatingadmissionpolicy/claim-rollout-replacing \
        | none, although other policies of the guard are installed | apply -f deploy/guard/replacing.yaml
    the policy of the guard for OpenKruise is missing | openkruise \
        | Error validatingadmissionpolicy/claim-rollout-openkruise \
        | none, although other policies of the guard are installed | apply -f deploy/openkruise.yaml
    the policy of the guard for OpenKruise is not bound | openkruise guarded; policy 5 unbound \
        | Error validatingadmissionpolicybinding/claim-rollout-openkruise | none: nothing is denied \
        | apply -f deploy/openkruise.yaml
    a policy of the guard that is not bound | policy 0 unbound \
        | Error validatingadmissionpolicybinding/claim-rollout-staged | none: nothing is denied \
        | apply -f deploy/guard/staged.yaml, after kubectl delete validatingadmissionpolicybinding claim-rollout-staged \
        --ignore-not-found
    a policy of the guard that fails open | policy 3 open \
        | Error validatingadmissionpolicy/claim-rollout-controller-statefulsets \
        | Ignore: requests that cannot be evaluated are allowed | apply -f deploy/guard/controller.yaml
    a policy of the guard for another account \
        | policy 4 ['system:serviceaccount:other:claim-rollout-controller'] \
        | Error validatingadmissionpolicy/claim-rollout-controller-persistentvolumeclaims \
        | other accounts: the guard does not recognize the controller \
        | apply -f deploy/guard/controller.yaml, with that account in its matchConditions
    a policy object in monitor mode | probe Accepted; monitored claim-rollout \
        | Error clusteradmissionpolicy/claim-rollout \
        | monitor: it stages and denies nothing, and only logs what it would do \
        | kubectl patch clusteradmissionpolicy/claim-rollout --type=merge -p '{\"spec\":{\"mode\":\"protect\"}}'
    a policy object for new PVCs in monitor mode | monitored volumes-claims \
        | Error clusteradmissionpolicy/volumes-claims \
        | monitor: it stages and denies nothing, and only logs what it would do \
        | kubectl patch clusteradmissionpolicy/volumes-claims
    a webhook of another name that cannot be reached | probe Unreachable no route; server volumes-webhook \
        | Error admission of StatefulSets | no route \
        | kubectl rollout restart -n claim-rollout deployment/volumes-webhook
    a controller of another name that does not lead \
        | controller volumes-controller claim-rollout-controller; guard volumes; no Lease \
        | Error lease/claim-rollout/claim-rollout-controller | none \
        | kubectl rollout restart -n claim-rollout deployment/volumes-controller
    a part of the guard of another name is missing \
        | controller volumes-controller claim-rollout-controller; no policy 1 \
        | Error validatingadmissionpolicy/volumes-replacing \
        | none, although other policies of the guard are installed | apply -f deploy/guard/replacing.yaml
    no Deployment of the controller | no controller; no Lease \
        | Error lease/claim-rollout/claim-rollout-controller | none | apply -k 'deploy/controller?ref=v
    a Kubernetes that is too old | version v1.32.9 | Error kubernetes | v1.32.9 | upgrade Kubernetes
    a Kubernetes with a regression | version v1.35.3 | Warning kubernetes | v1.35.3 | upgrade Kubernetes
    an unknown policy | @update-policy Inplace | Error statefulset.apps/default/web | Inplace \
        | kubectl annotate -n default statefulset.apps/web claim-rollout.io/update-policy-
    an unknown value of sync | @sync Sometimes | Error statefulset.apps/default/web | Sometimes \
        | kubectl annotate -n default statefulset.apps/web claim-rollout.io/sync-
    an unknown value of paused | @paused yes | Error statefulset.apps/default/web | yes \
        | kubectl annotate -n default statefulset.apps/web claim-rollout.io/paused-
    a staged change that cannot be read | broken [] | Error statefulset.apps/default/web \
        | an invalid value: not a staged change: no JSON object \
        | kubectl annotate -n default statefulset.apps/web claim-rollout.io/staged-
    a staged growth in a class without expansion | class fixed; staged 2Gi | Error storageclass/fixed \
        | false, and PVCs of default/web use it \
        | kubectl patch storageclass/fixed -p '{\"allowVolumeExpansion\":true}'
    a Kubernetes with KEP-4650 | native | Warning statefulsets.apps | spec.volumeClaimUpdatePolicy (KEP-4650) \
        | set it in no StatefulSet that claim-rollout manages
    a class without expansion | class fixed | Warning storageclass/fixed \
        | false, and PVCs of default/web use it | kubectl patch storageclass/fixed
    an outdated claim that no rollout will update \
        | live 2Gi; template-label tier=it's; labels tier=it's; grown-to 2; grown 1; no-label tier \
        | Warning persistentvolumeclaim/default/data-web-1 \
        | spec.resources.requests.storage 1Gi, metadata.labels[tier] none, and no rollout that will update it \
        | kubectl patch -n default persistentvolumeclaim/data-web-1 --type=merge -p \
        '{\"metadata\":{\"labels\":{\"tier\":\"it'\\''s\"}},\"spec\":{\"resources\":{\"requests\":{\"storage\":\"2Gi\"}}}}'
    nothing is installed | empty | Error claim-rollout | no part of it in this cluster \
        | helm install claim-rollout oci://ghcr.io/claim-rollout/charts/claim-rollout -n claim-rollout \
        --create-namespace --set admission=builtin, or
    nothing but Kubewarden is installed | empty; kubewarden v1.37.2 | Error claim-rollout \
        | no part of it in this cluster | helm install claim-rollout \
        oci://ghcr.io/claim-rollout/charts/claim-rollout -n claim-rollout --create-namespace, or
";

/// What is no fault.
pub(super) const HARMLESS: &str = "
    a healthy installation | | | |
    a replacement that began a moment ago | marked 941; partition 1000000000; journal web 900; journal db 941 \
        | | |
    another account of the controller, known everywhere \
        | controller claim-rollout-controller mine; policy * ['system:serviceaccount:claim-rollout:mine']; \
        webhook 0 !(request.userInfo.username in ['system:serviceaccount:claim-rollout:mine']) | | |
    StatefulSets of OpenKruise, with their part of the guard | openkruise guarded | | |
    StatefulSets of OpenKruise, for whoever may edit them \
        | openkruise; settings authority=TrustSetEditors / authority=TrustSetEditors | | |
    another account in the conditions | policy 0 ['somebody', \
        'system:serviceaccount:claim-rollout:claim-rollout-controller'] | | |
    the webhooks of Kubewarden | no webhooks; Kubewarden Sets; Kubewarden Claims; Kubewarden Pods; Kubewarden \
        Retention | | |
    a newer definition | definition /spec/names/other 1 | | |
    a rollout in progress | staged 2Gi | | |
    claims with OnClaimDelete | staged 2Gi; update OnClaimDelete | | |
    an outdated set without an update policy | update none; live 2Gi; class fixed | | |
    a set that is being deleted | terminating | | |
    known values | @update-policy OnDelete; @sync Async; @paused false | | |
";

/// What is in the way of an installation (`doctor --pre`).
pub(super) const BEFORE: &str = "
    an empty cluster | empty | | |
    Kubewarden | empty; kubewarden v1.27.0 | | |
    an image of Kubewarden without a version | empty; kubewarden latest | | |
    an old Kubewarden | empty; kubewarden v1.26.3 | Error deployment/kubewarden/controller | v1.26.3 \
        | upgrade Kubewarden, or use the built-in webhook
    an old Kubernetes | empty; version v1.32.0 | Error kubernetes | v1.32.0 | upgrade Kubernetes
    no class that can expand | empty; no expandable | Warning storageclasses | none: no PVC can grow \
        | kubectl patch storageclass NAME
    classes that cannot be read | empty; unread storageclasses | Warning storageclasses | forbidden \
        | run doctor as a user who may read storageclasses
    annotations that are there already | empty; @update-policy InPlace | Warning statefulset.apps/default/web \
        | claim-rollout.io/update-policy | kubectl annotate -n default statefulset.apps/web \
        claim-rollout.io/update-policy-
    an installation | | Warning claim-rollout \
        | claim-rollout is installed in namespace claim-rollout: found definition, built-in webhook, \
        controller, guard | run doctor without --pre
";

/// What is installed, and the first line.
pub(super) const INVENTORIES: &str = "
    nothing | empty | claim-rollout is not installed in this cluster
    manifests, with the built-in webhook | \
        | claim-rollout is installed in namespace claim-rollout: found definition, built-in webhook, \
        controller, guard
    Helm, with Kubewarden | no webhooks; Kubewarden Sets; release \
        | claim-rollout is installed in namespace claim-rollout by release cr of Helm (0.1.0): found \
        definition, policy of Kubewarden, controller, guard
    Kubewarden in monitor mode | no webhooks; Kubewarden Sets; monitored claim-rollout \
        | claim-rollout is installed in namespace claim-rollout: found definition, policy of Kubewarden in \
        monitor mode, controller, guard
    without the guard, which is a choice | no guard \
        | claim-rollout is installed in namespace claim-rollout: found definition, built-in webhook, \
        controller; missing guard
    the definition that an uninstall keeps | empty; has definition \
        | claim-rollout is only partly installed in namespace claim-rollout: found definition; missing policy, \
        controller, guard
    without the controller | no controller; no Lease \
        | claim-rollout is only partly installed in namespace claim-rollout: found definition, built-in \
        webhook, guard; missing controller
    a controller outside of the cluster | no controller \
        | claim-rollout is installed in namespace claim-rollout: found definition, built-in webhook, \
        controller, guard
    settings alone | empty; settings {} / {} \
        | claim-rollout is only partly installed in namespace claim-rollout: missing definition, policy, \
        controller, guard
    a user who may read little | empty; unknown definition; unknown webhooks; unknown Lease; unknown guard \
        | it is not known whether claim-rollout is installed in namespace claim-rollout: not readable \
        definition, policy, controller, guard
";
