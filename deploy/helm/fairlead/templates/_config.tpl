{{- /* The KubeProxyConfiguration, as a YAML document: the chart's own fields, then those of the values. */ -}}
{{- define "fairlead.config" -}}
{{- $config := dict
  "apiVersion" "kubeproxy.config.k8s.io/v1alpha1"
  "kind" "KubeProxyConfiguration"
  "mode" .Values.mode
-}}
{{- /* What the kubelet gives a pod of this priority. For less, a process needs CAP_SYS_RESOURCE. */ -}}
{{- $_ := set $config "oomScoreAdj" -997 -}}
{{- if .Values.podMonitor.enabled -}}
{{- $_ := set $config "metricsBindAddress" "0.0.0.0:10249" -}}
{{- end -}}
{{- if eq .Values.kernelSettings "none" -}}
{{- /* 0 leaves the kernel's value alone. Node ports on 127.0.0.1 need route_localnet. */ -}}
{{- $_ := set $config "conntrack" (dict "maxPerCore" 0 "tcpEstablishedTimeout" "0s" "tcpCloseWaitTimeout" "0s") -}}
{{- $_ := set $config "iptables" (dict "localhostNodePorts" false) -}}
{{- end -}}
{{- $own := fromYaml (include "fairlead.withoutNulls" .Values.config) -}}
{{- /* What a file of kubeadm has there means the flags, and a file that this pod does not have. */ -}}
{{- $own = omit $own "mode" "hostnameOverride" -}}
{{- with $own.clientConnection -}}
{{- $_ := set $own "clientConnection" (omit . "kubeconfig") -}}
{{- end -}}
{{- $config = mergeOverwrite $config $own -}}
{{- with .Values.featureGates -}}
{{- $_ := set $config "featureGates" (mergeOverwrite (deepCopy ($config.featureGates | default dict)) .) -}}
{{- end -}}
{{- toYaml $config -}}
{{- end -}}

{{- /* In a file, null means the default; merged over a field of the chart it would take the field away. */ -}}
{{- define "fairlead.withoutNulls" -}}
{{- $kept := dict -}}
{{- range $name, $value := . -}}
{{- if kindIs "map" $value -}}
{{- $_ := set $kept $name (fromYaml (include "fairlead.withoutNulls" $value)) -}}
{{- else if not (kindIs "invalid" $value) -}}
{{- $_ := set $kept $name $value -}}
{{- end -}}
{{- end -}}
{{- toYaml $kept -}}
{{- end -}}

{{- /* Changes with every field that a running proxy cannot change, or not in a container: restart-fields.yaml lists them. */ -}}
{{- define "fairlead.restartHash" -}}
{{- $config := fromYaml (include "fairlead.config" .) -}}
{{- $values := list -}}
{{- range .Files.Get "restart-fields.yaml" | fromYamlArray -}}
{{- $at := $config -}}
{{- range splitList "." . -}}
{{- if kindIs "map" $at -}}
{{- $at = get $at . -}}
{{- end -}}
{{- end -}}
{{- $values = append $values $at -}}
{{- end -}}
{{- /* Here they decide, too, whether route_localnet is needed, which only the init container can write. */ -}}
{{- if eq .Values.mode "iptables" -}}
{{- $values = append $values $config.nodePortAddresses -}}
{{- end -}}
{{- $values | toJson | sha256sum | trunc 16 -}}
{{- end -}}

{{- define "fairlead.healthAddress" -}}
{{- $config := fromYaml (include "fairlead.config" .) -}}
{{- $config.healthzBindAddress | default "0.0.0.0:10256" -}}
{{- end -}}

{{- /* Where the kubelet has to ask, if only the node itself can; empty: at the address of the pod. */ -}}
{{- define "fairlead.healthLoopback" -}}
{{- $address := include "fairlead.healthAddress" . -}}
{{- if hasPrefix "127." $address -}}
{{- regexFind "^[0-9.]+" $address -}}
{{- else if regexMatch "^(\\[::1\\](:[0-9]+)?|::1)$" $address -}}
::1
{{- end -}}
{{- end -}}

{{- /* What follows the last colon outside of brackets; a bare address has the usual port. */ -}}
{{- define "fairlead.portOf" -}}
{{- $address := index . 0 -}}
{{- if or (regexMatch "^[^:]*:[0-9]+$" $address) (regexMatch "^\\[.*\\]:[0-9]+$" $address) -}}
{{- regexFind "[0-9]+$" $address -}}
{{- else -}}
{{- index . 1 -}}
{{- end -}}
{{- end -}}

{{- define "fairlead.healthPort" -}}
{{- include "fairlead.portOf" (list (include "fairlead.healthAddress" .) "10256") -}}
{{- end -}}

{{- define "fairlead.metricsAddress" -}}
{{- $config := fromYaml (include "fairlead.config" .) -}}
{{- $config.metricsBindAddress | default "127.0.0.1:10249" -}}
{{- end -}}
