package main

import (
	"slices"
	"sync"
	"syscall"
	"time"
	"unsafe"
)

// When each node had each change.
type arrivals struct {
	nodes int
	lock  sync.Mutex
	// By the number of the change, then by node; 0 is never.
	atMs [][]float64
	left int
}

func newArrivals(nodes int) *arrivals {
	return &arrivals{nodes: nodes}
}

func (a *arrivals) add(node int, changes []int) {
	if len(changes) == 0 {
		return
	}
	now := clockMs()
	a.lock.Lock()
	defer a.lock.Unlock()
	for _, change := range changes {
		for len(a.atMs) < change {
			a.atMs = append(a.atMs, make([]float64, a.nodes))
		}
		a.atMs[change-1][node] = now
	}
}

func (a *arrivals) missing(changes int) int {
	a.lock.Lock()
	defer a.lock.Unlock()
	missing := max(0, changes-len(a.atMs)) * a.nodes
	for _, times := range a.atMs[:min(changes, len(a.atMs))] {
		for _, atMs := range times {
			if atMs == 0 {
				missing++
			}
		}
	}
	return missing
}

func (a *arrivals) waitFor(changes int, deadline time.Time) {
	for a.missing(changes) > 0 && time.Now().Before(deadline) {
		time.Sleep(50 * time.Millisecond)
	}
}

type swarmReport struct {
	// Pairs of a change and a node that never came together.
	Missing int `json:"missing"`
	// From the API server's event to the complete change set at a node.
	Delay spread `json:"delay"`
	// The same, to the last of the nodes.
	DelayToAll spread `json:"delayToAll"`
	// Of the nodes whose state was compared with that of a newcomer.
	Compared  int `json:"compared"`
	Different int `json:"different"`
	// All nodes together, from the first byte on.
	ChangeSets int64 `json:"changeSets"`
	Bytes      int64 `json:"bytes"`
}

type spread struct {
	MedianMs float64 `json:"medianMs"`
	P99Ms    float64 `json:"p99Ms"`
	MaxMs    float64 `json:"maxMs"`
}

func report(a *arrivals, nodes []*node, changedAtMs []float64, different int) swarmReport {
	result := swarmReport{
		Missing:   a.missing(len(changedAtMs)),
		Compared:  min(comparedNodes, len(nodes)),
		Different: different,
	}
	var delays, toAll []float64
	for change, times := range a.atMs[:min(len(changedAtMs), len(a.atMs))] {
		for _, atMs := range times {
			if atMs > 0 {
				delays = append(delays, atMs-changedAtMs[change])
			}
		}
		toAll = append(toAll, slices.Max(times)-changedAtMs[change])
	}
	result.Delay, result.DelayToAll = spreadOf(delays), spreadOf(toAll)
	for _, n := range nodes {
		result.ChangeSets += n.changeSets.Load()
	}
	result.Bytes = bytesOf(nodes)
	return result
}

func bytesOf(nodes []*node) int64 {
	var sum int64
	for _, n := range nodes {
		sum += n.bytes.Load()
	}
	return sum
}

func spreadOf(values []float64) spread {
	if len(values) == 0 {
		return spread{}
	}
	slices.Sort(values)
	at := func(share float64) float64 { return values[int(share*float64(len(values)-1))] }
	return spread{MedianMs: at(0.5), P99Ms: at(0.99), MaxMs: at(1)}
}

// The clock that Node's process.hrtime reads too.
func clockMs() float64 {
	const monotonic = 1
	var now syscall.Timespec
	syscall.Syscall(syscall.SYS_CLOCK_GETTIME, monotonic, uintptr(unsafe.Pointer(&now)), 0)
	return float64(now.Nano()) / 1e6
}
