{{- /*
Where the API server is, as environment variables. The kubelet sets the same two to the cluster IP of the Service
"kubernetes", which works only once a proxy has programmed it.
*/ -}}
{{- define "fairlead.apiServerEnv" -}}
{{- with .Values.apiServer.configMap -}}
- name: KUBERNETES_SERVICE_HOST
  valueFrom:
    configMapKeyRef:
      name: {{ . }}
      key: host
- name: KUBERNETES_SERVICE_PORT
  valueFrom:
    configMapKeyRef:
      name: {{ . }}
      key: port
{{- else -}}
{{- $found := fromJson (include "fairlead.apiServer" .) -}}
- name: KUBERNETES_SERVICE_HOST
  value: {{ $found.host | quote }}
- name: KUBERNETES_SERVICE_PORT
  value: {{ $found.port | quote }}
{{- end -}}
{{- end -}}

{{- /* Host and port as JSON: of the values, of kubeadm's kube-proxy, or of the only API server there is. */ -}}
{{- define "fairlead.apiServer" -}}
{{- $host := .Values.apiServer.host -}}
{{- $port := .Values.apiServer.port | toString -}}
{{- if not $host -}}
{{- $kubeProxy := lookup "v1" "ConfigMap" "kube-system" "kube-proxy" | default dict -}}
{{- $kubeconfig := dig "data" "kubeconfig.conf" "" $kubeProxy -}}
{{- $server := regexFind "server: *https://[^/\\s]+" $kubeconfig | trimPrefix "server:" | trim | trimPrefix "https://" -}}
{{- if $server -}}
{{- $host = regexReplaceAll ":[0-9]+$" $server "" | trimPrefix "[" | trimSuffix "]" -}}
{{- $port = regexFind ":[0-9]+$" $server | trimPrefix ":" | default "443" -}}
{{- end -}}
{{- end -}}
{{- if not $host -}}
{{- $slice := lookup "discovery.k8s.io/v1" "EndpointSlice" "default" "kubernetes" | default dict -}}
{{- $endpoints := $slice.endpoints | default list -}}
{{- if eq (len $endpoints) 1 -}}
{{- $host = index (first $endpoints).addresses 0 -}}
{{- $port = (first $slice.ports).port | toString -}}
{{- end -}}
{{- end -}}
{{- $_ := required "apiServer.host is needed: the API server's address, as nodes know it (kubectl cluster-info). A proxy cannot use the Service \"kubernetes\", because it is the one that makes it work. See docs/install.md." $host -}}
{{- dict "host" $host "port" $port | toJson -}}
{{- end -}}
