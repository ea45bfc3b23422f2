{{/* Labels by which the pods are selected: they can never change. */}}
{{- define "evenkeel.selectorLabels" -}}
app.kubernetes.io/name: evenkeel
app.kubernetes.io/instance: {{ .Values.name }}
{{- end }}

{{- define "evenkeel.labels" -}}
{{ include "evenkeel.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{- define "evenkeel.image" -}}
{{- with .Values.image -}}
{{ required "image.repository is required: the image that you built from deploy/Dockerfile and pushed" .repository }}{{ if .digest }}@{{ .digest }}{{ else }}:{{ .tag | default $.Chart.AppVersion }}{{ end }}
{{- end }}
{{- end }}

{{- define "evenkeel.ownCertificates" -}}
{{- if eq .Values.certificates.source "secret" }}true{{ end }}
{{- end }}

{{- define "evenkeel.since" -}}
{{- if semverCompare (printf ">=%s.0-0" .release) .root.Capabilities.KubeVersion.Version }}true{{ end }}
{{- end }}

{{/* The SpreadPolicy documents as one file. */}}
{{- define "evenkeel.policies" -}}
{{- range $index, $document := .Values.policies.documents }}
{{- if $index }}
---
{{ end }}
{{- toYaml $document }}
{{- end }}
{{- end }}

{{/* Both webhooks leave these namespaces out, whatever the values say: all requirements of a selector must hold. */}}
{{- define "evenkeel.namespaceSelector" -}}
{{- with .Values.webhooks.namespaceSelector.matchLabels }}
matchLabels:
  {{- toYaml . | nindent 2 }}
{{- end }}
matchExpressions:
- key: kubernetes.io/metadata.name
  operator: NotIn
  values: {{ concat (list "kube-system" "kube-public" "kube-node-lease" .Release.Namespace) .Values.webhooks.excludeNamespaces | uniq | toJson }}
{{- with .Values.webhooks.namespaceSelector.matchExpressions }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* The tokens of the webhooks' paths, a line each. One is generated once, and then found in the cluster. Where there is no
cluster to look into, none is, since every rendering would have another. */}}
{{- define "evenkeel.pathTokens" -}}
{{- $stored := lookup "v1" "Secret" .Release.Namespace (printf "%s-path" .Values.name) | default dict }}
{{- $generation := index (($stored.metadata | default dict).annotations | default dict) "evenkeel.dev/path-token-generation" }}
{{- if .Values.access.pathTokens }}
{{- join "\n" .Values.access.pathTokens }}
{{- else if and $stored.data (eq (printf "%v" .Values.access.pathTokenGeneration) ($generation | default "")) }}
{{- $stored.data.tokens | b64dec }}
{{- else if lookup "v1" "Namespace" "" "kube-system" }}
{{- randAlphaNum 43 }}
{{- end }}
{{- end }}

{{/* What all webhooks have in common. The caBundle is written by the manager of the certificates. */}}
{{- define "evenkeel.webhookClient" -}}
clientConfig:
  service: {name: {{ .root.Values.name }}, namespace: {{ .root.Release.Namespace }}, path: /{{ .path }}{{ with .token }}/{{ . }}{{ end }}, port: 443}
admissionReviewVersions: [v1]
sideEffects: None
matchPolicy: Equivalent
timeoutSeconds: {{ .root.Values.webhooks.timeoutSeconds }}
{{- end }}

{{/* What both webhooks of workloads have in common. */}}
{{- define "evenkeel.webhook" -}}
{{ include "evenkeel.webhookClient" . }}
namespaceSelector:
  {{- include "evenkeel.namespaceSelector" .root | trim | nindent 2 }}
{{- with .root.Values.webhooks.objectSelector }}
objectSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "evenkeel.webhookAnnotations" -}}
{{- if not (include "evenkeel.ownCertificates" .) -}}
annotations:
  cert-manager.io/inject-ca-from: {{ .Release.Namespace }}/{{ .Values.name }}
{{- end }}
{{- end }}

{{/* Whether one of the pods measures skew all the time. */}}
{{- define "evenkeel.measuresSkew" -}}
{{- if or .Values.skew.metrics .Values.skew.events }}true{{ end }}
{{- end }}
