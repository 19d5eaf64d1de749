{{- define "fairlead.capabilities" -}}
{{- $names := list "NET_ADMIN" -}}
{{- if or (has .Values.mode (list "ipvs" "userspace")) (and (eq .Values.mode "iptables") .Values.iptablesLegacy) -}}
{{- $names = append $names "NET_RAW" -}}
{{- end -}}
{{- if eq .Values.mode "ebpf" -}}
{{- $names = concat $names (list "BPF" "PERFMON") -}}
{{- if eq .Values.ebpf.connectedUdpOfPods "sockets" -}}
{{- $names = append $names "SYS_ADMIN" -}}
{{- end -}}
{{- end -}}
{{- concat $names .Values.extraCapabilities | uniq | toJson -}}
{{- end -}}

{{- /* Root, because the files of iptables and /proc/sys are root's; but with hardly any of root's rights. */ -}}
{{- define "fairlead.securityContext" -}}
runAsUser: 0
runAsGroup: 0
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
  {{- with fromJsonArray . }}
  add:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end -}}

{{- define "fairlead.env" -}}
- name: NODE_NAME
  valueFrom:
    fieldRef:
      fieldPath: spec.nodeName
{{- with .Values.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- /* Every start reads the same file and takes the same flags, so doctor and settings speak of this proxy. */ -}}
{{- define "fairlead.args" -}}
- --config=/etc/fairlead/config.yaml
- --hostname-override=$(NODE_NAME)
{{- with .Values.stateDir }}
- --state-dir={{ . }}
{{- end }}
{{- with .Values.tracing.endpoint }}
- --otlp-endpoint={{ . }}
{{- end }}
{{- if and (eq .Values.mode "userspace") (ne (int .Values.tracing.sampling) 1000) }}
- --trace-sampling={{ .Values.tracing.sampling }}
{{- end }}
{{- if .Values.console.enabled }}
- --console-bind-address=127.0.0.1:{{ .Values.console.port }}
{{- end }}
{{- with .Values.extraArgs }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "fairlead.mounts" -}}
- name: config
  mountPath: /etc/fairlead
  readOnly: true
- name: run
  mountPath: /run/fairlead
- name: xtables-lock
  mountPath: /run/xtables.lock
{{- if .Values.stateDir }}
- name: state
  mountPath: {{ .Values.stateDir }}
{{- end }}
{{- if eq .Values.mode "ebpf" }}
- name: bpf
  mountPath: /sys/fs/bpf
  mountPropagation: HostToContainer
- name: cgroup
  mountPath: /host/sys/fs/cgroup
  readOnly: true
{{- if include "fairlead.entersPods" . }}
- name: netns
  mountPath: /run/netns
  readOnly: true
  mountPropagation: HostToContainer
{{- end }}
{{- end }}
{{- end -}}

{{- /* Sockets in pods can be ended by who may enter their network. */ -}}
{{- define "fairlead.entersPods" -}}
{{- if has "SYS_ADMIN" (fromJsonArray (include "fairlead.capabilities" .)) -}}
true
{{- end -}}
{{- end -}}

{{- /* With a core, only some containers may talk to the API server: those that have this. */ -}}
{{- define "fairlead.tokenMount" -}}
- name: token
  mountPath: /var/run/secrets/kubernetes.io/serviceaccount
  readOnly: true
{{- end -}}

{{- define "fairlead.probe" -}}
httpGet:
  {{- with include "fairlead.healthLoopback" .root }}
  host: {{ . | quote }}
  {{- end }}
  path: {{ .path }}
  port: {{ include "fairlead.healthPort" .root }}
{{- end -}}

{{- define "fairlead.probes" -}}
{{- /* A first sync with tens of thousands of Services takes its time; so does an API server that is not up yet. */ -}}
startupProbe:
  {{- include "fairlead.probe" (dict "root" . "path" "/livez") | nindent 2 }}
  periodSeconds: 2
  timeoutSeconds: {{ .Values.livenessProbe.timeoutSeconds }}
  failureThreshold: 150
livenessProbe:
  {{- include "fairlead.probe" (dict "root" . "path" "/livez") | nindent 2 }}
  {{- toYaml .Values.livenessProbe | nindent 2 }}
readinessProbe:
  {{- include "fairlead.probe" (dict "root" . "path" "/readyz") | nindent 2 }}
  periodSeconds: 5
  timeoutSeconds: 5
{{- end -}}

{{- define "fairlead.updateStrategy" -}}
{{- if .Values.updateStrategy -}}
{{ toYaml .Values.updateStrategy }}
{{- else if eq .Values.mode "userspace" -}}
# The process carries the connections: the new one takes over from the old one, which then waits for them to end.
type: RollingUpdate
rollingUpdate:
  maxSurge: 1
  maxUnavailable: 0
{{- else -}}
type: RollingUpdate
rollingUpdate:
  # Said, so that whoever comes from userspace mode does not keep its 1.
  maxSurge: 0
  maxUnavailable: 1
{{- end -}}
{{- end -}}
