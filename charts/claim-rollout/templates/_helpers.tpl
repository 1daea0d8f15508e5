{{- define "claim-rollout.labels" -}}
app.kubernetes.io/name: claim-rollout
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{- define "claim-rollout.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{- /* The settings document for all parts. Its default for controllerAccounts is the account that this chart creates. */}}
{{- define "claim-rollout.settings" -}}
{{- $account := printf "system:serviceaccount:%s:claim-rollout-controller" .Release.Namespace -}}
{{- $default := "system:serviceaccount:claim-rollout:claim-rollout-controller" -}}
{{- $settings := deepCopy .Values.policy.settings -}}
{{- if and (ne $account $default) (not (hasKey $settings "controllerAccounts")) -}}
{{- $settings = set $settings "controllerAccounts" (list $account) -}}
{{- end -}}
{{ toJson $settings }}
{{- end }}

{{- /* The accounts of controllers, as a list in CEL: the account that this chart creates, and those of the settings. */}}
{{- define "claim-rollout.accounts" -}}
{{- $account := printf "system:serviceaccount:%s:claim-rollout-controller" .Release.Namespace -}}
{{ prepend (.Values.policy.settings.controllerAccounts | default list) $account | uniq | toJson }}
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

{{- /* The setting retention; Off if it is not set. */}}
{{- define "claim-rollout.retention" -}}
{{- .Values.policy.settings.retention | default "Off" }}
{{- end }}

{{- /* The path of a policy. With its own certificate the webhook writes the path, because only the webhook knows the secret. */}}
{{- define "claim-rollout.path" -}}
{{- $webhook := (index . 0).Values.webhook -}}
{{- if $webhook.certificateSecret -}}
path: /validate/{{ index . 1 }}{{ with $webhook.path }}/{{ . }}{{ end }}
{{- end -}}
{{- end }}

{{- define "claim-rollout.podSecurity" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
seccompProfile:
  type: RuntimeDefault
{{- end }}

{{- define "claim-rollout.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end }}

{{- define "claim-rollout.placement" -}}
{{- with .nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
