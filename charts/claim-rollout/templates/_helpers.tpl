{{- /* The beginning of the names of all objects. It does not depend on the release: a cluster has one claim-rollout. */}}
{{- define "claim-rollout.fullname" -}}
{{ .Values.fullnameOverride | default .Chart.Name }}
{{- end }}

{{- /* The commands find the objects by the label `app.kubernetes.io/name`, so it depends neither on values nor on an alias of the chart. */}}
{{- define "claim-rollout.selectorLabels" -}}
app.kubernetes.io/name: claim-rollout
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- /* The labels of each object. Some objects add labels, whose keys must not be here as well: YAML allows a key once. */}}
{{- define "claim-rollout.labels" -}}
{{- $own := include "claim-rollout.selectorLabels" . | fromYaml -}}
{{- $_ := set $own "app.kubernetes.io/version" .Chart.AppVersion -}}
{{- $_ := set $own "app.kubernetes.io/managed-by" .Release.Service -}}
{{- $_ := set $own "helm.sh/chart" (printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_") -}}
{{ toYaml (merge $own (omit .Values.commonLabels "app.kubernetes.io/component" "claim-rollout.io/guard" "rbac.authorization.k8s.io/aggregate-to-view" "rbac.authorization.k8s.io/aggregate-to-edit")) }}
{{- end }}

{{- /* The labels of an object for another program, which finds it by them. Arguments: the root, and a map. */}}
{{- define "claim-rollout.labelsWith" -}}
{{ toYaml (merge (dict) (index . 1) (include "claim-rollout.labels" (index . 0) | fromYaml)) }}
{{- end }}

{{- /* The annotations of an object: its own ones, and those of all objects. Arguments: the root, and a map. */}}
{{- define "claim-rollout.annotations" -}}
{{- with merge (dict) (index . 1) (index . 0).Values.commonAnnotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
{{- end }}
{{- end }}

{{- /* The annotations of Pods: the settings are read only at the start. Arguments: the root, and a component. */}}
{{- define "claim-rollout.podAnnotations" -}}
{{- $root := index . 0 -}}
{{- $values := index $root.Values (index . 1) -}}
{{- $own := dict "claim-rollout.io/settings" (include "claim-rollout.settings" $root | sha256sum) -}}
{{- with $values.path -}}
{{- $_ := set $own "claim-rollout.io/path" (sha256sum .) -}}
{{- end -}}
{{ toYaml (merge $own $values.podAnnotations $root.Values.commonAnnotations) }}
{{- end }}

{{- /* The labels of Pods. Arguments: the root, and a component. */}}
{{- define "claim-rollout.podLabels" -}}
{{- $root := index . 0 -}}
{{- $own := include "claim-rollout.selectorLabels" $root | fromYaml -}}
{{- $_ := set $own "app.kubernetes.io/component" (index . 1) -}}
{{ toYaml (merge $own (index $root.Values (index . 1)).podLabels $root.Values.commonLabels) }}
{{- end }}

{{- /* A reference to an image. Arguments: the root, the values of the image, and the default of its tag. */}}
{{- define "claim-rollout.reference" -}}
{{- $image := index . 1 -}}
{{ (index . 0).Values.global.imageRegistry | default $image.registry }}/{{ $image.repository }}
{{- if $image.digest -}}
@{{ $image.digest }}
{{- else -}}
:{{ $image.tag | default (index . 2) }}
{{- end }}
{{- end }}

{{- define "claim-rollout.image" -}}
{{ include "claim-rollout.reference" (list . .Values.image .Chart.AppVersion) }}
{{- end }}

{{- define "claim-rollout.module" -}}
{{- if .Values.policy.module -}}
{{ .Values.policy.module }}
{{- else -}}
registry://{{ include "claim-rollout.reference" (list . .Values.policy.image (printf "v%s" .Chart.AppVersion)) }}
{{- end }}
{{- end }}

{{- /* The account of the controller. */}}
{{- define "claim-rollout.account" -}}
system:serviceaccount:{{ .Release.Namespace }}:{{ include "claim-rollout.fullname" . }}-controller
{{- end }}

{{- /* The settings document for all parts. Its default for controllerAccounts is the account that this chart creates. */}}
{{- define "claim-rollout.settings" -}}
{{- $account := include "claim-rollout.account" . -}}
{{- $settings := deepCopy .Values.policy.settings -}}
{{- if and (ne $account "system:serviceaccount:claim-rollout:claim-rollout-controller") (not (hasKey $settings "controllerAccounts")) -}}
{{- $settings = set $settings "controllerAccounts" (list $account) -}}
{{- end -}}
{{- if .Values.features.templateChanges -}}
{{- $settings = set $settings "templateChanges" "Allow" -}}
{{- end -}}
{{- if .Values.features.reCreate -}}
{{- $settings = set $settings "allowReCreate" true -}}
{{- end -}}
{{ toJson $settings }}
{{- end }}

{{- /* Fails for values that contradict each other: a feature sets all that it needs, and nothing else does. */}}
{{- define "claim-rollout.agree" -}}
{{- $features := .Values.features -}}
{{- $settings := .Values.policy.settings -}}
{{- range $setting, $feature := dict "templateChanges" "templateChanges" "allowReCreate" "reCreate" -}}
{{- if hasKey $settings $setting -}}
{{- fail (printf "features.%s sets policy.settings.%s: remove the setting, and set features.%s=true or false" $feature $setting $feature) -}}
{{- end -}}
{{- end -}}
{{- range $argument, $feature := dict "--recreate" "reCreate" "--openkruise" "openkruise" -}}
{{- if has $argument $.Values.controller.extraArgs -}}
{{- fail (printf "controller.extraArgs contains %s, without the rights for it: set features.%s=true instead" $argument $feature) -}}
{{- end -}}
{{- end -}}
{{- if and (eq ($settings.defaultReplaceSet | default "Never") "WhenComplete") (not (or $features.replaceSets $features.templateChanges)) -}}
{{- fail "policy.settings.defaultReplaceSet=WhenComplete needs features.replaceSets=true: otherwise the controller may not replace a StatefulSet" -}}
{{- end -}}
{{- range $feature := list "replaceSets" "templateChanges" "reCreate" -}}
{{- if index $features $feature -}}
{{- if eq ($settings.mode | default "Stage") "ValidateOnly" -}}
{{- fail (printf "features.%s does nothing with policy.settings.mode=ValidateOnly, which stages no change" $feature) -}}
{{- end -}}
{{- if and (ne $feature "reCreate") (not $.Values.guard.enabled) -}}
{{- fail (printf "features.%s needs guard.enabled=true: without the guard, the controller replaces no StatefulSet" $feature) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end }}

{{- /* A list of texts in CEL. */}}
{{- define "claim-rollout.cel" -}}
{{ toJson . | replace "\",\"" "\", \"" }}
{{- end }}

{{- /* The accounts of controllers: the account that this chart creates, and those of the settings. */}}
{{- define "claim-rollout.accounts" -}}
{{ include "claim-rollout.cel" (prepend (.Values.policy.settings.controllerAccounts | default list) (include "claim-rollout.account" .) | uniq) }}
{{- end }}

{{- /* The accounts of the StatefulSet controller. */}}
{{- define "claim-rollout.setAccounts" -}}
{{- $default := list "system:serviceaccount:kube-system:statefulset-controller" "system:kube-controller-manager" -}}
{{- $settings := .Values.policy.settings -}}
{{ include "claim-rollout.cel" (hasKey $settings "statefulSetControllerAccounts" | ternary $settings.statefulSetControllerAccounts $default) }}
{{- end }}

{{- /* The suffix for the names of cluster-scoped objects. */}}
{{- define "claim-rollout.suffix" -}}
{{- with .Values.onlyNamespace }}-{{ . }}{{ end }}
{{- end }}

{{- define "claim-rollout.namespaceSelector" -}}
{{- with .Values.onlyNamespace }}
namespaceSelector:
  matchLabels:
    kubernetes.io/metadata.name: {{ . }}
{{- end }}
{{- end }}

{{- /* The setting retention; Ignore if it is not set. */}}
{{- define "claim-rollout.retention" -}}
{{- .Values.policy.settings.retention | default "Ignore" }}
{{- end }}

{{- /* A pattern for the names of our webhooks. Kubewarden makes them from those of the policy objects, which contain the fullname. */}}
{{- define "claim-rollout.webhooks" -}}
.*claim-rollout.*
{{- $fullname := include "claim-rollout.fullname" . }}
{{- if and (eq .Values.admission "kubewarden") (not (contains "claim-rollout" $fullname)) -}}
|clusterwide-{{ $fullname }}(-.*)?[.]kubewarden[.]admission
{{- end }}
{{- end }}

{{- /* The Secret with the certificate of the webhook, if the webhook does not make it. */}}
{{- define "claim-rollout.certificateSecret" -}}
{{- if .Values.webhook.certManager.enabled -}}
{{ include "claim-rollout.fullname" . }}-webhook-tls
{{- else -}}
{{ .Values.webhook.certificateSecret }}
{{- end }}
{{- end }}

{{- /* The path of a policy. With its own certificate the webhook writes the path, because only the webhook knows the secret. */}}
{{- define "claim-rollout.path" -}}
{{- $root := index . 0 -}}
{{- if include "claim-rollout.certificateSecret" $root -}}
path: /validate/{{ index . 1 }}{{ with $root.Values.webhook.path }}/{{ . }}{{ end }}
{{- end -}}
{{- end }}

{{- /* The annotations of the webhook configurations. */}}
{{- define "claim-rollout.webhookAnnotations" -}}
{{- $own := dict -}}
{{- if .Values.webhook.certManager.enabled -}}
{{- $_ := set $own "cert-manager.io/inject-ca-from" (printf "%s/%s-webhook" .Release.Namespace (include "claim-rollout.fullname" .)) -}}
{{- end -}}
{{ toYaml (merge $own .Values.webhook.annotations) }}
{{- end }}

{{- define "claim-rollout.priorityClass" -}}
{{- if .Values.priorityClass.create -}}
{{ .Values.priorityClass.name | default (printf "%s%s" (include "claim-rollout.fullname" .) (include "claim-rollout.suffix" .)) }}
{{- else -}}
{{ .Values.priorityClass.name }}
{{- end }}
{{- end }}

{{- /* The placement of Pods. Arguments: the root, and a component. */}}
{{- define "claim-rollout.placement" -}}
{{- $root := index . 0 -}}
{{- $component := index . 1 -}}
{{- $values := index $root.Values $component -}}
{{- with include "claim-rollout.priorityClass" $root }}
priorityClassName: {{ . }}
{{- end }}
{{- with $values.topologySpreadConstraints }}
{{- $labels := include "claim-rollout.selectorLabels" $root | fromYaml }}
{{- $_ := set $labels "app.kubernetes.io/component" $component }}
topologySpreadConstraints:
  {{- range . }}
  - {{- merge (dict) . (dict "labelSelector" (dict "matchLabels" $labels)) | toYaml | nindent 4 }}
  {{- end }}
{{- end }}
{{- with $values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- /* Fails if the cluster does not serve an API that a value needs. Without a cluster (`helm template`) nobody knows. */}}
{{- define "claim-rollout.needs" -}}
{{- $root := index . 0 -}}
{{- $api := index . 1 -}}
{{- if and (lookup "v1" "Namespace" "" "kube-system") (not ($root.Capabilities.APIVersions.Has $api)) -}}
{{- fail (printf "the cluster does not serve %s: %s" $api (index . 2)) -}}
{{- end -}}
{{- end }}
