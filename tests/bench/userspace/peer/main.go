// Command userspace-peer is what the userspace benchmark needs besides the relays under test: the endpoint, the
// client, and the relay in Go that ours is compared with. Each prints one line of JSON when it is ready or done.
package main

import (
	"encoding/json"
	"fmt"
	"os"
)

// A request has a fixed size, so that nobody has to look for its end. Its first byte says what is wanted.
const (
	requestSize = 64
	answerSize  = 128

	wantAnswer = 'k' // one answer, and the connection stays
	wantClose  = 'c' // one answer, and the endpoint ends the connection
	wantStream = 's' // zeros until the client leaves
)

func main() {
	if len(os.Args) < 2 {
		fail(fmt.Errorf("say what to be: endpoint, relay or load"))
	}
	roles := map[string]func([]string) error{"endpoint": serveEndpoint, "relay": serveRelay, "load": load}
	role, ok := roles[os.Args[1]]
	if !ok {
		fail(fmt.Errorf("unknown role %q: endpoint, relay and load exist", os.Args[1]))
	}
	if err := role(os.Args[2:]); err != nil {
		fail(err)
	}
}

func report(value any) {
	line, err := json.Marshal(value)
	if err != nil {
		fail(err)
	}
	fmt.Println(string(line))
}

// untilParentLeaves ends the process with the one that started it.
func untilParentLeaves() {
	buffer := make([]byte, 64)
	for {
		if _, err := os.Stdin.Read(buffer); err != nil {
			os.Exit(0)
		}
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
