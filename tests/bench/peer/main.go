// The peer of the core benchmark: client-go's shared informers with kube-proxy's request limits, over JSON. It knows the
// objects and nothing more; it makes no routes of them. See ../core/measured-process.ts for what it prints.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"
	discovery "k8s.io/api/discovery/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

type processCost struct {
	ResidentMb float64 `json:"residentMb"`
	PeakMb     float64 `json:"peakMb"`
	CPUMs      float64 `json:"cpuMs"`
}

type completeView struct {
	processCost
	AtMs    float64 `json:"atMs"`
	Entries int     `json:"entries"`
}

type change struct {
	service string
	atMs    float64
}

func (c change) MarshalJSON() ([]byte, error) { return json.Marshal([]any{c.service, c.atMs}) }

type finalReport struct {
	processCost
	Changes []change `json:"changes"`
}

func main() {
	config := &rest.Config{Host: os.Args[1], QPS: 5, Burst: 10}
	config.ContentType = "application/json"
	factory := informers.NewSharedInformerFactory(kubernetes.NewForConfigOrDie(config), 15*time.Minute)
	services := factory.Core().V1().Services().Informer()
	slices := factory.Discovery().V1().EndpointSlices().Informer()

	var guard sync.Mutex
	changes := []change{}
	registration, err := slices.AddEventHandler(cache.ResourceEventHandlerFuncs{
		UpdateFunc: func(_, now any) {
			slice := now.(*discovery.EndpointSlice)
			guard.Lock()
			defer guard.Unlock()
			changes = append(changes, change{slice.Namespace + "/" + slice.Labels[discovery.LabelServiceName], sharedClockMs()})
		},
	})
	if err != nil {
		panic(err)
	}

	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	factory.Start(ctx.Done())
	// client-go looks every 100 ms whether an informer is complete; a closer look is fairer to it.
	for !services.HasSynced() || !slices.HasSynced() || !registration.HasSynced() {
		time.Sleep(time.Millisecond)
	}
	print(completeView{readCost(), sharedClockMs(), len(services.GetStore().ListKeys())})
	_, _ = io.Copy(io.Discard, os.Stdin)
	guard.Lock()
	defer guard.Unlock()
	print(finalReport{readCost(), changes})
}

// sharedClockMs is the clock that all processes of a machine share.
func sharedClockMs() float64 {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		panic(err)
	}
	return float64(now.Nano()) / 1e6
}

func readCost() processCost {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		panic(err)
	}
	megabytes := func(field string) float64 {
		found := regexp.MustCompile(`(?m)^` + field + `:\s+(\d+) kB`).FindSubmatch(status)
		kilobytes, _ := strconv.ParseFloat(string(found[1]), 64)
		return kilobytes * 1024 / 1e6
	}
	var usage unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	cpuMs := float64(usage.Utime.Nano()+usage.Stime.Nano()) / 1e6
	return processCost{megabytes("VmRSS"), megabytes("VmHWM"), cpuMs}
}

func print(message any) {
	line, err := json.Marshal(message)
	if err != nil {
		panic(err)
	}
	fmt.Println(string(line))
}
