// Many nodes that follow one KPNG core: `swarm HOST:PORT NODES`. Each has a connection of its own and does what a
// backend does: asks, reads, asks again. They read HTTP/2 and protobuf only as far as they must, so that the machine's
// time goes to the core.
//
// It says in one line of JSON when all nodes have the first state, reads a line with the times of the changes, and
// answers with a report.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"sync"
	"time"
)

const (
	// As nodes join one after the other.
	joinAtOnce    = 20
	joinPause     = 20 * time.Millisecond
	waitForTheEnd = 20 * time.Second
	// Nodes whose whole state is compared with what the core says to a newcomer at the end.
	comparedNodes = 5
)

func main() {
	address := os.Args[1]
	count, err := strconv.Atoi(os.Args[2])
	exitOn(err)
	log := newArrivals(count)
	nodes := make([]*node, count)
	var synced sync.WaitGroup
	synced.Add(count)
	for i := range nodes {
		nodes[i], err = startNode(address, i, log, i < comparedNodes, synced.Done)
		exitOn(err)
		if i%joinAtOnce == joinAtOnce-1 {
			time.Sleep(joinPause)
		}
	}
	synced.Wait()
	say(map[string]int64{
		"services":  int64(nodes[0].servicesAtFirst),
		"endpoints": int64(nodes[0].endpointsAtFirst),
		"bytes":     bytesOf(nodes),
	})

	var question struct{ ChangedAtMs []float64 }
	exitOn(json.NewDecoder(bufio.NewReaderSize(os.Stdin, 1<<20)).Decode(&question))
	log.waitFor(len(question.ChangedAtMs), time.Now().Add(waitForTheEnd))
	say(report(log, nodes, question.ChangedAtMs, differences(address, nodes)))
}

// How many of the compared nodes know something else than a node of the same name that has just come.
func differences(address string, nodes []*node) int {
	different := 0
	for i, old := range nodes[:min(comparedNodes, len(nodes))] {
		done := make(chan struct{})
		newcomer, err := startNode(address, i, newArrivals(len(nodes)), true, func() { close(done) })
		exitOn(err)
		<-done
		if !sameState(old, newcomer) {
			different++
		}
	}
	return different
}

func say(value any) {
	exitOn(json.NewEncoder(os.Stdout).Encode(value))
}

func exitOn(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "swarm:", err)
		os.Exit(1)
	}
}
