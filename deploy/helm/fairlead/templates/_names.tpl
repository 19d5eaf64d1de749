{{- define "fairlead.name" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride -}}
{{- else if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 63 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "fairlead.serviceAccount" -}}
{{- .Values.serviceAccount.name | default (include "fairlead.name" .) -}}
{{- end -}}

{{- /* What never changes for a release: a DaemonSet cannot change its selector. */ -}}
{{- define "fairlead.selector" -}}
app.kubernetes.io/name: fairlead
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "fairlead.labels" -}}
{{ include "fairlead.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{- define "fairlead.image" -}}
{{- with .Values.image -}}
{{- if .digest -}}
{{ .repository }}@{{ .digest }}
{{- else -}}
{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}
{{- end -}}
{{- end -}}
{{- end -}}
