// Command endpointslice-mirroring is the controller of that name in kube-controller-manager, alone: the whole manager would
// bring in the kubelet and a hundred more modules.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/kubernetes/pkg/controller/endpointslicemirroring"
)

// What kube-controller-manager gives it unless told otherwise.
const (
	maxEndpointsPerSubset = 1000
	workers               = 5
)

func main() {
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(kubeconfig string) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	factory := informers.NewSharedInformerFactory(client, 0)
	controller := endpointslicemirroring.NewController(
		ctx,
		factory.Core().V1().Endpoints(),
		factory.Discovery().V1().EndpointSlices(),
		factory.Core().V1().Services(),
		maxEndpointsPerSubset,
		client,
		0,
	)
	factory.Start(ctx.Done())
	controller.Run(ctx, workers)
	return nil
}
