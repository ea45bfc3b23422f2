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

{{/* The arguments that both roles have. */}}
{{- define "evenkeel.args" -}}
- --max-snapshot-age-s={{ .Values.maxSnapshotAgeSeconds }}
{{- with .Values.kubernetesVersion }}
- --kubernetes-version={{ . }}
{{- end }}
# An off without quotes is false in YAML.
- --defaults={{ .Values.defaults | default "off" }}
{{- range .Values.policies.builtin }}
- --policy=builtin:{{ . }}
{{- end }}
{{- if .Values.policies.documents }}
- --policy=/etc/evenkeel/policies.yaml
{{- end }}
{{- if .Values.schedulerConfiguration }}
- --scheduler-config=/etc/evenkeel/scheduler.yaml
{{- end }}
{{- range .Values.customKinds }}
- {{ list "--workload-kind=" .group "/" .kind "=" .template | join "" }}{{ with .selector }},{{ . }}{{ end }}{{ with .replicas }},{{ . }}{{ end }}
{{- end }}
{{- range .Values.trustedControllers }}
- --trusted-controller={{ . }}
{{- else }}
- --trusted-controller=
{{- end }}
# One worker: each would follow the cluster by itself.
- --workers=1
- --threads={{ .Values.threads }}
- --drain-s={{ .Values.drainSeconds }}
- --graceful-timeout-s={{ .Values.gracefulTimeoutSeconds }}
- --log-format={{ .Values.logFormat }}
- --log-level={{ .Values.logLevel }}
{{- end }}

{{/* Where the pods of both roles run, and with which image. */}}
{{- define "evenkeel.placing" -}}
{{- with .Values.image.pullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* How the pods of both roles end, and as whom they run. */}}
{{- define "evenkeel.ending" -}}
# The drain, what is in flight after it, and gunicorn's own end.
terminationGracePeriodSeconds: {{ add .Values.drainSeconds .Values.gracefulTimeoutSeconds 12 }}
securityContext:
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 65532
  fsGroup: 65532
  seccompProfile: {type: RuntimeDefault}
{{- end }}

{{- define "evenkeel.probes" -}}
ports:
- {name: https, containerPort: 8443, protocol: TCP}
# It listens once it has a certificate, and is ready once it knows the cluster: both may take a while.
startupProbe:
  httpGet: {path: /livez, port: https, scheme: HTTPS}
  periodSeconds: 2
  failureThreshold: 90
livenessProbe:
  httpGet: {path: /livez, port: https, scheme: HTTPS}
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 6
readinessProbe:
  httpGet: {path: /readyz, port: https, scheme: HTTPS}
  periodSeconds: 5
  timeoutSeconds: 3
  failureThreshold: 2
{{- end }}

{{- define "evenkeel.confined" -}}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
{{- end }}

{{/* Labels by which the pods of the API are selected, and no Service or budget of the others selects them. */}}
{{- define "evenkeel.apiSelectorLabels" -}}
app.kubernetes.io/name: evenkeel-api
app.kubernetes.io/instance: {{ .Values.name }}
{{- end }}

{{- define "evenkeel.apiLabels" -}}
{{ include "evenkeel.apiSelectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{/* Whether pods answer the API: who measures skew is one of them. */}}
{{- define "evenkeel.answersApi" -}}
{{- if or .Values.api.enabled .Values.skew.metrics .Values.skew.events }}true{{ end }}
{{- end }}

{{/* Who may connect to the pods of both roles, and where those may connect to. */}}
{{- define "evenkeel.traffic" -}}
policyTypes: [Ingress, Egress]
ingress:
# The API server is not a pod, so no selector matches it. Others learn nothing of the cluster without a token.
- ports:
  - {port: https, protocol: TCP}
  {{- with .Values.networkPolicy.from }}
  from:
    {{- toYaml . | nindent 4 }}
  {{- end }}
egress:
# The API server, wherever it is, and the name that some providers give it.
- ports:
  {{- range .Values.networkPolicy.apiServerPorts }}
  - {port: {{ . }}, protocol: TCP}
  {{- end }}
- ports:
  - {port: 53, protocol: UDP}
  - {port: 53, protocol: TCP}
{{- end }}
