// Command kube-proxy is the real service proxy of Kubernetes, built from its published Go module.
package main

import (
	"os"

	"k8s.io/component-base/cli"
	// Without these two, /metrics lacks the API client's metrics and kubernetes_build_info.
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	"k8s.io/kubernetes/cmd/kube-proxy/app"
)

func main() {
	os.Exit(cli.Run(app.NewProxyCommand()))
}
