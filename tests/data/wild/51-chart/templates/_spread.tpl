{{- define "greeter.spread" -}}
topologySpreadConstraints:
  - maxSkew: {{ .maxSkew | default 1 }}
{{- end -}}
