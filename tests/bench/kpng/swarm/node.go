package main

import (
	"bytes"
	"fmt"
	"hash/maphash"
	"maps"
	"net"
	"sync"
	"sync/atomic"
)

type node struct {
	index int
	// Changes of the change set that is being read: they count when it is complete.
	unfinished       []int
	hasState         bool
	servicesAtFirst  int
	endpointsAtFirst int
	changeSets       atomic.Int64
	bytes            atomic.Int64

	lock sync.Mutex
	// What the node knows, as hashes by path; only where it will be compared.
	state map[string]uint64
}

var seed = maphash.MakeSeed()

// The node runs until the process ends.
func startNode(address string, index int, log *arrivals, keepsState bool, onSynced func()) (*node, error) {
	connection, err := net.Dial("tcp", address)
	if err != nil {
		return nil, err
	}
	n := &node{index: index}
	if keepsState {
		n.state = map[string]uint64{}
	}
	stream := newStream(connection)
	request := watchRequest(fmt.Sprintf("node-%d", index))
	if err := stream.open(request); err != nil {
		return nil, err
	}
	go func() {
		exitOn(stream.read(func(message []byte) error {
			return n.onOperation(message, log, stream, request, onSynced)
		}, func(length int) { n.bytes.Add(int64(length)) }))
	}()
	return n, nil
}

func (n *node) onOperation(message []byte, log *arrivals, stream *stream, request []byte, onSynced func()) error {
	op := readOperation(message)
	switch op.kind {
	case opSync:
		log.add(n.index, n.unfinished)
		n.unfinished = n.unfinished[:0]
		isFirst := !n.hasState
		n.hasState = true
		if isFirst {
			onSynced()
		} else {
			n.changeSets.Add(1)
		}
		return stream.send(request)
	case opSet, opDelete:
		n.keep(op)
		if op.kind == opDelete {
			return nil
		}
		if !n.hasState && op.set == servicesSet {
			n.servicesAtFirst++
		}
		if op.set == endpointsSet {
			if !n.hasState {
				n.endpointsAtFirst++
			}
			if change := changeOf(op.value); change > 0 {
				n.unfinished = append(n.unfinished, change)
			}
		}
	}
	return nil
}

func (n *node) keep(op operation) {
	if n.state == nil {
		return
	}
	n.lock.Lock()
	defer n.lock.Unlock()
	if op.kind == opSet {
		n.state[string(op.path)] = maphash.Bytes(seed, op.value)
	} else {
		delete(n.state, string(op.path))
	}
}

func sameState(left, right *node) bool {
	left.lock.Lock()
	defer left.lock.Unlock()
	right.lock.Lock()
	defer right.lock.Unlock()
	return maps.Equal(left.state, right.state)
}

// The benchmark's API server gives the pod of its n-th change the address 11.0.0.0 + n; 0 for other endpoints.
func changeOf(endpoint []byte) int {
	address := addressOf(endpoint)
	if !bytes.HasPrefix(address, []byte("11.")) {
		return 0
	}
	var second, third, fourth int
	if _, err := fmt.Sscanf(string(address), "11.%d.%d.%d", &second, &third, &fourth); err != nil {
		return 0
	}
	return second<<16 | third<<8 | fourth
}
